"""Shell text → words and operators. Comments are left out; here-documents are told by where their lines are. Nothing is ever run.

One pass over the text: what is not closed ends the reading, so that no text is gone through twice.
"""

from __future__ import annotations

import re

from stablint.syntax.shell.pieces import Pieces, Unclosed
from stablint.syntax.shell.tokens import Array, Body, Operator, Piece, Redirection, Token, Word
from stablint.syntax.tree import Problem

_BLANK = re.compile(r"[ \t\f\v]+|\r(?!\n)")
_LINE_END = re.compile(r"\r?\n")
_JOINED = re.compile(r"\\(?:\r?\n|\Z)")  # bash drops a backslash that ends the text as well
_BROKEN = re.compile(r"\\[ \t]+(?=\r?\n|\Z)")
_GOES_ON = re.compile(
    r"\r?\n(?:[ \t]+\S|-|[\"']?\$)"
)  # what the next line has of the command, had it gone on: not `IFS=\\ ` alone
_COMMENT = re.compile(r"#[^\n]*?(?=\r?\n|\Z)")
_OPERATOR = re.compile(r";;&|;;|;&|;|&&|&>>|&>|&|\|\||\|&|\||\(|\)")
_REDIRECTION = re.compile(r"<<<|<<-?|<>|<&|<(?!\()|>>|>&|>\||>(?!\()")
# `<ip>` at the end of a line, or before an option or another: the text shows how, and for bash it is no command
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w.:/-]{0,60}>(?=[ \t]{0,20}(?:\\?\r?\n|\Z|-|<[A-Za-z]))")
_PLAIN = re.compile(r"[^ \t\f\v\r\n\\'\"$`;&|<>()]+")
_SIMPLE = re.compile(r"[\w/.,:@%+=~-]+(?=[ \t\n])")
_LONGEST_LET = 1000
_TEST_ENDS = re.compile(r"\s\]\](?=[\s;&|)]|\Z)")
_LONGEST_TEST = 2000
_BEFORE_COMMAND = frozenset({"if", "elif", "while", "until", "then", "else", "do", "!", "{"})
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=\Z", re.ASCII)


class Lexer(Pieces):
    """`tokens` and `problems` of a text. After something unclosed there are only the tokens of the commands before it.

    `bodies` has the here-documents, by where their redirection stands.
    """

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.problems: list[Problem] = []
        self.tokens: list[Token] = []
        self.bodies: dict[int, Body] = {}
        self.due: list[Redirection] = []  # here-documents whose lines begin behind this one
        self.returns = -1  # where a carriage return stands first between a backslash and the end of its line
        self.test = 0  # where the `[[ … ]]` ends that is being read
        self._looked = 0  # up to where no end of one was found
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
        redirection: re.Match[str] | None = None  # the next word is where it goes
        while at < size:
            character = source[at]
            if character == " " or (at < self.test and character in "\n\r;&|()<>"):
                at += 1
            elif simple := _SIMPLE.match(source, at):  # nine words of ten
                end = simple.end()
                word = Word((Piece("text", simple.group(), at, end),), at, end)
                self.tokens.append(self._redirected(redirection, word) if redirection else word)
                at, redirection = end, None
            elif character in "\t\f\v":
                at = self._end(_BLANK, at)
            elif character in "\n\r":
                line_end = _LINE_END.match(source, at)
                if line_end:
                    self.tokens.append(Operator("\n", at, line_end.end()))
                    at, redirection = self._behind_here_documents(line_end.end()), None
                else:
                    at += 1
            elif character == "#":
                at = self._end(_COMMENT, at)
            elif character == "\\" and (joined := _JOINED.match(source, at)):
                at = self._behind(joined)
            elif character == "\\" and (broken := _BROKEN.match(source, at)):
                self._broken(at, broken.end())
                at = broken.end()
            elif character in ";&|()":
                if source.startswith("((", at):
                    end = self.closing(at + 1, ")", at)
                    self.tokens.append(
                        Word((Piece("let", source[at : min(end, at + _LONGEST_LET)], at, end),), at, end)
                    )
                    at = end
                    continue
                operator = _OPERATOR.match(source, at)
                assert operator is not None
                if source.startswith("&>", at):
                    redirection = operator
                else:
                    self.tokens.append(Operator(operator.group(), at, operator.end()))
                at = operator.end()
            elif not redirection and (blank := _PLACEHOLDER.match(source, at)):
                piece = Piece("opaque", f"`{blank.group()}` is to be filled in: a template", at, blank.end())
                self.tokens.append(Word((piece,), at, blank.end()))
                at = blank.end()
            elif character in "<>" and (found := _REDIRECTION.match(source, at)):
                at, redirection = found.end(), found
            else:
                token, at = self._word_or_array(at)
                number = source[at : at + 1] in ("<", ">") and isinstance(token, Word) and token.plain().isdigit()
                if redirection:
                    if isinstance(token, Word):
                        self.tokens.append(self._redirected(redirection, token))
                elif not number and token.start < token.end:
                    if source.startswith("[[", token.start) and token.end == token.start + 2:
                        self.test = max(self.test, self._test_end(token.end))
                    self.tokens.append(token)
                redirection = None

    def _test_end(self, at: int) -> int:
        """Where the `]]` stands of a `[[` that begins a command: between them lines, `&&`, `||`, `<`, `>` and parentheses are of the test."""
        last = self.tokens[-1] if self.tokens else None
        if not (last is None or type(last) is Operator or (type(last) is Word and last.plain() in _BEFORE_COMMAND)):
            return 0
        found = _TEST_ENDS.search(self.source, max(at, self._looked - 4), at + _LONGEST_TEST)
        if found is None:
            self._looked = max(self._looked, min(at + _LONGEST_TEST, len(self.source)))
            return 0
        return found.start() + 1

    def _redirected(self, operator: re.Match[str], word: Word) -> Redirection:
        found = Redirection(operator.group(), word, operator.start(), word.end)
        if found.text in ("<<", "<<-"):
            self.due.append(found)
        return found

    def _behind(self, joined: re.Match[str]) -> int:
        """Lines that Windows ends are read as they are meant, and told: for bash the backslash escapes the carriage return."""
        if self.returns < 0 and joined.end() - joined.start() == 3:
            self.returns = joined.start()
        return joined.end()

    def _broken(self, start: int, end: int) -> None:
        if not _GOES_ON.match(self.source, end):
            return  # a blank that is written so
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
                    at = self._behind(joined)
                elif broken := _BROKEN.match(source, at):
                    self._broken(at, broken.end())
                    return Word(tuple(pieces), start, at), broken.end()
                else:
                    pieces.append(Piece("text", source[at + 1 : at + 2], at, min(at + 2, size), exact=False))
                    at = min(at + 2, size)
            elif character == "'":
                piece, at = self.single(at)
                pieces.append(piece)
            elif character == '"' or source.startswith('$"', at):
                more, at = self.double(at if character == '"' else at + 1)
                pieces += more
            elif source.startswith("$'", at):
                piece, at = self.escaped(at)
                pieces.append(piece)
            elif character in "$`" or source.startswith(("<(", ">("), at):
                piece, at = self.expansion(at, False)
                pieces.append(piece)
            elif plain := _PLAIN.match(source, at):
                pieces.append(Piece("text", plain.group(), at, plain.end()))
                at = plain.end()
            else:
                break
        return Word(tuple(pieces), start, at), at

    def _behind_here_documents(self, at: int) -> int:
        """Skip the bodies that begin in this line."""
        for here in self.due:
            delimiter = "".join(piece.text for piece in here.word.pieces)
            quoted = any(piece.quoted or not piece.exact for piece in here.word.pieces)
            tabs = here.text == "<<-"
            start, (end, at) = at, self.lines_until(delimiter, at, tabs)
            self.bodies[here.start] = Body(start, end, not quoted, tabs)
        self.due.clear()
        return at

    def _end(self, pattern: re.Pattern[str], at: int) -> int:
        found = pattern.match(self.source, at)
        return found.end() if found else at + 1
