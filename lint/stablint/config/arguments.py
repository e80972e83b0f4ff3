"""The words of commands, read by argparse: loaded where a command line is more than names and switches."""

from __future__ import annotations

import argparse
import os
import re
from typing import TYPE_CHECKING, Any, NoReturn

from stablint.base.language import ENGLISH, gettext, spoken
from stablint.base.libraries import difflib
from stablint.base.meant import did_you_mean
from stablint.config.project import options_of
from stablint.config.spec import CHECK_OPTIONS, FORMATS, RUN_OPTIONS, SETTINGS_OPTIONS, WRONG
from stablint.report import plain
from stablint.secrets import exit

if TYPE_CHECKING:
    from stablint.assemble.asked import Options
    from stablint.config.spec import Table


class Parser(argparse.ArgumentParser):
    """Reads the words of a command. What it refuses, it shows without controls and secrets: they may be names from a repository."""

    def __init__(self, prog: str, **settings: Any) -> None:
        # With its width given argparse does not import shutil to ask the terminal, which it does for every option.
        super().__init__(prog, allow_abbrev=False, formatter_class=_wide, add_help=False, **_told(settings))
        self.add_argument(
            "-h", "--help", action="help", default=argparse.SUPPRESS, help="show this help message and exit"
        )
        self._positionals.title, self._optionals.title = gettext("positional arguments"), gettext("options")
        self.named: list[tuple[str, dict[str, Any]]] = []

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        return super().add_argument(*names, **_told(settings))

    def format_usage(self) -> str:
        return _in_words(super().format_usage())

    def format_help(self) -> str:
        return _in_words(super().format_help())

    def names(self, name: str, **settings: Any) -> None:
        """Declare the files or other names of the command, which stand bare or behind two dashes."""
        self.named.append((name, settings))

    def read(self, words: list[str], extra: list[str]) -> tuple[argparse.Namespace, list[str]]:
        """The words of the command, and the flags as its launcher would get them. `extra` are the words behind two dashes: flags where a name
        stands in front of them; where none does, they are the names, whatever they begin with, up to two more dashes.
        """
        if extra and not self._has_name(words):
            cut = extra.index("--") if "--" in extra else len(extra)
            # A single dash is standard input for those who can mean it, and a file for those who hand over what there is.
            names = [f"./{word}" if word == "-" and os.path.lexists(word) else word for word in extra[:cut]]
            words, extra = [*words, "--", *names], extra[cut + 1 :]
        for name, settings in self.named:
            self.add_argument(name, **settings)
        return self.parse_args(words), extra

    def read_names(self, words: list[str], extra: list[str]) -> argparse.Namespace:
        """The same for a command that hands no flags on."""
        given, flags = self.read(words, extra)
        if flags:
            self.error(gettext("unrecognized arguments: -- {names}").format(names=" ".join(flags)))
        return given

    def _has_name(self, words: list[str]) -> bool:
        if "-h" in words or "--help" in words:
            return True
        _, rest = self.parse_known_args(words)
        return any(word == "-" or not word.startswith("-") for word in rest)

    def error(self, message: str) -> NoReturn:
        self.print_usage(exit.stream(error=True))
        self.exit(
            WRONG,
            f"{self.prog}: {gettext('error')}: {plain.plain(exit.masked(_refusal(message)))}{self._meant(message)}\n",
        )

    def _meant(self, message: str) -> str:
        """The options that are near to those that nobody knows, or that take the word which another was given: `--method dpo`."""
        if choice := _CHOICE.match(message):
            actions = [one for one in self._actions if choice["word"] in (one.choices or ())]
            return did_you_mean(f"{one.option_strings[-1]} {choice['word']}" for one in actions if one.option_strings)
        told, strangers = message.partition("unrecognized arguments: ")[1:]
        words = [word.partition("=")[0] for word in strangers.split() if word.startswith("-")] if told else []
        near = [
            close for word in words for close in difflib.get_close_matches(word, self._option_string_actions, 1, 0.7)
        ]
        return did_you_mean(dict.fromkeys(near))


_CHOICE = re.compile(r"argument [^:]*: invalid choice: '(?P<word>[^']*)'")
# What argparse says of itself, in the words of its own catalogue (Lib/argparse.py): the English sentence, and its holes.
_REFUSALS = (
    (r"the following arguments are required: (?P<names>.*)", "the following arguments are required: {names}"),
    (r"unrecognized arguments: (?P<names>.*)", "unrecognized arguments: {names}"),
    (r"argument (?P<name>[^:]*): expected one argument", "argument {name}: expected one argument"),
    (r"argument (?P<name>[^:]*): expected at least one argument", "argument {name}: expected at least one argument"),
    (r"argument (?P<name>[^:]*): ignored explicit argument (?P<value>.*)", "argument {name}: takes no value, and {value} is given"),
    (r"argument (?P<name>[^:]*): invalid choice: (?P<value>.*) \(choose from (?P<names>.*)\)", "argument {name}: {value} is none of {names}"),
    (r"argument (?P<name>[^:]*): invalid \w+ value: (?P<value>.*)", "argument {name}: {value} is no number of this kind"),
)  # fmt: skip


def _refusal(message: str) -> str:
    """The sentence of argparse in the language that is spoken."""
    if spoken() == ENGLISH:
        return message
    for shape, words in _REFUSALS:
        if found := re.fullmatch(shape, message, re.S):
            return gettext(words).format(**found.groupdict())
    return message


def _in_words(text: str) -> str:
    return text.replace("usage: ", gettext("usage: "), 1) if text.startswith("usage: ") else text


def _told(settings: dict[str, Any]) -> dict[str, Any]:
    """What argparse prints of a command or an option, in the language that is spoken."""
    words = {
        key: gettext(settings[key]) for key in ("help", "description", "epilog") if isinstance(settings.get(key), str)
    }
    return {**settings, **words}


def declare(parser: argparse.ArgumentParser, options: Table) -> None:
    for name, settings in options:
        parser.add_argument(name, **(settings | {"action": _Said} if settings.get("action") == "said" else settings))


def run_options(parser: argparse.ArgumentParser) -> None:
    declare(parser, RUN_OPTIONS)


def settings_options(parser: argparse.ArgumentParser) -> None:
    declare(parser, SETTINGS_OPTIONS)


def check_parser() -> Parser:
    parser = Parser("stablint check", description="Lint training configurations.")
    parser.names("paths", nargs="+", metavar="PATH", help="files and folders; - reads standard input")
    run_options(parser)
    settings_options(parser)
    declare(parser, CHECK_OPTIONS)
    return parser


def project_options(given: argparse.Namespace, paths: list[str], extra: list[str]) -> Options:
    """What the command line says, and the settings of the project under it."""
    return options_of(given, extra, paths)


class _Said(argparse.Action):
    """Formats and files in the order in which they are given; a word may hold several formats, with commas."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        said = list(namespace.outputs)
        if option_string == "--output-file":
            said.append(("file", str(values)))
        else:
            for word in str(values).split(","):
                if word.strip() not in FORMATS:
                    parser.error(
                        gettext("--output-format {format}: one of {names}").format(
                            format=word.strip(), names=", ".join(FORMATS)
                        )
                    )
                said.append(("format", word.strip()))
        namespace.outputs = said


def _wide(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, width=110)
