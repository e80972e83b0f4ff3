"""The language that a command speaks: English, or one that has catalogues under knowledge/locale.

Like gettext, and with its catalogues (compiling/locale.py reads them): a text without a translation, or whose English has changed since, is
told in English. A process speaks one language.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from stablint.base import knowledge
from stablint.base.light import Any, Pattern

ENGLISH = "en"
LANGUAGES = (ENGLISH, "zh")

_spoken = ENGLISH
_asked = False  # whether somebody has said which
_words: Mapping[str, str] = {}


def speak(language: str, *, asked: bool = False) -> None:
    """From here on; one of LANGUAGES. `asked`: by whoever started the program, so that no locale changes it. Raises ValueError where its
    catalogues have not been compiled."""
    global _spoken, _asked, _words
    words = {} if language == ENGLISH else knowledge.load(f"locale/{language}")
    if words is None:
        raise ValueError(
            f"the catalogues of `{language}` are not compiled here: `pip install babel`, then touch a file under knowledge/locale"
        )
    _spoken, _asked, _words = language, asked, words


def spoken() -> str:
    return _spoken


def by_locale(environment: Mapping[str, str] = os.environ) -> str:
    """The language of the messages' locale, as POSIX has it: the first of LC_ALL, LC_MESSAGES and LANG that says something."""
    said = next((word for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (word := environment.get(name))), "")
    language = said.replace("-", "_").partition("_")[0].partition(".")[0].lower()
    return language if language in LANGUAGES else ENGLISH


def follow(locale: str) -> None:
    """Speak as an editor does, which names its locale as `zh-cn`; not where a language was asked for, or has no catalogue here."""
    wanted = by_locale({"LANG": locale})
    if not _asked and wanted != _spoken:
        try:
            speak(wanted)
        except ValueError:
            return


def gettext(text: str) -> str:
    """A sentence of the program's own; what it is filled with comes after it."""
    return _words.get(text, text) if _words else text


def ngettext(one: str, several: str, number: int) -> str:
    """`one` where the number is one. The languages at hand besides English have one form, which stands beside `several`."""
    if _words and several in _words:
        return _words[several]
    return one if number == 1 else several


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    *others, last = names
    return gettext(", ").join(others) + gettext(" and ") + last if others else last


_WIDE = "[\u4e00-\u9fff]"
_BETWEEN_WIDE = Pattern(f"(?<={_WIDE}) (?={_WIDE})")


def closed_up(sentence: str) -> str:
    """A sentence after its holes were filled, without the blanks that stand around a hole for Latin words and now stand between Chinese ones."""
    return _BETWEEN_WIDE.sub("", sentence) if _words else sentence


_forms: dict[str, list[tuple[list[str], str]]] = {}
_HOLE = Pattern(r"\{\d\}")
_DEEPEST = 3  # a reason may be filled with another


def told(sentence: str, depth: int = 0) -> str:
    """A sentence that was made, and filled, where nobody asks for a language: why something is not known, what is wrong with a text. It is known
    again by its form, `{0} is not closed`; what fills it is told in its turn."""
    if not _words or depth > _DEEPEST or len(sentence) > 1_000:
        return sentence
    if (plain := _words.get(sentence)) is not None:
        return plain
    if _spoken not in _forms:
        known = ((_HOLE.split(form), words) for form, words in _words.items() if "{0}" in form)
        _forms[_spoken] = sorted(known, key=lambda one: -sum(map(len, one[0])))
    for parts, words in _forms[_spoken]:
        if (filled := _filled(sentence, parts)) is not None:
            return words.format(*(told(one, depth + 1) for one in filled))
    return sentence


def _filled(sentence: str, parts: list[str]) -> list[str] | None:
    """What stands between the parts of a form, each found once from the left."""
    if not sentence.startswith(parts[0]) or not sentence.endswith(parts[-1]):
        return None
    at, end, found = len(parts[0]), len(sentence) - len(parts[-1]), []
    for part in parts[1:-1]:
        begin = sentence.find(part, at, end)
        if begin < 0:
            return None
        found.append(sentence[at:begin])
        at = begin + len(part)
    return [*found, sentence[at:end]] if at <= end else None


def of_hazard(hazard: str, text: str) -> str:
    """A text of a hazard's file: its title, message, reason, exemption, the words of a remedy, the note of its evidence."""
    return text if _spoken == ENGLISH else _of(hazard).get(text.strip(), text)


def _of(hazard: str) -> Mapping[str, str]:
    found: Mapping[str, str] = knowledge.rows(f"locale/{_spoken}").get(hazard, {})
    return found


def texts(house: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    """What findings show of the hazards' files, by id, `house` hazards among them; in the language that is spoken."""
    return every_text(house) if house or _spoken != ENGLISH else knowledge.rows("texts")


def every_text(house: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The same for who goes through all of them."""
    ours = knowledge.rows("texts").whole()
    if _spoken != ENGLISH:
        ours = {name: translated(name, text) for name, text in ours.items()}
    return {**ours, **(house or {})}


def translated(hazard: str, text: dict[str, Any]) -> dict[str, Any]:
    """A hazard's file, or what is kept of it, in the language that is spoken."""
    if _spoken == ENGLISH:
        return text
    words = _of(hazard)

    def told(part: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
        return part | {name: words.get(part[name].strip(), part[name]) for name in names if name in part}

    whole = told(text, ("title", "message", "why", "fine_when"))
    if "remedies" in text:
        whole["remedies"] = [told(remedy, ("title", "because")) for remedy in text["remedies"]]
    if "evidence" in text:
        whole["evidence"] = told(text["evidence"], ("note",))
    return whole
