"""`stablint knowledge template`: the text that a new hazard begins as, with the next free code of its category."""

from __future__ import annotations

import argparse

from stablint.config.options import Wrong
from stablint.config.spec import CLEAN
from stablint.hazard.model import load
from stablint.schema.hazard import CATEGORIES
from stablint.secrets import exit

_TEXT = """\
id: {id}
code: {code}                         # the next free one of its letter
title: what is wrong, in less than a line
severity: warning                  # error: proven, and it crashes or ruins the run; warning; info
bites_at: start                    # parse | start | save | hours | never-visibly
when:                              # each line is pinned by a near example; `stablint show FILE` lists the facts of a file
  - training.SETTING is-set
fine_when: the case in which an expert would leave it so
message: "`{{training.SETTING}}` does what, so that what happens"
at: training.SETTING               # whose place is shown
why: >-
  What the library does there, step by step, in your own words.
remedies:
  - title: what to do
    unset: [training.SETTING]      # or set, swap, respell
    safety: unsafe                 # safe: what is trained stays the same, or it could not have trained; manual: only told
    because: why it is not safe
evidence:
  grade: proven-in-source          # reproduced | maintainer-confirmed | reported | folklore
  sources:
    - LIBRARY RELEASE FILE:LINE    # as in `transformers 5.23.0 training_args.py:1805`; or an address
versions: {{}}                       # the releases that do so: {{transformers: ">=4.38"}}
examples:
  - dialect: trl
    files:
      train.yaml: |
        model_name_or_path: Qwen/Qwen3-0.6B
        output_dir: out
        learning_rate: 1.0e-5
        SETTING: 1
    fixed:
      train.yaml: |
        model_name_or_path: Qwen/Qwen3-0.6B
        output_dir: out
        learning_rate: 1.0e-5
    near:                          # legal look-alikes: one for each condition, and one on each side of a bound
      - {{file: train.yaml, replace: ["SETTING: 1", "OTHER: 1"]}}
"""


def run_template(given: argparse.Namespace) -> int:
    """Printed, not written: what is half done under knowledge/ would stop every check of the checkout."""
    exit.hand_over(template(given.category, given.id))
    return CLEAN


def template(category: str, name: str) -> str:
    """Raises Wrong for a name that is taken."""
    every = load()
    if name in {hazard.id for hazard in every}:
        raise Wrong(f"`{name}` is taken")
    letter = next(letter for letter, called in CATEGORIES.items() if called == category)
    last = max((int(hazard.code[1:]) for hazard in every if hazard.code.rstrip("0123456789") == letter), default=100)
    return _TEXT.format(id=name, code=f"{letter}{last + 1}")
