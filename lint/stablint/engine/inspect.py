"""Paths and options → a report. The one way through the whole tool: the command line, the library and the fixer all come here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from collections.abc import Mapping as Table

from stablint.assemble.asked import Options
from stablint.assemble.files import Files
from stablint.assemble.runs import assemble
from stablint.base.light import TYPE_CHECKING, Any, NamedTuple
from stablint.engine import around, diagnostics, processes, summary
from stablint.engine.judging import judge, rules_of
from stablint.files import discover, relevance
from stablint.files.faults import Fault, attempt
from stablint.frameworks.fragment import Fragment
from stablint.hazard import model as hazards
from stablint.hazard.checked import Checked
from stablint.hazard.condition import refill
from stablint.policy import Policies, Policy
from stablint.report.model import Diagnostic, FileStatus, Report
from stablint.repository import surroundings
from stablint.run.fact import Explicit, Secret
from stablint.run.world import Run
from stablint.secrets import languages, masking
from stablint.suppressions import apply
from stablint.syntax import limits
from stablint.syntax.tree import Document, Problem, Text

if TYPE_CHECKING:  # only where a repository reads its configurations itself
    from stablint.policy import Policies
    from stablint.report.progress import Watch

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
        read = [(text.text, languages.language_of(text.path)) for text in self.files.texts()]
        masking.look_for_signs([text for text, language in read if language == languages.YAML])
        found = {secret for text, language in read for secret in masking.known(text, language)}
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
    shown: bool = False,
) -> Inspection:
    """Check the files under `paths`. `texts` stand in for files on disk (standard input, the result of a fix), by absolute path.
    `earlier` is an inspection of the same paths with the same options: only what other texts change is worked out again.
    `read` are files that another inspection has read, whatever its options: they are not read again.
    `shown`: the runs are shown, and nobody is told of a fault: what lies around the files is asked what is left open.

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
        if shown and options.live is None and options.dialect is None:
            files.around = surroundings.Surroundings(files, {path for path, _ in listed})
        for text in texts.values() if read is None else ():
            files.put(text)
        if options.jobs != 1 and len(listed) > 1 and read is None and known is None and not texts:
            several = processes.inspected(listed, missed, files, options, watch)
            if several is not None:
                return several
    return inspected(listed, missed, files, options, texts, known, watch, earlier, len(listed) == 1)


class _Look(NamedTuple):
    """What the files are, each by itself."""

    statuses: dict[str, FileStatus]
    entries: list[str]  # those with a configuration in them
    problems: list[tuple[Document, Problem]]


class _Judged(NamedTuple):
    runs: tuple[Run, ...]
    findings: list[hazards.Finding]
    undetermined: list[hazards.Undecided]


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
    look = _looked_at(listed, missed, files, options, texts, watch)
    runs, more = _assembled(listed, look, files, options, known, earlier)
    asked_for = [path for path, _ in listed] if alone else []
    judged = _judged(runs, more, look, files, options, known, watch, earlier, asked_for)
    return Inspection(
        _report(judged, look, files, options, known, watch),
        judged.findings,
        judged.runs,
        files,
        sum(status.status != "skipped" for status in look.statuses.values()),
        frozenset(files.name(path) for path, named in listed if named),
        earlier.unread if earlier is not None else tuple((files.name(path), why) for path, why in missed),
        tuple(listed),
        tuple(more),
    )


def _looked_at(
    listed: list[tuple[str, bool]],
    missed: discover.Missed,
    files: Files,
    options: Options,
    texts: Table[str, Text],
    watch: Watch | None,
) -> _Look:
    statuses: dict[str, FileStatus] = {}
    problems: list[tuple[Document, Problem]] = []
    entries: list[str] = []
    for path, named in listed if watch is None else watch(listed, len(listed), "files"):
        if not named and files.is_silent(path, relevance.speaks):
            statuses[path] = FileStatus(files.name(path), None, "skipped", summary.NO_CONFIGURATION)
            continue
        documents = files.documents(path)
        fragments = files.fragments(path, options.dialect)
        statuses[path] = summary.status(path, files, documents, fragments)
        meant = bool(fragments) or (named and not options.skip_unrecognised)
        read_by_library = any(one.dialect != "own" for one in fragments)
        before = len(problems)
        for document in documents:
            if document.problems and relevance.is_told(document, meant):
                problems += [(document, one) for one in document.problems if one.kind != _NOT_FINITE or read_by_library]
        if len(problems) == before and statuses[path].status == "unreadable" and not discover.is_configuration(path):
            statuses[path] = FileStatus(statuses[path].file, None, "skipped", summary.NO_CONFIGURATION)
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
    return _Look(statuses, entries, problems)


def _assembled(
    listed: list[tuple[str, bool]],
    look: _Look,
    files: Files,
    options: Options,
    known: tuple[hazards.Hazard, ...] | None,
    earlier: Inspection | None,
) -> tuple[tuple[Run, ...], list[str]]:
    """The runs that the files have a part in, and what was read beside them because it names them."""
    helpers = [
        path
        for path, named in listed
        if named and any(_is_helper(fragment) for fragment in files.fragments(path, options.dialect))
    ]
    more: list[str] = []
    if earlier is not None:
        more = list(earlier.referring) if helpers else []
    elif (
        helpers and options.live is None
    ):  # beside live objects these are part of the run at hand, whatever else may read them
        root_of = files.root if files.around is not None else discover.root_of
        more = around.referrers(helpers, look.statuses, files, root_of)
        if (
            known == () and files.around is not None and options.dialect is None
        ):  # and who starts a program with one of these
            naming = [path for path in more if discover.is_configuration(path) and files.fragments(path)]
            more += next(around.starters(naming, {*look.statuses, *more}, files), [])
        if known == () and options.dialect is None and (loaded := around.loaders(more, files)):
            files.load(loaded)
    runs = tuple(assemble([*look.entries, *more], files, options))
    if known == () and not more and earlier is None and options.live is None and options.dialect is None:
        runs, more = _started(
            runs, [path for path, named in listed if named and path in look.entries], look, files, options
        )
    if known == () and helpers and earlier is None and options.dialect is None and _are_alone(runs, look):
        runs = tuple(_with_its_program(runs, helpers, look, files, options))
    if known == () and not runs and not more and files.around is not None:
        return tuple(_of_users([path for path, named in listed if named], files, options)), []
    return _of_these(runs, look, known) if more else runs, more


def _are_alone(runs: tuple[Run, ...], look: _Look) -> bool:
    """Whether the files that were asked for are in no run of a program or a command."""
    ours = {status.file for status in look.statuses.values()}
    return all(ours.isdisjoint(run.files) or _HELPERS.issuperset(run.dialects) for run in runs)


def _with_its_program(
    runs: tuple[Run, ...], helpers: list[str], look: _Look, files: Files, options: Options
) -> Iterator[Run]:
    """For `show`: a file of DeepSpeed's or accelerate's that nothing names, in the place of another one that a script names, else with the only
    program that it can be for."""
    ours = {status.file for status in look.statuses.values()}
    if len(helpers) == 1 and (script := around.starting(helpers[0], files)):
        files.put_in_place(files.fragments(helpers[0])[0].dialect, helpers[0])
        found = [one for one in assemble([script], files, options) if not ours.isdisjoint(one.files)]
        if found:
            yield from found
            return
        files.in_place.clear()
    heads = [run.anchor.document.text.path for run in runs if not ours.isdisjoint(run.files)]
    loaded = around.engines(heads, files)
    files.load(loaded)
    yield from (
        _of_these(tuple(assemble(dict.fromkeys([*look.entries, *heads]), files, options)), look, ()) if loaded else runs
    )


def _of_users(paths: list[str], files: Files, options: Options) -> Iterator[Run]:
    """For `show`: the runs of the programs that take what these files say, of which nothing is known by itself."""
    for path in paths:
        program = (files.around.user(path) or files.around.training(path)) if files.around is not None else None
        files.linked.discard(program or "")  # by the file that makes no run with it
        for run in assemble([program], files, options) if program is not None else ():
            name = files.name(path)
            yield run if name in run.files else run._replace(files=(*run.files, name))


def _of_these(runs: tuple[Run, ...], look: _Look, known: tuple[hazards.Hazard, ...] | None) -> tuple[Run, ...]:
    """Those that the files which were asked for have a part in: what is read beside them starts other runs as well. For `show`, without programs
    that only fetch the rows by the same configuration, where another one trains."""
    names = {status.file for status in look.statuses.values()}
    found = tuple(run for run in runs if not names.isdisjoint(run.files))
    training = tuple(run for run in found if _may_train(run)) if known == () else ()
    return tuple(_once(training or found)) if known == () else found


def _once(runs: tuple[Run, ...]) -> Iterator[Run]:
    """Of the commands of guides that start the same with the same settings only the first: a guide repeats itself, and others repeat it."""
    seen: set[str] = set()
    for run in runs:
        if run.anchor.document.text.path.endswith(".md"):
            same = repr((run.files[1:], sorted((name, repr(fact.value)) for name, fact in run.explicit.items())))
            if same in seen:
                continue
            seen.add(same)
        yield run


def _may_train(run: Run) -> bool:
    said = run.explicit.get("launch.trains")
    return said is None or said.value is not False


def _started(
    runs: tuple[Run, ...], named: list[str], look: _Look, files: Files, options: Options
) -> tuple[tuple[Run, ...], list[str]]:
    """For `show`: the runs as the scripts or guides start them that name these configurations, and these; else as they are. A program is shown as the
    only command of theirs starts it: of several each may be meant, and what nobody gives is what it has for a default."""
    programs = any(one.block.kind == "call" for path in named for one in files.fragments(path))
    for more in around.starters(named, look.statuses, files):
        started = tuple(assemble([*look.entries, *more], files, options)) if more else ()
        ours = {look.statuses[path].file for path in look.entries}
        theirs = {files.name(path) for path in more}
        found = [run for run in started if not (ours.isdisjoint(run.files) or theirs.isdisjoint(run.files))]
        if found and not (programs and len(found) > 1):
            return started, more
        if programs and found:
            break
    if loaded := around.loaders(named, files):
        files.load(loaded)
        return tuple(assemble(look.entries, files, options)), []
    return runs, []


def _judged(
    runs: tuple[Run, ...],
    more: list[str],
    look: _Look,
    files: Files,
    options: Options,
    known: tuple[hazards.Hazard, ...] | None,
    watch: Watch | None,
    earlier: Inspection | None,
    asked_for: list[str],
) -> _Judged:
    """What the rules say of the runs, with what the repository says of the files that something would be told of."""
    bounded = len(files.boundaries())
    problems = look.problems
    problems += files.boundaries()

    def judged(runs: tuple[Run, ...]) -> _Judged:
        rules = rules_of(options, files, known)
        return _Judged(runs, *judge(runs, problems, rules, files.faults, files.kept.judged, asked_for, watch))

    def anew() -> _Judged:
        """Once more, where `files` has learnt how some of them are read."""
        runs = tuple(assemble([*look.entries, *more], files, options))
        return judged(_of_these(runs, look, known) if more else runs)

    found = judged(runs)
    if earlier is None and options.live is None:
        if options.dialect is None:
            # what is told of a file that a configuration names rests on who reads the configuration
            places = (one for finding in found.findings for one in (finding.place, finding.run.anchor))
            doubted = look.entries if known == () else {one.document.text.path for one in places}
            asked = [path for path in look.entries if path in doubted and around.may_be_own(path, files)]
            owned = around.own_readers(asked, files) if asked else {}
            if known == ():
                alone = [path for path in asked if path not in files.loaders]
                owned = {**owned, **around.of_others(alone, files)}
            if owned:
                files.own(owned)
                found = anew()
        for lesson in around.LESSONS if found.findings else ():
            if lesson.is_new(found.findings, files):
                found = anew()
    if beyond := files.boundaries()[bounded:]:  # of programs that were asked about these files
        problems += beyond
        found = judged(found.runs)
    if more:  # what is wrong with them alone was not asked for
        bounds = {document.text.path for document, problem in problems if problem.kind == limits.AROUND}
        found = found._replace(
            findings=[finding for finding in found.findings if around.touches(finding, {*look.statuses, *bounds})],
            undetermined=[item for item in found.undetermined if item.run.anchor.document.text.path in look.statuses],
        )
    return found


def _report(
    judged: _Judged,
    look: _Look,
    files: Files,
    options: Options,
    known: tuple[hazards.Hazard, ...] | None,
    watch: Watch | None,
) -> Report:
    policies, undetermined = options.policies, judged.undetermined
    report = Report(
        tuple(look.statuses.values()),
        tuple(summary.summaries(judged.runs)),
        (),
        (),
        (),
        tuple(summary.lacking(*summary.unfound(files, judged.runs))) if files.not_found else (),
        tuple(summary.notes(options, files)) if options.model is not None else (),
    )
    if options.model is not None:  # who has named it cannot be asked to name it
        undetermined = [
            item._replace(needs=tuple("model.config" if need == "model" else need for need in item.needs))
            for item in undetermined
        ]
    if undetermined:
        report = report._replace(undetermined=summary.undetermined(undetermined))
    if judged.findings:  # else the modules that word and mend a finding are not loaded
        report = report._replace(
            diagnostics=diagnostics.diagnostics(
                judged.findings, files.faults, files.kept.told, files.kept.reread, watch, judged.runs
            )
        )
    spoken = {path: files.documents(path) for path in look.entries if "stablint:" in files.documents(path)[0].text.text}
    if spoken or (policies is not None and any(policy.speaks() for policy in policies.asked())):
        report = _settled(report, spoken, look.entries, files, options, known)
    if files.faults.found:
        report = told(report, files.faults.found)
    if policies is not None and (broken := policies.broken()):
        report = report._replace(broken=broken)
    if policies is not None and any(policy.pages for policy in policies.asked()):
        report = report._replace(diagnostics=tuple(_with_page(one, policies) for one in report.diagnostics))
    return report


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


def _is_helper(fragment: Fragment) -> bool:
    return fragment.dialect in _HELPERS and fragment.block.document.view is None


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


def effective(run: Run) -> Any:
    """The run's world at the newest releases, for `show`."""
    return Checked(run).newest
