"""What a settings file says, put under what the command line says: options for the runs, the rules that count, what is accepted."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from stablint import settings as files
from stablint.assemble import Options
from stablint.hazard.model import Hazard, load
from stablint.options import Wrong, options
from stablint.settings import Settings

if TYPE_CHECKING:
    from stablint.house import House
    from stablint.policy import Policy

_GRADES = ("folklore", "reported", "reproduced", "maintainer-confirmed", "proven-in-source")


def settings_for(given: argparse.Namespace, paths: list[str], base: str) -> Settings | None:
    """`--config`, or the nearest settings file above everything that is checked; None without one or with --isolated."""
    if given.isolated:
        return None
    path = given.config
    if path is None:
        path = files.nearest(files.common_folder(paths, base))
    elif not os.path.isfile(path):
        raise Wrong(f"--config {path}: no such file")
    if path is None:
        return None
    try:
        return files.read(path, base)
    except files.BadSettings as error:
        raise Wrong(str(error)) from error


def options_for(given: argparse.Namespace, extra: list[str], settings: Settings | None) -> Options:
    """The command line wins: its GPUs replace the targets of the settings, its releases those of the same libraries."""
    outside = given.allow_outside
    if settings is None:
        return options(given.gpu, given.model, given.releases, given.sets, extra, given.dialect, _root(outside))
    gpus = given.gpu or [
        f"{row['gpu']} x{row['count']}" if row.get("count", 1) != 1 else row["gpu"]
        for row in settings.get("target", [])
    ]
    versions = [f"{package}{specifier}" for package, specifier in settings.get("versions", {}).items()]
    outside = outside or settings.get("allow-outside", False)
    model = given.model or _model(settings)
    try:
        return options(gpus, model, [*versions, *given.releases], given.sets, extra, given.dialect, _root(outside))
    except Wrong as error:
        raise error if given.gpu and not versions else Wrong(f"{settings.name}: {error}") from error


def _model(settings: Settings) -> str | None:
    """A hub id, or a folder, which is meant from the folder of the settings."""
    model: str | None = settings.get("model")
    return settings.resolve(model) if model is not None and os.path.isdir(settings.resolve(model)) else model


def _root(outside: bool) -> str | None:
    return os.path.abspath(os.sep) if outside else None


def house_of(settings: Settings | None) -> House | None:
    if settings is None or not settings.get("hazards"):
        return None
    from stablint.house import house

    return house([settings.resolve(folder) for folder in settings.get("hazards")])


def rules_for(given: argparse.Namespace, settings: Settings | None, house: House | None) -> tuple[Hazard, ...]:
    """The rules that are checked, with the severities of the settings. Raises Wrong for a word that means no rule."""
    known = load() + (house.hazards if house is not None else ())
    select, ignore = _listed(given.select), _listed(given.ignore)
    _all_known([*select, *ignore], known, "")
    grade = given.min_evidence or "reported"
    severities: dict[str, str] = {}
    if settings is not None:
        own = [word for word in settings.get("ignore", []) if isinstance(word, str)]
        severities = settings.get("severity", {})
        rows = [word for row in settings.get("per-path", []) for word in row["ignore"]]
        _all_known([*settings.get("select", []), *own, *severities, *rows], known, f"{settings.name}: ")
        ignore = ignore if select else [*ignore, *own]
        select = select or settings.get("select", [])
        grade = given.min_evidence or settings.get("min-evidence", "reported")
    lowest = _GRADES.index(grade)
    return tuple(
        _weighed(hazard, severities)
        for hazard in known
        if (not select or any(_means(word, hazard) for word in select))
        and not any(_means(word, hazard) for word in ignore)
        and (_GRADES.index(hazard.grade) >= lowest or any(word in (hazard.code, hazard.id) for word in select))
    )


def _weighed(hazard: Hazard, severities: dict[str, str]) -> Hazard:
    """The most exact word about a rule counts: its id or code before a beginning of codes."""
    words = sorted(
        (word for word in severities if _means(word, hazard)), key=lambda word: len(word) if word != hazard.id else 1000
    )
    return hazard._replace(severity=severities[words[-1]]) if words else hazard


def _all_known(words: list[str], known: tuple[Hazard, ...], where: str) -> None:
    for word in words:
        if not any(_means(word, hazard) for hazard in known):
            raise Wrong(f"{where}no rule is called `{word}` or begins so; `stablint rules` lists them")


def _means(word: str, hazard: Hazard) -> bool:
    return word == hazard.id or hazard.code.startswith(word.upper())


def _listed(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def baseline_path(given: argparse.Namespace, settings: Settings | None) -> str | None:
    if given.baseline:
        return str(given.baseline)
    return settings.resolve(settings.get("baseline")) if settings is not None and settings.get("baseline") else None


def policy_for(given: argparse.Namespace, settings: Settings | None) -> Policy | None:
    """What settings and baseline say about findings; None where neither says anything."""
    baseline = None if given.write_baseline else baseline_path(given, settings)
    if settings is None and baseline is None:
        return None
    from stablint.policy import Policy

    policy = Policy() if settings is None else _policy(settings)
    if baseline is None:
        return policy
    from stablint.baseline import BadBaseline, read

    try:
        return policy._replace(baseline=read(baseline))
    except BadBaseline as error:
        raise Wrong(str(error)) from error


def _policy(settings: Settings) -> Policy:
    from stablint.policy import Policy

    return Policy(
        settings.folder, tuple((tuple(row["paths"]), tuple(row["ignore"])) for row in settings.get("per-path", [])),
        tuple(_accepted(settings, number, row) for number, row in enumerate(settings.get("ignore", [])) if isinstance(row, dict)),
        tuple(settings.get("extra-keys", [])), tuple(settings.get("exclude", [])), settings.get("require-reasons", False),
    )  # fmt: skip


def _accepted(settings: Settings, number: int, row: dict[str, Any]) -> Any:
    """A table `[[ignore]]`, with its place in the settings file: an unused one is reported there."""
    from stablint.policy import Accepted
    from stablint.source.tree import Text

    with open(settings.path, encoding="utf-8") as file:
        content = file.read()
    path = (
        ("tool", "stablint", "ignore", number)
        if os.path.basename(settings.path) == "pyproject.toml"
        else ("ignore", number)
    )
    line = files.line_of(content, path)
    start = sum(len(one) for one in content.splitlines(keepends=True)[: line - 1])
    text = Text(settings.path, settings.name, content)
    return Accepted(row.get("file"), row.get("setting"), tuple(row["rules"]), row.get("reason", ""), text, start)


__all__ = ["baseline_path", "house_of", "options_for", "policy_for", "rules_for", "settings_for"]
