"""What lies on the card from the start: the model's dimensions, the dtype of its weights, its experts, and the adapter upon it."""

from __future__ import annotations

import re
from typing import Any

from stablint.base import knowledge
from stablint.base.language import gettext
from stablint.fitting import seeing
from stablint.fitting.alike import Alike, alike
from stablint.fitting.terms import Guess, Unanswerable, holds, is_size, may_be_older
from stablint.memory.plan import Plan, Range, sure
from stablint.memory.shape import Shape
from stablint.run.fact import is_unknown
from stablint.run.framework import Rollout
from stablint.run.world import World

_OUTSIDE = ("embed_tokens", "lm_head", "wte", "embed_in", "embed_out", "word_embeddings", "output")
_ATTENTION = {
    "q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj", "query_key_value", "W_pack", "c_attn", "out_proj", "attn.c_proj", "query", "key", "value",
    "wq", "wk", "wv", "wo",
}  # fmt: skip
# Types whose language model is that of another type, as transformers builds them.
_SAME = {
    "gemma3": "gemma3_text", "qwen2_vl": "qwen2", "qwen2_5_vl": "qwen2", "qwen3_vl": "qwen3", "mistral3": "mistral", "llava": "llama", "yi": "llama",
}  # fmt: skip
# Types that were not traced, and the traced one that is built like them: no gate beside the first linear layer of a block.
_NEAREST = dict.fromkeys(
    ("phi", "gpt2", "gptj", "gpt_bigcode", "opt", "bloom", "mpt", "starcoder2", "codegen"), "gpt_neox"
)
# Their feed-forward network is four times as wide as the model where the configuration says nothing (transformers 5.17.0 models/gpt2, gptj, gpt_neo,
# codegen and gpt_bigcode configuration: n_inner or intermediate_size None; models/bloom/modeling_bloom.py, BloomMLP; mpt configuration: expansion_ratio).
_FOUR_WIDTHS = ("gpt2", "gptj", "gpt_neo", "codegen", "gpt_bigcode", "bloom", "mpt")
_CARRIED = ("layers", "hidden", "intermediate", "vocab")  # what is known of a model of which not all is
PACKED = ("gptq", "awq")
_FUSED_SINCE = "5.0.0"  # experts are one parameter a block
BITS = ("4bit", "4bit-double", "8bit")
_SEEING = ("gemma3", "mistral3", "llava")
_UNTRACED = Range(0.8, 1.0, 1.25)
# What several experts a token keep, against one feed-forward network of the width that the model's configuration states: 1.6 and 1.9 times in traces
# of Mixtral and Qwen3-MoE, more where many narrow experts are chosen.
ROUTED = Range(1.0, 1.7, 4.0)
WHOLE = ("float32", "float16", "bfloat16")  # weights that no library has packed


def base_bytes(plan: Plan) -> float:
    width = {"float32": 4.0, "8bit": 1.0, "4bit": 0.56, "4bit-double": 0.52}.get(plan.weights, 2.0)
    return width * plan.shape.parameters


def shapes_of(w: World, assumed: list[str]) -> list[Alike]:
    """The model's dimensions; where not all of them are known those of published models of its size, the middle one first."""
    names = ("parameters", "layers", "hidden", "intermediate", "heads", "kv_heads", "vocab")
    values = {name: w.value(f"model.{name}") for name in names}
    text = seeing.dimensions(w)
    if text is not None:
        values = {name: text[name] for name in names}
    if is_unknown(values["kv_heads"]):
        values["kv_heads"] = values["heads"]  # the most that there can be
    if is_unknown(values["intermediate"]) and w.value("model.type") in _FOUR_WIDTHS and is_size(values["hidden"]):
        values["intermediate"] = 4 * values["hidden"]
    missing = [name for name, value in values.items() if not is_size(value)]
    if missing:
        known = {name: value for name, value in values.items() if name in _CARRIED and is_size(value)}
        found = _like_its_size(values["parameters"], w.value("model.is_moe") is True, known)
        if not found:
            raise Unanswerable(
                gettext(
                    "the model's dimensions are not known ({names}): name it with --model, or give its folder"
                ).format(names=", ".join(missing))
            )
        assumed.append(
            Guess(
                gettext(
                    "the model's dimensions are not known ({names}): those of published models with about {count} billion parameters, "
                    "from the least to the most; give its folder for a closer answer"
                ).format(names=", ".join(missing), count=f"{values['parameters'] / 1e9:.1f}")
            )
        )
        return found
    width = w.value("model.head_dim") if text is None else text["head_dim"]
    tied = w.value("model.tied_embeddings") if text is None else text["tied_embeddings"]
    depth = width if isinstance(width, int) else values["hidden"] // values["heads"]
    shape = Shape(
        values["parameters"], values["layers"], values["hidden"], values["intermediate"], values["heads"] * depth,
        values["kv_heads"] * depth, values["vocab"], tied is True,
    )  # fmt: skip
    return [Alike(shape, values["heads"], values["kv_heads"])]


def _like_its_size(parameters: Any, experts: bool, known: dict[str, int]) -> list[Alike]:
    return alike(parameters, experts, known) if is_size(parameters) else []


def with_experts(w: World, plan: Plan, assumed: list[str]) -> tuple[Plan, list[Plan]]:
    """The run as the likeliest release keeps experts, and as others do that may run it. Before transformers 5 each expert has linear layers; from
    there on those of a block are one parameter, which bitsandbytes and adapters on linear layers pass by (transformers 5.0.0
    models/mixtral/modeling_mixtral.py, MixtralExperts)."""
    shape, adapted = plan.shape, plan.method != "full" and plan.spread != "attention"
    if w.value("model.is_moe") is not True or not (adapted or plan.weights in BITS):
        return plan, []
    experts = max(
        shape.parameters - shape.outside - 2 * shape.layers * shape.hidden * (shape.query + shape.key_value), 0
    )
    count, trained = w.value("model.experts"), plan.trained
    if adapted and is_size(count):
        # Three matrices of hidden x width an expert (gate, up and down): the width is what the parameters leave.
        width = experts // (3 * shape.hidden * shape.layers * count)
        trained += 3 * plan.rank * shape.layers * count * (shape.hidden + width)
    linear, fused = plan._replace(trained=trained), plan._replace(fused=experts)
    # Types whose experts were one parameter from their first release on are quantised by code of others, and adapters pass them by.
    bare = [plan] if plan.weights in BITS and adapted else []
    if w.at_least("transformers", _FUSED_SINCE) is False:
        return linear, bare
    if not may_be_older(w, "transformers", _FUSED_SINCE):
        return fused, []
    assumed.append(
        gettext(
            "experts: neither quantised nor with an adapter from transformers {release} on, which the range has beside releases before"
        ).format(release=_FUSED_SINCE)
    )
    return fused, [linear, *bare]


def traced_type(kind: str, assumed: list[str], experts: bool, looks: bool) -> tuple[str, Range]:
    """`looks`: a tower that sees pictures is put before a model that sees none by itself."""
    types = knowledge.load("memory/types")
    name = kind if kind in types else _SAME.get(kind, "")
    if kind in _SEEING or looks:
        assumed.append(Guess(gettext("images are not counted: their tokens and the vision tower come on top")))
    if name in types:
        return name, sure(1.0)
    if experts:
        assumed.append(
            Guess(
                gettext("experts: activations of a dense model of this width, {low} to {high} times").format(
                    low=f"{ROUTED.low:g}", high=f"{ROUTED.high:g}"
                )
            )
        )
        return "llama", ROUTED
    near = _NEAREST.get(kind, "llama")
    assumed.append(
        gettext("activations of {kind} were not traced: those of {near}, 0.8 to 1.25 times").format(
            kind=kind or gettext("an unknown type"), near=near
        )
    )
    return near, _UNTRACED


def weights_of(w: World, method: str, assumed: list[str]) -> str:
    own = w.framework.rollout
    if own is not None and own.strategy:
        return _loaded(w, own)
    dtype = w.value("derived.weights_dtype")
    if w.value("model.quant_method") in PACKED:
        # Four bits with a scale of 16 and a zero of 4 bits a group of 128, or eight.
        eight = re.search(r"int-?8|w8|8-?bit", str(w.value("model.name_or_path")), re.IGNORECASE)
        return "8bit" if eight or dtype == "8bit" else "4bit-double"
    if dtype in ("4bit", "8bit"):
        name = "quantization.bnb_4bit_use_double_quant"
        double = w.value(name) is True or (w.framework.doubles_quantisation and not w.is_stated(name))
        return "4bit-double" if dtype == "4bit" and double else str(dtype)
    if dtype in WHOLE:
        return str(dtype)
    if w.value("derived.compute_dtype") in ("float16", "bfloat16"):
        assumed.append(Guess(gettext("the weights are taken to be in half precision")))
        return "bfloat16"
    published = w.value("model.native_dtype")
    if published in ("float16", "bfloat16"):
        assumed.append(Guess(gettext("the weights are taken to be in half precision")))
        return str(published)
    raise Unanswerable(gettext("the dtype of the weights is not known: pass --set model.dtype=bfloat16, or what it is"))


def _loaded(w: World, own: Rollout) -> str:
    """What FSDP shards is loaded in float32 and computed with in bfloat16 (verl 0.7.0 trainer/config/engine/fsdp.yaml, model_dtype)."""
    strategy = w.value(own.strategy)
    if isinstance(strategy, str) and strategy not in ("fsdp", "fsdp2"):
        raise Unanswerable(gettext("work divided by {engine} is not counted yet").format(engine=strategy))
    return "bfloat16" if any(w.value(name) in ("bf16", "bfloat16") for name in own.loads) else "float32"


def outside_width(w: World) -> tuple[Range, bool]:
    """Bytes a parameter of embedding and head beside a quantised base, and whether the norms are float32 though these are not: PEFT's preparation makes
    all of them float32, where it is called, but not beside GPTQ (peft 0.21.2 utils/other.py, is_gptq_quantized), and embedding and head may be cast back."""
    if w.value("model.quant_method") == "gptq":
        return sure(2.0), False
    for row in knowledge.load("memory/kernels")["outside"]:
        if holds(w, row) is True:
            return (sure(4.0), False) if row["outside"] == "float32" else (sure(2.0), True)
    return Range(2.0, 2.0, 4.0), False


def rank_of(w: World) -> int:
    """As it is stated, or as the trainer fills it in."""
    stated = w.value("lora.r")
    if is_size(stated):
        return int(stated)
    return int(next(row["rank"] for row in knowledge.load("memory/kernels")["rank"] if holds(w, row) is True))


def adapter_of(w: World, shape: Shape, method: str, assumed: list[str]) -> tuple[str, str, int, int]:
    """Where the adapter sits: words, the traced spread, parameters of embedding and head trained whole, parameters of the adapter."""
    if method == "full":
        return "", "all", 0, 0
    rank, named = rank_of(w), w.value("lora.target_modules")
    whole = named in ("all-linear", "all", ["all"], ["all-linear"])
    targets = w.value("model.linear_modules") if whole or not isinstance(named, list) else named
    if not isinstance(targets, list) or not all(isinstance(one, str) for one in targets):
        targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    words = ""
    if not whole and not isinstance(named, list):
        words = gettext("the adapter is taken to sit on every linear layer")
    kept = w.value("lora.modules_to_save")
    outside = [one for one in (kept if isinstance(kept, list) else []) if one in _OUTSIDE]
    copied = shape.vocab * shape.hidden * len(outside)
    inner = [one for one in targets if one not in _OUTSIDE]
    outer = 0 if whole else len([one for one in targets if one in _OUTSIDE])
    spread = "attention" if inner and set(inner) <= _ATTENTION else "all"
    if w.value("model.is_moe") is True:
        inner = [one for one in inner if one in _ATTENTION]  # those on experts: with_experts
    trained = shape.adapter(inner, rank) + outer * rank * (shape.vocab + shape.hidden)
    return words, spread, copied, trained
