"""The documents of the files that a check reads, each file once, and what is known beside them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Set

from stablint.assemble import copies
from stablint.assemble.cache import Kept
from stablint.base import consulted
from stablint.base.light import TYPE_CHECKING, Any, NamedTuple
from stablint.files import discover
from stablint.files.faults import Faults
from stablint.frameworks import own as own_words
from stablint.frameworks import registry
from stablint.frameworks.fragment import Fragment
from stablint.frameworks.programs import words as program_words
from stablint.models import nature as models
from stablint.pins import locks
from stablint.run.fact import Derived, Explicit, Fact, Place, Statement, facts_of
from stablint.run.framework import BY_MODULE, UNSLOTH, framework
from stablint.syntax import limits
from stablint.syntax import rows as row_files
from stablint.syntax import text as source_text
from stablint.syntax.python import reader as python_reader
from stablint.syntax.text import UNOPENED
from stablint.syntax.tree import Document, Problem, Script, Text

if TYPE_CHECKING:
    from typing import Protocol

    from stablint.frameworks.launch.at_hand import Program  # only where a repository has such a program

    class Around(Protocol):
        """What lies around a file that is shown. What a check tells of must be certain, so that it has none."""

        def completed(self, document: Document) -> Document:
            """A program with what its other modules say of its classes."""

        def file(self, wanted: str, beside: str) -> tuple[str, bool] | None:
            """The file that a path means which leads nowhere, and whether that is sure."""

        def training(self, program: str, itself: bool = False) -> str | None:
            """The module that trains for a program which does not itself; `itself`: by a loop of its own, and by no library's trainer."""

        def user(self, path: str) -> str | None:
            """The only program that trains and takes what a file says of which nothing is known by itself."""

        def is_asked_for(self, path: str) -> bool:
            """Whether it is a file of settings that is shown."""

        def trains_itself(self, program: str) -> bool:
            """Whether a file that is shown has a loop of its own and an optimizer, and no word of a library's trainer."""

        def steps(self, program: str) -> bool:
            """Whether a program has a loop of its own, or an optimizer that another module steps."""

        def takes_options(self, program: str) -> bool:
            """Whether a program reads the flags of the command that starts it."""

        def settings(self, program: str, start: str) -> str | None:
            """The configuration that a program reads where its caller names none."""

        def told(self, program: str, given: list[Fragment]) -> Told:
            """How a program trains by its options and its modules, with what it is given."""


class Told(NamedTuple):
    """What a program says of how it trains. `whole`: no word of an adapter stands anywhere; `freezes_another`: all that it freezes is of a model
    which is not trained. `open`: what its options say of settings that nobody else says; `unclear`: of such that are said and not known;
    `of_trainer`: the length that its trainer is handed beside the arguments; `casts_nothing`: no word of another dtype than float32 stands anywhere;
    `way_is_guessed`: no option says the way, but what its modules make."""

    way: Statement | None
    whole: bool
    length: Statement | None
    freezes_another: bool
    open: tuple[Statement, ...]
    unclear: tuple[Statement, ...]
    of_trainer: int | None
    casts_nothing: bool
    way_is_guessed: bool
    makes: bool  # whether the program or a module of it makes an adapter itself


READING, LOWERING = "reading the file", "making out its settings"


class Files:
    """The documents of the files that were read, each file once; linked files are read when they are asked for."""

    def __init__(self, root: Callable[[str], str], base: str, reach: Callable[[str], str] | None = None) -> None:
        """`root`: of a file, its repository, in which one looks around; `reach`, where it is not the same: the folder below which the files lie
        that it may name."""
        self.root, self.reach, self.base = root, reach or root, base
        self._prefix = os.path.join(os.path.normpath(base), "")
        self._documents: dict[str, tuple[Document, ...]] = {}
        self._fragments: dict[tuple[str, str | None], tuple[Fragment, ...]] = {}
        self._models: dict[tuple[str, bool], dict[str, Fact]] = {}
        self._folders: dict[tuple[str, str], str | None] = {}
        self._requirements: dict[str, dict[str, locks.Pin]] = {}
        self._installed: dict[str, tuple[Text, dict[str, locks.Pin]]] = {}
        self.faults = Faults()
        self.kept = Kept()
        self._put: dict[str, Text] = {}
        self._first_seen: dict[
            str, tuple[Text, bool]
        ] = {}  # programs, and whether they are silent, that are not read to the end
        self._cut: dict[tuple[str, limits.Limit], tuple[Document, Problem]] = {}
        self._rows: dict[str, tuple[dict[str, Any], ...]] = {}
        self.linked: set[str] = set()  # files that another one names
        self.handed: dict[
            str, Program
        ] = {}  # of them, configurations that commands hand to programs of the repository alone
        self.owned: dict[str, Program] = {}  # configurations that a program of the repository reads by itself
        self.started: dict[str, Program | None] = {}  # the programs that commands start
        self.edited: frozenset[str] = frozenset()  # configurations that a program changes before it hands them on
        self.patched: frozenset[str] = frozenset()  # Python files that are imported behind Unsloth
        self.spared: frozenset[str] = frozenset()  # Python files that a program goes on without
        self.unheard: frozenset[str] = frozenset()  # files of a library that hears nothing of them
        self.shown: dict[str, frozenset[str]] = {}  # facts of the programs around these files
        # Programs that load configurations which no command names, by these; and whether it is sure that they load this one.
        self.loaders: dict[str, tuple[str, bool]] = {}
        self.in_place: dict[str, str] = {}
        self.around: Around | None = None  # of files that are shown
        self._copies: dict[tuple[str, str], frozenset[str]] = {}  # what a repository's copy of a framework declares
        self.programs: dict[str, tuple[str, ...]] = {}  # by repository
        self._entries: dict[str, list[str]] = {}  # the files of a repository
        self.scripts: dict[str, tuple[str, ...]] = {}  # of a shell, looked for with them
        # Configurations that a file names and that are not there, with the first place that does.
        self.not_found: dict[str, Place] = {}

    def renewed(self, texts: Mapping[str, Text]) -> Files:
        """The same files with these texts in the place of what the disk holds, and of what was put there before. What did not change is
        not read again; what was not read to the end is.
        """
        paths = texts.keys() | self._put.keys()
        changed = {
            path
            for path in paths
            if path not in texts or path not in self._put or texts[path].text != self._put[path].text
        }
        changed |= {fault.path for fault in self.faults.found}
        new = Files(self.root, self.base, self.reach)
        new._documents = {
            path: value for path, value in self._documents.items() if path.partition("\0")[0] not in changed
        }
        new._fragments = {
            key: value for key, value in self._fragments.items() if key[0].partition("\0")[0] not in changed
        }
        new.owned, new.edited, new.patched, new.spared = self.owned, self.edited, self.patched, self.spared
        new.unheard, new.shown = self.unheard, dict(self.shown)
        new._first_seen = {path: seen for path, seen in self._first_seen.items() if path not in changed}
        new._requirements, new.kept = self._requirements, self.kept.without(changed)
        new._cut = {key: cut for key, cut in self._cut.items() if key[0] not in changed}
        if not any(os.path.basename(path) == "config.json" for path in changed):  # of a model's folder
            new._models, new._folders = self._models, self._folders
        else:
            new.kept.made = {}
        for path, text in texts.items():
            if path in changed:
                new.put(text)
            new._put[path] = text
        return new

    def afresh(self, texts: Mapping[str, Text]) -> Files:
        """The same for a check with other options: nothing is kept but what was read."""
        new = self.renewed(texts)
        new._fragments = {
            key: value
            for key, value in new._fragments.items()
            if not {key[0]} & ({*new.owned, *new.shown} | new.edited | new.patched | new.spared | new.unheard)
        }
        blank = Files(self.root, self.base, self.reach)
        new.owned, new.edited, new.patched, new.spared = blank.owned, blank.edited, blank.patched, blank.spared
        new.unheard, new.shown = blank.unheard, blank.shown
        new.kept, new._requirements = blank.kept, blank._requirements
        return new

    def add(self, path: str, documents: tuple[Document, ...]) -> None:
        documents = limits.within(documents) if any(document.problems for document in documents) else documents
        self._documents[path] = documents
        for document in documents:
            if document.view is not None and document.view.name:
                self._documents[document.path] = (*self._documents.get(document.path, ()), document)

    def put(self, text: Text) -> None:
        """A text in the place of what the disk holds."""
        self._put[text.path] = text
        kind = discover.kind_of(text.path)
        nothing = (Document(text, kind, 0, None),)
        self.add(text.path, self.faults.guard(READING, text, nothing, discover.parse, text, kind))

    def documents(self, path: str, format: str | None = None) -> tuple[Document, ...]:
        if path not in self._documents:
            text = Text(path, self.name(path), "")
            nothing = (Document(text, discover.kind_of(path), 0, None),)
            known, _ = self._first_seen.pop(path, (None, False))
            consulted.note(path, perhaps=True)
            if known is None:
                found = self.faults.guard(READING, text, nothing, discover.read, path, text.name, format)
            else:
                found = self.faults.guard(READING, text, nothing, discover.parse, known, format or "python")
            kept = [problem for problem in found[0].problems if problem.kind == UNOPENED]
            if kept:
                self.faults.refuse(path, text.name, kept[0].message)
                found = nothing
            if self.around is not None and found[0].format in ("python", "shell"):
                found = tuple(self.faults.guard(READING, text, one, self.around.completed, one) for one in found)
            self.add(path, found)
        return self._documents[path]

    def rows(self, path: str) -> tuple[dict[str, Any], ...]:
        """The first rows of a file of examples that a run names; read once."""
        if path not in self._rows:
            consulted.note(path)
            self._rows[path] = row_files.first(path)
        return self._rows[path]

    def is_silent(self, path: str, speaks: Callable[[str], bool]) -> bool:
        """Whether it is a program that says nothing of a training, by its words alone: it is read no further, unless another file names it.
        `speaks`: whether a text is one of which problems are told as well."""
        if path in self._documents or discover.kind_of(path) != "python":
            return False
        if path not in self._first_seen:
            nothing = Text(path, self.name(path), "")
            seen = self.faults.guard(READING, nothing, None, _first_look, path, nothing.name, speaks)
            if seen is None:
                return False
            self._first_seen[path] = seen
        return self._first_seen[path][1]

    def texts(self) -> Iterator[Text]:
        """Of every file that was read, once."""
        yield from (text for text, _ in self._first_seen.values())
        seen: set[str] = set()
        for documents in self._documents.values():
            for document in documents:
                if document.text.path not in seen:
                    seen.add(document.text.path)
                    yield document.text

    def brought(self) -> Iterator[Text]:
        """What scripts read into themselves, `.env` included, which is no configuration and is not read by itself."""
        for documents in self._documents.values():
            for document in documents:
                if isinstance(document.root, Script):
                    yield from document.root.brought

    def in_part(self) -> set[str]:
        """The files that were read without what makes them large: their text is not that of the disk."""
        return {
            document.text.path
            for documents in self._documents.values()
            for document in documents
            if any(problem.kind == limits.LEFT_OUT for problem in document.problems)
        }

    def cut(self, limit: limits.Limit, document: Document, start: int, end: int) -> None:
        """A limit left out part of a file; told once."""
        key = (document.text.path, limit)
        if key not in self._cut:
            self._cut[key] = (document, limit.problem(start, end))

    def cut_in(self, fragment: Fragment) -> None:
        """The limits that left out part of what a fragment says."""
        for limit in fragment.cut:
            self.cut(limit, fragment.block.document, fragment.block.start, fragment.block.start)

    def cut_program(self, path: str, limit: limits.Limit) -> None:
        """A limit left out part of what a program names."""
        for document in self.documents(path)[:1]:
            self.cut(limit, document, 0, 0)

    def cut_unread(self, path: str, limit: limits.Limit) -> None:
        """A limit left out part of a folder, or of a file that is not taken apart."""
        name = self.name(os.path.relpath(path, self.base) if path + os.sep == self._prefix else path)
        self.cut(limit, Document(Text(path, name, ""), discover.kind_of(path), 0, None), 0, 0)

    def boundaries(self) -> list[tuple[Document, Problem]]:
        return list(self._cut.values())

    def fragments(self, path: str, dialect: str | None = None) -> tuple[Fragment, ...]:
        key = (path, dialect)
        if key not in self._fragments:
            none: tuple[Fragment, ...] = ()
            found: list[Fragment] = []
            blocks: set[tuple[int, int]] = set()
            for document in self.documents(path):
                found += self.faults.guard(LOWERING, document.text, none, registry.lower, document, dialect)
                blocks.update((fragment.block.document.number, fragment.block.number) for fragment in found)
                if len(blocks) > limits.BLOCKS.most:
                    break
            if not found and dialect is None and self.around is not None and self.around.trains_itself(path):
                found = list(self.fragments(path, registry.PROGRAM))
            if not found and dialect is None and self.around is not None and self.around.is_asked_for(path):
                found = [
                    one
                    for one in self.fragments(path, "own")
                    if {s.fact for s in one.statements} >= _RATE_SPAN_AND_BATCH
                ]
            owner = self.owned.get(path)
            if owner is not None:
                found = [owner.owns(fragment) if fragment.block.kind == "document" else fragment for fragment in found]
                if self.around is not None:
                    found = [own_words.with_own_words(fragment) for fragment in found]
            found = [self._without_a_copy_s(fragment, path) for fragment in found]
            if path in self.edited:
                found = [
                    one._replace(presumed=True, edited=True) if one.block.kind == "document" else one for one in found
                ]
            if path in self.patched:
                found = [_with_unsloth(one) for one in found]
            if path in self.unheard:
                found = [_unheard(one) for one in found]
            for fact in sorted(self.shown.get(path, ())):
                found = [_showing(fact, one) for one in found]
            if path in self.spared:
                found = [one._replace(statements=()) if one.layer == "import" else one for one in found]
            self._fragments[key] = tuple(found)
            for fragment in found:
                self.cut_in(fragment)
        return self._fragments[key]

    def lowered(self, path: str) -> tuple[Fragment, ...]:
        """What was made out of a file that the check has read."""
        return self._fragments.get((path, None), ())

    def _without_a_copy_s(self, fragment: Fragment, path: str) -> Fragment:
        """Without doubts about keys that the repository's own copy of the framework declares. Of one that `-m` takes from the folder where it starts,
        whatever is installed, all that a release would decide is presumed."""
        if fragment.dialect in BY_MODULE and self._carries(fragment.dialect, self.root(path)):
            kept = tuple(one for one in fragment.statements if not one.fact.startswith("keys."))
            return fragment._replace(statements=kept, presumed=True)
        doubted = {one.fact: one.fact.split(".", 2)[2] for one in fragment.statements if one.fact.startswith("keys.")}
        if not doubted or not framework(fragment.dialect).declares:
            return fragment
        key = (fragment.dialect, self.root(path))
        if key not in self._copies:
            self._copies[key] = copies.declared(*key)
        copied = self._copies[key]
        kept = tuple(one for one in fragment.statements if doubted.get(one.fact) not in copied)
        return fragment._replace(statements=kept) if len(kept) < len(fragment.statements) else fragment

    def _carries(self, package: str, root: str) -> bool:
        """Whether a copy of the package lies in the repository."""
        end = os.path.join("", package, "__init__.py")
        return os.path.isdir(root) and any(path.endswith(os.sep + end) for path in self.entries(root))

    def program_called(self, wanted: str, beside: str) -> str | None:
        """The only program of the repository whose path ends so: a script that was written for another folder may mean it. Where none does, the
        only one of a name that says more than `train.py`. A name without a folder is no path: every other example has its `finetune.py`."""
        root = self.root(beside)
        if os.path.isabs(wanted) or not wanted.endswith(".py") or "$" in wanted or not os.path.isdir(root):
            return None
        folder, name = os.path.split(os.path.normpath(wanted))
        if not folder.strip("./\\"):
            return None
        end = os.sep + os.path.normpath(wanted)
        found = [path for path in self.entries(root) if path.endswith(end)]
        if found:
            return found[0] if len(found) == 1 else None
        if "_" not in name or len(name) < _TELLING:
            return None
        found = [path for path in self.entries(root) if os.path.basename(path) == name]
        return found[0] if len(found) == 1 else None

    def entries(self, root: str) -> list[str]:
        """The files of a repository that a check would read (discover.within); looked for once."""
        if root not in self._entries:
            passed: discover.Passed = []
            self._entries[root] = discover.within(root, passed)
            for folder, limit in passed:
                self.cut_unread(folder, limit)
        return self._entries[root]

    def own(self, programs: Mapping[str, Program]) -> None:
        """These configurations are read by programs of the repository's own from now on."""
        self.owned = {**self.owned, **programs}
        self._read_anew(programs.keys())

    def load(self, programs: Mapping[str, tuple[str, bool]]) -> None:
        """These configurations are what these programs load, from now on."""
        self.loaders = {**self.loaders, **programs}
        self._read_anew({*programs, *(program for program, _ in programs.values())})

    def put_in_place(self, role: str, path: str) -> None:
        """This file of DeepSpeed's or accelerate's is shown in the place of the one that a command names."""
        self.in_place[role] = path
        self.kept = Kept()

    def edit(self, paths: frozenset[str]) -> None:
        """What these configurations say is from now on what a program may have changed."""
        self.edited |= paths
        self._read_anew(paths)

    def patch(self, paths: frozenset[str]) -> None:
        """The libraries' classes that these Python files import are from now on Unsloth's."""
        self.patched |= paths
        self._read_anew(paths)

    def spare(self, paths: frozenset[str]) -> None:
        """These Python files are optional from now on: who imports them goes on where that fails."""
        self.spared |= paths
        self._read_anew(paths)

    def silence(self, paths: frozenset[str]) -> None:
        """What these files say reaches no library from now on."""
        self.unheard |= paths
        self._read_anew(paths)

    def show(self, fact: str, paths: frozenset[str]) -> None:
        """From now on the programs around these files do what the fact says."""
        self.shown |= {path: self.shown.get(path, frozenset()) | {fact} for path in paths}
        self._read_anew(paths)

    def _read_anew(self, paths: Set[str]) -> None:
        self._fragments = {key: value for key, value in self._fragments.items() if key[0] not in paths}
        self.kept = self.kept.without(set(paths))

    def written(self, wanted: str, beside: Document) -> str | None:
        """The text in the same file that becomes a file of this name when that one runs."""
        path = f"{beside.text.path}\0{wanted.removeprefix('./')}"
        return path if path in self._documents else None

    def described(self, name: str, presumed: bool) -> dict[str, Fact]:
        """What is known of a model of this name; the same dictionary for every run that names it. `presumed`: the caller may name another."""
        presumed = presumed or models.guessed(name)
        key = (name, presumed)
        if key not in self._models:
            facts = facts_of(models.describe(name) or {}, Derived(("model.name_or_path",)))
            self._models[key] = {n: fact._replace(presumed=True) for n, fact in facts.items()} if presumed else facts
        return self._models[key]

    def folder_of(self, wanted: str, beside: str) -> str | None:
        """A local model folder of this name, if there is one."""
        key = (wanted, os.path.dirname(beside))
        if key not in self._folders:
            path = discover.locate(wanted, beside, self.reach(beside))
            self._folders[key] = path if path is not None and os.path.isdir(path) else None
        return self._folders[key]

    def requirements(self, beside: str) -> dict[str, locks.Pin]:
        folder = os.path.dirname(beside)
        return (
            self._requirements[folder]
            if folder in self._requirements
            else locks.stated(
                folder, self.root(beside), self._requirements, lambda limit: self.cut_program(beside, limit)
            )
        )

    def installed(self, text: Text) -> dict[str, locks.Pin]:
        """What the file installs by itself, looked for once."""
        if text.path not in self._installed or self._installed[text.path][0] is not text:
            self._installed[text.path] = (text, locks.installed(text.text, text.path))
        return self._installed[text.path][1]

    def name(self, path: str) -> str:
        if path.startswith(self._prefix):
            return path[len(self._prefix) :].replace(os.sep, "/")
        return path.replace(os.sep, "/")


# Of what else trains than language models as well: who asks for the very file is told.
_RATE_SPAN_AND_BATCH = frozenset(
    {"training.learning_rate", "training.num_train_epochs", "training.per_device_train_batch_size"}
)
_TELLING = len("train_unsloth.py")  # of a program's name


def _first_look(path: str, name: str, speaks: Callable[[str], bool]) -> tuple[Text, bool] | None:
    """The text of a program, and whether no reader would find anything in it; None for what cannot be read."""
    text = source_text.read(path, name)
    if isinstance(text, source_text.Unreadable):
        return None
    words = text.text
    spoken = speaks(words) or program_words.may_speak(words) or discover.is_notebook(text)
    return text, not spoken and python_reader.is_plain(words)


# What accelerate's launcher hands on to the processes, where an Accelerator or a plugin reads it.
FOR_PROCESSES = ("fsdp.", "deepspeed.", "accelerate.deepspeed_config.", "accelerate.parallelism_config.")


def _showing(fact: str, fragment: Fragment) -> Fragment:
    """A fragment of a run of which the programs around show something."""
    if not fragment.entry:
        return fragment
    place = Place(fragment.block.document, "around", fragment.block.start, fragment.block.start)
    said = Statement(fact, True, True, Explicit(place, fragment.layer, fragment.block.number))
    return fragment._replace(statements=(*fragment.statements, said))


def _by_key(one: Statement) -> Statement:
    return one._replace(origin=one.origin._replace(reader=":dict")) if isinstance(one.origin, Explicit) else one


def _unheard(fragment: Fragment) -> Fragment:
    """Without what only an Accelerator reads, or without all; the keys of a program's own dict are no library's."""
    if fragment.block.document.format == "python":
        return fragment._replace(statements=tuple(map(_by_key, fragment.statements)))
    if fragment.dialect != "accelerate":
        return fragment._replace(statements=())
    kept = (
        one
        for one in fragment.statements
        if not one.fact.startswith((*FOR_PROCESSES, "accelerate.deepspeed_config", "accelerate.mixed_precision"))
    )
    return fragment._replace(statements=tuple(kept))


def _with_unsloth(fragment: Fragment) -> Fragment:
    """A program's fragment where Unsloth was imported before it."""
    kept = tuple(one for one in fragment.statements if one.fact != "launch.shows.unsloth_imported_late")
    own = UNSLOTH if fragment.framework in framework(UNSLOTH).patches else fragment.framework
    return fragment._replace(statements=kept, framework=own)
