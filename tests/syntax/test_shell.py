"""Shell scripts as they are read and written. The cases are scripts that people launch training with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.syntax.shell import editor as shell_edit
from stablint.syntax.shell import reader as shell
from stablint.syntax.shell.tokens import Redirection, Word
from stablint.syntax.shell.words import Lexer
from stablint.syntax.tree import Command, Document, Edit, Entry, Mapping, Scalar, Script, Sequence, Text, Unknown


def read(script: str) -> Document:
    return shell.document(Text("/x/train.sh", "train.sh", script))


def commands(script: str) -> tuple[Command, ...]:
    root = read(script).root
    assert isinstance(root, Script)
    return root.commands


def value(node):
    if isinstance(node, Sequence):
        return [value(item) for item in node.items]
    if isinstance(node, Mapping):
        return flags(node)
    if isinstance(node.value, Unknown):
        return "?"
    return node.value


def flags(mapping: Mapping) -> dict:
    return {entry.key: value(entry.value) for entry in mapping.entries}


# What one command's flags are.
FLAGS = [
    ("p --lr 2e-5", {"lr": 2e-5}),
    ("p --lr=2e-5 --out=a/b", {"lr": 2e-5, "out": "a/b"}),
    ("p --fp16 --bf16 False --tf32 true", {"fp16": True, "bf16": False, "tf32": True}),
    ("p --mods q_proj v_proj --r 8", {"mods": ["q_proj", "v_proj"], "r": 8}),
    ("p --warmup -1 --x -.5 --y -1e-4", {"warmup": -1, "x": -0.5, "y": -1e-4}),
    ("p -n 3 -m pkg", {"n": 3, "m": "pkg"}),
    ("p --learning-rate 1", {"learning-rate": 1}),
    ("p --deepspeed.zero 2", {"deepspeed.zero": 2}),
    ("p --name 1_000 --hex 0x10 --inf inf --nan nan --none None", {"name": "1_000", "hex": "0x10", "inf": "inf", "nan": "nan", "none": "None"}),
    ("p --long " + "9" * 5000, {"long": "9" * 5000}),
    ("""p --json '{"a": 1}' --text "two words" --esc a\\ b""", {"json": {"a": 1}, "text": "two words", "esc": "a b"}),
    ("""p --a '{"b": {"c": [1, "x"]}}' --d="{\\"e\\": 0.5}" --f '{a,b}'""", {"a": {"b": {"c": [1, "x"]}}, "d": {"e": 0.5}, "f": "{a,b}"}),
    ("L=2\np --a '{\"b\": '$L', \"c\": '$M'}'", {"a": {"b": 2, "c": "?"}}),
    ("p --tab $'a\\tb' --empty ''", {"tab": "a\tb", "empty": ""}),
    ("p --a 1 \\\n  --b 2 \\\r\n  --c 3", {"a": 1, "b": 2, "c": 3}),
    ("p --a 1 # --b 2", {"a": 1}),
    ("p --a 1 > log 2>&1 < in --b 2 >> more &> all", {"a": 1, "b": 2}),
    ("p --strategy \"no\" --bool 'True'", {"strategy": "no", "bool": True}),
    ("p --a 1 -- --b 2", {"a": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("script", "expected"), FLAGS)
def test_flags(script, expected):
    (command,) = commands(script)
    assert flags(command.flags) == expected


# What `--v …` comes to where variables are involved: value, form, whether it may be edited, and the text at its place.
VARIABLES = [
    ("LR=2e-5\np --v $LR", 2e-5, "name", True, "2e-5"),
    ('LR="2e-5"\np --v "${LR}"', 2e-5, "name", True, '"2e-5"'),
    ("export LR=2e-5\np --v=$LR", 2e-5, "name", True, "2e-5"),
    ("p --v ${LR:-2e-5}", 2e-5, "default", True, "2e-5"),
    ("p --v ${LR:-'2e-5'}", 2e-5, "default", True, "'2e-5'"),
    ("LR=1\np --v ${LR:-2}", 1, "name", True, "1"),
    ("LR=${1:-3}\np --v $LR", 3, "default", True, "3"),
    ("LR=$1\np --v ${LR:-3}", 3, "default", True, "3"),
    (": ${LR:=3}\np --v $LR", 3, "default", True, "3"),
    ("R=x\np --v ${O:-$R/y}", "x/y", "default", False, "$R/y"),
    ("p --v ${O:?must be set}", "?", "unknown", False, "${O:?must be set}"),
    ("A=1\nB=$A\np --v $B", 1, "name", True, "1"),
    ("N=x\np --v out/$N-${M:-y}", "out/x-y", "default", False, "out/$N-${M:-y}"),
    ("N=x\nO=out/$N\np --v $O", "out/x", "name", False, "out/$N"),
    ("A=1\nA=2\np --v $A", 2, "name", True, "2"),
    ("p --v $1", "?", "unknown", False, "$1"),
    ("p --v $(nproc)", "?", "unknown", False, "$(nproc)"),
    ("p --v `nproc`", "?", "unknown", False, "`nproc`"),
    ("p --v $((2 * 4))", 8, "name", False, "$((2 * 4))"),
    ("N=8\np --v $((128/$N/${B:-2}))", 8, "default", False, "$((128/$N/${B:-2}))"),
    ("N=8\nA=$(expr 16 / $N)\np --v $A", 2, "name", False, "$(expr 16 / $N)"),
    ("p --v $((2 ** 3 - (7 % 4)))", 5, "name", False, "$((2 ** 3 - (7 % 4)))"),
    ("p --v $((1 / 0))", "?", "unknown", False, "$((1 / 0))"),
    ("p --v $((N * 2))", "?", "unknown", False, "$((N * 2))"),
    ("N=1\n((N++))\np --v $N", "?", "unknown", False, "$N"),
    ("p --v $NOWHERE", "?", "unknown", False, "$NOWHERE"),
    ("if x; then A=1; else A=2; fi\np --v $A", "?", "unknown", False, "$A"),
    ("if x; then A=1; else A='1'; fi\np --v $A", 1, "name", False, "1"),
    ("if x; then A=1; fi\np --v $A", "?", "unknown", False, "$A"),
    ("A=1\nif x; then A=1; fi\np --v $A", 1, "name", False, "1"),
    ("if x; then A=1; else echo no; exit 1; fi\np --v $A", 1, "name", True, "1"),
    ("S=2\nif [ $S = 1 ]; then A=1; elif [[ $S == 2 ]]; then A=2; else A=3; fi\np --v $A", 2, "name", True, "2"),
    ("case $X in a) A=1 ;; *) A=1 ;; esac\np --v $A", 1, "name", False, "1"),
    ("case $X in a) A=1 ;; b) A=1 ;; esac\np --v $A", "?", "unknown", False, "$A"),
    ("case $X in a) A=1 ;; *) exit 1 ;; esac\np --v $A", 1, "name", True, "1"),
    ('if [ -z "$A" ]; then A=1; fi\np --v $A', 1, "default", True, "1"),
    ('if [ -n "$A" ]; then echo; else A=1; fi\np --v $A', 1, "default", True, "1"),
    ("A=1\nwhile [ $# -gt 0 ]; do case $1 in -a) A=$2; shift ;; esac; shift; done\np --v $A", 1, "default", True, "1"),
    ("A=\nwhile [ $# -gt 0 ]; do case $1 in -a) A=$2; shift ;; esac; shift; done\np --v \"$A\"", "?", "unknown", False, '"$A"'),
    ('p --v "${A:-}"', "?", "unknown", False, '"${A:-}"'),
    ("A=1\nwhile x; do A=$(y); done\np --v $A", "?", "unknown", False, "$A"),
    ("for A in 7; do p --v $A; done", 7, "name", True, "7"),
    ("if x; then A=1; p --v $A; fi", 1, "name", True, "1"),
    ("for A in 1 2; do p --v $A; done", "?", "unknown", False, "$A"),
    ("A=1\nwhile x; do p --v $A; A=2; done", "?", "unknown", False, "$A"),
    ("A=1\nwhile x; do A=2; p --v $A; done", 2, "name", True, "2"),
    ("[ -z $A ] && A=1\np --v $A", 1, "default", True, "1"),
    ("[ -n $A ] || A=1\np --v $A", 1, "default", True, "1"),
    ("x && A=1\np --v $A", "?", "unknown", False, "$A"),
    ("A=$2\nif [ \"$1\" = x ]; then A=1; fi\np --v $A", "?", "unknown", False, "$A"),
    ("read A\np --v $A", "?", "unknown", False, "$A"),
    ("f() { A=2; }\nf\np --v $A", 2, "name", True, "2"),
    ("A=1\nf() { local A=2; }\nf\np --v $A", 1, "name", True, "1"),
    ("f() { A=2; }\np --v $A", "?", "unknown", False, "$A"),
    ("f() { p --v $1; }\nf 3", 3, "name", True, "3"),
    ('f() { p --v "${1:-4}"; }\nf', 4, "name", True, "4"),
    ('f() { p "$@"; }\nf --v 5', 5, "plain", True, "5"),
    ("f() { p --v $1; }", "?", "unknown", False, "$1"),
    ("f() { f; p --v 1; }\nf", 1, "plain", True, "1"),
    ("eval p --v 1", 1, "plain", True, "1"),
    ("L=1\nC=\"p --v $L\"\neval $C", 1, "plain", True, "1"),
    ("bash -c 'p --v 1'", 1, "plain", True, "1"),
    ("bash -c \"p --w=$UNKNOWN --v=1\"", 1, "plain", True, "1"),
    ("sbatch --wrap=\"p --v 1\"", 1, "plain", True, "1"),
    ("bash <<EOF\np --v 1\nEOF", 1, "plain", True, "1"),
    ("bash -s <<-'EOF'\n\tp --v 1\n\tEOF", 1, "plain", True, "1"),
    ("L=1\nsbatch --gres=gpu:4 <<EOF\n#!/bin/bash\np --v $L\nEOF", 1, "plain", True, "$L"),
    ("cat <<EOF | sbatch\np --v 1\nEOF", 1, "plain", True, "1"),
    ("ssh node7 <<EOF\np --v 1\nEOF", 1, "plain", True, "1"),
    ("docker exec -i box bash -e <<EOF\np --v 1\nEOF", 1, "plain", True, "1"),
    ("C=$(cat <<EOF\np --v 1\nEOF\n)\ntmux new-session -d -s t \"$C\"", 1, "plain", True, "$(cat <<EOF\np --v 1\nEOF\n)"),
    ("tmux send-keys -t t 'p --v 1' C-m", 1, "plain", True, "1"),
    ("L=2\nsrun bash -lc \"cd x && p --v $L\"", 2, "plain", True, "2"),
    ("read -r -d '' C <<EOF\np\n  --v 1\nEOF\n$C", 1, "name", True, "1"),
    ("C=$(cat <<'EOF'\n--v 1 --w don't)\nEOF\n)\np $C", 1, "name", True, "1"),
    ("f() { p --v $A; }\nA=1\nf", 1, "name", True, "1"),
    ("A=1\n(A=2; true)\np --v $A", 1, "name", True, "1"),
    ('A="$A$A$A"\n' * 40 + "p --v $A", "?", "unknown", False, "$A"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "expected", "form", "editable", "place"), VARIABLES)
def test_variables(script, expected, form, editable, place):
    node = next(entry.value for command in commands(script) for entry in command.flags.entries if entry.key == "v")
    assert (value(node), node.form, node.editable, script[node.start : node.end]) == (expected, form, editable, place)


# Flags that are gathered first: what they are, and whether others may come.
GATHERED = [
    ('A=(--a 1 --b "x y")\np "${A[@]}" --c 2', {"a": 1, "b": "x y", "c": 2}, False),
    ("A=(\n  --a 1  # why\n)\nA+=(--b 2)\np ${A[@]}", {"a": 1, "b": 2}, False),
    ('A="--a 1 \\\n --b 2"\np $A --c 3', {"a": 1, "b": 2, "c": 3}, False),
    ('LR=1\nA="--a $LR"\nA="$A --b 2"\np $A', {"a": 1, "b": 2}, False),
    ('p --a 1 "$@"', {"a": 1}, True),
    ("p --a 1 $EXTRA", {"a": 1}, True),
    ('p --a 1 "${UNKNOWN[@]}"', {"a": 1}, True),
    ("p --a 1 --$NAME 2", {"a": 1}, True),
    ('p --a "$ONE"', {"a": "?"}, False),
    ("p --a 1 ${EXTRA:-}", {"a": 1}, True),
    ("p --a 1 -- torchrun --b 2", {"b": 2}, False),
]


@pytest.mark.parametrize(("script", "expected", "is_open"), GATHERED)
def test_gathered_flags(script, expected, is_open):
    command = commands(script)[-1]
    read_flags = {key: got for key, got in flags(command.flags).items() if key in expected}
    assert (read_flags, command.flags.open) == (expected, is_open)


# Which commands a script has, by their words.
COMMANDS = [
    ("a; b && c || d | e & f", ["a", "b", "c", "d", "e", "f"]),
    ("a # b\n# c\nd", ["a", "d"]),
    ("if a; then b; elif c; then d; else e; fi", list("abcde")),
    ("for x in 1 2; do\n a\ndone", ["a"]),
    ("for ((i=0; i<3; i++)); do a; done", ["a"]),
    ("while a; do b; done < file", ["a", "b"]),
    ("case $1 in\n x|y) a ;;\n *) b ;;\nesac\nc", ["a", "b", "c"]),
    ("function f { a; }\ng() {\n b\n}\nc", ["a", "b", "c"]),
    ("(a; b) && { c; }", ["a", "b", "c"]),
    ("[[ $x == y && $z > 3 ]] && a", ["a"]),
    ("cat <<EOF > f\nb --c 1\nEOF\nd", ["cat", "d"]),
    ("cat <<-'E'\n\tb\n\tE\nd <<< text", ["cat", "d"]),
    ("A=1\nexport B=2\na", ["a"]),
    ("a $(b 'c)' \"d)\" # e)\n) f", ["a"]),
    ("#!/bin/bash\n#SBATCH --nodes 1\na", ["a"]),
    ("# ends in \\\na", ["a"]),
    (
        "bash a.sh <<EOF\nb\nEOF\npython <<EOF\nc\nEOF",
        ["bash", "python"],
    ),  # what a program reads is no script of the shell's
    ("cat <<EOF\na\nEOF\nbash", ["cat", "bash"]),
    ("f() {\n a\n b\n}\nbash -c 'c'", ["a", "b", "bash", "c"]),  # a function is part of the script that it stands in
    ("f() {\n a\n b\n}\nbash -c 'g() { c; }; f'", ["a", "b", "bash", "c"]),
]


@pytest.mark.parametrize(("script", "expected"), COMMANDS)
def test_commands(script, expected):
    assert [command.words[0] for command in commands(script)] == expected
    assert not read(script).problems


def test_environment_is_what_stands_in_front_and_what_was_exported_before():
    script = "export A=1\nB=2 p\nexport C=3\nq"
    assert [flags(command.environment) for command in commands(script)] == [{"A": "1", "B": "2"}, {"A": "1", "C": "3"}]


def test_names_are_the_variables_that_are_set_once_at_top_level():
    root = read('A=1\nB="x"\nB=y\nif z; then C=1; fi\nD=$1\nE="$A-b"').root
    assert isinstance(root, Script)
    assert flags(root.names) == {"A": "1", "D": "?", "E": "1-b"}


PROBLEMS = [
    ("p --a 1 \\ \n  --b 2", "shell-broken-continuation", "\\ "),
    ("p --a 1 \\\n  # --b 2 \\\n  --c 3", "shell-broken-continuation", "--c 3"),
    ("p --a 1\n  --b 2", "shell-broken-continuation", "--b 2"),
    ("./p.sh --a= 3 --b 2", "shell-broken-flag", "--a= 3"),
    ("python p.py --a= 3 --b 2", "shell-broken-flag", "--a= 3"),
    ("srun torchrun --nproc_per_node 8 p.py --a= 3", "shell-broken-flag", "--a= 3"),
    ("trl sft --a= 3", "shell-broken-flag", "--a= 3"),
    ("q\np --a 'x\n --b", "syntax-error", "'"),
    ('p "$(x', "syntax-error", "$"),
    ("A=(1 2", "syntax-error", "("),
]


@pytest.mark.parametrize(("script", "kind", "place"), PROBLEMS)
def test_problems(script, kind, place):
    (problem,) = read(script).problems
    assert (problem.kind, script[problem.start : problem.end]) == (kind, place)


@pytest.mark.parametrize(
    "command",
    [
        "awk -F= '{print $2}' f",
        "cut -d= -f2 f",
        "cut -d= f",
        "sort -t= -k2 f",
        "sort --field-separator= f",
        "xargs -d= echo",
        "IFS= read -r x",
        "join -t= a b",
        "gcc -DNAME= f.c",
        "rsync --exclude= a b",
        "python p.py -F= a",
        "mysql --password= db",
    ],
)
def test_an_equals_sign_is_what_other_commands_take_or_how_they_say_nothing(command):
    """The separator of awk, cut and sort; only a long flag of a program that may train loses its value."""
    assert not read(f"x=$({command})\n{command}\npython p.py --a 1\n").problems


def test_what_an_operator_makes_a_command_is_not_broken_off():
    assert not read('python train.py --lr 1\nif [ -e "$a" && \\\n  ! -e "$b" ]; then\n  :\nfi\n').problems


def test_comments_between_the_lines_of_a_command_are_one_problem():
    script = "python train.py \\\n  # rate\n  --lr 1 \\\n  # batch\n  --batch 2 \\\n  # rest\n  --rest\n"
    assert [problem.start for problem in read(script).problems] == [script.index("--lr")]


@pytest.mark.parametrize(
    "script", ["wc -l x | cut -f1 -d\\ \npython train.py --a 1\n", "IFS=\\ \npython train.py --a 1\n", "p --a 1 \\ "]
)
def test_a_blank_that_is_escaped_at_the_end_of_a_line_breaks_nothing_off(script):
    assert not read(script).problems


def test_flags_below_an_exit_are_parked_there():
    assert not read("python train.py \\\n  --a 1\n\nexit 0\n\n# other settings\n  --lr 1e-5 \\\n  --b 2\n").problems


def test_a_backslash_that_ends_the_text_is_no_word():
    (command,) = commands("p --a adamw \\")
    assert flags(command.flags) == {"a": "adamw"}


def test_what_is_broken_off_belongs_to_no_command():
    (command,) = commands("p --a 1 \\ \n  --b 2")
    assert flags(command.flags) == {"a": 1}


def test_commands_in_front_of_something_unclosed_are_read():
    assert [command.words for command in commands("a --b 1\nc 'd")] == [("a",)]


# Launcher and script: words and flags of both.
LAUNCHES = [
    ("python train.py --lr 1", ("python",), [], ("train.py",), ["lr"]),
    ("/usr/bin/python3.11 -u train.py a --lr 1", ("/usr/bin/python3.11", "-u"), [], ("train.py", "a"), ["lr"]),
    ("python -m pkg.train --lr 1", ("python", "-m"), [], ("pkg.train",), ["lr"]),
    ("torchrun --nproc_per_node 8 --standalone train.py --lr 1", ("torchrun",), ["nproc_per_node", "standalone"], ("train.py",), ["lr"]),
    ("torchrun --nproc_per_node=8 train.py --lr 1", ("torchrun",), ["nproc_per_node"], ("train.py",), ["lr"]),
    ("python -m torch.distributed.run --nnodes 1 t.py --lr 1", ("python", "-m", "torch.distributed.run"), ["nnodes"], ("t.py",), ["lr"]),
    ("accelerate launch --multi_gpu --mixed_precision bf16 t.py c.yaml --lr 1", ("accelerate", "launch"),
     ["multi_gpu", "mixed_precision"], ("t.py", "c.yaml"), ["lr"]),
    ("accelerate launch --config_file a.yaml -m pkg --lr 1", ("accelerate", "launch"), ["config_file", "m"], ("pkg",), ["lr"]),
    ("deepspeed --include localhost:0,1 t.py --deepspeed z.json", ("deepspeed",), ["include"], ("t.py",), ["deepspeed"]),
    ("nohup srun -N 2 --gres=gpu:8 --label torchrun --nnodes 2 t.py --lr 1", ("torchrun",), ["nnodes"], ("t.py",), ["lr"]),
    ("uv run --with x accelerate launch t.py --lr 1", ("accelerate", "launch"), [], ("t.py",), ["lr"]),
    ("poetry run python t.py --lr 1", ("python",), [], ("t.py",), ["lr"]),
    ("A=(t.py --lr 1)\ntorchrun --nproc_per_node=8 \"${A[@]}\"", ("torchrun",), ["nproc_per_node"], ("t.py",), ["lr"]),
    ("A=(t.py --lr 1)\ntorchrun --nproc_per_node=8 \"${A[@]}\" --warm=2", ("torchrun",), ["nproc_per_node"], ("t.py",), ["lr", "warm"]),
    ("S=t.py\ntorchrun --nproc_per_node=8 --nnodes=1 $S --lr=1", ("torchrun",), ["nproc_per_node", "nnodes"], ("t.py",), ["lr"]),
    ("A=(--nproc_per_node 8 --nnodes=1)\nS=t.py\nB=(--lr=1)\ntorchrun ${A[@]} $S ${B[@]}", ("torchrun",), ["nproc_per_node", "nnodes"], ("t.py",), ["lr"]),
    ("llamafactory-cli train a.yaml --lr 1", ("llamafactory-cli", "train", "a.yaml"), ["lr"], None, []),
    ("swift sft --lr 1", ("swift", "sft"), ["lr"], None, []),
    ("xvfb-run -a trl dpo --lr 1", ("trl", "dpo"), ["lr"], None, []),
    ("python -c 'print(1)' --lr 1", ("python",), ["c", "lr"], None, []),
    ("./train.sh --lr 1", ("./train.sh",), ["lr"], None, []),
]  # fmt: skip


@pytest.mark.parametrize(("script", "words", "own", "script_words", "others"), LAUNCHES)
def test_split_launch(script, words, own, script_words, others):
    launcher, started = shell.split_launch(commands(script)[-1])
    assert (launcher.words, [entry.key for entry in launcher.flags.entries]) == (words, own)
    assert (started and started.words) == script_words
    assert [entry.key for entry in started.flags.entries] == others if started else not others


def test_env_adds_to_the_environment():
    launcher, script = shell.split_launch(commands("env A=1 python t.py")[0])
    assert flags(launcher.environment) == {"A": "1"}
    assert script is not None


def test_only_what_stands_behind_the_script_is_open():
    launcher, script = shell.split_launch(commands('torchrun --nnodes 1 t.py "$@"')[0])
    assert (launcher.flags.open, script.flags.open) == (False, True)


# Writing: script, verb with its arguments, and the lines that change.
EDITS = [
    ("p --lr 1 --b 2", ("replace", "lr", 1e-4), "p --lr 0.0001 --b 2"),
    ("p --lr=1", ("replace", "lr", 2), "p --lr=2"),
    ("LR=1\np --lr $LR", ("replace", "lr", 2), "LR=2\np --lr $LR"),
    ('A="--lr 1 --b 2"\np $A', ("replace", "lr", 2), 'A="--lr 2 --b 2"\np $A'),
    ("p --fp16 True", ("replace", "fp16", False), "p --fp16 False"),
    ("p --fp16 true", ("replace", "fp16", False), "p --fp16 false"),
    ("p --fp16 --b", ("replace", "fp16", False), "p --b"),
    ("p --fp16 --b False", ("replace", "fp16", False), "p --fp16 False --b False"),
    ('p --n "a"', ("replace", "n", "b c"), 'p --n "b c"'),
    ('p --n "a"', ("replace", "n", 'b"'), "p --n 'b\"'"),
    ("p --m a b --c", ("replace", "m", ["b", "c d"]), "p --m b 'c d' --c"),
    ("p --out o/$X", ("replace", "out", "y"), None),
    ("p --lr $1", ("replace", "lr", 1), None),
    ("p --lr 1", ("replace", "lr", None), None),
    ("p --lr 1", ("replace", "lr", "--x"), None),
    ("p --lr 1", ("insert", "lr", "bf16", True), "p --lr 1 --bf16 True"),
    ("p --lr 1 --x", ("insert", "lr", "bf16", True), "p --lr 1 --bf16 --x"),
    ("p --lr=1", ("insert", "lr", "out", "a b"), "p --lr=1 --out='a b'"),
    ("p --a-b 1", ("insert", "a-b", "c_d", 1), "p --a-b 1 --c-d 1"),
    ("p --a_b 1", ("insert", "a_b", "a_b", 1), None),
    ("p \\\n  --a 1 \\\n  --b 2\n", ("insert", "a", "cc", 3), "p \\\n  --a 1 \\\n  --cc 3 \\\n  --b 2\n"),
    ("p \\\n  --a 1 \\\n  --b 2 > log\n", ("insert", "b", "cc", 3), "p \\\n  --a 1 \\\n  --b 2 \\\n  --cc 3 > log\n"),
    ("p \\\r\n  --a 1\r\n", ("insert", "a", "cc", 3), "p \\\r\n  --a 1 \\\r\n  --cc 3\r\n"),
    ("A=(\n  --a 1  # why\n)\np ${A[@]}", ("insert", "a", "cc", 3), "A=(\n  --a 1  # why\n  --cc 3\n)\np ${A[@]}"),
    ("p --a 1 --b 2", ("remove", "a"), "p --b 2"),
    ("p \\\n  --a 1 \\\n  --b 2\n", ("remove", "a"), "p \\\n  --b 2\n"),
    ("p \\\n  --a 1 \\\n  --b 2 2>&1 | tee log\n", ("remove", "b"), "p \\\n  --a 1 2>&1 | tee log\n"),
    ("p \\\n  --a 1 --b 2 \\\n  --c 3", ("remove", "a"), "p \\\n  --b 2 \\\n  --c 3"),
    ("LR=1\np \\\n  --lr $LR \\\n  --b 2", ("remove", "lr"), "LR=1\np \\\n  --b 2"),
    ('p --lr "${LR:-1}" --b 2', ("remove", "lr"), "p --b 2"),
    ("A=(\n  --a 1  # why\n  --b 2\n)\np ${A[@]}", ("remove", "a"), "A=(\n  --b 2\n)\np ${A[@]}"),
    ("p --fp16 --b", ("rename", "fp16", "bf16"), "p --bf16 --b"),
    ("p --eval-strategy no", ("rename", "eval-strategy", "evaluation_strategy"), "p --evaluation-strategy no"),
    ("p --fp16 --bf16", ("rename", "fp16", "bf16"), None),
]  # fmt: skip


def entry_of(document: Document, key: str) -> Entry:
    assert isinstance(document.root, Script)
    return next(entry for command in document.root.commands for entry in command.flags.entries if entry.key == key)


def applied(script: str, edit: Edit | None) -> str | None:
    return None if edit is None else script[: edit.start] + edit.new_text + script[edit.end :]


@pytest.mark.parametrize(("script", "change", "expected"), EDITS)
def test_edits(script, change, expected):
    document = read(script)
    verb, key, *arguments = change
    assert applied(script, getattr(shell_edit, verb)(document, entry_of(document, key), *arguments)) == expected


def test_an_environment_variable_is_no_flag():
    document = read("A=1 p --b 2")
    entry = document.root.commands[0].environment.entries[0]
    assert (
        shell_edit.remove(document, entry)
        is shell_edit.rename(document, entry, "B")
        is shell_edit.insert(document, entry, "C", 1)
        is None
    )
    assert applied(document.text.text, shell_edit.replace(document, entry, 2)) == "A=2 p --b 2"


FRAGMENTS = ["p ", "--a ", "--b=", "1e-5 ", "$A", '"$A"', "${A:-b}", "A=1\n", "A=(", ")", "(", "\\\n", "\\ \n", "'", '"', "`", "$(", "<<E\n", "E\n",
             "if ", "then ", "fi\n", "for x in ", "do ", "done\n", "case x in ", ";;", "esac\n", "f() {", "}\n", "export ", "&&", "|", ";", "\n", "# c\n",
             "[[ ", "]] ", '"${A[@]}" ', "$@ ", "> ", "torchrun ", "train.py ", "env ", "-m ", "é", "\r\n", "\x00", "\ud800", "((", "{ "]  # fmt: skip
SCRIPTS = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join) | st.text(max_size=60)


@given(SCRIPTS)
def test_any_text_is_read_and_every_place_is_in_it(script):
    document = read(script)
    assert isinstance(document.root, Script)
    for command in document.root.commands:
        launcher, started = shell.split_launch(command)
        for part in (command, launcher, *([started] if started else [])):
            assert 0 <= part.start <= part.end <= len(script)
            for entry in (*part.flags.entries, *part.environment.entries):
                assert 0 <= entry.key_start <= entry.key_end <= len(script)
                assert 0 <= entry.value.start <= entry.value.end <= len(script)


KEYS = st.sampled_from(["lr", "fp16", "output_dir", "lora-r"])
WORDS = st.text("abcXYZ /._'\"$`!é", max_size=8)
VALUES = st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans() | WORDS
TEMPLATES = [
    "torchrun --nproc_per_node 8 train.py --{} {} --last 1\n",
    "p \\\n  --first 1 \\\n  --{}={} \\\n  --last 1 > log  # note\n",
    'p --first \\\n  --{} "{}" \\\n  --last\n',
    "V={1}\np --first 1 --{0} $V --last 1\n",
    'ARGS="--first 1 --{} {} --last 1"\np $ARGS\n',
    "ARGS=(\n  --first 1\n  --{} {}  # note\n  --last 1\n)\np ${{ARGS[@]}}\n",
]


@given(st.sampled_from(TEMPLATES), KEYS, st.sampled_from(["1", "2e-5", "true", "abc"]), VALUES)
def test_what_is_put_is_what_is_got_and_nothing_else_changes(template, key, old, new):
    script = template.format(key, old)
    document = read(script)
    edit = shell_edit.replace(document, entry_of(document, key), new)
    if edit is None:
        return
    again = read(applied(script, edit))
    got = value(entry_of(again, key).value)
    assert got == new or str(got) == str(new) or repr(got).lower() == str(new)
    before, after = (
        {e.key: value(e.value) for c in d.root.commands for e in c.flags.entries if e.key != key}
        for d in (document, again)
    )
    assert before == after and not again.problems


@given(st.sampled_from(TEMPLATES), KEYS, st.sampled_from(["1", "2e-5", "true"]))
def test_removing_leaves_all_other_flags_and_commands(template, key, old):
    script = template.format(key, old)
    document = read(script)
    again = read(applied(script, shell_edit.remove(document, entry_of(document, key))))
    before, after = (
        {e.key: value(e.value) for c in d.root.commands for e in c.flags.entries if e.key != key}
        for d in (document, again)
    )
    assert before == after and not again.problems
    assert [c.words for c in document.root.commands] == [c.words for c in again.root.commands]


@given(st.sampled_from(TEMPLATES), KEYS, VALUES)
def test_inserting_adds_one_flag(template, key, new):
    script = template.format(key, "1")
    document = read(script)
    edit = shell_edit.insert(document, entry_of(document, key), "added", new)
    if edit is None:
        return
    again = read(applied(script, edit))
    before, after = (
        {e.key: value(e.value) for c in d.root.commands for e in c.flags.entries} for d in (document, again)
    )
    got = after.pop("added")
    assert got == new or str(got) == str(new)
    assert before == after and not again.problems


@given(SCRIPTS, VALUES)
def test_writing_what_is_there_changes_nothing_and_writing_never_raises(script, new):
    document = read(script)
    for command in document.root.commands:
        for entry in command.flags.entries:
            if isinstance(entry.value, Scalar) and not isinstance(entry.value.value, Unknown):
                edit = shell_edit.replace(document, entry, entry.value.value)
                assert applied(script, edit) == script
            shell_edit.replace(document, entry, new)
            shell_edit.insert(document, entry, "added", new)
            shell_edit.remove(document, entry)
            shell_edit.rename(document, entry, "other")


# Between `[[` and `]]` nothing is a command; whatever stands there, the command below is read.
TESTS = [
    "if [[ -s a ||\n      -s b ]]; then :; fi",
    'while [[ -s y\n   && -n "$Z" ]]; do sleep 1; done',
    "[[ $1 =~ ^[[:alpha:]]+$ ]] && :",
    "if [[ -s a && ( -n c || x < y ) ]]; then :; fi",
    "! [[ -f x || -f y ]]",
]


@pytest.mark.parametrize("test", TESTS)
def test_what_stands_in_double_brackets_is_no_command(test):
    script = f"{test}\ntorchrun train.py --lr 1\n"
    assert not read(script).problems
    words = [list(command.words) for command in commands(script)]
    assert ["torchrun", "train.py"] in [some[:2] for some in words]
    assert not {"-s", "-n", "x", "y", "b", "c", "n"} & {some[0] for some in words}


@pytest.mark.parametrize("text", ["[[ -s a\n--lr 1\n", "echo [[\n--lr 1\n"])
def test_brackets_that_open_no_test_hide_nothing(text):
    assert [one.kind for one in read(f"torchrun a.py\n{text}").problems] == ["shell-broken-continuation"]


def test_a_place_to_be_filled_in_is_a_word_that_nobody_knows() -> None:
    """`<ip>` before an option, another or the line's end: a text that shows how, of which bash makes no command."""
    text = "swift rlhf --host <node1_ip> <node2_ip> --port <port> \\\n  --dataset ours\nsort <rows> sorted\n"
    tokens = Lexer(text).tokens
    assert [token.pieces[0].kind for token in tokens if isinstance(token, Word)].count("opaque") == 3
    assert [token.word.plain() for token in tokens if isinstance(token, Redirection)] == ["rows", "sorted"]
