"""Every error hazard against the real constructors: its examples, its look-alikes and each of their values spelled otherwise. See README.md.

    STABLINT_ORACLE=oracle/bin/python python benchmarks/errors.py variants [CODE …]
    STABLINT_ORACLE=oracle/bin/python python benchmarks/errors.py bounds --releases FOLDER [CODE …]

`variants` asks the newest releases; what a constructor takes and a hazard calls an error is a defect. `bounds` asks the releases at which a claim begins and
ends, those before them, the oldest and the newest that the folder holds (unpacked wheels, named library-release).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.differential.claims import Claim, claims, variants
from tests.differential.judge import Judge, NoOracle, as_files, says_more, told_by
from tests.differential.releases import Shelf, around
from tests.differential.subjects import SUBJECTS
from tests.differential.tally import put_model


def _base(kind: str) -> dict[str, Any]:
    """What every release takes; where it does not, the release does not run here."""
    if kind in SUBJECTS:
        return dict(SUBJECTS[kind].base)
    return {"output_dir": "out"} if kind.startswith("trl.") or kind.endswith("Arguments") else {}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["variants", "bounds"])
    parser.add_argument("code", nargs="*", help="hazards; none: all that say error")
    parser.add_argument("--releases", type=Path, help="unpacked wheels of old releases, for `bounds`")
    parser.add_argument("--verbose", action="store_true", help="what a constructor refuses and the hazard misses, too")
    options = parser.parse_args(arguments)
    asked = [one for one in claims() if not options.code or one.hazard.code in options.code]
    judged = [one for one in asked if not says_more(one.hazard.id)]
    print(f"{len({one.hazard.id for one in asked})} hazards have calls that a constructor can be asked; ", end="")
    print(f"{len({one.hazard.id for one in judged})} speak of nothing beyond the constructors")
    try:
        return (
            _variants(judged, options.verbose)
            if options.what == "variants"
            else _bounds(judged, Shelf(options.releases))
        )
    except NoOracle as error:
        print(f"errors: {error}", file=sys.stderr)
        return 2


def _variants(judged: list[Claim], verbose: bool) -> int:
    judge, defects, missed, count, seen = Judge(), 0, 0, 0, set()
    with tempfile.TemporaryDirectory(prefix="stablint-errors-") as folder:
        put_model(folder)
        for claim in judged:
            if "deepspeed" in claim.kind and "deepspeed" not in judge.versions:
                continue
            for what, given in (("as it stands", claim.given), *variants(claim.kind, claim.given)):
                key = (claim.hazard.id, claim.kind, json.dumps(given, sort_keys=True))
                if key in seen:
                    continue
                seen.add(key)
                count += 1
                said = told_by(claim.hazard, as_files(claim.kind, given), claim.kind, judge.versions, folder)
                if not said and not (verbose and what == "as it stands"):
                    continue
                error = judge.refuses(claim.kind, dict(given))
                if said and error is None:
                    defects += 1
                    print(f"FALSE  {claim.hazard.code} {claim.where}, {what}: {claim.kind} {given}", flush=True)
                elif error and not said and claim.told:
                    missed += 1
                    print(f"missed {claim.hazard.code} {claim.where}, {what}: {error[:90]}", flush=True)
    print(f"{count} calls, {defects} taken by the constructor and called an error")
    judge.close()
    return 1 if defects else 0


def _bounds(judged: list[Claim], shelf: Shelf) -> int:
    """Every example at the edges of its hazard's releases, one worker for each release."""
    plan: dict[tuple[str, str], list[Claim]] = defaultdict(list)
    for claim in judged:
        library = {"deepspeed": "deepspeed", "trainer+deepspeed": "transformers"}.get(
            claim.kind, claim.kind.split(".")[0]
        )
        library = "accelerate" if claim.kind.startswith("accelerate+") else library
        for release in around(claim.hazard, library, shelf.releases(library)):
            plan[library, release].append(claim)
    defects = asked = 0
    silent: dict[str, list[str]] = defaultdict(list)
    for (library, release), due in sorted(plan.items()):
        try:
            judge = shelf.judge(library, release)
        except NoOracle as error:
            print(f"no     {library} {release}: {error}", flush=True)
            continue
        kinds = {kind: judge.refuses(kind, _base(kind)) for kind in {claim.kind for claim in due}}
        for kind, error in kinds.items():
            if error:
                print(f"no     {library} {release} {kind}: {error[:120]}", flush=True)
        with tempfile.TemporaryDirectory(prefix="stablint-errors-") as folder:
            put_model(folder)
            for claim in due:
                if kinds[claim.kind]:
                    continue
                said = told_by(claim.hazard, as_files(claim.kind, claim.given), claim.kind, judge.versions, folder)
                if not said and not claim.told:
                    continue
                error: Any = judge.refuses(claim.kind, dict(claim.given))
                asked += 1
                if said and error is None:
                    defects += 1
                    print(
                        f"FALSE  {claim.hazard.code} {library} {release}, {claim.where}: {claim.kind} {claim.given}",
                        flush=True,
                    )
                elif error and not said and claim.told:
                    silent[claim.hazard.code].append(f"{library} {release}: {error[:70]}")
        judge.close()
    for code, lines in sorted(silent.items()):
        print(f"silent {code} {lines[0]} (and {len(lines) - 1} more)")
    print(f"{asked} calls at the edges, {defects} taken by the release's constructor and called an error")
    return 1 if defects else 0


if __name__ == "__main__":
    sys.exit(main())
