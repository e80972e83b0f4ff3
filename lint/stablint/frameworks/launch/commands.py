"""Launch commands: what the launcher's flags say about processes and sharding, what the script's flags say about training, which files they name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from collections.abc import Mapping as Table

from stablint.frameworks import huggingface, hydra, llamafactory, own
from stablint.frameworks.fragment import PURPOSE, Block, Fragment, Link, as_yaml, override, overrides, spelled
from stablint.frameworks.launch import launchers as launch
from stablint.frameworks.launch import programs, slurm
from stablint.run.fact import OPEN, Explicit, Place, Statement
from stablint.run.framework import framework
from stablint.run.releases.fields import field, known_key
from stablint.syntax.limits import BLOCKS
from stablint.syntax.tree import Command, Document, Mapping, Node, Scalar, Script, Sequence, Unknown

_SAY = (("echo",), ("printf",), ("eval",))  # they only show a command, or it is read by itself
SplitLaunch = Callable[[Command], "tuple[Command, Command | None]"]

# What only training has; the others of the telling flags are those of evaluation scripts as well.
_TRAINING_ONLY = huggingface.TELLING - {"deepspeed", "fp16", "bf16", "per_device_eval_batch_size"}
_OF_A_RUN = frozenset({"output_dir", "dataset_name", "dataset", "train_file", "do_train"})
_GENERATES = frozenset(
    {"temperature", "top_p", "top_k", "min_p", "max_new_tokens", "repetition_penalty", "response_length", "stop_token"}
)
_CONFIG_SUFFIX = (".yaml", ".yml", ".json")
# A caller that hands over a whole config: everything else in it stands in that file.
_CONFIG_FLAGS = frozenset({"config", "config_file", "config_path"})
_FILE_FLAGS = dict.fromkeys(("deepspeed", "deepspeed_config"), "deepspeed") | dict.fromkeys(_CONFIG_FLAGS, "config")


def _is_training(launcher: Command, script: Command | None) -> bool:
    target = script or launcher
    keys = {spelled(entry.key) for entry in target.flags.entries}
    if launcher.words[:1] in _SAY or not programs.trains(target) or _only_prints(target):
        return False
    if launcher.words and launcher.words[0].rpartition("/")[2] in _OF_FILES:
        return False
    program = programs.of(launcher, script)
    if not keys and not target.positionals:
        return program is not None and program.dialect == "verl"
    known = _known_flags(target)
    return (
        (known >= 3 and not _evaluates(target, keys, known))
        or (program is not None and (bool(keys) or bool(_config_links(target))))
        or (program is not None and program.dialect == "verl")
        or own.are_of_a_training(frozenset(keys))
        or (script is not None and _starts_training(launcher, launcher) and own.may_be_of_a_training(frozenset(keys)))
        or _is_hydra(target)
        or (known >= 1 and bool(keys & huggingface.TELLING) and not _evaluates(target, keys, known))
        or (bool(_config_links(target)) and _starts_training(launcher, target))
        or (_names_config(target) and script is not None and _speaks_of_training(target))
    )


# With them argparse, jsonargparse (litgpt, Lightning) and Hydra print something and end, whatever else stands there.
_PRINTS = frozenset({"help", "h", "version", "print_config", "hydra_help"})
_PRINTS_WITH = {
    "cfg": ("job", "hydra", "all"),
    "info": ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath"),
}


def _only_prints(target: Command) -> bool:
    """Whether the command tells of itself and starts nothing: `--help`, `--print_config`, `--cfg job`."""
    return any(
        (key in _PRINTS and _is_bare(entry.value))
        or (isinstance(entry.value, Scalar) and entry.value.value in _PRINTS_WITH.get(key, ()))
        for entry in target.flags.entries
        for key in (entry.key.lstrip("-").replace("-", "_"),)
    )


def _is_bare(node: Node) -> bool:
    return isinstance(node, Scalar) and node.value is True


def _has_words(target: Command) -> bool:
    """`key=value` behind the program, and no flags of a trainer's."""
    return any(isinstance(word.value, str) and "=" in word.value for word in target.positionals) and not _known_flags(
        target
    )


def _is_hydra(target: Command) -> bool:
    if not _has_words(target):
        return False
    return hydra.is_training(target)


def _evaluates(target: Command, keys: set[str], known: int) -> bool:
    """Whether nothing among the flags is of training alone, and several are of no trainer that is known or none is of a run's output."""
    if not keys.isdisjoint(_TRAINING_ONLY) or huggingface.is_trl(keys - _GENERATES):
        return False
    return len(keys) - known >= 2 or (keys.isdisjoint(_OF_A_RUN) and not _speaks_of_training(target))


def _launches_script(launcher: Command, script: Command | None) -> bool:
    """A launcher in front of a Python file, or of a module that is called after a training: what the file does is told by the file."""
    named = launcher.words[:1] in (("torchrun",), ("deepspeed",), ("accelerate",), ("python",), ("python3",))
    if named and script is not None and launcher.words[-1:] == ("-m",) and script.words[:1]:
        return "." in script.words[0] and _names_training(script.words[0])
    return named and any(word.endswith(".py") for word in _script_words(script or launcher))


def _script_words(command: Command) -> tuple[str, ...]:
    return (*command.words, *(word.value for word in command.positionals if isinstance(word.value, str)))


def _known_flags(target: Command) -> int:
    return sum(1 for entry in target.flags.entries if known_key(key := spelled(entry.key)) or key in llamafactory.ROWS)


_BOOLEAN = {
    1: True,
    0: False,
    "1": True,
    "0": False,
    "yes": True,
    "no": False,
    "y": True,
    "n": False,
    "t": True,
    "f": False,
}


def _truth(stated: Statement) -> Statement:
    """`--bf16 1` and `--bf16 yes` are true for HfArgumentParser (transformers hf_argparser.py, string_to_bool) where the field is one of truth."""
    raw = stated.raw.lower() if isinstance(stated.raw, str) else stated.raw
    if isinstance(raw, bool) or not isinstance(raw, (int, str)) or raw not in _BOOLEAN:
        return stated
    head, _, name = stated.fact.partition(".")
    spans = field(huggingface.BASE, name) if head == "training" else None
    row = huggingface.ROWS.get(name)
    kind = spans.type_at(max(spans.change_points)) if spans is not None and spans.change_points else None
    boolean = "bool" in (kind or "") or (kind is None and row is not None and row.codec == "flag")
    return stated._replace(value=_BOOLEAN[raw]) if boolean and "str" not in (kind or "") else stated


def _own_parser(target: Command) -> bool:
    """Whether more flags are nobody's than are TRL's alone: one script adds some arguments to TRL's, another has its own."""
    keys = [spelled(entry.key) for entry in target.flags.entries]
    foreign = len(keys) - _known_flags(target)
    return foreign >= 2 and foreign > sum(1 for key in keys if huggingface.is_trl((key,)))


def _hyphens(target: Command) -> bool:
    """Whether flags that nobody knows are among them, and every flag of several words has hyphens: fields have underscores, and so do the
    flags that are made of them. Which of the names are a library's is not known then."""
    return len(target.flags.entries) - _known_flags(target) >= 2 and all(
        "_" not in entry.key for entry in target.flags.entries
    )


def _tells_quantisation(fragment: Fragment) -> bool:
    return any(stated.fact.startswith("quantization.") for stated in fragment.statements)


def _quantises(target: Command) -> bool:
    """Whether a flag of the script's own (`--bits 4`, `--use_int8`) may say how the weights are loaded."""
    words = ("bit", "quant", "int8", "int4", "nf4", "qlora", "q_lora")
    return any(
        any(word in key for word in words) and not known_key(key)
        for key in (spelled(entry.key) for entry in target.flags.entries)
    )


def _starts_training(launcher: Command, target: Command) -> bool:
    words = launcher.words
    named = words[:2] in (("accelerate", "launch"), ("llamafactory-cli", "train")) or (
        words and words[0] in ("torchrun", "deepspeed", "trl")
    )
    if target is not launcher:
        return bool(named) or _speaks_of_training(target)
    # Nothing is started that is known: `tool train run.yaml` and `train-it run.yaml` say so themselves, `show run.yaml training/` does not.
    told = (*words[:1], *(word for word in words[1:2] if "/" not in word and "." not in word))
    return bool(named) or any(_names_training(word) for word in told)


# They move, show and compare what they are given.
_OF_FILES = frozenset(
    ["aws", "awk", "cat", "chmod", "cp", "curl", "diff", "du", "git", "grep", "gsutil", "head", "install", "jq", "less",
     "ln", "ls", "mkdir", "mv", "nano", "rm", "rsync", "scp", "sed", "sort", "stat", "tail", "tar", "tee", "test", "touch", "unzip", "vi", "vim", "wc",
     "wget", "yq", "zip"]
)  # fmt: skip


def _names_training(word: str) -> bool:
    return "train" in word or "finetune" in word or "sft" in word


def _speaks_of_training(target: Command) -> bool:
    return any(_names_training(word) for word in target.words)


def lower(document: Document, split_launch: SplitLaunch) -> Iterator[Fragment]:
    """Two fragments a training command: the launcher's and the script's; commands are numbered, each makes a run."""
    script = document.root
    blocks = 0
    for index, command in enumerate(script.commands if isinstance(script, Script) else ()):
        launcher, target = split_launch(command)
        weak = not _is_training(launcher, target)
        if weak and not _launches_script(launcher, target):
            continue
        blocks += 1
        if blocks > BLOCKS.most + 1:  # assemble/runs.py leaves out the last of them, and says so
            return
        found = [
            _training(document, launcher, target or launcher, index),
            launch.lower(document, launcher, index, target is not None, command.words[0]),
        ]
        found += _meant(found[0])
        for fragment in found:
            if command.folder:
                there = tuple(link._replace(folder=command.folder) for link in fragment.links)
                fragment = fragment._replace(links=there)
            for one in _presumed(fragment._replace(weak=weak)):
                yield one._replace(presumed=True) if command.idle else one
        header = slurm.lower(document, command, launch.name_of(launcher), index)
        if header is not None:
            yield header._replace(weak=weak)


def _presumed(fragment: Fragment) -> Iterator[Fragment]:
    """A fragment, and by itself what of it the caller may say otherwise: `${LR:-1e-5}`."""
    kept: list[Statement] = []
    apart: list[Statement] = []
    for stated in fragment.statements:
        entry = stated.origin.place.entry if isinstance(stated.origin, Explicit) else None
        value = entry.value if entry is not None else None
        (apart if isinstance(value, Scalar) and value.form == "default" else kept).append(stated)
    yield fragment._replace(statements=tuple(kept))
    if apart:
        yield fragment._replace(
            statements=tuple(apart), scopes={}, classes={}, links=(), entry=False, framework="", presumed=True
        )


# What DeepSpeed's file decides where the program has a loop of its own.
_OF_THE_ENGINE = frozenset({"training.deepspeed", "training.fp16", "training.bf16"})
_OWN_LOOP = "flags of DeepSpeed's own parser: the loop is the program's"


def _training(document: Document, launcher: Command, target: Command, index: int) -> Fragment:
    program = programs.of(launcher, target)
    llamafactorys = program is not None and program.dialect == "llamafactory"
    flags = _merged(target, document.text.text) if llamafactorys else target.flags
    block = Block(document, "flags", " ".join(target.words), flags, launcher.start, target.end, index, target)
    fragment = programs.lower(block, program)
    told = _config_links_of(document, target, index)
    if launcher.words[-1:] == ("-m",) and target.words[:1] and target.words[0] not in _RUNS_A_FILE:
        told = tuple(
            link for link in told if link.role != "script"
        )  # the module's own words: `-m tool train.py --flag`
    configs = (*told, *_module_links(document, launcher, target))
    if program is not None and program.dialect == "trl":
        configs = tuple(link._replace(reader=block.name) if link.role == "config" else link for link in configs)
    hyphens = program is None and _hyphens(target)
    if program is None and fragment.dialect == "trl" and (hyphens or _own_parser(target)):
        # some names are TRL's, but the arguments are the program's own: what it fills in for the others is not known
        known = tuple(f"?{name}" if name.startswith("trl.") else name for name in fragment.classes.get("training", ()))
        others = {
            namespace: names
            for namespace, names in fragment.classes.items()
            if not any(name.startswith("trl.") for name in names)
        }
        fragment = fragment._replace(dialect="hf-args", framework="", classes={**others, "training": known})
    elif program is None:
        fragment = fragment._replace(classes=_by_script(target, fragment.classes))
    if hyphens:
        doubted = tuple(f"?{name.removeprefix('?')}" for name in fragment.classes.get("training", ()))
        fragment = fragment._replace(classes={**fragment.classes, "training": doubted})
    if program is None and configs and not _known_flags(target):
        fragment = fragment._replace(framework="")  # `train.py recipe.yaml`: whose script it is, the file tells
    if program is None and _has_words(target):
        fragment = fragment._replace(classes={}, scopes=own.scopes(), framework="", dialect="own")
    elif program is None:
        fragment = _by_its_own_names(fragment)
    fragment = fragment._replace(statements=tuple(_truth(stated) for stated in fragment.statements))
    scopes = dict(fragment.scopes)
    # What is not among the flags may stand in the file; and few known flags do not prove that the script parses TrainingArguments.
    # `--deepspeed_config` is the flag of DeepSpeed's own parser: whoever has it builds no TrainingArguments, which call it `--deepspeed`.
    links = (*fragment.links, *configs, *_unresolved(document, target))
    said = (*_purpose(document, target, index), *_phase(document, target, index))
    if program is not None:
        said += tuple(_beside_a_file(document, target, index))
    fragment = fragment._replace(statements=(*fragment.statements, *said))
    # So is a `--deepspeed` that stands alone.
    foreign = program is None and (_has_flag(target, "deepspeed_config") or _is_switch(target, "deepspeed"))
    if foreign:
        kept = tuple(stated for stated in fragment.statements if stated.fact not in _OF_THE_ENGINE)
        origin = Explicit(Place(document, " ".join(target.words), target.start, target.end), "script-default", index)
        loop = Statement("launch.loop", Unknown(_OWN_LOOP), _OWN_LOOP, origin)
        fragment = fragment._replace(statements=(*kept, loop))
    few = program is None and _known_flags(target) < 3
    if foreign or few or _names_config(target):
        scopes = dict.fromkeys(scopes, OPEN)
    elif program is None and _quantises(target) and not _tells_quantisation(fragment):
        scopes |= dict.fromkeys(("model", "quantization"), OPEN)
    return fragment._replace(links=links, scopes=scopes)


def _by_its_own_names(fragment: Fragment) -> Fragment:
    """`--lr 1e-5 --epochs 3`: the parser is the program's own, and no default of TrainingArguments holds beside it. What such flags mean
    is presumed, and stands by itself (`_meant`)."""
    if not framework(fragment.framework).library:
        return fragment
    keys = frozenset(spelled(entry.key) for entry in fragment.block.mapping.entries)
    if keys.isdisjoint(own.ALIASES):
        return fragment
    found, alone = own.of_flags(fragment.block, "flags", frozenset(one.fact for one in fragment.statements))
    if not found or not alone:
        return fragment
    classes = {head: names for head, names in fragment.classes.items() if head not in ("training", "trainer")}
    return fragment._replace(classes=classes, scopes=own.scopes(), framework="", dialect="own")


def _meant(fragment: Fragment) -> list[Fragment]:
    if fragment.dialect != "own":
        return []
    said, _ = own.of_flags(fragment.block, "flags", frozenset(one.fact for one in fragment.statements))
    if isinstance(fragment.block.origin, Command) and _has_words(fragment.block.origin):
        said += hydra.stated(fragment.block)
    empty = fragment._replace(scopes={}, classes={}, links=(), entry=False)
    return [empty._replace(statements=tuple(said), presumed=True)]


def _by_script(target: Command, classes: Table[str, tuple[str, ...]]) -> Table[str, tuple[str, ...]]:
    """Where the flags leave several of TRL's classes, a script that is called like one of TRL's own (`grpo.py`) tells which. With one of
    its class's flags it does so alone: `grpo.py --use_vllm`."""
    possible = classes.get("training", ())
    names = {word.rpartition("/")[2].removesuffix(".py") for word in _script_words(target) if word.endswith(".py")}
    found = next((huggingface.entry_class(("trl", name)) for name in sorted(names)), None)
    if found is None:
        return classes
    one_of_several = len(possible) > 1 and possible[0].startswith("?") and f"?{found}" in possible
    owners = (
        [known_key(spelled(entry.key)) for entry in target.flags.entries] if possible == (huggingface.BASE,) else []
    )
    its_own = any(found in several and huggingface.BASE not in several for several in owners)
    return {**classes, "training": (found, huggingface.BASE)} if one_of_several or its_own else classes


# A module that is called after nothing: `-m retromae_pretrain.run`.
_SAYS_NOTHING = frozenset(["run", "main", "cli", "__main__", "train", "launch"])


def _purpose(document: Document, target: Command, index: int) -> Iterator[Statement]:
    """That the program is called after another objective than supervised fine-tuning: which it is, its name does not prove."""
    module = target.words[0] if target.words and "." in target.words[0] and "/" not in target.words[0] else ""
    word = next((word for word in _script_words(target) if word.endswith(".py")), module)
    package, _, last = word.removesuffix(".py").rpartition("/")[2].rpartition(".")
    if word == module and last in _SAYS_NOTHING:
        last = package.rpartition(".")[2]
    found = PURPOSE.search(last.lower())
    if found is not None:
        place = Place(document, word, target.start, target.end, None, (word,))
        yield Statement("launch.purpose", found[1], found[1], Explicit(place, "flags", index))


# Flags that only a training has, and those of an evaluation, by the words in them.
_OF_TRAINING = re.compile(
    r"train(?!ed)|learning|(?:\A|_)lr(?:_|\Z)|epoch|optim|warm|grad|decay|max_steps|(?<!merge_)lora|peft|adapter|beta|kl_|reward|deepspeed|fsdp|zero|save_(?:steps|strat)"
)
_OF_EVALUATION = re.compile(
    r"(?:\A|_)(?:eval|evaluat\w+|predict\w*|pred|infer|inference|test|generat\w+|transcri\w+|do_sample)(?:_|\Z)"
)


def _phase(document: Document, target: Command, index: int) -> Iterator[Statement]:
    """That flags of an evaluation are given and none of a training: then the program's own defaults train, or nothing does."""
    keys = [spelled(entry.key) for entry in target.flags.entries]
    if target.flags.open or any(map(_OF_TRAINING.search, keys)) or _names_config(target):
        return
    for entry, key in zip(target.flags.entries, keys, strict=True):
        if _OF_EVALUATION.search(key) and not (isinstance(entry.value, Scalar) and entry.value.value is False):
            place = Place(document, entry.key, entry.value.start, entry.value.end, entry, (key,))
            yield Statement("launch.phase", "evaluation", key, Explicit(place, "flags", index))
            return


def _beside_a_file(document: Document, target: Command, index: int) -> Iterator[Statement]:
    """What a framework's own command says beside the file of settings that it is given, which is a word of its own or stands behind an option: the
    first other flag and the first `key=value`. Which of them is read, the framework's parser decides, release by release."""
    if not _config_links(target):
        return
    files = [word for word in target.positionals if isinstance(word.value, str) and word.value.endswith(_CONFIG_SUFFIX)]
    for word in files[:1]:
        place = Place(document, str(word.value), word.start, word.end)
        yield Statement("launch.beside_file.word", word.value, str(word.value), Explicit(place, "flags", index))
    options = [entry for entry in target.flags.entries if spelled(entry.key) in _CONFIG_FLAGS]
    flags = [entry for entry in target.flags.entries if len(entry.key) > 1 and entry not in options]
    pairs = [entry for word in target.positionals if (entry := override(word)) is not None]
    for name, entries in (("option", options), ("flag", flags), ("override", pairs)):
        for entry in entries[:1]:
            place = Place(document, entry.key, entry.key_start, entry.value.end, entry, (entry.key,))
            fact = f"launch.beside_file.{name}"
            yield Statement(fact, entry.key, entry.key, Explicit(place, "flags", index))


def _merged(target: Command, text: str) -> Mapping:
    """`llamafactory-cli train FILE key=value …`: what stands behind the file overrides its keys (0.9.5 hparams/parser.py, read_args)."""
    if not _config_links(target):
        return target.flags
    said, more = overrides(target.positionals, text)
    entries = (*target.flags.entries, *map(as_yaml, said))
    return target.flags._replace(entries=entries, open=target.flags.open or more) if said or more else target.flags


def _is_switch(target: Command, name: str) -> bool:
    """Whether a flag has no value, or a truth value for one."""
    values = [entry.value for entry in target.flags.entries if spelled(entry.key) == name]
    return bool(values) and isinstance(values[-1], Scalar) and isinstance(values[-1].value, bool)


def _has_flag(target: Command, name: str) -> bool:
    return any(spelled(entry.key) == name for entry in target.flags.entries)


def _unresolved(document: Document, target: Command) -> Iterator[Link]:
    """`--deepspeed $DIR/ds.json`: what `$DIR` is nobody knows, but the script may write that very file, or `$DIR` be its own folder."""
    for entry in target.flags.entries:
        role = _FILE_FLAGS.get(spelled(entry.key))
        if role and isinstance(entry.value, Scalar) and isinstance(entry.value.value, Unknown):
            path = launch.path_in(document, entry.value)
            if path:
                yield Link(role, path, Place(document, entry.key, entry.value.start, entry.value.end, entry))


def reader(command: Command, split_launch: SplitLaunch) -> str:
    """The dialect that the flags of a command are written in."""
    program = programs.of(*split_launch(command))
    return program.dialect if program is not None else "hf-args"


def _first(node: Node) -> Node:
    """`tune run … --config file key=value`: the words behind the file belong to no flag."""
    return node.items[0] if isinstance(node, Sequence) and node.items else node


def _names_config(command: Command) -> bool:
    """Whether a whole config is handed over, be it known which or not."""
    return any(spelled(entry.key) in _CONFIG_FLAGS for entry in command.flags.entries) or bool(_config_links(command))


def _config_links(command: Command) -> list[tuple[str, Scalar]]:
    found = [
        (str(node.value), node)
        for entry in command.flags.entries
        if spelled(entry.key) in _CONFIG_FLAGS
        and isinstance(node := _first(entry.value), Scalar)
        and isinstance(node.value, str)
    ]
    found += [
        (word.value, word)
        for word in command.positionals
        if isinstance(word.value, str) and word.value.endswith(_CONFIG_SUFFIX)
    ]
    return found


def _settings_of(command: Command) -> Iterator[tuple[str, Scalar]]:
    """Files of settings behind options of the program's own, `--sft_config sft.json`: only the file itself tells whether it is one."""
    for entry in command.flags.entries:
        node = _first(entry.value)
        if (
            isinstance(node, Scalar)
            and isinstance(node.value, str)
            and node.value.endswith(_CONFIG_SUFFIX)
            and spelled(entry.key) not in _FILE_FLAGS
        ):
            yield node.value, node


# Modules that run the program that they are given, with the flags behind it.
_RUNS_A_FILE = frozenset([
    "pdb", "ipdb", "pudb", "cProfile", "profile", "trace", "coverage", "scalene", "viztracer", "memory_profiler", "line_profiler",
])  # fmt: skip
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


def _module_links(document: Document, launcher: Command, target: Command) -> Iterator[Link]:
    """`python -m src.cli.train`: the file of that module, in the folder that the command runs in or one above the script's."""
    named = launcher.words[-1:] == ("-m",) or any(spelled(one.key) in ("m", "module") for one in launcher.flags.entries)
    name = target.words[0] if target.words else ""
    if named and target is not launcher and _MODULE.fullmatch(name):
        place = Place(document, name, target.start, target.end)
        for file in (".py", "/__main__.py"):
            yield Link("script", name.replace(".", "/") + file, place)


def _config_links_of(document: Document, command: Command, index: int) -> tuple[Link, ...]:
    links = [Link("config", path, Place(document, path, node.start, node.end)) for path, node in _config_links(command)]
    links += [
        Link("settings", path, Place(document, path, node.start, node.end)) for path, node in _settings_of(command)
    ]
    for word in _script_words(command):
        if word.endswith(".py"):
            links.append(Link("script", word, Place(document, word, command.start, command.end)))
    return tuple(links)
