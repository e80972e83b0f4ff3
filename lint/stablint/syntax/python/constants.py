"""Constants of Python and what is made of them: arithmetic, f-strings, `a if b else c`."""

from __future__ import annotations

import ast

from stablint.syntax import limits
from stablint.syntax.python.arithmetic import agree, calculated, compared
from stablint.syntax.python.library import capability, chosen, turned
from stablint.syntax.python.places import Places
from stablint.syntax.python.scope import Scope
from stablint.syntax.tree import Node, Scalar, Unknown

_MOST_BITS = 1024
FROM_FLAGS = "comes from the command line"
OWN_FUNCTION = "is a function of the program"
COMPUTED = "="
"""Among the settings that a value depends on: it is made of them, not one of them."""
_PRESUMED = "depends on what the caller sets"


class Constants:
    """The part of a reader that needs no names; `value` reads the parts of an expression."""

    def __init__(self, source: str, places: Places) -> None:
        self.source, self.places = source, places
        self.spent = limits.Spent()

    def value(self, node: ast.expr, scope: Scope) -> Node:
        raise NotImplementedError

    def unknown(self, node: ast.AST, reason: str) -> Scalar:
        return Scalar(Unknown(reason), self.places.start(node), self.places.end(node), "unknown", False)

    def cut(self, node: ast.AST, limit: limits.Limit) -> Scalar:
        """What a limit leaves out."""
        self.spent.reached(limit, self.places.start(node), self.places.end(node))
        return self.unknown(node, "too much to follow")

    def joined(self, node: ast.AST, parts: list[str], form: str) -> Scalar:
        """A text that is put together from others."""
        if sum(map(len, parts)) > limits.VALUE.most:
            return self.cut(node, limits.VALUE)
        return self.scalar(node, "".join(parts), form, False)

    def scalar(self, node: ast.AST, value: object, form: str, editable: bool) -> Scalar:
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            return self.unknown(node, "a number too long to be read")
        return Scalar(value, self.places.start(node), self.places.end(node), form, editable)

    def spelled(self, node: ast.AST) -> str:
        """At most 40 characters of it, whole words: half a token could not be told from a name any more."""
        text = " ".join(self.source[self.places.start(node) : self.places.end(node)].split())
        return text if len(text) <= 40 else text[:39].rpartition(" ")[0] + " …"

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
            return self.scalar(node, not value, self.form(inner), False)
        if isinstance(node.op, ast.Not) and isinstance(value, Unknown) and value.depends is not None:
            return self.scalar(node, turned(value), "unknown", False)
        if isinstance(value, (int, float)) and isinstance(node.op, (ast.USub, ast.UAdd)):
            return self.scalar(
                node,
                -value if isinstance(node.op, ast.USub) else +value,
                self.form(inner),
                literal and _is_plain(inner),
            )
        return self.unknown(node, _why(inner))

    def form(self, *parts: Node, form: str = "plain") -> str:
        """How what is made of these parts counts: what a caller may override stays that, but is not what the caller says."""
        names = [name for part in parts if (name := defaulted(part))]
        names += [COMPUTED] if names else []
        return "default:" + ",".join(dict.fromkeys(names)) if names else form

    def binary(self, node: ast.BinOp, scope: Scope) -> Node:
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        for part in (left, right):
            if not isinstance(part, Scalar) or isinstance(part.value, Unknown):
                return self.unknown(node, _worked_out(part))
        assert isinstance(left, Scalar) and isinstance(right, Scalar)
        if isinstance(node.op, ast.Add) and isinstance(left.value, str) and isinstance(right.value, str):
            return self.joined(node, [left.value, right.value], self.form(left, right))
        value = calculated(type(node.op), left.value, right.value)
        if value is None:
            return self.unknown(node, _COMPUTED)
        return self.scalar(node, value, self.form(left, right), False)

    def compare(self, node: ast.Compare, scope: Scope) -> Node:
        hardware = capability(node)
        if hardware is not None:
            return self.scalar(node, hardware, "unknown", False)
        left, right = self.value(node.left, scope), self.value(node.comparators[0], scope)
        if len(node.ops) == 1 and isinstance(left, Scalar) and isinstance(right, Scalar) and _are_alike(left, right):
            value = compared(type(node.ops[0]), left.value, right.value)
            if value is not None:
                return self.scalar(node, value, self.form(left, right), False)
        return self.unknown(node, _why(left) if _is_unknown(left) else _why(right))

    def both(self, node: ast.BoolOp, scope: Scope) -> Node:
        """`a and b`, `a or b`: the first that decides."""
        parts = [self.value(part, scope) for part in node.values]
        stop = isinstance(node.op, ast.Or)
        for part in parts:
            if not isinstance(part, Scalar) or _is_unknown(part) or part.form == "attribute":
                return self.unknown(node, _why(part))
            if bool(part.value) is stop or part is parts[-1]:
                return self.scalar(node, part.value, self.form(*parts), False)
        return self.unknown(node, _COMPUTED)

    def format(self, node: ast.JoinedStr, scope: Scope) -> Node:
        """An f-string of constants, without format specifications."""
        parts: list[str] = []
        inners: list[Node] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue) and part.format_spec is None and part.conversion == -1:
                inner = self.value(part.value, scope)
                if not isinstance(inner, Scalar) or isinstance(inner.value, Unknown) or inner.form == "attribute":
                    return self.unknown(node, _why(inner))
                parts.append(str(inner.value))
                inners.append(inner)
            elif isinstance(part, ast.Constant):
                parts.append(str(part.value))
            else:
                return self.unknown(node, "formatted when the program runs")
        return self.joined(node, parts, self.form(*inners, form="quoted"))

    def choice(self, node: ast.IfExp, scope: Scope) -> Node:
        yes, no, test = (self.value(part, scope) for part in (node.body, node.orelse, node.test))
        if (
            isinstance(test, Scalar)
            and isinstance(test.value, (bool, int, str, type(None)))
            and test.form != "attribute"
        ):
            found = yes if test.value else no
            if isinstance(found, Scalar):
                return found._replace(editable=False, form=self.form(test, found, form=found.form))
            return self.unknown(node, _PRESUMED) if defaulted(test) else found
        if isinstance(yes, Scalar) and isinstance(no, Scalar) and agree(yes.value, no.value):
            return yes._replace(editable=False)
        if (
            isinstance(test, Scalar)
            and isinstance(test.value, Unknown)
            and isinstance(yes, Scalar)
            and isinstance(no, Scalar)
        ):
            either = chosen(test.value, yes.value, no.value)
            if either is not None:
                return self.scalar(node, either, "unknown", False)
        return self.unknown(node, f"depends on `{self.spelled(node.test)}`")


def defaulted(part: Node) -> str:
    """The settings of the caller that may override a value; empty for what is fixed."""
    return part.form.removeprefix("default:") if isinstance(part, Scalar) and part.form.startswith("default:") else ""


def _is_plain(part: Node) -> bool:
    return isinstance(part, Scalar) and part.editable and not defaulted(part)


def _is_unknown(part: Node) -> bool:
    return not isinstance(part, Scalar) or isinstance(part.value, Unknown)


def _are_alike(left: Scalar, right: Scalar) -> bool:
    """Two values, or two names of a library's: what `transformers.__version__` holds is not its name."""
    return (left.form == "attribute") is (right.form == "attribute") or left.value is None or right.value is None


def _worked_out(part: Node) -> str:
    """`args.x * 4` is not what the command says of `x`."""
    why = _why(part)
    return _COMPUTED if why.endswith(FROM_FLAGS) else why


_COMPUTED = "computed when the program runs"


def _why(part: Node) -> str:
    return part.value.reason if isinstance(part, Scalar) and isinstance(part.value, Unknown) else _COMPUTED
