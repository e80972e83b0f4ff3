"""A hazard file: `knowledge/hazards/<category>/<id>.yaml` (DESIGN §5), and a house rule's file alike."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from stablint.schema.base import Applicability, BitesAt, Code, Grade, Package, RuleId, Severity, Specifier, Strict
from stablint.schema.condition import Condition, FactName

CATEGORIES = {
    "P": "precision",
    "Q": "quantization",
    "L": "optimization",
    "D": "distributed",
    "A": "adapters",
    "T": "trainer",
    "V": "versions",
    "R": "objectives",
    "M": "memory",
    "K": "kernels",
    "S": "safety",
    "F": "file",
}
"""The letter of a code and the folder of its file."""

# Of what a checkpoint is, nothing can be set in a file but how it is loaded.
_SETTABLE_OF_MODEL = {"model.dtype", "model.attn_implementation", "model.device_map", "model.use_cache"}
_PROVEN = ("proven-in-source", "reproduced", "maintainer-confirmed")

Words = Annotated[str, Field(min_length=3, pattern=r"\S")]


def _settable(fact: str) -> str:
    if fact.startswith(("target.", "versions.")):
        raise ValueError(f"{fact} is not set by any file: a remedy cannot change it")
    if fact.startswith("model.") and fact not in _SETTABLE_OF_MODEL:
        raise ValueError(f"{fact} is what the model is: a remedy cannot change it")
    return fact


SettableFact = Annotated[FactName, AfterValidator(_settable)]


class Remedy(Strict):
    """What to change. A value `{fact}` is replaced by that fact's value, `{fact:FORM}` by one made of it: int, float, bool, lower, upper, json,
    tenth, half, quarter, eighth (of a number that has such parts), double, fourfold, eightfold."""

    title: Words
    when: tuple[Condition, ...] = ()
    set: dict[SettableFact, Any] = Field({})
    unset: tuple[SettableFact, ...] = ()
    swap: dict[SettableFact, SettableFact] = Field({}, description="rename the setting in place, its value kept")
    respell: dict[SettableFact, Any] | tuple[SettableFact, ...] = Field((), description="same meaning, right type")
    move: tuple[SettableFact, ...] = Field(
        (), description="to where a newer release has the setting, or what became of its value"
    )
    mend: bool = Field(False, description="the text itself is mended, where something is wrong with that (letter F)")
    safety: Applicability
    because: Words | None = Field(None, description="why it is not safe")

    @model_validator(mode="after")
    def _honest(self) -> Remedy:
        if self.safety == "unsafe" and not self.because:
            raise ValueError("a remedy that is unsafe says `because` of what")
        changes = self.set or self.unset or self.swap or self.respell or self.move or self.mend
        if self.safety != "manual" and not changes:
            raise ValueError(
                f"a remedy that is {self.safety} changes something: set, unset, swap, respell, move or mend"
            )
        return self


Source = Annotated[
    str, Field(pattern=r"^(https?://\S+|[\w.-]+/[\w.-]+#[0-9]+|[A-Za-z][\w.-]* v?[0-9]+(\.[0-9]+)+ \S.*)$")
]
"""An address, `owner/repository#issue`, or `package release file:line`."""


class Evidence(Strict):
    grade: Grade
    sources: tuple[Source, ...] = Field(min_length=1)
    note: Words | None = Field(None, description="what the sources say, in our words")


class Near(Strict):
    """A legal look-alike: the example with one text exchanged, one file written anew, or other options. It must draw nothing."""

    file: str | None = None
    replace: tuple[str, str] | None = None
    text: str | None = Field(None, description="the whole file instead")
    options: dict[str, Any] | None = Field(None, description="instead of the example's")

    @model_validator(mode="after")
    def _differs(self) -> Near:
        if self.replace is None and self.text is None and self.options is None:
            raise ValueError("a near example replaces a text, a file or the options")
        if (self.replace is None and self.text is None) != (self.file is None):
            raise ValueError("`replace` and `text` name their `file`, and `file` what becomes of it")
        return self


def _one_sentence(text: str) -> str:
    if text.rstrip().endswith("."):
        raise ValueError("no full stop at the end")
    return text


class Case(Strict):
    """One of several faults of the same kind: told where all of `when` holds, in its own words and at its own place."""

    when: tuple[Condition, ...] = Field(min_length=1)
    at: FactName | None = Field(None, description="instead of the hazard's")
    message: Annotated[Words, AfterValidator(_one_sentence)]


class Example(Strict):
    """A run that draws the finding; `fixed` holds the files that the first applicable remedy changes, afterwards."""

    dialect: str
    options: dict[str, Any] = Field({}, description="command-line options, without dashes")
    files: dict[str, str] = Field(min_length=1)
    fixed: dict[str, str] | None = None
    near: tuple[Near, ...] = ()
    also: tuple[Code, ...] = Field((), description="other codes that this run rightly draws")

    @model_validator(mode="after")
    def _files_exist(self) -> Example:
        for name in self.fixed or {}:
            if name not in self.files:
                raise ValueError(f"fixed file {name} is none of the example's files")
        for near in self.near:
            if near.file and near.replace and near.replace[0] not in self.files.get(near.file, ""):
                raise ValueError(f"{near.file} does not contain {near.replace[0]!r}")
        return self


class Healthy(Strict):
    """A run of its own that is fine, as `fine_when` says: it must not draw the hazard."""

    because: Words = Field(description="which exemption it is")
    options: dict[str, Any] = Field({}, description="command-line options, without dashes")
    files: dict[str, str] = Field(min_length=1)


class HazardFile(Strict):
    """One hazard: what is reported, why, when it is fine, what helps, how it is known, and examples that are run as tests."""

    id: RuleId
    code: Code
    title: Words = Field(max_length=100)
    severity: Severity
    bites_at: BitesAt
    each: tuple[Annotated[str, Field(pattern=r"^(\*|[a-z_]+(\.[\w*-]+)+)$")], ...] = Field(
        (),
        description="tried for every stated fact that matches; `item` is that fact; `*` is one segment, `**` any depth",
    )
    loop: Literal["trainer"] | None = Field(
        None,
        description="what speaks of the Trainer of transformers: it asks for a run whose steps that one or a subclass takes, whatever the conditions",
    )
    phase: Literal["training"] | None = Field(
        None,
        description="what happens while weights are trained: runs that only evaluate or predict are left in peace, whatever the conditions",
    )
    when: tuple[Condition, ...] = ()
    cases: tuple[Case, ...] = Field(
        (),
        description="a table of faults of one kind: besides `when` one of them must hold; the first that does says what is told, and where",
    )
    check: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")] | None = Field(
        None, description="a function of hazard/checks/"
    )
    fine_when: Words
    message: Words
    at: FactName | None = None
    why: Words
    remedies: tuple[Remedy, ...] = ()
    evidence: Evidence
    yields_to: tuple[RuleId, ...] = Field(
        (), description="hazards with the same root cause: where one of them fires, this one is silent"
    )
    versions: dict[Package, Specifier] = Field({})
    error_when: tuple[Condition, ...] = Field(
        (),
        description="of an error: what must be known for certain besides for it to be one; where it is not, the same is told as a warning",
    )
    quiet: bool = Field(
        False,
        description="it only narrates what a library does: off unless `select` or `severity` names it by its code or id",
    )
    once: bool | Literal["everywhere"] = Field(
        False,
        description="one cause shows in several settings: told once a file, with the other places; `everywhere`: the same words once for all files",
    )
    examples: tuple[Example, ...] = ()
    healthy: tuple[Healthy, ...] = Field((), description="what `fine_when` exempts, as files: each must stay silent")

    @model_validator(mode="after")
    def _severity_follows_evidence(self) -> HazardFile:
        grade = self.evidence.grade
        if self.severity == "error" and grade not in _PROVEN:
            raise ValueError(f"an error is {', '.join(_PROVEN)}; this is {grade}")
        if grade == "folklore" and self.severity != "info":
            raise ValueError("folklore is at most info")
        if self.quiet and self.severity != "info":
            raise ValueError("only an info is quiet")
        if self.error_when and self.severity != "error":
            raise ValueError("only an error says when it is one")
        return self

    @model_validator(mode="after")
    def _says_when(self) -> HazardFile:
        # The reader of the text itself finds what is wrong with a file (letter F): such a hazard has no condition.
        if not (self.when or self.cases or self.check or self._is_of_text()):
            raise ValueError("a hazard has a condition (`when`) or a `check`")
        if (self.when or self.cases) and not self.at:
            raise ValueError("`at` says which fact's place is shown")
        if not self.examples and not self._is_of_text():
            raise ValueError("a hazard has at least one example")
        return self

    def _is_of_text(self) -> bool:
        return self.code[0] == "F" and self.code[1:].isdigit()

    @field_validator("message", "title")
    @classmethod
    def _no_full_stop(cls, text: str) -> str:
        return _one_sentence(text)

    @field_validator("code")
    @classmethod
    def _letter_is_the_folders(cls, code: str, info: ValidationInfo) -> str:
        """With the context `{"folder": "precision"}` the folder must be the letter's. A house has its own prefix instead of a letter."""
        folder = (info.context or {}).get("folder")
        if folder is None and not code[1].isdigit():
            return code
        expected = CATEGORIES.get(code.rstrip("0123456789"))
        if expected is None:
            raise ValueError(f"{code[0]} is no category: {', '.join(CATEGORIES)}")
        if folder is not None and folder != expected:
            raise ValueError(f"{code} belongs into {expected}/, not {folder}/")
        return code
