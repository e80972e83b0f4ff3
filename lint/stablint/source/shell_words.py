"""Shell text → words and operators. Comments, redirections and the bodies of here-documents are left out; nothing is ever run.

One pass over the text: what is not closed ends the reading, so that no text is gone through twice.
"""

from __future__ import annotations

import re

from stablint.source.shell_tokens import Array, Operator, Piece, Token, Word
from stablint.source.tree import Problem

_BLANK = re.compile(r"[ \t\f\v]+|\r(?!\n)")
_LINE_END = re.compile(r"\r?\n")
_JOINED = re.compile(r"\\\r?\n")
_BROKEN = re.compile(r"\\[ \t]+(?=\r?\n|\Z)")
_COMMENT = re.compile(r"#[^\n]*?(?=\r?\n|\Z)")
_OPERATOR = re.compile(r";;&|;;|;&|;|&&|&>>|&>|&|\|\||\|&|\||\(|\)")
_REDIRECTION = re.compile(r"<<<|<<-?|<>|<&|<(?!\()|>>|>&|>\||>(?!\()")
_PLAIN = re.compile(r"[^ \t\f\v\r\n\\'\"$`;&|<>()]+")
_SIMPLE = re.compile(r"[\w/.,:@%+=~-]+(?=[ \t\n])")
_IN_QUOTES = re.compile(r"[^\"\\$`]+")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_BRACED = re.compile(r"\$\{([A-Za-z_]\w*|[0-9]+)(\[[@*]\])?(?:(\})|(:?[-=]))", re.ASCII)
_DEFAULT = re.compile(r"\"([^\"\\$`]*)\"|'([^']*)'|([^\s\"'\\$`{}]*)")
_SPECIAL = re.compile(r"\$[0-9#?$!-]")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=\Z", re.ASCII)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_NESTING = re.compile(r"\\.|\$\{|\$\(|[\"'`()}]|(?<![^\s;(])#[^\n]*", re.DOTALL)
_DEEPEST_DEFAULT = 5


class Unclosed(Exception):
    """A quote or bracket without its end; `start` is where it was opened."""

    def __init__(self, what: str, start: int) -> None:
        super().__init__(what)
        self.what, self.start = what, start


class Lexer:
    """`tokens` and `problems` of a text. After something unclosed there are only the tokens of the commands before it."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self.tokens: list[Token] = []
        self.here_documents: list[tuple[str, bool]] = []
        try:
            self._read()
        except Unclosed as unclosed:
            self.problems.append(
                Problem("syntax-error", f"{unclosed.what} is not closed", unclosed.start, unclosed.start + 1)
            )
            while self.tokens and not (type(self.tokens[-1]) is Operator and self.tokens[-1].text in ("\n", ";")):
                self.tokens.pop()

    def _read(self) -> None:
        source, at, size = self.source, 0, len(self.source)
        target_due = False  # the next word is where a redirection goes
        while at < size:
            character = source[at]
            if character == " ":
                at += 1
            elif simple := _SIMPLE.match(source, at):  # nine words of ten
                if not target_due:
                    end = simple.end()
                    self.tokens.append(Word((Piece("text", simple.group(), at, end),), at, end))
                at, target_due = simple.end(), False
            elif character in "\t\f\v":
                at = self._end(_BLANK, at)
            elif character in "\n\r":
                line_end = _LINE_END.match(source, at)
                if line_end:
                    self.tokens.append(Operator("\n", at, line_end.end()))
                    at, target_due = self._behind_here_documents(line_end.end()), False
                else:
                    at += 1
            elif character == "#":
                at = self._end(_COMMENT, at)
            elif character == "\\" and (joined := _JOINED.match(source, at)):
                at = joined.end()
            elif character == "\\" and (broken := _BROKEN.match(source, at)):
                self._broken(at, broken.end())
                at = broken.end()
            elif character in ";&|()":
                if source.startswith("((", at):
                    at = self.closing(at + 1, ")", at)
                    continue
                end = self._end(_OPERATOR, at)
                if source.startswith("&>", at):
                    target_due = True
                else:
                    self.tokens.append(Operator(source[at:end], at, end))
                at = end
            elif character in "<>" and (redirection := _REDIRECTION.match(source, at)):
                at = redirection.end()
                if redirection.group() in ("<<", "<<-"):
                    at = self._here_document(at, redirection.group() == "<<-")
                else:
                    target_due = True
            else:
                token, at = self._word_or_array(at)
                number = source[at : at + 1] in ("<", ">") and isinstance(token, Word) and token.plain().isdigit()
                if not target_due and not number and token.start < token.end:
                    self.tokens.append(token)
                target_due = False

    def _broken(self, start: int, end: int) -> None:
        self.problems.append(
            Problem(
                "shell-broken-continuation", "blanks after the backslash: the command ends in this line", start, end
            )
        )

    def _word_or_array(self, at: int) -> tuple[Word | Array, int]:
        word, end = self.word(at)
        last = word.pieces[-1] if word.pieces else None
        if not last or not self.source.startswith("(", end):
            return word, end
        name = _ASSIGNED.match(last.text) if len(word.pieces) == 1 and last.kind == "text" and not last.quoted else None
        return self._array(name, at, end) if name else (word, end)

    def _array(self, name: re.Match[str], start: int, at: int) -> tuple[Array, int]:
        source, opened, words = self.source, at, []
        at += 1
        while not source.startswith(")", at):
            if at >= len(source):
                raise Unclosed("the bracket of an array", opened)
            if blank := _BLANK.match(source, at) or _JOINED.match(source, at) or _LINE_END.match(source, at):
                at = blank.end()
            elif source[at] == "#":
                at = self._end(_COMMENT, at)
            elif source[at] in ";&|(<>":
                at += 1  # bash refuses it; we read on
            else:
                word, at = self.word(at)
                words.append(word)
        return Array(name[1], bool(name[2]), tuple(words), start, at + 1), at + 1

    def word(self, at: int) -> tuple[Word, int]:
        """The word that begins at `at`, and where it ends."""
        source, start, size = self.source, at, len(self.source)
        pieces: list[Piece] = []
        while at < size:
            character = source[at]
            if character == "\\":
                if joined := _JOINED.match(source, at):
                    at = joined.end()
                elif broken := _BROKEN.match(source, at):
                    self._broken(at, broken.end())
                    return Word(tuple(pieces), start, at), broken.end()
                else:
                    pieces.append(Piece("text", source[at + 1 : at + 2], at, min(at + 2, size), exact=False))
                    at = min(at + 2, size)
            elif character == "'":
                piece, at = self._single(at)
                pieces.append(piece)
            elif character == '"' or source.startswith('$"', at):
                more, at = self._double(at if character == '"' else at + 1)
                pieces += more
            elif source.startswith("$'", at):
                piece, at = self._escaped(at)
                pieces.append(piece)
            elif character in "$`" or source.startswith(("<(", ">("), at):
                piece, at = self._expansion(at, False)
                pieces.append(piece)
            elif plain := _PLAIN.match(source, at):
                pieces.append(Piece("text", plain.group(), at, plain.end()))
                at = plain.end()
            else:
                break
        return Word(tuple(pieces), start, at), at

    def _single(self, at: int) -> tuple[Piece, int]:
        end = self.source.find("'", at + 1)
        if end < 0:
            raise Unclosed("a quote", at)
        return Piece("text", self.source[at + 1 : end], at + 1, end, True), end + 1

    def _escaped(self, at: int) -> tuple[Piece, int]:
        """`$'…'`, with the escapes of C."""
        end = at + 2
        while not self.source.startswith("'", end):
            if end >= len(self.source):
                raise Unclosed("a quote", at)
            end += 2 if self.source[end] == "\\" else 1
        text = _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), self.source[at + 2 : end])
        return Piece("text", text, at, end + 1, True, False), end + 1

    def _double(self, at: int) -> tuple[list[Piece], int]:
        source, opened, pieces = self.source, at, []
        at += 1
        while not source.startswith('"', at):
            if at >= len(source):
                raise Unclosed("a quote", opened)
            if plain := _IN_QUOTES.match(source, at):
                pieces.append(Piece("text", plain.group(), at, plain.end(), True))
                at = plain.end()
            elif joined := _JOINED.match(source, at):
                pieces.append(Piece("text", "", at, joined.end(), True, False))
                at = joined.end()
            elif source[at] == "\\":
                text = (
                    source[at + 1 : at + 2] if source[at + 1 : at + 2] in ('"', "\\", "$", "`") else source[at : at + 2]
                )
                pieces.append(Piece("text", text, at, at + 2, True, False))
                at += 2
            else:
                piece, at = self._expansion(at, True)
                pieces.append(piece)
        return pieces or [Piece("text", "", at, at, True)], at + 1

    def _expansion(self, at: int, quoted: bool, depth: int = 0) -> tuple[Piece, int]:
        source = self.source
        if source.startswith("$((", at):
            return self._opaque(at, at + 2, ")", "computed when the script runs", quoted)
        if source.startswith(("$(", "<(", ">("), at):
            return self._opaque(at, at + 2, ")", "the output of a command", quoted)
        if source[at] == "`":
            return self._opaque(at, at + 1, "`", "the output of a command", quoted)
        if braced := _BRACED.match(source, at):
            return self._braced(braced, quoted, depth)
        if source.startswith("${", at):
            return self._opaque(at, at + 2, "}", "computed when the script runs", quoted)
        if source.startswith(("$@", "$*"), at):
            return Piece("arguments", source[at : at + 2], at, at + 2, quoted), at + 2
        if name := _NAME.match(source, at + 1):
            return Piece("variable", name.group(), at, name.end(), quoted), name.end()
        if special := _SPECIAL.match(source, at):
            return Piece("variable", special.group()[1:], at, special.end(), quoted), special.end()
        return Piece("text", "$", at, at + 1, quoted), at + 1

    def _braced(self, braced: re.Match[str], quoted: bool, depth: int) -> tuple[Piece, int]:
        name, items, closed, _ = braced.groups()
        start, at = braced.start(), braced.end()
        kind = "array" if items else "variable"
        if closed:
            return Piece(kind, name, start, at, quoted), at
        default: Piece | None = None
        end = at
        if (found := _DEFAULT.match(self.source, at)) and self.source.startswith("}", found.end()):
            group = next(number for number in (1, 2, 3) if found[number] is not None)
            default, end = Piece("text", found[group], *found.span(group), group < 3), found.end()
        elif self.source.startswith("$", at) and depth < _DEEPEST_DEFAULT:
            default, end = self._expansion(at, quoted, depth + 1)
        if default is None or not self.source.startswith("}", end):
            return self._opaque(start, at, "}", "computed when the script runs", quoted)
        return Piece(kind, name, start, end + 1, quoted, default=default), end + 1

    def _opaque(self, start: int, inside: int, closer: str, why: str, quoted: bool) -> tuple[Piece, int]:
        end = self.closing(inside, closer, start, quoted)
        return Piece("opaque", why, start, end, quoted), end

    def closing(self, at: int, closer: str, opened: int, quoted: bool = False) -> int:
        """Behind the `closer` of what was opened at `opened`, with all that is quoted or bracketed in between."""
        source, expected, quotes = self.source, [closer], int(quoted)
        while expected:
            found = _NESTING.search(source, at)
            if not found:
                raise Unclosed("a backquote" if closer == "`" else "a bracket", opened)
            token, at, top = found.group(), found.end(), expected[-1]
            if token == top:
                expected.pop()
                quotes -= token == '"'
            elif token[0] == "#" and top != ")":
                at = found.start() + 1
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

    def _here_document(self, at: int, tabs: bool) -> int:
        while blank := _BLANK.match(self.source, at):
            at = blank.end()
        word, end = self.word(at)
        self.here_documents.append(("".join(piece.text for piece in word.pieces), tabs))
        return end

    def _behind_here_documents(self, at: int) -> int:
        """Skip the bodies that begin in this line; one without its end goes to the end of the text, as bash reads it."""
        for delimiter, tabs in self.here_documents:
            line = None
            while line != delimiter and at < len(self.source):
                end = self.source.find("\n", at) + 1 or len(self.source)
                line = self.source[at:end].rstrip("\r\n").lstrip("\t" if tabs else "")
                at = end
        self.here_documents.clear()
        return at

    def _end(self, pattern: re.Pattern[str], at: int) -> int:
        found = pattern.match(self.source, at)
        return found.end() if found else at + 1
