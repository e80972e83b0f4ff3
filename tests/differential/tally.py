"""Both sides asked about many argument sets of one class, and counted."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

from tests.differential.arguments import Subject, arguments
from tests.differential.judge import Judge, stablint_says

# The model that adapters are put on, as `--model` takes it.
_LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 64, "torch_dtype": "float32",
}  # fmt: skip


class Tally:
    """What was refused and said, refused and missed, accepted and accused; with the argument sets of the last two."""

    def __init__(self) -> None:
        self.refused = self.caught = self.accepted = self.beyond = 0
        self.missed: list[tuple[dict[str, Any], str]] = []
        self.accused: list[tuple[dict[str, Any], tuple[str, ...]]] = []
        self.asked: list[tuple[dict[str, Any], str | None]] = []

    def add(self, other: Tally) -> None:
        for name in ("refused", "caught", "accepted", "beyond"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.missed += other.missed
        self.accused += other.accused
        self.asked += other.asked

    @property
    def recall(self) -> float:
        return self.caught / self.refused if self.refused else 1.0

    @property
    def silence(self) -> float:
        return 1 - len(self.accused) / self.accepted if self.accepted else 1.0

    def line(self, name: str) -> str:
        return (
            f"{name:36} refused {self.refused:5}, of them said {self.recall:7.2%}   accepted {self.accepted:5}, left in peace "
            f"{self.silence:7.2%}   beyond {self.beyond}"
        )


def put_model(folder: str) -> None:
    (Path(folder) / "llama").mkdir()
    (Path(folder) / "llama" / "config.json").write_text(json.dumps(_LLAMA), encoding="utf-8")


def count(judge: Judge, subject: Subject, examples: int, seed: int | None = None) -> Tally:
    """`examples` argument sets; the same ones every time unless there is a seed."""
    tally, seen = Tally(), set()
    description = judge.describe(
        subject.kind if subject.kind != "trainer+deepspeed" else "transformers.TrainingArguments"
    )
    with tempfile.TemporaryDirectory(prefix="stablint-differential-") as folder:
        put_model(folder)

        @settings(
            max_examples=examples, derandomize=seed is None, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck), deadline=None,
        )  # fmt: skip
        @given(arguments(subject, description))
        def look(given: dict[str, Any]) -> None:
            key = json.dumps(given, sort_keys=True)
            if key not in seen:
                seen.add(key)
                _one(tally, judge, subject.kind, given, folder)

        if seed is not None:
            from hypothesis import seed as seeded

            seeded(seed)(look)()
        else:
            look()
    return tally


def _one(tally: Tally, judge: Judge, kind: str, given: dict[str, Any], folder: str) -> None:
    compare(tally, kind, given, judge.refuses(kind, given), judge.versions, folder)


def compare(
    tally: Tally, kind: str, given: dict[str, Any], error: str | None, versions: dict[str, str], folder: str
) -> None:
    """What stablint says beside what the constructor said: its error, None where it took the arguments."""
    tally.asked.append((given, error))
    said = stablint_says(kind, given, versions, folder)
    if error is not None:
        tally.refused += 1
        if said.errors or said.beyond or said.warned:  # what a fork may take, or a model decides, is a warning
            tally.caught += 1
        else:
            tally.missed.append((given, error))
        return
    tally.accepted += 1
    if said.errors:
        tally.accused.append((given, said.errors))
    elif said.beyond:
        tally.beyond += 1
