"""What no repair writes by itself: bf16 for a card that has none, `auto` for DeepSpeed alone, half of a renaming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablint.config.options import options
from stablint.engine.repair import repair
from tests.notebooks import notebook
from tests.runs import Files, written

PROGRAM = """{above}from transformers import Trainer, TrainingArguments

args = TrainingArguments(output_dir="out", learning_rate=1e-5, fp16=True){beside}
Trainer(model="Qwen/Qwen2-7B-Instruct", args=args, train_dataset=rows).train()
"""
YAML = "# {note}\nmodel_name_or_path: Qwen/Qwen2-7B-Instruct\ndataset_name: trl-lib/Capybara\nfp16: true\nlearning_rate: 1.0e-5\nuse_peft: true\n"


def repaired(folder: Path, files: Files, **said: Any) -> Files:
    """The files after every repair that a bulk run writes."""
    base = written(folder, files)
    found = repair([base], options(**said), unsafe=True, base=base)
    changed = {Path(path).name: text.text for path, text in found.texts.items()}
    return {name: changed.get(name, text) for name, text in files.items()}


def plain(text: str, **metadata: Any) -> Files:
    code = PROGRAM.format(above="", beside="")
    return {"train.ipynb": notebook(f"#md {text}", code, **metadata)}


CARDS: list[tuple[Files, dict[str, Any], bool]] = [  # files, options, whether bf16 is written
    ({"train.py": PROGRAM.format(above="", beside="")}, {}, True),
    ({"train.py": PROGRAM.format(above="# for a Colab T4\n", beside="")}, {}, False),
    ({"train.py": PROGRAM.format(above="", beside="  # GTX 1650")}, {}, False),
    ({"train.py": PROGRAM.format(above='"""Needs an RTX 2080 Ti."""\n', beside="")}, {}, False),
    ({"train.py": PROGRAM.format(above='"""Needs an RTX 4090."""\n', beside="")}, {}, True),
    ({"train.py": PROGRAM.format(above="# see /models/T4/x and t4.py\n", beside="")}, {}, True),
    ({"train.py": PROGRAM.format(above="# for a Colab T4\n", beside="")}, {"gpus": ["A100"]}, True),
    ({"train.yaml": YAML.format(note="the run of May")}, {}, True),
    ({"train.yaml": YAML.format(note="two V100-32GB, later Tesla K80")}, {}, False),
    (plain("Needs an A100."), {}, True),
    (plain("Use Colab T4 GPU (free tier)"), {}, False),
    (plain("Runs on Colab.", accelerator="GPU", colab={"gpuType": "T4"}), {}, False),
    (plain("Runs on Colab.", accelerator="GPU", colab={"gpuType": "A100"}), {}, True),
    (plain("Kaggle's P100"), {}, False),
]


@pytest.mark.parametrize(("files", "said", "writes"), CARDS)
def test_bf16_is_not_written_where_the_text_names_a_card_without_it(
    files: Files, said: dict[str, Any], writes: bool, tmp_path: Path
) -> None:
    after = repaired(tmp_path, files, **said)
    assert (after != files) is writes
    assert ("bf16" in "".join(after.values())) is writes


RENAMED = """from trl import SFTConfig, SFTTrainer

config = SFTConfig(output_dir="out", learning_rate=2e-5, max_seq_length=1024)
trainer = SFTTrainer(model="Qwen/Qwen2-7B-Instruct", args=config, train_dataset=rows)
{beside}
trainer.train()
"""


@pytest.mark.parametrize(
    ("beside", "writes"),
    [
        ("", True),
        ("print(config.max_seq_length)", False),
        ("print(trainer.args.max_seq_length)", False),
        ("print(other.max_seq_length, own_config.max_seq_length)", True),
        ("config.max_seq_lengths", True),
    ],
)
def test_a_name_that_is_read_elsewhere_is_not_changed_by_halves(beside: str, writes: bool, tmp_path: Path) -> None:
    files = {"train.py": RENAMED.format(beside=beside)}
    after = repaired(tmp_path, files, releases=["trl==0.29.0"])["train.py"]
    assert ("max_length=1024" in after) is writes


RECIPE = """model_name_or_path: Qwen/Qwen2-7B-Instruct
dataset_name: a/b
output_dir: o
learning_rate: 1.0e-6
num_generations: 8
use_peft: false
{name}: {value}
"""


@pytest.mark.parametrize(
    ("name", "value", "writes"),
    [("dataset_configs", "[train]", False), ("dataset_configs", "train", True), ("dataset_configz", "train", True)],
)
def test_a_list_is_not_given_to_what_takes_one(name: str, value: str, writes: bool, tmp_path: Path) -> None:
    after = repaired(tmp_path, {"grpo.yaml": RECIPE.format(name=name, value=value)}, releases=["trl==0.29.0"])
    assert ("dataset_config:" in after["grpo.yaml"]) is writes


ENGINE = """import deepspeed
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2-7B-Instruct")
ds = {"train_micro_batch_size_per_gpu": 0, "zero_optimization": {"stage": 2}}
engine, optimizer, _, _ = deepspeed.initialize(model=model, config=ds, model_parameters=model.parameters())
"""
TRAINER = """from transformers import Trainer, TrainingArguments

ds = {"train_micro_batch_size_per_gpu": 0, "zero_optimization": {"stage": 2}}
args = TrainingArguments(output_dir="out", learning_rate=1e-5, deepspeed=ds)
Trainer(model="Qwen/Qwen2-7B-Instruct", args=args, train_dataset=rows).train()
"""


@pytest.mark.parametrize(("program", "writes"), [(TRAINER, True), (ENGINE, False)])
def test_auto_is_written_for_the_trainer_that_fills_it_in(program: str, writes: bool, tmp_path: Path) -> None:
    assert ('"auto"' in repaired(tmp_path, {"train.py": program})["train.py"]) is writes


TARGETS = """from peft import LoraConfig
from trl import SFTTrainer

config = LoraConfig(r=8, target_modules=["query_key_values"], task_type="CAUSAL_LM")
trainer = SFTTrainer(model="EleutherAI/pythia-1b", peft_config=config, train_dataset=rows)
"""


@pytest.mark.parametrize(
    ("stated", "writes"),
    [
        ([], True),
        (["peft==0.8.2"], True),
        (["peft>=0.3.0"], True),  # the newest is installed
        (["peft==0.7.1"], False),
        (["transformers==4.29.2"], False),  # of a time when PEFT had no such word
    ],
)
def test_all_linear_is_for_releases_that_know_the_word(stated: list[str], writes: bool, tmp_path: Path) -> None:
    assert ("all-linear" in repaired(tmp_path, {"train.py": TARGETS}, releases=stated)["train.py"]) is writes
