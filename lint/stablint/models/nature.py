"""What a model is by nature, as `model.*` facts: from its name (a hub id, a derivative's name, a path) or from its config.json.

A name is matched against product lines, longest spelling first, and then against the line's sizes. What the name does not tell is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from stablint.base import knowledge
from stablint.base.light import Any, NamedTuple
from stablint.models import size as model_size
from stablint.models.names import Tokens, component, drafts, nominal, quantised, tokens

Facts = dict[str, Any]

# The columns of a compiled size, and of what is true of one checkpoint only.
SIZE = {
    "parameters": "model.parameters",
    "layers": "model.layers",
    "hidden": "model.hidden",
    "vocab": "model.vocab",
    "positions": "model.max_positions",
    "tied": "model.tied_embeddings",
    "experts": "model.experts",
    "intermediate": "model.intermediate",
    "kv_heads": "model.kv_heads",
    "heads": "model.heads",
    "head_dim": "model.head_dim",
}
OWN = {"positions": "model.max_positions", "template": "model.chat_template_family", "gated": "model.gated"}
_NESTED = ("text_config", "llm_config", "language_config", "thinker_config")
_DTYPES = {"float16": "float16", "half": "float16", "bfloat16": "bfloat16", "float32": "float32", "float": "float32"}
# Words of names of models that see or hear: they have modules beside those of the text model that they grew from.
_SEES = frozenset({"vl", "vlm", "vision", "visual", "audio", "omni", "ocr", "speech", "multimodal", "mm"})
_SEEING = ("cogvlm", "cogagent", "llava", "internvl", "glm4v", "qwen2vl", "videollama", "minigpt")
_NEAR = 1.6  # a size within this factor of the line's only one is still a model of that line


class Evidence(NamedTuple):
    """Why `model.fp16_training` is what it is."""

    training: str  # unsafe | risky | fine
    grade: str
    sources: tuple[str, ...]
    note: str


def describe(name_or_path: str) -> Facts | None:
    """The facts that a name tells; None where it names no known family and states no size."""
    exact = knowledge.rows("models/ids").get(name_or_path.strip().lower())
    if exact is not None:
        number, label, own, worked_out = exact
        if worked_out is not None:
            of_type, gone, facts = worked_out
            of_type = _public(knowledge.rows("models/types")[of_type])
            return {**{name: value for name, value in of_type.items() if name not in gone}, **facts}
        return {**_facts(number, label, tokens(component(name_or_path)[0]), None), **_row(OWN, own)}
    for part in component(name_or_path):
        words = tokens(part)
        if drafts(words):
            return None
        found = _line(words)
        stated = nominal(words)
        if found is not None:
            label = _label(words, found)
            if label or not stated or _plausible(found, stated[1]):
                return _facts(found, label, words, stated)
        if stated is not None:
            return _with_quantisation({"model.parameters": stated[1]}, words, None)
    return None


@lru_cache(maxsize=4096)
def guessed(name_or_path: str) -> bool:
    """Is the architecture a guess? Known is a published id, its copy under the same name or quantised, and a name that is a line's from end to end
    with one of its sizes (`/models/Qwen2.5-7B-Instruct`). Words like a line's are none (`me/gemma-3-like-llama`), nor is what somebody made of
    it and named after it (`gpt-oss-120b-Distill-Qwen3-4B`), which may be of another architecture, or of other modules."""
    if name_or_path.strip().lower() in knowledge.rows("models/ids"):
        return False
    for part in component(name_or_path):
        words = tokens(part)
        found = None if drafts(words) else _line(words)
        if found is not None:
            return not (_published(words) or _whole(words, found))
        if not drafts(words) and nominal(words) is not None:
            return True
    return False


@lru_cache(maxsize=1)
def _published_names() -> frozenset[Tokens]:
    """The names of published checkpoints without their organisations, as words."""
    return frozenset(_unquantised(tokens(name.rpartition("/")[2])) for name in knowledge.rows("models/ids"))


def _published(words: Tokens) -> bool:
    return _unquantised(words) in _published_names()


def _unquantised(words: Tokens) -> Tokens:
    """Without the words behind it that say in what form a copy stores the weights: `…-bnb-4bit`, `…-GPTQ-Int4`, `…-hf`."""
    end = len(words)
    while end > 1 and (words[end - 1] in _STORED or (words[end - 1] in _BITS and words[end - 2] in _STORED_IN)):
        end -= 1
    return words[:end]


def _whole(words: Tokens, number: int) -> bool:
    """Is the name a line's from end to end, but for its size and what is said of its making: `gpt2`, `llama-hf`, `Llama-2-13b-chat`?"""
    stated = nominal(words)
    if stated is not None and stated[0] not in _row_of(number)["sizes"]:
        return False
    told = [word for word in _unquantised(words) if word not in _MAKING and (stated is None or word != stated[0])]
    names = knowledge.rows("models/names")
    return any(
        told[1:] == [word for word in rest if word not in _MAKING and (stated is None or word != stated[0])]
        for rest, one, _ in names.get(told[0] if told else "", ())
        if one == number
    )


# Words of a name that say how a checkpoint was made, or for what, and not of which architecture it is.
_MAKING = frozenset([
    "base", "chat", "dpo", "fp", "grpo", "hf", "instruct", "it", "kto", "large", "medium", "orpo", "ppo", "pt", "sft", "small", "v", "xl",
])  # fmt: skip
# Words at its end that say in which form the weights are stored, and those that stand before a number there.
_STORED = frozenset(
    ["128g", "32g", "4bit", "8bit", "aqlm", "awq", "bf", "bitsandbytes", "bnb", "dynamic", "eetq", "fp", "gguf", "gptq", "hf", "hqq", "int", "mlx", "mxfp",
     "nf", "unsloth"]
)  # fmt: skip
_STORED_IN = frozenset(["bf", "fp", "int", "mxfp", "nf"])
_BITS = frozenset(["4", "8", "16"])


def evidence(name_or_path: str, parameters: int | None = None) -> Evidence | None:
    """What the judgement on training in fp16 rests on, for a name or a model_type; None where nothing is on record."""
    types = knowledge.rows("models/types")
    if name_or_path in types:
        line = types[name_or_path].get("evidence")
    else:
        exact = knowledge.rows("models/ids").get(name_or_path.strip().lower())
        found = (
            exact[0]
            if exact
            else next((n for part in component(name_or_path) if (n := _line(tokens(part))) is not None), None)
        )
        line = _row_of(found)["name"] if found is not None else None
        parameters = parameters or (describe(name_or_path) or {}).get("model.parameters")
    entries = knowledge.load("model_evidence").get(line, ())
    return next(
        (
            Evidence(entry["training"], entry["grade"], tuple(entry["sources"]), entry["note"])
            for entry in entries
            if (parameters or 0) >= entry.get("parameters_from", 0)
        ),
        None,
    )


def from_config(config: dict[str, Any]) -> Facts:
    """The facts that a config.json tells; empty where it is none of a model."""
    text = next((config[key] for key in _NESTED if isinstance(config.get(key), dict)), config)
    kind = config.get("model_type") if isinstance(config.get("model_type"), str) else None
    inner = text.get("model_type") if isinstance(text.get("model_type"), str) else kind
    if kind is None and "hidden_size" not in text:
        return {}
    types = knowledge.rows("models/types")
    facts: Facts = {"model.type": kind} if kind is not None else {}
    facts |= _public(types.get(kind or "") or {})
    gated = {"gate_proj", "gate_up_proj"} & set(
        (types.get(inner or "") or types.get(kind or "") or {}).get("model.linear_modules", ())
    )
    gated |= {"w1", "dense_h_to_4h"} if inner in ("qwen", "internlm2", "chatglm", "mixtral", "phimoe") else set()
    gated |= {"experts"} if (types.get(inner or "") or {}).get("model.is_moe") else set()
    facts |= _dimensions(text, inner or "")
    dtype = next(
        (c[key] for c in (config, text) for key in ("dtype", "torch_dtype") if isinstance(c.get(key), str)), None
    )
    if dtype is not None and dtype.rpartition(".")[2] in _DTYPES:
        facts["model.native_dtype"] = _DTYPES[dtype.rpartition(".")[2]]
    count = model_size.parameters(text, inner or "", bool(gated))
    tower = _tower(config.get("vision_config")) if text is not config else 0
    if count is not None and tower is not None and count + tower > 0:  # no config of a model has negative parts
        facts["model.parameters"] = count + tower
    method = _stored(config.get("quantization_config"))
    if method is not None:
        facts["model.quant_method"] = method
    facts["model.fp16_training"] = _judge(config, types.get(kind or "") or {}, facts, text)
    return facts


def _line(words: Tokens) -> int | None:
    """The product line whose spelling covers most of the name. A version number right behind it makes it another line."""
    names = knowledge.rows("models/names")
    best: tuple[tuple[int, int, int], int] | None = None
    for place, word in enumerate(words):
        for rest, number, only_first in names.get(word, ()):
            end = place + 1 + len(rest)
            if list(words[place + 1 : end]) != rest or (only_first and place):
                continue
            if (
                end < len(words)
                and re.fullmatch(r"[1-9]\d?(\.\d+)?", words[end])
                and words[end - 1] not in ("int", "fp", "bf")
            ):
                continue
            rank = (1 + len(rest), sum(map(len, words[place:end])), -place)
            if best is None or rank > best[0]:
                best = rank, number
    return None if best is None else best[1]


def _row_of(number: int) -> dict[str, Any]:
    """A product line."""
    line: dict[str, Any] = knowledge.rows("models/lines")[str(number)]
    return line


def _label(words: Tokens, number: int) -> str | None:
    """Which of the line's sizes a name means."""
    sizes = _row_of(number)["sizes"]
    stated = nominal(words)
    if stated is not None:
        place = words.index(stated[0])
        effective = "e" + stated[0]
        if place and words[place - 1] == "e" and effective in sizes:
            return effective
        return stated[0] if stated[0] in sizes else None
    return next(
        (word for word in words if word in sizes and word != "default"), "default" if "default" in sizes else None
    )


def _plausible(number: int, size: int) -> bool:
    """A line without sizes in its names (DeepSeek-R1) has no `7b`: that would be another model, distilled from it. Of a line whose bare
    name later generations bear as well, other sizes are theirs: `gemma-9b`, `qwen-32b`."""
    line = _row_of(number)
    sizes = line["sizes"]
    if line["only_sizes"]:
        return False
    known = [row[0] for row in sizes.values() if row and row[0]]
    return "default" not in sizes or not known or any(one / _NEAR <= size <= one * _NEAR for one in known)


def worked_out(name: str, line: Mapping[str, Any], of_type: Mapping[str, Any], label: str, own: list[Any]) -> Any:
    """When knowledge is compiled: the facts of a published checkpoint as what it has beyond its type, and the names of those that it has not.
    None for a name whose capitals tell something: it may be written in others.
    """
    if "for" in name.lower():
        return None
    facts = _facts_of(line, of_type, label, tokens(component(name)[0]), None) | _row(OWN, own)
    common = _public(of_type)
    return [
        line["type"],
        [fact for fact in common if fact not in facts],
        {fact: value for fact, value in facts.items() if fact not in common or common[fact] != value},
    ]


def _facts(number: int, label: str | None, words: Tokens, stated: tuple[str, int] | None) -> Facts:
    line = _row_of(number)
    return _facts_of(line, knowledge.rows("models/types")[line["type"]], label, words, stated)


def _facts_of(
    line: Mapping[str, Any],
    of_type: Mapping[str, Any],
    label: str | None,
    words: Tokens,
    stated: tuple[str, int] | None,
) -> Facts:
    facts = _public(of_type)
    sure = label is not None or not line["needs_size"]
    if line["dtype"] and sure:
        facts["model.native_dtype"] = line["dtype"]
    if line["is_moe"] is not None:
        facts["model.is_moe"] = line["is_moe"]
    if label is not None:
        facts |= _row(SIZE, line["sizes"][label])
    stated = stated or nominal(words)
    if "model.parameters" not in facts and stated is not None:
        facts["model.parameters"] = stated[1]
    facts["model.fp16_training"] = _judgement(line["fp16"], facts) if sure else "unknown"
    if _sees(words) and not _sees(line["type"].split("_")):
        facts.pop("model.linear_modules", None)  # those of the text model; the tower's are not on record
    return _with_quantisation(facts, words, line["quantised"])


def _row(columns: Mapping[str, str], row: list[Any]) -> Facts:
    return {fact: value for fact, value in zip(columns.values(), row, strict=False) if value is not None}


def _sees(words: Iterable[str]) -> bool:
    return any(word in _SEES or word.startswith(_SEEING) for word in words)


def _judgement(entries: list[tuple[str, int]], facts: Mapping[str, Any]) -> str:
    """The first entry whose least size the model reaches."""
    reached = facts.get("model.parameters", 0)
    return next((training for training, least in entries if reached >= least), "unknown")


def _with_quantisation(facts: Facts, words: Tokens, published: str | None) -> Facts:
    joined = "-" + "-".join(words) + "-"
    method = quantised(words) or (None if re.search("-bf-16-|-dequantized-|-fp-16-", joined) else published)
    if method is not None:
        facts["model.quant_method"] = method
    return facts


def _public(facts: Mapping[str, Any]) -> Facts:
    return {name: value for name, value in facts.items() if name.startswith("model.")}


def _columns(size: list[Any]) -> list[Any]:
    """Layers, hidden, vocab, intermediate and key-value heads of a compiled size."""
    names = list(SIZE)
    places = [names.index(name) for name in ("layers", "hidden", "vocab", "intermediate", "kv_heads")]
    return [size[place] if place < len(size) else None for place in places]


def _dimensions(text: dict[str, Any], kind: str) -> Facts:
    found = {
        "model.hidden": model_size.dimension(text, "hidden_size", "n_embd", "d_model", "dim"),
        "model.layers": model_size.dimension(text, "num_hidden_layers", "n_layer", "num_layers", "n_layers"),
        "model.vocab": model_size.dimension(text, "padded_vocab_size", "vocab_size"),
        "model.max_positions": model_size.dimension(
            text, "max_position_embeddings", "n_positions", "seq_length", "max_seq_len"
        ),
        "model.experts": model_size.dimension(
            text, "num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"
        ),
    }
    heads = model_size.dimension(text, "num_attention_heads", "n_head", "n_heads")
    found |= {
        "model.intermediate": model_size.dimension(text, "intermediate_size", "ffn_hidden_size", "d_ff"),
        "model.heads": heads,
        "model.kv_heads": model_size.dimension(text, "num_key_value_heads") or heads,
        "model.head_dim": model_size.dimension(text, "head_dim"),
    }
    facts: Facts = {name: value for name, value in found.items() if value is not None}
    if (found["model.experts"] or 0) > 1:
        facts["model.is_moe"] = True
    facts["model.tied_embeddings"] = model_size.tied(text, kind)
    return facts


def _tower(vision: object) -> int | None:
    """Parameters of a vision transformer, roughly (it is a small part of the whole); None where its dimensions are not to be read."""
    if not isinstance(vision, dict):
        return 0
    width = model_size.dimension(vision, "embed_dim", "hidden_size")
    depth = model_size.dimension(vision, "depth", "num_hidden_layers")
    inner = model_size.dimension(vision, "intermediate_size")
    if width is None or depth is None:
        return None
    ratio = vision.get("mlp_ratio")
    inner = inner or round(width * (ratio if isinstance(ratio, (int, float)) and 0 < ratio < 100 else 4))
    return depth * (4 * width * width + 2 * width * inner)


def _stored(quantization: object) -> str | None:
    if not isinstance(quantization, dict):
        return None
    method = quantization.get("quant_method")
    if isinstance(method, str):
        return method
    return "bitsandbytes" if quantization.get("load_in_4bit") or quantization.get("load_in_8bit") else None


def _judge(config: dict[str, Any], of_type: Mapping[str, Any], facts: Facts, text: dict[str, Any]) -> str:
    """fp16_training of a config.json: by the name written in it, else its architecture, else what all checkpoints of its shape share."""
    name = config.get("_name_or_path")
    named = describe(name) if isinstance(name, str) and name else None
    if named is not None and named.get("model.type") == facts.get("model.type"):
        return str(named["model.fp16_training"])
    if of_type.get("fp16"):
        return _judgement(of_type["fp16"], facts)
    heads = model_size.dimension(text, "num_attention_heads", "n_head")
    groups = model_size.dimension(text, "num_key_value_heads") or heads
    shape = [facts.get(f"model.{name}") for name in ("layers", "hidden", "vocab")]
    shape += [model_size.dimension(text, "intermediate_size"), groups]
    alike = set()
    for line in knowledge.rows("models/lines").values():
        if line["type"] == facts.get("model.type"):
            for size in line["sizes"].values():
                if _columns(size) == shape:
                    alike.add(_judgement(line["fp16"], _row(SIZE, size)))
    if alike == {"unsafe", "risky"}:
        return "risky"
    return alike.pop() if len(alike) == 1 else "unknown"
