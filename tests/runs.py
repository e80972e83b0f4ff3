"""Files as text → runs, facts and findings, the way the tests of run/, hazard/ and fix/ ask for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stablint.config.options import options
from stablint.engine.inspect import Inspection, inspect
from stablint.hazard.checked import Checked
from stablint.run.world import Run, World

Files = dict[str, str]


def written(folder: Path, files: Files) -> str:
    """The folder with these files in it, byte for byte."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8"))
    return str(folder)


def inspected(folder: Path, files: Files, **said: Any) -> Inspection:
    """`said`: gpus, model, releases, sets, extra_flags, dialect, as on the command line."""
    base = written(folder, files)
    return inspect([base], options(**said), base=base)


def runs(folder: Path, files: Files, **said: Any) -> tuple[Run, ...]:
    return inspected(folder, files, **said).runs


def world(folder: Path, files: Files, **said: Any) -> World:
    """The only run, under the newest of the releases that are left."""
    (run,) = runs(folder, files, **said)
    return Checked(run).newest


def rules(found: Inspection, *severities: str) -> set[str]:
    """The ids of what was found, of these severities or of all."""
    return {d.rule for d in found.report.diagnostics if not severities or d.severity in severities}
