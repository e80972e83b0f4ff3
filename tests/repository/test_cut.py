"""What is not followed in other files of a repository is a finding of the file that names too many of them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from stablint.cli import main
from stablint.files.discover import is_configuration
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


OWN_ARGUMENTS = OWN.replace("lr:", "learning_rate:") + "max_length: 10\nlora_r: 8\n"
BAD = (
    "model_name_or_path: Qwen/Qwen2-7B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: qwen\noutput_dir: out\ndataset: a\n"
    "bf16: true\nfp16: true\n"
)


def readers(count: int) -> dict[str, str]:
    program = "import yaml\nsettings = yaml.safe_load(open('other.yaml'))\nprint(settings['learning_rate'], settings['lora_r'])\n"
    return {"train.yaml": OWN_ARGUMENTS, **{f"own/part{number}.py": program for number in range(count)}}


def named(count: int) -> dict[str, str]:
    return {
        "train.yaml": OWN_ARGUMENTS,
        **{f"own/names{number}.py": "FILE = 'train.yaml'\n" for number in range(count)},
    }


def places(count: int) -> dict[str, str]:
    return {"train.yaml": BAD, "README.md": "    cat train.yaml\n" * count}


def guides(count: int) -> dict[str, str]:
    return {"train.yaml": BAD, **{f"guide{number}.md": "Nothing.\n" for number in range(count)}}


def lists(count: int) -> dict[str, str]:
    files = {f"r{number}.txt": f"-r r{number + 1}.txt\n" for number in range(count)}
    return {"train.yaml": BAD, "requirements.txt": "-r r0.txt\n", **files, f"r{count}.txt": "trl==0.9.6\n"}


def longest(count: int) -> dict[str, str]:
    return {"run.sh": f"bash -c 'echo {'a' * count}'\n{STARTED}", "train.py": TRAINS.format("")}


def nested(count: int) -> dict[str, str]:
    command = STARTED.strip()
    for _ in range(count):
        command = "bash -c " + shlex.quote(command)
    return {"run.sh": command + "\n", "train.py": TRAINS.format("")}


def sourced(count: int) -> dict[str, str]:
    files = {f"s{number}.sh": f"source s{number + 1}.sh\n" for number in range(1, count)}
    return {"run.sh": f"source s1.sh\n{STARTED}", **files, f"s{count}.sh": "A=1\n", "train.py": TRAINS.format("")}


def called(count: int) -> dict[str, str]:
    functions = "".join(f"f{number}() {{ f{number + 1}; }}\n" for number in range(1, count))
    return {"run.sh": f"{functions}f{count}() {{ {STARTED.strip()}; }}\nf1\n", "train.py": TRAINS.format("")}


def exports(count: int) -> dict[str, str]:
    return {"run.sh": many("export NAME{}=1\n", count) + STARTED, "train.py": TRAINS.format("")}


NEAR = 10


@pytest.mark.parametrize(
    ("limit", "made", "path"),
    [
        (limits.READERS, readers, "train.yaml"),
        (limits.NAMED, named, "train.yaml"),
        (limits.PLACES, places, "train.yaml"),
        (limits.GUIDES, guides, "train.yaml"),
        (limits.LISTS, lists, "train.yaml"),
        (limits.INNER_LONG, longest, "run.sh"),
        (limits.NESTED, nested, "run.sh"),
        (limits.SOURCED_DEEP, sourced, "run.sh"),
        (limits.CALLED_DEEP, called, "run.sh"),
        (limits.EXPORTS, exports, "run.sh"),
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
    step = min(NEAR, max(1, limit.most // 2))
    files = made(limit.most + step if more else limit.most - step)
    found = inspected(tmp_path, files).report.diagnostics
    told = [(Path(d.text.name).name, d.severity) for d in found if d.text is not None and limit.of in d.message]
    severity = "error" if sum(map(is_configuration, files)) == 1 else "warning"
    assert told == [(path, "info" if limit.kind == limits.AROUND else severity)] * more


def test_patterns_of_git_that_do_not_count_are_told(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".git").mkdir()
    Path("train.yaml").write_text(OWN)
    for patterns, told in (("x\n" * 1_000 + "# y\n", False), ("x\n" * 1_000 + "y\n", True), ("a/" * 50 + "b\n", True)):
        Path(".gitignore").write_text(patterns)
        main(["check", ".", "--isolated"])
        assert (".gitignore: too many patterns, or too long ones" in capsys.readouterr().err) is told


def test_what_is_cut_of_another_file_is_no_error_of_the_one_that_was_asked_for(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in modules(limits.MODULES.most + 1).items():
        Path(name).write_text(text)
    assert main(["check", "run.sh", "--isolated", "--select", "F113,F131", "--output-format", "json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert (told["severity"], limits.MODULES.then in told["message"]) == ("warning", True)
