"""Which calls of a Python program belong to one run: those that reach its trainer by name, and what no other trainer claims."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator

from stablint.frameworks import own as own_keys
from stablint.frameworks.codec import CODECS
from stablint.frameworks.fragment import Block, Fragment, last_word, spelled
from stablint.frameworks.huggingface import ROWS, links
from stablint.frameworks.programs.kinds import kind, positional
from stablint.run.fact import CLOSED, OWN, Explicit, Place, Statement
from stablint.run.framework import framework
from stablint.syntax.python.constants import COMPUTED, FROM_FLAGS, defaulted
from stablint.syntax.tree import Call, Document, Entry, Mapping, Module, Node, Scalar, Sequence, Unknown

_PARTS = {
    "loader": "loads the model",
    "adapter": "makes the adapter",
    "unsloth-adapter": "makes the adapter",
    "quantiser": "quantises",
    "data": "loads the training data",
}
# Of several of them one is made, or each by itself.
_UNITED = {**_PARTS, "accelerator": "makes the accelerator", "fit": "trains", "optimizer": "updates the weights", "batches": "makes the batches",
           "passes": "counts the epochs", "autocast": "casts the products"}  # fmt: skip
_CODECS = {row.fact: row.codec for row in ROWS.values()}


def groups(fragments: tuple[Fragment, ...]) -> Iterator[list[Fragment]]:
    """One group a run, its head first."""
    if not all(isinstance(fragment.block.origin, Call) for fragment in fragments):
        yield list(fragments)
        return
    calls = _Calls(fragments)
    if not calls.trainers:
        others = [n for n in calls.numbers if calls.kinds[n] != "arguments"]
        for head in calls.final(calls.of("arguments")):
            yield calls.group(_unclear(calls, [head, *others], set()))
        if len(others) == len(calls.numbers):
            yield calls.group(_unclear(calls, others, set()))
        return
    claims = {trainer: calls.reached(trainer) for trainer in calls.trainers}
    claimed = set().union(*claims.values())
    free = [n for n in calls.of("arguments") if calls.start(n) not in claimed]
    taken: set[int] = set()
    for trainer in calls.trainers:
        own = calls.final([n for n in calls.of("arguments") if calls.start(n) in claims[trainer]])
        for arguments in own or [n for n in free if len(calls.trainers) == 1 or n not in taken] or [-1]:
            taken.add(arguments)
            members = list(_members(calls, trainer, claims[trainer], claimed))
            itself: list[int | Fragment] = [trainer]
            if arguments >= 0 and _another_evaluates(calls, trainer, arguments, claims):
                itself = [_evaluates_elsewhere(calls, trainer), *calls.fragments[trainer][1:]]
            yield calls.group([*([arguments] if arguments >= 0 else []), *itself, *members])


def _another_evaluates(calls: _Calls, trainer: int, arguments: int, claims: dict[int, set[int]]) -> bool:
    """Whether of several trainers of the arguments that a command fills another one gets what they say to evaluate on: a helper times some steps."""
    if not calls.call(arguments).parsed:
        return False
    start = calls.start(arguments)
    shared = [n for n in calls.trainers if start in claims[n] or _is_unknown(_argument(calls, n, "args"))]
    evaluates = [n for n in shared if _argument(calls, n, "eval_dataset") is not None]
    return trainer in shared and bool(evaluates) and trainer not in evaluates


def _is_unknown(node: Node | None) -> bool:
    return isinstance(node, Scalar) and isinstance(node.value, Unknown)


_ELSEWHERE = Unknown("another trainer of the same arguments gets it")


def _evaluates_elsewhere(calls: _Calls, trainer: int) -> Fragment:
    call, first = calls.call(trainer), calls.fragments[trainer][0]
    block = first.block
    place = Place(block.document, call.name, call.name_start, call.name_end)
    more = Statement("trainer.eval_dataset", _ELSEWHERE, None, Explicit(place, "call", block.number))
    return first._replace(statements=(*first.statements, more))


_ARGUED = frozenset({"arguments", "trainer", "own-trainer", "lightning"})


class _Calls:
    """The fragments by the number of their call."""

    def __init__(self, fragments: tuple[Fragment, ...]) -> None:
        self.fragments: dict[int, list[Fragment]] = {}
        for fragment in fragments:
            self.fragments.setdefault(fragment.block.number, []).append(fragment)
        self.kinds = {number: kind(self.call(number)) for number in self.fragments}
        # A program's own options are only worth a word where no library's arguments are.
        library = not _ARGUED.isdisjoint(self.kinds.values())
        kept = [n for n in self.fragments if not (library and self.kinds[n].startswith("program"))]
        self.numbers = kept or list(self.fragments)
        self.numbers.sort(key=self._rank)
        self.trainers = self.of("trainer", "own-trainer")
        self.parts = [n for n in self.numbers if self.kinds[n] not in ("arguments", "trainer", "own-trainer")]

    def _rank(self, number: int) -> int:
        """What is imported heads no run, and what says nothing of training by itself only where nothing does."""
        if self.kinds[number] == "imports":
            return 2
        return int(all(fragment.weak for fragment in self.fragments[number]))

    def call(self, number: int) -> Call:
        origin = self.fragments[number][0].block.origin
        assert isinstance(origin, Call)
        return origin

    def start(self, number: int) -> int:
        return self.call(number).start

    def of(self, *kinds: str) -> list[int]:
        return [number for number in self.numbers if self.kinds[number] in kinds]

    def final(self, numbers: list[int]) -> list[int]:
        """Without those that others are made from (`dataclasses.replace`)."""
        bases = {call.receiver.start for n in numbers if isinstance((call := self.call(n)).receiver, Call)}
        return [number for number in numbers if self.start(number) not in bases]

    def reached(self, number: int) -> set[int]:
        """Where the calls start that are arguments of this call, directly or through others; those of a model that it does not train are not
        its own."""
        return reached(node for name, node in self._given(number) if name not in _OTHER_MODELS)

    def of_other_models(self, number: int) -> set[int]:
        """Where the calls start that only a model reaches which the trainer does not train."""
        return reached(node for name, node in self._given(number) if name in _OTHER_MODELS) - self.reached(number)

    def _given(self, number: int) -> Iterator[tuple[str, Node]]:
        call = self.call(number)
        names = positional("trainer", call.name)
        yield from ((entry.key, entry.value) for entry in call.arguments.entries)
        yield from ((names[index] if index < len(names) else "", node) for index, node in enumerate(call.positional))

    def model(self, number: int) -> Node | None:
        call = self.call(number)
        return call.arguments.get("model") or (call.positional[0] if call.positional else None)

    def group(self, members: Iterable[int | Fragment]) -> list[Fragment]:
        found: list[Fragment] = []
        for member in members:
            found += self.fragments[member] if isinstance(member, int) else [member]
        return found


# Arguments of trainers that may hold a model, but none that is trained.
_OTHER_MODELS = frozenset([
    "ref_model", "reward_model", "value_model", "teacher_model", "reward_funcs", "judge", "compute_metrics", "callbacks",
])  # fmt: skip


def reached(nodes: Iterable[Node]) -> set[int]:
    starts: set[int] = set()
    pending = list(nodes)
    while pending:
        current = pending.pop()
        if isinstance(current, Call):
            if current.start in starts:
                continue
            starts.add(current.start)
            pending += [*current.positional, *(entry.value for entry in current.arguments.entries)]
            if current.receiver is not None:
                pending.append(current.receiver)
        elif isinstance(current, Sequence):
            pending += current.items
        elif isinstance(current, Mapping):
            pending += [entry.value for entry in current.entries]
    return starts


def _members(calls: _Calls, trainer: int, own: set[int], claimed: set[int]) -> Iterator[int | Fragment]:
    """What belongs to a trainer besides its arguments. `own`: where the calls start that it claims; `claimed`: that any trainer does."""
    foreign = calls.of_other_models(trainer)
    model = calls.model(trainer)
    through_model = reached([model]) if model is not None else set()
    named = isinstance(model, Scalar) and isinstance(model.value, str)
    rest = calls.parts
    loaders = [n for n in rest if calls.kinds[n] == "loader"]
    certain = [n for n in loaders if calls.start(n) in through_model]
    chosen: list[int] = []
    for number in rest:
        start, what = calls.start(number), calls.kinds[number]
        if what == "data" and _is_other_data(calls, trainer, number):
            continue
        if start in own and not (what == "loader" and (certain or named) and number not in certain):
            chosen.append(number)
        elif start in foreign or (start in claimed and start not in own):
            continue
        elif what == "loader":
            if (
                not certain
                and not named
                and not any(calls.start(n) in own for n in loaders)
                and (start < calls.start(trainer) or not any(calls.start(n) < start for n in loaders))
            ):
                chosen.append(number)
        elif what in _PARTS and _decided(calls, what, own, certain):
            continue
        else:
            chosen.append(number)
    yield from _unclear(calls, chosen, own)


def _is_other_data(calls: _Calls, trainer: int, number: int) -> bool:
    """Whether the trainer is given a set that something else makes, be it of these rows: `Dataset.from_list(list(rows))`. A method of a set
    gives a set of the same kind (`rows.map(…)`)."""
    node = _argument(calls, trainer, "train_dataset")
    evaluated = _argument(calls, trainer, "eval_dataset")
    start = calls.start(number)
    if evaluated is not None and start in reached([evaluated]) and (node is None or start not in reached([node])):
        return True  # these rows are only evaluated on
    if not isinstance(node, Call):
        return False
    given = node
    while isinstance(node, Call):
        if node.start == start:
            return False
        if node.receiver is None:
            return kind(node) != "data" or start not in reached([given])
        node = node.receiver
    return False


def _argument(calls: _Calls, number: int, name: str) -> Node | None:
    """What a call is given for an argument, by its name or its place."""
    call = calls.call(number)
    stated = call.arguments.get(name)
    names = positional("trainer", call.name)
    if stated is None and name in names and names.index(name) < len(call.positional):
        return call.positional[names.index(name)]
    return stated


def _decided(calls: _Calls, what: str, own: set[int], loaders: list[int]) -> bool:
    """Whether the trainer reaches another call of this kind, or a loader that says itself that nothing quantises."""
    same = ("adapter", "unsloth-adapter") if "adapter" in what else (what,)
    if any(calls.start(n) in own for n in calls.of(*same)):
        return True
    if what != "quantiser" or not loaders:
        return False
    arguments = [calls.call(n).arguments for n in loaders]
    return not any(one.open or _may_quantise(one.get("quantization_config")) for one in arguments)


def _may_quantise(node: Node | None) -> bool:
    return node is not None and not (isinstance(node, Scalar) and node.value is None)


def _unclear(calls: _Calls, numbers: list[int], certain: set[int]) -> Iterator[int | Fragment]:
    """Of several calls that may be meant, only what all of them say is known; a lone one that a branch makes is presumed."""
    for number in numbers:
        what = calls.kinds[number]
        rivals = [n for n in numbers if calls.kinds[n] == what and calls.start(n) not in certain]
        if what == "accelerator":
            rivals = [n for n in rivals if last_word(calls.call(n).name) == "Accelerator"]
        if what not in _UNITED or number not in rivals:
            yield number
        elif len(rivals) == 1:
            if what == "quantiser" and _of_some(calls, number, [n for n in numbers if calls.kinds[n] == "loader"]):
                yield from _common([calls.fragments[number], []], "loader")
                continue
            call = calls.call(number)
            for fragment in calls.fragments[number]:
                if what == "optimizer" and call.conditional and _is_last(fragment.block, call.start):
                    fragment = _unnamed(fragment)
                yield fragment._replace(presumed=fragment.presumed or call.conditional)
        elif number == rivals[0]:
            yield from _common([calls.fragments[n] for n in rivals], what)


_LAST = re.compile(r"\belse[ \t]{0,9}:\s{1,200}[^\n]{0,200}\Z")
_OTHER_CLASS = Unknown("another branch makes an optimizer of another class")


def _is_last(block: Block, start: int) -> bool:
    """Whether it is what remains where no branch above is taken, each of which makes one that no library has."""
    return _LAST.search(block.document.text.text, max(0, start - 400), start) is not None


def _unnamed(fragment: Fragment) -> Fragment:
    said = (one._replace(value=_OTHER_CLASS) if one.fact == "training.optim" else one for one in fragment.statements)
    return fragment._replace(statements=tuple(said))


def _of_some(calls: _Calls, number: int, loaders: list[int]) -> bool:
    """Whether only some of the calls that may load the model are given it."""
    given = [n for n in loaders if calls.start(number) in calls.reached(n)]
    return 0 < len(given) < len(loaders)


# What is said once of a whole program, at one of its calls.
_OF_THE_PROGRAM = frozenset({"launch.loop", "launch.trains", "launch.phase"})


def _common(calls: list[list[Fragment]], what: str) -> Iterator[Fragment]:
    """What every one of the calls states alike; the rest depends on which of them is made. Every place stays known: who removes a setting
    removes it from all of them. What is a default in each of them stays one, which a command may replace."""
    said: dict[str, list[tuple[int, Statement]]] = {}
    layers: dict[str, set[str]] = {}
    for number, parts in enumerate(calls):
        for fragment in parts:
            for one in fragment.statements:
                said.setdefault(one.fact, []).append((number, one))
                layers.setdefault(one.fact, set()).add(fragment.layer)
    unclear = Unknown(f"depends on which of {len(calls)} calls {_UNITED[what]}")
    fragments = [fragment for parts in calls for fragment in parts]
    defaults = next((one for one in fragments if one.layer == "script-default" != fragments[0].layer), None)
    kept: list[Statement] = []
    left: list[Statement] = []
    for fact, same in said.items():
        everywhere = len({number for number, _ in same}) == len(calls) or same[0][1].fact in _OF_THE_PROGRAM
        agreed = everywhere and all(repr(one.value) == repr(same[0][1].value) for _, one in same)
        at = left if agreed and defaults is not None and layers[fact] == {"script-default"} else kept
        at += [one if agreed else one._replace(value=unclear) for _, one in same]
    alike = all(fragment.classes == fragments[0].classes for fragment in fragments)
    yield fragments[0]._replace(
        statements=tuple(kept), scopes={}, classes=fragments[0].classes if alike else {}, links=()
    )
    if left and defaults is not None:
        yield defaults._replace(statements=tuple(left))


def launched(fragments: list[Fragment], commands: Iterable[Fragment], sure: bool = False) -> list[Fragment]:
    """A program's parts as a command starts it: what its flags set comes in the place of the program's defaults, and of what the program
    takes from them. `sure`: it is this program, no other one of its name."""
    starts = list(commands)
    blocks = [fragment.block for fragment in starts]
    # what a flag is taken for by its name alone yields to what the program makes of it
    said = frozenset(one.fact for fragment in starts if fragment.dialect != "own" for one in fragment.statements)
    known = any(not framework(fragment.framework).library for fragment in starts)
    if sure and _says_all(starts) and any(map(_is_trainer, fragments)):
        fragments = [_closed(fragment) for fragment in fragments]
    certain = {fragment.block.number for fragment in fragments if fragment.layer == "call" and not fragment.presumed}
    found: list[Fragment] = []
    for fragment in fragments:
        if _is_left_out(fragment, blocks):
            fragment = fragment._replace(statements=tuple(one for one in fragment.statements if one.fact in _SWITCHES))
        if fragment.layer != "script-default":
            found.append(_given(_filled(fragment, blocks), said, known))
            continue
        one = _launched(fragment, blocks, said, known)
        found += _flags_apart(one) if sure and fragment.block.number in certain else [one]
    return found


_SWITCHES = frozenset({"lora.use_peft", "quantization.load_in_4bit", "quantization.load_in_8bit"})
_ONE_OPTION = re.compile(r"(not\s+)?(?:bool\()?(?:\w+\.)*(\w+)\)?")


def _is_left_out(fragment: Fragment, commands: list[Block]) -> bool:
    """Whether a branch makes the adapter or the quantiser that the command does not take: it says no to the option that the branch asks for."""
    call, text = fragment.block.origin, fragment.block.document.text.text
    if not isinstance(call, Call) or call.switch is None or kind(call) not in _BY_CHOICE:
        return False
    asked = _ONE_OPTION.fullmatch(text[call.switch.start : call.switch.end])
    given = [
        flag.value for block in commands for flag in block.mapping.entries if asked and spelled(flag.key) == asked[2]
    ]
    answer = given[-1].value if given and isinstance(given[-1], Scalar) else None
    said = _ANSWERS.get(answer.lower()) if isinstance(answer, str) else answer
    return said is (asked is not None and asked[1] is not None) if isinstance(said, bool) else False


_BY_CHOICE = frozenset({"adapter", "unsloth-adapter", "quantiser"})
_ANSWERS = {"false": False, "no": False, "0": False, "none": False, "true": True, "yes": True, "1": True}


def _flags_apart(fragment: Fragment) -> list[Fragment]:
    """What the command says of an argument that the program takes from its flag as it is: nobody else says otherwise."""
    given = tuple(one for one in fragment.statements if _is_of_flags(one))
    if not given:
        return [fragment]
    rest = tuple(one for one in fragment.statements if not _is_of_flags(one))
    return [fragment._replace(statements=given, presumed=False), fragment._replace(statements=rest)]


def _is_of_flags(one: Statement) -> bool:
    return isinstance(one.origin, Explicit) and one.origin.layer == "flags" and one.origin.reader != OWN


def _is_trainer(fragment: Fragment) -> bool:
    """A loop of the program's own knows nothing of the defaults of the Trainer's arguments."""
    return isinstance(fragment.block.origin, Call) and kind(fragment.block.origin) == "trainer"


def _says_all(commands: list[Fragment]) -> bool:
    """Whether the flags of the command are all that the program's parser gets: no `"$@"`, no file of settings."""
    return not any(one.layer == "file" or one.block.mapping.open for one in commands) and not any(
        link.role == "config" for one in commands for link in one.links
    )


_OF_THE_COMMAND = re.compile(
    r"\.parse_args_(?:into_dataclasses|and_config)\(\s*(?:return_remaining_strings\s*=\s*\w+\s*,?\s*)?\)"
)
_MORE_WORDS = re.compile(r"\bsys\.argv\s*(?:\[.{0,100}?\]\s*)?(?:\+?=(?!=)|\.(?:append|extend|insert)\b)|__post_init__")


def _closed(fragment: Fragment) -> Fragment:
    """A library's arguments that a parser fills with the words of the command: what these leave out has the library's default."""
    call, text = fragment.block.origin, fragment.block.document.text.text
    if not isinstance(call, Call) or not call.parsed or kind(call) != "arguments":
        return fragment
    if (
        not call.name.startswith(("transformers.", "trl."))
        or not _OF_THE_COMMAND.search(text)
        or _MORE_WORDS.search(text)
    ):
        return fragment
    module = fragment.block.document.root
    if isinstance(module, Module) and any(_may_change(other, call.start) for other in module.calls):
        return fragment
    return fragment._replace(scopes={**fragment.scopes, "training": CLOSED, "fsdp": CLOSED})


_CHANGES = re.compile(
    r"update|set|overr|patch|adjust|fix|merge|conf|prepare|process|check|valid|post|init|arg|param", re.IGNORECASE
)


def _may_change(call: Call, arguments: int) -> bool:
    """Whether a function of another file is given the arguments and is called as if it changed them."""
    if call.parsed or kind(call) == "trainer" or not _CHANGES.search(last_word(call.name)):
        return False
    given = (*call.positional, *(entry.value for entry in call.arguments.entries))
    return any(isinstance(node, Call) and node.start == arguments for node in given)


_OPTION = re.compile(r"`((?:\w+\.)*(\w+))` " + FROM_FLAGS)


def _filled(fragment: Fragment, commands: list[Block]) -> Fragment:
    """With the values of the flags that the program takes as they are and has no default for: `deepspeed=args.zero`."""
    found = tuple(_of_command(one, commands) for one in fragment.statements)
    if found == fragment.statements:
        return fragment
    known = {link.path for link in fragment.links}
    more = tuple(link for link in links(found) if link.path not in known)
    return fragment._replace(statements=found, links=(*fragment.links, *more))


def _of_command(one: Statement, commands: list[Block]) -> Statement:
    entry = one.origin.place.entry if isinstance(one.origin, Explicit) else None
    option = _OPTION.fullmatch(one.value.reason) if isinstance(one.value, Unknown) else None
    if option is None or entry is None or not isinstance(one.origin, Explicit):
        return one
    node = entry.value
    if one.origin.place.document.text.text[node.start : node.end] != option[1]:
        return one  # something is worked out from it
    given = [(block, flag) for block in commands for flag in block.mapping.entries if spelled(flag.key) == option[2]]
    if not given or not isinstance(given[-1][1].value, Scalar):
        return one
    return _as_parsed(_of_flag(one, *given[-1]), option[2], one.origin.place.document)


_HOLDS_OPTIONS = re.compile(r"`(?:args|opts?|options|hparams|cfg|config|FLAGS)\.\w+` ")


def given(one: Statement, name: str, commands: list[Block]) -> Statement | None:
    """What the command says under the name by which the program takes it from its options, which something else has been made of meanwhile."""
    if not name or not isinstance(one.value, Unknown) or not _HOLDS_OPTIONS.match(one.value.reason):
        return None
    found = [(block, flag) for block in commands for flag in block.mapping.entries if spelled(flag.key) == name]
    if len(found) != 1 or not isinstance(found[0][1].value, Scalar) or isinstance(found[0][1].value.value, Unknown):
        return None
    return _of_flag(one, *found[0])


def _as_parsed(one: Statement, option: str, program: Document) -> Statement:
    """A dictionary or a list that the command writes out, which the program's parser may read by a function of its own."""
    if not own_keys.is_written_out(one.raw) or option not in own_keys.converted(program.text.text):
        return one
    return one._replace(value=Unknown(f"the program's parser makes another value of `{option}`"))


def _given(fragment: Fragment, said: frozenset[str], known: bool) -> Fragment:
    """Without what the program leaves to the command, where that says it; of a program that a table knows without all that is unclear."""
    settled = (
        said | {"lora.use_peft"} if known else said
    )  # the table says what holds where its switch is not among the flags
    kept = tuple(one for one in fragment.statements if not (one.fact in settled and _is_left(one.value, known)))
    return fragment._replace(statements=kept)


def comes_from_flags(value: object) -> bool:
    """Whether the program takes it from its command line, where nobody says it."""
    return isinstance(value, Unknown) and value.reason.endswith(FROM_FLAGS)


def _is_left(value: object, known: bool) -> bool:
    return isinstance(value, Unknown) and (known or value.reason.endswith(FROM_FLAGS))


def _launched(fragment: Fragment, commands: list[Block], said: frozenset[str], known: bool) -> Fragment:
    """`known`: a table that knows the program has read its flags."""
    statements = []
    for one in fragment.statements:
        assert isinstance(one.origin, Explicit) and one.origin.place.entry is not None
        names = defaults_of(one.origin.place.entry.value)
        if one.fact in said and (known or COMPUTED not in names):
            continue
        given = [(block, entry) for block in commands for entry in block.mapping.entries if spelled(entry.key) in names]
        answer = _compared(one, [entry for _, entry in given])
        if answer is not None:
            statements.append(_of_flag(one, *given[-1])._replace(value=answer, raw=answer))
        elif given and len(names) == 1 and isinstance(given[-1][1].value, Scalar):
            statements.append(_as_parsed(_of_flag(one, *given[-1]), names[0], one.origin.place.document))
        elif given or any(block.mapping.open for block in commands):
            origin = one.origin._replace(layer="call") if COMPUTED in names else one.origin
            statements.append(one._replace(value=Unknown("set by the command that starts the program"), origin=origin))
        else:
            statements.append(one)
    return fragment._replace(statements=tuple(statements), links=links(tuple(statements)) if fragment.links else ())


_COMPARES = re.compile(r"(?:\w+\.)*(\w+)\s*(>=?|<=?|[=!]=)\s*(\d+(?:\.\d+)?)")
_COMPARED = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def _compared(one: Statement, given: list[Entry]) -> bool | None:
    """What a switch comes to that asks how large an option is: `if args.lora_rank > 0`."""
    entry = one.origin.place.entry if isinstance(one.origin, Explicit) else None
    if one.fact != "lora.use_peft" or not given or entry is None or not isinstance(one.origin, Explicit):
        return None
    text = one.origin.place.document.text.text[entry.value.start : entry.value.end]
    asked, value = _COMPARES.fullmatch(text), given[-1].value
    number = value.value if isinstance(value, Scalar) else None
    if (
        asked is None
        or spelled(given[-1].key) != asked[1]
        or isinstance(number, bool)
        or not isinstance(number, (int, float))
    ):
        return None
    return bool(_COMPARED[asked[2]](number, float(asked[3])))


def _of_flag(one: Statement, block: Block, flag: Entry) -> Statement:
    """The value that the flag has, where the program uses it."""
    node = flag.value
    raw = node.value if isinstance(node, Scalar) else None
    place = Place(block.document, flag.key, node.start, node.end, flag, (spelled(flag.key),))
    origin = one.origin
    reader = origin.reader if isinstance(origin, Explicit) else ""
    passed = isinstance(origin, Explicit) and reader and reader[0] != ":" and not reader.endswith(".options")
    key = origin.place if passed and isinstance(origin, Explicit) else None
    said = Explicit(place, "flags", block.number, reader if passed or reader == OWN else "", key)
    found = Statement(one.fact, CODECS[_CODECS.get(one.fact, "plain")](raw), raw, said)
    if reader == OWN and one.fact in ("training.finetuning_type", "training.stage"):
        return own_keys.meant(found, node)
    return found


def defaults_of(node: Node) -> list[str]:
    """The settings of a caller that a value depends on."""
    if isinstance(node, Sequence):
        return list(dict.fromkeys(name for item in node.items for name in defaults_of(item)))
    if isinstance(node, Mapping):
        return list(dict.fromkeys(name for entry in node.entries for name in defaults_of(entry.value)))
    return [name for name in defaulted(node).split(",") if name]
