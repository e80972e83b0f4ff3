"""Launch scripts → runs: what the launcher, its environment and the Slurm header say, and which files join."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablint.run.fact import ABSENT, Explicit, is_unknown
from tests.runs import Files, inspected, rules, runs, world

FLAGS = "--model_name_or_path Qwen/Qwen2-7B --output_dir o --learning_rate 1e-5 --per_device_train_batch_size 2"


def fact(run: Any, name: str) -> Any:
    """The explicit or supplied value; "?" where it is not known, ABSENT where nothing is said."""
    found = run.explicit.get(name) or run.supplied.get(name)
    return ABSENT if found is None else "?" if is_unknown(found.value) else found.value


def only(tmp_path: Path, script: str, **files: str) -> Any:
    (run,) = runs(tmp_path, {"train.sh": script, **files})
    return run


# A command, and what it says of processes (in all, on a node) and nodes.
PROCESSES = [
    ("torchrun --nproc_per_node 8 --nnodes 2 t.py", {"processes_per_node": 8, "nodes": 2, "launcher": "torchrun"}),
    ("torchrun --nproc-per-node=gpu --nnodes 1:4 t.py", {"processes_per_node": "?", "nodes": "?"}),
    ("torchrun --standalone --nproc_per_node 4 t.py", {"processes_per_node": 4, "nodes": 1}),
    ("N=4\ntorchrun --nproc_per_node $N t.py", {"processes_per_node": 4}),
    ("torchrun --nproc_per_node $1 t.py", {"processes_per_node": "?"}),
    ("python -m torch.distributed.run --nproc_per_node 2 t.py", {"processes_per_node": 2, "launcher": "torchrun"}),
    ("D='--nproc_per_node 8 --nnodes 2'\nsrun torchrun $D t.py", {"processes_per_node": 8, "nodes": 2}),
    ("nohup deepspeed --num_gpus 4 --num_nodes 2 t.py", {"processes_per_node": 4, "nodes": 2, "launcher": "deepspeed"}),
    ("deepspeed --num_gpus -1 t.py", {"processes_per_node": "?"}),
    ("deepspeed --include localhost:0,1,3 t.py", {"processes": 3, "nodes": 1}),
    ("deepspeed --include a:0,1@b:0,1 t.py", {"processes": 4, "nodes": 2}),
    ("deepspeed --include a@b t.py", {"processes": ABSENT, "processes_per_node": "?"}),
    ("deepspeed --exclude localhost:1 t.py", {"processes_per_node": "?"}),
    ("deepspeed --hostfile hosts t.py", {"nodes": "?"}),
    ("CUDA_VISIBLE_DEVICES=0,1 deepspeed t.py", {"processes_per_node": 2, "env.CUDA_VISIBLE_DEVICES": "0,1"}),
    ("CUDA_VISIBLE_DEVICES=0,1 deepspeed --num_gpus 1 t.py", {"processes_per_node": 1}),
    ("accelerate launch --num_processes 8 --num_machines 2 t.py", {"processes": 8, "nodes": 2, "launcher": "accelerate"}),
    ("python -m accelerate.commands.launch --num_processes 8 t.py", {"processes": 8, "launcher": "accelerate"}),
    ("export OMP_NUM_THREADS=8\nenv A=1 python t.py", {"launcher": "python", "env.OMP_NUM_THREADS": "8", "env.A": "1"}),
    ("ray job submit --address x -- python -m pkg.train", {"launcher": "python"}),
    ("docker run --gpus all -v a:b image torchrun --nproc_per_node 2 t.py", {"processes_per_node": 2}),
    ("docker run --gpus all --entrypoint torchrun image:1 --nproc_per_node 2 t.py", {"processes_per_node": 2}),
    ("docker run --entrypoint python3 $IMAGE -m pkg.train", {"launcher": "python"}),
    ("srun --nodes 2 bash -c 'torchrun --nproc_per_node 2 t.py FLAGS'", {"processes_per_node": 2}),
]  # fmt: skip


@pytest.mark.parametrize(("command", "expected"), PROCESSES)
def test_processes_and_nodes(tmp_path, command, expected):
    script = command.replace("FLAGS", FLAGS) if "FLAGS" in command else f"{command} {FLAGS}"
    run = only(tmp_path, script)
    assert {name: fact(run, f"launch.{name}") for name in expected} == expected


ENVIRONMENT = [
    ("NPROC_PER_NODE=4 NNODES=2 swift sft --model Qwen/Qwen2-7B --dataset d", {"processes_per_node": 4, "nodes": 2, "launcher": "swift"}),
    ("export NPROC_PER_NODE=2\nllamafactory-cli train --stage sft --finetuning_type lora --model_name_or_path a/b", {"processes_per_node": 2}),
    ("NPROC_PER_NODE=4 python t.py " + FLAGS, {"processes_per_node": ABSENT}),
    ("trl sft --num_processes 4 --dataset_name d " + FLAGS, {"processes": 4, "launcher": "trl"}),
]  # fmt: skip


@pytest.mark.parametrize(("script", "expected"), ENVIRONMENT)
def test_programs_that_start_torchrun_themselves(tmp_path, script, expected):
    run = only(tmp_path, script)
    assert {name: fact(run, f"launch.{name}") for name in expected} == expected


# Header lines, and what they say of the machine.
HEADERS = [
    ("#SBATCH --gres=gpu:a100:8", {"name": "A100", "count": 8, "memory_gib": "?", "native_bf16": True}),
    ("#SBATCH --nodes=2\n#SBATCH --gres=gpu:v100:4", {"name": "V100", "count": 8, "native_bf16": False}),
    ("#SBATCH -N 2 --gpus-per-node=h100:4", {"count": 8, "native_bf16": True}),
    ("#SBATCH --gpus=a100:4 # all in all", {"name": "A100", "count": 4}),
    ("#SBATCH -G 4\n#SBATCH -C a100", {"name": "A100", "count": 4}),
    ("#SBATCH --gres=gpu:a100:2\n#SBATCH --constraint=nvme", {"name": "A100", "count": 2}),
    ("#SBATCH --gres=gpu:8", {"name": ABSENT, "count": 8}),
    ("#SBATCH --gres=gpu:mystery:8", {"name": ABSENT, "count": 8}),
    ("#SBATCH --constraint=\"a100|h100\"", {"name": ABSENT}),
    ("#SBATCH --gres=gpu:a100:8,shard:2", {"name": "A100", "count": 8}),
    ("echo\n#SBATCH --gres=gpu:a100:8", {"name": ABSENT}),
    ("# SBATCH --gres=gpu:a100:8", {"name": ABSENT}),
]  # fmt: skip


@pytest.mark.parametrize(("header", "expected"), HEADERS)
def test_a_header_names_the_machine(tmp_path, header, expected):
    run = only(tmp_path, f"#!/bin/bash\n{header}\ntorchrun --nproc_per_node 8 t.py {FLAGS}\n")
    assert {name: fact(run, f"target.gpu.{name}") for name in expected} == expected
    found = run.supplied.get("target.gpu.name")
    assert found is None or (isinstance(found.origin, Explicit) and found.origin.place.document.text.name == "train.sh")


def test_who_names_a_gpu_overrules_the_header(tmp_path):
    script = f"#SBATCH --gres=gpu:v100:4\npython t.py {FLAGS}\n"
    (run,) = runs(tmp_path, {"train.sh": script}, gpus=["H100"])
    assert (fact(run, "target.gpu.native_bf16"), run.target) == (True, "H100")


def test_variables_of_slurm_are_what_the_header_asks_for(tmp_path):
    script = "#SBATCH --nodes=2\n#SBATCH --gres=gpu:4\nsrun torchrun --nnodes $SLURM_NNODES --nproc_per_node $SLURM_GPUS_ON_NODE t.py "
    run = only(tmp_path, script + FLAGS)
    assert (fact(run, "launch.nodes"), fact(run, "launch.processes_per_node")) == (2, 4)


def test_tasks_of_srun_are_no_processes_of_one_run(tmp_path):
    run = only(tmp_path, f"#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\nsrun python t.py {FLAGS}\n")
    assert (fact(run, "launch.nodes"), fact(run, "launch.processes")) == (2, "?")


def test_what_the_caller_may_say_otherwise_is_presumed(tmp_path):
    run = only(tmp_path, f"LR=${{LR:-3e-4}}\nW=0.1\npython t.py {FLAGS.replace('1e-5', '$LR')} --warmup_ratio $W\n")
    assert (fact(run, "training.learning_rate"), run.explicit["training.learning_rate"].presumed) == (3e-4, True)
    assert (fact(run, "training.warmup_ratio"), run.explicit["training.warmup_ratio"].presumed) == (0.1, False)


TRUTHS = [
    ("--bf16 1", True),
    ("--bf16 no", False),
    ("--bf16 Yes", True),
    ("--bf16 TRUE", True),
    ("--seed 1", 1),
    ("--save_strategy no", "no"),
    ("--report_to 0", 0),
]


@pytest.mark.parametrize(("flag", "expected"), TRUTHS)
def test_truth_as_the_library_reads_it(tmp_path, flag, expected):
    name = flag.partition(" ")[0].removeprefix("--")
    assert fact(only(tmp_path, f"python t.py {FLAGS} {flag}\n"), f"training.{name}") == expected


@pytest.mark.parametrize(
    ("tail", "scope"),
    [
        ("", "presumed"),
        (' --config "$C"', "open"),
        (" --config a.yaml", "open"),
        (' "$@"', "open"),
        (" $EXTRA", "open"),
    ],
)
def test_arguments_of_the_caller_open_the_scope(tmp_path, tail, scope):
    run = only(tmp_path, f"python t.py {FLAGS} --fp16 True --logging_steps 1{tail}\n")
    assert run.scopes["training"] == scope


def test_each_launch_of_a_file_is_a_run(tmp_path):
    found = runs(
        tmp_path, {"train.sh": f"python t.py {FLAGS}\nlr() {{ python t.py {FLAGS} --seed $1; }}\nlr 1\nlr 2\n"}
    )
    assert [fact(run, "training.seed") for run in found] == [ABSENT, 1, 2]


ZERO3 = '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 4}\n'
# How a script comes by its DeepSpeed configuration, and where the batch size stands that contradicts the flag.
WRITTEN = {
    "a file beside it": ("", "--deepspeed ds.json", {"ds.json": ZERO3}, "ds.json"),
    "a file of its own folder": ('D=$(cd "$(dirname "$0")" && pwd)\n', '--deepspeed "$D/ds.json"', {"ds.json": ZERO3}, "ds.json"),
    "a here-document": (f"cat <<EOF > ds.json\n{ZERO3}EOF\n", "--deepspeed ./ds.json", {}, "train.sh"),
    "one that is written first": (f"cat > ds.json <<-'EOF'\n\t{ZERO3}\tEOF\n", "--deepspeed ds.json", {}, "train.sh"),
    "tee": (f"tee ds.json <<EOF >/dev/null\n{ZERO3}EOF\n", "--deepspeed ds.json", {}, "train.sh"),
    "echo": (f"echo '{ZERO3.strip()}' > ds.json\n", "--deepspeed ds.json", {}, "train.sh"),
    "under a name that nobody knows": (f"C=$(mktemp)\ncat > $C <<EOF\n{ZERO3}EOF\n", "--deepspeed $C", {}, "train.sh"),
    "in a folder that nobody knows": (f"cat > $1/ds.json <<EOF\n{ZERO3}EOF\n", "--deepspeed $1/ds.json", {}, "train.sh"),
    "with a variable": (f"B=4\ncat > ds.json <<EOF\n{ZERO3.replace('4', '$B')}EOF\n", "--deepspeed ds.json", {}, "train.sh"),
    "in quotes": ("", f"--deepspeed '{ZERO3.strip()}'", {}, "train.sh"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRITTEN)
def test_deepspeed_configurations(tmp_path, case):
    before, flag, files, where = WRITTEN[case]
    script = f"{before}deepspeed t.py {FLAGS} {flag}\n"
    (run,) = runs(tmp_path, {"train.sh": script, **files})
    assert fact(run, "deepspeed.zero_optimization.stage") == 3
    micro = run.explicit["deepspeed.train_micro_batch_size_per_gpu"]
    assert micro.value == 4
    assert micro.origin.place.document.text.name == where


# Where the script goes, and which of two files of one name is read then: the one in configs, or the one beside it.
FOLDERS = [
    ("cd configs", 3),
    ("cd configs && x", 3),
    ("(cd configs; x)", 2),
    ("cd configs; cd ..", 2),
    ("cd configs; x; cd -", 2),
    ("if x; then cd configs; fi", 2),
    ("cd $1", 2),
    ('cd "$(dirname "$0")/configs"', 3),
]


@pytest.mark.parametrize(("way", "stage"), FOLDERS)
def test_files_are_looked_up_from_where_the_script_has_gone(tmp_path, way, stage):
    files = {"ds.json": ZERO3.replace("3", "2"), "configs/ds.json": ZERO3}
    found = runs(tmp_path, {"train.sh": f"{way}\ndeepspeed t.py {FLAGS} --deepspeed ds.json\n", **files})
    run = next(run for run in found if "train.sh" in run.files)
    assert fact(run, "deepspeed.zero_optimization.stage") == stage


def test_a_variable_that_is_unknown_is_unknown_in_what_is_written(tmp_path):
    script = f"cat > ds.json <<EOF\n{ZERO3.replace('4', '$1')}EOF\ndeepspeed t.py {FLAGS} --deepspeed ds.json\n"
    assert fact(only(tmp_path, script), "deepspeed.train_micro_batch_size_per_gpu") == "?"


def test_a_written_config_is_read_by_its_own_dialect(tmp_path):
    config = (
        "model_name_or_path: Qwen/Qwen2-7B\nstage: sft\nfinetuning_type: lora\ntemplate: qwen\nlearning_rate: 1.0e-4\n"
    )
    found = inspected(tmp_path, {"train.sh": f"cat <<EOF > cfg.yaml\n{config}EOF\nllamafactory-cli train cfg.yaml\n"})
    (run,) = found.runs
    place = run.explicit["training.learning_rate"].origin.place
    assert (run.dialects[0], place.document.text.text[place.start : place.end]) == ("llamafactory", "1.0e-4")
    assert found.report.files[0].dialect == "shell"


SHARED: Files = {
    "ds.json": '{"fp16": {"enabled": true}, "zero_optimization": {"stage": 3}}\n',
    "one.sh": f"deepspeed t.py {FLAGS} --bf16 True --deepspeed ds.json\n",
    "two.sh": f"torchrun --nproc_per_node 2 t.py {FLAGS} --bf16 True --deepspeed ds.json\n",
}


def test_two_launchers_of_one_deepspeed_file_are_two_runs_and_one_finding_that_names_both(tmp_path):
    found = inspected(tmp_path, SHARED)
    assert len(found.runs) == 2
    (diagnostic,) = [d for d in found.report.diagnostics if d.rule == "deepspeed-fp16-mismatch"]
    assert diagnostic.text.name == "ds.json"
    assert {run.partition(":")[0] for run in diagnostic.runs} == {"one.sh", "two.sh"}


def test_a_python_script_joins_the_launch_that_names_it(tmp_path):
    script = "from transformers import TrainingArguments\n\nargs = TrainingArguments(output_dir='o', fp16=True)\n"
    run = only(tmp_path, "torchrun --nproc_per_node 2 src/t.py\n", **{"src/t.py": script})
    assert (fact(run, "training.fp16"), fact(run, "launch.processes_per_node")) == (True, 2)


ACCELERATE = "distributed_type: MULTI_GPU\nmixed_precision: fp16\nnum_processes: 2\nnum_machines: 1\n"


def test_flags_of_accelerate_stand_over_its_file(tmp_path):
    script = f"accelerate launch --config_file acc.yaml --num_processes 4 t.py {FLAGS}\n"
    run = only(tmp_path, script, **{"acc.yaml": ACCELERATE})
    processes = run.explicit["launch.processes"]
    assert (processes.value, [s.value for s in processes.sources]) == (4, [4, 2])
    assert fact(run, "accelerate.mixed_precision") == "float16"


# Scripts with arguments of their own: some names are TRL's, what they mean is not.
def test_a_program_with_arguments_of_its_own_is_not_judged_as_trl(tmp_path):
    own = "--beta 0.1 --num_rollouts 4 --pack_length 512 --reward_mix a --single_gpu_mode"
    found = inspected(tmp_path, {"train.sh": f"python grpo.py {FLAGS} {own}\n"})
    (run,) = found.runs
    assert not any(name.startswith("trl.") for name in run.classes["training"])
    assert not rules(found, "error")


def test_a_script_that_is_called_like_trls_own_is_one_with_a_flag_of_its_class(tmp_path):
    """`--use_vllm` alone tells no objective: several of TRL's classes have it, and other programs."""
    command = f"python {{}} {FLAGS} --use_vllm true\n"
    assert world(tmp_path / "trl", {"train.sh": command.format("grpo.py")}).value("derived.objective") == "grpo"
    assert is_unknown(world(tmp_path / "own", {"train.sh": command.format("train.py")}).value("derived.objective"))


# Commands whose settings all stand elsewhere.
ELSEWHERE = [
    "tune run --nproc_per_node 8 full_finetune_distributed --config llama3_3/70B_full a=b c=d",
    'torchrun --nproc_per_node 8 -m pkg.train.sft --config "$1"',
]


@pytest.mark.parametrize("command", ELSEWHERE)
def test_a_launch_that_hands_over_its_config_is_a_run(tmp_path, command):
    run = only(tmp_path, f"{command}\n")
    assert (fact(run, "launch.processes_per_node"), run.scopes["training"]) == (8, "open")


def test_an_evaluation_is_no_training(tmp_path):
    script = "accelerate launch run.py --model_name_or_path gpt2 --bf16 True --deepspeed ds.json --output_dir o --metric accuracy --answers a.json\n"
    assert inspected(tmp_path, {"run.sh": script}).report.runs == ()
    assert (
        len(inspected(tmp_path, {"run.sh": script.replace("--metric", "--learning_rate 1e-5 --metric")}).report.runs)
        == 1
    )


@pytest.mark.parametrize(
    "server",
    [
        "python -m vllm.entrypoints.openai.api_server",
        "vllm serve",
        "python -m sglang.launch_server",
        "lmdeploy serve api_server",
        "lm_eval",
    ],
)
def test_a_server_is_no_training(server, tmp_path):
    flags = "--model $MODEL --dtype float16 --trust-remote-code --per_device_train_batch_size 1 --seed 1"
    assert inspected(tmp_path, {"run.sh": f"{server} {flags}\n"}).report.runs == ()
    assert len(inspected(tmp_path, {"run.sh": f"python train.py {flags}\n"}).report.runs) == 1


# What only moves, shows or compares files trains nothing, wherever the files lie and whatever they are called.
FILES = [
    "mv ./src/schema.yml ./data/pre-training_corpora/",
    "cp configs/train.yaml out/",
    "/bin/mv train run.yaml",
    "ls configs/train.yaml",
    "git add train run.json",
    "diff sft.yaml finetune/sft.yaml",
    "python -m src.preprocess\nrsync -a run.yaml training/",
    "jq .train run.json",
    "show run.yaml training/",
]


@pytest.mark.parametrize("script", FILES)
def test_a_command_that_handles_files_is_no_training(script, tmp_path):
    assert inspected(tmp_path, {"run.sh": script + "\n"}).report.runs == ()


@pytest.mark.parametrize(
    "script", ["tool train run.yaml", "train-it run.yaml", "./finetune run.json", "ours sft run.yaml"]
)
def test_a_command_that_says_that_it_trains_does(script, tmp_path):
    assert len(inspected(tmp_path, {"run.sh": script + "\n"}).report.runs) == 1


def test_who_spells_the_adapter_otherwise_is_not_trl(tmp_path):
    run = only(tmp_path, f"python train.py {FLAGS} --max_seq_length 512 --lora_rank 8 --packing true\n")
    assert run.framework == "transformers" and not any(one.startswith("trl.") for one in run.classes["training"])


def test_a_model_that_is_only_loaded_is_no_training(tmp_path):
    script = "deepspeed examples/chat.py --deepspeed ds.json --model_name_or_path gpt2 --bf16 True --temperature 1.0 --max_new_tokens 8\n"
    assert inspected(tmp_path, {"run.sh": script}).report.runs == ()
    assert len(inspected(tmp_path, {"run.sh": script.replace("chat.py", "train.py")}).report.runs) == 1


def test_a_file_without_a_suffix_of_ours_is_json_if_it_begins_like_it(tmp_path):
    content = '{"zero_optimization": {"stage": 3, "sub_group_size": 1e9}, "bf16": {"enabled": true}}'
    run = only(tmp_path, f"deepspeed train.py {FLAGS} --deepspeed z3.conf\n", **{"z3.conf": content})
    assert fact(run, "deepspeed.zero_optimization.sub_group_size") == 1e9


def test_what_a_program_of_its_own_hands_to_deepspeed_is_not_held_against_the_file(tmp_path):
    flags = "--learning_rate 4e-5 --num_train_epochs 2 --output_dir o --seed 1 --do_train --deepspeed"
    files = {
        "run.sh": f"deepspeed squad.py {flags} --deepspeed_config ds.json\n",
        "ds.json": '{"optimizer": {"type": "Adam", "params": {"lr": 1e-4}}}',
    }
    found = inspected(tmp_path, files)
    (run,) = found.runs
    assert (fact(run, "training.learning_rate"), fact(run, "training.seed")) == (4e-5, 1)
    assert "deepspeed-lr-mismatch" not in rules(found)


def test_a_script_that_quantises_by_arguments_of_its_own_leaves_the_weights_open(tmp_path):
    own = f"python train.py {FLAGS} --bf16 --lora_r 8 --bits 4 --quantise_weights nf4\n"
    run = only(tmp_path, own)
    assert (run.scopes["model"], run.scopes["quantization"]) == ("open", "open")
    assert not any(name.startswith("trl.") for names in run.classes.values() for name in names)
    assert only(tmp_path, f"python train.py {FLAGS} --bf16\n").scopes["model"] != "open"


def test_a_script_that_reads_a_recipe_is_of_the_recipe_s_framework(tmp_path):
    recipe = "model_name_or_path: Qwen/Qwen2-7B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: qwen\ndataset: d\noutput_dir: o\n"
    run = only(tmp_path, "accelerate launch --num_processes 2 src/train.py recipe.yaml\n", **{"recipe.yaml": recipe})
    assert run.framework == "llamafactory"


def test_several_words_where_one_is_wanted_are_no_task_of_ms_swift(tmp_path):
    """`--task_type a b` is a list to the shell's reader: the command is a fine-tuning all the same."""
    run = only(tmp_path, "swift sft --model Qwen/Qwen2.5-7B --task_type seq_cls b --output_dir o\n")
    assert fact(run, "training.stage") == "sft"


ACCELERATED = "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 2\nmixed_precision: bf16\n"
MODES = [
    ("", "FSDP"),
    ("--multi_gpu", "MULTI_GPU"),
    ("--use_deepspeed", "DEEPSPEED"),
    ("--use-fsdp", "FSDP"),
    ("--tpu", "XLA"),
    ("--multi_gpu --use_fsdp", "FSDP"),  # refused, and told by a rule of its own
]


@pytest.mark.parametrize(("flags", "mode"), MODES)
def test_a_flag_of_the_launcher_says_how_it_is_distributed(tmp_path, flags, mode):
    script = f"accelerate launch {flags} --config_file a.yaml train.py {FLAGS}\n"
    assert fact(only(tmp_path, script, **{"a.yaml": ACCELERATED}), "accelerate.distributed_type") == mode


_ALIASED = """
from own.trainer import GRPOConfig
from trl import GRPOConfig, ModelConfig, ScriptArguments, TrlParser
from own.trainer import OwnGRPOTrainer, OwnVLLMTrainer
script, args, model = TrlParser((ScriptArguments, GRPOConfig, ModelConfig)).parse_args_and_config()
trainer_cls = OwnGRPOTrainer if not args.use_vllm else OwnVLLMTrainer
trainer = trainer_cls(model=model.model_name_or_path, reward_funcs=[reward], args=args, train_dataset=rows)
trainer.train()
"""


def test_a_name_that_stands_for_a_trainer_is_that_trainer(tmp_path):
    """And of two imports of one name the later holds: the arguments are TRL's, the trainer is not."""
    flags = "--output_dir o --per_device_train_batch_size 1 --num_generations 8 --loss_type own"
    files = {"train.sh": f"torchrun --nproc_per_node 2 train.py {flags}\n", "train.py": _ALIASED}
    found = world(tmp_path, files)
    assert found.value("derived.own_trainer") is True
    assert is_unknown(found.value("derived.trl_trainer"))
    assert "python" in found.run.dialects
