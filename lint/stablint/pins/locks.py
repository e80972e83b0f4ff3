"""Releases that a project has pinned, from a config's folder up to the root: by lock files, by the files that say what it requires, by what
its Dockerfile and install scripts install, and, as a presumption, by what its README tells to install.

Within a folder a lock file knows better than a requirement; a nearer folder knows better than one above, unless the one above names the very
release, and the nearer one only a range that holds it.
"""

from __future__ import annotations

import codecs
import io
import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator

from stablint.base import consulted
from stablint.base.light import Any, NamedTuple
from stablint.pins import commands, formats
from stablint.pins import path as on_the_path
from stablint.pins.formats import reader_of
from stablint.pins.requirement import ANY, PYTHONS, UNREAD, requirement
from stablint.run.framework import BY_MODULE, framework, with_own_command
from stablint.run.releases.allowed import EITHER, Releases
from stablint.syntax import limits

# Where runs write down what was installed when they trained.
_RECORDS = (
    "wandb/*/files/requirements.txt", "mlruns/*/*/artifacts/*/requirements.txt",
    *(f"{folder}/*/requirements.txt" for folder in ("runs", "outputs", "output", "results")),
)  # fmt: skip
_LARGEST = 20_000_000
_LARGEST_TEXT = 1_000_000
_MOST_PINS = 50  # of one library: which of so many that differ is installed nobody knows
# Folders beside the code that hold such files and no configurations of their own.
_BESIDE = frozenset(
    ["requirements", "docker", "env", "envs", "environment", "environments", "conda", "install", "installation"]
)
# Folders beside the code where the scripts that set a machine up, and the lists that they install, may lie among others: what those say is presumed.
_SCRIPTS = frozenset(["scripts", "script", "setup", "tools", "bin"])
# What installs the project, or what it requires, without a look at a lock file of another tool.
_BY_PIP = r"(?m)^[ \t$%!>]*(?:RUN[ ]+)?(?:sudo[ ]+)?(?:uv[ ]+|python3?[ ]+-m[ ]+)?pip3?[ ]+install[ ]+(?:-U[ ]+|--upgrade[ ]+)?(?:-e[ ]|-r[ ]|\.[\s\[/]|\.$)"
_REQUIRES = r"\brequire_version\(\s*[\"']([^\"'\n]+)[\"']"


Cut = Callable[[limits.Limit], None]


class Pin(NamedTuple):
    """What a file says about a library's releases."""

    specifier: str  # alternatives are separated by `EITHER`; `UNREAD` where a commit is named, `ANY` where nothing more than the name
    file: str
    presumed: bool = False  # said where it need not be what runs
    pythons: frozenset[str] = PYTHONS  # for which it is said


_OUTSIDE: dict[str, Pin] = {}
"""Of a folder outside of the root; known by its identity."""


def stated(folder: str, root: str, read: dict[str, dict[str, Pin]], cut: Cut) -> dict[str, Pin]:
    """By library, of the libraries that stablint knows. Files outside `root` are not read, links included.

    `read` remembers the folders that were looked at: a thousand configs below one lock file read it once. `cut` is told which limit left out
    what the files of a folder say.
    """
    current = folder = os.path.normpath(folder)
    climbed: list[str] = []
    while current not in read:
        climbed.append(current)
        current = os.path.dirname(current)
        if current == climbed[-1]:
            break
    inside, above = os.path.join(os.path.realpath(root), ""), read.get(current, _OUTSIDE)
    for one in reversed(climbed):
        above = read[one] = _stated(one, inside, above, cut)
    return above if climbed else read[folder]


def _stated(folder: str, inside: str, above: dict[str, Pin], cut: Cut) -> dict[str, Pin]:
    """Of one folder, by what the one above it says. Only a link leads from outside to inside or back, and below the root all is inside."""
    if above is _OUTSIDE or os.path.islink(folder):
        here = os.path.join(os.path.realpath(folder), "")
        if not here.startswith(inside):
            return _OUTSIDE
        above = {} if here == inside else above
    said, left_open = _of_folder(folder, inside, cut)
    found = dict(above)
    for library in left_open & above.keys():
        if not is_locked(above[library]):  # a lock file is one for all the projects below it
            found[library] = above[library]._replace(presumed=True)
    for library, pin in said.items():
        if library not in above or not is_named_within(above[library], pin, library):
            found[library] = pin
    return found


def is_locked(pin: Pin) -> bool:
    """Whether a lock file says it."""
    return reader_of(os.path.basename(pin.file), "")[0] == "lock"


def _of_folder(folder: str, inside: str, cut: Cut) -> tuple[dict[str, Pin], set[str]]:
    """What its files say, and which libraries a project of its own there asks for without a word on the release."""
    said: dict[str, list[tuple[str, Pin]]] = {"lock": [], "wish": [], "extra": [], "text": []}
    names = _names(folder)
    by_pip = False
    asked: list[tuple[str, Pin]] = []  # by lists of which a tool has made others, which name the very releases
    left_open: set[str] = set()
    copied: dict[str, Pin] = {}
    other_uses: list[tuple[str, Pin]] = []  # what is required for another use than training
    upgraded: set[str] = set()  # what somebody installs anew without a word on the release
    open_elsewhere: dict[str, set[str]] = {}  # the lists of requirements that name a library alone, by library
    for path, kind, read in _files(folder, names):
        text = _text(path, inside, _LARGEST if kind == "lock" else _LARGEST_TEXT)
        if kind == "perhaps":
            kind, read = ("aside", formats.environment) if formats.is_export(text) else ("", None)
        if read is not None and kind != "aside":
            wanted = list(read(text))
            said["extra"] += _said(filter(formats.is_extra, wanted), path)
            plain = _said(itertools.filterfalse(formats.is_extra, wanted), path)
            (asked if _is_compiled(path, names) else said["lock" if kind == "lock" else "wish"]).extend(plain)
        if read is formats.required and kind == "wish":
            more = list(_included(text, path, inside, cut))
            compiled = _is_compiled(path, names)
            (asked if compiled else said["wish"]).extend(more)
            for library in _left_open(text) - {name for name, _ in more} if not compiled else ():
                open_elsewhere.setdefault(library, set()).add(path)
        if os.path.basename(path).lower() in formats.MANIFESTS and os.path.dirname(path) == folder:
            left_open |= {one.library for one in map(requirement, formats.named(text)) if one and one.specifier == ANY}
            copied |= {name: Pin(UNREAD, path) for name in formats.own_name(text) if name in _CARRIED}
        if kind == "aside" and read is not None:
            others = list(_said(read(text), path))
            said["text"] += others
            other_uses += others if formats.is_of_another_use(os.path.basename(path)) else []
        if kind in ("command", "text"):
            pins = installed(text, path).items()
            said["text" if kind == "text" else "wish"] += [(name, pin) for name, pin in pins if pin.specifier != ANY]
            upgraded |= commands.upgraded(text)
            if kind == "text":
                said["text"] += _said(formats.mentioned(text), path)
            listed = list(_listed(text, path, inside))
            said["text" if kind == "text" else "wish"] += listed
            by_pip = by_pip or bool(pins) or re.search(_BY_PIP, text) is not None
    answered = {name for name, _ in said["wish"]}
    said["wish"] += [(name, pin) for name, pin in asked if name not in answered]
    for path in _records(folder, names):  # the last alone: who runs it again has most likely what it had then
        said["text"] += _said(formats.required(_text(path, inside, _LARGEST_TEXT)), path)
    found = copied | {library: Pin(UNREAD, path) for library, path in _carried(folder, names)}
    wished = {
        library: _or_newer(pin)
        if (open_elsewhere.get(library, set()) - {pin.file} and not _is_aside(pin.file))
        or (library in left_open and _is_special(pin.file))
        else pin
        for library, pin in agreeing(said["wish"]).items()
    }
    for library in upgraded & wished.keys():
        wished[library] = _or_newer(wished[library])._replace(presumed=True)
    for library, pin in agreeing(said["lock"]).items():
        # pip reads no such lock: where somebody installs by pip, or a list for pip leaves the release open, it is one of two sets
        other = wished.get(library) if by_pip else None
        apart = other is not None and _is_exact(other.specifier) and other.specifier != pin.specifier
        both = _agreed([pin, other], library) if apart and other is not None else None
        found.setdefault(
            library,
            both or pin._replace(presumed=by_pip or (library in open_elsewhere and pin.file.endswith(formats.LOCKS))),
        )
    for library, pin in wished.items():
        found.setdefault(library, pin)
    for library, pin in agreeing(said["extra"]).items():
        found.setdefault(library, pin._replace(presumed=True))  # only who asks for the extra gets it
    for library, pin in agreeing(said["text"]).items():
        if library not in found or is_named_within(pin, found[library], library):
            found[library] = pin._replace(presumed=True)
    for library, pin in agreeing(other_uses).items():
        # of two environments that differ it is not known which one a command runs in
        both = _agreed([found[library], pin], library) if library in found else None
        if both is not None and EITHER in both.specifier:
            found[library] = found[library]._replace(presumed=True)
    return found, left_open


def _is_compiled(path: str, names: list[str]) -> bool:
    """Whether it is what somebody asks for, and the list that a tool made of it stands beside: `requirements.in`, `requirements.txt`."""
    stem, ending = os.path.splitext(os.path.basename(path))
    return ending == ".in" and f"{stem}.txt" in names


def _listed(text: str, path: str, inside: str) -> Iterator[tuple[str, Pin]]:
    """What the lists require that commands of a text install and that no name gives away: `pip install -r deps.txt`."""
    for name in dict.fromkeys(formats.lists(text)):
        other = os.path.normpath(os.path.join(os.path.dirname(path), name))
        if reader_of(os.path.basename(other), os.path.basename(os.path.dirname(other)))[0] not in ("wish", "lock"):
            yield from _said(formats.required(_text(other, inside, _LARGEST_TEXT)), other)


def _left_open(text: str) -> set[str]:
    """The libraries that a list of requirements names without a release."""
    found = (requirement(line) for line in formats.required(text))
    return {one.library for one in found if one is not None and one.specifier == ANY}


def _is_special(path: str) -> bool:
    """Whether it is a list for some purpose beside the project's own, `reproduce_requirements.txt`, by its name alone."""
    name = os.path.basename(path).lower()
    return name.endswith(".txt") and name != "requirements.txt" and not name.startswith("constraints")


def _or_newer(pin: Pin) -> Pin:
    """Of two lists one states a release and the other none: who installs by the other has a newer one."""
    exact = pin.specifier.removeprefix("==")
    return pin._replace(specifier=f">={exact}") if _is_exact(pin.specifier) and "," not in pin.specifier else pin


def is_named_within(one: Pin, other: Pin, library: str) -> bool:
    """Whether the first names the very release, and the other only a range that holds it."""
    if not _is_exact(one.specifier) or _is_exact(other.specifier) or {ANY, UNREAD} & {other.specifier}:
        return False
    try:
        Releases.known().restrict(library, f"{one.specifier},{other.specifier}")
    except ValueError:
        return False
    return EITHER not in other.specifier


def _is_exact(specifier: str) -> bool:
    return EITHER not in specifier and any(
        part.strip().startswith("==") and "*" not in part for part in specifier.split(",")
    )


# Libraries that repositories carry a copy of, to change it: what a program imports then is of no release.
_CARRIED = ("accelerate", "deepspeed", "peft", "transformers", "trl")


# Folders for what others have written.
_OTHERS_CODE = frozenset([
    "lib", "libs", "third_party", "third-party", "thirdparty", "3rdparty", "external", "externals", "vendor", "submodules", "deps", "packages",
])  # fmt: skip


def _carried(folder: str, names: list[str]) -> Iterator[tuple[str, str]]:
    """Libraries whose package lies in the folder, or in `src` or a folder of the library's name there, or is to be put there by git."""
    if ".gitmodules" in names:
        path = os.path.join(folder, ".gitmodules")
        for inner in formats.submodules(_text(path, "", _LARGEST_TEXT)):
            if (name := os.path.basename(inner.rstrip("/"))) in _CARRIED:
                yield name, path
    for library in dict.fromkeys((*_CARRIED, *with_own_command(), *BY_MODULE)):
        for package in framework(library).packages or (library,):
            begins = (f"{package}-", f"{package}_")  # `peft-mine`; `ms-swift-3.1.1`, `LLaMA-Factory`
            whole = library.replace("-", "")
            own = [n for n in names if n.lower().startswith(begins) or n.lower().replace("-", "").startswith(whole)]
            own += [f"{name}/{package}" for name in names if name.lower() in _OTHERS_CODE]
            for inner in ("", package, "src", f"{package}/src", *own, *(f"{name}/src" for name in own)):
                if (inner or package).partition("/")[0] not in names:
                    continue
                path = os.path.join(folder, *filter(None, inner.split("/")), package, "__init__.py")
                if os.path.isfile(path):
                    yield library, path
                    break
        if f"{library}.py" in names and library in _CARRIED:  # what lies beside a program comes first when it imports
            yield library, os.path.join(folder, f"{library}.py")


def _included(text: str, path: str, inside: str, cut: Cut) -> Iterator[tuple[str, Pin]]:
    """What the files require that this one reads into itself (`-r base.txt`), and those that they read."""
    seen = {os.path.realpath(path)}
    pending = [(path, text)]
    while pending:
        path, text = pending.pop()
        inner = []
        for name in formats.included(text):
            other = os.path.normpath(os.path.join(os.path.dirname(path), name))
            real = os.path.realpath(other)
            if real in seen:
                continue
            if len(seen) > limits.LISTS.most:
                cut(limits.LISTS)
                break
            seen.add(real)
            more = _text(other, inside, _LARGEST_TEXT)
            yield from _said(formats.required(more), other)
            inner.append((other, more))
        pending += reversed(inner)


_FEW = 12  # files at the top of a project that are opened for what their names do not say


def _files(folder: str, names: list[str]) -> Iterator[tuple[str, str, Any]]:
    """Of a folder and of those beside its code that hold nothing else: path, kind and reader."""
    beside = (os.path.join(folder, name) for name in names if name.lower() in _BESIDE)
    for place, there in ((folder, names), *((place, _names(place)) for place in beside)):
        for name in there:
            kind, read = reader_of(name, os.path.basename(place))
            if kind:
                yield os.path.join(place, name), kind, read
    if any(name.lower() in formats.MANIFESTS or name.lower().startswith(("readme", "requirements")) for name in names):
        unnamed = [name for name in names if name.endswith((".yaml", ".yml")) and not reader_of(name, "")[0]]
        for name in unnamed[:_FEW]:
            yield os.path.join(folder, name), "perhaps", None
    for place in (os.path.join(folder, name) for name in names if name.lower() in _SCRIPTS):
        for name in _names(place):
            kind, read = reader_of(name, "")
            if name.lower().endswith((".sh", ".bash")) and kind == "command":
                yield os.path.join(place, name), "text", None
            elif read is formats.required and name.lower() not in formats.MANIFESTS:
                yield os.path.join(place, name), "aside", read


def _records(folder: str, names: list[str]) -> Iterator[str]:
    """Of each place where runs are recorded, what the last one wrote down: their folders are called after their days."""
    for pattern in _RECORDS:
        first, *steps = pattern.split("/")
        last = next(_last(os.path.join(folder, first), steps), "") if first in names else ""
        if last:
            yield last


def _last(place: str, steps: list[str]) -> Iterator[str]:
    """The files that these steps lead to, the last first."""
    step, *more = steps
    if not more:
        path = os.path.join(place, step)
        yield from (path,) if os.path.isfile(path) else ()
        return
    for name in reversed(_names(place)) if step == "*" else [step]:
        yield from _last(os.path.join(place, name), more)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def installed(text: str, path: str) -> dict[str, Pin]:
    """What a notebook or a script installs by itself before it trains (`!pip install trl==0.22.2`), command after command.

    A bare name stands without a specifier: it takes the newest release of its day, whatever the repository pins.
    """
    if path.endswith(".ipynb"):  # which may be written on one line
        text = text.replace('["', '[\n"').replace('", "', '",\n"').replace('","', '",\n"')
    found = commands.installed(text, {".ipynb": "notebook", ".py": "program"}.get(os.path.splitext(path)[1], ""))
    pins: dict[str, Pin] = {}
    for library, specifiers in found.specifiers.items():
        pin = _agreed([Pin(one, path, library in found.presumed) for one in specifiers], library)
        if pin is not None:
            pins[library] = pin
    return pins


def required(text: str, path: str) -> dict[str, Pin]:
    """What a program asks for by transformers' `require_version("trl>=0.8.6,<=0.9.6")` before it goes on, or in its block of metadata."""
    asked = re.findall(_REQUIRES, text) if "require_version(" in text else []
    if "# /// script" in text:
        asked += formats.script(text)
    found = agreeing(_said(asked, path)) if asked else {}
    return found | copied(text, path)


def copied(text: str, path: str) -> dict[str, Pin]:
    """The libraries whose copies a program or a script puts before what is installed."""
    return {name: Pin(UNREAD, path) for name in on_the_path.before_the_installed(text, path)}


def _said(requirements: Iterable[str], path: str) -> Iterator[tuple[str, Pin]]:
    for text in requirements:
        found = requirement(text)
        if found is not None and found.specifier != ANY:
            yield found.library, Pin(found.specifier, path, pythons=found.pythons)


def agreeing(said: Iterable[tuple[str, Pin]]) -> dict[str, Pin]:
    """What is said of each library."""
    pins: dict[str, list[Pin]] = {}
    for library, pin in said:
        pins.setdefault(library, []).append(pin)
    agreed = {library: _agreed(found, library) for library, found in pins.items()}
    return {library: pin for library, pin in agreed.items() if pin is not None}


def _agreed(pins: list[Pin], library: str) -> Pin | None:
    """All of them together, if a release satisfies them; else any of them: two environments, or one installed after the other."""
    different = list(dict.fromkeys(pin.specifier for pin in pins))
    if UNREAD in different or ANY in different:
        return pins[0]._replace(specifier=UNREAD if UNREAD in different else ANY)
    if len(different) > _MOST_PINS:
        return pins[0]._replace(specifier=UNREAD)
    # A container's set and the project's: which of the two runs is not known, where they are not the same.
    apart = len(different) > 1 and len({_is_aside(pin.file) for pin in pins}) > 1
    by_python = [
        ",".join(dict.fromkeys(pin.specifier for pin in pins if one in pin.pythons)) for one in sorted(PYTHONS)
    ]
    together = EITHER.join(dict.fromkeys(filter(None, by_python)))
    for text in (together or ",".join(different), EITHER.join(different)):
        try:
            Releases.known().restrict(library, text)
        except ValueError:
            continue
        return pins[0]._replace(
            specifier=text, presumed=pins[0].presumed or (apart and EITHER not in text), pythons=PYTHONS
        )
    return None


def _is_aside(path: str) -> bool:
    """Whether the file describes an environment beside the project's own: an image's, or one of several in a folder of such."""
    name = os.path.basename(path).lower()
    return "dockerfile" in name or name == "containerfile" or os.path.basename(os.path.dirname(path)).lower() in _BESIDE


_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # as PowerShell's `pip freeze > requirements.txt` writes


def _text(path: str, inside: str, most: int) -> str:
    real = os.path.realpath(path)
    try:
        if not real.startswith(inside) or not os.path.isfile(real) or os.path.getsize(real) > most:
            return ""
        consulted.note(real)
        with open(real, "rb") as raw:
            encoding = "utf-16" if raw.read(2) in _UTF_16 else "utf-8-sig"
            raw.seek(0)
            return io.TextIOWrapper(raw, encoding=encoding, errors="replace").read()
    except OSError:
        return ""
