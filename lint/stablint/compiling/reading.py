"""How the files of knowledge/ and of a house are read: YAML by libyaml where PyYAML brings it, without aliases where anybody may be the author."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from stablint.base import consulted
from stablint.syntax import text as source_text
from stablint.syntax.yaml.error import is_nesting

LARGEST = 200_000
"""Bytes of the largest file of a hazard or an advice that is read; ours have a tenth of it."""

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(path: Path) -> Any:
    """The content of a YAML file of ours. Raises yaml.YAMLError."""
    return yaml.load(path.read_text(encoding="utf-8"), LOADER)


def read_plain(path: Path, name: str, root: str | None = None) -> Any:
    """YAML without aliases; with `root`, of a file that does not lead out of it. Raises ValueError that names the file."""
    return plain(text_of(path, name, root), name)


def text_of(path: Path, name: str, root: str | None) -> str:
    """The text of a file of at most LARGEST bytes; with `root`, of one that does not lead out of it. Raises ValueError that names the file."""
    if root is not None and not source_text.is_inside(str(path), root):
        raise ValueError(f"{name}: a link that leads out of {os.path.basename(root) or root}")
    consulted.note(str(path))
    content = source_text.read(str(path), name, LARGEST)
    if isinstance(content, source_text.Unreadable):
        raise ValueError(f"{name}: {content.problem.message}")
    return content.text


def plain(text: str, name: str) -> Any:
    """YAML without aliases: nine of them can stand for a thousand million nodes, and no hazard needs one. Raises ValueError that names the file."""
    try:
        wrong = unwanted(text)
        if wrong is None:
            return yaml.load(text, LOADER)
    except yaml.MarkedYAMLError as error:
        if is_nesting(error):
            raise ValueError(f"{name}: {TOO_DEEP}") from error
        raise ValueError(f"{name}{_place(error.problem_mark)}: no YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError) as error:  # a character that YAML does not take, a date that is none
        raise ValueError(f"{name}: no YAML that can be read") from error
    raise ValueError(f"{name}{wrong}")


DEEPEST = 100  # libyaml's tree is built by recursion in C, which ends the process where Python's would raise
TOO_DEEP = "nested too deep"


def unwanted(text: str) -> str | None:
    """What of YAML no hazard needs, and its place. Raises yaml.YAMLError."""
    depth = 0
    for event in yaml.parse(text, LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                return f": {TOO_DEEP}"
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            return f"{_place(event.start_mark)}: no YAML: an alias: write it out"
    return None


def _place(mark: Any) -> str:
    return f":{mark.line + 1}:{mark.column + 1}" if mark is not None else ""
