"""One file's fault is that file's finding: whichever stage raises on one of several files, the others are reported, and the exit code is 2."""

from __future__ import annotations

import errno
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stablint.assemble.files import Files
from stablint.cli import main
from stablint.config.options import options
from stablint.engine.inspect import inspect
from stablint.files import faults
from stablint.syntax.tree import Text
from tests.runs import written
from tests.sampling import sampled

RECIPE = "model_name_or_path: Qwen/Qwen2-7B-Instruct\noutput_dir: out\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 4\n"
BOTH = RECIPE.replace("1.0e-5", "1e-5") + "fp16: true\nbf16: true\n"  # P143, and L122, which has a repair
FILES = {"a.yaml": BOTH, "bad.yaml": BOTH.replace("out", "elsewhere"), "c.yaml": BOTH}
FORMATS = ("full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "markdown", "rdjson")
ERRORS = [
    TypeError("what"),
    MemoryError(),
    RecursionError("too deep"),
    OSError(5, "no disk"),
    KeyError("x"),
    AssertionError(),
]


def is_bad(argument: Any) -> bool:
    """Whether what a stage is given belongs to bad.yaml: a text, or something that has one, or a run."""
    if isinstance(argument, (list, tuple)) and argument and not hasattr(argument, "_fields"):
        return is_bad(argument[0])
    for way in ("text", "document", "block", "fragment", "anchor", "place"):
        if not isinstance(argument, (str, Text)) and hasattr(argument, way):
            return is_bad(getattr(argument, way))
    return (argument.name if isinstance(argument, Text) else argument).endswith("bad.yaml")


# Where each stage begins, by the module that calls it: what is replaced by something that raises on one file.
STAGES = {
    "reading": "stablint.files.discover.read",
    "making out the settings": "stablint.frameworks.registry.lower",
    "gathering": "stablint.assemble.runs.seeds_of",
    "joining": "stablint.assemble.runs.join",
    "settling": "stablint.assemble.runs._runs",
    "judging": "stablint.engine.judging.check stablint.engine.judging._sifted",  # one run by itself, and several
    "looking for readers": "stablint.repository.readers.keys_of",
    "grouping findings": "stablint.engine.diagnostics._key",
    "wording a finding": "stablint.engine.diagnostics._diagnostic",
    "repairing a finding": "stablint.engine.diagnostics._fix",
}  # fmt: skip


def failing(original: Callable[..., Any], error: Exception) -> Callable[..., Any]:
    def stage(first: Any, *rest: Any, **named: Any) -> Any:
        if is_bad(rest[0] if isinstance(first, Files) else first):
            raise error
        return original(first, *rest, **named)

    return stage


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    written(tmp_path, FILES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def breaks(monkeypatch: pytest.MonkeyPatch, stage: str, error: Exception) -> None:
    for place in STAGES[stage].split():
        module, _, name = place.rpartition(".")
        __import__(module)
        monkeypatch.setattr(place, failing(getattr(sys.modules[module], name), error))


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_stage_that_raises_on_one_file(
    stage: str, error: Exception, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    breaks(monkeypatch, stage, error)
    (folder / "other.py").write_text("print(1)\n")  # who reads a file is asked only where there are programs
    assert main(["check", ".", "--isolated", "--output-format", "json"]) == 2
    output = capsys.readouterr()
    told = {(d["file"], d["rule"]): d["message"] for d in json.loads(output.out)["diagnostics"]}
    assert {("a.yaml", "fp16-and-bf16"), ("c.yaml", "fp16-and-bf16"), ("bad.yaml", "internal-fault")} <= told.keys()
    assert type(error).__name__ in told["bad.yaml", "internal-fault"]
    assert not {("a.yaml", "internal-fault"), ("c.yaml", "internal-fault")} & told.keys()
    assert "bad.yaml" in output.err and "Traceback" not in output.err


@pytest.mark.parametrize(
    ("kind", "words", "stage"),
    sampled(
        itertools.product(
            FORMATS, [[], ["--diff"], ["--fix", "--unsafe-fixes"]], ["reading", "judging", "wording a finding"]
        ),
        4,
    ),
)
def test_every_format_and_every_way_stays_whole(
    kind: str,
    words: list[str],
    stage: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    breaks(monkeypatch, stage, TypeError("what"))
    assert main(["check", ".", "--isolated", "--output-format", kind, *words]) == 2
    output = capsys.readouterr()
    assert "bad.yaml" in (output.err if "--diff" in words else output.out)
    if kind in ("json", "sarif", "gitlab", "rdjson") and "--diff" not in words:
        json.loads(output.out)
    if "--fix" in words:
        assert (folder / "a.yaml").read_text() != BOTH
        assert (folder / "bad.yaml").read_text() == FILES["bad.yaml"]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_format_that_raises_on_one_finding(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from stablint.commands import outputs

    original = outputs._render

    def render(output: Any, report: Any, *rest: Any) -> str:
        if any(d.text.name == "bad.yaml" and d.rule != "internal-fault" for d in report.diagnostics):
            raise TypeError("what")
        return original(output, report, *rest)

    monkeypatch.setattr(outputs, "_render", render)
    assert main(["check", ".", "--isolated", "--output-format", kind]) == 2
    output = capsys.readouterr().out
    assert "F130" in output and "P143" in output and "a.yaml" in output and "bad.yaml" in output


def test_a_confirmer_that_raises_on_one_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from stablint.engine import repair as apply

    monkeypatch.setattr(apply, "objection", failing(apply.objection, TypeError("unhashable")))
    assert main(["check", ".", "--isolated", "--fix", "--unsafe-fixes"]) == 2
    assert "F130" in capsys.readouterr().out
    assert (folder / "bad.yaml").read_text() == FILES["bad.yaml"]
    assert (folder / "a.yaml").read_text() != BOTH


def test_no_setting_takes_a_fault_away(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    breaks(monkeypatch, "judging", TypeError("what"))
    for words in (["--ignore", "F130"], ["--select", "P"], ["--exit-zero"], ["--quiet"]):
        assert main(["check", ".", "--isolated", *words]) == 2
        assert "F130" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [["show", "bad.yaml"], ["diff", "a.yaml", "bad.yaml"], ["migrate", ".", "--diff", "--with", "transformers==5.0.0"]],
    ids=lambda words: words[0],
)
def test_the_other_commands_tell_a_fault_as_well(
    words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    breaks(monkeypatch, "making out the settings", TypeError("what"))
    assert main([*words, "--isolated"]) == 2
    error = capsys.readouterr().err
    assert "bad.yaml: making out its settings: TypeError: what" in error and "Traceback" not in error


def test_a_secret_in_an_exception_is_masked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    token = "hf_" + "QWERTYUIOPasdfghjklZXCVBNM12345678"
    breaks(monkeypatch, "judging", ValueError(f"could not read '{token}'"))
    main(["check", ".", "--isolated", "--output-format", "json"])
    output = capsys.readouterr()
    assert token not in output.out + output.err and "ValueError" in output.out


def test_a_fault_outside_of_all_files_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("stablint.commands.check.inspect", lambda *a, **k: 1 / 0)
    assert main(["check", "."]) == 2
    output = capsys.readouterr().err
    assert output.count("\n") == 1 and "ZeroDivisionError" in output and "report" in output and "--debug" in output
    assert main(["check", ".", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


ARGUMENTS = "from transformers import TrainingArguments\nargs = TrainingArguments('o', {})\n"
AXOLOTL = "base_model: x/y\nadapter: ${oc.env:X,lora}\nload_in_4bit: ${oc.env:Y,x}\nmicro_batch_size: 1\nsequence_len: 8\ndatasets: []\n"
FACTORY = "model_name_or_path: x/y\nstage: sft\nfinetuning_type: ${F}\nquantization_bit: ${Q}\ntemplate: qwen\ndataset: ${D}\n"
HUGE = "9" * 4000
CRASHES = {
    "a template of a template": ("train.yaml", "rl: {{ a }}\nmicro_batch_size: {{ a }}\nadapter: {{ a }}\n"),
    "an interpolation": ("train.yaml", AXOLOTL),
    "bits that nobody knows": ("train.yaml", FACTORY),
    "a mapping as a key": ("train.yaml", "? {fp16: true}\n: 1\n" + BOTH),
    "infinite": ("train.py", ARGUMENTS.format(f"save_steps=1e400, warmup_steps=1e400, max_steps={HUGE}")),
    "no number": (
        "train.yaml",
        RECIPE + "warmup_steps: .nan\nwarmup_ratio: .inf\nmax_steps: 10\nsave_steps: .inf\nmax_grad_norm: -.inf\n",
    ),
    "larger than a float": (
        "adapter_config.json",
        f'{{"peft_type": "LORA", "r": 8, "lora_alpha": {HUGE}, "use_rslora": true}}',
    ),
}


@pytest.mark.parametrize(("name", "text"), CRASHES.values(), ids=CRASHES)
@pytest.mark.parametrize("words", [[], ["--diff", "--unsafe-fixes"]], ids=["check", "diff"])
def test_odd_values_are_values(
    words: list[str],
    name: str,
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    written(tmp_path, {name: text})
    monkeypatch.chdir(tmp_path)
    assert main(["check", name, "--isolated", *words]) in (0, 1)
    output = "".join(capsys.readouterr())
    assert "internal" not in output and "this is a bug" not in output


# What the system does not give out: made by, the words that tell it apart.
UNREADABLE: dict[str, tuple[Callable[[Path], None], str]] = {
    "a link to itself": (lambda path: path.symlink_to(path.name), "leads back to itself"),
    "a link to nothing": (lambda path: path.symlink_to("nothing"), "a link to nothing"),
}  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize(("make", "words"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_told_with_its_reason(
    make: Callable[[Path], None], words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(folder / "x.yaml")
    assert main(["check", ".", "--isolated"]) == 1  # of the others
    found = capsys.readouterr()
    assert "P143" in found.out and (words in found.err or "nothing" in words)
    main(["check", "x.yaml", "a.yaml", "--isolated", "--output-format", "concise"])
    assert words in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "words", "kept_back"),
    [
        (errno.EACCES, "may not read it", True),
        (errno.ESTALE, "stale handle", True),
        (errno.EIO, "the disk failed", True),
        (errno.ENOENT, "vanished", False),
        (errno.ENAMETOOLONG, "too long", False),
    ],
)  # fmt: skip
def test_the_causes_are_told_apart(
    code: int,
    words: str,
    kept_back: bool,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A file that is there and kept back was asked for and not checked: 2, as for a fault. A name without a file behind it is told."""
    from stablint.syntax import text

    original = text.bytes_of

    def read(path: str, largest: int) -> bytes | None:
        if path.endswith("bad.yaml"):
            raise OSError(code, os.strerror(code), path)
        return original(path, largest)

    monkeypatch.setattr(text, "bytes_of", read)
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("bad.yaml"))
    assert main(["check", ".", "--isolated"]) == (2 if kept_back else 1)
    found = capsys.readouterr()
    assert words in (found.out if kept_back else found.err) and "a.yaml" in found.out and "c.yaml" in found.out
    assert ("F132" in found.out) is kept_back and "internal error" not in found.err
    assert main(["check", "bad.yaml", "--isolated"]) == (2 if kept_back else 1)
    assert words in capsys.readouterr().out
    for more in (
        ["--ignore", "F132"],
        ["--select", "P"],
        ["--exit-zero"],
        ["--quiet"],
        ["--diff"],
        ["--fix"],
        ["--jobs", "2"],
    ):
        assert main(["check", ".", "--isolated", *more]) == (2 if kept_back else 0 if more[0] == "--exit-zero" else 1)
        capsys.readouterr()


def test_a_folder_that_cannot_be_listed_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "shut").mkdir()
    original = os.scandir

    def scandir(path: str) -> Any:
        if str(path).endswith("shut"):
            raise PermissionError(errno.EACCES, "no", path)
        return original(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert main(["check", ".", "--isolated", "--output-format", "concise"]) == 2
    found = capsys.readouterr()
    assert "shut:1:1: error[F132] not checked: this user may not read it" in found.out and "a.yaml" in found.out


COMMAND = [sys.executable, "-c", "from stablint.starting import script; script()", "check", ".", "--isolated"]


@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_is_130_and_one_line(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    child = subprocess.Popen([*COMMAND[:4], "-"], cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1.5)  # it waits for its standard input
    child.send_signal(signal.SIGINT)
    _, error = child.communicate(timeout=60)
    assert child.returncode == 130 and error == "stablint: interrupted: nothing was written\n"


# Ctrl-C comes when so many modules have been looked for since the first line of the program; said last, where it came to be known.
WHILE_LOADING = """
import os, signal, sys
signal.signal(signal.SIGINT, {handler})
from stablint.starting import script
class Finder:
    left = {modules}
    def find_spec(self, name, path=None, target=None):
        Finder.left -= 1
        if not Finder.left:
            sys.stderr.write("sent\\n")
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["stablint", *{words}]
script()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
@pytest.mark.parametrize(
    "words", [["check", ".", "--isolated"], ["show", "a.yaml", "--isolated"], ["rules"]], ids=lambda words: words[0]
)
@pytest.mark.parametrize("modules", [1, 2, 3, 5, 8, 13, 21, 34])
def test_ctrl_c_while_modules_are_loaded_is_130(modules: int, words: list[str], folder: Path) -> None:
    program = WHILE_LOADING.format(handler="signal.default_int_handler", modules=modules, words=words)
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 130
    assert done.stderr in ("sent\n", "sent\nstablint: interrupted: nothing was written\n")


@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
def test_ctrl_c_that_is_ignored_stays_ignored(folder: Path) -> None:
    program = WHILE_LOADING.format(handler="signal.SIG_IGN", modules=8, words=["check", "a.yaml", "--isolated"])
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == main(["check", "a.yaml", "--isolated"]) and "sent\n" in done.stderr


def test_ctrl_c_inside_another_exception_is_none_of_the_file() -> None:
    def work() -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise RuntimeError("as Python 3.11 says of __set_name__") from interrupt

    with pytest.raises(KeyboardInterrupt):
        faults.attempt(work)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("kind", ["full", "json"])
def test_a_full_disk_is_told(kind: str, folder: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "--output-format", kind], cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert done.returncode == 2 and "No space left" in done.stderr and "Traceback" not in done.stderr
    done = subprocess.run(
        [*COMMAND, "--output-file", "/dev/full"], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2 and "No space left" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("words", [["nowhere.yaml"], ["--output-format", "nothing"], ["--gpu", "X"]], ids=str)
@pytest.mark.parametrize("streams", [("stderr",), ("stdout", "stderr")], ids="+".join)
def test_where_nobody_can_be_told_the_exit_code_says_so(
    words: list[str], streams: tuple[str, ...], folder: Path
) -> None:
    """Exit code 1 means findings: not that Python could not print why it ends."""
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        to: dict[str, Any] = {"stdout": subprocess.DEVNULL, "env": buffered} | dict.fromkeys(streams, full)
        assert subprocess.run([*COMMAND, *words], cwd=folder, timeout=60, **to).returncode == 2
        assert subprocess.run(COMMAND, cwd=folder, timeout=60, env=buffered, stdout=full, stderr=full).returncode == 2


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="paths are shorter there")
def test_folders_deeper_than_python_calls_itself(tmp_path: Path) -> None:
    """Git carries paths of 4,000 characters: what climbs from folder to folder may neither call itself nor ask for each where it really lies."""
    top, depth = tmp_path / "tree", 1500
    top.mkdir()
    (top / ".git").mkdir()
    here = os.open(top, os.O_RDONLY)
    try:
        for _ in range(depth):
            os.mkdir("d", dir_fd=here)
            inner = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inner
        with open(os.open("train.yaml", os.O_CREAT | os.O_WRONLY, dir_fd=here), "w") as file:
            file.write(BOTH)
        for words in (["."], ["d/" * depth + "train.yaml"], [".", "--fix", "--unsafe-fixes"]):
            done = subprocess.run([*COMMAND[:4], *words], cwd=top, capture_output=True, text=True, timeout=120)
            assert done.returncode in (0, 1) and "P143" in done.stdout + done.stderr and "internal" not in done.stderr
    finally:
        os.close(here)
        subprocess.run(["rm", "-rf", str(top)], check=True)  # shutil calls itself for every folder


@pytest.mark.skipif(os.name == "nt", reason="pipes are others there")
@pytest.mark.parametrize("kind", ["full", "json"])
def test_a_closed_pipe_ends_it_quietly(kind: str, folder: Path) -> None:
    ends, begins = os.pipe()
    os.close(ends)
    done = subprocess.run(
        [*COMMAND, "--output-format", kind], cwd=folder, stdout=begins, stderr=subprocess.PIPE, text=True, timeout=60
    )
    os.close(begins)
    assert done.returncode == 141 and not done.stderr


# Any value may be one that static reading cannot know, or one that nobody meant: it is put in the place of every value, and of each alone.
ODD = {
    ".yaml": ["{{ a }}", "${X}", "1e400", ".nan", "9" * 400, "null", "[]", "{}", "[null]", "2020-01-01", '""', "-1"],
    ".json": ["1e400", "9" * 400, "null", "[]", "{}", "[null]", '"auto"', '""', "-1", "true"],
    ".py": ["args.x", "f()", "1e400", "9" * 400, "None", "[]", "{}", "(1, 2)", "-1", 'float("nan")'],
    ".sh": ["$X", "${X:-1}", "1e400", "nan", '"$(f)"', '""', "-1"],
}
PLACES = {
    ".yaml": r"(?m)(?<=: )[^\s#&|>][^\n#]*",
    ".json": r"(?<=: )[^\s,{}\[\]]+",
    ".py": r"(?<=\w=)[\w.\"'-]+",
    ".sh": r"(?<=[ =])(?<!\\ )[\w./-]+(?= |\n)",
}
EXAMPLES = sorted(path for path in (Path(__file__).parents[2] / "examples").rglob("*") if path.suffix in ODD)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_value_is_too_odd(path: Path, tmp_path: Path) -> None:
    source, where = path.read_text(encoding="utf-8"), str(tmp_path / path.name)
    places = list(re.finditer(PLACES[path.suffix], source))
    for number, value in enumerate(ODD[path.suffix]):
        alone = places[number :: len(ODD[path.suffix])]  # each place has one of the values to itself
        texts = [re.sub(PLACES[path.suffix], lambda _, value=value: value, source)]
        texts += [source[: place.start()] + value + source[place.end() :] for place in alone]
        for text in texts:
            found = inspect(
                [], options(gpus=["A100-80GB x2"]), base=str(tmp_path), texts={where: Text(where, path.name, text)}
            )
            assert not found.report.internal_errors, text
