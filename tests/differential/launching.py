"""`accelerate launch` with a file, up to the moment when it would start processes, and the plugin that these processes would make.

It runs in the worker: with accelerate's own parser, its own checks and the environment that it hands on.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from types import SimpleNamespace
from typing import Any
from unittest import mock


def launch(given: dict[str, Any]) -> None:
    """Raises what accelerate raises. `ds` is the DeepSpeed file that the accelerate file names."""
    from accelerate.commands import launch as command
    from accelerate.utils import launch as prepare

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.ExitStack() as stack:
        for name, block in (
            ("accelerate.json", {k: v for k, v in given.items() if k != "ds"}),
            ("ds.json", given.get("ds")),
        ):
            with open(name, "w", encoding="utf-8") as file:
                json.dump(block, file)
        stack.enter_context(mock.patch("accelerate.utils.launch.is_port_in_use", lambda *a: False))
        arguments = command.launch_command_parser().parse_args(["--config_file", "accelerate.json", "train.py"])
        arguments, defaults, precision_from_file = command._validate_launch_command(arguments)
        if arguments.use_deepspeed:
            fields = list(defaults.deepspeed_config) + (["mixed_precision"] if precision_from_file else [])
            arguments.deepspeed_fields_from_accelerate_config = ",".join(fields)
            os.environ.update(prepare.prepare_deepspeed_cmd_env(arguments)[1])
            _deepspeed(int(arguments.num_processes))
        elif arguments.use_fsdp or arguments.multi_gpu:
            os.environ.update(prepare.prepare_multi_gpu_env(arguments))
            if arguments.use_fsdp:
                _fsdp()
        else:
            os.environ.update(prepare.prepare_simple_launcher_cmd_env(arguments)[1])
            return
        if getattr(arguments, "use_parallelism_config", False):
            os.environ.update(prepare.prepare_extend_env_parallelism_config(arguments, {}))
            from accelerate.parallelism_config import ParallelismConfig
            from accelerate.utils import DistributedType

            sharded = bool(arguments.use_fsdp)
            made = ParallelismConfig()
            made._validate_accelerator(
                SimpleNamespace(
                    num_processes=int(arguments.num_processes), multi_device=True, is_main_process=False,
                    is_fsdp2=sharded and os.environ.get("FSDP_VERSION") == "2",
                    distributed_type=DistributedType.FSDP if sharded else DistributedType.DEEPSPEED if arguments.use_deepspeed else DistributedType.MULTI_GPU,
                )
            )  # fmt: skip


def _deepspeed(processes: int) -> None:
    from accelerate.utils import DeepSpeedPlugin

    plugin = DeepSpeedPlugin()
    plugin.set_mixed_precision(os.environ["ACCELERATE_MIXED_PRECISION"])
    plugin.set_deepspeed_weakref()
    with (
        mock.patch("deepspeed.runtime.config.dist.get_world_size", lambda *a: processes),
        mock.patch("deepspeed.runtime.config.dist.get_rank", lambda *a: 0),
    ):
        _engine(plugin.deepspeed_config)


def _engine(config: dict[str, Any]) -> None:
    """DeepSpeed reads what accelerate has filled in; the batch is the data loader's, here one sample."""
    from deepspeed.runtime.config import DeepSpeedConfig

    filled = {"train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 1, "gradient_clipping": 1.0}
    made = {key: filled.get(key) if value == "auto" else value for key, value in config.items()}
    DeepSpeedConfig({key: value for key, value in made.items() if value is not None})


def _fsdp() -> None:
    from accelerate.utils import FullyShardedDataParallelPlugin

    with (
        mock.patch("accelerate.utils.dataclasses.is_cuda_available", lambda: True),
        mock.patch("torch.cuda.current_device", lambda: 0),
    ):
        FullyShardedDataParallelPlugin()
