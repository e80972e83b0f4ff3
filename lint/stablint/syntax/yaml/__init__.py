"""YAML: texts to trees that know their places, and edits that leave the rest of the text as it is."""

from stablint.base.later import later

later(__name__, "error", "events", "reader")
