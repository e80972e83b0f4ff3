"""Which classes of which library are read, and where they live. The rules name no release: a new release needs no change here."""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Callable
from typing import Any, NamedTuple

from . import json_paths
from .classes import class_found, read_class, read_init, settled, signature
from .package import Found, Package
from .spans import Release


class Library(NamedTuple):
    name: str  # on the package index
    oldest: str  # first minor release that is read
    files: tuple[str, ...]  # patterns of the paths inside the package where settings are defined
    wanted: Callable[[Package, Found], bool]
    constructors: tuple[str, ...] = ()  # patterns of classes of which only __init__ is read
    skip: tuple[str, ...] = ()  # never opened
    source: bool = False  # the index has no wheels
    package: str = ""  # that is imported, where it is called otherwise


def _named(*patterns: str) -> Callable[[Package, Found], bool]:
    def wanted(package: Package, found: Found) -> bool:
        return any(fnmatch.fnmatch(_class(found).name, p) for p in patterns)

    return wanted


def _class(found: Found) -> ast.ClassDef:
    assert isinstance(found.thing, ast.ClassDef)
    return found.thing


LIBRARIES = {
    "transformers": Library(
        "transformers",
        "4.6",
        ("training_args*.py", "trainer.py", "trainer_seq2seq.py", "trainer_pt_utils.py", "utils/quantization_config.py",
         "generation/configuration_utils.py", "distributed/configuration_utils.py"),
        _named("TrainingArguments", "Seq2SeqTrainingArguments", "AcceleratorConfig", "GenerationConfig", "DistributedConfig",
               "[!_]*Config", "[!_]*QuantConfig"),
        constructors=("Trainer", "Seq2SeqTrainer"),
        skip=("models/*", "pipelines/*", "data/*", "onnx/*", "kernels/*", "*_tf_*", "*_flax_*"),
    ),
    "trl": Library(
        "trl", "0.2", ("*.py",), _named("[!_]*Config", "[!_]*Arguments"), constructors=("[!_]*Trainer",),
        skip=("extras/*", "models/*", "templates/*"),
    ),
    "peft": Library("peft", "0.1", ("*.py",), _named("[!_]*Config"), skip=("tuners/*/layer.py", "tuners/*/model.py")),
    "accelerate": Library(
        "accelerate",
        "0.10",
        ("utils/dataclasses.py", "accelerator.py", "commands/config/config_args.py", "parallelism_config.py"),
        _named("[!_]*Config", "[!_]*Kwargs", "[!_]*Plugin", "[!_]*Configuration"),
        constructors=("Accelerator",),
        skip=("test_utils/*",),
    ),
    "deepspeed": Library(  # its whole JSON is read as one class, see json_paths
        "deepspeed", "0.5", (), _named(), skip=("ops/*", "model_implementations/*", "module_inject/*", "inference/v2/*"), source=True,
    ),
}  # fmt: skip
# Of these only the checks are read (read_checks.py), which name settings of a framework and no class of a library's.
FRAMEWORKS = {
    name: Library(name, oldest, ("*.py",), _named(), package=package, source=source)
    for name, oldest, package, source in (
        ("verl", "0.2", "", False), ("llamafactory", "0.8", "", False), ("axolotl", "0.8", "", True), ("ms-swift", "3.0", "swift", False),
        ("openrlhf", "0.6", "", True), ("litgpt", "0.5", "", False),
    )
}  # fmt: skip


def _experimental(path: str) -> bool:
    return path.startswith("experimental/")


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatch(path, pattern) for pattern in patterns)


def read(library: Library, files: dict[str, str]) -> Release:
    """Everything that one release's sources say."""
    package = Package(library.name.replace("-", "_"), files)
    classes: dict[str, Any] = {}
    for name, paths in sorted(package.class_paths().items()):
        homes = sorted((p for p in paths if _matches(p, library.files)), key=lambda p: (_experimental(p), p))
        constructor = any(fnmatch.fnmatch(name, pattern) for pattern in library.constructors)
        for path in homes:
            found = class_found(package, path, name)
            if found is None or not (constructor or library.wanted(package, found)):
                continue
            label = name if name not in classes else f"experimental.{name}"
            if label in classes or (label != name and path.endswith("__init__.py")):  # a script's own; an old name kept
                continue
            entry = _entry(package, found, constructor)
            if not entry["fields"]:
                continue
            if label == name or (_experimental(path) and entry["fields"] != classes[name]["fields"]):
                classes[label] = entry
    if library.name == "transformers":
        _add_from_pretrained(package, classes)
    if library.name == "deepspeed":
        fields = json_paths.read(package)
        classes["json"] = {"kind": "json", "module": "runtime/config.py", "bases": [], "fields": fields}
    return {"classes": classes, "enums": dict(package.enums)}


def _entry(package: Package, found: Found, constructor: bool) -> dict[str, Any]:
    _, outside = package.lineage(found)
    fields = read_init(package, found) if constructor else read_class(package, found)
    return {
        "kind": "constructor" if constructor else "fields",
        "module": found.module.path,
        "bases": outside,
        "settled": {} if constructor else settled(package, found),
        "fields": fields,
    }


def _add_from_pretrained(package: Package, classes: dict[str, Any]) -> None:
    """What `from_pretrained` of a model takes out of its keyword arguments (`torch_dtype`, `dtype`, `device_map`, …)."""
    found = class_found(package, "modeling_utils.py", "PreTrainedModel")
    if found is None:
        return
    for statement in _class(found).body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "from_pretrained":
            fields = signature(package, found.module, statement)
            classes["from_pretrained"] = {
                "kind": "constructor",
                "module": "modeling_utils.py",
                "bases": [],
                "fields": fields,
            }
