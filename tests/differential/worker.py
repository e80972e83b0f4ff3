"""Asks the libraries' own constructors, in a process of its own: one JSON request a line, one JSON answer a line.

It runs under an interpreter that has torch, transformers, trl and peft (DeepSpeed where there is one) and knows nothing of stablint. What a
machine decides is faked: the GPU is one with bf16 and TF32, the world is one process. State that one construction leaves behind
(environment, accelerate's singletons) is taken back before the next.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import fcntl
import importlib
import json
import logging
import os
import sys
import typing
import warnings
from typing import Any, TextIO
from unittest import mock

os.environ.update(
    HF_HUB_OFFLINE="1", DS_ACCELERATOR="cpu", TRL_EXPERIMENTAL_SILENCE="1", WANDB_DISABLED="true", TOKENIZERS_PARALLELISM="false",
    CUDA_VISIBLE_DEVICES="", TRANSFORMERS_VERBOSITY="error",
)  # fmt: skip

# Constructors say no in many ways; DeepSpeed's own error is added when it is there.
REFUSALS: tuple[type[BaseException], ...] = (
    ValueError, TypeError, AttributeError, LookupError, AssertionError, NotImplementedError, ImportError, RuntimeError, OSError,
    ArithmeticError, SystemExit,
)  # fmt: skip


NO_TF32 = ("T4", "V100-32GB")  # compute capability below 8


def find(name: str) -> Any:
    module, _, word = name.rpartition(".")
    return getattr(importlib.import_module(module), word)


class Oracle:
    """What is built once: a tiny Llama for adapters, and the faked capabilities."""

    def __init__(self) -> None:
        import accelerate.state
        import transformers

        self.state = accelerate.state
        self.transformers = transformers
        self.refusals = REFUSALS
        with contextlib.suppress(ImportError):
            from deepspeed.runtime import config

            self.refusals = (*REFUSALS, config.DeepSpeedConfigError)
        self._model: Any = None

    @staticmethod
    def fakes(gpu: str) -> list[Any]:
        """What the GPU is asked for. torch counts emulated bf16 as bf16 (`is_bf16_supported`), so that Turing has it too, but no TF32."""
        from transformers import training_args

        answers: dict[str, Any] = {
            "is_torch_bf16_gpu_available": lambda *a, **k: True,
            "is_torch_tf32_available": lambda *a, **k: gpu not in NO_TF32,
            "enable_tf32": lambda *a, **k: None,
        }
        return [
            mock.patch.object(training_args, name, answer)
            for name, answer in answers.items()
            if hasattr(training_args, name)  # old releases ask in another way
        ]

    def model(self) -> Any:
        """Two layers of Llama; every adapter gets a fresh copy."""
        import copy

        if self._model is None:
            config = self.transformers.LlamaConfig(
                vocab_size=64, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            )  # fmt: skip
            self._model = self.transformers.LlamaForCausalLM(config)
        return copy.deepcopy(self._model)

    def build(self, kind: str, given: dict[str, Any]) -> None:
        if kind == "deepspeed":
            from deepspeed.runtime.config import DeepSpeedConfig

            DeepSpeedConfig(given)
            return
        if kind.startswith("accelerate+"):
            from launching import launch

            launch(given)
            return
        if kind == "trainer+deepspeed":
            self._trainer_and_deepspeed(dict(given))
            return
        owner = find(kind)
        made = owner(**given)
        if kind.startswith("peft.") and hasattr(made, "peft_type") and made.peft_type is not None:
            self._adapt(made)

    def _adapt(self, config: Any) -> None:
        import peft

        peft.get_peft_model(self.model(), config)

    def _trainer_and_deepspeed(self, given: dict[str, Any]) -> None:
        """transformers fills in `auto` at once, but tells what differs only when the trainer knows the number of steps."""
        made = self.transformers.TrainingArguments(output_dir="out", **given)
        params = (given["deepspeed"].get("scheduler") or {}).get("params", {})
        stated = params.get("total_num_steps", "auto")
        # without max_steps the data decide, which nobody has seen: they may well agree with the file
        steps = made.max_steps if made.max_steps > 0 else stated if stated != "auto" else 100
        made.hf_deepspeed_config.trainer_config_finalize(made, self.model(), steps)

    def ask(self, kind: str, given: dict[str, Any]) -> str | None:
        """None where the constructor takes it, else the error in one line."""
        before = dict(os.environ)
        logging.disable(logging.CRITICAL)
        try:
            with contextlib.ExitStack() as stack:
                for fake in self.fakes(given.pop("_gpu", "")):
                    stack.enter_context(fake)
                stack.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
                self.build(kind, given)
        except self.refusals as error:
            return " ".join(f"{type(error).__name__}: {error}".split())[:300]
        finally:
            os.environ.clear()
            os.environ.update(before)
            self.state.AcceleratorState._reset_state(True)
            self.state.GradientState._reset_state()
        return None

    def describe(self, kind: str) -> dict[str, Any]:
        """The fields of a config class with their annotations and defaults, and the fields that one check of it reads together."""
        from checks import groups

        if kind == "deepspeed":
            return {"fields": _of_deepspeed(), "groups": []}
        if kind.startswith("accelerate+"):
            return {"fields": {}, "groups": []}
        owner = find(kind)
        fields = _fields(owner)
        return {"fields": fields, "groups": groups(owner, set(fields))}


def _fields(owner: Any) -> dict[str, Any]:
    import inspect

    known = {f.name: f for f in dataclasses.fields(owner)} if dataclasses.is_dataclass(owner) else {}
    try:
        hints = typing.get_type_hints(owner)
    except (NameError, TypeError):  # names that are imported for type checkers only
        hints = {}
    found = {}
    for name, parameter in inspect.signature(owner.__init__).parameters.items():
        if name == "self" or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        default = parameter.default if parameter.default is not parameter.empty else None
        found[name] = {
            "type": str(parameter.annotation).replace("typing.", "").replace("<class 'inspect._empty'>", ""),
            "default": _plain(default),
            "choices": list(known[name].metadata.get("choices", ())) if name in known else [],
        }
        found[name]["choices"] = found[name]["choices"] or _choices(hints.get(name, parameter.annotation))
    return found


def _plain(default: Any) -> Any:
    default = getattr(default, "value", default)
    return default if isinstance(default, (bool, int, float, str)) else None


def _choices(annotation: Any) -> list[Any]:
    """The words of the enums and literals in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return [one.value for one in annotation]
    if typing.get_origin(annotation) is typing.Literal:
        return [one for one in typing.get_args(annotation) if isinstance(one, (bool, int, float, str))]
    return [one for part in typing.get_args(annotation) for one in _choices(part)]


# Blocks that pydantic reads; plain keys are read by hand and listed in pools.yaml.
_BLOCKS = {
    "zero_optimization": "runtime.zero.config.DeepSpeedZeroConfig",
    "zero_optimization.offload_optimizer": "runtime.zero.offload_config.DeepSpeedZeroOffloadOptimizerConfig",
    "zero_optimization.offload_param": "runtime.zero.offload_config.DeepSpeedZeroOffloadParamConfig",
    "fp16": "runtime.precision_config.DeepSpeedFP16Config",
    "bf16": "runtime.precision_config.DeepSpeedBF16Config",
    "hybrid_engine": "runtime.config.HybridEngineConfig",
    "tensorboard": "monitor.config.TensorBoardConfig",
    "wandb": "monitor.config.WandbConfig",
    "csv_monitor": "monitor.config.CSVConfig",
    "comms_logger": "comm.config.CommsLoggerConfig",
    "compile": "compile.config.CompileConfig",
    "tensor_parallel": "runtime.tensor_parallel.config.TPTrainingConfig",
}


def _of_deepspeed() -> dict[str, Any]:
    """Dotted names of the fields of these blocks."""
    found = {}
    for block, path in _BLOCKS.items():
        module, _, word = path.rpartition(".")
        for name, one in getattr(importlib.import_module(f"deepspeed.{module}"), word).model_fields.items():
            written = one.annotation.__name__ if isinstance(one.annotation, type) else str(one.annotation)
            found[f"{block}.{one.alias or name}"] = {
                "type": written,
                "default": _plain(one.default),
                "choices": _choices(one.annotation),
            }
    return found


def _apart(descriptor: int, mode: str) -> TextIO:
    """The stream under a number that no argument has: `open(1)`, as a class does with `accelerator_config=1`, would close it."""
    found = os.fdopen(fcntl.fcntl(descriptor, fcntl.F_DUPFD, 2000), mode)
    os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
    return found


def _state(releases: str) -> None:
    """Old releases look at the release of what they import, not at what it can do: packages are taken for those that they ask for."""
    from importlib import metadata

    stated = dict(one.split("=") for one in releases.split(",") if one)
    read = metadata.version
    metadata.version = lambda name: stated.get(name.lower().replace("_", "-")) or read(name)  # type: ignore[assignment]


def main() -> None:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    _state(os.environ.pop("ORACLE_STATED", ""))
    questions, answers = _apart(0, "r"), _apart(1, "w")
    sys.stdout = sys.stderr  # libraries print
    oracle = Oracle()
    for line in questions:
        request: dict[str, Any] = json.loads(line)
        if request["do"] == "describe":
            answer: Any = oracle.describe(request["kind"])
        elif request["do"] == "versions":
            answer = {name: _version(name) for name in request["of"]}
        else:
            answer = oracle.ask(request["kind"], request["given"])
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _version(name: str) -> str | None:
    from importlib import metadata

    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version(name)
    return None


if __name__ == "__main__":
    main()
