"""Settings that a newer release has elsewhere (knowledge/releases/renames.yaml): in the trainer's config, in a nested setting, as a value of another one."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import NamedTuple

import yaml

from stablint.fix import embedded
from stablint.fix.editors import Change, Impossible, Made, required, writer
from stablint.hazard.model import Finding
from stablint.hazard.setting_subject import SettingSubject
from stablint.run.fact import ABSENT, Explicit, Fact, Place, is_unknown
from stablint.run.releases.fields import Rename, field, renamed
from stablint.run.releases.pep440 import Key
from stablint.run.world import Run
from stablint.syntax.python import class_editor
from stablint.syntax.tree import Document, Edit, Verbatim

_CLASS_VERBS = "stablint.syntax.python.class_editor"


class _Home(NamedTuple):
    """The class that has the setting now, the setting's name there (empty where it is gone from there as well), and its default."""

    library: str
    word: str
    name: str
    default: object


def sectioned(finding: Finding, name: str) -> list[Change]:
    """A key of DeepSpeed's file goes into the section where it is read; nothing where it has slipped out of none."""
    fact, section = finding.run.explicit.get(name), SettingSubject(finding.world, name).word("belongs")
    if fact is None or not section or is_unknown(fact.value):
        return []
    value = int(fact.value) if isinstance(fact.value, float) and fact.value.is_integer() else fact.value  # 5e7
    return [Change(name, ABSENT), Change(f"deepspeed.{section}.{name.rpartition('.')[2]}", value)]


def moved(finding: Finding, name: str) -> Made:
    """The edits that say the setting where it belongs now. Raises Impossible."""
    run, fact = finding.run, finding.run.explicit.get(name)
    world = SettingSubject(finding.world, name)
    rename = world.rename()
    if fact is None or rename is None or rename.new is None or not isinstance(fact.origin, Explicit):
        raise Impossible("the new place is not known")
    if len(fact.sources) > 1:
        raise Impossible("it is said in two places")
    place = fact.origin.place
    head, _, tail = rename.new.rpartition(".")
    if head[:1].isupper():
        library = rename.library_class.partition(".")[0]
        yield from _into_class(fact, place, _home(run, world.choice, library, head, tail, fact), run)
    elif rename.values:
        yield from _as_value(fact, place, rename, run)
    elif head and "." not in head:
        _not_there(run, place, head)
        yield place.document, _renamed(place, head)
        yield place.document, _put(place, {tail: fact.value})
    else:
        raise Impossible("the new place has another form")


def new_class(finding: Finding, name: str) -> str:
    """The class that the arguments become one of where the setting moves into them (`trl.SFTConfig`); empty where they stay what they are."""
    run, rename = finding.run, SettingSubject(finding.world, name).rename()
    fact = run.explicit.get(name)
    head = rename.new.rpartition(".")[0] if rename is not None and rename.new else ""
    if fact is None or rename is None or not head[:1].isupper() or not isinstance(fact.origin, Explicit):
        return ""
    config = _config(run, fact.origin.place.document)
    if config is None or config.reader.rpartition(".")[2] != "TrainingArguments" or head == "TrainingArguments":
        return ""
    return f"{rename.library_class.partition('.')[0]}.{head}"


def _as_value(fact: Fact, place: Place, rename: Rename, run: Run) -> Made:
    """`group_by_length: true` → `train_sampling_strategy: group_by_length`; what was switched off needs no words."""
    said = rename.values.get(str(fact.value).lower())
    if place.document.format == "python" and not _is_literal(_written(place) or ""):
        raise Impossible("an option of the program decides its value")
    if said is None and fact.value is False:
        yield place.document, _removed(place)
        return
    if said is None or "(" in said or not rename.new or "." in rename.new:
        raise Impossible("the new place has another form")
    _not_there(run, place, rename.new)
    yield place.document, _renamed(place, rename.new)
    yield place.document, _put(place, yaml.safe_load(said))


def _not_there(run: Run, place: Place, key: str) -> None:
    if any(isinstance(f.origin, Explicit) and f.origin.place.path[:1] == (key,) for f in run.explicit.values()):
        raise Impossible(f"`{key}` is there already: say it in that")


def _into_class(fact: Fact, place: Place, home: _Home, run: Run) -> Made:
    """From the trainer's call into the call of its config, which becomes one of the class that has the setting."""
    entry = place.entry
    if place.document.format != "python" or entry is None:
        raise Impossible("the program that reads the file has to hand it on")
    if not home.name and not _is_literal(_written(place) or ""):
        raise Impossible("an option of the program decides its value, and no release of today reads it")
    if fact.value is None:
        raise Impossible("null may mean another thing in the new place")
    yield place.document, _removed(place)
    config = _config(run, place.document)
    # SFTTrainer alone makes its config of plain TrainingArguments (trl 0.24.0 trainer/sft_trainer.py); for any other they become it first
    has_default = config is None or home.word in ("SFTConfig", config.reader.rpartition(".")[2])
    if not home.name or (
        has_default
        and fact.value == home.default
        and type(fact.value) is type(home.default)
        and _is_literal(_written(place) or "")
    ):
        return  # it is what the config says anyway, or what no release reads any more
    if config is None:
        raise Impossible(f"the trainer has no {home.word} that it could be moved into")
    if config.reader.rpartition(".")[2] == "TrainingArguments" and home.word != "TrainingArguments":
        verbs = writer(config.place, _CLASS_VERBS)
        retyped = verbs.retype(config.place.document, config.place.entry, "TrainingArguments", home.word)
        brought = verbs.imported(config.place.document, config.place.entry, home.library, home.word)
        yield config.place.document, required(retyped, "the arguments' class has another name there")
        yield config.place.document, required(brought, f"nothing is imported from {home.library} by name")
    elif home.word not in (config.reader.rpartition(".")[2], "TrainingArguments"):
        raise Impossible(f"the trainer has no {home.word} that it could be moved into")
    if _has(run, home.name, config):
        raise Impossible(f"`{home.name}` is there already")
    value = _value(fact, place, config.place)
    added = writer(config.place).insert(config.place.document, config.place.entry, home.name, value)
    yield config.place.document, required(added, "the arguments cannot take it there")


def _config(run: Run, document: Document) -> Explicit | None:
    """The last keyword of the call that makes the trainer's config."""
    readers = {owner.removeprefix("?").rpartition(".")[2] for owner in run.classes.get("training", ())}
    found = [
        fact.origin
        for fact in run.explicit.values()
        if isinstance(fact.origin, Explicit)
        and fact.origin.layer == "call"
        and fact.origin.reader.rpartition(".")[2] in readers
        and fact.origin.place.document is document
        and len(fact.origin.place.path) == 1
        and fact.origin.place.entry is not None
        and fact.origin.place.entry.key_start < fact.origin.place.entry.key_end
    ]
    return max(found, key=lambda origin: origin.place.start, default=None)


def _has(run: Run, name: str, config: Explicit) -> bool:
    return any(
        isinstance(f.origin, Explicit) and f.origin.block == config.block and f.origin.place.path == (name,)
        for f in run.explicit.values()
    )


def _home(run: Run, choice: Mapping[str, Key], library: str, word: str, name: str, fact: Fact) -> _Home:
    """By what name the newest release has it there, and what it is there where nothing is said, if that is the same in all of them."""
    owner, release = f"{library}.{word}", choice.get(library)
    if release is None:
        raise Impossible("the release is not known")
    spans = field(owner, name)
    while spans is None or not spans.exists_at(release):
        further = renamed(owner, name)
        name = further.new if further is not None and further.new is not None and "." not in further.new else ""
        if not name:
            return _Home(library, word, "", None)
        spans = field(owner, name)
    defaults = {repr(spans.default_at(key)[1]) for key in run.releases.allowed(library) if spans.exists_at(key)}
    return _Home(library, word, name, spans.default_at(release)[1] if len(defaults) == 1 else object())


def _value(fact: Fact, place: Place, config: Place) -> object:
    """As it is written, if it means the same in the other call: a literal, or a name where one call stands in the other. Else the value of a
    plain name; what an object holds (`script_args.beta`) is an option that the user of the program sets."""
    text = _written(place)
    if text and (_is_literal(text) or (place.document.view is None and _inside(config, place))):
        return Verbatim(text)
    if is_unknown(fact.value) or fact.presumed or (text and not text.isidentifier()):
        raise Impossible("its value is known only where it stands now")
    return fact.value


def _written(place: Place) -> str | None:
    assert place.entry is not None
    if place.document.view is None:
        return class_editor.argument(place.document, place.entry)
    document, entry = embedded.inner(place.document, place.document.view, place.entry)
    return None if entry is None else class_editor.argument(document, entry)


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return True


def _inside(config: Place, place: Place) -> bool:
    """Whether the config is made within the trainer's call, where every name means the same."""
    calls = getattr(place.document.root, "calls", ())
    around = (call for call in calls if any(entry is place.entry for entry in call.arguments.entries))
    return any(call.start <= config.start < call.end for call in around)


def _removed(place: Place) -> Edit:
    return required(writer(place).remove(place.document, place.entry), "it cannot be removed there")


def _renamed(place: Place, key: str) -> Edit:
    return required(writer(place).rename(place.document, place.entry, key), "it cannot be renamed there")


def _put(place: Place, value: object) -> Edit:
    return required(writer(place).replace(place.document, place.entry, value), "its text is not a plain value")
