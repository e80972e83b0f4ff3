"""What is wrong with a text itself is mended where one thing only can be meant, and left alone where it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.config.options import options
from stablint.engine.repair import repair
from tests.runs import rules, written

RUN = "torchrun train.py \\\n  --model_name_or_path a/b --output_dir out \\\n"
TRAIN = "model_name_or_path: a/b\ndataset_name: c/d\noutput_dir: out\n"

# file, what stands there, what becomes of it (None: it is told only)
TEXTS: dict[str, tuple[str, str, str | None]] = {
    "a blank behind the equals sign": ("t.sh", RUN + "  --fp16= True\n", RUN + "  --fp16=True\n"),
    "several blanks": ("t.sh", RUN + "  --fp16=   True --seed 1\n", RUN + "  --fp16=True --seed 1\n"),
    "no backslash": ("t.sh", RUN + "  --seed 1\n  --fp16 True\n", RUN + "  --seed 1 \\\n  --fp16 True\n"),
    "no backslash, CRLF": ("t.sh", (RUN + "  --seed 1\n  --fp16 True\n").replace("\n", "\r\n"), RUN + "  --seed 1 \\\n  --fp16 True\n"),
    "CRLF": ("t.sh", (RUN + "  --fp16 True\necho done\n").replace("\n", "\r\n"), RUN + "  --fp16 True\necho done\n"),
    "blanks behind the backslash": ("t.sh", RUN + "  --seed 1 \\  \n  --fp16 True\n", RUN + "  --seed 1 \\\n  --fp16 True\n"),
    "a comment where the backslash should be": ("t.sh", RUN + "  --seed 1 # as ever\n  --fp16 True\n", None),
    "an empty line between": ("t.sh", RUN + "  --seed 1\n\n  --fp16 True\n", None),
    "a comma too many": (
        "ds.json", '{"zero_optimization": {"stage": 1,}, "train_batch_size": 8,}', '{"zero_optimization": {"stage": 1}, "train_batch_size": 8}'),
    "a comment behind a value": (
        "ds.json", '{\n  "train_batch_size": 8, // small\n  "zero_optimization": {"stage": 1}\n}\n',
        '{\n  "train_batch_size": 8,\n  "zero_optimization": {"stage": 1}\n}\n'),
    "a comment on a line of its own": (
        "ds.json", '{\n  // small\n  "train_batch_size": 8,\n  "zero_optimization": {"stage": 1}\n}\n',
        '{\n  "train_batch_size": 8,\n  "zero_optimization": {"stage": 1}\n}\n'),
    "a key twice": ("t.yaml", TRAIN + "seed: 1  # no\nlogging_steps: 5\nseed: 2  # yes\n", TRAIN + "logging_steps: 5\nseed: 2  # yes\n"),
    "a key three times": ("t.yaml", TRAIN + "seed: 1\nseed: 2\nseed: 3\n", TRAIN + "seed: 3\n"),
    "a nested block twice": (
        "t.yaml", TRAIN + "gradient_checkpointing_kwargs:\n  use_reentrant: true\ngradient_checkpointing_kwargs: {use_reentrant: false}\n",
        TRAIN + "gradient_checkpointing_kwargs: {use_reentrant: false}\n"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "before", "after"), TEXTS.values(), ids=TEXTS)
def test_the_text_is_mended(tmp_path: Path, name: str, before: str, after: str | None) -> None:
    base = written(tmp_path, {name: before})
    done = repair([base], options(), unsafe=True, base=base)
    assert [text.text for text in done.texts.values()] == ([after] if after else [])
    assert not done.refused
    broken = {
        "shell-broken-flag",
        "shell-windows-lines",
        "shell-broken-continuation",
        "json-trailing-comma",
        "json-comment",
        "duplicate-key",
    }
    assert bool(rules(done.inspection) & broken) == (after is None)


@pytest.mark.parametrize(("name", "before", "after"), TEXTS.values(), ids=TEXTS)
def test_what_is_mended_stays_as_it_is(tmp_path: Path, name: str, before: str, after: str | None) -> None:
    base = written(tmp_path, {name: after or before})
    assert not repair([base], options(), unsafe=True, base=base).texts
