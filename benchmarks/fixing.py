"""What `--fix` costs beside a check of the same folder, and what is lost when it, or another command that writes files, is killed or when somebody
types meanwhile. See README.md."""

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
PROGRAM = [sys.executable, "-c", "from stablint.starting import script; script()"]
COMMAND = [*PROGRAM, "check", ".", "--isolated"]
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
FACTORY = """\
model_name_or_path: Qwen/Qwen2.5-7B-Instruct
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 8
dataset: alpaca_en_demo
template: qwen
cutoff_len: 8192
output_dir: out
per_device_train_batch_size: 4
gradient_accumulation_steps: 2
learning_rate: 1.0e-4
bf16: true
"""
OVERFLOWS = "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05}\n" * 3
# Each command that writes files.
WRITERS = {
    "fix": ["check", ".", "--fix", "--unsafe-fixes", "--gpu", "A100-80GB x2"],
    "migrate": ["migrate", ".", "--from", "transformers==4.40.0", "--with", "transformers==5.0.0"],
    "fit": ["fit", "run0/train.yaml", "--gpu", "RTX 4090 x4", "--apply", "1"],
    "advise": ["advise", "run0/train.yaml", "--gpu", "A100-80GB", "--apply", "1"],
    "diagnose": ["diagnose", "train.log", "run0/train.yaml", "--fix", "--unsafe-fixes", "--gpu", "A100-80GB x2"],
}
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


def project(folder: Path, writer: str) -> dict[str, str]:
    """Files, half of which hang together in pairs; one alone for what changes one file."""
    files = {}
    for number in range(PAIRS):
        train = TRAIN.format(number=number) + 'evaluation_strategy: "no"\n' * (writer == "migrate")
        files[f"run{number}/train.yaml"] = FACTORY if writer in ("fit", "advise") else train
        files[f"run{number}/ds{number}.json"] = DEEPSPEED
    if writer == "diagnose":
        files["train.log"] = OVERFLOWS
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return files


def started(writer: str, folder: Path, **streams: int) -> subprocess.Popen[str]:
    return subprocess.Popen([*PROGRAM, *WRITERS[writer], "--isolated"], cwd=folder, text=True, **streams)


def ended(writer: str, folder: Path) -> None:
    """Undisturbed. A command that finds nothing more to do has done all."""
    started(writer, folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait()


def read(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def wait(child: subprocess.Popen[str], folder: Path, names: list[str], chance: random.Random, took: float) -> None:
    """A while; three times in four until files are written in one of the folders, and some milliseconds."""
    if chance.random() < 0.25:
        time.sleep(took * chance.uniform(0.05, 1.02))
        return
    here = (folder / chance.choice(names)).parent
    while child.poll() is None and not any(name.startswith(".stablint-") for name in os.listdir(here)):
        time.sleep(0.0005)
    time.sleep(chance.uniform(0, 0.08))


def finished(writer: str) -> tuple[dict[str, str], float, list[str]]:
    """The files after the command, how long it takes, and which of them it changes."""
    with tempfile.TemporaryDirectory() as scratch:
        took = []
        for _ in range(3):
            before = project(Path(scratch), writer)
            start = time.monotonic()
            ended(writer, Path(scratch))
            took.append(time.monotonic() - start)
        after = read(Path(scratch))
        changed = [name for name in before if before[name] != after[name]]
        assert changed and after.keys() == before.keys(), f"{writer} changes nothing here"
        return after, statistics.median(took), changed


def kills(writer: str, times: int, chance: random.Random) -> bool:
    after, took, changed = finished(writer)
    pairs = [
        (f"run{n}/train.yaml", f"run{n}/ds{n}.json")
        for n in range(PAIRS)
        if {f"run{n}/train.yaml", f"run{n}/ds{n}.json"} <= set(changed)
    ]
    seen: Counter[str] = Counter()
    for turn in range(times):
        number = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)[turn % 3]
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            files = project(folder, writer)
            child = started(writer, folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait(child, folder, changed, chance, took)
            child.send_signal(number)
            child.wait()
            now = read(folder)
            new = sum(now.get(name) == after[name] for name in changed)
            seen["untouched" if not new else "whole" if new == len(changed) else "in the middle"] += 1
            seen["lost or torn"] += any(now.get(name) not in (files[name], after[name]) for name in files)
            seen["left something behind"] += now.keys() != files.keys()
            half = any((now.get(one) == after[one]) != (now.get(other) == after[other]) for one, other in pairs)
            seen["half a repair, by KILL" if number == signal.SIGKILL else "half a repair, by TERM or INT"] += half
            ended(writer, folder)
            left = read(folder)
            if new == len(changed) and writer in ("fit", "advise"):  # a second change of another kind is a second wish
                seen["not as if undisturbed after the next run"] += left.keys() != files.keys()
            else:
                seen["not as if undisturbed after the next run"] += left != after
    print(
        f"{times} kills of `{writer}`, which changes {len(changed)} files: "
        + ", ".join(f"{count} {what}" for what, count in sorted(seen.items()))
    )
    return not (
        seen["lost or torn"] + seen["half a repair, by TERM or INT"] + seen["not as if undisturbed after the next run"]
    )


def edits(writer: str, times: int, chance: random.Random) -> bool:
    _, took, changed = finished(writer)
    seen: Counter[str] = Counter()
    for turn in range(times):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            files = project(folder, writer)
            child = started(writer, folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            wait(child, folder, changed, chance, took)
            path = folder / chance.choice([name for name in changed if name.endswith("yaml")])
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
    print(
        f"{times} edits while `{writer}` ran: " + ", ".join(f"{count} {what}" for what, count in sorted(seen.items()))
    )
    return not seen["lost"] + seen["left something behind"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="configurations whose check and repair are compared")
    parser.add_argument("--times", type=int, default=3, help="how often they are, for a median")
    parser.add_argument("--writers", default="fix", help="commands that are killed and disturbed: " + ",".join(WRITERS))
    parser.add_argument("--kills", type=int, default=0, help="of each")
    parser.add_argument("--edits", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    fine = [cost(given.folder, given.times)] if given.folder else []
    for writer in given.writers.split(","):
        fine += [kills(writer, given.kills, chance)] if given.kills else []
        fine += [edits(writer, given.edits, chance)] if given.edits else []
    return 0 if all(fine) else 1


if __name__ == "__main__":
    raise SystemExit(main())
