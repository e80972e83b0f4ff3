# ruff: noqa: E501
"""Small files that ask for much work, by class: each is a function of its size in bytes, in every format that can express the class."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count

Files = dict[str, str]
Attack = Callable[[int], Files]

RECIPE = "model_name_or_path: Qwen/Qwen2-7B-Instruct\ndataset_name: trl-lib/Capybara\nlearning_rate: 1.0e-5\noutput_dir: out\n"
AXOLOTL = "base_model: Qwen/Qwen2-7B-Instruct\nadapter: lora\nmicro_batch_size: 1\nlearning_rate: 1.0e-5\nfp16: true\nbf16: true\n"
LAUNCH = "torchrun train.py --model_name_or_path Qwen/Qwen2-7B --learning_rate 1e-5 --fp16 --bf16 --output_dir "
TRAINER = "from transformers import TrainingArguments\n"
ARGUMENTS = TRAINER + "args = TrainingArguments('out', fp16=True, bf16=True, learning_rate=1e-5, run_name=x)\n"


def until(size: int, head: str, line: Callable[[int], str], tail: str = "") -> str:
    """`head`, as many numbered lines as the size has room for, `tail`."""
    parts, left = [head], size - len(head) - len(tail)
    for number in count():
        part = line(number)
        left -= len(part)
        if left < 0:
            break
        parts.append(part)
    return "".join((*parts, tail))


def shell(head: str, line: Callable[[int], str], tail: str = "") -> Attack:
    return lambda size: {"run.sh": until(size, head, line, tail)}


def python(head: str, line: Callable[[int], str], tail: str = "") -> Attack:
    return lambda size: {"train.py": until(size, head, line, tail)}


def yaml(head: str, line: Callable[[int], str], tail: str = "") -> Attack:
    return lambda size: {"train.yaml": until(size, head, line, tail)}


def flow(head: str, line: Callable[[int], str], tail: str, name: str = "ds.json") -> Attack:
    return lambda size: {name: until(size, head, line, tail)}


def blanks(head: str, tail: str, name: str, blank: str = " ") -> Attack:
    return lambda size: {name: head + blank * max((size - len(head) - len(tail)) // len(blank), 1) + tail}


def notebook(name: str, cell: Callable[[int], str]) -> Attack:
    def made(size: int) -> Files:
        cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": cell(size)}]
        return {name: json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})}

    return made


def beside(name: str, inner: Attack, config: Files) -> Attack:
    """A file that a configuration at hand only refers to or stands beside."""
    return lambda size: {**config, **dict.fromkeys([name], "".join(inner(size).values()))}


DS = '{"train_micro_batch_size_per_gpu": 4, "fp16": {"enabled": true}, "zero_optimization": {"stage": 2}'

GROWING_TEXT: dict[str, Attack] = {
    "shell +=": shell("x=aaaaaaaaaa\n", lambda n: "x+=$x\n", LAUNCH + "$x\n"),
    "shell +=, short": lambda size: {"run.sh": "x=aaaaaaaaaa\n" + "x+=$x\n" * 60 + LAUNCH + "$x\n"},
    "shell doubling": shell("x0=aaaaaaaaaa\n", lambda n: f"x{n + 1}=$x{n}$x{n}\n", LAUNCH + "$x20\n"),
    "shell quoted doubling": shell("x0=aaaaaaaaaa\n", lambda n: f'x{n + 1}="$x{n} $x{n}"\n', LAUNCH + "$x20\n"),
    "shell default doubling": shell("x0=aaaaaaaaaa\n", lambda n: f"x{n + 1}=${{y:-$x{n}$x{n}}}\n", LAUNCH + "$x20\n"),
    "shell array": shell("a=(x y z)\n", lambda n: 'a+=("${a[@]}")\n', LAUNCH + '"${a[@]}"\n'),
    "shell array item": shell("a=(x y z)\n", lambda n: 'a+=("$x" b)\n', LAUNCH + '"${a[@]}"\n'),
    "shell long value used often": lambda size: {
        "run.sh": f"x={'a' * (size // 2)}\n" + until(size // 2, "", lambda n: "y=$x\n", LAUNCH + "$x$x$x\n")
    },
    "shell long value on every command": lambda size: {
        "run.sh": f"export x={'a' * (size // 2)}\n" + until(size // 2, "", lambda n: "torchrun t.py --a $x --fp16\n")
    },
    "shell words in a variable": lambda size: {
        "run.sh": f"x='{'--a b ' * (size // 12)}'\n" + until(size // 2, "", lambda n: LAUNCH + "$x\n")
    },
    "shell loop": lambda size: {"run.sh": "for i in " + "1 " * (size // 4) + "; do x+=$x$i; done\n" + LAUNCH + "$x\n"},
    "shell loop in a loop": lambda size: {
        "run.sh": ("for i in 1 2 3 4 5 6 7 8 9; do " * 60) + LAUNCH + "$i" + ("; done" * 60) + "\n"
    },
    "shell braces": lambda size: {"run.sh": LAUNCH + "{a,b}" * 40 + " --seed {1..1000000000}\n"},
    "shell arithmetic": shell("x=9\n", lambda n: "x=$((x*x))\n", LAUNCH + "$x\n"),
    "shell power": shell("x=9\n", lambda n: "x=$((9**9**9**9))\n", LAUNCH + "$x\n"),
    "shell shift": shell("x=9\n", lambda n: "x=$((1<<1000000000))\n", LAUNCH + "$x\n"),
    "shell exports": shell("", lambda n: f"export A{n}=1\n", LAUNCH + "out\n" * 300),
    "shell flags appended": shell("ARGS=''\n", lambda n: f'ARGS="$ARGS --a{n} {n}"\n', LAUNCH + "$ARGS\n"),
    "shell here-documents": shell("", lambda n: f"cat > c{n}.yaml <<EOF\nlearning_rate: 1e-5\nEOF\n", LAUNCH + "o\n"),
    "shell open here-documents": shell("", lambda n: f"cat <<E{n}\n"),
    "shell functions": shell("", lambda n: f"f{n}() {{ f{n + 1}; f{n + 1}; }}\n", "f0\n" + LAUNCH + "o\n"),
    "shell calls": shell("f() { " + LAUNCH + "$1; }\n", lambda n: f"f {n}\n"),
    "shell conditions": shell("", lambda n: f"if [ $a = {n} ]; then x+=b; fi\n", LAUNCH + "$x\n"),
    "shell case": lambda size: {"run.sh": until(size, "case $1 in\n", lambda n: f"a{n}) x=$x{n} ;;\n", "esac\n" + LAUNCH + "$x\n")},
    "shell nested if": lambda size: {
        "run.sh": "if a; then\n" * (size // 20) + LAUNCH + "o\n" + "fi\n" * (size // 20)
    },
    "shell nested $(": lambda size: {"run.sh": LAUNCH + "$(" * (size // 4) + ")" * (size // 4) + "\n"},
    "shell nested ${": lambda size: {"run.sh": LAUNCH + "${a:-" * (size // 8) + "}" * (size // 8) + "\n"},
    "shell nested quotes": lambda size: {"run.sh": LAUNCH + '"$(echo ' * (size // 12) + ')"' * (size // 12) + "\n"},
    "shell bash -c": shell("", lambda n: f"bash -c 'bash -c \"{LAUNCH}o{n}\"'\n"),
    "shell a long command handed to a shell": shell(f"x='{LAUNCH}o{' --flag 1' * 120}'\n", lambda n: 'bash -c "$x"\n'),
    "shell a short eval": shell("x='echo a'\n", lambda n: "eval $x\n", LAUNCH + "o\n"),
    "shell nested quoted ${": lambda size: {"run.sh": LAUNCH + '"${a:-' * (size // 8) + '}"' * (size // 8) + "\n"},
    "shell a declaration of many words": lambda size: {"run.sh": LAUNCH + "o\ndeclare" + " declare -A" * (size // 11) + "\n"},
    "shell an export of many words": lambda size: {"run.sh": LAUNCH + "o\ntypeset -x" + " a=1" * (size // 4) + "\n"},
    "values before their names": lambda size: {"train.yaml": RECIPE + "# " + "val:id:pass;" * (size // 12) + "\n"},
    "values of keys in values of keys": lambda size: {"train.yaml": RECIPE + "# " + "sk-=" * (size // 4) + "\n"},
    "values of sure keys in values of keys": lambda size: {"train.yaml": RECIPE + "# " + "password=" * (size // 9) + "\n"},
    "keys beside no other in a text": lambda size: {"train.py": ARGUMENTS + "print('" + "key " * (size // 4) + "')\n"},
    "keys beside no other in an address": lambda size: {"run.sh": "echo '" + "&key=" * (size // 5) + "'\n" + LAUNCH + "o\n"},
    "flags of no command": shell(LAUNCH + "o\n", lambda n: f"--a {n}\n"),
    "aliases of one block": yaml(AXOLOTL + "x: &a\n" + "  b: c1\n" * 500, lambda n: f"secrets{n}: *a\n"),
    "many anchors and their aliases": yaml(AXOLOTL, lambda n: f"x{n}: &a{n}\n  b: c1\nsecrets{n}: *a{n}\n"),
    "classes of secrets in each other": python(ARGUMENTS, lambda n: f"{' ' * (n % 15)}class Secrets:\n" + (" " * 16 + "a = 'b1'\n" if n % 15 == 14 else "")),
    "logins in each other": lambda size: {"train.py": ARGUMENTS + "'''" + "login(\n" * (size // 7) + "'''\n"},
    "words like tokens": yaml(AXOLOTL, lambda n: f"a{n}: /x/a1B2c3D4e5F6g7H8{n}\n"),
    "hexadecimal words": yaml(AXOLOTL, lambda n: f"a{n}: commit 4b9d0c7e5a1f83e24b9d0c7e5a1f83e2{n:06x}\n"),
    "words that are put together": python(ARGUMENTS, lambda n: f"a = 'pass' 'wo' + 'rd\\x5f{n}'\n"),
    "longer values of keys in values of keys": lambda size: {"train.yaml": RECIPE + "# " + "sk-=abcdef12" * (size // 12) + "\n"},
    "git patterns of stars and brackets": lambda size: {".git/HEAD": "ref: x\n", ".gitignore": "* [" * (size // 3) + "\n", "train.yaml": RECIPE},
    "git patterns of open brackets": lambda size: {".git/HEAD": "ref: x\n", ".gitignore": "[" * size + "\n", "train.yaml": RECIPE},
    "git patterns of stars": lambda size: {".git/HEAD": "ref: x\n", ".gitignore": "**/" * (size // 3) + "x\n", "a/b/c/d/e/f/g/h/i/train.yaml": RECIPE},
    "git patterns with stars between": lambda size: {
        ".git/HEAD": "ref: x\n", ".gitignore": until(size, "", lambda n: "**/a" * 12 + "/train.yaml\n"), "a/" * 12 + "train.yaml": RECIPE,
    },
    "an adapter of many modules": lambda size: {
        "a.yaml": until(size, RECIPE + "use_peft: true\nload_in_4bit: true\nfp16: true\nbf16: true\nlora_target_modules: [q_proj", lambda n: f",q{n}_proj", "]\n")
    },
    "settings of many targets": lambda size: {
        "stablint.toml": "".join('[[target]]\ngpu = "A100-80GB"\n' for _ in range(16)), "train.yaml": until(size, "", lambda n: f"{RECIPE}seed: {n}\n---\n"),
    },
    "settings of many globs": lambda size: {
        "stablint.toml": "exclude = [" + ", ".join(f'"{"*a" * 6}{n}"' for n in range(min(300, size // 25))) + "]\n",
        **{f"{'a' * 60}{n}.yaml": RECIPE for n in range(20)},
    },
    "settings of globs of stars": lambda size: {
        "stablint.toml": "exclude = [" + ", ".join(f'"{"**/" * 6}{"?" * 80}{n}"' for n in range(min(300, size // 120))) + "]\n",
        **{"a/" * 60 + f"{'a' * 80}{n}.yaml": RECIPE for n in range(20)},
    },
    "settings of many files": lambda size: {
        "stablint.toml": "".join(f'[[per-path]]\npaths = ["x{n}/**/*.yaml", "y{n}/*"]\nignore = ["P"]\n' for n in range(min(300, size // 60))), "train.yaml": RECIPE,
    },
    "settings that accept much": lambda size: {
        "stablint.toml": "".join(f'[[accept]]\nfile = "x{n}*/**/a*.yaml"\nrules = ["P"]\n' for n in range(min(1_000, size // 60))),
        "train.yaml": until(20_000, "", lambda n: f"{RECIPE}fp16: true\nbf16: true\nseed: {n}\n---\n"),
    },
    "shell eval": shell("x='x=$x$x'\n", lambda n: 'eval "$x"\n', LAUNCH + "$x\n"),
    "shell source": lambda size: {
        "run.sh": until(size // 2, "", lambda n: f". ./part{n % 9}.sh\n", LAUNCH + "$x\n"),
        **{f"part{n}.sh": until(size // 20, "", lambda m, n=n: f". ./part{(n + m) % 9}.sh\nx+=$x\n") for n in range(9)},
    },
    "shell scripts that call scripts": lambda size: {
        f"run{n}.sh": until(size // 10, "", lambda m, n=n: f"bash run{(n + m) % 9}.sh $1 $2\n", LAUNCH + "$1\n") for n in range(9)
    },
    "shell cd": shell("", lambda n: "cd aaaaaaaaaa\n", LAUNCH + "o --deepspeed ds.json\n"),
    "python os.path.join": python(
        "import os\nx0 = 'aaaaaaaaaa'\n", lambda n: f"x{n + 1} = os.path.join(x{n}, x{n})\n", ARGUMENTS.replace("=x", "=x60")
    ),
    "python os.path.join, short": lambda size: {
        "train.py": "import os\nx0 = 'aaaaaaaaaa'\n"
        + "".join(f"x{n + 1} = os.path.join(x{n}, x{n})\n" for n in range(60))
        + ARGUMENTS.replace("=x", "=x60")
    },
    "python pathlib": python(
        "from pathlib import Path\nx0 = Path('aaaaaaaaaa')\n", lambda n: f"x{n + 1} = x{n} / x{n}\n", ARGUMENTS.replace("=x", "=x30")
    ),
    "python plus": python("x0 = 'aaaaaaaaaa'\n", lambda n: f"x{n + 1} = x{n} + x{n}\n", ARGUMENTS.replace("=x", "=x30")),
    "python format": python(
        "x0 = 'aaaaaaaaaa'\n", lambda n: f"x{n + 1} = '{{}}{{}}'.format(x{n}, x{n})\n", ARGUMENTS.replace("=x", "=x30")
    ),
    "python f-string": python("x0 = 'aaaaaaaaaa'\n", lambda n: f"x{n + 1} = f'{{x{n}}}{{x{n}}}'\n", ARGUMENTS.replace("=x", "=x30")),
    "python f-string width": python("", lambda n: f"x{n} = f'{{1:{'9' * 9}}}'\n", ARGUMENTS.replace("=x", "=x0")),
    "python percent": python("x0 = 'aaaaaaaaaa'\n", lambda n: f"x{n + 1} = '%s%s' % (x{n}, x{n})\n", ARGUMENTS.replace("=x", "=x30")),
    "python percent width": python("", lambda n: f"x{n} = '%999999999d' % 1\n", ARGUMENTS.replace("=x", "=x0")),
    "python str.join": python("x0 = 'aaaaaaaaaa'\n", lambda n: f"x{n + 1} = x{n}.join([x{n}] * 9)\n", ARGUMENTS.replace("=x", "=x30")),
    "python str.replace": python(
        "x0 = 'aaaaaaaaaa'\n", lambda n: f"x{n + 1} = x{n}.replace('a', x{n})\n", ARGUMENTS.replace("=x", "=x30")
    ),
    "python times": python("x0 = 'aaaaaaaaaa'\n", lambda n: f"x{n + 1} = x{n} * 999999999\n", ARGUMENTS.replace("=x", "=x30")),
    "python list times": python("x0 = [1, 2]\n", lambda n: f"x{n + 1} = x{n} * 99999\n", ARGUMENTS.replace("=x", "=x30")),
    "python list plus": python("x0 = [1, 2]\n", lambda n: f"x{n + 1} = x{n} + x{n}\n", ARGUMENTS.replace("=x", "=x30")),
    "python list star": python("x0 = [1, 2]\n", lambda n: f"x{n + 1} = [*x{n}, *x{n}]\n", ARGUMENTS.replace("=x", "=x30")),
    "python list nest": python("x0 = [1, 2]\n", lambda n: f"x{n + 1} = [x{n}, x{n}]\n", ARGUMENTS.replace("=x", "=x30")),
    "python dict nest": python("x0 = {'a': 1}\n", lambda n: f"x{n + 1} = {{'a': x{n}, 'b': x{n}}}\n", ARGUMENTS.replace("run_name=x", "deepspeed=x30")),
    "python dict star": python(
        "x0 = {'a': 1}\n", lambda n: f"x{n + 1} = {{**x{n}, 'b{n}': 1}}\n", ARGUMENTS.replace("run_name=x", "**x200")
    ),
    "python dict union": python("x0 = {'a': 1}\n", lambda n: f"x{n + 1} = x{n} | {{'b{n}': 1}}\n", ARGUMENTS.replace("run_name=x", "**x200")),
    "python power": python("", lambda n: f"x{n} = 10**10**10\n", ARGUMENTS.replace("=x", "=x0")),
    "python power of powers": python("x0 = 9\n", lambda n: f"x{n + 1} = x{n} ** x{n}\n", ARGUMENTS.replace("run_name=x", "max_steps=x9")),
    "python squares": python("x0 = 9\n", lambda n: f"x{n + 1} = x{n} * x{n}\n", ARGUMENTS.replace("run_name=x", "max_steps=x30")),
    "python shift": python("", lambda n: f"x{n} = 1 << 9999999999\n", ARGUMENTS.replace("run_name=x", "max_steps=x0")),
    "python infinite": lambda size: {
        "train.py": TRAINER
        + f"args = TrainingArguments('out', save_steps=1e400, max_steps={'9' * 4299}, warmup_steps=int(1e308), eval_steps=-1e400, "
        + "learning_rate=1e308*10, per_device_train_batch_size=10**300, gradient_accumulation_steps=1e400, num_train_epochs=1e400)\n"
    },
    "python huge numbers": python(
        TRAINER, lambda n: f"TrainingArguments('out', max_steps={'9' * 4000}, per_device_train_batch_size={'9' * 4000})\n"
    ),
    "python stores": python(TRAINER + "args = TrainingArguments('out')\n", lambda n: f"args.learning_rate = {n}e-9\n"),
    "python assigned again": python("x = 1\n", lambda n: f"x = x + {n}\n", ARGUMENTS),
    "python assigned in branches": python("", lambda n: f"if a: x = {n}\n", ARGUMENTS + ARGUMENTS.partition("\n")[2] * 300),
    "python one import of many names": python("from x import (b,\n", lambda n: f"a{n},", ")\n" + ARGUMENTS),
    "python one import of many modules": python("import b", lambda n: f", a{n}", "\n" + ARGUMENTS),
    "python one assignment to many names": python("b, ", lambda n: f"a{n}, ", "= x\n" + ARGUMENTS),
    "python one function of many parameters": python("def f(b, ", lambda n: f"a{n}, ", "c): return b\n" + ARGUMENTS),
    "python many names of others": python("global b", lambda n: f", a{n}", "\n" + ARGUMENTS),
    "python one deletion of many names": python("b = 1\ndel b", lambda n: f", a{n}", "\n" + ARGUMENTS),
    "python one with of many": python("with b as c", lambda n: f", a{n}() as d{n}", ": pass\n" + ARGUMENTS),
    "python one class of many bases": python("class B(b", lambda n: f", a{n}", "): pass\n" + ARGUMENTS),
    "python one class of many fields": python("class B:\n", lambda n: f"    a{n}: int = {n}\n", ARGUMENTS),
    "python a program's own names": python("__all__ = [", lambda n: f"'a{n}', ", "]\n" + ARGUMENTS),
    "python one match of many cases": python("match x:\n", lambda n: f"    case {n}: y = {n}\n", ARGUMENTS),
    "python one try of many handlers": python("try: y = 1\n", lambda n: f"except A{n}: y = {n}\n", ARGUMENTS),
    "python many decorators": python("", lambda n: f"@a{n}\n", "def f(): pass\n" + ARGUMENTS),
    "python objects of many names": python("from peft import LoraConfig as L\nif __name__ == '__main__':\n", lambda n: f"    a{n}=L()\n"),
    "python functions that nobody calls": python(
        "from peft import LoraConfig as L\nif __name__ == '__main__': pass\n", lambda n: f"def f{n}():\n  a=L(r=8)\n"
    ),
    "python one name for many trainers": python(
        "from transformers import Trainer\nif __name__ == '__main__':\n", lambda n: "  x=Trainer()\n  print(x)\n"
    ),
    "python functions": python("", lambda n: f"def f{n}(a): return f{n + 1}(f{n + 1}(a))\n", ARGUMENTS.replace("=x", "=f0(1)")),
    "python many calls of one function": python(
        TRAINER + "def f(a):\n    return TrainingArguments('out', learning_rate=a, fp16=True, bf16=True)\n", lambda n: f"f({n})\n"
    ),
    "python sum": lambda size: {"train.py": TRAINER + f"args = TrainingArguments('out', seed={'1+' * (size // 3)}1)\n"},
    "python brackets": lambda size: {"train.py": TRAINER + f"args = TrainingArguments('out', seed={'(' * (size // 3)}1{')' * (size // 3)})\n"},
    "python lists": lambda size: {"train.py": TRAINER + f"args = TrainingArguments('out', seed={'[' * (size // 3)}1{']' * (size // 3)})\n"},
    "python attributes": lambda size: {"train.py": TRAINER + f"args = TrainingArguments('out', seed=a{'.a' * (size // 3)})\n"},
    "python chained calls": lambda size: {"train.py": TRAINER + f"args = TrainingArguments('out', seed=a{'.a()' * (size // 5)})\n"},
    "python lambdas": lambda size: {"train.py": TRAINER + f"args = TrainingArguments('out', seed={'lambda: ' * (size // 9)}1)\n"},
    "python conditionals": lambda size: {"train.py": TRAINER + f"args = TrainingArguments('out', seed={'1 if a else ' * (size // 13)}1)\n"},
    "python nested blocks": lambda size: {"train.py": TRAINER + "".join("\t" * n + "if a:\n" for n in range(95)) + "\t" * 95 + "TrainingArguments('o')\n"},
    "python classes": python(TRAINER + "class C0(TrainingArguments): a: int = 1\n", lambda n: f"class C{n + 1}(C{n}): b{n}: int = 1\n", "args = C90('out', fp16=True)\n"),
    "yaml aliases": lambda size: {
        "train.yaml": RECIPE + "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    },
    "yaml merges": yaml(RECIPE + "a0: &a0 {x: 1}\n", lambda n: f"a{n + 1}: &a{n + 1} {{<<: *a{n}, y{n}: 1}}\n"),
    "yaml merge lists": lambda size: {
        "train.yaml": RECIPE + "a: &a {x: 1}\n" + until(size, "b: &b\n", lambda n: "  <<: [*a, *a, *a]\n")
    },
    "yaml long text aliased": lambda size: {
        "train.yaml": RECIPE + f"a: &a {'x' * (size // 2)}\n" + until(size // 2, "l:\n", lambda n: "- *a\n")
    },
    "yaml interpolation": lambda size: {
        "train.yaml": "model:\n  _component_: torchtune.models.llama3.lora_llama3_8b\n" + until(size, "a0: aaaaaaaaaa\n", lambda n: f"a{n + 1}: ${{a{n}}}${{a{n}}}\n", "output_dir: ${a40}\n")
    },
}  # fmt: skip

SELF_CONTAINING: dict[str, Attack] = {
    "python dict in itself": python(
        "import json\nc = {'train_micro_batch_size_per_gpu': 1, 'zero_optimization': {'stage': 2}}\n",
        lambda n: "c['x'] = c\n",
        "json.dump(c, open('ds.json', 'w'))\n",
    ),
    "python dict in itself, short": lambda size: {
        "train.py": "import json\nc = {'train_micro_batch_size_per_gpu': 1, 'zero_optimization': {'stage': 2}}\n"
        + "c['x'] = c\n" * 100
        + "json.dump(c, open('ds.json', 'w'))\n"
    },
    "python dict updated by itself": python(
        "c = {'fp16': {'enabled': True}, 'zero_optimization': {'stage': 2}}\n", lambda n: "c.update(c)\n", ARGUMENTS.replace("run_name=x", "deepspeed=c")
    ),
    "python two dicts in each other": python(
        "import json\nc = {'zero_optimization': {'stage': 2}}\nd = {}\n",
        lambda n: f"c['x{n}'] = d\nd['y{n}'] = c\n",
        "json.dump(c, open('ds.json', 'w'))\n",
    ),
    "python dict set anew in some cases": lambda size: {
        "train.py": "d = {" + until(size // 3, "", lambda n: f"'k{n}': 1, ", "}\n") + until(size * 2 // 3, "", lambda n: f"if a: d['k{n}'] = 1\n", ARGUMENTS.replace("run_name=x", "deepspeed=d")),
    },
    "python dict updated and set anew": lambda size: {
        "train.py": "d = {" + until(size // 3, "", lambda n: f"'k{n}': 1, ", "}\n") + until(size * 2 // 3, "", lambda n: f"d['k{n}'] = 1\n", ARGUMENTS.replace("run_name=x", "deepspeed=d")),
    },
    "python list in itself": python("c = [1]\n", lambda n: "c.append(c)\n", ARGUMENTS.replace("=x", "=c")),
    "python name of itself": python("", lambda n: f"a{n} = a{n}\n", ARGUMENTS.replace("=x", "=a0")),
    "python names in a ring": python("", lambda n: f"a{n} = a{n + 1} + a{n + 1}\n", ARGUMENTS.replace("=x", "=a0")),
    "python yaml.dump": python(
        "import yaml\nc = {'learning_rate': 1e-5, 'fp16': True}\n", lambda n: "c['x'] = [c, c]\n", "yaml.dump(c, open('train.yaml', 'w'))\n"
    ),
    "yaml cycle": lambda size: {"train.yaml": RECIPE + until(size, "a: &a\n", lambda n: "- *a\n")},
    "yaml merge of itself": lambda size: {"train.yaml": RECIPE + until(size, "a: &a\n", lambda n: "  <<: *a\n")},
    "shell variables in a ring": shell("", lambda n: "a=$b b=$a\n", LAUNCH + "$a\n"),
    "shell function of itself": shell("f() { f; f; }\n", lambda n: "f\n", LAUNCH + "o\n"),
    "shell file of itself": shell("", lambda n: "bash run.sh\n. ./run.sh\n", LAUNCH + "o\n"),
    "yaml file of itself": lambda size: {"train.yaml": RECIPE + until(size, "", lambda n: f"deepspeed{n}: train.yaml\nconfig{n}: train.yaml\n")},
}  # fmt: skip

SAME_KEYS: dict[str, Attack] = {
    "yaml": yaml(RECIPE, lambda n: "learning_rate: 1.0e-5\n"),
    "yaml, another value each": yaml(RECIPE, lambda n: f"learning_rate: {n}.0e-5\n"),
    "yaml, unknown key": yaml(RECIPE, lambda n: "xyzzy_plugh: 1\n"),
    "yaml, flow": lambda size: {"train.yaml": RECIPE + until(size, "a: {", lambda n: "a: 1, ", "}\n")},
    "yaml, below": yaml(AXOLOTL + "lora_config:\n", lambda n: "  r: 1\n"),
    "yaml, many documents": yaml("", lambda n: "---\nlearning_rate: 1\nlearning_rate: 2\noutput_dir: o\n"),
    "yaml, 250": lambda size: {"train.yaml": RECIPE + "learning_rate: 1.0e-5\n" * 250},
    "json": flow(DS, lambda n: ', "train_micro_batch_size_per_gpu": 4', "}"),
    "json, another value each": flow(DS, lambda n: f', "train_micro_batch_size_per_gpu": {n}', "}"),
    "json, short": flow(DS, lambda n: ', "a": 1', "}"),
    "json, below": flow(DS + ', "bf16": {"enabled": false', lambda n: ', "enabled": false', "}}"),
    "python keywords": python(TRAINER + "args = TrainingArguments('o'", lambda n: ", seed=1", ")\n"),
    "python dict": python("d = {'fp16': {'enabled': True}, 'zero_optimization': {'stage': 2}", lambda n: ", 'train_batch_size': 1", "}\n" + ARGUMENTS.replace("run_name=x", "deepspeed=d")),
    "shell flags": lambda size: {"run.sh": LAUNCH + "o" + until(size, "", lambda n: " --learning_rate 1e-5") + "\n"},
    "shell flags, another value each": lambda size: {"run.sh": LAUNCH + "o" + until(size, "", lambda n: f" --seed {n}") + "\n"},
    "shell environment": shell("", lambda n: f"export WANDB_PROJECT=a{n}\n", LAUNCH + "o\n"),
    "words of rules": lambda size: {"train.yaml": RECIPE, "stablint.toml": "ignore = [" + "'P1', " * (size // 6) + "]\n"},
    "toml": lambda size: {"ok.yaml": RECIPE, "pyproject.toml": until(size, "[project]\nname = 'x'\n", lambda n: "dependencies = ['trl']\n")},
}  # fmt: skip

BLANKS: dict[str, Attack] = {
    "pyproject, newlines": beside("pyproject.toml", blanks("", "stablint", "x", "\n"), {"train.yaml": RECIPE}),
    "pyproject, blanks": beside("pyproject.toml", blanks("[project]\ndependencies = [", "x", "x"), {"train.yaml": RECIPE}),
    "pyproject, blank lines": beside("pyproject.toml", blanks("[project]\ndependencies = [", "x", "x", " \n"), {"train.yaml": RECIPE}),
    "pyproject, brackets": beside("pyproject.toml", blanks("[project]\ndependencies = [", "x", "x", " ]"), {"train.yaml": RECIPE}),
    "pyproject, header blanks": beside("pyproject.toml", blanks("[project]", "x", "x"), {"train.yaml": RECIPE}),
    "pyproject, tables": beside("pyproject.toml", blanks("", "", "x", "[project] \n"), {"train.yaml": RECIPE}),
    "pyproject, quotes": beside("pyproject.toml", blanks("[project]\ndependencies = [", "]", "x", "'"), {"train.yaml": RECIPE}),
    "requirements, blanks": beside("requirements.txt", blanks("trl", "x", "x"), {"train.yaml": RECIPE}),
    "requirements, blanks behind": beside("requirements.txt", blanks("trl==", "x)\n(", "x"), {"train.yaml": RECIPE}),
    "requirements, brackets": beside("requirements.txt", blanks("trl[", "x", "x", "["), {"train.yaml": RECIPE}),
    "requirements, plus": beside("requirements.txt", blanks("trl", "x", "x", "+a"), {"train.yaml": RECIPE}),
    "requirements, lines": beside("requirements.txt", blanks("", "", "x", "trl>=0.1\n"), {"train.yaml": RECIPE}),
    "requirements, lines that differ": beside("requirements.txt", lambda size: {"x": until(size, "", lambda n: f"trl!=0.{n}\n")}, {"train.yaml": RECIPE}),
    "lock, packages": beside("uv.lock", blanks("", "", "x", "[[package]]\n"), {"train.yaml": RECIPE}),
    "lock, blanks": beside("uv.lock", blanks("[[package]]", "x", "x"), {"train.yaml": RECIPE}),
    "lock, newlines": beside("poetry.lock", blanks("[[package]]\n", "x", "x", "\n"), {"train.yaml": RECIPE}),
    "lock, names": beside("uv.lock", blanks("[[package]]\n", "x", "x", 'name = "'), {"train.yaml": RECIPE}),
    "yaml": blanks(RECIPE + "run_name:", "x\n", "train.yaml"),
    "yaml, newlines": blanks(RECIPE, "x: 1\n", "train.yaml", "\n"),
    "yaml, blank lines": blanks(RECIPE, "x: 1\n", "train.yaml", "  \n"),
    "yaml, comments": blanks(RECIPE, "x: 1\n", "train.yaml", "#\n"),
    "yaml, directives": blanks(RECIPE, "x: 1\n", "train.yaml", "# stablint: ignore[x]\n"),
    "yaml, directive blanks": blanks(RECIPE + "fp16: true # stablint: ignore[x]", "\n", "train.yaml"),
    "yaml, directive words": blanks(RECIPE + "fp16: true # stablint: ignore[", "\n", "train.yaml", "x,"),
    "yaml, directive words, closed": blanks(RECIPE + "fp16: true # stablint: ignore[", "]\n", "train.yaml", "x,"),
    "yaml, braces": blanks(RECIPE + "run_name: '", "'\n", "train.yaml", "${"),
    "yaml, block": lambda size: {"train.yaml": RECIPE + "a: |\n" + "  x\n" * (size // 4)},
    "yaml, carriage returns": blanks(RECIPE, "x: 1\n", "train.yaml", "\r"),
    "json": blanks(DS, "}", "ds.json"),
    "json, comments": blanks(DS, "}", "ds.json", "//\n"),
    "json, short comments": blanks(DS, "}", "ds.json", "/**/"),
    "json, slashes": blanks(DS, "}", "ds.json", "/"),
    "json, open comments": blanks(DS, "}", "ds.json", "/*"),
    "json, stars": blanks(DS + "/*", "}", "ds.json", "*"),
    "json, commas": blanks(DS + ', "a": [1', "]}", "ds.json", ",1"),
    "json, trailing commas": blanks(DS + ', "a": [1', "]}", "ds.json", ",[1,]"),
    "python": blanks(ARGUMENTS.replace("=x", "=1") + "x =", "1\n", "train.py"),
    "python, newlines": blanks(ARGUMENTS.replace("=x", "=1"), "x = 1\n", "train.py", "\n"),
    "python, comments": blanks(ARGUMENTS.replace("=x", "=1"), "x = 1\n", "train.py", "#\n"),
    "python, blanks in a call": blanks(TRAINER + "args = TrainingArguments('o', fp16=True, bf16=True", ")\n", "train.py"),
    "python, newlines in a call": blanks(TRAINER + "args = TrainingArguments('o', fp16=True, bf16=True", ")\n", "train.py", "\n"),
    "python, comments in a call": blanks(TRAINER + "args = TrainingArguments('o', fp16=True, bf16=True", ")\n", "train.py", "#)\n"),
    "python, backslashes": blanks(ARGUMENTS.replace("=x", "=1") + "x =", "1\n", "train.py", "\\\n"),
    "python, quotes": blanks(ARGUMENTS.replace("=x", "=1"), "\n", "train.py", "'"),
    "python, open quotes": blanks(ARGUMENTS.replace("=x", "=1"), "\n", "train.py", "'''a"),
    "python, f-string braces": blanks(ARGUMENTS.replace("=x", "=f'"), "'\n", "train.py", "{"),
    "python, require_version": blanks(ARGUMENTS.replace("=x", "=1"), "\n", "train.py", "require_version("),
    "python, require_version blanks": blanks(ARGUMENTS.replace("=x", "=1") + "require_version(", "\n", "train.py"),
    "python, install": blanks(ARGUMENTS.replace("=x", "=1"), "\n", "train.py", "# pip install "),
    "shell": blanks(LAUNCH, "o\n", "run.sh"),
    "shell, newlines": blanks("", LAUNCH + "o\n", "run.sh", "\n"),
    "shell, comments": blanks("", LAUNCH + "o\n", "run.sh", "#\n"),
    "shell, joined": blanks(LAUNCH + "o ", "--seed 1\n", "run.sh", "\\\n"),
    "shell, joined with blanks": blanks(LAUNCH + "o ", "--seed 1\n", "run.sh", "\\ \n"),
    "shell, comments between flags": blanks(LAUNCH + "o ", "--seed 1\n", "run.sh", "\\\n# x\n"),
    "shell, blanks behind a backslash": blanks(LAUNCH + "o \\", "\n", "run.sh"),
    "shell, backslashes": blanks(LAUNCH + "o ", "\n", "run.sh", "\\"),
    "shell, quotes": blanks(LAUNCH + "o ", "\n", "run.sh", "'"),
    "shell, double quotes": blanks(LAUNCH + "o ", "\n", "run.sh", '"'),
    "shell, backquotes": blanks(LAUNCH + "o ", "\n", "run.sh", "`"),
    "shell, dollars": blanks(LAUNCH + "o ", "\n", "run.sh", "$"),
    "shell, open brackets": blanks(LAUNCH + "o ", "\n", "run.sh", "("),
    "shell, open braces": blanks("", LAUNCH, "run.sh", "{ "),
    "shell, semicolons": blanks("", LAUNCH, "run.sh", ";"),
    "shell, redirections": blanks(LAUNCH, "\n", "run.sh", "<"),
    "shell, sbatch": blanks("#!/bin/bash\n#SBATCH --a", "\n" + LAUNCH + "o\n", "run.sh"),
    "shell, sbatch quotes": blanks("#!/bin/bash\n#SBATCH ", "\n" + LAUNCH + "o\n", "run.sh", "--a=\""),
    "shell, sbatch lines": blanks("#!/bin/bash\n", LAUNCH + "o\n", "run.sh", "#SBATCH --gres=gpu:a100:8\n"),
    "shell, cat": blanks(LAUNCH, "\n", "run.sh", "$(cat <<E\n"),
    "shell, expr": blanks(LAUNCH + "$(expr ", ")\n", "run.sh", "1 "),
    "shell, digits": blanks(LAUNCH + "o --seed ", "x\n", "run.sh", "9"),
    "notebook, pip": notebook("n.ipynb", lambda size: ARGUMENTS.replace("=x", "=1") + "!pip install " + "a" * size),
    "notebook, pip blanks": notebook("n.ipynb", lambda size: ARGUMENTS.replace("=x", "=1") + "!pip install" + " " * size),
    "notebook, pip pip": notebook("n.ipynb", lambda size: ARGUMENTS.replace("=x", "=1") + "!" + "pip install " * (size // 12)),
    "notebook, pip brackets": notebook("n.ipynb", lambda size: ARGUMENTS.replace("=x", "=1") + "!pip install " + "a[" * (size // 2)),
    "notebook, pip pins": notebook("n.ipynb", lambda size: ARGUMENTS.replace("=x", "=1") + "!pip install " + "trl==0.1 " * (size // 9)),
    "notebook, pip pins that differ": notebook("n.ipynb", lambda size: ARGUMENTS.replace("=x", "=1") + "!pip install " + " ".join(f"trl!=0.{n}" for n in range(size // 10))),
    "notebook, magics": notebook("n.ipynb", lambda size: "%env A=1\n" * (size // 11) + ARGUMENTS.replace("=x", "=1")),
    "notebook, magics and a repair": notebook(
        "n.ipynb", lambda size: ARGUMENTS.replace("=x", "=1, evaluation_strategy='no'") + "%env A=1\n" * (size // 11) + "Trainer(args=args)\n"
    ),
    "notebook, bangs": notebook("n.ipynb", lambda size: "!echo\n" * (size // 8) + ARGUMENTS.replace("=x", "=1")),
    "notebook, newlines": notebook("n.ipynb", lambda size: "\n" * (size // 2) + ARGUMENTS.replace("=x", "=1")),
    "notebook, blanks": notebook("n.ipynb", lambda size: " " * size + "!x\n" + ARGUMENTS.replace("=x", "=1")),
    "notebook, assigned": notebook("n.ipynb", lambda size: "a, " * (size // 3) + "\n" + ARGUMENTS.replace("=x", "=1")),
    "notebook, names": notebook("n.ipynb", lambda size: "!a" + " {a" * (size // 3) + "\n" + ARGUMENTS.replace("=x", "=1")),
    "notebook, options": notebook("n.ipynb", lambda size: "%time" + " -a1" * (size // 4) + "\n" + ARGUMENTS.replace("=x", "=1")),
    "notebook, continued": notebook("n.ipynb", lambda size: "!a " + "\\\n" * (size // 4) + "\n" + ARGUMENTS.replace("=x", "=1")),
    "notebook, quotes": notebook("n.ipynb", lambda size: "'''a\n" * (size // 6) + ARGUMENTS.replace("=x", "=1")),
    "notebook, escapes and repairs": notebook(
        "n.ipynb",
        lambda size: "!deepspeed --module openrlhf.cli.train_sft " + " ".join(f"--zero_{n} {n}" for n in range(60)) + "\n" + "# " + '"a' * (size // 3) + "\n",
    ),
    "notebook, escapes and flags": notebook(
        "n.ipynb", lambda size: "!deepspeed --module openrlhf.cli.train_sft " + " ".join(f'--zero_{n} "{n}"' for n in range(size // 20))
    ),
    "notebook, escapes and arguments": notebook(
        "n.ipynb",
        lambda size: "from trl import SFTConfig\n" + "".join(f'SFTConfig("o", evaluation_strategy="no", warmup_ratio=0.{n}, learning_ratio="é")\n' for n in range(size // 90)),
    ),
    "notebook, escapes and YAML": notebook(
        "n.ipynb", lambda size: "%%writefile a.yaml\n" + AXOLOTL + "".join(f'lora_{n}: "a\t{n}"\n' for n in range(size // 30))
    ),
    "notebook, cells": lambda size: {
        "n.ipynb": json.dumps(
            {"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": ["!pip install trl\n", ARGUMENTS.replace("=x", "=1")]}] * (size // 250), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        )
    },
    "notebook, lines": lambda size: {
        "n.ipynb": json.dumps(
            {"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": ["x = 1\n"] * (size // 12) + [ARGUMENTS.replace("=x", "=1")]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        )
    },
}  # fmt: skip

LONG_VALUES: dict[str, Attack] = {
    f"{where}, {what}": (lambda size, make=make, piece=piece: make(piece * (size // len(piece))))  # type: ignore[misc]
    for row, (where, make) in enumerate({
        "yaml name": lambda v: {"train.yaml": f"model_name_or_path: '{v}'\nlearning_rate: 1.0e-5\noutput_dir: out\n"},
        "yaml number": lambda v: {"train.yaml": f"output_dir: out\nlearning_rate: '{v}'\nfp16: '{v[:3000]}'\n"},
        "yaml optimiser": lambda v: {"train.yaml": f"output_dir: out\nlearning_rate: 1e-5\noptim: '{v}'\nlr_scheduler_type: '{v[:3000]}'\n"},
        "yaml dtype": lambda v: {"train.yaml": f"base_model: q/q\nadapter: lora\nmicro_batch_size: 1\ntorch_dtype: '{v}'\nlora_target_modules: ['{v}']\n"},
        "yaml target": lambda v: {"train.yaml": f"model_name_or_path: Qwen/Qwen2-7B\nuse_peft: true\nlearning_rate: 1e-5\noutput_dir: o\nlora_target_modules: '{v}'\n"},
        "yaml key": lambda v: {"train.yaml": RECIPE + f"? '{v}'\n: 1\n"},
        "json number": lambda v: {"ds.json": DS + f', "optimizer": {{"type": "{v}", "params": {{"lr": "{v[:3000]}"}}}}, "gradient_clipping": "{v[:3000]}"}}'},
        "json key": lambda v: {"ds.json": DS + f', "{v}": 1}}'},
        "shell value": lambda v: {"run.sh": LAUNCH + f"o --optim '{v}'\n"},
        "shell model": lambda v: {"run.sh": LAUNCH.replace("Qwen/Qwen2-7B", f"'{v}'") + "o\n"},
        "shell flag": lambda v: {"run.sh": LAUNCH + f"o --{v.strip()} 1\n"},
        "shell plain": lambda v: {"run.sh": LAUNCH + f"o --optim {v.strip()} 1\n"},
        "python value": lambda v: {"train.py": TRAINER + f"args = TrainingArguments('o', optim='{v}', fp16=True, bf16=True)\n"},
        "python model": lambda v: {"train.py": TRAINER + f"import transformers\nm = transformers.AutoModelForCausalLM.from_pretrained('{v}')\nargs = TrainingArguments('o', fp16=True, bf16=True)\ntransformers.Trainer(model=m, args=args)\n"},
        "python comment": lambda v: {"train.py": TRAINER + f"args = TrainingArguments('o', fp16=True, bf16=True) # {v}\n"},
        "yaml comment": lambda v: {"train.yaml": RECIPE + f"fp16: true # {v}\nbf16: true # stablint: ignore[{v}] {v}\n"},
        "dataset": lambda v: {"train.yaml": RECIPE.replace("trl-lib/Capybara", f"'{v}'")},
    }.items())
    for column, (what, piece) in enumerate({
        "letters": "a", "capitals": "A", "digits": "1", "blanks": " ", "stars": "*", "points": "a.", "dashes": "-1b", "slashes": "a/", "underscores": "_",
        "ones": "1x1", "numbers": "1.1", "scheme": "://a:", "key": "api_key = ", "comma": "a,", "brackets": "(a|", "tail": "For",
    }.items())
    if (row + column) % 3 == 0  # every place meets a third of them, and every one of them a third of the places
}  # fmt: skip

RUNS: dict[str, Attack] = {
    "yaml documents": yaml("", lambda n: "---\n" + RECIPE),
    "yaml short documents": yaml("", lambda n: "---\nlearning_rate: 1\nfp16: 1\n"),
    "yaml empty documents": yaml(RECIPE, lambda n: "---\n"),
    "yaml conflicts": yaml("", lambda n: "---\nlearning_rate: 1.0e-5\noutput_dir: o\nfp16: true\nbf16: true\n"),
    "python trainers": python("import transformers\n", lambda n: f"t{n} = transformers.Trainer(model=m, args=transformers.TrainingArguments('o', fp16=True, bf16=True))\n"),
    "python arguments": python(TRAINER, lambda n: f"a{n} = TrainingArguments('o', fp16=True)\n"),
    "python the same name": python(TRAINER, lambda n: "a = TrainingArguments('o', fp16=True)\n"),
    "python one trainer many arguments": python(TRAINER + "from trl import SFTTrainer\n", lambda n: f"a{n} = TrainingArguments('o', fp16=True)\nSFTTrainer(model='Qwen/Qwen2-7B', args=a{n})\n"),
    "python functions": python(TRAINER, lambda n: f"def f{n}():\n    return TrainingArguments('o', fp16=True, bf16=True)\n"),
    "python peft": python("import peft\n", lambda n: f"peft.LoraConfig(r={n}, lora_alpha=1)\n"),
    "python models": python(ARGUMENTS.replace("=x", "=1") + "from transformers import AutoModelForCausalLM\n", lambda n: "AutoModelForCausalLM.from_pretrained('Qwen/Qwen2-7B')\n"),
    "python models in branches": python("from transformers import AutoModelForCausalLM\n", lambda n: f"if a == {n}:\n    model = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2-7B')\n", ARGUMENTS.replace("=x", "=1")),
    "python arguments in branches": python(TRAINER, lambda n: f"if a == {n}:\n    args = TrainingArguments('out', fp16=True, seed={n})\n", "Trainer(model, args)\n"),
    "python methods of models": python("from transformers import AutoModelForCausalLM\n" + ARGUMENTS.replace("=x", "=1"), lambda n: f"m{n} = AutoModelForCausalLM.from_pretrained('a/b')\nm{n}.half().to('cuda')\n"),
    "python json files": python("import json\n", lambda n: f"json.dump({{'zero_optimization': {{'stage': 3}}, 'train_batch_size': 1}}, open('ds{n}.json', 'w'))\n"),
    "python subprocess": python("import subprocess\n", lambda n: "subprocess.run('torchrun train.py --fp16 --learning_rate 1e-5 --output_dir o', shell=True)\n"),
    "shell commands": shell("", lambda n: LAUNCH + f"o{n}\n"),
    "shell short commands": shell("", lambda n: "torchrun t.py --fp16 --learning_rate 1\n"),
    "shell a variable and commands": lambda size: {"run.sh": "NPROC_PER_NODE=2\n" + "torchrun t.py --fp16\n" * (size // 21)},
    "shell no commands": shell(LAUNCH + "o\n", lambda n: "a\n"),
    "shell environment commands": shell("", lambda n: f"A{n}=1 " + LAUNCH + "o\n"),
    "shell functions": shell("", lambda n: f"f{n}() {{ {LAUNCH} o; }}\n", "f1\n"),
    "shell documents": shell("", lambda n: f"cat > ds{n}.json <<EOF\n{DS}}}\nEOF\n"),
    "shell deepspeed": shell("", lambda n: "deepspeed t.py --deepspeed ds.json --learning_rate 1\n"),
    "json list": flow("[", lambda n: DS + "},", DS + "}]"),
    "json nested": flow(DS, lambda n: f', "a{n}": {DS}}}', "}"),
    "shell documents of one kind": shell("", lambda n: f"cat <<'EOF' > c{n}.yaml\nlearning_rate: 1e-5\nfp16: true\nEOF\n", LAUNCH + "o\n"),
    "notebook short commands": notebook("n.ipynb", lambda size: "!torchrun t.py\n" * (size // 16)),
    "notebook commands with a variable": notebook("n.ipynb", lambda size: "!A=1 torchrun t.py --fp16\n" * (size // 27)),
    "notebook commands": notebook("n.ipynb", lambda size: ("!" + LAUNCH + "o\n") * (size // 110)),
    "configs of a script": lambda size: {"run.sh": until(size, "", lambda n: "axolotl train c.yaml\n"), "c.yaml": AXOLOTL},
    "configs of a script, flags": lambda size: {"run.sh": until(size, "", lambda n: f"llamafactory-cli train c.yaml --seed {n}\n"), "c.yaml": "model_name_or_path: Qwen/Qwen2-7B\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nfp16: true\n"},
}  # fmt: skip

UNKNOWN_KEYS: dict[str, Attack] = {
    "yaml": yaml(RECIPE, lambda n: f"learning_rat{n}: 1\n"),
    "yaml, short": yaml(RECIPE, lambda n: f"k{n}: 1\n"),
    "yaml, axolotl": yaml(AXOLOTL, lambda n: f"lora_rank_{n}: 1\n"),
    "yaml, llamafactory": yaml("model_name_or_path: Qwen/Qwen2-7B\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\n", lambda n: f"cutoff_len_{n}: 1\n"),
    "yaml, torchtune": yaml("model:\n  _component_: torchtune.models.llama3.lora_llama3_8b\noptimizer:\n  _component_: torch.optim.AdamW\n", lambda n: f"  lr{n}: 1\n"),
    "yaml, torchtune components": yaml("model:\n  _component_: torchtune.models.llama3.lora_llama3_8b\n", lambda n: f"m{n}:\n  _component_: torchtune.models.a{n}\n"),
    "yaml, litgpt": yaml("checkpoint_dir: a\nprecision: bf16-true\ntrain:\n  epochs: 1\n", lambda n: f"  step_{n}: 1\n"),
    "yaml, accelerate": yaml("compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n", lambda n: f"  fsdp_offload_{n}: 1\n"),
    "yaml, long keys": lambda size: {"train.yaml": RECIPE + until(size, "", lambda n: f"{'learning_rate' * 70}{n}: 1\n")},
    "yaml, one long key": lambda size: {"train.yaml": RECIPE + f"{'a' * 1000}: 1\n" + f"? {'b' * size}\n: 1\n"},
    "json": flow(DS, lambda n: f', "zero_optimisation{n}": 1', "}"),
    "json, below": flow(DS[:-1], lambda n: f', "reduce_bucket{n}": 1', "}}"),
    "json, nested": flow(DS, lambda n: f', "a{n}": {{"b": {{"c": 1}}}}', "}"),
    "json, items": flow(DS + ', "a": [1', lambda n: ", 1", "]}"),
    "python": python(TRAINER + "args = TrainingArguments('o'", lambda n: f", learning_rat{n}=1", ")\n"),
    "python, below": python(TRAINER + "args = TrainingArguments('o', deepspeed={'zero_optimization': {'stage': 2", lambda n: f", 'reduce_bucket{n}': 1", "}})\n"),
    "python, stores": python(TRAINER + "args = TrainingArguments('o')\n", lambda n: f"args.learning_rat{n} = 1\n"),
    "python, classes": python("import transformers\n", lambda n: f"transformers.TrainingArgument{n}('o', fp16=True)\n"),
    "python, names": python(ARGUMENTS, lambda n: f"name{n} = {n}\n"),
    "python, imports": python(ARGUMENTS, lambda n: f"import m{n}\n"),
    "python, parser": python("import argparse\nparser = argparse.ArgumentParser()\n", lambda n: f"parser.add_argument('--learning_rat{n}', type=int, default=1)\n", "args = parser.parse_args()\n" + TRAINER + "TrainingArguments('o', learning_rate=args.learning_rat1)\n"),
    "python, fields": python(TRAINER + "import dataclasses\n@dataclasses.dataclass\nclass A(TrainingArguments):\n", lambda n: f"    a{n}: int = 1\n", "args = A('o')\n"),
    "shell": lambda size: {"run.sh": LAUNCH + "o" + until(size, "", lambda n: f" --learning_rat{n} 1") + "\n"},
    "shell, equals": lambda size: {"run.sh": LAUNCH + "o" + until(size, "", lambda n: f" --a.b{n}=1") + "\n"},
    "shell, trl": lambda size: {"run.sh": "trl sft --model_name_or_path a/b --dataset_name c/d" + until(size, "", lambda n: f" --learning_rat{n} 1") + "\n"},
    "shell, openrlhf": lambda size: {"run.sh": "deepspeed --module openrlhf.cli.train_sft" + until(size, "", lambda n: f" --learning_rat{n} 1") + "\n"},
    "shell, swift": lambda size: {"run.sh": "swift sft --model a/b" + until(size, "", lambda n: f" --learning_rat{n} 1") + "\n"},
    "shell, accelerate": lambda size: {"run.sh": "accelerate launch" + until(size, "", lambda n: f" --num_process{n} 1") + " t.py --fp16 --learning_rate 1\n"},
    "shell, positionals": lambda size: {"run.sh": LAUNCH + "o" + until(size, "", lambda n: f" a{n}") + "\n"},
}  # fmt: skip

SCRIPTS: dict[str, Attack] = {
    "commands of one letter": lambda size: {"run.sh": LAUNCH + "o\n" + "a) " * (size // 3 - 40) + "$*[[\n"},
    "folders": lambda size: {"run.sh": LAUNCH + "o\n" + "cd a\n$@" * (size // 7 - 20) + "\n"},
    "files read into it": lambda size: {
        "run.sh": until(size, "", lambda n: "source a.sh\n", LAUNCH + "o\n"),
        "a.sh": "x=1\n",
    },
    "words in their own place": shell("", lambda n: 'set -- "$@" "$@"\n', LAUNCH + '"$@"\n'),
    "commands in brackets": lambda size: {"run.sh": LAUNCH + "o\na+=mysql -p))" + "(a b) " * (size // 6 - 20) + "\n"},
}
"""For `migrate`, which checks a file for the old releases and for the new ones, and for repairs."""

_RUN = "torchrun train.py --fp16 True --bf16 True --learning_rate 3 --output_dir "
_WORKFLOW = "on: push\njobs:\n a:\n  runs-on: x\n"


def text(name: str, head: str, line: Callable[[int], str], tail: str = "") -> Attack:
    return lambda size: {name: until(size, head, line, tail)}


RECIPES: dict[str, Attack] = {
    "make, growth": text("Makefile", "A0 := x\n", lambda n: f"A{n + 1} := $(A{n})$(A{n})\n", f"train:\n\t{_RUN}$(A2000)\n"),
    "make, itself": text("Makefile", "A := x\n", lambda n: "A += $(A)\n", f"train:\n\t{_RUN}$(A)\n"),
    "make, functions": lambda size: {"Makefile": f"L := {'x ' * (size // 3)}\nA := $(foreach i,$(L),$(foreach j,$(L),x))\ntrain:\n\t{_RUN}$(A)\n"},
    "make, brackets": lambda size: {"Makefile": "A = " + "$(" * (size // 3) + ")" * (size // 4) + f"\ntrain:\n\t{_RUN}$(A)\n"},
    "make, definitions": lambda size: {"Makefile": "define A\n" * (size // 12) + "endef\n" * (size // 30) + f"train:\n\t{_RUN}o\n"},
    "make, targets": text("Makefile", "", lambda n: f"t{n}: t{n + 1}\n\t{_RUN}o\n"),
    "just, growth": text("justfile", "a0 := 'x'\n", lambda n: f"a{n + 1} := a{n} + a{n}\n", f"train:\n    {_RUN}{{{{a2000}}}}\n"),
    "just, choices": lambda size: {"justfile": "a := " + "if 'a' == 'b' { " * (size // 24) + "'x'" + " } else { 'y' }" * (size // 48) + f"\ntrain:\n    {_RUN}{{{{a}}}}\n"},
    "just, holes": lambda size: {"justfile": f"a := 'x'\ntrain:\n    {_RUN}{'{{a}}' * (size // 6)}\n"},
    "just, recipes": text("justfile", "", lambda n: f"r{n}: r{n + 1} r{n + 1}\n    {_RUN}o\n"),
    "docker, growth": text("Dockerfile", "FROM x\nENV A0=x\n", lambda n: f"ENV A{n + 1}=$A{n}$A{n}\n", f"CMD {_RUN}$A2000\n"),
    "docker, defaults": lambda size: {"Dockerfile": "FROM x\nENV A=" + "${A:-" * (size // 8) + "}" * (size // 20) + f"\nCMD {_RUN}$A\n"},
    "docker, here-documents": lambda size: {"Dockerfile": "FROM x\n" + "RUN <<EOF\n" * (size // 11) + f"EOF\nCMD {_RUN}o\n"},
    "docker, stages": text("Dockerfile", "", lambda n: f"FROM s{n} AS s{n + 1}\nCMD {_RUN}o\n"),
    "workflow, growth": text(".github/workflows/a.yml", "on: push\nenv:\n A0: x\n", lambda n: f" A{n + 1}: ${{{{ env.A{n} }}}}${{{{ env.A{n} }}}}\n", f"jobs:\n a:\n  runs-on: x\n  steps:\n   - run: {_RUN}$A1000\n"),
    "workflow, matrix": text(".github/workflows/a.yml", _WORKFLOW + "  strategy:\n   matrix:\n", lambda n: f"    m{n}: [1,2,3,4,5,6,7,8,9]\n", f"  steps:\n   - run: {_RUN}" + "".join(f"${{{{ matrix.m{n} }}}}" for n in range(900)) + "\n"),
    "workflow, steps": text(".github/workflows/a.yml", _WORKFLOW + "  steps:\n", lambda n: f"   - run: {_RUN}o\n"),
    "gitlab, extends": text(".gitlab-ci.yml", "", lambda n: f"j{n}:\n  extends: [j{n + 1}, j{n + 1}]\n  script: [{_RUN}o]\n"),
    "gitlab, references": text(".gitlab-ci.yml", "j:\n  script:\n", lambda n: "    - !reference [j, script]\n", f"    - {_RUN}o\n"),
    "skypilot, growth": text("task.yaml", "envs:\n A0: x\n", lambda n: f" A{n + 1}: $A{n}$A{n}\n", f"run: |\n {_RUN}$A2000\n"),
    "kubernetes, containers": text("job.yaml", "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n", lambda n: "   - name: a\n     command: [torchrun, t.py, --fp16, 'True', --bf16, 'True']\n"),
    "kubernetes, files": text("job.yaml", "apiVersion: v1\nkind: ConfigMap\ndata:\n", lambda n: f"  a{n}.yaml: |\n    stage: sft\n    fp16: true\n    bf16: true\n"),
}  # fmt: skip
"""Texts around a command: of make, just, Docker, GitHub, GitLab, SkyPilot and Kubernetes."""

CLASSES: dict[str, dict[str, Attack]] = {
    "growing text": GROWING_TEXT,
    "self-containing values": SELF_CONTAINING,
    "the same key": SAME_KEYS,
    "blanks": BLANKS,
    "long values": LONG_VALUES,
    "runs in a file": RUNS,
    "unknown keys": UNKNOWN_KEYS,
    "scripts": SCRIPTS,
    "recipes": RECIPES,
}
