"""A program that is at hand decides what a command's flags are: its own declarations, its loop, and whether it is the framework that the
flags look like."""

from __future__ import annotations

import re
from collections.abc import Iterable

from stablint.base.light import NamedTuple
from stablint.frameworks import huggingface, near_keys, own
from stablint.frameworks.fragment import Fragment, Row, last_word, spelled, statement
from stablint.frameworks.launch import scripts as launch_scripts
from stablint.frameworks.near_keys import resembles
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs import late as python_late
from stablint.frameworks.programs import loop
from stablint.run.fact import OPEN, OWN, PRESUMED, Explicit, Place, Statement
from stablint.run.framework import framework as record_of
from stablint.run.framework import package_names, with_own_command
from stablint.run.releases.allowed import known_keys
from stablint.run.releases.fields import canonical, field
from stablint.syntax.tree import Call, Document, Entry, Mapping, Module, Unknown

# Programs that everybody copies; the copy declares what the original does.
_COPIED = frozenset({"llava", "qwen-finetune", "fastchat", "qlora"})
_LIGHTNING = "lightning"


class Program(NamedTuple):
    """`declared`: the names of its own arguments, with the parser or class that has them. `library`: it makes or parses a library's arguments."""

    document: Document
    declared: dict[str, str]
    library: bool
    parser: bool  # it has an `argparse` parser
    loop: str
    driver: Call | None
    adapts: bool = False  # it handles adapters, or its trainer is a class of its own, which may
    trainer: bool = True  # it calls a trainer, be it which
    trains: bool = True  # something that it calls may train
    counts: bool = False  # its trainer and the name of its epochs are its own
    options: frozenset[str] = frozenset()  # the option strings of its parser, if that stops at any other
    late: frozenset[str] = frozenset()  # what it sets on a library's arguments when they are made already
    # What it gives the library's arguments, where it names each of them; None where more may come: `**`, a parser, another module.
    given: frozenset[str] | None = None
    words: frozenset[str] = frozenset()  # attributes and keys that its text reads
    # A file becomes defaults of its parser, which makes numbers of texts (trl 0.9.6 to 1.16.0 scripts/utils.py, `TrlParser`), or OmegaConf reads
    # it, for which `1e-4` is a number (omegaconf 2.3.0 _utils.py, `get_yaml_loader`).
    casts: bool = False
    numbers: frozenset[str] = frozenset()  # fields of which a model of pydantic's makes a number, of a text too
    models: frozenset[str] = frozenset()  # its models of pydantic's, which no library's parser fills
    again: frozenset[str] = frozenset()  # options that it sets anew after it was given them
    converted: frozenset[str] = (
        frozenset()
    )  # options of which a function makes what the program gets: `type=ast.literal_eval`
    replaced: frozenset[str] = frozenset()  # keys of its file that it reads nowhere and has values of its own for
    accelerates: bool = False  # its text speaks of accelerate
    leaves: bool = False  # what its parser does not know of a file is left over
    rewords: bool = False  # it changes the words of the command before a parser sees them
    plugins: bool = False  # it makes accelerate's plugins itself, which are taken before what the launcher's file says

    def reads(self, fragment: Fragment) -> Fragment:
        """The flags of a command, or the file that it names, as this program reads them."""
        if record_of(fragment.framework).engine_by_program:  # this copy says what DeepSpeed is given
            fragment = fragment._replace(scopes={**fragment.scopes, "deepspeed": OPEN})
        if fragment.dialect == "verl":  # a copy of the package has keys of its own
            kept = tuple(one for one in fragment.statements if not one.fact.startswith("keys."))
            fragment = fragment._replace(statements=kept)
        if fragment.framework and self._contradicts(fragment):
            fragment = _plain(fragment)
        fragment = self._without_late(fragment)
        if self.given is not None and record_of(fragment.framework).library:
            kept = tuple(one for one in fragment.statements if self._hands_on(one))
            fragment = fragment._replace(statements=tuple(map(self._keeps, kept)))
        if (self.casts or self.numbers) and fragment.layer == "file":
            fragment = fragment._replace(statements=tuple(map(self._cast, fragment.statements)))
        if fragment.layer == "flags":
            mine = (one for one in fragment.statements if self._may_lack(one) and not self._leaves(one))
            fragment = fragment._replace(statements=tuple(mine))
            fragment = self._written_out(fragment)._replace(presumed=fragment.presumed or self.rewords)
        if self.leaves and fragment.layer == "file":
            fragment = fragment._replace(statements=tuple(map(_left_over, fragment.statements)))
        fragment = fragment._replace(statements=tuple(map(self._as_set, map(self._declares, fragment.statements))))
        fragment = self._chosen(fragment)
        if self.adapts and "lora" in fragment.scopes and record_of(fragment.framework).library:
            fragment = fragment._replace(scopes={**fragment.scopes, "lora": OPEN})
        if self.options and fragment.entry and fragment.layer == "flags":
            fragment = self._held_against(fragment)
        if (
            fragment.layer == "flags"
            and record_of(fragment.framework).library
            and not (self.loop or self.makes_arguments)
        ):
            # `from swift.llm import sft_main`: the flags are those of a framework that does the rest
            started = (name for name in with_own_command() if _imports(self.document, record_of(name).packages))
            fragment = fragment._replace(framework=next(started, fragment.framework))
        itself = (self.loop and not loop.is_trainer(self.loop)) or self.counts
        if not record_of(fragment.framework).library or not (itself or (self.parser and not self.library)):
            return fragment
        classes = {head: names for head, names in fragment.classes.items() if head not in ("training", "trainer")}
        scopes = dict.fromkeys(fragment.scopes, OPEN)
        if isinstance(fragment.block.mapping.get("deepspeed"), Mapping):
            scopes["deepspeed"] = (
                OPEN  # a section is the program's to complete: it may add the batch before it hands it on
            )
        return fragment._replace(framework="", classes=classes, scopes=scopes)

    def _cast(self, one: Statement) -> Statement:
        key = one.origin.place.path[-1:] if isinstance(one.origin, Explicit) else ()
        return _as_number(one) if self.casts or not self.numbers.isdisjoint(key) else one

    def _without_late(self, fragment: Fragment) -> Fragment:
        """Without options of its own that it hands to the arguments when these are made already, where nothing reads them."""
        vain = self.vain
        if not vain:
            return fragment
        kept = tuple(one for one in fragment.statements if one.fact.removeprefix("training.") not in vain)
        return fragment._replace(statements=kept, links=tuple(link for link in fragment.links if link.role not in vain))

    def _written_out(self, fragment: Fragment) -> Fragment:
        """With what the beginning of one of its options says: argparse takes `--accum-step` for `--accum-steps`."""
        block = fragment.block
        text = block.document.text.text
        found: dict[str, Statement] = {}
        for entry in block.mapping.entries if self.options else ():
            flag = text[entry.key_start - 2 : entry.key_start + len(entry.key)]
            meant = [option for option in self.options if option.startswith(flag)] if flag[:2] == "--" else []
            if flag in meant or len(meant) != 1:
                continue
            row = own.row(spelled(meant[0].lstrip("-")))
            if row is not None:
                found[entry.key] = statement(block, entry, (entry.key,), row, "flags")
        if not found:
            return fragment
        read = {one.fact for one in found.values()}
        kept = [
            one
            for one in fragment.statements
            if one.fact not in read
            and not (
                isinstance(one.origin, Explicit) and one.origin.place.path[:1] and one.origin.place.path[0] in found
            )
        ]
        return fragment._replace(statements=(*kept, *found.values()))

    def _hands_on(self, one: Statement) -> bool:
        """False for a setting of the library's arguments that it reads nowhere, and does not give them: they keep the library's default."""
        head, _, name = one.fact.partition(".")
        if self.given is None or head != "training" or name in self.given or not isinstance(one.origin, Explicit):
            return True
        path = one.origin.place.path
        return (
            not path or spelled(path[-1]) != path[-1] or path[-1] in self.words or field(huggingface.BASE, name) is None
        )

    def _keeps(self, one: Statement) -> Statement:
        """A setting that it reads somewhere and does not give the library's arguments: what it means by the name is its own affair."""
        head, _, name = one.fact.partition(".")
        origin = one.origin
        if self.given is None or head != "training" or name in self.given or not isinstance(origin, Explicit):
            return one
        path = origin.place.path
        mine = len(path) == 1 and spelled(path[0]) == path[0] and path[0] in self.declared
        return one._replace(origin=origin._replace(reader=OWN)) if mine else one

    @property
    def vain(self) -> frozenset[str]:
        """Options of its own that have no effect."""
        return self.late & self.declared.keys()

    def _held_against(self, fragment: Fragment) -> Fragment:
        """With a statement for every flag that the parser does not have; argparse takes the beginning of an option for it."""
        block = fragment.block
        known = frozenset(one.fact for one in fragment.statements)
        text = block.document.text.text
        found = []
        for entry in block.mapping.entries:
            fact = f"keys.program.{entry.key}"
            flag = f"--{entry.key}"
            exact = text[entry.key_start - 2 : entry.key_end] == flag
            if fact in known or not exact or any(option.startswith(flag) for option in self.options):
                continue
            one = statement(block, entry, (entry.key,), Row(entry.key, fact), "flags")
            near = next((option for option in sorted(self.options) if resembles(entry.key, option.lstrip("-"))), "")
            said = f"`{self.document.text.name}`{f', which has `{near}`' if near else ''}"
            found.append(one._replace(value=said, raw=entry.key))
        return fragment._replace(statements=(*fragment.statements, *found)) if found else fragment

    def owns(self, fragment: Fragment) -> Fragment:
        """A configuration that nothing names, and that this program of its repository reads: it is no framework's."""
        if not record_of(fragment.framework).library:
            return self.reads(_plain(fragment))
        # a name that it takes is no slip of a library's
        kept = tuple(self._as_replaced(one) for one in fragment.statements if self._may_lack(one))
        found = self.reads(fragment._replace(statements=kept))
        # it takes what it wants of a dict, and may choose between the settings before a library has them
        return found if self.library or found.framework else found._replace(presumed=True)

    def _as_replaced(self, one: Statement) -> Statement:
        """What a key of the file is that the program has a value of its own for."""
        origin = one.origin
        if (
            not isinstance(origin, Explicit)
            or not origin.place.path
            or spelled(origin.place.path[-1]) not in self.replaced
        ):
            return one
        return one._replace(value=Unknown(f"the program has a value of its own for `{origin.place.path[-1]}`"))

    @property
    def makes_arguments(self) -> bool:
        """Whether it names each of a library's arguments itself, or a library's trainer is all that steps: what else a file says reaches nobody."""
        return self.given is not None or loop.is_trainer(self.loop)

    @property
    def leads_itself(self) -> bool:
        """Whether what the launcher's file says of sharding reaches nobody, or is replaced by objects of the program's own."""
        return self.plugins or (self.loop in _WITHOUT_ACCELERATE and not (self.accelerates or self.library))

    def said(self) -> Statement:
        """What runs its steps; unknown where that stands elsewhere."""
        call = self.driver
        at, end = (call.name_start, call.name_end) if call is not None else (0, 0)
        word = last_word(call.name) if call is not None else ""
        why = "the program's loop stands in another file" if self.trains else "the program calls nothing that trains"
        value = self.loop or Unknown(why)
        return Statement("launch.loop", value, value, Explicit(Place(self.document, word, at, end), "call", 0))

    def purpose(self) -> tuple[Statement, ...]:
        """That nothing it calls trains."""
        if self.trains:
            return ()
        place = Place(self.document, "", 0, 0)
        return (Statement("launch.trains", False, False, Explicit(place, "call", 0)),)

    @property
    def tells(self) -> bool:
        """Whether anything is known that a library's own trainer would contradict."""
        return (
            bool(self.loop) or (self.parser and not self.library) or self.counts or not (self.trainer and self.trains)
        )

    def _may_lack(self, one: Statement) -> bool:
        """False for a flag that no release of a framework may have, and that this copy of it declares."""
        origin = one.origin
        if not one.fact.startswith("keys.") or not isinstance(origin, Explicit) or not origin.place.path:
            return True
        return spelled(origin.place.path[0]) not in self.declared

    def _leaves(self, one: Statement) -> bool:
        """Whether it is an option of an adapter that this very file declares and never reads, where it reads other options."""
        origin = one.origin
        if not one.fact.startswith("lora.") or not isinstance(origin, Explicit) or len(origin.place.path) != 1:
            return False
        name, text = spelled(origin.place.path[0]), self.document.text.text
        declared = re.search(rf"^[ \t]+{re.escape(name)}[ \t]*:|--{re.escape(name)}\b", text, re.MULTILINE)
        if name not in self.declared or declared is None or own.reads(text, name):
            return False
        return any(own.reads(text, other) for other in self.declared)

    def _declares(self, one: Statement) -> Statement:
        origin = one.origin
        if not isinstance(origin, Explicit) or len(origin.place.path) != 1 or origin.reader == OWN:
            return one
        owner = self.declared.get(spelled(origin.place.path[0]))
        return one if owner is None else one._replace(origin=origin._replace(reader=f":{owner}"))

    def _as_set(self, one: Statement) -> Statement:
        """What an option of its own is when the program has set it anew: only the program knows."""
        origin = one.origin
        if one.fact.startswith(("keys.", "launch.")) or not isinstance(origin, Explicit) or len(origin.place.path) != 1:
            return one
        name = spelled(origin.place.path[0])
        if name in self.converted and own.is_written_out(one.raw):
            return one._replace(value=Unknown(f"the program's parser makes another value of `{name}`"))
        if name not in self.again or name not in self.declared:
            return one
        return one._replace(value=Unknown(f"the program sets `{name}` again before it uses it"))

    def _chosen(self, fragment: Fragment) -> Fragment:
        """Of two options of its own, both given, of which the library takes one, the program makes what it likes."""
        both = [one for one in fragment.statements if one.fact in _BITS and one.value is True and self._is_mine(one)]
        if len(both) < len(_BITS):
            return fragment
        unknown = Unknown("the program decides which of the two it takes")
        said = (one._replace(value=unknown) if one in both else one for one in fragment.statements)
        return fragment._replace(statements=tuple(said))

    def _is_mine(self, one: Statement) -> bool:
        path = one.origin.place.path if isinstance(one.origin, Explicit) else ()
        return len(path) == 1 and spelled(path[0]) in self.declared

    @property
    def names_a_framework(self) -> bool:
        """Whether it imports one of the frameworks, or starts it."""
        return _names(self.document, package_names())

    def _contradicts(self, fragment: Fragment) -> bool:
        if fragment.framework == "trl":  # told by names that a program may have as well
            known = self.library or (bool(self.loop) and not self.loop.startswith("trl."))
            return known and _imports(self.document, (r"[\w.]+",)) and not _names(self.document, ("trl", "unsloth"))
        if own := record_of(fragment.framework).packages:
            # settings alone are no program: they may be an excerpt of the framework's own
            return _imports(self.document, (r"[\w.]+",)) and not _names(self.document, own)
        if fragment.framework == _LIGHTNING:
            return bool(self.loop) and self.loop != "lightning"
        if fragment.framework in _COPIED and self.counts:
            return True
        if fragment.framework in _COPIED and self.declared:
            given = {spelled(entry.key) for entry in fragment.block.mapping.entries}
            return self.declared.keys().isdisjoint(given & launch_scripts.TELLING[fragment.framework])
        return False


def read(documents: Iterable[Document]) -> Program | None:
    """The program of a Python file; None for what is none."""
    document = next(iter(documents), None)
    module = document.root if document is not None else None
    if document is None or not isinstance(module, Module):
        return None
    declared: dict[str, str] = {}
    kinds = python_kinds.kinds(module)
    for call, _ in kinds:
        if call.name in ("argparse.options", "dataclass.options", "function.options"):
            declared |= {entry.key: call.target or "parser.add_argument" for entry in _own(call)}
    options = [call.own for call, _ in kinds if call.name == "argparse.options"]
    models = frozenset(call.target for call, _ in kinds if call.target is not None and _is_pydantic(call))
    found = loop.of(module, document.text.text)
    filled = [call for call, _ in kinds if call.parsed and call.name != "argparse.options"]
    made = [call for call, kind in kinds if kind == "arguments"]
    steps = bool(found and found[1])
    # whoever is handed the arguments alone never sees an option
    given = _given(made, module, not steps) if steps or (made and _keeps_its_options(document.text.text)) else None
    return Program(
        document,
        declared,
        any(kind == "arguments" for _, kind in kinds),
        any(call.name == "argparse.options" for call, _ in kinds) or bool(filled and all(map(_of_this_file, filled))),
        found[0] if found else "",
        found[1] if found else None,
        any(map(_adapts, module.calls)),
        loop.calls_trainer(module) or loop.states_training(module),
        loop.may_train(module),
        not found and not declared.keys().isdisjoint(_EPOCHS) and any(map(_of_another_file, module.calls)),
        options=options[0] if options and not _CHANGES_WORDS.search(document.text.text) else frozenset(),
        late=python_late.sets_in_vain(
            call for call, kind in kinds if kind == "arguments" or "__post_init__" in call.name
        ),
        given=given,
        casts=any(word in document.text.text for word in ("TrlParser", "OmegaConf.load(", "hydra.main(")),
        numbers=_numbers(document.text.text) if models else frozenset(),
        models=models,
        words=frozenset() if given is None else _read_words(document.text.text),
        again=_set_again(document.text.text) | _from_another(document.text.text),
        converted=own.converted(document.text.text),
        accelerates="accelerat" in document.text.text,
        leaves=_LEAVES.search(document.text.text) is not None,
        rewords=_CHANGES_WORDS.search(document.text.text) is not None,
        plugins=_PLUGINS.search(document.text.text) is not None,
    )


# What changes the words of the command before a parser sees them: the program itself, or a function that is called for it.
_CHANGES_WORDS = re.compile(
    r"\bsys\.argv[ \t]*(?:\[[^\]\n]{0,100}\][ \t]*)?(?:\+?=(?!=)|\.(?:append|extend|insert|remove|pop|clear)\b)|\bdel[ \t]+sys\.argv"
    r"|(?<!\w)\w{0,60}argv\w{0,60}\("
)
_BITS = ("quantization.load_in_4bit", "quantization.load_in_8bit")
# Loops that make no Accelerator, and so read nothing that its launcher hands to the processes.
_WITHOUT_ACCELERATE = frozenset({"deepspeed", "torch", "jax", "lightning"})
_PLUGINS = re.compile(
    r"\b(?:FullyShardedDataParallelPlugin|DeepSpeedPlugin|MegatronLMPlugin|ParallelismConfig)\("
    r"|\b(?:fsdp_plugin|deepspeed_plugins?|megatron_lm_plugin|parallelism_config)[ \t]*=(?!=)"
    # what the launcher hands on are variables, which the program may set anew before a plugin reads them
    r"|\benviron(?:\[|\.(?:pop|setdefault|update)\(\{?)[ \t]*[\"'](?:FSDP|ACCELERATE|PARALLELISM_CONFIG)_"
)


# pydantic 2.12 takes a text that reads as a number for a field that is one, unless it is told to be strict.
_NUMBER = re.compile(
    r"^[ \t]+(\w+)[ \t]*:[ \t]*(?:(?:\w+\.)?(?:Annotated|Optional|Union)\[[ \t]*|None[ \t]*\|[ \t]*)*"
    r"(?:float|(?:\w+\.)?(?:Positive|NonNegative|con|Finite)[Ff]loat)\b",
    re.MULTILINE,
)
_STRICT = re.compile(r"\bstrict[ \t]*=[ \t]*True|\bStrict(?:Float)?\b")


def _is_pydantic(call: Call) -> bool:
    return call.name == "dataclass.options" and any(
        last_word(name) in ("BaseModel", "BaseSettings") for name in call.own
    )


def _numbers(text: str) -> frozenset[str]:
    return frozenset() if _STRICT.search(text) else frozenset(_NUMBER.findall(text))


_WITH_EXPONENT = re.compile(r"[-+]?\d+(?:\.\d*)?[eE][-+]?\d+\Z")


def _as_number(one: Statement) -> Statement:
    """`2e-5`, which YAML reads as text."""
    raw = one.raw
    is_number = isinstance(raw, str) and _WITH_EXPONENT.match(raw)
    return one._replace(value=float(raw), raw=float(raw)) if is_number else one


_TAKEN_FROM = re.compile(r"(?<![\w.])(\w{1,60})[ \t]*=[ \t]*(\w{1,40})\.(\w{1,60})(?=[ \t]*[,)\n])")


def _from_another(text: str) -> frozenset[str]:
    """Arguments that another option alone is handed to: `save_strategy=args.eval_strategy`."""
    names = set(_PARSED.findall(text))
    taken = [(key, option) for key, whose, option in _TAKEN_FROM.findall(text) if whose in names]
    return frozenset(key for key, _ in taken) - {key for key, option in taken if key == option}


_STORE = re.compile(
    r"^([ \t]*)(\w{0,40}(?:arg|opt|conf|cfg|param|flag|setting)\w{0,40})\.(\w+)[ \t]*=(?!=)[ \t]*([^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_TEST = re.compile(r"[ \t]*(?:el)?if\b([^\n]*)")
# Of the option itself: whether it was left out.
_LEFT_OUT = r"\bnot\s+(?:\w+\.)*{0}\b|\.{0}\s*(?:is|==)\s*None\b|\.{0}\s+in\s*[\[(][^\])]*\bnone\b|\.{0}\s*==\s*(?:[\"']{{2}}|-\s*1)|\.{0}\s*<\s*0"
_WORKED_OUT = re.compile(r"\b(?:min|max)\(|[*/+%]")


def _set_again(text: str) -> frozenset[str]:
    """Attributes of options that something else becomes, in a branch or not: `if ddp: args.device_map = …`. A default that is filled in where
    the option was left out, and another form of what was given (`float(args.lr)`), are not meant."""
    return frozenset(
        found[3] for found in _STORE.finditer(text) if not _is_the_same(found) and not _fills_in(text, found)
    )


def _is_the_same(found: re.Match[str]) -> bool:
    return re.search(rf"\.{found[3]}\b", found[4]) is not None and not _WORKED_OUT.search(found[4])


def _fills_in(text: str, found: re.Match[str]) -> bool:
    """Whether one of the branches that the line stands in asks for the option's absence."""
    depth = len(found[1].expandtabs())
    for line in reversed(text[max(0, found.start() - _ABOVE) : found.start()].splitlines()):
        indent = len(line.expandtabs()) - len(line.expandtabs().lstrip())
        if not line.strip() or indent >= depth:
            continue
        depth, test = indent, _TEST.match(line)
        if test is not None and re.search(_LEFT_OUT.format(found[3]), test[1], re.IGNORECASE):
            return True
        if not depth:
            break
    return False


_ABOVE = 4000  # characters in which the branches of a line are looked for


_PARSED = re.compile(r"^[ \t]*(\w+)(?:,[ \t]*\w+)?[ \t]*=[ \t]*[\w.]+\.parse_(?:known_)?args\(", re.MULTILINE)
_OF_THIS_FILE = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
_LOOKS_AT_THEM = frozenset({"print", "vars", "str", "repr", "len", "info", "debug", "warning", "pprint", "Namespace"})


def _keeps_its_options(text: str) -> bool:
    """Whether what its own parser gives is handed to no other file: no call but of functions of this one takes the whole of it."""
    names = set(_PARSED.findall(text))
    if not names:
        return False
    own = set(_OF_THIS_FILE.findall(text)) | _LOOKS_AT_THEM
    whole = re.compile(
        rf"(?<![\w.])([\w.]{{1,120}})\([^()\n]{{0,200}}?(?<![\w.])(?:{'|'.join(sorted(names))})[ \t]*[,)]"
    )
    return all(last_word(found[1]) in own for found in whole.finditer(text))


_READ = re.compile(r"""\.([A-Za-z_]\w*)|[\[(]\s*["']([A-Za-z_]\w*)["']""")


def _read_words(text: str) -> frozenset[str]:
    return frozenset(one or other for one, other in _READ.findall(text))


def _given(calls: list[Call], module: Module, handed_on: bool = False) -> frozenset[str] | None:
    """The names that all calls of a library's arguments together give them; None where something may give more. `handed_on`: what sets others
    later has none of the program's options."""
    if not calls or any(
        call.parsed
        or call.arguments.open
        or call.own
        or call.local
        or ("*" in call.late and not handed_on)
        or len(call.positional) > 1
        for call in calls
    ):
        return None
    if any(call.name.endswith("__post_init__") for call in module.calls):
        return None
    return frozenset(
        canonical(name) for call in calls for name in (*(entry.key for entry in call.arguments.entries), *call.late)
    )


_EPOCHS = frozenset(key for key, row in own.ALIASES.items() if row.fact == "training.num_train_epochs")


def _of_this_file(call: Call) -> bool:
    """A class that this file defines and that extends none of another."""
    return "." not in call.name and call.local


def _of_another_file(call: Call) -> bool:
    """A trainer that is imported from the program's own modules: what it extends is not seen."""
    return last_word(call.name).endswith("Trainer") and not call.local and not _of_library(call.name)


def _adapts(call: Call) -> bool:
    word = last_word(call.name)
    if word.endswith("Trainer"):
        return call.local or not _of_library(call.name)
    return ("peft" in call.name and word != "get_peft_config") or word in python_kinds.ADAPTER_METHODS


def _of_library(name: str) -> bool:
    """A trainer that is imported from a library; one that no import tells is taken for the library's as well."""
    return "." not in name or name.startswith(("transformers.", "trl.", "unsloth.", *python_kinds.LIGHTNING))


_IMPORT = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^()]*\)|[^\n]+)", re.MULTILINE)
_PARSES = re.compile(r"arg|pars|option|param|conf", re.IGNORECASE)
_STARTS = re.compile(r"\b(?:main|train|run|run_exp|finetune|trainer)\b")


def imported(program: Program) -> list[tuple[str, bool]]:
    """Modules of the program that may declare its arguments or hold its loop, as paths from a folder above it, and whether it is the latter."""
    found: list[tuple[str, bool]] = []
    for module, names in _IMPORT.findall(program.document.text.text):
        parses = _PARSES.search(names) or _PARSES.search(module.rpartition(".")[2])
        starts = not program.loop and _STARTS.search(names)
        if (parses or starts) and module.partition(".")[0] not in _LIBRARIES:
            found.append((module.lstrip(".").replace(".", "/") + ".py", not parses))
    return list(dict.fromkeys(found))


_LIBRARIES = frozenset(
    ["transformers", "trl", "peft", "accelerate", "argparse", "torch", "datasets", "typing", "dataclasses", "deepspeed"]
)


def joined(program: Program, other: Program, loop_only: bool) -> Program:
    """The program with what a module of its own adds."""
    if not program.loop:
        words = program.words if other.given is None else other.words | _read_words(program.document.text.text)
        program = program._replace(loop=other.loop, driver=None, given=other.given, words=words)
    program = program._replace(
        trainer=program.trainer or other.trainer,
        trains=program.trains or other.trains,
        counts=program.counts and not program.loop,
    )
    program = program._replace(
        casts=program.casts or other.casts,
        numbers=program.numbers | other.numbers,
        accelerates=program.accelerates or other.accelerates,
        leaves=program.leaves or other.leaves,
        plugins=program.plugins or other.plugins,
    )
    if loop_only:
        return program._replace(library=program.library or other.library)
    if program.given is not None:
        program = program._replace(words=program.words | _read_words(other.document.text.text))
    return program._replace(
        declared={**other.declared, **program.declared},
        library=program.library or other.library,
        parser=program.parser or other.parser,
        adapts=program.adapts or other.adapts,
        options=frozenset() if other.parser or other.library else program.options,
        again=program.again | other.again,
        converted=program.converted | other.converted,
    )


def _own(call: Call) -> list[Entry]:
    """Without the fields that a class only gives another default: they are the library's as before."""
    bases = [f"trl.{last_word(name)}" if last_word(name) in python_kinds.ARGUMENTS else "" for name in call.own]
    known = [base for base in (*bases, huggingface.BASE) if base] if any(map(_arguments, call.own)) else []
    return [entry for entry in call.arguments.entries if not any(_stands(base, entry.key) for base in known)]


_LEAVES = re.compile(
    r"\breturn_remaining_strings[ \t]*=[ \t]*True|\b(?:fail_with_unknown_args|strict)[ \t]*=[ \t]*False|\ballow_extra_keys[ \t]*=[ \t]*True"
)


def _left_over(one: Statement) -> Statement:
    """A key that the newest release has not any more."""
    head, _, name = one.fact.partition(".")
    gone = head == "training" and field(huggingface.BASE, name) is not None and not _stands(huggingface.BASE, name)
    return one._replace(origin=one.origin._replace(reader=OWN)) if gone and isinstance(one.origin, Explicit) else one


def _stands(library_class: str, name: str) -> bool:
    """Whether the newest release has the field: what is gone is there by the program's own class alone."""
    found = field(library_class, name)
    return found is not None and found.exists_at(known_keys(found.library)[-1])


def _arguments(name: str) -> bool:
    return last_word(name) in python_kinds.ARGUMENTS


def _imports(document: Document, packages: tuple[str, ...]) -> bool:
    words = "|".join(packages)
    return re.search(rf"^[ \t]*(?:from|import)[ \t]+(?:{words})\b", document.text.text, re.MULTILINE) is not None


def _names(document: Document, packages: tuple[str, ...]) -> bool:
    """Whether a program imports one of these, or starts it: `["accelerate", "launch", "-m", "axolotl.cli.train", path]`."""
    notes = document.root.notes if isinstance(document.root, Module) else {}
    key = _names, packages
    if key not in notes:
        words = "|".join(packages)
        pattern = rf"""["'](?:[^"'\n]{{0,400}}[ ])?(?:{words})(?:[.][\w.]+|-cli|[ ][^"'\n]{{0,400}})?["']"""
        notes[key] = re.search(pattern, document.text.text) is not None or _imports(document, packages)
    return bool(notes[key])


def _plain(fragment: Fragment) -> Fragment:
    """The same settings under the same names, as anybody's: no framework's defaults hold, none refuses a key, and no beginning of a name is
    taken for the framework's argument."""
    text = fragment.block.document.text.text
    kept = tuple(
        one for one in fragment.statements if not (one.fact.startswith("keys.") or near_keys.is_written_out(one, text))
    )
    scopes = {head: PRESUMED if head == "training" else OPEN for head in fragment.scopes}
    base: dict[str, tuple[str, ...]] = {"training": (huggingface.BASE,)}
    return fragment._replace(dialect="hf-args", framework="transformers", statements=kept, scopes=scopes, classes=base)
