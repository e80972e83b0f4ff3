"""Whose program it is: what is at hand decides over what flags, keys and class names look like."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.run.fact import is_unknown
from tests.runs import inspected, rules, world

ZERO = """{"zero_optimization": {"stage": 2}, "bf16": {"enabled": "auto"}, "gradient_accumulation_steps": 8, "train_micro_batch_size_per_gpu": 1,
 "gradient_clipping": 0.3,
 "optimizer": {"type": "AdamW", "params": {"lr": 2e-5, "betas": [0.8, 0.9], "eps": 1e-7, "weight_decay": 0.2}},
 "scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": 3e-5, "warmup_num_steps": 7}}}
"""
FLAGS = (
    "--deepspeed ds.json --learning_rate 1e-5 --per_device_train_batch_size 4 --gradient_accumulation_steps 2 --weight_decay 0.01 "
    "--max_grad_norm 1.0 --warmup_steps 100 --adam_beta2 0.99 --bf16 --output_dir o --model_name_or_path Qwen/Qwen2.5-7B\n"
)
PARSER = """import argparse
parser = argparse.ArgumentParser()
for name in ("deepspeed",):
    parser.add_argument("--" + name)
parser.add_argument("--learning_rate", type=float)
args = parser.parse_args()
"""
# A program's loop, and the value of the fact.
LOOPS = {
    "accelerate": "from accelerate import Accelerator\naccelerator = Accelerator()\nmodel = accelerator.prepare(model)\n",
    "lightning": "import pytorch_lightning as pl\ntrainer = pl.Trainer.from_argparse_args(args)\ntrainer.fit(model)\n",
    "deepspeed": "import deepspeed\nengine, *_ = deepspeed.initialize(args=args, model=model)\nengine.backward(loss)\n",
    "torch": "for batch in rows:\n    loss = model(**batch).loss\n    loss.backward()\n",
    "sentence-transformers": "from sentence_transformers import SentenceTransformer\nmodel = SentenceTransformer(args.m)\nmodel.fit(rows)\n",
    "trlx": "import trlx\ntrlx.train(reward_fn=reward, config=config)\n",
    "trl.PPOTrainer.step": "from trl import PPOConfig, PPOTrainer\nppo_trainer = PPOTrainer(config, model)\nstats = ppo_trainer.step(a, b, c)\n",
    "transformers.Trainer": "from transformers import Trainer, TrainingArguments as A\nt = Trainer(model, A('o', learning_rate=args.learning_rate))\n",
    "trl.SFTTrainer": "from trl import SFTConfig, SFTTrainer\nt = SFTTrainer('m', SFTConfig('o', learning_rate=args.learning_rate))\n",
}
OF_THE_TRAINER = {
    "deepspeed-lr-mismatch", "deepspeed-scheduler-lr-mismatch", "deepspeed-weight-decay-mismatch", "deepspeed-betas-mismatch",
    "deepspeed-clipping-mismatch", "deepspeed-accumulation-mismatch", "deepspeed-micro-batch-mismatch", "deepspeed-warmup-steps-mismatch",
}  # fmt: skip


@pytest.mark.parametrize("loop", LOOPS)
def test_the_loop_of_the_program_is_a_fact(tmp_path, loop):
    files = {"run.sh": "accelerate launch train.py " + FLAGS, "train.py": PARSER + LOOPS[loop], "ds.json": ZERO}
    found = inspected(tmp_path, files)
    own = not loop.startswith(("transformers", "trl.SFT"))
    run = world(tmp_path, files)
    assert run.value("derived.trainer") == loop
    assert run.value("derived.hf_trainer") is not own
    assert bool(rules(found) & OF_THE_TRAINER) is not own
    if own:  # nor are its epochs, saving and logging those of a Trainer that it does not have
        assert is_unknown(run.value("training.num_train_epochs")) and is_unknown(run.value("training.save_steps"))
        assert run.value("training.learning_rate") == 1e-5


def test_without_the_program_a_trainer_is_presumed(tmp_path):
    found = inspected(tmp_path, {"run.sh": "deepspeed train.py " + FLAGS, "ds.json": ZERO})
    assert rules(found) >= OF_THE_TRAINER - {"deepspeed-warmup-steps-mismatch"}
    assert not rules(found, "error") & OF_THE_TRAINER


SWITCH = "accelerate launch --config_file acc.yaml train.py --lr 1e-5 {} --output_dir o --gradient_checkpointing\n"
CONFIG = "distributed_type: DEEPSPEED\ndeepspeed_config: {zero_stage: 2}\nmixed_precision: bf16\nnum_processes: 8\n"


@pytest.mark.parametrize("flag", ["--deepspeed", "--deepspeed True", "--deepspeed=false"])
def test_a_switch_called_deepspeed_names_no_file(tmp_path, flag):
    found = inspected(tmp_path, {"run.sh": SWITCH.format(flag), "acc.yaml": CONFIG})
    assert not rules(found, "error", "warning")


DECLARED = [
    PARSER + "parser.add_argument('--evaluation_strategy')\nparser.add_argument('--max_target_length')\n",
    "from dataclasses import dataclass\nfrom transformers import HfArgumentParser, TrainingArguments\n@dataclass\nclass Own:\n"
    "    evaluation_strategy: str = 'no'\n    max_target_length: int\nown, args = HfArgumentParser((Own, TrainingArguments)).parse_args_into_dataclasses()\n",
]


@pytest.mark.parametrize("program", DECLARED)
def test_what_the_program_declares_is_its_own_name(tmp_path, program):
    flags = "python train.py --evaluation_strategy steps,epoch --max_target_length 512 --learning_rate 1e-4 --num_train_epochs 3 --output_dir o\n"
    strange = {"removed-argument", "renamed-argument", "unknown-argument", "value-not-allowed"}
    found = inspected(tmp_path, {"run.sh": flags, "train.py": program}, releases=["transformers==4.57.6"])
    assert not {d.code for d in found.report.diagnostics if d.code[0] == "V"} | (rules(found) & strange)
    other = inspected(tmp_path, {"run.sh": flags, "train.py": "print()\n"}, releases=["transformers==4.57.6"])
    assert {d.code for d in other.report.diagnostics if d.code[0] == "V"}


# Commands, programs beside them, and the framework that reads the flags.
FRAMEWORKS = [
    ("--stage sft --finetuning_type lora --cutoff_len 512 --lora_target all", "from llamafactory.train.tuner import run_exp\nrun_exp()\n", "llamafactory"),
    ("--stage sft --finetuning_type lora --cutoff_len 512 --lora_target all", "from own.train import main\nmain()\n", "transformers"),
    ("--quantization_bit 4 --pre_seq_len 128", "from arguments import ModelArguments\n", "transformers"),
    ("--sft_type lora --learning_rate 1e-4", "from swift.llm import sft_main\nsft_main()\n", "ms-swift-2"),
    ("--sft_type lora --learning_rate 1e-4", "import own\n", "transformers"),
    ("--model_max_length 512 --lazy_preprocess True", "from fastchat.train.train import train\ntrain()\n", "fastchat"),
    ("--model_max_length 512 --num_train_epochs 3", "", "transformers"),
    ("--lazy_preprocess True --num_generations 2 --max_completion_length 64", "", "trl"),
    ("--use_lora True --model_max_length 512", "", "transformers"),
    ("--precision bf16 --max_steps 9 --optim adamw_torch", "", "transformers"),
    ("--vision_tower c --mm_projector_type linear", "from llava.train.train import train\ntrain()\n", "llava"),
    ("--vision_tower c --per_device_train_batch_size 2", "", "transformers"),
]  # fmt: skip


@pytest.mark.parametrize(("flags", "program", "framework"), FRAMEWORKS)
def test_one_flag_makes_no_framework_and_none_goes_against_the_program(tmp_path, flags, program, framework):
    command = f"python train.py {flags} --model_name_or_path Qwen/Qwen2.5-7B --learning_rate 1e-5 --logging_steps 9 --output_dir o\n"
    files = {"run.sh": command, **({"train.py": program} if program else {})}
    assert world(tmp_path, files).run.framework == framework


_HYDRA = """
import hydra
from {library} import DPOTrainer
@hydra.main(version_base=None, config_path="config", config_name="dpo")
def main(config):
    DPOTrainer(model=config.actor_rollout_ref.model.path).train()
main()
"""


@pytest.mark.parametrize(("library", "framework"), [("trl", False), ("verl.trainer", True)])
def test_sections_by_verl_s_names_make_no_verl_of_another_program(tmp_path, library, framework):
    files = {
        "run.sh": "accelerate launch -m pkg.dpo actor_rollout_ref.model.path=/m\n",
        "pkg/dpo.py": _HYDRA.format(library=library),
        "pkg/config/dpo.yaml": "actor_rollout_ref: {model: {path: x}}\ndpo: {batch_size: 1}\n",
    }
    found = inspected(tmp_path, files)
    assert any(run.framework == "verl" for run in found.runs) is framework


# A program without anything of a library, though its names are those of one.
FOREIGN = [
    "class SFTConfig:\n    def __init__(self, rows=None): ...\nconfig = SFTConfig(rows='x', epochs=2)\n",
    "from dataclasses import dataclass\n@dataclass\nclass DPOConfig:\n    beta: float = 0.1\nconfig = DPOConfig(beta=0.2, max_prompt=64)\n",
    "def TrainingArguments(**kw): ...\nTrainingArguments(lerning_rate=1)\n",
    "from trlx.models.modeling_ppo import PPOConfig\nfrom datasets import load_dataset\nload_dataset('a', streaming=True)\nPPOConfig(lr=1)\n",
    "class LoraConfig:\n    pass\nLoraConfig(rnk=8)\nclass Trainer:\n    pass\nTrainer(fp17=True)\n",
]


@pytest.mark.parametrize("program", FOREIGN)
def test_a_class_is_a_library_s_by_its_import_only(tmp_path, program):
    assert not rules(inspected(tmp_path, {"train.py": program}), "error", "warning")


SUBCLASS = """from trl import DPOConfig, DPOTrainer
class Own(DPOTrainer):
    def __init__(self, {own}**kwargs):
        {body}super().__init__(**kwargs)
Own(peft_confg=1, model='m', args=DPOConfig('o'), train_dataset=rows, processing_class=tokenizer)
"""


@pytest.mark.parametrize(
    ("own", "body", "found"),
    [
        ("peft_confg=None, ", "", False),
        ("", "self.experts = kwargs.pop('peft_confg')\n        ", False),
        ("", "", True),
    ],
)
def test_a_subclass_takes_what_its_constructor_takes(tmp_path, own, body, found):
    diagnostics = inspected(tmp_path, {"train.py": SUBCLASS.format(own=own, body=body)}).report.diagnostics
    assert bool([d for d in diagnostics if d.code == "V105"]) is found


_PARSER = """
import argparse

def arguments():
    parser = argparse.ArgumentParser(description="fine-tunes")
    group = parser.add_argument_group("training")
    group.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--epochs", "-e", type=int, default=3)
    return parser.parse_args()

if __name__ == "__main__":
    args = arguments()
"""
_EPOCHS = '"--epochs", "-e", type=int, default=3'
_SLIP = "python train.py --learning_rate 2e-5 --epochs 2\n"
PARSERS = {
    "a slip": ({"train.py": _PARSER, "run.sh": _SLIP}, True),
    "the beginning of an option": ({"train.py": _PARSER, "run.sh": "python train.py --learn 2e-5 --ep 2\n"}, False),
    "a parser that lets others pass": (
        {"train.py": _PARSER.replace("return parser.parse_args()", "return parser.parse_known_args()[0]"), "run.sh": _SLIP},
        False,
    ),
    "a parser that somebody else gets": (
        {"train.py": _PARSER.replace("    return", "    deepspeed.add_config_arguments(parser)\n    return"), "run.sh": _SLIP},
        False,
    ),
    "the no of an option": (
        {"train.py": _PARSER.replace(_EPOCHS, '"--epochs", action=argparse.BooleanOptionalAction'), "run.sh": "python train.py --no-epochs\n"},
        False,
    ),
    "an option by another name of the method": (
        {"train.py": _PARSER.replace("    return", "    add = parser.add_argument\n    add('--more')\n    return"), "run.sh": "python train.py --more 2\n"},
        False,
    ),
    "options out of a list": (
        {"train.py": _PARSER.replace("    return", "    list(map(parser.add_argument, ['--more']))\n    return"), "run.sh": "python train.py --more 2\n"},
        False,
    ),
    "an action of one's own": (
        {"train.py": _PARSER.replace(_EPOCHS, '"--epochs", action=Both'), "run.sh": "python train.py --without-epochs\n"}, False,
    ),
    "a parser that nobody asks": ({"train.py": _PARSER.replace("args = arguments()", "pass"), "run.sh": _SLIP}, False),
    "two programs of one name": ({"train.py": _PARSER, "scripts/train.py": _PARSER, "scripts/run.sh": _SLIP}, False),
    "a folder that nobody knows": ({"train.py": _PARSER, "run.sh": f'cd "$WORK"\n{_SLIP}'}, False),
    "a launcher's option behind one that is not known, in an inner script": (
        {"train.py": _PARSER, "run.sh": 'L="torchrun --rdzv_id=$JOB --rdzv_backend=c10d"\nsrun bash -c "$L train.py --learning-rate 2e-5 --epochs 2"\n'}, False,
    ),
    "a slip in an inner script": (
        {"train.py": _PARSER, "run.sh": 'L="torchrun --rdzv_id=$JOB --rdzv_backend=c10d"\nsrun bash -c "$L train.py --learning_rate 2e-5 --epochs 2"\n'}, True,
    ),
    "the program of the folder above": ({"train.py": _PARSER, "scripts/run.sh": _SLIP}, True),
    "options of a module beside it": (
        {"train.py": f"from args import add_arguments\n{_PARSER}", "args.py": _PARSER.replace("learning-rate", "learning_rate"), "run.sh": _SLIP},
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "refused"), PARSERS.values(), ids=PARSERS)
def test_a_flag_is_held_against_the_parser_that_is_whole_at_hand(
    files: dict[str, str], refused: bool, tmp_path: Path
) -> None:
    found = inspected(tmp_path, files)
    assert ("program-flag-undeclared" in rules(found, "error")) == refused


VAIN = {
    "train.py": """
import argparse
from transformers import HfArgumentParser, Trainer, TrainingArguments
parser = argparse.ArgumentParser()
parser.add_argument("--arguments")
parser.add_argument("--deepspeed")
options = parser.parse_args()
(args,) = HfArgumentParser(TrainingArguments).parse_json_file(options.arguments)
args.deepspeed = options.deepspeed
Trainer(model, args).train()
""",
    "ds.json": '{"fp16": {"enabled": true}, "zero_optimization": {"stage": 2}}',
    "run.sh": "deepspeed train.py --arguments args.json --deepspeed ds.json\n",
}


def test_an_option_that_the_program_sets_too_late_is_no_deepspeed(tmp_path):
    found = inspected(tmp_path, VAIN)
    assert not rules(found, "error", "warning")  # D112 says that both sides of the file are held against each other


def test_what_a_file_leaves_out_may_be_set_by_the_program_that_reads_it(tmp_path):
    files = {
        "arguments.yaml": "output_dir: out\nlearning_rate: 1.0e-5\nload_best_model_at_end: true\nsave_strategy: steps\nnum_train_epochs: 3\n",
        "train.py": 'import yaml\nfrom transformers import Trainer, TrainingArguments\nread = yaml.safe_load(open("arguments.yaml"))\n'
        'read["eval_strategy"] = "steps"\nTrainer(model=model, args=TrainingArguments(**read), train_dataset=rows).train()\n',
    }
    assert "best-model-without-evaluation" not in rules(inspected(tmp_path, files), "error")


_MODEL = (
    "model_name_or_path: meta-llama/Llama-2-7b-hf\noutput_dir: out\nlearning_rate: 1.0e-4\nuse_lora: true\nlora_r: 8\n"
)
KINDS = {"[all]": False, "[all, lm_head]": False, "[query_key_value]": True}


@pytest.mark.parametrize(("targets", "missing"), KINDS.items())
def test_a_program_may_mean_layers_of_a_kind_by_a_word(targets: str, missing: bool, tmp_path: Path) -> None:
    found = inspected(tmp_path, {"train.yaml": f"{_MODEL}lora_target_modules: {targets}\n"})
    assert ("lora-targets-missing" in [finding.rule for finding in found.report.diagnostics]) == missing


_BEHIND = """from argparse import ArgumentParser
from transformers import TrainingArguments


def main(args):
    return TrainingArguments(
        "out",
        evaluation_strategy=args.evaluation_strategy,
    )


parser = ArgumentParser()
parser.add_argument("--evaluation_strategy", default="steps")
main(parser.parse_args())
"""


def test_what_is_wrong_with_a_name_is_told_where_the_library_is_given_it(tmp_path: Path) -> None:
    found = inspected(tmp_path, {"train.py": _BEHIND}, releases=["transformers==5.23.0"])
    (one,) = [finding for finding in found.report.diagnostics if finding.code == "V101"]
    assert one.start == _BEHIND.index("evaluation_strategy=")


WHOLE = {
    "train.py": """
from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments
(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Trainer(model=AutoModelForCausalLM.from_pretrained("facebook/opt-1.3b"), args=args, train_dataset=rows).train()
""",
    "ds.json": '{"train_micro_batch_size_per_gpu": 8, "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2}}',
    "run.sh": "torchrun --nproc_per_node 4 train.py --output_dir out --learning_rate 1e-5 --per_device_train_batch_size 4 --bf16 True"
    " --deepspeed ds.json --load_best_model_at_end True\n",
}
REFUSED = {"deepspeed-micro-batch-mismatch", "best-model-without-evaluation"}


def test_what_a_whole_command_does_not_say_has_the_default_of_the_library(tmp_path):
    assert rules(inspected(tmp_path, WHOLE), "error") == REFUSED


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("run.sh", "--bf16 True", '--bf16 True "$@"'),
        ("run.sh", "--bf16 True", "--bf16 True $MORE"),
        ("train.py", "parse_args_into_dataclasses()", 'parse_json_file("arguments.json")'),
        ("train.py", "parse_args_into_dataclasses()", 'parse_args_into_dataclasses(["--output_dir", "out"])'),
        ("train.py", "(args,)", 'import sys\nsys.argv += ["--eval_strategy", "steps"]\n(args,)'),
        ("train.py", "\nTrainer(", "\nfrom ours import update_configs\nupdate_configs(args, [])\nTrainer("),
        ("train.py", "from transformers import", "from ours import TrainingArguments\nfrom transformers import"),
        ("train.py", "HfArgumentParser(TrainingArguments)", "HfArgumentParser(Own)"),
    ],
)  # fmt: skip
def test_what_may_say_more_makes_no_error_of_a_default(tmp_path, file, old, new):
    files = {**WHOLE, file: WHOLE[file].replace(old, new).replace("HfArgumentParser, Trainer, TrainingArguments", "HfArgumentParser, Trainer"
             + (", TrainingArguments" if "ours" not in new else ""))}  # fmt: skip
    assert not rules(inspected(tmp_path, files), "error") & REFUSED


SET_AGAIN = """import os
from dataclasses import dataclass
from transformers import HfArgumentParser, Trainer, TrainingArguments
@dataclass
class ModelArguments:
    model_name_or_path: str = "a/b"
    device_map: str = "auto"
model_args, training_args = HfArgumentParser((ModelArguments, TrainingArguments)).parse_args_into_dataclasses()
def main():
    ddp = int(os.environ.get("WORLD_SIZE", 1)) != 1
    BODY
    model = build(model_args.model_name_or_path, device_map=model_args.device_map)
    Trainer(model=model, args=training_args).train()
"""


@pytest.mark.parametrize(
    ("body", "known"),
    [
        ("pass", True),
        ('model_args.device_map = {"": 0}', False),
        ('if ddp:\n        model_args.device_map = {"": 0}', False),
        ('if ddp:\n        print()\n        if model_args.model_name_or_path:\n            model_args.device_map = {"": 0}', False),
        ('if model_args.device_map is None:\n        model_args.device_map = {"": 0}', True),  # it is given
        ('if ddp and not model_args.device_map:\n        model_args.device_map = {"": 0}', True),
        ('if model_args.device_map in ("None", ""):\n        model_args.device_map = None', True),
        ("model_args.device_map = str(model_args.device_map)", True),  # another form of the same
        ('other.device_map = {"": 0}', True),
    ],
)  # fmt: skip
def test_an_option_that_the_program_sets_again_is_not_known(tmp_path, body, known):
    command = "torchrun --nproc_per_node 8 train.py --device_map auto --model_name_or_path a/b --learning_rate 1e-5 --output_dir o\n"
    found = world(tmp_path, {"run.sh": command, "train.py": SET_AGAIN.replace("BODY", body)})
    assert is_unknown(found.value("model.device_map")) is not known


WORKED_OUT = """import argparse
from trl import GRPOConfig, GRPOTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--num_generations", type=int)
options = parser.parse_args()
{lines}
GRPOTrainer(model="Qwen/Qwen2.5-0.5B", args=args, reward_funcs=[len], train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("lines", "severities"),
    [
        ("args = GRPOConfig(output_dir='out', num_generations=options.num_generations)", {"error"}),
        ("args = GRPOConfig(output_dir='out', num_generations=options.num_generations * 8)", set()),
        ("n = options.num_generations + 1\nargs = GRPOConfig(output_dir='out', num_generations=n)", set()),
        ("args = GRPOConfig(output_dir='out', num_generations=max(2, options.num_generations))", set()),
    ],
)
def test_what_a_program_works_out_from_an_option_is_not_what_the_command_says(
    lines: str, severities: set[str], tmp_path: Path
) -> None:
    files = {
        "run.sh": "python train.py --num_generations 1\n",
        "train.py": WORKED_OUT.format(lines=lines),
        "requirements.txt": "trl==1.16.0\n",
    }
    found = inspected(tmp_path, files).findings
    assert {one.severity for one in found if one.hazard.code == "R101"} == severities
