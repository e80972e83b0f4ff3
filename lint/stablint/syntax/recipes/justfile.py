"""A justfile → the lines that its shells are told, with the file's own variables filled in.

Each line of a recipe goes to a shell of its own; a recipe whose first line is `#!` of a shell is one script. A parameter has its default unless
whoever calls says another (just 1.40 manual: Recipe Parameters, Shebang Recipes).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.syntax import limits
from stablint.syntax.embedded import Builder, Parse
from stablint.syntax.recipes.workload import HOST, PLAIN, UNKNOWN, told_to_shells
from stablint.syntax.tree import Document, Text, View

_ASSIGNS = re.compile(r"(?P<export>export[ \t]+)?(?P<name>[A-Za-z_][\w-]*)[ \t]*:=[ \t]*(?P<value>[^\n]*)")
_RECIPE = re.compile(r"@?[A-Za-z_][\w-]*(?![\w-])(?P<parameters>(?:[^:\"'\n]|\"[^\"\n]*\"|'[^'\n]*')*):(?!=)")
_PARAMETER = re.compile(r"[+*$]{0,3}([A-Za-z_][\w-]*)(?:[ \t]*=[ \t]*(?:\"([^\"\n\\]*)\"|'([^'\n]*)'|(\S+)))?")
_LITERAL = re.compile(r"\"([^\"\n\\]*)\"|'([^'\n]*)'")
_HOLE = re.compile(r"\{\{([^{}\n]*)\}\}")
_SHELL = re.compile(r"#![^\n]*\b(?:bash|sh|zsh|dash)\b")

Value = tuple[int, int, bool]  # where its text stands, and whether the caller may say another


def documents(text: Text, parse: Parse) -> tuple[Document, ...]:
    return told_to_shells(text, "just", _views, parse)


def _views(source: str, spent: limits.Spent) -> Iterator[View]:
    variables: dict[str, Value] = {}
    exported: list[str] = []
    recipes: list[tuple[dict[str, Value], list[tuple[int, int]]]] = []
    at = 0
    while at < len(source):
        end = source.find("\n", at)
        end = len(source) if end < 0 else end
        line = source[at:end]
        if line[:1] in " \t":
            if recipes and line.strip():
                recipes[-1][1].append((at, end))
        elif assigns := _ASSIGNS.match(source, at, end):
            value = _LITERAL.fullmatch(assigns["value"].strip())
            if value is not None:
                start = assigns.start("value") + 1
                variables[assigns["name"]] = (start, start + len(value[1] or value[2] or ""), False)
                if assigns["export"]:
                    exported.append(assigns["name"])
        elif line.strip() and line[:1] not in "#[" and (recipe := _RECIPE.match(source, at, end)):
            recipes.append((_parameters(source, recipe.start("parameters"), recipe.end("parameters")), []))
        at = end + 1
    told = 0
    for parameters, lines in recipes:
        if not lines:
            continue
        first = source[slice(*lines[0])].strip()
        if first.startswith("#!"):
            groups = [lines[1:]] if _SHELL.match(first) else []
        else:
            groups = list(_continued(source, lines))
        for group in filter(None, groups):
            told += 1
            if told > limits.LINES.most:
                spent.reached(limits.LINES, *lines[0])
                return
            yield _view(source, group, {**variables, **parameters}, exported, first.startswith("#!"))


def _parameters(source: str, start: int, end: int) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for one in _PARAMETER.finditer(source, start, end):
        group = next((number for number in (2, 3, 4) if one[number] is not None), 0)
        found[one[1]] = (one.start(group), one.end(group), True) if group else (end, end, True)
    return found


def _continued(source: str, lines: list[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    group: list[tuple[int, int]] = []
    for start, end in lines:
        group.append((start, end))
        if source[end - 1] != "\\":
            yield group
            group = []
    yield group


def _view(
    source: str, lines: list[tuple[int, int]], values: dict[str, Value], exported: list[str], script: bool
) -> View:
    builder = Builder()
    for name in exported:
        start, end, _ = values[name]
        if PLAIN.match(source[start:end]):
            builder.put(f"export {name}='", start, start)
            builder.keep(source[start:end], start)
            builder.put("'\n", end, end)
    for number, (begin, end) in enumerate(lines):
        start = begin
        while start < end and source[start] in (" \t" if script or number else " \t@-"):
            start += 1
        at = start
        for hole in _HOLE.finditer(source, start, end):
            builder.keep(source[at : hole.start()], at)
            _fill(builder, source, hole, values)
            at = hole.end()
        builder.keep(source[at:end], at)
        builder.put("\n", end, end)
    return builder.view(HOST)


def _fill(builder: Builder, source: str, hole: re.Match[str], values: dict[str, Value]) -> None:
    name = hole[1].strip()
    value = values.get(name)
    if value is None:
        builder.put(UNKNOWN, *hole.span())
        return
    start, end, callers = value
    if not callers:
        builder.keep(source[start:end], start)
    elif start < end and PLAIN.match(source[start:end]):
        builder.put(f"${{{name.replace('-', '_')}:-", start, start)
        builder.keep(source[start:end], start)
        builder.put("}", end, end)
    else:
        builder.put(UNKNOWN, *hole.span())
