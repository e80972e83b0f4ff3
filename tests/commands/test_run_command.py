"""`stablint run -- COMMAND`: what it reads, when it refuses, and that the command is then on its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from stablint.commands.run import as_text

POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and exec of POSIX")
GOOD = "model_name_or_path: facebook/opt-1.3b\noutput_dir: out\nlearning_rate: 1.0e-5\nper_device_train_batch_size: 2\nbf16: true\n"
BAD = GOOD + "fp16: true\n"
TRAINER = """\
import os, sys
open("started", "w").write(os.environ.get("MARK", "") + " ".join(sys.argv[1:]))
sys.exit(7)
"""


def launch(folder, *words: str, options: tuple[str, ...] = ("--gpu", "A100-80GB"), **environment: str):
    """stablint in a process of its own: it becomes the command."""
    program = [sys.executable, "-m", "stablint.cli", "run", *options, "--", *words]
    source = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "lint")
    path = os.pathsep.join(filter(None, [os.path.abspath(source), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        program,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def project(tmp_path):
    (tmp_path / "train.py").write_text(TRAINER)
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "bad.yaml").write_text(BAD)
    return tmp_path


def test_a_sound_command_is_started_and_its_exit_code_is_the_answer(project):
    done = launch(project, sys.executable, "train.py", "--config", "good.yaml", MARK="own ")
    assert done.returncode == 7
    assert (project / "started").read_text() == "own --config good.yaml"


def test_a_command_with_an_error_is_not_started(project):
    done = launch(project, sys.executable, "train.py", "--config", "bad.yaml")
    assert done.returncode == 1
    assert not (project / "started").exists()
    assert "P143" in done.stderr and not done.stdout
    assert "if the program gives a library what it is handed" in done.stderr


def test_what_the_program_is_seen_to_give_a_library_is_an_error_outright(project):
    (project / "sft.py").write_text(
        "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
        "(args,) = HfArgumentParser(TrainingArguments).parse_yaml_file('bad.yaml')\nTrainer(args=args).train()\n"
    )
    done = launch(project, sys.executable, "sft.py", "--config", "bad.yaml")
    assert done.returncode == 1 and "not started: 1 error;" in done.stderr


def test_force_starts_it_all_the_same(project):
    done = launch(
        project, sys.executable, "train.py", "--config", "bad.yaml", options=("--force", "--gpu", "A100-80GB")
    )
    assert done.returncode == 7
    assert "P143" in done.stderr


def test_a_wrapper_that_has_no_options_of_ours_is_told_the_variable_that_starts_it(project, monkeypatch):
    refused = launch(project, sys.executable, "train.py", "--config", "bad.yaml")
    assert "STABLINT_SKIP=1" in refused.stderr
    monkeypatch.setenv("STABLINT_SKIP", "1")
    done = launch(project, sys.executable, "train.py", "--config", "bad.yaml")
    assert done.returncode == 7 and "P143" in done.stderr


def test_a_flag_of_the_command_counts_like_one_in_the_file(project):
    (project / "sft.yaml").write_text(
        GOOD + "stage: sft\ndo_train: true\nfinetuning_type: full\ndataset: x\ntemplate: default\n"
    )
    assert launch(project, "llamafactory-cli", "train", "sft.yaml", "fp16=true").returncode == 1


def test_flags_of_a_program_that_nobody_sees_read_stop_nothing(project):
    """It may declare them itself, whatever a library's are called."""
    done = launch(project, sys.executable, "train.py", "--config", "good.yaml", "--fp16", "true")
    assert done.returncode == 7
    assert "P143" in done.stderr


def test_a_launcher_names_the_script_and_its_files(project):
    """torchrun itself need not be there: nothing is started."""
    words = ("torchrun", "--nproc_per_node", "8", "train.py", "--config", "bad.yaml")
    assert launch(project, *words).returncode == 1


def test_a_script_that_builds_its_arguments_itself_is_read(project):
    (project / "own.py").write_text(
        "from transformers import TrainingArguments\nargs = TrainingArguments('out', fp16=True, bf16=True, learning_rate=1e-5)\n"
    )
    done = launch(project, sys.executable, "own.py")
    assert done.returncode == 1 and "own.py:2" in done.stderr


INNER = "python train.py --config bad.yaml\n"
# Files beside the project's, and the command that reads them in the end.
FOLLOWED = [
    ({"run.sh": INNER}, ["bash", "run.sh"]),
    ({"run.sh": INNER}, ["./run.sh"]),
    ({"run.sh": INNER}, ["env", "X=1", "bash", "run.sh"]),
    ({"run.sh": INNER}, ["sbatch", "--nodes=2", "run.sh"]),
    ({"run.sh": INNER}, ["sh", "-c", "bash run.sh"]),
    ({"run.sh": INNER}, ["bash", "-lc", "cd . && source run.sh"]),
    ({"launch": "#!/usr/bin/env bash\n" + INNER}, ["./launch"]),
    ({"run.sh": INNER, "outer.sh": 'cd "$(dirname "$0")"\nbash run.sh;\n'}, ["bash", "outer.sh"]),
]


@pytest.mark.parametrize(("files", "command"), FOLLOWED, ids=lambda one: " ".join(one) if isinstance(one, list) else "")
def test_a_script_is_followed_to_what_it_starts(project, files, command):
    for name, text in files.items():
        (project / name).write_text(text)
    done = launch(project, *command)
    assert done.returncode == 1 and "P143" in done.stderr and "not started" in done.stderr


def test_what_make_starts_is_not_read_and_refused(project):
    (project / "Makefile").write_text("train:\n\tpython train.py --config bad.yaml\n")
    done = launch(project, "make", "train")
    assert done.returncode == 2 and "what `make` starts is not read" in done.stderr


def test_a_command_that_is_no_training_is_started_with_a_word(project):
    done = launch(project, sys.executable, "-c", "print('hello')")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert "nothing in this command" in done.stderr


def test_no_command_and_no_program(project):
    assert launch(project).returncode == 2
    assert launch(project, "no-such-program-at-all").returncode == 127


@pytest.mark.parametrize(
    ("text", "started"),
    [
        ("", False),
        ('[severity]\nP143 = "warning"\n', True),
        ('ignore = ["P143"]\n', True),
        ('[[accept]]\nfile = "bad.yaml"\nrules = ["P143"]\nreason = "why"\n', True),
        ('[[per-path]]\npaths = ["good.yaml"]\nignore = ["P143"]\n', False),
    ],
)
def test_the_settings_of_the_project_count(project, text, started):
    (project / "stablint.toml").write_text(text)
    launch(project, sys.executable, "train.py", "--config", "bad.yaml")
    assert (project / "started").exists() is started


def test_isolated_reads_no_settings(project):
    (project / "stablint.toml").write_text('ignore = ["P143"]\n')
    words = (sys.executable, "train.py", "--config", "bad.yaml")
    assert launch(project, *words, options=("--gpu", "T4", "--isolated")).returncode == 1
    assert not (project / "started").exists()


@POSIX
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_command(project, number):
    (project / "wait.py").write_text(
        "import signal, sys, time\n"
        "def stop(number, frame): sys.exit(40 + number)\n"
        "signal.signal(signal.SIGINT, stop); signal.signal(signal.SIGTERM, stop)\n"
        "open('ready', 'w').close(); time.sleep(60)\n"
    )
    source = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "lint"))
    program = [sys.executable, "-m", "stablint.cli", "run", "--gpu", "A100-80GB", "--", sys.executable, "wait.py"]
    child = subprocess.Popen(program, cwd=project, env={**os.environ, "PYTHONPATH": source}, stderr=subprocess.DEVNULL)
    for _ in range(1000):
        if (project / "ready").exists():
            break
        time.sleep(0.02)
    child.send_signal(number)
    assert child.wait(60) == 40 + number


def test_variables_that_decide_are_read_and_secrets_are_not():
    environment = {
        "CUDA_VISIBLE_DEVICES": "0,1",
        "ACCELERATE_MIXED_PRECISION": "fp16",
        "HF_TOKEN": "hf_secret",
        "HOME": "/root",
        "WANDB_API_KEY": "k",
    }
    text = as_text(["python", "train.py", "--name", "two words"], environment)
    assert text == "ACCELERATE_MIXED_PRECISION=fp16 CUDA_VISIBLE_DEVICES=0,1 python train.py --name 'two words'\n"
