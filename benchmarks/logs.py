"""What `stablint diagnose` costs on large logs: processor time of a process of its own, and the most memory that it holds.

    python benchmarks/logs.py [--megabytes 200] [--only KIND …] [--keep FOLDER]

Each kind is made here, of the forms that trainers print, by a generator of numbers with a fixed seed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

_ROWS = 2000  # made anew; a log is these over and over, with their own numbers of steps


def _row(dice: random.Random, step: int) -> dict[str, float]:
    return {
        "loss": round(1.2 + dice.random() / 10, 4),
        "grad_norm": round(0.5 + dice.random(), 6),
        "learning_rate": 2e-5 * (1 - step / 1e7),
        "epoch": round(step / 1e5, 2),
    }


def _dense(dice: random.Random, step: int) -> str:
    return f"{_row(dice, step)}\n"


def _texts(dice: random.Random, step: int) -> str:
    return f"{ {name: str(value) for name, value in _row(dice, step).items()} }\n"


def _lines(dice: random.Random, step: int) -> str:
    row = {f"train/{name}": value for name, value in _row(dice, step).items()}
    return json.dumps({**row, "train/global_step": step, "_runtime": step * 1.5, "_timestamp": 1.7e9 + step}) + "\n"


def _policy(dice: random.Random, step: int) -> str:
    row = _row(dice, step)
    row |= {
        "reward": dice.random(),
        "reward_std": dice.random(),
        "kl": dice.random() / 10,
        "completion_length": dice.random() * 300,
    }
    row |= {"rewards/format/mean": dice.random(), "rewards/format/std": dice.random(), "clip_ratio": dice.random() / 10}
    return f"{row}\n"


def _bars(dice: random.Random, step: int) -> str:
    bar = "".join(
        f"\r {step % 100:3d}%|{'█' * (step % 10):<10}| {step + part}/100000 [01:02<99:03, 1.{part}s/it]"
        for part in range(10)
    )
    return bar + (f"\n{_row(dice, step)}\n" if step % 5 == 0 else "")


def _mixed(dice: random.Random, step: int) -> str:
    """A job on a cluster: ten lines of loaders and ranks for one row, a warning now and then."""
    lines = [
        f"[rank{dice.randrange(8)}]: 10:{step % 60:02d}:{part:02d},123 - INFO - loader - shard {dice.randrange(10**6)} of 9000 is open, {dice.random():.4f} s\n"
        for part in range(10)
    ]
    if step % 50 == 0:
        lines.append(
            "torch/utils/data/dataloader.py:557: UserWarning: This DataLoader will create 16 worker processes in total.\n"
        )
    return "".join(lines) + _dense(dice, step)


KINDS: dict[str, Callable[[random.Random, int], str]] = {
    "mixed": _mixed, "bars": _bars, "dense": _dense, "texts": _texts, "json-lines": _lines, "policy": _policy,
}  # fmt: skip


def write(path: Path, kind: str, size: int) -> int:
    dice = random.Random(16)
    piece = "".join(KINDS[kind](dice, step) for step in range(_ROWS)).encode()
    with open(path, "wb") as stream:
        for _ in range(max(1, size // len(piece))):
            stream.write(piece)
    return os.path.getsize(path)


def measure(path: Path) -> tuple[float, float]:
    """Seconds of processor time and MiB of `stablint diagnose`."""
    child = subprocess.Popen([sys.executable, "-m", "stablint", "diagnose", str(path)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode > 1:
        raise SystemExit(f"diagnose {path} ended with {child.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--only", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--keep", type=Path, help="where the logs are written and left")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        small = folder / "small.log"
        write(small, "dense", 1)
        start, _ = measure(small)
        for kind in given.only:
            path = folder / f"{kind}.log"
            size = write(path, kind, given.megabytes * 10**6)
            seconds, memory = measure(path)
            print(
                f"{kind:11} {size / 1e6:7.0f} MB  {seconds:6.2f} s ({start:.2f} s of it the start)  {size / 1e6 / seconds:5.0f} MB/s  {memory:4.0f} MiB",
                flush=True,
            )
            if given.keep is None:
                path.unlink()


if __name__ == "__main__":
    main()
