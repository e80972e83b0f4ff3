"""The chat format that a run writes, against the one that its model learned."""

from __future__ import annotations

from stablint.base import knowledge
from stablint.run.world import Answer, World


def foreign_marks(w: World) -> Answer:
    """The marks of a user's turn that the template writes and the model's own chat format does not have; none where one of the two is not known."""
    names = ("data.template", "model.name_or_path")
    template, model = (w.value(name) for name in names)
    if not isinstance(template, str) or not isinstance(model, str):
        return Answer([], names)
    known = knowledge.load("chat")
    own = known["models"].get(model.rstrip("/").rpartition("/")[2].lower())
    written = known["templates"].get(template, [])
    return Answer([] if own is None else [mark for mark in written if mark not in own], names)
