"""Every hazard's conditions, bounds and operators, changed one at a time: the hazard's own examples must notice.

    python benchmarks/mutation.py [ID …]      exit code 1 below the share of killed mutants that we want

`stablint knowledge audit` tells the survivors among its doubts; here they are counted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from stablint.audit.mutants import dies, looks, mutants
from stablint.base import knowledge
from stablint.hazard import model

WANTED = 0.98


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutate the hazards' conditions; their own examples must notice.")
    parser.add_argument("rules", nargs="*", metavar="ID", help="only these hazards")
    given = parser.parse_args()
    examples = knowledge.load("examples")
    made = killed = 0
    for hazard in model.load():
        if hazard.at.startswith("file.") or (given.rules and hazard.id not in given.rules):
            continue  # what is wrong with a text itself is no fact of a run
        with tempfile.TemporaryDirectory() as name:
            texts = list(looks(hazard, examples[hazard.id], Path(name).resolve()))
            for said, conditions in mutants(hazard.when):
                made += 1
                if dies(hazard, conditions, texts):
                    killed += 1
                else:
                    print(f"{hazard.id}: survives: {said}")
    share = killed / made if made else 1.0
    print(f"{killed} of {made} mutants killed ({share:.1%}, goal {WANTED:.0%})")
    return 0 if share >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
