"""What all tests share: stored outputs (`--update` stores them anew) and hypothesis without deadlines."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

from stablint.hardware import probes

os.environ.pop("COLUMNS", None)  # xdist says 80 to its workers, and a report is as wide as that says

os.environ["LC_ALL"] = "C.UTF-8"  # stablint speaks the language of the locale, and the tests expect English

probes.LIMIT = (
    60.0  # a child that asks for the GPUs may take longer than a user would wait where other tests have the cores
)

SNAPSHOTS = Path(__file__).parent / "snapshots"

# A deadline would measure the machine, not the code.
hypothesis.settings.register_profile("stablint", deadline=None, print_blob=True)
hypothesis.settings.load_profile("stablint")


def pytest_collection_finish() -> None:
    """What was collected stays to the end: no search for garbage goes through seventeen thousand tests again."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="store what the tests get as what they expect")


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`snapshot(name, text)` compares the text with tests/snapshots/<name>, byte for byte."""

    def compare(name: str, text: str) -> None:
        path = SNAPSHOTS / name
        if request.config.getoption("--update"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8"))
        assert path.exists(), f"no snapshot {name}: run pytest --update and read what it stores"
        assert text == path.read_bytes().decode("utf-8")

    return compare


@pytest.fixture
def interruptible():
    """Ctrl-C reaches the test, and the programs that it starts, also where whoever started the tests put them into the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
