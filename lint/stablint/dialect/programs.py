"""Which program reads the flags of a command: by its words where they are a framework's documented entry point, else by the flags themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from stablint.dialect import axolotl, huggingface, llamafactory
from stablint.dialect.fragment import Block, Fragment, spelled
from stablint.source.tree import Command


class Program(NamedTuple):
    """`entry`: the class or command that its words name (`trl.SFTConfig`, `rlhf`)."""

    dialect: str
    entry: str = ""


_SWIFT = frozenset({"sft", "pt", "rlhf", "dpo", "orpo", "simpo", "cpo", "kto", "grpo"})  # the last six: commands of 2.x
# Flags that only ms-swift has.
_SWIFT_FLAGS = frozenset(
    {"sft_type", "train_type", "tuner_type", "rlhf_type", "split_dataset_ratio", "train_dataset_sample"}
)
_LITGPT = frozenset(
    {"finetune", "finetune_lora", "finetune_full", "finetune_adapter", "finetune_adapter_v2", "pretrain"}
)
_LLAMAFACTORY_FLAGS = frozenset({"finetuning_type", "lora_target", "quantization_bit", "cutoff_len"})


# Commands of the frameworks' own entry points that train; the others load, merge, serve or measure what was trained.
_TRAIN: dict[str, frozenset[str]] = {
    "axolotl": frozenset({"train"}),
    "swift": _SWIFT,
    "megatron": _SWIFT,
    "litgpt": _LITGPT,
}


# Programs and modules that serve or measure models, and share flags with trainers (`--dtype float16`, `--model`).
_SERVE = frozenset(
    {
        "vllm",
        "sglang",
        "lmdeploy",
        "lm_eval",
        "text-generation-launcher",
        "text_generation_server",
        "tritonserver",
        "mii",
        "fastchat",
    }
)


def trains(target: Command) -> bool:
    """False for `swift infer`, `axolotl merge-lora`, `python -m vllm.entrypoints.openai.api_server`, whatever flags they have."""
    name, command = (*(word.rpartition("/")[2] for word in target.words[:2]), "", "")[:2]
    if name.partition(".")[0] in _SERVE and ".train" not in name:
        return False
    return not command or name not in _TRAIN or command in _TRAIN[name]


def of(launcher: Command, script: Command | None) -> Program | None:
    """The program that reads the flags; None where nothing tells it, and the flags may be anybody's."""
    target = script or launcher
    keys = frozenset([spelled(entry.key) for entry in target.flags.entries])
    words = tuple(word.rpartition("/")[2] for word in target.words)
    if words[:1] == ("llamafactory-cli",) or words[:1] == ("lmf",):
        return Program("llamafactory")
    if words[:1] in (("swift",), ("megatron",)):
        return Program("ms-swift", words[1]) if len(words) > 1 and words[1] in _SWIFT else None
    if words[:2] == ("xtuner", "train"):
        return Program("xtuner")
    if words[:2] == ("axolotl", "train") or "axolotl.cli.train" in target.words:
        return Program("axolotl")
    if tuple(launcher.words[:2]) == ("tune", "run"):
        return Program("torchtune")
    if words[:1] == ("litgpt",) and words[1:2] and words[1] in _LITGPT:
        return Program("litgpt")
    entry = huggingface.entry_class(words)
    if entry is not None:
        return Program("trl", entry)
    named = next((word for word in _all_words(target) if word.startswith(("openrlhf.cli.train_", "swift.cli."))), "")
    if named.startswith("openrlhf"):
        return Program("openrlhf", named)
    if named:
        return Program("ms-swift", named.rpartition(".")[2])
    if any("verl" in word or "actor_rollout_ref." in word for word in _all_words(target)):
        from stablint.dialect import verl

        module = verl.entry(tuple(_all_words(target)))
        if module:
            return Program("verl", module)
    return _by_flags(keys, target)


_LITGPT_FLAGS = frozenset({"checkpoint_dir", "out_dir"})


def _by_flags(keys: frozenset[str], target: Command) -> Program | None:
    if keys & _SWIFT_FLAGS:
        return Program("ms-swift")
    if keys & _LLAMAFACTORY_FLAGS:
        return Program("llamafactory")
    if keys & {"zero_stage", "data_split", "actor_zero_stage", "sft_only_data_path"}:
        from stablint.dialect import deepspeed_chat, openrlhf

        if openrlhf.recognise(keys, target):
            return Program("openrlhf")
        return Program("deepspeed-chat") if deepspeed_chat.recognise(keys) else None
    if keys & {"micro_train_batch_size", "train.micro_batch_size", "ckpt.output_dir", "ds.zero_stage"}:
        from stablint.dialect import openrlhf

        return Program("openrlhf") if openrlhf.recognise(keys, target) else None
    if keys >= _LITGPT_FLAGS and keys & {"precision", "data_dir", "quantize"}:
        return Program("litgpt")  # its scripts before 0.4: `python finetune/lora.py --checkpoint_dir …`
    if "model_name" in keys or "enable_fsdp" in keys:
        from stablint.dialect import llama_cookbook

        return Program("llama-cookbook") if llama_cookbook.recognise(keys, tuple(_all_words(target))) else None
    return None


def _all_words(command: Command) -> list[str]:
    return [*command.words, *(word.value for word in command.positionals if isinstance(word.value, str))]


def lower(block: Block, program: Program | None) -> Fragment:
    """The flags as their program reads them."""
    if program is None:
        return huggingface.lower(block, "flags")
    if program.dialect == "trl":
        return huggingface.lower(block, "flags", program.entry)
    return _lowerer(program)(block, "flags")


def _lowerer(program: Program) -> Callable[[Block, str], Fragment]:
    if program.dialect == "llamafactory":
        return llamafactory.lower
    if program.dialect == "axolotl":
        return axolotl.lower
    if program.dialect == "ms-swift":
        from stablint.dialect import swift

        return lambda block, layer: swift.lower(block, layer, program.entry)
    if program.dialect == "openrlhf":
        from stablint.dialect import openrlhf

        return openrlhf.lower
    if program.dialect == "verl":
        from stablint.dialect import verl

        return verl.lower
    if program.dialect in ("xtuner", "torchtune"):
        from stablint.dialect import torchtune, xtuner

        return xtuner.lower_flags if program.dialect == "xtuner" else torchtune.lower_flags
    if program.dialect == "llama-cookbook":
        from stablint.dialect import llama_cookbook

        return llama_cookbook.lower
    if program.dialect == "litgpt":
        from stablint.dialect import litgpt

        return litgpt.lower
    from stablint.dialect import deepspeed_chat

    return deepspeed_chat.lower
