"""Python modules as they are read and written. Nothing in them is executed."""

from __future__ import annotations

import ast
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.syntax.python import editor as python_edit
from stablint.syntax.python import guard as python_guard
from stablint.syntax.python import reader as python
from stablint.syntax.tree import (
    Call,
    Document,
    Edit,
    Entry,
    Mapping,
    Module,
    Problem,
    Scalar,
    Sequence,
    Text,
    Unknown,
    Verbatim,
)

LINT = Path(__file__).parents[2] / "lint"


def read(source: str) -> Document:
    return python.document(Text("/x/train.py", "train.py", source))


def calls(source: str) -> tuple[Call, ...]:
    root = read(source).root
    assert isinstance(root, Module)
    return root.calls


def value(node):
    if isinstance(node, Sequence):
        return [value(item) for item in node.items]
    if isinstance(node, Mapping):
        return {entry.key: value(entry.value) for entry in node.entries} | ({"**": "?"} if node.open else {})
    if isinstance(node, Call):
        return f"{node.name}(…)"
    return "?" if isinstance(node.value, Unknown) else node.value


# The value of the argument `v` of the last call, and its text.
VALUES = [
    ("f(v=1)", 1, "1"),
    ("f(v=-2.5)", -2.5, "-2.5"),
    ("f(v='a' \"b\")", "ab", "'a' \"b\""),
    ("f(v=(None))", None, "None"),
    ("f(v=2e-5 * 8)", 2e-5 * 8, "2e-5 * 8"),
    ("f(v=1 << 4)", 16, "1 << 4"),
    ("f(v=16 // 4 - 1)", 3, "16 // 4 - 1"),
    ("f(v=not True)", False, "not True"),
    ("f(v='a' + 'b')", "ab", "'a' + 'b'"),
    ("N = 'x'\nf(v=f'{N}-{1}')", "x-1", "f'{N}-{1}'"),
    ("f(v=f'{x}')", "?", "f'{x}'"),
    ("f(v=f'{1:>5}')", "?", "f'{1:>5}'"),
    ("f(v=float('1e-4'))", 1e-4, "float('1e-4')"),
    ("f(v=9 ** 9 ** 9)", "?", "9 ** 9 ** 9"),
    ("f(v=1 << 10 ** 9)", "?", "1 << 10 ** 9"),
    ("f(v=1 / 0)", "?", "1 / 0"),
    ("f(v=1e308 * 10)", float("inf"), "1e308 * 10"),
    ("f(v=0x" + "F" * 5000 + ")", "?", "0x" + "F" * 5000),
    ("f(v=b'x')", "?", "b'x'"),
    ("f(v=...)", "?", "..."),
    ("import torch\nf(v=torch.bfloat16)", "torch.bfloat16", "torch.bfloat16"),
    ("import torch as t\nf(v=t.bfloat16)", "torch.bfloat16", "t.bfloat16"),
    ("from torch import float16 as half\nf(v=half)", "torch.float16", "half"),
    ("import torch\nd = 'float16'\nf(v=getattr(torch, d))", "torch.float16", "getattr(torch, d)"),
    ("import torch\nd = torch.float16\nf(v=d)", "torch.float16", "torch.float16"),
    ("from peft import TaskType\nf(v=TaskType.CAUSAL_LM)", "peft.TaskType.CAUSAL_LM", "TaskType.CAUSAL_LM"),
    ("import config\nf(v=config.LR)", "?", "config.LR"),
    ("f(v=args.lr)", "?", "args.lr"),
    ("LR = 2e-5\nf(v=LR)", 2e-5, "2e-5"),
    ("LR: float = 2e-5\nf(v=LR)", 2e-5, "2e-5"),
    ("A = B = 3\nf(v=B)", 3, "3"),
    ("A, B = 1, 'x'\nf(v=B)", "x", "'x'"),
    ("A = 1\nB = A\nf(v=B)", 1, "1"),
    ("LR = 1\nLR = 2\nf(v=LR)", 2, "2"),
    ("LR = 1\nf(v=LR)\nLR = 2", 1, "1"),
    ("LR = 1\nLR += 1\nf(v=LR)", 2, "LR += 1"),
    ("if x:\n  LR = 1\nelse:\n  LR = 2\nf(v=LR)", "?", "LR"),
    ("if x:\n  LR = 1\nelse:\n  LR = 1\nf(v=LR)", 1, "1"),
    ("if x:\n  LR = 1\n  f(v=LR)", 1, "1"),
    ("for LR in (1, 2):\n  f(v=LR)", "?", "LR"),
    ("LR = 1\nwhile x:\n  f(v=LR)\n  LR = 2", "?", "LR"),
    ("LR = 1\ndef g():\n  f(v=LR)", 1, "1"),
    ("LR = 1\ndef g():\n  LR = 2\n  f(v=LR)", 2, "2"),
    ("LR = 1\ndef g(LR):\n  f(v=LR)", "?", "LR"),
    ("LR = 1\ndef g():\n  global LR\n  LR = 2\nf(v=LR)", "?", "LR"),
    ("LR = 1\ndef g():\n  def h():\n    nonlocal x\n    x = 2\n  x = 1\n  f(v=x)", "?", "x"),
    ("class C:\n  lr = 1\nf(v=C.lr)", 1, "1"),
    ("class C:\n  lr = 1\n  def g(self):\n    f(v=lr)", "?", "lr"),
    ("import argparse\nargs = argparse.ArgumentParser().parse_args()\nf(v=args.lr)", "?", "args.lr"),
    ("a = a\nf(v=a)", "?", "a"),
    ("a = b\nb = a\nf(v=a)", "?", "a"),
    ("if __name__ == '__main__':\n  LR = 1\n  LR = 2\n  f(v=LR)", 2, "2"),
    ("f(v=1 if x else 2)", "?", "1 if x else 2"),
    ("f(v=1 if True else 2)", 1, "1"),
    ("f(v=[1, 'a', (2, 3)])", [1, "a", [2, 3]], "[1, 'a', (2, 3)]"),
    ("f(v=[*a, 1])", "?", "[*a, 1]"),
    ("f(v={'a': 1, 'b': {'c': 2}})", {"a": 1, "b": {"c": 2}}, "{'a': 1, 'b': {'c': 2}}"),
    ("f(v={1: 2, **x})", {"1": 2, "**": "?"}, "{1: 2, **x}"),
    ("f(v=dict(a=1))", {"a": 1}, "dict(a=1)"),
    ("d = {'a': 1}\nf(v=d)", {"a": 1}, "{'a': 1}"),
    ("d = {'a': 1}\nd['b'] = 2\nf(v=d)", {"a": 1, "b": 2}, "{'a': 1}"),
    ("d = {'a': 1}\nd['a'] = 2\nf(v=d)", {"a": 2}, "{'a': 1}"),
    ("d = {'a': 1}\nf(v=d)\nd['a'] = 2", {"a": 1}, "{'a': 1}"),
    ("d = {'a': 1}\nd.update({'b': 2})\nf(v=d)", {"a": 1, "b": 2}, "{'a': 1}"),
    ("d = {'a': 1}\nd.update(x)\nf(v=d)", "?", "d"),
    ("d = {'a': 1}\nd[x] = 2\nf(v=d)", "?", "d"),
    # a key that a branch or another function sets is not known, the others are
    ("d = {'a': 1, 'b': 2}\nif x:\n  d['a'] = 2\nf(v=d)", {"a": "?", "b": 2}, "{'a': 1, 'b': 2}"),
    ("d = {'a': 1}\nif x:\n  d.update({'b': 2})\nf(v=d)", {"a": 1, "**": "?"}, "{'a': 1}"),
    ("d = {'a': 1}\nif x:\n  d.update(y)\nf(v=d)", "?", "d"),
    ("d = {'a': 1}\nfor k in x:\n  d[k] = 2\nf(v=d)", "?", "d"),
    ("LR = 1\nif x:\n  LR = 2\nf(v=LR)", "?", "LR"),
    ("LR = 1\nf(v=LR)\nif x:\n  LR = 2", 1, "1"),
    ("LR = 1\nif False:\n  LR = 2\nf(v=LR)", 1, "1"),
    # a test of names that are bound once, to a constant, before it
    ("S = False\nLR = 1\nif S:\n  LR = 2\nf(v=LR)", 1, "1"),
    ("S = False\nLR = 1\nif S == True:\n  LR = 2\nf(v=LR)", 1, "1"),
    ("S = False\nLR = 1\nif S is True:\n  LR = 2\nf(v=LR)", 1, "1"),
    ("S = False\nLR = 1\nif not S:\n  LR = 2\nf(v=LR)", 2, "2"),
    ("S = None\nLR = 1\nif S is not None:\n  LR = 2\nelse:\n  LR = 3\nf(v=LR)", 3, "3"),
    ("S = 'lora'\nLR = 1\nif S != 'lora':\n  LR = 2\nf(v=LR)", 1, "1"),
    ("S = False\ndef g():\n  LR = 1\n  if S:\n    LR = 2\n  f(v=LR)", 1, "1"),
    ("S = False\nS = x\nLR = 1\nif S:\n  LR = 2\nf(v=LR)", "?", "LR"),
    ("LR = 1\nif S:\n  LR = 2\nS = False\nf(v=LR)", "?", "LR"),
    ("S = False\ndef h():\n  global S\n  S = x\nLR = 1\nif S:\n  LR = 2\nf(v=LR)", "?", "LR"),
    ("S = False\ndef g(S):\n  LR = 1\n  if S:\n    LR = 2\n  f(v=LR)", "?", "LR"),
    ("S = False\nexec(open(own).read())\nLR = 1\nif S:\n  LR = 2\nf(v=LR)", "?", "LR"),
    ("S = False\nLR = 1\nif S:\n  LR = 2\nf(v=LR)\nexec(own)", 1, "1"),
    ("S = False\nfrom own import *\nLR = 1\nif S:\n  LR = 2\nf(v=LR)", "?", "LR"),
    ("for i in y:\n  LR = 1\n  f(v=LR)\n  LR = 2", "?", "LR"),
    ("f(v=1 if 2 > 1 else 3)", 1, "1"),
    ("f(v=True and 'a')", "a", "True and 'a'"),
    ("from os.path import join\nf(v=join('a', 'b'))", "a/b", "join('a', 'b')"),
    ("import os\nf(v=os.path.join('a', x))", "?", "os.path.join('a', x)"),
    ("def g(v):\n  f(v=v)\ng(1)", 1, "1"),
    ("def g(v, w=2):\n  f(v=w)\ng(1)", 2, "2"),
    ("def g(v):\n  f(v=v)\ng(1)\ng(1)", 1, "1"),
    ("def g(v):\n  f(v=v)\ng(1)\ng(2)", "?", "v"),
    ("def g(v):\n  f(v=v)\ng(*x)", "?", "v"),
    ("def g(v):\n  f(v=v)", "?", "v"),
    ("def g():\n  return 1\nf(v=g())", 1, "1"),
    ("def g():\n  if x:\n    return 2\n  return 1\nf(v=g())", "g(…)", "g()"),
    ("@cached\ndef g():\n  return 1\nf(v=g())", "g(…)", "g()"),
    ("def g():\n  return 1, 2\na, b = g()\nf(v=b)", 2, "2"),
    ("d = [1]\nd.append(2)\nf(v=d)", "?", "d"),
    ("d = {'a': 1}\nf(v=d['a'])", 1, "1"),
    ("f(v=g(1))", "g(…)", "g(1)"),
    ("from x import C\na = C(b=1)\nf(v=a)", "x.C(…)", "C(b=1)"),
    ("from trl import SFTConfig\na = SFTConfig(b=1)\nf(v=a.b)", 1, "1"),
    ("a0 = [1, 1]\n" + "".join(f"a{n} = [a{n - 1}, a{n - 1}]\n" for n in range(1, 31)) + "f(v=a30)", "?", "a30"),
    ("f(v=lambda: 1)", "?", "lambda: 1"),
    ("f(v=[x for x in y])", "?", "[x for x in y]"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected", "text"), VALUES)
def test_values(source, expected, text):
    node = next(c.arguments.get("v") for c in reversed(calls(source)) if c.arguments.get("v") is not None)
    assert value(node) == expected
    assert type(value(node)) is type(expected)
    assert source[node.start : node.end] == text


FORMS = [
    ("f(v=1)", "plain", True),
    ("f(v=-1)", "plain", True),
    ("f(v=1 + 1)", "plain", False),
    ("f(v='a')", "quoted", True),
    ("f(v=torch.float16)", "attribute", True),
    ("L = 1\nf(v=L)", "name", True),
    ("L = 1 + 1\nf(v=L)", "name", False),
    ("if x:\n  L = 1\nelse:\n  L = 1\nf(v=L)", "name", False),
    ("f(v=x)", "unknown", False),
]  # fmt: skip


@pytest.mark.parametrize(("source", "form", "editable"), FORMS)
def test_forms(source, form, editable):
    node = calls(source)[-1].arguments.get("v")
    assert (node.form, node.editable) == (form, editable)


NAMES = [
    ("from transformers import TrainingArguments as TA\nTA()", "transformers.TrainingArguments"),
    ("import trl\ntrl.SFTConfig()", "trl.SFTConfig"),
    ("import transformers as tf\ntf.Trainer()", "transformers.Trainer"),
    ("import a.b\na.b.f()", "a.b.f"),
    ("import a.b as c\nc.f()", "a.b.f"),
    ("from a import *\nf()", "f"),
    ("from .a import f\nf()", ".a.f"),
    ("try:\n  from a import f\nexcept ImportError:\n  from b import f\nf()", "a.f"),
    ("from a import f\nf()\nfrom b import f", "a.f"),
    ("from a import f\nfrom b import f\ndef g():\n  f()", "b.f"),
    ("from a import f\ndef g():\n  f()\nfrom b import f", "f"),
    ("from a import f\ndef g():\n  f()\nfrom a import f", "a.f"),
    ("model.gradient_checkpointing_enable()", "model.gradient_checkpointing_enable"),
    ("from m import M\nmodel = M()\nmodel.f()", "model.f"),
    ("def f(): pass\nf()", "f"),
    ("from m import M\nM.make().to()", "m.M.make().to"),
    ("x['a'].f()", "f"),
]


@pytest.mark.parametrize(("source", "expected"), NAMES)
def test_names_are_resolved_through_imports(source, expected):
    assert calls(source)[-1].name == expected


def test_calls_come_in_the_order_of_their_names():
    source = "f(g(1), x=h())\ndef k():\n  a().b()\nif __name__ == '__main__':\n  c()\nclass D:\n  def e(self):\n    i()"
    assert [call.name for call in calls(source)] == ["f", "g", "h", "a", "a().b", "c", "i"]


TARGETS = [
    ("a = f()", "a"),
    ("a: X = f()", "a"),
    ("a = b = f()", "a"),
    ("a, b = f()", "a"),
    ("self.a = f()", "self.a"),
    ("(a := f())", "a"),
    ("f()", None),
    ("a = [f()]", None),
]


@pytest.mark.parametrize(("source", "target"), TARGETS)
def test_targets(source, target):
    assert calls(source)[0].target == target


ARGUMENTS = [
    ("f(1, a=2)", [1], {"a": 2}),
    ("k = {'a': 1}\nf(**k, b=2)", [], {"a": 1, "b": 2}),
    ("k = dict(a=1)\nf(**k)", [], {"a": 1}),
    ("f(**{'a': 1})", [], {"a": 1}),
    ("f(a=1, **k)", [], {"a": 1, "**": "?"}),
    ("k = {}\nk.update(x)\nf(**k)", [], {"**": "?"}),
    ("k = {'a': 1}\nk = {}\ndef g(): f(**k)", [], {"**": "?"}),
    ("f(*a)", ["?"], {"**": "?"}),
    ("a = C.SFTConfig(x=1)\na.x = 2", [], {"x": 2}),
    ("a = C.SFTConfig(x=1)\nif y:\n  a.x = 2", [], {"x": "?"}),
    ("model = f(x=1)\nmodel.x = 2", [], {"x": 1}),
]


@pytest.mark.parametrize(("source", "positional", "expected"), ARGUMENTS)
def test_arguments(source, positional, expected):
    call = next(call for call in calls(source) if not call.name.endswith("update"))
    assert ([value(node) for node in call.positional], value(call.arguments)) == (positional, expected)


def test_names_that_two_calls_share_lead_to_the_same_call():
    _, _, trainer = calls("from trl import SFTConfig, SFTTrainer\na = SFTConfig(lr=1)\nSFTTrainer(model, args=a)")
    assert trainer.arguments.get("args").arguments.get("lr").value == 1


def test_what_two_names_take_from_one_call_is_that_call():
    source = "model, tokenizer = M.from_pretrained('x')\nmodel = peft(model)\nT(model=model)"
    assert value(calls(source)[1].positional[0]) == "M.from_pretrained(…)"
    assert value(calls(source)[2].arguments.get("model")) == "peft(…)"


def test_module_names_are_constants_bound_once():
    root = read("A = 1\nB = 'x'\nC = [1]\nD = f()\nE = 1\nE = 2\nif x:\n  F = 1\nG = {}\nG['a'] = 1\n").root
    assert isinstance(root, Module)
    assert value(root.names) == {"A": 1, "B": "x", "C": [1]}


PLACES = [
    "é = '日本'; f(ü='ä', b=1)  # ö\ng(c=2)",
    "\x0cf(a=1)\r\n\x0cg(\r\n\tb='é',\r\n\tc=1)\r\n",
    "x = '''\n日\n'''; f(a='''\n本''', b=1)",
    "if x:\n\tf(a=(\n\t\t1),\r\n\tb = 2)",
    "x = '\u2028\x1c'; f(a=1, b='\x85')\nf(c=1)",
    "f(a=1)\rg(b='é')\r",
    "'😀'; f(a='😀', b=2)",
]


@pytest.mark.parametrize("source", PLACES)
def test_places_count_code_points(source):
    for call in calls(source):
        assert source[call.name_start : call.name_end] == call.name
        assert source[call.start : call.start + len(call.name)] == call.name
        assert source[call.end - 1] == ")"
        for entry in call.arguments.entries:
            assert source[entry.key_start : entry.key_end] == entry.key
            assert ast.literal_eval(source[entry.value.start : entry.value.end].strip("()")) == entry.value.value


REFUSED = [
    ("f(", "unparsed-python", 1),
    ("x = 1\nprint 'x'\n", "unparsed-python", 6),
    ("x = 1\n\x00", "syntax-error", 6),
    ("x = '\ud800'", "unparsed-python", 0),
    ("\tx\ny", "unparsed-python", 0),
    ("é = 1\né = )", "unparsed-python", 10),
    ("x = " + "9" * 5000, "syntax-error", 4),
    ("x = [" * 5000, "unparsed-python", None),
    ("(" * 5000, "unparsed-python", None),
    ("-" * 100_000 + "1", "unparsed-python", None),
    ("a" + ".b" * 50_000, "unparsed-python", None),
    ("x = 1" + " + 1" * 100_000, "unparsed-python", None),
    ("x = f'{" + "1 +" * 1000 + "1}'", "unparsed-python", None),
    ("if a:\n  b\n" + "elif a:\n  b\n" * 3000, "unparsed-python", None),
    ("x = 1 #" + "x" * 1_000_000, "too-large", 0),
]


@pytest.mark.parametrize(("source", "kind", "start"), REFUSED)
def test_what_cannot_be_parsed_is_a_problem_at_its_place(source, kind, start):
    document = read(source)
    (problem,) = document.problems
    assert document.root is None
    assert problem.kind == kind
    assert start is None or problem.start == start
    assert 0 <= problem.start <= problem.end <= len(source) + 1


LEGAL = ["x = [" + "1, -1, " * 5000 + "]", "f(" + "".join(f"a{n}=-{n},\n" for n in range(2000)) + ")", "x = '" + "." * 5000 + "'",
         "x = f'" + "{a.b} " * 500 + "'", "x = 1\n" * 3000, "if a:\n  pass\n" * 2000, "x = {" + "'a': {'b': [-1]},\n" * 3000 + "}"]  # fmt: skip


@pytest.mark.parametrize("source", LEGAL)
def test_long_is_not_deep(source):
    assert not read(source).problems


DEEP = ["a" + ".b" * 201, "x = 1" + "+1" * 201, "f" + "(" * 201 + ")" * 201, "x = f'{a" + ".b" * 201 + "}'", "x = f\"\"\"{a" + ".b" * 201 + "}\"\"\"",
        "a\\\n" + ".b\\\n" * 201, "not " * 201 + "a", "x = (\n" + "1 +\n" * 201 + "1)", "x = 1 << 2" + " << 1" * 201, "if a:\n b\n" + "elif a:\n b\n" * 501,
        "x = '(' + (\n" + "')' +\n" * 201 + "'')", "x = a" + " # (\n" + "y = b" + " or b" * 201]  # fmt: skip


@pytest.mark.parametrize("source", DEEP, ids=lambda source: source[:12])
def test_what_is_too_deep_is_not_taken_for_shallow(source):
    """Most sources are known to be shallow by their signs alone."""
    assert python_guard._too_deep(source) >= 0 and not python_guard._is_shallow(source)


def test_what_is_shallow_is_never_too_deep():
    several = [path.read_text(encoding="utf-8") for path in Path(python_guard.__file__).parent.glob("*.py")]
    shallow = [source for source in several if python_guard._is_shallow(source)]
    assert len(shallow) > len(several) / 2 and all(python_guard._too_deep(source) < 0 for source in shallow)


# Half a million levels end Python 3.10 itself; what hides from the guard must, too.
DEADLY = ["'a' + '.b' * 450_000", "'x = 1' + '+1' * 450_000", "'f' + '[0]' * 300_000", "'x = f\"{a' + '.b' * 400_000 + '}\"'",
          "'x = f\"{a:\\'}{1' + '+1' * 400_000 + ':\\'}\"'", "'a\\\\\\n' + '.b\\\\\\n' * 200_000", "'not ' * 200_000", "'x = ' + '(' * 900_000",
          "'x = \"' + 'a' * 900_000", "'{' * 100 + '(' * 99", "'lambda: ' * 100_000", "'@' * 900_000", "'if a:\\n ' * 100_000"]  # fmt: skip


def test_no_source_ends_the_process():
    program = "\n".join(
        [
            "from stablint.syntax.python.reader import module",
            *(f"assert module({source}) is not None" for source in DEADLY),
            "print('alive')",
        ]
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": str(LINT)}, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("alive", "")


def test_warnings_about_the_source_are_not_shown():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert not read("x = '\\d'\nif x is 1: assert (x, 'y')\n").problems
    assert not shown


# Writing: source, verb with its arguments, and the result.
EDITS = [
    ("f(a=1)", ("replace", "a", 2), "f(a=2)"),
    ("f(a='x')", ("replace", "a", "it's"), 'f(a="it\'s")'),
    ("f(a='x')", ("replace", "a", 'y"'), "f(a='y\"')"),
    ('f(a="x")', ("replace", "a", "y"), 'f(a="y")'),
    ("f(b='x', a=1)", ("replace", "a", "y"), "f(b='x', a='y')"),
    ("LR = 1\nf(a=LR)", ("replace", "a", 2), "LR = 2\nf(a=LR)"),
    ("import torch\nf(a=torch.float16)", ("replace", "a", Verbatim("torch.bfloat16")), "import torch\nf(a=torch.bfloat16)"),
    ("f(a=(0.9, 0.95))", ("replace", "a", [0.9, 0.99]), "f(a=(0.9, 0.99))"),
    ("f(a=['x'])", ("replace", "a", ["x", "y"]), 'f(a=["x", "y"])'),
    ("f(a={'b': 1})", ("replace", "a", {"b": 2}), 'f(a={"b": 2})'),
    ("f(a=[1,  # one\n 2])", ("replace", "a", [3]), None),
    ("f(a=1 + 1)", ("replace", "a", 3), None),
    ("f(a=x)", ("replace", "a", 3), None),
    ("f(a=g())", ("replace", "a", 3), None),
    ("f(a=1)", ("replace", "a", float("inf")), 'f(a=float("inf"))'),
    ("f(a=1)", ("replace", "a", object()), None),
    ("f(a=1)", ("insert", "a", "b", True), "f(a=1, b=True)"),
    ("f(a=1,)", ("insert", "a", "b", None), "f(a=1, b=None,)"),
    ("f(a=(1), c=2)", ("insert", "a", "b", "x"), 'f(a=(1), b="x", c=2)'),
    ("f(\n    a=1,\n    c='x',\n)", ("insert", "a", "b", "y"), "f(\n    a=1,\n    b='y',\n    c='x',\n)"),
    ("f(\n    a=1,  # one\n    c=2)", ("insert", "a", "b", 3), "f(\n    a=1,  # one\n    b=3,\n    c=2)"),
    ("f(\n    a=1)", ("insert", "a", "b", 3), "f(\n    a=1,\n    b=3)"),
    ("f(\n    a=1  # one\n)", ("insert", "a", "b", 3), "f(\n    a=1,  # one\n    b=3\n)"),
    ("f(\n    a=1, c=2,\n)", ("insert", "a", "b", 3), "f(\n    a=1, b=3, c=2,\n)"),
    ("f(\r\n    a=1,\r\n)", ("insert", "a", "b", 3), "f(\r\n    a=1,\r\n    b=3,\r\n)"),
    ("f(a={'x': 1})", ("insert", "x", "b", 3), "f(a={'x': 1, 'b': 3})"),
    ("k = {\n    'a': 1,\n}\nf(**k)", ("insert", "a", "b", 3), "k = {\n    'a': 1,\n    'b': 3,\n}\nf(**k)"),
    ("f(a=1, b=2)", ("insert", "a", "b", 3), None),
    ("f(a=1, **k)", ("insert", "a", "b", 3), None),
    ("f(a=1)", ("insert", "a", "for", 3), None),
    ("f(a=1, b=2)", ("remove", "a"), "f(b=2)"),
    ("f(a=1, b=2)", ("remove", "b"), "f(a=1)"),
    ("f(a=1)", ("remove", "a"), "f()"),
    ("f(a=(1), b=(2))", ("remove", "b"), "f(a=(1))"),
    ("f(\n    a=1,  # one\n    b=2,\n)", ("remove", "a"), "f(\n    b=2,\n)"),
    ("f(\n    a=1,\n    b=2)", ("remove", "b"), "f(\n    a=1)"),
    ("f(\n    a=1,  # one\n    b=2)", ("remove", "b"), "f(\n    a=1,  # one\n    )"),
    ("f(\n    a=1, b=2,\n    c=3,\n)", ("remove", "b"), "f(\n    a=1,\n    c=3,\n)"),
    ("LR = 1\nf(a=LR, b=2)", ("remove", "a"), "LR = 1\nf(b=2)"),
    ("k = {'a': 1, 'b': 2}\nf(**k)", ("remove", "a"), "k = {'b': 2}\nf(**k)"),
    ("f(a=[\n    1,\n], b=2)", ("remove", "a"), "f(b=2)"),
    ("f(fp16=True)", ("rename", "fp16", "bf16"), "f(bf16=True)"),
    ("f(**{'a': 1})", ("rename", "a", "b"), "f(**{'b': 1})"),
    ("f(a=1, b=2)", ("rename", "a", "b"), None),
    ("f(a=1)", ("rename", "a", "not valid"), None),
]  # fmt: skip


def entry_of(document: Document, key: str) -> Entry:
    assert isinstance(document.root, Module)
    waiting = [entry for call in document.root.calls for entry in call.arguments.entries]
    while waiting:
        entry = waiting.pop(0)
        if entry.key == key:
            return entry
        if isinstance(entry.value, Mapping):
            waiting += entry.value.entries
    raise KeyError(key)


def applied(source: str, edit: Edit | None) -> str | None:
    return None if edit is None else source[: edit.start] + edit.new_text + source[edit.end :]


@pytest.mark.parametrize(("source", "change", "expected"), EDITS)
def test_edits(source, change, expected):
    document = read(source)
    verb, key, *arguments = change
    assert applied(source, getattr(python_edit, verb)(document, entry_of(document, key), *arguments)) == expected


def test_what_is_no_argument_is_only_replaced():
    document = read("f('x')")
    node = document.root.calls[0].positional[0]
    entry = Entry("model", node.start, node.start, node)
    assert applied("f('x')", python_edit.replace(document, entry, "y")) == "f('y')"
    assert (
        python_edit.remove(document, entry)
        is python_edit.rename(document, entry, "b")
        is python_edit.insert(document, entry, "c", 1)
        is None
    )


FRAGMENTS = ["f(", ")", "a=", "1", "'x'", '"', ", ", "\n", "\r\n", "  ", "x = ", "{", "}", "'k': ", "[", "]", "**k", "*",
             "lambda: ", "if x:\n  ", "def g(a):\n  ", "class C:\n  ", "import torch\n", "torch.float16", ".b", "-", "+",
             "f'{", "}'", "é", "#c\n", "global x\n", "for x in y:\n  ", "with f() as x:\n  ",
             "try:\n  x\nexcept E as e:\n  ", "match x:\n  case a:\n    ", "x += 1\n", "del x\n", ":=", "await ", "\\\n",
             "\x0c", "\x00", "dict(", "None"]  # fmt: skip
SOURCES = st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join) | st.text(max_size=60)


@given(SOURCES)
def test_any_text_is_read_or_refused(source):
    document = read(source)
    assert (document.root is None) == bool(document.problems)
    for call in document.root.calls if isinstance(document.root, Module) else ():
        assert 0 <= call.start <= call.name_start <= call.name_end <= call.end <= len(source)
        for entry in call.arguments.entries:
            assert 0 <= entry.key_start <= entry.key_end <= len(source)
            assert 0 <= entry.value.start <= entry.value.end <= len(source)


PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
ANY = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
LAYOUTS = [
    "x = f(first=1, {}={}, last='z')\ny = 2  # end\n",
    "x = f(\n    first=1,  # one\n    {}={},  # two\n    # three\n    last='z',\n)\n",
    "f(\n    first=(1),\n    {}={})\n",
    "V = {1}  # é\nf(first='é', {0}=V, last=3)\n",
    "k = {{'first': 1, '{}': {}, 'last': 3}}\nf(**k)\n",
    "k = dict(\r\n    {}={},\r\n    last=3\r\n)\r\nf(**k)\r\n",
]
OLD = st.sampled_from(["1", "'old'", "[1, 2]", "{'p': 1}", "-2.5", "None"])


def others(document: Document, key: str) -> dict:
    return {k: v for k, v in value(document.root.calls[0].arguments).items() if k != key}


@given(st.sampled_from(LAYOUTS), OLD, ANY)
def test_what_is_put_is_what_is_got_and_nothing_else_changes(layout, old, new):
    source = layout.format("key", old)
    document = read(source)
    edit = python_edit.replace(document, entry_of(document, "key"), new)
    if edit is None:
        assert "V = {" in source or new in (float("inf"), float("-inf")) or isinstance(new, (int, list, dict))
        return
    again = read(applied(source, edit))
    got = value(entry_of(again, "key").value)
    assert got == new or "inf" in repr(new)
    assert others(again, "key") == others(document, "key")


@given(st.sampled_from(LAYOUTS), OLD, PLAIN)
def test_inserting_adds_one_argument(layout, old, new):
    source = layout.format("key", old)
    document = read(source)
    edit = python_edit.insert(document, entry_of(document, "key"), "added", new)
    if edit is None:
        return
    again = read(applied(source, edit))
    assert others(again, "added") == others(document, "added")
    assert value(entry_of(again, "added").value) == new or "inf" in repr(new)


@given(st.sampled_from(LAYOUTS), OLD)
def test_removing_and_renaming_leave_all_else(layout, old):
    source = layout.format("key", old)
    document = read(source)
    entry = entry_of(document, "key")
    assert others(read(applied(source, python_edit.remove(document, entry))), "key") == others(document, "key")
    again = read(applied(source, python_edit.rename(document, entry, "other")))
    assert value(again.root.calls[0].arguments) == others(document, "key") | {"other": value(entry.value)}


@given(SOURCES, ANY)
def test_writing_what_is_there_changes_nothing_and_writing_never_raises(source, new):
    document = read(source)
    for call in document.root.calls if isinstance(document.root, Module) else ():
        for entry in call.arguments.entries:
            if isinstance(entry.value, Scalar) and not isinstance(entry.value.value, Unknown):
                assert applied(source, python_edit.replace(document, entry, entry.value.value)) == source
            python_edit.replace(document, entry, new)
            python_edit.insert(document, entry, "added", new)
            python_edit.remove(document, entry)
            python_edit.rename(document, entry, "other")


def test_what_is_imported_whatever_happens_is_a_call_of_its_own():
    """Names with their places; neither what an `except ImportError` may replace nor modules and relative imports."""
    source = (
        "import trl\n"
        "from trl import (\n    SFTConfig,\n    SFTTrainer as Trainer,\n)\n"
        "from .own import thing\n"
        "try:\n    from trl import GRPOTrainer\nexcept ImportError:\n    GRPOTrainer = None\n"
        "def late():\n    from peft import LoraConfig\n"
    )
    found_calls = calls(source)
    (found,) = [call for call in found_calls if call.name == "import"]
    assert [(entry.key, source[entry.key_start : entry.key_end]) for entry in found.arguments.entries] == [
        ("trl.SFTConfig", "SFTConfig"),
        ("trl.SFTTrainer", "SFTTrainer as Trainer"),
    ]


@pytest.mark.parametrize(
    "call", ["f(a=1, b=2, a=3)", "f(g(a=1, a=1))", "class A(b=1, b=2): ...", "@f(a=1, a=2)\ndef g(): ..."]
)
def test_an_argument_named_twice_is_no_python(call: str) -> None:
    with pytest.raises(SyntaxError):
        compile(call, "x", "exec")
    assert call.startswith("class") or isinstance(python.module(call), Problem)
    assert not isinstance(python.module("f(**a, **a, b=1)"), Problem)
