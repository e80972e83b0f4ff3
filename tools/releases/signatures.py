"""What the functions, classes and methods of a library may be called with, by release, written as Python writes a signature:

    model, reward_funcs, args=, *, peft_config=, **      # `=` is a parameter that may be left out, `**` any keyword

`~` in front: a decorator takes other names as well (`deprecate_kwarg`). What another package's class builds, a metaclass or `__new__`, and what is
defined in two ways, has no signature here.
"""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Iterator
from typing import NamedTuple

from .classes import own_init
from .package import Found, Package


class Callables(NamedTuple):
    """Whose signatures are read, and where they stand."""

    name: str  # on the package index
    package: str  # as it is imported
    folders: tuple[str, ...]  # in the repository, newest place first
    oldest: str
    files: tuple[str, ...]
    methods: tuple[str, ...] = ()  # patterns of the classes whose methods are read as well
    skip: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()  # never opened, to look up a name neither


LIBRARIES = {
    one.name: one
    for one in (
        Callables("transformers", "transformers", ("src/transformers",), "4.28",
                  ("trainer.py", "trainer_seq2seq.py", "trainer_callback.py", "trainer_utils.py", "optimization.py", "data/data_collator.py",
                   "hf_argparser.py", "pytorch_utils.py"), ("Trainer", "Seq2SeqTrainer", "HfArgumentParser"), closed=("models/*", "pipelines/*",
                   "integrations/*",
                   "generation/*", "quantizers/*", "cli/*", "commands/*", "onnx/*", "kernels/*", "distributed/*", "utils/dummy*")),
        Callables("trl", "trl", ("trl",), "0.7", ("*.py",), ("TrlParser", "DPOTrainer", "PPOTrainer", "*ForCausalLMWithValueHead"),
                  ("scripts/*", "cli/*", "commands/*", "skills/*", "*_config.py", "import_utils.py")),
        Callables("peft", "peft", ("src/peft",), "0.4",
                  ("mapping.py", "mapping_func.py", "peft_model.py", "auto.py", "mixed_model.py", "helpers.py", "utils/other.py",
                   "utils/save_and_load.py", "utils/loftq_utils.py", "utils/integrations.py", "tuners/tuners_utils.py", "tuners/lora/model.py",
                   "tuners/lora/eva.py", "tuners/lora/corda.py"), ("PeftModel*", "AutoPeftModel*", "LoraModel")),
        Callables("accelerate", "accelerate", ("src/accelerate",), "0.20", ("*.py",), ("Accelerator",), ("commands/*", "test_utils/*")),
        Callables("deepspeed", "deepspeed", ("deepspeed",), "0.11", ("__init__.py", "ops/adam/*.py", "ops/lamb/*.py", "ops/lion/*.py",
                  "runtime/lr_schedules.py", "runtime/activation_checkpointing/checkpointing.py", "pipe/*.py", "runtime/pipe/module.py")),
        Callables("sentence-transformers", "sentence_transformers", ("sentence_transformers",), "2.2", ("*.py",),
                  ("SentenceTransformer", "CrossEncoder"), ("LoggingHandler.py", "backend/*")),
        Callables("bitsandbytes", "bitsandbytes", ("bitsandbytes",), "0.41", ("optim/*.py", "nn/modules.py")),
        Callables("datasets", "datasets", ("src/datasets",), "2.10", ("load.py", "combine.py", "arrow_dataset.py", "splits.py"),
                  ("Dataset",)),
    )
}  # fmt: skip

# Folders whose names stand beside others of the same name: `trl.experimental.dpo.DPOTrainer`, `sentence_transformers.cross_encoder.losses.…`.
APART = ("experimental", "cross_encoder", "sparse_encoder")

# What they put around a function leaves its parameters as they are.
_HARMLESS = {
    "contextmanager", "staticmethod", "classmethod", "lru_cache", "cache", "no_grad", "abstractmethod", "requires", "deprecated", "experimental",
    "add_start_docstrings", "auto_docstring", "wraps", "on_main_process", "inference_mode", "transmit_format", "fingerprint_transform",
    "is_torch_greater_or_equal", "instrument_w_nvtx", "torch_no_grad",
}  # fmt: skip
# They take names of earlier releases besides.
_RENAMING = {
    "deprecate_kwarg",
    "_deprecate_arguments",
    "deprecated_kwargs",
    "_deprecate_method",
    "deprecated_arguments",
}
_PLAIN_METACLASSES = {"ABCMeta"}


def read(library: Callables, files: dict[str, str]) -> dict[str, str]:
    """`Name` or `Class.method` → its signature; names in one of the folders APART begin with its name, unless the package itself offers them."""
    package = Package(library.package, files)
    found: dict[str, set[str | None]] = {}
    root = package.module("__init__.py")
    for path in package.paths():
        if not _is_read(library, path):
            continue
        module = package.module(path)
        assert module is not None
        folder = path.partition("/")[0]
        head = f"{folder}." if folder in APART else ""
        twice = _defined_twice(files[path])
        for name, thing in (*module.classes.items(), *module.functions.items()):
            if name.startswith("_"):
                continue
            here = Found(module, thing)
            exported = package.find(root, name) if root is not None else None
            offered = exported is not None and exported.thing is thing
            if not head and not offered and exported is not None and _is_read(library, exported.module.path):
                continue  # the one that the package offers counts
            for label, signature in _all(package, library, here, name):
                for start in {head, ""} if offered else {head}:
                    found.setdefault(start + label, set()).add(None if name in twice else signature)
    return {name: next(iter(only)) for name, only in sorted(found.items()) if len(only) == 1 and None not in only}  # type: ignore[misc]


def _is_read(library: Callables, path: str) -> bool:
    return any(fnmatch.fnmatch(path, one) for one in library.files) and not any(
        fnmatch.fnmatch(path, one) for one in library.skip
    )


def _defined_twice(text: str) -> set[str]:
    """Names that a file defines again, by a branch or by an assignment. What only a checker of types sees is none."""
    seen: set[str] = set()
    again: set[str] = set()
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return again
    for name in _defined(tree.body):
        (again if name in seen else seen).add(name)
    return again


def _defined(body: list[ast.stmt]) -> Iterator[str]:
    for one in body:
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if not any(_word(decorator) == "overload" for decorator in one.decorator_list):
                yield one.name
        elif isinstance(one, ast.If) and ast.unparse(one.test).endswith("TYPE_CHECKING"):
            continue  # nobody runs it
        elif isinstance(one, ast.Assign):
            yield from (target.id for target in one.targets if isinstance(target, ast.Name))
        elif isinstance(one, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
            for inner in (one.body, getattr(one, "orelse", []), getattr(one, "finalbody", [])):
                yield from _defined(inner)
            for handler in getattr(one, "handlers", []):
                yield from _defined(handler.body)


def _all(package: Package, library: Callables, found: Found, name: str) -> Iterator[tuple[str, str | None]]:
    thing = found.thing
    if isinstance(thing, ast.FunctionDef):
        yield name, _written(thing, 0)
        return
    assert isinstance(thing, ast.ClassDef)
    yield name, _constructor(package, found)
    if not any(fnmatch.fnmatch(name, one) for one in library.methods):
        return
    chain, _ = package.lineage(found)
    methods: dict[str, str | None] = {}
    for one in chain:
        assert isinstance(one.thing, ast.ClassDef)
        for statement in one.thing.body:
            if isinstance(statement, ast.FunctionDef) and not statement.name.startswith("_"):
                words = {_word(decorator) for decorator in statement.decorator_list}
                own = statement.name in methods and methods[statement.name] == ""
                bound = 0 if "staticmethod" in words else 1
                methods[statement.name] = (
                    None if own or words & {"property", "cached_property", "setter"} else _written(statement, bound)
                )
    for method, signature in methods.items():
        yield f"{name}.{method}", signature


def _constructor(package: Package, found: Found) -> str | None:
    chain, outside = package.lineage(found)
    for one in chain:
        assert isinstance(one.thing, ast.ClassDef)
        if any(k.arg == "metaclass" and _word(k.value) not in _PLAIN_METACLASSES for k in one.thing.keywords):
            return None
        if any(isinstance(s, ast.FunctionDef) and s.name in ("__new__", "__init_subclass__") for s in one.thing.body):
            return None
    assert isinstance(found.thing, ast.ClassDef)
    if any(
        _word(one) not in _HARMLESS for one in found.thing.decorator_list
    ):  # dataclasses are read with the other settings
        return None
    for one in reversed(chain):
        assert isinstance(one.thing, ast.ClassDef)
        init = own_init(one)
        if init is not None:
            return _written(init, 1)
        if one.thing.decorator_list:
            return None
        above = package.lineage(one)[1]
        if above and not set(above) <= _HAND_ON:
            return None  # a class of another package builds it
    return "" if not outside else None


_HAND_ON = {"ABC", "object", "Generic", "Protocol"}


def _word(node: ast.expr) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return ast.unparse(node).rsplit(".", 1)[-1]


def _written(function: ast.FunctionDef, bound: int) -> str | None:
    """None where a decorator may do anything."""
    words = {_word(one) for one in function.decorator_list}
    if not words <= _HARMLESS | _RENAMING:
        return None
    arguments = function.args
    places = [*arguments.posonlyargs, *arguments.args]
    optional = len(places) - len(arguments.defaults)
    parts = []
    for index, one in enumerate(places):
        if index >= bound:
            parts.append(one.arg + ("=" if index >= optional else ""))
        if arguments.posonlyargs and index == len(arguments.posonlyargs) - 1 and index >= bound:
            parts.append("/")
    if arguments.vararg is not None:
        parts.append("*" + arguments.vararg.arg)
    elif arguments.kwonlyargs:
        parts.append("*")
    parts += [
        one.arg + ("=" if default is not None else "")
        for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg is not None:
        parts.append("**")
    return ("~ " if words & _RENAMING else "") + ", ".join(parts)
