"""What is wrong with a text as such (it does not parse, it is too long) concerns whoever trains only where a training reads the text.

What was merely found is told where the text speaks of training; a text that becomes a file of its own (`%%writefile`, a here-document) is
asked for itself, not for the notebook or script around it.
"""

from __future__ import annotations

import re

from stablint.base.light import Pattern
from stablint.files.discover import is_configuration
from stablint.syntax.tree import Document

_TELLING = Pattern(
    r"learning_rate|per_device_train|micro_batch|zero_optimization|lora_|num_train_epochs|TrainingArguments|gradient_accumulation|from_pretrained"
)
# A setting of a run in the place of a key.
_KEYED = Pattern(
    r"(?:^|[{,\n])[ \t]*[\"']?(?:learning_rate|per_device_train_batch_size|per_device_eval_batch_size|micro_batch_size|train_batch_size"
    r"|train_micro_batch_size_per_gpu|zero_optimization|lora_r|lora_rank|lora_alpha|lora_target|lora_dropout|num_train_epochs|num_epochs"
    r"|gradient_accumulation_steps|gradient_checkpointing|deepspeed_config|fsdp_config|distributed_type"
    r"|peft_type|bf16|fp16|optimizer|lr_scheduler_type)[\"']?[ \t]*:"
)
# What an evaluation writes down as well: two of them, or none.
_NAMED = Pattern(r"(?:^|[{,\n])[ \t]*[\"']?(model_name_or_path|base_model|output_dir)[\"']?[ \t]*:")
# Kinds of files in which settings are only spoken of, however they are named: `stablint *` on a README.
_PROSE = (
    ".md", ".markdown", ".rst", ".adoc", ".txt", ".tex", ".html", ".htm", ".xml", ".svg", ".csv", ".tsv", ".log", ".patch", ".diff",
)  # fmt: skip
# Markdown, and what a program fills in before anybody reads it.
_OTHER = Pattern(r"^```|\{\{|\{%", re.MULTILINE)


def is_told(document: Document, asked: bool) -> bool:
    """Whether the problems of a document are told. `asked`: the file was named by its user, or something in it was recognised."""
    view = document.view
    if view is not None and view.name:
        return _speaks(view.source, document.format)
    text = document.text
    if asked:
        if text.path.lower().endswith(_PROSE):
            return False
        return is_configuration(text.path) or _speaks(text.text, document.format)
    return _speaks(text.text, document.format)


def speaks(text: str) -> bool:
    """Whether problems of a program are told that nobody has named."""
    return bool(_TELLING.search(text))


def _speaks(text: str, format: str) -> bool:
    if format in ("yaml", "json"):
        keyed = _KEYED.search(text) is not None or len(set(_NAMED.findall(text))) > 1
        return keyed and not _OTHER.search(text)
    return speaks(text)


def is_program_too_large(documents: tuple[Document, ...]) -> bool:
    """Whether a notebook or a program is too large to be read. A large JSON or YAML file is data: nothing is said of it."""
    kinds = {problem.kind for document in documents for problem in document.problems}
    return "too-large" in kinds and documents[0].format not in ("yaml", "json")
