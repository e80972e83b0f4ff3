"""Text that no training reads is no broken configuration: other languages in cells and here-documents, parts of files, prose, notebooks as
source. What a training does read is told as before.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stablint.cli import main
from stablint.syntax.notebook import large as notebook_large
from tests.notebooks import notebook
from tests.runs import inspected, rules, runs, written

RUN = "torchrun train.py --output_dir o --learning_rate 1e-5 --per_device_train_batch_size 2\n"
BROKEN = '{"zero_optimization": {"stage": 2}, "bf16": {'
TEXTS = {
    "a script for a browser": {"a.ipynb": notebook("%%writefile page.js\nconst m = load(id, {\n  dtype: { lora_r: 'q4', },\n});")},
    "a table of settings in TOML": {"a.ipynb": notebook("%%writefile train.toml\n[run]\nlearning_rate = 1e-5\n")},
    "a page of words": {"a.ipynb": notebook("%%writefile README.md\n# Runs\n- learning_rate: 1e-5   bf16: yes\n")},
    "a settings file of an editor": {"a.ipynb": notebook('%%writefile settings.json\n{"editor": 1 // no\n}')},
    "a status that a watch prints": {"run.sh": RUN + 'cat > "$STATUS" <<EOF\n# Run\n- step: 3   loss: 0.5\n- learning_rate: 1   bf16: yes\nEOF\n'},
    "a file that is put together": {"run.sh": RUN + "echo '{' > ds.json\necho '\"bf16\": {\"enabled\": true}' >> ds.json\necho '}' >> ds.json\n"},
    "a part that tee appends": {"run.sh": RUN + "tee -a ds.json <<EOF\n\"zero_optimization\": {\nEOF\n"},
    "words named as a configuration": {"notes.yaml": "# Machine\n\nlearning_rate: see below\n```yaml\nbf16: true\n```\n"},
    "a template": {"values.yaml": "learning_rate: {{ .Values.rate }}\nbf16: {% if new %}true{% endif %}\n"},
    "no setting in it": {"web.yaml": "name: a: b\n"},
}  # fmt: skip


@pytest.mark.parametrize("files", TEXTS.values(), ids=TEXTS)
def test_what_no_training_reads_is_no_broken_configuration(files: dict[str, str], tmp_path: Path) -> None:
    assert not {"syntax-error", "json-comment", "json-trailing-comma"} & rules(inspected(tmp_path, files))


READ = {
    "a file": {"ds.json": BROKEN},
    "a here-document": {"run.sh": RUN + f"cat > ds.json <<EOF\n{BROKEN}\nEOF\n"},
    "a cell that writes": {"a.ipynb": notebook(f"%%writefile ds.json\n{BROKEN}")},
    "a DeepSpeed file of another name": {"a.ipynb": notebook(f"%%writefile ds.conf\n{BROKEN}")},
}


@pytest.mark.parametrize("files", READ.values(), ids=READ)
def test_a_broken_configuration_is_told(files: dict[str, str], tmp_path: Path) -> None:
    assert "syntax-error" in rules(inspected(tmp_path, files), "error")


def test_files_of_other_kinds_that_a_glob_names_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(
        tmp_path,
        {
            "LICENSE": "Terms: as is: always\n\ttab",
            "notes.txt": "run:\n\tpython a.py\n",
            "README.md": "# x\n- a: b: c\n",
        },
    )
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    written(tmp_path, {"train.yaml": "output_dir: o\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 2\n"})
    monkeypatch.chdir(tmp_path)
    assert main(["check", "LICENSE", "notes.txt", "README.md", "logo.png", "train.yaml", "--isolated"]) == 0
    assert capsys.readouterr().err.count("no training configuration, skipped") == 4


BRACES = [
    "{min(2, n)}",
    "{pick.a_name()}",
    '{names["small"]}',
    "{n * 2}",
    "{rate:.5f}",
    "{n}",
]


@pytest.mark.parametrize("word", BRACES)
def test_what_ipython_puts_into_a_command_is_one_unknown_word(word: str, tmp_path: Path) -> None:
    command = f"!python train.py --output_dir o \\\n  --num_train_epochs {word} \\\n  --learning_rate 2e-5 \\\n"
    found = inspected(tmp_path, {"a.ipynb": notebook("n = f()\nrate = f()\nnames = f()\n" + command)})
    assert "shell-broken-continuation" not in rules(found)
    (run,) = found.runs
    assert run.explicit["training.learning_rate"].value == 2e-5
    assert not isinstance(run.explicit["training.num_train_epochs"].value, (str, int, float))


BRICKS = """# Databricks notebook source
# MAGIC %md
# MAGIC # Tune it: a title

# COMMAND ----------

%pip install -U trl

# COMMAND ----------

# MAGIC %pip install accelerate
# MAGIC !nvidia-smi

# COMMAND ----------

# DBTITLE 1,Train
from transformers import TrainingArguments
args = TrainingArguments("o", learning_rate=3e-5, bf16=True, fp16=True)

# COMMAND ----------

# MAGIC %sql
# MAGIC select * from runs
"""


def test_a_databricks_notebook_is_read_at_its_own_lines(tmp_path: Path) -> None:
    found = inspected(tmp_path, {"tune.py": BRICKS})
    assert "unparsed-python" not in rules(found)
    (both,) = [d for d in found.report.diagnostics if d.rule == "fp16-and-bf16"]
    assert both.seen is None and both.text is not None
    assert both.text.text[both.start : both.end] == "True"
    assert both.text.text.count("\n", 0, both.start) == BRICKS.count("\n", 0, BRICKS.index("args ="))


def test_a_shell_cell_of_a_databricks_notebook_is_a_script(tmp_path: Path) -> None:
    cell = "# MAGIC %sh\n# MAGIC torchrun train.py --output_dir o \\\n# MAGIC   --learning_rate 2e-5\n"
    text = "# Databricks notebook source\nx = 1\n\n# COMMAND ----------\n\n" + cell
    (run,) = runs(tmp_path, {"tune.py": text})
    assert run.explicit["training.learning_rate"].value == 2e-5


def test_a_repair_of_a_databricks_notebook_keeps_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = BRICKS.replace("bf16=True, fp16=True", 'evaluation_strategy="epoch"')
    written(tmp_path, {"tune.py": text})
    monkeypatch.chdir(tmp_path)
    main(["check", "tune.py", "--isolated", "--fix", "--with", "transformers==5.0.0"])
    assert (tmp_path / "tune.py").read_text(encoding="utf-8") == text.replace("evaluation_strategy", "eval_strategy")


ARGUMENTS = "from transformers import TrainingArguments\nargs = TrainingArguments('o', learning_rate=3e-5)\n"


def test_a_notebook_of_large_outputs_is_read_and_not_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = json.loads(notebook("#md words", ARGUMENTS.replace(")", ", evaluation_strategy='epoch')")))
    cells["cells"][1]["outputs"][0]["text"] = ["x" * 6_000_000]
    text = json.dumps(cells)
    found = inspected(tmp_path, {"a.ipynb": text})
    assert rules(found, "info") >= {"read-in-part"} and not rules(found, "error")
    assert found.runs[0].explicit["training.learning_rate"].value == 3e-5
    assert found.report.runs[0].cell == 2
    monkeypatch.chdir(tmp_path)
    main(["check", ".", "--isolated", "--fix", "--unsafe-fixes", "--with", "transformers==5.0.0"])
    assert (tmp_path / "a.ipynb").read_text(encoding="utf-8") == text
    assert "checked in part only" in capsys.readouterr().err


def test_a_cell_of_data_is_left_out(tmp_path: Path) -> None:
    found = inspected(tmp_path, {"a.ipynb": notebook("rows = '" + "x" * 1_100_000 + "'", ARGUMENTS)})
    assert rules(found) == {"read-in-part"}
    assert found.runs[0].explicit["training.learning_rate"].value == 3e-5


def test_a_notebook_that_is_not_read_is_named_and_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.ipynb").write_bytes(b" " * (notebook_large.LARGEST + 1))
    monkeypatch.chdir(tmp_path)
    assert main(["check", ".", "--isolated"]) == 0
    assert "a.ipynb: not read: larger than" in capsys.readouterr().err
    assert main(["check", "a.ipynb", "--isolated"]) == 0
    assert "F103" in capsys.readouterr().out
