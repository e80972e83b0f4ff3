"""Commands of workflows that run on a forge: the steps of GitHub's jobs, the scripts of GitLab's.

What `${{ … }}` and `$[[ … ]]` stand for is known when the workflow runs (GitHub: Workflow syntax; GitLab: CI/CD YAML syntax reference).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.syntax import limits
from stablint.syntax.embedded import Builder, Parse, end_in_file, start_in_file
from stablint.syntax.embedded import documents as documents_of
from stablint.syntax.recipes.workload import HOST, UNKNOWN, export, mapping_at, take, text_at
from stablint.syntax.tree import Document, Mapping, Node, Scalar, Sequence, Text, View

_LATER = re.compile(r"\$\{\{[^{}\n]*\}\}|\$\[\[[^\[\]\n]*\]\]")
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_SHELLS = frozenset({"bash", "sh", "zsh"})


def documents(text: Text, found: tuple[Document, ...], parse: Parse) -> tuple[Document, ...]:
    """The documents of a workflow, behind them what its steps tell a shell."""
    more: list[Document] = []
    told: list[Document] = []
    for document in found:
        spent = limits.Spent()
        if isinstance(document.root, Mapping):
            for number, view in enumerate(_views(text.text, document.root)):
                if number >= limits.STEPS.most:
                    at = view.pieces[-1].at if view.pieces else 0
                    spent.reached(limits.STEPS, at, at)
                    break
                more += documents_of(text, view, "shell", len(found) + len(more), parse)
        told.append(spent.told_of(document))
    return (*told, *more)


def _views(source: str, root: Mapping) -> Iterator[View]:
    jobs = mapping_at(root, "jobs")
    if jobs is not None:
        for entry in jobs.entries:
            if isinstance(entry.value, Mapping):
                yield from _of_github(source, root, entry.value)
        return
    default = mapping_at(root, "default")
    for entry in root.entries:
        script = _member(entry.value, "script") if isinstance(entry.value, Mapping) else None
        if script is not None and isinstance(entry.value, Mapping):
            before = _member(entry.value, "before_script") or _member(default, "before_script")
            lines = [*_lines(before or _member(root, "before_script")), *_lines(script)]
            variables = [mapping_at(root, "variables"), mapping_at(entry.value, "variables")]
            if lines:
                yield _view(source, variables, lines, "")


def _of_github(source: str, root: Mapping, job: Mapping) -> Iterator[View]:
    steps = _member(job, "steps")
    for step in steps.items if isinstance(steps, Sequence) else ():
        run = _member(step, "run") if isinstance(step, Mapping) else None
        if not isinstance(run, Scalar) or not isinstance(run.value, str) or not isinstance(step, Mapping):
            continue
        defaults = [mapping_at(mapping_at(one, "defaults"), "run") for one in (job, root)]
        shell = next(filter(None, (text_at(one, "shell") for one in (step, *defaults))), "bash")
        folder = next(filter(None, (text_at(one, "working-directory") for one in (step, *defaults))), "")
        if shell.split()[0].rpartition("/")[2] in _SHELLS:
            yield _view(source, [mapping_at(one, "env") for one in (root, job, step)], [run], folder)


def _view(source: str, variables: list[Mapping | None], lines: list[Scalar], folder: str) -> View:
    builder = Builder()
    first = lines[0].start
    for given in variables:
        for entry in given.entries if given is not None else ():
            value = entry.value
            if _NAME.match(entry.key) and isinstance(value, Scalar) and "$" not in str(value.value):
                if "'" not in str(value.value):
                    export(builder, entry.key, source, value, "'", "'")
    if folder:
        builder.put(f"cd '{folder}'\n" if "'" not in folder and "$" not in folder else f"cd {UNKNOWN}\n", first, first)
    for line in lines:
        take(builder, source, line)
        builder.put("\n", line.end, line.end)
    return _without_later(builder.view(HOST))


def _without_later(view: View) -> View:
    """What is filled in when the workflow runs is unknown."""
    if "$" not in view.source:
        return view
    builder, at = Builder(), 0
    for found in _LATER.finditer(view.source):
        builder.take(view.source, view.pieces, at, found.start())
        start = start_in_file(view, found.start())
        builder.put(UNKNOWN, start, max(start, end_in_file(view, found.end())))
        at = found.end()
    builder.take(view.source, view.pieces, at, len(view.source))
    return builder.view(HOST)


def _lines(node: Node | None) -> list[Scalar]:
    if isinstance(node, Sequence):
        return [one for item in node.items for one in _lines(item)]
    return [node] if isinstance(node, Scalar) and isinstance(node.value, str) else []


def _member(node: Node | None, key: str) -> Node | None:
    return node.get(key) if isinstance(node, Mapping) else None
