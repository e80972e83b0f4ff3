"""Every advice file is its own test table: its examples draw it and are written as they say, healthy runs and look-alikes do not, and what is
proposed holds its promise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest

from stablint.advising.model import GAINS, MOST, Proposal, load
from stablint.base import knowledge
from stablint.cli import main
from stablint.commands.advise import advise
from stablint.engine.examples import example_options, legal, write
from stablint.engine.inspect import inspect
from stablint.hazard.verdict import check
from stablint.syntax.edit import apply

EXAMPLES: dict[str, dict[str, list[dict[str, Any]]]] = knowledge.load("advice-examples")
ADVICE = {one.hazard.id: one for one in load()}
SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "advice.schema.json").read_text(encoding="utf-8"))


class Case(NamedTuple):
    id: str
    example: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.id}-{EXAMPLES[self.id]['examples'].index(self.example)}"


CASES = [Case(name, example) for name, several in EXAMPLES.items() for example in several["examples"]]
each_case = pytest.mark.parametrize("case", CASES, ids=str)


def proposals(files: dict[str, str], folder: Path, given: dict[str, Any] | None) -> list[Proposal]:
    """What is advised on the only run of these files, on one card at most."""
    write(files, str(folder))
    _, counsels = advise([str(folder)], example_options(given))
    (one,) = counsels
    return list(one.proposals)


@each_case
def test_the_example_draws_it_and_is_written_as_it_says(case: Case, tmp_path: Path) -> None:
    found = proposals(case.example["files"], tmp_path, case.example.get("options"))
    (one,) = [one for one in found if one.id == case.id]
    if case.example.get("fixed"):
        after = {Path(file.text.path).name: apply(file.text.text, file.edits) for file in one.files}
        assert case.example["files"] | after == case.example["files"] | case.example["fixed"]


@each_case
def test_look_alikes_do_not_draw_it(case: Case, tmp_path: Path) -> None:
    for number, (files, given) in enumerate(legal(case.example)):
        assert case.id not in {one.id for one in proposals(files, tmp_path / str(number), given)}, number


@pytest.mark.parametrize("name", EXAMPLES)
def test_healthy_runs_do_not_draw_it(name: str, tmp_path: Path) -> None:
    for number, run in enumerate(EXAMPLES[name]["healthy"]):
        found = proposals(run["files"], tmp_path / str(number), run.get("options"))
        assert name not in {one.id for one in found}, run["because"]


@each_case
def test_followed_it_is_not_said_again_and_the_promise_is_kept(case: Case, tmp_path: Path) -> None:
    """Written, the file gives the peak that was named, draws no warning that was not there, and the advice is gone."""
    words = [word for gpu in [case.example.get("options", {}).get("gpu")] if gpu for word in ("--gpu", gpu)]
    words += [word for release in case.example.get("options", {}).get("with", []) for word in ("--with", release)]
    words += [
        word
        for name, value in case.example.get("options", {}).get("set", {}).items()
        for word in ("--set", f"{name}={value}")
    ]
    found = proposals(case.example["files"], tmp_path, case.example.get("options"))
    (one,) = [one for one in found if one.id == case.id]
    for file in one.files:
        Path(file.text.path).write_text(apply(file.text.text, file.edits), encoding="utf-8")
    again = proposals({}, tmp_path, case.example.get("options"))
    same = [other for other in again if other.id == case.id and other.facts == one.facts]
    assert not one.files or not same
    assert (
        main(
            [
                "check",
                str(tmp_path),
                *words,
                "--isolated",
                "--quiet",
                "--fail-on",
                "warning",
                "--output-format",
                "concise",
            ]
        )
        == 0
    )


@each_case
def test_every_proposal_says_all_that_it_must(case: Case, tmp_path: Path) -> None:
    found = proposals(case.example["files"], tmp_path, case.example.get("options"))
    assert len(found) <= MOST
    assert [GAINS.index(one.gain) for one in found] == sorted(GAINS.index(one.gain) for one in found)
    for one in found:
        assert one.title and one.why and one.effect and one.grade and one.sources and one.not_when and one.facts
        assert one.files or one.by_hand
        assert "{" not in one.title + one.why + one.effect


@pytest.mark.parametrize("name", ADVICE)
def test_every_condition_is_pinned_by_a_look_alike(name: str, tmp_path: Path) -> None:
    """Drop a condition: some look-alike must meet all the others, else nothing pins that condition."""
    advice = ADVICE[name]
    texts = [text for example in EXAMPLES[name]["examples"] for text in legal(example)]
    texts += [(one["files"], one.get("options")) for one in EXAMPLES[name]["healthy"]]
    runs = []
    for number, (files, given) in enumerate(texts):
        write(files, str(tmp_path / str(number)))
        runs += inspect([str(tmp_path / str(number))], example_options(given)).runs
    for number, asked in enumerate(advice.hazard.when):
        rest = [other for place, other in enumerate(advice.hazard.when) if place != number]
        mutant = advice.hazard._replace(when=rest, reads=[], keys=[])
        assert asked in COMMON or any(check(run, (mutant,))[0] for run in runs), asked


COMMON = (
    ["is", "derived.trains", 1, True],
    ["is", "derived.hf_trainer", 1, True],
    ["is", "derived.trl_trainer", 1, True],
)  # below, for all at once


@each_case
def test_nothing_is_advised_to_a_run_that_does_not_train(case: Case, tmp_path: Path) -> None:
    given = case.example.get("options") or {}
    sets = {**(given.get("set") or {}), "derived.trains": False}
    found = proposals(case.example["files"], tmp_path, {**given, "set": sets})
    assert case.id not in {one.id for one in found}


def test_nothing_to_improve_is_an_answer(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "train.yaml"
    path.write_text(
        "model_name_or_path: Qwen/Qwen2.5-7B\ndataset_name: org/data\nlearning_rate: 1.0e-5\nmax_length: 1024\nbf16: true\n",
        encoding="utf-8",
    )
    assert main(["advise", str(path)]) == 0
    assert "nothing to improve that we can prove" in capsys.readouterr().out


@each_case
def test_the_json_is_by_contract(case: Case, tmp_path: Path, capsys: Any) -> None:
    write(case.example["files"], str(tmp_path))
    given = case.example.get("options") or {}
    words = ["--gpu", given["gpu"]] if "gpu" in given else []
    words += [word for release in given.get("with", []) for word in ("--with", release)]
    words += [word for name, value in (given.get("set") or {}).items() for word in ("--set", f"{name}={value}")]
    words += ["--model", given["model"]] if "model" in given else []
    assert main(["advise", str(tmp_path), *words, "--isolated", "--output-format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    assert case.id in {one["id"] for run in document["runs"] for one in run["advice"]}


def test_the_page_shows_what_is_printed(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "advise.md").read_text(encoding="utf-8")
    write({"train.yaml": page.partition("```yaml\n")[2].partition("```")[0]}, str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main(["advise", "train.yaml", "--gpu", "A100-40GB", "--with", "trl==0.24.0", "--isolated"]) == 0
    assert capsys.readouterr().out == page.partition("prints\n\n```\n")[2].partition("```")[0]


def test_apply_writes_the_one_of_that_number(tmp_path: Path, capsys: Any) -> None:
    example = EXAMPLES["fused-adamw"]["examples"][0]
    write(example["files"], str(tmp_path))
    words = ["advise", str(tmp_path / "train.yaml"), "--gpu", example["options"]["gpu"], "--isolated"]
    assert main([*words, "--output-format", "json"]) == 0
    told_ones = json.loads(capsys.readouterr().out)["runs"][0]["advice"]
    number = next(one["number"] for one in told_ones if one["id"] == "fused-adamw")
    assert main([*words, "--apply", "9"]) == 2
    assert main([*words, "--gpu", "B200", "--apply", str(number)]) == 2
    assert (tmp_path / "train.yaml").read_text(encoding="utf-8") == example["files"]["train.yaml"]
    assert main([*words, "--apply", str(number)]) == 0
    assert (tmp_path / "train.yaml").read_text(encoding="utf-8") == example["fixed"]["train.yaml"]


def test_what_check_says_is_not_said_again(tmp_path: Path) -> None:
    """A run whose attention `check` wants changed gets no advice about it."""
    text = "model_name_or_path: Qwen/Qwen2.5-7B\nlearning_rate: 1.0e-5\nmax_length: 512\nattn_implementation: eager\nfp16: true\nbf16: true\n"
    found = proposals({"train.yaml": text}, tmp_path, {"gpu": "A100-80GB"})
    assert all({"training.fp16", "training.bf16"}.isdisjoint(one.facts) for one in found)
