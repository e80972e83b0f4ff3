"""The releases that are installed in this environment. importlib.metadata is imported only when it is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

LIBRARIES = (
    "transformers",
    "trl",
    "peft",
    "accelerate",
    "deepspeed",
    "torch",
    "bitsandbytes",
    "unsloth",
    "flash-attn",
    "datasets",
)


def installed(libraries: Iterable[str] = LIBRARIES) -> dict[str, str]:
    """Library → version, of those that are there; a build's own mark (`2.13.0+cpu`) is left out."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for library in libraries:
        try:
            found[library] = version(library).partition("+")[0]
        except PackageNotFoundError:
            continue
    return found


def specifiers() -> Iterator[tuple[str, str]]:
    """The same as library and specifier: `transformers`, `==5.23.0`. A version that is none (a build's own mark) is left out."""
    from stablint.run.releases.allowed import Releases

    for library, version in installed().items():
        try:
            Releases.known().restrict(library, f"=={version}")
        except ValueError:
            continue
        yield library, f"=={version}"
