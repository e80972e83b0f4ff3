"""What lies around a file that is shown, joined to its run: the configuration, the module and the options of a program that nothing leads to.

All of it is presumed. A check never comes here.
"""

from __future__ import annotations

import re

from stablint.assemble.files import Files
from stablint.assemble.parts import READ_BY_OTHERS, ROLE_DIALECT, Part, asks, at_hand, of_the_program
from stablint.base.light import TYPE_CHECKING
from stablint.frameworks import own as own_words
from stablint.frameworks.fragment import NUMBERS, Fragment, spelled
from stablint.frameworks.programs import kinds as python_kinds
from stablint.frameworks.programs import runs as program_runs
from stablint.frameworks.registry import PROGRAM
from stablint.run.fact import OPEN, PRESUMED, Explicit, Statement, Value
from stablint.run.framework import UNSLOTH, framework
from stablint.syntax.tree import Call, Mapping, Scalar, Unknown

if TYPE_CHECKING:
    from stablint.assemble.files import Around
    from stablint.frameworks.launch.at_hand import Program

_OF_A_TRAINING = frozenset({"arguments", "trainer", "own-trainer", "optimizer", "lightning", "fit", "deepspeed"})


def module(parts: list[Part], programs: list[Program], around: Around) -> str | None:
    """The module that trains for the program, where that itself makes no trainer and takes no step."""
    first = parts[0].fragment.block
    path = first.document.text.path if first.kind == "call" else programs[0].document.text.path if programs else ""
    calls = (part.fragment.block.origin for part in parts)
    kinds = {python_kinds.kind(one) or "own-trainer" for one in calls if isinstance(one, Call)} & _OF_A_TRAINING
    if not path.endswith(".py"):
        return None
    if kinds == {"arguments", "own-trainer"}:  # whose class may have a loop of its own
        return around.training(path, True)
    if kinds == {"optimizer"} and not any(
        one.fact == "launch.loop" for part in parts for one in part.fragment.statements
    ):
        return around.training(path, True)
    if kinds:
        return None
    return around.training(path) or (around.user(path) if first.kind == "call" else None)


def with_module(parts: list[Part], module: str, files: Files) -> list[Part]:
    """With what this module says that the others leave open."""
    known = files.fragments(module) or files.fragments(module, PROGRAM)
    found = next(iter(program_runs.groups(of_the_program(known))), [])
    if parts[0].fragment.block.kind != "call":
        found = program_runs.launched(found, [part.fragment for part in parts])
    statements = (one for part in parts for one in part.fragment.statements)
    said = frozenset(one.fact for one in statements if not isinstance(one.value, Unknown))
    if any(isinstance(one.block.origin, Call) and python_kinds.kind(one.block.origin) == "trainer" for one in found):
        parts = [_without_a_loop(part) for part in parts]  # the library's trainer has it
    for fragment in found:
        kept = tuple(one for one in fragment.statements if not (isinstance(one.value, Unknown) and one.fact in said))
        parts = [*parts, Part(fragment._replace(statements=kept), True)]
    return parts


def _without_a_loop(part: Part) -> Part:
    return _with(part, [one for one in part.fragment.statements if one.fact != "launch.loop"])


def _with(part: Part, kept: list[Statement]) -> Part:
    return part._replace(fragment=part.fragment._replace(statements=tuple(kept)))


# What says how it trains, before any word of the program's own.
_WAYS = frozenset({
    "training.finetuning_type", "training.adapter", "lora.use_peft", "training.projector_only", "training.tunable_parts",
})  # fmt: skip
_LENGTHS = frozenset({"training.max_length", "data.block_size"})
_MODEL = "model.name_or_path"


def without_defaults(part: Part) -> Part:
    """Without what the program has for defaults: a launcher's file that nobody names is of a command which nobody sees, and which may say otherwise."""
    said = part.fragment.statements
    return _with(part, [one for one in said if one.fact not in _SAID_BY_COMMANDS or not _is_default(one)])


def _is_default(one: Statement) -> bool:
    return isinstance(one.origin, Explicit) and one.origin.layer == "script-default"


_SAID_BY_COMMANDS = frozenset({
    "training.learning_rate", "training.num_train_epochs", "training.max_steps", "training.per_device_train_batch_size",
    "training.gradient_accumulation_steps", "training.max_length", "data.block_size", "trainer.max_seq_length", "model.name_or_path",
})  # fmt: skip


# What DeepSpeed's own file says in the place of an option.
_SAID_BY = {
    "training.learning_rate": ("deepspeed.optimizer.params.lr",),
    "training.per_device_train_batch_size": ("deepspeed.train_micro_batch_size_per_gpu", "deepspeed.train_batch_size"),
    "training.gradient_accumulation_steps": ("deepspeed.gradient_accumulation_steps", "deepspeed.train_batch_size"),
}


def with_its_way(parts: list[Part], programs: list[Program], around: Around) -> list[Part]:
    """With what the options and modules of the program say of how it trains, and how long its rows are, where nothing else does."""
    first = parts[0].fragment
    call = first.block.kind == "call"
    if not call and not (programs and programs[0].trains and (programs[0].trainer or programs[0].loop)):
        return parts
    if framework(first.framework).adapter_by in _WAYS - {"lora.use_peft"}:
        return parts
    path = first.block.document.text.path if call else programs[0].document.text.path
    told = around.told(path, [part.fragment for part in parts if part.fragment.dialect not in READ_BY_OTHERS])
    statements = [one for part in parts for one in part.fragment.statements]
    known = {one.fact for one in statements if not isinstance(one.value, Unknown)}
    dropped = {"model.partly_frozen"} if told.freezes_another else set()
    if call and any(one.fact == "training.do_train" and one.value is False for one in statements if _is_default(one)):
        dropped |= {"training.do_train"}  # of a command that nobody sees
    more: list[Statement] = []
    scopes: dict[str, str] = {}
    if known.isdisjoint(_WAYS):
        made = any(one.fact == "lora.peft_type" and one.fact in known for one in statements)
        if told.way is not None and not (made and told.way_is_guessed):
            dropped |= {"lora.use_peft"}
            more.append(told.way)
        elif (told.whole and not any(one.fact.startswith("lora.") for one in statements)) or (
            not call and not told.makes and _is_off_by_default(parts, statements)
        ):
            scopes = {"lora": PRESUMED}
        elif any(_leaves_it_open(part.fragment) for part in parts):
            parts = [_without_its_claim(part) for part in parts]
    torch = any(one.fact == "launch.loop" and one.value == "torch" for one in statements)
    if told.casts_nothing and torch:
        scopes = {**scopes, "model": PRESUMED}
    firm = {
        one.fact
        for one in statements
        if one.fact in known and not (isinstance(one.origin, Explicit) and one.origin.layer == "script-default")
    }
    names = {name for part in parts for name in part.fragment.classes.get("training", ())}
    # TRL's arguments have a length of their own, which a dictionary may give them.
    apart = not any("trl." in name for name in names) or any(_is_spread(part.fragment) for part in parts)
    if told.length is not None and firm.isdisjoint(_LENGTHS) and apart:
        dropped |= {"training.max_length"}
        more.append(told.length)
    elif told.of_trainer is not None and known.isdisjoint(_LENGTHS):
        handed = next((one for one in statements if one.fact == "trainer.max_length"), None)
        more += [handed._replace(fact="training.max_length", value=told.of_trainer)] if handed is not None else []
    unclear = {one.fact for one in statements if isinstance(one.value, Unknown)}
    # a file's name for the model is not the one that the program asks for
    known -= {one.fact for one in statements if one.fact == _MODEL and _attribute(one)}
    taken: set[str] = set()  # of several that say the same the first counts
    for one in told.open:
        if (
            one.fact not in known | taken
            and (one.fact != "model.dtype" or torch)
            and known.isdisjoint(_SAID_BY.get(one.fact, ()))
        ):
            taken.add(one.fact)
            dropped.add(one.fact)
            more.append(one)
    for one in told.unclear:
        if one.fact in unclear and one.fact not in taken:
            taken.add(one.fact)
            dropped.add(one.fact)
            more.append(one)
    if dropped:
        parts = [
            part._replace(
                fragment=part.fragment._replace(
                    statements=tuple(one for one in part.fragment.statements if one.fact not in dropped)
                )
            )
            for part in parts
        ]
    if not more and not scopes:
        return parts
    alone = first._replace(
        statements=tuple(more), scopes=scopes, classes={}, links=(), entry=False, framework="", cut=(), pins={}
    )
    return [*parts, Part(alone, True)]


def _is_off_by_default(parts: list[Part], statements: list[Statement]) -> bool:
    """Whether TRL's ModelConfig makes the adapter's configuration, and what is at hand of a file or a command does not say `use_peft`."""
    said = {one.fact for one in statements}
    is_open = any(part.fragment.layer == "flags" and part.fragment.block.mapping.open for part in parts)
    return "trainer.peft_by_model_config" in said and "lora.use_peft" not in said and not is_open


def _leaves_it_open(fragment: Fragment) -> bool:
    """Whether a program may make an adapter that is not seen."""
    return fragment.layer == "call" and fragment.scopes.get("lora") == OPEN


def _without_its_claim(part: Part) -> Part:
    """A file that is looked for by its keys alone does not say that there is no adapter, where its program leaves that open."""
    fragment = part.fragment
    if fragment.layer != "file" or "lora" not in fragment.scopes or fragment.dialect in READ_BY_OTHERS:
        return part
    return part._replace(fragment=fragment._replace(scopes={**fragment.scopes, "lora": OPEN}))


def with_settings(parts: list[Part], programs: list[Program], files: Files, around: Around) -> list[Part]:
    """With the configuration that the program reads where nothing else is named."""
    first = parts[0].fragment.block
    own = at_hand(files, first.document.text.path) if first.kind == "call" else None
    program = own or next(iter(programs), None)
    if own is None and program is not None and not (program.trains and (program.trainer or program.loop)):
        return parts
    path = around.settings(program.document.text.path, first.document.text.path) if program is not None else None
    if program is None or path is None or any(part.fragment.block.document.path == path for part in parts):
        return parts
    found = [one for one in files.fragments(path) if one.entry and one.block.kind == "document"]
    read = [program.reads(one) if one.dialect not in ROLE_DIALECT else one for one in found]
    return [*parts, *(Part(one if program.makes_arguments else own_words.with_own_words(one), True) for one in read)]


def told_by_others(parts: list[Part]) -> list[Part]:
    """What a program, or a module of it, takes by a name is what the command or the program's own options say under this name; with a default
    of its own where nobody says it: `settings.get("beta", 0.1)`."""
    said: dict[tuple[str, str], Statement] = {}
    keys: set[str] = set()
    for part in parts:
        for one in part.fragment.statements:
            if isinstance(one.origin, Explicit) and one.origin.place.path:
                if part.fragment.layer in ("flags", "script-default") and not isinstance(one.value, Unknown):
                    said.setdefault((one.fact, spelled(one.origin.place.path[-1])), one)
    for part in parts:
        if part.fragment.layer == "file":
            keys |= _keys(part.fragment.block.mapping)
    flags = [part.fragment.block for part in parts if part.fragment.block.kind == "flags"]
    by_files = {
        one.fact: one
        for part in parts
        if part.fragment.layer == "file" and part.fragment.dialect not in READ_BY_OTHERS
        for one in part.fragment.statements
        if not isinstance(one.value, Unknown)
    }
    found = []
    for part in parts:
        fragment = part.fragment
        if by_files and _is_spread(fragment):  # what the file leaves out nobody is seen to say
            fragment = fragment._replace(scopes={**fragment.scopes, "training": PRESUMED})
            part = part._replace(fragment=fragment)
        if (
            fragment.layer == "file"
            or fragment.block.kind == "flags"
            or not any(
                asks(one) or program_runs.comes_from_flags(one.value) or _attribute(one) for one in fragment.statements
            )
        ):
            found.append(part)
            continue
        told: list[Statement] = []
        apart: list[Statement] = []
        for one in fragment.statements:
            other = said.get((one.fact, one.value.key)) if isinstance(one.value, Unknown) else None
            if other is None and program_runs.comes_from_flags(one.value):
                other = by_files.get(one.fact)  # the file fills the options in
            if other is None and isinstance(one.value, Unknown):
                other = _of_an_object(one, by_files) or program_runs.given(one, _attribute(one), flags)
            default = _given_default(one, keys) if other is None else None
            value = other.value if other is not None else default
            (told if value is None else apart).append(one if value is None else one._replace(value=value, raw=value))
        found.append(part._replace(fragment=fragment._replace(statements=tuple(told))))
        if apart:
            rest = fragment._replace(
                statements=tuple(apart), scopes={}, classes={}, links=(), entry=False, framework=""
            )
            found.append(Part(rest, True))
    return found


_ATTRIBUTE = re.compile(r"`[\w.]+(?:\.(\w+)|\[[\"'](\w+)[\"']\])` is set when the program runs\Z")


def _attribute(one: Statement) -> str:
    """The name by which the program takes it from an object: `config.learning_rate`, `section["learning_rate"]`, `config.get("learning_rate")`; or
    that of the parameter which it is."""
    if not isinstance(one.value, Unknown):
        return ""
    if one.value.key and one.value.reason.endswith(".get(…)`"):
        return one.value.key
    found = _ATTRIBUTE.match(one.value.reason) or _OF_A_CALLER.match(one.value.reason)
    return next(filter(None, found.groups()), "") if found is not None else ""


_OF_A_CALLER = re.compile(r"`(\w+)` is a parameter\Z")


def _of_an_object(one: Statement, by_files: dict[str, Statement]) -> Statement | None:
    """What a file says under the name by which the program takes it from an object that it has made of one."""
    name, other = _attribute(one), by_files.get(one.fact)
    if not name or other is None or not isinstance(other.origin, Explicit) or not other.origin.place.path:
        return None
    if spelled(other.origin.place.path[-1]) != name:
        return None
    if isinstance(other.value, str) and _A_NUMBER.match(
        other.value
    ):  # which YAML takes for a text, and the program hardly does
        return other._replace(value=float(other.value), raw=float(other.value))
    return other


_A_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?[eE][-+]?\d+\Z")


def with_unsloths_length(parts: list[Part]) -> list[Part]:
    """With the length of the model that Unsloth loads, which its trainers take where their arguments have none."""
    statements = [one for part in parts for one in part.fragment.statements]
    said = {one.fact for one in statements}
    length = next((one for one in statements if one.fact == "model.max_seq_length"), None)
    if length is None or not isinstance(length.value, int) or not said.isdisjoint(_GIVEN_LENGTHS):
        return parts
    if not any(part.fragment.framework == UNSLOTH for part in parts):
        return parts
    alone = parts[0].fragment._replace(
        statements=(length._replace(fact="training.max_length"),), scopes={}, classes={}, links=(), entry=False,
        framework="", cut=(), pins={},
    )  # fmt: skip
    return [*parts, Part(alone, True)]


_GIVEN_LENGTHS = frozenset({"training.max_length", "trainer.max_seq_length", "trainer.max_length"})


def _is_spread(fragment: Fragment) -> bool:
    """Whether it is a library's arguments, made of a dictionary: `TrainingArguments(**settings)`."""
    call = fragment.block.origin
    return (
        isinstance(call, Call)
        and python_kinds.kind(call) == "arguments"
        and fragment.block.mapping.open
        and not call.parsed
    )


def _keys(mapping: Mapping) -> set[str]:
    """Of a file and its sections."""
    found: set[str] = set()
    pending = [mapping]
    while pending:
        for entry in pending.pop().entries:
            found.add(spelled(entry.key))
            if isinstance(entry.value, Mapping):
                pending.append(entry.value)
    return found


def _given_default(one: Statement, keys: set[str]) -> Value:
    """What `settings.get("beta", 0.1)` gives where no file has the key."""
    entry = one.origin.place.entry if isinstance(one.origin, Explicit) else None
    node = entry.value if entry is not None else None
    if isinstance(node, Call) and node.name in NUMBERS and len(node.positional) == 1:
        node = node.positional[0]
    if not (isinstance(node, Call) and node.name.endswith(".get") and len(node.positional) == 2):
        return None
    asked, given = node.positional
    known = isinstance(asked, Scalar) and isinstance(given, Scalar) and not isinstance(given.value, Unknown)
    return given.value if known and isinstance(asked.value, str) and spelled(asked.value) not in keys else None  # type: ignore[union-attr]
