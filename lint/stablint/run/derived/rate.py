"""The learning rate beside counted recipes, and what an adapter makes of it."""

from __future__ import annotations

from stablint.base.language import gettext
from stablint.base.light import Any
from stablint.run.derived.recipe_rates import Band, Published, band, goals, published
from stablint.run.fact import ABSENT
from stablint.run.world import Answer, Rule, World
from stablint.syntax.tree import Unknown

# Optimizers whose rates are AdamW's, by the names of transformers 4.30.2 to 5.23.0 (training_args.py, OptimizerNames), and Adam, which differs in
# how it decays weights: a word that is none of them may be anything, however near it comes.
_ADAM_LIKE = frozenset([
    "adam", "torch.optim.Adam", "torch.optim.adam.Adam",
    "adamw", "adamw_8bit", "adamw_anyprecision", "adamw_apex_fused", "adamw_bnb_8bit", "adamw_hf", "adamw_torch", "adamw_torch_4bit",
    "adamw_torch_8bit", "adamw_torch_fused", "adamw_torch_npu_fused", "adamw_torch_xla", "ademamix", "ademamix_8bit", "paged_adamw",
    "paged_adamw_32bit", "paged_adamw_8bit", "paged_ademamix_32bit", "paged_ademamix_8bit", "stable_adamw",
])  # fmt: skip
_GALORE = frozenset(["galore_adamw", "galore_adamw_8bit", "galore_adamw_8bit_layerwise", "galore_adamw_layerwise"])


def _band(w: World) -> tuple[Any, tuple[str, ...]]:
    names = (
        "derived.objective",
        "derived.method",
        "model.parameters",
    )  # model.type and the optimiser only choose the band
    goal, how, size = (w.value(name) for name in names)
    optim, peft = w.value("training.optim"), w.stated("lora.peft_type")
    if not (isinstance(goal, str) and isinstance(how, str) and isinstance(size, int)):
        return None, names
    if isinstance(optim, str) and optim not in _ADAM_LIKE:
        return None, names
    if how in ("lora", "qlora") and peft is not ABSENT and peft != "LORA":
        return None, names  # other adapters have rates of another scale, which `published` knows
    kind = w.value("model.type")
    return band(goal, how, size, kind if isinstance(kind, str) else None), names


def _in_words(low: float, high: float) -> str:
    if low == high:
        return gettext("about {rate}").format(rate=f"{low:g}")
    return gettext("{low} to {high}").format(low=f"{low:g}", high=f"{high:g}")


def learning_rate_band(w: World) -> Answer:
    """The band in words, for messages: quartiles and how many recipes were counted."""
    found, names = _band(w)
    if found is None:
        return Answer(Unknown("no counted recipes for this objective, method and size"), names)
    return Answer(_in_words(found.typical_low, found.typical_high), names)


def effective_lora_rate(w: World) -> Answer:
    """What the adapter's product really moves by: learning rate × lora_scale."""
    names = ("training.learning_rate", "derived.lora_scale")
    rate, scale = (w.value(name) for name in names)
    if isinstance(rate, (int, float)) and isinstance(scale, (int, float)):
        return Answer(rate * scale, names)
    return Answer(Unknown("rate or scale is not known"), names)


def _of_band(field: str) -> Rule:
    def rule(w: World) -> Answer:
        found, names = _band(w)
        value = getattr(found, field) if found is not None else None
        return Answer(
            value if value is not None else Unknown("no counted recipes for this objective, method and size"), names
        )

    return rule


def _published(w: World) -> tuple[Published | None, tuple[str, ...]]:
    """By the optimiser with all weights, by PEFT's type with an adapter. AdamW's rates say nothing of other optimisers."""
    names = ("derived.method", "lora.peft_type", "training.optim")
    how, peft, optim = (w.value(name) for name in names)
    if how == "full" and isinstance(optim, str) and optim in _GALORE:
        return published("GALORE"), names
    if how not in ("lora", "qlora") or not isinstance(peft, str) or not w.is_stated("lora.peft_type"):
        return None, names
    if isinstance(optim, str) and optim not in _ADAM_LIKE:
        return None, names
    return published(peft), names


def _of_published(field: str) -> Rule:
    def rule(w: World) -> Answer:
        found, names = _published(w)
        return Answer(
            getattr(found, field) if found is not None else Unknown("nobody has published rates of this method"), names
        )

    return rule


def published_rates(w: World) -> Answer:
    """The rates of the method in words."""
    found, names = _published(w)
    if found is None:
        return Answer(Unknown("nobody has published rates of this method"), names)
    return Answer(_in_words(found.typical_low, found.typical_high), names)


published_name = _of_published("name")
published_alarm = _of_published("alarm_above")
published_severity = _of_published("severity")


def adam_betas(w: World) -> Answer:
    names = ("training.adam_beta1", "training.adam_beta2")
    betas = [w.value(name) for name in names]
    return Answer(
        betas if all(isinstance(beta, float) for beta in betas) else Unknown("the betas are not known"), names
    )


def alarm(w: World) -> Answer:
    """The bound above; of an adapter for which nobody states the objective, that of the objective with the highest one."""
    found, names = _band(w)
    if found is None:
        return Answer(Unknown("no counted recipes for this objective, method and size"), names)
    if w.fact("derived.objective").presumed and found.method != "full":
        return Answer(max(band.alarm_above for band in _of_every_objective(w, found)), names)
    return Answer(found.alarm_above, names)


def low(w: World) -> Answer:
    """The bound below; where nobody states the objective, that of the objective with the lowest one."""
    found, names = _band(w)
    if found is None:
        return Answer(Unknown("no counted recipes for this objective, method and size"), names)
    if w.fact("derived.objective").presumed:
        return Answer(min(band.alarm_below for band in _of_every_objective(w, found)), names)
    return Answer(found.alarm_below, names)


def _of_every_objective(w: World, found: Band) -> list[Band]:
    size, kind = w.value("model.parameters"), w.value("model.type")
    bands = (band(goal, found.method, size, kind if isinstance(kind, str) else None) for goal in set(goals().values()))
    return [found, *(one for one in bands if one is not None)]


severity = _of_band("severity")
median = _of_band("median")
high = _of_band("typical_high")
