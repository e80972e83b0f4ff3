"""Accepted findings: comments of each format, settings, and what is said of suppressions that do nothing."""

from __future__ import annotations

from typing import Any

import pytest

from stablint.cli import main
from stablint.config.options import options
from stablint.engine.inspect import inspect
from stablint.policy import Accepted, Policies, Policy
from stablint.syntax.tree import Text
from tests.notebooks import notebook

HEAD = "output_dir: out\nlearning_rate: 1.0e-5\n"
PYTHON = "from transformers import TrainingArguments\n\n"
PLAIN_PYTHON = PYTHON + "args = TrainingArguments(\n    output_dir='out',\n    fp16=True,\n    bf16=True,\n)\n"
SHELL = (
    "#!/bin/bash\n# one card\naccelerate launch train.py \\\n  --output_dir out \\\n  --fp16 True \\\n  --bf16 True\n"
)

CELL = "%%writefile t.yaml\n" + HEAD + "run_name: 'a # b'\nfp16: true\nbf16: true\n"
WRITES = "cat > t.yaml <<'EOF'\n" + HEAD + "run_name: 'a # b'\nfp16: true\nbf16: true\nEOF\npython train.py t.yaml\n"


def report(folder, files: dict[str, str], policy: Policy | None = None, known=None) -> Any:
    for name, text in files.items():
        (folder / name).write_bytes(text.encode())
    policies = None if policy is None else Policies(policy)
    return inspect(["."], options()._replace(policies=policies), base=str(folder), known=known).report


def shown(found: Any) -> dict[str, str | None]:
    """Code → the reason that it is suppressed for, or None."""
    return {d.code: d.suppressed and d.suppressed["reason"] for d in found.diagnostics if d.code[0] in "PS"}


SUPPRESSED = {
    "behind the setting": ("train.yaml", HEAD + "fp16: true  # stablint: ignore[P143] -- why\nbf16: true\n"),
    "by its name": ("train.yaml", HEAD + "fp16: true  # stablint: ignore[fp16-and-bf16] -- why\nbf16: true\n"),
    "by the beginning of its code": ("train.yaml", HEAD + "fp16: true  # stablint: ignore[P1] -- why\nbf16: true\n"),
    "on the line above": ("train.yaml", HEAD + "# stablint: ignore[P143] -- why\nfp16: true\nbf16: true\n"),
    "above, among other comments": ("train.yaml", HEAD + "# stablint: ignore[P143] -- why\n# old card\nfp16: true\nbf16: true\n"),
    "behind another comment": ("train.yaml", HEAD + "fp16: true  # old # stablint: ignore[P143] -- why\nbf16: true\n"),
    "the value below its key": ("train.yaml", HEAD + "fp16:  # stablint: ignore[P143] -- why\n  true\nbf16: true\n"),
    "Windows line ends": ("train.yaml", (HEAD + "fp16: true  # stablint: ignore[P143] -- why\nbf16: true\n").replace("\n", "\r\n")),
    "the whole file": ("train.yaml", "# stablint: ignore-file[P143] -- why\n---\n" + HEAD + "fp16: true\nbf16: true\n"),
    "Python": ("train.py", PLAIN_PYTHON.replace("fp16=True,\n", "fp16=True,  # stablint: ignore[P143] -- why\n", 1)),
    "Python, above": ("train.py", PLAIN_PYTHON.replace("    fp16", "    # stablint: ignore[P143] -- why\n    fp16", 1)),
    "Python, file": ("train.py", '"""Doc."""\n# stablint: ignore-file[P143] -- why\n' + PLAIN_PYTHON),
    "shell, above the command": ("train.sh", SHELL.replace("# one card", "# stablint: ignore[P143] -- why")),
    "shell, behind the command": ("train.sh", SHELL.replace("bf16 True", "bf16 True  # stablint: ignore[P143] -- why")),
    "a file that a script writes": ("train.sh", WRITES.replace("fp16: true", "fp16: true  # stablint: ignore[P143] -- why")),
    "a file that a script writes, above": ("train.sh", WRITES.replace("fp16: true", "# stablint: ignore[P143] -- why\nfp16: true")),
    "a file that a script writes, its head": ("train.sh", WRITES.replace("output_dir", "# stablint: ignore-file[P143] -- why\noutput_dir")),
    "a file that a cell writes": ("train.ipynb", notebook(CELL.replace("fp16: true", "fp16: true  # stablint: ignore[P143] -- why"))),
    "shell, file": ("train.sh", SHELL.replace("# one card", "# stablint: ignore-file[P143] -- why")),
}  # fmt: skip


@pytest.mark.parametrize("case", SUPPRESSED.values(), ids=SUPPRESSED)
def test_suppressed_and_still_in_the_report(case, tmp_path):
    name, text = case
    assert shown(report(tmp_path, {name: text})) == {"P143": "why"}


NOT_SUPPRESSED = {
    "in a text": ("train.yaml", HEAD + 'run_name: "a # stablint: ignore[P143] -- why"\nfp16: true\nbf16: true\n'),
    "in a block of text": (
        "train.yaml",
        HEAD + "run_name: |\n  a\n  # stablint: ignore-file[P143] -- why\nfp16: true\nbf16: true\n",
    ),
    "in a Python text": ("train.py", 'note = """\n# stablint: ignore-file[P143] -- why\n"""\n' + PLAIN_PYTHON),
    "in a here-document": (
        "train.sh",
        "cat <<EOF\n# stablint: ignore[P143] -- why\nEOF\n" + SHELL.replace("# one card\n", ""),
    ),
    "in a quoted word": ("train.sh", "echo '\n# stablint: ignore[P143] -- why\n'\n" + SHELL),
}


@pytest.mark.parametrize("case", NOT_SUPPRESSED.values(), ids=NOT_SUPPRESSED)
def test_what_only_looks_like_a_comment_counts_for_nothing(case, tmp_path):
    name, text = case
    assert shown(report(tmp_path, {name: text})) == {"P143": None}


FAULTS = {
    "another rule": ("fp16: true  # stablint: ignore[S101]\nbf16: true\n", {"P143": None, "S111": None}),
    "one of two": ("fp16: true  # stablint: ignore[P143, S101] -- why\nbf16: true\n", {"P143": "why", "S111": None}),
    "another line": (
        "fp16: true\nbf16: true\nlogging_steps: 1  # stablint: ignore[P143] -- why\n",
        {"P143": None, "S111": None},
    ),
    "above another line": (
        "fp16: true\nbf16: true\n# stablint: ignore[P143] -- why\nlogging_steps: 1\n",
        {"P143": None, "S111": None},
    ),
    "no such rule": ("fp16: true  # stablint: ignore[P999] -- why\nbf16: true\n", {"P143": None, "S112": None}),
    "no rule at all": ("fp16: true  # stablint: ignore\nbf16: true\n", {"P143": None, "S112": None}),
    "empty brackets": ("fp16: true  # stablint: ignore[] -- why\nbf16: true\n", {"P143": None, "S112": None}),
    "misspelled": ("fp16: true  # stablint: ingore[P143]\nbf16: true\n", {"P143": None, "S112": None}),
    "the file, below its head": (
        "fp16: true\nbf16: true  # stablint: ignore-file[P143] -- why\n",
        {"P143": None, "S112": None},
    ),
}


@pytest.mark.parametrize("case", FAULTS.values(), ids=FAULTS)
def test_suppressions_that_do_nothing_are_findings(case, tmp_path):
    text, expected = case
    assert shown(report(tmp_path, {"train.yaml": HEAD + text})) == expected


@pytest.mark.parametrize(
    ("comment", "told"),
    [
        ("file-ignore[P143] -- why", "did you mean `ignore-file[P143] -- reason`?"),
        ("ignroe[P143] -- why", "did you mean `ignore[P143] -- reason`?"),
        ("ignore-flie[P143]", "did you mean `ignore-file[P143] -- reason`?"),
        ("disable=P143", "did you mean `ignore[P143] -- reason`?"),
        ("noqa: P143, P101", "did you mean `ignore[P143, P101] -- reason`?"),
        ("ignore P143", "did you mean `ignore[P143] -- reason`?"),
        ("ignore", "did you mean `ignore[CODE] -- reason`?"),
        ("checks this file", "write `stablint: ignore[CODE] -- reason`"),
        ("ignore[P1O1] -- why", "no rule is called `P1O1` or begins so: did you mean `P101`?"),
    ],
)
def test_a_comment_that_suppresses_nothing_says_what_was_meant(tmp_path, comment, told):
    found = report(tmp_path, {"train.yaml": f"# stablint: {comment}\n" + HEAD + "fp16: true\n"})
    (said,) = [one.message for one in found.diagnostics if one.rule == "unknown-suppression"]
    assert said.endswith(told)


def test_a_rule_that_was_not_checked_condemns_nobody(tmp_path):
    text = HEAD + "fp16: true  # stablint: ignore[P143] -- why\n"
    assert shown(report(tmp_path, {"train.yaml": text})) == {"S111": None}
    assert shown(report(tmp_path, {"train.yaml": text}, known=())) == {}


def test_a_rule_that_waits_for_the_gpu_condemns_nobody(tmp_path):
    text = HEAD + "model_name_or_path: Qwen/Qwen2-7B\nbf16: true  # stablint: ignore[{}]\n"
    bare = report(tmp_path, {"train.yaml": text.format("P999")})
    waiting = [row.rule for row in bare.undetermined]
    assert waiting
    assert "S111" not in shown(report(tmp_path, {"train.yaml": text.format(waiting[0])}))


def test_reasons_are_asked_for_on_request(tmp_path):
    text = {"train.yaml": HEAD + "fp16: true  # stablint: ignore[P143]\nbf16: true\n"}
    assert "S113" not in shown(report(tmp_path, text))
    assert "S113" in shown(report(tmp_path, text, Policy(require_reasons=True)))


def test_a_file_that_is_no_configuration_may_say_what_it_likes(tmp_path):
    assert shown(report(tmp_path, {"compose.yaml": "# stablint: nonsense\nservices: {}\n"})) == {}


DEEPSPEED = '{"train_micro_batch_size_per_gpu": 4, "fp16": {"enabled": true}, "bf16": {"enabled": true}, "zero_optimization": {"stage": 1}}\n'


def accepted(folder, **changes: Any) -> Policy:
    row = {"file": "ds.json", "setting": None, "rules": ("P",), "reason": "why"} | changes
    text = Text(str(folder / "stablint.toml"), "stablint.toml", "[[accept]]\n")
    return Policy(str(folder), accepted=(Accepted(**row, text=text, start=0),))


def test_json_is_suppressed_by_the_settings(tmp_path):
    bare = report(tmp_path, {"ds.json": DEEPSPEED})
    (finding,) = [d for d in bare.diagnostics if d.code[0] == "P"]
    for policy in (
        accepted(tmp_path),
        accepted(tmp_path, setting=finding.setting),
        accepted(tmp_path, file=None),
        accepted(tmp_path, file="*.json"),
    ):
        assert set(shown(report(tmp_path, {"ds.json": DEEPSPEED}, policy)).values()) == {"why"}


def test_settings_that_accept_nothing_are_findings_in_the_settings_file(tmp_path):
    (finding,) = [d for d in report(tmp_path, {"ds.json": DEEPSPEED}).diagnostics if d.code[0] == "P"]
    elsewhere = accepted(tmp_path, setting="optimizer", rules=(finding.code,))
    for policy, code in ((elsewhere, "S111"), (accepted(tmp_path, rules=("P999",)), "S112")):
        found = report(tmp_path, {"ds.json": DEEPSPEED}, policy)
        (problem,) = [d for d in found.diagnostics if d.code == code]
        assert problem.text.name == "stablint.toml"


def test_settings_about_files_that_were_not_read_say_nothing(tmp_path):
    assert "S111" not in shown(report(tmp_path, {"ds.json": DEEPSPEED}, accepted(tmp_path, file="other.json")))


def test_files_may_be_left_out(tmp_path):
    (tmp_path / "old").mkdir()
    text = HEAD + "fp16: true\nbf16: true\n"
    found = report(tmp_path, {"a.yaml": text, "old/b.yaml": text}, Policy(str(tmp_path), exclude=("old/",)))
    assert [status.file for status in found.files] == ["a.yaml"]


def test_keys_of_the_house_are_no_misspelled_ones(tmp_path):
    text = {"train.py": PYTHON + "args = TrainingArguments(output_dir='out', loging_steps=5)\n"}
    assert [d.rule for d in report(tmp_path, text).diagnostics if d.setting == "loging_steps"]
    assert not report(tmp_path, text, Policy(str(tmp_path), extra_keys=("loging_*",))).diagnostics


# A file with suppressions that do nothing, and what --fix leaves of it.
TIDIED = {
    "one rule": ("train.yaml", "bf16: true  # stablint: ignore[P143] -- why\n", "bf16: true\n"),
    "alone on its line": ("train.yaml", "# stablint: ignore[P143] -- why\nbf16: true\n", "bf16: true\n"),
    "behind another comment": ("train.yaml", "bf16: true  # wide # stablint: ignore[P143]\n", "bf16: true  # wide\n"),
    "the first of two": (
        "train.yaml",
        "fp16: true  # stablint: ignore[S101, P143] -- why\nbf16: true\n",
        "fp16: true  # stablint: ignore[P143] -- why\nbf16: true\n",
    ),
    "the last of two": (
        "train.yaml",
        "fp16: true  # stablint: ignore[P143 , S101] -- why\nbf16: true\n",
        "fp16: true  # stablint: ignore[P143] -- why\nbf16: true\n",
    ),
    "both": ("train.yaml", "bf16: true  # stablint: ignore[P143,S101] -- why\n", "bf16: true\n"),
    "one that nobody knows": (
        "train.yaml",
        "bf16: true  # stablint: ignore[P999, P143]\n",
        "bf16: true  # stablint: ignore[P999]\n",
    ),
}


@pytest.mark.parametrize("case", TIDIED.values(), ids=TIDIED)
def test_a_suppression_that_does_nothing_is_taken_out(case, tmp_path, monkeypatch):
    name, text, left = case
    (tmp_path / name).write_text(HEAD + text)
    monkeypatch.chdir(tmp_path)
    main(["check", "--fix", "--isolated", name])
    assert (tmp_path / name).read_text() == HEAD + left


def test_in_a_script_and_a_program_as_well(tmp_path, monkeypatch):
    (tmp_path / "run.sh").write_text("# stablint: ignore[S101]\ntorchrun train.py --bf16 True --output_dir out\n")
    (tmp_path / "train.py").write_text(
        'from transformers import TrainingArguments\nargs = TrainingArguments("out", bf16=True)  # stablint: ignore[P143]\n'
    )
    monkeypatch.chdir(tmp_path)
    main(["check", "--fix", "--isolated", "."])
    assert (tmp_path / "run.sh").read_text() == "torchrun train.py --bf16 True --output_dir out\n"
    assert (tmp_path / "train.py").read_text().endswith("bf16=True)\n")
