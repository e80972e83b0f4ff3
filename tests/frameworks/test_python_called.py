"""What a program hands its trainer, accelerate or DeepSpeed, and does to its tokenizer: facts only where the calls show them."""

from __future__ import annotations

import pytest

from stablint.frameworks.programs import reader as python
from stablint.syntax.python import reader as source
from stablint.syntax.tree import Text

LOOP = """
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, get_scheduler
accelerator = Accelerator({arguments})
model = AutoModelForCausalLM.from_pretrained("gpt2")
loader = DataLoader(rows, batch_size=8)
{before}
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
{after}
scheduler = accelerator.prepare(get_scheduler("linear", optimizer=optimizer, num_warmup_steps=0, num_training_steps={steps}))
accelerator.backward(loss)
"""
TRAINER = """
from transformers import Adafactor, AutoModelForCausalLM, EarlyStoppingCallback, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("gpt2")
{lines}
trainer = Trainer(model=model, args=TrainingArguments("out"), {given})
trainer.train()
"""


def facts(text: str) -> dict[str, object]:
    (document,) = source.documents(Text("/train.py", "train.py", text))
    return {one.fact: one.value for fragment in python.lower(document) for one in fragment.statements}


@pytest.mark.parametrize(
    "arguments, before, after, steps, counted",
    [
        ("", "", "", "3 * len(loader)", "shard"),
        ("", "", "steps = 3 * len(loader)", "steps", "shard"),
        ("", "steps = 3 * len(loader)", "", "steps", None),  # of all processes
        ("", "", "", "3 * len(loader) * accelerator.num_processes", None),
        ("", "", "steps = len(loader)\nsteps = steps * 3", "steps", None),  # which of them is not said
        ("", "", "", "1000", "number"),
        ("", "", "", "ours.steps()", None),
        ("split_batches=True", "", "", "3 * len(loader)", None),
        ("split_batches=False", "", "", "3 * len(loader)", "shard"),
        ("step_scheduler_with_optimizer=False", "", "", "1000", None),
        ("**settings", "", "", "1000", None),
        ("gradient_accumulation_steps=4", "", "", "3 * len(loader)", None),  # four times as long: who is ahead depends on the cards
    ],
)  # fmt: skip
def test_what_the_length_of_a_prepared_schedule_is_counted_from(
    arguments: str, before: str, after: str, steps: str, counted: str | None
) -> None:
    said = facts(LOOP.format(arguments=arguments, before=before, after=after, steps=steps))
    assert said.get("launch.done.schedule_counts") == counted
    assert said["launch.done.loader_batch"] == 8


@pytest.mark.parametrize(
    "lines, given, fact, value",
    [
        ("", "callbacks=[EarlyStoppingCallback(3)]", "launch.done.early_stopping", True),
        ("", "callbacks=ours", "launch.done.early_stopping", None),
        ("", "callbacks=[ours]", "launch.done.early_stopping", None),
        ("if late:\n    stop = EarlyStoppingCallback(3)", "callbacks=[stop]", "launch.done.early_stopping", None),
        ("", "optimizers=(Adafactor(model.parameters(), lr=None), None)", "launch.optimizer.relative_step", True),
        ("", "optimizers=(Adafactor(model.parameters(), lr=None), None)", "launch.optimizer.schedule", "none"),
        ("", "optimizers=(Adafactor(model.parameters(), **settings), None)", "launch.optimizer.relative_step", None),
        ("", "optimizers=ours", "launch.optimizer.made", None),
        ("", "train_dataset=rows", "launch.done.ranks_reallocated", False),
        ("step = model.base_model.update_and_allocate", "train_dataset=rows", "launch.done.ranks_reallocated", None),
        ('tokenizer.add_tokens(["<call>"])', "train_dataset=rows", "launch.done.tokens_added", "all"),
        ('tokenizer.add_special_tokens({"pad_token": "<pad>"})', "train_dataset=rows", "launch.done.tokens_added", "pad"),
        ("tokenizer.add_tokens(ours)", "train_dataset=rows", "launch.done.tokens_added", None),  # there may be none
        ('tokenizer.add_tokens(["<call>"])\nours.resize_token_embeddings(model)', "train_dataset=rows", "launch.done.embeddings_resized", True),
    ],
)  # fmt: skip
def test_what_a_trainer_and_a_tokenizer_are_given(lines: str, given: str, fact: str, value: object) -> None:
    assert facts(TRAINER.format(lines=lines, given=given)).get(fact) == value
