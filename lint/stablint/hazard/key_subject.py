"""`item` for a fact `keys.FRAMEWORK.KEY`: a key of a framework's file or command, seen against what that framework's own reader takes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from stablint.base.language import gettext
from stablint.hazard.hints import A_SLIP, at_latest, close, is_meant, is_meant_by, there_from
from stablint.hazard.setting_subject import SettingSubject
from stablint.run.fact import Explicit
from stablint.run.framework import framework as record_of
from stablint.run.releases.fields import field, field_names, known_key
from stablint.run.releases.pep440 import Key, release_key
from stablint.run.releases.reader_keys import Reader, reader, synonyms
from stablint.run.world import Facts


class KeySubject(SettingSubject):
    """Words of its own: `library`, `stated` (is its release), `always` (does every release take it), `plugin` (that would read it),
    `belongs` (where it would be read), `since`, `company` (how many others are gone as well) and `others` (the same in words), `hint` and
    `meant` (remarks in brackets)."""

    def __init__(self, world: Facts, name: str) -> None:
        super().__init__(world, name)
        self._suggested: dict[
            float, str | None
        ] = {}  # by cutoff: the words of a message and its repairs ask for it in turn
        framework, _, self.spelled = name.removeprefix("keys.").partition(".")
        owners = self.run.classes.get(f"keys.{framework}", ())
        self._is_import = framework.endswith("-names")
        if self._is_import:  # a module is another reader than the package
            owners = tuple(one for one in owners if one.endswith(".modules") is ("." in self.spelled))
        self.readers: tuple[Reader, ...] = tuple(found for one in owners if (found := reader(one)) is not None)
        # What `argparse` reads it takes by the beginning of its name, too; a file that is no row of flags is compared whole.
        shortens = record_of(framework).abbreviates
        self._by_beginning = shortens == "everything" or (shortens == "flags" and self.layer == "flags")
        for one in self.readers:
            self._change_points |= one.change_points(self.spelled)
            for name in self._longer(one) if self._by_beginning else ():
                self._change_points |= one.change_points(name)

    def word(self, word: str) -> Any:
        own = WORDS.get(word)
        return own(self) if own is not None else super().word(word)

    def own_release(self, one: Reader) -> Key | None:
        return self.release(one.library)

    def item_unknown(self) -> bool | None:
        """True where none of the readers takes the key in the chosen release."""
        verdict: bool | None = bool(self.readers)
        for one in self.readers:
            release = self.own_release(one)
            taken = one.takes(self.spelled, release, self.run.releases.stated(one.library)) if release else None
            if taken:
                return False
            if self.run.releases.is_unread(one.library) or (self._is_import and self._may_be_a_snapshot(one)):
                verdict = None  # a commit, or a copy that the repository carries
            if taken is None and (
                one.ever(self.spelled) or self._is_import or (release is not None and one.is_before(release))
            ):
                verdict = None
        if verdict is True and self._by_beginning and self._is_a_beginning():
            return False
        return verdict

    def _longer(self, one: Reader) -> tuple[str, ...]:
        """Names that begin with the key. What is left over for accelerate's launcher meets a parser that wants whole names."""
        if one.name == "accelerate.launch":
            return ()
        return one.longer(self.spelled)

    def _is_a_beginning(self) -> bool:
        """Does one argument of the release begin so? Of several argparse cannot tell which is meant, and refuses."""
        found: set[str] = set()
        for one in self.readers:
            release = self.own_release(one)
            stated = self.run.releases.stated(one.library)
            if release is not None:
                found.update(name for name in self._longer(one) if one.takes(name, release, stated))
        for base, release in self._bases():
            if release is not None:
                found.update(name for name in field_names(base, release) if name.startswith(self.spelled))
        return len(found) == 1

    def _may_be_a_snapshot(self, one: Reader) -> bool:
        """Of a name that no release ever had: a development version, which stands for the releases before and behind it, may have it."""
        releases = self.run.releases
        return not one.ever(self.spelled) and releases.stated(one.library) and len(releases.allowed(one.library)) == 2

    def key_library(self) -> str | None:
        return self.readers[0].library if self.readers else None

    def key_stated(self) -> bool:
        """Was the release of the framework said?"""
        return any(self.run.releases.stated(one.library) for one in self.readers)

    def key_always(self) -> bool:
        """Does every release that the index offers take it?"""
        return any(self.spelled in one.always for one in self.readers)

    def key_plugin(self) -> str | None:
        return self._first("plugin")

    def key_since(self) -> str | None:
        return self._first("since")

    def newer_in(self) -> str | None:
        return self.key_library() if self.item_unknown() is True and self.key_since() is not None else None

    def key_removed(self) -> str | None:
        """The first release that none of the readers took it in any longer."""
        if self.item_unknown() is not True or self.key_since():
            return None
        gone = [
            (release_key(found), at_latest(one.library, found, one.releases))
            for one in self.readers
            if (release := self.own_release(one)) is not None and (found := one.removed_in(self.spelled, release))
        ]
        return max(gone)[1] if gone else None

    def _first(self, word: str) -> str | None:
        for one in self.readers:
            release = self.own_release(one)
            found: str | None = getattr(one, word)(self.spelled, release) if release is not None else None
            if found is not None:
                return found
        return None

    def _bases(self) -> tuple[tuple[str, Key | None], ...]:
        """The config classes whose fields the readers take besides, with their releases."""
        return tuple((base, self.release(base.partition(".")[0])) for one in self.readers for base in one.bases)

    def _known(self, above: str) -> tuple[frozenset[str], dict[str, str]]:
        """What the readers take in the releases of the run, and of it what stands in the section `above`, by its last word."""
        return _known(
            tuple((one, self.own_release(one)) for one in self.readers), self._bases(), self._is_import, above
        )

    def _stated(self) -> frozenset[str]:
        """What the same text sets already, which cannot be meant a second time."""
        origin = self._fact.origin
        if not isinstance(origin, Explicit):
            return frozenset()
        origins = [statement.origin for fact in self.run.explicit.values() for statement in fact.sources]
        here = origin.place.document
        return frozenset([o.place.setting for o in origins if isinstance(o, Explicit) and o.place.document is here])

    def key_correction(self) -> str | None:
        """The suggestion that may be written in its place: another framework's name for the same, or what differs by a slip of the hand."""
        return self.key_suggestion(A_SLIP)

    def key_suggestion(self, cutoff: float = 0.83) -> str | None:
        """Another framework's name for what this one calls otherwise, else the nearest spelling; nothing that the text sets already."""
        if cutoff not in self._suggested:
            self._suggested[cutoff] = self._suggestion(cutoff)
        return self._suggested[cutoff]

    def _suggestion(self, cutoff: float) -> str | None:
        if self.item_unknown() is not True or self.key_plugin() is not None:
            return None
        above, _, last = self.spelled.rpartition(".")
        known, beside = self._known(above)
        stated, written = self._stated(), cutoff >= A_SLIP
        for one in self.readers:
            for name in synonyms(self.spelled, one.library, written):
                if (name in known or _of_base(one, name)) and name not in stated:
                    return name
            for name in synonyms(last, one.library, written) if above else ():  # within the same section
                if f"{above}.{name}" in known:
                    return name
        if self.key_since() is not None or (written and self.key_suggestion() in self._synonyms(last)):
            return None  # what a newer release has is no slip, nor is a name whose values are others
        near = [name for name in close(last, list(beside), cutoff) if beside[name] not in stated]
        # `adam_eps` for `adam_epsilon`, `max_length` for `max_len`
        longer = (
            sorted((name for name in beside if len(name) >= 7 and _begins(name, last)), key=len)
            if len(last) >= 7
            else []
        )
        if longer and all(name.startswith(longer[0]) for name in longer) and beside[longer[0]] not in stated:
            near.append(longer[0])
        return next((name for name in near if is_meant_by(last, name, written)), None)

    def _synonyms(self, last: str) -> set[str]:
        return {name for one in self.readers for key in (self.spelled, last) for name in synonyms(key, one.library)}

    def key_company(self) -> int:
        """How many other keys of the text are gone as well; -1 where one of them stands before this one and speaks for all."""
        head = self.name[: len(self.name) - len(self.spelled)]
        gone = [
            name
            for name in self.run.explicit
            if name.startswith(head) and (name == self.name or KeySubject(self._world, name).key_removed() is not None)
        ]
        return len(gone) - 1 if gone[:1] == [self.name] else -1

    def key_others(self) -> str:
        """The same in words, for a message."""
        count = self.key_company()
        return gettext(", and {count} more of these flags").format(count=count) if count > 0 else ""

    def key_belongs(self) -> str | None:
        """The section in which the same name is read; `the top level` where it stands in one."""
        if self.item_unknown() is not True or self.key_suggestion() is not None:
            return None
        last = self.spelled.rpartition(".")[2]
        known, _ = self._known("")
        homes = {name.rpartition(".")[0] for name in known if name.rpartition(".")[2] == last}
        if not homes and self.readers[0].name == "accelerate.ClusterConfig":
            return _section_of(last)
        if not homes and self.readers[0].name == "accelerate.launch" and field("deepspeed.json", last) is not None:
            return gettext("a DeepSpeed file, which `deepspeed_config_file` names")
        if len(homes) != 1:
            return None
        home = next(iter(homes))
        return f"`{home}`" if home else gettext("the top level of the file")

    def key_hint(self) -> str:
        """A remark in brackets that follows the key in a message."""
        plugin, suggestion = self.key_plugin(), self.key_suggestion()
        if plugin is not None:
            return gettext(" (the plugin `{plugin}` reads it, and `plugins` does not name it)").format(plugin=plugin)
        if suggestion is not None:
            return is_meant(suggestion)
        belongs = self.key_belongs()
        if belongs is not None:
            return gettext(" (it belongs to {belongs})").format(belongs=belongs)
        since, removed = self.key_since(), self.key_removed()
        if since:
            return there_from(since)
        return gettext(" (gone since {removed})").format(removed=removed) if removed else ""

    def key_meant(self) -> str:
        """The remark of a key that is gone: what is there instead."""
        suggestion = self.key_suggestion()
        return gettext(" (now `{suggestion}`?)").format(suggestion=suggestion) if suggestion is not None else ""


def _section_of(option: str) -> str | None:
    """The section of accelerate's file for an option of its launcher (commands/launch.py, groups of arguments)."""
    launch = reader("accelerate.launch")
    if launch is None or not launch.ever(option):
        return None
    if option.startswith("fsdp_"):
        return "`fsdp_config`"
    sharding = option.startswith(("zero", "offload_", "deepspeed_")) or option in (
        "gradient_clipping",
        "gradient_accumulation_steps",
    )
    return "`deepspeed_config`" if sharding else None


@lru_cache(maxsize=64)  # a text that is no config of its framework holds many unknown keys
def _known(
    readers: tuple[tuple[Reader, Key | None], ...],
    bases: tuple[tuple[str, Key | None], ...],
    offered: bool,
    above: str,
) -> tuple[frozenset[str], dict[str, str]]:
    """What the readers take in these releases, the fields of their bases included; and of these the ones in the section `above`, by their last word."""
    names: list[str] = []
    for one, release in readers:
        names += one.names(release) if release is not None else ()
        names += one.names_offered() if offered else ()
    for base, release in bases:
        names += field_names(base, release) if release is not None else ()
    start = len(above) + 1 if above else 0
    inside = [name for name in names if name.startswith(above + ".")] if above else names
    return frozenset(names), {name[start:]: name for name in inside if "." not in name[start:]}


def _begins(name: str, key: str) -> bool:
    return name.startswith(key) if len(name) > len(key) else key.startswith(name)


def _of_base(one: Reader, name: str) -> bool:
    return bool(one.bases) and any(owner in one.bases for owner in known_key(name))


WORDS: dict[str, Callable[[KeySubject], Any]] = {
    "library": KeySubject.key_library,
    "stated": KeySubject.key_stated,
    "always": KeySubject.key_always,
    "plugin": KeySubject.key_plugin,
    "belongs": KeySubject.key_belongs,
    "company": KeySubject.key_company,
    "others": KeySubject.key_others,
    "since": KeySubject.key_since,
    "removed_in": KeySubject.key_removed,
    "suggestion": KeySubject.key_suggestion,
    "correction": KeySubject.key_correction,
    "hint": KeySubject.key_hint,
    "meant": KeySubject.key_meant,
    "key": lambda item: item.spelled,
}
