"""However a file is made, checking it takes bounded time and memory, and what was cut short is told as that file's finding."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from stablint.base import knowledge
from stablint.cli import main
from stablint.syntax import limits
from tests.runs import inspected
from tests.security.attack_files import CLASSES

SIZE = 100_000  # bytes
SECONDS = 2.0  # of a quiet core, for one file; a check takes a tenth of one
MEGABYTES = 200

# Every attack of a class in one process: file by file its seconds, and what was told; the memory of all of them at the end.
PROGRAM = """
import contextlib, gc, io, json, os, resource, sys, tempfile
from stablint.cli import main
from tests.security.attack_files import CLASSES
from tests.pace import cost

name, size, most, *more = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_CPU, (400, 400))
gc.disable()  # as the console script does
done = {}
for attack, make in CLASSES[name].items():
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, ".git"))
        files = make(int(size))
        for file, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(folder, file)), exist_ok=True)
            with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
                out.write(text)
        os.chdir(folder)

        def check():
            printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()) as said:
                try:
                    code = main([*more, *files] if more[:1] == ["migrate"] else ["check", ".", *more])
                except SystemExit as end:
                    code = end.code
            found[:] = [code, len(printed.buffer.getvalue()), "Traceback" in said.getvalue()]

        found = []
        gc.collect()  # what the attack before it left would count as this one's memory
        seconds = cost(check, float(most))
        done[attack] = [found[0], seconds, *found[1:]]
        os.chdir("/")
try:  # ru_maxrss of a child starts at the peak of the process that it was forked from
    with open("/proc/self/status", encoding="ascii") as status:
        megabytes = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) / 1024
except OSError:
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024 * 1024)
print(json.dumps([done, megabytes]))
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are POSIX")


REPAIRED = ["the same key", "runs in a file", "scripts"]  # those whose repairs are the most work
MIGRATED = ("migrate", "--diff", "--with", "transformers==5.0.0")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "more"),
    [
        *((name, ()) for name in CLASSES),
        *((name, ("--diff", "--unsafe-fixes")) for name in REPAIRED),
        ("scripts", MIGRATED),
    ],
)
def test_no_file_takes_long(name: str, more: tuple[str, ...]) -> None:
    knowledge.lines("core")  # in a checkout whose knowledge has changed, this is what compiles it
    command = [sys.executable, "-c", PROGRAM, name, str(SIZE), str(SECONDS), *more]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=900, check=False, cwd=Path(__file__).parents[2]
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    done, megabytes = json.loads(ran.stdout)
    assert set(done) == set(CLASSES[name])
    assert not {attack: found for attack, found in done.items() if found[0] not in (0, 1) or found[3]}
    assert not {attack: found for attack, found in done.items() if found[1] > SECONDS}
    assert not {attack: found for attack, found in done.items() if found[2] > 1_000_000}, (
        "more is told than anybody reads"
    )
    assert megabytes < MEGABYTES


# What reaches each limit, and a file just like it that does not.
LAUNCH = "torchrun train.py --fp16 --learning_rate 1 --output_dir $x\n"
DOCUMENT = "---\nlearning_rate: 1.0e-5\noutput_dir: out\n"
# What reaches each limit: a file with a part that is repeated too often, how often, and how often it may be.
REACHED = {
    limits.VALUE: ("run.sh", f"y={'a' * 1_000}\nx=b\n*{LAUNCH}", "x+=$y\n", 12, 9),
    limits.PARTS: ("run.sh", f"y=a\nx=b\n*{LAUNCH}", "x+=$y\n", 500, 100),
    limits.COMMANDS: ("run.sh", f"x=b\n{LAUNCH}*", "a\n", 10_100, 9_900),
    limits.REPEATS: ("ds.json", '{"zero_optimization": {"stage": 2}*}', ', "train_batch_size": 4', 80, 5),
    limits.FAULTS: ("ds.json", '*{"zero_optimization": {"stage": 2}, "train_batch_size": 4}', "//\n", 300, 90),
    limits.TOLD: ("ds.json", '{"zero_optimization": {"stage": 2*}, "train_batch_size": 4}', ', "stag{}": 1', 150, 90),
    limits.KEYS: ("ds.json", '{"zero_optimization": {"stage": 2}, "train_batch_size": 4*}', f', "k{{}}": "{"a" * 60}"', 5_100, 4_800),
    limits.RUNS: ("train.yaml", "*", DOCUMENT, 150, 90),
    limits.SETTINGS: ("train.yaml", "model_name_or_path: a/b\nstage: sft\nfinetuning_type: lora\n*", "lora_rank_{}: 1\n", 1_100, 50),
    limits.WRITTEN: ("run.sh", "*" + LAUNCH, "cat > ds{}.json <<EOF\n{\"fp16\": {\"enabled\": true}, \"seed\": 1}\nEOF\n", 32, 25),
    limits.WRITTEN_LONG: ("run.sh", "cat > ds.json <<EOF\n{\"fp16\": {\"enabled\": true}}\n*EOF\n" + LAUNCH, " " * 99 + "\n", 520, 300),
    limits.LINES: ("Makefile", "all:\n*\t" + LAUNCH, "\techo {}\n", 510, 400),
    limits.FILLED: ("Makefile", "A = 1\nall:\n*\t" + LAUNCH, "\techo " + "$(A)" * 400 + "\n", 140, 100),
    limits.STEPS: (".gitlab-ci.yml", f"train:\n  script:\n    - {LAUNCH}*", "job{}:\n  script:\n    - echo a\n", 210, 150),
    limits.CONTAINERS: (
        "job.yaml", f'apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - {{name: a, command: [bash, -c, "{LAUNCH[:-1]}"]}}\n*',
        "  - {name: c{}, command: [echo]}\n", 210, 150,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("limit", "case"), REACHED.items(), ids=[limit.of for limit in REACHED])
def test_what_was_cut_is_told(limit: limits.Limit, case: tuple[str, str, str, int, int], tmp_path: Path) -> None:
    name, around, part, much, less = case
    for number, count in enumerate((much, less)):
        text = around.replace("*", "".join(part.replace("{}", str(n)) for n in range(count)))
        told = [
            d.message
            for d in inspected(tmp_path / str(number), {name: text}).report.diagnostics
            if d.rule in ({limit.kind, limits.IN_PASSING} if limit.kind == limits.KIND else {limit.kind})
        ]
        assert ["more than" in message and limit.then in message for message in told] == [True] * (count == much)


OFTEN = "output_dir: out\nlearning_rate: 1.0e-5\n" + "seed: 1\n" * 60
PLAIN = "output_dir: out\nlearning_rate: 1.0e-5\n"


@pytest.mark.parametrize(
    ("files", "asked", "severity", "code"),
    [
        ({"a.yaml": OFTEN}, ["a.yaml"], "error", 1),  # asked for alone: the answer is missing
        ({"a.yaml": OFTEN, "b.yaml": PLAIN}, ["."], "warning", 0),
        ({"a.yaml": OFTEN, "b.yaml": PLAIN}, ["a.yaml", "b.yaml"], "warning", 0),
        ({"a.yaml": OFTEN, "b.yaml": PLAIN}, ["a.yaml"], "error", 1),
        ({"a.yaml": OFTEN, "b.yaml": PLAIN}, ["b.yaml"], "", 0),
        ({"in/a.yaml": OFTEN, "b.yaml": PLAIN}, ["in"], "error", 1),
        ({"a.yaml": OFTEN, "b.yaml": PLAIN}, [".", "--fail-on", "warning"], "warning", 1),
    ],
)
def test_a_limit_is_an_error_of_the_file_that_was_asked_for_alone(
    files, asked, severity, code, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert main(["check", "--isolated", "--select", "F113,F131", "--output-format", "json", *asked]) == code
    told = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [d["severity"] for d in told] == ([severity] if severity else [])


@pytest.mark.parametrize("command", ["advise", "fit"])
def test_changes_that_were_not_tried_are_told(command, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(limits, "CHANGED", limits.CHANGED._replace(most=1_000))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.yaml").write_text(
        "model_name_or_path: Qwen/Qwen2-7B\nstage: sft\nfinetuning_type: full\n" + PLAIN
    )
    main([command, "--gpu", "RTX 4090", "--isolated", "train.yaml"])
    assert capsys.readouterr().err.splitlines() == [
        "stablint: train.yaml: more than 1,000 characters read again to try changes of one file: the other changes are not tried, and not offered"
    ]


def test_every_limit_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "limits.md").read_text(encoding="utf-8")
    every = [limit for limit in vars(limits).values() if isinstance(limit, limits.Limit)]
    assert len(every) > 10
    assert not [limit for limit in every if f"| {limit.most:,} | {limit.of} | {limit.then} |" not in page]
