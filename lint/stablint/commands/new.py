"""`stablint new`: a configuration and a launch script that are checked, fit, and say why."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from contextlib import suppress

from stablint.assemble.asked import Options
from stablint.base import knowledge
from stablint.base.language import gettext, ngettext
from stablint.base.libraries import difflib
from stablint.base.meant import did_you_mean
from stablint.base.whole import Changed, beside, deferred, scratch, state, sweep, take_place
from stablint.commands.outputs import stays
from stablint.config.options import Wrong, options
from stablint.config.selection import Selection, chosen
from stablint.config.spec import CLEAN, FOUND
from stablint.engine.inspect import Inspection, inspect
from stablint.fitting.terms import GIB
from stablint.hardware.gpu import Gpu, is_unnamed, parse_gpu
from stablint.hazard.model import load
from stablint.models.nature import describe
from stablint.proposing.asked import Made, Nothing, Request
from stablint.proposing.search import Proposal, Search, serves
from stablint.proposing.values import labelled
from stablint.report.plain import plain, to_json
from stablint.secrets import exit

_ALIKE = 0.95
_DATA = {"sft": "messages", "dpo": "preference", "grpo": "prompt-only"}


def run_new(given: argparse.Namespace) -> int:
    """0 written, 1 nothing can be promised; nothing is written then."""
    folder = given.output or _folder(given)
    before = _states(folder) if given.force else {}
    request, gpu = requested(
        given.model,
        given.gpu,
        given.framework,
        given.method,
        given.objective,
        given.length,
        given.data,
        given.gpu_memory,
    )
    try:
        found = proposed(request, gpu)
    except Nothing as no:
        answer = _no(no, gpu)
        exit.say(refused(no)) if given.output_format == "full" else exit.hand_over(to_json(_as_data(answer)))
        return FOUND
    for name in _written(folder, found.files, given.force, before):
        exit.tell(gettext("wrote {name}").format(name=plain(name)))
    exit.say(told(request, found)) if given.output_format == "full" else exit.hand_over(to_json(_as_data(_yes(found))))
    return CLEAN


def proposed(request: Request, gpu: Gpu) -> Proposal:
    """Raises Nothing where nothing that was asked for is safe and fits."""
    if _runs_code_of_its_own(request.model):
        raise Nothing(
            gettext(
                "{model} loads code of its own repository (trust_remote_code), which was written for older releases "
                "than those that this would be worked out for: "
                "nobody has seen them together"
            ).format(model=request.model),
            would_do=(
                gettext(
                    "a later model of the same makers whose class is one of transformers' own, such as Qwen/Qwen1.5-7B for Qwen/Qwen-7B"
                ),
            ),
        )

    with scratch("new") as outer:

        def look(files: Mapping[str, str], card: Gpu, rules: bool) -> Inspection:
            folder = os.path.join(outer, str(len(os.listdir(outer))))
            _put(folder, files)
            named = request.model if os.path.isdir(request.model) else None
            said = Options(gpus=((labelled(card), card),), model=named, root=folder)
            return inspect([folder], said, base=folder, known=None if rules else ())

        found = Search(request, gpu, look).proposal()
        if found.notes:  # of rules that are on by default, as `check` has them
            spoken = {hazard.code for hazard in chosen(load(), Selection())}
            found = found._replace(notes=tuple(one for one in found.notes if one.partition(":")[0] in spoken))
        if is_unnamed(gpu):
            told_so = gettext(
                "no card is named: bf16 is taken to work on it, as on NVIDIA's since Ampere; --gpu names it"
            )
            found = found._replace(notes=(*found.notes, told_so))
        return found


def _runs_code_of_its_own(model: str) -> bool:
    kind = (describe(model) or {}).get("model.type")
    return isinstance(kind, str) and bool((knowledge.rows("models/types").get(kind) or {}).get("custom_code"))


def made(request: Request, gpu: Gpu) -> Made:
    """For programs: the same answer, a no too."""
    try:
        return _yes(proposed(request, gpu))
    except Nothing as no:
        return _no(no, gpu)


def _yes(found: Proposal) -> Made:
    assert found.told.estimate is not None
    return Made(
        "fits", found.files, found.told.estimate.needed / GIB, found.told.usable, found.choice, "", found.rejected, ()
    )


def _no(no: Nothing, gpu: Gpu) -> Made:
    return Made("does-not-fit", {}, None, gpu.most_memory_gib, None, str(no), no.rejected, no.would_do)


def _as_data(answer: Made) -> dict[str, object]:
    return {
        "schema_version": 1, **answer._asdict(), "files": sorted(answer.files), "choice": answer.choice._asdict() if answer.choice is not None else None,
    }  # fmt: skip


def requested(
    name: str,
    card: str | None,
    framework: str,
    method: str,
    objective: str,
    length: int,
    data: str | None,
    memory: str | None = None,
) -> tuple[Request, Gpu]:
    """Raises Wrong for a model, card or format that is not known, with the nearest that is."""
    known = knowledge.load("proposals")["frameworks"]
    if framework not in known:
        raise Wrong(
            gettext("--framework {framework}: one of {names}").format(framework=framework, names=", ".join(known))
        )
    record = known[framework]
    model = os.path.abspath(name) if os.path.isdir(name) else name
    if not os.path.isdir(model) and (describe(model) is None or _misspelled(model)):
        raise Wrong(
            gettext("unknown model `{model}`").format(model=model)
            + (
                did_you_mean(_near(model))
                or gettext(": give a name on the hub that is known, or a folder with its config.json")
            )
        )
    if not serves(record, model):
        others = ", ".join(sorted({row["hub"] for row in record["models"].values()}))
        raise Wrong(
            gettext(
                "{framework} has no builder for `{model}`: it has them for {others}; other frameworks take any model"
            ).format(framework=record["title"], model=model, others=others)
        )
    if objective not in record["objectives"]:
        raise Wrong(
            gettext("--objective {objective}: `new` writes {names} for {framework}").format(
                objective=objective, names=", ".join(record["objectives"]), framework=record["title"]
            )
        )
    data = data or _DATA[objective]
    if data not in record["data"]:
        raise Wrong(
            gettext("--data {data}: {framework} is given one of {names}").format(
                data=data, framework=record["title"], names=", ".join(record["data"])
            )
        )
    if length < 1:
        raise Wrong(gettext("--length {length}: a number of tokens").format(length=length))
    if card is None and memory is None:
        raise Wrong(gettext("--gpu or --gpu-memory: which cards the run will have"))
    if card is None:
        card, gpu = options(gpu_memory=memory).gpus[0]
        gpu = gpu._replace(native_bf16=True)  # which a note says
    else:
        gpu = _least(options([card]).gpus[0][1])
        if memory is not None:
            card, stated = options([card], gpu_memory=memory).gpus[0]
            gpu = gpu.of_memory(stated.memory_gib or 0.0)._replace(count=stated.count)
    if gpu.most_memory_gib is None and gpu.memory_gib is None:
        raise Wrong(gettext("--gpu {card}: how much memory it has is not known").format(card=card))
    gpu = gpu._replace(count=gpu.count or 1, most_memory_gib=gpu.most_memory_gib or gpu.memory_gib)
    assert gpu.count is not None
    return Request(model, card, gpu.count, method, framework, objective, length, data, ""), gpu


def _least(gpu: Gpu) -> Gpu:
    """Of the cards that a name may mean the one with the least memory: what is written holds on each of them."""
    cards = [card for name in gpu.options if (card := parse_gpu(name)) is not None and card.most_memory_gib is not None]
    if len(gpu.options) < 2 or not cards:
        return gpu
    return min(cards, key=lambda card: card.most_memory_gib or 0)._replace(count=gpu.count)


def _misspelled(model: str) -> bool:
    """Whether it is all but a letter or two a published name, of the same organisation."""
    name = model.lower()
    ids = knowledge.rows("models/ids")
    if name in ids or "/" not in name:
        return False
    owner = name.partition("/")[0] + "/"
    alike = (one for one in ids if one.startswith(owner) and abs(len(one) - len(name)) < 2)
    return any(
        difflib.SequenceMatcher(None, name, one).ratio() > _ALIKE and not _other_size(name, one) for one in alike
    )


def _other_size(one: str, other: str) -> bool:
    """Numbers tell models apart; a letter is a slip."""
    return [c for c in one if c.isdigit()] != [c for c in other if c.isdigit()]


def _near(model: str) -> list[str]:
    ids = list(knowledge.rows("models/ids"))
    short = {one.rpartition("/")[2]: one for one in ids}
    name = model.lower()
    whole = difflib.get_close_matches(name, ids, 2, 0.8)
    named = [short[one] for one in difflib.get_close_matches(name.rpartition("/")[2], short, 2, 0.8)]
    spelled = knowledge.load("proposals")["spelled"]
    return [spelled.get(one, one) for one in dict.fromkeys([*whole, *named])][:2]


def _folder(given: argparse.Namespace) -> str:
    name = os.path.basename(given.model.rstrip("/")).lower()
    return f"{name}-{given.objective}-{given.framework.replace('+', '-')}"


def _states(folder: str, deep: bool = True) -> dict[str, tuple[int, ...]]:
    """Of the files that are there before the answer is worked out: --force writes over these, and over nothing that is typed meanwhile."""
    found: dict[str, tuple[int, ...]] = {}
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            path = os.path.join(folder, entry.name)
            found[path] = state(path)
            if deep and entry.is_dir(follow_symlinks=False):
                found |= _states(path, deep=False)
    return found


def _written(folder: str, files: dict[str, str], force: bool, before: Mapping[str, tuple[int, ...]]) -> list[str]:
    """All or nothing: a file that is there stays what it is."""
    paths = {name: os.path.join(folder, name) for name in files}
    for path in paths.values():
        sweep(path)
    there = [path for path in paths.values() if os.path.lexists(path)]
    if there and not force:
        raise Wrong(
            ngettext(
                "{names} exists: nothing was written; --force writes over, --output FOLDER elsewhere",
                "{names} exist: nothing was written; --force writes over, --output FOLDER elsewhere",
                len(there),
            ).format(names=", ".join(there), more="exists" if len(there) == 1 else "exist")
        )
    stays("--output", os.path.join(folder, next(iter(files), "")))
    try:
        _put(folder, files, before)
    except Changed as error:
        raise Wrong(
            gettext("{name} was changed while stablint worked: it was left as it is; run stablint again").format(
                name=plain(str(error))
            )
        ) from error
    except OSError as error:
        raise Wrong(
            gettext("--output {folder}: {strerror}: nothing was written").format(
                folder=folder, strerror=error.strerror or error
            )
        ) from error
    return list(paths.values())


def _put(folder: str, files: Mapping[str, str], before: Mapping[str, tuple[int, ...]] | None = None) -> None:
    """Each file is whole beside its place before the first takes it: on a full disk what is there stays, and no folder of ours does. A link is
    replaced, not followed. `before`: what was there. Raises Changed, with the name of a file that is no longer so."""
    before = before or {}
    made: dict[str, str] = {}
    folders: list[str] = []
    with deferred(f"{folder} is written, each file whole"):
        try:
            for name, content in files.items():
                path = os.path.join(folder, name)
                folders += _made(os.path.dirname(path) or ".")
                new = beside(path)
                with open(new, "x", encoding="utf-8", newline="\n") as file:
                    made[new] = path
                    file.write(content)
                if name.endswith(".sh"):
                    os.chmod(new, 0o755)
            changed = next((path for path in made.values() if state(path) != before.get(path, ())), "")
            if changed:
                raise Changed(changed)
            for new, path in made.items():
                take_place(new, path, before.get(path, ()))
        finally:
            for new in made:
                with suppress(OSError):
                    os.unlink(new)
            for one in reversed(folders):
                with suppress(OSError):  # what was written stands in it
                    os.rmdir(one)


def _made(folder: str) -> list[str]:
    """The folders that had to be made for it, the outermost first."""
    lacking: list[str] = []
    above = folder
    while above and not os.path.lexists(above):
        lacking.insert(0, above)
        above = os.path.dirname(above)
    os.makedirs(folder, exist_ok=True)
    return lacking


def told(request: Request, found: Proposal) -> str:
    choice, estimate = found.choice, found.told.estimate
    assert estimate is not None and found.told.reading is not None
    _, usual, most = found.told.peak
    need = gettext(
        "peak {usual} GiB a card, {most} at most, of {usable} (at: {moment}); `check` finds nothing, `fit` says it fits"
    )
    if found.notes:
        need = gettext(
            "peak {usual} GiB a card, {most} at most, of {usable} (at: {moment}); `check` finds nothing but notes, `fit` says it fits"
        )
    lines = [
        gettext("{model}: {method} in {precision}, {start}, {batch} x {accumulation} rows a card and step").format(
            model=request.model,
            method=choice.method,
            precision=choice.precision,
            start=found.told.reading.start,
            batch=choice.batch,
            accumulation=choice.accumulation,
        ),
        need.format(
            usual=f"{usual:.1f}",
            most=f"{most:.1f}",
            usable=f"{found.told.usable:.1f}",
            moment=gettext(estimate.moment),
        ),
        *(f"{gettext('note:')} {plain(one)}" for one in found.notes),
    ]
    if estimate.host:
        lines.append(
            gettext("{number} GiB of the host's memory for all processes: see that it is there").format(
                number=f"{estimate.host * request.cards / GIB:.0f}"
            )
        )
    lines += [gettext("not taken: {choice}").format(choice=plain(one)) for one in found.rejected]
    lines += [f"{gettext('assumed:')} {plain(one)}" for one in found.told.reading.assumptions]
    return "".join(f"{line}\n" for line in lines)


def refused(no: Nothing) -> str:
    lines = [
        gettext("no: {why}").format(why=no),
        *(f"  {gettext('not taken: {choice}').format(choice=plain(one))}" for one in no.rejected),
    ]
    if no.would_do:
        lines += [gettext("what would do:"), *(f"  {plain(one)}" for one in no.would_do)]
    return "".join(f"{line}\n" for line in lines)
