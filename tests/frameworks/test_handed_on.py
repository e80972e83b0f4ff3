"""A setting that the program at hand neither reads nor gives to the library's arguments has no effect: no rule speaks of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import inspected, rules, runs

SECTIONED = """model: {name: Qwen/Qwen2.5-7B}
training:
  learning_rate: 2.0e-5
  num_train_epochs: 3
  eval_strategy: steps
  load_best_model_at_end: true
  save_steps: 500
  eval_steps: 200
"""
FLAT = "".join(f"{line[2:]}\n" for line in SECTIONED.splitlines() if line.startswith("  "))
HEAD = """import argparse, json, sys, yaml
from types import SimpleNamespace
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
"""
TRAIN = """model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B")
args = TrainingArguments(output_dir="out", learning_rate={0}, num_train_epochs={1}{2})
{3}Trainer(model=model, args=args, train_dataset=rows).train()
"""
PARSER = "p = argparse.ArgumentParser()\np.add_argument('--config')\n"
LOADED = f"{HEAD}{PARSER}cfg = yaml.safe_load(open(p.parse_args().config))\n"
RUN = {"run.sh": "accelerate launch train.py --config c.yaml\n"}


def ends(rate: str, epochs: str, more: str = "", then: str = "") -> str:
    return TRAIN.format(rate, epochs, more, then)


SILENT = {
    "keys of a section": {"train.py": LOADED + ends("cfg['training']['learning_rate']", "3"), "c.yaml": SECTIONED, **RUN},
    "keys of a flat file": {"train.py": LOADED + ends("cfg['learning_rate']", "3"), "c.yaml": FLAT, **RUN},
    "attributes": {
        "train.py": f"{HEAD}cfg = SimpleNamespace(**yaml.safe_load(open(sys.argv[1])))\n" + ends("cfg.learning_rate", "3"),
        "c.yaml": FLAT,
        "run.sh": "torchrun train.py c.yaml\n",
    },
    "OmegaConf": {
        "train.py": f"{HEAD}from omegaconf import OmegaConf\ncfg = OmegaConf.load(sys.argv[1])\n"
        + ends("cfg.training.learning_rate", "3"),
        "c.yaml": SECTIONED,
        "run.sh": "torchrun train.py c.yaml\n",
    },
    "a loader of another module": {
        "util.py": "import yaml\ndef load_config(path):\n    return yaml.safe_load(open(path))\n",
        "train.py": f"{HEAD}from util import load_config\n{PARSER}cfg = load_config(p.parse_args().config)\n"
        + ends("cfg['training']['learning_rate']", "3"),
        "c.yaml": SECTIONED,
        **RUN,
    },
    "a class of its own": {
        "train.py": f"{HEAD}from dataclasses import dataclass\n@dataclass\nclass Mine:\n    learning_rate: float = 1e-5\n"
        "    num_train_epochs: int = 1\n    eval_strategy: str = 'no'\n    load_best_model_at_end: bool = False\n"
        "    save_steps: int = 1\n    eval_steps: int = 1\n"
        "cfg = Mine(**yaml.safe_load(open(sys.argv[1])))\n" + ends("cfg.learning_rate", "3"),
        "c.yaml": FLAT,
        "run.sh": "python train.py c.yaml\n",
    },
    "flags that are declared": {
        "train.py": f"{HEAD}p = argparse.ArgumentParser()\np.add_argument('--learning_rate', type=float)\n"
        "p.add_argument('--eval_strategy')\np.add_argument('--eval_steps', type=int)\np.add_argument('--save_steps', type=int)\n"
        "p.add_argument('--load_best_model_at_end', action='store_true')\na = p.parse_args()\n" + ends("a.learning_rate", "3"),
        "run.sh": "python train.py --learning_rate 2e-5 --eval_strategy steps --eval_steps 200 --save_steps 500 --load_best_model_at_end\n",
    },
    "JSON": {
        "train.py": f"{HEAD}cfg = json.load(open(sys.argv[1]))\n" + ends("cfg['learning_rate']", "3"),
        "c.json": '{"learning_rate": 2e-5, "num_train_epochs": 3, "eval_strategy": "steps", "save_steps": 500, "eval_steps": 200}\n',
        "run.sh": "python train.py c.json\n",
    },
}  # fmt: skip
TOLD = {
    "every key is handed on": {
        "train.py": LOADED + "args = TrainingArguments(output_dir='out', **cfg)\nTrainer(args=args, train_dataset=rows).train()\n",
        "c.yaml": FLAT,
        **RUN,
    },
    "a flag is given by name": {
        "train.py": f"{HEAD}p = argparse.ArgumentParser()\np.add_argument('--learning_rate', type=float)\n"
        "p.add_argument('--eval_strategy')\na = p.parse_args()\n"
        + ends("a.learning_rate", "3", ", eval_strategy=a.eval_strategy"),
        "run.sh": "python train.py --learning_rate 2e-5 --eval_strategy steps\n",
    },
    "a flag is set behind": {
        "train.py": f"{HEAD}p = argparse.ArgumentParser()\np.add_argument('--learning_rate', type=float)\n"
        "p.add_argument('--eval_strategy')\na = p.parse_args()\n"
        + ends("a.learning_rate", "3", "", "args.eval_strategy = a.eval_strategy\n"),
        "run.sh": "python train.py --learning_rate 2e-5 --eval_strategy steps\n",
    },
    "a parser of the library's": {
        "train.py": "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
        "args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=args, train_dataset=rows).train()\n",
        "run.sh": "python train.py --output_dir o --learning_rate 2e-5 --eval_strategy steps\n",
    },
}  # fmt: skip


@pytest.mark.parametrize("files", SILENT.values(), ids=SILENT)
def test_what_reaches_nobody_is_no_fault(files: dict[str, str], tmp_path: Path) -> None:
    found = inspected(tmp_path, files)
    assert not [(d.code, d.message) for d in found.report.diagnostics if d.code[0] in "TL" and d.severity != "info"]


@pytest.mark.parametrize("files", TOLD.values(), ids=TOLD)
def test_what_reaches_the_arguments_is_judged(files: dict[str, str], tmp_path: Path) -> None:
    found = inspected(tmp_path, files)
    assert "T126" in {d.code for d in found.report.diagnostics}


QUANTISED = """import sys
import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments

def load(name, use_4bit: bool = False):
    kwargs = {"device_map": "auto"}
    if use_4bit:
        kwargs["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.float16, bnb_4bit_use_double_quant=True
        )
    else:
        kwargs["torch_dtype"] = torch.float16
    return AutoModelForCausalLM.from_pretrained(name, **kwargs)

model = load("Qwen/Qwen2.5-7B")
"""


def test_what_a_branch_makes_that_is_off_by_default_goes_with_its_switch(tmp_path: Path) -> None:
    """Four bits are off, and so are their options: they are not left over (bnb-4bit-options-unused)."""
    found = inspected(tmp_path, {"train.py": QUANTISED})
    assert "Q125" not in {d.code for d in found.report.diagnostics}


CAST = """from trl import {0}, ModelConfig, SFTConfig, SFTTrainer

parser = {0}((SFTConfig, ModelConfig))
args, model = parser.{1}
SFTTrainer(model.model_name_or_path, args=args, train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("parser", "call", "told"),
    [
        ("TrlParser", "parse_args_and_config()", False),  # defaults of its parser, which makes numbers of texts
        ("HfArgumentParser", "parse_yaml_file(sys.argv[1])", True),
    ],
)
def test_a_text_is_a_number_for_a_parser_that_makes_one_of_it(
    parser: str, call: str, told: bool, tmp_path: Path
) -> None:
    files = {
        "train.py": f"import sys\n{CAST.format(parser, call)}".replace(
            "from trl import HfArgumentParser, ", "from transformers import HfArgumentParser\nfrom trl import "
        ),
        "c.yaml": "model_name_or_path: Qwen/Qwen2.5-7B\noutput_dir: o\nlearning_rate: 1e-5\nnum_train_epochs: 1\n",
        "run.sh": "accelerate launch train.py --config c.yaml\n",
    }
    found = inspected(tmp_path, files)
    assert ("L122" in {d.code for d in found.report.diagnostics}) is told


LOOP = """import argparse
import torch
from transformers import AutoModelForCausalLM

p = argparse.ArgumentParser()
p.add_argument("--accum-steps", type=int, default=1)
p.add_argument("--batch-size", type=int, default=8)
p.add_argument("--learning-rate", type=float, default=1e-4)
p.add_argument("--learning-rate-decay", type=float)
p.add_argument("--epochs", type=int, default=1)
a = p.parse_args()
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B")
optimizer = torch.optim.AdamW(model.parameters(), lr=a.learning_rate)
for epoch in range(a.epochs):
    for row in rows:
        model(**row).loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("flags", "fact", "value"),
    [
        ("--accum-step 64", "training.gradient_accumulation_steps", 64),
        ("--accum 64", "training.gradient_accumulation_steps", 64),
        ("--epoch 3", "training.num_train_epochs", 3),
        ("--batch 2", "training.per_device_train_batch_size", 2),
        ("--learning-rate 3e-5", "training.learning_rate", 3e-5),  # an option, whatever others begin so
        ("--learning 3e-5", "training.learning_rate", 1e-4),  # two options begin so: argparse refuses it
    ],
)
def test_the_beginning_of_an_option_is_the_option(flags: str, fact: str, value: object, tmp_path: Path) -> None:
    """Unless it is another option itself, or begins several (`argparse`, `allow_abbrev`)."""
    (run,) = runs(tmp_path, {"train.py": LOOP, "run.sh": f"python train.py --seed 1 {flags}\n"})
    assert run.explicit[fact].value == value


DEEPSPEED = '{"fp16": {"enabled": true}, "zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}\n'
SETTINGS = (
    '{"model_name_or_path": "Qwen/Qwen2.5-7B", "output_dir": "o", "learning_rate": 2e-5, "num_train_epochs": 1}\n'
)
NAMES_ONE = """from transformers import Trainer, TrainingArguments
args = TrainingArguments("o", bf16=True, deepspeed="conf/zero2_bf16.json", learning_rate=2e-5)
Trainer(model=model, args=args, train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("more", "joined"),
    [
        ({}, True),
        ({"train.py": NAMES_ONE, "conf/zero2_bf16.json": DEEPSPEED.replace("fp16", "bf16")}, False),
        ({"train.py": NAMES_ONE.replace("conf/", "other/"), "other/zero2_bf16.json": DEEPSPEED}, True),
    ],
)
def test_a_helper_beside_one_that_somebody_names_is_for_whoever_names_it(
    more: dict[str, str], joined: bool, tmp_path: Path
) -> None:
    """The only DeepSpeed file beside a configuration is presumed to be its own; one of several that are chosen by name is not."""
    found = runs(tmp_path, {"conf/train.json": SETTINGS, "conf/zero2.json": DEEPSPEED, **more})
    of_the_file = [run for run in found if run.files[0] == "conf/train.json"]
    assert ["conf/zero2.json" in run.files for run in of_the_file] == [joined]


LAUNCHED = {"run.sh": "torchrun --nproc_per_node 8 train.py --learning_rate 1e-5\n"}
IN_TURNS = """import torch
from transformers import Trainer, TrainingArguments
args = TrainingArguments(output_dir="o", learning_rate=1e-5)
{before}
data = load()
if args.local_rank == 0:
    torch.distributed.barrier()
Trainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=data).train()
"""


@pytest.mark.parametrize(
    ("before", "hangs"),
    [
        ("if args.local_rank not in [-1, 0]:\n    torch.distributed.barrier()", False),
        ("if args.local_rank > 0:\n    torch.distributed.barrier()", False),
        ("if is_main_process:\n    pass\nelse:\n    torch.distributed.barrier()", False),
        ("torch.distributed.barrier()", True),  # all are there, and then one more time one of them
        ("if args.debug:\n    torch.distributed.barrier()", True),
        ("", True),
    ],
)
def test_a_barrier_that_the_others_have_in_a_branch_of_theirs_is_met(tmp_path, before, hangs):
    found = inspected(tmp_path, {"train.py": IN_TURNS.replace("{before}", before), **LAUNCHED, ".git/HEAD": ""})
    assert ("collective-on-one-process" in rules(found, "error", "warning")) is hangs


OF_ITS_OWN = """import argparse, logging
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

p = argparse.ArgumentParser()
p.add_argument("--output_dir")
p.add_argument("--debug", default="info")
a = p.parse_args()
logging.basicConfig(level="DEBUG" if a.debug == "verbose" else "INFO")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B")
Trainer(model=model, args=TrainingArguments(output_dir=a.output_dir{more}), train_dataset=rows).train()
"""


@pytest.mark.parametrize(("more", "found"), [("", "info"), (", debug=a.debug", "error")])
def test_a_flag_that_the_program_reads_itself_is_no_argument_of_the_library(
    more: str, found: str, tmp_path: Path
) -> None:
    """`--debug verbose` is the program's own word, as long as it does not give it to the library's arguments."""
    command = "torchrun --nproc_per_node 2 train.py --debug verbose --output_dir out\n"
    files = {"train.py": OF_ITS_OWN.replace("{more}", more), "run.sh": command}
    told = inspected(tmp_path, files, releases=["transformers==5.23.0"]).report.diagnostics
    assert [one.severity for one in told if one.code == "V109"] == [found]
