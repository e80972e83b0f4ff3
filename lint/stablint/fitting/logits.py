"""What the loss keeps of the logits, by library, release and kernel."""

from __future__ import annotations

from typing import Any

from stablint.base import knowledge
from stablint.base.language import gettext
from stablint.fitting.terms import holds, may_be_older
from stablint.memory.plan import NO_SHARE, Range, sure
from stablint.run.fact import is_unknown
from stablint.run.world import World

# Bytes a logit at the most, where a trainer keeps the trained model's float32 logits for its metrics while the reference answers: logits 4 and their
# log-softmax 4 of both, and in TRL the loss of the chosen rows' answers, 2 (trl 0.11.4 trainer/dpo_trainer.py, get_batch_loss_metrics;
# LLaMA-Factory 0.9.3 train/dpo/trainer.py and train/kto/trainer.py, concatenated_forward). By library: the first release that was not read or does
# otherwise, and the bytes.
_COMPARED = {"llamafactory": ("0.9.4", 16.0), "trl": ("0.12.0", 18.0)}


def compared_logits(w: World, objective: Any, loss: str) -> Range:
    """What the trained model's logits cost beside the reference's; at the high end alone where the release may do otherwise."""
    if objective not in ("dpo", "kto") or loss != "full" or w.value("training.precompute_ref_log_probs") is True:
        return NO_SHARE
    library = (
        w.run.framework if w.run.framework in _COMPARED else "trl" if w.value("derived.trl_arguments") is True else ""
    )
    if library not in _COMPARED:
        return NO_SHARE
    before, each = _COMPARED[library]
    later = w.at_least(library, before)
    return NO_SHARE if later else Range(0.0, 0.0 if later is None else each, each)


def shifted_logits(w: World, objective: Any, loss: str) -> Range:
    """Bytes a logit at the end of the forward pass where the model's own loss copies the logits to shift them; at the high end alone where the release
    may not."""
    if loss != "full" or not (is_unknown(objective) or objective in ("sft", "pretrain")):
        return NO_SHARE
    if any(holds(w, row) is True for row in knowledge.load("memory/kernels")["narrow"]):
        return NO_SHARE  # of another loss
    low, usual, high = 0.0, 0.0, 0.0
    for row in knowledge.load("memory/kernels")["shifted"]:
        sure_of_it = holds(w, row)
        if sure_of_it is not False:
            high = max(high, row["shifted"])
        if sure_of_it is True:
            low, usual = max(low, row["shifted"]), max(usual, row["shifted"])
    return Range(low, usual, high)


def narrow_logits(w: World, autocast: bool) -> Range:
    """Bytes a logit where nothing makes them float32; at the low end alone where the release may."""
    if autocast or is_mixed(w):
        return NO_SHARE
    for row in knowledge.load("memory/kernels")["narrow"]:
        known = holds(w, row)
        if known is not False:
            each = float(row["narrow"])
            return sure(each) if known else Range(each, 0.0, 0.0)
    return NO_SHARE


def is_mixed(w: World) -> bool:
    """Whether mixed precision is asked for, whatever the weights are loaded in."""
    switches = (w.value("training.bf16"), w.value("training.fp16"))
    return True in switches or w.value("accelerate.mixed_precision") in ("bfloat16", "float16")


def loss_of(w: World, assumed: list[str]) -> tuple[str, int, bool]:
    """The loss, the rows of its pieces, and whether an older release that may run as well builds the whole logits."""
    for row in knowledge.load("memory/kernels")["loss"]:
        if holds(w, row) is True:
            library = row.get("library", "")
            older = "from" in row and may_be_older(w, library, row["from"])
            if older:
                assumed.append(
                    gettext(
                        "the release of {library} is not stated: before {release} whole logits are built, which the high end counts"
                    ).format(library=library, release=row["from"])
                )
            return row["loss"], row.get("rows", 2048), older
    return "full", 0, False
