"""JSON: texts to trees that know their places, and edits in the layout of the file."""

from stablint.base.later import later

later(__name__, "reader")
