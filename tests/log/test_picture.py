"""`diagnose --plot`: a picture that any browser shows, small however long the run was, with the steps of the causes marked."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stablint.cli import main
from stablint.config.spec import FOUND, WRONG
from stablint.log.metrics import Row, row_of
from stablint.log.series import MOST, Series

SVG = "{http://www.w3.org/2000/svg}"


def row(step: int, **values: float) -> Row:
    return row_of(step, "", {"step": float(step), **values})


def drawn(folder: Path, text: str, name: str = "train.log") -> ElementTree.Element:
    (folder / name).write_text(text)
    main(["diagnose", "--isolated", name, "--plot", "run.svg"])
    return ElementTree.fromstring((folder / "run.svg").read_text())


def words(picture: ElementTree.Element) -> list[str]:
    return [found.text or "" for found in picture.iter(f"{SVG}text")]


def test_a_sick_run_with_its_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"loss": 2.0 - n / 50, "grad_norm": 1.0 + n % 3, "learning_rate": 1e-5, "step": n} for n in range(40)]
    rows += [{"loss": 0.0, "grad_norm": float("nan"), "learning_rate": 1e-5, "step": n} for n in range(40, 60)]
    scaler = "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n"
    picture = drawn(tmp_path, "".join(f"{one}\n" for one in rows) + scaler)
    told = words(picture)
    assert {"loss", "gradient norm", "learning rate", "loss scale", "step", "nan-gradients"} <= set(told)
    marks = {line.get("x1") for line in picture.iter(f"{SVG}line") if line.get("stroke") == "#c62f2f"}
    (x,) = (float(mark or "nan") for mark in marks)
    assert 84 + 852 * 38 / 59 < x < 84 + 852 * 42 / 59  # step 40 of 0 to 59
    assert any(found.text == "not a number" for found in picture.iter(f"{SVG}title"))


def test_rows_without_steps_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "row of the log" in words(
        drawn(tmp_path, "{'loss': 2.0, 'grad_norm': 1.0}\n{'loss': 1.0, 'grad_norm': 0.5}\n")
    )


def test_a_name_is_no_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "<b>&.log" in words(drawn(tmp_path, "{'loss': 2.0}\n{'loss': 1.0}\n", "<b>&.log"))


@pytest.mark.parametrize(
    "losses",
    [
        [1.0],
        [1.0, 1.0],
        [0.0, 0.0],
        [float("nan")],
        [1e-9, 1e9],
        [-3.0, 5.0],
        [1e300, 1.0],
        [float("inf"), -1.0],
        [1e308, -1e308],
        [5e-324, 1e308],
        [5e-324, 1e-320],
        [1e-320, float("inf")],
    ],
)
def test_numbers_of_every_size(losses: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    state = json.dumps({"log_history": [{"step": n, "loss": loss} for n, loss in enumerate(losses)]}, indent=1)
    picture = drawn(tmp_path, state, "trainer_state.json")
    places = [float(place.get("cx") or "nan") for place in picture.iter(f"{SVG}circle")]
    assert "loss" in words(picture) and all(0 <= place <= 960 for place in places)


@pytest.mark.parametrize("step", ["9007199254740993", "99999999999999999999", "1e999", "1e308", "-1e308", "5e-324"])
def test_steps_of_every_size(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of large floats one more is the same number, and the distance of two has no room in a float."""
    monkeypatch.chdir(tmp_path)
    for first in (step, "0", "-1e308"):
        rows = [
            f'{{"loss": {loss}, "grad_norm": 1.0, "step": {at}}}\n'
            for loss, at in ((2.0, first), ("NaN", step), (1.0, step))
        ]
        picture = drawn(tmp_path, "".join(rows))
        assert "loss" in words(picture)


def test_a_long_run_is_as_small_as_a_short_one() -> None:
    """The range of what is drawn together is kept: a single spike does not get lost."""
    series = Series()
    for step in range(100_000):
        series.row(row(step, loss=1.0 + (step == 77_777) * 50))
    points = series.curves["loss"].points
    assert len(points) <= MOST and max(point.high for point in points) == 51.0
    assert series.at(50_000) == pytest.approx(50_000, abs=200)


def test_a_log_without_numbers_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.log").write_text("nothing here\n")
    assert main(["diagnose", "--isolated", "train.log", "--plot", "run.svg"]) == WRONG
    assert "no numbers in train.log" in capsys.readouterr().err
    (tmp_path / "train.log").write_text("{'loss': 0.0, 'grad_norm': nan}\n" * 3)
    assert main(["diagnose", "--isolated", "train.log", "--plot", "no/such/folder/run.svg"]) == WRONG
    assert main(["diagnose", "--isolated", "train.log"]) == FOUND
