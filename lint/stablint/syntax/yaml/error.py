"""What libyaml complains of, in words that name the cause, at the place where the reader should look."""

from __future__ import annotations

import re

from yaml.error import MarkedYAMLError, YAMLError

from stablint.syntax.limits import TOO_DEEP
from stablint.syntax.tree import Problem
from stablint.syntax.yaml.pure import in_libyaml_s_words

_CONTROL = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# What a script fills in before anybody reads the file.
_HOLE = re.compile(r"([@%]{1,2})[A-Za-z_][\w.-]*\1(?=[\s,\]}]|\Z)")
_IN_OUR_WORDS = {
    "mapping values are not allowed in this context": "a second `: ` where a value stands: quote the value, or check the indentation",
    "did not find expected key": "no key where one belongs: the indentation does not fit the lines above",
    "could not find expected ':'": "this line has no `key: value`",
    "did not find expected ',' or ']'": "a `[` that is not closed",
    "did not find expected ',' or '}'": "a `{` that is not closed",
    "did not find expected '-' indicator": "an item of a list should begin with `- ` at the list's column",
    "did not find expected node content": "a value is missing here",
    "found unexpected end of stream": "a quote that is not closed",
    "found character that cannot start any token": "a value cannot begin with this character; tabs do not indent in YAML",
    "found a tab character that violates indentation": "tabs do not indent in YAML",
    "found unknown escape character": "no escape that YAML knows: in double quotes a backslash is written `\\\\`",
    "found undefined tag handle": "a tag whose handle is not defined",
    "found incompatible YAML document": "a %YAML version that YAML 1.1 readers refuse",
    "block sequence entries are not allowed in this context": "a list cannot begin here: put `- ` on its own line",
    "did not find expected <document start>": "text behind the end of the document",
}


def is_nesting(error: YAMLError) -> bool:
    """Whether libyaml gave up at a thousand levels, as 0.2.6 and later do. They look ahead, so that the levels before these are never told."""
    return getattr(error, "problem", None) == "exceeded maximum nesting depth"


def syntax_error(source: str, error: YAMLError) -> Problem:
    """What libyaml said, at the place where the reader should look: for what is not closed, where it was opened."""
    if not isinstance(error, MarkedYAMLError):
        control = _CONTROL.search(source)
        at = control.start() if control else 0
        return Problem("syntax-error", f"the control character U+{ord(source[at]):04X} is not allowed", at, at + 1)
    said = in_libyaml_s_words(error)
    message = _IN_OUR_WORDS.get(said, f"not YAML: {said}")
    opened = error.context_mark if "not closed" in message else None
    mark = opened or error.problem_mark or error.context_mark
    at = min(mark.index, len(source)) if mark else 0
    end = min(at + 1, len(source))
    hole = _HOLE.match(source, at)
    if hole is not None:
        return Problem("json-template", f"`{hole.group()}` is to be filled in: a template", at, hole.end())
    return Problem(*TOO_DEEP, at, end) if is_nesting(error) else Problem("syntax-error", message, at, end)
