"""A program that is read no further says nothing that a reader would have found: neither a setting, nor a fault, nor a file that it writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stablint.assemble.asked import Options
from stablint.assemble.files import Files
from stablint.base import knowledge
from stablint.engine import inspect
from stablint.files import discover
from stablint.files.relevance import speaks
from stablint.frameworks import registry
from stablint.frameworks.programs.words import may_speak
from stablint.syntax.python.reader import is_plain
from stablint.syntax.tree import Text


def programs() -> Iterator[tuple[str, str]]:
    """The Python of every hazard's examples, and stablint's own."""
    examples: dict[str, list[dict[str, Any]]] = knowledge.load("examples")
    for name, several in examples.items():
        for example in several:
            for files in (example["files"], example.get("fixed") or {}):
                yield from ((name, text) for file, text in files.items() if file.endswith(".py"))
    here = Path(__file__).parents[2]
    for path in (
        *here.glob("lint/stablint/syntax/**/*.py"),
        *here.glob("tests/frameworks/*.py"),
        *here.glob("examples/**/*.py"),
    ):
        yield path.name, path.read_text(encoding="utf-8")


def found(content: str) -> list[object]:
    """Whatever is read of a program."""
    documents = discover.parse(Text("a.py", "a.py", content), "python")
    fragments = [one for document in documents for one in registry.lower(document)]
    return [*fragments, *documents[1:], *(problem for document in documents for problem in document.problems)]


def test_no_program_is_silent_in_which_something_is_found() -> None:
    several = list(programs())
    silent = [
        (name, content)
        for name, content in several
        if not (speaks(content) or may_speak(content)) and is_plain(content)
    ]
    assert len(several) > 500
    assert len(silent) > 20
    assert not [name for name, content in silent if found(content)]


SPEAKING = {
    "an old name of a class": "from transformers import Trainer as Make\nMake(model=m)\n",
    "options with dashes": "import argparse\np = argparse.ArgumentParser()\n"
    + "".join(f"p.add_argument('--{name}')\n" for name in ("lora-rank", "lr", "epochs"))
    + "a = p.parse_args()\n",
    "a token": "push(token='hf_abcdefghijklmnopqrstuvwxyz0123')\n",
    "a token in a table": "settings = {'api_key': 'sk-proj-abcdefghijklmnop0123'}\nclient(**settings)\n",
    "a login": "from huggingface_hub import login\nlogin('hf_abcdefghijklmnopqrstuvwxyz0123')\n",
    "constants": "micro_batch_size = 4\nweight_decay = 0.1\nwarmup_steps = 3\n",
    "a dict of settings": "args = {'lr': 2e-5, 'epochs': 3, 'batch_size': 4, 'optimizer': 'adamw', 'fp16': True}\n",
    "another library's engine": "import deepspeed\nengine, *_ = deepspeed.initialize(model=m, config='ds.json')\n",
    "a class of an adapter": "from peft.tuners import lora\nc = lora.LoHaConfig(r=8)\n",
}


@pytest.mark.parametrize("content", SPEAKING.values(), ids=SPEAKING)
def test_what_speaks_is_not_silent(content: str) -> None:
    assert found(content)
    assert may_speak(content)


FAULTY = {
    "no Python": "def f(:\n",
    "an argument twice": "f(a=1, a=2)\n",
    "nested too deep": "x = " + "(" * 300 + ")" * 300 + "\n",
    "a chain too long": "x = 1" + " + 1" * 400 + "\n",
    "a file that it writes": "import json\njson.dump({'a': 1}, open('a.json', 'w'))\n",
}


@pytest.mark.parametrize("content", FAULTY.values(), ids=FAULTY)
def test_what_has_a_fault_or_writes_a_file_is_read(content: str) -> None:
    assert found(content)
    assert not is_plain(content)


def test_a_silent_program_is_read_where_another_file_names_it(tmp_path: Path) -> None:
    path = tmp_path / "helper.py"
    path.write_text("def double(x):\n    return 2 * x\n", encoding="utf-8")
    files = Files(lambda _: str(tmp_path), str(tmp_path))
    assert files.is_silent(str(path), speaks)
    assert [text.path for text in files.texts()] == [str(path)]
    (document,) = files.documents(str(path))
    assert document.root is not None
    assert [text.path for text in files.texts()] == [str(path)]


def test_what_is_skipped_is_told_as_ever_and_its_secrets_are_known(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text('KEY = 1\npassword = "correct-horse-9battery"\n', encoding="utf-8")
    found = inspect.inspect([str(tmp_path)], Options(), base=str(tmp_path))
    assert [(one.file, one.status) for one in found.report.files] == [("helper.py", "skipped")]
    assert "correct-horse-9battery" in found.secrets
