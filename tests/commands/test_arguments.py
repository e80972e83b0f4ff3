"""Command lines of names and switches are read without argparse, to the same end."""

from __future__ import annotations

import pytest

from stablint.commands.check import plainly
from stablint.config.arguments import check_parser

PLAIN = ["a.yaml", "a.yaml b.sh folder", "-", "--quiet .", ". --quiet --fix", "--fix --unsafe-fixes a b --exit-zero", "--show-facts - --verbose"]  # fmt: skip
OTHER = ["", "--quiet", "a --quiet b", "--gpu A100 a", "a --select TRL", "--jobs 1 .", "--qui a", "-x a", "a -1", "--fix=1 a", "--color=never a"]  # fmt: skip


@pytest.mark.parametrize("line", PLAIN)
def test_plain_lines_come_to_what_argparse_reads(line: str) -> None:
    plain = plainly(line.split())
    read, flags = check_parser().read(line.split(), [])
    assert plain is not None
    assert vars(plain) == vars(read)
    assert flags == []


@pytest.mark.parametrize("line", OTHER)
def test_all_others_are_left_to_it(line: str) -> None:
    assert plainly(line.split()) is None
