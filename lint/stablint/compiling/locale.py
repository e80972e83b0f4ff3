"""knowledge/locale/LANGUAGE/*.po → `locale/LANGUAGE` (the program's own sentences) and rows of the hazards' texts.

A message's context is the id of its hazard; the program's own sentences have none.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from stablint.base.libraries import pofile

READS = ("locale",)


def compile_locale(root: Path) -> dict[str, object]:
    """By language. What is empty or fuzzy is left out, and told in English. Raises ValueError for a catalogue that cannot be read.

    Nothing where Babel is missing, which only a checkout can be without: it speaks English then.
    """
    found: dict[str, object] = {}
    if find_spec("babel") is None:
        return found
    for folder in sorted((root / "locale").iterdir()):
        if not folder.is_dir():
            continue
        program: dict[str, str] = {}
        hazards: dict[str, dict[str, str]] = {}
        for path in sorted(folder.glob("*.po")):
            for message in read(path):
                if message.id and message.string and not message.fuzzy:
                    one, other = _forms(message)
                    words = hazards.setdefault(message.context, {}) if message.context else program
                    words[one] = other
        found[f"locale/{folder.name}"] = program
        found[f"locale/{folder.name}.rows"] = hazards
    return found


def read(path: Path) -> Any:
    """A catalogue as Babel has it. Raises ValueError that names the file."""
    with path.open("rb") as file:
        try:
            return pofile.read_po(file, locale=path.parent.name, abort_invalid=True)
        except (pofile.PoFileError, UnicodeDecodeError) as error:
            raise ValueError(f"locale/{path.parent.name}/{path.name}: {error}") from error


def _forms(message: Any) -> tuple[str, str]:
    """The text and its translation; of a number's forms the general one."""
    if isinstance(message.id, tuple):
        return message.id[1], message.string[0]
    return message.id, message.string
