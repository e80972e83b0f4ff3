"""A run, and its facts under one choice of library releases. Explicit facts are the same everywhere; defaults and derived facts are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping as Table
from typing import Any, NamedTuple

from stablint.run.fact import ABSENT, OPEN, PRESUMED, Default, Derived, Fact, Place, Supplied, is_unknown
from stablint.run.releases import Releases, field, release_key
from stablint.source.tree import Unknown

Turns = frozenset[tuple[str, tuple[int, ...]]]
NO_TURNS: Turns = frozenset()
SUPPLIABLE = ("target.", "model.", "versions.")  # what --gpu, --model and --with could still say
# What is asked of a model when it is loaded; everything else about it is its nature, which absence says nothing about.
ASKED = frozenset(
    f"model.{name}" for name in "name_or_path dtype device_map attn_implementation trust_remote_code use_cache revision max_seq_length rope_scaling "
    "low_cpu_mem_usage max_memory offload_folder output_router_logits infer_dtype".split()
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


class Answer(NamedTuple):
    """What a derived fact comes to, and the facts that decided it, the deciding one first."""

    value: Any
    because: tuple[str, ...] = ()
    presumed: bool = False  # an assumption of ours beyond what absence means


Rule = Callable[["World"], Answer]


class World:
    """Facts by name, worked out when they are asked for. `choice` is one release a library."""

    def __init__(self, run: Run, rules: Table[str, Rule], resolved: Table[str, Rule], choice: Table[str, tuple[int, ...]]) -> None:
        self.run = run
        self.choice = choice
        self._rules = rules
        self._resolved = resolved
        self._facts: dict[str, Fact] = {}
        self._needs: dict[str, frozenset[str] | None] = {}
        self._reading: list[tuple[set[str], str]] = []

    def value(self, name: str) -> Any:
        return self.fact(name).value

    def stated(self, name: str) -> Any:
        """The value where somebody wrote it down, else ABSENT."""
        return self.value(name) if self.is_stated(name) else ABSENT

    def is_stated(self, name: str) -> bool:
        self._note(name)
        return name in self.run.explicit

    def fact(self, name: str) -> Fact:
        if self._reading:
            self._note(name)
        found = self._facts.get(name)
        if found is None:
            found = self._facts[name] = self._find(name)
        return found

    def _note(self, name: str) -> None:
        if self._reading:
            self._reading[-1][0].add(name)

    def own_default(self, name: str) -> Any:
        """The class's written default, where a rule of ours says what the code makes of it afterwards."""
        key = name + " (as written)"
        self._note(key)
        if key not in self._facts:
            self._facts[key] = self.default(name)
        return self._facts[key].value

    def at_least(self, library: str, version: str) -> bool | None:
        """Is the chosen release this one or a later one? None where nothing is known of the library's releases."""
        chosen, wanted = self.choice.get(library), release_key(version)
        name = f"versions.{library} >= {version}"
        self._note(name)
        if chosen is None:
            self._facts[name] = Fact(name, Unknown(f"the release of {library} is not known"), None)
            self._needs[name] = frozenset({f"versions.{library}"})
            return None
        self._facts[name] = Fact(name, chosen >= wanted, None, turns=frozenset({(library, wanted)}))
        return chosen >= wanted

    def _find(self, name: str) -> Fact:
        found = self.run.explicit.get(name)
        if found is not None and not (found.value is None and name in self._resolved):
            return found
        supplied = self.run.supplied.get(name)
        if supplied is not None:
            return supplied
        rule = self._rules.get(name) or self._resolved.get(name)
        if rule is not None:
            return self._derive(name, rule)
        if name.startswith(("target.", "model.")) and name not in ASKED:
            return Fact(name, Unknown("the GPU is not named" if name.startswith("target.") else "the model is not known"), None)
        if name.startswith("versions."):
            return self._version(name)
        return self.default(name)

    def _version(self, name: str) -> Fact:
        library = name.removeprefix("versions.")
        releases = self.run.releases
        if releases.stated(library):
            return Fact(name, releases.text(self.choice[library]), Supplied(f"--with {library}"))
        return Fact(name, Unknown(f"no release of {library} is stated"), None)

    def _derive(self, name: str, rule: Rule) -> Fact:
        if any(name == reading for _, reading in self._reading):
            return Fact(name, Unknown("it depends on itself"), None)
        self._reading.append((set(), name))
        try:
            answer = rule(self)
        finally:
            read, _ = self._reading.pop()
        facts = [self._facts[n] if n in self._facts else self.fact(n) for n in read if n != name]
        turns = NO_TURNS.union(*(f.turns for f in facts)) if facts else NO_TURNS
        deciding = [f for f in facts if f.name in answer.because] or facts
        if is_unknown(answer.value):
            self._needs[name] = self._needed(f for f in facts)
        return Fact(name, answer.value, Derived(answer.because), (), "", turns, answer.presumed or any(f.presumed for f in deciding))

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
        if name.startswith(SUPPLIABLE) and name not in self.run.explicit and name not in ASKED:
            return frozenset({"target.gpu" if name.startswith("target.") else "model" if name.startswith("model.") else name})
        return None

    def scope(self, name: str) -> str:
        head = name.partition(".")[0]
        return self.run.scopes.get(head, OPEN)

    def default(self, name: str) -> Fact:
        """The default of the config class at the chosen release, or what absence means in this namespace."""
        scope = self.scope(name)
        if scope == OPEN:
            return Fact(name, Unknown("it may be set outside the files at hand"), None)
        head, _, key = name.partition(".")
        presumed = scope == PRESUMED
        turns: Turns = NO_TURNS
        doubted = False
        for library_class in self.run.classes.get(head, ()):
            doubtful = library_class.startswith("?")
            library_class = library_class.removeprefix("?")
            spans = field(library_class, key)
            if spans is None:
                continue
            if doubtful:
                doubted = True
                continue
            library = library_class.partition(".")[0]
            turns |= frozenset((library, key_) for key_ in spans.turns)
            release = self.choice.get(library)
            found, value = spans.default_at(release) if release else (False, None)
            if not found:
                continue
            if doubted:
                return Fact(name, Unknown("its default depends on which trainer reads the file"), None, turns=turns)
            if isinstance(value, dict) and "expr" in value:
                return Fact(name, Unknown("its default is worked out at run time"), None, turns=turns)
            return Fact(name, value, Default(library, key, spans.releases_at(release), presumed), turns=turns, presumed=presumed)
        return Fact(name, ABSENT, None, turns=turns, presumed=presumed)
