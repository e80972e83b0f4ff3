"""The tool that reads releases: small made-up packages in, fields and spans out. Nothing is installed, imported or fetched."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.releases import archive, json_paths, libraries, spans
from tools.releases.annotation import type_text
from tools.releases.classes import class_found, read_class, settled
from tools.releases.package import Package

ROOT = Path(__file__).parent.parent.parent

CONFIG = '''
import sys
from dataclasses import dataclass, field
from typing import Literal, Optional, Union
from .base import Base, DEFAULT
from .words import Mode

raise SystemExit("an archive must never be run")

@dataclass
class ThingConfig(Base):
    """Not a field: word."""
    NOT_ONE = 3
    mode: Union[Mode, str] = field(default=Mode.SLOW)
    rate: float = field(default=DEFAULT * 2)
    names: Optional[list[str]] = field(default_factory=lambda: ["a"])
    side: Literal["left", "right"] = "left"
    kind: str = field(default="x", metadata={"help": "…", "choices": ["x", "y"]})
    device: str = field(default_factory=pick)
    needed: int = field()
    bf16: Optional[bool] = None
    steps: Optional[int] = None

    def __post_init__(self):
        self.bf16 = not (self.fp16) if self.bf16 is None else self.bf16
        if self.steps is None:
            self.steps = self.every
        super().__post_init__()
'''
BASE = """
from somewhere import Outside
DEFAULT = 1e-4
if something():
    CHOICE = "old"
else:
    CHOICE = "new"

class Base(Outside):
    fp16: bool = False
    every: int = 10
    rate: float = 1.0
    choice: str = CHOICE
"""
WORDS = """
from enum import Enum
class Mode(str, Enum):
    SLOW = "slow"
    FAST = "fast"
    def __str__(self): return self.value
"""


def package(**files: str) -> Package:
    return Package("thing", {name.replace("__", "/") + ".py": text for name, text in files.items()})


def fields(made: Package, path: str, name: str) -> dict[str, dict[str, Any]]:
    found = class_found(made, path, name)
    assert found is not None
    return read_class(made, found)


THING = package(config=CONFIG, base=BASE, words=WORDS)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mode", {"type": "Mode | str", "enum": "Mode", "default": "slow"}),
        ("rate", {"type": "float", "default": 2e-4}),  # its own default wins over the base's
        ("names", {"type": "list[str] | None", "default": ["a"]}),
        ("side", {"type": "str", "choices": ["left", "right"], "default": "left"}),
        ("kind", {"type": "str", "default": "x", "choices": ["x", "y"]}),
        ("device", {"type": "str", "default": {"expr": "pick()"}}),  # code: not known
        ("needed", {"type": "int", "required": True}),
        ("every", {"type": "int", "default": 10}),  # of the base
        ("choice", {"type": "str", "default": {"one_of": ["old", "new"]}}),  # depends on the machine
    ],
)
def test_a_dataclass_is_read_through_its_annotations(name: str, expected: dict[str, Any]) -> None:
    assert fields(THING, "config.py", "ThingConfig")[name] == expected


def test_constants_of_a_class_are_no_fields() -> None:
    assert "NOT_ONE" not in fields(THING, "config.py", "ThingConfig")


def test_bases_outside_the_package_are_named() -> None:
    found = class_found(THING, "config.py", "ThingConfig")
    assert found is not None
    assert THING.lineage(found)[1] == ["Outside"]


def test_what_null_becomes_is_read_where_it_is_plain() -> None:
    found = class_found(THING, "config.py", "ThingConfig")
    assert found is not None
    assert settled(THING, found) == {"bf16": {"not": "fp16"}, "steps": {"field": "every"}}


def test_a_constructor_is_read_with_what_it_takes_out_of_its_keywords() -> None:
    made = package(
        trainer="""
class Base:
    def __init__(self, model, args=None, **kwargs): ...
class Trainer(Base):
    @deprecate_kwarg("tokenizer", new_name="processor", version="2")
    def __init__(self, *, processor=None, size: int = 4, **kwargs):
        self.old = kwargs.pop("old", 7)
        super().__init__(**kwargs)
"""
    )
    assert fields(made, "trainer.py", "Trainer") == {
        "model": {"required": True},
        "args": {"default": None},
        "processor": {"default": None},
        "size": {"type": "int", "default": 4},
        "old": {"from_kwargs": True, "default": 7},
        "tokenizer": {"deprecated": True, "new_param": "processor"},
    }


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("Optional[Union[str, List[int]]]", "str | list[int] | None"),
        ("None | str | 'Thing'", "str | Thing | None"),
        ("typing.Dict[str, Optional[Any]]", "dict[str, Any | None]"),
        ("Literal['a', 1, None]", "str | int | None"),
        ("Annotated[int, Field(ge=1)]", "int"),
    ],
)
def test_annotations_get_one_spelling(written: str, spelled: str) -> None:
    import ast

    assert type_text(ast.parse(written, mode="eval").body) == spelled


DEEPSPEED = {
    "runtime/constants.py": 'FP16 = "fp16"\nON = "enabled"\nON_DEFAULT = False\nCLIP = "gradient_clipping"\nZERO = "zero_optimization"',
    "runtime/config_utils.py": '''
from pydantic import BaseModel
class DeepSpeedConfigModel(BaseModel):
    def __init__(self, strict=False, **data): ...
def get_scalar_param(d, name, default): return d.get(name, default)
''',
    "runtime/zero.py": '''
from .constants import ZERO
from .config_utils import DeepSpeedConfigModel
from pydantic import Field
class Offload(DeepSpeedConfigModel):
    ratio: float = Field(1.0, ge=0.0, le=1.0)
class Zero(DeepSpeedConfigModel):
    stage: int = 0
    bucket: int = Field(5, alias="stage3_bucket")
    offload: Optional[Offload] = None
def get_zero(d):
    part = d[ZERO] if ZERO in d else {}
    return Zero(**part)
''',
    "runtime/config.py": '''
from .constants import *
from .config_utils import get_scalar_param
from .zero import get_zero
_REMOVED_TOP_LEVEL_CONFIG_KEYS = {"amp": "gone"}
def get_fp16(param_dict):
    if FP16 in param_dict.keys():
        return get_scalar_param(param_dict[FP16], ON, ON_DEFAULT)
class DeepSpeedConfig:
    def __init__(self, config):
        self._param_dict = config
        self._initialize_params(copy.copy(self._param_dict))
    def _initialize_params(self, param_dict):
        self.fp16 = get_fp16(param_dict)
        self.zero = get_zero(param_dict)
        self.clip = param_dict.get(CLIP, 1.0)
        for key in ("wandb", "comet"):
            get_scalar_param(param_dict[key], "project", None)
        self.amp = param_dict.get("amp", {}).get("enabled")
''',
}  # fmt: skip


def test_deepspeed_keys_are_followed_from_function_to_function() -> None:
    read = libraries.read(libraries.LIBRARIES["deepspeed"], DEEPSPEED)["classes"]["json"]["fields"]
    assert read == {
        "fp16": {},
        "fp16.enabled": {"default": False},
        "zero_optimization": {"block": "Zero"},
        "zero_optimization.stage": {"type": "int", "default": 0},
        "zero_optimization.stage3_bucket": {"type": "int", "default": 5, "short": "bucket"},
        "zero_optimization.offload": {"block": "Offload"},
        "zero_optimization.offload.ratio": {"type": "float", "default": 1.0, "ge": 0.0, "le": 1.0},
        "gradient_clipping": {"default": 1.0},
        "wandb": {},
        "wandb.project": {"default": None},
        "comet": {},
        "comet.project": {"default": None},
        "amp": {"refused": True},
    }


values = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["a", "b"]))
readings = st.dictionaries(st.sampled_from("xyz"), st.fixed_dictionaries({"default": values}), max_size=3)
classes = st.dictionaries(
    st.sampled_from(["A", "B"]),
    readings.map(lambda f: {"kind": "fields", "module": "a.py", "bases": ["Base"], "settled": None, "fields": f}),
)
histories = st.dictionaries(
    st.sampled_from(["1.2.0", "1.9.1", "1.10.0", "2.0.0", "2.1.3"]),
    classes.map(lambda c: {"classes": c, "enums": {"E": ["p", "q"]}}),
    min_size=1,
)


@given(histories)
def test_merging_loses_nothing(history: dict[str, Any]) -> None:
    assert spans.expand(spans.merge("thing", history)) == history


@given(histories)
def test_releases_may_be_read_in_any_order(history: dict[str, Any]) -> None:
    at_once = spans.merge("thing", history)
    one_by_one: dict[str, Any] = {}
    for version in reversed(list(history)):
        one_by_one = spans.expand(spans.merge("thing", {**one_by_one, version: history[version]}))
    assert spans.merge("thing", one_by_one) == at_once


@given(history=histories)
def test_files_hold_what_was_written(history: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("spans") / "thing.json"
    document = spans.merge("thing", history)
    spans.write(document, path)
    assert spans.load(path) == document


def wheel(folder: Path, name: str, version: str, files: dict[str, str]) -> None:
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as target:
        for path, text in files.items():
            target.writestr(f"{name}/{path}", text)


def test_an_older_layout_left_in_a_wheel_is_not_what_python_imports(tmp_path: Path) -> None:
    wheel(
        tmp_path,
        "peft",
        "1.0",
        {"lora.py": "OLD = 1", "lora/__init__.py": "NEW = 1", "notes.txt": "", "models/x.py": ""},
    )
    path = archive.stored("peft", "1.0", tmp_path)
    assert path is not None
    assert archive.sources(path, "peft", skip=("models/*",)) == {"lora/__init__.py": "NEW = 1"}


def test_source_archives_are_read_without_their_first_folder(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "deepspeed-1.0.tar.gz", "w:gz") as target:
        for name, text in {"deepspeed-1.0/setup.py": "1/0", "deepspeed-1.0/deepspeed/a.py": "X = 1"}.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            target.addfile(member, io.BytesIO(text.encode()))
    path = archive.stored("deepspeed", "1.0", tmp_path)
    assert path is not None
    assert archive.sources(path, "deepspeed") == {"a.py": "X = 1"}


def tool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "tools" / "read_releases.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_new_release_is_one_command(tmp_path: Path) -> None:
    archives = tmp_path / "archives" / "peft"
    archives.mkdir(parents=True)
    body = "from dataclasses import dataclass\n@dataclass\nclass LoraConfig:\n    r: int = {}\n"
    wheel(archives, "peft", "0.20.0", {"config.py": body.format(8)})
    wheel(archives, "peft", "0.21.0", {"config.py": body.format(8)})
    wheel(archives, "peft", "0.22.0", {"config.py": body.format(16) + "    alpha: float = 1.0\n"})
    common = ("--archives", str(archives.parent), "--into", str(tmp_path))
    assert tool("peft", "0.20.0", "0.21.0", *common).returncode == 0
    assert tool("peft", "0.22.0", *common).returncode == 0
    document = json.loads((tmp_path / "peft.json").read_text(encoding="utf-8"))
    assert document["releases"] == ["0.20.0", "0.21.0", "0.22.0"]
    assert document["classes"]["LoraConfig"]["fields"] == {
        "alpha": [{"since": "0.22.0", "type": "float", "default": 1.0}],
        "r": [
            {"since": "0.20.0", "last": "0.21.0", "type": "int", "default": 8},
            {"since": "0.22.0", "type": "int", "default": 16},
        ],
    }


def test_the_renames_agree_with_what_was_read() -> None:
    done = tool("--check-renames")
    assert (done.returncode, done.stdout) == (0, "")


def test_a_wrong_rename_is_told(tmp_path: Path) -> None:
    reading = {"kind": "fields", "module": "a.py", "bases": [], "settled": None}
    history: dict[str, Any] = {
        "1.0": {"classes": {"A": {**reading, "fields": {"old": {"default": 1}}}}, "enums": {}},
        "1.1": {"classes": {"A": {**reading, "fields": {"new": {"default": 1}}}}, "enums": {}},
    }
    spans.write(spans.merge("transformers", history), tmp_path / "transformers.json")
    row = "- {library: transformers, class: A, old: old, new: %s, kind: renamed, removed_in: '%s', source: x}\n"
    (tmp_path / "renames.yaml").write_text(row % ("new", "1.1"), encoding="utf-8")
    assert tool("--check-renames", "--into", str(tmp_path)).returncode == 0
    (tmp_path / "renames.yaml").write_text(row % ("newer", "1.0"), encoding="utf-8")
    done = tool("--check-renames", "--into", str(tmp_path))
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 2


SCATTERED = r"""
SIZE = '''
SIZE is defined in this format:
"size": 1
'''
SIZE = "size"
SIZE_DEFAULT = None

def get_scalar_param(given, name, default):
    return given.get(name, default)

def get_size(param_dict):
    return get_scalar_param(param_dict, SIZE, SIZE_DEFAULT)

class DeepSpeedConfig:
    def _initialize(self, param_dict):
        self.size = get_size(param_dict)
        self.half = param_dict["half"].get("enabled", False)
"""


def test_the_keys_of_a_dictionary_are_read_where_it_is_looked_into() -> None:
    """A constant may hold a description before it holds the key, as DeepSpeed's for the micro-batch does."""
    found = json_paths.read(package(runtime__config=SCATTERED))
    assert found == {"size": {"default": None}, "half": {}, "half.enabled": {"default": False}}
