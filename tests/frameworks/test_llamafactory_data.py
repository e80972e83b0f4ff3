"""LLaMA-Factory's dataset_info.json: which table of data sets it is, and what each entry comes to for its parser."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stablint.frameworks import registry
from stablint.frameworks.fragment import Fragment
from stablint.syntax.json import reader as source
from stablint.syntax.tree import Text

OURS = {"file_name": "ours.json"}


def lowered(table: Any) -> tuple[Fragment, ...]:
    document = source.document(Text("/dataset_info.json", "dataset_info.json", json.dumps(table)))
    return registry.lower(document)


def facts(entry: dict[str, Any]) -> dict[str, Any]:
    (fragment,) = lowered({"ours": entry, "theirs": OURS})
    assert fragment.dialect == "llamafactory-data"
    return {
        one.fact.removeprefix("data.info.").removesuffix(".ours"): one.value
        for one in fragment.statements
        if one.fact.endswith(".ours") or ".ours." in one.fact
    }


@pytest.mark.parametrize(
    "entry, said",
    [
        (OURS, {"formatting": "alpaca", "prompt": "instruction", "source": "file_name", "ending": "json", "ranking": False}),
        ({"hf_hub_url": "us/ours", "columns": {"query": "q"}}, {"source": "hf_hub_url", "prompt": "none"}),
        ({**OURS, "formatting": "sharegpt"}, {"messages": "conversations", "role_tag": "from", "user_tag": "human"}),
        ({**OURS, "formatting": "sharegpt", "tags": {"role_tag": "role"}}, {"role_tag": "role", "user_tag": "none"}),
        ({**OURS, "formatting": "openai", "columns": {"messages": "turns"}}, {"messages": "turns"}),
        ({"file_name": "rows.txt"}, {"ending": "txt", "text_column": "instruction"}),
        ({"file_name": "rows.txt", "columns": {"prompt": "text"}}, {"text_column": "text"}),
        ({**OURS, "ranking": True, "columns": {"prompt": "q", "chosen": "a"}}, {"ranking": True, "chosen": "a", "rejected": "none"}),
        ({**OURS, "columns": {"prompt": "q", "image": "p"}}, {"unread_columns.ours.image": "image"}),
    ],
)  # fmt: skip
def test_an_entry_is_what_the_parser_makes_of_it(entry: dict[str, Any], said: dict[str, Any]) -> None:
    assert said.items() <= facts(entry).items()


@pytest.mark.parametrize(
    "entry, silent",
    [
        ({"file_name": "folder"}, ["ending", "text_column"]),
        ({"file_name": "v1.5/rows"}, ["ending"]),
        (OURS, ["chosen", "role_tag", "messages", "text_column"]),
        ({**OURS, "formatting": "sharegpt"}, ["prompt"]),
        ({**OURS, "ranking": "yes"}, ["ranking", "chosen"]),
        ({**OURS, "columns": "all"}, ["prompt"]),
        ({**OURS, "file_sha1": "0"}, ["unread.ours.file_sha1"]),
    ],
)
def test_what_the_entry_does_not_decide_is_not_said(entry: dict[str, Any], silent: list[str]) -> None:
    assert not facts(entry).keys() & set(silent)


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"ours": {"path": "ours.json"}},
        {"ours": OURS, "version": 2},
        {"zero_optimization": {"stage": 3}, "bf16": {"enabled": True}},
        {"assets": {"file_name": "logo.png", "width": 20}},
        {"ours": {"rows": 10}, "theirs": {"rows": 12}, "more": OURS},
    ],
)
def test_another_table_is_no_table_of_data_sets(table: Any) -> None:
    assert not any(fragment.dialect == "llamafactory-data" for fragment in lowered(table))
