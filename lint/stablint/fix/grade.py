"""How far a repair goes by itself. Safe: the same training runs, and a failure that is certain in the releases of the run is gone.

Unsafe: somebody has to look at it, and a bulk repair may write it. By name: it follows from an info, or from what a program is not seen to do, or
would make another training of it on less than a certain failure, so it is written only where its rule is selected by its code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stablint.base.language import gettext
from stablint.base.light import Any, NamedTuple
from stablint.fix.editors import Change
from stablint.frameworks.huggingface import TRL_ONLY
from stablint.hazard.condition import facts_read
from stablint.hazard.hints import A_SLIP, nearest
from stablint.hazard.model import Finding, Remedy, asks_about_change
from stablint.hazard.setting_subject import SettingSubject
from stablint.report.model import FileEdits, Fix
from stablint.run.derived.registry import RULES
from stablint.run.fact import ABSENT, PRESUMED, Explicit, Fact, is_unknown
from stablint.run.releases.allowed import Releases
from stablint.run.releases.dating import bounded
from stablint.run.releases.fields import field, renamed
from stablint.run.world import Facts, World
from stablint.syntax.tree import Scalar

# What a training is: whoever repairs something else must leave it as it is.
_TRAINING = {
    "derived.method": "method",
    "derived.objective": "objective",
    "derived.compute_dtype": "precision",
    "derived.weights_dtype": "dtype of the weights",
}
# A warning about a format may bring a wider one: what could be told apart or counted before still can be.
_WIDER = (("float16", "bfloat16"), ("float16", "float32"), ("bfloat16", "float32"))
# Facts that somebody has reckoned from averages: what follows from them is an estimate.
_ESTIMATED = re.compile(r"derived\.(peak|rows?|training_state|weights\w*_gib|fitting|learning_rate)")
_OWN_NAME = "the program may have an option of its own by that name"

_PRESUMED = "what it rests on is presumed"
_OLDER = "the release is not stated, and older ones have the other name"


class Changed(NamedTuple):
    """What a repair does to a run: facts, and the class that its arguments become one of."""

    facts: Sequence[Change] = ()
    arguments: str = ""


def graded(finding: Finding, remedy: Remedy, changed: Changed, files: tuple[FileEdits, ...]) -> Fix:
    """The written repair with what it may do."""
    fix = Fix(remedy.safety, remedy.title, files, remedy.because)
    why = _doubt(finding, remedy) if fix.applicability == "safe" else ""
    by_name = finding.severity == "info" or (bool(finding.notes) and _is_estimate(finding))
    # what a name that nobody reads was meant to do, and with which value, is lost with it
    asked = [one[:2] for one in finding.hazard.when]
    unheard = (
        remedy.unset == ["item"] and ["unknown-key", "item"] in asked and ["is-set", "item.removed_in"] not in asked
    )
    by_name = by_name or (unheard and not finding.item.startswith("deepspeed."))
    by_name = by_name or (finding.run.unseen and bool(finding.notes) and not remedy.mend)
    by_name = by_name or _may_be_taken_by_nobody(finding, remedy)
    if finding.severity != "error":
        for words, was, is_now in _altered(finding, changed):
            why = why or gettext("it changes the {what}").format(what=gettext(words))
            by_name = by_name or (was, is_now) not in _WIDER or _is_estimate(finding)
    if why and fix.applicability == "safe":
        fix = fix._replace(applicability="unsafe", because=gettext(why))
    return _as_trusted(fix._replace(by_name=by_name), finding)


def _may_be_taken_by_nobody(finding: Finding, remedy: Remedy) -> bool:
    """Whether it adds a setting that is missing by presumption alone, to a file whose reader is not known: that may set it elsewhere, and take no
    such key (seventeen recipes of one repository would have ended with "Some keys are not used by the HfArgumentParser")."""
    run = finding.run
    return finding.place.document.format in ("yaml", "json") and any(
        name not in run.explicit and finding.world.scope(name) == PRESUMED for name in remedy.set
    )


def _as_trusted(fix: Fix, finding: Finding) -> Fix:
    """As the settings want the rule's repairs. What is written only by name stays so: the settings name rules, and not that training."""
    trust = finding.hazard.trust
    if trust == "demote" and fix.applicability == "safe":
        return fix._replace(applicability="unsafe", because=gettext("the settings want somebody to look at it"))
    if trust == "promote" and fix.applicability == "unsafe" and not fix.by_name:
        return fix._replace(applicability="safe", because="")
    return fix


def of_other_releases(finding: Finding, remedy: Remedy) -> str:
    """How a repair counts that not every release of the run may take: nothing is rewritten for a release that is a presumption, or that
    the stated ones exclude, and nothing taken out for one of several. Empty where each of them takes the new name."""
    of_arguments = finding.item.startswith(("training.", "trainer."))
    if (
        of_arguments
        and asks_about_change(finding.hazard)
        and not (remedy.swap or remedy.set or remedy.move or remedy.respell)
    ):
        return "manual"  # who runs an older release would lose what the setting does
    releases = finding.run.releases
    if any(_means_otherwise(finding, old, new) for old, new in remedy.swap):
        return "manual"  # older releases would take it, and go wrong without a word
    if not finding.divided:
        return ""
    if any(releases.is_unread(library) for library in finding.divided):
        return "manual"
    if any(releases.presumed(library) for library in finding.divided):
        # what a stated library asks of another is no presumption: an installer brings nothing older. Nor is what loads the model at all.
        sure = _able(finding.world, bounded(releases.certain(), finding.run.framework))
        certain = remedy.swap and not remedy.set
        return "" if certain and all(_taken(finding, old, new, sure) for old, new in remedy.swap) else "manual"
    if remedy.swap and not remedy.set and all(_taken(finding, old, new, releases) for old, new in remedy.swap):
        return ""
    if remedy.move and all(_has_place(finding, name) for name in remedy.move):
        return ""
    if remedy.safety == "unsafe" and remedy.set and all(_has_number(finding, name) for name in remedy.set):
        return ""
    return "manual" if any(releases.closed(library) for library in finding.divided) else "unsafe"


def _able(world: Facts, releases: Releases) -> Releases:
    """Those of transformers that know the model's architecture, unless the model may bring its own code."""
    first = world.value("model.min_transformers")
    if not isinstance(first, str) or world.value("model.trust_remote_code") not in (False, ABSENT):
        return releases
    return releases.restrict("transformers", f">={first}")


def is_of_saved_adapter(finding: Finding) -> bool:
    """Whether it stands in the file beside the weights of an adapter, which says what these are."""
    fact = finding.run.explicit.get(finding.fact)
    return fact is not None and isinstance(fact.origin, Explicit) and fact.origin.layer == "adapter-file"


def is_passed_on(finding: Finding) -> bool:
    """Whether the value comes from a flag of the program's own: its name is wrong in the call that passes it on, not in the command."""
    fact = finding.run.explicit.get(finding.item)
    return fact is not None and isinstance(fact.origin, Explicit) and fact.origin.key is not None


def _taken(finding: Finding, old: str, new: str, releases: Releases) -> bool:
    """Whether every release that is allowed has the new name, and takes under it what the old one took: from the release on that gave up the old
    one. `warmup_steps` is older than that, and counted steps."""
    found, begun = _renamed(finding, old, new)
    return bool(found) and all(
        one.exists_at(release) and release >= begun for one in found for release in releases.allowed(one.library)
    )


def _means_otherwise(finding: Finding, old: str, new: str) -> bool:
    """Whether a release that is allowed has the new name for something else."""
    found, begun = _renamed(finding, old, new)
    return any(
        one.exists_at(release) and release < begun
        for one in found
        for release in finding.run.releases.allowed(one.library)
    )


def _has_place(finding: Finding, name: str) -> bool:
    """Whether every release that is allowed has the setting in the class into which it moves."""
    rename = SettingSubject(finding.world, finding.item if name == "item" else name).rename()
    head, _, tail = (rename.new if rename is not None and rename.new else "").rpartition(".")
    if rename is None or not head[:1].isupper():
        return False
    library = rename.library_class.partition(".")[0]
    home = field(f"{library}.{head}", tail)
    return home is not None and all(home.exists_at(release) for release in finding.run.releases.allowed(library))


def _has_number(finding: Finding, name: str) -> bool:
    """Whether every release that is allowed takes whole numbers there: one is then as good as another."""
    head, _, tail = name.partition(".")
    owners = (field(owner.removeprefix("?"), tail) for owner in finding.run.classes.get(head, ()))
    home = next((one for one in owners if one is not None), None)
    return home is not None and all(
        home.exists_at(release) and "int" in (home.type_at(release) or "")
        for release in finding.run.releases.allowed(home.library)
    )


def wants_a_value(finding: Finding, remedy: Remedy) -> bool:
    """Whether a flag that stands alone gets another word's name, which may want a value: `--flash_attn`, `--attn_implementation`."""
    return any(_wants_a_value(finding, old, new) for old, new in remedy.swap)


def _wants_a_value(finding: Finding, old: str, new: str) -> bool:
    fact = finding.run.explicit.get(finding.item if old == "item" else old)
    entry = fact.origin.place.entry if fact is not None and isinstance(fact.origin, Explicit) else None
    if entry is None or not isinstance(entry.value, Scalar) or entry.value.form != "flag":
        return False
    world: Any = finding.world
    target = str(world.value(new)) if new.startswith("item.") else new
    last, word = target.rpartition(".")[2].replace("-", "_"), entry.key.rpartition(".")[2].replace("-", "_")
    found, _ = _renamed(finding, old, new)
    known = [kind for one in found if one.change_points and (kind := one.type_at(max(one.change_points)))]
    if known:
        return not all("bool" in kind for kind in known)
    return nearest(word, [last], A_SLIP) is None


def _renamed(finding: Finding, old: str, new: str) -> tuple[list[Any], Any]:
    """The fields of the new name in the classes of the run, and the release from which on it means what the old one meant."""
    world: Any = finding.world
    name = finding.item if old == "item" else old
    target = str(world.value(new)) if new.startswith("item.") else new.rpartition(".")[2]
    owners = [owner.removeprefix("?") for owner in finding.run.classes.get(name.partition(".")[0], ())]
    found = [one for one in (field(owner, target) for owner in owners) if one is not None]
    changes = [change for change in (renamed(owner, name.rpartition(".")[2]) for owner in owners) if change is not None]
    begun = max(
        (change.deprecated_in for change in changes if change.new == target and change.deprecated_in), default=()
    )
    return found, begun


def _doubt(finding: Finding, remedy: Remedy) -> str:
    """Why a repair that is safe where everything is known is not safe here."""
    if remedy.mend:
        return ""
    if finding.notes:  # they say what is presumed
        return _PRESUMED
    if (remedy.swap or remedy.unset or remedy.move) and _has_own_reader(finding):
        return _OWN_NAME
    if finding.releases and not finding.divided and (remedy.swap or remedy.move):
        return _OLDER
    return ""


def _has_own_reader(finding: Finding) -> bool:
    """Whether the setting is a flag of a program that nobody has read, or stands in a file that nothing at hand shows to be the library's."""
    fact = finding.run.explicit.get(finding.fact)
    origin = fact.origin if fact is not None else None
    if not isinstance(origin, Explicit):
        return False
    if origin.layer == "flags":
        return finding.run.scopes.get(finding.fact.partition(".")[0]) == PRESUMED
    if origin.layer != "file" or finding.run.dialects[:1] not in (("trl",), ("hf-args",)):
        return False
    said = (one.origin for one in finding.run.explicit.values())
    keys = {one.place.path[-1] for one in said if isinstance(one, Explicit) and one.layer == "file" and one.place.path}
    return not keys & TRL_ONLY


def _altered(finding: Finding, changed: Changed) -> Iterator[tuple[str, object, object]]:
    """What the training would no longer be: in words, as it is and as it would be."""
    if not changed.facts and not changed.arguments:
        return
    before = finding.world
    run = before.run._replace(explicit=_explicit(finding, changed.facts))
    if changed.arguments:
        run = run._replace(classes={**run.classes, "training": (changed.arguments, "transformers.TrainingArguments")})
    after = World(run, RULES, before.choice)
    for name, words in _TRAINING.items():
        was, is_now = before.value(name), after.value(name)
        if not is_unknown(was) and was is not ABSENT and not is_unknown(is_now) and was != is_now:
            yield words, was, is_now


def _explicit(finding: Finding, changes: Sequence[Change]) -> dict[str, Fact]:
    explicit = dict(finding.run.explicit)
    for change in changes:
        fact = explicit.get(change.fact)
        if change.to and fact is not None:
            name = change.to if "." in change.to else f"{change.fact.partition('.')[0]}.{change.to}"
            explicit[name] = explicit.pop(change.fact)._replace(name=name)
        elif change.value is ABSENT:
            explicit.pop(change.fact, None)
        elif not change.to and not change.respell:
            given = fact or Fact(change.fact, change.value, finding.world.fact(finding.fact).origin)
            explicit[change.fact] = given._replace(value=change.value, presumed=False)
    return explicit


def _is_estimate(finding: Finding) -> bool:
    return any(_ESTIMATED.match(name) for name in facts_read(finding.hazard.when))
