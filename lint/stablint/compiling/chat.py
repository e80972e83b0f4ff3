"""knowledge/chat_marks.yaml and templates.yaml → chat.json: what marks a turn, by template and by chat model."""

from __future__ import annotations

from pathlib import Path

from stablint.compiling.reading import read_yaml

READS = ("chat_marks.yaml", "templates.yaml")

_OF_BASE_MODELS = "default"


def compile_chat(root: Path) -> dict[str, object]:
    """`templates`: the marks of each; `models`: by the last part of a chat model's name, in small letters, the marks of its own format.

    Raises ValueError for a model's template that has no row of marks.
    """
    marks = read_yaml(root / "chat_marks.yaml")
    models: dict[str, list[str]] = {}
    for template, names in read_yaml(root / "templates.yaml").items():
        if template not in marks:
            raise ValueError(f"chat_marks.yaml: no row for {template}")
        if template != _OF_BASE_MODELS:
            models |= {name.rpartition("/")[2].lower(): marks[template] for name in names}
    return {"chat": {"templates": marks, "models": models}}
