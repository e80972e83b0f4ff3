"""Nothing that a command says with `--lang zh` is an English sentence: every command, over the examples and over files that are wrong in many ways.

What is quoted (code spans, paths, options, names of rules, lines of a log, a library's own words) stays as it is.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from stablint import cli
from stablint.base import language

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "broken.yaml": "a: [1\nlearning_rate: 1\n  x: : :\n",
    "colon.yaml": "learning_rate: 1: 2\n",
    "broken.json": '{"a": 1,,}',
    "quotes.json": "{'zero_optimization': {'stage': 2}}",
    "broken.py": "from transformers import TrainingArguments\nTrainingArguments(\n",
    "dup.yaml": "output_dir: out\nlearning_rate: 1.0e-5\nlearning_rate: 2\ndeepspeed: ds_zer.json\n",
    "often.yaml": "output_dir: out\nlearning_rate: 1.0e-5\n" + "seed: 1\n" * 60,
    "runs.yaml": "---\noutput_dir: out\nlearning_rate: 1.0e-5\nfp16: true\nbf16: true\n" * 102,
    "ignored.yaml": "output_dir: out\nlearning_rate: 1.0e-5\nfp16: true # stablint: ignore[P999]\nbf16: true # stablint: ignore[P143]\n"
    "adam_beta1: 0.9 # stablint: ignore\n",
    "open.sh": "llamafactory-cli train --stage sft --learning_rate $LR --output_dir 'out\n",
    "unknown.py": "import os\nfrom transformers import TrainingArguments\n\n\ndef main(rate):\n    for size in (1, 2):\n        batch = size\n"
    "    TrainingArguments(output_dir=os.environ['OUT'], learning_rate=rate, per_device_train_batch_size=batch, fp16=bool(rate > 1))\n",
    "log.txt": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n{'loss': 0.0, 'grad_norm': nan, 'epoch': 0.1}\n",
    "README.md": "# words\n",
    "wrong/stablint.toml": 'select = ["P"]\nfail_on = "x"\n',
    "wrong/train.yaml": "output_dir: out\nlearning_rate: 1.0e-5\n",
}
COMMANDS = """\
check examples --verbose --show-facts
check examples --statistics
check examples --output-format markdown
check examples --output-format github
check examples --diff --unsafe-fixes
check examples --with transformer==5
check examples --with transformers
check examples --set training.learning_rat=1
check examples --gpu A10O
check examples --model nope/nope
check examples --gpu T4 --model Qwen/Qwen2-7B
check nothing-here
check broken.yaml colon.yaml broken.json quotes.json broken.py open.sh unknown.py
check dup.yaml ignored.yaml
check often.yaml runs.yaml
check README.md
check examples --selct P
check examples --baseline broken.json
check examples --config nope.toml
check examples --jobs x
check wrong/train.yaml
chekc
show examples/healthy-lora/train.yaml
show examples/qwen-deepspeed/run.sh
show unknown.py
show open.sh
fit examples/healthy-lora/train.yaml --gpu A100-80GB
fit examples/qlora-70b-3090
fit examples/qwen2-sft-fp16/train.yaml --gpu T4
advise examples/healthy-lora/train.yaml --gpu A100-80GB
advise examples/qwen-deepspeed
diff examples/healthy-lora/train.yaml examples/qwen2-sft-fp16/train.yaml
migrate examples/gemma-trainer/train.py --to transformers==5.23.0
new --model Qwen/Qwen2-7B --gpu A100-80GB --framework trl
new --model Qwen/Qwen2-7B --gpu RTX-3090 --framework axolotl
rules --select P1
explain P102
config
config examples/healthy-lora/train.yaml
doctor
schema nope
completion tcsh
diagnose log.txt
diagnose log.txt examples/qwen2-sft-fp16/train.yaml
test-hazards nothing""".splitlines()

_QUOTED = re.compile(
    r"`[^`]*`|\"[^\"\n]*\"|“[^”]*”|'[^'\n]*'|https?://\S+|\S+\.(?:py|yaml|yml|json|md|toml|sh|txt)\S*|--?[\w-]+(?:[ =][A-Z_]{2,}\S*)?|\{[^}\n]*\}"
)
_ENGLISH = re.compile(r"\b[A-Za-z][a-z]+(?:[ ,;:]+(?:[A-Za-z][a-z']*|\d+)){3,}")
_EXCERPT = re.compile(r"\s*(?:\d+ )?\|")
# A library's own words, names in a row, and what the system says.
_OTHERS = (
    "torch.OutOfMemoryError", "gradient accumulation steps", "folklore, reported", "full, concise", "training-arguments", "No such file or directory",
    "llamafactory, axolotl",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("chinese")
    shutil.copytree(ROOT / "examples", made / "examples")
    for name, text in FILES.items():
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_text(text, encoding="utf-8")
    return made


@pytest.fixture(autouse=True)
def english_again():
    yield
    language.speak(language.ENGLISH)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_sentence_is_english(folder, monkeypatch, capfd, command) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("NO_COLOR", "1")
    try:
        cli.main(["--lang", "zh", *command.split()])
    except SystemExit as end:
        assert end.code == 2, "a refusal"
    out, told = capfd.readouterr()
    if "--diff" in command or command.startswith("migrate"):
        out = ""  # a patch is the file's own text
    if command.startswith("explain"):
        out = out.partition("\n证据")[0]  # what a source says is told in its language
    lines = [
        line
        for line in f"{out}\n{told}".splitlines()
        if not _EXCERPT.match(line) and not line.lstrip().startswith(("usage", "用法"))
    ]
    silent = "--diff" in command and not any(line.strip() for line in lines)  # a patch needs no word beside it
    assert silent or any(re.search(r"[\u4e00-\u9fff]", line) for line in lines), lines
    english = [
        line for line in lines if _ENGLISH.search(_QUOTED.sub(" @ ", line)) and not any(one in line for one in _OTHERS)
    ]
    assert not english


def test_a_reason_is_known_by_its_form() -> None:
    language.speak("zh")
    assert language.told("the GPU is not named") == "没有指明 GPU"
    assert language.told("it depends on `training.stage`") == "取决于 `training.stage`"
    assert language.told("`size` is assigned 3 times") == "`size` 被赋值 3 次"
    assert language.told("nobody has ever said this") == "nobody has ever said this"
    assert language.told("x" * 2_000) == "x" * 2_000
    language.speak(language.ENGLISH)
    assert language.told("the GPU is not named") == "the GPU is not named"


SICK = "output_dir: out\nlearning_rate: 1.0e-5\nfp16: true\nbf16: true\n"


@pytest.mark.parametrize(
    ("words", "said", "english"),
    [
        (["check", "t.yaml"], ["错误 P143", "源代码已证实"], ["error P143", "proven-in-source"]),
        (["check", "t.yaml", "--output-format", "concise"], ["错误[P143]"], ["error[P143]"]),
        (["check", "t.yaml", "--output-format", "markdown"], ["**错误** P143"], ["**error**"]),
        (["explain", "P143"], ["错误 P143"], ["error P143"]),
        # Programs read the words themselves, in whatever language the sentences are.
        (
            ["check", "t.yaml", "--output-format", "json"],
            ['"severity": "error"', '"grade": "proven-in-source"'],
            ["错误 P143"],
        ),
        (["check", "t.yaml", "--output-format", "sarif"], ['"level": "error"'], ["错误 P143"]),
        (["check", "t.yaml", "--output-format", "github"], ["::error "], ["错误 P143"]),
    ],
    ids=lambda value: " ".join(value) if value and value[0] in ("check", "explain") else "",
)
def test_how_bad_and_how_sure_is_told_to_people_in_their_language(
    tmp_path: Path, monkeypatch, capsys, words: list[str], said: list[str], english: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.yaml").write_text(SICK, encoding="utf-8")
    cli.main([*words, "--lang", "zh"])
    out = capsys.readouterr().out
    assert all(word in out for word in said) and not any(word in out for word in english)
