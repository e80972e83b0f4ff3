"""A word that no library knows means nothing, however near it comes to one that some library knows: it is read as any nonsense is.

Words that a setting is chosen from, in the texts of each framework; a slip of each must leave every worked-out fact as nonsense leaves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stablint.frameworks.codec import CODECS
from stablint.hazard.checked import Checked
from stablint.run.derived.registry import RULES
from stablint.run.fact import is_unknown
from tests.frameworks.test_codec import READS
from tests.frameworks.test_tables import MEANINGS
from tests.runs import runs
from tests.sampling import sampled

NONSENSE = "zqjvkzwx"


class Words(NamedTuple):
    """`{}` in the text of the file stands for the word."""

    file: str
    text: str
    words: str


HF = """\
model_name_or_path: Qwen/Qwen2.5-7B
dataset_name: org/data
output_dir: out
learning_rate: 1.0e-5
per_device_train_batch_size: 2
"""
AX = """\
base_model: meta-llama/Llama-3.1-8B
datasets:
  - path: a/b
    type: alpaca
sequence_len: 2048
micro_batch_size: 1
num_epochs: 1
learning_rate: 0.0001
output_dir: out
"""
LF = """\
model_name_or_path: Qwen/Qwen2.5-7B
dataset: alpaca_en
template: qwen
cutoff_len: 1024
output_dir: out
per_device_train_batch_size: 1
learning_rate: 1.0e-4
"""
PY = """\
from transformers import TrainingArguments, BitsAndBytesConfig, AutoModelForCausalLM
from peft import LoraConfig
from trl import DPOConfig
"""
LIT = """\
checkpoint_dir: checkpoints/meta-llama/Llama-2-7b-hf
out_dir: out
lora_r: 8
lora_alpha: 16
data:
  class_path: litgpt.data.Alpaca2k
train:
  global_batch_size: 8
  micro_batch_size: 1
  epochs: 1
"""
CASES = {
    "trl optim": Words("train.yaml", HF + 'optim: {}\n', "adamw_torch adamw_torch_fused adafactor paged_adamw_8bit lion_8bit galore_adamw"),
    "trl sched": Words("train.yaml", HF + 'lr_scheduler_type: {}\n', "cosine linear constant constant_with_warmup cosine_with_restarts"),
    "trl dtype": Words("train.yaml", HF + 'dtype: {}\n', "float16 bfloat16 float32"),
    "trl evals": Words("train.yaml", HF + 'eval_strategy: {}\nsave_strategy: steps\n', "steps epoch"),
    "trl attn": Words("train.yaml", HF + 'attn_implementation: {}\n', "flash_attention_2 sdpa eager"),
    "ax adapter": Words("train.yaml", AX + 'adapter: {}\n', "lora qlora"),
    "ax rl": Words("train.yaml", AX + 'rl: {}\n', "orpo simpo grpo"),
    "ax optim": Words("train.yaml", AX + 'optimizer: {}\n', "adamw_torch adamw_bnb_8bit muon"),
    "ax bf16": Words("train.yaml", AX + 'bf16: {}\n', "auto full"),
    "ax dtype": Words("train.yaml", AX + 'torch_dtype: {}\n', "float16 bf16"),
    "lf type": Words("train.yaml", LF + 'stage: sft\nfinetuning_type: {}\n', "lora full freeze"),
    "lf loss": Words("train.yaml", LF + 'finetuning_type: lora\nstage: dpo\npref_loss: {}\n', "sigmoid orpo simpo"),
    "lf quant": Words("train.yaml", LF + 'finetuning_type: lora\nstage: sft\nquantization_bit: 4\nquantization_method: {}\n', "eetq"),
    "lf fa": Words("train.yaml", LF + 'finetuning_type: lora\nstage: sft\nflash_attn: {}\n', "sdpa disabled auto"),
    "swift": Words("run.sh", 'swift sft --model Qwen/Qwen2.5-7B --dataset a --train_type {} --learning_rate 1e-4\n', "lora full longlora adalora"),
    "swift tuner": Words("run.sh", 'swift sft --model Qwen/Qwen2.5-7B --dataset a --tuner_type {} --learning_rate 1e-4\n', "lora full longlora adalora"),
    "swift rlhf": Words("run.sh", 'swift rlhf --rlhf_type {} --model Qwen/Qwen2.5-7B --dataset a --learning_rate 1e-4\n', "grpo orpo"),
    "swift dtype": Words("run.sh", 'swift sft --model Qwen/Qwen2.5-7B --dataset a --torch_dtype {} --learning_rate 1e-4\n', "float16 bfloat16"),
    "litgpt q": Words("c.yaml", LIT + "precision: bf16-true\nquantize: {}\n", "bnb.nf4 bnb.nf4-dq bnb.int8-training"),
    "litgpt p": Words("c.yaml", LIT + "precision: {}\n", "bf16-true bf16-mixed 16-mixed 32-true"),
    "acc mp": Words("acc.yaml",
        'distributed_type: MULTI_GPU\nmixed_precision: {}\nnum_machines: 1\nnum_processes: 2\ncompute_environment'
        ': LOCAL_MACHINE\n', "bf16 fp16"),
    "acc dt": Words("acc.yaml",
        'distributed_type: {}\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 2\ncompute_environment: LOC'
        'AL_MACHINE\n', "MULTI_GPU FSDP DEEPSPEED"),
    "ds opt": Words("ds.json",
        '{{"train_micro_batch_size_per_gpu": 1, "optimizer": {{"type": "{}", "params": {{"lr": 1e-4}}}}, "zer'
        'o_optimization": {{"stage": 2}}, "bf16": {{"enabled": true}}}}', "Adam AdamW Lamb OneBitAdam"),
    "ds off": Words("ds.json",
        '{{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {{"stage": 3, "offload_optimizer": {{"de'
        'vice": "{}"}}}}, "bf16": {{"enabled": true}}}}', "nvme none"),
    "ds cdt": Words("ds.json",
        '{{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {{"stage": 3}}, "communication_data_type'
        '": "{}", "bf16": {{"enabled": true}}}}', "fp16 bf16 fp32"),
    "py dtype": Words("t.py",
        PY + ("model = AutoModelForCausalLM.from_pretrained('meta-llama/Llama-3.1-8B', torch_dtype='{}')\nargs = Tra"
        "iningArguments('o')\n"), "float16 bfloat16 auto"),
    "py bnb": Words("t.py", PY + "b = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype='{}')\n", "float16 bfloat16"),
    "py loss": Words("t.py", PY + "a = DPOConfig('o', loss_type='{}')\n", "sigmoid apo_zero"),
    "py lora init": Words("t.py", PY + "a = LoraConfig(init_lora_weights='{}')\n", "pissa olora loftq gaussian"),
    "py bias": Words("t.py", PY + "a = LoraConfig(bias='{}')\n", "none lora_only"),
    "tune": Words("c.yaml",
        "model:\n  _component_: torchtune.models.llama3_1.lora_llama3_1_8b\n  lora_attn_modules: ['q_proj']\n  l"
        'ora_rank: 8\n  lora_alpha: 16\ncheckpointer:\n  _component_: torchtune.training.FullModelHFCheckpointer'
        '\n  checkpoint_dir: /tmp/a\n  output_dir: /tmp/b\ndtype: {}\nbatch_size: 2\nepochs: 1\noptimizer:\n  _compo'
        'nent_: torch.optim.AdamW\n  lr: 3e-4\ndataset:\n  _component_: torchtune.datasets.alpaca_dataset\n', "bf16 fp32 fp16"),
    "orlhf": Words("run.sh",
        'deepspeed --module openrlhf.cli.train_dpo --pretrain a/b --dataset c --adam_offload --zpg 1 --param_'
        'dtype {} --learning_rate 5e-7\n', "bf16 fp16"),
    "launch mp": Words("run.sh",
        'accelerate launch --mixed_precision {} --num_processes 2 train.py --model_name_or_path a/b --learnin'
        'g_rate 1e-5 --output_dir o --per_device_train_batch_size 1\n', "bf16 fp16"),
}  # fmt: skip
# Codecs of names that anybody may give, of numbers and of lists: there is no list of their words.
OPEN = frozenset(
    {"builder", "builder-4bit", "first", "second", "member", "plain", "strategy", "switch", "targets", "words"}
)


def slips(word: str) -> Iterator[str]:
    """Another word that is one letter away: one more, one less, another, two that changed places; another digit."""
    middle = len(word) // 2
    yield f"{word}x"
    yield word[:-1]
    yield f"{word[:middle]}q{word[middle + 1 :]}"
    yield f"{word[: middle - 1]}{word[middle]}{word[middle - 1]}{word[middle + 1 :]}"
    yield from (f"{word[:at]}5{word[at + 1 :]}" for at, letter in enumerate(word) if letter.isdigit())


def state(folder: Path, case: Words, word: str) -> list[dict[str, str]]:
    """What is worked out of each run, with the word itself left open."""
    found = []
    for run in runs(folder, {case.file: case.text.format(word)}):
        world = Checked(run).newest
        values = {name: world.value(name) for name in RULES}
        found.append({n: "?" if is_unknown(v) else "{}" if v == word else repr(v) for n, v in values.items()})
    return found


@pytest.mark.parametrize("name", sampled(CASES, 3))
def test_a_slip_of_a_word_means_no_more_than_nonsense(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    known = case.words.split()
    nonsense = state(tmp_path, case, NONSENSE)
    assert nonsense
    for word in known:
        for slip in slips(word):
            if slip not in known:
                assert state(tmp_path, case, slip) == nonsense, slip


def words_of(codec: str) -> list[str]:
    pairs: list[tuple[Any, Any]] = [(raw, meant) for name, raw, meant in READS if name == codec]
    pairs += MEANINGS.get(codec, [])
    return [raw for raw, _ in pairs if isinstance(raw, str) and len(raw) > 1]


@pytest.mark.parametrize("codec", sorted(set(CODECS) - OPEN))
def test_a_codec_reads_a_slip_as_it_reads_nonsense(codec: str) -> None:
    known = words_of(codec)
    nonsense = CODECS[codec](NONSENSE)
    for slip in (slip for word in known for slip in slips(word) if slip not in known):
        value = CODECS[codec](slip)
        assert value == nonsense or str(value).lower() == slip.lower(), slip
