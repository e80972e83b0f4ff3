"""The command line: words in, a report out, an exit code for CI. DESIGN §7 is the contract."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from stablint import __version__

CLEAN, FOUND, WRONG = 0, 1, 2
_SEVERITIES = ("info", "warning", "error")
_FORMATS = ("full", "concise", "json")


def main(arguments: list[str] | None = None) -> int:
    """Entry point of the console script; returns the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if "--" in words:
        cut = words.index("--")
        words, extra = words[:cut], words[cut + 1 :]
    else:
        extra = []
    command = words[0] if words and words[0] in _COMMANDS else "check"
    if words[:1] == [command]:
        words = words[1:]
    elif not words or words[0] in ("-h", "--help", "--version"):
        return _help(words)
    from stablint.options import Wrong

    try:
        return _COMMANDS[command](words, extra)
    except Wrong as error:
        return _refuse(str(error))
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FOUND


def _help(words: list[str]) -> int:
    if words[:1] == ["--version"]:
        print(f"stablint {__version__}")
        return CLEAN
    print(
        "usage: stablint [check] PATH… [--gpu NAME] [--fix] …\n\n"
        "Reads the files that configure an LLM fine-tuning run and says what will go wrong before a GPU is paid for.\n\n"
        "commands:\n"
        "  check PATH…        lint files and folders (the default command)\n"
        "  show FILE          every effective setting, and where it comes from\n"
        "  explain CODE|ID    why a finding is one, when it is none, and the evidence\n"
        "  rules              all rules\n\n"
        "`stablint COMMAND --help` lists the options of a command."
    )
    return CLEAN if words else WRONG


def _refuse(message: str) -> int:
    from stablint.report.masking import mask
    from stablint.report.plain import plain

    print("stablint: " + plain(mask(message)), file=sys.stderr)
    return WRONG


def _run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gpu", action="append", default=[], metavar="NAME[ xN]", help="the GPU the run will have; repeat it to check several targets")
    parser.add_argument("--model", metavar="ID_OR_DIR", help="the model, where the files do not name it")
    parser.add_argument("--with", dest="releases", action="append", default=[], metavar="PKG==VERSION", help="the release of a library, any PEP 440 specifier")
    parser.add_argument("--set", dest="sets", action="append", default=[], metavar="FACT=VALUE", help="override a fact, such as training.learning_rate=1e-5")
    parser.add_argument("--dialect", metavar="NAME", help="read keyed files as this dialect")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    parser.add_argument("--allow-outside", action="store_true", help="follow links to files outside the repository or the named folder")


def _options(given: argparse.Namespace, extra: list[str]):  # type: ignore[no-untyped-def]
    from stablint.options import options

    root = os.path.abspath(os.sep) if given.allow_outside else None
    return options(given.gpu, given.model, given.releases, given.sets, extra, given.dialect, root)


def _check(words: list[str], extra: list[str]) -> int:
    parser = argparse.ArgumentParser("stablint check", description="Lint training configurations.", allow_abbrev=False)
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files and folders; - reads standard input")
    _run_options(parser)
    parser.add_argument("--stdin-filename", metavar="NAME", help="the name, and with its suffix the format, of what comes on standard input")
    parser.add_argument("--fix", action="store_true", help="write the safe fixes")
    parser.add_argument("--unsafe-fixes", action="store_true", help="with --fix or --diff: the unsafe ones as well")
    parser.add_argument("--diff", action="store_true", help="print the fixes as a patch and write nothing")
    parser.add_argument("--select", default="", metavar="CODES", help="only these rules: codes, their beginnings, or ids, with commas")
    parser.add_argument("--ignore", default="", metavar="CODES", help="not these rules")
    parser.add_argument("--fail-on", choices=_SEVERITIES, default="error", help="exit with 1 from this severity on (default: error)")
    parser.add_argument("--min-evidence", choices=_GRADES, default="reported", metavar="GRADE", help=f"weakest evidence that is shown: {', '.join(_GRADES)}")
    parser.add_argument("--output-format", choices=_FORMATS, default="full")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="accepted for scripts; one process is enough")
    parser.add_argument("--skip-unrecognised", action="store_true", help="no error if nothing that was named is a training configuration")
    parser.add_argument("--exit-zero", action="store_true", help="exit with 0 whatever is found")
    parser.add_argument("--quiet", action="store_true", help="print findings only")
    parser.add_argument("--verbose", action="store_true", help="also say which files were skipped, and why")
    given = parser.parse_args(words)
    from stablint.checking import run_check

    return run_check(given, _options(given, extra))


_GRADES = ("folklore", "reported", "reproduced", "maintainer-confirmed", "proven-in-source")


def _show(words: list[str], extra: list[str]) -> int:
    parser = argparse.ArgumentParser("stablint show", description="Every effective setting, and where it comes from.", allow_abbrev=False)
    parser.add_argument("paths", nargs="+", metavar="FILE")
    _run_options(parser)
    parser.add_argument("--output-format", choices=("full", "json"), default="full")
    given = parser.parse_args(words)
    from stablint.showing import run_show

    return run_show(given, _options(given, extra))


def _explain(words: list[str], extra: list[str]) -> int:
    parser = argparse.ArgumentParser("stablint explain", description="Why a finding is one, and the evidence.", allow_abbrev=False)
    parser.add_argument("rules", nargs="+", metavar="CODE|ID")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    given = parser.parse_args(words)
    from stablint.showing import run_explain

    return run_explain(given)


def _rules(words: list[str], extra: list[str]) -> int:
    parser = argparse.ArgumentParser("stablint rules", description="All rules.", allow_abbrev=False)
    parser.add_argument("--output-format", choices=("full", "json"), default="full")
    given = parser.parse_args(words)
    from stablint.showing import run_rules

    return run_rules(given)


_COMMANDS: dict[str, Callable[[list[str], list[str]], int]] = {"check": _check, "show": _show, "explain": _explain, "rules": _rules}

if __name__ == "__main__":
    sys.exit(main())
