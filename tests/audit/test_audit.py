"""`stablint knowledge audit`: what it doubts of a folder of hazards, and what it says of our own."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from stablint.audit import opened
from stablint.audit.archives import Shelf
from stablint.audit.doubt import Doubt
from stablint.audit.messages import of_messages, of_refusals
from stablint.audit.models import of_cards, of_models
from stablint.audit.ranges import of_ranges
from stablint.audit.sayings import HazardText, Saying, hazard_texts, of_data, of_hazards
from stablint.audit.sources import of_sources
from stablint.base.knowledge import SOURCES
from stablint.cli import main
from stablint.run.releases.allowed import Releases

RULE = """\
id: house-seed
code: T901
title: a run of the house without its seed
severity: warning
bites_at: never-visibly
when:
  - training.seed is-set
  - training.seed is-not 1234
fine_when: never here
message: "`{training.seed}`: runs of the house have the seed 1234"
at: training.seed
why: The house compares runs, and compares them by one `seed`.
remedies:
  - title: take the seed of the house
    set: {training.seed: 1234}
    safety: safe
evidence:
  grade: reproduced
  sources: ["SOURCE"]
versions: {}
examples:
  - dialect: trl
    files: {train.yaml: "output_dir: out\\nlearning_rate: 1.0e-5\\nseed: 7\\n"}
    fixed: {train.yaml: "output_dir: out\\nlearning_rate: 1.0e-5\\nseed: 1234\\n"}
    near:
      - {file: train.yaml, replace: ["seed: 7", "seed: 1234"]}
      - {file: train.yaml, replace: ["seed: 7\\n", ""]}
"""
SOURCE = "https://example.com/house-rules"
TRL = """\
class SFTConfig:
    def __post_init__(self):
        if self.seed < 0:
            raise ValueError("seed must not be negative")
"""


@pytest.fixture
def rule(tmp_path: Path) -> Path:
    (tmp_path / "rules").mkdir()
    return tmp_path / "rules" / "seed.yaml"


def wheel(folder: Path, release: str, text: str, library: str = "trl") -> None:
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{library}-{release}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{library}/trainer/sft_config.py", text)


def audit(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[dict[str, Any]]]:
    code = main(["knowledge", "audit", str(folder), "--output-format", "json", *words])
    found = json.loads(capsys.readouterr().out)
    assert found["schema_version"] == 1
    doubts: list[dict[str, Any]] = found["doubts"]
    return code, doubts


def kinds(doubts: list[dict[str, Any]]) -> set[str]:
    return {doubt["kind"] for doubt in doubts}


def test_nothing_is_doubted_of_a_hazard_that_is_pinned_and_has_a_source(
    rule: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule.write_text(RULE.replace("SOURCE", SOURCE))
    assert audit(rule.parent, capsys, "--fail-on", "info") == (0, [])


@pytest.mark.parametrize(
    ("old", "new", "kind", "severity"),
    [
        (SOURCE, "https://github.com/huggingface", "malformed", "error"),
        (SOURCE, "https://github.com/huggingface/trl/blob/main/trl/trainer/sft_config.py#L3", "branch", "warning"),
        (SOURCE, "trl 1.16.0 trainer/sft_config.py", "no-line", "warning"),
        (SOURCE, "trl 1.15.99 trainer/sft_config.py:3", "no-release", "error"),
        (SOURCE, "trl 0.12.2 trainer/sft_config.py:3", "stale", "warning"),
        ("versions: {}", "versions: {trl: '>=0.14,<0.15'}", "ended", "info"),
        ("versions: {}", "versions: {trl: '>=0.7,<0.6'}", "no-release", "error"),
        ("versions: {}", "versions: {unheard-of: '>=1'}", "unlisted", "warning"),
        ("    near:\n", "    also: []\n    unused:\n", "no-look-alike", "warning"),
        ("      - {file: train.yaml, replace: [\"seed: 7\", \"seed: 1234\"]}\n", "", "no-need", "warning"),
    ],
)  # fmt: skip
def test_each_kind_of_doubt(
    rule: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, kind: str, severity: str
) -> None:
    text = RULE.replace("SOURCE", SOURCE)
    assert old in text
    text = text.replace(old, new)
    if kind == "no-look-alike":
        text = text[: text.index("    also: []")]
    rule.write_text(text)
    code, doubts = audit(rule.parent, capsys)
    found = [doubt for doubt in doubts if doubt["kind"] == kind]
    assert [doubt["severity"] for doubt in found] == [severity]
    assert found[0]["subject"] == "house-seed"
    assert found[0]["line"] > 1
    assert code == (1 if severity == "error" else 0)


def test_a_range_in_a_condition_counts_as_one(rule: Path) -> None:
    rule.write_text(RULE.replace("  - training.seed is-set\n", "  - versions.trl < 0.1\n"))
    (doubt,) = of_ranges(list(hazard_texts(rule.parent, rule.parent)))
    assert doubt.kind == "no-release"


def test_a_newer_source_beside_an_old_one_is_enough() -> None:
    old = Saying("a.yaml", 1, "a", "trl 0.12.2 trainer/sft_config.py:3", {})
    assert [doubt.kind for doubt in of_sources([old])] == ["stale"]
    assert not list(of_sources([old, old._replace(source="trl 1.16.0 trainer/sft_config.py:3")]))
    assert not list(of_sources([old._replace(versions={"trl": "<0.14"})]))


# What the releases in a folder say.


def test_a_line_that_moved_is_found_again(rule: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule.write_text(RULE.replace("SOURCE", "trl 1.15.0 trainer/sft_config.py:3"))
    wheel(tmp_path / "wheels", "1.15.0", TRL)
    wheel(tmp_path / "wheels", "1.16.0", "import torch\n\n" + TRL)
    _, doubts = audit(rule.parent, capsys, "--wheels", str(tmp_path / "wheels"))
    assert kinds(doubts) == {"moved"}
    assert "line 5" in doubts[0]["text"]


@pytest.mark.parametrize(
    ("new", "kind"),
    [
        (TRL.replace("self.seed < 0", "self.seed <= 0"), "changed"),
        (TRL.replace("__post_init__", "validate").replace("self.seed < 0", "self.seed <= 0"), "changed"),
        (TRL, None),
    ],
)
def test_a_line_that_is_another_is_told(
    rule: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], new: str, kind: str | None
) -> None:
    rule.write_text(RULE.replace("SOURCE", "trl 1.15.0 trainer/sft_config.py:3"))
    wheel(tmp_path / "wheels", "1.15.0", TRL)
    wheel(tmp_path / "wheels", "1.16.0", new)
    _, doubts = audit(rule.parent, capsys, "--wheels", str(tmp_path / "wheels"))
    assert kinds(doubts) == ({kind} if kind else set())


@pytest.mark.parametrize(
    ("line", "text", "kind"),
    [(99, TRL, "no-place"), (2, TRL.replace("class SFTConfig:", "class SFTConfig:\n"), "no-place")],
)
def test_a_line_that_never_was_is_an_error(
    rule: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], line: int, text: str, kind: str
) -> None:
    rule.write_text(RULE.replace("SOURCE", f"trl 1.16.0 trainer/sft_config.py:{line}"))
    wheel(tmp_path / "wheels", "1.16.0", text)
    code, doubts = audit(rule.parent, capsys, "--wheels", str(tmp_path / "wheels"))
    assert (code, kinds(doubts)) == (1, {kind})


def test_a_line_that_speaks_of_something_else_is_told(
    rule: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule.write_text(RULE.replace("SOURCE", "trl 1.16.0 trainer/sft_config.py:3"))
    wheel(tmp_path / "wheels", "1.16.0", TRL.replace("seed", "rate"))
    _, doubts = audit(rule.parent, capsys, "--wheels", str(tmp_path / "wheels"))
    assert kinds(doubts) == {"beside"}


def test_what_was_read_once_needs_the_newest_archive_only(tmp_path: Path) -> None:
    from stablint.audit.archives import Shelf

    saying = Saying("a.yaml", 1, "a", "trl 1.15.0 trainer/sft_config.py:3", {})
    wheel(tmp_path / "then", "1.15.0", TRL)
    first = opened.Reader(Shelf(tmp_path / "then"), {})
    assert not list(first.doubts([saying]))
    opened.store(tmp_path / opened.RECORD, first.record)

    wheel(tmp_path / "now", "1.16.0", TRL.replace("< 0", "<= 0"))
    later = opened.Reader(Shelf(tmp_path / "now"), opened.load(tmp_path / opened.RECORD))
    assert [doubt.kind for doubt in later.doubts([saying])] == ["changed"]
    assert later.count == opened.Count(named=1, opened=0, newest=1)


def test_a_file_that_went_elsewhere_is_named(tmp_path: Path) -> None:
    from stablint.audit.archives import Shelf

    wheel(tmp_path, "1.15.0", TRL)
    with zipfile.ZipFile(tmp_path / "trl-1.16.0-py3-none-any.whl", "w") as archive:
        archive.writestr("trl/trainer/base_config.py", TRL)
    reader = opened.Reader(Shelf(tmp_path), {})
    (doubt,) = reader.doubts([Saying("a.yaml", 1, "a", "trl 1.15.0 trainer/sft_config.py:3", {})])
    assert doubt.kind == "gone"
    assert "trl/trainer/base_config.py:3" in doubt.text


# Our own knowledge.


def own() -> list[HazardText]:
    root = Path(SOURCES)
    return list(hazard_texts(root / "hazards", root))


def serious(doubts: list[Doubt]) -> list[Doubt]:
    return [doubt for doubt in doubts if doubt.severity == "error"]


def test_no_source_and_no_range_of_ours_is_wrong() -> None:
    sayings = [*of_hazards(own()), *of_data(Path(SOURCES))]
    assert len(sayings) > 1000
    assert not serious(list(of_sources(sayings)))
    assert not serious(list(of_ranges(own())))


def test_sources_of_models_and_cards_are_audited_as_well() -> None:
    files = {saying.file.partition("/")[0] for saying in of_data(Path(SOURCES))}
    assert files == {"models", "gpus", "frameworks"}


def test_a_model_without_a_checkpoint_and_a_card_without_a_source_are_told(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "gpus").mkdir()
    (tmp_path / "models" / "one.yaml").write_text(
        "lines:\n"
        "  - name: Heron\n    type: heron\n    sizes:\n      1b: {parameters: 1}\n      2b: {parameters: 2, checkpoints: [a/b]}\n"
        "  - name: Egret\n    type: egret\n    source: https://example.com/egret\n    sizes: {1b: {parameters: 1}}\n"
    )
    (tmp_path / "models" / "types.yaml").write_text(
        "types:\n  heron: {layers: [A]}\n  egret: {class: EgretForCausalLM}\n"
    )
    (tmp_path / "gpus" / "some.yaml").write_text(
        "generations:\n  - arch: One\n    cards: [{name: A}, {name: B, source: 'https://example.com/b'}]\n"
        "  - arch: Two\n    source: https://example.com/two\n    cards: [{name: C}]\n"
    )
    assert {(doubt.subject, doubt.line) for doubt in of_models(tmp_path)} == {("Heron", 2), ("heron", 2)}
    (card,) = of_cards(tmp_path)
    assert (card.subject, card.line) == ("One", 2)
    assert "A" in card.text and "B" not in card.text


# The command.


def test_only_one_part_is_looked_at(rule: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule.write_text(RULE.replace("SOURCE", "trl 1.15.99 trainer/sft_config.py:3"))
    assert audit(rule.parent, capsys, "--only", "ranges", "--only", "examples") == (0, [])
    assert kinds(audit(rule.parent, capsys, "--only", "sources")[1]) == {"no-release"}


def test_the_text_gives_place_and_kind_and_what_is_not_shown_is_counted(
    rule: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule.write_text(RULE.replace("SOURCE", "trl 0.12.2 trainer/sft_config.py:3"))
    assert main(["knowledge", "audit", str(rule.parent), "--only", "sources", "--fail-on", "warning"]) == 1
    assert "rules/seed.yaml:19: warning[stale] house-seed: " in capsys.readouterr().out
    assert main(["knowledge", "audit", str(rule.parent), "--only", "sources", "--show", "error"]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "1 warning," in said.err


@pytest.mark.parametrize(
    "words",
    [["--rule", "no-such-rule"], ["--wheels", "no-such-folder"], ["--write"]],
    ids=["rule", "wheels", "write"],
)
def test_wrong_use_is_refused(rule: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    rule.write_text(RULE.replace("SOURCE", SOURCE))
    assert main(["knowledge", "audit", str(rule.parent), *words]) == 2
    assert capsys.readouterr().err.startswith("stablint: ")


def test_a_rule_of_our_own_by_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knowledge", "audit", "--rule", "P101", "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["summary"]["hazards"] == 1


RAISED = {
    "text": "seed must not be negative",
    "kind": "raise",
    "library": "trl",
    "path": "trl/trainer/sft_config.py",
    "hazards": ["house-seed"],
}


@pytest.mark.parametrize(
    ("releases", "first", "last", "gone"),
    [
        ({"1.15.0": TRL, "1.16.0": TRL}, "1.15.0", "1.16.0", []),
        ({"1.16.0": TRL.replace("negative", "below 0")}, "1.15.0", "1.16.0", ["1.16.0"]),
        ({"1.16.0": ""}, "1.16.0", "1.16.0", ["1.16.0"]),
        ({"1.15.0": TRL, "1.15.2": "", "1.16.0": TRL}, "1.15.0", "1.16.0", []),
        ({"999.0": TRL.replace("negative", "below 0")}, "1.15.0", "NEWEST", ["999.0"]),  # newer than all that is known
        ({"999.0": TRL}, "1.15.0", "NEWEST", []),
        ({"999.0": ""}, "0.20.0", "0.21.0", []),  # it had ended long before
    ],
)
def test_a_message_that_a_release_says_no_more(
    releases: dict[str, str], first: str, last: str, gone: list[str], tmp_path: Path
) -> None:
    for release, text in releases.items():
        wheel(tmp_path / "wheels", release, text)
    known = Releases.known()
    newest = known.newest("trl")
    assert newest is not None
    row = RAISED | {"first": first, "last": known.text(newest, "trl") if last == "NEWEST" else last}
    (tmp_path / "messages").mkdir()
    (tmp_path / "messages" / "raised.json").write_text(json.dumps({"messages": [row]}))
    doubts = list(of_messages(tmp_path, Shelf(tmp_path / "wheels"), {"house-seed"}))
    assert [(one.kind, one.severity, one.subject, one.line) for one in doubts] == [
        ("unsaid", "error", "house-seed", 2)
    ] * len(gone)
    assert all(release in one.text for release, one in zip(gone, doubts, strict=True))
    assert list(of_messages(tmp_path, Shelf(tmp_path / "wheels"), {"another"})) == []


def test_a_setting_that_a_release_refuses_no_more(tmp_path: Path) -> None:
    wheel(tmp_path / "wheels", "0.20.0", "")
    row = {key: RAISED[key] for key in ("text", "library", "path")} | {
        "first": "0.20.0",
        "last": "0.20.0",
        "settings": ["beta"],
    }
    assert list(of_refusals(tmp_path, Shelf(tmp_path / "wheels"))) == []  # nothing is stored
    (tmp_path / "messages").mkdir()
    (tmp_path / "messages" / "refused.json").write_text(json.dumps({"messages": [row]}))
    [doubt] = of_refusals(tmp_path, Shelf(tmp_path / "wheels"))
    assert (doubt.kind, doubt.subject, doubt.line) == ("unsaid", "beta", 2)
