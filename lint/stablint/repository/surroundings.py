"""What lies around a file that is shown: programs and configurations that are not where a script looks for them, the configuration that a program
reads where nothing else is named, and classes of its other modules. Of what is presumed here nobody is told anything: a check never asks.
"""

from __future__ import annotations

import os
import re

from stablint.assemble.files import Files, Told
from stablint.frameworks.fragment import Fragment
from stablint.frameworks.launch.at_hand import read
from stablint.frameworks.programs.kinds import is_optimizer
from stablint.frameworks.programs.loop import is_trainer
from stablint.repository import readers
from stablint.repository.classes import Classes
from stablint.repository.lines import plainest
from stablint.repository.objects import Objects
from stablint.repository.programs import LOADER, LOADS
from stablint.repository.referrers import content
from stablint.repository.sources import Sources
from stablint.repository.ways import Ways
from stablint.syntax.tree import Command, Document, Module, Script, Unknown

_TRAINS = re.compile(r"main|train|run|fit|finetune|fine_tune|\w*Trainer")
_MAY_TRAIN = re.compile(r"\*|(?:train|run|finetune)_\w+|\w+_train(?:er|ing)?|\w*Train\w*")
# Settings of a training, and no program.
_HOLDS = re.compile(
    rb"^[ \t]*[\"']?(?:\w{0,40}learning_rate\w{0,40}|lr|LR|\w{0,40}epochs"
    rb"|\w{0,40}EPOCHS|\w{0,40}batch_size|\w{0,40}BATCH_SIZE|LEARNING_RATE)[\"']?[ \t]*(?::[^=\n]{1,40})?[=:][ \t]*[\d\"']",
    re.MULTILINE,
)
_OF_A_LIBRARY = re.compile(
    rb"^class[ \t]{1,9}\w{1,80}\([\w., \t]{0,80}(?:Optimizer|LRScheduler)\b", re.MULTILINE
)  # no settings
_MANY = 6  # keys that a program asks for
_LOOKED_AT = 40  # configurations of a repository
_TESTS = re.compile(r"(?:^|[/\\])tests?[/\\]")
# What every other program is called: with a folder before it, another folder's is another program.
_COMMON = re.compile(
    r"(?:train|main|run|fine_?tune|pre_?train|sft|dpo|ppo|grpo|rm|eval|test|cli|launch|entry|trainer|app)\.py"
)
# Files that are many in every repository: the only one of such a name is no more likely the one that is meant.
_ANYBODY_S = frozenset(["__init__.py", "setup.py", "config.json", "main.py"])
# What reads a command's flags.
_OPTIONS = re.compile(
    rb"argparse|Parser\b|parse_args|\bargv\b|\bclick\b|\btyper\b|\bfire\b|\btyro\b|\bhydra\b|\bflags\b|OmegaConf|from_cli"
)


def _as_usual(command: Command) -> Command:
    """A command of which nobody says more than the script does: its list grows where a variable is given."""
    unknown = [one for one in command.positionals if isinstance(one.value, Unknown)]
    if not command.flags.open or not unknown or any(one.form != "default" for one in unknown):
        return command
    return command._replace(flags=command.flags._replace(open=False))


class Surroundings:
    """Implements `assemble.files.Around`."""

    def __init__(self, files: Files, asked: set[str]) -> None:
        """`asked`: the files that are shown; what starts others is looked at by what it names alone."""
        self._files = files
        self._asked = asked
        self._sources = Sources(files)
        self._ways = Ways(files, self._sources)
        self._objects = Objects(files, asked, self._sources.starter)
        self._classes = Classes(files, self._objects, self._sources)

    def completed(self, document: Document) -> Document:
        if isinstance(document.root, Script):
            return document._replace(
                root=document.root._replace(commands=tuple(map(_as_usual, document.root.commands)))
            )
        return self._classes.completed(document)

    def file(self, wanted: str, beside: str) -> tuple[str, bool] | None:
        """The file that is meant by a path which leads nowhere, and whether that is sure: on somebody's machine it ends in a folder and a file as
        one here does; else the only one of its name."""
        names = [name for name in os.path.normpath(wanted).split("/") if name]
        while names and any("$" in name for name in names):
            names = names[1:]
        root = self._files.root(beside)
        if not names or names[-1] in _ANYBODY_S or set(names[-1]) & set("*?{}<>") or not os.path.isdir(root):
            return None
        here = [path for path in self._files.entries(root) if os.path.basename(path) == names[-1]]
        here = [path for path in here if not _TESTS.search(path[len(root) :])] or here
        for first in range(max(0, len(names) - 6), len(names) - 1):
            end = os.sep + os.path.join(*names[first:])
            found = [path for path in here if path.endswith(end)]
            if found:
                return (found[0], True) if len(found) == 1 else None
        if len(here) != 1:
            return None
        at_top = os.path.isabs(wanted) and os.path.dirname(here[0]) == os.path.normpath(
            root
        )  # in the folder of the repository there
        if len(names) > 1 and _COMMON.fullmatch(names[-1]) and not at_top:
            return None  # `axolotl/cli/train.py` is no program of anybody's own
        return here[0], False

    def is_asked_for(self, path: str) -> bool:
        return path in self._asked and path.endswith((".yaml", ".yml", ".json"))

    def trains_itself(self, program: str) -> bool:
        loading = any(program == one for one, _ in self._files.loaders.values())
        return (loading or program in self._asked) and self.steps(program)

    def steps(self, program: str) -> bool:
        if not program.endswith((".py", ".ipynb")):
            return False
        documents = self._files.documents(program)
        found = read(documents)
        if found is None or not found.trains:
            return False
        return bool(found.loop) or any(map(_is_optimizer, documents))

    def takes_options(self, program: str) -> bool:
        return not program.endswith(".py") or _OPTIONS.search(content(program, self._files)) is not None

    def settings(self, program: str, start: str) -> str | None:
        """The only configuration of a training that the program reads where its caller names none; `start`: the file that starts it."""
        raw = content(program, self._files) if program.endswith(".py") and start in self._asked else b""
        if LOADS.search(raw) is None and LOADER.search(raw) is None:
            return self._asked_for(program, raw) if raw else None
        root = self._files.root(program)
        placed = {readers.placed(name, program, root) for name in readers.loaded(raw.decode("utf-8", "replace"))}
        found = [path for path in sorted(filter(None, placed)) if os.path.isfile(path) and self._is_of_a_training(path)]
        if not placed:
            return self._asked_for(program, raw)
        return found[0] if len(found) == 1 else None

    def _asked_for(self, program: str, raw: bytes) -> str | None:
        """The only configuration of a training of which the program, that loads none itself, asks for many a key."""
        taken = readers.taken(raw.decode("utf-8", "replace"))
        if len(taken) < _MANY:
            return None
        every = [
            one for one in self._files.entries(self._files.root(program)) if one.endswith((".yaml", ".yml", ".json"))
        ]
        words = [one.encode("utf-8", "surrogatepass") for one in taken]

        def may_be_asked(path: str) -> bool:
            said = content(path, self._files)
            return sum(one in said for one in words) >= _MANY

        asked = [
            path
            for path in every[:_LOOKED_AT]
            if may_be_asked(path)
            and len(taken & readers.keys_of(self._files, path)) >= _MANY
            and self._is_of_a_training(path)
        ]
        return asked[0] if len(asked) == 1 and len(every) <= _LOOKED_AT else None

    def training(self, program: str, itself: bool = False) -> str | None:
        """The module that trains for a program that itself makes no trainer and takes no step; of several that with a name like `train`."""
        found: dict[str, int] = {}
        for path, name in self._classes.imported(program):
            found[path] = max(found.get(path, 0), _rank(name))
        if itself:
            found = {path: rank for path, rank in found.items() if rank == 2}
        trains = [path for path in found if self._trains(path, itself)]
        most = max(map(found.__getitem__, trains), default=0)
        best = [path for path in trains if found[path] == most > 0]
        if not best and not itself:  # whatever the function is called that makes a library's trainer
            best = [path for path in trains if self._makes_a_trainer(path)]
        if not best and not itself:  # the module may leave it to the class of another one
            within = {one for path in found if found[path] for one in self._trainers(path)}
            best = [path for path in sorted(within) if self._trains(path)]
        return best[0] if len(best) == 1 else None

    def user(self, path: str) -> str | None:
        """The only program that trains and takes what a file says: by importing it, through Hydra or through ml_collections."""
        if not os.path.isdir(self._files.root(path)) or not path.endswith((".py", ".yaml", ".yml", ".json")):
            return None
        found = self._objects.readers(path)
        said = content(path, self._files) if path.endswith(".py") and not found else b""
        if _HOLDS.search(said) is not None and (b"dataclass" in said or _OF_A_LIBRARY.search(said) is None):
            found = self._sources.importers(path)
            start = self._sources.starter(path)
            found += [start] if start not in (None, path, *found) else []  # type: ignore[list-item]
        training = [one for one in found if self._trains(one) or self.training(one) is not None]
        itself = [one for one in training if self._trains(one)]
        best = itself if len(training) > 1 else training
        if len(best) > 1:
            best = [one] if (one := plainest(best)) is not None else best
        if len(best) != 1:
            return None
        self._asked.add(best[0])  # it is shown in the file's place
        return best[0]

    def _trainers(self, module: str) -> list[str]:
        return [path for path, name in self._classes.imported(module) if "trainer" in name.lower()]

    def told(self, program: str, given: list[Fragment]) -> Told:
        document = next(iter(self._files.documents(program)), None)
        return self._ways.told(program, given, self._objects.of(document) if document is not None else {})

    def _trains(self, path: str, itself: bool = False) -> bool:
        found = read(self._files.documents(path))
        return found is not None and found.trains and bool(found.loop) and not (itself and is_trainer(found.loop))

    def _makes_a_trainer(self, path: str) -> bool:
        found = read(self._files.documents(path))
        return found is not None and is_trainer(found.loop)

    def _is_of_a_training(self, path: str) -> bool:
        return any(one.entry and one.block.kind == "document" for one in self._files.fragments(path))


def _is_optimizer(document: Document) -> bool:
    """Whether a program makes an optimizer, which another module of its own may step."""
    return isinstance(document.root, Module) and any(map(is_optimizer, document.root.calls))


def _rank(name: str) -> int:
    """How far a name that is imported says that it trains."""
    return 2 if _TRAINS.fullmatch(name) else 1 if _MAY_TRAIN.fullmatch(name) else 0
