"""What `show` says at first sight of whole small runs: a judge opens the files beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.commands.run_summary import in_words
from stablint.hazard.checked import Checked
from tests.runs import Files, inspected, rules, runs

_RUN = "--model_name_or_path meta-llama/Llama-2-7b-hf --output_dir o --bf16 True --num_train_epochs 2 --per_device_train_batch_size 4"
_STEPS = 'STEPS=100\nif [ -n "$SMOKE" ]; then STEPS=1; fi\n'

# An adapter and quantised weights behind switches, both off.
_GUARDED = """
from dataclasses import dataclass
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
@dataclass
class Settings:
    use_lora: bool = False
    rank: int = 16
def configuration(settings):
    if settings.use_lora is False:
        return None
    return LoraConfig(r=settings.rank, lora_alpha=16)
settings, args = HfArgumentParser((Settings, TrainingArguments)).parse_args_into_dataclasses()
model = AutoModelForCausalLM.from_pretrained("org/base")
config = configuration(settings)
if config is not None:
    model = get_peft_model(model, config)
Trainer(model=model, args=args, train_dataset=rows).train()
"""
_EITHER = """
from peft import IA3Config, LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
SHORT = True
model = AutoModelForCausalLM.from_pretrained("org/base")
if SHORT:
    config = IA3Config(task_type="CAUSAL_LM")
else:
    config = LoraConfig(r=8, lora_alpha=16)
Trainer(model=get_peft_model(model, config), args=TrainingArguments("out", learning_rate=1e-3), train_dataset=rows).train()
"""
_MODEL = """
from ours import GPTRewardModel
from peft import AdaLoraConfig, IA3Config, LoraConfig, PrefixTuningConfig, get_peft_model
from transformers import AutoModelForCTC, AutoModelForCausalLM, AutoModelForSeq2SeqLM, Trainer, TrainingArguments
model = get_peft_model(CLASS.from_pretrained("org/base"), ADAPTER)
args = TrainingArguments("out", learning_rate=1e-3, lr_scheduler_type="constant", warmup_ratio=0.1)
Trainer(model=model, args=args, train_dataset=rows).train()
"""
_SWITCHES = """
from dataclasses import dataclass, field
import torch
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, HfArgumentParser, Trainer, TrainingArguments
from peft import LoraConfig, get_peft_model

@dataclass
class ModelArguments:
    model_name_or_path: str = field(default="meta-llama/Llama-2-7b-hf")
    lora_enabled: bool = field(default=False)
    qlora_enabled: bool = field(default=False)

def load(model_args):
    bnb = BitsAndBytesConfig(load_in_4bit=True) if model_args.qlora_enabled else None
    return AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path, quantization_config=bnb)

def main():
    model_args, training_args = HfArgumentParser((ModelArguments, TrainingArguments)).parse_args_into_dataclasses()
    model = load(model_args)
    if model_args.lora_enabled:
        model = get_peft_model(model, LoraConfig(r=8))
    Trainer(model=model, args=training_args).train()

main()
"""
_TORCH = """
import torch
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("gpt2", torch_dtype=torch.bfloat16)
loader = DataLoader(rows, batch_size=8, shuffle=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
for epoch in range(3):
    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
"""
_CONFIG = """
from dataclasses import dataclass, field

@dataclass
class ModelConfig:
    llm_path: str = "PATH/to/vicuna"

@dataclass
class PeftConfig:
    r: int = 8
    lora_alpha: int = 32

@dataclass
class TrainConfig:
    lr: float = 1e-4
    num_epochs: int = 3
    batch_size_training: int = 4
    gradient_accumulation_steps: int = 2
    weight_decay: float = 0.0
    use_peft: bool = USE
"""
_LOOP = """
import argparse
from accelerate import Accelerator
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-4)
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--gradient_accumulation_steps", type=int, default=8)
parser.add_argument("--lora_rank", type=int, default=0)
args = parser.parse_args()
accelerator = Accelerator(mixed_precision="bf16")
"""

SAID: dict[str, tuple[Files, dict[str, str]]] = {
    "a plain run": (
        {"run.sh": f"torchrun --nproc_per_node 8 train.py {_RUN} --learning_rate 2e-5\n"},
        {"framework": "transformers.Trainer (presumed)", "precision": "bfloat16", "learning rate": "2e-05", "steps": "2 epochs",
         "effective batch": "32 (presumed)", "checkpoints": "every 500 steps"},
    ),
    "exports that are joined": (
        {"run.sh": f"export A=1 &&\nexport LR=2e-5 &&\n\npython train.py {_RUN} --learning_rate $LR\n"},
        {"learning rate": "2e-05"},
    ),
    "a command that a test guards stays one that may not be": (
        {"run.sh": f"LR=1e-5\ngrep -q big /proc/cpuinfo && LR=2e-5\npython train.py {_RUN} --learning_rate $LR\n"},
        {"learning rate": "not known: `$LR` differs by branch: 1e-5, 2e-5"},
    ),
    "a list that grows in branches and loops": (
        {"run.sh": f"args=({_RUN} --learning_rate 2e-5)\nif [ $GC -ne 0 ]; then args+=(--gradient_checkpointing); fi\n"
                   'for d in a b; do args+=(--extra "$d"); done\nif [ $N -gt 1 ]; then h="srun torchrun train.py"; else h="torchrun train.py"; fi\n'
                   'echo "$h ${args[@]}"\n$h "${args[@]}"\n'},
        {"learning rate": "2e-05 (presumed)", "steps": "2 epochs", "precision": "bfloat16 (presumed)", "method": "unknown"},
    ),
    "a text that grows": (
        {"run.sh": f'ARGS="{_RUN} --learning_rate 2e-5"\nif [ "$1" = x ]; then ARGS="$ARGS --weight_decay 0.1"; fi\n'
                   'for d in a b; do ARGS+=" --extra $d"; done\npython train.py $ARGS\n'},
        {"learning rate": "2e-05 (presumed)", "steps": "2 epochs",
         "effective batch": "not known: batch size, accumulation and processes are not all known (4 a device, 1 processes)"},
    ),
    "a number of steps that a branch decides is not the default of three epochs": (
        {"run.sh": f"{_STEPS}python train.py {_RUN} --max_steps $STEPS --save_steps $STEPS\n"},
        {"steps": "100 (presumed)", "checkpoints": "every 100 steps"},
    ),
    "an evaluation": (
        {"run.sh": f"python run_clm.py {_RUN} --do_eval\n"},
        {"training": "not known: whether it trains without `do_train` is the program's to say", "steps": ""},
    ),
    "a program that is called after what it is for": (
        {"run.sh": f"deepspeed train_dpo.py {_RUN} --beta 0.1\n"},
        {"objective": "dpo (presumed from the program's name)"},
    ),
    "sections of a program's own": (
        {"sft.yaml": "model: {name: Qwen/Qwen2.5-7B, torch_dtype: bfloat16}\nlora: {rank: 16, alpha: 32}\n"
                     "sft:\n  learning_rate: 2.0e-4\n  num_epochs: 2\n  batch_size: 4\n  grad_accum: 8\n  bf16: true\n"
                     "eval: {batch_size: 64, max_length: 9}\n"},
        {"framework": "a program's own settings", "method": "lora (presumed)", "objective": "sft (presumed)", "precision": "bfloat16 (presumed)",
         "learning rate": "0.0002 (presumed)",
         "steps": "2 epochs",
         "effective batch": "not known: batch size, accumulation and processes are not all known (4 a device, 8 accumulated)"},
    ),
    "an own file, flat, of several rates": (
        {"ablation.yaml": "base_model: a/b\nlr: [1.0e-4, 2.0e-4]\nepochs: 3\nmicro_batch_size: 2\nbatch_size: 64\nlora_rank: 8\nmixed_precision: bf16\n"},
        {"method": "lora (presumed)", "precision": "bfloat16 (presumed)", "learning rate": "not known: one of several", "steps": "3 epochs"},
    ),
    "the library's arguments in a section of a program's own file": (
        {"sft.yaml": "model: {model_name: Qwen/Qwen2.5-7B-Instruct, torch_dtype: bfloat16}\nlora: {lora_r: 64, lora_alpha: 128}\n"
                     "training:\n  num_train_epochs: 2\n  per_device_train_batch_size: 2\n  gradient_accumulation_steps: 8\n  learning_rate: 2.0e-5\n"
                     "  warmup_ratio: 0.05\n  optim: adamw_torch\n  save_strategy: epoch\n"},
        {"method": "lora", "learning rate": "2e-05", "steps": "2 epochs", "warm-up steps": "0.05 of all steps", "checkpoints": "epoch"},
    ),
    "nanotron, which pre-trains": (
        {"nanotron.yaml": "general: {project: debug, run: tiny, seed: 42}\nmodel: {dtype: bfloat16, model_config: {hidden_size: 16}}\n"
                          "optimizer: {clip_grad: 1.0, learning_rate_scheduler: {learning_rate: 0.0003, lr_warmup_steps: 2}}\n"
                          "tokens: {batch_accumulation_per_replica: 1, micro_batch_size: 2, sequence_length: 256, train_steps: 15}\n"},
        {"learning rate": "0.0003 (presumed)", "steps": "15 (presumed)", "warm-up steps": "2 (presumed)"},
    ),
    "flags of an own parser have no defaults of the library": (
        {"run.sh": "torchrun train.py --model_name a/b-7b --lr 1e-5 --epochs 3 --batch_size 8 --max_seq_len 2048 --gradient_accumulation_steps 4\n"},
        {"framework": "a program's own settings", "method": "unknown", "learning rate": "1e-05 (presumed)", "steps": "3 epochs",
         "effective batch": "32 (presumed)", "checkpoints": "not known: it may be set outside the files at hand"},
    ),
    "verl, a file": (
        {"ppo.yaml": "data: {train_batch_size: 1024, max_prompt_length: 512}\nactor_rollout_ref:\n  model: {path: Qwen/Qwen2.5-7B, lora_rank: 0}\n"
                     "  actor: {ppo_mini_batch_size: 256, optim: {lr: 1.0e-6}}\n  rollout: {n: 8}\nalgorithm: {adv_estimator: grpo}\n"
                     "trainer: {total_epochs: 15, n_gpus_per_node: 8, nnodes: 1}\n"},
        {"framework": "verl, torch", "method": "full", "objective": "grpo", "learning rate": "1e-06", "steps": "15 epochs", "effective batch": "256"},
    ),
    "verl, a command": (
        {"run.sh": 'python3 -m verl.trainer.main_ppo data.train_batch_size=1024 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B '
                   'actor_rollout_ref.actor.optim.lr=1e-6 actor_rollout_ref.actor.ppo_mini_batch_size=256 +trainer.total_epochs=3 "$@"\n'},
        {"framework": "verl, torch (presumed)", "objective": "ppo (presumed from the program's name)", "learning rate": "1e-06 (presumed)",
         "steps": "3 epochs"},
    ),
    "verl's supervised fine-tuning": (
        {"run.sh": "torchrun --nproc_per_node 8 -m verl.trainer.fsdp_sft_trainer data.train_batch_size=256 data.micro_batch_size_per_gpu=4 "
                   "model.partial_pretrain=Qwen/Qwen2.5-7B optim.lr=1e-5 model.lora_rank=32 trainer.total_epochs=4\n"},
        {"objective": "sft", "method": "lora", "learning rate": "1e-05", "effective batch": "256", "steps": "4 epochs"},
    ),
    "a method of PEFT by its name": (
        {"t.py": _MODEL.replace("CLASS", "AutoModelForSeq2SeqLM").replace("ADAPTER", "IA3Config(task_type='SEQ_2_SEQ_LM')")},
        {"method": "(IA)³", "objective": "seq2seq", "warm-up steps": "none: the rate is constant"},
    ),
    "a prefix": (
        {"t.py": _MODEL.replace("CLASS", "AutoModelForCausalLM").replace("ADAPTER", "PrefixTuningConfig(num_virtual_tokens=8)")},
        {"method": "prefix tuning", "objective": "sft (presumed)"},
    ),
    "speech": (
        {"t.py": _MODEL.replace("CLASS", "AutoModelForCTC").replace("ADAPTER", "AdaLoraConfig(total_step=9)")},
        {"method": "AdaLora", "objective": "CTC"},
    ),
    "a reward model of the program's own": (
        {"t.py": _MODEL.replace("CLASS.from_pretrained", "GPTRewardModel").replace("ADAPTER", "LoraConfig()")},
        {"method": "lora", "objective": "reward (presumed from the program's name)"},
    ),
    "episodes": (
        {"t.py": 'from trl import RLOOConfig, RLOOTrainer\nRLOOTrainer(config=RLOOConfig("out", total_episodes=50000), policy=p)\n'},
        {"steps": "50000 episodes"},
    ),
    "a function that ends before it makes the adapter": ({"t.py": _GUARDED}, {"method": "full (presumed)"}),
    "the same where a caller decides": (
        {"t.py": _GUARDED.replace("use_lora: bool = False", "use_lora: bool")},
        {"method": "not known: `settings.use_lora is False` decides when the program runs"},
    ),
    "one of two adapters, which a constant decides": ({"t.py": _EITHER}, {"method": "(IA)³"}),
    "one of two adapters, which the caller decides": (
        {"t.py": _EITHER.replace("SHORT = True", "import sys\nSHORT = 'short' in sys.argv")},
        {"method": "unknown"},
    ),
    "an option that is off": (
        {"t.py": "import argparse\np = argparse.ArgumentParser()\np.add_argument('--use_lora', action='store_true')\n"
                 "p.add_argument('--lora_r', type=int, default=8)\np.add_argument('--lr', type=float, default=1e-4)\n"
                 "p.add_argument('--epochs', type=int, default=3)\na = p.parse_args()\ntrain(a)\n"},
        {"method": "full (presumed)"},
    ),
    "a trainer that only predicts": (
        {"t.py": "from transformers import AutoModelForCausalLM, Trainer\ntrainer = Trainer(model=AutoModelForCausalLM.from_pretrained('a/b'))\n"
                 "print(trainer.predict(rows))\n"},
        {"training": "none: it evaluates or predicts only", "steps": ""},
    ),
    "a trainer that predicts when it has trained": (
        {"t.py": "from transformers import AutoModelForCausalLM, Trainer\ntrainer = Trainer(model=AutoModelForCausalLM.from_pretrained('a/b'))\n"
                 "trainer.train()\nprint(trainer.predict(rows))\n"},
        {"training": "", "steps": "not known: it depends on the number of rows"},
    ),
    "DeepSpeed's engine": (
        {"t.py": "import deepspeed\nfrom accelerate import Accelerator\naccelerator = Accelerator(mixed_precision='fp16')\n"
                 "engine, *_ = deepspeed.initialize(model=model)\nfor row in rows:\n    engine.backward(engine(row))\n    engine.step()\n"},
        {"framework": "a loop of its own (deepspeed)", "warm-up steps": "not known: it may be set outside the files at hand"},
    ),
    "an evaluation over several processes": (
        {"t.py": "from accelerate import Accelerator\nfrom transformers import AutoModelForCausalLM\naccelerator = Accelerator()\n"
                 "model = AutoModelForCausalLM.from_pretrained('a/b')\nprint(model.generate(rows))\n"},
        {"training": "none: it evaluates or predicts only", "framework": ""},
    ),
    "a model that is loaded, by a program that shows no training": (
        {"t.py": "from unsloth import FastLanguageModel\nmodel, tokenizer = FastLanguageModel.from_pretrained('a/b', max_seq_length=2048)\n"
                 "model.save_pretrained('out')\n"},
        {"training": "not known: nothing that trains stands in this file", "framework": "", "method": "", "steps": ""},
    ),
    "an adapter alone": (
        {"t.py": "from peft import LoraConfig, get_peft_model\nfrom transformers import AutoModelForCausalLM\n"
                 "def build():\n    model = AutoModelForCausalLM.from_pretrained('a/b')\n    return get_peft_model(model, LoraConfig(r=8))\n"},
        {"training": "not known: nothing that trains stands in this file", "framework": "", "method": "lora"},
    ),
    "TRL's PPO whose steps another module calls": (
        {"t.py": "from ours import build, run\nfrom trl import PPOTrainer\nrun(PPOTrainer(build(), model, None, tokenizer, dataset=rows))\n"},
        {"framework": "trl.PPOTrainer.step", "objective": "ppo"},
    ),
    "a model of the program's own, changed on its way": (
        {"t.py": "from ours import RewardModel\nfrom transformers import Trainer, TrainingArguments\n"
                 "model = RewardModel.from_pretrained('a/b')\nif x:\n    model = smaller(model)\n"
                 "Trainer(model=model, args=TrainingArguments('o', learning_rate=1e-5)).train()\n"},
        {"objective": "reward (presumed from the program's name)"},
    ),
    "pre-training by the file's name": (
        {"pretrain_small.py": "from transformers import Trainer, TrainingArguments\nTrainer(model=m, args=TrainingArguments('o')).train()\n"},
        {"objective": "pretrain (presumed from the file's name)"},
    ),
    "switches that are off": ({"train.py": _SWITCHES}, {"method": "full (presumed)", "framework": "transformers.Trainer"}),
    "the same program, switched on by its command": (
        {"train.py": _SWITCHES, "run.sh": f"python train.py {_RUN} --lora_enabled true --qlora_enabled true\n"},
        {"method": "qlora (presumed)", "learning rate": "5e-05 (default)"},
    ),
    "the same, one of the switches": (
        {"train.py": _SWITCHES, "run.sh": f"python train.py {_RUN} --lora_enabled true\n"},
        {"method": "lora (presumed)"},
    ),
    "classes of settings, and nothing else": (
        {"config.py": _CONFIG.replace("USE", "True")},
        {"method": "lora (presumed)", "learning rate": "0.0001 (presumed)", "steps": "3 epochs",
         "effective batch": "not known: batch size, accumulation and processes are not all known (4 a device, 2 accumulated)"},
    ),
    "the same with the adapter off": ({"config.py": _CONFIG.replace("USE", "False")}, {"method": "full (presumed)"}),
    "options of an own loop": (
        {"train.py": _LOOP},
        {"learning rate": "0.0001 (presumed)", "steps": "3 epochs", "precision": "bfloat16"},
    ),
    "an own loop as its command starts it": (
        {"train.py": _LOOP, "run.sh": "accelerate launch train.py --lr 3e-4 --epochs 2 --gradient_accumulation_steps 4\n"},
        {"framework": "a loop of its own (accelerate)", "learning rate": "0.0003 (presumed)", "steps": "2 epochs"},
    ),
    "a release in a script's own metadata": (
        {"train.py": '# /// script\n# dependencies = [\n#   "trl==0.8.6",\n# ]\n# ///\nfrom trl import SFTTrainer\nSFTTrainer(model="a/b").train()\n'},
        {"releases": "trl 0.8.6"},
    ),
    "a flat file of an own program, with two names that a rare class of TRL has": (
        {"rm.yaml": "base_model_name: ./sft\nsave_dir: ./out\ndata_path: a.jsonl\ntrain_batch_size: 2\nmax_steps: 200\nlearning_rate: 1.0e-5\n"
                    "warmup_steps: 10\nmax_length: 256\nmixed_precision: fp16\nlogging_steps: 10\n"},
        {"framework": "a program's own settings", "learning rate": "1e-05 (presumed)", "precision": "float16 (presumed)",
         "effective batch": "not known: batch size, accumulation and processes are not all known (2 a device)"},
    ),
    "the same in the trainer's own words": (
        {"rm.yaml": "model_name_or_path: ./sft\noutput_dir: ./out\nper_device_train_batch_size: 2\nmax_steps: 200\nlearning_rate: 1.0e-5\nfp16: true\n"},
        {"framework": "transformers.Trainer (presumed)", "precision": "float16"},
    ),
    "DeepSpeed's file says rate, batch and warm-up where nothing else does": (
        {"ds.json": '{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "zero_optimization": {"stage": 2},'
                    ' "optimizer": {"type": "AdamW", "params": {"lr": 2e-5}},'
                    ' "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 500}}}\n'},
        {"learning rate": "2e-05", "warm-up steps": "500", "sharding": "ZeRO-2",
         "effective batch": "not known: batch size, accumulation and processes are not all known (4 a device, 2 accumulated)"},
    ),
    "DeepSpeed's file says the whole batch": (
        {"ds.json": '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n'},
        {"effective batch": "64", "learning rate": ""},
    ),
    "a launcher that is told no mixed precision": (
        {"run.sh": "accelerate launch --mixed_precision=no train_text.py --learning_rate 1e-4 --max_train_steps 9 --train_batch_size 1\n"},
        {"precision": "no mixed precision: that of the weights"},
    ),
    "a loop in plain torch: epochs, batch, dtype, and that all of it is trained": (
        {"t.py": _TORCH},
        {"framework": "transformers, a loop of its own (torch)", "method": "full (presumed)", "precision": "bfloat16 (presumed)", "learning rate": "5e-05",
         "steps": "3 epochs", "effective batch": "not known: batch size, accumulation and processes are not all known (8 a device)"},
    ),
    "the same under autocast": (
        {"t.py": _TORCH.replace("loss = model(**batch).loss", 'with torch.autocast("cuda", torch.float16):\n            loss = model(**batch).loss')},
        {"precision": "float16 (presumed)"},
    ),
    "the same under autocast without a dtype, which is float16 on a card": (
        {"t.py": _TORCH.replace("loss = model(**batch).loss", "with torch.cuda.amp.autocast():\n            loss = model(**batch).loss")},
        {"precision": "float16 (presumed)"},
    ),
    "the same under autocast that a switch decides": (
        {"t.py": _TORCH.replace("loss = model(**batch).loss", "with torch.cuda.amp.autocast(enabled=amp):\n            loss = model(**batch).loss")},
        {"precision": "not known: a switch decides whether products are cast"},
    ),
    "the same with an adapter of another module": (
        {"t.py": _TORCH.replace("for epoch", "model = add_lora(model)\nfor epoch")},
        {"method": "unknown", "steps": "3 epochs"},
    ),
    "the same in a function that is called with the epochs": (
        {"t.py": _TORCH.replace("for epoch", "def fit(model, epochs=1):\n  for epoch").replace("range(3)", "range(epochs)") + "fit(model, epochs=4)\n"},
        {"steps": "4 epochs"},
    ),
    "the same from an epoch on": ({"t.py": _TORCH.replace("range(3)", "range(1, 6)")}, {"steps": "5 epochs"}),
    "the same with loaders of two sizes": (
        {"t.py": _TORCH + "more = DataLoader(rows, batch_size=16)\n"},
        {"effective batch": "not known: batch size, accumulation and processes are not all known"},
    ),
    "a loader that measures is none of the training": (
        {"t.py": _TORCH.replace("loader =", "val_loader = DataLoader(rows, batch_size=64)\nloader =")},
        {"effective batch": "not known: batch size, accumulation and processes are not all known (8 a device)"},
    ),
    "a trainer takes no step of a loop beside it": (
        {"t.py": _MODEL.replace("CLASS", "AutoModelForCausalLM").replace("ADAPTER", "LoraConfig(task_type='CAUSAL_LM')")
                 + "for epoch in range(9):\n    print(epoch)\n"},
        {"steps": "3 epochs (default)"},
    ),
    "what a call in Python says of do_train the Trainer never reads": (
        {"t.py": "import json\nfrom transformers import Trainer, TrainingArguments\nc = json.load(open('c.json'))\n"
                 "Trainer(model=m, args=TrainingArguments('o', do_train=c.get('do_train', True), learning_rate=2e-5)).train()\n"},
        {"learning rate": "2e-05", "method": "full (presumed)"},
    ),
    "four bits under a program's own names": (
        {"q.yaml": "base_model: a/b-7b\nmethod: qlora\nlr: 2.0e-4\nepochs: 1\nbatch_size: 2\nlora: {r: 16, alpha: 32}\n"
                   "quantization: {enabled: true, load_in_4bit: true, compute_dtype: float16}\n"},
        {"precision": "float16 in the 4-bit layers, else not known", "method": "qlora (presumed)"},
    ),
    "the same switched off": (
        {"q.yaml": "base_model: a/b-7b\nmethod: lora\nlr: 2.0e-4\nepochs: 1\nbatch_size: 2\nlora: {r: 16, alpha: 32}\n"
                   "quantization: {load_in_4bit: false, compute_dtype: float16}\n"},
        {"precision": "not known: neither fp16 nor bf16 is known"},
    ),
    "verl's command says the objective itself, whatever its program is called": (
        {"run.sh": 'python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=256 "$@"\n'},
        {"objective": "grpo (presumed)"},
    ),
    "a file that is called after distilling": (
        {"distill_config.yaml": "base_model: a/b-7b\nlr: 2.0e-4\nepochs: 1\nbatch_size: 2\nmax_length: 512\ngradient_accumulation_steps: 2\n"},
        {"objective": "distillation (presumed from the file's name)"},
    ),
    "a release that is stated": (
        {"run.sh": f"python train.py {_RUN}\n", "requirements.txt": "transformers==4.37.2\n"},
        {"releases": "transformers 4.37.2"},
    ),
}  # fmt: skip


def test_a_name_of_ones_own_draws_no_warning(tmp_path: Path) -> None:
    """`lr: 1e-5` is text for a plain reader of YAML; whether this program makes a number of it, nobody has seen."""
    files = {
        "own.yaml": "model_name_or_path: Qwen/Qwen2.5-7B\nlr: 1e-5\nepochs: 2\nbatch_size: 2\ngradient_accumulation_steps: 2\nmixed_precision: bf16\n"
    }
    assert rules(inspected(tmp_path, files), "error", "warning") == set()


@pytest.mark.parametrize(("files", "said"), SAID.values(), ids=SAID)
def test_at_first_sight(files: Files, said: dict[str, str], tmp_path: Path) -> None:
    (run,) = runs(tmp_path, files)
    words = in_words(Checked(run).newest)
    assert {label: words.get(label, "") for label in said} == said


# A program with arguments and an adapter of its own, started with a flag that TRL's scripts have as well.
_OWN_ADAPTER = """
from dataclasses import dataclass
from peft import LoraConfig
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, HfArgumentParser, TrainingArguments
from trl import SFTTrainer
@dataclass
class ScriptArguments:
    model_name: str = "org/base"
    dataset_name: str = "x"
    rank: int = 8
script, args = HfArgumentParser((ScriptArguments, TrainingArguments)).parse_args_into_dataclasses()
adapter = LoraConfig(r=script.rank, target_modules=["q_proj"], task_type="CAUSAL_LM")
model = AutoModelForCausalLM.from_pretrained(script.model_name, quantization_config=BitsAndBytesConfig(load_in_4bit=True))
SFTTrainer(model=model, train_dataset=rows(script.dataset_name), peft_config=adapter, args=args).train()
"""


@pytest.mark.parametrize("flag", ["--dataset_name=rows ", ""])
def test_the_adapter_that_a_program_builds_is_its_method(tmp_path, flag):
    files = {
        "train.py": _OWN_ADAPTER,
        "run.sh": f"python train.py {flag}--output_dir=o --per_device_train_batch_size=2\n",
    }
    (run,) = runs(tmp_path, files)
    assert in_words(Checked(run).newest)["method"] == "qlora"
