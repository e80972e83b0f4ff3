"""The languages of the texts that secrets are looked for in, by the names of their files."""

from __future__ import annotations

PYTHON, SHELL, YAML, JSON, LINE = "python", "shell", "yaml", "json", ""
"""How bare words are read: as names of a program (Python), as literals (shell, YAML); of a line on its own nobody knows."""
_LANGUAGES = {
    **dict.fromkeys(("py",), PYTHON),
    **dict.fromkeys(("sh", "bash", "slurm", "sbatch", "zsh", "ksh", "env"), SHELL),
    **dict.fromkeys(("yaml", "yml"), YAML),
    **dict.fromkeys(("json", "jsonc", "ipynb"), JSON),
}


def language_of(path: str) -> str:
    return _LANGUAGES.get(path.rpartition(".")[2].lower(), LINE)
