"""The write verbs for YAML: what is put is read back, by an independent reader too, and nothing else changes."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from stablint.syntax.edit import apply
from stablint.syntax.locate import locate, same, value_of
from stablint.syntax.tree import Document, Edit, Entry, Scalar
from stablint.syntax.yaml.editor import insert, remove, rename, replace
from stablint.syntax.yaml.reader import documents
from tests.syntax.texts import VALUES, at, places, put, text_of, with_entries, yaml_texts

NEW = "brand_new"


def read(content: str) -> Document:
    (document,) = documents(text_of(content))
    assert not document.problems
    return document


def ruamel(content: str) -> Any:
    """The whole text as the independent reader has it, in plain dicts and lists."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {str(key): bare(item) for key, item in value.items()}
        return [bare(item) for item in value] if isinstance(value, list) else value

    return bare(YAML(typ="rt", pure=True).load(content))


def notes(content: str) -> Counter[str]:
    return Counter(re.findall(r"# note \d+", content))


def check(before: str, edit: Edit, after_value: Any, after_ruamel: Any) -> str:
    """Both readers see exactly the wanted change, and no break of the other kind came in."""
    after = apply(before, [edit])
    document = read(after)
    assert document.root is not None
    assert repr(value_of(document.root)) == repr(after_value)  # type: ignore[arg-type]
    assert repr(ruamel(after)) == repr(after_ruamel)
    if "\r\n" in before:
        assert "\n" not in after.replace("\r\n", "")
    return after


@given(yaml_texts(), st.data())
def test_what_is_put_is_read_back(content: str, data: st.DataObject) -> None:
    document = read(content)
    path, node = data.draw(st.sampled_from(places(document)))
    value = data.draw(st.sampled_from(VALUES))
    edit = replace(document, path, value)
    assert edit is not None or not isinstance(node, Scalar)
    if edit is not None and not same(value_of(node), value):
        before, other = value_of(document.root), ruamel(content)  # type: ignore[arg-type]
        after = check(content, edit, put(before, path, value), put(other, path, value))
        if isinstance(node, Scalar):
            assert notes(after) == notes(content)
        again = read(after)
        assert replace(again, path, value) == replace(again, locate(again, path).node, value)  # type: ignore[union-attr]


@given(yaml_texts())
def test_putting_what_is_there_changes_not_one_byte(content: str) -> None:
    document = read(content)
    for path, node in places(document):
        edit = replace(document, path, value_of(node))
        assert edit is None or apply(content, [edit]) == content
        if isinstance(node, Scalar) and node.editable:
            assert edit is not None


@given(yaml_texts(), st.data())
def test_a_new_entry_goes_behind_its_anchor(content: str, data: st.DataObject) -> None:
    document = read(content)
    path = data.draw(st.sampled_from([path for path, _ in places(document) if isinstance(path[-1], str)]))
    value = data.draw(st.sampled_from(VALUES))
    edit = insert(document, path, NEW, value)
    if edit is not None:
        change = lambda key, item: [(key, item), (NEW, value)]  # noqa: E731
        before, other = value_of(document.root), ruamel(content)  # type: ignore[arg-type]
        after = check(content, edit, with_entries(before, path, change), with_entries(other, path, change))
        assert edit.start == edit.end
        assert notes(after) == notes(content)


@given(yaml_texts(), st.data())
def test_removal_takes_the_entry_and_no_comment_of_another(content: str, data: st.DataObject) -> None:
    document = read(content)
    path, node = data.draw(st.sampled_from([place for place in places(document) if isinstance(place[0][-1], str)]))
    edit = remove(document, path)
    if edit is not None:
        before, other = value_of(document.root), ruamel(content)  # type: ignore[arg-type]
        after = check(
            content, edit, with_entries(before, path, lambda *_: []), with_entries(other, path, lambda *_: [])
        )
        entry = locate(document, path).entry  # type: ignore[union-attr]
        assert isinstance(entry, Entry)
        line_end = re.compile(r"[\r\n]|\Z").search(content, node.end)
        own = notes(content[entry.key_start : line_end.start()]) if line_end else Counter()
        assert notes(content) - notes(after) <= own


@given(yaml_texts(), st.data())
def test_another_key_keeps_value_place_and_quotes(content: str, data: st.DataObject) -> None:
    document = read(content)
    path = data.draw(st.sampled_from([path for path, _ in places(document) if isinstance(path[-1], str)]))
    key = data.draw(st.sampled_from([NEW, "no", "x: y", "é"]))
    edit = rename(document, path, key)
    assert edit is not None
    change = lambda _, item: [(key, item)]  # noqa: E731
    before, other = value_of(document.root), ruamel(content)  # type: ignore[arg-type]
    after = check(content, edit, with_entries(before, path, change), with_entries(other, path, change))
    assert len(after) - len(content) == len(edit.new_text) - (edit.end - edit.start)


@given(yaml_texts())
@settings(max_examples=30)
def test_all_scalars_may_change_at_once(content: str) -> None:
    document = read(content)
    edits = [replace(document, path, "x") for path, node in places(document) if isinstance(node, Scalar)]
    changed = read(apply(content, [edit for edit in edits if edit is not None]))
    values = [(path, node.value) for path, node in places(changed) if isinstance(node, Scalar)]
    assert len(values) == len(edits)
    assert None in edits or all(same(value, "x") for _, value in values)


REPLACED = [
    # text, path, value, the text afterwards (None: it cannot be done)
    ("fp16: True  # as before\n", "fp16", False, "fp16: False  # as before\n"),
    ("fp16: yes\n", "fp16", False, "fp16: no\n"),
    ("fp16: 'true'\n", "fp16", True, "fp16: true\n"),
    ("lr: 2e-5\n", "lr", 2e-5, "lr: 2.0e-05\n"),
    ("optim: 'adamw'\n", "optim", "sgd", "optim: 'sgd'\n"),
    ("optim:   # which?\n", "optim", "sgd", "optim: sgd   # which?\n"),
    ("a: [x, 'y', \"z\"]\n", "a", ["x", "y"], "a: [x, 'y']\n"),
    ("a:\n- x\n- 'y'\n", "a", ["x", "y", "z"], "a:\n- x\n- 'y'\n- z\n"),
    ("a:\n- x  # why\nb: 1\n", "a", ["x", "z"], "a:\n- x  # why\n- z\nb: 1\n"),
    ("a:\n- x  # why\n- z\n", "a", ["z"], None),
    ("a:\n- x\n- z  # why\n", "a", ["x"], None),
    ("a:\n- x\n- z\n", "a", [], "a: []\n"),
    ("ds:\n  stage: 3\n  x: {y: 1}\n", "ds", "ds.json", "ds: ds.json\n"),
    ("ds:\n  stage: 3\n  x: {y: 1}\n", "ds", {"stage": 2, "x": {"y": 1}}, "ds:\n  stage: 2\n  x: {y: 1}\n"),
    ("a: &x 1\nb: *x\n", "a", 2, None),
    ("a: &x 1\nb: *x\n", "b", 2, None),
    ("a: !!str 1\n", "a", "2", None),
    ("base: &b {lr: 1}\nrun:\n  <<: *b\n", "run", {"lr": 2}, None),
    ("a: |  # keep\n  x\n", "a", "y", None),
    ("a: |+\n  x\n\nb: 1\n", "a", "z", "a: z\n\nb: 1\n"),
    ("a: 1\na: 2\n", "a", 3, "a: 1\na: 3\n"),
]


@pytest.mark.parametrize(("before", "key", "value", "after"), REPLACED)
def test_replace(before: str, key: str, value: object, after: str | None) -> None:
    edit = replace(documents(text_of(before))[0], (key,), value)
    assert (edit and apply(before, [edit])) == after


INSERTED = [
    ("a: 1\nb: 2\n", ("a",), True, "a: 1\nnew: true\nb: 2\n"),
    ("a: 1  # one\r\nb: 2", ("b",), "no", 'a: 1  # one\r\nb: 2\r\nnew: "no"'),
    (
        "x:\n    y:\n    - 1  # one\nz: 0\n",
        ("x", "y"),
        {"enabled": True, "o": {"m": 1}},
        "x:\n    y:\n    - 1  # one\n    new:\n        enabled: true\n        o:\n            m: 1\nz: 0\n",
    ),
    ("- a: 1\n  b: 2\n", (0, "a"), 1, "- a: 1\n  new: 1\n  b: 2\n"),
    ("{a: 1}\n", ("a",), {"b": None}, "{a: 1, new: {b: null}}\n"),
    ("a: |\n  text", ("a",), 1, None),
    ("a: [b: 1]\n", ("a", 0, "b"), 1, None),
    ("new: 0\na: 1\n", ("a",), 1, None),
    ("b: &b {new: 0}\n<<: *b\na: 1\n", ("a",), 1, "b: &b {new: 0}\n<<: *b\na: 1\nnew: 1\n"),
    ("b: &b\n  a: 1\n", ("b", "a"), 1, None),
    ("? a\n: 1\n", ("a",), 1, None),
]


@pytest.mark.parametrize(("before", "path", "value", "after"), INSERTED)
def test_insert(before: str, path: tuple[str | int, ...], value: object, after: str | None) -> None:
    edit = insert(read(before), path, "new", value)
    assert (edit and apply(before, [edit])) == after


REMOVED = [
    ("a: 1\n# of b\nb: 2  # two\nc: 3\n", ("b",), "a: 1\n# of b\nc: 3\n"),
    ("a: 1\nx:\n  y:\n  - 1\n  - 2 # two\nb: 1", ("x",), "a: 1\nb: 1"),
    ("x:  # of x\n  a: 1  # of a\nb: 1\n", ("x", "a"), "x:  # of x\n  {}\nb: 1\n"),
    ("x:\n  a: 1  # of a\nb: 1\n", ("x", "a"), "x: {}\nb: 1\n"),
    ("a: 1\n", ("a",), "{}\n"),
    ("- a: 1  # one\n  # of b\n  b: 2\n", (0, "a"), "- # of b\n  b: 2\n"),
    ("- a: 1\n", (0, "a"), "- {}\n"),
    ("x: {a: 1, b: 2, c: 3}\n", ("x", "a"), "x: {b: 2, c: 3}\n"),
    ("x: {a: 1, b: 2, c: 3}\n", ("x", "c"), "x: {a: 1, b: 2}\n"),
    ("x: {a: 1}\n", ("x", "a"), "x: {}\n"),
    ("a: |\n  text\nb: 1\n  # deeper: would become text\n", ("b",), None),
    ("a: |+\n  text\nb: 1\n\nc: 1\n", ("b",), None),
    ("a: &a 1\nb: *a\n", ("a",), None),
    ("a:\n  x: &a 1\nb: *a\n", ("a",), None),
]


@pytest.mark.parametrize(("before", "path", "after"), REMOVED)
def test_remove(before: str, path: tuple[str | int, ...], after: str | None) -> None:
    edit = remove(read(before), path)
    assert (edit and apply(before, [edit])) == after


RENAMED = [
    ("fp16: true   # as before\n", "fp16", "bf16", "bf16: true   # as before\n"),
    ("'fp16': true\n", "fp16", "bf16", "'bf16': true\n"),
    ("fp16: true\nbf16: false\n", "fp16", "bf16", None),
    ("&k fp16: true\n", "fp16", "bf16", None),
    ("b: &b {x: 1}\n<<: *b\n", "x", "y", None),
]


@pytest.mark.parametrize(("before", "old", "new", "after"), RENAMED)
def test_rename(before: str, old: str, new: str, after: str | None) -> None:
    edit = rename(read(before), (old,), new)
    assert (edit and apply(before, [edit])) == after


def test_a_place_is_a_path_an_entry_or_a_node() -> None:
    document = read("x:\n- a: 1\n  b:\n")
    for path, node in places(document):
        found = locate(document, path)
        assert found is not None
        assert locate(document, node) == found
        assert found.entry is None or locate(document, found.entry) == found
    assert locate(document, ("x", 1)) is None
    assert locate(document, Entry("z", 99, 100, Scalar(1, 101, 102))) is None


def test_values_read_back_to_what_was_put() -> None:
    assert at({"a": [{"b": 1}]}, ("a", 0, "b")) == 1  # the tests' own reader
