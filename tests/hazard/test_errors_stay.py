"""An error can be drawn as an error. A rule of run/derived that presumes something by asking for it (`is_stated` where `is_said` is meant) makes
warnings of all errors that rest on its fact, in every run: for an hour no error of a model that is trained whole was one."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stablint import run
from stablint.base import knowledge
from stablint.hazard.checked import Checked
from stablint.hazard.condition import facts_read
from stablint.hazard.model import Hazard
from stablint.hazard.verdict import check
from tests.grouped import by, each
from tests.hazard.test_checker import hazard
from tests.runs import runs
from tests.test_hazards import EXAMPLES, HAZARDS, look

# Their examples are parts of a run: who starts the program, or what a file beside it says, is not at hand. None is to be added that could be drawn.
_IN_PART = """accelerate-batch-unknown accelerate-deepspeed-overruled accelerate-optimizer-in-both best-saved-by-no-metric deepspeed-clip-in-optimizer
    deepspeed-grad-norm-with-clipping deepspeed-lamb-static-scale deepspeed-legacy-stage1 deepspeed-optimizer-without-scheduler
    deepspeed-predivide-reduce-scatter deepspeed-quantized-gradients deepspeed-range-test-step deepspeed-warmup-not-positive
    deepspeed-without-zero-block flash-attention-4-old-card flash-attention-not-supported fp16-adapter-added-in-place fused-optimizer-on-cpu
    gemma2-sdpa-refused heads-not-divided-by-ulysses internal-fault layerwise-accumulation layerwise-distributed library-pair-breaks-trainer
    llamafactory-export-refused llamafactory-freeze-lone-parameter llamafactory-training-file-given min-lr-given-twice
    min-lr-schedule-without-min negative-warmup optimizer-targets-type persistent-workers-without-workers plateau-without-eval
    save-only-model-best-sharded save-only-model-sharded schedule-argument-unknown schedulefree-too-old swift-file-given-otherwise
    trainer-optimizer-with-offload trl-4bit-and-8bit-refused trl-liger-fused-loss unopened-file verl-batch-of-all-cards
    verl-batch-reward-without-function verl-chunked-prefill-below-row verl-completions-not-whole verl-critic-batch-not-whole
    verl-engine-does-not-divide-cards verl-heads-not-divided-by-engine verl-mini-batch-not-whole verl-reward-manager-gone verl-rollout-unnamed
    verl-row-beyond-positions verl-schedule-unknown verl-sequence-parallel-with-padding verl-update-without-a-row wsd-without-decay"""
IN_PART = frozenset(_IN_PART.split())
ERRORS = [hazard for hazard in HAZARDS.values() if hazard.severity == "error" and hazard.id not in IN_PART]
# Where an example states no release, its error is a warning: then as it stands with the newest of these libraries.
STATED = (
    ("axolotl",), ("llamafactory",), ("ms-swift",), ("verl",), ("openrlhf",), ("transformers", "accelerate", "peft", "trl"), ("deepspeed",),
    ("transformers", "accelerate", "peft", "trl", "deepspeed", "bitsandbytes", "torch"),
)  # fmt: skip


def _severities(hazard: Hazard, folder: Path, libraries: tuple[str, ...]) -> set[str]:
    newest: dict[str, list[str]] = knowledge.load("releases")
    found: set[str] = set()
    for number, example in enumerate(EXAMPLES[hazard.id]):
        given: dict[str, Any] = dict(example.get("options") or {})
        said = " ".join(given.get("with", []))
        more = [f"{library}=={newest[library][-1]}" for library in libraries if library not in said]
        given["with"] = [*given.get("with", []), *more]
        told = look(example["files"], folder / f"{'-'.join(libraries)}{number}", given, (hazard,))
        found |= {one.severity for one in told}
        if "error" in found:
            break
    return found


@each(by(lambda hazard: hazard.code[0], lambda hazard: hazard.id, ERRORS), 2)
def test_an_error_is_drawn_as_one(hazard: Hazard, tmp_path: Path) -> None:
    assert any("error" in _severities(hazard, tmp_path, libraries) for libraries in ((), *STATED))


def test_what_is_left_out_is_an_error() -> None:
    assert {name for name in IN_PART if HAZARDS[name].severity != "error"} == set()


# How often a module of run/derived asks `is_stated`, by which the fact is presumed where nobody says the setting. `is_said` and `said_in` are what
# is meant where silence is an answer.
ASKED = {
    "batch.py": 3, "lengths.py": 1, "memory.py": 6, "method.py": 6, "peak.py": 3, "precision.py": 4, "rate.py": 1, "trainer.py": 5,
}  # fmt: skip


def test_no_derived_fact_presumes_by_asking() -> None:
    asked: Counter[str] = Counter()
    for path in sorted(Path(run.__file__).parent.joinpath("derived").glob("*.py")):
        words = [
            node.attr
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Attribute)
        ]
        assert "explicit" not in words, (
            f"{path.name} looks into what is written past the world, so that nothing rests on it"
        )
        asked[path.name] = words.count("is_stated")
    assert {name: count for name, count in asked.items() if count > ASKED.get(name, 0)} == {}


PROGRAM = """from transformers import AutoModelForCausalLM, {imports}Trainer, TrainingArguments

{args}
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B-Instruct", dtype="bfloat16")
Trainer(model=model, args=args, train_dataset=rows).train()
"""
NEWEST = [
    "transformers==5.23.0",
    "accelerate==1.15.0",
    "trl==1.16.0",
    "peft==0.21.2",
    "deepspeed==0.19.8",
    "torch==2.14.0",
]
# The same training of a whole model, of which everything that decides is at hand.
WHOLE = {
    "python": {"train.py": PROGRAM.format(imports="", args='args = TrainingArguments(output_dir="out", learning_rate=1e-5, bf16=True)')},
    "flags": {
        "run.sh": "torchrun --nproc_per_node 2 train.py --output_dir out --learning_rate 1e-5 --bf16 True\n",
        "train.py": PROGRAM.format(imports="HfArgumentParser, ", args="(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()"),
    },
    "trl": {
        "run.sh": "trl sft --config train.yaml\n",
        "train.yaml": "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\ndataset_name: a/b\noutput_dir: out\nlearning_rate: 1.0e-5\nbf16: true\n",
    },
    "llamafactory": {
        "run.sh": "llamafactory-cli train train.yaml\n",
        "train.yaml": "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nstage: sft\ndo_train: true\nfinetuning_type: full\ntemplate: qwen\ndataset: a\n"
        "output_dir: out\nlearning_rate: 1.0e-5\nbf16: true\n",
    },
    "axolotl": {
        "run.sh": "axolotl train train.yaml\n",
        "train.yaml": "base_model: Qwen/Qwen2.5-7B-Instruct\ndatasets: [{path: a, type: alpaca}]\nsequence_len: 2048\nmicro_batch_size: 1\n"
        "gradient_accumulation_steps: 4\nlearning_rate: 1.0e-5\nbf16: true\noutput_dir: out\n",
    },
    "ms-swift": {"run.sh": "swift sft --model Qwen/Qwen2.5-7B-Instruct --tuner_type full --dataset a --output_dir out --learning_rate 1e-5\n"},
}  # fmt: skip
FRAMEWORKS = ["llamafactory==0.9.5", "axolotl==0.19.0", "ms-swift==4.6.0"]


def _asked() -> set[str]:
    """The derived facts that errors rest on."""
    return {
        name
        for one in HAZARDS.values()
        if one.severity == "error"
        for name in facts_read(one.when)
        if name.startswith("derived.")
    }


def _unsure(folder: Path, dialect: str) -> str:
    """What is worked out of a run, and makes no error of one that rests on it alone."""
    found = runs(folder, WHOLE[dialect], releases=NEWEST + [one for one in FRAMEWORKS if one.startswith(dialect)])
    (run,) = [one for one in found if len(one.files) == len(WHOLE[dialect])]
    told = []
    for name in sorted(_asked()):
        value = Checked(run).newest.value(name)
        if isinstance(value, (str, bool, int, float)):
            made = hazard(["is", name, 1, value], at=name)
            if any(one.severity != "error" for one in check(run, (made,))[0]):
                told.append(name)
    return "".join(f"{name}\n" for name in told)


@pytest.mark.parametrize("dialect", WHOLE)
def test_what_is_worked_out_of_a_certain_run_is_certain(dialect: str, tmp_path: Path, snapshot: Any) -> None:
    """But for what the snapshot names. A fact that comes to it makes warnings of errors: read which, and why, before it is stored."""
    snapshot(f"unsure/{dialect}.txt", _unsure(tmp_path, dialect))
