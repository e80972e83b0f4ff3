"""A fix speaks the dialect of the text it goes into: its keys, its words, and nothing where it has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablint.fix.wording import insertion, row_of, said
from stablint.frameworks import vocabulary
from stablint.run.fact import Explicit
from tests.runs import Files, runs

TEXTS: dict[str, Files] = {
    "trl": {"run.yaml": "model_name_or_path: a\ndataset_name: b\nuse_peft: true\n"},
    "llamafactory": {"run.yaml": "model_name_or_path: a\nstage: sft\nfinetuning_type: lora\ntemplate: default\n"},
    "axolotl": {"run.yaml": "base_model: a\nadapter: lora\nsequence_len: 512\ndatasets: [{path: b}]\n"},
    "ms-swift": {"run.yaml": "model: a\ndataset: [b]\ntuner_type: lora\noutput_dir: out\n"},
    "torchtune": {
        "run.yaml": "model:\n  _component_: torchtune.models.llama3.llama3_8b\noptimizer:\n  _component_: torch.optim.AdamW\n  lr: 2e-5\nbatch_size: 2\n"
    },
    "openrlhf": {"run.sh": "python -m openrlhf.cli.train_sft --model.model_name_or_path a --ds.zero_stage 2\n"},
    "openrlhf, flat": {"run.sh": "python -m openrlhf.cli.train_sft --pretrain a --zero_stage 2\n"},
    "deepspeed-chat": {"run.sh": "deepspeed main.py --data_split 1 --model_name_or_path a --zero_stage 2\n"},
}
# Where each dialect would write a fact; None where it has no word for it, and the remedy is only told.
KEYS = {
    "training.per_device_train_batch_size": {
        "trl": "per_device_train_batch_size", "llamafactory": "per_device_train_batch_size", "axolotl": "micro_batch_size",
        "ms-swift": "per_device_train_batch_size", "torchtune": "batch_size", "openrlhf": "train.micro_batch_size",
        "openrlhf, flat": "micro_train_batch_size", "deepspeed-chat": "per_device_train_batch_size",
    },
    "training.weight_decay": {
        "trl": "weight_decay", "llamafactory": "weight_decay", "axolotl": "weight_decay", "ms-swift": "weight_decay",
        "torchtune": "weight_decay", "openrlhf": "adam.weight_decay", "openrlhf, flat": "l2", "deepspeed-chat": "weight_decay",
    },
    "training.max_length": {
        "trl": "max_length", "llamafactory": "cutoff_len", "axolotl": None, "ms-swift": "max_length", "torchtune": "tokenizer",
        "openrlhf": "data.max_len", "openrlhf, flat": "max_len", "deepspeed-chat": "max_seq_len",
    },
    "lora.r": {
        "trl": "lora_r", "llamafactory": "lora_rank", "axolotl": "lora_r", "ms-swift": "lora_rank", "torchtune": "lora_rank",
        "openrlhf": "ds.lora.rank", "openrlhf, flat": "lora_rank", "deepspeed-chat": "lora_dim",
    },
    "training.label_smoothing_factor": {
        "trl": "label_smoothing_factor", "llamafactory": "label_smoothing_factor", "axolotl": None, "ms-swift": "label_smoothing_factor",
        "torchtune": None, "openrlhf": None, "openrlhf, flat": None, "deepspeed-chat": None,
    },
    "training.save_only_model": {
        "trl": "save_only_model", "llamafactory": "save_only_model", "axolotl": "save_only_model", "ms-swift": "save_only_model",
        "torchtune": None, "openrlhf": None, "openrlhf, flat": None, "deepspeed-chat": None,
    },
}  # fmt: skip


def anchor(folder: Path, files: Files) -> tuple[Explicit, Any]:
    (run,) = runs(folder, files)
    name = "training.learning_rate" if "model.name_or_path" not in run.explicit else "model.name_or_path"
    origin = run.explicit[name].origin
    assert isinstance(origin, Explicit)
    return origin, run


@pytest.mark.parametrize(
    ("dialect", "fact", "key"),
    [(dialect, fact, key) for fact, keys in KEYS.items() for dialect, key in keys.items()],
)
def test_an_insertion_has_the_dialect_s_own_key(dialect: str, fact: str, key: str | None, tmp_path: Path) -> None:
    if dialect == "axolotl" and fact == "training.max_length":
        pytest.skip("its key stands in the text")
    beside, run = anchor(tmp_path, TEXTS[dialect])
    found = insertion(fact, 1, beside, run)
    assert (found.key if found else None) == key


def test_a_nested_key_goes_into_the_mapping_that_holds_it(tmp_path: Path) -> None:
    beside, run = anchor(tmp_path, TEXTS["torchtune"])
    found = insertion("training.weight_decay", 0.1, beside, run)
    assert found is not None
    assert found.after.key in ("_component_", "lr")  # of the optimizer's own entries
    absent = insertion("training.max_length", 512, beside, run)
    assert absent is not None and absent.value == {"max_seq_len": 512}


WORDS = {
    "a number of bits": ("llamafactory", "quantization_bit: 8\n", "quantization.load_in_4bit", True, 4),
    "one word for two switches": ("openrlhf", "--ds.param_dtype fp16", "deepspeed.bf16.enabled", True, "bf16"),
    "the answer no is the other word": ("openrlhf", "--ds.param_dtype fp16", "deepspeed.fp16.enabled", False, "bf16"),
    "a switch for a device": ("openrlhf", "--ds.adam_offload", "deepspeed.zero_optimization.offload_optimizer.device", "none", False),
    "one of two numbers": ("openrlhf", "--adam.betas 0.9 0.95", "training.adam_beta2", 0.999, [0.9, 0.999]),
    "an attention by its short name": ("ms-swift", "attn_impl: sdpa\n", "model.attn_implementation", "flash_attention_2", "flash_attn"),
}  # fmt: skip


@pytest.mark.parametrize(("dialect", "more", "fact", "value", "expected"), WORDS.values(), ids=WORDS)
def test_a_value_is_said_in_the_words_of_its_text(
    dialect: str, more: str, fact: str, value: Any, expected: Any, tmp_path: Path
) -> None:
    ((name, text),) = TEXTS[dialect].items()
    text = text + more if name.endswith("yaml") else text.rstrip("\n") + " " + more + "\n"
    (run,) = runs(tmp_path, {name: text})
    statement = run.explicit[fact].sources[0]
    assert isinstance(statement.origin, Explicit)
    row = row_of(statement.origin, fact, run)
    assert row is not None
    assert said(value, statement.raw, row) == expected


def test_every_dialect_with_a_table_has_its_words_known() -> None:
    """Whoever adds a dialect that is fixed says here which of the library's own names it takes."""
    from stablint.frameworks.registry import DOCUMENTS

    missing = [name for name in DOCUMENTS if vocabulary.words_of(name) is None]
    # What a checkpoint is by nature is never set, entries of a table of data sets are no settings, and a program's own names are nobody's table.
    assert missing == ["model", "llamafactory-data", "own"]
