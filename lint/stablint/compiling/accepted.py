"""knowledge/keys/ → which keys each reader of a framework takes, over its releases; and which keys of others mean the same.

Spans are `[first, last, plugin]`, indices into the releases, `last` -1 while it still holds, the plugin left out where none is needed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stablint.compiling.reading import read_yaml
from stablint.run.releases.pep440 import release_key

DIFFER = "values-differ"
READS = ("keys", "releases", "values.json")


def compile_accepted(folder: Path) -> dict[str, object]:
    source = folder / "keys"
    listed = read_yaml(folder / "releases" / "versions.yaml")
    meant = read_yaml(folder / "releases" / "meant.yaml")
    result: dict[str, object] = {}
    names: set[str] = set()
    for path in sorted(source.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        order: list[str] = document["releases"]
        oldest = release_key(str(meant.get(document["library"], listed[document["library"]][0])))
        offered = [v for v in order if release_key(v) >= oldest]
        ahead = [version for version in order if ".dev" in version]
        for reader, entry in document["classes"].items():
            keys = {key: [_span(order, span) for span in spans] for key, spans in entry["fields"].items()}
            if reader not in ("names", "modules"):
                names.update(key.rpartition(".")[2] for key in keys)
            offered_ever = "\n".join(["", *keys, ""]) if reader == "names" else ""
            if reader == "names":
                keys = {key: spans for key, spans in keys.items() if _is_telling(key, spans)}
            elif reader == "modules":  # what is there in every release is nothing to tell of
                keys = {key: spans for key, spans in keys.items() if spans[-1][1] >= 0 or spans[0][0] > 0}
            bases = sorted({name for span in entry.get("bases", []) for name in span["is"]})
            result[f"accepted/{document['library']}.{reader}"] = {
                "library": document["library"],
                "releases": [[list(release_key(version)), version] for version in order],
                "ahead": [order.index(version) for version in ahead],
                "present": [_span(order, span) for span in entry["present"]],
                "bases": bases,
                "closed": entry["kind"] == "struct",
                "always": [key for key, spans in keys.items() if _throughout(spans, order.index(offered[0]))],
                "asked": [key for key, spans in entry["fields"].items() if all("asked" in span for span in spans)],
                "keys": keys,
                "offered": offered_ever,
            }
    result["reader-names"] = sorted(names)
    result["synonyms"] = _synonyms(read_yaml(source / "synonyms.yaml"))
    result["values"] = json.loads((folder / "values.json").read_text(encoding="utf-8"))
    result["kinds"] = read_yaml(source / "kinds.yaml")
    return result


def _span(order: list[str], span: dict[str, Any]) -> list[Any]:
    ends = [order.index(span["since"]), order.index(span["last"]) if "last" in span else -1]
    return [*ends, span["plugin"]] if "plugin" in span else ends


# Of the names that a library did not always offer, those that a script for a new model or method asks for; the rest is half of the library.
_MADE = ("ForCausalLM", "ForConditionalGeneration", "Trainer")
_ABOUT = ("LoRA", "Lora", "Peft", "Quant", "DPO", "SFT", "GRPO", "KTO")


def _is_telling(name: str, spans: list[list[Any]]) -> bool:
    """Is the name gone, or new and asked for?"""
    return spans[-1][1] >= 0 or (spans[0][0] > 0 and _is_asked_for(name))


def _is_asked_for(name: str) -> bool:
    if not name.isidentifier():
        return False
    return (name.endswith(_MADE) and name not in _MADE) or ("Model" not in name and any(one in name for one in _ABOUT))


def _throughout(spans: list[list[Any]], first: int) -> bool:
    """Is it taken by every release that counts where none is stated? Such a key needs no second look."""
    return spans[-1][0] <= first and spans[-1][1] < 0 and len(spans[-1]) == 2


def _synonyms(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, list[str]]]]:
    """Key → the groups that it stands in, each as library → names."""
    result: dict[str, list[dict[str, list[str]]]] = {}
    for row in rows:
        group = {name: words if isinstance(words, list) else [words] for name, words in row.items() if name != DIFFER}
        for word in dict.fromkeys(word for words in group.values() for word in words):
            result.setdefault(word, []).append({**group, DIFFER: [str(row[DIFFER])]} if DIFFER in row else group)
    return result
