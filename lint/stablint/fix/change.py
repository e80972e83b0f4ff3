"""A remedy → edits: each change of a fact goes back into the very place that the fact came from, in that text's own words."""

from __future__ import annotations

from collections.abc import Iterator

from stablint.base import knowledge
from stablint.base.language import gettext
from stablint.base.light import Any
from stablint.fix import embedded, forbidden, relocate, syntax_repairs
from stablint.fix.editors import Change, Impossible, Made, required, writer
from stablint.fix.grade import Changed, graded, is_of_saved_adapter, is_passed_on, of_other_releases, wants_a_value
from stablint.fix.shipped import exchanged
from stablint.fix.values import resolved
from stablint.fix.wording import Insertion, insertion, row_of, said
from stablint.frameworks.codec import Unwritable
from stablint.hazard.model import Finding, Remedy
from stablint.report.model import FileEdits, Fix
from stablint.run.fact import ABSENT, CLOSED, Default, Explicit, Fact, Place, Statement, Supplied, is_unknown
from stablint.run.framework import framework
from stablint.run.world import Run
from stablint.syntax import limits
from stablint.syntax.tree import Document, Edit, Entry, Mapping, Text, Verbatim

_GUESSED = ("item.suggestion", "item.correction")  # names that a misspelled one may have meant


def propose(finding: Finding, purse: limits.Purse) -> Fix | None:
    """The first of the finding's remedies that the text takes, as edits; advice where it takes none; None where no remedy holds."""
    advice: Fix | None = None
    named: Fix | None = None  # it would make another training of the run: one that leaves it as it is comes first
    for remedy in finding.remedies:
        if remedy.safety == "manual":
            return named or advice or Fix("manual", remedy.title, (), remedy.because)
        if remedy.set and is_of_saved_adapter(finding):
            advice = advice or Fix("manual", remedy.title, (), gettext("the file says what the saved weights are"))
            continue
        if (remedy.swap or remedy.unset or remedy.move) and is_passed_on(finding):
            advice = advice or Fix(
                "manual", remedy.title, (), gettext("the call that passes the flag on is to be changed")
            )
            continue
        if remedy.swap and wants_a_value(finding, remedy):
            advice = advice or Fix(
                "manual", remedy.title, (), gettext("the flag stands alone, and the other may want a value")
            )
            continue
        try:
            changed, files = _written(finding, remedy, purse)
            if changed.facts:
                forbidden.refuse(finding, changed.facts)
        except Impossible as why:
            advice = advice or Fix("manual", remedy.title, (), gettext(str(why)))
            continue
        other = of_other_releases(finding, remedy) if finding.divided or finding.releases else ""
        if not files:
            advice = advice or Fix("manual", remedy.title, (), gettext("the text has no place to write it"))
        elif other == "manual":
            advice = advice or Fix(
                "manual",
                remedy.title,
                (),
                gettext("right for some of the releases that may run only: --with states yours"),
            )
        elif other and remedy.safety == "safe":
            return Fix("unsafe", remedy.title, files, gettext("an older release that is allowed may not take it"))
        else:
            fix = graded(finding, remedy, changed, files)
            if not fix.by_name or finding.severity == "info":
                return fix
            named = named or fix
    return named or advice


def _written(finding: Finding, remedy: Remedy, purse: limits.Purse) -> tuple[Changed, tuple[FileEdits, ...]]:
    """What of the run changes, and the edits."""
    _require_room(finding.place.document, purse)
    if remedy.mend:
        return Changed(), syntax_repairs.mended(finding.place, finding.hazard.id)
    if not remedy.move:
        changes = list(changes_of(finding, remedy))
        return Changed(changes), edits(finding.run, finding.fact, changes, purse)
    names = [finding.item if name == "item" else name for name in remedy.move]
    changes = [change for name in names for change in relocate.sectioned(finding, name)]
    if changes:
        return Changed(changes), edits(finding.run, finding.fact, changes, purse)
    files = _by_file((one for name in names for one in relocate.moved(finding, name)), purse)
    return Changed(arguments=next(filter(None, (relocate.new_class(finding, name) for name in names)), "")), files


def changes_of(finding: Finding, remedy: Remedy) -> Iterator[Change]:
    """What of the run the remedy changes. Raises Impossible."""
    world: Any = finding.world
    explicit = finding.run.explicit
    for name, wanted in remedy.set.items():
        value = resolved(wanted, world)
        name = finding.item if name == "item" else name
        if name.startswith("derived."):
            yield from _through_knobs(name, value, world)
        elif len(remedy.set) == 1 or not _is_default(name, value, world):
            yield Change(name, value)
    for name in remedy.unset:
        yield Change(finding.item if name == "item" else name, ABSENT)
    for old, new in remedy.swap:
        target = world.value(new) if new.startswith("item.") else new
        if is_unknown(target) or not target:
            raise Impossible("the new name is not known")
        if new in _GUESSED and f"{(finding.item if old == 'item' else old).rpartition('.')[0]}.{target}" in explicit:
            raise Impossible(f"`{target}` is there already")
        yield Change(finding.item if old == "item" else old, to=str(target))
    for name in remedy.respell:
        yield Change(finding.item if name == "item" else name, respell=True)


def _is_default(name: str, value: Any, world: Any) -> bool:
    """Whether nothing has to be written for it: of several settings only those that differ are."""
    fact = world.fact(name)
    certain = isinstance(fact.origin, Default) and not fact.origin.presumed and not fact.presumed
    return certain and fact.value == value and type(fact.value) is type(value)


def _through_knobs(name: str, value: Any, world: Any) -> Iterator[Change]:
    """Every stated fact that makes the old value true is changed: one that is left would overrule the others. Raises Impossible where none is stated."""
    rows = knowledge.load("knobs").get(name, {}).get(value)
    if rows is None:
        raise Impossible(f"nothing sets `{name}` to {value}")
    explicit, stated = world.run.explicit, False
    for row in rows:
        fact = explicit.get(row["fact"])
        if fact is None or fact.value != row["is"] or type(fact.value) is not type(row["is"]):
            continue
        stated = True
        if "swap" in row:
            yield Change(row["fact"], to=row["swap"])
        for target, new in row.get("set", {}).items():
            yield Change(target, new)
    if not stated and world.value(name) != value:
        raise Impossible(f"nothing that stands here makes `{name}` what it is")


def edits(run: Run, beside: str, changes: list[Change], purse: limits.Purse | None = None) -> tuple[FileEdits, ...]:
    """What the changes make of the texts of a run; a new setting stands beside the fact `beside`, where that is of its kind.

    Raises Impossible for a change that a text cannot take.
    """
    changes = exchanged(run, changes)
    return _by_file(
        (one for change in changes for one in _raise(change, run, beside, changes)),
        purse or limits.Purse(limits.REREAD),
    )


def _by_file(edits: Made, purse: limits.Purse) -> tuple[FileEdits, ...]:
    by_file: dict[str, tuple[Text, list[Edit]]] = {}
    inside: dict[tuple[str, int], tuple[Document, list[Edit]]] = {}
    for document, edit in edits:
        text = document.text
        if text.text[edit.start : edit.end] == edit.new_text:
            continue  # it is what stands there already
        _, made = by_file.setdefault(text.path, (text, []))
        if edit not in made:
            made.append(edit)
            if edit.inside is not None:
                inside.setdefault((text.path, document.number), (document, []))[1].append(edit)
    for document, made in inside.values():
        _require_faithful(document, made, purse)
    return tuple(FileEdits(text, _disjoint(made, text.text)) for text, made in by_file.values())


def _require_room(document: Document, purse: limits.Purse) -> None:
    """Raises Impossible where there is no room left to read the file anew, which is as much as the view holds at the least."""
    view = document.view
    if view is not None and purse.is_empty(document.text.path, len(view.source) + 2 * len(view.pieces)):
        raise Impossible(f"more than {purse.limit.most:,} {purse.limit.of}: {purse.limit.then}")


def _require_faithful(document: Document, edits: list[Edit], purse: limits.Purse) -> None:
    """Raises Impossible where the file, after the edits of one of its views, would not read as that view after them. Asked once for all of them: the
    file is read anew for it."""
    assert document.view is not None
    _require_room(document, purse)
    meant = _disjoint([edit.inside for edit in edits if edit.inside is not None], document.view.source)
    if not embedded.is_faithful(document, _disjoint(edits, document.text.text), meant, purse):
        raise Impossible("the text around it would read differently")


def _disjoint(edits: list[Edit], text: str) -> tuple[Edit, ...]:
    """Sorted; insertions at one point become one, in the order in which they were asked for; so do removals that share a comma."""
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    result: list[Edit] = []
    for edit in ordered:
        last = result[-1] if result else None
        if last is not None and last.start == last.end == edit.start == edit.end:
            result[-1] = Edit(edit.start, edit.end, last.new_text + edit.new_text)
        elif last is not None and edit.end <= last.end and not last.new_text and not edit.new_text:
            continue  # it goes with the block around it
        elif last is not None and edit.start < last.end and not last.new_text and not edit.new_text:
            result[-1] = _without_comma(last.start, edit.end, text)
        elif last is not None and edit.start < last.end:
            raise Impossible("two changes touch the same text")
        else:
            result.append(edit)
    return tuple(result)


def _without_comma(start: int, end: int, text: str) -> Edit:
    """A removal of several; what stands in front of it is the last one then, and keeps no comma."""
    before = text[:start].rstrip()
    if before.endswith(",") and text[end:].lstrip()[:1] in (")", "]", "}"):
        return Edit(len(before) - 1, end, "")
    return Edit(start, end, "")


def _raise(change: Change, run: Run, beside: str, changes: list[Change]) -> Made:
    fact = run.explicit.get(change.fact)
    stated = [s for s in fact.sources if isinstance(s.origin, Explicit)] if fact is not None else []
    places = [s.origin.place for s in stated if isinstance(s.origin, Explicit)]
    if fact is not None and isinstance(fact.origin, Supplied):
        raise Impossible(f"`{fact.origin.option}` sets it, whatever the file says")
    if change.to:
        yield from _rename(change, fact, places, run)
    elif change.value is ABSENT:
        for place, entry in _keys_of_block(change.fact, run) if fact is None else ():
            edit = writer(place).remove(place.document, entry)
            yield place.document, required(edit, "it cannot be removed there")
        for place in places:
            yield (
                place.document,
                required(writer(place).remove(place.document, place.entry), "it cannot be removed there"),
            )
    elif stated:
        assert fact is not None
        winner = stated[0]  # of duplicate keys the last
        value = fact.value if change.respell else change.value
        yield places[0].document, _put(value, winner, run, None if change.respell else winner.raw)
    else:
        yield _insert(change, run, beside, changes)


def _keys_of_block(name: str, run: Run) -> Iterator[tuple[Place, Entry]]:
    """A setting that is no fact of its own: the key in the mapping that a fact holds."""
    block, _, key = name.rpartition(".")
    origin = run.explicit[block].origin if block in run.explicit else None
    entry = origin.place.entry if isinstance(origin, Explicit) else None
    if isinstance(origin, Explicit) and entry is not None and isinstance(entry.value, Mapping):
        yield from ((origin.place, one) for one in entry.value.entries if one.key == key)


def _put(value: Any, winner: Statement, run: Run, old: Any) -> Edit:
    """The value in the place of a statement, in the words of its dialect, and in the style of those that stand there."""
    assert isinstance(winner.origin, Explicit)
    place = winner.origin.place
    try:
        written = said(value, old, row_of(winner.origin, winner.fact, run))
    except Unwritable as why:
        raise Impossible(str(why)) from None
    if place.document.format == "python" and isinstance(written, str) and written.startswith("torch."):
        written = Verbatim(written)
    return required(writer(place).replace(place.document, place.entry, written), "its text is not a plain value")


def _rename(change: Change, fact: Fact | None, places: list[Place], run: Run) -> Made:
    """`fp16: true` → `bf16: true`. Where the new name is there already, it takes the value and the old one goes."""
    if fact is None or not places:
        raise Impossible("it is not written down")
    new = run.explicit.get(change.to if "." in change.to else f"{change.fact.partition('.')[0]}.{change.to}")
    key = change.to.rpartition(".")[2]
    place = places[0]
    if (
        new is not None
        and new.sources
        and isinstance(new.origin, Explicit)
        and new.origin.place.entry is not place.entry
    ):
        there = new.origin.place
        yield (
            there.document,
            required(writer(there).replace(there.document, there.entry, fact.value), "its text is not a plain value"),
        )
        if isinstance(fact.value, bool):
            yield (
                place.document,
                required(
                    writer(place).replace(place.document, place.entry, not fact.value), "its text is not a plain value"
                ),
            )
        else:
            yield (
                place.document,
                required(writer(place).remove(place.document, place.entry), "it cannot be removed there"),
            )
        return
    for place in places:
        if place.entry is None:
            continue
        prefix, dot, _ = place.entry.key.rpartition(".")  # a flag with dots in it is one name
        name = prefix + dot + key
        if place.entry.key.replace("-", "_") != name:
            yield (
                place.document,
                required(writer(place).rename(place.document, place.entry, name), "it cannot be renamed there"),
            )


def _insert(change: Change, run: Run, beside: str, changes: list[Change]) -> tuple[Document, Edit]:
    """Beside another setting of the change, else of the same namespace, else beside the last one of the run's own text."""
    namespace = change.fact.partition(".")[0]
    explicit = run.explicit
    near = [c.fact for c in changes if c.fact != change.fact] + [beside] + list(explicit)[::-1]
    same = [name for name in near if name.partition(".")[0] == namespace and name in explicit]
    if namespace == "fsdp" and not same:
        same = [
            name for name in ("training.fsdp",) if name in explicit
        ]  # the trainer's FSDP, whose options have a block
    elsewhere = namespace in ("deepspeed", "fsdp") or (namespace in ("lora", "quantization") and not _whole(run))
    for name in (*same, *([] if elsewhere else near)):
        fact = explicit.get(name)
        if fact is None or not isinstance(fact.origin, Explicit) or fact.origin.place.entry is None:
            continue
        place = fact.origin.place
        if place.document.format == "python" and name.partition(".")[0] != namespace and name not in same:
            continue  # another call builds another object
        known = namespace == "training" or (namespace == "fsdp" and name.startswith("training."))
        if fact.origin.layer == "flags" and not known and run.scopes.get(namespace) != CLOSED:
            continue  # a script of somebody's own may not know the flag
        wanted = _insertion(change, fact.origin, run)
        edit = writer(place).insert(place.document, wanted.after, wanted.key, wanted.value) if wanted else None
        if edit is not None:
            return place.document, edit
    raise Impossible("there is no place beside which it could be written")


def _whole(run: Run) -> bool:
    """Whether the framework reads adapter and quantisation from the same text as everything else."""
    return any(framework(dialect).one_text for dialect in run.dialects[:1])


def _insertion(change: Change, beside: Explicit, run: Run) -> Insertion | None:
    """In Python a setting is a keyword of the call, and has the library's own name; one of a block that is not there brings the block.
    A dictionary that the program writes into a file has the words of whoever reads the file.
    """
    place = beside.place
    namespace, _, name = change.fact.partition(".")
    if place.document.format != "python" or (isinstance(place.document.root, Mapping) and namespace != "deepspeed"):
        return insertion(change.fact, change.value, beside, run)
    block, _, last = name.rpartition(".")
    if namespace == "fsdp" and place.path[:1] == ("fsdp",):
        block, namespace = "fsdp_config", "training"
    if namespace == "deepspeed" or "." in block or place.entry is None:
        return None
    if namespace == "quantization" and beside.reader.endswith(".from_pretrained") and not name.startswith("load_in_"):
        return None  # a loader takes the switches of a BitsAndBytesConfig, and none of the rest
    if not block or place.path[:-1] == (block,):
        return Insertion(last, change.value, place.entry) if place.path[:-1] == ((block,) if block else ()) else None
    taken = len(place.path) > 1 or f"{namespace}.{block}" in run.explicit
    return None if taken else Insertion(block, {last: change.value}, place.entry)
