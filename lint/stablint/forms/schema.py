"""The JSON Schema of a framework's configuration in one release, made from what is known of its reader and its classes.

For editors (`# yaml-language-server: $schema=…`) and for check-jsonschema. Draft 7, which all of them read. What the knowledge does not say is not
restricted: a key whose type nobody has read takes anything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from stablint.assemble.asked import Options
from stablint.base.knowledge import load, rows
from stablint.base.language import gettext
from stablint.config.options import Wrong, meant
from stablint.engine.inspect import inspect
from stablint.forms.keys import DEFINITIONS, FLAG, NUMBER, Meaning, in_any_case, kinds, lines, times
from stablint.frameworks.accelerate_keys import PREFIXES
from stablint.frameworks.deepspeed import ROWS
from stablint.frameworks.torchtune_keys import COMPONENT, OF_A_RECIPE, OWN
from stablint.policy import is_about
from stablint.report.plain import shown
from stablint.run.fact import ABSENT, is_unknown
from stablint.run.forms import Form, forms
from stablint.run.framework import framework
from stablint.run.releases.allowed import Releases, known_keys
from stablint.run.releases.fields import FieldSpans, renamed
from stablint.run.releases.pep440 import Key, release_key, text_of
from stablint.run.releases.reader_keys import Reader, reader
from stablint.run.releases.taken import of_class, of_reader, release_of
from stablint.secrets import exit
from stablint.syntax.tree import Text

DRAFT = "http://json-schema.org/draft-07/schema#"


_PLAIN: dict[str, list[dict[str, Any]]] = {
    "bool": [{"type": "boolean"}],
    "int": [{"type": "integer"}],
    "float": [{"type": "number"}, NUMBER],
    "str": [{"type": "string"}],
    "Path": [{"type": "string"}],
    "None": [],
}
# The kinds of knowledge/keys/kinds.yaml.
_VALUES: dict[str, dict[str, Any]] = {
    "flag": {"anyOf": FLAG},
    "number": {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^[0-9]+$"}]},
    "words": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
}
_LIST = re.compile(r"(?:list|tuple|List|Tuple|Sequence)\b")
_DICT = re.compile(r"(?:dict|Dict|Mapping)\b")


def schema(name: str, asked: Options) -> dict[str, Any]:
    """Raises Wrong for a name that is none, and for a release that is not known."""
    known = forms()
    form = known.get(name)
    if form is None:
        raise Wrong(gettext("no configuration is called `{name}`{meant}").format(name=name, meant=meant(name, known)))
    releases = _releases(form, asked)
    words = _words(form, releases)
    if not words:
        library = (form.readers or form.classes)[0].partition(".")[0]
        raise Wrong(
            gettext("what {library} took in that release is not known; the oldest known is {oldest}").format(
                library=library, oldest=_oldest(library)
            )
        )
    told = sorted({library for library, _ in _asked(form, releases)})
    for library in told:
        _tell_unlisted(library, releases)
    which = ", ".join(f"{library} {_text(releases, library)}{_instead(releases, library)}" for library in told)
    tree = _nested(words, form, releases, Meaning(form.dialect, words, asked))
    if form.components and (components := reader(form.components)) is not None:
        tree = _with_components(tree, components, releases)
    if form.flags and (flags := reader(form.flags)) is not None:
        tree["properties"] |= _of_flags(form.flags, flags, releases)
    return {
        "$schema": DRAFT,
        "$id": f"urn:stablint:schema:{name}:{':'.join(f'{library}-{_text(releases, library)}' for library in told)}",
        "title": f"{form.title} ({which})",
        **tree,
        "definitions": DEFINITIONS | tree.get("definitions", {}),
    }


def _releases(form: Form, asked: Options) -> Releases:
    """What is asked for; where several libraries have a say, what goes together with it, as a file of this kind is judged."""
    releases = Releases.known()
    if len({library for library, _ in _asked(form, releases)}) > 1:
        top = os.path.abspath(os.sep)  # where no project says which releases it has
        path = os.path.join(top, "schema.json")
        texts = {path: Text(path, "schema.json", '{"learning_rate": 0.00001}')}
        runs = inspect([], asked._replace(dialect=form.dialect, policies=None), base=top, texts=texts).runs
        if runs:
            return runs[0].releases
    for library, specifier in asked.releases:
        try:
            releases = releases.restrict(library, specifier)
        except ValueError as error:
            raise Wrong(str(error)) from error
    return releases


def _tell_unlisted(library: str, releases: Releases) -> None:
    """A release that is in no list may be a developer's own or a slip of the hand: the schema is that of the release before it."""
    asked = release_of(releases, library)
    known = known_keys(library)
    if asked is None or asked in known:
        return
    before = [text_of(key) for key in known if key < asked]
    if before:
        exit.tell(
            gettext("{library} {release} is no release that is known: the schema is that of {before}").format(
                library=library, release=text_of(asked), before=before[-1]
            )
        )


def _text(releases: Releases, library: str) -> str:
    key = _shown_release(releases, library)
    return text_of(key) if key is not None else "?"


def _instead(releases: Releases, library: str) -> str:
    """Where the release that was asked for is in no list."""
    asked, made = release_of(releases, library), _shown_release(releases, library)
    return "" if asked is None or asked == made else f", for {text_of(asked)}, which is not known"


def _shown_release(releases: Releases, library: str) -> Key | None:
    """The release whose keys the schema has: what is asked for, or the last that is known before it."""
    asked, known = release_of(releases, library), known_keys(library)
    if asked is None or asked in known:
        return asked
    return max((key for key in known if key < asked), default=asked)


def _oldest(library: str) -> str:
    return next((text_of(key) for key in known_keys(library)), "none")


def _asked(form: Form, releases: Releases) -> Iterator[tuple[str, str]]:
    """The libraries that have a say, each with a reader or class."""
    for name in form.readers:
        one = reader(name)
        if one is not None:
            yield one.library, name
            yield from ((base.partition(".")[0], base) for base in one.bases)
    for name in form.classes:
        yield name.partition(".")[0], name


def _words(form: Form, releases: Releases) -> dict[str, FieldSpans | None]:
    """Every name with its declaration; the first form of a name is the one that is read."""
    readers = [one for name in form.readers if (one := reader(name)) is not None]
    words: dict[str, FieldSpans | None] = {}
    for word in chain(
        *(of_class(name, releases) for name in form.classes),
        *(of_reader(one, releases, plugins=True) for one in readers),
    ):
        words.setdefault(word.name, word.declared)
    return words


def _nested(words: dict[str, FieldSpans | None], form: Form, releases: Releases, meaning: Meaning) -> dict[str, Any]:
    """Dotted names as objects within objects."""
    top: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": form.more}
    top["properties"] |= {section: {} for section in form.sections}
    if form.remarks:
        top["patternProperties"] = {"^_": {}}
    concerned, every = _rules(form.facts, form.dialect), _rules("", form.dialect)
    own = [
        (one, release)
        for name in form.readers
        if (one := reader(name)) and (release := _shown_release(releases, one.library))
    ]
    for name in sorted(words):
        at = top
        *above, last = name.split(".")
        for part in above:
            inner = at["properties"].setdefault(part, {})
            if "properties" not in inner:  # known by its own name too, as a plain section
                inner.update({"properties": {}, "additionalProperties": True})
                inner.pop("anyOf", None)
            at = inner
        inner = at["properties"].get(last, {}).get("properties")
        at["properties"][last] = told = _key(name, words[name], form, releases, concerned)
        if words[name] is None and own:
            one, release = next((pair for pair in own if pair[0].ever(name)), own[0])
            _add_undeclared(told, name, one, release, meaning, every)
        if inner is not None:
            at["properties"][last]["properties"] = inner
    _close(top, form, releases)
    return top


def _add_short_names(top: dict[str, Any]) -> None:
    """A key's other spelling, with what is known of the key."""
    for short, row in ROWS.items():
        block, _, name = short.partition(".")
        known = top["properties"][block]["properties"]
        long = row.fact.rpartition(".")[2]
        if long in known:
            known[name] = known[long]


def _close(top: dict[str, Any], form: Form, releases: Releases) -> None:
    """No other keys in blocks that refuse them. One whose value is `auto` is left out before anything is looked at; it has no meaning either."""
    record = framework(form.dialect)
    if record.closed_blocks is None:
        return
    _add_short_names(top)
    for block, since in record.closed_blocks.items():
        release = release_of(releases, form.classes[0].partition(".")[0])
        if release is not None and release >= release_key(since):
            _refuse_others(top["properties"][block], record.taken_unread)


def _refuse_others(told: dict[str, Any], taken: tuple[str, ...]) -> None:
    if "properties" in told:
        told["additionalProperties"] = False
        told["patternProperties"] = {f"^({'|'.join(taken)})$": {}}
        for inner in told["properties"].values():
            _refuse_others(inner, taken)


def _with_components(tree: dict[str, Any], components: Reader, releases: Releases) -> dict[str, Any]:
    """A section that names a component of torchtune's own has the component's arguments and no others; a component of somebody else's has any."""
    arguments: dict[str, list[str]] = {}
    for word in of_reader(components, releases):
        component, _, argument = word.name.rpartition(".")
        arguments.setdefault(component, []).append(argument)
    alike: dict[tuple[str, ...], list[str]] = {}
    for component, names in sorted(arguments.items()):
        alike.setdefault(tuple(sorted({*names, COMPONENT, *OF_A_RECIPE})), []).append(f"{OWN}{component}")
    rules = [
        {
            "if": {"properties": {COMPONENT: {"enum": several}}, "required": [COMPONENT]},
            "then": {"properties": {name: {} for name in names}, "additionalProperties": False},
        }
        for names, several in alike.items()
    ]
    inner = {"$ref": "#/definitions/value"}
    value = {"items": inner, "additionalProperties": inner, "allOf": rules}
    # Draft 7 looks at nothing that stands beside a reference.
    properties = {key: {**told, "allOf": [inner]} if told else inner for key, told in tree["properties"].items()}
    return {
        **tree,
        "properties": properties,
        "additionalProperties": inner,
        "definitions": {"value": value},
    }


def _of_flags(name: str, flags: Reader, releases: Releases) -> dict[str, Any]:
    """The sections whose keys stand for flags of the launcher: with the section's prefix or without."""
    known = {word.name for word in of_reader(flags, releases)}
    release = _shown_release(releases, flags.library)
    assert release is not None, "its keys are known"
    found = {}
    for section, prefix in PREFIXES.items():
        start = f"{prefix.rstrip('_')}_"
        named = sorted(flag for flag in known if flag.startswith(start))
        concerned = _rules(section.removesuffix("_config"), "accelerate")
        keys = {
            key: {
                **kinds(flags.library, flag, release, any_case=True),
                "description": "\n".join([f"accelerate launch --{flag}", *concerned.get(flag.removeprefix(start), ())]),
            }
            for flag in named
            for key in (flag, flag.removeprefix(start))
        }
        found[section] = {"type": ["object", "null"], "properties": keys, "additionalProperties": False}
    return found


def _key(
    name: str, declared: FieldSpans | None, form: Form, releases: Releases, concerned: dict[str, list[str]]
) -> dict[str, Any]:
    told: dict[str, Any] = {}
    lines: list[str] = []
    release = release_of(releases, declared.library) if declared is not None else None
    if declared is not None and release is not None:
        exists, default = declared.default_at(release)
        kinds = list(_kinds(declared, release, form.auto))
        if kinds:
            told["anyOf"] = kinds
        kind = declared.type_at(release)
        lines.append(f"{declared.library_class}.{declared.name}" + (f": {kind}" if kind else ""))
        if exists and default is not ABSENT and not is_unknown(default):
            told["default"] = default
        elif is_unknown(default):
            lines.append(f"default: {default.reason}")
        if declared.since is not None:
            lines.append(f"since {declared.library} {text_of(declared.since)}")
        old = renamed(declared.library_class, declared.name)
        if old is not None and old.deprecated_in is not None and old.deprecated_in <= release:
            told["deprecated"] = True
            lines.append(f"deprecated: {f'`{old.new}` takes its place' if old.new else 'nothing takes its place'}")
    bare = name.removeprefix(f"{form.facts}_")  # an option may be written with its namespace in front
    for one in form.readers if declared is None else ():
        if (kind_of := load("kinds").get(one, {}).get(bare)) is not None:
            told |= _of_kind(kind_of)
    lines += concerned.get(bare, ())
    if lines:
        told["description"] = "\n".join(lines)
    return told


def _add_undeclared(
    told: dict[str, Any], name: str, one: Reader, release: Key, meaning: Meaning, concerned: dict[str, list[str]]
) -> None:
    """What is known of a key that no class declares."""
    said = kinds(one.library, name, release)
    if "enum" not in told and "anyOf" not in told and "anyOf" in said:
        told["anyOf"] = said["anyOf"]
    if "default" in said:
        told["default"] = said["default"]
    more = list(lines(name, meaning, concerned))
    if name in meaning.defaults:
        told["default"] = meaning.defaults[name][0]
    for line, farewell in times(one, name, release):
        more.append(line)
        if farewell:
            told["deprecated"] = True
    before = told.get("description", "").split("\n") if "description" in told else []
    if described := list(dict.fromkeys([*before, *more])):
        told["description"] = "\n".join(described)


def _of_kind(kind: str | list[Any] | dict[str, list[Any]]) -> dict[str, Any]:
    """An entry of knowledge/keys/kinds.yaml."""
    if isinstance(kind, list):
        return {"enum": kind}
    if isinstance(kind, dict):
        words = kind["any-case"]
        return {"anyOf": [{"enum": words}, *(in_any_case(word) for word in words if word)]}
    return _VALUES[kind]


def _kinds(declared: FieldSpans, release: Key, auto: bool) -> Iterator[dict[str, Any]]:
    """The alternatives of a type; none where it says nothing, or something that a file cannot hold."""
    kind, choices, more = declared.type_at(release), declared.choices_at(release), declared.extra_at(release)
    if more.get("words"):
        yield {"type": "string"}
        yield {"type": "null"}
        return
    found: list[dict[str, Any]] = []
    parts = [part.strip() for part in _split(kind or "")]
    if choices is not None:
        found.append({"enum": list(choices)})
        parts = [part for part in parts if part in ("bool", "int", "float") or _LIST.match(part) or _DICT.match(part)]
    bounds = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
    limits = {bounds[word]: value for word, value in more.items() if word in bounds}
    for part in parts:
        if part in _PLAIN:
            found += [{**one, **limits} if one.get("type") in ("integer", "number") else one for one in _PLAIN[part]]
        elif _LIST.match(part):
            found += [
                {"type": "array"},
                {"type": "string"},
            ]  # a word for a list of one, as parsers of command lines take it
        elif _DICT.match(part):
            found.append({"type": "object"})
        else:
            return  # a class of the library's own: what a file may say for it is not known
    if not found:
        return
    yield from found
    if auto:
        yield {"const": "auto"}
    yield {"type": "null"}


def _split(kind: str) -> Iterable[str]:
    """`dict[str, int] | None` at its outer bars."""
    depth, start = 0, 0
    for place, character in enumerate(kind):
        depth += {"[": 1, "]": -1}.get(character, 0)
        if character == "|" and depth == 0:
            yield kind[start:place]
            start = place + 1
    if kind[start:]:
        yield kind[start:]


def _rules(facts: str, dialect: str) -> dict[str, list[str]]:
    """The titles of the errors and warnings that are shown at each fact of a namespace, by the fact's name in it; of no namespace, by the whole name;
    without those of another framework."""
    found: dict[str, list[str]] = {}
    for text in sorted(rows("texts").whole().values(), key=lambda one: str(one["code"])):
        at = text.get("at")
        if (
            isinstance(at, str)
            and at.startswith(f"{facts}." if facts else "")
            and text["severity"] != "info"
            and is_about(text, dialect)
        ):
            found.setdefault(at.partition(".")[2] if facts else at, []).append(
                f"{text['code']} {text['severity']}: {shown(text['title']).strip(chr(34))}"
            )
    return found
