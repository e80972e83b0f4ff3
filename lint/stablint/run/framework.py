"""A framework's record (knowledge/frameworks/NAME.yaml): what the engine asks about it, and what it fills in where its file says nothing, which
comes before the defaults of the library that it drives. Nothing else compares a framework's name."""

from __future__ import annotations

from functools import cache

from stablint.base import knowledge
from stablint.base.light import Any, NamedTuple
from stablint.run.fact import PRESUMED, Default, Fact, is_unknown
from stablint.run.releases.pep440 import release_key
from stablint.syntax.tree import Unknown


class Launch(NamedTuple):
    """Its usual command, and what that starts where nobody says a number."""

    command: str
    processes: str  # visible: one for each card that is visible; one: one process
    # file: ZeRO, FSDP and device_map stand in the run's own files, so that a file without them copies the weights to every card;
    # launcher: the launcher's own file may add them
    sharding: str
    rest: str = ""  # what one process does with the other cards: split (the layers are spread by device_map), none


class Rollout(NamedTuple):
    """Where it says how answers are written that are learned from: names of facts, empty where it is always so or never."""

    prompt: str
    answer: str
    share: str  # of the whole card, for the engine
    usual_share: float = 0.0  # where nobody says one; 0: the library's default is known
    engine: str = ""  # whether an engine writes them, and not the trained model itself
    place: str = ""  # colocate: on the cards that train
    sleeps: str = ""  # between two rounds the engine gives its weights and its cache back
    asleep: bool = False  # where nobody says so
    cards: str = ""  # over how many of them the engine's weights are split
    same_weights: bool = False  # engine and trainer use one copy, and the share is of what is free
    compares: tuple[str, ...] = ("training.beta",)  # what asks for a frozen copy, by being true or not 0
    copy_away: str = ""  # that lies in the host's memory
    parks: dict[str, str] | None = None  # what lies in the host's memory while answers are written, by component
    scores_prompts: bool = False  # the logits of prompts are built too
    strategy: str = ""  # weights and states are divided by FSDP, unless this says otherwise
    loads: tuple[str, ...] = ()  # the dtype that it loads them in: float32 where none says so
    copies_before: str = ""  # the release of TRL before which one is kept where nobody says so
    in_ppo: str = ""  # how long answers are in PPO, where the models that judge lie on the cards that train
    alone_by: str = ""  # the launcher without which those models may lie on cards of their own
    at_once: bool = False  # one forward pass goes through the trained model and the one that judges its states


class OwnKeys(NamedTuple):
    """Where its readers are asked which keys they take, and what they do with others (frameworks/unknown_keys.py)."""

    module: str = ""  # of `frameworks/`, which tells unknown keys in its own way
    by_command: dict[str, list[str]] | None = None  # a word of a command → the readers of its flags
    flags_of: tuple[str, ...] | None = (
        None  # the commands whose flags its parser reads, where it is not any that is told as its own
    )
    flags_of_scripts: dict[str, list[str]] | None = (
        None  # a name that others' scripts have as well → the flags beside which it is its own
    )
    flags_unread_by: tuple[str, ...] = ()  # flags with which another parser reads the command
    leaves_over_by: str = ""  # the switch with which its parser only warns of what is left over
    files_beside: tuple[str, ...] = ()  # a file of its own has one of these keys
    files_not_beside: tuple[str, ...] = ()  # keys of files of another form
    rewritten: tuple[
        str, ...
    ] = ()  # keys that it takes away before its readers see them; `name.*`: all in that section, `*.*`: in any
    keeps_prefix: dict[str, str] | None = None  # section → what the keys in it may begin with, and are read without
    drops_unread: bool = False  # a key that no release reads says nothing, whatever it means elsewhere
    plugins: str = ""  # how the names of its own in `plugins` begin: another one may read any key


class KeyedFiles(NamedTuple):
    """How its files are read where each key of them is one fact or several, so that it needs no module of its own (frameworks/keyed.py)."""

    told_by: tuple[str, ...]  # sections that all of its files have
    beside: tuple[str, ...]  # any of these stands beside them
    keys: dict[str, list[dict[str, Any]]]  # dotted key → its facts, with how its words are read
    sections: dict[str, dict[str, Any]]  # a section that is there says these facts
    closed: tuple[str, ...]  # namespaces of which its files say all
    flags: dict[str, list[dict[str, Any]]]  # what its command says beside its files' keys
    file_flags: tuple[str, ...] = ()  # flags that name the file, where it does not stand behind the command
    modules: tuple[str, ...] = ()  # that read it, behind `python -m`
    rest: str = ""  # the namespace in which every key is a fact under its own name as well


class Framework(NamedTuple):
    """What it does by itself, one property a line; each record says beside its value where that was read."""

    # whose words they are
    library: bool = False  # programs of anybody's import it: settings in its words need not be read by it
    patches: tuple[str, ...] = ()  # frameworks whose classes are its own once it is imported
    module: str = ""  # of `frameworks/`, which reads its files and flags
    files: KeyedFiles | None = None  # instead of a module
    asked_by_keys: tuple[str, ...] = ()  # any of these in a file lets its module be asked whether that is its own
    asked_by_sections: tuple[str, ...] = ()  # the same of a key in any section
    written_down: tuple[
        str, ...
    ] = ()  # what its runs write down for themselves: a file with three of them configures nothing
    merges: dict[str, str] | None = (
        None  # a word behind its command that merges an adapter, and the flag that asks for it
    )
    commands: dict[str, list[str]] | None = (
        None  # its own by the first word, with the second words that train; none where all do
    )
    started_as: tuple[str, ...] = ()  # how the modules and scripts that are its entry points begin
    told_by_words: tuple[str, ...] = ()  # words of a command by which its module may know more: it is asked
    told_by_flags: tuple[str, ...] = ()  # flags of which any tells it, or lets its module be asked
    parser: str = ""  # its class with which programs of anybody's read files of its form
    packages: tuple[str, ...] = ()  # what its own code is imported as
    declares: bool = False  # its classes and parsers have an argument for each key of its files
    own_command: bool = (
        False  # its files are given to a command of its own, whose installation brings the libraries that it takes
    )
    files_since: str = ""  # the release since which such files are what it is given
    own_names: bool = (
        False  # its files have names of their own throughout: they tell nothing of the libraries' releases
    )
    one_text: bool = False  # adapter and quantisation stand in the same text as everything else
    readers: tuple[
        str, ...
    ] = ()  # which keys it takes (run/releases/reader_keys.py): a key that any of them takes; `by command`: the one that is named
    keys: OwnKeys | None = None  # where these are not asked, and what becomes of other keys
    arguments: str = ""  # the reader of its subclass of TrainingArguments
    takes: tuple[str, ...] = ()  # arguments that its copies of the libraries' classes take beside theirs
    hands_on_trainer_arguments: bool = (
        False  # what a trainer's constructor took before goes where the library looks for it now
    )
    drops_unknown: bool = False  # an argument that a class does not have is left out
    casts_text: bool = False  # text that reads as a number or a switch becomes one, by the type that is wanted
    drops_nulls: bool = False  # a null in its file is silence
    closed_blocks: dict[str, str] | None = (
        None  # sections whose model refuses other keys → the release since which it does
    )
    taken_unread: tuple[
        str, ...
    ] = ()  # keys of such sections that no release's model has, and that every one takes all the same
    abbreviates: str = ""  # argparse takes the beginning of a name: `flags`, or `everything` that its files say as well
    takes_overrides: bool = False  # `section.key=value` behind its command
    passes_unknown_by: str = ""  # the setting with which arguments pass that its parser does not have
    # who trains, and what
    trainer: str = ""  # what takes the steps, where no program says so
    own_trainers: bool = False  # its own, or TRL's without the constructors that check the arguments
    trainer_in_ppo: Any = None  # whether PPO is transformers' Trainer's, or why that is not known, where it differs
    megatron_by: str = (
        ""  # the variable with which mcore_adapter's class reads the arguments and its trainer takes the steps
    )
    replaced_by: str = (
        ""  # the variable with which its command starts another program, to which the file says something else
    )
    trains_on_request: bool = False  # without `do_train`, evaluation or prediction alone is done
    adapter_by: str = ""  # the setting that alone makes an adapter: without it everything is trained
    loads_adapter_by: tuple[str, ...] = ()  # settings that name a stored adapter, in whose place no new one is made
    objective_by: str = ""  # the setting that says what is trained for, its default included
    objective_without_class: bool = False  # its arguments are no config class of TRL's, and say it all the same
    # in which precision
    autocast_by: str = ""  # the setting that is autocast's dtype
    mixed_precision: bool = True  # there is such a thing
    expands_quantised: bool = False  # quantised weights are computed with in the dtype that everything else has
    card_decides_under_deepspeed: bool = False
    chooses_by_card: bool = False  # what its settings leave to the card is answered by it
    half_by_card: bool = (
        False  # a model is loaded in a half format by the card, and trained in that where no switch is on
    )
    loads_in_float32: bool = False  # where no dtype is stated, in every release of transformers
    loads_copies: bool = False  # a model's name may bring a copy with another model's layers
    engine_by_program: bool = False  # what DeepSpeed is given is written in its own program, which everybody copies
    # on how many cards, and in how much memory
    launch: Launch | None = None
    rollout: Rollout | None = None
    shards_processes: bool = False  # several processes are FSDP
    warmup_at_most: int = 0  # steps: where no warm-up is stated, its share of all steps ends there
    fsdp_by_options: str = ""  # the release since which FSDP's options alone switch it on
    shards_four_bits: bool = False  # weights in 4 bits can be spread over the cards
    checkpoints_since: str = ""  # the release since which gradient checkpointing is on by itself
    checkpoints_on_host: bool = False
    # Four bits that it loads have their scales quantised as well, where nobody says otherwise.
    doubles_quantisation: bool = False
    repeats_keys: bool = False  # keys and values of grouped heads are repeated, as transformers does beside a mask
    own_attention: bool = False  # which kernel attends is not transformers' choice
    packs_into_one_row: str = ""  # the release since which the packed rows of a batch become one, without padding
    rows_as_long_as_data: bool = False  # without a length, that of the data
    pictures_after_cut: bool = False  # rows are cut before a picture in them becomes as many tokens as it has
    takes_what_is_left: bool = False  # its loss and its checkpoints are made to fit what memory is left
    # how its files say what would help
    hands_liger_on: bool = False  # the switch goes to transformers
    as_fused_loss: dict[str, Any] | None = None  # logits that are never whole, where the switch is its own
    dtype_in_file: bool = False  # in which dtype the base is loaded
    as_adapter: dict[str, Any] | None = None
    as_four_bits: dict[str, Any] | None = None

    @property
    def tells_files(self) -> bool:
        """Whether a file can be told as its own by what stands in it."""
        return self.files is not None or bool(self.asked_by_keys or self.asked_by_sections)

    @property
    def has_reader(self) -> bool:
        """Whether its files and flags are told and read as its own, by a module or by its record."""
        return bool(self.module) or self.files is not None


def _own_keys(**row: Any) -> OwnKeys:
    properties: dict[str, Any] = {key: tuple(value) if type(value) is list else value for key, value in row.items()}
    return OwnKeys(**properties)


def framework(name: str) -> Framework:
    """The record of a framework; a run of which none is known goes by that of transformers. What is no framework has no property."""
    found = _records.get(name)
    if found is None:
        table = knowledge.load("frameworks")
        row: dict[str, Any] = table.get(name or _NOBODY, {})
        lists = {key: tuple(value) for key, value in row.items() if type(value) is list}
        parts = {key: kind(**row[key]) for key, kind in _PARTS.items() if key in row}
        found = Framework(**{**row, **lists, **parts})
        _records[name] = found
    return found


_PARTS: dict[str, Any] = {"launch": Launch, "rollout": Rollout, "files": KeyedFiles, "keys": _own_keys}


@cache
def records() -> dict[str, Framework]:
    """All of them, by name."""
    return {name: framework(name) for name in knowledge.load("frameworks")}


def package_names() -> tuple[str, ...]:
    """What the code of all frameworks that are told by flags or keys is imported as."""
    return tuple(name for record in knowledge.load("frameworks").values() for name in record.get("packages", ()))


def with_own_command() -> list[str]:
    return [name for name, record in knowledge.load("frameworks").items() if record.get("own_command")]


UNSLOTH = "unsloth"  # whose import exchanges the classes of others
BY_MODULE = ("openrlhf", "verl")
"""Frameworks that are started by `-m`, from whichever folder comes first."""
_NOBODY = "transformers"
_records: dict[str, Framework] = {}

# Their defaults mean nothing while the feature is off; the dialect names a class where it is on.
_SWITCHED = ("lora", "quantization")


def fills_in(world: Any, name: str) -> Fact | None:
    """The framework's own default of a fact; None where it has none. `world` is the World that asks."""
    framework: str = world.run.framework
    table = knowledge.load(f"frameworks/{framework}") if framework else None
    rows = table.get(name) if table else None
    head = name.partition(".")[0]
    if rows is None or (head in _SWITCHED and head not in world.run.classes):
        return None
    presumed = world.scope(name) == PRESUMED
    change_points: frozenset[Any] = frozenset()
    if world.framework.patches and world.value("launch.shows.patched_by_branch") is True:
        return Fact(name, Unknown(f"whether {framework} is imported is decided when the program runs"), None)
    for row in rows:
        since = row.get("since")
        if since is not None:
            known = world.at_least(framework, since)
            change_points |= frozenset({(framework, release_key(since))})
            if known is False:
                continue
        word = "when" if "when" in row else "unless" if "unless" in row else ""
        if word:
            ((other, wanted),) = row[word].items()
            condition = world.depends(name, other)
            change_points |= condition.change_points
            if is_unknown(condition.value):
                return Fact(name, Unknown(f"it depends on `{other}`"), None, change_points=change_points)
            if (condition.value == wanted and type(condition.value) is type(wanted)) is (word == "unless"):
                continue
        origin = Default(framework, name.partition(".")[2], f">={since}" if since else "", presumed)
        if "unknown" in row:
            return Fact(name, Unknown(row["unknown"]), None, change_points=change_points)
        if "is" in row:
            return Fact(name, row["is"], origin, change_points=change_points, presumed=presumed)
        source = world.depends(name, row["as"] if "as" in row else row["times"][0])
        value = source.value
        if "times" in row and not is_unknown(value):
            value = value * row["times"][1] if isinstance(value, (int, float)) else Unknown("it is not known")
        return Fact(
            name,
            value,
            origin,
            change_points=change_points | source.change_points,
            presumed=presumed or source.presumed,
        )
    return None


def may_be_patched(name: str) -> bool:
    """Whether the classes of this framework are Unsloth's where a program has imported it first."""
    return name == UNSLOTH or name in framework(UNSLOTH).patches
