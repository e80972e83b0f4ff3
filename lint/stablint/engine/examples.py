"""The examples of a hazard, run: what its file promises of its bad texts, its look-alikes, its healthy runs and its repairs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from stablint.assemble.asked import Options
from stablint.base.language import gettext
from stablint.config.house import Example
from stablint.config.options import Wrong, options
from stablint.engine.inspect import inspect
from stablint.engine.repair import repair
from stablint.hazard.condition import facts_read
from stablint.hazard.model import Hazard
from stablint.policy import Policies, Policy


def example_options(given: dict[str, Any] | None) -> Options:
    """An example's options as the command line and the settings would take them."""
    given = given or {}
    gpus = given.get("gpu", [])
    gpus = [gpus] if isinstance(gpus, str) else gpus
    if "auto" in gpus:  # an example is the same on every machine, and starts no program on any
        raise Wrong(gettext("an example names its GPU: `gpu: auto` asks the machine that it runs on"))
    if os.path.isabs(model := str(given.get("model") or "")) or ".." in model.replace("\\", "/").split("/"):
        raise Wrong(gettext("an example names its model by its id, or by a folder of its own files"))
    wanted = options(
        gpus, given.get("model"), given.get("with", []),
        [f"{name}={value}" for name, value in (given.get("set") or {}).items()], given.get("flags", []), given.get("dialect"),
    )  # fmt: skip
    if given.get("settings"):
        policy = Policy(require_reasons=bool(given["settings"].get("require-reasons")))
        wanted = wanted._replace(policies=Policies(policy))
    return wanted


def legal(example: Example) -> list[tuple[dict[str, str], dict[str, Any] | None]]:
    """The near look-alikes: the bad files with one thing exchanged, and the options."""
    found = []
    for near in example.get("near", []):
        files = dict(example["files"])
        name = near.get("file") or next(iter(files))
        if "files" in near:
            files |= near["files"]
        if "text" in near:
            files[name] = near["text"]
        if "replace" in near:
            old, new = near["replace"]
            if old not in files[name]:
                raise ValueError(f"the near example replaces {old!r}, which {name} does not have")
            files[name] = files[name].replace(old, new)
        found.append((files, near["options"] if "options" in near else example.get("options")))
    return found


def write(files: dict[str, str], folder: str) -> None:
    for name, text in files.items():
        path = os.path.normpath(os.path.join(folder, name))
        if not path.startswith(os.path.join(folder, "")):
            raise ValueError(f"the example's file {name} would lie outside its folder")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text.encode())


def look(
    files: dict[str, str], folder: str, given: dict[str, Any] | None, hazards: tuple[Hazard, ...] | None = None
) -> list[Any]:
    """Write the files into the folder, and check them."""
    write(files, folder)
    return list(inspect([folder], example_options(given), base=folder, known=hazards).report.diagnostics)


def failures(hazard: Hazard, example: Example, every: tuple[Hazard, ...], folder: str) -> Iterator[str]:
    """What an example promises and does not hold: its finding and no other loud one, the fixed text, silence on the look-alikes."""
    bad = os.path.join(folder, "bad")
    found = look(example["files"], bad, example.get("options"), every)
    if hazard.code not in {d.code for d in found}:
        yield f"its example does not draw it{_facts_meant(hazard, bad, example.get('options'))}"
    others = {d.code for d in found if d.severity != "info" and d.suppressed is None} - {
        hazard.code,
        *example.get("also", []),
    }
    if others:
        yield f"its example draws {', '.join(sorted(others))} as well, which `also` does not name"
    for number, (files, given) in enumerate(legal(example), 1):
        if look(files, os.path.join(folder, str(number)), given, (hazard,)):
            yield f"near example {number} draws it"
    if example.get("fixed"):
        yield from _not_fixed(hazard, example, bad)


def _facts_meant(hazard: Hazard, folder: str, given: dict[str, Any] | None) -> str:
    """Facts of the conditions that the example does not state, and that look like some that it states."""
    runs = inspect([folder], example_options(given), base=folder, known=()).runs
    stated = {name for run in runs for name in run.explicit}
    near = {name: get_close_matches(name, stated, 1, 0.8) for name in sorted(set(facts_read(hazard.when)) - stated)}
    meant = [f"`{name}` is not stated there: did you mean `{found[0]}`?" for name, found in near.items() if found]
    return f" ({' '.join(meant)})" if meant else ""


def _not_fixed(hazard: Hazard, example: Example, folder: str) -> Iterator[str]:
    done = repair([folder], example_options(example.get("options")), unsafe=True, base=folder, known=(hazard,))
    yield from (*done.refused, *done.kept_out)
    after = {os.path.relpath(path, folder).replace(os.sep, "/"): text.text for path, text in done.texts.items()}
    for name, text in example["fixed"].items():
        if after.get(name, example["files"].get(name)) != text:
            yield f"its fix of {name} does not give the fixed text"


def false_alarms(hazard: Hazard, healthy: list[Example], folder: str) -> Iterator[str]:
    """The runs that `fine_when` exempts and that draw the hazard nevertheless, each with the exemption."""
    for number, one in enumerate(healthy, 1):
        if look(one["files"], os.path.join(folder, f"healthy{number}"), one.get("options"), (hazard,)):
            yield f"healthy run {number} draws it ({one['because']})"
