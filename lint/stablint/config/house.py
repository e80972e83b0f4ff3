"""Hazards of the house: the same files as the built-in ones, from a folder of the user's or of an installed package."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from stablint.base.language import gettext
from stablint.base.libraries import metadata
from stablint.compiling import hazards as hazard_files
from stablint.config.options import Wrong
from stablint.config.settings import BadSettings, nearest, read, shown_path
from stablint.files.discover import root_of
from stablint.hazard.model import Hazard, from_row, load

Example = dict[str, Any]


class House(NamedTuple):
    """Rules of one or several folders: as a check needs them, and their texts, examples and healthy runs by id. `broken`: a line for each file that
    is no rule, or none that can be used; the others count."""

    hazards: tuple[Hazard, ...] = ()
    texts: dict[str, Any] = {}  # noqa: RUF012
    examples: dict[str, list[Example]] = {}  # noqa: RUF012
    healthy: dict[str, list[Example]] = {}  # noqa: RUF012
    broken: tuple[str, ...] = ()


def own_prefix(folder: str) -> str | None:
    """What the settings that count for a folder of hazards say that its codes begin with. Raises Wrong for settings that cannot be used."""
    try:
        path = nearest(folder, {})
        found: str | None = read(path).get("house", {}).get("prefix") if path is not None else None
    except BadSettings as error:
        raise Wrong(str(error)) from error
    return found


def house(
    folders: list[str], prefix: str | Callable[[str], str | None] | None = None, said: Mapping[str, str] | None = None
) -> House:
    """Every file is validated and compiled. A file that is no hazard, a code or name that is taken, and a code that does not begin with the prefix
    of the house (`prefix`, or what it says of each folder) are told in `broken`. Raises Wrong for a folder that is not there or that holds no
    file; `said`: where settings name which.
    """
    taken = {name: "stablint itself" for hazard in load() for name in (hazard.id, hazard.code)}
    found = House()
    for folder in folders:
        if not os.path.isdir(folder):
            raise Wrong(_unusable(_no_folder(folder), (said or {}).get(folder)))
        compiled, wrong = hazard_files.read_folder(Path(folder), root_of(os.path.realpath(folder)))
        if not compiled["core"] and not wrong:
            nothing = gettext("`{folder}` holds no hazard: no file of it ends in .yaml").format(folder=_shown(folder))
            raise Wrong(_unusable(nothing, (said or {}).get(folder)))
        broken = [gettext("house hazards: {error}").format(error=error) for error in wrong]
        kept = []
        for row in compiled["core"]:
            if (why := _refused(row, folder, taken, prefix(folder) if callable(prefix) else prefix)) is not None:
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
    try:
        found = [entry for entry in metadata.distribution(package).entry_points if entry.group == GROUP]
    except metadata.PackageNotFoundError as error:
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
