"""What the README promises is there, and the bundled examples show what they are there to show."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import stablint
from stablint.cli import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.is_dir())


def test_the_first_two_shell_blocks_are_one_line_each():
    install, test = re.findall(r"```sh\n(.*?)```", README, re.S)[:2]
    assert len(install.splitlines()) == len(test.splitlines()) == 1
    assert "pip install ." in install and "examples/" in install
    assert "pytest" in test


def test_the_hooks_are_stored_twice_and_are_the_same():
    assert (ROOT / ".pre-commit-hooks.yaml").read_bytes() == (ROOT / "pre-commit-hooks.yaml").read_bytes()


def test_every_example_is_described():
    described = re.findall(r"^\| `([\w-]+)`", (ROOT / "examples" / "README.md").read_text(encoding="utf-8"), re.M)
    assert sorted(described) == [path.name for path in EXAMPLES]


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_examples_have_faults_but_for_the_healthy_one(folder):
    """The commands of examples/README.md are the targets they were written for."""
    command = re.search(
        rf"^\| `{folder.name}`.*?--gpu (\"[^\"]+\"|\w+)",
        (ROOT / "examples" / "README.md").read_text(encoding="utf-8"),
        re.M,
    )
    assert command is not None
    report = stablint.check(folder, gpu=command[1].strip('"'))
    serious = [diagnostic.code for diagnostic in report.diagnostics if diagnostic.severity != "info"]
    assert bool(serious) is not folder.name.startswith("healthy"), serious


@pytest.mark.parametrize("name", ["README.md", "README.zh.md"])
def test_the_output_shown_is_the_output(name, capsys, monkeypatch, request):
    """`pytest --update` writes it anew."""
    monkeypatch.chdir(ROOT)
    text = (ROOT / name).read_text(encoding="utf-8")
    shown, command = re.search(r"```text\n(\$ stablint ([^\n]*)\n.*?)```", text, re.S).groups()
    main(shlex.split(command))
    output = f"$ stablint {command}\n{capsys.readouterr().out}"
    if request.config.getoption("--update"):
        (ROOT / name).write_text(text.replace(shown, output), encoding="utf-8")
    else:
        assert shown == output


def test_the_first_example_is_read_as_what_it_is(monkeypatch, capsys):
    """In the checkout as well, where tests and tools write down configurations of all kinds."""
    monkeypatch.chdir(ROOT)
    assert main(["examples/qwen2-sft-fp16", "--gpu", "A100-80GB", "--output-format", "concise"]) == 1
    told = capsys.readouterr().out
    assert "error[P101]" in told
    assert "[L101]" in told
