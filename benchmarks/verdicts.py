"""What `stablint fit` says of runs whose outcome is known.

    python benchmarks/verdicts.py threads [--then] [--verbose] public threads, benchmarks/memory_threads.yaml
    python benchmarks/verdicts.py published TABLE [--verbose]  published peaks, rows that state model, method, rows and card

Of a run that ran out of memory `does-not-fit` and `tight` are right, the second where its low end has shorter rows; of one that fitted `does-not-fit` is
wrong. Exits 1 where a run that fitted is told not to, or fewer than 95% of all rows are told right.

A published peak is what somebody's tool read: the allocator's tensors, what it had reserved, or the whole card. So each row is held against the same
reading, and told what its source says of its rows (all of one length, or not), which no file of it could say. The rows are divided into two halves by a
hash of their names, so that what is learnt of one half can be held against the other.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import yaml

import stablint
from stablint.base import knowledge
from stablint.fitting.data import Fit
from stablint.run.releases.pep440 import release_key

HERE = Path(__file__).resolve().parent
RIGHT = {"oom": ("does-not-fit", "tight"), "ran": ("fits", "tight")}
# The rows are of 2023 to 2025.
THEN = ("transformers==4.45.2", "trl==0.11.4", "peft==0.12.0", "accelerate==0.34.2")
# What a reading leaves out of what lies on the card.
READINGS = {"allocated": ("context", "cache"), "reserved": ("context",)}
LIBRARIES = ("transformers", "trl", "peft", "accelerate", "deepspeed")
OPTIMIZERS = {
    "adamw": "adamw_torch",
    "adamw_torch": "adamw_torch",
    "adamw_torch_fused": "adamw_torch_fused",
    "adamw_bnb_8bit": "adamw_bnb_8bit",
    "sgd": "sgd",
}


def written(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def of_the_time(month: str) -> list[str]:
    """The newest releases before that month, as somebody had them who installed what was there."""
    before = date.fromisoformat(f"{month}-01").toordinal()
    texts, days = knowledge.load("releases-all"), knowledge.load("release-days")
    found = []
    for library in LIBRARIES:
        old = [
            (release_key(text), text) for text, day in zip(texts[library], days[library], strict=True) if day < before
        ]
        found += [f"{library}=={max(old)[1]}"] if old else []
    return found


def threads(verbose: bool, then: bool) -> bool:
    rows = yaml.safe_load((HERE / "memory_threads.yaml").read_text(encoding="utf-8"))
    told: list[tuple[dict[str, Any], str]] = []
    for row in rows:
        with tempfile.TemporaryDirectory() as name:
            written(Path(name), row["files"])
            paths = [Path(name) / one for one in row["asked"]]
            releases = of_the_time(row["then"]) if then and "then" in row else []
            try:
                found = stablint.fit(
                    *paths, gpu=row.get("gpu"), gpu_memory=row.get("gpu_memory"), releases=releases, isolated=True
                )
            except ValueError as error:
                told.append((row, f"nothing: {error}"))
                continue
            run = max(found, key=lambda one: one.peak_gib or 0.0)
            told.append((row, run.verdict))
            if verbose:
                print(
                    f"{row['outcome']:5} {run.verdict:12} {run.peak_gib} {run.range_gib} {row['thread']} {run.reason}"
                )
    wrong = [row["id"] for row, word in told if row["outcome"] == "ran" and word == "does-not-fit"]
    kinds = {kind: [(row, word) for row, word in told if row["outcome"] == kind] for kind in RIGHT}
    for kind, some in kinds.items():
        right = [row["id"] for row, word in some if word in RIGHT[kind]]
        print(
            f"{kind}: {len(right)} of {len(some)} right; others: {[(row['id'], word) for row, word in some if row['id'] not in right]}"
        )
    every = [(row, word) for some in kinds.values() for row, word in some]
    for draw in sorted({row.get("draw", 2) for row, _ in every}):
        words = [word in RIGHT[row["outcome"]] for row, word in every if row.get("draw", 2) == draw]
        print(f"draw {draw}: {sum(words)} of {len(words)} right")
    share = sum(word in RIGHT[row["outcome"]] for row, word in every) / len(every)
    proven = sum(word == "does-not-fit" for _, word in kinds["oom"])
    for kind, some in kinds.items():
        print(
            f"{kind}: {sum(word == 'fits' for _, word in some)} fits, {sum(word == 'tight' for _, word in some)} tight"
        )
    print(
        f"{share:.0%} of {len(every)} right (bar 95%), {proven} proven by the low end, {len(wrong)} that fitted told not to (bar 0)"
    )
    return share >= 0.95 and not wrong


def program(row: dict[str, Any]) -> str:
    """A row as a file of TRL."""
    half = "bf16" in str(row.get("precision") or "bf16")
    text: dict[str, Any] = {
        "model_name_or_path": row["model"], "output_dir": "output", "per_device_train_batch_size": row["micro_batch"],
        "gradient_accumulation_steps": row.get("grad_accum") or 1, "max_length": row["seq_len"], "packing": bool(row.get("packed")),
        "gradient_checkpointing": bool(row.get("grad_ckpt")), "learning_rate": 1e-5, "dtype": "bfloat16" if half else "float32", "bf16": half,
    }  # fmt: skip
    if row.get("optimizer") in OPTIMIZERS:
        text["optim"] = OPTIMIZERS[row["optimizer"]]
    attention = str(row.get("attn") or "")
    if attention in ("sdpa", "eager") or "flash" in attention:
        text["attn_implementation"] = "flash_attention_2" if "flash" in attention else attention
    if row.get("fused_ce"):
        text["use_liger_kernel"] = True
    if row["method"] != "full":
        targets = row.get("lora_targets") or "all-linear"
        text |= {"use_peft": True, "lora_r": row.get("lora_r") or 8, "lora_alpha": 16, "lora_target_modules": targets}
        text |= {"use_dora": True} if row["method"] == "dora" else {}
    if row["method"] == "qlora" or row.get("quant_bits") == 4:
        text |= {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
    return yaml.safe_dump(text, sort_keys=False)


def scored(table: Path) -> Iterator[dict[str, Any]]:
    for row in yaml.safe_load(table.read_text(encoding="utf-8"))["rows"]:
        whole = row["exactness"] == "exact" and row.get("fit", True) is not False and row.get("peak_gib")
        known = row["method"] in ("full", "lora", "qlora", "dora") and row.get("micro_batch") and row.get("seq_len")
        if whole and known and str(row.get("parallelism") or "single") == "single" and not row.get("quant"):
            yield row


def ends(run: Fit, reading: str) -> tuple[float, float, float]:
    """The usual figure, and the range, without what the reading leaves out."""
    assert run.peak_gib is not None and run.range_gib is not None
    less = sum(run.components.get(name, 0.0) for name in READINGS.get(reading, ()))
    low, high = run.range_gib
    # The low end has the least of a context, 0.4 GiB, and nothing of the cache.
    return run.peak_gib - less, low - (0.4 if less else 0.0), high


def published(table: Path, verbose: bool) -> bool:
    halves: dict[str, list[tuple[float, bool, float]]] = {"one half": [], "the other": []}
    for row in scored(table):
        facts = [f"data.block_size={row['seq_len']}"] if row.get("seq_lengths") == "fixed" else []
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "train.yaml"
            path.write_text(program(row), encoding="utf-8")
            gpu = f"{row.get('gpu') or 'A100-80GB'} x1"
            run = stablint.fit(path, gpu=gpu, releases=THEN, facts=facts, isolated=True)[0]
        if run.peak_gib is None:
            continue
        usual, low, high = ends(run, str(row.get("measure")))
        peak = float(row["peak_gib"])
        inside = (row.get("seq_lengths") == "variable" or low * 0.98 <= peak) and peak <= high * 1.02
        side = "one half" if int(hashlib.sha256(row["id"].encode()).hexdigest(), 16) % 2 == 0 else "the other"
        halves[side].append((abs(usual - peak) / peak, inside, (high - low) / peak))
        if verbose:
            print(
                f"{(usual - peak) / peak:+6.1%} {usual:6.1f} ({low:.1f} to {high:.1f}) {peak:6.1f} {row.get('measure')} {row['id']}"
            )
    for side, found in halves.items():
        errors = sorted(error for error, _, _ in found)
        print(
            f"{side}: {len(found)} rows, median error {statistics.median(errors):.1%}, p90 {errors[int(len(errors) * 0.9)]:.1%}, "
            f"inside {sum(one for _, one, _ in found) / len(found):.0%}, width {statistics.median(wide for _, _, wide in found):.0%}"
        )
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("threads", "published"))
    parser.add_argument("table", type=Path, nargs="?")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument(
        "--then", action="store_true", help="threads of which the month is noted: with the releases of that time"
    )
    given = parser.parse_args()
    if given.what == "published" and given.table is None:
        parser.error("published: which table?")
    sys.exit(
        0
        if (threads(given.verbose, given.then) if given.what == "threads" else published(given.table, given.verbose))
        else 1
    )


if __name__ == "__main__":
    main()
