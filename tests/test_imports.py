"""Starting is what a pre-commit hook pays for: a check loads nothing that it does not need."""

from __future__ import annotations

import subprocess
import sys

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
