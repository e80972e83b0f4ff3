"""The numbers that a run logs: one row a line, whatever loop printed it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from stablint.log.unwrap import decoded, plain

# `'loss': 5.5`, `"train/loss": NaN`, `loss=0.3`, `grad_norm: nan`, `loss 0.3`, `val loss: 0.3`; transformers 5 prints figures as texts.
PAIR = re.compile(
    r"""(?<![\w/.@-])["']?(?P<name>(?:(?:e?val|validation) (?=loss))?[A-Za-z_][\w/.@-]{0,80})["']?"""
    r"""(?:\s{0,30}[:=]\s{0,30}|(?<=[Ll]oss) )"""
    r"""["']?(?P<value>[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|nan|NaN|inf|Infinity))(?![\w.])"""
)
_PARTS = ("train/", "training/", "actor/", "critic/", "train_")
# Names of other loops for the Trainer's.
_SAME = {
    "grad-norm": "grad_norm", "gradient_norm": "grad_norm", "gnorm": "grad_norm", "norm": "grad_norm", "lr": "learning_rate",
    "lm_loss": "loss", "lm loss": "loss", "total_loss": "loss", "pg_loss": "policy_loss", "global_step": "step", "iter": "step",
}  # fmt: skip
MARKS = (b"loss", b"reward", b"grad")


class Shape(NamedTuple):
    """What the names of a row say of it. A run logs millions of rows and has a few shapes."""

    counts: bool  # it holds a loss, a reward or a norm
    rewards: bool
    policy: bool  # what a policy's row has: rewards or completions
    ratios: tuple[str, ...]  # shares of completions that were cut
    others: tuple[str, ...]  # beside the loss and its norm


class Row(NamedTuple):
    line: int
    said: str | bytes  # its text, or the line of the log: few rows are ever quoted
    values: dict[str, float]
    evaluation: bool
    shape: Shape

    @property
    def text(self) -> str:
        return self.said if isinstance(self.said, str) else plain(decoded(self.said)).text


def row(line: int, text: str) -> Row | None:
    """None where the line holds no loss, no reward and no norm with a number."""
    values: dict[str, float] = {}
    evaluation = False
    for raw, value in PAIR.findall(text):
        name, evaluates = name_of(raw)
        evaluation = evaluation or evaluates
        if name not in values:
            values[name] = float(value)
    made = row_of(line, text, values, evaluation)
    return made if made.shape.counts else None


def row_of(line: int, said: str | bytes, values: dict[str, float], evaluation: bool = False) -> Row:
    return Row(line, said, values, evaluation and "loss" not in values, _shape(tuple(values)))


@lru_cache(maxsize=1024)
def name_of(raw: str) -> tuple[str, bool]:
    """The Trainer's name for it, and whether it is of an evaluation."""
    name, evaluates = raw.lower(), False
    if name.startswith(("eval_", "eval/", "eval ", "validation/", "validation ", "val_", "val ")):
        name, evaluates = "eval_" + re.split(r"[_/ ]", name, maxsplit=1)[1], True
    elif name not in ("train_loss", "train_runtime"):
        name = next((name[len(part) :] for part in _PARTS if name.startswith(part)), name)
    return _SAME.get(name, name), evaluates


@lru_cache(maxsize=256)
def _shape(names: tuple[str, ...]) -> Shape:
    return Shape(
        any(map(counts, names)),
        any(name.startswith("reward") for name in names),
        any(name.startswith(("reward", "completion")) for name in names),
        tuple(name for name in names if name.endswith("clipped_ratio")),
        tuple(name for name in names if name not in ("loss", "grad_norm")),
    )


def counts(name: str) -> bool:
    """Whether a line is a row because of it."""
    return name in ("loss", "eval_loss", "grad_norm", "reward", "reward_std") or name.startswith("rewards/")
