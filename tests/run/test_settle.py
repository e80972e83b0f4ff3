"""Who wins where several texts of one run state the same fact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablint.run.fact import Explicit, Statement, Supplied, is_unknown, settle
from tests.runs import Files, runs, world

RECIPE = (
    "model_name_or_path: facebook/opt-350m\ndataset_name: trl-lib/Capybara\nlearning_rate: 1.0e-5\nuse_peft: false\n"
)
ACCELERATE = (
    "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmixed_precision: fp16\nnum_processes: 4\n"
)
# Name of the case → files, fact, value of the winner, layer of the winner.
WINNERS: dict[str, tuple[Files, str, object, str]] = {
    "flags over the file that they name": (
        {"run.sh": "trl sft --config train.yaml --learning_rate 3e-5\n", "train.yaml": RECIPE},
        "training.learning_rate", 3e-5, "flags",
    ),
    "flags of accelerate launch over its file": (
        {"run.sh": "accelerate launch --config_file acc.yaml --num_processes 2 train.py --output_dir o --learning_rate 1e-5 --bf16\n", "acc.yaml": ACCELERATE},
        "launch.processes", 2, "accelerate-flags",
    ),
    "the script's own call over the flags": (
        {"run.sh": "python train.py --learning_rate 3e-5 --output_dir o --bf16\n",
         "train.py": "from transformers import TrainingArguments\nargs = TrainingArguments('o', learning_rate=1e-6)\n"},
        "training.learning_rate", 1e-6, "call",
    ),
    "of duplicate keys the last": ({"train.yaml": RECIPE + "learning_rate: 7.0e-5\n"}, "training.learning_rate", 7e-5, "file"),
}  # fmt: skip


@pytest.mark.parametrize(("files", "fact", "value", "layer"), WINNERS.values(), ids=WINNERS)
def test_the_winner_and_what_it_overrules(files: Files, fact: str, value: object, layer: str, tmp_path: Path) -> None:
    found = world(tmp_path, files).fact(fact)
    assert found.value == value
    assert isinstance(found.origin, Explicit)
    assert found.origin.layer == layer
    assert len(found.sources) == 2 and found.sources[0].origin == found.origin


def test_an_option_overrules_every_file(tmp_path: Path) -> None:
    fact = world(tmp_path, {"train.yaml": RECIPE}, sets=["training.learning_rate=2e-6"]).fact("training.learning_rate")
    assert fact.value == 2e-6
    assert fact.origin == Supplied("--set training.learning_rate")


def test_flags_after_the_dashes_come_before_the_file_and_after_set(tmp_path: Path) -> None:
    files = {"train.yaml": RECIPE}
    assert world(tmp_path, files, extra_flags=["--learning_rate", "3e-4"]).value("training.learning_rate") == 3e-4
    both = world(tmp_path, files, extra_flags=["--learning_rate", "3e-4"], sets=["training.learning_rate=1e-6"])
    assert both.value("training.learning_rate") == 1e-6


def test_two_calls_that_disagree_leave_the_value_open(tmp_path: Path) -> None:
    script = (
        "from peft import LoraConfig\nfrom trl import SFTConfig, SFTTrainer\nargs = SFTConfig('o')\n"
        "a = LoraConfig(r=8)\nb = LoraConfig(r=64)\ntrainer = SFTTrainer(model, args=args)\n"
    )
    assert is_unknown(world(tmp_path, {"train.py": script}).value("lora.r"))
    assert world(tmp_path / "same", {"train.py": script.replace("64", "8")}).value("lora.r") == 8


def test_every_statement_is_kept_with_its_place(tmp_path: Path) -> None:
    (run,) = runs(tmp_path, {"train.yaml": RECIPE + "learning_rate: 7.0e-5\n"})
    places = [s.origin.place for s in run.explicit["training.learning_rate"].sources if isinstance(s.origin, Explicit)]
    assert [place.document.text.text[place.start : place.end] for place in places] == ["7.0e-5", "1.0e-5"]


def test_what_an_option_says_comes_before_all_that_is_written() -> None:
    place: Any = None
    written = Statement("training.seed", 1, 1, Explicit(place, "extra-flags", 0))
    said = Statement("training.seed", 2, 2, Supplied("--set"))
    for order in ([written, said], [said, written]):
        fact = settle([(order, False)])["training.seed"]
        assert (fact.value, fact.sources) == (2, (said, written))


def test_the_winner_says_whether_the_fact_is_presumed() -> None:
    place: Any = None
    low = Statement("training.seed", 1, 1, Explicit(place, "file", 0))
    high = Statement("training.seed", 2, 2, Explicit(place, "flags", 0))
    assert settle([([low], True), ([high], False)])["training.seed"].presumed is False
    assert settle([([low], False), ([high], True)])["training.seed"].presumed is True
