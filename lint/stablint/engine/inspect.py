"""Paths and options → a report. The one way through the whole tool: the command line, the library and the fixer all come here."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator
from collections.abc import Mapping as Table

from stablint.assemble.asked import Options
from stablint.assemble.files import Files
from stablint.assemble.runs import assemble
from stablint.base.light import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from stablint.engine import diagnostics, processes
from stablint.engine.judging import judge, rules_of
from stablint.files import discover, relevance
from stablint.files.faults import Fault, attempt
from stablint.frameworks.fragment import Fragment
from stablint.hazard import model as hazards
from stablint.hazard.checked import Checked
from stablint.hazard.condition import refill
from stablint.policy import Policies, Policy
from stablint.report import place as report_place
from stablint.report.model import Diagnostic, FileStatus, Report, RunSummary
from stablint.repository import changers, importers, readers, referrers
from stablint.repository import unheard as unheard_settings
from stablint.run import shipped
from stablint.run.fact import Explicit, Place, Secret
from stablint.run.framework import may_be_patched
from stablint.run.world import Run
from stablint.secrets import languages, masking
from stablint.suppressions import apply
from stablint.syntax import embedded, limits
from stablint.syntax.tree import Document, Problem, Text

if TYPE_CHECKING:  # only where a repository reads its configurations itself
    from stablint.frameworks.launch.at_hand import Program
    from stablint.policy import Policies
    from stablint.report.progress import Watch

T = TypeVar("T")
_NONE = "no training configuration"
# A word that Python's reader takes, which is the only reader of what a program of one's own reads or wrote down.
_NOT_FINITE = "json-nan"
# Files that mean little without the run that reads them.
_HELPERS = frozenset({"deepspeed", "accelerate", "fsdp"})

A_LINK_OUT = discover.LinkOut("not read: it is a link out of the repository, which --allow-outside follows")


class Inspection(NamedTuple):
    report: Report
    findings: list[hazards.Finding]
    runs: tuple[Run, ...]
    files: Files
    recognised: int  # how many of the files are training configurations, or are broken ones
    named: frozenset[str]  # the files that were named one by one, as they are shown
    unread: tuple[tuple[str, str], ...] = ()  # files and folders that the system did not give out, and why
    listed: tuple[tuple[str, bool], ...] = ()  # what was checked, and whether it was named
    referring: tuple[str, ...] = ()  # what was read beside that, because it names what was checked
    hidden: frozenset[str] | None = None  # `secrets`, where other processes have read the files

    @property
    def secrets(self) -> frozenset[str]:
        """What must be hidden in all that is printed: the secrets of every file that was read, parsed or not."""
        if self.hidden is not None:
            return self.hidden
        found = {
            secret
            for text in self.files.texts()
            for secret in masking.known(text.text, languages.language_of(text.path))
        }
        found |= {secret for text in self.files.brought() for secret in masking.known(text.text, "shell")}
        names = (*(text.name for text in self.files.texts()), *self.files.not_found)
        return frozenset(found) | _secrets(self.runs) | {secret for name in names for secret in masking.in_name(name)}


def inspect(
    paths: list[str],
    options: Options,
    *,
    base: str | None = None,
    texts: Table[str, Text] | None = None,
    known: tuple[hazards.Hazard, ...] | None = None,
    watch: Watch | None = None,
    earlier: Inspection | None = None,
    read: Files | None = None,
) -> Inspection:
    """Check the files under `paths`. `texts` stand in for files on disk (standard input, the result of a fix), by absolute path.
    `earlier` is an inspection of the same paths with the same options: only what other texts change is worked out again.
    `read` are files that another inspection has read, whatever its options: they are not read again.

    Raises discover.NoSuchPath for a path that does not exist. Findings never raise; a hazard that does is an internal error of the report.
    """
    base = base or os.getcwd()
    refill()
    texts = texts or {}
    missed: discover.Missed = []
    policies = options.policies
    if earlier is not None:
        listed, files = list(earlier.listed), earlier.files.renewed(texts)
    else:
        listed = _listed(paths, base, texts, missed, lambda path: _everywhere(path, options))
        if policies is not None:
            listed = [(path, named) for path, named in listed if not policies.at(path).excludes(path) or named]
        files = Files(*_bounds(paths, base, options)) if read is None else read.afresh(texts)
        for text in texts.values() if read is None else ():
            files.put(text)
        if options.jobs != 1 and len(listed) > 1 and read is None and known is None and not texts:
            several = processes.inspected(listed, missed, files, options, watch)
            if several is not None:
                return several
    return inspected(listed, missed, files, options, texts, known, watch, earlier, len(listed) == 1)


def inspected(
    listed: list[tuple[str, bool]],
    missed: discover.Missed,
    files: Files,
    options: Options,
    texts: Table[str, Text],
    known: tuple[hazards.Hazard, ...] | None = None,
    watch: Watch | None = None,
    earlier: Inspection | None = None,
    alone: bool = False,
) -> Inspection:
    """The same for files that are listed already. `alone`: one was asked for, and nothing else."""
    for path, words in missed:
        if isinstance(words, discover.Refusal):
            files.faults.refuse(path, files.name(path), words.removeprefix("not read: "))
    policies = options.policies
    statuses: dict[str, FileStatus] = {}
    problems: list[tuple[Document, Problem]] = []
    entries: list[str] = []
    for path, named in listed if watch is None else watch(listed, len(listed), "files"):
        if not named and files.is_silent(path, relevance.speaks):
            statuses[path] = FileStatus(files.name(path), None, "skipped", _NONE)
            continue
        documents = files.documents(path)
        fragments = files.fragments(path, options.dialect)
        statuses[path] = _status(path, files, documents, fragments)
        meant = bool(fragments) or (named and not options.skip_unrecognised)
        read_by_library = any(one.dialect != "own" for one in fragments)
        before = len(problems)
        for document in documents:
            if document.problems and relevance.is_told(document, meant):
                problems += [(document, one) for one in document.problems if one.kind != _NOT_FINITE or read_by_library]
        if len(problems) == before and statuses[path].status == "unreadable" and not discover.is_configuration(path):
            statuses[path] = FileStatus(statuses[path].file, None, "skipped", _NONE)
        if fragments:
            entries.append(path)
        elif (
            statuses[path].status == "unreadable"
            and path not in texts
            and len(problems) == before
            and files.faults.of(path) is None
            and (relevance.is_program_too_large(documents) or not os.access(path, os.R_OK))
        ):
            missed.append((path, f"not read: {statuses[path].reason}"))
    helpers = [
        path
        for path, named in listed
        if named and any(_is_helper(fragment) for fragment in files.fragments(path, options.dialect))
    ]
    # Beside live objects these files are part of the run at hand, whatever else may read them.
    more = _referrers(helpers, statuses, files) if helpers and options.live is None and earlier is None else []
    if earlier is not None:
        more = [path for path in earlier.referring if helpers]
    runs = tuple(assemble([*entries, *more], files, options))
    if known == () and not more and earlier is None and options.live is None and options.dialect is None:
        for more in _starters([path for path, named in listed if named and path in entries], statuses, files):
            runs = tuple(assemble([*entries, *more], files, options))
            if any(len(run.files) > 1 and statuses[path].file in run.files for run in runs for path in entries):
                break
        else:
            more = []
    if more:
        names = {status.file for status in statuses.values()}
        runs = tuple(run for run in runs if not names.isdisjoint(run.files))
    bounded = len(files.boundaries())
    asked_for = [path for path, _ in listed] if alone else []
    problems += files.boundaries()

    def judged(runs: tuple[Run, ...]) -> tuple[list[hazards.Finding], list[hazards.Undecided]]:
        return judge(runs, problems, rules_of(options, files, known), files.faults, files.kept.judged, asked_for, watch)

    def anew() -> tuple[tuple[Run, ...], list[hazards.Finding], list[hazards.Undecided]]:
        """Once more, where `files` has learnt how some of them are read."""
        runs = tuple(assemble([*entries, *more], files, options))
        return runs, *judged(runs)

    findings, undetermined = judged(runs)
    if earlier is None and options.live is None and options.dialect is None:
        doubted = entries if known == () else {finding.place.document.text.path for finding in findings}
        asked = [path for path in entries if path in doubted and _may_be_own(path, files, options)]
        if asked and (owned := _own_readers(asked, files)):
            files.own(owned)
            runs, findings, undetermined = anew()
    if earlier is None and options.live is None and (behind := _behind_unsloth(findings, files)):
        files.patch(behind)
        runs, findings, undetermined = anew()
    if earlier is None and options.live is None and (spared := _optional(findings, files)):
        files.spare(spared)
        runs, findings, undetermined = anew()
    if earlier is None and options.live is None and (changed := _edited(findings, files)):
        files.edit(changed)
        runs, findings, undetermined = anew()
    if earlier is None and options.live is None and (unheard := _unheard(findings, files)):
        files.silence(unheard)
        runs, findings, undetermined = anew()
    if beyond := files.boundaries()[bounded:]:  # of programs that were asked about these files
        problems += beyond
        findings, undetermined = judged(runs)
    if more:  # what is wrong with them alone was not asked for
        around = {document.text.path for document, problem in problems if problem.kind == limits.AROUND}
        findings = [finding for finding in findings if _touches(finding, {*statuses, *around})]
        undetermined = [item for item in undetermined if item.run.anchor.document.text.path in statuses]
    shown = tuple(statuses.values())
    recognised = sum(status.status != "skipped" for status in shown)
    report = Report(
        shown,
        tuple(_summaries(runs)),
        (),
        (),
        (),
        tuple(lacking(*unfound(files, runs))) if files.not_found else (),
        tuple(_notes(options, files)) if options.model is not None else (),
    )
    if options.model is not None:  # who has named it cannot be asked to name it
        undetermined = [
            item._replace(needs=tuple("model.config" if need == "model" else need for need in item.needs))
            for item in undetermined
        ]
    if findings or undetermined:
        report = report._replace(
            diagnostics=diagnostics.diagnostics(findings, files.faults, files.kept.told, files.kept.reread, watch),
            undetermined=diagnostics.undetermined(undetermined),
        )
    spoken = {path: files.documents(path) for path in entries if "stablint:" in files.documents(path)[0].text.text}
    if spoken or (policies is not None and any(policy.speaks() for policy in policies.asked())):
        report = _settled(report, spoken, entries, files, options, known)
    if files.faults.found:
        report = told(report, files.faults.found)
    if policies is not None and (broken := policies.broken()):
        report = report._replace(broken=broken)
    if policies is not None and any(policy.pages for policy in policies.asked()):
        report = report._replace(diagnostics=tuple(_with_page(one, policies) for one in report.diagnostics))
    return Inspection(
        report,
        findings,
        runs,
        files,
        recognised,
        frozenset(files.name(path) for path, named in listed if named),
        earlier.unread if earlier is not None else tuple((files.name(path), why) for path, why in missed),
        tuple(listed),
        tuple(more),
    )


def _with_page(diagnostic: Diagnostic, policies: Policies) -> Diagnostic:
    """With the address of its rule's page, as the settings of its file make it."""
    pages = policies.at(diagnostic.text.path if diagnostic.text is not None else "").pages
    return diagnostic._replace(url=pages.replace("{code}", diagnostic.code)) if pages else diagnostic


def _settled(
    report: Report,
    spoken: dict[str, tuple[Document, ...]],
    entries: list[str],
    files: Files,
    options: Options,
    known: tuple[hazards.Hazard, ...] | None,
) -> Report:
    """The report with what is suppressed, and with what is wrong with suppressions."""
    policies = options.policies or Policies(Policy())
    every = hazards.load()
    house = [rule for policy in policies.asked() for rule in policy.rules or () if rule.own is not None]
    linked = {
        d.text.path: files.documents(d.text.path)
        for d in report.diagnostics
        if d.text is not None and "stablint:" in d.text.text
    }
    names = {path: files.name(path) for path in entries}
    rules = (*every, *(known or ()), *house)
    outcome, error = attempt(apply.settle, report, {**spoken, **linked}, names, policies, known, rules)
    if outcome is None:  # without the comments of the files that it fails on
        sound = {}
        for path, documents in {**spoken, **linked}.items():
            one, why = attempt(apply.settle, report, {path: documents}, names, policies, known, rules)
            if one is not None:
                sound[path] = documents
            elif why is not None:
                files.faults.add(documents[0].text, "reading its suppressions", why)
        if error is not None and not files.faults.found:
            raise error
        outcome = apply.settle(report, sound, names, policies, known, rules)
    findings, _ = judge((), outcome.problems, rules_of(options, files, known), files.faults)
    more = (*outcome.report.diagnostics, *diagnostics.diagnostics(findings, files.faults))
    return outcome.report._replace(diagnostics=tuple(sorted(more, key=diagnostics.order)))


def told(report: Report, faults: list[Fault]) -> Report:
    """The report with what stablint itself failed at: findings that no setting takes away."""
    rules = {hazard.id: hazard for hazard in hazards.load()}
    own = [fault for fault in faults if fault.rule == "internal-fault"]
    more = [
        diagnostics.of_fault(
            fault, masking.mask(f"{fault.stage}: {fault.error}" if fault in own else fault.error), rules[fault.rule]
        )
        for fault in faults
    ]
    return report._replace(
        diagnostics=tuple(sorted((*report.diagnostics, *more), key=diagnostics.order)),
        internal_errors=(*report.internal_errors, *(masking.mask(fault.line()) for fault in own)),
        unopened=(*report.unopened, *(fault.name for fault in faults if fault not in own)),
    )


def _bounds(paths: list[str], base: str, options: Options) -> tuple[Callable[[str], str], str, Callable[[str], str]]:
    """The repository of a file, the folder from which names are told, and how far a file's names may lead: everywhere, if somebody says so. One
    looks around in the repository all the same: what lies elsewhere on the machine and is not named has no part in a run."""
    roots, policies, everywhere = discover.Roots(paths or [base], base), options.policies, options.root
    top = os.path.abspath(os.sep)
    if everywhere is not None:
        return roots.of if everywhere == top else lambda path: everywhere, base, lambda path: everywhere
    if policies is None:
        return roots.of, base, roots.of
    return roots.of, base, lambda path: top if policies.at(path).allow_outside else roots.of(path)


def _everywhere(path: str, options: Options) -> bool:
    return options.root is not None or (options.policies is not None and options.policies.at(path).allow_outside)


def _listed(
    paths: list[str], base: str, texts: Table[str, Text], missed: discover.Missed, everywhere: Callable[[str], bool]
) -> list[tuple[str, bool]]:
    """What is to be checked. A link that leads out of the repository is not followed where its name comes from a list of changed files either."""
    inner = [
        path
        for path in paths
        if os.path.normpath(os.path.join(base, path)) not in texts or os.path.lexists(os.path.join(base, path))
    ]
    given = [(path, True) for path in texts if not os.path.lexists(path)]
    outside = {path: None for path in inner if discover.is_link_out(os.path.join(base, path)) and not everywhere(path)}
    missed += [(os.path.normpath(os.path.join(base, path)), A_LINK_OUT) for path in outside]
    return sorted([*discover.files([path for path in inner if path not in outside], base, missed), *given])


def _may_be_own(path: str, files: Files, options: Options) -> bool:
    """Whether it is a configuration of a form that programs of one's own have as well, and that no command hands to anybody else's."""
    if path in files.linked and path not in files.handed:
        return False
    return any(readers.asks(fragment) for fragment in files.fragments(path, options.dialect))


def _own_readers(paths: list[str], files: Files) -> dict[str, Program]:
    found = _one_by_one("looking for the programs that read it", readers.own_readers, paths, files)
    return {path: program for owned in found for path, program in owned.items()}


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


def _edited(findings: Iterable[hazards.Finding], files: Files) -> frozenset[str]:
    """The configurations that an error rests on and that a program of the repository loads and changes."""
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
    if not asked:
        return frozenset()
    return frozenset().union(*_one_by_one("looking for the programs that change it", changers.edited, asked, files))


def _unheard(findings: Iterable[hazards.Finding], files: Files) -> frozenset[str]:
    """The files of a launcher that something is told of, that no command at hand names, and whose programs hear nothing of them."""
    asked = {
        finding.run.anchor.document.path
        for finding in findings
        if finding.severity in ("error", "warning") and finding.run.dialects[:1] == ("accelerate",)
    }
    if not asked:
        return frozenset()
    return frozenset().union(
        *_one_by_one("looking for the programs that read it", unheard_settings.unheard, asked, files)
    )


def _behind_unsloth(findings: Iterable[hazards.Finding], files: Files) -> frozenset[str]:
    """The Python files that something is told of and that are imported behind Unsloth."""
    found = {
        finding.place.document.text.path
        for finding in findings
        if finding.place.document.format == "python" and may_be_patched(finding.run.framework)
    }
    asked = {path for path in found if path.endswith(".py")}
    if not asked:
        return frozenset()
    return frozenset().union(
        *_one_by_one("looking for the programs that import it", importers.behind_unsloth, asked, files)
    )


def _optional(findings: Iterable[hazards.Finding], files: Files) -> frozenset[str]:
    """The Python files that import what is not there, and that their repository goes on without."""
    asked = {
        finding.place.document.text.path
        for finding in findings
        if finding.severity in ("error", "warning") and finding.item.startswith("keys.") and "-names." in finding.item
    }
    asked = {path for path in asked if path.endswith(".py")}
    if not asked:
        return frozenset()
    return frozenset().union(*_one_by_one("looking for the programs that import it", importers.optional, asked, files))


def _referrers(
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
            lambda wanted, _, root=root: referrers.referrers(list(wanted), root, files, known),  # type: ignore[misc]
            paths,
            files,
        )
    )
    return list(dict.fromkeys(path for several in found for path in several))


def _starters(paths: list[str], known: Container[str], files: Files) -> Iterator[list[str]]:
    """The scripts that may start a program with these configurations, then the guides that tell how to; none where another file is among them."""
    fragments = [(path, fragment) for path in paths for fragment in files.fragments(path)]
    if not fragments or any(one.block.kind != "document" or one.block.document.view for _, one in fragments):
        return
    yield [path for path in _referrers(paths, known, files, files.root) if discover.kind_of(path) in _WITH_COMMANDS]
    told = [one for path in paths for one in referrers.guides(path, files.root(path), files)]
    for one in told:
        files.documents(one, "guide")
    yield list(dict.fromkeys(told))


_WITH_COMMANDS = frozenset(["shell", "make", "just"])


def _is_helper(fragment: Fragment) -> bool:
    return fragment.dialect in _HELPERS and fragment.block.document.view is None


def _touches(finding: hazards.Finding, paths: Container[str]) -> bool:
    """Whether the finding stands in one of the files, or rests on what one of them states."""
    if finding.place.document.text.path in paths or finding.run.anchor.document.text.path in paths:
        return True
    origins = (statement.origin for fact in finding.facts for statement in fact.sources)
    return any(isinstance(origin, Explicit) and origin.place.document.text.path in paths for origin in origins)


def _status(path: str, files: Files, documents: tuple[Document, ...], fragments: tuple[Fragment, ...]) -> FileStatus:
    name = files.name(path)
    fault = None if fragments else files.faults.of(path)
    if fault is not None:
        ours = "stablint failed: " if fault.rule == "internal-fault" else ""
        return FileStatus(name, None, "unreadable", f"{ours}{fault.error}")
    if fragments:
        format = fragments[0].block.document.format
        dialect = fragments[0].dialect
        if format == "shell" or (format == "python" and dialect != "xtuner"):
            dialect = format
        if discover.kind_of(path) == "notebook":
            dialect = "notebook"
        return FileStatus(name, dialect, "checked", None)
    broken = next((problem for document in documents if document.root is None for problem in document.problems), None)
    if broken is not None and broken.kind not in ("json-lines", "json-template"):
        return FileStatus(name, None, "unreadable", broken.message)
    return FileStatus(name, None, "skipped", _NONE)


def unfound(files: Files, runs: tuple[Run, ...]) -> tuple[dict[str, str], set[str]]:
    """What a run names and nobody could read, with the words for it, and the frameworks of all runs."""
    words = {}
    for path, place in sorted(files.not_found.items()):
        name, line, cell = _point(place)
        where = f"{name}:{line}" if cell is None else f"{name}:cell {cell}:{line}"
        beside = place.document.text.path
        words[path] = f"`{path}` ({where}{discover.hint(path, beside, files.root(beside))})"
    return words, {run.framework for run in runs if run.framework}


def lacking(words: dict[str, str], frameworks: set[str]) -> Iterator[str]:
    """Those of them that no framework is known to ship."""
    for path in sorted(words):
        if not any(shipped.shipped(framework, path) for framework in frameworks):
            yield words[path]


def _notes(options: Options, files: Files) -> Iterator[str]:
    """What the command line says that leads nowhere."""
    if options.model is not None and not files.described(options.model, False):
        yield f"Nothing is known of the model `{options.model}`, so checks that need its size, kind or precision are left out"


def _summary(run: Run) -> RunSummary:
    name, line, cell = _point(run.anchor)
    return RunSummary(run.id, run.files, name, line, run.dialects, cell)


def _point(place: Place) -> tuple[str, int, int | None]:
    """The file, the line and, in a notebook, the cell of a place."""
    document, start = place.document, place.start
    text = document.text
    if document.view is not None:
        outer = embedded.seen(document, start, start)
        if outer is not None:
            return text.name, report_place.locate(outer.source, outer.start).line, outer.cell
    line = report_place.locate(text.text, start).line if "\r" in text.text else text.text.count("\n", 0, start) + 1
    return text.name, line, None


def _secrets(runs: tuple[Run, ...]) -> frozenset[str]:
    """The texts of the values that were recognised as secrets, to be masked in everything that is printed."""
    found = set()
    suspects = [
        fact
        for run in runs
        for fact in run.explicit.values()
        if isinstance(fact.value, Secret) or len(fact.sources) > 1
    ]
    for fact in suspects:
        for statement in fact.sources:
            if isinstance(statement.value, Secret) and isinstance(statement.origin, Explicit):
                place = statement.origin.place
                found.add(place.document.text.text[place.start : place.end].strip("\"'"))
    return frozenset(line for text in found for line in masking.lines_of(text))


def _summaries(runs: tuple[Run, ...]) -> Iterator[RunSummary]:
    """One of a run, on however many targets it is checked."""
    seen: set[tuple[str, int]] = set()
    for run in runs:
        key = (run.id, run.anchor.start)
        if not run.target or key not in seen:
            yield _summary(run)
        seen.add(key)


def effective(run: Run) -> Any:
    """The run's world at the newest releases, for `show`."""
    return Checked(run).newest
