"""What is stated of one library dates the others."""

from __future__ import annotations

import pytest

from stablint import check
from stablint.run.releases.allowed import Releases, known_keys, meant_keys
from stablint.run.releases.dating import WINDOW, dated, day
from stablint.run.releases.pep440 import release_key

KNOWN = Releases.known()


def test_every_release_that_was_read_has_a_day() -> None:
    for library in ("transformers", "trl", "peft", "accelerate", "deepspeed"):
        days = [day(library, key) for key in known_keys(library)]
        assert all(days) and days[0] < days[-1] == max(days)


@pytest.mark.parametrize(
    ("stated", "library", "out", "inside"),
    [
        # each was stated alone; releases of the other library that it never met, and one that it did
        (("trl", "==0.7.11"), "transformers", ["4.57.6", "4.46.3", "4.31.0"], "4.38.2"),
        (("trl", "==0.15.2"), "transformers", ["5.0.0", "4.37.2"], "4.50.3"),
        (("transformers", "==4.37.2"), "trl", ["1.16.0", "0.16.1"], "0.7.11"),
        (("transformers", ">=4.46,<5"), "trl", ["0.8.6", "1.16.0"], "0.15.2"),
        (("transformers", ">=4.46"), "trl", ["0.8.6"], "1.16.0"),  # from then until now
        (("transformers", "==4.52.4"), "trl", ["0.20.0", "0.22.2"], "0.19.1"),  # later ones ask for 4.53.2 and more
        (("torch", "==2.1.2"), "transformers", ["4.31.0"], "5.23.0"),  # held back for a driver: others go on
    ],
)
def test_releases_that_did_not_exist_together_are_not_assumed(stated, library, out, inside) -> None:
    releases = dated(KNOWN.restrict(*stated))
    left = [releases.text(key, library) for key in releases.allowed(library)]
    assert inside in left
    assert not set(out) & set(left)
    assert releases.presumed(library) and not releases.stated(library)
    assert releases.allowed(stated[0]) == KNOWN.restrict(*stated).allowed(stated[0])


def test_the_latest_of_several_stated_releases_counts() -> None:
    both = dated(KNOWN.restrict("peft", "==0.4.0").restrict("trl", "==0.15.2"))
    newest = both.newest("transformers")
    assert newest is not None
    assert 0 <= day("transformers", newest) - day("trl", release_key("0.15.2")) <= WINDOW


def test_of_a_time_before_all_that_is_known_of_a_library_nothing_is_known() -> None:
    """The oldest TRL that is known is of January 2023."""
    releases = dated(KNOWN.restrict("transformers", "==4.10.3"))
    assert releases.is_unread("trl") and not releases.stated("trl")


def test_of_an_old_time_the_releases_of_that_time_are_presumed() -> None:
    """They count for no run that states nothing, but a run of spring 2023 had one of them."""
    releases = dated(KNOWN.restrict("transformers", "==4.28.1").restrict("accelerate", "==0.18.0"))
    assert releases.presumed("trl")
    assert [releases.text(key, "trl") for key in releases.allowed("trl")] == ["0.3.1", "0.4.7", "0.5.0", "0.6.0"]
    assert releases.allowed("trl")[-1] < KNOWN.allowed("trl")[0]


@pytest.mark.parametrize(
    ("framework", "other", "oldest", "newest"),
    [
        # TRL 0.12 asks for less than 4.47, 0.13 for 4.46 and 0.18 for 4.50
        (("trl", ">=0.7.4"), ("transformers", ">=4.31.0,<4.35.0"), "0.7.11", "0.12.2"),
        (("trl", ">=0.7.4"), ("transformers", "==4.40.2"), "0.7.11", "0.12.2"),
        (("trl", ">=0.7.4"), ("transformers", "==4.46.3"), "0.7.11", "0.17.0"),
        (("trl", ">=0.12"), ("transformers", "==4.47.1"), "0.13.0", "0.17.0"),
        (("trl", ">=0.7.4"), ("transformers", ">=4.31.0"), "0.7.11", "1.16.0"),
        (("trl", ">=0.7.4"), ("accelerate", "==0.21.0"), "0.7.11", "0.11.4"),
        (("trl", "==0.15.2"), ("transformers", "==4.34.1"), "0.15.2", "0.15.2"),  # stated is stated
        (
            ("trl", ">=0.15.2"),
            ("transformers", "==4.34.1"),
            "0.15.2",
            "1.16.0",
        ),  # they do not fit at all: another rule's business
        (("llamafactory", ">=0.7.1"), ("trl", "==0.16.1"), "0.7.1", "0.8.3"),
        # of two lists one pins it and the other names it alone: 0.10.1 asks for 4.55
        (("vllm", ">=0.10.0"), ("transformers", "==4.53.2"), "0.10.0", "0.10.0"),
    ],
)
def test_the_pin_of_one_library_bounds_the_framework_that_is_built_on_it(framework, other, oldest, newest) -> None:
    releases = dated(KNOWN.restrict(*framework).restrict(*other))
    allowed = [releases.text(key, framework[0]) for key in releases.allowed(framework[0])]
    assert (allowed[0], allowed[-1]) == (oldest, newest)
    assert releases.stated(framework[0])
    assert releases.allowed(other[0]) == KNOWN.restrict(*other).allowed(other[0])


def test_nothing_stated_dates_nothing() -> None:
    assert dated(KNOWN) is KNOWN
    assert dated(KNOWN.restrict("trl", ">=0.0.1")).allowed("transformers") == meant_keys("transformers")


PROGRAM = """from transformers import TrainingArguments
args = TrainingArguments("o", {argument}, learning_rate=2e-5)
"""


@pytest.mark.parametrize(
    ("pins", "argument", "severity"),
    [
        ("", "evaluation_strategy='steps'", "warning"),
        ("trl==0.7.11\n", "evaluation_strategy='steps'", None),  # every transformers of its time has it
        ("trl==0.15.2\n", "evaluation_strategy='steps'", "warning"),  # none has it any more, as far as one may presume
        ("transformers==4.57.6\n", "evaluation_strategy='steps'", "error"),
    ],
)
def test_a_presumed_day_makes_a_warning_at_most_and_repairs_nothing(tmp_path, pins, argument, severity) -> None:
    (tmp_path / "requirements.txt").write_text(pins)
    (tmp_path / "train.py").write_text(PROGRAM.format(argument=argument))
    found = [d for d in check(tmp_path).diagnostics if d.code == "V101"]
    assert [d.severity for d in found] == ([severity] if severity else [])
    if pins.startswith(
        "trl"
    ):  # TRL 0.15 goes with no transformers that lacks the new name: that is published, and no presumption
        assert all((d.fix is not None and bool(d.fix.files)) == ("0.15" in pins) for d in found)


def test_what_holds_in_every_release_is_no_presumption(tmp_path) -> None:
    (tmp_path / "requirements.txt").write_text("trl==0.15.2\n")
    (tmp_path / "train.py").write_text(PROGRAM.format(argument="fp16=True, bf16=True"))
    assert any(d.severity == "error" for d in check(tmp_path).diagnostics)


def releases_of(text: str) -> tuple[Releases, bool]:
    from stablint.assemble.asked import Options
    from stablint.engine.inspect import inspect
    from stablint.syntax.tree import Text

    text_of = Text("/nowhere/train.py", "train.py", text)
    (run,) = inspect([], Options(), base="/nowhere", texts={"/nowhere/train.py": text_of}).runs
    return run.releases, run.by_spelling


@pytest.mark.parametrize(
    ("argument", "newest"),
    [
        ("evaluation_strategy='steps'", "4.50.3"),
        ("eval_strategy='steps'", None),  # a name of today
        ("warmup_ratio=0.1", "5.14.1"),
        ("evaluation_strategy='steps', warmup_ratio=0.1", "4.50.3"),
        ("evaluation_strategy=how, warmup_ratio=share", "4.50.3"),  # names count, not values
    ],
)
def test_a_name_that_is_gone_dates_the_run(argument, newest) -> None:
    releases, by_spelling = releases_of(PROGRAM.format(argument=argument))
    assert by_spelling is (newest is not None)
    if newest:
        assert releases.text(releases.allowed("transformers")[-1], "transformers") == newest
        assert releases.presumed("transformers") and not releases.stated("transformers")
        assert releases.closed("trl") is (newest < "5")


def test_the_name_itself_is_still_told_and_its_companions_are_not_judged_by_the_newest(tmp_path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(argument="evaluation_strategy='steps'"))
    (found,) = [d for d in check(tmp_path).diagnostics if d.code == "V101"]
    assert found.severity == "warning"
