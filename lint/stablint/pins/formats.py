"""The files that say which releases a project wants, each as requirements that pip would write.

Lock files are read line by line (both have one `name` and one `version` line a package), TOML too: parsing it would cost more than the whole
check. Nothing is executed: of setup.py the texts count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from stablint.pins.requirement import library_of

# Texts, not compiled: most projects have none of these files, and a pattern costs more than the look for them. Every one of them is tried
# at one place of a line or a word, so that no text takes more than its length.
_NAME = r'name = "([^"]+)"'
_VERSION = r'version = "([^"+]+)'
_ARRAY = r"[ \t]*([\w-]+)[ \t]*=[ \t]*\["
_IN_ARRAY = r"\"([^\"\n]*)\"|'([^'\n]*)'|#[^\n]*|(\])"
_QUOTED = r"\"([^\"\n]{0,300})\"|'([^'\n]{0,300})'"
_POETRY = r"([A-Za-z0-9._-]+)[ \t]*=[ \t]*(?:\{[^\n]{0,200}?version[ \t]*=[ \t]*)?\"([^\"\n]+)\""
_IMAGE = r"(?i)[ \t]*FROM[ \t]+(?:--platform=\S+[ \t]+)?(\S+)"
# Images whose tag names a release of what they are published with.
_TAGGED = (
    (r"pytorch/pytorch:v?(\d+\.\d+\.\d+)", "torch"),
    (r"\S*huggingface-pytorch-\w+:(\d+\.\d+\.\d+)-", "torch"),
    (r"\S*huggingface-pytorch-\w+:\S*-transformers(\d+\.\d+\.\d+)", "transformers"),
    (r"huggingface/transformers-(?:pytorch|all-latest)\S*?:v?(\d+\.\d+\.\d+)", "transformers"),
    (r"hiyouga/llamafactory:v?(\d+\.\d+\.\d+)", "llamafactory"),
    (r"axolotlai/axolotl\S*:v?(\d+\.\d+\.\d+)", "axolotl"),
    (r"vllm/vllm-openai:v?(\d+\.\d+\.\d+)", "vllm"),
)
# Tables of pyproject.toml with lists of requirements, and the key of the list; empty where each key is one.
_LISTED = {"project": "dependencies", "project.optional-dependencies": "", "dependency-groups": ""}
# Tables that name a repository instead of the index: `trl = { git = "https://…", rev = "…" }`.
_FORKED = ("tool.uv.sources", "tool.poetry.dependencies", "tool.pdm.dependencies")
_FORK = r"([A-Za-z0-9._-]+)[ \t]*=[ \t]*\{[^\n]{0,200}?\bgit[ \t]*=[ \t]*\"([^\"\n]+)\""
# Nor is the index asked where a folder or an archive is named: `trl = { path = "third_party/trl" }`, `{ workspace = true }`.
_PLACED = r"([A-Za-z0-9._-]+)[ \t]*=[ \t]*\{[^\n]{0,200}?\b(?:path|url|workspace)[ \t]*=[ \t]*(?:\"|true)"
_TABLE_OF_ONE = r"(?:tool\.uv\.sources|tool\.poetry\.dependencies)\.[\"']?([A-Za-z0-9._-]+)[\"']?\Z"
_PLACE = r"(?:path|url|git|workspace)[ \t]*=[ \t]*(?:\"|true)"
_REFERENCE = r"\b(?:rev|tag|branch)[ \t]*=[ \t]*\"([^\"\n]+)\""
_SOURCE = r"source = \{ (?:git|url) = \"([^\"\n]+)\""
_EDITABLE = r"(?:-e|--editable)[ =](\S{1,300})\Z"
_BY_LIST = r"\bpip3?[ ]{1,9}install[ ](?:-[Uq][ ]{1,9}|--upgrade[ ]{1,9}|--no-cache-dir[ ]{1,9}){0,3}(?:-r|--requirement)[ =]{0,9}([\w./-]{1,200})"
_EXTRA = " ; extra"
# A list behind a key in quotes; a text in it may have brackets of its own: `"sglang[srt]>=0.4.5"`.
_EXTRAS = r"[\"'][ ]?:[ ]?\[(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'|[^\]\[\"']){0,4000}"


def locked(text: str) -> Iterator[str]:
    """uv.lock, poetry.lock, pdm.lock."""
    inside, name, pinned = False, "", ""
    for line in (*text.splitlines(), "["):
        if line.startswith("["):
            if pinned:
                yield pinned
            inside, name, pinned = line.rstrip() == "[[package]]", "", ""
        elif inside and not name and (found := re.match(_NAME, line)):
            name = found[1]
        elif inside and name and not pinned and (found := re.match(_VERSION, line)):
            pinned = f"{name}=={found[1]}" if library_of(name) else ""
        elif pinned and (found := re.match(_SOURCE, line)) and "git" in line:
            address, _, query = found[1].partition("#")[0].partition("?")  # a fork: its number is not the index's
            pinned = f"{name} @ git+{address}@{query.partition('=')[2] or 'HEAD'}"


def required(text: str) -> Iterator[str]:
    """requirements.txt, and the lists of setup.cfg: one a line; `conda list --export` writes a file of that name as well."""
    for line in text.splitlines():
        words = " ".join(line.partition(" #")[0].split()).partition(" --hash")[0].rstrip("\\").rstrip()
        edited = re.match(_EDITABLE, words)
        yield _of_folder(edited[1]) if edited else words


def _of_folder(place: str) -> str:
    """What is installed from a folder or a repository of one's own, `-e ./peft-mine`, as the address of what its name begins with."""
    if "://" in place:
        return place
    name = place.rstrip("/").rpartition("/")[2].partition("[")[0]
    library = library_of(name) or library_of(name.replace("_", "-").partition("-")[0])
    return f"{library} @ file:///{name}" if library else ""


def configuration(text: str) -> Iterator[str]:
    """setup.cfg: the lists of setuptools' own sections; those of other tools name libraries as well, `known_third_party` of isort."""
    section, key = "", ""
    for line in text.splitlines():
        if line.startswith("["):
            section, key = line.strip().strip("[]"), ""
        elif line[:1].isspace() or not line.strip():
            listed = section == "options.extras_require" or (section == "options" and key == "install_requires")
            if listed and key and line.strip():
                yield next(required(line)) + (_EXTRA if section != "options" else "")
        else:
            key, _, first = (part.strip() for part in line.partition("="))
            if section == "options" and key == "install_requires" and first:
                yield first


def project(text: str) -> Iterator[str]:
    """pyproject.toml: what the project itself depends on, by its own table or Poetry's; then its extras and groups, for what the table leaves out."""
    section, at = "", 0
    named: set[str] = set()
    extra: list[str] = []
    for line in text.splitlines(keepends=True):
        if line.startswith("["):
            section = line.strip().strip("[]").strip()
        elif section in _LISTED and (array := re.match(_ARRAY, line)) and _LISTED[section] in ("", array[1]):
            for token in re.compile(_IN_ARRAY).finditer(text, at + array.end()):
                if token[3]:
                    break
                if wanted := token[1] or token[2]:
                    if section == "project":
                        named.add(_library(wanted))
                        yield wanted
                    else:
                        extra.append(wanted)
        elif section in _FORKED and (
            found := re.match(_FORK, line)
        ):  # it is installed from there, whatever else is asked of it
            named.add(library_of(found[1]))
            reference = re.search(_REFERENCE, line)
            yield f"{found[1]} @ git+{found[2]}@{reference[1] if reference else ''}".rstrip("@")
        elif found := _placed(section, line):
            named.add(library_of(found[1]))
            yield f"{found[1]} @ file:///{found[1]}"
        elif section == "tool.poetry.dependencies" and (found := re.match(_POETRY, line)):
            named.add(library_of(found[1]))
            yield found[1] + _pep440(found[2])
        at += len(line)
    yield from (wanted + _EXTRA for wanted in extra if _library(wanted) not in named)


def _placed(section: str, line: str) -> re.Match[str] | None:
    """What names a library that is installed from a folder or an archive: a line of the table, or a table of its own."""
    if section in _FORKED:
        return re.match(_PLACED, line)
    return re.match(_TABLE_OF_ONE, section) if re.match(_PLACE, line) else None


def _library(wanted: str) -> str:
    name = re.match(r"[\w.-]+", wanted)
    return library_of(name[0]) if name else ""


def _pep440(text: str) -> str:
    """Poetry's `^4.37.2` and `~4.37` as ranges."""
    mark, version = text[:1], text[1:].strip()
    if mark not in ("^", "~") or text[1:2] == "=":
        return text if mark in "<>=!~" else f"=={text}" if text != "*" else ""
    numbers = [int(part) for part in version.split(".") if part.isascii() and part.isdigit()]
    if not numbers:
        return ""
    kept = next((n for n, part in enumerate(numbers) if part), 0) + 1 if mark == "^" else min(2, len(numbers))
    upper = [*numbers[: kept - 1], numbers[kept - 1] + 1]
    return f">={version},<{'.'.join(map(str, upper))}"


def pipfile(text: str) -> Iterator[str]:
    """Pipenv's Pipfile: what its packages are."""
    section = ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip().strip("[]").strip()
        elif section == "packages" and (found := re.match(_PLACED, line)):
            yield f"{found[1]} @ file:///{found[1]}"
        elif section == "packages" and (found := re.match(_POETRY, line)):
            yield found[1] + (found[2] if found[2] != "*" else "")


def pipfile_lock(text: str) -> Iterator[str]:
    """Its lock file: a name, and some lines below it the version."""
    name = ""
    for line in text.splitlines():
        words = line.strip()
        if words.endswith("{"):
            name = words.partition('"')[2].partition('"')[0]
        elif name and words.startswith('"version": "') and library_of(name):
            yield name + words[12:].rstrip('",')


def script(text: str) -> Iterator[str]:
    """The block of a Python file that says what it is to be run with (PEP 723)."""
    inside, lines = False, []
    for line in text.splitlines():
        if line.rstrip() == "# /// script":
            inside, lines = True, ["[project]"]
        elif inside and line.rstrip() == "# ///":
            yield from project("\n".join(lines) + "\n")
            return
        elif inside:
            lines.append(line.removeprefix("#").removeprefix(" "))


def included(text: str) -> Iterator[str]:
    """The files that a requirements file reads into itself, and those whose releases it is held to."""
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and words[0] in ("-r", "--requirement", "-c", "--constraint"):
            yield words[1]
        elif words and words[0].startswith(("-r", "-c")) and len(words[0]) > 2 and words[0][2] not in "eo-":
            yield words[0][2:]


def texts(text: str) -> Iterator[str]:
    """setup.py: every text in it that is a requirement; those of a dictionary's lists are extras (`"npu": ["torch==2.1.0"]`)."""
    extras = [(found.start(), found.end()) for found in re.finditer(_EXTRAS, text)]
    for found in re.finditer(_QUOTED, text):
        words = found[1] or found[2] or ""
        if any(mark in words for mark in ("==", ">=", "<=", "~=", "<", ">", " @ ")):
            yield words + (_EXTRA if any(first < found.start() < end for first, end in extras) else "")


def is_extra(requirement: str) -> bool:
    """Whether only somebody who asks for an extra gets it."""
    return requirement.endswith(_EXTRA)


def environment(text: str) -> Iterator[str]:
    """conda's environment.yml, with what pip installs in it."""
    for line in text.splitlines():
        words = line.partition(" #")[0].strip()
        if not words.startswith("- "):
            continue
        wanted = words[2:].strip().strip("\"'")
        edited = re.match(_EDITABLE, wanted)
        yield _of_folder(edited[1]) if edited else wanted.rpartition("::")[2]


def cog(text: str) -> Iterator[str]:
    """The same of Replicate's image, unless it is one that only predicts: what trained the weights had its own."""
    serves = re.search(r"(?m)^predict:", text) is not None and re.search(r"(?m)^train:", text) is None
    yield from () if serves else environment(text)


def is_export(text: str) -> bool:
    """Whether a YAML of any name is what `conda env export` writes: channels, and dependencies with their releases."""
    return all(
        re.search(mark, text) is not None
        for mark in (r"(?m)^channels:", r"(?m)^dependencies:", r"(?m)^ {0,8}- [\w.-]{1,60}=")
    )


def images(text: str) -> Iterator[str]:
    """The tag of the image that a Dockerfile begins with, where its makers publish what is in it."""
    for line in text.splitlines():
        image = re.match(_IMAGE, line) if "FROM" in line.upper() else None
        for pattern, library in _TAGGED if image else ():
            if image and (tag := re.match(pattern, image[1])):
                yield f"{library}=={tag[1]}"


def named(text: str) -> Iterator[str]:
    """What a project's own file names by itself, in quotes or on a line: `"transformers"` without a word on the release."""
    for line in text.splitlines():
        if re.match(_BARE, line):
            yield line.strip()
        for found in re.finditer(_QUOTED, line):
            yield found[1] or found[2] or ""


def own_name(text: str) -> Iterator[str]:
    """What the project is called by its own file, where that is a library that stablint knows."""
    found = re.search(_OWN_NAME, text)
    library = library_of(found[1]) if found else ""
    if library:
        yield library


_BARE = r"[ \t]*[A-Za-z][\w.-]{0,60}[ \t]*\Z"
_OWN_NAME = r"(?m)^[ \t]{0,40}name[ \t]{0,40}=[ \t]{0,40}[\"']?([\w.-]{1,60})[\"']?,?[ \t]{0,40}$"
_TOML_AND_PYTHON = {"pyproject.toml": project, "setup.cfg": configuration, "setup.py": texts}
MANIFESTS = frozenset(_TOML_AND_PYTHON)
"""What describes a project of its own, with what it requires."""


LOCKS = ("uv.lock", "poetry.lock", "pdm.lock")
"""Of tools that are not pip, which does not read them."""


def reader_of(name: str, folder: str) -> tuple[str, Callable[[str], Iterator[str]] | None]:
    """The kind of file by its name, and how it is read: lock, wish, command (its commands count) or text; empty for any other.

    Every name of a folder is asked about: plain comparisons, no patterns.
    """
    lower = name.lower()
    stem, _, ending = lower.rpartition(".")
    if lower in LOCKS:
        return "lock", locked
    if lower in ("pipfile", "pipfile.lock"):
        return ("wish", pipfile) if lower == "pipfile" else ("lock", pipfile_lock)
    if lower in _TOML_AND_PYTHON:
        return "wish", _TOML_AND_PYTHON[lower]
    if ending in ("txt", "in", "lock"):
        if not _PUT_AWAY.isdisjoint(_words_of(stem)):
            return "", None
        if "requirement" in stem or stem.startswith("constraints") or folder.lower() == "requirements":
            frozen = not _FROZEN.isdisjoint(_words_of(lower))
            return "lock" if frozen else "aside" if is_of_another_use(lower) else "wish", required
        if ending == "txt" and stem in _LISTS:
            return "aside", required
        return ("text", None) if stem in _FOR_READERS else ("", None)
    if lower == "cog.yaml":  # Replicate's: packages of its image, and commands
        return "command", cog
    if ending in ("yml", "yaml"):
        own = not {"env", "conda"}.isdisjoint(_words_of(stem))
        if not (own or "environment" in stem or "conda" in stem):
            return "", None
        return "aside" if is_of_another_use(lower) else "wish", environment
    if "dockerfile" in lower or lower == "containerfile":
        return "command", images
    if ending == "def":  # Apptainer's, whose sections hold commands
        return "command", None
    if ending in ("sh", "bash", "bat", "ps1"):
        return (
            ("command", None) if any(word in stem for word in ("install", "setup", "bootstrap", "env")) else ("", None)
        )
    if not stem and any(word in lower for word in ("install", "bootstrap")) and "." not in lower:
        return "command", None
    if lower in ("makefile", "justfile", "taskfile.yml", "requirements"):
        return ("wish", required) if lower == "requirements" else ("command", None)
    told = stem.startswith("readme") or stem in _FOR_READERS
    read_first = lower in _FOR_READERS or (told and ending in ("md", "rst", "org", "adoc"))
    return ("text", None) if read_first else ("", None)


# Words in the name of a list that nobody installs by any more: together with the one in use it states releases that never met.
_PUT_AWAY = frozenset(["bak", "backup", "old", "orig", "legacy", "deprecated", "archive", "archived"])
_FROZEN = frozenset(["lock", "locked", "frozen", "freeze"])  # what `pip freeze` or a resolver wrote beside the list


# Words in the name of a list that say what else than training it is for.
_OTHER_USES = frozenset(
    ["inference", "infer", "eval", "evaluation", "evaluate", "test", "tests", "testing", "doc", "docs", "demo", "vllm", "sglang", "serve",
     "serving", "server", "deploy", "deployment", "api", "web", "webui", "ui", "app", "gradio", "streamlit", "lint", "ci", "mac", "macos", "mps",
     "windows"]
)  # fmt: skip
_LISTS = frozenset([
    "freeze", "pip_freeze", "pip-freeze", "pip_list", "packages", "dependencies", "deps", "environment", "env", "reqs", "req",
])  # fmt: skip
_FOR_READERS = frozenset(["readme", "install", "installation", "installing"])


def mentioned(text: str) -> Iterator[str]:
    """What a text for readers names with one release: `transformers==4.37.2`, `trl=0.11.0`."""
    for found in re.finditer(_MENTIONED, text):
        if library_of(found[1]):
            yield f"{found[1]}=={found[2]}"


_MENTIONED = r"(?<![\w.-])([A-Za-z][A-Za-z0-9_-]{1,30}) ?={1,2} ?v?(\d{1,4}(?:\.\d{1,4}){1,3})(?![\w.])"


def submodules(text: str) -> Iterator[str]:
    """The folders that git fills with other repositories."""
    for found in re.finditer(r"(?m)^[ \t]{0,40}path[ \t]{0,9}=[ \t]{0,9}(\S{1,200})", text):
        yield found[1]


def is_of_another_use(name: str) -> bool:
    """Whether a list says by its name that it is for another use than training."""
    return not _OTHER_USES.isdisjoint(_words_of(name.lower()))


def _words_of(name: str) -> list[str]:
    return re.split(r"[-_.]", name)


def lists(text: str) -> Iterator[str]:
    """The files that install commands read their requirements from, as they are written: `pip install -r deps.txt`."""
    for found in re.finditer(_BY_LIST, text):
        yield found[1]
