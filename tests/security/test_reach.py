"""How far the names and links of a clone reach: nothing outside is read or written, nothing that is read is written over, and it is told."""

from __future__ import annotations

import builtins
import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stablint.advising import text as advising_text
from stablint.base import whole
from stablint.cli import main
from stablint.commands import new
from stablint.engine.examples import write
from stablint.fix.exchange import CHANGED
from stablint.fix.write import write_all
from stablint.report.model import FileEdits
from stablint.report.plain import Style
from stablint.syntax.edit import Edit
from stablint.syntax.text import decode
from stablint.syntax.tree import Text
from tests.pace import cost

RUN = """\
model_name_or_path: Qwen/Qwen2-7B-Instruct
output_dir: out
bf16: true
learning_rate: 1.0e-5
per_device_train_batch_size: 8
evaluation_strategy: steps
eval_steps: 200
save_steps: 500
load_best_model_at_end: true
max_length: 2048
"""
LOG = "{'loss': 2.0, 'grad_norm': 1.0, 'epoch': 0.1}\n{'loss': 0.0, 'grad_norm': nan, 'epoch': 0.2}\nValueError: precious\n"
MODEL = '{"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "hidden_size": 77341, "torch_dtype": "float16"}'
OF_FOLDER = """\
from transformers import AutoModelForCausalLM, TrainingArguments

model = AutoModelForCausalLM.from_pretrained("./m")
args = TrainingArguments(output_dir="out")
"""


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, in which the test is, and beside it what is none of its business."""
    outside = {"log.txt": LOG, "model/config.json": MODEL, "run.yaml": RUN, "folder/a.yaml": RUN}
    write({f"outside/{name}": text for name, text in outside.items()}, str(tmp_path))
    write({"clone/.git/HEAD": "ref: refs/heads/main\n", "clone/train.yaml": RUN, "clone/train.log": LOG}, str(tmp_path))
    monkeypatch.chdir(tmp_path / "clone")
    return tmp_path / "clone"


PLOT = ["fit", "train.yaml", "--gpu", "RTX 4090", "--plot"]


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["check", "train.yaml", "--output-format", "json", "--output-file", "train.yaml"], "train.yaml"),
        (["check", ".", "--output-format", "json", "--output-file", "sub/../train.yaml"], "train.yaml"),
        (["check", "train.yaml", "--output-format", "json", "--output-file", "stablint.toml"], "stablint.toml"),
        ([*PLOT, "train.yaml"], "train.yaml"),
        (["diagnose", "train.log", "train.yaml", "--plot", "train.log"], "train.log"),
        (["diagnose", "train.log", "train.yaml", "--plot", "train.yaml"], "train.yaml"),
    ],
    ids=str,
)
def test_nothing_is_written_over_what_is_read(
    words: list[str], kept: str, clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write({"stablint.toml": 'fail-on = "warning"\n', "sub/x": ""}, str(clone))
    before = (clone / kept).read_bytes()
    assert main(words) == 2
    assert "this command reads that file" in capsys.readouterr().err
    assert (clone / kept).read_bytes() == before


ROUND_ABOUT = {
    "train.yaml": RUN.replace("Qwen/Qwen2-7B-Instruct", "./m") + "deepspeed: ds.json\n",
    "ds.json": '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}',
    "m/config.json": MODEL.replace(
        "77341", '64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100, "intermediate_size": 128'
    ),
    "launch.sh": ". ./env.sh\ntrl sft --config train.yaml --learning_rate $LR\n",
    "env.sh": "LR=1e-5\n",
    "requirements.txt": "-r more.txt\ntransformers==4.46.0\n",
    "more.txt": "trl==0.12.0\n",
    "pyproject.toml": '[project]\nname = "x"\ndependencies = ["peft==0.13.0"]\n',
    "uv.lock": 'version = 1\n[[package]]\nname = "accelerate"\nversion = "1.0.0"\n',
    ".gitignore": "out/\n",
    ".git/info/exclude": "tmp/\n",
    "stablint.toml": 'baseline = "base.json"\nhazards = ["house"]\n[house]\nprefix = "ACME"\n',
    "base.json": '{"schema_version": 1, "findings": []}',
    "house/run.yaml": "{}",
    "notes.yaml": "fruit: plum\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(
    "words", [["check"], PLOT[:-1], ["diagnose", "train.log", "train.yaml"]], ids=lambda words: words[0]
)
def test_nothing_is_written_over_what_was_read_on_the_way(
    words: list[str], jobs: str, clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever file of the repository a command opens, but for what it finds to be no configuration: an older report is one of these."""
    if jobs != "1" and words != ["check"]:
        pytest.skip("one process does it")
    text = (Path(__file__).parents[2] / "docs/house.md").read_text(encoding="utf-8")
    files = ROUND_ABOUT | {"house/run.yaml": text.split("```yaml\n")[2].split("```")[0]}
    write(files, str(clone))
    if words == ["check"]:
        write(
            {f"other{number}/{name}": content for number in range(int(jobs)) for name, content in files.items()},
            str(clone),
        )
        write({f"other{number}/.git/HEAD": "ref: refs/heads/main\n" for number in range(2)}, str(clone))
        words = ["check", ".", "--jobs", jobs, "--output-format", "json", "--output-file"]
    else:
        words = [*words, "--plot"]
    opened: set[str] = set()

    def noted(open_: Callable[..., Any]) -> Callable[..., Any]:
        def opens(path: Any, *args: Any, **more: Any) -> Any:
            opened.add(os.path.realpath(path) if isinstance(path, (str, os.PathLike)) else "")
            return open_(path, *args, **more)

        return opens

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", noted(os.open))
        patched.setattr(builtins, "open", noted(open))
        main([*words, "new.out"])
    (clone / "new.out").unlink()
    capsys.readouterr()
    names = [
        path.relative_to(clone).as_posix() for path in sorted(clone.rglob("*")) if os.path.realpath(path) in opened
    ]
    aside = (
        {"notes.yaml"} if words[0] == "check" else {"launch.sh"}
    )  # the script was searched for names, and no run begins in it
    names = [name for name in names if os.path.basename(name) not in aside]
    assert {"ds.json", "m/config.json", "requirements.txt", "more.txt", "pyproject.toml", "uv.lock"} <= set(names)
    assert {"stablint.toml", "base.json", "house/run.yaml"} <= set(names)
    written = []
    for name in [*names, "no/../train.yaml"]:
        before = (clone / name.replace("no/../", "")).read_bytes()
        code = main([*words, name])
        if code != 2 or (clone / name.replace("no/../", "")).read_bytes() != before:
            written.append(name)
            (clone / name.replace("no/../", "")).write_bytes(before)
    assert not written


def test_an_older_report_is_written_over(clone: Path) -> None:
    for _ in range(2):
        assert main(["check", ".", "--output-format", "json", "--output-file", "report.json"]) == 1
    assert (clone / "report.json").read_text().startswith("{")


@pytest.mark.parametrize(
    "words", [[*PLOT, "d/../x.svg"], ["check", ".", "--output-format", "json", "--output-file", "d/../x.json"]], ids=str
)
def test_a_link_before_dots_leads_out_as_well(
    words: list[str], clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (clone / "d").symlink_to("../outside/folder")
    assert main(words) == 2
    assert "a link leads it out of the repository" in capsys.readouterr().err
    assert sorted(path.name for path in (clone.parent / "outside").iterdir()) == [
        "folder",
        "log.txt",
        "model",
        "run.yaml",
    ]


@pytest.mark.parametrize(
    ("link", "code"), [("run.yaml", 2), ("folder", 2)], ids=["a file that is named", "a folder that is named"]
)
def test_what_was_named_and_is_not_read_is_no_success(
    link: str, code: int, clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (clone / f"link-{link}").symlink_to(f"../outside/{link}")
    assert main(["check", f"link-{link}"]) == code
    assert "not read: it is a link out of the repository" in capsys.readouterr().err
    assert main(["check", f"link-{link}", "--skip-unrecognised"]) == 0  # a list of changed files may hold one
    assert main(["check", f"link-{link}", "--allow-outside"]) == 1


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"train.py": OF_FOLDER}, ["show", "train.py"]),
        ({"run.yaml": RUN.replace("Qwen/Qwen2-7B-Instruct", "./m")}, ["show", "run.yaml"]),
        ({"run.yaml": RUN.replace("Qwen/Qwen2-7B-Instruct", "a/b")}, ["show", "run.yaml", "--model", "m"]),
        (
            {"run.yaml": RUN.replace("Qwen/Qwen2-7B-Instruct", "a/b"), "stablint.toml": 'model = "m"\n'},
            ["show", "run.yaml"],
        ),
    ],
    ids=["a program", "a file", "the command line", "the settings"],
)
def test_a_file_in_a_folder_of_ours_may_lie_outside(
    files: dict[str, str], words: list[str], clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write({**files, "m/x": ""}, str(clone))
    (clone / "m/config.json").symlink_to("../../outside/model/config.json")
    main(words)
    assert "77341" not in capsys.readouterr().out
    main([*words, "--allow-outside"])
    assert "77341" in capsys.readouterr().out


def test_a_folder_that_somebody_names_elsewhere_is_read_with_its_links(
    clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the hub's cache keeps them."""
    write({"cache/blobs/x": MODEL, "cache/snapshots/a/y": ""}, str(clone.parent))
    (clone.parent / "cache/snapshots/a/config.json").symlink_to("../../blobs/x")
    main(["show", "train.yaml", "--model", "../cache/snapshots/a"])
    assert "77341" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["diagnose"], ["watch", "--idle", "0.01", "--interval", "0.01"]], ids=str)
def test_a_log_that_is_a_link_out_is_not_quoted(
    command: list[str], clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (clone / "run.log").symlink_to("../outside/log.txt")
    assert main([*command, "run.log"]) == 2
    told = capsys.readouterr()
    assert "precious" not in told.out and "a link out of the repository" in told.err
    assert main([*command, "run.log", "--allow-outside"]) == 1


def test_a_name_that_no_system_takes_is_not_found(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write({"bad.yaml": RUN + 'deepspeed: "a\\0.json"\n'}, str(clone))
    assert main(["check", "."]) == 1
    told = capsys.readouterr()
    assert "Not found, so not checked" in told.out and "internal error" not in told.err


@pytest.mark.parametrize(
    ("field", "text"),
    [("title", "t \\x1b]0;x\\x07"), ("why", "w \\u202e"), ("message", "m \\x0b"), ("fine_when", "f \\u2028::error::x")],
)
def test_a_rule_of_the_house_holds_no_control(
    field: str, text: str, clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = {
        "id": "acme-x", "code": "ACME001", "title": "a title", "severity": "warning", "bites_at": "never-visibly",
        "when": "[training.bf16 is true]", "fine_when": "never", "message": "a message", "at": "training.bf16", "why": "because",
        "remedies": "[{title: look at it, safety: manual}]", "evidence": "{grade: reported, sources: ['https://wiki.example.com/x']}",
        "examples": "[{dialect: trl, files: {train.yaml: 'bf16: true'}}]",
    }  # fmt: skip
    settings = 'hazards = ["hazards/"]\n[house]\nprefix = "ACME"\n'
    for value, code in ((rule[field], 0), (f'"{text}"', 2)):
        lines = "\n".join(f"{key}: {value if key == field else said}" for key, said in rule.items())
        write({"stablint.toml": settings, "hazards/a.yaml": lines + "\n"}, str(clone))
        assert main(["explain", "ACME001"]) == code
    told = capsys.readouterr()
    line = list(rule).index(field) + 1
    assert f"hazards/a.yaml:{line}: a control or invisible character" in told.err
    assert not {"\x1b", "\u202e", "\x0b", "\u2028"} & set(told.out + told.err)


def test_nothing_of_a_closed_standard_input(clone: Path) -> None:
    command = f'exec "{sys.executable}" -I -m stablint check - <&-'
    done = subprocess.run(["sh", "-c", command], cwd=clone, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "internal error" not in done.stderr and "no training configuration" in done.stderr


def test_migrate_tells_what_it_may_not_write(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {f"r{number}/train.yaml": RUN.replace("max_length: 2048\n", "") for number in range(2)}
    write(files, str(clone))
    for name in files:
        (clone / name).chmod(0o444)
    words = ["migrate", *files, "--with", "transformers==5.0.0", "--from", "transformers==4.38.0"]
    assert main(words) == 2
    told = capsys.readouterr()
    assert "not written: it is read-only" in told.err and "internal error" not in told.err
    assert {(clone / name).read_text() for name in files} == set(files.values())


def test_what_is_by_hand_is_not_repaired(clone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = "TypeError: TrainingArguments.__init__() got an unexpected keyword argument 'evaluation_strategy'\n"
    write({"train.log": log}, str(clone))
    words = ["diagnose", "train.log", "train.yaml", "--fix", "--unsafe-fixes", "--with", "transformers==4.50.0"]
    assert main(words) == 1
    assert "repaired: 0 of 1 causes" in capsys.readouterr().err
    assert (clone / "train.yaml").read_text() == RUN


@pytest.mark.parametrize("there", [(), ("a",)], ids=["no folder", "one that was there"])
def test_no_folder_stays_where_nothing_was_written(
    there: tuple[str, ...], clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in there:
        (clone / name).mkdir()

    def full(old: str, place: str, follow_symlinks: bool = True) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(os, "link", full)
    with pytest.raises(OSError, match="No space"):
        new._put("a/b/c", {"d/run.yaml": RUN})
    assert [path.name for path in clone.iterdir() if path.name in ("a", "b", "c")] == list(there)
    assert not any((clone / name / "b").exists() for name in there)


def text_of(path: Path) -> Text:
    text = decode(path.read_bytes(), str(path), path.name)
    assert isinstance(text, Text)
    return text


@pytest.mark.parametrize("change", ["a mode", "a second name"])
def test_who_changes_the_file_itself_is_heard(change: str, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the new text and its exchange, not only before both."""
    path = clone / "train.yaml"
    old = text_of(path)
    linked = os.link

    def link(one: str, other: str, **said: bool) -> None:
        linked(one, other, **said)
        if change == "a mode":
            path.chmod(0o600)
        elif not (clone / "again.yaml").exists():
            linked(path, clone / "again.yaml")

    monkeypatch.setattr(os, "link", link)
    texts = {str(path): old._replace(text=RUN.replace("bf16", "fp16"))}
    outcome = write_all(texts, {str(path): old}, lambda _: str(clone))
    assert (outcome.written, outcome.refused) == ((), ((str(path), CHANGED),))
    assert path.read_text() == RUN
    assert change != "a mode" or path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in clone.iterdir() if one.name.startswith(".stablint")] == []


def test_a_signal_waits_for_a_report(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replaced = os.replace

    def replace(old: str, place: str) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        replaced(old, place)

    monkeypatch.setattr(os, "replace", replace)
    code = main(["check", ".", "--output-format", "json", "--output-file", "report.json"])
    assert code == 143
    assert (clone / "report.json").read_text().endswith("}\n")
    assert [path.name for path in clone.iterdir() if path.name.endswith(".new")] == []


def test_what_a_killed_process_left_is_swept(clone: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = {number: f"report.json.{number}-{whole.machine()}.new" for number in (dead.pid, os.getppid())}
    mine = ["report.json.7.new", f"other.json.{dead.pid}-{whole.machine()}.new"]
    write(dict.fromkeys([*left.values(), *mine], ""), str(clone))
    main(["check", ".", "--output-format", "json", "--output-file", "report.json"])
    there = sorted(path.name for path in clone.iterdir() if path.name.endswith(".new"))
    assert there == sorted([left[os.getppid()], *mine])


def test_an_editor_that_takes_nothing_ends_the_server(clone: Path) -> None:
    pytest.importorskip("pygls")
    said = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}'
    command = f'exec "{sys.executable}" -I -m stablint server > /dev/full'
    if not os.path.exists("/dev/full"):
        pytest.skip("no disk that is always full")
    given = f"Content-Length: {len(said)}\r\n\r\n{said}Content-Length: 5\r\n\r\n{{bad}}"
    done = subprocess.run(["sh", "-c", command], input=given, cwd=clone, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and len(done.stderr) < 1_000


@pytest.mark.parametrize(
    "words",
    [
        ["check", ".", "--output-format", "json"],
        ["check", ".", "--output-format", "sarif"],
        ["config", "--output-format", "json"],
    ],
    ids=str,
)
def test_a_reason_is_a_sentence_in_formats_for_programs_too(
    words: list[str], clone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reason = "the password Marmalade-1742! is known"
    accepted = f'[[accept]]\nrules = ["T103"]\nreason = "{reason}"\n'
    write(
        {"stablint.toml": accepted, "b.yaml": RUN.replace("200", f"200  # stablint: ignore[T103] -- {reason}")},
        str(clone),
    )
    main(words)
    told = capsys.readouterr().out
    assert "the password ********" in told and "Marmalade" not in told


def test_the_lines_of_an_advice_are_not_compared_with_each_other() -> None:
    """A file that says the same thousands of times over, between two lines that change."""
    whole_text = "seed: 1\n" + "fp16: true\n" * 20_000 + "seed: 2\n"
    text = decode(whole_text.encode(), "a.yaml", "a.yaml")
    assert isinstance(text, Text)
    edits = (Edit(0, 7, "seed: 3"), Edit(len(whole_text) - 8, len(whole_text) - 1, "seed: 4"))
    assert cost(lambda: list(advising_text._lines(FileEdits(text, edits), Style(False))), 1.0) < 1.0


def test_a_message_that_is_none_is_one_line(clone: Path) -> None:
    pytest.importorskip("pygls")
    start = {"processId": None, "rootUri": None, "capabilities": {}}
    odd = {"textDocument": {"uri": "file:///a.yaml"}, "position": {"line": -1, "character": 10**12}}
    asked = [
        ("initialize", start),
        ("textDocument/hover", odd),
        ("workspace/executeCommand", {"command": "none"}),
        ("shutdown", None),
    ]
    texts = [json.dumps({"jsonrpc": "2.0", "id": n, "method": m, "params": p}) for n, (m, p) in enumerate(asked)]
    texts = [*texts[:1], "{bad}", "[]", *texts[1:], '{"jsonrpc": "2.0", "method": "exit"}']
    given = "".join(f"Content-Length: {len(text)}\r\n\r\n{text}" for text in texts)
    command = [sys.executable, "-I", "-m", "stablint", "server"]
    done = subprocess.run(command, input=given, cwd=clone, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert (
        done.stderr
        and "Traceback" not in done.stderr
        and all(line.startswith("stablint: ") for line in done.stderr.splitlines())
    )


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_lies_elsewhere_and_is_not_named_has_no_part_in_a_run(
    jobs: str, clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--allow-outside` is about what names and links lead to; it is no leave to look around on the machine."""
    elsewhere = {
        "elsewhere/edit.sh": "sed -i 's/eval_steps.*/eval_steps: 500/' train.yaml\ntrl sft --config train.yaml\n",
        "elsewhere/conf/ds.json": '{"zero_optimization": {"stage": 9}}',
        "requirements.txt": "transformers==4.30.0\n",
    }
    write(elsewhere, str(clone.parent))
    write({"launch.sh": "trl sft --config train.yaml --deepspeed $HERE/conf/ds.json\n"}, str(clone))
    opened: set[str] = set()

    def noted(path: Any, *args: Any, **more: Any) -> Any:
        opened.add(str(path))
        return open_(path, *args, **more)

    open_ = os.open
    monkeypatch.setattr(os, "open", noted)
    told = []
    for more in ([], ["--allow-outside"]):
        assert main(["check", ".", "--jobs", jobs, "--output-format", "json", *more]) == 1
        told.append(json.loads(capsys.readouterr().out)["diagnostics"])
    assert told[0] == told[1]
    assert not [path for path in opened if path.startswith(str(clone.parent)) and not path.startswith(str(clone))]
