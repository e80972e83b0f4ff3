"""`$(( … ))` of integers, as bash computes it. Variables come from who asks; what is not certain is no number."""

from __future__ import annotations

import re
from collections.abc import Callable

_TOKEN = re.compile(
    r"\s*(?:(\d+)|\$?([A-Za-z_]\w*)|\$\{([A-Za-z_]\w*|\d)(?::?-(\d{1,18}))?\}|\$(\d)|(\*\*|[-+*/%()]))", re.ASCII
)
_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2, "**": 3}
_MOST_TOKENS = 60
_LARGEST = 2**62


class NoNumber(Exception):
    """The expression is not one of integers that are known; the message says why."""


def compute(expression: str, value_of: Callable[[str, "int | None"], int]) -> int:
    """The value of an expression with `+ - * / % **` and brackets. `value_of(name, default)` raises NoNumber for a variable that is none."""
    tokens: list[int | str] = []
    at = 0
    text = expression.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or len(tokens) > _MOST_TOKENS:
            raise NoNumber("computed when the script runs")
        number, name, braced, default, position, operator = found.groups()
        if number is not None:
            if len(number) > 18 or (number[0] == "0" and len(number) > 1):  # octal
                raise NoNumber("computed when the script runs")
            tokens.append(int(number))
        else:
            tokens.append(operator or value_of(name or braced or position, int(default) if default else None))
        at = found.end()
    value, rest = _sum(tokens, 0, 0)
    if rest != len(tokens):
        raise NoNumber("computed when the script runs")
    return value


def _sum(tokens: list[int | str], at: int, binding: int) -> tuple[int, int]:
    left, at = _operand(tokens, at)
    while at < len(tokens) and isinstance(operator := tokens[at], str) and _BINDING.get(operator, 0) > binding:
        # a power binds to the right
        right, at = _sum(tokens, at + 1, _BINDING[operator] - (operator == "**"))
        left = _apply(left, operator, right)
    return left, at


def _operand(tokens: list[int | str], at: int) -> tuple[int, int]:
    if at >= len(tokens):
        raise NoNumber("computed when the script runs")
    token = tokens[at]
    if isinstance(token, int):
        return token, at + 1
    if token == "-":
        value, at = _operand(tokens, at + 1)
        return -value, at
    if token == "(":
        value, at = _sum(tokens, at + 1, 0)
        if at < len(tokens) and tokens[at] == ")":
            return value, at + 1
    raise NoNumber("computed when the script runs")


def _apply(left: int, operator: str, right: int) -> int:
    if operator in ("/", "%"):
        if right == 0:
            raise NoNumber("divided by zero")
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)  # bash rounds towards zero
        return quotient if operator == "/" else left - quotient * right
    if operator == "**":
        if not 0 <= right <= 62 or abs(left) > 10**6:
            raise NoNumber("computed when the script runs")
        value = int(left**right)
    else:
        value = left + right if operator == "+" else left - right if operator == "-" else left * right
    if abs(value) > _LARGEST:
        raise NoNumber("it overflows")
    return value
