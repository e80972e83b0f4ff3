"""What `stablint diagnose` costs on large logs: processor time of a process of its own, and the most memory that it holds.

    python benchmarks/logs.py [--megabytes 200] [--only KIND …] [--keep FOLDER]

Each kind is made here, of the forms that trainers print, by a generator of numbers with a fixed seed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import string
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from pace import slowness

_LETTERS = string.ascii_letters + string.digits + "    ()[]{}.,:;=-_/'\""
_ROWS = 2000  # made anew at the beginning, and once more; a log is the second ones over and over, with their own numbers of steps


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


def _stamped(dice: random.Random, step: int) -> str:
    return f"[2026-11-29 10:{step // 60 % 60:02d}:{step % 60:02d},{dice.randrange(1000):03d}] [INFO] [trainer.py:{300 + step % 9}] {_row(dice, step)}\n"


def _ranks(dice: random.Random, step: int) -> str:
    return "".join(f"[rank{rank}]: {_row(dice, step)}\n" for rank in range(8))


def _drawn(dice: random.Random, step: int) -> str:
    """A bar whose figures are drawn over with every step, and never a new line."""
    row = _row(dice, step)
    told = f"loss={row['loss']}, lr={row['learning_rate']:.2e}"
    return f"\r {step % 100:3d}%|{'█' * (step % 10):<10}| {step}/100000 [01:{step % 60:02d}<99:03, 1.{step % 9}s/it, {told}]"


def _ray(dice: random.Random, step: int) -> str:
    figures = {"actor/entropy": dice.random(), "actor/grad_norm": dice.random(), "critic/rewards/mean": dice.random()}
    figures |= {"response_length/clip_ratio": dice.random(), "timing_s/step": dice.random() * 90}
    told = " - ".join(f"{name}:{value:.5f}" for name, value in figures.items())
    return f"\x1b[36m(TaskRunner pid={4000 + step % 4})\x1b[0m step:{step} - {told}\n"


def _megatron(dice: random.Random, step: int) -> str:
    return (
        f" iteration {step:8d}/  500000 | consumed samples: {step * 256:12d} | elapsed time per iteration (ms): {dice.random() * 3000:.1f} | "
        f"learning rate: 1.000E-04 | lm loss: {2 + dice.random() / 5:.6E} | loss scale: 1.0 | grad norm: {dice.random():.3f} | "
        "number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    )


def _coloured(dice: random.Random, step: int) -> str:
    when = f"\x1b[32m2026-11-29 10:{step // 60 % 60:02d}:{step % 60:02d}\x1b[0m"
    return f"{when} | \x1b[1mINFO\x1b[0m | \x1b[36mtrain\x1b[0m:\x1b[36m{100 + step % 3}\x1b[0m - \x1b[1m{_row(dice, step)}\x1b[0m\n"


def _noisy(dice: random.Random, step: int) -> str:
    """Losses of single examples, one in twelve beyond twice the median."""
    return f"{_row(dice, step) | {'loss': round(math.exp(dice.gauss(0, 0.5)), 4)}}\n"


def _dead(dice: random.Random, step: int) -> str:
    return f"{_row(dice, step) | {'loss': 0.0, 'grad_norm': math.nan}}\n"


def _fallen(dice: random.Random, step: int) -> str:
    """No norm is logged, and the loss is 0 since the thousandth row."""
    row = _row(dice, step)
    del row["grad_norm"]
    return f"{row | {'loss': row['loss'] if step < 1000 else 0.0}}\n"


def _random(dice: random.Random, step: int) -> str:
    return "".join(dice.choices(_LETTERS, k=dice.randrange(20, 180))) + "\n"


KINDS: dict[str, Callable[[random.Random, int], str]] = {
    "mixed": _mixed, "bars": _bars, "dense": _dense, "texts": _texts, "json-lines": _lines, "policy": _policy,
    "stamped": _stamped, "ranks": _ranks, "drawn": _drawn, "ray": _ray, "megatron": _megatron, "coloured": _coloured, "noisy": _noisy,
    "dead": _dead, "fallen": _fallen, "random": _random,
}  # fmt: skip


def write(path: Path, kind: str, size: int) -> int:
    dice = random.Random(16)
    first, again = ("".join(KINDS[kind](dice, begun + step) for step in range(_ROWS)).encode() for begun in (0, _ROWS))
    with open(path, "wb") as stream:
        stream.write(first)
        for _ in range(max(1, size // len(again)) - 1):
            stream.write(again)
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
            slow = slowness()
            seconds, memory = measure(path)
            slow = (slow + slowness()) / 2
            rate = size / 1e6 / seconds
            print(
                f"{kind:11} {size / 1e6:7.0f} MB  {seconds:6.2f} s ({start:.2f} s of it the start)  {rate:5.0f} MB/s, "
                f"x {slow:.2f} = {rate * slow:4.0f} on the reference  {memory:4.0f} MiB",
                flush=True,
            )
            if given.keep is None:
                path.unlink()


if __name__ == "__main__":
    main()
