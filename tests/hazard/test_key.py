"""`item` of a framework's key: is it unknown to the chosen release, and what is probably meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablint.hazard.checked import Checked
from stablint.hazard.key_subject import KeySubject
from tests.runs import runs

LLAMAFACTORY = "model_name_or_path: m\nstage: sft\nfinetuning_type: lora\ntemplate: t\noutput_dir: out\n"
AXOLOTL = "base_model: m\nsequence_len: 8\nmicro_batch_size: 1\ndatasets: [{path: a}]\n"
DEEPSPEED_FILE = "a DeepSpeed file, which `deepspeed_config_file` names"
ACCELERATE = "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_processes: 8\n"


def item(folder: Path, content: str, name: str, *stated: str) -> KeySubject:
    (run,) = runs(folder, {"file.yaml": content}, releases=stated)
    return KeySubject(Checked(run).newest, name)


UNKNOWN: list[tuple[str, str, list[str], bool | None]] = [
    (LLAMAFACTORY + "no_such_key: 1\n", "keys.llamafactory.no_such_key", [], True),
    (LLAMAFACTORY + "dpo_ftx: 1\n", "keys.llamafactory.dpo_ftx", [], True),
    (LLAMAFACTORY + "dpo_ftx: 1\n", "keys.llamafactory.dpo_ftx", ["llamafactory==0.7.1"], False),
    (LLAMAFACTORY + "enable_liger_kernel: true\n", "keys.llamafactory.enable_liger_kernel", [], False),
    (LLAMAFACTORY + "enable_liger_kernel: true\n", "keys.llamafactory.enable_liger_kernel", ["llamafactory==0.8.3"], True),
    (AXOLOTL + "liger_rope: true\n", "keys.axolotl.liger_rope", [], True),
    (AXOLOTL + "fsdp_config: {sharding_strategy: a}\n", "keys.axolotl.fsdp_config.sharding_strategy", ["axolotl==0.18.0"], True),
    (AXOLOTL + "fsdp_config: {sharding_strategy: a}\n", "keys.axolotl.fsdp_config.sharding_strategy", ["axolotl==0.9.2"], False),
    (AXOLOTL + "no_such_key: 1\n", "keys.axolotl.no_such_key", ["axolotl==0.3.0"], True),  # it asked for no such thing
    (AXOLOTL + "liger_rope: true\n", "keys.axolotl.liger_rope", ["axolotl==0.3.0"], True),
    (AXOLOTL + "no_such_key: 1\n", "keys.axolotl.no_such_key", ["axolotl==0.2.1"], None),  # older than what was read
    (AXOLOTL + "liger_rope: true\n", "keys.axolotl.liger_rope", ["axolotl==0.2.1"], None),
]  # fmt: skip


@pytest.mark.parametrize(("content", "name", "stated", "unknown"), UNKNOWN)
def test_does_the_chosen_release_take_it(
    content: str, name: str, stated: list[str], unknown: bool | None, tmp_path: Path
) -> None:
    assert item(tmp_path, content, name, *stated).item_unknown() is unknown


WORDS: list[tuple[str, str, str, Any]] = [
    (LLAMAFACTORY + "max_seq_length: 1\n", "keys.llamafactory.max_seq_length", "suggestion", "cutoff_len"),
    (LLAMAFACTORY + "micro_batch_size: 1\n", "keys.llamafactory.micro_batch_size", "suggestion", "per_device_train_batch_size"),
    (LLAMAFACTORY + "lora_rnk: 1\n", "keys.llamafactory.lora_rnk", "suggestion", "lora_rank"),
    (LLAMAFACTORY + "learnig_rate: 1\n", "keys.llamafactory.learnig_rate", "suggestion", "learning_rate"),
    (LLAMAFACTORY + "zzzzzz: 1\n", "keys.llamafactory.zzzzzz", "suggestion", None),
    (LLAMAFACTORY + "zzzzzz: 1\n", "keys.llamafactory.zzzzzz", "hint", ""),
    (AXOLOTL + "adam_eps: 1\n", "keys.axolotl.adam_eps", "suggestion", "adam_epsilon"),
    (AXOLOTL + "adam_eps: 1\nadam_epsilon: 2\n", "keys.axolotl.adam_eps", "suggestion", None),  # nor `adam_epsilon2`
    (LLAMAFACTORY + "lora_rnk: 1\nlora_rank: 8\n", "keys.llamafactory.lora_rnk", "suggestion", None),
    (ACCELERATE + "deepspeed_config: {overlap_comms: true, zero_stag: 2}\n", "keys.accelerate-launch.zero_stag", "suggestion", "zero_stage"),
    (LLAMAFACTORY + "zzzzzz: 1\n", "keys.llamafactory.zzzzzz", "library", "llamafactory"),
    (LLAMAFACTORY + "visual_inputs: 1\n", "keys.llamafactory.visual_inputs", "removed_in", "0.9.0"),
    (LLAMAFACTORY + "dpo_loss: a\npref_loss: b\n", "keys.llamafactory.dpo_loss", "suggestion", None),
    (AXOLOTL + "max_seq_length: 9\n", "keys.axolotl.max_seq_length", "suggestion", None),  # sequence_len is there
    (AXOLOTL + "liger_rope: true\n", "keys.axolotl.liger_rope", "plugin", "axolotl.integrations.liger"),
    (AXOLOTL + "liger_rope: true\n", "keys.axolotl.liger_rope", "suggestion", None),
    (AXOLOTL + "cpu_ram_efficient_loading: true\n", "keys.axolotl.cpu_ram_efficient_loading", "belongs", "`fsdp_config`"),
    (ACCELERATE + "zero_stage: 2\n", "keys.accelerate.zero_stage", "belongs", "`deepspeed_config`"),
    (ACCELERATE + "gradient_accumulation_steps: 2\n", "keys.accelerate.gradient_accumulation_steps", "belongs", "`deepspeed_config`"),
    (ACCELERATE + "fsdp_offload_params: true\n", "keys.accelerate.fsdp_offload_params", "belongs", "`fsdp_config`"),
    (ACCELERATE + "nothing_like_it: 2\n", "keys.accelerate.nothing_like_it", "belongs", None),
    (ACCELERATE + "mixed_precison: bf16\n", "keys.accelerate.mixed_precison", "belongs", None),  # a misspelling
    (LLAMAFACTORY + "dpo_ftx: 1\n", "keys.llamafactory.dpo_ftx", "removed_in", "0.8.0"),
    (LLAMAFACTORY + "lora_rnk: 1\n", "keys.llamafactory.lora_rnk", "removed_in", None),  # no release ever had it
    (LLAMAFACTORY + "lora_rank: 1\n", "keys.llamafactory.lora_rank", "removed_in", None),
    (LLAMAFACTORY + "dpo_ftx: 1\n", "keys.llamafactory.dpo_ftx", "stated", False),
    (AXOLOTL + "fsdp_config: {micro_batch_size: 1}\n", "keys.axolotl.fsdp_config.micro_batch_size", "belongs", "the top level of the file"),
    (ACCELERATE + "deepspeed_config: {overlap_comms: true, train_batch_size: 8}\n", "keys.accelerate-launch.train_batch_size", "belongs", DEEPSPEED_FILE),
]  # fmt: skip


@pytest.mark.parametrize(("content", "name", "word", "expected"), WORDS)
def test_what_is_said_of_it(content: str, name: str, word: str, expected: Any, tmp_path: Path) -> None:
    assert item(tmp_path, content, name).value(f"item.{word}") == expected


# What a remark in a message names, and nothing else.
HINTS: list[tuple[str, str, list[str], str, str]] = [
    (LLAMAFACTORY + "lora_rnk: 1\n", "keys.llamafactory.lora_rnk", [], "hint", "lora_rank"),
    (LLAMAFACTORY + "dpo_ftx: 1\n", "keys.llamafactory.dpo_ftx", [], "meant", "pref_ftx"),
    (LLAMAFACTORY + "enable_liger_kernel: true\n", "keys.llamafactory.enable_liger_kernel", ["llamafactory==0.8.3"], "hint", "0.9.0"),
    (LLAMAFACTORY + "visual_inputs: 1\n", "keys.llamafactory.visual_inputs", [], "hint", "0.9.0"),
    (AXOLOTL + "liger_rope: true\n", "keys.axolotl.liger_rope", [], "hint", "axolotl.integrations.liger"),
    (AXOLOTL + "cpu_ram_efficient_loading: true\n", "keys.axolotl.cpu_ram_efficient_loading", [], "hint", "fsdp_config"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "name", "stated", "word", "named"), HINTS)
def test_a_remark_names_what_helps(
    content: str, name: str, stated: list[str], word: str, named: str, tmp_path: Path
) -> None:
    assert named in item(tmp_path, content, name, *stated).value(f"item.{word}")


@pytest.mark.parametrize("word", ["hint", "meant"])
def test_where_nothing_helps_there_is_no_remark(word: str, tmp_path: Path) -> None:
    assert item(tmp_path, LLAMAFACTORY + "zzzzzz: 1\n", "keys.llamafactory.zzzzzz").value(f"item.{word}") == ""


def test_is_the_release_of_the_framework_said(tmp_path: Path) -> None:
    content = LLAMAFACTORY + "dpo_ftx: 1\n"
    assert item(tmp_path, content, "keys.llamafactory.dpo_ftx", "llamafactory==0.9.3").value("item.stated") is True


def test_of_anything_else_a_key_is_asked_as_any_setting_is(tmp_path: Path) -> None:
    asked = item(tmp_path, LLAMAFACTORY + "lora_rnk: 1\n", "keys.llamafactory.lora_rnk")
    assert (asked.value("item.raw"), asked.value("item.key")) == (1, "lora_rnk")


def test_readers_of_two_files_of_one_run_do_not_mix(tmp_path: Path) -> None:
    files = {"train.yaml": LLAMAFACTORY + "no_such_key: 1\n", "accelerate.yaml": ACCELERATE + "neither_this: 1\n"}
    (run,) = runs(tmp_path, files)
    world = Checked(run).newest
    assert KeySubject(world, "keys.llamafactory.no_such_key").value("item.library") == "llamafactory"
    assert KeySubject(world, "keys.accelerate.neither_this").value("item.library") == "accelerate"


def test_the_first_gone_flag_speaks_for_the_others(tmp_path: Path) -> None:
    command = (
        "swift sft --model m --sft_type lora --output_dir out --dataset a --lora_target_modules ALL --template_type t\n"
    )
    (run,) = runs(tmp_path, {"a.sh": command})
    world = Checked(run).newest
    company = {
        name: KeySubject(world, f"keys.ms-swift.{name}").value("item.company")
        for name in ("sft_type", "lora_target_modules")
    }
    assert company == {"sft_type": 2, "lora_target_modules": -1}
