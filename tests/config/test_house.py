"""Hazards of the house: they are checked, shown and tested like the built-in ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from stablint.cli import main

RULE = """\
id: house-seed
code: T901
title: a run of the house without its seed
severity: error
bites_at: never-visibly
when:
  - training.seed is-set
  - training.seed is-not 1234
fine_when: never here
message: "`{training.seed}`: runs of the house have the seed 1234"
at: training.seed
why: The house compares runs, and compares them by one seed.
remedies:
  - title: take the seed of the house
    set: {training.seed: 1234}
    safety: safe
evidence:
  grade: reproduced
  sources: ["https://example.com/house-rules"]
examples:
  - dialect: trl
    files:
      train.yaml: |
        output_dir: out
        learning_rate: 1.0e-5
        seed: 7
    fixed:
      train.yaml: |
        output_dir: out
        learning_rate: 1.0e-5
        seed: 1234
    near:
      - {file: train.yaml, replace: ["seed: 7", "seed: 1234"]}
"""
TRAIN = "output_dir: out\nlearning_rate: 1.0e-5\nseed: 7\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "seed.yaml").write_text(RULE)
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "train.yaml").write_text(TRAIN)
    (tmp_path / "stablint.toml").write_text('hazards = ["rules"]\n')
    return tmp_path


def test_it_is_found_and_explained(here, capsys):
    assert main(["configs"]) == 1
    told = capsys.readouterr().out
    assert "T901" in told and "compares runs" in " ".join(told.split())
    assert main(["configs", "--isolated"]) == 0


def test_explain_and_rules_know_it(here, capsys):
    assert main(["explain", "T901", "house-seed"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.count("compares runs") == 2 and "seed: 1234" in told
    assert main(["rules"]) == 0
    assert "house-seed" in capsys.readouterr().out
    assert main(["rules", "--isolated", "--output-format", "json"]) == 0
    assert "house-seed" not in capsys.readouterr().out
    assert main(["explain", "T901", "--isolated"]) == 2
    capsys.readouterr()
    assert main(["explain", "house-sede"]) == 2
    assert "did you mean `house-seed`" in capsys.readouterr().err


def test_it_can_be_selected_ignored_weighed_and_suppressed(here):
    assert main(["configs", "--select", "T901"]) == 1
    assert main(["configs", "--ignore", "house-seed"]) == 0
    (here / "stablint.toml").write_text('hazards = ["rules"]\n[severity]\nT901 = "info"\n')
    assert main(["configs"]) == 0
    (here / "stablint.toml").write_text('hazards = ["rules"]\n')
    (here / "configs" / "train.yaml").write_text(TRAIN.replace("seed: 7", "seed: 7  # stablint: ignore[T901] -- why"))
    assert main(["configs", "--fail-on", "info", "--select", "T901,S"]) == 0


def test_it_repairs(here):
    assert main(["configs", "--fix"]) == 0
    assert (here / "configs" / "train.yaml").read_text() == TRAIN.replace("7", "1234")


def test_every_format_takes_it(here, capsys):
    for format in ("json", "sarif", "gitlab", "junit", "markdown", "github", "jsonl", "rdjson"):
        assert main(["configs", "--output-format", format]) == 1
        assert "T901" in capsys.readouterr().out, format


def test_its_examples_hold(here):
    assert main(["test-hazards", "rules"]) == 0


BROKEN = {
    "draws nothing": ("        seed: 7\n    fixed", "        seed: 1234\n    fixed"),
    "draws another as well": ("        seed: 7\n    fixed", "        fp16: true\n        bf16: true\n        seed: 7\n    fixed"),
    "a near example that draws it": ('"seed: 1234"]', '"seed: 8"]'),
    "another fixed text": ("        seed: 1234\n    near", "        seed: 99\n    near"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN.values(), ids=BROKEN)
def test_examples_that_do_not_hold_are_told(here, capsys, case):
    old, new = case
    assert old in RULE
    text = RULE.replace(old, new)
    if "1234\n    fixed" in new:
        text = text.replace('replace: ["seed: 7", "seed: 1234"]', 'replace: ["seed: 1234", "max_steps: 9"]')
    (here / "rules" / "seed.yaml").write_text(text)
    assert main(["test-hazards", "rules"]) == 1
    assert "house-seed (T901), example 1" in capsys.readouterr().out


WRONG = {
    "no hazard": "just: words\n",
    "no YAML": "id: [\n",
    "a code that is taken": RULE.replace("T901", "P143"),
    "a name that is taken": RULE.replace("house-seed", "fp16-and-bf16"),
    "an error without proof": RULE.replace("reproduced", "reported"),
    "an unknown operator": RULE.replace("is-not", "differs"),
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_what_is_no_hazard_is_refused_with_its_file(here, capsys, text):
    (here / "rules" / "seed.yaml").write_text(text)
    assert main(["configs"]) == 2
    assert "rules" in capsys.readouterr().err
    assert main(["test-hazards", "rules"]) == 2


BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))
WORD = "the-word-of-another-file"
HOSTILE = {
    "aliases": (BOMB, "alias"),
    "brackets": ("id: " + "[" * 5_000, "nested too deep"),
    "brackets of an operand": (
        RULE.replace("is-not ", "is-not " + "[" * 50_000 + "]" * 50_000 + " "),
        "nested too deep",
    ),
    "another file": (f"root: {WORD}\nmore: [{{{WORD}: 1}}]\n", "seed.yaml"),
    "another file that is no YAML": (f"root: *{WORD}: [{{\n", "seed.yaml:1:"),
    "a large one": ("# " + "x" * 300_000, "larger than 0.2 MB"),
}


@pytest.mark.parametrize(("text", "said"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_is_refused_without_a_word_of_it(here, capsys, text, said):
    (here / "rules" / "seed.yaml").write_text(text)
    for words in (["configs"], ["test-hazards", "rules"], ["rules"]):
        assert main(words) == 2
        told = capsys.readouterr()
        assert said in told.err and WORD not in told.out + told.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files here")
def test_a_hazard_is_a_regular_file_of_its_repository(here, tmp_path_factory, capsys):
    os.mkfifo(here / "rules" / "fifo.yaml")
    assert main(["configs"]) == 2
    assert "fifo.yaml: not a regular file" in capsys.readouterr().err
    (here / "rules" / "fifo.yaml").unlink()
    outside = tmp_path_factory.mktemp("outside") / "seed.yaml"
    outside.write_text(RULE.replace("T901", "T902").replace("house-seed", "other-seed"))
    (here / "rules" / "link.yaml").symlink_to(outside)
    for words in (["configs"], ["test-hazards", "rules"]):
        assert main(words) == 2
        assert "link.yaml: a link that leads out of" in capsys.readouterr().err


@pytest.mark.parametrize("model", ["/etc", "../elsewhere", "a/../../b"])
def test_an_example_reads_no_model_elsewhere(here, capsys, model):
    text = RULE.replace("  - dialect: trl\n", f"  - dialect: trl\n    options: {{model: {model}}}\n")
    (here / "rules" / "seed.yaml").write_text(text)
    assert main(["test-hazards", "rules"]) == 1
    assert "names its model" in capsys.readouterr().out


def test_an_example_asks_no_machine_for_its_gpus(here, capsys):
    (here / "rules" / "seed.yaml").write_text(
        RULE.replace("  - dialect: trl\n", "  - dialect: trl\n    options: {gpu: auto}\n")
    )
    assert main(["test-hazards", "rules"]) == 1
    assert "names its GPU" in capsys.readouterr().out


def test_a_folder_without_hazards_is_refused(here):
    (here / "empty").mkdir()
    assert main(["test-hazards", "empty"]) == 2
    assert main(["test-hazards", "nowhere"]) == 2


def test_an_example_writes_only_into_its_own_folder(here):
    (here / "rules" / "seed.yaml").write_text(RULE.replace("train.yaml", "../../outside.yaml"))
    assert main(["test-hazards", "rules"]) == 1
    assert not list(here.rglob("outside.yaml")) and not list(here.parent.glob("outside.yaml"))


def test_a_check_of_the_house_is_the_same_report_for_machines(here, capsys):
    main(["configs", "--output-format", "json"])
    (finding,) = json.loads(capsys.readouterr().out)["diagnostics"]
    assert (finding["rule"], finding["fix"]["applicability"]) == ("house-seed", "safe")


# A fault of a hazard's file, and what is said of it with its line.
SAID = {
    "a fact of no namespace": ("training.seed is-set", "trainin.seed is-set", "seed.yaml:7: `when.0`: 'trainin.seed' is no fact: did you mean"),
    "a code": ("T901", "FOO1", "seed.yaml:2: `code`: a code is one to ten capitals and three digits, such as `ACME001`"),
    "an id": ("house-seed", "House_Seed", "seed.yaml:1: `id`: an id is small letters and digits with dashes between them"),
    "an operator": ("is-not 1234", "is-nto 1234", "seed.yaml:8: `when.1`: 'is-nto' is no operator: did you mean `is-not`?"),
    "an operator of Python": ("is-not 1234", "!= 1234", "seed.yaml:8: `when.1`: '!=' is no operator: did you mean `is-not`?"),
    "an operator in two words": ("is-not 1234", "not in [1234]", "seed.yaml:8: `when.1`: 'not' is no operator: did you mean `not-in`?"),
    "an operator with another sign": ("is-not 1234", "not_in [1234]", "seed.yaml:8: `when.1`: 'not_in' is no operator: did you mean `not-in`?"),
    "an operator of another name": ("training.seed is-set", "training.seed exists", "seed.yaml:7: `when.0`: 'exists' is no operator: did you mean `is-set`?"),
    "a field": ("title: a", "titel: a", "seed.yaml:3: nothing is called `titel`: did you mean `title`?"),
    "a field that is missing": ("at: training.seed\n", "", "`at` says which fact's place is shown"),
    "a word of a closed list": ("severity: error", "severity: fatal", "seed.yaml:4: `severity`: Input should be 'error', 'warning' or 'info'"),
}  # fmt: skip


@pytest.mark.parametrize("case", SAID.values(), ids=SAID)
def test_a_fault_is_told_at_its_line(here, capsys, case):
    old, new, words = case
    assert old in RULE
    (here / "rules" / "seed.yaml").write_text(RULE.replace(old, new))
    assert main(["configs"]) == 2
    assert words in capsys.readouterr().err


def test_every_broken_file_is_told_once(here, capsys):
    (here / "rules" / "seed.yaml").write_text(RULE.replace("is-not 1234", "is-nto 1234").replace("why:", "whi:"))
    (here / "rules" / "other.yaml").write_text("id: [\n")
    assert main(["configs"]) == 2
    other, seed = [line for line in capsys.readouterr().err.splitlines() if "house hazards" in line]
    assert other.count("other.yaml:") == 1
    assert [seed.count(word) for word in ("is-nto", "`whi`", "pydantic", "validation error")] == [1, 1, 0, 0]


SOUND = RULE.replace("T901", "T902").replace("house-seed", "sound-seed")


@pytest.mark.parametrize("broken", WRONG.values(), ids=WRONG)
def test_one_broken_file_is_one_error_and_the_check_goes_on(here, capsys, broken):
    """The other rule of the house and stablint's own are told, in every way in which a check tells them; the exit says that something was not checked."""
    (here / "rules" / "seed.yaml").write_text(broken)
    (here / "rules" / "sound.yaml").write_text(SOUND)
    (here / "configs" / "train.yaml").write_text(TRAIN + "fp16: true\nbf16: true\n")
    (here / "stablint.toml").write_text('hazards = ["rules"]\nignore = ["T901"]\n')  # nobody knows now what T901 is
    assert main(["configs", "--output-format", "json"]) == 2
    told = capsys.readouterr()
    assert {"T902", "P143"} <= {one["code"] for one in json.loads(told.out)["diagnostics"]}
    (line,) = [line for line in told.err.splitlines() if "house hazards" in line]
    assert "rules" in line
    assert main(["configs", "--output-format", "sarif"]) == 2
    assert "house hazards" in capsys.readouterr().out
    assert main(["rules", "--select", "T902"]) == 2
    assert "sound-seed" in capsys.readouterr().out
    assert main(["explain", "T902"]) == 2
    assert "sound-seed" in capsys.readouterr().out
    assert main(["test-hazards", "rules"]) == 2
    assert "1 example, 0 with failures" in capsys.readouterr().err
    (here / "rules" / "seed.yaml").unlink()
    (here / "stablint.toml").write_text('hazards = ["rules"]\nignore = ["T901"]\n')
    assert main(["configs"]) == 2
    assert "no rule is called" in capsys.readouterr().err, (
        "all can be read again, and a word that means none of them is a slip"
    )


def test_a_package_is_installed_as_a_team_installs_it(here, tmp_path_factory, monkeypatch, capsys):
    """Built as a wheel by pip, installed, found by its entry point, and not imported."""
    source, site = tmp_path_factory.mktemp("acme"), tmp_path_factory.mktemp("installed")
    (source / "acme_stablint_rules" / "hazards").mkdir(parents=True)
    (source / "acme_stablint_rules" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (source / "acme_stablint_rules" / "hazards" / "seed.yaml").write_text(OWN)
    (source / "acme_stablint_rules" / "hazards" / "broken.yaml").write_text("id: [\n")
    (source / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "acme-stablint-rules"\nversion = "1.0"\n'
        '[project.entry-points."stablint.hazards"]\nacme = "acme_stablint_rules.hazards"\n'
    )
    pytest.importorskip("hatchling")
    words = ["install", "-q", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(site), str(source)]
    done = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    monkeypatch.syspath_prepend(str(site))
    (here / "stablint.toml").write_text('[house]\nprefix = "ACME"\npackages = ["acme-stablint-rules"]\n')
    assert main(["configs"]) == 2
    told = capsys.readouterr()
    assert "ACME001" in told.out and "broken.yaml:" in told.err
    (site / "acme_stablint_rules" / "hazards" / "broken.yaml").unlink()
    assert main(["configs"]) == 1


def test_an_example_that_draws_nothing_says_which_fact_was_meant(here, capsys):
    text = RULE.replace("training.seed is-set", "training.sede is-set")
    (here / "rules" / "seed.yaml").write_text(text)
    assert main(["test-hazards", "rules"]) == 1
    assert "`training.sede` is not stated there: did you mean `training.seed`?" in capsys.readouterr().out


OWN = RULE.replace("T901", "ACME001")


def test_a_house_has_its_own_prefix(here, capsys):
    (here / "rules" / "seed.yaml").write_text(OWN)
    (here / "stablint.toml").write_text('hazards = ["rules"]\n[house]\nprefix = "ACME"\n')
    for words in (["configs"], ["configs", "--select", "ACME"], ["configs", "--select", "ACME0"]):
        assert main(words) == 1
        assert "ACME001" in capsys.readouterr().out
    assert main(["configs", "--select", "A"]) == 0  # adapters, and nobody's prefix
    assert main(["configs", "--ignore", "ACME001"]) == 0
    (here / "configs" / "train.yaml").write_text(TRAIN.replace("seed: 7", "seed: 7  # stablint: ignore[ACME] -- why"))
    assert main(["configs"]) == 0


def test_a_code_without_the_prefix_is_refused(here, capsys):
    (here / "stablint.toml").write_text('hazards = ["rules"]\n[house]\nprefix = "ACME"\n')
    assert main(["configs"]) == 2
    assert "T901 (house-seed) in rules: codes of this house begin with ACME" in capsys.readouterr().err.replace(
        str(here) + "/", ""
    )


@pytest.fixture
def package(tmp_path_factory, monkeypatch):
    """An installed package whose entry point names a folder of hazards. Importing it would raise."""
    site = tmp_path_factory.mktemp("site")
    (site / "acme_rules" / "hazards").mkdir(parents=True)
    (site / "acme_rules" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (site / "acme_rules" / "hazards" / "seed.yaml").write_text(OWN)
    info = site / "acme_rules-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-rules\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[stablint.hazards]\nacme = acme_rules.hazards\n")
    monkeypatch.syspath_prepend(str(site))


def test_a_package_brings_rules(here, package, capsys):
    (here / "stablint.toml").write_text('[house]\nprefix = "ACME"\npackages = ["acme-rules"]\n')
    assert main(["configs"]) == 1
    assert "ACME001" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "said"), [("nobody-has-this", "is not installed"), ("pytest", "has no entry point")])
def test_a_package_that_brings_none_is_told(here, capsys, name, said):
    (here / "stablint.toml").write_text(f'[house]\npackages = ["{name}"]\n')
    assert main(["configs"]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "code"),
    [('[house]\nprefix = "ACME"\n', 2), ('[house]\nprefix = "T"\n', 2), ("", 0), ('[house]\nprefix = "T\n', 2)],
)
@pytest.mark.parametrize("command", ["test-hazards", "knowledge audit"])
def test_the_prefix_of_the_house_counts_wherever_its_rules_are_tried(here, capsys, settings, code, command):
    (here / "stablint.toml").write_text(settings)
    assert main([*command.split(), "rules"]) == code
    told = capsys.readouterr()
    if "ACME" in settings:
        assert "T901 (house-seed) in rules: codes of this house begin with ACME" in told.err
    (here / "rules" / "seed.yaml").write_text(RULE.replace("T901", "ACME001"))
    if "ACME" in settings:
        assert main([*command.split(), "rules"]) == 0
