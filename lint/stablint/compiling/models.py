"""knowledge/models/*.yaml → models/*.rows (types, product lines, every name) and model_evidence.json (why fp16 is judged as it is)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stablint.compiling.reading import read_yaml
from stablint.models.names import tokens
from stablint.models.nature import OWN, SIZE, worked_out

READS = ("models",)

_TYPE_KEYS = frozenset(
    "class custom_code layers linear linear_before_5 embeddings moe router expert_parameters attention since fp16 note".split()  # noqa: SIM905
)
_LINE_KEYS = frozenset([
    "name", "also", "only_first", "only_sizes", "by_id", "type", "dtype", "is_moe", "needs_size", "quantised", "fp16", "sizes", "source",
])  # fmt: skip
_SIZE_KEYS = tuple(SIZE)
_OTHER_SIZE_KEYS = frozenset(
    "published source experts_per_token expert_width shared_experts dense_layers checkpoints".split()  # noqa: SIM905
)
_WIDEST = 8  # widths of the model that a decoder's feed-forward network has at most
_JUDGEMENTS = frozenset(("unsafe", "risky", "fine"))


def compile_models(folder: Path) -> dict[str, object]:
    """Everything that `describe` looks up by token, id or type, as facts ready to hand out."""
    read = {path: read_yaml(path) for path in sorted((folder / "models").glob("*.yaml"))}
    types_path = folder / "models" / "types.yaml"
    lines = [line for path, content in read.items() if path != types_path for line in content["lines"]]
    evidence = {line["name"]: line["fp16"] for line in lines if "fp16" in line}
    named: dict[str, list[list[Any]]] = {}
    ids: dict[str, list[Any]] = {}
    compiled: list[dict[str, Any]] = []
    types = {name: _type(name, facts, read[types_path], evidence) for name, facts in read[types_path]["types"].items()}
    for number, line in enumerate(lines):
        _check(line, types)
        for spelled in () if line.get("by_id") else (line["name"], *line.get("also", ())):
            first, *rest = tokens(spelled.removeprefix("^"))
            only_first = spelled.startswith("^") or bool(line.get("only_first"))
            named.setdefault(first, []).append([rest, number, only_first])
        sizes = {}
        for label, size in line["sizes"].items():
            sizes[label] = _trim([size.get(key) for key in _SIZE_KEYS])
            for checkpoint in size.get("checkpoints", ()):
                own = checkpoint if isinstance(checkpoint, dict) else {"id": checkpoint}
                if own["id"].lower() in ids:
                    raise ValueError(f"{own['id']} stands there twice")
                ids[own["id"].lower()] = [number, label, _trim([own.get(key) for key in OWN]), own["id"]]
        compiled.append(
            {
                "name": line["name"],
                "type": line["type"],
                "dtype": line.get("dtype"),
                "is_moe": line.get("is_moe"),
                "needs_size": bool(line.get("needs_size")),
                "only_sizes": bool(line.get("only_sizes")),
                "quantised": line.get("quantised"),
                "fp16": [[entry["training"], entry.get("parameters_from", 0)] for entry in line.get("fp16", ())],
                "sizes": sizes,
            }
        )
    for row in ids.values():
        line = compiled[row[0]]
        row[3] = worked_out(row[3], line, types[line["type"]], row[1], row[2])
    return {
        "models/types.rows": types,
        "models/lines.rows": {str(number): line for number, line in enumerate(compiled)},
        "models/names.rows": named,
        "models/ids.rows": ids,
        "models/published": {kind: _published(compiled, kind == "experts") for kind in ("dense", "experts")},
        "model_evidence": evidence,
    }


def _published(lines: list[dict[str, Any]], experts: bool) -> list[list[int]]:
    """The dimensions that published models have, each set of them once: parameters, layers, hidden, intermediate, query, key-value, vocab, heads, key-value
    heads. Encoders and decoders in one are left out: their feed-forward network is wider than any decoder's."""
    found = {}
    for line in lines:
        for size in line["sizes"].values():
            row = dict(zip(SIZE, size, strict=False))
            wanted = tuple(
                row.get(name) for name in ("parameters", "layers", "hidden", "intermediate", "heads", "vocab")
            )
            if (
                bool(line["is_moe"] or row.get("experts")) is not experts
                or None in wanted
                or row["intermediate"] > _WIDEST * row["hidden"]
            ):
                continue
            depth, groups = row.get("head_dim") or row["hidden"] // row["heads"], row.get("kv_heads") or row["heads"]
            parameters, layers, hidden, intermediate, heads, vocab = wanted
            found[wanted] = [
                parameters,
                layers,
                hidden,
                intermediate,
                depth * heads,
                depth * groups,
                vocab,
                heads,
                groups,
            ]
    return list(found.values())


def _trim(row: list[Any]) -> list[Any]:
    """A row without the missing values at its end."""
    while row and row[-1] is None:
        row.pop()
    return row


def _type(name: str, stated: dict[str, Any], content: dict[str, Any], evidence: dict[str, Any]) -> dict[str, Any]:
    if stated.keys() - _TYPE_KEYS or (stated.get("fp16") and stated["fp16"] not in evidence):
        raise ValueError(f"types.yaml: {name}: {sorted(stated.keys() - _TYPE_KEYS) or stated['fp16']}")
    facts: dict[str, Any] = {"model.type": name, "model.is_moe": bool(stated.get("moe"))}
    linear = stated.get("linear")
    if linear is not None:
        names = [linear] if isinstance(linear, str) else linear
        leaves = [leaf for word in names for leaf in content["lists"].get(word, [word])]
        embeddings = stated.get("embeddings", content["lists"]["embeddings"])
        leaves += [*stated.get("linear_before_5", ()), *stated.get("router", ()), *embeddings]
        facts["model.linear_modules"] = list(dict.fromkeys(leaves))
    for key, fact in (("layers", "model.decoder_layer_classes"), ("expert_parameters", "model.expert_parameters")):
        if key in stated:
            facts[fact] = stated[key]
    if "attention" in stated:
        facts["model.attention.sdpa"] = "sdpa" in stated["attention"]
        facts["model.attention.flash_attention"] = "flash_attention" in stated["attention"]
    if "since" in stated:
        facts["model.min_transformers"] = stated["since"]
    if stated.get("custom_code"):
        facts["custom_code"] = True
    if "fp16" in stated:
        facts["fp16"] = [[entry["training"], entry.get("parameters_from", 0)] for entry in evidence[stated["fp16"]]]
        facts["evidence"] = stated["fp16"]
    return facts


def _check(line: dict[str, Any], types: dict[str, Any]) -> None:
    odd = line.keys() - _LINE_KEYS
    if odd or line["type"] not in types:
        raise ValueError(f"{line['name']}: {sorted(odd) or 'type ' + line['type']}")
    for size in line["sizes"].values():
        odd = size.keys() - set(_SIZE_KEYS) - _OTHER_SIZE_KEYS
        if odd:
            raise ValueError(f"{line['name']}: {sorted(odd)}")
    for entry in line.get("fp16", ()):
        if entry["training"] not in _JUDGEMENTS or not entry["sources"] or not entry["note"] or not entry["grade"]:
            raise ValueError(f"{line['name']}: fp16 needs a judgement, grade, sources and a note")
