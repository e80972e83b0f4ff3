"""Configurations that a script writes itself: `cat <<EOF > ds_config.json`, `tee`, `echo '{…}' > file`; and `read -r -d '' NAME <<EOF`."""

from __future__ import annotations

from collections.abc import Iterator

from stablint.syntax import limits
from stablint.syntax.shell.blocks import Simple
from stablint.syntax.shell.embedded import Inner
from stablint.syntax.shell.pieces import Pieces
from stablint.syntax.shell.state import State
from stablint.syntax.shell.tokens import Body, Redirection, Word
from stablint.syntax.shell.values import Chunk, Definition, Field, Held, scalar
from stablint.syntax.tree import Text

_READ_FORMATS = {"json": "json", "yaml": "yaml", "yml": "yaml", "conf": "json", "py": "python"}
_OTHER = ("sh", "txt", "md", "toml", "csv", "jsonl", "log", "cfg", "ini", "env")
_WRITES = frozenset({">", ">|", ">>"})


class Writer:
    """Collects what the commands of a script write."""

    def __init__(self, text: Text, state: State) -> None:
        self.text, self.state = text, state
        self.written: list[tuple[Inner, str]] = []  # with the format
        self.parts: set[str] = set()  # names of files that several commands write, each a part
        self.guessed: set[int] = set()  # ids of texts whose format the name does not say
        self.seen: set[tuple[int, str]] = set()

    def look(self, fields: list[Field], item: Simple, bodies: dict[int, Body]) -> None:
        if not item.redirections or not fields:
            return
        program = scalar(fields[0]).value
        target = self._target(program, fields, item.redirections)
        chunks = self._content(program, fields, item.redirections, bodies)
        if target is None or chunks is None:
            return
        path = scalar(target).value
        name = path if isinstance(path, str) else self.text.text[target.start : target.end].strip("\"'")
        tabs = any(body.tabs for body in _bodies(item.redirections, bodies))
        content = Inner(chunks, tabs, name.removeprefix("./"))
        source = content.view.source
        format = _format(name, source)
        key = (chunks[0].start if chunks else 0, source)
        if format is None or not source.strip() or key in self.seen:
            return
        over = limits.WRITTEN_LONG if len(source) > limits.WRITTEN_LONG.most else None
        over = limits.WRITTEN if len(self.written) >= limits.WRITTEN.most else over
        if over is not None:
            self.state.spent.reached(over, fields[0].start, fields[0].end)
            return
        self.seen.add(key)
        if any(redirection.text == ">>" for redirection in item.redirections) or _appends(program, fields):
            self.parts.add(content.view.name)
        if _suffix(name) not in _READ_FORMATS:
            self.guessed.add(id(content))
        self.written.append((content, format))

    def is_certain(self, content: Inner) -> bool:
        """Whether the text is a whole file, and of the format that it is read as."""
        return content.view.name not in self.parts and id(content) not in self.guessed

    def read_into(self, words: tuple[Word, ...], item: Simple, bodies: dict[int, Body]) -> Iterator[tuple[str, Held]]:
        """`read -r -d '' NAME <<EOF`: all of the here-document, without blanks around it."""
        if words[0].plain() != "read" or not item.redirections:
            return
        names = [word.plain() for word in words[1:] if word.plain().isidentifier()]
        whole = any(word.plain() in ("-d", "-rd", "-r -d") for word in words[1:])
        found = _bodies(item.redirections, bodies)
        if whole and len(names) == 1 and len(found) == 1:
            chunks = tuple(self._chunks(found[0]))
            yield names[0], Definition(chunks, found[0].start, found[0].end, False)

    def handed(self, item: Simple, bodies: dict[int, Body]) -> Inner | None:
        """The here-document that a command reads."""
        found = _bodies(item.redirections, bodies)
        content = Inner(self._chunks(found[-1]), found[-1].tabs) if found else None
        return content if content is not None and content.view.source.strip() else None

    def _target(self, program: object, fields: list[Field], redirections: tuple[Redirection, ...]) -> Field | None:
        """The file that is written."""
        for redirection in redirections:
            if redirection.text in _WRITES:
                return next(self.state.fields(redirection.word), None)
        if program == "tee":
            return next((field for field in fields[1:] if not _starts_with_dash(field)), None)
        return None

    def _content(
        self, program: object, fields: list[Field], redirections: tuple[Redirection, ...], bodies: dict[int, Body]
    ) -> list[Chunk] | None:
        found = _bodies(redirections, bodies)
        if program in ("cat", "tee") and found:
            return list(self._chunks(found[-1]))
        if program in ("echo", "printf") and not found:
            inner = [field for field in fields[1:] if not _starts_with_dash(field)]
            return list(inner[-1].chunks) if len(inner) == 1 else None
        return None

    def _chunks(self, body: Body) -> Iterator[Chunk]:
        source = self.text.text
        if not body.expands:
            yield Chunk(source[body.start : body.end], body.start, body.end, "plain")
            return
        for piece in Pieces(source).body(body.start, body.end):
            for chunk in self.state._chunks(piece, whole=False):
                # the place is where the variable is put in, not where it is set
                inside = piece.kind != "text"
                yield chunk._replace(start=piece.start, end=piece.end, exact=False) if inside else chunk


def _bodies(redirections: tuple[Redirection, ...], bodies: dict[int, Body]) -> list[Body]:
    return [bodies[one.start] for one in redirections if one.text in ("<<", "<<-") and one.start in bodies]


def _starts_with_dash(field: Field) -> bool:
    value = field.chunks[0].value if field.chunks else ""
    return isinstance(value, str) and value.startswith("-")


def _appends(program: object, fields: list[Field]) -> bool:
    return program == "tee" and any(scalar(field).value in ("-a", "--append") for field in fields[1:])


def _suffix(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""


def _format(path: str, content: str) -> str | None:
    """By the name, else by what is written: `$(mktemp)` has no suffix."""
    suffix = _suffix(path)
    if suffix in _READ_FORMATS:
        return _READ_FORMATS[suffix]
    if suffix in _OTHER:
        return None
    return "json" if content.lstrip().startswith("{") else "yaml" if ":" in content and "$" in path else None
