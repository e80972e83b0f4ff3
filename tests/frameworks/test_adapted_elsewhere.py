"""A file proves full fine-tuning only where nothing out of sight gets hold of the model: what may adapt it leaves the method open."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import inspected, rules, world

PROGRAM = """from ours import anything, config
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B")
{line}
args = TrainingArguments(output_dir="out", learning_rate=1e-5)
Trainer(model={model}, args=args, train_dataset=data).train()
"""

LINES = [
    ("", "model", "full"),
    ("model.gradient_checkpointing_enable()", "model", "full"),
    ("model.config.use_cache = False", "model", "full"),
    ("print(model)", "model", "full"),
    ("rows = anything(data)", "model", "full"),
    ("model = anything(model)", "model", "unknown"),
    ("anything(model)", "model", "unknown"),
    ("anything([model], 8)", "model", "unknown"),
    ("anything(target=model)", "model", "unknown"),
    ("model.add_adapter(config)", "model", "unknown"),
    ('model.load_adapter("one")', "model", "unknown"),
    ("", "anything()", "unknown"),
]


@pytest.mark.parametrize(("line", "model", "method"), LINES)
def test_what_may_adapt_the_model_leaves_the_method_open(line: str, model: str, method: str, tmp_path: Path) -> None:
    found = world(tmp_path, {"train.py": PROGRAM.format(line=line, model=model)})
    assert found.value("derived.method") == method


HELD = """from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments

class Run:
    def load(self):
        self.model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-8B", quantization_config=BitsAndBytesConfig(load_in_4bit=True))
        self.wrap()

    def train(self{}):
        Trainer(model={}, args=TrainingArguments(output_dir="out"), train_dataset=rows).train()
"""


@pytest.mark.parametrize(("parameter", "model"), [("", "self.model"), (", model", "model"), ("", "self.get()")])
def test_a_model_that_an_object_holds_may_be_another_by_then(parameter: str, model: str, tmp_path: Path) -> None:
    found = inspected(tmp_path, {"train.py": HELD.format(parameter, model)})
    assert not rules(found, "error", "warning") & {"quantised-full-finetuning", "lr-high-for-full"}


@pytest.mark.parametrize(
    ("first", "framework"),
    [("import unsloth", "unsloth"), ("from unsloth import is_bfloat16_supported", "unsloth"), ("# import unsloth", "trl")],
)  # fmt: skip
def test_the_import_of_unsloth_alone_makes_the_run_its_own(first: str, framework: str, tmp_path: Path) -> None:
    text = 'from trl import SFTConfig, SFTTrainer\n\nargs = SFTConfig(output_dir="out")\nSFTTrainer(model=model, args=args).train()\n'
    assert world(tmp_path, {"train.py": f"{first}\n{text}"}).value("derived.framework") == framework
