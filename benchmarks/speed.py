"""Speed and memory of `stablint check`, paired with yamllint and check-jsonschema in one run. See README.md for the bars."""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

BIN = Path(sysconfig.get_path("scripts"))
COLD_BAR, THOUSAND_BAR, REAL_BAR, MEMORY_BAR, GROWTH_BAR, MIXED_BAR = 0.8, 10.0, 3.0, 150.0, 1.1, 3.0

CONFIG = """\
# experiment {number}
model_name_or_path: mistralai/Mistral-7B-v0.3
dataset_name: our-org/dialogues
output_dir: runs/{number:05}
bf16: true
gradient_checkpointing: true
gradient_checkpointing_kwargs:
  use_reentrant: false
attn_implementation: sdpa
per_device_train_batch_size: {batch}
gradient_accumulation_steps: 8  # one step sees 64 to 512 rows
learning_rate: {rate}
lr_scheduler_type: cosine
warmup_steps: 100
weight_decay: 0.01
max_grad_norm: 1.0
num_train_epochs: 2
max_length: 2048
packing: false
use_peft: true
lora_r: 32
lora_alpha: 64
lora_dropout: 0.05
lora_target_modules:
  - q_proj
  - k_proj
  - v_proj
  - o_proj
  - gate_proj
  - up_proj
  - down_proj
logging_steps: 10
eval_strategy: steps
eval_steps: 250
save_strategy: steps
save_steps: 250
save_total_limit: 2
load_best_model_at_end: true
metric_for_best_model: eval_loss
greater_is_better: false
dataloader_num_workers: 4
remove_unused_columns: true
report_to:
  - tensorboard
seed: {number}
"""


def write_configs(folder: Path, count: int) -> None:
    folder.mkdir(exist_ok=True)
    for number in range(count):
        text = CONFIG.format(number=number, batch=2 ** (number % 4), rate=f"{1 + number % 2}.0e-4")
        (folder / f"run{number:05}.yaml").write_text(text, encoding="utf-8")
    (folder / ".yamllint").write_text("extends: relaxed\n", encoding="utf-8")


def write_mixed(folder: Path, count: int) -> None:
    """The same runs as YAML, JSON, Python, shell and notebooks, a fifth each."""
    import yaml

    folder.mkdir(exist_ok=True)
    for number in range(count):
        text = CONFIG.format(number=number, batch=2 ** (number % 4), rate=f"{1 + number % 2}.0e-4")
        name, content = _form(number % 5, text, yaml.safe_load(text))
        (folder / f"run{number:05}{name}").write_text(content, encoding="utf-8")


def _form(form: int, text: str, settings: dict[str, object]) -> tuple[str, str]:
    if form == 0:
        return ".yaml", text
    if form == 1:
        return ".json", json.dumps(settings, indent=2)
    if form == 2:
        flags = [
            f"    --{key} {' '.join(value) if isinstance(value, list) else json.dumps(value)}"
            for key, value in settings.items()
        ]
        return ".sh", "#!/bin/bash\naccelerate launch sft.py \\\n" + " \\\n".join(flags) + "\n"
    model = {"model_name_or_path", "dataset_name", "attn_implementation", "use_peft"}
    lora = {key: value for key, value in settings.items() if key.startswith("lora_")}
    adapter = {
        {"lora_r": "r", "lora_target_modules": "target_modules"}.get(key, key): value for key, value in lora.items()
    }
    own = {key: value for key, value in settings.items() if key not in model and key not in lora}
    source = (
        "from peft import LoraConfig\nfrom trl import SFTConfig, SFTTrainer\n\n"
        f"args = SFTConfig({_keywords(own)})\n"
        f"lora = LoraConfig({_keywords(adapter)}, task_type='CAUSAL_LM')\n"
        f"trainer = SFTTrainer(model={settings['model_name_or_path']!r}, args=args, train_dataset=rows, eval_dataset=held_out, peft_config=lora)\n"
    )
    if form == 3:
        return ".py", source
    cell = {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": source.splitlines(True),
    }
    return ".ipynb", json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def _keywords(settings: dict[str, object]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in settings.items())


def seconds(command: list[str], folder: Path) -> float:
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    took = time.perf_counter() - start
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)} exits {done.returncode}: {done.stderr.strip()[-300:]}")
    return took


def paired(commands: dict[str, list[str]], folder: Path, rounds: int) -> dict[str, float]:
    """Median seconds of each command; they take turns, so that a slow moment of the machine meets all of them."""
    for command in commands.values():
        seconds(command, folder)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(seconds(command, folder))
    return {name: statistics.median(taken) for name, taken in times.items()}


def commands(files: list[str], schema: Path) -> dict[str, list[str]]:
    """What each tool is called with; check-jsonschema takes files, no folders."""
    tools = {
        "stablint": [str(BIN / "stablint"), "check", *files],
        "yamllint": [str(BIN / "yamllint"), *files],
        "check-jsonschema": [str(BIN / "check-jsonschema"), "--schemafile", str(schema), *files],
    }
    return {name: command for name, command in tools.items() if Path(command[0]).exists()}


def cold(folder: Path) -> bool:
    write_configs(folder, 1)
    schema = folder / "any.json"
    schema.write_text(json.dumps({"type": "object"}), encoding="utf-8")
    times = paired(commands(["run00000.yaml"], schema), folder, rounds=15)
    return _compare("one file, cold", times, "ms", 1000, lambda ratio: ratio <= COLD_BAR)


def thousand(folder: Path) -> bool:
    write_configs(folder, 1000)
    schema = folder.parent / "any.json"
    schema.write_text(json.dumps({"type": "object"}), encoding="utf-8")
    files = sorted(path.name for path in folder.glob("*.yaml"))
    times = paired(commands(files, schema), folder, rounds=2)
    return _compare("1,000 files", times, "s", 1, lambda ratio: ratio <= 1 / THOUSAND_BAR)


def real(folder: Path) -> bool:
    """The YAML files below STABLINT_REAL, which people wrote: no two are alike, so that no answer can be taken over."""
    source = Path(os.environ.get("STABLINT_REAL", ""))
    files = sorted(path for end in ("*.yaml", "*.yml") for path in source.rglob(end) if path.is_file())
    if "STABLINT_REAL" not in os.environ or len(files) < 100:
        print("real files: not measured; STABLINT_REAL names a folder with at least 100 YAML files")
        return True
    for path in files:
        to = folder / path.relative_to(source)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, to)
    (folder / ".yamllint").write_text("extends: relaxed\n", encoding="utf-8")
    tools = {
        "stablint": [str(BIN / "stablint"), "check", "--skip-unrecognised", "."],
        "yamllint": [str(BIN / "yamllint"), "."],
    }
    times = paired(tools, folder, rounds=3)
    return _compare(f"{len(files)} real files", times, "s", 1, lambda ratio: ratio <= 1 / REAL_BAR)


# What Python itself does with a file of each format, at the least.
_PARSERS = {
    ".json": ("json.loads", "json.loads(text)"),
    ".py": ("ast.parse", "ast.parse(text)"),
    ".sh": ("shlex", "list(shlex.shlex(text, posix=True, punctuation_chars=True))"),
    ".ipynb": ("json.loads and ast.parse", "[attempt(''.join(cell['source'])) for cell in json.loads(text)['cells'] if cell['cell_type'] == 'code']"),
}  # fmt: skip
_PARSE = """
import ast, json, pathlib, shlex, sys, warnings
warnings.simplefilter("ignore")
def attempt(text):
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None
for path in sorted(pathlib.Path(".").rglob("*" + sys.argv[1])):
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        {parse}
    except (SyntaxError, ValueError, LookupError, TypeError):
        pass
"""


def parsers(folder: Path) -> bool:
    """Files of the other formats below STABLINT_REAL against what Python's own parser of the format takes for them. No bar: the figure is told."""
    if "STABLINT_REAL" not in os.environ:
        print("real files of other formats: not measured; STABLINT_REAL names a folder with some")
        return True
    source = Path(os.environ["STABLINT_REAL"])
    for suffix, (name, parse) in _PARSERS.items():
        files = [path for path in sorted(source.rglob(f"*{suffix}")) if path.is_file()]
        inner = folder / suffix[1:]
        for path in files:
            to = inner / path.relative_to(source)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, to)
        if not files:
            continue
        tools = {
            "stablint": [str(BIN / "stablint"), "check", "--jobs", "1", "--skip-unrecognised", "--isolated", "."],
            name: [sys.executable, "-c", _PARSE.replace("{parse}", parse), suffix],
        }
        times = paired(tools, inner, rounds=2)
        size = sum(path.stat().st_size for path in files) / 1e6
        print(
            f"{len(files)} {suffix} files, {size:.1f} MB: stablint {times['stablint']:.2f} s, {name} {times[name]:.2f} s,"
            f" {times['stablint'] / times[name]:.1f} times its time"
        )
    return True


def _compare(title: str, times: dict[str, float], unit: str, factor: int, good: Callable[[float], bool]) -> bool:
    if "yamllint" not in times:
        sys.exit("yamllint is not installed beside stablint; see benchmarks/README.md")
    ours = times["stablint"]
    print(f"{title}: " + ", ".join(f"{name} {value * factor:,.3g} {unit}" for name, value in times.items()))
    print(
        "".join(f"  {ours / value:.3f} of {name}'s time\n" for name, value in times.items() if name != "stablint"),
        end="",
    )
    return good(ours / times["yamllint"])


def memory(folder: Path) -> bool:
    write_configs(folder, 1000)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    seconds([str(BIN / "stablint"), "check", "."], folder)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    # The figure is the largest child's so far: it is ours only if this one was the largest.
    known = "" if peak > before else " at most (an earlier process was larger)"
    mebibytes = peak / (1024 if sys.platform != "darwin" else 1024**2)
    print(f"1,000 files, peak memory: {mebibytes:.0f} MiB{known}")
    return mebibytes <= MEMORY_BAR


def growth(folder: Path) -> bool:
    folder.mkdir(exist_ok=True)
    cost = {}
    for count in (500, 4000):
        inner = folder / str(count)
        write_configs(inner, count)
        cost[count] = min(seconds([str(BIN / "stablint"), "check", "."], inner) for _ in range(3)) / count
    ratio = cost[4000] / cost[500]
    print(
        f"cost of a file among 4,000 against among 500: {cost[4000] * 1000:.2f} ms / {cost[500] * 1000:.2f} ms = {ratio:.2f}"
    )
    return ratio <= GROWTH_BAR


def mixed(folder: Path) -> bool:
    folder.mkdir(exist_ok=True)
    write_configs(folder / "yaml", 1000)
    write_mixed(folder / "mixed", 1000)
    check = [str(BIN / "stablint"), "check"]
    times = paired({"mixed": [*check, "mixed"], "yaml": [*check, "yaml"]}, folder, rounds=2)
    ratio = times["mixed"] / times["yaml"]
    print(
        f"1,000 files in five formats: {times['mixed']:.2f} s, 1,000 YAML files: {times['yaml']:.2f} s, ratio {ratio:.2f}"
    )
    return ratio <= MIXED_BAR


# Memory first: the peak is that of the largest process up to then.
MEASUREMENTS = {
    "memory": memory,
    "cold": cold,
    "thousand": thousand,
    "real": real,
    "parsers": parsers,
    "growth": growth,
    "mixed": mixed,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*MEASUREMENTS, []], help="all by default")
    names = parser.parse_args().names or list(MEASUREMENTS)
    missed = []
    with tempfile.TemporaryDirectory(prefix="stablint-bench-") as root:
        for name in names:
            if not MEASUREMENTS[name](Path(root, name)):
                missed.append(name)
    print(f"bars missed: {', '.join(missed)}" if missed else "all bars met")
    return int(bool(missed))


if __name__ == "__main__":
    raise SystemExit(main())
