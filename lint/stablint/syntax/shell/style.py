"""How a script writes its flags, so that a new one looks like its neighbours."""

from __future__ import annotations

from stablint.syntax.tree import Document, Entry, Mapping, Scalar, Script


def like_neighbours(key: str, flags: Mapping) -> str:
    """A new flag's name with `-` or `_`, as the command writes its others."""
    keys = [entry.key for entry in flags.entries]
    if any("-" in other for other in keys) and not any("_" in other for other in keys):
        return key.replace("_", "-")
    return key


def has(flags: Mapping, key: str) -> bool:
    """Whether a command has a flag already, in either spelling."""
    wanted = key.replace("-", "_")
    return any(entry.key.replace("-", "_") == wanted for entry in flags.entries)


def explicit_switches(flags: Mapping) -> bool:
    """Whether a command writes truth values out."""
    return any(
        isinstance(e.value, Scalar) and isinstance(e.value.value, bool) and e.value.form != "flag"
        for e in flags.entries
    )


def bare_switches(flags: Mapping) -> bool:
    """Whether a command turns things on by their name alone."""
    return not explicit_switches(flags) and any(
        isinstance(e.value, Scalar) and e.value.form == "flag" for e in flags.entries
    )


def writes_lower(document: Document, entry: Entry) -> bool:
    """Whether a command writes `true` rather than `True`."""
    source, root = document.text.text, document.root
    for command in root.commands if isinstance(root, Script) else ():
        if any(other.key_start == entry.key_start for other in command.flags.entries):
            for other in command.flags.entries:
                if (
                    isinstance(other.value, Scalar)
                    and isinstance(other.value.value, bool)
                    and other.value.form != "flag"
                ):
                    return source[other.value.start : other.value.end].strip("'\"")[:1].islower()
    return False
