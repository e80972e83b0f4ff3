"""Facts: stated, supplied, defaults of a release, or not known; and what absence means."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.run.fact import ABSENT, CLOSED, OPEN, PRESUMED, Default, is_unknown
from tests.runs import Files, runs, world

RECIPE = (
    "model_name_or_path: facebook/opt-350m\ndataset_name: trl-lib/Capybara\nuse_peft: false\nlearning_rate: 1.0e-5\n"
)
ARGUMENTS = "from transformers import TrainingArguments\nargs = TrainingArguments('out'{})\n"
# What absence means, by what kind of text the run is told in: namespace → scope.
SCOPES: dict[str, tuple[Files, dict[str, str]]] = {
    "a TRL recipe": ({"a.yaml": RECIPE}, {"training": CLOSED, "lora": CLOSED, "deepspeed": OPEN, "launch": OPEN}),
    "flags of somebody's script": (
        {"a.sh": "torchrun --nproc_per_node 2 train.py --learning_rate 1e-5 --bf16 --output_dir o\n"},
        {"training": PRESUMED, "launch": PRESUMED, "deepspeed": OPEN},
    ),
    "flags with more from outside": ({"a.sh": 'torchrun train.py --learning_rate 1e-5 --bf16 --output_dir o "$@"\n'}, {"training": OPEN}),
    "a call": ({"a.py": ARGUMENTS.format("")}, {"training": CLOSED, "lora": PRESUMED}),
    "a call with more from outside": ({"a.py": ARGUMENTS.format(", **more")}, {"training": OPEN}),
    "a lone DeepSpeed file": ({"ds.json": '{"zero_optimization": {"stage": 2}}'}, {"deepspeed": CLOSED, "training": OPEN}),
    "a recipe with keys that TRL has not": ({"a.yaml": RECIPE + "our_own: 1\nanother_one: 2\n"}, {"training": PRESUMED}),
}  # fmt: skip


@pytest.mark.parametrize(("files", "expected"), SCOPES.values(), ids=SCOPES)
def test_each_text_says_what_absence_means(files: Files, expected: dict[str, str], tmp_path: Path) -> None:
    (run,) = runs(tmp_path, files)
    assert {namespace: run.scopes.get(namespace, OPEN) for namespace in expected} == expected


# A default is what the class of that release has: files, release, fact, value.
DEFAULTS = [
    ("trl==0.9.6", "training.bf16", False),
    ("trl==1.16.0", "training.bf16", True),
    ("trl==0.9.6", "training.learning_rate", 5e-5),
]


@pytest.mark.parametrize(("release", "fact", "value"), DEFAULTS)
def test_a_default_follows_the_release(release: str, fact: str, value: object, tmp_path: Path) -> None:
    script = "from trl import SFTConfig\nargs = SFTConfig('out')\n"
    found = world(tmp_path, {"train.py": script}, releases=[release, "transformers==4.57.6"]).fact(fact)
    assert found.value == value
    assert isinstance(found.origin, Default)


def test_trl_turns_bf16_on_unless_fp16_is_set(tmp_path: Path) -> None:
    script = "from trl import SFTConfig\nargs = SFTConfig('out', fp16=True)\n"
    assert world(tmp_path, {"train.py": script}, releases=["trl==1.16.0"]).value("training.bf16") is False


def test_a_default_of_a_presumed_scope_says_so(tmp_path: Path) -> None:
    files = SCOPES["flags of somebody's script"][0]
    fact = world(tmp_path, files).fact("training.weight_decay")
    assert fact.value == 0.0 and fact.presumed


# A derived fact is presumed where what decided it is, or where the rule itself assumes more than is said: flags, fact, presumed.
PRESUMPTIONS = [
    ("", "derived.batch_per_device", False),  # no flags of a trainer: nothing is known, so nothing is presumed
    ("--bf16", "derived.batch_per_device", True),  # the default of the batch
    ("--bf16", "derived.compute_dtype", False),  # stated, whatever else was looked at
    ("--bf16 --per_device_train_batch_size 1 --gradient_accumulation_steps 1", "derived.batch_per_device", False),
    ("--bf16", "derived.config_class", False),
    ("--bf16", "derived.objective", True),  # a Trainer's causal model: the rule's own assumption
]


@pytest.mark.parametrize(("flags", "name", "presumed"), PRESUMPTIONS)
def test_a_derived_fact_is_as_sure_as_what_decided_it(flags: str, name: str, presumed: bool, tmp_path: Path) -> None:
    command = f"torchrun --nproc_per_node 2 train.py --learning_rate 1e-5 {flags} --output_dir o\n"
    assert world(tmp_path, {"a.sh": command}).fact(name).presumed is presumed


def test_an_old_spelling_is_the_same_fact(tmp_path: Path) -> None:
    old = world(
        tmp_path, {"a.py": ARGUMENTS.format(", evaluation_strategy='epoch'")}, releases=["transformers==4.40.2"]
    )
    assert old.value("training.eval_strategy") == "epoch"
    default = world(tmp_path / "b", {"a.py": ARGUMENTS.format("")}, releases=["transformers==4.40.2"]).fact(
        "training.eval_strategy"
    )
    assert default.value == "no"
    assert isinstance(default.origin, Default) and default.origin.field == "evaluation_strategy"


@pytest.mark.parametrize(
    "name",
    ["target.gpu.name", "model.parameters", "versions.torch", "deepspeed.zero_optimization.stage", "launch.processes"],
)
def test_what_nobody_says_is_unknown_and_not_false(name: str, tmp_path: Path) -> None:
    value = world(tmp_path, {"a.py": ARGUMENTS.format("")}).value(name)
    assert is_unknown(value) and value is not ABSENT


def test_a_value_filled_in_elsewhere_is_unknown(tmp_path: Path) -> None:
    files = {"a.py": ARGUMENTS.format(", learning_rate=options.lr"), "b.yaml": RECIPE.replace("1.0e-5", "${LR}")}
    for run in runs(tmp_path, files):
        assert is_unknown(run.explicit["training.learning_rate"].value)


def test_the_gpu_and_the_model_are_supplied_by_options(tmp_path: Path) -> None:
    found = world(tmp_path, {"a.py": ARGUMENTS.format("")}, gpus=["V100-32GB x4"], model="Qwen/Qwen2-7B")
    assert found.value("target.gpu.native_bf16") is False
    assert found.value("target.gpu.count") == 4
    assert found.value("model.type") == "qwen2"


def test_every_target_is_a_run_of_its_own(tmp_path: Path) -> None:
    assert [run.target for run in runs(tmp_path, {"a.yaml": RECIPE}, gpus=["T4", "H100"])] == ["T4", "H100"]


def test_a_field_that_another_one_fills_in_follows_it(tmp_path: Path) -> None:
    """In TRL 0.18, transformers 4.44: steps_per_generation is the accumulation steps, run_name the output directory."""
    script = "from trl import GRPOConfig\nargs = GRPOConfig('out'{})\n"
    old = ["trl==0.18.2", "transformers==4.44.2"]
    found = world(tmp_path, {"a.py": script.format(", gradient_accumulation_steps=4")}, releases=old)
    assert found.value("training.steps_per_generation") == 4
    assert isinstance(found.fact("training.steps_per_generation").origin, Default)
    assert found.value("training.run_name") == found.value("training.output_dir")
    hidden = world(tmp_path / "hidden", {"a.py": script.format(", gradient_accumulation_steps=n()")}, releases=old)
    assert is_unknown(hidden.value("training.steps_per_generation"))
    said = world(tmp_path / "said", {"a.py": script.format(", steps_per_generation=2")}, releases=old)
    assert said.value("training.steps_per_generation") == 2


def test_of_what_no_text_is_about_absence_says_nothing(tmp_path: Path) -> None:
    assert world(tmp_path, {"ds.json": '{"zero_optimization": {"stage": 2}}'}).scope("elsewhere.setting") == OPEN


def test_a_derived_fact_rests_on_what_was_asked_for_it_and_on_what_those_rest_on(tmp_path: Path) -> None:
    found = world(tmp_path, {"a.py": ARGUMENTS.format(", fp16=True")})
    assert found.value("derived.compute_dtype") == "float16"
    rests = found.rests_on(["derived.compute_dtype"])
    assert {"derived.compute_dtype", "training.fp16"} <= rests
    assert "training.learning_rate" not in rests
    assert found.rests_on(["training.seed"]) == {"training.seed"}
    assert found.rests_on(["model.type"]) == {"model.type", "model.name_or_path"}


SFT = {"a.py": "from trl import SFTConfig\nargs = SFTConfig('out')\n"}
AXOLOTL = {"a.yaml": "base_model: m\nsequence_len: 8\nmicro_batch_size: 1\ndatasets: [{path: a}]\n"}
# A default that another setting decides rests on that one: by the class itself, by a framework in its place.
RESTS = [
    (SFT, "training.bf16", "training.fp16"),
    (SFT, "derived.compute_dtype", "training.fp16"),
    (AXOLOTL, "training.per_device_eval_batch_size", "training.per_device_train_batch_size"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "name", "other"), RESTS)
def test_a_default_rests_on_the_setting_that_decides_it(files: Files, name: str, other: str, tmp_path: Path) -> None:
    assert other in world(tmp_path, files).rests_on([name])


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("target.gpu.native_bf16", {"target.gpu"}),
        ("model.parameters", {"model"}),
        ("versions.torch", {"versions.torch"}),
        ("training.learning_rate", None),  # no option of ours says it
        ("derived.weights_gib", {"model"}),
    ],
)
def test_what_an_unknown_fact_waits_for(name: str, needs: set[str] | None, tmp_path: Path) -> None:
    found = world(tmp_path, {"a.py": ARGUMENTS.format(", learning_rate=options.lr")})
    assert is_unknown(found.value(name))
    assert found.needs(name) == needs


def test_a_release_is_asked_for_by_its_number(tmp_path: Path) -> None:
    found = world(tmp_path, {"a.py": ARGUMENTS.format("")}, releases=["transformers==4.57.6"])
    assert found.at_least("transformers", "4.57.6") is True
    assert found.at_least("transformers", "4.9") is True
    assert found.at_least("transformers", "5") is False
    assert found.at_least("a-library-of-ours", "1") is None
    assert found.needs("versions.a-library-of-ours >= 1") == {"versions.a-library-of-ours"}
