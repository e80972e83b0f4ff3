"""Configurations of a Spark data frame, checked by its workers: `pip install 'stablint[spark]'`.

from stablint.integrate.spark import check

found = check(spark.read.parquet("configs/"), text="content", path="path", gpu="A100-80GB x8")
found.where("errors > 0").write.json("with-errors/")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import LongType, StringType, StructType

from stablint.integrate.texts import Asked, asked_of, columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check(
    frame: DataFrame,
    *,
    text: str = "text",
    path: str | None = "path",
    gpu: str | Iterable[str] | None = None,
    gpu_memory: float | str | None = None,
    model: str | None = None,
    releases: Iterable[str] = (),
    select: Iterable[str] = (),
) -> DataFrame:
    """The frame with the columns of `texts.Checked` beside its own. A row is one file, checked by itself: what it names is not at hand.

    `text` and `path` are columns; without `path` every row counts as YAML. `gpu_memory` is what a run can have of each card, as for
    `stablint.check`. Raises ValueError for a GPU, a release or a rule that is not known.
    """
    schema = StructType(list(frame.schema.fields))
    for name, kind in (
        ("status", StringType()), ("errors", LongType()), ("warnings", LongType()), ("infos", LongType()), ("findings", StringType()),
    ):  # fmt: skip
        schema = schema.add(name, kind, nullable=False)
    return frame.mapInPandas(_mapper(text, path, asked_of(gpu, model, releases, select, gpu_memory)), schema)


def _mapper(text: str, path: str | None, asked: Asked) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def checked(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch.assign(**columns(batch, path, text, asked))

    return checked
