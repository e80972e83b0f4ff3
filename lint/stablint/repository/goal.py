"""What a program trains for, by what its options say, what it loads and what it leaves out of the loss; or that it only judges.

Asked only where a file is shown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from collections.abc import Mapping as Table

from stablint.frameworks.fragment import plain_value
from stablint.repository.given import Given, stated
from stablint.run.fact import Statement
from stablint.syntax.tree import Document

_JUDGES = re.compile(r"\bdef generate\b|\.generate\(|\bno_grad\(|\binference_mode\(")

_STEPS = re.compile(r"backward|optimi[sz]er|optim\b|trainer|\.fit\b|\btrain\b|finetun|training", re.IGNORECASE)

_MASKED = re.compile(r"MaskedLM\b|\bmlm_probability\b|\bmlm[ \t]*=[ \t]*True")

_CAUSAL = re.compile(
    r"CausalLM\b|LMHead|Seq2SeqLM|ConditionalGeneration|DPOTrainer|SFTTrainer|\bGPT\w{0,20}(?:Model|LM)", re.IGNORECASE
)

_LOADS_CAUSAL = re.compile(r"\b\w{0,40}(?:ForCausalLM|LMHeadModel)\.from_pretrained\(")
_OF_TOKENS = re.compile(r"\.loss\b|cross_?entropy", re.IGNORECASE)
_OTHERWISE = re.compile(
    r"kl_?div|log_?sigmoid|reward|teacher|distil|contrastive|triplet|info_?nce|cosine_?(?:sim|emb)|mse_?loss|advantage|policy|preference|\bchosen\b"
    r"|rejected|\bbce|value_?head|watermark",
    re.IGNORECASE,
)

_CLASSIFIES = re.compile(r"For\w{0,16}Classification\b|\bnum_labels\b")
_BY_A_HEAD = re.compile(r"\bCrossEntropyLoss\(|\bBCE(?:WithLogits)?Loss\(|\bcross_entropy\(")
_HEAD = re.compile(r"\bclass \w{0,40}Classif|\bclassifier\w{0,20}[ \t]*=(?!=)[ \t]*(?:nn\.|\w{0,40}Classif)")

_ANSWERS = re.compile(r"-100\b|ignore_?index|response_only|completion_only|loss_mask", re.IGNORECASE)

_ASKED_FOR = re.compile(r"instruction|response|assistant|prompt|completion", re.IGNORECASE)

_TUNES = re.compile(r"(?<![a-z])(?:sft|instruct\w*|alpaca|chat)(?![a-z])")

_STAGE = re.compile(r"(?:train|training)_?(?:mode|stage|type|phase|task)|stage|mode|task\Z")

_STAGES = {
    "pretrain": "pretrain",
    "pretraining": "pretrain",
    "pre-train": "pretrain",
    "sft": "sft",
    "finetune": "sft",
    "finetuning": "sft",
}


# What is trained for whatever is frozen below.
OF_A_HEAD = frozenset(["classification", "masked language modelling"])


def goal(
    program: str, texts: list[str], given: Table[str, Given], options: Table[str, Given], document: Document | None
) -> Iterator[Statement]:
    """What it trains for, by what its options say, what it loads and what it leaves out of the loss."""
    if document is None:
        return
    for name, (where, entry) in given.items():
        word = plain_value(entry.value)
        if _STAGE.match(name) and isinstance(word, str) and word.lower() in _STAGES and name in options:
            yield stated("launch.goal", _STAGES[word.lower()], where, entry)
            return
    name = os.path.basename(program).lower()
    whole = "\n".join(texts)
    causal = _CAUSAL.search(whole) is not None
    found = ""
    if re.match(r"run_(?:clm|mlm)", name) and "config_name" in given and "model_name_or_path" not in given:
        found = "pretrain"
    elif not causal and _MASKED.search(whole):
        found = "masked language modelling"
    elif not causal and (_CLASSIFIES.search(whole) or (_BY_A_HEAD.search(whole) and _HEAD.search(whole))):
        found = "classification"
    elif _TUNES.search(name) or (_ANSWERS.search(whole) and _ASKED_FOR.search(whole)):
        found = "sft"
    elif (
        ".backward(" in whole
        and _LOADS_CAUSAL.search(whole)
        and _OF_TOKENS.search(whole)
        and not _OTHERWISE.search(whole)
    ):
        found = "causal language modelling"
    if found:
        yield stated("launch.goal", found, document, None)


def judges(text: str) -> bool:
    """A module that loads a model, sets it to judge, and has nothing in it that trains."""
    return _JUDGES.search(text) is not None and ".eval()" in text and not _STEPS.search(text)
