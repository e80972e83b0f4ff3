"""The steps of action.yml, run as a runner runs them: bash, inputs through the environment, files for outputs and summary.

Only the installation is a stub: in its place the same interpreter runs, with the options and in the folder of the step, `-m venv --help` and
`-m pip --version`, so that a trap in the checkout would be imported as it would be there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
EXPRESSION = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")

TRAIN = "model_name_or_path: Qwen/Qwen2-7B-Instruct\ndataset_name: org/data\nfp16: true\nlearning_rate: 1.0e-5\nattn_implementation: eager\noutput_dir: out\n"

# Stands for `python3`, and makes a `python` that stands for that of the virtual environment and notes what pip is asked for.
PYTHON = """#!/usr/bin/env bash
set -eu
options=() asked=("$@")
while [ "$1" != -m ]; do options+=("$1"); shift; done
"{python}" "${{options[@]}}" -m "$2" --help > /dev/null
[ "$2" = venv ] || exit 9
mkdir -p "$3/bin"
cat > "$3/bin/python" <<'END'
#!/usr/bin/env bash
options=() asked=("$@")
while [ "$1" != -m ]; do options+=("$1"); shift; done
[ "$2" = pip ] || exec "{python}" "${{asked[@]}}"
printf "%s\\n" "${{asked[@]}}" > "{asked}"
exec "{python}" "${{options[@]}}" -m pip --version > /dev/null
END
chmod +x "$3/bin/python"
"""


class Done(NamedTuple):
    code: int
    output: str
    summary: str
    outputs: dict[str, str]
    asked: list[str]  # the words of the pip command
    uploads: bool
    workspace: Path

    def sarif(self) -> dict[str, Any]:
        return json.loads(Path(self.outputs["steps.check.outputs.sarif-file"]).read_text(encoding="utf-8"))


@pytest.fixture
def act(tmp_path):
    """Run the action with these inputs on these files."""
    if shutil.which("bash") is None or os.name == "nt":
        pytest.skip("the steps are for bash")
    if subprocess.run([sys.executable, "-I", "-c", "import stablint, pip"], capture_output=True).returncode:
        pytest.skip("stablint and pip are not installed for this interpreter")

    def run(files: dict[str, str], **inputs: str) -> Done:
        workspace, temporary, programs = tmp_path / "work space", tmp_path / "temp", tmp_path / "programs"
        for folder in (workspace / ".git", temporary, programs):
            folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (workspace / name).write_text(text, encoding="utf-8")
        asked = tmp_path / "asked"
        (programs / "python3").write_text(PYTHON.format(asked=asked, python=sys.executable), encoding="utf-8")
        (programs / "python3").chmod(0o755)
        known = {f"inputs.{name}": entry.get("default", "") for name, entry in ACTION["inputs"].items()}
        known |= {f"inputs.{name}": value for name, value in inputs.items()} | {"github.action_path": str(ROOT)}
        runner = {
            "RUNNER_TEMP": str(temporary),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "GITHUB_WORKSPACE": str(workspace),
        }
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        outside = {"PATH": path, "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        code, said, uploads = 0, "", False
        for step in ACTION["runs"]["steps"]:
            if "uses" in step:
                uploads = known.get("steps.check.outputs.sarif-file", "") != ""
                continue
            if code:
                continue
            given = {name: filled(value, known) for name, value in step.get("env", {}).items()}
            outputs = tmp_path / f"outputs-{step['id']}"
            outputs.touch()
            script = tmp_path / f"{step['id']}.sh"
            script.write_text(step["run"], encoding="utf-8")
            assert step["shell"] == "bash"
            # The runner's own words for `shell: bash`.
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
            done = subprocess.run(
                command,
                cwd=workspace,
                env={**outside, **runner, **given, "GITHUB_OUTPUT": str(outputs)},
                capture_output=True,
                text=True,
                timeout=120,
            )
            code, said = done.returncode, said + done.stdout + done.stderr
            for line in outputs.read_text(encoding="utf-8").splitlines():
                name, _, value = line.partition("=")
                known[f"steps.{step['id']}.outputs.{name}"] = value
        summary = tmp_path / "summary"
        return Done(
            code,
            said,
            summary.read_text(encoding="utf-8") if summary.exists() else "",
            known,
            asked.read_text(encoding="utf-8").split("\n"),
            uploads,
            workspace,
        )

    return run


def filled(text: str, known: dict[str, str]) -> str:
    return EXPRESSION.sub(lambda found: known[found[1]], text)


def test_a_finding_is_an_annotation_and_fails_the_step(act):
    done = act({"configs/train.yaml": TRAIN}, gpu="A100-80GB")
    assert done.code == 1, done.output
    assert "::error file=configs/train.yaml,line=3," in done.output
    assert "title=P101 " in done.output
    assert not done.uploads


def test_without_findings_the_step_passes(act):
    done = act({"configs/train.yaml": TRAIN.replace("fp16", "bf16")}, gpu="A100-80GB\nH100 x8")
    assert done.code == 0, done.output
    assert "::error" not in done.output


def test_findings_are_in_the_summary_of_the_job(act):
    done = act({"train.yaml": TRAIN}, gpu="A100-80GB")
    assert "| **error** P101 | `train.yaml:3:7` |" in done.summary
    assert act({"train.yaml": TRAIN}, summary="false").summary == done.summary, "nothing is added"


def test_sarif_is_uploaded_even_if_the_step_fails(act):
    done = act({"configs/train.yaml": TRAIN}, gpu="A100-80GB", sarif="true")
    assert (done.code, done.uploads) == (1, True)
    results = done.sarif()["runs"][0]["results"]
    artifact = next(r for r in results if r["ruleId"] == "P101")["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": "configs/train.yaml", "uriBaseId": "%SRCROOT%"}
    (upload,) = [step for step in ACTION["runs"]["steps"] if "uses" in step]
    assert upload["uses"].startswith("github/codeql-action/upload-sarif@")
    assert re.fullmatch(r"[0-9a-f]{40}", upload["uses"].partition("@")[2]), "a tag may be moved"
    assert "!cancelled()" in upload["if"] and "sarif-file" in upload["if"]


def test_what_is_suppressed_opens_no_alert(act):
    done = act(
        {"train.yaml": TRAIN.replace("true", "true  # stablint: ignore[P101] -- we know")},
        gpu="A100-80GB",
        sarif="true",
    )
    assert done.code == 0, done.output
    assert not [result for result in done.sarif()["runs"][0]["results"] if result["ruleId"] == "P101"]


def test_options_and_several_paths_reach_the_command(act):
    files = {"a b/train.yaml": TRAIN, "c/train.yaml": TRAIN, "d/train.yaml": TRAIN}
    done = act(files, paths="a b/train.yaml\nc\n", args="--ignore P101\n--exit-zero")
    assert done.code == 0, done.output
    assert "P101" not in done.output
    done = act(files, paths="a b/train.yaml\nc\n", gpu="A100-80GB")
    assert "file=a b/train.yaml" in done.output and "file=c/train.yaml" in done.output and "file=d/" not in done.output


def test_wrong_usage_fails_the_step(act):
    assert act({"train.yaml": TRAIN}, gpu="B900-1TB").code == 2


@pytest.mark.parametrize(("version", "asked"), [("", str(ROOT)), ("0.1.0", "stablint==0.1.0")])
def test_what_is_installed(act, version, asked):
    assert asked in act({"train.yaml": TRAIN}, version=version).asked


@pytest.mark.parametrize("name", ["paths", "gpu", "args", "version"])
def test_no_input_is_run(act, name):
    evil = '"; touch owned; $(touch owned) `touch owned` *'
    done = act({"train.yaml": TRAIN}, **{name: evil})
    assert not list(done.workspace.parent.rglob("owned"))


TRAPS = {f"{name}.py": "open(__file__ + '.ran', 'w')\n" for name in (
    "json", "venv", "pip", "logging", "sitecustomize", "usercustomize", "conftest", "yaml", "re", "argparse", "subprocess", "ensurepip", "sysconfig",
    "runpy", "importlib", "types", "pkgutil", "stablint", "ctypes", "platform", "ssl", "signal", "tempfile",
)} | {"stablint/__init__.py": "open(__file__ + '.ran', 'w')\n", "stablint/__main__.py": "open(__file__ + '.ran', 'w')\n"}  # fmt: skip


def test_nothing_of_the_checkout_is_run(act):
    done = act({"train.yaml": TRAIN, **TRAPS}, sarif="true", gpu="A100-80GB")
    assert (done.code, done.uploads) == (1, True), done.output
    assert list(done.workspace.rglob("*.ran")) == []
    assert "P101" in json.dumps(done.sarif())
    assert "Traceback" not in done.output


def test_every_interpreter_is_isolated_and_every_action_is_a_commit():
    scripts = [step["run"] for step in ACTION["runs"]["steps"] if "run" in step]
    calls = [line for script in scripts for line in script.splitlines() if re.search(r'python"? -', line)]
    assert len(calls) == 3
    assert all('python" -I -X utf8 -m ' in line for line in calls)
    assert not [line for script in scripts for line in script.splitlines() if 'stablint" check' in line]
    for step in ACTION["runs"]["steps"]:
        assert re.search(r"@[0-9a-f]{40}\Z", step.get("uses", "@" + "0" * 40))


@pytest.mark.parametrize("name", ["--exit-zero", "--output-file=owned.py", "-", "--ignore=P"])
def test_a_file_name_is_no_option(act, name):
    """Names may come from a list of changed files, which those of the pull request choose."""
    done = act({f"{name}": "#!/bin/sh\n", "train.yaml": TRAIN}, paths=f"{name}\ntrain.yaml", gpu="A100-80GB")
    assert done.code == 1, done.output
    assert "P101" in done.output
    assert not list(done.workspace.rglob("owned*"))


def test_a_file_that_is_called_like_the_end_of_options_fails_the_step(act):
    """Whether `--` is the name or the end of the options cannot be known where a hook or a glob hands it over."""
    done = act({"--": "#!/bin/sh\n", "train.yaml": TRAIN}, paths="train.yaml")
    assert done.code == 2 and "rename" in done.output


def test_no_input_stands_in_a_script():
    """`${{ inputs.x }}` in a script is text of that script: an injection."""
    assert not [step["name"] for step in ACTION["runs"]["steps"] if "${{" in step.get("run", "")]


NAMES = (
    "::error::owned.yaml",
    "a\n::set-output name=owned::b.yaml",
    "a%0A::warning::owned.yaml",
    "##[error]owned.yaml",
    "`owned`|<img>.yaml",
    "\x1b[2Jowned.yaml",
)
SETTINGS = {
    "pip.conf": "[global]\nindex-url = http://127.0.0.1:9/owned\n",
    ".pip/pip.conf": "[global]\nindex-url = http://127.0.0.1:9/owned\n",
    "setup.cfg": "[install]\nprefix=owned\n",
    "pyvenv.cfg": "home = owned\n",
    "python3": "#!/bin/sh\ntouch owned\n",
    "rm": "#!/bin/sh\ntouch owned\n",
    "cat": "#!/bin/sh\ntouch owned\n",
    "x.pth": "import os; open('owned', 'w')\n",
}


def test_names_and_settings_of_the_checkout_command_nothing(act):
    """Annotations are written for each file: none of their names begins a command of the runner, the log's terminal or the summary's HTML."""
    done = act({**dict.fromkeys(NAMES, TRAIN), **SETTINGS, "train.yaml": TRAIN}, gpu="A100-80GB", sarif="true")
    assert (done.code, done.uploads) == (1, True), done.output
    assert not list(done.workspace.parent.rglob("owned"))
    commands = [line for line in done.output.splitlines() if line.lstrip().startswith(("::", "##["))]
    assert commands and all(re.match(r"::(?:error|warning|notice) file=", line) for line in commands)
    assert "\x1b" not in done.output + done.summary and "<img>" not in done.summary
    assert not [line for line in done.summary.splitlines() if line.startswith("::")]
    assert len({r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in done.sarif()["runs"][0]["results"]}) == 7  # fmt: skip
    assert {name for name in done.outputs if name.startswith("steps.")} == {
        "steps.install.outputs.bin",
        "steps.check.outputs.sarif-file",
    }
