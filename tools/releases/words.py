"""Words that the libraries' code takes for a setting whose annotation does not list them: enumerations, constants, and comparisons in the code.

knowledge/words.json, written by `python tools/read_words.py FOLDER`, where FOLDER holds unpacked releases (`trl-1.16.0/trl/…`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple


class Words(NamedTuple):
    """Where the words of a setting stand: members of classes, constants of a module, or what the names of a variable are compared with."""

    library: str
    paths: tuple[str, ...]  # patterns below the package
    enums: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    annotated: tuple[str, ...] = ()  # fields whose annotation is a Literal, or whose metadata name choices


LISTS: dict[str, Words] = {
    "DPOConfig.loss_type": Words("trl", ("trainer/dpo_trainer.py", "trainer/dpo_config.py"), compared=("loss_type",), annotated=("loss_type",)),
    "GRPOConfig.loss_type": Words("trl", ("trainer/grpo_trainer.py",), compared=("loss_type",)),
    "CPOConfig.loss_type": Words("trl", ("**/cpo_trainer.py", "**/cpo_config.py"), compared=("loss_type",), annotated=("loss_type",)),
    "SFTConfig.loss_type": Words("trl", ("trainer/sft_trainer.py",), compared=("loss_type",)),
    "LoraConfig.bias": Words("peft", ("tuners/lora/config.py", "tuners/lora/model.py"), compared=("bias",), annotated=("bias",)),
    "LoraConfig.init_lora_weights": Words(
        "peft", ("tuners/lora/config.py", "tuners/lora/layer.py"), compared=("init_lora_weights",), annotated=("init_lora_weights",)
    ),
    "GloraConfig.config_A_B": Words("peft", ("tuners/glora/config.py",), compared=("config_A_B",), annotated=("config_A_B",)),
    "PromptEncoderConfig.encoder_reparameterization_type": Words("peft", ("tuners/p_tuning/config.py",), enums=("PromptEncoderReparameterizationType",)),
    "C3AConfig.init_weights": Words("peft", ("tuners/c3a/config.py", "tuners/c3a/layer.py"), compared=("init_weights",), annotated=("init_weights",)),
    "RoadConfig.variant": Words("peft", ("tuners/road/config.py",), compared=("variant",), annotated=("variant",)),
    "accelerate.distributed_type": Words("accelerate", ("utils/dataclasses.py",), enums=("DistributedType",)),
    "accelerate.compute_environment": Words("accelerate", ("utils/dataclasses.py",), enums=("ComputeEnvironment",)),
    "accelerate.dynamo_backend": Words("accelerate", ("utils/dataclasses.py",), enums=("DynamoBackend",)),
    "accelerate.fsdp_sharding_strategy": Words("accelerate", ("utils/constants.py",), constants=("FSDP_SHARDING_STRATEGY",)),
    "accelerate.fsdp_auto_wrap_policy": Words("accelerate", ("utils/constants.py",), constants=("FSDP_AUTO_WRAP_POLICY",)),
    "accelerate.fsdp_backward_prefetch": Words("accelerate", ("utils/constants.py",), constants=("FSDP_BACKWARD_PREFETCH",)),
    "accelerate.fsdp_state_dict_type": Words("accelerate", ("utils/constants.py",), constants=("FSDP_STATE_DICT_TYPE",)),
    "accelerate.mixed_precision": Words("accelerate", ("utils/dataclasses.py",), enums=("PrecisionType",)),
    "BitsAndBytesConfig.bnb_4bit_quant_type": Words(
        "transformers", ("utils/quantization_config.py",), compared=("bnb_4bit_quant_type",), annotated=("bnb_4bit_quant_type",)
    ),
    "QuantoConfig.weights": Words("transformers", ("utils/quantization_config.py",), compared=("self.weights",), constants=("accepted_weights",)),
    "QuantoConfig.activations": Words("transformers", ("utils/quantization_config.py",), constants=("accepted_activations",)),
    "FineGrainedFP8Config.activation_scheme": Words("transformers", ("utils/quantization_config.py",), compared=("self.activation_scheme",)),
    "SchedulerType": Words("transformers", ("trainer_utils.py",), enums=("SchedulerType",)),
    "OptimizerNames": Words("transformers", ("training_args.py",), enums=("OptimizerNames",)),
    "report_to": Words("transformers", ("integrations/integration_utils.py", "integrations.py"), constants=("INTEGRATION_TO_CALLBACK",)),
    "AwqConfig.format": Words("transformers", ("utils/quantization_config.py",), enums=("AwqFormat",)),
    "AwqConfig.backend": Words("transformers", ("utils/quantization_config.py",), enums=("AwqBackend",)),
    "FPQuantConfig.transform_init": Words(
        "transformers", ("utils/quantization_config.py",), compared=("transform_init",)
    ),
    "FPQuantConfig.forward_method": Words(
        "transformers", ("utils/quantization_config.py",), compared=("forward_method",)
    ),
    "accelerate.cp_comm_strategy": Words("accelerate", ("utils/dataclasses.py",), compared=("cp_comm_strategy",)),
    "accelerate.sp_attn_implementation": Words(
        "accelerate", ("utils/dataclasses.py",), constants=("_builtin_sp_attn", "_unsupported_sp_attn")
    ),
    "OffloadDeviceEnum": Words("deepspeed", ("runtime/zero/offload_config.py",), enums=("OffloadDeviceEnum",)),
}  # fmt: skip


def read(package: Path, words: Words) -> list[str] | None:
    """The words in the order in which the code names them; None where the release has no such file."""
    found: dict[str, None] = {}
    paths = [path for pattern in words.paths for path in sorted(package.glob(pattern))]
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for text in (
            *_members(tree, words.enums),
            *_listed(tree, words.constants),
            *_compared(tree, words.compared),
            *_annotated(tree, words.annotated),
        ):
            found[text] = None
    return list(found) if paths else None


def _members(tree: ast.Module, classes: Iterable[str]) -> Iterator[str]:
    """The values of an enumeration's members that are texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name in classes:
            for item in node.body:
                if (
                    isinstance(item, ast.Assign)
                    and isinstance(item.value, ast.Constant)
                    and isinstance(item.value.value, str)
                ):
                    yield item.value.value


def _listed(tree: ast.Module, names: Iterable[str]) -> Iterator[str]:
    """The texts of a list, or the keys of a mapping, that is assigned to one of the names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id in names for target in node.targets
        ):
            inside = node.value.keys if isinstance(node.value, ast.Dict) else [node.value]
            yield from (text for one in inside if one is not None for text in _texts(one))


def _compared(tree: ast.Module, names: tuple[str, ...]) -> Iterator[str]:
    """What a variable or attribute of the name is compared with; what is compared only to be refused is left out."""
    for node in ast.walk(tree):
        refused = isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise)
        tests = [node.test] if isinstance(node, (ast.If, ast.IfExp, ast.Assert)) else []
        for test in tests:
            for one in ast.walk(test):
                if not isinstance(one, ast.Compare) or not _is_named(one.left, names):
                    continue
                accepts = isinstance(one.ops[0], (ast.NotEq, ast.NotIn))
                if refused != accepts and not (accepts and isinstance(one.comparators[0], ast.Constant)):
                    continue
                for side in one.comparators:
                    yield from _texts(side)


def _is_named(node: ast.expr, names: tuple[str, ...]) -> bool:
    """`self.loss_type`, `loss_type`, `args.loss_type.lower()`; a name with a dot is meant to the letter."""
    spelled = ast.unparse(node).removesuffix(".lower()")
    return spelled in names or spelled.rpartition(".")[2] in names


def _annotated(tree: ast.Module, fields: tuple[str, ...]) -> Iterator[str]:
    """The texts of a field's Literal, and of the choices in its metadata."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id in fields:
            for one in ast.walk(node.annotation):
                if isinstance(one, ast.Subscript) and ast.unparse(one.value).endswith("Literal"):
                    yield from _texts(one.slice)
            for one in ast.walk(node.value) if node.value is not None else ():
                if isinstance(one, ast.Dict):
                    for key, value in zip(one.keys, one.values, strict=True):
                        if isinstance(key, ast.Constant) and key.value == "choices":
                            yield from _texts(value)


def _texts(node: ast.expr) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value
