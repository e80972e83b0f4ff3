"""Settings of an object that another file makes, and files of settings by themselves, shown with the program that takes them; never checked so."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.assemble.asked import Options
from stablint.commands.run_summary import in_words
from stablint.engine.inspect import effective, inspect
from stablint.run.world import Run
from tests.runs import Files, written

TRAIN = """import hydra
from omegaconf import DictConfig
from tuning import trainer_of

@hydra.main(config_path="../conf", config_name="config")
def main(cfg: DictConfig):
    trainer_of(cfg, load(cfg)).train()

def load(cfg):
    return AutoModelForCausalLM.from_pretrained(cfg.model.hub_name)

if __name__ == "__main__":
    main()
"""
TUNING = """from trl import SFTConfig, SFTTrainer

def trainer_of(cfg, model):
    given = SFTConfig(
        "out",
        learning_rate=cfg.train.rate,
        per_device_train_batch_size=cfg.train.get("rows", 2),
        gradient_accumulation_steps=cfg.train.get("steps_a_batch", 4),
        max_length=cfg.model.longest,
    )
    return SFTTrainer(model=model, args=given, train_dataset=rows)
"""
HYDRA: Files = {
    "src/train.py": TRAIN,
    "src/tuning.py": TUNING,
    "conf/config.yaml": "defaults:\n  - train: usual\n  - model: small\nseed: 1\n",
    "conf/train/usual.yaml": "rate: 2e-5\nrows: 8\n",
    "conf/train/fast.yaml": "rate: 3e-4\nrows: 16\n",
    "conf/model/small.yaml": "hub_name: a/small\nlongest: 512\nshort: ${model.longest}\n",
    "conf/model/large.yaml": "hub_name: a/large\nlongest: 4096\n",
}


def shown(folder: Path, name: str, files: Files) -> tuple[Run, ...]:
    base = written(folder, files)
    return inspect([str(folder / name)], Options(), base=base, known=(), shown=True).runs


def settled(run: Run) -> tuple[object, ...]:
    said = effective(run)
    names = ("learning_rate", "per_device_train_batch_size", "gradient_accumulation_steps", "max_length")
    return tuple(said.value(f"training.{name}") for name in names)


@pytest.mark.parametrize(
    ("name", "rate", "rows", "longest", "model"),
    [
        ("src/tuning.py", 2e-5, 8, 512, "a/small"),
        ("src/train.py", 2e-5, 8, 512, "a/small"),
        ("conf/train/fast.yaml", 3e-4, 16, 512, "a/small"),
        ("conf/model/large.yaml", 2e-5, 8, 4096, "a/large"),
    ],
)
def test_hydra_s_groups(name: str, rate: float, rows: int, longest: int, model: str, tmp_path: Path) -> None:
    (run,) = shown(tmp_path, name, HYDRA)
    assert settled(run) == (rate, rows, 4, longest)
    assert effective(run).value("model.name_or_path") == model
    assert "trl.SFTTrainer" in in_words(effective(run))["framework"]


@pytest.mark.parametrize(
    "change",
    [
        {"conf/train/usual.yaml": "rate: ???\n"},  # the command must say it
        {"conf/train/usual.yaml": "rate: ${oc.env:RATE}\n"},
        {"src/train.py": TRAIN.replace('"config"', "name")},
    ],
)
def test_what_nothing_says_of_hydra_s_settings(change: Files, tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "src/tuning.py", {**HYDRA, **change})
    assert in_words(effective(run))["learning rate"].startswith("not known")


def test_a_check_knows_nothing_of_hydra_s_groups(tmp_path: Path) -> None:
    base = written(tmp_path, HYDRA)
    for name in ("src/tuning.py", "conf/train/fast.yaml"):
        for run in inspect([str(tmp_path / name)], Options(), base=base).runs:
            assert effective(run).value("training.learning_rate") not in (2e-5, 3e-4)


COLLECTED = """from ml_collections import config_dict

def get_config():
    config = config_dict.ConfigDict()
    config.train = dict(rate=1e-5, rows=16, longest=config_dict.placeholder(int))
    config.train.seed = 3
    return config
"""
COLLECTS = """from ml_collections import config_flags
from transformers import Trainer, TrainingArguments
config_flags.DEFINE_config_file("config")

def main(_):
    config = FLAGS.config
    args = TrainingArguments("out", learning_rate=config.train.rate, per_device_train_batch_size=config.train.rows, seed=config.train["seed"])
    Trainer(model, args, train_dataset=rows).train()
"""


@pytest.mark.parametrize("name", ["train/main.py", "train/config.py"])
def test_the_object_that_a_function_of_ml_collections_makes(name: str, tmp_path: Path) -> None:
    files = {"train/main.py": COLLECTS, "train/config.py": COLLECTED, "train/main_other.py": COLLECTS}
    (run,) = shown(tmp_path, name, files)
    assert settled(run)[:2] == (1e-5, 16)
    assert effective(run).value("training.seed") == 3


LOOP = """import torch
from settings import RATE, EPOCHS

def train(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    for epoch in range(EPOCHS):
        for batch in rows:
            loss = model(**batch).loss
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(("more", "known"), [({}, True), ({"again.py": LOOP}, False)])
def test_a_module_of_settings_with_the_only_program_that_takes_them(more: Files, known: bool, tmp_path: Path) -> None:
    files = {"fit.py": LOOP, "settings.py": "RATE = 5e-4\nEPOCHS = 3\nbatch_size = 8\n", **more}
    runs = shown(tmp_path, "settings.py", files)
    assert [run.files for run in runs] == ([("fit.py", "settings.py")] if known else [])


@pytest.mark.parametrize(
    ("load", "name"),
    [
        ('AutoModelForCausalLM.from_pretrained("a/b")', "a/b"),
        ('AutoModelForCausalLM.from_pretrained(NAME)\nNAME = "a/c"', "a/c"),
        ('AutoModelForCausalLM.from_pretrained("a/b")\nteacher = AutoModelForCausalLM.from_pretrained("a/d")', "a/b"),
        ('AutoModelForCausalLM.from_pretrained("a/b")\nmodel = AutoModelForCausalLM.from_pretrained("a/d")', None),
        ("AutoModelForCausalLM.from_pretrained(found())", None),
    ],
)
def test_the_model_that_a_module_loads(load: str, name: str | None, tmp_path: Path) -> None:
    files = {
        "fit.py": LOOP.replace("settings", "loading").replace("def train(model):", "from loading import model\n\ndef train(model):"),
        "loading.py": f"model = {load}\nRATE, EPOCHS = 1e-4, 1\n",
    }  # fmt: skip
    (run,) = shown(tmp_path, "fit.py", files)
    said = effective(run).value("model.name_or_path")
    assert said == name or (name is None and not isinstance(said, str))


ENGINE = '{"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}\n'
PARSES = """from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
from dataclasses import dataclass

@dataclass
class Other:
    model_name_or_path: str = "a/b"
    deepspeed_plan: str = ""

def main():
    other, args = HfArgumentParser((Other, TrainingArguments)).parse_args_into_dataclasses()
    model = AutoModelForCausalLM.from_pretrained(other.model_name_or_path)
    Trainer(model=model, args=args, train_dataset=rows).train()

if __name__ == "__main__":
    main()
"""
COMMAND = "deepspeed train.py --output_dir out --model_name_or_path a/c --learning_rate 3e-4 --bf16 True --per_device_train_batch_size 4 --deepspeed {}\n"


@pytest.mark.parametrize(
    ("script", "joined"),
    [
        (COMMAND.format("ds/zero3.json"), True),  # another one of its folder
        ("PLAN=${PLAN:-zero0}\n" + COMMAND.format("ds/${PLAN}_plan.json"), False),
        ("PLAN=${PLAN:-0}\n" + COMMAND.format("ds/zero${PLAN}.json"), True),
        (COMMAND.format("elsewhere/other.json"), False),
    ],
)
def test_an_engine_s_file_in_the_place_of_the_one_that_a_script_names(
    script: str, joined: bool, tmp_path: Path
) -> None:
    files = {"train.py": PARSES, "run.sh": script, "ds/zero2.json": ENGINE, "ds/zero3.json": ENGINE.replace("2", "3")}
    (run,) = shown(tmp_path, "ds/zero2.json", files)
    assert ("run.sh" in run.files) == joined
    assert "ds/zero3.json" not in run.files
    assert effective(run).value("deepspeed.zero_optimization.stage") == 2
    if joined:
        assert settled(run)[:2] == (3e-4, 4)


@pytest.mark.parametrize(("more", "joined"), [({}, True), ({"other.py": PARSES}, False)])
def test_an_engine_s_file_with_the_only_program_that_trains(more: Files, joined: bool, tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "ds/zero2.json", {"train.py": PARSES, "ds/zero2.json": ENGINE, **more})
    assert ("train.py" in run.files) == joined
    assert in_words(effective(run))["sharding"] == "ZeRO-2"
    if joined:  # by which options nobody sees
        assert effective(run).value("model.name_or_path") != "a/b"
        assert in_words(effective(run))["framework"].startswith("transformers.Trainer")


TAKES = """from trl import {0}Config, {0}Trainer
from peft_of_ours import adapted

def run(cfg):
    section = cfg["training"]
    args = {0}Config(
        section["output_dir"],
        learning_rate=float(section["learning_rate"]),
        num_train_epochs=section["num_train_epochs"],
        per_device_train_batch_size=int(section.get("per_device_train_batch_size", 1)),
        gradient_accumulation_steps=section["gradient_accumulation_steps"],
        warmup_steps=section["warmup_steps"],
        weight_decay=section["weight_decay"],
    )
    {0}Trainer(model=adapted(cfg["model"]), args=args, train_dataset=rows).train()
"""
TAKEN = """model: {name: a/b}
training:
  output_dir: out
  learning_rate: 7e-6
  num_train_epochs: 4
  per_device_train_batch_size: 6
  gradient_accumulation_steps: 2
  warmup_steps: 10
  weight_decay: 0.1
"""


@pytest.mark.parametrize(
    ("name", "program"), [("grpo_v4.yaml", "rl/grpo.py"), ("dpo_small.yaml", "rl/dpo.py"), ("other.yaml", None)]
)
def test_of_several_programs_the_one_that_is_called_after_the_same_training(
    name: str, program: str | None, tmp_path: Path
) -> None:
    files = {"rl/grpo.py": TAKES.format("GRPO"), "rl/dpo.py": TAKES.format("DPO"), f"configs/{name}": TAKEN}
    (run,) = shown(tmp_path, f"configs/{name}", files)
    assert (program in run.files) if program else run.files == (f"configs/{name}",)
    if program:
        assert settled(run)[:3] == (7e-6, 6, 2)
        assert in_words(effective(run))["method"] == "unknown"  # a module of the program's may make an adapter


OWN = """import argparse
import torch

def fit(config, epochs, model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.get("learning_rate", 5e-5))
    for epoch in range(epochs):
        for batch in rows:
            loss = model(**batch).loss
            loss.backward()
            optimizer.step()

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="configs/train.yaml")
    config = load_yaml(parser.parse_args().config)
    fit(config, config["epochs"], make())
"""


def test_a_loop_of_torch_with_a_file_of_the_folder_of_its_default(tmp_path: Path) -> None:
    files = {
        "fit.py": OWN,
        "configs/train_v2.yaml": "learning_rate: 0.001\nepochs: 20\nbatch_size: 4\nweight_decay: 0.1\nwarmup_ratio: 0.1\ngradient_accumulation_steps: 2\n",
        "configs/train.yaml": "learning_rate: 0.1\nepochs: 1\n",
    }
    (run,) = shown(tmp_path, "configs/train_v2.yaml", files)
    words = in_words(effective(run))
    assert words["framework"].startswith("a loop of its own (torch)")
    assert (words["learning rate"].split()[0], words["steps"].split()[0]) == ("0.001", "20")


SETTINGS = """from dataclasses import dataclass

@dataclass
class Settings:
    learning_rate: float = 6e-5
    num_train_epochs: int = 3
    per_device_train_batch_size: int = 4
    gradient_accumulation_steps: int = 2
"""
USES = """from settings import Settings
from transformers import Trainer, TrainingArguments

def run(config: Settings, model):
    args = TrainingArguments("out", learning_rate=config.learning_rate, num_train_epochs=config.num_train_epochs)
    Trainer(model=model, args=args, train_dataset=rows).train()
"""


@pytest.mark.parametrize(("more", "joined"), [({}, True), ({"other.py": USES}, False)])
def test_a_dataclass_of_settings_with_the_program_that_takes_it(more: Files, joined: bool, tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "settings.py", {"settings.py": SETTINGS, "fit.py": USES, **more})
    assert in_words(effective(run))["learning rate"].startswith("6e-05")
    assert ("transformers.Trainer" in in_words(effective(run))["framework"]) == joined


def test_a_guide_s_command_whose_program_leaves_the_trainer_to_a_module_of_its_module(tmp_path: Path) -> None:
    files = {
        "README.md": "```bash\npython sft.py --config configs/base.yaml\n```\n",
        "sft.py": "from ours.cli import main\n\nif __name__ == '__main__':\n    main()\n",
        "ours/cli.py": "from ours.making import build_trainer\n\ndef main():\n    build_trainer(options()).train()\n",
        "ours/making.py": "from trl import SFTConfig, SFTTrainer\n\ndef build_trainer(args):\n    return SFTTrainer(model=args.model, args=SFTConfig('out'))\n",
        "configs/base.yaml": "learning_rate: 2e-5\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 16\nnum_train_epochs: 3\n",
    }
    (run,) = shown(tmp_path, "configs/base.yaml", files)
    assert "trl.SFTTrainer" in in_words(effective(run))["framework"]


@pytest.mark.parametrize(
    ("said", "method"),
    [("attach_lora: true\nuse_lora_adapters: false", "not known"), ("train_lora: true", "lora"), ("train_lora: false", "full")],
)  # fmt: skip
def test_a_switch_of_the_file_that_a_branch_asks_for(said: str, method: str, tmp_path: Path) -> None:
    text = OWN.replace("def fit", "from peft import LoraConfig, get_peft_model\n\ndef fit").replace(
        "    for epoch", '    if config["train_lora"]:\n        model = get_peft_model(model, LoraConfig(r=8))\n    for epoch', 1
    )  # fmt: skip
    rows = "learning_rate: 0.001\nepochs: 20\nbatch_size: 4\nweight_decay: 0.1\nwarmup_ratio: 0.1\ngradient_accumulation_steps: 2\n"
    (run,) = shown(tmp_path, "configs/train.yaml", {"fit.py": text, "configs/train.yaml": f"{rows}{said}\n"})
    assert in_words(effective(run))["method"].startswith(method)


def test_an_option_that_something_else_has_been_made_of(tmp_path: Path) -> None:
    text = """import argparse
from transformers import Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--peak", type=float)
args = parser.parse_args()
if args.peak > 1:
    args.peak = 1
Trainer(model, TrainingArguments("out", learning_rate=args.peak), train_dataset=rows).train()
"""
    run_it = "python fit.py --peak 3e-4 --per_device_train_batch_size 1 --num_train_epochs 2\n"
    (run,) = shown(tmp_path, "run.sh", {"fit.py": text, "run.sh": run_it})
    assert in_words(effective(run))["learning rate"].startswith("0.0003")
