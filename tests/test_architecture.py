"""Imports point one way: syntax ← run, frameworks ← hazard ← fix ← engine ← the doors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.grouped import by, each

PACKAGE = Path(__file__).parents[1] / "lint" / "stablint"
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))

# What the modules of a room may import of stablint besides `base` and their own room, from the bottom up: a room never imports one that stands
# below it in this list. A name with a dot is the one module of a room that may be. `syntax.tree`, `run.fact` and `report.model` are vocabularies.
ALLOWED: dict[str, set[str]] = {
    "base": set(),
    "secrets": set(),
    "syntax": set(),
    "memory": set(),
    "schema": set(),
    "hardware": {"syntax.tree"},
    "models": set(),
    "files": {"secrets", "syntax"},
    "run": {"syntax.tree", "memory"},
    "pins": {"syntax.limits", "run"},
    "frameworks": {"secrets", "syntax", "run"},
    "hazard": {"secrets", "syntax.tree", "syntax.limits", "run"},
    "policy": {"syntax.tree", "files.globs", "hardware", "run", "hazard.model"},
    "assemble": {"syntax", "files", "hardware", "models", "run", "pins", "frameworks", "policy"},
    "report": {"secrets", "syntax.tree", "run.fact", "stablint"},
    "fix": {"syntax", "files", "hardware.gpu", "run", "frameworks", "hazard", "report.model"},
    "suppressions": {"secrets", "syntax", "files.globs", "hazard.model", "policy", "report"},
    "repository": {"syntax", "files", "run", "frameworks", "assemble"},
    "compiling": {"secrets", "syntax", "hardware", "models", "run", "schema", "hazard", "report.progress"},
    "config": {
        "secrets", "syntax", "files", "hardware", "run", "frameworks", "hazard", "policy", "assemble.asked", "report.plain", "suppressions", "compiling",
    },
    "engine": {"secrets", "syntax", "files", "run", "frameworks", "hazard", "policy", "assemble", "report", "fix", "suppressions", "repository", "config"},
    "forms": {"secrets", "syntax.tree", "run", "frameworks", "policy", "assemble.asked", "report", "config", "engine"},
    "fitting": {"syntax.tree", "memory", "run", "report", "fix"},
    "proposing": {"hardware", "memory", "run", "engine", "fitting"},
    "advising": {"syntax", "run", "hazard", "report", "fix", "fitting"},
    "log": {"syntax", "run", "hazard", "report", "engine", "fitting"},
}  # fmt: skip
# Where a check comes in, and what only authors of knowledge use: they import what they need, and nothing else imports them.
DOORS = {"stablint", "cli", "starting", "__main__", "api", "commands", "integrate", "server", "audit"}
# Imports of modules that wait (`base.later`) and lead back: a checkout compiles its knowledge, the script's first module starts the command line,
# and the guard asks the library which settings bring a symptom about.
BACK = {("base", "compiling"), ("cli", "starting"), ("starting", "cli"), ("integrate", "api"), ("stablint", "api")}


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


ROOMS = by(lambda path: room(name_of(path)), name_of, MODULES)


@each(ROOMS)
def test_imports_point_one_way(path):
    here = room(name_of(path))
    if here in DOORS:
        return
    assert here in ALLOWED, f"{here} is a new room: say in ALLOWED what it may import"
    for other in imported(path):
        allowed = room(other) in {here, "base"} | ALLOWED[here] or other.removeprefix("stablint.") in ALLOWED[here]
        assert allowed or (here, room(other)) in BACK, f"{name_of(path)} imports {other}"


def test_no_room_may_import_one_above_it():
    order = ["stablint", *ALLOWED]
    for place, (here, others) in enumerate(ALLOWED.items(), 1):
        assert not {one.partition(".")[0] for one in others} - set(order[:place]), here


def test_the_doors_import_each_other_one_way():
    """`integrate` and `audit` are asked by the commands and the library, these by the command line."""
    order = ["integrate", "audit", "server", "commands", "api", "stablint", "cli", "starting", "__main__"]
    for path in MODULES:
        here = room(name_of(path))
        for other in map(room, imported(path)) if here in DOORS else ():
            if other in DOORS and other != here and (here, other) not in BACK:
                before = order.index(other) < order.index(here) or other == "stablint"
                assert before, f"{name_of(path)} imports {other}"


@each(ROOMS)
def test_nothing_imports_the_doors(path):
    here = room(name_of(path))
    if here not in DOORS:
        assert not {room(other) for other in imported(path)} & (DOORS - {"stablint"}), here


AUTHORS = {"compiling", "audit"}
WRITES = {"print", "print_exc", "print_exception", "print_stack", "warn", "breakpoint"}


def written(path: Path) -> Iterator[str]:
    """Every way by which a module could write to the terminal by itself."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == "sys" and node.attr in ("stdout", "stderr", "__stdout__", "__stderr__"):
                yield f"{node.lineno}: sys.{node.attr}"
            if (node.value.id, node.attr) in {("os", "write"), ("os", "dup2"), ("logging", "basicConfig")}:
                yield f"{node.lineno}: {node.value.id}.{node.attr}"
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name in WRITES and not (isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "exit"):
                yield f"{node.lineno}: {name}(…)"
        if isinstance(node, ast.ImportFrom) and node.module == "sys":
            yield f"{node.lineno}: from sys import …"


@each(ROOMS)
def test_words_leave_by_one_exit(path):
    """What is printed passes `stablint.secrets.exit`, where secrets are masked."""
    found = list(written(path))
    if name_of(path) == "stablint.cli":  # before the streams are guarded, and only how they encode
        found = [one for one in found if "sys.stdout" not in one]
    assert name_of(path) == "stablint.secrets.exit" or not found, found


FILES_WRITTEN_BY = {
    "stablint.secrets.exit": "reports and baselines",
    "stablint.commands.new": "the files of a new configuration, and those of its candidates in a folder for the time being",
    "stablint.commands.init": "a settings file of stablint's own words",
    "stablint.engine.examples": "the files of an example, in a folder for the time being",
    "stablint.syntax.text": "the user's own files, repaired",
}


@each(ROOMS)
def test_reports_are_written_by_one_exit(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "open"
            and room(name_of(path)) not in AUTHORS
        ):
            mode = [
                a.value
                for a in (*node.args[1:2], *(k.value for k in node.keywords if k.arg == "mode"))
                if isinstance(a, ast.Constant)
            ]
            assert not mode or not set(str(mode[0])) & set("wax+") or name_of(path) in FILES_WRITTEN_BY, node.lineno


DRAWN = (PACKAGE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")


def test_every_room_is_described():
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert not [one for one in rooms if f"`{one}/`" not in DRAWN]


@pytest.mark.parametrize(
    "folder", sorted(str(one.parent.relative_to(PACKAGE)) for one in PACKAGE.rglob("*/__init__.py"))
)
def test_each_folder_says_what_comes_in_what_goes_out_and_what_it_must_not_know(folder):
    said = ast.get_docstring(ast.parse((PACKAGE / folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert len(said.splitlines()) >= 3
    assert re.search(r"\bknows?\b", said, re.IGNORECASE), said


def test_what_the_drawing_names_is_there():
    named = re.findall(r"`((?:[a-z]+/)+[\w*]*(?:\.\w+)?|[a-z]+\.py)`", DRAWN)
    assert len(named) > 30
    root = PACKAGE.parents[1]
    assert not [one for one in named if not any(any(top.glob(one.rstrip("/"))) for top in (PACKAGE, root))]
