"""What a run is told outside the file that starts it: a program by the end of a path, functions of the program's own modules, its own loop."""

from __future__ import annotations

import pytest

from stablint.hazard.checked import Checked
from stablint.pins import commands
from stablint.run.fact import ABSENT, is_unknown
from tests.runs import inspected, rules, world

LOOP = """import argparse
from accelerate import Accelerator
parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float, default=1e-4)
parser.add_argument("--model_name_or_path")
args = parser.parse_args()
Accelerator().backward(loss)
"""
FLAGS = " --model_name_or_path a/b --learning_rate 1e-5 --num_train_epochs 2 --output_dir o\n"
# How a script says where the program is, from its folder `scripts`, and whether it is src/train.py of this repository.
PATHS = [
    ("python $BASE/src/train.py", True),
    ("python ${BASE}/src/train.py", True),
    ('python "$BASE/src/train.py"', True),
    ("torchrun --nproc_per_node 4 ${BASE}/src/train.py", True),
    ("accelerate launch --num_processes 4 $BASE/src/train.py", True),
    ("python /home/somebody/project/src/train.py", True),
    ("python ../src/train.py", True),
    ("python /home/somebody/train.py", False),  # any program's name
    ("python $BASE/other/train.py", False),
    ("python $BASE/$WHICH/train.py", False),
    ("python $BASE/../../../../src/train.py", False),
]


@pytest.mark.parametrize(("start", "here"), PATHS)
def test_a_program_is_known_by_the_end_of_its_path(tmp_path, start, here):
    (tmp_path / ".git").mkdir()
    found = inspected(tmp_path, {"scripts/run.sh": start + FLAGS, "src/train.py": LOOP})
    run = Checked(next(one for one in found.runs if one.files[0] == "scripts/run.sh")).newest
    assert (run.value("derived.trainer") == "accelerate") is here
    assert run.value("training.learning_rate") == 1e-5


# What a script says of its program, where that lies, and whether it is the one.
NAMES = [
    ("src/train_language.py", ("src/own/train_language.py",), True),
    ("src/train_language.py", ("src/own/train_language.py", "old/train_language.py"), False),
    ("train_language.py", ("src/train_language.py",), False),  # a name alone is no path
    ("src/train.py", ("src/own/train.py",), False),  # a name that says nothing
    ("train.py", ("src/train.py",), False),
]


@pytest.mark.parametrize(("said", "at", "here"), NAMES)
def test_the_only_program_of_a_telling_name_may_be_meant(tmp_path, said, at, here):
    (tmp_path / ".git").mkdir()
    found = inspected(tmp_path, {"scripts/run.sh": f"python {said}" + FLAGS, **dict.fromkeys(at, LOOP)})
    run = Checked(next(one for one in found.runs if one.files[0] == "scripts/run.sh")).newest
    assert (run.value("derived.trainer") == "accelerate") is here


MAIN = """from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model
from {module} import {name}
model = AutoModelForCausalLM.from_pretrained("a/b", quantization_config={name}())
model = get_peft_model(model, LoraConfig(r=8))
Trainer(model=model, args=TrainingArguments("o", learning_rate=1e-4), train_dataset=rows).train()
"""
QUANTISES = """from transformers import BitsAndBytesConfig
def {name}(bits=4):
    return BitsAndBytesConfig({bits})

def another():
    return 1
"""
# Where the function stands, and what it makes; the method of the run, and whether it is presumed.
HELPERS = [
    ("utils", "utils.py", "load_in_4bit=True", "qlora"),
    ("src.utils", "src/utils.py", "load_in_4bit=True", "qlora"),
    (".utils", "utils.py", "load_in_4bit=True", "qlora"),
    ("utils", "utils.py", "load_in_8bit=True", "lora"),
    ("utils", "utils.py", "load_in_4bit=bits == 4", "lora"),  # not followed
    ("utils", "elsewhere.py", "load_in_4bit=True", "lora"),
]


@pytest.mark.parametrize(("module", "file", "bits", "method"), HELPERS)
def test_a_function_of_the_programs_own_module_says_how_the_weights_are_loaded(tmp_path, module, file, bits, method):
    name = "get_bnb_config"
    files = {"train.py": MAIN.format(module=module, name=name), file: QUANTISES.format(name=name, bits=bits)}
    (run,) = [one for one in inspected(tmp_path, files).runs if one.files[0] == "train.py"]
    found = Checked(run).newest.fact("derived.method")
    assert found.value == method and found.presumed is (method == "qlora")


def test_of_two_functions_the_one_that_is_called_is_read(tmp_path):
    both = QUANTISES.format(name="get_bnb_config", bits="load_in_8bit=True") + (
        "def other_bnb_config():\n    return BitsAndBytesConfig(load_in_4bit=True)\n"
    )
    files = {"train.py": MAIN.format(module="utils", name="get_bnb_config"), "utils.py": both}
    (run,) = [one for one in inspected(tmp_path, files).runs if one.files[0] == "train.py"]
    assert run.explicit["quantization.load_in_8bit"].value is True
    assert "quantization.load_in_4bit" not in run.explicit


STEPS = """import argparse, torch
import bitsandbytes as bnb
from transformers import AutoModelForCausalLM
parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, default=3e-5)
args = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained("a/b")
lr = 2e-5
{optimizer}
for batch in rows:
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
"""
# The optimizer of a loop of the program's own; the rate and the optimizer of the run ("?": not known).
OPTIMIZERS = [
    ("optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.1)", 2e-5, "adamw_torch"),
    ("optimizer = bnb.optim.AdamW8bit(model.parameters(), lr=1e-4)", 1e-4, "adamw_bnb_8bit"),
    ("optimizer = torch.optim.AdamW(model.parameters(), lr=args.rate)", 3e-5, "adamw_torch"),
    ("optimizer = torch.optim.AdamW(model.parameters(), lr=rate_of(args))", "?", "adamw_torch"),
    ("optimizer = torch.optim.AdamW([{'params': a, 'lr': 1e-3}, {'params': b}], lr=1e-5)", "?", "adamw_torch"),
    ("optimizer = torch.optim.AdamW(a, lr=1e-5)\nother = torch.optim.AdamW(b, lr=1e-3)", "?", "adamw_torch"),
    (
        "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)\nplan = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-4)",
        "absent",
        "adamw_torch",
    ),
    ("optimizer = mine.Adam(model.parameters(), lr=1e-3)", "absent", "absent"),
]


@pytest.mark.parametrize(("optimizer", "rate", "name"), OPTIMIZERS)
def test_the_optimizer_of_an_own_loop_says_the_rate(tmp_path, optimizer, rate, name):
    run = world(tmp_path, {"train.py": STEPS.format(optimizer=optimizer)})
    found = [run.stated("training.learning_rate"), run.stated("training.optim")]
    said = ["?" if is_unknown(value) else "absent" if value is ABSENT else value for value in found]
    assert said == [rate, name]


def test_an_optimizer_beside_a_trainer_is_not_its_rate(tmp_path):
    source = STEPS.format(optimizer="optimizer = torch.optim.AdamW(head, lr=1e-2)") + (
        "from transformers import Trainer, TrainingArguments\nTrainer(model=model, args=TrainingArguments('o', learning_rate=1e-5)).train()\n"
    )
    assert world(tmp_path, {"train.py": source}).value("training.learning_rate") == 1e-5


# Flags by names of a program's own, and what they are called elsewhere.
NAMES = [
    ("--lr 1e-5 --epochs 2 --finetune_method lora --lora_r 8", "derived.method", "lora"),
    ("--lr 1e-5 --epochs 2 --finetune_method full-tuning", "derived.method", "full"),
    ("--lr 1e-5 --epochs 2 --train_micro_batch_size_per_gpu 3", "training.per_device_train_batch_size", 3),
    ("--lr 1e-5 --epochs 2 --accum_grad_steps 5", "training.gradient_accumulation_steps", 5),
    ("--lr 1e-5 --epoch 2 --warm_up_steps 7", "training.warmup_steps", 7),
]


@pytest.mark.parametrize(("flags", "fact", "value"), NAMES)
def test_names_that_many_programs_have(tmp_path, flags, fact, value):
    found = inspected(tmp_path, {"run.sh": f"python train.py --model_name_or_path a/b --output_dir o {flags}\n"})
    (run,) = found.runs
    fact_found = Checked(run).newest.fact(fact)
    assert fact_found.value == value and fact_found.presumed
    assert not rules(found, "error")


# Trainers and scripts named after what they train for: never presumed to be supervised fine-tuning.
PURPOSES = [
    "unlearn",
    "forget",
    "train_reranker",
    "train_embedding",
    "contrastive_train",
    "train_ner",
    "train_classifier",
]


@pytest.mark.parametrize("name", PURPOSES)
def test_a_program_called_after_another_objective_is_not_presumed_sft(tmp_path, name):
    run = world(
        tmp_path,
        {"run.sh": f"torchrun {name}.py --model_name_or_path a/b --learning_rate 1e-5 --bf16 True --output_dir o\n"},
    )
    assert is_unknown(run.value("derived.objective"))


ARGUMENTS = """import argparse
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
parser = argparse.ArgumentParser()
parser.add_argument("--bs", type=int, default=4)
parser.add_argument("--lr", type=float, default=2e-5)
parser.add_argument("--warm", type=int)
a = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained("a/b")
args = TrainingArguments("o", per_device_train_batch_size=a.bs, learning_rate=a.lr, warmup_steps={warmup})
Trainer(model=model, args=args, train_dataset=rows).train()
"""
# The command, how the program says the warm-up, a fact, its value ("?": not known), and whether that is presumed.
TAKEN = [
    ("", "a.warm", "training.learning_rate", 2e-5, True),
    ("--lr 1e-5", "a.warm", "training.learning_rate", 1e-5, False),
    ("--bs 2", "a.warm", "training.per_device_train_batch_size", 2, False),
    ("--bs 2", "a.warm", "training.learning_rate", 2e-5, True),
    ('--bs 2 "$@"', "a.warm", "training.learning_rate", "?", False),
    ("--lr $LR", "a.warm", "training.learning_rate", "?", False),
    ("--warm 7", "a.warm", "training.warmup_steps", 7, False),
    ("--warm 7", "len(rows) // 5", "training.warmup_steps", "?", False),
    ("--warm 7", "max(2, a.warm)", "training.warmup_steps", "?", False),
    ("--warm 7", "int(0.1 * steps)", "training.warmup_steps", "?", False),
]


@pytest.mark.parametrize(("flags", "warmup", "fact", "value", "presumed"), TAKEN)
def test_what_a_program_takes_from_its_own_flags_is_known(tmp_path, flags, warmup, fact, value, presumed):
    files = {"run.sh": f"python train.py {flags}\n", "train.py": ARGUMENTS.format(warmup=warmup)}
    found = world(tmp_path, files).fact(fact)
    assert ("?" if is_unknown(found.value) else found.value) == value
    assert is_unknown(found.value) or found.presumed is presumed


# A program with another head or a loss of its own, and what it is never presumed to train for.
LOADS = "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
HEADS = [
    ("from trl import AutoModelForCausalLMWithValueHead as M\nmodel = M.from_pretrained('a/b')\n", "Trainer", "?"),
    (
        "from transformers import AutoModelForSequenceClassification as M\nmodel = M.from_pretrained('a/b')\n",
        "Trainer",
        "?",
    ),
    (
        "from transformers import AutoModelForTokenClassification as M\nmodel = M.from_pretrained('a/b')\n",
        "Trainer",
        "token classification",
    ),
    (
        "model = AutoModelForCausalLM.from_pretrained('a/b')\nclass T(Trainer):\n    def compute_loss(self, model, inputs): return f(model)\n",
        "T",
        "?",
    ),
    (
        "model = AutoModelForCausalLM.from_pretrained('a/b')\nclass T(Trainer):\n    def log(self, logs): print(logs)\n",
        "T",
        "sft",
    ),
    ("model = AutoModelForCausalLM.from_pretrained('a/b')\n", "Trainer", "sft"),
]


@pytest.mark.parametrize(("made", "trainer", "objective"), HEADS)
def test_the_objective_of_other_heads_and_losses_is_not_presumed(tmp_path, made, trainer, objective):
    source = LOADS + made + f"{trainer}(model=model, args=TrainingArguments('o'), train_dataset=rows).train()\n"
    found = world(tmp_path, {"train.py": source}).value("derived.objective")
    assert ("?" if is_unknown(found) else found) == objective


SECTIONS = """model:
  name: Qwen/Qwen2.5-Coder-1.5B
  dtype: bfloat16
  {word}
optim:
  lr: 1.0e-6
  warmup_steps: 20
train:
  steps: 1500
  save_every: 200
"""


@pytest.mark.parametrize(
    ("word", "read"), [("trust_remote_code: true", True), ("attn_impl: sdpa", True), ("depth: 18", False)]
)
def test_sections_of_an_own_program(tmp_path, word, read):
    found = inspected(tmp_path, {"configs/a.yaml": SECTIONS.format(word=word)}).runs
    assert bool(found) is read
    if read:
        run = Checked(found[0]).newest
        assert [run.value(f"training.{name}") for name in ("learning_rate", "max_steps", "warmup_steps")] == [
            1e-6,
            1500,
            20,
        ]


# What a README tells to clone; the release of LLaMA-Factory, which it makes presumed.
CLONES = [
    ("git clone --depth 1 --branch v0.9.3 https://github.com/hiyouga/LlamaFactory.git", "0.9.3"),
    ("git clone -b v0.9.2 https://github.com/hiyouga/LLaMA-Factory", "0.9.2"),
    ("git clone https://github.com/hiyouga/LLaMA-Factory.git --branch=v0.9.1", "0.9.1"),
    ("git clone --branch main https://github.com/hiyouga/LLaMA-Factory.git", None),
    ("git clone https://github.com/hiyouga/LLaMA-Factory.git", None),
    ("git clone --branch v0.9.3 https://github.com/somebody/data.git", None),
]


@pytest.mark.parametrize(("command", "release"), CLONES)
def test_what_is_cloned_at_a_tag_is_the_release(command, release):
    found = commands.installed(f"# Install\n\n```\n{command}\n```\n").specifiers
    assert found == ({"llamafactory": [f"=={release}"]} if release else {})
