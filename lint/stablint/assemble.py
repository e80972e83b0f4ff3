"""Documents → runs: which fragments belong together, what the files name, and what the options supply."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Mapping as Table
from typing import TYPE_CHECKING, Any, NamedTuple

from stablint import discover, locks
from stablint.dialect import registry
from stablint.dialect.fragment import Block, Fragment, plain_value
from stablint.run.fact import CLOSED, LIVE, OPEN, PRESUMED, Derived, Explicit, Fact, Place, Statement, Supplied
from stablint.run.releases import Releases
from stablint.run.settle import settle
from stablint.run.world import Run
from stablint.source.tree import Call, Document, Mapping, Text, Unknown
from stablint.target import model as models

if TYPE_CHECKING:  # only loaded where there is something to suppress
    from stablint.policy import Policies
    from stablint.target.gpu import Gpu


class Live(NamedTuple):
    """Objects of a running program: what they state, as fragments, and what else is known of them."""

    fragments: tuple[Fragment, ...]
    facts: tuple[Fact, ...]


class Options(NamedTuple):
    """What the command line or the library call says about every run."""

    gpus: tuple[tuple[str, Gpu], ...] = ()
    model: str | None = None
    releases: tuple[tuple[str, str], ...] = ()
    sets: tuple[tuple[str, Any], ...] = ()
    extra_flags: tuple[str, ...] = ()
    dialect: str | None = None
    root: str | None = None
    skip_unrecognised: bool = False  # files are named by a machine, training configurations or not
    live: Live | None = None
    policies: Policies | None = None  # what settings files and baselines say
    said: dict[str, str] = {}  # noqa: RUF012  library, or "gpu" → where it was said, if not by --with and --gpu


class Part(NamedTuple):
    fragment: Fragment
    presumed: bool = (
        False  # nothing names it: it lies beside the only run of its folder; or the caller may say otherwise
    )


class Files:
    """The documents of the files that were read, each file once; linked files are read when they are asked for."""

    def __init__(self, root: Callable[[str], str], base: str) -> None:
        """`root`: of a file, the folder below which the files lie that it may name."""
        self.root, self.base = root, base
        self._prefix = os.path.join(os.path.normpath(base), "")
        self._documents: dict[str, tuple[Document, ...]] = {}
        self._fragments: dict[tuple[str, str | None], tuple[Fragment, ...]] = {}
        self._models: dict[str, dict[str, Fact]] = {}
        self._folders: dict[tuple[str, str], str | None] = {}
        self._requirements: dict[str, dict[str, locks.Pin]] = {}
        self.linked: set[str] = set()  # files that another one names

    def add(self, path: str, documents: tuple[Document, ...]) -> None:
        self._documents[path] = documents
        for document in documents:
            if document.view is not None and document.view.name:
                self._documents[document.path] = (*self._documents.get(document.path, ()), document)

    def documents(self, path: str, format: str | None = None) -> tuple[Document, ...]:
        if path not in self._documents:
            self.add(path, discover.read(path, self.name(path), format))
        return self._documents[path]

    def fragments(self, path: str, dialect: str | None = None) -> tuple[Fragment, ...]:
        key = (path, dialect)
        if key not in self._fragments:
            self._fragments[key] = tuple(f for d in self.documents(path) for f in registry.lower(d, dialect))
        return self._fragments[key]

    def written(self, wanted: str, beside: Document) -> str | None:
        """The text in the same file that becomes a file of this name when that one runs."""
        path = f"{beside.text.path}\0{wanted.removeprefix('./')}"
        return path if path in self._documents else None

    def described(self, name: str) -> dict[str, Fact]:
        """What is known of a model of this name; the same dictionary for every run that names it."""
        if name not in self._models:
            self._models[name] = _facts(models.describe(name) or {}, Derived(("model.name_or_path",)))
        return self._models[name]

    def folder_of(self, wanted: str, beside: str) -> str | None:
        """A local model folder of this name, if there is one."""
        key = (wanted, os.path.dirname(beside))
        if key not in self._folders:
            path = discover.locate(wanted, beside, self.root(beside))
            self._folders[key] = path if path is not None and os.path.isdir(path) else None
        return self._folders[key]

    def requirements(self, beside: str) -> dict[str, locks.Pin]:
        folder = os.path.dirname(beside)
        return (
            self._requirements[folder]
            if folder in self._requirements
            else locks.stated(folder, self.root(beside), self._requirements)
        )

    def name(self, path: str) -> str:
        if path.startswith(self._prefix):
            return path[len(self._prefix) :].replace(os.sep, "/")
        return path.replace(os.sep, "/")


def assemble(paths: Iterable[str], files: Files, options: Options) -> Iterator[Run]:
    """One run per document, command or trainer; a fragment that some other file names makes none of its own."""
    seeds: list[list[Part]] = []
    for path in paths:
        seeds += _seeds(files.fragments(path, options.dialect))
    if options.live is not None:
        seeds = _with_live(seeds, options.live.fragments)
    joined = [_join(parts, files) for parts in seeds]
    joined = [
        (parts, linked)
        for parts, linked in joined
        if any(part.fragment.entry and not part.fragment.weak for part in parts) or not parts[0].fragment.weak
    ]
    alone = [
        (parts, linked)
        for parts, linked in joined
        if not (parts[0].fragment.block.document.path in files.linked and parts[0].fragment.block.kind != "flags")
    ]
    for parts, linked in _neighbours(alone):
        yield from _runs(parts, linked, files, options)


def _with_live(seeds: list[list[Part]], live: tuple[Fragment, ...]) -> list[list[Part]]:
    """Live arguments make the run, and files that make none of their own join it; other live objects join the runs of the files."""
    own = [Part(fragment) for fragment in live]
    entries = [parts for parts in seeds if parts[0].fragment.entry]
    rest = [parts for parts in seeds if not parts[0].fragment.entry]
    if entries and not any("training" in fragment.classes for fragment in live):
        return [*([*parts, *own] for parts in entries), *rest]
    return [[*own, *(part for parts in rest for part in parts)], *entries]


def _seeds(fragments: tuple[Fragment, ...]) -> list[list[Part]]:
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
        from stablint.dialect.python_runs import groups

        return [[Part(f, f.presumed) for f in group] for group in groups(fragments)]
    if format == "shell":
        by_command: dict[int, list[Part]] = {}
        for fragment in fragments:
            by_command.setdefault(fragment.block.number, []).append(Part(fragment, fragment.presumed))
        return list(by_command.values())
    return [[Part(fragment)] for fragment in fragments]


_ROLE_DIALECT = {"deepspeed": "deepspeed", "accelerate": "accelerate", "fsdp": "fsdp"}


def _join(parts: list[Part], files: Files) -> tuple[list[Part], frozenset[str]]:
    """Follow the links of every part, and of what they lead to."""
    linked: set[str] = set()
    pending = [link for part in parts for link in part.fragment.links]
    seen: set[tuple[str, str]] = set()
    while pending:
        link = pending.pop(0)
        if link.role == "model":
            continue
        document = link.place.document
        beside = document.text.path
        path = files.written(link.path, document)
        if path is None and link.folder:
            path = discover.locate(os.path.join(link.folder, link.path), beside, files.root(beside))
        path = path or discover.locate(link.path, beside, files.root(beside))
        if path is None or (link.role, path) in seen or os.path.isdir(path):
            continue
        seen.add((link.role, path))
        found = [
            f
            for f in files.fragments(path, _ROLE_DIALECT.get(link.role))
            if f.dialect not in ("model", "peft") or link.role != "config"
        ]
        if not found:
            continue
        if path != document.path:
            files.linked.add(path)
        if link.role == "script" and found[0].block.kind == "call":
            from stablint.dialect.python_runs import groups, launched

            found = launched(next(groups(tuple(found))), [part.fragment.block for part in parts])
        if link.reader:
            from stablint.dialect.unread import read_by

            found = [read_by(f, link.reader) for f in found]
        if link.role in ("deepspeed", "accelerate") or found[0].dialect in ("deepspeed", "accelerate"):
            linked.add(found[0].dialect)
        parts = [*parts, *(Part(f, f.presumed) for f in found)]
        pending += [inner for f in found for inner in f.links]
    inline = (part.fragment.statements for part in parts if part.fragment.layer in ("file", "call", "flags"))
    facts = [statement[0] for statements in inline for statement in statements]
    if any(fact.startswith("deepspeed.") for fact in facts):
        linked.add("deepspeed")
    return parts, frozenset(linked)


def _neighbours(joined: list[tuple[list[Part], frozenset[str]]]) -> list[tuple[list[Part], frozenset[str]]]:
    """An accelerate or DeepSpeed file that nothing names, beside the only run of its folder, is presumed to launch that run."""
    result = list(joined)
    for helper in ("accelerate", "deepspeed"):
        if not any(parts[0].fragment.dialect == helper for parts, _ in result):
            continue
        folders: dict[str, list[int]] = {}
        for number, (parts, _) in enumerate(result):
            folders.setdefault(os.path.dirname(parts[0].fragment.block.document.text.path), []).append(number)
        dropped: set[int] = set()
        for numbers in folders.values():
            helpers = [n for n in numbers if result[n][0][0].fragment.dialect == helper]
            entries = [n for n in numbers if result[n][0][0].fragment.entry]
            if len(helpers) != 1 or len(entries) != 1:
                continue
            parts, linked = result[entries[0]]
            if helper in linked or any(part.fragment.dialect == helper for part in parts):
                continue
            more, _ = result[helpers[0]]
            result[entries[0]] = ([*parts, *(Part(p.fragment, True) for p in more)], linked | {helper})
            dropped.add(helpers[0])
        result = [run for number, run in enumerate(result) if number not in dropped]
    return result


def _runs(parts: list[Part], linked: frozenset[str], files: Files, options: Options) -> Iterator[Run]:
    options = _governed(options, parts[0].fragment.block.document.text.path)
    releases, said = _releases(parts, files, options)
    groups: list[tuple[Iterable[Statement], bool]] = [(part.fragment.statements, part.presumed) for part in parts]
    groups.append((_extra(options.extra_flags), False))
    groups.append(([Statement(name, value, value, Supplied(f"--set {name}")) for name, value in options.sets], False))
    explicit = settle(groups)
    main = parts[0].fragment
    anchor = _anchor(main, explicit)
    base = _model_facts(parts, explicit, files, options)
    framework = _framework(parts)
    brought = _shipped(framework, explicit, parts) if framework in _SHIPS else {}
    if brought:
        base = {**base, **brought}
    if "target.gpu.name" in explicit or "target.gpu.count" in explicit:
        base = _job(explicit, base, bool(options.gpus))
    if options.live is not None and any(part.fragment.block.document.format == LIVE for part in parts):
        base = {**base, **{fact.name: fact for fact in options.live.facts}}
        linked |= {part.fragment.dialect for part in parts if part.fragment.dialect in _ROLE_DIALECT}
    texts = [part.fragment.block.document.text.name for part in parts if part.fragment.block.document.format != LIVE]
    run = Run(
        id=_id(main.block),
        files=tuple(dict.fromkeys(texts)),
        dialects=tuple(dict.fromkeys(part.fragment.dialect for part in parts)),
        anchor=anchor,
        explicit=explicit,
        supplied=base,
        scopes=_scopes(parts, linked),
        classes=_classes(parts),
        releases=releases,
        said=said,
        framework=framework,
        linked=linked | {"deepspeed"} if brought else linked,
    )
    if not options.gpus:
        yield run
    for name, gpu in options.gpus:
        where = f"{name}, {options.said['gpu']}" if options.said.get("gpu") else f"--gpu {name}"
        facts = {key: Fact(key, value, Supplied(where)) for key, value in gpu.facts().items()}
        chosen = _on(explicit, facts) if main.block.kind == "call" or run.framework == "ms-swift-2" else explicit
        yield run._replace(supplied={**base, **facts}, target=name, explicit=chosen)


def _on(explicit: Table[str, Fact], target: dict[str, Fact]) -> Table[str, Fact]:
    """What a program asks the GPU, answered: `bf16=is_bf16_supported()`."""
    found: dict[str, Fact] = {}
    for name, fact in explicit.items():
        value = fact.value
        if type(value) is not Unknown or value.depends is None or value.depends[0] not in target:
            continue
        _, yes, no = value.depends
        answer = yes if target[value.depends[0]].value is True else no
        first = fact.sources[0]._replace(value=answer)
        found[name] = fact._replace(value=answer, sources=(first, *fact.sources[1:]))
    return {**explicit, **found} if found else explicit


# Frameworks that know DeepSpeed configurations by name, or ship them under paths that everybody copies (knowledge/shipped.yaml).
_SHIPS = frozenset({"ms-swift", "ms-swift-2", "llamafactory", "axolotl", "xtuner"})


def _shipped(framework: str, explicit: Table[str, Fact], parts: list[Part]) -> dict[str, Fact]:
    """A configuration that the framework brings itself joins the run like one that lies beside it; its other keys stay unknown."""
    named = explicit.get("training.deepspeed")
    if named is None or not isinstance(named.value, str) or any(p.fragment.dialect == "deepspeed" for p in parts):
        return {}
    from stablint.run.shipped import shipped

    return shipped(framework, named.value)


def _job(explicit: dict[str, Fact], base: Table[str, Fact], overruled: bool) -> dict[str, Fact]:
    """What the files themselves say of the machine (`#SBATCH --gres=gpu:a100:8`), for whom no GPU is named otherwise."""
    from stablint.target.gpu import parse_gpu

    stated = [explicit.pop(name) for name in ("target.gpu.name", "target.gpu.count") if name in explicit]
    if overruled:
        return dict(base)
    found = dict(base)
    known: list[tuple[bool, int, Gpu, Statement]] = []
    for source in (source for fact in stated if fact.name == "target.gpu.name" for source in fact.sources):
        gpu = parse_gpu(str(source.value))
        if gpu is not None and gpu.device != "cpu":  # a feature of a node may be called anything
            known.append((gpu.memory_gib is None, len(known), gpu, source))
    if known:
        _, _, gpu, source = min(known, key=lambda one: one[:2])
        found |= {name: Fact(name, value, source.origin, (source,)) for name, value in gpu.facts().items()}
    return found | {fact.name: fact for fact in stated if fact.name == "target.gpu.count"}


def _governed(options: Options, path: str) -> Options:
    """The options of a run that begins in this file: its settings under what was asked for."""
    if options.policies is None:
        return options
    own = options.policies.at(path)
    if not (own.gpus or own.model or own.releases):
        return options
    asked = [*(library for library, _ in options.releases), *(["gpu"] if options.gpus else [])]
    return options._replace(
        gpus=options.gpus or own.gpus,
        model=options.model or own.model,
        releases=(*own.releases, *options.releases),
        said={**own.said, **{name: options.said.get(name, "") for name in asked}},
    )


def _id(block: Block) -> str:
    """`train.py:12`, `tune.ipynb:cell 4:2`"""
    text, start, cell = block.document.text.text, block.start, ""
    if block.document.view is not None:
        from stablint.source.view import seen

        place = seen(block.document, start, start)
        if place is not None:
            text, start, cell = place.source, place.start, f"cell {place.cell}:"
    return f"{block.document.text.name}:{cell}{text.count(chr(10), 0, start) + 1}"


def _framework(parts: list[Part]) -> str:
    """Unsloth patches the others; else the first that is named."""
    named = [part.fragment.framework for part in parts if part.fragment.framework]
    return "unsloth" if "unsloth" in named else named[0] if named else ""


def _extra(flags: tuple[str, ...]) -> Iterator[Statement]:
    """Flags after `--`, read as the launcher would append them to the command."""
    if not flags:
        return
    import shlex

    from stablint.dialect import huggingface, llamafactory
    from stablint.dialect.fragment import Block, lower_mapping
    from stablint.source import shell

    text = Text("", "command line", shlex.join(["train", *flags]))
    document = shell.document(text)
    commands = getattr(document.root, "commands", ())
    for command in commands:
        block = Block(document, "flags", "train", command.flags, command.start, command.end)
        for one in lower_mapping(block, llamafactory.ROWS, "flags", huggingface.training_row, flags=True):
            setting = one.origin.place.setting if isinstance(one.origin, Explicit) else one.fact
            yield Statement(one.fact, one.value, one.raw, Supplied(f"-- --{setting}"))


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


def _scopes(parts: list[Part], linked: frozenset[str]) -> dict[str, str]:
    """The widest claim of any part: what one part says it owns, absence in the others does not open again."""
    order = (CLOSED, PRESUMED, OPEN)
    scopes: dict[str, str] = {}
    for part in parts:
        for namespace, scope in part.fragment.scopes.items():
            known = scopes.get(namespace)
            if known is None or order.index(scope) < order.index(known):
                scopes[namespace] = PRESUMED if part.presumed and scope == CLOSED else scope
    if "deepspeed" in linked:
        scopes.setdefault("deepspeed", CLOSED)
    return scopes


def _classes(parts: list[Part]) -> dict[str, tuple[str, ...]]:
    classes: dict[str, tuple[str, ...]] = {}
    for part in parts:
        for namespace, names in part.fragment.classes.items():
            if namespace not in classes or (
                classes[namespace][:1] == ("transformers.TrainingArguments",) and len(names) > 1
            ):
                classes[namespace] = names
    return classes


def _releases(parts: list[Part], files: Files, options: Options) -> tuple[Releases, dict[str, str]]:
    """The releases that the run may use, and where each library's were said."""
    releases = Releases.known()
    document = parts[0].fragment.block.document
    pins = files.requirements(document.text.path)
    if document.view is not None or document.format == "shell":
        pins = {**pins, **locks.installed(document.text.text, document.text.path)}
    if not (pins or options.releases):
        return releases, {}
    asked = dict(options.releases)
    for library, specifier in {**{name: pin.specifier for name, pin in pins.items()}, **asked}.items():
        releases = releases.restrict(library, specifier)
    said = {name: files.name(pin.file) for name, pin in pins.items() if name not in asked}
    return releases, {**said, **{name: options.said.get(name) or f"--with {name}" for name in asked}}


def _model_facts(parts: list[Part], explicit: dict[str, Fact], files: Files, options: Options) -> Table[str, Fact]:
    """What the model is by nature: from its folder's config.json, else from its name. --model says it more exactly."""
    stated = explicit.get("model.name_or_path")
    facts: dict[str, Any] = {}
    if stated is not None and isinstance(stated.value, str):
        facts = _local(stated, files)
    for part in parts:
        if part.fragment.dialect == "model" and isinstance(part.fragment.block.mapping, Mapping):
            facts = models.from_config(plain_value(part.fragment.block.mapping)) or facts
    if facts or stated is None or not isinstance(stated.value, str):
        known: Table[str, Fact] = _facts(facts, Derived(("model.name_or_path",)))
    else:
        known = files.described(stated.value)
    if options.model is None:
        return known
    told = _told(options.model, files)
    origin = Supplied(f"--model {options.model}")
    if told:
        type_ = known.get("model.type")
        same = type_ is None or type_.value == told.get("model.type")
        known = {**(known if same else {}), **_facts(told, origin)}
    return known if stated is not None else {**_facts({"model.name_or_path": options.model}, origin), **known}


def _facts(values: dict[str, Any], origin: Derived | Supplied) -> dict[str, Fact]:
    return {name: Fact(name, value, origin) for name, value in values.items() if value is not None}


def _told(model: str, files: Files) -> dict[str, Any]:
    path = os.path.join(files.base, model)
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    if os.path.isfile(os.path.join(folder, "config.json")) and os.path.exists(path):
        return _config(os.path.join(folder, "config.json"), files)
    return models.describe(model) or {}


def _local(stated: Fact, files: Files) -> dict[str, Any]:
    if not isinstance(stated.origin, Explicit) or not isinstance(stated.value, str):
        return {}
    path = files.folder_of(stated.value, stated.origin.place.document.text.path)
    return {} if path is None else _config(os.path.join(path, "config.json"), files)


def _config(path: str, files: Files) -> dict[str, Any]:
    documents = files.documents(path)
    files.linked.add(path)
    root = documents[0].root if documents else None
    value = plain_value(root) if isinstance(root, Mapping) else None
    return (models.from_config(value) or {}) if isinstance(value, dict) else {}
