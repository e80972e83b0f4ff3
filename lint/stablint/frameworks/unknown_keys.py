"""Keys that a framework's own reader may not take, as facts `keys.FRAMEWORK.KEY`. Which release takes which is judged later (run/releases/reader_keys.py)."""

from __future__ import annotations

from collections.abc import Iterator

from stablint.frameworks import huggingface
from stablint.frameworks.fragment import Block, Fragment, Row, spelled, statement
from stablint.frameworks.near_keys import misspelled, of_others
from stablint.run.fact import Explicit, Statement
from stablint.run.framework import framework
from stablint.run.releases.fields import known_key
from stablint.run.releases.reader_keys import Reader, reader
from stablint.syntax.tree import Entry, Mapping, Scalar, Sequence

_ACCELERATE = ("accelerate.ClusterConfig", "accelerate.SageMakerConfig")


def readers(dialect: str) -> tuple[str, ...]:
    """Who reads its files: a key that any of them takes is taken. None where the command that is named says it."""
    found = _ACCELERATE if dialect == "accelerate" else framework(dialect).readers
    return () if found == BY_COMMAND else found


BY_COMMAND = ("by command",)
# Arguments that LLaMA-Factory reads with a class of another package (USE_MCA), of which nothing is known here.
_OTHER_ARGUMENTS = frozenset(
    {"tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size", "sequence_parallel"}
)
_SWIFT_COMMANDS = {
    **dict.fromkeys(("sft", "pt"), ("ms-swift.sft",)),
    **dict.fromkeys(("rlhf", "dpo", "orpo", "simpo"), ("ms-swift.train",)),
}
# Sections of ms-swift's other files: experiments with a command, groups of Ray workers.
_OTHER_FORMS = frozenset({"cmd", "args", "train", "rollout", "teacher"})


# A command is read by the framework if it says so; the same flags may be those of somebody's own script.
_PROGRAMS = {
    "llamafactory": ("llamafactory-cli", "lmf", "train_bash.py", "llamafactory.cli"),
    "ms-swift": ("swift", "megatron", "swift.cli.sft", "swift.cli.pt", "swift.cli.rlhf"),
    "litgpt": ("litgpt",),  # older scripts are not read by its command line
    "torchtune": (),
}


def with_unread(fragment: Fragment) -> Fragment:
    """The fragment, with a statement for every key that some release of its readers refuses or drops."""
    block = fragment.block
    keys = frozenset([entry.key for entry in block.mapping.entries])
    if block.kind == "document" and fragment.dialect in ("trl", "hf-args"):
        return _recipe(fragment, keys)
    if fragment.dialect == "verl":
        from stablint.frameworks import verl_keys

        return verl_keys.with_words(fragment)
    names = readers_of(fragment)
    if not names or block.mapping.open or block.kind == "call" or _is_other_form(fragment, keys):
        return fragment
    if fragment.dialect == "torchtune":
        from stablint.frameworks.torchtune_keys import arguments

        found = tuple(arguments(block, names[0], fragment.layer))
    else:
        found = tuple(unread(block, fragment.dialect, names, fragment.layer, flags=block.kind == "flags"))
    owners = {f"keys.{fragment.dialect}": names}
    if fragment.dialect == "torchtune":
        owners["keys.torchtune-recipe"] = ("torchtune.recipe",)
    if fragment.dialect == "accelerate" and block.kind == "document":
        found += tuple(_options(block, fragment.layer))
        owners["keys.accelerate-launch"] = (LAUNCH,)
    if not found:
        return fragment
    statements = fragment.statements if fragment.dialect != "axolotl" else _read(fragment.statements, found, names)
    return fragment._replace(statements=(*statements, *found), classes={**fragment.classes, **owners})


def readers_of(fragment: Fragment) -> tuple[str, ...]:
    """Who reads a block, as far as that is a framework's own reader: the command that is named, else all that take such files."""
    dialect, block = fragment.dialect, fragment.block
    if dialect == "verl":
        module = block.name.partition(" ")[0].rpartition(".")[2]
        return (f"verl.{module}",) if reader(f"verl.{module}") is not None else ("verl.main_ppo",)
    names = readers(dialect)
    if framework(dialect).readers == BY_COMMAND:
        names = _commands(dialect, block.name)
    if dialect == "litgpt" and block.kind == "flags":
        names = _litgpt_command(block.name) or names
    if dialect == "ms-swift" and block.kind == "flags":
        names = _swift_command(block.name) or names
    return names


def _recipe(fragment: Fragment, keys: frozenset[str]) -> Fragment:
    """A recipe of TRL or a script: only slips of known names, since the script may have more."""
    slips = (*misspelled(keys), *(of_others(keys) if fragment.dialect == "trl" else ()))
    found = tuple(
        statement(fragment.block, entry, (entry.key,), Row(entry.key, f"keys.recipe.{entry.key}"), fragment.layer)
        for entry in fragment.block.mapping.entries
        if entry.key in slips
    )
    own = tuple(name.removeprefix("?") for name in fragment.classes.get("training", ()))
    owners = (*own, *(_TRL[:-1] if fragment.dialect == "trl" else ()))
    return fragment._replace(
        statements=(*fragment.statements, *found), classes={**fragment.classes, "keys.recipe": owners}
    )


def read_by(fragment: Fragment, command: str) -> Fragment:
    """The file that `trl sft --config FILE` reads: the command's classes have all of its keys, or `accelerate launch` gets them."""
    names = _commands("trl", command)
    if not names or fragment.dialect not in ("trl", "hf-args") or fragment.block.kind != "document":
        return fragment
    whole = huggingface.lower(fragment.block, fragment.layer, names[0])
    found = tuple(unread(fragment.block, "trl", names, fragment.layer, facts="keys.trl-file"))
    return whole._replace(
        statements=(*whole.statements, *found),
        classes={**whole.classes, "keys.trl-file": names},
        presumed=fragment.presumed,
        edited=fragment.edited,
    )


def _read(stated: tuple[Statement, ...], found: tuple[Statement, ...], names: tuple[str, ...]) -> tuple[Statement, ...]:
    """Without what a key says that no release ever read, whatever it means elsewhere: it is dropped."""
    readers = [known for name in names if (known := reader(name)) is not None]
    dropped = {  # by identity: two keys may be spelled alike, and there may be thousands of them
        id(one.origin.place.entry)
        for one in found
        if isinstance(one.origin, Explicit) and not any(known.ever(one.fact.split(".", 2)[2]) for known in readers)
    }
    return tuple(
        one for one in stated if not (isinstance(one.origin, Explicit) and id(one.origin.place.entry) in dropped)
    )


_TRL = ("trl.ScriptArguments", "trl.SFTScriptArguments", "trl.DPOScriptArguments", "trl.GRPOScriptArguments", "trl.RLOOScriptArguments",
        "trl.RewardScriptArguments", "trl.ModelConfig", "trl.DatasetMixtureConfig", "transformers.TrainingArguments",
        "accelerate.launch")  # fmt: skip


def _commands(dialect: str, words: str) -> tuple[str, ...]:
    """`openrlhf.cli.train_sft` of a command is the reader `openrlhf.train_sft`; `trl sft` reads an SFTConfig, what the script adds, and
    hands the rest to `accelerate launch`."""
    if dialect == "trl":
        own = huggingface.entry_class(tuple(words.split()))
        return (own, *_TRL) if own is not None else ()
    return tuple(
        f"{dialect}.{last}" for word in words.split() if (last := word.rpartition(".")[2]).startswith("train_")
    )


def _litgpt_command(words: str) -> tuple[str, ...]:
    """`litgpt finetune` is a shorter name of `litgpt finetune_lora`."""
    command = (*words.split()[1:2], "")[0]
    name = f"litgpt.{'finetune_lora' if command == 'finetune' else command}"
    return (name,) if name in readers("litgpt") else ()


def _swift_command(words: str) -> tuple[str, ...]:
    """Each command has argument classes of its own: what `swift sft` takes `megatron sft` may not."""
    program, command = (*words.split()[:2], "", "")[:2]
    if program.rpartition("/")[2] == "megatron":
        return ("ms-swift.megatron",)
    name = command if program.rpartition("/")[2] == "swift" else program.removeprefix("swift.cli.")
    return _SWIFT_COMMANDS.get(name, ())


def _is_other_form(fragment: Fragment, keys: frozenset[str]) -> bool:
    if fragment.dialect == "axolotl":  # what its command line does not know it hands to the launcher
        return fragment.block.kind == "flags"
    programs = _PROGRAMS.get(fragment.dialect)
    if programs is not None and fragment.block.kind == "flags":
        if fragment.dialect == "llamafactory" and {"stage", "finetuning_type"} <= keys:
            programs = (*programs, "src/train.py")  # of a clone: a name that others have as well
        words = [
            word
            for path in fragment.block.name.split()
            for word in (path.rpartition("/")[2], "/".join(path.split("/")[-2:]))
        ]
        # with --use_ray another parser reads the command (ms-swift 4.5.2, swift/cli/_megatron/rlhf.py)
        return not any(word in programs for word in words) or "use_ray" in keys or _only_warns(fragment.block)
    if fragment.dialect == "llamafactory":
        return bool(keys & _OTHER_ARGUMENTS) or not (keys & {"model_name_or_path", "adapter_name_or_path", "stage"})
    return fragment.dialect == "ms-swift" and (bool(keys & _OTHER_FORMS) or _only_warns(fragment.block))


def _only_warns(block: Block) -> bool:
    """`ignore_args_error` makes ms-swift warn of what its parser leaves over (ms-swift 4.5.2, swift/pipelines/base.py)."""
    node = block.mapping.get("ignore_args_error")
    return isinstance(node, Scalar) and str(node.value).lower() in ("true", "1", "yes")


def unread(
    block: Block, framework: str, names: tuple[str, ...], layer: str, *, flags: bool = False, facts: str = ""
) -> Iterator[Statement]:
    """A key with an underscore or a dot in front is a remark or an anchor's home, no setting."""
    facts = facts or f"keys.{framework}"
    readers = [found for name in names if (found := reader(name)) is not None]
    plugins = _plugins(block)
    for path, entry in _entries(block.mapping, (), readers):
        key = ".".join(spelled(part) if flags else part for part in path)
        if key[:1] in "_." or any(key in one.always for one in readers):
            continue
        if flags and any(_abbreviated(key, one) for one in readers):
            continue
        if len(path) == 1 and any(one.bases for one in readers) and _of_transformers(key):
            continue
        if plugins is None and not any(one.ever(key) for one in readers):
            continue
        if any(one.owned(key, plugins or ()) for one in readers) or _is_handled(framework, key, readers):
            continue
        if framework == "accelerate" and _is_of_a_patched_build(entry, readers):
            continue
        yield statement(block, entry, path, Row(key, f"{facts}.{key}"), layer)


LAUNCH = "accelerate.launch"
PREFIXES = {"fsdp_config": "fsdp", "fp8_config": "fp8", "dynamo_config": "dynamo_"}


def _options(block: Block, layer: str) -> Iterator[Statement]:
    """Options in the sections of accelerate's file, each as the launcher's flag that it stands for (commands/launch.py)."""
    known = reader(LAUNCH)
    for section in block.mapping.entries if known is not None else ():
        if not section.key.endswith("_config") or not isinstance(section.value, Mapping):
            continue
        if _is_of_a_patched_build(section, _clusters()):
            continue
        start = PREFIXES.get(section.key, "")
        for entry in section.value.entries:
            flag = entry.key if entry.key.startswith(start) else f"{start.rstrip('_')}_{entry.key}"
            if known is not None and flag not in known.always:
                yield statement(
                    block, entry, (section.key, entry.key), Row(flag, f"keys.accelerate-launch.{flag}"), layer
                )


def _clusters() -> list[Reader]:
    return [found for name in _ACCELERATE if (found := reader(name)) is not None]


def _is_of_a_patched_build(section: Entry, readers: list[Reader]) -> bool:
    """A whole section named as accelerate names its own, which no release ever had, with no option of the launcher in it: nobody writes one by a
    slip. A build that is published under another name reads it (`accelerate-kt`, `kt_config`)."""
    known = reader(LAUNCH) if section.key.endswith("_config") else None
    if known is None or not isinstance(section.value, Mapping) or not section.value.entries:
        return False
    words = [entry.key for entry in section.value.entries]
    return not any(one.ever(section.key) for one in readers) and not any(known.ever(word) for word in words)


def _entries(
    mapping: Mapping, above: tuple[str, ...], readers: list[Reader]
) -> Iterator[tuple[tuple[str, ...], Entry]]:
    for entry in mapping.entries:
        path = (*above, entry.key)
        yield path, entry
        if isinstance(entry.value, Mapping) and any(one.has_below(".".join(path)) for one in readers):
            yield from _entries(entry.value, path, readers)


def _of_transformers(key: str) -> bool:
    return any(owner.startswith("transformers.") for owner in known_key(key))


def _abbreviated(key: str, one: Reader) -> bool:
    """`argparse` takes the beginning of a flag for the flag, and HfArgumentParser adds `--no_…` for what is on by default."""
    if one.ever(key):
        return False
    return (key.startswith("no_") and one.ever(key[3:])) or any(name.startswith(key) for name in one.always)


def _plugins(block: Block) -> tuple[str, ...] | None:
    """axolotl's plugins that are switched on; None where one of them is nobody's that is known: it may read any key."""
    node = block.mapping.get("plugins")
    if node is None or (isinstance(node, Scalar) and node.value is None):
        return ()
    items = node.items if isinstance(node, Sequence) else (node,)
    names = tuple(str(item.value) if isinstance(item, Scalar) else "" for item in items)
    return names if all(name.startswith("axolotl.integrations.") for name in names) else None


def _is_handled(framework: str, key: str, readers: list[Reader]) -> bool:
    """What a framework rewrites before its reader sees it."""
    if framework == "litgpt":
        return key == "config"
    if framework == "trl":
        return key in ("config", "accelerate_config", "env")
    if (
        framework == "ms-swift"
    ):  # a file's environment; the file itself, and the launcher's processes, before the arguments are read
        return key == "ENV" or key.startswith("ENV.") or key == "config"
    if (
        framework == "accelerate"
    ):  # older files, and what is rewritten before the class sees it (BaseConfig.process_config)
        return key in ("fp16", "dynamo_backend") or "." in key
    section, dot, name = key.partition(".")
    if framework == "axolotl" and section == "fsdp_config" and dot:  # FSDP options may keep their prefix
        return any(one.ever(f"{section}.{name.removeprefix('fsdp_')}") for one in readers)
    return False
