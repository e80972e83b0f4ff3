"""What releases and frameworks did with a model's memory that others do not: seen in tables of measured runs, and read in the releases' source."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.base import knowledge
from stablint.fitting.answer import Told, answer
from stablint.fitting.likely import likely
from stablint.fitting.terms import GIB
from stablint.memory.plan import sure
from tests.runs import world

PACKED = (
    "model_name_or_path: {model}\noutput_dir: out\npacking: true\nmax_seq_length: {length}\nper_device_train_batch_size: {rows}\n"
    "gradient_accumulation_steps: 1\ngradient_checkpointing: true\nattn_implementation: flash_attention_2\ntorch_dtype: bfloat16\noptim: adamw_torch\n{more}"
)
LORA = "learning_rate: 2.0e-4\nuse_peft: true\nlora_r: 16\nlora_target_modules: [q_proj, k_proj, v_proj, o_proj]\n"
THEN = ("trl==0.13.0", "peft==0.13.2", "accelerate==1.0.1")
MISTRAL = "mistralai/Mistral-7B-v0.1"


def told(
    tmp_path: Path,
    model: str,
    rows: int,
    more: str,
    gpu: str = "A100-80GB",
    release: str = "4.48.1",
    length: int = 4096,
) -> Told:
    text = PACKED.format(model=model, rows=rows, length=length, more=more)
    run = world(tmp_path, {"train.yaml": text}, gpus=[gpu], releases=[f"transformers=={release}", *THEN])
    return answer(run, gpu)


def tensors(found: Told) -> float:
    assert found.estimate is not None
    return max(sum(size for part, size in parts.items() if part not in ("context", "cache")) for parts in found.estimate.parts.values()) / GIB  # fmt: skip


@pytest.mark.parametrize(("rows", "seen"), [(4, 24.87), (8, 36.08)])
def test_logits_that_are_copied_to_be_shifted(tmp_path: Path, rows: int, seen: float) -> None:
    """fms-acceleration's runs of one adapter on one card: torch's own peak."""
    assert tensors(told(tmp_path, MISTRAL, rows, LORA)) == pytest.approx(seen, rel=0.02)


def test_from_4_49_on_the_labels_are_shifted(tmp_path: Path) -> None:
    old, new = (tensors(told(tmp_path, MISTRAL, 4, LORA, release=one)) for one in ("4.48.3", "4.49.0"))
    assert old - new == pytest.approx(2 * 4 * 4096 * 32000 / GIB, rel=0.35)


@pytest.mark.parametrize(("rows", "seen"), [(4, 10.49), (8, 14.15)])
def test_logits_that_nothing_makes_float32(tmp_path: Path, rows: int, seen: float) -> None:
    found = told(tmp_path, "bigcode/gpt_bigcode-santacoder", rows, "learning_rate: 2.0e-5\n", length=2048)
    assert tensors(found) <= seen * 1.02


@pytest.mark.parametrize("more", ["bf16: true\n", ""])
def test_autocast_makes_them_float32(tmp_path: Path, more: str) -> None:
    found = told(tmp_path, "bigcode/gpt_bigcode-santacoder", 8, f"learning_rate: 2.0e-5\n{more}", length=2048)
    assert found.reading is not None
    assert bool(found.reading.plan.narrow.high) is (not more)


@pytest.mark.parametrize(("rows", "seen"), [(2, 8.78), (4, 14.87)])
def test_fsdp_leaves_four_bits_as_they_are(tmp_path: Path, rows: int, seen: float) -> None:
    more = f"{LORA}bf16: true\nload_in_4bit: true\nbnb_4bit_quant_type: nf4\nfsdp: full_shard auto_wrap\n"
    assert tensors(told(tmp_path, MISTRAL, rows, more, "A100-80GB x2")) == pytest.approx(seen, rel=0.05)


TUNE = (
    "model: {{_component_: torchtune.models.llama2.llama2_7b}}\ntokenizer: {{_component_: torchtune.models.llama2.llama2_tokenizer, path: t}}\n"
    "checkpointer: {{_component_: torchtune.utils.FullModelHFCheckpointer, checkpoint_dir: /tmp/Llama-2-7b-hf, output_dir: out, model_type: LLAMA2}}\n"
    "dataset: {{_component_: torchtune.datasets.alpaca_dataset}}\nbatch_size: 1\nepochs: 1\noptimizer: {{_component_: torch.optim.AdamW, lr: 2.0e-5{more}}}\n"
    "loss: {{_component_: torch.nn.CrossEntropyLoss}}\ndevice: cuda\ndtype: bf16\nenable_activation_checkpointing: false\noutput_dir: out\n"
)


@pytest.mark.parametrize(("more", "least"), [("", 62.8), (", foreach: true", 62.8), (", foreach: false", 50.2)])
def test_one_matrix_after_the_other_takes_no_temporaries(tmp_path: Path, more: str, least: float) -> None:
    """About 54 GB were seen without `foreach`: 8 bytes for each of 6.7 billion parameters."""
    found = answer(world(tmp_path, {"config.yaml": TUNE.format(more=more)}, gpus=["A100-80GB"]), "A100-80GB")
    assert found.peak[0] == pytest.approx(least, abs=1.0)


def test_unsloth_quantises_the_scales_too(tmp_path: Path) -> None:
    text = (
        "from unsloth import FastLanguageModel\nfrom trl import SFTConfig, SFTTrainer\n"
        'model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Qwen2.5-7B", max_seq_length=1024, load_in_4bit=True)\n'
        'model = FastLanguageModel.get_peft_model(model, r=16, target_modules=["q_proj"])\n'
        'trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out", per_device_train_batch_size=1), train_dataset=rows)\ntrainer.train()\n'
    )
    found = answer(world(tmp_path, {"train.py": text}, gpus=["T4"]), "T4")
    assert found.reading is not None and found.reading.plan.weights == "4bit-double"


def test_the_likely_range_lies_within_the_bounds_and_around_the_usual_figure(tmp_path: Path) -> None:
    found = told(tmp_path, MISTRAL, 4, LORA.replace("2.0e-4", "1.0e-4"))
    loose = world(
        tmp_path, {"train.yaml": PACKED.format(model=MISTRAL, rows=4, length=4096, more=LORA).replace("packing: true\n", "")},
        gpus=["A100-80GB"], releases=["transformers==4.48.1", *THEN],
    )  # fmt: skip
    for one in (found, answer(loose, "A100-80GB")):
        (least, usual, most), (low, middle, high) = one.peak, one.likely
        assert least <= low <= middle == usual <= high <= most


def test_where_nobody_states_a_length_the_range_has_a_few_thousand_tokens(tmp_path: Path) -> None:
    text = "model_name_or_path: Qwen/Qwen2.5-7B\noutput_dir: out\nbf16: true\nper_device_train_batch_size: 1\nlearning_rate: 1.0e-5\n"
    found = answer(
        world(tmp_path, {"train.yaml": text + "max_length: null\ndataset_name: d\n"}, gpus=["A100-80GB"]), "A100-80GB"
    )
    if found.reading is not None and found.reading.plan.length.high > 4096:
        assert found.likely[2] < found.peak[2] / 2


def test_filled_rows_leave_the_length_out(tmp_path: Path) -> None:
    found = told(tmp_path, MISTRAL, 4, LORA)
    assert found.reading is not None and found.estimate is not None
    plan = found.reading.plan
    assert plan.length == sure(4096)
    traced = knowledge.load(f"memory/{found.reading.type}")
    assert likely(plan, traced, found.estimate.peak).low / GIB > tensors(found) - 0.5


PROGRAM = """\
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-7B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-7B", torch_dtype="bfloat16")
rows = load_dataset("text", data_files="train.txt", split="train").map(lambda row: {call})
args = TrainingArguments(output_dir="out", bf16=True, learning_rate=1e-5, per_device_train_batch_size=1)
Trainer(model=model, args=args, train_dataset=rows).train()
"""
FILLED = 'tokenizer(row["text"], padding="max_length", truncation=True, max_length=512)'
CUT = 'tokenizer(row["text"], truncation=True, max_length=512)'


@pytest.mark.parametrize(
    ("call", "low", "high"),
    [
        (FILLED, 512, 512),
        (CUT, 64, 512),
        (f"{CUT} if row else {FILLED}", 64, 512),
        (f"{FILLED} if row else {FILLED.replace('512', '1024')}", 64, 1024),
        (CUT.replace("truncation=True, ", ""), 64, 131072),
        (f'{CUT} if row else tokenizer(row["text"])', 64, 131072),
        (FILLED.replace("=512", "=longest"), 64, 131072),
    ],
)
def test_rows_that_a_program_tokenises_itself(tmp_path: Path, call: str, low: int, high: int) -> None:
    found = answer(world(tmp_path, {"train.py": PROGRAM.format(call=call)}, gpus=["A100-80GB"]), "A100-80GB")
    assert found.reading is not None
    length = found.reading.plan.length
    assert (length.low, length.high) == (low, high)


def test_a_script_of_transformers_pads_to_what_it_is_told(tmp_path: Path) -> None:
    words = "python run_clm.py --model_name_or_path Qwen/Qwen2.5-7B --train_file a.txt --do_train --output_dir out"
    words += " --max_seq_length 512 --bf16 --learning_rate 1e-5 --per_device_train_batch_size 1"
    for more, low in (("", 64), (" --pad_to_max_length", 512)):
        found = answer(world(tmp_path, {"run.sh": f"{words}{more}\n"}, gpus=["A100-80GB"]), "A100-80GB")
        assert found.reading is not None and found.reading.plan.length.low == low
