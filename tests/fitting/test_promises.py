"""The law of every change that is offered, by `fit` and by `advise`: written, it gives the peak that was promised, `check` says nothing new, and no
other setting is another one."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stablint.advising.model import Proposal
from stablint.assemble.asked import Options
from stablint.base import knowledge
from stablint.commands.advise import advise
from stablint.commands.fit import forecast
from stablint.config.options import Wrong, options
from stablint.engine.inspect import Inspection, effective, inspect
from stablint.fitting.answer import answer
from stablint.fitting.remedies import Remedy
from stablint.run.world import Run
from stablint.syntax.edit import apply
from tests.sampling import sampled

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir())
CARDS = ("RTX 4090 x4", "A100-80GB x8", "T4 x1")


def broken(paths: list[str], given: Options) -> Iterator[str]:
    """Each promise that is not kept, in words. Nothing is written: the texts stand in for the files."""
    try:
        before, forecasts = forecast(paths, given)
        _, counsels = advise(paths, given)
    except Wrong:
        return
    for run, forecasted, counsel in zip(before.runs, forecasts, counsels, strict=True):
        for one in (*forecasted.remedies, *(one for one in counsel.proposals if not one.id.startswith("fit-"))):
            yield from (
                f"{run.id} on {run.target}, {one.title}: {why}" for why in _broken(paths, given, before, run, one)
            )


def _broken(paths: list[str], given: Options, before: Inspection, run: Run, one: Remedy | Proposal) -> Iterator[str]:
    if not one.files:
        return
    texts = {file.text.path: file.text._replace(text=apply(file.text.text, file.edits)) for file in one.files}
    after = inspect(paths, given, texts=texts)
    new = {(d.rule, d.text and d.text.name) for d in after.report.diagnostics if d.severity != "info"}
    new -= {(d.rule, d.text and d.text.name) for d in before.report.diagnostics}
    yield from (f"draws {rule}" for rule, _ in new)
    same = next((other for other in after.runs if (other.id, other.target) == (run.id, run.target)), None)
    if same is None:
        yield "the run is gone"
        return
    told = answer(effective(same), run.target)
    promised = one.peak[1] if one.peak is not None else None
    if isinstance(one, Proposal) and one.effect.startswith("evaluation"):
        promised = None  # of an evaluation step
    if promised is not None and (told.estimate is None or told.peak[1] != pytest.approx(promised, rel=0.01)):
        yield f"{told.peak[1] if told.estimate else told.why} instead of {promised}"
    if one.verdict is not None and told.verdict != one.verdict:
        yield f"{told.verdict} instead of {one.verdict}"
    changed = {
        name
        for name in {*run.explicit, *same.explicit}
        if not name.startswith("keys.")  # the spelling of a setting, beside the setting itself
        if (known := run.explicit.get(name)) is None
        or (now := same.explicit.get(name)) is None
        or known.value != now.value
    }
    allowed = {*one.facts, *(part for name in one.facts for part in _within(name, changed))}
    # One variable of a program may stand for several settings.
    allowed |= {
        name for name in changed if name in same.explicit and same.explicit[name].value in [*one.facts.values()]
    }
    yield from (f"{name} is another one" for name in sorted(changed - allowed))


def _within(name: str, changed: set[str]) -> list[str]:
    """What stands in a block that was changed or taken out, and the block around what was."""
    return [other for other in changed if other.startswith(f"{name}.") or name.startswith(f"{other}.")]


@pytest.mark.parametrize(
    ("folder", "gpu"), sampled(itertools.product(EXAMPLES, CARDS), 8, lambda case: f"{case[0].name}-{case[1]}")
)
def test_promises_are_kept_in_the_bundled_projects(folder: Path, gpu: str) -> None:
    assert list(broken([str(folder)], options([gpu]))) == []


ADVICE: dict[str, Any] = knowledge.load("advice-examples")


@pytest.mark.parametrize("name", sampled(ADVICE, 3))
def test_promises_are_kept_in_the_examples_of_advice(name: str, tmp_path: Path) -> None:
    for number, example in enumerate(ADVICE[name]["examples"]):
        folder = tmp_path / str(number)
        folder.mkdir()
        for file, text in example["files"].items():
            (folder / file).write_text(text, encoding="utf-8")
        given = example.get("options", {})
        for gpu in {given.get("gpu", "A100-40GB x1"), CARDS[0]}:
            assert list(broken([str(folder)], options([gpu], given.get("model"), given.get("with", [])))) == []


if __name__ == "__main__":  # python tests/fitting/test_promises.py GPU FILE…: the same on any files
    card, *files = sys.argv[1:]
    lost = [f"{file}: {why}\n" for file in files for why in broken([file], options([card]))]
    sys.stdout.writelines(lost)
    sys.exit(1 if lost else 0)
