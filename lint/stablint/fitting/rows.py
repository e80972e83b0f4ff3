"""How long the rows of a run are, as far as its files say it."""

from __future__ import annotations

from stablint.base.language import gettext
from stablint.fitting.terms import Guess, is_size
from stablint.memory.plan import Range, sure
from stablint.run.world import World

SHORTEST = 64  # tokens of a short answer: rows of which nothing is known are no shorter
_USUAL = 1024  # to which TRL cuts where nothing is said (trl 1.16.0 trainer/sft_config.py, max_length)
_MANY = 32768  # which most models since 2024 take
_LENGTHS = ("training.max_length", "trainer.max_length", "trainer.max_seq_length", "model.max_seq_length", "data.block_size", "data.max_length")  # fmt: skip
_WRAPPED = ("wrapped",)  # rows cut anywhere, a batch of which stays a batch


def packs_into_one_row(w: World) -> bool:
    since = w.framework.packs_into_one_row
    return (
        bool(since)
        and w.value("training.packing") is True
        and w.value("training.packing_strategy") not in _WRAPPED
        and w.at_least(w.run.framework, since) is not False
    )


def length_of(w: World, assumed: list[str]) -> tuple[Range, bool]:
    """Tokens a row, and whether every row is filled up to the limit."""
    for name in _LENGTHS:
        value = w.value(name)
        if is_size(value) and (w.is_stated(name) or value != w.value("model.max_positions")):
            most = value
            switches = ("training.packing", "data.pad_to_max_length", "training.pad_to_sequence_len")
            filled = w.is_stated("data.block_size") or any(w.value(switch) is True for switch in switches)
            if not filled:
                assumed.append(
                    gettext(
                        "rows reach {most} tokens ({name}); the range begins where the longest have half of them, the least with rows of {least}"
                    ).format(most=most, name=name, least=min(SHORTEST, most))
                )
            return (sure(most) if filled else Range(min(SHORTEST, most), most, most)), filled
    most = w.value("model.max_positions")
    if not is_size(most):
        most = _MANY
        assumed.append(Guess(gettext("how many tokens the model takes is not known: {most}").format(most=most)))
    assumed.append(
        gettext(
            "the longest row is not known: {usual} tokens usually, half to four times as many in the range; {least} and the model's {most} decide "
            "what fits in any case; say it with --set training.max_length=TOKENS"
        ).format(least=min(SHORTEST, most), usual=min(_USUAL, most), most=most)
    )
    return Range(min(SHORTEST, most), min(_USUAL, most), most), False
