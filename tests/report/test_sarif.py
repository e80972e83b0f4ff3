"""SARIF 2.1.0: what the standard requires of the parts that we write, and that it says the same as the report.

The official schema is not ours to ship: name a copy in STABLINT_SARIF_SCHEMA to validate against that as well.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest

from stablint.report import sarif
from stablint.report.line_hash import line_hashes
from stablint.report.model import FileEdits, Fix
from stablint.report.sarif import document
from stablint.report.sarif_rules import rules
from stablint.syntax.tree import Edit
from tests.report.hostile import CLEAN, EMPTY, PLANTED, SECRETS, SHAPED, TEXTS, YAML, diagnostic, hostile

REPORTS = {
    "findings": hostile(),
    "nothing to check": EMPTY,
    "nothing found": CLEAN,
    "a hazard raised": EMPTY._replace(internal_errors=("some-hazard in train.yaml: TypeError",)),
}

TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
REGION = {
    "type": "object",
    "required": ["startLine", "startColumn"],
    "additionalProperties": False,
    "properties": {
        name: {"type": "integer", "minimum": 1} for name in ("startLine", "startColumn", "endLine", "endColumn")
    },
}
ARTIFACT = {
    "required": ["uri"],
    "additionalProperties": False,
    "properties": {
        "uri": {"type": "string", "pattern": r"^[!#$%&'()*+,./:;=?@\[\]~\w-]+$"},
        "uriBaseId": {"const": "%SRCROOT%"},
    },
}
LOCATION = {
    "properties": {
        "physicalLocation": {
            "required": ["artifactLocation"],
            "properties": {"artifactLocation": ARTIFACT, "region": REGION},
        },
        "message": TEXT,
    }
}
FIX = {
    "required": ["artifactChanges"],
    "properties": {
        "description": TEXT,
        "artifactChanges": {
            "minItems": 1,
            "items": {
                "required": ["artifactLocation", "replacements"],
                "properties": {
                    "artifactLocation": ARTIFACT,
                    "replacements": {
                        "minItems": 1,
                        "items": {"required": ["deletedRegion"], "properties": {"deletedRegion": REGION}},
                    },
                },
            },
        },
    },
}
RESULT = {
    "required": ["message", "ruleId", "ruleIndex", "level"],
    "properties": {
        "message": TEXT,
        "level": {"enum": ["none", "note", "warning", "error"]},
        "locations": {"minItems": 1, "items": LOCATION},
        "relatedLocations": {"items": LOCATION},
        "partialFingerprints": {
            "required": ["stablint/v1"],
            "additionalProperties": {"type": "string", "minLength": 1},
        },
        "suppressions": {"items": {"required": ["kind"], "properties": {"kind": {"enum": ["inSource", "external"]}}}},
        "fixes": {"minItems": 1, "items": FIX},
    },
}
RULE = {
    "required": ["id", "name", "shortDescription", "fullDescription", "help"],
    "properties": {
        **dict.fromkeys(("shortDescription", "fullDescription", "help"), TEXT),
        "defaultConfiguration": {"properties": {"level": {"enum": ["none", "note", "warning", "error"]}}},
        "properties": {"properties": {"tags": {"type": "array", "uniqueItems": True}}},
    },
}
STANDARD = {
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "items": {
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "properties": {"driver": {"required": ["name"], "properties": {"rules": {"items": RULE}}}}
                    },
                    "invocations": {"items": {"required": ["executionSuccessful"]}},
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {"items": RESULT},
                },
            }
        },
    },
}


def log(report, texts=TEXTS):
    return json.loads(sarif.render(report, texts, secrets=SECRETS))


def run_of(*diagnostics):
    return log(EMPTY._replace(diagnostics=diagnostics))["runs"][0]


def test_is_as_stored(snapshot):
    snapshot("report/report.sarif", sarif.render(hostile(), TEXTS, secrets=SECRETS))


@pytest.mark.parametrize("name", REPORTS)
def test_holds_what_the_standard_requires(name):
    jsonschema.Draft202012Validator(STANDARD).validate(log(REPORTS[name]))


@pytest.mark.skipif(
    "STABLINT_SARIF_SCHEMA" not in os.environ,
    reason="STABLINT_SARIF_SCHEMA names no copy of the schema (oasis-tcs/sarif-spec, sarif-2.1/schema/sarif-schema-2.1.0.json)",
)
@pytest.mark.parametrize("name", REPORTS)
def test_is_valid_against_the_official_schema(name):
    schema = json.loads(Path(os.environ["STABLINT_SARIF_SCHEMA"]).read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)
    validator(schema, format_checker=validator.FORMAT_CHECKER).validate(log(REPORTS[name]))


def test_each_result_points_to_its_rule():
    run = log(hostile())["runs"][0]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_suppressed_results_are_there_and_say_so():
    results = log(hostile())["runs"][0]["results"]
    assert len(results) == len(hostile().diagnostics)
    (suppressed,) = [result for result in results if "suppressions" in result]
    assert suppressed["suppressions"][0]["justification"] == "we know"


@pytest.mark.parametrize(("by", "kind"), [("comment", "inSource"), ("settings", "external"), ("baseline", "external")])
def test_a_suppression_says_whether_it_stands_in_the_source(by, kind):
    (result,) = run_of(diagnostic(YAML, 0, 5, suppressed={"reason": "we know"}, suppressed_by=by))["results"]
    assert [one["kind"] for one in result["suppressions"]] == [kind]


@pytest.mark.parametrize(
    ("name", "artifact"),
    [
        ("configs/train.yaml", {"uri": "configs/train.yaml", "uriBaseId": "%SRCROOT%"}),
        ("a b#c%20?.yaml", {"uri": "a%20b%23c%2520%3F.yaml", "uriBaseId": "%SRCROOT%"}),
        ("名.yaml", {"uri": "%E5%90%8D.yaml", "uriBaseId": "%SRCROOT%"}),
        ("latin\udce9.yaml", {"uri": "latin%E9.yaml", "uriBaseId": "%SRCROOT%"}),
        ("half\ud800.yaml", {"uri": "half%ED%A0%80.yaml", "uriBaseId": "%SRCROOT%"}),
        ("/srv/train.yaml", {"uri": "file:///srv/train.yaml"}),
        ("C:/runs/train.yaml", {"uri": "file:///C:/runs/train.yaml"}),
    ],
)
def test_files_are_addressed_from_the_checkout(name, artifact):
    (result,) = run_of(diagnostic(YAML._replace(name=name), 0, 5))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"] == artifact


def test_a_fix_makes_the_text_that_stablint_makes():
    start = YAML.text.index("fp16")
    fix = Fix("safe", "swap", (FileEdits(YAML, (Edit(start, start + 4, "bf16"),)),))
    (result,) = run_of(diagnostic(YAML, start, start + 4, fix=fix))["results"]
    (change,) = result["fixes"][0]["artifactChanges"]
    (replacement,) = change["replacements"]
    assert replacement["deletedRegion"] == {"startLine": 3, "startColumn": 1, "endLine": 3, "endColumn": 5}
    assert replacement["insertedContent"] == {"text": "bf16"}


def test_no_fix_carries_a_secret():
    fix = Fix("safe", "move", (FileEdits(YAML, (Edit(0, 0, f"token: {PLANTED}\n"),)),))
    assert "fixes" not in run_of(diagnostic(YAML, 0, 5, fix=fix))["results"][0]
    output = sarif.render(hostile(), TEXTS, secrets=SECRETS)
    assert PLANTED not in output and SHAPED not in output


def test_no_text_of_a_file_becomes_a_link():
    (result,) = run_of(diagnostic(YAML, 0, 5, message="`[here](https://example.org)` is unknown"))["results"]
    assert "](" not in result["message"]["text"]


# Values that GitHub's own upload action is tested with (github/codeql-action, src/fingerprints.test.ts).
HASHES = [
    ("", ["c129715d7a2bc9a3:1"]),
    (" a\nb\n  \t\tc\n d", ["271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"]),
    *(
        (
            text,
            ["e9496ae3ebfced30:1", "fb7c023a8b9ccb3f:1", "ce8ba1a563dcdaca:1", "e20e36e16fcb0cc8:1", "b3edc88f2938467e:1",
             "c8e28b0b4002a3a0:1", "c129715d7a2bc9a3:1"],
        )
        for text in (
            " hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End\n",
            " hello; \t\nworld!!!\r\r\r  \t\tGreetings\r End\r",
            " hello; \t\r\nworld!!!\r\n\r\n\r\n  \t\tGreetings\r\n End\r\n",
            " hello; \t\nworld!!!\r\n\n\r  \t\tGreetings\r End\r\n",
        )
    ),
    (
        "Lorem ipsum dolor sit amet.\n" * 10,
        [*(f"a7f2ff13bc495cf2:{n}" for n in range(1, 7)), "a7f2ff1481e87703:1", "a9cf91f7bbf1862b:1", "55ec222b86bcae53:1",
         "cc97dc7b1d7d8f7b:1", "c129715d7a2bc9a3:1"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), HASHES)
def test_a_line_is_known_as_github_knows_it(text, expected):
    assert list(line_hashes(text)) == expected


def test_a_result_has_the_hash_of_its_line():
    log = document(hostile(), TEXTS, SECRETS)
    told = [
        (one["partialFingerprints"].get("primaryLocationLineHash"), one["locations"][0])
        for one in log["runs"][0]["results"]
    ]
    assert any(hash for hash, _ in told)
    assert all((hash is not None) == ("physicalLocation" in place) for hash, place in told)


@pytest.mark.parametrize(
    ("grade", "precision"),
    [
        ("proven-in-source", "very-high"),
        ("reproduced", "very-high"),
        ("maintainer-confirmed", "high"),
        ("reported", "medium"),
        ("folklore", "low"),
    ],
)
def test_a_rule_is_as_precise_as_its_evidence(grade, precision):
    one = diagnostic(YAML, 0, 5)
    (rule,) = rules([one], {one.rule: {"evidence": {"grade": grade}}})
    assert rule["properties"]["precision"] == precision
