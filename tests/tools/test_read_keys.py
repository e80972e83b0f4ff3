"""The tool that reads which keys a framework's reader takes: small made-up packages and a made-up repository in, keys and spans out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.releases import repository
from tools.releases.package import Package
from tools.releases.readers import FRAMEWORKS, flags_of

ROOT = Path(__file__).parent.parent.parent

ARGUMENTS = """
from dataclasses import dataclass, field
from transformers import Seq2SeqTrainingArguments

@dataclass
class Part:
    inherited: int = 1

@dataclass
class ModelArguments(Part):
    model_name_or_path: str = field(default=None)
    derived: str = field(init=False)

@dataclass
class TrainingArguments(Seq2SeqTrainingArguments):
    own: bool = False

@dataclass
class Other:
    elsewhere: int = 1
"""
MODEL = """
from pydantic import AliasChoices, BaseModel, Field

class Inner(BaseModel):
    version: int | None = Field(validation_alias=AliasChoices("inner_version", "version"), default=None)

class Base(BaseModel):
    base_model: str

class AxolotlInputConfig(Base):
    model_config = {"populate_by_name": True}
    renamed: dict | None = Field(default=None, alias="model_config")
    inner: Inner | None = None
    free: dict[str, int] | None = None
    several: list[Inner] | None = None

    def check(cls, data):
        if data.get("handled") or data["also_handled"]:
            raise ValueError
        return data
"""
PLUGIN = """
from axolotl.integrations.base import BasePlugin

class MadePlugin(BasePlugin):
    def get_input_args(self):
        return "axolotl.integrations.made.MadeArgs"
"""
PLUGIN_ARGS = """
from pydantic import BaseModel

class MadeArgs(BaseModel):
    made_switch: bool | None = None
    base_model: str | None = None
"""
PARSER = """
parser.add_argument("--train.micro-batch", type=int)
parser.add_argument("-o", "--out", "--output", default=None)
parser.add_argument("positional")
"""


def test_dataclasses_give_their_fields_and_those_of_their_bases() -> None:
    found = FRAMEWORKS["llamafactory"].read(Package("llamafactory", {"hparams/all.py": ARGUMENTS}))
    assert list(found["train"]["fields"]) == ["inherited", "model_name_or_path", "own"]
    assert found["train"]["bases"] == ["transformers.Seq2SeqTrainingArguments"]
    assert "own" not in found["infer"]["fields"]


def test_a_model_gives_names_aliases_sections_what_it_handles_and_what_plugins_add() -> None:
    files = {
        "utils/schemas/config.py": MODEL,
        "integrations/made/__init__.py": PLUGIN,
        "integrations/made/args.py": PLUGIN_ARGS,
    }
    fields = FRAMEWORKS["axolotl"].read(Package("axolotl", files))["config"]["fields"]
    assert set(fields) == {
        "base_model", "renamed", "model_config", "inner", "inner.version", "inner.inner_version", "free", "several", "handled", "also_handled",
        "made_switch",
    }  # fmt: skip
    assert fields["made_switch"] == {"plugin": "axolotl.integrations.made"}
    assert fields["base_model"] == {}


def test_flags_of_a_parser() -> None:
    assert list(flags_of(PARSER)) == ["out", "output", "train.micro_batch"]


ASKS = """
def build(self):
    for k in list(self.fsdp_config):
        if k.startswith("fsdp_"):
            self.fsdp_config[k[5:]] = self.fsdp_config.pop(k)
    self.fsdp_config["min_num_params"] = self.fsdp_config.get("min_num_params", 0)
    self.fsdp_config["made_here"] = 1
    if "xla" in self.fsdp_config and other.get("not_this"):
        version = int(self.fsdp_config["version"])
    for word in ["limit_all_gathers", "activation_checkpointing"]:
        setattr(plugin, word, self.args.fsdp_config.get(word))
"""


def test_options_of_fsdp_are_what_transformers_looks_up() -> None:
    from tools.releases.fsdp import options

    asked = {"activation_checkpointing", "limit_all_gathers", "min_num_params", "version", "xla"}
    assert set(options(Package("transformers", {"training_args.py": ASKS}))["fsdp_config"]["fields"]) == asked | {
        f"fsdp_{name}" for name in asked
    }
    uncut = ASKS.replace('startswith("fsdp_")', "isdigit()")
    assert set(options(Package("transformers", {"training_args.py": uncut}))["fsdp_config"]["fields"]) == asked
    assert options(Package("transformers", {"models/a/modeling.py": ASKS})) == {}


def test_a_section_of_accelerate_may_set_what_is_no_flag() -> None:
    files = {
        "commands/launch.py": PARSER,
        "utils/launch.py": 'def f(args):\n    return getattr(args, "fsdp_ignored_modules", None)\n',
    }
    fields = FRAMEWORKS["accelerate"].read(Package("accelerate", files))["launch"]["fields"]
    assert list(fields) == ["fsdp_ignored_modules", "out", "output", "train.micro_batch"]


def test_a_command_of_openrlhf_is_a_reader(tmp_path: Path) -> None:
    found = FRAMEWORKS["openrlhf"].read(Package("openrlhf", {"cli/train_sft.py": PARSER, "trainer/sft.py": PARSER}))
    assert list(found) == ["train_sft"]


COMPONENTS = """
from functools import partial
from .inside import Hidden, made

def lora(rank: int, *, alpha: float = 1) -> int: ...
def anything(source, **kwargs): ...
def _private(a): ...
qlora = partial(lora, quantize=True)
"""
INSIDE = """
class Base:
    def __init__(self, path, size=1): ...
class Hidden(Base): ...
class made(Base):
    def __init__(self, path, **kwargs): ...
"""


def test_components_give_their_parameters_where_they_take_no_others() -> None:
    files = {
        "models/__init__.py": COMPONENTS,
        "models/inside.py": INSIDE,
        "+recipes/full.py": 'cfg.lr, cfg.get("dtype")',
    }
    found = FRAMEWORKS["torchtune"].read(Package("torchtune", files))
    assert set(found["components"]["fields"]) == {
        "models.lora.rank", "models.lora.alpha", "models.qlora.rank", "models.qlora.alpha", "models.Hidden.path", "models.Hidden.size",
        "models.inside.Hidden.path", "models.inside.Hidden.size", "models.inside.Base.path", "models.inside.Base.size",
    }  # fmt: skip
    assert set(found["recipe"]["fields"]) == {"lr", "dtype"}


def test_a_command_of_litgpt_takes_what_its_function_takes() -> None:
    args = "from dataclasses import dataclass\n@dataclass\nclass TrainArgs:\n    epochs: int = 1\n"
    setup = (
        "from litgpt.args import TrainArgs\ndef setup(out_dir: str, train: TrainArgs = TrainArgs(), data=None): ...\n"
    )
    found = FRAMEWORKS["litgpt"].read(Package("litgpt", {"args.py": args, "finetune/full.py": setup}))
    assert {name: set(reader["fields"]) for name, reader in found.items()} == {
        "finetune_full": {"out_dir", "train", "train.epochs", "data"}
    }


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with two releases, a candidate, and a newest commit that no release has."""

    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    git("init", "--quiet")
    place = tmp_path / "src" / "llamafactory" / "hparams" / "all.py"
    place.parent.mkdir(parents=True)
    for text, tag in ((ARGUMENTS, "v1.0"), (ARGUMENTS.replace("own", "renewed"), "v1.1"), (ARGUMENTS, "v1.2rc1")):
        place.write_text(text, encoding="utf-8")
        git("add", ".")
        git("commit", "--quiet", "-m", tag)
        git("tag", tag)
    place.write_text(ARGUMENTS.replace("own", "ahead"), encoding="utf-8")
    git("commit", "--quiet", "-am", "newest")
    return tmp_path


def test_final_releases_are_those_with_a_tag(clone: Path) -> None:
    assert repository.tags(clone) == {"1.0": "v1.0", "1.1": "v1.1"}
    assert repository.sources(clone, "v1.0", "src/llamafactory") == {"hparams/all.py": ARGUMENTS}
    assert repository.sources(clone, "v1.0", "src/nothing") == {}


def test_every_release_of_a_clone_becomes_spans(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    target = tmp_path_factory.mktemp("keys")
    command = [
        sys.executable,
        "tools/read_keys.py",
        "llamafactory",
        "--repository",
        str(clone),
        "--head",
        "1.2.dev0",
        "--into",
        str(target),
    ]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    document = json.loads((target / "llamafactory.json").read_text(encoding="utf-8"))
    assert document["releases"] == ["1.0", "1.1", "1.2.dev0"]
    fields = document["classes"]["train"]["fields"]
    assert fields["own"] == [{"since": "1.0", "last": "1.0"}]
    assert fields["renewed"] == [{"since": "1.1", "last": "1.1"}]
    assert fields["ahead"] == [{"since": "1.2.dev0"}]


COMPOSED = {
    "trainer/config/ppo_trainer.yaml": "defaults: [{actor@rl.actor: '${engine}_actor'}, {engine: dp}, plain, _self_]\ntrainer: {nodes: 1, name: null}\n",
    "trainer/config/engine/dp.yaml": "# @package _global_\nmodel: dp\n",
    "trainer/config/plain.yaml": "reward: {path: null}\n",
    "trainer/config/actor/dp_actor.yaml": "defaults: [{../optim@optim: fsdp}, actor, _self_]\nclip: 1.0\n",
    "trainer/config/actor/actor.yaml": "_target_: a.B\nstrategy: null\n",
    "trainer/config/optim/fsdp.yaml": "lr: 1e-6\n",
    "trainer/config/optim/megatron.yaml": "min_lr: 0.0\n",
    "trainer/config/_generated_ppo_trainer.yaml": "rl: {actor: {clip: 1.0, strategy: null}}\ntrainer: {nodes: 1}\n",
    "trainer/config/_generated_ppo_other_trainer.yaml": "rl: {actor: {clip: null}}\ntrainer: {nodes: 1}\n",
}


def test_files_of_hydra_give_the_keys_that_they_compose_to() -> None:
    readers = FRAMEWORKS["verl"].read(Package("verl", COMPOSED))
    assert readers["main_ppo"]["kind"] == "struct"
    assert {"rl", "rl.actor", "rl.actor.clip", "rl.actor.strategy", "rl.actor.optim", "rl.actor.optim.lr", "engine",
            "reward.path", "trainer.nodes", "trainer.name"} <= set(readers["main_ppo"]["fields"])  # fmt: skip
    assert "rl.actor.optim.min_lr" not in readers["main_ppo"]["fields"]  # of an option that the file does not name
    assert set(readers["main_ppo_set"]["fields"]) == {"rl", "rl.actor", "trainer", "trainer.nodes"}
