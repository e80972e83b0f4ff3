"""Configurations that a program writes: `json.dump(config, open("ds.json", "w"))`, `Path("c.yaml").write_text(yaml.dump(config))`.

Each is a mapping of the program's own source, under the name of the file that it becomes. What is written behind `trainer.train()` is a record
of what ran, and configures nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablint.syntax.python.names import Names
from stablint.syntax.python.scope import FoundCall, Scope, called_name, dotted, within
from stablint.syntax.python.values import Values
from stablint.syntax.tree import NO_FOLDER, Mapping, Scalar

_INTO = frozenset({"json.dump", "yaml.dump", "yaml.safe_dump"})
_AS_TEXT = frozenset({"json.dumps", "yaml.dump", "yaml.safe_dump"})
_SUFFIXES = (".json", ".yaml", ".yml")


def written(tree: ast.Module, names: Names, values: Values) -> Iterator[tuple[str, Mapping]]:
    """The file's name as spelled, and what is written into it where all of that is known to be a mapping."""
    opened: list[tuple[str, ast.expr, ast.With]] | None = None
    trained: dict[int, int] | None = None  # by the identity of the scope: the line in which it trains
    for found in names.calls:
        data, file = _parts(found)
        if data is None or file is None:
            continue
        trained = _trained(names) if trained is None else trained
        if found.node.lineno > trained.get(id(found.scope), found.node.lineno):
            continue
        if isinstance(file, ast.Name):
            opened = _opened(tree) if opened is None else opened
            file = next(
                (one for name, one, block in reversed(opened) if name == file.id and _in(found.node, block)), file
            )
        path = _path(file, found.scope, values)
        value = values.value(data, found.scope) if path.endswith(_SUFFIXES) else None
        if isinstance(value, Mapping) and value.entries and not value.open:
            yield path, value


def _trained(names: Names) -> dict[int, int]:
    found: dict[int, int] = {}
    for one in names.called("train"):
        parts = dotted(one.node.func)
        if parts is not None and len(parts) > 1 and "trainer" in parts[-2].lower():
            found.setdefault(id(one.scope), one.node.lineno)
    return found


def _opened(tree: ast.Module) -> list[tuple[str, ast.expr, ast.With]]:
    """What `with … as name` names, what it is, and the block in which it is that."""
    return [
        (item.optional_vars.id, item.context_expr, node)
        for node in within(tree)
        if isinstance(node, ast.With)
        for item in node.items
        if isinstance(item.optional_vars, ast.Name)
    ]


def _parts(found: FoundCall) -> tuple[ast.expr | None, ast.expr | None]:
    """What is written, and into what."""
    call, name = found.node, called_name(found.node.func, found.scope)
    if name in _INTO:
        streams = [keyword.value for keyword in call.keywords if keyword.arg in ("fp", "stream")]
        into = call.args[1] if len(call.args) > 1 else streams[0] if streams else None
        return (call.args[0] if call.args else None), into
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("write", "write_text") and call.args:
        text = call.args[0]
        if isinstance(text, ast.Call) and text.args and called_name(text.func, found.scope) in _AS_TEXT:
            return text.args[0], call.func.value
    return None, None


def _in(node: ast.expr, block: ast.With) -> bool:
    return (block.lineno, block.col_offset) <= (node.lineno, node.col_offset) and node.lineno <= (block.end_lineno or 0)


def _path(node: ast.expr, scope: Scope, values: Values) -> str:
    """Of `open("name")`, `Path("name")`, `Path("name").open()`, or of a name that holds one of them; of `folder / "name"` and
    `os.path.join(folder, "name")` the name, wherever the folder is."""
    folder = ""
    for _ in range(6):
        if isinstance(node, ast.Name):
            found = scope.find(node.id)
            bound = found[1][0].value if found is not None and len(found[1]) == 1 else None
            if not isinstance(bound, (ast.Call, ast.BinOp)):
                break
            node = bound
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            node, folder = node.right, f"{NO_FOLDER}/"
            continue
        if not isinstance(node, ast.Call):
            break
        if called_name(node.func, scope) == "os.path.join" and node.args:
            node, folder = node.args[-1], f"{NO_FOLDER}/"
            continue
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr == "open"
            and isinstance(node.func.value, (ast.Call, ast.Name))
        ):
            node = node.func.value
        elif node.args and called_name(node.func, scope).rpartition(".")[2] in ("open", "Path"):
            node = node.args[0]
        else:
            return ""
    value = values.value(node, scope)
    return folder + value.value if isinstance(value, Scalar) and isinstance(value.value, str) else ""
