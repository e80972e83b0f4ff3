"""The commands beside `check`: their words, and who answers them. Loaded when one of them is called."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

from stablint.assemble.asked import Options
from stablint.base.language import gettext
from stablint.commands import (
    advise,
    completion,
    config,
    diagnose,
    diff,
    doctor,
    fit,
    house,
    init,
    knowledge_audit,
    knowledge_template,
    migrate,
    schema,
    server,
    show,
    watch,
)
from stablint.commands import new as new_configuration
from stablint.commands import run as run_launcher
from stablint.config.arguments import Parser, project_options, run_options, settings_options


def _file_parser(
    name: str, description: str, files: str = "FILE", formats: tuple[str, ...] = ("full", "json")
) -> Parser:
    """Of a command that is given files of runs, and what `check` takes about them."""
    parser = Parser(name, description=description)
    parser.names("paths", nargs="+", metavar=files)
    run_options(parser)
    settings_options(parser)
    parser.add_argument("--output-format", choices=formats, default="full")
    return parser


def _show_words() -> Parser:
    parser = _file_parser("stablint show", "Every effective setting, and where it comes from.")
    parser.add_argument("--all", action="store_true", help="also the facts that rules ask for, in the text as in JSON")
    return parser


def _show(parser: Parser, words: list[str], extra: list[str]) -> int:
    given, flags = parser.read(words, extra)
    return show.run_show(given, project_options(given, given.paths, flags))


def _fit_words() -> Parser:
    parser = _file_parser(
        "stablint fit",
        "How much memory a run needs on a card, and what would make it fit. Exit code: 0 fits, 1 does not, 2 cannot be said.",
    )
    parser.add_argument("--apply", type=int, metavar="N", help="write the change of this number into the files")
    parser.add_argument("--plot", metavar="FILE.svg", help="draw what lies on the card at each moment of a step")
    return parser


def _fit(parser: Parser, words: list[str], extra: list[str]) -> int:
    given, flags = parser.read(words, extra)
    return fit.run_fit(given, project_options(given, given.paths, flags))


def _log_parser(name: str, description: str) -> Parser:
    """Of a command that is given logs and the run's files, in any order."""
    return _file_parser(name, description, "LOG|FILE", ("full", "json", "markdown"))


def _log_settings(given: argparse.Namespace, flags: list[str]) -> Options:
    return project_options(given, [path for path in given.paths if path != "-"] or ["."], flags)


def _advise_words() -> Parser:
    parser = _file_parser(
        "stablint advise",
        "What would be better: at most seven improvements, stability before memory before speed, each with its edit, what it brings "
        "and how that is known. Nothing that check says. Exit code: 0 said, empty or not; 2 nothing could be read.",
    )
    parser.add_argument("--apply", type=int, metavar="N", help="write the improvement of this number into the files")
    return parser


def _advise(parser: Parser, words: list[str], extra: list[str]) -> int:
    given, flags = parser.read(words, extra)
    return advise.run_advise(given, project_options(given, given.paths, flags))


def _diagnose_words() -> Parser:
    parser = _log_parser(
        "stablint diagnose",
        "From the log of a failed or sick run to the setting that causes it: logs and the run's files, in any order. "
        "Exit code: 0 nothing known matches, or --fix has repaired all that is certain or likely; 1 a cause is named; 2 wrong usage.",
    )
    parser.add_argument("--verbose", action="store_true", help="list what looks like trouble and is none")
    parser.add_argument(
        "--plot",
        metavar="FILE.svg",
        help="draw loss, gradient norm, rate and scale, with the steps of the causes marked",
    )
    parser.add_argument(
        "--fix", action="store_true", help="write the safe repair of each cause that is certain or likely"
    )
    parser.add_argument("--unsafe-fixes", action="store_true", help="with --fix or --diff: the unsafe ones as well")
    parser.add_argument("--diff", action="store_true", help="print these repairs as a patch and write nothing")
    return parser


def _diagnose(parser: Parser, words: list[str], extra: list[str]) -> int:
    given, flags = parser.read(words, extra)
    return diagnose.run_diagnose(given, _log_settings(given, flags))


def _watch_words() -> Parser:
    parser = _log_parser(
        "stablint watch",
        "The same as diagnose while the log grows: it ends with 1 at the first cause that is certain or likely, and with 0 where the log "
        "stands still for --idle or standard input ends. Exit code: 2 wrong usage, 130 Ctrl-C.",
    )
    parser.set_defaults(verbose=False)
    parser.add_argument("--on-sick", metavar="COMMAND", help="what a shell runs then, such as 'scancel $SLURM_JOB_ID'")
    parser.add_argument(
        "--at",
        choices=("certain", "likely"),
        default="likely",
        help="how sure a cause must be to end it (default: likely)",
    )
    parser.add_argument("--interval", type=float, default=2.0, metavar="SECONDS", help="between two looks (default: 2)")
    parser.add_argument(
        "--idle", type=float, metavar="SECONDS", help="end when nothing was written for so long (default: never)"
    )
    return parser


def _watch(parser: Parser, words: list[str], extra: list[str]) -> int:
    given, flags = parser.read(words, extra)
    return watch.run_watch(given, _log_settings(given, flags))


def _explain_words() -> Parser:
    parser = Parser("stablint explain", description="Why a finding is one, and the evidence.")
    parser.names("rules", nargs="+", metavar="CODE|ID")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    parser.add_argument("--output-format", choices=("full", "json"), default="full")
    settings_options(parser)
    return parser


def _explain(parser: Parser, words: list[str], extra: list[str]) -> int:
    given = parser.read_names(words, extra)
    return show.run_explain(given)


def _rules_words() -> Parser:
    said = "All rules, those of the house included that the settings name."
    parser = Parser("stablint rules", description=said)
    parser.add_argument("--output-format", choices=("full", "json"), default="full")
    settings_options(parser)
    parser.add_argument(
        "--select", default="", metavar="CODES", help="only these: codes, their beginnings, or ids, with commas"
    )
    return parser


def _rules(parser: Parser, words: list[str], extra: list[str]) -> int:
    given = parser.read_names(words, extra)
    return show.run_rules(given)


def _config_words() -> Parser:
    parser = Parser(
        "stablint config",
        description="Every setting as it holds for a file or folder, and who says so: the command line, a line of a settings file, or nobody.",
    )
    parser.names("path", nargs="?", default=".", metavar="PATH")
    run_options(parser)
    settings_options(parser)
    parser.add_argument("--output-format", choices=("full", "json"), default="full")
    return parser


def _config(parser: Parser, words: list[str], extra: list[str]) -> int:
    given = parser.read_names(words, extra)
    return config.run_config(given)


def _launch_words() -> Parser:
    parser = Parser(
        "stablint run", usage="stablint run [options] -- COMMAND…",
        description="Check what a launch command will read, then start it; with an error in it nothing is started.",
    )  # fmt: skip
    run_options(parser)
    settings_options(parser)
    parser.add_argument("--force", action="store_true", help="start it whatever is found")
    parser.add_argument("--quiet", action="store_true", help="print findings only")
    return parser


def _launch(parser: Parser, words: list[str], extra: list[str]) -> int:
    given = parser.parse_args(words)
    given.asks_machine = True
    return run_launcher.run_launch(given, project_options(given, ["."], []), extra)


def _diff_words() -> Parser:
    parser = Parser("stablint diff", description="What really differs between two runs, by effective setting.")
    parser.names("a", metavar="A")
    parser.names("b", metavar="B")
    run_options(parser)
    settings_options(parser)
    for side in ("a", "b"):
        said = f"the release of a library for {side.upper()} only"
        parser.add_argument(
            f"--with-{side}", dest=f"releases_{side}", action="append", default=[], metavar="PKG==VERSION", help=said
        )
    parser.add_argument("--output-format", choices=("full", "json"), default="full")
    parser.add_argument("--exit-code", action="store_true", help="exit with 1 if something differs")
    return parser


def _diff(parser: Parser, words: list[str], extra: list[str]) -> int:
    given, flags = parser.read(words, extra)
    both, sides = list(given.releases), []
    for own in (given.releases_a, given.releases_b):
        given.releases = [*both, *own]
        sides.append(project_options(given, [given.a, given.b], flags))
    return diff.run_diff(given, sides[0], sides[1])


def _migrate_words() -> Parser:
    said = "Rewrite what other releases of the libraries renamed, removed or read by another type, and keep the defaults that they changed."
    parser = Parser("stablint migrate", description=said)
    parser.names("paths", nargs="+", metavar="FILE")
    run_options(parser)
    settings_options(parser)
    parser.add_argument(
        "--from", dest="releases_from", action="append", default=[], metavar="PKG==VERSION",
        help="the release that the files were written for, where no lock or requirements file says it",
    )  # fmt: skip
    parser.add_argument("--diff", action="store_true", help="print the changes as a patch and write nothing")
    return parser


def _migrate(parser: Parser, words: list[str], extra: list[str]) -> int:
    given, flags = parser.read(words, extra)
    wanted = given.releases
    if not wanted:
        parser.error(gettext("name the releases to migrate to: --with transformers==VERSION"))
    new = project_options(given, given.paths, flags)
    given.releases = given.releases_from
    return migrate.run_migrate(given, new, project_options(given, given.paths, flags))


def _doctor_words() -> Parser:
    said = "This machine: its GPUs, its libraries, and what stablint makes of them."
    parser = Parser("stablint doctor", description=said)
    parser.add_argument("--torch", action="store_true", help="import torch and ask it as well")
    parser.add_argument("--output-format", choices=("full", "json"), default="full")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    return parser


def _doctor(parser: Parser, words: list[str], extra: list[str]) -> int:
    given = parser.read_names(words, extra)
    return doctor.run_doctor(given)


def _schema_words() -> Parser:
    said = "The JSON Schema of a framework's configuration in one release, for editors and for check-jsonschema."
    parser = Parser("stablint schema", description=said)
    parser.names("name", nargs="?", metavar="NAME", help="of the configuration; without it the names are listed")
    parser.add_argument(
        "--with", dest="releases", action="append", default=[], metavar="PKG==VERSION",
        help="the release of a library; without it the newest that is known",
    )  # fmt: skip
    return parser


def _schema(parser: Parser, words: list[str], extra: list[str]) -> int:
    given = parser.read_names(words, extra)
    return schema.run_schema(given)


def _server_words() -> Parser:
    said = "The language server: findings, repairs, hover, completion, links and hints in an editor, over standard input and output."
    parser = Parser("stablint server", description=said)
    parser.add_argument("--stdio", action="store_true", help="accepted for editors that pass it; there is no other way")
    return parser


def _server(parser: Parser, words: list[str], extra: list[str]) -> int:
    parser.read_names(words, extra)
    return server.run_server()


def _completion_words() -> Parser:
    said = "What makes a shell complete commands, options and their values. `stablint completion bash --help` says where it goes."
    parser = Parser("stablint completion", description=said, epilog=_WHERE)
    parser.names("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")
    return parser


_WHERE = (
    'bash: eval "$(stablint completion bash)" in ~/.bashrc.   zsh: stablint completion zsh > a folder of $fpath, as _stablint.   '
    "fish: stablint completion fish > ~/.config/fish/completions/stablint.fish"
)


def _completion(parser: Parser, words: list[str], extra: list[str]) -> int:
    given = parser.read_names(words, extra)
    return completion.run_completion(given)


def _init_words() -> Parser:
    parser = Parser("stablint init", description="Write a commented stablint.toml.")
    parser.names("folder", nargs="?", default=".", metavar="FOLDER")
    return parser


def _init(parser: Parser, words: list[str], extra: list[str]) -> int:
    given = parser.read_names(words, extra)
    return init.run_init(given.folder)


def _new_words() -> Parser:
    parser = Parser(
        "stablint new",
        description="Write a configuration and a launch script for a model on your cards: checked, sure to fit, each line with its reason. "
        "Exit code: 0 written, 1 nothing is safe and fits (what would do is told), 2 wrong usage.",
    )
    parser.add_argument("--model", required=True, metavar="ID_OR_DIR", help="the model: a name on the hub, or a folder")
    parser.add_argument("--gpu", metavar='"NAME xN"', help="the cards of the run")
    parser.add_argument(
        "--gpu-memory",
        metavar="GIB[ xN]",
        help="what a run can have of each card, where that is less or no name says it",
    )
    parser.add_argument("--framework", required=True, choices=_FRAMEWORKS, help="whose files are written")
    parser.add_argument(
        "--method", choices=("full", "lora", "qlora", "auto"), default="auto", help="default: the best that fits"
    )
    parser.add_argument(
        "--objective",
        choices=("sft", "dpo", "grpo"),
        default="sft",
        help="default: sft; dpo with all but torchtune, grpo with trl and accelerate+deepspeed",
    )
    parser.add_argument(
        "--length", type=int, default=2048, metavar="TOKENS", help="of the longest rows (default: 2048)"
    )
    parser.add_argument("--data", metavar="FORMAT", help="how your rows look: messages, alpaca, preference and others")
    parser.add_argument(
        "--output", metavar="FOLDER", help="where the files go (default: a folder named after the model)"
    )
    parser.add_argument("--force", action="store_true", help="write over files that are there")
    parser.add_argument("--output-format", choices=("full", "json"), default="full")
    return parser


def _new(parser: Parser, words: list[str], extra: list[str]) -> int:
    given = parser.read_names(words, extra)
    return new_configuration.run_new(given)


_FRAMEWORKS = ("trl", "llamafactory", "axolotl", "ms-swift", "torchtune", "accelerate+deepspeed")


def _test_hazards_words() -> Parser:
    parser = Parser("stablint test-hazards", description="Run the examples of hazards of the house.")
    parser.names("folders", nargs="+", metavar="DIR")
    return parser


def _test_hazards(parser: Parser, words: list[str], extra: list[str]) -> int:
    given = parser.read_names(words, extra)
    return house.run_test_hazards(given.folders)


def _knowledge_words() -> Parser:
    parser = Parser(
        "stablint knowledge",
        description="For those who keep hazards: ours in a checkout, or their own.",
    )
    tasks = parser.add_subparsers(metavar="TASK", required=True)
    said = (
        "What of the knowledge somebody must look at again: sources that are none, move, or are of a release long past; ranges that "
        "nothing falls into any more; models and cards without evidence; hazards that no example pins. Reads what is in the "
        "checkout and asks no network; with --wheels it opens the places that the sources name."
    )
    audit = tasks.add_parser("audit", help="what must be looked at again", description=said)
    audit.add_argument(
        "folders", nargs="*", metavar="DIR", help="folders of hazards of the house, instead of stablint's own knowledge"
    )
    audit.add_argument(
        "--only",
        action="append",
        choices=("sources", "ranges", "models", "examples"),
        help="only this part; repeat it for several",
    )
    audit.add_argument(
        "--rule",
        dest="rules",
        action="append",
        default=[],
        metavar="CODE|ID",
        help="only this hazard; repeat it for several",
    )
    audit.add_argument(
        "--wheels", metavar="DIR",
        help="open the cited places in the wheels, source archives and clones below this folder, "
        "and look for them in the newest release there",
    )  # fmt: skip
    audit.add_argument(
        "--write", action="store_true",
        help="keep what stood in the places in knowledge/citations.json: the next audit needs the newest archives only",
    )  # fmt: skip
    audit.add_argument(
        "--show", choices=("info", "warning", "error"), default="info", help="from this severity on (default: info)"
    )
    audit.add_argument(
        "--fail-on",
        choices=("info", "warning", "error"),
        default="error",
        help="exit with 1 from this severity on (default: error)",
    )
    audit.add_argument("--output-format", choices=("full", "json"), default="full")
    said = "Print the file that a new hazard begins as, with the next free code of its category."
    new = tasks.add_parser("template", help="the file that a new hazard begins as", description=said)
    new.add_argument("category", choices=_CATEGORIES, metavar="CATEGORY", help=", ".join(_CATEGORIES))
    new.add_argument("id", metavar="ID", help="its name, such as prefetch-without-workers")
    return parser


def _knowledge(parser: Parser, words: list[str], extra: list[str]) -> int:
    given = parser.read_names(words, extra)
    if "category" in given:
        return knowledge_template.run_template(given)
    return knowledge_audit.run_audit(given)


_CATEGORIES = (
    "precision", "quantization", "optimization", "distributed", "adapters", "trainer", "versions", "objectives", "memory", "kernels", "safety",
)  # fmt: skip


class Command(NamedTuple):
    """The words of a command, and who answers them."""

    words: Callable[[], Parser]
    run: Callable[[Parser, list[str], list[str]], int]


COMMANDS: dict[str, Command] = {
    "show": Command(_show_words, _show),
    "fit": Command(_fit_words, _fit),
    "advise": Command(_advise_words, _advise),
    "new": Command(_new_words, _new),
    "diagnose": Command(_diagnose_words, _diagnose),
    "watch": Command(_watch_words, _watch),
    "explain": Command(_explain_words, _explain),
    "rules": Command(_rules_words, _rules),
    "config": Command(_config_words, _config),
    "run": Command(_launch_words, _launch),
    "diff": Command(_diff_words, _diff),
    "migrate": Command(_migrate_words, _migrate),
    "doctor": Command(_doctor_words, _doctor),
    "init": Command(_init_words, _init),
    "schema": Command(_schema_words, _schema),
    "server": Command(_server_words, _server),
    "completion": Command(_completion_words, _completion),
    "test-hazards": Command(_test_hazards_words, _test_hazards),
    "knowledge": Command(_knowledge_words, _knowledge),
}


def run_command(command: str, words: list[str], extra: list[str]) -> int:
    """`words` are those behind the command, `extra` those behind two dashes."""
    called = COMMANDS[command]
    return called.run(called.words(), words, extra)
