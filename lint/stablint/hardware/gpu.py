"""The accelerator that a run is meant for, from what people write: `RTX 3090 x7`, `8xH100`, `NVIDIA A100-SXM4-80GB`, `p4d.24xlarge`, `cpu`.

A name that several cards share (A100, V100, H100) is still an answer: what they agree on is known, the rest stays unknown.
A name that no card has is no answer, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from stablint.base import knowledge
from stablint.base.libraries import difflib
from stablint.base.light import NamedTuple
from stablint.hardware.names import BRANDS, Words, instance_key, squeeze, take_apart
from stablint.syntax.tree import Unknown

FIELDS = (
    "vendor", "arch", "device", "compute_capability", "native_bf16", "emulated_bf16", "fp16_tensor_cores", "tf32", "fp8", "flash_attention_2",
    "memory_gib", "reported_gib",
)  # fmt: skip
_MEMORY = r"(?<![a-z0-9.])(\d{1,3}(?:\.\d+)?)\s*(?:gib|gb|g)(?![a-z0-9])"
_MEBIBYTES = r"(?<![a-z0-9.])(\d{4,6})\s*mi?b\b"
_SLICE = r"\bmig\s*\d+g\.(\d+)gb\b"
_COUNT_FIRST = r"(\d{1,4})\s*(?:[x*]|卡|张)\s*(?=[a-z0-9])"
_COUNT_LAST = r"(?:[\s(]{0,4}[x*:]\s{0,4}|\s)(\d{1,4})\s{0,4}(?:卡|张)?\)?$"
_COUNT_INSIDE = r"\s[x*](\d{1,4})(?=\s)"
_COUNT_WORD = r"(dual|quad)\s+"
_COUNT_PLAIN = r"(\d{1,3})\s+(?=[a-z])"
_WORDS = {"dual": 2, "quad": 4}
MOST = 1024  # a larger number before an x is a card's name: 4090x2
SAME = 0.08  # drivers report up to 8 % less than what is sold
# The most of what is sold that torch was seen to report where no figure is on record (sources: knowledge/gpus/nvidia.yaml, reported_gib).
_GEFORCE, _LARGE, _SMALL = 0.988, 0.985, 0.92  # cards without error correction; from 40 GB on; below
_LARGE_FROM = 40  # GiB


class Gpu(NamedTuple):
    """One kind of accelerator. None where it is unknown, or where the cards that the name may mean differ.

    `memory_gib` is that of one GPU as it is sold, stated or measured, `reported_gib` the most that torch was seen to report of it, `count`
    how many the run has (None when not said), `options` the cards the name may mean.
    """

    name: str
    count: int | None  # type: ignore[assignment]  # hides tuple.count, which nobody asks a GPU for
    options: tuple[str, ...]
    vendor: str | None
    arch: str | None
    device: str | None  # torch's word: cuda (NVIDIA and AMD), xpu, hpu, xla, npu, mps, cpu
    compute_capability: float | None
    native_bf16: bool | None
    emulated_bf16: bool | None
    fp16_tensor_cores: bool | None
    tf32: bool | None
    fp8: bool | None
    flash_attention_2: bool | None
    memory_gib: float | None
    reported_gib: float | None = None
    most_memory_gib: float | None = None  # that any of the cards that the name may mean can give a run
    least_memory_gib: float | None = None  # that all of them can

    def facts(self) -> dict[str, Any]:
        """`target.gpu.*` and `target.device`; Unknown with its reason where the name leaves it open."""
        facts: dict[str, Any] = {"target.gpu.name": self.name}
        facts["target.gpu.count"] = Unknown(f"how many: write {self.name} x8") if self.count is None else self.count
        for field in FIELDS:
            value = getattr(self, field)
            if field == "reported_gib":
                continue
            if value is None and not (field == "compute_capability" and self.vendor not in (None, "nvidia")):
                value = Unknown(self._why(field))
            facts["target.device" if field == "device" else "target.gpu." + field] = value
        most = self.memory_gib if self.most_memory_gib is None else self.most_memory_gib
        facts["target.gpu.most_memory_gib"] = Unknown(self._why("memory_gib")) if most is None else most
        least = most if self.least_memory_gib is None else self.least_memory_gib
        facts["target.gpu.least_memory_gib"] = Unknown(self._why("memory_gib")) if least is None else least
        return facts

    def of_memory(self, gib: float) -> Gpu:
        """The same card with so much memory for a run, whatever is sold: a MIG slice, a part of a card that others use as well."""
        name = self.name if is_unnamed(self) else f"{_without_size(self.name)} {gib:g}GB"
        return self._replace(name=name, memory_gib=gib, reported_gib=None, most_memory_gib=gib, least_memory_gib=gib)

    def _why(self, field: str) -> str:
        if len(self.options) > 1:
            return f"{self.name} may be {', '.join(self.options[:-1])} or {self.options[-1]}"
        return "shared with the host" if field == "memory_gib" and self.device in ("cpu", "mps") else "not on record"


def parse_gpu(text: str) -> Gpu | None:
    """The accelerator that `text` names, with count and memory where it states them; None if no card has that name."""
    plain = _plain(text)
    if not plain or len(plain) > 200:
        return None
    for rest, count in _counts(plain):
        found = _instance(rest, count) or _card(rest, count)
        if found is not None:
            return found
    return None


def parse_gpu_memory(text: str) -> tuple[float, int | None] | None:
    """`20`, `23.6 GiB`, `64GB x8`: GiB that a run can have of each card, and how many cards; None if it says no such thing."""
    said = re.fullmatch(r"(\d{1,5}(?:\.\d{1,3})?)\s?(?:gib|gb|g)?(?:\s?[x*]\s?(\d{1,4}))?", _plain(text))
    if said is None or not float(said[1]) or (said[2] is not None and not 0 < int(said[2]) <= MOST):
        return None
    return float(said[1]), None if said[2] is None else int(said[2])


_UNNAMED = "GPU of "


def unnamed(gib: float, count: int | None) -> Gpu:
    """A card of which nothing but its memory is known."""
    nothing: dict[str, Any] = dict.fromkeys(FIELDS)
    return Gpu(f"{_UNNAMED}{gib:g} GiB", count, (), **nothing).of_memory(gib)


def is_unnamed(card: Gpu) -> bool:
    return card.name.startswith(_UNNAMED)


def _without_size(name: str) -> str:
    return re.sub(r"[\s-]\d+(?:\.\d+)?\s?GB$", "", name)


def suggestions(text: str, limit: int = 3) -> list[str]:
    """Names like `text`, best first, for `did you mean`."""
    known = knowledge.load("gpus")
    names = {spelled.lower(): spelled for spelled in [*known["labels"].values(), *(row[0] for row in known["cards"])]}
    names |= {instance: instance for instance in known["instances"]}
    memory = 1 + FIELDS.index("memory_gib")
    for label in known["labels"].values():  # with each size that it is sold in
        sizes = {row[memory] for row in known["cards"] if f" {label} ".lower() in f" {row[0]} ".lower() and row[memory]}
        names |= {f"{label}-{size:g}GB".lower(): f"{label}-{size:g}GB" for size in sizes if len(sizes) > 1}
    plain = _plain(text)
    close = []
    for rest, _ in _counts(plain):
        close += difflib.get_close_matches(rest, names, limit, 0.6)
    return [names[name] for name in dict.fromkeys(close)][:limit]


def _plain(text: str) -> str:
    lowered = text.lower().replace("×", "x").replace("®", " ").replace("™", " ").replace("（", "(").replace("）", ")")
    return re.sub(r"\s+", " ", lowered).strip(" ,;")


def _counts(text: str) -> Iterator[tuple[str, int | None]]:
    """The text without its count, in every way that it can be read: as it is, `8x …`, `… x8`, `…:8`, `8 …`, `… x8 32GB`."""
    yield text, None
    trimmed = re.sub(r"^gpus? | gpus?\)?$| cards?\)?$", "", text.replace("_", " "))
    for pattern in (_COUNT_FIRST, _COUNT_WORD, _COUNT_PLAIN):
        first = re.match(pattern, trimmed)
        if first and (number := _WORDS.get(first[1]) or int(first[1])) <= MOST:
            yield trimmed[first.end() :], number
    last = re.search(_COUNT_LAST, trimmed)
    if last and last.start() and int(last[1]) <= MOST:
        yield trimmed[: last.start()], int(last[1])
    inside = re.search(_COUNT_INSIDE, trimmed)
    if inside and int(inside[1]) <= MOST:
        yield trimmed[: inside.start()] + trimmed[inside.end() :], int(inside[1])


def _instance(text: str, nodes: int | None) -> Gpu | None:
    row = knowledge.load("gpus")["instances"].get(instance_key(text))
    if row is None:
        return None
    label, indices, count = row
    return _merge(label, indices, count * (nodes or 1), None)


def _card(text: str, count: int | None) -> Gpu | None:
    known = knowledge.load("gpus")
    whole = known["exact"].get(squeeze(text))
    if whole is not None:
        return _merge(known["cards"][whole][0], [whole], count, None)
    text, memory = _memory(text.replace("_", " "))
    words = take_apart(text)
    named = _named(words.core)
    if named is None and memory is None:  # a bare number at the end may be the memory: A100-80, V100 32
        split = re.match(r"(.*[^\s-])[\s-]+(\d{2,3})$", text)
        if split:
            words, memory = take_apart(split[1]), float(split[2])
            named = _named(words.core)
            if named is not None and not _of_memory(named[1], memory, count):
                return None
    return _choose(*named, words, memory, count) if named is not None else None


def _named(core: str) -> tuple[str, list[int]] | None:
    """Label and cards of a name; a maker's word may be glued to its front (`rtx3090`), a plural s to its end."""
    known = knowledge.load("gpus")
    while core:
        for name in (core, core.removesuffix("s")):
            if name in known["names"]:
                return known["labels"][name], list(known["names"][name])
        glued = next((brand for brand in BRANDS if len(core) > len(brand) and core.startswith(brand)), None)
        if glued is None:
            return None
        core = core[len(glued) :]
    return None


def _memory(text: str) -> tuple[str, float | None]:
    """The text without sizes, and the size that counts: that of a MIG slice before that of its card."""
    said: float | None = None
    for pattern, unit in ((_SLICE, 1.0), (_MEMORY, 1.0), (_MEBIBYTES, 1024.0)):
        while found := re.search(pattern, text):
            said = float(found[1]) / unit if said is None else said
            text = text[: found.start()] + " " + text[found.end() :]
    return text, said


def _choose(label: str, indices: list[int], words: Words, memory: float | None, count: int | None) -> Gpu | None:
    """Among cards of one name: those that the form, maker and memory words point at."""
    cards = knowledge.load("gpus")["cards"]
    if words.architectures:
        indices = [i for i in indices if cards[i][2].lower() in words.architectures]
        if not indices:
            return None
    mobile = [i for i in indices if "laptop" in cards[i][-3]] if words.laptop else []
    if mobile:
        indices, label = mobile, label + " Laptop"
    for position, said in ((-3, words.forms), (-2, words.brands)):
        for word in sorted(said):
            fitting = [i for i in indices if any(own.startswith(word) for own in cards[i][position])]
            indices = fitting or indices
    if memory is None:
        if words.laptop and not mobile and not (words.forms and len(indices) == 1):
            merged = _merge(label + " Laptop", indices, count, None)
            return merged._replace(
                name=label + " Laptop", memory_gib=None, reported_gib=None, most_memory_gib=None, least_memory_gib=None
            )
        plain = [i for i in indices if not cards[i][-1]]
        return _merge(label, plain or indices, count, None)
    fitting = _of_memory(indices, memory, count)
    if fitting:
        return _merge(f"{label} {cards[fitting[0]][1 + FIELDS.index('memory_gib')]:g}GB", fitting, count, None)
    sold = [cards[i][1 + FIELDS.index("memory_gib")] for i in indices]
    if not any(one is None or 0.1 * one <= memory <= 2.5 * one for one in sold):
        return None
    if len(indices) == 1:
        label = cards[indices[0]][0]
    # A slice of a card, or a card with more memory soldered on: as stated.
    return _merge(f"{label} {memory:g}GB", indices, count, memory)


def _of_memory(indices: list[int], memory: float, count: int | None) -> list[int]:
    """The cards that have this memory; a total over all GPUs is understood too."""
    cards, position = knowledge.load("gpus")["cards"], 1 + FIELDS.index("memory_gib")
    for wanted in (memory, memory / count if count else None):
        if wanted is not None:
            sold = [(i, cards[i][position]) for i in indices if cards[i][position]]
            fitting = [i for i, memory in sold if abs(wanted - memory) <= SAME * memory]
            if fitting:
                return fitting
    return []


def _merge(label: str, indices: list[int], count: int | None, memory: float | None) -> Gpu:
    """What the cards agree on, under one name."""
    rows = [knowledge.load("gpus")["cards"][i] for i in indices]
    agreed = {}
    for position, field in enumerate(FIELDS, 1):
        values = {row[position] for row in rows}
        agreed[field] = values.pop() if len(values) == 1 else None
    if memory is not None:
        agreed |= {"memory_gib": memory, "reported_gib": None}
    if count is None and agreed["device"] == "mps":
        count = 1
    name = rows[0][0] if len(rows) == 1 and memory is None else label
    given = [one for row in rows if (one := _given(row)) is not None]
    sold = memory is None and len(given) == len(rows)
    return Gpu(
        name, count, tuple(row[0] for row in rows), **agreed,
        most_memory_gib=max(given) if sold else None, least_memory_gib=min(given) if sold else None,
    )  # fmt: skip


def _given(row: list[Any]) -> float | None:
    """The most memory of a card, in GiB, that a run was seen to have or can be expected to have; None where it is the host's."""
    name, values = row[0], dict(zip(FIELDS, row[1:], strict=False))
    reported, sold = values["reported_gib"], values["memory_gib"]
    if reported is not None or sold is None or values["vendor"] != "nvidia":
        return sold if reported is None else float(reported)
    share = _GEFORCE if name.startswith("GeForce") else _LARGE if sold >= _LARGE_FROM else _SMALL
    return round(float(sold) * share, 2)
