"""The words of the libraries: names of settings, and the parts of their names and values. What is neither may be anybody's secret."""

from __future__ import annotations

import re
from pathlib import Path

_SOURCES = (
    "releases/*.json",
    "keys/*",
    "words.json",
    "frameworks.yaml",
    "models/*",
    "gpus/*",
    "shipped.yaml",
    "knobs.yaml",
    "launchers.yaml",
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PROSE = re.compile(r"[A-Za-z]{3,}")
_PART = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}")


def compile_vocabulary(sources: Path) -> dict[str, object]:
    names: set[str] = set()
    for pattern in _SOURCES:
        for path in sorted(sources.glob(pattern)):
            if path.is_file():
                names.update(_NAME.findall(path.read_text(encoding="utf-8")))
    parts = {part.lower() for name in names for part in _PART.findall(name) if len(part) > 2}
    settings = {name for name in names if "_" in name.strip("_") and name == name.lower() and len(name) < 60}
    prose = {
        word.lower()
        for pattern in ("hazards/**/*.yaml", "advice/**/*.yaml", "messages/**/*.yaml")
        for path in sorted(sources.glob(pattern))
        for word in _PROSE.findall(path.read_text(encoding="utf-8"))
    }
    return {
        "vocabulary": {
            "words": " ".join(sorted(parts)),
            "settings": " ".join(sorted(settings)),
            "prose": " ".join(sorted(prose - parts)),
        }
    }
