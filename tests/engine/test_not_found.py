"""A configuration that a run names and that is not there was not checked: the report for people says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.report.full import summary
from tests.runs import inspected

HERE = "output_dir: out\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 2\n"
FACTORY = (
    HERE + "model_name_or_path: org/model\nstage: sft\nfinetuning_type: lora\ntemplate: default\ncutoff_len: 2048\n"
)

# What the files say, what of it nobody could read.
NAMED = [
    ({"train.yaml": HERE + "deepspeed: conf/ds.json\n"}, ("`conf/ds.json` (train.yaml:4)",)),
    ({"run.sh": "accelerate launch --config_file acc.yaml train.py --output_dir o\n"}, ("`acc.yaml` (run.sh:1)",)),
    ({"train.yaml": HERE + "deepspeed: ds.json\n", "ds.json": '{"train_batch_size": "auto"}'}, ()),  # it is there
    (
        {"run.sh": "torchrun train.py --output_dir o --learning_rate 1e-5 --deepspeed ds_$STAGE.json\n"},
        (),
    ),  # which one?
    ({"train.yaml": FACTORY + "deepspeed: examples/deepspeed/ds_z3_config.json\n"}, ()),  # LLaMA-Factory ships it
]


@pytest.mark.parametrize(("files", "expected"), NAMED, ids=["yaml", "shell", "there", "variable", "shipped"])
def test_what_is_not_there_is_named_with_the_line_that_names_it(
    files: dict[str, str], expected: tuple[str, ...], tmp_path: Path
) -> None:
    report = inspected(tmp_path, files).report
    assert report.not_found == expected
    assert ("Not found, so not checked" in "\n".join(summary(report))) is bool(expected)
