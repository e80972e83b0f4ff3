"""Files that want to be more than read: nothing of them is executed, followed out of the tree, or able to stop the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stablint.cli import main
from tests.runs import inspected, rules, written

RECIPE = "model_name_or_path: Qwen/Qwen2-7B-Instruct\ndataset_name: trl-lib/Capybara\nlearning_rate: 1.0e-5\noutput_dir: out\n"
DEEPSPEED = '{"zero_optimization": {"stage": 2}, "fp16": {"enabled": true}}'
# Each would leave a file called `touched` behind, were any of it run.
ATTACKS = {
    "a YAML tag": ("train.yaml", RECIPE + "run_name: !!python/object/apply:os.system ['touch touched']\n"),
    "a YAML module": ("train.yaml", RECIPE + "run_name: !!python/module:touched\n"),
    "a command in a value": ("run.sh", 'torchrun train.py --fp16 --output_dir "$(touch touched)" --learning_rate `touch touched`\n'),
    "a command on its way": ("run.sh", "touch touched; torchrun train.py --fp16 --output_dir out --learning_rate 1e-5 && touch touched\n"),
    "a process substitution": ("run.sh", "torchrun train.py --fp16 --output_dir out --deepspeed <(touch touched) --learning_rate 1e-5\n"),
    "a module that acts when it is imported": (
        "train.py",
        "import pathlib\npathlib.Path('touched').touch()\nfrom transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True)\n",
    ),
    "an argument that acts": ("train.py", "from transformers import TrainingArguments\nargs = TrainingArguments('out', seed=__import__('os').system('touch touched'))\n"),  # noqa: E501
    "a comprehension": ("train.py", "from transformers import TrainingArguments\nargs = TrainingArguments('out', seed=[open('touched', 'w') for _ in 'a'][0])\n"),  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize(("name", "content"), ATTACKS.values(), ids=ATTACKS)
@pytest.mark.parametrize(
    "command", [["check", "."], ["check", ".", "--diff", "--unsafe-fixes"], ["show"]], ids=" ".join
)
def test_nothing_is_executed(
    name: str, content: str, command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, {name: content})
    monkeypatch.chdir(tmp_path)
    main([*command, name] if command == ["show"] else command)
    assert sorted(os.listdir(tmp_path)) == [name]


OUTSIDE = [
    "../../../../../../../../etc/passwd",
    "/etc/passwd",
    "../secret/ds.json",
    "~/ds.json",
    "file:///etc/passwd",
    "http://example.org/ds.json",
]


@pytest.mark.parametrize("link", OUTSIDE)
def test_links_out_of_the_tree_are_not_followed(link: str, tmp_path: Path) -> None:
    written(tmp_path / "secret", {"ds.json": DEEPSPEED})
    found = inspected(tmp_path / "project", {"train.yaml": RECIPE + f"deepspeed: {link}\n"})
    (run,) = found.runs
    assert run.files == ("train.yaml",)
    assert not any(name.startswith("deepspeed.") for name in run.explicit)


def test_a_symbolic_link_out_of_the_tree_is_not_followed(tmp_path: Path) -> None:
    written(tmp_path / "secret", {"ds.json": DEEPSPEED})
    written(tmp_path / "project", {"train.yaml": RECIPE + "deepspeed: ds.json\n"})
    (tmp_path / "project/ds.json").symlink_to(tmp_path / "secret/ds.json")
    (run,) = inspected(tmp_path / "project", {}).runs
    assert not any(name.startswith("deepspeed.") for name in run.explicit)


@pytest.mark.parametrize("words", [("check",), ("show",), ("check", "--fix", "--unsafe-fixes")])
def test_a_link_out_of_the_repository_is_not_followed_where_it_is_named(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Names come from lists of changed files as well as from people."""
    written(tmp_path / "home", {"x.yaml": "model_name_or_path: PRIVATE/model\nfp16: true\nbf16: true\n" + RECIPE})
    written(tmp_path / "project", {".git/HEAD": "ref: x\n"})
    (tmp_path / "project/t.yaml").symlink_to(tmp_path / "home/x.yaml")
    monkeypatch.chdir(tmp_path / "project")
    assert main([*words, "t.yaml"]) != 1
    said = capsys.readouterr()
    assert "link out of the repository" in said.err and "PRIVATE" not in said.out + said.err
    assert main(["show", "--allow-outside", "t.yaml"]) == 0
    assert "training.fp16 = true" in capsys.readouterr().out


def test_a_folder_that_links_to_itself_ends(tmp_path: Path) -> None:
    written(tmp_path, {"train.yaml": RECIPE})
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    assert len(inspected(tmp_path, {}).runs) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    written(tmp_path, {"train.yaml": RECIPE + "deepspeed: ds.json\n"})
    os.mkfifo(tmp_path / "ds.json")
    os.mkfifo(tmp_path / "other.yaml")
    assert len(inspected(tmp_path, {}).runs) == 1


def test_files_that_name_each_other_end(tmp_path: Path) -> None:
    files = {
        "a.sh": "bash a.sh\ntorchrun train.py --config a.yaml --learning_rate 1e-5 --fp16\n",
        "a.yaml": RECIPE + "deepspeed: a.yaml\nconfig: a.yaml\n",
    }
    assert inspected(tmp_path, files).runs


BROKEN = {
    "too large": ("train.yaml", RECIPE + "# " + "x" * 5_100_000 + "\n"),
    "too deep, YAML": ("train.yaml", RECIPE + "a: " + "[" * 100_000 + "]" * 100_000 + "\n"),
    "too deep, block YAML": ("train.yaml", RECIPE + "a:\n" + "- " * 100_000 + "x\n"),
    "too deep, JSON": ("ds.json", '{"learning_rate": 1, "zero_optimization": ' + "[" * 100_000 + "]" * 100_000 + "}"),
    "too deep, Python": ("train.py", "from transformers import TrainingArguments\nargs = TrainingArguments('o', seed=" + "(" * 100_000 + "1" + ")" * 100_000 + ")\n"),  # noqa: E501
    "too long a sum, Python": ("train.py", "from transformers import TrainingArguments\nargs = TrainingArguments('o', seed=" + "1+" * 200_000 + "1)\n"),
    "too deep, shell": ("run.sh", "torchrun train.py --fp16 --learning_rate " + "$(" * 50_000 + "\n"),
    "an alias bomb": ("train.yaml", RECIPE + "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))),
    "a cycle": ("train.yaml", RECIPE + "a: &a [*a]\n"),
    "a huge number": ("train.yaml", RECIPE + "seed: " + "9" * 5_000 + "\n"),
    "a huge number, JSON": ("ds.json", '{"zero_optimization": {"stage": ' + "9" * 5_000 + "}}"),
    "a NUL byte": ("train.yaml", RECIPE + "run_name: a\0b\n"),
    "no text at all": ("train.yaml", "\x00\x01learning_rate\x02" * 50),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content"), BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_read_is_said_and_survived(name: str, content: str, tmp_path: Path) -> None:
    """In a process of its own: what it guards against would take this one down."""
    written(tmp_path, {name: content, "healthy.yaml": RECIPE})
    command = [
        sys.executable,
        "-c",
        "from stablint.cli import main; raise SystemExit(main())",
        "check",
        name,
        "healthy.yaml",
        "--output-format",
        "json",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in (0, 1), done.stderr[-500:]
    assert "Traceback" not in done.stderr
    assert '"healthy.yaml"' in done.stdout


def test_control_and_bidi_characters_of_a_key_do_not_reach_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = '"lr\\u202e\\e[31m": 1\n"warmup\\u2066\\u0007": 2\n'
    written(tmp_path, {"train.yaml": RECIPE + "fp16: true\nbf16: true\n" + keys})
    monkeypatch.chdir(tmp_path)
    for command in (["check", "."], ["show", "train.yaml"], ["check", ".", "--output-format", "concise"]):
        main(command)
        output = "".join(capsys.readouterr())
        assert not {"\x1b", "\x07", "\u202e", "\u2066"} & set(output)


def test_a_plain_secret_in_a_link_is_not_looked_up(tmp_path: Path) -> None:
    """A path that is none, of any length, is only a value."""
    found = inspected(tmp_path, {"train.yaml": RECIPE + "deepspeed: " + "x/" * 3_000 + "\n"})
    assert "unreadable-file" not in rules(found)
