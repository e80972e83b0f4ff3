"""The programs of a repository, and how they spell that they load a configuration."""

from __future__ import annotations

import os
import re
from functools import cache

from stablint.assemble.files import Files
from stablint.run.framework import package_names

LOADS = re.compile(
    rb"\b(?:h?json5?|yaml|toml|tomllib)\.(?:safe_|full_|unsafe_)?loads?\(|\bOmegaConf\.load\(|\bBox\.from_"
    rb"|\bfrom[ \t]{1,9}(?:h?json5?|yaml|toml|tomllib)[ \t]{1,9}import[ \t][^\n]{0,120}?\b(?:safe_|full_|unsafe_)?loads?\b"
)
# `load_config(path)`, `load_yaml(path)`: the program leaves the loading to a module of its own.
LOADER = re.compile(
    rb"config\(|\b(?:load|read)_(?:yaml|yml|json|toml|cfg|settings|params)\(|\b(?:from_(?:yaml|json|file)|parse_(?:yaml|json)_file)\("
)
# What makes an object with attributes of what was loaded.
OBJECTS = re.compile(
    r"\bOmegaConf\b|Namespace\(\s*\*\*|\b(?:edict|EasyDict|AttrDict|DotMap|Munch|munchify|Box|ConfigDict|Dict2Obj|AttributeDict)\("
)
NAMES = re.compile(r"""["']((?:[\w.-]+/)*[\w.-]+\.(?:ya?ml|json|toml))["']""")
CONFIG = r"""(?:[\w.@:-]*/)*[\w.-]+\.(?:ya?ml|json|toml)"""
TESTS = re.compile(r"(?:^|[/\\])(?:tests?[/\\]|test_|conftest\b)")
_SHELL = (".sh", ".bash", ".slurm", ".sbatch", ".zsh")


def programs_of(root: str, files: Files) -> tuple[str, ...]:
    """Python files and notebooks of a repository that are neither tests nor a copy of a framework; looked for once. What a test writes down and
    takes apart is its own example."""
    if root not in files.programs:
        found = files.entries(root)
        inner = ((path, path[len(root) :]) for path in found if path.endswith((".py", ".ipynb")))
        files.programs[root] = tuple(path for path, name in inner if not (TESTS.search(name) or _of_a_framework(name)))
        files.scripts[root] = tuple(path for path in found if path.endswith(_SHELL))
    return files.programs[root]


def scripts_of(root: str, files: Files) -> tuple[str, ...]:
    """Its scripts of a shell, looked for with the programs."""
    programs_of(root, files)
    return files.scripts[root]


@cache
def _folders() -> frozenset[str]:
    return frozenset([*package_names(), "site-packages", "trl", "transformers"])


def _of_a_framework(path: str) -> bool:
    """A copy of a framework in the repository is that framework."""
    return not _folders().isdisjoint(path.replace(os.sep, "/").split("/"))
