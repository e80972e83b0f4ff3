"""`stablint completion`: scripts by which a shell completes commands, options and the values that there is a list of. All else are files.

The scripts are made from the parsers themselves, and hold everything: completing a word starts no program.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator
from typing import NamedTuple

from stablint.base import knowledge
from stablint.commands.parsers import COMMANDS
from stablint.config.arguments import check_parser
from stablint.config.spec import CLEAN, FORMATS
from stablint.frameworks.registry import NAMES
from stablint.run.forms import forms
from stablint.secrets import exit

_LONG = 20  # a longer list has a name of its own in a script


class Option(NamedTuple):
    """`values` is None for a switch, empty for what is a file or free text."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...] | None


class Words(NamedTuple):
    """What may stand behind a command."""

    command: str
    help: str
    options: tuple[Option, ...]
    names: tuple[str, ...]  # of what stands bare, where there is a list


def run_completion(given: argparse.Namespace) -> int:
    exit.hand_over(_SCRIPTS[given.shell](list(_commands())))
    return CLEAN


def _commands() -> Iterator[Words]:
    # A card may be written with a dash for each space, so that nothing need be quoted.
    cards = sorted({label.replace(" ", "-") for label in knowledge.load("gpus")["labels"].values()})
    codes = tuple(sorted(text["code"] for text in knowledge.rows("texts").whole().values()))
    # Values that the parser takes as free text, since a longer form of each is right as well.
    listed = {
        "--gpu": ("auto", *cards), "--output-format": FORMATS, "--select": codes, "--ignore": codes, "--dialect": NAMES,
    }  # fmt: skip
    bare = {"schema": tuple(forms()), "explain": codes}
    for name, parser in [("check", check_parser()), *((name, one.words()) for name, one in COMMANDS.items())]:
        options, names = [], list(bare.get(name, ()))
        tasks = [parser]
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                names += action.choices
                tasks += action.choices.values()
        for action in [action for task in tasks for action in task._actions]:
            if action.option_strings:
                values = tuple(map(str, action.choices or listed.get(action.option_strings[0], ())))
                takes = action.nargs != 0
                options.append(Option(tuple(action.option_strings), action.help or "", values if takes else None))
        for _, settings in parser.named:
            names += settings.get("choices", ())
        yield Words(name, (parser.description or "").partition(".")[0], tuple(dict.fromkeys(options)), tuple(names))


def _long(commands: list[Words]) -> dict[tuple[str, ...], str]:
    """Lists that several commands share stand once in a script, under these names."""
    lists = [words for one in commands for words in (one.names, *(option.values or () for option in one.options))]
    return {words: f"list{n}" for n, words in enumerate(dict.fromkeys(words for words in lists if len(words) > _LONG))}


def _bash(commands: list[Words]) -> str:
    long = _long(commands)

    def words_of(values: tuple[str, ...]) -> str:
        return f"words=${long[values]}" if values in long else f"words={shlex.quote(' '.join(values))}"

    def cases(rows: Iterator[tuple[str, str]]) -> str:
        return "".join(f"    {head}) {does} ;;\n" for head, does in rows)

    values = (
        (" | ".join(f"{shlex.quote(f'{one.command} {name}')}" for name in option.names), words_of(option.values))
        for one in commands for option in one.options if option.values
    )  # fmt: skip
    files = (
        (" | ".join(f"{shlex.quote(f'{one.command} {name}')}" for name in option.names), "words= files=1")
        for one in commands for option in one.options if option.values == ()
    )  # fmt: skip
    options = (
        (one.command, f"words={shlex.quote(' '.join(name for option in one.options for name in option.names))}")
        for one in commands
    )
    bare = ((one.command, f"{words_of(one.names)}; ((COMP_CWORD == 2)) && files=") for one in commands if one.names)
    lists = "".join(f"  local {name}={shlex.quote(' '.join(words))}\n" for words, name in long.items())
    names = " ".join(one.command for one in commands)
    return f"""\
_stablint() {{
  local word words= files= command=check current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
{lists}  case ${{COMP_WORDS[1]}} in
    {names.replace(" ", " | ")}) ((COMP_CWORD > 1)) && command=${{COMP_WORDS[1]}} ;;
  esac
  case "$command $before" in
{cases(values)}{cases(files)}    *) case $current in
    -*) case $command in
{cases(options)}    esac ;;
    *) files=1
    case $command in
{cases(bare)}    esac
    ((COMP_CWORD == 1)) && words={shlex.quote(names)} ;;
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  local IFS=$'\\n'
  COMPREPLY+=(${{files:+$(compgen -f -- "$current")}})
}}
complete -o filenames -o bashdefault -F _stablint stablint
"""


def _zsh(commands: list[Words]) -> str:
    long = _long(commands)

    def words_of(values: tuple[str, ...]) -> str:
        return f"('${long[values]}')" if values in long else f"({' '.join(values)})"

    def row(option: Option) -> Iterator[str]:
        for name in option.names:
            said = f"[{_zsh_text(option.help)}]"
            if option.values is None:
                yield f"'*{name}{said}'"
            else:
                what = words_of(option.values) if option.values else "_files"
                yield f"'*{name}{said}:value:{what}'"

    def case(one: Words) -> str:
        bare = f"'*:name:{words_of(one.names)}'" if one.names else "'*:file:_files'"
        lines = [line for option in one.options for line in row(option)] + [bare]
        return f"    {one.command}) _arguments -S \\\n" + " \\\n".join(f"      {line}" for line in lines) + " ;;\n"

    lists = "".join(f"  local {name}='{' '.join(words)}'\n" for words, name in long.items())
    table = "\n".join(f"    '{one.command}:{_zsh_text(one.help)}'" for one in commands)
    return f"""\
#compdef stablint
_stablint() {{
{lists}  local -a commands
  commands=(
{table}
  )
  local command=check
  if ((CURRENT > 2)) && (($commands[(I)$words[2]:*])); then
    command=$words[2]
    shift words
    ((CURRENT--))
  elif ((CURRENT == 2)) && [[ $words[2] != -* ]]; then
    _describe command commands
  fi
  case $command in
{"".join(case(one) for one in commands)}  esac
}}
if [[ $funcstack[1] == _stablint ]]; then _stablint "$@"; else compdef _stablint stablint; fi
"""


def _zsh_text(text: str) -> str:
    for character in "\\[]:":
        text = text.replace(character, f"\\{character}")
    return text.replace("'", "'\\''").replace("%%", "%")


def _fish(commands: list[Words]) -> str:
    long = _long(commands)

    def words_of(values: tuple[str, ...]) -> str:
        return f'"$stablint_{long[values]}"' if values in long else shlex.quote(" ".join(values))

    names = " ".join(one.command for one in commands)
    lines = [f"set -l stablint_{name} {shlex.quote(' '.join(words))}" for words, name in long.items()]
    lines += [
        f"complete -c stablint -n __fish_use_subcommand -a {one.command} -d {_fish_text(one.help)}" for one in commands
    ]
    for one in commands:
        seen = f"__fish_seen_subcommand_from {one.command}"
        when = shlex.quote(f"not __fish_seen_subcommand_from {names}; or {seen}" if one.command == "check" else seen)
        if one.names:
            lines.append(f"complete -c stablint -f -n {when} -a {words_of(one.names)}")
        for option in one.options:
            flags = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            value = "" if option.values is None else " -r"
            if option.values:
                value = f" -x -a {words_of(option.values)}"
            lines.append(f"complete -c stablint -n {when} {flags}{value} -d {_fish_text(option.help)}")
    return "\n".join(lines) + "\n"


def _fish_text(text: str) -> str:
    return "'" + text.replace("%%", "%").replace("\\", "\\\\").replace("'", "\\'") + "'"


_SCRIPTS: dict[str, Callable[[list[Words]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
