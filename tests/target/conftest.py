"""The tests of targets read the knowledge of this checkout, compiled here, so that they need no other compiler to be whole."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from stablint import knowledge

SOURCES = Path(__file__).parents[2] / "knowledge"


@pytest.fixture(autouse=True, scope="session")
def compiled():
    content = {}
    for kind in ("gpus", "models", "lr_bands"):
        compiler = importlib.import_module(f"stablint.compiling.{kind}")
        content |= json.loads(json.dumps(getattr(compiler, f"compile_{kind}")(SOURCES)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knowledge, "load", content.get)
        yield content
