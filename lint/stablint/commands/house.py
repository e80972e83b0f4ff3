"""`stablint test-hazards`: the examples of the hazards of a house, and what does not hold of them."""

from __future__ import annotations

import os

from stablint.base.language import gettext, ngettext
from stablint.base.whole import scratch
from stablint.config.house import house, own_prefix
from stablint.config.options import Wrong
from stablint.engine.examples import failures, false_alarms
from stablint.hazard.model import load
from stablint.secrets import exit


def run_test_hazards(folders: list[str]) -> int:
    """Run every example of house folders, and print a line for each failure. 0: all hold; 1: some do not; 2: a file is no hazard."""
    rules = house(folders, own_prefix)
    for line in rules.broken:
        exit.tell(line)
    every = (*load(), *rules.hazards)
    examples = failed = 0
    for hazard in rules.hazards:
        for number, example in enumerate(rules.examples[hazard.id], 1):
            examples += 1
            with scratch("hazards") as folder:
                try:
                    found = list(failures(hazard, example, every, os.path.realpath(folder)))
                except (Wrong, ValueError) as error:
                    found = [str(error)]
            failed += bool(found)
            for line in found:
                exit.say(
                    gettext("{id} ({code}), example {number}: {line}\n").format(
                        id=hazard.id, code=hazard.code, number=number, line=line
                    )
                )
        with scratch("hazards") as folder:
            try:
                found = list(false_alarms(hazard, rules.healthy.get(hazard.id, []), os.path.realpath(folder)))
            except (Wrong, ValueError) as error:
                found = [f"its healthy runs: {error}"]
        examples += len(rules.healthy.get(hazard.id, []))
        failed += len(found)
        for line in found:
            exit.say(f"{hazard.id} ({hazard.code}): {line}\n")
    exit.say(
        gettext("{hazards}, {examples}, {failed} with failures.\n").format(
            hazards=ngettext("{number} hazard", "{number} hazards", len(rules.hazards)).format(
                number=len(rules.hazards)
            ),
            examples=ngettext("{number} example", "{number} examples", examples).format(number=examples),
            failed=failed,
        ),
        error=True,
    )
    return 2 if rules.broken else 1 if failed else 0
