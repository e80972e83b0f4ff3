"""How PyYAML words what libyaml complains of, where it has no libyaml: in the playground."""

from __future__ import annotations

from yaml.error import MarkedYAMLError

# By how it begins there, what libyaml says.
_SAID = {
    "mapping values are not allowed": "mapping values are not allowed in this context",
    "sequence entries are not allowed": "block sequence entries are not allowed in this context",
    "expected ',' or ']'": "did not find expected ',' or ']'",
    "expected ',' or '}'": "did not find expected ',' or '}'",
    "expected the node content": "did not find expected node content",
    "expected '<document start>'": "did not find expected <document start>",
    "found character ": "found character that cannot start any token",
    "found unknown escape character": "found unknown escape character",
    "found undefined tag handle": "found undefined tag handle",
    "found incompatible YAML document": "found incompatible YAML document",
}
_OF_BLOCKS = {
    "while parsing a block mapping": "did not find expected key",
    "while parsing a block collection": "did not find expected '-' indicator",
}


def in_libyaml_s_words(error: MarkedYAMLError) -> str:
    said = error.problem or "unknown reason"
    if said.startswith("expected <block end>"):
        return _OF_BLOCKS.get(error.context or "", said)
    return next((words for begin, words in _SAID.items() if said.startswith(begin)), said)
