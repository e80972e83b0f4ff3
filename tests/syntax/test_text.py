"""Files in and out, byte for byte."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.syntax.text import LARGEST, Lines, Unreadable, decode, encode, read
from stablint.syntax.tree import Text

DECODED = [
    (b"a: 1\r\n", "a: 1\r\n", "utf-8", False),
    (b"\xef\xbb\xbfa", "a", "utf-8", True),
    ("é😀".encode(), "é😀", "utf-8", False),
    (b"\xff\xfea\x00\x3d\xd8\x00\xde", "a😀", "utf-16-le", True),
    (b"\xfe\xff\x00a", "a", "utf-16-be", True),
    (b"", "", "utf-8", False),
]


@pytest.mark.parametrize(("data", "content", "encoding", "bom"), DECODED)
def test_what_was_read_is_written_back_byte_for_byte(data: bytes, content: str, encoding: str, bom: bool) -> None:
    text = decode(data, "/x", "x")
    assert text == Text("/x", "x", content, encoding, bom)
    assert isinstance(text, Text)
    assert encode(text, text.text) == data


UNREADABLE = [
    (b"a: 1\nb: \xe9\n", (2, 4)),  # cp1252, which is not guessed
    (b"ab\x00c", (1, 3)),
    (b"\xed\xa0\x80", (1, 1)),  # half of a surrogate pair
    (b"\xff\xfea", (1, 1)),
    (b"\xff\xfe\x00\x00a\x00\x00\x00", (1, 1)),  # UTF-32
]


@pytest.mark.parametrize(("data", "position"), UNREADABLE)
def test_what_is_no_text_has_a_problem_with_its_place(data: bytes, position: tuple[int, int]) -> None:
    found = decode(data, "/x", "x")
    assert isinstance(found, Unreadable)
    assert found.problem.kind == "unreadable-file"
    assert Lines(found.text.text).position(found.problem.start) == position


WORDS = "echo 训练完成\n"
# A name, its bytes, and the encoding in which what runs it takes them.
RUN = [
    ("run.sh", WORDS.encode("gbk"), "latin-1"),
    ("job.slurm", b"#SBATCH --comment=\xe9\n", "latin-1"),
    ("start", b"#!/usr/bin/env bash\n" + WORDS.encode("gbk"), "latin-1"),
    ("train.py", b"# -*- coding: gbk -*-\n# " + WORDS.encode("gbk"), "gbk"),
    ("train.py", b"#!/usr/bin/python\n# vim: set fileencoding=latin-1 :\nx = '\xe9'\n", "latin-1"),
    ("train", b"#!/usr/bin/env python3\n# coding=cp1252\nx = '\xe9'\n", "cp1252"),
    ("run.sh", b"python train.py\nexit 0\n\x00\xff", "latin-1"),  # an archive behind the script
    ("run.sh", b"python train.py\nexit 0\n\x00", "utf-8"),
]


@pytest.mark.parametrize(("name", "data", "encoding"), RUN)
def test_a_program_runs_in_the_encoding_that_it_has(name: str, data: bytes, encoding: str) -> None:
    text = decode(data, "/" + name, name)
    assert isinstance(text, Text)
    assert (text.encoding, text.bom) == (encoding, False)
    assert encode(text, text.text) == data


STOPS = [
    ("train.yaml", WORDS.encode("gbk")),
    ("ds.json", WORDS.encode("gbk")),
    ("train.py", b"# " + WORDS.encode("gbk")),  # Python refuses it without the name of an encoding
    ("train.py", b"import os\n\n# coding: gbk\n# " + WORDS.encode("gbk")),  # which stands too far below
    ("train.py", b"# coding: nobodys-9\n# " + WORDS.encode("gbk")),
    ("train.py", b"# coding: utf-8\n# " + WORDS.encode("gbk")),
    ("train.py", b"# coding: hex\n# " + WORDS.encode("gbk")),  # no encoding of texts
    ("run.sh", b"\x7fELF\x00\xff"),
    ("run.sh", b"python train.py\n\x00\xff"),
    ("train.py", b"exit()\n\x00\xff"),
]


@pytest.mark.parametrize(("name", "data"), STOPS)
def test_elsewhere_another_encoding_is_not_guessed(name: str, data: bytes) -> None:
    assert isinstance(decode(data, "/" + name, name), Unreadable)


def test_only_regular_files_of_bounded_size_are_read(tmp_path: Path) -> None:
    fifo, large, full = tmp_path / "fifo", tmp_path / "large", tmp_path / "full"
    os.mkfifo(fifo)
    with large.open("wb") as file:
        file.truncate(LARGEST + 1)
    full.write_bytes(b"#" * LARGEST)
    kinds = {}
    for path in (str(tmp_path), str(fifo), "/dev/zero", str(tmp_path / "absent"), str(large), "a\0b", "a\ud800b"):
        found = read(path, "x")
        assert isinstance(found, Unreadable)
        kinds[path] = found.problem.kind
    assert kinds.pop(str(large)) == "too-large"
    assert set(kinds.values()) == {"unreadable-file"}
    assert isinstance(read(str(full), "x"), Text)


@given(st.text(alphabet="ab\n\r\u2028\x85\x0cé😀"))
def test_lines_end_at_lf_crlf_and_cr_only(content: str) -> None:
    lines, start = Lines(content), 0
    for number, (line, end) in enumerate(re.findall(r"([^\r\n]*)(\r\n|\r|\n|\Z)", content), 1):
        assert lines.line_text(number) == line
        for column in range(1, len(line) + 2):
            assert lines.position(start + column - 1) == (number, column)
        start += len(line) + len(end)
        if not end:
            break


def test_places_outside_a_text_are_its_edges() -> None:
    lines = Lines("a\nbc")
    assert [lines.position(offset) for offset in (-1, 99)] == [(1, 1), (2, 3)]
    assert [lines.line_text(number) for number in (0, 3)] == ["", ""]
