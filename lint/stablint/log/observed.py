"""What a log states of its run: releases, the card, and the command that was echoed."""

from __future__ import annotations

import re
from typing import NamedTuple

# Unsloth's banner: `Unsloth 2025.3.19: Fast Qwen2 patching. Transformers: 4.50.0.`; folders of wheels: `trl-0.16.0`; `transformers==4.41.2`.
_RELEASES = re.compile(
    r"(?<![\w-])(?P<name>transformers|trl|peft|accelerate|deepspeed|bitsandbytes|torch|unsloth|flash[-_]attn|llamafactory|ms[-_]swift|axolotl)"
    r"(?:==|-|: ?| version:? | v| )(?P<release>\d{1,4}\.\d{1,3}(?:\.\d{1,3})?)(?![\d.]*\w)",
    re.IGNORECASE,
)
_CARD = re.compile(r"\b(?:NVIDIA |Tesla |GPU = )(?P<name>(?:GeForce )?[A-Z][\w-]{0,20}(?: [\w-]{1,12}){0,3})")
_COMMANDS = re.compile(
    r"(?:^|run sh: `?|\+ |\$ )(?P<command>(?:[A-Z_]{2,40}=\S{1,80} )*(?:torchrun|accelerate launch|deepspeed|llamafactory-cli train|swift (?:sft|pt|rlhf)|"
    r"axolotl train|python3? (?:-m )?\S{1,200}) .{0,8000})"
)
MARKS = (b"Unsloth", b"NVIDIA", b"run sh:", b" --model")


class Stated(NamedTuple):
    releases: dict[str, str]
    cards: tuple[str, ...]
    commands: tuple[tuple[int, str], ...]


def releases(text: str) -> dict[str, str]:
    return {found["name"].lower().replace("_", "-"): found["release"] for found in _RELEASES.finditer(text)}


def card(text: str) -> str | None:
    found = _CARD.search(text)
    return found["name"].strip() if found is not None else None


def command(text: str) -> str | None:
    """A launch command that somebody's shell or launcher printed; it has at least two options."""
    found = _COMMANDS.search(text)
    if found is None or found["command"].count(" --") < 2:
        return None
    return found["command"].rstrip("` ")
