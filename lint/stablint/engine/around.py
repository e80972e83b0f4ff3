"""What the repository around the files says of them: who reads, starts, changes and imports them. Asked where something would be told."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator

from stablint.assemble.files import Files
from stablint.base.light import TYPE_CHECKING, TypeVar, cast
from stablint.files import discover
from stablint.files.faults import attempt
from stablint.hazard.model import Finding, asks_about_change
from stablint.repository import changers, importers, readers, unheard
from stablint.repository import loaders as repository_loaders
from stablint.repository import referrers as repository_referrers
from stablint.run.fact import Explicit
from stablint.run.framework import may_be_patched

if TYPE_CHECKING:  # only where a repository reads its configurations itself
    from stablint.frameworks.launch.at_hand import Program

T = TypeVar("T")
_WITH_COMMANDS = frozenset(["shell", "make", "just"])


def may_be_own(path: str, files: Files) -> bool:
    """Whether it is a configuration of a form that programs of one's own have as well, and that no command hands to anybody else's."""
    if path in files.linked and path not in files.handed:
        return False
    return any(readers.asks(fragment) for fragment in files.fragments(path))


def own_readers(paths: list[str], files: Files) -> dict[str, Program]:
    """The programs of the repository that read these configurations themselves, by the paths of these."""
    found = _one_by_one("looking for the programs that read it", readers.own_readers, paths, files)
    every = {path: program for owned in found for path, program in owned.items()}
    joined = {path: loader for path, (loader, _) in files.loaders.items()}  # whatever else takes a key of it as well
    return {
        path: one for path, one in every.items() if joined.get(path, one.document.text.path) == one.document.text.path
    }


def _edited(findings: Iterable[Finding], files: Files) -> frozenset[str]:
    """The configurations that an error rests on, of which nobody can say that a run reads what stands in them."""
    asked = {
        document.path
        for finding in findings
        if finding.severity == "error"
        for fact in finding.run.explicit.values()
        for one in fact.sources
        if isinstance(one.origin, Explicit)
        and (document := one.origin.place.document).format in ("json", "yaml")
        and "\0" not in document.path
    }
    return _together("looking for the programs that change it", changers.edited, asked, files) if asked else frozenset()


def _unheard(findings: Iterable[Finding], files: Files) -> frozenset[str]:
    """The files of a launcher that something is told of, that no command at hand names, and whose programs hear nothing of them."""
    asked = {
        finding.run.anchor.document.path
        for finding in findings
        if finding.severity in ("error", "warning") and finding.run.dialects[:1] == ("accelerate",)
    }
    return _together("looking for the programs that read it", unheard.unheard, asked, files) if asked else frozenset()


def _written_down(findings: Iterable[Finding], files: Files) -> frozenset[str]:
    """The files that something is told of, that a training has written, and that nobody reads again."""
    asked = {
        finding.run.anchor.document.path
        for finding in findings
        if finding.severity in ("error", "warning") and finding.run.anchor.document.format in ("json", "yaml")
    }
    asked = {path for path in asked if "\0" not in path}
    return (
        _together("looking for the programs that read it", changers.written_down, asked, files)
        if asked
        else frozenset()
    )


def _own_tables(findings: Iterable[Finding], files: Files) -> frozenset[str]:
    """The tables of data sets that something is told of and that no configuration of LLaMA-Factory's names, but the repository's own program."""
    asked = {
        finding.run.anchor.document.path
        for finding in findings
        if finding.run.dialects[:1] == ("llamafactory-data",) and len(finding.run.files) == 1
    }
    return (
        _together("looking for the programs that read it", unheard.own_tables, asked, files) if asked else frozenset()
    )


def _own_dicts(findings: Iterable[Finding], files: Files) -> frozenset[str]:
    """The modules of constants that are told of a name which the library's class has not."""
    asked = {
        finding.run.anchor.document.path
        for finding in findings
        if finding.run.anchor.document.format == "python" and asks_about_change(finding.hazard)
    }
    return _together("looking for the programs that read it", unheard.own_dicts, asked, files) if asked else frozenset()


def _registering(findings: Iterable[Finding], files: Files) -> frozenset[str]:
    """The files whose runs are told that a release does not know their type of model, in repositories that bring types of their own."""
    asked = {
        finding.run.anchor.document.text.path
        for finding in findings
        if finding.severity in ("error", "warning")
        and {"model.type", "derived.types_registered"} <= {fact.name for fact in finding.facts}
    }
    return (
        _together("looking for the programs that bring a model", unheard.registering, asked, files)
        if asked
        else frozenset()
    )


def _behind_unsloth(findings: Iterable[Finding], files: Files) -> frozenset[str]:
    """The Python files that something is told of and that are imported behind Unsloth."""
    found = {
        finding.place.document.text.path
        for finding in findings
        if finding.place.document.format == "python" and may_be_patched(finding.run.framework)
    }
    asked = {path for path in found if path.endswith(".py")}
    return (
        _together("looking for the programs that import it", importers.behind_unsloth, asked, files)
        if asked
        else frozenset()
    )


def _optional(findings: Iterable[Finding], files: Files) -> frozenset[str]:
    """The Python files that import what is not there, and that their repository goes on without."""
    asked = {
        finding.place.document.text.path
        for finding in findings
        if finding.severity in ("error", "warning") and finding.item.startswith("keys.") and "-names." in finding.item
    }
    asked = {path for path in asked if path.endswith(".py")}
    return (
        _together("looking for the programs that import it", importers.optional, asked, files) if asked else frozenset()
    )


# What may still be asked about files of which something would be told, each with what becomes of the answer; in this order, since each is asked
# about what is told then.
LESSONS: tuple[
    tuple[Callable[[Iterable[Finding], Files], frozenset[str]], Callable[[Files, frozenset[str]], None]], ...
] = (
    (_behind_unsloth, Files.patch),
    (_optional, Files.spare),
    (_edited, Files.edit),
    (_unheard, Files.silence),
    (_written_down, Files.silence),
    (_own_tables, Files.silence),
    (_own_dicts, Files.silence),
    (_registering, Files.register),
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
    """The scripts that may start a program with these configurations, then the guides that tell how to; none where another file is among them."""
    fragments = [(path, fragment) for path in paths for fragment in files.fragments(path)]
    if not fragments or any(one.block.kind != "document" or one.block.document.view for _, one in fragments):
        return
    yield [path for path in referrers(paths, known, files, files.root) if discover.kind_of(path) in _WITH_COMMANDS]
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


def _together(
    stage: str, work: Callable[[Iterable[str], Files], frozenset[str]], asked: set[str], files: Files
) -> frozenset[str]:
    """All that is answered about these files."""
    return frozenset().union(*_one_by_one(stage, work, asked, files))


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
