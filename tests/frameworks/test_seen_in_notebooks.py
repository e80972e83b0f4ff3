"""What the text of a program shows is found in a notebook's code as it runs, and placed in the notebook's file."""

from __future__ import annotations

import json

from stablint.files import discover
from stablint.frameworks import registry
from stablint.run.fact import Explicit
from stablint.syntax.tree import Text

CELLS = [
    "# the first cell\nimport os",
    "from transformers import Trainer, TrainingArguments\nfrom unsloth import FastLanguageModel",
    'class Own(Trainer):\n    def compute_loss(self, model, inputs):\n        return model(**inputs)["loss"]',
    'model, tok = FastLanguageModel.from_pretrained("unsloth/tinyllama")',
    'trainer = Own(model=model, args=TrainingArguments(output_dir="out"), train_dataset=rows)\ntrainer.train()',
]


def test_a_notebook_shows_what_the_same_program_shows():
    program = "\n".join(CELLS)
    notebook = json.dumps({"cells": [{"cell_type": "code", "source": c.splitlines(True), "outputs": [], "metadata": {}} for c in CELLS],
                           "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)  # fmt: skip
    shown = {name: _shown(name, text) for name, text in (("t.py", program), ("t.ipynb", notebook))}
    assert shown["t.py"] == shown["t.ipynb"]
    assert shown["t.py"]["launch.shows.unsloth_imported_late"] == "from unsloth"
    assert shown["t.py"]["launch.overrides.compute_loss"] == "compute_loss"


def _shown(name: str, text: str) -> dict[str, str]:
    """The words at which a program's facts stand in its file."""
    found = {}
    for document in discover.parse(Text(f"/r/{name}", name, text), discover.kind_of(name)):
        for fragment in registry.lower(document):
            for one in fragment.statements:
                if one.fact.startswith(("launch.shows.", "launch.overrides.")) and isinstance(one.origin, Explicit):
                    found[one.fact] = text[one.origin.place.start : one.origin.place.end]
    return found
