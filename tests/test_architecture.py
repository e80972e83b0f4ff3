"""Imports point one way: source ← dialect, run, target ← hazard ← fix ← report and the doors (DESIGN §1)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "lint" / "stablint"
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))

# What the modules of a room may import of stablint, besides their own room. `knowledge` is the compiled data. `source.tree`, `run.fact` and
# `report.model` are vocabularies: tuples without behaviour.
ALLOWED = {
    "source": set(),
    "knowledge": {"compile"},
    "memory": set(),
    "run": {"source", "target", "memory", "knowledge"},
    "target": {"source", "run", "knowledge"},
    "dialect": {"source", "run", "knowledge"},
    "discover": {"source"},
    "locks": {"run"},
    "faults": {"source.tree"},
    "assemble": {"source", "faults", "discover", "dialect", "run", "target", "locks", "policy", "knowledge"},
    "hazard": {"source.tree", "run", "target", "knowledge"},
    "fix": {
        "source",
        "faults",
        "discover",
        "dialect",
        "run",
        "assemble",
        "hazard",
        "inspect",
        "report.model",
        "knowledge",
    },
    "report": {"source.tree", "run.fact", "stablint"},
    "diagnose": {"source", "faults", "run", "hazard", "fix", "report"},
    "referrers": {"discover"},
    # Accepted findings: in comments, in settings, in a baseline.
    "policy": {"source", "hazard.model", "target.gpu"},
    "rulebook": {"policy", "hazard.model", "run"},
    "comments": {"source"},
    "directives": {"source", "comments", "report"},
    "baseline": {"report"},
    "unused": {"source", "directives", "policy", "hazard", "report"},
    "suppress": {"source", "comments", "directives", "policy", "baseline", "unused", "hazard", "report"},
    "judging": {"source", "faults", "assemble", "hazard", "run", "rulebook"},
    "inspect": {
        "faults",
        "judging",
        "source",
        "discover",
        "referrers",
        "dialect",
        "run",
        "assemble",
        "hazard",
        "diagnose",
        "report",
        "policy",
        "suppress",
    },
    "stablint": {"api"},
    # Authors' side: never on the path of a check.
    "schema": set(),
    "compile": {"compiling"},
    "compiling": {"schema", "source", "dialect", "run", "target", "hazard"},
}
# The command line, the library and its live objects: they import what they need, and nothing imports them.
DOORS = {
    "cli", "commands", "checking", "showing", "options", "launching", "comparing", "migrating", "doctoring", "outputs", "project", "selection",
    "accepting", "settings", "conform", "house", "initialise", "audit", "api", "integrate", "__main__", "trust",
}  # fmt: skip


def room(module: str) -> str:
    """`stablint.run.fact` → `run`; `stablint` itself is a room of its own."""
    return module.split(".")[1] if "." in module else "stablint"


def name_of(path: Path) -> str:
    parts = ["stablint", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path) -> Iterator[str]:
    """Every stablint module that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno}: relative import"
            names = [
                f"{node.module}.{alias.name}" if is_module(node.module, alias.name) else str(node.module)
                for alias in node.names
            ]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "stablint")


def is_module(package: str | None, name: str) -> bool:
    folder = PACKAGE.parent.joinpath(*str(package).split("."))
    return (folder / f"{name}.py").exists() or (folder / name / "__init__.py").exists()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_one_way(path):
    here = room(name_of(path))
    if here in DOORS:
        return
    assert here in ALLOWED, f"{here} is a new room: say in ALLOWED what it may import"
    for other in imported(path):
        allowed = room(other) in {here} | ALLOWED[here] or other.removeprefix("stablint.") in ALLOWED[here]
        assert allowed, f"{name_of(path)} imports {other}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_imports_the_doors(path):
    if room(name_of(path)) not in DOORS | {"stablint"}:
        assert not {room(other) for other in imported(path)} & DOORS
