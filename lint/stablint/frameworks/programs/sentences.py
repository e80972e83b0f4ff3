"""sentence-transformers in a Python program: its models, which load and train themselves, and its trainers, which extend transformers'."""

from __future__ import annotations

from stablint.frameworks import words as _codecs  # noqa: F401  registers the codecs used below
from stablint.frameworks.fragment import Block, Fragment, Row, last_word, lower_mapping, statement
from stablint.run.fact import Explicit, Place, Statement
from stablint.syntax.tree import Call, Entry, Node, Scalar, Sequence, Unknown

_MODEL: dict[str, Row | tuple[Row, ...]] = {
    "model_name_or_path": Row("model_name_or_path", "model.name_or_path", "text"),
    "model_name": Row("model_name", "model.name_or_path", "text"),  # CrossEncoder before 4.0
    "model_kwargs.torch_dtype": Row("model_kwargs.torch_dtype", "model.dtype", "dtype"),
    "model_kwargs.attn_implementation": Row("model_kwargs.attn_implementation", "model.attn_implementation"),
}
# 5.1.2 fit_mixin.py:165 and cross_encoder/fit_mixin.py:181
_FIT: dict[str, Row | tuple[Row, ...]] = {
    "epochs": Row("epochs", "training.num_train_epochs"),
    "warmup_steps": Row("warmup_steps", "training.warmup_steps"),
    "weight_decay": Row("weight_decay", "training.weight_decay"),
    "max_grad_norm": Row("max_grad_norm", "training.max_grad_norm"),
    "optimizer_params.lr": Row("optimizer_params.lr", "training.learning_rate"),
    "scheduler": Row("scheduler", "training.lr_scheduler_type", "sentence-schedule"),
}


def encoder(block: Block, named: tuple[Statement, ...]) -> Fragment:
    """`SentenceTransformer("…")`: the model, whose other arguments come from as many places as there are modules in it."""
    statements = (*lower_mapping(block, _MODEL, "call", lambda key: None), *named)
    return Fragment("python", block, "call", statements, {}, {}, entry=True)


def fit(block: Block, call: Call) -> Fragment:
    """`model.fit(…)`, whose batches are those of the data loaders that it is given."""
    statements = lower_mapping(block, _FIT, "call", lambda key: None)
    given = call.arguments.get("train_dataloader") or call.arguments.get("train_objectives")
    given = given or next(iter(call.positional), None)
    sizes = [size for loader in _loaders(given) if (size := _size(loader)) is not None]
    row = Row("batch_size", "training.per_device_train_batch_size")
    if sizes:
        one = statement(block, sizes[0], ("batch_size",), row, "call")
        alike = all(repr(size.value) == repr(sizes[0].value) or _plain(size) == _plain(sizes[0]) for size in sizes)
        statements.append(one if alike else one._replace(value=Unknown("several loaders, each with its own batch")))
    return Fragment("python", block, "call", tuple(statements), {}, {}, entry=True)


def _plain(entry: Entry) -> object:
    return entry.value.value if isinstance(entry.value, Scalar) else entry.value


def _loaders(node: Node | None) -> list[Call]:
    """`DataLoader(…)`, `[(DataLoader(…), loss)]`."""
    if isinstance(node, Call):
        return [node] if last_word(node.name) == "DataLoader" else []
    if isinstance(node, Sequence):
        return [loader for item in node.items[:100] for loader in _loaders(item)]
    return []


def _size(loader: Call) -> Entry | None:
    found = next((entry for entry in loader.arguments.entries if entry.key == "batch_size"), None)
    if found is None and len(loader.positional) > 1:
        node = loader.positional[1]
        return Entry("batch_size", node.start, node.start, node)
    return found


def of_trainer(block: Block) -> tuple[Statement, ...]:
    """An evaluator stands for the rows to evaluate on (5.1.2 trainer.py:216)."""
    entry = next((entry for entry in block.mapping.entries if entry.key == "evaluator"), None)
    if entry is None or block.mapping.get("eval_dataset") is not None:
        return ()
    place = Place(block.document, "evaluator", entry.value.start, entry.value.end, entry, ("evaluator",))
    value = Unknown("an evaluator measures", there=True)
    return (Statement("trainer.eval_dataset", value, value, Explicit(place, "call", block.number, block.name)),)
