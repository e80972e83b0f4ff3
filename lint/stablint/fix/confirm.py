"""An independent reader's word on a rewrite: ruamel.yaml and json see the same keys, values and comments as before, but for what was edited,
and Python compiles what it compiled.

ruamel reads some 30 KB a second. What is longer than any configuration that people write is read by libyaml, whose events our own reader
has, and so are texts whose lines end as they do in YAML 1.1 alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from io import StringIO
from typing import Any

from stablint.base.libraries import ruamel_yaml, warnings, yaml
from stablint.syntax.limits import CONFIRMED, DEEPEST
from stablint.syntax.tree import MARK, Edit, Text

Path = tuple[Any, ...]

_ENDS_OF_OLD = (
    "\x85\u2028\u2029"  # lines end there in YAML 1.1, which frameworks read, and not in 1.2, which ruamel reads
)


def objection(before: Text, after: str, edits: list[Edit]) -> str:
    """Why the rewrite must not be written; empty where there is nothing against it."""
    suffix = before.path.rpartition(".")[2].lower()
    if suffix == "ipynb":
        return _notebook(before.text, after)
    if suffix == "json":
        return _json(before.text, after, _most(before.text, edits))
    if suffix in ("yaml", "yml"):
        return _yaml(before.text, after, edits)
    if suffix == "py":
        return _python(before.text, after)
    return ""


def _python(before: str, after: str) -> str:
    """What this Python compiled, it must compile still: a keyword that stands twice in one call is told by nothing else."""
    return "it would not be Python any more" if _compiles(before) and not _compiles(after) else ""


def _compiles(source: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def _json(before: str, after: str, most: int) -> str:
    try:
        old = json.loads(before)
    except ValueError:
        return ""  # comments or commas that json refuses: nothing to compare with
    try:
        new = json.loads(after)
    except ValueError:
        return "it would not be JSON any more"
    return _changes(old, new, most)


def _notebook(before: str, after: str) -> str:
    """Nothing but the sources of code cells may differ."""
    try:
        old = json.loads(before)
    except ValueError:
        return ""  # as in `_json`
    try:
        new = json.loads(after)
    except ValueError:
        return "it would not be JSON any more"
    if len(_cells(old)) != len(_cells(new)):
        return "the cells would be others"
    for was, now in zip(_cells(old), _cells(new), strict=True):
        if was.get("cell_type") == "code" and (why := _python(_source(was), _source(now))):
            return why
    for notebook in (old, new):
        for cell in _cells(notebook):
            if cell.get("cell_type") == "code":
                cell["source" if "source" in cell else "input"] = None
    return "" if repr(old) == repr(new) else "more than the source of cells would change"


def _source(cell: dict[str, Any]) -> str:
    said = cell.get("source", cell.get("input"))
    return "".join(part for part in said if isinstance(part, str)) if isinstance(said, list) else str(said)


def _cells(notebook: Any) -> list[dict[str, Any]]:
    """Of nbformat 4, and of 2 and 3, where they stand in worksheets. What is no cell, a broken notebook's, is compared as it is."""
    sheets = [notebook, *_mappings(_of(notebook, "worksheets"))]
    return [cell for sheet in sheets for cell in _mappings(_of(sheet, "cells"))]


def _of(holder: Any, key: str) -> Any:
    return holder.get(key) if isinstance(holder, dict) else None


def _mappings(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _yaml(before: str, after: str, edits: list[Edit]) -> str:
    old = _nodes(before)
    if old is None:
        return ""
    new = _nodes(after)
    if new is None:
        return "it would not be YAML any more"
    lost = Counter(_comments(before)) - Counter(_comments(after))
    removed = sum(max(0, before[edit.start : edit.end].count("#") - edit.new_text.count("#")) for edit in edits)
    if sum(lost.values()) > removed + len({line for edit in edits if (line := _of_ours(before, edit)) is not None}):
        return "a comment would be lost"
    return _differing(old, new, _most(before, edits))


@lru_cache(maxsize=256)  # what one round writes is what the next one begins with
def _nodes(text: str) -> dict[Path, Any] | None:
    """Every leaf of every document as it is written: no tag is constructed, whatever it names. None for what is no YAML."""
    if len(text) > CONFIRMED.most or any(end in text for end in _ENDS_OF_OLD):
        return _nodes_by_libyaml(text)
    reader = ruamel_yaml.YAML(typ="safe", pure=True)
    try:
        return dict(_written(list(reader.compose_all(StringIO(text)))))
    except (ruamel_yaml.error.YAMLError, ValueError, NotImplementedError):
        return None


def _nodes_by_libyaml(text: str) -> dict[Path, Any] | None:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    try:
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:  # libyaml's composer calls itself for every level
                return None
        return dict(_written(list(yaml.compose_all(text, Loader=loader))))
    except (yaml.YAMLError, ValueError):
        return None


def _written(documents: list[Any]) -> Iterator[tuple[Path, Any]]:
    """A list of plain values is one setting; of a key that is there twice the last one counts; an alias is a leaf."""
    seen: dict[int, Path] = {}
    pending: list[tuple[Path, Any]] = [((number,), node) for number, node in enumerate(documents)]
    while pending:
        where, node = pending.pop()
        if node is None or isinstance(node.value, str):
            yield where, node and (node.tag, node.value)
        elif id(node) in seen:
            yield where, seen[id(node)]
        elif node.value and isinstance(node.value[0], tuple):
            seen[id(node)] = where
            keyed = {}
            for number, (key, inner) in enumerate(node.value):
                plain = isinstance(key.value, str)
                step = (*where, key.value if plain else number)
                keyed[step] = inner
                if not plain:  # a mapping or a list as a key
                    pending.append(((*where, number, "?"), key))
            pending += keyed.items()
        elif any(not isinstance(inner.value, str) for inner in node.value):
            seen[id(node)] = where
            pending += [((*where, number), inner) for number, inner in enumerate(node.value)]
        else:
            yield where, (node.tag, [(inner.tag, inner.value) for inner in node.value])


def _comments(text: str) -> Iterator[str]:
    """What stands behind ` #` on each line: quoted hashes are counted on both sides alike."""
    for line in text.splitlines():
        head, mark, comment = line.partition("#")
        if mark and (not head or head[-1].isspace()):
            yield comment.strip()


def _of_ours(before: str, edit: Edit) -> int | None:
    """Where the line begins whose suppression the edit changes."""
    begins = before.rfind("\n", 0, edit.start) + 1
    line = before[begins : edit.start]
    return begins if "#" in line and MARK in line.rpartition("#")[2] else None


def _most(before: str, edits: list[Edit]) -> int:
    """How many leaves the edits may change: three for an edit (a renamed key is two), or as many as there are keys and items in what it takes out
    and puts in, if that is a block.
    """
    return sum(max(3, 1 + _parts(before[edit.start : edit.end]) + _parts(edit.new_text)) for edit in edits)


def _parts(text: str) -> int:
    return sum(map(text.count, ":,\n"))


def _changes(old: Any, new: Any, most: int) -> str:
    return _differing(dict(_leaves(old)), dict(_leaves(new)), most)


def _differing(before: dict[Path, Any], after: dict[Path, Any], most: int) -> str:
    differing = {path for path in before.keys() | after.keys() if repr(before.get(path)) != repr(after.get(path))}
    if len(differing) > most:
        renamed = Counter(_only_in(before, after)) & Counter(_only_in(after, before))
        most += sum(2 * len(block) - 2 for _, block in renamed.elements())  # one key is gone, and one has come
    return "" if len(differing) <= most else "more than the edited settings would change"


def _only_in(leaves: dict[Path, Any], others: dict[Path, Any]) -> Iterator[tuple[Path, tuple[tuple[Path, str], ...]]]:
    """Where each largest block stands of which the others have nothing, and its leaves; their paths from the block's own key on."""
    known = {path[:length] for path in others for length in range(len(path) + 1)}
    blocks: dict[Path, list[tuple[Path, str]]] = {}
    for path, value in leaves.items():
        length = next((length for length in range(1, len(path) + 1) if path[:length] not in known), 0)
        if length:
            blocks.setdefault(path[:length], []).append((path[length:], repr(value)))
    return ((place[:-1], tuple(sorted(block, key=repr))) for place, block in blocks.items())


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """A list of plain values is one setting, which an edit exchanges whole."""
    pending = [(path, value)]
    while pending:
        where, current = pending.pop()
        if isinstance(current, dict) and current:
            pending += [((*where, str(key)), inner) for key, inner in current.items()]
        elif isinstance(current, list) and any(isinstance(inner, (dict, list)) for inner in current):
            pending += [((*where, number), inner) for number, inner in enumerate(current)]
        else:
            yield where, current
