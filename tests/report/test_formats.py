"""Each format against its stored output, on a report whose every text is hostile; and what holds for all of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from stablint.report import concise, explain, full, rules, show
from stablint.report import json as json_report
from stablint.secrets.masking import mask
from tests.report.hostile import CLEAN, EMPTY, EXPLAIN, PLANTED, RECIPES, SECRETS, SHAPED, SHOW, TEXTS, hostile

SCHEMAS = Path(__file__).parents[2] / "schemas"

# As the command line does it: rendered, then masked.
OUTPUTS = {
    "full.txt": mask(full.render(hostile(), TEXTS, secrets=SECRETS), SECRETS),
    "full-color.txt": mask(full.render(hostile(), TEXTS, color=True, secrets=SECRETS, fixed=2), SECRETS),
    "concise.txt": mask(concise.render(hostile()), SECRETS),
    "report.json": mask(json_report.render(hostile()), SECRETS),
    "show.txt": mask(show.render(SHOW, secrets=SECRETS), SECRETS),
    "show.json": mask(show.render_json(SHOW), SECRETS),
    "explain.txt": mask(explain.render(EXPLAIN, RECIPES), SECRETS),
}
each_output = pytest.mark.parametrize("name", OUTPUTS)
HOSTILE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
COLOR = re.compile(r"\x1b\[[0-9;]*m")


@each_output
def test_is_as_stored(name, snapshot):
    snapshot(f"report/{name}", OUTPUTS[name])


@each_output
def test_nothing_reaches_the_terminal_that_moves_its_cursor(name):
    assert not HOSTILE.search(COLOR.sub("", OUTPUTS[name]) if "color" in name else OUTPUTS[name])


@each_output
def test_no_secret_is_echoed(name):
    assert PLANTED not in OUTPUTS[name]
    assert SHAPED not in OUTPUTS[name]
    assert SHAPED[-16:] not in OUTPUTS[name]


def test_the_json_report_keeps_its_contract():
    schema = json.loads((SCHEMAS / "report.schema.json").read_text(encoding="utf-8"))
    for report in (hostile(), EMPTY, CLEAN):
        jsonschema.Draft202012Validator(schema).validate(json.loads(json_report.render(report)))


@pytest.mark.parametrize("report", [EMPTY, CLEAN], ids=["nothing to check", "nothing found"])
def test_without_findings(report, snapshot):
    name = "empty" if report is EMPTY else "clean"
    snapshot(f"report/{name}.txt", full.render(report, {}))
    assert full.render(report, {}) == concise.render(report)


def test_suppressed_findings_are_in_the_json_report_only():
    document = json.loads(OUTPUTS["report.json"])
    assert [d["suppressed"] for d in document["diagnostics"] if d["rule"] == "silenced"] == [{"reason": "we know"}]
    assert document["summary"]["infos"] == 2
    assert "silenced" not in OUTPUTS["full.txt"] + OUTPUTS["concise.txt"]


def test_rules_are_a_table(snapshot):
    table = [{"code": "P101", "id": "a-long-name", "severity": "error", "title": "one"}]
    table += [{"code": "T201", "id": "short", "severity": "warning", "title": "two"}]
    snapshot("report/rules.txt", rules.render(table))
    assert [rule["code"] for rule in json.loads(rules.render_json(table))["rules"]] == ["P101", "T201"]
