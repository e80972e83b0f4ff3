"""Values that a module of the program's own has for it: what is known of them where the program uses them, and what is not."""

from __future__ import annotations

import pytest

from stablint.run.fact import is_unknown
from tests.runs import inspected, world

MAIN = """from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
{imports}
model = AutoModelForCausalLM.from_pretrained("a/b")
Trainer(model=model, args=TrainingArguments("o", learning_rate={rate}), train_dataset=rows).train()
"""
CONFIG = """from dataclasses import dataclass, field
import os
LR = 2e-4
lr = 2e-4
TWICE = 1
TWICE = 2
FROM_OUTSIDE = os.environ["LR"]
@dataclass
class Inner:
    lr: float = 2e-4
@dataclass
class Settings:
    lr: float = 2e-4
    given: float
    made: float = field(default=2e-4)
    inner: Inner = field(default_factory=Inner)
class Plain:
    LR = 2e-4
    def __init__(self):
        self.lr = 2e-4
        self.changed = 2e-4
    def change(self):
        self.changed = 1e-4
class Asks:
    lr = 2e-4
    def __init__(self, lr):
        self.lr = lr
settings = Settings()
"""
# What the program imports, what it takes for the rate, and whether that is known.
CASES = {
    "a constant": ("from config import LR", "LR", True),
    "in small letters": ("from config import lr", "lr", True),
    "under another name": ("from config import LR as rate", "rate", True),
    "of a module": ("import config", "config.LR", True),
    "of a module under another name": ("import config as c", "c.LR", True),
    "every name": ("from config import *", "LR", True),
    "every name of two modules": ("from config import *\nfrom other import *", "LR", False),
    "every name of a library as well": ("from torch import *\nfrom config import *", "LR", True),
    "of the package": ("from .config import LR", "LR", True),
    "assigned twice": ("from config import TWICE", "TWICE", False),
    "of the environment": ("from config import FROM_OUTSIDE", "FROM_OUTSIDE", False),
    "that is not there": ("from config import OTHER", "OTHER", False),
    "of a module that is not there": ("from elsewhere import LR", "LR", False),
    "a field": ("from config import Settings\ns = Settings()", "s.lr", True),
    "a field with more said of it": ("from config import Settings\ns = Settings()", "s.made", True),
    "a field of a field": ("from config import Settings\ns = Settings()", "s.inner.lr", True),
    "a field without a default": ("from config import Settings\ns = Settings()", "s.given", False),
    "a field that is set": ("from config import Settings\ns = Settings()\ns.lr = args.lr", "s.lr", False),
    "a field that may be set": ("from config import Settings\ns = Settings()\nupdate(s)", "s.lr", False),
    "an object that is told something": ("from config import Settings\ns = Settings(**given)", "s.lr", False),
    "an object of the module": ("from config import settings", "settings.lr", True),
    "an attribute of a class": ("from config import Plain", "Plain.LR", True),
    "what a constructor sets": ("from config import Plain\np = Plain()", "p.lr", True),
    "what another method sets as well": ("from config import Plain\np = Plain()", "p.changed", False),
    "what a constructor is told": ("from config import Asks\na = Asks()", "a.lr", False),
    "what the program sets of the module": ("import config\nconfig.LR = 3", "config.LR", False),
}


@pytest.mark.parametrize("name", CASES)
def test_what_another_module_says(name, tmp_path):
    imports, rate, known = CASES[name]
    files = {"train.py": MAIN.format(imports=imports, rate=rate), "config.py": CONFIG}
    said = world(tmp_path, files).value("training.learning_rate")
    assert (said == 2e-4) is known
    assert is_unknown(said) is not known


def test_a_file_that_another_module_names_belongs_to_the_run(tmp_path):
    main = MAIN.format(imports="from config import LR, ZERO", rate="LR, deepspeed=ZERO")
    files = {
        "train.py": main,
        "config.py": 'LR = 2e-4\nZERO = "ds.json"\n',
        "ds.json": '{"zero_optimization": {"stage": 2}}',
    }
    assert world(tmp_path, files).value("deepspeed.zero_optimization.stage") == 2


def test_a_module_beside_the_program_that_a_command_starts(tmp_path):
    main = MAIN.format(imports="from config import LR", rate="LR")
    files = {"run.sh": "cd src\npython train.py\n", "src/train.py": main, "src/config.py": "LR = 2e-4\n"}
    assert world(tmp_path, files).value("training.learning_rate") == 2e-4


OWN = """from dataclasses import dataclass
from trl import SFTConfig, SFTTrainer
@dataclass
class Settings(SFTConfig):
    output_dir: str = "o"
    learning_rate: float = 1e-4
    {field} = 4
SFTTrainer(model="a/b", args=Settings(), train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("field", "batch"), [("per_device_train_batch_size: int", 4), ("per_device_train_batch_size", 8)]
)
def test_what_is_not_annotated_is_no_field_of_a_dataclass(field, batch, tmp_path):
    found = world(tmp_path, {"train.py": OWN.format(field=field)})
    assert found.value("training.learning_rate") == 1e-4
    assert found.value("training.per_device_train_batch_size") == batch


TAKES = """import argparse
import yaml
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
parser = argparse.ArgumentParser()
parser.add_argument("--config")
args = parser.parse_args()
config = yaml.safe_load(open(args.config))
training = config["training"]
model = AutoModelForCausalLM.from_pretrained("a/b")
Trainer(model=model, args=TrainingArguments("o", learning_rate={rate}), train_dataset=rows).train()
"""
FILE = "model:\n  name: a/b\ntraining:\n  learning_rate: 2.0e-4\n  num_train_epochs: 3\n  per_device_train_batch_size: 4\n  gradient_accumulation_steps: 2\n"
# What the program takes for the rate, and whether that is what the file says.
KEYS = {
    "by a key": ('training["learning_rate"]', True),
    "of a section": ('config["training"]["learning_rate"]', True),
    "or a default": ('training.get("learning_rate", 1e-5)', True),
    "an attribute": ("settings.training.learning_rate", False),
    "another key": ('training["rate"]', False),
    "worked out": ('2 * training["learning_rate"]', False),
}


def test_an_argument_that_is_gone_is_told_where_the_program_names_it(tmp_path):
    program = TAKES.format(rate='training["learning_rate"], evaluation_strategy=training["evaluation_strategy"]')
    files = {
        "train.py": program,
        "c.yaml": FILE + "  evaluation_strategy: steps\n",
        "run.sh": "python train.py --config c.yaml\n",
    }
    found = inspected(tmp_path, files).report.diagnostics
    assert "train.py" in {one.text.name for one in found if one.rule == "setting-renamed"}


def test_a_number_that_is_text_in_yaml_may_be_made_one_by_the_program(tmp_path):
    files = {"train.py": TAKES.format(rate='training["learning_rate"]'), "c.yaml": FILE.replace("2.0e-4", "2e-4")}
    found = inspected(tmp_path, files | {"run.sh": "python train.py --config c.yaml\n"})
    assert not any(one.text.name == "train.py" for one in found.report.diagnostics if one.rule == "number-as-text")


@pytest.mark.parametrize("name", KEYS)
def test_what_a_program_takes_by_a_key_is_what_its_file_says(name, tmp_path):
    rate, told = KEYS[name]
    files = {"run.sh": "python train.py --config c.yaml\n", "train.py": TAKES.format(rate=rate), "c.yaml": FILE}
    assert (world(tmp_path, files).value("training.learning_rate") == 2e-4) is told
