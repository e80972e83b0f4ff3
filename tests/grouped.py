"""A law that is tried on thousands of small cases is one test a group of them: each test costs every process of a run a millisecond before it does anything."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import pytest

from tests.sampling import is_sampled


class Case(NamedTuple):
    name: str
    values: tuple[Any, ...]


def by(group: Callable[..., str], name: Callable[..., str], cases: Iterable[Any]) -> dict[str, list[Case]]:
    """The cases (a plain tuple is several values) by their group, each with its name."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        values = case if type(case) is tuple else (case,)
        found.setdefault(group(*values), []).append(Case(name(*values), values))
    return found


def each(groups: Mapping[str, list[Case]], one_in: int = 1) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a test a group of a law whose first arguments are the values of a case; the others are fixtures, and `tmp_path` a folder of the case.

    All cases are tried; the failure names those that do not hold. With `one_in`, all but one in so many cases are a test of their own, marked
    `slow` (sampling.py).
    """
    chosen = []
    for group, cases in groups.items():
        now = [case for case in cases if is_sampled(case.name, one_in)]
        later = [case for case in cases if case not in now] if len(now) < len(cases) else []
        if now:
            chosen.append(pytest.param(now, id=group))
        if later:
            chosen.append(pytest.param(later, id=f"{group}, more", marks=pytest.mark.slow))

    def made(law: Callable[..., None]) -> Callable[..., None]:
        taken = list(inspect.signature(law).parameters.values())[len(next(iter(groups.values()))[0].values) :]

        def test(cases: list[Case], **fixtures: Any) -> None:
            wrong: dict[str, Exception] = {}
            skipped: dict[str, pytest.skip.Exception] = {}
            for number, case in enumerate(cases):
                own = fixtures
                if "tmp_path" in fixtures and len(cases) > 1:
                    own = fixtures | {"tmp_path": fixtures["tmp_path"] / str(number)}
                    own["tmp_path"].mkdir()
                try:
                    law(*case.values, **own)
                except pytest.skip.Exception as reason:
                    skipped[case.name] = reason
                except Exception as error:  # noqa: BLE001 - whatever a law raises is told with its case
                    wrong[case.name] = error
            if wrong:
                told = "\n".join(f"{name}: {type(error).__name__}: {error}" for name, error in wrong.items())
                raise AssertionError(f"{len(wrong)} of {len(cases)}\n{told}") from next(iter(wrong.values()))
            if len(skipped) == len(cases):
                raise next(iter(skipped.values()))

        test.__name__, test.__doc__, test.__module__ = law.__name__, law.__doc__, law.__module__
        first = inspect.Parameter("cases", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        test.__signature__ = inspect.Signature([first, *taken])  # type: ignore[attr-defined]
        return pytest.mark.parametrize("cases", chosen)(test)

    return made
