"""YAML → tree: values as SafeLoader has them, spans that are the tokens, and no text that hurts."""

from __future__ import annotations

import datetime
import json
import math
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stablint.syntax.locate import locate, same, value_of, walk
from stablint.syntax.text import Lines
from stablint.syntax.tree import Document, Entry, Mapping, Scalar, Sequence, Unknown
from stablint.syntax.yaml.reader import documents
from tests.syntax.texts import text_of, yaml_texts


def read(content: str) -> Document:
    return documents(text_of(content))[0]


def root(content: str) -> Any:
    document = read(content)
    assert document.root is not None
    return value_of(document.root)  # type: ignore[arg-type]


PLAIN = {
    "1": 1, "-0": 0, "017": 15, "0o17": "0o17", "0x1F": 31, "0b101": 5, "1_000": 1000, "1:30": 90,
    "1:30.5": 90.5, "0x_": "0x_", "+12": 12, "1.0": 1.0, "1e-4": "1e-4", "1.0e-4": 1e-4, "1.e+3": 1000.0,
    "1.5e3": "1.5e3", ".5": 0.5, "-.inf": -math.inf, "1_0.5": 10.5, "-1e999": "-1e999", "yes": True,
    "Off": False, "TRUE": True, "y": "y", "null": None, "~": None, "Null": None, "nULL": "nULL", "=": "=",
    "2001-13-45": "2001-13-45", "2024-01-31": "2024-01-31", "${lr}": "${lr}", "cuda:0": "cuda:0", "a#b": "a#b",
}  # fmt: skip


@pytest.mark.parametrize("token", PLAIN)
def test_plain_scalars_follow_yaml_1_1(token: str) -> None:
    assert same(root(f"k: {token}\n"), {"k": PLAIN[token]})


@given(st.text(alphabet="0123456789+-._:eExXabobnNiIfFyYsSulLtTrR~", max_size=12))
def test_plain_scalars_are_what_the_safe_loader_makes_of_them(token: str) -> None:
    try:
        expected = yaml.load(f"[{token}]", Loader=yaml.CSafeLoader)[0]
    except (yaml.YAMLError, ValueError, IndexError, TypeError, KeyError):
        return
    if isinstance(expected, (datetime.date, dict)):
        return
    found = root(f"[{token}]")[0]
    assert same(found, expected) or (isinstance(found, float) and math.isclose(found, expected)) or repr(found) == "nan"


@given(yaml_texts())
def test_values_are_those_of_the_safe_loader_and_spans_are_tokens(content: str) -> None:
    document = read(content)
    assert not document.problems
    assert isinstance(document.root, Mapping)
    expected = yaml.load(content.replace("2024-01-31", "'2024-01-31'").replace("7:", "'7':"), Loader=yaml.CSafeLoader)
    assert same(value_of(document.root), expected)
    for item in walk(document.root):
        if isinstance(item, Entry):
            assert yaml.load(content[item.key_start : item.key_end], Loader=yaml.BaseLoader) == item.key
        elif isinstance(item, Scalar) and item.form != "block":
            assert read(content[item.start : item.end]).root in (
                None,
                item._replace(start=0, end=item.end - item.start),
            )
        elif isinstance(item, (Mapping, Sequence)):
            children = [
                child.value if isinstance(child, Entry) else child
                for child in (item.entries if isinstance(item, Mapping) else item.items)
            ]
            assert all(item.start <= child.start <= child.end <= item.end for child in children)


SPANS = [
    # text, path, token
    ("a: 'é😀'  # c\r\nb: x\r\n", ("b",), "x"),
    ("\ufeffa: b\n", ("a",), "b"),
    ("a: |  # c\n  x\n  y\n\n# not mine\nb: 1\n", ("a",), "|  # c\n  x\n  y"),
    ("a: |+\n  x\n\nb: 1\n", ("a",), "|+\n  x\n\n"),
    ("a: x\n  y\nb: 1\n", ("a",), "x\n  y"),
    ("a: &n !!str x\n", ("a",), "&n !!str x"),
    ("a:\n  b: 1  # c\n\n# not mine\nc: 1\n", ("a",), "b: 1"),
    ("a:\n- b\n- c: d\n\nc: 1\n", ("a",), "- b\n- c: d"),
    ("a: {b: [c, d] } # e\n", ("a",), "{b: [c, d] }"),
    ("a:   # empty\n", ("a",), ""),
    ("- x\x85- b\u2028- é\n", (2,), "é"),
    ("a: b\n---\n", ("a",), "b"),
]


@pytest.mark.parametrize(("content", "path", "token"), SPANS)
def test_a_span_is_the_token(content: str, path: tuple[str | int, ...], token: str) -> None:
    found = locate(read(content), path)
    assert found is not None
    assert content[found.node.start : found.node.end] == token


@pytest.mark.parametrize(
    ("content", "form"), [("a", "plain"), ("'a'", "quoted"), ('"a"', "quoted"), ("|\n a", "block"), (">\n a", "block")]
)
def test_form(content: str, form: str) -> None:
    scalar = read(content).root
    assert isinstance(scalar, Scalar)
    assert scalar.form == form


def test_documents_of_one_file_keep_their_places_in_it() -> None:
    content = "a: 1\n---\n---\nb: 2\n...\n"
    first, empty, last = documents(text_of(content))
    assert empty.root is None
    assert not empty.problems
    assert [document.number for document in (first, empty, last)] == [0, 1, 2]
    assert isinstance(last.root, Mapping)
    value = last.root.get("b")
    assert isinstance(value, Scalar)
    assert content[value.start : value.end] == "2"


@pytest.mark.parametrize("content", ["", "# only a comment\n", "\r\n\r\n", "---\n", "\ufeff"])
def test_an_empty_document_is_no_problem(content: str) -> None:
    assert [(document.root, document.problems) for document in documents(text_of(content))] == [(None, ())]


MEANT = [
    ("yes: 1", {"true": 1}),
    ("1: 2\n[1]: 3\n{a: b}: c\n", {"1": 2}),
    ("base: &b {x: 1, y: 2}\nrun:\n  y: 3\n  <<: *b\n", {"base": {"x": 1, "y": 2}, "run": {"x": 1, "y": 3}}),
    (
        "a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}\n",
        {"a": {"x": 1}, "b": {"x": 2, "y": 2}, "c": {"x": 1, "y": 2}},
    ),
    ("a: &a [1]\nb: *a\n", {"a": [1], "b": [1]}),
    ("a: {{ lr }}\nb: '{{ lr }}'", {"a": "{{ lr }}", "b": "{{ lr }}"}),
    ("a: !!int '5'\nb: !!float 1\nc: !!str 1\nd: ! 1", {"a": 5, "b": 1.0, "c": "1", "d": "1"}),
    ("!!set {a, b}", {"a": None, "b": None}),
]


@pytest.mark.parametrize(("content", "value"), MEANT)
def test_keys_merges_aliases_templates_and_tags(content: str, value: object) -> None:
    assert root(content) == value


def test_what_others_depend_on_or_takes_from_others_is_not_editable() -> None:
    document = read("a: &a {x: 1}\nb: *a\nc:\n  <<: *a\n  z: 1\nd: !!str 1\ne: 1\n")
    paths = {"a": False, "b": False, "d": False, "e": True}
    assert {path: locate(document, (path,)).node.editable for path in paths} == paths  # type: ignore[union-attr]
    inner = {("a", "x"): False, ("c", "x"): False, ("c", "z"): True}
    assert {path: locate(document, path).node.editable for path in inner} == inner  # type: ignore[union-attr]
    merged = locate(document, ("c", "x"))
    assert merged is not None
    assert document.text.text[merged.node.start : merged.node.end] == "*a"


@pytest.mark.parametrize(
    "content",
    [
        "!!binary aGk=",
        "!env HOME",
        "!!python/object/apply:os.getcwd []",
        "!!python/name:os.system",
        "!!int x",
        "!x {a: 1}",
    ],
)
def test_a_tag_that_would_make_an_object_is_unknown(content: str) -> None:
    scalar = read(content).root
    assert isinstance(scalar, Scalar)
    assert isinstance(scalar.value, Unknown)
    assert not scalar.editable


@pytest.mark.parametrize("content", ["[1]: 2", "<<: 3", "!!python/name:x : 1"])
def test_a_mapping_with_keys_that_cannot_be_known_is_open(content: str) -> None:
    mapping = read(content).root
    assert isinstance(mapping, Mapping)
    assert mapping.open


PROBLEMS = [
    # text, kind, line, column, whether there is a tree all the same
    ("a: 1\nb: c: d\n", "syntax-error", 2, 5, False),
    ("a: 1\n\tb: 2\n", "syntax-error", 2, 1, False),
    ("a:\n  - [1, 2\nb: 1\n", "syntax-error", 2, 5, False),
    ("a: 'x\nb: 1\n", "syntax-error", 1, 4, False),
    ("a: @SIZE@\n", "json-template", 1, 4, False),
    ("a: %SIZE%\n", "json-template", 1, 4, False),
    ("a: @SIZE\n", "syntax-error", 1, 4, False),
    ("é: \x01", "syntax-error", 1, 4, False),
    ("a: \ud800", "syntax-error", 1, 4, False),
    ("%YAML 9.9\n---\na: 1", "syntax-error", 1, 1, False),
    ("<<: *x", "syntax-error", 1, 5, False),
    ("a: &a 1\nb: &a 2", "syntax-error", 2, 4, False),
    ("a: 1\n" + "b: " + "9" * 5000, "syntax-error", 2, 4, True),
    ("a: 1\r\nb: 2\r\na: 3\r\n", "duplicate-key", 3, 1, True),
    ("{a: 1, 'a': 2}", "duplicate-key", 1, 8, True),
    ("a: &a [*a]", "alias-bomb", 1, 8, False),
    ("a: &a [x]\n" + "".join(f"{b}: &{b} [{f'*{a},' * 9}]\n" for a, b in pairwise("abcdefgh")), "alias-bomb", 6, 26, False),
    ("[" * 500, "too-deep", 1, 201, False),
    ("a0: &a0 [x]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}]\n" for n in range(300)), "too-deep", 200, 14, False),
    ("#" * 5_000_001, "too-large", 1, 1, False),
    ("---\n" * 2000, "over-budget", 2001, 1, False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "kind", "line", "column", "tree"),
    PROBLEMS,
    ids=[f"{kind} {content[:12]!r}" for content, kind, *_ in PROBLEMS],
)
def test_problems_have_their_kind_and_place(content: str, kind: str, line: int, column: int, tree: bool) -> None:
    *_, document = documents(text_of(content))
    (problem,) = document.problems
    assert problem.kind == kind
    assert Lines(content).position(problem.start) == (line, column)
    assert (document.root is not None) is tree


@pytest.mark.parametrize("content", ["[" * 5000, "{a: " * 5000, "- " * 5000])
def test_levels_beyond_those_that_libyaml_reads_are_the_same_problem(content: str) -> None:
    *_, document = documents(text_of(content))
    (problem,) = document.problems
    assert (problem.kind, problem.message) == ("too-deep", "nested deeper than 200 levels")


def test_documents_before_a_faulty_one_are_read() -> None:
    first, second = documents(text_of("a: 1\n---\nb: [\n---\nc: 1\n"))
    assert first.root is not None
    assert not first.problems
    assert second.root is None
    assert second.problems


HOSTILE = [
    *("[" * 4_000_000, "{" * 3000 + "}" * 3000, "[" * 190 + "]" * 190, "{{" * 5000, "<<: {" * 5000),
    *("- " * 3000, "a: " * 2000, "? " * 5000, "? - " * 3000, "".join(" " * n + "a:\n" for n in range(2000))),
    *("&a " * 9999, "*a : " * 999, "!" * 99999, "'" * 9999, "a: |\n" * 999, "x: " + "1:" * 99999, "x: 0x" + "f" * 9999),
]


def test_hostile_texts_do_not_kill_the_process_even_in_a_small_stack() -> None:
    program = """
import json, sys, threading
from stablint.syntax.tree import Text
from stablint.syntax.yaml.reader import documents
read = []
def work():
    read.extend(documents(Text("/x", "x", content)) for content in json.load(sys.stdin))
threading.stack_size(128 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(len(read))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(HOSTILE),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{len(HOSTILE)}\n", "")


@given(st.text(alphabet=st.sampled_from("ab1 :-?#,[]{}&*!|>'\"%@`~<\t\n\r\x00\x85\ufeff\ud800é😀"), max_size=40))
def test_any_text_is_read_or_has_a_problem_in_its_bounds(content: str) -> None:
    for document in documents(text_of(content)):
        assert all(0 <= problem.start <= problem.end <= len(content) for problem in document.problems)
        if isinstance(document.root, (Mapping, Sequence, Scalar)):
            for item in walk(document.root):
                start, end = (item.key_start, item.key_end) if isinstance(item, Entry) else (item.start, item.end)
                assert 0 <= start <= end <= len(content)
