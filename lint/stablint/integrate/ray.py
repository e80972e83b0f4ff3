"""Configurations of a Ray dataset, checked by its workers: `pip install 'stablint[ray]'`.

import ray
from stablint.integrate.ray import check

found = check(ray.data.read_parquet("configs/"), text="content", path="path", gpu="A100-80GB x8")
found.filter(lambda row: row["errors"] > 0).write_json("with-errors/")
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from stablint.integrate.texts import Asked, asked_of, columns

if TYPE_CHECKING:
    from ray.data import Dataset


def check(
    dataset: Dataset,
    *,
    text: str = "text",
    path: str | None = "path",
    gpu: str | Iterable[str] | None = None,
    gpu_memory: float | str | None = None,
    model: str | None = None,
    releases: Iterable[str] = (),
    select: Iterable[str] = (),
    batch_size: int = 256,
    **more: Any,
) -> Dataset:
    """The dataset with the columns of `texts.Checked` beside its own. A row is one file, checked by itself: what it names is not at hand.

    `text` and `path` are columns; without `path` every row counts as YAML. `more` goes to `Dataset.map_batches` (num_cpus, concurrency).
    `gpu_memory` is what a run can have of each card, as for `stablint.check`. Raises ValueError for a GPU, a release or a rule that is not known.
    """
    asked = asked_of(gpu, model, releases, select, gpu_memory)
    return dataset.map_batches(
        _batch,
        fn_kwargs={"text": text, "path": path, "asked": asked},
        batch_size=batch_size,
        batch_format="numpy",
        **more,
    )


def _batch(batch: dict[str, Any], text: str, path: str | None, asked: Asked) -> dict[str, Any]:
    return {**batch, **columns(batch, path, text, asked)}
