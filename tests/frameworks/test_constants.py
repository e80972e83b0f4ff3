"""Scripts whose settings are constants or dicts of the module, with no call that could be read."""

from __future__ import annotations

import pytest

from stablint.frameworks import registry
from stablint.run.fact import PRESUMED
from stablint.syntax.python.reader import document
from stablint.syntax.tree import Text


def facts(content: str) -> dict[str, object]:
    """What the script is taken to say, by fact."""
    fragments = registry.lower(document(Text("train.py", "train.py", content)))
    return {statement.fact: statement.value for fragment in fragments for statement in fragment.statements}


CONSTANTS = "learning_rate = 3e-4\nmicro_batch_size = 4\nlora_r = 8\n"
DICTS = """\
train_args = {"learning_rate": 2e-5, "num_train_epochs": 3, "per_device_train_batch_size": 4, "fp16": True}
lora_args = {"r": 8, "lora_alpha": 16}
"""


def test_constants_of_a_script_are_its_settings():
    found = facts(CONSTANTS)
    assert found["training.learning_rate"] == 3e-4
    assert found["training.per_device_train_batch_size"] == 4
    assert found["lora.r"] == 8


def test_what_the_code_does_with_them_is_not_seen():
    (fragment,) = registry.lower(document(Text("train.py", "train.py", CONSTANTS)))
    assert fragment.scopes["training"] == PRESUMED


def test_a_dict_of_settings_and_the_adapter_beside_it():
    found = facts(DICTS)
    assert found["training.learning_rate"] == 2e-5
    assert found["training.fp16"] is True
    assert (found["lora.r"], found["lora.lora_alpha"]) == (8, 16)


NOTHING = {
    "two dicts: which one holds is not known": DICTS + 'other_args = {"lr": 1e-3, "epochs": 1, "batch_size": 2, "optimizer": "adamw"}\n',
    "a rate alone": "learning_rate = 3e-4\n",
    "labels": 'LOCALES = {"learning_rate": {"en": "Rate"}, "num_train_epochs": {"en": "Epochs"}, "batch_size": {"en": "Batch"}, "fp16": {"en": "Half"}}\n',
    "no numbers of a training": 'settings = {"learning_rate": 0.1, "n_estimators": 100, "max_depth": 3}\n',
}  # fmt: skip


@pytest.mark.parametrize("content", NOTHING.values(), ids=NOTHING)
def test_other_modules_say_nothing(content: str):
    assert facts(content) == {}
