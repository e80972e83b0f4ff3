"""knowledge/releases/versions.yaml: the final releases of every library that stands in a range somewhere, as pip lists them."""

from __future__ import annotations

from pathlib import Path

import yaml
from packaging.version import Version

from . import archive
from .libraries import LIBRARIES

# those that are read first, then those of which only the numbers matter: (name on the index, oldest release of interest)
LISTED = [(library.name, library.oldest) for library in LIBRARIES.values()] + [
    ("torch", "1.13"), ("bitsandbytes", "0.37"), ("unsloth", "2024.8"), ("unsloth-zoo", "2024.8"), ("flash-attn", "1.0"),
    ("liger-kernel", "0.1"), ("vllm", "0.4"), ("torchao", "0.3"), ("xformers", "0.0.16"), ("llamafactory", "0.1"),
    ("axolotl", "0.1"), ("ms-swift", "2.0"), ("torchtune", "0.1"), ("openrlhf", "0.2"), ("xtuner", "0.1"), ("litgpt", "0.2"),
    ("auto-gptq", "0.3"), ("autoawq", "0.1"), ("gptqmodel", "1.0"), ("hqq", "0.1"), ("datasets", "2.10"), ("verl", "0.2.0.post1"),
]  # fmt: skip

_HEAD = """# Final releases on the package index and in tagged.yaml, oldest first; pre-releases, yanked ones and those before the first of interest left out.
# Written by: python tools/read_releases.py --versions
"""


def refresh(folder: Path) -> None:
    """Ask pip for each name and write the file anew. Raises FetchError if a name is not on the index."""
    lines = [_HEAD]
    tagged = off_the_index(folder)
    for name, oldest in LISTED:
        listed = {*archive.available(name), *tagged.get(name, ())}
        versions = sorted((v for v in listed if _counts(v, oldest)), key=Version)
        lines.append(f"{name}: [{', '.join(_quoted(v) for v in versions)}]\n")
    (folder / "versions.yaml").write_text("".join(lines), encoding="utf-8")


def off_the_index(folder: Path) -> dict[str, dict[str, object]]:
    """Releases of which only a tag of the repository tells, with their days, by library."""
    found: dict[str, dict[str, object]] = yaml.safe_load((folder / "tagged.yaml").read_text(encoding="utf-8"))
    return found


def _counts(version: str, oldest: str) -> bool:
    parsed = Version(version)
    return not parsed.is_prerelease and parsed >= Version(oldest)


def _quoted(version: str) -> str:
    """As YAML would otherwise read 1.10 as a number."""
    return f'"{version}"' if version.count(".") < 2 else version
