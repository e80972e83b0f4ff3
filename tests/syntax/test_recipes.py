"""Commands that stand in a Makefile, a justfile, a Dockerfile or a forge's workflow: what the shell is told, and where that stands."""

from __future__ import annotations

import time
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.files import discover
from stablint.syntax.embedded import end_in_file, start_in_file
from stablint.syntax.tree import NO_FOLDER, Document, Script, Text


def parsed(text: str, name: str) -> tuple[Document, ...]:
    return discover.parse(Text(f"/r/{name}", name, text), discover.kind_of(name))


def scripts(text: str, name: str) -> list[str]:
    return [one.view.source for one in parsed(text, name) if one.view is not None]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Makefile", "make"), ("makefile.gpu", "make"), ("GNUmakefile", "make"), ("rules.mk", "make"), ("justfile", "just"), (".justfile", "just"),
        ("train.just", "just"), ("Dockerfile", "docker"), ("Dockerfile.train", "docker"), ("train.dockerfile", "docker"), ("Containerfile", "docker"),
        ("makefile.yaml", "yaml"), ("dockerfile.py", "python"), ("my-makefile", "yaml"),
    ],
)  # fmt: skip
def test_formats_by_name(name, kind):
    assert discover.kind_of(name) == kind and discover.is_configuration(name) == (name != "my-makefile")


@pytest.mark.parametrize(
    ("makefile", "told"),
    [
        ("a:\n\ttrl sft\n\t@trl dpo\n\t-@trl kto\n", ["trl sft\n", "trl dpo\n", "trl kto\n"]),
        ("a: b ; trl sft\n", ["trl sft\n"]),
        ("a:\n\ttrl sft \\\n\t\t--lr 1\n", ["trl sft \\\n\t--lr 1\n"]),
        ("LR = 1e-4\na:\n\ttrl --lr $(LR) ${LR}\n", ["trl --lr 1e-4 1e-4\n"]),
        ("LR = 1e-4 # not 1e-3\na:\n\ttrl --lr $(LR)\n", ["trl --lr 1e-4\n"]),
        ("A = --lr 1 \\\n  --seed 2\na:\n\ttrl $(A)\n", ["trl --lr 1 \\\n  --seed 2\n"]),
        ("B = 1\nA := --lr $(B)\nA += --seed $(B)\na:\n\ttrl $(A)\n", ["trl --lr 1 --seed 1\n"]),
        ("LR ?= 1e-4\na:\n\ttrl --lr $(LR)\n", ["trl --lr ${LR:-1e-4}\n"]),
        ("a:\n\ttrl --lr $(LR) $$HOME $$(nproc)\n", ["trl --lr ${LR} $HOME $(nproc)\n"]),
        ("a:\n\ttrl --out $@ --in $< $(shell ls $(X)) $(wildcard *.py)\n", ["trl --out a --in $(:) $(:) $(:)\n"]),
        ("%.pt: %.yaml\n\ttrl --out $@\n", ["trl --out $(:)\n"]),
        ("LR = 1\nLR = 2\na:\n\ttrl --lr $(LR)\n", ["trl --lr 2\n"]),
        ("LR = 1\nifdef BIG\nLR = 2\nendif\na:\n\ttrl --lr $(LR)\n", ["trl --lr $(:)\n"]),
        ("a: LR = 2\na:\n\ttrl --lr $(LR)\n", ["trl --lr $(:)\n"]),
        ("a:\nifdef BIG\n\ttrl sft\nendif\n\ttrl dpo\n", ["trl dpo\n"]),
        ("define A\n--lr 1\nendef\na:\n\ttrl $(A)\n", ["trl $(:)\n"]),
        ("A = $(B)\nB = $(A)\na:\n\ttrl $(A)\n", ["trl $(:)\n"]),
        ("export WANDB_PROJECT = x\na:\n\ttrl sft\n", ["export WANDB_PROJECT='x'\ntrl sft\n"]),
        ("SEED := 1\nexport SEED\na:\n\ttrl sft\n", ["export SEED='1'\ntrl sft\n"]),
        (".ONESHELL:\na:\n\tcd src\n\ttrl sft\n", ["cd src\ntrl sft\n"]),
        ("# trl sft\n\ttrl sft\n", []),
    ],
)
def test_what_make_tells_its_shells(makefile, told):
    assert scripts(makefile, "Makefile") == told


def test_each_line_has_a_shell_of_its_own():
    commands = [one.root.commands[-1] for one in parsed("a:\n\tcd src && trl sft\n\ttrl dpo\n", "Makefile") if one.root]
    assert [(one.words, one.folder) for one in commands] == [(("trl", "sft"), "src"), (("trl", "dpo"), "")]


@pytest.mark.parametrize(
    ("justfile", "told"),
    [
        ("a:\n    trl sft\n    @trl dpo\n", ["trl sft\n", "trl dpo\n"]),
        ('lr := "1e-4"\na b="2" *more: c\n  trl --lr {{lr}} --seed {{ b }} {{more}}\n', ["trl --lr 1e-4 --seed ${b:-2} $(:)\n"]),
        ("a:\n  trl sft \\\n    --lr 1\n  trl dpo\n", ["trl sft \\\n--lr 1\n", "trl dpo\n"]),
        ("x := `date`\na:\n  trl --lr {{x}} {{ env('HOME') }} $HOME\n", ["trl --lr $(:) $(:) $HOME\n"]),
        ("export SEED := '1'\n[group('x')]\n@a:\n  trl sft\n", ["export SEED='1'\ntrl sft\n"]),
        ("a:\n  #!/usr/bin/env bash\n  cd src\n  trl sft\n", ["cd src\ntrl sft\n"]),
        ("a:\n  #!/usr/bin/env python\n  import trl\n", []),
        ("alias t := train\nset shell := ['bash']\ntrain:\n  trl sft\n", ["trl sft\n"]),
    ],
)  # fmt: skip
def test_what_just_tells_its_shells(justfile, told):
    assert scripts(justfile, "justfile") == told


@pytest.mark.parametrize(
    ("dockerfile", "told"),
    [
        ("FROM a\nCMD trl sft --lr $LR\n", ["trl sft --lr $LR"]),
        ('FROM a\nCMD ["trl", "sft", "--a", "b c"]\n', ["trl sft --a 'b c'"]),
        ('FROM a\nENTRYPOINT ["trl"]\nCMD ["sft", \\\n  "--fp16"]\n', ["trl sft --fp16"]),
        ('FROM a\nENTRYPOINT trl sft\nCMD ["--fp16"]\n', ["trl sft"]),
        ("FROM a\nCMD trl dpo\nCMD trl sft \\\n# why\n  --fp16\n", ["trl sft \\\n# why\n  --fp16"]),
        ('FROM a as one\nCMD trl sft\nFROM b\nENV LR=1e-4 X="a b"\nARG SEED=1\nCMD trl dpo\n',
         ["export LR='1e-4'\nexport X='a b'\nexport SEED=${SEED:-1}\ntrl dpo"]),
        ("FROM a\nENV LR 1e-4\nCMD trl dpo\n", ["export LR='1e-4'\ntrl dpo"]),
        ("FROM a\nRUN <<EOF\nCMD trl sft\nEOF\nCMD trl dpo\n", ["trl dpo"]),
        ("FROM a\nRUN trl sft\n# CMD trl sft\n", []),
    ],
)  # fmt: skip
def test_what_a_container_of_the_image_starts(dockerfile, told):
    assert scripts(dockerfile, "Dockerfile") == told
    assert all(c.folder == NO_FOLDER for one in parsed(dockerfile, "Dockerfile") if one.root for c in one.root.commands)


GITHUB = """\
on: push
env: {LR: 1e-4}
defaults: {run: {working-directory: src}}
jobs:
  a:
    steps:
      - uses: actions/checkout@v4
      - run: pip install trl
      - {name: b, env: {SEED: 1, TOKEN: "${{ secrets.T }}"}, run: "trl sft --lr $LR --max_steps ${{ matrix.steps }}"}
      - {shell: python, run: print(1)}
"""
GITLAB = """\
variables: {LR: 1e-4}
before_script: [pip install trl]
train:
  variables: {SEED: 1}
  script:
    - cd src
    - trl sft --lr $LR --max_steps $[[ inputs.steps ]]
other: {script: trl dpo}
"""


@pytest.mark.parametrize(
    ("workflow", "told"),
    [
        (GITHUB, ["export LR='1e-4'\ncd 'src'\npip install trl\n", "export LR='1e-4'\nexport SEED='1'\ncd 'src'\ntrl sft --lr $LR --max_steps $(:)\n"]),
        (GITLAB, ["export LR='1e-4'\nexport SEED='1'\npip install trl\ncd src\ntrl sft --lr $LR --max_steps $(:)\n",
                  "export LR='1e-4'\npip install trl\ntrl dpo\n"]),
        ("jobs: 3\nlearning_rate: 1\n", []),
        ("model: {script: {a: 1}}\n", []),
    ],
)  # fmt: skip
def test_what_a_forge_runs(workflow, told):
    assert scripts(workflow, "train.yml") == told


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Makefile", "A = --fp16 true\na:\n\ttrl sft $(A) --lr 1\n"),
        ("justfile", "on := 'true'\na x='1':\n  trl sft --fp16 {{on}} --lr {{x}}\n"),
        ("Dockerfile", 'FROM a\nENTRYPOINT ["trl", "sft"]\nCMD ["--fp16", "true"]\n'),
        ("train.yml", "jobs: {a: {steps: [{run: trl sft --fp16 true}]}}\n"),
    ],
)
def test_a_flag_stands_where_the_file_has_it(name, text):
    (script,) = [one for one in parsed(text, name) if one.view is not None]
    assert isinstance(script.root, Script)
    (command,) = script.root.commands
    flag = next(entry for entry in command.flags.entries if entry.key == "fp16")
    assert text[flag.key_start : flag.key_end].lstrip("-") == "fp16"
    assert text[flag.value.start : flag.value.end].strip("\"'") == "true"


@pytest.mark.parametrize("name", ["Makefile", "justfile", "Dockerfile", "train.yml"])
@given(st.text("aA$(){}[]=:?+#;\"'\\ \t\n-,<E@%0", max_size=80))
def test_any_text_is_read_and_every_piece_is_of_it(name, noise):
    before = {
        "Makefile": "A = 1\na:\n\t",
        "justfile": "a := '1'\nb:\n  ",
        "Dockerfile": "FROM a\nCMD ",
        "train.yml": "jobs: {a: {steps: [{run: trl}]}}\n",
    }
    text = before[name] + noise
    for one in parsed(text, name):
        for piece in one.view.pieces if one.view is not None else ():
            assert 0 <= piece.at <= piece.till <= len(text) and piece.start < piece.end
        if one.view is not None:
            for at in range(0, len(one.view.source), 7):
                assert 0 <= start_in_file(one.view, at) <= end_in_file(one.view, at + 1) <= len(text)


def _many(name: str, count: int) -> str:
    return {
        "Makefile": "".join(f"A{i} = $(A{i + 1})$(A{i + 1})\n" for i in range(12))
        + "a:\n"
        + "\ttrl $(A0) $(\n" * count,
        "justfile": f"a{' b' * count}:\n" + f"  trl {'{{' * count}\n  {'{{ ' * count}\n",
        "Dockerfile": "FROM a\nENV " + "a" * count * 9 + " " * count + "=\n" + "CMD [" + '"a",\\\n' * count + "\n",
        "train.yml": dedent("jobs:\n  a:\n    steps:\n") + "      - run: a ${{ b }} ${{\n" * count,
    }[name]


@pytest.mark.parametrize("name", ["Makefile", "justfile", "Dockerfile", "train.yml"])
def test_nothing_grows_faster_than_the_text(name):
    def seconds(count: int) -> float:
        text, start = _many(name, count), time.process_time()
        parsed(text, name)
        return time.process_time() - start

    seconds(10)
    small = min(seconds(500) for _ in range(3))
    assert min(seconds(2_000) for _ in range(2)) < 12 * small + 0.2
