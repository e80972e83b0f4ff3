"""What a text says to a framework. In comes a tree with places, out go fragments: facts by their common names (`training.bf16`), each with its place.

Knows frameworks' spellings; knows no rule, no GPU and no other file.
"""

from stablint.base.later import later

later(
    __name__,
    "chat_copy", "huggingface", "hydra", "llamafactory", "llamafactory_data", "near_keys", "own", "samples", "unknown_keys", "xtuner",
)  # fmt: skip
