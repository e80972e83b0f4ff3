"""Which program a command starts, and what its parser takes: an option is unknown only where nobody else can have declared it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import inspected

HEAD = """import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float)
parser.add_argument("--num_train_epochs", type=int)
parser.add_argument("--output_dir")
"""
TAIL = """
from transformers import Trainer, TrainingArguments
Trainer(model=m, args=TrainingArguments(args.output_dir, learning_rate=args.learning_rate), train_dataset=rows).train()
"""
PARSE = "args = parser.parse_args()\n"
BUILT = (
    HEAD.replace("\nparser", "\ndef build():\n    parser", 1).replace("\nparser.", "\n    parser.")
    + "    return parser\n"
)
PROGRAM = HEAD + PARSE + TAIL
WITH = HEAD + "parser.add_argument('--mine')\n" + PARSE + TAIL
FLAGS = "--learning_rate 1e-4 --num_train_epochs 3 --output_dir out --mine 4\n"
RUN = "python train.py " + FLAGS


def told(tmp_path: Path, program: str, script: str, **more: str) -> set[str]:
    found = inspected(
        tmp_path,
        {
            "train.py": program,
            "run.sh": script,
            **{name.replace("__", "/") + ".py": text for name, text in more.items()},
        },
    )
    return {one.severity for one in found.findings if one.hazard.code == "V260"}


# What else may have declared the option.
PROGRAMS = {
    "under-another-name": HEAD + "add = parser.add_argument\nadd('--mine')\n" + PARSE + TAIL,
    "by-getattr": HEAD + "getattr(parser, 'add_argument')('--mine')\n" + PARSE + TAIL,
    "handed-on-as-built": BUILT + "from more import extend\nargs = extend(build()).parse_args()\n" + TAIL,
    "handed-on-as-a-keyword": BUILT + "from more import extend\nargs = extend(parser=build()).parse_args()\n" + TAIL,
    "of-an-object": "import argparse\nfrom more import extend\n\n\nclass Options:\n    def __init__(self):\n        self.parser = argparse.ArgumentParser()\n"
    "        self.parser.add_argument('--learning_rate')\n        extend(self.parser)\n\n    def read(self):\n        return self.parser.parse_args()\n\n\n"
    "args = Options().read()\n" + TAIL,
    "among-others": HEAD + "from more import extend\nextend([parser])\n" + PARSE + TAIL,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_option_that_somebody_else_may_declare_is_not_unknown(name: str, tmp_path: Path) -> None:
    assert told(tmp_path, PROGRAMS[name], RUN) == set()


# Scripts that may start another program than the one at hand.
SCRIPTS = {
    "another-folder": "pushd inner\n" + RUN,
    "another-state": "git checkout experiment\n" + RUN,
    "a-patch": "patch train.py fix.diff\n" + RUN,
    "put-there": "cp variants/big.py train.py\n" + RUN,
    "put-into-the-folder": "cp variants/train.py .\n" + RUN,
    "linked": "ln -sf variants/train.py train.py\n" + RUN,
    "fetched": "wget https://host.example/a/train.py\n" + RUN,
    "fetched-as": "curl -o train.py https://host.example/a\n" + RUN,
    "changed": "sed -i s/a/b/ train.py\n" + RUN,
    "an-image": "docker run --gpus all image python train.py " + FLAGS,
    "another-machine": f"ssh host 'cd there && {RUN.strip()}'\n",
    "a-module-s-own-word": "python -m tool train.py --mine 4\n",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_command_that_may_start_another_program_is_not_held_against_this_one(name: str, tmp_path: Path) -> None:
    assert told(tmp_path, PROGRAM, SCRIPTS[name], inner__train=WITH) == set()


THIS_ONE = {
    "plain": (PROGRAM, RUN),
    "parsed-as-it-is-handed-on": (HEAD + "from more import main\nargs = parser.parse_args()\nmain(args)\n" + TAIL, RUN),
    "built": (BUILT + "args = build().parse_args()\n" + TAIL, RUN),
    "back-again": (PROGRAM, "pushd inner\nls\npopd\n" + RUN),
    "another-repository-s-state": (
        PROGRAM,
        "git clone https://host.example/lib\ncd lib\ngit checkout v1\ncd ..\n" + RUN,
    ),
    "another-file-is-put": (PROGRAM, "cp variants/data.py data.py\n" + RUN),
    "only-read": (PROGRAM, "sed -n 1,3p train.py\n" + RUN),
    "a-debugger": (PROGRAM, "python -m pdb train.py " + FLAGS),
    "the-launcher-s-words-in-front": (PROGRAM, 'CMD=(torchrun --nproc_per_node 8 train.py)\n"${CMD[@]}" ' + FLAGS),
}


@pytest.mark.parametrize("name", THIS_ONE)
def test_an_option_of_the_program_that_is_started_is_unknown(name: str, tmp_path: Path) -> None:
    program, script = THIS_ONE[name]
    assert told(tmp_path, program, script, inner__train=WITH) == {"error"}


def test_a_parser_makes_a_number_of_a_file_s_text(tmp_path: Path) -> None:
    """`add_argument(type=float, default=config.get(…))`: argparse casts a default that is text."""
    program = (
        "import argparse\nimport yaml\n\npre = argparse.ArgumentParser(add_help=False)\npre.add_argument('--config')\nknown, rest = pre.parse_known_args()\n"
        "cfg = yaml.safe_load(open(known.config))\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--learning_rate', type=float, default=cfg.get('learning_rate'))\n"
        "parser.add_argument('--num_epochs', type=int, default=cfg.get('num_epochs'))\n"
        "parser.add_argument('--train_micro_batch_size_per_gpu', type=int, default=cfg.get('train_micro_batch_size_per_gpu'))\n"
        "args = parser.parse_args(rest)\n"
    )
    settings = "learning_rate: 5e-5\nnum_epochs: 3\ntrain_micro_batch_size_per_gpu: 4\ngradient_accumulation_steps: 2\nfinetuning_type: lora\n"
    found = inspected(
        tmp_path, {"train.py": program, "sft.yaml": settings, "run.sh": "python train.py --config sft.yaml\n"}
    )
    assert not [one for one in found.findings if one.hazard.code == "L122" and one.severity != "info"]
