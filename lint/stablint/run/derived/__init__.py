"""Facts that follow from others. In comes a world, out goes a value with the facts that decided it: one small function a fact.
Modules that few runs ask for are loaded late (`registry.py`).

Knows no text and no rule.
"""
