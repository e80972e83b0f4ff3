"""What is not followed in other files of a repository is a finding of the file that names too many of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stablint.cli import main
from stablint.syntax import limits
from tests.repository.test_importers import CALLS, FIRST, MODULE, PINS
from tests.runs import inspected

OWN = "model_name: Qwen/Qwen2-7B\nbatch_size: 4\nlr: 1.0e-5\nnum_epochs: 3\ngradient_accumulation_steps: 2\nmax_seq_length: 2048\n"
TRAINS = (
    "from transformers import Trainer, TrainingArguments\n{}args = TrainingArguments('out', learning_rate=1e-5)\n"
    "Trainer(model=model, args=args, train_dataset=rows).train()\n"
)
STARTED = "python train.py --learning_rate 1e-5 --output_dir out --model_name_or_path Qwen/Qwen2-7B\n"


def many(part: str, count: int) -> str:
    return "".join(part.replace("{}", str(number)) for number in range(count))


def defaults(count: int) -> dict[str, str]:
    return {"train.yaml": "defaults:\n" + many("  - group{}: one\n", count) + OWN}


def table(count: int) -> dict[str, str]:
    return {"train.yaml": OWN + "more:\n" + many("  word{}: 1\n", count) + "  weight_decay: 0.1\n"}


def helpers(count: int) -> dict[str, str]:
    lines = many("from models{} import build_model as build{}\n", count)
    calls = many("model = build{}()\n", count)
    return {"train.py": TRAINS.format(lines + calls)}


def modules(count: int) -> dict[str, str]:
    program = many("from own{}.arguments import parse\n", count) + TRAINS.format("")
    return {"run.sh": STARTED, "train.py": program}


def imports(count: int) -> dict[str, str]:
    program = many("import module{}\n", count) + FIRST + CALLS
    return {"fitting.py": MODULE, "requirements.txt": PINS, "train.py": program}


def pieces(count: int) -> dict[str, str]:
    program = "import yaml\nname = input()\n" + many("c{} = yaml.safe_load(open(f'conf{}/{name}.yaml'))\n", count)
    return {
        "train.py": program + "print(c0['learning_rate'], c0['max_length'], c0['batch_size'])\n",
        "conf0/train.yaml": OWN.replace("lr:", "learning_rate:") + "max_length: 10\nlora_r: 8\n",
    }


@pytest.mark.parametrize(
    ("limit", "made", "path"),
    [
        (limits.GROUPS, defaults, "train.yaml"),
        (limits.TABLE, table, "train.yaml"),
        (limits.HELPERS, helpers, "train.py"),
        (limits.MODULES, modules, "train.py"),
        (limits.IMPORTS, imports, "train.py"),
        (limits.PIECES, pieces, "train.py"),
    ],
    ids=lambda value: value.of if isinstance(value, limits.Limit) else "",
)
@pytest.mark.parametrize("more", [True, False], ids=["more", "fewer"])
def test_what_is_not_followed_is_told(limit, made, path, more, tmp_path):
    files = made(limit.most + 10 if more else limit.most - 10)
    found = inspected(tmp_path, files).report.diagnostics
    told = [(Path(d.text.name).name, d.severity) for d in found if d.text is not None and limit.then in d.message]
    assert told == [(path, "error" if len(files) == 1 else "warning")] * more


def test_what_is_cut_of_another_file_is_no_error_of_the_one_that_was_asked_for(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in modules(limits.MODULES.most + 1).items():
        Path(name).write_text(text)
    assert main(["check", "run.sh", "--isolated", "--select", "F113,F131", "--output-format", "json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert (told["severity"], limits.MODULES.then in told["message"]) == ("warning", True)
