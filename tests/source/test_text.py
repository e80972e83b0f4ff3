"""Files in and out, byte for byte."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.source.text import LARGEST, Lines, OutsideRoot, Unreadable, decode, encode, read, write_atomically
from stablint.source.tree import Text

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


def test_writing_keeps_the_mode_and_leaves_nothing_else_behind(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_bytes(b"old")
    file.chmod(0o640)
    write_atomically(str(file), b"new", str(tmp_path))
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [file]


def test_a_link_is_followed_inside_the_root_only(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "rootless"
    for folder in (root, outside):
        folder.mkdir()
        (folder / "file").write_bytes(b"old")
    (root / "in").symlink_to(root / "file")
    (root / "out").symlink_to(outside / "file")
    (root / "folder").symlink_to(outside)
    write_atomically(str(root / "in"), b"new", str(root))
    assert (root / "file").read_bytes() == b"new"
    assert (root / "in").is_symlink()
    for path in (root / "out", root / "folder" / "file", outside / "file", root):
        with pytest.raises(OutsideRoot):
            write_atomically(str(path), b"new", str(root))
    assert (outside / "file").read_bytes() == b"old"


def test_a_failed_write_leaves_the_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "run.yaml"
    file.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(str(file), b"new", str(tmp_path))
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("run.yaml", b"old")]


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
