"""What `--fix` costs beside a check of the same folder, and what is lost when it, or another command that writes files, is killed or when somebody
types meanwhile. See README.md."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
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

from stablint.cli import main as main_of_stablint
from stablint.starting import script

COST_BAR = 3.0
SCRATCH = tempfile.gettempdir()
PROGRAM = [sys.executable, "-c", "from stablint.starting import script; script()"]
OWN = tempfile.mkdtemp(prefix="fixing-")
"""Where the commands make folders for the time being; what a killed one leaves in it, the next one removes."""
COMMAND = [*PROGRAM, "check", ".", "--isolated"]
PAIRS = 8  # runs of two files that one repair changes together
TYPED = "typed_by_hand: 1\n"
REFUSED = ("changed while stablint worked", "exists: nothing was written")
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
_NEW = [
    "new", "--model", "Qwen/Qwen2.5-7B-Instruct", "--gpu", "RTX 4090 x4", "--framework", "llamafactory", "--method", "lora", "--output", "made",
]  # fmt: skip
# Each command that writes files, but for reports, which are written over as their caller says.
WRITERS = {
    "fix": ["check", ".", "--fix", "--unsafe-fixes", "--gpu", "A100-80GB x2"],
    "migrate": ["migrate", ".", "--from", "transformers==4.40.0", "--with", "transformers==5.0.0"],
    "fit": ["fit", "run0/train.yaml", "--gpu", "RTX 4090 x4", "--apply", "1"],
    "advise": ["advise", "run0/train.yaml", "--gpu", "A100-80GB", "--apply", "1"],
    "diagnose": ["diagnose", "train.log", "run0/train.yaml", "--fix", "--unsafe-fixes", "--gpu", "A100-80GB x2"],
    "baseline": ["check", "run0", "run1", "--gpu", "A100-80GB x2", "--write-baseline"],
    "new": _NEW,
    "new over what is there": [*_NEW, "--force"],
    "init": ["init"],
}
MAKES = {
    "new": ["made/sft.yaml", "made/launch.sh", "made/requirements.txt", "made/data/dataset_info.json"],
    "init": ["stablint.toml"],
}
"""Files that are not there before, by the command that makes them."""
BASELINE = "stablint-baseline.json"
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
        with tempfile.TemporaryDirectory(dir=SCRATCH) as scratch:
            copy = Path(shutil.copytree(folder, Path(scratch) / "copy", ignore=shutil.ignore_patterns(".git")))
            for path in copy.rglob("*"):
                path.chmod(path.stat().st_mode | 0o200)
            checks.append(seconds(COMMAND, copy))
            repairs.append(seconds([*COMMAND, "--fix", "--unsafe-fixes"], copy))
    check, repair = statistics.median(checks), statistics.median(repairs)
    print(f"check {check:.2f} s, --fix --unsafe-fixes {repair:.2f} s: {repair / check:.2f} times (bar {COST_BAR})")
    return repair <= COST_BAR * check


def accepting(*names: str) -> str:
    """A baseline with a finding of each of these files."""
    rows = [{"file": name, "rule": "duplicate-key", "fingerprint": "0" * 16, "count": 1} for name in names]
    return json.dumps({"schema_version": 1, "findings": rows}, indent=2) + "\n"


def project(folder: Path, writer: str) -> dict[str, str]:
    """Files, half of which hang together in pairs; one alone for what changes one file."""
    files = {}
    for number in range(PAIRS):
        train = TRAIN.format(number=number) + 'evaluation_strategy: "no"\n' * (writer == "migrate")
        files[f"run{number}/train.yaml"] = FACTORY if writer in ("fit", "advise") else train
        files[f"run{number}/ds{number}.json"] = DEEPSPEED
    if writer == "diagnose":
        files["train.log"] = OVERFLOWS
    if writer == "baseline":
        files[BASELINE] = accepting("run2/train.yaml")
    if writer == "new over what is there":
        files |= dict.fromkeys(MAKES["new"], "# by hand\n")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return files


class Started:
    """A command in a process of its own, forked from this one, which has loaded all modules: a start costs a tenth of what it does otherwise."""

    def __init__(self, writer: str, folder: Path) -> None:
        alone = [] if WRITERS[writer][0] in ("new", "init") else ["--isolated"]
        self.said = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.chdir(folder)
                sys.argv = ["stablint", *WRITERS[writer], *alone]
                with open(os.devnull, "w") as nowhere:
                    os.dup2(nowhere.fileno(), 1)
                os.dup2(self.said.fileno(), 2)
                script()  # never comes back
            finally:
                os._exit(99)

    def poll(self) -> int | None:
        if self.code is None:
            done, code = os.waitpid(self.pid, os.WNOHANG)
            self.code = code if done else None
        return self.code

    def wait(self) -> None:
        if self.code is None:
            self.code = os.waitpid(self.pid, 0)[1]

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def words(self) -> str:
        """What it has said, at its end."""
        self.wait()
        self.said.seek(0)
        return self.said.read()


def loaded(writer: str) -> None:
    """Everything that the command loads."""
    with (
        tempfile.TemporaryDirectory(dir=SCRATCH) as scratch,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        project(Path(scratch), writer)
        with contextlib.chdir(scratch):
            main_of_stablint([*WRITERS[writer], *([] if WRITERS[writer][0] in ("new", "init") else ["--isolated"])])


def ended(writer: str, folder: Path) -> None:
    """Undisturbed. A command that finds nothing more to do has done all."""
    Started(writer, folder).wait()


def read(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def is_ours(name: str) -> bool:
    """Whether a command has it beside its files while it writes them."""
    return name.startswith(".stablint-") or name.endswith(".new")


def wait(child: Started, folder: Path, names: list[str], chance: random.Random, took: float) -> None:
    """A while; three times in four until files are written in one of the folders, and some milliseconds."""
    if chance.random() < 0.25:
        time.sleep(took * chance.uniform(0.05, 1.02))
        return
    here = (folder / chance.choice(names)).parent
    while child.poll() is None and not (here.is_dir() and any(map(is_ours, os.listdir(here)))):
        time.sleep(0.0005)
    time.sleep(chance.uniform(0, chance.choice((0.001, 0.005, 0.08))))


def finished(writer: str) -> tuple[dict[str, str], float, list[str]]:
    """The files after the command, how long it takes, and which of them it changes."""
    with tempfile.TemporaryDirectory(dir=SCRATCH) as scratch:
        took = []
        for _ in range(3):
            before = project(Path(scratch), writer)
            start = time.monotonic()
            ended(writer, Path(scratch))
            took.append(time.monotonic() - start)
            if writer in MAKES and len(took) < 3:
                for name in MAKES[writer]:
                    (Path(scratch) / name).unlink()
        after = read(Path(scratch))
        changed = [name for name in before if before[name] != after[name]]
        changed += MAKES.get(writer, [])
        assert changed and after.keys() == before.keys() | set(changed), f"{writer} changes nothing here"
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
        with tempfile.TemporaryDirectory(dir=SCRATCH) as scratch:
            folder = Path(scratch)
            files = project(folder, writer)
            child = Started(writer, folder)
            wait(child, folder, changed, chance, took)
            child.send_signal(number)
            child.wait()
            now = read(folder)
            new = sum(now.get(name) == after[name] for name in changed)
            seen["untouched" if not new else "whole" if new == len(changed) else "in the middle"] += 1
            may_be = {name: (files.get(name), after[name]) for name in after}
            seen["lost or torn"] += any(now.get(name) not in may_be[name] for name in after)
            seen["left something behind"] += not now.keys() <= after.keys() or bool(os.listdir(OWN))
            half = any((now.get(one) == after[one]) != (now.get(other) == after[other]) for one, other in pairs)
            seen["half a repair, by KILL" if number == signal.SIGKILL else "half a repair, by TERM or INT"] += half
            for name in MAKES.get(writer, []):  # it never writes over what is there
                (folder / name).unlink(missing_ok=True)
            ended(writer, folder)
            left = read(folder)
            seen["not as if undisturbed after the next run"] += bool(os.listdir(OWN))
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
        with tempfile.TemporaryDirectory(dir=SCRATCH) as scratch:
            folder = Path(scratch)
            files = project(folder, writer)
            child = Started(writer, folder)
            wait(child, folder, changed, chance, took)
            path = folder / chance.choice([name for name in changed if name.endswith(("yaml", BASELINE, "toml"))])
            typed, is_done = TYPED, path.is_file() and writer in MAKES
            if writer == "baseline":  # somebody accepts a finding of another file
                typed = "run3/train.yaml"
                rows = json.loads(path.read_text())["findings"] + json.loads(accepting(typed))["findings"]
                path.with_name("new").write_text(json.dumps({"schema_version": 1, "findings": rows}))
                path.with_name("new").replace(path)
            elif turn % 2 and (path.is_file() or writer not in MAKES):
                with path.open("a") as file:
                    file.write(TYPED)
            else:  # as most editors do
                path.parent.mkdir(exist_ok=True)
                path.with_name("new").write_text((path.read_text() if path.is_file() else "") + TYPED)
                path.with_name("new").replace(path)
            error = child.words()
            seen["lost"] += typed not in path.read_text()
            seen["after all was written"] += is_done
            seen["refused, and told"] += any(words in error for words in REFUSED)
            seen["left something behind"] += not read(folder).keys() <= files.keys() | set(changed)
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
    os.environ["TMPDIR"] = tempfile.tempdir = OWN
    for writer in given.writers.split(","):
        loaded(writer)
        fine += [kills(writer, given.kills, chance)] if given.kills else []
        fine += [edits(writer, given.edits, chance)] if given.edits else []
    shutil.rmtree(OWN)
    return 0 if all(fine) else 1


if __name__ == "__main__":
    raise SystemExit(main())
