"""Asks the libraries' own constructors, in a process of its own: one JSON request a line, one JSON answer a line.

It runs under an interpreter that has torch, transformers, trl and peft (DeepSpeed where there is one) and knows nothing of stablint. What a
machine decides is faked: the GPU is one with bf16 and TF32, the world is one process. State that one construction leaves behind
(environment, accelerate's singletons) is taken back before the next.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import logging
import os
import sys
import warnings
from typing import Any
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


def find(name: str) -> Any:
    library, _, word = name.partition(".")
    return getattr(importlib.import_module(library), word)


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
        self.fakes = [
            mock.patch("transformers.training_args.is_torch_bf16_gpu_available", lambda *a, **k: True),
            mock.patch("transformers.training_args.is_torch_tf32_available", lambda *a, **k: True),
            mock.patch("transformers.training_args.enable_tf32", lambda *a, **k: None),
        ]
        self._model: Any = None

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
        steps = given.pop("_steps", 100)
        made = self.transformers.TrainingArguments(output_dir="out", **given)
        made.hf_deepspeed_config.trainer_config_finalize(made, self.model(), steps)

    def ask(self, kind: str, given: dict[str, Any]) -> str | None:
        """None where the constructor takes it, else the error in one line."""
        before = dict(os.environ)
        logging.disable(logging.CRITICAL)
        try:
            with contextlib.ExitStack() as stack:
                for fake in self.fakes:
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
        owner = find(kind)
        fields = _fields(owner)
        return {"fields": fields, "groups": groups(owner, set(fields))}


def _fields(owner: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(owner) and dataclasses.fields(owner):
        own = {f.name for f in dataclasses.fields(owner) if f.init}
    else:
        own = set()
    import inspect

    found = {}
    for name, parameter in inspect.signature(owner.__init__).parameters.items():
        if name == "self" or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        default = parameter.default if parameter.default is not parameter.empty else None
        found[name] = {
            "type": str(parameter.annotation).replace("typing.", ""),
            "default": default if isinstance(default, (bool, int, float, str, type(None))) else None,
            "required": parameter.default is parameter.empty and name not in own,
        }
    return found


def _of_deepspeed() -> dict[str, Any]:
    """Dotted names of the blocks that pydantic reads; plain keys are read by hand and listed by the generator."""
    from deepspeed.runtime.precision_config import DeepSpeedBF16Config, DeepSpeedFP16Config
    from deepspeed.runtime.zero.config import DeepSpeedZeroConfig
    from deepspeed.runtime.zero.offload_config import (
        DeepSpeedZeroOffloadOptimizerConfig,
        DeepSpeedZeroOffloadParamConfig,
    )

    blocks = {
        "zero_optimization": DeepSpeedZeroConfig, "fp16": DeepSpeedFP16Config, "bf16": DeepSpeedBF16Config,
        "zero_optimization.offload_optimizer": DeepSpeedZeroOffloadOptimizerConfig,
        "zero_optimization.offload_param": DeepSpeedZeroOffloadParamConfig,
    }  # fmt: skip
    found = {}
    for block, model in blocks.items():
        for name, one in model.model_fields.items():
            default = getattr(one.default, "value", one.default)
            found[f"{block}.{one.alias or name}"] = {
                "type": str(one.annotation if not isinstance(one.annotation, type) else one.annotation.__name__),
                "default": default if isinstance(default, (bool, int, float, str, type(None))) else None,
            }
    return found


def main() -> None:
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    answers = sys.stdout
    sys.stdout = sys.stderr  # libraries print
    oracle = Oracle()
    for line in sys.stdin:
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
