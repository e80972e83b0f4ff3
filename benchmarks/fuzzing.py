"""Structure-aware fuzzing without an end: cases made from seeds, judged as docs/security.md promises, in as many processes as there are cores.

    python benchmarks/fuzzing.py --files 1000000 [--jobs 2] [--first 0] [--seed 0] [--keep FOLDER]
    python benchmarks/fuzzing.py --atheris yaml -max_total_time=600

A case is made by its number alone, so that a run goes on where another ended (`--first`), and a bad one is made again by `--first N --files 1`.
A process that takes a minute of CPU for one case hangs in a pattern: the kernel ends it, and its case counts as bad; on a busy machine a case may
take as long as it likes. With `--keep` the files of bad cases are
written below that folder. `--atheris KIND` lets coverage choose the bytes from which the cases of one kind are made; it wants `pip install atheris`.
Exits 1 if a case was bad.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from multiprocessing.connection import Connection, wait
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the generators are those of the tests
from tests.fuzz import grammar, judge  # noqa: E402
from tests.fuzz.choices import Bytes, Choices, seeded  # noqa: E402

_CHUNK = 50  # cases after which a process takes the next numbers
_ENDLESS = 60  # seconds of CPU for one case, after which nothing but the kernel can stop it
_SILENCE = 1800.0  # seconds in which a process that waits for something says nothing


def work(pipe: Connection, seed: str) -> None:
    """Judge the ranges of case numbers that come through the pipe; answer after each case."""
    judge.warm_up()
    judge.watch()
    gc.collect()
    gc.freeze()
    gc.disable()  # as the console script does; what a case leaves goes before the next one begins, outside of its time
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "project"
        while (numbers := pipe.recv()) is not None:
            for number in numbers:
                resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + _ENDLESS, resource.RLIM_INFINITY))
                case = grammar.case(seeded(f"{seed}:{number}"))
                outcome = judge.run(case, folder)
                pipe.send((number, len(case.files), sum(map(len, case.files.values())), outcome))
                gc.collect()
            pipe.send(None)


class Worker:
    def __init__(self, seed: str) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("fork").Process(target=work, args=(theirs, seed), daemon=True)
        self.process.start()
        theirs.close()
        self.numbers: range = range(0)
        self.at = 0
        self.heard = time.monotonic()

    def give(self, numbers: range) -> None:
        self.numbers, self.at, self.heard = numbers, numbers.start, time.monotonic()
        self.pipe.send(numbers)


def drive(files: int, jobs: int, first: int, seed: str, keep: Path | None) -> int:
    began, following = time.monotonic(), first
    done: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    slowest = 0.0

    def chunk() -> range:
        nonlocal following
        following += _CHUNK
        return range(following - _CHUNK, following)

    def bad(number: int, what: str) -> None:
        done["bad"] += 1
        faults[what.splitlines()[0][:100] if what else ""] += 1
        print(f"case {number}: {what}", flush=True)
        if keep is not None:
            case = grammar.case(seeded(f"{seed}:{number}"))
            for name, text in case.files.items():
                path = keep / str(number) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text.encode("utf-8", "surrogatepass"))
            (keep / str(number) / "command.json").write_text(json.dumps(case.command))

    workers = [Worker(seed) for _ in range(jobs)]
    for worker in workers:
        worker.give(chunk())
    told = began
    while workers:
        for pipe in wait([worker.pipe for worker in workers], timeout=1.0):
            worker = next(one for one in workers if one.pipe is pipe)
            try:
                answer = worker.pipe.recv()
            except EOFError:
                answer = "died"
            worker.heard = time.monotonic()
            if answer is None:
                if done["files"] < files:
                    worker.give(chunk())
                else:
                    worker.pipe.send(None)
                    workers.remove(worker)
                continue
            if answer == "died":
                bad(worker.at, f"the process died, or took {_ENDLESS} s of CPU")
                _replace(workers, worker, seed)
                continue
            number, count, size, outcome = answer
            worker.at = number + 1
            done["cases"] += 1
            done["files"] += count
            done["bytes"] += size
            slowest = max(slowest, outcome.seconds)
            if outcome.faults:
                bad(number, "; ".join(outcome.faults))
        for worker in list(workers):
            if time.monotonic() - worker.heard > _SILENCE:
                bad(worker.at, f"nothing for {_SILENCE:.0f} s")
                worker.process.kill()
                _replace(workers, worker, seed)
        if time.monotonic() - told > 60:
            told = time.monotonic()
            print(f"… {done['files']} files, {done['bad']} bad, next case {following}", flush=True)
    took = time.monotonic() - began
    for what, times in faults.most_common(20):
        print(f"{times:6} × {what}")
    print(
        f"{done['files']} files in {done['cases']} cases of seed {seed} from {first} to {following - 1}, {done['bytes'] / 1e6:.0f} MB, "
        f"{took:.0f} s in {jobs} processes, slowest case {slowest:.2f} s of CPU: {done['bad']} bad"
    )
    return 1 if done["bad"] else 0


def _replace(workers: list[Worker], lost: Worker, seed: str) -> None:
    workers.remove(lost)
    fresh = Worker(seed)
    workers.append(fresh)
    fresh.give(range(lost.at + 1, max(lost.numbers.stop, lost.at + 1)))


def guided(kind: str, options: list[str]) -> None:
    """Coverage of stablint's modules chooses the bytes. A bad case ends the run, and libFuzzer stores its input."""
    import atheris  # an extra of whoever fuzzes

    judge.warm_up()
    atheris.instrument_all()  # what is loaded by then: the generators and the judge have imported most of stablint
    judge.watch()
    folder = Path(tempfile.mkdtemp()) / "project"

    def one(data: bytes) -> None:
        outcome = judge.run(grammar.KINDS[kind](Choices(Bytes(data))), folder)
        if outcome.faults:
            raise AssertionError("; ".join(outcome.faults))

    atheris.Setup([sys.argv[0], *options], one)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz stablint with projects made from its own examples.")
    parser.add_argument("--files", type=int, default=10_000, help="how many files are checked at least")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--keep", type=Path, help="folder for the files of bad cases")
    parser.add_argument("--atheris", metavar="KIND", choices=list(grammar.KINDS))
    given, rest = parser.parse_known_args()
    if given.atheris:
        guided(given.atheris, rest)
        return 0
    return drive(given.files, given.jobs, given.first, given.seed, given.keep)


if __name__ == "__main__":
    sys.exit(main())
