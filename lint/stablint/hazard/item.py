"""`item`: one stated setting, seen against the config class that reads it. Answers come per release, as everything about a class does."""

from __future__ import annotations

from typing import Any

from stablint.run.fact import Explicit, Fact
from stablint.run.releases import FieldSpans, field, field_names, renamed
from stablint.run.world import NO_TURNS, Turns, World
from stablint.source.tree import Unknown

_DEEPSPEED_BLOCKS = {
    "zero_optimization": "DeepSpeedZeroConfig", "zero_optimization.offload_optimizer": "DeepSpeedZeroOffloadOptimizerConfig",
    "zero_optimization.offload_param": "DeepSpeedZeroOffloadParamConfig", "fp16": "DeepSpeedFP16Config", "bf16": "DeepSpeedBF16Config",
    "": "json_top_level",
}  # fmt: skip


class ItemWorld(World):
    """A world in which `item` is a fact of its own. Everything else is asked of the world behind it."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(world.run, {}, world.choice)
        self._world = world
        self.name = name
        self._fact = world.fact(name)
        origin = self._fact.origin
        self._place = origin.place if isinstance(origin, Explicit) else None
        self.spelled = self._place.path[-1] if self._place is not None and self._place.path else name.rpartition(".")[2]
        self._classes = self._owners()
        self._found = [(owner, spans) for owner in self._classes if (spans := field(owner, self.spelled)) is not None]
        turns = [frozenset((spans.library, key) for key in spans.turns) for _, spans in self._found]
        self._turns = NO_TURNS.union(*turns) if turns else NO_TURNS

    def fact(self, name: str) -> Fact:
        if name == "item":
            return self._fact
        if name.startswith("item."):
            value = getattr(self, "_" + name.removeprefix("item."))()
            return Fact(name, Unknown("the releases at hand do not say") if value is None else value, self._fact.origin, turns=self.item_turns())
        return self._world.fact(name)

    def scope(self, name: str) -> str:
        return self._world.scope(name)

    def needs(self, name: str) -> frozenset[str] | None:
        return self._world.needs(name)

    def _owners(self) -> tuple[str, ...]:
        """The classes whose field the key is meant to be; none where a dialect's own table gave the key its meaning."""
        head, _, rest = self.name.partition(".")
        if head == "deepspeed":
            block = _DEEPSPEED_BLOCKS.get(rest.rpartition(".")[0])
            return (f"deepspeed.{block}",) if block is not None else ()
        if self._place is not None and len(self._place.path) > 1:
            return ()
        return tuple(name.removeprefix("?") for name in self.run.classes.get(head, ()))

    def _spans(self) -> list[tuple[str, FieldSpans]]:
        return self._found

    def item_turns(self) -> Turns:
        return self._turns

    def item_unknown(self) -> bool | None:
        """Would the class of the chosen release refuse (or drop) the key? A key that no release has counts in a call of the class only."""
        spans = self._spans()
        if not spans:
            strict = self._place is not None and self._in_call_of_class()
            return bool(self._classes) and (strict or self.name.startswith("deepspeed."))
        for _, one in spans:
            release = self.choice.get(one.library)
            if release is None or one.exists_at(release):
                return False
        return True

    def _in_call_of_class(self) -> bool:
        return isinstance(self._fact.origin, Explicit) and self._fact.origin.layer == "call" and any(self._names(owner) for owner in self._classes)

    def item_choices(self) -> list[Any] | None:
        for owner, spans in self._spans():
            release = self.choice.get(owner.partition(".")[0])
            choices = spans.choices_at(release) if release is not None else None
            if choices:
                return list(choices)
        return None

    def _choices(self) -> list[Any] | None:
        return self.item_choices()

    def _key(self) -> str:
        return self.spelled

    def _bound(self, names: tuple[str, ...]) -> Any:
        for owner, spans in self._spans():
            release = self.choice.get(owner.partition(".")[0])
            bounds = spans.extra_at(release) if release is not None else {}
            for name in names:
                if name in bounds:
                    return bounds[name]
        return None

    def _minimum(self) -> Any:
        return self._bound(("ge", "gt"))

    def _maximum(self) -> Any:
        return self._bound(("le", "lt"))

    def _type(self) -> Any:
        for owner, spans in self._spans():
            release = self.choice.get(owner.partition(".")[0])
            if release is not None:
                return spans.type_at(release)
        return None

    def _rename(self) -> Any:
        for owner in self._classes:
            found = renamed(owner, self.spelled)
            if found is not None:
                return found
        return None

    def _renamed_to(self) -> str | None:
        found = self._rename()
        return found.new if found is not None else None

    def _removed_in(self) -> str | None:
        found = self._rename()
        return self.run.releases.text(found.removed_in) if found is not None and found.removed_in is not None else None

    def _suggestion(self) -> str | None:
        """The field whose name is nearest, among those of the chosen release. difflib is imported only for a finding."""
        if self.item_unknown() is not True:
            return None
        from difflib import get_close_matches

        known = [name for owner in self._classes for name in self._names(owner)]
        near = get_close_matches(self.spelled, known, 1, 0.8)
        return near[0] if near else None

    def _names(self, owner: str) -> tuple[str, ...]:
        release = self.choice.get(owner.partition(".")[0])
        return field_names(owner, release) if release is not None else ()
