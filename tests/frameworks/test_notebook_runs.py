"""Whole notebooks: one run with all its facts, launches and written files that join, a fix that changes one value."""

from __future__ import annotations

import difflib
import json

import pytest

from stablint.config.options import options
from stablint.engine.repair import repair
from stablint.report.json import document
from tests.notebooks import notebook, sources
from tests.runs import inspected, runs, world

UNSLOTH = (
    "#md Fine-tuning",
    '%%capture\n!pip install unsloth\n!pip install --no-deps "trl==0.22.2" transformers==4.56.2',
    "from unsloth import FastLanguageModel\nimport torch\nmax_seq_length = 2048  # any\nload_in_4bit = True\n"
    "model, tokenizer = FastLanguageModel.from_pretrained(\n    model_name = \"unsloth/Qwen2-7B\",\n"
    "    max_seq_length = max_seq_length,\n    load_in_4bit = load_in_4bit,\n)",
    'model = FastLanguageModel.get_peft_model(\n    model,\n    r = 16,\n    target_modules = ["q_proj", "v_proj"],\n'
    '    lora_alpha = 16,\n    use_gradient_checkpointing = "unsloth",\n)',
    "from trl import SFTConfig, SFTTrainer\ntrainer = SFTTrainer(\n    model = model,\n    tokenizer = tokenizer,\n"
    "    args = SFTConfig(\n        per_device_train_batch_size = 2,\n        learning_rate = 2e-4,\n        fp16 = True,\n"
    '        optim = "adamw_8bit",\n    ),\n)',
    "trainer_stats = trainer.train()",
    "if False:\n    model, tokenizer = FastLanguageModel.from_pretrained(\"lora_model\", load_in_4bit = False)",
)  # fmt: skip


def test_an_unsloth_notebook_is_one_run_with_all_its_facts(tmp_path):
    found = world(tmp_path, {"tune.ipynb": notebook(*UNSLOTH)})
    facts = {
        "model.name_or_path": "unsloth/Qwen2-7B", "model.max_seq_length": 2048, "quantization.load_in_4bit": True, "lora.r": 16,
        "lora.target_modules": ["q_proj", "v_proj"], "training.per_device_train_batch_size": 2, "training.learning_rate": 2e-4,
        "training.fp16": True, "training.optim": "adamw_8bit", "training.gradient_checkpointing": "unsloth",
        "derived.method": "qlora", "derived.objective": "sft", "derived.compute_dtype": "float16", "derived.framework": "unsloth",
        "versions.trl": "0.22.2",
    }  # fmt: skip
    assert {name: found.value(name) for name in facts} == facts
    assert found.run.dialects[0] == "notebook"


def test_what_unsloths_trainer_takes_is_no_fault(tmp_path):
    report = inspected(tmp_path, {"tune.ipynb": notebook(*UNSLOTH)}).report
    assert not [d for d in report.diagnostics if d.setting == "tokenizer"]


def test_a_finding_names_its_cell_and_the_place_in_it(tmp_path):
    report = inspected(tmp_path, {"tune.ipynb": notebook(*UNSLOTH)}, gpus=["A100-80GB"]).report
    found = next(d for d in document(report)["diagnostics"] if d["setting"] == "fp16")
    assert (found["cell"], found["location"]) == (5, {"line": 8, "column": 16})
    assert all("cell" in fact["origin"] for fact in found["facts"] if fact["origin"]["kind"] == "explicit")


@pytest.mark.parametrize("listed", [True, False])
def test_a_fix_changes_one_value_and_not_another_byte(tmp_path, listed):
    before = notebook(*UNSLOTH, listed=listed)
    path = tmp_path / "tune.ipynb"
    path.write_bytes(before.encode())
    done = repair([str(path)], options(gpus=["A100-80GB"]), unsafe=True, base=str(tmp_path))
    after = done.texts[str(path)].text
    assert not done.refused
    assert after == before.replace("fp16 = True", "bf16 = True")
    assert json.loads(after)["cells"][4]["outputs"] == json.loads(before)["cells"][4]["outputs"]
    changed = [
        line
        for line in difflib.ndiff(sources(before)[3].splitlines(), sources(after)[3].splitlines())
        if line[0] in "+-"
    ]
    assert changed == ["-         fp16 = True,", "+         bf16 = True,"]


def test_a_launch_joins_the_files_that_the_notebook_writes(tmp_path):
    text = notebook(
        '%%writefile ds.json\n{"zero_optimization": {"stage": 3}}',
        "%%writefile acc.yaml\ndistributed_type: DEEPSPEED\nnum_processes: 4\nmixed_precision: bf16\n",
        "!accelerate launch --config_file acc.yaml train.py --deepspeed ds.json --learning_rate 2e-5 --output_dir out",
    )
    (run,) = runs(tmp_path, {"tune.ipynb": text})
    assert {"accelerate.mixed_precision", "deepspeed.zero_optimization.stage", "training.learning_rate"} <= set(
        run.explicit
    )


def test_arguments_join_the_config_that_a_cell_writes(tmp_path):
    text = notebook(
        '%%bash\ncat > conf.json <<\'EOF\'\n{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": "auto"}\nEOF',
        'from transformers import TrainingArguments\nargs = TrainingArguments("out", deepspeed="conf.json", bf16=True)',
    )
    found = [run for run in runs(tmp_path, {"tune.ipynb": text}) if "training.bf16" in run.explicit]
    assert found


@pytest.mark.parametrize(
    "text",
    [
        notebook("import pandas as pd\npd.read_csv('x')", "!pip install pandas"),
        notebook("#md learning_rate, per_device_train_batch_size"),
        notebook("print(1)", "%%writefile app.yaml\nname: x\nimage: y"),
    ],
)
def test_other_notebooks_are_no_training_configuration(tmp_path, text):
    found = inspected(tmp_path, {"x.ipynb": text})
    assert not found.runs
    assert [status.status for status in found.report.files] == ["skipped"]


def test_a_cell_of_plain_shell_is_read_as_such(tmp_path):
    text = notebook(
        "# 24 GiB\nCUDA_VISIBLE_DEVICES=0 \\\ntorchrun train.py \\\n    --learning_rate 1e-4 --bf16 True --output_dir out"
    )
    (run,) = runs(tmp_path, {"x.ipynb": text})
    assert run.explicit["training.learning_rate"].value == 1e-4
