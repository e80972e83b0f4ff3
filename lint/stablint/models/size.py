"""How many parameters a model has, counted from its config.json by the formula of its architecture.

Weights, biases and norms of embeddings, layers and output head, as the classes of transformers 5.23.0 build them. Buffers do not count,
and of a multimodal model only the text part is counted here.
"""

from __future__ import annotations

from collections.abc import Mapping

from stablint.base.light import Any

Config = Mapping[str, Any]

_T5 = frozenset(("t5", "mt5", "umt5", "longt5"))
_BART = frozenset(("bart", "mbart", "pegasus"))
_PLAIN = frozenset(
    (
        *("gpt2", "gpt_bigcode", "gptj", "gpt_neo", "gpt_neox", "codegen", "bloom", "falcon", "opt", "phi", "mpt"),
        *("starcoder2", "bert", "roberta", "xlm-roberta", "persimmon"),
    )
)
# Layers of several kinds, weights per layer beside them, or towers: no formula here.
_OTHERWISE = frozenset(
    (
        *(
            "qwen3_next",
            "qwen3_5",
            "qwen3_5_text",
            "qwen3_5_moe",
            "lfm2",
            "lfm2_moe",
            "falcon_h1",
            "jamba",
            "nemotron_h",
            "minimax",
        ),
        *(
            "granitemoehybrid",
            "kimi_linear",
            "deepseek_v32",
            "deepseek_v4",
            "glm_moe_dsa",
            "gemma3n",
            "gemma3n_text",
            "gemma4",
        ),
        *(
            "gemma4_text",
            "gemma4_unified",
            "llama4",
            "llama4_text",
            "mllama",
            "mllama_text_model",
            "bitnet",
            "minicpmv",
            "minicpm",
        ),
        *("recurrent_gemma", "bailing_hybrid", "longcat_flash", "glm5_next", "qwen4_exp", "nemotron-nas", "arctic"),
        *("minicpmv4_6", "minicpmv4_7", "diffusion_gemma"),
    )
)
_UNGATED = frozenset(("apertus", "arcee", "nemotron"))
_QKV_BIAS = frozenset(("qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "qwen", "glm", "chatglm", "seed_oss"))
_QK_NORM = frozenset(("qwen3", "qwen3_moe", "gemma3", "gemma3_text", "qwen3_vl", "qwen3_vl_moe", "apertus", "exaone4"))
_WIDE_QK_NORM = frozenset(("olmo2", "olmo3", "olmoe", "minimax_m2"))
_FOUR_NORMS = frozenset(("gemma2", "gemma3", "gemma3_text", "glm4"))
_NO_NORM_WEIGHT = frozenset(("olmo",))
_TIED = frozenset(
    (
        *(
            "gemma",
            "gemma2",
            "gemma3",
            "gemma3_text",
            "gpt2",
            "gpt_bigcode",
            "gpt_neo",
            "bloom",
            "opt",
            "mpt",
            "falcon",
            "cohere",
            "cohere2",
        ),
        *("t5", "starcoder2", "bert", "roberta", "xlm-roberta", "bart", "qwen2_vl_text", "granite"),
    )
)


def dimension(config: Config, *names: str) -> int | None:
    """The first of these keys that holds a positive whole number."""
    for name in names:
        value = config.get(name)
        if type(value) is int and 0 < value < 10**12:
            return value
    return None


def tied(config: Config, kind: str) -> bool:
    """Does the output head share the embedding's weights? Where the file is silent, the class's default."""
    stated = config.get("tie_word_embeddings")
    return stated if isinstance(stated, bool) else kind in _TIED


def parameters(config: Config, kind: str, gated: bool) -> int | None:
    """The count, or None where the formula of this architecture is not known or a dimension is missing.

    `gated` says that the layers have the usual gate, up and down projections.
    """
    if kind in _T5:
        return _t5(config)
    if kind in _BART:
        return _bart(config, kind)
    hidden = dimension(config, "hidden_size", "n_embd", "d_model", "dim")
    layers = dimension(config, "num_hidden_layers", "n_layer", "num_layers", "n_layers")
    vocabulary = dimension(config, "padded_vocab_size", "vocab_size")
    heads = dimension(config, "num_attention_heads", "n_head", "n_heads", "num_heads")
    if hidden is None or layers is None or vocabulary is None or heads is None or kind in _OTHERWISE:
        return None
    if kind in _PLAIN:
        layer, around = _plain(config, kind, hidden, heads)
        return layers * layer + around + vocabulary * hidden * (1 if tied(config, kind) else 2)
    if not gated and kind not in _UNGATED and kind != "gpt_oss":
        return None
    norms = (
        0
        if kind in _NO_NORM_WEIGHT
        else hidden * (4 if kind in _FOUR_NORMS else 1 if kind in ("cohere", "cohere2") else 2)
    )
    if kind == "stablelm":
        norms *= 2  # weight and bias
    attention = _latent_attention(config, hidden, heads) or _attention(config, kind, hidden, heads)
    mlps = _mlps(config, kind, hidden, layers)
    if mlps is None:
        return None
    embeddings = vocabulary * hidden * (1 if tied(config, kind) else 2)
    return layers * (attention + norms) + mlps + embeddings + (norms and hidden * (2 if kind == "stablelm" else 1))


def _attention(config: Config, kind: str, hidden: int, heads: int) -> int:
    """Query, key, value and output projections of grouped heads, with their biases and norms."""
    groups = dimension(config, "num_key_value_heads", "multi_query_group_num") or heads
    width = dimension(config, "head_dim", "kv_channels") or hidden // heads
    queries, keys = heads * width, groups * width
    count = hidden * (queries + 2 * keys) + queries * hidden
    if (
        kind in _QKV_BIAS
        or config.get("attention_bias") is True
        or config.get("use_qkv_bias") is True
        or kind == "gpt_oss"
    ):
        count += queries + 2 * keys
    if kind == "gpt_oss" or (config.get("attention_bias") is True and kind not in _QKV_BIAS and kind != "glm4_moe"):
        count += hidden + (heads if kind == "gpt_oss" else 0)
    if kind in _QK_NORM or config.get("use_qk_norm") is True:
        count += 2 * width
    elif kind in _WIDE_QK_NORM:
        count += queries + keys
    return count


def _latent_attention(config: Config, hidden: int, heads: int) -> int | None:
    """DeepSeek's multi-head latent attention."""
    latent, rope = dimension(config, "kv_lora_rank"), dimension(config, "qk_rope_head_dim")
    plain, value = dimension(config, "qk_nope_head_dim"), dimension(config, "v_head_dim")
    if latent is None or rope is None or plain is None or value is None:
        return None
    low = dimension(config, "q_lora_rank")
    wide = heads * (plain + rope)
    queries = hidden * low + low + low * wide if low else hidden * wide
    return queries + hidden * (latent + rope) + latent + latent * heads * (plain + value) + heads * value * hidden


def _mlps(config: Config, kind: str, hidden: int, layers: int) -> int | None:
    """Feed-forward weights of all layers: dense ones, and those of experts with router and shared experts."""
    width = dimension(config, "intermediate_size", "ffn_hidden_size", "n_inner")
    experts = dimension(config, "num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
    matrices = 2 if kind in _UNGATED else 3
    if width is None:
        return None
    dense = matrices * hidden * (width // 2 if kind == "qwen" else width)
    if experts is None or experts < 2:
        return layers * dense
    narrow = dimension(config, "moe_intermediate_size") or width
    expert = matrices * hidden * narrow + (2 * narrow + hidden if kind == "gpt_oss" else 0)
    router = hidden * experts + (experts if kind in ("gpt_oss", "glm4_moe", "deepseek_v3") else 0)
    shared = matrices * hidden * narrow * (dimension(config, "n_shared_experts") or 0)
    own = dimension(config, "shared_expert_intermediate_size")
    if own:
        shared = matrices * hidden * own + hidden
    first = dimension(config, "first_k_dense_replace") or 0
    skipped = config.get("mlp_only_layers")
    first += len(skipped) if isinstance(skipped, list) else 0
    return first * dense + (layers - first) * (experts * expert + router + shared)


def _plain(config: Config, kind: str, hidden: int, heads: int) -> tuple[int, int]:
    """One layer with biases and two feed-forward matrices, and what stands around the layers beside the embeddings."""
    width = dimension(config, "intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size") or 4 * hidden
    groups = dimension(config, "num_key_value_heads", "num_kv_heads") or heads
    if kind == "gpt_bigcode" and config.get("multi_query") is not False:
        groups = 1
    if kind == "falcon" and config.get("new_decoder_architecture") is not True:
        groups = 1 if config.get("multi_query") is not False else heads
    keys = hidden // heads * groups
    weights = hidden * (hidden + 2 * keys) + hidden * hidden + 2 * hidden * width
    biases = hidden + 2 * keys + hidden + width + hidden
    if kind in ("falcon", "mpt"):
        biases = 0
    elif kind in ("gptj", "codegen"):
        biases = width + hidden
    elif kind == "gpt_neo":
        biases = hidden + width + hidden
    norms = {"gptj": 2, "codegen": 2, "phi": 2, "mpt": 2}.get(kind, 4) * hidden
    positions = dimension(config, "max_position_embeddings", "n_positions") or 0
    around = hidden if kind == "mpt" else 2 * hidden
    if kind in ("gpt2", "gpt_bigcode", "gpt_neo", "bert", "roberta", "xlm-roberta"):
        around += positions * hidden
    elif kind == "opt":
        around += (positions + 2) * hidden
    elif kind == "bloom":
        around += 2 * hidden  # the embeddings have a norm of their own
    if kind in ("bert", "roberta", "xlm-roberta"):
        around += 2 * hidden + hidden * hidden + hidden  # token types, pooler
    if kind in ("gptj", "codegen", "phi"):
        around += dimension(config, "vocab_size") or 0  # the head has a bias
    return weights + biases + norms, around


def _t5(config: Config) -> int | None:
    """T5: an encoder, a decoder with cross-attention, relative positions in the first layer of each."""
    hidden, inner = dimension(config, "d_model"), dimension(config, "d_ff")
    width, heads = dimension(config, "d_kv"), dimension(config, "num_heads")
    layers, vocabulary = dimension(config, "num_layers"), dimension(config, "vocab_size")
    if hidden is None or inner is None or width is None or heads is None or layers is None or vocabulary is None:
        return None
    decoder = dimension(config, "num_decoder_layers") or layers
    gated = "gated" in str(config.get("feed_forward_proj", "")) or config.get("is_gated_act") is True
    attention = 4 * hidden * heads * width
    forward = (3 if gated else 2) * hidden * inner
    untied = 0 if config.get("tie_word_embeddings", True) is not False else vocabulary * hidden
    biases = 2 * (dimension(config, "relative_attention_num_buckets") or 32) * heads
    encoder_layers = layers * (attention + forward + 2 * hidden)
    decoder_layers = decoder * (2 * attention + forward + 3 * hidden)
    return vocabulary * hidden + untied + encoder_layers + decoder_layers + 2 * hidden + biases


def _bart(config: Config, kind: str) -> int | None:
    """BART, mBART, Pegasus: both sides with biases, positions of their own, one shared embedding."""
    hidden, vocabulary = dimension(config, "d_model"), dimension(config, "vocab_size")
    encoder = dimension(config, "encoder_layers", "num_hidden_layers")
    positions = dimension(config, "max_position_embeddings")
    if hidden is None or vocabulary is None or encoder is None or positions is None:
        return None
    decoder = dimension(config, "decoder_layers") or encoder
    attention = 4 * (hidden * hidden + hidden)
    inner, outer = (
        dimension(config, "encoder_ffn_dim") or 4 * hidden,
        dimension(config, "decoder_ffn_dim") or 4 * hidden,
    )
    encoder_layer = attention + 2 * hidden * inner + inner + hidden + 4 * hidden
    decoder_layer = 2 * attention + 2 * hidden * outer + outer + hidden + 6 * hidden
    around = 2 * (positions + (0 if kind == "pegasus" else 2)) * hidden + 4 * hidden * (2 if kind == "mbart" else 1)
    return vocabulary * hidden + encoder * encoder_layer + decoder * decoder_layer + around
