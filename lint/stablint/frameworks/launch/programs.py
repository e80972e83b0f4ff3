"""Which program reads the flags of a command: by its words where they are a framework's documented entry point, else by the flags themselves."""

from __future__ import annotations

from functools import cache

from stablint.base.light import NamedTuple
from stablint.frameworks import huggingface
from stablint.frameworks.fragment import Block, Fragment, spelled
from stablint.frameworks.keyed import module_of
from stablint.run.framework import records
from stablint.syntax.tree import Command, Scalar


class Program(NamedTuple):
    """`entry`: the class or command that its words name (`trl.SFTConfig`, `rlhf`)."""

    dialect: str
    entry: str = ""


# Programs and modules that serve or measure models, and share flags with trainers (`--dtype float16`, `--model`).
_SERVE = frozenset({
    "vllm", "sglang", "lmdeploy", "lm_eval", "text-generation-launcher", "text_generation_server", "tritonserver", "mii", "fastchat",
})  # fmt: skip


def trains(target: Command) -> bool:
    """False for `swift infer`, `axolotl merge-lora`, `python -m vllm.entrypoints.openai.api_server`, whatever flags they have."""
    name, command = (*(word.rpartition("/")[2] for word in target.words[:2]), "", "")[:2]
    if name.partition(".")[0] in _SERVE and ".train" not in name:
        return False
    _, training = _commands().get(name, ("", ()))
    return not command or not training or command in training or merges(target)


def merges(target: Command) -> bool:
    """`swift export --merge_lora true`: no weights are trained, and an adapter is put into a model."""
    name, command = (*(word.rpartition("/")[2] for word in target.words[:2]), "", "")[:2]
    framework, _ = _commands().get(name, ("", ()))
    flag = (records()[framework].merges or {}).get(command) if framework else None
    return any(
        entry.key.lstrip("-").replace("-", "_") == flag
        and isinstance(entry.value, Scalar)
        and entry.value.value in (True, "true", "True")
        for entry in target.flags.entries
    )


def of(launcher: Command, script: Command | None) -> Program | None:
    """The program that reads the flags; None where nothing tells it, and the flags may be anybody's."""
    target = script or launcher
    keys = frozenset([spelled(entry.key) for entry in target.flags.entries])
    words = tuple(word.rpartition("/")[2] for word in target.words)
    for first, second in ((*words, "", "")[:2], (*launcher.words, "", "")[:2]):
        name, training = _commands().get(first, ("", ()))
        if name:
            mine = not training or second in training or merges(target)
            return Program(name, second if training else "") if mine else None
    entry = huggingface.entry_class(words)
    if entry is not None:
        return Program("trl", entry)
    return _by_words(_all_words(target)) or _by_flags(keys, target)


@cache
def _commands() -> dict[str, tuple[str, tuple[str, ...]]]:
    """First word of a command → the framework whose module reads it, and the second words that train."""
    return {
        first: (name, tuple(training))
        for name, record in records().items()
        if record.has_reader
        for first, training in (record.commands or {}).items()
    }


@cache
def _telling_words() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How the words that tell any program begin, and what others hold."""
    every = records().values()
    return (
        tuple(start for record in every for start in record.started_as),
        tuple(part for record in every for part in record.told_by_words),
    )


@cache
def _telling_flags() -> dict[str, list[str]]:
    """A flag that tells programs → their frameworks."""
    found: dict[str, list[str]] = {}
    for name, record in records().items():
        for flag in record.told_by_flags:
            found.setdefault(flag, []).append(name)
    return found


def _by_words(words: list[str]) -> Program | None:
    starts, parts = _telling_words()
    if not any(word.startswith(starts) or any(part in word for part in parts) for word in words):
        return None
    for name, record in records().items():
        named = next((word for word in words if record.started_as and word.startswith(record.started_as)), "")
        if named:
            return Program(name, named.rpartition(".")[2])
        if any(part in word for part in record.told_by_words for word in words):
            entry = module_of(name).entry(tuple(words))
            if entry:
                return Program(name, entry)
    return None


def _by_flags(keys: frozenset[str], target: Command) -> Program | None:
    """First by the flags that no other program has."""
    flags = _telling_flags()
    any_of = {name for key in keys if key in flags for name in flags[key]}
    told = [name for name in records() if name in any_of] if any_of else []
    asked = [(name, getattr(module_of(name), "recognise_flags", None)) for name in told]
    for name, recognise in sorted(asked, key=lambda one: one[1] is not None):
        if recognise is None or recognise(keys, target):
            return Program(name)
    return None


def _all_words(command: Command) -> list[str]:
    return [*command.words, *(word.value for word in command.positionals if isinstance(word.value, str))]


def lower(block: Block, program: Program | None) -> Fragment:
    """The flags as their program reads them."""
    if program is None:
        return huggingface.lower(block, "flags")
    if program.dialect == "trl":
        return huggingface.lower(block, "flags", program.entry)
    module = module_of(program.dialect)
    found: Fragment = getattr(module, "lower_flags", module.lower)(block, "flags", program.entry)
    return found
