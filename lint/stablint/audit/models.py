"""Models and cards of which we say something without saying from where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from stablint.audit.doubt import INFO, WARNING, Doubt
from stablint.audit.sayings import line_of


def of_models(root: Path) -> Iterator[Doubt]:
    """Dimensions and sizes come from a checkpoint's own config.json or its page: one of them is named, or a source is."""
    for path in sorted((root / "models").glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        content = yaml.load(text, yaml.CSafeLoader)
        file = path.relative_to(root).as_posix()
        for line in content.get("lines", ()):
            start = line_of(text, f"- name: {line['name']}\n")
            bare = list(_without_checkpoint(line))
            if bare:
                said = f"neither a checkpoint nor a source for its size {', '.join(bare)}"
                yield Doubt("no-evidence", WARNING, file, start, line["name"], said)
        for name, facts in content.get("types", {}).items():
            if not (facts.get("class") or facts.get("custom_code")):
                yield Doubt(
                    "no-evidence",
                    WARNING,
                    file,
                    line_of(text, f"\n  {name}: ") + 1,
                    name,
                    "it names neither the class that it was read from nor that its code is the model's own",
                )


def _without_checkpoint(line: dict[str, Any]) -> Iterator[str]:
    for label, size in line["sizes"].items():
        if not (size.get("checkpoints") or size.get("source") or line.get("source")):
            yield label


def of_cards(root: Path) -> Iterator[Doubt]:
    for path in sorted((root / "gpus").glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        content = yaml.load(text, yaml.CSafeLoader)
        for generation in content.get("generations", ()) if isinstance(content, dict) else ():
            bare = [card["name"] for card in generation.get("cards", ()) if "source" not in card]
            if bare and "source" not in generation:
                yield Doubt(
                    "no-evidence",
                    INFO,
                    path.relative_to(root).as_posix(),
                    line_of(text, f"arch: {generation['arch']}"),
                    generation["arch"],
                    f"no source for {', '.join(bare)}",
                )
