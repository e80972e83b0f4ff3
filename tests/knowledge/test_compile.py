"""The compiled knowledge in its folder: whole or not there, nothing left beside it, and the same whether all of it was made anew or little."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stablint.base import knowledge
from stablint.compiling.compile import compile_all

HERE = Path(knowledge.SOURCES)


def _more_than_one_of_a_kind(folder: str, names: list[str]) -> list[str]:
    """What is left out: all hazards, and where many files say the same of many models or in many folders' words, all but what one needs."""
    needed = {
        "hazards": (),
        "memory": ("kernels.yaml", "llama.yaml"),
        "zh": ("program.po", "file.po"),
        "signatures": ("peft.json",),
    }
    return [name for name in names if name not in needed.get(Path(folder).name, names)]


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """As little knowledge as compiles in no time, all kinds and three hazards, and what it was compiled to."""
    top = tmp_path_factory.mktemp("once")
    small = top / "knowledge"
    shutil.copytree(HERE, small, ignore=_more_than_one_of_a_kind)
    for hazard in sorted((HERE / "hazards").rglob("*.yaml"))[:3]:
        (small / "hazards" / hazard.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(hazard, small / "hazards" / hazard.parent.name)
    (top / "package").mkdir()
    compile_all(str(small), str(top / "package" / "_compiled"))
    return top


@pytest.fixture
def sources(once, tmp_path):
    return shutil.copytree(once / "knowledge", tmp_path / "knowledge")


@pytest.fixture
def target(once, tmp_path):
    """Compiled from `sources`."""
    shutil.copytree(once / "package", tmp_path / "package")
    return tmp_path / "package" / "_compiled"


def tables(folder: Path) -> dict[str, bytes]:
    """What a check reads."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "stamp" and not path.name.startswith("_")
    }


@pytest.mark.slow
def test_what_killed_compilations_left_is_taken_away(tmp_path, sources):
    package = tmp_path / "package"
    for name, age in (("_compiled-abandoned", 3600), ("_compiled-at-work", 5), ("mine", 3600)):
        (package / name).mkdir(parents=True)
        os.utime(package / name, (time.time() - age,) * 2)
    compile_all(str(sources), str(package / "_compiled"))
    assert sorted(entry.name for entry in package.iterdir()) == ["_compiled", "_compiled-at-work", "mine"]
    assert (package / "_compiled" / "core.lines").exists()


def test_a_second_compilation_takes_the_place_of_the_first(sources, target):
    first = tables(target)
    compile_all(str(sources), str(target), incremental=False)
    assert tables(target) == first
    assert [entry.name for entry in target.parent.iterdir()] == ["_compiled"]


def one_of(folder: Path) -> Path:
    return min(folder.rglob("*.yaml"))


def add_a_comment(sources: Path) -> None:
    path = one_of(sources / "hazards")
    path.write_text(path.read_text(encoding="utf-8") + "# as before\n", encoding="utf-8")


def change_a_hazard(sources: Path) -> None:
    path = one_of(sources / "hazards")
    before = path.read_text(encoding="utf-8")
    path.write_text(before.replace("\ntitle: ", "\ntitle: Truly "), encoding="utf-8")
    assert path.read_text(encoding="utf-8") != before


def take_a_hazard_away(sources: Path) -> None:
    one_of(sources / "hazards").unlink()


def bring_a_hazard(sources: Path) -> None:
    other = max((HERE / "hazards").rglob("*.yaml"))
    (sources / "hazards" / other.parent.name).mkdir(exist_ok=True)
    shutil.copy(other, sources / "hazards" / other.parent.name)


def rename_a_folder(sources: Path) -> None:
    path = one_of(sources / "hazards").parent
    path.rename(path.with_name("other"))


def change_a_release(sources: Path) -> None:
    path = sources / "releases" / "peft.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    del document["classes"]["LoraConfig"]["fields"]["r"]
    path.write_text(json.dumps(document), encoding="utf-8")


def change_the_words(sources: Path) -> None:
    path = sources / "words.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(document | {"a.word": document[min(document)]}), encoding="utf-8")


CHANGES = (
    add_a_comment, change_a_hazard, take_a_hazard_away, bring_a_hazard, rename_a_folder, change_a_release, change_the_words,
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_what_is_taken_over_is_what_would_be_made_anew(change, sources, target, tmp_path):
    change(sources)
    compile_all(str(sources), str(target))
    whole = tmp_path / "other" / "_compiled"
    whole.parent.mkdir()
    compile_all(str(sources), str(whole), incremental=False)
    assert tables(target) == tables(whole)


def test_a_hazard_that_did_not_change_is_not_read_again(sources, target, monkeypatch):
    from stablint.compiling import hazards

    add_a_comment(sources)
    read, compile_file = [], hazards._compile_file
    monkeypatch.setattr(hazards, "_compile_file", lambda text, name: read.append(name) or compile_file(text, name))
    compile_all(str(sources), str(target))
    assert read == [one_of(sources / "hazards").relative_to(sources).as_posix()]


def test_sources_that_are_only_newer_change_nothing(sources, target):
    inodes = {path: path.stat().st_ino for path in target.rglob("*")}
    os.utime(one_of(sources / "hazards"), (time.time() + 5,) * 2)
    before = (target / "stamp").stat().st_mtime_ns
    compile_all(str(sources), str(target))
    assert {path: path.stat().st_ino for path in target.rglob("*")} == inodes
    assert (target / "stamp").stat().st_mtime_ns > before, "else every command would look through all sources"


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["", "{", "[]", '{"whole": 1, "parts": {}}'])
def test_a_broken_stamp_is_none(broken, sources, target):
    first = tables(target)
    (target / "stamp").write_text(broken, encoding="utf-8")
    (target / "_recalled.json").write_text(broken, encoding="utf-8")
    compile_all(str(sources), str(target))
    assert tables(target) == first


@pytest.mark.slow
def test_what_other_code_made_of_a_text_is_not_remembered(sources, target):
    first = tables(target)
    stamp = json.loads((target / "stamp").read_text(encoding="utf-8"))
    recalled = json.loads((target / "_recalled.json").read_text(encoding="utf-8"))
    (target / "_recalled.json").write_text(json.dumps({key: [{}, {}] for key in recalled}), encoding="utf-8")
    stamp |= {"code": "of another day", "whole": "", "parts": {}}
    (target / "stamp").write_text(json.dumps(stamp), encoding="utf-8")
    compile_all(str(sources), str(target))
    assert tables(target) == first


def test_a_table_that_was_lost_is_made_again(sources, target):
    first = tables(target)
    (target / "gpus.json").unlink()
    (target / "_core.json").unlink()
    add_a_comment(sources)
    compile_all(str(sources), str(target))
    assert tables(target) == first


def test_what_is_made_again_is_not_written_into_what_others_still_read(sources, target, tmp_path):
    lost, other = sorted((target / "fields").iterdir())[:2]
    os.link(other, tmp_path / "still read")
    lost.unlink()
    add_a_comment(sources)
    compile_all(str(sources), str(target))
    assert lost.exists()
    assert not os.path.samefile(tmp_path / "still read", other)


def test_a_broken_hazard_leaves_the_last_tables(sources, target):
    first = tables(target)
    one_of(sources / "hazards").write_text("id: [", encoding="utf-8")
    with pytest.raises(ValueError, match=r"hazards/.*\.yaml:\d+"):
        compile_all(str(sources), str(target))
    assert tables(target) == first
    assert [entry.name for entry in target.parent.iterdir()] == ["_compiled"]


def test_a_wheel_holds_only_what_a_check_reads(sources, target):
    compile_all(str(sources), str(target), incremental=False)
    assert not [path for path in target.rglob("*") if path.name.startswith("_")]


def test_processes_that_compile_at_once_find_the_work_of_the_first(sources, target):
    program = f"from stablint.compiling.compile import compile_all; compile_all({str(sources)!r}, {str(target)!r})"
    many = [subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE) for _ in range(3)]
    said = [one.communicate()[1].decode() for one in many]
    assert [(one.returncode, text) for one, text in zip(many, said, strict=True)] == [(0, "")] * 3
    assert [entry.name for entry in target.parent.iterdir()] == ["_compiled"]
    assert (target / "core.lines").exists()


WATCHED = """
import importlib, json, pkgutil, sys
from pathlib import Path
from stablint import compiling
root, seen, outside = Path(sys.argv[1]), set(), {}
def watch(event, args):
    if event in ("open", "os.scandir", "os.listdir") and str(args[0]).startswith(f"{root}/"):
        seen.add(Path(str(args[0])).relative_to(root).parts[0])
sys.addaudithook(watch)
for one in pkgutil.iter_modules(compiling.__path__):
    module = importlib.import_module(f"stablint.compiling.{one.name}")
    if hasattr(module, "READS"):
        seen.clear()
        recall = [lambda text, work: work()] if getattr(module, "RECALLS", False) else []
        getattr(module, f"compile_{one.name}")(root, *recall)
        outside[one.name] = [sorted(seen - set(module.READS)), sorted(set(module.READS) - seen)]
print(json.dumps(outside))
"""


def test_each_module_reads_what_it_says(sources):
    done = subprocess.run([sys.executable, "-c", WATCHED, str(sources)], capture_output=True, check=True)
    found = json.loads(done.stdout)
    assert len(found) > 15
    assert {name: kinds for name, kinds in found.items() if kinds != [[], []]} == {}
