"""Texts to trees, and edits to texts: YAML, JSON, Python, shell, notebooks. Every node knows its place.

Knows formats; knows no framework.
"""

from stablint.base.later import later

later(__name__, "embedded", "rows")
