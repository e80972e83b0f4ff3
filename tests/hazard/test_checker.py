"""What a hazard weighs: over the releases that are left, on presumed defaults, and while something is not known yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablint.hazard.model import Finding, Hazard, Undecided, from_row
from stablint.hazard.verdict import check
from tests.runs import Files, inspected, rules, runs

ARGUMENTS = "from transformers import TrainingArguments\nargs = TrainingArguments('out', {})\n"
CALL = {"train.py": ARGUMENTS.format("fp16=True")}
FLAGS = {"run.sh": "torchrun train.py --fp16 --output_dir out --learning_rate 1e-5\n"}


def hazard(*when: list[Any], **more: Any) -> Hazard:
    plain: dict[str, Any] = {
        "id": "made-up", "code": "T999", "severity": "error", "bites_at": "start", "grade": "proven-in-source", "when": list(when), "at": "training.fp16",
        "versions": {}, "each": [], "yields_to": [], "reads": [],
        "message": "found", "cases": [], "remedies": [], "evidence": {"grade": "proven-in-source", "sources": []},
    }  # fmt: skip
    return from_row(plain | more)


FP16 = ["is", "training.fp16", 1, True]


def outcome(folder: Path, files: Files, made: Hazard, **said: Any) -> Finding | Undecided | None:
    (run,) = runs(folder, files, **said)
    findings, undetermined = check(run, (made,))
    return next(iter([*findings, *undetermined]), None)


def severity(folder: Path, files: Files, made: Hazard, **said: Any) -> str:
    found = outcome(folder, files, made, **said)
    return (
        found.severity if isinstance(found, Finding) else "undetermined" if isinstance(found, Undecided) else "silent"
    )


# The range in which the hazard holds, what is stated, what it comes to.
RELEASES = [
    (">=1", [], "error"),  # in every release
    (">=5", [], "warning"),  # in some, the newest among them
    ("<5", [], "undetermined"),  # in older ones only
    (">=5", ["transformers==5.23.0"], "error"),
    (">=5", ["transformers<5"], "silent"),
    ("<5", ["transformers==4.57.6"], "error"),
    ("<5", ["transformers>=5"], "silent"),
]


@pytest.mark.parametrize(("bounds", "stated", "expected"), RELEASES)
def test_releases_are_a_set(bounds: str, stated: list[str], expected: str, tmp_path: Path) -> None:
    assert severity(tmp_path, CALL, hazard(FP16, versions={"transformers": bounds}), releases=stated) == expected


# A comparison with a release, over a stated range of releases, what it comes to.
COMPARED = [
    ([">=", "versions.transformers", 1, "5"], [], "undetermined"),  # nobody said which
    ([">=", "versions.transformers", 1, "5"], ["transformers>=4.40"], "warning"),
    (["<", "versions.transformers", 1, "5"], ["transformers>=4.40"], "undetermined"),
    ([">=", "versions.transformers", 1, "5"], ["transformers>=5.1"], "error"),
    (["between", "versions.transformers", 1, ["5.1", "9"]], ["transformers>=5"], "warning"),
    (["in", "versions.transformers", 1, ["5.24.0"]], ["transformers>=5"], "warning"),
]


@pytest.mark.parametrize(("condition", "stated", "expected"), COMPARED)
def test_a_comparison_with_a_release_holds_for_some_of_a_range(
    condition: list[Any], stated: list[str], expected: str, tmp_path: Path
) -> None:
    assert severity(tmp_path, CALL, hazard(FP16, condition), releases=stated) == expected


def test_a_finding_of_some_releases_names_them(tmp_path: Path) -> None:
    found = outcome(tmp_path, CALL, hazard(FP16, versions={"transformers": ">=5"}))
    assert isinstance(found, Finding)
    assert found.releases["transformers"].startswith(">=5")


def test_what_rests_on_a_presumed_default_is_at_most_a_warning(tmp_path: Path) -> None:
    decay = ["is", "training.weight_decay", 1, 0.0]
    assert severity(tmp_path / "flags", FLAGS, hazard(FP16, decay)) == "warning"
    assert severity(tmp_path / "call", CALL, hazard(FP16, decay)) == "error"
    # A program that nobody sees may read its flags itself.
    assert severity(tmp_path / "stated", FLAGS, hazard(FP16)) == "warning"


def test_a_key_of_somebodys_own_script_weighs_less_where_only_some_releases_have_it_in(tmp_path: Path) -> None:
    """Its project pins the releases of its time; the call of the class itself is as a release reads it."""
    some = {"versions": {"transformers": ">=5"}}
    each = {"each": ["training.fp16"], "at": "item"}
    item = ["is", "item", 1, True]
    assert severity(tmp_path / "flags", FLAGS, hazard(item, **some, **each)) == "info"
    assert severity(tmp_path / "call", CALL, hazard(item, **some, **each)) == "warning"
    assert severity(tmp_path / "no key", FLAGS, hazard(FP16, **some)) == "warning"
    assert severity(tmp_path / "every release", CALL, hazard(item, **each)) == "error"


CONSTRUCTED = {"each": ["training.fp16"], "at": "item", "error_when": [["is", "item.constructed", 1, True]]}
MADE = {
    "in a release that is stated": (ARGUMENTS.format("fp16=True"), ["transformers==5.23.0"], "error"),
    "in any release": (ARGUMENTS.format("fp16=True"), [], "warning"),
    "in a branch": (ARGUMENTS.format("fp16=True").replace("args", "import mine\nif mine.x: args"), ["transformers==5.23.0"], "warning"),
    "of a class from elsewhere": (ARGUMENTS.format("fp16=True").replace("from transformers", "from mine"), ["transformers==5.23.0"], "warning"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "releases", "weight"), MADE.values(), ids=MADE)
def test_what_is_certain_of_a_call_alone_is_an_error_there(
    text: str, releases: list[str], weight: str, tmp_path: Path
) -> None:
    made = hazard(["is", "item", 1, True], **CONSTRUCTED)
    assert severity(tmp_path, {"train.py": text}, made, releases=releases) == weight


def test_a_file_is_no_call(tmp_path: Path) -> None:
    made = hazard(["is", "item", 1, True], **CONSTRUCTED)
    text = "output_dir: out\nfp16: true\nper_device_train_batch_size: 1\nlearning_rate: 1.0e-5\nnum_train_epochs: 1\n"
    assert severity(tmp_path, {"train.yaml": text}, made, releases=["transformers==5.23.0"]) == "warning"


BF16_CARD = ["is", "target.gpu.native_bf16", 1, True]


def test_what_the_gpu_would_decide_is_undetermined_until_it_is_named(tmp_path: Path) -> None:
    made = hazard(FP16, BF16_CARD)
    waiting = outcome(tmp_path / "a", CALL, made)
    assert isinstance(waiting, Undecided) and waiting.needs == ("target.gpu",)
    assert severity(tmp_path / "b", CALL, made, gpus=["A100-80GB"]) == "error"
    assert severity(tmp_path / "c", CALL, made, gpus=["V100"]) == "silent"


def test_nothing_explicit_speaks_for_it_nothing_is_asked(tmp_path: Path) -> None:
    assert severity(tmp_path, CALL, hazard(["is", "training.bf16", 1, False], BF16_CARD)) == "silent"


def test_what_no_option_could_supply_is_not_asked_for(tmp_path: Path) -> None:
    files = {"train.py": ARGUMENTS.format("fp16=True, learning_rate=options.lr")}
    assert severity(tmp_path, files, hazard(FP16, [">", "training.learning_rate", 1, 1], BF16_CARD)) == "silent"


def test_one_cause_draws_one_finding(tmp_path: Path) -> None:
    (run,) = runs(tmp_path, CALL)
    cause, symptom = hazard(FP16, id="cause"), hazard(FP16, id="symptom", yields_to=["cause"])
    findings, _ = check(run, (symptom, cause))
    assert [finding.hazard.id for finding in findings] == ["cause"]


def test_the_place_is_where_the_text_decides(tmp_path: Path) -> None:
    found = outcome(tmp_path, CALL, hazard(["is", "derived.compute_dtype", 1, "float16"], at="derived.compute_dtype"))
    assert isinstance(found, Finding)
    place = found.place
    assert (place.setting, place.document.text.text[place.start : place.end], found.absent) == ("fp16", "True", False)


def test_what_is_absent_is_shown_at_the_runs_anchor(tmp_path: Path) -> None:
    found = outcome(tmp_path, CALL, hazard(["is-absent", "training.seed", 0, None], at="training.seed"))
    assert isinstance(found, Finding)
    assert found.absent and found.place == found.run.anchor


# Renames, release by release: what is stated, what `evaluation_strategy` draws at least.
RENAMED = [
    (["transformers==4.40.2"], set()),
    (["transformers==4.45.2"], {"setting-deprecated"}),
    (["transformers==4.57.6"], {"setting-renamed"}),
    (["transformers==5.23.0"], {"setting-renamed"}),
    ([], {"setting-renamed"}),
]


@pytest.mark.parametrize(("stated", "expected"), RENAMED)
def test_a_renamed_setting_is_news_only_where_the_release_has_renamed_it(
    stated: list[str], expected: set[str], tmp_path: Path
) -> None:
    found = inspected(tmp_path, {"train.py": ARGUMENTS.format("evaluation_strategy='no'")}, releases=stated)
    assert rules(found) & {"setting-deprecated", "setting-renamed"} == expected


NAMED = (
    "from transformers import TrainingArguments\nWHEN = 'steps'\nHALF = True\n"
    "args = TrainingArguments('out', evaluation_strategy=WHEN, fp16=HALF, bf16=True)\n"
)


def test_what_is_wrong_with_a_key_stands_at_the_key_and_what_is_wrong_with_a_value_at_the_value(tmp_path: Path) -> None:
    found = inspected(tmp_path, {"train.py": NAMED}, releases=["transformers==5.23.0"]).report.diagnostics
    shown = {d.code: NAMED[d.start : d.end] for d in found}
    assert shown["V101"] == "evaluation_strategy"
    assert shown["P143"] == "True" and NAMED.index("True") in {d.start for d in found}


# A DeepSpeed file that nothing names, beside the only run of its folder.
BESIDE = {
    "train.py": ARGUMENTS.format("fp16=True"),
    "ds.json": '{"train_batch_size": 8, "zero_optimization": {\n"stage": 2,\n"offload_optimizer": {\n"device": "disk", "pin_mem": true}}}',
}
DEVICE = ["is", "deepspeed.zero_optimization.offload_optimizer.device", 1, "disk"]
STAGE = ["is", "deepspeed.zero_optimization.stage", 1, 2]


def test_what_one_file_says_alone_holds_for_whatever_run_reads_it(tmp_path: Path) -> None:
    assert severity(tmp_path / "alone", BESIDE, hazard(DEVICE, STAGE)) == "error"
    assert severity(tmp_path / "with-the-run", BESIDE, hazard(FP16, STAGE)) == "warning"


BLOCK = "deepspeed.zero_optimization.offload_optimizer"


def test_what_chose_the_remedy_is_shown_with_the_facts(tmp_path: Path) -> None:
    """D127 offers other words under ZeRO-3 than below."""
    (found,) = (d for d in inspected(tmp_path, BESIDE).report.diagnostics if d.code == "D127")
    assert [fact.name for fact in found.facts] == [DEVICE[1], STAGE[1], BLOCK]


def test_a_setting_of_a_block_is_shown_with_the_block(tmp_path: Path) -> None:
    (found,) = (d for d in inspected(tmp_path, BESIDE).report.diagnostics if d.code == "D123")
    assert [fact.name for fact in found.facts] == [f"{BLOCK}.pin_mem", BLOCK]


def test_a_flag_of_a_program_at_hand_may_be_its_own(tmp_path: Path) -> None:
    files = {
        "train.py": "from trl import DPOConfig, DPOTrainer\nDPOTrainer(args=DPOConfig('out', max_steps=9))\n",
        "run.sh": "python train.py --per_device_train_batch_size 2 --max_target_length 512 --output_dir o\n",
    }
    found = inspected(tmp_path, files, releases=["trl==1.16.0", "transformers==5.23.0"]).report.diagnostics
    assert not [d.rule for d in found if d.setting == "max_target_length" and d.severity == "error"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "train.py",
            "from transformers import TrainingArguments\nTrainingArguments('o', deepspeed={'zero_optimization': {'stage': 3, '{key}': True}})\n",
        ),
        (
            "train.yaml",
            "output_dir: o\nmodel_name_or_path: a/b\ndataset_name: a/b\nuse_peft: true\ndeepspeed: {zero_optimization: {stage: 3, {key}: true}}\n",
        ),
    ],
)
@pytest.mark.parametrize("key", ["gather_16bit_weights_on_model_save", "stage3_gather_16bit_weights_on_model_save"])
def test_a_key_of_deepspeed_is_known_by_both_its_names_wherever_it_stands(name, text, key, tmp_path: Path) -> None:
    found = inspected(tmp_path, {name: text.replace("{key}", key)}).report.diagnostics
    assert "deepspeed-unknown-zero-key" not in {d.rule for d in found}
