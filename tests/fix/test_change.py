"""Each change goes back to the place that its fact came from; where a text has no such place, it is said instead of guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.fix.change import edits
from stablint.fix.editors import Change, Impossible
from stablint.run.fact import ABSENT
from stablint.syntax.edit import apply
from tests.runs import Files, runs

YAML = {
    "train.yaml": "model_name_or_path: Qwen/Qwen3-0.6B\noutput_dir: out\nlearning_rate: 1.0e-5\n"
    "accelerator_config:\n  split_batches: true\n  even_batches: false\nseed: 7\n"
}
PYTHON = {
    "train.py": "import torch\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n\n"
    'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B", torch_dtype=torch.float16)\n'
    'args = TrainingArguments(\n    output_dir="out",\n    fp16=True,\n)\ntrainer = Trainer(model=model, args=args)\n'
}


def after(folder: Path, files: Files, *changes: Change, beside: str = "training.output_dir") -> str:
    """The one text that changes, as it is then."""
    (run,) = runs(folder, files)
    (file,) = edits(run, beside, list(changes))
    return apply(file.text.text, list(file.edits))


def test_a_setting_inside_a_block_goes_with_the_block(tmp_path: Path) -> None:
    block, inner = "training.accelerator_config", "training.accelerator_config.split_batches"
    text = after(tmp_path, YAML, Change(block, ABSENT), Change(inner, ABSENT))
    assert text == YAML["train.yaml"].replace("accelerator_config:\n  split_batches: true\n  even_batches: false\n", "")


def test_what_is_set_inside_a_block_that_goes_is_refused(tmp_path: Path) -> None:
    block, inner = "training.accelerator_config", "training.accelerator_config.split_batches"
    with pytest.raises(Impossible):
        after(tmp_path, YAML, Change(block, ABSENT), Change(inner, False))


def test_two_settings_at_one_place_come_in_the_order_in_which_they_are_asked_for(tmp_path: Path) -> None:
    text = after(tmp_path, YAML, Change("training.warmup_steps", 10), Change("training.max_steps", 100))
    assert text.index("warmup_steps: 10") < text.index("max_steps: 100")


def test_a_dtype_in_python_is_an_expression(tmp_path: Path) -> None:
    text = after(tmp_path, PYTHON, Change("model.dtype", "bfloat16"))
    assert text == PYTHON["train.py"].replace("torch.float16", "torch.bfloat16")


def test_a_keyword_stands_in_the_call_of_its_kind(tmp_path: Path) -> None:
    text = after(tmp_path, PYTHON, Change("training.bf16", True), beside="training.fp16")
    assert text == PYTHON["train.py"].replace("    fp16=True,\n", "    fp16=True,\n    bf16=True,\n")


@pytest.mark.parametrize(
    ("files", "fact"),
    [
        (YAML, "deepspeed.gradient_clipping"),  # the trainer's file is not DeepSpeed's
        (YAML, "fsdp.version"),
        (PYTHON, "lora.r"),  # another call builds another object
        (PYTHON, "quantization.load_in_4bit"),
        (PYTHON, "deepspeed.zero_optimization.stage"),  # no call of TrainingArguments takes it
    ],
)
def test_where_there_is_no_place_nothing_is_written(files: Files, fact: str, tmp_path: Path) -> None:
    with pytest.raises(Impossible):
        after(tmp_path, files, Change(fact, 1), beside="training.learning_rate")


def test_what_is_not_written_down_cannot_be_renamed(tmp_path: Path) -> None:
    with pytest.raises(Impossible):
        after(tmp_path, YAML, Change("training.fp16", to="training.bf16"))


def test_a_flag_with_dots_keeps_its_prefix(tmp_path: Path) -> None:
    command = "deepspeed --module openrlhf.cli.train_sft --train.micro_batch_size 2 --data.max_length 2048 --ckpt.output_dir out\n"
    (run,) = runs(tmp_path, {"train.sh": command})
    fact = next(name for name in run.explicit if name.endswith("max_length"))
    (file,) = edits(run, fact, [Change(fact, to="max_len")])
    assert apply(file.text.text, list(file.edits)) == command.replace("--data.max_length", "--data.max_len")


NEIGHBOURS = [
    (
        {"train.py": 'from peft import LoraConfig\n\nconfig = LoraConfig(r=8, use_dora=True, lora_dropout=0.1)\n'},
        'from peft import LoraConfig\n\nconfig = LoraConfig(r=8)\n',
    ),
    (
        {"train.py": 'from peft import LoraConfig\n\nconfig = LoraConfig(use_dora=True, lora_dropout=0.1, r=8)\n'},
        'from peft import LoraConfig\n\nconfig = LoraConfig(r=8)\n',
    ),
    (
        {"adapter_config.json": '{\n  "peft_type": "LORA",\n  "r": 8,\n  "use_dora": true,\n  "lora_dropout": 0.1\n}\n'},
        '{\n  "peft_type": "LORA",\n  "r": 8\n}\n',
    ),
]  # fmt: skip


@pytest.mark.parametrize(("files", "wanted"), NEIGHBOURS, ids=["the last ones", "the first ones", "json"])
def test_neighbours_that_go_take_their_commas_with_them(files: Files, wanted: str, tmp_path: Path) -> None:
    text = after(tmp_path, files, Change("lora.use_dora", ABSENT), Change("lora.lora_dropout", ABSENT), beside="lora.r")
    assert text == wanted


def test_a_key_of_a_block_goes_from_that_block_only(tmp_path: Path) -> None:
    """`zero_stage` of accelerate's file is a fact of DeepSpeed's, which the DeepSpeed file states as well."""
    files = {
        "accelerate.yaml": "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n"
        "  deepspeed_config_file: ds.json\n  zero_stage: 3\nnum_machines: 1\nnum_processes: 2\n",
        "ds.json": '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 1, "bf16": {"enabled": true}}\n',
    }
    change = Change("accelerate.deepspeed_config.zero_stage", ABSENT)
    text = after(tmp_path, files, change, beside="accelerate.distributed_type")
    assert text == files["accelerate.yaml"].replace("  zero_stage: 3\n", "")


def test_a_loader_takes_no_keyword_of_the_quantiser(tmp_path: Path) -> None:
    text = "from transformers import AutoModelForCausalLM\n\nmodel = AutoModelForCausalLM.from_pretrained('a/b', load_in_4bit=True)\n"
    with pytest.raises(Impossible):
        after(
            tmp_path,
            {"train.py": text},
            Change("quantization.bnb_4bit_compute_dtype", "bfloat16"),
            beside="quantization.load_in_4bit",
        )


BLOCKS = [
    (
        PYTHON,
        Change("training.gradient_checkpointing_kwargs.use_reentrant", False),
        '    fp16=True,\n    gradient_checkpointing_kwargs={"use_reentrant": False},\n',
    ),
    (
        {"train.py": PYTHON["train.py"].replace("fp16=True", 'accelerator_config={"split_batches": True}')},
        Change("training.accelerator_config.even_batches", False),
        '    accelerator_config={"split_batches": True, "even_batches": False},\n',
    ),
    (
        {"train.py": PYTHON["train.py"].replace("fp16=True", 'fsdp="full_shard"')},
        Change("fsdp.version", 1),
        '    fsdp="full_shard",\n    fsdp_config={"version": 1},\n',
    ),
    (YAML, Change("training.gradient_checkpointing_kwargs.use_reentrant", False), "  use_reentrant: false\n"),
    (
        {"train.sh": "python train.py --model_name_or_path a/b --output_dir out --learning_rate 1e-5 --fsdp full_shard\n"},
        Change("fsdp.version", 1),
        " --fsdp full_shard --fsdp_config '{\"version\": 1}'\n",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("files", "change", "written"), BLOCKS)
def test_a_setting_of_a_block_brings_the_block(files: Files, change: Change, written: str, tmp_path: Path) -> None:
    assert written in after(tmp_path, files, change, beside="training.fp16")
