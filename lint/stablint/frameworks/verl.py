"""verl: Hydra files of its trainers, and commands that override their keys (`python -m verl.trainer.main_ppo data.train_batch_size=256 …`).

Its actors are no TrainingArguments: what is left out stands in its own file (trainer/config/ppo_trainer.yaml, whose values knowledge/frameworks
lists). Every key is a fact `trainer.<key>` as well, which verl's own checks are told by.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stablint.frameworks.fragment import Block, Fragment, Row, as_yaml, hydra_words, lower_mapping, table
from stablint.run.fact import OPEN, OWN, PRESUMED, Explicit, Statement
from stablint.syntax.tree import Command, Mapping

_ACTOR, _MODEL, _ROLLOUT = "actor_rollout_ref.actor.", "actor_rollout_ref.model.", "actor_rollout_ref.rollout."
ROWS = table("verl")
# Of supervised fine-tuning alone, where the key means the rows of one step.
_SUPERVISED = {"data.train_batch_size": Row("data.train_batch_size", "training.global_batch_size")}
# trainer/ppo/core_algos.py: each estimator of the advantage is an algorithm.
_ESTIMATORS = {
    "grpo": "grpo", "gae": "ppo", "rloo": "rloo", "remax": "remax", "reinforce_plus_plus": "reinforce++", "reinforce_plus_plus_baseline": "reinforce++",
    "grpo_passk": "grpo", "opo": "opo", "gspo": "grpo",
}  # fmt: skip
_MODULES = ("main_ppo", "fsdp_sft_trainer", "main_dapo", "main_prime", "main_spin", "main_sppo", "sft_trainer")


_OWN = re.compile(r"(?:^|[./])verl[./]trainer[./](?:main_ppo|(?:fsdp_)?sft_trainer)(?:\.py)?$")


def recognise(keys: frozenset[str], block: Block) -> int:
    """Its two trainers by the sections that nobody else has."""
    if "actor_rollout_ref" in keys:
        return 90
    model = block.mapping.get("model")
    return 80 if isinstance(model, Mapping) and model.get("partial_pretrain") is not None else 0


def entry(words: tuple[str, ...]) -> str:
    """The trainer that a command starts: `verl.trainer.main_ppo`, or a copy of it that is given verl's keys."""
    module = next(
        (word for word in words if word.rpartition(".")[2] in _MODULES and ("verl" in word or "." in word)), ""
    )
    return module or ("verl" if any(word.lstrip("+").startswith("actor_rollout_ref.") for word in words) else "")


def lower(block: Block, layer: str = "file", command: str = "") -> Fragment:
    """A file with its sections, or the overrides of a command: only what they say is known."""
    whole = _starts_its_own(block)
    if block.kind == "flags" and isinstance(block.origin, Command):
        entries, more = hydra_words(block.origin, block.document.text.text)
        entries = tuple(map(as_yaml, entries))
        block = block._replace(mapping=block.mapping._replace(entries=entries, open=block.mapping.open or more))
    statements = list(lower_mapping(block, ROWS, layer, lambda key: None))
    own = lower_mapping(block, {}, layer, lambda key: Row(key, f"trainer.{key}"))
    # What is null in a file is left to the command that starts it.
    statements += own if block.kind == "flags" else [one for one in own if one.value is not None]
    statements = [_read(one) for one in (*statements, *_algorithm(block, layer)) if not _is_delegated(one)]
    reinforced = any(one.fact == "training.stage" for one in statements) or "ppo" in block.name
    if not reinforced and not _has(block.mapping, "actor_rollout_ref"):
        statements += map(_read, lower_mapping(block, _SUPERVISED, layer, lambda key: None))
        statements += [
            one._replace(fact="training.stage", value="sft")
            for one in statements
            if one.fact == "training.learning_rate"
        ]
    scopes = dict.fromkeys(("training", "quantization", "model", "fsdp", "tokenizer", "data"), OPEN)
    # A copy of the package may carry another file, and what follows in "$@" is not known: its own values are presumed.
    # A command without a word is an entry point, which is told its model and its data where it is started.
    scopes["trainer"] = PRESUMED if whole and block.mapping.entries else OPEN
    other = block.kind == "flags" and _OWN.search(block.name.partition(" ")[0]) is None
    return Fragment(
        "verl", block, layer, tuple(statements), {**scopes, "lora": PRESUMED}, {}, entry=True, framework="verl",
        presumed=other,  # a recipe's program, or a project's, makes of the keys what it likes
    )  # fmt: skip


def _starts_its_own(block: Block) -> bool:
    """A command of `verl.trainer.main_ppo` that names no other file."""
    main = block.kind == "flags" and block.name.partition(" ")[0].endswith(
        ("verl.trainer.main_ppo", "verl/trainer/main_ppo.py")
    )
    named = {entry.key.replace("-", "_") for entry in block.mapping.entries}
    return main and not {"config_path", "config_name", "config_dir", "cp", "cn"} & named


def _read(one: Statement) -> Statement:
    """As OmegaConf reads it, for which `1e-6` is a number. Under another library's name it was not held against any check."""
    translated = not one.fact.startswith("trainer.")
    origin = one.origin._replace(reader=OWN) if translated and isinstance(one.origin, Explicit) else one.origin
    raw = one.value if isinstance(one.value, (int, float)) else one.raw
    return one._replace(raw=raw, origin=origin)


def _is_delegated(one: Statement) -> bool:
    """A negative number of warm-up steps leaves it to the share."""
    return one.fact == "training.warmup_steps" and isinstance(one.value, int) and one.value < 0


def _has(mapping: Mapping, section: str) -> bool:
    return any(one.key.partition(".")[0] == section for one in mapping.entries)


def _algorithm(block: Block, layer: str) -> Iterator[Statement]:
    for one in lower_mapping(
        block, {"algorithm.adv_estimator": Row("adv_estimator", "training.stage", "text")}, layer, lambda key: None
    ):
        yield one._replace(value=_ESTIMATORS.get(one.value, one.value)) if isinstance(one.value, str) else one
