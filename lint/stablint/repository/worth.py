"""What an expression of a program comes to: by who hands a parameter, by the attributes of the program's own objects, and by what is worked out of these.

Of a command nothing is known but what `named` says of it. Asked only where a file is shown.
"""

from __future__ import annotations

import ast
import math
import operator
import posixpath
from collections.abc import Callable, Iterator
from collections.abc import Mapping as Table
from itertools import repeat

from stablint.repository.indexed import (
    MERGING,
    Bound,
    Index,
    Made,
    Where,
    argument,
    field_of,
    is_spread,
    last,
    returned,
)
from stablint.repository.objects import missing, taken
from stablint.syntax.python.scope import default_of, dotted, parameters_of

_FAR = 12  # callers of callers, and what is assigned in turn
_MANY = 12  # calls of one function
_LOOKED_UP = 60_000  # steps on the ways of all questions
_STEPS = 600  # of one
_DEEP = 20  # names that one has to know to know another


class _Unknown:
    """What nothing says."""


UNKNOWN = _Unknown()
UNCLEAR = _Unknown()  # it is said, and nobody can tell what


class _Thing:
    """Something that is there, and no number or text: an object of a library's class, a dictionary."""


THING = _Thing()


_WORKED_OUT: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
}
_COMPARED: dict[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_ORDERED: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_OF_A_WORD: dict[str, Callable[[str], object]] = {"strip": str.strip, "lower": str.lower, "upper": str.upper}
_NUMBERS = {"int": int, "float": float, "str": str, "bool": bool, "Path": str, "expanduser": str}
_OF_NUMBERS: dict[str, Callable[..., object]] = {
    "max": max,
    "min": min,
    "round": round,
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
}
_LOADERS = frozenset(["load", "safe_load", "full_load", "unsafe_load", "loads"])
_SETTINGS = frozenset(["OmegaConf", "yaml", "json", "toml", "tomllib", "YAML", "tomli", "json5", "pyyaml"])
_SAME = frozenset(
    [
        "to_container",
        "Munch",
        "DotDict",
        "EasyDict",
        "edict",
        "Box",
        "AttrDict",
        "ConfigDict",
        "deepcopy",
        "create",
        "munchify",
    ]
)
_MERGES = frozenset(["merge", "unsafe_merge"])
_OF_COMMANDS = frozenset(["from_cli", "from_dotlist"])
_OF_KEYWORDS = frozenset(["dict", "SimpleNamespace", "Namespace"])
_UNCLEAR = ast.Name("", ast.Load())
_ENVIRONMENT = "the environment"
_PUTS = "\0put"  # no name of a program's
_TEXT_OF = frozenset(["open", "read", "read_text", "read_bytes", "fsdecode", "str", "Path"])
_DTYPES = frozenset(["float16", "bfloat16", "float32", "half"])


class Program(Index):
    """A program and the modules that it is made of; `named` says what a command, a file or an option's default says under a name."""

    def __init__(
        self,
        texts: list[str],
        named: Callable[[str], object],
        settings: Table[str, object],
        opened: Callable[[str], object] = lambda path: None,
    ) -> None:
        """`opened`: what a file of settings says, by a path that may begin at an unknown folder; None where there is none."""
        super().__init__(texts)
        self._named, self._opened = named, opened
        self.asked: set[str] = set()  # under which names it was looked for what is said
        self.branched = False  # whether a branch that is left by what is said was asked for
        self._settings = dict(settings)
        self._active: set[tuple[str, int]] = set()
        self._left, self._steps = _LOOKED_UP, _STEPS
        self._apart: dict[int, Where] = {}  # parts of a merged dictionary, by where each stands
        self._kept: dict[object, ast.expr] = {}  # files and merged dictionaries, each made once
        self._deep: set[int] = set()  # dictionaries whose sections are merged as well

    def _say(self, name: str) -> object:
        self.asked.add(name)
        said = self._named(name)
        default = self._defaults.get(name) if said is UNKNOWN else None
        if default is not None and (name, 0) not in self._active:
            self._active.add((name, 0))
            said = self.only(*default)
            self._active.discard((name, 0))
        return self._flags.get(name, said) if isinstance(said, _Unknown) else said

    def spread(self, call: ast.Call, where: Where) -> Iterator[tuple[str, object]]:
        """What a call is given by dictionaries that are spread in it: `SFTConfig(**settings)`."""
        for one in call.keywords:
            table = self._table(one.value, where, _FAR) if one.arg is None else None
            keys = table[0].keys if table is not None and isinstance(table[0], ast.Dict) else []
            for key in keys:
                if table is not None and isinstance(key, ast.Constant) and isinstance(key.value, str):
                    found = self._under(table[0], key.value, table[1], _FAR)
                    if found is not None and isinstance(value := self.only(*found), (bool, int, float, str)):
                        yield key.value, value

    def _is_spent(self) -> bool:
        self._steps, self._left = self._steps - 1, self._left - 1
        return min(self._steps, self._left) < 0

    def decided(self) -> Iterator[tuple[ast.If | ast.IfExp, bool]]:
        """The branches of the program whose test comes to the same whoever starts it."""
        for node, where in self.tests:
            self.asked = set()
            value = UNKNOWN if isinstance(node.test, ast.Constant) else self.only(node.test, where)
            if not isinstance(value, _Unknown) and not self.asked:
                yield node, bool(value)

    def only(self, node: ast.expr, where: Where, far: int = _FAR) -> object:
        """The one value that it has, whoever calls; else unknown. Each question on the way to it has less of `far`, so that none is endless."""
        found = self.several(node, where, far)
        return found[0] if len(found) == 1 else UNKNOWN

    def several(self, node: ast.expr, where: Where, far: int) -> list[object]:
        found: list[object] = []
        for one in self._values(node, where, far):
            if not any(type(one) is type(other) and one == other for other in found):
                found.append(one)
        return found or [UNKNOWN]

    def _values(self, node: ast.expr, where: Where, far: int) -> Iterator[object]:
        if not self._active and far == _FAR:
            self._steps = _STEPS
        spent = self._is_spent()
        if isinstance(node, ast.Constant):
            yield node.value
        elif _is_here(node):
            yield ""
        elif self._settings and _is_chain(node) and not missing(said := taken(ast.unparse(node), self._settings)):
            yield said
        elif far <= 0 or spent:
            yield UNKNOWN
        elif isinstance(node, ast.Name):
            yield from self._of_name(node.id, where, far - 1)
        elif isinstance(node, ast.Attribute):
            yield from self._of_attribute(node, where, far - 1)
        elif isinstance(node, ast.Subscript):
            key = self.only(node.slice, where, far - 1)
            yield from (
                [UNKNOWN] if isinstance(key, (_Unknown, _Thing)) else self._of_key(node.value, key, where, far - 1)
            )
        elif isinstance(node, ast.IfExp):
            test = self.only(node.test, where, far - 1)
            if isinstance(test, _Unknown) or test:
                yield from self.several(node.body, where, far - 1)
            if isinstance(test, _Unknown) or not test:
                yield from self.several(node.orelse, where, far - 1)
        elif isinstance(node, ast.BoolOp):
            yield self._joined(node, where, far - 1)
        else:
            yield self._worked_out(node, where, far - 1)

    def _joined(self, node: ast.BoolOp, where: Where, far: int) -> object:
        """`a and b`, `a or b`: the first that decides, whatever the others are."""
        value: object = UNKNOWN
        unclear = False
        for one in node.values:
            value = self.only(one, where, far)
            known = not isinstance(value, _Unknown)
            if known and bool(value) == isinstance(node.op, ast.Or) and not unclear:
                return value
            if known and not value and isinstance(node.op, ast.And):
                return False
            unclear = unclear or not known
        return UNKNOWN if unclear else value

    def _worked_out(self, node: ast.expr, where: Where, far: int) -> object:
        if isinstance(node, (ast.Dict, ast.List, ast.Set)) and (node.keys if isinstance(node, ast.Dict) else node.elts):
            return THING
        if isinstance(node, ast.JoinedStr):
            pieces = [
                self.only(one.value if isinstance(one, ast.FormattedValue) else one, where, far) for one in node.values
            ]
            return "".join(map(str, pieces)) if all(isinstance(one, (str, int)) for one in pieces) else UNKNOWN
        if isinstance(node, ast.BinOp):
            left, right = self.several(node.left, where, far), self.several(node.right, where, far)
            made = _WORKED_OUT.get(type(node.op))
            if len(left) == len(right) == 1 and isinstance(left[0], str) and isinstance(right[0], str):
                return left[0] + right[0] if isinstance(node.op, ast.Add) else posixpath.join(left[0], right[0])
            if made is None or not _is_number(left) or not _is_number(right):
                return UNKNOWN
            try:
                return made(left[0], right[0])  # type: ignore[arg-type]
            except ArithmeticError:  # by nought, or too large
                return UNKNOWN
        if isinstance(node, ast.UnaryOp):
            inner = self.several(node.operand, where, far)
            if isinstance(node.op, ast.Not) and not isinstance(inner[0], _Unknown) and len(inner) == 1:
                return not inner[0]
            return -inner[0] if isinstance(node.op, ast.USub) and _is_number(inner) else UNKNOWN  # type: ignore[operator]
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            one, other = self.several(node.left, where, far), self.several(node.comparators[0], where, far)
            if (ordered := _ORDERED.get(type(node.ops[0]))) is not None:
                return ordered(one[0], other[0]) if _is_number(one) and _is_number(other) else UNKNOWN  # type: ignore[arg-type]
            if isinstance(node.ops[0], (ast.In, ast.NotIn)) and isinstance(
                node.comparators[0], (ast.Tuple, ast.List, ast.Set)
            ):
                within = [self.only(each, where, far) for each in node.comparators[0].elts]
                known = len(one) == 1 and not any(isinstance(each, (_Unknown, _Thing)) for each in (*one, *within))
                return (one[0] in within) == isinstance(node.ops[0], ast.In) if known else UNKNOWN
            asks = _COMPARED.get(type(node.ops[0]))
            known = len(one) == len(other) == 1 and not any(isinstance(each, _Unknown) for each in (one[0], other[0]))
            known = known and (None in (one[0], other[0]) or THING not in (one[0], other[0]))
            return asks(one[0], other[0]) if asks is not None and known else UNKNOWN
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "torch.cuda.is_available":
            return True  # who trains has a card
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _OF_A_WORD
            and not node.args
        ):
            word = self.only(node.func.value, where, far)
            return _OF_A_WORD[node.func.attr](word) if isinstance(word, str) else UNKNOWN
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self._functions:
            of = self._functions[node.func.id]
            given = [one for each in returned(of.function) for one in self.several(each, of, far)]
            return (
                given[0] if given and all(type(one) is type(given[0]) and one == given[0] for one in given) else UNKNOWN
            )
        if isinstance(node, ast.Call) and node.args:
            words = dotted(node.func) or [last(node.func)]
            if words[-1] == "join" and "path" in words:
                given_parts = [self.only(one, where, far) for one in node.args]
                return (
                    posixpath.join(*map(str, given_parts))
                    if all(isinstance(one, str) for one in given_parts)
                    else UNKNOWN
                )
            if words[-1] in _NUMBERS and len(node.args) == 1:
                inner = self.several(node.args[0], where, far)
                return _made(inner[0], _NUMBERS[words[-1]]) if len(inner) == 1 else UNKNOWN
            if (made_of := _OF_NUMBERS.get(words[-1])) is not None and not node.keywords:
                several = [self.only(one, where, far) for one in node.args]
                try:
                    return made_of(*several) if all(_is_number([one]) for one in several) else UNKNOWN
                except (ArithmeticError, TypeError, ValueError):  # of too many, or of what is no number
                    return UNKNOWN
            if words[-1] == "getenv" or words[-2:] == ["environ", "get"]:
                self.asked |= {_ENVIRONMENT} if len(node.args) == 1 else set()
                return self.only(node.args[1], where, far) if len(node.args) == 2 else None
            if words == ["getattr"] and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
                return self._got(node, where, far)
            if words == ["getattr"] and len(node.args) > 1 and last(node.args[0]) == "torch":
                dtype = self.only(node.args[1], where, far)
                return dtype if dtype in _DTYPES else UNKNOWN
            if words[-1] == "get" and isinstance(node.func, ast.Attribute) and isinstance(node.args[0], ast.Constant):
                found = list(self._of_key(node.func.value, node.args[0].value, where, far))
                if isinstance(found[0], _Unknown) and len(node.args) == 2:
                    found = self.several(node.args[1], where, far)
                return found[0] if len(found) == 1 else UNKNOWN
        return (
            THING
            if isinstance(node, ast.Lambda) or (isinstance(node, ast.Call) and last(node.func)[:1].isupper())
            else UNKNOWN
        )

    def _got(self, node: ast.Call, where: Where, far: int) -> object:
        """`getattr(config, "lr", 1e-5)`: the default only of an object whose class has no such attribute."""
        made = self._object(node.args[0], where, far)
        name = str(node.args[1].value) if isinstance(node.args[1], ast.Constant) else ""
        if made is not None and len(node.args) == 3 and name not in self._touched:
            if self._attribute(made, name, far) is None:
                return self.only(node.args[2], where, far)
        return self.only(ast.Attribute(node.args[0], name, ast.Load()), where, far)

    def _of_name(self, name: str, where: Where, far: int) -> Iterator[object]:
        found = self._meant(name, where)
        for node, place in found:
            yield from self.several(node, place, far) if node is not None else [UNKNOWN]
        if not found:
            yield UNKNOWN

    def _meant(self, name: str, where: Where) -> list[tuple[ast.expr | None, Where]]:
        """What the name is given in the innermost function that knows it, in the module, else in another that it may come from: by each caller
        of a function whose parameter it is; None where nothing says it, or where it is asked for itself."""
        asked = (name, id(where.function))
        if asked in self._active or len(self._active) >= _DEEP:
            return [(None, where)]
        self._active.add(asked)
        try:
            return self._given_to(name, where)
        finally:
            self._active.discard(asked)

    def _given_to(self, name: str, where: Where) -> list[tuple[ast.expr | None, Where]]:
        scope: Where | None = where
        while scope is not None and scope.function is not None:
            found = self._bound.get(id(scope.function), {}).get(name, [])
            if name in parameters_of(scope.function):
                return [(None, scope)] if found else list(self._handed(name, scope))
            if found:
                return self._alike(name, found, scope)
            scope = scope.outer
        if found := self._bound.get(id(where.tree), {}).get(name, []):
            return self._alike(name, found, Where(where.tree, None, None))
        constant = self._elsewhere(name, where)
        return [constant] if constant is not None else []

    def _elsewhere(self, name: str, where: Where) -> tuple[ast.expr, Where] | None:
        """A constant of another module: `LENGTH`, `config.LENGTH`, `from config import length`."""
        imported = self._imported.get(id(where.tree), {})
        name, is_imported = imported.get(name, name), name in imported or "*" in imported
        found = [
            made[0]
            for tree in self.trees
            if tree is not where.tree and (name.isupper() or is_imported) and name in self._bound.get(id(tree), {})
            if (made := self._alike(name, self._bound[id(tree)][name], Where(tree, None, None)))[0][0] is not None
        ]
        return found[0] if len(found) == 1 else None  # type: ignore[return-value]

    def _alike(self, name: str, found: list[Bound], where: Where) -> list[tuple[ast.expr | None, Where]]:
        """What a name is given in the branches that are taken, where that is but one thing."""
        if len(found) > 1:  # what a command adds to a file's settings nobody sees
            found = [one for one in found if not (isinstance(one.value, ast.Call) and last(one.value.func) == "merge")]
            found = [one for one in found if not any(map(self._is_left, one.branches, repeat(one.where)))]
        values = {one.value and ast.dump(one.value) for one in found}
        return [(found[0].value if len(values) == 1 else _in_turn(name, found), where)]

    def _is_left(self, branch: tuple[ast.stmt, bool], where: Where) -> bool:
        if not isinstance(branch[0], ast.If):
            return False
        said, self.asked = self.asked, set()
        test = self.only(branch[0].test, where)
        self.branched = self.branched or bool(self.asked)
        self.asked |= said
        return not isinstance(test, _Unknown) and bool(test) != branch[1]

    def _is_taken(self, node: ast.stmt, side: bool, where: Where) -> bool:
        test = self.only(node.test, where) if isinstance(node, ast.If) else UNKNOWN
        return not isinstance(test, _Unknown) and bool(test) == side

    def _once(self, name: str, where: Where) -> tuple[ast.expr, Where] | None:
        found = self._meant(name, where)
        return (found[0][0], found[0][1]) if len(found) == 1 and found[0][0] is not None else None

    def _handed(self, name: str, where: Where) -> Iterator[tuple[ast.expr | None, Where]]:
        """What each caller gives the parameter, else its default; nobody's None where it must be given."""
        function = where.function
        assert function is not None
        calls = list(self._callers(where))
        default = default_of(function, name)
        if not calls or len(calls) > _MANY:
            said = self._say(name) if not calls else UNKNOWN  # whoever starts the program, by fire
            known = isinstance(said, (bool, int, float, str))
            yield ast.Constant(said) if known else default if not calls else None, Where(where.tree, None, None)  # type: ignore[arg-type]
        for call, place in calls[:_MANY]:
            given = argument(call, function, name, where.owner is not None and where.outer is None)
            if given is None and (any(one.arg is None for one in call.keywords) or is_spread(call)):
                self._say(name)  # what is handed on may say it
            yield (given, place) if given is not None else (default, Where(where.tree, None, None))

    def is_run(self, where: Where) -> bool:
        """Whether a place is no function of another module that nobody of the program calls or hands on."""
        name = where.function.name if where.function is not None else ""
        return (
            where.tree is self.trees[0]
            or where.owner is not None
            or not name
            or name in self._called
            or self._names(name)
        )

    def _names(self, name: str) -> bool:
        """Whether a function is named anywhere: `rows.map(tokenize)`."""
        return any(
            (isinstance(node, ast.Name) and node.id == name) or (isinstance(node, ast.Attribute) and node.attr == name)
            for tree in self.trees
            for node in ast.walk(tree)
        )

    def _callers(self, where: Where) -> Iterator[tuple[ast.Call, Where]]:
        function, owner = where.function, where.owner
        assert function is not None
        for one in self._called.get(
            owner.name if owner is not None and function.name == "__init__" else function.name, ()
        ):
            words = dotted(one.node.func) or [""]
            if owner is None or where.outer is not None:
                if words[-1] == function.name and len(words) < 3 and one.where.function is not function:
                    yield one.node, one.where
            elif function.name == "__init__":
                if words[-1] == owner.name:
                    yield one.node, one.where
            elif isinstance(one.node.func, ast.Attribute) and one.node.func.attr == function.name:
                receiver = one.node.func.value
                itself = isinstance(receiver, ast.Name) and receiver.id == "self" and one.where.owner is owner
                made = None if itself else self._object(receiver, one.where, 2)
                if itself or (made is not None and made.of is owner):
                    yield one.node, one.where

    def _of_attribute(self, node: ast.Attribute, where: Where, far: int) -> Iterator[object]:
        if isinstance(node.value, ast.Name) and node.value.id == "self" and where.owner is not None:
            yield from self._of_self(node.attr, where.owner, far)
            return
        made = self._object(node.value, where, far)
        if made is not None:
            yield from self._of_made(made, node.attr, far)
            return
        within = self._stands_for(node.value, where, far)
        if within is not None and isinstance(within[0], ast.Dict):
            yield from self._of_key(node.value, node.attr, where, far)
            return
        words = dotted(node)
        of = self._classes.get(words[-2]) if words is not None else None
        if of is not None and node.attr not in self._touched and (default := field_of(of, node.attr)) is not None:
            yield from self.several(default, Where(self._tree(of), None, None), far)
            return
        if words is not None and words[0] == "torch" and node.attr in _DTYPES:
            yield node.attr
            return
        constant = self._elsewhere(node.attr, where)
        yield from (
            self.several(*constant, far) if constant is not None else [self._changed(last(node.value), node.attr, far)]
        )

    def is_changed(self, spelled: str) -> bool:
        """Whether the program sets an attribute of what has it: `args.bf16 = True`."""
        of, _, name = spelled.rpartition(".")
        return any(one == of for one, _ in self._touched.get(name, ()))

    def _changed(self, of: str, name: str, far: int) -> object:
        """What is said under a name, with what the program makes of it: `if not args.bf16 and not args.fp16: args.bf16 = True`."""
        value = self._say(name)
        asked = (name, -1)
        if asked in self._active:
            return value
        self._active.add(asked)
        for one in [bound for has, bound in self._touched.get(name, ()) if has == of]:
            if any(map(self._is_left, one.branches, repeat(one.where))):
                continue
            taken_always = all(self._is_taken(*branch, one.where) for branch in one.branches)
            value = self.only(one.value, one.where, far) if one.value is not None and taken_always else UNKNOWN
        self._active.discard(asked)
        return value

    def _of_self(self, name: str, owner: ast.ClassDef, far: int) -> Iterator[object]:
        for one in self._above(owner):
            found = self._assigned.get((one.name, name))
            if found or name in self._touched:
                for value, place in found or ():
                    yield from self.several(value, place, far) if value is not None else [UNKNOWN]
                yield from [UNKNOWN] if name in self._touched else []
                return
            if (default := field_of(one, name)) is not None:
                yield from self.several(default, Where(self._tree(one), None, None), far)
                return
        yield UNKNOWN

    def _of_made(self, made: Made, name: str, far: int) -> Iterator[object]:
        if name in self._touched:
            yield UNKNOWN
        found = self._attribute(made, name, far)
        yield from self.several(*found, far) if found is not None else [self._say(name)]

    def _attribute(self, made: Made, name: str, far: int) -> tuple[ast.expr, Where] | None:
        """What gives the attribute of an object its value: its maker, what its class assigns, or its default."""
        for one in self._above(made.of):
            starts = next((f for f in one.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
            assigned = self._assigned.get((one.name, name), [])
            if starts is not None and len(assigned) == 1 and isinstance(assigned[0][0], ast.Name):
                given = argument(made.call, starts, assigned[0][0].id, True)
                if given is not None:
                    return given, made.where
            if assigned:
                return (assigned[0][0] or _UNCLEAR, assigned[0][1]) if len(assigned) == 1 else (_UNCLEAR, made.where)
            given = next((k.value for k in made.call.keywords if k.arg == name), None) if starts is None else None
            if given is not None:
                return given, made.where
            for spread in (k.value for k in made.call.keywords if k.arg is None):
                of = self._table(spread, made.where, far - 1)
                if of is None:
                    return _as_written(self._say(name)), made.where
                if (within := self._under(of[0], name, of[1], far - 1)) is not None:
                    return within
            if (default := field_of(one, name)) is not None:
                return default, Where(self._tree(one), None, None)
        return None

    def _object(self, node: ast.expr, where: Where, far: int) -> Made | None:
        """The object of a class of the program's own that an expression is."""
        if far < 0 or self._is_spent():
            return None
        if isinstance(node, ast.Call):
            words = dotted(node.func) or [""]
            of = self._class(words[-1], where) if len(words) < 3 else None
            if of is None and words[-1] in self._functions and len(words) < 3:
                place = self._functions[words[-1]]
                given = list(returned(place.function))
                return self._object(given[0], place, far - 1) if len(given) == 1 else None
            return Made(of, node, where) if of is not None else None
        if isinstance(node, ast.Name):
            if where.function is not None and node.id in parameters_of(where.function):
                handed = self._meant(node.id, where)
                found = [self._object(one, place, far - 1) if one else None for one, place in handed]
                return found[0] if len(found) == 1 else None
            once = self._once(node.id, where)
            return self._object(*once, far - 1) if once is not None else None
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            for one in self._above(where.owner) if where.owner is not None else ():
                assigned = self._assigned.get((one.name, node.attr), [])
                if len(assigned) == 1 and assigned[0][0] is not None:
                    return self._object(assigned[0][0], assigned[0][1], far - 1)
        if isinstance(node, ast.Attribute) and (made := self._object(node.value, where, far - 1)) is not None:
            within = self._attribute(made, node.attr, far - 1)
            return self._object(*within, far - 1) if within is not None else None
        return None

    def _of_key(self, node: ast.expr, key: object, where: Where, far: int) -> Iterator[object]:
        """`settings["lr"]`, where the dictionary stands in the program; else what is said under the key."""
        within = self._table(node, where, far)
        if within is not None:
            found = self._under(within[0], key, within[1], far)
            yield from self.several(*found, far) if found is not None else [UNKNOWN]
            return
        yield self._say(key) if isinstance(key, str) else UNKNOWN

    def _table(self, node: ast.expr, where: Where, far: int) -> tuple[ast.expr, Where] | None:
        found = self._stands_for(node, where, far)
        return found if found is not None and isinstance(found[0], ast.Dict) else None

    def _stands_for(self, node: ast.expr, where: Where, far: int) -> tuple[ast.expr, Where] | None:
        """The expression that a name, a part of a dictionary or what a function of the program's own returns stands for in the end."""
        for left in range(far, 0, -1):
            if self._is_spent():
                return None
            if isinstance(node, (ast.Dict, ast.Tuple)):
                return node, where
            made = self._behind(node, where, left - 1)
            if made is None:
                return None
            if made[0] is node:
                return made
            node, where = made
        return None

    def _behind(self, node: ast.expr, where: Where, far: int) -> tuple[ast.expr, Where] | None:
        """The next expression on the way; itself where there is none, None where that is not known."""
        if isinstance(node, ast.Name):
            return self._once(node.id, where)
        if isinstance(node, ast.Subscript):
            return self._part(node.value, self.only(node.slice, where, far), where, far)
        if isinstance(node, ast.Attribute) and last(node.value) == "self" and where.owner is not None:
            assigned = [
                one for each in self._above(where.owner) for one in self._assigned.get((each.name, node.attr), ())
            ]
            return (assigned[0][0], assigned[0][1]) if len(assigned) == 1 and assigned[0][0] is not None else None
        if isinstance(node, ast.Attribute):
            return self._part(node.value, node.attr, where, far) or self._elsewhere(node.attr, where)
        if not isinstance(node, ast.Call):
            return node, where
        if isinstance(node.func, ast.Name) and node.func.id in self._functions:
            of_call = self._functions[node.func.id]
            if MERGING.search(node.func.id) and len(node.args) == 2:
                return self._merged(node, [(one, where) for one in node.args], deep=True)
            given = list(returned(of_call.function))
            return (given[0], of_call) if len(given) == 1 else None
        if self._is_loader(node.func) and node.args:
            path = self._path(node.args[0], where, far)
            found = self._opened(path) if path else None
            if isinstance(found, dict) and path not in self._kept:
                self._kept[path] = _as_written(found)
            return (self._kept[path], where) if isinstance(found, dict) else None
        if last(node.func) in _MERGES and len(node.args) > 1:
            return self._merged(node, [(one, where) for one in node.args], deep=True)
        if last(node.func) in _OF_KEYWORDS and not node.args and node.keywords:
            keys = [ast.Constant(one.arg) if one.arg else None for one in node.keywords]
            return self._kept.setdefault(id(node), ast.Dict(keys, [one.value for one in node.keywords])), where  # type: ignore[arg-type]
        if (last(node.func) in _SAME or (last(node.func) == "dict" and not node.keywords)) and node.args:
            return node.args[0], where
        if last(node.func) == "copy" and isinstance(node.func, ast.Attribute):
            return (node.args[0] if node.args else node.func.value), where
        if last(node.func) == "get" and isinstance(node.func, ast.Attribute) and len(node.args) in (1, 2):
            found = self._part(node.func.value, self.only(node.args[0], where, far), where, far)
            return found or ((node.args[1], where) if len(node.args) == 2 else None)
        return node, where

    def _merged(self, by: ast.AST, parts: list[tuple[ast.expr, Where]], deep: bool) -> tuple[ast.expr, Where]:
        """The dictionary of several of which the last one counts; what a command adds to them nobody sees."""
        if id(by) not in self._kept:
            parts = [one for one in parts if not (isinstance(one[0], ast.Call) and last(one[0].func) in _OF_COMMANDS)]
            merged = ast.Dict([None for _ in parts], [one for one, _ in parts])
            self._apart.update((id(one), place) for one, place in parts)
            self._kept[id(by)] = merged
            self._deep |= {id(merged)} if deep else set()
        return self._kept[id(by)], parts[0][1]

    def _part(self, node: ast.expr, key: object, where: Where, far: int) -> tuple[ast.expr, Where] | None:
        of = self._stands_for(node, where, far)
        return self._under(of[0], key, of[1], far) if of is not None else None

    def _is_loader(self, called: ast.expr) -> bool:
        words = dotted(called) or [""]
        return len(words) > 1 and words[-1] in _LOADERS and words[-2] in _SETTINGS

    def _path(self, node: ast.expr, where: Where, far: int) -> str:
        """The path of what is opened or read there."""
        for _ in range(far):
            said = self.only(node, where, far - 1)
            if isinstance(said, str):
                return said
            if isinstance(node, ast.Name):
                made = self._once(node.id, where) or self._opened_last(node, where)
                if made is None:
                    return ""
                node, where = made
            elif isinstance(node, ast.Call) and last(node.func) in _TEXT_OF:
                if not node.args and not isinstance(node.func, ast.Attribute):
                    return ""
                of_object = isinstance(node.func, ast.Attribute) and (not node.args or last(node.func) != "str")
                node = node.func.value if of_object and isinstance(node.func, ast.Attribute) else node.args[0]
            else:
                return ""
        return ""

    def _opened_last(self, node: ast.Name, where: Where) -> tuple[ast.expr, Where] | None:
        """Of several files that are opened under one name the one before."""
        found = self._bound.get(id(where.function or where.tree), {}).get(node.id, [])
        opened = [one.value for one in found if one.value is not None and one.value.lineno <= node.lineno]
        if len(opened) == 0 or not all(
            isinstance(one.value, ast.Call) and last(one.value.func) == "open" for one in found
        ):
            return None
        return max(opened, key=lambda one: one.lineno), where

    def _under(self, node: ast.expr, key: object, where: Where, far: int) -> tuple[ast.expr, Where] | None:
        """What stands in a dictionary under a key, or in another that is spread in it or put into it later; of several values the one at a place.
        Where that may stand in what is not known, an expression that is not known either."""
        if isinstance(node, ast.Tuple) and isinstance(key, int) and 0 <= key < len(node.elts):
            return node.elts[key], where
        if not isinstance(node, ast.Dict):
            return None
        put, deep = self._put(node, key, far)
        if put is not None and not deep:
            return put
        within = [put] if put is not None else []
        for name, value in [*zip(node.keys, node.values, strict=True)][::-1]:
            place = self._apart.get(id(value), where)
            if isinstance(name, ast.Constant) and name.value == key:
                within.append((value, place))
                break
            if name is not None:
                continue
            spread = self._table(value, place, far - 1)
            found = self._under(spread[0], key, spread[1], far - 1) if spread is not None else (_UNCLEAR, where)
            within += [found] if found is not None else []
            if within and not deep and id(node) not in self._deep:
                break
        if len(within) < 2 or within[0][0] is _UNCLEAR:
            return within[0] if within else None
        sections = [self._stands_for(*one, far - 1) if far > 0 else None for one in within]
        if not all(one is not None and isinstance(one[0], ast.Dict) for one in sections):
            return within[0]
        many = (id(node), key)
        if many not in self._kept:
            self._kept[many] = ast.Dict([None for _ in within], [one for one, _ in within[::-1]])
            self._apart.update((id(one), place) for one, place in within)
            self._deep.add(id(self._kept[many]))
        return self._kept[many], within[0][1]

    def _put(self, node: ast.Dict, key: object, far: int) -> tuple[tuple[ast.expr, Where] | None, bool]:
        """What is put into a dictionary under a key after it was made, in a branch that is not left; and whether section by section."""
        stored = self._stored.get(key, []) if isinstance(key, (str, int)) else []
        if not (stored or self._updated) or far <= 0 or (_PUTS, id(node)) in self._active:
            return None, False
        self._active.add((_PUTS, id(node)))
        found: list[tuple[ast.expr, Where]] = []
        deep = True
        for one in (*stored, *self._updated):
            of = self._stands_for(one.of, one.where, far - 1)
            if of is None or of[0] is not node or any(map(self._is_left, one.branches, repeat(one.where))):
                continue
            if one in stored:
                found.append((one.value, one.where))
                deep = False
                continue
            more = self._table(one.value, one.where, far - 1)
            part = self._under(more[0], key, more[1], far - 1) if more is not None else (_UNCLEAR, one.where)
            found += [part] if part is not None else []
            deep = deep and one.deep
        self._active.discard((_PUTS, id(node)))
        return (found[0] if len(found) == 1 else (_UNCLEAR, found[0][1])) if found else None, deep and len(found) == 1


class _Instead(ast.NodeTransformer):
    """An expression with another one in the place of a name."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self._name, self._value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._value if node.id == self._name else node


def _in_turn(name: str, found: list[Bound]) -> ast.expr | None:
    """`steps = a // b`, then `steps = max(1, steps)`: what each line makes of the one before."""
    values = [one.value for one in found if one.value is not None and not one.branches and hasattr(one.value, "lineno")]
    if not values or len(values) != len(found) or len(values) > _DEEP:
        return None
    first, *others = sorted(values, key=lambda one: one.lineno)
    for one in others:
        if not any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(one)):
            return None
        first = _Instead(name, first).visit(ast.parse(ast.unparse(one), mode="eval").body)
    return first


def _is_here(node: ast.expr) -> bool:
    """Whether it is a folder around the program: `Path(__file__).resolve().parents[1]`, `os.path.dirname(__file__)`."""
    found = [one for one in ast.walk(node) if isinstance(one, (ast.Name, ast.Constant))] if _is_chain(node) else []
    named = [one.id for one in found if isinstance(one, ast.Name)]
    return "__file__" in named and not any(
        isinstance(one, ast.Constant) and isinstance(one.value, str) for one in found
    )


def _as_written(value: object) -> ast.expr:
    """What a file says, as it would stand in a program."""
    if isinstance(value, dict):
        return ast.Dict([ast.Constant(one) for one in value], [_as_written(one) for one in value.values()])
    if isinstance(value, list):
        return ast.List([_as_written(one) for one in value], ast.Load())
    return ast.Constant(value) if isinstance(value, (bool, int, float, str, type(None))) else ast.Name("", ast.Load())


def _is_chain(node: ast.expr) -> bool:
    """Whether settings may be said under what it is written as."""
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))


def _is_number(found: list[object]) -> bool:
    return len(found) == 1 and isinstance(found[0], (int, float)) and not isinstance(found[0], bool)


def _made(value: object, of: type) -> object:
    try:
        return UNKNOWN if isinstance(value, (_Unknown, _Thing)) or value is None else of(value)
    except (TypeError, ValueError, OverflowError):
        return UNKNOWN
