"""The releases that are installed in this environment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stablint.base.libraries import metadata
from stablint.run.releases.allowed import Releases

LIBRARIES = (
    "transformers", "trl", "peft", "accelerate", "deepspeed", "torch", "bitsandbytes", "unsloth", "flash-attn", "datasets",
)  # fmt: skip


def installed(libraries: Iterable[str] = LIBRARIES) -> dict[str, str]:
    """Library → version, of those that are there; a build's own mark (`2.13.0+cpu`) is left out."""
    found = {}
    for library in libraries:
        try:
            found[library] = metadata.version(library).partition("+")[0]
        except metadata.PackageNotFoundError:
            continue
    return found


def specifiers() -> Iterator[tuple[str, str]]:
    """The same as library and specifier: `transformers`, `==5.23.0`. A version that is none (a build's own mark) is left out."""
    for library, version in installed().items():
        try:
            Releases.known().restrict(library, f"=={version}")
        except ValueError:
            continue
        yield library, f"=={version}"
