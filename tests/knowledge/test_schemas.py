"""schemas/ is what the models say; the models say what the design says."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import jsonschema
import pytest
from pydantic import ValidationError

from stablint.schema.hazard import CATEGORIES, HazardFile
from stablint.schema.settings import Settings
from tools.generate_schemas import FOLDER, MODELS, schema_text

HAZARD = {
    "id": "best-model-between-saves",
    "code": "T201",
    "title": "the best step may fall between two saved steps",
    "severity": "error",
    "bites_at": "start",
    "when": ["training.save_strategy is steps", "training.save_steps not-multiple-of training.eval_steps"],
    "fine_when": "both strategies are epoch",
    "message": "`save_steps` {training.save_steps} is not a multiple of `eval_steps` {training.eval_steps}",
    "at": "training.save_steps",
    "why": "Every evaluation that can win must be saved.",
    "remedies": [
        {
            "title": "save at every evaluation",
            "set": {"training.save_steps": "{training.eval_steps}"},
            "safety": "unsafe",
            "because": "how often to save is the author's choice",
        }
    ],
    "evidence": {"grade": "proven-in-source", "sources": ["https://github.com/huggingface/transformers/issues/12786"]},
    "versions": {"transformers": ">=4.9,<6"},
    "examples": [
        {
            "dialect": "hf-args",
            "files": {"train.yaml": "save_strategy: steps\nsave_steps: 500\neval_steps: 200\n"},
            "near": [{"file": "train.yaml", "replace": ["save_steps: 500", "save_steps: 400"]}],
        }
    ],
}  # fmt: skip


def changed(**changes: object) -> dict[str, object]:
    return copy.deepcopy(HAZARD) | changes


def remedy(**changes: object) -> dict[str, object]:
    return changed(remedies=[HAZARD["remedies"][0] | changes])


def example(**changes: object) -> dict[str, object]:
    return changed(examples=[HAZARD["examples"][0] | changes])


def condition(line: object) -> dict[str, object]:
    return changed(when=[line])


@pytest.mark.parametrize("name", MODELS)
def test_stored_schemas_are_those_of_the_models(name):
    stored = (FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")
    assert stored == schema_text(name), "run python tools/generate_schemas.py"
    jsonschema.Draft202012Validator.check_schema(json.loads(stored))


def test_a_hazard_of_the_design_is_accepted():
    hazard = HazardFile.model_validate(HAZARD, context={"folder": CATEGORIES["T"]})
    assert hazard.code == "T201"
    jsonschema.Draft202012Validator(json.loads(schema_text("hazard"))).validate(HAZARD)


@pytest.mark.parametrize(
    "hazard",
    [
        condition("training.save_steps is-set"),
        condition("training.learning_rate between [0, 1e-6]"),
        condition("lora.target_modules any-item not-in model.linear_modules"),
        condition("item unknown-key"),
        condition("launch.env.NCCL_P2P_DISABLE is 1"),
        condition({"any": ["training.fp16 is true", {"not": ["training.bf16 is-default"]}]}),
        changed(severity="warning", evidence=HAZARD["evidence"] | {"grade": "reported"}),
        changed(severity="info", evidence=HAZARD["evidence"] | {"grade": "folklore"}),
        remedy(set={"model.attn_implementation": "sdpa"}),
        remedy(safety="safe", because=None),
        remedy(set={}, unset=["training.save_steps"]),
        remedy(set={}, swap={"trainer.tokenizer": "trainer.processing_class"}),
    ],
)
def test_accepted(hazard):
    HazardFile.model_validate(hazard)


@pytest.mark.parametrize(
    ("why", "hazard"),
    [
        ("unknown key", changed(serverity="error")),
        ("unknown operator", condition("training.save_steps equals 3")),
        ("unknown namespace", condition("trianing.save_steps is 3")),
        ("operand missing", condition("training.save_steps is")),
        ("operand too many", condition("training.save_steps is-set 3")),
        ("no interval", condition("training.learning_rate between 1")),
        ("two groups in one", condition({"any": ["training.fp16 is true"], "all": ["training.bf16 is true"]})),
        ("no condition", changed(when=[])),
        ("no place", changed(at=None)),
        ("error without proof", changed(evidence=HAZARD["evidence"] | {"grade": "reported"})),
        ("folklore above info", changed(severity="warning", evidence=HAZARD["evidence"] | {"grade": "folklore"})),
        ("no source", changed(evidence={"grade": "reproduced", "sources": []})),
        ("a source that is no address", changed(evidence={"grade": "reproduced", "sources": ["the docs"]})),
        ("prose for releases", changed(versions={"transformers": "since 4.9"})),
        ("unsafe without because", remedy(because=None)),
        ("safe, changes nothing", remedy(set={}, safety="safe")),
        ("sets the GPU", remedy(set={"target.gpu.name": "H100"})),
        ("sets a release", remedy(set={"versions.trl": "1.0"})),
        ("sets what the model is", remedy(set={"model.parameters": 7})),
        ("exchanges the model", remedy(set={"model.name_or_path": "gpt2"})),
        ("full stop", changed(message="a message.")),
        ("unknown category", changed(code="X101")),
        ("near text is not there", example(near=[{"file": "train.yaml", "replace": ["nowhere", "b"]}])),
        ("repairs a file that is not there", example(fixed={"other.yaml": ""})),
        ("no example", changed(examples=[])),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_refused(why, hazard):
    with pytest.raises(ValidationError):
        HazardFile.model_validate(hazard)


def test_the_folder_is_the_letters():
    with pytest.raises(ValidationError):
        HazardFile.model_validate(HAZARD, context={"folder": CATEGORIES["P"]})


def test_settings_are_spelled_with_dashes():
    settings = Settings.model_validate(
        {"fail-on": "warning", "select": ["P", "L1", "T201", "unknown-key"], "versions": {"trl": ">=1"}}
    )
    assert settings.fail_on == "warning"
    with pytest.raises(ValidationError):
        Settings.model_validate({"fail-onn": "warning"})


def test_generated_files_lie_where_the_wheel_takes_them_from():
    assert Path(__file__).parents[2] / "schemas" == FOLDER
