"""How a program trains: all weights, LoRA or QLoRA, by the options that switch an adapter on and by what it and its modules speak of.

Asked only where a file is shown: of what is presumed here nobody is told anything.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from collections.abc import Mapping as Table

from stablint.base.light import NamedTuple
from stablint.frameworks import own
from stablint.frameworks.fragment import plain_value
from stablint.repository.given import Given, stated, truth
from stablint.repository.lines import asks, calls_of, function_at, is_by_caller, is_decided, is_guarded, is_within
from stablint.run.fact import Statement
from stablint.syntax.python.constants import FROM_FLAGS
from stablint.syntax.python.parse import tree_of
from stablint.syntax.tree import Document, Entry, Unknown

_METHODS = {
    "full": "full",
    "lora": "lora",
    "qlora": "qlora",
    "full_ft": "full",
    "full_finetune": "full",
    "full_finetuning": "full",
}

_METHOD = re.compile(
    r"(?:method|mode|peft|adapter|tuner|(?:finetuning|finetune|tuning|training|train|ft|peft|adapter|tuner)_(?:type|method|mode))\Z"
)

_SWITCH = re.compile(
    r"(?:use|enable|is|with|do|apply|train|using)?_?(q?lora|peft)(?:_?(?:enabled?|finetun\w*|train\w*|on))?\Z",
    re.IGNORECASE,
)

_MAKES = re.compile(r"\b(?:get_peft_model|PeftModel\w*\.from_pretrained|LoraConfig|inject_adapter_in_model)\(")

_ADAPTS = re.compile(
    r"lora|peft|(?<!Logger)(?<!HTTP)(?<!Type)(?<!HTTP_)adapter|prefix_?(?:tun|enc|proj)|p_?tuning|prompt_?tun|soft_?prompt|ia3"
    r"|load_in_[48]bit|bitsandbytes(?![ \t]+as\b|\.optim)"
    r"|\bbnb_(?!8bit)|freez|\bfrozen\b(?![ \t]*=[ \t]*True)",
    re.IGNORECASE,
)


_PARAMETER = re.compile(r"\bpeft_config\b[^=\n]{0,80}=[ \t]*None\b")
_OF_PARAMETER = re.compile(
    r"\w{0,40}peft\w{0,40}|is_\w{0,40}lora\w{0,40}|\w{0,40}load(?:ed)?_in_[48]bit\w{0,40}", re.IGNORECASE
)
_FREEZES = re.compile(r"^([ \t]*)([\w.\[\]]{0,120}?)\.?requires_grad(?:_\(|[ \t]*=(?!=))[^\n]*", re.MULTILINE)

_FREEZING = re.compile(r"\w{0,40}fr(?:eez|oz)\w{0,40}", re.IGNORECASE)

_OTHER_MODEL = re.compile(
    r"(?:\b|_)(?:ref|reference|teacher|old|initial|sft|frozen|reward|rm|critic|judge)(?:\b|_)", re.IGNORECASE
)

_IMPORTS_PEFT = re.compile(
    r"^[ \t]*from[ \t]+peft\b[\w.]{0,60}[ \t]+import[ \t]*(\([^()]{0,2000}\)|[^\n]{0,400})", re.MULTILINE
)
_FREEZES_BY_CALL = re.compile(r"\.(\w{0,40}fr(?:eez|oz)\w{0,40})\(")

_LOOP = re.compile(r"[ \t]*for\b[^\n]{0,200}?\bin\b([^\n]*)")

_OFF = re.compile(
    r"^[ \t]+(\w+)[ \t]*:[ \t]*(?:Optional\[)?bool\]?[ \t]*=[ \t]*(?:field\(\s{0,80}default[ \t]*=[ \t]*)?False\b",
    re.MULTILINE,
)


class Way(NamedTuple):
    """`full`, `lora` or `qlora`, with the option that says so; None where none does: no word of an adapter stands anywhere, or one is made always."""

    word: str
    option: Given | None
    either: bool = False  # one of two branches makes an adapter, the other one goes on with a stored one


def way(texts: list[str], options: Table[str, Given], whole: bool) -> Way | None:
    """How the program trains, with these options given; None where that is not known. `whole`: these texts are all that may train for it, and
    freeze no weights of the model that is trained."""
    for name, option in options.items():
        word = plain_value(option.entry.value)
        if _METHOD.fullmatch(name) and isinstance(word, str) and word.lower() in _METHODS and _is_compared(name, texts):
            return Way(_METHODS[word.lower()], option)
    asked = {
        name: option
        for name, option in options.items()
        if _SWITCH.fullmatch(name) and any(map(asks(name).search, texts))
    }
    on = [name for name in asked if truth(asked[name][1]) is True]
    if on:
        first = next((name for name in on if "qlora" in name.lower()), on[0])
        return Way("qlora" if "qlora" in first.lower() else "lora", asked[first])
    by_class = {name for text in texts for name in _OFF.findall(text)}
    off = [
        name
        for name, (_, entry) in asked.items()
        if (truth(entry) is False or (name in by_class and _is_left(entry))) and "qlora" not in name.lower()
    ]
    if off:
        within = all(
            is_within(text, made.start(), off) or is_guarded(text, made.start(), off)
            for text in texts
            for made in _MAKES.finditer(text)
        )
        return (
            Way("full", asked[off[0]])
            if within and len(off) + sum("qlora" in one.lower() for one in asked) == len(asked)
            else None
        )
    if not asked and (word := adapted(texts)):
        return Way(word, None, any(not is_decided(text, at) for text in texts for at, _ in _in_both_branches(text)))
    if whole:  # nothing of the program's own freezes
        texts = [_without_unused(text) for text in _without_freezing(texts)]
    if not whole or _ADAPTS.search(texts[0]):
        return None
    for text in map(_without_parameter, texts[1:]):
        if _ADAPTS.search(text) and (_MAKES.search(text) or _OF_OTHERS.search(text) or _IS_ADAPTER.search(text)):
            return None
    return Way("full", None)


def frozen(texts: list[str], options: Table[str, Given]) -> bool:
    """Whether weights are frozen that may be of the model which is trained: in no branch of an option that is off."""
    off = [name for name, option in options.items() if truth(option[1]) is False]
    off += [name for text in texts for name in _OFF.findall(text) if name in options and _is_left(options[name][1])]
    for text in texts:
        for found in _FREEZES.finditer(text):
            at = found.start(2)
            if "True" in found[0] or _is_of_another(text, found) or _denies(found[0], off) or is_by_caller(text, at):
                continue  # of what is trained, or of the model that is only asked
            if not _is_left_at(text, at, off, texts, _FAR):
                return True
    return False


_FAR = 2  # callers of callers


def _is_left_at(text: str, at: int, off: list[str], texts: list[str], far: int) -> bool:
    """Whether a line stands in a branch of an option that is off, or only what stands there calls its function, or makes its class."""
    if is_within(text, at, off) or _denies(_line(text, at), off):
        return True
    name = function_at(text, at)
    if name == "__init__":
        name = next(iter(re.findall(r"^class[ \t]+(\w+)", text[:at], re.MULTILINE)[-1:]), "")
    calls = calls_of(name, texts) if name and far else []
    return bool(calls) and all(_is_left_at(other, place, off, texts, far - 1) for other, place in calls)


_DENIED = re.compile(r"\bnot[ \t]+(?:\w{1,60}\.){0,4}(\w{1,60})")


def _denies(line: str, off: list[str]) -> bool:
    """Whether what is frozen otherwise is trained where these options are off: `requires_grad_(not args.freeze_llm)`."""
    return any(name in off for name in _DENIED.findall(line))


def _line(text: str, at: int) -> str:
    end = text.find("\n", at)
    return text[at : end if end >= 0 else len(text)]


def _is_compared(name: str, texts: list[str]) -> bool:
    asked = re.compile(rf"\b{name}[ \t]*(?:==|!=|in\b|not in\b)[^\n]{{0,200}}(?:lora|full|none)", re.IGNORECASE)
    return any(map(asked.search, texts))


def _without_parameter(text: str) -> str:
    """Without what a class asks of an adapter's configuration of which nobody gives it one."""
    return _OF_PARAMETER.sub("", text) if _PARAMETER.search(text) else text


def _without_unused(text: str) -> str:
    """Without what is imported of PEFT and named nowhere else."""
    words = Counter(re.findall(r"\w+", text)) if _IMPORTS_PEFT.search(text) else {}
    return _IMPORTS_PEFT.sub(
        lambda one: one[0] if any(words[name] > 1 for name in re.findall(r"\w+", one[1])) else "", text
    )


def _without_freezing(texts: list[str]) -> list[str]:
    """Without the words of freezing, but for the methods of a library's that freeze."""
    called = {name for text in texts for name in _FREEZES_BY_CALL.findall(text)}
    called -= {name for name in called if any(f"def {name}(" in text for text in texts)}
    return [_FREEZING.sub(lambda one: one[0] if one[0] in called else "", text) for text in texts]


def _is_of_another(text: str, found: re.Match[str]) -> bool:
    if _OTHER_MODEL.search(found[2]):
        return True
    for line in reversed(text[max(0, found.start() - 400) : found.start()].splitlines()[-3:]):
        loop = _LOOP.match(line)
        if loop is not None:
            return _OTHER_MODEL.search(loop[1]) is not None
    return False


def _is_left(entry: Entry) -> bool:
    """Whether nobody gives the option, and the class alone has its default."""
    value = plain_value(entry.value)
    return isinstance(value, Unknown) and value.reason.endswith(FROM_FLAGS)


# An adapter of a module's own; that a library's is named there, or switched off, makes none.
_IS_ADAPTER = re.compile(
    r"\b(?:class|def)[ \t]+\w{0,40}(?:lora|peft|adapter|prefix_?(?:tun|enc)|(?:soft_?)?prompt_?(?:tun|enc|emb)|p_?tuning)"
    r"|\bimport\b[^\n]{0,200}\b(?:get_peft_model|\w{0,20}LoraConfig)\b|\blora_[AB]\b|add_adapter\(|freez"
    r"|load_in_[48]bit[\"']?[ \t]*[=:][ \t]*True|\bpeft_config[ \t]*=(?!=)[ \t]*(?!None\b|peft_config\b)",
    re.IGNORECASE,
)
# PEFT's other adapters.
_OF_OTHERS = re.compile(
    r"\b(?:Prefix|Prompt|IA3|AdaptionPrompt|AdaLora|LoHa|LoKr|OFT|BOFT|Vera|PromptEncoder|Poly|FourierFT)\w{0,20}Config\("
)

_LOADS_A_MODEL = re.compile(
    r"\b(?!\w{0,60}(?:Config|Tokenizer|Processor|Extractor|Peft)\w{0,60}\.)\w{0,60}(?:Model|LM|ForConditionalGeneration)\w{0,40}\.from_pretrained\("
)

# A stored adapter that is trained further.
_TRAINS_ON = re.compile(
    r"\bPeftModel\w{0,40}\.from_pretrained\([^()]{0,200}(?:\([^()]{0,80}\)[^()]{0,120}){0,3}\bis_trainable\s{0,3}=\s{0,3}True"
)
_PUTS_IT_IN = re.compile(rf"(?<!def )\bget_peft_model\(|{_TRAINS_ON.pattern}")
_ADAPTS_IT = re.compile(r"\bget_peft_model\(|\bPeftModel\w*\.from_pretrained\(")

_ASKED_ONLY = re.compile(
    r"eval|infer|generat|merge|test|ref|teacher|reward|judge|baseline|demo|chat|predict|sampl|export|convert|serve",
    re.IGNORECASE,
)

_IN_4_BITS = re.compile(r"load_in_4bit[\"']?[ \t]*[=:,][^\n]{0,60}\bTrue\b")


def adapted(texts: list[str]) -> str:
    """`lora` or `qlora` where the program or a module of it puts LoRA into a model, whatever its options say; empty where an option may decide."""
    if not any("LoraConfig(" in text or _TRAINS_ON.search(text) for text in texts) or any(
        map(_OF_OTHERS.search, texts)
    ):
        return ""
    loading = {
        (number, name): body
        for number, text in enumerate(texts)
        for name, body in _loading(text)
        if not number or name in ("", "__init__") or calls_of(name, texts)
    }
    if len(loading) > 1 and not all(map(_ADAPTS_IT.search, loading.values())):
        return ""  # one of them may be trained whole
    for number, text in enumerate(texts):
        either = list(_in_both_branches(text))
        for made in _PUTS_IT_IN.finditer(text):
            name = function_at(text, made.start())
            calls = calls_of(name, texts) if name else []
            if number and name and not calls and name != "__init__":
                continue  # of a module from which something else is imported
            decided = is_decided(text, made.start()) and not any(
                begin <= made.start() < end and not is_decided(text, begin) for begin, end in either
            )
            if decided or (calls and all(is_decided(*one) for one in calls)):
                continue
            return "qlora" if any(_IN_4_BITS.search(one) for one in texts) else "lora"
    return ""


def _in_both_branches(text: str) -> Iterator[tuple[int, int]]:
    """Where each of two branches puts an adapter in: a new one, or a stored one that is trained further."""
    tree = tree_of(text) if len(_PUTS_IT_IN.findall(text)) > 1 else None
    begins = [0, *(one.end() for one in re.finditer("\n", text))]
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.If) and node.orelse and node.end_lineno is not None:
            start, middle, end = (begins[line - 1] for line in (node.lineno, node.orelse[0].lineno, node.end_lineno))
            end = text.find("\n", end) if "\n" in text[end:] else len(text)
            if _PUTS_IT_IN.search(text, start, middle) and _PUTS_IT_IN.search(text, middle, end):
                yield start, end


def _loading(text: str) -> Iterator[tuple[str, str]]:
    """The functions that load a model, by their names with what stands in them, but for those that only ask one."""
    begins = [one.start() for one in re.finditer(r"^[ \t]*(?:async[ \t]+)?def[ \t]", text, re.MULTILINE)]
    for found in _LOADS_A_MODEL.finditer(text):
        name = function_at(text, found.start())
        if _ASKED_ONLY.search(name):
            continue
        start = max((one for one in begins if one <= found.start()), default=0)
        yield name, text[start : min((one for one in begins if one > found.start()), default=len(text))]


def switches(given: Table[str, Given], options: Table[str, Given], texts: list[str]) -> dict[str, Given]:
    """What a file says of the way under a name that the program asks for: `if cfg.model.apply_lora`."""
    return {
        name: one
        for name, one in given.items()
        if name not in options
        and (_SWITCH.fullmatch(name) or _METHOD.fullmatch(name))
        and any(own.reads(text, name) for text in texts)
    }


def said(way: Way, program: Document | None) -> Statement | None:
    if way.option is None:
        if program is None:
            return None
        # what the weights are loaded in says the rest
        fact, value = ("lora.use_peft", True) if way.word == "lora" else ("training.finetuning_type", way.word)
        return stated(fact, value, program, None)
    if way.word == "qlora":
        return stated("training.finetuning_type", "qlora", *way.option)
    return stated("lora.use_peft", way.word == "lora", *way.option)


def makes(texts: list[str]) -> bool:
    return any(map(_MAKES.search, texts))


def freezes(texts: list[str]) -> bool:
    return any(map(_FREEZES.search, texts))


def adapts(texts: list[str]) -> bool:
    """Whether a word of an adapter stands anywhere, but for those of freezing."""
    return any(_ADAPTS.search(_FREEZING.sub("", one)) for one in texts)
