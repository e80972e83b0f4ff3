"""How a program trains, by the options that switch an adapter on and by what it and its modules speak of.

Asked only where a file is shown: of what is presumed here nobody is told anything.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterator
from collections.abc import Mapping as Table

from stablint.assemble.files import Files, Told
from stablint.base.light import NamedTuple
from stablint.files import discover
from stablint.frameworks import own
from stablint.frameworks.fragment import Fragment, Row, plain_value
from stablint.frameworks.programs.imported import relative
from stablint.repository.defaults import by_environment, with_default
from stablint.repository.lengths import Given, constants_of, length, of_trainer
from stablint.repository.loaded import model
from stablint.repository.programs import programs_of
from stablint.repository.referrers import content
from stablint.run.fact import OWN, Explicit, Place, Statement
from stablint.syntax.python import reader as python_reader
from stablint.syntax.tree import Document, Entry, Mapping, Module, Unknown

_MOST = 40  # modules of one program
_FAR = 3  # importers of importers
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^()]*\)|[^\n#]+)|import[ \t]([\w., \t]+))", re.MULTILINE
)
# Libraries that train nothing, or nothing by an adapter unless they are told to.
_KNOWN = frozenset(
    ["torch", "transformers", "trl", "accelerate", "deepspeed", "datasets", "numpy", "np", "pandas", "wandb", "tqdm", "tokenizers", "evaluate",
     "sklearn", "scipy", "matplotlib", "yaml", "omegaconf", "hydra", "fire", "click", "typer", "tyro", "rich", "loguru", "tensorboard",
     "tensorboardX", "tensorboard_logger", "mlflow", "huggingface_hub", "safetensors", "einops", "jinja2", "PIL", "cv2", "torchvision",
     "torchaudio", "sentencepiece", "nltk", "rouge", "rouge_score", "sacrebleu", "bleu", "jsonlines", "ujson", "orjson", "requests", "psutil",
     "dotenv", "dacite", "pydantic", "pyarrow", "str2bool", "colorama", "termcolor", "flash_attn", "liger_kernel", "sentence_transformers",
     "fairscale", "apex", "packaging", "pkg_resources", "six", "absl", "ml_collections", "editdistance", "seaborn", "pynvml", "GPUtil", "ray",
     "vllm", "openai", "tiktoken", "protobuf", "google", "regex", "simple_parsing", "xformers", "triton", "optimum", "setuptools", "attr",
     "attrs", "more_itertools", "zstandard", "h5py", "lmdb", "soundfile", "librosa", "jiwer", "qwen_vl_utils", "decord"]
)  # fmt: skip
_ADAPTS = re.compile(
    r"lora|peft|(?<!Logger)(?<!HTTP)(?<!Type)(?<!HTTP_)adapter|prefix_?(?:tun|enc|proj)|p_?tuning|prompt_?tun|soft_?prompt|ia3"
    r"|load_in_[48]bit|bitsandbytes(?![ \t]+as\b|\.optim)"
    r"|bnb_|freez|\bfrozen\b(?![ \t]*=[ \t]*True)",
    re.IGNORECASE,
)
_MAY_TRAIN = re.compile(r"train|tun(?:e|ing)|peft|model|fit\b|learn|\brun|main|pipeline", re.IGNORECASE)
_COMMENT = re.compile(r'^[ \t]*#[^\n]*$|^[ \t]*[rRuU]?"""[^"]*(?:"{1,2}(?!")[^"]*)*"""', re.MULTILINE)
# What another dtype than float32 may come by.
_CASTS = re.compile(
    r"autocast|\.half\(|float16|\bfp16|bf16|\bamp\b|GradScaler|dtype|load_in_|mixed_precision|from_pretrained\([^()]*\*\*|deepspeed|accelerat",
    re.IGNORECASE,
)
# A trainer's class that takes an adapter's configuration, of which nobody gives it one.
_PARAMETER = re.compile(r"\bpeft_config\b[^=\n]{0,80}=[ \t]*None\b")
_OF_PARAMETER = re.compile(
    r"\w{0,40}peft\w{0,40}|is_\w{0,40}lora\w{0,40}|\w{0,40}load(?:ed)?_in_[48]bit\w{0,40}|(?:disable|ref|model|force|autocast)_\w{0,40}adapter\w{0,40}",
    re.IGNORECASE,
)
_FREEZES = re.compile(r"^([ \t]*)([\w.\[\]]{0,120}?)\.?requires_grad(?:_\(|[ \t]*=(?!=))[^\n]*", re.MULTILINE)
_OTHER_MODEL = re.compile(
    r"(?:\b|_)(?:ref|reference|teacher|old|initial|sft|frozen|reward|rm|critic|judge)(?:\b|_)", re.IGNORECASE
)
_LOOP = re.compile(r"[ \t]*for\b[^\n]{0,200}?\bin\b([^\n]*)")
_SWITCH = re.compile(
    r"(?:use|enable|is|with|do|apply|train|using)?_?(q?lora|peft)(?:_?(?:enabled?|finetun\w*|train\w*|on))?\Z",
    re.IGNORECASE,
)
_MAKES = re.compile(r"\b(?:get_peft_model|PeftModel\w*\.from_pretrained|LoraConfig|inject_adapter_in_model)\(")
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


class Way(NamedTuple):
    """`full`, `lora` or `qlora`, with the option that says so; None where none does: no word of an adapter stands anywhere, or one is made always."""

    word: str
    option: Given | None


class _Source(NamedTuple):
    path: str
    text: str


class Ways:
    def __init__(self, files: Files) -> None:
        self._files = files
        self._closures: dict[str, tuple[list[_Source], bool]] = {}
        self._known: dict[str, list[Given]] = {}
        self._importing: dict[str, list[str]] = {}
        self._imports_of: dict[str, dict[str, tuple[str, ...]]] = {}

    def told(self, program: str, fragments: list[Fragment], settings: Table[str, object]) -> Told:
        given = _given(fragments)
        sources, whole = self._closure(program)
        texts = [_COMMENT.sub("", one.text) for one in sources]
        options = self._options(sources, given)
        frozen = self._frozen(texts, options)
        way = self._way(texts, {**_switches(given, options, texts), **options}, whole and not frozen)
        document = next(iter(self._files.documents(program)), None)
        plain = whole and _CASTS.search("".join(texts)) is None
        partly = whole and frozen and way is None and not any(_ADAPTS.search(_FREEZING.sub("", one)) for one in texts)
        elsewhere = constants_of(one.text for one in sources[1:])
        found = length(sources[0].text, document, given, options, elsewhere) if document is not None else None
        return Told(
            _said(way, document) if way is not None and (way.option is not None or way.word != "full") else None,
            (way is not None and way.option is None and way.word == "full") or partly,
            stated("training.max_length", found[2], *found[:2], found[3]) if found is not None else None,
            any(map(_FREEZES.search, texts)) and not frozen,
            (
                *_by_prefix(options),
                *_divided(texts[0], options),
                *self._measures(program, texts[0]),
                *_of_section(program, fragments),
                *_base(given),
                *(
                    (stated("model.name_or_path", name, document, None),)
                    if document is not None and (name := model([one.text for one in sources], given, options, settings))
                    else ()
                ),
                *_by_own_names(options, texts),
                *(
                    (stated("model.dtype", "float32", document, None),)
                    if document is not None and plain and not any("from_pretrained(" in text for text in texts)
                    else ()
                ),
                *(() if frozen else _goal(program, texts, given, options, document)),
                *((stated("model.partly_frozen", True, document, None),) if partly and document is not None else ()),
            ),
            (*_given_or_default(options, given, texts[0]), *_by_own_names(options, texts)),
            of_trainer(texts[0]),
            plain,
            way is not None and way.option is None,
        )

    def _measures(self, program: str, text: str) -> Iterator[Statement]:
        """A module that loads a model, sets it to judge, and has nothing in it that trains."""
        document = next(iter(self._files.documents(program)), None)
        if document is not None and _JUDGES.search(text) and ".eval()" in text and not _STEPS.search(text):
            yield stated("launch.trains", False, document, None)
            yield stated("launch.phase", "evaluation", document, None)

    def _way(self, texts: list[str], options: Table[str, Given], whole: bool) -> Way | None:
        """How the program trains, with these options given; None where that is not known. `whole`: these texts are all that may train for it, and
        freeze no weights of the model that is trained."""
        for name, option in options.items():
            word = plain_value(option.entry.value)
            if (
                _METHOD.fullmatch(name)
                and isinstance(word, str)
                and word.lower() in _METHODS
                and _is_compared(name, texts)
            ):
                return Way(_METHODS[word.lower()], option)
        switches = {
            name: option
            for name, option in options.items()
            if _SWITCH.fullmatch(name) and any(map(_asks(name).search, texts))
        }
        on = [name for name in switches if _truth(switches[name][1]) is True]
        if on:
            first = next((name for name in on if "qlora" in name.lower()), on[0])
            return Way("qlora" if "qlora" in first.lower() else "lora", switches[first])
        off = [name for name in switches if _truth(switches[name][1]) is False and "qlora" not in name.lower()]
        if off:
            within = all(_is_within(text, made.start(), off) for text in texts for made in _MAKES.finditer(text))
            return (
                Way("full", switches[off[0]])
                if within and len(off) + sum("qlora" in one.lower() for one in switches) == len(switches)
                else None
            )
        if not switches and (word := _adapted(texts)):
            return Way(word, None)
        if not whole or any(
            _ADAPTS.search(_without_parameter(text) if number else text) for number, text in enumerate(texts)
        ):
            return None
        return Way("full", None)

    def _frozen(self, texts: list[str], options: Table[str, Given]) -> bool:
        """Whether weights are frozen that may be of the model which is trained: in no branch of an option that is off."""
        off = [name for name, option in options.items() if _truth(option[1]) is False]
        off += [name for text in texts for name in _OFF.findall(text) if name in options and _is_left(options[name][1])]
        for text in texts:
            for found in _FREEZES.finditer(text):
                if "True" in found[0] or _is_of_another(text, found) or _is_within(text, found.start(2), off):
                    continue
                name = _function(text, found.start(2))
                calls = _calls(name, texts) if name else []
                if not calls or not all(_is_within(other, at, off) for other, at in calls):
                    return True
        return False

    def _options(self, sources: list[_Source], given: Table[str, Given]) -> dict[str, Given]:
        found: dict[str, Given] = {}
        for one in sources:
            for option in self._declared(one):
                found.setdefault(option.entry.key, option)
        return {**found, **{name: given[name] for name in found if name in given}}

    def _declared(self, source: _Source) -> list[Given]:
        """The options of a module, which is parsed once for all runs that it stands in."""
        if source.path not in self._known:
            self._known[source.path] = []
            if any(word in source.text for word in ("add_argument", "dataclass", "click", "typer")):
                made = python_reader.module(source.text)
                document = next(iter(self._files.documents(source.path)), None)
                otherwise = by_environment(source.text)
                for call in made.calls if isinstance(made, Module) else ():
                    if call.name in ("argparse.options", "dataclass.options") and document is not None:
                        entries = (with_default(entry, otherwise) for entry in call.arguments.entries)
                        self._known[source.path] += [Given(document, entry) for entry in entries]
        return self._known[source.path]

    def _closure(self, program: str) -> tuple[list[_Source], bool]:
        """The program and the modules of the repository that it imports, and whether these are all that may train for it. Of a module that others
        import those of the program that starts with it."""
        if program not in self._closures:
            start = self.starter(program)
            found, whole = self._collected(start or program)
            if start is not None:
                own = _Source(program, self._text(program))
                found = [own, *(one for one in found if one.path != program)]
            self._closures[program] = found, whole and (start is not None or "__main__" in found[0].text)
            if start is None and not self.importers(program):
                self._closures[program] = found, whole
        return self._closures[program]

    def starter(self, program: str) -> str | None:
        """The only program that imports this module, or what imports it: of several the one that is called after a training."""
        if not program.endswith(".py") or "__main__" in self._text(program):
            return program
        seen, level, mains = {program}, [program], set[str]()
        for _ in range(_FAR):
            above = [one for path in level for one in self.importers(path) if one not in seen]
            seen.update(above)
            mains |= {one for one in above if "__main__" in self._text(one) or one.endswith("__main__.py")}
            level = [one for one in above if one not in mains]
        named = [one for one in mains if _MAY_TRAIN.search(os.path.basename(one))]
        return next(iter(mains)) if len(mains) == 1 else named[0] if len(named) == 1 else None

    def importers(self, module: str) -> list[str]:
        """The programs of the repository that import a module of it."""
        if module not in self._importing:
            stem = os.path.splitext(os.path.basename(module))[0]
            stem = os.path.basename(os.path.dirname(module)) if stem == "__init__" else stem
            self._importing[module] = [
                one
                for one, names in self._imported_by(self._files.root(module)).items()
                if one != module
                and any(module in self._modules(name, one) for name in names if stem in name.split("."))
            ]
        return self._importing[module]

    def _imported_by(self, root: str) -> dict[str, tuple[str, ...]]:
        """What each program of the repository imports; looked for once."""
        if root not in self._imports_of:
            programs = programs_of(root, self._files) if os.path.isdir(root) else ()
            self._imports_of[root] = {one: tuple(_imports(self._text(one))) for one in programs if one.endswith(".py")}
        return self._imports_of[root]

    def _collected(self, program: str) -> tuple[list[_Source], bool]:
        found, whole = {program: _Source(program, self._text(program))}, True
        pending = [program]
        while pending and len(found) <= _MOST:
            path = pending.pop(0)
            for name in _imports(found[path].text):
                top = name.lstrip(".").partition(".")[0]
                if top in _KNOWN or top == "peft" or (top in sys.stdlib_module_names and not name.startswith(".")):
                    continue
                modules = self._modules(name, path)
                whole = whole and (bool(modules) or not _MAY_TRAIN.search(name))
                for module in modules:
                    if module not in found:
                        found[module] = _Source(module, self._text(module))
                        pending.append(module)
        return list(found.values()), whole and len(found) <= _MOST

    def _text(self, path: str) -> str:
        if path.endswith(".py"):
            return content(path, self._files).decode("utf-8", "replace")
        return "\n".join(one.view.source for one in self._files.documents(path) if one.view is not None)

    def _modules(self, name: str, beside: str) -> list[str]:
        """The files of the repository that an import means: the module, or the package and the module of that name in it."""
        up, named = relative(name)
        parts = [part for part in named if part]
        found: list[str] = []
        for names in (parts, parts[:-1]):
            inner = "/".join(names)
            for wanted in (
                (f"{inner}.py", f"{inner}/__init__.py")
                if names
                else ((f"{up}__init__.py",) if name.startswith(".") else ())
            ):
                for folder in ("", "src/"):
                    path = discover.locate(up + folder + wanted if names else wanted, beside, self._files.reach(beside))
                    if path is not None and os.path.isfile(path):
                        found.append(path)
                        break
        if not found and parts:  # a package without a file of its own
            inside = discover.locate(up + "/".join(parts[:-1] or parts), beside, self._files.reach(beside))
            return [beside] if inside is not None and os.path.isdir(inside) else []
        return found


_JUDGES = re.compile(r"\bdef generate\b|\.generate\(|\bno_grad\(|\binference_mode\(")
_STEPS = re.compile(r"backward|optimi[sz]er|optim\b|trainer|\.fit\b|\btrain\b|finetun|training", re.IGNORECASE)
# PEFT's other adapters.
_OF_OTHERS = re.compile(
    r"\b(?:Prefix|Prompt|IA3|AdaptionPrompt|AdaLora|LoHa|LoKr|OFT|BOFT|Vera|PromptEncoder|Poly|FourierFT)\w{0,20}Config\("
)
_DECIDES = re.compile(
    r"lora|peft|adapt|tun|method|mode(?!l)|type|quant|bit|full|freez|frozen|strateg|stage|use_|enable|flag|debug|args|cfg|config|opt",
    re.IGNORECASE,
)


def _adapted(texts: list[str]) -> str:
    """`lora` or `qlora` where the program or a module of it puts LoRA into a model, whatever its options say; empty where an option may decide."""
    if not any("LoraConfig(" in text for text in texts) or any(map(_OF_OTHERS.search, texts)):
        return ""
    loading = {
        (number, name): body
        for number, text in enumerate(texts)
        for name, body in _loading(text)
        if not number or name in ("", "__init__") or _calls(name, texts)
    }
    if len(loading) > 1 and not all(map(_ADAPTS_IT.search, loading.values())):
        return ""  # one of them may be trained whole
    for number, text in enumerate(texts):
        for made in re.finditer(r"(?<!def )\bget_peft_model\(", text):
            name = _function(text, made.start())
            calls = _calls(name, texts) if name else []
            if number and name and not calls and name != "__init__":
                continue  # of a module from which something else is imported
            if _is_decided(text, made.start()) or (calls and all(_is_decided(*one) for one in calls)):
                continue
            return "qlora" if any(_IN_4_BITS.search(one) for one in texts) else "lora"
    return ""


_LOADS_A_MODEL = re.compile(
    r"\b(?!\w{0,60}(?:Config|Tokenizer|Processor|Extractor|Peft)\w{0,60}\.)\w{0,60}(?:Model|LM|ForConditionalGeneration)\w{0,40}\.from_pretrained\("
)
_ADAPTS_IT = re.compile(r"\bget_peft_model\(|\bPeftModel\w*\.from_pretrained\(")
_ASKED_ONLY = re.compile(
    r"eval|infer|generat|merge|test|ref|teacher|reward|judge|baseline|demo|chat|predict|sampl|export|convert|serve",
    re.IGNORECASE,
)


def _loading(text: str) -> Iterator[tuple[str, str]]:
    """The functions that load a model, by their names with what stands in them, but for those that only ask one."""
    for found in _LOADS_A_MODEL.finditer(text):
        name = _function(text, found.start())
        if _ASKED_ONLY.search(name):
            continue
        begins = [one.start() for one in re.finditer(r"^[ \t]*(?:async[ \t]+)?def[ \t]", text, re.MULTILINE)]
        start = max((one for one in begins if one <= found.start()), default=0)
        yield name, text[start : min((one for one in begins if one > found.start()), default=len(text))]


_IN_4_BITS = re.compile(r"load_in_4bit[\"']?[ \t]*[=:,][^\n]{0,60}\bTrue\b")


def _is_decided(text: str, at: int) -> bool:
    """Whether a line stands in a branch by what may be an option."""
    lines = text[:at].splitlines()
    depth = len(lines[-1]) - len(lines[-1].lstrip()) if lines else 0
    level = -1  # of an `else`, whose question stands above
    for line in reversed(lines[:-1]):
        indent = len(line) - len(line.lstrip())
        if not line.strip() or line.lstrip().startswith("#") or (indent >= depth and indent != level):
            continue
        asks = re.match(r"\s*(?:el)?if\b(.*)", line)
        if indent == level:
            if asks is not None and _DECIDES.search(asks[1]):
                return True
            level = -1 if asks is not None and not line.lstrip().startswith("elif") else level
            continue
        depth = indent
        if asks is not None and _DECIDES.search(asks[1]):
            return True
        if re.match(r"\s*(?:else|elif)\b", line):
            level = indent
        if re.match(r"\s*(?:async[ \t]+)?def\b", line) or not depth:
            break
    return False


_FREEZING = re.compile(r"\w{0,40}fr(?:eez|oz)\w{0,40}", re.IGNORECASE)
_MASKED = re.compile(r"MaskedLM\b|\bmlm_probability\b|\bmlm[ \t]*=[ \t]*True")
_CAUSAL = re.compile(r"CausalLM\b|LMHead|Seq2SeqLM|ConditionalGeneration|DPOTrainer|SFTTrainer|GPT", re.IGNORECASE)
_CLASSIFIES = re.compile(r"For(?:Sequence|Token)Classification\b|\bnum_labels\b")
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


def _goal(
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
    elif not causal and _CLASSIFIES.search(whole):
        found = "classification"
    elif _TUNES.search(name) or (_ANSWERS.search(whole) and _ASKED_FOR.search(whole)):
        found = "sft"
    if found:
        yield stated("launch.goal", found, document, None)


_PREFIXED = re.compile(r"([a-z]+)_(lr|learning_rate)\Z")


def _by_prefix(options: Table[str, Given]) -> Iterator[Statement]:
    """What the program's options say under one prefix: `--grpo-lr`, `--grpo-epochs`, `--grpo-batch-size`."""
    heads = {found[1] for name in options if (found := _PREFIXED.match(name)) is not None}
    if len(heads) != 1 or not heads.isdisjoint(_NO_PREFIX):
        return
    (head,) = heads
    for name, (document, entry) in options.items():
        word = name.removeprefix(f"{head}_")
        row = (own.row(word) or _RANKS.get(word)) if word != name else None
        value = plain_value(entry.value)
        if isinstance(row, Row) and row.codec == "plain" and isinstance(value, (int, float)):
            yield stated(row.fact, value, document, entry)


_NO_PREFIX = frozenset(
    [
        "base",
        "max",
        "min",
        "peak",
        "critic",
        "value",
        "head",
        "mm",
        "end",
        "final",
        "initial",
        "init",
        "warmup",
        "encoder",
    ]
)
_RANKS = {"lora_r": Row("lora_r", "lora.r"), "lora_alpha": Row("lora_alpha", "lora.lora_alpha")}


def _divided(text: str, options: Table[str, Given]) -> Iterator[Statement]:
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


def _of_section(program: str, fragments: list[Fragment]) -> Iterator[Statement]:
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


_RATES = frozenset(["lr", "learning_rate"])


def _base(given: Table[str, Given]) -> Iterator[Statement]:
    """The model that a file names by a name which no library has: `base_model_name_or_path`."""
    one = given.get("base_model_name_or_path")
    if one is not None and isinstance(value := plain_value(one.entry.value), str):
        yield stated("model.name_or_path", value, one.document, one.entry)


def _given_or_default(options: Table[str, Given], given: Table[str, Given], text: str) -> tuple[Statement, ...]:
    """Switches of the precision that the command gives, and the model that the parser has for a default."""
    found = [
        stated(f"training.{name}", True, given[name].document, given[name].entry)
        for name in ("bf16", "fp16")
        if name in options and name in given and _truth(given[name].entry) is True
    ]
    found += [
        stated("model.name_or_path", said, *options[name])
        for name in _OF_MODELS
        if name in options and name not in given and (said := _model_by_default(text, name))
    ][:1]
    return tuple(found)


# Names that programs have for these settings, and that can be nothing else.
_OWN_NAMES = {
    "training.learning_rate": ("lr", "learning_rate", "lr_init", "base_lr", "peak_lr"),
    "training.num_train_epochs": ("num_train_epochs", "num_epochs", "epochs", "epoch_num", "n_epochs", "epoch_count", "max_epochs", "train_epochs"),
    "training.per_device_train_batch_size": (
        "per_device_train_batch_size", "train_micro_batch_size_per_gpu", "micro_batch_size", "micro_bsz", "per_gpu_train_batch_size",
        "per_gpu_batch_size", "batch_size_per_gpu",
    ),
    "training.gradient_accumulation_steps": (
        "gradient_accumulation_steps", "gradient_accumulation", "grad_accum", "grad_accum_steps", "accumulation_steps", "accum_steps", "grad_acc_steps",
        "accumulate_grad_batches",
    ),
}  # fmt: skip


def _by_own_names(options: Table[str, Given], texts: list[str]) -> Iterator[Statement]:
    """What the program's options say of the rate, the epochs and the batch, where it reads one of them, and only one."""
    for fact, names in _OWN_NAMES.items():
        said = [
            (name, value)
            for name in names
            if name in options
            and isinstance(value := _as_number(plain_value(options[name].entry.value)), (int, float))
            and not isinstance(value, bool)
            and 0 < value < (1 if fact == "training.learning_rate" else math.inf)
            and any(own.reads(text, name) for text in texts)
        ]
        if len(said) == 1:
            yield stated(fact, said[0][1], *options[said[0][0]])


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


def _switches(given: Table[str, Given], options: Table[str, Given], texts: list[str]) -> dict[str, Given]:
    """What a file says of the way under a name that the program asks for: `if cfg.model.apply_lora`."""
    return {
        name: one
        for name, one in given.items()
        if name not in options
        and (_SWITCH.fullmatch(name) or _METHOD.fullmatch(name))
        and any(own.reads(text, name) for text in texts)
    }


def _said(way: Way, program: Document | None) -> Statement | None:
    if way.option is None and program is None:
        return None
    if way.option is None and program is not None:  # what the weights are loaded in says the rest
        fact, value = ("lora.use_peft", True) if way.word == "lora" else ("training.finetuning_type", way.word)
        return stated(fact, value, program, None)
    assert way.option is not None
    if way.word == "qlora":
        return stated("training.finetuning_type", "qlora", *way.option)
    return stated("lora.use_peft", way.word == "lora", *way.option)


def _given(fragments: list[Fragment]) -> dict[str, Given]:
    """What flags and files say, with what their sections say; what two of them say differently is left out."""
    found: dict[str, Given] = {}
    twice: set[str] = set()
    for fragment in fragments:
        if fragment.layer not in ("flags", "file"):
            continue
        pending = [fragment.block.mapping]
        while pending:
            for entry in pending.pop().entries:
                name = entry.key.replace("-", "_")
                if isinstance(entry.value, Mapping):
                    pending.append(entry.value)
                elif name not in found:
                    found[name] = Given(fragment.block.document, entry)
                elif fragment.layer == "file" and plain_value(found[name].entry.value) != plain_value(entry.value):
                    twice.add(name)
    return {name: one for name, one in found.items() if name not in twice}


def stated(fact: str, value: object, document: Document, entry: Entry | None, at: int = 0) -> Statement:
    """Where an option stands that says it, or a whole program."""
    place = (
        Place(document, entry.key, entry.value.start, entry.value.end, entry, (entry.key,))
        if entry is not None
        else Place(document, os.path.basename(document.text.path), at, at)
    )
    return Statement(fact, value, value, Explicit(place, "script-default", 0, OWN))


def _imports(text: str) -> Iterator[str]:
    for module, names, plain in _IMPORT.findall(text):
        if plain:
            yield from (one.split()[0] for one in plain.split(",") if one.split())
            continue
        for one in names.strip("()").replace("\n", ",").split(","):
            word = one.partition("#")[0].split()
            if word:
                yield f"{module}{'' if module.endswith('.') else '.'}{word[0]}" if word[0] != "*" else module


def _without_parameter(text: str) -> str:
    return _OF_PARAMETER.sub("", text) if _PARAMETER.search(text) else text


def _is_of_another(text: str, found: re.Match[str]) -> bool:
    if _OTHER_MODEL.search(found[2]):
        return True
    for line in reversed(text[max(0, found.start() - 400) : found.start()].splitlines()[-3:]):
        loop = _LOOP.match(line)
        if loop is not None:
            return _OTHER_MODEL.search(loop[1]) is not None
    return False


_OFF = re.compile(
    r"^[ \t]+(\w+)[ \t]*:[ \t]*(?:Optional\[)?bool\]?[ \t]*=[ \t]*(?:field\([ \t]*default[ \t]*=[ \t]*)?False\b",
    re.MULTILINE,
)


def _is_left(entry: Entry) -> bool:
    """Whether nobody gives the option, and the class alone has its default."""
    return isinstance(plain_value(entry.value), Unknown)


def _function(text: str, at: int) -> str:
    """The function that a line stands in."""
    found = list(re.finditer(r"^[ \t]*def[ \t]+(\w+)", text[:at], re.MULTILINE))
    return found[-1][1] if found else ""


def _calls(name: str, texts: list[str]) -> list[tuple[str, int]]:
    """Where a function of this name is called, in which of the texts."""
    called = re.compile(rf"(?<!def )\b{name}\(")
    return [(text, found.start()) for text in texts for found in called.finditer(text)]


def _asks(name: str) -> re.Pattern[str]:
    return re.compile(rf"\bif\b[^\n]{{0,200}}\b{name}\b|\bassert\b[^\n]{{0,200}}\b{name}\b")


def _is_compared(name: str, texts: list[str]) -> bool:
    asked = re.compile(rf"\b{name}[ \t]*(?:==|!=|in\b|not in\b)[^\n]{{0,200}}(?:lora|full|none)", re.IGNORECASE)
    return any(map(asked.search, texts))


def _is_within(text: str, at: int, names: list[str]) -> bool:
    """Whether a line stands in a branch that asks for one of the switches."""
    if not names:
        return False
    lines = text[:at].splitlines()
    depth = len(lines[-1]) - len(lines[-1].lstrip()) if lines else 0
    asks = re.compile(rf"(?<!not )(?<![\w.])(?:\w+\.)*(?:{'|'.join(map(re.escape, names))})\b")
    for line in reversed(lines[:-1]):
        indent = len(line) - len(line.lstrip())
        if not line.strip() or indent >= depth:
            continue
        depth = indent
        if re.match(r"\s*(?:el)?if\b", line) and asks.search(line) and not re.search(r"\bor\b", line):
            return True
        if not depth:
            break
    return False


def _truth(entry: Entry) -> object:
    value = plain_value(entry.value)
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return None if isinstance(value, Unknown) else value
