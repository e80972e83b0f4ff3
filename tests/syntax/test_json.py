"""JSON → tree: the standard library decides what is valid, every fault has a name and a place."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.syntax.json.reader import document
from stablint.syntax.locate import locate, same, value_of, walk
from stablint.syntax.text import Lines
from stablint.syntax.tree import Document, Entry, Mapping, Scalar, Sequence, Unknown
from tests.syntax.texts import json_texts, text_of


def read(content: str) -> Document:
    return document(text_of(content))


@given(json_texts())
def test_values_are_those_of_the_standard_library_and_spans_are_tokens(content: str) -> None:
    root = read(content).root
    assert isinstance(root, Mapping)
    assert same(value_of(root), json.loads(content))
    for item in walk(root):
        if isinstance(item, Entry):
            assert json.loads(content[item.key_start : item.key_end]) == item.key
        elif isinstance(item, (Scalar, Sequence, Mapping)):
            assert same(json.loads(content[item.start : item.end]), value_of(item))


@given(st.text(alphabet=st.sampled_from("{}[]\",:truefalsn0123456789.-+eE \n\t\\/*#'aN\x00é😀"), max_size=24))
def test_a_text_is_read_without_problem_exactly_if_the_standard_library_takes_it(content: str) -> None:
    found = read(content)
    assert all(0 <= problem.start <= problem.end <= len(content) for problem in found.problems)
    try:
        json.loads(content)
        valid = True
    except ValueError:
        valid = False
    kinds = {problem.kind for problem in found.problems}
    if valid:
        assert found.root is not None
        assert kinds <= {"duplicate-key", "json-nan"}
    else:
        assert kinds & {"syntax-error", "json-comment", "json-trailing-comma", "json-template"}
        assert found.root is None or "syntax-error" not in kinds
        assert found.root is not None or kinds & {
            "syntax-error",
            "json-template",
        }  # `EPOCHS` alone is a template of a value


PROBLEMS = [
    # text, kinds, line and column of the first, the value all the same
    ('{"a": 1, "a": 2}', ["duplicate-key"], 1, 10, {"a": 2}),
    ('{"a": 1} // c\n', ["json-comment"], 1, 10, {"a": 1}),
    ('# c\n{"a": /* d */ 1}', ["json-comment", "json-comment"], 1, 1, {"a": 1}),
    ('{"a": [1, 2,],\n}', ["json-trailing-comma", "json-trailing-comma"], 1, 12, {"a": [1, 2]}),
    ('{"a": "//", "b": "#"}', [], 0, 0, {"a": "//", "b": "#"}),
    ('{"a": Infinity}', ["json-nan"], 1, 7, {"a": float("inf")}),
    ('{"a": Infinity, "b": -Infinity}', ["json-nan"], 1, 7, {"a": float("inf"), "b": float("-inf")}),
    ("", ["syntax-error"], 1, 1, None),
    ("{'a': 1}", ["syntax-error"], 1, 2, None),
    ('{"a": True}', ["syntax-error"], 1, 7, None),
    ('{"a": 1\n "b": 2}', ["syntax-error"], 2, 2, None),
    ('{"a" 1}', ["syntax-error"], 1, 6, None),
    ('{"a": }', ["syntax-error"], 1, 7, None),
    ('{"a": 01}', ["syntax-error"], 1, 7, None),
    ('{"a": "x\ny"}', ["syntax-error"], 1, 9, None),
    ('{"a": "\\x"}', ["syntax-error"], 1, 8, None),
    ('{"a": "x}', ["syntax-error"], 1, 7, None),
    ('{"a": [1, 2}', ["syntax-error"], 1, 12, None),
    ('{"a": 1', ["syntax-error"], 1, 8, None),
    ('{"a": 1} {}', ["syntax-error"], 1, 10, None),
    ('{"a": 1}\n{"a": 2}\n', ["json-lines"], 2, 1, None),
    ('{"a": BATCH_SIZE}', ["json-template"], 1, 7, None),
    ('{"a": $SIZE}', ["json-template"], 1, 7, None),
    ('{"a": SIZE}', ["json-template"], 1, 7, None),
    ('{"a": __size__}', ["json-template"], 1, 7, None),
    ('{"a": TRUE}', ["syntax-error"], 1, 7, None),
    ('{"a": BatchSize}', ["syntax-error"], 1, 7, None),
    ('{"a": 1}\n}', ["syntax-error"], 2, 1, None),
    ('{"a":\n 1}\n{"a": 2}', ["syntax-error"], 3, 1, None),
    ("[" * 5000, ["too-deep"], 1, 201, None),
    (" " * 5_000_001, ["too-large"], 1, 1, None),
]


@pytest.mark.parametrize(
    ("content", "kinds", "line", "column", "value"), PROBLEMS, ids=[repr(content[:20]) for content, *_ in PROBLEMS]
)
def test_problems_have_their_kind_and_place(
    content: str, kinds: list[str], line: int, column: int, value: object
) -> None:
    found = read(content)
    assert [problem.kind for problem in found.problems] == kinds
    assert not kinds or Lines(content).position(found.problems[0].start) == (line, column)
    assert (found.root and value_of(found.root)) == value  # type: ignore[arg-type]


def test_a_number_too_long_for_python_is_unknown_and_named() -> None:
    found = read('{"a": ' + "9" * 5000 + ', "b": 1}')
    assert [problem.kind for problem in found.problems] == ["syntax-error"]
    number = locate(found, ("a",))
    assert number is not None
    assert isinstance(number.node, Scalar)
    assert isinstance(number.node.value, Unknown)


@pytest.mark.parametrize(("content", "value"), [("42", 42), ('"x"', "x"), (" null\n", None), ("[]", [])])
def test_any_value_may_stand_alone(content: str, value: object) -> None:
    found = read(content)
    assert not found.problems
    assert value_of(found.root) == value  # type: ignore[arg-type]


def test_deep_nesting_does_not_kill_the_process_even_in_a_small_stack() -> None:
    program = """
import threading
from stablint.syntax.json.reader import document
from stablint.syntax.tree import Text
kinds = []
def work():
    for content in ('{"a": ' + "[" * 4_000_000, '{"a":' * 99999, "[" * 200 + "]" * 200):
        kinds.append([problem.kind for problem in document(Text("/x", "x", content)).problems])
threading.stack_size(256 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(kinds)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "[['too-deep'], ['too-deep'], []]\n")


def test_a_long_list_is_data_and_its_rows_are_not_built() -> None:
    rows = [{"instruction": "a", "output": "b" * 100, "learning_rate": 1}]
    long, short = read(json.dumps(rows * 3000)), read(json.dumps(rows))
    assert isinstance(long.root, Sequence) and isinstance(short.root, Sequence)
    assert (len(long.root.items), long.problems, len(short.root.items)) == (0, (), 1)


def large(text: str) -> str:
    return text[:-1] + ', "filler": "' + "a" * 300_000 + '"}'


def test_rows_and_vocabularies_within_a_large_file_are_not_built():
    keys = ", ".join(f'"k{number}": {number}' for number in range(5_001))
    rows = ", ".join(["[1, 2]"] * 1_001)
    text = f'{{"fp16": true, "model": {{"vocab": {{{keys}}}}}, "rows": [{rows}], "few": [1, 2]}}'
    found = document(text_of(large(text)))
    assert [problem.kind for problem in found.problems] == ["over-budget"]
    values = {entry.key: entry.value for entry in found.root.entries}
    assert values["fp16"].value is True and len(values["few"].items) == 2
    assert values["rows"].items == () and values["model"].entries[0].value.entries == ()
    small = document(text_of(text))
    assert len(small.root.entries[1].value.entries[0].value.entries) == 5_001 and not small.problems


def test_a_large_file_that_is_no_json_is_told_as_any_other():
    text = large('{{"fp16": true, "vocab": {{{}}}}}'.format(", ".join(f'"k{number}": 1' for number in range(5_001))))
    found = document(text_of(text.replace('"k7": 1,', '"k7": 1')))
    assert found.root is None and [problem.kind for problem in found.problems] == ["syntax-error"]
