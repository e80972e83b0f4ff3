"""`stablint explain`: everything that is known about one hazard, from its file."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stablint.base.language import gettext
from stablint.base.libraries import difflib
from stablint.report.plain import Style, plain, shown
from stablint.report.words import screen, severity, wrapped

_WIDTH = 100

BITES = {
    "parse": "when the file is read",
    "start": "when the run starts",
    "save": "when a checkpoint is written or read",
    "hours": "hours into the run",
    "never-visibly": "never visibly: the run ends, and its result is not what was meant",
}
_SAFETY = {
    "safe": "safe, applied by --fix",
    "unsafe": "changes the training, applied by --fix --unsafe-fixes",
    "manual": "told only",
}
_GRADES = {
    "proven-in-source": "proven in the libraries' source",
    "reproduced": "reproduced",
    "maintainer-confirmed": "confirmed by maintainers",
    "reported": "reported by users, not confirmed",
    "folklore": "often claimed, not shown",
}
_OPERATORS = {
    "is": "is",
    "is-not": "is not",
    "in": "is one of",
    "not-in": "is none of",
    "between": "lies within",
    "contains-any": "contains any of",
    "contains-all": "contains all of",
    "matches": "matches",
    "type": "is of type",
    "is-integer": "is a whole number",
    "one-of-enum": "is a value of",
    "length": "has length",
    "multiple-of": "is a multiple of",
    "not-multiple-of": "is not a multiple of",
    "is-set": "is set",
    "is-absent": "is not set",
    "is-default": "is left at its default",
    "exists-file": "is a file that exists",
    "unknown-key": "is a key that the library does not know",
    "any-item": "has an item that",
    "all-items": "has only items that",
}
_GROUPS = {"any": "any of", "all": "all of", "not": "none of"}


def render(
    hazard: Mapping[str, Any],
    recipes: Sequence[Mapping[str, Any]] = (),
    says: Sequence[str] = (),
    *,
    color: bool = False,
) -> str:
    """`hazard` is a hazard file's content; `recipes` are the published runs that a learning-rate band was counted from; `says` what the libraries
    print where it bites."""
    style = Style(color)
    lines = [
        f"{style.paint('bold', hazard['title'])}",
        f"{style.paint(hazard['severity'], severity(hazard['severity']))} {hazard['code']} {hazard['id']}"
        + (gettext(", off unless `select` or `severity` names it") if hazard.get("quiet") else ""),
        bites(hazard),
    ]
    for title, body in sections(hazard, recipes, says):
        lines += ["", style.paint("bold", title), *(f"  {line}".rstrip() for line in body)]
    return "".join(f"{line}\n" for line in lines)


def bites(hazard: Mapping[str, Any]) -> str:
    """When it shows: `bites hours into the run`."""
    return gettext("bites {when}").format(when=gettext(BITES.get(hazard["bites_at"], hazard["bites_at"])))


_SHOWN = (
    "code", "id", "title", "severity", "bites_at", "why", "when", "error_when", "each", "loop", "versions", "fine_when", "remedies", "evidence",
    "examples",
)  # fmt: skip


def as_data(hazard: Mapping[str, Any], recipes: Sequence[Mapping[str, Any]], says: Sequence[str]) -> dict[str, Any]:
    """The same for programs: what the hazard's file says, in its own words."""
    said = {key: hazard[key] for key in _SHOWN if hazard.get(key)}
    return {**said, "quiet": bool(hazard.get("quiet")), "says": list(says), "recipes": list(recipes)}


def sections(
    hazard: Mapping[str, Any], recipes: Sequence[Mapping[str, Any]], says: Sequence[str] = ()
) -> Iterator[tuple[str, list[str]]]:
    """Headings and lines. Lists are written as Markdown writes them, examples are indented as code."""
    yield gettext("Why"), _paragraphs(hazard["why"])
    if says:
        yield gettext("What is printed"), [line for text in says for line in _bullet(text)]
    yield (
        gettext("Reported when"),
        [*_conditions(hazard["when"]), *_loop(hazard), *_versions(hazard.get("versions") or {})],
    )
    if hazard.get("error_when"):
        yield gettext("An error only when, else a warning"), [*_conditions(hazard["error_when"])]
    yield gettext("Fine when"), _paragraphs(hazard["fine_when"])
    if hazard.get("remedies"):
        yield gettext("What to do"), [line for remedy in hazard["remedies"] for line in _remedy(remedy)]
    if recipes:
        yield gettext("Learning rates of {number} published runs").format(number=len(recipes)), _recipes(recipes)
    yield gettext("Evidence"), _evidence(hazard["evidence"])
    for example in (hazard.get("examples") or [])[:1]:
        yield _example_title(example), list(_example(example))


def _bullet(text: str) -> Iterator[str]:
    first, *rest = wrapped(plain(text), screen(_WIDTH) - 2)
    yield f"- {first}"
    yield from (f"  {line}" for line in rest)


def _paragraphs(text: str) -> list[str]:
    lines: list[str] = []
    for paragraph in text.strip().split("\n\n"):
        lines += ["", *wrapped(plain(paragraph.replace("\n", " ")), screen(_WIDTH))]
    return lines[1:]


def _conditions(conditions: Sequence[Any], indent: str = "") -> Iterator[str]:
    for condition in conditions:
        if isinstance(condition, str):
            yield f"{indent}- {in_words(condition)}"
        else:
            for group, inner in condition.items():
                yield gettext("{indent}- {group}:").format(indent=indent, group=gettext(_GROUPS[group]))
                yield from _conditions(inner if isinstance(inner, list) else [inner], indent + "  ")


def in_words(condition: str) -> str:
    """`training.save_steps not-multiple-of training.eval_steps` as a sentence; facts in backquotes."""
    fact, operator, *operand = plain(condition).split(" ", 2)
    verb = gettext(_OPERATORS.get(operator, operator))
    return " ".join([f"`{fact}`", verb, *operand])


def _loop(hazard: Mapping[str, Any]) -> list[str]:
    said = _LOOPS.get(hazard.get("loop", ""))
    return [gettext(said)] if said else []


_LOOPS = {
    "trainer": "- the Trainer of transformers, or a subclass of it, takes the steps",
    "trl": "- a trainer of TRL takes the steps",
}


def _versions(versions: Mapping[str, str]) -> list[str]:
    return [
        gettext("- with {releases}").format(releases=f"{library} {specifier}")
        for library, specifier in versions.items()
    ]


def _remedy(remedy: Mapping[str, Any]) -> Iterator[str]:
    yield gettext("- {title} ({safety})").format(
        title=remedy["title"], safety=gettext(_SAFETY[remedy.get("safety", "manual")])
    )
    if remedy.get("because"):
        first, *rest = wrapped(
            plain(gettext("not safe: {because}").format(because=remedy["because"])), screen(_WIDTH) - 2
        )
        yield from (f"  {line}" for line in (first, *rest))
    for condition in _conditions(remedy.get("when") or []):
        yield (
            gettext("  if {condition}").format(condition=condition.removeprefix("- "))
            if condition.startswith("- ")
            else f"  {condition}"
        )
    for fact, value in (remedy.get("set") or {}).items():
        yield gettext("  set `{fact}` to {value}").format(fact=fact, value=shown(value))
    for fact in remedy.get("unset") or ():
        yield gettext("  remove `{fact}`").format(fact=fact)
    for old, new in (remedy.get("swap") or {}).items():
        yield gettext("  rename `{old}` to `{new}`").format(old=old, new=new)
    for fact in remedy.get("respell") or ():
        yield gettext("  write `{fact}` as the type that its library takes").format(fact=fact)
    for fact in remedy.get("move") or ():
        yield gettext("  say `{fact}` where the newer release has it").format(fact=fact)


def _recipes(recipes: Sequence[Mapping[str, Any]]) -> list[str]:
    ordered = sorted(recipes, key=lambda recipe: float(recipe["learning_rate"]))
    return [
        f"{float(recipe['learning_rate']):<8g} {_what(recipe):<13} {plain(str(recipe.get('model', '')))}  {_place(recipe)}"
        for recipe in ordered
    ]


def _what(recipe: Mapping[str, Any]) -> str:
    return plain(" ".join(str(recipe.get(key) or "") for key in ("objective", "method")).strip())


def _place(recipe: Mapping[str, Any]) -> str:
    return plain(str(recipe.get("source") or recipe.get("project") or ""))


def _evidence(evidence: Mapping[str, Any]) -> list[str]:
    lines = [gettext(_GRADES.get(evidence["grade"], evidence["grade"]))]
    lines += wrapped(plain(" ".join(str(evidence.get("note") or "").split())), screen(_WIDTH))
    return [*lines, *(plain(str(source)) for source in evidence.get("sources") or ())]


def _example_title(example: Mapping[str, Any]) -> str:
    options = " ".join(_options(example.get("options") or {}))
    return gettext("For example, with {options}").format(options=options) if options else gettext("For example")


def _options(given: Mapping[str, Any]) -> Iterator[str]:
    """As one would write them: `--with trl==1.16.0 --with torch==2.9.0`, `--set model.parameters=5000000000`."""
    for name, value in given.items():
        if isinstance(value, Mapping):
            value = [f"{fact}={one}" for fact, one in value.items()]
        for one in value if isinstance(value, list) else [value]:
            yield f"--{name} {shlex.quote(str(one)) if any(mark in str(one) for mark in '<>*;') else one}"


def _example(example: Mapping[str, Any]) -> Iterator[str]:
    """The example's files as a difference where they are repaired, else as they are."""
    fixed = example.get("fixed") or {}
    for name, text in example["files"].items():
        yield f"{plain(name)}:"
        before = str(text).splitlines()
        if name in fixed:
            differences = difflib.ndiff(before, str(fixed[name]).splitlines())
            yield from (f"  {plain(line)}" for line in differences if not line.startswith("?"))
        else:
            yield from (f"    {plain(line)}" for line in before)
