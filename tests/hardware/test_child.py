"""Programs and variables of a child process: those of this machine, and none that a checkout could bring along."""

from __future__ import annotations

import os

import pytest

from stablint.hardware.isolated import Outside, untrusted

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the programs are shell scripts")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A repository with a folder inside that is the current one, and a folder of programs outside of it."""
    for name in ("repository/.git", "repository/inner/bin", "repository/bin", "outside", "other/bin"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("repository", "repository/bin", "repository/inner", "repository/inner/bin", "outside", "other/bin"):
        program = tmp_path / name / "nvidia-smi"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    (tmp_path / "way").symlink_to(tmp_path / "repository" / "bin")
    monkeypatch.chdir(tmp_path / "repository" / "inner")
    return tmp_path


SEARCHED = [
    ("{0}/repository/bin:{0}/outside", "outside"),
    (".:bin::{0}/outside", "outside"),
    ("../../outside:{0}/other/bin", "other/bin"),
    ("{0}/way:{0}/outside", "outside"),
    ("{0}/repository/inner:{0}/repository", None),
    ("{0}/nowhere:{0}/other/bin:{0}/outside", "other/bin"),
    ("", None),
]


@pytest.mark.parametrize(("path", "found"), SEARCHED)
def test_programs_are_looked_for_outside_of_the_repository(machine, path, found):
    program = Outside(environment={"PATH": path.format(machine)}).program("nvidia-smi")
    assert program == (None if found is None else str(machine / found / "nvidia-smi"))


def test_the_folders_that_are_checked_are_outside_of_what_is_trusted(machine):
    environment = {"PATH": f"{machine}/other/bin:{machine}/outside"}
    assert Outside([str(machine / "other")], environment).program("nvidia-smi") == str(machine / "outside/nvidia-smi")


def test_the_environment_leads_nowhere_into_the_repository(machine):
    inside = f"{machine}/repository"
    told = Outside(
        environment={
            "PATH": f".:{inside}/bin:/usr/bin", "LD_PRELOAD": "evil.so", "LD_LIBRARY_PATH": f"lib:{inside}/lib:/usr/lib", "BASH_ENV": f"{inside}/env",
            "PYTHONPATH": "/usr/lib", "PYTHONSTARTUP": "x", "VIRTUAL_ENV": f"{machine}/way", "CUDA_VISIBLE_DEVICES": "0,1", "PROXY": "http://host:80",
            "EMPTY": "",
        }
    ).environment()  # fmt: skip
    assert told == {
        "PATH": "/usr/bin", "LD_LIBRARY_PATH": "/usr/lib", "CUDA_VISIBLE_DEVICES": "0,1", "PROXY": "http://host:80", "EMPTY": "",
    }  # fmt: skip


def test_what_is_not_trusted(machine, monkeypatch):
    assert untrusted(str(machine / "repository" / "inner")) == os.path.realpath(machine / "repository")
    assert untrusted(str(machine / "outside")) == os.path.realpath(machine / "outside")
    monkeypatch.chdir("/")  # of a container: its programs lie below it all the same
    assert Outside(environment={"PATH": str(machine / "outside")}).program("nvidia-smi")
