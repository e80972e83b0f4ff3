"""The record that every check's modules are made of is typing's NamedTuple in all that they use."""

from __future__ import annotations

import copy
import pickle
import typing

import pytest

from stablint.base.light import NamedTuple


class Ours(NamedTuple):
    """A place."""

    x: int
    y: typing.Sequence[str]
    tail: tuple[int, ...] = ()
    name: str = "none"

    @property
    def double(self) -> int:
        return self.x * 2

    @classmethod
    def at(cls, x: int) -> Ours:
        return cls(x, [], name="at")


class Theirs(typing.NamedTuple):
    """A place."""

    x: int
    y: typing.Sequence[str]
    tail: tuple[int, ...] = ()
    name: str = "none"


class Empty(NamedTuple):
    pass


def test_values_are_reached_by_name_and_by_place() -> None:
    one = Ours(1, y=["a"], name="here")
    assert (one.x, one.y, one.tail, one.name, one.double) == (1, ["a"], (), "here", 2)
    assert one == Theirs(1, ["a"], (), "here") == (1, ["a"], (), "here")
    x, _, tail, name = one
    assert (x, tail, name, one[-1], len(one)) == (1, (), "here", "here", 4)
    assert Ours.at(3) == (3, [], (), "at")
    assert Empty() == ()
    match one:
        case Ours(x, y=["a"]):
            assert x == 1
        case _:
            raise AssertionError


def test_it_has_the_methods_of_typing_s() -> None:
    ours, theirs = Ours(1, ["a"]), Theirs(1, ["a"])
    assert ours._asdict() == theirs._asdict()
    assert ours._replace(x=2) == theirs._replace(x=2)
    assert type(ours._replace(x=2)) is Ours
    assert Ours._make([1, 2, 3, 4]) == (1, 2, 3, 4)
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    assert (Ours._fields, Ours._field_defaults) == (Theirs._fields, Theirs._field_defaults)
    assert hash(Ours(1, ())) == hash((1, (), (), "none"))
    assert pickle.loads(pickle.dumps(ours)) == copy.copy(ours) == ours
    assert type(pickle.loads(pickle.dumps(ours))) is Ours
    assert (Ours.__doc__, Ours.__module__, Ours.__qualname__) == ("A place.", __name__, "Ours")
    assert typing.get_type_hints(Ours) == typing.get_type_hints(Theirs)
    assert not hasattr(ours, "__dict__")


def test_what_is_wrong_is_refused() -> None:
    for arguments, keywords in [((), {}), ((1,), {}), ((1, 2, 3, 4, 5), {}), ((1, 2), {"x": 1}), ((1, 2), {"z": 1})]:
        with pytest.raises(TypeError):
            Ours(*arguments, **keywords)  # type: ignore[arg-type]
    with pytest.raises((TypeError, ValueError)):
        Ours(1, [])._replace(z=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Ours._make([1])
    with pytest.raises(AttributeError):
        Ours(1, []).x = 2  # type: ignore[misc]
    with pytest.raises(TypeError, match="default"):

        class Behind(NamedTuple):  # type: ignore[misc]
            a: int = 1
            b: int  # type: ignore[misc]
