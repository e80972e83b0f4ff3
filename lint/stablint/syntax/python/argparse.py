"""The option strings of a program's own parser, where all of them stand in the file and the parser stops at any other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from stablint.syntax.python.caller import Caller
from stablint.syntax.python.scope import FoundCall, called_name, dotted

_MAKES = "argparse.ArgumentParser"
_GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group"})
# What takes options from elsewhere, or lets unknown ones pass.
_LEAVES_OPEN = frozenset(
    {"parse_known_args", "parse_known_intermixed_args", "add_subparsers", "add_argparse_args", "from_argparse_args"}
)
_PLAIN = frozenset(
    {"description", "prog", "usage", "epilog", "formatter_class", "add_help", "allow_abbrev", "exit_on_error"}
)
_OWN = frozenset({"-h", "--help"})
# What may be asked of a parser or a group without its taking other options than those that stand there.
_ASKED = _GROUPS | {
    "add_argument", "parse_args", "set_defaults", "get_default", "print_help", "print_usage", "format_help", "format_usage", "error", "exit",
}  # fmt: skip
_REST = frozenset({"...", "A..."})  # argparse.REMAINDER and argparse.PARSER


def option_strings(caller: Caller) -> frozenset[str]:
    """Empty where anything else may add an option: a function that gets the parser, a module, a parser of other kind, `sys.argv` itself."""
    calls = caller.values.names.calls
    made = [found for found in calls if called_name(found.node.func, found.scope).endswith("ArgumentParser")]
    source = caller.values.source
    if len(made) != 1 or called_name(made[0].node.func, made[0].scope) != _MAKES or "sys.argv" in source:
        return frozenset()
    keywords = {keyword.arg for keyword in made[0].node.keywords}
    if made[0].target is None or made[0].node.args or not keywords <= _PLAIN:
        return frozenset()
    methods = [(found, found.node.func) for found in calls if isinstance(found.node.func, ast.Attribute)]
    if any(method.attr in _LEAVES_OPEN for _, method in methods) or not _is_parsed(caller, methods):
        return frozenset()
    groups = [found.target for found, method in methods if method.attr in _GROUPS]
    holders = frozenset([made[0].target, *groups])
    function = made[0].scope.node  # `add_more(build_parser())` hands on what it gives back
    maker = function.name if isinstance(function, ast.FunctionDef) else ""
    if any(_is_handed_on(found, holders, maker) for found in calls):
        return frozenset()
    if _HELD.search(source) or _is_used_otherwise(caller.values.names.tree, holders):
        return frozenset()
    found = list(_declared(methods))
    return frozenset() if any(one is None for one in found) else _OWN.union(one for one in found if one is not None)


def _is_parsed(caller: Caller, methods: list[tuple[FoundCall, ast.Attribute]]) -> bool:
    """Once, with the words of the command, where the program certainly comes by."""
    parses = [found for found, method in methods if method.attr == "parse_args"]
    if len(parses) != 1 or parses[0].node.args or parses[0].node.keywords or parses[0].conditional:
        return False
    scope = parses[0].scope
    if scope.kind == "module":
        return True
    node = scope.node
    return isinstance(node, ast.FunctionDef) and any(not site.conditional for site in caller.sites(node.name))


# `add = parser.add_argument`, `getattr(parser, "add_argument")`: what it is called with later is not looked for.
_HELD = re.compile(r"\badd_argument\b(?![ \t]*\()")


def _is_handed_on(found: FoundCall, holders: frozenset[str | None], maker: str) -> bool:
    waiting = [*found.node.args, *(keyword.value for keyword in found.node.keywords)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Starred):
            waiting.append(node.value)
        elif isinstance(node, (ast.List, ast.Tuple)):
            waiting += node.elts
        elif isinstance(node, ast.Call):
            if maker and (dotted(node.func) or [""])[-1] == maker:
                return True
        elif ".".join(dotted(node) or []) in holders:
            return True
    return False


def _is_used_otherwise(tree: ast.Module, holders: frozenset[str | None]) -> bool:
    """`add = parser.add_argument`, `map(parser.add_argument, names)`, `parser.error = print`, `parser._add_action(...)`: it may take more then."""
    asked = {
        node.func
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ASKED
    }
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in holders
        and node not in asked
        for node in ast.walk(tree)
    )


def _declared(methods: list[tuple[FoundCall, ast.Attribute]]) -> Iterator[str | None]:
    """Every option string; None for one that is not written out."""
    for found, method in methods:
        if method.attr != "add_argument":
            continue
        named = [node.value if isinstance(node, ast.Constant) else None for node in found.node.args]
        yield from (one if isinstance(one, str) else None for one in named)
        action = next((keyword.value for keyword in found.node.keywords if keyword.arg == "action"), None)
        if action is not None and not isinstance(action, ast.Constant):
            if called_name(action, found.scope).rpartition(".")[2] == "BooleanOptionalAction":
                yield from (f"--no-{one[2:]}" for one in named if isinstance(one, str) and one.startswith("--"))
            else:
                yield None  # a class of one's own, which may add option strings
        if not found.node.args or any(
            keyword.arg is None
            or (
                keyword.arg == "nargs" and (not isinstance(keyword.value, ast.Constant) or keyword.value.value in _REST)
            )
            for keyword in found.node.keywords
        ):
            yield None  # `nargs=argparse.REMAINDER` takes any flag
