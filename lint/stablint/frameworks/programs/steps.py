"""The order of what a training loop of the program's own does, as one line of words: the fact `launch.shows.loop_order`, which hazards match.

`optimizer batch-schedule train epoch( batch( divide backward every( step schedule zero ) batch) eval )`: blocks are the loop with the backward pass
(`batch(`), the loops around it (`epoch(`), what runs once in so many batches (`every(`) and other branches (`if(`); one that does nothing of this is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs.rows import body
from stablint.frameworks.programs.seen import seen_in, stated
from stablint.frameworks.programs.unseen import unless, unseen
from stablint.run.fact import Statement
from stablint.syntax.tree import Call, Document, Module

_OTHERWISE = re.compile(
    r"closure|\.grad\b|lightning|Trainer\b|zero_gradients|max_steps[ \t]*=[ \t]*1\b|\bapex\b|fabric"
)
_WORDS = (
    (r"(?:accelerator|engine)\w{0,20}\.backward\(", "engine-backward"),
    (r"scaler\w{0,20}\.scale\([^\n]{0,80}\)\.backward\(", "scaled-backward"),
    (r"\w{1,40}\)?\.backward\(", "backward"),
    (r"\w{0,40}sched\w{0,40}\.step\(", "schedule"),
    (r"\w{0,40}scaler\w{0,40}\.step\(", "scaler-step"),
    (r"\w{0,40}scaler\w{0,40}\.update\(", "update"),
    (r"\w{0,40}engine\w{0,40}\.step\(", "engine-step"),
    (r"\w{0,40}opt\w{0,40}\.step\(", "step"),
    (r"(?<![\w.])(?:self\.)?(?:\w{1,40}_)?(?:model|policy|net|unet|transformer)\.zero_grad\(", "model-zero"),
    (r"\.zero_grad\(", "zero"),
    (r"\bclip_grad\w{0,20}\(", "clip"),
    (r"\.unscale_\w{0,20}\(", "unscale"),
    (r"(?<![\w.])(?:self\.)?model(?:\.module)?\.(?:eval\(\)|train\(False\))", "eval"),
    (r"\.train\((?:True)?\)", "train"),
    (r"\bresize_token_embeddings\(", "resize"),
    (r"\.accumulate\(", "accumulate"),
    (r"\w{0,40}loss\w{0,40}[ \t]{0,4}\+=[ \t]{0,4}(?:outputs?\.)?loss[ \t]*$", "loss-kept"),
    (r"\w{0,40}loss\w{0,40}\.append\((?:outputs?\.)?loss\)", "loss-kept"),
)  # fmt: skip
_WORD = re.compile("|".join(f"({spelled})" for spelled, _ in _WORDS))
_SAID = [word for _, word in _WORDS]
# Anything by which a loss may be a share of a sum, wherever it stands.
_DIVIDES = re.compile(
    r"\bloss\w{0,20}(?:\.\w{1,20}\(\))?\)?[ \t]{0,4}/=?(?!/)[ \t]{0,4}(?!len\()|/=?[ \t]{0,4}\(?[\w.]{0,80}(?:accum|gas\b)"
    r"|\*[ \t]{0,4}\(?1(?:\.0)?[ \t]{0,4}/|loss[^\n]{0,40}scale|reduction|num_items",
    re.IGNORECASE,
)
# A scaler that may be switched off, or has nothing to scale.
_SWITCHABLE = re.compile(r"GradScaler\([^\n]{0,80}enabled|bfloat16|bf16", re.IGNORECASE)
# An Accelerator that accumulates nothing.
_SINGLE = re.compile(
    r"\bAccelerator\((?![^()]{0,400}(?:\([^()]{0,200}\)[^()]{0,400}){0,4}accum)|gradient_accumulation_steps[ \t]{0,4}=[ \t]{0,4}1\b"
)
_LINE = re.compile(r"^([ \t]*)([^\s#][^\n]*)$", re.MULTILINE)
_LOOPS = re.compile(r"(?:async )?(?:for|while)\b")
_BRANCHES = re.compile(r"(?:if|elif|else|try|except|finally)\b")
_COUNTS = re.compile(r"[^\n]{0,200}(?:%|sync_gradients|should_step|is_accum)")
_SCHEDULE = re.compile(r"get_(?:\w{1,40}_)?schedul\w{1,60}|(?:LambdaLR|CosineAnnealingLR|LinearLR|OneCycleLR)")
_OF_BATCHES = re.compile(r"len\([ \t]*(?:self\.)?\w{0,40}(?:loader|_dl|dl_)\w{0,40}[ \t]*\)")


def told(document: Document, module: Module, optimizer: Call) -> Iterator[Statement]:
    """Once for a program of one backward pass."""
    if document.view is not None or seen_in(_OTHERWISE, document):
        return
    text = document.text.text
    made = {one.start: ("optimizer", one) for one, kind in python_kinds.kinds(module) if kind == "optimizer"}
    if min(made, default=-1) != optimizer.start:
        return
    passes = [one.start() for one in re.finditer(r"\.backward\(", text)]
    if len(passes) != 1:
        return
    for call in module.calls:
        if _SCHEDULE.fullmatch(call.name.rpartition(".")[2]):
            made[call.start] = (_length(text, call), call)
    begins = max((one.start(1) for one in re.finditer(r"^(def|class)\b", text[: passes[0]], re.MULTILINE)), default=0)
    ends = begins + len(body(text, begins)) if begins else len(text)
    if not begins < passes[0] < ends:
        begins, ends = 0, len(text)
    order = _order(text, begins, ends, passes[0], {at: word for at, (word, _) in made.items()})
    if order is not None and not _is_of_the_model(text, optimizer):
        order = re.sub(r"\b(?:eval|train) ", "", order)  # the mode of a model that this optimizer does not train
    if order is not None:
        said = (("divide", _DIVIDES), ("switchable", _SWITCHABLE), ("single", _SINGLE))
        order = "".join(f"{word} " for word, pattern in said if seen_in(pattern, document)) + order
        hidden = unseen(
            document, module, (), *(one for _, one in made.values()), called="optimi[sz]er|sched\\w*|scaler"
        )
        at = passes[0] + 1
        yield stated(document, "launch.shows.loop_order", unless(hidden, order), "backward", at, at + 8)


_MODEL = r"(?<![\w.])(?:self\.)?model\b"
_OF_MODEL = re.compile(_MODEL + r"(?:\.module)?\.(?:named_)?parameters\(")


def _is_of_the_model(text: str, optimizer: Call) -> bool:
    """Whether it is given the parameters of what is called `model`, or a list that may be made of them."""
    said = text[optimizer.name_end : optimizer.end]
    return re.search(_MODEL, said) is not None or (
        re.search("param|group", said) is not None and _OF_MODEL.search(text) is not None
    )


def _length(text: str, schedule: Call) -> str:
    """`batch-schedule` for one whose length is the number of all batches, by its argument or the one place where the name in it is assigned."""
    said = text[schedule.name_end : schedule.end]
    for name in re.findall(r"\b([A-Za-z_]\w{0,80})[ \t]{0,4}[,)]", said):
        assigned = re.findall(rf"^[ \t]*{name}[ \t]*=(?!=)[ \t]*([^\n]+)", text, re.MULTILINE)
        said += assigned[0] if len(assigned) == 1 else ""
    return (
        "batch-schedule"
        if _OF_BATCHES.search(said) and "/" not in said and "accum" not in said.lower()
        else "new-schedule"
    )


def _order(text: str, begins: int, ends: int, backward: int, made: dict[int, str]) -> str | None:
    """None where no loop holds the backward pass, or the line gets too long to say anything of."""
    words: list[str] = []
    opened: list[tuple[int, str, int]] = []  # indentation, word, where its words begin
    loops: list[int] = []  # where the loops around the backward pass begin in `words`

    def close(depth: int) -> None:
        while opened and opened[-1][0] >= depth:
            _, _, begun = opened.pop()
            if len(words) == begun + 1:
                words.pop()
            else:
                words.append(")" if begun not in loops[-1:] else "batch)")

    for line in _LINE.finditer(text, begins, ends):
        depth, said = len(line[1].expandtabs()), line[2]
        if said[0] in ")]}":
            continue
        close(depth)
        block = "loop(" if _LOOPS.match(said) else "if(" if _BRANCHES.match(said) else ""
        if block == "if(" and _COUNTS.match(said):
            block = "every("
        if block:
            opened.append((depth, block, len(words)))
            words.append(block)
        found = [(one.start(), _SAID[(one.lastindex or 1) - 1]) for one in _WORD.finditer(said)]
        found += [(at - line.start(2), word) for at, word in made.items() if line.start(2) <= at < line.end(2)]
        words.extend(word for _, word in sorted(found))
        if line.start() <= backward < line.end():
            loops = [at for _, word, at in opened if word == "loop("]
    close(0)
    if not loops:
        return None
    for at in loops:
        words[at] = "epoch("
    words[loops[-1]] = "batch("
    order = " ".join(words) + " "
    return order if len(order) < 900 else None
