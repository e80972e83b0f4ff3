"""knowledge/hazards/**.yaml → `_core` (what every check needs), `texts` (what a finding shows, a row a hazard), `examples` (what the tests run)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from stablint.compiling.reading import DEEPEST, LOADER, TOO_DEEP, plain, text_of, unwanted
from stablint.hazard.automaton import Automaton
from stablint.hazard.model import TOLD
from stablint.schema import hazard as hazard_schema
from stablint.schema import wrong as schema_faults
from stablint.syntax.yaml.error import is_nesting

READS = ("hazards",)
RECALLS = True

_BROKEN = 9  # files whose faults are told
_FACT = re.compile(
    r"(training|trainer|deepspeed|accelerate|fsdp|lora|quantization|model|tokenizer|data|launch|target|versions|derived|file|item)(\.[A-Za-z0-9_-]+)*\Z"
)
HOT = (
    "id", "code", "severity", "bites_at", "grade", "when", "at", "versions", "each", "yields_to", "reads", "quiet", "once", "keys", "error_when",
)  # fmt: skip
UNARY = frozenset({"is-integer", "one-of-enum", "is-set", "is-absent", "is-default", "exists-file", "unknown-key"})


Recall = Callable[[str, Callable[[], Any]], Any]
"""Gives what the work behind a text came to; the driver remembers it (compile.py)."""


def compile_hazards(root: Path, recall: Recall) -> dict[str, object]:
    """`_core` is what every check evaluates, a row of HOT a hazard, in the form that waking.py gives it; `told` what a finding needs besides.
    Raises ValueError for files that are no hazards."""
    compiled, wrong = read_folder(root / "hazards", recall=recall)
    if wrong:
        more = [f"and {len(wrong) - _BROKEN} more files"] if len(wrong) > _BROKEN else []
        raise ValueError("; ".join([*wrong[:_BROKEN], *more]))
    rows: list[dict[str, Any]] = compiled.pop("core")
    texts = compiled.pop("texts")
    return compiled | {
        "texts.rows": texts,
        "_core": [[row[key] for key in HOT] for row in rows],
        "told.rows": {row["id"]: {key: row[key] for key in TOLD} for row in rows},
    }


def read_folder(
    folder: Path, root: str | None = None, recall: Recall = lambda text, work: work()
) -> tuple[dict[str, Any], list[str]]:
    """Every file is validated against the one model of hazard files (stablint.schema); what it refuses is a line naming file and line, and the
    other files are read.

    The line shows of a file no more than keys and facts that nobody knows: it may be another than its author of hazards meant. With `root`, a
    folder, so is a file that leads, links followed, out of it.
    """
    core, texts, examples, healthy, wrong = [], {}, {}, {}, []
    for path in sorted(folder.rglob("*.yaml")):
        name = path.relative_to(folder.parent).as_posix()
        try:
            text = text_of(path, name, root)
            row, data = recall(f"{name}\n{text}", partial(_compile_file, text, name))
            if root is not None:  # of a house
                for part in ("when", "error_when"):
                    row[part] = [_in_one_pass(c) for c in row[part]]
                for remedy in row["remedies"]:
                    remedy["when"] = [_in_one_pass(c) for c in remedy["when"]]
        except ValueError as error:
            wrong.append(str(error) if str(error).startswith(name) else f"{name}: {error}")
            continue
        core.append(row)
        texts[data["id"]] = {key: value for key, value in data.items() if key not in ("examples", "healthy", "id")} | {
            "category": path.parent.name
        }
        if data["severity"] == "error" and "loop" not in data and (asked := trainer_of(data)):
            texts[data["id"]]["loop"] = "trainer" if asked == LOOPS["trainer"] else "trl"
        examples[data["id"]] = data["examples"]
        if data.get("healthy"):
            healthy[data["id"]] = data["healthy"]
    return {"core": core, "texts": texts, "examples": examples, "healthy": healthy}, wrong


def _compile_file(text: str, name: str) -> tuple[dict[str, Any], Any]:
    """What a check needs of one hazard, and the file as it stands. Raises ValueError that names the file."""
    data = plain(text, name)
    try:
        hazard_schema.HazardFile.model_validate(data)
    except ValidationError as error:
        raise ValueError(schema_faults.said(error, text, name, hazard_schema.HazardFile)) from error
    said_to_people = {key: value for key, value in data.items() if key not in ("examples", "healthy")}
    if not all(map(_is_printable, _texts(said_to_people))):
        raise ValueError(
            f"{name}:{_first_unprintable(text)}: a control or invisible character: a terminal would obey it"
        )
    data["when"] = asked(data)
    return _core(data), data


def asked(data: Mapping[str, Any]) -> list[Any]:
    """What must be true for a finding: of cases one."""
    cases = [{"all": case["when"]} for case in data.get("cases") or []]
    return [*(data.get("when") or []), *([{"any": cases}] if cases else [])]


def _texts(value: Any) -> Iterator[str]:
    """Every text within."""
    if isinstance(value, str):
        yield value
    for inner in (*value, *value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(inner)


def _is_printable(text: str) -> bool:
    return text.isprintable() or all(character.isprintable() or character in "\n\t" for character in text)


def _first_unprintable(text: str) -> int:
    """The line in which the first one stands, or is spelled by an escape of a quoted text."""
    scalars = (token for token in yaml.scan(text, Loader=LOADER) if isinstance(token, yaml.ScalarToken))
    return int(next(token.start_mark.line + 1 for token in scalars if not _is_printable(token.value)))


def _in_one_pass(condition: list[Any]) -> list[Any]:
    """A condition of a house hazard: its patterns are searched for by an engine that cannot explode, and refused where that one cannot."""
    operator, *rest = condition
    if operator in ("any", "all", "not"):
        return [operator, [_in_one_pass(inner) for inner in rest[0]]]
    if operator in ("any-item", "all-items"):
        return [*condition[:3], _in_one_pass(condition[3])]
    if operator != "matches":
        return condition
    if condition[2] == 2:
        raise ValueError(f"`matches {condition[3]}`: a pattern is written out, not taken from a fact")
    try:
        Automaton(str(condition[3]))
    except ValueError as error:
        raise ValueError(f"`matches {condition[3]}`: {error}") from error
    return ["matches-in-one-pass", *rest]


def _core(data: dict[str, Any]) -> dict[str, Any]:
    when = _when(data)
    return {
        "id": data["id"], "code": data["code"], "severity": data["severity"], "bites_at": data["bites_at"],
        "when": when, "message": data["message"], "at": data["at"],
        "remedies": [compiled_remedy(r) for r in data.get("remedies") or []],
        "cases": [{**case, "when": [condition(c) for c in case["when"]]} for case in data.get("cases") or []],
        "evidence": {key: data["evidence"][key] for key in ("grade", "sources")},
        "grade": data["evidence"]["grade"], "reads": facts_of_files(data["when"]),
        "versions": data.get("versions") or {}, "each": data.get("each") or [], "yields_to": data.get("yields_to") or [],
        "quiet": bool(data.get("quiet")), "once": data.get("once") or False,
        "keys": sorted(_keys(when) or ()),
        "error_when": [condition(c) for c in data.get("error_when") or []],
    }  # fmt: skip


def _keys(conditions: list[list[Any]]) -> set[str] | None:
    """How a setting must be spelled for the conditions to hold; None where they hold of others as well."""
    found: set[str] | None = None
    for operator, *rest in conditions:
        if operator == "all":
            keys = _keys(rest[0])
        elif operator == "any":
            branches = [_keys([branch]) for branch in rest[0]]
            known = [branch for branch in branches if branch is not None]
            keys = set[str]().union(*known) if len(known) == len(branches) else None
        elif operator in ("is", "in") and rest[0] == "item.key" and rest[1] == 1:
            keys = {rest[2]} if operator == "is" else set(rest[2])
        else:
            keys = None
        if keys is not None:
            found = keys if found is None else found & keys
    return found


LOOPS = {"trainer": "derived.hf_trainer is true"}
"""What the field `loop` of a hazard comes to, behind its own conditions."""

PHASES = {"training": "derived.trains is true"}
"""The same for the field `phase`."""


# Files whose lines are run by one trainer alone; a config's own checks are run whoever is given it.
_OF_TRAINERS = (
    (re.compile(r"(?:trl [\d.]+ |https://github\.com/huggingface/trl/blob/[^/]+/trl/)(?:\w+/)*\w+_trainer\.py"), "derived.trl_trainer is true"),
    (re.compile(r"(?:transformers [\d.]+ |https://github\.com/huggingface/transformers/blob/[^/]+/src/transformers/)trainer(?:_optimizer)?\.py"),
     LOOPS["trainer"]),
)  # fmt: skip


# What the arguments' own constructor checks it checks for whatever trainer, and in a program that names none.
_OF_ARGUMENTS = re.compile(
    r"(?:transformers [\d.]+ |https://github\.com/huggingface/transformers/blob/[^/]+/src/transformers/)training_args\.py"
)
CONSTRUCTED = "derived.hf_arguments is true"


def trainer_of(data: dict[str, Any]) -> str:
    """The condition that an error's evidence asks for: it is true where the trainer runs in whose file the first source stands; else empty."""
    first = data["evidence"]["sources"][0]
    return next((asked for pattern, asked in _OF_TRAINERS if pattern.match(first)), "")


def _when(data: dict[str, Any]) -> list[list[Any]]:
    """The conditions, and behind them what the fields `loop` and `phase` and an error's evidence ask for."""
    loop = LOOPS[data["loop"]] if data.get("loop") else ""
    if loop and data["severity"] == "error" and _OF_ARGUMENTS.match(data["evidence"]["sources"][0]):
        loop = CONSTRUCTED
    asked = [loop] if loop else []
    found = trainer_of(data) if data["severity"] == "error" else ""
    asked += [found] if found and found not in (*asked, *data["when"]) else []
    asked += [PHASES[data["phase"]]] if data.get("phase") else []
    return [condition(c) for c in (*data["when"], *asked)]


_WORKED_OUT = ("derived", "item", "target", "model", "versions", "file")


def facts_of_files(when: list[Any]) -> list[list[str]]:
    """The facts that conditions outside of groups read and that only files can state: [namespace, name]."""
    names = [c.split(None, 1)[0] for c in when if isinstance(c, str)]
    return [[name.partition(".")[0], name] for name in names if name.partition(".")[0] not in _WORKED_OUT]


def compiled_remedy(data: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": data["title"], "when": [condition(c) for c in data.get("when") or []], "safety": data["safety"], "because": data.get("because") or "",
        "set": data.get("set") or {}, "unset": _listed(data.get("unset")), "swap": _pairs(data.get("swap")), "respell": _listed(data.get("respell")),
        "move": _listed(data.get("move")), "mend": bool(data.get("mend")),
    }  # fmt: skip


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _pairs(value: dict[str, str] | None) -> list[list[str]]:
    return [list(pair) for pair in (value or {}).items()]


def condition(written: Any) -> list[Any]:
    """`FACT OPERATOR OPERAND` → [operator, fact, kind, operand], kind 0 none, 1 literal, 2 fact, 3 a condition on items; groups keep their name."""
    if isinstance(written, dict):
        ((name, inner),) = written.items()
        if name not in ("any", "all", "not"):
            raise ValueError(f"unknown group `{name}`")
        return [name, [condition(c) for c in (inner if isinstance(inner, list) else [inner])]]
    fact, operator, *rest = written.split(None, 2)
    if operator in UNARY:
        if rest:
            raise ValueError(f"`{operator}` takes no operand: {written}")
        return [operator, fact, 0, None]
    if not rest:
        raise ValueError(f"`{operator}` needs an operand: {written}")
    if operator in ("any-item", "all-items"):
        inner, *operand = rest[0].split(None, 1)
        kind, value = _operand(operand[0]) if operand else (0, None)
        return [operator, fact, 3, [inner, "item", kind, value]]
    kind, value = _operand(rest[0], _BASE if fact.startswith("versions.") else LOADER)
    return [operator, fact, kind, value]


_BASE: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def _operand(text: str, loader: Any = LOADER) -> tuple[int, Any]:
    """A fact, or a literal of YAML; of a release every figure counts, and 5.10 is not 5.1."""
    if _FACT.match(text) and "." in text:
        return 2, text
    if text.startswith(("^", "(?")):
        return 1, text
    try:
        if len(text) <= DEEPEST or unwanted(text) is None:
            return 1, yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        if not is_nesting(error):
            return 1, text
    raise ValueError(f"`{text[:40]} …` is {TOO_DEEP}")
