"""The knowledge about releases holds together: spans, renames and spellings of knowledge/releases/."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.version import Version

from stablint.compiling.releases import compile_releases
from stablint.run.releases.allowed import taken_for

KNOWLEDGE = Path(__file__).parents[2] / "knowledge"
FILES = sorted((KNOWLEDGE / "releases").glob("*.json"))


@cache
def compiled() -> dict[str, Any]:
    """Not while tests are collected."""
    return compile_releases(KNOWLEDGE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_spans_are_in_order_and_do_not_overlap(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    order = document["releases"]
    assert order == sorted(order, key=Version)
    for entry in document["classes"].values():
        for spans in entry["fields"].values():
            edges = [order.index(edge) for span in spans for edge in (span["since"], span.get("last", order[-1]))]
            assert edges == sorted(edges)
            assert len(set(edges[1::2])) == len(spans)


def test_every_class_that_is_extended_is_known() -> None:
    for name, content in compiled().items():
        if name.startswith("fields/"):
            for _, _, bases in content["bases"]:
                assert all(f"fields/{base}" in compiled() for base in bases)


def test_types_say_something_about_the_same_releases_as_defaults() -> None:
    def releases(spans: list[list[Any]], count: int) -> set[int]:
        return {index for span in spans for index in range(span[0], span[1] + 1 if span[1] >= 0 else count)}

    for name, content in compiled().items():
        if name.startswith("fields/"):
            types = compiled()[name.replace("fields/", "types/")]
            count = len(compiled()["releases"][content["library"]])
            assert all(
                releases(spans, count) == releases(types[field], count) for field, spans in content["fields"].items()
            )


def test_a_spelling_leads_to_a_name_that_is_none_itself() -> None:
    for namespace, words in compiled()["spellings"].items():
        assert not set(words.values()) & set(words), namespace
    keys = compiled()["keys"]["keys"]
    for spelling, word in compiled()["spellings"]["training"].items():
        assert spelling in keys and word in keys


def test_renames_are_told_once_and_with_a_source() -> None:
    rows = yaml.safe_load((KNOWLEDGE / "releases" / "renames.yaml").read_text(encoding="utf-8"))
    seen = set()
    for row in rows:
        assert row["source"].split()[0] == row["library"]
        assert row["source"].split()[1] in compiled()["releases"][row["library"]]
        for name in row["class"] if isinstance(row["class"], list) else [row["class"]]:
            assert (row["library"], name, row["old"]) not in seen
            seen.add((row["library"], name, row["old"]))


def test_every_release_that_was_read_is_on_the_list() -> None:
    for library in compiled()["releases-read"]:
        assert set(compiled()["releases"][library]) <= set(compiled()["releases-all"][library])


def test_known_keys_name_their_classes() -> None:
    table = compiled()["keys"]
    owners = {table["classes"][index] for index in table["keys"]["bf16"]}
    assert {"transformers.TrainingArguments", "trl.SFTConfig", "trl.GRPOConfig"} <= owners
    assert {table["classes"][index] for index in table["keys"]["dataset_config"]} >= {"trl.ScriptArguments"}


@pytest.mark.parametrize(
    ("library", "specifier", "expected"),
    [
        ("transformers", "==99.0", ("99.0", "5.24.0")),
        ("transformers", ">=99", ("99", "5.24.0")),
        ("transformers", "==4.31.7", ("4.31.7", "4.31.0")),
        ("trl", "==0.0.1", ("0.0.1", "")),
        ("transformers", "==4.57.3", None),
        ("transformers", "==4.30.0.dev0", None),
        ("transformers", ">=4.30,<99", None),
        ("torch", "==2.5.1+cu121", None),
        ("trl", "==0.7.*", None),
        ("nobody-knows-this", "==1.0", None),
    ],
)
def test_a_release_that_nobody_knows_is_taken_for_another(
    library: str, specifier: str, expected: tuple[str, str] | None
) -> None:
    assert taken_for(library, specifier) == expected
