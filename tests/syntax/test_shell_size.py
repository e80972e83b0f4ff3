"""The work of reading a script grows no faster than the script: counted calls, not seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from stablint.frameworks import registry
from stablint.syntax.shell import reader as shell
from stablint.syntax.tree import Text


def times(piece: str) -> Callable[[int], str]:
    return lambda count: piece * count


def numbered(piece: str) -> Callable[[int], str]:
    return lambda count: "".join(piece.replace("#", str(number)) for number in range(count))


def within(opening: str, piece: str, closing: str, deep: int = 40) -> Callable[[int], str]:
    return lambda count: opening * deep + numbered(piece)(count) + closing * deep


# What scripts are full of, well or badly formed, by name.
PATTERNS: dict[str, Callable[[int], str]] = {
    "commands": times("python t.py --lr 1 --fp16 True\n"),
    "exports": numbered("export A#=1\np --a $A#\n"),
    "branches": numbered("if x; then A#=1; fi\n"),
    "deep branches": within("if x; then\n", "A#=1\n", "fi\n"),
    "deep loops": within("while x; do\n", "A#=1\nB=$A#\n", "done\n"),
    "loops": numbered("for A# in 1 2; do B=$A#; done\n"),
    "functions": numbered("f# () { A#=1; }\n"),
    "calls": lambda count: "f() { p --a $1; }\n" + "f 1\n" * count,
    "functions that call the one before": numbered("g#() { g; g; }\ng() { g#; g#; }\n"),
    "a variable that grows": times('A="$A --b 1"\n'),
    "a list that grows": times("A+=(--a 1)\np ${A[@]}\n"),
    "a text used often": lambda count: 'A="--a 1 --b 2 --c 3"\n' + "p $A\n" * count,
    "a chain of variables": lambda count: "".join(f"A{n}=$A{n - 1}b\n" for n in range(1, count)),
    "here-documents": times("cat <<E > a.json\n{}\nE\n"),
    "here-documents without end": times("cat <<E > a.json\n{\n"),
    "defaults in defaults": times("${A:-"),
    "substitutions": times('"$(cat <<E\n'),
    "arithmetic": times("A=$((A + 1 * (2"),
    "scripts in scripts": times("bash -c 'bash -c \"p --a 1\"'\n"),
    "open quotes": times("p --a 'b\n"),
    "open brackets": times("A=(1 ("),
    "patterns": times("case x in a) b;; "),
    "words": times("word "),
    "flags": times("--a b "),
    "positionals": lambda count: "torchrun t.py " + "--a=1 b " * count,
    "JSON": times('p --a \'{"b": {"c": 1}}\'\n'),
    "headers": times("#SBATCH --nodes=2 --gres=gpu:a100:8\n"),
    "dashes": times("p -- q -- python "),
}

# Where a thing is used as often as it is long, no more of it is followed than anybody writes: linear from this size on.
BOUNDED = {"a variable that grows": 420, "exports": 150}


def steps(script: str) -> int:
    """Calls, of Python and of C, that reading and lowering make."""
    count = 0

    def counted(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        registry.lower(shell.document(Text("/x/a.sh", "a.sh", script)))
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("pattern", PATTERNS)
def test_twice_the_script_is_twice_the_work(pattern):
    write = PATTERNS[pattern]
    size = BOUNDED.get(pattern, 60)
    steps(write(10))  # what is loaded once
    small, large = steps(write(size)), steps(write(2 * size))
    assert large <= 2.4 * small + 500
