"""One field of one config class over all releases: where its existence or default turns."""

from __future__ import annotations

import pytest

from stablint.run.fact import ABSENT
from stablint.run.releases.allowed import known_keys
from stablint.run.releases.fields import profile
from stablint.run.releases.pep440 import release_key

BASE = "transformers.TrainingArguments"


def test_a_field_that_never_changed_has_no_turns() -> None:
    found = profile(BASE, "seed", "training")
    assert found is not None and not found.change_points
    spans = found.at(release_key("4.57.6"))
    assert spans is not None and spans.default_at(release_key("4.57.6")) == (True, 42)


def test_a_renamed_field_is_one_field_under_two_spellings() -> None:
    found = profile(BASE, "eval_strategy", "training")
    assert found is not None
    names = [one.name if (one := found.at(key)) is not None else None for key in known_keys("transformers")]
    assert set(names) == {"evaluation_strategy", "eval_strategy"}
    assert names == sorted(names, key=lambda name: name == "eval_strategy")  # the older one first, no gap
    assert not found.change_points  # "no" all along: the rename alone changes nothing of what the run does


def test_a_default_that_changes_turns_at_the_release_that_changed_it() -> None:
    found = profile("trl.SFTConfig", "bf16", "training") or profile(BASE, "bf16", "training")
    assert found is not None and found.change_points


def test_a_field_that_no_release_has_is_none() -> None:
    assert profile(BASE, "no_such_field", "training") is None


def test_what_must_be_given_has_no_default() -> None:
    found = profile(BASE, "output_dir", "training")
    assert found is not None
    oldest = known_keys("transformers")[0]
    spans = found.at(oldest)
    assert spans is not None and spans.default_at(oldest)[1] is ABSENT


def test_a_renamed_field_turns_where_its_default_does_and_where_it_comes_and_goes() -> None:
    """TRL's length was null in max_seq_length from 0.9 on and 1024 from 0.15 on; the later name for it changed nothing."""
    found = profile("trl.SFTConfig", "max_length", "training")
    assert found is not None and [one.name for one in found.spans] == ["max_length", "max_seq_length"]
    assert found.change_points == {("trl", release_key("0.9.6")), ("trl", release_key("0.15.2"))}


# Of a release older than all that were read: what every one of them has had, else nothing.
STEADY: list[tuple[str, str, object]] = [
    ("seed", "4.0.0", 42),
    ("seed", "4.57.6", None),  # known by itself
    ("optim", "4.0.0", None),  # it changed
    ("output_dir", "4.0.0", None),  # it has none
]


@pytest.mark.parametrize(("name", "version", "value"), STEADY)
def test_a_default_that_never_changed_is_taken_for_older_releases_too(name: str, version: str, value: object) -> None:
    found = profile(BASE, name, "training")
    assert found is not None
    steady = found.steady(release_key(version))
    assert (steady.value if steady is not None else None) == value


@pytest.mark.parametrize(
    ("library_class", "name"),
    [("accelerate.SageMakerConfig", "base_job_name"), ("accelerate.ClusterConfig", "distributed_type")],
)
def test_what_is_computed_or_must_be_given_is_not_taken_for_older_releases(library_class: str, name: str) -> None:
    found = profile(library_class, name, "accelerate")
    assert found is not None and not found.change_points
    assert found.steady(release_key("0.0.1")) is None
