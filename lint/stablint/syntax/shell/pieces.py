"""The parts of a shell word: quotes, escapes, variables, substitutions. Nothing is ever run.

What is not closed raises `Unclosed`, which ends the reading of the text, so that no text is gone through twice.
"""

from __future__ import annotations

import re

from stablint.syntax.shell.tokens import Piece

_JOINED = re.compile(r"\\\r?\n")
_IN_QUOTES = re.compile(r"[^\"\\$`]+")
_IN_BODY = re.compile(r"[^\\$`]+")
_IN_DEFAULT = re.compile(r"[^\"'\\$`{}]+")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_BRACED = re.compile(r"\$\{([A-Za-z_]\w*|[0-9]+)(\[[@*]\])?(?:(\})|(:?[-=]))", re.ASCII)
_REQUIRED = re.compile(r"\$\{([A-Za-z_]\w*|[0-9]+):?\?", re.ASCII)
_CUT = re.compile(r"\$\{([0-9]|OPTARG)[#%:,^/]", re.ASCII)
# Paths are looked up beside the script and above: what begins in its own folder, or where it is started, is relative.
_HERE = re.compile(r"\$\(\s*(?:pwd|(?:cd\s+(?:--\s+)?)?\"?\$\(\s*dirname\s|dirname\s+\"?\$)|\$PWD\b|\$\{PWD\}")
_SPECIAL = re.compile(r"\$[0-9#?$!-]")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_NESTING = re.compile(r"\\.|\$\{|\$\(|[\"'`()}]|(?<![^\s;(])#[^\n]*|<<<|<<-?[ \t]*(?:'\w+'|\"\w+\"|\w+)", re.DOTALL)
_WHICH = re.compile(r"\$\([ \t]{0,9}(?:which|command[ \t]{1,9}-v)[ \t]{1,9}([\w.-]{1,60})[ \t]{0,9}\)")
_CAT = re.compile(r"\$\(\s*cat[ \t]*<<(-?)[ \t]*(['\"]?)(\w+)\2[ \t]*\r?\n")
_EXPR = re.compile(r"\s*expr\s+((?:[\w$+*/%{}-]|\\\*)(?:[\w$+*/%{}-]|\\\*|\s)*)\Z", re.ASCII)
GIVEN = " is given by the caller"
_DEEPEST_DEFAULT = 5
_LONGEST_ARITHMETIC = 200
_MOST_PARTS = 500


class Unclosed(Exception):
    """A quote or bracket without its end; `start` is where it was opened."""

    def __init__(self, what: str, start: int) -> None:
        super().__init__(what)
        self.what, self.start = what, start


class Pieces:
    """Reads pieces out of a text."""

    def __init__(self, source: str) -> None:
        self.source = source

    def single(self, at: int) -> tuple[Piece, int]:
        end = self.source.find("'", at + 1)
        if end < 0:
            raise Unclosed("a quote", at)
        return Piece("text", self.source[at + 1 : end], at + 1, end, True), end + 1

    def escaped(self, at: int) -> tuple[Piece, int]:
        """`$'…'`, with the escapes of C."""
        end = at + 2
        while not self.source.startswith("'", end):
            if end >= len(self.source):
                raise Unclosed("a quote", at)
            end += 2 if self.source[end] == "\\" else 1
        text = _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), self.source[at + 2 : end])
        return Piece("text", text, at, end + 1, True, False), end + 1

    def double(self, at: int, depth: int = 0) -> tuple[list[Piece], int]:
        source, opened, pieces = self.source, at, []
        at += 1
        while not source.startswith('"', at):
            if at >= len(source):
                raise Unclosed("a quote", opened)
            piece, at = self._quoted(at, _IN_QUOTES, '"', depth)
            pieces.append(piece)
        return pieces or [Piece("text", "", at, at, True)], at + 1

    def body(self, start: int, end: int) -> list[Piece]:
        """The pieces of a here-document whose delimiter has no quotes."""
        inner, at, pieces = Pieces(self.source[:end]), start, []
        while at < end:
            try:
                piece, at = inner._quoted(at, _IN_BODY, "")
            except Unclosed:
                piece, at = Piece("opaque", "a bracket in it is not closed", at, end, True), end
            pieces.append(piece)
        return pieces

    def _quoted(self, at: int, plain_text: re.Pattern[str], quote: str, depth: int = 0) -> tuple[Piece, int]:
        """One piece of what stands in double quotes."""
        source = self.source
        if plain := plain_text.match(source, at):
            return Piece("text", plain.group(), at, plain.end(), True), plain.end()
        if joined := _JOINED.match(source, at):
            return Piece("text", "", at, joined.end(), True, False), joined.end()
        if source[at] == "\\":
            follows = source[at + 1 : at + 2]
            text = follows if follows and follows in quote + "\\$`" else source[at : at + 2]
            return Piece("text", text, at, at + 2, True, False), at + 2
        if source[at] not in "$`":
            return Piece("text", source[at], at, at + 1, True), at + 1
        return self.expansion(at, True, depth)

    def expansion(self, at: int, quoted: bool, depth: int = 0) -> tuple[Piece, int]:
        source = self.source
        if source.startswith("$((", at):
            return self._computed(at, quoted)
        if source.startswith("$(", at) and (cat := _CAT.match(source, at)):
            return self._document(cat, quoted)
        if which := _WHICH.match(source, at):  # where a program lies says which it is
            return Piece("text", which[1], at, which.end(), quoted, False), which.end()
        if here := _HERE.match(source, at):
            end = self.closing(at + 2, ")", at, quoted) if source[at + 1] == "(" else here.end()
            return Piece("text", ".", at, end, quoted, False), end
        if source.startswith(("$(", "<(", ">("), at):
            piece, end = self._opaque(at, at + 2, ")", "the output of a command", quoted)
            return self._expr(piece, at + 2, end - 1), end
        if source[at] == "`":
            piece, end = self._opaque(at, at + 1, "`", "the output of a command", quoted)
            return self._expr(piece, at + 1, end - 1), end
        if braced := _BRACED.match(source, at):
            return self._braced(braced, quoted, depth)
        if required := _REQUIRED.match(source, at):
            end = self.closing(required.end(), "}", at, quoted)
            return Piece("variable", required[1], at, end, quoted), end
        if cut := _CUT.match(source, at):
            return self._opaque(at, at + 2, "}", f"`${cut[1]}`{GIVEN}", quoted)
        if source.startswith("${", at):
            return self._opaque(at, at + 2, "}", "computed when the script runs", quoted)
        if source.startswith(("$@", "$*"), at):
            return Piece("arguments", source[at : at + 2], at, at + 2, quoted), at + 2
        if name := _NAME.match(source, at + 1):
            return Piece("variable", name.group(), at, name.end(), quoted), name.end()
        if special := _SPECIAL.match(source, at):
            return Piece("variable", special.group()[1:], at, special.end(), quoted), special.end()
        return Piece("text", "$", at, at + 1, quoted), at + 1

    def _computed(self, at: int, quoted: bool) -> tuple[Piece, int]:
        """`$((…))`; what is longer than people compute in scripts stays unknown."""
        piece, end = self._opaque(at, at + 2, ")", "computed when the script runs", quoted)
        inner = self.source[at + 3 : end - 2]
        if not self.source.startswith("))", end - 2) or len(inner) > _LONGEST_ARITHMETIC:
            return piece, end
        return Piece("arithmetic", inner, at, end, quoted), end

    def _expr(self, piece: Piece, start: int, end: int) -> Piece:
        """`$(expr 16 / $N)` is arithmetic."""
        found = _EXPR.match(self.source[start:end]) if end - start <= _LONGEST_ARITHMETIC else None
        return piece._replace(kind="arithmetic", text=found[1].replace("\\*", "*")) if found else piece

    def _document(self, cat: re.Match[str], quoted: bool) -> tuple[Piece, int]:
        """`$(cat <<EOF … EOF)` is the text of the here-document."""
        end = self.closing(cat.start() + 2, ")", cat.start(), quoted)
        start, stop, behind = cat.end(), *self.lines_until(cat[3], cat.end(), bool(cat[1]))
        if self.source[behind : end - 1].strip() or stop > end:
            return Piece("opaque", "the output of a command", cat.start(), end, quoted), end
        text = Piece("text", self.source[start:stop].rstrip("\n"), start, stop, True)
        parts = (text,) if cat[2] else tuple(self.body(start, start + len(text.text)))
        if len(parts) > _MOST_PARTS:
            return Piece("opaque", "too long to follow", cat.start(), end, quoted), end
        return Piece("parts", "", cat.start(), end, quoted, parts=parts), end

    def lines_until(self, delimiter: str, at: int, tabs: bool) -> tuple[int, int]:
        """Where the line of a here-document's delimiter begins and ends; without it, the end of the text, as bash reads it."""
        while at < len(self.source):
            end = self.source.find("\n", at) + 1 or len(self.source)
            line = self.source[at:end].rstrip("\r\n")
            if (line.lstrip("\t") if tabs else line) == delimiter:
                return at, end
            at = end
        return len(self.source), len(self.source)

    def _braced(self, braced: re.Match[str], quoted: bool, depth: int) -> tuple[Piece, int]:
        name, items, closed, operator = braced.groups()
        start, at = braced.start(), braced.end()
        kind = "array" if items else "variable"
        if closed:
            return Piece(kind, name, start, at, quoted), at
        parts: list[Piece] = []
        end = at
        while depth < _DEEPEST_DEFAULT and not self.source.startswith("}", end):
            if end >= len(self.source):
                raise Unclosed("a bracket", start)
            character = self.source[end]
            if character == "'" and not quoted:
                piece, end = self.single(end)
                parts.append(piece)
            elif character == '"':
                more, end = self.double(end, depth + 1)
                parts += more
            elif character == "{":
                break
            else:
                piece, end = self._quoted(end, _IN_DEFAULT, '"}', depth + 1)
                parts.append(piece._replace(quoted=False) if piece.kind == "text" else piece)
        if depth >= _DEEPEST_DEFAULT or not self.source.startswith("}", end):
            return self._opaque(start, at, "}", "computed when the script runs", quoted)
        default = parts[0] if len(parts) == 1 else Piece("parts", "", at, end, quoted, parts=tuple(parts))
        return Piece(kind, name, start, end + 1, quoted, default=default, assigns="=" in operator), end + 1

    def _opaque(self, start: int, inside: int, closer: str, why: str, quoted: bool) -> tuple[Piece, int]:
        end = self.closing(inside, closer, start, quoted)
        return Piece("opaque", why, start, end, quoted), end

    def closing(self, at: int, closer: str, opened: int, quoted: bool = False) -> int:
        """Behind the `closer` of what was opened at `opened`, with all that is quoted or bracketed in between."""
        source, expected, quotes = self.source, [closer], int(quoted)
        here: list[tuple[str, bool]] = []
        arithmetic = source.startswith("((", at - 1)
        while expected:
            found = _NESTING.search(source, at)
            if not found:
                raise Unclosed("a backquote" if closer == "`" else "a bracket", opened)
            if here and (line_end := source.find("\n", at, found.start() + 1)) >= 0:
                at = line_end + 1
                for delimiter, tabs in here:
                    _, at = self.lines_until(delimiter, at, tabs)
                here.clear()
                continue
            token, at, top = found.group(), found.end(), expected[-1]
            if token == top:
                expected.pop()
                quotes -= token == '"'
            elif token[0] == "#" and top != ")":
                at = found.start() + 1
            elif token[0] == "<":
                if top == ")" and not arithmetic and token != "<<<":
                    here.append((token.lstrip("<-").strip(" \t'\""), token.startswith("<<-")))
            elif top == "`" or token[0] in "\\#":
                continue
            elif token in ('"', "`"):
                expected.append(token)
                quotes += token == '"'
            elif token in ("$(", "${"):
                expected.append(")" if token == "$(" else "}")
            elif token == "'" and (top == ")" or not quotes):
                at = source.find("'", at) + 1
                if not at:
                    raise Unclosed("a quote", found.start())
            elif top == ")" and token == "(":
                expected.append(")")
        return at
