"""The program that loads a configuration which no command names: by this very name, as the file that its parser has for a default, or out of the
folder of its Hydra.

Asked only where a file is shown: of what is presumed here nobody is told anything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from stablint.assemble.files import Files
from stablint.base.light import NamedTuple, Pattern
from stablint.frameworks.launch.at_hand import Program, read
from stablint.repository import computed, readers, referrers
from stablint.repository.lines import plainest
from stablint.repository.objects import main_file
from stablint.repository.programs import LOADER, LOADS, programs_of, scripts_of
from stablint.run.framework import framework
from stablint.syntax import limits

_HYDRA = Pattern(r"@hydra\.main\s*\(([^()]{1,400})\)")
_PATH = Pattern(r"""\bconfig_path\s*=\s*f?["']([\w./-]+)["']""")
_NAME = Pattern(r"""\bconfig_name\s*=\s*f?["']([\w./-]+)["']""")


# It gives the path to a module of its own: `run_training(args.config)`.
_HANDS_ON = Pattern(
    r"\b\w+\((?:[^()\n]{0,80},\s*)?(?:args|opts?|options|given|parsed)\.\w{0,20}(?:config|cfg|recipe|settings)\w{0,20}\s*[,)]"
)


class Loader(NamedTuple):
    program: str
    sure: bool  # it names this file; else it names another one of the folder, in whose place this one may be given


def loader(path: str, files: Files) -> Loader | None:
    """The only program of the repository that trains and names this file, else the only one that names another of its folder, else the only one
    whose Hydra looks there, else one whose files stand in a folder above, else the only one that has the parser of the library of whose form the file is."""
    root = files.root(path)
    if not os.path.isdir(root):  # a text from elsewhere may be called anything
        return None
    by_name: list[str] = []
    by_form: list[str] = []
    by_folder: list[str] = []
    composing: list[str] = []
    beneath: list[str] = []
    parsing: list[str] = []
    parsers = [f"{framework(name).parser}(".encode() for name in _parsed(path, files)]
    parsers += [b"ArgumentParser(("] if parsers else []  # a class of one's own that fills dataclasses from a file
    for program in programs_of(root, files):
        raw = referrers.content(program, files) if program.endswith(".py") else b""
        text = raw.decode("utf-8", "replace")
        main = main_file(program, text)
        if main is not None and path == os.path.join(main[0], f"{main[1]}.yaml"):
            by_name.append(program)
            continue
        if path.startswith(tuple(f"{folder}{os.sep}" for folder in _composed(text, program))):
            composing.append(program)
        if any(parser in raw for parser in parsers):
            parsing.append(program)
        if LOADS.search(raw) is None and LOADER.search(raw) is None and _HANDS_ON.search(text) is None:
            continue
        named = readers.loaded(text)
        if any(readers.placed(name, program, root) == path for name in named):
            by_name.append(program)
        elif any(_is_of_this_form(one, path) for one in _COMPUTED.findall(text)) or (
            computed.HINT.search(raw) and computed.holds(computed.folders(text, program, files), path, root)
        ):
            by_form.append(program)
        elif any(readers.placed(os.path.dirname(name), program, root) == os.path.dirname(path) for name in named):
            by_folder.append(program)
        elif any(_is_beneath(path, readers.placed(os.path.dirname(name), program, root), root) for name in named):
            beneath.append(program)
    for found, sure in (
        (by_name, True),
        (by_form, False),
        (by_folder, False),
        (composing, False),
        (beneath, False),
        (parsing, False),
    ):
        if len(found) > limits.NAMED.most:
            files.cut_program(path, limits.NAMED)
            return None
        training = [one for one in found if trains(one, files)]
        if len(training) == 1:
            return Loader(training[0], sure)
        if by_name and found is by_name and not training:
            return None  # whoever names others does not read this one
        if training:
            best = (
                _asking_most(training, readers.keys_of(files, path), files)
                or _of_one_goal(training, path)
                or _of_one_module(training, path, files)
                or _called_alike(training, path, files)
                or plainest(training)
            )
            return Loader(best, False) if best is not None else None
    return _reader(path, root, files)


_COMPUTED = re.compile(r"""\b[fF]["']([^"'\n]{0,120}\{[^"'\n]{1,120}\.(?:ya?ml|json))["']""")


def _is_of_this_form(written: str, path: str) -> bool:
    """Whether a file is one of those that a program names by what it computes: `f"configs/selective_{task}.yaml"`."""
    kept = re.sub(r"\{[^{}]{1,120}\}", "\0", written)
    folder, _, name = kept.rpartition("/")
    return (
        len(os.path.splitext(name)[0].strip("\0")) > 2
        and "\0" not in folder
        and os.path.dirname(path).endswith(folder.strip("./"))
        and re.fullmatch(re.escape(name).replace("\0", "[\\w.-]{1,80}"), os.path.basename(path)) is not None
    )


def _reader(path: str, root: str, files: Files) -> Loader | None:
    """The program that asks for what stands in this file, where a module of its own loads it: nobody else asks for half as much of it."""
    keys = readers.keys_of(files, path)
    asking = [
        one for one in programs_of(root, files) if one.endswith(".py") and len(_asked(one, files) & keys) >= _MANY
    ]
    training = [one for one in asking if trains(one, files)] if len(asking) <= limits.NAMED.most else []
    best = _asking_most(training, keys, files) if training else None
    best = best or _of_one_goal(training, path)
    return Loader(best, False) if best is not None else None


# What a training is for or how it is done, as files are called after it.
_GOALS = frozenset(
    ["sft", "dpo", "grpo", "ppo", "orpo", "kto", "cpo", "simpo", "rloo", "reward", "rm", "pretrain", "pretraining", "cpt", "distill",
     "distillation", "kd", "finetune"]
)  # fmt: skip


def _of_one_goal(programs: list[str], path: str) -> str | None:
    """The only program that is called after the same kind of training as the file: `grpo_pipeline.py` for `grpo_v4.yaml`."""
    words = [word for word in _words(os.path.basename(path)) if word in _GOALS]
    words = words or [word for word in _words(os.path.basename(os.path.dirname(path))) if word in _GOALS]
    alike = [one for one in programs if words and words[0] in _words(os.path.basename(one))]
    return alike[0] if len(alike) == 1 else None


def _words(name: str) -> list[str]:
    return re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", os.path.splitext(name)[0].lower())


def engine(path: str, files: Files) -> Loader | None:
    """The only program that trains and speaks of the library whose file this is, else the only one that trains at all."""
    root, dialects = files.root(path), {one.dialect for one in files.fragments(path)}
    if not os.path.isdir(root) or len(dialects) != 1:
        return None
    words = _ENGINES.get(dialects.pop())
    if words is None:
        return None
    every = {
        one: raw
        for one in programs_of(root, files)
        if one.endswith(".py") and _MAY_TRAIN.search(raw := referrers.content(one, files))
    }
    speaking = {one: raw for one, raw in every.items() if words.search(raw)}
    for several in (speaking, every):
        for started in (True, False):
            asked = [one for one, raw in several.items() if (b"__main__" in raw) == started]
            training: list[str] = []
            for one in asked if len(asked) <= _SOME else ():
                training += [one] if trains(one, files) else []
                if len(training) > 1:
                    return None
            if training or len(asked) > _SOME:
                return Loader(training[0], False) if training else None
    return None


_SOME = 8  # programs that are looked into
_MAY_TRAIN = re.compile(rb"Trainer\b|\.backward\(|\.train\(|\.fit\(|\btrain\w*\(|deepspeed\.initialize\(")


def starting(path: str, files: Files) -> str | None:
    """The only script that names a file of this one's folder, else the only one that names it by a variable: `configs/stage_${STAGE}.json`."""
    root, (folder, name) = files.root(path), os.path.split(path)
    if not os.path.isdir(root) or not name.endswith((".json", ".yaml", ".yml")):
        return None
    others = {
        os.path.basename(one)
        for one in files.entries(root)
        if os.path.dirname(one) == folder and one != path and one.endswith(os.path.splitext(name)[1])
    }
    within = os.path.relpath(folder, root)
    by_pattern, by_others = [], []
    for script in scripts_of(root, files):
        raw = referrers.content(script, files)
        text = raw.decode("utf-8", "replace")
        if _STARTS.search(text) is None:
            continue
        if any(_fits(one, name) for one in _PATTERNED.findall(text)):
            by_pattern.append(script)
        elif any(referrers.names(one.encode("utf-8", "surrogatepass"), raw) for one in others) and (
            within == "." or os.path.basename(within) in text
        ):
            by_others.append(script)
    training = by_pattern or by_others
    return training[0] if len(training) == 1 else None


_STARTS = re.compile(r"\.py\b|\s-m\s+\w|cli\b")
_PATTERNED = re.compile(r"((?<![\w.-])[\w.-]{0,80}\$(?:\{\w[^{}\n]{0,80}\}|\w{1,60})[\w.${}-]{0,120}\.(?:json|ya?ml))")


def _fits(written: str, name: str) -> bool:
    """Whether a name with variables in it may be this one; a variable alone may be anything."""
    kept = re.sub(r"\$(?:\{\w[^{}]{0,80}\}|\w{1,60})", "\0", written)
    stem = os.path.splitext(kept)[0].replace("\0", "")
    return len(stem) > 1 and re.fullmatch(re.escape(kept).replace("\0", "[\\w-]+"), name) is not None


_ENGINES = {
    "deepspeed": re.compile(rb"deepspeed", re.IGNORECASE),
    "accelerate": re.compile(rb"accelerat|TrainingArguments|\b(?:SFT|DPO|GRPO|Reward|KTO|ORPO|CPO)Config\b"),
}


def _asked(program: str, files: Files) -> frozenset[str]:
    """What it takes one by one, or declares in a class that it fills with what it loads."""
    text = referrers.content(program, files).decode("utf-8", "replace")
    return readers.taken(text) | (readers.fields(text) if _FILLS.search(text) else frozenset())


_FILLS = re.compile(r"@(?:dataclasses\.)?dataclass\b|\((?:pydantic\.)?Base(?:Model|Settings)\)")
_ENOUGH = 3  # keys that a program takes one by one
_MANY = 6  # of a file that no program names


def _asking_most(programs: list[str], keys: frozenset[str], files: Files) -> str | None:
    """Of several programs the one that asks for these keys, where it asks for twice as many as any other."""
    asked = {}
    for one in programs:
        asked[one] = len(_asked(one, files) & keys)
    first, *others = sorted(programs, key=asked.__getitem__, reverse=True)
    return first if asked[first] >= max([_ENOUGH, *(2 * asked[one] for one in others)]) else None


def _of_one_module(programs: list[str], path: str, files: Files) -> str | None:
    """Of programs that all leave the training to the same module the one that has for a default what is called most like this file."""
    around = files.around
    if around is None or len({around.training(one) for one in programs}) != 1 or around.training(programs[0]) is None:
        return None
    return max(programs, key=lambda one: _alike(one, path, files))


def _called_alike(programs: list[str], path: str, files: Files) -> str | None:
    """The only one that has a file for a default whose name begins as this one's does: `train.yaml` for `train_v11.yaml`."""
    likeness = sorted(((_alike(one, path, files), one) for one in programs), reverse=True)
    (most, best), *others = likeness
    return best if most >= _BEGINNING and all(other < most for other, _ in others) else None


_BEGINNING = 4  # letters


def _alike(program: str, path: str, files: Files) -> int:
    """How far the name of the file is that of one which the program has for a default."""
    text = referrers.content(program, files).decode("utf-8", "replace")
    own = os.path.basename(path)
    return max((_common(own, os.path.basename(one)) for one in readers.loaded(text)), default=0)


def _common(one: str, other: str) -> int:
    """How many letters two names begin with that are the same."""
    return next(
        (number for number, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


_TOLD = re.compile(
    rb"\brequired\s?=\s?True|add_argument\(\s{0,40}[\"'][A-Za-z]|^[ \t]+\w{1,60}:[ \t]*(?:str|int|float|Path)[ \t]*$|\bsys\.argv\[",
    re.MULTILINE,
)


def must_be_told(path: str, files: Files) -> bool:
    """Whether a program starts only where it is told something."""
    return _TOLD.search(referrers.content(path, files)) is not None


def of_another(path: str, files: Files) -> Program | None:
    """A program of the repository that loads files, where the file looks like that of a library with such a parser, and nothing in the repository
    speaks of the library: not a program, no script, no guide and no list of packages."""
    root = files.root(path)
    libraries = [name.encode() for name in _parsed(path, files)]
    if not os.path.isdir(root) or not libraries:
        return None
    lists = [
        os.path.join(root, name) for name in sorted(os.listdir(root)) if name.endswith((".txt", ".toml", ".md", ".cfg"))
    ]
    around = (referrers.content(one, files) for one in (*files.entries(root), *lists) if one != path)
    if any(referrers.names(word, raw) for raw in around for word in libraries):
        return None
    reader = next((one for one in programs_of(root, files) if LOADS.search(referrers.content(one, files))), None)
    program = read(files.documents(reader)) if reader is not None else None
    keys = readers.keys_of(files, path)
    return program and program._replace(declared=dict.fromkeys(keys, "dict"), loop="", parser=True, library=False)


def _is_beneath(path: str, folder: str | None, root: str) -> bool:
    """Whether the file stands in a folder of one that the program takes its files from."""
    return folder is not None and folder != os.path.normpath(root) and path.startswith(os.path.join(folder, ""))


def _parsed(path: str, files: Files) -> list[str]:
    """The frameworks of whose form the file is and with whose parser anybody's program may read it."""
    return sorted({one.framework for one in files.fragments(path) if framework(one.framework).parser})


def _composed(text: str, program: str) -> Iterator[str]:
    """The folders out of which its Hydra takes files beside the one that it names: `config_path="configs", config_name="train/default"`."""
    for one in _HYDRA.findall(text):
        path, name = _PATH.search(one), _NAME.search(one)
        if path is not None:
            inner = os.path.dirname(name[1]) if name is not None else ""
            yield os.path.normpath(os.path.join(os.path.dirname(program), path[1], inner))


def trains(path: str, files: Files) -> bool:
    program = read(files.documents(path)) if any(fragment.entry for fragment in files.fragments(path)) else None
    if program is not None and program.trains and bool(program.trainer or program.loop):
        return True
    around = files.around
    return around is not None and path.endswith(".py") and (around.training(path) is not None or _loops(path, files))


def _loops(path: str, files: Files) -> bool:
    """Whether it takes the steps itself, and no library's trainer."""
    raw = referrers.content(path, files)
    return files.around is not None and b".backward(" in raw and b".step(" in raw and files.around.steps(path)
