"""The two sides: the libraries' constructors in a worker process, and stablint on the file that a user would have written."""

from __future__ import annotations

import json
import os
import pprint
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from stablint.base import knowledge
from stablint.engine import examples
from stablint.hazard import model

WORKER = Path(__file__).with_name("worker.py")
LIBRARIES = ("transformers", "trl", "peft", "accelerate", "deepspeed", "bitsandbytes", "torch")
# The files that run when an object of a config class is made: what is proven in another one is told beyond the constructors.
JUDGED = (
    "training_args.py", "_config.py", "quantization_config.py", "/config.py", "config_utils.py", "integrations/deepspeed.py", "dataclasses.py",
    "tuners/",
    "commands/launch.py", "utils/launch.py", "config_args.py",
)  # fmt: skip


class NoOracle(Exception):
    """There is no interpreter with the libraries: STABLINT_ORACLE names one, STABLINT_ORACLE_PATH more folders of packages."""


class Judge:
    """The constructors, asked one after the other in one long-lived process."""

    def __init__(self, before: str = "", stated: str = "") -> None:
        """`before`: folders of packages that go before the interpreter's own. `stated`: releases that packages are taken for, `name=release,…`."""
        interpreter = os.environ.get("STABLINT_ORACLE", sys.executable)
        if interpreter == sys.executable and find_spec("trl") is None:
            raise NoOracle("trl is not installed here, and STABLINT_ORACLE names no interpreter")
        path = os.pathsep.join(one for one in (before, os.environ.get("STABLINT_ORACLE_PATH", "")) if one)
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "STABLINT"))}
        environment |= {"PYTHONPATH": path} if path else {}
        environment |= {"ORACLE_STATED": stated} if stated else {}
        self._worker = subprocess.Popen(
            [interpreter, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment,
        )  # fmt: skip
        try:
            self.versions: dict[str, str] = {
                k: v for k, v in self._say({"do": "versions", "of": LIBRARIES}).items() if v
            }
        except json.JSONDecodeError as error:
            raise NoOracle("the worker did not start: the libraries are not installed") from error
        if not {"transformers", "trl", "peft"} <= set(self.versions):
            raise NoOracle(f"only {', '.join(self.versions)} of the libraries")

    def _say(self, request: dict[str, Any]) -> Any:
        assert self._worker.stdin is not None and self._worker.stdout is not None
        try:
            self._worker.stdin.write(json.dumps(request) + "\n")
            self._worker.stdin.flush()
        except BrokenPipeError as error:
            raise NoOracle("the worker ended: the libraries are not installed") from error
        return json.loads(self._worker.stdout.readline())

    def describe(self, kind: str) -> dict[str, Any]:
        answer: dict[str, Any] = self._say({"do": "describe", "kind": kind})
        return answer

    def refuses(self, kind: str, given: dict[str, Any]) -> str | None:
        """The constructor's error, None where it takes the arguments."""
        answer: str | None = self._say({"do": "ask", "kind": kind, "given": given})
        return answer

    def close(self) -> None:
        self._worker.kill()
        self._worker.wait()


class Verdict(NamedTuple):
    errors: tuple[str, ...]  # rules that say error, by what the constructors run
    beyond: tuple[str, ...]  # rules that say error by what happens later, or elsewhere
    warned: bool = False  # a rule says so of most runs that look like this


def as_files(kind: str, given: dict[str, Any]) -> dict[str, str]:
    """The files that a user would have written. Keys with a dash below in front are of the machine, not of the file."""
    given = {key: value for key, value in given.items() if not key.startswith("_")}
    if kind.startswith("accelerate+"):
        files = {"accelerate.yaml": yaml.safe_dump({k: v for k, v in given.items() if k != "ds"}, sort_keys=False)}
        return files | ({"ds.json": json.dumps(given["ds"], indent=2) + "\n"} if "ds" in given else {})
    if kind == "deepspeed":
        return {"ds.json": json.dumps(given, indent=2) + "\n"}
    if kind == "trainer+deepspeed":
        rest = {key: value for key, value in given.items() if key != "deepspeed"}
        call = _call("transformers.TrainingArguments", {"output_dir": "out", "deepspeed": "ds.json", **rest})
        # What contradicts DeepSpeed's file is told where the trainer begins.
        call = (
            call.replace("import TrainingArguments", "import Trainer, TrainingArguments")
            + "Trainer(model=net, args=made, train_dataset=rows).train()\n"
        )
        return {"train.py": call, "ds.json": json.dumps(given["deepspeed"], indent=2) + "\n"}
    return {"train.py": _call(kind, given)}


def _call(kind: str, given: dict[str, Any]) -> str:
    library, _, name = kind.rpartition(".")
    words = "".join(f"    {key}={pprint.pformat(value)},\n" for key, value in given.items())
    return (
        f"from {library} import {name}\n\nmade = {name}(\n{words})\n"
        if words
        else f"from {library} import {name}\n\nmade = {name}()\n"
    )


_TEXTS: dict[str, Any] = knowledge.rows("texts").whole()
_HAZARDS = {hazard.id: hazard for hazard in model.load()}


def says_more(rule: str) -> bool:
    """Does the hazard go beyond the constructors, by its own words: it bites later, or what it cites first runs elsewhere?"""
    hazard = _HAZARDS.get(rule)
    if hazard is None:
        return False
    if hazard.bites_at not in ("parse", "start"):
        return True
    main, *_ = _TEXTS[rule]["evidence"]["sources"]
    return not any(part in main for part in JUDGED)


def _options(kind: str, versions: dict[str, str], gpu: str = "A100-80GB") -> dict[str, Any]:
    options: dict[str, Any] = {
        "gpu": [f"{gpu} x{2 if kind.startswith('accelerate+') else 1}"],
        "with": [f"{name}=={text.partition('+')[0]}" for name, text in versions.items()],
    }
    if kind == "deepspeed":
        options["dialect"] = "deepspeed"  # a few keys alone could be anybody's
    if kind.startswith("peft."):
        options["model"] = "llama"  # in the folder
    return options


def told_by(hazard: model.Hazard, files: dict[str, str], kind: str, versions: dict[str, str], folder: str) -> bool:
    """Does this hazard alone call the files an error, with these releases?"""
    found = examples.look(files, folder, _options(kind, versions), (hazard,))
    return any(d.severity == "error" for d in found)


def stablint_says(kind: str, given: dict[str, Any], versions: dict[str, str], folder: str) -> Verdict:
    found = examples.look(as_files(kind, given), folder, _options(kind, versions, given.get("_gpu", "A100-80GB")))
    errors = {d.rule for d in found if d.severity == "error"}
    return Verdict(
        tuple(sorted(r for r in errors if not says_more(r))),
        tuple(sorted(r for r in errors if says_more(r))),
        any(d.severity == "warning" for d in found),
    )
