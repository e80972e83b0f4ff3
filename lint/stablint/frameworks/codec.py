"""How the words of a text become a fact's value, and how a value is put back into words: one codec for every way of saying it."""

from __future__ import annotations

from collections.abc import Callable

from stablint.base.light import Any, Pattern
from stablint.syntax.tree import Unknown

Read = Callable[[Any], Any]
Write = Callable[[Any, Any], Any]


class Unwritable(Exception):
    """A value that cannot be said where it should stand."""


_NUMBER = Pattern(r"[-+]?(\d[\d_]*)?(\.\d*)?([eE][-+]?\d+)?\Z")
_ELSEWHERE = Pattern(r"\$\{|\{\{|\}\}|^\$\w+$")
_DTYPES = {
    "fp16": "float16", "half": "float16", "float16": "float16", "16": "float16",
    "bf16": "bfloat16", "bfloat16": "bfloat16",
    "fp32": "float32", "float": "float32", "float32": "float32", "32": "float32",
    "fp64": "float64", "double": "float64", "float64": "float64",
}  # fmt: skip
DTYPE_SPELLINGS = {
    "float16": ("float16", "fp16", "half"),
    "bfloat16": ("bfloat16", "bf16"),
    "float32": ("float32", "fp32", "float"),
}


def read_plain(raw: Any) -> Any:
    """The meant value: text that is a number counts as that number (`1e-4` in YAML is text), text filled in elsewhere is unknown."""
    if type(raw) is not str:
        return raw
    if raw[:1] in "-+.0123456789" and len(raw) < 40 and _NUMBER.match(raw) and any(map(str.isdigit, raw)):
        return _number(raw)
    if ("$" in raw or "{" in raw) and _ELSEWHERE.search(raw):
        return Unknown(f"`{raw[:60]}` is filled in elsewhere")
    return raw


def _number(raw: str) -> Any:
    try:
        return int(raw) if raw.lstrip("+-").replace("_", "").isdigit() else float(raw)
    except ValueError:
        return raw


def read_dtype(raw: Any) -> Any:
    raw = read_plain(raw)
    if isinstance(raw, str):
        return _DTYPES.get(raw.removeprefix("torch.").lower(), raw)
    return {16: "float16", 32: "float32"}.get(raw, raw) if type(raw) is int else raw


def read_strategy(raw: Any) -> Any:
    """`no` is False in YAML 1.1; `IntervalStrategy.STEPS` is an enum member."""
    if raw is False:
        return "no"
    raw = read_plain(raw)
    return raw.rpartition(".")[2].lower() if isinstance(raw, str) else raw


def read_flag(raw: Any) -> Any:
    """A truth value that may be written as text."""
    if isinstance(raw, str) and raw.lower() in ("true", "false"):
        return raw.lower() == "true"
    return raw == 1 if type(raw) is int and raw in (0, 1) else read_plain(raw)


def read_switch(raw: Any) -> Any:
    """A switch of a class that is only asked for its truth: 1 is on, 0 is off, a list with something in it is on. Words stay as they are,
    since a parser may cast them and a call takes any for on; a number in quotes is on by either, but for 0."""
    if type(raw) is int or type(raw) is float:
        return raw != 0
    value = read_plain(raw)
    return True if isinstance(value, (int, float, list, dict)) and value else value


def read_words(raw: Any) -> Any:
    """A list that may be written as one text with commas."""
    if not isinstance(raw, str):
        return raw
    value = read_plain(raw)
    if not isinstance(value, str):
        return value
    if value[:1] == "[" and value[-1:] == "]":  # a list written as text: '[q_proj,v_proj]', "['q_proj', 'v_proj']"
        return [word for part in value[1:-1].split(",") if (word := part.strip().strip("\"'"))]
    return [word.strip() for word in value.split(",") if word.strip()] if "," in value else value


def read_text(raw: Any) -> Any:
    """A name or a path: never a number."""
    if isinstance(raw, str):
        return Unknown(f"`{raw[:60]}` is filled in elsewhere") if _ELSEWHERE.search(raw) else raw
    return raw


def read_is_4(raw: Any) -> Any:
    """`quantization_bit: 4` as the question whether it is four."""
    return _bits(raw, 4)


def read_is_8(raw: Any) -> Any:
    return _bits(raw, 8)


def _bits(raw: Any, wanted: int) -> Any:
    value = read_plain(raw)
    return value if type(value) is Unknown else value == wanted


def read_targets(raw: Any) -> Any:
    """LoRA targets as words with commas; LLaMA-Factory's and ms-swift's `all` is PEFT's `all-linear`."""
    value = read_words(raw)
    if value in ("DEFAULT", "AUTO"):
        return Unknown("ms-swift chooses them by the model's type")
    everything = ("all", "ALL", "all-linear", ["all"], ["all-linear"], ["ALL"])
    return "all-linear" if value in everything else [value] if isinstance(value, str) else value


def read_is_bf16(raw: Any) -> Any:
    """One word that names the half format (`--param_dtype bf16`) as the question whether it is that one."""
    return _is_dtype(raw, "bfloat16")


def read_is_fp16(raw: Any) -> Any:
    return _is_dtype(raw, "float16")


def _is_dtype(raw: Any, wanted: str) -> Any:
    value = read_dtype(raw)
    return value if type(value) is Unknown else value == wanted


def read_offload(raw: Any) -> Any:
    """A switch where DeepSpeed's own file names a device."""
    return _switch(raw, "cpu", "none")


def read_flash(raw: Any) -> Any:
    """A switch where transformers names an attention implementation."""
    return _switch(raw, "flash_attention_2", "eager")


def _switch(raw: Any, on: str, off: str) -> Any:
    value = read_flag(raw)
    return {True: on, False: off}.get(value, value) if type(value) is bool else value


# flash_attn of LLaMA-Factory (extras/constants.py, AttentionFunction); `auto` leaves the choice to the library.
_ATTENTION = {"fa2": "flash_attention_2", "fa3": "flash_attention_3", "disabled": "eager", "off": "eager", "auto": None}


def read_attention(raw: Any) -> Any:
    return _ATTENTION.get(raw, raw) if isinstance(raw, str) else "eager" if raw is False else raw


def read_types(raw: Any) -> Any:
    """The `type` of each of axolotl's data sets."""
    if not isinstance(raw, list):
        return raw
    return [item["type"] for item in raw if isinstance(item, dict) and isinstance(item.get("type"), str)]


def read_unformatted(raw: Any) -> Any:
    """The columns that a type of axolotl's preference sets calls by names of its own and gives no format to."""
    if not isinstance(raw, list):
        return raw
    kinds = [item.get("type") for item in raw if isinstance(item, dict)]
    return [
        kind[f"field_{name}"]
        for kind in kinds
        if isinstance(kind, dict)
        for name in ("prompt", "chosen", "rejected")
        if isinstance(kind.get(f"field_{name}"), str)
        and kind[f"field_{name}"] != name
        and not kind.get(f"{name}_format")
    ]


def read_said_twice(raw: Any) -> Any:
    """The columns of messages that axolotl's old keys and its mapping of properties name differently."""
    if not isinstance(raw, list):
        return raw
    return [
        f"message_field_{name}"
        for item in raw
        if isinstance(item, dict) and isinstance(item.get("message_property_mappings"), dict)
        for name in ("role", "content")
        if f"message_field_{name}" in item
        and item["message_property_mappings"].get(name, item[f"message_field_{name}"]) != item[f"message_field_{name}"]
    ]


_ROWS_IN_A_FILE = Pattern(r"(?i)\.(?:jsonl?|parquet|arrow|csv|txt)$")


def read_unloaded(raw: Any) -> Any:
    """The paths of axolotl's preference sets that `load_dataset(path)` finds no repository or folder under, and of JSON without a list of files."""
    if not isinstance(raw, list):
        return raw
    sets = [item for item in raw if isinstance(item, dict) and isinstance(item.get("path"), str)]
    return [
        item["path"]
        for item in sets
        if (
            not isinstance(item.get("data_files"), list)
            if item.get("ds_type") == "json"
            else _ROWS_IN_A_FILE.search(item["path"])
        )
    ]


def read_inverse(raw: Any) -> Any:
    """`disable_x: true` is x: false."""
    value = read_flag(raw)
    return not value if type(value) is bool else value


def read_four_bits(raw: Any) -> Any:
    """A switch for a base of four bits."""
    value = read_flag(raw)
    return (4 if value else None) if type(value) is bool else value


def read_flash_word(raw: Any) -> Any:
    """ms-swift's word for whichever flash attention there is."""
    value = read_text(raw)
    return "flash_attention_2" if value == "flash_attn" else value


def read_swift_init(raw: Any) -> Any:
    """ms-swift's `init_weights`: PEFT's words, and one initialisation of its own (pipelines/train/tuner.py)."""
    value = read_flag(raw)
    return Unknown("ms-swift initialises the adapter itself") if value == "lora-ga" else value


def read_swift_dtype(raw: Any) -> Any:
    """ms-swift 2.x asks the model's own table, then the card, where it says AUTO (v2.6.1, swift/llm/utils/argument.py)."""
    return Unknown("ms-swift chooses it by model and card", _BY_CARD) if raw == "AUTO" else read_dtype(raw)


_BY_CARD = ("target.gpu.native_bf16", Unknown("ms-swift's table of models decides"), "float16")


def read_member(raw: Any) -> Any:
    """`peft.TaskType.CAUSAL_LM` is the text "CAUSAL_LM"."""
    value = read_text(raw)
    return value.rpartition(".")[2] if isinstance(value, str) else value


def read_prefix(raw: Any) -> Any:
    """A prefix of so many tokens before every layer is prefix tuning, by the model's own code: ChatGLM's `PrefixEncoder`, P-tuning v2's; not PEFT's."""
    length = read_plain(raw)
    if isinstance(length, int) and not isinstance(length, bool) and length > 0:
        return "PREFIX_ENCODER"
    return length if type(length) is Unknown else Unknown("it has no prefix")


def read_first(raw: Any) -> Any:
    return _nth(raw, 0)


def read_second(raw: Any) -> Any:
    return _nth(raw, 1)


def _nth(raw: Any, index: int) -> Any:
    """Of two numbers in one setting, such as Adam's betas."""
    if isinstance(raw, str):
        raw = [word for word in raw.strip("[]() ").replace(",", " ").split() if word]
    if isinstance(raw, list) and len(raw) == 2:
        return read_plain(raw[index])
    return raw if type(raw) is Unknown else Unknown("two numbers are expected")


CODECS: dict[str, Read] = {
    "member": read_member,
    "plain": read_plain, "dtype": read_dtype, "strategy": read_strategy, "flag": read_flag, "switch": read_switch, "words": read_words, "text": read_text,
    "is-4": read_is_4, "is-8": read_is_8, "targets": read_targets, "is-bf16": read_is_bf16, "is-fp16": read_is_fp16,
    "offload": read_offload, "flash": read_flash, "first": read_first, "second": read_second,
    "four-bits": read_four_bits, "flash-word": read_flash_word, "swift-dtype": read_swift_dtype, "short-dtype": read_dtype, "swift-init": read_swift_init,
    "attention": read_attention, "inverse": read_inverse, "types": read_types, "prefix": read_prefix,
    "unformatted": read_unformatted, "unloaded": read_unloaded, "said-twice": read_said_twice,
}  # fmt: skip


def write(codec: str, value: Any, old: Any = None) -> Any:
    """What to write so that the codec reads `value`, in the style of `old` (None: nothing stands there). Raises Unwritable."""
    writer = WRITERS.get(codec)
    return value if writer is None else writer(value, old)


def _write_dtype(value: Any, old: Any) -> Any:
    """`torch.bfloat16` for `torch.float16`, `bf16` for `fp16`."""
    known = read_dtype(old) if isinstance(old, str) else None
    if not isinstance(value, str) or value not in DTYPE_SPELLINGS or known not in DTYPE_SPELLINGS:
        return value
    if old.startswith("torch."):
        return "torch." + value
    spellings = DTYPE_SPELLINGS[known]
    return DTYPE_SPELLINGS[value][min(spellings.index(old) if old in spellings else 0, 1)]


def _write_words(value: Any, old: Any) -> Any:
    """A list that was written as one text with commas stays one text."""
    if isinstance(value, list) and isinstance(old, str) and all(isinstance(word, str) for word in value):
        return ",".join(value)
    return value


def _write_targets(value: Any, old: Any) -> Any:
    if value != "all-linear":
        return _write_words(value, old)
    raise Unwritable("the framework's own word for all linear layers is not known here")


def _only(*pairs: tuple[Any, Any]) -> Write:
    """A codec with so few values that each has one word."""

    def writer(value: Any, old: Any) -> Any:
        for meant, word in pairs:
            if type(value) is type(meant) and value == meant:
                return word
        raise Unwritable(f"the setting has no word for {value}")

    return writer


_SHORT = _only(("bfloat16", "bf16"), ("float16", "fp16"), ("float32", "fp32"))
# Where one word answers two questions (`bf16` or `fp16`), the answer no to one is the word of the other.
WRITERS: dict[str, Write] = {
    "dtype": _write_dtype, "words": _write_words, "targets": _write_targets,
    "is-4": _only((True, 4)), "is-8": _only((True, 8)),
    "is-bf16": _only((True, "bf16"), (False, "fp16")), "is-fp16": _only((True, "fp16"), (False, "bf16")),
    "offload": _only(("cpu", True), ("none", False)), "flash": _only(("flash_attention_2", True), ("eager", False)),
    "inverse": _only((True, False), (False, True)), "types": lambda value, old: _no_pair("it is part of each data set"),
    "attention": _only(("flash_attention_2", "fa2"), ("flash_attention_3", "fa3"), ("eager", "disabled"), ("sdpa", "sdpa")),
    "prefix": lambda value, old: _no_pair("its length is a choice of its own"),
    "unformatted": lambda value, old: _no_pair("it is part of each data set"),
    "unloaded": lambda value, old: _no_pair("it is part of each data set"),
    "said-twice": lambda value, old: _no_pair("it is part of each data set"),
    "four-bits": _only((4, True), (None, False)),
    "flash-word": lambda value, old: "flash_attn" if value == "flash_attention_2" else value,
    "swift-dtype": _SHORT, "short-dtype": _SHORT,
    "first": lambda value, old: [value, _nth(old, 1)] if _pair(old) else _no_pair(),
    "second": lambda value, old: [_nth(old, 0), value] if _pair(old) else _no_pair(),
}  # fmt: skip


def _pair(old: Any) -> bool:
    return isinstance(old, list) and len(old) == 2


def _no_pair(why: str = "the other of the two numbers is not known") -> Any:
    raise Unwritable(why)
