"""What other people's runs have died of is found, and repaired where it says so; the healthy twins stay in peace."""

from __future__ import annotations

import pytest

from tests.incidents import Incident, incidents, judge

CASES = list(incidents())


@pytest.mark.parametrize("incident", [one for one in CASES if one.kind == "fault"], ids=lambda one: one.id)
def test_the_fault_is_found(incident: Incident, tmp_path):
    verdict = judge(incident, tmp_path)
    assert verdict.found
    assert len(set(verdict.loud)) <= 4  # different rules: one that is told of four arguments is one fault
    assert verdict.repaired or not incident.repaired


@pytest.mark.parametrize("incident", [one for one in CASES if one.kind == "innocent"], ids=lambda one: one.id)
def test_the_innocent_is_left_in_peace(incident: Incident, tmp_path):
    verdict = judge(incident, tmp_path)
    assert not verdict.found
    assert len(verdict.loud) <= 1


@pytest.mark.parametrize("incident", [one for one in CASES if one.kind == "unseen"], ids=lambda one: one.id)
def test_what_the_files_cannot_tell_is_not_guessed(incident: Incident, tmp_path):
    assert not judge(incident, tmp_path).found


def test_every_incident_names_its_thread_and_its_own_words():
    assert len({one.id for one in CASES}) == len(CASES)
    assert all(one.thread.startswith("https://github.com/") and one.told.endswith(".") for one in CASES)
