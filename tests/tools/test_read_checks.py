"""Reading what a library checks: the conditions of its raises, asserts, warnings and overrides, and which hazards tell of them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

TOOLS = Path(__file__).resolve().parents[2] / "tools"
CHECKED = Path(__file__).resolve().parents[2] / "knowledge" / "checks"
SOURCE = """
class LoraConfig:
    def __post_init__(self):
        if self.use_dora and self.megatron_config:
            raise ValueError("not together")
        if self.r is None:
            self.r = 8
        elif self.r < 0:
            warnings.warn("negative")
        assert self.alpha > 0, "alpha"
        for name in self.names:
            if name == "x":
                raise KeyError(name)

    def to_dict(self):
        return self.__dict__
"""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    sys.path.insert(0, str(TOOLS))
    try:
        spec = importlib.util.spec_from_file_location("read_checks", TOOLS / "read_checks.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(TOOLS))


def test_every_kind_of_check_is_read_with_its_condition(tool: ModuleType) -> None:
    found = {(c.kind, c.when): c for c in tool.checks.read("peft", {"tuners/lora/config.py": SOURCE})}
    assert set(found) == {
        ("raise", "self.use_dora and self.megatron_config"),
        ("override", "self.r is None → r"),
        ("warn", "not self.r is None and self.r < 0"),
        ("assert", "self.alpha > 0"),
        ("raise", "name == 'x'"),
    }
    pair = found["raise", "self.use_dora and self.megatron_config"]
    assert pair.fields == ("megatron_config", "use_dora")
    assert pair.owner == "LoraConfig.__post_init__"
    assert (pair.first, pair.last) == (4, 5)


def test_files_without_settings_are_not_read(tool: ModuleType) -> None:
    assert tool.checks.read("peft", {"tuners/lora/layer.py": SOURCE}) == []


def test_a_hazard_tells_of_a_check_whose_lines_or_settings_it_cites(tool: ModuleType) -> None:
    check = tool.checks.read("peft", {"tuners/lora/config.py": SOURCE})[0]
    cited = tool.coverage.Cited
    by_line = tool.coverage.Known("by-line", frozenset(), (cited("peft", "1.0", "tuners/lora/config.py", 5),))
    other_line = tool.coverage.Known("other-line", frozenset(), (cited("peft", "1.0", "tuners/lora/config.py", 50),))
    settings = frozenset({"use_dora", "megatron_config", "lora"})
    by_settings = tool.coverage.Known("by-settings", settings, (cited("peft", "0.9", "tuners/lora/config.py", 0),))
    elsewhere = tool.coverage.Known("elsewhere", settings, (cited("trl", "1.0", "trainer.py", 5),))
    told = tool.coverage.covering(check, "peft", "1.0", [by_settings, other_line, elsewhere, by_line])
    assert told == ["by-line", "by-settings"]


def test_what_no_configuration_decides_is_not_asked_for(tool: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "beyond.yaml").write_text(
        "- {library: peft, about: objects, has: [use_dora]}\n"
        "- {library: peft, about: data, in: 'tuners/lora/config.py:LoraConfig.__init__'}\n"
        "- {library: trl, about: environment, has: [alpha]}\n"
    )
    known = tool.beyond.entries(tmp_path / "beyond.yaml")
    found = tool.checks.read("peft", {"tuners/lora/config.py": SOURCE})
    about = {check.when: tool.beyond.about(check, "peft", known) for check in found}
    assert about.pop("self.use_dora and self.megatron_config") == "objects"
    assert set(about.values()) == {""}


def test_an_entry_without_pieces_holds_for_its_whole_place(tool: ModuleType) -> None:
    known = [tool.beyond.Beyond("peft", "other-use", "tuners/*:LoraConfig.*", ())]
    found = tool.checks.read("peft", {"tuners/lora/config.py": SOURCE})
    assert {tool.beyond.about(check, "peft", known) for check in found} == {"other-use"}


@pytest.mark.parametrize("entry", yaml.safe_load((CHECKED / "beyond.yaml").read_text(encoding="utf-8")), ids=str)
def test_every_entry_still_meets_a_check_of_the_stored_release(tool: ModuleType, entry: dict[str, Any]) -> None:
    rows = tool.stored(entry["library"], CHECKED)["checks"]
    for piece in entry.get("has", [""]):
        assert any(piece in row["when"] and row["beyond"] for row in rows), piece


def test_sources_are_read_in_both_forms(tool: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "id: a\nwhen: [lora.r is 0]\nevidence:\n  sources:\n    - peft 0.21.2 tuners/lora/config.py:7\n"
        "    - https://github.com/huggingface/peft/blob/v0.21.2/src/peft/config.py#L3\n    - https://arxiv.org/abs/2106.09685\n"
    )
    (known,) = tool.coverage.hazards(tmp_path)
    assert [(c.library, c.release, c.file, c.line) for c in known.cited] == [
        ("peft", "0.21.2", "tuners/lora/config.py", 7),
        ("peft", "0.21.2", "config.py", 3),
    ]
    assert "r" in known.words


@pytest.mark.slow
def test_a_release_is_compared_with_the_stored_one(tool: ModuleType, tmp_path: Path) -> None:
    before = tool.checks.read("peft", {"tuners/lora/config.py": SOURCE})
    tool.store("peft", "1.0", before, tmp_path)
    after = tool.checks.read("peft", {"tuners/lora/config.py": SOURCE.replace("self.alpha > 0", "self.alpha > 1")})
    new, gone = tool.unseen("peft", after, tmp_path)
    assert [one.when for one in new] == ["self.alpha > 1"]
    assert [row["when"] for row in gone] == ["self.alpha > 0"]
    assert tool.unseen("peft", before, tmp_path) == ([], [])


@pytest.mark.parametrize("library", ["accelerate", "deepspeed", "peft", "transformers", "trl"])
def test_what_is_stored_names_hazards_that_exist(tool: ModuleType, library: str) -> None:
    ids = {path.stem for path in (CHECKED.parent / "hazards").rglob("*.yaml")}
    rows = tool.stored(library, CHECKED)["checks"]
    assert len(rows) > 50
    assert {name for row in rows for name in row["told_by"]} <= ids
