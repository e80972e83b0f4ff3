"""`stablint watch`: a log that grows, is truncated, is rotated, is not there yet; and what happens at the first sign of sickness."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest

from stablint.cli import main
from stablint.config.spec import CLEAN, FOUND, WRONG
from stablint.log.follow import Buffer, Tail
from tests.pace import cost

HEALTHY = "".join(f"{{'loss': {2 - n / 10}, 'grad_norm': 1.{n}, 'learning_rate': 1e-05}}\n" for n in range(6))
SICK = "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05}\n"
TROUBLE = "Traceback (most recent call last):\nRuntimeError: FlashAttention only supports Ampere GPUs or newer.\n"


def watch(*words: str) -> int:
    return main(["watch", "--isolated", "--interval", "0.02", "--idle", "0.2", *words])


def read(tail: Tail) -> tuple[str, str]:
    look = tail.look()
    return "".join(block.data.decode() for block in look.blocks), look.anew


def test_what_has_come_since_the_last_look(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    tail = Tail(str(log))
    assert read(tail) == ("", "")  # not there yet
    log.write_text("one\ntwo")
    assert read(tail) == ("one\n", "")
    with log.open("a") as more:
        more.write(" halves\n")
    look = tail.look()
    assert [(block.first, block.data) for block in look.blocks] == [(2, b"two halves\n")]
    assert not tail.look().grown
    tail.close()


def test_a_line_without_an_end_is_not_kept_for_ever() -> None:
    buffer, megabyte = Buffer(), b"x" * (1 << 20)
    most = 0
    for _ in range(40):
        buffer.take(megabyte)
        most = max(most, len(buffer._left))
    assert most < 10 << 20


def test_a_log_that_is_truncated_begins_anew(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("a long line of the first run\n")
    tail = Tail(str(log))
    tail.look()
    log.write_text("short\n")
    look = tail.look()
    assert look.anew == "truncated" and [(block.first, block.data) for block in look.blocks] == [(1, b"short\n")]
    tail.close()


def test_a_log_that_is_rotated_is_read_to_its_end_first(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("one\n")
    tail = Tail(str(log))
    tail.look()
    with log.open("a") as more:
        more.write("last")
    log.rename(tmp_path / "train.log.1")
    assert read(tail) == ("", "")  # moved away, and nothing new yet
    log.write_text("first\n")
    assert read(tail) == ("lastfirst\n", "rotated")
    tail.close()


def test_a_traceback_in_pieces_arrives_whole() -> None:
    """Lines behind trouble wait for a quiet look, or for the third."""
    buffer = Buffer()
    assert buffer.take(b"fine\n") != ()
    assert buffer.take(b"Traceback: an Error\n") == ()
    assert buffer.take(b"more of it\n") == ()
    (block,) = buffer.take(b"", quiet=True)
    assert (block.first, block.data) == (2, b"Traceback: an Error\nmore of it\n")
    waited = [buffer.take(b"an Error again\n") for _ in range(3)]
    assert waited[:2] == [(), ()] and waited[2][0].data.count(b"\n") == 3


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_log_in_another_encoding(encoding: str) -> None:
    data = "größer\nend\n".encode(encoding)
    buffer = Buffer()
    found = [block for piece in (data[:7], data[7:]) for block in buffer.take(piece)]
    assert b"".join(block.data for block in found).decode() == "größer\nend\n"


def test_a_healthy_log_ends_with_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.log").write_text(HEALTHY)
    assert watch(str(tmp_path / "train.log")) == CLEAN
    assert "nothing known has shown" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "rule"), [(HEALTHY + SICK * 2, "symptom:nan-gradients"), (HEALTHY + TROUBLE, "flash-attention-2-old-card")]
)
def test_it_ends_at_the_first_sign(
    text: str, rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.log").write_text(text)
    words = ["--output-format", "json", "--on-sick", "echo $STABLINT_RULE $STABLINT_LINE > told; exit 3", "train.log"]
    assert watch(*words) == FOUND
    said = capfd.readouterr()
    (cause,) = json.loads(said.out)["causes"]
    assert cause["rule"] == rule
    assert (tmp_path / "told").read_text() == f"{rule} {cause['matched']['line']}\n"
    assert "--on-sick ended with 3" in said.err


def test_it_sees_what_is_written_while_it_watches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "train.log"

    def run() -> None:
        for line in (HEALTHY + SICK * 3).splitlines(keepends=True):
            time.sleep(0.02)
            with log.open("a") as more:
                more.write(line)

    writer = threading.Thread(target=run)
    writer.start()
    assert main(["watch", "--isolated", "--interval", "0.02", "--idle", "20", str(log)]) == FOUND
    writer.join()
    assert "nan-gradients" in capsys.readouterr().out


def test_only_what_is_certain_where_that_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.log").write_text(SICK * 3)
    assert watch("--at", "certain", "train.log") == CLEAN


def test_the_state_of_a_trainer_is_read_again_when_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"step": 1, "loss": 2.0, "grad_norm": 1.0}]
    state = tmp_path / "trainer_state.json"
    state.write_text(json.dumps({"log_history": rows}, indent=1))
    assert watch("trainer_state.json") == CLEAN
    rows += [{"step": step, "loss": 0.0, "grad_norm": float("nan")} for step in (2, 3)]
    state.write_text(json.dumps({"log_history": rows}, indent=1))
    assert watch("trainer_state.json") == FOUND


@pytest.mark.parametrize("words", [["a.log", "b.log"], ["--interval", "0", "a.log"]])
def test_wrong_usage(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.log").write_text("")
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(watch(*words))
    assert ended.value.code == WRONG


@pytest.mark.skipif(not hasattr(os, "SEEK_DATA"), reason="this system does not tell where a file has holes")
@pytest.mark.parametrize("head", ["", HEALTHY, "{"])
@pytest.mark.parametrize("name", ["train.log", "trainer_state.json"])
def test_a_hole_of_twenty_gigabytes_costs_nothing(
    name: str, head: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / name
    log.write_text(head)
    with open(log, "r+b") as file:
        file.truncate(20_000_000_000)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + TROUBLE.encode())

    def read() -> None:
        assert main(["diagnose", str(log), "--isolated"]) == FOUND
        assert "FlashAttention" in capsys.readouterr().out
        if name == "train.log":
            assert watch(str(log)) == FOUND

    assert cost(read, 4) < 4


def test_a_log_that_has_long_been_written_is_caught_up_with_in_little_looks(tmp_path) -> None:
    """Without a pause between them, and never more of it held than a look takes."""
    from stablint.log.follow import Tail

    log = tmp_path / "train.log"
    log.write_bytes(b"{'loss': 1.5, 'grad_norm': 0.5}\n" * 300_000)
    tail, lines, looks = Tail(str(log)), 0, []
    while (look := tail.look()).grown:
        looks.append(look.more)
        assert sum(len(block.data) for block in look.blocks) <= 5 << 20
        lines += sum(block.data.count(b"\n") for block in look.blocks)
    tail.close()
    assert lines == 300_000
    assert looks == [True, True, False]
