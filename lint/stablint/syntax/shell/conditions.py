"""`[ … ]`, `[[ … ]]` and `test` on values that the script itself sets: true, false, or not known."""

from __future__ import annotations

from stablint.syntax.shell.arithmetic import NoNumber, compute
from stablint.syntax.shell.state import State
from stablint.syntax.shell.tokens import Array, Word
from stablint.syntax.shell.values import from_caller, text_of, unknown_in

_NUMBERS = {"-eq": (0,), "-ne": (-1, 1), "-lt": (-1,), "-le": (-1, 0), "-gt": (1,), "-ge": (0, 1)}
_EQUAL = {"=": True, "==": True, "!=": False}
_PATTERN = frozenset("*?[\\")


class Test:
    """`result` is None where it is not known, `likely` what it is then unless the caller says otherwise: `[[ "${SMOKE:-0}" == "1" ]]`. `empty` is the
    variable that is asked whether it is empty, `filled` whether it is not; `usual` the one that is asked for what it usually holds."""

    __slots__ = ("empty", "filled", "likely", "result", "usual")

    def __init__(
        self, result: bool | None = None, empty: str = "", filled: str = "", likely: bool | None = None, usual: str = ""
    ) -> None:
        self.result, self.empty, self.filled, self.likely, self.usual = result, empty, filled, likely, usual


def examine(words: tuple[Word | Array, ...], state: State) -> Test | None:
    """What a command says as a condition; None for a command that is no test."""
    inner = [word for word in words[1:] if isinstance(word, Word)]
    name = words[0].plain() if isinstance(words[0], Word) else ""
    if name in ("true", "false") and not inner:
        return Test(name == "true")
    if name not in ("[", "[[", "test") or len(inner) != len(words) - 1:
        return None
    if name != "test":
        if not inner or inner[-1].plain() not in ("]", "]]"):
            return Test()
        inner.pop()
    negated = bool(inner) and inner[0].plain() == "!"
    found = _examine(inner[negated:], state)
    if negated:
        likely = None if found.likely is None else not found.likely
        return Test(None if found.result is None else not found.result, found.filled, found.empty, likely)
    return found


def _examine(inner: list[Word], state: State) -> Test:
    if len(inner) == 2 and inner[0].plain() in ("-z", "-n"):
        empty = inner[0].plain() == "-z"
        text, asked = _text(inner[1], state), _asked(inner[1], state)
        usual = "" if asked else _text(inner[1], state, True)  # few set what a script leaves empty
        likely = None if usual is None else (usual == "") == empty
        if asked:
            return Test(None, asked, "", likely) if empty else Test(None, "", asked, likely)
        return Test(None if text is None else (text == "") == empty, likely=likely)
    if len(inner) == 3 and inner[1].plain() in _EQUAL:
        return _compared(inner[0], inner[2], _EQUAL[inner[1].plain()], state)
    if len(inner) == 3 and inner[1].plain() in _NUMBERS:
        accepted, one, other = _NUMBERS[inner[1].plain()], inner[0], _text(inner[2], state)
        result = _ordered(_text(one, state), other, accepted)
        likely = _ordered(_text(one, state, True), other, accepted) if result is None else None
        return Test(result, likely=likely, usual=_variable(one) if accepted == (0,) else "")
    return Test()


def _compared(left: Word, right: Word, equal: bool, state: State) -> Test:
    one, other = _text(left, state), _text(right, state)
    asked = _asked(left, state)
    if asked and other == "":
        return Test(None, asked, "") if equal else Test(None, "", asked)
    if other is None or (_PATTERN & set(other) and not any(piece.quoted for piece in right.pieces)):
        return Test()
    if one is None:
        usual = _text(left, state, True)
        return Test(likely=None if usual is None else (usual == other) == equal, usual=_variable(left) if equal else "")
    return Test((one == other) == equal)


def _ordered(left: str | None, right: str | None, accepted: tuple[int, ...]) -> bool | None:
    if left is None or right is None:
        return None
    try:
        one, other = (compute(text, _no_variable) for text in (left, right))
    except NoNumber:
        return None
    return ((one > other) - (one < other)) in accepted


def _no_variable(name: str, default: int | None) -> int:
    raise NoNumber(name)


def _asked(word: Word, state: State) -> str:
    """The variable that is asked for, if nothing in the file says what it holds."""
    piece = word.pieces[0] if len(word.pieces) == 1 else None
    if piece is None or piece.kind != "variable" or piece.text.isdigit():
        return ""
    if piece.default is not None and (piece.default.kind != "parts" or piece.default.parts):
        return ""
    return piece.text if from_caller(state.held.get(piece.text)) else ""


def _variable(word: Word) -> str:
    return word.pieces[0].text if len(word.pieces) == 1 and word.pieces[0].kind == "variable" else ""


def _text(word: Word, state: State, usual: bool = False) -> str | None:
    """The known text of a word; a value that the caller may replace is not known, but for the `usual` one."""
    if not word.pieces:
        return None
    held = state.define(word, word.start)
    chunks = getattr(held, "chunks", None)
    if chunks is None or unknown_in(chunks) is not None or (not usual and any(chunk.presumed for chunk in chunks)):
        return None
    return None if getattr(held, "presumed", False) and not usual else text_of(held)
