"""Official recipes against the JSON Schema of their framework in their time.

    python benchmarks/schemas.py CORPUS [--verbose]

CORPUS holds MANIFEST.jsonl, with a line of `repo`, `path`, `dialect`, `kind`, `official`, `last_changed` (year and month) for each recipe, and
`files/OWNER+NAME/PATH`. A recipe of a repository is of its main: what takes it is the newest release of the month in which it changed last, one that
came after, or, where none has come, the repository's own state. Exits 1 where a schema refuses an official recipe that is not in REFUSED, and where
it takes one that is.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lint"))

from stablint.config.options import Wrong, options
from stablint.forms.schema import schema
from stablint.run.releases.pep440 import release_key

DATES = Path(__file__).resolve().parent.parent / "knowledge" / "releases" / "dates.yaml"
FORMS = {"deepspeed": "deepspeed", "accelerate": "accelerate", "fsdp": "fsdp", "peft-adapter": "peft", "hf-args": "training-arguments",
         "axolotl": "axolotl", "llamafactory": "llamafactory", "ms-swift": "ms-swift", "torchtune": "torchtune"}  # fmt: skip
LIBRARIES = {"training-arguments": "transformers", "fsdp": "transformers", "llamafactory-v1": "llamafactory"}
# Bugs of the recipes. The proof of all but the forks' key stands in docs/official-recipes.md.
REFUSED = {
    "axolotl-ai-cloud/axolotl/examples/falcon-h1/falcon-h1-1b-qlora-cp.yaml": "context_parapllel_size is no key in any release",
    "axolotl-ai-cloud/axolotl/examples/expert_parallel/qwen3_30ba3b_ep_fft_4gpu.yaml": "warmup_steps: 0.1, an integer field",
    "axolotl-ai-cloud/axolotl/examples/expert_parallel/qwen3_30ba3b_ep_lora_4gpu.yaml": "warmup_steps: 0.1, an integer field",
    "microsoft/DeepSpeedExamples/compression/bert/config/ds_config_TEMPLATE.json": "no JSON: words stand for numbers",
    "allenai/open-instruct/configs/train_configs/sft/tulu3_8b_preview_mix_v3.1.yaml": "a key twice",
    "hiyouga/LLaMA-Factory/examples/ktransformers/train_lora/qwen3_5moe_lora_sft_kt.yaml": "kt_config is a field of transformers-kt, a fork",
    "hiyouga/LLaMA-Factory/examples/ktransformers/train_lora/qwen3vlmoe_lora_sft_kt.yaml": "kt_config is a field of transformers-kt, a fork",
}


def form_of(row: dict[str, Any]) -> str | None:
    repo, path, dialect = row["repo"], row["path"], row["dialect"]
    if dialect == "trl-recipe":
        return "trl-" + next((one for one in ("dpo", "grpo", "kto", "reward") if one in path.lower()), "sft")
    if dialect == "other":
        return "litgpt" if repo.endswith("/litgpt") else None
    if dialect == "llamafactory" and path.startswith("examples/v1/"):
        return "llamafactory-v1"
    if dialect == "fsdp" and repo.endswith("/accelerate"):
        return "accelerate"
    return FORMS.get(dialect)


def library_of(form: str) -> str:
    return LIBRARIES.get(form) or ("trl" if form.startswith("trl-") else form)


@cache
def _dates() -> dict[str, dict[str, date]]:
    found: dict[str, dict[str, date]] = yaml.safe_load(DATES.read_text(encoding="utf-8"))
    return found


def in_time(library: str, month: str) -> Iterator[str | None]:
    """The newest release that was out at the end of a month, those that came after it, and None for what no release is yet."""
    year, number = map(int, month.split("-"))
    end = date(year + number // 12, number % 12 + 1, 1)
    days = {name: day for name, day in _dates()[library].items() if re.fullmatch(r"[\d.]+", name)}
    before = [name for name, day in days.items() if day < end]
    yield from sorted(before, key=release_key)[-1:]
    yield from sorted((name for name, day in days.items() if day >= end), key=release_key)
    yield None


@cache
def validator(form: str, release: str | None) -> jsonschema.Draft7Validator | None:
    """None where what that release took is not known."""
    stated = [f"{library_of(form)}=={release}"] if release else []
    try:
        return jsonschema.Draft7Validator(schema(form, options(releases=stated)))
    except Wrong:
        return None


class _Once(yaml.SafeLoader):
    """Refuses a key that stands twice, as the parsers that check-jsonschema uses do."""


def _mapping(loader: _Once, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [loader.construct_object(key) for key, _ in node.value]
    if len(set(keys)) < len(keys):
        raise yaml.YAMLError("a key stands twice")
    return loader.construct_mapping(node, deep=True)


_Once.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def refused(form: str, month: str, text: str, kind: str) -> list[str]:
    """Nothing if some release of its time takes it, else what the first one says."""
    try:
        document = json.loads(text) if kind == "json" else yaml.load(text, _Once)
    except (ValueError, yaml.YAMLError) as error:
        return [str(error).partition("\n")[0]]
    said: list[str] | None = None
    for release in in_time(library_of(form), month):
        one = validator(form, release)
        found = None if one is None else [error.message[:200] for error in one.iter_errors(document)]
        if found == []:
            return []
        said = found if said is None else said
    return said or ["no release is known"]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument(
        "--verbose", action="store_true", help="also what is refused of files that nobody calls official"
    )
    given = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    wrong = []
    for line in (given.corpus / "MANIFEST.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        form, name = form_of(row), f"{row['repo']}/{row['path']}"
        path = given.corpus / "files" / row["repo"].replace("/", "+") / row["path"]
        if form is None or row["kind"] not in ("yaml", "json") or not path.is_file():
            continue
        whose = "official" if row["official"] else "other"
        said = refused(form, row["last_changed"], path.read_text(encoding="utf-8"), row["kind"])
        counts[f"{whose} {form}"] += 1
        counts[f"{whose}, refused"] += bool(said)
        counts[f"{whose}, in all"] += 1
        if row["official"] and bool(said) is not (name in REFUSED):
            wrong.append(f"{name}: {said or 'taken, though it is on the list'}")
        if said and (row["official"] or given.verbose):
            print(f"{name} ({row['last_changed']}): {REFUSED.get(name, '; '.join(said))}")
    for name, number in sorted(counts.items()):
        print(f"{number:5}  {name}")
    print("".join(f"WRONG {line}\n" for line in wrong), end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
