"""Python files → their calls with literal arguments, and the constants of the module. Read with `ast`, never executed.

Values are folded as far as the text alone decides them: constants, names bound exactly once, attributes of imports, dict literals behind `**`.
Everything else is Unknown with its reason.
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

from stablint.source.tree import Call, Document, Entry, Mapping, Module, Node, Problem, Scalar, Sequence, Text, Unknown

if TYPE_CHECKING:
    import ast

LARGEST = 2_000_000
"""Characters of the longest module that is read."""
_LONGEST_LINE = 50_000  # the compiler recurses once an operator of a chain
_DEEPEST = 150
_LINES = re.compile(r"\r\n|\r|\n")


def document(text: Text) -> Document:
    """The calls of a module in order of appearance. Python newer than the one that runs this is a syntax error with its place."""
    problem = _refusal(text.text)
    if problem is not None:
        return Document(text, "python", 0, None, (problem,))
    import ast

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.text)
        return Document(text, "python", 0, _Reader(text.text, tree).module())
    except SyntaxError as error:
        return Document(text, "python", 0, None, (_syntax_error(text.text, error),))
    except (ValueError, RecursionError, MemoryError) as error:
        return Document(text, "python", 0, None, (Problem("too-deep", f"too deep to be read ({type(error).__name__})", 0, 0),))


def _refusal(source: str) -> Problem | None:
    """The compiler's own stack is not to be tried: limits come before it."""
    if len(source) > LARGEST or any(len(line) > _LONGEST_LINE for line in _LINES.split(source)):
        return Problem("too-large", f"larger than {LARGEST // 1_000_000} MB, or a line of over {_LONGEST_LINE} characters", 0, 0)
    depth = 0
    for found in re.finditer(r"[\[({]|[\])}]", source):
        depth = depth + 1 if found[0] in "[({" else max(0, depth - 1)
        if depth > _DEEPEST:
            return Problem("too-deep", f"more than {_DEEPEST} open brackets", found.start(), found.end())
    return None


def _syntax_error(source: str, error: SyntaxError) -> Problem:
    starts = [0, *(found.end() for found in _LINES.finditer(source))]
    line = min(max(error.lineno or 1, 1), len(starts)) - 1
    start = min(starts[line] + max((error.offset or 1) - 1, 0), len(source))
    return Problem("syntax-error", f"not Python: {error.msg}", start, min(start + 1, len(source)))


class _Scope:
    """What names are bound to: a value where there is exactly one assignment, None where there is more to it."""

    def __init__(self, above: _Scope | None) -> None:
        self.above = above
        self.bound: dict[str, list[ast.expr | None]] = {}

    def bind(self, name: str, value: ast.expr | None) -> None:
        self.bound.setdefault(name, []).append(value)

    def find(self, name: str) -> tuple[ast.expr | None, _Scope] | None:
        """None for a name that is bound nowhere here; (None, scope) for one that is not a single value."""
        scope: _Scope | None = self
        while scope is not None:
            values = scope.bound.get(name)
            if values is not None:
                return (values[0] if len(values) == 1 else None), scope
            scope = scope.above
        return None


class _Reader:
    def __init__(self, source: str, tree: ast.Module) -> None:
        import ast

        self.ast = ast
        self.source = source
        self.tree = tree
        self.starts = [0, *(found.end() for found in _LINES.finditer(source))]
        self.imports: dict[str, str] = {}
        self.calls: list[tuple[ast.Call, _Scope, str | None]] = []
        self.values: dict[int, Node] = {}
        self.top = _Scope(None)

    def module(self) -> Module:
        self._gather()
        calls = tuple(self._call(call, scope, target) for call, scope, target in sorted(self.calls, key=lambda found: self._span(found[0])))
        return Module(calls, self._constants())

    def _gather(self) -> None:
        """One walk: imports, bindings a scope, and every call with the name that it is assigned to."""
        ast = self.ast
        pending: list[tuple[Any, _Scope]] = [(self.tree, self.top)]
        targets: dict[int, str] = {}
        while pending:
            node, scope = pending.pop()
            inner = scope
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                inner = _Scope(scope)
                if not isinstance(node, ast.Lambda):
                    scope.bind(node.name, None)
                if not isinstance(node, ast.ClassDef):
                    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg):
                        if argument is not None:
                            inner.bind(argument.arg, None)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node)
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        scope.bind(target.id, node.value)
                        targets.setdefault(id(node.value), target.id)
                    else:
                        for name in ast.walk(target):
                            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                                scope.bind(name.id, None)
                                if isinstance(node.value, ast.Call) and isinstance(target, ast.Tuple):
                                    targets.setdefault(id(node.value), name.id)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                scope.bind(node.target.id, node.value)
                if node.value is not None:
                    targets.setdefault(id(node.value), node.target.id)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                scope.bind(node.id, None)  # loops, `with`, `+=`: more than one value
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                for name in node.names:
                    self.top.bind(name, None)
            if isinstance(node, ast.Call):
                self.calls.append((node, scope, targets.get(id(node))))
            children = list(ast.iter_child_nodes(node))
            if isinstance(node, ast.Assign):  # its targets are bound above
                children = [node.value]
            elif isinstance(node, ast.AnnAssign):
                children = [child for child in (node.value,) if child is not None]
            pending.extend((child, inner) for child in reversed(children))

    def _import(self, node: Any) -> None:
        if isinstance(node, self.ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                self.imports[name] = alias.name if alias.asname else name
        else:
            for alias in node.names:
                module = "." * node.level + (node.module or "")
                self.imports[alias.asname or alias.name] = f"{module}.{alias.name}" if module.strip(".") else alias.name

    def _offset(self, line: int, column: int) -> int:
        """Columns of ast count UTF-8 bytes."""
        start = self.starts[line - 1]
        end = self.starts[line] if line < len(self.starts) else len(self.source)
        text = self.source[start:end]
        return start + (column if text.isascii() else len(text.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore")))

    def _span(self, node: Any) -> tuple[int, int]:
        return self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)

    def _dotted(self, node: Any) -> str | None:
        """`transformers.AutoModel.from_pretrained` through the imports; None where it does not begin with a name."""
        parts: list[str] = []
        while isinstance(node, self.ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, self.ast.Name):
            return None if not parts else "." + ".".join(reversed(parts))
        return ".".join([self.imports.get(node.id, node.id), *reversed(parts)])

    def _call(self, node: ast.Call, scope: _Scope, target: str | None = None) -> Call:
        known = self.values.get(id(node))
        if isinstance(known, Call):
            return known._replace(target=target) if target is not None and known.target is None else known
        start, end = self._span(node)
        name_start, name_end = self._span(node.func)
        name = self._dotted(node.func) or "call"
        call = Call(name, Mapping((), start, end, True), (), start, end, name_start, name_end, target)
        self.values[id(node)] = call  # a call that contains itself through a name ends here
        entries: list[Entry] = []
        is_open = False
        for keyword in node.keywords:
            if keyword.arg is None:
                inner = self._value(keyword.value, scope)
                if isinstance(inner, Mapping):
                    entries += inner.entries
                    is_open = is_open or inner.open
                else:
                    is_open = True
                continue
            key_start = self._offset(keyword.lineno, keyword.col_offset)
            entries.append(Entry(keyword.arg, key_start, key_start + len(keyword.arg), self._value(keyword.value, scope)))
        positional = tuple(self._value(argument, scope) for argument in node.args)
        call = call._replace(arguments=Mapping(tuple(entries), start, end, is_open), positional=positional)
        self.values[id(node)] = call
        return call

    def _value(self, node: Any, scope: _Scope, depth: int = 0) -> Node:
        ast = self.ast
        start, end = self._span(node)
        if depth > _DEEPEST:
            return self._unknown("nested too deeply", start, end)
        if isinstance(node, ast.Constant):
            if isinstance(node.value, (bytes, complex)) or node.value is ...:
                return self._unknown("not a setting's value", start, end)
            return Scalar(node.value, start, end, "quoted" if isinstance(node.value, str) else "plain")
        if isinstance(node, ast.Name):
            return self._name(node, scope, start, end, depth)
        if isinstance(node, ast.Attribute):
            root: Any = node
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in self.imports and scope.find(root.id) is None:
                return Scalar(self._dotted(node), start, end, "attribute")
            return self._unknown(f"`{self.source[start:end][:60]}` is set at run time", start, end)
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            return Sequence(tuple(self._value(item, scope, depth + 1) for item in node.elts), start, end)
        if isinstance(node, ast.Dict):
            return self._dict(node, scope, start, end, depth)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id == "dict" and not node.args:
                return self._call(node, scope).arguments
            return self._call(node, scope)
        folded = self._fold(node, scope, depth)
        if folded is not None:
            literal = isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
            return Scalar(folded, start, end, "plain", literal)
        return self._unknown(f"`{self.source[start:end][:60]}` is worked out at run time", start, end)

    def _name(self, node: Any, scope: _Scope, start: int, end: int, depth: int) -> Node:
        found = scope.find(node.id)
        if found is None and node.id in self.imports:
            return Scalar(self.imports[node.id], start, end, "attribute")
        if found is None or found[0] is None:
            return self._unknown(f"`{node.id}` is set at run time", start, end)
        value = self._value(found[0], found[1], depth + 1)
        return value._replace(form="name") if isinstance(value, Scalar) and value.form in ("plain", "quoted") else value

    def _dict(self, node: Any, scope: _Scope, start: int, end: int, depth: int) -> Mapping:
        entries: list[Entry] = []
        is_open = False
        for key, value in zip(node.keys, node.values):  # noqa: B905 - ast keeps them equally long
            if key is None:
                inner = self._value(value, scope, depth + 1)
                if isinstance(inner, Mapping):
                    entries += inner.entries
                is_open = is_open or not isinstance(inner, Mapping) or inner.open
            elif isinstance(key, self.ast.Constant) and isinstance(key.value, str):
                key_start, key_end = self._span(key)
                entries.append(Entry(key.value, key_start, key_end, self._value(value, scope, depth + 1)))
            else:
                is_open = True
        return Mapping(tuple(entries), start, end, is_open)

    def _fold(self, node: Any, scope: _Scope, depth: int) -> Any:
        """The value of an expression of constants; None where it is not one."""
        ast = self.ast
        if isinstance(node, ast.UnaryOp):
            operand = self._constant(node.operand, scope, depth)
            if isinstance(node.op, ast.Not):
                return not operand if isinstance(operand, bool) else None
            if isinstance(operand, (int, float)) and not isinstance(operand, bool):
                return {ast.USub: -operand, ast.UAdd: operand}.get(type(node.op))
            return None
        if isinstance(node, ast.BinOp):
            left, right = self._constant(node.left, scope, depth), self._constant(node.right, scope, depth)
            return _operate(type(node.op).__name__, left, right)
        if isinstance(node, ast.JoinedStr):
            parts = [self._constant(part.value if isinstance(part, ast.FormattedValue) else part, scope, depth) for part in node.values]
            plain = all(isinstance(part, (str, int)) for part in parts) and not any(
                isinstance(part, ast.FormattedValue) and (part.format_spec is not None or part.conversion != -1) for part in node.values
            )
            return "".join(map(str, parts)) if plain else None
        return None

    def _constant(self, node: Any, scope: _Scope, depth: int) -> Any:
        value = self._value(node, scope, depth + 1)
        return value.value if isinstance(value, Scalar) and not isinstance(value.value, Unknown) and value.form != "attribute" else None

    def _unknown(self, reason: str, start: int, end: int) -> Scalar:
        return Scalar(Unknown(reason), start, end, "unknown", False)

    def _constants(self) -> Mapping:
        """Names bound once at top level, to a constant."""
        entries = []
        for node in self.tree.body:
            target = node.targets[0] if isinstance(node, self.ast.Assign) and len(node.targets) == 1 else None
            if isinstance(node, self.ast.Assign) and isinstance(target, self.ast.Name) and len(self.top.bound.get(target.id, ())) == 1:
                start, end = self._span(target)
                entries.append(Entry(target.id, start, end, self._value(node.value, self.top)))
        return Mapping(tuple(entries), 0, len(self.source))


def _operate(name: str, left: Any, right: Any) -> Any:
    """Arithmetic of small numbers and concatenation of texts."""
    if isinstance(left, str) and isinstance(right, str):
        return left + right if name == "Add" and len(left) + len(right) < 10_000 else None
    numbers = all(isinstance(side, (int, float)) and not isinstance(side, bool) and abs(side) < 1e15 for side in (left, right))
    if not numbers:
        return None
    try:
        if name in ("Pow", "LShift"):
            return (left**right if name == "Pow" else left << right) if abs(right) <= 64 else None
        operation = {"Add": "__add__", "Sub": "__sub__", "Mult": "__mul__", "Div": "__truediv__", "FloorDiv": "__floordiv__", "Mod": "__mod__"}[name]
        result = getattr(left, operation)(right)
        return result if result is not NotImplemented else getattr(float(left), operation)(right)
    except (KeyError, TypeError, ArithmeticError):
        return None
