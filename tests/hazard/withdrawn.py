"""Changes that take a claim's ground away, as withdrawn.yaml says them: an example's files → the files in which nothing is certain any more."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from stablint.compiling.reading import LOADER
from stablint.hazard.model import Hazard
from stablint.run.releases.allowed import known_keys, library_names
from stablint.run.releases.pep440 import matcher, text_of

LIBRARIES_STATED = ("transformers", "trl", "peft", "accelerate", "deepspeed")
TABLE: dict[str, Any] = yaml.load(Path(__file__).with_name("withdrawn.yaml").read_text(encoding="utf-8"), LOADER)
KEYED = (".yaml", ".yml", ".json")
LIBRARIES = frozenset(
    ["transformers", "trl", "peft", "accelerate", "unsloth", "bitsandbytes", "sentence_transformers", "deepspeed"]
)
ENDINGS = {"python": (".py",), "shell": (".sh",), "keyed": KEYED}
Files = dict[str, str]


def stated(hazard: Hazard, example: dict[str, Any]) -> dict[str, Any]:
    """An example's options with the newest releases of which the claim is made, where they name none: what is presumed makes no error."""
    given = dict(example.get("options") or {})
    said = list(given.get("with", []))
    named = {re.split(r"[<>=!~ ]", one)[0] for one in said}
    ranges = {
        **dict.fromkeys(LIBRARIES_STATED, ""),
        **dict.fromkeys([example.get("dialect", "")], ""),
        **hazard.versions,
    }
    for library, wanted in ranges.items():
        keys = known_keys(library) if library in library_names() else ()
        admitted = [key for key in keys if library not in named and (not wanted or matcher(wanted)(key))]
        said += [f"{library}=={text_of(admitted[-1])}"] if admitted else []
    return {**given, "with": said}


class Change(NamedTuple):
    of: str
    id: str
    said: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.of}-{self.id}"

    def made(self, files: Files, dialect: str) -> Files | None:
        """None where it cannot be said of these files."""
        own = [name for name in files if name.endswith(ENDINGS[self.of])]
        if not own or (self.said.get("only") and dialect not in self.said["only"]):
            return None
        if self.of == "keyed" and "with" in self.said:
            return self._joined(files, own, dialect)
        if self.of == "keyed" and len(files) != 1:
            return None
        if self.of == "shell" and any(not name.endswith(".sh") for name in files):
            return None  # the fault may stand in a file that lies there whatever the script does
        if "own" in self.said:
            return self._declared(files, own)
        changed = {name: self._text(files[name]) for name in own}
        kept = {name: text for name, text in changed.items() if text is not None}
        if not kept or kept == {name: files[name] for name in own}:
            return None
        return {**files, **kept}

    def _joined(self, files: Files, own: list[str], dialect: str) -> Files | None:
        if len(files) != 1:
            return None
        train = TABLE["train"].get(dialect)
        if self.said.get("native") and train is None:
            return None
        train = (train or "").replace("{file}", own[0])
        each = (
            "".join(_filled(self.said["each"], key, n) for n, key in enumerate(_keys(files[own[0]])))
            if "each" in self.said
            else ""
        )
        more = {
            name: text.replace("{file}", own[0]).replace("{train}", train).replace("{each}", each)
            for name, text in self.said["with"].items()
        }
        return {**files, **more, ".git/HEAD": ""}

    def _declared(self, files: Files, own: list[str]) -> Files | None:
        """The script's program beside it, which declares what it is given. A module that a launcher finds by its name is somebody else's."""
        for name in own:
            found = re.search(r"(?<=\s)(?P<program>[\w./-]+\.py)(?P<words>\s(?:[^\\\n]|\\[\s\S])*)", files[name])
            if found and not re.search(r"\s-m\s+(?!torch\.|accelerate\.|deepspeed)\S", files[name][: found.start()]):
                flags = dict.fromkeys(re.findall(r"(?<=\s)--[\w-]+", found["words"]))
                each = "".join(self.said["each"].replace("{key}", flag) for flag in flags)
                program = self.said["own"].replace("{each}", each)
                text = files[name].replace(found["program"], "own.py")
                return {**files, name: text, "own.py": program, ".git/HEAD": ""} if flags else None
        return None

    def _text(self, text: str) -> str | None:
        if "code" in self.said:
            return _around(self.said["code"], text, self.of == "python")
        if "holes" in self.said:
            return _with_holes(self.said, text, self.of)
        if "command" in self.said:
            return _commands(self.said["command"], text, self.said.get("again", ""))
        if "swap" in self.said:
            found = re.sub(*self.said["swap"], text)
            return None if found == text else found
        try:
            tree = ast.parse(text)
        except SyntaxError:
            return None
        if "rebind" in self.said:
            return _rebound(self.said["rebind"], text, tree)
        if "later" in self.said:
            return _later(self.said["later"], text, tree, tuple(self.said.get("of", [""])))
        if "given" in self.said:
            return _given(self.said["given"], tree)
        if "assigned" in self.said:
            return _assigned(self.said["assigned"], text, tree)
        return _unused(self.said["unused"], text, tree)


CHANGES = [Change(of, name, said) for of in ENDINGS for name, said in TABLE[of].items()]


def _around(template: str, text: str, python: bool) -> str | None:
    hole = next(line for line in template.splitlines() if "{code}" in line)
    indent = hole[: hole.index("{code}")]
    if indent and ('"""' in text or "'''" in text or "\\\n" in text or "import *" in text or "<<" in text):
        return None
    if python and "__future__" in text:
        return None
    if "<<" in text and "<<" in template:
        return None
    inner = "\n".join(indent + line if line.strip() else line for line in text.splitlines())
    return template.replace(hole, inner)


_COMMAND = re.compile(r"^(?![#\s])(?P<words>(?:[^\\\n]|\\[\s\S])+)$", re.M)


def _filled(template: str, key: str, number: int) -> str:
    return template.replace("{key}", key).replace("{number}", str(number))


def _keys(text: str) -> list[str]:
    """The settings of a file, nested ones with dots; lists are one."""
    found: list[str] = []

    def walk(value: Any, above: str) -> None:
        if isinstance(value, dict) and value:
            for key, inner in value.items():
                walk(inner, f"{above}.{key}" if above else str(key))
        elif above:
            found.append(above)

    walk(yaml.safe_load(text), "")
    return found


# A scalar behind its key, by language. Places that start a list or a mapping are no values.
_VALUES = {
    "keyed": re.compile(
        r"""(?P<key>["']?[\w.-]+["']?):(?P<gap>[ ]+)(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s\[\]{}&*|>#,"'][^\n#,\]}]*?)(?=[ ]*(?:[,\]}#\n]|$))"""
    ),
    "python": re.compile(
        r"""(?<=[(\s,])(?P<key>\w+)(?P<gap>=)(?P<value>"[^"\n]*"|-?\d[\w.+-]*|True|False|None)(?=[,)\s])"""
    ),
    "shell": re.compile(
        r"""(?<=[\s])(?P<key>--[\w.-]+|\+{0,2}[\w.]+)(?P<gap>[ =])(?P<value>"[^"\n]*"|'[^'\n]*'|[^\s"'$-][^\s"']*)(?=\s|$)"""
    ),
}


def _with_holes(said: dict[str, Any], text: str, language: str) -> str | None:
    """A hole in the place of each value but of the names of classes, methods and files, by which the whole is recognised."""
    count = iter(range(1_000_000))

    def hole(found: re.Match[str]) -> str:
        key = found["key"].strip("\"'-")
        if _NAMES.search(key) or (language == "shell" and found["gap"] == " " and not found["key"].startswith("--")):
            return found[0]
        written = _filled(said["holes"], key, next(count))
        if language == "keyed" and (text.lstrip().startswith("{") or written.startswith(("{{", "<"))):
            written = f'"{written}"'
        return found["key"] + (":" if language == "keyed" else "") + found["gap"] + written

    if language == "python" and ("__future__" in text or '"""' in text):
        return None
    made = _VALUES[language].sub(hole, text)
    return None if made == text else said.get("more", "") + made


_NAMES = re.compile(
    r"(?i)type$|^(?:stage|adapter|rl|name|class_path|_component_|base_model|model|path|config|m|config_file|train_type|tuner)$|_path$|_name$|file|dataset|template"
)


def _commands(template: str, text: str, again: str = "") -> str | None:
    """The last command of a script, which is the one that trains."""
    if "<<" in text or "|" in text or ";" in text:
        return None
    lines = [found for found in _COMMAND.finditer(text) if found["words"].strip()]
    if not lines or re.match(r"\w+=|export |set |fi\b|done\b", lines[-1]["words"]):
        return None
    last = lines[-1]
    words = last["words"].strip()
    if template.startswith(("#", "echo")) and re.match(r"(?:\w+=\S+ )+", words) and template.startswith("echo"):
        return None
    said = re.split(r"\s-m\s+(?!torch\.|accelerate\.|deepspeed)\S+\s", words, maxsplit=1)[
        -1
    ]  # a module that is no launcher
    said = re.split(r"\S+\.py\s|\s-m\s+\S+\s", words)[-1] if said == words else said
    names = re.findall(r"(?:^|\s)['\"]?(--[\w.-]+(?=[ =])|\+{0,2}[\w.]+=)", said)
    more = "".join(
        f" {name}{'' if name.endswith('=') else ' '}{_filled(again, name, number)}" for number, name in enumerate(names)
    )
    if again and not more:
        return None
    written = template.replace("{command}", words).replace("{again}", more)
    if template.startswith("#"):
        written = written.replace("\n", "\n# ")
    return text[: last.start()] + written + text[last.end() :]


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in LIBRARIES:
            yield from (alias.asname or alias.name for alias in node.names if alias.name[:1].isupper())


def _rebound(template: str, text: str, tree: ast.Module) -> str | None:
    names = list(_imported(tree))
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    if not names:
        return None
    lines = text.splitlines()
    end = imports[-1].end_lineno or 0
    more = "".join(template.replace("{name}", name) for name in names).splitlines()
    return "\n".join([*lines[:end], *more, *lines[end:]]) + "\n"


def _later(template: str, text: str, tree: ast.Module, endings: tuple[str, ...] = ("",)) -> str | None:
    """Behind every object that the program makes of a library's class and gives a name."""
    names, lines, found = set(_imported(tree)), text.splitlines(), False
    for node in reversed(tree.body):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Name)
            and node.value.func.id in names
            and node.value.func.id.endswith(endings)
            and not node.value.func.id.endswith("Trainer")
        ):
            end = node.end_lineno or 0
            lines[end:end] = template.replace("{target}", node.targets[0].id).splitlines()
            found = True
    return "\n".join(lines) + "\n" if found else None


def _given(template: str, tree: ast.Module) -> str | None:
    """Each configuration of a library's is handed to a function where it is made: `prepared(Config(…))`."""
    names = set(_imported(tree))
    made = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in names
        and node.func.id.endswith(("Config", "Arguments"))
    ]
    for node in made:
        inner = ast.Call(node.func, node.args, node.keywords)
        node.func, node.args, node.keywords = ast.Name("prepared"), [inner], []
    return template.replace("{code}", ast.unparse(ast.fix_missing_locations(tree))) if made else None


def _assigned(template: str, text: str, tree: ast.Module) -> str | None:
    """What each configuration of a library's is given by name is set behind its constructor instead; it keeps what it has to be given."""
    names, lines, found = set(_imported(tree)), text.splitlines(), False
    for node in reversed(tree.body):
        if not (
            isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call)
        ):
            continue
        call, target = node.value, node.targets[0].id
        if not (
            isinstance(call.func, ast.Name) and call.func.id in names and call.func.id.endswith(("Config", "Arguments"))
        ):
            continue
        moved = [one for one in call.keywords if one.arg not in (None, "output_dir", "task_type")]
        if not moved:
            continue
        kept = [*call.args, *(one for one in call.keywords if one not in moved)]
        made = ast.unparse(ast.Call(call.func, [*call.args], kept[len(call.args) :]))
        later = [
            template.replace("{target}", target)
            .replace("{key}", str(one.arg))
            .replace("{value}", ast.unparse(one.value))
            for one in moved
        ]
        lines[node.lineno - 1 : node.end_lineno] = [f"{target} = {made}", *later]
        found = True
    return "\n".join(lines) + "\n" if found else None


def _unused(template: str, text: str, tree: ast.Module) -> str | None:
    """A whole program with its main part, in which no `train()` stands."""
    trainer = None
    lines = text.splitlines()
    for node in reversed(tree.body):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            function = node.value.func
            if isinstance(function, ast.Attribute) and function.attr == "train":
                if isinstance(function.value, ast.Call):
                    called = ast.get_source_segment(text, function.value) or ""
                    lines[node.lineno - 1 : node.end_lineno] = f"own_trainer = {called}".splitlines()
                    trainer = "own_trainer"
                    continue
                del lines[node.lineno - 1 : node.end_lineno]
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and isinstance(node.targets[0], ast.Name)
            and (ast.unparse(node.value.func)).endswith("Trainer")
        ):
            trainer = node.targets[0].id
    if "{trainer}" in template:
        if trainer is None:
            return None
        template = template.replace("{trainer}", trainer)
    if "__main__" in text or re.search(r"\b(?:backward|step|fit)\(", "\n".join(lines)):
        return None  # a loop of its own trains
    return "\n".join(lines) + "\n" + template
