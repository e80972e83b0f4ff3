# ruff: noqa: E501
"""Small texts that ask for much work of what is asked beside a check: logs (`diagnose`), what an editor opens (`server`), objects of a cluster (the webhook).
Each is a function of its size in bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from typing import Any

from tests.security.attack_files import CLASSES, until

ROW = "{'loss': 1.25, 'grad_norm': 3.5, 'learning_rate': 1e-05, 'epoch': 0.1}\n"
TRACE = 'Traceback (most recent call last):\n  File "/w/train.py", line 3, in <module>\n    trainer.train()\n'
FELL = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.20 GiB is free.\n"

Log = Callable[[int], str]


def lines(line: Callable[[int], str], head: str = "", tail: str = "") -> Log:
    return lambda size: until(size, head, line, tail)


def state(size: int) -> str:
    rows: list[dict[str, Any]] = []
    for number in count():
        rows.append(
            {
                "loss": float("nan"),
                "grad_norm": number / 7,
                "learning_rate": 1e-5,
                "epoch": number / 100,
                "step": number,
            }
        )
        if len(rows) * 95 > size:
            return json.dumps({"log_history": rows, "global_step": number, "max_steps": number})
    raise AssertionError


LOGS: dict[str, Log] = {
    "rows": lines(lambda n: ROW),
    "rows that are sick": lines(lambda n: ROW.replace("1.25", "nan" if n % 2 else f"1e{n}")),
    "rows of other keys each": lines(lambda n: f"{{'loss_{n}': {n}.5, 'grad_norm_{n}': 1, 'epoch': {n}}}\n"),
    "rows of one key more each": lines(lambda n: "{" + ", ".join(f"'k{k}': 1" for k in range(n % 60)) + ", 'loss': 1.0}\n"),
    "rows of forms that change": lines(lambda n: f"step {n} | loss {n}.5 | lr 1e-5 {'| x 1 ' * (n % 40)}\n"),
    "numbers of many digits": lines(lambda n: f"{{'loss': {'9' * 3000}.{'1' * 900}, 'grad_norm': 1e{'9' * 40}}}\n"),
    "one line without an end": lambda size: "{'loss': 1.0, " * (size // 14),
    "one word without an end": lambda size: "a" * size,
    "open braces": lambda size: "{'loss': " * (size // 9),
    "open brackets": lambda size: ROW + "[" * (size - len(ROW)),
    "open quotes": lines(lambda n: f"{{'loss': '1.0, \"{n}\n"),
    "colons": lambda size: "a:" * (size // 2),
    "equal signs": lambda size: "loss=" * (size // 5),
    "bars that are drawn anew": lines(lambda n: f"\r{n % 100}%|{'█' * (n % 30)}| {n}/30000 [00:10<99:10, 1.02s/it, loss=1.2]"),
    "bars between rows": lines(lambda n: f"\r {n}/3000 [00:10<99:10]{ROW}"),
    "escapes": lines(lambda n: f"\x1b[3{n % 8}m\x1b[1m{{'loss': {n}.0}}\x1b[0m\n"),
    "escapes alone": lambda size: "\x1b[" * (size // 2),
    "tracebacks": lines(lambda n: TRACE + FELL),
    "tracebacks without an end": lines(lambda n: TRACE),
    "tracebacks of other errors each": lines(lambda n: f"{TRACE}Odd{n}Error: no {n}\n"),
    "causes": lines(lambda n: f"{TRACE}ValueError: a{n}\n\nDuring handling of the above exception, another exception occurred:\n\n"),
    "frames": lines(lambda n: f'  File "/w/m{n}.py", line {n}, in f{n}\n    f{n + 1}()\n', "Traceback (most recent call last):\n", "RuntimeError: x\n"),
    "a box": lines(lambda n: f"│ /w/m{n}.py:{n} in f{n}    │\n│ ❱ {n} f{n + 1}()   │\n", "╭──── Traceback (most recent call last) ────╮\n", "╰────╯\nRuntimeError: x\n"),
    "ranks": lines(lambda n: "".join(f"[rank{n % 64}]: {one}\n" for one in (TRACE + FELL).splitlines())),
    "ranks of other processes": lines(lambda n: f"{n}: {ROW}"),
    "one word told by many": lines(lambda n: f"node{n}: NCCL watchdog thread terminated with exception: CUDA error {n}\n"),
    "reports of a launcher": lines(lambda n: f"ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: {n}) local_rank: {n} (pid: {n})\n"),
    "no memory, again and again": lines(lambda n: FELL.replace("2.00", f"{n}.00")),
    "warnings": lines(lambda n: f"/x/y.py:{n}: UserWarning: `{n}` is deprecated and will be removed\n  warnings.warn(\n"),
    "keys of secrets": lines(lambda n: f"hub_token{n} = a{n}b key: c{n}d password={n}e\n"),
    "keys of secrets in one line": lambda size: "token=" * (size // 6),
    "addresses": lambda size: "https://a:" * (size // 10),
    "objects": lines(lambda n: json.dumps({"loss": n / 3, "step": n, "x": [{}] * (n % 20)}) + "\n"),
    "an object without an end": lambda size: '{"log_history": [' + '{"loss": 1.0, "step": 1},' * (size // 25),
    "a state": state,
    "a state, deep": lambda size: '{"log_history": [{"loss": 1, "x": ' + "[" * (size // 2) + "]" * (size // 2) + "}]}",
    "a state, one key": lambda size: '{"log_history": [{' + '"loss": 1,' * (size // 10) + '"step": 1}]}',
    "blanks": lambda size: "loss" + " " * (size - 8) + ": 1\n",
    "blank lines": lambda size: ROW + "\n" * size + ROW,
    "line ends of old machines": lambda size: (ROW[:-1] + "\r") * (size // len(ROW)),
    "zeros": lambda size: "\0" * size,
    "no letters": lambda size: "￿￾" * (size // 6),
    "arguments as they are printed": lines(lambda n: f"key_{n}={n},\n", "TrainingArguments(\n", ")\n" + TRACE + FELL),
    "settings as they are printed": lines(lambda n: f"  key_{n}: {n}\n", ROW, TRACE + FELL),
    "commands as they are told": lines(lambda n: f"+ torchrun train.py --learning_rate {n} --fp16 --a{n} {n}\n", "", TRACE + FELL),
    "losses that jump": lines(lambda n: f"{{'loss': {n % 9 * 100}.5, 'grad_norm': {n % 7}e{n % 30}, 'epoch': {n}}}\n"),
    "evaluations": lines(lambda n: f"{{'eval_loss': {n}.1, 'eval_{n}': 1, 'epoch': {n}}}\n{ROW}"),
}  # fmt: skip

# What stands beside them.
RECIPE = {"train.yaml": "model_name_or_path: Qwen/Qwen2-7B\noutput_dir: out\nfp16: true\nlearning_rate: 1.0e-5\n"}


def config_map(files: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": files}


def pod(*commands: list[str], **more: Any) -> dict[str, Any]:
    containers = [{"name": f"c{number}", "command": command, **more} for number, command in enumerate(commands)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": containers}}


_RUN = "torchrun train.py --learning_rate 1e-5 --fp16 --bf16 --output_dir out"


def _times(size: int, one: Any) -> list[Any]:
    return [one] * max(1, size // len(json.dumps(one)))


def _deep(size: int) -> dict[str, Any]:
    inner: Any = 1
    for _ in range(min(size // 6, 800)):
        inner = {"a": inner}
    return {**pod(["bash", "-c", _RUN]), "more": inner}


MANIFESTS: dict[str, Callable[[int], Any]] = {
    "containers": lambda size: pod(*_times(size, ["bash", "-c", _RUN])),
    "containers of shells": lambda size: pod(*_times(size, ["bash", "-c", f"bash -c '{_RUN}'"])),
    "arguments": lambda size: pod(["torchrun", "train.py", *_times(size, "--fp16")]),
    "variables": lambda size: pod(["bash", "-c", _RUN + " $A0 $A1"], env=[{"name": f"A{n}", "value": f"$(A{n + 1})"} for n in range(size // 40)]),
    "a variable that names itself": lambda size: pod(["bash", "-c", "$(A)"], env=_times(size, {"name": "A", "value": "$(A)$(A)"})),
    "doubling variables": lambda size: pod(["bash", "-c", "$(A40)"], env=[{"name": f"A{n + 1}", "value": f"$(A{n})$(A{n})"} for n in range(size // 50)]),
    "files": lambda size: config_map({f"c{n}.yaml": "learning_rate: 1.0e-5\noutput_dir: out\nfp16: true\nbf16: true\n" for n in range(size // 80)}),
    "files of one letter": lambda size: config_map({f"{n}.yaml": "a" for n in range(size // 16)}),
    "no objects": lambda size: {"kind": "Pod", "spec": {"containers": _times(size, [])}},
    "numbers": lambda size: {"kind": "Pod", "spec": {"containers": [{"name": 1, "command": [10**4000] * (size // 4002)}]}},
    "depth": _deep,
    "jobs": lambda size: {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": pod(*_times(size, ["bash", "-c", _RUN + "; exit 1"]))}},
    "lists": lambda size: {"apiVersion": "v1", "kind": "List", "items": _times(size, pod(["bash", "-c", _RUN]))},
}  # fmt: skip


def of_files() -> dict[str, Callable[[int], Any]]:
    """The files of every class in a ConfigMap; scripts as what a container starts as well. What JSON escapes takes room from them."""
    made: dict[str, Callable[[int], Any]] = {}
    for kind, attacks in CLASSES.items():
        for name, make in attacks.items():
            made[f"{kind}: {name}"] = lambda size, make=make: config_map(make(size))  # type: ignore[misc]
            if name.startswith("shell"):
                made[f"{kind}: {name}, started"] = lambda size, make=make: pod(
                    ["bash", "-c", next(iter(make(size).values()))]
                )  # type: ignore[misc]
    return made
