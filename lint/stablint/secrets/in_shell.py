"""The value of a name of the shell: a word that is quoted in parts, what a loop goes through, what a function prints."""

from __future__ import annotations

from stablint.base.light import Pattern
from stablint.secrets.keys import LIKELY, holds_secret, inherited, is_of_text
from stablint.secrets.literals import Literal, Read, literal, shell_word
from stablint.secrets.right_sides import NOTHING

DEFAULT = Pattern(r":?[-=+]([^{}\n$]{1,400})\}")
_LOOP_WORDS = Pattern(r"[ \t]{1,8}in[ \t]{1,8}([^;\n]{1,2000})")
_CASES = Pattern(r"""\}?"?[ \t]{1,8}in[ \t\n]{1,40}\(?([^)\n]{1,400})\)""")
_FUNCTION = Pattern(
    r"[ \t]?(?:\([ \t]?\))?\s{0,8}\{\s{1,40}(?:echo|printf)[ \t]{1,4}(?:-\w{1,4}[ \t]{1,4}){0,3}(?:['\"]?%[^\s]{1,8}[ \t]{1,4})?"
)
_SHELL_WORD = Pattern(r"""[^\s"'|()]{1,400}""")


def through_shell(text: str, start: int, done: int, name: str, strength: int) -> Read | None:
    """What a name of the shell goes through, is compared with, or prints: `for KEY in …`, `case $KEY in …)`, `key() { echo …; }`."""
    head = text[max(0, start - 8) : start]
    if text[start - 1 : start] == text[done : done + 1] and text[start - 2 : start - 1] == "s" and text[done] in "/|#":
        replaced = text.find(text[done], done + 1, done + 400)  # sed
        found_here = replaced > 0 and holds_secret(strength, text[done + 1 : replaced])
        return Read([Literal(done + 1, replaced)] if found_here else [], max(replaced, done))
    if head.endswith(("for ", "select ")):
        found = _LOOP_WORDS.match(text, done)
    elif head.endswith(("$", "${")):
        found = _CASES.match(text, done)
    else:
        function = _FUNCTION.match(text, done)
        return shell_value(text, function.end(), strength) if function is not None else None
    if found is None:
        return None
    strength = LIKELY if is_of_text(name) else strength
    words = _SHELL_WORD.finditer(text, found.start(1), found.end(1))
    return Read([Literal(*word.span()) for word in words if holds_secret(strength, word[0])], found.end())


HERE_STRING = Pattern(r"[ \t]{0,8}<<<[ \t]{0,8}")
HERE_DOCUMENT = Pattern(r"""[ \t]{0,8}<<-?[ \t]{0,4}["']?(\w{1,40})["']?[^\n]{0,80}\n""")
_ARRAY_WORD = Pattern(r"""[^\s()]{1,4096}""")


def shell_value(text: str, at: int, strength: int) -> Read:
    """A word of the shell may be quoted in parts, and hold what another command prints: `abc"def"ghi`, `$(echo …)`, `(one two)`."""
    end = shell_word(text, at)
    value = text[at:end]
    if not value:
        return NOTHING
    if value[0] == "(":
        words = _ARRAY_WORD.finditer(text, at + 1, end)
        return Read([Literal(*word.span()) for word in words if holds_secret(strength, word[0].strip("\"'"))], end)
    if value[0] == value[-1] == "`":
        value = f"$({value[1:-1]})"
    if value[:2] == "<(":
        value = f"${value[1:]}"
    bare = value[1:] if value[:2] in ("$'", '$"') else value
    if not bare.startswith("$("):
        bare = bare.replace('"', "").replace("'", "")
    return Read([Literal(at, end)] if holds_secret(strength, literal(bare)) else [], end)


_NAMED_ITEM = Pattern(r"""\[["']?([\w.-]{1,80})["']?\]=([^\s()]{1,4096})""")


def named_items(text: str, at: int, name: str) -> Read:
    """`declare -A TOKENS=([hf]=…)`"""
    end = shell_word(text, at)
    items = _NAMED_ITEM.finditer(text, at, end)
    return Read([Literal(*i.span(2)) for i in items if holds_secret(inherited(name, i[1], 0), i[2].strip("\"'"))], end)
