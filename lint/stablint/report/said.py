"""A finding's sentences for formats with an escaping of their own: masked first, since an escaped secret is not known any more."""

from __future__ import annotations

from collections.abc import Mapping

from stablint.base.language import gettext
from stablint.base.light import Any
from stablint.report.model import Diagnostic
from stablint.report.plain import plain
from stablint.report.words import first_sentences, message
from stablint.secrets.masking import mask

_FLAGS = {"safe": "--fix", "unsafe": "--fix --unsafe-fixes", "manual": "by hand"}


def how(diagnostic: Diagnostic) -> str:
    """Which options write its repair: `--fix --unsafe-fixes`."""
    if diagnostic.fix is None:
        return ""
    flags = gettext(_FLAGS[diagnostic.fix.applicability])
    return f"--select {diagnostic.code} {flags}" if diagnostic.fix.by_name else flags


def clean(text: str, secrets: frozenset[str]) -> str:
    """One printable line without secrets."""
    return plain(mask(text, secrets))


def finding(diagnostic: Diagnostic, secrets: frozenset[str]) -> str:
    return clean(message(diagnostic), secrets)


def reason(text: Mapping[str, Any]) -> str:
    """The first sentences of a hazard's `why`; empty where it has none."""
    return first_sentences(text["why"]) if text.get("why") else ""


def repair(diagnostic: Diagnostic, secrets: frozenset[str]) -> str:
    """`train in bf16 (--fix)`; empty where nothing is known to help."""
    if diagnostic.fix is None:
        return ""
    return gettext("{title} ({flags})").format(title=clean(diagnostic.fix.title, secrets), flags=how(diagnostic))
