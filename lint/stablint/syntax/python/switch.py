"""Whether the branch that makes an object is taken: what its tests come to by the program's own settings and defaults."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from stablint.syntax.python.constants import defaulted
from stablint.syntax.python.scope import Branch, FoundCall, Scope, dotted, position_of
from stablint.syntax.tree import Scalar, Sequence, Unknown

if TYPE_CHECKING:
    from stablint.syntax.python.calls import Calls


class _Truth(NamedTuple):
    value: bool | None  # None: not known
    names: tuple[str, ...] = ()  # settings of the caller that it rests on


def switch(calls: Calls, found: FoundCall) -> Scalar | None:
    """None where the object is made whenever the program runs, or nothing but a loop or a `try` stands around it."""
    around = _around(calls, found)
    if (
        not around
        and found.scope.node is not None
        and isinstance(found.scope.node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and not _loads_model(calls, found.scope)
    ):
        sites = calls.caller.sites(found.scope.node.name)
        if len(sites) == 1:  # a function that one branch calls
            around = _around(calls, sites[0])
    if not around:
        return None
    truth = _all(_held(calls, around))
    test = around[0].test
    start, end = calls.places.start(test), calls.places.end(test)
    if truth.value is None:
        return Scalar(Unknown(f"`{calls.spelled(test)}` decides when the program runs"), start, end, "unknown", False)
    if truth.value and not truth.names:
        return None
    return Scalar(truth.value, start, end, "default:" + ",".join(truth.names) if truth.names else "name", False)


# AutoModelForCausalLM, LlamaForCausalLM, FastLanguageModel, AutoModel; no tokenizer, processor or configuration.
_MODEL = re.compile(r"Model|For[A-Z]|LM")


def _loads_model(calls: Calls, scope: Scope) -> bool:
    """Whether the function that holds the place loads the model as well: whatever decides whether it is called decides of the model, and not
    whether that is adapted or quantised."""
    loads = (one for one in calls.names.called("from_pretrained") if one.scope is scope and not one.conditional)
    return any(_MODEL.search((dotted(one.node.func) or [""])[-2:][0]) for one in loads)


def alternative(calls: Calls, found: FoundCall) -> bool:
    """Whether a branch makes it, for all that is known, and its function has another call of the same name outside of that branch: a run may
    be one of the other."""
    around = calls.names.nests(found.scope).around(position_of(found.node)) if found.conditional else []
    if not around:
        return False
    first, last = calls.names.reach(found)
    return any(
        not one.start <= first <= last < one.end
        and _turned(_truth(calls, one.test, one.scope), one.positive) != _Truth(True)
        for one in around
    )


def in_a_branch(calls: Calls, found: FoundCall) -> bool:
    """Whether a test of which nobody knows the outcome stands around it, or around the only call of the function that makes it, or its function
    may have given something else before: `if not old: return new()`."""
    around = _tests(calls, found)
    return _all([*_held(calls, around), *_passed(calls, found)]) != _Truth(True)


def _held(calls: Calls, branches: list[Branch]) -> list[_Truth]:
    return [_turned(_truth(calls, one.test, one.scope), one.positive) for one in branches]


def _passed(calls: Calls, found: FoundCall) -> Iterator[_Truth]:
    """Of each branch that gives something else before the place is reached: that it is not taken."""
    place, nests = position_of(found.node), calls.names.nests(found.scope)
    outer = nests.around(place)
    for one in nests.giving() if found.scope.node is not None else ():
        if one.end <= place:
            within = [part for part in nests.around(one.start) if part not in outer]
            yield _turned(_all(_held(calls, within)), False)


def _tests(calls: Calls, found: FoundCall) -> list[Branch]:
    around = _around(calls, found) if found.conditional else []
    function = found.scope.node
    if not around and isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        sites = calls.caller.sites(function.name)
        if len(sites) == 1 and sites[0].conditional:  # a function that one branch calls
            around = _around(calls, sites[0])
    return around


def _around(calls: Calls, found: FoundCall) -> list[Branch]:
    """The branches that a call stands in, from the outside in, and those in which its function ends before, turned round."""
    place, nests = position_of(found.node), calls.names.nests(found.scope)
    around = nests.around(place)
    if id(nests) not in calls.guards:
        calls.guards[id(nests)] = [
            (one, parent)
            for one, parent in nests.with_parents()
            if one.leaves and _MADE.search(calls.spelled(one.test))
        ]
    guards = (
        one._replace(positive=not one.positive)
        for one, parent in calls.guards[id(nests)]
        if one.end <= place and (parent is None or parent.start <= place < parent.end)
    )
    return [*around, *guards]


# `if not use_lora: return model`: the function ends there unless an adapter, or bits, are wanted, before what stands behind is reached.
_MADE = re.compile(r"lora|peft|adapter|quanti[sz]|[48]_?bit|bnb", re.IGNORECASE)


def _truth(calls: Calls, test: ast.expr, scope: Scope) -> _Truth:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _turned(_truth(calls, test.operand, scope), False)
    if isinstance(test, ast.BoolOp):
        parts = [_truth(calls, one, scope) for one in test.values]
        if isinstance(test.op, ast.And):
            return _all(parts)
        return _turned(_all([_turned(one, False) for one in parts]), False)
    if isinstance(test, ast.Attribute) and test.attr == "do_train":
        return _Truth(True)  # a run that trains is what is asked about
    value = calls.value(test, scope)
    if isinstance(value, Sequence):
        return _Truth(bool(value.items))
    if not isinstance(value, Scalar) or isinstance(value.value, Unknown):
        return _Truth(None)
    return _Truth(bool(value.value), tuple(filter(None, defaulted(value).split(","))))


def _turned(truth: _Truth, positive: bool) -> _Truth:
    return truth if positive or truth.value is None else truth._replace(value=not truth.value)


def _all(parts: list[_Truth]) -> _Truth:
    """Of conditions that must all hold: one that certainly does not decides; what is not known leaves it open."""
    if any(one.value is False and not one.names for one in parts):
        return _Truth(False)
    names = tuple(dict.fromkeys(name for one in parts for name in one.names))
    if any(one.value is None for one in parts):
        return _Truth(None, names)
    return _Truth(all(one.value for one in parts), names)
