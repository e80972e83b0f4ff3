"""`[tool.stablint]` of a pyproject.toml, or a stablint.toml."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from stablint.schema.base import Grade, Package, Selector, Severity, Specifier, Strict


def _kebab(name: str) -> str:
    return name.replace("_", "-")


class _Kebab(Strict):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=_kebab, populate_by_name=True)


class PerPath(_Kebab):
    """Other settings for the files that match."""

    paths: tuple[str, ...] = Field(min_length=1, description="globs, relative to the settings file")
    select: tuple[Selector, ...] | None = None
    ignore: tuple[Selector, ...] = ()
    targets: tuple[str, ...] | None = None
    model: str | None = None
    versions: dict[Package, Specifier] = Field({})


class Settings(_Kebab):
    """Settings of a project. The command line wins over them; the nearest file wins whole."""

    extend: str | None = Field(None, description="a settings file that this one is laid over")
    select: tuple[Selector, ...] | None = Field(
        None, description="codes, their beginnings, or ids; all that are on by default"
    )
    ignore: tuple[Selector, ...] = ()
    fail_on: Severity = "error"
    min_evidence: Grade = "reported"
    severity: dict[Selector, Severity] = Field({}, description="another severity for single hazards")
    targets: tuple[str, ...] = Field((), description='GPUs that the runs are meant for: "A100-80GB x8"')
    model: str | None = Field(None, description="hub id or folder of the model where no file names it")
    versions: dict[Package, Specifier] = Field({}, description="releases of the libraries that will be installed")
    exclude: tuple[str, ...] = Field((), description="globs of files that are not read")
    hazards: tuple[str, ...] = Field((), description="folders with hazards of the house")
    per_path: tuple[PerPath, ...] = ()
