"""A model's name or path taken apart: `./saves/Qwen2.5-72B-Instruct/lora` → qwen 2.5 72b instruct.

The compiled names are made with it too.
"""

from __future__ import annotations

import re

Tokens = tuple[str, ...]

# A version runs into the word behind it in short names: `qwen2.5vl`, `qwen2audio`.
_VERSIONED = r"\d+(?:\.\d+)*(?=(?:vlm?|omni|audio|vision|coder|math|instruct|chat)(?![a-z]))"
_TOKEN = rf"\d+b\d+(?![a-z0-9])|\d+x\d+(?:\.\d+)?[bm]|{_VERSIONED}|\d+(?:\.\d+)*[a-z]*|[a-z]+"

# Folder names that say what was done, not to which model.
_STEPS = (
    r"(checkpoint|epoch|step|global_step|iter|run|exp|version|v|train|trial|part)s?[-_]?[\d._-]*"
    r"|(final|best|last|latest|merged?|full|freeze|q?lora|dora|adapters?|sft|dpo|kto|orpo|ppo|grpo|rm|reward|pt|pretrain(ed)?|finetuned?"
    r"|base|instruct|chat|hf|export(ed)?|outputs?|results?|models?|model_hub|weights|ckpts?|checkpoints|snapshots|saves?|saved|cache|hub|tmp|data"
    r"|resolve|main|refs|experiments?|logs?)([-_](model|lora|merged|hf|sft|dpo|full|adapter|checkpoint))*"
    r"|[0-9a-f]{16,64}|[\d_.:T-]+"
)
_SIZE = r"(\d+x)?\d+(\.\d+)?[bmt]|\d+b\d"
_QUANTISED = (  # the tokens of a name, joined
    (r"-mlx-", "mlx"),
    (r"-auto-?round-", "auto-round"),
    (r"-exl-2-", "exl2"),
    (r"-exl-3-", "exl3"),
    (r"-awq-", "awq"),
    (r"-gptq-|-128g-|-32g-|-int-[48]-", "gptq"),
    (r"-aqlm-", "aqlm"),
    (r"-eetq-", "eetq"),
    (r"-hqq-", "hqq"),
    (r"-(gguf|ggml)-", "gguf"),
    (r"-(bnb|[48]bit|nf-4|bitsandbytes)-", "bitsandbytes"),
    (r"-(w-8a-8|w-4a-16|nvfp-4)-", "compressed-tensors"),
    (r"-fp-8-", "fp8"),
    (r"-mxfp-4-", "mxfp4"),
)


def tokens(text: str) -> Tokens:
    """Words, version numbers and sizes: letters and digits are parted unless a digit comes first (`7b`, `8x7b`, `4bit`).

    A class's head says nothing of the family: `tiny-Qwen2ForCausalLM-2.5`.
    """
    if "For" in text:
        text = re.sub(r"For[A-Z][A-Za-z]*", "", text)
    text = re.sub(
        r"(?<![_\d])(?<!_\d)(\d)_(?=\d)(?!\d+[bm])|(?<=-)(\d)_(?=\d+[bm])", r"\1\2.", text.lower()
    )  # qwen2_5, Qwen-1_8B
    return tuple(re.findall(_TOKEN, text))


def component(path: str) -> list[str]:
    """The parts of a name or path that may name the model, the likeliest first.

    Of a hub id it is the part behind the organisation. Of a longer path the last part that is no step of the training comes first; a part
    that is only a size belongs to the one before it (`llama/7b`).
    """
    parts = [part for part in re.split(r"[/\\]+", path.strip().rstrip("/\\")) if part not in ("", ".", "..", "~")]
    parts = [
        part.removeprefix("models--").partition("--")[2] if part.startswith("models--") else part for part in parts
    ]
    local = len(parts) > 2 or path[:1] in "./~\\"
    found: list[str] = []
    size = ""
    for part in reversed(parts):
        if re.fullmatch(_SIZE, part.lower()):
            size = size or "-" + part
        elif not re.fullmatch(_STEPS, part, re.IGNORECASE):
            found.append(part + size)
            size = ""
            if not local:
                break
    return found or ([parts[-1]] if parts else [])


def nominal(words: Tokens) -> tuple[str, int] | None:
    """The size that a name states, as written and in parameters: 0.5b, 135m, 8x7b, 1b7. Active sizes (a3b) do not count,
    nor numbers of so many digits that no model has."""
    for position, word in enumerate(words):
        if position and words[position - 1] == "a" and re.fullmatch(r"\d+(\.\d+)?b", word):
            continue
        stated = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)([bmt])", word)
        if stated and (
            stated[2] != "m" or float(stated[1]) >= 10
        ):  # m2m100, CC3M: of many to many, of three million pictures
            return word, round(float(stated[1]) * {"m": 1e6, "b": 1e9, "t": 1e12}[stated[2]])
        split = re.fullmatch(r"(\d{1,6})b(\d{1,6})", word)
        if split:
            return word, round(float(f"{split[1]}.{split[2]}") * 1e9)
        experts = re.fullmatch(r"(\d{1,6})x(\d{1,6}(?:\.\d{1,6})?)([bm])", word)
        if experts:
            return word, round(int(experts[1]) * float(experts[2]) * {"m": 1e6, "b": 1e9}[experts[3]])
    return None


def quantised(words: Tokens) -> str | None:
    """The method of a checkpoint that is quantised already, by the suffix of its name: -AWQ, -GPTQ-Int4, -bnb-4bit, -GGUF, -FP8."""
    joined = f"-{'-'.join(words)}-"
    return next((method for pattern, method in _QUANTISED if re.search(pattern, joined)), None)


def drafts(words: Tokens) -> bool:
    """Is it a small model that guesses ahead for the one that it is named after: `Qwen3-8B-speculator.eagle3`?"""
    return re.search(r"-(speculators?|dflash|medusa|eagle-3)-", f"-{'-'.join(words)}-") is not None
