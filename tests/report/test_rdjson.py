"""Reviewdog's format: columns in bytes, and suggestions that make the same text as `--fix`."""

from __future__ import annotations

import json

from stablint.report import rdjson
from stablint.report.model import FileEdits, Fix
from stablint.syntax.tree import Edit, Text
from tests.report.hostile import EMPTY, PLANTED, SECRETS, SHAPED, diagnostic, hostile

WIDE = Text("/w/a.yaml", "a.yaml", "名: 𐐀x\nfp16: true\nbf16: false\n")


def rendered(*diagnostics):
    report = EMPTY._replace(diagnostics=diagnostics)
    return json.loads(rdjson.render(report, {}, secrets=SECRETS))["diagnostics"]


def test_is_as_stored(snapshot):
    snapshot("report/rdjson.json", rdjson.render(hostile(), {}, secrets=SECRETS))


def test_columns_count_bytes_of_utf8():
    (one,) = rendered(diagnostic(WIDE, 3, 5))
    assert one["location"]["range"] == {"start": {"line": 1, "column": 6}, "end": {"line": 1, "column": 11}}


def test_several_edits_are_one_suggestion():
    text = WIDE.text
    edits = (
        Edit(text.index("true"), text.index("true") + 4, "false"),
        Edit(text.index("false"), len(text) - 1, "true"),
    )
    (one,) = rendered(diagnostic(WIDE, 7, 11, fix=Fix("safe", "swap", (FileEdits(WIDE, edits),))))
    (suggestion,) = one["suggestions"]
    assert suggestion["text"] == "false\nbf16: true"
    assert suggestion["range"] == {"start": {"line": 2, "column": 7}, "end": {"line": 3, "column": 12}}


def test_no_half_fix_and_no_advice_is_suggested():
    other = Text("/w/b.json", "b.json", "{}")
    both = Fix("safe", "both", (FileEdits(WIDE, (Edit(0, 1, "x"),)), FileEdits(other, (Edit(0, 2, "[]"),))))
    elsewhere = Fix("safe", "there", (FileEdits(other, (Edit(0, 2, "[]"),)),))
    for fix in (both, elsewhere, Fix("manual", "think", ()), None):
        (one,) = rendered(diagnostic(WIDE, 0, 1, fix=fix))
        assert "suggestions" not in one


def test_no_secret_and_nothing_suppressed():
    token = Fix("safe", "move it", (FileEdits(WIDE, (Edit(0, 1, f"token: {PLANTED}"),)),))
    (one,) = rendered(diagnostic(WIDE, 0, 1, fix=token))
    assert "suggestions" not in one
    output = rdjson.render(hostile(), {}, secrets=SECRETS)
    assert PLANTED not in output and SHAPED not in output and "S106" not in output
