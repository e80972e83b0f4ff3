"""Settings files: which one counts, what it may say, what it changes, and how a wrong one is told."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest
from pydantic import ValidationError

from stablint import check
from stablint.cli import main
from stablint.config import settings, trust
from stablint.config.schema_check import faults
from stablint.files.globs import matches
from stablint.pins import locks
from stablint.schema.settings import Settings

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "settings.schema.json").read_text(encoding="utf-8"))
BAD = "output_dir: out\nlearning_rate: 1.0e-5\nfp16: true\nbf16: true\n"
FIXABLE = "model_name_or_path: Qwen/Qwen2-7B-Instruct\noutput_dir: out\nlearning_rate: 1.0e-5\nfp16: true\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def put(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.write_text(text, encoding="utf-8")


ALL = {
    "extend": "../stablint.toml",
    "select": ["P", "fp16-and-bf16"],
    "ignore": ["P143"],
    "accept": [{"file": "ds.json", "setting": "fp16.enabled", "rules": ["P"], "reason": "old"}],
    "per-path": [{"paths": ["old/**"], "ignore": ["L"]}],
    "severity": {"P143": "info"},
    "fail-on": "warning",
    "min-evidence": "folklore",
    "target": [{"gpu": "A100-80GB", "count": 8}, {"gpu": "T4"}],
    "model": "Qwen/Qwen2-7B",
    "versions": {"trl": "==0.20", "transformers": ">=4.46,<5"},
    "extra-keys": ["my_*"],
    "exclude": ["third_party/"],
    "hazards": ["rules"],
    "baseline": "base.json",
    "fix": {"promote": ["P102"], "demote": ["S111"]},
    "house": {"prefix": "ACME", "packages": ["acme-rules"]},
    "require-reasons": True,
    "allow-outside": False,
}

WRONG = [
    {"fail_on": "error"},
    {"fail-on": "loud"},
    {"fail-on": 1},
    {"select": "P"},
    {"select": ["p143"]},
    {"accept": [{"rules": []}]},
    {"accept": [{"file": "a"}]},
    {"accept": ["P143"]},
    {"ignore": [1]},
    {"ignore": [{"rules": ["P"]}]},
    {"accept": [{"rules": ["P"], "why": "x"}]},
    {"per-path": [{"paths": ["a"]}]},
    {"per-path": [{"ignore": ["P"]}]},
    {"per-path": [{"paths": ["a"], "select": []}]},
    {"per-path": [{"paths": ["a"], "fail-on": "info"}]},
    {"per-path": {"paths": ["a"]}},
    {"severity": {"P143": "loud"}},
    {"fix": ["P102"]},
    {"house": {"prefix": "acme"}},
    {"house": {"prefix": "A"}},
    {"fix": {"promote": "P102"}},
    {"fix": {"safe": ["P102"]}},
    {"target": [{"count": 2}]},
    {"target": [{"gpu": "T4", "count": 0}]},
    {"target": [{"gpu": "T4", "count": "2"}]},
    {"target": [{"gpu": "T4", "count": True}]},
    {"target": [{"gpu": ""}]},
    {"versions": {"trl": "0.20"}},
    {"versions": {"trl": 1}},
    {"require-reasons": "yes"},
    {"model": 1},
]


@pytest.mark.parametrize("values", [{}, ALL, *({key: value} for key, value in ALL.items())])
def test_three_readers_accept_the_same(values):
    """pydantic, jsonschema, and the reader of the command line, which loads neither."""
    Settings.model_validate_json(json.dumps(values), strict=True)
    jsonschema.Draft202012Validator(SCHEMA).validate(values)
    assert list(faults(values, SCHEMA)) == []


@pytest.mark.parametrize("values", WRONG, ids=str)
def test_three_readers_refuse_the_same(values):
    with pytest.raises(ValidationError):
        Settings.model_validate_json(json.dumps(values), strict=True)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(values)
    assert list(faults(values, SCHEMA))


UNUSABLE = [
    ("stablint.toml", 'fail-on = "error"\nfailon = "error"\n', ":2:", "fail-on"),
    ("stablint.toml", '[[target]]\ngpu = "T4"\n\n[[target]]\ngpuu = "T4"\n', ":5:", "gpu"),
    ("stablint.toml", '[severity]\nP143 = "loud"\n', ":2:", "warning"),
    (
        "stablint.toml",
        '[severity]\nP1O1 = "error"\n',
        ":2:",
        "`P1O1` is no name that `severity` can have: did you mean `P101`?",
    ),
    ("stablint.toml", '[severity]\nP1001 = "error"\n', ":2:", "did you mean `P101`?"),
    ("stablint.toml", '[severity]\n"fp16_and_bf16" = "error"\n', ":2:", "did you mean `fp16-and-bf16`?"),
    ("stablint.toml", '[severity]\nfp16-and-bf61 = "error"\n', "stablint.toml:2: ", "did you mean `fp16-and-bf16`?"),
    ("stablint.toml", 'select = ["P10I"]\n', ":1:", "did you mean `P101`?"),
    ("stablint.toml", 'ignore = ["fp16-and-bf61"]\n', "stablint.toml:1: ", "did you mean `fp16-and-bf16`?"),
    ("stablint.toml", "fail-on = \n", ":1:", ""),
    (
        "stablint.toml",
        '["per-file-ignores"]\n"a" = ["P1"]\n',
        ":1:",
        "did you mean `per-path`?",
    ),  # as another linter calls it
    (
        "stablint.toml",
        'ignore = ["P1"]\nhazards = [\n  "nowhere/",\n]\n',
        "stablint.toml:2: ",
        "folder of house hazards `nowhere` does not exist; put rules there",
    ),
    ("stablint.toml", 'hazards = ["train.yaml"]\n', "stablint.toml:1: ", "`train.yaml` is no folder"),
    (
        "pyproject.toml",
        '[tool.stablint]\nhazards = [".git"]\n',
        "pyproject.toml:2: `.git` holds no hazard",
        "or take it out",
    ),
    (
        "stablint.toml",
        '[house]\nprefix = "EV"\npackages = ["nowhere"]\n',
        "stablint.toml:3: [house] packages",
        "install it there, or take it out",
    ),
    ("stablint.toml", 'select = ["X"]\n', "stablint.toml:1: ", "X"),
    ("stablint.toml", '[fix]\npromote = ["fp16-and-bf61"]\n', "stablint.toml:2: ", "did you mean `fp16-and-bf16`?"),
    ("stablint.toml", '[[per-path]]\npaths = ["a"]\nignore = ["fp16-and-bf61"]\n', "stablint.toml:3: ", "did you mean"),
    ("stablint.toml", '[[target]]\ngpu = "T4"\n\n[[target]]\ngpu = "H1000"\n', "stablint.toml:5: ", "H100"),
    ("stablint.toml", '[[per-path]]\npaths = ["**"]\ntarget = [{ gpu = "H1000" }]\n', "stablint.toml:3: ", "H100"),
    (
        "stablint.toml",
        '[versions]\npeft = "==0.15"\ntransformer = "==5"\n',
        "stablint.toml:3: ",
        "did you mean `transformers`?",
    ),
    ("stablint.toml", '[versions]\ntrl = "==99999,==1"\n', "stablint.toml:2: ", "trl"),
    (
        "stablint.toml",
        'fail-on = "info"\nextend = "nowhere.toml"\n',
        "stablint.toml:2: `extend`: `nowhere.toml` does not exist",
        "",
    ),
    ("stablint.toml", 'extend = "."\n', "stablint.toml:1: `extend`: `.` is not a regular file", ""),
    ("pyproject.toml", '[tool.stablint]\nextend = ""\n', "pyproject.toml:2: `extend`: `` is not a regular file", ""),
    ("stablint.toml", 'extend = "stablint.toml"\n', "stablint.toml", ""),
    (
        "stablint.toml",
        'ignore = ["P1"]\nbaseline = "nowhere.json"\n',
        "stablint.toml:2: `baseline`: the baseline nowhere.json does not exist: `stablint . --write-baseline` writes it",
        "",
    ),
    (
        "pyproject.toml",
        '[tool.stablint]\nbaseline = "train.yaml"\n',
        "pyproject.toml:2: `baseline`: train.yaml: this is no baseline",
        "name another file there, or take the setting out",
    ),
    (
        "stablint.toml",
        'baseline = "."\n',
        "stablint.toml:1: `baseline`: ",
        "this is no regular file; name another file there",
    ),
    ("pyproject.toml", '[project]\nname = "x"\n\n[tool.stablint]\nselekt = ["P"]\n', ":5:", "select"),
    ("pyproject.toml", '[tool.stablint.severity]\nP143 = "error"\nP1430 = "info"\n', ":3:", "P1430"),
]


@pytest.mark.parametrize(("name", "text", "place", "word"), UNUSABLE)
def test_wrong_settings_end_with_2_and_say_where(here, capsys, name, text, place, word):
    put(here, **{name.replace(".", "__"): text, "train__yaml": BAD})
    assert main(["train.yaml"]) == 2
    told = capsys.readouterr().err
    assert place in told and word in told
    assert name.partition(".")[0] in told or "nowhere" in told
    assert main(["train.yaml", "--isolated"]) == 1


@pytest.mark.parametrize(
    ("below", "own", "place"),
    [
        ('ignore = ["L"]\nhazards = ["nowhere"]\n', "", "conf/all.toml:2: the folder of house hazards `conf/nowhere`"),
        ('hazards = ["nowhere"]\n', 'hazards = ["other"]\n', "stablint.toml:2: the folder of house hazards `other`"),
        ('baseline = "nowhere.json"\n', "", "conf/all.toml:1: `baseline`: the baseline conf/nowhere.json"),
        ('[house]\npackages = ["nowhere"]\n', '[house]\nprefix = "EV"\n', "conf/all.toml:2: [house] packages"),
        ('[versions]\ntransformer = "==5"\n', 'ignore = ["L"]\n', "conf/all.toml:2: `transformer==5`"),
        ('[severity]\nfp16-and-bf61 = "info"\n', 'ignore = ["L"]\n', "conf/all.toml:2: no rule is called"),
        ('ignore = ["L"]\n', '[severity]\nfp16-and-bf61 = "info"\n', "stablint.toml:3: no rule is called"),
    ],
)
def test_what_an_extended_file_names_in_vain_is_told_with_its_own_line(here, capsys, below, own, place):
    (here / "conf").mkdir()
    put(here / "conf", all__toml=below)
    put(here, stablint__toml='extend = "conf/all.toml"\n' + own, train__yaml=BAD)
    assert main(["train.yaml"]) == 2
    assert place in capsys.readouterr().err


def test_the_nearest_counts_whole(here):
    (here / "a").mkdir()
    put(here, stablint__toml='ignore = ["P143"]\n')
    put(here / "a", train__yaml=BAD)
    assert main(["a/train.yaml"]) == 0
    put(here / "a", stablint__toml="")
    assert main(["a/train.yaml"]) == 1
    assert main(["a/train.yaml", "--config", "stablint.toml"]) == 0


def test_pyproject_counts_only_with_a_table_of_ours(here):
    (here / "a").mkdir()
    put(here, pyproject__toml='[tool.stablint]\nignore = ["P143"]\n')
    put(here / "a", pyproject__toml='[project]\nname = "stablint-user"\n', train__yaml=BAD)
    assert main(["a/train.yaml"]) == 0


def test_nothing_above_the_repository_counts(here):
    inner = here / "inner"
    (inner / ".git").mkdir(parents=True)
    put(here, stablint__toml='ignore = ["P143"]\n')
    put(inner, train__yaml=BAD)
    assert settings.nearest(str(inner), {}) is None
    assert main(["inner/train.yaml"]) == 1


def test_extend_lays_one_over_the_other(here):
    (here / "a").mkdir()
    put(here, stablint__toml='fail-on = "warning"\nexclude = ["x.yaml"]\n[severity]\nP143 = "info"\nS101 = "info"\n')
    put(here / "a", stablint__toml='extend = "../stablint.toml"\nfail-on = "info"\n[severity]\nS101 = "error"\n')
    read = settings.read(str(here / "a" / "stablint.toml"))
    assert read.values["fail-on"] == "info"
    assert read.values["severity"] == {"P143": "info", "S101": "error"}
    assert matches(str(here / "x.yaml"), read.folder, read.values["exclude"])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 1),
        ('ignore = ["P143"]', 0),
        ('ignore = ["P"]', 0),
        ('select = ["S"]', 0),
        ('[severity]\nP143 = "warning"', 0),
        ('fail-on = "warning"\n[severity]\nP143 = "warning"', 1),
        ('[severity]\nP = "error"\nP143 = "info"', 0),
        ('[[per-path]]\npaths = ["*.yaml"]\nignore = ["P"]', 0),
        ('[[per-path]]\npaths = ["old/**"]\nignore = ["P"]', 1),
        ('[[accept]]\nfile = "train.yaml"\nsetting = "fp16"\nrules = ["P143"]\nreason = "why"', 0),
        ('[[accept]]\nfile = "train.yaml"\nsetting = "bf16"\nrules = ["P143"]\nreason = "why"', 1),
        ('exclude = ["train.yaml"]', 0),
    ],
)
def test_what_settings_change(here, text, code):
    put(here, stablint__toml=text + "\n", train__yaml=BAD)
    assert main(["."]) == code


# What `--fix` leaves of a file with an unsafe repair (P102, fp16 to bf16) and a safe one (S111, a comment).
ACCEPTED = "# stablint: ignore[P143] -- gone\n"
TRUSTED = {
    "": ("fp16: true", ""),
    '[fix]\npromote = ["P102"]\n': ("bf16: true", ""),
    '[fix]\npromote = ["fp16-risky-model", "P"]\n': ("bf16: true", ""),
    '[fix]\ndemote = ["S111"]\n': ("fp16: true", ACCEPTED),
    '[fix]\npromote = ["P102", "S"]\ndemote = ["S"]\n': ("bf16: true", ACCEPTED),
}


@pytest.mark.parametrize("text", TRUSTED)
def test_which_repairs_are_written_by_themselves(here, text):
    line, comment = TRUSTED[text]
    put(here, train__yaml=FIXABLE + ACCEPTED, stablint__toml=text)
    main(["check", "--fix", "--gpu", "A100-80GB", "train.yaml"])
    assert (here / "train.yaml").read_text() == FIXABLE.replace("fp16: true", line) + comment


def test_the_command_line_wins(here):
    put(here, stablint__toml='ignore = ["P143"]\nfail-on = "info"\n', train__yaml=BAD)
    assert main(["train.yaml"]) == 0
    assert main(["train.yaml", "--select", "P143"]) == 1
    put(here, stablint__toml='fail-on = "info"\n[severity]\nP143 = "warning"\n')
    assert main(["train.yaml", "--fail-on", "error"]) == 0


def test_targets_model_and_versions_are_those_of_the_runs(here, capsys):
    put(
        here,
        train__yaml=FIXABLE,
        stablint__toml='[[target]]\ngpu = "A100-80GB"\ncount = 8\n\n[versions]\ntrl = "==0.20"\n',
    )
    main(["show", "train.yaml", "--output-format", "json"])
    facts = {fact["name"]: fact["value"] for fact in json.loads(capsys.readouterr().out)["runs"][0]["facts"]}
    assert facts["target.gpu.count"] == 8
    main(["show", "train.yaml", "--gpu", "T4", "--output-format", "json"])
    facts = {fact["name"]: fact["value"] for fact in json.loads(capsys.readouterr().out)["runs"][0]["facts"]}
    assert facts["target.gpu.name"].endswith("T4")


def test_settings_of_a_repository_let_nothing_be_written_outside_of_it(here, tmp_path_factory, capsys):
    outside = tmp_path_factory.mktemp("outside") / "train.yaml"
    outside.write_text(FIXABLE)
    (here / "train.yaml").symlink_to(outside)
    put(here, stablint__toml="allow-outside = true\n")
    main(["train.yaml", "--fix", "--unsafe-fixes", "--gpu", "A100-80GB"])
    assert "train.yaml: not read: it is a link out of the repository" in capsys.readouterr().err
    assert outside.read_text() == FIXABLE


@pytest.fixture
def beside(here, tmp_path_factory, monkeypatch):
    """A folder outside of the repository, with files that its settings should not reach; and a home without settings of the user."""
    folder = tmp_path_factory.mktemp("beside")
    (folder / "rules").mkdir()
    (folder / "rules" / "word.yaml").write_text("root: x:0:0:the-word\n")
    (folder / "cred.toml").write_text('the-word = "x"\n')
    (folder / "config.json").write_text('{"model_type": "llama", "the-word": 1}')
    (folder / "base.json").write_text('{"schema_version": 1, "findings": []}')
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    put(here, train__yaml=BAD)
    return folder


OUTSIDE = {
    "extend": ('fail-on = "info"\nextend = "{0}/cred.toml"\n', 2),
    "extend from home": ('extend = "~/cred.toml"\n', 1),
    "extend by dots": ('extend = "../{1}/cred.toml"\n', 1),
    "extend by a link": ('extend = "link/cred.toml"\n', 1),
    "hazards": ('\nhazards = ["{0}/rules"]\n', 2),
    "hazards by a link": ('hazards = ["link/rules"]\n', 1),
    "a hazard file that is a link": ('hazards = ["own"]\n', 0),
    "baseline": ('baseline = "{0}/base.json"\n', 1),
    "a baseline that is not there": ('baseline = "../new.json"\n', 1),
    "model": ('model = "{0}"\n', 1),
    "a model by a link and dots": ('model = "link/../{1}"\n', 1),
    "a model by the system's own links": ('model = "/proc/self/cwd/../{1}"\n', 1),
    "a table of pyproject": ('[tool.stablint]\nextend = "~/cred.toml"\n', 2),
}


@pytest.mark.parametrize(("text", "line"), OUTSIDE.values(), ids=OUTSIDE)
def test_what_a_repository_names_outside_of_itself_is_refused_unread(here, beside, capsys, text, line):
    (here / "link").symlink_to(beside)
    (here / "own").mkdir()
    (here / "own" / "word.yaml").symlink_to(beside / "rules" / "word.yaml")
    name = "pyproject.toml" if "tool." in text else "stablint.toml"
    (here / name).write_text(text.format(beside, beside.name))
    before = {path: path.read_bytes() for path in beside.rglob("*") if path.is_file()}
    assert main(["train.yaml"]) == 2
    told = capsys.readouterr()
    assert (f"{name}:{line}: " in told.err) if line else ("own/word.yaml" in told.err)
    assert "the-word" not in told.out + told.err
    assert main(["train.yaml", "--write-baseline"]) == 2
    assert {path: path.read_bytes() for path in beside.rglob("*") if path.is_file()} == before
    assert not (here.parent / "new.json").exists()


def test_settings_that_are_a_link_out_of_the_repository_are_refused(here, beside, capsys):
    (here / "stablint.toml").symlink_to(beside / "cred.toml")
    assert main(["train.yaml"]) == 2
    told = capsys.readouterr().err
    assert "stablint.toml" in told and "the-word" not in told


def test_the_user_may_let_them(here, beside, capsys):
    """Each on its own: an option, the file named on the command line, and the user's own file."""
    put(here, stablint__toml=f'extend = "{beside}/more.toml"\n')
    put(beside, more__toml='ignore = ["P143"]\n')
    assert main(["train.yaml"]) == 2
    assert main(["train.yaml", "--allow-outside"]) == 0
    assert main(["train.yaml", "--config", "stablint.toml"]) == 0
    own = Path(str(trust.user_file()))
    own.parent.mkdir(parents=True)
    own.write_text(f'trusted = ["{here}"]\n')
    assert main(["train.yaml"]) == 0
    capsys.readouterr()
    own.write_text('trusted = ["elsewhere"]\n')
    assert main(["train.yaml"]) == 2
    assert "not absolute" in capsys.readouterr().err
    own.write_text('\ntrust = ["/"]\n')
    assert main(["train.yaml"]) == 2
    assert f"{own}:2: unknown setting `trust`" in capsys.readouterr().err


def test_a_repository_does_not_trust_itself(here, beside, monkeypatch):
    """Some containers set HOME to the checkout."""
    put(here, stablint__toml=f'extend = "{beside}/more.toml"\n')
    put(beside, more__toml='ignore = ["P143"]\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(here / ".config"))
    own = Path(str(trust.user_file()))
    own.parent.mkdir(parents=True)
    own.write_text('trusted = ["/"]\n')
    assert main(["train.yaml"]) == 2


def test_the_library_is_warned_and_asks_for_nothing(here, beside, monkeypatch):
    put(here, stablint__toml='[[target]]\ngpu = "auto"\n')
    monkeypatch.setattr("stablint.hardware.live.machine", lambda **_: pytest.fail("this machine was asked"))
    with pytest.warns(UserWarning, match=r'stablint.toml:2: `gpu = "auto"`: not obeyed'):
        report = check("train.yaml")
    assert [finding.code for finding in report.diagnostics if finding.severity == "error"] == ["P143"]
    assert main(["train.yaml", "--gpu", "T4"]) == 1, "the command line names the GPU: nothing is to be asked"


def test_a_baseline_outside_is_written_only_where_the_command_line_names_it(here, beside):
    put(here, stablint__toml=f'baseline = "{beside}/new.json"\n')
    assert main(["train.yaml", "--write-baseline", "--allow-outside"]) == 2
    assert not (beside / "new.json").exists()
    assert main(["train.yaml", "--write-baseline", "--allow-outside", "--baseline", str(beside / "new.json")]) == 0
    assert (beside / "new.json").exists()


PLACES = [
    ({}, "linux", "~/.config"),
    ({"XDG_CONFIG_HOME": "/etc/of-mine"}, "linux", "/etc/of-mine"),
    ({"XDG_CONFIG_HOME": "relative"}, "linux", "~/.config"),
    ({}, "darwin", "~/Library/Application Support"),
]


@pytest.mark.parametrize(("environment", "system", "folder"), PLACES)
def test_where_the_users_own_file_lies(environment, system, folder):
    expected = os.path.join(os.path.expanduser(folder), "stablint", "stablint.toml")
    assert trust.user_file(environment, system) == expected


SPENT = {
    "blank lines": "\n" * 900_000 + "stablint",
    "blanks": "[" + " " * 900_000 + "stablint",
    "headers": "[a.b.c]\n" * 100_000 + "stablint",
    "rows": "[tool.stablint]\nfail-on = 1\n" + "[[tool.stablint.accept]]\nrules = []\n" * 20_000,
    "a long key": "[tool.stablint]\n" + "a." * 100_000 + "b = 1",
    "long keys": "[tool.stablint]\n" + "".join(f"{'a.' * 90}b{number} = 1\n" for number in range(5_000)),
    "an inline table": "[tool.stablint]\nx = {" + "a." * 100_000 + "b = 1}",
    "nested": "[tool.stablint]\nx = " + "[" * 5_000,
}


@pytest.mark.parametrize("text", SPENT.values(), ids=SPENT)
def test_large_settings_cost_little(here, text):
    """Each of these took minutes, or ended in a traceback."""
    put(here, pyproject__toml=text, train__yaml=BAD)
    assert main(["train.yaml"]) in (1, 2)


@pytest.mark.parametrize("kind", ["a link to itself", "a broken link", "a pipe", "a folder"])
def test_settings_that_cannot_be_read_are_not_as_if_there_were_none(here, capsys, kind):
    put(here, train__yaml=BAD)
    path = here / "stablint.toml"
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    else:
        path.symlink_to("stablint.toml" if "itself" in kind else "nowhere.toml")
    assert main(["train.yaml"]) == 2
    assert "stablint.toml: " in capsys.readouterr().err
    assert main(["train.yaml", "--isolated"]) == 1


def test_a_settings_file_is_a_small_regular_file(here, capsys):
    put(here, train__yaml=BAD)
    for name in ("stablint.toml", "pyproject.toml"):
        with open(here / name, "wb") as file:
            file.truncate(3_000_000_000)  # sparse
        assert main(["train.yaml"]) == 2
        assert f"{name}: larger than 1 MB" in capsys.readouterr().err
        (here / name).unlink()
    os.mkfifo(here / "fifo.toml")
    assert main(["train.yaml", "--config", "fifo.toml"]) == 2
    put(here, stablint__toml='extend = "fifo.toml"\n')
    assert main(["train.yaml"]) == 2
    assert "stablint.toml:1: `extend`: `fifo.toml` is not a regular file" in capsys.readouterr().err


GLOBS = [
    ("*.yaml", "a/b.yaml", True),
    ("old", "old/a.yaml", True),
    ("old", "x/old/a.yaml", True),
    ("old/", "old/a/b.yaml", True),
    ("old/**", "old/a/b.yaml", True),
    ("old/*", "old/a.yaml", True),
    ("a/*.yaml", "a/b/c.yaml", False),
    ("a/**/c.yaml", "a/c.yaml", True),
    ("a/**/c.yaml", "a/b/d/c.yaml", True),
    ("./a.yaml", "a.yaml", True),
    ("a?.yaml", "ab.yaml", True),
    ("a.yaml", "aXyaml", False),
    ("old/**", "older/a.yaml", False),
]


@pytest.mark.parametrize(("glob", "path", "expected"), GLOBS)
def test_globs(glob, path, expected):
    root = os.path.abspath("root")
    assert matches(os.path.join(root, *path.split("/")), root, [glob]) is expected


COG = 'build:\n  python_packages:\n    - "deepspeed==0.9.5"\npredict: "predict.py:Predictor"\n'


UV = 'version = 1\n\n[[package]]\nname = "trl"\nversion = "0.20.0"\nsource = { registry = "x" }\n\n[[package]]\nname = "torch"\nversion = "2.5.1+cu124"\n'
POETRY = (
    '[[package]]\nname = "trl"\nversion = "0.20.0"\ndescription = ""\n\n[package.dependencies]\ntransformers = ">=4"\n'
)
RELEASES = [
    ({"uv.lock": UV}, {"trl": "==0.20.0", "torch": "==2.5.1"}),
    ({"poetry.lock": POETRY}, {"trl": "==0.20.0"}),
    ({"requirements.txt": "trl[vllm]==0.20.0  # pinned\nnumpy==1\n-r other.txt\n"}, {"trl": "==0.20.0"}),
    ({"requirements-gpu.txt": "Trl >= 0.20, <1 ; python_version > '3.9'\n"}, {"trl": ">= 0.20, <1"}),
    ({"requirements.txt": "trl==0.20.0 \\\n    --hash=sha256:00\n"}, {"trl": "==0.20.0"}),
    # two environments: either may run
    ({"requirements.txt": "trl==0.20.0\n", "requirements-a100.txt": "trl==0.9.6\n"}, {"trl": "==0.9.6 || ==0.20.0"}),
    # a list that leaves open what another pins installs a newer one, unless it reads the other into itself
    ({"requirements.txt": "trl==0.9.6\n", "new_requirements.txt": "trl\n"}, {"trl": ">=0.9.6"}),
    ({"requirements.txt": "trl==0.9.6\n", "new_requirements.txt": "-r requirements.txt\ntrl\n"}, {"trl": "==0.9.6"}),
    ({"requirements.txt": "trl==0.9.6\ntrl\n"}, {"trl": "==0.9.6"}),
    # what was frozen beside an open list, and what a tool made of one
    ({"requirements.txt": "trl\n", "requirements-lock.txt": "trl==0.9.6\n"}, {"trl": "==0.9.6"}),
    ({"requirements.txt": "trl>=0.8\n", "requirements.lock": "trl==0.9.6\n"}, {"trl": "==0.9.6"}),
    ({"requirements.txt": "trl\n", "requirements_frozen.txt": "trl==0.9.6\n"}, {"trl": "==0.9.6"}),
    (
        {
            "requirements.txt": "trl\n",
            "requirements-lock.txt": "trl==0.9.6\n",
            "README.md": "pip install -r requirements.txt\n",
        },
        {"trl": "==0.9.6 (presumed)"},
    ),
    ({"requirements.in": "trl\n", "requirements.txt": "trl==0.9.6\n"}, {"trl": "==0.9.6"}),
    ({"requirements.in": "trl>=0.8\n", "requirements.txt": "trl==0.9.6\n"}, {"trl": "==0.9.6"}),
    ({"requirements.in": "trl>=0.8\n", "requirements.txt": "peft==0.7.1\n"}, {"trl": ">=0.8", "peft": "==0.7.1"}),
    ({"requirements.in": "trl>=0.8\n"}, {"trl": ">=0.8"}),
    ({"README.md": "## Requirements\n\n```\ntrl=0.11.0\n```\n"}, {"trl": "==0.11.0 (presumed)"}),
    ({"README.md": "needs trl>=0.8 and peft<=0.11\n"}, {}),
    # a list that only the command tells that installs it
    (
        {"deps.txt": "trl==0.9.6\n", "README.org": "and then =pip install -r deps.txt=.\n"},
        {"trl": "==0.9.6 (presumed)"},
    ),
    ({"deps.txt": "trl==0.9.6\n", "README": "pip install -U -r ./deps.txt\n"}, {"trl": "==0.9.6 (presumed)"}),
    (
        {
            "build/deps.txt": "trl==0.9.6\n",
            "Dockerfile": "COPY . .\nRUN pip install --no-cache-dir -r build/deps.txt\n",
        },
        {"trl": "==0.9.6"},
    ),
    (
        {"deps.txt": "trl==0.9.6\n", "requirements.txt": "trl==0.20.0\n", "README.md": "pip install -r deps.txt\n"},
        {"trl": "==0.20.0"},
    ),
    ({"list.txt": "trl==0.9.6\n", "README.md": "the versions are in that file\n"}, {}),
    # a list for another use than training is presumed where it stands alone, and says nothing beside the project's own
    ({"requirements-inference.txt": "trl==0.9.6\n"}, {"trl": "==0.9.6 (presumed)"}),
    (
        {"requirements_eval.txt": "trl==0.9.6\n", "requirements-train.txt": "trl==0.20.0\n"},
        {"trl": "==0.20.0 (presumed)"},
    ),
    ({"requirements.txt": "trl\npeft==0.16.0\n", "requirements_bak.txt": "trl==0.20.0\n"}, {"peft": "==0.16.0"}),
    ({"requirements_eval.txt": "trl>=0.9.6\n", "requirements-train.txt": "trl==0.20.0\n"}, {"trl": "==0.20.0"}),
    ({"environment_vllm.yml": "dependencies:\n  - pip:\n    - trl==0.9.6\n"}, {"trl": "==0.9.6 (presumed)"}),
    # what is installed anew without a word on the release
    (
        {"requirements.txt": "trl==0.9.6\n", "setup.sh": "pip install -r requirements.txt\npip install -U trl\n"},
        {"trl": ">=0.9.6 (presumed)"},
    ),
    (
        {"requirements.txt": "trl==0.9.6\n", "setup.sh": "pip install -r requirements.txt\n# pip install -U trl\n"},
        {"trl": "==0.9.6"},
    ),
    ({"requirements.txt": "trl==0.9.6\n", "setup.sh": "pip install -U pip\n"}, {"trl": "==0.9.6"}),
    # a copy that is not at hand
    (
        {"requirements.txt": "trl==0.9.6\n", "setup.sh": "pip install -r requirements.txt\npip install -e ./trl\n"},
        {"trl": "?"},
    ),
    ({"requirements.txt": "trl==0.9.6\n", "setup.sh": "pip install --no-deps -e third_party/trl/\n"}, {"trl": "?"}),
    ({"requirements.txt": "trl==0.9.6\n", ".gitmodules": '[submodule "trl"]\n\tpath = vendor/trl\n'}, {"trl": "?"}),
    (
        {"requirements.txt": "trl==0.9.6\n", ".gitmodules": '[submodule "data"]\n\tpath = trl_data\n'},
        {"trl": "==0.9.6"},
    ),
    ({"requirements.txt": "-e git+https://github.com/me/trl.git@0a1b2c3#egg=trl\n"}, {"trl": "?"}),
    ({"requirements.txt": "-e ./trl-mine\n"}, {"trl": "?"}),
    ({"requirements.txt": "-e .\ntrl==0.9.6\n"}, {"trl": "==0.9.6"}),
    ({"requirements.txt": "trl==0.9.6\n", "trl-mine/src/trl/__init__.py": ""}, {"trl": "?"}),
    ({"requirements.txt": "trl==0.9.6\n", "third_party/trl/trl/__init__.py": ""}, {"trl": "?"}),
    ({"requirements.txt": "trl==0.9.6\n", "ms-swift-3.1.1/swift/__init__.py": ""}, {"trl": "==0.9.6", "ms-swift": "?"}),
    ({"LLaMA-Factory/src/llamafactory/__init__.py": ""}, {"llamafactory": "?"}),
    ({"verl/__init__.py": ""}, {"verl": "?"}),
    # for another system
    ({"requirements.txt": "trl==0.9.6 ; sys_platform == 'darwin'\n"}, {}),
    ({"requirements.txt": "trl==0.9.6 ; sys_platform == 'linux'\n"}, {"trl": "==0.9.6"}),
    # for another Python
    (
        {"requirements.txt": "trl<=0.20.0; python_version < '3.10'\ntrl<=0.21.0; python_version >= '3.10'\n"},
        {"trl": "<=0.21.0"},
    ),
    (
        {"requirements.txt": "trl<0.21; python_version < '3.12'\ntrl>=0.18 ; python_version >= '3.12'\n"},
        {"trl": "<0.21 || >=0.18"},
    ),
    (
        {"requirements.txt": "trl>=0.18\ntrl<0.21; python_full_version <= '3.10' and extra == 'a'\n"},
        {"trl": ">=0.18,<0.21 || >=0.18"},
    ),
    ({"requirements.txt": "trl==0.9.6 ; python_version < '3.9'\n"}, {"trl": "==0.9.6"}),
    ({"requirements.txt": "trl==0.9.6 ; python_version < '3.9' or extra == 'a'\n"}, {"trl": "==0.9.6"}),
    # what is only mentioned, or frozen under a name of its own
    ({"README.md": "- trl==0.9.6\n"}, {"trl": "==0.9.6 (presumed)"}),
    ({"INSTALL.md": "pip install trl==0.9.6\n"}, {"trl": "==0.9.6 (presumed)"}),
    ({"pip_freeze.txt": "trl==0.9.6\n"}, {"trl": "==0.9.6 (presumed)"}),
    ({"justfile": "setup:\n    pip install trl==0.9.6\n"}, {"trl": "==0.9.6"}),
    ({"install.bat": "pip install trl==0.9.6\n"}, {"trl": "==0.9.6"}),
    (
        {"uv.lock": UV + '[[package]]\nname = "trl"\nversion = "0.21.0"\n'},
        {"trl": "==0.20.0 || ==0.21.0", "torch": "==2.5.1"},
    ),
    ({"requirements.txt": "trl @ git+https://example.com/huggingface/trl@v0.9.6\n"}, {"trl": "==0.9.6"}),
    ({"requirements.txt": "git+https://example.com/huggingface/trl.git@0f4e8a2#egg=trl\n"}, {"trl": "?"}),
    ({"requirements.txt": "https://example.com/trl-0.9.6-py3-none-any.whl\n"}, {"trl": "==0.9.6"}),
    (
        {"pyproject.toml": '[project]\nname = "x"\ndependencies = [\n  "trl>=0.20,<1",\n  "peft",\n]\n'},
        {"trl": ">=0.20,<1"},
    ),
    (
        {"pyproject.toml": '[project]\ndependencies = ["trl>=0.20"]\n', "uv.lock": UV},
        {"trl": "==0.20.0", "torch": "==2.5.1"},
    ),
    ({"requirements.txt": "trl @ git+https://example.com/trl\ntrl\n"}, {"trl": "?"}),
    ({}, {}),
    (
        {
            "setup.py": 'setup(name="x", python_requires=">=3.8", license="", install_requires=["trl>=0.7,<0.9", "peft", \'torch==2.1.2\'])\n'
        },
        {"trl": ">=0.7,<0.9", "torch": "==2.1.2"},
    ),
    (
        {"Pipfile": '[packages]\ntrl = "==0.8.6"\npeft = {version = ">=0.10", extras = ["x"]}\ntorch = "*"\n'},
        {"trl": "==0.8.6", "peft": ">=0.10"},
    ),
    (
        {
            "Pipfile.lock": '{\n "default": {\n  "trl": {\n   "hashes": ["sha256:1"],\n   "version": "==0.8.6"\n  }\n }\n}\n',
            "Pipfile": '[packages]\ntrl = ">=0.7"\n',
        },
        {"trl": "==0.8.6"},
    ),
    (
        {
            "requirements.txt": "-r more/base.txt\n-c ../outside.txt\n-e .\n",
            "more/base.txt": "trl==0.8.6\n-r ../requirements.txt\n",
        },
        {"trl": "==0.8.6"},
    ),
    ({"setup.cfg": "[options]\ninstall_requires =\n    trl==0.8.6\n    numpy>=1\n"}, {"trl": "==0.8.6"}),
    (
        {
            "environment.yml": "name: x\ndependencies:\n  - pytorch::pytorch=2.1\n  - peft=0.10.0=py_0\n  - pip:\n    - 'trl==0.8.6'\n"
        },
        {"torch": "==2.1.*", "peft": "==0.10.0", "trl": "==0.8.6"},
    ),
    (
        {
            "Dockerfile": "FROM pytorch/pytorch:2.1.2-cuda12.1-cudnn8-devel\nRUN apt-get update && \\\n  pip install -q \\\n  trl==0.8.6\n"
        },
        {"torch": "==2.1.2", "trl": "==0.8.6"},
    ),
    ({"Dockerfile": "FROM nvidia/cuda:12.1.0-devel\nRUN pip install trl\n"}, {}),
    ({"install.sh": "conda create -n x\npip install trl==0.8.6\npip install peft\n"}, {"trl": "==0.8.6"}),
    (
        {"requirements/base.txt": "trl==0.8.6\n", "docker/Dockerfile": "RUN pip install peft==0.10.0\n"},
        {"trl": "==0.8.6", "peft": "==0.10.0"},
    ),
    ({"dev-requirements.txt": "trl==0.8.6\n"}, {"trl": "==0.8.6"}),
    # what is wanted, and which of it the script installs
    ({"setup.py": "x = ['trl>=0.7']\n", "install.sh": "pip install trl==0.8.6\n"}, {"trl": "==0.8.6,>=0.7"}),
    (
        {
            "pyproject.toml": '[tool.poetry.dependencies]\npython = "^3.10"\ntrl = "^0.8.6"\npeft = {version = "~0.10", extras = ["x"]}\n'
        },
        {"trl": ">=0.8.6,<0.9", "peft": ">=0.10,<0.11"},
    ),
    (
        {"requirements.txt": "# platform: linux-64\ntrl=0.4.7=pypi_0\npytorch=2.0.1=py3.10_cuda11.8_cudnn8.7.0_0\n"},
        {"trl": "==0.4.7", "torch": "==2.0.1"},
    ),
    (
        {
            "pyproject.toml": '[project]\ndependencies = ["peft>=0.5"]\n'
            '[project.optional-dependencies]\ntrain = [\n  "trl[quantization]==0.8.6",\n  "peft==0.10.0",\n]\n'
        },
        {"peft": ">=0.5", "trl": "==0.8.6 (presumed)"},  # only who asks for the extra gets it
    ),
    (
        {"pyproject.toml": '[dependency-groups]\ndev = ["trl==0.8.6", {include-group = "test"}]\n'},
        {"trl": "==0.8.6 (presumed)"},
    ),
    # a fork is no release of the library, whatever number it gives itself
    (
        {
            "pyproject.toml": '[project]\ndependencies = ["trl>=0.15", "peft==0.10.0"]\n'
            '[tool.uv.sources]\ntrl = { git = "https://example.com/me/trl", branch = "dapo" }\n'
        },
        {"trl": "?", "peft": "==0.10.0"},
    ),
    (
        {"pyproject.toml": '[tool.poetry.dependencies]\ntrl = {git = "https://example.com/me/trl", tag = "v0.8.6"}\n'},
        {"trl": "==0.8.6"},
    ),
    (
        {
            "uv.lock": '[[package]]\nname = "trl"\nversion = "0.16.0.dev0"\nsource = { git = "https://example.com/me/trl?branch=dapo#1a2b" }\n\n'
            '[[package]]\nname = "peft"\nversion = "0.10.0"\nsource = { registry = "https://example.com/simple" }\n'
        },
        {"trl": "?", "peft": "==0.10.0"},
    ),
    # a text for readers is a presumption, and only of what no other file says
    (
        {"README.md": "# x\n```\npip install trl==0.8.6 peft\n```\nDo not pip install torch==2.1.2.\n"},
        {"trl": "==0.8.6 (presumed)"},
    ),
    ({"README.md": "pip install trl==0.8.6\n", "requirements.txt": "trl==0.9.6\n"}, {"trl": "==0.9.6"}),
    # … or of which it names the very release within another file's range
    (
        {
            "README.md": '> uv pip install --python .venv/bin/python "transformers==4.57.6" peft\n',
            "requirements.txt": "transformers>=4.49\n",
        },
        {"transformers": "==4.57.6 (presumed)"},
    ),
    ({"README.md": "pip install trl==0.8.6\n", "requirements.txt": "trl>=0.9\n"}, {"trl": ">=0.9"}),
    ({"README.md": "pip install 'trl>=0.8.6'\n", "requirements.txt": "trl<1\n"}, {"trl": "<1"}),
    # a nearer range gives way to the very release above it, a nearer release does not
    (
        {"requirements.txt": "trl==0.12.1\n", "configs/setup.py": 'setup(install_requires=["trl>=0.9"])\n'},
        {"trl": "==0.12.1"},
    ),
    (
        {"requirements.txt": "trl==0.12.1\n", "configs/setup.py": 'setup(install_requires=["trl>=0.13"])\n'},
        {"trl": ">=0.13"},
    ),
    (
        {"requirements.txt": "trl==0.12.1\n", "configs/setup.py": 'setup(install_requires=["trl==0.9.6"])\n'},
        {"trl": "==0.9.6"},
    ),
    # a project of its own that leaves the release open is another environment, unless one lock file is for both
    (
        {
            "requirements.txt": "trl==0.12.1\n",
            "configs/pyproject.toml": '[project]\nname = "eval"\ndependencies = ["trl"]\n',
        },
        {"trl": "==0.12.1 (presumed)"},
    ),
    (
        {"uv.lock": UV, "configs/pyproject.toml": '[project]\nname = "eval"\ndependencies = ["trl"]\n'},
        {"trl": "==0.20.0", "torch": "==2.5.1"},
    ),
    ({"setup.py": 'setup(install_requires=["trl"])\n', "requirements.txt": "trl==0.9.6\n"}, {"trl": "==0.9.6"}),
    # a list for one purpose beside the project's own file, which leaves open what the list pins
    ({"setup.py": 'setup(install_requires=["trl"])\n', "repeat_requirements.txt": "trl==0.9.6\n"}, {"trl": ">=0.9.6"}),
    # … but not what another tool's section names, and not the list that the pins were made of
    (
        {
            "setup.py": '_deps = ["trl==0.9.6"]\nsetup(install_requires=[deps["trl"]])\n',
            "setup.cfg": "[isort]\nknown_third_party =\n    trl\n    torch\n\n[flake8]\nignore = E203\n",
        },
        {"trl": "==0.9.6"},
    ),
    (
        {"requirements.in": "trl\n", "requirements.txt": "trl[quantization]==0.9.6  # via -r requirements.in\n"},
        {"trl": "==0.9.6"},
    ),
    ({"new.in": "trl\n", "requirements.txt": "trl==0.9.6\n"}, {"trl": "==0.9.6"}),
    # an extra is a presumption, where nothing else is said of the library
    (
        {
            "setup.py": 'extra = {\n    "torch": ["torch>=1.13.1"],\n    "npu": [\n        "torch==2.1.0",\n        "trl==0.8.6",\n    ],\n}\n',
            "requirements.txt": "torch==2.4.0\n",
        },
        {"torch": "==2.4.0", "trl": "==0.8.6 (presumed)"},
    ),
    (
        {
            "setup.cfg": "[metadata]\nname = x\n\n[options]\ninstall_requires =\n    trl==0.9.6\n\n"
            "[options.extras_require]\nold =\n    trl==0.8.6\n    peft==0.10.0\n"
        },
        {"trl": "==0.9.6", "peft": "==0.10.0 (presumed)"},
    ),
    # Replicate's image
    (
        {
            "requirements.txt": "transformers>=4.26.1\n",
            "cog.yaml": 'build:\n  python_packages:\n    - "accelerate==0.16.0"\n  run:\n    - "pip install git+https://example.com/huggingface/transformers.git@c3dc391da81e6ed7"\n',
        },
        {"accelerate": "==0.16.0", "transformers": "?"},
    ),
    # the same for an image that only predicts, beside what trained, and for one that trains too
    ({"requirements.txt": "deepspeed==0.12.6\n", "cog.yaml": COG}, {"deepspeed": "==0.12.6"}),
    ({"cog.yaml": COG}, {}),
    ({"cog.yaml": COG + 'train: "train.py:train"\n'}, {"deepspeed": "==0.9.5"}),
    # somebody's own build of a library: cloned, or carried along
    ({"setup.sh": "git clone -b flat https://example.com/me/trl.git\npip install -e ./trl\n"}, {"trl": "?"}),
    ({"README.md": "git clone https://example.com/me/LLaMA-Factory\n"}, {"llamafactory": "? (presumed)"}),
    ({"README.md": "git clone https://example.com/hiyouga/LLaMA-Factory\n"}, {}),
    ({".gitmodules": '[submodule "trl"]\n\tpath = trl\n\turl = https://example.com/me/trl\n'}, {"trl": "?"}),
    ({"justfile": "setup:\n    pip install trl==0.9.6\n"}, {"trl": "==0.9.6"}),
    # a copy of the library, which its own file names
    ({"setup.py": '__version__ = "0.14.0.dev0"\nsetup(\n    name="trl",\n    version=__version__,\n)\n'}, {"trl": "?"}),
    ({"setup/requirements.txt": "trl==0.9.6\n"}, {"trl": "==0.9.6 (presumed)"}),
    ({"setup/requirements.txt": "trl==0.9.6\n", "requirements.txt": "trl==0.12.1\n"}, {"trl": "==0.12.1"}),
    # scripts that set the machine up lie among others
    (
        {
            "scripts/setup_node.sh": "pip install transformers==4.52.3 trl==0.19.1\n",
            "scripts/train.sh": "pip install trl==0.9.6\n",
        },
        {"transformers": "==4.52.3 (presumed)", "trl": "==0.19.1 (presumed)"},
    ),
    (
        {"scripts/bootstrap.sh": "pip install trl==0.19.1\n", "requirements.txt": "trl==0.9.6\n"},
        {"trl": "==0.9.6"},
    ),
    # a clone is what is checked out of it behind
    (
        {"README.md": "git clone https://example.com/huggingface/trl\ncd trl\ngit checkout v0.9.6\npip install -e .\n"},
        {"trl": "==0.9.6 (presumed)"},
    ),
    (
        {"README.md": "git clone https://example.com/huggingface/trl.git\ncd trl && git checkout 55cc214c767741e8\n"},
        {"trl": "? (presumed)"},
    ),
    ({"README.md": "git clone https://example.com/huggingface/trl\ngit checkout main\n"}, {}),
    ({"README.md": "git checkout v0.9.6\n"}, {}),
    # names that stand for a release: given once, twice, never
    ({"Dockerfile.trl": "ARG T=0.24.0\nRUN pip install --no-deps trl==${T}\n"}, {"trl": "==0.24.0"}),
    ({"Dockerfile": 'ENV T="0.24.0"\nRUN pip install trl==$T\n'}, {"trl": "==0.24.0"}),
    ({"install.sh": "T=0.24.0\npip install trl==${T}\n"}, {"trl": "==0.24.0"}),
    ({"Dockerfile": "ARG T=0.24.0\nARG T=0.17.0\nRUN pip install trl==${T}\n"}, {"trl": "?"}),
    ({"Dockerfile": "ARG T\nRUN pip install trl==${T}\n"}, {"trl": "?"}),
    ({"install.sh": "pip install trl==${T:-0.24.0}\n"}, {"trl": "?"}),
    # two containers, two releases: either may run
    (
        {
            "docker/requirements-train.txt": "trl==0.17.0\n",
            "docker/Dockerfile.trl": "ARG T=0.24.0\nRUN pip install --no-deps trl==${T}\n",
        },
        {"trl": "==0.24.0 || ==0.17.0"},
    ),
    # a container's release within the project's range is the container's
    (
        {"docker/requirements.txt": "trl==0.17.0\n", "requirements.txt": "trl>=0.15\n"},
        {"trl": ">=0.15,==0.17.0 (presumed)"},
    ),
    ({"Dockerfile": "RUN pip install trl==0.17.0\n", "requirements.txt": "trl==0.17.0\n"}, {"trl": "==0.17.0"}),
    # pip reads no lock of uv or Poetry
    ({"uv.lock": UV, "README.md": "pip install -e .\n"}, {"trl": "==0.20.0 (presumed)", "torch": "==2.5.1 (presumed)"}),
    ({"poetry.lock": POETRY, "README.md": "```\n$ pip3 install -r requirements.txt\n"}, {"trl": "==0.20.0 (presumed)"}),
    ({"poetry.lock": POETRY, "README.md": "uv pip install -e '.[train]'\n"}, {"trl": "==0.20.0 (presumed)"}),
    ({"poetry.lock": POETRY, "README.md": "pip install trl\n"}, {"trl": "==0.20.0 (presumed)"}),
    ({"poetry.lock": POETRY, "Dockerfile": "RUN pip install trl==0.24.0\n"}, {"trl": "==0.20.0 || ==0.24.0"}),
    ({"poetry.lock": POETRY, "README.md": "pip install poetry\npoetry install\n"}, {"trl": "==0.20.0"}),
    ({"uv.lock": UV, "README.md": "pip install uv && uv sync\n"}, {"trl": "==0.20.0", "torch": "==2.5.1"}),
    ({"uv.lock": UV, "requirements.txt": "trl\n"}, {"trl": "==0.20.0 (presumed)", "torch": "==2.5.1"}),
]


@pytest.mark.parametrize(("files", "expected"), RELEASES)
def test_releases_of_lock_files_and_requirements(tmp_path, files, expected):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    inner = tmp_path / "configs" / "sft"
    inner.mkdir(parents=True)
    found = locks.stated(str(inner), str(tmp_path), {}, pytest.fail)
    said = {library: pin.specifier + " (presumed)" * pin.presumed for library, pin in found.items()}
    assert said == expected
    assert {Path(pin.file).relative_to(tmp_path).as_posix() for pin in found.values()} <= set(files)
    assert locks.stated(str(inner), str(inner), {}, pytest.fail) == {}


ASKED = [
    ('require_version("trl>=0.8.6,<=0.9.6", "pip install trl")', {"trl": ">=0.8.6,<=0.9.6"}),
    ('require_version(\n    "trl>=0.8.6,<=0.9.6")\nrequire_version("trl<0.9")', {"trl": ">=0.8.6,<=0.9.6,<0.9"}),
    ('require_version("trl==0.9.6")\nrequire_version("trl>=1.0")', {"trl": "==0.9.6 || >=1.0"}),
    ('require_version("pillow>=9")\nrequire_version(wanted)', {}),
    ("pass", {}),
]


@pytest.mark.parametrize(("text", "expected"), ASKED)
def test_releases_that_a_program_asks_for(text, expected):
    assert {library: pin.specifier for library, pin in locks.required(text, "a.py").items()} == expected


# "" is a bare name: it takes what is newest on that day. "?" is a commit.
INSTALLED = [
    ("!pip install -q trl peft==0.15.0 'transformers[torch]'", {"trl": "", "peft": "==0.15.0", "transformers": ""}),
    ("%pip install --upgrade transformers[torch] nosuch", {"transformers": ""}),
    ("import trl", {}),
    ("# MAGIC %pip install trl==0.4.7 transformers==4.31.0", {"trl": "==0.4.7", "transformers": "==4.31.0"}),
    ("# MAGIC %pip install -q \\\n# MAGIC   trl==0.8.6\n", {"trl": "==0.8.6"}),
    (
        '%pip install --upgrade \\\n  "transformers==4.37.2" \\\n  "trl >= 0.7, <0.8"\n',
        {"transformers": "==4.37.2", "trl": ">= 0.7, <0.8"},
    ),
    ("!pip install trl==0.8.6\n!pip install trl==0.9.6", {"trl": "==0.8.6 || ==0.9.6"}),
    ("!pip install trl\n!pip install trl==0.9.6", {"trl": "==0.9.6"}),
    ("!pip install trl==0.9.6\n!pip install trl", {"trl": "==0.9.6"}),
    ("!pip install trl==0.9.6\n!pip install -qU trl", {"trl": ""}),
    ("pip install trl==0.9.6 && pip install peft==0.10.0 # torch==1.13.1", {"trl": "==0.9.6", "peft": "==0.10.0"}),
    (
        "pip install trl==0.9.6; python -m pip install 'peft==0.10.0;python_version>\"3\"'",
        {"trl": "==0.9.6", "peft": "==0.10.0"},
    ),
    ("pip install git+https://example.com/huggingface/transformers@v4.40-release", {"transformers": "==4.40"}),
    ("pip install git+https://example.com/huggingface/transformers@dc68a39", {"transformers": "?"}),
    ("pip install -U git+https://example.com/huggingface/trl.git", {"trl": ""}),
    ("uv pip install trl==0.9.6\nuv add 'peft>=0.10'", {"trl": "==0.9.6", "peft": ">=0.10"}),
    ("RUN CUDA=1 pip3 install --no-cache-dir torch==2.3.1+cu121 -i https://example.com/cu121", {"torch": "==2.3.1"}),
    ("os.system('pip install trl==0.9.6')", {"trl": "==0.9.6"}),
    ('subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", "trl==0.9.6"])', {"trl": "==0.9.6"}),
    ("!{sys.executable} -m pip install trl==0.9.6", {"trl": "==0.9.6"}),
    ("echo please pip install trl==0.9.6", {}),
    ('print("pip install trl==0.9.6")', {}),
    ('raise ImportError(f"pip install trl==0.9.6")', {}),
    ('image.run_commands("pip install trl==0.9.6")', {"trl": "==0.9.6"}),
    ('raise ImportError("too old: pip install -U trl==0.9.6")', {}),
]


@pytest.mark.parametrize(("text", "expected"), INSTALLED)
def test_what_a_text_installs_in_its_order(text, expected):
    pins = locks.installed(text, "a.txt")
    assert {library: pin.specifier for library, pin in pins.items()} == expected
    assert not any(pin.presumed for pin in pins.values())
    cells = [line + "\n" for line in text.split("\n")]
    notebook = json.dumps({"cells": [{"cell_type": "code", "source": cells, "outputs": []}]}, indent=1)
    again = locks.installed(notebook, "a.ipynb")
    assert {library: pin.specifier for library, pin in again.items()} == expected


@pytest.mark.parametrize(
    ("counts", "presumed"), [((None, None), False), ((1, 2), False), ((1, None), False), ((None, 1), True)]
)
def test_what_a_cell_installs_that_was_never_run_is_presumed_beside_cells_that_were(counts, presumed):
    sources = ["!pip install trl==0.9.6\n", "args = SFTConfig()\n"]
    cells = [
        {"cell_type": "code", "execution_count": count, "metadata": {}, "outputs": [], "source": [source]}
        for count, source in zip(counts, sources, strict=True)
    ]
    (pin,) = locks.installed(json.dumps({"cells": cells}, indent=1), "a.ipynb").values()
    assert (pin.specifier, pin.presumed) == ("==0.9.6", presumed)


def test_a_command_that_is_commented_out_is_presumed():
    (pin,) = locks.installed("# !pip install trl==0.9.6\n", "a.py").values()
    assert (pin.specifier, pin.presumed) == ("==0.9.6", True)
    (pin,) = locks.installed('"""Usage:\npip install trl==0.9.6\n"""\n', "a.py").values()
    assert (pin.specifier, pin.presumed) == ("==0.9.6", True)
    (pin,) = locks.installed("# pip install trl==0.9.6\npip install trl==0.8.6\n", "a.sh").values()
    assert (pin.specifier, pin.presumed) == ("==0.8.6", False)


# A program that transformers 5 and TRL 1 refuse, and what states older releases beside it or in it.
OLD_PROGRAM = """from transformers import TrainingArguments
from trl import SFTTrainer
args = TrainingArguments("o", evaluation_strategy="steps", warmup_ratio=0.1, learning_rate=2e-5)
trainer = SFTTrainer(model=model, args=args, train_dataset=rows, dataset_text_field="text", tokenizer=tokenizer)
"""
OLD_LOCK = '[[package]]\nname = "transformers"\nversion = "4.37.2"\n\n[[package]]\nname = "trl"\nversion = "0.7.11"\n'
STATED_BESIDE = [
    ({}, "# MAGIC %pip install trl==0.7.11 transformers==4.37.2\n"),
    ({"requirements.txt": "transformers==4.37.2\ntrl==0.7.11\n"}, ""),
    ({"uv.lock": OLD_LOCK + OLD_LOCK.replace("4.37.2", "4.38.2").replace("0.7.11", "0.8.6")}, ""),
    (
        {
            "requirements.txt": "transformers==4.37.2\ntrl==0.7.11\n",
            "requirements-b.txt": "transformers==4.40.1\ntrl==0.8.6\n",
        },
        "",
    ),
]


@pytest.mark.parametrize(("files", "head"), STATED_BESIDE)
def test_what_the_stated_releases_take_is_no_fault_and_stays_as_it_is(tmp_path, files, head):
    for name, text in {**files, "train.py": head + OLD_PROGRAM}.items():
        (tmp_path / name).write_text(text)
    report = check(tmp_path)
    assert not [d for d in report.diagnostics if d.code in ("V101", "V102", "V104") and d.severity != "info"]
    assert not [
        d for d in report.diagnostics if d.fix is not None and d.fix.applicability == "safe" and d.code.startswith("V")
    ]


@pytest.mark.parametrize(
    ("pins", "applicability"),
    [
        ("", "unsafe"),
        ("transformers==4.37.2\n---\ntransformers==4.57.6\n", "manual"),  # 4.37 has no eval_strategy
        ("transformers==4.43.4\n---\ntransformers==4.57.6\n", "safe"),  # both have it
        ("transformers>=4.36\n", "unsafe"),
        ("transformers>=4.41\n", "safe"),
    ],
)
def test_a_repair_is_for_every_release_that_is_stated(tmp_path, pins, applicability):
    for number, text in enumerate(pins.split("---\n") if pins else []):
        (tmp_path / f"requirements-{number}.txt").write_text(text)
    program = "from transformers import TrainingArguments\nargs = TrainingArguments('o', evaluation_strategy='steps')\n"
    (tmp_path / "train.py").write_text(program)
    (found,) = [d for d in check(tmp_path).diagnostics if d.code == "V101"]
    assert found.severity == "warning"
    assert found.fix is not None and found.fix.applicability == applicability


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"requirements.txt": "trl==0.17.0\n"}, "warning"),
        ({"uv.lock": UV.replace("0.20.0", "0.17.0")}, "error"),
        ({"uv.lock": UV.replace("0.20.0", "0.17.0"), "README.md": "uv sync\n"}, "error"),
        ({"uv.lock": UV.replace("0.20.0", "0.17.0"), "README.md": "pip install -e .\n"}, "warning"),
        ({"docker/requirements.txt": "trl==0.17.0\n", "requirements.txt": "trl\n"}, "warning"),
        ({"docker/requirements.txt": "trl==0.17.0\n", "requirements.txt": "trl>=0.15\n"}, "warning"),
        ({"docker/requirements.txt": "trl==0.17.0\n", "docker/Dockerfile": "RUN pip install trl==0.24.0\n"}, ""),
        ({"docker/requirements.txt": "trl==0.17.0\n", "docker/Dockerfile": "RUN pip install trl==${T}\n"}, ""),
        ({"docker/requirements.txt": "trl==0.17.0\n", "docker/Dockerfile": "RUN pip install trl==0.16.0\n"}, "warning"),
    ],
)
def test_an_error_of_a_release_is_one_of_every_set_that_may_run(tmp_path, files, severity):
    """GRPOConfig has vllm_mode from TRL 0.18.2 on; what took its place before is another setting. Whoever wrote it had such a release: a list
    that says another need not be what is installed, a lock file is."""
    program = "from trl import GRPOConfig\nargs = GRPOConfig(output_dir='o', vllm_mode='colocate')\n"
    for name, text in {**files, "train.py": program}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = [d for d in check(tmp_path).diagnostics if d.code == "V252"]
    assert [d.severity for d in found] == ([severity] if severity else [])
    assert all("vllm_device" not in d.message and d.fix is not None and d.fix.applicability == "manual" for d in found)


@pytest.mark.parametrize(
    ("program", "releases", "severity"),
    [
        ("{}", (), "warning"),
        ("{}", ("trl==0.17.0",), "error"),
        ('# /// script\n# dependencies = ["trl==0.17.0"]\n# ///\n{}', (), "error"),
        ("import os\nos.system('pip install trl==0.17.0')\n{}", (), "error"),
    ],
    ids=["by-the-list", "by-an-option", "by-its-own-block", "by-its-own-command"],
)
def test_a_name_that_is_too_new_is_an_error_where_the_run_itself_says_its_release(
    tmp_path, program, releases, severity
):
    (tmp_path / "requirements.txt").write_text("trl==0.17.0\n")
    (tmp_path / "train.py").write_text(
        program.format("from trl import GRPOConfig\nargs = GRPOConfig(output_dir='o', vllm_mode='colocate')\n")
    )
    found = [d for d in check(tmp_path, releases=releases).diagnostics if d.code == "V252"]
    assert [d.severity for d in found] == [severity]


def test_the_nearer_requirements_count(tmp_path):
    inner = tmp_path / "configs"
    inner.mkdir()
    (tmp_path / "uv.lock").write_text(UV)
    (inner / "requirements.txt").write_text("trl==1.0.0\n")
    found = locks.stated(str(inner), str(tmp_path), {}, pytest.fail)
    assert {library: pin.specifier for library, pin in found.items()} == {"trl": "==1.0.0", "torch": "==2.5.1"}


@pytest.mark.parametrize(
    ("release", "new"),
    [("==0.13.0", "max_completion_length"), ("==0.28.0", "max_completion_length"), ("==0.29.1", None), ("", None)],
)
def test_a_new_name_that_is_gone_as_well_is_not_offered(tmp_path, release, new):
    """DPOConfig's max_target_length became max_completion_length, which TRL 0.29 gave up."""
    (tmp_path / "requirements.txt").write_text(f"trl{release}\n")
    (tmp_path / "train.py").write_text(
        "from trl import DPOConfig\nargs = DPOConfig(output_dir='o', max_target_length=384)\n"
    )
    found = [d for d in check(tmp_path).diagnostics if d.setting == "max_target_length"]
    assert found
    edits = [edit.new_text for d in found if d.fix is not None for file in d.fix.files for edit in file.edits]
    assert edits == ([new] if new else []) or (new is None and not any(edits))
    assert not any("max_completion_length" in d.message for d in found) or new


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ('select = ["{}"]', "fp16-and-bf17"),
        ('ignore = ["{}"]', "P999"),
        ('[severity]\n{} = "error"', "fp16-and-bf17"),
        ('[severity]\nP143 = "{}"', "eror"),
        ('fail-on = "{}"', "warnings"),
        ('[[target]]\ngpu = "{}"', "RTX 9999"),
        ('[versions]\ntransformers = "{}"', "=>4.40"),
    ],
)
def test_what_is_refused_is_quoted_only_where_it_can_be_no_secret(settings, shown, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text("output_dir: out\nlearning_rate: 1.0e-5\n")
    for word in (shown, "velvet-orchid-kestrel", "q7Lw2Zt9Xk4Rv8Nb3Hs6Yd1P", "80238113"):
        (tmp_path / "stablint.toml").write_text(settings.format(word))
        assert main(["check", "a.yaml"]) == 2
        assert (word in capsys.readouterr().err) == (word == shown)
