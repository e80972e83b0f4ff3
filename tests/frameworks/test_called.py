"""What a command's caller may still say: words of which nothing, or only the key, is known, and sweeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.run.fact import is_unknown
from tests.runs import inspected, runs

EVALUATES = """model_name_or_path: Qwen/Qwen2.5-0.5B
stage: sft
do_train: true
finetuning_type: lora
template: qwen
dataset: alpaca
output_dir: out
eval_strategy: steps
eval_steps: 50
"""
BOTH_BITS = """base_model: NousResearch/Llama-3.2-1B
datasets:
  - {path: mhenrichsen/alpaca_2k_test, type: alpaca}
adapter: qlora
sequence_len: 512
micro_batch_size: 2
learning_rate: 2e-4
load_in_4bit: true
load_in_8bit: true
"""
# A file with a fault, the command that starts it, and how heavy the fault is there; "" where the command may be its cure.
COMMANDS = [
    (EVALUATES, "llamafactory-cli train t.yaml", "error"),
    (EVALUATES, 'llamafactory-cli train t.yaml "$@"', "warning"),
    (EVALUATES, "llamafactory-cli train t.yaml $EXTRA", "warning"),
    (EVALUATES, 'llamafactory-cli train t.yaml "$name=$value"', "warning"),
    (EVALUATES, "for one in val_size=0.1 val_size=0.2; do llamafactory-cli train t.yaml $one; done", "warning"),
    (EVALUATES, "for d in a b; do llamafactory-cli train t.yaml eval_dataset=$d; done", ""),
    (EVALUATES, 'llamafactory-cli train t.yaml "val_size=$SHARE"', ""),
    (BOTH_BITS, "axolotl train t.yaml", "error"),
    (BOTH_BITS, "axolotl train t.yaml --sweep sweep.yaml", "warning"),
    (BOTH_BITS, 'axolotl train t.yaml "$@"', "warning"),
    (BOTH_BITS, "axolotl train t.yaml --load-in-8bit $EIGHT", ""),
    (BOTH_BITS, "axolotl train t.yaml --no-load-in-8bit", ""),
    (BOTH_BITS, "axolotl train t.yaml --no-sample-packing", "error"),
]
RULES = {"evaluation-without-split", "load-4bit-and-8bit"}


@pytest.mark.parametrize(("file", "command", "weight"), COMMANDS)
def test_what_the_caller_may_overrule_is_no_error(tmp_path: Path, file: str, command: str, weight: str) -> None:
    files = {"t.yaml": file, "run.sh": command + "\n"}
    told = inspected(tmp_path, files, releases=["transformers==5.23.0"]).report.diagnostics
    assert [one.severity for one in told if one.rule in RULES] == [weight] * bool(weight)


def test_flags_before_the_callers_words_are_presumed(tmp_path: Path) -> None:
    flags = "--model_name_or_path Qwen/Qwen2-7B --output_dir o --learning_rate 1e-5 --per_device_train_batch_size 2"
    (run,) = runs(tmp_path, {"run.sh": f'python train.py {flags} "$@"\n'})
    assert run.explicit["training.learning_rate"].presumed


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("optimizer.lr=$LR", "training.learning_rate"),
        ('"batch_size=${BATCH}"', "training.per_device_train_batch_size"),
    ],
)
def test_of_a_half_known_word_the_key_is_known(tmp_path: Path, word: str, key: str) -> None:
    recipe = "tune run lora_finetune_single_device --config llama3/8B_lora_single_device"
    (run,) = runs(tmp_path, {"run.sh": f"{recipe} {word}\n"})
    assert is_unknown(run.explicit[key].value)


def test_a_default_in_an_override_is_presumed(tmp_path: Path) -> None:
    (run,) = runs(tmp_path, {"t.yaml": EVALUATES, "run.sh": "llamafactory-cli train t.yaml val_size=${SHARE:-0.1}\n"})
    share = run.explicit["data.val_size"]
    assert share.value in (0.1, "0.1") and share.presumed
