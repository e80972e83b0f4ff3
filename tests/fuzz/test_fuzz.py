"""A bounded piece of the fuzzing that benchmarks/fuzzing.py does without an end, and every case that once was bad."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from stablint.compiling.reading import LOADER
from tests.fuzz import grammar, judge
from tests.fuzz.choices import Bytes, Choices, Randomness, seeded
from tests.sampling import sampled

PAST: list[dict[str, Any]] = yaml.load((Path(__file__).parent / "past.yaml").read_text(encoding="utf-8"), LOADER)
COMMANDS = (("check", "."), ("check", "--diff", "--unsafe-fixes", "."))


@pytest.fixture(scope="module", autouse=True)
def watched() -> None:
    judge.warm_up()
    judge.watch()


def past(row: dict[str, Any]) -> dict[str, str]:
    files = dict(row["files"])
    if repeat := row.get("repeat"):
        lines = (repeat["text"].replace("{n1}", str(n + 1)).replace("{n}", str(n)) for n in range(repeat["times"]))
        files[repeat["file"]] += "".join(lines) + repeat.get("end", "")
    return files


@pytest.mark.parametrize("row", PAST, ids=lambda row: row["name"])
def test_what_was_bad_once(row: dict[str, Any], tmp_path: Path) -> None:
    for command in [row["command"]] if "command" in row else COMMANDS:
        assert judge.run(grammar.Case(past(row), tuple(command)), tmp_path / "project").faults == ()


@pytest.mark.parametrize("kind", sampled(grammar.KINDS, 6))
def test_no_project_breaks_anything(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp(kind) / "project"

    @settings(
        max_examples={"hazards": 5, "baseline": 20, "folder": 8}.get(kind, 30),
        derandomize=True,  # a new find belongs into benchmarks/fuzzing.py's runs and then into past.yaml, not into somebody's red build
        suppress_health_check=list(HealthCheck),
        database=None,
        phases=[
            Phase.explicit,
            Phase.generate,
        ],  # a find is a case by its number; making it smaller takes minutes where it is a matter of time
    )
    @given(st.randoms(use_true_random=False))
    def law(generator: Any) -> None:
        case = grammar.KINDS[kind](Choices(Randomness(generator)))
        assert judge.run(case, folder).faults == (), case

    law()


def test_a_case_is_made_by_its_number_alone() -> None:
    assert [grammar.case(seeded(f"0:{n}")) for n in range(20)] == [grammar.case(seeded(f"0:{n}")) for n in range(20)]


def test_bytes_make_cases_too() -> None:
    assert all(grammar.KINDS[kind](Choices(Bytes(bytes(range(256)) * 4))).files for kind in grammar.KINDS)


# The judge must be able to find each kind of fault.
PLANTED = {
    "a traceback": ("raise ValueError('planted')", "ValueError: planted"),
    "an exit code of its own": ("return 7", "exit code 7"),
    "a program": ("import subprocess; subprocess.run(['true']); return 0", "subprocess.Popen"),
    "a write": ("open('x', 'w').close(); return 0", "wrote 'x'"),
    "a socket": ("import socket; socket.socket().close(); return 0", "socket."),
    "time": ("import time\n    end = time.process_time() + 2.2\n    while time.process_time() < end: pass\n    return 0", "s of CPU"),
    "a word of ours": ("import sys; sys.stderr.write('this is a bug'); return 1", "this is a bug"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("body", "fault"), PLANTED.values(), ids=PLANTED)
def test_the_judge_sees(body: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, Any] = {}
    exec(f"def main(words):\n    {body}", made)  # noqa: S102 a command that does what none of ours may
    monkeypatch.setattr(judge, "main", made["main"])
    monkeypatch.setattr(judge, "slowness", lambda: 1.0)
    outcome = judge.run(grammar.Case({"a.yaml": "a: 1\n"}, ("check", ".")), tmp_path / "project")
    assert any(fault in one for one in outcome.faults)
