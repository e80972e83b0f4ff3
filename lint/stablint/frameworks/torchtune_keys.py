"""The arguments of torchtune's components, each a fact `keys.torchtune.COMPONENT.ARGUMENT`; and keys of the recipe that look like slips.

A component is called with the keys that stand beside its `_component_` (config/_instantiate.py), so that one which its function does not have
raises a TypeError. What a recipe does not ask its config for is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator

from stablint.frameworks.fragment import Block, Fragment, Row, statement
from stablint.frameworks.near_keys import resembles
from stablint.frameworks.unknown_keys import with_told
from stablint.run.fact import Statement
from stablint.run.releases.reader_keys import Reader, reader
from stablint.syntax.tree import Mapping, Node, Scalar, Sequence

COMPONENT, OWN = "_component_", "torchtune."
# The recipe for several data sets takes these out before the component gets the rest (recipes/dev/lora_finetune_distributed_multi_dataset.py).
OF_A_RECIPE = frozenset({"name", "streaming", "shuffle", "parallel_method", "num_workers", "transform", "weight"})


def with_own_keys(fragment: Fragment, names: tuple[str, ...]) -> Fragment:
    """The fragment, with a statement for every argument that some release of its component does not take, and for likely slips."""
    found = tuple(_arguments(fragment.block, names[0], fragment.layer))
    owners = {f"keys.{fragment.dialect}": names, f"keys.{fragment.dialect}-recipe": ("torchtune.recipe",)}
    return with_told(fragment, found, owners)


def _arguments(block: Block, name: str, layer: str) -> Iterator[Statement]:
    known, recipe = reader(name), reader("torchtune.recipe")
    if known is None or block.kind != "document":
        return
    pending: list[tuple[tuple[str, ...], Node]] = [((), block.mapping)]
    while pending:
        path, node = pending.pop()
        if isinstance(node, Sequence):
            pending += [(path, item) for item in node.items if not isinstance(item, Scalar)]
        elif isinstance(node, Mapping):
            pending += [((*path, entry.key), entry.value) for entry in node.entries if type(entry.value) is not Scalar]
            yield from _of_component(block, node, path, known, layer)
    if recipe is not None:
        yield from _slips(block, recipe, layer)


def _of_component(
    block: Block, mapping: Mapping, path: tuple[str, ...], known: Reader, layer: str
) -> Iterator[Statement]:
    node = mapping.get("_component_")
    component = node.value if isinstance(node, Scalar) else None
    if not isinstance(component, str) or not component.startswith(OWN):
        return
    above = component[len(OWN) :]
    if not known.has_below(above):
        return
    for entry in mapping.entries:
        key = f"{above}.{entry.key}"
        of_recipe = path[:1] == ("dataset",) and entry.key in OF_A_RECIPE
        if entry.key != "_component_" and not known.as_long_as_its_section(key) and not of_recipe:
            yield statement(block, entry, (*path, entry.key), Row(entry.key, f"keys.torchtune.{key}"), layer)


def _slips(block: Block, recipe: Reader, layer: str) -> Iterator[Statement]:
    """Keys that no recipe of any release asks for, but that resemble one which it does and the file does not have."""
    stated = {entry.key for entry in block.mapping.entries}
    names = [name for name in recipe.ever_taken() if name not in stated]
    for entry in block.mapping.entries:
        key = entry.key
        if not recipe.ever(key) and type(entry.value) is Scalar and any(resembles(key, name) for name in names):
            yield statement(block, entry, (key,), Row(key, f"keys.torchtune-recipe.{key}"), layer)
