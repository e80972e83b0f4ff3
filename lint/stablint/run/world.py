"""A run, and its facts under one choice of library releases. Explicit facts are the same everywhere; defaults and derived facts are not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Mapping as Table

from stablint.base.light import Any, NamedTuple
from stablint.run.fact import ABSENT, OPEN, PRESUMED, Default, Derived, Explicit, Fact, Place, Supplied, is_unknown
from stablint.run.framework import Framework, fills_in
from stablint.run.framework import framework as record_of
from stablint.run.releases.allowed import Releases
from stablint.run.releases.fields import FieldSpans, profile
from stablint.run.releases.pep440 import Key, release_key
from stablint.syntax.tree import Unknown

ChangePoints = frozenset[tuple[str, tuple[int, ...]]]
NO_CHANGE_POINTS: ChangePoints = frozenset()
ANY = "."  # behind a namespace: all that may be said in it
SUPPLIABLE = ("target.", "model.", "versions.")  # what --gpu, --model and --with could still say
# What is asked of a model when it is loaded; everything else about it is its nature, which absence says nothing about.
ASKED = frozenset(
    f"model.{name}"
    for name in [
        "name_or_path",
        "dtype",
        "device_map",
        "attn_implementation",
        "trust_remote_code",
        "use_cache",
        "revision",
        "max_seq_length",
        "rope_scaling",
        "low_cpu_mem_usage",
        "max_memory",
        "offload_folder",
        "output_router_logits",
        "infer_dtype",
        "fast_inference",
    ]
)

# What only a program does with a model: no name and no folder tells it.
_OF_PROGRAMS = frozenset(
    f"model.{name}"
    for name in (
        "full_finetuning",
        "partly_frozen",
        "prepared_with_adapter",
        "loaded_by_program",
        "resize_vocab",
        "added_tokens",
        "shift_attn",
        "distributed_config",
    )
)


class Run(NamedTuple):
    """Everything the files and options say about one run. `explicit` is settled: one fact a name."""

    id: str
    files: tuple[str, ...]
    dialects: tuple[str, ...]
    anchor: Place
    explicit: Table[str, Fact]
    supplied: Table[str, Fact]  # target.*, model.* and --set
    scopes: Table[str, str]
    classes: Table[str, tuple[str, ...]]
    releases: Releases
    framework: str
    target: str = ""  # as the user named it
    notes: tuple[str, ...] = ()
    linked: frozenset[str] = frozenset()  # roles of the files that joined: deepspeed, accelerate …
    said: Table[str, str] = {}  # library → the option or file that says its release
    listed: frozenset[str] = (
        frozenset()
    )  # libraries whose release a list beside the run says, which it need not be installed by
    edited: frozenset[str] = frozenset()  # files that a program may change before it hands them on
    by_spelling: bool = (
        False  # nothing says a release: what is presumed of them follows from the names that the run uses
    )
    unseen: bool = False  # a program is handed settings that is not seen to give them to a library


_OUTSIDE = Unknown("it may be set outside the files at hand")
_SHARED: dict[
    tuple[Any, ...], Fact
] = {}  # defaults that depend on nothing but class and release, for all runs of the process
_TOKENS: dict[tuple[tuple[str, Key], ...], int] = {}


class Answer(NamedTuple):
    """What a derived fact comes to, and the facts that decided it, the deciding one first."""

    value: Any
    because: tuple[str, ...] = ()
    presumed: bool = False  # an assumption of ours beyond what absence means


Rule = Callable[["World"], Answer]


class Facts:
    """What conditions, messages and remedies ask for facts: a run at one choice of releases (World), or one statement of it as `item`, with all else
    asked of the world behind it (hazard/setting_subject.py)."""

    run: Run
    framework: Framework
    choice: Table[str, Key]
    facts: dict[str, Fact]  # those that were asked for

    def fact(self, name: str) -> Fact:
        raise NotImplementedError

    def value(self, name: str) -> Any:
        return self.fact(name).value

    def scope(self, name: str) -> str:
        """What absence means in the namespace of the fact: CLOSED, OPEN or PRESUMED."""
        raise NotImplementedError

    def null_is_absence(self, name: str) -> bool | None:
        """Does what reads it make of an explicit null what it makes of silence?"""
        raise NotImplementedError

    def needs(self, name: str) -> frozenset[str] | None:
        """What an unknown fact waits for: `{"target.gpu"}`; None where no option could supply it."""
        raise NotImplementedError

    def rests_on(self, names: list[str]) -> set[str]:
        """Every fact that these facts were worked out from, and themselves."""
        raise NotImplementedError

    def item_change_points(self) -> ChangePoints:
        """The releases at which an answer about `item` changes; none where nothing is asked about a statement."""
        return NO_CHANGE_POINTS

    def item_unknown(self) -> bool | None:
        """Would what reads it refuse or drop the key of `item`?"""
        return None

    def item_choices(self) -> list[Any] | None:
        """The values that `item` may have, where they are a closed list."""
        return None


class World(Facts):
    """Facts by name, worked out when they are asked for. `choice` is one release a library."""

    def __init__(self, run: Run, rules: Table[str, Rule], choice: Table[str, Key], newest: World | None = None) -> None:
        """`newest` is the world of the same run from which facts are taken that no release between the two changes."""
        self.run = run
        self._newest = newest
        self._kin: dict[str, list[World]] = newest._kin if newest is not None else {}
        self.choice = choice
        self._token = _TOKENS.setdefault(tuple(choice.items()), len(_TOKENS))
        self._rules = rules
        self.framework: Framework = record_of(run.framework)
        self._fills_in = not self.framework.library  # where the config classes' own defaults hold
        self.facts: dict[str, Fact] = {}  # those that were asked for
        self._needs: dict[str, frozenset[str] | None] = {}
        self._reads: dict[str, set[str]] = {}
        self._reading: list[tuple[set[str], str]] = []

    def stated(self, name: str) -> Any:
        """The value where somebody wrote it down, else ABSENT."""
        return self.value(name) if self.is_stated(name) else ABSENT

    def is_stated(self, name: str) -> bool:
        self._note(name)
        return name in self.run.explicit

    def is_said(self, name: str) -> bool:
        """The same, of what nothing is presumed where nobody says it: the answer rests on it all the same."""
        self._rest_on(name)
        return name in self.run.explicit

    def said_in(self, head: str) -> list[str]:
        """Every setting of a namespace that somebody wrote down; the answer rests on all that may be said there (`fsdp.`)."""
        self._rest_on(f"{head}{ANY}")
        return [name for name in self.run.explicit if name.startswith(f"{head}.")]

    def _rest_on(self, name: str) -> None:
        if self._reading:
            self._reads.setdefault(self._reading[-1][1], set()).add(name)

    def fact(self, name: str) -> Fact:
        if self._reading:
            self._reading[-1][0].add(name)
        found = self.facts.get(name)
        if found is None:
            found = self.facts[name] = self._find(name)
        return found

    def _note(self, name: str) -> None:
        if self._reading:
            self._reading[-1][0].add(name)

    def rests_on(self, names: list[str]) -> set[str]:
        """Every fact that these facts were worked out from, and themselves."""
        found: set[str] = set()
        pending = list(names)
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                if not name.endswith(ANY):
                    self.fact(name)
                pending += self._reads.get(name, ())
                if name.startswith("model."):  # its nature is looked up by its name, known or not
                    pending.append("model.name_or_path")
        return found

    def is_alone(self, name: str) -> bool:
        """Was the fact, no release of which another one changes, worked out from no other?"""
        return name not in self._reads and not name.startswith("model.") and not self.fact(name).change_points

    def reads(self) -> Iterable[tuple[str, set[str]]]:
        """Every fact that was worked out from others, with these."""
        return self._reads.items()

    def depends(self, name: str, other: str) -> Fact:
        """The other fact, on which the default of this one rests: TRL's `bf16` on `fp16`."""
        self._reads.setdefault(name, set()).add(other)
        return self.fact(other)

    def at_least(self, library: str, version: str) -> bool | None:
        """Is the chosen release this one or a later one? None where nothing is known of the library's releases."""
        chosen, wanted = self.choice.get(library), release_key(version)
        name = f"versions.{library} >= {version}"
        self._note(name)
        if chosen is None:
            self.facts[name] = Fact(name, Unknown(f"the release of {library} is not known"), None)
            self._needs[name] = frozenset({f"versions.{library}"})
            return None
        self.facts[name] = Fact(name, chosen >= wanted, None, change_points=frozenset({(library, wanted)}))
        return chosen >= wanted

    def _find(self, name: str) -> Fact:
        found = self.run.explicit.get(name)
        if found is not None:
            return found
        supplied = self.run.supplied.get(name)
        if supplied is not None:
            return supplied
        if self._newest is not None and (alike := self._alike(name, self._newest)) is not None:
            return alike
        rule = self._rules.get(name)
        if rule is not None:
            return self._derive(name, rule)
        if name.startswith(("target.", "model.")) and name not in ASKED:
            return Fact(
                name, Unknown("the GPU is not named" if name.startswith("target.") else "the model is not known"), None
            )
        if name.startswith("versions."):
            return self._version(name)
        if not self._reading:
            return self.default(name)
        self._reading.append((set(), name))  # what a default rests on is read by no rule, whoever asks for it first
        try:
            return self.default(name)
        finally:
            self._reading.pop()

    def _alike(self, name: str, newest: World) -> Fact | None:
        """The fact as another world has it, where none of its change points lies between the two."""
        if name.startswith("versions."):
            return None
        kin = self._kin.setdefault(name, [newest])
        for world in kin:
            fact = world.facts.get(name)
            if fact is None and world is newest and not newest._reading:
                fact = newest.fact(name)
            if fact is not None and all(
                (world.choice[library] >= key) is (self.choice[library] >= key)
                for library, key in fact.change_points
                if library in self.choice
            ):
                if name in world._needs:
                    self._needs[name] = world._needs[name]
                return fact
        kin.append(self)
        return None

    def _version(self, name: str) -> Fact:
        library = name.removeprefix("versions.")
        releases = self.run.releases
        if releases.stated(library):
            said = self.run.said.get(library, f"--with {library}")
            return Fact(name, releases.text(self.choice[library]), Supplied(said, not releases.is_exact(library)))
        return Fact(name, Unknown(f"no release of {library} is stated"), None)

    def _derive(self, name: str, rule: Rule) -> Fact:
        if any(name == reading for _, reading in self._reading):
            return Fact(name, Unknown("it depends on itself"), None)
        read: set[str] = set()
        self._reading.append((read, name))
        try:
            try:
                answer = rule(self)
            except ArithmeticError:  # 1e400 is infinite, and no whole number; a huge one is no float
                answer = Answer(Unknown("the values that it follows from are no numbers to calculate with"), ())
            # Still within the rule: what it only asked about being stated is not read by who asks for the rule.
            facts = [self.facts.get(n) or self.fact(n) for n in [*read] if n != name]
        finally:
            self._reading.pop()
        self._reads.setdefault(name, set()).update(read)
        change_points = NO_CHANGE_POINTS.union(*(f.change_points for f in facts)) if facts else NO_CHANGE_POINTS
        deciding = [f for f in facts if f.name in answer.because] or facts
        if is_unknown(answer.value):
            self._needs[name] = self._needed(f for f in facts)
        return Fact(
            name,
            answer.value,
            Derived(answer.because),
            (),
            change_points,
            answer.presumed or any(f.presumed for f in deciding),
        )

    def _needed(self, facts: Any) -> frozenset[str] | None:
        """Which suppliable facts would make it known; None where something else is unknown as well."""
        needs: set[str] = set()
        for fact in facts:
            if is_unknown(fact.value):
                more = self.needs(fact.name)
                if more is None:
                    return None
                needs |= more
        return frozenset(needs)

    def needs(self, name: str) -> frozenset[str] | None:
        """What an unknown fact waits for: `{"target.gpu"}`; None where no option could supply it."""
        if name in self._needs:
            return self._needs[name]
        stated = self.run.explicit.get(name)
        if stated is not None and is_unknown(stated.value) and stated.value.depends is not None:
            return frozenset({"target.gpu"})
        if name.startswith(SUPPLIABLE) and name not in self.run.explicit and name not in ASKED | _OF_PROGRAMS:
            return frozenset(
                {"target.gpu" if name.startswith("target.") else "model" if name.startswith("model.") else name}
            )
        return None

    def scope(self, name: str) -> str:
        head, _, rest = name.partition(".")
        if "." in rest and self._is_within_unknown(name):
            return OPEN
        return self.run.scopes.get(head, OPEN)

    def _is_within_unknown(self, name: str) -> bool:
        """Whether the mapping that would hold it is not known: `lr_scheduler_kwargs=kwargs`."""
        above = name.rpartition(".")[0]
        while "." in above:
            fact = self.run.explicit.get(above)
            if fact is not None and is_unknown(fact.value):
                return True
            above = above.rpartition(".")[0]
        return False

    def default(self, name: str) -> Fact:
        """The default of the config class at the chosen release, or what absence means in this namespace."""
        head, _, key = name.partition(".")
        scope = self.scope(name)
        if scope == OPEN:
            return Fact(name, _OUTSIDE, None)
        if self._fills_in and (own := fills_in(self, name)) is not None:
            return own
        classes = self.run.classes.get(head, ())
        shared = (name, scope, classes, self._token)
        found = _SHARED.get(shared)
        if found is None:
            found, shareable = self._default(name, head, key, classes, scope == PRESUMED)
            if shareable:
                _SHARED[shared] = found
        return found

    def _default(self, name: str, head: str, key: str, classes: tuple[str, ...], presumed: bool) -> tuple[Fact, bool]:
        change_points: ChangePoints = NO_CHANGE_POINTS
        doubted = False
        for library_class in classes:
            doubtful = library_class.startswith("?")
            known = profile(library_class.removeprefix("?"), key, head)
            if known is None:
                continue
            if doubtful:
                doubted = True
                continue
            change_points |= known.change_points
            release = self.choice.get(known.library)
            spans = known.at(release) if release is not None else None
            if release is None or spans is None:
                continue
            _, value = spans.default_at(release)
            if is_unknown(value) and (steady := known.steady(release)) is not None:
                value, presumed = steady.value, True
            if doubted:
                return Fact(
                    name,
                    Unknown("its default depends on which trainer reads the file"),
                    None,
                    change_points=change_points,
                ), True
            if value is None and (settled := spans.settled_at(release)) is not None:
                return self._settle(name, spans, settled, change_points, presumed, release), False
            if is_unknown(value):
                return Fact(name, value, None, change_points=change_points), True
            if value is ABSENT:
                return Fact(name, Unknown("it must be given"), None, change_points=change_points), True
            return Fact(
                name,
                value,
                Default(known.library, spans.name, spans.releases_with(release), presumed),
                change_points=change_points,
                presumed=presumed,
            ), True
        return Fact(name, ABSENT, None, change_points=change_points, presumed=presumed), True

    def null_is_absence(self, name: str) -> bool | None:
        """Does what reads it make of an explicit null what it makes of silence? It does where it leaves nulls out, or where null is its own
        default; elsewhere null is a value, of which nothing is known."""
        head, _, key = name.partition(".")
        classes = self.run.classes.get(head, ())
        if self.framework.drops_nulls:
            return True
        if self.run.scopes.get(head, OPEN) != OPEN:
            silence = self.default(name).value
        else:  # beside what another may set this is stated: only the class counts
            silence = self._default(name, head, key, classes, False)[0].value
        return True if silence is None else None

    def _settle(
        self,
        name: str,
        spans: FieldSpans,
        settled: Table[str, Any],
        change_points: ChangePoints,
        presumed: bool,
        release: Key,
    ) -> Fact:
        """What the class's own code makes of a field that is left out: TRL turns bf16 on unless fp16 is set."""
        library = spans.library
        origin = Default(library, spans.name, spans.releases_with(release), presumed)
        if "value" in settled:
            return Fact(name, settled["value"], origin, change_points=change_points, presumed=presumed)
        other = settled.get("field") or settled.get("not")
        if other is None:
            return Fact(
                name, Unknown(f"the library computes it: {settled.get('expr', '')}"), None, change_points=change_points
            )
        source = self.depends(name, f"{name.partition('.')[0]}.{other}")
        change_points |= source.change_points
        if is_unknown(source.value):
            return Fact(name, source.value, None, change_points=change_points)
        value = source.value if "field" in settled else not source.value
        return Fact(name, value, origin, change_points=change_points, presumed=presumed or source.presumed)


def leaves(world: Facts, name: str, depth: int = 0) -> Iterator[Fact]:
    """The explicit facts at the end of a fact's provenance, deciding ones first."""
    fact = world.fact(name)
    if isinstance(fact.origin, Explicit):
        yield fact
    elif isinstance(fact.origin, Derived) and depth < 8:
        for source in fact.origin.facts:
            if source != name:
                yield from leaves(world, source, depth + 1)


def defaults(world: Facts, name: str, depth: int = 0) -> Iterator[Fact]:
    """The library's defaults at the end of a derived fact's provenance, where no text states any of it."""
    fact = world.fact(name)
    if isinstance(fact.origin, Default) and depth:
        yield fact
    elif isinstance(fact.origin, Derived) and depth < 8 and not any(leaves(world, name)):
        for source in fact.origin.facts:
            if source != name:
                yield from defaults(world, source, depth + 1)
