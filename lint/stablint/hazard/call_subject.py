"""`item` for a fact `launch.calls.…`: a call seen against what the function or class takes in a release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stablint.base.language import gettext
from stablint.hazard.hints import clearly_nearest, is_meant, there_from
from stablint.hazard.setting_subject import SettingSubject
from stablint.run.releases.pep440 import Key
from stablint.run.releases.signatures import Handed, Misfit, Signature, callable_of, misfit
from stablint.run.world import Facts


class CallSubject(SettingSubject):
    """Words of its own: `misfit` (what is wrong in the chosen release, in words of Python: the names, or how many too many), `always` (is it so in every
    release), `stated` (is its release), `sure` (is the call made in every run, and its refusal the end), `callee`, `hint`."""

    def __init__(self, world: Facts, name: str) -> None:
        super().__init__(world, name)
        value = self._fact.value
        self._called, self._sure, self._handed = "", False, Handed(0, ())
        if isinstance(value, list) and len(value) >= 3:
            self._called, self._sure, self._handed = str(value[0]), value[1] is True, Handed(value[2], tuple(value[3:]))
        self._kind = name.removeprefix("launch.calls.").partition(".")[0]
        self.known = callable_of(self._called)
        if self.known is not None:
            self._change_points |= self.known.change_points()

    def word(self, word: str) -> Any:
        own = WORDS.get(word)
        return own(self) if own is not None else super().word(word)

    def item_unknown(self) -> bool | None:
        return False

    def own_release(self) -> Key | None:
        return self.release(self.known.library) if self.known is not None else None

    def _wrong(self, signature: Signature | None) -> str | None:
        if signature is None:
            return None
        found: Misfit = misfit(signature, self._handed)
        if self._kind == "surplus":
            return str(len(signature.places)) if found.surplus else None
        names: tuple[str, ...] = getattr(found, self._kind)
        return ", ".join(f"`{name}`" for name in names) or None

    def misfit(self) -> str | None:
        """In the chosen release; of a library that no release is known of, in the newest that was read."""
        if self.known is None or self.run.releases.is_unread(self.known.library):
            return None
        release = self.own_release()
        return self._wrong(self.known.at(release) if release is not None else self.known.newest())

    def newer_in(self) -> str | None:
        release = self.own_release()
        if self.known is None or release is None or self._kind != "unknown" or not self._handed.names:
            return None
        return self.known.library if self.known.takes_from(self._handed.names[0], release) else None

    def may_be_of_older(self) -> bool:
        return self.known is not None and self.run.releases.reaches_below(self.known.library)

    def always(self) -> bool:
        found = [one for one in self.known.of_all() if one is not None] if self.known is not None else []
        return bool(found) and all(self._wrong(one) is not None for one in found)

    def release_is_stated(self) -> bool:
        return self.known is not None and self.run.releases.stated(self.known.library)

    def hint(self) -> str:
        """A remark in brackets on a name that is not taken."""
        release = self.own_release()
        if self.known is None or self._kind != "unknown":
            return ""
        name = self._handed.names[0]
        signature = self.known.at(release) if release is not None else self.known.newest()
        near = clearly_nearest(name, sorted(signature.named), 0.8) if signature is not None else None
        if near is not None:
            return is_meant(near)
        if release is None:
            return ""
        since, until = self.known.takes_from(name, release), self.known.took_until(name, release)
        if since:
            return there_from(since)
        return gettext(" (it was there up to {until})").format(until=until) if until else ""


WORDS: dict[str, Callable[[CallSubject], Any]] = {
    "misfit": CallSubject.misfit,
    "always": CallSubject.always,
    "stated": CallSubject.release_is_stated,
    "sure": lambda item: item._sure,
    "callee": lambda item: (
        item._called.rpartition(".")[2] if item._called.count(".") < 2 else ".".join(item._called.split(".")[-2:])
    ),
    "library": lambda item: item.known.library if item.known is not None else None,
    "hint": CallSubject.hint,
}
