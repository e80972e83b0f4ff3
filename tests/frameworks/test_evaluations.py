"""A command or a program that only evaluates is no training, and a program with a loop of its own has none of the Trainer's defaults."""

from __future__ import annotations

import pytest

from stablint.commands.run_summary import in_words
from stablint.hazard.checked import Checked
from stablint.run.fact import is_unknown
from tests.runs import Files, inspected, rules, world

COMMAND = "python run.py --model_name_or_path openai/whisper-base --output_dir o --dtype float16 --streaming {}\n"
EVALUATES = "--per_device_eval_batch_size 32 --predict_with_generate"
PARSES = """import torch
from transformers import AutoModelForSpeechSeq2Seq, HfArgumentParser, Seq2SeqTrainingArguments
args, = HfArgumentParser((Seq2SeqTrainingArguments,)).parse_args_into_dataclasses()
model = AutoModelForSpeechSeq2Seq.from_pretrained("openai/whisper-base", torch_dtype=torch.float16)
"""
GENERATES = PARSES + "for batch in rows:\n    model.generate(batch)\n"
TRAINS = PARSES + "from transformers import Seq2SeqTrainer\nSeq2SeqTrainer(model, args=args).train()\n"
FLAX = """import jax, optax
from transformers import HfArgumentParser, TrainingArguments
args, = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()
steps = optax.adamw(args.learning_rate)
gradient = jax.value_and_grad(loss)
"""
ACCELERATE = """from accelerate import Accelerator
from transformers import HfArgumentParser, TrainingArguments
args, = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()
accelerator = Accelerator()
accelerator.backward(loss)
"""

# Files, and whether weights are trained: None where nobody can say.
PHASES: dict[str, tuple[Files, bool | None]] = {
    "the program only generates": ({"run.sh": COMMAND.format(EVALUATES), "run.py": GENERATES}, False),
    "an evaluator of another module": (
        {"run.sh": COMMAND.format("--inference_file a.json --do_sample False"),
         "run.py": "from kit.trainer.judge import Judge\nJudge(1).evaluate()\n"},
        False,
    ),
    "the program is elsewhere": ({"run.sh": COMMAND.format(EVALUATES)}, None),
    "a prediction by an own flag": ({"run.sh": COMMAND.format("--do_pred --eval_batch_size 8 --logging_steps 10 --max_length 512")}, None),
    "the program could train": ({"run.sh": COMMAND.format(EVALUATES), "run.py": TRAINS}, None),
    "a rate is stated": ({"run.sh": COMMAND.format(EVALUATES + " --learning_rate 1e-5"), "run.py": TRAINS}, True),
    "a training is asked for": ({"run.sh": COMMAND.format(EVALUATES + " --do_train"), "run.py": TRAINS}, True),
    "flags that are not all known": ({"run.sh": COMMAND.format(EVALUATES + ' "$@"'), "run.py": TRAINS}, None),
}  # fmt: skip


@pytest.mark.parametrize(("files", "trains"), PHASES.values(), ids=PHASES)
def test_what_is_set_for_an_evaluation_alone_is_no_training(files, trains, tmp_path):
    found = inspected(tmp_path, files)
    value = Checked(found.runs[0]).newest.value("derived.trains")
    assert is_unknown(value) if trains is None else value is trains
    told = rules(found, "error", "warning") & {"streaming-without-max-steps", "pure-fp16-training"}
    assert trains is True or not told
    if trains is False:
        assert in_words(Checked(found.runs[0]).newest)["training"] == "none: it evaluates or predicts only"


def test_a_program_that_generates_is_no_training_by_itself(tmp_path):
    run = world(tmp_path, {"run.py": GENERATES})
    assert run.value("derived.trains") is False


FIRE = """import fire
from transformers import Seq2SeqTrainingArguments
from vllm import LLM
def {0}(name="a/b"):
    args = Seq2SeqTrainingArguments(output_dir="nowhere")
    rows = kit.rows(args)
    LLM(name).generate(rows)
fire.Fire({1})
"""


@pytest.mark.parametrize(("started", "trains"), [("infer", False), ("kit.start", True)])
def test_a_function_that_a_command_line_is_given_to_is_read_as_well(started, trains, tmp_path):
    found = world(tmp_path, {"infer.py": FIRE.format("infer", started)}).value("derived.trains")
    assert (found is False) is not trains


RUN = "accelerate launch --num_processes=8 train.py --learning_rate 1e-5 --weight_decay 0.0 --gradient_accumulation_steps 2 {}\n"
OWN_CLASS = """from dataclasses import dataclass
from transformers import HfArgumentParser
from kit.behaviour import {}
@dataclass
class TrainingArguments:
    batch_size: int = 4
    n_epochs: int = 40
    learning_rate: float = 2e-5
    gradient_accumulation_steps: int = 1
(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
{}
"""
OWN_PPO = """from dataclasses import dataclass
import transformers
from models.ppo import PPOTrainer
@dataclass
class TrainingArguments(transformers.Seq2SeqTrainingArguments):
    total_epochs: int = 10
args, = transformers.HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()
PPOTrainer(args=args).train()
"""
OWN_LOOPS: dict[str, tuple[Files, dict[str, str]]] = {
    "arguments of its own under the library's name": (
        {"run.sh": RUN.format("--batch_size 2 --n_epochs 1"), "train.py": OWN_CLASS.format("Teacher", "Teacher(args).train()")},
        {"steps": "1 epochs", "effective batch": "32 (presumed)", "method": "unknown"},
    ),
    "a trainer of another file": (
        {"run.sh": RUN.format("--batch_size 2 --n_epochs 1"), "train.py": OWN_CLASS.format("OwnTrainer", "t = OwnTrainer(args)\nt.train()")},
        {"steps": "1 epochs", "effective batch": "32 (presumed)"},
    ),
    "PPO with epochs under a name of its own": (
        {"run.sh": RUN.format("--total_epochs 4 --do_train --output_dir o --bf16 True"), "train.py": OWN_PPO},
        {"steps": "4 epochs", "learning rate": "1e-05",
         "effective batch": "not known: batch size, accumulation and processes are not all known (2 accumulated, 8 processes)"},
    ),
    "the same with flags as LLaVA's": (
        {"run.sh": RUN.format("--total_epochs 4 --output_dir o --vision_tower a/clip --mm_vision_select_layer -2 --image_aspect_ratio pad"
                              " --freeze_mm_mlp_adapter True --model_max_length 2048"),
         "train.py": OWN_PPO},
        {"steps": "not known: it depends on the number of rows", "method": "unknown"},
    ),
    "Flax": (
        {"run.sh": RUN.format("--per_device_train_batch_size 4 --output_dir o"), "train.py": FLAX},
        {"framework": "transformers, a loop of its own (jax)", "learning rate": "1e-05"},
    ),
    "accelerate with the library's arguments": (
        {"run.sh": RUN.format("--per_device_train_batch_size 4 --output_dir o"), "train.py": ACCELERATE},
        {"framework": "transformers, a loop of its own (accelerate)", "learning rate": "1e-05"},
    ),
    "TRL's PPO before 0.12": (
        {"train.py": "from trl import PPOConfig\nfrom kit import PPOTrainerForGLM, m\n"
                     "PPOTrainerForGLM(config=PPOConfig(model_name='a/b', learning_rate=1e-5, ppo_epochs=1, batch_size=2), model=m).ppo_train()\n"},
        {"framework": "trl.PPOTrainer.step", "steps": "not known: it depends on the number of rows", "checkpoints": "", "method": "unknown"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "said"), OWN_LOOPS.values(), ids=OWN_LOOPS)
def test_a_loop_of_its_own_has_no_epochs_batches_and_checkpoints_of_the_trainer(files, said, tmp_path):
    words = in_words(Checked(inspected(tmp_path, files).runs[0]).newest)
    assert {label: words.get(label, "") for label in said} == said
    assert "500" not in words.get("checkpoints", "")


OWN_FLAGS = "deepspeed --num_gpus 2 main.py {} --learning_rate 9.65e-6 --weight_decay 0.1 --per_device_train_batch_size 8 --output_dir o {}\n"
CHECKPOINTS = """import argparse, deepspeed
parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float)
parser.add_argument("--{option}", action="store_true")
args = parser.parse_args()
model, *_ = deepspeed.initialize(model=load(), args=args)
if args.{option}:
    model.gradient_checkpointing_enable()
model.backward(loss)
"""


@pytest.mark.parametrize("flag", ["--deepspeed", "--deepspeed_config ds.json"])
@pytest.mark.parametrize("option", ["gradient_checkpointing", "save_memory"])
@pytest.mark.parametrize("on", [True, False])
def test_a_loop_of_deepspeed_s_own_keeps_what_its_flags_state(flag, option, on, tmp_path):
    files = {
        "run.sh": OWN_FLAGS.format(flag, f"--{option}" if on else ""),
        "main.py": CHECKPOINTS.format(option=option),
        "ds.json": '{"zero_optimization": {"stage": 2}, "optimizer": {"type": "Adam", "params": {"lr": 1e-4}}}',
    }
    found = inspected(tmp_path, files)
    run = Checked(found.runs[0]).newest
    assert (run.value("training.learning_rate"), run.value("training.per_device_train_batch_size")) == (9.65e-6, 8)
    assert run.value("training.gradient_checkpointing") is on
    assert not {rule for rule in rules(found) if "mismatch" in rule}
    (tmp_path / "main.py").unlink()
    assert not {rule for rule in rules(inspected(tmp_path, {})) if "mismatch" in rule}


DEFINES = """from transformers import Trainer
from trl import GRPOConfig


class GroupTrainer(Trainer):
    def __init__(self, model, args=None):
        super().__init__(model=model, args=args or GRPOConfig("out"))

    def prediction_step(self, model, inputs):
        return model.generate(**inputs)
"""


@pytest.mark.parametrize(
    ("source", "trains"),
    [(DEFINES, True), (DEFINES.replace("class GroupTrainer(Trainer)", "class Group(Helper)"), False)],
)
def test_a_module_that_makes_a_class_of_a_trainer_is_there_for_a_training(source, trains, tmp_path):
    assert world(tmp_path, {"grouped.py": source}).value("derived.trains") is trains
