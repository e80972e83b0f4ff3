"""`stablint migrate`: a run written for old releases, rewritten for new ones, stays the run that it was."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from stablint.cli import main
from stablint.commands import migrate as migrating
from stablint.commands.migrate import _uneven
from stablint.config.options import options
from stablint.engine import repair as repairing
from stablint.engine.inspect import inspect
from tests.runs import inspected

NEW = ["--with", "transformers==5.23.0", "--with", "trl==1.16.0"]
OLD = ["--from", "transformers==4.44.2", "--from", "trl==0.11.4"]

YAML = """\
model_name_or_path: facebook/opt-350m
dataset_name: trl-lib/Capybara
max_seq_length: 1024   # tokens
use_peft: true
output_dir: out
evaluation_strategy: "no"
overwrite_output_dir: true
"""
PYTHON = """\
from trl import SFTConfig, SFTTrainer

args = SFTConfig(
    output_dir="out",
    max_seq_length=1024,
    evaluation_strategy="epoch",
    warmup_ratio=0.03,
)
trainer = SFTTrainer(model="facebook/opt-350m", args=args, train_dataset=rows, eval_dataset=rows, tokenizer=tok)
"""
SHELL = """\
torchrun --nproc_per_node 8 train.py \\
    --model_name_or_path facebook/opt-350m \\
    --evaluation_strategy steps \\
    --learning_rate 2e-5 \\
    --output_dir out
"""
JSON = '{"model_name_or_path": "facebook/opt-350m", "output_dir": "out", "learning_rate": 2e-5, "evaluation_strategy": "no"}\n'


def write_files(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


CASES = {
    "train.yaml": (YAML, ["max_length: 1024   # tokens\n", 'eval_strategy: "no"\n'], ["max_seq_length", "evaluation_strategy", "overwrite_output_dir"]),
    "train.py": (
        PYTHON,
        ["max_length=1024", 'eval_strategy="epoch"', "warmup_steps=0.03", "processing_class=tok", "learning_rate=5e-05,  # the default of transformers 4.44.2"],
        ["max_seq_length", "evaluation_strategy", "warmup_ratio", "tokenizer="],
    ),
    "train.sh": (SHELL, ["--eval_strategy steps"], ["evaluation_strategy"]),
    "train.json": (JSON, ['"eval_strategy": "no"'], ["evaluation_strategy"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_every_format_is_rewritten_in_place(name: str, there: Path) -> None:
    content, wanted, gone = CASES[name]
    write_files(there, {name: content})
    main(["migrate", name, *OLD, *NEW])
    after = (there / name).read_text(encoding="utf-8")
    assert [text for text in wanted if text not in after] == []
    assert [text for text in gone if text in after] == []
    main(["migrate", name, *OLD, *NEW])
    assert (there / name).read_text(encoding="utf-8") == after, "a second time changes nothing"


RECIPE = """\
model_name_or_path: gpt2
torch_dtype: bfloat16
dataset_mixer: {a/b: 1.0}
preprocessing_num_workers: 12
max_seq_length: 1024
use_peft: false
output_dir: out
"""


def test_a_recipe_with_keys_of_its_own_script_is_taken_for_one_of_trl(there: Path) -> None:
    """`check` leaves `max_seq_length` alone there, since that script may have it; who asks to migrate the file means it."""
    write_files(there, {"recipe.yaml": RECIPE})
    assert main(["check", "recipe.yaml", "--select", "V", *NEW]) == 0
    main(["migrate", "recipe.yaml", *NEW])
    after = (there / "recipe.yaml").read_text(encoding="utf-8")
    assert after == RECIPE.replace("torch_dtype", "dtype").replace("max_seq_length", "max_length")


def test_a_patch_writes_nothing(there: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(there, {"train.yaml": YAML})
    assert main(["migrate", "train.yaml", *OLD, *NEW, "--diff"]) == 1
    assert (there / "train.yaml").read_text(encoding="utf-8") == YAML
    assert "+max_length: 1024" in capsys.readouterr().out


def test_without_the_old_release_no_default_is_made_up(there: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_files(there, {"train.py": PYTHON})
    main(["migrate", "train.py", *NEW])
    assert "# the default of" not in (there / "train.py").read_text(encoding="utf-8")
    assert "--from" in capsys.readouterr().err


def test_the_old_release_may_stand_in_a_requirements_file(there: Path) -> None:
    write_files(there, {"train.py": PYTHON, "requirements.txt": "transformers==4.44.2\ntrl==0.11.4\n"})
    main(["migrate", "train.py", *NEW])
    assert "# the default of transformers 4.44.2" in (there / "train.py").read_text(encoding="utf-8")


def test_it_must_be_said_to_which_releases(there: Path) -> None:
    write_files(there, {"train.py": PYTHON})
    with pytest.raises(SystemExit) as end:
        main(["migrate", "train.py"])
    assert end.value.code == 2


def test_the_real_class_takes_what_comes_out(there: Path) -> None:
    """Of the releases that are installed here."""
    trl, transformers = pytest.importorskip("trl"), pytest.importorskip("transformers")
    write_files(there, {"train.py": PYTHON})
    main(
        [
            "migrate",
            "train.py",
            *OLD,
            "--with",
            f"transformers=={transformers.__version__}",
            "--with",
            f"trl=={trl.__version__}",
        ]
    )
    module = ast.parse((there / "train.py").read_text(encoding="utf-8"))
    call = next(
        node for node in ast.walk(module) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "SFTConfig"
    )
    made = trl.SFTConfig(**{word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg})
    assert (made.max_length, made.learning_rate) == (1024, 5e-5)


BEFORE_SFT_CONFIG = """\
from transformers import TrainingArguments
from trl import SFTTrainer

args = TrainingArguments(output_dir="o", learning_rate=1e-5, evaluation_strategy="no", overwrite_output_dir=True, logging_dir="logs")
SFTTrainer("facebook/opt-350m", args=args, train_dataset=rows, max_seq_length=2048).train()
"""


@pytest.mark.parametrize(
    ("releases", "gone", "left"),
    [
        # TRL 1.16 takes no transformers that has the old name; one that has the two others it does take
        (["trl==1.16.0"], ["evaluation_strategy", "max_seq_length"], ["overwrite_output_dir", "logging_dir"]),
        (["trl==1.16.0", "transformers==5.10.4"], ["evaluation_strategy", "max_seq_length", "overwrite_output_dir"], ["logging_dir"]),
        (["trl==1.16.0", "transformers==5.23.0"], ["evaluation_strategy", "max_seq_length", "overwrite_output_dir", "logging_dir"], []),
    ],
)  # fmt: skip
def test_whatever_the_named_releases_have_given_up_goes(
    there: Path, releases: list[str], gone: list[str], left: list[str]
) -> None:
    (there / "train.py").write_text(BEFORE_SFT_CONFIG)
    words = [word for release in releases for word in ("--with", release)]
    main(["migrate", *words, "train.py"])
    text = (there / "train.py").read_text()
    assert "SFTConfig(" in text and "max_length=2048" in text
    assert not [name for name in gone if name in text]
    assert [name for name in left if name in text] == left


def test_many_files_cost_no_more_checks_than_one(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each check is one of all files: as many checks as there are defaults would be their number twice over."""
    calls: list[int] = []

    def counted(*arguments: object, **named: object) -> object:
        calls.append(1)
        return inspect(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(migrating, "inspect", counted)
    monkeypatch.setattr(repairing, "inspect", counted)
    seen = []
    for number in range(6):
        write_files(there, {f"train{number}.py": PYTHON, f"train{number}.yaml": YAML})
        calls.clear()
        made = migrating.migrate(
            ["."],
            options(releases=[w for w in NEW if w != "--with"]),
            options(releases=[w for w in OLD if w != "--from"]),
        )
        assert len(made.pinned) >= number + 1
        seen.append(len(calls))
    assert seen[-1] == seen[0] < 8


def test_every_trainer_of_a_program_keeps_its_defaults(there: Path) -> None:
    write_files(
        there, {"train.py": PYTHON + PYTHON.partition("\n")[2].replace("args", "more").replace("trainer", "other")}
    )
    main(["migrate", "train.py", *OLD, *NEW])
    after = (there / "train.py").read_text(encoding="utf-8")
    assert after.count("learning_rate=5e-05,  # the default of transformers 4.44.2") == 2
    main(["migrate", "train.py", *OLD, *NEW])
    assert (there / "train.py").read_text(encoding="utf-8") == after


def test_a_default_that_does_not_hold_is_told_and_spoils_no_other(
    there: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(there, {"train.py": PYTHON})
    holds = migrating._holds
    monkeypatch.setattr(
        migrating, "_holds", lambda one, after: one.one.default.fact != "training.learning_rate" and holds(one, after)
    )
    main(["migrate", "train.py", *OLD, *NEW])
    after = (there / "train.py").read_text(encoding="utf-8")
    assert "learning_rate" not in after and "# the default of" in after
    told = capsys.readouterr().err
    assert "learning_rate: 5e-05 was the default of" in told and "add it by hand" in told


def test_a_file_of_other_runs_than_before_is_told(tmp_path: Path) -> None:
    """Which run has become which is not known then, so none of its defaults is written down."""
    first = "output_dir: out\nlearning_rate: 1.0e-5\nmodel_name_or_path: m/m\n"
    before = inspected(tmp_path, {"train.yaml": first, "other.yaml": first})
    after = inspected(tmp_path, {"train.yaml": f"{first}---\n{first}", "other.yaml": first})
    assert list(_uneven(before, after)) == [
        "train.yaml: 2 runs where there were 1; defaults that changed are not written down"
    ]
