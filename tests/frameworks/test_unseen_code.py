"""That something is not done is known only of a text that shows all: what another file makes, or is handed, leaves it open."""

from __future__ import annotations

import pytest

from stablint.frameworks.programs import reader as python
from stablint.syntax.python import reader as source
from stablint.syntax.tree import Text, Unknown

TRAINER = """
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
class Own(Trainer):
    def get_train_dataloader(self):
        return DataLoader(self.train_dataset, batch_size=4)
model = AutoModelForCausalLM.from_pretrained("gpt2")
model = get_peft_model(model, LoraConfig(r=8))
{before}
trainer = {trainer}(model=model, args=TrainingArguments("out"), train_dataset={rows})
{after}
trainer.train()
"""
LOOP = """
from accelerate import Accelerator
from torch.optim import AdamW
from transformers import AutoModelForCausalLM
accelerator = Accelerator(gradient_accumulation_steps=4)
model = AutoModelForCausalLM.from_pretrained("gpt2")
optimizer = AdamW(model.parameters(), lr=1e-4)
model, optimizer = accelerator.prepare(model, {second})
{before}
accelerator.backward(loss)
accelerator.unwrap_model(model).save_pretrained("out")
"""
HANDED = "from .helpers import tell\ntell(model)"


def fact(text: str, name: str) -> object:
    (document,) = source.documents(Text("/train.py", "train.py", text))
    found = [one for fragment in python.lower(document) for one in fragment.statements if one.fact == f"launch.{name}"]
    return found[0].value if found else None


def of_trainer(before: str = "", after: str = "", trainer: str = "Trainer", rows: str = "rows") -> str:
    return TRAINER.format(before=before, after=after, trainer=trainer, rows=rows)


def of_loop(before: str = "", second: str = "optimizer") -> str:
    return LOOP.format(before=before, second=second)


@pytest.mark.parametrize(
    "name, plain, hidden",
    [
        ("done.pad_token_told_model", of_trainer(), of_trainer(HANDED)),
        ("done.pad_token_told_model", of_trainer(), of_trainer(after="from .helpers import tell\ntell(trainer)")),
        ("done.pad_token_told_model", of_trainer(), of_trainer("from setup import make\nmodel = make()")),
        ("done.pad_token_told_model", of_trainer(), of_trainer("import setup\nsetup.tell(model)")),
        ("done.pad_token_told_model", of_trainer(), of_trainer("from setup import Teller\nTeller(model).tell()")),
        ("shows.adapter_without_input_gradients", of_trainer(), of_trainer(HANDED)),
        (
            "shows.own_loader_unshared",
            of_trainer(trainer="Own"),
            of_trainer("from data import mine\nrows = mine(1)", trainer="Own"),
        ),
        ("shows.never_accumulates", of_loop(), of_loop("from steps import around\nwith around(accelerator): pass")),
        ("shows.saves_without_state", of_loop(), of_loop("from steps import gathered\nwith gathered(model): pass")),
        ("shows.prepares_no_loader", of_loop(), of_loop("from steps import prepare\nprepare(accelerator)")),
    ],
)
def test_what_another_file_is_handed_is_not_known(name: str, plain: str, hidden: str) -> None:
    assert isinstance(fact(plain, name), bool)
    assert isinstance(fact(hidden, name), Unknown)


@pytest.mark.parametrize(
    "name, text",
    [
        ("done.pad_token_told_model", of_trainer("from .helpers import seed\nseed(42)")),  # it is handed no model
        ("done.pad_token_told_model", of_trainer("print(model)")),
        ("done.pad_token_told_model", of_trainer("def count(one): return one\ncount(model)")),  # the text shows it
        ("done.pad_token_told_model", of_trainer("import copy\nother = copy.deepcopy(model)")),
        ("shows.own_loader_unshared", of_trainer(trainer="Own", rows="rows.map(tokenise)")),
        ("shows.prepares_no_loader", of_loop("from .helpers import seed\nseed(42)")),
    ],
)
def test_what_gets_hold_of_nothing_hides_nothing(name: str, text: str) -> None:
    assert isinstance(fact(text, name), bool)


@pytest.mark.parametrize(
    "second", ["batches(4)", "make(optimizer)", "self.rows"]
)  # `batches`: a function of the repository's own, which may make a loader
def test_what_a_function_makes_may_be_a_loader(second: str) -> None:
    text = of_loop("", second).replace("accelerator = Acc", "from data import batches\naccelerator = Acc")
    assert fact(text, "shows.prepares_no_loader") is not True


INPUT_GRADIENTS = "shows.adapter_without_input_gradients"
# What stands in the program before its adapter's trainer is made, and whether the inputs are without gradients all the same.
SEEN = {
    "an import that nobody uses": ("from peft import prepare_model_for_kbit_training", True),
    "an import in brackets": ("from peft import (\n    PeftModel,\n    prepare_model_for_kbit_training,\n)", True),
    "an import over two lines": ("from peft import PeftModel, \\\n    prepare_model_for_kbit_training", True),
    "a comment": ("# model.enable_input_require_grads()", True),
    "a call": ("model.enable_input_require_grads()", False),
    "a call behind a comment": ("# for checkpointing\nmodel.enable_input_require_grads()", False),
    "an import under another name": (
        "from peft import prepare_model_for_kbit_training as ready\nmodel = ready(model)",
        False,
    ),
    "a call of what was imported": (
        "from peft import prepare_model_for_kbit_training\nmodel = prepare_model_for_kbit_training(model)",
        False,
    ),
    "checkpointing that is switched on behind the adapter": ("model.gradient_checkpointing_enable()", True),
}


@pytest.mark.parametrize("name", SEEN)
def test_what_a_program_only_mentions_it_does_not_do(name: str) -> None:
    before, without = SEEN[name]
    assert (fact(of_trainer(before), INPUT_GRADIENTS) is True) is without


def test_checkpointing_that_is_on_before_the_adapter_gives_the_inputs_gradients() -> None:
    text = of_trainer().replace("model = get_peft", "model.gradient_checkpointing_enable()\nmodel = get_peft")
    assert fact(text, INPUT_GRADIENTS) is False
