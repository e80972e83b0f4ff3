"""What a repair may do by itself: nothing but safe ones change a file unasked, and no guess makes another training of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stablint.config.options import options
from stablint.engine.inspect import inspect
from stablint.engine.repair import repair
from stablint.fix.editors import Impossible, plain
from stablint.run.fact import ABSENT, HIDDEN
from stablint.syntax.tree import Unknown, Verbatim
from tests.runs import Files, written

HEAD = "model_name_or_path: Qwen/Qwen2.5-7B\ndataset_name: org/data\noutput_dir: out\n"
OWN = '{"model_name_or_path": "org/model", "output_dir": "out", "learning_rate": 1e-5, "max_seq_length": 512}\n'
NEW = ["trl==1.16.0", "transformers==5.23.0"]
UNKNOWN = Unknown("the result of a call")


SAVED = """{
  "peft_type": "LORA",
  "base_model_name_or_path": "microsoft/phi-3-mini-4k-instruct",
  "r": 4,
  "lora_alpha": 8,
  "target_modules": ["q_proj", "k_proj", "v_proj", "o_proj"]
}
"""


LLAMAFACTORY = (
    "llamafactory-cli train --stage sft --do_train --model_name_or_path Qwen/{} --dataset d --template qwen3 --output_dir out "
    "--finetuning_type lora --val_size 0.1 --evaluation_strategy steps\n"
)
TRAINER = """from transformers import TrainingArguments
from trl import SFTTrainer

args = TrainingArguments(output_dir="out", learning_rate=2e-5)
SFTTrainer(model=model, args=args, train_dataset=rows, dataset_text_field="text").train()
"""
GROUPS = (
    "accelerate launch --num_processes=3 src/open_r1/grpo.py --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct --output_dir out "
    "--use_vllm true --bf16 true --per_device_train_batch_size 1\n"
)


class Case(NamedTuple):
    rule: str
    files: Files
    said: dict[str, Any]
    grade: str  # of the finding's repair
    by_name: bool


CASES = {
    "a key that the reader of the file, which is not at hand, may not take": Case(
        "gemma2-sdpa-without-softcap",
        {"train.yaml": "model_name_or_path: google/gemma-2-9b-it\noutput_dir: out\nlearning_rate: 5.0e-7\nbf16: true\n"},
        {"releases": ["transformers==4.43.3"]}, "unsafe", True),
    "a name that every release of the run has": Case(
        "setting-renamed", {"train.yaml": HEAD + "max_seq_length: 512\n"}, {"releases": NEW}, "safe", False),
    "a name that only newer releases have": Case(
        "setting-renamed", {"train.yaml": HEAD + "max_seq_length: 512\n"}, {}, "unsafe", False),
    "a name that older releases have for something else": Case(
        "setting-renamed", {"train.yaml": HEAD + "warmup_ratio: 0.1\n"}, {"releases": ["transformers>=4.40", "trl==1.16.0"]}, "manual", False),
    "the same where every release means it so": Case(
        "setting-renamed", {"train.yaml": HEAD + "warmup_ratio: 0.1\n"}, {"releases": NEW}, "safe", False),
    "the same where only the model tells the release: none that loads it has the old name": Case(
        "setting-renamed", {"train.sh": LLAMAFACTORY.format("Qwen3-4B")}, {}, "safe", False),
    "the same with a model that older releases load": Case(
        "setting-renamed", {"train.sh": LLAMAFACTORY.format("Qwen2-7B")}, {}, "manual", False),
    "an argument that moved into a class which every release of the run has": Case(
        "setting-replaced", {"t.py": TRAINER}, {"releases": ["trl==0.13.0.dev0"]}, "unsafe", False),
    "a whole number that some release of the run would not need": Case(
        "grpo-groups-old-release", {"train.sh": GROUPS}, {"releases": ["trl==0.15.0.dev0"]}, "unsafe", False),
    "what a saved adapter is": Case(
        "lora-targets-partly-missing", {"out/adapter_config.json": SAVED}, {}, "manual", False),
    "a key that a program of its own may ask for": Case(
        "setting-renamed", {"c.json": OWN}, {"releases": NEW}, "unsafe", False),
    "an info about the dtype of the weights": Case(
        "pure-bf16-small-rate", {"train.yaml": HEAD + "dtype: bfloat16\nbf16: false\nlearning_rate: 1.0e-6\n"}, {}, "unsafe", True),
    "a warning that a format overflows": Case(
        "fp16-qwen2-overflow", {"train.yaml": HEAD.replace("2.5-7B", "2-7B-Instruct") + "fp16: true\nattn_implementation: eager\n"}, {}, "unsafe", False),
    "bf16 where the card only emulates it": Case(
        "bf16-emulated", {"train.yaml": HEAD.replace("Qwen/Qwen2.5-7B", "org/model") + "bf16: true\n"}, {"gpus": ["T4 x1"]}, "unsafe", True),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_repair_is_graded_by_what_it_may_break(case: Case, tmp_path: Path) -> None:
    base = written(tmp_path, case.files)
    found = inspect([base], options(**case.said), base=base).report.diagnostics
    fixes = [d.fix for d in found if d.rule == case.rule]
    assert [(fix.applicability, fix.by_name) for fix in fixes if fix is not None] == [(case.grade, case.by_name)]


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.by_name], ids=lambda case: case.rule)
def test_what_is_asked_for_by_name_is_written_and_in_bulk_it_is_not(case: Case, tmp_path: Path) -> None:
    base = written(tmp_path, case.files)
    assert not repair([base], options(**case.said), unsafe=True, base=base).texts
    assert repair([base], options(**case.said), unsafe=True, base=base, named=(case.rule,)).texts


@pytest.mark.parametrize(
    "value",
    [
        UNKNOWN, HIDDEN, ABSENT, object(),
        {"quantization_config": UNKNOWN}, [1, [UNKNOWN]], (1, UNKNOWN), {"a": [{"b": (2, HIDDEN)}]}, {UNKNOWN: 1},
    ],
    ids=lambda value: type(value).__name__ if type(value) is object else repr(value),
)  # fmt: skip
def test_nothing_is_written_that_no_text_can_say(value: object) -> None:
    with pytest.raises(Impossible):
        plain(value)


@pytest.mark.parametrize(
    "value", [None, True, 1, 1.5, "x", Verbatim("torch.bfloat16"), [1, {"a": (2, None)}]], ids=repr
)
def test_plain_values_are_written(value: object) -> None:
    assert plain(value) is value


QUANTISED = """\
from transformers import BitsAndBytesConfig
from trl import SFTConfig, SFTTrainer

{kwargs}
args = SFTConfig(output_dir="out", learning_rate=2e-4)
SFTTrainer("org/model", args=args, model_init_kwargs=kwargs)
"""
HOLDERS = {
    "a call within": 'kwargs = {"trust_remote_code": True, "quantization_config": BitsAndBytesConfig(load_in_4bit=True)}',
    "a call within a call": "kwargs = dict(quantization_config=BitsAndBytesConfig(load_in_4bit=True))",
    "a name within": 'import own\nkwargs = {"device_map": own.MAP}',
    "a call in a list": 'import own\nkwargs = {"max_memory": [own.ask(), "20GiB"]}',
}


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
def test_a_setting_that_holds_what_is_not_known_is_moved_by_hand(holder: str, tmp_path: Path) -> None:
    base = written(tmp_path, {"train.py": QUANTISED.format(kwargs=holder)})
    done = repair([base], options(releases=["trl==0.24.0", "transformers==4.57.6"]), unsafe=True, base=base)
    assert not done.refused
    for text in done.texts.values():
        assert "model_init_kwargs=kwargs" in text.text


CALL = """from trl import DPOConfig, DPOTrainer

args = DPOConfig("out", evaluation_strategy="steps")
trainer = DPOTrainer(model, args=args, tokenizer=tokenizer, train_dataset=rows{more})
"""
# More of the call, what is installed, whether a bulk repair changes the text, and whether the call is left to people: that of the arguments is a call
# of its own.
HALF = [
    ("", [], True, False),
    (", padding_value=tokenizer.pad_token_id", [], False, True),
    (", max_target_length=256", [], False, True),
    (", padding_value=tokenizer.pad_token_id", NEW, True, True),
]


@pytest.mark.parametrize(("more", "releases", "changed", "left"), HALF)
def test_a_text_is_brought_to_a_release_that_may_run_as_a_whole_or_not_at_all(
    more: str, releases: list[str], changed: bool, left: bool, tmp_path: Path
) -> None:
    base = written(tmp_path, {"train.py": CALL.format(more=more)})
    done = repair([base], options(releases=releases), unsafe=True, base=base)
    assert bool(done.texts) == changed
    by_hand = [one for one in done.inspection.report.diagnostics if one.code == "V101"]
    assert bool(by_hand) == left
    assert all("tokenizer=tokenizer" in text.text for text in done.texts.values()) == left or not changed
    assert all(one.fix is not None and one.fix.applicability == "manual" for one in by_hand)
