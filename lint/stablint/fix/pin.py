"""Defaults that another release changed, written down with their old values, so that a run stays what it was."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from stablint.fix.change import edits
from stablint.fix.editors import Change, Impossible
from stablint.report.model import FileEdits
from stablint.run.world import Run
from stablint.syntax import limits
from stablint.syntax.tree import Edit, Text


class Default(NamedTuple):
    """A setting that nobody states: its value before, and the release (`trl 0.24.0`) that had it as its default."""

    fact: str
    value: object
    release: str


class Pinned(NamedTuple):
    """One default as edits; none, and why, where the text cannot take it."""

    default: Default
    files: tuple[FileEdits, ...]
    why: str = ""


def pin(run: Run, defaults: Iterable[Default], purse: limits.Purse) -> list[Pinned]:
    """Each default as a new setting of the run."""
    done = []
    beside = next((name for name in reversed(list(run.explicit)) if name.startswith("training.")), "")
    for default in defaults:
        try:
            files = edits(run, beside, [Change(default.fact, default.value)], purse)
        except Impossible as why:
            done.append(Pinned(default, (), str(why)))
            continue
        done.append(Pinned(default, tuple(_commented(file, default) for file in files)))
    return done


def _commented(file: FileEdits, default: Default) -> FileEdits:
    """The line says why it is there, in texts whose lines can carry a comment."""
    comment = f"  # the default of {default.release}"
    return file._replace(edits=tuple(_with(edit, comment, file.text) for edit in file.edits))


def _with(edit: Edit, comment: str, text: Text) -> Edit:
    kind = text.name.rpartition(".")[2].lower()
    line = edit.new_text.strip("\r\n")
    if kind not in ("yaml", "yml", "py") or not line.strip() or "\n" in line or line == edit.new_text:
        return (
            edit  # JSON has no comments, a continued command cannot hold one, and a value inside a line is not a line
        )
    at = edit.new_text.index(line) + len(line)
    return edit._replace(new_text=edit.new_text[:at] + comment + edit.new_text[at:])
