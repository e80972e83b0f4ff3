"""Files that a command brings together: what it overrides in its file, what its file may say, and what it reads into itself."""

from __future__ import annotations

from typing import Any

import pytest

from stablint.run.fact import ABSENT, Explicit, is_unknown
from tests.runs import inspected, rules, runs, world

AXOLOTL = """\
base_model: Qwen/Qwen2-7B-Instruct
datasets: [{path: d, type: alpaca}]
sequence_len: 2048
micro_batch_size: 2
gradient_accumulation_steps: 4
num_epochs: 1
learning_rate: 1e-5
optimizer: adamw_torch
bf16: true
output_dir: ./o
"""
RECIPE = "model_name_or_path: Qwen/Qwen2-7B-Instruct\ndataset_name: d\nlearning_rate: 2.0e-5\nmax_length: 2048\noutput_dir: o\n"


def fact(run: Any, name: str) -> Any:
    found = run.explicit.get(name)
    return ABSENT if found is None else "?" if is_unknown(found.value) else found.value


OVERRIDES = [
    "axolotl train c.yaml --learning-rate 3e-5 --micro-batch-size 8 --trl.beta 0.2 --launcher torchrun",
    "axolotl train c.yaml --learning_rate=3e-5 --micro_batch_size=8 --trl.beta=0.2 -- --nproc_per_node 2",
    "accelerate launch -m axolotl.cli.train c.yaml --learning_rate 3e-5 --micro_batch_size 8 --trl.beta 0.2",
    "python -m axolotl.cli.train c.yaml --learning-rate 3e-5 --micro-batch-size 8 --trl.beta 0.2",
]


@pytest.mark.parametrize("command", OVERRIDES)
def test_flags_of_axolotl_are_keys_of_its_file(tmp_path, command):
    (run,) = runs(tmp_path, {"train.sh": command, "c.yaml": AXOLOTL})
    assert (run.framework, run.dialects[0]) == ("axolotl", "axolotl")
    said = {"learning_rate": 3e-5, "per_device_train_batch_size": 8, "num_train_epochs": 1, "beta": 0.2}
    assert {name: fact(run, f"training.{name}") for name in said} == said
    assert fact(run, "training.launcher") is ABSENT


def test_other_commands_of_axolotl_train_nothing(tmp_path):
    (run,) = runs(tmp_path, {"p.sh": "axolotl preprocess c.yaml --learning-rate 3e-5", "c.yaml": AXOLOTL})
    assert (run.files, fact(run, "training.learning_rate")) == (("c.yaml",), 1e-5)


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [
        (RECIPE, set()),
        (RECIPE + "num_train_epoch: 3\n", {"trl-unknown-file-key"}),
        (RECIPE + "beta: 0.1\n", {"trl-unfamiliar-file-key"}),
        (RECIPE + "num_processes: 4\nenv: {A: 1}\naccelerate_config: zero2\n", set()),
        (RECIPE + "num_train_epochs: 3\nlora_r: 8\ndataset_train_split: train\n", set()),
    ],
)
def test_a_file_of_trl_s_command_has_that_command_s_arguments(tmp_path, recipe, expected):
    found = inspected(tmp_path, {"train.sh": "trl sft --config sft.yaml --learning_rate 1e-5", "sft.yaml": recipe})
    (run,) = found.runs
    assert {rule for rule in rules(found) if rule.startswith(("trl-un", "recipe-"))} == expected
    assert run.classes["training"][0] == "trl.SFTConfig"
    assert (run.scopes["training"], fact(run, "training.learning_rate")) == ("closed", 1e-5)


def test_another_script_s_file_may_have_more(tmp_path):
    found = inspected(tmp_path, {"train.sh": "python my_sft.py --config sft.yaml", "sft.yaml": RECIPE + "beta: 0.1\n"})
    assert not {rule for rule in rules(found) if rule.startswith("trl-un")}


# What a script does with `common.sh`, and the rate that is known then.
SOURCED = [
    ("source common.sh", 3e-5),
    (". ./common.sh", 3e-5),
    ('source "$(dirname "$0")/common.sh"', 3e-5),
    ('HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"\nsource "${HERE}/common.sh"', 3e-5),
    ("source common.sh\nLR=1e-6", 1e-6),
    ("LR=1e-6\nsource common.sh", 3e-5),
    ("source missing.sh", "?"),
    ("source $1", "?"),
    ("source ../common.sh", "?"),
    ("if [ -n \"$X\" ]; then source common.sh; fi", "?"),
    ("(source common.sh)", "?"),
]  # fmt: skip


@pytest.mark.parametrize(("head", "rate"), SOURCED)
def test_what_a_script_reads_into_itself(tmp_path, head, rate):
    launch = "python t.py --model_name_or_path Qwen/Qwen2-7B --output_dir o --learning_rate $LR --fp16 True ${MORE[@]}"
    common = "#!/bin/bash\nexport LR=3e-5 OMP_NUM_THREADS=8\nMORE=(--num_train_epochs 3)\nsource common.sh\n"
    found = runs(tmp_path, {"train.sh": f"{head}\n{launch}\n", "common.sh": common})
    (run,) = found
    assert fact(run, "training.learning_rate") == rate
    if rate == 3e-5:
        assert (fact(run, "launch.env.OMP_NUM_THREADS"), fact(run, "training.num_train_epochs")) == ("8", 3)
        origin = run.explicit["training.learning_rate"].origin
        assert isinstance(origin, Explicit)
        text, place = origin.place.document.text.text, origin.place
        assert text[place.start : place.end] == "$LR"
        assert place.entry is not None and not place.entry.value.editable


# What a program takes from its caller, the flags that it is started with, and what is known then.
PROGRAM = """\
import argparse
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments
parser = argparse.ArgumentParser()
parser.add_argument("--model_name_or_path")
parser.add_argument("--learning_rate", type=float, default=1e-5)
parser.add_argument("--bits", type=int, default=16)
parser.add_argument("--lr", type=float, default=1e-5)
args = parser.parse_args()
b = BitsAndBytesConfig(load_in_4bit=args.bits == 4)
model = AutoModelForCausalLM.from_pretrained(args.model_name_or_path, quantization_config=b)
training = TrainingArguments("o", learning_rate=RATE, bf16=True, per_device_train_batch_size=2)
Trainer(model, training).train()
"""
STARTED = [
    ("args.learning_rate", "--learning_rate 3e-5", "training.learning_rate", 3e-5),
    ("args.lr", "--lr 3e-5", "training.learning_rate", 3e-5),
    ("args.lr", "", "training.learning_rate", 1e-5),
    ("args.learning_rate * 2", "--learning_rate 3e-5", "training.learning_rate", "?"),
    ("args.lr", "--model_name_or_path Qwen/Qwen2-7B", "model.name_or_path", "Qwen/Qwen2-7B"),
    ("args.lr", "--bits 4", "quantization.load_in_4bit", "?"),
    (
        "args.lr",
        "--bits 4 --vision_tower a",
        "quantization.load_in_4bit",
        "?",
    ),  # LLaVA's flags, but no program of LLaVA's
]


@pytest.mark.parametrize(("rate", "flags", "name", "value"), STARTED)
def test_what_a_program_takes_from_the_command_that_starts_it(tmp_path, rate, flags, name, value):
    program = PROGRAM.replace("RATE", rate)
    (run,) = runs(tmp_path, {"go.sh": f"python train.py --output_dir o --bf16 True {flags}\n", "train.py": program})
    assert fact(run, name) == value


OPEN_INSTRUCT = "--with_tracking --add_bos --mixer_list d 1.0 --model_name_or_path Qwen/Qwen2-7B --learning_rate 5e-7 --output_dir o"
PROGRAMS = [
    ("open_instruct/finetune.py", "", ("full", "sft")),
    ("open_instruct/dpo_tune_cache.py", "", ("full", "dpo")),
    ("open_instruct/dpo_tune_cache.py", "--use_lora", ("lora", "dpo")),
    ("open_instruct/dpo_tune_cache.py", "--use_lora --use_qlora", ("qlora", "dpo")),
    ("open_instruct/grpo_fast.py", "--beta 0", ("full", "grpo")),
]


@pytest.mark.parametrize(("program", "flags", "expected"), PROGRAMS)
def test_open_instruct_s_programs_say_what_they_train_for(tmp_path, program, flags, expected):
    source = "from peft import LoraConfig\nif args.use_lora:\n    config = LoraConfig(r=args.lora_rank)\n"
    found = world(tmp_path, {"go.sh": f"accelerate launch {program} {OPEN_INSTRUCT} {flags}\n", program: source})
    assert (found.value("derived.method"), found.value("derived.objective")) == expected


@pytest.mark.parametrize(
    ("more", "objective"), [("", "sft"), ("loss_type: dpo_norm\n", "dpo"), ("dpo_beta: 0.1\n", "dpo")]
)
def test_open_instruct_s_files_say_it_by_their_keys(tmp_path, more, objective):
    recipe = "model_name_or_path: m\nwith_tracking: true\nuse_slow_tokenizer: true\ndataset_mixer: {a: 1.0}\nlearning_rate: 1.0e-5\n"
    assert world(tmp_path, {"t.yaml": recipe + more}).value("derived.objective") == objective


LLAVA = "deepspeed llava/train/train_mem.py --model_name_or_path a/b --vision_tower c --mm_projector_type mlp --output_dir o --learning_rate 1e-5 --bf16 True"


@pytest.mark.parametrize(
    ("flags", "method"), [("", "full"), ("--lora_enable True", "lora"), ("--lora_enable True --bits 4", "qlora")]
)
def test_llava_s_switches(tmp_path, flags, method):
    source = (
        "from peft import LoraConfig\nfrom transformers import BitsAndBytesConfig\nparser = HfArgumentParser()\n"
        "if training_args.lora_enable:\n    config = LoraConfig(r=training_args.lora_r)\n"
        "b = BitsAndBytesConfig(load_in_4bit=training_args.bits == 4)\n"
    )
    found = world(tmp_path, {"go.sh": f"{LLAVA} {flags}\n", "llava/train/train_mem.py": source})
    assert found.value("derived.method") == method


# How a program writes a DeepSpeed file that its arguments name, and what is known of it.
SAVED = [
    ('json.dump(ds, open("ds.json", "w"))', 3),
    ('with open("ds.json", "w") as f:\n    json.dump(ds, f, indent=2)', 3),
    ('f = open("ds.json", "w")\njson.dump(obj=ds, fp=f)', None),  # the data has no place of its own
    ('f = open("ds.json", "w")\njson.dump(ds, fp=f)', 3),
    ('Path("ds.json").write_text(json.dumps(ds))', 3),
    ('with Path("ds.json").open("w") as f:\n    f.write(json.dumps(ds))', 3),
    ('NAME = "ds.json"\nwith open(NAME, "w") as f:\n    json.dump(ds, f)', 3),
    ('ds["zero_optimization"] = {"stage": 2}\njson.dump(ds, open("ds.json", "w"))', 2),
    ('json.dump({**ds, **more}, open("ds.json", "w"))', None),
    ('json.dump(ds, open(sys.argv[1], "w"))', None),
    ('json.dump(ds, open("results.txt", "w"))', None),
    ('(Path(sys.argv[1]) / "ds.json").write_text(json.dumps(ds))', 3),  # presumed, wherever the folder is
]


@pytest.mark.parametrize(("writes", "stage"), SAVED)
def test_files_that_a_program_writes(tmp_path, writes, stage):
    head = 'import json, sys\nfrom pathlib import Path\nfrom transformers import Trainer, TrainingArguments\nds = {"zero_optimization": {"stage": 3}}\n'
    tail = '\nTrainer("m", TrainingArguments("o", deepspeed="ds.json", bf16=True))\n'
    (run,) = runs(tmp_path, {"train.py": head + writes + tail})
    found = run.explicit.get("deepspeed.zero_optimization.stage")
    assert (found.value if found else None) == stage


@pytest.mark.parametrize("path", ['ROOT / "run.yaml"', 'os.path.join(ROOT, "run.yaml")', 'Path("run.yaml")'])
def test_a_written_config_is_read_wherever_its_folder_is(tmp_path, path):
    source = (
        "import os, sys, yaml\nfrom pathlib import Path\nROOT = Path(sys.argv[1])\n"
        "c = {'base_model': 'a/b', 'micro_batch_size': 1, 'sequence_len': 4096, 'datasets': [{'path': 'x', 'type': 'alpaca'}], 'learning_rate': 2e-5}\n"
        f"path = {path}\nwith open(path, 'w') as file:\n    yaml.dump(c, file)\n"
    )
    (run,) = runs(tmp_path, {"make.py": source})
    assert run.framework == "axolotl" and run.explicit["training.max_length"].value == 4096


def test_a_written_config_is_mended_where_the_program_has_it(tmp_path):
    from stablint.config.options import options
    from stablint.engine.repair import repair

    source = (
        "import json\nargs = dict(\n  model_name_or_path='Qwen/Qwen2-7B-Instruct', stage='sft',  # first\n  finetuning_type='lora',\n"
        "  template='qwen', output_dir='o', learning_rate=1e-4,\n  max_seq_length=512,  # tokens\n)\n"
        "json.dump(args, open('a.json', 'w'), indent=2)\n"
    )
    (tmp_path / "make.py").write_text(source, encoding="utf-8")
    (tmp_path / "go.sh").write_text("llamafactory-cli train a.json\n", encoding="utf-8")
    done = repair(["make.py"], options(), unsafe=True, base=str(tmp_path))
    (after,) = done.texts.values()
    assert after.text == source.replace("max_seq_length", "cutoff_len")


def test_of_duplicate_sections_the_last_holds_with_all_that_is_below(tmp_path):
    file = '{"zero_optimization": {"stage": 3, "overlap_comm": true}, "zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}'
    (run,) = runs(tmp_path, {"ds.json": file})
    assert (fact(run, "deepspeed.zero_optimization.stage"), fact(run, "deepspeed.zero_optimization.overlap_comm")) == (
        2,
        ABSENT,
    )


@pytest.mark.parametrize("last", ["{}", "null", "[]"])
def test_of_duplicate_sections_the_last_holds_where_it_is_empty(last, tmp_path):
    file = f"output_dir: out\nlearning_rate: 1e-5\nfsdp: full_shard\nfsdp_config: {{offload_params: true}}\nfsdp_config: {last}\n"
    (run,) = runs(tmp_path, {"train.yaml": file})
    assert fact(run, "fsdp.offload_params") is ABSENT


def test_two_programs_of_one_run_may_import_the_same_name(tmp_path):
    source = (
        "from transformers import AdamW, Trainer, TrainingArguments\nTrainer('m', TrainingArguments('o', bf16=True))\n"
    )
    files = {
        "go.sh": "torchrun --nproc_per_node 2 train.py --config a.py --output_dir o --bf16 True\npython train.py b.py\n"
    }
    found = inspected(tmp_path, {**files, "train.py": source, "a.py": source, "b.py": source})
    assert found.runs


# A module that a command starts by its name, where it lies, and from which folder above the script it is named.
MODULES = [
    ("python3 -m src.cli.train", "hw/scripts/run.sh", "hw/src/cli/train.py"),
    ("torchrun --nproc_per_node 8 -m kit.train.sft", "jobs/run.sh", "kit/train/sft.py"),
    ("accelerate launch --num_processes 8 --module kit.sft", "run.sh", "kit/sft/__main__.py"),
]


@pytest.mark.parametrize(("start", "script", "program"), MODULES)
def test_a_module_that_is_named_is_the_program(start, script, program, tmp_path):
    flags = "--learning_rate 1e-5 --micro_train_batch_size 8 --train_batch_size 256 --zero_stage 2 --test_path a.jsonl --pretrain a/b --save_path o"
    source = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--test_path')\np.add_argument('--learning_rate', type=float)\n"
    files = {script: f"{start} {flags}\n", program: source + "a = p.parse_args()\nloss.backward()\n"}
    found = inspected(tmp_path, files)
    (run,) = found.runs
    assert run.explicit["launch.loop"].value == "torch"
    assert run.framework != "openrlhf" and "framework-argument-unfamiliar" not in rules(found)


ZERO = '{"fp16": {"enabled": true}, "zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}'
LOADS = "from transformers import AutoModelForCausalLM\nm = AutoModelForCausalLM.from_pretrained('a/b')\n"
OPTIONS = ['"--ds_config", default="old.json"', '"--ds_config", type=str', '"--zero_file", type=str, required=True']


@pytest.mark.parametrize("option", OPTIONS)
def test_a_file_of_deepspeed_is_joined_by_an_option_of_the_program_s_own(option, tmp_path):
    name = option.partition(",")[0].strip('"-')
    source = (
        "import argparse\nfrom transformers import Trainer, TrainingArguments\n"
        f"p = argparse.ArgumentParser()\np.add_argument({option})\np.add_argument('--lr', type=float)\na = p.parse_args()\n"
        f"Trainer(m, TrainingArguments('o', fp16=True, learning_rate=a.lr, weight_decay=a.lr * 2, deepspeed=a.{name})).train()\n"
    )
    run_sh = f"deepspeed train.py --gradient_accumulation_steps 16 --lr 5e-5 --num_epochs 5 --{name} ds.json\n"
    found = inspected(tmp_path, {"run.sh": run_sh, "train.py": source, "ds.json": ZERO, "other.py": LOADS})
    run = next(one for one in found.runs if "launch.loop" in one.explicit)
    assert run.explicit["deepspeed.fp16.enabled"].value is True and not run.explicit["deepspeed.fp16.enabled"].presumed
    assert run.explicit["training.learning_rate"].value == 5e-5
    assert is_unknown(run.explicit["training.weight_decay"].value)
