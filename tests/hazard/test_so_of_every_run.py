"""What is told of a program is so of every run that looks like it: near forms of what was once told falsely, and those in which it is so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import Files, inspected

ACCELERATE = """compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  deepspeed_config_file: ds.json
mixed_precision: bf16
num_machines: 1
num_processes: 8
"""
DS = '{"bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}}'
LAUNCHED = {"accelerate.yaml": ACCELERATE, "ds.json": DS}
OWN_LOOP = '''"""Usage: accelerate launch --config_file accelerate.yaml train.py"""
import torch

model = torch.nn.Linear(2, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for batch in batches:
    model(batch).sum().backward()
    optimizer.step()
'''
MODEL = """import torch
from transformers import AutoModel


class Encoder(torch.nn.Module):
    def __init__(self, path, attn_implementation):
        super().__init__()
        self.dtype = torch.bfloat16
        self.lm = AutoModel.from_pretrained(path, torch_dtype=self.dtype, attn_implementation=attn_implementation)
"""
EMBEDDER = """{"model_name_or_path": "Qwen/Qwen3-0.6B", "attn_implementation": "flash_attention_2", "learning_rate": 1e-5,
 "num_train_epochs": 1, "per_device_train_batch_size": 8, "gradient_accumulation_steps": 2}"""
QUANTISES = """from dataclasses import dataclass

from transformers import AutoModelForCausalLM, BitsAndBytesConfig, HfArgumentParser, Trainer, TrainingArguments
from options import ModelArguments

parser = HfArgumentParser((ModelArguments, TrainingArguments))
model_args, args = parser.parse_args_into_dataclasses()
config = None
if model_args.load_in_4bit:
    config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_use_double_quant=True, bnb_4bit_quant_type="nf4")
model = AutoModelForCausalLM.from_pretrained("gpt2", quantization_config=config)
trainer = Trainer(model=model, args=args)
trainer.train()
"""
COMMAND = "python train.py --output_dir out --learning_rate 1e-5 --per_device_train_batch_size 4 --load_in_4bit "


def deepspeed(entry: str) -> Files:
    return {"ds.json": DS.replace("{", "{" + entry + ", ", 1)}


def padding(second: str, first: str = "tokenizer.pad_token = tokenizer.unk_token") -> Files:
    return {
        "train.py": f"""from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments


def generate():
    tokenizer = AutoTokenizer.from_pretrained("facebook/opt-350m")
    {first}
    model = AutoModelForCausalLM.from_pretrained("facebook/opt-350m")
    args = TrainingArguments(output_dir="out", learning_rate=2e-5)
    trainer = Trainer(model=model, args=args, data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False))
    trainer.train()


{second}
"""
    }


ENGINE = "from accelerate import Accelerator\n\naccelerator = Accelerator()\n"
HEAD, STEPS = OWN_LOOP.partition("import")[0] + "from steps import run\n\nrun()\n", OWN_LOOP.partition('"""\n')[2]
STARTER = (
    'import subprocess\n\nsubprocess.run(["accelerate", "launch", "--config_file", "accelerate.yaml", "train.py"])\n'
)
LAUNCH = "accelerate launch --config_file accelerate.yaml train.py --output_dir o --learning_rate 1e-5\n"
IN_FLOAT32 = """import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("gpt2", attn_implementation="flash_attention_2", torch_dtype=torch.float32)
Trainer(model=model, args=TrainingArguments(output_dir="o", learning_rate=1e-5)).train()
"""
OTHER_SWITCH = {
    "train.py": QUANTISES.replace("model_args.load_in_4bit", "model_args.quantise"),
    "run.sh": COMMAND.replace("load_in_4bit", "quantise") + "False\n",
}
PLAIN = {
    "train.py": QUANTISES.replace("if model_args.load_in_4bit", "if not model_args.plain"),
    "run.sh": COMMAND.replace("load_in_4bit", "plain") + "True\n",
}


CLASSIFIES = """def classify():
    tokenizer = AutoTokenizer.from_pretrained("facebook/opt-350m")
    tokenizer.pad_token = tokenizer.eos_token
"""
MAKES = """def make():
    tokenizer = AutoTokenizer.from_pretrained("facebook/opt-350m")
    tokenizer.pad_token = tokenizer.eos_token
    return tokenizer
"""
OWN = """tokenizer = AutoTokenizer.from_pretrained("facebook/opt-350m")
    tokenizer.pad_token = tokenizer.unk_token"""
HANDED_OVER = {"train.py": padding(MAKES)["train.py"].replace(OWN, "tokenizer = make()")}
PREPARED = """import yaml
from peft import PeftModel, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

cfg = yaml.safe_load(open("dpo.yaml"))
model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(cfg["model"]), cfg["adapter"], is_trainable=True)
if {}:
    model = prepare_model_for_kbit_training(model)
Trainer(model=model, args=TrainingArguments(output_dir="o"), train_dataset=rows).train()
"""


def prepared(test: str) -> Files:
    return {"train.py": PREPARED.format(test)}


# The files, the rule, and whether it is told.
CASES: dict[str, tuple[Files, str, bool]] = {
    "prepared-under-a-switch-that-is-off-unless-a-file-says-more": (prepared('cfg.get("load_in_4bit", False)'), "T292", False),
    "of-an-object": (prepared('getattr(cfg, "load_in_4bit", False)'), "T292", False),
    "off-by-a-constant": ({"train.py": "QUANTISED = False\n" + PREPARED.format("QUANTISED")}, "T292", False),
    "on-by-a-constant": ({"train.py": "QUANTISED = True\n" + PREPARED.format("QUANTISED")}, "T292", True),
    "prepared-under-a-switch-that-is-on-unless-a-file-says-more": (prepared('cfg.get("load_in_4bit", True)'), "T292", True),
    "prepared-in-any-case": ({"train.py": PREPARED.replace("if {}:\n    model", "model")}, "T292", True),
    "accelerate's-file-alone": (LAUNCHED, "D180", True),
    "a-program-that-makes-no-accelerator-names-it": ({**LAUNCHED, "train.py": OWN_LOOP}, "D180", False),
    "the-loop-stands-in-another-module": ({**LAUNCHED, "train.py": HEAD, "steps.py": STEPS}, "D180", False),
    "a-trainer-of-its-own-stands-in-another-module": (
        {**LAUNCHED, "train.py": HEAD + "from steps import OwnTrainer\n\nOwnTrainer().run()\n", "steps.py": STEPS},
        "D180",
        False,
    ),
    "it-makes-one": ({**LAUNCHED, "train.py": OWN_LOOP + ENGINE}, "D180", True),
    "another-module-makes-one": ({**LAUNCHED, "train.py": OWN_LOOP, "engine.py": ENGINE}, "D180", True),
    "the-trainer-makes-one": ({**LAUNCHED, "train.py": OWN_LOOP + "\nfrom transformers import Trainer, TrainingArguments\n"}, "D180", True),
    "a-program-that-does-not-name-it": ({**LAUNCHED, "train.py": OWN_LOOP.replace("accelerate.yaml", "other")}, "D180", True),
    "a-program-starts-another-with-it": ({**LAUNCHED, "start.py": STARTER}, "D180", True),
    "a-script-launches-a-trainer-with-it": ({**LAUNCHED, "run.sh": LAUNCH}, "D180", True),
    "the-class-holds-the-dtype": ({"config.json": EMBEDDER, "model.py": MODEL}, "K102", False),
    "nobody-knows-who-reads-it": ({"config.json": EMBEDDER}, "K102", False),
    "the-file-says-half": ({"config.json": EMBEDDER.replace("{", '{"torch_dtype": "bfloat16", ', 1)}, "K102", False),
    "the-file-says-float32": ({"config.json": EMBEDDER.replace("{", '{"torch_dtype": "float32", ', 1)}, "K102", True),
    "the-call-says-float32": ({"train.py": IN_FLOAT32}, "K102", True),
    "the-switch-is-off": ({"train.py": QUANTISES, "run.sh": COMMAND + "False\n"}, "Q125", False),
    "off-in-small-letters": ({"train.py": QUANTISES, "run.sh": COMMAND + "false\n"}, "Q125", False),
    "a-switch-of-another-name": (OTHER_SWITCH, "Q125", False),
    "the-other-way-round": (PLAIN, "Q125", False),
    "nobody-says": ({"train.py": QUANTISES}, "Q125", False),
    "it-is-on": ({"train.py": QUANTISES, "run.sh": COMMAND + "True\n"}, "Q125", False),
    "without-a-switch": ({"train.py": QUANTISES.replace("if model_args.load_in_4bit", "if True").replace("load_in_4bit=True, ", "")}, "Q125", True),
    "a-comment": (deepspeed('"comment": "ZeRO-2 for one machine"'), "D125", False),
    "several-comments": (deepspeed('"comment": "ZeRO-2", "comment_2": "one machine"'), "D125", False),
    "lines-of-a-comment": (deepspeed('"comments": ["ZeRO-2", "one machine"]'), "D125", False),
    "with-marks": (deepspeed('"_comment": "ZeRO-2"'), "D125", False),
    "with-slashes": (deepspeed('"//comment": "ZeRO-2"'), "D125", False),
    "a-description": (deepspeed('"description": "ZeRO-2"'), "D125", False),
    "a-section-of-comet": (deepspeed('"comment": {"enabled": true}'), "D125", True),
    "a-slip": (deepspeed('"gradient_cliping": 1.0'), "D125", True),
    "another-function-pads": (padding(CLASSIFIES), "T231", False),
    "two-others-pad": (padding(CLASSIFIES + "\n\n" + CLASSIFIES.replace("classify", "again")), "T231", False),
    "its-own-function-pads": (padding(CLASSIFIES, "tokenizer.pad_token = tokenizer.eos_token"), "T231", True),
    "only-the-collator's-function": (padding("", "tokenizer.pad_token = tokenizer.eos_token"), "T231", True),
    "only-another-function-and-a-tokenizer-of-its-own": (padding(CLASSIFIES, "tokenizer.padding_side = 'right'"), "T231", False),
    "a-function-hands-it-over": (HANDED_OVER, "T231", True),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_told_where_it_is_so(name: str, tmp_path: Path) -> None:
    files, code, told = CASES[name]
    found = inspected(tmp_path, files).report.diagnostics
    assert (code in {one.code for one in found}) == told
