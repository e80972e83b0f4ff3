"""One run, written in many dialects: the same facts and the same findings, whoever reads it.

A family is a run as facts. Each dialect writes it through its own table (or, for programs, through a template), with the few lines that
only it needs; nothing else differs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
import yaml

from stablint.frameworks import axolotl, codec, huggingface, litgpt, llamafactory, swift, torchtune, xtuner
from stablint.frameworks.fragment import Row, Rows
from stablint.frameworks.keyed import module_of
from stablint.hazard.checked import Checked
from tests.runs import inspected

Facts = dict[str, Any]


class Writer(NamedTuple):
    """How a dialect says a run: `keys` where several of its keys mean one fact, `always` what every file of it has."""

    file: str
    rows: Rows
    keys: dict[str, str]
    method: Callable[[str], Facts]
    precision: Callable[[str], Facts]
    objective: dict[str, Facts]
    always: Facts
    form: str = "yaml"
    command: Mapping[str, str] = MappingProxyType({})  # for each objective, where the form is flags


def _switches(dtype: str) -> Facts:
    return {"training.bf16": True} if dtype == "bfloat16" else {"training.fp16": True}


def _bits(method: str) -> Facts:
    return {"quantization.load_in_4bit": True} if method == "qlora" else {}


def _named(kinds: dict[str, str]) -> Callable[[str], Facts]:
    return lambda method: {"training.finetuning_type": kinds[method], **_bits(method)}


PLAIN = {"full": "full", "lora": "lora", "qlora": "lora"}
DATA = [{"path": "tatsu-lab/alpaca", "type": "alpaca"}]
WRITERS = {
    "trl": Writer(
        "sft.yaml", huggingface.ROWS, {"model.name_or_path": "model_name_or_path", "lora.r": "lora_r"},
        lambda method: {"lora.use_peft": method != "full", **_bits(method), **({"model.dtype": "bfloat16"} if method == "qlora" else {})}, _switches,
        {"sft": {"=packing": False}, "dpo": {"=max_length": 2048, "=f_divergence_type": "reverse_kl", "training.beta": 0.1}},
        {"=dataset_name": "trl-lib/Capybara", "=output_dir": "out"},
    ),
    "llamafactory": Writer(
        "train.yaml", llamafactory.ROWS, {"model.name_or_path": "model_name_or_path", "lora.r": "lora_rank", "quantization.load_in_4bit": "quantization_bit"},
        _named(PLAIN), _switches, {"sft": {"training.stage": "sft"}, "dpo": {"training.stage": "dpo"}},
        {"=template": "default", "=dataset": "identity", "=do_train": True, "=output_dir": "out"},
    ),
    "axolotl": Writer(
        "axolotl.yaml", axolotl.ROWS, {"model.name_or_path": "base_model", "lora.r": "lora_r"},
        lambda method: {"training.adapter": None, **_bits(method)} if method == "full" else  # without targets PEFT is handed an empty list
                       {"training.adapter": method, "=lora_target_linear": True, **_bits(method)}, _switches,
        {"sft": {}, "dpo": {"training.rl": "dpo"}}, {"=datasets": DATA, "=sequence_len": 2048, "=output_dir": "out"},
    ),
    "ms-swift": Writer(
        "swift.sh", swift.ROWS, {"model.name_or_path": "model", "training.finetuning_type": "tuner_type", "lora.r": "lora_rank",
                                   "quantization.load_in_4bit": "quant_bits", "training.per_device_train_batch_size": "per_device_train_batch_size",
                                   "training.learning_rate": "learning_rate", "training.max_grad_norm": "max_grad_norm"},
        lambda method: {**_named(PLAIN)(method), **({"=quant_method": "bnb"} if method == "qlora" else {})}, lambda dtype: {"=torch_dtype": dtype},
        {"sft": {}, "dpo": {"=rlhf_type": "dpo"}}, {"=dataset": "a", "=output_dir": "out", "=loss_scale": "default", "=max_length": 2048}, "flags",
        {"sft": "swift sft", "dpo": "swift rlhf"},  # its file alone may as well be one of `swift pt`
    ),
    "torchtune": Writer(
        "tune.yaml", torchtune.ROWS, {},
        lambda method: {"=model._component_": "torchtune.models.llama3_1." + {"full": "", "lora": "lora_", "qlora": "qlora_"}[method] + "llama3_1_8b"},
        lambda dtype: {"model.dtype": dtype},
        {"sft": {"=loss._component_": "torchtune.modules.loss.LinearCrossEntropyLoss"}, "dpo": {"=loss._component_": "torchtune.rlhf.loss.DPOLoss"}},
        {"=optimizer._component_": "torch.optim.AdamW", "=output_dir": "out"},
    ),
    "litgpt": Writer(
        "litgpt.yaml", litgpt.ROWS,
        {"model.name_or_path": "checkpoint_dir", "training.learning_rate": "optimizer.init_args.lr",
         "training.weight_decay": "optimizer.init_args.weight_decay"},
        lambda method: {"=quantize": "bnb.nf4"} if method == "qlora" else {},
        lambda dtype: {"=precision": {"bfloat16": "bf16-true", "float16": "16-true"}[dtype]}, {"sft": {}},
        {"=optimizer.class_path": "torch.optim.AdamW", "=eval.interval": 100, "=out_dir": "out", "=devices": 1, "=train.global_batch_size": 16},
    ),
    "nemo-automodel": Writer(
        "automodel.yaml", module_of("nemo-automodel").ROWS, {"training.stage": "recipe"},
        lambda method: {**({"=peft._target_": "nemo_automodel.components._peft.lora.PeftConfig"} if method != "full" else {}), **_bits(method)},
        lambda dtype: {"model.dtype": dtype}, {"sft": {}},
        {"=recipe": "TrainFinetuneRecipeForNextTokenPrediction", "=optimizer._target_": "torch.optim.AdamW", "=checkpoint.checkpoint_dir": "out",
         "=step_scheduler.global_batch_size": 16},
    ),
    "xtuner": Writer(
        "config.py", xtuner.ROWS,
        {"model.name_or_path": "model.llm.pretrained_model_name_or_path", "quantization.load_in_4bit": "model.llm.quantization_config.load_in_4bit"},
        lambda method: {**({"=model.lora.type": "LoraConfig"} if method != "full" else {}), **_bits(method)},
        lambda dtype: {"training.amp_dtype": dtype}, {"sft": {"=model.type": "SupervisedFinetune"}, "dpo": {"=model.type": "DPO", "training.beta": 0.1}},
        {"=optim_wrapper.type": "AmpOptimWrapper", "=optim_wrapper.optimizer.type": "AdamW", "=work_dir": "out"}, "python",
    ),
    "flags": Writer(
        "run.sh", llamafactory.ROWS, {"model.name_or_path": "model_name_or_path", "lora.r": "lora_rank", "quantization.load_in_4bit": "quantization_bit"},
        _named(PLAIN), _switches, {"sft": {"training.stage": "sft"}, "dpo": {"training.stage": "dpo"}},
        {"=template": "default", "=dataset": "identity", "=do_train": True, "=output_dir": "out"}, "flags",
        {"sft": "llamafactory-cli train", "dpo": "llamafactory-cli train"},
    ),
}  # fmt: skip

BASE: Facts = {
    "training.per_device_train_batch_size": 2,
    "training.gradient_accumulation_steps": 8,
    "training.num_train_epochs": 1,
}
LORA: Facts = {"lora.r": 16, "lora.lora_alpha": 32}


# axolotl loads the weights in the dtype of the switch, without a float32 copy: fp16 gradients are then refused by the loss scaler.
ITS_OWN = {
    ("axolotl", "full", "float16"): {"fp16-weights-with-loss-scaler"},
    ("torchtune", "full", "float16"): {"torchtune-fp16"},
    ("torchtune", "lora", "float16"): {"torchtune-fp16"},
}
# torchtune refuses fp16, so that nothing overflows
INSTEAD = {"torchtune-fp16"}
# litgpt's own recipes take 2e-4 for every full fine-tuning; NeMo AutoModel takes a fused kernel by itself
SILENT = {("litgpt", "full-rate-above-recipes", "full"), ("nemo-automodel", "fp16-qwen2-risk", "full")}
# what is wrong with a value anywhere, and what a dialect says to any value; litgpt's finetuning refuses a norm whatever it is
BESIDES = {("litgpt", "gradient-clipping-negative"): "litgpt-argument-refused"}


class Family(NamedTuple):
    method: str
    dtype: str
    facts: Facts
    findings: frozenset[str] = frozenset()  # of at least a warning
    objective: str = "sft"
    model: str = "Qwen/Qwen2.5-7B-Instruct"


FAMILIES = {
    "full fine-tuning as it should be": Family("full", "bfloat16", {"training.learning_rate": 2e-5}),
    "fp16 may overflow": Family("full", "float16", {"training.learning_rate": 2e-5}, frozenset({"fp16-qwen2-risk"}), model="Qwen/Qwen2-7B-Instruct"),
    "full fine-tuning far too fast": Family("full", "bfloat16", {"training.learning_rate": 5e-4}, frozenset({"full-rate-above-recipes"})),
    "an adapter as it should be": Family("lora", "bfloat16", {"training.learning_rate": 1e-4, **LORA}),
    "an adapter far too fast": Family("lora", "bfloat16", {"training.learning_rate": 5e-2, **LORA}, frozenset({"lora-rate-above-recipes"})),
    "an adapter in fp16": Family("lora", "float16", {"training.learning_rate": 1e-4, **LORA}, frozenset({"fp16-qwen2-risk"}), model="Qwen/Qwen2-7B-Instruct"),
    "an adapter on four bits": Family("qlora", "bfloat16", {"training.learning_rate": 1e-4, **LORA}),
    "weights decay out of range": Family(
        "lora", "bfloat16", {"training.learning_rate": 1e-4, "training.weight_decay": 3.0, **LORA}, frozenset({"weight-decay-out-of-range"})),
    "a negative clip": Family(
        "lora", "bfloat16", {"training.learning_rate": 1e-4, "training.max_grad_norm": -1.0, **LORA}, frozenset({"gradient-clipping-negative"})),
    "preferences as they should be": Family("lora", "bfloat16", {"training.learning_rate": 5e-6, **LORA}, objective="dpo"),
    "preferences far too fast": Family("full", "bfloat16", {"training.learning_rate": 1e-3}, frozenset({"preference-rate-above-recipes"}), "dpo"),
    "Gemma 3 in fp16": Family("full", "float16", {"training.learning_rate": 2e-5}, frozenset({"fp16-gemma3-overflow"}), model="google/gemma-3-4b-it"),
    "another model as it should be": Family("lora", "bfloat16", {"training.learning_rate": 2e-4, **LORA}, model="meta-llama/Llama-3.1-8B-Instruct"),
}  # fmt: skip
COMPARED = ["derived.method", "derived.objective", "derived.compute_dtype", "derived.batch_per_device", "derived.lora_scale", "derived.learning_rate_band",
            "model.type", "model.parameters", "training.learning_rate", "training.num_train_epochs", "lora.r", "lora.lora_alpha"]  # fmt: skip


def _key(writer: Writer, fact: str) -> tuple[str, str]:
    """The dialect's key for a fact, and its codec; a field of the config classes has its own name."""
    rows = [
        (key, row)
        for key, found in writer.rows.items()
        for row in ((found,) if isinstance(found, Row) else found)
        if row.fact == fact
    ]
    wanted = writer.keys.get(fact) or (rows[0][0] if rows else fact.partition(".")[2])
    return wanted, next((row.codec for key, row in rows if key == wanted), "plain")


# These are told the whole batch; litgpt refuses keys that it does not have.
UNSAID = {name: {"training.gradient_accumulation_steps"} for name in ("litgpt.yaml", "automodel.yaml")}


def _tree(writer: Writer, family: Family) -> dict[str, Any]:
    said = {"model.name_or_path": family.model, **BASE, **family.facts, **writer.method(family.method), **writer.precision(family.dtype),
            **writer.objective[family.objective], **writer.always}  # fmt: skip
    tree: dict[str, Any] = {}
    for fact, value in said.items():
        key, words = (fact[1:], value) if fact.startswith("=") else (None, None)
        if key is None:
            if fact in UNSAID.get(writer.file, ()):
                continue
            key, name = _key(writer, fact)
            words = codec.write(name, value)
        *above, last = key.split(".")
        inner = tree
        for part in above:
            inner = inner.setdefault(part, {})
        inner[last] = words
    return tree


def _python(value: Any, key: str = "") -> str:
    if isinstance(value, dict):
        return "dict(" + ", ".join(f"{name}={_python(inner, name)}" for name, inner in value.items()) + ")"
    return str(value) if key == "type" else repr(value)


IMPORTS = """from mmengine.optim import AmpOptimWrapper
from peft import LoraConfig
from torch.optim import AdamW
from xtuner.model import DPO, SupervisedFinetune

"""


def written(writer: Writer, family: Family) -> str:
    tree = _tree(writer, family)
    if writer.form == "python":
        return IMPORTS + "".join(f"{name} = {_python(value)}\n" for name, value in tree.items())
    if writer.form == "flags":
        return (
            writer.command[family.objective]
            + "".join(f" \\\n    --{key} {value}" for key, value in tree.items())
            + "\n"
        )
    return str(yaml.safe_dump(json.loads(json.dumps(tree)), sort_keys=False))


CASES = [
    pytest.param(family, dialect, id=f"{name} in {dialect}")
    for name, family in FAMILIES.items()
    for dialect, writer in WRITERS.items()
    if family.objective in writer.objective
]


def test_every_family_is_written_in_at_least_six_dialects() -> None:
    assert all(
        sum(family.objective in writer.objective for writer in WRITERS.values()) >= 6 for family in FAMILIES.values()
    )


@pytest.mark.parametrize(("family", "dialect"), CASES)
def test_the_run_is_the_same_whoever_reads_it(family: Family, dialect: str, tmp_path: Path) -> None:
    writer = WRITERS[dialect]
    found = inspected(tmp_path, {writer.file: written(writer, family)})
    (run,) = found.runs
    world = Checked(run).newest
    reference = Checked(_reference(family, tmp_path / "reference")).newest
    facts = {name: world.value(name) for name in COMPARED}
    if dialect in ("litgpt", "nemo-automodel"):  # they name the whole batch and work the accumulation out
        facts["derived.batch_per_device"] = reference.value("derived.batch_per_device")
    assert facts == {name: reference.value(name) for name in COMPARED}
    own = ITS_OWN.get((dialect, family.method, family.dtype), set())
    of_family = {rule for rule in family.findings if (dialect, rule, family.method) not in SILENT}
    besides = {BESIDES[dialect, rule] for rule in of_family if (dialect, rule) in BESIDES}
    expected = own if own & INSTEAD else of_family | own | besides
    assert {d.rule for d in found.report.diagnostics if d.severity != "info"} == expected


def test_a_file_that_leaves_the_objective_open_draws_a_hint_at_most(tmp_path: Path) -> None:
    """ms-swift's file may be one of `swift pt`, for which such a rate is usual: the command says which."""
    text = written(WRITERS["ms-swift"]._replace(form="yaml"), FAMILIES["full fine-tuning far too fast"])
    (found,) = inspected(tmp_path, {"swift.yaml": text}).report.diagnostics
    assert (found.rule, found.severity) == ("full-rate-above-recipes", "info")


def _reference(family: Family, folder: Path) -> Any:
    (run,) = inspected(folder, {"train.yaml": written(WRITERS["llamafactory"], family)}).runs
    return run
