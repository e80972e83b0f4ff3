"""Rows of numbers → the sicknesses that they show, each by two signs (DIAGNOSE §5). One pass, little state."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, insort
from collections import deque
from itertools import chain
from operator import length_hint
from typing import NamedTuple

from stablint.log.metrics import Row, row_of

_WINDOW = 64  # values that the running median is taken of
_BEFORE_MIDDLE = _WINDOW // 2 - 1
_JUMP = 2.0  # times that median
_FAR = 4.0  # times that median: twice in a row is enough
_UPPER = 0.95  # of the window's values stand below the one from which its spread is taken to the median
_UPPER_AT = int(_UPPER * (_WINDOW - 1))
_SPREADS = 3.0  # above the median: rows of single examples differ by more than a jump without any cause
_MANY = 256  # values of which the least and the largest are compared first
_LOGS = 3  # in a row
_BACK = 16  # losses behind the last one that stood out, and as many as stood out: the loss came back
_ROUND = 4  # digits behind the point that a norm may share with the next one
_LEVEL = 0.1  # a loss that a rounded one does not come down from in one step
_DIVERGED = "divergence"
_LN2 = math.log(2)  # the preference loss of a policy that tells nothing
_STUCK = 5  # logs at exactly that loss
# DeepSpeed's line, and that of apex.
_SCALE = re.compile(
    r"[Aa]ttempted loss scale: ?([\d.]+)(?:, reducing to ([\d.]+))?|reducing loss scale to ([\d.]+(?:e-?\d+)?)"
)


def _lost(losses: list[float], gone: list[bool]) -> int:
    """Of rows, those whose loss is no number or whose norm is `gone`."""
    if losses and gone and not all(gone):
        return sum(not math.isfinite(loss) or lost for loss, lost in zip(losses, gone, strict=True))
    return len(gone) if all(gone) and gone else sum(gone) + sum(not math.isfinite(loss) for loss in losses)


def scale_of(text: str) -> float | None:
    """What a scaler's line says that the scale is from now on."""
    found = _SCALE.search(text)
    return None if found is None else float(found[3] or found[2] or found[1])


class Sick(NamedTuple):
    symptom: str
    line: int  # of the first sign
    text: str
    times: int
    last: bool = False  # in the last row alone, which a step that is left out looks like as well


class _Sign:
    """What is kept of the rows that show one sign: never the rows themselves, of which a log may have millions."""

    def __init__(self) -> None:
        self.times = 0
        self.far = 0  # of them beyond _FAR
        self.first: Row | None = None
        self.worst: Row | None = None  # by its loss

    def see(self, row: Row, *, far: bool = False) -> None:
        self.times += 1
        self.far += far
        self.first = self.first or row
        if self.worst is None or row.values.get("loss", 0.0) > self.worst.values.get("loss", 0.0):
            self.worst = row


class _Window:
    """The last _WINDOW values, with their median."""

    def __init__(self) -> None:
        self._in_order: deque[float] = deque(maxlen=_WINDOW)
        self._sorted: list[float] = []

    def add(self, value: float) -> None:
        if len(self._in_order) == _WINDOW:
            del self._sorted[bisect_left(self._sorted, self._in_order[0])]
        self._in_order.append(value)
        insort(self._sorted, value)

    def single(self) -> bool:
        return len(self._sorted) == 1

    def ahead(self, values: list[float], jumped: int, far: int) -> _Window | None:
        """The window behind these values; None where `jumped` ones before them and those among them are a sign, or may become one: then the rows
        themselves are asked for."""
        level = _Window()
        level._in_order, level._sorted = self._in_order.copy(), list(self._sorted)
        for at in range(0, len(values), _MANY):
            many = values[at : at + _MANY]
            least = min(many) if not level._sorted else min(level._sorted[0], min(many))
            if max(many) <= _JUMP * least:  # no median of these is below the least of them
                level._take(many)
                jumped = far = 0
                continue
            at_last = 0
            while at_last < len(many):
                kept = level._put(many, at_last)
                at_last += kept
                if kept:
                    jumped = far = 0
                if at_last < len(many):
                    height = level.jump(many[at_last])
                    jumped, far = jumped + 1, far + (height > 1)
                    if jumped >= _LOGS or far >= 2:
                        return None
                    at_last += 1
        return None if jumped else level

    def _put(self, values: list[float], start: int) -> int:
        """Those behind `start` one after the other, up to the first that jumps; how many."""
        number = start
        while number < len(values) and len(self._in_order) < _WINDOW:
            if self.jump(values[number]):
                return number - start
            self.add(values[number])
            number += 1
        if number == len(values):
            return number - start
        ordered = self._sorted
        come = values[number:]
        waiting = iter(come)
        # What leaves stands as many places before what comes as the window is wide.
        for value, gone in zip(waiting, chain(self._in_order, come), strict=False):
            # The median is no less than the value before the middle, and what the spread leads to expect is further above the upper value than half
            # of the way from there to the median.
            if (
                value > _JUMP * ordered[_BEFORE_MIDDLE]
                and value > 2 * ordered[_UPPER_AT] - ordered[_BEFORE_MIDDLE + 1]
                and self.jump(value)
            ):
                come = come[: -length_hint(waiting) - 1]
                break
            del ordered[bisect_left(ordered, gone)]
            insort(ordered, value)
        self._in_order.extend(come)
        return number - start + len(come)

    def _take(self, values: list[float]) -> None:
        self._in_order.extend(values[-_WINDOW:])
        self._sorted = sorted(self._in_order)

    def jump(self, value: float) -> int:
        """0 for a value as they come; 1 where it is beyond what the window leads to expect; 2 far beyond."""
        usual = self.median()
        if usual is None or usual <= 0 or value <= _JUMP * usual:
            return 0
        spread = _SPREADS * (self._sorted[int(_UPPER * (len(self._sorted) - 1))] - usual)
        if value > max(_FAR * usual, usual + 2 * spread):
            return 2
        return int(value > usual + spread)

    def median(self) -> float | None:
        half, odd = divmod(len(self._sorted), 2)
        if not self._sorted:
            return None
        return self._sorted[half] if odd else (self._sorted[half - 1] + self._sorted[half]) / 2


class Watch:
    """Feed it rows and lines in their order; `found` is what they show."""

    def __init__(self) -> None:
        self._signs: dict[str, _Sign] = {}
        self._losses = _Window()
        self._jumped = _Sign()
        self._since = 0  # losses behind the last one of a divergence
        self._began: float | None = (
            None  # the first preference loss; Steady learns a form from a row that was read by itself
        )
        self._zeros = 0
        self._first_zero: Row | None = None
        self._norm = math.nan  # of the row before
        self._loss = 0.0  # the last one that was not 0
        self._fallen = _Sign()  # rows without a norm whose loss is exactly 0, from a loss that was none of the kind
        self._alike = _Sign()  # a policy's rows whose rewards have no spread, from the first one on
        self._spread = False  # there is a row whose rewards differ, or that does not tell
        self._unmoved = _Sign()  # rows whose rate and norm are exactly 0, from the first one on
        self._moves = False  # there is a row in which one of them is not, or is not told
        self._policy = False  # a row had rewards: of such a run the rows between say nothing by a loss of 0 either
        self._nans = 0
        self._first_nan: Row | None = None
        self._minima = 0
        self._first_minimum: Row | None = None
        self._sick: dict[str, Sick] = {}

    def found(self, *, ended: bool = False) -> list[Sick]:
        """`ended`: no row will come any more, so that a loss that is no number in the last one is not made good."""
        last = self._first_nan
        late = []
        lasting = [sick for sick in self._sick.values() if self._lasts(sick)]
        if ended and self._nans == 1 and last is not None and not lasting:
            lost = not math.isfinite(last.values.get("loss", 0.0))
            late = [Sick("nan-gradients", last.line, last.text, 1, last=not lost)]
        alike = self._alike.first
        if ended and alike is not None and not self._spread and not lasting and not late:
            late = [Sick("rewards-alike", alike.line, alike.text, self._alike.times, last=True)]
        return sorted([*lasting, *late], key=lambda sick: sick.line)

    def _lasts(self, sick: Sick) -> bool:
        """Not a loss that has come back, nor rewards or steps that differ at last."""
        if sick.symptom == _DIVERGED:
            return self._since < max(_BACK, sick.times)
        if sick.symptom == "steps-without-rate":
            return not self._moves
        return sick.symptom != "rewards-alike" or not self._spread

    def scale(self, line: int, text: str) -> None:
        """A line of a loss scaler. At the minimum twice running: the scale cannot settle."""
        scale = scale_of(text)
        if scale is None:
            return
        if scale > 1:
            self._minima = 0
            return
        if not self._minima:
            self._first_minimum = row_of(line, text, {})
        self._minima += 1
        if self._minima >= 2 and self._first_minimum is not None:
            self._tell("loss-scale-collapse", self._first_minimum, self._minima)

    def row(self, row: Row) -> None:
        if row.evaluation:
            if math.isnan(row.values.get("eval_loss", 0.0)):
                self._tell("nan-evaluation", row)
            return
        self._policy |= row.shape.policy
        if not self._moves and self._unmoved.times < _WINDOW:
            self._motion(row)
        self._reinforcement(row)
        self._not_a_number(row)
        self._still(row)
        self._fall(row)
        self._level(row)

    def known_of(self, row: Row) -> frozenset[str]:
        """The numbers of such rows that may be NaN, or a still norm, and show no more by it than is told already."""
        sick = self._sick.keys()
        if row.evaluation:
            return frozenset(row.values) if "nan-evaluation" in sick else frozenset()
        if "rewards/margins" in row.values:
            return frozenset()
        if "group-of-one" in sick and row.shape.policy:
            return frozenset(row.values)
        if "nan-gradients" in sick:
            return frozenset(row.values.keys() & {"loss", "grad_norm"})
        return frozenset(row.values.keys() & {"grad_norm"}) if "zero-loss" in sick else frozenset()

    def rows(self, taken: list[tuple[Row, dict[str, list[float]]]], norm: float) -> bool:
        """Many rows at once: of each kind its first one, and their losses, their shares of cut completions, their norms where one of these may be NaN,
        and the last norm of all. Not where one of them could show a sign that is not told yet, or leave more than its loss and its norm behind;
        nothing is taken then. All other numbers of theirs are numbers, but for those of `known_of`."""
        levels: list[list[float]] = []
        lost = still = 0
        if not self._policy and any(row.shape.policy and not row.evaluation for row, _ in taken):
            return False  # what stands before the first of them is judged otherwise
        if self._policy and not self._spread and self._alike.times < _WINDOW:
            return False
        if not self._moves and self._unmoved.times < _WINDOW and not all(row.evaluation for row, _ in taken):
            return False
        blind = "group-of-one" in self._sick  # a NaN says nothing then
        dead = "nan-gradients" in self._sick and not blind
        for row, numbers in taken:
            if row.evaluation:
                continue
            losses, norms = numbers.get("loss", []), numbers.get("grad_norm", [])
            shares = next((numbers[name] for name in row.shape.ratios), [])
            # A sum that is a number has no other ones in it.
            whole = math.isfinite(sum(losses)) or all(map(math.isfinite, losses))
            finite = losses if whole else list(filter(math.isfinite, losses))
            if 1.0 in shares or (len(finite) < len(losses) and not dead and not blind):
                return False
            gone = list(map(math.isnan, norms))
            if dead:
                lost += _lost(losses, gone)
            elif any(gone) and not blind:
                return False
            if "rewards/margins" in row.values:
                if any(loss > 2 * _LN2 or abs(loss - _LN2) < 1e-4 for loss in losses):
                    return False
            elif self._policy:
                continue
            elif 0.0 in finite and "grad_norm" not in row.values:
                if not self._harmless_zeros(finite):
                    return False
                levels.append(finite)
            elif 0.0 in finite and not (dead and all(gone) and norms):
                if any(losses) or set(norms) != {self._norm_of_zeros()} or still:
                    return False
                still = len(losses)
                levels.append(losses)
            elif finite:
                levels.append(finite)
        if still and len(taken) > 1:
            return False
        window = self._losses.ahead(levels[0], self._jumped.times, self._jumped.far) if levels else None
        if len(levels) > 1 or (levels and window is None):
            return False  # of two kinds the order would count
        for row, numbers in taken:
            losses = numbers.get("loss", [])
            normed = "grad_norm" in row.values
            if row.evaluation or still or not (normed or (losses and self._lost_loss())):
                continue
            if (not losses or any(losses)) and self._sick.keys().isdisjoint({"nan-gradients", "group-of-one"}):
                self._nans, self._first_nan = 0, None
            if normed and not self._policy and "nan-gradients" not in self._sick:
                self._zeros, self._first_zero, self._norm = 0, None, norm
        if lost and self._first_nan is not None:
            self._nans += lost
            self._tell("nan-gradients", self._first_nan, self._nans)
        if still and self._first_zero is not None:
            self._zeros, self._norm = self._zeros + still, norm
            self._tell("zero-loss", self._first_zero, self._zeros)
        if window is not None:
            self._losses, self._jumped = window, _Sign()
            self._since += len(levels[0])
            last = next((loss for loss in reversed(levels[0]) if loss), None)
            if last is not None:
                self._loss, self._fallen = last, _Sign()
            elif not still and self._fallen.first is not None:
                self._fallen.times += len(levels[0])
                self._tell("zero-loss", self._fallen.first, self._fallen.times)
        return True

    def _harmless_zeros(self, losses: list[float]) -> bool:
        """Whether losses of 0, where no norm is logged, show nothing that is not told yet: they come from a loss that was next to 0 already, go
        away again, or go on as before."""
        if self._fallen.times:
            return self._fallen.times >= _LOGS and not any(losses)
        last, zeros = self._loss, 0
        for loss in losses:
            if loss:
                last, zeros = loss, 0
            elif last > _LEVEL:
                zeros += 1
                if zeros >= _LOGS:
                    return False
        return not zeros

    def _norm_of_zeros(self) -> float | None:
        """The norm that stands still beside a loss of 0, where that is told."""
        told = "zero-loss" in self._sick and "nan-gradients" not in self._sick and self._first_zero is not None
        return self._first_zero.values["grad_norm"] if told and self._first_zero is not None else None

    def _reinforcement(self, row: Row) -> None:
        if math.isnan(row.values.get("reward_std", 0.0)):
            self._tell("group-of-one", row)
        if row.shape.policy and not self._spread and self._alike.times < _WINDOW:
            self._spreads(row)
        if row.shape.ratios and all(row.values[name] == 1.0 for name in row.shape.ratios):
            sign = self._seen("truncated-completions", row)
            if sign.times >= _STUCK and sign.first is not None:
                self._tell("truncated-completions", sign.first)

    def _motion(self, row: Row) -> None:
        """Two signs: neither a rate nor a norm in any row. The first row of a warm-up has no rate, and some releases tell no norm."""
        if row.values.get("learning_rate") != 0.0 or row.values.get("grad_norm") != 0.0:
            self._moves = True
            return
        self._unmoved.see(row)
        if self._unmoved.times >= _STUCK and self._unmoved.first is not None:
            self._tell("steps-without-rate", self._unmoved.first, self._unmoved.times)

    def _spreads(self, row: Row) -> None:
        """Two signs: no reward of a group differs from another, and neither a loss nor a norm comes of it."""
        values = row.values
        alike = values.get("frac_reward_zero_std") == 1.0 or values.get("reward_std") == 0.0
        if not alike or values.get("loss") != 0.0 or values.get("grad_norm") != 0.0:
            self._spread = True
            return
        self._alike.see(row)
        if self._alike.times >= _STUCK and self._alike.first is not None:
            self._tell("rewards-alike", self._alike.first, self._alike.times)

    def _not_a_number(self, row: Row) -> None:
        """A norm that is NaN twice running, or beside a loss of exactly 0; or a loss that is, more than once or beside such a norm."""
        if "group-of-one" in self._sick:
            return
        values = row.values
        loss, norm = values.get("loss"), values.get("grad_norm")
        nan_norm = norm is not None and math.isnan(norm)
        nan_loss = loss is not None and not math.isfinite(loss)
        if nan_norm or nan_loss or (loss == 0.0 and any(math.isnan(values[name]) for name in row.shape.others)):
            self._nans += 1
            self._first_nan = self._first_nan or row
            if loss == 0.0 or (nan_loss and nan_norm) or self._nans > 1:
                self._tell("nan-gradients", self._first_nan, self._nans)
        elif (
            loss != 0.0
            and (norm is not None or (loss is not None and self._lost_loss()))
            and "nan-gradients" not in self._sick
        ):
            self._nans, self._first_nan = 0, None  # a step that the scaler skipped, or a row that was lost alone

    def _fall(self, row: Row) -> None:
        """Where no norm is logged: a loss that fell in one row from a level to exactly 0, and stays there."""
        loss = row.values.get("loss")
        if loss is None or not math.isfinite(loss) or self._policy:
            return
        if loss != 0.0:
            self._loss, self._fallen = loss, _Sign()
        elif "grad_norm" not in row.values and self._loss > _LEVEL:
            self._fallen.see(row)
            if self._fallen.times >= _LOGS and self._fallen.first is not None:
                self._tell("zero-loss", self._fallen.first, self._fallen.times)

    def _lost_loss(self) -> bool:
        """Whether it was a loss that was no number: dead weights give none any more, whereas a norm is not in every row."""
        return self._first_nan is not None and not math.isfinite(self._first_nan.values.get("loss", 0.0))

    def _still(self, row: Row) -> None:
        values = row.values
        if "grad_norm" not in values or self._policy or "nan-gradients" in self._sick:
            return
        norm, before, first = values["grad_norm"], self._norm, self._first_zero
        self._norm = norm
        if values.get("loss") == 0.0 and (first is None or first.values["grad_norm"] == values["grad_norm"]):
            self._zeros += 1
            self._first_zero = first or row
            # A norm that is the same to the last digit is a second sign by itself; one of few digits may be so by chance.
            stands = norm == before and norm != round(norm, _ROUND)
            if self._zeros >= _LOGS or stands:
                self._tell("zero-loss", self._first_zero, self._zeros)
        elif not math.isnan(values["grad_norm"]):
            self._zeros, self._first_zero = 0, None

    def _level(self, row: Row) -> None:
        loss = row.values.get("loss")
        if loss is None or not math.isfinite(loss):
            return
        preference = "rewards/margins" in row.values
        if preference:
            began = self._began = loss if self._began is None else self._began
            # Releases that add the losses of accumulated batches up begin at a multiple of ln 2, and fall from there.
            if loss > 2 * _LN2 and loss > began:
                sign = self._seen("above-chance", row)
                if sign.times >= 2 and sign.worst is not None:
                    self._tell(_DIVERGED, sign.worst, renew=True)
                    self._since = 0
            flat = (
                abs(loss - _LN2) < 1e-4
                and row.values["rewards/margins"] == 0.0
                and row.values.get("learning_rate", 1.0) > 0
            )
            if flat:
                sign = self._seen("no-signal", row)
                # Log probabilities of exactly 0: no token of an answer counts, which is a second sign by itself.
                empty = row.values.get("logps/chosen") == 0.0 and row.values.get("logps/rejected") == 0.0
                if (sign.times >= _STUCK or empty) and sign.first is not None:
                    self._tell("no-signal", sign.first, sign.times)
            return
        if self._policy:
            return  # a policy's loss has no level
        height = self._losses.jump(loss)
        if height:
            sign = self._jumped
            sign.see(row, far=height > 1)
            if (sign.times >= _LOGS or sign.far >= 2) and sign.worst is not None:
                self._tell(_DIVERGED, sign.worst, sign.times, renew=True)
                self._since = 0
                if sign.times >= _BACK and self._losses.single():
                    # The first row of a resumed run is often of another kind, as of one step instead of ten: no level to leave.
                    self._losses, self._jumped = _Window(), _Sign()
                    del self._sick[_DIVERGED]
            else:
                self._since += 1
            return
        self._jumped = _Sign()
        self._losses.add(loss)
        self._since += 1

    def _seen(self, name: str, row: Row) -> _Sign:
        sign = self._signs.setdefault(name, _Sign())
        sign.see(row)
        return sign

    def _tell(self, symptom: str, first: Row, times: int = 1, *, renew: bool = False) -> None:
        before = self._sick.get(symptom)
        if before is None or renew:
            self._sick[symptom] = Sick(symptom, first.line, first.text, times)
        elif times > before.times:
            self._sick[symptom] = before._replace(times=times)
