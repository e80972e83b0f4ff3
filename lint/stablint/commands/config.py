"""`stablint config`: the settings as they hold for one file or folder, each with who says it."""

from __future__ import annotations

import argparse
import os
from typing import Any, NamedTuple

from stablint.base.language import gettext
from stablint.commands.outputs import wants_color
from stablint.config.options import Wrong
from stablint.config.project import Resolver, options_of
from stablint.config.settings import Settings, parsed
from stablint.config.spec import CLEAN
from stablint.files.globs import matches
from stablint.hazard.model import load
from stablint.report.plain import Style, plain, shown, to_json
from stablint.secrets import exit

NOBODY = "default"
_DEFAULTS: dict[str, Any] = {
    "select": [], "ignore": [], "severity": {}, "fail-on": "error", "min-evidence": "reported", "exclude": [], "extra-keys": [],
    "baseline": None, "hazards": [], "house": {}, "fix": {}, "require-reasons": False, "allow-outside": False, "accept": [],
}  # fmt: skip


class Row(NamedTuple):
    """`said` is a place, the option of the command line, or `default`."""

    name: str
    value: Any
    said: str


def run_config(given: argparse.Namespace) -> int:
    """Raises Wrong for settings that cannot be used, and for a path that does not exist."""
    path = os.path.abspath(given.path)
    if not os.path.exists(path):
        raise Wrong(gettext("`{path}` does not exist").format(path=given.path))
    options = options_of(given, [], [given.path])
    resolver = options.policies
    assert isinstance(resolver, Resolver)
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    settings = resolver.settings_of(folder)
    policy = resolver.at(os.path.join(path, "") if os.path.isdir(path) else path)
    rows = list(_rows(settings, path))
    targets = [said for said, _ in options.gpus or policy.gpus]
    rows += [
        Row("target", targets, "--gpu" if options.gpus else policy.said.get("gpu", NOBODY) if targets else NOBODY),
        Row("model", options.model or policy.model, "--model" if options.model else _place(settings, "model")),
    ]
    releases = {library: (specifier, policy.said.get(library, "")) for library, specifier in policy.releases}
    releases |= {library: (specifier, "--with") for library, specifier in options.releases}
    rows += [Row(f"versions.{library}", specifier, said) for library, (specifier, said) in releases.items()]
    on = load() if policy.rules is None else policy.rules
    rules = {"on": sum(not rule.quiet for rule in on), "known": len(load())}
    name = settings.name if settings is not None else None
    if given.output_format == "json":
        told = [{**row._asdict(), "value": exit.masked_within(row.value)} for row in rows]
        exit.hand_over(
            to_json({"schema_version": 1, "path": given.path, "file": name, "settings": told, "rules": rules})
        )
        return CLEAN
    style = Style(wants_color(given.color))
    width = max(len(row.name) for row in rows)
    values = [plain(shown(row.value)) if row.value is not None else gettext("none") for row in rows]
    across = min(max(map(len, values)), 60)
    lines = [
        f"{plain(given.path)}: {gettext('settings of {name}').format(name=plain(name)) if name else gettext('no settings file')}"
    ]
    for row, value in zip(rows, values, strict=True):
        lines.append(f"  {row.name:{width}}  {value:{across}}  {style.paint('dim', gettext(plain(row.said)))}".rstrip())
    lines.append("  " + gettext("{on} of {known} rules are on; `stablint rules` lists them").format(**rules))
    exit.say("\n".join(lines) + "\n")
    return CLEAN


def _rows(settings: Settings | None, path: str) -> list[Row]:
    """Those of the file, and over them the rows of `per-path` that the path matches."""
    rows = [
        Row(key, settings.get(key, default) if settings else default, _place(settings, key))
        for key, default in _DEFAULTS.items()
    ]
    for number, row in enumerate(settings.get("per-path", ()) if settings is not None else ()):
        if settings is not None and matches(path, settings.folder, tuple(row["paths"])):
            rows += [
                Row(f"per-path {number + 1}: {key}", value, f"{settings.name}:{settings.line('per-path', number, key)}")
                for key, value in row.items()
                if key != "paths"
            ]
    return rows


def _place(settings: Settings | None, key: str) -> str:
    if settings is None or key not in settings.values:
        return NOBODY
    own: Any = parsed(settings.text, settings.name)
    for word in settings.head:
        own = own.get(word, {})
    if key in own:
        return f"{settings.name}:{settings.line(key)}"
    return f"{own['extend']}, which {settings.name}:{settings.line('extend')} extends"
