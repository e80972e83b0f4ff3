"""What a shell offers at Tab: the shells themselves are asked."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from stablint.cli import main
from stablint.config.spec import COMMANDS

# What is typed, and what is offered among others.
TYPED = {
    "stablint conf": ["config"],
    "stablint fit --gpu H20": ["H20", "H200"],
    "stablint show --col": ["--color"],
    "stablint show --color a": ["auto", "always"],
    "stablint check --fail-on w": ["warning"],
    "stablint --statis": ["--statistics"],
    "stablint schema axo": ["axolotl"],
    "stablint knowledge au": ["audit"],
    "stablint completion f": ["fish"],
}
ASK = {
    "bash": 'source "$1"; read -ra COMP_WORDS <<< "$2"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _stablint; printf "%s\\n" "${COMPREPLY[@]}"',
    "fish": 'source $argv[1]; complete -C "$argv[2]"',
}


@pytest.fixture
def printed(capsys):
    def script(shell: str) -> str:
        assert main(["completion", shell]) == 0
        return capsys.readouterr().out

    return script


@pytest.mark.parametrize("shell", ASK)
@pytest.mark.parametrize("typed", TYPED)
def test_what_is_offered(shell: str, typed: str, tmp_path, printed) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(printed(shell), encoding="utf-8")
    ran = subprocess.run(
        [shell, "-c", ASK[shell], *(["shell"] if shell == "bash" else []), script, typed],
        capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )  # fmt: skip
    offered = [line.partition("\t")[0] for line in ran.stdout.splitlines()]
    assert set(TYPED[typed]) <= set(offered)
    assert all(one.startswith(typed.split()[-1]) for one in offered)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_known(shell: str, tmp_path, printed) -> None:
    script = printed(shell)
    assert not [command for command in COMMANDS if command not in script]
    if shutil.which(shell) is not None:
        (tmp_path / "script").write_text(script, encoding="utf-8")
        subprocess.run([shell, "-n", tmp_path / "script"], timeout=60, check=True)
