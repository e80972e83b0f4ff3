"""`[tool.stablint]` of a pyproject.toml, or a stablint.toml. The command line reads settings by the JSON Schema that is generated from this."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, model_validator

from stablint.schema.base import Grade, Package, Selector, Severity, Specifier, Strict

# Bounds beyond what projects have: what a repository's settings ask for is done for every file that is checked.
Glob = Annotated[str, Field(min_length=1, max_length=300, pattern=r"^[^*]*(\*\*?[^*]+){0,6}\*{0,2}$")]
"""Relative to the folder of the settings file; `**` is any depth, a name without `/` counts in every folder, a folder for all in it."""


def _kebab(name: str) -> str:
    return name.replace("_", "-")


class _Kebab(Strict):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=_kebab)


class Target(_Kebab):
    """What the runs are meant for."""

    gpu: str = Field(min_length=1, description='a GPU: "A100-80GB"')
    count: int = Field(1, ge=1, description="how many of them a run has")
    memory: float | None = Field(
        None,
        gt=0,
        description="GiB that a run can have of each, where that is not what is sold: a MIG slice, a shared card",
    )


class Accept(_Kebab):
    """A finding that is accepted: for JSON, which has no comments, and for what cannot be written in the file."""

    file: Glob | None = None
    setting: str | None = Field(
        None, description='as spelled in the file: "zero_optimization.stage"; every one if left out'
    )
    rules: tuple[Selector, ...] = Field(min_length=1)
    reason: str | None = None


class PerPath(_Kebab):
    """What counts for the files that match, laid over the rest; of several rows that match, the later one is laid over the earlier."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=_kebab, json_schema_extra={"minProperties": 2}
    )

    paths: tuple[Glob, ...] = Field(min_length=1, max_length=100)
    ignore: tuple[Selector, ...] = Field(
        (), description="rules that are off there, besides those that are off everywhere"
    )
    select: tuple[Selector, ...] | None = Field(None, min_length=1, description="only these rules there")
    severity: dict[Selector, Severity] = Field({}, description="another severity for single rules there")
    target: tuple[Target, ...] = Field(
        (), description="the GPUs of the runs that begin in these files, instead of the others"
    )
    versions: dict[Package, Specifier] = Field({}, description="releases of the libraries there")

    @model_validator(mode="after")
    def _says_something(self) -> PerPath:
        if len(self.model_fields_set) < 2:
            raise ValueError("a row of per-path says something about its paths")
        return self


class Fixes(_Kebab):
    """Which repairs `--fix` writes by itself."""

    promote: tuple[Selector, ...] = Field((), description="rules whose unsafe repairs --fix writes as well")
    demote: tuple[Selector, ...] = Field((), description="rules whose safe repairs want --unsafe-fixes")


class OfHouse(_Kebab):
    """Rules of your own."""

    prefix: str | None = Field(
        None,
        pattern=r"^[A-Z]{2,10}$",
        description='what their codes begin with, instead of a category\'s letter: "ACME"',
    )
    packages: tuple[Package, ...] = Field(
        (),
        max_length=20,
        description="installed packages with an entry point `stablint.hazards`, which names a folder of hazards",
    )


class Settings(_Kebab):
    """Settings of a project. The command line wins over them; for each file the nearest ones above it count, whole."""

    extend: str | None = Field(None, description="a settings file that this one is laid over")
    select: tuple[Selector, ...] | None = Field(
        None, description="codes, their beginnings, or ids; all that are on by default"
    )
    ignore: tuple[Selector, ...] = Field((), description="rules that are off")
    accept: tuple[Accept, ...] = Field((), max_length=1_000, description="single findings that are accepted")
    per_path: tuple[PerPath, ...] = Field(
        (), max_length=300, description="other rules, severities, targets or releases for some files"
    )
    severity: dict[Selector, Severity] = Field({}, description="another severity for single rules")
    fail_on: Severity = "error"
    min_evidence: Grade = "reported"
    target: tuple[Target, ...] = Field(
        (), max_length=16, description="the GPUs that the runs are meant for; each is checked"
    )
    model: str | None = Field(None, description="hub id or folder of the model where no file names it")
    versions: dict[Package, Specifier] = Field(
        {}, description="releases of the libraries; else lock files and requirements beside the configuration say them"
    )
    extra_keys: tuple[Glob, ...] = Field(
        (), max_length=500, description="keys of the house that are no misspelled ones; `*` allowed"
    )
    exclude: tuple[Glob, ...] = Field(
        (), max_length=300, description="files that are not read, unless they are named one by one"
    )
    hazards: tuple[str, ...] = Field((), description="folders with hazards of the house")
    house: OfHouse = Field(OfHouse(prefix=None, packages=()), description="rules of your own")
    baseline: str | None = Field(None, description="the file of accepted findings that --write-baseline writes")
    fix: Fixes = Field(Fixes(promote=(), demote=()), description="which repairs --fix writes by itself")
    pages: str | None = Field(
        None,
        max_length=300,
        pattern=r"^https?://[^\s{}]+\{code\}[^\s{}]*$",
        description="the address of a rule's page, with {code} in it: findings carry it",
    )
    require_reasons: bool = Field(False, description="suppressions without a reason are reported")
    allow_outside: bool = Field(False, description="follow links to files outside the repository")
