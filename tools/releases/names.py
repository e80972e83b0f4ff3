"""Which names a library's package offers for import: `from trl import DPOTrainer`.

A lazy package lists them in `_import_structure`, in the imports for type checkers and, for transformers' models, in `__all__` of every module.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from .package import Package

# Other frameworks' models, tables of checkpoints and questions about what is installed: no script that fine-tunes is lost with them.
# Tokenizers and image processors that no file lists any longer are still there: transformers 5 makes their names up when they are asked for.
_ASIDE = re.compile(
    r"(?:TF|Flax)[A-Z]|\w*_ARCHIVE_|(?:is|requires|load)_|_|\w*(?:FeatureExtractor|Tokenizer|TokenizerFast|ImageProcessorFast)\Z"
)


def exported(package: Package) -> dict[str, dict[str, Any]]:
    """One reader, `names`, whose keys are the names."""
    root = package.module("__init__.py")
    if root is None:
        return {}
    names = (
        {name for name, statement in root.imports.items() if statement.level} | set(root.classes) | set(root.functions)
    )
    text = "".join(package.texts("__init__.py"))
    names |= set(_listed(ast.parse(text)))
    if "define_import_structure" in text or root.stars:
        for place in ("models/*", "quantizers/*"):
            for content in package.texts(place):
                names |= set(_all_of(content))
    fields: dict[str, dict[str, Any]] = {name: {} for name in sorted(names) if not _ASIDE.match(name)}
    return {"names": {"bases": [], "fields": fields}}


# The modules of transformers that programs import from by their full name; of TRL and PEFT it is all of them.
_FAMILIES = (
    "llama|mistral|mixtral|qwen2|qwen2_vl|qwen2_5_vl|gemma|gemma2|gemma3|phi3|gpt2|gpt_neox|bloom|falcon|opt|bert|t5"
    "|llava|clip|whisper"
)
_IMPORTED_FROM = {
    "transformers": re.compile(
        r"(deepspeed|file_utils|generation_\w+|generation|optimization|activations|cache_utils|modeling_\w+|pytorch_utils"
        r"|trainer\w*|training_args\w*|integrations|utils|data\.data_collator|tokenization_utils\w*"
        rf"|(generation|integrations|utils)\.\w+|models\.({_FAMILIES})\.(modeling|configuration)_\w+)"
    ),
}  # fmt: skip
_NOT_FROM = re.compile(
    r"(experimental|extras|scripts|commands|cli|templates|testing|tests?)\.|(.*[._])?(tf|flax)_|.*modular_"
)


def within(package: Package) -> dict[str, dict[str, Any]]:
    """One reader, `modules`, whose keys are the names that can be imported from a module by its full name: `trainer.utils.ConstantLengthDataset`.

    What a module defines, imports, or takes over from another with a star counts, and what a lazy package lists. One that makes names up when it
    is asked is left out.
    """
    wanted = _IMPORTED_FROM.get(package.name)
    fields: dict[str, dict[str, Any]] = {}
    for path in package.paths():
        dotted = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if path == "__init__.py" or _NOT_FROM.match(dotted) or (wanted is not None and not wanted.fullmatch(dotted)):
            continue
        fields |= {f"{dotted}.{name}": {} for name in _inside(package, path) if not name.startswith("_")}
    for alias, target in _aliases("".join(package.texts("__init__.py"))):
        if wanted is not None and wanted.fullmatch(alias):
            there = [name.removeprefix(f"{target}.") for name in fields if name.startswith(f"{target}.")]
            fields |= {f"{alias}.{name}": {} for name in there}
    return {"modules": {"kind": "struct", "bases": [], "fields": dict(sorted(fields.items()))}} if fields else {}


def _inside(package: Package, path: str, depth: int = 0) -> set[str]:
    """The names that a module has when it is imported."""
    module = package.module(path)
    if module is None or depth > 5:
        return set()
    names = module.classes.keys() | module.functions.keys() | module.values.keys() | module.imports.keys()
    names |= {word for text in package.texts(path) for word in _made_up(text)}
    for star in module.stars:
        names |= _inside(package, package.opened(module, star) or "", depth + 1)
    if path.endswith("__init__.py"):
        text = "".join(package.texts(path))
        names |= set(_listed(ast.parse(text)))
        if "define_import_structure" in text:
            for content in package.texts(path.removesuffix("__init__.py") + "*"):
                names |= set(_all_of(content))
    return names


_ALIAS = re.compile(r"""_alias\(f?"\{__name__\}\.(\w+)", "\.(\w+)"\)""")
_ALIASES = re.compile(r"_MODULE_ALIASES\s*=\s*\{([^}]*)\}")
_PAIR = re.compile(r"""["'](\w+)["']\s*:\s*["'](\w+)["']""")


def _aliases(text: str) -> Iterator[tuple[str, str]]:
    """Modules that a package hands out under an older name: transformers 5 calls a function for each, later releases have a table."""
    yield from _ALIAS.findall(text)
    for table in _ALIASES.finditer(text):
        yield from _PAIR.findall(table[1])


def _made_up(text: str) -> Iterator[str]:
    """The names that a module's own `__getattr__` compares with what it is asked for."""
    if "\ndef __getattr__(" in text:
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and node.name == "__getattr__":
                yield from (
                    one.value
                    for inner in ast.walk(node)
                    if isinstance(inner, ast.Compare) and isinstance(inner.ops[0], ast.Eq)
                    for one in inner.comparators
                    if isinstance(one, ast.Constant) and isinstance(one.value, str)
                )


def _listed(tree: ast.Module) -> Iterator[str]:
    """The strings below every value of `_import_structure` and `__all__`, and what is appended to them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            target = ast.unparse(node.targets[0])
            if target.startswith(("_import_structure", "__all__")):
                values = node.value.values if isinstance(node.value, ast.Dict) else [node.value]
                yield from _strings(values)
        elif isinstance(node, ast.AugAssign) and ast.unparse(node.target).startswith(("_import_structure", "__all__")):
            yield from _strings([node.value])
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "extend")
        ):
            if ast.unparse(node.func.value).startswith(("_import_structure", "__all__")):
                yield from _strings(node.args)


def _strings(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and inner.value.isidentifier():
                yield inner.value


_ALL = re.compile(r"^__all__\s*=\s*\[([^\]]*)\]", re.M)
_WORD = re.compile(r"""["'](\w+)["']""")


def _all_of(content: str) -> Iterator[str]:
    for found in _ALL.finditer(content):
        yield from _WORD.findall(found[1])
