# ruff: noqa: E501
"""What a file that is shown is shown with, and a check never is: configurations behind options of a program's own, or that its parser has for a default;
programs and files that are not where a script looks for them; classes of the program's other modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.assemble.asked import Options
from stablint.commands.run_summary import in_words
from stablint.engine.inspect import effective, inspect
from stablint.run.fact import is_unknown
from stablint.run.world import Run
from tests.notebooks import notebook
from tests.runs import Files, written

LOADS = """import argparse
import json
from trl import SFTConfig, SFTTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--sft_config", default="configs/sft.json")
parser.add_argument("--rows", default="rows.json")
given = parser.parse_args()
with open(given.sft_config) as file:
    settings = json.load(file)
SFTTrainer(model="a/b", args=SFTConfig(**settings), train_dataset=rows).train()
"""
SETTINGS = (
    '{"output_dir": "out", "learning_rate": 1e-4, "bf16": true, "max_steps": 80, "per_device_train_batch_size": 1}\n'
)
OTHER = SETTINGS.replace("80", "7")
ROWS = '[{"text": "a"}]\n'


def shown(folder: Path, name: str, files: Files) -> tuple[Run, ...]:
    base = written(folder, files)
    return inspect([str(folder / name)], Options(), base=base, known=(), shown=True).runs


def checked(folder: Path, name: str, files: Files) -> tuple[Run, ...]:
    base = written(folder, files)
    return inspect([str(folder / name)], Options(), base=base).runs


@pytest.mark.parametrize(
    ("command", "steps"),
    [
        ("python src/train.py --sft_config configs/smoke.json --output_dir out --learning_rate 1e-4", "7"),
        ("python src/train.py --sft_config configs/gone.json --output_dir out --learning_rate 1e-4", "not known"),
        ("python src/train.py --rows rows.json --output_dir out --learning_rate 1e-4", "80 (presumed)"),
    ],
)
def test_a_command_s_own_option_names_the_configuration(command: str, steps: str, tmp_path: Path) -> None:
    files = {
        "src/train.py": LOADS,
        "configs/sft.json": SETTINGS,
        "configs/smoke.json": OTHER,
        "rows.json": ROWS,
        "run.sh": command + "\n",
    }
    if "gone" in command:
        del files["configs/sft.json"]
    (run,) = shown(tmp_path, "run.sh", files)
    assert in_words(effective(run))["steps"].startswith(steps)
    assert "rows.json" not in run.files
    (run,) = checked(tmp_path, "run.sh", files)
    assert not any(name.startswith("configs/") for name in run.files)


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        (LOADS, True),
        (LOADS.replace('default="configs/sft.json"', "required=True"), False),
        (LOADS + 'SPARE = json.load(open("configs/smoke.json"))\n', False),
    ],
)
def test_a_program_is_shown_with_the_file_of_its_parser_s_default(text: str, joined: bool, tmp_path: Path) -> None:
    files = {"train.py": text, "configs/sft.json": SETTINGS, "configs/smoke.json": OTHER}
    (run,) = shown(tmp_path, "train.py", files)
    assert run.files == ("train.py", *(["configs/sft.json"] if joined else []))
    if joined:
        assert run.explicit["training.learning_rate"].presumed
    (run,) = checked(tmp_path, "train.py", files)
    assert run.files == ("train.py",)


FLAGS = "--model_name_or_path a/b --output_dir o --learning_rate 1e-5 --per_device_train_batch_size 1"
TRAINS = """from transformers import HfArgumentParser, Trainer, TrainingArguments

(settings,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(model=model, args=settings, train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("place", "others", "joined"),
    [
        ("tools/tune_ds.py", [], True),
        ("tools/tune_ds.py", ["more/tune_ds.py"], False),
        ("tools/tune_ds.py", ["tests/tune_ds.py"], True),
    ],
)
def test_a_program_in_another_folder(place: str, others: list[str], joined: bool, tmp_path: Path) -> None:
    files = {"run.sh": f"deepspeed tune_ds.py {FLAGS}\n", place: TRAINS, **dict.fromkeys(others, TRAINS)}
    (run,) = shown(tmp_path, "run.sh", files)
    assert (place in run.files) == joined
    (run,) = checked(tmp_path, "run.sh", files)
    assert run.files == ("run.sh",)


def test_files_on_somebody_s_machine_are_those_that_end_so(tmp_path: Path) -> None:
    recipe = "model_name_or_path: a/b\noutput_dir: o\nlearning_rate: 1.0e-4\nmax_length: 4096\n"
    files = {
        "run.sh": 'CMD="accelerate launch /home/me/work/project/train.py --config /home/me/work/project/configs/sft.yaml"\nsrun bash -c "$CMD"\n',
        "train.py": "from trl import SFTConfig, SFTTrainer, TrlParser\n(a,) = TrlParser((SFTConfig,)).parse_args_and_config()\nSFTTrainer(model='a/b', args=a, train_dataset=rows).train()\n",
        "configs/sft.yaml": recipe,
        "other/sft.yaml": recipe.replace("1.0e-4", "1.0e-6"),
    }
    (run,) = shown(tmp_path, "run.sh", files)
    assert set(run.files) == {"run.sh", "train.py", "configs/sft.yaml"}
    assert run.explicit["training.learning_rate"].value == 1e-4


PROGRAM = """from own_trainer import OwnTrainer
from own_arguments import OwnConfig

args = OwnConfig(output_dir="o", learning_rate=1e-6, num_generations=2, extra=3)
OwnTrainer(model="a/b", args=args, reward_funcs=[f], train_dataset=rows, peft_config=None).train()
"""
BASE = "from trl.trainer.rloo_trainer import RLOOTrainer\n\n\nclass Middle(RLOOTrainer):\n    def log(self):\n        pass\n"
MODULES = {
    "own_trainer.py": "from base import Middle\n\n\nclass OwnTrainer(Middle):\n    pass\n",
    "base.py": BASE,
    "own_arguments.py": "from dataclasses import dataclass\nfrom trl import RLOOConfig\n\n\n@dataclass\nclass OwnConfig(RLOOConfig):\n    extra: int = 1\n    bf16: bool = True\n",
}


def test_classes_of_other_modules_are_what_they_extend(tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "train.py", {"train.py": PROGRAM, **MODULES})
    told = in_words(effective(run))
    assert told["framework"] == "trl.RLOOTrainer"
    assert told["objective"] == "rloo"
    assert told["precision"].startswith("bfloat16")
    assert told["method"] == "full (presumed)"
    assert run.explicit["training.learning_rate"].value == 1e-6
    assert not any("training" in run.classes for run in checked(tmp_path, "train.py", {"train.py": PROGRAM, **MODULES}))


@pytest.mark.parametrize(
    "change",
    [
        {"base.py": BASE.replace("trl.trainer.rloo_trainer", "mine")},
        {"base.py": "class Middle:\n    pass\n"},
        {"base.py": "class Middle(\n"},
        {"own_trainer.py": "from base import OwnTrainer\n", "base.py": "from own_trainer import OwnTrainer\n"},
        {"own_trainer.py": "class OwnTrainer(OwnTrainer):\n    pass\n"},
    ],
)
def test_a_class_of_nobody_s_library_stays_the_program_s(change: Files, tmp_path: Path) -> None:
    runs = shown(tmp_path, "train.py", {"train.py": PROGRAM, **MODULES, **change})
    assert all("RLOOTrainer" not in str(run.classes.get("trainer")) for run in runs)


LOOP = """import yaml
import torch
from transformers import AutoModelForCausalLM

config = yaml.safe_load(open("configs/a.yaml"))
model = AutoModelForCausalLM.from_pretrained("a/b")
optimizer = torch.optim.AdamW(model.parameters(), lr=config["learning_rate"])
for batch in rows:
    model(**batch).loss.backward()
    optimizer.step()
"""
WORDS = "learning_rate: 5.0e-6\nbatch_size: 8\neffective_batch_size: 64\nnum_epochs: 3\nwarmup_ratio: 0.1\nmax_length: 512\nlr_scheduler_type: cosine\n"


def test_words_of_a_loop_of_its_own(tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "configs/a.yaml", {"configs/a.yaml": WORDS, "train.py": LOOP})
    told = in_words(effective(run))
    assert told["steps"].startswith("3 epochs")
    assert told["effective batch"].startswith("64")


SWITCH = """import argparse
from transformers import AutoModelForCausalLM
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-4)
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
parser.add_argument("--lora_rank", type=int, default=128)
args = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained("a/b")
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
"""


@pytest.mark.parametrize(("more", "method"), [("", "unknown"), ("adapt(model, args.lora_rank)\n", "lora (presumed)")])
def test_an_option_that_nothing_reads_makes_no_adapter(more: str, method: str, tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "train.py", {"train.py": SWITCH + more})
    assert in_words(effective(run))["method"] == method


BOUND = """from transformers import Trainer, TrainingArguments
from settings import {name}


def train(config=None):
    config = config or {made}
    Trainer(model=m, args=TrainingArguments(output_dir="o", learning_rate=config.rate, num_train_epochs=float(config.epochs)), train_dataset=rows).train()


train()
"""
DATACLASS = "from dataclasses import dataclass\n\n\n@dataclass\nclass Config:\n    rate: float = 1e-6\n    epochs: int = 2\n    lora_r: int = 8\n\n\nclass Other:\n    rate: float = 9.0\n"
PARSER = "import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--rate', type=float, default=1e-6)\nparser.add_argument('--epochs', type=int, default=2)\nparser.add_argument('--learning_rate', type=float)\nconfig = parser.parse_args()\n"


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        (BOUND.format(name="Config", made="Config()"), DATACLASS),
        (BOUND.format(name="config", made="config"), PARSER),
    ],
)
def test_settings_that_another_module_declares(text: str, settings: str, tmp_path: Path) -> None:
    files = {"train.py": text, "settings.py": settings}
    (run,) = shown(tmp_path, "train.py", files)
    assert run.explicit["training.learning_rate"].value == 1e-6
    assert run.explicit["training.learning_rate"].presumed
    assert in_words(effective(run))["steps"].startswith("2 epochs")
    (run,) = checked(tmp_path, "train.py", files)
    assert (
        "learning_rate" not in str(run.explicit.get("training.learning_rate", ""))
        or run.explicit["training.learning_rate"].value != 1e-6
    )


@pytest.mark.parametrize(
    "change",
    [
        {"settings.py": DATACLASS.replace("rate: float = 1e-6", "rate: float")},
        {"settings.py": "class Config(\n"},
        {
            "train.py": BOUND.format(name="Config", made="Config()").replace(
                "from settings import Config", "from settings import Config\nfrom more import Settings"
            ),
            "more.py": DATACLASS.replace("Config", "Settings").replace("1e-6", "1e-3"),
        },
    ],
)
def test_settings_that_are_not_known_or_said_twice(change: Files, tmp_path: Path) -> None:
    files = {"train.py": BOUND.format(name="Config", made="Config()"), "settings.py": DATACLASS, **change}
    (run,) = shown(tmp_path, "train.py", files)
    assert in_words(effective(run))["learning rate"].startswith("not known")


STARTS = """import argparse
from work.loop import train
from work.other import load_config, load_rows

parser = argparse.ArgumentParser()
parser.add_argument("--config", default="configs/a.yaml")
train(load_config(parser.parse_args().config))
"""
MODULE = """import torch
import yaml


def train(config):
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["learning_rate"])
    for batch in rows:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("more", "joined"),
    [
        ({}, True),
        ({"src/work/other.py": MODULE.replace("def train", "def load_rows")}, True),
        (
            {
                "scripts/train.py": STARTS.replace("import load_config, load_rows", "import load_config, run"),
                "src/work/other.py": MODULE.replace("def train", "def run"),
            },
            False,
        ),
    ],
)
def test_the_module_that_trains_for_a_program(more: Files, joined: bool, tmp_path: Path) -> None:
    files = {
        "configs/a.yaml": WORDS,
        "scripts/train.py": STARTS,
        "src/work/loop.py": MODULE,
        "src/work/other.py": "def load_rows():\n    pass\n",
        **more,
    }
    for name in ("configs/a.yaml",):
        runs = shown(tmp_path, name, files)
        told = in_words(effective(runs[0]))
        assert ("src/work/loop.py" in runs[0].files) == joined
        assert ("torch" in told["framework"]) == joined
        assert told["precision"].startswith("bfloat16") == joined


GIVES = """import yaml
from transformers import Trainer, TrainingArguments

config = yaml.safe_load(open("configs/a.yaml"))
Trainer(model=m, args=TrainingArguments(output_dir="o", learning_rate=config["learning_rate"], save_strategy=config.get("save", "epoch"), bf16=config.get("bf16", True)), train_dataset=rows).train()
"""


@pytest.mark.parametrize(("more", "saves"), [("", "epoch (presumed)"), ("save: no\n", "no")])
def test_a_default_where_the_file_says_nothing(more: str, saves: str, tmp_path: Path) -> None:
    files = {"train.py": GIVES, "configs/a.yaml": WORDS + more}
    (run,) = shown(tmp_path, "configs/a.yaml", files)
    assert in_words(effective(run))["checkpoints"].startswith(saves)


ADAPTS = """import argparse
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--lora_rank", type=int, default=16)
parser.add_argument("--lr", type=float, default=1e-5)
args = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained("a/b")
if args.lora_rank > 0:
    model = get_peft_model(model, LoraConfig(r=args.lora_rank, target_modules=["q_proj"]))
Trainer(model=model, args=TrainingArguments(output_dir="o", learning_rate=args.learning_rate), train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("flag", "method"),
    [("--lora_rank 64", "lora"), ("--lora_rank 0", "full"), ("--lora_rank 1", "lora"), ("--lora_rank $R", "not known")],
)
def test_a_switch_that_asks_how_large_an_option_is(flag: str, method: str, tmp_path: Path) -> None:
    files = {
        "train.py": ADAPTS,
        "run.sh": f"torchrun train.py --learning_rate 1e-5 --gradient_accumulation_steps 1 {flag}\n",
    }
    (run,) = shown(tmp_path, "run.sh", files)
    assert in_words(effective(run))["method"].startswith(method)


ASKS = """from trl import SFTConfig, SFTTrainer
from loading import load_settings

s = load_settings()
SFTTrainer(model=s["base"], args=SFTConfig(output_dir=s["out"], learning_rate=s["learning_rate"], num_train_epochs=s["num_epochs"], warmup_ratio=s["warmup_ratio"], lr_scheduler_type=s["lr_scheduler_type"], max_length=s["max_length"]), train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("more", "joined"), [({}, True), ({"again.py": ASKS}, False), ({"again.py": ASKS.replace(".train()", "")}, False)]
)
def test_the_program_that_asks_for_what_stands_there(more: Files, joined: bool, tmp_path: Path) -> None:
    words = WORDS + "base: a/b\nout: o\n"
    (run,) = shown(
        tmp_path,
        "configs/a.yaml",
        {"configs/a.yaml": words, "train.py": ASKS, "loading.py": "def load_settings():\n    return read()\n", **more},
    )
    assert ("train.py" in run.files) == joined


WITHIN = """from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments


def tune(rows, epochs=3, rate=None):
    model = AutoModelForCausalLM.from_pretrained("a/b")
    if rows and {asked}:
        model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj"]))
    args = TrainingArguments(output_dir="o", num_train_epochs=epochs, learning_rate=rate)
    Trainer(model=model, args=args, train_dataset=rows).train()


tune(load())
"""


@pytest.mark.parametrize(
    ("asked", "method"),
    [
        ("model is not None", "lora (presumed)"),
        ("use_lora", "not known"),
        ("method == 'a'", "not known"),
        ("args.low", "not known"),
        ("len(rows) > 1", "not known"),
    ],
)
def test_a_branch_that_asks_whether_there_is_anything_to_train(asked: str, method: str, tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "train.py", {"train.py": WITHIN.format(asked=asked)})
    told = in_words(effective(run))
    assert told["method"].startswith(method)
    assert told["steps"] == "3 epochs"


@pytest.mark.parametrize(
    ("said", "told"), [("save_every: 500\n", "every 500,"), ("save_every: 0\n", "not known"), ("", "not known")]
)
def test_how_often_a_loop_of_its_own_saves(said: str, told: str, tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "configs/a.yaml", {"configs/a.yaml": WORDS + said, "train.py": LOOP})
    assert in_words(effective(run))["checkpoints"].startswith(told)


SPREAD = 'import json\nfrom trl import SFTConfig, SFTTrainer\n\nwith open("configs/sft.json") as file:\n    settings = json.load(file)\nSFTTrainer(model="a/b", args=SFTConfig(**settings), train_dataset=rows).train()\n'


def test_what_a_file_leaves_out_has_the_library_s_default_presumed(tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "configs/sft.json", {"configs/sft.json": SETTINGS, "train.py": SPREAD})
    assert in_words(effective(run))["checkpoints"] == "every 500 steps"
    assert run.scopes["training"] == "presumed"


def test_a_parameter_has_its_default_presumed(tmp_path: Path) -> None:
    text = WITHIN.format(asked="True").replace("tune(load())\n", "tune(load(), *more)\ntune(other(), **given)\n")
    (run,) = shown(tmp_path, "train.py", {"train.py": text})
    assert in_words(effective(run))["steps"] == "3 epochs"
    assert run.explicit["training.num_train_epochs"].presumed


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "stage: sft\nfinetuning_type: full\ntemplate: llama3\nmodel_name_or_path: a/b\ndataset: a\noutput_dir: o\nbf16: true\nfp8: true\n",
            "fp8 in the matrix products, else bfloat16",
        ),
        (
            "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: fp8\n",
            "fp8 in the matrix products, else not known",
        ),
        (
            "stage: sft\nfinetuning_type: full\ntemplate: llama3\nmodel_name_or_path: a/b\ndataset: a\noutput_dir: o\nbf16: true\nfp8: false\n",
            "bfloat16",
        ),
    ],
)
def test_fp8_is_of_the_matrix_products(text: str, told: str, tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "a.yaml", {"a.yaml": text})
    assert in_words(effective(run))["precision"] == told


DECLARES = """from dataclasses import dataclass, field
from peft import get_peft_model
from transformers import AutoModel, HfArgumentParser, Trainer, TrainingArguments


@dataclass
class Own:
    lora_rank: int = field(default=8)
    rows: str = "a"


own, training = HfArgumentParser((Own, TrainingArguments)).parse_args_into_dataclasses()
model = AutoModel.from_pretrained("a/b")
Trainer(model=model, args=training, train_dataset=load(own.rows)).train()
"""


@pytest.mark.parametrize(
    ("more", "method"), [("", "full"), ("get_peft_model(model, make(own.lora_rank))\n", "lora (presumed)")]
)
def test_a_flag_that_the_program_never_reads_makes_no_adapter(more: str, method: str, tmp_path: Path) -> None:
    files = {"train.py": DECLARES + more, "run.sh": f"torchrun train.py {FLAGS} --lora_rank 8\n"}
    (run,) = shown(tmp_path, "run.sh", files)
    assert in_words(effective(run))["method"].startswith(method.partition(" ")[0])


def test_a_guide_that_repeats_itself_is_shown_once(tmp_path: Path) -> None:
    command = "```sh\npython train.py --sft_config configs/sft.json\n```\n"
    other = command.replace("train.py", "train.py --rows b.json")
    files = {
        "train.py": LOADS,
        "configs/sft.json": SETTINGS,
        "README.md": command + command,
        "configs/HOW.md": command + other,
    }
    assert len(shown(tmp_path, "configs/sft.json", files)) in (1, 2)


def test_a_text_of_many_lines_is_looked_up_once(tmp_path: Path) -> None:
    """A function that puts a text together in hundreds of lines, `text += line`."""
    lines = "".join(f"    text += '{number}'\n" for number in range(400))
    program = f"def write(a):\n    text = ''\n{lines}    return text\n\n\n{LOOP}"
    (run,) = shown(tmp_path, "train.py", {"train.py": program, "configs/a.yaml": WORDS})
    assert in_words(effective(run))["framework"].endswith("(torch)")


@pytest.mark.parametrize(
    ("command", "joined"),
    [
        ("accelerate launch -m axolotl.cli.train recipe.yml", False),
        (f"python tools/more/train.py {FLAGS}", False),
        (f"python train.py {FLAGS}", True),
        (f"python tools/more/train_all.py {FLAGS}", False),
    ],
)
def test_a_common_name_in_another_folder_is_another_program(command: str, joined: bool, tmp_path: Path) -> None:
    recipe = "base_model: a/b\ndatasets: [{path: d, type: alpaca}]\nlearning_rate: 0.0001\nmicro_batch_size: 1\nnum_epochs: 1\noutput_dir: o\nsequence_len: 512\n"
    files = {"run.sh": command + "\n", "mine/train.py": TRAINS, "recipe.yml": recipe}
    (run,) = shown(tmp_path, "run.sh", files)
    assert ("mine/train.py" in run.files) == joined


PICKS = """import yaml
from transformers import Trainer, TrainingArguments

config = yaml.safe_load(open("configs/a.yaml"))
Trainer(model=config["base"], args=TrainingArguments(output_dir="o", learning_rate=1e-4, num_train_epochs=1, fp16=True), train_dataset=rows).train()
"""


@pytest.mark.parametrize("name", ["train.py", "configs/a.yaml"])
def test_what_the_program_does_not_take_from_its_file_is_not_told(name: str, tmp_path: Path) -> None:
    words = "base: a/b\ntraining:\n  learning_rate: 0.1\n  num_epochs: 9\n  bf16: true\n  gradient_accumulation_steps: 4\n  max_length: 512\n  warmup_ratio: 0.5\n  per_device_train_batch_size: 2\n"
    (run,) = shown(tmp_path, name, {"train.py": PICKS, "configs/a.yaml": words})
    told = in_words(effective(run))
    assert told["precision"].startswith("float16")
    assert told["learning rate"].startswith("0.0001")
    assert told["steps"].startswith("1 epochs")
    assert "0.5" not in told["warm-up steps"]


def test_a_file_of_deepspeed_s_with_the_script_that_starts_the_configuration_that_names_it(tmp_path: Path) -> None:
    files = {
        "ds/zero2.json": '{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}\n',
        "configs/sft.json": SETTINGS.replace('"bf16"', '"deepspeed": "ds/zero2.json", "bf16"'),
        "train.py": LOADS,
        "again.py": LOADS,
        "run.sh": "torchrun --nproc_per_node 4 train.py --sft_config configs/sft.json --rows a.json\n",
    }
    (run,) = shown(tmp_path, "ds/zero2.json", files)
    assert run.files[0] == "run.sh"
    told = in_words(effective(run))
    assert told["sharding"] == "ZeRO-2"
    assert told["effective batch"].startswith("4")


@pytest.mark.parametrize(
    ("more", "joined"),
    [({}, True), ({"configs/b.yaml": WORDS + "base: a/b\nout: o\n"}, False), ({"configs/b.yaml": "a: 1\n"}, True)],
)
def test_a_program_with_the_file_that_it_asks_for_and_another_module_loads(
    more: Files, joined: bool, tmp_path: Path
) -> None:
    files = {
        "train.py": ASKS,
        "loading.py": "def load_settings():\n    return read()\n",
        "configs/a.yaml": WORDS + "base: a/b\nout: o\n",
        **more,
    }
    (run,) = shown(tmp_path, "train.py", files)
    assert ("configs/a.yaml" in run.files) == joined
    assert in_words(effective(run))["learning rate"].startswith("5e-06" if joined else "not known")


@pytest.mark.parametrize(
    ("reads", "joined"), [("import argparse\nargparse.ArgumentParser().parse_args()\n", True), ("", False)]
)
def test_a_program_elsewhere_that_reads_no_flags_is_not_the_one_that_a_command_gives_flags_to(
    reads: str, joined: bool, tmp_path: Path
) -> None:
    program = (
        f"{reads}from transformers import Trainer, TrainingArguments\n"
        "Trainer(model=m, args=TrainingArguments(output_dir='out')).train()\n"
    )
    files = {"other/tune_it.py": program, "run.sh": "torchrun tune_it.py --learning_rate 1e-5 --bf16 True\n"}
    (run,) = shown(tmp_path, "run.sh", files)
    assert ("other/tune_it.py" in run.files) is joined


OWN_LOOP = """import argparse
import torch
from rows import Rows, made

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-5)
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--batch_size", type=int, default=2)
parser.add_argument("--window", type=int, default=256)
args = parser.parse_args()
model, ref_model = made(), made()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for batch in Rows():
    model(**batch).loss.backward()
    optimizer.step()
"""
RUNS_IT = "python train.py --lr 1e-5 --epochs 1 --batch_size 2 --accumulation_steps 4"
FROZEN = "for p in {}.parameters():\n    p.requires_grad = False\n"
FREEZES_UNLESS = """parser.add_argument("--freeze_llm", type=bool, default=False)
args = parser.parse_args()


def set_grad(parameters, on):
    for one in parameters:
        one.requires_grad = on


set_grad(model.llm.parameters(), not args.freeze_llm)
"""
OPTION = 'parser.add_argument("--{}", action="store_true")\nargs = parser.parse_args()\nif args.{}:\n    from peft import LoraConfig, get_peft_model\n    model = get_peft_model(model, LoraConfig(r=8))\n'


@pytest.mark.parametrize(
    ("more", "rows", "flags", "method"),
    [
        ("", "class Rows(list): pass\n", "", "full (presumed)"),
        ("", "class Rows(list): pass\n# an adapter is not trained\n", "", "full (presumed)"),
        ("", "from peft import get_peft_model\nclass Rows(list): pass\n", "", "full (presumed)"),
        ("", "from peft import get_peft_model\ntune = get_peft_model\nclass Rows(list): pass\n", "", "unknown"),
        (
            "",
            "class Rows(list):\n    def __init__(self, peft_config=None):\n        self.model = get_peft_model(model, peft_config)\n",
            "",
            "full (presumed)",
        ),
        ("", "from adapting_model import tune\nclass Rows(list): pass\n", "", "unknown"),
        (FROZEN.format("ref_model"), "class Rows(list): pass\n", "", "full (presumed)"),
        (
            FROZEN.format("model.embeddings"),
            "class Rows(list): pass\n",
            "",
            "no adapter; some of the weights may be frozen",
        ),
        (FREEZES_UNLESS, "class Rows(list): pass\n", "", "full (presumed)"),
        (
            FREEZES_UNLESS,
            "class Rows(list): pass\n",
            " --freeze_llm True",
            "no adapter; some of the weights may be frozen",
        ),
        (OPTION.replace("{}", "use_lora"), "class Rows(list): pass\n", "", "full (presumed)"),
        (OPTION.replace("{}", "use_lora"), "class Rows(list): pass\n", " --use_lora", "lora (presumed)"),
        (OPTION.replace("{}", "use_qlora"), "class Rows(list): pass\n", " --use_qlora", "qlora (presumed)"),
    ],
)
def test_a_loop_of_one_s_own_without_a_word_of_adapters_trains_all(
    more: str, rows: str, flags: str, method: str, tmp_path: Path
) -> None:
    files = {"train.py": OWN_LOOP + more, "rows.py": rows, "run.sh": RUNS_IT + flags + "\n"}
    (run,) = shown(tmp_path, "run.sh", files)
    assert in_words(effective(run))["method"] == method
    (run,) = checked(tmp_path, "run.sh", files)
    assert run.explicit.get("training.finetuning_type") is None


@pytest.mark.parametrize(
    ("default", "method"), [('"qlora"', "qlora (presumed)"), ('"full"', "full (presumed)"), ("None", "unknown")]
)
def test_the_default_of_an_option_that_names_the_method(default: str, method: str, tmp_path: Path) -> None:
    more = f'parser.add_argument("--method", default={default})\nargs = parser.parse_args()\nif args.method == "qlora":\n    from peft import get_peft_model\n'
    files = {"train.py": OWN_LOOP + more, "rows.py": "class Rows(list): pass\n", "run.sh": RUNS_IT + "\n"}
    (run,) = shown(tmp_path, "run.sh", files)
    assert in_words(effective(run))["method"] == method


CUTS = "def rows_of(row):\n    return tokenizer(row, truncation=True, max_length={})\n"


@pytest.mark.parametrize(
    ("more", "length"),
    [
        (CUTS.format("300"), 300),
        ("MOST = 400\n" + CUTS.format("MOST"), 400),
        (CUTS.format("args.window"), 256),
        (CUTS.format("args.window") + CUTS.format("300").replace("rows_of", "others_of"), None),
        (CUTS.format("300").replace("rows_of", "evaluate_rows"), None),
        ("def group(t, n):\n    return [t[i : i + args.window] for i in range(0, n, args.window)]\n", 256),
        ("MAXIMUM = 256\ndef rows_of(ids):\n    return ids[-MAXIMUM:]\n", 256),
        ("MAXIMUM = 400\ndef rows_of(ids):\n    return ids[: MAXIMUM + 1]\n", 400),
        ("", None),
    ],
)
def test_the_length_that_stands_in_the_tokenizer_s_call(more: str, length: int | None, tmp_path: Path) -> None:
    files = {"train.py": OWN_LOOP + more, "rows.py": "class Rows(list): pass\n", "run.sh": RUNS_IT + "\n"}
    (run,) = shown(tmp_path, "run.sh", files)
    found = run.explicit.get("training.max_length")
    assert (found.value if found is not None else None) == length
    assert found is None or found.presumed
    (run,) = checked(tmp_path, "run.sh", files)
    assert "training.max_length" not in run.explicit


PREFIXED = """import argparse
from steps import GRPOTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--grpo-lr", type=float, default=2e-5)
parser.add_argument("--grpo-epochs", type=int, default=5)
parser.add_argument("--grpo-batch-size", type=int, default=8)
parser.add_argument("--output_dir")
args = parser.parse_args()
trainer = GRPOTrainer(args)
trainer.train()
"""
STEPS = """import torch


class GRPOTrainer:
    def __init__(self, args):
        self.model = args.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.grpo_lr)
        self.epochs = args.grpo_epochs

    def train(self):
        for _ in range(self.epochs):
            self.model().loss.backward()
            self.optimizer.step()
"""


@pytest.mark.parametrize(
    ("change", "rate"),
    [
        ({}, 5e-5),
        ({"train.py": PREFIXED.replace("grpo-lr", "grpo-speed")}, None),
        ({"train.py": PREFIXED + 'parser.add_argument("--sft-lr", default=1.0)\n'}, None),
    ],
)
def test_options_that_all_begin_alike(change: Files, rate: float | None, tmp_path: Path) -> None:
    command = "torchrun train.py --output_dir o --per_device_train_batch_size 2 --gradient_accumulation_steps 2 --grpo-lr 5e-5 --grpo-epochs 3\n"
    files = {
        "train.py": PREFIXED,
        "steps.py": STEPS,
        "run.sh": command,
    }
    (run,) = shown(tmp_path, "run.sh", {**files, **change})
    found = run.explicit.get("training.learning_rate")
    assert (found.value if found is not None and isinstance(found.value, float) else None) == rate


ARGUMENTS = """import argparse
import torch
from transformers import Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--bf16", action="store_true")
parser.add_argument("--total", type=int, default=128)
parser.add_argument("--learning_rate", type=float, default=1e-5)
args = parser.parse_args()
if args.bf16:
    bf16 = True
else:
    bf16 = False
accumulation = args.total // 2 // torch.cuda.device_count()
arguments = TrainingArguments("out", bf16=bf16, per_device_train_batch_size=2, gradient_accumulation_steps=accumulation)
Trainer(model=model, args=arguments, train_dataset=rows).train()
"""


def test_a_switch_of_the_precision_and_a_batch_that_is_divided(tmp_path: Path) -> None:
    files = {"train.py": ARGUMENTS, "run.sh": "torchrun train.py --learning_rate 1e-5 --bf16\n"}
    (run,) = shown(tmp_path, "run.sh", files)
    told = in_words(effective(run))
    assert told["precision"] == "bfloat16 (presumed)"
    assert told["effective batch"] == "128 (presumed)"
    (run,) = shown(tmp_path, "run.sh", {"run.sh": files["run.sh"].replace(" --bf16", "")})
    assert told["precision"] != in_words(effective(run))["precision"]


HANDS_ON = """import argparse
from work.flow import run_training

parser = argparse.ArgumentParser()
parser.add_argument("--config", default="configs/{}.yaml")
args = parser.parse_args()
run_training(args.config)
"""
FLOW = "from work.trainer import OwnTrainer\n\n\ndef run_training(path):\n    OwnTrainer(path).train()\n"
WHOLE = "from accelerate import Accelerator\n\n\nclass OwnTrainer:\n    def train(self):\n        self.accelerator = Accelerator()\n        self.accelerator.backward(loss)\n"
OWN_WORDS = "training: {lr: 1.0e-5, epochs: 2, micro_batch_size: 2, grad_accum_steps: 4}\ntokens: {max_length: 384}\n"


@pytest.mark.parametrize(
    ("change", "framework"),
    [
        ({}, "a loop of its own (accelerate)"),
        ({"work/flow.py": FLOW.replace("OwnTrainer", "Thing")}, "a program's own settings"),
        ({"work/__init__.py": "from .flow import run_training\n"}, "a loop of its own (accelerate)"),
    ],
)
def test_a_program_that_hands_its_configuration_to_a_module(change: Files, framework: str, tmp_path: Path) -> None:
    files = {
        "lora.py": HANDS_ON.format("lora"),
        "full.py": HANDS_ON.format("full"),
        "work/flow.py": FLOW,
        "work/trainer.py": WHOLE,
        "configs/lora_b.yaml": OWN_WORDS,
        **change,
    }
    if "work/__init__.py" in change:
        files |= {name: files[name].replace("work.flow", "work") for name in ("lora.py", "full.py")}
    (run,) = shown(tmp_path, "configs/lora_b.yaml", files)
    assert framework in in_words(effective(run))["framework"]
    (run,) = checked(tmp_path, "configs/lora_b.yaml", files)
    assert run.files == ("configs/lora_b.yaml",)


@pytest.mark.parametrize(
    ("more", "trains"),
    [
        ("model.eval()\n\n\ndef answer(x):\n    with torch.no_grad():\n        return model(x)\n", False),
        (
            "model.eval()\noptimizer = made_optimizer(model)\n\n\ndef answer(x):\n    with torch.no_grad():\n        return model(x)\n",
            True,
        ),
    ],
)
def test_a_module_that_only_judges(more: str, trains: bool, tmp_path: Path) -> None:
    text = "import torch\nfrom transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained(name, load_in_4bit=True)\n"
    (run,) = shown(tmp_path, "judge.py", {"judge.py": text + more})
    assert in_words(effective(run))["training"].startswith("none") != trains


SECTIONS = "sft:\n  learning_rate: 2.0e-5\n  num_epochs: 3\n  batch_size: 4\ndpo:\n  learning_rate: 5.0e-6\n  num_epochs: 1\n  batch_size: 8\n"
BY_SECTION = """import argparse
import yaml
from transformers import Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--config", default="configs/all.yaml")
args = parser.parse_args()
config = made(yaml.safe_load(open(args.config)))
arguments = TrainingArguments("out", learning_rate=config.rate, num_train_epochs=config.epochs)
Trainer(model=model, args=arguments, train_dataset=rows).train()
"""


@pytest.mark.parametrize(("name", "rate"), [("train_sft.py", "2e-05 (presumed)"), ("train.py", "not known")])
def test_the_section_that_is_called_as_the_program_is(name: str, rate: str, tmp_path: Path) -> None:
    files = {name: BY_SECTION, "configs/all.yaml": SECTIONS, "run.sh": f"python {name} --config configs/all.yaml\n"}
    (run,) = shown(tmp_path, "run.sh", files)
    assert in_words(effective(run))["learning rate"].startswith(rate)


TORCH_LOOP = """import torch
from torch.utils.data import DataLoader

model = make()
batches = DataLoader(rows, batch_size=8)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for epoch in range(3):
    for batch in batches:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("text", "precision"),
    [(TORCH_LOOP, "float32 (presumed)"), (TORCH_LOOP.replace("make()", "make().half()"), "not known")],
)
def test_a_loop_of_torch_alone_is_shown_and_checked(text: str, precision: str, tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "fit.py", {"fit.py": text})
    words = in_words(effective(run))
    assert words["framework"] == "a loop of its own (torch)"
    assert (
        words["learning rate"] == "0.0001" and words["steps"] == "3 epochs" and "8 a device" in words["effective batch"]
    )
    assert words["precision"].startswith(precision)
    assert len(checked(tmp_path, "fit.py", {"fit.py": text})) == 1


def test_what_only_computes_an_update_is_no_training(tmp_path: Path) -> None:
    text = "import torch\nscale = torch.optim.lr_scheduler.StepLR(optimizer, 3)\nscale.step()\n"
    assert shown(tmp_path, "plan.py", {"plan.py": text}) == ()


ADAPTING = """from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM


def load(name, r):
    model = AutoModelForCausalLM.from_pretrained(name)
    return get_peft_model(model, LoraConfig(r=r))
"""
GIVEN_A_MODEL = """from transformers import Trainer, TrainingArguments


def build(model, rows):
    args = TrainingArguments("out", learning_rate=1e-4)
    return Trainer(model=model, args=args, train_dataset=rows)
"""
STARTS_BOTH = """from models import load
from training import build

if __name__ == "__main__":
    build(load("a/b", 8), rows).train()
"""


@pytest.mark.parametrize(
    ("change", "method"),
    [
        ({}, "lora (presumed)"),
        ({"models.py": ADAPTING.replace("(name)", "(name, load_in_4bit=True)")}, "qlora"),
        ({"models.py": ADAPTING.replace("    return get", "    if args.use_it:\n        return get")}, "unknown"),
        ({"models.py": ADAPTING.replace("LoraConfig", "PrefixTuningConfig")}, "unknown"),
        ({"models.py": "def load(name, r):\n    return made(name)\n"}, "full (presumed)"),
    ],
)
def test_a_module_trains_what_its_program_gives_it(change: Files, method: str, tmp_path: Path) -> None:
    files = {"models.py": ADAPTING, "training.py": GIVEN_A_MODEL, "main.py": STARTS_BOTH, **change}
    (run,) = shown(tmp_path, "training.py", files)
    assert in_words(effective(run))["method"].startswith(method)


OWN_CLASS = """import deepspeed
from transformers import TrainingArguments


class Steps:
    def __init__(self, model, args):
        self.engine, *_ = deepspeed.initialize(config=args.deepspeed, model=model)

    def train(self):
        self.engine.backward(loss)
        self.engine.step()
"""


def test_a_class_called_trainer_that_is_none_of_a_library_s(tmp_path: Path) -> None:
    files = {
        "own_trainer.py": OWN_CLASS.replace("Steps", "OwnTrainer"),
        "train.py": "from transformers import AutoModelForCausalLM, TrainingArguments\nfrom own_trainer import OwnTrainer\n"
        "model = AutoModelForCausalLM.from_pretrained('a/b')\n"
        "args = TrainingArguments('out', learning_rate=1e-4)\nOwnTrainer(model=model, args=args).train()\n",
    }
    (run,) = shown(tmp_path, "train.py", files)
    assert "a loop of its own (deepspeed)" in in_words(effective(run))["framework"]


BY_VARIABLES = """import argparse
import os
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def env(name, otherwise):
    return os.environ.get(name) or otherwise


parser = argparse.ArgumentParser()
parser.add_argument("--model", default=env("MODEL", "a/b-1b"))
parser.add_argument("--lr", type=float, default=env("LR", 1e-5))
parser.add_argument("--epochs", type=int, default=int(os.environ.get("EPOCHS", "2")))
parser.add_argument("--max-len", type=int, default=os.getenv("LENGTH", 512))
given = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained(given.model)
rows = [(prompt_ids + answer_ids)[: given.max_len] for prompt_ids, answer_ids in pairs]
args = TrainingArguments("out", learning_rate=given.lr, num_train_epochs=given.epochs)
Trainer(model=model, args=args, train_dataset=rows).train()
"""


def test_options_whose_default_a_variable_of_the_environment_may_replace(tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "train.py", {"train.py": BY_VARIABLES})
    world = effective(run)
    words = in_words(world)
    assert words["learning rate"] == "1e-05 (presumed)" and words["steps"].startswith("2 epochs")
    assert world.value("training.max_length") == 512 and world.value("model.name_or_path") == "a/b-1b"
    (run,) = checked(tmp_path, "train.py", {"train.py": BY_VARIABLES})
    assert in_words(effective(run))["learning rate"].startswith("not known")


AS_OBJECT = """import argparse
from settings import Settings, load_yaml, made_of
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--config", default="configs/train.yaml")
args = parser.parse_args()
config = made_of(Settings, load_yaml(args.config))
optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate)
for epoch in range(config.epochs):
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("rate", "told"), [("2.0e-4", "0.0002"), ("2e-4", "0.0002")])
def test_an_object_made_of_the_file_that_a_module_loads(rate: str, told: str, tmp_path: Path) -> None:
    files = {
        "train.py": AS_OBJECT,
        "settings.py": "class Settings: ...\n",
        "configs/train.yaml": f"learning_rate: {rate}\nbatch_size: 4\nweight_decay: 0.1\nepochs: 3\ngradient_accumulation_steps: 5\n",
    }
    (run,) = shown(tmp_path, "train.py", files)
    assert in_words(effective(run))["learning rate"].startswith(told)


def test_unsloth_s_model_brings_the_length(tmp_path: Path) -> None:
    text = (
        "from unsloth import FastLanguageModel\nfrom trl import SFTConfig, SFTTrainer\n"
        "model, tokenizer = FastLanguageModel.from_pretrained('a/b', max_seq_length=2048)\n"
        "SFTTrainer(model=model, args=SFTConfig('out', learning_rate=1e-4), train_dataset=rows).train()\n"
    )
    (run,) = shown(tmp_path, "tune.py", {"tune.py": text})
    assert effective(run).value("training.max_length") == 2048
    (run,) = shown(tmp_path, "tune.py", {"tune.py": text.replace("'out',", "'out', max_length=64,")})
    assert effective(run).value("training.max_length") == 64


@pytest.mark.parametrize(
    ("loads", "goal"),
    [
        ("AutoModelForMaskedLM", "masked language modelling"),
        ("AutoModelForSequenceClassification", "classification (presumed)"),
        ("AutoModel", "not known"),
    ],
)
def test_what_a_loop_trains_for_by_what_it_loads(loads: str, goal: str, tmp_path: Path) -> None:
    text = TORCH_LOOP.replace(
        "model = make()", f"from transformers import {loads}\nmodel = {loads}.from_pretrained('a/b')"
    )
    (run,) = shown(tmp_path, "fit.py", {"fit.py": text})
    assert in_words(effective(run))["objective"].startswith(goal)


@pytest.mark.parametrize(("word", "method"), [("lora", "lora (presumed)"), ("none", "unknown"), ("bone", "unknown")])
def test_an_option_that_is_called_after_the_library(word: str, method: str, tmp_path: Path) -> None:
    text = OWN_LOOP.replace(
        "args = parser.parse_args()\n",
        'parser.add_argument("--peft", default="none")\nargs = parser.parse_args()\n'
        'if args.peft != "none":\n    from adapting import adapted\n    model = adapted(model)\n',
    )
    (run,) = shown(tmp_path, "run.sh", {"train.py": text, "run.sh": f"{RUNS_IT} --peft {word}\n"})
    assert in_words(effective(run))["method"] == method


KEPT = """from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model

class Tuner:
    def __init__(self, name: str = "a/b", small: bool = False):
        self.name = name
        self.small = small

    def load(self):
        if self.small:
            self.model = AutoModelForCausalLM.from_pretrained(self.name, quantization_config=BitsAndBytesConfig(load_in_4bit=True))
        else:
            self.model = AutoModelForCausalLM.from_pretrained(self.name)
        self.model = get_peft_model(self.model, LoraConfig(r=8))

    def train(self, rows, epochs=3, batch_size=64, micro=4):
        steps = batch_size // micro
        if self.small and int(os.environ.get("WORLD_SIZE", 1)) != 1:
            steps = steps // 2
        args = TrainingArguments(num_train_epochs=epochs, per_device_train_batch_size=micro, gradient_accumulation_steps=steps)
        Trainer(model=self.model, args=args, train_dataset=rows).train()

def main():
    SMALL = {small}
    tuner = Tuner(name="c/d", small=SMALL)
    tuner.load()
    tuner.train(rows, epochs=2)

main()
"""


@pytest.mark.parametrize(("small", "method"), [("True", "qlora (presumed)"), ("False", "lora"), ("asked()", "lora")])
def test_what_a_program_keeps_in_objects_of_its_own_and_hands_to_methods(
    small: str, method: str, tmp_path: Path
) -> None:
    (run,) = shown(tmp_path, "train.py", {"train.py": KEPT.format(small=small)})
    told = in_words(effective(run))
    assert told["method"].startswith(method.removesuffix(" (presumed)"))
    assert told["steps"] == "2 epochs"
    assert run.explicit["model.name_or_path"].value == "c/d"
    assert "4 a device, 16 accumulated" in told["effective batch"]


def test_an_option_that_decides_is_not_decided_by_its_default(tmp_path: Path) -> None:
    text = "import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--small', type=bool, default=False)\nargs = parser.parse_args()\n"
    files = {"train.py": text + KEPT.format(small="args.small"), "run.sh": "python train.py --small True\n"}
    (run,) = shown(tmp_path, "train.py", files)
    assert not in_words(effective(run))["method"].startswith("qlora")
    assert run.explicit["training.per_device_train_batch_size"].value == 4


def test_epochs_that_are_counted_from_a_first_one(tmp_path: Path) -> None:
    loop = "import torch\n\ndef run(model, rows, first, epochs=3):\n    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)\n    for epoch in range(first, epochs + 1):\n        for row in rows:\n            loss = model(**row).loss\n            loss.backward()\n            optimizer.step()\n\nrun(m, r, begin(), epochs=2)\n"
    (run,) = shown(tmp_path, "train.py", {"train.py": loop})
    assert in_words(effective(run))["steps"] == "2 epochs"


ALWAYS = """from transformers import HfArgumentParser, Trainer, TrainingArguments

args = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()[0]
trainer = Trainer(model=model, args=args, train_dataset=rows)
{train}
"""


@pytest.mark.parametrize(
    ("train", "trains"), [("trainer.train()", True), ("if args.do_train:\n    trainer.train()", False)]
)
def test_a_program_that_trains_whether_or_not_it_is_asked_to(train: str, trains: bool, tmp_path: Path) -> None:
    files = {
        "train.py": ALWAYS.format(train=train),
        "run.sh": "python train.py --output_dir o --do_eval --learning_rate 1e-4 --bf16\n",
    }
    (run,) = shown(tmp_path, "run.sh", files)
    assert (in_words(effective(run)).get("learning rate") == "0.0001") == trains


def test_a_trainer_of_another_module_whose_folder_begins_with_a_capital(tmp_path: Path) -> None:
    module = "from trl import GRPOTrainer\n\nclass Own(GRPOTrainer):\n    def __init__(self, *args, **kwargs):\n        super().__init__(*args, **kwargs)\n\n    def score(self, model):\n        with model.disable_adapter():\n            return model\n"
    text = 'from trl import GRPOConfig\nfrom Made.own import Own\n\nOwn(model="a/b", args=GRPOConfig(output_dir="o", num_train_epochs=2), reward_funcs=f, train_dataset=rows).train()\n'
    (run,) = shown(tmp_path, "train.py", {"train.py": text, "Made/own.py": module})
    told = in_words(effective(run))
    assert (told["framework"], told["method"]) == ("trl.GRPOTrainer (presumed)", "full (presumed)")
    assert run.explicit["model.name_or_path"].value == "a/b"


FILLS = """import argparse, dataclasses, torch, yaml

@dataclasses.dataclass
class Settings:
    learning_rate: float = 1e-3
    num_epochs: int = 1
    lora_r: int = 4
    lora_alpha: int = 8
    per_device_batch_size: int = 2
    gradient_accumulation_steps: int = 1

    @classmethod
    def read(cls, path):
        with open(path) as file:
            return cls(**yaml.safe_load(file))

def train(cfg, model, rows):
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.learning_rate)
    for epoch in range(cfg.num_epochs):
        for row in rows:
            model(**row).loss.backward()
            optimizer.step()

parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
train(Settings.read(parser.parse_args().config), made(), read())
"""
DECLARED = "learning_rate: 0.0001\nnum_epochs: 3\nlora_r: 8\nlora_alpha: 16\nper_device_batch_size: 1\ngradient_accumulation_steps: 8\n"


def test_a_file_is_read_by_the_program_that_declares_what_stands_in_it(tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "configs/a.yaml", {"configs/a.yaml": DECLARED, "src/train.py": FILLS})
    told = in_words(effective(run))
    assert "a loop of its own (torch)" in told["framework"]
    assert "1 a device, 8 accumulated" in told["effective batch"]


def test_a_file_that_nobody_is_seen_to_read_has_no_other_batch_than_its_own(tmp_path: Path) -> None:
    words = '{"model_name": "a/b", "num_epochs": 3, "learning_rate": 0.0002, "batch_size": 2, "gradient_accumulation_steps": 8, "warmup_ratio": 0.05, "use_qlora": true, "max_length": 512, "lora_r": 8}\n'
    (run,) = shown(tmp_path, "out/settings.json", {"out/settings.json": words})
    assert "2 a device, 8 accumulated" in in_words(effective(run))["effective batch"]


def test_rows_that_another_module_makes(tmp_path: Path) -> None:
    rows = "class Rows:\n    def __init__(self, tokenizer, length=128):\n        self.tokenizer, self.length = tokenizer, length\n        self.size = length\n\n    def __getitem__(self, at):\n        return self.tokenizer(self.texts[at], truncation=True, max_length=self.size)\n"
    text = OWN_LOOP.replace('parser.add_argument("--window", type=int, default=256)\n', "").replace(
        "Rows()", "Rows(tok, length=384)"
    )
    (run,) = shown(tmp_path, "train.py", {"train.py": text, "rows.py": rows})
    assert run.explicit["training.max_length"].value == 384


def test_an_adapter_that_is_trained_further_in_another_module(tmp_path: Path) -> None:
    text = "from peft import PeftModel\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n\ndef load(path):\n    base = AutoModelForCausalLM.from_pretrained('a/b')\n    return PeftModel.from_pretrained(base, str(path), is_trainable=True)\n"
    program = "from made import load\nfrom transformers import Trainer, TrainingArguments\n\nTrainer(model=load('x'), args=TrainingArguments(output_dir='o'), train_dataset=rows).train()\n"
    (run,) = shown(tmp_path, "train.py", {"train.py": program, "made.py": text})
    assert in_words(effective(run))["method"].startswith("lora")


@pytest.mark.parametrize(
    ("within", "method"), [("  routing:\n    enabled: false\n", "lora"), ("  enabled: false\n", "full")]
)
def test_a_switch_is_of_the_section_that_it_stands_in(within: str, method: str, tmp_path: Path) -> None:
    text = f"base_model: a/b\ntrain:\n  lr: 0.0001\n  epochs: 3\n  gradient_accumulation_steps: 2\n  batch_size: 2\nlora:\n  r: 8\n  alpha: 16\n{within}"
    (run,) = shown(tmp_path, "a.yaml", {"a.yaml": text})
    assert in_words(effective(run))["method"].startswith(method)


def test_deepspeed_s_old_name_for_bf16(tmp_path: Path) -> None:
    (run,) = shown(
        tmp_path, "ds.json", {"ds.json": '{"bfloat16": {"enabled": true}, "zero_optimization": {"stage": 3}}\n'}
    )
    assert in_words(effective(run))["precision"].startswith("bfloat16")


def test_functions_that_hand_on_what_they_are_handed(tmp_path: Path) -> None:
    text = "from transformers import Trainer, TrainingArguments\n\nclass Node:\n    def walk(self, node, rate):\n        if node.small:\n            node.walk(node, rate)\n        args = TrainingArguments(output_dir='o', learning_rate=rate, num_train_epochs=2)\n        Trainer(model=node.model, args=args, train_dataset=rows).train()\n\ndef go(node, rate):\n    go(node, rate)\n    node.walk(node, rate)\n\ngo(other(), other())\n"
    (run,) = shown(tmp_path, "train.py", {"train.py": text})
    told = in_words(effective(run))
    assert told["steps"] == "2 epochs"
    assert told["learning rate"].startswith("not known")


def test_a_module_below_src_that_is_called_after_a_training(tmp_path: Path) -> None:
    command = "python -m tool.reward.train_it --lr 3e-5 --epochs 2 --batch_size 8\n"
    files = {"src/tool/reward/train_it.py": OWN_LOOP, "src/tool/reward/rows.py": "class Rows(list): pass\n"}
    (run,) = shown(tmp_path, "run.sh", {**files, "run.sh": command})
    assert run.explicit["launch.loop"].value == "torch"
    assert in_words(effective(run))["learning rate"].startswith("3e-05")
    assert not shown(tmp_path, "run.sh", {"run.sh": command.replace("train_it", "score")})


OPTIMIZER = """from torch.optim.optimizer import Optimizer


class Careful(Optimizer):
    def __init__(
        self,
        params,
        lr=1e-3,
    ):
        super().__init__(params, dict(lr=lr))
"""


def test_an_optimizer_s_class_is_no_run(tmp_path: Path) -> None:
    files = {"careful.py": OPTIMIZER, "train.py": "from careful import Careful\n" + OWN_LOOP.replace("rows", "careful")}
    assert not shown(tmp_path, "careful.py", files)


BRANCHES = """import torch


def main(args, model, batches):
    if args.name == "own":
        optimizer = Own(model.parameters(), lr=1e-4)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for batch in batches:
        model(**batch).loss.backward()
        optimizer.step()
"""


def test_the_optimizer_of_the_last_branch_is_not_the_default(tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "train.py", {"train.py": BRANCHES})
    assert is_unknown(run.explicit["training.optim"].value)
    assert run.explicit["training.learning_rate"].value == 1e-4
    always = BRANCHES.replace("    else:\n        optimizer", "    if True:\n        optimizer")
    (run,) = shown(tmp_path, "train.py", {"train.py": always.replace("Own", "own")})
    assert run.explicit["training.optim"].value == "sgd"


CELLS = """import torch
from transformers import AutoModelForCausalLM


class OwnTrainer:
    def __init__(self, name, lr=1e-3, epochs=1):
        self.model = AutoModelForCausalLM.from_pretrained(name)
        self.epochs = epochs
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=lr)

    def train(self, rows):
        for epoch in range(self.epochs):
            for batch in rows:
                self.model(**batch).loss.backward()
                self.opt.step()
"""


def test_what_a_cell_hands_to_a_class_of_another(tmp_path: Path) -> None:
    cells = notebook(
        "!pip install torch\n", CELLS, 'trainer = OwnTrainer("a/b", lr=2e-5, epochs=4)\ntrainer.train(rows)\n'
    )
    (run,) = shown(tmp_path, "train.ipynb", {"train.ipynb": cells})
    said = {name: run.explicit[f"training.{name}"].value for name in ("learning_rate", "num_train_epochs")}
    assert said == {"learning_rate": 2e-5, "num_train_epochs": 4}
    assert run.explicit["model.name_or_path"].value == "a/b"


CONSTANTS = """import os


def flag(name, default="0"):
    return os.environ.get(name, default).strip().lower() in ("1", "true")


QUICK = flag("QUICK")
if QUICK:
    STEPS = 20
else:
    STEPS = int(os.environ.get("STEPS", "300"))
RATE = float(os.environ.get("RATE", "3e-5"))
"""
BY_CONSTANTS = """import argparse

import config
from transformers import Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=config.RATE)
parser.add_argument("--test", action="store_true")
args = parser.parse_args()
if args.test:
    accumulation = 1
else:
    accumulation = 16
arguments = TrainingArguments("out", learning_rate=args.lr, max_steps=config.STEPS, gradient_accumulation_steps=accumulation)
Trainer(model=model, args=arguments, train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("flags", "rate", "accumulation"), [("", 3e-5, 16), (" --lr 1e-4", 1e-4, 16), (" --lr 1e-4 --test", 1e-4, None)]
)
def test_constants_of_another_module_and_branches_that_a_flag_leaves(
    flags: str, rate: float, accumulation: int | None, tmp_path: Path
) -> None:
    files = {"train.py": BY_CONSTANTS, "config.py": CONSTANTS, "run.sh": f"python train.py{flags}\n"}
    (run,) = shown(tmp_path, "run.sh" if flags else "train.py", files)
    assert run.explicit["training.learning_rate"].value == rate
    assert run.explicit["training.max_steps"].value == 300
    found = run.explicit["training.gradient_accumulation_steps"].value
    assert is_unknown(found) if accumulation is None else found == accumulation


NAMES_ITS_FILES = """import torch
from model import Policy
from utils import load_yaml

model_cfg = load_yaml("configs/model.yaml")
dpo_cfg = load_yaml("configs/dpo.yaml")
policy = Policy(dpo_cfg["start"], model_cfg["max_length"])
reference = Policy(dpo_cfg["start"], model_cfg["max_length"], trainable=False)
optimizer = torch.optim.AdamW(policy.parameters(), lr=dpo_cfg["learning_rate"])
for epoch in range(dpo_cfg["epochs"]):
    for batch in rows:
        policy(batch).backward()
        optimizer.step()
"""
POLICY = """import torch
from transformers import AutoModelForCausalLM


class Policy(torch.nn.Module):
    def __init__(self, path, max_length, trainable=True):
        super().__init__()
        self.model = AutoModelForCausalLM.from_pretrained(path)
        if not trainable:
            for p in self.model.parameters():
                p.requires_grad = False
"""


def test_a_file_that_the_program_names_and_nothing_else_reads(tmp_path: Path) -> None:
    files = {
        "train_dpo.py": NAMES_ITS_FILES,
        "model.py": POLICY,
        "utils.py": "import yaml\n\n\ndef load_yaml(path):\n    return yaml.safe_load(open(path))\n",
        "configs/dpo.yaml": "start: a/b\nlearning_rate: 1e-4\nepochs: 2\n",
        "configs/model.yaml": "max_length: 512\n",
    }
    (run,) = shown(tmp_path, "configs/dpo.yaml", files)
    told = in_words(effective(run))
    assert (told["learning rate"], told["steps"], told["method"]) == (
        "0.0001 (presumed)",
        "2 epochs",
        "full (presumed)",
    )
    assert run.explicit["model.name_or_path"].value == "a/b"


def test_the_module_that_trains_for_a_file_which_calls_it(tmp_path: Path) -> None:
    module = "from transformers import Trainer, TrainingArguments\n\n\ndef run_ablation(model, rows):\n"
    module += "    Trainer(model=model, args=TrainingArguments('o', learning_rate=1e-5), train_dataset=rows).train()\n"
    files = {"src/work.py": module, "notes.py": "from src.work import run_ablation\n\nrun_ablation(model, rows)\n"}
    (run,) = shown(tmp_path, "notes.py", files)
    assert run.files == ("src/work.py", "notes.py")


def test_weights_that_are_stored_in_4_bits(tmp_path: Path) -> None:
    program = "from peft import LoraConfig\nfrom trl import SFTTrainer, SFTConfig\nSFTTrainer('unsloth/Qwen3-1.7B-unsloth-bnb-4bit', "
    program += "args=SFTConfig(output_dir='o'), peft_config=LoraConfig(r=8), train_dataset=rows).train()\n"
    (run,) = shown(tmp_path, "train.py", {"train.py": program})
    assert in_words(effective(run))["method"] == "qlora (presumed)"


STEPS_OF_ITS_OWN = """import argparse

import torch
from transformers import AutoModelForCausalLM
from work import Careful, adapt


def options(defaults):
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=defaults.get("lr", 3e-5))
    parser.add_argument("--max-steps", type=int, default=defaults.get("max_steps", 70))
    parser.add_argument("--use-lora", action="store_true", default=defaults.get("use_lora", False))
    return parser.parse_args()


args = options({})
model = AutoModelForCausalLM.from_pretrained("a/b")
if args.use_lora:
    adapt(model)
optimizer = Careful(model.parameters(), lr=args.lr)
step = 0
while step < args.max_steps:
    model(**next(rows)).loss.backward()
    optimizer.step()
    step += 1
"""
WORK = """from torch import nn
from torch.optim import Optimizer


class Careful(Optimizer):
    pass


class Lowered(nn.Module):
    def __init__(self, inner):
        super().__init__()
        inner.weight.requires_grad_(False)


def adapt(model):
    model.head = Lowered(model.head)
"""


def test_an_optimizer_of_one_s_own_and_defaults_that_a_file_may_say(tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "train.py", {"train.py": STEPS_OF_ITS_OWN, "work.py": WORK})
    told = in_words(effective(run))
    assert told["framework"].endswith("(torch)")
    assert (told["learning rate"], told["steps"], told["method"]) == (
        "3e-05 (presumed)",
        "70 (presumed)",
        "full (presumed)",
    )


@pytest.mark.parametrize(("loop", "steps"), [("max_steps", 500), ("accumulation_steps", None)])
def test_a_loop_of_steps(loop: str, steps: int | None, tmp_path: Path) -> None:
    head = f"import torch\n{loop} = 500\noptimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)\n"
    body = f"for step in range({loop}):\n    model(**next(rows)).loss.backward()\n    optimizer.step()\n"
    (run,) = shown(tmp_path, "train.py", {"train.py": head + body})
    found = run.explicit.get("training.max_steps")
    assert (found.value if found is not None else None) == steps


OLD_PPO = """from trl import AutoModelForCausalLMWithValueHead, PPOConfig, PPOTrainer

config = PPOConfig(batch_size=16, mini_batch_size=4, learning_rate=1e-5)
trainer = PPOTrainer(config=config, model=AutoModelForCausalLMWithValueHead.from_pretrained("gpt2"), ref_model=None, tokenizer=tokenizer)
for batch in rows:
    trainer.step(batch["query"], batch["response"], batch["reward"])
"""


def test_the_batch_of_an_old_ppo(tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "ppo.py", {"ppo.py": OLD_PPO})
    assert run.explicit["launch.loop"].value == "trl.PPOTrainer.step"
    assert run.explicit["training.per_device_train_batch_size"].value == 16


def test_a_file_that_is_named_by_what_the_program_computes(tmp_path: Path) -> None:
    program = "import sys\nfrom omegaconf import OmegaConf\nfrom transformers import HfArgumentParser, Trainer, TrainingArguments\n"
    program += 'cfg = OmegaConf.load(f"configs/selective_{sys.argv[1]}.yaml")\n'
    program += "args = HfArgumentParser(TrainingArguments).parse_dict(OmegaConf.to_container(cfg.trainer))[0]\n"
    program += "Trainer(model=model, args=args, train_dataset=rows).train()\n"
    files = {
        "train.py": program,
        "configs/selective_math.yaml": "trainer:\n  output_dir: o\n  learning_rate: 2.0e-5\n  num_train_epochs: 1\n  bf16: true\n  per_device_train_batch_size: 1\n  warmup_ratio: 0.1\n",
    }
    (run,) = shown(tmp_path, "configs/selective_math.yaml", files)
    assert run.files == ("configs/selective_math.yaml", "train.py")


def test_where_a_program_lies_says_which_it_is(tmp_path: Path) -> None:
    script = 'cmd=(\n  "$(which swift)" sft\n  --model Qwen/Qwen3-8B\n  --dataset a.jsonl\n  --learning_rate 2e-5\n)\n"${cmd[@]}"\n'
    (run,) = shown(tmp_path, "run.sh", {"run.sh": script})
    assert run.explicit["model.name_or_path"].value == "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    ("stage", "is_given"),
    [("${STAGE:-}", False), ("${STAGE:-zero3}", True), ("zero3", True)],
    ids=["empty", "usual", "said"],
)
def test_a_list_that_grows_where_a_variable_is_given(stage: str, is_given: bool, tmp_path: Path) -> None:
    script = f'STAGE="{stage}"\ncmd=(\n  swift sft\n  --model Qwen/Qwen3-8B\n  --dataset a.jsonl\n  --torch_dtype bfloat16\n)\n'
    script += 'if [[ -n "$STAGE" ]]; then\n  cmd+=(--deepspeed "$STAGE")\nfi\n"${cmd[@]}"\n'
    (run,) = shown(tmp_path, "run.sh", {"run.sh": script})
    assert run.explicit["model.name_or_path"].value == "Qwen/Qwen3-8B"
    assert not run.explicit["model.name_or_path"].presumed
    assert in_words(effective(run))["precision"].startswith("bfloat16")
    assert ("ZeRO-3" in in_words(effective(run)).get("sharding", "")) == is_given
    (run,) = checked(tmp_path, "run.sh", {"run.sh": script})
    assert run.explicit["model.name_or_path"].presumed == (stage != "zero3")


_ADAMW_8BIT = """import transformers
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from settings import Frozen

parser = transformers.HfArgumentParser((Frozen,))
(given,) = parser.parse_args_into_dataclasses()
model = AutoModelForCausalLM.from_pretrained("a/b")
if given.freeze_decoder:
    print("Freezing the decoder")
    for one in model.decoder.parameters():
        one.requires_grad = False
Trainer(model, TrainingArguments("out", optim={"adamw_8bit": "adamw_bnb_8bit"}.get(name, name)), train_dataset=rows).train()
"""
_FROZEN = """from dataclasses import dataclass, field


@dataclass
class Frozen:
    freeze_decoder: bool = field(
        default=%s, metadata={"help": "whether the decoder is frozen"}
    )
"""


@pytest.mark.parametrize(
    ("text", "default", "method"),
    [
        (_ADAMW_8BIT, "False", "full"),
        (_ADAMW_8BIT, "True", "no adapter; some of the weights may be frozen"),
        (_ADAMW_8BIT.replace("if given", "model.freeze_feature_encoder()\nif given"), "False", "unknown"),
    ],
)
def test_what_is_frozen_by_an_option_that_is_off_is_trained(
    text: str, default: str, method: str, tmp_path: Path
) -> None:
    (run,) = shown(tmp_path, "train.py", {"train.py": text, "settings.py": _FROZEN % default})
    assert in_words(effective(run))["method"].removesuffix(" (presumed)") == method


def test_an_option_of_the_command_comes_before_the_class_that_it_fills(tmp_path: Path) -> None:
    text = """import argparse
from dataclasses import dataclass
from trl import SFTConfig, SFTTrainer


@dataclass
class Given:
    lr: float = 2e-4


def train(given: Given):
    settings = dict(learning_rate=given.lr, output_dir="out")
    kept = {key: value for key, value in settings.items() if key in known}
    SFTTrainer(model="a/b", args=SFTConfig(**kept), train_dataset=rows).train()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=2e-5)
    given = parser.parse_args()
    train(Given(lr=given.lr))
"""
    (run,) = shown(tmp_path, "train.py", {"train.py": text})
    assert in_words(effective(run))["learning rate"] == "2e-05 (presumed)"


_ASKS = """import argparse
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--bf16", action="store_true")
parser.add_argument("--fp16", action="store_true")
args = parser.parse_args()
%s
bf16 = args.bf16
model = AutoModelForCausalLM.from_pretrained("a/b")
Trainer(model, TrainingArguments("out", bf16=bf16, fp16=args.fp16), train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("line", "bf16"),
    [
        ("if not args.bf16 and not args.fp16:\n    args.bf16 = True", True),
        ("if args.fp16:\n    args.bf16 = True", False),
        ("if unknown():\n    args.bf16 = True", None),
        ("model_args.bf16 = True", False),
    ],
)
def test_what_a_program_makes_of_its_options(line: str, bf16: bool | None, tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "train.py", {"train.py": _ASKS % line})
    value = run.explicit["training.bf16"].value
    assert is_unknown(value) if bf16 is None else value is bf16


_LOOP = """import argparse
import torch
from transformers import %(model)s

MODELS = {"small": "a/small", "large": "a/large"}
ACCUMULATION = 64


class Net:
    \"\"\"What this text closes is followed by code.\"\"\"


PROMPT = \"\"\"Say something:
\"\"\"
model = %(model)s.from_pretrained("a/b")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for epoch in range(3):
    for step, batch in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(**batch).loss
        loss.backward()
        if (step + 1) %% ACCUMULATION == 0:
            for one in optimizers:
                optimizer.step()
END = \"\"\"bye\"\"\"
"""


@pytest.mark.parametrize(
    ("model", "objective"),
    [
        ("AutoModelForCausalLM", "causal language modelling (presumed)"),
        ("GPTNeoXForCausalLM", "causal language modelling (presumed)"),
        ("AutoModelForSequenceClassification", "classification (presumed)"),
    ],
)
def test_a_loop_of_one_s_own_says_what_it_trains_for_and_after_how_many_batches_it_steps(
    model: str, objective: str, tmp_path: Path
) -> None:
    (run,) = shown(tmp_path, "train.py", {"train.py": _LOOP % {"model": model}})
    words = in_words(effective(run))
    assert words["objective"] == objective
    assert "64 accumulated" in words["effective batch"]
    assert words["precision"].startswith("bfloat16")  # which stands between two texts of several lines


def test_a_model_stands_in_a_table_of_another_module(tmp_path: Path) -> None:
    files = {
        "train.py": "import argparse\nimport names\nfrom loading import load\nfrom transformers import Trainer, TrainingArguments\n\n"
        "parser = argparse.ArgumentParser()\nparser.add_argument('--model', default='small')\ngiven = parser.parse_args()\n"
        "model = load(names.MODELS[given.model])\nTrainer(model, TrainingArguments('out'), train_dataset=rows).train()\n",
        "names.py": "MODELS = {'small': 'a/small', 'large': 'a/large'}\n",
        "loading.py": "from transformers import AutoModel, AutoModelForCausalLM\n\n\ndef load(name):\n    return AutoModelForCausalLM.from_pretrained(name)\n\n\n"
        "def score():\n    return AutoModel.from_pretrained('a/other')\n",
        "run.sh": "python train.py --model large\n",
    }
    (run,) = shown(tmp_path, "run.sh", files)
    assert run.explicit["model.name_or_path"].value == "a/large"


_EITHER = """from dataclasses import dataclass, field
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, HfArgumentParser, Trainer, TrainingArguments
from peft import LoraConfig, PeftModel, get_peft_model


@dataclass
class Given:
    adapter_model: str = field(default=None)


(given,) = HfArgumentParser(Given).parse_args_into_dataclasses()
model = AutoModelForCausalLM.from_pretrained("a/b")
if given.adapter_model is None:
    model = get_peft_model(model, LoraConfig(r=8))
else:
    model = %s
Trainer(model, TrainingArguments("out"), train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("other", "method"),
    [
        ("PeftModel.from_pretrained(model, given.adapter_model, is_trainable=True)", "lora"),
        ("model.cuda()", "not known"),
    ],
)
def test_an_adapter_in_both_branches(other: str, method: str, tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "train.py", {"train.py": _EITHER % other})
    assert in_words(effective(run))["method"].startswith(method)


_HANDBOOK = """from transformers import AutoModelForCausalLM, HfArgumentParser, TrainingArguments
from trl import SFTTrainer
from settings import Given, get_peft_config

given, arguments = HfArgumentParser((Given, TrainingArguments)).parse_args_into_dataclasses()
SFTTrainer(model="a/b", args=arguments, train_dataset=rows, peft_config=get_peft_config(given)).train()
"""
_OF_HANDBOOK = """from dataclasses import dataclass, field
from peft import LoraConfig


@dataclass
class Given:
    use_peft: bool = field(default=False, metadata={"help": "whether an adapter is trained"})


def get_peft_config(given):
    if given.use_peft is False:
        return None
    return LoraConfig(r=16)
"""


@pytest.mark.parametrize(("flag", "method"), [("", "full"), (" --use_peft", "lora")])
def test_a_function_that_gives_none_where_the_switch_is_off(flag: str, method: str, tmp_path: Path) -> None:
    files = {"train.py": _HANDBOOK, "settings.py": _OF_HANDBOOK, "run.sh": f"python train.py --output_dir out{flag}\n"}
    (run,) = shown(tmp_path, "run.sh", files)
    assert in_words(effective(run))["method"].startswith(method)


@pytest.mark.parametrize(
    ("module", "settings", "method"),
    [
        ("alignment", "", "full"),
        ("alignment", "use_peft: true\n", "lora"),
        ("trl", "", "full"),
        ("own", "", "unknown"),
    ],
)
def test_no_adapter_where_a_library_s_switch_is_not_set(
    module: str, settings: str, method: str, tmp_path: Path
) -> None:
    text = (
        "from transformers import HfArgumentParser\nfrom trl import DPOConfig, DPOTrainer, ModelConfig\n"
        f"from {module} import get_peft_config\n\nmodel, arguments = HfArgumentParser((ModelConfig, DPOConfig)).parse_yaml_file('conf/dpo.yaml')\n"
        "DPOTrainer('a/b', args=arguments, train_dataset=rows, peft_config=get_peft_config(model)).train()\n"
    )
    files = {
        "train.py": text,
        "conf/dpo.yaml": f"output_dir: out\nlearning_rate: 1.0e-6\nbeta: 0.1\nper_device_train_batch_size: 2\nbf16: true\n{settings}",
    }
    (run,) = shown(tmp_path, "conf/dpo.yaml", files)
    assert in_words(effective(run))["method"] == method


def test_a_script_that_hands_everything_on_says_no_trainer(tmp_path: Path) -> None:
    text = "accelerate launch src/$1.py --learning_rate $2 --num_train_epochs $3 --do_train\n"
    (run,) = shown(tmp_path, "run.sh", {"run.sh": text})
    assert in_words(effective(run))["framework"].startswith("not known")
    (run,) = shown(tmp_path, "other.sh", {"other.sh": text.replace("$2", "1e-5")})
    assert in_words(effective(run))["framework"] == "transformers.Trainer (presumed)"


def test_of_several_names_for_the_same_the_one_counts_that_is_read(tmp_path: Path) -> None:
    text = _OWN_LOOP.replace("given.epochs", "given.max_epochs").replace(
        "given = parser", "parser.add_argument('--max_epochs', type=int, default=150)\ngiven = parser"
    )
    (run,) = shown(tmp_path, "train.py", {"train.py": text})
    assert in_words(effective(run))["steps"].startswith("150 epochs")


_OWN_LOOP = """import argparse
import torch
from transformers import AutoModelForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--lr_init", type=float, default=6e-4)
parser.add_argument("--layerwise_lr", type=float, nargs="+", default=1)
parser.add_argument("--num_epochs", type=int, default=1)
given = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained("a/b")
optimizer = torch.optim.AdamW(groups(model, given.layerwise_lr), lr=given.lr_init)
for epoch in range(given.epochs):
    for batch in loader:
        model(**batch).loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("given", "method"),
    [
        (
            "use_peft=True, lora_r=8, load_in_4bit=True",
            "lora",
        ),  # TRL loads the model by its name, and quantises nothing
        ("lora_r=8", "full"),
        ("use_peft=switch", "not known"),
        ("**settings", "unknown"),
    ],
)
def test_settings_that_a_program_makes_for_trl_s_adapters(given: str, method: str, tmp_path: Path) -> None:
    text = (
        "from trl import GRPOConfig, GRPOTrainer, ModelConfig, get_peft_config\n\n"
        f"model = ModelConfig(model_name_or_path='a/b', {given})\n"
        "GRPOTrainer(model=model.model_name_or_path, reward_funcs=[f], args=GRPOConfig('out', bf16=True), train_dataset=rows, "
        "peft_config=get_peft_config(model)).train()\n"
    )
    (run,) = checked(tmp_path, "train.py", {"train.py": text})
    assert in_words(effective(run))["method"].startswith(method)


@pytest.mark.parametrize(
    ("settings", "shows"),
    [
        ("model_path: a/b\nepochs: 6\nbatch_size: 36\nlr: 0.0001\n", True),
        ("model_path: a/b\nepochs: 6\nlr: 0.0001\n", False),
        ("epochs: 6\nbatch_size: 36\nrate: 0.0001\n", False),
    ],
)
def test_who_asks_for_a_file_of_settings_is_told_what_it_says(settings: str, shows: bool, tmp_path: Path) -> None:
    files = {"conf/a.yaml": settings}
    assert bool(shown(tmp_path, "conf/a.yaml", files)) is shows
    assert not checked(tmp_path, "conf/a.yaml", files)


@pytest.mark.parametrize(
    ("uses", "length"), [("", False), ("rows = rows.map(cut)\n", True), ("rows = cut(rows)\n", True)]
)
def test_a_length_of_a_function_that_nobody_names_is_not_the_program_s(uses: str, length: bool, tmp_path: Path) -> None:
    files = {
        "train.py": "from helpers import cut\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n\n"
        f"{uses}Trainer(AutoModelForCausalLM.from_pretrained('a/b'), TrainingArguments('out'), train_dataset=rows).train()\n",
        "helpers.py": "def cut(row, max_length=512):\n    return tokenizer(row['text'], max_length=max_length, truncation=True)\n",
    }
    (run,) = shown(tmp_path, "train.py", files)
    assert ("training.max_length" in run.explicit) is length
