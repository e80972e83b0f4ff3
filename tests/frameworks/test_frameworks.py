"""What single frameworks do in their own way: what they fill in, how their texts refer to each other, what their commands say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from stablint.compiling.frameworks import compile_frameworks
from stablint.run.framework import Framework, framework
from tests.runs import inspected, rules, world

ROOT = Path(__file__).resolve().parents[2]
LORA = "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\ntemplate: qwen3\ndataset: a\noutput_dir: out\nlearning_rate: 1.0e-4\n"
TUNE = """output_dir: /tmp/run
model:
  _component_: torchtune.models.llama3.lora_llama3_8b
  lora_rank: 16
checkpointer:
  _component_: torchtune.training.FullModelHFCheckpointer
  checkpoint_dir: ${base}/Meta-Llama-3-8B
base: /models
optimizer: {_component_: torch.optim.AdamW, lr: "${rate}"}
rate: 3e-4
batch_size: 2
dtype: bf16
"""
XTUNER = """import torch
from mmengine.optim import AmpOptimWrapper, CosineAnnealingLR, LinearLR
from torch.optim import AdamW
from xtuner.model import SupervisedFinetune

max_epochs = 4
counts = 8
counts *= 2
model = dict(type=SupervisedFinetune, llm=dict(pretrained_model_name_or_path="Qwen/Qwen2-7B", torch_dtype=torch.float16))
optim_wrapper = dict(type=AmpOptimWrapper, optimizer=dict(type=AdamW, lr=2e-5), accumulative_counts=counts)
param_scheduler = [dict(type=LinearLR, end=0.1 * max_epochs), dict(type=CosineAnnealingLR, end=max_epochs)]
train_cfg = dict(max_epochs=max_epochs)
"""
VISION = XTUNER.replace("SupervisedFinetune", "LLaVAModel").replace("llm=dict", "freeze_llm=True, llm=dict")
SECOND = """model: Qwen/Qwen3-4B
model_class: llm
peft_config: {name: lora, r: 16}
dist_config: {name: fsdp2}
train_dataset: a.yaml
learning_rate: 1.0e-4
"""
FIRST = """from xtuner.v1.config import AdamWConfig, LRConfig
from xtuner.v1.rl.loss import GRPOLossConfig
from xtuner.v1.train.rl_trainer import RLColocateTrainerConfig

optim = AdamWConfig(lr=1e-6, foreach=False)
schedule = LRConfig(lr_type="constant", warmup_ratio=0)
loss = GRPOLossConfig(policy_loss_cfg={})
trainer = RLColocateTrainerConfig(load_from="Qwen/Qwen3-8B", train_batch_size=512, work_dir="out")
"""
UNSLOTH = """from unsloth import FastLanguageModel
from trl import SFTConfig, SFTTrainer
from transformers import TrainingArguments

model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Meta-Llama-3.1-8B", load_in_4bit=True)
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out", max_steps=60))
"""
FSDP = '{"fsdp_state_dict_type": "FULL_STATE_DICT", "fsdp_transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"]}'
AUTOMODEL = """\
recipe: nemo_automodel.recipes.llm.train_ft.TrainFinetuneRecipeForNextTokenPrediction
step_scheduler: {global_batch_size: 64, local_batch_size: 8, num_epochs: 1}
distributed: {strategy: fsdp2, activation_checkpointing: full}
model: {_target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained, pretrained_model_name_or_path: meta-llama/Llama-3.2-1B}
peft: {_target_: nemo_automodel.components._peft.lora.PeftConfig, alpha: 64}
packed_sequence: {packed_sequence_size: 0}
optimizer: {_target_: torch.optim.Adam, lr: 1e-5}
"""
FACTS: dict[str, tuple[dict[str, str], dict[str, Any], dict[str, Any]]] = {
    "LLaMA-Factory's rank, and twice the rank": ({"a.yaml": LORA}, {},
                                                  {"derived.method": "lora", "lora.r": 8, "lora.lora_alpha": 16, "derived.lora_scale": 2.0}),
    "LLaMA-Factory's length, by release": ({"a.yaml": LORA}, {"releases": ("llamafactory==0.9.0",)}, {"training.max_length": 1024}),
    "LLaMA-Factory's newer length": ({"a.yaml": LORA}, {}, {"training.max_length": 2048}),
    "LLaMA-Factory trains float32 weights": ({"a.yaml": LORA + "finetuning_type: full\n"}, {}, {"model.dtype": "float32"}),
    "LLaMA-Factory's pure bf16": ({"a.yaml": LORA + "finetuning_type: full\npure_bf16: true\n"}, {},
                                   {"model.dtype": "bfloat16", "derived.compute_dtype": "bfloat16"}),
    "no adapter, no rank": ({"a.yaml": LORA + "finetuning_type: full\n"}, {}, {"derived.method": "full"}),
    "its second generation": ({"a.yaml": SECOND}, {}, {"derived.method": "lora", "lora.r": 16, "lora.lora_alpha": 16, "training.bf16": True}),
    "axolotl's dtype follows its switch": (
        {"a.yaml": "base_model: Qwen/Qwen3-8B\nbf16: true\nsequence_len: 512\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\ndatasets: []\n"},
        {}, {"model.dtype": "bfloat16", "training.per_device_eval_batch_size": 2, "training.lr_scheduler_type": "cosine"},
    ),
    "torchtune's references": (
        {"a.yaml": TUNE}, {}, {"model.name_or_path": "/models/Meta-Llama-3-8B", "training.learning_rate": 3e-4, "derived.method": "lora",
                              "lora.lora_alpha": 16, "derived.compute_dtype": "bfloat16"},
    ),
    "what stands behind tune run's file": (
        {"a.yaml": TUNE, "run.sh": "tune run lora_finetune_single_device --config a.yaml batch_size=8 optimizer.lr=1e-5\n"},
        {}, {"training.per_device_train_batch_size": 8, "training.learning_rate": 1e-5, "lora.r": 16},
    ),
    "xtuner's names, warm-up and augmented number": (
        {"config.py": XTUNER}, {}, {"training.gradient_accumulation_steps": 16, "training.warmup_ratio": 0.1, "derived.compute_dtype": "float16",
                                "training.learning_rate": 2e-5, "derived.method": "full"},
    ),
    "xtuner's frozen language model": (
        {"config.py": VISION}, {}, {"derived.method": "projector"},
    ),
    "xtuner's adapter of a frozen language model": (
        {"config.py": VISION.replace("freeze_llm=True", "freeze_llm=True, llm_lora=dict(type=LoraConfig, r=512)")}, {},
        {"derived.method": "lora", "lora.r": 512},
    ),
    "xtuner's command and the DeepSpeed file that it brings": (
        {"config.py": XTUNER, "run.sh": "NPROC_PER_NODE=8 xtuner train config.py --deepspeed deepspeed_zero3_offload\n"},
        {"gpus": ("A100-80GB",)},
        {"derived.zero_stage": 3, "deepspeed.zero_optimization.offload_param.device": "cpu", "derived.world_size": 8, "derived.compute_dtype": "bfloat16"},
    ),
    "xtuner's first major release": (
        {"config.py": FIRST}, {},
        {"training.learning_rate": 1e-6, "derived.objective": "grpo", "derived.effective_batch": 512, "model.name_or_path": "Qwen/Qwen3-8B"},
    ),
    "litgpt's command": (
        {"run.sh": "litgpt finetune_lora Qwen/Qwen2-7B --precision 16-true --quantize bnb.nf4 --optimizer.lr 1e-4\n"},
        {}, {"derived.method": "qlora", "model.name_or_path": "Qwen/Qwen2-7B", "derived.compute_dtype": "float16", "lora.r": 8, "training.learning_rate": 1e-4},
    ),
    "litgpt under mixed precision": (
        {"run.sh": "litgpt pretrain --model_name Qwen2-7B --precision bf16-mixed --train.max_norm 1.0\n"},
        {}, {"derived.method": "full", "derived.objective": "pretrain", "derived.compute_dtype": "bfloat16", "model.dtype": "float32"},
    ),
    "NeMo AutoModel's file": (
        {"sft.yaml": AUTOMODEL}, {},
        {"derived.method": "lora", "derived.objective": "sft", "derived.effective_batch": 64, "lora.r": 8, "lora.lora_alpha": 64,
         "training.learning_rate": 1e-5, "training.packing": False, "training.gradient_checkpointing": True, "training.max_grad_norm": 1.0},
    ),
    "NeMo AutoModel's command, which names the file first and says keys of it anew": (
        {"sft.yaml": AUTOMODEL, "run.sh": "automodel sft.yaml --nproc-per-node 4 --optimizer.lr=2e-5 --peft.dim 16\n"}, {},
        {"derived.method": "lora", "derived.world_size": 4, "training.learning_rate": 2e-5, "lora.r": 16, "derived.effective_batch": 64},
    ),
    "NeMo AutoModel's module behind torchrun": (
        {"sft.yaml": AUTOMODEL, "run.sh": "torchrun --nproc-per-node 2 -m nemo_automodel.cli.app sft.yaml --step_scheduler.global_batch_size 24\n"}, {},
        {"derived.world_size": 2, "derived.effective_batch": 24, "derived.fsdp": True},
    ),
    "NeMo AutoModel without an adapter, and words that are nobody's": (
        {"sft.yaml": AUTOMODEL.replace("peft:", "peft: null\nother:").replace("activation_checkpointing: full", "activation_checkpointing: selective")},
        {}, {"derived.method": "full"},
    ),
    "Unsloth's own defaults, and its precision by the card": (
        {"a.py": UNSLOTH}, {"gpus": ("T4",)},
        {"training.per_device_train_batch_size": 4, "training.gradient_accumulation_steps": 2, "training.optim": "adamw_8bit",
         "derived.warmup_steps": 6, "derived.compute_dtype": "float16"},
    ),
    "Unsloth with arguments that it does not exchange": (
        {"a.py": UNSLOTH.replace("=SFTConfig", "=TrainingArguments")}, {}, {"training.per_device_train_batch_size": 8, "training.seed": 42},
    ),
    "Unsloth before it had defaults of its own": (
        {"a.py": UNSLOTH}, {"releases": ("unsloth==2025.1.8",)}, {"training.per_device_train_batch_size": 8, "training.seed": 42},
    ),
    "Unsloth's full fine-tuning, which leaves the adapter out": (
        {"a.py": UNSLOTH.replace("load_in_4bit=True", "full_finetuning=True") + "model = FastLanguageModel.get_peft_model(model, r=16)\n"},
        {}, {"derived.method": "full"},
    ),
    "Unsloth with a model loaded in half precision": (
        {"a.py": UNSLOTH.replace("load_in_4bit=True", "dtype='bfloat16'")}, {}, {"derived.compute_dtype": "bfloat16"},
    ),
    "FSDP's options in a file of their own": (
        {"a.yaml": "output_dir: out\nlearning_rate: 1.0e-5\nbf16: true\nfsdp: full_shard\nfsdp_config: fsdp.json\n",
         "fsdp.json": FSDP},
        {}, {"derived.fsdp": True, "fsdp.state_dict_type": "FULL_STATE_DICT"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("files", "said", "facts"), FACTS.values(), ids=FACTS)
def test_facts(files: dict[str, str], said: dict[str, Any], facts: dict[str, Any], tmp_path: Path) -> None:
    found = world(tmp_path, files, **said)
    assert {name: found.value(name) for name in facts} == facts


RECORDS = sorted((ROOT / "knowledge" / "frameworks").glob("*.yaml"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_every_default_of_a_framework_says_where_it_was_read(path: Path) -> None:
    record = yaml.safe_load(path.read_text(encoding="utf-8"))
    if "defaults" in record:
        assert record["source"].startswith("https://") and record["read"]
        assert all(row["at"] for rows in record["defaults"].values() for row in rows)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        *((f"defaults: {{lora.r: [{row}]}}", "a row has one of") for row in ("{is: 1}", "{at: x}", "{is: 1, as: lora.r, at: x}", "{is: 1, at: x, until: 2}")),
        ("trains_on_requests: true", "no property `trains_on_requests`"),
        ("trains_on_request: yes please", "of another kind"),
        ("takes: max_seq_length", "of another kind"),
        ("launch: {command: a, processes: two, sharding: file, source: s}", "processes: two"),
        ("launch: {command: a, processes: one, sharding: file}", "it has a source"),
    ],
)  # fmt: skip
def test_a_record_that_says_nothing_or_too_much_is_refused(record: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "frameworks").mkdir()
    (tmp_path / "frameworks" / "a.yaml").write_text(f"source: s\nread: [1]\n{record}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        compile_frameworks(tmp_path)


def test_a_run_of_no_framework_goes_by_transformers_and_what_is_none_by_nothing() -> None:
    assert framework("") == framework("transformers") and framework("").library
    assert framework("peft") == Framework()


_COMPARED = re.compile(r"""(?<!for )framework\s*(?:==|!=|in|not in)\s*[("'{]|framework\.startswith\(""")


def test_no_room_behind_the_dialects_compares_the_name_of_a_framework() -> None:
    """What is asked is a property of its record."""
    rooms = (
        "run",
        "hazard",
        "assemble",
        "repository",
        "engine",
        "fix",
        "fitting",
        "advising",
        "proposing",
        "server",
        "report",
        "log",
        "integrate",
    )
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for room in rooms
        for path in (ROOT / "lint" / "stablint" / room).rglob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if _COMPARED.search(line)
    ]
    assert not found


SWIFT = "swift sft --model Qwen/Qwen2.5-7B --dataset d --output_dir o --learning_rate 1e-4 --bf16 true --fsdp"
SHARDED = [
    ("fsdp2", {"training.fsdp": True, "fsdp.activation_checkpointing": True, "training.gradient_checkpointing": False}),
    ("fsdp2 --gradient_checkpointing true", {"training.gradient_checkpointing": False}),
    ("conf/fsdp.json", {"training.fsdp": True, "fsdp.version": 2, "fsdp.state_dict_type": "FULL_STATE_DICT"}),
    ("'full_shard auto_wrap'", {"training.fsdp": "full_shard auto_wrap"}),
]


@pytest.mark.parametrize(("value", "expected"), SHARDED)
def test_ms_swift_takes_a_name_or_a_file_for_fsdp(tmp_path, value, expected):
    file = '{"fsdp": "full_shard auto_wrap", "fsdp_config": {"fsdp_version": 2, "state_dict_type": "FULL_STATE_DICT"}}'
    files = {value: file} if value.endswith(".json") else {}
    found = inspected(tmp_path, {"go.sh": f"{SWIFT} {value}\n", **files})
    (run,) = found.runs
    assert {name: run.explicit[name].value for name in expected} == expected
    assert rules(found).isdisjoint({"fsdp-unknown-option", "fsdp-double-checkpointing"})
    assert ("fsdp-text-deprecated" in rules(found)) == (value[:1] == "'")


def test_an_initialisation_of_ms_swift_s_own_is_none_that_peft_refuses(tmp_path):
    own = inspected(tmp_path, {"go.sh": SWIFT.replace("--fsdp", "--init_weights lora-ga\n")})
    assert "lora-init-unknown" not in rules(own)
    none = inspected(tmp_path, {"go.sh": SWIFT.replace("--fsdp", "--init_weights lora-gaa\n")})
    assert "lora-init-unknown" in rules(none)


@pytest.mark.parametrize(("stage", "loss"), [("sft", None), ("dpo", "sigmoid")])
def test_llama_factory_s_loss_of_preferences_is_none_of_fine_tuning(tmp_path, stage, loss):
    recipe = f"model_name_or_path: m\nstage: {stage}\nfinetuning_type: lora\ntemplate: t\noutput_dir: o\nlearning_rate: 1.0e-4\n"
    value = world(tmp_path, {"t.yaml": recipe}).value("training.loss_type")
    assert (value == "sigmoid") is (loss == "sigmoid")


@pytest.mark.parametrize(
    ("model", "targets"), [("google/flan-t5-xl", ["q", "v"]), ("lmsys/vicuna-7b-v1.5", ["q_proj", "v_proj"])]
)
def test_fastchat_s_targets_are_those_of_the_model_s_kind(tmp_path, model, targets):
    flags = "--lora_r 8 --model_max_length 512 --data_path d --output_dir o --lazy_preprocess True"
    command = f"deepspeed fastchat/train/train_lora.py --model_name_or_path {model} {flags}"
    assert world(tmp_path, {"go.sh": command}).value("lora.target_modules") == targets


XTUNER = """\
from peft import LoraConfig
from transformers import AutoModelForCausalLM, BitsAndBytesConfig
from mmengine.optim import AmpOptimWrapper
from torch.optim import AdamW
from xtuner.model import SupervisedFinetune
model = dict(
    type=SupervisedFinetune,
    llm=dict(type=AutoModelForCausalLM.from_pretrained, pretrained_model_name_or_path='a/b',
             quantization_config=dict(type=BitsAndBytesConfig, load_in_4bit=True)),
    lora=dict(type=LoraConfig, r=64, lora_alpha=16))
optim_wrapper = dict(type=AmpOptimWrapper, optimizer=dict(type=AdamW, lr=2e-4), dtype='bfloat16')
"""
SLIPS = [
    ("lora_alpha", "lora_alhpa", "peft-unknown-argument"),
    ("load_in_4bit=True", "load_in_4bit=True, bnb_4bit_compute_type='bfloat16'", "quantiser-argument-ignored"),
    ("lora_alpha", "lora_dropout", ""),
]


@pytest.mark.parametrize(("old", "new", "rule"), SLIPS)
def test_what_xtuner_builds_takes_its_class_s_arguments_only(tmp_path, old, new, rule):
    found = rules(inspected(tmp_path, {"cfg.py": XTUNER.replace(old, new)}))
    assert found & {"peft-unknown-argument", "quantiser-argument-ignored"} == ({rule} if rule else set())


OBJECTIVES = [
    ({"go.sh": "llamafactory-cli dpo v1.yaml", "v1.yaml": "V1"}, "dpo", "llamafactory-v1"),
    ({"go.sh": "llamafactory-cli train v1.yaml", "v1.yaml": "V1"}, "?", "llamafactory-v1"),
    ({"go.sh": "llamafactory-cli train a.yaml", "a.yaml": "V0"}, "kto", "llamafactory"),
    ({"go.sh": SWIFT.replace("--fsdp", "--task_type embedding")}, "embedding", "ms-swift"),
    ({"go.sh": SWIFT.replace("--fsdp", "--task_type causal_lm")}, "sft", "ms-swift"),
    ({"t.yaml": "loss: {_component_: torchtune.dev.grpo.loss.GRPOSimpleLoss}\noptimizer: {_component_: torch.optim.AdamW, lr: 1e-5}\n"
                "model: {_component_: torchtune.models.llama3_2.llama3_2_3b}\nbatch_size: 1\n"}, "grpo", "torchtune"),
    ({"go.sh": "deepspeed main.py --data_split 2,4,4 --zero_stage 3 --lora_dim 8 --learning_rate 1e-4 --model_name_or_path m"}, "sft", "deepspeed-chat"),
]  # fmt: skip
V1 = "model: m\nmodel_class: llm\npeft_config: {name: lora, r: 8}\ntrain_dataset: d\noutput_dir: o\nmicro_batch_size: 1\nlearning_rate: 1.0e-5\n"
V0 = "model_name_or_path: m\nstage: kto\nfinetuning_type: lora\ntemplate: t\ndataset: d\noutput_dir: o\nlearning_rate: 1.0e-5\n"


@pytest.mark.parametrize(("files", "objective", "framework"), OBJECTIVES)
def test_what_is_trained_for_by_command_task_and_loss(tmp_path, files, objective, framework):
    found = world(tmp_path, {name: {"V1": V1, "V0": V0}.get(text, text) for name, text in files.items()})
    value = found.value("derived.objective")
    assert (value if isinstance(value, str) else "?", found.run.framework) == (objective, framework)
