"""What a library checks or settles by itself: every `raise`, `assert`, warning and override in its config classes, with the condition around it."""

from __future__ import annotations

import ast
import fnmatch
from collections.abc import Iterator
from typing import NamedTuple

# Where settings are judged, a pattern of paths inside the package each, and the functions there that are read; () is all of them.
WHERE: dict[str, dict[str, tuple[str, ...]]] = {
    "transformers": {
        "training_args.py": (),
        "trainer.py": ("__init__", "_validate_args", "create_accelerator_and_postprocess"),
        "trainer_optimizer.py": (),
        "utils/quantization_config.py": (),
        "integrations/deepspeed.py": (),
    },
    "trl": {
        "trainer/*_config.py": (),
        "trainer/*_trainer.py": ("__init__",),
        "experimental/*/*_config.py": (),
    },
    "peft": {"config.py": (), "tuners/*/config.py": ()},
    "accelerate": {
        "utils/dataclasses.py": ("__post_init__",),
        "parallelism_config.py": (),
        "commands/launch.py": ("_validate_launch_command",),
        "accelerator.py": ("__init__",),
    },
    "deepspeed": {
        "runtime/config.py": (),
        "runtime/precision_config.py": (),
        "runtime/zero/config.py": (),
        "runtime/zero/offload_config.py": (),
        "runtime/lr_schedules.py": ("__init__",),
    },
    "verl": {
        "utils/config.py": ("validate_config", "check_mutually_exclusive", "_validate_router_replay_config"),
        "trainer/ppo/ray_trainer.py": ("_validate_config", "check_mutually_exclusive"),
        "workers/config/*.py": ("__post_init__", "validate", "_check_mutually_exclusive"),
        "workers/fsdp_workers.py": ("__init__", "_build_rollout"),
        "workers/engine_workers.py": ("__init__", "init_model"),
    },
    "llamafactory": {"hparams/*_args.py": ("__post_init__",), "hparams/parser.py": ()},
    "axolotl": {"utils/schemas/*.py": (), "utils/schemas/internal/*.py": (), "core/builders/*.py": ()},
    "ms-swift": {
        "arguments/sft_args.py": (),
        "arguments/rlhf_args.py": (),
        "arguments/pretrain_args.py": (),
        "arguments/tuner_args.py": (),
        "arguments/base_args/*.py": (),
        "trainers/arguments.py": (),
        "rlhf_trainers/arguments.py": (),
        "rlhf_trainers/args_mixin.py": (),
    },
    "openrlhf": {"cli/train_*.py": ()},
    "litgpt": {"finetune/*.py": ("setup", "validate_args"), "args.py": ()},
}
_WARNINGS = ("warn", "warning", "warning_once")


class Check(NamedTuple):
    """`when` is the condition as the library writes it: the same text in the next release is the same check."""

    file: str
    owner: str  # class and function
    kind: str  # raise | assert | warn | override
    when: str
    fields: tuple[str, ...]
    first: int  # lines of the statement that holds the condition
    last: int

    @property
    def identity(self) -> tuple[str, str, str, str]:
        return self.file, self.owner, self.kind, self.when


def read(library: str, files: dict[str, str]) -> list[Check]:
    """All checks of one release; `files` are its sources by their paths inside the package."""
    found: dict[tuple[str, str, str, str], Check] = {}
    for path in sorted(files):
        functions = _functions(library, path)
        if functions is None:
            continue
        module = ast.parse(files[path])
        for owner, function in _owners(module):
            if not functions or function.name in functions:
                for check in _walk(path, owner, function.body, (), (function.lineno, function.lineno)):
                    found.setdefault(check.identity, check)
        if not functions:  # a program looks at its arguments below its functions
            for check in _walk(path, "module", module.body, (), (1, 1)):
                found.setdefault(check.identity, check)
    return list(found.values())


def _functions(library: str, path: str) -> tuple[str, ...] | None:
    for pattern, functions in WHERE[library].items():
        if fnmatch.fnmatch(path, pattern):
            return functions
    return None


def _owners(module: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in module.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    yield f"{node.name}.{method.name}", method


def _walk(
    path: str, owner: str, body: list[ast.stmt], tests: tuple[ast.expr, ...], lines: tuple[int, int]
) -> Iterator[Check]:
    for node in body:
        if isinstance(node, ast.If):
            inside = (node.lineno, node.body[-1].end_lineno or node.lineno)
            yield from _walk(path, owner, node.body, (*tests, node.test), inside)
            otherwise = ast.UnaryOp(ast.Not(), node.test)
            yield from _walk(
                path, owner, node.orelse, (*tests, otherwise), (node.lineno, node.end_lineno or node.lineno)
            )
        elif isinstance(node, (ast.With, ast.For, ast.Try)):
            yield from _walk(path, owner, node.body, tests, lines)
        elif isinstance(node, ast.Assert):
            yield _check(path, owner, "assert", (*tests, node.test), (node.lineno, node.end_lineno or node.lineno))
        elif isinstance(node, ast.Raise) and tests:
            yield _check(path, owner, "raise", tests, (lines[0], node.end_lineno or lines[1]))
        elif isinstance(node, ast.Expr) and _is_warning(node.value) and tests:
            yield _check(path, owner, "warn", tests, (lines[0], node.end_lineno or lines[1]))
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and tests:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Attribute) and _is_own(target) and any(_names(test) for test in tests):
                yield _check(path, owner, "override", tests, (lines[0], node.end_lineno or lines[1]), target.attr)


def _check(
    path: str, owner: str, kind: str, tests: tuple[ast.expr, ...], lines: tuple[int, int], target: str = ""
) -> Check:
    when = " and ".join(ast.unparse(test) for test in tests)
    fields = sorted({name for test in tests for name in _names(test)} | ({target} if target else set()))
    return Check(path, owner, kind, f"{when} → {target}" if target else when, tuple(fields), *lines)


def _is_own(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "args")


def _names(test: ast.expr) -> set[str]:
    """Settings that a condition reads: attributes of the object or its arguments, keys of a configuration."""
    found = set()
    for node in ast.walk(test):
        if isinstance(node, ast.Attribute) and _is_own(node):
            found.add(node.attr.removeprefix("_"))
        elif isinstance(node, ast.Name) and node.id not in ("self", "args"):
            found.add(node.id)
    return {
        name for name in found if name.islower() and not name.startswith(("is_", "isinstance", "str", "len", "int"))
    }


def _is_warning(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _WARNINGS
