"""What names of the libraries are worth to a reader: constants and types, and questions about the GPU."""

from __future__ import annotations

import ast

from stablint.syntax.tree import Unknown

# Their attributes are constants and types (`torch.bfloat16`, `TaskType.CAUSAL_LM`); those of other modules are anybody's variables.
LIBRARIES = frozenset([
    "torch", "transformers", "trl", "peft", "accelerate", "bitsandbytes", "datasets", "deepspeed", "unsloth", "unsloth_zoo", "xtuner",
    "mmengine", "numpy", "np",
])  # fmt: skip
_NATIVE = "target.gpu.native_bf16"
_EMULATED = Unknown("torch says yes to emulated bf16 as well")
# Questions whose answer is the GPU's. torch's own says yes as well where it can only emulate (torch/cuda/__init__.py, is_bf16_supported): of
# that one only a yes of the hardware is certain.
_QUESTIONS: dict[str, object] = {
    "is_bfloat16_supported": False,
    "is_bf16_supported": _EMULATED,
    "is_torch_bf16_gpu_available": _EMULATED,
    "is_torch_bf16_available": _EMULATED,
}
_CAPABILITY = "get_device_capability"


def question(name: str) -> Unknown | None:
    """What a call of this name says of bf16, as far as the GPU decides it."""
    word = name.rpartition(".")[2]
    if word not in _QUESTIONS:
        return None
    return Unknown("depends on the GPU", (_NATIVE, True, _QUESTIONS[word]))


def capability(node: ast.Compare) -> Unknown | None:
    """`torch.cuda.get_device_capability()[0] >= 8` asks for Ampere or newer, which is what has bf16."""
    left = node.left
    if not (isinstance(left, ast.Subscript) and isinstance(left.value, ast.Call)):
        return None
    function = left.value.func
    name = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    index = left.slice.value if isinstance(left.slice, ast.Constant) else None
    right = node.comparators[0].value if isinstance(node.comparators[0], ast.Constant) else None
    if name != _CAPABILITY or index != 0 or len(node.ops) != 1:
        return None
    asks = (type(node.ops[0]), right)
    if asks in ((ast.GtE, 8), (ast.Gt, 7)):
        return Unknown("depends on the GPU", (_NATIVE, True, False))
    return Unknown("depends on the GPU", (_NATIVE, False, True)) if asks in ((ast.Lt, 8), (ast.LtE, 7)) else None


def turned(value: Unknown) -> Unknown:
    """`not` of such an answer."""
    if value.depends is None:
        return value
    fact, yes, no = value.depends
    return Unknown(value.reason, (fact, _not(yes), _not(no)))


def chosen(test: Unknown, yes: object, no: object) -> Unknown | None:
    """`yes if test else no`; None where the test's own answers are no truth values."""
    if test.depends is None or isinstance(yes, Unknown) or isinstance(no, Unknown):
        return None
    fact, first, second = test.depends
    return Unknown(test.reason, (fact, _pick(first, yes, no), _pick(second, yes, no)))


def _not(value: object) -> object:
    return value if isinstance(value, Unknown) else not value


def _pick(truth: object, yes: object, no: object) -> object:
    return truth if isinstance(truth, Unknown) else yes if truth else no
