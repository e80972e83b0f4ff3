"""What the repository around the files says of them: who reads, starts, changes and imports them. Asked where something would be told."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator

from stablint.assemble.files import Files
from stablint.base.light import TYPE_CHECKING, NamedTuple, TypeVar, cast
from stablint.files import discover
from stablint.files.faults import attempt
from stablint.hazard.model import Finding, asks_about_change
from stablint.repository import changers, importers, readers, unheard
from stablint.repository import loaders as repository_loaders
from stablint.repository import referrers as repository_referrers
from stablint.run.fact import Explicit
from stablint.run.framework import may_be_patched
from stablint.syntax.tree import Document

if TYPE_CHECKING:  # only where a repository reads its configurations itself
    from stablint.frameworks.launch.at_hand import Program

T = TypeVar("T")
_FORMS = frozenset({"llamafactory", "ms-swift", "hf-args", "trl", "axolotl", "litgpt"})
_WITH_COMMANDS = frozenset(["shell", "make", "just"])


def may_be_own(path: str, files: Files) -> bool:
    """Whether it is a configuration of a form that programs of one's own have as well, and that no command hands to anybody else's."""
    if path in files.linked and path not in files.handed:
        return False
    return any(one.block.kind == "document" and one.entry and one.dialect in _FORMS for one in files.fragments(path))


def _has_programs(root: str, files: Files) -> bool:
    """Asked before what reads programs is loaded."""
    return os.path.isdir(root) and any(path.endswith((".py", ".ipynb")) for path in files.entries(root))


def own_readers(paths: list[str], files: Files) -> dict[str, Program]:
    """The programs of the repository that read these configurations themselves, by the paths of these."""

    def owned_by(paths: Iterable[str], files: Files) -> dict[str, Program]:
        several = [path for path in paths if _has_programs(files.root(path), files)]
        return readers.own_readers(several, files) if several else {}

    found = _one_by_one("looking for the programs that read it", owned_by, paths, files)
    every = {path: program for owned in found for path, program in owned.items()}
    joined = {path: loader for path, (loader, _) in files.loaders.items()}  # whatever else takes a key of it as well
    return {
        path: one for path, one in every.items() if joined.get(path, one.document.text.path) == one.document.text.path
    }


def _with_errors(finding: Finding) -> Iterator[str]:
    """The configurations that an error rests on."""
    for fact in finding.run.explicit.values() if finding.severity == "error" else ():
        for one in fact.sources:
            if isinstance(one.origin, Explicit) and _may_be_changed(one.origin.place.document):
                yield one.origin.place.document.path


def _of_run(holds: Callable[[Finding], bool]) -> Callable[[Finding], Iterator[str]]:
    """The file that such a finding's run begins with."""
    return lambda finding: iter([finding.run.anchor.document.path] if holds(finding) else ())


def _of_place(holds: Callable[[Finding], bool]) -> Callable[[Finding], Iterator[str]]:
    """The file that such a finding stands in."""
    return lambda finding: iter([finding.place.document.text.path] if holds(finding) else ())


def _of_program(holds: Callable[[Finding], bool]) -> Callable[[Finding], Iterator[str]]:
    """The Python file that such a finding stands in."""
    return _of_place(lambda finding: finding.place.document.text.path.endswith(".py") and holds(finding))


def _is_data_file(document: Document) -> bool:
    return document.format in ("json", "yaml") and "\0" not in document.path


def _may_be_changed(document: Document) -> bool:
    """A file of its own, or one that a cell of a notebook writes, which another may write anew."""
    return document.format in ("json", "yaml") and ("\0" not in document.path or document.text.path.endswith(".ipynb"))


def _is_told(finding: Finding) -> bool:
    return finding.severity in ("error", "warning")


class Lesson(NamedTuple):
    """What may be asked about files of which something would be told: which of them, what answers, and what becomes of the answer."""

    stage: str
    asked: Callable[[Finding], Iterator[str]]
    work: Callable[[Iterable[str], Files], frozenset[str]]
    learn: Callable[[Files, frozenset[str]], None]

    def is_new(self, findings: Iterable[Finding], files: Files) -> bool:
        """Whether something is answered; the files know it then."""
        asked = {path for finding in findings for path in self.asked(finding)}
        answer = frozenset().union(*_one_by_one(self.stage, self.work, asked, files)) if asked else frozenset()
        if answer:
            self.learn(files, answer)
        return bool(answer)


# In this order, since each is asked about what is told then.
LESSONS = (
    Lesson(  # what is imported behind Unsloth
        "looking for the programs that import it",
        _of_program(lambda one: one.place.document.format == "python" and may_be_patched(one.run.framework)),
        lambda paths, files: importers.behind_unsloth(paths, files),
        Files.patch,
    ),
    Lesson(  # what imports what is not there, and its repository goes on without
        "looking for the programs that import it",
        _of_program(lambda one: _is_told(one) and one.item.startswith("keys.") and "-names." in one.item),
        lambda paths, files: importers.optional(paths, files),
        Files.spare,
    ),
    Lesson(  # of which nobody can say that a run reads what stands in them
        "looking for the programs that change it",
        _with_errors,
        lambda paths, files: changers.edited(paths, files),
        Files.edit,
    ),
    Lesson(  # a launcher's, that no command at hand names, and whose programs hear nothing of them
        "looking for the programs that read it",
        _of_run(lambda one: _is_told(one) and one.run.dialects[:1] == ("accelerate",)),
        lambda paths, files: unheard.unheard(paths, files),
        Files.silence,
    ),
    Lesson(  # what a training has written, and nobody reads again
        "looking for the programs that read it",
        _of_run(lambda one: _is_told(one) and _is_data_file(one.run.anchor.document)),
        lambda paths, files: changers.written_down(paths, files),
        Files.silence,
    ),
    Lesson(  # tables of data sets that no configuration of LLaMA-Factory's names, but the repository's own program
        "looking for the programs that read it",
        _of_run(lambda one: one.run.dialects[:1] == ("llamafactory-data",) and len(one.run.files) == 1),
        lambda paths, files: unheard.own_tables(paths, files),
        Files.silence,
    ),
    Lesson(  # modules of constants that are told of a name which the library's class has not
        "looking for the programs that read it",
        _of_run(lambda one: one.run.anchor.document.format == "python" and asks_about_change(one.hazard)),
        lambda paths, files: unheard.own_dicts(paths, files),
        Files.silence,
    ),
    Lesson(  # types of models that a release does not know, in repositories that bring types of their own
        "looking for the programs that bring a model",
        lambda one: iter(
            [one.run.anchor.document.text.path]
            if _is_told(one) and {"model.type", "derived.types_registered"} <= {fact.name for fact in one.facts}
            else ()
        ),
        lambda paths, files: unheard.registering(paths, files),
        lambda files, paths: files.show("launch.types_registered", paths),
    ),
    Lesson(  # names of losses that the library's trainer does not have, and one of the repository's own may
        "looking for the programs that read it",
        _of_place(lambda one: _is_told(one) and one.item.endswith(".loss_type") and _is_data_file(one.place.document)),
        lambda paths, files: unheard.computing(paths, files),
        lambda files, paths: files.show("launch.own_losses", paths),
    ),
    Lesson(  # numbers written as text, which whoever reads the file makes numbers of
        "looking for the programs that read it",
        _of_place(lambda one: _is_told(one) and any(fact.name == "derived.casts_text" for fact in one.facts)),
        lambda paths, files: unheard.casting(paths, files),
        lambda files, paths: files.show("launch.numbers_cast", paths),
    ),
)


def referrers(
    helpers: list[str], known: Container[str], files: Files, root_of: Callable[[str], str] = discover.root_of
) -> list[str]:
    """The files that may read these, from the repository of each; in there only files that were not named."""
    by_root: dict[str, list[str]] = {}
    for path in helpers:
        by_root.setdefault(root_of(path), []).append(path)
    found = (
        several
        for root, paths in by_root.items()
        if os.path.isdir(root)  # a text from elsewhere may be called anything
        for several in _one_by_one(
            "looking for the files that name it",
            lambda wanted, _, root=root: repository_referrers.referrers(list(wanted), root, files, known),  # type: ignore[misc]
            paths,
            files,
        )
    )
    return list(dict.fromkeys(path for several in found for path in several))


def starters(paths: list[str], known: Container[str], files: Files) -> Iterator[list[str]]:
    """The scripts that may start a program with these configurations, or these programs, then the guides that tell how to; none where another file
    is among them."""
    fragments = [fragment for path in paths for fragment in files.fragments(path)]
    if not fragments or any(one.block.kind not in ("document", "call") or one.block.document.view for one in fragments):
        return
    if any(one.block.kind == "call" for one in fragments) and not any(
        repository_loaders.trains(one, files) for one in paths
    ):
        return
    yield [path for path in referrers(paths, known, files, files.root) if discover.kind_of(path) in _WITH_COMMANDS]
    if any(one.block.kind == "call" for one in fragments) and not any(
        repository_loaders.must_be_told(one, files) for one in paths
    ):
        return  # a guide's command is an example then
    told = [one for path in paths for one in repository_referrers.guides(path, files.root(path), files)]
    for one in told:
        files.documents(one, "guide")
    yield list(dict.fromkeys(told))


def loaders(paths: list[str], files: Files) -> dict[str, repository_loaders.Loader]:
    """The programs that load these configurations, which no command names, and whether it is sure that they load this one."""
    asked = [path for path in paths if any(one.entry and one.block.kind == "document" for one in files.fragments(path))]
    return _each("looking for the program that loads it", repository_loaders.loader, asked, files)


def engines(paths: list[str], files: Files) -> dict[str, repository_loaders.Loader]:
    """The programs that may be started with these files of DeepSpeed or accelerate, which nothing names."""
    return _each("looking for the program that it is for", repository_loaders.engine, paths, files)


def starting(path: str, files: Files) -> str | None:
    """The only script that names another file in the place of which this one of DeepSpeed's or accelerate's may be given."""
    return _each("looking for the script that it is for", repository_loaders.starting, [path], files).get(path)


def of_others(paths: list[str], files: Files) -> dict[str, Program]:
    """The configurations that are no library's, since nothing in their repository speaks of it, with a program that may read them."""
    return _each("looking for the programs that read it", repository_loaders.of_another, paths, files)


def touches(finding: Finding, paths: Container[str]) -> bool:
    """Whether the finding stands in one of the files, or rests on what one of them states."""
    if finding.place.document.text.path in paths or finding.run.anchor.document.text.path in paths:
        return True
    origins = (statement.origin for fact in finding.facts for statement in fact.sources)
    return any(isinstance(origin, Explicit) and origin.place.document.text.path in paths for origin in origins)


def _each(stage: str, ask: Callable[[str, Files], T | None], paths: list[str], files: Files) -> dict[str, T]:
    """What is answered about each file, where something is."""
    found: dict[str, T] = {}
    for path in paths:
        one, error = attempt(ask, path, files)
        if error is not None:
            files.faults.add(files.documents(path)[0].text, stage, error)
        elif one is not None:
            found[path] = one
    return found


def _one_by_one(stage: str, work: Callable[[Iterable[str], Files], T], paths: Iterable[str], files: Files) -> list[T]:
    """What is worked out for several files together; where that raises, for each by itself, so that the fault is that of its file."""
    several = sorted(paths)
    together, error = attempt(work, several, files)
    if error is None:
        return [cast("T", together)]
    found: list[T] = []
    for path in several:
        alone, why = attempt(work, [path], files)
        if why is None:
            found.append(cast("T", alone))
        else:
            files.faults.add(files.documents(path)[0].text, stage, why)
    return found
