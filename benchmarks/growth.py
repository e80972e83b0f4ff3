"""How the work for a file grows with the file: each command × each language, a construct repeated up to three sizes.

    python benchmarks/growth.py [--commands check,migrate] [--only WORD] [--attacks] [--sizes 25,50,100] [--jobs 2]

Prints the seconds of CPU at each size and the exponent between the two largest, once what an empty file costs is taken off. What grows faster than
1.3 and takes more than 0.3 s is a defect: exits 1. `--attacks` asks with the files of tests/security/attack_files.py as well, which is some hours' work.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import math
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the generators are those of the tests
from tests.security.attack_files import CLASSES  # noqa: E402

EXPONENT, SECONDS = 1.3, 0.3
_ENDLESS = 60  # seconds of CPU for one measurement
_GPU = ("--gpu", "RTX 4090")
COMMANDS: dict[str, tuple[str, ...]] = {
    "check": ("check", "."),
    "fix": ("check", ".", "--fix", "--unsafe-fixes"),
    "migrate": ("migrate", ".", "--from", "transformers==4.40.0", "--with", "transformers==5.0.0"),
    "fit": ("fit", ".", *_GPU),
    "fit --apply": ("fit", ".", *_GPU, "--apply", "1"),
    "advise": ("advise", ".", *_GPU),
    "advise --apply": ("advise", ".", *_GPU, "--apply", "1"),
    "show": ("show", "."),
    "diagnose": ("diagnose", "{log}"),
    "diagnose --fix": ("diagnose", "{log}", "{name}", "--fix"),
}
_YAML = "model_name_or_path: Qwen/Qwen2-7B-Instruct\ndataset_name: a/b\nlearning_rate: 1.0e-5\noutput_dir: out\nfp16: true\n"
_PYTHON = "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nfrom peft import LoraConfig\n"
_ARGUMENTS = "args = TrainingArguments('out', fp16=True, evaluation_strategy='no')\nTrainer(model, args).train()\n"
_MODEL = "model = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2-7B', torch_dtype='auto')\n"
_LAUNCH = "torchrun train.py --model_name_or_path Qwen/Qwen2-7B --learning_rate 1e-5 --fp16 --output_dir out\n"
_ROW = "{'loss': 1.25, 'grad_norm': 3.5, 'learning_rate': 1e-05, 'epoch': 0.1}\n"
_TRACE = 'Traceback (most recent call last):\n  File "/w/train.py", line 3, in <module>\n    trainer.train()\nRuntimeError: CUDA out of memory.\n'
# Language: construct: the file, and what stands before, is repeated, and stands behind; `#` is the number of the repetition.
CONSTRUCTS: dict[str, dict[str, tuple[str, str, str, str]]] = {
    "yaml": {
        "documents": ("a.yaml", "", _YAML + "seed: #\n---\n", ""),
        "keys": ("a.yaml", _YAML, "key_#: 1\n", ""),
        "nested keys": ("a.yaml", _YAML + "more:\n", "  key_#: {a: 1}\n", ""),
        "comments": ("a.yaml", _YAML, "# learning_rate: 1e-# was too high\n", ""),
        "items": ("a.yaml", _YAML + "datasets:\n", "  - {path: a/b#, type: alpaca}\n", ""),
        "anchors": ("a.yaml", _YAML, "k#: &a# {fp16: true}\nl#: *a#\n", ""),
    },
    "json": {
        "keys": ("ds.json", '{"fp16": {"enabled": true}, "zero_optimization": {"stage": 2}', ', "key#": 1', "}"),
        "items": ("a.json", '{"model_name_or_path": "a/b", "output_dir": "out", "learning_rate": 1e-5, "data": [0', ', {"a#": 1}', "]}"),
        "objects": ("a.json", "[0", ', {"model_name_or_path": "a/b", "output_dir": "out#", "learning_rate": 1e-5, "fp16": true}', "]"),
    },
    "python": {
        "models": ("train.py", _PYTHON + _ARGUMENTS, _MODEL, ""),
        "models of names": ("train.py", _PYTHON + _ARGUMENTS, _MODEL.replace("model", "model#", 1), ""),
        "models and adapters": ("train.py", _PYTHON + _ARGUMENTS, _MODEL + "model = get_peft_model(model, LoraConfig(r=#))\n", ""),
        "trainers": ("train.py", _PYTHON, _MODEL + _ARGUMENTS, ""),
        "functions": ("train.py", _PYTHON, "def f#(model):\n    " + _ARGUMENTS.replace("\n", "\n    ").strip() + "\n", ""),
        "assignments": ("train.py", _PYTHON + _MODEL + _ARGUMENTS, "x = f(x, #)\n", ""),
        "assigned attributes": ("train.py", _PYTHON + _MODEL + _ARGUMENTS, "args.seed = #\n", "Trainer(model, args)\n"),
        "branches": ("train.py", _PYTHON + _MODEL, "if a == #:\n    lr = 1e-#\n", "args = TrainingArguments('out', learning_rate=lr)\n"),
        "branches of models": ("train.py", _PYTHON, "if a == #:\n    " + _MODEL, _ARGUMENTS),
        "branches of arguments": ("train.py", _PYTHON, "if a == #:\n    args = TrainingArguments('out', fp16=True, seed=#)\n", "Trainer(model, args)\n"),
        "dictionaries": ("train.py", _PYTHON + "c = {}\n", "c['k#'] = {'a': #}\n", "args = TrainingArguments(**c)\n"),
        "imports": ("train.py", _PYTHON + _MODEL + _ARGUMENTS, "from a# import b#\n", ""),
        "classes": ("train.py", _PYTHON + _MODEL + _ARGUMENTS, "class C#(Trainer):\n    def f(self):\n        return self.args.fp16\n", ""),
        "calls": ("train.py", _PYTHON + _MODEL + _ARGUMENTS, "print(model, args.fp16, #)\n", ""),
        "try": ("train.py", _PYTHON + _ARGUMENTS, "try:\n    " + _MODEL + "except Exception:\n    model = None\n", ""),
        "loops": ("train.py", _PYTHON + _ARGUMENTS, "for lr in [1e-#]:\n    model = load(lr)\n", ""),
    },
    "shell": {
        "commands": ("run.sh", "", _LAUNCH, ""),
        "flags": ("run.sh", _LAUNCH[:-1], " \\\n  --flag_# 1", "\n"),
        "variables": ("run.sh", "", "A#=1\n", _LAUNCH),
        "exports": ("run.sh", "", "export A#=$A\n", _LAUNCH),
        "functions": ("run.sh", "", "f#() { " + _LAUNCH[:-1] + "; }\nf#\n", ""),
        "here-documents": ("run.sh", "", 'cat > ds#.json <<EOF\n{"fp16": {"enabled": true}}\nEOF\n', _LAUNCH),
        "conditions": ("run.sh", "", "if [ $a = # ]; then\n" + _LAUNCH + "fi\n", ""),
    },
    "recipes": {
        "make": ("Makefile", "", "t#:\n\t" + _LAUNCH, ""),
        "make variables": ("Makefile", "", "A# = $(A)1\n", "t:\n\t" + _LAUNCH),
        "just": ("justfile", "", "t#:\n    " + _LAUNCH, ""),
        "docker": ("Dockerfile", "FROM pytorch/pytorch\n", "RUN " + _LAUNCH, ""),
        "docker variables": ("Dockerfile", "FROM pytorch/pytorch\n", "ENV A#=$A\n", "RUN " + _LAUNCH),
        "workflow": (".github/workflows/train.yml", "on: push\njobs:\n  a:\n    steps:\n", "      - run: " + _LAUNCH, ""),
        "gitlab": (".gitlab-ci.yml", "", "job#:\n  script:\n    - " + _LAUNCH, ""),
        "kubernetes": (
            "job.yaml", "apiVersion: batch/v1\nkind: Job\nspec:\n  template:\n    spec:\n      containers:\n",
            '      - {name: c#, command: [bash, -c, "' + _LAUNCH[:-1] + '"]}\n', "",
        ),
    },
    "settings": {
        "rows": ("stablint.toml", "", '[[accept]]\nfile = "x#.yaml"\nrules = ["P"]\n', ""),
        "ignore": (".gitignore", "", "a#/*.b\n", ""),
        "requirements": ("requirements.txt", "transformers==4.40.0\n", "package-#==1.0\n", ""),
    },
    "log": {
        "rows": ("train.log", "", _ROW, ""),
        "no losses": ("train.log", "", _ROW.replace("1.25", "nan"), ""),
        "tracebacks": ("train.log", _ROW * 3, _TRACE, ""),
        "warnings": ("train.log", _ROW * 3, "/w/a.py:#: FutureWarning: `evaluation_strategy` is deprecated\n", ""),
        "bars": ("train.log", _ROW * 3, " #%|      | #/100 [00:01<00:10, 1.0it/s]\r", "\n" + _TRACE),
        "ranks": ("train.log", _ROW * 3, "[rank#]: " + _TRACE.replace("\n", "\n[rank#]: ") + "\n", ""),
        "one line": ("train.log", _ROW, "loss nan ", "\n"),
    },
}  # fmt: skip


def notebooks() -> None:
    """The Python constructs in the cells of a notebook, and commands."""
    CONSTRUCTS["notebook"] = {
        name: ("a.ipynb", *parts) for name, (_, *parts) in CONSTRUCTS["python"].items() if name in ("models", "trainers", "assignments", "branches", "calls")
    }  # type: ignore[misc]  # fmt: skip
    CONSTRUCTS["notebook"]["commands"] = ("a.ipynb", "", "!" + _LAUNCH, "")


def made(construct: tuple[str, str, str, str], size: int) -> dict[str, str]:
    name, head, part, tail = construct
    parts, left, number = [head], size - len(head) - len(tail), 0
    while left > 0:
        text = part.replace("#", str(number))
        parts.append(text)
        left, number = left - len(text), number + 1
    text = "".join((*parts, tail))
    if name.endswith(".ipynb"):
        code = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
        cells = [{**code, "source": piece.splitlines(keepends=True)} for piece in (head, *parts[1:], tail)]
        text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    beside = {"train.yaml": _YAML} if name in ("stablint.toml", ".gitignore", "requirements.txt", "train.log") else {}
    return {**beside, name: text, ".git/HEAD": "ref: refs/heads/main\n"}


def cost(files: dict[str, str], name: str, words: tuple[str, ...]) -> float:
    """Seconds of CPU of one command over the files, in a folder of their own."""
    from stablint.cli import main

    with tempfile.TemporaryDirectory() as folder:
        for file, text in files.items():
            path = Path(folder) / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        log = "train.log"
        if not (Path(folder) / log).exists():
            (Path(folder) / log).write_text(_ROW * 3 + _TRACE)
        os.chdir(folder)
        gc.collect()
        began = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
            try:
                code = main(
                    [word.format(log=log, name=name) for word in words] + ["--isolated"] * (name != "stablint.toml")
                )
            except SystemExit as end:
                code = int(end.code or 0)
        seconds = time.process_time() - began
        os.chdir("/")
    if code not in (0, 1, 2) or "Traceback" in said.getvalue():
        raise AssertionError(f"{words[0]} ended with {code}: {said.getvalue()[-300:]}")
    return seconds


def measured(
    job: tuple[str, str, tuple[str, str, str, str] | Callable[[int], dict[str, str]], str, tuple[int, ...]],
) -> tuple[str, str, str, list[float]]:
    language, construct, maker, command, sizes = job
    gc.disable()
    seconds = []
    resource.setrlimit(resource.RLIMIT_CPU, (_ENDLESS * (len(sizes) + 1), resource.RLIM_INFINITY))
    for size in (1, *sizes):
        files = maker(size * 1000) if callable(maker) else made(maker, size * 1000)
        name = next((file for file in files if file != "train.yaml"), "train.yaml") if callable(maker) else maker[0]
        name = name if not name.endswith((".log", ".txt", ".toml", ".gitignore")) else "train.yaml"
        seconds.append(min(cost(files, name, COMMANDS[command]) for _ in range(2 if size == 1 else 1)))
        if seconds[-1] > _ENDLESS / 3:
            break
    return language, construct, command, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description="How the work for a file grows with it.")
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--only", default="", help="languages or constructs with this word")
    parser.add_argument("--attacks", action="store_true")
    parser.add_argument("--sizes", default="25,50,100", help="thousands of characters")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    notebooks()
    sizes = tuple(map(int, given.sizes.split(",")))
    chosen = [(language, name, maker) for language, several in CONSTRUCTS.items() for name, maker in several.items()]
    if given.attacks:
        chosen += [(language, name, maker) for language, several in CLASSES.items() for name, maker in several.items()]  # type: ignore[misc]
    jobs = [
        (language, name, maker, command, sizes)
        for command in given.commands.split(",")
        for language, name, maker in chosen
        if given.only in f"{language}: {name}" and (command != "diagnose" or language == "log" or given.only)
    ]
    bad = steepest = 0.0
    with get_context("fork").Pool(given.jobs, maxtasksperchild=1) as pool:
        for language, name, command, seconds in pool.imap_unordered(measured, jobs):
            least, *rest = seconds
            grown = [max(one - least, 1e-3) for one in rest]
            exponent = (
                math.log(grown[-1] / grown[-2]) / math.log(sizes[len(grown) - 1] / sizes[len(grown) - 2])
                if len(grown) > 1
                else 9.0
            )
            steep = exponent > EXPONENT and rest[-1] > SECONDS + least
            bad += steep
            steepest = max(steepest, exponent if rest[-1] > SECONDS + least else 0.0)
            line = f"{'STEEP ' if steep else '      '}{command:15} {language}: {name:24}"
            print(f"{line} {' '.join(f'{one:.2f}' for one in seconds)}  {exponent:.2f}", flush=True)
    print(
        f"{len(jobs)} pairs of command and construct at {given.sizes} thousand characters: {bad:.0f} grow faster than {EXPONENT} and take over "
        f"{SECONDS} s; the steepest {steepest:.2f}"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
