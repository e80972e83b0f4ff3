"""What a program shows by a spelling that knowledge/signs.yaml lists: facts `launch.shows.<name>`, true at the first place that is so spelled."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.base import knowledge
from stablint.base.light import Any
from stablint.frameworks.fragment import last_word
from stablint.frameworks.programs import rows
from stablint.frameworks.programs.seen import seen_in, stated
from stablint.frameworks.programs.unseen import unless, unseen
from stablint.run.fact import Statement
from stablint.syntax.tree import Call, Document, Module


def told(document: Document, module: Module, call: Call, kind: str) -> Iterator[Statement]:
    """Of one of the program's calls. `kind`: which (python_kinds.kind)."""
    for name, sign in knowledge.load("signs").items():
        if kind in sign["of"]:
            if (told, name) not in module.notes:  # a program has many trainers, and one text
                there = sign["word"] in document.text.text
                module.notes[told, name] = next(_places(document, module, sign), None) if there else None
            place: tuple[str, int, int] | None = module.notes[told, name]
            if place is not None:
                hidden = unseen(document, module, (), called=sign["hands"]) if "hands" in sign else None
                yield stated(document, f"launch.shows.{name}", unless(hidden, True), *place)


def _places(document: Document, module: Module, sign: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    if "unless" in sign and seen_in(sign["unless"], document, re.MULTILINE) is not None:
        return
    if "seen" in sign:
        found = seen_in(sign["seen"], document, re.MULTILINE)
        if found is not None:
            yield sign["word"], *found.span()
        return
    for call in module.calls:
        maker = _first(call) if "dropped" in sign else call.receiver
        made = maker.name if isinstance(maker, Call) and not maker.conditional else ""
        name = last_word(call.name) if "by" in sign else call.name
        if call.local or not re.fullmatch(sign["call"], name) or not re.fullmatch(sign.get("by", ".*"), made):
            continue
        if "dropped" in sign and not _is_dropped(document, call):
            continue
        if "function" in sign:
            own = rows.functions(document, module, call.arguments.get(sign["function"]))
            if any(not one.open and sign["lacks"] not in one.parameters for one in own):
                yield last_word(call.name), call.name_start, call.name_end
        elif all(_is_given(document, call, *one) for one in sign.get("given", {}).items()):
            yield last_word(call.name), call.name_start, call.name_end


def _first(call: Call) -> Call:
    """The call at the head of its chain: `load_dataset(…)` of `rows.map(…)`, whatever became of the rows between."""
    while isinstance(call.receiver, Call):
        call = call.receiver
    return call


def _is_dropped(document: Document, call: Call) -> bool:
    """Whether it is a statement of its own, of whose result nothing is kept."""
    text = document.text.text
    line = text.rfind("\n", 0, call.start) + 1
    return (
        not text[line : call.start].strip()
        and text[:line].rstrip()[-1:] not in tuple("=([{,\\.")
        and re.match(r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)", text[call.end : call.end + 200]) is not None
    )


def _is_given(document: Document, call: Call, name: str, pattern: str) -> bool:
    """Whether an argument is spelled so where it stands; a variable that is handed over is its name."""
    entry = next((one for one in call.arguments.entries if one.key == name), None)
    text = document.text.text
    return (
        entry is not None
        and re.match(rf"[ \t]*=[ \t]*(?:{pattern})", text[entry.key_end : entry.key_end + 200]) is not None
    )
