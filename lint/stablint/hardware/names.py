"""The name of an accelerator taken apart, so that `NVIDIA A100-SXM4-80GB` and `a100` meet. The compiled names are made with it too."""

from __future__ import annotations

import re

from stablint.base.light import NamedTuple

BRANDS = frozenset(
    "nvidia geforce rtx gtx quadro tesla amd radeon instinct intel google aws amazon huawei apple data center"  # noqa: SIM905
    " datacenter".split()
)
_NOISE = frozenset(
    "gpu gpus card cards graphics accelerator accelerators tensor core generation edition founders each per with"  # noqa: SIM905
    " vram memory of chip chips series family single whole module 1st gen mps".split()
)
_ARCHITECTURES = frozenset("kepler maxwell pascal volta turing ampere ada hopper blackwell".split())  # noqa: SIM905
_LAPTOP = frozenset(("laptop", "notebook", "mobile", "maxq"))
_FORM = r"(sxm\d?|pcie\d?|nvl|hbm\d?e?|dgxs|oam|fhhl|fhfl|sff|maxq|workstation|server)$"


class Words(NamedTuple):
    """`core` is what is left when the rest is taken away: `a100`, `3090ti`, `pro6000`."""

    core: str
    forms: frozenset[str]
    brands: frozenset[str]
    architectures: frozenset[str]
    laptop: bool


def take_apart(text: str) -> Words:
    """The maker's words, form factor and architecture apart from the name proper."""
    core: list[str] = []
    forms, brands, architectures, laptop = set(), set(), set(), False
    for word in re.findall(r"[a-z0-9.]+", text.lower().replace("max-q", "maxq").replace("lovelace", "")):
        laptop = laptop or word in _LAPTOP
        if re.match(_FORM, word):
            forms.add(word)
        elif word in BRANDS:
            brands.add(word)
        elif word in _ARCHITECTURES:
            architectures.add(word)
        elif word not in _NOISE and word not in _LAPTOP:
            core.append(word)
    return Words("".join(core), frozenset(forms), frozenset(brands), frozenset(architectures), laptop)


def squeeze(text: str) -> str:
    """Letters and digits only: how whole names are compared."""
    return re.sub(r"[^a-z0-9]+", "", text.lower())


def instance_key(text: str) -> str:
    """`Standard_ND96asr_v4`, `ml.p4d.24xlarge` and `nd96asr-v4` are asked for in the same way."""
    key = re.sub(r"[\s_-]+", "-", text.strip().lower())
    return key.removeprefix("standard-").removeprefix("ml.")
