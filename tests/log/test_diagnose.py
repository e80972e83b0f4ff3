"""`stablint diagnose`: cases as data, and what holds of every log."""

from __future__ import annotations

import json
import math
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import stablint
from stablint.cli import main
from stablint.compiling.reading import LOADER
from stablint.config.spec import CLEAN, FOUND, WRONG
from stablint.fix import strays
from stablint.schema.diagnosis import DiagnosisDocument
from tests.sampling import sampled

CASES: list[dict[str, Any]] = yaml.load((Path(__file__).parent / "cases.yaml").read_text(encoding="utf-8"), LOADER)


def answer(folder: Path, case: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> tuple[int, list[dict[str, Any]]]:
    for name, text in {**case.get("files", {}), "train.log": case["log"]}.items():
        (folder / name).write_text(text, encoding="utf-8")
    words = [
        "diagnose",
        "--isolated",
        "--output-format",
        "json",
        *case.get("options", ()),
        "train.log",
        *case.get("files", ()),
    ]
    code = main(words)
    data = json.loads(capsys.readouterr().out)
    assert data["schema_version"] == 1
    return code, data["causes"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_cause_is_named_at_its_line(
    case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, causes = answer(tmp_path, case, capsys)
    expected = case["expect"]
    sure = [cause for cause in causes if cause["confidence"] != "possible"]
    assert code == (FOUND if causes else CLEAN)
    if "rule" not in expected:
        assert not sure, sure
        if "possible" in expected:
            assert [cause["rule"] for cause in causes] == [expected["possible"]]
        return
    assert 1 <= len(sure) <= 3
    first = causes[0]
    said = {key: first[key] for key in ("rule", "confidence", "setting", "file", "line") if key in expected}
    assert {**said, "at": first["matched"]["line"]} == {key: expected[key] for key in (*said, "at")}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_log_is_read_in_every_encoding(
    encoding: str, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = f"开始训练{end}RuntimeError: FlashAttention only supports Ampere GPUs or newer.{end}"
    (tmp_path / "train.log").write_bytes(text.encode(encoding))
    main(["diagnose", "--isolated", "--output-format", "json", "train.log"])
    (cause,) = json.loads(capsys.readouterr().out)["causes"]
    assert (cause["rule"], cause["matched"]["line"]) == ("flash-attention-2-old-card", 2)


def test_the_state_of_a_trainer_a_notebook_and_a_folder_are_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"step": 10, "loss": 2.0, "grad_norm": 1.0},
        *({"step": step, "loss": 0.0, "grad_norm": float("nan")} for step in (20, 30)),
    ]
    run = tmp_path / "out" / "checkpoint-30"
    run.mkdir(parents=True)
    state = json.dumps({"best_metric": None, "log_history": rows}, indent=2)
    (run / "trainer_state.json").write_text(state)
    output = {
        "output_type": "stream",
        "text": ["some text\n", "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n"],
    }
    notebook = json.dumps({"cells": [{"cell_type": "code", "source": [], "outputs": [output]}]}, indent=1)
    (tmp_path / "a.ipynb").write_text(
        notebook.replace('"stream"', '"error"', 1).replace('"error"', '"output_type": "error"', 0)
    )
    for path, rule, line in (
        (
            "out/checkpoint-30/trainer_state.json",
            "symptom:nan-gradients",
            state.split("\n").index('      "step": 20,') + 1,
        ),
        ("out", "symptom:nan-gradients", state.split("\n").index('      "step": 20,') + 1),
        (
            "a.ipynb",
            "flash-attention-2-old-card",
            next(n for n, text in enumerate(notebook.split("\n"), 1) if "Flash" in text),
        ),
    ):
        if path == "out":
            (tmp_path / "out" / "trainer_state.json").write_text(state)
        assert main(["diagnose", "--isolated", "--output-format", "json", path]) == FOUND, path
        (cause,) = json.loads(capsys.readouterr().out)["causes"]
        assert (cause["rule"], cause["matched"]["line"]) == (rule, line)


def test_nothing_known_is_said_with_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.log").write_text("Traceback (most recent call last):\nmine.OwnError: the moon is full\n")
    assert main(["diagnose", "--isolated", "train.log"]) == CLEAN
    said = capsys.readouterr().out
    assert "nothing known matches in 2 lines" in said
    assert "OwnError: the moon is full (line 2)" in said


def test_wrong_use_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text("learning_rate: 1e-5\noutput_dir: out\n")
    (tmp_path / "empty").mkdir()
    for words, said in (
        (["gone.log"], "`gone.log` does not exist"),
        (["train.yaml"], "no log is named"),
        (["empty"], "no log is named"),
    ):
        assert main(["diagnose", "--isolated", *words]) == WRONG
        assert said in capsys.readouterr().err


def test_secrets_of_a_log_are_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    token = "hf_" + "aBcD3" * 7
    (tmp_path / "train.log").write_text(
        f"ValueError: remaining_argv: ['--hub_token', '{token}']\nmine.OwnError: password=hunter22secret {token}\n"
    )
    for form in ("full", "json", "markdown"):
        main(["diagnose", "--isolated", "--output-format", form, "train.log"])
        said = capsys.readouterr()
        assert token not in said.out + said.err
        assert "hunter22secret" not in said.out + said.err


@pytest.mark.parametrize("form", ["full", "markdown", "json"])
@pytest.mark.parametrize("before", [100, 120, 130, 140])
def test_a_secret_at_the_end_of_what_is_shown_of_a_line_is_not_shown_in_half(
    form: str, before: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A token that is cut has lost the shape by which it is known."""
    secret = "hf_" + "aBcDeFgHiJ" * 3 + "kLmN"
    log = f"RuntimeError: {'x' * before} {secret} https://user:{secret[3:]}@host/path\n"
    (tmp_path / "train.log").write_text("Traceback (most recent call last):\n" + log, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    main(["diagnose", "--isolated", "--output-format", form, "train.log"])
    said = capsys.readouterr()
    assert "RuntimeError" in said.out or form == "json"
    assert not any(secret[n : n + 6] in said.out + said.err for n in range(3, len(secret) - 6))


NO_LOG_WORDS = (
    "Error:", "must", "not", "supported", "│", "\r", "{'loss':", "nan,", "'grad_norm':", "[rank1]:", "Warning", "validation errors for", "{}",
    "\x1b[31m", "\n",
)  # fmt: skip
NO_LOGS: dict[str, Callable[[random.Random], bytes]] = {
    **{f"bytes at random {n}": lambda chance: bytes(chance.randrange(256) for _ in range(20_000)) for n in range(3)},
    **{
        f"words of messages {n}": lambda chance: " ".join(chance.choices(NO_LOG_WORDS, k=8_000)).encode()
        for n in range(6)
    },
    "one long line": lambda chance: b"Error " * 200_000,
    "a bar without an end": lambda chance: b"\rError 1%" * 100_000,
    "half of UTF-16": lambda chance: b"\xff\xfe" + b"E" * 1001,
    "nothing": lambda chance: b"",
    "a state without rows": lambda chance: b'{"log_history": 3}',
    "brackets": lambda chance: b"[" * 5000,
}


@pytest.mark.parametrize("kind", sampled(NO_LOGS, 3))
@pytest.mark.parametrize("name", ["a.log", "trainer_state.json"])
def test_what_is_no_log_at_all_ends_well(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(NO_LOGS[kind](random.Random(kind)))
    assert main(["diagnose", "--isolated", name]) in (CLEAN, FOUND)
    assert "internal" not in capsys.readouterr().err


def test_memory_does_not_grow_with_the_log() -> None:
    """Blocks are read one after the other, and none is kept."""
    from stablint.log.source import BLOCK, blocks

    with tempfile.TemporaryFile() as file:
        file.write((b"x" * 99 + b"\n") * 100_000)
        file.seek(0)
        sizes = [len(block.data) for block in blocks(file, "train.log")]
    assert sum(sizes) == 10_000_000
    assert max(sizes) <= 2 * BLOCK


def test_a_cause_in_a_notebook_stands_at_the_line_of_its_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = [
        "from transformers import TrainingArguments\n",
        "args = TrainingArguments('out',\n",
        "    evaluation_strategy='epoch')\n",
    ]
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": source}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    (tmp_path / "train.log").write_text(
        "TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'\n"
    )
    words = ["--with", "transformers==4.57.6", "--output-format", "json", "train.log", "a.ipynb"]
    assert main(["diagnose", "--isolated", *words]) == FOUND
    cause = json.loads(capsys.readouterr().out)["causes"][0]
    assert (cause["setting"], cause["file"], cause["line"]) == ("evaluation_strategy", "a.ipynb", 3)


@pytest.mark.parametrize("indent", [None, 1], ids=["in one line", "as editors write it"])
def test_a_notebook_alone_is_the_log_of_its_own_program(
    indent: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = [
        "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n",
        "model = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2-7B', attn_implementation='eager')\n",
        "trainer = Trainer(model, TrainingArguments('out', fp16=True))\n",
        "trainer.train()\n",
    ]
    printed = ["{'loss': 1.71, 'grad_norm': 2.31}\n", *["{'loss': 0.0, 'grad_norm': nan}\n"] * 2]
    outputs = [{"output_type": "stream", "name": "stdout", "text": printed}]
    cell = {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": outputs, "source": source}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook, indent=indent))
    assert main(["diagnose", "--isolated", "--gpu", "A100-80GB", "--output-format", "json", "a.ipynb"]) == FOUND
    cause = json.loads(capsys.readouterr().out)["causes"][0]
    assert (cause["rule"], cause["log"], cause["file"]) == ("fp16-qwen2-overflow", "a.ipynb", "a.ipynb")


def test_rows_between_those_with_rewards_are_a_policys() -> None:
    """Where each batch is used twice, every second row has no reward; a group without variance gives a loss and a norm of 0."""
    from stablint.log.metrics import row_of
    from stablint.log.sickness import Watch

    zero = {"loss": 0.0, "grad_norm": 0.0, "entropy": 0.2}
    policy, other = Watch(), Watch()
    for number in range(8):
        policy.row(row_of(number, "", {**zero, "reward": 0.1, "reward_std": 0.0} if number % 2 == 0 else zero))
        other.row(row_of(number, "", zero))
    assert policy.found() == []
    assert [one.symptom for one in other.found()] == ["zero-loss"]


def test_losses_of_single_examples_may_lie_far_apart() -> None:
    """A log-normal loss of each row: three in a row beyond twice the median come every two thousand rows, and are no divergence."""
    from stablint.log.metrics import row_of
    from stablint.log.sickness import Watch

    dice = random.Random(16)
    watch = Watch()
    for number in range(60_000):
        watch.row(row_of(number, "", {"loss": math.exp(dice.gauss(0, 0.5)), "grad_norm": 1.0}))
    assert watch.found() == []
    for number in range(3):
        watch.row(row_of(60_000 + number, "", {"loss": 10.0, "grad_norm": 1.0}))
    assert [one.symptom for one in watch.found()] == ["divergence"]


def test_a_log_that_stays_sick_is_read_in_one_pass() -> None:
    """What is kept of sick rows does not grow with them."""
    from stablint.log.metrics import row_of
    from stablint.log.sickness import Watch

    watch = Watch()
    for number in range(1, 200_001):
        watch.row(row_of(number, "", {"loss": 1.0 if number < 10 else 50.0, "grad_norm": 1.0}))
        watch.scale(number, "Attempted loss scale: 1, reducing to 1")
    found = {sick.symptom: sick for sick in watch.found()}
    assert found["divergence"].times == 200_000 - 9
    assert found["loss-scale-collapse"].times == 200_000


OVERFLOWS = "".join(
    f"[rank{rank}]: {{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05}}\n" for rank in (0, 1) for _ in range(2)
)
TRAIN = """\
model_name_or_path: Qwen/Qwen2-7B  # the small one
stage: sft
do_train: true
finetuning_type: full
dataset: mine
template: qwen
output_dir: out
learning_rate: 1.0e-5
{}
flash_attn: disabled
"""


def diagnosed(folder: Path, *words: str, log: str = OVERFLOWS, setting: str = "fp16: true") -> int:
    (folder / "train.log").write_text(log)
    if not (folder / "train.yaml").exists():
        (folder / "train.yaml").write_text(TRAIN.format(setting))
    return main(["diagnose", "--isolated", "train.log", "train.yaml", *words])


def test_fix_writes_the_cause_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the rules of check: an unsafe repair wants its option, and the other faults of the file stay as they are."""
    monkeypatch.chdir(tmp_path)
    other = "fp16: true\nsave_steps: 500\neval_steps: 200\nload_best_model_at_end: true\neval_strategy: steps\nsave_strategy: steps"
    assert diagnosed(tmp_path, "--fix", setting=other) == FOUND
    assert (tmp_path / "train.yaml").read_text() == TRAIN.format(other)
    assert "needs --unsafe-fixes" in capsys.readouterr().err
    assert diagnosed(tmp_path, "--diff", "--unsafe-fixes") == FOUND
    assert "-fp16: true\n+bf16: true\n" in capsys.readouterr().out
    assert (tmp_path / "train.yaml").read_text() == TRAIN.format(other)
    assert diagnosed(tmp_path, "--fix", "--gpu", "A100") == CLEAN  # with the card it is safe
    assert (tmp_path / "train.yaml").read_text() == TRAIN.format(other.replace("fp16", "bf16"))
    assert "repaired: 1 of 1" in capsys.readouterr().err


def test_what_a_killed_repair_left_is_undone_before_the_files_are_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(TRAIN.format("bf16: true"))

    def undone(folders: object, top: str) -> list[tuple[str, str]]:
        (tmp_path / "train.yaml").write_text(TRAIN.format("fp16: true"))
        return []

    monkeypatch.setattr(strays, "recover", undone)
    assert diagnosed(tmp_path, "--fix", "--gpu", "A100") == CLEAN
    assert (tmp_path / "train.yaml").read_text() == TRAIN.format("bf16: true")


def test_what_is_only_possible_is_not_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    log = "[E321] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE)\n"
    assert diagnosed(tmp_path, "--fix", "--unsafe-fixes", log=log) == CLEAN
    assert (tmp_path / "train.yaml").read_text() == TRAIN.format("fp16: true")


def test_ranks_that_print_a_message_are_one_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    line = "[rank{}]: RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n"
    (tmp_path / "train.log").write_text("".join(line.format(rank) for rank in (0, 1, 2, 5)))
    assert main(["diagnose", "--isolated", "train.log"]) == FOUND
    assert "ranks 0-2, 5" in capsys.readouterr().out
    main(["diagnose", "--isolated", "train.log", "--output-format", "json"])
    (cause,) = json.loads(capsys.readouterr().out)["causes"]
    assert cause["ranks"] == [0, 1, 2, 5] and cause["count"] == 4


def test_the_library_gives_the_same_causes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.log").write_text(OVERFLOWS)
    (tmp_path / "train.yaml").write_text(TRAIN.format("fp16: true"))
    (cause,) = stablint.diagnose("train.log", Path("train.yaml"), isolated=True)
    assert isinstance(cause, stablint.Cause)
    assert (cause.rule, cause.confidence, cause.file, cause.line) == ("fp16-qwen2-overflow", "likely", "train.yaml", 9)
    with pytest.raises(FileNotFoundError):
        stablint.diagnose("nowhere.log")
    with pytest.raises(ValueError, match="no log is named"):
        stablint.diagnose("train.yaml")


@pytest.mark.parametrize("case", CASES[::3], ids=lambda case: case["name"])
def test_the_json_is_as_its_schema_says(
    case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    _, causes = answer(tmp_path, case, capsys)
    DiagnosisDocument.model_validate_json(json.dumps({"schema_version": 1, "causes": causes}))


def test_markdown_hides_what_an_unknown_exception_says_of_a_secret(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    token = "hf_" + "kQzXvTqWpLmNbRcYsDfGhJuIeOaPzXcVbN"
    (tmp_path / "a.log").write_text(f"ValueError: nothing is known of this, token {token}\n")
    assert main(["diagnose", "--isolated", "--output-format", "markdown", "a.log"]) == CLEAN
    said = capsys.readouterr().out
    assert token[3:] not in said and "the first exception" in said


def test_a_folder_of_checkpoints_alone_is_a_run(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"step": 10, "loss": 2.0, "grad_norm": 1.0}]
    rows += [{"step": step, "loss": 0.0, "grad_norm": float("nan")} for step in (20, 30)]
    for name, history in (("checkpoint-10", rows[:1]), ("checkpoint-30", rows)):
        (tmp_path / "out" / name).mkdir(parents=True)
        (tmp_path / "out" / name / "trainer_state.json").write_text(json.dumps({"log_history": history}))
    assert main(["diagnose", "--isolated", "--output-format", "json", "out"]) == FOUND
    (cause,) = json.loads(capsys.readouterr().out)["causes"]
    assert cause["rule"] == "symptom:nan-gradients" and "checkpoint-30" in cause["log"]


def test_bars_before_a_line_are_not_shown_of_it(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    bars = "".join(f"\r {n}%|██▏       | {n}/100 [00:01<00:10, 1.5s/it]" for n in (8, 9, 10))
    (tmp_path / "a.log").write_text(bars + "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05}\n")
    for form in ("full", "markdown"):
        assert main(["diagnose", "--isolated", "--output-format", form, "a.log"]) == FOUND
        said = capsys.readouterr().out
        assert "'grad_norm': nan" in said and "it/s" not in said and "%|" not in said


def test_the_markdown_report_is_in_the_language_spoken(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.log").write_text("\nRuntimeError: FlashAttention only supports Ampere GPUs or newer.\n")
    assert main(["diagnose", "--isolated", "--lang", "zh", "--output-format", "markdown", "a.log"]) == FOUND
    said = capsys.readouterr().out
    assert "第 2 行" in said and "修复:" in said and "fix:" not in said and "line 2" not in said


def test_how_sure_it_is_is_said_in_the_language_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.log").write_text(
        "ValueError: tokenizer.chat_template is not set and no template\n", encoding="utf-8"
    )
    main(["diagnose", "--isolated", "--lang", "zh", "train.log"])
    assert "很可能" in capsys.readouterr().out


def test_an_exception_that_says_nothing_is_told_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.log").write_text("    assert batch % cards == 0\nAssertionError\n", encoding="utf-8")
    main(["diagnose", "--isolated", "train.log"])
    assert "the first exception: AssertionError (line 2)" in capsys.readouterr().out
