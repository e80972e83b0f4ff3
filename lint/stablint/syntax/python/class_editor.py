"""Write into Python source what is about a whole call: another class, the import that it needs; and what an argument is as it is written."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stablint.syntax.python.parse import parse
from stablint.syntax.python.places import Places
from stablint.syntax.tree import Document, Edit, Entry


def retype(document: Document, entry: Entry, old: str, new: str) -> Edit | None:
    """The call that an argument belongs to becomes one of another class. None where it is not called by its plain name."""
    source = document.text.text
    for call, places in _calls(source):
        if any(keyword.arg and places.start(keyword) == entry.key_start for keyword in call.keywords):
            if not isinstance(call.func, ast.Name) or call.func.id != old:
                return None
            return Edit(places.start(call.func), places.end(call.func), new)
    return None


def imported(document: Document, entry: Entry, package: str, name: str) -> Edit | None:
    """The name joins the names that are imported from the package, behind the last one; an edit of nothing where it is among them."""
    source = document.text.text
    tree = parse(source)
    if not isinstance(tree, ast.Module):
        return None
    places = Places(source)
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom) or node.module != package or node.level:
            continue
        if places.start(node) > entry.key_start:
            return None  # a later cell, or a line behind the call: the name is not there yet
        if any(alias.name in (name, "*") and alias.asname is None for alias in node.names):
            at = places.start(node)
            return Edit(at, at, "")
        end = places.end(node.names[-1])
        return Edit(end, end, f", {name}")
    return None


def argument(document: Document, entry: Entry) -> str | None:
    """The value of an argument as it is written in the call."""
    source = document.text.text
    for call, places in _calls(source):
        for keyword in call.keywords:
            if keyword.arg and places.start(keyword) == entry.key_start:
                return source[places.start(keyword.value) : places.end(keyword.value)]
    return None


def _calls(source: str) -> Iterator[tuple[ast.Call, Places]]:
    tree = parse(source)
    if isinstance(tree, ast.Module):
        places = Places(source)
        yield from ((node, places) for node in ast.walk(tree) if isinstance(node, ast.Call))
