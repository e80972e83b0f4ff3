"""What a first look at unknown repositories says: how many errors and warnings are true, judged by hand, per file that holds a training setting.

    python benchmarks/first_sight.py draw FOLDER… --sheet SHEET.jsonl [--warnings 100] [--readings 40] [--seed 20261122]
    (fill in `verdict` and `why` of every row of the sheet)
    python benchmarks/first_sight.py figures SHEET.jsonl
    python benchmarks/first_sight.py readings FIELDS.txt FOLDER [--only WORD]

Each folder is a checked-out repository; where it is named `name@commit`, the sheet says both. `draw` runs stablint on each, as a user would on the
first day, and writes one JSON object a line: a row for each repository, all errors, the warnings and the files to read that the seed picks.
Verdicts of a finding are true, false or arguable; of a reading right, partly or wrong. `figures` counts what was judged, and says what was not.
`readings` holds `stablint show` of each file against what was written down of it before: a line a file below FOLDER, `repository@commit:path | trainer |
objective | method | precision | rate | steps | batch | length | model | sharding`, where ` or ` parts what is right as well, and `-` is what nothing decides.
It compares words and numbers; a file that holds several runs is right by the run that is most so.
Measure before anything is mended for what the repositories show, and take others for the next time.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
FINDING = ("true", "false", "arguable")
READING = ("right", "partly", "wrong")
_LARGEST = 3_000_000  # bytes
_KEYED = frozenset({".yaml", ".yml", ".json", ".toml"})
_SHELL = frozenset({".sh", ".bash", ".slurm", ".sbatch"})
_PROGRAM = frozenset({".py", ".ipynb"})

# Names that only a training run sets. One of the first row says it alone; of the second, two different ones do. Written without any knowledge of stablint's.
_ALONE = (
    "per_device_train_batch_size|gradient_accumulation_steps|zero_optimization|num_train_epochs|micro_batch_size"
    "|train_micro_batch_size_per_gpu|train_batch_size|finetuning_type|lr_scheduler_type|lora_target_modules"
)
_TOGETHER = (
    "learning_rate|lr|num_epochs|epochs|max_steps|batch_size|weight_decay|warmup_ratio|warmup_steps|gradient_checkpointing|bf16|fp16|lora_r|lora_rank"
    "|lora_alpha|lora_dropout|target_modules|optim|optimizer|lr_scheduler|deepspeed|fsdp|mixed_precision|distributed_type|max_seq_length|cutoff_len"
    "|load_in_4bit|load_in_8bit|beta|num_generations"
)
# The name, then a value that stands in the file: number, truth value, text, variable. A name that is only mentioned or passed on sets nothing.
_SET = r"""(?<![\w.])['"]?(?:--)?({names})\\?['"]?\s*(?:[:=]|:\s*[\w\[\]\s|]+=|,?\s+)\s*(?:\\?['"]|-?[0-9.]|\$|\[|\{{|[Tt]rue\b|[Ff]alse\b|auto\b)"""
_ONE = re.compile(_SET.format(names=_ALONE))
_TWO = re.compile(_SET.format(names=_TOGETHER))
_OUTPUT = re.compile(r'"(?:log_history|peft_type|weight_map)"\s*:')  # what a trainer wrote, no configuration


def holds_setting(path: Path) -> bool:
    """Whether the file sets something of a training run, by its words alone."""
    if path.suffix.lower() not in _KEYED | _SHELL | _PROGRAM or path.stat().st_size > _LARGEST:
        return False
    text = path.read_text("utf-8", "replace")
    if path.suffix == ".json" and _OUTPUT.search(text):
        return False
    return _ONE.search(text) is not None or len({found.group(1) for found in _TWO.finditer(text)}) > 1


def training_files(root: Path) -> list[str]:
    """Files below `root` that hold a training setting, as sorted paths relative to it; links and .git are left out."""
    found = []
    for path in root.rglob("*"):
        within = path.relative_to(root)
        if path.is_file() and not path.is_symlink() and ".git" not in within.parts and holds_setting(path):
            found.append(within.as_posix())
    return sorted(found)


def checked(root: Path, limit: float) -> tuple[dict[str, Any] | None, str, float]:
    """The JSON report on the folder, what went wrong instead, and the seconds that it took."""
    command = [sys.executable, "-m", "stablint", "check", ".", "--isolated", "--skip-unrecognised"]
    begun = time.perf_counter()
    try:
        done = subprocess.run(
            [*command, "--output-format", "json"], cwd=root, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return None, f"no report within {limit:g} s", limit
    took = time.perf_counter() - begun
    if done.returncode not in (0, 1):
        return None, f"exit code {done.returncode}: {done.stderr.strip()[-300:]}", took
    return json.loads(done.stdout), "", took


def looked_at(root: Path, limit: float) -> tuple[Row, list[Row], list[Row], list[str]]:
    """Of one repository: its row, its errors, its warnings, and the training files that stablint read."""
    name, _, commit = root.resolve().name.partition("@")
    training = training_files(root)
    report, failure, seconds = checked(root, limit)
    row: Row = {"kind": "repository", "repository": name, "commit": commit, "training_files": len(training)}
    if report is None:
        return {**row, "failure": failure}, [], [], []
    status = {file["file"]: file["status"] for file in report["files"]}
    read = [file for file in training if status.get(file) == "checked"]
    told: dict[str, list[Row]] = {"error": [], "warning": [], "info": []}
    for one in report["diagnostics"]:
        place = one.get("location") or {}
        told[one["severity"]].append(
            {
                "kind": one["severity"],
                "repository": name,
                "file": place.get("file", one.get("file", "")),
                "line": place.get("line", one.get("line")),
                "code": one["code"],
                "rule": one["rule"],
                "message": one["message"],
                "verdict": "",
                "why": "",
            }
        )
    row |= {
        "files": len(status),
        "checked": sum(one == "checked" for one in status.values()),
        "training_files_read": len(read),
        "errors": len(told["error"]),
        "warnings": len(told["warning"]),
        "seconds": round(seconds, 1),
    }
    return row, told["error"], told["warning"], [f"{name}\0{file}" for file in read]


def drawn(roots: Iterable[Path], warnings: int, readings: int, seed: int, limit: float) -> Iterator[Row]:
    """The rows of a sheet. The same folders and seed give the same rows, whatever order the folders are named in."""
    choice = random.Random(seed)
    all_warnings: list[Row] = []
    all_read: list[str] = []
    for root in sorted(roots, key=lambda folder: folder.resolve().name):
        row, errors, told, read = looked_at(root, limit)
        yield row
        yield from errors
        all_warnings += told
        all_read += read
    yield from choice.sample(all_warnings, min(warnings, len(all_warnings)))
    for one in choice.sample(all_read, min(readings, len(all_read))):
        name, file = one.split("\0")
        yield {"kind": "reading", "repository": name, "file": file, "verdict": "", "why": ""}


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95% interval of a share (Wilson 1927). It takes the cases as independent; findings of one repository are not, so it is too narrow."""
    if not of:
        return 0.0, 1.0
    z, share = 1.959964, hits / of
    middle, scale = share + z * z / (2 * of), 1 + z * z / of
    half = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def share(hits: int, of: int) -> str:
    low, high = wilson(hits, of)
    return f"{hits} of {of}, {hits / of:.0%} [{low:.0%}, {high:.0%}]" if of else "none"


def sheet(path: Path) -> list[Row]:
    """The rows of a sheet; a verdict that its kind does not have is an error that names its line."""
    rows = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row: Row = json.loads(line)
        except ValueError as error:
            raise SystemExit(f"{path}:{number}: no JSON object: {error}") from None
        known = READING if row.get("kind") == "reading" else FINDING
        if row.get("verdict", "") not in ("", *known):
            raise SystemExit(
                f"{path}:{number}: verdict {row['verdict']!r}; say one of {', '.join(known)}, or leave it empty"
            )
        rows.append(row)
    return rows


def figures(rows: list[Row]) -> dict[str, str]:
    """Each figure by its name, in the order of the page."""
    repositories = [row for row in rows if row["kind"] == "repository"]
    training = sum(row["training_files"] for row in repositories)
    read = sum(row.get("training_files_read", 0) for row in repositories)
    table = {
        "repositories": str(len(repositories)),
        "files with a training setting": str(training),
        "of them read": share(read, training),
        "files checked": str(sum(row.get("checked", 0) for row in repositories)),
        "no report": str(sum("failure" in row for row in repositories)),
        "errors, warnings in all": f"{sum(row.get('errors', 0) for row in repositories)}, {sum(row.get('warnings', 0) for row in repositories)}",
    }
    for kind in ("error", "warning"):
        judged = Counter(row["verdict"] for row in rows if row["kind"] == kind)
        decided = judged["true"] + judged["false"]
        table[f"{kind}s: true / false / arguable"] = " / ".join(str(judged[verdict]) for verdict in FINDING)
        table[f"{kind}s true, of decided"] = share(judged["true"], decided)
        table[f"{kind}s true, of all judged"] = share(judged["true"], decided + judged["arguable"])
        table[f"{kind}s not judged"] = str(judged[""])
        if kind == "error" and training:
            table["errors per 1,000 training files"] = f"{1000 * sum(judged.values()) / training:.1f}"
            table["false errors per 1,000 training files"] = f"{1000 * judged['false'] / training:.1f}"
    reading = Counter(row["verdict"] for row in rows if row["kind"] == "reading")
    table["readings: right / partly / wrong"] = " / ".join(str(reading[verdict]) for verdict in READING)
    table["readings right"] = share(reading["right"], sum(reading[verdict] for verdict in READING))
    table["readings not judged"] = str(reading[""])
    return table


FIELDS = ("trainer", "objective", "method", "precision", "rate", "steps", "batch", "length", "model", "sharding")
_NOTHING = "-"
_LENGTHS = (
    "training.max_length", "trainer.max_seq_length", "trainer.max_length", "data.block_size", "model.max_seq_length", "training.max_completion_length",
)  # fmt: skip
_NOT_SAID = re.compile(r"not known|unknown|auto|a program's own settings|\Z")
_PARTS = re.compile(r"([\d,]+) (a device|accumulated|processes)")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")


def expected(path: Path) -> dict[str, dict[str, list[str]]]:
    """What was written down, by the file: each field with all that is right of it."""
    found = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, *words = (one.strip() for one in line.split(" | "))
        if len(words) != len(FIELDS):
            raise SystemExit(
                f"{path}:{number}: {len(words)} fields; {len(FIELDS)} belong to a file: {', '.join(FIELDS)}"
            )
        found[name] = {field: word.split(" or ") for field, word in zip(FIELDS, words, strict=True)}
    return found


def runs_shown(root: Path, file: str, limit: float) -> tuple[list[Row], float]:
    """The runs that `show` tells of a file, and how long it took."""
    command = [sys.executable, "-m", "stablint", "show", file, "--output-format", "json"]
    begun = time.perf_counter()
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=limit, check=False)
    took = time.perf_counter() - begun
    return (json.loads(done.stdout)["runs"] if done.stdout.startswith("{") else []), took


def told_fields(run: Row) -> dict[str, str]:
    """What is shown of each field, in its own words; empty where nothing is."""
    summary = run["summary"]
    facts = {one["name"]: one["value"] for one in run["facts"]}
    lengths = (facts.get(name) for name in _LENGTHS)
    return {
        "trainer": summary.get("framework", ""),
        "objective": summary.get("objective", ""),
        "method": summary.get("method", summary.get("training", "")),
        "precision": summary.get("precision", ""),
        "rate": summary.get("learning rate", ""),
        "steps": summary.get("steps", ""),
        "batch": summary.get("effective batch", ""),
        "length": str(next((one for one in lengths if isinstance(one, int)), "")),
        "model": str(facts.get("model.name_or_path") or ""),
        "sharding": summary.get("sharding", ""),
    }


def verdict(field: str, wanted: list[str], told: str) -> str:
    """`right`, `unknown` or `wrong`. What nothing decides is right where nothing is said."""
    batch = field == "batch" and _PARTS.search(told) is not None
    silent = not batch and _NOT_SAID.match(told.strip()) is not None
    if silent:
        return "right" if _NOTHING in wanted else "unknown"
    if told.startswith("none:"):  # it evaluates only: nobody trains by any method
        return "right" if _NOTHING in wanted else "wrong"
    if any(_agrees(field, one, told) for one in wanted if one != _NOTHING):
        return "right"
    if batch:  # some of its parts alone
        return "right" if _NOTHING in wanted and not any("x" in one for one in wanted) else "unknown"
    return "wrong"


def _agrees(field: str, wanted: str, told: str) -> bool:
    numbers = [float(one.replace(",", "")) for one in _NUMBER.findall(told)]
    if field in ("rate", "length"):
        return bool(numbers) and math.isclose(numbers[0], float(wanted), rel_tol=1e-6)
    if field == "steps":
        count, _, unit = wanted.partition(" ")
        return bool(numbers) and numbers[0] == float(count) and (("epoch" in told) == (unit == "epochs"))
    if field == "batch":
        parts = [float(one) for one in wanted.split("x")]
        if not _PARTS.search(told):
            return bool(numbers) and numbers[0] == math.prod(parts)
        said = {kind: float(value.replace(",", "")) for value, kind in _PARTS.findall(told)}
        whole = said.get("a device", 0) * said.get("accumulated", 1) * said.get("processes", 1)
        return (
            (said.get("a device"), said.get("accumulated", 1)) == tuple(parts) if len(parts) == 2 else whole == parts[0]
        )
    if field == "method":
        if wanted == "partial":
            return "frozen" in told or "projector" in told
        return re.match(rf"{re.escape(wanted)}\b", told) is not None
    if field == "model":
        return told == wanted
    return wanted.lower() in told.lower()


def readings(
    sheet_path: Path, root: Path, only: str, limit: float
) -> Iterator[tuple[str, dict[str, tuple[str, str]], float]]:
    """Each file with its fields' verdicts and words."""
    for name, fields in expected(sheet_path).items():
        if only not in name:
            continue
        folder, _, file = name.partition(":")
        runs, took = runs_shown(root / folder, file, limit)
        judged = [
            {field: (verdict(field, fields[field], told), told) for field, told in told_fields(run).items()}
            for run in runs
        ] or [{field: ("right" if _NOTHING in one else "unknown", "") for field, one in fields.items()}]
        yield name, max(judged, key=lambda one: sum(word == "right" for word, _ in one.values())), took


def tell_readings(given: argparse.Namespace) -> int:
    counts: dict[str, Counter[str]] = {field: Counter() for field in FIELDS}
    files: Counter[str] = Counter()
    wanted = expected(given.sheet)
    slowest = (0.0, "")
    for name, fields, took in readings(given.sheet, given.folder, given.only, given.limit):
        slowest = max(slowest, (took, name))
        for field, (word, _) in fields.items():
            counts[field][word] += 1
        bad = {field: told for field, (word, told) in fields.items() if word != "right"}
        files["right" if not bad else "partly"] += 1
        if bad:
            print(f"{name} ({took:.1f} s)")
            for field, told in bad.items():
                print(f"  {fields[field][0]:8} {field:10} {' or '.join(wanted[name][field])}  <- {told or 'nothing'}")
    total: Counter[str] = sum(counts.values(), Counter())
    for field, said in counts.items():
        print(f"{field:10} " + ", ".join(f"{said[word]} {word}" for word in ("right", "unknown", "wrong")))
    print("fields     " + ", ".join(f"{total[word]} {word}" for word in ("right", "unknown", "wrong")))
    print(f"files      right in all {share(files['right'], files.total())}; slowest {slowest[0]:.1f} s, {slowest[1]}")
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    draw = commands.add_parser("draw", help="run stablint on the folders and write the sheet")
    draw.add_argument("folder", nargs="+", type=Path, help="checked-out repositories")
    draw.add_argument(
        "--sheet", type=Path, required=True, help="where the sheet goes; an existing one is not overwritten"
    )
    draw.add_argument("--warnings", type=int, default=100, help="how many warnings to judge")
    draw.add_argument("--readings", type=int, default=40, help="how many files to compare with `stablint show`")
    draw.add_argument("--seed", type=int, default=20261122)
    draw.add_argument("--limit", type=float, default=300.0, help="seconds for one repository")
    told = commands.add_parser("figures", help="print the figures of a sheet that was judged")
    told.add_argument("sheet", type=Path)
    held = commands.add_parser("readings", help="hold `stablint show` against what was written down of each file")
    held.add_argument("sheet", type=Path)
    held.add_argument("folder", type=Path, help="where the repositories lie")
    held.add_argument("--only", default="", help="a part of the names of the files to look at")
    held.add_argument("--limit", type=float, default=120.0, help="seconds for one file")
    given = parser.parse_args(arguments)
    if given.command == "readings":
        return tell_readings(given)
    if given.command == "figures":
        rows = sheet(given.sheet)
        for name, figure in figures(rows).items():
            print(f"{name:40} {figure}")
        for kind in ("error", "warning"):
            pairs = Counter((row["code"], row["verdict"] or "not judged") for row in rows if row["kind"] == kind)
            for (code, verdict), count in sorted(pairs.items()):
                print(f"  {kind:8} {code} {verdict:10} {count}")
        return 0
    missing = [str(folder) for folder in given.folder if not folder.is_dir()]
    if missing:
        parser.error(f"no folder: {', '.join(missing)}")
    if given.sheet.exists():
        parser.error(f"{given.sheet} exists; verdicts may stand in it: name another file")
    with given.sheet.open("x", encoding="utf-8") as out:
        for row in drawn(given.folder, given.warnings, given.readings, given.seed, given.limit):
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            out.flush()
            if row["kind"] == "repository":
                print(json.dumps(row, ensure_ascii=False), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
