"""What the variables of a script hold where branches and loops meet again: known where every way there agrees, else unknown with the reason."""

from __future__ import annotations

from typing import Any

from stablint.syntax.shell.pieces import GIVEN
from stablint.syntax.shell.values import Chunk, Definition, Held, Items, Variables, from_caller, grown, text_of
from stablint.syntax.tree import Unknown


class Block:
    """A block that is open: what its variables were before this arm of it, and what they came to at the end of the arms before."""

    def __init__(self, kind: str, word: str) -> None:
        self.kind, self.word = kind, word
        self.before: dict[str, Held | None] = {}
        self.arms: list[dict[str, Held | None]] = []
        self.start: dict[str, Held | None] = {}  # before the block, of what any arm changes
        self.taken: bool | None = None  # what is known of the condition of the arm that is open
        self.settled = False  # an arm before was certainly taken
        self.complete = False  # some arm is taken in any case
        self.defaulted = ""  # the arm's condition is that this variable is empty
        self.filled = ""  # or that it is not, so that the next arm's is
        self.dead = False  # the arm ends the script
        self.usual = ""  # the variable that holds something else in the arms behind this one
        self.likely: bool | None = None  # what the condition of the open arm is, unless the caller says otherwise
        self.chosen = False  # an arm before is taken then
        self.unlikely: list[dict[str, Held | None]] = []  # the ends of arms that are not


class State(Variables):
    """Variables with the blocks that they are set in."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[Block] = []

    def hold(self, name: str, held: Held | None) -> None:
        if self.blocks:
            self.blocks[-1].before.setdefault(name, self.held.get(name))
        if held is None:
            self.held.pop(name, None)
        else:
            self.held[name] = held

    def enter(self, kind: str, word: str) -> None:
        self.blocks.append(Block(kind, word))

    def arm(self, final: bool) -> None:
        """Another branch of the block begins."""
        block = self.blocks[-1]
        self._end_arm(block)
        block.complete = block.complete or final
        block.taken = None if not block.settled else False
        block.likely = False if block.chosen else None
        block.defaulted, block.filled = block.filled if final else "", ""
        if block.usual:
            self.hold(block.usual, Unknown(f"`${block.usual}`{GIVEN}"))

    def leave(self) -> None:
        block = self.blocks.pop()
        if block.kind == "group":
            for name, held in block.before.items():
                if self.blocks:
                    self.blocks[-1].before.setdefault(name, held)
            return
        if block.kind == "subshell":
            self._restore(block)
            return
        self._end_arm(block)
        arms = block.arms[1:] if block.word == "case" else block.arms  # in front of the first pattern is no branch
        if not arms and block.complete:
            arms = [{}]  # all of them end the script
        for name, start in block.start.items():
            ends = [arm.get(name, start) for arm in arms]
            others = [arm.get(name, start) for arm in block.unlikely]
            if not block.complete:
                (others if block.chosen else ends).append(start)
            met = _meet(name, block, [*ends, *others])
            if others and ends and isinstance(met, Unknown):
                usual = _meet(name, block, ends)
                met = usual._replace(presumed=True) if isinstance(usual, Definition) else met
            elif others and ends and met is not None and met not in ends:
                usual = _meet(name, block, ends)
                met = (
                    met
                    if usual is None
                    else _usually(usual, _beginning([*ends, *others]), f"`${name}` grows in a branch")
                )
            self.hold(name, met)

    def _end_arm(self, block: Block) -> None:
        if block.taken is not False:
            end: dict[str, Held | None] = {name: self.held.get(name) for name in block.before}
            if block.defaulted in end:
                held = end[block.defaulted]
                if from_caller(block.before[block.defaulted]) and isinstance(held, Definition):
                    end[block.defaulted] = held._replace(presumed=True)
            if not block.dead or block.kind != "branch":
                (block.unlikely if block.likely is False else block.arms).append(end)
            for name, held in block.before.items():
                block.start.setdefault(name, held)
        if block.taken:
            block.settled = block.complete = True
        block.chosen = block.chosen or block.likely is True
        block.dead = False
        self._restore(block)

    def _restore(self, block: Block) -> None:
        for name, held in block.before.items():
            if held is None:
                self.held.pop(name, None)
            else:
                self.held[name] = held
        block.before = {}


def _meet(name: str, block: Block, ends: list[Held | None]) -> Held | None:
    """What a variable holds behind a block, from what it holds at the end of every way through."""
    first = ends[0] if ends else None
    if all(end == first for end in ends):
        return first
    texts = {text for end in ends if (text := text_of(end)) is not None}
    known = [end for end in ends if isinstance(end, Definition)]
    if len(texts) == 1 and len(known) == len(ends):
        one_place = len({(one.start, one.end) for one in known}) == 1  # else one edit would not change them all
        return known[0]._replace(editable=known[0].editable and one_place, presumed=any(one.presumed for one in known))
    others = [end for end in ends if not isinstance(end, Definition)]
    sure = all(one.presumed for one in known)
    given = all(from_caller(end) and (end is not None or sure) for end in others)
    # `EPOCHS=$2; if [ "$1" = debug ]; then EPOCHS=1; fi`: another variable decides, not who gives this one
    given = given and (sure or block.kind == "loop" or not from_caller(block.start.get(name)))
    if given and texts == {""}:  # filled in by the caller, or there is no run
        return next((end for end in others if end is not None), Unknown(f"`${name}`{GIVEN}"))
    if given and len({(one.start, one.end) for one in known}) == len(texts) == 1:
        # `LR=1e-5; while …; do case $1 in --lr) LR=$2 …`: unless the caller says otherwise
        return known[0]._replace(presumed=True)
    kind = "loop" if block.kind == "loop" else "branch"
    begun = _beginning(ends)
    if begun is not None:
        return grown(begun, f"`${name}` grows in a {kind}", apart=True)
    if len(texts) > 1:
        return Unknown(f"`${name}` differs by {kind}: {', '.join(sorted(texts)[:3])[:60]}")
    return Unknown(f"`${name}` is set in a {kind}")


def _beginning(ends: list[Held | None]) -> Held | None:
    """What a list, or a text of several words, begins with whichever way is taken (`ARGS+=" --bf16"` in one of them)."""
    first = ends[0] if ends else None
    if isinstance(first, Items):
        lists = [end.fields for end in ends if isinstance(end, Items)]
        same = _alike([[_content(field.chunks) for field in fields] for fields in lists])
        return Items(first.fields[: len(same)]) if same and len(lists) == len(ends) else None
    if not isinstance(first, Definition):
        return None
    texts = [end.chunks for end in ends if isinstance(end, Definition)]
    same = _alike([_content(chunks) for chunks in texts])
    count = next((number for number, (value, *_) in enumerate(same) if isinstance(value, Unknown)), len(same))
    if not count or len(texts) != len(ends):
        return None
    # cut between two words; a text that only grows longer without a blank is another word
    more = [chunks[count].value if len(chunks) > count else " " for chunks in texts]
    if not _ends_blank(first.chunks[count - 1]) and not all(isinstance(one, str) and one[:1].isspace() for one in more):
        return None
    return first._replace(chunks=first.chunks[:count])


def _usually(held: Held, begun: Held | None, why: str) -> Held:
    """What a list, or a text of several words, holds where nobody says otherwise, and something else may stand behind it where somebody does."""
    more = grown(held, why, apart=True)
    if isinstance(more, Items):
        sure = len(begun.fields) if isinstance(begun, Items) else 0
        return Items((*more.fields[:sure], *(one._replace(chunks=_presumed(one.chunks)) for one in more.fields[sure:])))
    if isinstance(more, Definition):
        sure = len(begun.chunks) if isinstance(begun, Definition) else 0
        return more._replace(chunks=(*more.chunks[:sure], *_presumed(more.chunks[sure:])))
    return more


def _presumed(chunks: tuple[Chunk, ...]) -> tuple[Chunk, ...]:
    return tuple(one._replace(presumed=True) for one in chunks)


def _content(chunks: tuple[Chunk, ...]) -> list[tuple[object, int, int]]:
    return [(chunk.value, chunk.start, chunk.end) for chunk in chunks]


def _ends_blank(chunk: Chunk) -> bool:
    return isinstance(chunk.value, str) and chunk.value[-1:].isspace()


def _alike(rows: list[list[Any]]) -> list[Any]:
    """What all of them begin with."""
    count = next(
        (n for n, column in enumerate(zip(*rows, strict=False)) if column.count(column[0]) < len(column)), None
    )
    return rows[0][: min(map(len, rows)) if count is None else count]
