"""What an adapter is scaled by and which modules of the model it finds. Loaded when a run first asks for one of these facts."""

from __future__ import annotations

import math

from stablint.base.light import Any, Pattern
from stablint.run.fact import ABSENT, is_unknown
from stablint.run.world import Answer, World
from stablint.syntax.tree import Unknown


def adalora_pruning_end(w: World) -> Answer:
    """The step at which AdaLoRA stops to reduce ranks (peft tuners/adalora/config.py, __post_init__)."""
    names = ("lora.total_step", "lora.tfinal")
    total, final = (w.value(name) for name in names)
    if isinstance(total, int) and isinstance(final, int):
        return Answer(total - final, names)
    return Answer(Unknown("the schedule is not known"), names)


def lora_scale(w: World) -> Answer:
    """alpha / r, with rank-stabilised LoRA alpha / sqrt(r) (peft tuners/lora/layer.py, update_layer)."""
    names = ("lora.lora_alpha", "lora.r", "lora.use_rslora")
    stabilised = w.value("lora.use_rslora")
    alpha, rank = (_of_adapter(w, name) for name in names[:2])
    if not isinstance(alpha, (int, float)) or not isinstance(rank, (int, float)) or rank <= 0 or is_unknown(stabilised):
        return Answer(Unknown("alpha and rank are not both known"), names)
    return Answer(alpha / (math.sqrt(rank) if stabilised is True else rank), names)


def _of_adapter(w: World, name: str) -> Any:
    """A setting of the adapter; TRL's ModelConfig has a default of its own for what its file leaves out."""
    value = w.value(name)
    of_trl = "trl.ModelConfig" in w.run.classes.get("model", ()) and w.stated("lora.use_peft") is True
    if value is ABSENT and of_trl:
        short = name.removeprefix("lora.")
        return w.default(f"model.{short if short.startswith('lora_') else 'lora_' + short}").value
    return value


# Methods whose models refuse no kind of module (peft 0.20.0 tuners/*/model.py), or want whole blocks. A tuple, since a file may state a
# mapping where a word is meant, and a set cannot be asked for one.
_OF_ANY_MODULE = (
    "LN_TUNING", "TRAINABLE_TOKENS", "ADAPTION_PROMPT", "OSF", "PEANUT", "GLORA", "LILY", "XLORA", "CARTRIDGE", "SHADOW", "SUPERTUNING"
)  # fmt: skip


def lora_targets_missing(w: World) -> Answer:
    """The wanted modules that a model of this type does not have, compared by PEFT's rule: a name equals the module's name or its end."""
    names = ("lora.target_modules", "model.linear_modules")
    wanted, there = (w.value(name) for name in names)
    if is_unknown(wanted) or is_unknown(there) or not isinstance(there, list):
        return Answer(Unknown("targets or modules are not known"), names)
    if not isinstance(wanted, list):
        return Answer([], names)
    if not w.is_said("lora.target_modules"):  # the default of a program that everybody copies and fits to the model
        return Answer(Unknown("nobody names the targets"), names)
    if any(not isinstance(word, str) for word in wanted):
        return Answer(Unknown("a target is no name"), names)
    if w.stated("model.modules_replaced") is True:
        return Answer(Unknown("the program puts modules of its own into the model"), (*names, "model.modules_replaced"))
    if w.stated("lora.peft_type") in _OF_ANY_MODULE:
        return Answer(Unknown("its targets need not be linear layers"), (*names, "lora.peft_type"))
    if w.value("model.type") == "phi3" and _is_unsloths_copy(w):
        return Answer(
            Unknown("Unsloth loads a copy of its own, whose fused layers are taken apart"),
            (*names, "model.name_or_path"),
        )
    if w.stated("model.trust_remote_code") is True and w.stated("model.revision") not in (ABSENT, None, "main"):
        return Answer(Unknown("the code of a revision names its modules itself"), (*names, "model.revision"))
    have = set(there)
    changed = w.stated("model.handed_over") is True  # by code that is not at hand
    return Answer([word for word in wanted if word.rpartition(".")[2] not in have], names, presumed=changed)


_PLAIN_PATH = Pattern(r"[A-Za-z_0-9]+(?:[.][A-Za-z_0-9]+){0,40}")


def lora_pattern_keys_lost(w: World) -> Answer:
    """Keys of the patterns of ranks and alphas that name no module with an adapter, by their last part: PEFT compares them with whole paths of
    modules that the targets have chosen (peft 0.20.0 utils/other.py, get_pattern_key)."""
    names = ("lora.target_modules", "lora.rank_pattern", "lora.alpha_pattern")
    targets, *patterns = (w.value(name) for name in names)
    if not isinstance(targets, list) or not targets or not all(isinstance(one, str) for one in targets):
        return Answer(Unknown("the targets are no list of names"), names)
    ends = {one.rpartition(".")[2] for one in targets}
    keys = [key for pattern in patterns if isinstance(pattern, dict) for key in pattern]
    lost = [key for key in keys if _PLAIN_PATH.fullmatch(str(key)) and str(key).rpartition(".")[2] not in ends]
    return Answer(list(dict.fromkeys(lost)), names)


def _is_unsloths_copy(w: World) -> bool:
    """Is it Phi-3 or Phi-4 as Unsloth stores it, with the layers of Llama or Mistral? Its loader takes that for Microsoft's name as well
    (https://github.com/unslothai/unsloth/blob/0050c73e05ca9bb74e42d0649be410f177160c08/unsloth/models/mapper.py)."""
    name = w.value("model.name_or_path")
    return w.framework.loads_copies or (isinstance(name, str) and name.startswith("unsloth/"))


def lora_targets_found(w: World) -> Answer:
    names = ("lora.target_modules", "derived.lora_targets_missing")
    wanted, missing = (w.value(name) for name in names)
    if isinstance(wanted, list) and isinstance(missing, list):
        gone = set(missing)
        return Answer([word for word in wanted if word not in gone], names)
    return Answer(Unknown("targets or modules are not known"), names)


# What a linear layer of a block is for, by the names that it has in the models of transformers.
_PARTS = {
    "q": ("q_proj", "query", "q", "q_lin", "wq", "query_proj", "q_attn"),
    "k": ("k_proj", "key", "k", "k_lin", "wk", "key_proj"),
    "v": ("v_proj", "value", "v", "v_lin", "wv", "value_proj"),
    "qkv": ("qkv_proj", "query_key_value", "W_pack", "c_attn", "Wqkv", "wqkv", "qkv"),
    "o": ("o_proj", "out_proj", "o", "dense", "out_lin", "wo"),
    "gate": ("gate_proj", "wi_0", "w1"),
    "up": ("up_proj", "wi_1", "w3", "fc1", "dense_h_to_4h", "c_fc", "lin1"),
    "gate_up": ("gate_up_proj",),
    "down": ("down_proj", "wo", "w2", "fc2", "dense_4h_to_h", "lin2"),
}  # fmt: skip


def lora_targets_lost(w: World) -> Answer:
    """The wanted modules that are missing and whose layers get no adapter by another name: `q` beside `q_proj` loses nothing, `gate_proj`
    is lost where gate and up are one layer that is not wanted, and is not where the model has no gate. An unknown name may be a slip."""
    names = ("derived.lora_targets_missing", "derived.lora_targets_found", "model.linear_modules")
    missing, found, there = (w.value(name) for name in names)
    if not (isinstance(missing, list) and isinstance(found, list) and isinstance(there, list)):
        return Answer(Unknown("targets or modules are not known"), names)
    reached = {word.rpartition(".")[2] for word in found}
    lost = []
    for word in missing:
        part = next((part for part, words in _PARTS.items() if word.rpartition(".")[2] in words), None)
        if part is None:
            lost.append(word)
            continue
        alike = _FUSED.get(part, (part,))
        layers = {one for each in alike for one in _PARTS[each] if one in there}
        if layers and not layers & reached:
            lost.append(word)
    return Answer(lost, names)


# A part, and the parts in whose layers it may be.
_FUSED = {
    "q": ("q", "qkv"), "k": ("k", "qkv"), "v": ("v", "qkv"), "gate": ("gate", "gate_up"), "up": ("up", "gate_up"),
    "qkv": ("q", "k", "v", "qkv"), "gate_up": ("gate", "up", "gate_up"),
}  # fmt: skip


def lora_targets_meant(w: World) -> Answer:
    """The wanted layers by the names that they have in this model; unknown where one of them has no counterpart. What is no layer of a block stays,
    where the model has it."""
    names = ("lora.target_modules", "model.linear_modules", "derived.lora_targets_found")
    wanted, there, kept = (w.value(name) for name in names)
    unknown = Answer(Unknown("which layers are meant is not known"), names)
    if not isinstance(wanted, list) or not isinstance(there, list):
        return unknown
    meant: list[str] = []
    for word in wanted:
        part = next((part for part, words in _PARTS.items() if word in words), None)
        if part is None and isinstance(kept, list) and word in kept:
            meant.append(word)
            continue
        fused = {"q": "qkv", "k": "qkv", "v": "qkv", "gate": "gate_up", "up": "gate_up"}.get(part or "", "")
        # a model that fuses the three has no layer of the part's own; one that does not has all three
        single = ("q", "k", "v") if part == "qkv" else ("gate", "up") if part == "gate_up" else (part,)
        found = [one for each in single for one in there if one in _PARTS.get(each or "", ())]
        found = found or [one for one in there if one in _PARTS.get(fused, ())]
        if not found:
            return unknown
        meant += [one for one in found if one not in meant]
    return Answer(meant, names) if meant else unknown


def lora_target_pattern(w: World) -> Answer:
    """The only entry of the list of targets."""
    names = ("lora.target_modules",)
    wanted = w.value("lora.target_modules")
    single = isinstance(wanted, list) and len(wanted) == 1 and isinstance(wanted[0], str)
    return Answer(wanted[0] if single else Unknown("there is not exactly one target"), names)
