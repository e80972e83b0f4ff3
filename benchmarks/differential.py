"""stablint against the libraries' own constructors, class by class. See README.md for the bars, tests/differential for the two sides.

STABLINT_ORACLE names an interpreter that has torch, transformers, trl and peft; STABLINT_ORACLE_PATH more folders of packages (DeepSpeed).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from datetime import date
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.differential.arguments import SUBJECTS
from tests.differential.judge import Judge, NoOracle
from tests.differential.tally import Tally, count

RECALL_BAR, SILENCE_BAR = 0.95, 0.995
RECORDED = 8  # sets of a class and a verdict


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", nargs="*", help="classes; none: all")
    parser.add_argument("--examples", type=int, default=600, help="argument sets a class")
    parser.add_argument("--seed", type=int, help="other sets than those of every run")
    parser.add_argument(
        "--record", type=Path, help="write some of the sets and the verdicts: what the test without libraries reads"
    )
    parser.add_argument("--verbose", action="store_true", help="the sets on which the two sides differ")
    options = parser.parse_args(arguments)
    try:
        judge = Judge()
    except NoOracle as error:
        print(f"differential: {error}", file=sys.stderr)
        return 2
    total = Tally()
    lines = [json.dumps({"versions": judge.versions, "on": str(date.today()), "seed": options.seed})]
    print(", ".join(f"{name} {text}" for name, text in judge.versions.items()))
    for kind in options.kind or SUBJECTS:
        if "deepspeed" in kind and "deepspeed" not in judge.versions:
            print(f"{kind:36} DeepSpeed is not installed")
            continue
        tally = count(judge, SUBJECTS[kind], options.examples, options.seed)
        print(tally.line(kind), flush=True)
        total.add(tally)
        lines += _some(kind, tally)
        if options.verbose:
            _tell(tally)
    print(total.line("all"))
    judge.close()
    if options.record:
        options.record.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0 if total.recall >= RECALL_BAR and total.silence >= SILENCE_BAR else 1


def _some(kind: str, tally: Tally) -> list[str]:
    """The first sets of each verdict, the misses among them as they come."""
    refused = [one for one in tally.asked if one[1] is not None][:RECORDED]
    accepted = [one for one in tally.asked if one[1] is None][:RECORDED]
    return [
        json.dumps({"kind": kind, "given": given, "error": error and error[:80]}) for given, error in refused + accepted
    ]


def _tell(tally: Tally) -> None:
    """One set for each reason, the most frequent reason first."""
    reasons = Counter(error[:90] for _, error in tally.missed)
    for reason, times in reasons.most_common():
        given, error = min((one for one in tally.missed if one[1].startswith(reason)), key=lambda one: len(str(one[0])))
        print(f"  missed {times:4}  {given}\n               {error[:200]}")
    accused = Counter(rules for _, rules in tally.accused)
    for rules, times in accused.most_common():
        given = min((one[0] for one in tally.accused if one[1] == rules), key=lambda one: len(str(one)))
        print(f"  accused {times:3}  {', '.join(rules)}: {given}")


if __name__ == "__main__":
    sys.exit(main())
