"""JSON Schemas of configurations: what a release takes is valid, what it refuses is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from stablint.cli import main
from stablint.config.options import Wrong, options
from stablint.forms.schema import schema
from stablint.run.forms import forms
from stablint.run.framework import framework

KNOWLEDGE = Path(__file__).parents[2] / "knowledge"


def refused(name: str, document: dict[str, Any], *releases: str) -> list[str]:
    """The keys and values that the schema does not take."""
    validator = jsonschema.Draft7Validator(schema(name, options(releases=releases)))
    return [error.message for error in validator.iter_errors(document)]


def keys(part: dict[str, Any]) -> Iterator[str]:
    """At any depth."""
    for name, inner in part.get("properties", {}).items():
        yield name
        yield from keys(inner)


@pytest.mark.parametrize("name", forms())
def test_every_schema_is_one_and_knows_keys(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = schema(name, options())
    assert main(["schema", name]) == 0
    assert json.loads(capsys.readouterr().out) == made  # no word of it is taken for a secret
    jsonschema.Draft7Validator.check_schema(made)
    assert made["$id"].startswith(f"urn:stablint:schema:{name}:")
    assert sum(1 for _ in keys(made)) > 15
    assert json.loads(json.dumps(made)) == made


@pytest.mark.parametrize("name", forms())
def test_the_same_is_made_twice(name: str) -> None:
    assert json.dumps(schema(name, options())) == json.dumps(schema(name, options()))


TAKEN: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    ("training-arguments", (), {"learning_rate": 1e-5, "bf16": True, "my_own_key": 1}),
    ("training-arguments", (), {"learning_rate": "1e-5"}),  # as YAML 1.1 reads it
    ("training-arguments", ("transformers==4.40.0",), {"evaluation_strategy": "steps"}),
    ("trl-dpo", (), {"beta": 0.1, "loss_type": "sigmoid"}),
    ("trl-sft", (), {"max_length": 2048, "use_peft": True, "lora_r": 16, "dataset_name": "a/b"}),
    ("deepspeed", (), {"zero_optimization": {"stage": 3, "overlap_comm": "auto"}, "train_batch_size": "auto"}),
    (
        "deepspeed",
        (),
        {"zero_optimization": {"stage": 3, "max_live_parameters": 0, "mics_shard_size": 2}},
    ),
    ("deepspeed", ("deepspeed==0.16.0",), {"fp16": {"enabled": True, "auto_cast": False}}),
    ("deepspeed", (), {"_comment": "ours", "optimizer": {"type": "AdamW", "params": {"mine": 1}}}),
    ("llamafactory", (), {"stage": "sft", "lora_rank": 8, "cutoff_len": 2048, "optim": "adamw_torch"}),
    (
        "llamafactory",
        ("llamafactory==0.9.5",),
        {"warmup_ratio": 0.1},
    ),  # it refuses the transformers in which that is gone
    ("ms-swift", ("ms-swift==4.0.3",), {"warmup_ratio": 0.1}),
    ("axolotl", (), {"base_model": "a/b", "sequence_len": 2048, "datasets": [{"path": "x", "type": "alpaca"}]}),
    (
        "verl-ppo",
        (),
        {"defaults": ["ppo_trainer", "_self_"], "actor_rollout_ref": {"actor": {"ppo_mini_batch_size": 64}}, "mine": 1},
    ),
    ("verl-sft", ("verl==0.7.0",), {"optim": {"lr": 1e-5}, "trainer": {"total_epochs": 1}}),
    ("litgpt", (), {"checkpoint_dir": "c", "train": {"max_steps": 10}}),
    (
        "torchtune",
        (),
        {
            "optimizer": {"_component_": "torch.optim.AdamW", "lr": 2e-5, "fused": True},
            "batch_size": 2,
            "my_key": {"a": [1]},
        },
    ),
    (
        "torchtune",
        (),
        {"dataset": {"_component_": "torchtune.datasets.alpaca_cleaned_dataset", "split": "train[:95%]", "name": "a"}},
    ),  # takes **kwargs
    ("axolotl", (), {"base_model": "a/b", "debug": None}),
    ("peft", (), {"peft_type": "LORA", "r": 8, "target_modules": ["q_proj"]}),
    (
        "fsdp",
        (),
        {"fsdp_version": 2, "activation_checkpointing": "true", "reshard_after_forward": True, "_why": "a remark"},
    ),
    (
        "fsdp",
        (),
        {"backward_prefetch": "Backward_Pre", "fsdp_backward_prefetch": "no_prefetch"},
    ),  # put in capitals by the reader
    ("fsdp", (), {"state_dict_type": "sharded_state_dict"}),
    ("fsdp", (), {"state_dict_type": None}),
    ("fsdp", ("transformers==4.30.2",), {"fsdp_min_num_params": 2000, "backward_prefetch": "backward_pre"}),
    ("fsdp", (), {"fsdp": "full_shard", "fsdp_config": {"version": 2}}),  # as ms-swift writes it
    (
        "accelerate",
        (),
        {
            "distributed_type": "FSDP",
            "fsdp_config": {"fsdp_version": 2, "offload_params": False, "fsdp_ignored_modules": "a"},
        },
    ),
    ("accelerate", (), {"fsdp_config": None}),
    ("llamafactory-v1", (), {"model": "a/b", "train_dataset": "c", "peft_config": {"name": "lora"}}),
    # What the newest release annotates, and every way of writing that its readers take.
    (
        "axolotl",
        (),
        {"learning_rate": "2e-4", "bf16": "auto", "gradient_checkpointing": "unsloth", "lora_r": None, "rl": "dpo"},
    ),
    ("axolotl", ("axolotl==0.4.0",), {"rl": "a_word_of_an_older_release"}),
    (
        "accelerate",
        (),
        {"mixed_precision": False, "num_processes": 8, "downcast_bf16": "no", "fsdp_config": {"fsdp_version": 2}},
    ),
    (
        "accelerate",
        (),
        {"fp8_config": {"backend": "TE", "amax_history_len": 1024}},
    ),  # its reader puts the word in capitals
    (
        "verl-ppo",
        (),
        {"data": {"train_batch_size": "${oc.env:BATCH}"}, "actor_rollout_ref": {"actor": {"optim": {"lr": "1e-6"}}}},
    ),
    ("torchtune", (), {"batch_size": "${size}", "compile": False, "epochs": 1}),
    ("litgpt", (), {"lora_r": 8, "lora_query": True, "train": {"learning_rate": 1e-4, "global_batch_size": 8}}),
]


@pytest.mark.parametrize(("name", "releases", "document"), TAKEN)
def test_what_a_release_takes_is_valid(name: str, releases: tuple[str, ...], document: dict[str, Any]) -> None:
    assert refused(name, document, *releases) == []


REFUSED: list[tuple[str, tuple[str, ...], dict[str, Any], str]] = [
    ("training-arguments", (), {"bf16": "yes please"}, "yes please"),
    ("training-arguments", (), {"optim": "adamw_hf_of_mine"}, "adamw_hf_of_mine"),
    ("deepspeed", (), {"zero_optimization": {"stage": "three"}}, "three"),
    ("deepspeed", (), {"zero_optimization": {"stage": 2, "overlap_com": True}}, "overlap_com"),
    ("deepspeed", (), {"zero_optimization": {"offload_param": {"devise": "cpu"}}}, "devise"),
    ("deepspeed", (), {"fp16": {"enabled": True, "loss_scale_windows": 1000}}, "loss_scale_windows"),
    ("llamafactory", (), {"stage": "sft", "lora_rnak": 8}, "lora_rnak"),
    ("axolotl", (), {"base_model": "a/b", "sequence_length": 2048}, "sequence_length"),
    ("ms-swift", (), {"model": "a/b", "lora_rnak": 8}, "lora_rnak"),
    ("fsdp", (), {"version": "two"}, "two"),
    ("fsdp", (), {"backward_prefetch": "BACKWARD"}, "BACKWARD"),
    ("fsdp", (), {"auto_wrap_policy": "transformer_based_wrap"}, "transformer_based_wrap"),  # compared as it is written
    (
        "deepspeed",
        (),
        {"zero_optimization": {"offload_optimizer": {"device": "CPU"}}},
        "CPU",
    ),  # an enumeration of lower-case words
    ("fsdp", (), {"auto_wrap_policy": "TRANSFORMER_BASED"}, "TRANSFORMER_BASED"),
    ("fsdp", (), {"transformer_layer_class_to_wrap": ["A"]}, "transformer_layer_class_to_wrap"),
    (
        "fsdp",
        ("transformers==5.9.0",),
        {"state_dict_type": "FULL_STATE_DICT"},
        "state_dict_type",
    ),  # nothing asks for it before 5.10
    ("accelerate", (), {"fsdp_config": {"fsdp_sharding_stratgy": "FULL_SHARD"}}, "fsdp_sharding_stratgy"),
    ("llamafactory-v1", (), {"model": "a/b", "lora_rank": 8}, "lora_rank"),
    (
        "torchtune",
        (),
        {"model": {"_component_": "torchtune.models.llama3_1.lora_llama3_1_8b", "lora_rnk": 8}},
        "lora_rnk",
    ),
    (
        "torchtune",
        (),
        {"a": {"b": [{"_component_": "torchtune.models.llama3_1.lora_llama3_1_8b", "lora_rnk": 8}]}},
        "lora_rnk",
    ),
    ("axolotl", (), {"micro_batch_size": "two"}, "two"),
    ("axolotl", (), {"rl": "dpoo"}, "dpoo"),
    ("axolotl", (), {"flash_attention": "please"}, "please"),
    ("litgpt", (), {"lora_r": "eight"}, "eight"),
    ("litgpt", (), {"train": {"global_batch_size": 1.5}}, "1.5"),
    ("accelerate", (), {"num_processes": "all"}, "all"),
    ("accelerate", (), {"fsdp_config": {"fsdp_version": 3}}, "3"),
    ("verl-ppo", (), {"actor_rollout_ref": {"actor": {"clip_ratio": "small"}}}, "small"),
    ("torchtune", (), {"batch_size": "two"}, "two"),
]


@pytest.mark.parametrize(("name", "releases", "document", "word"), REFUSED)
def test_what_a_release_refuses_is_not(name: str, releases: tuple[str, ...], document: dict[str, Any], word: str) -> None:  # fmt: skip
    found = refused(name, document, *releases)
    assert len(found) == 1 and word in found[0]


def test_a_release_has_its_own_keys() -> None:
    old, new = (schema("training-arguments", options(releases=[f"transformers=={one}"])) for one in ("4.40.0", "4.49.0"))  # fmt: skip
    assert "evaluation_strategy" in old["properties"] and "eval_strategy" not in old["properties"]
    assert "eval_strategy" in new["properties"]


def test_a_key_tells_its_default_and_the_rules_that_look_at_it() -> None:
    told = schema("training-arguments", options(releases=["transformers==4.49.0"]))["properties"]["learning_rate"]
    assert told["default"] == 5e-5
    assert "L101" in told["description"]


@pytest.mark.parametrize(
    ("name", "releases", "key", "default", "described"),
    [
        ("axolotl", (), "micro_batch_size", 1, "sets training.per_device_train_batch_size"),
        ("axolotl", (), "optimizer", "adamw_torch_fused", "left out: adamw_torch_fused (since axolotl 0.8.0)"),
        ("axolotl", ("axolotl==0.12.2",), "optimizer", "adamw_torch_fused", "sets training.optim"),
        ("axolotl", ("axolotl==0.9.2",), "kd_zscore_base_temp", None, "no longer taken from axolotl 0.10 on"),
        ("litgpt", (), "train.global_batch_size", 64, ""),
        ("verl-ppo", (), "actor_rollout_ref.actor.clip_ratio", 0.2, "sets training.cliprange"),
        ("accelerate", (), "num_processes", None, "sets launch.processes"),
        ("torchtune", (), "batch_size", None, "sets training.per_device_train_batch_size"),
        ("torchtune", (), "ac_mode", None, "since torchtune 0.2.1"),
    ],
)
def test_a_framework_s_own_key_tells_what_it_sets(
    name: str, releases: tuple[str, ...], key: str, default: object, described: str
) -> None:
    told = schema(name, options(releases=releases))
    for part in key.split("."):
        told = told["properties"][part]
    assert described in told.get("description", "")
    assert default is None or told["default"] == default
    assert told.get("deprecated", False) == ("no longer taken" in described)


@pytest.mark.parametrize(
    ("name", "typed", "described", "defaults"),
    [
        ("axolotl", 0.65, 0.6, 100), ("litgpt", 0.7, 0.6, 20), ("torchtune", 0.4, 0.6, 3), ("accelerate", 0.6, 0.8, 40),
        ("verl-ppo", 0.4, 0.9, 500), ("llamafactory", 0.9, 0.9, 250), ("ms-swift", 0.8, 0.8, 400),
    ],
)  # fmt: skip
def test_most_keys_are_more_than_names(name: str, typed: float, described: float, defaults: int) -> None:
    every = list(parts(schema(name, options())))
    assert sum("description" in told for told in every) > described * len(every)
    assert sum(not {"anyOf", "enum", "type", "properties"}.isdisjoint(told) for told in every) > typed * len(every)
    assert sum("default" in told for told in every) > defaults


def parts(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every key's schema, at any depth."""
    for told in tree.get("properties", {}).values():
        yield told
        yield from parts(told)


def test_the_command_lists_names_prints_one_and_refuses_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert "axolotl" in capsys.readouterr().out
    assert main(["schema", "axolotl", "--with", "axolotl==0.12.2"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "axolotl (axolotl 0.12.2)"
    assert main(["schema", "axolotll"]) == 2
    assert "did you mean `axolotl`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("release", "told"),
    [("0.12.99", "axolotl 0.12.99 is no release that is known: the schema is that of 0.12.2"), ("0.12.2", "")],
)
def test_a_release_that_is_in_no_list_is_told(release: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "axolotl", "--with", f"axolotl=={release}"]) == 0
    out, err = capsys.readouterr()
    assert err.removeprefix("stablint: ").strip() == told
    made = json.loads(out)  # it is that of a release that there is, and says which was asked for
    assert made["$id"] == "urn:stablint:schema:axolotl:axolotl-0.12.2"
    assert made["title"] == f"axolotl (axolotl 0.12.2{f', for {release}, which is not known' if told else ''})"


def test_a_release_that_nobody_knows_is_refused() -> None:
    with pytest.raises(Wrong):
        schema("axolotl", options(releases=["axolotl==0.0.1"]))


def test_blocks_are_closed_as_the_hazards_about_their_keys_say() -> None:
    told = set()
    for name in ("deepspeed-unknown-zero-key", "deepspeed-unknown-precision-key"):
        path = next(KNOWLEDGE.glob(f"hazards/**/{name}.yaml"))
        hazard = yaml.safe_load(path.read_text(encoding="utf-8"))
        since = hazard["versions"]["deepspeed"].removeprefix(">=")
        told |= {(fact.split(".")[1], since) for fact in hazard["each"]}
    assert set((framework("deepspeed").closed_blocks or {}).items()) == told


@pytest.mark.parametrize("release", ["0.17.0", "0.19.0"])
def test_a_key_that_a_plugin_reads_is_no_key_on_its_way_out(release: str) -> None:
    told = schema("axolotl", options(releases=[f"axolotl=={release}"]))["properties"]["expert_parallel_size"]
    assert "deprecated" not in told
    assert told["description"] == "read by the plugin axolotl.integrations.expert_parallel\nsince axolotl 0.17"
