"""Unknown, absent and null are three things.

Every setting that an error was found by is put before the reader as something that only the run itself knows: a name from another module, the
result of a call, a parameter, `**kwargs`, a variable of the shell, `"$@"`, a template's blank. An error that is told then has to be told
for whichever value it may have; and an explicit null has to make what leaving the setting out makes, where the class takes null for that.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase as fnmatch
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stablint.base import knowledge
from stablint.engine.examples import example_options, write
from stablint.engine.inspect import Inspection, inspect
from stablint.hazard import model
from stablint.hazard.checked import Checked
from stablint.hazard.condition import GROUPS, facts_read
from stablint.hazard.verdict import asks_about_change
from stablint.run.fact import Explicit, Place
from stablint.run.world import World
from stablint.syntax.edit import apply
from stablint.syntax.json import editor as json_edit
from stablint.syntax.tree import Entry, Mapping, Scalar, Sequence
from stablint.syntax.yaml import editor as yaml_edit
from tests.grouped import by, each
from tests.hazard.louder import with_louder

EXAMPLES: dict[str, list[dict[str, Any]]] = knowledge.load("examples")
HAZARDS = {hazard.code: hazard for hazard in model.load()}
SAMPLE = 23  # of so many examples one is tried by default; all of them under `-m slow`

Files = dict[str, str]


class Form(NamedTuple):
    """One way to say what is not known. `written` stands for the value, or with `whole` for the key as well, so that nothing may be said;
    `first` stands at the head of the file, which `around` is put around."""

    written: str
    whole: bool = False
    first: str = ""
    around: str = ""


FORMS = {
    ".py": [
        Form("ours", first="from elsewhere import ours\n"),
        Form("ours()", first="from elsewhere import ours\n"),
        Form("ours", around="def main(ours):\n"),
        Form("**ours", whole=True, first="from elsewhere import ours\n"),
    ],
    ".sh": [Form("$OURS"), Form("${OURS}"), Form('"$@"', whole=True)],
    ".yaml": [Form('"${oc.env:OURS}"'), Form('"{{ ours }}"'), Form('"$OURS"')],
    ".yml": [Form('"${oc.env:OURS}"'), Form('"{{ ours }}"')],
}  # fmt: skip
NULL = {".py": "None", ".yaml": "null", ".yml": "null", ".json": "null"}
ABSENT = {".py": Form("**{}", whole=True), ".sh": Form("", whole=True)}
ANY = (None, True, False, 0, 1, 16, "no", "auto", "", [])


class Setting(NamedTuple):
    """A stated setting of an example, by the place of its key and value in a file."""

    fact: str
    file: str
    place: Place

    @property
    def entry(self) -> Entry:
        assert self.place.entry is not None
        return self.place.entry

    def written(self, files: Files, form: Form) -> Files:
        text = files[self.file]
        start = self.entry.key_start if form.whole else self.entry.value.start
        text = text[:start] + form.written + text[self.entry.value.end :]
        if form.around:
            text = form.around + "".join(f"    {line}" for line in text.splitlines(keepends=True))
        return files | {self.file: form.first + text}


def codes(found: Inspection) -> set[str]:
    return {d.code for d in found.report.diagnostics if d.severity == "error" and d.suppressed is None}


def looked(
    files: Files, given: dict[str, Any] | None, folder: Path, known: tuple[model.Hazard, ...] | None = None
) -> Inspection:
    write(files, str(folder))
    return inspect([str(folder)], example_options(given), base=str(folder), known=known)


def settings(found: Inspection, hazard: model.Hazard, files: Files, folder: Path) -> Iterator[tuple[World, Setting]]:
    """What the hazard's verdict rests on, where it is written down as a value of its own."""
    seen = set()
    for run in found.runs:
        world = Checked(run).newest
        read = [name for name in facts_read(hazard.when) if not name.startswith("item")]
        items = [name for name in run.explicit if any(fnmatch(name, pattern) for pattern in hazard.each)]
        for name in sorted(world.rests_on([*read, *items])):
            fact = run.explicit.get(name)
            origin = fact.origin if fact is not None else None
            if (
                not isinstance(origin, Explicit)
                or origin.place.entry is None
                or origin.layer in ("import", "environment")
            ):
                continue
            document, entry = origin.place.document, origin.place.entry
            file, node = os.path.relpath(document.text.path, folder), entry.value
            if document.view is not None or file not in files or not isinstance(node, (Scalar, Sequence, Mapping)):
                continue
            positional = entry.key_start == node.start
            if positional or not entry.key_end <= node.start < node.end or (file, node.start) in seen:
                continue
            seen.add((file, node.start))
            yield world, Setting(name, file, origin.place)


def values(hazard: model.Hazard, name: str, ending: str) -> Iterator[str]:
    """Values as the file writes them: those that the conditions speak of, and what any setting may be."""

    def compared(conditions: list[Any]) -> Iterator[Any]:
        for condition in conditions:
            if condition[0] in GROUPS:
                yield from compared(condition[1])
            elif condition[1] == name and condition[2] == 1:
                yield from condition[3] if isinstance(condition[3], list) else [condition[3]]

    # Of a number of epochs that is not known it is not assumed to be none: such a run trains nothing.
    some = [one for one in ANY if name != "training.num_train_epochs" or one != 0]
    for value in (*compared(hazard.when), *some):
        if ending == ".sh" and value is not None and not isinstance(value, (list, dict)):
            yield json.dumps(value) if isinstance(value, str) else str(value)
        elif ending != ".sh":
            yield repr(value) if ending == ".py" else json.dumps(value)


class Case(NamedTuple):
    hazard: model.Hazard
    number: int

    def __str__(self) -> str:
        return f"{self.hazard.id}-{self.number}"

    @property
    def example(self) -> dict[str, Any]:
        return EXAMPLES[self.hazard.id][self.number]


CASES = [
    Case(hazard, number)
    for hazard in HAZARDS.values()
    if hazard.severity == "error"
    for number in range(len(EXAMPLES[hazard.id]))
]
sampled = each(by(lambda case: case.hazard.id, str, CASES), SAMPLE)


def escapes(error: str, others: set[str]) -> bool:
    """Whether a run draws neither the error nor one before which the error keeps silent."""
    loud = {HAZARDS[code].id for code in others if code in HAZARDS}
    return error not in others and loud.isdisjoint(HAZARDS[error].yields_to if error in HAZARDS else ())


@sampled
def test_what_is_not_known_makes_no_error_that_some_value_would_not_make(case: Case, tmp_path: Path) -> None:
    example, given = case.example, case.example.get("options")
    tried: dict[str, set[str]] = {}

    def drawn(files: Files, known: tuple[model.Hazard, ...] | None = None) -> set[str]:
        """What the files draw of the `known`; the same value is not tried again for another form."""
        key = json.dumps([files, [one.code for one in known or ()]])
        if key not in tried:
            tried[key] = codes(looked(files, given, tmp_path / str(len(tried)), known))
        return tried[key]

    before = looked(example["files"], given, tmp_path / "before")
    for _, setting in settings(before, case.hazard, example["files"], tmp_path / "before"):
        ending = Path(setting.file).suffix
        for form in FORMS.get(ending, ()):
            if form.around and '"""' in example["files"][setting.file]:
                continue
            left = drawn(setting.written(example["files"], form))
            silent = [ABSENT[ending]] if form.whole else []
            for one in (*silent, *map(Form, values(case.hazard, setting.fact, ending))):
                if not left:
                    break
                would = drawn(setting.written(example["files"], one), with_louder(left))
                assert not {error for error in left if escapes(error, would)}, (
                    f"{setting.fact} as {form.written!r} draws what {one.written!r} does not"
                )


def without(setting: Setting, files: Files) -> Files | None:
    """The files with the setting left out; None where its text does not let go of it."""
    if setting.place.document.format == "python":
        return setting.written(files, ABSENT[".py"])
    remove = {"yaml": yaml_edit.remove, "json": json_edit.remove}.get(setting.place.document.format)
    edit = remove(setting.place.document, setting.place) if remove is not None else None
    return None if edit is None else files | {setting.file: apply(files[setting.file], [edit])}


@sampled
def test_null_makes_what_silence_makes_where_the_class_takes_it_for_that(case: Case, tmp_path: Path) -> None:
    example, given = case.example, case.example.get("options")
    if asks_about_change(case.hazard):
        pytest.skip("it is about the name, whatever stands behind it")
    before = looked(example["files"], given, tmp_path / "before")
    for number, (world, setting) in enumerate(settings(before, case.hazard, example["files"], tmp_path / "before")):
        word = NULL.get(Path(setting.file).suffix)
        silent = without(setting, example["files"])
        if word is None or silent is None or world.null_is_absence(setting.fact) is not True:
            continue
        null = setting.written(example["files"], Form(word))
        made, left = (codes(looked(files, given, tmp_path / f"{number}-{n}")) for n, files in enumerate((null, silent)))
        assert {error for error in made if escapes(error, left)} == set(), (
            f"{setting.fact} as null draws what silence does not"
        )
