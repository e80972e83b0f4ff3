"""What a framework's own code is called, where a repository imports it, starts it or carries a copy of it."""

from __future__ import annotations

from stablint.record import NamedTuple


class Code(NamedTuple):
    """`declares`: its classes and parsers have an argument for each key of its files, which are held against them; a copy may have more."""

    packages: tuple[str, ...]
    declares: bool = False


# Of the frameworks that are told by flags or keys.
CODE = {
    "llamafactory": Code(("llamafactory", "llmtuner"), declares=True),
    "ms-swift": Code(("swift",), declares=True),
    "ms-swift-2": Code(("swift",)),
    "openrlhf": Code(("openrlhf",), declares=True),
    "litgpt": Code(("litgpt", "lit_gpt")),
    "llama-cookbook": Code(("llama_cookbook", "llama_recipes")),
    "axolotl": Code(("axolotl",), declares=True),
    "verl": Code(("verl",)),
}
PACKAGES = frozenset(package for code in CODE.values() for package in code.packages)
