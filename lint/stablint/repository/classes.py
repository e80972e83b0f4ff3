"""Classes of a program that stand in other modules of its repository: whose library's trainer or arguments they are, and what they have for defaults.

`class OwnTrainer(RLOOTrainer)` in a file beside the program, `@dataclass class ModelArguments` in `arguments.py`: what the program makes of them is
read as if they stood in the program. Asked only where a file is shown.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator

from stablint.assemble.files import Files
from stablint.base.light import NamedTuple
from stablint.files import discover
from stablint.frameworks.fragment import NUMBERS, last_word, plain_value
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs.imported import relative
from stablint.repository.defaults import by_environment
from stablint.repository.indexed import at
from stablint.repository.objects import Objects, missing, taken
from stablint.repository.referrers import content
from stablint.repository.sources import Sources
from stablint.repository.worth import UNKNOWN, Program
from stablint.syntax.limits import MODULES
from stablint.syntax.python import reader as python_reader
from stablint.syntax.python.caller import as_default
from stablint.syntax.python.constants import COMPUTED, FROM_FLAGS
from stablint.syntax.python.library import LIBRARIES
from stablint.syntax.python.parse import parse, tree_of
from stablint.syntax.python.places import Places
from stablint.syntax.python.scope import dotted
from stablint.syntax.tree import (
    Call,
    Document,
    Entry,
    Mapping,
    Module,
    Node,
    Notes,
    Piece,
    Scalar,
    Sequence,
    Unknown,
    View,
)

# Names of what holds a program's settings.
_SETTINGS = re.compile(r"arg|pars|opt|conf|cfg|setting|param|hp\b", re.IGNORECASE)
_FAR = 4  # classes above a class, and modules that only import it from another
_CLASS = re.compile(r"\A\.*(?:[A-Za-z_]\w*\.)+[A-Z]\w*\Z|\A\.+[A-Z]\w*\Z")


class Own(NamedTuple):
    """`name`: the library's class that it extends, else its own; `fields` with what they are where a literal says it."""

    name: str
    fields: dict[str, object]
    methods: frozenset[str]
    takes: frozenset[str]  # by its constructor
    known: bool  # whether a library's class is extended


class _Source(NamedTuple):
    """`spread`: modules of which every name is imported."""

    path: str
    imports: dict[str, str]
    classes: dict[str, ast.ClassDef]
    spread: tuple[str, ...] = ()


class Classes:
    """What the modules of a repository define, each read once."""

    def __init__(self, files: Files, objects: Objects, sources: Sources) -> None:
        self._files, self._objects, self._modules_of = files, objects, sources
        self._sources: dict[str, _Source | None] = {}
        self._parsed: dict[str, tuple[Call, ...]] = {}

    def completed(self, document: Document) -> Document:
        """A program whose calls of such classes are calls of what these extend."""
        module = document.root
        if not isinstance(module, Module) or not module.calls:
            return document
        options = self._options(document)
        if document.view is None:
            options = {**_scalars(by_environment(document.text.text)), **options}
        own = _declared(module)
        declared = {**own, **options, **self._started_with(document.text.path)}
        worth = self._worth(document, document.text.text, declared)
        options = {**{name: made for name, one in own.items() if (made := worth.default(one)) is not one}, **options}
        if document.view is None and (decided := worth.decided()) is not None:
            document, module = document._replace(root=decided[1]), decided[1]
            worth = self._worth(document, decided[0], declared)
        known: dict[str, Own | None] = {}
        for call in module.calls:
            if call.name not in known and _CLASS.match(call.name) and not call.local:
                known[call.name] = self.of(call.name, document.text.path)
        found = {name: own for name, own in known.items() if own is not None}
        settings = self._objects.of(document)
        handed = any(map(_is_handed, _leaves(module))) or any(map(_is_open, module.calls))
        if not found and not options and not settings and not handed:
            return document
        calls = _Again(found, options, document.text.text, worth, settings)
        again = tuple(one for call in module.calls if isinstance(one := calls.node(call), Call))
        return document._replace(root=module._replace(calls=again, notes=Notes()))

    def _worth(self, document: Document, text: str, options: dict[str, Node]) -> _Worth:
        path, view = document.text.path, document.view
        if view is not None:
            self._modules_of.cells[path] = view.source
        made_of, _ = self._modules_of.closure(path)
        others = [one.text for one in made_of if one.path != path]
        return _Worth(
            view.source if view is not None else text, others, options, view, self._modules_of.settings_of(path)
        )

    def _options(self, document: Document) -> dict[str, Node]:
        """What modules that the program imports declare as options or settings, by name, where they agree: `from args import args`,
        `from config import Config`."""
        here = self._source(document.text.path) if document.text.path.endswith(".py") else None
        found: dict[str, list[Node]] = {}
        read = 0
        for name, full in here.imports.items() if here is not None else ():
            of_class = name[:1].isupper()
            if (
                here is not None
                and read < MODULES.most
                and (of_class or _SETTINGS.search(name))
                and (path := self.module(full, here.path))
            ):
                read += 1
                for call in self._declared(path):
                    if (
                        (call.target == last_word(full))
                        if of_class
                        else (call.name == "argparse.options" or name.islower())
                    ):
                        for entry in call.arguments.entries:
                            found.setdefault(entry.key, []).append(entry.value)
        return {name: several[0] for name, several in found.items() if all(_alike(one, several[0]) for one in several)}

    def _started_with(self, path: str) -> dict[str, Node]:
        """The options of the program that a module is part of."""
        start = self._modules_of.starter(path)
        calls = self._declared(start) if start is not None and start != path else ()
        return {
            one.key: one.value for call in calls if call.name == "argparse.options" for one in call.arguments.entries
        }

    def _declared(self, path: str) -> tuple[Call, ...]:
        """The options and dataclasses of a module."""
        if path not in self._parsed:
            made = python_reader.module(content(path, self._files).decode("utf-8", "replace"))
            calls = made.calls if isinstance(made, Module) else ()
            self._parsed[path] = tuple(one for one in calls if one.name in ("argparse.options", "dataclass.options"))
        return self._parsed[path]

    def module(self, full: str, beside: str) -> str | None:
        """The file of the repository that a name is imported from."""
        up, parts = relative(full)
        if parts[0] in LIBRARIES:
            return None
        for names in (parts, parts[:-1]) if len(parts) > 1 or full.startswith(".") else (parts,):
            for folder in ("", "src/") if names else ():
                path = discover.locate(f"{up}{folder}{'/'.join(names)}.py", beside, self._files.reach(beside))
                if path is not None and path != beside and os.path.isfile(path):
                    return path
        return None

    def imported(self, program: str) -> list[tuple[str, str]]:
        """The modules of the repository that a program imports something from, each with a name that it imports, `*` for all."""
        here = self._source(program)
        names = [*here.imports.items(), *(("*", f"{one}.*") for one in here.spread)] if here is not None else []
        found = ((self.module(full, program) or self._in_package(full, program), name) for name, full in names)
        return [(path, name) for path, name in found if path is not None][: 4 * MODULES.most]

    def _in_package(self, full: str, beside: str) -> str | None:
        """The module that a name comes from which a package of the repository hands on."""
        *parts, word = full.lstrip(".").split(".")
        if not parts or parts[0] in LIBRARIES or full.startswith("."):
            return None
        for folder in ("", "src/"):
            path = discover.locate(f"{folder}{'/'.join(parts)}/__init__.py", beside, self._files.reach(beside))
            source = self._source(path) if path is not None and os.path.isfile(path) else None
            if source is not None and (elsewhere := source.imports.get(word)) is not None:
                return self.module(elsewhere, source.path)
        return None

    def of(self, name: str, beside: str, far: int = _FAR) -> Own | None:
        """The class of this dotted name, as a file imports it."""
        up, (*modules, word) = relative(name)
        folder = up + "/".join(modules)
        for wanted in (f"{folder}.py", f"{folder}/__init__.py") if modules else (f"{folder}__init__.py",):
            path = discover.locate(wanted, beside, self._files.reach(beside))
            source = self._source(path) if path is not None and path != beside else None
            if source is not None and (own := self._in(word, source, far)) is not None:
                return own
        return None

    def _in(self, word: str, source: _Source, far: int) -> Own | None:
        node = source.classes.get(word)
        if node is None:
            elsewhere = source.imports.get(word)
            return self.of(elsewhere, source.path, far - 1) if elsewhere is not None and far else None
        name, known = word, False
        fields: dict[str, object] = {}
        methods: set[str] = set()
        takes: set[str] = set()
        for base in node.bases:
            parts = dotted(base)
            if parts is None or parts == ["object"]:
                continue
            full = ".".join([source.imports.get(parts[0], parts[0]), *parts[1:]])
            if _is_library_s(full):
                name, known = full, True
                continue
            above = (
                self._in(parts[0], source, far - 1)
                if len(parts) == 1 and parts[0] in source.classes and parts[0] != word and far
                else self.of(full, source.path, far - 1)
                if far
                else None
            )
            if above is not None:
                name, known = (above.name, True) if above.known else (name, known)
                fields |= above.fields
                methods |= above.methods
                takes |= above.takes
        for one in node.body:
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                fields[one.target.id] = _literal(one.value)
            elif isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
                methods.add(one.name)
                if one.name == "__init__":
                    every = (*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs)
                    takes |= {argument.arg for argument in every[1:]} | ({"**"} if one.args.kwarg else set())
        return Own(name, fields, frozenset(methods), frozenset(takes), known)

    def _source(self, path: str) -> _Source | None:
        if path not in self._sources:
            self._sources[path] = _read(path, self._files)
        return self._sources[path]


def _read(path: str, files: Files) -> _Source | None:
    tree = tree_of(content(path, files).decode("utf-8", "replace"))
    if tree is None:
        return None
    imports: dict[str, str] = {}
    classes: dict[str, ast.ClassDef] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                head = "." * node.level + (f"{node.module}." if node.module else "")
                imports[alias.asname or alias.name] = head + alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                imports[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ClassDef):
            classes[node.name] = node
    spread = tuple(
        "." * node.level + (node.module or "")
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    )
    return _Source(path, imports, classes, spread)


_LIBRARIES = ("transformers.", "trl.", "unsloth.", *python_kinds.LIGHTNING, python_kinds.SENTENCES)


def _is_library_s(name: str) -> bool:
    word = last_word(name)
    if name.startswith("torch.optim."):
        return word == "Optimizer"
    return name.startswith(_LIBRARIES) and (word in python_kinds.ARGUMENTS or word in python_kinds.TRAINERS)


_BLANKS = re.compile(r"\s+")
_OF_OBJECT = re.compile(r"`([^`]+)` is set when the program runs\Z")
_FLAG = re.compile(rf"`\w+\.(\w+)` {FROM_FLAGS}\Z")


def _of_flags(unknown: Unknown) -> str:
    """The option of the program's own parser that it stands for."""
    found = _FLAG.match(unknown.reason)
    return found[1] if found is not None else ""


def _scalars(values: dict[str, object]) -> dict[str, Node]:
    return {name: Scalar(value, 0, 0, f"default:{name}", False) for name, value in values.items()}


_GIVEN = object()  # the caller must say it, or it is worked out


def _literal(value: ast.expr | None) -> object:
    if isinstance(value, ast.Call) and (dotted(value.func) or [""])[-1] in ("field", "Field"):
        value = next((one.value for one in value.keywords if one.arg == "default"), None)
    if isinstance(value, ast.Constant) and isinstance(value.value, (bool, int, float, str, type(None))):
        return value.value
    return _GIVEN


class _Again:
    """The same nodes with other calls in them, and with the defaults of options; a call that stands in several places is made once."""

    def __init__(
        self,
        found: dict[str, Own],
        options: dict[str, Node],
        text: str,
        worth: _Worth,
        settings: dict[str, object],
    ) -> None:
        self._found, self._settings = found, settings
        self._worth = worth
        self._options, self._text = options, text
        self._made: dict[int, tuple[Node, Node]] = {}

    def node(self, node: Node) -> Node:
        if isinstance(node, Scalar):
            return self._option(node) if isinstance(node.value, Unknown) else node
        if id(node) not in self._made:
            self._made[id(node)] = (node, self._again(node))
        return self._made[id(node)][1]

    def _again(self, node: Node) -> Node:
        if isinstance(node, Sequence):
            return node._replace(items=tuple(map(self.node, node.items)))
        if isinstance(node, Mapping):
            return self._mapping(node)
        if not isinstance(node, Call):
            return node
        receiver = self.node(node.receiver) if node.receiver is not None else None
        node = node._replace(
            arguments=self._mapping(node.arguments),
            positional=tuple(map(self.node, node.positional)),
            receiver=receiver,
        )
        own = self._found.get(node.name)
        if own is not None and not node.local:
            node = _of(node, own)
        if _is_open(node):
            node = self._worth.completed(node)
        if own is not None and not node.local:
            return node
        return self._asked_for(node) or _made_number(node) or node

    def _asked_for(self, call: Call) -> Scalar | None:
        """`cfg.train.get("batch_size", 2)` where the settings say it, or have none of that name."""
        asked = call.positional[0] if self._settings and call.name.endswith(".get") and call.positional else None
        if not isinstance(asked, Scalar) or not isinstance(asked.value, str):
            return None
        value = taken(f"{call.name.removesuffix('.get')}.{asked.value}", self._settings)
        if missing(value):
            return None
        return Scalar(value, call.start, call.end, f"default:{asked.value}", False)

    def _option(self, node: Scalar) -> Node:
        """What the option is that stands there: its default, or that it comes from the command line."""
        assert isinstance(node.value, Unknown)
        name = node.value.key or node.value.defined.rpartition(".")[2] or _of_flags(node.value)
        of_object = _OF_OBJECT.match(node.value.reason)
        is_whole = (
            self._settings
            and of_object is not None
            and _BLANKS.sub("", self._text[node.start : node.end]) == _BLANKS.sub("", of_object[1])
        )
        if of_object is not None and is_whole and not missing(value := taken(of_object[1], self._settings)):
            return node._replace(value=value, form=f"default:{name}")
        handed = self._worth.of(node) if _is_handed(node) else node
        declared = self._options.get(name)
        if (
            declared is None
            or not isinstance(handed.value, Unknown)
            or (of_object is not None and self._worth.is_changed(of_object[1]))
        ):
            return handed
        if isinstance(declared, Scalar) and isinstance(declared.value, Unknown):
            return node._replace(value=Unknown(f"`{self._text[node.start : node.end]}` {FROM_FLAGS}", key=name))
        if isinstance(declared, Scalar):
            return node._replace(value=declared.value, form=declared.form)
        return declared

    def _mapping(self, node: Mapping) -> Mapping:
        entries = tuple(entry._replace(value=self._worked_out(self.node(entry.value))) for entry in node.entries)
        return node._replace(entries=entries)

    def _worked_out(self, node: Node) -> Node:
        """`int(settings["steps"])`, `max(1, TOTAL // BATCH)`, where that comes to one value."""
        if not isinstance(node, Call) or node.local or not last_word(node.name)[:1].islower():
            return node
        found = self._worth.of(Scalar(Unknown(COMPUTED), node.start, node.end, "plain", False))
        return node if isinstance(found.value, Unknown) else found


def _leaves(module: Module) -> Iterator[Node]:
    return (entry.value for call in module.calls for entry in call.arguments.entries)


def _is_open(call: Call) -> bool:
    """Whether a class is given a dictionary that nobody has read."""
    return call.arguments.open and not call.parsed and last_word(call.name)[:1].isupper()


def _is_handed(node: Node) -> bool:
    """Whether it is worked out in the program, and no option of its command."""
    return isinstance(node, Scalar) and isinstance(node.value, Unknown) and not node.value.reason.endswith(FROM_FLAGS)


_CONSTANT = re.compile(r"\A[\w.]*\b[A-Z][A-Z0-9_]*\Z|environ|getenv|\.get\(")


def _declared(module: Module) -> dict[str, Node]:
    """The options of the program's own parser, or of the classes that it fills."""
    return {
        entry.key: entry.value
        for kind in ("dataclass.options", "argparse.options")
        for call in module.calls
        if call.name == kind
        for entry in call.arguments.entries
    }


class _Worth:
    """What parameters and attributes of the program's own objects come to."""

    def __init__(
        self, text: str, others: list[str], options: dict[str, Node], view: View | None, opened: Callable[[str], object]
    ) -> None:
        self._text, self._options = text, options
        self._pieces = view.pieces if view is not None else (Piece(0, len(text), 0, len(text)),)
        self._program = Program([text, *others], self._named, {}, opened)

    def _named(self, name: str) -> object:
        value = plain_value(self._options[name]) if name in self._options else UNKNOWN
        return UNKNOWN if isinstance(value, Unknown) else value

    def decided(self) -> tuple[str, Module] | None:
        """The program without the branches that are not taken, whoever starts it; None where that is not known of any."""
        places, written = Places(self._text), list(self._text)
        found: list[tuple[int, int, str]] = []
        dead: list[tuple[int, int]] = []
        for node, is_taken in self._program.decided():
            found.append((places.start(node.test), places.end(node.test), "1" if is_taken else "0"))
            left = node.orelse if is_taken else node.body
            if isinstance(left, list) and left:
                dead.append((places.start(left[0]), places.end(left[-1])))
        outermost = [one for one in dead if not any(o[0] <= one[0] < o[1] and o != one for o in dead)]
        found = [one for one in found if not any(start <= one[0] < end for start, end in outermost)]
        for start, end, word in (*found, *((start, end, "pass") for start, end in outermost)):
            kept = [one if one in "\r\n" else " " for one in self._text[start:end]]
            written[start:end] = [*word, *kept[len(word) :]] if end - start >= len(word) else self._text[start:end]
        text = "".join(written)
        made = python_reader.module(text) if found else None
        return (text, made) if isinstance(made, Module) else None

    def default(self, node: Node) -> Node:
        """Of an option: a constant of another module, be it that of a variable of the environment."""
        unknown = isinstance(node, Scalar) and isinstance(node.value, Unknown)
        spelled = self._text[self._within(node.start) : self._within(node.end)] if unknown else ""
        return self.of(node) if isinstance(node, Scalar) and _CONSTANT.search(spelled) else node

    def is_changed(self, spelled: str) -> bool:
        return self._program.is_changed(spelled)

    def of(self, node: Scalar) -> Scalar:
        """By its default where a caller may say it otherwise, and by the option that decides it."""
        begin, end = self._within(node.start), self._within(node.end)
        spelled = self._text[begin:end]
        tree = parse(spelled) if self._program.trees else None
        first = tree.body[0] if isinstance(tree, ast.Module) and len(tree.body) == 1 else None
        if not isinstance(first, ast.Expr):
            return node
        self._program.asked, self._program.branched = set(), False
        value = self._program.only(first.value, at(self._program.trees[0], self._text.count("\n", 0, begin) + 1))
        names = sorted(self._program.asked) + [COMPUTED] * self._program.branched
        if isinstance(value, (bool, int, float, str)):
            return node._replace(value=value, form="default:" + ",".join(names or [spelled.rpartition(".")[2]]))
        if len(names) == 1 and names[0] in self._options:
            return node._replace(value=Unknown(f"`{spelled}` {FROM_FLAGS}", key=names[0]))
        return node

    def completed(self, call: Call) -> Call:
        """With what stands in dictionaries that are spread in it."""
        begin = self._within(call.start)
        tree = parse(self._text[begin : self._within(call.end)]) if self._program.trees else None
        first = tree.body[0] if isinstance(tree, ast.Module) and len(tree.body) == 1 else None
        if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Call):
            return call
        where = at(self._program.trees[0], self._text.count("\n", 0, begin) + 1)
        said = {entry.key for entry in call.arguments.entries}
        more = tuple(
            Entry(
                key,
                call.name_start,
                call.name_end,
                Scalar(value, call.name_start, call.name_end, f"default:{key}", False),
            )
            for key, value in self._program.spread(first.value, where)
            if key not in said
        )
        return call._replace(arguments=call.arguments._replace(entries=(*more, *call.arguments.entries)))

    def _within(self, offset: int) -> int:
        """Where a place of the file stands in the program's text, that of a notebook's cells."""
        one = next((one for one in self._pieces if one.at <= offset <= one.till), None)
        return min(one.start + offset - one.at, one.end) if one is not None else 0


def _made_number(call: Call) -> Scalar | None:
    """`float(config.lr)` of a default."""
    given = call.positional[0] if call.name in NUMBERS and len(call.positional) == 1 else None
    if not isinstance(given, Scalar) or not given.form.startswith("default:") or isinstance(given.value, bool):
        return None
    if not isinstance(given.value, (int, float)):
        return None
    value = float(given.value) if call.name == "float" else int(given.value)
    return given._replace(value=value, start=call.start, end=call.end)


def _alike(one: Node, other: Node) -> bool:
    return repr(plain_value(one)) == repr(plain_value(other))


def _of(call: Call, own: Own) -> Call:
    said = {entry.key for entry in call.arguments.entries}
    at = call.name_start
    more: list[Entry] = []
    for name, value in own.fields.items():
        if name in said or call.arguments.open:
            continue
        known = Scalar(value if value is not _GIVEN else Unknown("it must be given"), at, call.name_end, "plain", False)
        entry = Entry(name, at, call.name_end, known)
        if call.parsed:
            more.append(as_default(entry))
        elif value is not _GIVEN:
            more.append(entry)
    arguments = call.arguments._replace(entries=(*more, *call.arguments.entries))
    full = own.name if own.known else call.name
    return call._replace(
        name=full,
        arguments=arguments,
        own=call.own | frozenset(own.fields) | (own.takes if own.known else frozenset()),
        local=own.known,
        methods=call.methods | own.methods,
    )
