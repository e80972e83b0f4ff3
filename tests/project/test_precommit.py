"""The hooks as a team meets them: the real pre-commit in a scratch repository, and real commits. No network: the hooks run from the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import stablint

ROOT = Path(__file__).parents[2]
MANIFEST = ROOT / ".pre-commit-hooks.yaml"
DOCS = [
    yaml.safe_load(block)
    for block in re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(encoding="utf-8"), re.S)
]

GOOD = (
    "model_name_or_path: Qwen/Qwen2-7B-Instruct\ndataset_name: trl-lib/Capybara\nbf16: true\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 2\n"
    "output_dir: out\nattn_implementation: eager\ndeepspeed: zero.json  # as before\n"
)
BAD = GOOD.replace("bf16: true", "fp16: true")
ZERO = '{"zero_optimization": {"stage": 2}, "fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}, "train_micro_batch_size_per_gpu": "auto"}\n'
COMPOSE = "services:\n  web:\n    image: nginx\n    ports: ['80:80']\n"
# What no YAML or JSON reader accepts, and what is none of our business.
CHART = "kind: Service\nmetadata:\n  name: {{ .Release.Name }}-web\n{{- if .Values.port }}\n"
TSCONFIG = '{\n\t// strict\n\t"compilerOptions": {"strict": true,},\n}\n'


class Repository:
    """A git repository with our hooks installed; `commit` says whether they let it pass, and what was said."""

    def __init__(self, folder: Path, hook: str, home: Path, **changes: object) -> None:
        self.folder, self.hook = folder, hook
        names = {
            f"GIT_{who}_{what}": "stablint@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        # Not what a git that runs these tests has set: inside its hooks it names its own index.
        outside = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        source = str(Path(stablint.__file__).parents[1])
        self.environment = {
            **outside,
            **names,
            "PRE_COMMIT_HOME": str(home),
            "PYTHONPATH": source,
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        self.run("git", "init", "--quiet")
        self.write(
            ".pre-commit-config.yaml",
            yaml.safe_dump({"repos": [{"repo": "local", "hooks": [{**self.local(hook), **changes}]}]}),
        )
        self.run(sys.executable, "-m", "pre_commit", "install")

    @staticmethod
    def local(hook: str) -> dict[str, object]:
        """Our hook with the interpreter of the tests in the place of an environment that pre-commit would install, and a team's `args`."""
        known = {entry["id"]: entry for entry in yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))}
        program, arguments = known[hook]["entry"].split(" ", 1)
        assert program == "stablint"
        return {
            **known[hook],
            "language": "system",
            "entry": f'"{sys.executable}" -m stablint.cli {arguments}',
            "args": ["--gpu", "A100-80GB", *known[hook]["args"]],
        }

    def write(self, name: str, text: str) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, encoding="utf-8", newline="")

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120
        )

    def commit(self, **files: str) -> tuple[bool, str]:
        for name, text in files.items():
            self.write(name, text)
        self.run("git", "add", *(files or ["."]))
        done = self.run("git", "commit", "--message", "a change")
        return done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def repository(tmp_path):
    pytest.importorskip("pre_commit")

    def make(hook: str = "stablint", changes: dict[str, object] | None = None, **committed: str) -> Repository:
        (tmp_path / "repository").mkdir()
        made = Repository(tmp_path / "repository", hook, tmp_path / "home", **(changes or {}))
        for name, text in committed.items():
            made.write(name, text)
        made.run("git", "add", ".")
        made.run("git", "commit", "--no-verify", "--message", "what was there before")
        return made

    return make


def test_the_copy_is_the_manifest():
    """pre-commit reads the dotted file; the other is there for those who do not see dotted ones."""
    assert MANIFEST.read_bytes() == (ROOT / "pre-commit-hooks.yaml").read_bytes()


def test_pre_commit_accepts_the_manifest():
    pytest.importorskip("pre_commit")
    command = [sys.executable, "-m", "pre_commit", "validate-manifest", str(MANIFEST)]
    assert subprocess.run(command, capture_output=True, timeout=60).returncode == 0


@pytest.mark.parametrize("hook", ["stablint", "stablint-fix"])
def test_a_hook_sees_every_format_at_once(hook):
    entry = Repository.local(hook)
    assert entry["types_or"] == ["yaml", "json", "python", "shell", "jupyter", "makefile", "dockerfile"]
    assert entry["require_serial"] is True
    assert "--skip-unrecognised" in entry["entry"]


def test_a_good_commit_passes(repository):
    passed, output = repository().commit(**{"train.yaml": GOOD, "zero.json": ZERO})
    assert passed, output


def test_a_bad_commit_is_refused_and_says_why(repository):
    passed, output = repository().commit(**{"train.yaml": BAD, "zero.json": ZERO})
    assert not passed
    assert "train.yaml:3:" in output and "P101" in output


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("docker-compose.yml", COMPOSE),
        ("chart/service.yaml", CHART),
        ("tsconfig.json", TSCONFIG),
        ("old.py", "print 'two'\n"),
    ],
)
def test_what_is_no_training_configuration_passes(repository, name, text):
    passed, output = repository().commit(**{name: text})
    assert passed, output


def test_a_broken_training_configuration_does_not_pass(repository):
    passed, output = repository().commit(**{"train.yaml": GOOD + "  learning_rate: [1\n"})
    assert not passed
    assert "F101" in output


def test_a_changed_deepspeed_file_is_judged_with_the_runs_that_read_it(repository):
    here = repository(**{"train.yaml": GOOD, "zero.json": ZERO})
    passed, output = here.commit(**{"zero.json": ZERO.replace('gpu": "auto"', 'gpu": 4')})
    assert not passed, "the run that is not staged has a batch of 2"
    assert "zero.json:1:" in output and "D101" in output and "train.yaml:5" in output


def test_a_sound_change_of_a_deepspeed_file_passes(repository):
    here = repository(**{"train.yaml": GOOD, "zero.json": ZERO})
    passed, output = here.commit(**{"zero.json": ZERO.replace('gpu": "auto"', 'gpu": 2')})
    assert passed, output


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
@pytest.mark.parametrize("args", [["--gpu", "A100-80GB"], ["--gpu", "A100-80GB", "--"], ["--"]], ids=" ".join)
def test_a_file_that_is_called_like_an_option_takes_no_error_away(repository, args):
    """pre-commit hands names over bare; an executable script needs no suffix to be one."""
    here = repository(changes={"args": args})
    for name in ("--exit-zero", "--ignore=P"):
        here.write(name, "#!/bin/sh\ntrue\n")
        (here.folder / name).chmod(0o755)
    here.write("train.yaml", BAD.replace("true", "true\nfp16_full_eval: true\nbf16: true"))
    here.run("git", "add", "--", "--exit-zero", "--ignore=P", "train.yaml")
    done = here.run("git", "commit", "--message", "a change")
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert ("P143" in said) if "--" in args else ("./--exit-zero" in said)


def test_slurm_files_are_seen_by_the_entry_that_docs_show(repository):
    """pre-commit has no type for them."""
    entry = next(hook for block in DOCS for repo in block.get("repos", ()) for hook in repo["hooks"] if "alias" in hook)
    here = repository(changes={name: entry[name] for name in ("types_or", "files")})
    job = "#!/bin/bash\n#SBATCH --gpus=8\ntrl sft --model_name_or_path Qwen/Qwen2-7B-Instruct --dataset_name x/y --fp16 --attn_implementation eager\n"
    passed, output = here.commit(**{"train.slurm": job})
    assert not passed
    assert "train.slurm:3:" in output and "P101" in output


def test_the_fixing_hook_repairs_and_lets_the_second_try_pass(repository):
    here = repository("stablint-fix", **{"zero.json": ZERO})
    passed, output = here.commit(**{"train.yaml": BAD})
    assert not passed, output
    assert here.read("train.yaml") == GOOD, "nothing but the key has changed"
    passed, output = here.commit(**{"train.yaml": GOOD})
    assert passed, output
