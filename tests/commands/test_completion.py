"""What a shell offers at Tab: the shells themselves are asked."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess

import pytest

from stablint.cli import main
from stablint.config.spec import COMMANDS

# What is typed, and what is offered among others.
TYPED = {
    "stablint conf": ["config"],
    "stablint fit --gpu H20": ["H20", "H200"],
    "stablint fit --gpu RTX-409": ["RTX-4090", "RTX-4090-D"],
    "stablint explain P10": ["P101", "P102"],
    "stablint check --select L10": ["L101"],
    "stablint show --col": ["--color"],
    "stablint show --color a": ["auto", "always"],
    "stablint check --fail-on w": ["warning"],
    "stablint check --dialect ax": ["axolotl"],
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


# zsh completes in its editor of lines alone: what stands there after Tab and Enter.
FINISHED = {
    "stablint conf": "config",
    "stablint fit --gpu RTX-4090-D": "fit --gpu RTX-4090-D",
    "stablint explain P10": "explain P101",
    "stablint check --fail-on w": "check --fail-on warning",
    "stablint schema axo": "schema axolotl",
    "stablint --statis": "--statistics",
}


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_what_zsh_completes(tmp_path, printed) -> None:
    (tmp_path / "script").write_text(printed("zsh"), encoding="utf-8")
    child, screen = pty.fork()
    if child == 0:
        os.chdir(tmp_path)
        os.execvpe(
            "zsh",
            ["zsh", "-f", "-i"],
            {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TERM": "dumb", "COLUMNS": "200"},
        )
    try:
        said = b""

        def until(wanted: str) -> None:
            nonlocal said
            while wanted.encode() not in said:
                assert select.select([screen], [], [], 60)[0], f"{wanted} did not come: {said!r}"
                said += os.read(screen, 65536)  # a shell that ends is an OSError
            said = said.partition(wanted.encode())[2]

        os.write(
            screen,
            b"autoload -U compinit; compinit -u -D; setopt menu_complete; source ./script; stablint() { print -r -- \"<$*>\" }; print R''EADY\n",
        )
        until("READY")
        for typed, stands in FINISHED.items():
            os.write(screen, f"{typed}\t\n".encode())
            until(f"<{stands}>")
    finally:
        os.kill(child, 9)
        os.close(screen)
        os.waitpid(child, 0)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_is_known(shell: str, tmp_path, printed) -> None:
    script = printed(shell)
    assert not [command for command in COMMANDS if command not in script]
    if shutil.which(shell) is not None:
        (tmp_path / "script").write_text(script, encoding="utf-8")
        subprocess.run([shell, "-n", tmp_path / "script"], timeout=60, check=True)
