"""What is read by lines is the tree that libyaml's events give, position for position; everything else is left to libyaml."""

from __future__ import annotations

import glob
import os

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from stablint.syntax.tree import Text
from stablint.syntax.yaml import events as yaml_events
from stablint.syntax.yaml import reader as yaml_plain
from stablint.syntax.yaml.scalar import remembered

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def by_events(content: str) -> object:
    (document, *more) = yaml_events.documents(Text("a.yaml", "a.yaml", content))
    assert not more and not document.problems, content
    return document.root


PLAIN = [
    "a: 1\n",
    "a: 1",
    "---\na: 1\n",
    "# head\n\na: b   # why\n  # between\nb: 'x # y' # z\n",
    "a: \"quoted: text\"\nb: ''\nc: [a, 1, 0.5]   # list\nd: [ ]\n",
    "a:\nb:\n  - x\n  - y\nc:\n- 1\n- -1\nd: 2\n",
    "a:\n  b:\n    c: 1\n  d: ~\ne: null\n",
    "a:\n  - path: x\n    type: y\n  -   path: z\n      list:\n        - 1\nb: yes\n",
    "a: one two  three\nb: c:d\nc: e#f\nd: -x\ne: (g)\nf: <h\n",
    "a: 1e-4\nb: 1.0e-4\nc: 0x10\nd: 017\ne: 1:30\nf: 2024-01-01\ng: .5\nh: +1\ni: 1_000\n",
    "配置: 值  # 说明\n",
]


@pytest.mark.parametrize("content", PLAIN)
def test_plain_texts_are_read_by_lines(content: str) -> None:
    tree = yaml_plain.read(content)
    assert tree is not None
    assert tree == by_events(content)
    assert [type(e.value) for e in tree.entries] == [type(e.value) for e in by_events(content).entries]  # type: ignore[attr-defined]


LEFT = [
    "",
    "- a\n",
    "a\n",
    "a: &x 1\n",
    "a: *x\n",
    "a: !!str 1\n",
    "a: |\n  b\n",
    "a: >-\n  b\n",
    "a: {b: 1}\n",
    "a: [b, 'c']\n",
    "a: [b,\n  c]\n",
    "a: b\n  c\n",
    "a: b\n  c: 1\n",
    "a:\n  b\n",
    "a: b: c\n",
    "a: 'b\n  c'\n",
    "a: 'it''s'\n",
    'a: "b\\n"\n',
    "a: 'b' c\n",
    "a: 1\na: 2\n",
    "yes: 1\n",
    "1: 2\n",
    "'a': 1\n",
    "a b: 1\n",
    "<<: 1\n",
    "a: 1\n---\nb: 2\n",
    "a: 1\n...\n",
    "--- # head\na: 1\n",
    "a: 1\r\nb: 2\r\n",
    "a:\t1\n",
    "a: 1\tb\n",
    "\ufeffa: 1\n",
    "  a: 1\n",
    "a:\n  - b\n c: 1\n",
    "a:\n  - b\n  c: 1\n",
    "a:\n  -\n    b: 1\n",
    "a:\n  - - b\n",
    "a:\n  - b: 1\n   c: 2\n",
    "a:\n    b: 1\n  c: 2\n",
    "a: - b\n",
    "a: ? b\n",
    "? a\n: b\n",
    "a: @b\n",
    "a: %b\n",
    f"a: {'1' * 100}\n",
    "a: x\x07\n",
]


@pytest.mark.parametrize("content", LEFT)
def test_what_is_not_plain_is_left_to_libyaml(content: str) -> None:
    assert yaml_plain.read(content) is None


LINE = st.one_of(
    st.sampled_from(["", "# c", "---", "...", "a:", "b:", "  c:", "  - x", "- y", "- a: 1", "  d: 2", "    - z", "-", "  x", "- - q", "a: [1, b]"]),
    st.builds(
        lambda indent, key, value: " " * indent + key + value,
        st.integers(0, 4),
        st.sampled_from(["a:", "b:", "c:", "- ", "- a:", "yes:", "k-1:"]),
        st.text(alphabet=" ab1.-#:'\"[],{}e~?%\t|>&*!", max_size=8).map(lambda t: f" {t}"),
    ),
)  # fmt: skip


@given(st.lists(LINE, max_size=8).map("\n".join))
@example("a:\n- b\n- c: 1\n  d: 2\ne: 3")
@example("a: [ 1 ,b ] #c\n")
@example("a:\n-  ")
def test_the_two_readers_never_differ(content: str) -> None:
    tree = yaml_plain.read(content)
    if tree is not None:
        assert repr(tree) == repr(by_events(content))


@pytest.mark.parametrize("path", sorted(glob.glob(os.path.join(ROOT, "examples", "**", "*.y*ml"), recursive=True)))
def test_on_our_own_examples_too(path: str) -> None:
    with open(path, encoding="utf-8") as file:
        content = file.read()
    tree = yaml_plain.read(content)
    assert tree is None or repr(tree) == repr(by_events(content))


NUMBERS = st.text(alphabet="0123456789+-.eE_:xb", min_size=1, max_size=8)
WORDS = st.sampled_from(
    ["yes", "Yes", "YES", "yEs", "no", "on", "Off", "true", "TRUE", "null", "Null", "~", "y", "n", ".inf", "-.INF", ".nan", "<<", "=", "2024-01-01"]
)  # fmt: skip


@given(st.one_of(NUMBERS, WORDS, st.text(alphabet="abcnoy/._-", min_size=1, max_size=6)))
def test_plain_values_mean_what_pyyaml_says(token: str) -> None:
    try:
        loader = yaml.SafeLoader(token)
        tag = loader.resolve(yaml.ScalarNode, token, (True, False))
        expected = (
            token
            if tag.endswith(("timestamp", "merge", "value"))
            else loader.construct_object(yaml.ScalarNode(tag, token))
        )
    except ValueError:  # `0x_`, which PyYAML takes for a number and cannot read
        expected = token
    found = remembered(token)
    assert type(found) is type(expected)
    assert found == expected or (found != found and expected != expected)
