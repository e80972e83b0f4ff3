"""The value of a key of YAML: the rest of its line, the lines below that belong to it, what an alias brings there."""

from __future__ import annotations

from stablint.base.light import Pattern
from stablint.secrets.keys import SURE, holds_secret, inherited
from stablint.secrets.literals import Literal, Read, closing, flow, literal
from stablint.secrets.right_sides import CODE, FLOW_REST, NOTHING, QUOTED, WORD, begins_line, plain_value, telling

_YAML_REST = Pattern(r"""[^\n\r]{1,4096}?(?=[ \t]{1,40}\#|[ \t]{0,40}(?:\r|\n|\Z))""")
_YAML_HEAD = Pattern(r"(?:[&!][^\s]{0,100}(?:[ \t]{1,8}|(?=[\r\n]))){0,3}")
_BLOCK = Pattern(r"[|>][-+0-9]{0,2}[ \t]{0,20}(?:\#[^\n]{0,200})?\r?\n")
_ITEM = Pattern(r"[ \t]{0,40}-[ \t]{1,20}")
_CHILD = Pattern(r"""["']?([\w.-]{1,80})["']?[ \t]{0,8}:(?:[ \t]{1,40}|\Z)""")
_ANCHOR = Pattern(r"(?<![^\s,\[{])&([\w.-]{1,80})(?=\s)[ \t]{0,8}")
ALIAS = Pattern(r"(?:(?<=[ \t,\[{])|\A)\*([\w.-]{1,80})(?=[\s,\]}]|\Z)")


def anchors_of(text: str) -> dict[str, int]:
    """Where the values begin that aliases of YAML bring elsewhere."""
    return {found[1]: found.end() for found in _ANCHOR.finditer(text)}


def anchored(text: str, at: int, key: str, strength: int) -> list[Literal]:
    """The literals of such a value: of a collection below it, of one in brackets, or of a scalar."""
    if text[at : at + 1] in ("\r", "\n"):
        line = text.rfind("\n", max(0, at - 400), at) + 1
        indent = len(text[line:at]) - len(text[line:at].lstrip(" -"))
        return _below(text, text.find("\n", at) + 1, indent, key, strength, block=False).literals
    return plain_value(text, at, key, strength).literals


NEXT_ITEM = Pattern(r"""["']?(?:[ \t]{0,8},|[ \t]{0,8}\r?\n[ \t]{0,80}-)[ \t]{1,8}(?!["']?-)""")


def _in_flow(text: str, start: int) -> bool:
    """A key of a mapping in braces."""
    return text[max(0, start - 60) : start].rstrip("\"' \t\r\n")[-1:] in ("{", ",")


def yaml_value(text: str, start: int, at: int, name: str, strength: int, *, closed: bool) -> Read:
    """The rest of the line, and the lines below that belong to it."""
    line_start = text.rfind("\n", max(0, start - 400), start) + 1
    indent = start - line_start - closed
    begins = begins_line(text, start)
    head = _YAML_HEAD.match(text, at)
    at = head.end() if head else at
    block = _BLOCK.match(text, at)
    if begins and (block is not None or at >= len(text) or text[at] in "\r\n#" or "\n" in text[start:at]):
        first = block.end() if block else text.find("\n", start) + 1
        return _below(text, first, indent, name, strength, block=block is not None)
    if at >= len(text) or text[at] in "*\r\n" or not strength:
        return NOTHING
    if text[at] in "{[":
        return flow(text, at, name, strength)
    quoted = QUOTED.match(text, at)
    if quoted is not None and not quoted["lead"]:
        mark = quoted["mark"]
        end = _closing_below(text, quoted.end(), mark, indent) if begins else closing(text, quoted.end(), mark)
        return Read([Literal(quoted.end(), end)] if holds_secret(strength, text[quoted.end() : end]) else [], end)
    if not begins and not _in_flow(text, start):
        return _loose(text, start, at, name, strength)
    value = (_YAML_REST if begins else FLOW_REST).match(text, at)
    if value is None:
        return NOTHING
    end = at + len(value[0].rstrip())
    if not holds_secret(strength, literal(value[0].strip())):
        return Read([], end if end - at > 100 else 0)  # it may be a key itself: `key: HF_TOKEN`
    if text[line_start:start].lstrip()[:1] == "#" and " " in value[0].strip():  # a sentence
        return _loose(text, start, at, name, strength)
    return Read([Literal(at, max(end, _further(text, value.end(), indent)) if begins else end)], end)


def _loose(text: str, start: int, at: int, name: str, strength: int) -> Read:
    """In the midst of a text, as in a command or a sentence."""
    word = WORD.match(text, at)
    value = word[0].rstrip(".:!?)") if word is not None else ""
    listed = (
        text[start - 1 : start] in (";", ",") or text[at + len(value) : at + len(value) + 1] == ";"
    )  # `Uid=ada;Pwd=…;`
    surely = ((name.isupper() or listed) and not CODE.match(value)) or telling(value)
    if value and surely and holds_secret(strength, value):
        return Read([Literal(at, at + len(value))], at + len(value))
    return NOTHING


def _further(text: str, at: int, indent: int) -> int:
    """Where a plain text ends that goes on in the lines below: they stand deeper than its key, and are no keys."""
    end = at
    for _ in range(50):
        begin = text.find("\n", at, at + 400)
        if begin < 0 or text[at:begin].strip():
            break
        stop = text.find("\n", begin + 1)
        stop = len(text) if stop < 0 else stop
        line = text[begin + 1 : min(stop, begin + 4_000)]
        body = line.strip()
        if not body or len(line) - len(line.lstrip()) <= indent or body[0] in "#-" or _CHILD.match(body):
            break
        at = stop
        end = begin + 1 + len(line.rstrip())
    return end


def _closing_below(text: str, begin: int, mark: str, indent: int) -> int:
    """Where a text of YAML in quotes ends, perhaps some lines below; where its quote is missing, with the lines that stand deeper."""
    at = closing(text, begin, mark)
    for _ in range(50):
        if at >= len(text) or text[at] != "\n":
            return at
        stop = text.find("\n", at + 1, at + 4_000)
        line = text[at + 1 : stop if stop >= 0 else at + 4_000]
        if not line.strip() or len(line) - len(line.lstrip()) <= indent:
            return at
        at = closing(text, at + 1, mark)
    return at


def _below(text: str, at: int, indent: int, name: str, strength: int, *, block: bool) -> Read:
    """The lines of a block scalar, or the items and keys of a collection, that belong to the key."""
    found: list[Literal] = []
    above: list[tuple[int, str, int]] = [(indent, name, strength)]
    lines, end = 0, at
    while 0 < at < len(text) and lines < (500 if strength == SURE else 20):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at : min(end, at + 4_000)]
        body = line.strip()
        depth = len(line) - len(line.lstrip())
        item = _ITEM.match(line)
        if body and body[0] != "#" and not (depth > indent or (not block and item is not None and depth >= indent)):
            end = at
            break
        begin = item.end() if item is not None and not block else depth
        while len(above) > 1 and begin <= above[-1][0]:
            above.pop()
        _, owner, sure = above[-1]
        child = _CHILD.match(line, begin) if not block else None
        if child is not None:
            sure = inherited(owner, child[1], sure)
            above.append((begin, child[1], sure))
            begin = child.end()
        value = line[begin:].strip()
        if value and not block:
            head = _YAML_HEAD.match(line, begin)
            begin = head.end() if head else begin
            rest = _YAML_REST.match(line, begin)
            value = rest[0].strip() if rest is not None and value[0] != "#" else ""
        if value[:1] in ("{", "[") and not block:
            found += flow(text, text.index(value, at + begin), above[-1][1], sure).literals
            value = ""
        value = value.strip("\"'")
        if value and holds_secret(sure, literal(value)):
            where = text.index(value, at + begin)
            found.append(Literal(where, where + len(value)))
        at, lines = end + 1, lines + 1
    return Read(found, end if strength == SURE else 0)
