"""The set of releases that a run may use, and what the fields of a class are in each of them."""

from __future__ import annotations

import pytest

from stablint.run.fact import ABSENT, is_unknown
from stablint.run.releases.allowed import Releases, known_keys, meant_keys, place
from stablint.run.releases.fields import (
    FieldSpans,
    bases_at,
    canonical,
    class_exists_at,
    field,
    field_names,
    known_key,
    renamed,
)
from stablint.run.releases.pep440 import release_key
from stablint.syntax.tree import Unknown

KNOWN = Releases.known()


def texts(releases: Releases, library: str) -> list[str]:
    return [releases.text(key, library) for key in releases.allowed(library)]


def at(library_class: str, name: str, version: str) -> tuple[bool, object]:
    found = field(library_class, name)
    assert found is not None
    return found.default_at(release_key(version))


def test_nothing_said_means_every_known_release() -> None:
    assert texts(KNOWN, "transformers")[0] == "4.28.1"
    assert not KNOWN.stated("transformers")
    assert KNOWN.allowed("a-library-nobody-knows") == ()
    assert KNOWN.newest("a-library-nobody-knows") is None


@pytest.mark.parametrize(
    ("specifier", "left"),
    [
        (">=4.44,<4.47", ["4.44.2", "4.45.2", "4.46.3"]),
        (">=4.44,<=4.46.1", ["4.44.2", "4.45.2", "4.46.1"]),  # the newest allowed patch of each minor release
        ("~=4.46.0", ["4.46.3"]),
        ("4.46.0", ["4.46.0"]),
        ("==4.46.1", ["4.46.1"]),
        ("4.58.0.dev0", ["4.58.0.dev0"]),  # installed from the repository
        (">=99", ["99"]),  # newer than what is known
        ("<4.0", ["0"]),  # older than what is known
        ("==4.17.0", ["4.17.0"]),  # an old one counts where it is stated
        ("~=4.17.0", ["4.17.0"]),
        (">=4.17,<4.30", ["4.28.1", "4.29.2"]),  # a range leaves the newer ones, as long as it has any
        (">=4.17,<4.20", ["0"]),
    ],
)
def test_a_specifier_leaves_the_releases_that_satisfy_it(specifier: str, left: list[str]) -> None:
    restricted = KNOWN.restrict("transformers", specifier)
    assert restricted.stated("transformers")
    got = restricted.allowed("transformers")
    assert list(got) == [release_key(text) for text in left] == sorted(got)


def test_restrictions_add_up_and_leave_the_original_alone() -> None:
    first = KNOWN.restrict("trl", ">=0.9")
    second = first.restrict("trl", "<0.12")
    assert texts(second, "trl") == ["0.9.6", "0.10.1", "0.11.4"]
    assert len(first.allowed("trl")) > 3
    assert not KNOWN.stated("trl")


def test_of_a_library_that_only_stands_in_ranges_every_release_counts() -> None:
    assert "2.3.0" in texts(KNOWN.restrict("torch", ">=2.3,<2.4"), "torch")
    assert KNOWN.restrict("torch", "2.3.1+cu121").allowed("torch") == (release_key("2.3.1"),)
    assert texts(KNOWN.restrict("some-fork", "1.2"), "some-fork") == ["1.2"]


def test_names_of_libraries_are_normalised() -> None:
    assert KNOWN.restrict("Flash_Attn", "2.5.8").allowed("flash-attn") == (release_key("2.5.8"),)


def test_a_version_is_written_as_it_was_stated() -> None:
    stated = KNOWN.restrict("one-fork", "==3.0").restrict("another-fork", "3.0.0.0")
    assert texts(stated, "one-fork") == ["3.0"]
    assert texts(stated, "another-fork") == ["3.0.0.0"]


@pytest.mark.parametrize("specifier", ["newest", ">=5,<4.46", "==4.46.1,==4.46.2", "~=1.2", "==3.*"])
def test_what_leaves_nothing_is_an_error_that_says_what_was_asked(specifier: str) -> None:
    with pytest.raises(ValueError) as error:
        KNOWN.restrict("transformers", specifier)
    assert specifier.partition(",")[0] in str(error.value)


@pytest.mark.parametrize(
    ("version", "stands_for"),
    [
        ("4.46.3", "4.46.3"),
        ("4.46.0", "4.46.3"),  # an unread patch of a minor release that was read
        ("4.46.9", "4.46.3"),
        ("4.58.0.dev0", "4.57.6"),  # a minor release that never came
        ("99.0", texts(KNOWN, "transformers")[-1]),
        ("4.5.1", None),
        ("4.27.1", "4.27.4"),
    ],
)
def test_an_unread_release_is_taken_for_its_neighbour(version: str, stands_for: str | None) -> None:
    index = place("transformers", release_key(version))
    assert index == (None if stands_for is None else known_keys("transformers").index(release_key(stands_for)))


@pytest.mark.parametrize(
    ("library_class", "name", "version", "expected"),
    [
        ("transformers.TrainingArguments", "learning_rate", "4.46.3", (True, 5e-5)),
        ("transformers.TrainingArguments", "evaluation_strategy", "4.40.2", (True, "no")),
        ("transformers.TrainingArguments", "evaluation_strategy", "4.51.3", (False, ABSENT)),
        ("transformers.TrainingArguments", "optim", "4.31.0", (True, "adamw_hf")),
        ("transformers.TrainingArguments", "optim", "4.40.2", (True, "adamw_torch")),
        ("transformers.TrainingArguments", "output_dir", "4.40.2", (True, ABSENT)),  # must be given
        ("transformers.BitsAndBytesConfig", "bnb_4bit_quant_type", "4.40.2", (True, "fp4")),
        ("transformers.HqqConfig", "nbits", "4.45.2", (True, 4)),
        ("trl.SFTConfig", "learning_rate", "0.24.0", (True, 2e-5)),
        ("trl.SFTConfig", "max_seq_length", "0.20.0", (False, ABSENT)),
        ("trl.SFTConfig", "gradient_checkpointing", "1.16.0", (True, True)),
        ("trl.SFTTrainer", "packing", "0.8.6", (True, False)),
        ("peft.LoraConfig", "r", "0.10.0", (True, 8)),
        ("deepspeed.json", "gradient_clipping", "0.18.9", (True, 0.0)),
        ("deepspeed.json", "gradient_clipping", "0.19.8", (True, 1.0)),
        ("deepspeed.json", "zero_optimization.stage3_prefetch_bucket_size", "0.16.9", (True, 5e7)),
        ("deepspeed.json", "fp16.initial_scale_power", "0.11.2", (True, 16)),
        ("accelerate.ClusterConfig", "num_machines", "1.10.1", (True, 1)),
    ],
)
def test_defaults_by_release(library_class: str, name: str, version: str, expected: tuple[bool, object]) -> None:
    assert at(library_class, name, version) == expected


def test_what_is_computed_or_too_old_is_unknown_and_not_absent() -> None:
    exists, default = at("transformers.TrainingArguments", "optim", "5.0.0")  # by the release of torch
    assert exists and isinstance(default, Unknown)
    exists, default = at("transformers.TrainingArguments", "learning_rate", "4.5.0")
    assert exists and isinstance(default, Unknown)


def test_turns_are_where_existence_or_default_changes() -> None:
    optim = field("transformers.TrainingArguments", "optim")
    assert optim is not None
    assert {KNOWN.text(key, "transformers") for key in optim.change_points} == {"4.32.1", "4.54.1"}
    strategy = field("transformers.TrainingArguments", "evaluation_strategy")
    assert strategy is not None
    assert strategy.since is None
    assert strategy.removed_in == release_key("4.51.3")
    assert strategy.change_points == {release_key("4.41.2"), release_key("4.51.3")}  # null from its deprecation on


def test_a_change_of_what_null_becomes_is_a_turn() -> None:
    tracker = field("transformers.TrainingArguments", "report_to")
    folder = field("transformers.TrainingArguments", "output_dir")
    assert tracker is not None and folder is not None
    assert tracker.settled_at(release_key("4.57.6")) == {"value": "all"}
    assert tracker.default_at(release_key("5.0.0")) == (True, "none")
    assert tracker.change_points == {release_key("5.0.0")}
    assert release_key("4.55.4") not in folder.change_points  # other fields are settled otherwise from there on


def test_many_releases_at_once_are_grouped_newest_first() -> None:
    clipping = field("deepspeed.json", "gradient_clipping")
    assert clipping is not None
    alternatives = clipping.over(KNOWN.allowed("deepspeed"))
    assert [(exists, default) for exists, default, _ in alternatives] == [(True, 1.0), (True, 0.0)]
    assert sum(len(keys) for _, _, keys in alternatives) == len(KNOWN.allowed("deepspeed"))


def test_every_field_agrees_with_itself_at_its_turns() -> None:
    """`over` and `default_at` are two ways to the same answer."""
    for name in field_names("trl.SFTConfig", release_key("0.24.0")):
        found = field("trl.SFTConfig", name)
        assert found is not None
        keys = KNOWN.allowed("trl")
        for exists, default, members in found.over(keys):
            assert all(repr(found.default_at(key)) == repr((exists, default)) for key in members)


# The releases that share a default, by one of them: the range is open where the oldest or the newest known release has it too.
RANGES = [
    ("seed", "4.40.2", ""),
    ("optim", "4.28.1", "<=4.31.0"),
    ("optim", "4.40.2", ">=4.32.1,<=4.53.3"),
    ("optim", "5.23.0", ">=4.54.1"),
    ("optim", "3.0", ""),  # nothing is known of it
    ("evaluation_strategy", "5.23.0", ""),  # it has no such field
]


@pytest.mark.parametrize(("name", "version", "expected"), RANGES)
def test_the_releases_that_share_a_default(name: str, version: str, expected: str) -> None:
    found = field("transformers.TrainingArguments", name)
    assert found is not None
    assert found.releases_with(release_key(version)) == expected


def test_a_default_that_the_library_computes_is_not_known() -> None:
    exists, default = at("deepspeed.json", "tensor_parallel.dtype", "0.19.8")
    assert exists and is_unknown(default)


def test_a_field_of_one_release_only_is_gone_in_the_next() -> None:
    keys = known_keys("accelerate")
    first = keys.index(meant_keys("accelerate")[0])
    _, second, third = keys[first : first + 3]
    only = FieldSpans("accelerate.ProjectConfiguration", "accelerate", "made_up", [[0, first, None]])
    assert (only.since, only.removed_in, only.change_points) == (None, second, {second})
    later = FieldSpans("accelerate.ProjectConfiguration", "accelerate", "made_up", [[first + 1, first + 1, None]])
    assert (later.since, later.removed_in, later.change_points) == (second, third, {second, third})


def test_what_null_becomes_turns_where_it_begins_and_where_it_ends() -> None:
    """In accelerate 0.20 `logging_dir` became the project's folder; what it is afterwards it is as stated."""
    folder = field("accelerate.ProjectConfiguration", "logging_dir")
    assert folder is not None
    first, second = meant_keys("accelerate")[:2]
    assert folder.settled_at(first) == {"field": "project_dir"}
    assert folder.settled_at(second) is None and second in folder.change_points
    assert folder.settled_at(release_key("0.0.1")) is None
    size = field("transformers.DistributedConfig", "fsdp_size")  # for some releases null was one
    assert size is not None
    became = {key for key in known_keys("transformers") if size.settled_at(key) == {"value": 1}}
    later = [key for key in known_keys("transformers") if key > max(became)]
    assert {min(became), later[0]} <= size.change_points


def test_a_class_that_nobody_knows_has_no_fields() -> None:
    assert field("trl.NoSuchConfig", "bf16") is None


def test_types_choices_and_bounds() -> None:
    scheduler = field("transformers.TrainingArguments", "lr_scheduler_type")
    fsdp = field("transformers.TrainingArguments", "fsdp")
    ratio = field("deepspeed.json", "zero_optimization.offload_optimizer.ratio")
    assert scheduler is not None and fsdp is not None and ratio is not None
    assert "warmup_stable_decay" not in (scheduler.choices_at(release_key("4.40.2")) or ())
    assert "warmup_stable_decay" in (scheduler.choices_at(release_key("4.41.2")) or ())
    assert fsdp.extra_at(release_key("4.50.3"))["words"]
    assert ratio.type_at(release_key("0.19.8")) == "float"
    assert (ratio.extra_at(release_key("0.19.8"))["ge"], ratio.extra_at(release_key("0.19.8"))["le"]) == (0.0, 1.0)


def test_trl_turns_bf16_on_where_fp16_is_not_set() -> None:
    for name in ("SFTConfig", "DPOConfig", "GRPOConfig", "RewardConfig", "KTOConfig"):
        bf16 = field(f"trl.{name}", "bf16")
        assert bf16 is not None
        assert bf16.since == release_key("0.19.1")
        assert bf16.default_at(release_key("1.0.0")) == (True, None)
        assert bf16.settled_at(release_key("0.19.1")) == bf16.settled_at(release_key("1.16.0")) == {"not": "fp16"}
        assert bf16.settled_at(release_key("0.18.2")) is None


def test_a_trl_config_extends_the_training_arguments() -> None:
    assert bases_at("trl.SFTConfig", release_key("1.16.0")) == ("transformers.TrainingArguments",)
    assert bases_at("trl.PPOConfig", release_key("0.9.6")) == ()  # before its rewrite
    assert class_exists_at("trl.SFTConfig", release_key("0.9.6"))
    assert not class_exists_at("trl.SFTConfig", release_key("0.8.6"))
    assert field("trl.SFTConfig", "weight_decay") is None


def test_names_and_spellings() -> None:
    assert "trl.SFTConfig" in known_key("max_seq_length")
    assert known_key("learning_rat") == ()
    assert canonical("evaluation_strategy") == "eval_strategy"
    assert canonical("learning_rate") == "learning_rate"
    assert canonical("bfloat16.enabled", "deepspeed") == "bf16.enabled"
    assert (
        canonical("zero_optimization.max_live_parameters", "deepspeed")
        == "zero_optimization.stage3_max_live_parameters"
    )


def test_what_became_of_a_name() -> None:
    found = renamed("trl.SFTConfig", "max_seq_length")
    assert found is not None
    assert (found.new, found.kind, found.removed_in) == ("max_length", "renamed", release_key("0.20.0"))
    assert renamed("trl.SFTConfig", "learning_rate") is None
    strategy = renamed("transformers.TrainingArguments", "group_by_length")
    assert strategy is not None and strategy.values["true"] == "group_by_length"


@pytest.mark.parametrize(
    ("specifier", "below"),
    [
        (">=0.13.2", True),
        ("<1.0", True),
        ("!=1.0.0", True),
        (">=0.20", False),
        (">=1.0,<1.3", False),
        ("==0.13.2", False),  # it is that release, and nothing else
        ("==0.15.0 || >=1.0", False),
        (">=0.15.0 || >=1.0", True),
    ],
)
def test_a_range_may_admit_releases_older_than_all_that_count(specifier: str, below: bool) -> None:
    restricted = KNOWN.restrict("accelerate", specifier)
    assert restricted.reaches_below("accelerate") is below
    assert not restricted.reaches_below("peft")
    assert restricted.restrict("peft", ">=0.10").reaches_below("accelerate") is below


def test_a_second_bound_may_leave_the_old_ones_out() -> None:
    first = KNOWN.restrict("accelerate", ">=0.13.2")
    assert first.restrict("accelerate", "<1.3").reaches_below("accelerate")
    assert not first.restrict("accelerate", ">=1.0").reaches_below("accelerate")


def test_nothing_said_reaches_below_nothing() -> None:
    assert not KNOWN.reaches_below("accelerate")
    assert not KNOWN.unread("accelerate").reaches_below("accelerate")
