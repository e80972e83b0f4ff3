"""Whose class a name stands for, and which of several models a run trains: what is true of one is no error of another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import inspected

TRL = "transformers==4.41.2\ntrl==0.8.6\npeft==0.10.0\n"
CPO = "trainer = Trainer(model=m, args=Args(output_dir='o', max_length=9, max_target_length=9, max_prompt_length=9), train_dataset=rows)\ntrainer.train()\n"
QUANTISED = "from trl import PPOConfig, PPOTrainer, AutoModelForCausalLMWithValueHead as Policy\n"
OLD_PPO = "trainer = PPOTrainer(PPOConfig(model_name='a/b', log_with='wandb'), policy, None, tokenizer, dataset=rows)\ntrainer.step(q, r, s)\n"


def told(tmp_path: Path, source: str, pins: str = TRL) -> set[str]:
    found = inspected(tmp_path, {"train.py": source, "requirements.txt": pins})
    return {one.hazard.code for one in found.findings if one.severity in ("error", "warning")}


STARRED = "from transformers import Trainer\nfrom arguments import *\nargs = TrainingArguments(output_dir='o', overwrite_output_dir=True)\n"
STARRED += "trainer = Trainer(model=m, args=args, train_dataset=rows)\ntrainer.train()\n"
NEW = "transformers==5.23.0\n"


@pytest.mark.parametrize("head", ["", "from dataclasses import dataclass\nfrom math import *\n"])
def test_a_class_that_a_star_may_bring_is_no_library_s_for_certain(tmp_path: Path, head: str) -> None:
    found = inspected(tmp_path, {"train.py": head + STARRED, "requirements.txt": NEW})
    assert not [one for one in found.findings if one.severity == "error"]


NO_ERROR = {
    "an-adapter-on-another-model": "from transformers import AutoModelForCausalLM\nfrom peft import LoraConfig, get_peft_model\nimport helpers\n"
    "model = AutoModelForCausalLM.from_pretrained('openai-community/gpt2')\nother = helpers.load()\n"
    "other = get_peft_model(other, LoraConfig(target_modules=['q_proj', 'v_proj']))\n",
    "a-class-in-the-place-of-trl-s": "import trl\nfrom ours import Better\ntrl.SFTConfig = Better\nfrom trl import SFTConfig\n"
    "args = SFTConfig(output_dir='o', max_seq_lenght=3)\n",
}


@pytest.mark.parametrize("name", NO_ERROR)
def test_what_is_true_of_another_part_is_no_error(name: str, tmp_path: Path) -> None:
    found = inspected(tmp_path, {"train.py": NO_ERROR[name], "requirements.txt": "peft==0.21.2\ntrl==1.16.0\n" + NEW})
    assert not [one for one in found.findings if one.severity == "error"]


def test_a_star_of_a_library_brings_its_own_classes(tmp_path: Path) -> None:
    source = STARRED.replace("from arguments import *", "from math import *\nfrom transformers import *")
    found = inspected(tmp_path, {"train.py": source, "requirements.txt": NEW})
    assert "V104" in {one.hazard.code for one in found.findings if one.severity == "error"}


# A program, the hazard that must not be told of it.
SILENT = {
    "branches-import-one-name": (
        "if kind == 'dpo':\n    from trl import DPOTrainer as Trainer\n    from trl import DPOConfig as Args\n"
        "else:\n    from trl import CPOTrainer as Trainer\n    from trl import CPOConfig as Args\n" + CPO,
        ("V106", "V101", "V102", "V104"),
    ),
    "a-branch-imports-it-anew": (
        "from transformers import Trainer, TrainingArguments as Args\nif kind == 'cpo':\n"
        "    from trl import CPOTrainer as Trainer\n    from trl import CPOConfig as Args\n" + CPO,
        ("V106", "V101", "V102", "V104"),
    ),
    "in-a-function": (
        "from transformers import Trainer, TrainingArguments as Args\n\n\ndef main(kind):\n    if kind == 'cpo':\n        from trl import CPOConfig as Args\n"
        "    else:\n        from trl import DPOConfig as Args\n"
        "    return Args(output_dir='o', max_length=9, max_target_length=9, max_prompt_length=9)\n\n\nTrainer(model=m, args=main('x')).train()\n",
        ("V106", "V101", "V102", "V104"),
    ),
    "one-of-two-names": (
        "from trl import CPOTrainer as Trainer, CPOConfig, DPOConfig\nArgs = DPOConfig if kind == 'dpo' else CPOConfig\n"
        + CPO,
        ("V106", "V101", "V102", "V104"),
    ),
    "tried-after-another-class": (
        "from trl import CPOTrainer as Trainer\ntry:\n    from trl import CPOConfig as Args\nexcept ImportError:\n"
        "    from transformers import TrainingArguments as Args\n" + CPO,
        ("V106", "V101", "V102", "V104"),
    ),
    "the-wrapper-s-own-cuda": (
        QUANTISED + "policy = Policy.from_pretrained('a/b', load_in_8bit=True)\npolicy = policy.cuda()\n" + OLD_PPO,
        ("Q411",),
    ),
    "the-wrapper-cast": (
        QUANTISED + "policy = Policy.from_pretrained('a/b', load_in_4bit=True)\npolicy.half()\n" + OLD_PPO,
        ("Q411",),
    ),
    "an-adapter-s-model": (
        "from peft import AutoPeftModelForCausalLM as Policy\nfrom transformers import Trainer, TrainingArguments\n"
        "policy = Policy.from_pretrained('a/b', load_in_8bit=True)\npolicy.cuda()\nTrainer(policy, TrainingArguments('o')).train()\n",
        ("Q411",),
    ),
    "a-judge-in-other-bits": (
        QUANTISED
        + "from transformers import AutoModelForSequenceClassification as Judge\njudge = Judge.from_pretrained('c/d', load_in_4bit=True)\n"
        "policy = Policy.from_pretrained('a/b', load_in_8bit=True)\n" + OLD_PPO,
        ("Q106",),
    ),
    "a-judge-of-a-named-model": (
        "from trl import GRPOConfig, GRPOTrainer\nfrom transformers import AutoModelForSequenceClassification as Judge, BitsAndBytesConfig\n"
        "judge = Judge.from_pretrained('c/d', load_in_8bit=True).half()\n"
        "trainer = GRPOTrainer('a/b', [judge], GRPOConfig('o'), train_dataset=rows)\ntrainer.train()\n",
        ("Q106", "Q411", "Q107"),
    ),
    "put-into-the-library": (
        "import peft\nfrom transformers import Trainer, TrainingArguments\npeft.LoraConfig = Mine\nconfig = peft.LoraConfig(rank=8)\n"
        "Trainer(peft.get_peft_model(m, config), TrainingArguments('o')).train()\n",
        ("A128",),
    ),
    "a-teacher-in-other-bits": (
        "from trl import GKDConfig, GKDTrainer\nfrom transformers import AutoModelForCausalLM as M\nteacher = M.from_pretrained('c/d', load_in_4bit=True)\n"
        "student = load('a/b')\nGKDTrainer(model=student, teacher_model=teacher, args=GKDConfig('o'), train_dataset=rows).train()\n",
        ("Q107",),
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_what_is_true_of_another_class_or_model_is_not_told(name: str, tmp_path: Path) -> None:
    source, codes = SILENT[name]
    assert told(tmp_path, source).isdisjoint(codes)


# The same, where there is one class or one model: a program and the hazard that is told.
TOLD = {
    "one-import": ("from trl import CPOTrainer as Trainer\nfrom transformers import TrainingArguments as Args\n" + CPO, "V106"),
    "the-later-import": (
        "from trl import CPOConfig as Args\nfrom transformers import Trainer, TrainingArguments as Args\n" + CPO, "V106",
    ),
    "tried-in-two-packages": (
        "try:\n    from transformers import TrainingArguments as Args\nexcept ImportError:\n"
        "    from transformers.training_args import TrainingArguments as Args\n"
        "from transformers import Trainer\n" + CPO,
        "V106",
    ),
    "transformers-own": (
        "from transformers import AutoModelForCausalLM as M, Trainer, TrainingArguments\nm = M.from_pretrained('a/b', load_in_8bit=True)\nm.cuda()\n"
        "Trainer(m, TrainingArguments('o')).train()\n",
        "Q411",
    ),
    "both-bits-of-one-model": (
        "from transformers import AutoModelForCausalLM as M, Trainer, TrainingArguments\nm = M.from_pretrained('a/b', load_in_8bit=True, load_in_4bit=True)\n"
        "Trainer(m, TrainingArguments('o')).train()\n",
        "Q106",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_what_is_true_of_the_only_one_is_told(name: str, tmp_path: Path) -> None:
    source, code = TOLD[name]
    assert code in told(tmp_path, source)
