"""A Makefile → the lines that its shells are told, with the file's own variables filled in.

Each line of a recipe goes to a shell of its own (all of them to one where `.ONESHELL` stands). A variable is text that make puts into the line;
what the file does not say, or says in one of several branches, the caller knows (GNU make 4.4 manual: Variables, Recipes).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.base.light import NamedTuple
from stablint.syntax import limits
from stablint.syntax.embedded import Builder, Parse
from stablint.syntax.recipes.workload import HOST, LONGEST, PLAIN, UNKNOWN, told_to_shells
from stablint.syntax.tree import Document, Text, View

_DEEPEST = 10  # variables within variables; what is deeper stays as it is written
_ASSIGNS = re.compile(
    r"[ ]*(?:(?P<export>export)[ \t]+|override[ \t]+|private[ \t]+)*(?P<name>[\w.-]+)[ \t]*(?P<how>\?|\+|!|:{1,3})?=(?!=)[ \t]*"
)
_RULE = re.compile(r"(?P<targets>[^\s#:=][^#:=\n]*):{1,2}(?![=:])(?P<rest>[^\n]*)")
_BRANCH = re.compile(r"[ ]*(ifeq|ifneq|ifdef|ifndef|else|endif)\b")
_DEFINES = re.compile(r"[ ]*(?:export[ \t]+)?define[ \t]+([\w.-]+)")
_EXPORTS = re.compile(r"[ ]*export[ \t]+([\w.-][\w \t.-]*)\Z")
_OWN = re.compile(r"[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*(?:\?|\+|:{1,3})?=")  # of one target: `train: LR = 1e-4`
_COMMENT = re.compile(r"(?<!\\)#")
_NAME = re.compile(r"[\w.-]+\Z")
_IN_SHELL = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)


class Line(NamedTuple):
    """A line of a recipe, its continuations with it; `targets` as the rule names them."""

    start: int
    end: int
    targets: str


class Variable(NamedTuple):
    """Where its text stands; more parts where something is added to it. `caller`: the caller may say another (`?=`)."""

    parts: tuple[tuple[int, int], ...]
    caller: bool = False
    known: bool = True


def documents(text: Text, parse: Parse) -> tuple[Document, ...]:
    return told_to_shells(text, "make", _views, parse)


def _views(source: str, spent: limits.Spent) -> Iterator[View]:
    lines, variables, exported = _read(source)
    purse = _Purse(LONGEST, limits.FILLED.most)
    groups = [lines[i : i + 1] for i in range(len(lines))]
    if re.search(r"^\.ONESHELL[ \t]*:", source, re.MULTILINE):
        by_rule: dict[str, list[Line]] = {}
        for line in lines:
            by_rule.setdefault(line.targets, []).append(line)
        groups = list(by_rule.values())
    if len(groups) > limits.LINES.most:
        over = groups[limits.LINES.most][0]
        spent.reached(limits.LINES, over.start, over.end)
    for group in groups[: limits.LINES.most]:
        filling = _Filling(source, variables, group[0].targets, purse)
        for name in exported:
            filling.export(name)
        for line in group:
            filling.line(line)
        purse.characters -= filling.builder.length
        if purse.characters <= 0 or purse.steps <= 0:
            spent.reached(limits.FILLED, group[0].start, group[0].end)
            return
        yield filling.builder.view(HOST)


def _read(source: str) -> tuple[list[Line], dict[str, Variable], list[str]]:
    lines: list[Line] = []
    variables: dict[str, Variable] = {}
    exported: list[str] = []
    targets, depth, at = "", 0, 0
    while at < len(source):
        end = _logical_end(source, at)
        if source[at] == "\t":
            if targets and source[at:end].strip():
                lines.append(Line(at + 1, end, targets if not depth else ""))
        elif source[at:end].strip() and source[at:end].lstrip()[:1] != "#":
            branch, defines = _BRANCH.match(source, at, end), _DEFINES.match(source, at, end)
            assigns, rule = _ASSIGNS.match(source, at, end), _RULE.match(source, at, end)
            exports = _EXPORTS.match(source[at:end])
            if branch:
                depth += {"else": 0, "endif": -1}.get(branch[1], 1)
            elif defines:
                variables[defines[1]] = Variable((), known=False)
                closes = re.compile(r"^[ ]*endef\b", re.MULTILINE).search(source, end)
                end = _logical_end(source, closes.start()) if closes else len(source)
            elif assigns:
                _assign(variables, assigns, source, end, depth > 0)
                if assigns["export"]:
                    exported.append(assigns["name"])
            elif exports:
                exported += exports[1].split()
            elif rule:
                targets = rule["targets"].strip()
                own = _OWN.match(rule["rest"])
                if own:  # every target may have its own
                    variables[own[1]] = Variable((), known=False)
                elif ";" in rule["rest"]:
                    begin = rule.start("rest") + rule["rest"].index(";") + 1
                    lines.append(Line(begin, end, targets))
        at = end + 1
    known = [line for line in lines if line.targets]  # what stands in a branch may not be told
    return known, variables, [name for name in dict.fromkeys(exported) if _IN_SHELL.match(name)]


def _logical_end(source: str, at: int) -> int:
    """The end of a line with its continuations, without the line break."""
    while True:
        end = source.find("\n", at)
        if end < 0:
            return len(source)
        text = source[at:end]
        if (len(text) - len(text.rstrip("\\"))) % 2 == 0:
            return end
        at = end + 1


def _assign(variables: dict[str, Variable], found: re.Match[str], source: str, end: int, in_branch: bool) -> None:
    name, how = found["name"], found["how"] or ""
    comment = _COMMENT.search(source, found.end(), end)
    stop = comment.start() if comment else end
    start = found.end()
    stop = start + len(source[start:stop].rstrip())
    before = variables.get(name)
    if in_branch or how == "!":
        variables[name] = Variable((), known=False)
    elif how == "+":
        if before is not None:
            variables[name] = before._replace(parts=(*before.parts, (start, stop)))
        else:
            variables[name] = Variable(((start, stop),))
    elif how == "?":
        if before is None:
            variables[name] = Variable(((start, stop),), caller=True)
    else:
        variables[name] = Variable(((start, stop),))


class _Purse:
    """What filling in the lines of one file may cost."""

    def __init__(self, characters: int, steps: int) -> None:
        self.characters, self.steps = characters, steps


class _Filling:
    """One text for a shell, put together."""

    def __init__(self, source: str, variables: dict[str, Variable], targets: str, purse: _Purse) -> None:
        self.source, self.variables, self.targets, self.purse = source, variables, targets, purse
        self.builder = Builder()

    def export(self, name: str) -> None:
        variable = self.variables.get(name)
        if variable is None or not variable.known or not variable.parts:
            return
        start, end = variable.parts[0][0], variable.parts[-1][1]
        if not PLAIN.match(self.source[start:end]):
            return
        self.builder.put(f"export {name}='", start, start)
        self.text(start, end, 0)
        self.builder.put("'\n", end, end)

    def line(self, line: Line) -> None:
        start = line.start
        while start < line.end and self.source[start] in " \t@+-":
            start += 1
        begin = start
        while True:  # make takes one tab from each line that goes on
            cut = self.source.find("\n\t", begin, line.end)
            self.text(begin, cut + 1 if cut >= 0 else line.end, 0)
            if cut < 0:
                break
            begin = cut + 2
        self.builder.put("\n", line.end, line.end)

    def text(self, start: int, end: int, depth: int) -> None:
        source, at = self.source, start
        while at < end and self.builder.length < self.purse.characters and self.purse.steps > 0:
            dollar = source.find("$", at, end)
            self.builder.keep(source[at : dollar if dollar >= 0 else end], at)
            if dollar < 0:
                return
            at = self.dollar(dollar, end, depth)

    def dollar(self, at: int, end: int, depth: int) -> int:
        """Fill in what the dollar begins; the place behind it."""
        source, sign = self.source, self.source[at + 1 : at + 2]
        self.purse.steps -= 1
        if sign == "$":
            self.builder.put("$", at, at + 2)
            return at + 2
        if sign not in ("(", "{"):
            only = sign == "@" and " " not in self.targets and "%" not in self.targets and _NAME.match(self.targets)
            self.builder.put(self.targets if only else UNKNOWN, at, min(at + 2, end))
            return min(at + 2, end)
        close = _closing(source, at + 1, end)
        name = source[at + 2 : close]
        variable = self.variables.get(name)
        if not _NAME.match(name):
            self.builder.put(UNKNOWN, at, close + 1)
        elif variable is None or not variable.known or depth >= _DEEPEST:
            word = f"${{{name}}}" if variable is None and _IN_SHELL.match(name) else UNKNOWN
            self.builder.put(word, at, close + 1)
        elif variable.caller:
            (start, stop) = variable.parts[0]
            plain = PLAIN.match(source[start:stop]) and _IN_SHELL.match(name) and len(variable.parts) == 1
            if plain:
                self.builder.put(f"${{{name}:-", start, start)
                self.text(start, stop, depth + 1)
                self.builder.put("}", stop, stop)
            else:
                self.builder.put(UNKNOWN, at, close + 1)
        else:
            for number, (start, stop) in enumerate(variable.parts):
                if number:
                    self.builder.put(" ", start, start)
                self.text(start, stop, depth + 1)
        return close + 1


def _closing(source: str, at: int, end: int) -> int:
    """The bracket that closes the one here; the last place where none does."""
    opens = source[at]
    closes, depth = ")" if opens == "(" else "}", 0
    for place in range(at, end):
        if source[place] == opens:
            depth += 1
        elif source[place] == closes:
            depth -= 1
            if not depth:
                return place
    return end - 1
