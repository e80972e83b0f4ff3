"""The command line: words in, a report out, an exit code for CI. DESIGN §7 is the contract."""

from __future__ import annotations

import gc
import io
import os
import sys
from contextlib import suppress

from stablint import __version__, starting
from stablint.base import knowledge, language
from stablint.base.language import gettext
from stablint.commands import check, parsers
from stablint.config import options
from stablint.config.spec import CLEAN, COMMANDS, FOR_PEOPLE, WRONG
from stablint.files.faults import attempt, debug, said
from stablint.report import plain
from stablint.secrets import exit

PIPE_CLOSED = 141  # as a shell says it of a program that the signal ended


def script() -> None:
    """What the console script does. The process ends with its answer: it neither looks for cycles among a thousand parsed files nor takes them apart."""
    gc.disable()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Help texts go there unasked, and hold more than every console can show.
        sys.stdout.reconfigure(errors="backslashreplace")
    if (
        sys.stdin is None
    ):  # closed by whoever has started it: then nothing comes from there, and no file that is opened takes its place
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    exit.guard(sys.argv[1:])  # tracebacks included, which are printed when all else is over
    try:
        try:
            code = main()
        except (
            SystemExit
        ) as end:  # argparse has said why; Python's own end would fail once more where nobody can be told
            code = end.code if isinstance(end.code, int) else CLEAN
        exit.flush()
    except KeyboardInterrupt:  # a second one
        code = starting.INTERRUPTED
    except OSError as error:
        code = _output_failed(error)
    starting.is_over()
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
    try:
        os.getcwd()
    except FileNotFoundError:
        return _refuse(gettext("the folder that it was started in does not exist any more: change to another one"))
    if (taken := _name_of_a_file(words)) is not None:
        return _refuse(
            gettext(
                "`{taken}` is an option, and the name of a file in this folder: which of them is meant cannot be known. "
                "For the file write ./{taken}, or put it behind `--`; "
                "for the option rename the file, or call stablint from another folder"
            ).format(taken=taken)
        )
    dashes = "--" in words
    if dashes:
        cut = words.index("--")
        words, extra = words[:cut], words[cut + 1 :]
    else:
        extra = []
    debug("--debug" in words)
    try:
        words = _speaking([word for word in words if word != "--debug"])
    except ValueError as wrong:
        return _refuse(str(wrong))
    command = words[0] if words and words[0] in COMMANDS else "check"
    if words[:1] == [command]:
        words = words[1:]
    elif not (words or dashes) or words[:1] in (["-h"], ["--help"], ["--version"]):
        return _help(words)
    try:
        starting.answers_itself()
        code, error = attempt(_command, command, words, extra)
    except KeyboardInterrupt as interrupt:
        exit.tell(gettext("interrupted: {interrupt}").format(interrupt=str(interrupt) or "nothing was written"))
        return 128 + getattr(interrupt, "number", 2)  # as a shell says it of a program that a signal ended
    if code is not None:
        return code
    if isinstance(error, OSError):
        return _output_failed(error)
    return _refuse(
        gettext(
            "internal error, and no report: {error}. This is a fault of stablint: please report it with what --debug prints. "
            "To go on without the file that it fails on, check the files one by one"
        ).format(error=said(error or Exception()))
    )


def _formats(words: list[str]) -> set[str]:
    """The formats that a command line asks for, right or wrong."""
    said = [word.partition("=")[2] for word in words if word.startswith("--output-format=")]
    said += [words[place] for place, option in enumerate(words[:-1], 1) if option == "--output-format"]
    return {name.strip() for value in said for name in value.split(",")}


def _speaking(words: list[str]) -> list[str]:
    """The words without `--lang`, in whose language the command speaks: else in the locale's, where only people read it. What programs read stays
    English, so that a report is the same on every machine. Raises ValueError for a language that has no catalogue."""
    said, rest = "", []
    place = iter(words)
    for word in place:
        if word == "--lang":
            said = next(place, "")
        elif word.startswith("--lang="):
            said = word.partition("=")[2]
        else:
            rest.append(word)
            continue
        if said not in language.LANGUAGES:
            raise ValueError(f"--lang {said}: one of {', '.join(language.LANGUAGES)}")
    for_programs = rest[:1] == ["server"] or bool(_formats(rest) - FOR_PEOPLE)
    wanted = said or (language.ENGLISH if for_programs else language.by_locale())
    if said or wanted != language.spoken():
        try:
            language.speak(wanted, asked=bool(said))
        except ValueError as error:
            if said:
                raise ValueError(f"--lang {said}: {error}") from error
    return rest


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
    try:
        if command == "check":
            return check.check_command(words, extra)
        return parsers.run_command(command, words, extra)
    except (options.Wrong, knowledge.BrokenKnowledge) as error:
        return _refuse(str(error))


def _output_failed(error: OSError) -> int:
    """A pipe whose reader has gone ends this program without a word; a disk that is full is told."""
    exit.close_output()  # what is still buffered would fail once more at the end
    if isinstance(error, BrokenPipeError):
        return PIPE_CLOSED
    with suppress(OSError, ValueError):  # standard error may be the one that failed
        _refuse(
            gettext("failed, and the output is not whole: {strerror}{file}").format(
                strerror=error.strerror or error, file=f" ({error.filename})" if error.filename else ""
            )
        )
    return WRONG


_SUMMARIES = (
    ("check PATH…", "lint files and folders (the default command)"),
    ("show FILE", "every effective setting, and where it comes from"),
    ("fit FILE --gpu …", "how much memory it needs on a card, and what would make it fit"),
    ("advise FILE", "what would be better: stability, memory, speed, each with its edit and proof"),
    ("new --model …", "write a configuration that fits your cards"),
    ("diagnose LOG…", "which setting made a run fail or its numbers sick, from its log"),
    ("watch LOG", "the same while the log grows; ends at the first sign of sickness"),
    ("explain CODE|ID", "why a finding is one, when it is none, and the evidence"),
    ("rules", "all rules, or those that --select names"),
    ("config [PATH]", "every setting that holds for a file, and which line says it"),
    ("run -- COMMAND…", "check what a launch command will read, then start it"),
    ("diff A B", "what really differs between two runs"),
    ("migrate FILE", "rewrite it for other releases of the libraries"),
    ("doctor", "this machine: its GPUs and libraries"),
    ("init", "write a commented stablint.toml"),
    ("schema NAME", "the JSON Schema of a framework's configuration, for editors"),
    ("server", "the language server, for editors"),
    ("completion SHELL", "completion of commands and options for bash, zsh and fish"),
    ("test-hazards DIR", "run the examples of rules of your own"),
    ("knowledge audit", "what of the rules' sources and examples must be looked at again"),
)


def _help(words: list[str]) -> int:
    if words[:1] == ["--version"]:
        exit.say(f"stablint {__version__}\n")
        return CLEAN
    gettext = language.gettext
    exit.say(
        gettext("usage: ")
        + "stablint [check] PATH… [--gpu NAME] [--fix] …\n\n"
        + gettext(
            "Reads the files that configure an LLM fine-tuning run and says what will go wrong before a GPU is paid for."
        )
        + f"\n\n{gettext('commands:')}\n"
        + "".join(f"  {usage:<18} {gettext(what)}\n" for usage, what in _SUMMARIES)
        + f"\n{gettext('`stablint COMMAND --help` lists the options of a command. With --debug a fault of stablint itself prints where it happened.')}\n"
        + f"{gettext('With --lang zh it speaks Chinese, as it does where the locale (LC_ALL, LC_MESSAGES, LANG) is Chinese and people read.')}\n"
    )
    return CLEAN if words else WRONG


def _refuse(message: str) -> int:
    exit.tell(plain.plain(exit.masked(message)))
    return WRONG


if __name__ == "__main__":
    script()
