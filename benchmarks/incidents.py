"""Recall on real incidents, by class and by what must be known; how innocents are disturbed; how many faults the repairs clear.

    python benchmarks/incidents.py [--verbose]

The incidents are those of tests/cases/incidents/, told in our own words after public threads. Exits 1 below the bars.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.incidents import Incident, Verdict, incidents, judge

RECALL, REPAIRED, WARNINGS, FINDINGS = 0.92, 0.80, 1.0, 4.0


def table(title: str, groups: dict[str, list[bool]]) -> None:
    print(f"\n{title}")
    for name, hits in sorted(groups.items()):
        print(f"  {name:32} {sum(hits):3} of {len(hits):3}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--verbose", action="store_true", help="a line for every incident")
    given = parser.parse_args()
    judged: list[tuple[Incident, Verdict]] = []
    for incident in incidents():
        with tempfile.TemporaryDirectory() as folder:
            verdict = judge(incident, Path(folder))
        judged.append((incident, verdict))
        if given.verbose:
            fault = incident.kind == "fault"
            state = ("found" if verdict.found else "MISSED") if fault else ("DISTURBED" if verdict.found else "quiet")
            state = "unseen" if incident.kind == "unseen" else state
            print(f"{state:10} {'repaired' if verdict.repaired else '':9} {incident.id:36} {', '.join(verdict.loud)}")
    faults = [(one, verdict) for one, verdict in judged if one.kind == "fault"]
    innocents = [verdict for one, verdict in judged if one.kind == "innocent"]
    by_class, by_need = defaultdict(list), defaultdict(list)
    for one, verdict in faults:
        by_class[one.family].append(verdict.found)
        by_need["+".join(one.needs)].append(verdict.found)
    table("recall by class", by_class)
    table("recall by what must be known", by_need)
    recall = sum(verdict.found for _, verdict in faults) / len(faults)
    repairable = [verdict for one, verdict in faults if one.repaired]
    repaired = sum(verdict.repaired for verdict in repairable) / len(repairable)
    disturbed = sum(verdict.found for verdict in innocents)
    warnings = sum(len(verdict.loud) for verdict in innocents) / len(innocents)
    findings = sum(len(verdict.loud) for _, verdict in faults) / len(faults)
    print(
        f"\nrecall {recall:.0%} of {len(faults)}, {disturbed} of {len(innocents)} innocents disturbed, {warnings:.1f} warnings an innocent, "
        f"{findings:.1f} findings a fault, repaired {repaired:.0%} of {len(repairable)}; "
        f"{sum(one.kind == 'unseen' for one, _ in judged)} more are told whose cause is in no file"
    )
    good = recall >= RECALL and not disturbed and repaired >= REPAIRED and warnings <= WARNINGS and findings <= FINDINGS
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
