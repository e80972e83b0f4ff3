"""The founding stories as files of every kind: found, repaired across files, comments kept, and idle the second time."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from stablint.config.options import options
from stablint.engine import judging
from stablint.engine import repair as apply
from stablint.engine.repair import Repaired, repair
from tests.runs import Files, rules, world, written

YAML = (
    "# the run of May\n"
    "model_name_or_path: Qwen/Qwen2-7B-Instruct\n"
    "dataset_name: trl-lib/Capybara\n"
    "fp16: true   # as before\n"
    "learning_rate: 1.0e-5\n"
    "use_peft: true\n"
)
PYTHON = "from transformers import Trainer, TrainingArguments\n\nargs = TrainingArguments(\n    'out',\n    fp16=True,  # as before\n    learning_rate=1e-5,\n)\n"  # noqa: E501
SHELL = (
    "# the run of May\n"
    "torchrun --nproc_per_node 2 train.py \\\n"
    "    --model_name_or_path Qwen/Qwen2-7B-Instruct \\\n"
    "    --fp16 True \\\n"
    "    --output_dir out --learning_rate 1e-5\n"
)
DEEPSPEED = '{\n  "fp16": {"enabled": true},\n  "zero_optimization": {"stage": 2}\n}\n'
ACCELERATE = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: fp16  # as before\nnum_processes: 2\nnum_machines: 1\n"
NO_SWITCH = YAML.replace("fp16: true   # as before\n", "")
LAUNCH = "accelerate launch --config_file acc.yaml train.py --model_name_or_path Qwen/Qwen2-7B-Instruct --output_dir out --learning_rate 1e-5\n"

# The same story, wherever its dtype is decided: files, options, what is left of each changed file.
STORIES: dict[str, tuple[Files, dict[str, Any], Files]] = {
    "YAML": ({"train.yaml": YAML}, {}, {"train.yaml": YAML.replace("fp16", "bf16")}),
    "YAML with CRLF": ({"train.yaml": YAML.replace("\n", "\r\n")}, {}, {"train.yaml": YAML.replace("fp16", "bf16").replace("\n", "\r\n")}),
    "JSON": (
        {"train.json": json.dumps({"model_name_or_path": "Qwen/Qwen2-7B-Instruct", "output_dir": "o", "fp16": True, "learning_rate": 1e-5}, indent=4)},
        {},
        {"train.json": json.dumps({"model_name_or_path": "Qwen/Qwen2-7B-Instruct", "output_dir": "o", "bf16": True, "learning_rate": 1e-5}, indent=4)},
    ),
    "Python": ({"train.py": PYTHON}, {"model": "Qwen/Qwen2-7B-Instruct"}, {"train.py": PYTHON.replace("fp16", "bf16")}),
    "shell": ({"run.sh": SHELL}, {}, {"run.sh": SHELL.replace("--fp16", "--bf16")}),
    "accelerate's file": ({"acc.yaml": ACCELERATE, "run.sh": LAUNCH}, {}, {"acc.yaml": ACCELERATE.replace("fp16", "bf16")}),
}  # fmt: skip


def mended(folder: Path, files: Files, **said: Any) -> Repaired:
    base = written(folder, files)
    return repair([base], options(**said), unsafe=True, base=base)


def texts(done: Repaired, folder: Path) -> Files:
    return {Path(path).relative_to(folder).as_posix(): text.text for path, text in done.texts.items()}


@pytest.mark.parametrize(("files", "said", "expected"), STORIES.values(), ids=STORIES)
def test_fp16_on_a_model_that_overflows_becomes_bf16(
    files: Files, said: dict[str, Any], expected: Files, tmp_path: Path
) -> None:
    done = mended(tmp_path, files, gpus=["A100-80GB"], **said)
    assert texts(done, tmp_path) == expected
    assert not done.refused
    assert (
        world(tmp_path / "after", files | expected, gpus=["A100-80GB"], **said).value("derived.compute_dtype")
        == "bfloat16"
    )


@pytest.mark.parametrize(("files", "said", "expected"), STORIES.values(), ids=STORIES)
def test_a_second_repair_finds_nothing_to_do(
    files: Files, said: dict[str, Any], expected: Files, tmp_path: Path
) -> None:
    again = mended(tmp_path, files | expected, gpus=["A100-80GB"], **said)
    assert not again.texts and not again.fixed


def test_a_card_without_bf16_gets_float32_and_gradient_checkpointing(tmp_path: Path) -> None:
    done = mended(tmp_path, {"train.yaml": YAML}, gpus=["V100-32GB"])
    after = world(tmp_path / "after", texts(done, tmp_path), gpus=["V100-32GB"])
    assert after.value("derived.compute_dtype") == "float32"
    assert after.value("training.gradient_checkpointing") is True


def test_the_deepspeed_file_changes_with_the_file_that_names_it(tmp_path: Path) -> None:
    files = {"train.yaml": YAML + "deepspeed: ds.json\n", "ds.json": DEEPSPEED}
    done = mended(tmp_path, files, gpus=["A100-80GB x2"])
    after = texts(done, tmp_path)
    assert after.keys() == files.keys()
    part = json.loads(after["ds.json"])
    assert part["bf16"] == {"enabled": True} and part.get("fp16", {"enabled": False}) == {"enabled": False}
    assert "bf16: true   # as before" in after["train.yaml"]
    again = mended(tmp_path / "again", after, gpus=["A100-80GB x2"])
    assert not again.texts


def test_only_safe_repairs_unless_more_is_allowed(tmp_path: Path) -> None:
    base = written(tmp_path, {"train.yaml": YAML})
    done = repair([base], options(gpus=["V100-32GB"]), unsafe=False, base=base)
    assert "fp16: true" in texts(done, tmp_path).get("train.yaml", YAML)


def test_what_is_filled_in_elsewhere_is_not_written_into(tmp_path: Path) -> None:
    assert not mended(tmp_path, {"train.yaml": YAML.replace("fp16: true", 'fp16: "${FP16}"')}, gpus=["A100-80GB"]).texts


def test_a_key_is_renamed_without_its_anchor(tmp_path: Path) -> None:
    done = mended(tmp_path, {"train.yaml": YAML.replace("fp16: true", "fp16: &half true")}, gpus=["A100-80GB"])
    assert "\nbf16: &half true   # as before\n" in texts(done, tmp_path)["train.yaml"]


def test_nothing_on_disk_changes(tmp_path: Path) -> None:
    mended(tmp_path, {"train.yaml": YAML}, gpus=["A100-80GB"])
    assert (tmp_path / "train.yaml").read_text(encoding="utf-8") == YAML


def test_a_healthy_run_is_left_alone(tmp_path: Path) -> None:
    done = mended(tmp_path, {"train.yaml": YAML.replace("fp16", "bf16")}, gpus=["A100-80GB"])
    assert not done.texts
    assert not rules(done.inspection, "error", "warning")


MANY = 24


def judged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs that are judged from now on, one by one."""
    seen: list[str] = []
    original = judging.check

    def check(run: Any, *rest: Any) -> Any:
        seen.append(run.id)
        return original(run, *rest)

    monkeypatch.setattr(judging, "check", check)
    return seen


def test_a_folder_costs_no_more_than_three_checks_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = judged(monkeypatch)
    done = mended(tmp_path, {f"{n}/train.yaml": YAML for n in range(MANY)}, gpus=["A100-80GB"])
    assert len(done.texts) == MANY and len(seen) <= 3 * MANY


@pytest.mark.parametrize("apart", [True, False])
def test_of_many_repairs_one_is_refused(apart: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that no run reads together do not wait for one another; in one chain of files the guilty repair is found by halving."""

    def objection(before: Any, after: str, edits: Any) -> str:
        return "no" if before.name.endswith("7.yaml") and "bf16: true" in after else ""

    monkeypatch.setattr(apply, "objection", objection)
    if not apart:
        original = apply._grouped
        monkeypatch.setattr(
            apply,
            "_grouped",
            lambda fixes, report: [apply._Group(fixes, {name for g in original(fixes, report) for name in g.files})],
        )
    seen = judged(monkeypatch)
    done = mended(tmp_path, {f"t{n}.yaml": YAML for n in range(MANY)}, gpus=["A100-80GB"])
    left = {
        name for name in (f"t{n}.yaml" for n in range(MANY)) if "\nfp16: true" in texts(done, tmp_path).get(name, YAML)
    }
    assert left == {f"t{n}.yaml" for n in (7, 17)}
    assert len(done.refused) == 2 and all("no; it was not written" in line for line in done.refused)
    assert len(seen) <= (4 if apart else 8) * MANY


def test_a_repair_that_would_bring_another_error_is_told_and_no_bug(tmp_path: Path) -> None:
    text = (
        "base_model: EleutherAI/pythia-12b-deduped\nmodel_type: GPTNeoXForCausalLM\ndatasets:\n  - {path: d, type: alpaca}\nsequence_len: 8\n"
        "micro_batch_size: 1\nlearning_rate: 1.0e-5\noptimizer: adamw_bnb_8bit\nbf16: false\nfp16: false\nfloat16: true\nflash_optimum: true\n"
    )
    done = mended(tmp_path, {"train.yaml": text})
    assert "pure-fp16-training" in rules(done.inspection) and not done.refused
    assert "axolotl-bettertransformer-amp" in done.kept_out[0]
    assert {
        d.fix.applicability for d in done.inspection.report.diagnostics if d.rule == "pure-fp16-training" and d.fix
    } == {"manual"}


ADAPTED_TWICE = """from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainingArguments
from trl import SFTTrainer

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2-7B")
adapter = LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj"], task_type="CAUSAL_LM")
model = get_peft_model(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2-7B"), adapter)
args = TrainingArguments(output_dir="out", bf16=True, learning_rate=1e-4)
SFTTrainer(model=model, train_dataset=rows, peft_config=adapter, dataset_text_field="text", tokenizer=tokenizer, args=args).train()
"""


def test_a_call_is_brought_to_a_release_with_all_its_names_or_not_at_all(tmp_path: Path) -> None:
    """Where one name stays, since another error would come of its repair, so do the others: the call would fail as it did."""
    done = mended(tmp_path / "a", {"train.py": ADAPTED_TWICE})
    assert not done.texts and len(done.kept_out) == 2
    assert all("peft-model-and-peft-config" in line for line in done.kept_out)
    once = ADAPTED_TWICE.replace("peft_config=adapter, ", "")
    repaired = str(texts(mended(tmp_path / "b", {"train.py": once}), tmp_path / "b")["train.py"])
    assert "processing_class=tokenizer" in repaired and "SFTConfig(output_dir" in repaired


def test_a_file_that_must_not_change_takes_its_repairs_out(tmp_path: Path) -> None:
    """All files of a repair or none: the one that names the DeepSpeed file is not changed without it."""
    base = written(tmp_path, {"train.yaml": YAML + "deepspeed: ds.json\n", "ds.json": DEEPSPEED, "other.yaml": YAML})
    done = repair(
        [base],
        options(gpus=["A100-80GB x2"]),
        unsafe=True,
        base=base,
        closed=lambda path: "shut" if path.endswith("ds.json") else "",
    )
    assert "ds.json" not in texts(done, tmp_path) and "other.yaml" in texts(done, tmp_path)
    assert dict(done.closed) == {str(tmp_path / "ds.json"): "shut"}


DUPLICATES = {
    "two pairs": "seed: 1\nlogging_steps: 1\nseed: 2\nlogging_steps: 2\n",
    "three of one": "seed: 1\nseed: 2\nseed: 3\n",
    "a block with comments": "fsdp_config:\n  # one\n  a: 1  # two\n  # three\nseed: 1\nfsdp_config: {}\n",
}


@pytest.mark.parametrize("more", DUPLICATES.values(), ids=DUPLICATES)
def test_duplicate_keys_go_without_a_word(more: str, tmp_path: Path) -> None:
    done = mended(tmp_path, {"train.yaml": YAML.replace("fp16", "bf16") + more})
    assert not done.refused and "duplicate-key" not in rules(done.inspection)
    assert texts(done, tmp_path)["train.yaml"].count("seed") == 1


def test_a_block_of_many_keys_goes_from_a_deepspeed_file(tmp_path: Path) -> None:
    block = {
        name: {"shared_parameters": {"enabled": True, "a": 1, "b": 2}, "different_groups": {}}
        for name in ("weight_quantization", "row_pruning")
    }
    content = {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 1}, "compression_training": block}
    done = mended(tmp_path, {"ds.json": json.dumps(content, indent=2)})
    assert not done.refused


def test_a_repair_that_is_for_another_ones_line_is_made_in_the_next_round(tmp_path: Path) -> None:
    """The end of the command is found once its lines are joined, and with it the setting that counts."""
    line = "  --finetuning_type lora --lora_target q_proj,v_proj --output_dir out --bf16"
    head = "llamafactory-cli train --stage sft --do_train --model_name_or_path THUDM/chatglm3-6b --dataset ours --template chatglm3 \\"
    done = mended(tmp_path, {"run.sh": f"{head}\n{line}\n{line}\n"})
    assert not done.refused
    assert texts(done, tmp_path)["run.sh"].count("query_key_value") == 1


def test_what_many_refused_repairs_leave_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each trial costs a check, so that their number is bounded; the rest is said to have been left."""
    monkeypatch.setattr(apply, "objection", lambda before, after, edits: "")
    monkeypatch.setattr(apply.limits, "TRIED", apply.limits.TRIED._replace(most=3))
    unknown = "".join(f"distributed_type_{n}: {n}\n" for n in range(12))
    text = f"compute_environment: LOCAL_MACHINE\nnum_machines: 1\nnum_processes: 2\nmixed_precision: bf16\n{unknown}"
    done = mended(tmp_path, {"accelerate.yaml": text})
    assert any("too many repairs beside it were refused" in line for line in done.kept_out)


CALLS = (
    'BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16, bnb_4bit_use_double_quant=True)',
    'TrainingArguments("o", fp16=True, eval_strategy="steps", save_strategy="steps", save_steps=30, eval_steps=20, load_best_model_at_end=True)',
    'LoraConfig(r=8, lora_alpha=1, target_modules=["q_prj"], lora_dropout=0.1, task_type="CAUSAL_LM")',
    'GRPOConfig(output_dir="o", num_generations=3, per_device_train_batch_size=4, vllm_mode="colocate", max_completion_length=512)',
)
IMPORTS = "import torch\nfrom peft import LoraConfig\nfrom transformers import BitsAndBytesConfig, TrainingArguments\nfrom trl import GRPOConfig\n"
SLIPS = [
    call.replace(f"{name}=", f"{slip}=")
    for call in CALLS
    for name in re.findall(r"(\w+)=", call)
    for slip in (name[:2] + "3" + name[2:], f"{name}s")
]


def test_whatever_is_repaired_at_once_is_still_a_program(tmp_path: Path) -> None:
    """A name that is corrected, and what a missing setting gets, may be the same: `bn3b_4bit_compute_dtype`."""
    programs = {f"{number}/train.py": f"{IMPORTS}made = {call}\n" for number, call in enumerate(SLIPS)}
    done = texts(mended(tmp_path, programs), tmp_path)
    assert len(done) > len(SLIPS) / 3  # of the others a name is taken out, by the code of its rule alone
    for text in done.values():
        compile(str(text), "train.py", "exec")


FLAGS = "deepspeed --module openrlhf.cli.train_sft --pretrain a/b --dataset a --learning_rate 5e-6 --max_epochs 1 --zero_stage 2 "


@pytest.mark.parametrize(
    ("given", "release", "left"),
    [
        ("--flash_attn", "0.10.2", "--flash_attn"),  # the new name wants a value
        ("--flash_attn --bf16", "0.10.2", "--flash_attn"),
        ("--gradient_checkpointin", "0.8.5", "--gradient_checkpointing"),  # a slip of the hand
        ("--micro_train_batch_size 2", "0.10.2", "--micro_batch_size 2"),
    ],
)
def test_a_flag_that_stands_alone_gets_no_name_that_wants_a_value(
    given: str, release: str, left: str, tmp_path: Path
) -> None:
    done = texts(mended(tmp_path, {"run.sh": f"{FLAGS}{given}\n"}, releases=[f"openrlhf=={release}"]), tmp_path)
    words = str(done.get("run.sh", FLAGS + given))
    assert "--attn_implementation" not in words and left in words
