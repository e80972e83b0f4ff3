"""What a program takes from an object of settings that is made elsewhere: Hydra's main file with its groups, and `get_config()` of ml_collections.

Of a command that says otherwise nothing is known here. Asked only where a file is shown.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Container, Iterator

from stablint.assemble.files import Files
from stablint.repository.programs import programs_of
from stablint.repository.readers import placed
from stablint.repository.referrers import content
from stablint.syntax.python.parse import tree_of
from stablint.syntax.python.scope import dotted
from stablint.syntax.tree import Document, Mapping, Node, Scalar, Sequence, Unknown

_HYDRA = re.compile(r"@hydra\.main\s*\(([^()]{0,400})\)")
_PATH = re.compile(r"""\bconfig_path\s*=\s*f?["']([\w./-]+)["']""")
_NAME = re.compile(r"""\bconfig_name\s*=\s*f?["']([\w./-]+)["']""")
_ABOVE_ALL = re.compile(r"^#\s*@package\s+_global_", re.MULTILINE)
_TAKEN = re.compile(r"\$\{([\w.]+)\}\Z")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?[eE][-+]?\d+\Z")
_FILE = re.compile(r"""DEFINE_config_file\([^()]*?["']([\w./-]+\.py)(?::\w*)?["']""")
_MOST = 30  # files of one composition
_FAR = 3  # names before the first section: `self.cfg`, `FLAGS.config`
# Names of what holds a program's settings.
_SETTINGS = re.compile(r"conf|cfg|setting|param|FLAGS|args|opt|hp\b|\bc\b|self", re.IGNORECASE)
_WORDS = re.compile(r"^_+|(?:_?(?:cfg|config|conf|args|settings|params)){1,4}\Z", re.IGNORECASE)
_STEPS = re.compile(r"""\.(\w+)|\[["'](\w+)["']\]""")


class Objects:
    """The settings of each program, by their dotted names."""

    def __init__(self, files: Files, asked: Container[str], starter: Callable[[str], str | None]) -> None:
        """`asked`: the files that are shown, which come in the place of others of their group; `starter`: the program that a module is part of."""
        self._files, self._asked, self._starter = files, asked, starter
        self._known: dict[str, dict[str, object]] = {}

    def of(self, document: Document) -> dict[str, object]:
        """The settings that this program, or the one that imports it, gets."""
        path, text = document.text.path, document.text.text
        if document.view is not None or not path.endswith(".py") or not (_speaks(text) or _LOADED.search(text)):
            return {}
        if path not in self._known:
            self._known[path] = {}  # a program that asks for itself
            self._known[path] = self._made_for(path, text)
        return self._known[path]

    def _made_for(self, path: str, text: str) -> dict[str, object]:
        if not _makes(text) and (files := self.loaded(path, text)):
            found: dict[str, object] = {}
            for name, one in files.items():
                self._load(os.path.dirname(one), os.path.basename(one), _WORDS.sub("", name), found, {}, [1])
            return {key: _number(value) for key, value in found.items()}
        program = path if _makes(text) else self._starter(path)
        said = content(program, self._files).decode("utf-8", "replace") if program is not None else ""
        if program is None or not _makes(said):
            return {}
        if (main := main_file(program, said)) is not None:
            return self._composed(*main)
        return self._of_function(program, said)

    def _composed(self, folder: str, name: str) -> dict[str, object]:
        """What Hydra makes of a file and the groups that it names; an asked file of the folder is the one that is meant."""
        found: dict[str, object] = {}
        others = {one: group for one in self._asked_below(folder) if (group := os.path.dirname(one))}
        main = next((one for one in self._asked_below(folder) if not os.path.dirname(one)), f"{name}.yaml")
        self._load(folder, main, "", found, others, [_MOST])
        for one, group in others.items():
            self._load(folder, one, group.replace(os.sep, "."), found, {}, [_MOST])
        for key, value in [*found.items()]:
            taken = _TAKEN.match(value) if isinstance(value, str) else None
            if taken is not None and taken[1] in found:
                found[key] = found[taken[1]]
        return {
            key: _number(value)
            for key, value in found.items()
            if not (isinstance(value, str) and ("${" in value or value == "???"))
        }

    def loaded(self, program: str, text: str) -> dict[str, str]:
        """The files that a program loads by the names that stand in it, by what they are assigned to: `dpo_cfg = load_yaml("configs/dpo.yaml")`."""
        root = self._files.root(program)
        said = ((name or within, path or opened) for name, path, opened, within in _LOADED.findall(text))
        found = {name: placed(path, program, root) for name, path in said}
        return {name: path for name, path in found.items() if path is not None and os.path.isfile(path)}

    def _asked_below(self, folder: str) -> list[str]:
        start = os.path.join(folder, "")
        return [
            one[len(start) :]
            for one in self._files.entries(self._files.root(folder))
            if one in self._asked and one.startswith(start) and one.endswith((".yaml", ".yml"))
        ]

    def _load(
        self, folder: str, name: str, package: str, found: dict[str, object], others: dict[str, str], left: list[int]
    ) -> None:
        path = os.path.normpath(os.path.join(folder, name))
        document = next(iter(self._files.documents(path)), None) if os.path.isfile(path) else None
        if document is None or not isinstance(document.root, Mapping) or left[0] <= 0:
            return
        left[0] -= 1
        if _ABOVE_ALL.search(document.text.text[:300]):
            package = ""
        listed = document.root.get("defaults")
        own_at_last = True
        for item in listed.items if isinstance(listed, Sequence) else ():
            if isinstance(item, Scalar) and item.value == "_self_":
                _spread(document.root, package, found)
                own_at_last = False
                continue
            group, chosen = _group(item)
            if chosen is None or group in others.values():
                continue
            inner = os.path.join(os.path.dirname(name), group) if not group.startswith("/") else group[1:]
            wanted = f"{chosen.removesuffix('.yaml')}.yaml"
            within = ".".join(filter(None, [package, group.strip("/").replace("/", ".")]))
            self._load(folder, os.path.join(inner, wanted), within, found, others, left)
        if own_at_last:
            _spread(document.root, package, found)

    def _of_function(self, program: str, text: str) -> dict[str, object]:
        """What `get_config()` of the file returns that the program has for a default, or the only one beside it."""
        named, folder = _FILE.search(text), os.path.dirname(program)
        root = self._files.root(program)
        if named is not None:
            tries = (os.path.normpath(os.path.join(one, named[1])) for one in (folder, root))
            paths = [one for one in tries if os.path.isfile(one)][:1]
        else:
            paths = [
                one for one in self.configurations(root) if os.path.dirname(one) in (folder, f"{folder}{os.sep}configs")
            ]
        asked = [one for one in self.configurations(root) if one in self._asked]
        paths = asked if len(asked) == 1 else paths
        return settings_of(content(paths[0], self._files).decode("utf-8", "replace")) if len(paths) == 1 else {}

    def configurations(self, root: str) -> list[str]:
        """The files of a repository that make such an object."""
        return [
            one
            for one in (programs_of(root, self._files) if os.path.isdir(root) else ())
            if one.endswith(".py") and _IS_CONFIGURATION.search(content(one, self._files))
        ]

    def readers(self, path: str) -> list[str]:
        """The programs that get what this file says: Hydra's group, or a function of ml_collections."""
        root = self._files.root(path)
        found: list[str] = []
        here = path.endswith(".py") and _IS_CONFIGURATION.search(content(path, self._files)) is not None
        for program in programs_of(root, self._files) if os.path.isdir(root) else ():
            raw = content(program, self._files) if program.endswith(".py") and program != path else b""
            text = raw.decode("utf-8", "replace") if raw else ""
            if os.path.basename(path) in text and path in self.loaded(program, text).values():
                found.append(program)
            if b"hydra.main" not in raw and b"DEFINE_config_file" not in raw:
                continue
            main = main_file(program, text)
            folders = (os.path.dirname(program), os.path.join(root, "configs"))
            composed = (
                main is not None and path.endswith((".yaml", ".yml")) and path.startswith(os.path.join(main[0], ""))
            )
            if composed or (here and "DEFINE_config_file" in text and os.path.dirname(path).startswith(folders)):
                found.append(program)
        return found


_IS_CONFIGURATION = re.compile(rb"\bdef get_config\b[\s\S]{0,400}?ConfigDict\(")


_LOADED = re.compile(
    r"""^[ \t]*(\w{1,60})[ \t]*=[ \t]*(?:\w{1,40}\.){0,3}\w{0,40}(?:load|read|open|parse)\w{0,40}\((?:open\()?[ \t]*["']([\w./-]{1,200}\.(?:ya?ml|json))["']"""
    r"""|^[ \t]*with[ \t]+open\([ \t]*["']([\w./-]{1,200}\.(?:ya?ml|json))["'][^\n]{0,60}\n[ \t]+(\w{1,60})[ \t]*=[ \t]*(?:\w+\.)?\w{0,9}load\w{0,20}\(""",
    re.MULTILINE,
)


def _number(value: object) -> object:
    return float(value) if isinstance(value, str) and _NUMBER.match(value) else value


def _speaks(text: str) -> bool:
    return re.search(r"hydra|DictConfig|OmegaConf|config_flags|\b(?:cfg|config|conf)\b[.\[]", text) is not None


def _makes(text: str) -> bool:
    return "hydra.main" in text or "DEFINE_config_file" in text


def main_file(program: str, text: str) -> tuple[str, str] | None:
    """The folder and the name that the decorator of a program gives Hydra."""
    said = _HYDRA.search(text)
    path, name = (_PATH.search(said[1]), _NAME.search(said[1])) if said is not None else (None, None)
    if path is None or name is None:
        return None
    whole = os.path.normpath(os.path.join(os.path.dirname(program), path[1], f"{name[1].removesuffix('.yaml')}.yaml"))
    folder = os.path.normpath(os.path.join(os.path.dirname(program), path[1]))
    return folder, whole[len(folder) + 1 :].removesuffix(".yaml")


def _group(item: Node) -> tuple[str, str | None]:
    """`- model: small`, `- model/small`"""
    if isinstance(item, Scalar) and isinstance(item.value, str):
        group, _, name = item.value.rpartition("/")
        return group, name
    if isinstance(item, Mapping) and len(item.entries) == 1 and isinstance(item.entries[0].value, Scalar):
        chosen = item.entries[0].value.value
        group = item.entries[0].key.removeprefix("override ").removeprefix("optional ").partition("@")[0].strip()
        return group, chosen if isinstance(chosen, str) and not group.strip("/").startswith("hydra") else None
    return "", None


def _spread(mapping: Mapping, package: str, found: dict[str, object]) -> None:
    for entry in mapping.entries:
        name = f"{package}.{entry.key}" if package else entry.key
        if isinstance(entry.value, Mapping):
            _spread(entry.value, name, found)
        elif isinstance(entry.value, Scalar) and not isinstance(entry.value.value, Unknown) and name != "defaults":
            found[name] = entry.value.value


def settings_of(text: str) -> dict[str, object]:
    """What the function puts into the object that it returns, where a literal says it."""
    tree = tree_of(text)
    found: dict[str, object] = {}
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == "get_config":
            for one in node.body:
                if not isinstance(one, ast.Assign) or len(one.targets) != 1:
                    continue
                names = dotted(one.targets[0]) if isinstance(one.targets[0], (ast.Name, ast.Attribute)) else None
                if names:
                    found.update(_said(".".join(names[1:]), one.value))
    return found


def _said(name: str, node: ast.expr) -> Iterator[tuple[str, object]]:
    if isinstance(node, ast.Call) and (dotted(node.func) or [""])[-1] in ("dict", "ConfigDict"):
        for argument in node.args[:1]:
            yield from _said(name, argument)
        for one in node.keywords:
            if one.arg:
                yield from _said(f"{name}.{one.arg}".lstrip("."), one.value)
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield from _said(f"{name}.{key.value}".lstrip("."), value)
    elif isinstance(node, ast.Constant) and name:
        yield name, node.value


_ABSENT = object()


def taken(spelled: str, settings: dict[str, object]) -> object:
    """What `cfg.train.lr`, `self.config["train"]["lr"]` or `train_cfg.lr` comes to; `missing(value)` where nothing says it."""
    head = re.match(r"\w+", spelled)
    if head is None or _SETTINGS.search(spelled) is None:
        return _ABSENT
    names = [head[0], *(one[0] or one[1] for one in _STEPS.findall(spelled[head.end() :]))]
    for first in range(1, min(_FAR, len(names))):
        if (name := ".".join(names[first:])) in settings:
            return settings[name]
        section = _WORDS.sub("", names[first - 1])
        if section and (name := ".".join([section, *names[first:]])) in settings:
            return settings[name]
    return _ABSENT


def missing(value: object) -> bool:
    return value is _ABSENT
