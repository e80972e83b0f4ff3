"""What is made out of a program is made out once, and is gone when the program is: a language server reads thousands of them."""

from __future__ import annotations

import gc
import pickle
import weakref

from stablint.frameworks import registry
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs.seen import calls, seen_in
from stablint.syntax.python import reader as python
from stablint.syntax.tree import Document, Module, Text

PROGRAM = """\
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("gpt2")
trainer = Trainer(model, TrainingArguments("out", fp16=True))
trainer.train()
"""


def read() -> Document:
    (document,) = python.documents(Text("/train.py", "train.py", PROGRAM))
    assert list(registry.lower(document))
    return document


def test_a_program_is_asked_once():
    document = read()
    assert isinstance(document.root, Module)
    assert python_kinds.kinds(document.root) is python_kinds.kinds(document.root)
    assert calls(document.root, "train") is calls(document.root, "train")
    assert seen_in("Trainer", document) is seen_in("Trainer", document)
    assert document.root.notes


def test_nothing_keeps_a_program_that_nobody_asks_for():
    document = read()
    assert isinstance(document.root, Module)
    notes = weakref.ref(document.root.notes)
    del document
    gc.collect()
    assert notes() is None


def test_what_was_made_out_goes_to_no_other_process():
    root = read().root
    assert isinstance(root, Module)
    assert seen_in("Trainer", read()) is not None
    other = pickle.loads(pickle.dumps(root))
    assert other == root._replace(notes=other.notes) and not other.notes
