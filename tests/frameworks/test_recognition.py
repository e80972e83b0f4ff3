"""Which files are training configurations, and of whom: told by their structure, never by their name."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from stablint.frameworks import registry
from stablint.syntax.json.reader import document as json_document
from stablint.syntax.tree import Text
from stablint.syntax.yaml.reader import documents as yaml_documents
from tests.runs import inspected, rules

OURS = {
    "LLaMA-Factory's table of data sets": ("llamafactory-data", '{"ours": {"file_name": "ours.json", "columns": {"prompt": "instruction"}}}'),
    "a TRL recipe": ("trl", "model_name_or_path: Qwen/Qwen3-8B\ndataset_name: trl-lib/Capybara\nlearning_rate: 2.0e-5\nuse_peft: true\n"),
    "GRPO by its own fields": ("trl", "num_generations: 8\nlearning_rate: 1.0e-6\nper_device_train_batch_size: 8\n"),
    "plain TrainingArguments": ("hf-args", "output_dir: out\nper_device_train_batch_size: 4\nnum_train_epochs: 3\n"),
    "TrainingArguments as JSON": ("hf-args", '{"output_dir": "out", "learning_rate": 2e-5, "bf16": true}'),
    "arguments in a section of a script's own file": ("hf-args", "data_config: {file: a}\ntraining_args:\n  max_steps: 100\n  learning_rate: 2.0e-5\n"),
    "DeepSpeed with ZeRO": ("deepspeed", '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}}'),
    "DeepSpeed without ZeRO": ("deepspeed", '{"train_batch_size": 8, "fp16": {"enabled": true}}'),
    "DeepSpeed's batch and optimizer alone": ("deepspeed", '{"train_batch_size": 8, "optimizer": {"type": "Adam", "params": {"lr": 0.001}}}'),
    "DeepSpeed in YAML": ("deepspeed", "zero_optimization:\n  stage: 2\ntrain_micro_batch_size_per_gpu: 4\n"),
    "accelerate": ("accelerate", "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_processes: 8\n"),
    "accelerate, written by hand": ("accelerate", "distributed_type: FSDP\nfsdp_config: {fsdp_version: 2}\nnum_processes: 8\n"),
    "FSDP options": ("fsdp", '{"fsdp_transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"], "fsdp_state_dict_type": "FULL_STATE_DICT"}'),
    "fsdp with its config": ("fsdp", '{"_note": "of the launcher", "fsdp": "full_shard", "fsdp_config": {"version": 2}}'),
    "an adapter": ("peft", '{"peft_type": "LORA", "r": 16, "lora_alpha": 32}'),
    "an old adapter": ("peft", '{"r": 16, "lora_alpha": 32, "target_modules": ["q_proj"]}'),
    "a checkpoint": ("model", '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096}'),
    "LLaMA-Factory": ("llamafactory", "model_name_or_path: Qwen/Qwen3-8B\nstage: sft\nfinetuning_type: lora\ntemplate: qwen3\ncutoff_len: 2048\n"),
    "LLaMA-Factory, merging": ("llamafactory", "model_name_or_path: Qwen/Qwen3-8B\nadapter_name_or_path: saves/sft\ntemplate: qwen3\nexport_dir: out\n"),
    "LLaMA-Factory, second generation": ("llamafactory", "model: Qwen/Qwen3-0.6B\nmodel_class: llm\ndist_config: {name: fsdp2}\nlearning_rate: 1.0e-4\n"),
    "axolotl": ("axolotl", "base_model: Qwen/Qwen3-8B\nadapter: qlora\nsequence_len: 4096\nmicro_batch_size: 2\ndatasets: [{path: a}]\n"),
    "ms-swift": ("ms-swift", "model: Qwen/Qwen3-8B\ntuner_type: lora\ndataset: [a]\nlearning_rate: 1e-4\noutput_dir: out\n"),
    "axolotl, of its preference part": ("axolotl", "rl: grpo\nmicro_batch_size: 1\ngradient_accumulation_steps: 4\ntrl: {num_generations: 4}\n"),
    "NeMo AutoModel": ("nemo-automodel", "recipe: TrainFinetuneRecipeForNextTokenPrediction\nstep_scheduler: {max_steps: 1}\nmodel: {torch_dtype: bf16}\n"),
    "litgpt": ("litgpt", "checkpoint_dir: a\nout_dir: out\nprecision: bf16-true\ntrain: {epochs: 1}\neval: {interval: 10}\n"),
    "torchtune": ("torchtune", "model:\n  _component_: torchtune.models.llama3.llama3_8b\noptimizer: {lr: 2e-5}\nbatch_size: 2\n"),
}  # fmt: skip
# Their keys meet ours: seed, steps, env, model, dataset, optimizer, name …
OTHERS = {
    "a GitHub workflow": "name: train\non: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n",
    "a GitHub action": "name: lint\ndescription: run it\ninputs: {path: {default: .}}\nruns: {using: composite, steps: []}\n",
    "docker-compose": "services:\n  train:\n    image: pytorch/pytorch\n    command: python train.py\n    environment: {HF_HOME: /data}\n",
    "package.json": '{"name": "ui", "version": "1.0.0", "scripts": {"test": "jest"}, "dependencies": {"react": "^18"}}',
    "tsconfig": '{"compilerOptions": {"target": "es2020", "strict": true}, "include": ["src"]}',
    "dataset_info of datasets": '{"description": "", "features": {"text": {"dtype": "string"}}, "splits": {"train": {"num_examples": 10}}}',
    "tokenizer_config": '{"tokenizer_class": "LlamaTokenizer", "model_max_length": 4096, "padding_side": "left", "pad_token": "<pad>"}',
    "special_tokens_map": '{"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}',
    "generation_config": '{"max_length": 4096, "do_sample": true, "temperature": 0.7, "top_p": 0.9, "bos_token_id": 1}',
    "preprocessor_config": '{"do_normalize": true, "image_mean": [0.5], "size": {"height": 224}, "image_processor_type": "CLIPImageProcessor"}',
    "trainer_state": '{"best_metric": null, "epoch": 3.0, "global_step": 300, "log_history": [{"loss": 1.0, "step": 10}]}',
    "a weight map": '{"metadata": {"total_size": 1}, "weight_map": {"lm_head.weight": "model-00001.safetensors"}}',
    "Helm values": "replicaCount: 1\nimage: {repository: nginx, tag: latest}\nresources: {limits: {nvidia.com/gpu: 1}}\nnodeSelector: {}\n",
    "Kubernetes": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {template: {spec: {containers: []}}}\n",
    "mkdocs": "site_name: docs\ntheme: {name: material}\nnav: [{Home: index.md}]\nplugins: [search]\n",
    "pre-commit": "repos:\n  - repo: https://github.com/psf/black\n    rev: 24.1.0\n    hooks: [{id: black}]\n",
    "conda environment": "name: train\nchannels: [pytorch]\ndependencies: [python=3.11, {pip: [transformers]}]\n",
    "an evaluation of lm-eval": "task: mmlu\ndataset_path: cais/mmlu\nnum_fewshot: 5\nmetric_list: [{metric: acc}]\n",
    "Ansible": "- hosts: all\n  tasks: [{name: install, apt: {name: git}}]\n",
    "OpenAPI": "openapi: 3.0.0\ninfo: {title: api, version: '1'}\npaths: {}\n",
    "training of something else in sections": "model: {depth: 4}\ntrain: {epochs: 10}\neval: {metric: iou}\nseed: 1\n",
    "a vLLM server": "model: Qwen/Qwen3-8B\nmax_model_len: 8192\ntensor_parallel_size: 2\ngpu_memory_utilization: 0.9\n",
    "an issue template": "name: Bug\ndescription: report\nbody: [{type: textarea, attributes: {label: What}}]\n",
    "one key that trainers know too": "seed: 42\nname: x\n",
    "a list": "- learning_rate\n- bf16\n",
    "nothing": "",
    "a word": "learning_rate\n",
}  # fmt: skip


def dialects(content: str) -> list[str]:
    text = Text("file", "file", content)
    documents = (json_document(text),) if content[:1] in "{[" and content else yaml_documents(text)
    return [fragment.dialect for document in documents for fragment in registry.lower(document)]


@pytest.mark.parametrize(("dialect", "content"), OURS.values(), ids=OURS)
def test_a_configuration_is_known_by_its_keys(dialect: str, content: str) -> None:
    assert dialects(content) == [dialect]


MORE_OTHERS: dict[str, str] = yaml.safe_load(
    (Path(__file__).parents[1] / "cases" / "no_training.yaml").read_text("utf-8")
)


@pytest.mark.parametrize("content", MORE_OTHERS.values(), ids=MORE_OTHERS)
def test_files_of_other_trades_are_left_alone(content: str) -> None:
    assert dialects(content) == []


@pytest.mark.parametrize("content", OTHERS.values(), ids=OTHERS)
def test_other_files_are_left_alone(content: str) -> None:
    assert dialects(content) == []


def test_each_document_of_a_stream_is_its_own() -> None:
    assert dialects(OURS["axolotl"][1] + "---\n" + OTHERS["Kubernetes"] + "---\n" + OURS["a TRL recipe"][1]) == [
        "axolotl",
        "trl",
    ]


LABELS = '{"learning_rate": "Learning rate", "num_train_epochs": "Epochs", "output_dir": "Folder"}'
RUN = '{"learning_rate": "2e-5", "num_train_epochs": "{epochs}", "output_dir": "out"}'


@pytest.mark.parametrize(("content", "expected"), [(LABELS, []), (RUN, ["hf-args"]), (LABELS, []), (RUN, ["hf-args"])])
def test_labels_are_no_settings_whatever_was_read_before(content: str, expected: list[str]) -> None:
    """The same keys have been judged by then: what is remembered of them must not decide what the values say."""
    assert dialects(content) == expected


def test_a_named_dialect_overrides_what_the_keys_say() -> None:
    (document,) = yaml_documents(Text("file", "file", OURS["plain TrainingArguments"][1]))
    assert [fragment.dialect for fragment in registry.lower(document, "llamafactory")] == ["llamafactory"]


STAGED = "stage: STAGE\nfinetuning_type: full\ncutoff_len: 4096\nval_size: 0.1\nlearning_rate: 1.0e-6\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (STAGED.replace("STAGE", "sft"), ["llamafactory"]),
        (STAGED.replace("STAGE", "grpo"), []),
        (STAGED.replace("STAGE", "sft") + "verl_platform_config: {num_gpu: 4}\n", []),
        (STAGED.replace("STAGE", "sft") + "our_platform_config: {num_gpu: 4}\n", ["llamafactory"]),
        (STAGED.replace("STAGE", "grpo") + "model_name_or_path: a/b\n", ["llamafactory"]),
    ],
)
def test_a_file_that_names_another_framework_or_a_stage_of_another_is_none_of_this(
    content: str, expected: list[str]
) -> None:
    assert dialects(content) == expected


TRACKED = """_wandb:
    value:
        cli_version: 0.19.11
learning_rate:
    value: 1.0e-05
per_device_train_batch_size:
    value: 4
warmup_ratio:
    desc: null
    value: 0.5
deepspeed:
    value: ds.json
"""
OLD_TRACKED = TRACKED.replace("_wandb:\n    value:\n        cli_version: 0.19.11\n", "wandb_version: 1\n")
CHOSEN = '"model_name": "a/b", "training_args": {"num_epochs": 3.0, "learning_rate": 1e-05, "batch_size": 2, "gradient_accumulation_steps": 8}'
FLAT = '"learning_rate": 1e-5, "per_device_train_batch_size": 8, "num_train_epochs": 1, "output_dir": "o"'
SWEEP = "method: bayes\nparameters:\n    learning_rate:\n        value: 1.0e-05\n"
GENERATED = '"""\n2025.11.2\n2025.11.1\n4.57.2\n0.23.0\n__UNSLOTH_VERSIONING__\n"""\n'
WITH_CODE = (
    "from trl import CPOConfig, CPOTrainer\nCPOTrainer(model, CPOConfig(output_dir='o', learning_rate=1e-6)).train()\n"
)


@pytest.mark.parametrize(
    ("name", "text", "is_run"),
    [
        ("kept.yaml", TRACKED, False),
        ("kept.yaml", OLD_TRACKED, False),
        ("kept.yaml", TRACKED.partition("learning_rate")[2].join(["learning_rate", ""]), False),
        ("kept.json", "{" + CHOSEN + "}", True),
        ("kept.json", '{"training_date": "2026-01-09T18:15:02", ' + CHOSEN + "}", False),
        ("kept.json", "{" + FLAT + "}", True),
        ("kept.json", "{" + FLAT + ', "eval_loss": 0.41}', False),
        ("kept.json", "{" + FLAT + ', "train_runtime": 127.7}', False),
        ("kept.json", "{" + FLAT + ', "metric_for_best_model": "eval_loss", "max_train_time": 3}', True),
        ("own.py", GENERATED + WITH_CODE, False),
        ("own.py", WITH_CODE, True),
        ("own.py", WITH_CODE + "PLACE = '__UNSLOTH_VERSIONING__'\n", True),
        ("unsloth_compiled_cache/cpo.py", WITH_CODE, False),
    ],
)
def test_what_a_library_wrote_down_is_no_run(tmp_path, name, text, is_run):
    assert bool(inspected(tmp_path, {name: text}).runs) is is_run


MODELS = "name: mistral\nhf_name: mistralai/Mistral-7B-Instruct-v0.3\ndtype: float16\ntrust_remote_code: true\n"


@pytest.mark.parametrize("more", ["max_seq_length: 2048\n", "gradient_checkpointing: true\n"])
def test_a_file_about_a_model_alone_has_no_defaults_of_a_trainer(more: str, tmp_path: Path) -> None:
    """A program of its own reads it beside others that say the rest: float16 may be what four bits are computed in."""
    found = inspected(tmp_path, {"configs/model/mistral.yaml": MODELS + more})
    (run,) = found.runs
    assert (run.framework, run.classes) == ("", {})
    assert set(run.scopes.values()) == {"open"}
    assert rules(found) == set()


def test_a_rate_beside_a_model_makes_it_a_trainers(tmp_path: Path) -> None:
    found = inspected(tmp_path, {"train.yaml": MODELS + "learning_rate: 1.0e-5\nmax_seq_length: 2048\n"})
    assert found.runs[0].framework in ("transformers", "trl")
