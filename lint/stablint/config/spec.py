"""What command lines may say: the commands, their exit codes, and the options of those that read runs. As data, since a check whose words are
plain needs no parser."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` is not worth its price here
if TYPE_CHECKING:
    from typing import Any

    Table = tuple[tuple[str, dict[str, Any]], ...]

CLEAN, FOUND, WRONG = 0, 1, 2
COMMANDS = (
    "check", "show", "fit", "advise", "new", "diagnose", "watch", "explain", "rules", "config", "run", "diff", "migrate", "doctor", "init", "schema",
    "server", "completion", "test-hazards", "knowledge",
)  # fmt: skip
SEVERITIES = ("info", "warning", "error")
FORMATS = ("full", "concise", "json", "jsonl", "sarif", "github", "gitlab", "junit", "markdown", "rdjson")
FOR_PEOPLE = frozenset(("full", "concise"))

_GRADES = ("folklore", "reported", "reproduced", "maintainer-confirmed", "proven-in-source")
# Options as argparse takes them; `said` is an action of ours (arguments.py).
RUN_OPTIONS: Table = (
    (
        "--gpu",
        {
            "action": "append",
            "default": [],
            "metavar": "NAME[ xN]",
            "help": "the GPU the run will have; repeat it to check several targets",
        },
    ),
    (
        "--gpu-memory",
        {
            "metavar": "GIB[ xN]",
            "help": "what a run can have of each card: a MIG slice, a shared card, one that has no name here",
        },
    ),
    ("--model", {"metavar": "ID_OR_DIR", "help": "the model, where the files do not name it"}),
    (
        "--with",
        {
            "dest": "releases",
            "action": "append",
            "default": [],
            "metavar": "PKG==VERSION",
            "help": "the release of a library, any PEP 440 specifier",
        },
    ),
    (
        "--set",
        {
            "dest": "sets",
            "action": "append",
            "default": [],
            "metavar": "FACT=VALUE",
            "help": "override a fact, such as training.learning_rate=1e-5",
        },
    ),
    ("--dialect", {"metavar": "NAME", "help": "read keyed files as this dialect"}),
    ("--color", {"choices": ("auto", "always", "never"), "default": "auto"}),
    (
        "--allow-outside",
        {"action": "store_true", "help": "follow links to files outside the repository or the named folder"},
    ),
)
SETTINGS_OPTIONS: Table = (
    (
        "--config",
        {
            "metavar": "FILE",
            "help": "the settings file for all, instead of the stablint.toml or pyproject.toml nearest to each file",
        },
    ),
    ("--isolated", {"action": "store_true", "help": "read no settings file"}),
)
CHECK_OPTIONS: Table = (
    (
        "--stdin-filename",
        {"metavar": "NAME", "help": "the name, and with its suffix the format, of what comes on standard input"},
    ),
    ("--fix", {"action": "store_true", "help": "write the safe fixes"}),
    ("--unsafe-fixes", {"action": "store_true", "help": "with --fix or --diff: the unsafe ones as well"}),
    ("--diff", {"action": "store_true", "help": "print the fixes as a patch and write nothing"}),
    (
        "--select",
        {"default": "", "metavar": "CODES", "help": "only these rules: codes, their beginnings, or ids, with commas"},
    ),
    ("--ignore", {"default": "", "metavar": "CODES", "help": "not these rules"}),
    ("--fail-on", {"choices": SEVERITIES, "help": "exit with 1 from this severity on (default: error)"}),
    (
        "--min-evidence",
        {"choices": _GRADES, "metavar": "GRADE", "help": f"weakest evidence that is shown: {', '.join(_GRADES)}"},
    ),
    (
        "--output-format",
        {
            "dest": "outputs",
            "action": "said",
            "default": [],
            "metavar": "FORMATS",
            "help": f"one or several of {', '.join(FORMATS)}",
        },
    ),
    (
        "--output-file",
        {
            "dest": "outputs",
            "action": "said",
            "metavar": "FILE",
            "help": "where the format before it goes; repeat both for several",
        },
    ),
    ("--statistics", {"action": "store_true", "help": "how often each rule is found, instead of the findings"}),
    (
        "--hide-suppressed",
        {
            "action": "store_true",
            "help": "leave what comments, settings and baselines accept out of the formats for programs as well",
        },
    ),
    ("--show-facts", {"action": "store_true", "help": "also every effective setting of each run"}),
    ("--baseline", {"metavar": "FILE", "help": "findings in this file are accepted"}),
    (
        "--write-baseline",
        {"action": "store_true", "help": "accept all that is found now: write the file of --baseline"},
    ),
    (
        "--jobs",
        {
            "type": int,
            "default": 0,
            "metavar": "N",
            "help": "processes; the report is the same (default: by the size of the work)",
        },
    ),
    (
        "--skip-unrecognised",
        {"action": "store_true", "help": "no error if nothing that was named is a training configuration"},
    ),
    ("--exit-zero", {"action": "store_true", "help": "exit with 0 whatever is found"}),
    ("--quiet", {"action": "store_true", "help": "print findings only"}),
    (
        "--verbose",
        {"action": "store_true", "help": "also say which files were skipped, and why, and which checks wait for what"},
    ),
)
_SWITCHES = frozenset(name for name, settings in CHECK_OPTIONS if settings.get("action") == "store_true")
