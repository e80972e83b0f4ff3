"""The write verbs for JSON: what is put is read back, the layout of the file is followed, and nothing else changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.syntax.edit import apply
from stablint.syntax.json.editor import insert, remove, rename, replace
from stablint.syntax.json.reader import document
from stablint.syntax.locate import value_of
from stablint.syntax.tree import Document
from tests.syntax.texts import VALUES, json_texts, places, put, text_of, with_entries

NEW = "brand_new"
WRITABLE = [value for value in VALUES if value != float("inf")]


def read(content: str) -> Document:
    return document(text_of(content))


def entries(found: Document) -> list[tuple[Any, ...]]:
    return [path for path, _ in places(found) if isinstance(path[-1], str)]


@given(json_texts(), st.data())
def test_what_is_put_is_read_back(content: str, data: st.DataObject) -> None:
    found = read(content)
    path, node = data.draw(st.sampled_from(places(found)))
    value = data.draw(st.sampled_from(WRITABLE))
    edit = replace(found, path, value)
    assert edit is not None
    assert (edit.start, edit.end) == (node.start, node.end)
    assert repr(json.loads(apply(content, [edit]))) == repr(put(json.loads(content), path, value))


@given(json_texts())
def test_putting_what_is_there_changes_not_one_byte(content: str) -> None:
    found = read(content)
    for path, node in places(found):
        edit = replace(found, path, value_of(node))
        assert edit is not None
        assert apply(content, [edit]) == content


@given(json_texts(), st.data())
def test_entries_are_inserted_removed_and_renamed_one_by_one(content: str, data: st.DataObject) -> None:
    found, before = read(content), json.loads(content)
    path, value = data.draw(st.sampled_from(entries(found))), data.draw(st.sampled_from(WRITABLE))
    for edit, change in (
        (insert(found, path, NEW, value), lambda key, item: [(key, item), (NEW, value)]),
        (remove(found, path), lambda key, item: []),
        (rename(found, path, NEW), lambda key, item: [(NEW, item)]),
    ):
        assert edit is not None
        after = apply(content, [edit])
        assert repr(json.loads(after)) == repr(with_entries(before, path, change))
        assert "\r\n" not in content or "\n" not in after.replace("\r\n", "")
        assert after.endswith("\n") == content.endswith("\n")


CHANGED = [
    (
        "insert",
        '{\n    "a": 1,\n    "b": 2\n}',
        "a",
        {"x": [1]},
        '{\n    "a": 1,\n    "new": {\n        "x": [\n            1\n        ]\n    },\n    "b": 2\n}',
    ),
    ("insert", '{\r\n\t"a":1\r\n}\r\n', "a", True, '{\r\n\t"a":1,\r\n\t"new":true\r\n}\r\n'),
    ("insert", '{"a": 1, "b": 2}', "b", 1e-05, '{"a": 1, "b": 2, "new": 1e-05}'),
    ("insert", '{"a":1}', "a", "é", '{"a":1,"new":"é"}'),
    ("insert", '{\n  "a": {"b": 1}\n}', "a", 1, '{\n  "a": {"b": 1},\n  "new": 1\n}'),
    ("insert", '{"a": 1, "new": 2}', "a", 1, None),
    ("insert", '{"a": 1}', "a", float("nan"), None),
    ("insert", '{"a": 1}', "z", 1, None),
    ("insert", '{\n  "a": 1 // one\n}', "a", 2, '{\n  "a": 1,\n  "new": 2 // one\n}'),
    ("remove", '{\n  "a": 1,\n  "b": 2\n}', "a", None, '{\n  "b": 2\n}'),
    ("remove", '{\n  "a": 1,\n  "b": 2\n}', "b", None, '{\n  "a": 1\n}'),
    ("remove", '{\n  "a": 1\n}\n', "a", None, "{}\n"),
    ("remove", '{"a": 1, "b": 2, "b": 3}', "b", None, '{"a": 1, "b": 2}'),
    ("remove", '{\n  "a": 1, // one\n  "b": 2\n}', "a", None, None),
    ("rename", '{"fp16": true}', "fp16", "bf16", '{"bf16": true}'),
    ("rename", '{"fp16": true, "bf16": false}', "fp16", "bf16", None),
    ("replace", '{"a": {\n  "b": 1\n}}', "a", {"c": 2}, '{"a": {\n  "c": 2\n}}'),
    ("replace", '{"a": [1, 2]}', "a", [1], '{"a": [1]}'),
    ("replace", '{"a": [1, /* two */ 2]}', "a", [1], None),
    ("replace", '{"a": "auto"}', "a", "\ud800", '{"a": "\\ud800"}'),
    ("replace", '{"a": 1}', "a", object(), None),
]


@pytest.mark.parametrize(("verb", "before", "key", "value", "after"), CHANGED)
def test_layout(verb: str, before: str, key: str, value: Any, after: str | None) -> None:
    found = read(before)
    done = {
        "insert": lambda: insert(found, (key,), "new", value),
        "remove": lambda: remove(found, (key,)),
        "rename": lambda: rename(found, (key,), value),
        "replace": lambda: replace(found, (key,), value),
    }[verb]()
    assert (done and apply(before, [done])) == after
