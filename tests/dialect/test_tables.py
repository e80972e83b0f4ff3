"""Every dialect's table is a lens: what is written under a key is read as its fact, and what is put into the fact's place is read back.

The rows are the cases, so that a new row is tested by standing in its table.
"""

from __future__ import annotations

import json

import pytest

from stablint.dialect import accelerate, axolotl, deepspeed, huggingface, llamafactory, peft, swift, torchtune
from stablint.dialect.codec import CODECS
from stablint.dialect.fragment import Row, lower_mapping
from stablint.dialect.registry import DOCUMENTS
from stablint.run.fact import Explicit, Statement
from stablint.source import json_edit, shell_edit, yaml_edit
from stablint.source.edit import apply
from stablint.source.json import document as json_document
from stablint.source.shell import document as shell_document
from stablint.source.tree import Document, Script, Text
from stablint.source.yaml import documents as yaml_documents

TABLES = {
    "hf-args": huggingface.ROWS,
    "llamafactory": llamafactory.ROWS,
    "axolotl": axolotl.ROWS,
    "ms-swift": swift.ROWS,
    "torchtune": torchtune.ROWS,
    "accelerate": accelerate.ROWS,
    "deepspeed": deepspeed.ROWS,
    "peft": peft.ROWS,
}
# For every codec: what stands there, what is put there instead, and what each of them means.
MEANINGS = {
    "plain": [(8, 8), (0.25, 0.25), ("2e-5", 2e-5), ("words", "words")],
    "dtype": [("bf16", "bfloat16"), ("float16", "float16"), ("torch.float32", "float32"), ("half", "float16")],
    "strategy": [("epoch", "epoch"), ("STEPS", "steps"), (False, "no")],
    "flag": [(True, True), (False, False)],
    "words": [("q_proj,v_proj", ["q_proj", "v_proj"]), ("k_proj, o_proj", ["k_proj", "o_proj"])],
    "text": [("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"), ("./saves/7b", "./saves/7b")],
    "is-4": [(4, True), (8, False)],
    "is-8": [(8, True), (4, False)],
    "targets": [("all", "all-linear"), ("q_proj,v_proj", ["q_proj", "v_proj"])],
    "is-bf16": [("bf16", True), ("fp16", False)],
    "is-fp16": [("fp16", True), ("bf16", False)],
    "offload": [(True, "cpu"), (False, "none")],
    "flash": [(True, "flash_attention_2"), (False, "eager")],
    "first": [([0.9, 0.95], 0.9), ([0.8, 0.95], 0.8)],
    "second": [([0.9, 0.95], 0.95), ([0.9, 0.999], 0.999)],
}
ENTRIES = [
    pytest.param(name, key, row, id=f"{name}: {key} → {row.fact}")
    for name, table in TABLES.items()
    for key, rows in table.items()
    for row in ((rows,) if isinstance(rows, Row) else rows)
]
each_entry = pytest.mark.parametrize(("dialect", "key", "row"), ENTRIES)


def nested(key: str, value: object) -> dict[str, object]:
    """`a.b.c` as the mappings that hold it."""
    for part in reversed(key.split(".")):
        value = {part: value}
    assert isinstance(value, dict)
    return value


def yaml_of(content: str) -> Document:
    (document,) = yaml_documents(Text("config.yaml", "config.yaml", content))
    assert not document.problems
    return document


def json_of(content: str) -> Document:
    document = json_document(Text("config.json", "config.json", content))
    assert not document.problems
    return document


def stated(dialect: str, document: Document, fact: str) -> Statement:
    from stablint.dialect.fragment import Block

    root = document.root
    assert root is not None
    block = Block(document, "document", "", root, root.start, root.end)  # type: ignore[arg-type]
    found = [s for s in lower_mapping(block, TABLES[dialect], "file", lambda key: None) if s.fact == fact]
    assert len(found) == 1
    return found[0]


def test_every_codec_has_cases() -> None:
    assert MEANINGS.keys() == CODECS.keys()
    assert {row.codec for _, _, row in (entry.values for entry in ENTRIES)} <= MEANINGS.keys()


@each_entry
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_what_is_put_into_a_place_is_read_back_as_the_fact(dialect: str, key: str, row: Row, form: str) -> None:
    read, writer = (yaml_of, yaml_edit) if form == "yaml" else (json_of, json_edit)
    cases = MEANINGS[row.codec]
    for (old, meant), (new, meant_then) in zip(cases, [*cases[1:], cases[0]], strict=True):
        document = read(json.dumps(nested(key, old), indent=2) + "\n")
        statement = stated(dialect, document, row.fact)
        assert statement.value == meant
        assert isinstance(statement.origin, Explicit)
        edit = writer.replace(document, statement.origin.place.entry, new)
        assert edit is not None
        after = read(apply(document.text.text, [edit]))
        assert stated(dialect, after, row.fact).value == meant_then


@each_entry
def test_putting_what_is_there_changes_no_byte(dialect: str, key: str, row: Row) -> None:
    for old, _ in MEANINGS[row.codec]:
        document = json_of(json.dumps(nested(key, old)))
        origin = stated(dialect, document, row.fact).origin
        assert isinstance(origin, Explicit)
        edit = json_edit.replace(document, origin.place.entry, old)
        assert edit is not None
        assert apply(document.text.text, [edit]) == document.text.text


@each_entry
def test_the_neighbours_stay_as_they_are(dialect: str, key: str, row: Row) -> None:
    old, new = (case[0] for case in MEANINGS[row.codec][:2])
    lines, indent = ["before: 'kept'   # why\n"], ""
    *above, last = key.split(".")
    for part in above:
        lines.append(f"{indent}{part}:\n")
        indent += "  "
    lines += [f"{indent}{last}: {json.dumps(old)}  # its own\n", "after: [1,  2]\n"]
    document = yaml_of("".join(lines))
    origin = stated(dialect, document, row.fact).origin
    assert isinstance(origin, Explicit)
    edit = yaml_edit.replace(document, origin.place.entry, new)
    assert edit is not None
    after = apply(document.text.text, [edit])
    assert after.startswith(lines[0]) and after.endswith("  # its own\n" + lines[-1])


FLAGS = [
    pytest.param(key, row, id=f"{key} → {row.fact}")
    for key, row in huggingface.ROWS.items()
    if isinstance(row, Row) and "." not in key and row.codec in ("plain", "text", "strategy", "dtype")
]


@pytest.mark.parametrize(("key", "row"), FLAGS)
@pytest.mark.parametrize("spelling", ["--{key} {value}", "--{key}={value}", "--{dashed} {value}"])
def test_flags_of_a_command_are_the_same_table(key: str, row: Row, spelling: str) -> None:
    from stablint.dialect.fragment import Block

    cases = [(str(old), meant) for old, meant in MEANINGS[row.codec] if old is not False]
    (old, meant), (new, meant_then) = cases[0], cases[1]

    def read(content: str) -> tuple[Document, Statement]:
        document = shell_document(Text("run.sh", "run.sh", content))
        script = document.root
        assert isinstance(script, Script)
        command = script.commands[0]
        block = Block(document, "flags", "train", command.flags, command.start, command.end)
        (found,) = [
            s
            for s in lower_mapping(block, huggingface.ROWS, "flags", lambda key: None, flags=True)
            if s.fact == row.fact
        ]
        return document, found

    flag = spelling.format(key=key, dashed=key.replace("_", "-"), value=old)
    document, statement = read(f"python train.py {flag} \\\n    --unrelated 1\n")
    assert statement.value == meant
    assert isinstance(statement.origin, Explicit)
    entry = statement.origin.place.entry
    assert entry is not None
    edit = shell_edit.replace(document, entry, new)
    assert edit is not None
    assert read(apply(document.text.text, [edit]))[1].value == meant_then


def test_every_dialect_of_documents_has_a_table_or_says_its_keys_by_rule() -> None:
    """`model` has the only key that matters of a config.json, `fsdp` strips a prefix; a new dialect with a table belongs into TABLES."""
    assert set(DOCUMENTS) - set(TABLES) == {"model", "fsdp"}
