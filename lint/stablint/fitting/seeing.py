"""Models that see pictures: the language model in them, and what their tower adds."""

from __future__ import annotations

from typing import Any, NamedTuple

from stablint.memory.plan import Range
from stablint.run.world import World

_FACTS = ("parameters", "layers", "hidden", "intermediate", "heads", "kv_heads", "vocab", "head_dim", "tied_embeddings")
# The language models in them, by size, as text_config of the published checkpoints says: those of Qwen2, Qwen2.5 and Qwen3.
_LANGUAGE: dict[str, tuple[tuple[Any, ...], ...]] = {
    "qwen2_vl": (
        (1543714304, 28, 1536, 8960, 12, 2, 151936, None, True),
        (7615616512, 28, 3584, 18944, 28, 4, 152064, None, False),
        (72706203648, 80, 8192, 29568, 64, 8, 152064, None, False),
    ),
    "qwen2_5_vl": (
        (3085938688, 36, 2048, 11008, 16, 2, 151936, None, True),
        (7615616512, 28, 3584, 18944, 28, 4, 152064, None, False),
        (32763876352, 64, 5120, 27648, 40, 8, 152064, None, False),
        (72706203648, 80, 8192, 29568, 64, 8, 152064, None, False),
    ),
    "qwen3_vl": (
        (1720574976, 28, 2048, 6144, 16, 8, 151936, 128, True),
        (4022468096, 36, 2560, 9728, 32, 8, 151936, 128, True),
        (8190735360, 36, 4096, 12288, 32, 8, 151936, 128, False),
        (32762123264, 64, 5120, 25600, 64, 8, 151936, 128, False),
    ),
}
# Of the tower: width, blocks, and patches that become one token (transformers models/qwen2_vl, qwen2_5_vl and qwen3_vl, configuration: hidden_size or
# embed_dim, depth, spatial_merge_size squared).
_TOWER = {"qwen2_vl": (1280, 32, 4), "qwen2_5_vl": (1280, 32, 4), "qwen3_vl": (1152, 27, 4)}
_FROZEN = 20.0  # bytes a patch and width that a block takes while it runs: queries, keys, values, the wide layer, each in half precision
_KEPT = 34.0  # bytes a patch and width that a block keeps for its backward pass (arXiv 2205.05198, section 4: fused attention, a wide layer of four widths)
_ROUNDED = 1.02
_LEAST = 200_000_000  # of a tower: less is what rounding leaves


_DIGITS = 12  # of a number of pixels that a picture could have
_PIXELS_A_TOKEN = 28 * 28
_MOST_PIXELS = (
    16384 * _PIXELS_A_TOKEN
)  # of a picture, where nobody says another number (qwen_vl_utils 0.0.8 vision_process.py, MAX_PIXELS)


class Tower(NamedTuple):
    """Parameters of the tower, and the bytes that pictures take in it."""

    parameters: int
    pictures: Range
    is_frozen: bool


def dimensions(w: World) -> dict[str, Any] | None:
    """The language model's: of its family the largest that is not above the whole, whose size may be rounded."""
    whole = w.value("model.parameters")
    if not isinstance(whole, int) or isinstance(whole, bool):
        return None
    below = [one for one in _LANGUAGE.get(str(w.value("model.type")), ()) if one[0] < whole * _ROUNDED]
    return dict(zip(_FACTS, below[-1], strict=True)) if below else None


def beyond_the_limit(w: World) -> int:
    """Tokens of the largest picture, where a framework makes them of a row that it has cut before."""
    if not w.framework.pictures_after_cut or w.value("model.type") not in _TOWER:
        return 0
    stated = str(w.stated("launch.env.MAX_PIXELS"))
    return (int(stated) if stated.isdecimal() and len(stated) < _DIGITS else _MOST_PIXELS) // _PIXELS_A_TOKEN


def tower(w: World, text: int, rows: int, length: Range) -> Tower | None:
    """At the low end no picture; usually rows whose half is pictures, in a frozen tower; at the high end nothing but pictures, and, where nobody says
    that it is frozen, a tower that is trained or bears an adapter and keeps what it made of them."""
    whole, widths = w.value("model.parameters"), _TOWER.get(str(w.value("model.type")))
    if widths is None or not isinstance(whole, int) or isinstance(whole, bool):
        return None
    width, blocks, patches = widths
    each = float(rows * patches * width)
    frozen = w.value("training.freeze_vision_tower") is True
    most = _FROZEN + (0.0 if frozen else _KEPT * blocks)
    pictures = Range(0.0, _FROZEN * each * length.usual / 2, most * each * length.high)
    rest = whole - text
    return Tower(rest if rest > _LEAST else 12 * blocks * width**2, pictures, frozen)
