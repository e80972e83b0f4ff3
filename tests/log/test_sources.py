"""A log says the same whatever it is kept in, and whatever a terminal, a scheduler or a launcher put around its lines."""

from __future__ import annotations

import io
import itertools
import json
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import stablint
from stablint.cli import main
from tests.sampling import sampled

MESSAGES = {
    "a raise": 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    trainer.train()\n'
    "ValueError: You cannot perform fine-tuning on purely quantized models. Please attach trainable adapters on top of the quantized model to "
    "correctly perform fine-tuning. Please see: https://huggingface.co/docs/transformers/peft for more details\n",
    "a kernel": 'Traceback (most recent call last):\n  File "train.py", line 9\nRuntimeError: FlashAttention only supports Ampere GPUs or newer.\n',
    "a list": "ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values:\n"
    "- ds gradient_accumulation_steps=1 vs hf gradient_accumulation_steps=8\nThe easiest method is to set these DeepSpeed config values to 'auto'.\n",
    "sick numbers": "".join(
        f"{{'loss': {loss}, 'grad_norm': {norm}, 'learning_rate': 1e-05, 'epoch': 0.0{number}}}\n"
        for number, (loss, norm) in enumerate([(1.71, 2.3), (1.69, 2.2), (0.0, "nan"), (0.0, "nan"), (0.0, "nan")])
    ),
}


def _each(put: Callable[[int, str], str]) -> Callable[[str], str]:
    return lambda text: "".join(put(number, line) + "\n" for number, line in enumerate(text.splitlines()))


def _ranks(text: str) -> str:
    """Four processes print the same, each line when it comes to it."""
    return "".join(f"[rank{rank}]: {line}\n" for line in text.splitlines() for rank in range(4))


def _frame(text: str) -> str:
    """As rich draws a traceback: the message stands below the frame, broken at the terminal's width."""
    head, _, message = text.rstrip("\n").rpartition("\n")
    boxed = "".join(f"│ {line:<74} │\n" for line in head.splitlines())
    return f"╭{'─' * 76}╮\n{boxed}╰{'─' * 76}╯\n" + "\n".join(textwrap.wrap(message, 78)) + "\n"


WRAPPINGS: dict[str, Callable[[str], str]] = {
    "nothing": lambda text: text,
    "colours": _each(lambda _, line: f"\x1b[1;31m{line}\x1b[0m"),
    "torchrun": _each(lambda _, line: f"[rank3]: {line}"),
    "srun": _each(lambda _, line: f"12: {line}"),
    "deepspeed": _each(lambda _, line: f"worker-1: {line}"),
    "ray": _each(lambda _, line: f"\x1b[36m(WorkerDict pid=4093722)\x1b[0m {line}"),
    "ray with a node": _each(lambda _, line: f"(TrainTask pid=12, ip=10.0.0.3) {line}"),
    "mpirun": _each(lambda _, line: f"[1,2]<stderr>:{line}"),
    "ranks that interleave": _ranks,
    "a bar before it": lambda text: (
        "  3%|▎   | 3/100 [00:03<01:37,  1.00it/s]\r  4%|▍   | 4/100 [00:04<01:36,  1.00it/s]\n" + text
    ),
    "the bar's line": lambda text: "  3%|▎   | 3/100 [00:03<01:37,  1.00it/s]\r" + text,
    "a frame": _frame,
    "Windows": lambda text: text.replace("\n", "\r\n"),
    "a viewer": _each(lambda number, line: f"2026-11-23T10:11:{number:02d}.123Z {line}"),
    "a log's own time": _each(lambda number, line: f"[2026-11-23 10:11:{number:02d},123] {line}"),
}
NO_ROWS = {"a frame"}  # which is drawn around tracebacks alone


def _file(name: str, encoding: str = "utf-8") -> Callable[[Path, str], str]:
    def write(folder: Path, text: str) -> str:
        (folder / name).write_bytes(text.encode(encoding))
        return str(folder / name)

    return write


def _folder(folder: Path, text: str) -> str:
    (folder / "run").mkdir()
    _file("run/train.log")(folder, text)
    (folder / "run/config.json").write_text("{}")
    return str(folder / "run")


def _notebook(folder: Path, text: str) -> str:
    """A cell that wrote to its standard output, and then failed."""
    lines = text.splitlines(keepends=True)
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": lines},
        {"output_type": "error", "ename": "X", "evalue": "x", "traceback": []},
    ]
    cell = {
        "cell_type": "code",
        "source": ["trainer.train()"],
        "execution_count": 1,
        "metadata": {},
        "outputs": outputs,
    }
    (folder / "train.ipynb").write_text(
        json.dumps({"cells": [cell], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}, indent=1)
    )
    return str(folder / "train.ipynb")


SOURCES: dict[str, Callable[[Path, str], str]] = {
    "text": _file("train.log"), "Slurm": _file("slurm-123.out"), "rotated": _file("train.log.1"), "UTF-16": _file("train.log", "utf-16"),
    "a mark": _file("train.log", "utf-8-sig"), "a folder": _folder, "a notebook": _notebook,
}  # fmt: skip


def _said(path: str) -> list[tuple[str, str, str | None]]:
    return [(cause.rule, cause.confidence, cause.setting) for cause in stablint.diagnose(path)]


@pytest.mark.parametrize(("wrapping", "source", "message"), sampled(itertools.product(WRAPPINGS, SOURCES, MESSAGES), 4))
def test_the_answer_is_that_of_the_bare_text(tmp_path: Path, message: str, source: str, wrapping: str) -> None:
    if message == "sick numbers" and wrapping in NO_ROWS:
        pytest.skip("numbers are not framed")
    (tmp_path / "bare").mkdir()
    expected = _said(_file("train.log")(tmp_path / "bare", MESSAGES[message]))
    assert expected and expected[0][1] != "possible"
    assert _said(SOURCES[source](tmp_path, WRAPPINGS[wrapping](MESSAGES[message]))) == expected


@pytest.mark.parametrize("message", MESSAGES)
def test_words_around_it_may_be_in_the_console_s_own_encoding(tmp_path: Path, message: str) -> None:
    path = tmp_path / "train.log"
    path.write_bytes("加载模型失败\n".encode("gb18030") + MESSAGES[message].encode() + "训练结束\n".encode("gb18030"))
    assert _said(str(path)) == _said(_file("bare.log")(tmp_path, MESSAGES[message]))


def test_rows_are_the_same_in_a_state_and_in_json_lines(tmp_path: Path) -> None:
    rows = [eval(line, {"nan": float("nan")}) for line in MESSAGES["sick numbers"].splitlines()]  # noqa: S307  our own lines
    history = [{**row, "step": number} for number, row in enumerate(rows, 1)]
    state = tmp_path / "trainer_state.json"
    state.write_text(json.dumps({"log_history": history, "global_step": 5}, indent=2))
    lines = tmp_path / "trainer_log.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in history))
    wandb = tmp_path / "wandb.jsonl"
    wandb.write_text(
        "".join(json.dumps({f"train/{name}": value for name, value in row.items()}) + "\n" for row in rows)
    )
    expected = _said(_file("bare.log")(tmp_path, MESSAGES["sick numbers"]))
    assert [_said(str(path)) for path in (state, lines, wandb)] == [expected] * 3


def test_standard_input_is_a_log(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(MESSAGES["a kernel"].encode())))
    assert main(["diagnose", "-", "--isolated", "--output-format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["causes"][0]["rule"] == "flash-attention-2-old-card"
