"""`stablint init`: a commented stablint.toml for the repository at hand. It only says what was found; what it cannot know is commented out."""

from __future__ import annotations

import os
from collections import Counter

from stablint.base.language import gettext
from stablint.base.whole import Changed
from stablint.commands.outputs import A_LINK
from stablint.config.options import Wrong, options
from stablint.config.settings import BadSettings, nearest
from stablint.config.spec import CLEAN
from stablint.engine.inspect import Inspection, inspect
from stablint.files.discover import NoSuchPath, leads_out, root_of
from stablint.pins.locks import Pin, stated
from stablint.pins.requirement import UNREAD
from stablint.report.plain import plain
from stablint.secrets import exit
from stablint.syntax.limits import Limit


def run_init(folder: str) -> int:
    """Raises Wrong where there are settings already: nothing is ever overwritten."""
    path = os.path.join(folder, "stablint.toml")
    if not os.path.isdir(folder):
        raise Wrong(gettext("`{folder}` is no folder").format(folder=folder))
    if os.path.lexists(path):
        raise Wrong(gettext("{path} exists: nothing was written").format(path=path))
    if (existing := _table(folder)) is not None:
        raise Wrong(gettext("{existing} holds [tool.stablint] already: nothing was written").format(existing=existing))
    if (target := leads_out(path, os.getcwd())) is not None:
        raise Wrong(f"{path}: {A_LINK.format(target)}")
    try:
        found = inspect(["."], options(), base=os.path.abspath(folder), known=())
    except NoSuchPath as error:
        raise Wrong(gettext("`{path}` does not exist").format(path=error)) from error
    left_out: list[Limit] = []
    text = contents(found, stated(os.path.abspath(folder), root_of(os.path.abspath(folder)), {}, left_out.append))
    for limit in left_out:
        exit.tell(limit.problem(0, 0).message)
    try:
        exit.write_report(path, text, ())  # whole or not at all, and over nothing that came meanwhile
    except Changed as error:
        raise Wrong(gettext("{path} exists: nothing was written").format(path=path)) from error
    except OSError as error:
        raise Wrong(
            gettext("{path}: {strerror}: nothing was written").format(path=path, strerror=error.strerror or error)
        ) from error
    exit.tell(gettext("wrote {path}").format(path=plain(path)))
    return CLEAN


def _table(folder: str) -> str | None:
    try:
        found = nearest(folder, {})
    except BadSettings as error:
        raise Wrong(str(error)) from error
    return found if found is not None and os.path.dirname(found) == os.path.abspath(folder) else None


def contents(found: Inspection, releases: dict[str, Pin]) -> str:
    """The file. `releases` are what lock files and requirements of the repository say."""
    return "\n".join([*_head(found), "", *_KEYS, "", *_targets(), "", *_versions(releases), "", *_TABLES]) + "\n"


def _head(found: Inspection) -> list[str]:
    dialects = Counter(status.dialect for status in found.report.files if status.status == "checked" and status.dialect)
    total = sum(dialects.values())
    lines = ["# Settings of stablint. The command line wins over them."]
    if not total:
        return [*lines, "# No training configuration was found here yet."]
    lines.append(f"# Found here: {total} training configuration{'' if total == 1 else 's'}.")
    return [
        *lines,
        *(
            f"#   {count:>5}  {dialect}"
            for dialect, count in sorted(dialects.items(), key=lambda row: (-row[1], row[0]))
        ),
    ]


def _targets() -> list[str]:
    return [
        "# The GPUs that the runs are meant for. Each one is checked; without any, what depends on the GPU is not judged.",
        "# [[target]]",
        '# gpu = "A100-80GB"',
        "# count = 8",
    ]


def _versions(releases: dict[str, Pin]) -> list[str]:
    releases = {name: pin for name, pin in releases.items() if pin.specifier != UNREAD and not pin.presumed}
    if releases:
        lines = ["# Releases are read from lock files and requirements:"]
        lines += [
            f"#   {name} {pin.specifier} ({os.path.basename(pin.file)})" for name, pin in sorted(releases.items())
        ]
        lines.append("# Say them here only where the runs use others.")
    else:
        lines = [
            "# Releases of the libraries. No lock file and no requirements here name one, so what depends on them is told with its releases."
        ]
    return [*lines, "# [versions]", '# transformers = "==4.57.1"', '# trl = ">=0.20,<1"']


_KEYS = [
    '# fail-on = "error"                     # error, warning or info',
    '# baseline = "stablint-baseline.json"   # `stablint . --write-baseline` accepts all that is found today: only what is new fails',
    '# ignore = ["T105"]                     # rules that are off: codes, their beginnings, or names; `stablint rules` lists them',
    '# exclude = ["third_party/"]            # files that are not read',
    '# extra-keys = ["my_company_*"]         # keys of your own that are no misspelled ones',
    '# min-evidence = "reported"             # how well a rule must be founded: `stablint explain CODE` says how it is',
    "# require-reasons = true                # suppressions say why",
    '# hazards = ["hazards/"]                # rules of your own; `stablint test-hazards hazards/` runs their examples',
]

_TABLES = [
    "# Rules of your own: what their codes begin with, and installed packages that bring some.",
    "# [house]",
    '# prefix = "ACME"',
    '# packages = ["acme-stablint-rules"]',
    "",
    "# Another severity for single rules.",
    "# [severity]",
    '# P143 = "error"',
    "",
    "# Which repairs --fix writes by itself: also the unsafe ones of some rules, and not the safe ones of others.",
    "# [fix]",
    '# promote = ["P102"]',
    '# demote = ["V101"]',
    "",
    "# Other rules, severities, targets or releases for some folders.",
    "# [[per-path]]",
    '# paths = ["legacy/**"]',
    '# ignore = ["L"]',
    "",
    "# Single findings that are accepted. YAML, Python and shell say it in the file: `# stablint: ignore[D101] -- reason`.",
    "# [[accept]]",
    '# file = "configs/ds_zero3.json"',
    '# setting = "zero_optimization.stage"',
    '# rules = ["D101"]',
    '# reason = "…"',
]
