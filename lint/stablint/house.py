"""Hazards of the house: the same files as the built-in ones, from a folder of the user's; and the run of any hazard's examples."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from stablint.assemble.asked import Options
from stablint.discover import root_of
from stablint.hazard.model import Hazard, from_row, load
from stablint.language import gettext
from stablint.options import Wrong, options
from stablint.secrets import exit
from stablint.settings import shown_path

Example = dict[str, Any]


class House(NamedTuple):
    """Rules of one or several folders: as a check needs them, and their texts, examples and healthy runs by id. `broken`: a line for each file that
    is no rule, or none that can be used; the others count."""

    hazards: tuple[Hazard, ...] = ()
    texts: dict[str, Any] = {}  # noqa: RUF012
    examples: dict[str, list[Example]] = {}  # noqa: RUF012
    healthy: dict[str, list[Example]] = {}  # noqa: RUF012
    broken: tuple[str, ...] = ()


def house(folders: list[str], prefix: str | None = None, said: Mapping[str, str] | None = None) -> House:
    """Every file is validated and compiled. A file that is no hazard, a code or name that is taken, and a code that does not begin with the prefix
    of the house are told in `broken`. Raises Wrong for a folder that is not there or that holds no file; `said`: where settings name which."""
    from pathlib import Path

    from stablint.compiling.hazards import read_folder

    taken = {name: "stablint itself" for hazard in load() for name in (hazard.id, hazard.code)}
    found = House()
    for folder in folders:
        if not os.path.isdir(folder):
            raise Wrong(_unusable(_no_folder(folder), (said or {}).get(folder)))
        compiled, wrong = read_folder(Path(folder), root_of(os.path.realpath(folder)))
        if not compiled["core"] and not wrong:
            nothing = gettext("`{folder}` holds no hazard: no file of it ends in .yaml").format(folder=_shown(folder))
            raise Wrong(_unusable(nothing, (said or {}).get(folder)))
        broken = [gettext("house hazards: {error}").format(error=error) for error in wrong]
        kept = []
        for row in compiled["core"]:
            if (why := _refused(row, folder, taken, prefix)) is not None:
                broken.append(why)
                continue
            taken |= dict.fromkeys((row["id"], row["code"]), folder)
            kept.append(row)
        names = {row["id"] for row in kept}
        parts = (
            {name: one for name, one in compiled[part].items() if name in names}
            for part in ("texts", "examples", "healthy")
        )
        texts, examples, healthy = parts
        found = House(
            (*found.hazards, *(from_row(row) for row in kept)),
            found.texts | texts,
            found.examples | examples,
            found.healthy | healthy,
            (*found.broken, *broken),
        )
    return found


def _no_folder(folder: str) -> str:
    if os.path.exists(folder):
        return gettext("house hazards: `{folder}` is no folder: name the one that it lies in").format(
            folder=_shown(folder)
        )
    return gettext("the folder of house hazards `{folder}` does not exist").format(folder=_shown(folder))


def _unusable(error: str, said: str | None) -> str:
    """With the line of the settings that names the folder, and what to do there."""
    if said is None:
        return error
    return gettext(
        "{place}: {error}; put rules there (`stablint knowledge template`), or take it out of the settings"
    ).format(place=said, error=error)


def _shown(folder: str) -> str:
    return shown_path(folder, os.getcwd())


def _refused(row: dict[str, Any], folder: str, taken: dict[str, str], prefix: str | None) -> str | None:
    """Why a rule that could be read does not count."""
    if prefix is not None and row["code"].rstrip("0123456789") != prefix:
        return gettext("house hazards: {code} ({id}) in {folder}: codes of this house begin with {prefix}").format(
            code=row["code"], id=row["id"], folder=folder, prefix=prefix
        )
    for name in (row["id"], row["code"]):
        if name in taken:
            return gettext("house hazards: `{name}` in {folder} is taken by {taken}").format(
                name=name, folder=folder, taken=taken[name]
            )
    return None


GROUP = "stablint.hazards"


def folder_of(package: str, said: str) -> str:
    """The folder of hazards that an installed package names by its entry point. Nothing of the package is imported. Raises Wrong, with the place in
    the settings that names it."""
    from importlib.metadata import PackageNotFoundError, distribution
    from importlib.util import find_spec

    try:
        found = [entry for entry in distribution(package).entry_points if entry.group == GROUP]
    except PackageNotFoundError as error:
        raise Wrong(
            gettext(
                "{place}: [house] packages: `{package}` is not installed in this environment: install it there, or take it out of the list"
            ).format(place=said, package=package)
        ) from error
    if not found:
        raise Wrong(
            gettext("{place}: [house] packages: `{package}` has no entry point `{GROUP}`").format(
                place=said, package=package, GROUP=GROUP
            )
        )
    top, *inner = found[0].value.split(".")
    spec = find_spec(top)  # of a module at the top: looked for, and not run
    for place in spec.submodule_search_locations or () if spec is not None else ():
        folder = os.path.join(place, *inner)
        if os.path.isdir(folder):
            return folder
    raise Wrong(
        gettext(
            "{place}: [house] packages: the entry point of `{package}` names `{value}`, which is no folder of it"
        ).format(place=said, package=package, value=found[0].value)
    )


def told(given: dict[str, Any] | None) -> Options:
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
        from stablint.policy import Policies, Policy

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
    from stablint.inspect import inspect

    write(files, folder)
    return list(inspect([folder], told(given), base=folder, known=hazards).report.diagnostics)


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
    from difflib import get_close_matches

    from stablint.hazard.condition import facts_read
    from stablint.inspect import inspect

    runs = inspect([folder], told(given), base=folder, known=()).runs
    stated = {name for run in runs for name in run.explicit}
    near = {name: get_close_matches(name, stated, 1, 0.8) for name in sorted(set(facts_read(hazard.when)) - stated)}
    meant = [f"`{name}` is not stated there: did you mean `{found[0]}`?" for name, found in near.items() if found]
    return f" ({' '.join(meant)})" if meant else ""


def _not_fixed(hazard: Hazard, example: Example, folder: str) -> Iterator[str]:
    from stablint.fix.apply import repair

    done = repair([folder], told(example.get("options")), unsafe=True, base=folder, known=(hazard,))
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


def run_test_hazards(folders: list[str]) -> int:
    """Run every example of house folders, and print a line for each failure. 0: all hold; 1: some do not; 2: a file is no hazard."""
    rules = house(folders)
    for line in rules.broken:
        exit.tell(line)
    every = (*load(), *rules.hazards)
    examples = failed = 0
    for hazard in rules.hazards:
        for number, example in enumerate(rules.examples[hazard.id], 1):
            examples += 1
            with tempfile.TemporaryDirectory(prefix="stablint-") as folder:
                try:
                    found = list(failures(hazard, example, every, os.path.realpath(folder)))
                except (Wrong, ValueError) as error:
                    found = [str(error)]
            failed += bool(found)
            for line in found:
                exit.say(
                    gettext("{id} ({code}), example {number}: {line}\n").format(
                        id=hazard.id, code=hazard.code, number=number, line=line
                    )
                )
        with tempfile.TemporaryDirectory(prefix="stablint-") as folder:
            try:
                found = list(false_alarms(hazard, rules.healthy.get(hazard.id, []), os.path.realpath(folder)))
            except (Wrong, ValueError) as error:
                found = [f"its healthy runs: {error}"]
        examples += len(rules.healthy.get(hazard.id, []))
        failed += len(found)
        for line in found:
            exit.say(f"{hazard.id} ({hazard.code}): {line}\n")
    exit.say(
        gettext("{number} hazards, {examples} examples, {failed} with failures.\n").format(
            number=len(rules.hazards), examples=examples, failed=failed
        ),
        error=True,
    )
    return 2 if rules.broken else 1 if failed else 0
