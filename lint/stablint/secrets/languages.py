"""The languages of the texts that secrets are looked for in, by the names of their files."""

from __future__ import annotations

PYTHON, SHELL, YAML, JSON, TOML, RECIPE, LINE = "python", "shell", "yaml", "json", "toml", "recipe", ""
"""How bare words are read: as names of a program (Python), as literals (shell, YAML, what builds and starts things); of a line on its own nobody knows."""
_LANGUAGES = {
    **dict.fromkeys(("py",), PYTHON),
    **dict.fromkeys(("sh", "bash", "slurm", "sbatch", "zsh", "ksh", "env"), SHELL),
    **dict.fromkeys(("yaml", "yml"), YAML),
    **dict.fromkeys(("json", "jsonc", "ipynb"), JSON),
    **dict.fromkeys(("toml", "ini", "cfg"), TOML),
    **dict.fromkeys(("mk", "just", "dockerfile"), RECIPE),
}
_NAMES = dict.fromkeys(("makefile", "gnumakefile", "justfile", "dockerfile", "containerfile"), RECIPE)
"""Whatever stands behind the first point: `Dockerfile.train`."""


def language_of(path: str) -> str:
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    return _NAMES.get(name.partition(".")[0]) or _LANGUAGES.get(name.rpartition(".")[2], LINE)


def language_of_cell(source: str) -> str:
    """Of a cell of a notebook: its first line may say that it is the shell's, or the file that it writes."""
    words = source.lstrip()[:400].split("\n", 1)[0].split()
    if not words or not words[0].startswith("%%"):
        return PYTHON
    if words[0] in ("%%writefile", "%%file"):
        return language_of(words[-1]) or PYTHON
    return SHELL if words[0] in ("%%bash", "%%sh", "%%script", "%%shell") else PYTHON
