"""`stablint doctor`: what this machine is — its GPUs and by which road they were found, its libraries — and what stablint makes of it."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from stablint import __version__
from stablint.base.language import gettext, told
from stablint.commands.outputs import wants_color
from stablint.config.spec import CLEAN
from stablint.hardware.live import FILTERS, Machine, machine, targets
from stablint.hardware.probes import Card
from stablint.integrate.installed import LIBRARIES, installed
from stablint.report.plain import Style, jsonable, plain, to_json
from stablint.run.fact import is_unknown
from stablint.secrets import exit

_STATES = {
    "found": "found", "no-gpu": "no GPU", "no-driver": "no driver", "hung-driver": "the driver did not answer in two seconds",
    "all-hidden": "all hidden from this process", "failed": "failed", "not-there": "not installed",
}  # fmt: skip
_SHOWN = ("memory_gib", "compute_capability", "native_bf16", "tf32", "fp8", "flash_attention_2", "fp16_tensor_cores")


def run_doctor(given: argparse.Namespace) -> int:
    """Always 0: a machine without a GPU is no fault."""
    found = machine(torch=_torch() if given.torch else None)
    libraries = installed((*LIBRARIES, "nvidia-ml-py", "llamafactory", "axolotl", "ms-swift"))
    if given.output_format == "json":
        exit.hand_over(to_json(document(found, libraries, os.environ)))
    else:
        style = Style(wants_color(given.color))
        exit.say("".join(f"{line}\n" for line in _lines(found, libraries, os.environ, style)))
    return CLEAN


def _torch() -> Any:
    """Imported only because it was asked for: it takes seconds."""
    try:
        return import_module("torch")
    except ImportError:
        return None


def document(found: Machine, libraries: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, Any]:
    """What `--output-format json` prints."""
    return {
        "schema_version": 1,
        "stablint": __version__,
        "python": {"version": platform.python_version(), "executable": sys.executable, "platform": _platform()},
        "gpu": {
            "state": found.state,
            "road": found.probe,
            "vendor": found.vendor or None,
            "cards": [_card(card, card in found.visible) for card in found.cards],
            "environment": _filters(environment),
            "notes": list(found.notes),
            "tried": [{"road": answer.probe, "state": answer.state, "detail": answer.detail} for answer in found.tried],
        },
        "targets": [{"gpu": name, "facts": jsonable(gpu.facts())} for name, gpu in targets(found)],
        "libraries": dict(libraries),
    }


def _platform() -> str:
    """As `platform.platform()` has it, which would start whatever `uname` comes first on the PATH."""
    return "-".join((platform.system(), platform.release(), platform.machine()))


def _card(card: Card, visible: bool) -> dict[str, Any]:
    return {
        "number": card.number, "name": card.name, "memory_gib": card.memory_gib and round(card.memory_gib, 2), "uuid": card.uuid or None,
        "compute_capability": card.capability, "mig": card.mig or None, "parent": card.parent, "visible": visible,
    }  # fmt: skip


def _filters(environment: Mapping[str, str]) -> dict[str, str]:
    names = dict.fromkeys([*(name for names in FILTERS.values() for name in names), "CUDA_DEVICE_ORDER"])
    return {name: environment[name] for name in names if name in environment}


def _lines(found: Machine, libraries: Mapping[str, str], environment: Mapping[str, str], style: Style) -> Iterator[str]:
    yield gettext("stablint {version}, Python {python} on {system}").format(
        version=__version__, python=platform.python_version(), system=f"{platform.system()} {platform.machine()}"
    )
    yield ""
    by = gettext(" (asked {road})").format(road=found.probe) if found.probe else ""
    yield f"{style.paint('bold', 'GPU')}  {gettext(_STATES.get(found.state, found.state))}{by}"
    for card in found.cards:
        size = f", {card.memory_gib:.1f} GiB" if card.memory_gib else ""
        hidden = "" if card in found.visible else gettext(" (not visible here)")
        yield f"  {'  ' if card.parent is not None else ''}{card.number}: {plain(card.name)}{size}{hidden}"
    for name, value in _filters(environment).items():
        yield f"  {name}={plain(value)}"
    for note in found.notes:
        yield "  " + gettext("note: {note}").format(note=plain(note))
    for answer in found.tried:
        detail = f": {plain(told(answer.detail))}" if answer.detail else ""
        yield f"  {style.paint('dim', f'{answer.probe}: {gettext(_STATES.get(answer.state, answer.state))}{detail}')}"
    yield ""
    yield f"{style.paint('bold', gettext('libraries'))}  " + (
        ", ".join(f"{name} {version}" for name, version in libraries.items())
        or gettext("none of those that stablint knows")
    )
    yield ""
    yield from _used(found, style)


def _used(found: Machine, style: Style) -> Iterator[str]:
    known = targets(found)
    yield f"{style.paint('bold', '--gpu auto')}  " + (
        ", ".join(plain(name) for name, _ in known)
        or gettext("nothing: name the GPU of the run, as in --gpu A100-80GB")
    )
    for _, gpu in known:
        facts = gpu.facts()
        words = [
            f"{field} {plain(str(value))}"
            for field in _SHOWN
            if not is_unknown(value := facts.get(f"target.gpu.{field}")) and value is not None
        ]
        yield f"  {plain(gpu.name)}: {', '.join(words)}"
