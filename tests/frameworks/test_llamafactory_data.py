"""LLaMA-Factory's dataset_info.json: which table of data sets it is, and what each entry comes to for its parser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stablint.frameworks import registry
from stablint.frameworks.fragment import Fragment
from stablint.syntax.json import reader as source
from stablint.syntax.tree import Text
from tests.runs import inspected

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


def test_a_long_table_leaves_the_run_that_names_one_of_its_sets_judged(tmp_path: Path) -> None:
    """LLaMA-Factory's own has more sets than a run may have settings: of a run it says what it says of the sets that the run names."""
    row = {
        "file_name": "a.json",
        "formatting": "sharegpt",
        "columns": {"messages": "conversations", "system": "system", "tools": "tools"},
    }
    table = {f"set{number}": row for number in range(400)} | {"mine": row | {"columns": {"mesages": "turns"}}}
    train = "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: qwen\n"
    train += "dataset: mine\noutput_dir: out\nlearning_rate: 1.0e-4\n"
    found = inspected(tmp_path, {"train.yaml": train, "data/dataset_info.json": json.dumps(table)})
    (run,) = [one for one in found.runs if "training.stage" in one.explicit]
    assert "data.info.formatting.mine" in run.explicit and "data.info.formatting.set7" not in run.explicit
