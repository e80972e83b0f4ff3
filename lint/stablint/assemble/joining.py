"""Which fragments belong together: those of one command or trainer, what they name, and what lies beside them."""

from __future__ import annotations

import itertools
import os

from stablint.assemble import shown
from stablint.assemble.files import FOR_PROCESSES, Files
from stablint.assemble.parts import READ_BY_OTHERS, ROLE_DIALECT, Part, asks, at_hand, of_the_program
from stablint.base.light import TYPE_CHECKING, Any, NamedTuple, Pattern
from stablint.files import discover
from stablint.frameworks import accelerate, chat_copy, hydra, llamafactory_data, samples, unknown_keys
from stablint.frameworks import own as own_words
from stablint.frameworks.fragment import NUMBERS, Fragment, Link, spelled
from stablint.frameworks.launch import at_hand as program_at_hand
from stablint.frameworks.programs import helpers as program_helpers
from stablint.frameworks.programs import imported
from stablint.frameworks.programs import runs as program_runs
from stablint.run.fact import CLOSED, PRESUMED, Explicit, Place, Statement
from stablint.run.framework import framework
from stablint.syntax.tree import NO_FOLDER, Call, Document, Module, Unknown

if TYPE_CHECKING:  # loaded where a command starts a program that is at hand
    from stablint.frameworks.launch.at_hand import Program


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
    pending = [link for part in parts for link in _links(part.fragment)]
    pending += [_unnamed(one, role) for role in files.in_place for part in parts for one in _unclear(part, role)]
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
        path = files.in_place.get(link.role, path)
        if path is not None and loader and link.role == "group" and _is_of_its_folder(parts[0].fragment, path):
            if document.format != "python":
                continue  # the file stands in the place of the group's other one
            path = parts[0].fragment.block.document.path
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
        if link.role == "sample":
            rows = files.rows(path)
            followed.consulted.add(path)
            parts = [
                _with_rows(part, link, rows) if part.fragment.block.document is document else part for part in parts
            ]
            continue
        if loader and document.path == loader and path == parts[0].fragment.block.document.path:
            continue  # the program that is here for it, and names it
        if link.role == "reward":
            followed.consulted.add(path)
            parts = [_with_reward(part, document, one) for one in files.documents(path)[:1] for part in parts]
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
        if link.role == "rows":
            found = [llamafactory_data.of_used(one, [part.fragment for part in parts]) for one in found]
        if link.role == "accelerate" and (mode := _asked_of_launcher(parts)) is not None:
            found = [accelerate.started(one, mode) if one.dialect == "accelerate" else one for one in found]
        if path != document.path:
            followed.linked.add(path)
            if link.role in ("config", "settings") and not link.reader:
                named.add(path)
        own_reader = link.role == "config" and parts[0].fragment.block.kind == "flags" and parts[0].fragment.presumed
        if far or own_reader:
            found = [fragment._replace(presumed=True) for fragment in found]
        if link.role == "script" and found[0].block.kind == "call":
            several = list(itertools.islice(program_runs.groups(of_the_program(found)), 2))
            found = program_runs.launched(several[0], [part.fragment for part in parts], sure)
            if len(several) > 1 or not named_by_it:  # of several trainers the command may mean another one
                found = [fragment._replace(presumed=True) for fragment in found]
        if link.reader:
            read = True
            found = [unknown_keys.read_by(f, link.reader) for f in found]
        if link.role in ("deepspeed", "accelerate") or found[0].dialect in ("deepspeed", "accelerate"):
            linked.add(found[0].dialect)
        parts = [*parts, *(Part(f, f.presumed) for f in found)]
        pending += [inner for f in found for inner in _links(f)]
    if files.around is not None and not named and not loader:
        parts = shown.with_settings(parts, programs, files, files.around)
    if files.around is not None and (module := shown.module(parts, programs, files.around)) is not None:
        parts = shown.with_module(parts, module, files)
        other = at_hand(files, module)
        programs = [program_at_hand.joined(one, other, True) if other else one for one in programs]
    if of_anybody and programs and not any(program.names_a_framework for program in programs):
        followed.handed.update(dict.fromkeys(named, programs[0]))
    if files.around is not None and not programs and parts[0].fragment.block.kind == "document":
        parts = [part._replace(fragment=own_words.with_own_words(part.fragment, True)) for part in parts]
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
        parts = shown.told_by_others(parts)
        parts = shown.with_its_way(parts, programs, files.around)
        parts = shown.with_unsloths_length(parts)
        if loader and not named_by_it and parts[0].fragment.dialect in READ_BY_OTHERS:
            parts = [*parts[:1], *map(shown.without_defaults, parts[1:])]
    if any(program.leads_itself for program in programs):
        parts = [one for part in parts for one in _led_by_program(part)]
    inline = (part.fragment.statements for part in parts if part.fragment.layer in ("file", "call", "flags"))
    facts = [statement[0] for statements in inline for statement in statements]
    if any(fact.startswith("deepspeed.") for fact in facts):
        linked.add("deepspeed")
    return parts, frozenset(linked), followed


# Those that name files of rows, or of a reward function, themselves.
_WITH_ROWS = frozenset({"axolotl", "ms-swift", "xtuner", "python", "notebook", "trl", "verl", "easyr1"})


def _links(fragment: Fragment) -> tuple[Link, ...]:
    return (*fragment.links, *samples.links(fragment)) if fragment.dialect in _WITH_ROWS else fragment.links


def _with_rows(part: Part, link: Link, rows: tuple[dict[str, Any], ...]) -> Part:
    known = part.fragment.dialect in _WITH_ROWS or part.fragment.dialect == "llamafactory-data"
    return part._replace(fragment=samples.told(part.fragment, link, rows)) if rows and known else part


def _with_reward(part: Part, by: Document, file: Document) -> Part:
    if part.fragment.block.document is not by or not isinstance(file.root, Module):
        return part
    return part._replace(fragment=samples.rewarded(part.fragment, file.root, file.text.text))


def _asked_of_launcher(parts: list[Part]) -> object:
    """The way of running that a flag of accelerate's launcher asks for."""
    said = (one for part in parts if part.fragment.dialect == "shell" for one in part.fragment.statements)
    return next((one.value for one in said if one.fact == "accelerate.distributed_type"), None)


def _is_of_its_folder(fragment: Fragment, path: str) -> bool:
    """Whether another file of Hydra's is of the same folder as the one that is shown."""
    own = fragment.block.document.path
    return fragment.block.kind == "document" and own != path and os.path.dirname(own) == os.path.dirname(path)


def _unclear(part: Part, role: str) -> list[Statement]:
    """What says that DeepSpeed has a file, and not which."""
    names = ("training.deepspeed",) if role == "deepspeed" else ()
    return [one for one in part.fragment.statements if one.fact in names and isinstance(one.value, Unknown)]


def _unnamed(one: Statement, role: str) -> Link:
    assert isinstance(one.origin, Explicit)
    return Link(role, "", one.origin.place)


_SOMEWHERE = frozenset({"script", "config", "settings", "deepspeed", "accelerate"})


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
def _unseen(part: Part, at_hand: bool) -> tuple[Part, ...]:
    """A file that a command hands to a program which is not seen to give it to a library, and the flags of one that is `at_hand`: what it
    makes of them, and of what they leave out, is presumed. Whether its parser has a flag at all is known."""
    fragment = part.fragment
    layers = ("file", "flags") if at_hand else ("file",)
    if fragment.layer not in layers or fragment.block.kind == "call" or fragment.dialect in READ_BY_OTHERS:
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
        if part.fragment.layer != "file" and any(map(asks, part.fragment.statements))
    }
    if not asking:
        return parts
    said = {
        (one.fact, spelled(one.origin.place.path[-1])): one
        for part in parts
        if part.fragment.layer == "file" and part.fragment.dialect not in READ_BY_OTHERS
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


def _as_read(part: Part, program: Program) -> Part:
    """The flags of the command, and a file that it names, as the program reads them."""
    fragment = part.fragment
    if fragment.layer not in ("flags", "file") or fragment.block.kind == "call" or fragment.dialect in ROLE_DIALECT:
        return part
    read = program.reads(fragment)
    return part._replace(fragment=read, presumed=part.presumed or read.presumed)


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
            vain = (f"launch.late.{helper}", "launch.flags.without_switch")
            if any(one.fact in vain for part in parts for one in part.fragment.statements):
                continue  # the program hands it to arguments that are made already, or the launcher to nobody
            if helper in linked or any(part.fragment.dialect == helper for part in parts):
                continue
            more, _ = result[helpers[0]]
            beside = [Part(_unless_written(p.fragment, parts), True) for p in more]
            result[entries[0]] = ([*parts, *beside], linked | {helper})
            dropped.add(helpers[0])
        result = [run for number, run in enumerate(result) if number not in dropped]
    return result


def _unless_written(fragment: Fragment, parts: list[Part]) -> Fragment:
    """What the program writes over, in the dictionary that it has loaded, is not as the file says: `ds_cfg["train_batch_size"] = …`."""
    documents = {id(one): one for part in parts if (one := part.fragment.block.document).format == "python"}
    texts = [one.view.source if one.view is not None else one.text.text for one in documents.values()]
    written = {key for text in texts for key in _WRITES_KEY.findall(text)}
    said = tuple(
        one._replace(value=Unknown("the program writes it over"))
        if isinstance(one.origin, Explicit) and not written.isdisjoint(one.origin.place.path[-1:])
        else one
        for one in fragment.statements
    )
    return fragment._replace(statements=said) if written else fragment


_WRITES_KEY = Pattern(r"""\[["'](\w{1,80})["']\][ \t]{0,8}=(?!=)""")


def with_former(joined: list[tuple[list[Part], frozenset[str]]]) -> list[tuple[list[Part], frozenset[str]]]:
    """A run that takes up the adapter which another one here writes, and adds no tokens itself, hears which that one adds
    (`launch.former.added_tokens`)."""
    every = [[one for part in parts for one in part.fragment.statements] for parts, _ in joined]
    made = {
        os.path.normpath(one.value): [token for token in said if token.fact == "model.added_tokens"]
        for said in every
        for one in said
        if one.fact == "training.output_dir" and isinstance(one.value, str)
    }
    if not any(made.values()):
        return joined
    result = []
    for (parts, linked), said in zip(joined, every, strict=True):
        taken = [
            one.value if isinstance(one.value, str) else one.value[-1]
            for one in said
            if one.fact == "lora.adapter_name_or_path" and isinstance(one.value, (str, list)) and one.value
        ]
        folders = [os.path.normpath(one) for one in taken[-1:] if isinstance(one, str)]
        folders += [os.path.dirname(one) for one in folders if os.path.basename(one).startswith("checkpoint-")]
        told = tuple(one._replace(fact="launch.former.added_tokens") for path in folders for one in made.get(path, ()))
        if told and not any(one.fact == "model.added_tokens" for one in said):
            fragment = parts[0].fragment
            first = parts[0]._replace(fragment=fragment._replace(statements=(*fragment.statements, *told)))
            parts = [first, *parts[1:]]
        result.append((parts, linked))
    return result
