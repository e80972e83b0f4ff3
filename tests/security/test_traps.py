"""A checkout full of traps: whatever command reads it, nothing of it is executed, no socket is opened, and only named files are written.

Every command runs in a process of its own whose interpreter tells (sys.addaudithook) each program that is started, each code object that
is executed, each file that is opened for writing and each socket. The traps themselves leave a mark when they run.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stablint.base import knowledge
from stablint.fix import strays
from tests.config.test_house import RULE
from tests.sampling import sampled

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the traps are shell scripts and links")

TRAIN = "model_name_or_path: Qwen/Qwen2-7B-Instruct\ndataset_name: trl-lib/Capybara\nfp16: true\nlearning_rate: 1.0e-5\noutput_dir: out\ndeepspeed: zero.json\n"
ADAPTER = (
    "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\ndataset_name: trl-lib/Capybara\nbf16: true\nlearning_rate: 1.0e-4\noutput_dir: out\nuse_peft: true\n"
    "per_device_train_batch_size: 8\ngradient_accumulation_steps: 4\nmax_length: 4096\n"
)
ZERO = '{"zero_optimization": {"stage": 2}, "fp16": {"enabled": "auto"}, "train_micro_batch_size_per_gpu": "auto"}\n'
SCRIPT = "from trl import SFTConfig\nargs = SFTConfig(output_dir='out', learning_rate=1e-5, fp16=True)\n"
LOG = (
    "{'loss': 2.1, 'grad_norm': 1.0, 'learning_rate': 1e-05, 'epoch': 0.01}\n{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.02}\n"
    * 4
)
SETTINGS = 'hazards = ["rules"]\nallow-outside = true\n[[target]]\ngpu = "auto"\n'

# Modules that Python, its tools or stablint import by name, and what a shell or a loader looks for. Not those that `python -m` imports itself
# before a line of ours is read (importlib, runpy, types): README says so, and `-I` keeps them out.
MODULES = (
    "json", "__future__", "typing", "gc", "pynvml", "venv", "sitecustomize", "usercustomize", "conftest", "yaml", "torch", "argparse", "logging", "pip", "re",
    "tomllib",     "ruamel", "pydantic", "subprocess", "jsonschema", "signal", "tempfile",
)  # fmt: skip
PROGRAMS = ("nvidia-smi", "rocm-smi", "python", "python3", "git", "uname", "sysctl", "env", "sh", "which")

# Runs one command line in a process that notes what it does. Words: the folder that is checked, then the command line.
WATCHED = """
import os, sys
folder, words, seen = sys.argv[1], sys.argv[2:], []
def watch(event, args):
    if event == "exec":
        name = getattr(args[0], "co_filename", "")
        if name.startswith(folder + "/"):
            seen.append([event, name])
    elif event == "open":
        path, mode, flags = args
        if isinstance(path, (str, bytes)) and (set(mode or "") & set("wax+") or flags & 0o1103):
            seen.append([event, path if isinstance(path, str) else path.decode(errors="replace")])
    elif event in ("subprocess.Popen",):
        program, command, cwd, env = args
        seen.append([event, program, [str(word) for word in command], str(cwd), dict(env) if env is not None else None])
    elif event.partition(".")[0] in ("socket", "urllib", "ftplib", "http", "smtplib", "pty", "winreg"):
        seen.append([event, repr(args)])
    elif event in CHANGES or event.startswith(STARTS):
        if event in ("os.remove", "os.rmdir", "os.mkdir") and args[-1] != -1:  # a name in an open folder
            args = (os.path.join(os.readlink(f"/proc/self/fd/{args[-1]}"), args[0]),)
        seen.append([event, *map(str, args)])
STARTS = ("os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "os.startfile")
CHANGES = {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.chmod", "os.chown", "os.truncate", "os.utime",
           "os.setxattr", "shutil.rmtree", "shutil.move", "shutil.copyfile", "tempfile.mkstemp", "tempfile.mkdtemp"}
def tell():
    import json
    loaded = [m.__file__ for m in list(sys.modules.values()) if str(getattr(m, "__file__", "") or "").startswith(folder + "/")]
    print("SEEN " + json.dumps({"events": seen, "loaded": loaded}), file=sys.stderr, flush=True)
execv = os.execv
def become(program, command):
    seen.append(["os.exec", program]); tell(); execv("/bin/true", ["true"])
os.execv = become
from stablint.base import knowledge
from stablint.cli import main
knowledge.lines("core")  # in a checkout of ours whose knowledge has changed, this compiles it; no command does
sys.addaudithook(watch)
try:
    code = main(words)
except SystemExit as end:
    code = end.code
tell()
sys.exit(code)
"""


class Done(NamedTuple):
    code: int
    events: list[list[Any]]
    loaded: list[str]
    output: str
    errors: str


class Checkout:
    """The folder with all traps, a home outside of it, and the marks that a trap leaves."""

    serves = False  # the process that is watched is the language server

    def __init__(self, folder: Path) -> None:
        self.folder, self.home, self.marks = folder / "check out", folder / "home", folder / "marks"
        self.scratch = folder / "tmp"
        for one in (
            self.folder / ".git",
            self.folder / "bin",
            self.folder / "rules",
            self.home,
            self.marks,
            self.scratch,
        ):
            one.mkdir(parents=True)
        for name in MODULES:
            self.write(f"{name}.py", f"open({str(self.marks / name)!r}, 'w').write('import')\n")
        for name in PROGRAMS:
            for place in ("", "bin/"):
                self.write(f"{place}{name}", f"#!/bin/sh\n: > '{self.marks / name}'\n")
                (self.folder / place / name).chmod(0o755)
        self.write("usercustomize.pth", f"import os; open({str(self.marks / 'pth')!r}, 'w')\n")
        self.write(".env", f"BASH_ENV={self.folder}/sh\n")
        self.write("train.yaml", TRAIN)
        self.write("adapter.yaml", ADAPTER)
        self.write("other.yaml", TRAIN.replace("1.0e-5", "2.0e-5"))
        self.write("zero.json", ZERO)
        self.write("tune.py", SCRIPT)
        self.write("train.log", LOG)
        self.write("rules/seed.yaml", RULE)
        self.write("stablint.toml", SETTINGS)
        (self.folder / "sub").mkdir()

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def content(self) -> dict[str, bytes]:
        files = [path for top in (self.folder, self.home) for path in top.rglob("*") if path.is_file()]
        return {str(path): path.read_bytes() for path in files}

    def environment(self) -> dict[str, str]:
        """What a careless user may have: `.` and folders of the checkout on the PATH, and variables that lead there."""
        path = os.pathsep.join([".", "", "bin", str(self.folder / "bin"), os.environ["PATH"]])
        return {
            "PATH": path,
            "HOME": str(self.home),
            "TMPDIR": str(self.scratch),
            "VIRTUAL_ENV": str(self.folder),
            "LD_LIBRARY_PATH": f"lib{os.pathsep}{self.folder}/lib",
            "PYTHONDONTWRITEBYTECODE": "1",
            "LC_ALL": "C.UTF-8",
        }

    def run(self, *command: str, said: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self.environment(), capture_output=True, text=True, timeout=120, input=said,
        )  # fmt: skip

    def watched(self, *words: str) -> Done:
        self.serves = words[0] == "server"
        command = (sys.executable, "-I", "-B", "-c", WATCHED, str(self.folder), *words)
        done = self.run(*command, said=an_editor(self.folder) if self.serves else "")
        errors, found, told = done.stderr.rpartition("SEEN ")
        assert found, done.stderr
        seen = json.loads(told)
        return Done(done.returncode, seen["events"], seen["loaded"], done.stdout, errors)

    def sprung(self) -> list[str]:
        return sorted(path.name for path in self.marks.iterdir())


def an_editor(folder: Path) -> str:
    """What an editor says that opens the folder, asks about its files, and goes."""
    at = folder.as_uri()
    asked = {"textDocument": {"uri": f"{at}/train.yaml"}}
    place = {"line": 2, "character": 3}
    messages = [
        ("initialize", {"processId": None, "rootUri": at, "capabilities": {}, "workspaceFolders": [{"uri": at, "name": "x"}]}),
        ("initialized", {}),
        *(
            ("textDocument/didOpen", {"textDocument": {"uri": f"{at}/{name}", "languageId": kind, "version": 1, "text": text}})
            for name, kind, text in (("train.yaml", "yaml", TRAIN), ("tune.py", "python", SCRIPT), ("stablint.toml", "toml", SETTINGS))
        ),
        ("textDocument/hover", {**asked, "position": place}),
        ("textDocument/completion", {**asked, "position": place}),
        ("textDocument/codeAction", {**asked, "range": {"start": place, "end": place}, "context": {"diagnostics": []}}),
        ("textDocument/didSave", {**asked, "text": TRAIN}),
        ("shutdown", None),
        ("exit", None),
    ]  # fmt: skip
    text = ""
    for number, (method, given) in enumerate(messages):
        answered = {} if method in ("initialized", "exit") or "/did" in method else {"id": number}
        body = json.dumps({"jsonrpc": "2.0", **answered, "method": method, "params": given})
        text += f"Content-Length: {len(body)}\r\n\r\n{body}"
    return text


@pytest.fixture
def checkout(tmp_path):
    knowledge.lines("core")  # in a checkout of stablint whose knowledge has changed, this is what compiles it
    return Checkout(Path(os.path.realpath(tmp_path)))


# A command line, whether it may ask this machine for its GPUs, and the files that it may write.
COMMANDS: dict[str, tuple[list[str], bool, tuple[str, ...]]] = {
    "check": (["check", "."], False, ()),
    "check named files": (["check", "train.yaml", "tune.py", "json.py", "zero.json"], False, ()),
    "check as json": (["check", ".", "--output-format", "json", "--show-facts", "--verbose"], False, ()),
    "check --diff": (["check", ".", "--diff", "--unsafe-fixes"], False, ()),
    "check --fix": (["check", "train.yaml", "--fix", "--gpu", "A100-80GB"], False, ("train.yaml",)),
    "check --write-baseline": (["check", ".", "--write-baseline"], False, ("stablint-baseline.json",)),
    "check --output-file": (["check", ".", "--output-format", "sarif", "--output-file", "r.sarif"], False, ("r.sarif",)),
    "check --gpu auto": (["check", ".", "--gpu", "auto"], True, ()),
    "check --config": (["check", ".", "--config", "stablint.toml"], True, ()),
    "show": (["show", "train.yaml"], False, ()),
    "explain": (["explain", "P101", "T901"], False, ()),
    "rules": (["rules"], False, ()),
    "diff": (["diff", "train.yaml", "other.yaml"], False, ()),
    "migrate": (["migrate", "train.yaml", "--with", "transformers==5.0.0", "--diff"], False, ()),
    "doctor": (["doctor"], True, ()),
    "doctor --torch": (["doctor", "--torch", "--output-format", "json"], True, ()),
    "init": (["init", "sub"], False, ("sub/stablint.toml",)),
    "run": (["run", "--", "/bin/true", "--config", "train.yaml"], True, ()),
    "test-hazards": (["test-hazards", "rules"], False, ()),
    "knowledge audit": (["knowledge", "audit", "rules"], False, ()),
    "fit": (["fit", "train.yaml", "--gpu", "RTX 4090"], False, ()),
    "fit --apply": (["fit", "adapter.yaml", "--gpu", "A100-80GB", "--apply", "1"], False, ("adapter.yaml",)),
    "fit --plot": (["fit", "train.yaml", "--gpu", "RTX 4090", "--plot", "fit.svg"], False, ("fit.svg",)),
    "advise": (["advise", "train.yaml", "--gpu", "A100-80GB"], False, ()),
    "advise --apply": (["advise", "adapter.yaml", "--gpu", "A100-80GB", "--apply", "1"], False, ("adapter.yaml",)),
    "new": (["new", "--model", "Qwen/Qwen2.5-7B-Instruct", "--gpu", "RTX 4090 x4", "--framework", "trl", "--output", "sub"], False,
            ("sub/sft.yaml", "sub/launch.sh", "sub/requirements.txt")),
    "diagnose": (["diagnose", "train.log", "train.yaml"], False, ()),
    "diagnose --fix": (["diagnose", "train.log", "train.yaml", "--fix", "--plot", "run.svg"], False, ("train.yaml", "run.svg")),
    "diagnose the folder": (["diagnose", "."], False, ()),
    "watch": (["watch", "train.log", "train.yaml", "--idle", "1", "--interval", "0.2"], False, ()),
    "config": (["config", "train.yaml"], False, ()),
    "schema": (["schema", "axolotl"], False, ()),
    "completion": (["completion", "bash"], False, ()),
    "server": (["server"], False, ()),
}  # fmt: skip


@pytest.mark.parametrize("name", sampled(COMMANDS, 10))
def test_no_command_runs_anything_of_the_checkout(checkout, name):
    words, asks, written = COMMANDS[name]
    before = checkout.content()
    done = checkout.watched(*words)
    assert checkout.sprung() == []
    assert done.loaded == []
    may = {str(checkout.folder / name) for name in written}
    for event, *said in done.events:
        if event == "subprocess.Popen":
            assert asks, said
            assert_kept_apart(checkout, *said)
        elif event == "os.exec":
            assert (words[0], said) == ("run", ["/bin/true"])
        else:
            assert changes_only(event, said, checkout, may), (event, said)
    after = checkout.content()
    changed = {name for name in after.keys() | before.keys() if after.get(name) != before.get(name)}
    assert changed == may if "--apply" in words else changed <= may
    assert "Traceback" not in done.errors
    assert words[0] != "server" or "fp16" in done.output, "it answered nothing"


def assert_kept_apart(
    checkout: Checkout, program: str, command: list[str], cwd: str, environment: dict[str, str]
) -> None:
    """A program of this machine, in a folder that is not the checkout, told nothing of it."""
    outside = str(checkout.folder)
    assert os.path.isabs(program or command[0]) and not command[0].startswith(outside)
    assert cwd == "/"
    if command[0] == sys.executable:
        assert command[1:3] == ["-I", "-c"]
    assert not [name for name, value in environment.items() if outside in value or name.startswith("PYTHON")]
    assert all(os.path.isabs(entry) for entry in environment["PATH"].split(os.pathsep))


LOOPS_OWN = (
    "family=0, type=0, proto=0>, 1, 1, 0)"  # the pair of AF_UNIX by which asyncio wakes itself; it leads nowhere
)


def changes_only(event: str, said: list[Any], checkout: Checkout, may: set[str]) -> bool:
    """Whether only these files are changed (with their new text beside them until it is whole), or what lies in a temporary folder of our own."""
    place = str(said[0])
    if event == "socket.__new__":
        return checkout.serves and LOOPS_OWN in place
    path = os.path.normpath(os.path.join(checkout.folder, place))
    ours = path.startswith(str(checkout.scratch))
    beside = re.sub(r"\.\d+-[0-9a-f]{8}\.new\Z", "", path) in may or (
        bool(may) and os.path.dirname(path) in map(os.path.dirname, may) and strays.ours(os.path.basename(path))
    )
    beside = beside or (event == "os.mkdir" and path in map(os.path.dirname, may))
    return event.partition(".")[0] in ("open", "os", "tempfile", "shutil") and (beside or ours or place == os.devnull)


# The ways to start the command line.
WAYS = {
    "the console script": lambda folder: [os.path.join(os.path.dirname(sys.executable), "stablint")],
    "python -m": lambda folder: [sys.executable, "-m", "stablint"],
    "python -I -m": lambda folder: [sys.executable, "-I", "-m", "stablint"],
}
STARTED = (["check", "."], ["check", ".", "--gpu", "auto"], ["doctor"], ["check", "train.yaml", "--diff"])


@pytest.mark.parametrize(
    ("way", "words"), sampled(itertools.product(WAYS, STARTED), 8, lambda case: f"{case[0]}: {' '.join(case[1])}")
)
def test_no_way_to_start_it_runs_anything_of_the_checkout(checkout, way, words):
    command = WAYS[way](checkout.folder)
    if not os.path.exists(command[0]):
        pytest.skip("stablint is not installed beside this interpreter")
    before = checkout.content()
    done = checkout.run(*command, *words)
    assert checkout.sprung() == []
    assert "Traceback" not in done.stderr and done.returncode in (0, 1, 2)
    assert checkout.content() == before


def test_settings_of_a_repository_ask_this_machine_for_nothing_and_say_so(checkout):
    done = checkout.watched("check", ".")
    assert done.events == []
    for line, words in ((4, ('`gpu = "auto"`', "--gpu auto")), (2, ("`allow-outside`", "--allow-outside"))):
        (told,) = [one for one in done.errors.splitlines() if f"stablint.toml:{line}: " in one]
        assert all(word in told for word in words)


def test_who_trusts_a_folder_lets_its_settings_ask(checkout):
    own = checkout.home / ".config" / "stablint" / "stablint.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f'trusted = ["{checkout.folder.parent}"]\n')
    if sys.platform == "darwin":
        pytest.skip("the file lies elsewhere")
    done = checkout.watched("check", ".")
    assert any(event == "subprocess.Popen" for event, *_ in done.events)
    assert "not obeyed" not in done.errors
