"""A framework dates the libraries that it drives; what a program without releases fills in is a guess of its copies."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.base.knowledge import load
from stablint.hazard.checked import Checked
from stablint.run.releases.allowed import listed_keys
from stablint.run.releases.pep440 import matcher, minor_of, release_key
from tests.runs import inspected

LLAMAFACTORY = (
    "llamafactory-cli train --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct --stage sft --do_train true --finetuning_type lora "
    "--template qwen --dataset d --learning_rate 2e-4 --warmup_ratio 0.1 --output_dir out\n"
)
OPENRLHF = "deepspeed --module openrlhf.cli.train_sft --pretrain Qwen/Qwen2.5-1.5B --dataset d --zero_stage 2 --micro_train_batch_size 2\n"
HUGGINGFACE = "python run_clm.py --model_name_or_path gpt2 --do_train --output_dir o --per_device_train_batch_size 4 --warmup_ratio 0.1\n"

BOUNDS = [  # command, what is stated, the newest transformers that it may meet
    (LLAMAFACTORY, [], "5.6.2"),
    (LLAMAFACTORY, ["transformers>=4.44"], "5.6.2"),
    (LLAMAFACTORY, ["llamafactory==0.9.5"], "5.6.2"),  # though newer ones were out on its day
    (LLAMAFACTORY, ["transformers==4.46.1"], "4.46.1"),
    (LLAMAFACTORY, ["transformers==5.23.0"], "5.23.0"),  # what is stated is believed
    (LLAMAFACTORY, ["llamafactory==0.9.6"], "5.24.0"),  # newer than the one that was read
    (OPENRLHF, ["transformers>=4.44"], "5.15.1"),
    (HUGGINGFACE, ["transformers>=4.44"], "5.24.0"),
]


@pytest.mark.parametrize(("command", "stated", "most"), BOUNDS)
def test_no_release_is_presumed_that_the_framework_refuses(
    command: str, stated: list[str], most: str, tmp_path: Path
) -> None:
    found = inspected(tmp_path, {"train.sh": command}, releases=stated)
    (run,) = found.runs
    newest = run.releases.newest("transformers")
    assert newest is not None and newest <= release_key(most)
    assert (newest == release_key("5.24.0")) is (most == "5.24.0")


def test_a_name_that_the_framework_still_has_is_not_called_gone(tmp_path: Path) -> None:
    found = inspected(tmp_path, {"train.sh": LLAMAFACTORY}, releases=["transformers>=4.44"])
    assert not [d for d in found.report.diagnostics if d.code == "V101"]


RECIPE = """model_name_or_path: Qwen/Qwen2.5-7B-Instruct
stage: sft
finetuning_type: lora
template: qwen
dataset: identity
output_dir: o
eval_strategy: steps
val_size: 0.1
learning_rate: 1.0e-4
"""


@pytest.mark.parametrize(
    ("requirements", "newest"),
    [
        ("transformers==4.30.1\n", None),  # another program's: nothing that is given such a file ran with it
        ("transformers==4.40.2\n", "4.40.2"),
        ("transformers>=4.30.1\n", None),
        ("transformers==4.30.1\nllamafactory==0.6.3\n", "4.30.1"),
    ],
)
def test_a_pin_that_the_framework_cannot_run_with_is_another_program_s(
    requirements: str, newest: str | None, tmp_path: Path
) -> None:
    found = inspected(tmp_path, {"sft.yaml": RECIPE, "requirements.txt": requirements, ".git/HEAD": ""})
    (run,) = found.runs
    key = run.releases.newest("transformers")
    assert key is not None
    assert key == release_key(newest) if newest else key > release_key("4.45")


CHAT = (
    "deepspeed main.py --model_name_or_path meta-llama/Llama-2-7b-hf --data_split 2,4,4 --zero_stage {stage} --lora_dim 128 "
    "--learning_rate 1e-3 --offload --output_dir out\n"
)


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_what_a_copied_program_may_fill_in_draws_no_warning(stage: int, tmp_path: Path) -> None:
    found = inspected(tmp_path, {"run.sh": CHAT.format(stage=stage)}, releases=["deepspeed==0.14.0"])
    assert not [d.code for d in found.report.diagnostics if d.severity != "info"]


def test_a_copy_at_hand_decides_and_nothing_is_presumed_of_it(tmp_path: Path) -> None:
    program = (
        "import deepspeed\nfrom utils.ds_utils import get_train_ds_config\n\nconfig = get_train_ds_config(offload=True)\n"
        "deepspeed.initialize(model=m, config=config)\n"
    )
    found = inspected(tmp_path, {"run.sh": CHAT.format(stage=2), "main.py": program}, releases=["deepspeed==0.14.0"])
    assert not {"D149", "P109"} & {d.code for d in found.report.diagnostics}


OWN_FLAGS = [  # a flag that only a release newer than the stated one has is the program's own
    "deepspeed train2.py --num_layers 12 --batch_size 4 --num_steps 9 --warmup_steps 1 --activation_checkpointing --seed 4\n",
    "srun deepspeed --num_gpus=$N train2.py --deepspeed_config ds.json $COMMON --batch_size 4 --warmup_steps 1 --activation_checkpointing\n",
    "torchrun pretrain.py --hidden_size 64 --lr 1e-4 --learning_rate 1e-4 --max_steps 10 --activation_checkpointing\n",
]


@pytest.mark.parametrize("command", OWN_FLAGS)
def test_the_newest_name_of_a_setting_is_no_proof_of_the_library(command: str, tmp_path: Path) -> None:
    found = inspected(tmp_path, {"train.sh": command}, releases=["transformers==4.57.6"])
    assert "V106" not in {d.code for d in found.report.diagnostics}


ENGINE = """def get_train_ds_config(offload, stage=2):
    device = "cpu" if offload else "none"
    zero = {"stage": stage, "offload_param": {"device": device}, "offload_optimizer": {"device": device}}
    return {"zero_optimization": zero, "%s": {"enabled": True}, "gradient_clipping": 0.5}
"""
PROGRAM = """import deepspeed
from utils.ds_utils import get_train_ds_config

deepspeed.initialize(model=m, config=get_train_ds_config(offload=True))
"""


@pytest.mark.parametrize(("written", "computed"), [("bf16", "bfloat16"), ("fp16", "float16")])
@pytest.mark.parametrize("folder", ["", "step1/"])
def test_the_dict_of_the_copy_says_the_format(written: str, computed: str, folder: str, tmp_path: Path) -> None:
    files = {
        "run.sh": CHAT.format(stage=2).replace("main.py", f"{folder}main.py"),
        f"{folder}main.py": PROGRAM,
        "utils/ds_utils.py": ENGINE % written,
    }
    (run,) = [run for run in inspected(tmp_path, files).runs if run.framework == "deepspeed-chat"]
    world = Checked(run).newest
    assert world.value("derived.compute_dtype") == computed
    assert world.value("deepspeed.gradient_clipping") == 0.5
    assert world.value("deepspeed.zero_optimization.stage") == 2


UNSLOTH = (
    "from unsloth import FastLanguageModel\nfrom trl import SFTConfig, SFTTrainer\n\n"
    'model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Qwen3-8B", max_seq_length=2048)\n'
    'SFTTrainer(model=model, args=SFTConfig(output_dir="o"), train_dataset=rows).train()\n'
)
TRL = (
    "from trl import SFTConfig, SFTTrainer\n\n"
    'SFTTrainer(model="m", args=SFTConfig(output_dir="o"), train_dataset=rows).train()\n'
)
STATED = [  # program, what is stated, a library, the oldest and the newest release that is left
    (UNSLOTH, ["unsloth==2025.9.11"], "trl", "0.22.2", "0.23.1"),
    (UNSLOTH, ["unsloth==2025.9.11"], "transformers", "4.56.2", "4.56.2"),
    (TRL, ["trl==1.16.0"], "transformers", "5.19.0", "5.24.0"),
    (TRL, ["trl==0.12.2", "transformers==4.50.3"], "transformers", "4.50.3", "4.50.3"),  # what is stated is believed
    (TRL, ["trl==0.12.0"], "transformers", "4.46.3", "4.51.3"),  # it asks for 4.46 or newer; 0.12.2 alone refuses 4.47
]


@pytest.mark.parametrize(("program", "stated", "library", "oldest", "newest"), STATED)
def test_a_stated_release_bounds_what_it_is_built_on(
    program: str, stated: list[str], library: str, oldest: str, newest: str, tmp_path: Path
) -> None:
    (run,) = inspected(tmp_path, {"train.py": program}, releases=stated).runs
    left = run.releases.allowed(library)
    assert (left[0], left[-1]) == (release_key(oldest), release_key(newest))


BERT = """from transformers import Trainer, TrainingArguments

arguments = TrainingArguments("o", overwrite_output_dir=True)
Trainer(model=model, args=arguments, train_dataset=rows, tokenizer=tokenizer).train()
"""
BOTH = {"overwrite_output_dir", "tokenizer"}  # which went with transformers 5
LISTS = {
    "a-development-release-before-a-final-one": ("trl==0.24.0\nllamafactory==0.9.4.dev0\n", set()),
    "a-development-release-of-which-nobody-knows-more": ("trl==0.24.0\nllamafactory==0.9.6.dev0\n", BOTH),
    "the-other-library-alone": ("trl==0.24.0\n", BOTH),
    "the-final-one": ("llamafactory==0.9.4\ntrl>=0.20\n", set()),
    "an-older-one": ("llamafactory==0.9.0\ntrl>=0.9\n", set()),
    "between-two": ("llamafactory>=0.9.0,<0.9.5\ntrl>=0.9\n", set()),
    "one-that-takes-the-fifth": ("llamafactory==0.9.5\ntransformers>=4.55\n", BOTH),
    "only-what-came-before-the-fifth-beside-it": ("llamafactory==0.9.5\ntransformers<5\n", set()),
    "a-release-of-transformers-is-stated": ("llamafactory==0.9.4\ntransformers==5.0.0\n", BOTH),
    "a-name-alone": ("llamafactory\ntrl==0.24.0\n", BOTH),
    "a-commit": ("llamafactory @ git+https://github.com/hiyouga/LLaMA-Factory@0123456789abcdef\ntrl==0.24.0\n", BOTH),
    "ms-swift": ("ms-swift==3.9.1\ntrl==0.23.0\n", set()),
    "openrlhf": ("openrlhf==0.8.11\ntrl==0.24.0\n", set()),
    "vllm": ("vllm==0.11.2\ntrl==0.24.0\n", set()),
    "a-range-of-vllm": ("vllm>=0.12,<0.15\ntrl>=0.24\n", set()),
    "two-that-bound": ("vllm==0.11.2\nllamafactory==0.9.4\n", set()),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_every_library_of_a_list_bounds_the_others(name: str, tmp_path: Path) -> None:
    stated, gone = LISTS[name]
    found = inspected(tmp_path, {"train.py": BERT, "requirements.txt": stated})
    told = {
        d.message.split("`")[1] for d in found.report.diagnostics if d.code in ("V101", "V104") and d.severity != "info"
    }
    assert told == gone


ROWS = {  # a release that bounds others, and the row of the table that counts for it: the last, or the first of its own minor release
    "0.9.4": "0.9.4",
    "0.9.3": "0.9.3",
    "0.8.3": "0.8.0",
    "0.8.0": "0.8.0",
    "0.7.1": "0.7.1",
}


@pytest.mark.parametrize("own", ROWS)
def test_a_release_within_a_minor_one_has_bounds_of_its_own(own: str, tmp_path: Path) -> None:
    asked = load("release-bounds")["llamafactory"][ROWS[own]]["transformers"]
    (run,) = inspected(tmp_path, {"train.sh": LLAMAFACTORY}, releases=[f"llamafactory=={own}"]).runs
    test = matcher(asked)
    minors = {minor_of(key) for key in listed_keys("transformers") if test(key)}
    left = run.releases.allowed("transformers")
    assert left and {minor_of(key) for key in left} <= minors


@pytest.mark.parametrize(("flag", "is_chat"), [("--offload", True), ("--offload optimizer", False), ("", True)])
def test_a_word_behind_a_switch_of_deepspeed_chat_tells_a_relative(flag: str, is_chat: bool, tmp_path: Path) -> None:
    """Safe-RLHF's parser takes none, parameter, optimizer and all where DeepSpeed-Chat has a switch."""
    command = f"deepspeed --module mine.ppo --actor_model_name_or_path a --zero_stage 3 {flag} --output_dir out\n"
    result = inspected(tmp_path, {"run.sh": command})
    assert any(run.framework == "deepspeed-chat" for run in result.runs) is is_chat
    assert not [one for one in result.findings if one.severity == "error"]
