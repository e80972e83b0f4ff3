"""Constants of Python and what is made of them: arithmetic, f-strings, `a if b else c`."""

from __future__ import annotations

import ast

from stablint.source.python_arithmetic import LONGEST, agree, calculated
from stablint.source.python_names import Scope
from stablint.source.python_places import Places
from stablint.source.tree import Node, Scalar, Unknown

_MOST_BITS = 1024


class Constants:
    """The part of a reader that needs no names; `value` reads the parts of an expression."""

    def __init__(self, source: str, places: Places) -> None:
        self.source, self.places = source, places

    def value(self, node: ast.expr, scope: Scope) -> Node:
        raise NotImplementedError

    def unknown(self, node: ast.AST, reason: str) -> Scalar:
        return Scalar(Unknown(reason), self.places.start(node), self.places.end(node), "unknown", False)

    def scalar(self, node: ast.AST, value: object, form: str, editable: bool) -> Scalar:
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            return self.unknown(node, "a number too long to be read")
        return Scalar(value, self.places.start(node), self.places.end(node), form, editable)

    def spelled(self, node: ast.AST) -> str:
        text = " ".join(self.source[self.places.start(node) : self.places.end(node)].split())
        return text if len(text) <= 40 else text[:39] + "…"

    def constant(self, node: ast.Constant, scope: Scope) -> Node:
        value = node.value
        if value is None or isinstance(value, (bool, int, float)):
            return self.scalar(node, value, "plain", True)
        if isinstance(value, str):
            return self.scalar(node, value, "quoted", True)
        return self.unknown(node, "no value that a setting has")

    def unary(self, node: ast.UnaryOp, scope: Scope) -> Node:
        inner = self.value(node.operand, scope)
        value = inner.value if isinstance(inner, Scalar) else Unknown("")
        literal = isinstance(node.operand, ast.Constant)
        if isinstance(node.op, ast.Not) and (value is None or isinstance(value, (bool, int, float, str))):
            return self.scalar(node, not value, "plain", False)
        if isinstance(value, (int, float)) and isinstance(node.op, (ast.USub, ast.UAdd)):
            return self.scalar(node, -value if isinstance(node.op, ast.USub) else +value, "plain", literal)
        return self.unknown(node, _why(inner))

    def binary(self, node: ast.BinOp, scope: Scope) -> Node:
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        for part in (left, right):
            if not isinstance(part, Scalar) or isinstance(part.value, Unknown):
                return self.unknown(node, _why(part))
        assert isinstance(left, Scalar) and isinstance(right, Scalar)
        value = calculated(type(node.op), left.value, right.value)
        return (
            self.unknown(node, "computed when the program runs")
            if value is None
            else self.scalar(node, value, "plain", False)
        )

    def format(self, node: ast.JoinedStr, scope: Scope) -> Node:
        """An f-string of constants, without format specifications."""
        parts: list[str] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue) and part.format_spec is None and part.conversion == -1:
                inner = self.value(part.value, scope)
                if not isinstance(inner, Scalar) or isinstance(inner.value, Unknown) or inner.form == "attribute":
                    return self.unknown(node, _why(inner))
                parts.append(str(inner.value))
            elif isinstance(part, ast.Constant):
                parts.append(str(part.value))
            else:
                return self.unknown(node, "formatted when the program runs")
        text = "".join(parts)
        return (
            self.unknown(node, "too long to follow")
            if len(text) > LONGEST
            else self.scalar(node, text, "quoted", False)
        )

    def choice(self, node: ast.IfExp, scope: Scope) -> Node:
        yes, no, test = (self.value(part, scope) for part in (node.body, node.orelse, node.test))
        if (
            isinstance(test, Scalar)
            and isinstance(test.value, (bool, int, str, type(None)))
            and test.form != "attribute"
        ):
            chosen = yes if test.value else no
            return chosen._replace(editable=False) if isinstance(chosen, Scalar) else chosen
        if isinstance(yes, Scalar) and isinstance(no, Scalar) and agree(yes.value, no.value):
            return yes._replace(editable=False)
        return self.unknown(node, f"depends on `{self.spelled(node.test)}`")


def _why(part: Node) -> str:
    return (
        part.value.reason
        if isinstance(part, Scalar) and isinstance(part.value, Unknown)
        else "computed when the program runs"
    )
