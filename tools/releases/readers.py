"""Which keys the reader of each framework takes: the fields of its argument classes, of its pydantic models, or its parser's flags.

A release's keys are grouped by reader (`train`, `megatron`, a command of OpenRLHF). Dotted keys are those of a nested model.
"""

from __future__ import annotations

import ast
import fnmatch
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from . import components, fsdp, hydra_groups, names
from .classes import class_found, read_class
from .package import Found, Package

Keys = dict[str, dict[str, Any]]  # key → what else is said of it: `plugin`
Readers = dict[str, dict[str, Any]]  # reader → {"bases": [...], "fields": Keys}


class Framework(NamedTuple):
    name: str  # on the package index
    oldest: str
    folders: tuple[str, ...]  # where the readers may stand in the repository, newest place first
    read: Callable[[Package], Readers]
    beside: str = ""  # another folder with what reads the keys: its files are the package's under `+folder/`


def _dataclasses(package: Package, names: tuple[str, ...], paths: tuple[str, ...]) -> dict[str, Any]:
    """The fields of all these classes, and whether `TrainingArguments` of transformers are among their bases."""
    fields: Keys = {}
    bases: set[str] = set()
    for name in names:
        for path in package.class_paths().get(name, []):
            if not any(fnmatch.fnmatch(path, pattern) for pattern in paths):
                continue
            found = class_found(package, path, name)
            if found is None:
                continue
            _, outside = package.lineage(found)
            bases |= {_BASE for base in outside if base.endswith("TrainingArguments")}
            fields |= {key: {} for key, field in read_class(package, found).items() if field.get("init") is not False}
    return {"bases": sorted(bases), "fields": dict(sorted(fields.items()))}


_BASE = "transformers.Seq2SeqTrainingArguments"
_LLAMAFACTORY = ("ModelArguments", "DataArguments", "TrainingArguments", "FinetuningArguments", "GeneratingArguments", "GeneralArguments")  # fmt: skip
_LLAMAFACTORY_INFER = ("ModelArguments", "DataArguments", "FinetuningArguments", "GeneratingArguments", "EvaluationArguments",
                       "_KTransformersRuntimeArguments")  # fmt: skip
_LLAMAFACTORY_V1 = ("ModelArguments", "DataArguments", "TrainingArguments", "SampleArguments")
_SWIFT = ("SftArguments", "TrainArguments", "RLHFArguments", "PtArguments", "PretrainArguments", "DPOArguments", "SimPOArguments",
          "ORPOArguments")  # fmt: skip
_SWIFT_SFT = (
    "SftArguments",
    "TrainArguments",
    "PtArguments",
    "PretrainArguments",
)  # what `swift sft` and `swift pt` parse
_SWIFT_OTHER = ("InferArguments", "DeployArguments", "EvalArguments", "ExportArguments", "AppUIArguments", "AppArguments", "RolloutArguments",
                "SamplingArguments", "WebUIArguments", "WebuiArguments")  # fmt: skip


def _llamafactory(package: Package) -> Readers:
    train = _dataclasses(package, _LLAMAFACTORY, ("hparams/*",))
    train["bases"] = [_BASE]  # older releases parse transformers' own class
    return {
        "train": train,
        "infer": _dataclasses(package, _LLAMAFACTORY_INFER, ("hparams/*",)),
        "v1": _dataclasses(
            package, _LLAMAFACTORY_V1, ("v1/config/*",)
        ),  # a program of its own, with arguments of its own
    }


def _swift(package: Package) -> Readers:
    arguments = ("llm/utils/argument.py", "llm/argument/*", "arguments/*")
    megatron = tuple(name for name in package.class_paths() if re.match(r"Megatron\w*Arguments\Z", name))
    return {
        "sft": _dataclasses(package, _SWIFT_SFT, arguments),
        "train": _dataclasses(package, _SWIFT, arguments),
        "other": _dataclasses(package, _SWIFT_OTHER, arguments),
        "megatron": _dataclasses(package, megatron, ("megatron/*", "llm/megatron/*")),
    }


def _axolotl(package: Package) -> Readers:
    """The input model with its nested models, what its validators take out of the raw mapping, and the plugins' models. Before 0.5 there
    was no model: the file was a mapping, of which the program asked what it asked for."""
    fields: Keys = {}
    if "AxolotlInputConfig" not in package.class_paths():
        return {"config": {"bases": [], "fields": {key: {"asked": True} for key in sorted(_asked(package))}}}
    for path in package.class_paths().get("AxolotlInputConfig", []):
        found = class_found(package, path, "AxolotlInputConfig")
        if found is not None and "/next/" not in path:
            fields |= {key: {} for key in _model_keys(package, found, "", 0)}
            for inside in ("utils/schemas/*", "utils/config/models/input/v0_4_1/*", "utils/config/__init__.py"):
                for text in package.texts(inside):
                    fields |= {key: {} for key in _TAKEN.findall(text) if key not in fields}
    for module, name in _plugins(package):
        for folder in (f"{module.replace('.', '/')}/args.py", f"{module.replace('.', '/')}/__init__.py"):
            found = class_found(package, folder, name)
            if found is not None:
                owner = {"plugin": f"axolotl.{module}"}
                fields |= {key: owner for key in _model_keys(package, found, "", 0) if key not in fields}
    return {"config": {"bases": [], "fields": dict(sorted(fields.items()))}}


def _asked(package: Package) -> set[str]:
    """Every name that may be asked of the configuration: attributes of what is called so, and every text that is looked up somewhere or stands
    in a list, as a loop over names may ask for it. More than is read, so that what is not among them is read by nothing."""
    names: set[str] = set()
    for path in package.paths():
        for text in package.texts(path):
            names |= set(_OF_CONFIG.findall(text))
            for begins, ends in _HANDED_ON.items():
                if f'key.startswith("{begins}")' in text:
                    names |= {begins + end for end in ends}
            for node in ast.walk(ast.parse(text)):
                names |= {
                    one.value
                    for one in _looked_up(node)
                    if isinstance(one, ast.Constant) and isinstance(one.value, str) and _A_KEY.match(one.value)
                }
    return names


def _looked_up(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Subscript):
        return [node.slice]
    if isinstance(node, ast.Compare):
        return [node.left]
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return [one for one in node.elts if isinstance(one, ast.Constant) and "_" in str(one.value)]
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return node.args[:2] if name in _LOOK_UP else []
    return []


# What the trackers read of the environment, where every key that begins so is put there.
_HANDED_ON = {
    "wandb_": (
        "dir",
        "entity",
        "job_type",
        "log_model",
        "mode",
        "name",
        "notes",
        "project",
        "run_group",
        "run_id",
        "tags",
        "watch",
    ),
    "mlflow_": ("experiment_name", "run_id", "run_name", "tags", "tracking_uri"),
}
_LOOK_UP = frozenset({"get", "pop", "setdefault", "getattr", "hasattr", "setattr"})
_OF_CONFIG = re.compile(r"\b\w*(?:cfg|config)\.([a-z]\w+)")
_A_KEY = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*\Z")


# What a validator of the whole mapping looks up there: data.get("key"), data["key"], "key" in data.
_TAKEN = re.compile(r"""(?:(?:data|cfg|values|self)(?:\.get\(|\.pop\(|\[)\s*["']([a-z]\w+)["'](?:[^"']|\Z))""")
_INPUT_ARGS = re.compile(r"""def get_input_args\(.*?\n(?:.*\n)*?\s+return\s+["']axolotl\.([\w.]+)\.(\w+)["']""")


def _plugins(package: Package) -> Iterator[tuple[str, str]]:
    """(module inside the package, class of its arguments) of every plugin."""
    for text in package.texts("integrations/*"):
        for module, name in _INPUT_ARGS.findall(text):
            yield module.removesuffix(".args"), name


def _model_keys(package: Package, found: Found, above: str, depth: int) -> Iterator[str]:
    """Names and aliases of a pydantic model's fields; below a field whose type is another model, that one's."""
    chain, _ = package.lineage(found)
    for one in chain:
        assert isinstance(one.thing, ast.ClassDef)
        for statement in one.thing.body:
            if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
                continue
            if statement.target.id == "model_config":
                continue
            names = [statement.target.id, *_aliases(statement.value)]
            for name in names:
                yield above + name
            inner = _model(package, one, statement.annotation) if depth < 2 else None
            for name in names if inner is not None else ():
                yield from _model_keys(package, inner, f"{above}{name}.", depth + 1)


def _aliases(value: ast.expr | None) -> Iterator[str]:
    for keyword in value.keywords if isinstance(value, ast.Call) else ():
        if keyword.arg in ("alias", "validation_alias"):
            for node in ast.walk(keyword.value):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def _model(package: Package, found: Found, annotation: ast.expr) -> Found | None:
    """The only model of the package that an annotation names (`TRLConfig | None`), lists and unions with `dict` left out."""
    text = ast.unparse(annotation)
    if re.search(r"\b(list|List|dict|Dict|Any|DictDefault)\b", text):
        return None
    models = []
    for node in ast.walk(annotation):
        target = package.find(found.module, node.id) if isinstance(node, ast.Name) else None
        if target is not None and isinstance(target.thing, ast.ClassDef):
            chain, _ = package.lineage(target)
            if any(base == "BaseModel" for one in chain for base, _ in package.bases(one)):
                models.append(target)
    return models[0] if len(models) == 1 else None


def flags_of(text: str) -> dict[str, dict[str, Any]]:
    """Every long flag that a file's parsers add, dashes as underscores."""
    flags: Keys = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument":
            for argument in node.args:
                if isinstance(argument, ast.Constant) and str(argument.value).startswith("--"):
                    flags[str(argument.value)[2:].replace("-", "_")] = {}
    return dict(sorted(flags.items()))


def _openrlhf(package: Package) -> Readers:
    readers: Readers = {}
    for path in package.paths():
        name = path.rpartition("/")[2][:-3]
        if name.startswith("train_") and path.count("/") <= 1:
            text = "".join(package.texts(path))
            flags = flags_of(text)
            if flags and "add_config_arguments" in text:  # DeepSpeed's own
                flags |= {key: {} for key in ("deepspeed", "deepspeed_config", "deepscale", "deepscale_config")}
            if flags:
                readers[name] = {"bases": [], "fields": dict(sorted(flags.items()))}
    return readers


def _accelerate(package: Package) -> Readers:
    """The flags of `accelerate launch`, what the sections of its file are copied to; and what it asks for that only such a section can have set."""
    text = "".join(package.texts("commands/launch.py"))
    more = {name: {} for name in _MAY_BE_SET.findall("".join(package.texts("utils/launch.py")))}
    return {"launch": {"bases": [], "fields": dict(sorted((more | flags_of(text)).items()))}} if text else {}


_MAY_BE_SET = re.compile(r"""getattr\(args, ["'](\w+)["']""")


def _transformers(package: Package) -> Readers:
    return _names(package) | fsdp.options(package)


def _names(package: Package) -> Readers:
    return names.exported(package) | names.within(package)


FRAMEWORKS = {
    "llamafactory": Framework("llamafactory", "0.0", ("src/llamafactory", "src/llmtuner"), _llamafactory),
    "axolotl": Framework("axolotl", "0.3", ("src/axolotl",), _axolotl, "scripts"),
    "ms-swift": Framework("ms-swift", "2.0", ("swift",), _swift),
    "openrlhf": Framework("openrlhf", "0.1", ("openrlhf", "examples"), _openrlhf),
    "accelerate": Framework("accelerate", "0.10", ("src/accelerate",), _accelerate),
    "torchtune": Framework("torchtune", "0.1", ("torchtune",), components.torchtune, "recipes"),
    "litgpt": Framework("litgpt", "0.2", ("litgpt",), components.litgpt),
    "verl": Framework("verl", "0.2", ("verl",), hydra_groups.verl),
    "trl": Framework("trl", "0.7", ("trl",), _names),
    "peft": Framework("peft", "0.4", ("src/peft",), _names),
    "transformers": Framework("transformers", "4.28", ("src/transformers",), _transformers),
}  # fmt: skip
