"""torchtune's YAML: components named by `_component_`, their arguments beside them; `${key}` stands for another key of the file.

OmegaConf reads the file and casts every number. Recipes read nothing else, so that what is absent is off (knowledge/frameworks/torchtune.yaml).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from stablint.base.knowledge import load
from stablint.frameworks import huggingface
from stablint.frameworks import words as _codecs  # noqa: F401  registers the codecs used below
from stablint.frameworks.fragment import Block, Fragment, Link, Row, lower_mapping, overrides, statement, table
from stablint.run.fact import CLOSED, OPEN, Explicit, Place, Statement, is_unknown
from stablint.syntax import limits
from stablint.syntax.tree import Command, Entry, Mapping, Node, Scalar, Sequence, Unknown

ROWS = table("torchtune")
_SECTIONS = (
    "model", "tokenizer", "optimizer", "checkpointer", "dataset", "loss", "metric_logger", "quantizer", "lr_scheduler",
)  # fmt: skip
_REFERENCE = re.compile(r"\$\{([A-Za-z_][\w.]*)\}")
# By the class: its package changed with 0.3 (torchtune.modules.loss, torchtune.rlhf.loss), and a file may name the old one.
_LOSSES = {"DPOLoss": "dpo", "RSOLoss": "dpo", "IPOLoss": "dpo", "PPOLoss": "ppo", "GRPOLoss": "grpo"}
_SCHEDULES = {"get_cosine_schedule_with_warmup": "cosine"}


def recognise(keys: frozenset[str], block: Block) -> int:
    """At least one section of its own names a component of torchtune."""
    named = [component for section in _SECTIONS if section in keys and (component := _component(block, section))]
    return 97 if any("torchtune" in name for name in named) or len(named) >= 3 else 0


def _component(block: Block, section: str) -> str:
    part = block.mapping.get(section)
    name = part.get("_component_") if isinstance(part, Mapping) else None
    return str(name.value) if isinstance(name, Scalar) else ""


def lower(block: Block, layer: str = "file") -> Fragment:
    """Training without an optimizer is none: evaluation, generation and quantisation recipes leave everything open."""
    references = _References(block.mapping)
    block = block._replace(mapping=references.resolved(block.mapping))
    rows = _known(block, lower_mapping(block, ROWS, layer, lambda key: None))
    statements = (*rows, *_named(block, layer), *_components(block, layer))
    whole = block.kind == "document" and block.mapping.get("optimizer") is not None
    state = CLOSED if whole else OPEN
    lora = any(one.fact == "training.finetuning_type" and one.value == "lora" for one in statements)
    return Fragment(
        "torchtune", block, layer, statements,
        dict.fromkeys(("training", "lora", "quantization", "model", "deepspeed", "accelerate"), state)
        | dict.fromkeys(("data", "trainer", "tokenizer", "fsdp"), OPEN),
        dict.fromkeys(("lora", "quantization"), ("torchtune.builder",)) if lora else {},
        huggingface.links(statements), entry=True, framework="torchtune", cut=references.cut,
    )  # fmt: skip


def lower_flags(block: Block, layer: str = "flags", command: str = "") -> Fragment:
    """`tune run RECIPE --config FILE key=value …`: what stands behind the file overrides its keys, by dotted names."""
    node = block.mapping.get("config")
    words = [item for item in (node.items if isinstance(node, Sequence) else (node,)) if isinstance(item, Scalar)]
    behind = block.origin.positionals if isinstance(block.origin, Command) else ()
    entries, more = overrides((*words[1:], *behind), block.document.text.text)
    over = block._replace(mapping=block.mapping._replace(entries=entries))
    recipe = block.origin.words[0] if isinstance(block.origin, Command) and block.origin.words else ""
    gone = [_taken_out(block, word, layer) for word in (*words[1:], *behind)]
    statements = (*lower_mapping(over, ROWS, layer, _replaced), *_recipe(block, recipe, layer), *filter(None, gone))
    if words:
        statements = (*statements, *_shipped(block, recipe, words[0], layer, statements))
    links = list(huggingface.links(statements))
    if words and isinstance(words[0].value, str):
        links.append(Link("config", words[0].value, Place(block.document, "config", words[0].start, words[0].end)))
    block = block._replace(mapping=block.mapping._replace(open=block.mapping.open or more))
    # A recipe of one's own makes of the keys what it likes; a component that takes another's place has arguments of its own.
    text = block.document.text.text
    own = (
        "/" in recipe
        or recipe.endswith(".py")
        or any(_TAKES_APART.match(text, one.start) for one in (*words[1:], *behind))
    )
    return Fragment(
        "torchtune", block, layer, statements, {"training": OPEN}, {}, tuple(links), entry=True, framework="torchtune",
        presumed=own,
    )  # fmt: skip


def _taken_out(block: Block, word: Scalar, layer: str) -> Statement | None:
    """`~optimizer.fused`: what the file says there is not said; the component's own default holds."""
    key = word.value[1:] if isinstance(word.value, str) and word.value.startswith("~") else ""
    row = ROWS.get(key)
    if not isinstance(row, Row):
        return None
    said = statement(block, Entry(key, word.start, word.end, word), (key,), row, layer)
    return said._replace(value=Unknown("the command takes it out"))


_TAKES_APART = re.compile(r"[\"']?(?:~|[\w.]{1,200}\._component_=)")


def _replaced(key: str) -> Row | None:
    """`checkpointer._component_=…`, or `checkpointer=…`"""
    part = key.removesuffix("._component_")
    if part == "optimizer":
        return Row(key, "training.optim", "optimizer")
    return Row(key, f"component.{part}", "text") if part != key or key in _SECTIONS else None


def _recipe(block: Block, name: str, layer: str) -> Iterator[Statement]:
    """`lora_finetune_distributed`: the recipe says what is trained, and recipes differ in what they do for it."""
    kind = "lora" if name.startswith("lora_") else "full" if name.startswith("full_") else ""
    for fact, said in (("training.finetuning_type", kind), ("launch.recipe", name)):
        if said:
            node = Scalar(said, block.start, block.start, "name", False)
            entry = Entry(name, block.start, block.start, node)
            yield statement(block, entry, (name,), Row(name, fact, "text"), layer)


def _shipped(block: Block, recipe: str, word: Scalar, layer: str, said: Iterable[Statement]) -> Iterator[Statement]:
    """Of a configuration that is named and no file: whether the recipe has it, and the checkpointer that it names itself."""
    configs = load("recipe_configs").get(recipe)
    if configs is None or not isinstance(word.value, str) or word.value.endswith((".yaml", ".yml")):
        return
    entry = Entry("config", word.start, word.start, word)
    if word.value not in configs:
        yield statement(block, entry, ("config",), Row("config", "launch.config_unknown", "text"), layer)
    elif word.value.startswith(_OF_THE_HUB) and all(one.fact != "training.checkpointer" for one in said):
        found = statement(block, entry, ("config",), Row("config", "training.checkpointer", "text"), layer)
        yield found._replace(value="torchtune.training.FullModelHFCheckpointer")


# Families whose configurations name the checkpointer of the Hub's files, in every release since 0.1.1.
_OF_THE_HUB = (
    "llama2/",
    "code_llama2/",
    "mistral/",
    "gemma/",
    "gemma2/",
    "phi3/",
    "phi4/",
    "qwen2/",
    "qwen2_5/",
    "llama3_1/",
    "llama3_3/",
)


def _known(block: Block, statements: Iterable[Statement]) -> Iterator[Statement]:
    """`qlora_` says four bits, other builders say nothing of it where `quantize_base` does."""
    part = block.mapping.get("model")
    said = isinstance(part, Mapping) and part.get("quantize_base") is not None
    for one in statements:
        builder = isinstance(one.origin, Explicit) and one.origin.place.setting == "model._component_"
        if not (builder and said and one.fact == "quantization.load_in_4bit" and one.value is False):
            yield one


def _named(block: Block, layer: str) -> Iterator[Statement]:
    """What the classes of loss and scheduler say, shown at their names."""
    for section, words, fact in (
        ("loss", _LOSSES, "training.stage"),
        ("lr_scheduler", _SCHEDULES, "training.lr_scheduler_type"),
    ):
        name = _component(block, section)
        last = name.rpartition(".")[2]
        word = words.get(name) or words.get(last) or ("grpo" if section == "loss" and "GRPO" in last else None)
        part = block.mapping.get(section)
        if word and isinstance(part, Mapping):
            entry = next(entry for entry in part.entries if entry.key == "_component_")
            said = statement(block, entry, (section, "_component_"), Row("_component_", fact, "text"), layer)
            yield said._replace(value=word)


def _components(block: Block, layer: str) -> Iterator[Statement]:
    """Every section's class or function, under a name of its own: they move between releases."""
    for entry in block.mapping.entries:
        if isinstance(entry.value, Mapping):
            inner = next((one for one in entry.value.entries if one.key == "_component_"), None)
            if inner is not None:
                yield statement(
                    block,
                    inner,
                    (entry.key, "_component_"),
                    Row("_component_", f"component.{entry.key}", "text"),
                    layer,
                )


class _References:
    """Interpolations of keys of the same file, as OmegaConf fills them in; such a value is shown where it is used and not edited there."""

    def __init__(self, root: Mapping) -> None:
        self.root, self.followed = root, 0
        self.cut: tuple[limits.Limit, ...] = ()

    def resolved(self, mapping: Mapping) -> Mapping:
        entries = tuple(entry._replace(value=self._filled(entry.value)) for entry in mapping.entries)
        if all(new.value is old.value for new, old in zip(entries, mapping.entries, strict=True)):
            return mapping
        return mapping._replace(entries=entries)

    def _filled(self, node: Node, depth: int = 0) -> Node:
        if isinstance(node, Mapping):
            return self.resolved(node)
        if not isinstance(node, Scalar) or not isinstance(node.value, str) or "${" not in node.value or depth > 8:
            return node
        whole = _REFERENCE.fullmatch(node.value)
        if whole is not None:
            found = self._named(whole[1], depth)
            if isinstance(found, Scalar):
                return found._replace(editable=False)
            return found if isinstance(found, Sequence) else node
        parts: list[str] = []
        at = length = 0
        for match in _REFERENCE.finditer(node.value):
            found = self._named(match[1], depth)
            if not isinstance(found, Scalar) or is_unknown(found.value):
                return node
            parts += [node.value[at : match.start()], str(found.value)]
            length += len(parts[-1])
            at = match.end()
            if length > limits.VALUE.most:
                return self._left(node, limits.VALUE)
        return node._replace(value="".join((*parts, node.value[at:])), editable=False)

    def _named(self, path: str, depth: int) -> Node | None:
        """What a reference stands for, where that is a value or a list."""
        self.followed += 1
        if self.followed > limits.REFERENCES.most:
            self._left(self.root, limits.REFERENCES)
            return None
        found = _at(self.root, path)
        return self._filled(found, depth + 1) if isinstance(found, Scalar) else found

    def _left(self, node: Node, limit: limits.Limit) -> Node:
        self.cut = self.cut if limit in self.cut else (*self.cut, limit)
        return node


def _at(root: Mapping, path: str) -> Node | None:
    node: Node | None = root
    for part in path.split("."):
        node = node.get(part) if isinstance(node, Mapping) else None
    return node
