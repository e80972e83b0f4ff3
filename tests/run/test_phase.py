"""Whether a run trains: what its flags or file ask a program for, and what only sounds like it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablint.engine import examples
from stablint.hazard import model

FP16_OF_GLM4 = next(hazard for hazard in model.load() if hazard.id == "fp16-glm4-nan")

LLAMAFACTORY = "model_name_or_path: THUDM/glm-4-9b\nstage: sft\nfinetuning_type: lora\ntemplate: glm4\nfp16: true\noutput_dir: out\n"
SCRIPT = "python run_clm.py --model_name_or_path THUDM/glm-4-9b-chat --fp16 --learning_rate 1e-5 --output_dir out"
PROGRAM = """from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("THUDM/glm-4-9b-chat")
args = TrainingArguments(output_dir="out", fp16=True, learning_rate=1e-5, {said})
Trainer(model=model, args=args, train_dataset=data).train()
"""

RUNS: list[tuple[str, dict[str, str], bool]] = [
    ("LLaMA-Factory trains", {"a.yaml": LLAMAFACTORY + "do_train: true\ndataset: identity\n"}, True),
    ("LLaMA-Factory predicts", {"a.yaml": LLAMAFACTORY + "do_predict: true\neval_dataset: identity\n"}, False),
    ("LLaMA-Factory trains and predicts", {"a.yaml": LLAMAFACTORY + "do_train: true\ndo_predict: true\ndataset: identity\n"}, True),
    ("a script trains", {"run.sh": SCRIPT + " --do_train --train_file rows.json\n"}, True),
    ("a script trains and evaluates", {"run.sh": SCRIPT + " --do_train --do_eval --train_file rows.json\n"}, True),
    ("a script evaluates", {"run.sh": SCRIPT + " --do_eval\n"}, False),
    ("a script is told not to train", {"run.sh": SCRIPT + " --do_train False --do_eval\n"}, False),
    ("no epochs measure the base model", {"train.py": PROGRAM.format(said="num_train_epochs=0")}, False),
    ("a number of steps goes before no epochs", {"train.py": PROGRAM.format(said="num_train_epochs=0, max_steps=100")}, True),
    ("half an epoch trains", {"train.py": PROGRAM.format(said="num_train_epochs=0.5")}, True),
    ("the Trainer does not read do_eval", {"train.py": PROGRAM.format(said="do_eval=True")}, True),
    ("nor do_train", {"train.py": PROGRAM.format(said="do_train=False")}, True),
]  # fmt: skip


@pytest.mark.parametrize(("what", "files", "trains"), RUNS, ids=lambda value: value if isinstance(value, str) else "")
def test_only_what_trains_draws_a_hazard_of_training(
    what: str, files: dict[str, Any], trains: bool, tmp_path: Path
) -> None:
    assert bool(examples.look(files, str(tmp_path), None, (FP16_OF_GLM4,))) is trains
