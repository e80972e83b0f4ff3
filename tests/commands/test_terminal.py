"""stablint on a terminal, as somebody sits in front of it: a pseudo-terminal of its own, what is drawn there, and how it ends."""

from __future__ import annotations

import os
import re
import select
import shutil
import sys
import time
from pathlib import Path

import pytest

pty = pytest.importorskip("pty")

ROOT = Path(__file__).resolve().parents[2]
TRAIN = "output_dir: out\nlearning_rate: 1.0e-5\nfp16: true\nbf16: true\n"
BARE = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM", "LANG", "LC_ALL", "LC_MESSAGES", "LANGUAGE", "PYTHONPATH")


def on_a_terminal(words: list[str], folder: Path, lint: Path = ROOT / "lint", **environment: str) -> tuple[str, int]:
    """What a command writes to a terminal, and its exit code."""
    kept = {name: value for name, value in os.environ.items() if name not in BARE}
    environment = {**kept, "TERM": "xterm-256color", "COLUMNS": "100", "PYTHONPATH": str(lint), **environment}
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execve(sys.executable, [sys.executable, "-m", "stablint", *words], environment)
    drawn = b""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            data = os.read(terminal, 65_536)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        drawn += data
    os.close(terminal)
    return drawn.decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def left_standing(drawn: str) -> str:
    """Without the bars that a busy machine shows and that are wiped off again."""
    return re.sub(r"\r\x1b\[K(\[[#.]{30}\] [^\r]*)?", "", drawn)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.yaml").write_text(TRAIN, encoding="utf-8")
    return tmp_path


# What is typed, what is then drawn, what is not, and the exit code.
SESSIONS = {
    "a command that is none": (["chekc", "train.yaml"], {}, ["did you mean `stablint check`?"], ["Traceback"], 2),
    "an option that is none": (["train.yaml", "--selct", "P"], {}, ["did you mean `--select`?"], ["Traceback"], 2),
    "a rule that is none": (["explain", "fp16-and-bf61"], {}, ["did you mean `fp16-and-bf16`"], ["Traceback"], 2),
    "the beginning of codes": (["explain", "P10"], {}, ["did you mean `P101` or `P102`"], ["Traceback"], 2),
    "a code with a letter for a digit": (["explain", "P1O1"], {}, ["did you mean `P101`?"], ["Traceback"], 2),
    "how often each rule": (["train.yaml", "--statistics"], {}, ["P143", "in 1 file"], ["in 1 files"], 1),
    "a code with a digit too many": (["train.yaml", "--select", "P1011"], {}, ["did you mean `P101`?"], ["Traceback"], 2),
    "a code to ignore that is none": (["train.yaml", "--ignore", "P1O1"], {}, ["did you mean `P101`?"], ["Traceback"], 2),
    "a name to select that is none": (["train.yaml", "--select", "fp16-and-bf61"], {}, ["did you mean `fp16-and-bf16`?"], ["Traceback"], 2),
    "a card that is none": (["train.yaml", "--gpu", "A10O"], {}, ["did you mean `A10", "A100"], ["Traceback"], 2),
    "colours": (["train.yaml"], {}, ["\x1b[1;31merror P143\x1b[0m"], [], 1),
    "no colours by NO_COLOR": (["train.yaml"], {"NO_COLOR": "1"}, ["P143"], ["\x1b["], 1),
    "no colours in a dumb terminal": (["train.yaml"], {"TERM": "dumb"}, ["P143"], ["\x1b["], 1),
    "Chinese by the locale": (["train.yaml"], {"LC_ALL": "zh_CN.UTF-8"}, ["错误", "P143"], [], 1),
}  # fmt: skip


@pytest.mark.parametrize("name", SESSIONS)
def test_what_is_drawn(folder: Path, name: str) -> None:
    words, environment, drawn, absent, code = SESSIONS[name]
    told, ended = on_a_terminal(words, folder, **environment)
    assert ended == code, told
    assert not [one for one in drawn if one not in told], told
    shown = told if environment.get("TERM") == "dumb" else left_standing(told)
    assert not [one for one in absent if one in shown], told


def test_lines_are_as_wide_as_the_terminal(folder: Path) -> None:
    for width in (50, 80):
        told, _ = on_a_terminal(["train.yaml", "--isolated"], folder, COLUMNS=str(width), NO_COLOR="1")
        lines = left_standing(told).replace("\r", "").split("\nFound ")[0].splitlines()
        assert max(map(len, lines)) <= width, width


@pytest.mark.slow
def test_the_first_compile_of_a_checkout_shows_how_far_it_is(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A bar after a second, wiped off before the report; and none the next time."""
    checkout = tmp_path_factory.mktemp("checkout")
    for part in ("lint", "knowledge"):
        shutil.copytree(ROOT / part, checkout / part, ignore=shutil.ignore_patterns("_compiled*", "__pycache__"))
    told, code = on_a_terminal(["train.yaml"], folder, checkout / "lint")
    assert code == 1, told
    bars = re.findall(r"\r\x1b\[K\[[#.]{30}\] (\d+) of (\d+) parts of the knowledge", told)
    done = [int(one) for one, _ in bars]
    assert done == sorted(done) and done and done[-1] < int(bars[0][1])
    assert told.rindex("\r\x1b[K") < told.index("train.yaml:3"), "the bar is gone when the report comes"
    told, code = on_a_terminal(["train.yaml"], folder, checkout / "lint")
    assert code == 1 and "parts of the knowledge" not in told
