# ruff: noqa: E501
"""What `show` says of a configuration that no command names: the program that loads it is joined where it can be only one."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.assemble.asked import Options
from stablint.commands.run_summary import in_words
from stablint.engine.inspect import effective, inspect
from stablint.run.world import Run
from tests.runs import Files, written

TRAINS = """import argparse
import yaml
from trl import DPOConfig, DPOTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--settings", default="configs/a.yaml")
given = parser.parse_args()
with open(given.settings) as file:
    config = yaml.safe_load(file)
trainer = DPOTrainer(model="Qwen/Qwen2.5-0.5B", args=DPOConfig(**config), train_dataset=rows)
trainer.train()
"""
FETCHES = """import argparse
import yaml
from datasets import load_dataset

parser = argparse.ArgumentParser()
parser.add_argument("--settings", default="configs/a.yaml")
config = yaml.safe_load(open(parser.parse_args().settings))
load_dataset(config["dataset"]).to_json("rows.jsonl")
"""
COMPOSES = """import hydra
from transformers import Trainer, TrainingArguments


@hydra.main(config_path="../configs", config_name="train/default")
def main(config):
    Trainer(model, TrainingArguments(**config.arguments), train_dataset=rows).train()
"""
SETTINGS = "output_dir: out\nlearning_rate: 1.0e-6\nper_device_train_batch_size: 2\nbf16: true\n"
SECTION = "model: {name: a/b}\nlora: {r: 8, alpha: 16}\ntraining: {epochs: 1, learning_rate: 0.00005, per_device_train_batch_size: 1, gradient_accumulation_steps: 4}\n"
OTHER = SETTINGS.replace("1.0e-6", "2.0e-4")


def shown(folder: Path, name: str, files: Files) -> tuple[Run, ...]:
    base = written(folder, files)
    return inspect([str(folder / name)], Options(), base=base, known=()).runs


# What lies around configs/a.yaml, the program that is joined, and whether it is sure that it loads this file.
PROGRAMS: dict[str, tuple[Files, str | None, bool]] = {
    "by-its-default": ({"src/train.py": TRAINS}, "src/train.py", True),
    "by-its-name": ({"train.py": TRAINS.replace("open(given.settings)", "open('configs/a.yaml')")}, "train.py", True),
    "what-fetches-the-rows-is-another": ({"train.py": TRAINS, "fetch.py": FETCHES}, "train.py", True),
    "nothing-trains": ({"fetch.py": FETCHES}, None, True),
    "another-of-its-folder": ({"train.py": TRAINS.replace("a.yaml", "gone.yaml")}, "train.py", False),
    "another-of-another-folder": ({"train.py": TRAINS.replace("configs/a", "more/b"), "more/b.yaml": OTHER}, None, True),
    "two-name-it": ({"train.py": TRAINS, "tune.py": TRAINS}, None, True),
    "two-name-its-folder": ({n: TRAINS.replace("a.yaml", "b.yaml") for n in ("a.py", "b.py")}, None, True),
    "one-names-it-and-one-its-folder": ({"train.py": TRAINS, "tune.py": TRAINS.replace("a.yaml", "b.yaml")}, "train.py", True),
    "by-a-program-of-a-test": ({"tests/train.py": TRAINS}, None, True),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_only_program_that_loads_it_is_joined(name: str, tmp_path: Path) -> None:
    files, program, sure = PROGRAMS[name]
    (run,) = shown(tmp_path, "configs/a.yaml", {"configs/a.yaml": SETTINGS, **files})
    assert run.files == ("configs/a.yaml", *([program] if program else []))
    trainer = in_words(effective(run))["framework"]
    assert ("trl.DPOTrainer" in trainer) == (program is not None)
    assert program is None or ("(presumed)" in trainer) != sure
    assert run.explicit["training.learning_rate"].value == 1e-6


@pytest.mark.parametrize(("path", "joined"), [("configs/train/a.yaml", True), ("configs/evaluate/a.yaml", False)])
def test_hydra_takes_files_out_of_the_folder_of_its_configuration(path: str, joined: bool, tmp_path: Path) -> None:
    text = "seed: 1\narguments:\n" + "".join(f"  {line}\n" for line in SETTINGS.splitlines())
    (run,) = shown(tmp_path, path, {path: text, "src/train.py": COMPOSES})
    assert run.files == (path, *(["src/train.py"] if joined else []))


def test_a_command_that_names_it_says_which_program(tmp_path: Path) -> None:
    files = {"configs/a.yaml": SETTINGS, "train.py": TRAINS, "other.py": TRAINS, "run.sh": "python other.py --config configs/a.yaml\n"}  # fmt: skip
    (run,) = shown(tmp_path, "configs/a.yaml", files)
    assert run.files == ("run.sh", "configs/a.yaml", "other.py")


def test_runs_of_other_files_are_not_shown(tmp_path: Path) -> None:
    """A script that fetches rows for several trainings by their configurations, and one that starts this training."""
    files = {
        "configs/a.yaml": SECTION,
        "configs/b.yaml": SECTION.replace("0.00005", "0.0002"),
        "fetch.py": FETCHES,
        "train.py": TRAINS.replace("DPOConfig(**config)", "DPOConfig(output_dir='o', learning_rate=float(config['training']['learning_rate']))"),
        "fetch.sh": "python fetch.py --config configs/b.yaml\npython fetch.py --config configs/a.yaml\n",
        "train.sh": "python train.py --config configs/a.yaml\n",
    }  # fmt: skip
    (run,) = shown(tmp_path, "configs/a.yaml", files)
    assert run.files == ("train.sh", "configs/a.yaml", "train.py")
    assert run.explicit["training.learning_rate"].value == 5e-5


def test_a_file_of_deepspeed_s_is_shown_with_the_program_of_the_configuration_that_names_it(tmp_path: Path) -> None:
    named = SETTINGS + "deepspeed: configs/zero.json\n"
    zero = '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}\n'
    (run,) = shown(
        tmp_path, "configs/zero.json", {"configs/zero.json": zero, "configs/a.yaml": named, "train.py": TRAINS}
    )
    assert set(run.files) == {"configs/a.yaml", "configs/zero.json", "train.py"}
    assert in_words(effective(run))["framework"].endswith("trl.DPOTrainer")


OWN_LOOP = """import yaml
import torch
from transformers import AutoModelForCausalLM

config = yaml.safe_load(open(path))
model = AutoModelForCausalLM.from_pretrained("a/b")
optimizer = torch.optim.AdamW(model.parameters(), lr=config["learning_rate"])
for batch in rows:
    model(**batch).loss.backward()
    optimizer.step()
"""
DECLARES = """from dataclasses import dataclass


@dataclass
class Settings:
    method: str = "sft"
    num_epochs: int = 1
    batch_size: int = 1
"""
PREFERS = 'method: "dpo"\nbeta: 0.1\nlearning_rate: 5.0e-6\nbatch_size: 8\ngradient_accumulation_steps: 4\nnum_epochs: 3\nwarmup_ratio: 0.1\nmax_grad_norm: 1.0\n'


@pytest.mark.parametrize(
    ("files", "is_trl_s"),
    [
        ({"train.py": OWN_LOOP}, False),
        ({"train.py": OWN_LOOP, "settings.py": DECLARES}, False),
        ({"train.py": OWN_LOOP, "tune.py": "import trl\n"}, True),
        ({"train.py": OWN_LOOP, "requirements.txt": "torch\ntrl>=0.9\n"}, True),
        ({"train.py": OWN_LOOP, "README.md": "Start it with `trl dpo`.\n"}, True),
        ({"train.py": OWN_LOOP.replace("yaml.safe_load(open(path))", "{}")}, True),
        ({}, True),
    ],
)
def test_a_file_is_no_library_s_of_which_its_repository_knows_nothing(
    files: Files, is_trl_s: bool, tmp_path: Path
) -> None:
    (run,) = shown(tmp_path, "configs/dpo.yaml", {"configs/dpo.yaml": PREFERS, **files})
    assert ("trl" in in_words(effective(run))["framework"]) == is_trl_s


PARSES = """from trl import ModelConfig, SFTConfig, SFTTrainer, TrlParser

settings, model = TrlParser((SFTConfig, ModelConfig)).parse_args_and_config()
SFTTrainer(model=model.model_name_or_path, args=settings, train_dataset=rows).train()
"""
RECIPE = (
    "model_name_or_path: a/b\noutput_dir: out\nlearning_rate: 1.0e-4\nuse_peft: true\nlora_r: 16\nmax_length: 4096\n"
)


@pytest.mark.parametrize(
    ("files", "program"),
    [({"a.py": PARSES}, "a.py"), ({"a.py": PARSES, "b.py": PARSES}, None), ({"a.py": OWN_LOOP}, None)],
)
def test_trl_s_recipe_goes_to_the_only_parser_of_trl_s(files: Files, program: str | None, tmp_path: Path) -> None:
    (run,) = shown(tmp_path, "configs/sft.yaml", {"configs/sft.yaml": RECIPE, "requirements.txt": "trl\n", **files})
    assert run.files == ("configs/sft.yaml", *([program] if program else []))
    assert program is None or in_words(effective(run))["framework"] == "trl.SFTTrainer (presumed)"


@pytest.mark.parametrize(
    ("said", "precision"), [("true", "bfloat16"), ("'false'", "not known"), ("1", "bfloat16"), ("null", "not known")]
)
def test_a_switch_that_the_program_makes_sure_of_is_what_the_file_says(
    said: str, precision: str, tmp_path: Path
) -> None:
    arguments = "DPOConfig(output_dir='o', fp16=False, bf16=bool(config['training'].get('bf16', True)))"
    files = {
        "configs/a.yaml": SECTION.replace("epochs", f"bf16: {said}, epochs"),
        "train.py": TRAINS.replace("DPOConfig(**config)", arguments),
    }
    (run,) = shown(tmp_path, "configs/a.yaml", files)
    assert in_words(effective(run))["precision"].startswith(precision)


_HYDRAS = """import hydra
import torch
from transformers import AutoModelForCausalLM


@hydra.main(config_path="conf", config_name="{name}")
def main(cfg):
    model = AutoModelForCausalLM.from_pretrained("a/b")
    if cfg.freeze:
        for one in model.parameters():
            one.requires_grad = False
    optimizer = torch.optim.{optimizer}(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        for batch in loader:
            model(**batch).loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
"""
_OF_HYDRA = "lr: 0.00002\nepochs: 3\nbatch_size: 8\nmax_length: 512\nfreeze: {freeze}\n"


@pytest.mark.parametrize(
    ("name", "freeze", "program", "method"),
    [
        ("first", "false", "one.py", "full (presumed)"),
        ("second", "true", "two.py", "no adapter; some of the weights may be frozen"),
    ],
)
def test_the_file_that_hydra_s_decorator_names_is_of_its_program(
    name: str, freeze: str, program: str, method: str, tmp_path: Path
) -> None:
    files = {f"conf/{one}.yaml": _OF_HYDRA.format(freeze=freeze) for one in ("first", "second")}
    files["one.py"] = _HYDRAS.format(name="first", optimizer="AdamW")
    files["two.py"] = _HYDRAS.format(name="second", optimizer="SGD")
    base = written(tmp_path, files)
    (run,) = inspect([str(tmp_path / f"conf/{name}.yaml")], Options(), base=base, known=(), shown=True).runs
    assert run.files == (f"conf/{name}.yaml", program)
    words = in_words(effective(run))
    assert words["framework"].endswith("a loop of its own (torch)")
    assert words["method"] == method


_OPTIONS = """import argparse
import torch
from transformers import AutoModelForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-4)
parser.add_argument("--epochs", type=int, default=1)
given = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained("a/b")
optimizer = torch.optim.AdamW(model.parameters(), lr=given.lr)
for epoch in range(given.epochs):
    for batch in loader:
        model(**batch).loss.backward()
        optimizer.step()
"""
_STARTED = "python train.py --lr 3e-5 --epochs 2\n"


def test_a_guide_says_what_a_program_must_be_told(tmp_path: Path) -> None:
    text = _OPTIONS.replace("type=float, default=1e-4", "type=float, required=True")
    base = written(tmp_path, {"train.py": text, "README.md": f"```bash\n{_STARTED}```\n"})
    (run,) = inspect([str(tmp_path / "train.py")], Options(), base=base, known=(), shown=True).runs
    assert in_words(effective(run))["learning rate"].startswith("3e-05")


@pytest.mark.parametrize(
    ("more", "steps"),
    [
        ({"run.sh": _STARTED}, "2 epochs"),
        ({"README.md": f"```bash\n{_STARTED}```\n"}, "1 epochs"),
        ({"run.sh": _STARTED, "README.md": "```bash\npython train.py --epochs 9\n```\n"}, "2 epochs"),
        ({"run.sh": _STARTED, "again.sh": _STARTED.replace("2", "5")}, "1 epochs"),
        ({"run.sh": "python train.py --epochs 2\npython train.py --epochs 3\n"}, "1 epochs"),
        ({"run.sh": "python other.py --epochs 2\n"}, "1 epochs"),
        ({}, "1 epochs"),
    ],
)
def test_a_program_is_shown_as_its_only_command_starts_it(more: Files, steps: str, tmp_path: Path) -> None:
    base = written(tmp_path, {"train.py": _OPTIONS, **more})
    (run,) = inspect([str(tmp_path / "train.py")], Options(), base=base, known=(), shown=True).runs
    assert in_words(effective(run))["steps"].startswith(steps)


@pytest.mark.parametrize(
    ("text", "program"),
    [
        (
            'from pathlib import Path\nimport yaml\nfrom trl import DPOConfig, DPOTrainer\n\npath = Path("conf") / "args" / f"{name}.yaml"\n'
            "with open(path) as file:\n    config = yaml.safe_load(file)\nDPOTrainer(model='a/b', args=DPOConfig(**config), train_dataset=rows).train()\n",
            "train.py",
        ),
        (
            "import os\nfrom transformers import HfArgumentParser\nfrom trl import DPOConfig, DPOTrainer\n\n"
            '(config,) = HfArgumentParser(DPOConfig).parse_yaml_file(yaml_file=os.path.abspath("conf/args/a.yaml"))\n'
            "DPOTrainer(model='a/b', args=config, train_dataset=rows).train()\n",
            "train.py",
        ),
    ],
)
def test_a_file_by_a_path_that_is_put_together_or_parsed_there(text: str, program: str, tmp_path: Path) -> None:
    base = written(tmp_path, {"train.py": text, "conf/args/a.yaml": SETTINGS, "conf/args/b.yaml": OTHER})
    (run,) = inspect([str(tmp_path / "conf/args/a.yaml")], Options(), base=base, known=(), shown=True).runs
    assert program in run.files
    assert "trl.DPOTrainer" in in_words(effective(run))["framework"]
