"""Whether code that is not at hand may put an adapter on the model between the call that loads it and the trainer.

That no adapter is made in a file proves full fine-tuning only where nothing else gets hold of the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stablint.frameworks.fragment import last_word
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs.runs import reached
from stablint.syntax.tree import Call, Mapping, Module, Node, Scalar, Sequence, Unknown

# What of a model's methods makes no adapter; any other (`add_adapter`, `load_adapter`, a method of the program's own class) may.
_METHODS = frozenset(
    {
        "to", "cuda", "cpu", "half", "float", "bfloat16", "double", "train", "eval", "compile", "requires_grad_", "zero_grad",
        "parameters", "named_parameters", "modules", "named_modules", "children", "named_children", "state_dict", "load_state_dict", "buffers",
        "register_forward_hook", "gradient_checkpointing_enable", "gradient_checkpointing_disable", "enable_input_require_grads",
        "disable_input_require_grads", "resize_token_embeddings", "get_input_embeddings", "get_output_embeddings", "set_input_embeddings",
        "tie_weights", "num_parameters", "get_memory_footprint", "print_trainable_parameters", "save_pretrained", "push_to_hub", "generate",
        "forward", "from_pretrained", "get_nb_trainable_parameters", "create_or_update_model_card",
        "fit", "old_fit", "encode", "similarity", "get_sentence_embedding_dimension", "predict",
    }
)  # fmt: skip
# Libraries whose functions take a model and make no adapter. PEFT's name is looked for elsewhere (python.py).
_LIBRARIES = frozenset(
    {"transformers", "trl", "torch", "accelerate", "deepspeed", "datasets", "bitsandbytes", "wandb", "logging", "tqdm", "pprint", "liger_kernel",
     "sentence_transformers"}
)  # fmt: skip
_BUILTINS = frozenset({
    "print", "len", "type", "isinstance", "hasattr", "getattr", "setattr", "id", "sum", "dict", "list", "tuple", "str", "repr", "vars",
})  # fmt: skip


def elsewhere(module: Module) -> bool:
    """Of a module that makes no adapter itself."""
    kinds = python_kinds.kinds(module)
    loaders = {call.start for call, kind in kinds if kind == "loader"}
    return any(
        (kind == "trainer" and _may_bring_one(call, kinds)) or (not kind and _may_adapt(call, loaders))
        for call, kind in kinds
    )


def handed_over(module: Module) -> Call | None:
    """The first call of code out of sight that gets hold of the loaded model, or that loads it: the modules may be other ones then."""
    kinds = python_kinds.kinds(module)
    loaders = {call.start for call, kind in kinds if kind == "loader"}
    return next(
        (
            call
            for call, kind in kinds
            if (kind == "loader" and _is_own_class(call))
            or _adapts_another(call, loaders)
            or (not kind and not call.name.startswith("peft.") and _may_adapt(call, loaders))
        ),
        None,
    )


def of_another(module: Module) -> Call | None:
    """The call that puts an adapter on a model which the file does not load: one of its own, or another file's."""
    kinds = python_kinds.kinds(module)
    loaders = {call.start for call, kind in kinds if kind == "loader"}
    return next((call for call, _ in kinds if _adapts_another(call, loaders)), None)


def _adapts_another(call: Call, loaders: set[int]) -> bool:
    """`get_peft_model(Net(), …)`, `get_peft_model(helpers.load(), …)`: what gets the adapter is not what the file loads."""
    if last_word(call.name) not in ("get_peft_model", "inject_adapter_in_model"):
        return False
    place = int(last_word(call.name) == "inject_adapter_in_model")
    model = call.arguments.get("model") or next(iter(call.positional[place:]), None)
    if not isinstance(model, Call) or (not model.local and not foreign(model)):
        return False
    return loaders.isdisjoint(reached([model]))


def _is_own_class(loader: Call) -> bool:
    head = loader.name.partition(".")[0]
    return loader.local or (head not in _LOADERS and "." in loader.name.rpartition(".")[0])


# Libraries whose classes load what the checkpoint says.
_LOADERS = frozenset({"transformers", "unsloth", "peft", "sentence_transformers", "trl", "optimum", "modelscope"})


def hands_on(module: Module) -> bool:
    """Whether every trainer is given a model that the file loads, or its name: one that an object holds (`self.model`), or that a caller
    brings, may have got an adapter on its way."""
    kinds = python_kinds.kinds(module)
    loaders = {call.start for call, kind in kinds if kind == "loader"}
    models = [
        call.arguments.get("model") or next(iter(call.positional), None) for call, kind in kinds if kind == "trainer"
    ]
    return all(model is None or _is_name(model) or not loaders.isdisjoint(reached([model])) for model in models)


def brought(module: Module) -> bool:
    """Whether a caller brings the model of a trainer, and nothing here loads one: what it may have got on its way nobody can tell."""
    kinds = python_kinds.kinds(module)
    if any(kind == "loader" for _, kind in kinds):
        return False
    models = (
        call.arguments.get("model") or next(iter(call.positional), None) for call, kind in kinds if kind == "trainer"
    )
    reasons = [one.value.reason for one in models if isinstance(one, Scalar) and isinstance(one.value, Unknown)]
    return any(reason.endswith("is a parameter") or reason.startswith("`self.") for reason in reasons)


def _is_name(node: Node) -> bool:
    return isinstance(node, Scalar) and isinstance(node.value, str)


def _may_bring_one(trainer: Call, kinds: Iterable[tuple[Call, str]]) -> bool:
    """Whether the trainer is given a configuration, or a model, that code out of sight has made."""
    given = trainer.arguments
    if given.open:
        return True
    config = given.get("peft_config")
    if config is not None and not _is_none(config):
        if not isinstance(config, Call):
            return True
        if not any(call.start == config.start for call, kind in kinds if kind == "adapter"):
            return True
    model = given.get("model") or next(iter(trainer.positional), None)
    return (
        isinstance(model, Call)
        and not model.local
        and foreign(model)
        and not any(call.start == model.start for call, kind in kinds if kind)
    )


def _may_adapt(call: Call, loaders: set[int]) -> bool:
    """A method of the loaded model, or a function that is given it, of which no more is known."""
    receiver = call.receiver
    if isinstance(receiver, Call) and receiver.start in loaders:
        return last_word(call.name) not in _METHODS
    return foreign(call) and any(_is_model(node, loaders) for node in given(call))


_PHASES = frozenset({"for_inference", "for_training"})  # they change how the model runs, and none of its modules


def foreign(call: Call) -> bool:
    """A function that is neither the file's own nor one of a library that is known."""
    head = call.name.partition(".")[0]
    if head == "unsloth" and last_word(call.name) in _PHASES:
        return False
    return not (
        call.local or call.receiver is not None or head in _LIBRARIES or call.name in _BUILTINS or not call.name
    )


def _is_model(node: Node, loaders: set[int]) -> bool:
    """The loaded model, or what a function of the file is given under that name."""
    if isinstance(node, Call):
        return node.start in loaders
    value = node.value if isinstance(node, Scalar) else None
    return isinstance(value, Unknown) and value.reason.endswith("is a parameter") and "model`" in value.reason


def given(call: Call) -> Iterator[Node]:
    """All that a call is given, in lists and dictionaries too."""
    pending: list[Node] = [*call.positional, *(entry.value for entry in call.arguments.entries)]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Sequence):
            pending += node.items
        elif isinstance(node, Mapping):
            pending += [entry.value for entry in node.entries]


def _is_none(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is None
