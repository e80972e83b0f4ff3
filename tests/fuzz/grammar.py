"""Decisions → one project that somebody might have written, or wanted to break us with: files, and the command to run on them.

A tree of settings is taken from a seed and changed as a tree; a printer then writes it in one of its language's many ways; last, a few
edits of the text itself. Programs, shell scripts and notebooks carry such trees in calls, flags, heredocs and cells.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.fuzz.choices import Choices
from tests.fuzz.vocabulary import SCALARS, hazard_texts, keys, pieces, seeds, settings_schema, texts, trees

LARGEST = 100_000  # bytes of one file; the promise of docs/security.md speaks of files up to this size
MOST_NODES = 20_000  # of a tree: more are more than LARGEST bytes
DEEP = 40  # levels, below which no writer would indent: Python's own hands each piece through all levels above it, a third of a run's time
DEEPEST = 300  # levels, to which a change adds 400 at most: Python's own writer of JSON recurses

Tree = Any


class Case(NamedTuple):
    """One project. `command` is a command line of stablint, run in the project's folder."""

    files: dict[str, str]
    command: tuple[str, ...]


# Trees


def tree(c: Choices) -> Tree:
    """A seed's settings after some changes."""
    settings = copy.deepcopy(c.pick(trees()))
    for _ in range(c.between(0, 6)):
        _change(c, settings)
    return settings


def _change(c: Choices, settings: Tree) -> None:
    places = list(_places(settings))
    if not places:
        return
    holder, key = c.pick(places)
    kind = c.below(10)
    times = c.pick((0, 1, 2, 40)) if kind == 4 else 1
    if _size(settings) * max(times, 1) > MOST_NODES or (_depth(settings) > DEEPEST and kind not in (3, 7)):
        return  # Python's own writers would not end, or end in a RecursionError
    if kind <= 2:
        holder[key] = value(c)
    elif kind == 3:
        del holder[key]
    elif kind == 4:
        holder[key] = [holder[key]] * times
    elif kind == 5:
        holder[key] = {c.pick(keys()): holder[key]}
    elif kind == 6:
        holder[key] = str(holder[key])
    elif kind == 7 and isinstance(holder, dict):
        holder[c.pick(keys())] = holder.pop(key)
    elif kind == 8 and isinstance(holder, dict):
        holder[_key(c)] = value(c)
    elif kind == 9 and isinstance(holder, dict):
        for number in range(c.pick((3, 30, 300))):
            holder[f"{key}_{number}"] = value(c)


def _inner(node: Tree) -> list[Tree]:
    return list(node.values() if isinstance(node, dict) else node) if isinstance(node, (dict, list)) else []


def _size(node: Tree) -> int:
    """How many nodes a writer would write; one that stands in several places is written in each. Counted up to MOST_NODES."""
    count, pending = 0, [node]
    while pending and count <= MOST_NODES:
        count += 1
        pending += _inner(pending.pop())
    return count


def _depth(node: Tree) -> int:
    depth, level = 0, {id(node): node}
    while level:
        depth, level = depth + 1, {id(one): one for holder in level.values() for one in _inner(holder)}
    return depth


def _places(node: Tree) -> Any:
    """Every (holder, key) of a tree, outermost first; a holder that stands in several places once."""
    pending, seen = [node], set()
    while pending:
        holder = pending.pop(0)
        if id(holder) in seen:
            continue
        seen.add(id(holder))
        rows = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, inner in list(rows):
            yield holder, key
            if isinstance(inner, (dict, list)):
                pending.append(inner)


def value(c: Choices) -> Tree:
    found: Tree
    if c.chance(25):
        found = c.pick(trees()) if c.chance(10) else {c.pick(keys()): c.pick(SCALARS) for _ in range(c.between(0, 4))}
    else:
        found = c.pick(SCALARS)
    found = copy.deepcopy(found)  # what is changed later must not change the vocabulary
    if c.chance(5):
        for _ in range(c.pick((2, 50, 400))):
            found = [found] if c.chance(50) else {"a": found}
    return found


def _key(c: Choices) -> Any:
    if c.chance(80):
        return c.pick(keys())
    return c.pick(
        (
            None,
            True,
            1,
            1.5,
            "",
            " ",
            "a.b",
            "a b",
            "--x",
            "é",
            "{{ x }}",
            "${x}",
            "<<",
            "=",
            "learning_rate ",
            "LEARNING_RATE",
            "a" * 200,
        )
    )


# Printers


def yaml_text(c: Choices, settings: Tree) -> str:
    lines: list[str] = []
    _yaml(c, settings, "", lines)
    text = "\n".join(lines) + "\n"
    if c.chance(10):
        text = "---\n" + text + c.pick(("", "...\n", "---\n" + text, "--- {}\n", "---\n- a\n"))
    if c.chance(10):
        text = (
            "base: &base\n  fp16: true\n  learning_rate: 1e-4\n"
            + c.pick(("<<: *base\n", "<<: [*base, *base]\n", "x: *base\n", "<<: *none\n", "base: *base\n"))
            + text
        )
    return text


def _yaml(c: Choices, node: Tree, indent: str, lines: list[str]) -> None:
    if len(indent) > 200 or not isinstance(node, (dict, list)) or not node:
        lines.append(indent + _yaml_scalar(c, node))
        return
    for key, inner in node.items() if isinstance(node, dict) else enumerate(node):
        mark = (_yaml_key(c, key) + ":") if isinstance(node, dict) else "-"
        comment = c.pick(("", "", "", "  # as before", " #no", "\t# tab"))
        if isinstance(inner, (dict, list)) and inner and c.chance(80):
            lines.append(f"{indent}{mark}{comment}")
            _yaml(c, inner, indent + c.pick(("  ", "    ", " ", "\t" if c.chance(3) else "  ")), lines)
        else:
            lines.append(f"{indent}{mark} {_yaml_scalar(c, inner)}{comment}")
        if c.chance(3):
            lines.append(lines[-1])  # a key said twice


def _yaml_key(c: Choices, key: Any) -> str:
    plain = str(key) if isinstance(key, str) else json.dumps(key)
    style = c.below(20)
    return (
        f'"{plain}"'
        if style == 0
        else f"'{plain}'"
        if style == 1
        else f"? {plain}\n"
        if style == 2 and c.chance(10)
        else plain
    )


def _yaml_scalar(c: Choices, node: Tree) -> str:
    style = c.below(12)
    if isinstance(node, (dict, list)) or style == 0:
        return _json(node)
    if node is None:
        return c.pick(("", "null", "~", "None"))
    if isinstance(node, bool):
        return c.pick(("true", "false", "True", "yes", "off")) if style == 1 else str(node).lower()
    if isinstance(node, str) and "\n" not in node:
        return (
            node
            if style < 9
            else "'" + node.replace("'", "''") + "'"
            if style == 9
            else f"!!str {node}"
            if style == 10
            else f"&x{style} {node}"
        )
    if isinstance(node, str):
        return "|\n      " + node.replace("\n", "\n      ")
    return str(node)


def json_text(c: Choices, settings: Tree) -> str:
    text = _json(settings, c.pick((None, 2, 4, "\t")))
    if c.chance(10):
        text = text.replace("{", '{"fp16": true, "fp16": false, ', 1) if settings else text
    if c.chance(8):
        text = c.pick(
            (
                text + text,
                text + "\n" + text,
                "// c\n" + text,
                text.replace("}", ",}"),
                "[" + text + "]",
                text.replace('"', "'"),
                text[:-1],
            )
        )
    return text


def _json(node: Tree, indent: Any = None) -> str:
    if indent is not None and _depth(node) > DEEP:
        indent = None
    return json.dumps(node, indent=indent, ensure_ascii=False, default=str, skipkeys=True)


def python_text(c: Choices, settings: Tree) -> str:
    if c.chance(45):
        return c.pick(texts("python"))
    name = c.pick(
        (
            "TrainingArguments",
            "SFTConfig",
            "DPOConfig",
            "GRPOConfig",
            "LoraConfig",
            "BitsAndBytesConfig",
            "Seq2SeqTrainingArguments",
            "print",
        )
    )
    flat = (
        [(key, inner) for key, inner in settings.items() if isinstance(key, str) and key.isidentifier()]
        if isinstance(settings, dict)
        else []
    )
    arguments = [c.pick((f"{key}={inner!r}", f"{key}={key}", f"{key}=args.{key}")) for key, inner in flat]
    if c.chance(20):
        arguments.append("**config")
    lines = [
        "import json, os, sys, argparse, torch",
        f"from {c.pick(('transformers', 'trl', 'peft', 'my.own'))} import {name}, Trainer, HfArgumentParser",
        *(c.pick(pieces("statements")) for _ in range(c.between(0, 8))),
        f"config = {settings!r}",
        f"args = {name}({', '.join(arguments)})",
        *(c.pick(pieces("statements")) for _ in range(c.between(0, 8))),
        c.pick(
            (
                "Trainer(model=model, args=args).train()",
                "json.dump(config, open('ds.json', 'w'))",
                "SFTTrainer(model, args=args, peft_config=peft)",
                "",
            )
        ),
    ]
    return "\n".join(lines) + "\n"


def shell_text(c: Choices, settings: Tree) -> str:
    if c.chance(45):
        return c.pick(texts("shell"))
    flags = (
        ["--" + str(key) + c.pick(_BEFORE_VALUE) + _word(c, inner) for key, inner in settings.items()]
        if isinstance(settings, dict)
        else []
    )
    lines = [
        c.pick(("#!/bin/bash", "#!/usr/bin/env bash\nset -euo pipefail", "#SBATCH --gres=gpu:v100:8", "")),
        *(c.pick(pieces("commands")) for _ in range(c.between(0, 8))),
        "cat > ds.json <<" + c.pick(("EOF", "'EOF'", "-EOF")) + f"\n{_json(settings)}\nEOF" if c.chance(20) else "",
        c.pick(pieces("launchers"))
        + " "
        + c.pick((" ", " \\\n  ")).join(flags)
        + c.pick(("", "", " ${ARGS[@]}", ' "$@"', " $x", " 2>&1 | tee log", " &", " <<< x", "; done", " )")),
        *(c.pick(pieces("commands")) for _ in range(c.between(0, 8))),
    ]
    return "\n".join(lines) + "\n"


_BEFORE_VALUE = (" ", "=", "  ", " \\\n  ")


def _word(c: Choices, node: Tree) -> str:
    text = node if isinstance(node, str) else _json(node)
    quoted = ("'" + text.replace("'", "") + "'", '"' + text.replace('"', '\\"') + '"', "$x")
    return c.pick((*quoted, *(text.replace(" ", ""),) * 3))


def _cell(c: Choices, settings: Tree) -> str:
    kind = c.below(6)
    if kind <= 2:
        return python_text(c, settings)
    if kind == 3:
        name = c.pick(("train.yaml", "ds.json", "run.sh", "x.toml", "../x.yaml"))
        return f"%%writefile {name}\n" + c.pick((yaml_text, json_text, shell_text))(c, settings)
    if kind == 4:
        return "%%bash\n" + shell_text(c, settings)
    return c.pick(pieces("magics"))


def notebook_text(c: Choices, settings: Tree) -> str:
    cells = []
    for _ in range(c.between(1, 6)):
        source = _cell(c, settings)
        lines: Any = source.splitlines(keepends=True) if c.chance(80) else source
        cells.append(
            {
                "cell_type": c.pick(("code", "code", "code", "markdown", "raw", "x")),
                "metadata": {},
                "source": lines,
                "outputs": [],
            }
        )
    book: Any = {"cells": cells, "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    if c.chance(15):
        _change(c, book)
    return _json(book, c.pick((None, 1)))


PRINTERS: dict[str, Callable[[Choices, Tree], str]] = {
    "yaml": yaml_text,
    "json": json_text,
    "python": python_text,
    "shell": shell_text,
    "notebook": notebook_text,
}
SUFFIX = {"yaml": ".yaml", "json": ".json", "python": ".py", "shell": ".sh", "notebook": ".ipynb"}


def edited(c: Choices, text: str) -> str:
    """A few edits that know nothing of the language."""
    for _ in range(c.pick((0, 0, 0, 1, 2, 4))):
        at, to = c.below(len(text) + 1), c.below(len(text) + 1)
        at, to = min(at, to), max(at, to)
        kind = c.below(6)
        if kind <= 1:
            text = text[:at] + c.pick(pieces("pieces")) + text[at:]
        elif kind == 2:
            text = text[:at] + text[min(to, at + 30) :]
        elif kind == 3:
            text = text[:to] + text[at : min(to, at + 200)] * c.pick((1, 2, 20)) + text[to:]
        elif kind == 4:
            text = text.replace("\n", c.pick(("\r\n", "\r", "\n\n", "\u2028")))
        else:
            text = text[:at]
    return text[:LARGEST]


# Cases

_GPUS = ("T4", "V100 x8", "A100-80GB", "RTX 3090 x7", "nope", "H100 x999999999")
_FORMATS = (
    "full",
    "concise",
    "json",
    "json",
    "json",
    "jsonl",
    "sarif",
    "github",
    "gitlab",
    "junit",
    "markdown",
    "rdjson",
)


def file_text(c: Choices, language: str) -> str:
    if c.chance(15):
        return edited(c, c.pick(texts(language) or texts("yaml")))
    return edited(c, PRINTERS[language](c, tree(c)))


def command(c: Choices, names: list[str]) -> tuple[str, ...]:
    options = [*c.pick(pieces("options"))]
    if c.chance(30):
        options += ["--gpu", c.pick(_GPUS)]
    kind = c.below(20)
    if kind < 9:
        return ("check", "--output-format", c.pick(_FORMATS), *options, ".")
    if kind < 15:
        return ("check", "--diff", "--unsafe-fixes", *options, ".")
    if kind == 15:
        return ("show", names[0], "--output-format", c.pick(("json", "full")))
    if kind == 16:
        return (
            "migrate",
            names[0],
            "--with",
            c.pick(("transformers==5.23.0", "trl==0.20.0", "transformers==4.30")),
            "--diff",
        )
    if kind == 17:
        return ("diff", names[0], names[-1])
    if kind == 18:
        return ("check", "--skip-unrecognised", *names)
    return ("check", ".", "--", "--learning_rate", "3e-4", "--fp16", "True")


def loose(c: Choices, language: str) -> Case:
    """One file of a language by itself."""
    name = "f" + SUFFIX[language]
    return Case({name: file_text(c, language)}, command(c, [name]))


def recipes(c: Choices) -> Case:
    """A file of another format that holds commands: a Makefile, a justfile, a Dockerfile, a workflow."""
    script = shell_text(c, tree(c))
    name = c.pick(("Makefile", "justfile", "Dockerfile", "train.yml"))
    word = c.pick(("LR", "ARGS", "A", "é", "x-y", ""))
    if name == "Makefile":
        sign, use = (
            c.pick(("=", ":=", "?=", "+=", "!=", "")),
            c.pick(("$(%s)", "${%s}", "$$%s", "$(shell %s)", "$(%s", "$%s")) % word,
        )
        head = [
            f"{word} {sign} {script[:200]}",
            c.pick(("", ".ONESHELL:", "ifdef X", "define Y", "export", f"a: {word} = 1", "endif", "include x.mk")),
        ]
        text = "\n".join([*head, "a: b", *("\t" + line + " " + use for line in script.splitlines())]) + "\n"
    elif name == "justfile":
        head = [
            f"{word} := {c.pick(('1', chr(39) * 2, chr(34) + script[:50], '`x`'))}",
            c.pick(("a:", "a b='1' *c:", "@a: b", "a b=", "[x]\na:")),
        ]
        hole = c.pick(("{{%s}}", "{{ %s }}", "{{{{%s", "{{%s", "{{ env('%s') }}")) % word
        shebang = c.pick(("", "#!/bin/bash", "#!/usr/bin/env python"))
        text = "\n".join([*head, *("  " + line + " " + hole for line in (shebang, *script.splitlines()))]) + "\n"
    elif name == "Dockerfile":
        words = _json(script.split()) if c.chance(50) else script.replace("\n", " \\\n")
        head = [
            f"FROM {word}",
            f"ENV {word}={c.pick(('1', chr(34), chr(34) + 'a b' + chr(34), ''))}",
            f"ARG {word} 1",
            "RUN <<EOF",
            c.pick(("EOF", "")),
        ]
        text = "\n".join([*head, c.pick(("CMD ", "ENTRYPOINT ", "cmd ", "CMD")) + words]) + "\n"
    else:
        step = {
            "run": script,
            "env": tree(c),
            "shell": c.pick(("bash", "sh -e {0}", "python", "")),
            "working-directory": c.pick(("src", "", "$X")),
        }
        job = (
            {"steps": [step, value(c)]}
            if c.chance(50)
            else {"script": [script, [script]], "before_script": value(c), "variables": tree(c)}
        )
        text = yaml_text(c, {"jobs": {"a": job}} if "steps" in job else {"a": job, "variables": value(c)})
    return Case({name: edited(c, text)}, command(c, [name]))


def folder(c: Choices) -> Case:
    """Many files side by side, of all languages, together no larger than one may be."""
    files: dict[str, str] = {}
    left = LARGEST
    for number in range(c.between(10, 40)):
        language = c.pick(tuple(SUFFIX))
        text = file_text(c, language)
        if len(text) < left:
            files[f"f{number:02}{SUFFIX[language]}"] = text
            left -= len(text)
    return Case(
        files,
        (
            "check",
            *c.pick((("--output-format", "json"), ("--output-format", "json"), (), ("--diff", "--unsafe-fixes"))),
            ".",
        ),
    )


def project(c: Choices) -> Case:
    """Files of one seed, which refer to each other; each of them changed, some of them gone."""
    files: dict[str, str] = {}
    for name, text in c.pick(seeds()).files:
        if c.chance(90):
            files[name] = edited(c, text)
    extra = c.pick(
        (
            "ds.json",
            "acc.yaml",
            "train.yaml",
            "run.sh",
            "train.py",
            "requirements.txt",
            "pyproject.toml",
            "config.json",
            "adapter_config.json",
            "sub/train.yaml",
        )
    )
    language = {"json": "json", "yaml": "yaml", "sh": "shell", "py": "python"}.get(extra.rpartition(".")[2])
    files.setdefault(extra, file_text(c, language) if language else edited(c, c.pick(pieces("requirements"))))
    return Case(files, command(c, list(files)))


def settings(c: Choices) -> Case:
    """A settings file with values of the right and of the wrong kind, beside a recipe."""
    lines: list[str] = []
    for name in c.some(sorted(settings_schema()["properties"]), 5):
        lines.append(f"{name} = {c.pick(pieces('toml'))}")
    lines += c.some(pieces("tables"), 3)
    text = edited(c, "\n".join(lines) + "\n")
    name = c.pick(("stablint.toml", "stablint.toml", "pyproject.toml"))
    if name == "pyproject.toml":
        text = "[tool.stablint]\n" + text
    return Case(
        {name: text, "configs/train.yaml": file_text(c, "yaml")},
        ("check", ".", *c.pick(((), ("--diff",), ("--statistics",)))),
    )


def hazards(c: Choices) -> Case:
    """A folder of house hazards: a built-in one with changes, under a code of its own."""
    text = c.pick(hazard_texts())
    for _ in range(c.between(0, 4)):
        lines = text.split("\n")
        at = c.below(len(lines))
        kind = c.below(4)
        if kind == 0:
            lines[at] = lines[at].split(":")[0] + ": " + _yaml_scalar(c, value(c))
        elif kind == 1:
            del lines[at]
        elif kind == 2:
            lines.insert(at, c.pick(lines))
        else:
            lines[at] = c.pick(
                (
                    "when:",
                    "  - item matches '^(a+)+$'",
                    "  - training.learning_rate > x",
                    "each: [training.*]",
                    "  - any: []",
                    "message: '{x}'",
                    "examples: []",
                    "a: &a [*a, *a]",
                    "\tx",
                )
            )
        text = "\n".join(lines)
    return Case(
        {"house/h.yaml": edited(c, text), "train.yaml": file_text(c, "yaml"), "stablint.toml": 'hazards = ["house"]\n'},
        c.pick((("check", "."), ("test-hazards", "house"), ("rules",))),
    )


def baseline(c: Choices) -> Case:
    """A baseline with other content than we write."""
    rows = [{"rule": "P101", "file": "train.yaml", "fingerprint": "0" * 16}] * c.pick((0, 1, 50))
    tree: Any = {"schema_version": 1, "tool": "stablint", "findings": rows}
    for _ in range(c.between(0, 3)):
        _change(c, tree)
    return Case(
        {"base.json": edited(c, json_text(c, tree)), "train.yaml": file_text(c, "yaml")},
        ("check", ".", "--baseline", "base.json"),
    )


KINDS: dict[str, Callable[[Choices], Case]] = {
    "yaml": lambda c: loose(c, "yaml"),
    "json": lambda c: loose(c, "json"),
    "python": lambda c: loose(c, "python"),
    "shell": lambda c: loose(c, "shell"),
    "notebook": lambda c: loose(c, "notebook"),
    "recipes": recipes,
    "folder": folder,
    "project": project,
    "settings": settings,
    "hazards": hazards,
    "baseline": baseline,
}
# Of a hundred cases so many are of each kind; hazards are dearer, since each folder is compiled.
_SHARES = {
    "yaml": 10,
    "json": 6,
    "python": 8,
    "shell": 8,
    "notebook": 4,
    "recipes": 4,
    "folder": 46,
    "project": 8,
    "settings": 4,
    "hazards": 1,
    "baseline": 1,
}
_OF_A_HUNDRED = tuple(kind for kind, share in _SHARES.items() for _ in range(share))


def case(c: Choices) -> Case:
    return KINDS[c.pick(_OF_A_HUNDRED)](c)
