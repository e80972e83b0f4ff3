"""Programs that start a training script, and their own flags: which of them take a value and which do not."""

from __future__ import annotations

from functools import cache

from stablint.base import knowledge
from stablint.base.light import NamedTuple


class Launcher(NamedTuple):
    """`switches` are its flags without a value, `values` those with one; a flag in neither takes one word."""

    switches: frozenset[str]
    values: frozenset[str] = frozenset()


def _keys(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Programs that start another one with its own words and flags behind them. "uv run" is told by its two words.
WRAPPERS: dict[str, Launcher] = {
    "mpirun": Launcher(_keys("")), "mpiexec": Launcher(_keys("")),
    "nohup": Launcher(_keys("")), "time": Launcher(_keys("p v"), _keys("o f")), "exec": Launcher(_keys("c l"), _keys("a")),
    "env": Launcher(_keys("i"), _keys("u C S")), "sudo": Launcher(_keys("E H n"), _keys("u g")), "nice": Launcher(_keys(""), _keys("n")),
    "taskset": Launcher(_keys("a"), _keys("c p cpu_list")), "nsys profile": Launcher(_keys(""), _keys("o w t f s c output trace")),
    "numactl": Launcher(_keys("")), "stdbuf": Launcher(_keys("")), "timeout": Launcher(_keys("foreground preserve_status v"), _keys("s k")),
    "xvfb-run": Launcher(_keys("a auto_servernum"), _keys("s server_args n server_num")),
    "srun": Launcher(_keys("l label u unbuffered exclusive overlap verbose v pty no_kill K kill_on_bad_exit"), _keys(
        "N n c G p A J w t nodes ntasks ntasks_per_node cpus_per_task gpus gpus_per_node gres partition account job_name nodelist time mem mpi jobid")),
    "uv run": Launcher(_keys("active no_sync frozen locked isolated no_project all_extras no_dev q quiet"), _keys(
        "with extra group p python env_file with_requirements directory project")),
    "poetry run": Launcher(_keys("")), "pdm run": Launcher(_keys("")), "pipenv run": Launcher(_keys("")), "rye run": Launcher(_keys("")),
    "conda run": Launcher(_keys("no_capture_output live_stream"), _keys("n name p prefix")),
}  # fmt: skip

PYTHON = Launcher(_keys("u O OO B s S E I v q d x b i"), _keys("m c W X"))
# torch.distributed.run; `use_env` is of the older torch.distributed.launch.
_TORCHRUN = Launcher(
    _keys("standalone m module no_python run_path use_env"),
    _keys("nnodes nproc_per_node rdzv_backend rdzv_endpoint rdzv_id rdzv_conf max_restarts monitor_interval start_method role log_dir "
          "r redirects t tee local_ranks_filter node_rank master_addr master_port local_addr logs_specs numa_binding"),
)  # fmt: skip
# accelerate 1.0.1 to 1.15.0, commands/launch.py: what it stores as true; `fp16` and `use_mps_device` are older. All else takes a value.
_ACCELERATE = Launcher(
    _keys("cpu debug downcast_bf16 dynamo_use_dynamic dynamo_use_fullgraph dynamo_use_regional_compilation enable_cpu_affinity fp16 "
          "fp8_use_autocast_during_eval ipex m module multi_gpu no_python no_tpu_cluster q quiet same_network tpu tpu_cluster tpu_use_sudo "
          "use_deepspeed use_fsdp use_megatron_lm use_mps_device use_parallelism_config use_xpu"),
    _keys("config_file mixed_precision num_processes num_machines num_cpu_threads_per_process dynamo_backend dynamo_mode gpu_ids machine_rank "
          "main_process_ip main_process_port rdzv_backend rdzv_conf max_restarts monitor_interval deepspeed_config_file zero_stage "
          "offload_optimizer_device offload_param_device offload_optimizer_nvme_path offload_param_nvme_path gradient_clipping zero3_init_flag "
          "zero3_save_16bit_model deepspeed_hostfile deepspeed_exclusion_filter deepspeed_inclusion_filter deepspeed_multinode_launcher "
          "deepspeed_moe_layer_cls_names fsdp_version fsdp_offload_params fsdp_min_num_params fsdp_sharding_strategy fsdp_reshard_after_forward "
          "fsdp_auto_wrap_policy fsdp_transformer_layer_cls_to_wrap fsdp_backward_prefetch fsdp_state_dict_type fsdp_forward_prefetch "
          "fsdp_use_orig_params fsdp_cpu_ram_efficient_loading fsdp_sync_module_states fsdp_activation_checkpointing main_training_function"),
)  # fmt: skip
# deepspeed 0.18.2 and 0.19.8, launcher/runner.py
_DEEPSPEED = Launcher(
    _keys("bind_cores_to_rank elastic_training force_multi module no_local_rank no_python no_ssh no_ssh_check q quiet save_pid"),
    _keys("H autotuning bind_core_list e enable_each_rank_log exclude hostfile i include launcher "
          "launcher_args log_level master_addr master_port max_elastic_nodes "
          "min_elastic_nodes node_rank num_accelerators num_gpus num_nodes ssh_port venv_script"),
)  # fmt: skip

PROGRAMS = {
    "python": PYTHON,
    "torchrun": _TORCHRUN,
    "accelerate launch": _ACCELERATE,
    "accelerate-launch": _ACCELERATE,
    "deepspeed": _DEEPSPEED,
    "tune run": _TORCHRUN,
}
MODULES = {
    "torch.distributed.run": _TORCHRUN, "torch.distributed.launch": _TORCHRUN, "accelerate.commands.launch": _ACCELERATE,
    "deepspeed": _DEEPSPEED, "deepspeed.launcher.runner": _DEEPSPEED,
}  # fmt: skip


@cache
def trainers() -> frozenset[str]:
    """The frameworks' own commands that start a training run, by their first word: `commands` in knowledge/frameworks."""
    return frozenset(word for record in knowledge.load("frameworks").values() for word in record.get("commands", ()))


@cache
def starters() -> frozenset[str]:
    """First words of all commands that start one, Python's aside."""
    return trainers() | {name.partition(" ")[0] for name in PROGRAMS if name != "python"}
