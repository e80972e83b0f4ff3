"""The library's door: `stablint.check(…)` on files and live objects, `stablint.assert_safe(…)` before training.

The settings of a project count here as on the command line: a file is under the nearest `stablint.toml` or `[tool.stablint]` above it,
live objects are under those of the working directory. `import stablint` loads none of it, and none of the libraries whose objects it takes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from stablint.advising import data as advice_data
from stablint.assemble.asked import Live, Options
from stablint.base import language
from stablint.commands import advise as advise_command
from stablint.commands import diagnose as diagnose_command
from stablint.commands import fit as fit_command
from stablint.commands import new as new_command
from stablint.config.options import Wrong, options
from stablint.config.project import Asked, Resolver
from stablint.engine.inspect import inspect
from stablint.files.discover import NoSuchPath
from stablint.fitting import data as fit_data
from stablint.hardware import live as live_hardware
from stablint.integrate import installed
from stablint.integrate import live as live_objects
from stablint.integrate import model as live_model
from stablint.integrate.guard import TrainingGuard, TrainingStopped
from stablint.log import source
from stablint.log.cause import Cause
from stablint.report import full as full_report
from stablint.report import hidden
from stablint.report import json as json_report
from stablint.report import once as report_once
from stablint.report import plain as plain_text
from stablint.report import words as report_words
from stablint.report.model import Diagnostic, Report
from stablint.report.place import header
from stablint.schema import report as report_schema
from stablint.secrets import exit, masking

if TYPE_CHECKING:
    from stablint.fitting.data import Fit
    from stablint.hardware.gpu import Gpu
    from stablint.proposing.asked import Made

Path = Union[str, "os.PathLike[str]"]


class UnsafeConfig(Exception):
    """At least one finding is an error that nobody has accepted. `report` holds every finding, warnings and infos included."""

    def __init__(self, report: Report) -> None:
        self.report = report
        errors = _errors(report)
        secrets = _secrets(report)
        head = f"{len(errors)} error{'' if len(errors) == 1 else 's'}"
        super().__init__("\n".join([head, *(f"  {_line(diagnostic, secrets)}" for diagnostic in errors)]))


def check(
    *paths: Path,
    gpu: str | Iterable[str] | None = None,
    gpu_memory: float | str | None = None,
    model: Any = None,
    releases: Iterable[str] = (),
    facts: Iterable[str] = (),
    training_args: Any = None,
    peft_config: Any = None,
    quantization_config: Any = None,
    deepspeed: dict[str, Any] | Path | None = None,
    tokenizer: Any = None,
    trainer: Any = None,
    config: Path | None = None,
    isolated: bool = False,
) -> Report:
    """Check files, folders and the objects of a running program, which may be mixed.

    `gpu` names one or several targets, "auto" asks this machine; without it live objects are held to the GPUs of this machine, if it has
    any, and files to the targets of the settings. `gpu_memory` is what a run can have of each card, in GiB (20, or "64 x8" for eight cards that
    no `gpu` names). `model` is a name, a folder, a PreTrainedModel or its config;
    `training_args` a TrainingArguments or TRL config, `deepspeed` a dict or a file, `trainer` a built trainer instead of all these.
    `releases` are specifiers such as "trl==1.16.0" (with live objects: instead of those installed), `facts` overrides such as
    "training.fp16=true". Beside a loaded model no `peft_config` means that there is no adapter. `config` is a settings file that counts
    for all instead of the nearest ones; `isolated` reads none.

    Raises FileNotFoundError for a path that does not exist, ValueError for a GPU or specifier that is not known and for settings that
    cannot be used, TypeError for an object that is none of these.
    """
    with _refusals():
        named, wanted = _wanted(
            paths, gpu, gpu_memory, releases, facts, config, isolated,
            _Objects(model, training_args, peft_config, quantization_config, deepspeed, tokenizer, trainer)
        )  # fmt: skip
        return report_once.joined(inspect(named, wanted).report)


class _Objects(NamedTuple):
    """What of a running program is given beside files."""

    model: Any
    training_args: Any
    peft_config: Any
    quantization_config: Any
    deepspeed: dict[str, Any] | Path | None
    tokenizer: Any
    trainer: Any


@contextmanager
def _refusals() -> Iterator[None]:
    """What the command line refuses, as exceptions that a program expects."""
    try:
        yield
    except NoSuchPath as error:
        raise FileNotFoundError(str(error)) from error
    except (Wrong, source.Unreadable) as error:
        raise ValueError(str(error)) from error


def _wanted(
    paths: Iterable[Path],
    gpu: str | Iterable[str] | None,
    gpu_memory: float | str | None,
    releases: Iterable[str],
    facts: Iterable[str],
    config: Path | None,
    isolated: bool,
    given: _Objects,
) -> tuple[list[str], Options]:
    """The paths and what is asked for beside them. Raises TypeError for an object that is none of these, Wrong."""
    named = [_path(path) for path in paths]
    if isinstance(given.deepspeed, (str, os.PathLike)):
        named, given = [*named, os.fspath(given.deepspeed)], given._replace(deepspeed=None)
    trainer = given.trainer
    if trainer is not None and not (hasattr(trainer, "args") and hasattr(trainer, "model")):
        raise TypeError(
            f"trainer is {_kind(trainer)}, and a trainer has `args` and `model`: give a built transformers.Trainer, or the model as model=…"
        )
    if trainer is not None:
        given = given._replace(
            training_args=given.training_args or trainer.args,
            model=given.model if given.model is not None else trainer.model,
            tokenizer=given.tokenizer or getattr(trainer, "processing_class", None),
        )
    model = given.model
    objects = (given.training_args, given.peft_config, given.quantization_config, given.deepspeed, given.tokenizer)
    name = os.fspath(model) if isinstance(model, (str, os.PathLike)) else None
    live: Live | None = None
    if any(one is not None for one in objects) or (model is not None and name is None):
        live = _live(None if name is not None else model, *objects, trainer is not None, not named)
    wanted = _said(gpu, gpu_memory, name, releases, facts)
    if live is not None:
        wanted = _as_installed(wanted)
        if not wanted.gpus and gpu is None and (cards := _of_this_machine()):
            wanted = wanted._replace(gpus=cards, said={**wanted.said, "gpu": "of this machine"})
    asked = Asked(config=None if config is None else os.fspath(config), isolated=isolated, targets=bool(wanted.gpus))
    resolver = Resolver(asked, os.getcwd(), named, lambda notice: exit.warn(notice, 3))
    return named, wanted._replace(live=live, policies=resolver)


def _said(
    gpu: str | Iterable[str] | None,
    gpu_memory: float | str | None,
    model: str | None,
    releases: Iterable[str],
    facts: Iterable[str],
) -> Options:
    """What the caller says beside the paths; a slip in it is told by the argument's own name. Raises Wrong."""
    gpus = [gpu] if isinstance(gpu, str) else gpu or ()
    return options(
        gpus, model, releases, facts, release_word="releases: ", fact_word="facts: ",
        gpu_memory=None if gpu_memory is None else str(gpu_memory),
    )  # fmt: skip


def _kind(value: Any) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _path(given: Any) -> str:
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given)
    raise TypeError(
        f"a path was expected, and {_kind(given)} was given: objects go by name, such as training_args=…, peft_config=…, deepspeed=…"
    )


def fit(
    *paths: Path,
    gpu: str | Iterable[str] | None = None,
    gpu_memory: float | str | None = None,
    model: Any = None,
    releases: Iterable[str] = (),
    facts: Iterable[str] = (),
    training_args: Any = None,
    peft_config: Any = None,
    quantization_config: Any = None,
    deepspeed: dict[str, Any] | Path | None = None,
    tokenizer: Any = None,
    trainer: Any = None,
    config: Path | None = None,
    isolated: bool = False,
) -> list[Fit]:
    """How much memory each run needs on each of the cards, and what would make it fit; nothing is written.

    The arguments are those of `check`: files, folders and the objects of a running program, which may be mixed. Files need a `gpu`; live objects
    are held to the GPUs of this machine where none is named. What would make an object's run fit is to be done by hand: no text takes it.

    Raises FileNotFoundError for a path that does not exist, ValueError for a card or specifier that is not known, and where there is no
    training configuration or no card, TypeError for an object that is none of these.
    """
    with _refusals():
        named, wanted = _wanted(
            paths, gpu, gpu_memory, releases, facts, config, isolated,
            _Objects(model, training_args, peft_config, quantization_config, deepspeed, tokenizer, trainer)
        )  # fmt: skip
        _, found = fit_command.forecast(named, wanted)
        return [fit_data.as_fit(one.files, one.told, one.remedies) for one in found]


def advise(
    *paths: Path,
    gpu: str | Iterable[str] | None = None,
    gpu_memory: float | str | None = None,
    model: Any = None,
    releases: Iterable[str] = (),
    facts: Iterable[str] = (),
    training_args: Any = None,
    peft_config: Any = None,
    quantization_config: Any = None,
    deepspeed: dict[str, Any] | Path | None = None,
    tokenizer: Any = None,
    trainer: Any = None,
    config: Path | None = None,
    isolated: bool = False,
) -> list[advice_data.Advised]:
    """What would be better: for each run on each card at most seven improvements, stability before memory before speed; nothing is written.

    The arguments are those of `check`; without a card only what needs none is advised. Each improvement has its `title`, `facts` and edits
    (`files`, empty where it is `by_hand`), `effect`, the `peak` in GiB before and afterwards, the grade of its evidence with `sources`, and
    `not_when`. The list of a run is empty where nothing can be improved that is proven.

    Raises FileNotFoundError for a path that does not exist, ValueError for a card or specifier that is not known, and where there is no
    training configuration, TypeError for an object that is none of these.
    """
    with _refusals():
        named, wanted = _wanted(
            paths, gpu, gpu_memory, releases, facts, config, isolated,
            _Objects(model, training_args, peft_config, quantization_config, deepspeed, tokenizer, trainer)
        )  # fmt: skip
        _, found = advise_command.advise(named, wanted)
        return [advice_data.Advised(*one) for one in found]


def new(
    model: Path,
    *,
    gpu: str | None = None,
    framework: str,
    gpu_memory: float | str | None = None,
    method: str = "auto",
    objective: str = "sft",
    length: int = 2048,
    data: str | None = None,
) -> Made:
    """A configuration and a launch script for this model on these cards, as texts: checked, sure to fit, each line with its reason. Nothing is written.

    The arguments are those of `stablint new`. Where nothing is safe and fits, `files` is empty and `would_do` says what would do. Raises ValueError for
    a model, card, framework or format that is not known.
    """
    with _refusals():
        return new_command.made(
            *new_command.requested(
                os.fspath(model),
                gpu,
                framework,
                method,
                objective,
                length,
                data,
                None if gpu_memory is None else str(gpu_memory),
            )
        )


def diagnose(
    *paths: Path,
    gpu: str | Iterable[str] = (),
    gpu_memory: float | str | None = None,
    model: str | None = None,
    releases: Iterable[str] = (),
    facts: Iterable[str] = (),
    config: Path | None = None,
    isolated: bool = False,
) -> list[Cause]:
    """What made a run fail or its numbers sick: its logs and its files, in any order; the causes in the order in which they should be looked at.

    The list is empty where nothing known matches. The other arguments are those of `check`; nothing is written. Raises FileNotFoundError for a path
    that does not exist, ValueError where no log is named or one cannot be read, and for a card or specifier that is not known.
    """
    named = [_path(path) for path in paths]
    with _refusals():
        wanted = _said(gpu, gpu_memory, model, releases, facts)
        asked = Asked(
            config=None if config is None else os.fspath(config), isolated=isolated, targets=bool(wanted.gpus)
        )
        resolver = Resolver(asked, os.getcwd(), named, lambda notice: exit.warn(notice, 3))
        return [
            cause
            for one in diagnose_command.diagnose(named, wanted._replace(policies=resolver))
            for cause in one.causes
        ]


def _live(
    model: Any,
    training_args: Any,
    peft_config: Any,
    quantization_config: Any,
    deepspeed: Any,
    tokenizer: Any,
    whole: bool,
    alone: bool,
) -> Live | None:
    known = live_model.described(model) if model is not None else None
    if known is not None:
        peft_config = peft_config if peft_config is not None else known.adapter
        if quantization_config is None and "model.quant_method" not in known.nature:
            quantization_config = known.quantization
    return live_objects.live(
        training_args=training_args, model=known, peft_config=peft_config, quantization_config=quantization_config, deepspeed=deepspeed,
        tokenizer=tokenizer, folder=os.getcwd(), complete=whole, alone=alone,
    )  # fmt: skip


@lru_cache(maxsize=1)
def _of_this_machine() -> tuple[tuple[str, Gpu], ...]:
    """Asked once a process: it may take two seconds."""
    return live_hardware.targets(live_hardware.machine())


def _as_installed(wanted: Options) -> Options:
    """With the releases of this environment, unless the caller says others."""
    here = tuple(installed.specifiers())
    return wanted._replace(
        releases=(*here, *wanted.releases),  # the later one holds
        said={library: f"{library} is installed" for library, _ in here if library not in dict(wanted.releases)},
    )


def assert_safe(*paths: Path, **objects: Any) -> Report:
    """The report of `check` on the same arguments; raises UnsafeConfig if something in it is an error and not suppressed.

    Nothing is not safe: where no file and no object is given (an argument that is None counts as none), or nothing in what is given is a
    training configuration, it raises ValueError.
    """
    report = check(*paths, **objects)
    if _errors(report):
        raise UnsafeConfig(report)
    if not any(file.status == "checked" for file in report.files) and not report.runs:
        what = " and ".join(f"`{os.fspath(path)}`" for path in paths)
        raise ValueError(
            f"nothing was checked: no training configuration in {what}"
            if what
            else "nothing was checked: give files, or objects such as training_args=…, model=… or trainer=…"
        )
    return report


def _secrets(report: Report) -> frozenset[str]:
    return hidden.secrets_of(report)


def _line(diagnostic: Diagnostic, secrets: frozenset[str]) -> str:
    """Place, code, message and what helps."""
    advice = f" ({diagnostic.fix.title})" if diagnostic.fix is not None else ""
    return plain_text.plain(
        masking.mask(f"{header(diagnostic)}: {diagnostic.code} {report_words.message(diagnostic)}{advice}", secrets)
    )


def _errors(report: Report) -> list[Diagnostic]:
    return [d for d in report.diagnostics if d.severity == "error" and d.suppressed is None]


def to_text(report: Report) -> str:
    """The report as the command line prints it, for people: `print(stablint.to_text(report))`."""
    secrets = hidden.secrets_of(report)
    return masking.mask(
        full_report.render(report, language.texts() if report.diagnostics else {}, secrets=secrets), secrets
    )


def to_model(report: Report) -> report_schema.ReportDocument:
    """The report as a validated pydantic model; pydantic is imported only here."""
    return report_schema.ReportDocument.model_validate_json(
        masking.mask(json_report.render(report), hidden.secrets_of(report), data=True)
    )


__all__ = [
    "Cause", "Diagnostic", "Report", "TrainingGuard", "TrainingStopped", "UnsafeConfig", "advise", "assert_safe", "check", "diagnose", "fit",
    "new", "to_model", "to_text",
]  # fmt: skip
