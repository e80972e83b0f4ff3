"""Patches that the real git takes, whatever the file looks like, and in which no secret stands."""

from __future__ import annotations

import codecs
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stablint.fix.patch import Patch, patch
from stablint.syntax.text import Unreadable, decode, encode
from stablint.syntax.tree import Text

SECRET = "hub_token: the-secret"


def patched(before: bytes, old: str, new: str, name: str = "train.yaml") -> tuple[Patch, bytes]:
    """The patch for one exchange of words, and the bytes that it is to make."""
    text = decode(before, "/" + name, name)
    assert not isinstance(text, Unreadable) and old in text.text
    after = text._replace(text=text.text.replace(old, new))
    made = patch({text.path: after}, {text.path: text}, lambda line: "the-secret" in line)
    return made, encode(text, after.text)


def applied(folder: Path, before: bytes, made: Patch, name: str = "train.yaml") -> bytes:
    (folder / name).write_bytes(before)
    done = subprocess.run(["git", "apply", "-"], input=made.data, cwd=folder, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode() + made.data.decode()
    return (folder / name).read_bytes()


LINES = "".join(f"key_{n}: {n}\n" for n in range(12))
TEXTS = {
    "in the middle": LINES.replace("key_6: 6", "fp16: true"),
    "in the first line": LINES.replace("key_0: 0", "fp16: true"),
    "in the last line": LINES.replace("key_11: 11", "fp16: true"),
    "without an end of line": LINES.replace("key_11: 11\n", "fp16: true"),
    "the only line": "fp16: true\n",
    "twice, near": LINES.replace("key_4: 4", "fp16: true").replace("key_6: 6", "fp16: true"),
    "twice, far": LINES.replace("key_1: 1", "fp16: true").replace("key_10: 10", "fp16: true"),
    "Windows line ends": LINES.replace("key_6: 6", "fp16: true").replace("\n", "\r\n"),
    "old Macintosh line ends": LINES.replace("key_6: 6", "fp16: true").replace("\n", "\r"),
    "a separator of Unicode": LINES.replace("key_5: 5", "name: a\u2028b\x0cc").replace("key_6: 6", "fp16: true"),
    "letters of every kind": LINES.replace("key_6: 6", "fp16: true  # größe 名 😀"),
    "a secret three lines above": LINES.replace("key_3: 3", SECRET).replace("key_6: 6", "fp16: true"),
    "a secret right above": LINES.replace("key_5: 5", SECRET).replace("key_6: 6", "fp16: true"),
    "a secret two lines below": LINES.replace("key_8: 8", SECRET).replace("key_6: 6", "fp16: true"),
    "a secret between two changes": LINES.replace("key_3: 3", "fp16: true").replace("key_5: 5", SECRET).replace("key_6: 6", "fp16: true"),
    "a secret above the last line": LINES.replace("key_10: 10", SECRET).replace("key_11: 11", "fp16: true"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def git():
    if shutil.which("git") is None:
        pytest.skip("git is not installed")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8], ids=["", "byte order mark"])
def test_git_makes_of_it_what_the_fix_makes(tmp_path, text, mark):
    before = mark + text.encode()
    made, after = patched(before, "fp16", "bf16")
    assert not made.left_out and b"the-secret" not in made.data
    assert applied(tmp_path, before, made) == after


def test_lines_that_go_and_lines_that_come(tmp_path):
    made, after = patched(LINES.encode(), "key_6: 6\n", "")
    assert applied(tmp_path, LINES.encode(), made) == after
    made, after = patched(LINES.encode(), "key_6: 6\n", "key_6: 6\na: 1\nb: 2\n")
    assert applied(tmp_path, LINES.encode(), made) == after


@pytest.mark.parametrize("name", ["a b.yaml", 'a"b.yaml', "größe.yaml", "a\\b.yaml"])
def test_names_that_git_quotes(tmp_path, name):
    before = TEXTS["in the middle"].encode()
    made, after = patched(before, "fp16", "bf16", name)
    assert applied(tmp_path, before, made, name) == after


LEFT_OUT = {
    "a secret in the changed line": f"fp16: true  # {SECRET}\n",
    "a secret right below": f"fp16: true\n{SECRET}\na: 1\n",
}


@pytest.mark.parametrize("text", LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_cannot_be_told_without_a_secret_is_left_out_whole(text):
    made, _ = patched(text.encode(), "fp16", "bf16")
    assert made.data == b"" and made.left_out == (
        ("train.yaml", "a text that a patch must not show stands beside the change"),
    )


def test_git_has_no_patch_for_utf_16():
    made, _ = patched(codecs.BOM_UTF16_LE + "fp16: true\n".encode("utf-16-le"), "fp16", "bf16")
    assert made.data == b"" and made.left_out == (("train.yaml", "it is UTF-16"),)


def test_no_change_is_no_patch():
    assert patch({}, {}, lambda line: False) == Patch(b"", ())


LINE = st.sampled_from(["a: 1\n", "b: 2\n", "\n", "c: 3\r\n", SECRET + "\n", "d: 4"])


@given(st.lists(LINE, min_size=1, max_size=12), st.lists(LINE, min_size=1, max_size=12))
@example([SECRET + "\n"], [SECRET + "\n", "a: 1\n"])
def test_any_two_texts(tmp_path_factory, before, after):
    old, new = Text("/t", "t", "".join(before)), Text("/t", "t", "".join(after))
    if old.text == new.text:
        return
    made = patch({"/t": new}, {"/t": old}, lambda line: "the-secret" in line)
    assert b"the-secret" not in made.data
    assert made.left_out or applied(tmp_path_factory.mktemp("any"), old.text.encode(), made, "t") == new.text.encode()
