"""What no repair writes by itself, whichever rule asks for it: what the machine, the program or a release that may run would not take."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from stablint.fix.editors import Change, Impossible
from stablint.hardware import gpu as gpu_names
from stablint.hazard.model import Finding
from stablint.run.fact import ABSENT, Explicit, Fact
from stablint.run.releases.allowed import Releases
from stablint.run.releases.dating import dated
from stablint.run.releases.pep440 import Key, release_key
from stablint.syntax.tree import Call, Module, Text

# Cards by the names that texts have for them; which of them has bf16 is asked of knowledge/gpus. A bare number is a card's behind its brand only.
_CARDS = re.compile(
    r"(?<![\w./-])(?:(?:Tesla|NVIDIA)[ _-]?)?(?:[TVPKM][0-9]{1,3}0?S?)(?![\w.-]*[\w])"
    r"|\b(?:GTX|RTX|GeForce|Quadro|TITAN)(?:[ _-]?(?:GTX|RTX))?[ _-]?(?:[0-9]{3,4}|[VX]p?\b|RTX\b)(?:[ _-]?(?:Ti|SUPER|Super)\b)?",
)
_MOST_CARDS = 200  # names that are looked at in one text
_ALL_LINEAR = release_key("0.8.0")  # PEFT knows the word from there on (tuners/tuners_utils.py)


def refuse(finding: Finding, changes: Sequence[Change]) -> None:
    """Raises Impossible where one of the changes is not to be written."""
    for change in changes:
        fact = finding.run.explicit.get(change.fact)
        if change.to:
            if isinstance(fact, Fact) and isinstance(fact.value, list) and not _is_list_too(change):
                raise Impossible("the other name takes no list")
            if fact is not None and _is_read_elsewhere(fact):
                raise Impossible("the program reads it by the old name as well")
        if _makes_bf16(change) and not finding.run.target and _names_card_without_bf16(finding):
            raise Impossible("a text of the run names a card that has no bf16")
        if change.value == "auto" and change.fact.startswith("deepspeed.") and _is_engine(finding):
            raise Impossible("DeepSpeed alone fills in no `auto`")
        if change.value == "all-linear" and _is_before(dated(finding.run.releases), "peft", _ALL_LINEAR):
            raise Impossible("right for some of the releases that may run only: --with states yours")


def _is_before(releases: Releases, library: str, release: Key) -> bool:
    """Whether the run is of a time, or pinned to a release, that may lie before this one."""
    if releases.is_unread(library):
        return True
    return releases.closed(library) and releases.allowed(library)[0] < release


def _makes_bf16(change: Change) -> bool:
    if change.respell:
        return False
    name = str(change.to or change.fact)
    switch = re.search(r"(?:^|[._])(?:bf16|bfloat16)(?:[._]|$)", name) is not None and change.value not in (
        False,
        ABSENT,
    )
    return switch or change.value in ("bf16", "bfloat16", "bf16-mixed", "bf16-true", "torch.bfloat16")


def _names_card_without_bf16(finding: Finding) -> bool:
    """Whether the program, the file, a cell, a comment or the metadata of a notebook names one. A guess of what it runs on: enough to leave
    the repair to somebody who knows."""
    return any(_no_bf16(card) for text in _texts(finding) for card in _cards(text.text))


def _texts(finding: Finding) -> list[Text]:
    """The files of the run."""
    origins = (fact.origin for fact in finding.run.explicit.values())
    places = [finding.place, finding.run.anchor, *(one.place for one in origins if isinstance(one, Explicit))]
    return list({place.document.text.path: place.document.text for place in places}.values())


@lru_cache(maxsize=8)  # the findings of one file ask one after the other
def _cards(text: str) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for number, found in enumerate(_CARDS.finditer(text)):
        if number == _MOST_CARDS:
            break
        names[found[0]] = None
    return tuple(names)


def _no_bf16(name: str) -> bool:
    gpu = gpu_names.parse_gpu(name.replace("_", " "))
    return gpu is not None and gpu.native_bf16 is False


def _is_engine(finding: Finding) -> bool:
    """Whether the program calls DeepSpeed itself, without transformers' Trainer, which is what fills `auto` in."""
    made = finding.run.explicit.get("launch.engine.made")
    return made is not None or finding.world.value("derived.hf_trainer") is False


def _is_list_too(change: Change) -> bool:
    """Of a name and its singular the first takes several."""
    old = change.fact.rpartition(".")[2]
    return old.rstrip("s") != str(change.to).rpartition(".")[2].rstrip("s") or str(change.to).endswith("s")


def _is_read_elsewhere(fact: Fact) -> bool:
    """Whether the object that gets the argument is asked for it under this name: `print(config.max_seq_length)`, `trainer.args.fp16`."""
    if not isinstance(fact.origin, Explicit):
        return False
    place = fact.origin.place
    document = place.document
    if not isinstance(document.root, Module):
        return False
    text = document.view.source if document.view is not None else document.text.text
    if f".{place.path[-1]}" not in text:
        return False
    calls = [one for one in document.root.calls if one.start <= place.start < one.end]
    call: Call | None = max(calls, key=lambda one: one.start, default=None)
    owner = rf"{re.escape(call.target)}\." if call is not None and call.target else r"\btrainer\.args\."
    read = re.compile(rf"(?:(?<![\w.]){owner}|\btrainer\.args\.){re.escape(place.path[-1])}\b(?!\s*=[^=])")
    return read.search(text) is not None
