"""A plain value against a JSON Schema that pydantic generated: faults with their place, said for whoever wrote the value.

Only the words of JSON Schema that such schemas use: loading jsonschema would cost more than a whole check.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from stablint.base.libraries import difflib
from stablint.base.meant import did_you_mean
from stablint.hazard.model import load
from stablint.policy import nearest_rules, rule_names
from stablint.secrets import exit

Path = tuple["str | int", ...]


def faults(
    value: Any, schema: dict[str, Any], path: Path = (), root: dict[str, Any] | None = None
) -> Iterator[tuple[Path, str]]:
    """What a value has against a schema, for the words of JSON Schema that the generated one uses."""
    root = schema if root is None else root
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        options = [root["$defs"][one["$ref"].rpartition("/")[2]] if "$ref" in one else one for one in schema["anyOf"]]
        fitting = [one for one in options if _is(value, one.get("type"))]
        if not fitting:
            yield (
                path,
                f"`{_dotted(path)}` is {_kind(value)}; wanted: {' or '.join(_wanted(one) for one in options if one.get('type') != 'null')}",
            )
        else:
            yield from faults(value, fitting[0], path, root)
        return
    if not _is(value, schema.get("type")):
        yield path, f"`{_dotted(path)}` is {_kind(value)}; wanted: {_wanted(schema)}"
    elif isinstance(value, dict):
        yield from _table_faults(value, schema, path, root)
    elif isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield path, f"`{_dotted(path)}` is empty"
        if len(value) > schema.get("maxItems", len(value)):
            yield path, f"`{_dotted(path)}` has {len(value):,} entries; at most {schema['maxItems']:,} are read"
            return
        for number, item in enumerate(value):
            yield from faults(item, schema.get("items", {}), (*path, number), root)
    elif "enum" in schema and value not in schema["enum"]:
        yield (
            path,
            f"`{_dotted(path)}` is {exit.quoted(str(value), schema['enum'])}; one of {', '.join(schema['enum'])}",
        )
    elif isinstance(value, str) and len(value) > schema.get("maxLength", len(value)):
        yield path, f"`{_dotted(path)}` has {len(value):,} characters; at most {schema['maxLength']:,} are read"
    elif "pattern" in schema and not re.search(schema["pattern"], value):
        near = _rules_meant(str(value), (schema["pattern"],))
        yield (
            path,
            f"`{_dotted(path)}`: {exit.quoted(str(value), near)} is not of the form that is wanted ({_example(schema)}){did_you_mean(near[:1])}",
        )
    elif value < schema.get("minimum", value) or (isinstance(value, str) and len(value) < schema.get("minLength", 0)):
        yield path, f"`{_dotted(path)}`: {value!r} is too small"


def _table_faults(
    value: dict[str, Any], schema: dict[str, Any], path: Path, root: dict[str, Any]
) -> Iterator[tuple[Path, str]]:
    properties, patterns = schema.get("properties"), schema.get("patternProperties")
    for key, inner in value.items():
        if properties is not None:
            if key in properties:
                yield from faults(inner, properties[key], (*path, key), root)
            else:
                yield (*path, key), f"unknown setting `{_dotted((*path, key))}`{_meant(key, properties)}"
        elif patterns is not None:
            fitting = next(
                (inner_schema for pattern, inner_schema in patterns.items() if re.search(pattern, key)), None
            )
            if fitting is None:
                near = _rules_meant(key, patterns)
                yield (
                    (*path, key),
                    f"{exit.quoted(key, near)} is no name that `{_dotted(path)}` can have{did_you_mean(near[:1])}",
                )
            else:
                yield from faults(inner, fitting, (*path, key), root)
    missing = [key for key in schema.get("required", ()) if key not in value]
    for key in missing:
        yield path, f"`{_dotted(path)}` says no `{key}`"
    if not missing and len(value) < schema.get("minProperties", 0):
        others = [key for key in schema.get("properties", ()) if key not in value]
        yield path, f"`{_dotted(path)}` says nothing: it wants one of {', '.join(others)}"


_OF_A_RULE = "(-[a-z0-9]+)+"  # the end of the pattern of rules' codes and names


def _rules_meant(word: str, patterns: Iterable[str]) -> list[str]:
    """The rule that was probably meant, where a rule should stand."""
    if not any(_OF_A_RULE in pattern for pattern in patterns):
        return []
    said = word.replace("_", "-").replace(" ", "-")
    return nearest_rules(said, rule_names(load()))


# What other linters call these settings.
_FAMILIAR = {
    "per-file-ignores": "per-path",
    "extend-per-file-ignores": "per-path",
    "overrides": "per-path",
    "extend-exclude": "exclude",
    "extend-select": "select",
    "extend-ignore": "ignore",
    "extends": "extend",
    "disable": "ignore",
    "enable": "select",
    "rules": "severity",
}


def _meant(key: str, known: dict[str, Any]) -> str:
    word = key.replace("_", "-").lower()
    familiar = _FAMILIAR.get(word)
    near = [familiar] if familiar in known else difflib.get_close_matches(word, known, 1, 0.6)
    return f": did you mean `{near[0]}`?" if near else f"; the settings are {', '.join(known)}"


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "boolean": (bool,), "array": (list,), "object": (dict,), "null": (type(None),), "number": (int, float),
}  # fmt: skip
_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a table",
    "number": "a number",
}


def _is(value: Any, wanted: str | None) -> bool:
    if wanted is None:
        return True
    return isinstance(value, _TYPES[wanted]) and not (isinstance(value, bool) and wanted in ("integer", "number"))


def _wanted(schema: dict[str, Any]) -> str:
    return ", ".join(schema["enum"]) if "enum" in schema else _WORDS.get(schema.get("type", ""), "something else")


def _kind(value: Any) -> str:
    return next(
        (
            _WORDS[name]
            for name, types in _TYPES.items()
            if name in _WORDS and isinstance(value, types) and _is(value, name)
        ),
        f"`{value}`",
    )


def _example(schema: dict[str, Any]) -> str:
    if "===" in schema["pattern"]:
        return "a specifier such as `>=0.20,<1`"
    if "*" in schema["pattern"][:8]:
        return "a glob such as `configs/**/*.yaml`, of at most six stars"
    return "a code such as `P101`, its beginning, or a rule's id"


def _dotted(path: Path) -> str:
    return ".".join(str(part + 1) if isinstance(part, int) else part for part in path) or "the settings"
