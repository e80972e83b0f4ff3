"""What all models share: nothing unknown is accepted, and the words of the closed vocabularies."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class Strict(BaseModel):
    """Refuses keys that it does not know: a misspelled key must not be ignored in silence. Its errors do not show what was given."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


Severity = Literal["error", "warning", "info"]
BitesAt = Literal["parse", "start", "save", "hours", "never-visibly"]
Grade = Literal["proven-in-source", "reproduced", "maintainer-confirmed", "reported", "folklore"]
Applicability = Literal["safe", "unsafe", "manual"]

Code = Annotated[str, Field(pattern=r"^[A-Z]{1,10}[0-9]{3}$")]
"""A category's letter, or the prefix of a house, and three digits."""
RuleId = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
Selector = Annotated[str, Field(pattern=r"^([A-Z]{1,10}[0-9]{0,3}|[a-z0-9]+(-[a-z0-9]+)+)$")]
"""A code, the beginning of codes (`P`, `P1`) or a rule's id."""

FORMS = {
    r"^[A-Z]{1,10}[0-9]{3}$": "a code is one to ten capitals and three digits, such as `ACME001`",
    r"^[a-z0-9]+(-[a-z0-9]+)*$": "an id is small letters and digits with dashes between them, such as `acme-runs-are-reported`",
    r"^([A-Z]{1,10}[0-9]{0,3}|[a-z0-9]+(-[a-z0-9]+)+)$": "a code such as `ACME001`, its beginning, or a rule's id",
}
"""What a text of such a pattern is, in words for whoever wrote another."""

_CLAUSE = r"(===|==|~=|!=|<=|>=|<|>)\s*v?[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?(\.\*)?"
Specifier = Annotated[str, Field(pattern=rf"^\s*{_CLAUSE}\s*(,\s*{_CLAUSE}\s*)*$")]
"""A PEP 440 specifier set: `>=4.46,<5`."""

Package = Annotated[str, Field(pattern=r"^[a-z0-9]+([._-][a-z0-9]+)*$")]
