"""Which settings count for a file, and what they come to under the command line or the library call.

Every file is under the nearest settings above it, whole, as are the runs that begin in it and the findings that stand in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

from stablint.assemble.asked import Options
from stablint.base.language import gettext, told
from stablint.base.light import TYPE_CHECKING, Any, NamedTuple
from stablint.config import house as house_rules
from stablint.config import settings as files
from stablint.config import trust
from stablint.config.options import Wrong, options, unlisted
from stablint.config.selection import Selection, all_known, chosen, listed, trusted
from stablint.config.settings import Settings
from stablint.files.discover import Roots
from stablint.files.globs import matches
from stablint.hazard.model import Hazard, load
from stablint.hazard.rules import Rules
from stablint.policy import Accepted, Policies, Policy
from stablint.report import plain
from stablint.secrets import exit
from stablint.suppressions import baseline as baselines
from stablint.syntax.tree import Text

if TYPE_CHECKING:
    import argparse

    from stablint.config.house import House
    from stablint.config.options import Given

AUTO = "auto"
Row = dict[str, Any]


class Asked(NamedTuple):
    """What the command line or the library call says about rules and findings, over all settings."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    min_evidence: str | None = None
    fail_on: str | None = None
    baseline: str | None = None
    write_baseline: bool = False  # what the file holds does not count then
    config: str | None = None  # a settings file for everything that is checked
    isolated: bool = False
    targets: bool = False  # the GPUs are named: those of the settings do not count
    allow_outside: bool = False  # files outside of the repository may be read
    machine: bool = False  # this machine is asked for its GPUs in any case, and before the settings


class Resolver(Policies):
    """The policy of each file of a project. Settings are read once, and only those that a checked file is under.

    `tell` takes a notice of something that the settings of a repository ask for and that only the user can allow, each once.
    """

    def __init__(
        self, asked: Asked, base: str, paths: Iterable[str] = (), tell: Callable[[str], None] | None = None
    ) -> None:
        self.given, self.base = asked, base
        self._roots = Roots(paths, base)
        self._tell = tell or _to_stderr
        self._told_of: set[str] = set()
        self._trusted: dict[str, bool] = {}
        self._folders: dict[str, str | None] = {}
        self._settings: dict[str, Settings] = {}
        self._whole: dict[str, Policy] = {}  # of folders all of whose files are under the same
        self._policies: dict[tuple[str, tuple[int, ...]], Policy] = {}
        self._houses: dict[tuple[str, ...], House] = {}
        self._baselines: dict[str, dict[tuple[str, str, str], int]] = {}

    def at(self, path: str) -> Policy:
        """Raises Wrong for settings that cannot be used."""
        folder = os.path.dirname(path)
        known = self._whole.get(folder)
        if known is not None:
            return known
        settings = self.settings_of(folder)
        if settings is None or not settings.get("per-path"):
            self._whole[folder] = self._policies.get(_key(settings, ())) or self._keep(settings, ())
            return self._whole[folder]
        rows = settings.get("per-path")
        which = tuple(n for n, row in enumerate(rows) if matches(path, settings.folder, tuple(row["paths"])))
        return self._policies.get(_key(settings, which)) or self._keep(settings, which)

    def asked(self) -> tuple[Policy, ...]:
        return tuple(self._policies.values())

    def texts(self) -> dict[str, Any]:
        """The texts of the hazards of the house, by id."""
        return {name: text for house in self._houses.values() for name, text in house.texts.items()}

    def broken(self) -> tuple[str, ...]:
        return tuple(line for house in self._houses.values() for line in house.broken)

    def houses(self) -> tuple[House, ...]:
        return tuple(self._houses.values())

    def check_words(self, paths: list[str]) -> None:
        """Raises Wrong for a word of `select` or `ignore` that means no rule, and for settings of these paths that cannot be used."""
        for path in paths:
            self.at(os.path.join(path, "") if os.path.isdir(path) else path)
        house = [hazard for house in self._houses.values() for hazard in house.hazards]
        words = [*self.given.select, *self.given.ignore]
        if words and not self.broken():  # of a file that cannot be read nobody knows what it is called
            all_known(words, (*load(), *house))

    def settings_of(self, folder: str) -> Settings | None:
        """Of a folder: those of `--config`, or the nearest above it that are not above the repository."""
        if self.given.isolated:
            return None
        path = self.given.config
        if path is None:
            try:
                path = files.nearest(folder, self._folders)
            except files.BadSettings as error:
                raise Wrong(str(error)) from error
        elif not os.path.isfile(os.path.join(self.base, path)):
            if os.path.exists(path):
                raise Wrong(gettext("{path}: this is no file").format(path=f"--config {path}"))
            raise Wrong(gettext("--config {path}: no such file").format(path=path))
        if path is None:
            return None
        if path not in self._settings:
            full = os.path.join(self.base, path)
            try:
                root = None if self.given.allow_outside or self._trusts(full) else self._roots.of(full)
                self._settings[path] = files.read(full, self.base, root)
                exit.learn_names(name for _, name in files.named(self._settings[path].values))
            except files.BadSettings as error:
                raise Wrong(str(error)) from error
        return self._settings[path]

    def _trusts(self, path: str) -> bool:
        """Whether the user has named this settings file, or trusts the folder that it lies in."""
        if path not in self._trusted:
            named = self.given.config is not None and path == os.path.join(self.base, self.given.config)
            try:
                self._trusted[path] = named or trust.trusts(path, trust.user_file(), self._roots.of(path))
            except files.BadSettings as error:
                raise Wrong(str(error)) from error
        return self._trusted[path]

    def _refuse(self, settings: Settings, where: tuple[str | int, ...], asks: str, option: str) -> None:
        notice = (
            f"{settings.name}:{settings.line(*where)}: {asks}: not obeyed, since the settings come with the repository; "
            f"pass {option}, or trust the folder in your own settings (docs/settings.md)"
        )
        if notice not in self._told_of:
            self._told_of.add(notice)
            self._tell(notice)

    def _keep(self, settings: Settings | None, which: tuple[int, ...]) -> Policy:
        policy = self._bare() if settings is None else self._made(settings, which)
        self._policies[_key(settings, which)] = policy
        return policy

    def _bare(self) -> Policy:
        asked = self.given
        wanted = Selection(asked.select, asked.ignore, asked.min_evidence or "reported")
        return self._told(
            Policy(rules=Rules(partial(chosen, wanted=wanted)), fail_on=asked.fail_on or "error"),
            asked.baseline,
        )

    def _made(self, settings: Settings, which: tuple[int, ...]) -> Policy:
        rows: list[Row] = [settings.get("per-path")[number] for number in which]
        policy = Policy(
            settings.folder, tuple(_accepted(settings, number, row) for number, row in enumerate(settings.get("accept", []))),
            tuple(settings.get("extra-keys", [])), tuple(settings.get("exclude", [])), settings.get("require-reasons", False),
            fail_on=self.given.fail_on or settings.get("fail-on", "error"), allow_outside=self._may_leave(settings), pages=settings.get("pages") or "",
            rules=self._rules(settings, rows),
        )  # fmt: skip
        baseline, said = self.given.baseline, ""
        if baseline is None and settings.get("baseline"):
            said = settings.place("baseline")
            baseline = settings.resolve(settings.get("baseline"))
            root = self._roots.of(settings.path)
            if self.given.write_baseline and not self._trusts(settings.path) and not files.within(baseline, root):
                raise Wrong(
                    gettext(
                        "{place}: this baseline lies outside of the repository: name it yourself, with --baseline FILE, to have it written"
                    ).format(place=said)
                )
        return self._told(self._aimed(policy, settings, which), baseline, said)

    def _may_leave(self, settings: Settings) -> bool:
        if not settings.get("allow-outside") or self.given.allow_outside:
            return self.given.allow_outside
        if self._trusts(settings.path):
            return True
        self._refuse(settings, ("allow-outside",), "`allow-outside`", "--allow-outside")
        return False

    def _told(self, policy: Policy, baseline: str | None, said: str = "") -> Policy:
        """With what a baseline accepts; `said`: where a settings file names it."""
        if baseline is None:
            return policy
        path = os.path.normpath(os.path.join(self.base, baseline))
        policy = policy._replace(baseline_file=path)
        if self.given.write_baseline:
            return policy
        try:
            if path not in self._baselines:
                self._baselines[path] = baselines.read(path, files.shown_path(path, self.base))
        except baselines.BadBaseline as error:
            why = told(str(error))
            if not said:
                raise Wrong(why) from error
            if not os.path.lexists(path):  # the error says how it is made
                raise Wrong(f"{said}: `baseline`: {why}") from error
            raise Wrong(
                gettext("{place}: `baseline`: {error}; name another file there, or take the setting out").format(
                    place=said, error=why
                )
            ) from error
        return policy._replace(baseline=self._baselines[path])

    def _house(self, settings: Settings) -> tuple[Hazard, ...]:
        """The hazards of the house that the settings name."""
        own = settings.get("house", {})
        if not (settings.get("hazards") or own.get("packages")):
            return ()
        said = dict.fromkeys(map(settings.resolve, settings.get("hazards", ())), settings.place("hazards"))
        place = settings.place("house", "packages")
        said |= {house_rules.folder_of(package, place): place for package in own.get("packages", ())}
        folders = tuple(said)
        if folders not in self._houses:
            self._houses[folders] = house_rules.house(list(folders), own.get("prefix"), said)
        return self._houses[folders].hazards

    def _rules(self, settings: Settings, rows: list[Row]) -> Collection[Hazard]:
        """The command line's words replace those of the settings; the rows of `per-path` are laid over both in their order."""
        asked, house = self.given, self._house(settings)
        own = tuple(settings.get("ignore", ()))
        if not self.broken():
            for where, words in _rule_words(settings):
                all_known(words, (*load(), *house), f"{settings.place(*where)}: ")
        select = asked.select or tuple(
            next((row["select"] for row in reversed(rows) if "select" in row), settings.get("select", ()))
        )
        ignore = asked.ignore if asked.select else (*asked.ignore, *own)
        ignore += tuple(word for row in rows for word in row.get("ignore", ()))
        grade = asked.min_evidence or settings.get("min-evidence", "reported")
        wanted = [Selection(select, ignore, grade, settings.get("severity", {}))]
        wanted += [Selection(select, (), grade, row["severity"]) for row in rows if row.get("severity")]
        fixes = settings.get("fix", {})
        promote, demote = fixes.get("promote", ()), fixes.get("demote", ())

        def choose(known: Iterable[Hazard]) -> tuple[Hazard, ...]:
            rules = tuple(known)
            for one in wanted:
                rules = chosen(rules, one)
            return trusted(rules, promote, demote) if promote or demote else rules

        return choose((*load(), *house)) if house else Rules(choose)

    def _aimed(self, policy: Policy, settings: Settings, which: tuple[int, ...]) -> Policy:
        """Targets, model and releases. What the command line says is in the options already, and wins there."""
        rows = [(("per-path", number), settings.get("per-path")[number]) for number in which]
        told: list[tuple[tuple[str | int, ...], Row]] = [((), settings.values), *rows]
        place, targets = next(((where, row["target"]) for where, row in reversed(told) if "target" in row), ((), []))
        versions: dict[str, tuple[str, tuple[str | int, ...]]] = {}  # and where each is said
        for where, row in told:
            versions |= {
                package: (specifier, (*where, "versions", package))
                for package, specifier in row.get("versions", {}).items()
            }
        gpus: list[tuple[str, Any]] = []
        for number, row in enumerate(() if self.given.targets else targets):
            if row["gpu"] == AUTO and not self._trusts(settings.path):
                if not self.given.machine:
                    self._refuse(settings, (*place, "target", number, "gpu"), f'`gpu = "{AUTO}"`', f"--gpu {AUTO}")
                continue
            name = f"{row['gpu']} x{row['count']}" if row.get("count", 1) != 1 else row["gpu"]
            memory = row.get("memory")
            gpus += self._said(
                settings,
                (*place, "target", number, "gpu"),
                gpus=(name,),
                gpu_memory=None if memory is None else f"{memory:g}",
            ).gpus
        releases = [
            self._said(settings, where, releases=(f"{package}{specifier}",)).releases[0]
            for package, (specifier, where) in versions.items()
        ]
        said = {library: f"[versions] in {settings.name}" for library, _ in releases}
        said["gpu"] = f"[[target]] in {settings.name}"
        return policy._replace(gpus=tuple(gpus), model=self._model(settings), releases=tuple(releases), said=said)

    def _said(
        self,
        settings: Settings,
        where: tuple[str | int, ...],
        *,
        gpus: tuple[str, ...] = (),
        releases: tuple[str, ...] = (),
        gpu_memory: str | None = None,
    ) -> Options:
        """One target or release of the settings. Raises Wrong with its line."""
        folders = [settings.folder, *self._roots.named]
        try:
            return options(
                gpus, None, releases, folders=folders, quote=exit.quoted, release_word="", gpu_memory=gpu_memory
            )
        except Wrong as error:
            raise Wrong(f"{settings.place(*where)}: {error}") from error

    def _model(self, settings: Settings) -> str | None:
        """A hub id, or a folder, which is meant from the folder of the settings."""
        model: str | None = settings.get("model")
        if model is None:
            return None
        meant = os.path.expanduser(model)
        # `link/../x` is not `x`: a name leads where the system says, and not only where it leads when it is made shorter.
        readings = (settings.resolve(model), os.path.join(settings.folder, meant), os.path.join(self.base, meant))
        folders = [path for path in readings if os.path.isdir(path)]
        read = [*folders, *filter(os.path.lexists, (os.path.join(path, "config.json") for path in folders))]
        own = self.given.allow_outside or self._trusts(settings.path)
        root = self._roots.of(settings.path)
        if own or all(files.within(path, root) for path in read):
            return folders[0] if folders else model
        raise Wrong(
            gettext("{name}:{line}: `model`: {why}").format(
                name=settings.name, line=settings.line("model"), why=files.outside("leads")
            )
        )


def _rule_words(settings: Settings) -> Iterator[tuple[tuple[str | int, ...], list[str]]]:
    """The words of the settings that stand for rules, by where they are said."""
    paths: list[Row] = settings.get("per-path", [])
    rows: list[tuple[tuple[str | int, ...], Row]] = [((), settings.values), *((("per-path", n), row) for n, row in enumerate(paths))]  # fmt: skip
    for where, row in rows:
        yield from (((*where, key), row[key]) for key in ("select", "ignore") if row.get(key))
        yield from (((*where, "severity", word), [word]) for word in row.get("severity", {}))
    yield from ((("fix", key), words) for key, words in settings.get("fix", {}).items() if words)


def _key(settings: Settings | None, which: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    return (settings.path if settings is not None else "", which)


def options_of(given: Given | argparse.Namespace, extra: list[str], paths: list[str]) -> Options:
    """Those of a command line, with the settings of the project. Raises Wrong."""
    base = os.getcwd()
    named = [os.path.normpath(os.path.join(base, path)) for path in paths]
    told = options(
        given.gpu, given.model, given.releases, given.sets, extra, given.dialect,
        os.path.abspath(os.sep) if given.allow_outside else None, Roots(named, base).named, gpu_memory=given.gpu_memory,
    )  # fmt: skip
    for notice in unlisted(told.releases):
        _to_stderr(notice)
    asked = Asked(
        listed(getattr(given, "select", "")), listed(getattr(given, "ignore", "")), getattr(given, "min_evidence", None),
        getattr(given, "fail_on", None), getattr(given, "baseline", None), getattr(given, "write_baseline", False), given.config,
        given.isolated, bool(told.gpus), given.allow_outside, getattr(given, "asks_machine", False),
    )  # fmt: skip
    resolver = Resolver(asked, base, paths)
    resolver.check_words(named)
    return told._replace(policies=resolver)


def _to_stderr(notice: str) -> None:
    exit.tell(plain.plain(exit.masked(notice)))


def _accepted(settings: Settings, number: int, row: Row) -> Accepted:
    """A table `[[accept]]`, with its place in the settings file: an unused one is reported there."""
    line = settings.line("accept", number)
    start = sum(len(one) for one in settings.text.splitlines(keepends=True)[: line - 1])
    text = Text(settings.path, settings.name, settings.text)
    return Accepted(row.get("file"), row.get("setting"), tuple(row["rules"]), row.get("reason", ""), text, start)
