"""The command line: words in, a report out, an exit code for CI. DESIGN §7 is the contract."""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys

from stablint import __version__
from stablint.faults import attempt, debug, said
from stablint.secrets import exit

TYPE_CHECKING = False  # `typing` is not worth its price here
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from stablint.assemble.asked import Options

CLEAN, FOUND, WRONG = 0, 1, 2
INTERRUPTED, PIPE_CLOSED = 130, 141  # as a shell says it of a program that the signal ended
COMMANDS = ("check", "show", "fit", "diagnose", "explain", "rules", "run", "diff", "migrate", "doctor", "init", "test-hazards", "knowledge")  # fmt: skip
_SEVERITIES = ("info", "warning", "error")
_FORMATS = ("full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "markdown", "rdjson")


def script() -> None:
    """The console script. The process ends with its answer: it neither looks for cycles among a thousand parsed files nor takes them apart."""
    gc.disable()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Help texts go there unasked, and hold more than every console can show.
        sys.stdout.reconfigure(errors="backslashreplace")
    exit.guard(sys.argv[1:])  # tracebacks included, which are printed when all else is over
    try:
        code = main()
        exit.flush()
    except KeyboardInterrupt:  # behind the last word, or a second one
        code = INTERRUPTED
    except OSError as error:
        code = _output_failed(error)
    exit.flush_for_good()
    os._exit(code)


def main(arguments: list[str] | None = None) -> int:
    """A command line as words; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if exit.is_guarded():
        return _run(words)
    with exit.guarded(words):
        return _run(words)


def _run(words: list[str]) -> int:
    if (taken := _name_of_a_file(words)) is not None:
        return _refuse(
            f"`{taken}` is an option, and the name of a file in this folder: which of them is meant cannot be known. "
            f"For the file write ./{taken}, or put it behind `--`; for the option rename the file, or call stablint from another folder"
        )
    dashes = "--" in words
    if dashes:
        cut = words.index("--")
        words, extra = words[:cut], words[cut + 1 :]
    else:
        extra = []
    command = words[0] if words and words[0] in COMMANDS else "check"
    if words[:1] == [command]:
        words = words[1:]
    elif not (words or dashes) or words[:1] in (["-h"], ["--help"], ["--version"]):
        return _help(words)
    debug("--debug" in words)
    words = [word for word in words if word != "--debug"]
    try:
        code, error = attempt(_command, command, words, extra)
    except KeyboardInterrupt as interrupt:
        exit.tell(f"interrupted: {str(interrupt) or 'nothing was written'}")
        return 128 + getattr(interrupt, "number", 2)  # as a shell says it of a program that a signal ended
    if code is not None:
        return code
    if isinstance(error, OSError):
        return _output_failed(error)
    return _refuse(
        f"internal error, and no report: {said(error or Exception())}. This is a fault of stablint: please report it with what --debug prints. "
        "To go on without the file that it fails on, check the files one by one"
    )


def _name_of_a_file(words: list[str]) -> str | None:
    """The first word up to two dashes that is an option and a file of this folder. Hooks and globs hand over names bare, and a repository
    may have a file called `--exit-zero`: what is meant cannot be known, so nobody guesses.
    """
    for word in words:
        if word.startswith("-") and os.path.lexists(word):
            return word
        if word == "--":
            break
    return None


def _command(command: str, words: list[str], extra: list[str]) -> int:
    from stablint.knowledge import BrokenKnowledge
    from stablint.options import Wrong

    try:
        if command == "check":
            return _check(words, extra)
        from stablint.commands import run_command

        return run_command(command, words, extra)
    except (Wrong, BrokenKnowledge) as error:
        return _refuse(str(error))


def _output_failed(error: OSError) -> int:
    """A pipe whose reader has gone ends this program without a word; a disk that is full is told."""
    exit.close_output()  # what is still buffered would fail once more at the end
    if isinstance(error, BrokenPipeError):
        return PIPE_CLOSED
    return _refuse(
        f"failed, and the output is not whole: {error.strerror or error}{f' ({error.filename})' if error.filename else ''}"
    )


def _help(words: list[str]) -> int:
    if words[:1] == ["--version"]:
        exit.say(f"stablint {__version__}\n")
        return CLEAN
    exit.say(
        "usage: stablint [check] PATH… [--gpu NAME] [--fix] …\n\n"
        "Reads the files that configure an LLM fine-tuning run and says what will go wrong before a GPU is paid for.\n\n"
        "commands:\n"
        "  check PATH…        lint files and folders (the default command)\n"
        "  show FILE          every effective setting, and where it comes from\n"
        "  fit FILE --gpu …   how much memory it needs on a card, and what would make it fit\n"
        "  diagnose LOG…      which setting made a run fail or its numbers sick, from its log\n"
        "  explain CODE|ID    why a finding is one, when it is none, and the evidence\n"
        "  rules              all rules\n"
        "  run -- COMMAND…    check what a launch command will read, then start it\n"
        "  diff A B           what really differs between two runs\n"
        "  migrate FILE       rewrite it for other releases of the libraries\n"
        "  doctor             this machine: its GPUs and libraries\n"
        "  init               write a commented stablint.toml\n"
        "  test-hazards DIR   run the examples of rules of your own\n"
        "  knowledge audit    what of the rules' sources and examples must be looked at again\n\n"
        "`stablint COMMAND --help` lists the options of a command. With --debug a fault of stablint itself prints where it happened.\n"
    )
    return CLEAN if words else WRONG


def _refuse(message: str) -> int:
    from stablint.report.plain import plain

    exit.tell(plain(exit.masked(message)))
    return WRONG


class Parser(argparse.ArgumentParser):
    """Reads the words of a command. What it refuses, it shows without controls and secrets: they may be names from a repository."""

    def __init__(self, prog: str, **settings: Any) -> None:
        # With its width given argparse does not import shutil to ask the terminal, which it does for every option.
        super().__init__(prog, allow_abbrev=False, formatter_class=_wide, **settings)
        self._named: list[tuple[str, dict[str, Any]]] = []

    def names(self, name: str, **settings: Any) -> None:
        """Declare the files or other names of the command, which stand bare or behind two dashes."""
        self._named.append((name, settings))

    def read(self, words: list[str], extra: list[str]) -> tuple[argparse.Namespace, list[str]]:
        """The words of the command, and the flags as its launcher would get them. `extra` are the words behind two dashes: flags where a name
        stands in front of them; where none does, they are the names, whatever they begin with, up to two more dashes.
        """
        if extra and not self._has_name(words):
            cut = extra.index("--") if "--" in extra else len(extra)
            # A single dash is standard input for those who can mean it, and a file for those who hand over what there is.
            names = [f"./{word}" if word == "-" and os.path.lexists(word) else word for word in extra[:cut]]
            words, extra = [*words, "--", *names], extra[cut + 1 :]
        for name, settings in self._named:
            self.add_argument(name, **settings)
        return self.parse_args(words), extra

    def read_names(self, words: list[str], extra: list[str]) -> argparse.Namespace:
        """The same for a command that hands no flags on."""
        given, flags = self.read(words, extra)
        if flags:
            self.error(f"unrecognized arguments: -- {' '.join(flags)}")
        return given

    def _has_name(self, words: list[str]) -> bool:
        if "-h" in words or "--help" in words:
            return True
        _, rest = self.parse_known_args(words)
        return any(word == "-" or not word.startswith("-") for word in rest)

    def error(self, message: str) -> NoReturn:
        from stablint.report.plain import plain

        self.print_usage(exit.stream(error=True))
        self.exit(WRONG, f"{self.prog}: error: {plain(exit.masked(message))}\n")


def run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--gpu",
        action="append",
        default=[],
        metavar="NAME[ xN]",
        help="the GPU the run will have; repeat it to check several targets",
    )
    parser.add_argument("--model", metavar="ID_OR_DIR", help="the model, where the files do not name it")
    parser.add_argument(
        "--with",
        dest="releases",
        action="append",
        default=[],
        metavar="PKG==VERSION",
        help="the release of a library, any PEP 440 specifier",
    )
    parser.add_argument(
        "--set",
        dest="sets",
        action="append",
        default=[],
        metavar="FACT=VALUE",
        help="override a fact, such as training.learning_rate=1e-5",
    )
    parser.add_argument("--dialect", metavar="NAME", help="read keyed files as this dialect")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    parser.add_argument(
        "--allow-outside", action="store_true", help="follow links to files outside the repository or the named folder"
    )


def settings_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="the settings file for all, instead of the stablint.toml or pyproject.toml nearest to each file",
    )
    parser.add_argument("--isolated", action="store_true", help="read no settings file")


def project_options(given: argparse.Namespace, paths: list[str], extra: list[str]) -> Options:
    """What the command line says, and the settings of the project under it."""
    from stablint.project import options_of

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
                if word.strip() not in _FORMATS:
                    parser.error(f"--output-format {word.strip()}: one of {', '.join(_FORMATS)}")
                said.append(("format", word.strip()))
        namespace.outputs = said


def _wide(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, width=110)


def _check(words: list[str], extra: list[str]) -> int:
    parser = Parser("stablint check", description="Lint training configurations.")
    parser.names("paths", nargs="+", metavar="PATH", help="files and folders; - reads standard input")
    run_options(parser)
    settings_options(parser)
    parser.add_argument(
        "--stdin-filename",
        metavar="NAME",
        help="the name, and with its suffix the format, of what comes on standard input",
    )
    parser.add_argument("--fix", action="store_true", help="write the safe fixes")
    parser.add_argument("--unsafe-fixes", action="store_true", help="with --fix or --diff: the unsafe ones as well")
    parser.add_argument("--diff", action="store_true", help="print the fixes as a patch and write nothing")
    parser.add_argument(
        "--select", default="", metavar="CODES", help="only these rules: codes, their beginnings, or ids, with commas"
    )
    parser.add_argument("--ignore", default="", metavar="CODES", help="not these rules")
    parser.add_argument("--fail-on", choices=_SEVERITIES, help="exit with 1 from this severity on (default: error)")
    parser.add_argument(
        "--min-evidence", choices=_GRADES, metavar="GRADE", help=f"weakest evidence that is shown: {', '.join(_GRADES)}"
    )
    parser.add_argument(
        "--output-format",
        dest="outputs",
        action=_Said,
        default=[],
        metavar="FORMATS",
        help=f"one or several of {', '.join(_FORMATS)}",
    )
    parser.add_argument(
        "--output-file",
        dest="outputs",
        action=_Said,
        metavar="FILE",
        help="where the format before it goes; repeat both for several",
    )
    parser.add_argument(
        "--statistics", action="store_true", help="how often each rule is found, instead of the findings"
    )
    parser.add_argument(
        "--hide-suppressed",
        action="store_true",
        help="leave what comments, settings and baselines accept out of the formats for programs as well",
    )
    parser.add_argument("--show-facts", action="store_true", help="also every effective setting of each run")
    parser.add_argument("--baseline", metavar="FILE", help="findings in this file are accepted")
    parser.add_argument(
        "--write-baseline", action="store_true", help="accept all that is found now: write the file of --baseline"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="accepted for scripts; one process is enough")
    parser.add_argument(
        "--skip-unrecognised",
        action="store_true",
        help="no error if nothing that was named is a training configuration",
    )
    parser.add_argument("--exit-zero", action="store_true", help="exit with 0 whatever is found")
    parser.add_argument("--quiet", action="store_true", help="print findings only")
    parser.add_argument(
        "--verbose",
        action="store_true",
        help="also say which files were skipped, and why, and which checks wait for what",
    )
    given, flags = parser.read(words, extra)
    from stablint.checking import run_check

    words_of = [given.stdin_filename or "stdin" if path == "-" else path for path in given.paths]
    return run_check(given, project_options(given, words_of, flags))


_GRADES = ("folklore", "reported", "reproduced", "maintainer-confirmed", "proven-in-source")


if __name__ == "__main__":
    script()
