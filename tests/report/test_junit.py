"""JUnit XML: always well-formed, whatever stands in the files."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.report import junit
from tests.report.hostile import CLEAN, EMPTY, PLANTED, SECRETS, SHAPED, TEXTS, YAML, diagnostic, hostile


def test_is_as_stored(snapshot):
    snapshot("report/junit.xml", junit.render(hostile(), TEXTS, secrets=SECRETS))


@pytest.mark.parametrize("report", [hostile(), CLEAN, EMPTY], ids=["findings", "nothing found", "nothing to check"])
def test_the_counts_are_those_of_the_elements(report):
    root = ElementTree.fromstring(junit.render(report, TEXTS))
    for element in (root, *root.findall("testsuite")):
        assert int(element.get("tests")) == len(list(element.iter("testcase")))
        assert int(element.get("failures")) == len(list(element.iter("failure")))


def test_a_file_without_findings_is_a_passed_case():
    root = ElementTree.fromstring(junit.render(CLEAN, {}))
    assert next(case.get("classname") for case in root.iter("testcase")) == "train.yaml"
    assert not list(root.iter("failure"))


def test_where_nothing_is_to_be_checked_there_is_a_passed_case():
    """A collector of results takes a report without one for a run that broke off."""
    root = ElementTree.fromstring(junit.render(EMPTY, {}))
    (case,) = root.iter("testcase")
    assert case.get("name") == "no training configuration" and root.get("tests") == "1" and root.get("failures") == "0"


@given(st.text(), st.text(min_size=1))
def test_any_text_of_a_file_is_text_of_the_report(message, name):
    one = diagnostic(YAML._replace(name=name), 0, 5, message=message)
    root = ElementTree.fromstring(junit.render(EMPTY._replace(diagnostics=(one,)), {}).encode("utf-8"))
    (failure,) = root.iter("failure")
    if message.isprintable() and name.isprintable():
        assert failure.get("message") == message
        assert root[0].get("name") == name


def test_a_secret_is_masked_before_it_is_escaped():
    one = diagnostic(YAML, 0, 5, message='the token is a<secret>&"word"')
    output = junit.render(EMPTY._replace(diagnostics=(one,)), {}, secrets=frozenset({'a<secret>&"word"'}))
    assert "secret" not in output
    output = junit.render(hostile(), TEXTS, secrets=SECRETS)
    assert PLANTED not in output and SHAPED not in output


def test_suppressed_findings_are_left_out():
    assert "silenced" not in junit.render(hostile(), TEXTS)
