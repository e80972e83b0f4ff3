"""Keys that a framework's own reader may not take become facts of their own; keys that are taken, remarks and other forms do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.frameworks import registry
from stablint.syntax.json.reader import document as json_document
from stablint.syntax.tree import Text
from stablint.syntax.yaml.reader import documents as yaml_documents
from tests.runs import inspected, rules

LLAMAFACTORY = "model_name_or_path: m\nstage: sft\nfinetuning_type: lora\ntemplate: t\noutput_dir: out\n"
AXOLOTL = "base_model: m\nsequence_len: 8\nmicro_batch_size: 1\ndatasets: [{path: a}]\n"
SWIFT = "model: m\ntuner_type: lora\ndataset: [a]\noutput_dir: out\nlearning_rate: 1.0e-4\n"
ACCELERATE = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 8\n"
RECIPE = "model_name_or_path: m\ndataset_name: d\nlearning_rate: 1.0e-5\nmax_steps: 3\nuse_peft: true\n"
TORCHTUNE = "model: {_component_: torchtune.models.llama3.lora_llama3_8b, lora_rank: 8}\noptimizer: {_component_: torch.optim.AdamW, lr: 1e-4}\nbatch_size: 1\n"
LITGPT = "checkpoint_dir: m\nout_dir: o\nprecision: bf16-true\ntrain: {epochs: 1}\noptimizer: AdamW\n"
LATER = {"keys.axolotl.plugins"}  # taken, but not by every release
CASES = {
    "a key that nobody has": (LLAMAFACTORY + "max_seq_length: 8\n", {"keys.llamafactory.max_seq_length"}),
    "fields of transformers": (LLAMAFACTORY + "learning_rate: 1.0e-4\nevaluation_strategy: steps\nbf16: true\n", set()),
    "a remark": (LLAMAFACTORY + "_note: a\n.anchors: {a: 1}\n", set()),
    "arguments of another class": (LLAMAFACTORY + "tensor_model_parallel_size: 2\nsome_megatron_key: 1\n", set()),
    "the second generation": ("model: m\nmodel_class: llm\ndist_config: {name: fsdp2}\nmicro_batch_size: 1\n", set()),
    "axolotl has no TrainingArguments": (AXOLOTL + "per_device_train_batch_size: 1\n", {"keys.axolotl.per_device_train_batch_size"}),
    "a plugin that is not listed": (AXOLOTL + "liger_rope: true\n", {"keys.axolotl.liger_rope"}),
    "a plugin that is": (AXOLOTL + "plugins: [axolotl.integrations.liger.LigerPlugin]\nliger_rope: true\n", set()),
    "somebody's own plugin": (AXOLOTL + "plugins: [mine.Plugin]\nmy_key: 1\n", set()),
    "FSDP options with their prefix": (AXOLOTL + "fsdp_config: {fsdp_state_dict_type: FULL_STATE_DICT}\n", set()),
    "a plain mapping takes anything": (AXOLOTL + "overrides_of_model_config: {any: 1}\nbnb_config_kwargs: {any: 1}\n", set()),
    "the environment of ms-swift": (SWIFT + "ENV: {NPROC_PER_NODE: 2}\n", set()),
    "Ray groups of ms-swift": (SWIFT + "train: {gpus: 1}\nunheard_of: 1\n", set()),
    "another framework's": (SWIFT + "cutoff_len: 8\n", {"keys.ms-swift.cutoff_len"}),
    "accelerate's top level": (ACCELERATE + "zero_stage: 3\n", {"keys.accelerate.zero_stage"}),
    "what accelerate rewrites": (ACCELERATE + "fp16: true\ndynamo_backend: 'NO'\n", set()),
    "a section of accelerate": (ACCELERATE + "fsdp_config: {fsdp_offload_parms: true, offload_params: true}\n", {"keys.accelerate-launch.fsdp_offload_parms"}),
    "an argument that a component does not have": (TORCHTUNE.replace("lora_rank", "lora_r"), {"keys.torchtune.models.llama3.lora_llama3_8b.lora_r"}),
    "a component with any arguments": (TORCHTUNE + "metric_logger: {_component_: torchtune.training.metric_logging.WandBLogger, any: 1}\n", set()),
    "components of others": (TORCHTUNE + "loss: {_component_: mine.Loss, any: 1}\n", set()),
    "what a recipe takes out of a data set": (TORCHTUNE + "dataset: {a: {_component_: torchtune.datasets.packed, weight: 1}}\n", set()),
    "components in a list": (TORCHTUNE + "dataset: [{_component_: torchtune.datasets.PackedDataset, p: 1}]\n", {"keys.torchtune.datasets.PackedDataset.p"}),
    "a slip of what recipes ask for": (TORCHTUNE + "max_step_per_epoch: 1\n", {"keys.torchtune-recipe.max_step_per_epoch"}),
    "a key of one's own recipe": (TORCHTUNE + "my_own_key: 1\n", set()),
    "a field that litgpt's dataclass does not have": (LITGPT.replace("epochs", "epoch"), {"keys.litgpt.train.epoch"}),
    "what litgpt's classes take": (LITGPT + "data: {class_path: A, init_args: {any: 1}}\n", set()),
    "a slip in a recipe": (RECIPE + "gradient_acumulation_steps: 8\n", {"keys.recipe.gradient_acumulation_steps"}),
    "other marks between the words": (RECIPE + "warmupRatio: 0.1\nnum-train-epochs: 1\n", {"keys.recipe.warmupRatio", "keys.recipe.num-train-epochs"}),
    "another framework's word for TRL's": (RECIPE + "cutoff_len: 8\n", {"keys.recipe.cutoff_len"}),
    "TRL's own word is there already": (RECIPE + "max_length: 8\ncutoff_len: 8\n", set()),
    "a script with words of its own": (RECIPE + "cutoff_len: 8\nmy_reward: 1\nmy_folder: a\n", set()),
    "a script's own key": (RECIPE + "my_dataset_folder: a\n", set()),
    "a script with more of its own": (RECIPE + "warmup_ration: 0.1\nmy_reward: 1\nmy_folder: a\n", set()),
}  # fmt: skip


def keys(content: str) -> set[str]:
    text = Text("file", "file", content)
    found = (json_document(text),) if content[:1] == "{" else yaml_documents(text)
    return {
        one.fact
        for document in found
        for fragment in registry.lower(document)
        for one in fragment.statements
        if one.fact.startswith("keys.")
    }


@pytest.mark.parametrize(("content", "expected"), CASES.values(), ids=CASES)
def test_only_keys_that_may_be_unread_are_told(content: str, expected: set[str]) -> None:
    before = next(
        (
            base
            for base in (LLAMAFACTORY, AXOLOTL, SWIFT, ACCELERATE, RECIPE, TORCHTUNE, LITGPT)
            if content.startswith(base)
        ),
        "{}",
    )
    assert keys(content) - keys(before) - LATER == expected


def test_what_axolotl_never_reads_says_nothing_else() -> None:
    """`max_seq_length` is a length elsewhere; here it is dropped."""
    (document,) = yaml_documents(Text("file", "file", AXOLOTL + "max_seq_length: 9999\n"))
    (fragment,) = registry.lower(document)
    lengths = [one.value for one in fragment.statements if one.fact == "training.max_length"]
    assert lengths == [8]


# Which program reads the flags is told by its words; flags alone may be anybody's.
COMMANDS = {
    "llamafactory-cli train --stage sft --no_double_quantization --lora_ran 8 --lora_targets q_proj --output_dir o --bf16": {"keys.llamafactory.lora_targets"},
    "python my_train.py --stage sft --finetuning_type lora --my_flag 1 --output_dir o --bf16": set(),
    "trl sft --model_name_or_path m --num_processes 2 --learning_rte 1 --max_steps 3": {"keys.trl.learning_rte"},
    "python train.py --model_name_or_path m --learning_rte 1 --max_steps 3 --learning_rate 1e-5": set(),
}  # fmt: skip


@pytest.mark.parametrize(("command", "expected"), COMMANDS.items())
def test_flags_of_a_command_that_names_its_program(command: str, expected: set[str]) -> None:
    """Beginnings of flags and `--no_…` are what `argparse` and HfArgumentParser take besides."""
    from stablint.syntax.shell.reader import document

    found = registry.lower(document(Text("a.sh", "a.sh", command + "\n")))
    stated = {one.fact for fragment in found for one in fragment.statements if one.fact.startswith("keys.")}
    assert stated == expected


def test_a_command_that_ray_reads_is_not_judged_by_the_arguments_of_another_parser(tmp_path: Path) -> None:
    ray = {"run.sh": "megatron rlhf --use_ray true --config groups.yaml\n"}
    plain = {"run.sh": "megatron rlhf --rlhf_type grpo --groups 2 --model a\n"}
    assert "framework-argument-unfamiliar" not in rules(inspected(tmp_path / "ray", ray))
    assert "framework-argument-unfamiliar" in rules(inspected(tmp_path / "plain", plain))


HINTS = [
    ('{"train_batch_size": 8, "zero_optimization": {"stage": 2, "overlap_com": true}}', "is `overlap_comm` meant?"),
    (
        '{"train_batch_size": 8, "zero_optimization": {"stage": 2, "gradient_clipping": 1.0}}',
        "it belongs to the top level",
    ),
    (ACCELERATE + "zero_stage: 3\n", "it belongs to `deepspeed_config`"),
    (ACCELERATE + "fsdp_offload_params: true\n", "it belongs to `fsdp_config`"),
    (LITGPT + "micro_batch_size: 2\n", "it belongs to `train`"),
    (TORCHTUNE.replace("lora_rank", "lora_r"), "is `lora_rank` meant?"),
    (RECIPE + "cutoff_len: 8\n", "is `max_length` meant?"),
]


@pytest.mark.parametrize(("content", "hint"), HINTS)
def test_where_a_key_belongs_and_what_it_may_mean(tmp_path: Path, content: str, hint: str) -> None:
    found = inspected(tmp_path, {"run.json" if content[:1] == "{" else "run.yaml": content})
    assert any(hint in one.message for one in found.report.diagnostics)


def test_a_section_of_another_program_is_no_file_of_deepspeed(tmp_path):
    """`deepspeed:` with words of which DeepSpeed has none, such as the path of its file."""
    text = "context_length: 512\nnum_epochs: 6\nlearning_rate: 3.0e-5\noutput_dir: out\ndeepspeed:\n  config_path: zero_3.json\n"
    report = inspected(tmp_path, {"train.yaml": text}).report
    assert not [one for one in report.diagnostics if one.code.startswith("D")]
    own = text.replace("config_path: zero_3.json", "zero_optimisation: {stage: 3}")
    assert [one for one in inspected(tmp_path, {"train.yaml": own}).report.diagnostics if one.code.startswith("D")]


def test_a_copy_of_verl_beside_the_command_has_keys_of_its_own(tmp_path: Path) -> None:
    """What the package refuses is told; a copy of its program may come with other files."""
    words = "data.train_files=a.parquet data.own_key=1 actor_rollout_ref.model.path=Qwen/Qwen3-8B +trainer.nnodes=2"
    script = {"run.sh": f"python -m verl.trainer.main_ppo {words}\n"}
    program = "import hydra\n\n@hydra.main(config_path='config', config_name='ppo_trainer')\ndef main(config):\n    train(config)\n"
    told = {"verl-unfamiliar-key", "verl-key-is-there"}
    assert told <= rules(inspected(tmp_path / "alone", script))
    assert not told & rules(inspected(tmp_path / "copy", {**script, "verl/trainer/main_ppo.py": program}))


IN_JSON = '{"zero_optimization": {"stage": 3, "sub_group_size": 1e9, "stage3_max_live_parameters": 1E9, "reduce_bucket_size": %s}, "bf16": {"enabled": true}}\n'


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("ds.json", "2e8", False),
        ("ds.yaml", "2e8", False),
        ("ds.yml", "5e8", False),
        ("ds.yaml", '"2e8"', True),  # text in JSON as well
        ("ds.yaml", "2e8, # a comment", True),  # YAML's own form: only its reader takes it
    ],
)
def test_json_has_its_own_numbers_whatever_its_file_is_called(
    tmp_path: Path, name: str, value: str, told: bool
) -> None:
    found = inspected(tmp_path, {name: IN_JSON.replace("%s", value).replace("comment}", "comment\n}")})
    assert ("deepspeed-value-type" in rules(found, "error", "warning")) is told
