"""What is asked of `stablint new`, and what holds of every answer."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import yaml

from stablint.base import knowledge
from stablint.cli import main

FRAMEWORKS = tuple(knowledge.load("proposals")["frameworks"])
MODELS = (
    "Qwen/Qwen2.5-0.5B-Instruct",
    "meta-llama/Llama-3.1-8B-Instruct",
    "Qwen/Qwen2.5-32B-Instruct",
    "meta-llama/Llama-3.1-70B-Instruct",
)
TARGETS = ("T4", "RTX 4090 x2", "A100-40GB x4", "V100-32GB x8", "H100 x8")
METHODS = ("full", "lora", "qlora")


class Case(NamedTuple):
    framework: str
    model: str
    gpu: str
    method: str
    objective: str = "sft"
    length: int = 2048

    def words(self, folder: Path) -> list[str]:
        return [
            "new", "--model", self.model, "--gpu", self.gpu, "--method", self.method, "--framework", self.framework, "--objective", self.objective,
            "--length", str(self.length), "--output", str(folder),
        ]  # fmt: skip


_TUNED = [
    "Qwen/Qwen2-7B-Instruct", "Qwen/Qwen2.5-72B-Instruct", "google/gemma-2-27b", "google/gemma-2-2b", "google/gemma-7b", "meta-llama/Llama-2-13b-hf",
    "meta-llama/Llama-3.2-1B-Instruct", "meta-llama/Meta-Llama-3.1-405B-Instruct", "microsoft/Phi-3-mini-4k-instruct", "microsoft/phi-4",
    "mistralai/Mistral-7B-v0.1",
]  # fmt: skip
_LAUNCHED = [
    "Qwen/Qwen3-14B",
    "mistralai/Mistral-7B-Instruct-v0.3",
    "Qwen/Qwen2-72B-Instruct",
    "google/gemma-2-9b-it",
    "microsoft/phi-4",
]
_MORE = ("RTX 4090", "RTX 3090 x7", "A100-80GB x8")
MATRIX = [
    *(Case(framework, model, gpu, method) for framework in FRAMEWORKS for model in MODELS for gpu in TARGETS for method in METHODS),
    # torchtune has builders of its own for each family, and beside accelerate stands a second file that says how the work is divided.
    *(Case("torchtune", model, gpu, method) for model in _TUNED for gpu in _MORE for method in METHODS),
    *(Case("accelerate+deepspeed", model, gpu, method) for model in _LAUNCHED for gpu in _MORE for method in METHODS),
    *(Case("accelerate+deepspeed", model, gpu, method, "dpo") for model in MODELS[:2] for gpu in TARGETS for method in METHODS),
    *(Case(one, model, gpu, method, "grpo") for one in ("trl", "accelerate+deepspeed") for model in MODELS[:2] for gpu in TARGETS for method in METHODS),
]  # fmt: skip

# How a framework's own file calls the rows of a step and card, the steps before an update, and the rate.
_SPELLED = {
    "axolotl": ("micro_batch_size", "gradient_accumulation_steps", "learning_rate"),
    "torchtune": ("batch_size", "gradient_accumulation_steps", "optimizer.lr"),
}
_PLAIN = ("per_device_train_batch_size", "gradient_accumulation_steps", "learning_rate")
_COMPUTED = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


def written(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def asked(case: Case, folder: Path) -> int:
    return main(case.words(folder))


def holds(folder: Path, case: Case, capsys) -> None:
    """Every file is what its name says, the script parses and starts what is there, the linter has nothing to say, and it fits."""
    for name, data in written(folder).items():
        if name.endswith(".json"):
            assert isinstance(json.loads(data), dict)
        elif name.endswith(".yaml"):
            document = yaml.safe_load(data)
            assert isinstance(document, dict) and document
            assert not [
                key
                for key, value in document.items()
                if isinstance(value, str) and value[:1].isdigit() and "e-" in value
            ]
    script = folder / "launch.sh"
    assert subprocess.run(["bash", "-n", str(script)], capture_output=True, check=False).returncode == 0
    assert os.access(script, os.X_OK)
    for word in script.read_text(encoding="utf-8").split():
        if word.endswith((".yaml", ".json")) and "/" not in word:
            assert (folder / word).is_file(), word
    capsys.readouterr()
    assert main(["check", str(folder), "--gpu", case.gpu, "--isolated", "--output-format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [one["code"] for one in report["diagnostics"] if one["severity"] != "info"] == []
    assert main(["fit", str(folder), "--gpu", case.gpu, "--isolated", "--output-format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "fits"
    shows(folder, case, capsys)


def shows(folder: Path, case: Case, capsys) -> None:
    """`show` of the launch script knows the run again: method, objective, model, rows of a step, rate, precision."""
    document = yaml.safe_load((folder / f"{case.objective}.yaml").read_text(encoding="utf-8"))
    script = (folder / "launch.sh").read_text(encoding="utf-8")
    rows, steps, rate = (_at(document, key) for key in _SPELLED.get(case.framework, _PLAIN))
    assert main(["show", str(folder / "launch.sh"), "--gpu", case.gpu, "--isolated", "--output-format", "json"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert len(runs) == 1
    facts = {row["name"]: row["value"] for row in runs[0]["facts"]}
    longest = "training.max_completion_length" if case.objective == "grpo" else "training.max_length"
    wanted = {
        "derived.objective": case.objective, longest: case.length, "training.per_device_train_batch_size": rows,
        "training.gradient_accumulation_steps": steps, "training.learning_rate": rate,
    }  # fmt: skip
    if "export NPROC_PER_NODE" in script or case.framework != "ms-swift" or " x" not in case.gpu:
        # How many processes `swift` starts by itself is presumed by `fit` and not said of the run.
        wanted["derived.effective_batch"] = rows * steps * facts.get("derived.world_size", 0)
    if case.method != "auto":
        wanted["derived.method"] = case.method
    if facts.get("derived.compute_dtype") or "qlora" not in (case.method, facts.get("derived.method")):
        # A quantised base without mixed precision is multiplied in a dtype of its own, of which nothing is said.
        wanted["derived.compute_dtype"] = _precision(document)
    other = {name: (value, facts.get(name)) for name, value in wanted.items() if facts.get(name) != value}
    assert not other, other
    named = facts.get("model.name_or_path")
    own = case.model.rpartition("/")[2]
    assert named in ((f"models/{own}", f"models/Meta-{own}") if case.framework == "torchtune" else (case.model,))


def _at(document: dict, key: str) -> object:
    for name in key.split("."):
        document = document[name]
    return document


def _precision(document: dict) -> str:
    if document.get("dtype") in _COMPUTED:
        return _COMPUTED[document["dtype"]]
    switches = [_COMPUTED[name] for name in ("bf16", "fp16") if document.get(name) is True]
    return switches[0] if switches else "float32"
