"""What `--jobs` brings: the same folder of repositories with 1, 2, … processes; the reports must be equal, byte for byte.

python benchmarks/jobs.py FOLDER 1 2 4
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

RUN = """
import json, resource, sys, time
from stablint.cli import main
begin = time.perf_counter()
main(["check", ".", "--jobs", sys.argv[1], "--exit-zero", "--output-format", "json", "--output-file", sys.argv[2]])
own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps([time.perf_counter() - begin, own.ru_utime + own.ru_stime, others.ru_utime + others.ru_stime]))
"""


def main(folder: str, *jobs: str) -> int:
    reports = set()
    with tempfile.TemporaryDirectory() as scratch:
        print("processes    wall s   CPU s of the first   of the others")
        for count in jobs or ("1", "2"):
            target = Path(scratch, "report.json")
            done = subprocess.run(
                [sys.executable, "-c", RUN, count, str(target)], cwd=folder, capture_output=True, text=True, check=True
            )
            wall, own, others = (float(word) for word in done.stdout.strip().strip("[]").split(","))
            print(f"{count:>9} {wall:9.2f} {own:20.2f} {others:15.2f}")
            reports.add(target.read_bytes())
    print("the reports are equal" if len(reports) == 1 else "THE REPORTS DIFFER")
    return len(reports) != 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
