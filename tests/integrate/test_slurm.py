"""The wrapper and the plug-in for Slurm refuse a job with errors. Slurm itself is a stand-in that keeps the contract of its commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Slurm's machines are")

ROOT = Path(__file__).parents[2]
SOUND = "#!/bin/bash\n#SBATCH --gpus=8\ntrl sft --model_name_or_path Qwen/Qwen2-7B-Instruct --dataset_name a/b --output_dir out --bf16 True\n"
FAULTY = SOUND.replace("--bf16 True", "--bf16 True --fp16 True")

# sbatch [options] script [args] prints the number of the job; srun [options] program [args] runs it. The options that take a word of their own.
SLURM = """#!/bin/sh
echo "$(basename "$0") $*" >> "$SLURM_LOG"
case $(basename "$0") in
  sbatch) echo "Submitted batch job 7" ;;
  srun) while [ $# -gt 0 ]; do case $1 in -n|-N|-p) shift 2 ;; -*) shift ;; *) break ;; esac; done; exec "$@" ;;
esac
"""


@pytest.fixture
def cluster(tmp_path):
    """A folder with Slurm's commands, the wrapper's folder in front of it, and a user's own folder to work in."""
    for name in ("slurm", "wrapper", "bin", "work"):
        (tmp_path / name).mkdir()
    for name in ("sbatch", "srun"):
        (tmp_path / "slurm" / name).write_text(SLURM, encoding="utf-8")
        (tmp_path / "slurm" / name).chmod(0o755)
    shutil.copy(ROOT / "deploy" / "slurm" / "sbatch", tmp_path / "wrapper" / "sbatch")
    (tmp_path / "wrapper" / "srun").symlink_to("sbatch")
    stablint = tmp_path / "bin" / "stablint"
    stablint.write_text(f'#!/bin/sh\nexec {sys.executable} -m stablint "$@"\n', encoding="utf-8")
    stablint.chmod(0o755)
    (tmp_path / "bin" / "trl").write_text("#!/bin/sh\necho trained\n", encoding="utf-8")
    (tmp_path / "bin" / "trl").chmod(0o755)
    path = os.pathsep.join([*(str(tmp_path / name) for name in ("wrapper", "bin", "slurm")), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "SLURM_LOG": str(tmp_path / "log"), "PYTHONPATH": str(ROOT / "lint")}

    def run(*words: str, **more: str) -> tuple[int, str, str, str]:
        done = subprocess.run(
            words, cwd=tmp_path / "work", env=environment | more, capture_output=True, text=True, timeout=120
        )
        log = tmp_path / "log"
        return done.returncode, done.stdout, done.stderr, log.read_text() if log.exists() else ""

    (tmp_path / "work" / "sound.sbatch").write_text(SOUND, encoding="utf-8")
    (tmp_path / "work" / "faulty.sbatch").write_text(FAULTY, encoding="utf-8")
    return run


def test_a_sound_job_is_submitted_as_it_was_written(cluster):
    code, out, _, log = cluster("sbatch", "-p", "gpu", "--time=1:00:00", "sound.sbatch", "more words")
    assert (code, out) == (0, "Submitted batch job 7\n")
    assert log == "sbatch -p gpu --time=1:00:00 sound.sbatch more words\n"


def test_a_job_with_errors_is_not_submitted(cluster):
    code, out, err, log = cluster("sbatch", "-p", "gpu", "faulty.sbatch")
    assert (code, log) == (1, "")
    assert "P143" in out + err and "Submitted" not in out


def test_srun_runs_what_is_sound_and_nothing_else(cluster):
    assert cluster("srun", "-n", "1", "trl", "sft", "--output_dir", "out", "--bf16", "True")[:2] == (0, "trained\n")
    code, out, err, log = cluster(
        "srun", "-n", "1", "trl", "sft", "--output_dir", "out", "--bf16", "True", "--fp16", "True"
    )
    assert code == 1 and "P143" in out + err
    assert log.count("\n") == 1


def test_whoever_knows_better_submits_without_a_check(cluster):
    assert cluster("sbatch", "faulty.sbatch", STABLINT_SKIP="1")[:2] == (0, "Submitted batch job 7\n")


def test_without_slurm_it_says_so(cluster, tmp_path):
    (tmp_path / "slurm" / "sbatch").unlink()
    code, _, err, _ = cluster("sbatch", "sound.sbatch")
    assert code == 127 and "no other sbatch" in err


# What job_submit/lua gives a plug-in: constants, log_user, and job_desc with the script and its fields.
STAND_IN = """
slurm = {SUCCESS = 0, ERROR = -1, log_user = function(form, ...) io.stderr:write(string.format(form, ...)) end}
dofile(arg[1])
local file = io.open(arg[2], "rb")
local script = arg[2] ~= "none" and file:read("*a") or nil
local answer = slurm_job_submit({script = script, comment = arg[3]}, {}, 1000)
print(answer == slurm.SUCCESS and "queued" or "refused")
"""


@pytest.mark.skipif(not shutil.which("lua"), reason="the plug-in is Lua")
@pytest.mark.parametrize(
    ("script", "comment", "answer"),
    [("sound.sbatch", "", "queued"), ("faulty.sbatch", "", "refused"), ("faulty.sbatch", "stablint-skip", "queued"), ("other.sbatch", "", "queued"),
     ("long.sbatch", "", "queued"), ("none", "", "queued"), ("hostile.sbatch", "", "queued")],
)  # fmt: skip
def test_the_plug_in_refuses_a_script_with_errors(cluster, tmp_path, script, comment, answer):
    work = tmp_path / "work"
    (work / "other.sbatch").write_text("#!/bin/bash\nmake simulation\n", encoding="utf-8")
    (work / "long.sbatch").write_text("#!/bin/bash\n" + "# x\n" * 300_000, encoding="utf-8")
    (work / "hostile.sbatch").write_text(
        f"#!/bin/bash\n'; touch {work}/ran; echo '\n$(touch {work}/ran)\n", encoding="utf-8"
    )
    (work / "stand_in.lua").write_text(STAND_IN, encoding="utf-8")
    code, out, err, _ = cluster(
        "lua", "stand_in.lua", str(ROOT / "deploy/slurm/job_submit.lua"), script, comment, STABLINT="stablint"
    )
    assert (code, out) == (0, f"{answer}\n"), err
    assert ("P143" in err) is (answer == "refused")
    assert not (work / "ran").exists()


@pytest.mark.skipif(not shutil.which("lua"), reason="the plug-in is Lua")
def test_a_check_that_cannot_be_made_stops_no_cluster(cluster, tmp_path):
    (tmp_path / "work" / "stand_in.lua").write_text(STAND_IN, encoding="utf-8")
    words = ("lua", "stand_in.lua", str(ROOT / "deploy/slurm/job_submit.lua"), "faulty.sbatch", "")
    assert cluster(*words, STABLINT="/nowhere/stablint")[1] == "queued\n"


@pytest.mark.skipif(not shutil.which("lua"), reason="the plug-in is Lua")
@pytest.mark.parametrize("named", ["{work}/private.json", "private.json", "../work/private.json"])
def test_the_plug_in_reads_no_file_that_the_script_names(cluster, tmp_path, named):
    """Slurm's controller may read what the user who submits may not."""
    work = tmp_path / "work"
    (work / "stand_in.lua").write_text(STAND_IN, encoding="utf-8")
    (work / "private.json").write_text('{"zero_optimization": {"stage": 2, "marmalade": 1}}', encoding="utf-8")
    words = f"trl sft --model_name_or_path Qwen/Qwen2-7B --fp16 --bf16 --output_dir out --deepspeed {named.format(work=work)}"
    (work / "reaching.sbatch").write_text(f"#!/bin/bash\n{words}\n", encoding="utf-8")
    assert "marmalade" in cluster("stablint", "check", "reaching.sbatch", "--output-format", "concise")[1]
    code, out, err, _ = cluster(
        "lua", "stand_in.lua", str(ROOT / "deploy/slurm/job_submit.lua"), "reaching.sbatch", "", STABLINT="stablint"
    )
    assert (code, out) == (0, "refused\n") and "P143" in err
    assert "marmalade" not in err
