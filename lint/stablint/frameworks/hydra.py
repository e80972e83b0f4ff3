"""Hydra: words `key=value` behind a program, the file that its decorator names, and the group files of a list `defaults`.

Interpolations are not worked out, and neither is the order in which groups override each other: all of it is read as a program's own
settings are, presumed, and what two of them say otherwise is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stablint.frameworks import huggingface, own
from stablint.frameworks.fragment import Block, Fragment, Link, as_yaml, hydra_words, last_word
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs import loop
from stablint.run.fact import Explicit, Place, Statement
from stablint.syntax import limits
from stablint.syntax.tree import Call, Command, Document, Entry, Mapping, Module, Node, Notes, Scalar, Sequence, Unknown

_NAME = re.compile(r"[\w./-]+\Z")


def is_training(command: Command) -> bool:
    """Whether the words set the rate, the length or batch, and what only trainings of language models have."""
    keys = [word.key for word in hydra_words(command, "")[0]] if len(command.positionals) > 2 else []
    return len(keys) > 2 and own.are_of_a_training(frozenset([key.rpartition(".")[2] for key in keys]))


def stated(block: Block) -> list[Statement]:
    """What the words of a command say, each in the section that its dots name."""
    sections: dict[str, list[Entry]] = {}
    for entry in _words(block):
        section, _, key = entry.key.rpartition(".")
        sections.setdefault(section, []).append(as_yaml(entry)._replace(key=key))
    found: dict[str, list[Statement]] = {}
    for section, inner in sections.items():
        mapping = Mapping(tuple(inner), block.start, block.end)
        above = tuple(section.split(".")) if section else ()
        for one in own.stated(block._replace(mapping=mapping), "flags", above):
            found.setdefault(one.fact, []).append(one)
    return [own.agreed(several[::-1]) for several in found.values()]  # of the words for one thing the last counts


def _words(block: Block) -> tuple[Entry, ...]:
    return hydra_words(block.origin, block.document.text.text)[0] if isinstance(block.origin, Command) else ()


_MAIN = re.compile(r"@hydra\.main\s*\(([^()]*)\)")
_ARGUMENT = r"""\b{}\s*=\s*(?:f?["']([\w./-]+)["'])"""


def of_program(document: Document, command: Fragment) -> Iterator[Link]:
    """The file that the decorator of a program names, or the command instead."""
    main, module = _MAIN.search(document.text.text), document.root
    if main is None or not isinstance(module, Module):
        return
    calls = tuple(call for call in module.calls if call.name != "hydra.main")
    if not loop.may_train(module._replace(calls=calls, notes=Notes())) and not any(map(_makes_anything, calls)):
        return  # it uploads, converts or measures by the same file
    said = _flags(command)
    if not said.keys().isdisjoint({"config_dir", "cd"}):
        return  # one more folder in which the name may be found
    # A folder of the command's is sought from the program's as well (hydra 1.3.2 _internal/utils.py, compute_search_path_dir).
    folder = _chosen(said, ("config_path", "cp"), re.search(_ARGUMENT.format("config_path"), main[1]))
    chosen = _chosen(said, ("config_name", "cn"), re.search(_ARGUMENT.format("config_name"), main[1]))
    if folder is not None and chosen is not None and not folder.startswith("/"):
        path = f"{folder.rstrip('/')}/{chosen.removesuffix('.yaml')}.yaml"
        yield Link("group", path, Place(document, "config_name", main.start(1), main.end(1)))


def _flags(command: Fragment) -> dict[str, Node]:
    """What its flags say, of whichever form its words have been made."""
    origin = command.block.origin
    entries = [*command.block.mapping.entries, *(origin.flags.entries if isinstance(origin, Command) else ())]
    return {entry.key.replace("-", "_"): entry.value for entry in entries}


def _chosen(said: dict[str, Node], names: tuple[str, str], declared: re.Match[str] | None) -> str | None:
    """What the command says in place of the decorator; None where nobody says it, or not in plain text."""
    asked = said.get(names[0]) or said.get(names[1])
    value: object = asked.value if isinstance(asked, Scalar) else declared[1] if declared and asked is None else None
    return value if isinstance(value, str) and _NAME.match(value) else None


def _makes_anything(call: Call) -> bool:
    return call.name.startswith("hydra.utils.") or last_word(call.name) == "instantiate"


def links(mapping: Mapping, document: Document) -> Iterator[Link]:
    """The files of the groups that a list `defaults` names."""
    listed = mapping.get("defaults")
    if not isinstance(listed, Sequence):
        return
    group: str
    name: object
    for item in listed.items[: limits.GROUPS.most]:
        if isinstance(item, Scalar) and isinstance(item.value, str):
            name, group = item.value, ""
        elif isinstance(item, Mapping) and len(item.entries) == 1 and isinstance(item.entries[0].value, Scalar):
            group, name = item.entries[0].key, item.entries[0].value.value
        else:
            continue
        group = group.removeprefix("override ").removeprefix("optional ").partition("@")[0].strip("/ ")
        if isinstance(name, str) and name != "_self_" and _NAME.match(name) and not group.startswith("hydra"):
            path = f"{group}/{name.removesuffix('.yaml')}.yaml".lstrip("/")
            yield Link("group", path, Place(document, group or name, item.start, item.end))


def cut(mapping: Mapping) -> tuple[limits.Limit, ...]:
    """What `links` leaves out of the list."""
    listed = mapping.get("defaults")
    return (limits.GROUPS,) if isinstance(listed, Sequence) and len(listed.items) > limits.GROUPS.most else ()


def chosen(link: Link, commands: Iterable[Fragment]) -> Link:
    """The file of the group that the words of the command choose: `model=llama`."""
    group = link.path.rpartition("/")[0]
    for fragment in commands:
        for word in _words(fragment.block) if fragment.layer == "flags" else ():
            if word.key == group and isinstance(word.value, Scalar):
                name = word.value.value
                known = isinstance(name, str) and _NAME.match(name)
                link = link._replace(path=f"{group}/{name}.yaml" if known else "")
    return link


def grouped(link: Link, document: Document, found: Iterable[Fragment], known: Iterable[Fragment]) -> Iterator[Fragment]:
    """What a file says: as the dialect that it is, or as a section that is called as its group. What it takes from another file is left out
    where that file says it."""
    root = document.root
    if not isinstance(root, Mapping):
        return
    target = root.get("_target_")
    made = target.value if isinstance(target, Scalar) and isinstance(target.value, str) else ""
    fragments = [_of_class(fragment, made) for fragment in found]
    if not fragments:
        block = Block(document, "document", "", root, root.start, root.end, document.number)
        group = "lora" if made.startswith("peft.") else link.path.rpartition("/")[0]
        statements = tuple(own.stated(block, "file", tuple(group.split("/")) if group else ()))
        fragments = [
            Fragment("own", block, "file", statements, own.scopes(), {}, tuple(links(root, document)), cut=cut(root))
        ]
    said = {one.fact for fragment in known for one in fragment.statements if not isinstance(one.value, Unknown)}
    for fragment in fragments:
        kept = tuple(read(one) for one in fragment.statements if not (one.fact in said and _is_taken(one.raw)))
        # nothing is presumed of what is left out: another group may say it
        first = link.place.document.format == "python"
        yield fragment._replace(statements=kept, scopes=own.scopes(), entry=first, presumed=True)


def _of_class(fragment: Fragment, made: str) -> Fragment:
    """The arguments are those of the class that `_target_` names."""
    word = last_word(made)
    goal = python_kinds.encoder(word)
    own_class = python_kinds.ARGUMENTS.get(word)
    if own_class is not None and "training" in fragment.classes:
        both = (own_class,) if own_class == huggingface.BASE else (own_class, huggingface.BASE)
        fragment = fragment._replace(classes={**fragment.classes, "training": both})
    if goal:
        block = fragment.block
        place = Place(block.document, "_target_", block.start, block.start, None, ("_target_",))
        head = Statement("model.head", goal, made, Explicit(place, "file", block.number))
        fragment = fragment._replace(statements=(*fragment.statements, head))
    return fragment


def read(one: Statement) -> Statement:
    """As OmegaConf reads it, for which `5e8` is a number."""
    number = isinstance(one.raw, str) and isinstance(one.value, (int, float)) and not isinstance(one.value, bool)
    return one._replace(raw=one.value) if number else one


def _is_taken(raw: object) -> bool:
    return isinstance(raw, str) and raw[:2] == "${"
