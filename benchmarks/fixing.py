"""What `--fix` costs beside a check of the same folder, and what is lost when it is killed or when somebody types meanwhile. See README.md."""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

COST_BAR = 3.0
COMMAND = [sys.executable, "-c", "from stablint.starting import script; script()", "check", ".", "--isolated"]
FIX = [*COMMAND, "--fix", "--unsafe-fixes", "--gpu", "A100-80GB x2"]
PAIRS = 8  # runs of two files that one repair changes together
TYPED = "typed_by_hand: 1\n"
TRAIN = """\
# experiment {number}
model_name_or_path: Qwen/Qwen2-7B-Instruct
dataset_name: our-org/dialogues
output_dir: runs/{number}
learning_rate: 1.0e-5
fp16: true  # as before
deepspeed: ds{number}.json
"""
DEEPSPEED = '{\n  "fp16": {"enabled": true},\n  "zero_optimization": {"stage": 2}\n}\n'


def seconds(command: list[str], folder: Path) -> float:
    """User time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def cost(folder: Path, times: int) -> bool:
    """The ratio of a repair to a check, each of a fresh copy; medians of user time."""
    checks, repairs = [], []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as scratch:
            copy = Path(shutil.copytree(folder, Path(scratch) / "copy", ignore=shutil.ignore_patterns(".git")))
            for path in copy.rglob("*"):
                path.chmod(path.stat().st_mode | 0o200)
            checks.append(seconds(COMMAND, copy))
            repairs.append(seconds([*COMMAND, "--fix", "--unsafe-fixes"], copy))
    check, repair = statistics.median(checks), statistics.median(repairs)
    print(f"check {check:.2f} s, --fix --unsafe-fixes {repair:.2f} s: {repair / check:.2f} times (bar {COST_BAR})")
    return repair <= COST_BAR * check


def project(folder: Path) -> dict[str, str]:
    """Files, half of which hang together in pairs."""
    files = {}
    for number in range(PAIRS):
        files[f"run{number}/train.yaml"] = TRAIN.format(number=number)
        files[f"run{number}/ds{number}.json"] = DEEPSPEED
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return files


def read(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def wait(child: subprocess.Popen[str], folder: Path, chance: random.Random, took: float) -> None:
    """A while; three times in four until files are written in one of the folders, and some milliseconds."""
    if chance.random() < 0.25:
        time.sleep(took * chance.uniform(0.05, 1.02))
        return
    here = folder / f"run{chance.randrange(PAIRS)}"
    while child.poll() is None and not any(name.startswith(".stablint-") for name in os.listdir(here)):
        time.sleep(0.0005)
    time.sleep(chance.uniform(0, 0.08))


def finished() -> tuple[dict[str, str], float]:
    with tempfile.TemporaryDirectory() as scratch:
        project(Path(scratch))
        took = []
        for _ in range(3):
            project(Path(scratch))
            start = time.monotonic()
            subprocess.run(FIX, cwd=scratch, capture_output=True, check=False)
            took.append(time.monotonic() - start)
        return read(Path(scratch)), statistics.median(took)


def kills(times: int, chance: random.Random) -> bool:
    after, took = finished()
    seen: Counter[str] = Counter()
    for turn in range(times):
        number = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[turn % 3]
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            files = project(folder)
            child = subprocess.Popen(FIX, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
            wait(child, folder, chance, took)
            child.send_signal(number)
            child.wait()
            now = read(folder)
            new = sum(now.get(name) == after[name] for name in files)
            seen["untouched" if not new else "whole" if new == len(files) else "in the middle"] += 1
            seen["lost or torn"] += any(now.get(name) not in (files[name], after[name]) for name in files)
            seen["left something behind"] += now.keys() != files.keys()
            halves = [
                (now[f"run{n}/train.yaml"] == after[f"run{n}/train.yaml"])
                != (now[f"run{n}/ds{n}.json"] == after[f"run{n}/ds{n}.json"])
                for n in range(PAIRS)
            ]
            seen["half a repair, by KILL" if number == signal.SIGKILL else "half a repair, by TERM or INT"] += any(
                halves
            )
            subprocess.run(FIX, cwd=folder, capture_output=True, check=False)
            seen["not as if undisturbed after the next run"] += read(folder) != after
    print(
        f"{times} kills of a repair of {2 * PAIRS} files: "
        + ", ".join(f"{count} {what}" for what, count in sorted(seen.items()))
    )
    return (
        not seen["lost or torn"]
        + seen["half a repair, by TERM or INT"]
        + seen["not as if undisturbed after the next run"]
    )


def edits(times: int, chance: random.Random) -> bool:
    _, took = finished()
    seen: Counter[str] = Counter()
    for turn in range(times):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            files = project(folder)
            child = subprocess.Popen(FIX, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            wait(child, folder, chance, took)
            path = folder / chance.choice([name for name in files if name.endswith("yaml")])
            if turn % 2:
                with path.open("a") as file:
                    file.write(TYPED)
            else:  # as most editors do
                path.with_name("new").write_text(path.read_text() + TYPED)
                path.with_name("new").replace(path)
            _, error = child.communicate()
            seen["lost"] += TYPED not in path.read_text()
            seen["refused, and told"] += "changed while stablint worked" in error
            seen["left something behind"] += read(folder).keys() != files.keys()
    print(f"{times} edits while it ran: " + ", ".join(f"{count} {what}" for what, count in sorted(seen.items())))
    return not seen["lost"] + seen["left something behind"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="configurations whose check and repair are compared")
    parser.add_argument("--times", type=int, default=3, help="how often they are, for a median")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--edits", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    fine = [cost(given.folder, given.times)] if given.folder else []
    fine += [kills(given.kills, chance)] if given.kills else []
    fine += [edits(given.edits, chance)] if given.edits else []
    return 0 if all(fine) else 1


if __name__ == "__main__":
    raise SystemExit(main())
