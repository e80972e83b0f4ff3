"""Repairs in bulk against the real constructors: what took the settings before `--fix --unsafe-fixes` must take them after. See README.md.

    STABLINT_ORACLE=oracle/bin/python python benchmarks/repairs.py [--sets N] [--record FILE] [FOLDER …]

Files are: the examples and look-alikes of every hazard, the incidents, `examples/`, every FOLDER as a project of its own, and N argument sets a class.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hypothesis import HealthCheck, Phase, given, settings

from stablint.base import knowledge
from stablint.engine.examples import legal, write
from tests.differential.arguments import SUBJECTS, Subject, arguments
from tests.differential.judge import Judge, NoOracle, as_files
from tests.differential.repaired import HARMED, Made, judged, repaired
from tests.differential.tally import put_model
from tests.incidents import incidents

Files = dict[str, str]
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument(
        "--sets", type=int, default=0, help="argument sets of every class, drawn as the differential test draws them"
    )
    parser.add_argument("--only-sets", action="store_true", help="nothing but these sets and the folders")
    parser.add_argument("--record", type=Path, help="write every changed call and both verdicts here")
    parser.add_argument("--verbose", action="store_true", help="what was refused before and is refused still, too")
    options = parser.parse_args(words)
    try:
        judge = Judge()
    except NoOracle as error:
        print(f"repairs: {error}", file=sys.stderr)
        return 2
    count = Counter[str]()
    lines = [json.dumps({"versions": judge.versions})]
    for source, one in judged(judge, _changed(options, judge)):
        count[one.what] += 1
        if one.what == HARMED or (options.verbose and one.after_error):
            print(f"{one.what}: {source} {one.made.where} {one.made.kind} {' '.join(one.made.by)}")
            print(f"  {one.made.before}\n  {one.made.after}\n  {one.after_error}", flush=True)
        lines.append(json.dumps({"source": source, **one.recorded()}))
    if options.record:
        options.record.write_text("\n".join(lines) + "\n", encoding="utf-8")
    judge.close()
    print(
        f"{sum(count.values())} calls changed: "
        + ", ".join(f"{number} {what}" for what, number in sorted(count.items()))
    )
    return 1 if count[HARMED] else 0


def _changed(options: argparse.Namespace, judge: Judge) -> Iterator[tuple[str, Made]]:
    for source, files, given_options in () if options.only_sets else _texts():
        with tempfile.TemporaryDirectory(prefix="stablint-repairs-") as folder:
            write(files, folder)
            for one in repaired(folder, given_options):
                yield source, one
    for path in options.folders:
        for one in repaired(str(path.resolve()), None):
            yield path.name, one
    if options.sets:
        yield from _drawn(options.sets, judge)


def _texts() -> Iterator[tuple[str, Files, dict[str, Any] | None]]:
    for name, examples in sorted(knowledge.load("examples").items()):
        for number, example in enumerate(examples, 1):
            yield f"{name} {number}", example["files"], example.get("options")
            for place, (files, given_options) in enumerate(legal(example), 1):
                yield f"{name} {number}, look-alike {place}", files, given_options
    for one in incidents():
        yield one.id, one.files, one.options
    for folder in sorted(path for path in EXAMPLES.iterdir() if path.is_dir()):
        found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
        yield folder.name, {name: path.read_text(encoding="utf-8") for name, path in found.items()}, None


def _drawn(number: int, judge: Judge) -> Iterator[tuple[str, Made]]:
    releases = [f"{name}=={text.partition('+')[0]}" for name, text in judge.versions.items()]
    for kind, subject in SUBJECTS.items():
        for one in _sets(subject, number, judge):
            with tempfile.TemporaryDirectory(prefix="stablint-repairs-") as folder:
                put_model(folder)
                write(as_files(kind, one), folder)
                for made in repaired(folder, {"with": releases, "gpu": ["A100-80GB"]}):
                    yield f"drawn {kind}", made


def _sets(subject: Subject, number: int, judge: Judge) -> list[dict[str, Any]]:
    """The same ones every time."""
    kind = "transformers.TrainingArguments" if subject.kind == "trainer+deepspeed" else subject.kind
    sets: list[dict[str, Any]] = []

    @settings(
        max_examples=number, derandomize=True, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck), deadline=None,
    )  # fmt: skip
    @given(arguments(subject, judge.describe(kind)))
    def draw(one: dict[str, Any]) -> None:
        sets.append(one)

    draw()
    return sets


if __name__ == "__main__":
    sys.exit(main())
