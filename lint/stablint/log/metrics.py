"""The numbers that a run logs: one row a line, whatever loop printed it."""

from __future__ import annotations

import re
from typing import NamedTuple

# `'loss': 5.5`, `"train/loss": NaN`, `loss=0.3`, `grad_norm: nan`; transformers 5 prints figures as texts.
_PAIR = re.compile(
    r"""(?<![\w/.@-])["']?(?P<name>[A-Za-z_][\w/.@-]{0,80})["']?\s{0,30}[:=]\s{0,30}["']?(?P<value>[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|nan|NaN|inf|Infinity))(?![\w.])"""
)
_PARTS = ("train/", "training/", "actor/", "critic/", "train_")
# Names of other loops for the Trainer's.
_SAME = {
    "grad-norm": "grad_norm", "gradient_norm": "grad_norm", "gnorm": "grad_norm", "norm": "grad_norm", "lr": "learning_rate",
    "lm_loss": "loss", "lm loss": "loss", "total_loss": "loss", "pg_loss": "policy_loss", "global_step": "step", "iter": "step",
}  # fmt: skip
MARKS = (b"loss", b"reward", b"grad")


class Row(NamedTuple):
    line: int
    text: str
    values: dict[str, float]
    evaluation: bool


def row(line: int, text: str) -> Row | None:
    """None where the line holds no loss, no reward and no norm with a number."""
    values: dict[str, float] = {}
    evaluation = False
    for found in _PAIR.finditer(text):
        name = found["name"].lower()
        if name.startswith(("eval_", "eval/", "validation/", "val_")):
            evaluation = True
            name = "eval_" + re.split(r"[_/]", name, maxsplit=1)[1]
        else:
            for part in _PARTS:
                if name.startswith(part) and name not in ("train_loss", "train_runtime"):
                    name = name[len(part) :]
                    break
        values.setdefault(_SAME.get(name, name), float(found["value"]))
    if not any(_counts(name) for name in values):
        return None
    return Row(line, text, values, evaluation and "loss" not in values)


def _counts(name: str) -> bool:
    return name in ("loss", "eval_loss", "grad_norm", "reward", "reward_std") or name.startswith("rewards/")
