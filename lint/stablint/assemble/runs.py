"""Documents → runs: fragments that belong together, settled into facts, with what is supplied beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stablint.assemble.asked import Options
from stablint.assemble.cache import Joined, identity
from stablint.assemble.context import (
    extra_flags_of,
    governed,
    installed_by,
    model_facts,
    on_target,
    releases_of,
    shipped_with,
    stated_target,
)
from stablint.assemble.files import Files
from stablint.assemble.joining import join, seeds_of, with_former, with_live, with_neighbours
from stablint.assemble.parts import ROLE_DIALECT, Part
from stablint.frameworks.fragment import Block, Fragment
from stablint.pins.locks import Pin
from stablint.run.fact import (
    CLOSED,
    LIVE,
    OPEN,
    PRESUMED,
    Explicit,
    Fact,
    Place,
    Statement,
    Supplied,
    is_unknown,
    settle,
)
from stablint.run.framework import framework as record_of
from stablint.run.releases.dating import bounded, spelled
from stablint.run.world import Run
from stablint.syntax import embedded, limits
from stablint.syntax.tree import Call, Text

JOINING, SETTLING = "following what it names", "settling its settings"


def assemble(paths: Iterable[str], files: Files, options: Options) -> Iterator[Run]:
    """One run per document, command or trainer; a fragment that some other file names makes none of its own."""
    faults, kept = files.faults, files.kept
    seeds: list[list[Part]] = []
    for path in paths:
        fragments = _bounded(files.fragments(path, options.dialect), files)
        if fragments:
            known = kept.seeds.get(path)
            if known is None or known[0] is not fragments:
                none: list[list[Part]] = []
                known = (fragments, faults.guard(JOINING, fragments[0].block.document.text, none, seeds_of, fragments))
                if known[1]:
                    kept.seeds[path] = known
            limit, most = _most_runs(len(governed(options, path).gpus))
            if len(known[1]) > most:
                block = known[1][most][0].fragment.block
                files.cut(limit, block.document, block.start, block.start)
            seeds += known[1][:most]
    if options.live is not None:
        seeds = with_live(seeds, options.live.fragments)
    found = [
        one for parts in seeds if (one := faults.guard(JOINING, _text(parts), None, _joined, parts, files, options))
    ]
    others = {path for one in found for path in one.followed.linked - one.followed.handed.keys()}
    for one in found:
        files.linked |= one.followed.linked
        files.handed |= {path: program for path, program in one.followed.handed.items() if path not in others}
        for name, place in one.followed.not_found.items():
            files.not_found.setdefault(name, place)
    joined = [
        (one.parts, one.linked)
        for one in found
        if any(part.fragment.entry and not part.fragment.weak for part in one.parts)
        or not one.parts[0].fragment.weak
        or (files.around is not None and _has_a_loop(one.parts))
    ]
    alone = [
        (parts, linked)
        for parts, linked in joined
        if not (parts[0].fragment.block.document.path in files.linked and parts[0].fragment.block.kind != "flags")
    ]
    installed = installed_by((parts for parts, _ in alone), files)
    for parts, linked in with_former(with_neighbours(alone)):
        beside = _of_others(parts, installed) if installed else {}
        key = (identity(parts), linked, tuple(beside.items()))
        if key not in kept.made:
            nothing: list[Run] = []
            runs = faults.guard(SETTLING, _text(parts), nothing, _made, parts, linked, beside, files, options)
            if not runs:
                continue
            kept.made[key] = (parts, runs)
        yield from kept.made[key][1]


def _has_a_loop(parts: list[Part]) -> bool:
    """Whether what runs the steps of the program that a command starts is known, be its flags which they may."""
    statements = (one for part in parts for one in part.fragment.statements)
    return any(one.fact == "launch.loop" and isinstance(one.value, str) for one in statements)


def _joined(parts: list[Part], files: Files, options: Options) -> Joined | None:
    key = (*identity(parts), options.trusting)
    if key not in files.kept.joined:
        files.kept.joined[key] = (parts, Joined(*join(parts, files, options.trusting)))
    return files.kept.joined[key][1]


def _text(parts: list[Part]) -> Text:
    return parts[0].fragment.block.document.text


def _of_others(parts: list[Part], installed: dict[str, dict[str, Pin]]) -> dict[str, Pin]:
    """What scripts install that start the same program."""
    paths = dict.fromkeys(part.fragment.block.document.text.path for part in parts)
    return {name: pin for path in reversed(paths) for name, pin in installed.get(path, {}).items()}


def _made(
    parts: list[Part], linked: frozenset[str], others: dict[str, Pin], files: Files, options: Options
) -> list[Run]:
    return list(_runs(parts, linked, others, files, options))


def _bounded(fragments: tuple[Fragment, ...], files: Files) -> tuple[Fragment, ...]:
    """Those of the first blocks of a file: what belongs together is found by comparing each with each."""
    if len(fragments) <= limits.BLOCKS.most:
        return fragments
    blocks = dict.fromkeys((fragment.block.document.number, fragment.block.number) for fragment in fragments)
    if len(blocks) <= limits.BLOCKS.most:
        return fragments
    kept = frozenset(list(blocks)[: limits.BLOCKS.most])
    first = next(f for f in fragments if (f.block.document.number, f.block.number) not in kept)
    files.cut(limits.BLOCKS, first.block.document, first.block.start, first.block.start)
    return tuple(f for f in fragments if (f.block.document.number, f.block.number) in kept)


def _most_runs(targets: int) -> tuple[limits.Limit, int]:
    """How many runs of one file are judged, each once for every target."""
    aimed = limits.AIMED.most // max(1, targets)
    return (limits.RUNS, limits.RUNS.most) if aimed >= limits.RUNS.most else (limits.AIMED, max(1, aimed))


def _runs(
    parts: list[Part], linked: frozenset[str], others: dict[str, Pin], files: Files, options: Options
) -> Iterator[Run]:
    options = governed(options, parts[0].fragment.block.document.text.path)
    parts = _as_called(parts)
    releases, said, listed = releases_of(parts, files, options, others)
    groups: list[tuple[Iterable[Statement], bool]] = [(part.fragment.statements, part.presumed) for part in parts]
    groups.append((extra_flags_of(options.extra_flags), False))
    groups.append(([Statement(name, value, value, Supplied(f"--set {name}")) for name, value in options.sets], False))
    explicit = settle(groups)
    main = parts[0].fragment
    if len(explicit) > limits.SETTINGS.most:
        files.cut(limits.SETTINGS, main.block.document, main.block.start, main.block.start)
        return
    anchor = _anchor(main, explicit)
    base = model_facts(parts, explicit, files, options)
    framework = _framework(parts)
    releases = bounded(releases, framework)
    brought = shipped_with(framework, explicit, parts) if framework else {}
    if brought:
        base = {**base, **brought}
    if "target.gpu.name" in explicit or "target.gpu.count" in explicit:
        base = stated_target(explicit, base, bool(options.gpus))
    if options.live is not None and any(part.fragment.block.document.format == LIVE for part in parts):
        base = {**base, **{fact.name: fact for fact in options.live.facts}}
        linked |= {part.fragment.dialect for part in parts if part.fragment.dialect in ROLE_DIALECT}
    scopes, classes = _scopes(parts, linked, options.assumed), _classes(parts)
    # Beside a configuration that the framework brings, a flag of its own may say one key of DeepSpeed's: the rest is not absent.
    scopes |= {"deepspeed": OPEN} if brought else dict.fromkeys(_unread(parts, explicit), OPEN)
    # Other frameworks take names that the library has given up.
    by_spelling = releases.is_known() and record_of(framework).library and scopes.get("training") != PRESUMED
    if by_spelling:
        releases = spelled(explicit, classes)
        by_spelling = not releases.is_known()
    texts = [part.fragment.block.document.text.name for part in parts if part.fragment.block.document.format != LIVE]
    run = Run(
        id=_id(main.block),
        files=tuple(dict.fromkeys(texts)),
        dialects=tuple(dict.fromkeys(part.fragment.dialect for part in parts)),
        anchor=anchor,
        explicit=explicit,
        supplied=base,
        scopes=scopes,
        classes=classes,
        releases=releases.shared(),
        said=said,
        listed=listed,
        edited=frozenset(part.fragment.block.document.path for part in parts if part.fragment.edited),
        by_spelling=by_spelling,
        unseen=any(part.unseen for part in parts),
        framework=framework,
        linked=linked | {"deepspeed"} if brought else linked,
    )
    if not options.gpus:
        yield run
    for name, gpu in options.gpus:
        where = f"{name}, {options.said['gpu']}" if options.said.get("gpu") else f"--gpu {name}"
        facts = {key: Fact(key, value, Supplied(where)) for key, value in gpu.facts().items()}
        chosen = (
            on_target(explicit, facts)
            if main.block.kind == "call" or record_of(framework).chooses_by_card
            else explicit
        )
        yield run._replace(supplied={**base, **facts}, target=name, explicit=chosen)


def _as_called(parts: list[Part]) -> list[Part]:
    """A command that takes more from its caller (`"$@"`, `$EXTRA`, a sweep): its flags and the file that they stand over may be overruled."""
    if not any(part.fragment.layer == "flags" and part.fragment.block.mapping.open for part in parts):
        return parts
    return [part._replace(presumed=True) if part.fragment.layer in ("flags", "file") else part for part in parts]


def _id(block: Block) -> str:
    """`train.py:12`, `tune.ipynb:cell 4:2`"""
    text, start, cell = block.document.text.text, block.start, ""
    if block.document.view is not None:
        place = embedded.seen(block.document, start, start)
        if place is not None:
            text, start, cell = place.source, place.start, f"cell {place.cell}:"
    return f"{block.document.text.name}:{cell}{text.count(chr(10), 0, start) + 1}"


def _framework(parts: list[Part]) -> str:
    """The one that patches the others; else the first that is named."""
    named = [part.fragment.framework for part in parts if part.fragment.framework]
    return next((name for name in named if record_of(name).patches), named[0] if named else "")


def _anchor(main: Fragment, explicit: dict[str, Fact]) -> Place:
    name = explicit.get("model.name_or_path")
    if name is not None and isinstance(name.origin, Explicit) and name.origin.place.document is main.block.document:
        return name.origin.place
    block = main.block
    if block.kind == "document" and block.mapping.entries:
        entry = block.mapping.entries[0]
        return Place(block.document, entry.key, entry.key_start, entry.key_end, entry, (entry.key,))
    word = block.name.rpartition(".")[2] or block.name
    if isinstance(block.origin, Call):
        return Place(block.document, word, block.origin.name_start, block.origin.name_end)
    return Place(block.document, word, block.start, min(block.end, block.start + len(word)))


def _scopes(parts: list[Part], linked: frozenset[str], assumed: bool) -> dict[str, str]:
    """The widest claim of any part: what one part says it owns, absence in the others does not open again."""
    order = (CLOSED, PRESUMED, OPEN)
    scopes: dict[str, str] = {}
    for part in parts:
        its_own = assumed and part.fragment.dialect == "trl" and part.fragment.block.kind == "document"
        for namespace, scope in part.fragment.scopes.items():
            scope = CLOSED if its_own and scope == PRESUMED else scope
            known = scopes.get(namespace)
            if known is None or order.index(scope) < order.index(known):
                scopes[namespace] = PRESUMED if part.presumed and scope == CLOSED else scope
    if "deepspeed" in linked:
        scopes.setdefault("deepspeed", CLOSED)
    if scopes.get("training") == PRESUMED and scopes.get("deepspeed") == CLOSED and _is_section(parts):
        scopes["deepspeed"] = PRESUMED  # whoever reads the file may fill the section in before DeepSpeed gets it
    return scopes


def _is_section(parts: list[Part]) -> bool:
    """Whether DeepSpeed's block is a section of a file that says more."""
    return not any(part.fragment.dialect == "deepspeed" for part in parts)


# What a file that is named would say, by its role; accelerate's names how many processes there are and what shards them as well.
_SAYS = {"deepspeed": ("deepspeed",), "fsdp": ("fsdp",), "accelerate": ("accelerate", "deepspeed", "fsdp", "launch")}
_NAMES = {
    "training.deepspeed": "deepspeed",
    "accelerate.deepspeed_config.deepspeed_config_file": "deepspeed",
    "training.fsdp_config": "fsdp",
}


def _unread(parts: list[Part], explicit: dict[str, Fact]) -> Iterator[str]:
    """The namespaces of files that something names and nobody has read: what is absent at hand may stand in them."""
    named = {link.role for part in parts for link in part.fragment.links if link.role in _SAYS}
    named |= {role for name, role in _NAMES.items() if name in explicit and is_unknown(explicit[name].value)}
    read = {part.fragment.dialect for part in parts if not part.presumed}
    for role in named - read:
        yield from _SAYS[role]


def _classes(parts: list[Part]) -> dict[str, tuple[str, ...]]:
    classes: dict[str, tuple[str, ...]] = {}
    for part in parts:
        for namespace, names in part.fragment.classes.items():
            known = classes.get(namespace)
            if (
                known is None
                or (known[:1] == ("transformers.TrainingArguments",) and len(names) > 1)
                or (_is_doubtful(known) and not _is_doubtful(names))
            ):
                classes[namespace] = names
    return classes


def _is_doubtful(names: tuple[str, ...]) -> bool:
    """Whether they are several of which one reads the settings: what a program makes says which."""
    return any(name.startswith("?") for name in names)
