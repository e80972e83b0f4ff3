"""GitLab code quality: required keys, its words for severities, fingerprints that never repeat in one report."""

from __future__ import annotations

import json

import jsonschema
import pytest

from stablint.report import gitlab
from tests.report.hostile import CLEAN, EMPTY, PLANTED, SECRETS, SHAPED, YAML, diagnostic, hostile

# From docs.gitlab.com, "Code Quality report format".
FORMAT = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "minLength": 1, "not": {"pattern": "^\\./"}},
                    "lines": {"required": ["begin"], "properties": {"begin": {"type": "integer", "minimum": 1}}},
                },
            },
        },
    },
}


def issues(report):
    return json.loads(gitlab.render(report, {}, secrets=SECRETS))


def test_is_as_stored(snapshot):
    snapshot("report/gitlab.json", gitlab.render(hostile(), {}, secrets=SECRETS))


@pytest.mark.parametrize("report", [hostile(), EMPTY, CLEAN], ids=["findings", "nothing to check", "nothing found"])
def test_keeps_the_format(report):
    jsonschema.Draft202012Validator(FORMAT).validate(issues(report))


def test_fingerprints_are_unique_and_stay_the_same():
    twice = diagnostic(YAML, 0, 5)
    elsewhere = diagnostic(YAML._replace(name="copy.yaml"), 0, 5)
    report = EMPTY._replace(diagnostics=(twice, twice, elsewhere))
    prints = [issue["fingerprint"] for issue in issues(report)]
    assert len(set(prints)) == 3
    assert prints == [issue["fingerprint"] for issue in issues(report)]
    assert prints[2] == issues(EMPTY._replace(diagnostics=(elsewhere,)))[0]["fingerprint"], "others do not matter"


def test_a_span_that_ends_with_its_line_ends_on_that_line():
    whole_line = YAML.text.index("hub_token")
    (issue,) = issues(EMPTY._replace(diagnostics=(diagnostic(YAML, 0, whole_line),)))
    assert issue["location"]["lines"] == {"begin": 1, "end": 1}


def test_no_secret_and_nothing_suppressed():
    output = gitlab.render(hostile(), {}, secrets=SECRETS)
    assert PLANTED not in output and SHAPED not in output
    assert "S106" not in output
