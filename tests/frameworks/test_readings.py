# ruff: noqa: E501
"""What `show` says of programs that were once read as something else, and of near ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.commands.run_summary import in_words
from stablint.engine.diagnostics import reported
from stablint.engine.inspect import effective
from stablint.secrets.veil import without_words
from tests.runs import Files, runs

ASKS = """from unsloth import FastLanguageModel

model, tokenizer = FastLanguageModel.from_pretrained("tuned", load_in_4bit=True)
FastLanguageModel.for_inference(model)
inputs = tokenizer.apply_chat_template(messages).to("cuda")
model.generate(inputs)
"""
LOOP = """from torch.optim import AdamW
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("gpt2")
optimizer = AdamW([{"params": head, "lr": 1e-4}, {"params": body, "lr": 1e-4}])
for batch in batches:
    model(**batch).loss.backward()
    optimizer.step()
"""
SPREADS = """import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM


@torch.no_grad()
def answers(rows):
    accelerator = Accelerator()
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    for module in model.modules():
        module.train({mode})
    return [model.generate(row) for row in accelerator.prepare(rows)]


answers(rows)
"""
BEST = 'best = AutoModelForCausalLM.from_pretrained("out")\n'
LAUNCH = 'deepspeed --num_gpus=8 scripts/train.py --epochs 3 --lr "$RATE" --group-size 2 --kl-beta 0.04 "$@"\n'
OWN = """method: lora
quantization:
  load_in_4bit: true
peft: {r: 16, lora_alpha: 32}
training: {learning_rate: 5e-5, num_train_epochs: 3, per_device_train_batch_size: 8, gradient_accumulation_steps: 2}
model_name: meta-llama/Llama-3.2-1B
"""
DPO = "from trl import DPOConfig, DPOTrainer\n\ntrainer = DPOTrainer(model=model, args=arguments)\ntrainer.train()\n"
RL = "python train.py --output_dir o --learning_rate 5e-7 --per_device_train_batch_size 1 --rl_algorithm dpo --beta 0.1 --loss_type sigmoid\n"
ACCELERATES = """import argparse
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--model_name_or_path")
parser.add_argument("--learning_rate", type=float)
parser.add_argument("--num_train_epochs", type=int)
args = parser.parse_args()
accelerator = Accelerator()
model = get_peft_model(AutoModelForCausalLM.from_pretrained(args.model_name_or_path), LoraConfig(r=8, lora_alpha=16))
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for epoch in range(args.num_train_epochs):
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
"""
STARTS = "accelerate launch --num_processes 2 sft_accelerate.py --model_name_or_path gpt2 --learning_rate 2e-5 --num_train_epochs 1 --per_device_train_batch_size 4 --output_dir o\n"
LOOPS = "transformers, a loop of its own (accelerate)"
STEP = """from transformers import Trainer, TrainingArguments


class Slow(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        inputs = self._prepare_inputs(inputs)
        loss = self.compute_loss(model, inputs)
        self.accelerator.backward(loss)
        return loss.detach()


def settings(folder):
    return TrainingArguments(output_dir=folder, learning_rate=2e-5, per_device_train_batch_size=4)
"""
WRAPS = """from trl import SFTConfig, SFTTrainer


class Tuner:
    def __init__(self, model, rows):
        \"\"\"model: with its adapters\"\"\"
        self.trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="o"), train_dataset=rows)

    def run(self):
        self.trainer.train()
"""
LOADS = "from transformers import AutoModelForCausalLM\n\n"
PREFERS = "base_model: a/b\noutput_dir: out\nbeta: 0.1\nnum_train_epochs: 1\nper_device_train_batch_size: 2\nlearning_rate: 5.0e-6\nuse_lora: true\nlora_r: 16\n"
# The files, what of the summary is looked at, and what is said.
SAID: dict[str, tuple[Files, str, str]] = {
    "unsloth-loads-a-model-that-is-asked": ({"use.py": ASKS}, "training", "none"),
    "an-evaluation-that-is-spread": ({"use.py": SPREADS.format(mode="mode=False")}, "training", "none"),
    "and-by-position": ({"use.py": SPREADS.format(mode="False")}, "training", "none"),
    "but-not-a-training-mode": ({"use.py": SPREADS.format(mode="")}, "framework", LOOPS),
    "nor-one-that-may-be": ({"use.py": SPREADS.format(mode="mode")}, "framework", LOOPS),
    "the-same-twice": ({"use.py": ASKS + ASKS.partition("\n\n")[2]}, "training", "none"),
    "a-loop-at-the-top-of-a-file": ({"train.py": LOOP}, "framework", "transformers, a loop of its own (torch)"),
    "a-step-of-the-trainer-s": ({"train.py": STEP}, "framework", "transformers.Trainer (presumed)"),
    "and-another-model-to-look-at-the-result": ({"train.py": LOOP + BEST}, "framework", "transformers, a loop of its own (torch)"),
    "groups-of-one-rate": ({"train.py": LOOP}, "learning rate", "0.0001"),
    "groups-of-two-rates": ({"train.py": LOOP.replace("1e-4}]", "1e-3}]")}, "learning rate", "not known"),
    "a-group-that-may-say-more": ({"train.py": LOOP.replace('"lr": 1e-4}]', '"lr": 1e-4, **more}]')}, "learning rate", "not known"),
    "a-word-of-its-own-for-lora": ({"config.yaml": OWN}, "method", "lora (presumed)"),
    "and-for-qlora": ({"config.yaml": OWN.replace("method: lora", "method: qlora")}, "method", "qlora"),
    "the-program's-trainer-is-trl's": ({"run.sh": RL, "train.py": DPO}, "objective", "dpo"),
    "a-name-alone-is-no-path": ({"backup/run.sh": STARTS, "src/sft_accelerate.py": ACCELERATES}, "framework", "transformers.Trainer (presumed)"),
    "by-a-folder-and-a-name": ({"scripts/run.sh": STARTS.replace("sft_acc", "train/sft_acc"), "code/train/sft_accelerate.py": ACCELERATES}, "framework", LOOPS),
    "two-of-that-name-lie-elsewhere": ({"backup/run.sh": STARTS.replace("sft_acc", "train/sft_acc"), "src/train/sft_accelerate.py": ACCELERATES, "old/train/sft_accelerate.py": ACCELERATES}, "framework", "transformers.Trainer (presumed)"),
    "another-program-lies-elsewhere": ({"backup/run.sh": STARTS, "src/my_sft_accelerate.py": ACCELERATES}, "framework", "transformers.Trainer (presumed)"),
    "nothing-lies-elsewhere": ({"backup/run.sh": STARTS}, "framework", "transformers.Trainer (presumed)"),
    "a-caller-brings-the-model": ({"tune.py": WRAPS}, "method", "unknown"),
    "an-object-holds-it": ({"tune.py": WRAPS.replace("self.trainer = SFTTrainer(model=model", "self.model = model\n        self.trainer = SFTTrainer(model=self.model")}, "method", "unknown"),
    "a-function's-caller": ({"tune.py": "from trl import SFTConfig, SFTTrainer\n\n\ndef tune(model, rows):\n    SFTTrainer(model=model, args=SFTConfig(output_dir='o'), train_dataset=rows).train()\n"}, "method", "unknown"),
    "the-program-loads-it": ({"tune.py": LOADS + "from trl import SFTConfig, SFTTrainer\n\nmodel = AutoModelForCausalLM.from_pretrained('gpt2')\nSFTTrainer(model=model, args=SFTConfig(output_dir='o'), train_dataset=rows).train()\n"}, "method", "full"),
    "a-launcher's-command": ({"run.sh": "RATE=1e-5\n" + LAUNCH}, "learning rate", "1e-05"),
    "preferences-are-not-the-plain-trainer's": ({"dpo_config.yaml": PREFERS}, "framework", "not known: no trainer is named"),
    "nor-what-the-file-s-name-says-nothing-of": ({"config.yaml": PREFERS.replace("beta: 0.1\n", "")}, "framework", "transformers.Trainer (presumed)"),
    "with-a-rate-that-nobody-knows": ({"run.sh": LAUNCH}, "learning rate", "not known"),
    "with-torchrun": ({"run.sh": "torchrun --nproc_per_node 8 train.py --lr 1e-5 --epochs 3 --reward-weight 2\n"}, "learning rate", "1e-05"),
}  # fmt: skip


def test_a_launcher_starts_other_trainings_too(tmp_path: Path) -> None:
    found = runs(tmp_path, {"run.sh": "torchrun --nproc_per_node 8 main.py --lr 0.1 --epochs 90 --arch resnet50\n"})
    assert not found


@pytest.mark.parametrize("name", SAID)
def test_it_is_read_as_what_it_is(name: str, tmp_path: Path) -> None:
    files, label, words = SAID[name]
    run = runs(tmp_path, files)[0]
    assert in_words(effective(run)).get(label, "").startswith(words)


PROGRAM = """from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments

arguments = TrainingArguments(output_dir="o", learning_rate=1e-5)
Trainer(model="gpt2", args=arguments, data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False)).train()
"""


def test_the_names_of_classes_are_no_secrets(tmp_path: Path) -> None:
    (run,) = runs(tmp_path, {"train.py": PROGRAM})
    assert reported(run.explicit["data.collator"]).value == "DataCollatorForLanguageModeling"


LISTS = {
    "[model,optimizer,extra]": True,
    "[model, hf_model, optimizer, extra]": True,
    "['model','optimizer']": True,
    "(model,optimizer)": True,
    "[marmalade,spoons]": False,
    "[model,marmalade]": False,
}


@pytest.mark.parametrize("text", LISTS)
def test_a_list_of_the_libraries_words_is_shown(text: str) -> None:
    assert (without_words("actor.checkpoint.contents", text, None) == text) == LISTS[text]
    assert without_words("actor.checkpoint.password", text, None) is None


RECORD = """import argparse, json
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-5)
args = parser.parse_args()
model = AutoModelForCausalLM.from_pretrained("a/b")
trainer = Trainer(model, args=TrainingArguments("o", learning_rate=args.lr), train_dataset=rows)
{before}trainer.train()
{behind}"""
DUMPS = """with open("settings.json", "w") as f:
    json.dump({"base_model": "a/b", "method": "SFT", "lora_r": 8, "epochs": 3, "lr": 1e-4, "batch_size": 4}, f)
"""


@pytest.mark.parametrize(("before", "behind", "number"), [(DUMPS, "", 2), ("", DUMPS, 1)])
def test_what_is_written_behind_the_training_is_a_record(before: str, behind: str, number: int, tmp_path: Path) -> None:
    assert len(runs(tmp_path, {"train.py": RECORD.format(before=before, behind=behind)})) == number


CHAT = "deepspeed main.py --data_split 2,4,4 --model_name_or_path a --zero_stage 2 --learning_rate 1e-5{more}\n"
CHAT_MAIN = """import argparse
import deepspeed
from utils.ds_utils import get_train_ds_config

parser = argparse.ArgumentParser()
parser.add_argument("--dtype", type=str, default="{default}", choices=["fp16", "bf16"])
args = parser.parse_args()
model, *rest = deepspeed.initialize(model=m, config=get_train_ds_config(offload=False, dtype=args.dtype))
model.backward(loss)
"""
CHAT_ENGINE = """def get_train_ds_config(offload, dtype, stage=2):
    if dtype == "fp16":
        data_type = "fp16"
        dtype_config = {"enabled": True, "loss_scale_window": 100}
    elif dtype == "bf16":
        data_type = "bfloat16"
        dtype_config = {"enabled": True}
    return {"steps_per_print": 10, data_type: dtype_config, "gradient_clipping": 1.0}
"""


@pytest.mark.parametrize(
    ("default", "more", "dtype"),
    [
        ("fp16", "", "float16"),
        ("bf16", "", "bfloat16"),
        ("fp16", " --dtype bf16", "bfloat16"),
        ("fp16", ' "$@"', "not known"),
        ("auto", "", "not known"),
    ],
)
def test_a_copy_of_deepspeed_chat_has_the_format_of_its_parser(
    default: str, more: str, dtype: str, tmp_path: Path
) -> None:
    files = {
        "run.sh": CHAT.format(more=more),
        "main.py": CHAT_MAIN.format(default=default),
        "utils/ds_utils.py": CHAT_ENGINE,
    }
    (run,) = (one for one in runs(tmp_path, files) if "run.sh" in one.files)
    assert in_words(effective(run))["precision"].startswith(dtype)
