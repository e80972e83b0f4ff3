"""The files of a submission to the schema store say what our schema says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from stablint.config.settings import NAMES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parents[2] / "schemas"
STORE = FOLDER / "schemastore"
SCHEMA = json.loads((FOLDER / "settings.schema.json").read_text(encoding="utf-8"))


def faults(path: Path) -> list[str]:
    return [
        error.message
        for error in Draft202012Validator(SCHEMA).iter_errors(tomllib.loads(path.read_text(encoding="utf-8")))
    ]


@pytest.mark.parametrize("path", sorted((STORE / "test").iterdir()), ids=lambda path: path.name)
def test_what_is_right_is_valid(path):
    assert faults(path) == []


@pytest.mark.parametrize("path", sorted((STORE / "negative_test").iterdir()), ids=lambda path: path.name)
def test_what_is_wrong_is_not(path):
    assert len(faults(path)) == 1


def test_the_entry_names_the_files_that_are_read():
    entry = json.loads((STORE / "catalog-entry.json").read_text(encoding="utf-8"))
    assert set(entry) == {"name", "description", "fileMatch", "url"}
    assert set(entry["fileMatch"]) == set(NAMES) - {"pyproject.toml"}
    Draft202012Validator.check_schema(SCHEMA)
