"""`fit --plot`: a picture that any browser shows, in which columns are as high as what they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from stablint.cli import main
from stablint.fitting.answer import BECAUSE, answer
from stablint.fitting.picture import _COLOURS, draw
from stablint.memory.predict import MOMENTS
from tests.fitting.test_fit import LLAMAFACTORY, LORA, OLD, TRL
from tests.runs import world, written

SVG = "{http://www.w3.org/2000/svg}"
FILES = {
    "lora": LLAMAFACTORY,
    "full": TRL.format(model="Qwen/Qwen2.5-1.5B", batch=1, length=512, more="packing: true\n"),
    "small": TRL.format(model="Qwen/Qwen2.5-0.5B", batch=1, length=64, more=LORA),
}


def picture(folder: Path, text: str, gpu: str) -> tuple[Any, ElementTree.Element]:
    told = answer(world(folder, {"train.yaml": text}, gpus=[gpu], releases=[OLD]), gpu)
    drawn = draw([(("train.yaml",), told)])
    assert drawn is not None
    return told, ElementTree.fromstring(drawn)


@pytest.mark.parametrize("name", FILES)
def test_columns_are_as_high_as_what_they_stand_for(name: str, tmp_path: Path) -> None:
    """One scale for all: each component's height by its size is the same everywhere, and the column of the peak is the highest."""
    told, drawn = picture(tmp_path, FILES[name], "A100-80GB x1")
    bars = [rect for rect in drawn.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    columns: dict[str, list[ElementTree.Element]] = {}
    for rect in bars:
        columns.setdefault(rect.attrib["x"], []).append(rect)
    assert len(columns) == len(MOMENTS) - 2  # no evaluation, and nothing that answers
    heights = [sum(float(rect.attrib["height"]) for rect in column) for column in columns.values()]
    sizes = list(told.estimate.moments.values())
    scale = max(heights) / max(sizes)
    for height, size in zip(heights, sizes, strict=True):
        assert height == pytest.approx(size * scale, abs=1.0)
    names = {str(rect.findtext(f"{SVG}title")).split()[0] for rect in bars}
    assert set(told.estimate.components) <= names <= set(BECAUSE)


def test_every_component_has_a_colour_of_its_own() -> None:
    assert set(_COLOURS) == set(BECAUSE) and len(set(_COLOURS.values())) == len(_COLOURS)


def test_words_say_verdict_moment_and_room(tmp_path: Path) -> None:
    told, drawn = picture(tmp_path, FILES["lora"], "RTX 4090 x4")
    words = " ".join(text.text or "" for text in drawn.iter(f"{SVG}text"))
    for word in ("train.yaml on RTX 4090 x4", told.estimate.moment, "tight", "usable 23.7", "logits", "GiB"):
        assert word in words


def test_the_command_writes_it_and_names_what_it_cannot_draw(tmp_path: Path, capsys: Any) -> None:
    path = Path(written(tmp_path, {"train.yaml": LLAMAFACTORY})) / "train.yaml"
    out = tmp_path / "fit.svg"
    assert main(["fit", str(path), "--gpu", "RTX 4090 x4", "--gpu", "B200", "--plot", str(out)]) == 0
    drawn = ElementTree.parse(out).getroot()
    assert sum("usable" in (text.text or "") for text in drawn.iter(f"{SVG}text")) == 2
    path.write_text(LLAMAFACTORY.replace("Qwen/Qwen2.5-7B-Instruct", "somebody/<unheard-of>"), encoding="utf-8")
    assert main(["fit", str(path), "--gpu", "B200", "--plot", str(out)]) == 2
    assert "nothing is known" in capsys.readouterr().err
    assert main(["fit", str(path), "--gpu", "B200", "--plot", str(tmp_path / "no" / "fit.svg")]) == 2


def test_names_from_a_repository_stay_names(tmp_path: Path) -> None:
    told = answer(world(tmp_path, {"train.yaml": LLAMAFACTORY}, gpus=["B200"]), "B200")
    drawn = draw([(('<script>alert("1")</script>.yaml',), told)])
    assert drawn is not None and "<script>" not in drawn
    ElementTree.fromstring(drawn)
