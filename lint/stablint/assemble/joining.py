"""Which fragments belong together: those of one command or trainer, what they name, and what lies beside them."""

from __future__ import annotations

import itertools
import os

from stablint.assemble.files import FOR_PROCESSES, Files
from stablint.base.light import TYPE_CHECKING, NamedTuple, Pattern
from stablint.files import discover
from stablint.frameworks import chat_copy, hydra, unknown_keys
from stablint.frameworks import own as own_words
from stablint.frameworks.fragment import NUMBERS, Fragment, Link, spelled
from stablint.frameworks.launch import at_hand as program_at_hand
from stablint.frameworks.programs import helpers as program_helpers
from stablint.frameworks.programs import imported
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs import runs as program_runs
from stablint.frameworks.registry import PROGRAM
from stablint.run.fact import CLOSED, PRESUMED, Explicit, Place, Statement, Value
from stablint.run.framework import framework
from stablint.syntax import limits
from stablint.syntax.tree import NO_FOLDER, Call, Document, Mapping, Scalar, Unknown

if TYPE_CHECKING:  # loaded where a command starts a program that is at hand
    from stablint.assemble.files import Around
    from stablint.frameworks.launch.at_hand import Program


class Part(NamedTuple):
    fragment: Fragment
    presumed: bool = (
        False  # nothing names it: it lies beside the only run of its folder; or the caller may say otherwise
    )
    unseen: bool = False  # a program is handed it that is not seen to give it to a library


def with_live(seeds: list[list[Part]], live: tuple[Fragment, ...]) -> list[list[Part]]:
    """Live arguments make the run, and files that make none of their own join it; other live objects join the runs of the files."""
    own = [Part(fragment) for fragment in live]
    entries = [parts for parts in seeds if parts[0].fragment.entry]
    rest = [parts for parts in seeds if not parts[0].fragment.entry]
    if entries and not any("training" in fragment.classes for fragment in live):
        return [*([*parts, *own] for parts in entries), *rest]
    return [[*own, *(part for parts in rest for part in parts)], *entries]


def seeds_of(fragments: tuple[Fragment, ...]) -> list[list[Part]]:
    """The parts that each make a run, before anything that they name has joined."""
    if not fragments:
        return []
    if any(fragment.block.document.view is not None for fragment in fragments):
        by_document: dict[int, list[Fragment]] = {}
        for fragment in fragments:
            by_document.setdefault(fragment.block.document.number, []).append(fragment)
        return [parts for found in by_document.values() for parts in _of_document(tuple(found))]
    return _of_document(fragments)


def _of_document(fragments: tuple[Fragment, ...]) -> list[list[Part]]:
    format = fragments[0].block.document.format
    if format == "python":
        return [[Part(f, f.presumed) for f in group] for group in program_runs.groups(fragments)]
    if format == "shell":
        by_command: dict[int, list[Part]] = {}
        for fragment in fragments:
            by_command.setdefault(fragment.block.number, []).append(Part(fragment, fragment.presumed))
        return list(by_command.values())
    return [[Part(fragment, fragment.presumed)] for fragment in fragments]


_CONFIGURATION = Pattern(r"[^$<>{}*]+\.(json|ya?ml)")  # a name, no pattern of names
ROLE_DIALECT = {"deepspeed": "deepspeed", "accelerate": "accelerate", "fsdp": "fsdp"}


class Followed(NamedTuple):
    """Where the links of one run led: every file that was asked, those that belong to it, and names that lead nowhere with their places."""

    consulted: set[str]
    linked: set[str]
    not_found: dict[str, Place]
    handed: dict[str, Program]  # configurations that a command hands to a program of one's own


def join(parts: list[Part], files: Files, trusting: bool = False) -> tuple[list[Part], frozenset[str], Followed]:
    """Follow the links of every part, and of what they lead to. `trusting`: a program gives a library what it is handed, seen or not."""
    followed = Followed(set(), set(), {}, {})
    of_anybody = parts[0].fragment.block.kind == "flags" and framework(parts[0].fragment.framework).library
    named: set[str] = set()
    linked: set[str] = set()
    pending = [link for part in parts for link in part.fragment.links]
    pending.sort(key=lambda link: link.role == "deepspeed")  # the program may hand it where nothing reads it
    loader, named_by_it = files.loaders.get(parts[0].fragment.block.document.path, ("", True))
    if loader and parts[0].fragment.block.kind == "document":
        document = parts[0].fragment.block.document
        pending.append(Link("script", loader, Place(document, os.path.basename(loader), 0, 0)))
    seen: set[tuple[str, str]] = set()
    programs: list[Program] = []
    read = _is_a_framework_s(parts[0].fragment)  # by a command of its own
    while pending:
        link = pending.pop(0)
        if link.role == "model" or _is_overruled(link, parts[0].fragment):
            continue
        if link.role == "settings" and files.around is None:
            continue
        if link.role == "group":
            link = hydra.chosen(link, [part.fragment for part in parts])
        document = link.place.document
        beside = document.text.path
        path = files.written(link.path, document)
        if path is None and link.folder and link.folder != NO_FOLDER:
            path = discover.locate(os.path.join(link.folder, link.path), beside, files.reach(beside))
        path = path or discover.locate(link.path, beside, files.reach(beside))
        guessed = path is None and link.role == "script"
        if guessed:
            path = discover.by_its_end(link.path, beside, files.root(beside)) or files.program_called(link.path, beside)
        far = False  # nothing but its name says that it is meant
        if path is None and files.around is not None and link.role in _SOMEWHERE and not (guessed and read):
            path, sure_of_it = files.around.file(link.path, beside) or (None, True)
            far = not sure_of_it
            if (
                far
                and path
                and link.role == "script"
                and parts[0].fragment.statements
                and not files.around.takes_options(path)
            ):
                path = None
        if path is None and link.role in ROLE_DIALECT and _CONFIGURATION.fullmatch(link.path):
            followed.not_found.setdefault(link.path, link.place)
        if path is None or (link.role, path) in seen or os.path.isdir(path):
            continue
        if link.role == "constants":
            followed.consulted.add(path)
            parts, more = _with_constants(parts, link, files.documents(path))
            pending += more
            continue
        seen.add((link.role, path))
        followed.consulted.add(path.partition("\0")[0])
        sure = False
        if link.role == "script" and (program := at_hand(files, path)) is not None:
            sure = (
                not guessed
                and link.folder != NO_FOLDER
                and discover.is_only(link.path, beside, files.root(beside), link.folder)
            )
            if not sure:
                program = program._replace(options=frozenset())  # another one of that name may be meant
            programs.append(program)
            parts = [_as_read(part, program) for part in parts]
            pending = [one for one in pending if one.role not in program.vain or one.place.document is not document]
            if "hydra" in program.document.text.text:
                pending += hydra.of_program(program.document, parts[0].fragment)
            if framework(parts[0].fragment.framework).engine_by_program:
                parts[0] = _with_its_engine(parts[0], program, path, files)
        found = [
            f
            for f in files.fragments(path, _dialect_of(link, parts[0].fragment))
            if (f.dialect not in ("model", "peft") or link.role not in ("config", "settings"))
            and (f.dialect == "llamafactory-data") == (link.role == "rows")
        ]
        if link.role == "settings" and not any(f.entry or f.dialect in ROLE_DIALECT for f in found):
            continue
        if link.role == "group":
            known = [part.fragment for part in parts]
            found = [
                one for document in files.documents(path)[:1] for one in hydra.grouped(link, document, found, known)
            ]
            for one in found:
                files.cut_in(one)
        if link.role == "helper":
            parts = [
                *parts,
                *(Part(f, True) for f in program_helpers.made(link, found, [part.fragment for part in parts])),
            ]
            continue
        if not found:
            continue
        if path != document.path:
            followed.linked.add(path)
            if link.role in ("config", "settings") and not link.reader:
                named.add(path)
        if far:
            found = [fragment._replace(presumed=True) for fragment in found]
        if link.role == "script" and found[0].block.kind == "call":
            several = list(itertools.islice(program_runs.groups(_of_the_program(found)), 2))
            found = program_runs.launched(several[0], [part.fragment for part in parts], sure)
            if len(several) > 1 or not named_by_it:  # of several trainers the command may mean another one
                found = [fragment._replace(presumed=True) for fragment in found]
        if link.reader:
            read = True
            found = [unknown_keys.read_by(f, link.reader) for f in found]
        if link.role in ("deepspeed", "accelerate") or found[0].dialect in ("deepspeed", "accelerate"):
            linked.add(found[0].dialect)
        parts = [*parts, *(Part(f, f.presumed) for f in found)]
        pending += [inner for f in found for inner in f.links]
    if files.around is not None and not named and not loader:
        parts = _with_settings(parts, programs, files, files.around)
    if files.around is not None and (module := _module(parts, programs, files.around)) is not None:
        parts = _with_module(parts, module, files)
        other = at_hand(files, module)
        programs = [program_at_hand.joined(one, other, True) if other else one for one in programs]
    if of_anybody and programs and not any(program.names_a_framework for program in programs):
        followed.handed.update(dict.fromkeys(named, programs[0]))
    for program in programs[:1]:
        parts = [_as_read(part, program) for part in parts]
        if files.around is not None and not program.makes_arguments:
            parts = [part._replace(fragment=own_words.with_own_words(part.fragment)) for part in parts]
        if program.tells:
            first = parts[0].fragment
            said = (program.said(), *program.purpose())
            if named_by_it:
                parts[0] = parts[0]._replace(fragment=first._replace(statements=(*first.statements, *said)))
            else:
                alone = first._replace(statements=said, scopes={}, classes={}, links=(), entry=False, framework="")
                parts.append(Part(alone, True))
    if (
        not trusting
        and of_anybody
        and not read
        and not any(program.library or program.names_a_framework for program in programs)
    ):
        parts = [one for part in parts for one in _unseen(part, bool(programs))]
    parts = _told_by_files(parts)
    if files.around is not None:
        parts = _told_by_others(parts)
        parts = _with_its_way(parts, programs, files.around)
    if any(program.leads_itself for program in programs):
        parts = [one for part in parts for one in _led_by_program(part)]
    inline = (part.fragment.statements for part in parts if part.fragment.layer in ("file", "call", "flags"))
    facts = [statement[0] for statements in inline for statement in statements]
    if any(fact.startswith("deepspeed.") for fact in facts):
        linked.add("deepspeed")
    return parts, frozenset(linked), followed


_SOMEWHERE = frozenset({"script", "config", "settings", "deepspeed", "accelerate"})


_OF_A_TRAINING = frozenset({"arguments", "trainer", "own-trainer", "optimizer", "lightning", "fit", "deepspeed"})


def _of_the_program(fragments: list[Fragment] | tuple[Fragment, ...]) -> tuple[Fragment, ...]:
    """Without the files that the program writes, such as a record of what it was started with: these are runs of their own, if any."""
    return tuple(one for one in fragments if one.block.document is fragments[0].block.document)


def _module(parts: list[Part], programs: list[Program], around: Around) -> str | None:
    """The module that trains for the program, where that itself makes no trainer and takes no step."""
    first = parts[0].fragment.block
    path = first.document.text.path if first.kind == "call" else programs[0].document.text.path if programs else ""
    calls = (part.fragment.block.origin for part in parts)
    if not path.endswith(".py") or any(
        isinstance(one, Call) and python_kinds.kind(one) in _OF_A_TRAINING for one in calls
    ):
        return None
    return around.training(path)


def _with_module(parts: list[Part], module: str, files: Files) -> list[Part]:
    """With what this module says that the others leave open."""
    known = files.fragments(module) or files.fragments(module, PROGRAM)
    found = next(iter(program_runs.groups(_of_the_program(known))), [])
    if parts[0].fragment.block.kind != "call":
        found = program_runs.launched(found, [part.fragment for part in parts])
    statements = (one for part in parts for one in part.fragment.statements)
    said = frozenset(one.fact for one in statements if not isinstance(one.value, Unknown))
    for fragment in found:
        kept = tuple(one for one in fragment.statements if not (isinstance(one.value, Unknown) and one.fact in said))
        parts = [*parts, Part(fragment._replace(statements=kept), True)]
    return parts


# What says how it trains, before any word of the program's own.
_WAYS = frozenset(
    {
        "training.finetuning_type",
        "training.adapter",
        "lora.use_peft",
        "training.projector_only",
        "training.tunable_parts",
    }
)
_LENGTHS = frozenset({"training.max_length", "data.block_size"})


def _with_its_way(parts: list[Part], programs: list[Program], around: Around) -> list[Part]:
    """With what the options and modules of the program say of how it trains, and how long its rows are, where nothing else does."""
    first = parts[0].fragment
    call = first.block.kind == "call"
    if not call and not (programs and programs[0].trains and (programs[0].trainer or programs[0].loop)):
        return parts
    if framework(first.framework).adapter_by in _WAYS - {"lora.use_peft"}:
        return parts
    path = first.block.document.text.path if call else programs[0].document.text.path
    told = around.told(path, [part.fragment for part in parts if part.fragment.dialect not in _READ_BY_OTHERS])
    statements = [one for part in parts for one in part.fragment.statements]
    known = {one.fact for one in statements if not isinstance(one.value, Unknown)}
    dropped = {"model.partly_frozen"} if told.freezes_another else set()
    more: list[Statement] = []
    scopes: dict[str, str] = {}
    if known.isdisjoint(_WAYS):
        if told.way is not None:
            dropped |= {"lora.use_peft"}
            more.append(told.way)
        elif told.whole and not any(one.fact.startswith("lora.") for one in statements):
            scopes = {"lora": PRESUMED}
    firm = {
        one.fact
        for one in statements
        if one.fact in known and not (isinstance(one.origin, Explicit) and one.origin.layer == "script-default")
    }
    names = {name for part in parts for name in part.fragment.classes.get("training", ())}
    # TRL's arguments have a length of their own, which a dictionary may give them.
    apart = not any("trl." in name for name in names) or any(_is_spread(part.fragment) for part in parts)
    if told.length is not None and firm.isdisjoint(_LENGTHS) and apart:
        dropped |= {"training.max_length"}
        more.append(told.length)
    elif told.of_trainer is not None and known.isdisjoint(_LENGTHS):
        handed = next((one for one in statements if one.fact == "trainer.max_length"), None)
        more += [handed._replace(fact="training.max_length", value=told.of_trainer)] if handed is not None else []
    unclear = {one.fact for one in statements if isinstance(one.value, Unknown)}
    for one in told.open:
        if one.fact not in known:
            dropped.add(one.fact)
            more.append(one)
    for one in told.unclear:
        if one.fact in unclear:
            dropped.add(one.fact)
            more.append(one)
    if dropped:
        parts = [
            part._replace(
                fragment=part.fragment._replace(
                    statements=tuple(one for one in part.fragment.statements if one.fact not in dropped)
                )
            )
            for part in parts
        ]
    if not more and not scopes:
        return parts
    alone = first._replace(
        statements=tuple(more), scopes=scopes, classes={}, links=(), entry=False, framework="", cut=(), pins={}
    )
    return [*parts, Part(alone, True)]


def _with_settings(parts: list[Part], programs: list[Program], files: Files, around: Around) -> list[Part]:
    """With the configuration that the program reads where nothing else is named."""
    first = parts[0].fragment.block
    own = at_hand(files, first.document.text.path) if first.kind == "call" else None
    program = own or next(iter(programs), None)
    if own is None and program is not None and not (program.trains and (program.trainer or program.loop)):
        return parts
    path = around.settings(program.document.text.path, first.document.text.path) if program is not None else None
    if program is None or path is None or any(part.fragment.block.document.path == path for part in parts):
        return parts
    found = [one for one in files.fragments(path) if one.entry and one.block.kind == "document"]
    read = [program.reads(one) if one.dialect not in ROLE_DIALECT else one for one in found]
    return [*parts, *(Part(one if program.makes_arguments else own_words.with_own_words(one), True) for one in read)]


def _with_constants(parts: list[Part], link: Link, documents: tuple[Document, ...]) -> tuple[list[Part], list[Link]]:
    """With what a module of the program's own says of its settings, and what these name."""
    found = [part._replace(fragment=imported.filled(part.fragment, link, documents)) for part in parts]
    changed = zip(parts, found, strict=True)
    return found, [one for old, new in changed for one in new.fragment.links[len(old.fragment.links) :]]


def _is_overruled(link: Link, command: Fragment) -> bool:
    """Whether a file names DeepSpeed's file and the command that reads it says another, or none: `deepspeed=null`."""
    return (
        link.role == "deepspeed"
        and command.layer == "flags"
        and link.place.document is not command.block.document
        and any(one.fact == "training.deepspeed" for one in command.statements)
    )


def _dialect_of(link: Link, first: Fragment) -> str | None:
    """What a file is by the link that leads to it; axolotl's own command reads whatever it is handed as axolotl's."""
    if link.role == "config" and first.dialect == "axolotl" and first.block.kind == "flags":
        return "axolotl"
    if link.role == "rows" and first.dialect == "llamafactory" and first.block.kind == "flags":
        return "llamafactory-data"  # its own command reads the table, by whatever names the columns go
    return ROLE_DIALECT.get(link.role)


def _is_a_framework_s(fragment: Fragment) -> bool:
    """Whether the command is a framework's own, which the flags that it happens to have need not tell."""
    return fragment.block.kind == "flags" and fragment.dialect not in ("hf-args", "own", "trl")


# Blocks that the launcher reads, or a library whoever hands them to it.
_READ_BY_OTHERS = frozenset({*ROLE_DIALECT, "shell", "model", "peft"})


def _unseen(part: Part, at_hand: bool) -> tuple[Part, ...]:
    """A file that a command hands to a program which is not seen to give it to a library, and the flags of one that is `at_hand`: what it
    makes of them, and of what they leave out, is presumed. Whether its parser has a flag at all is known."""
    fragment = part.fragment
    layers = ("file", "flags") if at_hand else ("file",)
    if fragment.layer not in layers or fragment.block.kind == "call" or fragment.dialect in _READ_BY_OTHERS:
        return (part,)
    if fragment.layer == "file":
        return (part._replace(presumed=True, unseen=True),)
    scopes = {head: PRESUMED if scope == CLOSED else scope for head, scope in fragment.scopes.items()}
    known = tuple(one for one in fragment.statements if one.fact.startswith(("keys.", "launch.")))
    meant = tuple(one for one in fragment.statements if not one.fact.startswith(("keys.", "launch.")))
    rest = fragment._replace(statements=meant, scopes={}, classes={}, links=(), entry=False, framework="")
    return part._replace(fragment=fragment._replace(statements=known, scopes=scopes)), Part(rest, True, True)


def _told_by_files(parts: list[Part]) -> list[Part]:
    """What the program takes from an object by a key is what a file of the run says of this very setting under that key. A number that YAML
    takes for a text may be made one by the program."""
    asking = {
        number
        for number, part in enumerate(parts)
        if part.fragment.layer != "file" and any(map(_asks, part.fragment.statements))
    }
    if not asking:
        return parts
    said = {
        (one.fact, spelled(one.origin.place.path[-1])): one
        for part in parts
        if part.fragment.layer == "file" and part.fragment.dialect not in _READ_BY_OTHERS
        for one in part.fragment.statements
        if isinstance(one.origin, Explicit) and one.origin.place.path
    }
    found = list(parts)
    for number in asking if said else ():
        fragment = parts[number].fragment
        told = tuple(_told(one, said) for one in fragment.statements)
        found[number] = parts[number]._replace(fragment=fragment._replace(statements=told))
    return found


def _is_unclear(one: Statement) -> bool:
    if isinstance(one.raw, str) and (one.raw[:1].isdigit() or not isinstance(one.value, str)):
        return True
    return isinstance(one.value, Unknown)


def _asks(one: Statement) -> bool:
    return isinstance(one.value, Unknown) and one.value.key != ""


def _told_by_others(parts: list[Part]) -> list[Part]:
    """What a program, or a module of it, takes by a name is what the command or the program's own options say under this name; with a default
    of its own where nobody says it: `settings.get("beta", 0.1)`."""
    said: dict[tuple[str, str], Statement] = {}
    keys: set[str] = set()
    for part in parts:
        for one in part.fragment.statements:
            if isinstance(one.origin, Explicit) and one.origin.place.path:
                if part.fragment.layer in ("flags", "script-default") and not isinstance(one.value, Unknown):
                    said.setdefault((one.fact, spelled(one.origin.place.path[-1])), one)
    for part in parts:
        if part.fragment.layer == "file":
            keys |= _keys(part.fragment.block.mapping)
    read = any(part.fragment.layer == "file" and part.fragment.dialect not in _READ_BY_OTHERS for part in parts)
    by_files = {
        one.fact: one
        for part in parts
        if part.fragment.layer == "file" and part.fragment.dialect not in _READ_BY_OTHERS
        for one in part.fragment.statements
        if not isinstance(one.value, Unknown)
    }
    found = []
    for part in parts:
        fragment = part.fragment
        if by_files and _is_spread(fragment):  # what the file leaves out nobody is seen to say
            fragment = fragment._replace(scopes={**fragment.scopes, "training": PRESUMED})
            part = part._replace(fragment=fragment)
        if (
            fragment.layer == "file"
            or fragment.block.kind == "flags"
            or not any(_asks(one) or program_runs.comes_from_flags(one.value) for one in fragment.statements)
        ):
            found.append(part)
            continue
        told: list[Statement] = []
        apart: list[Statement] = []
        for one in fragment.statements:
            other = said.get((one.fact, one.value.key)) if isinstance(one.value, Unknown) else None
            if other is None and program_runs.comes_from_flags(one.value):
                other = by_files.get(one.fact)  # the file fills the options in
            default = _given_default(one, keys) if read and other is None else None
            value = other.value if other is not None else default
            (told if value is None else apart).append(one if value is None else one._replace(value=value, raw=value))
        found.append(part._replace(fragment=fragment._replace(statements=tuple(told))))
        if apart:
            rest = fragment._replace(
                statements=tuple(apart), scopes={}, classes={}, links=(), entry=False, framework=""
            )
            found.append(Part(rest, True))
    return found


def _is_spread(fragment: Fragment) -> bool:
    """Whether it is a library's arguments, made of a dictionary: `TrainingArguments(**settings)`."""
    call = fragment.block.origin
    return (
        isinstance(call, Call)
        and python_kinds.kind(call) == "arguments"
        and fragment.block.mapping.open
        and not call.parsed
    )


def _keys(mapping: Mapping) -> set[str]:
    """Of a file and its sections."""
    found: set[str] = set()
    pending = [mapping]
    while pending:
        for entry in pending.pop().entries:
            found.add(spelled(entry.key))
            if isinstance(entry.value, Mapping):
                pending.append(entry.value)
    return found


def _given_default(one: Statement, keys: set[str]) -> Value:
    """What `settings.get("beta", 0.1)` gives where no file has the key."""
    entry = one.origin.place.entry if isinstance(one.origin, Explicit) else None
    node = entry.value if entry is not None else None
    if isinstance(node, Call) and node.name in NUMBERS and len(node.positional) == 1:
        node = node.positional[0]
    if not (isinstance(node, Call) and node.name.endswith(".get") and len(node.positional) == 2):
        return None
    asked, given = node.positional
    known = isinstance(asked, Scalar) and isinstance(given, Scalar) and not isinstance(given.value, Unknown)
    return given.value if known and isinstance(asked.value, str) and spelled(asked.value) not in keys else None  # type: ignore[union-attr]


def _told(one: Statement, said: dict[tuple[str, str], Statement]) -> Statement:
    other = said.get((one.fact, one.value.key)) if isinstance(one.value, Unknown) else None
    if other is None or isinstance(other.value, Unknown):
        return one
    if _called(one) == "bool" and not isinstance(other.value, bool):  # of a text it makes true, be it `false`
        return one
    if _is_unclear(other) and not (_makes_a_number(one) and isinstance(other.value, (int, float))):
        return one
    return one._replace(value=other.value, raw=other.value if _makes_a_number(one) else other.raw)


def _makes_a_number(one: Statement) -> bool:
    """Whether the program makes a number of what it takes: `float(config["lr"])`."""
    return _called(one) in NUMBERS


def _called(one: Statement) -> str:
    """What the program calls to make the value."""
    entry = one.origin.place.entry if isinstance(one.origin, Explicit) else None
    return entry.value.name if entry is not None and isinstance(entry.value, Call) else ""


def _led_by_program(part: Part) -> tuple[Part, ...]:
    """A file of accelerate's launcher, or its flags, where the program leads its processes itself: how they are to shard is presumed."""
    fragment = part.fragment
    if part.presumed or fragment.dialect not in ("accelerate", "shell"):
        return (part,)
    meant = tuple(one for one in fragment.statements if one.fact.startswith(FOR_PROCESSES))
    if not meant:
        return (part,)
    kept = tuple(one for one in fragment.statements if one not in meant)
    scopes = {head: PRESUMED if scope == CLOSED else scope for head, scope in fragment.scopes.items()}
    rest = fragment._replace(statements=meant, scopes={}, classes={}, links=(), entry=False, framework="", edited=True)
    return part._replace(fragment=fragment._replace(statements=kept, scopes=scopes)), Part(rest, True, True)


def _with_its_engine(part: Part, program: Program, path: str, files: Files) -> Part:
    """A copy of DeepSpeed-Chat with what the function beside it gives DeepSpeed; flags of the command say the rest."""
    name = chat_copy.module_of(program.document.text.text)
    own = discover.locate(name, path, files.reach(path)) if name else None
    if own is None or os.path.isdir(own):
        return part
    before = {one.fact for one in part.fragment.statements}
    stated = [one for document in files.documents(own) for one in chat_copy.stated(document)]
    if _FORMATS.isdisjoint(before | {one.fact for one in stated}) and not part.fragment.block.mapping.open:
        stated += [one for document in files.documents(own) for one in chat_copy.by_default(document, program.document)]
    more = [one for one in stated if one.fact not in before]
    return part._replace(fragment=part.fragment._replace(statements=(*part.fragment.statements, *more)))


_FORMATS = frozenset({"deepspeed.fp16.enabled", "deepspeed.bf16.enabled"})


def at_hand(files: Files, path: str) -> Program | None:
    """The program of a file that a command starts, read once for all commands."""
    if not path.endswith(".py"):
        return None
    if path not in files.started:
        files.started[path] = _at_hand(files, path)
    return files.started[path]


def _at_hand(files: Files, path: str) -> Program | None:
    program = program_at_hand.read(files.documents(path))
    modules = program_at_hand.imported(program) if program is not None else []
    if program is not None and len(modules) > limits.MODULES.most:
        files.cut(limits.MODULES, program.document, 0, 0)
    for name, loop_only in modules[: limits.MODULES.most]:
        own = discover.locate(name, path, files.reach(path))
        other = program_at_hand.read(files.documents(own)) if own is not None and not os.path.isdir(own) else None
        if program is not None and other is not None:
            program = program_at_hand.joined(program, other, loop_only)
    return program


def _as_read(part: Part, program: Program) -> Part:
    """The flags of the command, and a file that it names, as the program reads them."""
    fragment = part.fragment
    if fragment.layer not in ("flags", "file") or fragment.block.kind == "call" or fragment.dialect in ROLE_DIALECT:
        return part
    return part._replace(fragment=program.reads(fragment))


def with_neighbours(joined: list[tuple[list[Part], frozenset[str]]]) -> list[tuple[list[Part], frozenset[str]]]:
    """An accelerate or DeepSpeed file that nothing names, beside the only run of its folder, is presumed to launch that run."""
    result = list(joined)
    for helper in ("accelerate", "deepspeed"):
        if not any(parts[0].fragment.dialect == helper for parts, _ in result):
            continue
        # Where somebody names one of a folder's files, the others there are for whoever names them.
        named = {
            os.path.dirname(part.fragment.block.document.text.path)
            for parts, _ in result
            for part in parts[1:]
            if part.fragment.dialect == helper
        }
        folders: dict[str, list[int]] = {}
        for number, (parts, _) in enumerate(result):
            folders.setdefault(os.path.dirname(parts[0].fragment.block.document.text.path), []).append(number)
        dropped: set[int] = set()
        for folder, numbers in folders.items():
            if folder in named:
                continue
            helpers = [n for n in numbers if result[n][0][0].fragment.dialect == helper]
            entries = [n for n in numbers if result[n][0][0].fragment.entry]
            if len(helpers) != 1 or len(entries) != 1:
                continue
            parts, linked = result[entries[0]]
            if any(one.fact == f"launch.late.{helper}" for part in parts for one in part.fragment.statements):
                continue  # the program hands it to arguments that are made already
            if helper in linked or any(part.fragment.dialect == helper for part in parts):
                continue
            more, _ = result[helpers[0]]
            result[entries[0]] = ([*parts, *(Part(p.fragment, True) for p in more)], linked | {helper})
            dropped.add(helpers[0])
        result = [run for number, run in enumerate(result) if number not in dropped]
    return result
