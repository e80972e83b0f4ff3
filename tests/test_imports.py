"""Starting is what a pre-commit hook pays for: a check loads nothing that it does not need."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import stablint
from stablint.base import knowledge

HEAVY = (
    "dataclasses", "importlib.metadata", "importlib.resources", "inspect", "jsonschema", "packaging", "pydantic",
    "rich", "ruamel", "ruamel.yaml", "tomllib", "tomli", "torch", "typing", "typing_extensions", "difflib", "unittest",
    "stablint.schema", "stablint.compiling.compile", "stablint.commands.fit", "stablint.commands.new",
    "stablint.engine.processes", "stablint.fitting", "stablint.memory.predict", "stablint.proposing",
)  # fmt: skip

PROGRAM = """
import sys
before = set(sys.modules)
from stablint.cli import main
try:
    code = main(["check", "train.yaml"])
except SystemExit as end:
    code = end.code
print("exit", code, file=sys.stderr)
print(*sorted(set(sys.modules) - before), sep="\\n", file=sys.stderr)
"""


def modules_after_a_check(folder, text: str) -> tuple[str, set[str]]:
    """The exit line, and the modules that a check in a fresh interpreter has loaded."""
    knowledge.lines("core")  # in a checkout whose knowledge has changed, this is what compiles it
    (folder / "train.yaml").write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=folder, capture_output=True, text=True, timeout=120)
    first, *modules = done.stderr.rpartition("exit ")[2].splitlines()
    return first, set(modules)


# Imports that stand inside a function, each with the reason why no module of `base.later` and `base.libraries` will do.
INSIDE = {
    "stablint": "the package imports nothing, so that the console script starts at once",
    "stablint.starting": "Ctrl-C has an answer before the first module is loaded",
    "stablint.integrate.guard": "transformers is the training's own, and there only where one is at hand",
}


INDENTED = re.compile(
    r"(?m)(?:^[ \t]+|[:;][ \t]*)(?:from|import)[ \t(\\]"
)  # elsewhere no file has to be read as a program


def test_imports_stand_at_the_top():
    """What waits is said in the `__init__` of its room (`base.later`), or stands in `base.libraries`."""
    package = Path(stablint.__file__).parent
    inside = set()
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not INDENTED.search(text):
            continue
        tree = ast.parse(text)
        functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
        if any(isinstance(inner, (ast.Import, ast.ImportFrom)) for one in functions for inner in ast.walk(one)):
            name = ".".join(("stablint", *path.relative_to(package).with_suffix("").parts))
            inside.add(name.removesuffix(".__init__"))
    assert inside == set(INSIDE)


def test_a_module_that_waits_is_loaded_once_and_whole():
    """Whoever asks first loads it; it is the same for all, and whole for each of several threads."""
    program = """
import sys
from threading import Barrier, Thread
from stablint.report import concise
assert "stablint.report.concise" not in sys.modules
together, found = Barrier(8), []
def ask():
    together.wait()
    found.append(concise.render)
threads = [Thread(target=ask) for _ in range(8)]
[one.start() for one in threads]
[one.join() for one in threads]
from stablint.report.concise import render
assert found == [render] * 8 and concise.__file__.endswith("concise.py")
assert vars(concise) is vars(sys.modules["stablint.report.concise"])
concise.render = len
assert sys.modules["stablint.report.concise"].render is len
del concise.render
assert not hasattr(sys.modules["stablint.report.concise"], "render")
print("whole")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("whole\n", "")


def test_a_module_that_fails_is_not_half_there(tmp_path):
    """Who asks again gets the error again, and the module once its cause is gone."""
    room = tmp_path / "room"
    room.mkdir()
    (room / "__init__.py").write_text('from stablint.base.later import later\nlater(__name__, "part")\n')
    (room / "part.py").write_text("import os\nlimit = int(os.environ['LIMIT'])\n")
    program = """
import os
from room import part
for limit in ("none", "3"):
    os.environ["LIMIT"] = limit
    try:
        print(part.limit)
    except ValueError as error:
        print("ValueError")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("ValueError\n3\n", "")


def test_a_clean_file_loads_nothing_heavy(tmp_path):
    code, modules = modules_after_a_check(tmp_path, "output_dir: out\nlearning_rate: 1.0e-5\nbf16: true\n")
    assert code == "0"
    assert not modules & set(HEAVY)


def test_a_finding_loads_nothing_heavy_either(tmp_path):
    code, modules = modules_after_a_check(tmp_path, "output_dir: out\nfp16: true\nbf16: true\n")
    assert code == "1"
    assert not modules & set(HEAVY)


def test_a_finding_on_plain_yaml_loads_no_parser(tmp_path):
    """Plain YAML is read by lines; only a repair that turns a text into JSON asks for more."""
    _, modules = modules_after_a_check(tmp_path, "output_dir: out\nlearning_rate: 1.0e-5\nfp16: true\nbf16: true\n")
    assert not modules & {"yaml", "ast"}
