"""Notebooks as they are read: cells as one module, commands as scripts, written files as files, every place that of the file."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.files import discover
from stablint.syntax import limits
from stablint.syntax.notebook.cells import NoNotebook
from stablint.syntax.notebook.cells import notebook as cells_of
from stablint.syntax.notebook.reader import seen
from stablint.syntax.tree import Call, Document, Mapping, Module, Scalar, Script, Text, Unknown
from tests.notebooks import notebook


def read(text: str) -> tuple[Document, ...]:
    return discover.parse(Text("/x/tune.ipynb", "tune.ipynb", text), "notebook")


def python(text: str) -> Document:
    (found, *_) = read(text)
    assert found.format == "python" and found.view is not None
    return found


def call(document: Document, name: str) -> Call:
    assert isinstance(document.root, Module)
    return next(call for call in document.root.calls if call.name == name)


def value(call: Call, key: str) -> object:
    node = call.arguments.get(key)
    return node.value if isinstance(node, Scalar) and not isinstance(node.value, Unknown) else "?"


# What Python is left of a cell.
MAGICS = [
    ("a = 1\n!pip install x\nb = 2", "a = 1\npass\nb = 2\n"),
    ("if x:\n    !ls it's\n", "if x:\n    pass\n\n"),
    ("!pip install a \\\n  b\nc = 1", "pass\nc = 1\n"),
    ("%matplotlib inline\na = 1", "pass\na = 1\n"),
    ("%time f(a=1)", "f(a=1)\n"),
    ("%timeit -n 3 f(a=1)", "f(a=1)\n"),
    ("%time f(\n  a=1)\nb = 1", "f(\n  a=1)\nb = 1\n"),
    ("%%time\nf(a=1)", "f(a=1)\n"),
    ("%%capture out\n%%time\nf(a=1)", "f(a=1)\n"),
    ("%%html\n<b>", ""),
    ("%%bash\nls", ""),
    ("files = !ls\nb = 1", "files = get_ipython()\nb = 1\n"),
    ("a, b = !ls", "a, b = get_ipython()\n"),
    ("x = %env HOME", "x = get_ipython()\n"),
    ("f?\nf(a=1)", "pass\nf(a=1)\n"),
    ("?f\nf??", "pass\npass\n"),
    ("a = '''\n!no\n%no\nf?\n'''", "a = '''\n!no\n%no\nf?\n'''\n"),
    ("a = (1\n%b)", "a = (1\n%b)\n"),
    ("a = 1  # don't\n!ls", "a = 1  # don't\npass\n"),
    ("  a = 1\n  b = 2", "a = 1\nb = 2\n"),
    ("%env A=b c\n%env B=1", 'pass\n__import__("os").environ["B"] = "1"\n'),
    ("pip install x\na = 1", "pass\na = 1\n"),
    ("a = b != c\nd = a % b", "a = b != c\nd = a % b\n"),
]  # fmt: skip


@pytest.mark.parametrize(("cell", "expected"), MAGICS)
@pytest.mark.parametrize("listed", [True, False])
def test_the_python_of_a_cell(cell, expected, listed):
    view = python(notebook(cell, listed=listed)).view
    assert view is not None and view.source == expected
    ast.parse(view.source)


def test_names_flow_from_cell_to_cell_and_outputs_say_nothing():
    found = python(notebook("from trl import SFTConfig as C", "#md lr = 3", "lr = 2e-4", "C(learning_rate=lr)"))
    assert value(call(found, "trl.SFTConfig"), "learning_rate") == 2e-4


@pytest.mark.parametrize("end", ["raise SystemExit('enough')", "exit()", "import sys\nsys.exit()"])
def test_a_cell_that_ends_the_program_keeps_nobody_from_running_the_next_one(end):
    found = python(notebook("lr = 1e-4", end, "f(lr=lr)"))
    assert value(call(found, "f"), "lr") == 1e-4


def test_a_cell_that_is_no_python_makes_the_names_that_it_seems_to_bind_unknown():
    found = python(notebook("lr = 1e-4\nbs = 4", "lr = = 2\nwhat is this", "f(lr=lr, bs=bs)"))
    assert [value(call(found, "f"), key) for key in ("lr", "bs")] == ["?", 4]


TEXTS = st.text(st.sampled_from("a=1\"\\\t'é😀 \u2028#%!?[{("), max_size=12)


@given(st.lists(TEXTS, min_size=1, max_size=4), st.booleans(), st.booleans())
def test_every_place_is_that_of_the_file(texts, listed, ascii_only):
    cells = [f"f(v={text!r})" for text in texts]
    text = notebook(*cells, listed=listed, ascii_only=ascii_only)
    found = python(text)
    assert isinstance(found.root, Module)
    assert len(found.root.calls) == len(texts)
    for number, (one, wanted) in enumerate(zip(found.root.calls, texts, strict=True)):
        node = one.arguments.get("v")
        assert isinstance(node, Scalar) and node.value == wanted
        raw = text[node.start : node.end]
        assert json.loads(f'"{raw}"') == repr(wanted)
        place = seen(found.text, node.start, node.end)
        assert place is not None and place.cell == number + 1
        assert place.source[place.start : place.end] == repr(wanted)


@given(st.lists(st.text(max_size=30), max_size=5), st.booleans(), st.booleans())
def test_any_text_in_cells_is_read_without_a_crash(texts, listed, ascii_only):
    text = notebook(*texts, listed=listed, ascii_only=ascii_only)
    for document in read(text):
        assert all(0 <= problem.start <= problem.end <= len(text) for problem in document.problems)


@given(st.text(max_size=60))
def test_any_text_at_all_is_read_without_a_crash(text):
    assert read(text)[0].text.text == text


def test_cells_are_counted_with_those_of_words():
    text = notebook("#md one", "a = 1\nf(v=a)", listed=True)
    node = call(python(text), "f").arguments.get("v")
    assert node is not None
    place = seen(python(text).text, node.start, node.end)
    assert place is not None and (place.cell, place.source[place.start : place.end]) == (2, "1")


def test_notebooks_of_format_three_have_their_cells_in_worksheets():
    words = {"cell_type": "heading", "level": 1, "source": ["T"]}
    code = [{"cell_type": "code", "input": [text], "language": "python", "outputs": []} for text in ("a = 1", "f(v=a)")]
    sheets = [{"cells": [words, code[0]], "metadata": {}}, {"cells": [code[1]]}]
    text = json.dumps({"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": sheets})
    node = call(python(text), "f").arguments.get("v")
    assert isinstance(node, Scalar) and node.value == 1
    place = seen(python(text).text, node.start, node.end)
    assert place is not None and (place.cell, place.source[place.start : place.end]) == (2, "1")


COMMANDS = [
    ("!torchrun train.py --lr 1e-4", [("torchrun", "train.py")]),
    ("%%bash\npip install x\npython train.py", [("pip", "install", "x"), ("python", "train.py")]),
    ("%run train.py --lr 1", [("python", "train.py")]),
    ("!pip install trl accelerate", []),
    ("!ls", []),
    ("%sh\npython train.py", [("python", "train.py")]),
]  # fmt: skip


@pytest.mark.parametrize(("cell", "words"), COMMANDS)
def test_commands(cell, words):
    found = [command.words for d in read(notebook(cell)) if isinstance(d.root, Script) for command in d.root.commands]
    assert found == words


def test_a_command_gets_the_constants_of_python():
    _, script = read(notebook("lr = 2e-4\nn = f()", "!python train.py --learning_rate {lr} --max_steps {n}"))
    assert isinstance(script.root, Script)
    flags = script.root.commands[0].flags
    rate, steps = flags.get("learning_rate"), flags.get("max_steps")
    assert isinstance(rate, Scalar) and isinstance(steps, Scalar)
    assert str(rate.value) == "0.0002" and isinstance(steps.value, Unknown)


def test_a_written_file_is_read_as_its_suffix_says():
    _, file = read(notebook('%%writefile conf/ds.json\n{"bf16": {"enabled": true}}'))
    assert file.view is not None and (file.format, file.view.name) == ("json", "conf/ds.json")
    assert isinstance(file.root, Mapping)
    assert file.text.text[file.root.start : file.root.end] == '{\\"bf16\\": {\\"enabled\\": true}}'


@pytest.mark.parametrize(
    "cell", ["%%writefile -a x.yaml\na: 1", "%%writefile {name}.yaml\na: 1", "%%writefile x.ipynb\n{}"]
)
def test_a_file_that_is_only_partly_known_is_not_read(cell):
    assert len(read(notebook(cell))) == 1


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "syntax-error"), ("{", "syntax-error"), ('{"cells": [}', "syntax-error"), ("{}", "not-a-notebook"), ("[]", "not-a-notebook"),
        ('{"cells": {}}', "not-a-notebook"), ('{"nbformat": 3, "worksheets": {}}', "not-a-notebook"), ('{"cells": []} x', "syntax-error"),
        ('{"cells": [{"cell_type": "code", "source": 3}]}', "not-a-notebook"), ('{"cells": ' + "[" * 100_000 + "]" * 100_000 + "}", "too-deep"),
    ],
)  # fmt: skip
def test_what_is_no_notebook_says_so(text, kind):
    (document,) = read(text)
    assert document.root is None
    assert [problem.kind for problem in document.problems] == [kind]


def test_other_languages_are_no_python():
    (document,) = read(notebook("x <- 1", language_info={"name": "R"}))
    assert document.root is None and not document.problems


def test_a_source_of_another_kind_is_refused():
    with pytest.raises(NoNotebook):
        cells_of('{"cells": [{"cell_type": "code", "source": [1]}]}')


def test_a_cell_of_a_template_leaves_the_others_readable():
    """Jinja in one cell, as in an explanation of chat templates."""
    template = "x = 1\n{% for message in messages %}\n{{ message['content'] }}\n{% endfor %}\n"
    trained = 'from transformers import TrainingArguments\nargs = TrainingArguments("out", fp16=True, bf16=True)\n'
    assert value(call(python(notebook(template, trained)), "transformers.TrainingArguments"), "fp16") is True


def test_of_a_thousand_commands_the_others_are_not_read():
    found = read(notebook("!torchrun t.py\n" * 1_200))
    assert len(found) == limits.DOCUMENTS.most
    assert [(problem.kind, problem.message) for problem in found[0].problems] == [
        (limits.KIND, "more than 1,000 documents in one file: the others are not read")
    ]
