# ruff: noqa: E501
"""Every command reaches its output with planted secrets of every vendor and name in reach, and none of them is in it: files, words, settings, house
hazards and baselines. Each answer is known by its exit code and by a word that only a whole answer has; one that was refused tells nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from stablint.cli import main
from tests.sampling import is_sampled, sampled
from tests.security.planted import ADDRESSES, BY_KEY, FILES, LOG, NUMBER, VENDORS
from tests.security.test_secrets import FORMATS, SECRETS, leaked

KEYED = {**dict(VENDORS.values()), **BY_KEY}
# A secret behind a name is hidden by the name; these are known by their shape, wherever they stand.
SHAPED = {key: VENDORS[vendor][1] for vendor, (key, _) in VENDORS.items() if vendor not in {
    "Weights & Biases", "AWS, secret", "AWS, session", "Azure, storage", "Azure, OpenAI", "Comet", "Mistral", "Cohere", "MLflow", "ClearML", "SwanLab",
    "Kaggle", "Alibaba Cloud, secret", "Tencent Cloud, secret",
}}  # fmt: skip
FULL = ["hf.yaml", "run.sh", "train.py", "factory.yaml"]
LOOK = {
    **{f"check, {form}": (["check", ".", "--output-format", form], {1}, "P143|F101|F106") for form in FORMATS},
    "check, statistics": (["check", ".", "--statistics"], {1}, r"\d+ +(error|P143)|P143"),
    "check, facts": (["check", ".", "--show-facts", "--debug", "--verbose"], {1}, "learning_rate"),
    "check, Chinese": (["check", ".", "--lang", "zh"], {1}, "P143"),
    "check, a patch": (["check", ".", "--diff", "--unsafe-fixes", "--select", "F106"], {1}, r"\+\+\+ b/thrice.yaml"),
    "check, one file": (["check", "notebook.ipynb"], {1}, "P143"),
    "check, a file that is broken": (["check", "broken.yaml", "--debug"], {1}, "broken.yaml:"),
    "show": (["show", "hf.yaml"], {0}, "framework"),
    "show, json": (["show", "run.sh", "--output-format", "json"], {0}, '"facts"|"settings"|"runs"'),
    "show, all": (["show", "axolotl.yaml", "ds.json", "accelerate.yaml", "verl.sh", "xtuner.py", "notebook.ipynb"], {0}, "axolotl"),
    "diff": (["diff", "hf.yaml", "plain.yaml"], {0}, "effective settings? differs?"),
    "diff, json": (["diff", "hf.yaml", "factory.yaml", "--output-format", "json"], {0}, '"differences"|"settings"|\\{'),
    "fit": (["fit", "hf.yaml", "--gpu", "T4"], {0, 1}, "T4"),
    "fit, json": (["fit", "run.sh", "--gpu", "T4", "--output-format", "json"], {0, 1}, '"T4'),
    "advise": (["advise", "hf.yaml", "--gpu", "A100-80GB"], {0, 1}, "hf.yaml on A100-80GB"),
    "advise, json": (["advise", "factory.yaml", "--gpu", "A100-80GB", "--output-format", "json"], {0, 1}, '"schema_version"'),
    "advise, a patch": (["advise", "hf.yaml", "--gpu", "A100-80GB", "--diff", "1"], {0, 1, 2}, "."),
    "diagnose": (["diagnose", "train.txt", *FULL[:2]], {1}, "train.txt:"),
    **{f"diagnose, {form}": (["diagnose", "train.txt", "hf.yaml", "--output-format", form], {1}, "nan") for form in ("json", "markdown")},
    "diagnose, a patch": (["diagnose", "train.txt", "hf.yaml", "--diff", "--unsafe-fixes"], {0, 1}, "."),
    "watch": (["watch", "train.txt", "hf.yaml", "--idle", "0", "--interval", "0.01"], {1}, "train.txt:"),
    "migrate": (["migrate", "hf.yaml", "ds.json", "run.sh", "--diff", "--from", "transformers==4.40.0", "--with", "transformers==5.0.0"], {0, 1}, "hf.yaml"),
    "explain": (["explain", "P143"], {0}, "P143"),
    "rules": (["rules", "--output-format", "json"], {0}, "P143"),
    "config": (["config", "hf.yaml"], {0}, "hf.yaml"),
    "schema": (["schema", "training-arguments"], {0}, "learning_rate"),
    "doctor": (["doctor"], {0}, "Python"),
    "completion": (["completion", "bash"], {0}, "_stablint"),
    "template": (["knowledge", "template", "precision", "a-new-rule"], {0}, "id: a-new-rule"),
}  # fmt: skip


OURS = ("rules", "explain", "schema", "completion", "knowledge")


def held(words: list[str], output: str, secrets: list[str]) -> list[str]:
    """Those that an answer holds. In pages of ours a beginning such as `local-` stands by itself."""
    if words[0] in OURS:
        return [secret for secret in secrets if secret in output or secret[-10:] in output]
    return leaked(output, secrets)


def planted(folder: Path) -> None:
    for file in FILES:
        (folder / file.name).write_text(file.text, encoding="utf-8")
    (folder / "train.txt").write_text(LOG, encoding="utf-8")


@pytest.fixture
def project(tmp_path, monkeypatch):
    planted(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answered(capsys, words: list[str]) -> tuple[int, str]:
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 2
    return code, "".join(capsys.readouterr())


@pytest.mark.parametrize("name", sampled(LOOK, 7))
def test_an_answer_about_files_is_whole_and_holds_no_secret(project, name, capsys):
    words, codes, marker = LOOK[name]
    code, output = answered(capsys, words)
    assert code in codes and re.search(marker, output), output[:500]
    assert not held(words, output, SECRETS)


WRITES = {
    "reports": (["check", ".", "--output-format", ",".join(FORMATS), *(word for form in FORMATS for word in ("--output-file", f"o.{form}"))], {1}),
    "a baseline": (["check", ".", "--baseline", "o.json", "--write-baseline"], {0}),
    "a picture of memory": (["fit", "hf.yaml", "--gpu", "A100-80GB", "--plot", "o.svg"], {0, 1}),
    "a picture of a run": (["diagnose", "train.txt", "--plot", "o.svg"], {1}),
    "settings": (["init"], {0}),
    "a new configuration": (["new", "--model", "Qwen/Qwen2.5-7B-Instruct", "--gpu", "RTX 4090 x4", "--framework", "trl", "--output", "o"], {0}),
}  # fmt: skip


@pytest.mark.parametrize("name", sampled(WRITES, 3))
def test_what_is_written_holds_no_secret(project, name, capsys):
    words, codes = WRITES[name]
    before = set(project.rglob("*"))
    code, output = answered(capsys, words)
    made = [path for path in project.rglob("*") if path not in before and path.is_file()]
    assert code in codes and made, output[:500]
    assert not leaked(output + "".join(path.read_text(encoding="utf-8") for path in made))


_SHARES = 8


def share(secrets: dict[str, str], tables: Iterable[str], name: str) -> list[tuple[str, str]]:
    """Those that this row of a table is tried with: each row has its eighth, and each secret is tried in every eighth row."""
    return list(secrets.items())[list(tables).index(name) % _SHARES :: _SHARES]


# ¤ is a secret, « » its name: words of a command line. `shape` alone where no name stands beside it.
WORDS = {
    "an option that is none": (["check", ".", "--«»", "¤"], {2}, "«»|unrecognized"),
    "an option that is none, with its value": (["check", ".", "--«»=¤"], {2}, "«»|unrecognized"),
    "a path": (["check", "«»=¤"], {2}, "does not exist"),
    "paths": (["show", "hf.yaml", "«»=¤"], {0, 1, 2}, "does not exist"),
    "a card": (["check", "hf.yaml", "--gpu", "«»=¤"], {2}, "«»"),
    "a release": (["check", "hf.yaml", "--with", "«»==¤"], {2}, "."),
    "a fact": (["show", "hf.yaml", "--set", "training.«»=¤"], {0, 1, 2}, "."),
    "a rule": (["explain", "«»=¤"], {2}, "no rule is called"),
    "rules": (["check", "hf.yaml", "--select", "«»=¤"], {2}, "."),
    "a format": (["check", ".", "--output-format", "«»=¤"], {2}, "."),
    "a schema": (["schema", "«»=¤"], {2}, "no configuration is called"),
    "a model": (["new", "--model", "«»=¤", "--gpu", "T4", "--framework", "trl"], {1, 2}, "."),
    "a folder": (["new", "--model", "Qwen/Qwen2.5-7B-Instruct", "--gpu", "T4 x8", "--framework", "trl", "--output", "train.txt/«»=¤"], {1, 2}, "."),
    "settings": (["check", ".", "--config", "«»=¤.toml"], {2}, "."),
    "a baseline": (["check", ".", "--baseline", "«»=¤.json"], {2}, "."),
    "a log": (["diagnose", "«»=¤.log"], {2}, "."),
    "a command": (["knowledge", "template", "precision", "«»=¤"], {0, 2}, "."),
    "hazards": (["test-hazards", "«»=¤"], {2}, "."),
    "a shell": (["completion", "«»=¤"], {2}, "."),
    "releases of old": (["migrate", "hf.yaml", "--diff", "--from", "«»==¤", "--with", "transformers==5.0.0"], {0, 1, 2}, "."),
    "a launch": (["run", "--force", "--", "no-such-program", "train.py", "--fp16", "True", "--bf16", "True", "--learning_rate", "1e-5", "--«»", "¤"], {1, 2, 127}, "no-such-program"),
}  # fmt: skip


@pytest.mark.parametrize("name", sampled(WORDS, 4))
def test_an_answer_to_words_holds_none_of_them(project, name, capsys):
    words, codes, marker = WORDS[name]
    for key, value in share(KEYED, WORDS, name):
        given = [word.replace("«»", key).replace("¤", value) for word in words]
        code, output = answered(capsys, given)
        expected = marker.replace("«»", re.escape(key))
        assert code in codes and re.search(expected, output), (given, output[:500])
        assert not leaked(output, [value]), (given, output)


# A word behind the name of a token, in a pattern or the name of a file, is what a pattern of words looks like.
A_WORD = ("hub_token",)
SETTINGS = {
    "select": 'select = ["¤"]',
    "a card": '[[target]]\ngpu = "¤"',
    "a model": 'model = "¤"',
    "releases": '[versions]\n"¤" = "==1"',
    "a range": '[versions]\ntransformers = "¤"',
    "excluded": 'exclude = ["¤"]',
    "a folder of hazards": 'hazards = ["¤"]',
    "a baseline": 'baseline = "¤.json"',
    "extended": 'extend = "¤.toml"',
    "pages": 'pages = "https://x.example.org/{code}?a=¤"',
    "a reason": '[[accept]]\nfile = "hf.yaml"\nrules = ["P143"]\nreason = "¤"',
    "a setting": '[[accept]]\nfile = "¤"\nsetting = "¤"\nrules = ["P143"]',
    "a severity": '[severity]\n"¤" = "info"',
    "a path": '[[per-path]]\npaths = ["¤"]\nignore = ["P143"]',
    "a prefix": '[house]\nprefix = "¤"',
    "packages": '[house]\npackages = ["¤"]',
    "keys": 'extra-keys = ["¤"]',
    "no setting": "¤ = 1",
    "a setting that is none": 'unknown = "¤"',
    "no toml": "select = [¤",
    "a comment": '# ¤\nfail-on = "never"',
}
ASK = (
    ["config", "hf.yaml"],
    ["check", "hf.yaml", "plain.yaml"],
    ["rules"],
    ["show", "hf.yaml"],
    ["fit", "hf.yaml", "--gpu", "T4"],
)


@pytest.mark.parametrize("name", sampled(SETTINGS, 4))
def test_settings_that_hold_a_secret_are_answered_without_it(project, name, capsys):
    text = SETTINGS[name]
    alone = share(SHAPED, SETTINGS, name)
    named = share({key: value for key, value in KEYED.items() if key not in A_WORD}, SETTINGS, name)
    for number, (key, value) in enumerate([*alone, *named]):
        spelled = value if number < len(alone) else f"{key}={value}"
        (project / "stablint.toml").write_text(text.replace("¤", spelled) + "\n", encoding="utf-8")
        words = ASK[number % len(ASK)]
        code, output = answered(capsys, words)
        assert code in (0, 1, 2) and output
        assert not held(words, output, [value]), output


HAZARD = """\
id: acme-rule
code: ACME001
title: "a title ¤"
severity: warning
bites_at: start
when: [training.fp16 is true]
message: "told of `{training.fp16}` ¤"
at: training.fp16
why: "because ¤"
fine_when: "it is ¤"
remedies: [{title: "put ¤ away", safety: manual}]
evidence: {grade: folklore, sources: ["https://wiki.example.com/¤"], note: "seen ¤"}
"""
WRONG_HAZARDS = (
    "severity: ¤",
    "when: [¤]",
    "at: ¤",
    "code: ¤",
    "¤: 1",
    "remedies: ¤",
    "evidence: {grade: ¤}",
    "message: [¤",
    "id: ¤",
)


ONE_IN_THREE = pytest.mark.parametrize("one_in", [3, pytest.param(1, marks=pytest.mark.slow)])


def spellings(one_in: int) -> list[tuple[int, tuple[str, str]]]:
    """Secrets, each with how it is written; numbered, since each is written into another place."""
    every = [
        *((value, value) for value in SHAPED.values()),
        *((f"{key}={value}", value) for key, value in list(KEYED.items())[::3]),
        *ADDRESSES.values(),
    ]
    return [(number, one) for number, one in enumerate(every) if is_sampled(one[0], one_in)]


@ONE_IN_THREE
def test_hazards_of_the_house_that_hold_a_secret_are_told_without_it(project, capsys, one_in):
    (project / "stablint.toml").write_text(
        'hazards = ["h"]\nmin-evidence = "folklore"\n[house]\nprefix = "ACME"\n', encoding="utf-8"
    )
    (project / "h").mkdir()
    told = 0
    for number, (spelled, secret) in spellings(one_in):
        text = HAZARD.replace("¤", spelled.replace('"', ""))
        lines = text.splitlines()
        if number % 3 == 2:
            wrong = WRONG_HAZARDS[number // 3 % len(WRONG_HAZARDS)]
            lines = [line for line in lines if not line.startswith(wrong.partition(":")[0] + ":")] + [
                wrong.replace("¤", spelled)
            ]
        (project / "h" / "a.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        words = (
            ["check", "hf.yaml"],
            ["test-hazards", "h"],
            ["explain", "ACME001"],
            ["rules"],
            ["check", "hf.yaml", "--output-format", "sarif"],
        )[number % 5]
        code, output = answered(capsys, words)
        assert code in (0, 1, 2) and output
        told += "ACME001" in output
        assert not leaked(output, [secret]), (words, output)
    assert told > 20 / one_in


@pytest.mark.slow
def test_baselines_that_hold_a_secret_are_told_without_it(project, capsys):
    told = 0
    for number, (spelled, secret) in spellings(1):
        row = {"file": f"gone/{spelled}.yaml", "rule": "duplicate-key", "fingerprint": "0" * 16, "count": 1}
        row |= ({}, {"rule": spelled}, {"count": spelled}, {"fingerprint": spelled}, {spelled: 1})[number % 5]
        version = spelled if number % 7 == 6 else 1
        (project / "base.json").write_text(json.dumps({"schema_version": version, "findings": [row]}), encoding="utf-8")
        code, output = answered(
            capsys, ["check", "plain.yaml", "--baseline", "base.json", *["--write-baseline"] * (number % 2)]
        )
        assert code in (0, 1, 2) and output
        told += "baseline: not found any more" in output
        assert not leaked(output + (project / "base.json").read_text() * (number % 2 and code == 0), [secret]), output
    assert told > 10


_FACTORY = (
    "llamafactory-cli train --model_name_or_path Qwen/Qwen2-7B --stage sft --do_train true --finetuning_type lora --dataset a --template qwen "
    "--output_dir o --fp16 true --bf16 true --learning_rate 3"
)


def test_the_webhook_s_reply_holds_none():
    from stablint.integrate.kubernetes import reviewed
    from stablint.integrate.texts import asked_of

    every = dict(KEYED)
    files = {file.name: file.text for file in FILES if file.name.endswith((".yaml", ".sh", ".json", ".py"))}
    flags = " ".join(f"--{key} '{value}'" for key, value in BY_KEY.items())
    asks = {
        "files": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": files},
        "a command": {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{
            "name": "a", "env": [{"name": key, "value": value} for key, value in every.items()],
            "command": ["bash", "-c", f"{_FACTORY} --optim $HF_TOKEN {flags}"],
        }]}},
        "a name": {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{
            "name": f"password={every['password']}", "command": [*_FACTORY.split(), "--run_name", every["GROQ_API_KEY"]],
        }]}},
    }  # fmt: skip
    for name, manifest in asks.items():
        review = {"kind": "AdmissionReview", "request": {"uid": "u", "operation": "CREATE", "object": manifest}}
        answer = reviewed(json.loads(json.dumps(review)), asked_of("A100-80GB", None, []))
        assert answer["response"]["allowed"] is False, name
        assert not leaked(json.dumps(answer, ensure_ascii=False)), name


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_server_s_words_hold_none(project, language):
    pytest.importorskip("pygls")
    from tests.security.editor import replies

    files = {file.name: file.text for file in FILES}
    output = replies(project, files, language)
    diagnosed = output.count('"textDocument/publishDiagnostics"')
    assert diagnosed >= len(files) and output.count('"contents"') > 100 and "P143" in output, output[-2000:]
    assert not leaked(output)


def test_a_run_that_is_started_shows_none(project):
    (project / "train.py").write_text("import sys\n", encoding="utf-8")
    flags = [word for key, value in KEYED.items() for word in (f"--{key}", value)]
    training = ["--output_dir", "out", "--learning_rate", "3", "--fp16", "true", "--bf16", "true"]
    for before in ([], ["--force"], ["--debug"]):
        done = subprocess.run(
            [sys.executable, "-m", "stablint", "run", *before, "--", sys.executable, "train.py", *training, *flags, f"--admin_password={NUMBER}"],
            cwd=project, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert "P143" in done.stdout + done.stderr
        assert not leaked(done.stdout + done.stderr)
