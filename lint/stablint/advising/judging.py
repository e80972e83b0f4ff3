"""What an idea comes to in the run as it would be: proposals are those whose promise holds there."""

from __future__ import annotations

from typing import Any

from stablint.advising.asking import Idea
from stablint.advising.model import GAINS, Effect, Proposal
from stablint.base.language import gettext
from stablint.fitting.answer import FITS, NOT, Told
from stablint.fitting.remedies import Remedy
from stablint.fitting.terms import GIB
from stablint.hazard.wording import value_text
from stablint.run.fact import ABSENT, is_unknown
from stablint.run.world import World

_LEAST = 0.01  # of the peak: what changes it by less is not told
_GRADES = ("proven-in-source", "reproduced", "maintainer-confirmed", "computed", "counted", "reported", "folklore")
_EASY = 0.95  # of what is usable
_FROM_FIT = 2  # of the changes that `fit` offers


def proposal(idea: Idea, before: World, after: World, was: Told, now: Told) -> Proposal | None:
    """None where what the idea asks for is not so afterwards, or the run would fit less surely than before."""
    effect = idea.effect
    if was.verdict != now.verdict and (now.verdict == NOT or was.verdict == FITS):
        return None
    if any(_differ(before.value(name), after.value(name)) for name in effect.keeps):
        return None
    peaks = (was.peak[1], now.peak[1]) if was.estimate is not None and now.estimate is not None else None
    if effect.peak and (peaks is None or (now.reading is not None and now.reading.is_guessed)):
        return None
    if effect.peak == "falls" and peaks is not None and peaks[1] > peaks[0] * (1 - _LEAST):
        return None
    if effect.peak == "fits" and not _fits_easily(now):
        return None
    if effect.evaluates:
        peaks = _evaluated(effect.evaluates, before, after, was)
        if peaks is None:
            return None
    told = [] if peaks is None or abs(peaks[1] - peaks[0]) <= _LEAST * peaks[0] else [_of_peak(peaks, was, now, effect)]
    told += [text for name in effect.shows if (text := _shown(name, before.value(name), after.value(name)))]
    told += [effect.words] if effect.words else []
    changed = peaks is not None and abs(peaks[1] - peaks[0]) > _LEAST * peaks[0]
    said = now.verdict if now.estimate is not None and now.usable is not None else None
    return Proposal(
        idea.id, idea.gain, idea.title, idea.why, idea.facts, idea.files, idea.by_hand, "; ".join(told), peaks if changed else None, said, idea.grade,
        idea.sources, idea.not_when,
    )  # fmt: skip


def of_remedy(number: int, one: Remedy, was: Told) -> Proposal:
    """A change that `fit` offers: computed again from the changed file and linted there. Where the allocator fills the card before and afterwards,
    what is needed at once tells the difference."""
    effect = _peak(was.peak[1], one.peak[1], None)
    if was.estimate is not None and abs(was.peak[1] - one.peak[1]) <= _LEAST * was.peak[1]:
        effect = gettext("at most {was} → {now} GiB needed at once").format(
            was=f"{was.estimate.needed / GIB:.1f}", now=f"{one.needed:.1f}"
        )
    return Proposal(
        f"fit-{number}", "memory", one.title, gettext("it is {verdict} now").format(verdict=gettext(_WORDS[was.verdict])), dict(one.facts), one.files,
        "" if one.files else gettext("no file at hand has a place for it"), effect + _which_is(one.verdict),
        (was.peak[1], one.peak[1]), one.verdict, "computed", ("docs/fit.md",), gettext("it has a price: {cost}").format(cost=one.cost),
    )  # fmt: skip


_WORDS = {"fits": "enough to fit", "tight": "tight", "does-not-fit": "too much for the card", "unknown": "not known"}


def ranked(proposals: list[Proposal], remedies: list[Remedy], was: Told, most: int) -> list[Proposal]:
    """Stability, memory, speed; within one what is known best, then what brings most. What `fit` offers covers other ways to the same settings."""
    moves = [of_remedy(number, one, was) for number, one in enumerate(remedies[:_FROM_FIT], 1)]
    taken = {name for one in moves for name in one.facts}
    kept = [one for one in proposals if one.gain != "memory" or taken.isdisjoint(one.facts)]
    kept.sort(key=_order)
    return [
        *(one for one in kept if one.gain == "stability"),
        *moves,
        *(one for one in kept if one.gain != "stability"),
    ][:most]


def _order(one: Proposal) -> tuple[Any, ...]:
    saved = one.peak[1] - one.peak[0] if one.peak is not None else 0.0
    return GAINS.index(one.gain), _GRADES.index(one.grade), saved, one.id


def _fits_easily(now: Told) -> bool:
    """With what the allocator keeps besides, too: who needs no memory spends none on a run that only just goes."""
    return now.verdict == FITS and now.usable is not None and now.peak[1] <= _EASY * now.usable


_LOGIT = 6.0  # bytes: in half precision, and the float32 copy that the loss is computed from


def _evaluated(name: str, before: World, after: World, was: Told) -> tuple[float, float] | None:
    """GiB of an evaluation step whose rows reach the limit, now and afterwards; None unless the one is too much for the card and the other is not."""
    rows = [before.value(name), after.value(name)]
    if (
        was.reading is None
        or was.estimate is None
        or was.usable is None
        or not all(isinstance(one, int) for one in rows)
    ):
        return None
    plan = was.reading.plan
    if plan.loss != "full":
        return None
    lasting = was.estimate.proven + plan.context.usual
    now, then = ((lasting + one * plan.length.high * plan.shape.vocab * _LOGIT) / GIB for one in rows)
    return (now, then) if now > was.usable >= then else None


def _of_peak(peaks: tuple[float, float], was: Told, now: Told, effect: Effect) -> str:
    if effect.evaluates and was.reading is not None:
        return gettext("evaluation {was} → {now} GiB of {room}, if rows reach {tokens} tokens").format(
            was=f"{peaks[0]:.1f}",
            now=f"{peaks[1]:.1f}",
            room=f"{was.usable:.1f}",
            tokens=f"{was.reading.plan.length.high:,.0f}",
        )
    fits = was.verdict != now.verdict and now.verdict == FITS
    return _peak(*peaks, now.usable) + (_which_is(now.verdict) if fits else "")


def _peak(was: float, now: float, room: float | None) -> str:
    if room is None:
        return gettext("peak {was} → {now} GiB").format(was=f"{was:.1f}", now=f"{now:.1f}")
    return gettext("peak {was} → {now} GiB of {room}").format(was=f"{was:.1f}", now=f"{now:.1f}", room=f"{room:.1f}")


def _which_is(verdict: str) -> str:
    return gettext(", which is {verdict}").format(verdict=gettext(_WORDS[verdict]))


def _shown(name: str, was: object, now: object) -> str:
    if is_unknown(was) or is_unknown(now) or was is ABSENT or now is ABSENT or was == now:
        return ""
    return f"{name.rpartition('.')[2].replace('_', ' ')} {value_text(was)} → {value_text(now)}"


def _differ(was: object, now: object) -> bool:
    """Whether a fact that is known becomes another one, or is lost."""
    return not is_unknown(was) and (is_unknown(now) or was != now)
