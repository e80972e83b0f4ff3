"""What the generators put together: the examples of all hazards and incidents as seeds, and the keys and values that stand in them."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).parents[2]
LANGUAGES = {
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "json",
    ".py": "python",
    ".sh": "shell",
    ".slurm": "shell",
    ".ipynb": "notebook",
}

# Values at the edges of what a reader expects. Each has a meaning in at least one of the five languages.
SCALARS: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 8, 2**31, 2**63, -(2**63) - 1, 10**40, 0.0, -0.0, 1e-5, 3e-4, 1e308, float("inf"), float("-inf"),
    float("nan"), "", " ", "1e-5", "1e400", "0x10", "1_000", "1:30:00", "2001-01-01", "true", "True", "yes", "no", "off", "null", "~", "auto",
    "none", "None", "fp16", "bf16", "float15", "q_proj", "all-linear", ["q_proj", "v_proj"], "Qwen/Qwen2-7B-Instruct", "meta-llama/Llama-2-7b-hf",
    "./model", "../../../../etc/passwd", "ds.json", "train.yaml", "./", "/", "~", "~/x.json", "${LR}", "${LR:-1e-5}", "$(id)", "${oc.env:LR}", "{{ lr }}",
    "{{", "}}", "%s", "{}", "{0}", "\\", "'", '"', "`id`", "#", "# stablint: ignore[P101]",
    "\t", "\n", "\r\n", "a\nb", "\u2028", "\ufeff", "\u202e", "é", "🤖",
    "模型",
    "a" * 300, "- x", "a: b", "[", "]", "{", "!!python/object/apply:os.system ['id']", "*a", "&a", "<<", "!include x.yaml", "http://example.org/x", [], {},
    [[]], [{}], {"": None}, {"a": {"b": [1, {"c": None}]}}, [None], [1, "2", 3.0, None], {"enabled": "auto"}, {"stage": "3"},
)  # fmt: skip


class Seed(NamedTuple):
    """The files of one example."""

    files: tuple[tuple[str, str], ...]


@lru_cache(maxsize=1)
def seeds() -> tuple[Seed, ...]:
    """The examples of every hazard and the files of every incident, smallest first."""
    found: list[Seed] = []
    for path in sorted((ROOT / "knowledge" / "hazards").rglob("*.yaml")):
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        found += [_seed(example) for example in data.get("examples", ()) if example.get("files")]
    for path in sorted((ROOT / "tests" / "cases" / "incidents").glob("*.yaml")):
        rows = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        found += [_seed(row) for row in rows if row.get("files")]
    return tuple(sorted(found, key=lambda seed: sum(len(text) for _, text in seed.files)))


def _seed(example: dict[str, Any]) -> Seed:
    return Seed(tuple((name, str(text)) for name, text in example["files"].items()))


@lru_cache(maxsize=8)
def texts(language: str) -> tuple[str, ...]:
    """The seeds' texts in one language."""
    return tuple(
        text for seed in seeds() for name, text in seed.files if LANGUAGES.get(Path(name).suffix) == language
    )  # fmt: skip


@lru_cache(maxsize=1)
def trees() -> tuple[Any, ...]:
    """What the seeds in YAML and JSON hold."""
    found: list[Any] = []
    for text in (*texts("yaml"), *texts("json")):
        try:
            loaded = yaml.load_all(text, Loader=yaml.CSafeLoader)
            found += [tree for tree in loaded if isinstance(tree, dict) and _is_small(tree)]
        except (yaml.YAMLError, ValueError):
            continue  # a seed that is broken on purpose serves as a text only
    return tuple(found)


def _is_small(tree: Any) -> bool:
    """Aliases may make a tree of a few lines endless."""
    pending, seen = [tree], 0
    while pending and seen < 2_000:
        node = pending.pop()
        seen += 1
        pending += node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return not pending


@lru_cache(maxsize=1)
def keys() -> tuple[str, ...]:
    """Every key that stands in a seed, at whatever depth."""
    found: set[str] = set()
    pending = list(trees())
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            found.update(key for key in node if isinstance(key, str))
            pending += node.values()
        elif isinstance(node, list):
            pending += node
    return tuple(sorted(found))


@lru_cache(maxsize=16)
def pieces(kind: str) -> tuple[Any, ...]:
    """The pieces of tests/fuzz/pieces.yaml of one kind."""
    data = yaml.load((Path(__file__).parent / "pieces.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return tuple(data[kind])


@lru_cache(maxsize=1)
def hazard_texts() -> tuple[str, ...]:
    return tuple(path.read_text(encoding="utf-8") for path in sorted((ROOT / "knowledge" / "hazards").rglob("*.yaml")))


@lru_cache(maxsize=1)
def settings_schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((ROOT / "schemas" / "settings.schema.json").read_text(encoding="utf-8"))
    return schema
