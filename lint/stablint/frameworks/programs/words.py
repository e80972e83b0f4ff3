"""Whether a Python text may say anything of a training, by its words alone: most programs of most repositories hold none that a reader looks for.

What is told of a call rests on names that stand in the text, whichever import brings them; so a text without them needs no tree. Each
question here is wider than the one of the reader that it stands for (`python_kinds.kind`, `constants.recognise`, `xtuner.recognise`).
"""

from __future__ import annotations

import re

from stablint.frameworks.programs import constants
from stablint.frameworks.programs import kinds as python_kinds

_WORD = re.compile(r"\w+")
_OPTION = re.compile(r"[^\W_]\w*")

# One of them is enough: classes and functions that libraries train with, and the libraries of which any class counts.
_TELLING = frozenset(
    {
        *python_kinds.ARGUMENTS, *python_kinds.QUANTISERS, *python_kinds.TRAINERS, *python_kinds.ACCELERATES, *python_kinds.METHODS,
        "Fabric", "LoraConfig", "peft", "from_pretrained", "get_peft_model", "sentence_transformers", "xtuner", "optim_wrapper",
        "pretrained_model_name_or_path", "training_args",
    }
)  # fmt: skip
# A token that is handed over by its name, as a literal or as what stands for one.
_GIVEN = re.compile(rf"""\b(?:{"|".join(sorted(python_kinds.TOKEN_ARGUMENTS))})(?:[ \t]*=(?!=)|["'])""")
# Libraries with a login of their own, and `login(…)` of a star import.
_LOGINS = frozenset(name.partition(".")[0] for name in python_kinds.LOGINS if "." in name)
_LOGS_IN = re.compile(r"(?<![.\w])(?<!def )login\s*\(")


def may_speak(source: str) -> bool:
    """Whether a reader may find something of a training in the text."""
    words = frozenset(_WORD.findall(source))
    if not _TELLING.isdisjoint(words) or {"deepspeed", "initialize"} <= words:
        return True
    if "login" in words and (not _LOGINS.isdisjoint(words) or _LOGS_IN.search(source) is not None):
        return True
    if not python_kinds.TOKEN_ARGUMENTS.isdisjoint(words) and _GIVEN.search(source) is not None:
        return True
    return _has_settings(words | frozenset(_OPTION.findall(source.replace("-", "_"))))


def _has_settings(words: frozenset[str]) -> bool:
    """Whether its options, fields or constants may be those of a training."""
    return python_kinds.trains(words) or constants.may_hold_settings(words)
