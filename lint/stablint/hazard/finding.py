"""What is said of a hazard that holds: at what weight, at which place, with which facts and which repair."""

from __future__ import annotations

from stablint.base.language import gettext
from stablint.base.light import Any
from stablint.hazard import wording
from stablint.hazard.checked import Checked
from stablint.hazard.condition import Condition, deciding, evaluate, every, rests_on_use
from stablint.hazard.model import Finding, Hazard, Remedy, asks_about_change
from stablint.hazard.setting_subject import SettingSubject
from stablint.run.fact import ABSENT, LATE, OWN, PRESUMED, Default, Derived, Explicit, Fact, Place
from stablint.run.world import Facts, Run, defaults, leaves

_RANK = {"info": 0, "warning": 1, "error": 2}


def finding(
    hazard: Hazard,
    checked: Checked,
    world: Facts,
    item: str,
    releases: dict[str, str],
    partly: bool,
    turning: frozenset[str],
) -> Finding | None:
    """None for an info that nobody would act on. `releases`: those in which it holds, where that is not all (`partly`). `turning`: the libraries
    on whose releases it may depend."""
    names = list(dict.fromkeys(name for name in deciding(hazard.when, world) if not name.startswith("item.")))
    facts = tuple(world.fact(name) for name in names)
    decided = (*facts, world.fact(item)) if item and item not in names else facts
    presumed = [] if _of_one_file(decided, world.run) else [fact for fact in decided if fact.presumed]
    severity, notes = hazard.severity, []
    if severity == "error" and not _is_certain(list(hazard.error_when), world):
        severity = "warning"
    if presumed:
        severity = min(severity, "warning", key=_RANK.__getitem__)
        # A key is there or not, whoever overrules its value.
        if values := [fact for fact in presumed if not fact.name.startswith("keys.")]:
            notes.append(_presumption(values, world))
    if severity == "error" and rests_on_use(hazard.when, world):
        severity = "warning"  # what all releases in use do; another may be what runs
    if severity == "error" and (_of_flags_of_anybody(decided, world) or _of_a_file_of_anybody(decided, world)):
        severity = "warning"
    if _is_hint_by_recipes(names, world):
        severity = "info"
    if any(_of_a_copied_program(fact, world) for fact in presumed):
        severity = "info"
    # What an error tells of, a constructor refuses, but for a few faults: behind it nobody may have asked.
    if hazard.severity == "error" and _is_read_by(LATE, decided, world):
        return None
    unseen = _is_read_by(OWN, decided, world)
    if unseen:
        severity = "info"
    if item and (_about_keys(hazard.when) or _about_choices(hazard.when)) and (most := _most(world, item)):
        severity = min(severity, most, key=_RANK.__getitem__)
    unread = any(
        checked.run.releases.is_unread(library) for library in turning
    )  # a commit, older than the list perhaps
    if partly or unread:
        # Flags of somebody's own script were written for the releases of their time, which that project pins.
        of_program = bool(item) and world.scope(item) == PRESUMED
        severity = min(severity, "info" if of_program or unread else "warning", key=_RANK.__getitem__)
    if severity == "error" and item and (_speaks_against_a_list(world) or _may_be_of_older(world)):
        severity = "warning"
    divided = _divided(checked.run, turning, partly)
    if any(checked.run.releases.presumed(library) for library in divided):
        severity = min(severity, "warning", key=_RANK.__getitem__)
    if severity == "info" and not hazard.guesses and _is_idle(hazard, unseen, partly):
        return None
    case = next((one for one in hazard.cases if every(one.when, world) is True), None)
    message, at = (case.message, case.at or hazard.at) if case is not None else (hazard.message, hazard.at)
    if wording.quotes_nothing(message, world, _excluded(hazard.when)):
        return None
    fact, place, absent = _place(hazard._replace(at=at), world, names, item)
    remedies = _remedies(hazard, world)
    shown = _leaf_facts(
        world,
        facts + tuple(defaults(world, at)) + _chosen_by(next(iter(remedies), None), world) + _block_of(item, world),
    )
    return Finding(
        hazard,
        checked.run,
        world,
        severity,
        wording.fill(message, world),
        place,
        fact,
        absent,
        shown,
        remedies,
        releases,
        tuple(notes),
        item,
        divided,
    )


def _is_certain(asked: list[Condition], world: Facts) -> bool:
    """Whether what an error asks for besides is so, and not only presumed."""
    return every(asked, world) is True and not any(world.fact(name).presumed for name in deciding(asked, world))


def _is_idle(hazard: Hazard, unseen: bool, partly: bool) -> bool:
    """Whether nobody would change a thing for it: it rests on names of a program's own, or on a name on its way out that not every release
    that may run has a new one for."""
    return unseen or (partly and hazard.severity == "info" and asks_about_change(hazard))


# Programs without releases, which everybody copies and changes: what one of them fills in, a copy may not.
_COPIED = frozenset({"deepspeed-chat"})


def _of_a_copied_program(fact: Fact, world: Facts, depth: int = 0) -> bool:
    """Whether it rests on what such a program fills in, which is a guess of a copy."""
    if isinstance(fact.origin, Default):
        return fact.origin.library in _COPIED
    if not isinstance(fact.origin, Derived) or depth >= 8:
        return False
    return any(
        _of_a_copied_program(world.fact(name), world, depth + 1) for name in fact.origin.facts if name != fact.name
    )


def _is_read_by(reader: str, facts: tuple[Fact, ...], world: Facts) -> bool:
    """Whether it rests on settings that this reader takes: of names of a program's own nobody has seen what that makes of them."""
    return any(
        isinstance(leaf.origin, Explicit) and leaf.origin.reader == reader
        for fact in facts
        for leaf in leaves(world, fact.name)
    )


def _divided(run: Run, turning: frozenset[str], partly: bool) -> frozenset[str]:
    """The libraries whose releases are presumed, or are stated and not all of one mind about it."""
    releases = run.releases
    return frozenset(
        library
        for library in turning
        if releases.presumed(library) or (partly and (releases.stated(library) or releases.is_unread(library)))
    )


def _speaks_against_a_list(world: Facts) -> bool:
    """Whether it is about a name that only later releases have than those that a list beside the run asks for. Whoever wrote the name had such a
    release: it speaks against the list as much as against the run."""
    return isinstance(world, SettingSubject) and world.newer_in() in world.run.listed


def _may_be_of_older(world: Facts) -> bool:
    """Whether it is about a name that a release may have had which the stated range admits and nobody has read."""
    return isinstance(world, SettingSubject) and world.may_be_of_older()


# What a program hands on to a library, where it does: a launcher's own flags speak of other things.
_HANDED_ON = ("training.", "lora.", "quantization.", "trainer.")


def _of_flags_of_anybody(facts: tuple[Fact, ...], world: Facts) -> bool:
    """Whether it rests on flags of a program that is not seen to hand them to a library's arguments: it may read them itself."""
    if not world.framework.library:
        return False
    if world.run.classes.get("training") and world.scope("training") != PRESUMED:
        return False
    return any(
        fact.name.startswith(_HANDED_ON) and isinstance(fact.origin, Explicit) and fact.origin.layer == "flags"
        for fact in facts
    )


# What no file of a library's own trainer holds as a block: a program makes the objects of it that a library takes.
_MADE_BY_PROGRAMS = ("lora.", "quantization.")


def _of_a_file_of_anybody(facts: tuple[Fact, ...], world: Facts) -> bool:
    """Whether it rests on what a file says of an adapter or a quantiser that no framework reads: its program may complete it, or read words of
    its own. TRL's own file has such settings among the others, and is read where a command or a program reads it."""
    if not world.framework.library:
        return False
    read = not {"python", "notebook", "shell"}.isdisjoint(world.run.dialects)
    return any(
        fact.name.startswith(_MADE_BY_PROGRAMS)
        and isinstance(fact.origin, Explicit)
        and fact.origin.layer == "file"
        and not (read and world.framework.parser and len(fact.origin.place.path) == 1)
        for fact in facts
    )


def _is_hint_by_recipes(names: list[str], world: Facts) -> bool:
    """Whether a rate is held against few recipes, or with all weights against those of an objective that nobody states: preference training is
    right at a hundredth of supervised fine-tuning, pre-training far above it. What is above every objective's adapters is no guess."""
    if "derived.published_alarm" in names:
        return bool(world.value("derived.published_severity") == "info")
    if not any(name.startswith("derived.learning_rate_") for name in names):
        return False
    guessed = world.fact("derived.objective").presumed and world.value("derived.method") == "full"
    return bool(guessed or world.value("derived.learning_rate_severity") == "info")


def _most(world: Facts, item: str) -> str:
    """The weight of a strange argument at most. Somebody's own program may have arguments of its own, and a framework's classes drop what they do
    not know; the library's own arguments do not."""
    plain = item.startswith("training.") and world.value("derived.config_class") == "TrainingArguments"
    if world.framework.drops_unknown and not plain:
        return "info"
    origin = world.fact(item).origin
    of_program = isinstance(origin, Explicit) and origin.layer == "flags" and "python" in world.run.dialects
    return "warning" if of_program or world.scope(item) == PRESUMED else ""


# Files that may join a run although nothing names them (assemble/joining.py).
_NEIGHBOURS = frozenset(["deepspeed-file", "accelerate-file"])


def _of_one_file(facts: tuple[Fact, ...], run: Run) -> bool:
    """Whether one DeepSpeed or accelerate file says it all: then it holds for whatever run reads that file, unless a program changes it first."""
    origins = [fact.origin for fact in facts]
    stated = [origin for origin in origins if isinstance(origin, Explicit) and origin.layer in _NEIGHBOURS]
    if any(one.place.document.path in run.edited for one in stated):
        return False
    return bool(stated) and len(stated) == len(origins) and len({id(one.place.document) for one in stated}) == 1


# What is taken for granted of a run, by the derived fact that says so.
_TAKEN_FOR_GRANTED = {
    "derived.method": "if every weight is trained: no adapter is set in the files at hand",
    "derived.hf_trainer": "if the program leaves the loop to transformers' Trainer",
    "derived.objective": "if it is supervised fine-tuning: the files at hand do not say",
}


def _presumption(facts: list[Fact], world: Facts) -> str:
    """In words, or by the settings behind the facts that somebody else may set."""
    taken = {fact.name for fact in facts if fact.name != "derived.method" or fact.value == "full"}
    said = next((words for name, words in _TAKEN_FOR_GRANTED.items() if name in taken), None)
    if said is not None:
        return gettext(said)
    behind = [[leaf for leaf in leaves(world, fact.name) if leaf.presumed] or [fact] for fact in facts]
    names = list(dict.fromkeys(name for several in behind for leaf in several if (name := _told_as(leaf))))
    if not names:
        return gettext("unless something that is not at hand sets it")
    return gettext("unless set elsewhere: {names}").format(names=gettext(", ").join(f"`{name}`" for name in names[:3]))


def _told_as(fact: Fact) -> str:
    """As the text spells it, else by its library's name; what only stablint calls so is not told."""
    if isinstance(fact.origin, Explicit):
        return fact.origin.place.setting
    space, _, name = fact.name.partition(".")
    return "" if space in ("derived", "launch") else name or space


def _leaf_facts(world: Facts, facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """The facts that were read, each followed by the explicit ones that it came from."""
    found: dict[str, Fact] = {}
    for fact in facts:
        found.setdefault(fact.name, fact)
        for leaf in leaves(world, fact.name):
            found.setdefault(leaf.name, leaf)
    return tuple(found.values())


def _chosen_by(remedy: Remedy | None, world: Facts) -> tuple[Fact, ...]:
    """What the text says that made this remedy the one on offer: the reader wants to see it beside the edit."""
    names = dict.fromkeys(deciding(remedy.when, world)) if remedy is not None else ()
    return tuple(leaf for name in names if not name.startswith("item.") for leaf in leaves(world, name))


def _block_of(item: str, world: Facts) -> tuple[Fact, ...]:
    """A block inside a section may begin far above the setting that stands in it."""
    block = item.rpartition(".")[0]
    return tuple(leaves(world, block)) if block.count(".") > 1 else ()


def _place(hazard: Hazard, world: Facts, names: list[str], item: str) -> tuple[str, Place, bool]:
    """Where the text decides it: the first explicit leaf of `at`, of the other facts read, else the run's anchor."""
    wanted = item if hazard.at == "item" and item else hazard.at
    for leaf in leaves(world, wanted):
        if isinstance(leaf.origin, Explicit):
            place = leaf.origin.place
            if wanted == item and (item.startswith("keys.") or _about_keys(hazard.when)):
                place = _at_key(leaf.origin.key or place)
            return leaf.name, place, False
    fact = world.fact(wanted)
    plain = fact.value is not ABSENT and not isinstance(fact.origin, Derived)
    if plain and wanted in names:
        return wanted, world.run.anchor, True
    if plain:  # what was left alone decided nothing, a neighbour did: embeddings in modules_to_save, say, not in target_modules
        section = wanted.partition(".")[0] + "."
        names = [name for name in names if name.startswith(section)]
    for name in names:
        for leaf in leaves(world, name):
            if isinstance(leaf.origin, Explicit):
                return leaf.name, leaf.origin.place, False
    return wanted, world.run.anchor, True


def _at_key(place: Place) -> Place:
    """What is wrong with a key stands at the key, wherever its value is written."""
    entry = place.entry
    if entry is None or entry.key_start == entry.key_end:
        return place
    return place._replace(start=entry.key_start, end=entry.key_end)


def _about_keys(conditions: list[list[Any]]) -> bool:
    """Whether the key itself is what a hazard is about: unknown, renamed, removed."""
    return any(
        one[0] == "unknown-key" or one[1] in ("item.renamed_to", "item.removed_in", "item.moved_to", "item.added_in")
        if not isinstance(one[1], list)
        else _about_keys(one[1])
        for one in conditions
    )


def _excluded(conditions: list[list[Any]]) -> frozenset[str]:
    """The settings that are held against values which they are not to have: of one that nobody says that is true as well."""
    found: set[str] = set()
    for one in conditions:
        if isinstance(one[1], list):
            found |= _excluded(one[1])
        elif one[0] in ("is-not", "not-in"):
            found.add(one[1])
    return frozenset(found)


def _about_choices(conditions: list[list[Any]]) -> bool:
    """Whether it is the class's own list of values that a value is held against."""
    return any(
        one[0] == "one-of-enum" if not isinstance(one[1], list) else _about_choices(one[1]) for one in conditions
    )


def _remedies(hazard: Hazard, world: Facts) -> tuple[Remedy, ...]:
    """Those whose condition is true, the best first; one whose condition is not known is not offered."""
    return tuple(
        remedy for remedy in hazard.remedies if all(evaluate(condition, world) is True for condition in remedy.when)
    )
