"""Imports point one way: source ← dialect, run, target ← hazard ← fix ← report and the doors (DESIGN §1)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.grouped import by, each

PACKAGE = Path(__file__).parents[1] / "lint" / "stablint"
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))

# What the modules of a room may import of stablint, besides their own room. `knowledge` is the compiled data. `source.tree`, `run.fact` and
# `report.model` are vocabularies: tuples without behaviour; `record` is what they are made of, `pattern` a
# re.compile that waits, `typed` what annotations are written with.
ALLOWED = {
    "record": set(),
    "pattern": set(),
    "typed": set(),
    "secrets": {"knowledge"},  # the words of the libraries
    "source": {"knowledge"},  # the words that start a training run
    "knowledge": {"compile"},
    "language": {"knowledge"},
    "memory": set(),
    "run": {"source", "target", "memory", "knowledge"},
    "target": {"source", "run", "knowledge"},
    "dialect": {"source", "run", "knowledge", "secrets"},
    "discover": {"language", "source"},
    "pins": {"run"},
    "locks": {"run", "pins"},
    "faults": {"source.tree", "secrets"},
    "assemble": {"source", "faults", "discover", "dialect", "run", "target", "locks", "pins", "policy", "knowledge"},
    "hazard": {"source.tree", "source.limits", "run", "target", "knowledge", "language", "secrets"},
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
        "target.gpu",
        "knowledge",
        "language",
    },
    "report": {"source.tree", "run.fact", "stablint", "secrets", "language"},
    "rooted": {"discover", "source", "report"},
    "grouping": {"source", "faults", "run", "hazard", "fix", "report", "secrets", "language"},
    "referrers": {"discover"},
    "repository": {"discover", "assemble", "run"},
    "computed": set(),
    "readers": {"computed", "referrers", "repository", "assemble", "dialect", "run", "source"},
    "changers": {"referrers", "repository", "assemble", "source"},
    "importers": {"discover", "referrers", "repository", "assemble", "run", "source"},
    "worth": {"discover", "source.tree"},
    # Accepted findings: in comments, in settings, in a baseline.
    "policy": {"source", "hazard.model", "target.gpu"},
    "rulebook": {"policy", "hazard.model", "run"},
    "comments": {"source"},
    "directives": {"source", "comments", "report"},
    "baseline": {"report", "secrets"},
    "unused": {"language", "source", "directives", "policy", "hazard", "report"},
    "suppress": {"source", "comments", "directives", "policy", "baseline", "unused", "hazard", "report"},
    "judging": {"source", "faults", "assemble", "hazard", "run", "rulebook"},
    "dividing": {
        "discover",
        "assemble",
        "faults",
        "hazard",
        "report.model",
        "secrets",
        "source.limits",
        "grouping",
        "inspect",
    },
    "inspect": {
        "faults",
        "judging",
        "dividing",
        "source",
        "discover",
        "referrers",
        "readers",
        "changers",
        "importers",
        "worth",
        "dialect",
        "run",
        "assemble",
        "hazard",
        "grouping",
        "report",
        "policy",
        "suppress",
        "secrets",
    },
    "stablint": {"api"},
    # Authors' side: never on the path of a check.
    "schema": set(),
    "fitting": {"source.tree", "language", "run", "memory", "fix", "report", "knowledge"},
    "proposing": {"language", "fitting", "memory", "run", "target", "inspect", "knowledge"},
    "advising": {"source", "language", "run", "fitting", "fix", "hazard", "report", "knowledge"},
    "log": {"knowledge", "language", "source", "run", "hazard", "fitting", "report", "inspect"},
    "compile": {"compiling", "report", "secrets"},
    "compiling": {"schema", "source", "dialect", "run", "target", "hazard"},
}
# The command line, the library and its live objects: they import what they need, and nothing imports them.
DOORS = {
    "cli", "arguments", "commands", "checking", "showing", "in_words", "options", "launching", "comparing", "migrating", "forecasting", "diagnosing",
    "counselling", "creating", "keyschema", "completion", "configured", "log_repairing", "watching", "server",
    "doctoring", "outputs", "project", "selection",
    "accepting", "repairing", "settings", "conform", "house", "initialise", "audit", "api", "integrate", "__main__", "starting", "trust",
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


ROOMS = by(lambda path: room(name_of(path)), name_of, MODULES)


@each(ROOMS)
def test_imports_point_one_way(path):
    here = room(name_of(path))
    if here in DOORS:
        return
    assert here in ALLOWED, f"{here} is a new room: say in ALLOWED what it may import"
    for other in imported(path):
        allowed = (
            room(other) in {here, "record", "pattern", "typed"} | ALLOWED[here]
            or other.removeprefix("stablint.") in ALLOWED[here]
        )
        assert allowed, f"{name_of(path)} imports {other}"


@each(ROOMS)
def test_nothing_imports_the_doors(path):
    if room(name_of(path)) not in DOORS | {"stablint"}:
        assert not {room(other) for other in imported(path)} & DOORS


AUTHORS = {
    "compile",
    "compiling",
    "audit",
    "knowledge",
    "initialise",
}  # knowledge, and a settings file of stablint's own words
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
    "stablint.creating": "the files of a new configuration, and those of its candidates in a folder for the time being",
    "stablint.house": "the files of an example, in a folder for the time being",
    "stablint.source.text": "the user's own files, repaired",
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
    assert not [one for one in rooms if not ast.get_docstring(ast.parse((PACKAGE / one / "__init__.py").read_text()))]


def test_what_the_drawing_names_is_there():
    named = re.findall(r"`((?:[a-z]+/)+[\w*]*(?:\.\w+)?|[a-z]+\.py)`", DRAWN)
    assert len(named) > 30
    root = PACKAGE.parents[1]
    assert not [one for one in named if not any(any(top.glob(one.rstrip("/"))) for top in (PACKAGE, root))]
