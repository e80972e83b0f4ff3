"""What a program does with its model beside the steps: gathers results, generates, saves, and in which mode it trains. Facts `launch.shows.<what>`.

What `seen_in` finds is safe where it ends a finding: one spelling of the way that is right, anywhere in what the program runs, is enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.frameworks.fragment import last_word
from stablint.frameworks.programs.seen import calls, is_call, methods, of_call, seen_in, shown
from stablint.frameworks.programs.unseen import unless, unseen
from stablint.run.fact import Statement
from stablint.syntax.tree import Call, Document, Module

_SHARDS = frozenset({"FullyShardedDataParallel", "FSDP"})
_GATHERED = re.compile(
    r"gather_for_metrics|summon_full_params|GatheredParameters|unwrap_model_for_generation|get_state_dict|state_dict_type|full_state_dict"
)
# Results of rows, and what takes away again those that fill the last batch.
_OF_ROWS = re.compile(r"pred|logit|label|target|reference|answer|generated|score", re.IGNORECASE)
_CUTS = re.compile(
    r"\[[ \t]{0,4}:[ \t]{0,4}(?:len\(|\w{0,40}(?:remain|total|samples|num_|size|n_))|samples_seen|even_batches|drop_last|use_distributed"
    r"|\.dataset\)[ \t]{0,4}\]"
)
_SCALAR = re.compile(r"loss|\.mean\(|\.sum\(|\.repeat\(", re.IGNORECASE)


def of_engine(document: Document, module: Module, engine: Call) -> Iterator[Statement]:
    """Of an Accelerator."""
    whole = seen_in(_GATHERED, document) is not None
    if not whole and not seen_in(_CUTS, document) and calls(module, "eval"):
        text = document.text.text
        for call in calls(module, "gather"):
            given = text[call.name_end : call.end]
            if is_call(call.receiver, engine) and _OF_ROWS.search(given) and not _SCALAR.search(given):
                yield shown(document, "gathers_filling", True, call)
                break
    for call in () if whole else calls(module, "generate"):
        of = call.receiver
        if isinstance(of, Call) and last_word(of.name) == "unwrap_model" and is_call(of.receiver, engine):
            yield shown(document, "generates", unless(unseen(document, module, (of,), engine), "unwrapped"), call)
            break


def of_optimizer(document: Document, module: Module, optimizer: Call) -> Iterator[Statement]:
    """Of a loop that wraps its model with torch's own classes, or with none."""
    for wrap in module.calls:
        if last_word(wrap.name) not in _SHARDS or wrap.local or not wrap.name.startswith("torch."):
            continue
        strategy = wrap.arguments.get("sharding_strategy")
        if wrap.arguments.open or (
            strategy is not None and "NO_SHARD" in document.text.text[strategy.start : strategy.end]
        ):
            return
        for call in methods(module, wrap):
            if last_word(call.name) == "generate" and not seen_in(_GATHERED, document):
                yield shown(document, "generates", "split", call)
                return


def of_loop(document: Document, module: Module, loader: Call) -> Iterator[Statement]:
    """A model as `from_pretrained` gives it, in evaluation mode, whose checkpointing is switched on and whose mode nobody changes."""
    switched = next((one for one in calls(module, "gradient_checkpointing_enable") if not one.conditional), None)
    trained = seen_in(r"\.train\(|\.training[ \t]*=|Trainer|\.fit\(|lightning", document)
    if switched is None or trained or not seen_in(r"\.backward\(", document):
        return
    of = switched.receiver
    if is_call(of, loader) or (isinstance(of, Call) and last_word(of.name) == "get_peft_model"):
        hidden = unseen(document, module, (loader, of))
        yield shown(document, "checkpoints_in_evaluation", unless(hidden, True), switched)


def of_trainer(document: Document, module: Module, trainer: Call) -> Iterator[Statement]:
    """The trainer's model saves itself when the trainer has trained it."""
    model = trainer.arguments.get("model") or next(iter(trainer.positional), None)
    trained = max((one.end for one in methods(module, trainer) if last_word(one.name) == "train"), default=None)
    if trained is None or seen_in(_GATHERED, document):
        return
    for call in calls(module, "save_pretrained"):
        own = (
            is_call(call.receiver, model if isinstance(model, Call) else None)
            or call.name == "trainer.model.save_pretrained"
        )
        if own and call.start > trained and call.arguments.get("state_dict") is None and not call.arguments.open:
            hidden = unseen(document, module, (model,), trainer)
            yield of_call(document, "launch.shows.saves_without_state", unless(hidden, True), call)
            return
