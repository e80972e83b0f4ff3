"""Unsloth exchanges TRL's classes when it is imported: where a test decides that, neither its defaults nor the library's hold for certain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablint.run.fact import is_unknown
from tests.runs import inspected, world

REST = """
from trl import SFTConfig, SFTTrainer
args = SFTConfig(output_dir="out", learning_rate=1e-5, max_seq_length=512)
SFTTrainer(model=model, args=args, train_dataset=rows).train()
"""
PINS = "trl==0.24.0\ntransformers==4.57.6\n"
IMPORT = "from unsloth import FastLanguageModel"
BRANCHES = {
    "a-switch": f"if fast:\n    {IMPORT}\n",
    "a-card": f"import torch\nif torch.cuda.is_available():\n    import unsloth\n    {IMPORT}\n",
    "another-case": f"if plain:\n    FastLanguageModel = None\nelse:\n    {IMPORT}\n",
    "within-a-try": f"if fast:\n    try:\n        {IMPORT}\n    except ImportError:\n        pass\n",
    "in-a-function": f"def load():\n    if fast:\n        {IMPORT}\n        return FastLanguageModel\n    return None\n",
}
ALWAYS = {
    "at-once": f"{IMPORT}\n",
    "tried": f"try:\n    {IMPORT}\nexcept ImportError:\n    raise SystemExit('install it')\n",
    "in-a-function": f"def load():\n    {IMPORT}\n    return FastLanguageModel\n",
    "behind-a-branch": f"if fast:\n    print('fast')\n{IMPORT}\n",
    "in-a-branch-as-well": f"import unsloth\nif fast:\n    {IMPORT}\n",
}


def accumulation(tmp_path: Path, text: str) -> Any:
    return world(tmp_path, {"train.py": text + REST}).value("training.gradient_accumulation_steps")


@pytest.mark.parametrize("name", BRANCHES)
def test_what_a_test_decides_is_not_known(name: str, tmp_path: Path) -> None:
    assert is_unknown(accumulation(tmp_path, BRANCHES[name]))


@pytest.mark.parametrize("name", ALWAYS)
def test_elsewhere_the_defaults_are_unsloths(name: str, tmp_path: Path) -> None:
    assert accumulation(tmp_path, ALWAYS[name]) == 2


@pytest.mark.parametrize(
    "text", [*BRANCHES.values(), *ALWAYS.values()], ids=[*BRANCHES, *(f"always-{one}" for one in ALWAYS)]
)
def test_what_its_classes_may_take_is_no_error(text: str, tmp_path: Path) -> None:
    found = inspected(tmp_path, {"train.py": text + REST, "requirements.txt": PINS}).findings
    assert not [one for one in found if one.severity == "error"]


# Unsloth's classes drop what they do not know (unsloth 2026.10.9 models/rl_config_compat.py); transformers' own arguments are left as they are.
CALLS = {
    "of-trl": ("from trl import SFTConfig as Arguments", "no_such_thing=1", "info"),
    "of-transformers": ("from transformers import TrainingArguments as Arguments", "max_length=512", "error"),
    "of-neither-s": ("from transformers import TrainingArguments as Arguments", "seed=1", ""),
}


@pytest.mark.parametrize("name", CALLS)
def test_transformers_own_arguments_stay_as_they_are(name: str, tmp_path: Path) -> None:
    importing, argument, severity = CALLS[name]
    text = (
        f"{IMPORT}\n{importing}\nfrom trl import SFTTrainer\nmodel, tokenizer = FastLanguageModel.from_pretrained('unsloth/Qwen3-4B')\n"
        f"SFTTrainer(model=model, train_dataset=rows, args=Arguments(output_dir='out', {argument})).train()\n"
    )
    found = inspected(tmp_path, {"train.py": text, "requirements.txt": PINS}).findings
    assert {one.severity for one in found if one.hazard.code == "V106"} == ({severity} if severity else set())
