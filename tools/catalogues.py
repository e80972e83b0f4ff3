"""The catalogues of translations, knowledge/locale/LANGUAGE/*.po: one for each folder of hazards, and program.po for the program's own sentences.

python tools/catalogues.py            what is new in the sources is added without a translation, what is gone is dropped
python tools/catalogues.py --check    exit code 1 unless every text has a translation with the same holes and code spans
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import write_po

from stablint.base.language import ENGLISH, LANGUAGES
from stablint.compiling.locale import read
from stablint.compiling.reading import read_yaml
from stablint.syntax import limits

ROOT = Path(__file__).resolve().parent.parent
LOCALE = ROOT / "knowledge/locale"
KEYWORDS = {"gettext": 1, "ngettext": 2, "_some": 2, "Impossible": 1}
"""Functions that take a sentence as it stands in the source, or two; the last two hand it on."""

MADE = frozenset(
    {
        "Unknown",
        "unknown",
        "problem",
        "Problem",
        "refused",
        "Unclosed",
        "ValueError",
        "Answer",
        "BadBaseline",
        "LinkOut",
    }
)
"""Calls of the rooms below that make a sentence where nobody asks for a language; `language.told` knows it again by its form."""

ROOMS = (
    "syntax",
    "frameworks",
    "hardware/probes.py",
    "run",
    "assemble",
    "suppressions/unused.py",
    "suppressions/directives.py",
    "suppressions/baseline.py",
    "config/schema_check.py",
    "engine/inspect.py",
    "engine/summary.py",
)
WHOLE = (
    "syntax/yaml/error.py",
    "syntax/python/parse.py",
    "suppressions/directives.py",
    "config/schema_check.py",
    "engine/inspect.py",
    "engine/summary.py",
)  # all that they say is of that kind

TABLES = {
    "commands.doctor": ("_STATES",),
    "commands.config": ("NOBODY",),
    "report.explain": ("BITES", "_SAFETY", "_GRADES", "_OPERATORS", "_GROUPS", "_LOOPS"),
    "report.full": ("_SUPPLIERS", "_COUNTED"),
    "report.origin": ("_SAID",),
    "report.said": ("_FLAGS",),
    "report.block": ("_LABELS",),
    "hazard.finding": ("_TAKEN_FOR_GRANTED",),
    "fix.grade": ("_TRAINING", "_OWN_NAME", "_PRESUMED", "_OLDER"),
    "engine.diagnostics": ("_BY_HAND",),
    "report.show": ("_LABELS",),
    "log.cause": ("IN_WORDS",),
    "log.told": ("_LABELS",),
    "fitting.text": ("VERDICTS", "_NAMES", "_REASONS"),
    "memory.predict": ("MOMENTS",),
    "fitting.remedies": ("COSTS",),
    "advising.text": ("NOTHING", "_SAID", "_GAINS", "_FOOTING"),
    "advising.judging": ("_WORDS",),
    "server.meaning": ("_CONSEQUENCES", "_BESIDE", "_UNITS"),
}
"""Tables and constants of the program's modules whose sentences are looked up when they are told."""

# What programs for translators ask for; without days and names, so that it is the same whoever writes it.
_HEADER = r"""# Translations of stablint.
msgid ""
msgstr ""
"Language: {language}\n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=utf-8\n"
"Content-Transfer-Encoding: 8bit\n"
"Plural-Forms: {plurals}\n"

"""
SITE = ("rule_pages.py", "site_pages.py")
"""Tools that write pages; what they say beside the hazards' own words."""

_HOLE = re.compile(r"\{[^{}]*\}")
_CODE = re.compile(r"`[^`]+`")


def of_hazards(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Id, field and text of everything in a folder of hazards that people read."""
    for path in sorted(folder.glob("*.yaml")):
        hazard = read_yaml(path)
        for field in ("title", "message", "why", "fine_when"):
            yield hazard["id"], field, hazard[field].strip()
        for case in hazard.get("cases") or []:
            yield hazard["id"], "cases.message", case["message"].strip()
        for remedy in hazard.get("remedies") or []:
            for field in ("title", "because"):
                if remedy.get(field):
                    yield hazard["id"], f"remedies.{field}", remedy[field].strip()
        if note := hazard["evidence"].get("note"):
            yield hazard["id"], "evidence.note", note.strip()


def of_the_command_line() -> Iterator[str]:
    """What the parsers of all commands say in their help, and what argparse says by itself."""
    import argparse

    from stablint import cli
    from stablint.commands import parsers as commands
    from stablint.config import arguments

    for _, words in arguments._REFUSALS:
        yield words
    for _, words in cli._SUMMARIES:
        yield words
    todo: list[argparse.ArgumentParser] = [
        arguments.check_parser(),
        *(one.words() for one in commands.COMMANDS.values()),
    ]
    while todo:
        parser = todo.pop(0)
        yield from (words for words in (parser.description, parser.epilog) if words)
        for _, settings in getattr(parser, "named", ()):
            if settings.get("help"):
                yield settings["help"]
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                todo += action.choices.values()
                yield from (choice.help for choice in action._choices_actions if choice.help)
            elif action.help and action.help != argparse.SUPPRESS:
                yield action.help


def _words(value: object) -> Iterator[str]:
    """The sentences in a table: its values, not its keys; of the forms of a number the last."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _words(one[-1] if isinstance(one, tuple) else one)
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from _words(one[1] if isinstance(one, tuple) else one)


def of_advice() -> Iterator[tuple[str, str, str]]:
    """Id, field and text of everything in an advice that people read."""
    for path in sorted((ROOT / "knowledge/advice").rglob("*.yaml")):
        advice = read_yaml(path)
        for field in ("title", "why", "not_when"):
            if advice.get(field):
                yield advice["id"], field, advice[field].strip()
        if words := advice["effect"].get("words"):
            yield advice["id"], "effect", words.strip()
        for edit in advice["edits"]:
            for field in ("title", "because"):
                if edit.get(field):
                    yield advice["id"], f"edits.{field}", edit[field].strip()


def of_logs() -> Catalog:
    """What a log shows, and why other lines of it are harmless."""
    catalogue, folder = Catalog(), ROOT / "knowledge/messages"
    for name, symptom in read_yaml(folder / "symptoms.yaml").items():
        for field in ("title", "why", "advice"):
            catalogue.add(symptom[field].strip(), auto_comments=[f"{name}: {field}"])
    for harmless in read_yaml(folder / "harmless.yaml"):
        catalogue.add(harmless["why"].strip(), auto_comments=["harmless"])
        if "until" in harmless:
            catalogue.add(harmless["until"].strip(), auto_comments=["harmless until"])
    return catalogue


def names() -> list[str]:
    """Of all catalogues, without reading what they are to say."""
    folders = sorted((ROOT / "knowledge/hazards").iterdir())
    return [*(folder.name for folder in folders), "advice", "diagnosis", "program", "reasons", "site"]


@cache
def sources() -> dict[str, Catalog]:
    """By the catalogue's name, what it has to translate."""
    found = {}
    for folder in sorted((ROOT / "knowledge/hazards").iterdir()):
        found[folder.name] = _by_id(of_hazards(folder))
    found["advice"] = _by_id(of_advice())
    found["diagnosis"] = of_logs()
    program = Catalog()
    package = ROOT / "lint/stablint"
    for path in sorted(package.rglob("*.py")):
        for message in said_in(path):
            program.add(message, auto_comments=[path.relative_to(package).as_posix()])
    reasons = Catalog()
    for room in ROOMS:
        at = package / room
        for path in sorted(at.rglob("*.py")) if at.is_dir() else [at]:
            name = path.relative_to(package).as_posix()
            for message in made_in(path, whole=name in WHOLE):
                if program.get(message) is None:
                    reasons.add(message, auto_comments=[name])
    for limit in (one for one in vars(limits).values() if isinstance(one, limits.Limit)):
        for words in (limit.of, limit.then):
            reasons.add(words, auto_comments=["syntax/limits.py"])
    for module, names in TABLES.items():
        for name in names:
            for words in _words(getattr(import_module(f"stablint.{module}"), name)):
                program.add(words, auto_comments=[f"{module.replace('.', '/')}.py"])
    proposals = read_yaml(ROOT / "knowledge/proposals.yaml")
    for row in proposals["sharding"].values():
        program.add(row["says"], auto_comments=["proposing/search.py"])
    for words in of_the_command_line():
        program.add(words, auto_comments=["commands/parsers.py"])
    site = Catalog()
    for name in SITE:
        for message in said_in(ROOT / "tools" / name):
            if program.get(message) is None:
                site.add(message, auto_comments=[f"tools/{name}"])
    found |= {"program": program, "reasons": reasons, "site": site}
    return found


def said_in(path: Path) -> Iterator[str | tuple[str, str]]:
    """The sentences that a module hands to one of KEYWORDS, in the order of the text; in an f-string as well."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda one: (one.lineno, one.col_offset)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        given = [one.value for one in call.args[: KEYWORDS.get(name, 0)] if isinstance(one, ast.Constant)]
        words = [one for one in given if isinstance(one, str) and one]
        if words and len(words) == KEYWORDS[name]:
            yield words[0] if len(words) == 1 else (words[0], words[1])


_SENTENCE = re.compile(r"[a-z]{2,} .*[a-z]{2,}|[a-z]{3,}.* [a-z]{2,}")


def made_in(path: Path, *, whole: bool) -> Iterator[str]:
    """The forms of the sentences that a module makes, with numbers for their holes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if whole:
        places: list[ast.expr] = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, (ast.Return, ast.Assign, ast.Yield)) and node.value
        ]
        places += [value for node in ast.walk(tree) if isinstance(node, ast.Dict) for value in node.values]
        places += [one for node in ast.walk(tree) if isinstance(node, ast.Tuple) for one in node.elts]
        places += [value for one in places if isinstance(one, ast.IfExp) for value in (one.body, one.orelse)]
    else:
        places = []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if ast.unparse(call.func).rpartition(".")[2] in MADE:
            places += [*call.args, *(one.value for one in call.keywords)]
    for place in sorted(places, key=lambda one: (one.lineno, one.col_offset)):
        for form in _forms(place):
            if " | " not in form and _SENTENCE.search(form) and len(_HOLE.sub("", form)) > 5:
                yield form


def _forms(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _forms(node.body)
        yield from _forms(node.orelse)
    elif isinstance(node, ast.JoinedStr):
        form, holes = "", 0
        for part in node.values:
            form += str(part.value) if isinstance(part, ast.Constant) else f"{{{holes}}}"
            holes += not isinstance(part, ast.Constant)
        yield form


def _by_id(texts: Iterator[tuple[str, str, str]]) -> Catalog:
    catalogue = Catalog()
    for name, field, text in texts:
        catalogue.add(text, context=name, auto_comments=[field] if not catalogue.get(text, name) else [])
    return catalogue


def faults(name: str, wanted: Catalog, stands: Catalog) -> Iterator[str]:
    """What is missing or wrong in a catalogue."""
    for message in wanted:
        if not message.id:
            continue
        told = stands.get(message.id, message.context)
        where = f"{name}.po: {message.context or ''} {message.id!r}"
        if told is None or not told.string or not any(told.string):
            yield f"{where}: not translated"
            continue
        english = message.id[1] if isinstance(message.id, tuple) else message.id
        other = told.string[0] if isinstance(told.string, tuple) else told.string
        for what, pattern in (("holes", _HOLE), ("code spans", _CODE)):
            if Counter(pattern.findall(english)) != Counter(pattern.findall(other)):
                yield f"{where}: other {what}: {other}"
    for message in stands:
        if message.id and wanted.get(message.id, message.context) is None:
            yield f"{name}.po: {message.context or ''} {message.id!r}: nothing in the sources says this"


def languages() -> list[str]:
    return [language for language in LANGUAGES if language != ENGLISH]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    wrong = []
    for language in languages():
        for name, wanted in sources().items():
            path = LOCALE / language / f"{name}.po"
            stands = read(path) if path.exists() else Catalog(locale=language)
            if given.check:
                wrong += list(faults(f"{language}/{name}", wanted, stands))
            else:
                write(path, wanted, stands, language)
    print("".join(f"{line}\n" for line in wrong), end="")
    return 1 if wrong else 0


def write(path: Path, wanted: Catalog, stands: Catalog, language: str) -> None:
    """The catalogue of the wanted messages with the translations that stand."""
    made = Catalog(locale=language)
    for message in wanted:
        if message.id:
            known = stands.get(message.id, message.context)
            string = known.string if known is not None else None
            made.add(message.id, string, context=message.context, auto_comments=message.auto_comments)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(_HEADER.format(language=language, plurals=made.plural_forms).encode())
        write_po(file, made, width=0, omit_header=True)


if __name__ == "__main__":
    sys.exit(main())
