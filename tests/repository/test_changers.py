"""A configuration is what a run reads where whoever names it is understood; what is done with a file of its name in another folder lowers no error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stablint.run.releases.fields import field_names, release_key
from tests.runs import inspected

CONFIG = """model_name_or_path: Qwen/Qwen2-7B-Instruct
dataset_name: trl-lib/Capybara
output_dir: out
eval_strategy: steps
eval_steps: 200
save_strategy: steps
save_steps: 500
load_best_model_at_end: true
"""
OWN_FUNCTION = """def filled(name):
    return cleaned(open(name).read())


start(filled("{}train.yaml"))
"""
EDITS = """import yaml

config = yaml.safe_load(open("{}train.yaml"))
config["save_steps"] = 400
start(config)
"""


@pytest.mark.parametrize("program", [OWN_FUNCTION, EDITS], ids=["a function of its own", "it sets a key"])
@pytest.mark.parametrize(
    ("folder", "is_error"),
    [("other/", True), ("runs/other/", True), ("", False), ("./", False), ("mine/", False), ("runs/mine/", False)],
)  # fmt: skip
def test_only_this_file_is_changed(program: str, folder: str, is_error: bool, tmp_path: Path) -> None:
    files = {"runs/mine/train.yaml": CONFIG, "start.py": program.format(folder)}
    found = inspected(tmp_path, files).report.diagnostics
    assert any(one.code == "T103" and one.severity == "error" for one in found) == is_error


@pytest.mark.parametrize(("another", "is_error"), [({}, False), ({"other/train.yaml": ""}, True)])
def test_a_bare_name_from_afar_means_the_only_file_of_that_name(
    another: dict[str, str], is_error: bool, tmp_path: Path
) -> None:
    files = {"configs/mine/train.yaml": CONFIG, "tools/start.py": EDITS.format("").replace("open(", "open(CONFIGS / ")}
    found = inspected(tmp_path, files | another).report.diagnostics
    assert any(one.code == "T103" and one.severity == "error" for one in found) == is_error


def test_one_that_names_both_changes_both(tmp_path: Path) -> None:
    both = OWN_FUNCTION.format("other/") + 'start(filled("mine/train.yaml"))\n'
    found = inspected(tmp_path, {"mine/train.yaml": CONFIG, "other/train.yaml": CONFIG, "start.py": both})
    assert [one.severity for one in found.report.diagnostics if one.code == "T103"] == ["warning", "warning"]


DEEPSPEED = """{
  "train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto", "bf16": {"enabled": "auto"},
  "optimizer": {"type": "AdamW", "params": {"lr": 5e-5}}, "zero_optimization": {"stage": 2}
}
"""
TRAINS = """from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

args = TrainingArguments(output_dir="out", learning_rate=2e-5, bf16=True, deepspeed="ds.json")
%s
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B")
Trainer(model=model, args=args, train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("print(args.hf_deepspeed_config.is_zero3())", "error"),
        ("args.hf_deepspeed_config.config['optimizer']['params']['lr'] = 2e-5", "warning"),
        ("args.hf_deepspeed_config.mismatches = []", "warning"),
        ("fill(args.hf_deepspeed_config)", "warning"),
        ("HfTrainerDeepSpeedConfig.fill_match = mine", "warning"),
    ],
)  # fmt: skip
def test_what_transformers_has_read_of_the_file_is_changed(line: str, severity: str, tmp_path: Path) -> None:
    found = inspected(tmp_path, {"ds.json": DEEPSPEED, "train.py": TRAINS % line}).report.diagnostics
    assert [one.severity for one in found if one.code == "D104"] == [severity]


@pytest.mark.parametrize(("head", "severity"), [("from mine import prepare", "warning"), ("", "error")])
def test_arguments_go_through_a_function_of_another_module(head: str, severity: str, tmp_path: Path) -> None:
    given = "prepare(args)" if head else "args"
    program = f"{head}\n" + TRAINS.replace("args=args", f"args={given}") % ""
    found = inspected(tmp_path, {"ds.json": DEEPSPEED, "train.py": program}).report.diagnostics
    assert [one.severity for one in found if one.code == "D104"] == [severity]


LAUNCHED = """compute_environment: LOCAL_MACHINE
distributed_type: FSDP
num_machines: 1
num_processes: 2
fsdp_config:
  fsdp_version: 2
  fsdp_state_dict_type: LOCAL_STATE_DICT
"""


@pytest.mark.parametrize(
    ("line", "severity"),
    [("", "error"), ('os.environ["WANDB_PROJECT"] = "x"', "error"), ('os.environ["FSDP_VERSION"] = "1"', "warning")],
)  # fmt: skip
def test_a_program_sets_anew_what_the_launcher_hands_on(line: str, severity: str, tmp_path: Path) -> None:
    program = f"import os\n\n{line}\n" + TRAINS.replace(', deepspeed="ds.json"', "") % ""
    files = {"a.yaml": LAUNCHED, "train.py": program, "run.sh": "accelerate launch --config_file a.yaml train.py\n"}
    found = inspected(tmp_path, files, releases=["accelerate==1.15.0"]).report.diagnostics
    assert [one.severity for one in found if one.code == "D161"] == [severity]


PPO = """model_name_or_path: meta-llama/Llama-3.1-8B
stage: ppo
do_train: true
finetuning_type: lora
lora_target: all
dataset: alpaca_en_demo
template: llama3
output_dir: saves/x
per_device_train_batch_size: 1
learning_rate: 1.0e-5
bf16: true
"""


@pytest.mark.parametrize(
    ("name", "text", "severity"),
    [
        ("go.py", 'import os\nos.system("llamafactory-cli train a.yaml")\n', "error"),
        ("go.py", 'import os\nos.system("llamafactory-cli train a.yaml reward_model=saves/r")\n', "warning"),
        ("go.py", 'import os\nwanted = "a.yaml"\nos.system(f"llamafactory-cli train {wanted} reward_model=saves/r")\n', "warning"),
        (
            "go.py",
            'import glob, os, yaml\nfor f in glob.glob("*.yaml"):\n    c = yaml.safe_load(open(f))\n    c["reward_model"] = "saves/r"\n'
            '    yaml.safe_dump(c, open("/tmp/c.yaml", "w"))\n    os.system("llamafactory-cli train /tmp/c.yaml")\n',
            "warning",
        ),
        (
            "go.py",
            "from llamafactory.train.tuner import run_exp\nfrom omegaconf import OmegaConf\n\n"
            'run_exp(OmegaConf.to_container(OmegaConf.merge(OmegaConf.load("a.yaml"), OmegaConf.from_cli())))\n',
            "warning",
        ),
        ("go.sh", "llamafactory-cli train a.yaml\n", "error"),
        ("go.sh", 'llamafactory-cli train "$1"\n', "error"),
        ("go.sh", 'llamafactory-cli train "$1" reward_model=saves/r\n', "warning"),
        ("go.sh", "cat a.yaml more.yaml > full.yaml\nllamafactory-cli train full.yaml\n", "warning"),
        ("go.sh", 'llamafactory-cli train <(cat a.yaml; echo "reward_model: $RM")\n', "warning"),
        ("go.sh", "for f in *.yaml; do llamafactory-cli train $f; done\n", "error"),
        ("go.sh", "for f in *.yaml; do llamafactory-cli train $f reward_model=x; done\n", "warning"),
        ("go.sh", "CONFIG=a.yaml\necho $CONFIG\ncp a.yaml saves/\nllamafactory-cli train $CONFIG 2>&1 | tee log.txt\n", "error"),
        ("go.sh", "docker run -v $PWD:/w image llamafactory-cli train /w/a.yaml reward_model=x\n", "warning"),
        ("Makefile", "all:\n\tfor f in *.yaml; do llamafactory-cli train $$f reward_model=x; done\n", "warning"),
        ("Dockerfile", 'FROM x\nCOPY a.yaml /app/a.yaml\nCMD ["llamafactory-cli", "train", "/app/a.yaml"]\n', "error"),
        ("Dockerfile", 'FROM x\nCMD ["llamafactory-cli", "train", "/app/a.yaml", "reward_model=x"]\n', "warning"),
        (".github/workflows/x.yml", "on: push\njobs:\n  a:\n    steps:\n      - run: llamafactory-cli train a.yaml\n", "error"),
        (".github/workflows/x.yml", "jobs:\n  a:\n    steps:\n      - run: llamafactory-cli train a.yaml reward_model=x\n", "warning"),
        (".vscode/launch.json", '{"configurations": [{"module": "llamafactory.cli", "args": ["train", "a.yaml", "reward_model=x"]}]}\n', "warning"),
        ("go.ps1", "llamafactory-cli train a.yaml\n", "error"),
        ("go.ps1", "llamafactory-cli train a.yaml reward_model=x\n", "warning"),
        ("go.sh", "python fill.py --in a.yaml --out b.yaml\nllamafactory-cli train b.yaml\n", "warning"),
        (
            "go.py",
            'import yaml\nfrom llamafactory.train.tuner import run_exp\nfrom mine import fill\n\nc = fill(yaml.safe_load(open("a.yaml")))\nrun_exp(c)\n',
            "warning",
        ),
        ("README.md", "Write your `a.yaml`.\n```\n├── a.yaml\n```\n```sh\nllamafactory-cli train a.yaml\nllamafactory-cli export a.yaml\n```\n", "error"),
        ("README.md", "```sh\nllamafactory-cli export a.yaml\n```\n", "warning"),
        ("README.md", "```sh\nllamafactory-cli train a.yaml reward_model=x\n```\n", "warning"),
        ("go.py", 'import subprocess\ncmd = ["llamafactory-cli", "train", "a.yaml"]\nsubprocess.run(cmd)\n', "error"),
        ("go.py", 'import subprocess\ncmd = ["llamafactory-cli", "train", "a.yaml"]\ncmd += ["reward_model=x"]\nsubprocess.run(cmd)\n', "warning"),
        ("go.py", 'import subprocess, sys\nsubprocess.run(["llamafactory-cli", "train", "a.yaml", *sys.argv[1:]])\n', "warning"),
        ("go.py", 'import os\nos.environ["USE_MCA"] = "1"\nos.system("llamafactory-cli train a.yaml")\n', "warning"),
        ("go.py", 'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "0"\nos.system("llamafactory-cli train a.yaml")\n', "error"),
        ("go.py", 'import os\nfrom llamafactory.train.tuner import run_exp\n\nos.environ["USE_MCA"] = "1"\nrun_exp()\n', "warning"),
        ("go.py", 'import json\nrows = json.load(open("rows.json"))\nrows["x"] = 1\n', "error"),
    ],
)  # fmt: skip
def test_what_a_command_adds(name: str, text: str, severity: str, tmp_path: Path) -> None:
    files = {"a.yaml": PPO, name: text, "requirements.txt": "llamafactory==0.9.4\n"}
    found = inspected(tmp_path, files).report.diagnostics
    assert [one.severity for one in found if one.code == "R271"] == [severity]


@pytest.mark.parametrize(
    ("cell", "severity"),
    [
        ("!llamafactory-cli train a.yaml", "error"),
        ('config = yaml.safe_load(open("a.yaml"))', "error"),
        ('yaml.safe_dump(config, open("a.yaml", "w"))', "warning"),
        ("!sed -i 's/ppo/sft/' a.yaml", "warning"),
        ("!echo 'reward_model: x' >> a.yaml", "warning"),
    ],
)  # fmt: skip
def test_a_cell_writes_anew_what_a_cell_has_written(cell: str, severity: str, tmp_path: Path) -> None:
    cells = [{"cell_type": "code", "source": [text]} for text in ("%%writefile a.yaml\n" + PPO, cell)]
    text = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})
    files = {"a.ipynb": text, "requirements.txt": "llamafactory==0.9.4\n"}
    found = inspected(tmp_path, files).report.diagnostics
    assert [one.severity for one in found if one.code == "R271"] == [severity]


READS_ARGUMENTS = """import sys

from transformers import HfArgumentParser
from trl import GRPOConfig

(args,) = HfArgumentParser(GRPOConfig).parse_yaml_file(sys.argv[1])
"""


@pytest.mark.parametrize(
    "name, beside, severity",
    [
        ("training_args.json", {}, None),
        ("args.yaml", {}, None),
        ("args.yaml", {"save.py": "yaml.safe_dump(args.to_dict(), open('args.yaml', 'w'))\n"}, None),
        ("args.yaml", {"run.sh": "trl grpo --config args.yaml\n"}, "error"),
        ("args.yaml", {"t.py": READS_ARGUMENTS, "run.sh": "python t.py args.yaml\n"}, "error"),
    ],
)
def test_what_a_program_has_written_down_of_a_run_is_read_by_nobody(
    tmp_path: Path, name: str, beside: dict[str, str], severity: str | None
) -> None:
    said = {"output_dir": "o", "num_generations": 4, "generation_batch_size": 16, "steps_per_generation": 2}
    fields = field_names("trl.GRPOConfig", release_key("1.16.0")) + field_names(
        "transformers.TrainingArguments", release_key("5.24.0")
    )
    assert len(fields) > 150
    text = json.dumps({**dict.fromkeys(fields), **said})
    found = inspected(tmp_path, {name: text, **beside}, releases=["trl==1.16.0"]).report.diagnostics
    assert [one.severity for one in found if one.code == "R102"] == [severity] * (severity is not None)


def test_two_spellings_of_one_setting_say_different_things(tmp_path: Path) -> None:
    program = (
        "from trl import GRPOConfig\n\nargs = GRPOConfig(\n    output_dir='o', use_vllm=True, vllm_importance_sampling_mode='token_truncate',\n"
        "    vllm_importance_sampling_clip_min=None, vllm_importance_sampling_clip_max=None%s\n)\n"
    )
    for number, (more, refused) in enumerate((("", True), (", vllm_importance_sampling_cap=2.0", False))):
        found = inspected(tmp_path / str(number), {"t.py": program % more}, releases=["trl==1.16.0"])
        assert any(one.severity == "error" for one in found.report.diagnostics if one.code == "R109") == refused
