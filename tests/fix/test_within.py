"""One setting repaired in a notebook: that value changes, and not another byte of the file."""

from __future__ import annotations

import difflib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.files import discover
from stablint.fix.embedded import Within
from stablint.syntax.edit import apply
from stablint.syntax.json import editor as json_edit
from stablint.syntax.python import editor as python_edit
from stablint.syntax.shell import editor as shell_edit
from stablint.syntax.tree import Document, Edit, Entry, Mapping, Module, Script, Text
from stablint.syntax.yaml import editor as yaml_edit
from tests.notebooks import notebook, sources

VERBS = {
    "python": Within(python_edit),
    "shell": Within(shell_edit),
    "yaml": Within(yaml_edit),
    "json": Within(json_edit),
}
SHAPES = [
    {"listed": True},
    {"listed": False},
    {"listed": True, "indent": None},
    {"listed": True, "ascii_only": True},
    {"listed": True, "indent": 4},
]
in_every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)
CELL = 'from trl import SFTConfig\nargs = SFTConfig(\n    output_dir="é",\n    fp16=True,  # "so"\n    learning_rate=2e-4,\n)\n'


def entry(text: str, key: str, format: str = "python") -> tuple[Document, Entry]:
    for document in discover.parse(Text("/x/tune.ipynb", "tune.ipynb", text), "notebook"):
        if document.format != format:
            continue
        root = document.root
        mappings = (
            [call.arguments for call in root.calls] if isinstance(root, Module)
            else [command.flags for command in root.commands] if isinstance(root, Script)
            else [root] if isinstance(root, Mapping) else []
        )  # fmt: skip
        for mapping in mappings:
            for one in mapping.entries:
                if one.key == key:
                    return document, one
    raise AssertionError(key)


def edited(text: str, edit: Edit | None) -> str:
    assert edit is not None
    return apply(text, [edit])


def lines(before: str, after: str) -> list[str]:
    return [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[:1] in "+-"]


@in_every_shape
def test_replace(shape):
    text = notebook("#md x", CELL, "pass", **shape)
    after = edited(text, VERBS["python"].replace(*entry(text, "learning_rate"), 1e-5))
    assert after == text.replace("2e-4", "1e-05")


@in_every_shape
def test_rename(shape):
    text = notebook(CELL, **shape)
    after = edited(text, VERBS["python"].rename(*entry(text, "fp16"), "bf16"))
    assert after == text.replace("fp16", "bf16")


@in_every_shape
def test_a_removed_line_leaves_the_file_as_jupyter_writes_it(shape):
    text = notebook(CELL, **shape)
    after = edited(text, VERBS["python"].remove(*entry(text, "fp16")))
    assert after == notebook(CELL.replace('    fp16=True,  # "so"\n', ""), **shape)


@in_every_shape
def test_an_inserted_line_leaves_the_file_as_jupyter_writes_it(shape):
    text = notebook(CELL, **shape)
    after = edited(text, VERBS["python"].insert(*entry(text, "fp16"), "run_name", 'a"b'))
    assert sources(after) == [CELL.replace('# "so"\n', '# "so"\n    run_name=\'a"b\',\n')]
    assert after == notebook(*sources(after), **shape)


def test_the_last_line_of_a_cell_can_go():
    text = notebook("f(\n  a=1)\n", "%%writefile a.yaml\nlr: 1\nseed: 2")
    after = edited(text, VERBS["yaml"].remove(*entry(text, "seed", "yaml")))
    assert sources(after)[1].rstrip("\n") == "%%writefile a.yaml\nlr: 1"
    assert sources(after)[0] == sources(text)[0]


def test_a_written_file_is_edited_in_its_cell():
    text = notebook('%%writefile ds.json\n{\n  "fp16": {"enabled": true}\n}\n')
    document, _ = entry(text, "fp16", "json")
    assert isinstance(document.root, Mapping)
    inner = document.root.entries[0].value
    assert isinstance(inner, Mapping)
    after = edited(text, VERBS["json"].replace(document, inner.entries[0], False))
    assert lines(text, after) == [
        '-     "  \\"fp16\\": {\\"enabled\\": true}\\n",',
        '+     "  \\"fp16\\": {\\"enabled\\": false}\\n",',
    ]


def test_a_command_is_edited_in_its_line():
    text = notebook("%%capture\n!accelerate launch train.py --learning_rate 2e-4 --bf16\nx = 1")
    after = edited(text, VERBS["shell"].replace(*entry(text, "learning_rate", "shell"), 1e-5))
    assert after == text.replace("2e-4", "1e-05")


def test_what_is_no_text_of_the_cell_is_not_edited():
    text = notebook("lr = 2e-4", "!python train.py --learning_rate {lr}")
    assert VERBS["shell"].replace(*entry(text, "learning_rate", "shell"), 1e-5) is None


def test_a_line_of_a_magic_is_not_touched():
    text = notebook("%env WANDB_MODE=offline\nf(\n  a=1,\n)")
    after = edited(text, VERBS["python"].replace(*entry(text, "a"), 2))
    assert after == text.replace("a=1", "a=2")


@given(
    st.lists(st.text(st.sampled_from('ab"\\\n\t é😀#'), max_size=8), min_size=1, max_size=3),
    st.text(max_size=8),
    st.booleans(),
    st.booleans(),
)
def test_a_text_is_put_in_whatever_stands_around_it(around, new, listed, ascii_only):
    cells = [f"x = {text!r}  # {text!r}\nf(a={text!r}, b=1)\n" for text in around]
    text = notebook(*cells, listed=listed, ascii_only=ascii_only)
    edit = VERBS["python"].replace(*entry(text, "a"), new)
    if edit is None:  # what has no literal in the quotes of the old one
        return
    after = apply(text, [edit])
    old, changed = json.loads(text), json.loads(after)
    assert [cell["outputs"] for cell in changed["cells"]] == [cell["outputs"] for cell in old["cells"]]
    assert sources(after)[1:] == sources(text)[1:]
    _, one = entry(after, "a")
    assert getattr(one.value, "value", None) == new
