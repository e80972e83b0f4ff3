"""JSON Lines: each line is an object of the JSON report."""

from __future__ import annotations

import json

from stablint.report import json as json_report
from stablint.report import jsonl
from tests.report.hostile import EMPTY, PLANTED, SECRETS, SHAPED, hostile


def test_is_as_stored(snapshot):
    snapshot("report/report.jsonl", jsonl.render(hostile(), {}, secrets=SECRETS))


def test_each_line_is_a_diagnostic_of_the_json_report():
    lines = [json.loads(line) for line in jsonl.render(hostile(), {}).split("\n")[:-1]]
    whole = json_report.document(hostile())["diagnostics"]
    masked = [line for line in lines if line["rule"] != "unknown-key"]  # its fix has a token in its title
    assert masked == [d for d in whole if d["suppressed"] is None and d["rule"] != "unknown-key"]


def test_no_secret_and_nothing_but_ascii():
    output = jsonl.render(hostile(), {}, secrets=SECRETS)
    assert output.isascii() and PLANTED not in output and SHAPED not in output


def test_nothing_found_is_an_empty_file():
    assert jsonl.render(EMPTY, {}) == ""
