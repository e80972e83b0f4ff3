"""What a run is told beside its own settings: the model's nature, the releases, the machine, what the framework brings, flags of the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as Table

from stablint.assemble.asked import Options
from stablint.assemble.files import Files
from stablint.assemble.parts import Part
from stablint.base.libraries import shlex
from stablint.base.light import TYPE_CHECKING, Any
from stablint.files.discover import is_link_out
from stablint.frameworks import huggingface, llamafactory
from stablint.frameworks.fragment import Block, lower_mapping, plain_value
from stablint.hardware import gpu as gpu_names
from stablint.models import nature as models
from stablint.pins import locks
from stablint.pins.requirement import ANY, UNREAD
from stablint.run import shipped
from stablint.run.fact import Derived, Explicit, Fact, Statement, Supplied, facts_of
from stablint.run.framework import framework
from stablint.run.releases.allowed import Releases
from stablint.run.releases.dating import dated, may_take
from stablint.syntax.shell import reader as shell_reader
from stablint.syntax.text import is_inside
from stablint.syntax.tree import Mapping, Text, Unknown

if TYPE_CHECKING:
    from stablint.hardware.gpu import Gpu


def on_target(explicit: Table[str, Fact], target: dict[str, Fact]) -> Table[str, Fact]:
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


def shipped_with(framework: str, explicit: Table[str, Fact], parts: list[Part]) -> dict[str, Fact]:
    """A configuration that the framework brings itself joins the run like one that lies beside it; its other keys stay unknown."""
    named = explicit.get("training.deepspeed")
    if named is None or not isinstance(named.value, str) or any(p.fragment.dialect == "deepspeed" for p in parts):
        return {}
    return shipped.shipped(framework, named.value)


def stated_target(explicit: dict[str, Fact], base: Table[str, Fact], overruled: bool) -> dict[str, Fact]:
    """What the files themselves say of the machine (`#SBATCH --gres=gpu:a100:8`), for whom no GPU is named otherwise."""
    stated = [explicit.pop(name) for name in ("target.gpu.name", "target.gpu.count") if name in explicit]
    if overruled:
        return dict(base)
    found = dict(base)
    known: list[tuple[bool, int, Gpu, Statement]] = []
    for source in (source for fact in stated if fact.name == "target.gpu.name" for source in fact.sources):
        gpu = gpu_names.parse_gpu(str(source.value))
        if gpu is not None and gpu.device != "cpu":  # a feature of a node may be called anything
            known.append((gpu.memory_gib is None, len(known), gpu, source))
    if known:
        _, _, gpu, source = min(known, key=lambda one: one[:2])
        found |= {name: Fact(name, value, source.origin, (source,)) for name, value in gpu.facts().items()}
    return found | {fact.name: fact for fact in stated if fact.name == "target.gpu.count"}


def governed(options: Options, path: str) -> Options:
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


def extra_flags_of(flags: tuple[str, ...]) -> Iterator[Statement]:
    """Flags after `--`, read as the launcher would append them to the command."""
    if not flags:
        return
    text = Text("", "command line", shlex.join(["train", *flags]))
    document = shell_reader.document(text)
    commands = getattr(document.root, "commands", ())
    for command in commands:
        block = Block(document, "flags", "train", command.flags, command.start, command.end)
        for one in lower_mapping(block, llamafactory.ROWS, "flags", huggingface.training_row, flags=True):
            setting = one.origin.place.setting if isinstance(one.origin, Explicit) else one.fact
            yield Statement(one.fact, one.value, one.raw, Supplied(f"-- --{setting}"))


def releases_of(
    parts: list[Part], files: Files, options: Options, others: Table[str, locks.Pin]
) -> tuple[Releases, dict[str, str], frozenset[str]]:
    """The releases that the run may use, where each library's were said, and the libraries of which a list beside the run says it: the options, then
    what the texts of the run install and ask for by themselves, then the files beside them, then what others who start the same program install."""
    releases = Releases.known()
    pins = dict(files.requirements(parts[0].fragment.block.document.text.path))
    dialects = {part.fragment.dialect for part in parts}
    # What lies beside a file that a framework's own command is given, and does not name the framework, may be another program's.
    for starter in [name for name in dialects if framework(name).own_command and name not in pins]:
        pins = {
            name: pin._replace(presumed=True) for name, pin in pins.items() if may_take(starter, name, pin.specifier)
        }
    for text, format, notebook in _texts(parts):
        if notebook or format in ("shell", "python", "notebook"):
            # a command that is commented out says nothing where a file says it
            pins |= {name: pin for name, pin in files.installed(text).items() if not (pin.presumed and name in pins)}
        if format in ("python", "notebook"):
            pins |= locks.required(text.text, text.path)
        elif format == "shell":
            pins |= locks.copied(text.text, text.path)
    # what others install for the same program says more than a range of a list; what the run's own texts install is what runs
    texts = {text.path for text, _, _ in _texts(parts)}
    within = (
        name
        for name, pin in pins.items()
        if name in others and pin.file not in texts and locks.is_named_within(others[name], pin, name)
    )
    pins = {**others, **pins, **{name: others[name] for name in within}}
    if not (pins or options.releases):
        return releases, {}, frozenset()
    asked = dict(options.releases)
    said = {}
    listed = frozenset(
        name for name, pin in pins.items() if name not in asked and pin.file not in texts and not locks.is_locked(pin)
    )
    for library, pin in pins.items():
        if library in asked or pin.specifier == ANY:
            continue
        if pin.specifier == UNREAD:
            releases = releases.unread(library)
        elif pin.presumed:
            releases = releases.presume(library, pin.specifier)
        else:
            releases = releases.restrict(library, pin.specifier)
            said[library] = files.name(pin.file)
    for library, specifier in asked.items():
        releases = releases.restrict(library, specifier)
    return dated(releases), {**said, **{name: options.said.get(name) or f"--with {name}" for name in asked}}, listed


def installed_by(several: Iterable[list[Part]], files: Files) -> dict[str, dict[str, locks.Pin]]:
    """By the path of each program, what scripts install that start it, as a presumption for the runs of scripts that install nothing."""
    said: dict[str, list[tuple[str, locks.Pin]]] = {}
    for parts in several:
        texts = _texts(parts)
        pins = [
            (name, pin._replace(presumed=True))
            for text, format, _ in texts
            if format == "shell"
            for name, pin in files.installed(text).items()
            if pin.specifier not in (ANY, UNREAD)
        ]
        for text, format, _ in texts if pins else ():
            if format == "python":
                said.setdefault(text.path, []).extend(pins)
    return {path: locks.agreeing(pins) for path, pins in said.items()}


def _texts(parts: list[Part]) -> list[tuple[Text, str, bool]]:
    """The files of a run, the one that it begins in last: what that says of a release counts most."""
    documents = {part.fragment.block.document.text.path: part.fragment.block.document for part in reversed(parts)}
    return [(one.text, one.format, one.view is not None) for one in documents.values()]


def model_facts(parts: list[Part], explicit: dict[str, Fact], files: Files, options: Options) -> Table[str, Fact]:
    """What the model is by nature: from its folder's config.json, else from its name. --model says it more exactly."""
    stated = explicit.get("model.name_or_path")
    facts: dict[str, Any] = {}
    if stated is not None and isinstance(stated.value, str):
        facts = _local(stated, files)
    for part in parts:
        if part.fragment.dialect == "model" and isinstance(part.fragment.block.mapping, Mapping):
            facts = models.from_config(plain_value(part.fragment.block.mapping)) or facts
    if facts or stated is None or not isinstance(stated.value, str):
        known: Table[str, Fact] = facts_of(facts, Derived(("model.name_or_path",)))
    else:
        known = files.described(stated.value, stated.presumed)
    if options.model is None:
        return known
    told = _told(options.model, files)
    origin = Supplied(f"--model {options.model}")
    if told:
        type_ = known.get("model.type")
        same = type_ is None or type_.value == told.get("model.type")
        known = {**(known if same else {}), **facts_of(told, origin)}
    return known if stated is not None else {**facts_of({"model.name_or_path": options.model}, origin), **known}


def _told(model: str, files: Files) -> dict[str, Any]:
    path = os.path.join(files.base, model)
    config = os.path.join(path if os.path.isdir(path) else os.path.dirname(path), "config.json")
    if os.path.isfile(config) and os.path.exists(path) and not _leads_out(config, files):
        return _config(config, files)
    return models.describe(model) or {}


def _local(stated: Fact, files: Files) -> dict[str, Any]:
    if not isinstance(stated.origin, Explicit) or not isinstance(stated.value, str):
        return {}
    beside = stated.origin.place.document.text.path
    path = files.folder_of(stated.value, beside)
    config = "" if path is None else os.path.join(path, "config.json")
    return _config(config, files) if config and is_inside(config, files.reach(beside)) else {}


def _leads_out(config: str, files: Files) -> bool:
    """Whether a link of a repository leads the file out of it. Whoever names a folder elsewhere means what its links lead to, as in a hub's cache."""
    return is_link_out(config) and not is_inside(config, files.reach(config))


def _config(path: str, files: Files) -> dict[str, Any]:
    documents = files.documents(path)
    files.linked.add(path)
    root = documents[0].root if documents else None
    value = plain_value(root) if isinstance(root, Mapping) else None
    return (models.from_config(value) or {}) if isinstance(value, dict) else {}
