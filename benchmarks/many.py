"""Rows a second of a table of configurations: one process, Ray and Spark with one and with two workers on this machine.

pip install -e '.[ray,spark]' && python benchmarks/many.py 4000

The rows of every engine are held against those of one process, column by column; exit code 1 where one differs.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from stablint.base import knowledge
from stablint.integrate.texts import Checked, asked_of, columns

GPU = "A100-80GB x8"
BATCH = 256  # rows, as stablint.integrate.ray takes them
COLUMNS = ("path", "text", *Checked._fields)
Row = tuple[object, ...]


def rows(count: int) -> list[tuple[str, str]]:
    """Examples of the rules that are one file, each with another output folder, so that no two are equal."""
    texts = [
        (name, text)
        for found in knowledge.load("examples").values()
        for one in found[:1]
        for name, text in one["files"].items()
    ]
    texts = [(name, text) for name, text in texts if name.endswith((".yaml", ".py", ".sh"))]
    return [
        (texts[number % len(texts)][0], f"{texts[number % len(texts)][1]}\n# {number}\n") for number in range(count)
    ]


def alone(table: list[tuple[str, str]]) -> list[Row]:
    """In batches like those of the engines: what is equal in a batch is judged once."""
    asked, found = asked_of(GPU, None, ()), []
    for start in range(0, len(table), BATCH):
        paths, texts = zip(*table[start : start + BATCH], strict=True)
        made = columns({"path": paths, "text": texts}, "path", "text", asked)
        found += zip(paths, texts, *(made[name] for name in Checked._fields), strict=True)
    return found


def by_ray(workers: int) -> Callable[[list[tuple[str, str]]], list[Row]]:
    import ray

    from stablint.integrate.ray import check

    ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)

    def run(table: list[tuple[str, str]]) -> list[Row]:
        dataset = ray.data.from_items([{"path": path, "text": text} for path, text in table]).repartition(4 * workers)
        # An aggregation of Ray's would hold one of the processors while the rows are checked.
        return [tuple(row[name] for name in COLUMNS) for row in check(dataset, gpu=GPU).iter_rows()]

    return run


def by_spark(workers: int) -> Callable[[list[tuple[str, str]]], list[Row]]:
    from pyspark.sql import SparkSession

    from stablint.integrate.spark import check

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = SparkSession.builder.master(f"local[{workers}]").config("spark.ui.enabled", "false").getOrCreate()

    def run(table: list[tuple[str, str]]) -> list[Row]:
        frame = spark.createDataFrame(table, "path string, text string").repartition(4 * workers)
        return [tuple(row[name] for name in COLUMNS) for row in check(frame, gpu=GPU).collect()]

    return run


ENGINES: dict[str, Callable[[], Callable[[list[tuple[str, str]]], list[Row]]]] = {
    "one process": lambda: alone,
    "ray, 1 worker": lambda: by_ray(1),
    "ray, 2 workers": lambda: by_ray(2),
    "spark, 1 worker": lambda: by_spark(1),
    "spark, 2 workers": lambda: by_spark(2),
}


def cpu() -> dict[int, tuple[str, float]]:
    """CPU seconds so far of this process and of all that descend from it, by number, with their names (Linux)."""
    tick, parents, found = os.sysconf("SC_CLK_TCK"), {}, {}
    for entry in Path("/proc").iterdir():
        try:
            head, _, tail = (entry / "stat").read_text().rpartition(")") if entry.name.isdecimal() else ("", "", "")
        except OSError:  # it has ended
            continue
        if tail:
            fields = tail.split()
            parents[int(entry.name)] = int(fields[1])
            found[int(entry.name)] = head.partition("(")[2], (int(fields[11]) + int(fields[12])) / tick

    def descends(process: int) -> bool:
        while process > 1 and process != os.getpid():
            process = parents.get(process, 0)
        return process == os.getpid()

    return {process: one for process, one in found.items() if descends(process)}


def told(rows: Iterable[Row]) -> list[str]:
    """A digest a row, in no engine's order."""
    return sorted(hashlib.sha256(repr(row).encode()).hexdigest() for row in rows)


def main(count: int, engine: str | None = None, stored: str = "") -> int:
    """Each engine in a process of its own; the first run of a few rows is not counted, since it starts the workers."""
    if engine is None:
        with tempfile.NamedTemporaryFile(suffix=".rows") as file:
            words = [sys.executable, str(Path(__file__)), str(count)]
            return max(os.spawnv(os.P_WAIT, sys.executable, [*words, name, file.name]) for name in ENGINES)
    table, run = rows(count), ENGINES[engine]()
    run(table[:200])
    begin, before = time.perf_counter(), cpu()
    spent: dict[int, tuple[str, float]] = dict(before)
    done = threading.Event()

    def watch() -> None:  # a worker that ends takes its figure with it
        while not done.wait(0.3):
            spent.update(cpu())

    watcher = threading.Thread(target=watch)
    watcher.start()
    found = run(table)
    seconds = time.perf_counter() - begin
    done.set()
    watcher.join()
    spent.update(cpu())
    errors = sum(int(str(row[COLUMNS.index("errors")])) for row in found)
    different = compared(told(found), Path(stored)) if stored else 0
    print(
        f"{engine:<18} {seconds:7.1f} s  {count / seconds:7.0f} rows a second  {errors} errors  {different} rows differ",
        flush=True,
    )
    own = sorted(
        ((now - before.get(process, ("", 0.0))[1], name) for process, (name, now) in spent.items()), reverse=True
    )
    names = ", ".join(f"{one:.1f} {name}" for one, name in own if one >= 0.2)
    print(f"{'':<18} {sum(one for one, _ in own):7.1f} s of CPU: {names}", flush=True)
    return 1 if different else 0


def compared(rows: list[str], stored: Path) -> int:
    """How many rows are not those of the first engine, which is one process and stores its own."""
    before = stored.read_text().split()
    if not before:
        stored.write_text("\n".join(rows))
        return 0
    return len(set(rows) ^ set(before)) or abs(len(rows) - len(before))


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]), *sys.argv[2:]))
