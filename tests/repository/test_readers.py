# ruff: noqa: E501
"""Repositories that read their configurations by programs of their own, though the keys look like a framework's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import inspected, rules

RECIPE = """model_name_or_path: Qwen/Qwen2.5-7B-Instruct
stage: sft
finetuning_type: lora
lora_target: all
template: qwen
cutoff_len: 1024
output_dir: o
learning_rate: 1.0e-4
eval_strategy: steps
"""
OWN_KEYS = RECIPE + "quant_bit: 4\nrows_for_evaluation: 0.1\n"
DATACLASSES = """from dataclasses import dataclass
from transformers import HfArgumentParser, Seq2SeqTrainingArguments
@dataclass
class TuningArguments:
    stage: str = "sft"
    finetuning_type: str = "lora"
    lora_target: str = "all"
    quant_bit: int = 16
    template: str = "qwen"
    cutoff_len: int = 512
    rows_for_evaluation: float = 0
HfArgumentParser((TuningArguments, Seq2SeqTrainingArguments))
"""
DICT = """import json
config = json.load(open("c.json"))
train(length=config["max_seq_length"], rate=config["learning_rate"], warm=config.get("warmup_ratio"), every=config["evaluation_strategy"])
"""
HANDS_ON = """import json
from trl import SFTConfig
config = SFTConfig(**json.load(open("c.json")))
"""
JSON = """{"model_name_or_path": "a/b", "dataset_name": "d", "output_dir": "o", "learning_rate": 1e-5, "per_device_train_batch_size": 2,
 "max_seq_length": 4096, "warmup_ratio": 0.1, "evaluation_strategy": "no"}"""


@pytest.mark.parametrize(
    ("program", "framework", "told"),
    [
        ({"own/arguments.py": DATACLASSES}, "transformers", False),
        (
            {"src/llamafactory/hparams/finetuning_args.py": DATACLASSES},
            "llamafactory",
            True,
        ),  # the framework's own sources; rows to evaluate on are missing there as well
        ({}, "llamafactory", True),
        (
            {"own/other.py": "from dataclasses import dataclass\n@dataclass\nclass Other:\n    stage: str = ''\n"},
            "llamafactory",
            True,
        ),
    ],
)
def test_dataclasses_of_the_repository_own_the_keys_that_they_declare(tmp_path, program, framework, told):
    found = inspected(tmp_path, {"recipes/sft.yaml": OWN_KEYS, ".git/HEAD": "", **program})
    (run,) = (run for run in found.runs if "recipes/sft.yaml" in run.files)
    assert run.framework == framework
    assert bool(rules(found, "error")) is told
    assert run.explicit["training.finetuning_type"].value == "lora"


def test_the_program_is_found_when_its_file_alone_is_checked(tmp_path):
    files = {"recipes/sft.yaml": OWN_KEYS, ".git/HEAD": "", "own/arguments.py": DATACLASSES}
    inspected(tmp_path, files)
    from stablint.config.options import options
    from stablint.engine.inspect import inspect

    alone = inspect([str(tmp_path / "recipes" / "sft.yaml")], options(), base=str(tmp_path))
    assert not rules(alone, "error")


@pytest.mark.parametrize(("program", "own"), [(DICT, True), (HANDS_ON, False), ("", False)])
def test_keys_that_a_program_takes_one_by_one_have_no_newer_names(tmp_path, program, own):
    found = inspected(tmp_path, {"c.json": JSON, "train.py": program, ".git/HEAD": ""})
    assert bool(rules(found) & {"setting-renamed"}) is not own


WHOLE = """model_name_or_path: Qwen/Qwen2.5-7B
output_dir: o
training_stage: sft
num_epochs: 3.0
learning_rate: 5e-5
lr_scheduler_type: cosine
warmup_ratio: 0.1
cutoff_len: 1024
train_model_precision: bf16
finetuning_type: full
save_steps: 100
gradient_accumulation_steps: 4
train_micro_batch_size_per_gpu: 4
"""
TYPED = """import argparse, sys, yaml
cfg = yaml.safe_load(open(sys.argv[1]))
parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float, default=cfg.get("learning_rate", 1e-4))
for key in ({keys}):
    parser.add_argument("--" + key, default=cfg[key])
run(cfg.get("model_name_or_path"), {more})
"""
MORE = ", ".join(f'cfg.get("{line.split(":")[0]}")' for line in WHOLE.splitlines())
SAME_NAMES = """from dataclasses import dataclass
@dataclass
class TrainConfig:
    training_stage: str = "sft"
    num_epochs: float = 3
    cutoff_len: int = 512
    train_model_precision: str = "bf16"
"""


@pytest.mark.parametrize(("more", "told"), [(MORE, False), ("None", True)])
def test_what_takes_all_keys_is_the_reader_and_no_class_of_the_same_names(tmp_path, more, told):
    files = {"args.py": TYPED.format(keys="", more=more), "config.py": SAME_NAMES, "sft.yaml": WHOLE, ".git/HEAD": ""}
    assert ("number-as-text" in rules(inspected(tmp_path, files), "warning")) is told


@pytest.mark.parametrize("name", ["tests/fixtures.py", "test_config.py", "pkg/test/reader.py", "conftest.py"])
def test_a_test_reads_no_configuration_for_a_training(tmp_path, name):
    of_program, of_test = (
        inspected(tmp_path / folder, {"sft.yaml": OWN_KEYS, ".git/HEAD": "", path: DATACLASSES}).runs[0].framework
        for folder, path in (("one", "arguments.py"), ("two", name))
    )
    assert of_program != "llamafactory"
    assert of_test == "llamafactory"


def test_arguments_that_another_module_declares_are_the_program_s(tmp_path):
    parser = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--evaluation_strategy')\ndef get_args():\n    return p.parse_args()\n"
    command = "torchrun pkg/train.py --evaluation_strategy steps,epoch --learning_rate 1e-4 --num_train_epochs 3 --output_dir o\n"
    main = "from pkg.arguments import get_args\nfrom pkg.loop import train\ntrain(get_args())\n"
    loop = "from accelerate import Accelerator\ndef train(args):\n    accelerator = Accelerator()\n"
    found = inspected(
        tmp_path, {"run.sh": command, "pkg/train.py": main, "pkg/arguments.py": parser, "pkg/loop.py": loop}
    )
    assert not rules(found, "error", "warning")
    (run,) = (run for run in found.runs if "run.sh" in run.files)
    assert run.explicit["launch.loop"].value == "accelerate"


AXOLOTL = """base_model: meta-llama/Llama-3.1-8B
datasets: [a, b]
sequence_len: 2048
micro_batch_size: 2
lora_r: 16
learning_rate: 1.0e-4
my_sampler: weighted
"""
TAKER = """import yaml
cfg = yaml.safe_load(open("cfg.yaml"))
start(cfg["base_model"], cfg["datasets"], cfg["my_sampler"], length=cfg["sequence_len"], rows=cfg["micro_batch_size"])
"""


@pytest.mark.parametrize(
    ("files", "told"), [({"run.py": TAKER}, False), ({"run.py": "import yaml\n"}, True), ({}, True)]
)
def test_a_program_that_takes_axolotls_keys_one_by_one_owns_them(tmp_path, files, told):
    found = inspected(tmp_path, {"cfg.yaml": AXOLOTL, ".git/HEAD": "", **files})
    assert ("axolotl-unread-key" in rules(found, "warning")) is told


LITGPT = """out_dir: out
precision: 16-mixed
tokenizer_dir: data/tokenizer
strategy: auto
devices: 1
optimizer: {class_path: torch.optim.AdamW}
train:
  global_batch_size: 8
  micro_batch_size: 1
  max_tokens: 1000
  gradient_checkpointing: true
"""
LOOP = """import argparse, yaml
from litgpt.model import GPT
parser = argparse.ArgumentParser()
parser.add_argument("--train-config", default="configs/kaggle.yaml")
cfg = yaml.safe_load(open(parser.parse_args().train_config))
fit(GPT, cfg["precision"], cfg.get("strategy"), cfg["train"], cfg.get("devices", 1))
"""


@pytest.mark.parametrize(("files", "told"), [({"run_train.py": LOOP}, False), ({}, True)])
def test_a_loop_that_takes_its_model_from_litgpt_owns_its_file(tmp_path, files, told):
    found = inspected(tmp_path, {"configs/local.yaml": LITGPT, ".git/HEAD": "", **files})
    assert ("litgpt-unknown-argument" in rules(found, "error")) is told


TAKES_FIVE = TAKER.replace('open("cfg.yaml")', "{opened}")


@pytest.mark.parametrize(
    ("opened", "own"),
    [
        ('open("cfg.yaml")', True),
        ('open("conf/cfg.yaml", encoding="utf-8")', True),
        ('open("other.yaml")', False),
        ('load_text("other.yaml")', False),
        ("open(sys.argv[1])", True),
        ('open(sys.argv[1])), json.dump({}, open("metrics.json", "w")', True),  # written, not read
        ('open(parsed("--config", default="cfg.yaml"))', True),
        ('open(parsed("--config", default="conf/base.yaml"))', True),  # another of its folder
        ('open(parsed("--config", default="other/base.yaml"))', False),
    ],
)
def test_a_program_that_names_its_files_reads_no_others(tmp_path, opened, own):
    program = TAKES_FIVE.replace("{opened}", opened)
    found = inspected(tmp_path, {"conf/cfg.yaml": AXOLOTL, ".git/HEAD": "", "run.py": program})
    assert ("axolotl-unread-key" in rules(found, "warning")) is not own


TRL = """model_name_or_path: meta-llama/Llama-2-7b-hf
dataset_name: org/data
use_peft: true
lora_target_modules: [all]
learning_rate: 1.0e-4
max_seq_length: 2048
packing: true
"""


@pytest.mark.parametrize(
    ("program", "own"),
    [
        ("import sys, yaml\nfrom types import SimpleNamespace\nc = SimpleNamespace(**yaml.safe_load(open(sys.argv[1])))\n"
         "train(c.model_name_or_path, c.learning_rate, c.packing, c.use_peft)\n", True),
        ("import sys, yaml\nfrom types import SimpleNamespace\nc = SimpleNamespace(**yaml.safe_load(open(sys.argv[1])))\n"
         "train(c.model_name_or_path, c.learning_rate, c.packing)\n", False),  # three of seven: another file's, more likely
        ("import yaml\nfrom easydict import EasyDict\nc = EasyDict(yaml.safe_load(open('c.yaml')))\ntrain(c.use_peft, c.packing, c.dataset_name)\n", True),
        ("from omegaconf import OmegaConf\nfrom ours import build\nbuild(OmegaConf.load('c.yaml')).run()\n", True),
        ("import yaml\nfrom ours import build\nbuild(yaml.safe_load(open('other.yaml'))).run()\n", False),
        ("import yaml\nfrom trl import SFTConfig\nconfig = SFTConfig(output_dir='o', **yaml.safe_load(open('c.yaml')))\n", False),
        ("import yaml\nfrom llamafactory.train.tuner import run_exp\nrun_exp(yaml.safe_load(open('c.yaml')))\n", False),
    ],
)  # fmt: skip
def test_a_file_that_the_program_loads_itself_is_no_recipe_of_trl(tmp_path, program, own):
    found = inspected(tmp_path, {"c.yaml": TRL, "train.py": program, ".git/HEAD": ""})
    assert bool(rules(found, "error", "warning") & {"setting-renamed", "trl-single-lora-target"}) is not own


DS = '{"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 5}}'
EDITS = {
    "a key is set": 'config = json.load(open("ds.json"))\nconfig["gradient_clipping"] = 0.0\ndeepspeed.initialize(config=config)',
    "a key of a block is set": 'config = json.load(open("ds.json"))\nconfig["zero_optimization"]["stage"] = 2\ndeepspeed.initialize(config=config)',
    "a key is taken out": 'with open("ds.json") as file: plan: dict = json.load(file)\nplan.pop("zero_optimization")',
    "a dict is laid over it": 'config = json.load(open("ds.json"))\ndeepspeed.initialize(config={**config, **more})',
    "the reader's function alone is imported": 'from hjson import load\nconfig = load(open("ds.json"))\nconfig.pop("zero_optimization")',
    "the caller names the file": "config = json.load(open(args.ds))\nconfig.update(more)\ndeepspeed.initialize(config=config)",
    "a function makes another of it": 'config = json.load(open("ds.json"))\nconfig = cleaned(config)\ndeepspeed.initialize(config=config)',
    "a function of a module is given it": 'config = json.load(open("ds.json"))\nconfig = ours.cleaned(config, stage=2)\ndeepspeed.initialize(config=config)',
    "its text is changed": 'config = json.load(open("ds.json"))\nconfig = json.loads(json.dumps(config).replace("5", "2"))\ndeepspeed.initialize(config=config)',
    "another module may change it": 'from ours import clean\nconfig = json.load(open("ds.json"))\nclean(config)\ndeepspeed.initialize(config=config)',
}
LEFT_ALONE = {
    "nothing is changed": 'config = json.load(open("ds.json"))\ndeepspeed.initialize(config=config)',
    "it is shown": 'from pprint import pprint\nconfig = json.load(open("ds.json"))\nprint(config)\ndeepspeed.initialize(config=config)',
    "another file is changed": 'rows = json.load(open("rows.json"))\nrows["x"] = 2\ndeepspeed.initialize(config="ds.json")',
    "rows are changed": 'rows = json.load(open(args.rows))\nrows[0]["x"] = 2\nTrainer(model)',
}


@pytest.mark.parametrize("body", EDITS.values(), ids=EDITS)
def test_what_a_program_changes_before_it_hands_it_on_makes_no_error(tmp_path, body):
    found = inspected(tmp_path, {"ds.json": DS, "train.py": f"import json, deepspeed\n{body}\n", ".git/HEAD": ""})
    assert {one.hazard.id: one.severity for one in found.findings}["deepspeed-stage-unknown"] == "warning"


@pytest.mark.parametrize("body", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_no_program_changes_stays_an_error(tmp_path, body):
    found = inspected(tmp_path, {"ds.json": DS, "train.py": f"import json, deepspeed\n{body}\n", ".git/HEAD": ""})
    assert {one.hazard.id: one.severity for one in found.findings}["deepspeed-stage-unknown"] == "error"


LAUNCHED = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: '2'\nnum_processes: 16\n"
FACTORY = "stage: sft\ndo_predict: true\npredict_with_generate: true\nmodel_name_or_path: a/b\nfinetuning_type: lora\ntemplate: qwen\noutput_dir: o\n"
PAIR = "model_name_or_path: gpt2\nfp16: true\nbf16: true\nlearning_rate: 1e-4\nper_device_train_batch_size: 2\noutput_dir: o\n"
FLAT = '{"train_batch_size": 32, "gradient_accumulation_steps": 2, "gradient_clipping": 1.0, "optimizer": "adamw", "fp16": true}'
OPENS = "import json, yaml, torch, deepspeed\nc = json.load(open('ds.json'))\n"
# What somebody else may say of a file than the file itself: files, and whether an error of it is left.
BESIDE = {
    "a list of words in a program": ({"acc.yaml": LAUNCHED, "l.py": 'import subprocess\nsubprocess.run(["accelerate", "launch", "--config_file", "acc.yaml", "--num_machines", "2", "t.py"])\n'}, False),
    "the same without flags of the launcher": ({"acc.yaml": LAUNCHED, "l.py": 'import subprocess\nsubprocess.run(["accelerate", "launch", "--config_file", "acc.yaml", "t.py", "--lr", "1"])\n'}, True),
    "a Taskfile": ({"acc.yaml": LAUNCHED, "Taskfile.yml": "tasks:\n  train:\n    cmds: [accelerate launch --config_file acc.yaml --num_machines 2 t.py]\n"}, False),
    "a README": ({"acc.yaml": LAUNCHED, "README.md": "```bash\naccelerate launch --num_machines 2 \\\n  --config_file acc.yaml t.py\n```\n"}, False),
    "a README that names it and sets nothing": ({"acc.yaml": LAUNCHED, "README.md": "Start it with `accelerate launch --config_file acc.yaml t.py`.\n"}, True),
    "a README that sets a variable of the environment": ({"acc.yaml": LAUNCHED, "README.md": "CUDA_VISIBLE_DEVICES=0,1 accelerate launch --config_file acc.yaml t.py\n"}, True),
    "a README about a file of another name": ({"acc.yaml": LAUNCHED, "README.md": "accelerate launch --config_file my-acc.yaml --num_machines 2 t.py\n"}, True),
    "settings behind a file": ({"a.yaml": FACTORY, "run.py": 'import subprocess\nfor d in "ab":\n    subprocess.run(["llamafactory-cli", "train", "a.yaml", f"eval_dataset={d}"])\n'}, False),
    "values one by one": ({"t.yaml": PAIR, "t.py": "import yaml\nc = yaml.safe_load(open('t.yaml'))\nuse(c['bf16'], c['fp16'])\n"}, False),
    "the same with a handle": ({"t.yaml": PAIR, "t.py": "import yaml\nwith open('t.yaml') as f:\n    c = yaml.safe_load(f)\nuse(c['bf16'], c['fp16'])\n"}, False),
    "the whole handed on": ({"t.yaml": PAIR, "t.py": "import yaml\nfrom transformers import TrainingArguments\nc = yaml.safe_load(open('t.yaml'))\nprint(c['bf16'])\nTrainingArguments(**c)\n"}, True),
    "a JSON of the program's own": ({"config.json": FLAT, "t.py": "import json\nc = json.load(open('config.json'))\nfit(c['train_batch_size'])\n"}, False),
    "keys that a comprehension leaves out": ({"ds.json": DS, "t.py": OPENS + "c = {k: v for k, v in c.items() if k != 'zero_optimization'}\ndeepspeed.initialize(config=c)\n"}, False),
    "a dict around what is loaded": ({"ds.json": DS, "t.py": "import json, deepspeed\nc = {**json.load(open('ds.json')), 'steps': 1}\ndeepspeed.initialize(config=c)\n"}, False),
    "a function of the project": ({"ds.json": DS, "t.py": "import deepspeed\nfrom utils import load_ds\ndeepspeed.initialize(config=load_ds('ds.json'))\n"}, False),
    "a function of a library": ({"ds.json": DS, "t.py": "import deepspeed\nfrom accelerate.utils import load_ds\ndeepspeed.initialize(config=load_ds('ds.json'))\n"}, False),
    "the path itself": ({"ds.json": DS, "t.py": "import deepspeed\ndeepspeed.initialize(config='ds.json')\n"}, True),
}  # fmt: skip


@pytest.mark.parametrize(("files", "left"), BESIDE.values(), ids=BESIDE)
def test_what_is_said_beside_a_file_makes_of_an_error_a_warning(tmp_path, files, left):
    found = inspected(
        tmp_path,
        {**files, ".git/HEAD": ""},
        releases=["accelerate==1.15.0", "deepspeed==0.19.8", "transformers==5.23.0", "llamafactory==0.9.5"],
    )
    severities = {one.severity for one in found.findings if one.severity in ("error", "warning")}
    assert severities and ("error" in severities) == left


AFTERWARDS = {
    "nothing": ("pass", "error"),
    "it is printed": ("print(a)", "error"),
    "a training function gets it": ("train(a)", "error"),
    "attributes by names that are not known": ("for k, v in over.items():\n    setattr(a, k, v)", "warning"),
    "a function that says it changes them": ("from prep import fix_arguments\nfix_arguments(a)", "warning"),
}


@pytest.mark.parametrize(("line", "severity"), AFTERWARDS.values(), ids=AFTERWARDS)
def test_what_may_change_any_argument_makes_of_an_error_a_warning(tmp_path, line, severity):
    program = f"from trl import SFTConfig, SFTTrainer\na = SFTConfig(output_dir='o', pad_to_multiple_of='eight')\n{line}\nSFTTrainer(model='m', args=a, train_dataset=d)\n"
    found = inspected(tmp_path, {"t.py": program, ".git/HEAD": ""}, releases=["trl==1.16.0", "transformers==5.23.0"])
    assert {one.hazard.code: one.severity for one in found.findings}["R127"] == severity


def test_a_configuration_that_a_program_changes_is_doubted_for_its_framework_as_well(tmp_path):
    recipe = RECIPE + "do_train: true\ndataset: d\n"
    program = "import yaml\nfrom llamafactory.train.tuner import run_exp\nargs = yaml.safe_load(open('c.yaml'))\nargs['val_size'] = 0.1\nrun_exp(args)\n"
    for files, severity in (({}, "error"), ({"run.py": program}, "warning")):
        folder = tmp_path / severity
        folder.mkdir()
        found = inspected(folder, {"c.yaml": recipe, ".git/HEAD": "", **files})
        assert {one.hazard.code: one.severity for one in found.findings}["T147"] == severity


DICTS = {
    "a key of a block is set": ('config["zero_optimization"]["stage"] = 2', False),
    "a block is replaced": ('config["zero_optimization"] = {"stage": 2}', False),
    "a function is given it": ("fill_in(config)", False),
    "a block is emptied": ('config["zero_optimization"].clear()', False),
    "it is printed": ("print(config)", True),
    "another dict is changed": ('other["zero_optimization"]["stage"] = 2', True),
}


@pytest.mark.parametrize(("line", "told"), DICTS.values(), ids=DICTS)
def test_a_dict_is_what_the_program_makes_of_it(tmp_path, line, told):
    program = f"import deepspeed\nconfig = {DS}\n{line}\ndeepspeed.initialize(model=model, optimizer=optimizer, config=config)\nloss.backward()\n"
    assert ("deepspeed-stage-unknown" in rules(inspected(tmp_path, {"train.py": program}))) is told


CARRIED_PARSER = """import argparse
from openrlhf.trainer import PPOTrainer
def train(args):
    PPOTrainer(args).fit()
if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--pretrain", type=str)
    parser.add_argument("--train_batch_size", type=int, default=128)
    parser.add_argument("--colocate_all", action="store_true")
    parser.add_argument("--length_bonus", type=float, default=0)
    train(parser.parse_args())
"""
PPO = "--pretrain Qwen/Qwen3-8B --train_batch_size 128 --colocate_all --length_bonus 2\n"
CARRIED = {
    "a module that the repository holds": ("python -m openrlhf.cli.train_ppo_ray ", True, False),
    "the same behind ray": ("ray job submit --address $RAY -- python3 -m openrlhf.cli.train_ppo_ray ", True, False),
    "the same behind deepspeed": ("deepspeed --module openrlhf.cli.train_ppo_ray ", True, False),
    "a module that is installed": ("python -m openrlhf.cli.train_ppo_ray ", False, True),
}


@pytest.mark.parametrize(("start", "carried", "told"), CARRIED.values(), ids=CARRIED)
def test_a_framework_that_the_repository_carries_is_of_no_release(tmp_path, start, carried, told):
    source = {"fork/openrlhf/__init__.py": "", "fork/openrlhf/cli/train_ppo_ray.py": CARRIED_PARSER}
    found = inspected(tmp_path, {"fork/scripts/run.sh": start + PPO, ".git/HEAD": "", **(source if carried else {})})
    unknown = {"framework-argument-unfamiliar", "openrlhf-unknown-flag"}
    assert bool(rules(found) & unknown) is told


RERANKER = """base_model: a/b
train_triples: t.parquet
num_epochs: 1
learning_rate: 2.0e-5
optimizer: adamw
gradient_checkpointing: false
keep_top_k: 2
wandb_project: p
"""
ITS_PROGRAM = """import argparse
import yaml
from sentence_transformers import CrossEncoder
parser = argparse.ArgumentParser()
parser.add_argument("--config")
config = yaml.safe_load(open(parser.parse_args().config))
CrossEncoder(config["base_model"]).fit(config["train_triples"], epochs=config["num_epochs"], lr=config["learning_rate"])
"""
STARTS_AXOLOTL = """import subprocess
import sys
subprocess.run(["accelerate", "launch", "-m", "axolotl.cli.train", sys.argv[-1]])
"""
HANDED = {
    "to a program of one's own": (ITS_PROGRAM, 'python src/train.py --config "$CONFIG"\n', False),
    "to a program that starts axolotl": (STARTS_AXOLOTL, 'python src/train.py --config "$CONFIG"\n', True),
    "to axolotl": (ITS_PROGRAM, 'axolotl train "$CONFIG"\n', True),
}


@pytest.mark.parametrize(("program", "command", "told"), HANDED.values(), ids=HANDED)
def test_the_program_that_a_command_hands_a_file_to_decides_whose_keys_it_has(tmp_path, program, command, told):
    files = {"configs/c.yaml": RERANKER, "src/train.py": program, "run.sh": f"CONFIG=configs/c.yaml\n{command}"}
    found = inspected(tmp_path, {".git/HEAD": "", **files})
    assert ("axolotl-unread-key" in rules(found)) is told


TAKES = """import argparse
import yaml
parser = argparse.ArgumentParser()
parser.add_argument("--config", required=True)
config = yaml.safe_load(open(parser.parse_args().config))
train(length=config["max_seq_length"], rate=config["learning_rate"], warm=config.get("warmup_ratio"), every=config["evaluation_strategy"])
"""
IS_GIVEN = """from trl import SFTTrainer
def run(config: dict):
    SFTTrainer(max_seq_length=config["max_seq_length"], rate=config["learning_rate"], warm=config["warmup_ratio"])
"""
LINKED = {
    "to what takes its keys one by one": (TAKES, "python train.py --config c.json\n", False),
    "to what takes its keys one by one, named by a default": (
        TAKES,
        "CONFIG=${1:-c.json}\npython train.py --config $CONFIG\n",
        False,
    ),
    "to what is given them by a module that is not at hand": (IS_GIVEN, "python train.py --config c.json\n", False),
    "to what hands them on": (HANDS_ON, "python train.py --config c.json\n", True),
    "to a command of the library": (TAKES, "trl sft --config c.json\n", True),
}


@pytest.mark.parametrize(("program", "command", "told"), LINKED.values(), ids=LINKED)
def test_a_file_that_a_command_hands_over_is_read_by_its_program(tmp_path, program, command, told):
    found = inspected(tmp_path, {"c.json": JSON, "train.py": program, "run.sh": command, ".git/HEAD": ""})
    assert bool(rules(found) & {"setting-renamed"}) is told


SECTION = "batch_size: 8\ndeepspeed:\n  gradient_clipping: 1.0\n  zero_optimization: {stage: 2}\n"


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (SECTION, "warning"),  # whoever reads it may fill in the batch
        (f"dataset_name: a/b\noutput_dir: o\nlearning_rate: 1.0e-5\nbf16: true\nuse_peft: true\n{SECTION}", "error"),
    ],
)
def test_deepspeeds_section_of_a_file_that_nobody_is_known_to_read_is_presumed(tmp_path, text, severity):
    found = inspected(tmp_path, {"configs/grpo.yaml": text, ".git/HEAD": ""})
    assert "deepspeed-batch-missing" in rules(found, severity)


HYDRA = """import hydra
from transformers import Trainer, TrainingArguments


@hydra.main(config_path="conf", config_name="config", version_base=None)
def main(cfg):
    args = TrainingArguments(**cfg.training)
    Trainer(model="gpt2", args=args, train_dataset=rows).train()


main()
"""
GROUP = "output_dir: o\nlearning_rate: 3e-4\nper_device_train_batch_size: 4\nnum_train_epochs: 1\nbf16: true\n"


@pytest.mark.parametrize(
    ("program", "told"),
    [
        (HYDRA, False),
        (HYDRA.replace('config_path="conf"', 'config_path="other"'), True),  # another folder's
        (
            "from omegaconf import OmegaConf\nfrom ours import start\nstart(OmegaConf.load('conf/training/sft.yaml'))\n",
            False,
        ),
    ],
)
def test_what_omegaconf_reads_has_numbers_without_a_point(tmp_path, program, told):
    defaults = "defaults:\n  - training: sft\n  - _self_\n"
    files = {"conf/config.yaml": defaults, "conf/training/sft.yaml": GROUP, "train.py": program, ".git/HEAD": ""}
    assert ("number-as-text" in rules(inspected(tmp_path, files), "warning", "error")) is told


SECTION = """model_name_or_path: Qwen/Qwen2-7B
output_dir: o
per_device_train_batch_size: 4
num_train_epochs: 3
bf16: true
deepspeed:
  optimizer: {type: AdamW, params: {lr: 1.0e-6}}
  zero_optimization: {stage: 2}
"""
COMPLETES = """import deepspeed, yaml
cfg = yaml.safe_load(open("c.yaml"))
ds = cfg["deepspeed"]
ds["train_batch_size"] = cfg["per_device_train_batch_size"]
engine, *_ = deepspeed.initialize(model=model, config=ds)
"""


@pytest.mark.parametrize(("program", "told"), [(COMPLETES, False), ("", True)])
def test_a_section_for_deepspeed_is_its_own_readers_to_complete(tmp_path, program, told):
    found = inspected(tmp_path, {"c.yaml": SECTION, "train.py": program, ".git/HEAD": ""})
    assert bool(rules(found) & {"deepspeed-batch-missing", "deepspeed-lr-mismatch"}) is told


PATHS = {
    "paths.py": """import os
HERE = os.path.dirname(__file__)
CONFIG_FILE = os.path.join(HERE, "config.yaml")
OTHER_FILE = os.path.join(HERE, "other.yaml")
"""
}
LOADER = """import yaml
from paths import CONFIG_FILE
def load_config(path: str = CONFIG_FILE):
    with open(path) as file:
        return yaml.safe_load(file)
"""
TRAIN = "from loader import load_config\nfrom own_model import build\nbuild(load_config()).train()\n"


@pytest.mark.parametrize(
    ("loader", "train", "own"),
    [
        (LOADER, TRAIN, True),
        (LOADER.replace("from paths import CONFIG_FILE", "from .paths import (\n    OTHER_FILE,\n    CONFIG_FILE,\n)"), TRAIN, True),
        (LOADER.replace("from paths import CONFIG_FILE", "import paths").replace("= CONFIG_FILE", "= paths.CONFIG_FILE"), TRAIN, True),
        (LOADER.replace("CONFIG_FILE", "OTHER_FILE"), TRAIN, False),  # another file's name
        (LOADER.replace("from paths import CONFIG_FILE", "CONFIG_FILE = input()"), TRAIN, False),
        (LOADER, TRAIN + "subprocess.run(['axolotl', 'train', 'config.yaml'])\n", False),
        (LOADER, TRAIN + "import axolotl.cli.train\n", False),
    ],
)  # fmt: skip
def test_a_file_is_the_program_s_that_loads_it_by_an_imported_name(tmp_path, loader, train, own):
    files = {"config.yaml": AXOLOTL, "loader.py": loader, "train.py": train, ".git/HEAD": "", **PATHS}
    assert ("axolotl-unread-key" in rules(inspected(tmp_path, files), "warning")) is not own


OVERLAY = """from dataclasses import dataclass, field
@dataclass
class FinetuningArguments:
    stage: str = field(default="sft")
    CL_method: str = field(default="vanilla")
    projection_gamma: float = field(default=0.5)
"""
COMMAND = (
    "llamafactory-cli train --model_name_or_path Qwen/Qwen2.5-7B-Instruct --stage dpo --do_train --finetuning_type lora --CL_method CPPO "
    "--projection_gamma 0.5 --dataset x --template qwen --output_dir o --learning_rate 5e-6\n"
)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("src/llamafactory/hparams/finetuning_args.py", False),
        ("LLaMA-Factory/src/llamafactory/hparams/finetuning_args.py", False),
        ("llmtuner/hparams/finetuning_args.py", False),
        ("src/others/hparams/finetuning_args.py", True),  # no copy of this framework
        ("src/swift/hparams/finetuning_args.py", True),
    ],
)
def test_the_copy_of_a_framework_at_hand_has_the_flags_that_it_declares(tmp_path, place, told):
    found = inspected(tmp_path, {"scripts/run.sh": COMMAND, place: OVERLAY, ".git/HEAD": ""})
    doubts = rules(found) & {"framework-argument-unfamiliar", "llamafactory-unknown-argument"}
    assert bool(doubts) == told


LOADS_ONE = "import os, sys, yaml, glob\nfrom pathlib import Path\nfrom own_model import build\n{line}\nbuild(settings).train()\n"
COMPUTED = [
    ('path = Path("recipes") / f"{name}.yaml"\nwith open(path) as file:\n    settings = yaml.safe_load(file)', True),
    ('settings = yaml.safe_load(open(f"recipes/{sys.argv[1]}.yaml"))', True),
    ('settings = yaml.safe_load(open("recipes/%s.yaml" % name))', True),
    ('settings = yaml.safe_load(open("./recipes/{}.yaml".format(name)))', True),
    ('settings = yaml.safe_load(open(os.path.join("recipes", args.recipe + ".yaml")))', True),
    ('settings = yaml.safe_load(open("recipes/" + args.recipe + ".yaml"))', True),
    ('FOLDER = Path(__file__).parent / "recipes"\nsettings = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())', True),
    ('FOLDER = os.path.join(HERE, "recipes")\npath = os.path.join(FOLDER, f"{name}.yaml")\nsettings = yaml.safe_load(open(path))', True),
    ('for path in glob.glob("recipes/*.yaml"):\n    settings = yaml.safe_load(open(path))', True),
    ('for path in Path("recipes").glob("*.yaml"):\n    settings = yaml.safe_load(path.read_text())', True),
    ('def where(name):\n    return os.path.join(\n        "recipes",\n        f"{name}.yaml",\n    )\nsettings = yaml.safe_load(open(where(sys.argv[1])))', True),
    ('settings = yaml.safe_load(open(f"others/{name}.yaml"))', False),  # another folder
    ('settings = yaml.safe_load(open(f"recipes/{name}.yml"))', False),  # another ending
    ('settings = yaml.safe_load(sys.stdin)\nwith open(f"recipes/{name}.yaml", "w") as file:\n    yaml.dump(settings, file)', False),  # written
    ('settings = yaml.safe_load(sys.stdin)\npath = Path("recipes") / f"{name}.yaml"\npath.write_text(yaml.dump(settings))', False),
    ('from trl import SFTConfig\nsettings = SFTConfig(**yaml.safe_load(open(f"recipes/{name}.yaml")))', False),  # handed on whole
    ('settings = yaml.safe_load(open(f"recipes/{name}.yaml"))\nos.system(f"trl sft --config recipes/{name}.yaml")', False),
]  # fmt: skip


@pytest.mark.parametrize(("line", "own"), COMPUTED)
def test_a_file_is_the_program_s_that_computes_a_path_of_its_folder_and_ending(tmp_path, line, own):
    files = {"recipes/small.yaml": TRL, "src/train.py": LOADS_ONE.replace("{line}", line), ".git/HEAD": ""}
    found = rules(inspected(tmp_path, files), "error", "warning") & {"setting-renamed", "trl-single-lora-target"}
    assert bool(found) is not own


def test_a_key_of_such_a_file_is_no_slip_of_another(tmp_path):
    """The program takes the keys by their names; a repair would rename one that it asks for."""
    recipe = RECIPE_OF_OWN.replace("KEY", "target_modules: [q_proj]\ngradient_acumulation_steps: 2")
    line = 'settings = yaml.safe_load(open(f"plans/{sys.argv[1]}.yml"))'
    program = {"src/train.py": LOADS_ONE.replace("{line}", line)}
    slips = {
        name: rules(inspected(tmp_path / name, {"plans/a.yml": recipe, ".git/HEAD": "", **files}), "warning")
        for name, files in {"own": program, "nobody": {}}.items()
    }
    assert "recipe-key-misspelled" in slips["nobody"]
    assert "recipe-key-misspelled" not in slips["own"]


RECIPE_OF_OWN = "model_name_or_path: Qwen/Qwen3-8B\nlearning_rate: 2.0e-5\nlora_r: 8\nuse_peft: true\nmax_steps: 100\noutput_dir: o\nKEY\n"


def test_folders_between_may_be_computed_too(tmp_path):
    line = 'settings = yaml.safe_load(open(f"recipes/{size}/{name}.yaml"))'
    files = {"recipes/small/a.yaml": TRL, "src/train.py": LOADS_ONE.replace("{line}", line), ".git/HEAD": ""}
    assert "setting-renamed" not in rules(inspected(tmp_path, files), "error", "warning")


def test_what_another_module_hands_on_stays_the_library_s(tmp_path):
    loader = 'import yaml\ndef load(name):\n    return yaml.safe_load(open(f"recipes/{name}.yaml"))\n'
    train = "from loader import load\nfrom trl import SFTConfig\nSFTConfig(**load('a'))\n"
    files = {"recipes/a.yaml": TRL, "loader.py": loader, "train.py": train, ".git/HEAD": ""}
    assert "setting-renamed" in rules(inspected(tmp_path, files), "error", "warning")


PYDANTIC = """from pydantic import BaseModel
class Settings(BaseModel):
    num_epochs: int
    learning_rate: {}
    lora_rank: int
    micro_batch_size: int
    gradient_accumulation_steps: int
    target_layers: list
"""


@pytest.mark.parametrize(
    ("program", "rate", "told"),
    [
        (PYDANTIC.format("float"), 1e-5, False),
        (PYDANTIC.format("Annotated[float, Field(ge=0)]"), 1e-5, False),
        (PYDANTIC.format("float | None"), 1e-5, False),
        (PYDANTIC.format("str"), "1e-5", False),  # what is made of the text nobody says
        (PYDANTIC.format("Annotated[float, Field(strict=True)]"), "1e-5", False),
        (PYDANTIC.format("float").replace("BaseModel", "Model"), "1e-5", True),
        # of two that have most of its keys it is made of the one that has all of them
        (
            f"{PYDANTIC.format('float')}class Another(BaseModel):\n    learning_rate: float\n    lora_rank: int\n    beta: float\n",
            1e-5,
            False,
        ),
    ],
)
def test_models_of_pydantic_make_numbers_of_texts(tmp_path, program, rate, told):
    recipe = "num_epochs: 1\nlearning_rate: 1e-5\nlora_rank: 8\nmicro_batch_size: 2\n"
    recipe += "gradient_accumulation_steps: 2\ntarget_layers: [q_proj]\n"
    found = inspected(tmp_path, {"recipes/sft.yaml": recipe, ".git/HEAD": "", "own/settings.py": program})
    (run,) = (run for run in found.runs if "recipes/sft.yaml" in run.files)
    assert run.explicit["training.learning_rate"].sources[0].raw == rate
    assert ("number-as-text" in rules(found, "warning")) is told


def test_what_is_told_of_a_file_that_a_configuration_names_rests_on_who_reads_the_configuration(tmp_path: Path) -> None:
    files = {
        "configs/default.yaml": "run_name: first\noutput_dir: out\nseed: 42\nsave_steps: 500\neval_steps: 500\nuse_deepspeed: true\ndeepspeed_config: configs/ds.json\ntrain:\n  learning_rate: 1.0e-5\n  rollout_every: 4\n"
        "  judge_model: org/judge\nmodel:\n  policy_model_id: org/policy\n",
        "configs/ds.json": '{"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8, "zero_optimization": {"stage": 3}}',
        "mine/config.py": "import yaml\nfrom pydantic import BaseModel\n\n\nclass Train(BaseModel):\n    learning_rate: float\n    rollout_every: int\n"
        "    judge_model: str\n\n\nclass Model(BaseModel):\n    policy_model_id: str\n\n\nclass Config(BaseModel):\n    run_name: str\n    output_dir: str\n    seed: int\n    save_steps: int\n    eval_steps: int\n    use_deepspeed: bool\n"
        "    deepspeed_config: str\n    train: Train\n    model: Model\n\n    @classmethod\n    def from_yaml(cls, path):\n"
        "        return cls(**yaml.safe_load(open(path)))\n",
    }
    found = inspected(tmp_path, files).report.diagnostics
    assert not [one.code for one in found if one.code in ("D101", "D102")]
