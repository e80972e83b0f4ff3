"""What releases older than all that are read may have had: with a range that admits them, an argument is no certain error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import inspected

ACCELERATOR = "from accelerate import Accelerator\n\naccelerator = Accelerator(fp16=True)\n"
ADAPTER = "from peft import LoraConfig, get_peft_model\n\nmodel = get_peft_model(model, LoraConfig(r=8, enable_lora=[True, False, True]))\n"
ARGUMENTS = "from transformers import TrainingArguments\n\nargs = TrainingArguments(output_dir='out', max_length=512)\n"

CODES = ("V605", "V106", "A128")

# The program, requirements.txt, and what is said at most.
STATED = {
    "from-a-release-that-had-it": (ACCELERATOR, "accelerate>=0.13.2", "warning"),
    "from-one-that-is-read": (ACCELERATOR, "accelerate>=0.21", "error"),
    "one-release": (ACCELERATOR, "accelerate==1.0.0", "error"),
    "two-bounds": (ACCELERATOR, "accelerate>=0.12,<2", "warning"),
    "an-adapter-of-long-ago": (ADAPTER, "peft>=0.2.0", "warning"),
    "an-adapter-of-now": (ADAPTER, "peft>=0.10.0", "error"),
    "no-release-of-transformers-4-lost-one": (ARGUMENTS, "transformers>=4.20", "error"),
}


@pytest.mark.parametrize("name", STATED)
def test_a_range_that_begins_below_all_that_is_read_proves_nothing_of_a_name(name: str, tmp_path: Path) -> None:
    program, requirement, severity = STATED[name]
    found = inspected(tmp_path, {"train.py": program, "requirements.txt": requirement + "\n"}).findings
    assert {one.severity for one in found if one.hazard.code in CODES} == {severity}
