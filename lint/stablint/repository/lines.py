"""Programs by their text alone: where a line stands, in which function, in a branch of which option, and who calls that function."""

from __future__ import annotations

import os
import re

_DECIDES = re.compile(
    r"lora|peft|adapt|tun|method|mode(?!l)|type|quant|bit|full|freez|frozen|strateg|stage|use_|enable|flag|debug|args|cfg|config|opt",
    re.IGNORECASE,
)

# Whole texts are gone through, so that what closes one opens none: a prompt's last line is `"""` as well.
_NOT_RUN = re.compile(
    r"""^[ \t]*#[^\n]*$|(?P<own>^[ \t]*[rRuU]?)?(?P<marks>\"{3}|'{3})[\s\S]*?(?P=marks)""", re.MULTILINE
)


def uncommented(text: str) -> str:
    """Without lines of comments and texts that stand for themselves."""
    return _NOT_RUN.sub(lambda one: one[0] if one["marks"] and one["own"] is None else "", text)


def plainest(programs: list[str]) -> str | None:
    """The one that others are called after: `main_weighted.py` is another one beside `main.py`."""
    first, *others = sorted(programs, key=len)
    stem = os.path.splitext(first)[0]
    return first if all(one.startswith(f"{stem}_") for one in others) else None


def function_at(text: str, at: int) -> str:
    """The function that a line stands in."""
    found = list(re.finditer(r"^[ \t]*def[ \t]+(\w+)", text[:at], re.MULTILINE))
    return found[-1][1] if found else ""


def calls_of(name: str, texts: list[str]) -> list[tuple[str, int]]:
    """Where a function of this name is called, in which of the texts."""
    called = re.compile(rf"(?<!def )(?<!class )\b{name}\(")
    return [(text, found.start()) for text in texts for found in called.finditer(text)]


def asks(name: str) -> re.Pattern[str]:
    return re.compile(rf"\bif\b[^\n]{{0,200}}\b{name}\b|\bassert\b[^\n]{{0,200}}\b{name}\b")


def is_within(text: str, at: int, names: list[str]) -> bool:
    """Whether a line stands in a branch that asks for one of the switches."""
    if not names:
        return False
    lines = text[:at].splitlines()
    depth = len(lines[-1]) - len(lines[-1].lstrip()) if lines else 0
    asks = re.compile(rf"(?<!not )(?<![\w.])(?:\w+\.)*(?:{'|'.join(map(re.escape, names))})\b")
    for line in reversed(lines[:-1]):
        indent = len(line) - len(line.lstrip())
        if not line.strip() or indent >= depth:
            continue
        depth = indent
        if re.match(r"\s*(?:el)?if\b", line) and asks.search(line) and not re.search(r"\bor\b", line):
            return True
        if not depth:
            break
    return False


def is_guarded(text: str, at: int, names: list[str]) -> bool:
    """Whether the function that a line stands in returns before it where the switches are off: `if not args.use_peft: return None`."""
    begin = text.rfind("def ", 0, at)
    asked = rf"(?:not[ \t]+[\w.]{{0,60}}\b(?:{'|'.join(map(re.escape, names))})|[\w.]{{0,60}}\b(?:{'|'.join(map(re.escape, names))})[ \t]+(?:is|==)[ \t]+False)"
    guard = re.compile(rf"^[ \t]+if[ \t]+{asked}[ \t]*:[ \t]*\n?[ \t]*return\b", re.MULTILINE)
    return bool(names) and begin >= 0 and guard.search(text, begin, at) is not None


def is_by_caller(text: str, at: int) -> bool:
    """Whether a line stands in a branch that asks for a switch which each caller of its function gives: `if not trainable:`."""
    head = text[:at].rpartition("def ")[2]
    asked = re.findall(r"^[ \t]+if (?:not )?(\w+):[ \t]*$", head, re.MULTILINE)
    taken = re.match(r"\w+\(([^()]*(?:\([^()]*\)[^()]*)*)\)", head)
    return taken is not None and any(re.search(rf"\b{name}\b", taken[1]) for name in asked[-1:])


def is_decided(text: str, at: int) -> bool:
    """Whether a line stands in a branch by what may be an option."""
    lines = text[:at].splitlines()
    depth = len(lines[-1]) - len(lines[-1].lstrip()) if lines else 0
    level = -1  # of an `else`, whose question stands above
    for line in reversed(lines[:-1]):
        indent = len(line) - len(line.lstrip())
        if not line.strip() or line.lstrip().startswith("#") or (indent >= depth and indent != level):
            continue
        asks = re.match(r"\s*(?:el)?if\b(.*)", line)
        if indent == level:
            if asks is not None and _DECIDES.search(asks[1]):
                return True
            level = -1 if asks is not None and not line.lstrip().startswith("elif") else level
            continue
        depth = indent
        if asks is not None and _DECIDES.search(asks[1]):
            return True
        if re.match(r"\s*(?:else|elif)\b", line):
            level = indent
        if re.match(r"\s*(?:async[ \t]+)?def\b", line) or not depth:
            break
    return False
