"""What a program's options say under names of its own: the rate, the epochs, the batch and the model.

Asked only where a file is shown.
"""

from __future__ import annotations

import ast
import math
import os
import re
from collections.abc import Iterator
from collections.abc import Mapping as Table

from stablint.frameworks import own
from stablint.frameworks.fragment import Fragment, Row, plain_value
from stablint.repository.given import Given, stated, truth
from stablint.repository.indexed import at
from stablint.repository.worth import Program
from stablint.run.fact import Statement
from stablint.syntax.python.scope import dotted
from stablint.syntax.tree import Document, Mapping

_PREFIXED = re.compile(r"([a-z]+)_(lr|learning_rate)\Z")

_NO_PREFIX = frozenset(
    ["base", "max", "min", "peak", "critic", "value", "head", "mm", "end", "final", "initial", "init", "warmup", "encoder"]
)  # fmt: skip

_RANKS = {"lora_r": Row("lora_r", "lora.r"), "lora_alpha": Row("lora_alpha", "lora.lora_alpha")}


def by_prefix(options: Table[str, Given]) -> Iterator[Statement]:
    """What the program's options say under one prefix: `--grpo-lr`, `--grpo-epochs`, `--grpo-batch-size`."""
    heads = {found[1] for name in options if (found := _PREFIXED.match(name)) is not None}
    if len(heads) != 1 or not heads.isdisjoint(_NO_PREFIX) or not options.keys().isdisjoint(_OWN_NAMES[_RATE]):
        return
    (head,) = heads
    for name, (document, entry) in options.items():
        word = name.removeprefix(f"{head}_")
        row = (own.row(word) or _RANKS.get(word)) if word != name else None
        value = plain_value(entry.value)
        if isinstance(row, Row) and row.codec == "plain" and isinstance(value, (int, float)):
            yield stated(row.fact, value, document, entry)


def divided(text: str, options: Table[str, Given]) -> Iterator[Statement]:
    """The batch of a step, of which the program works its accumulation out."""
    found = re.search(
        r"accum\w{0,40}[ \t]{0,4}=[ \t]{0,4}(?:\([ \t]{0,4})?(?:\w{1,40}\.){0,6}(\w{1,60})[ \t]{0,4}//"
        r"[^\n]{0,200}?(?:device_count|world_size|num_processes|WORLD_SIZE)",
        text,
    )
    option = options.get(found[1]) if found is not None else None
    value = plain_value(option[1].value) if option is not None else None
    if option is not None and isinstance(value, int) and not isinstance(value, bool):
        yield stated("training.global_batch_size", value, *option)


_RATES = frozenset(["lr", "learning_rate"])


def of_section(program: str, fragments: list[Fragment]) -> Iterator[Statement]:
    """What the section says that is called as the program is, where several sections are each of a training: `sft` for `train_sft.py`."""
    words = re.split(r"[\W_]+", os.path.basename(program).lower())
    for fragment in fragments:
        sections = (
            [one for one in fragment.block.mapping.entries if isinstance(one.value, Mapping)]
            if fragment.layer == "file"
            else []
        )
        trained = [
            one
            for one in sections
            if isinstance(one.value, Mapping) and not _RATES.isdisjoint(entry.key for entry in one.value.entries)
        ]
        meant = [one for one in trained if one.key.lower() in words] if len(trained) > 1 else []
        for entry in meant[0].value.entries if len(meant) == 1 and isinstance(meant[0].value, Mapping) else ():
            row, value = own.row(entry.key), plain_value(entry.value)
            if row is not None and row.codec == "plain" and isinstance(value, (int, float)):
                yield stated(row.fact, value, fragment.block.document, entry)


def base(given: Table[str, Given]) -> Iterator[Statement]:
    """The model that a file names by a name which no library has: `base_model_name_or_path`."""
    one = given.get("base_model_name_or_path")
    if one is not None and isinstance(value := plain_value(one.entry.value), str):
        yield stated("model.name_or_path", value, one.document, one.entry)


def of_steps(program: Program, document: Document) -> Iterator[Statement]:
    """The batch of TRL's PPO before 0.12, which the program steps itself."""
    for one in (
        program.calls
        if any(
            called.node.func.attr == "step" for called in program.calls if isinstance(called.node.func, ast.Attribute)
        )
        else ()
    ):
        given = next((k.value for k in one.node.keywords if k.arg == "batch_size"), None)
        if (dotted(one.node.func) or [""])[-1] == "PPOConfig" and given is not None:
            value = program.only(given, one.where)
            if isinstance(value, int):
                yield stated("training.per_device_train_batch_size", value, document, None)


def accumulated(program: Program, document: Document) -> Iterator[Statement]:
    """After how many batches a loop of the program's own steps: `if (step + 1) % ACCUMULATION == 0: optimizer.step()`."""
    found: set[object] = set()
    for tree in program.trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and any(_is_a_step(inner) for one in node.body for inner in ast.walk(one)):
                every = [
                    one.right
                    for one in ast.walk(node.test)
                    if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mod)
                ]
                found |= {program.only(one, at(tree, node.lineno)) for one in every}
    value = found.pop() if len(found) == 1 else None
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        yield stated("training.gradient_accumulation_steps", value, document, None)


def _is_a_step(node: ast.AST) -> bool:
    """`optimizer.step()`, `self.scaler.step(optimizer)`; a schedule's is none."""
    called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    words = (dotted(called) or [""]) if called is not None else [""]
    return len(words) > 1 and words[-1] == "step" and re.search(r"opt|scaler", words[-2]) is not None


_IN_4_BITS = {
    "bits": 4,
    "quant_bits": 4,
    "quantization_bit": 4,
    "load_in_4bit": True,
    "use_4bit": True,
    "use_qlora": True,
    "qlora": True,
}


def quantised(given: Table[str, Given], texts: list[str]) -> Iterator[Statement]:
    """That the weights are loaded in 4 bits, by a name which the program asks for: `bits: 4`."""
    for name, value in _IN_4_BITS.items():
        one = given.get(name)
        if (
            one is not None
            and truth(one.entry) == value
            and any("load_in_4bit" in text and name in text for text in texts)
        ):
            yield stated("quantization.load_in_4bit", True, one.document, one.entry)


def given_or_default(options: Table[str, Given], given: Table[str, Given], text: str) -> tuple[Statement, ...]:
    """Switches of the precision that the command gives, and the model that the parser has for a default."""
    found = [
        stated(f"training.{name}", True, given[name].document, given[name].entry)
        for name in ("bf16", "fp16")
        if name in options and name in given and truth(given[name].entry) is True
    ]
    found += [
        stated("model.name_or_path", said, *options[name])
        for name in _OF_MODELS
        if name in options and name not in given and (said := _model_by_default(text, name))
    ][:1]
    return tuple(found)


# Names that programs have for these settings, and that can be nothing else.
_RATE = "training.learning_rate"
_OWN_NAMES = {
    _RATE: ("lr", "learning_rate", "lr_init", "base_lr", "peak_lr"),
    "training.num_train_epochs": ("num_train_epochs", "num_epochs", "epochs", "epoch_num", "n_epochs", "epoch_count", "max_epochs", "train_epochs"),
    "training.max_steps": ("max_steps", "max_iters", "total_steps", "num_steps", "train_steps", "max_train_steps", "num_training_steps"),
    "training.per_device_train_batch_size": (
        "per_device_train_batch_size", "train_micro_batch_size_per_gpu", "micro_batch_size", "micro_bsz", "per_gpu_train_batch_size",
        "per_gpu_batch_size", "batch_size_per_gpu", "train_batch_size", "batch_size",
    ),
    "training.gradient_accumulation_steps": (
        "gradient_accumulation_steps", "gradient_accumulation", "grad_accum", "grad_accum_steps", "accumulation_steps", "accum_steps", "grad_acc_steps",
        "accumulate_grad_batches",
    ),
}  # fmt: skip


def by_own_names(options: Table[str, Given], texts: list[str]) -> Iterator[Statement]:
    """What the program's options say of the rate, the epochs and the batch, where it reads one of them, and only one."""
    for fact, names in _OWN_NAMES.items():
        said = [
            (name, value)
            for name in names
            if name in options
            and isinstance(value := _as_number(plain_value(options[name].entry.value)), (int, float))
            and not isinstance(value, bool)
            and 0 < value < (1 if fact == _RATE else math.inf)
            and any(own.reads(text, name) for text in texts)
            and (fact != "training.max_steps" or any(_is_of_a_parser(name, text) for text in texts))
        ]
        if len(said) == 1:
            yield stated(fact, said[0][1], *options[said[0][0]])


def _is_of_a_parser(name: str, text: str) -> bool:
    """Whether it is an option of a command: a class of settings may be made with another number."""
    return f'"--{name}"' in text or f'"--{name.replace("_", "-")}"' in text


def _as_number(value: object) -> object:
    """`2e-5`, which YAML takes for a text."""
    return float(value) if isinstance(value, str) and re.fullmatch(r"\d+(?:\.\d*)?[eE][-+]?\d+", value) else value


_OF_MODELS = (
    "model_name_or_path", "model_name", "model_id", "base_model", "model", "model_path", "base_model_name", "pretrained_model_name_or_path",
)  # fmt: skip


def _model_by_default(text: str, name: str) -> str:
    """The model that an option has for a default, be it that of a variable of the environment, where a model is loaded by it."""
    spelt = name.replace("_", "[_-]")
    said = re.search(
        rf"add_argument\(\s*[\"']--{spelt}[\"'](?:[^()]|\([^()]*\)){{0,200}}?\bdefault\s*=\s*(?:[\w.]+\([^()\n]*?,\s*)?[\"']([\w.:/-]+)[\"']",
        text,
    ) or re.search(
        rf"^[ \t]+{name}[ \t]*:[^=\n]{{1,60}}=\s*(?:field\(\s*default\s*=\s*)?[\"']([\w.:/-]+)[\"']", text, re.MULTILINE
    )
    loads = re.search(rf"from_pretrained\(\s*(?:\w+\s*=\s*)?(?:\w+\.){{0,3}}{name}\b", text)
    handed = re.search(rf"\bmodel(?:_name)?\s*=\s*(?:\w+\.){{1,3}}{name}\b", text)
    return said[1] if said is not None and (loads or handed) else ""
