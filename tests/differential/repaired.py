"""What a repair in bulk makes of files, as the calls that the real constructors are asked about: before it and after it."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from stablint.engine.examples import example_options
from stablint.engine.inspect import Inspection, inspect
from stablint.engine.repair import repair
from stablint.run.fact import Explicit, Fact, Secret
from stablint.run.world import Run
from stablint.syntax.tree import Unknown
from tests.differential.judge import Judge
from tests.differential.subjects import OUTSIDE, Given

Call = tuple[str, Given]
# Whose files give the libraries' classes what stands in them; other frameworks put words of their own into other words first.
_HANDS_ON = ("", "transformers", "trl")
_LIBRARY_OF = {"deepspeed": "deepspeed", "accelerate": "accelerate"}
_LIBRARIES = ("transformers.", "trl.", "peft.")
# What a constructor is given under each head of facts.
_HEADS = {"training": ("training", "trainer"), "lora": ("lora",), "quantization": ("quantization",)}


class Made(NamedTuple):
    """`before` and `after`: what is handed to one constructor."""

    where: str
    kind: str
    before: Given
    after: Given
    by: tuple[str, ...]  # rules whose repairs were offered
    beside: bool  # a parser shares the settings out: what the constructor does not know is somebody else's


HARMED = "harmed"
# What the judge's tiny model cannot answer for.
_OF_ANOTHER_MODEL = re.compile(
    r"Target modules .* not found|No modules were targeted|NoMatchingPeft|must be divisible by group_size"
)


class Judged(NamedTuple):
    """`what` became of a call; the errors are None where the constructor takes it."""

    what: str
    made: Made
    before_error: str | None = None
    after_error: str | None = None

    def recorded(self) -> dict[str, Any]:
        errors = [self.before_error, self.after_error]
        return {"kind": self.made.kind, "before": self.made.before, "after": self.made.after, "errors": errors}


def judged(judge: Judge, changed: Iterable[tuple[str, Made]]) -> Iterator[tuple[str, Judged]]:
    """Every changed call with what the newest releases' constructor says before and after."""
    fields: dict[str, frozenset[str] | None] = {}
    for source, one in changed:
        if one.kind not in fields:
            fields[one.kind] = _fields(judge, one.kind)
        known = fields[one.kind]
        if known is None:
            yield source, Judged("of a class that the newest release does not have", one)
            continue
        before, after = (
            {k: v for k, v in side.items() if not known or k in known or not one.beside}
            for side in (one.before, one.after)
        )
        if before != after:
            was, now = (judge.refuses(one.kind, _whole(one.kind, side)) for side in (before, after))
            yield source, Judged(_outcome(was, now), one._replace(before=before, after=after), was, now)


def _outcome(was: str | None, now: str | None) -> str:
    if now and _OF_ANOTHER_MODEL.search(now):
        return "of another model than the judge's"
    if was is None:
        return HARMED if now else "taken still"
    return "refused still" if now else "mended"


def _whole(kind: str, given: Given) -> Given:
    return ({"output_dir": "out"} | given) if kind.startswith("trl.") or kind.endswith("Arguments") else dict(given)


def _fields(judge: Judge, kind: str) -> frozenset[str] | None:
    """Of a class that a parser fills beside others: its names. Empty where every name is given as it stands; None where there is no such class."""
    if not (kind.startswith("trl.") or kind.endswith("Arguments")):
        return frozenset()
    if "has no attribute" in (judge.refuses(kind, _whole(kind, {})) or ""):
        return None
    return frozenset(judge.describe(kind)["fields"])


def repaired(base: str, options: dict[str, Any] | None, paths: list[str] | None = None) -> Iterator[Made]:
    """Every call that a run of these files comes to and that `--fix --unsafe-fixes` changes."""
    given, paths = example_options(options), paths or [base]
    found = inspect(paths, given, base=base)
    done = repair(paths, given, unsafe=True, base=base)
    if not done.texts:
        return
    was, now = _calls(found), _calls(done.inspection)
    rules = tuple(
        sorted({d.code for d in found.report.diagnostics if d.fix is not None and d.fix.applicability != "manual"})
    )
    for where in was.keys() & now.keys():
        if was[where] != now[where] and where[2] == now[where][0]:
            beside = not where[0].endswith((".py", ".ipynb"))
            yield Made(f"{where[0]}:{where[1]}", where[2], was[where][1], now[where][1], rules, beside)


def _calls(found: Inspection) -> dict[tuple[str, int, str], Call]:
    """By the file, the number of its run, and the constructor."""
    calls: dict[tuple[str, int, str], Call] = {}
    seen: dict[str, int] = {}
    for run in found.runs:
        if run.framework not in _HANDS_ON:
            continue
        name = run.anchor.document.text.name
        seen[name] = seen.get(name, 0) + 1
        for kind, given in _of_run(run):
            if run.releases.closed(_LIBRARY_OF.get(kind.partition("+")[0], kind.partition(".")[0])):
                continue  # it is repaired for the releases of the run
            calls[name, seen[name], kind] = (kind, given)
    return calls


def _of_run(run: Run) -> Iterator[Call]:
    for head, spaces in _HEADS.items():
        owner = next((one for one in run.classes.get(head, ()) if one.startswith(_LIBRARIES)), None)
        if owner is not None:
            given = {_key(fact, head): value for fact in _stated(run, spaces) if (value := _plain(fact)) is not _NONE}
            yield owner, {key: value for key, value in given.items() if key not in OUTSIDE}
    engine = {
        f.name.split(".")[1]: v for f in _stated(run, ("deepspeed",)) if (v := _plain(f)) is not _NONE and _in_file(f)
    }
    if engine and "auto" not in json.dumps(engine):
        yield "deepspeed", engine
    launch = {
        f.origin.place.path[0]: v
        for f in _of_accelerate(run)
        if isinstance(f.origin, Explicit) and (v := _plain(f)) is not _NONE
    }
    if "distributed_type" in launch and "deepspeed_config_file" not in json.dumps(launch):
        yield ("accelerate+deepspeed" if "deepspeed_config" in launch else "accelerate+fsdp"), launch


_NONE = object()


def _stated(run: Run, spaces: tuple[str, ...]) -> Iterator[Fact]:
    for name, fact in run.explicit.items():
        head, _, rest = name.partition(".")
        if head in spaces and rest and "." not in rest:
            yield fact


def _in_file(fact: Fact) -> bool:
    return (
        isinstance(fact.origin, Explicit) and fact.origin.layer == "deepspeed-file" and len(fact.origin.place.path) == 1
    )


def _of_accelerate(run: Run) -> Iterator[Fact]:
    """What stands at the top of accelerate's file."""
    for fact in run.explicit.values():
        if (
            isinstance(fact.origin, Explicit)
            and fact.origin.layer == "accelerate-file"
            and len(fact.origin.place.path) == 1
        ):
            yield fact


def _key(fact: Fact, head: str) -> str:
    """As the text spells it; adapters are spelled otherwise in recipes."""
    origin = fact.origin
    spelled = origin.place.path[-1] if isinstance(origin, Explicit) and origin.place.path else ""
    return fact.name.partition(".")[2] if head != "training" or not spelled else spelled


def _plain(fact: Fact) -> Any:
    """The value as the library gets it; `_NONE` where a file does not hold it."""
    raw = fact.sources[0].raw if fact.sources else fact.value
    if isinstance(raw, (Unknown, Secret)):
        return _NONE
    try:
        text = json.dumps(raw)
    except (TypeError, ValueError):
        return _NONE
    if "Unknown" in text:
        return _NONE
    return raw.removeprefix("torch.") if isinstance(raw, str) else copy.deepcopy(raw)
