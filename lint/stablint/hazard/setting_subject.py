"""`item`: one stated setting, seen against the config class that reads it. Answers come per release, as everything about a class does."""

from __future__ import annotations

from collections.abc import Callable

from stablint.base import knowledge
from stablint.base.light import Any
from stablint.hazard import hints
from stablint.run.fact import CLOSED, PRESUMED, Explicit, Fact
from stablint.run.releases.fields import FieldSpans, Rename, bases_at, class_exists_at, field, field_names, renamed
from stablint.run.releases.pep440 import Key, release_key
from stablint.run.releases.reader_keys import reader
from stablint.run.world import NO_CHANGE_POINTS, ChangePoints, Facts

# `--trust_remote_code`, `lora_r` …: a dialect's own table gave such a key its meaning; only fields of the class are seen against it.
_OF_CLASSES = ("training", "trainer", "lora", "quantization", "model")
# Fields that Unsloth adds to TRL's config classes (unsloth/models/rl.py, RL_CONFIG_CHANGES and max_seq_length).
# Names that programs without the library's arguments hardly give their own.
_OF_THE_LIBRARY = frozenset(
    [
        "per_device_train_batch_size", "per_device_eval_batch_size", "lr_scheduler_type", "save_strategy", "evaluation_strategy", "eval_strategy",
        "save_total_limit", "load_best_model_at_end", "logging_steps", "report_to", "do_train", "do_eval", "warmup_ratio", "overwrite_output_dir",
        "remove_unused_columns", "dataloader_num_workers", "gradient_checkpointing_kwargs", "ddp_find_unused_parameters",
    ]
)  # fmt: skip
# Two spellings of plain annotations, so that hazards name one.
_PLAIN_TYPES = {"int": "int", "float": "float", "bool": "bool", "str": "str", "list": "list", "dict": "dict"}


class SettingSubject(Facts):
    """One statement as `item`, a fact of its own. Everything else is asked of the world behind it."""

    def __init__(self, world: Facts, name: str) -> None:
        self._world = world
        self.run, self.framework, self.choice = world.run, world.framework, world.choice
        self.name = name
        self._fact = world.fact(name)
        origin = self._fact.origin
        self._origin = origin if isinstance(origin, Explicit) else None
        self._passed = self._origin is not None and self._origin.key is not None
        path = (self._origin.key or self._origin.place).path if self._origin is not None else ()
        self.spelled, owners = self._read_as(path or (name.rpartition(".")[2],))
        self._owners = owners
        self._doubtful = {
            owner.removeprefix("?")
            for several in self.run.classes.values()
            for owner in several
            if owner.startswith("?")
        }
        self._found = tuple((owner, spans) for owner in owners if (spans := field(owner, self.spelled)) is not None)
        self.facts = {"item": self._fact}  # and its words
        self._change_points: ChangePoints = NO_CHANGE_POINTS
        for _, spans in self._found:
            if spans.change_points:
                self._change_points |= frozenset([(spans.library, key) for key in spans.change_points])

    def fact(self, name: str) -> Fact:
        found = self.facts.get(name)
        if found is None:
            if not name.startswith("item."):
                return self._world.fact(name)
            found = self.facts[name] = Fact(
                name, self.word(name[5:]), self._fact.origin, change_points=self._change_points
            )
        return found

    def word(self, word: str) -> Any:
        """What `item.word` stands for."""
        return _WORDS[word](self)

    def scope(self, name: str) -> str:
        return self._world.scope(name)

    def null_is_absence(self, name: str) -> bool | None:
        return self._world.null_is_absence(name)

    def needs(self, name: str) -> frozenset[str] | None:
        return self._world.needs(name)

    def rests_on(self, names: list[str]) -> set[str]:
        return self._world.rests_on(names)

    def _read_as(self, path: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """The key as its class spells it, and the classes; none where a nested key or a dialect's own table decides."""
        head = self.name.partition(".")[0]
        if head == "deepspeed":
            at = path.index("deepspeed") + 1 if "deepspeed" in path else 0
            whole = self._origin is not None and (self._origin.layer == "deepspeed-file" or at > 0)
            # a short pydantic name (`max_live_parameters`) is looked up under the alias that the fact has
            return self.name.removeprefix("deepspeed.") if whole else ".".join(path[at:]), (
                "deepspeed.json",
            ) if whole else ()
        if head not in _OF_CLASSES or len(path) > 1:
            return path[-1], ()
        if self._origin is not None and self._origin.reader.startswith(":"):
            return path[-1], ()  # the program that is at hand declares it: no library's names and words hold for it
        return path[-1], tuple(owner.removeprefix("?") for owner in self.run.classes.get(head, ()))

    def release(self, library: str) -> Key | None:
        """None where it cannot be read: a commit, or a copy that the repository carries."""
        return None if self.run.releases.is_unread(library) else self.choice.get(library)

    def item_change_points(self) -> ChangePoints:
        return self._change_points

    def item_unknown(self) -> bool | None:
        """Would the class of the chosen release refuse the key, or drop it? A key that no release ever had counts only where
        nothing else could read it: in a call of the class, in DeepSpeed's own file."""
        if self._handed_on():
            return False
        if any(self.run.releases.is_unread(owner.partition(".")[0]) for owner in self._owners):
            return None
        if not self._found:
            return self._never_a_key() if self._owners else False
        if self._origin is not None and self._origin.reader and not self._in_its_call():
            return False
        if self._doubtful and all(owner in self._doubtful for owner, _ in self._found):
            return None  # which trainer reads the file is not known, and not all of them ever had it
        for _, spans in self._found:
            release = self.release(spans.library)
            # A class that has left the library, or moved within it, takes what it takes where it is now.
            if release is None or spans.exists_at(release) or not class_exists_at(spans.library_class, release):
                return False
            if self._inherited(spans.library_class, release):
                return False
        if self.scope(self.name) == PRESUMED and not any(owner.startswith("transformers.") for owner, _ in self._found):
            return None  # `max_seq_length` of somebody's own script is its own
        of_a_command = self.layer == "flags" and not self._passed and self.scope(self.name) != CLOSED
        if of_a_command and self._is_newer() and not self._among_the_librarys():
            return False  # a name that the library has only taken since is the program's own
        return True

    def _inherited(self, owner: str, release: Key) -> bool:
        """Has a class that the owner extends in that release the field? TRL's PPOConfig gave up `learning_rate` when it became TrainingArguments.
        Arguments of a trainer are its own: what its base takes, its `__init__` need not."""
        for base in bases_at(owner, release) if self.name.startswith("training.") else ():
            spans = field(base, self.spelled)
            own = self.release(spans.library) if spans is not None else None
            if spans is not None and own is not None and spans.exists_at(own):
                return True
        return False

    def newer_in(self) -> str | None:
        """The library of which a later release has the name, and the chosen one not yet."""
        return self._found[0][1].library if self._found and self._is_newer() else None

    def may_be_of_older(self) -> bool:
        """Does the range that was stated admit releases older than all that are read, which may have had the name? transformers' classes of
        arguments lost none of theirs from 4.0 to the oldest that counts (3.5.1, 4.5.1, 4.15.0, 4.22.2 and 4.28.1 were compared)."""
        library = self.word("library")
        return library is not None and library != "transformers" and self.run.releases.reaches_below(library)

    def _is_newer(self) -> bool:
        """Has no class the key yet in the chosen release?"""
        firsts = [(spans.since, self.release(spans.library)) for _, spans in self._found]
        return all(since is not None and release is not None and since > release for since, release in firsts)

    def _among_the_librarys(self) -> bool:
        """Do other settings of the same text have names that the library alone gives?"""
        document = self._origin.place.document if self._origin is not None else None
        keys = {
            one.origin.place.path[0]
            for one in self.run.explicit.values()
            if isinstance(one.origin, Explicit) and one.origin.place.document is document and one.origin.place.path
        }
        return len((keys - {self.spelled}) & _OF_THE_LIBRARY) >= 2

    def _handed_on(self) -> bool:
        """Does the framework take what the library took before, as Unsloth's trainers what TRL's took, or have an argument of its own where the
        library's is gone, as LLaMA-Factory's `overwrite_output_dir`?"""
        own = self.framework
        if own.hands_on_trainer_arguments:
            return self.name.startswith("trainer.")
        one = reader(own.arguments) if own.arguments else None
        if one is None or not self.name.startswith("training."):
            return False
        release = self.release(one.library)
        if release is None and self.run.releases.is_unread(one.library):
            return one.ever(self.spelled)  # a commit of the framework, which may have it as well
        stated = self.run.releases.stated(one.library)
        return release is not None and one.takes(self.spelled, release, stated) is True

    def _never_a_key(self) -> bool:
        if self._owners == ("deepspeed.json",):
            above = self.spelled.rpartition(".")[0]
            if not above:
                return True
            parent = field("deepspeed.json", above)
            release = self.release("deepspeed")
            return parent is not None and release is not None and "block" in parent.extra_at(release)
        if self.spelled in self.framework.takes:
            return False
        its_own = self._in_its_call() or (self.layer == "adapter-file" and not self.spelled.startswith("_"))
        return its_own and any(self.names(owner) for owner in self._owners)

    def _in_its_call(self) -> bool:
        """Is it a keyword of the class's own call? Other calls lend their keywords to facts of the same namespace, and other
        packages have a `TrainingArguments` of their own."""
        return self._in_call_of(self._owners)

    def _in_call_of(self, owners: tuple[str, ...]) -> bool:
        package, dot, word = (self._origin.reader if self._origin is not None else "").rpartition(".")
        package = package.partition(".")[0]
        return bool(word) and any(
            owner.rpartition(".")[2] == word and (not dot or owner.startswith(package + ".")) for owner in owners
        )

    def is_constructed(self) -> bool:
        """Does the call of a library's own class say it, in a release that is stated? What the constructor refuses there is refused for certain."""
        owners = self.run.classes.get(self.name.partition(".")[0], ())
        of_call = self.layer == "call" and self._in_call_of(owners)
        return of_call and all(self.run.releases.stated(owner.removeprefix("?").partition(".")[0]) for owner in owners)

    def item_choices(self) -> list[Any] | None:
        choices = self.spans(lambda spans, release: spans.choices_at(release))
        return list(choices) if choices else None

    def spans(self, ask: Callable[[FieldSpans, Key], Any]) -> Any:
        """The first answer of the classes, own class first, at the chosen releases."""
        for _, spans in self._found:
            release = self.release(spans.library)
            answer = ask(spans, release) if release is not None and spans.exists_at(release) else None
            if answer is not None:
                return answer
        return None

    def bound(self, words: tuple[str, ...]) -> Any:
        return self.spans(
            lambda spans, release: next(
                (spans.extra_at(release)[word] for word in words if word in spans.extra_at(release)), None
            )
        )

    def rename(self) -> Rename | None:
        """What became of the key, as far as the chosen release has gone: deprecated or without it."""
        if self._handed_on():
            return None
        for owner in self._owners:
            found = renamed(owner, self.spelled)
            release = self.release(owner.partition(".")[0])
            if found is None or release is None:
                continue
            since = [key for key in (found.deprecated_in, found.removed_in) if key is not None]
            if not since or min(since) <= release:
                return _followed(found, owner, release)
        return None

    def names(self, owner: str) -> tuple[str, ...]:
        release = self.release(owner.partition(".")[0])
        return field_names(owner, release) if release is not None else ()

    @property
    def layer(self) -> str | None:
        return self._origin.layer if self._origin is not None else None


def _followed(found: Rename, owner: str, release: Key) -> Rename:
    """What the rename comes to in the chosen release, in the class or in the one that the setting moved into."""
    head, dot, tail = (found.new or "").rpartition(".")
    home = f"{owner.partition('.')[0]}.{head}"
    if found.kind != "moved" or not dot or not head[:1].isupper() or not class_exists_at(home, release):
        return _renamed_again(found, owner, release)
    spans = field(home, tail)
    if spans is None or spans.exists_at(release):
        return found
    after = renamed(home, tail)
    if after is None or after.new is None or "." in after.new:
        return found._replace(new=None, kind="removed", note=after.note if after is not None else found.note)
    after = _renamed_again(after, home, release)
    return found._replace(new=f"{head}.{after.new}" if after.new else None, kind=found.kind if after.new else "removed")


def _renamed_again(found: Rename, owner: str, release: Key) -> Rename:
    """With the name that the chosen release has: a new name may be gone as well by then. Names are followed through the table of
    renames; one that is in no class any more counts as removed."""
    seen = {found.old}
    while found.kind in ("renamed", "deprecated") and found.new is not None and "." not in found.new:
        spans = field(owner, found.new)
        if found.new in seen or spans is None or spans.exists_at(release) or not class_exists_at(owner, release):
            break
        seen.add(found.new)
        after = renamed(owner, found.new)
        if after is None or after.new is None:
            return found._replace(new=None, kind="removed", note=after.note if after is not None else found.note)
        found = found._replace(new=after.new, kind=after.kind, values=after.values, note=after.note)
    return found


def _renamed_to(item: SettingSubject) -> str | None:
    """Only where the new name takes the same value in the same class: a swap is right then."""
    found = item.rename()
    return (
        found.new
        if found is not None
        and found.new is not None
        and "." not in found.new
        and found.kind in ("renamed", "deprecated")
        and not found.values
        else None
    )


def _moved_to(item: SettingSubject) -> str | None:
    found = item.rename()
    return found.new if found is not None and found.new is not None and _renamed_to(item) is None else None


def _text(item: SettingSubject, word: str) -> str | None:
    found = item.rename()
    key = getattr(found, word) if found is not None else None
    if key is not None and found is not None:
        return hints.at_latest(found.library_class.partition(".")[0], item.run.releases.text(key))
    return _from_spans(item) if word == "removed_in" else None


def _changing(item: SettingSubject, ask: Callable[[FieldSpans, Key], Key | None]) -> list[Key]:
    """The releases at which the item's classes lost or gained the key, as `ask` finds them from the chosen ones."""
    chosen = ((spans, item.release(spans.library)) for _, spans in item._found)
    return [key for spans, release in chosen if release is not None and (key := ask(spans, release)) is not None]


def _from_spans(item: SettingSubject) -> str | None:
    """The first release up to the chosen one that was without the key again, where no row of the renames says more."""
    if item.item_unknown() is not True:
        return None
    gone = _changing(item, FieldSpans.gone_by)
    return hints.at_latest(item._found[0][1].library, item.run.releases.text(max(gone))) if gone else None


def _added_in(item: SettingSubject) -> str | None:
    """The first later release that has the key, of one that the chosen release does not have yet."""
    if item.item_unknown() is not True or _text(item, "removed_in") is not None:
        return None
    later = _changing(item, FieldSpans.next_after)
    return item.run.releases.text(min(later)) if later else None


def _type(item: SettingSubject) -> str | None:
    """The plain type of the annotation, None for unions of several."""
    written = item.spans(lambda spans, release: spans.type_at(release))
    parts = [part.strip() for part in str(written or "").split("|")]
    plain = {_PLAIN_TYPES.get(part.partition("[")[0], part) for part in parts if part != "None"}
    return next(iter(plain)) if len(plain) == 1 and plain <= set(_PLAIN_TYPES.values()) else None


def _default(item: SettingSubject) -> Any:
    return item.spans(lambda spans, release: spans.default_at(release)[1])


def _is_later_default(item: SettingSubject) -> bool:
    """Whether a later release, which has the field, takes the same for granted: then nothing is lost where it is left out."""
    value = item._fact.value
    for _, spans in item._found:
        release = item.release(spans.library)
        later = spans.next_after(release) if release is not None else None
        if later is not None:
            default = spans.default_at(later)[1]
            return bool(type(default) is type(value) and default == value)
    return False


def _component_now(item: SettingSubject) -> Any:
    """Where a torchtune component is found now; nothing where it has not moved."""
    value = item._fact.value
    if not isinstance(value, str):
        return None
    moved = knowledge.load("components")
    module, _, name = value.rpartition(".")
    found = moved.get(value) or moved.get(f"{module}.*")
    chosen = item.choice.get("torchtune")
    if found is None or (chosen is not None and chosen < release_key(found["since"])):
        return None
    return found["to"].replace("*", name)


def _component_unknown(item: SettingSubject) -> bool:
    """Of a component in one of torchtune's modules, whether no release has had one of that name there, but one of as many words that looks like it."""
    module, _, name = str(item._fact.value).rpartition(".")
    known = knowledge.load("component_names").get(module, ())
    alike = [one for one in known if one.count("_") == name.count("_")]
    return name not in known and hints.nearest(name, alike, 0.86) is not None and _component_now(item) is None


def _form(item: SettingSubject) -> Any:
    """How the value is written, where somebody wrote it: the form of a scalar."""
    entry = item._origin.place.entry if item._origin else None
    return getattr(entry.value, "form", None) if entry is not None else None


def _changed_by(item: SettingSubject) -> str | None:
    """The library whose release took the name away, or says that it will."""
    found = item.rename()
    if found is not None and (found.removed_in or found.deprecated_in) is not None:
        return found.library_class.partition(".")[0]
    return item._found[0][1].library if item._found else None


_WORDS: dict[str, Callable[[SettingSubject], Any]] = {
    "name": lambda item: item.name.rpartition(".")[2],
    "key": lambda item: item.spelled,
    "block": lambda item: item.spelled.rpartition(".")[0],
    "layer": lambda item: item.layer,
    "constructed": lambda item: item.is_constructed(),
    "form": _form,
    "raw": lambda item: item._fact.sources[0].raw if item._fact.sources else item._fact.value,
    "type": _type,
    "default": _default,
    "later_default": _is_later_default,
    "choices": lambda item: item.item_choices(),
    "minimum": lambda item: item.bound(("ge",)),
    "maximum": lambda item: item.bound(("le",)),
    "above": lambda item: item.bound(("gt",)),
    "below": lambda item: item.bound(("lt",)),
    "renamed_to": _renamed_to,
    "moved_to": _moved_to,
    "component_now": _component_now,
    "component_unknown": _component_unknown,
    "removed_in": lambda item: _text(item, "removed_in"),
    "deprecated_in": lambda item: _text(item, "deprecated_in"),
    "changed_by": _changed_by,
    "added_in": _added_in,
    "formerly": lambda item: hints.formerly(item),
    "there": lambda item: f", where its name is `{name}`" if (name := hints.formerly(item)) is not None else "",
    "suggestion": lambda item: hints.suggestion(item),
    "belongs": lambda item: hints.belongs(item),
    "meant": lambda item: hints.meant(item),
    "correction": lambda item: hints.correction(item),
    "library": lambda item: (
        item._found[0][1].library if item._found else item._owners[0].partition(".")[0] if item._owners else None
    ),
    "class": lambda item: item._owners[0].rpartition(".")[2] if item._owners else None,
    "hint": lambda item: hints.hint(item),
}
