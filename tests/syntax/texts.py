"""Texts as people write them, made by hypothesis: nested YAML and JSON with comments, quotes, CRLF and without a last line break."""

from __future__ import annotations

import json
from typing import Any

import hypothesis.strategies as st

from stablint.syntax.tree import Document, Mapping, Node, Scalar, Sequence, Text

KEYS = ["fp16", "bf16", "learning_rate", "optim", "lora-r", "a.b", "clé", '"quoted key"', "'single'", "7"]
TOKENS = [
    *("true", "False", "1", "-3", "1.0e-05", "2.5", ".5", "null", "~", "", "0x10", "2024-01-31", "1e-4"),
    *(
        "words in a row",
        "Qwen/Qwen2-7B",
        "é😀 ü",
        "${HOME}/x",
        "it's",
        "a  # note inline",
        '"x # y"',
        "'it''s'",
        '"tab\\there"',
    ),
    *("[a, 'b', 3]", "{k: v, w: [1, {z: 2}]}", "[]", "{}", '{"a":1,"b":"c"}', "[\n    a,  # note in a list\n    b]"),
    *(
        "|\n      first\n        second",
        ">-\n      folded\n      text",
        "|-\n      # no comment",
        "plain\n      goes on",
        '"quoted\n      goes on"',
    ),
]
VALUES: list[Any] = [
    *(
        True,
        False,
        None,
        0,
        -7,
        10**30,
        0.5,
        1e-5,
        1e20,
        float("inf"),
        "",
        "word",
        "two words",
        "1e-4",
        "yes",
        "null",
        "0x1F",
        "1:30",
    ),
    *(
        "a: b",
        "# no comment",
        "- x",
        "it's",
        'say "hi"',
        "é😀",
        "line\nbreak",
        "tab\t",
        "\x85\u2028\ufeff",
        " padded ",
        "{x}",
        "*a",
        "&b",
        "!c",
        "%d",
        "@e",
    ),
    *([], {}, ["q_proj", "no", 1.0, [True]], {"enabled": True}, {"a": {"b": [1]}, "off": "on"}),
]


def text_of(content: str) -> Text:
    return Text("/somewhere/run.yaml", "run.yaml", content)


@st.composite
def yaml_texts(draw: st.DrawFn) -> str:
    """A block mapping up to three levels deep. Comments all read `# note …`, and nothing else in the text does."""
    lines: list[str] = []

    def comment(indent: int) -> None:
        if draw(st.integers(0, 4)) == 0:
            lines.append(" " * draw(st.sampled_from([indent, 0, indent + 3])) + f"# note {len(lines)}")
        if draw(st.integers(0, 7)) == 0:
            lines.append("")

    def scalar() -> str:
        token = draw(st.sampled_from(TOKENS))
        trailing = (
            f"  # note {len(lines)}" if "#" not in token and "\n" not in token and draw(st.integers(0, 3)) == 0 else ""
        )
        return token.replace("\n", "\n" + " " * 12) + trailing  # deeper than any key

    def mapping(indent: int, depth: int, dash: str = "") -> None:
        for position, key in enumerate(draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=4, unique=True))):
            if position or not dash:
                comment(indent)
            lead = dash if position == 0 and dash else " " * indent
            kind = draw(st.integers(0, 6)) if depth < 3 else 0
            if kind == 5:
                lines.append(f"{lead}{key}:")
                mapping(indent + draw(st.sampled_from([2, 4])), depth + 1)
            elif kind == 6:
                lines.append(f"{lead}{key}:")
                sequence(indent + draw(st.sampled_from([0, 2])), depth + 1)
            else:
                lines.append(f"{lead}{key}: {scalar()}".rstrip())

    def sequence(indent: int, depth: int) -> None:
        for _ in range(draw(st.integers(1, 3))):
            comment(indent)
            if draw(st.integers(0, 2)) == 0 and depth < 3:
                mapping(indent + 2, depth + 1, " " * indent + "- ")
            else:
                lines.append(f"{' ' * indent}- {scalar()}".rstrip())

    if draw(st.booleans()):
        lines.append("---")
    mapping(0, 0)
    content = "\n".join(lines) + draw(st.sampled_from(["\n", "\n", ""]))
    return content.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n"])))


@st.composite
def json_texts(draw: st.DrawFn) -> str:
    leaf = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-9, 10**20),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=5),
    )
    tree = st.recursive(
        leaf,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
        max_leaves=12,
    )
    value = draw(st.dictionaries(st.sampled_from(["fp16", "optimizer", "zero", "é", ""]), tree, min_size=1))
    indent = draw(st.sampled_from([None, 2, 4, "\t"]))
    content = json.dumps(
        value, indent=indent, ensure_ascii=draw(st.booleans()), separators=draw(st.sampled_from([None, (",", ":")]))
    )
    content = content.encode("utf-8", "replace").decode() + draw(st.sampled_from(["", "\n"]))
    return content.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


Path = tuple[Any, ...]


def places(document: Document) -> list[tuple[Path, Node]]:
    """Every node below the root with its path, where no key comes twice."""
    found: list[tuple[Path, Node]] = []
    waiting: list[tuple[Path, Node]] = (
        [((), document.root)] if isinstance(document.root, (Mapping, Sequence, Scalar)) else []
    )
    while waiting:
        path, node = waiting.pop()
        found.append((path, node))
        if isinstance(node, Mapping):
            waiting += [((*path, entry.key), entry.value) for entry in node.entries]
        elif isinstance(node, Sequence):
            waiting += [((*path, number), item) for number, item in enumerate(node.items)]
    return found[1:]


def put(value: Any, path: Path, new: Any) -> Any:
    """A copy of nested lists and dicts with another value at a path."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy


def at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def with_entries(value: Any, path: Path, change: Any) -> Any:
    """A copy in which `change` has rewritten the entry at `path`: it takes (key, value) and gives the pairs that take its place."""
    pairs = [
        pair
        for key, item in at(value, path[:-1]).items()
        for pair in (change(key, item) if key == path[-1] else [(key, item)])
    ]
    return put(value, path[:-1], dict(pairs))
