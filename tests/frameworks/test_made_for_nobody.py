"""A configuration that a program makes and hands to nobody decides nothing of its run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs import inspected

HEAD = """import torch
from accelerate import Accelerator, DeepSpeedPlugin
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM
from ours import rows

FILE = {"zero_optimization": {"stage": 2}, "optimizer": {"type": "Adam", "params": {"lr": 1e-4}}}
"""
LOOP = """
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(rows, batch_size=8))
for batch in loader:
    loss = model(**batch).loss
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
"""
MADE = "plugin = DeepSpeedPlugin(hf_ds_config=FILE)\n"

# The lines between, and what is said of the optimizer that stands in the file as well as in the program.
LINES = {
    "handed-over": (MADE + "accelerator = Accelerator(deepspeed_plugin=plugin)", {"error"}),
    "made-in-the-call": ("accelerator = Accelerator(deepspeed_plugin=DeepSpeedPlugin(hf_ds_config=FILE))", {"error"}),
    "among-several": (MADE + "accelerator = Accelerator(deepspeed_plugins={'a': plugin})", {"error"}),
    "in-a-dict": (
        "given = {'deepspeed_plugin': DeepSpeedPlugin(hf_ds_config=FILE)}\naccelerator = Accelerator(**given)",
        {"error"},
    ),
    "by-a-function": (
        "def make():\n    plugin = DeepSpeedPlugin(hf_ds_config=FILE)\n    return Accelerator(deepspeed_plugin=plugin)\n\n\naccelerator = make()",
        {"error"},
    ),
    "taken-away": (MADE + "plugin = None\naccelerator = Accelerator()", set()),
    "taken-away-and-handed-over": (MADE + "plugin = None\naccelerator = Accelerator(deepspeed_plugin=plugin)", set()),
    "another-in-its-place": (
        MADE + "plugin = DeepSpeedPlugin(zero_stage=2)\naccelerator = Accelerator(deepspeed_plugin=plugin)",
        set(),
    ),
    "never-used": (MADE + "accelerator = Accelerator()", set()),
}


@pytest.mark.parametrize("name", LINES)
def test_a_plugin_counts_where_accelerate_gets_it(name: str, tmp_path: Path) -> None:
    lines, severities = LINES[name]
    found = inspected(tmp_path, {"train.py": HEAD + lines + LOOP}).findings
    assert {one.severity for one in found if one.hazard.code == "D514"} == severities


ADAPTER = "from peft import LoraConfig, get_peft_model\n\nconfig = LoraConfig(r=0, target_modules=['q_proj'])\n"


@pytest.mark.parametrize(
    ("lines", "severities"),
    [
        ("print(config)\n", set()),
        ("print(f'made {config}')\nlogger.info('%s', config)\n", set()),
        ("config.save_pretrained('out')\n", set()),
        ("print(config)\nmodel = get_peft_model(model, config)\n", {"error"}),
        ("use(config)\n", {"error"}),
    ],
)
def test_an_adapter_s_configuration_that_is_only_shown_adapts_nothing(
    lines: str, severities: set[str], tmp_path: Path
) -> None:
    found = inspected(tmp_path, {"train.py": ADAPTER + lines, "requirements.txt": "peft==0.21.2\n"}).findings
    assert {one.severity for one in found if one.hazard.code == "A107"} == severities
