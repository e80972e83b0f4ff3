"""What the install commands of a notebook, a script, a Dockerfile or a text for readers say, in their order.

`pip install`, `%pip install`, `!pip install`, `python -m pip install`, `uv pip install`, `uv add`, `conda install`, and Databricks' `# MAGIC %pip install`;
over continued lines; and `git clone --branch v1.2.3 https://…`, or a clone that `git checkout v1.2.3` follows, which is what is installed then.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stablint.base.light import NamedTuple
from stablint.pins.requirement import ANY, UNREAD, Requirement, library_of, requirement

_COMMAND = r"(?:\b(?:pip3?|conda|mamba|micromamba)[\"', ]+install|\buv[ ]+add)(?=[\"', ])"
_WORD = r"\"([^\"]*)\"|'([^']*)'|(&&|\|\||[;|&]|#)|([^\s\"';&|()#\[\],<>=!~@]+(?:\[[^\]\s]*\])?[^\s\"';&|()]*)"
# What may stand in front of the command: nothing else on the line than what starts commands. A sentence that speaks of one is none.
_STARTS = frozenset(
    ["RUN", "run:", "sudo", "then", "do", "time", "exec", "uv", "-m", "-", "$", ">", "sys.executable", ""]
)
_SETS = r"[A-Za-z_][A-Za-z0-9_]*="
_PYTHON = r"python[0-9.]*\Z"
_CALLS = (
    r"\b(?:system|run|run_commands|dockerfile_commands|check_call|check_output|Popen|call|getoutput|run_line_magic)\("
)
# What a program runs: in a call, by a magic word, or as words of a list. Else the line is in a text of the program's.
_RUN_BY_PROGRAM = rf"{_CALLS}|^\s*[!%]|[\"']install[\"']|MAGIC"
# What is only told to a reader: `print("pip install …")`, an error's text.
_TELLS = r"\b(?:print|log|info|warn|debug|error|critical|exit|fail|write|markdown|help|\w*(?:Error|Exception|[Ww]arning))\(\Z"
# Modal's image, in which the program runs.
_OF_AN_IMAGE = r"\.(?:uv_)?pip_install\(([^()]{1,3000})\)"
_BUILT = r"-\d[^/-]*(?:(?:-[^/-]+){2,4}\.whl|\.tar\.gz|\.zip)\Z"
_UPGRADE = r"--upgrade\Z|-[a-zA-TV-Z]*U[a-zA-Z]*\Z"
_TELLING = ("install", "uv add", "uv run", "git clone", "checkout")
_WITH = r"--with(?:[ ]{1,9}|=)(?:\"([^\"]{1,200})\"|'([^']{1,200})'|([^\s\"']{1,200}))"
_FROM_HERE = r"\bpip3?[ ]{1,9}install[ ](?:[^\n;&|]{0,200}[ ])?\.(?:\[[^\]\n]{0,80}\])?[\"']?(?:[ ;&|]|$)"
_CLONE = r"\bgit[ ]+clone[ ]+([^;|&#]{1,500})"
# Behind a clone: a tag, or a commit, which is of no release that can be told from here. A branch says nothing.
_CHECKOUT = r"\bgit[ ]+(?:-C[ ]+[^ ]+[ ]+)?checkout[ ]+(?:-q[ ]+|--quiet[ ]+|--detach[ ]+)?(?:tags/)?(v?[0-9][\w.-]*|[0-9a-f]{7,40})(?![\w./-])"
_TAG_OF_CLONE = r"(?:--branch[ =]|-b[ ])[ ]*[\"']?([\w.-]+)"
_ADDRESS = r"https?://[^\s\"'<>()`]+"
_GIVEN = r"(?m)^[ \t]*(?:ARG[ ]+|ENV[ ]+|export[ ]+)?([A-Za-z_]\w*)[= ][\"']?(v?[0-9][\w.]*)[\"']?[ \t]*(?:$|[#\\])"
_VARIABLE = r"\$\{?([A-Za-z_]\w*)(?::?-[^}]*)?\}?"
_COUNT = r"\"execution_count\":[ ]?(null|[0-9]{1,9})"  # of a cell, which its source follows
# What pip answered when a cell was run, and left as it was.
_THERE = (
    r"Requirement already satisfied: ([\w.-]{1,60})[^\s\"]{0,100} in ([^\"\n]{0,300}?)\(([0-9][\w.]{0,40})\)(?:\\n)?\""
)
_OF_A_DAY = ("/usr/local/lib/python3", "/opt/conda/", "/databricks/")  # a machine that is made anew for each session
_ESCAPE = r"\\(.)"
_NEXT_LINE = r"\\n\",[ \t]*\r?\n[ \t]*\""
_ESCAPED = {"n": "\n", "t": "\t", "r": ""}
_MAGIC = "# MAGIC"


class Installed(NamedTuple):
    """What the commands come to, by library: specifiers in their order (`ANY` and `UNREAD` stand alone)."""

    specifiers: dict[str, list[str]]
    presumed: frozenset[str]  # libraries of which only commands speak that are commented out


def installed(text: str, kind: str = "") -> Installed:
    """What a text installs. `kind`: `notebook` for the JSON of one; in a `program` a command that it does not run is a hint for the reader."""
    said: dict[bool, dict[str, list[str]]] = {False: {}, True: {}}
    if any(word in text for word in _TELLING):
        clone = ""
        notebook = kind == "notebook"
        names = _named(text) if "$" in text and not notebook else {}
        text = re.sub(_OF_AN_IMAGE, _as_command, text) if kind == "program" and "pip_install(" in text else text
        for line, commented in _notebook_lines(text) if notebook else _lines(text):
            line = re.sub(_VARIABLE, lambda found: names.get(found[1], found[0]), line) if names else line
            told = commented or (kind == "program" and re.search(_RUN_BY_PROGRAM, line) is None)
            for command in _commands(line):
                _run(command, said[told])
            _run(list(_cloned(line)), said[commented])
            _run(
                [one[1] or one[2] or one[3] for one in re.finditer(_WITH, line)] if "uv run" in line else [], said[told]
            )
            clone = _last_cloned(line) or clone
            # `git clone …/trl`, `cd trl`, `pip install -e .`: the state of a day
            library = library_of(clone.rpartition("/")[2].removesuffix(".git")) if clone else ""
            if library and library not in said[commented] and re.search(_FROM_HERE, line):
                said[commented][library] = [UNREAD]
            checkout = re.search(_CHECKOUT, line) if clone and "checkout" in line else None
            if checkout is not None:
                _run([f"git+{clone}@{checkout[1]}"], said[commented])
    commented_only = frozenset(said[True].keys() - said[False].keys())
    specifiers = {**said[True], **said[False]}
    answered = _answered(text) if kind == "notebook" else {}
    left = {name: one for name, one in answered.items() if specifiers.get(name, [ANY]) == [ANY]}
    return Installed({**specifiers, **left}, commented_only | left.keys())


def _as_command(found: re.Match[str]) -> str:
    """`image.pip_install("trl==0.24.0", "peft")` as a line of a notebook."""
    words = re.findall(r"\"([^\"\n]{1,200})\"|'([^'\n]{1,200})'", found[1])
    return "\n!pip install " + " ".join(f'"{one or other}"' for one, other in words) + "\n"


def _answered(text: str) -> dict[str, list[str]]:
    """The releases that the machine of a notebook had before it was last run, by what pip answered to a bare name: it keeps them as long as nobody
    asks for an upgrade."""
    if "Requirement already satisfied: " not in text:
        return {}
    found: dict[str, list[str]] = {}
    for name, where, version in re.findall(_THERE, text):
        if (library := library_of(name)) and not where.startswith(_OF_A_DAY):
            found[library] = [f"=={version}"]
    upgraded = found and any(
        re.match(_UPGRADE, word) for line, _ in _notebook_lines(text) for word in line.split() if word[:1] == "-"
    )
    return {} if upgraded else found


def _named(text: str) -> dict[str, str]:
    """The releases that names stand for (`ARG TRL_VERSION=0.24.0`, `ENV`, `export`, plain); one that is given twice stands for none."""
    found: dict[str, set[str]] = {}
    for name, value in re.findall(_GIVEN, text):
        found.setdefault(name, set()).add(value)
    return {name: next(iter(values)) for name, values in found.items() if len(values) == 1}


def _notebook_lines(text: str) -> Iterator[tuple[str, bool]]:
    """The lines of a notebook's cells. What a cell installs that was never run, while others were, is no more than a comment: their outputs
    were made with something else."""
    count, *parts = re.split(_COUNT, text)
    yield from _lines(_plain(count))
    ran = any(one != "null" for one in parts[::2])
    for count, part in zip(parts[::2], parts[1::2], strict=True):
        for line, commented in _lines(_plain(part)):
            yield line, commented or (ran and count == "null")


def _plain(text: str) -> str:
    """The JSON of a notebook with its strings' line ends as line ends, and each cell's source on a line of its own."""
    text = re.sub(_NEXT_LINE, "\n", text).replace('"source":', '\n"source":')
    return re.sub(_ESCAPE, lambda found: _ESCAPED.get(found[1], found[1]), text)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Lines that may install something, continued ones as one, and whether they are commented out."""
    parts: list[str] = []
    commented = False
    for line in text.splitlines():
        if not parts and not any(word in line for word in _TELLING):
            continue
        words = line.strip()
        if not parts:
            words = words.removeprefix('"source":').lstrip(" [").removeprefix('"').lstrip()  # the first line of a cell
        if words.startswith(_MAGIC):
            words = words[len(_MAGIC) :].strip()
        if not parts:
            commented = words.startswith("#")
        if commented:
            words = words.lstrip("# ")
        if words.endswith("\\"):
            parts.append(words[:-1])
            continue
        yield " ".join([*parts, words]), commented
        parts = []
    if parts:
        yield " ".join(parts), commented


def _commands(line: str) -> Iterable[list[str]]:
    """The words behind each install command of a line, up to its end."""
    commands = list(re.finditer(_COMMAND, line))
    before = 0
    for found, after in zip(commands, [*(one.start() for one in commands[1:]), len(line)], strict=False):
        between, before = line[before : found.start()], found.end()
        if not _starts(between):
            continue
        words: list[str] = []
        for word in re.compile(_WORD).finditer(line, found.end(), after):
            if word[3]:
                break
            words.append((word[1] or word[2] or word[4] or "").strip())
        yield words


def _cloned(line: str) -> Iterator[str]:
    """What is cloned at a tag, as a requirement; a clone of a branch says no release, and what is not of the library's makers is another build."""
    for found in re.finditer(_CLONE, line) if "clone" in line else ():
        tag, address = re.search(_TAG_OF_CLONE, found[1]), re.search(_ADDRESS, found[1])
        if address is None:
            continue
        plain = f"git+{address[0].removesuffix('/')}"
        if tag is not None and re.match(r"v?[0-9]", tag[1]):
            yield f"{plain}@{tag[1]}"
        elif (wanted := requirement(plain)) is not None and wanted.specifier == UNREAD:
            yield plain


def _last_cloned(line: str) -> str:
    """The address that a line clones last; empty for none."""
    clones = [re.search(_ADDRESS, found[1]) for found in re.finditer(_CLONE, line)] if "clone" in line else []
    return clones[-1][0].removesuffix("/") if clones and clones[-1] is not None else ""


def _starts(before: str) -> bool:
    """Whether a command may begin behind this part of a line."""
    call = re.search(_CALLS, before)
    cut = call.end() if call else max(before.rfind(mark) + 1 for mark in "&;|(")
    if not call and re.search(_TELLS, before[:cut]):
        return False
    words = [word.strip("!%`[]{}\"',") for word in before[cut:].split()]
    if call and words and words[0].startswith(('f"', "f'")):
        words[0] = words[0][2:]
    return all(word in _STARTS or re.match(_SETS, word) or re.match(_PYTHON, word.rpartition("/")[2]) for word in words)


def _run(words: list[str], said: dict[str, list[str]]) -> None:
    """One command after those before it: a release that is named counts, a bare name takes what is there unless it upgrades."""
    upgrades = any(re.match(_UPGRADE, word) for word in words)
    for found in _requirements(words):
        before = said.get(found.library)
        if found.specifier == UNREAD or before is None or before[-1] in (ANY, UNREAD):
            said[found.library] = [found.specifier] if found.specifier != ANY or before is None else before
        elif found.specifier == ANY:
            if upgrades:
                said[found.library] = [ANY]
        else:
            before.append(found.specifier)


def upgraded(text: str) -> set[str]:
    """The libraries of which commands install the newest release, whatever is there: `pip install -U trl`."""
    found: set[str] = set()
    for line, commented in _lines(text) if "install" in text else ():
        for words in _commands(line) if not commented else ():
            if any(re.match(_UPGRADE, word) for word in words):
                found |= {one.library for one in _requirements(words) if one.specifier == ANY}
    return found


def _requirements(words: list[str]) -> Iterator[Requirement]:
    for before, word in zip(["", *words], words, strict=False):
        if before in ("-e", "--editable") or word.startswith(("./", "../", "/")):
            name = re.sub(_BUILT, "", word.rstrip("/").rpartition("/")[2]).partition("[")[0]
            library = library_of(name)
            if library:  # a folder of the program's own machine, or what was built there
                yield Requirement(library, UNREAD)
            continue
        # Several words in one pair of quotes: os.system("pip install a==1 b") is cut where its quote begins.
        found = requirement(word.rstrip(",")) if not word.startswith("-") else None
        if found is not None:
            yield found
