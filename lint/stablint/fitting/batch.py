"""Which batch: the most rows at a time with which a run still fits."""

from __future__ import annotations

from stablint.fitting import rollout
from stablint.fitting.answer import FITS, Told, answer
from stablint.fitting.reading import kinds_of
from stablint.fitting.remedies import with_facts
from stablint.run.world import World

_ROWS = "training.per_device_train_batch_size"
_MOST = 256  # that are tried


def most_rows(world: World, told: Told) -> int | None:
    """0 where not even one row fits; None where nothing can be said, or rows come in groups (GRPO's answers to one prompt)."""
    objective = world.value("derived.objective")
    kinds = {objective} if isinstance(objective, str) else {*kinds_of(world)}
    if told.estimate is None or told.usable is None or kinds & {*rollout.ONLINE}:
        return None

    def fits(rows: int) -> bool:
        return answer(with_facts(world, {_ROWS: rows}), told.target).verdict == FITS

    least, beyond = 0, 1
    while beyond <= _MOST and fits(beyond):
        least, beyond = beyond, 2 * beyond
    while beyond - least > 1 and least < _MOST:
        middle = (least + beyond) // 2
        least, beyond = (middle, beyond) if fits(middle) else (least, middle)
    return least
