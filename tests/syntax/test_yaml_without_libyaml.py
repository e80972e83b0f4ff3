"""Where PyYAML has no libyaml, as in the playground's Python, a broken text is told in the same words and at the same place."""

from __future__ import annotations

import pytest
import yaml

from stablint.syntax.yaml.error import syntax_error

BROKEN = (
    "a: b: c\n", "a: 1\n b: 2\n", "a:\n  b: 1\n c: 2\n", "a: 1\nb\nc: 2\n", "a: [1, 2\nb: 3\n", "a: {x: 1\nb: 3\n", "a: [1, 2}\n", "[a, b", "{a: b",
    "a:\n- 1\n b: 2\n", "- a\nb: 1\n", "a: 1\n- b\n", "? a\nb\n", "a: \"x\n", "a: 'x\n", "a: 'x' y\n", "a: @x\n", "a: `x`\n", "\ta: 1\n", "a:\n\tb: 1\n",
    "a: !e!x 1\n", "%YAML 2.0\n---\na: 1\n", "a: - 1\n", "a: 1\n...\nb\n--- x\nfoo: ]\n", "a: *x y\n", "a: ]\n", "a: {b c: d}\nf: {g: h}}\n",
)  # fmt: skip


@pytest.mark.parametrize("text", BROKEN)
def test_both_parsers_complain_of_the_same(text: str) -> None:
    told = []
    for loader in (yaml.CSafeLoader, yaml.SafeLoader):
        with pytest.raises(yaml.YAMLError) as raised:
            list(yaml.parse(text, Loader=loader))
        told.append(syntax_error(text, raised.value))
    assert told[0] == told[1] and not told[0].message.startswith("not YAML")
