"""Every dialect's table is a lens: what is written under a key is read as its fact, and what is put into the fact's place is read back.

The rows are the cases, so that a new row is tested by standing in its table.
"""

from __future__ import annotations

import json
import pkgutil
from importlib import import_module
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablint import frameworks
from stablint.frameworks import codec, huggingface, xtuner
from stablint.frameworks.codec import CODECS, Unwritable
from stablint.frameworks.fragment import Block, Row, Rows, lower_mapping
from stablint.frameworks.keyed import module_of
from stablint.frameworks.registry import DOCUMENTS
from stablint.run.fact import Explicit, Statement
from stablint.run.framework import records
from stablint.syntax.edit import apply
from stablint.syntax.json import editor as json_edit
from stablint.syntax.json.reader import document as json_document
from stablint.syntax.python import editor as python_edit
from stablint.syntax.python.reader import document as python_document
from stablint.syntax.shell import editor as shell_edit
from stablint.syntax.shell.reader import document as shell_document
from stablint.syntax.tree import Document, Module, Script, Text
from stablint.syntax.yaml import editor as yaml_edit
from stablint.syntax.yaml.reader import documents as yaml_documents
from tests.grouped import by, each


def _tables_of(module: ModuleType) -> dict[str, Rows]:
    """Its public dicts of rows: a new dialect is held to the laws by having one."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_")
        and isinstance(value, dict)
        and value
        and all(
            isinstance(row, Row) or (isinstance(row, tuple) and row and isinstance(row[0], Row))
            for row in value.values()
        )
    }


PREFIX = frameworks.__name__ + "."
TABLES: dict[str, Rows] = {
    f"{found.name.removeprefix(PREFIX)}.{name}": table
    for found in pkgutil.walk_packages(frameworks.__path__, PREFIX)
    for name, table in _tables_of(import_module(found.name)).items()
} | {f"{name}.ROWS": module_of(name).ROWS for name, record in records().items() if record.files is not None}
# For every codec: what stands there, what is put there instead, and what each of them means.
MEANINGS = {
    "plain": [(8, 8), (0.25, 0.25), ("2e-5", 2e-5), ("words", "words")],
    "dtype": [("bf16", "bfloat16"), ("float16", "float16"), ("torch.float32", "float32"), ("half", "float16")],
    "strategy": [("epoch", "epoch"), ("STEPS", "steps"), (False, "no")],
    "flag": [(True, True), (False, False), (1, True), (0, False)],
    "words": [("q_proj,v_proj", ["q_proj", "v_proj"]), ("k_proj, o_proj", ["k_proj", "o_proj"])],
    "text": [("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"), ("./saves/7b", "./saves/7b")],
    "switch": [
        (True, True),
        (1, True),
        (0, False),
        (0.5, True),
        ("false", "false"),
        (None, None),
        ("1", True),
        ("0", 0),
        ([1], True),
    ],
    "is-4": [(4, True), (8, False)],
    "is-8": [(8, True), (4, False)],
    "targets": [("all", "all-linear"), ("q_proj,v_proj", ["q_proj", "v_proj"])],
    "is-bf16": [("bf16", True), ("fp16", False)],
    "is-fp16": [("fp16", True), ("bf16", False)],
    "offload": [(True, "cpu"), (False, "none")],
    "flash": [(True, "flash_attention_2"), (False, "eager")],
    "member": [("CAUSAL_LM", "CAUSAL_LM"), ("peft.TaskType.SEQ_CLS", "SEQ_CLS")],
    "first": [([0.9, 0.95], 0.9), ([0.8, 0.95], 0.8)],
    "second": [([0.9, 0.95], 0.95), ([0.9, 0.999], 0.999)],
    "inverse": [(True, False), (False, True)],
    "attention": [("fa2", "flash_attention_2"), ("disabled", "eager"), ("sdpa", "sdpa"), ("auto", None)],
    "optimizer": [
        ("torch.optim.AdamW", "adamw_torch"),
        ("bitsandbytes.optim.PagedAdamW8bit", "paged_adamw_8bit"),
        ("SGD", "sgd"),
    ],
    "weights": [("bf16-true", "bfloat16"), ("16-true", "float16"), ("32-true", "float32")],
    "autocast": [("bf16-mixed", "bfloat16"), ("16-mixed", "float16"), ("32-true", "float32")],
    "positive": [(4096, True), (0, False)],
    "builder": [("torchtune.models.llama3.lora_llama3_8b", "lora"), ("torchtune.models.llama3.llama3_8b", "full")],
    "builder-4bit": [
        ("torchtune.models.llama3.qlora_llama3_8b", True),
        ("torchtune.models.llama3.lora_llama3_8b", False),
    ],
    "bnb-4bit": [("bnb.nf4", True), ("bnb.int8-training", False)],
    "word-4bit": [("4bit", True), ("8bit", False)],
    "word-8bit": [("8bit", True), ("4bit", False)],
    "bnb-8bit": [("bnb.int8-training", True), ("bnb.nf4-dq", False)],
    "bnb-type": [("bnb.nf4", "nf4"), ("bnb.fp4-dq", "fp4")],
    "bnb-double": [("bnb.nf4-dq", True), ("bnb.nf4", False)],
    "sentence-schedule": [
        ("constantlr", "constant"),
        ("warmuplinear", "linear"),
        ("warmupcosinewithhardrestarts", "cosine_with_restarts"),
    ],
    "four-bits": [(True, 4), (False, None)],
    "flash-word": [("flash_attn", "flash_attention_2"), ("sdpa", "sdpa")],
    "swift-init": [("gaussian", "gaussian"), ("true", True)],
    "swift-dtype": [("bf16", "bfloat16"), ("fp16", "float16"), ("fp32", "float32")],
    "short-dtype": [("bf16", "bfloat16"), ("fp16", "float16"), ("fp32", "float32")],
    "prefix": [(128, "PREFIX_ENCODER"), (64, "PREFIX_ENCODER")],
    "types": [([{"type": "alpaca"}], ["alpaca"]), ([{"type": "a"}, {"path": "b"}], ["a"])],
    "said-twice": [
        ([{"message_field_role": "a", "message_property_mappings": {"role": "b"}}], ["message_field_role"]),
        ([{"type": "a"}], []),
    ],
    "unformatted": [([{"type": {"field_prompt": "q"}}], ["q"]), ([{"type": "a"}], [])],
    "unloaded": [([{"path": "a.json"}], ["a.json"]), ([{"path": "a/b"}], [])],
} | {
    f"{name} {key} {said['fact']}": said["words"]
    for name, record in records().items()
    if record.files is not None
    for key, facts in record.files.keys.items()
    for said in facts
    if "words" in said
}
ENTRIES = [
    (name, key, row)
    for name, table in TABLES.items()
    for key, rows in table.items()
    for row in ((rows,) if isinstance(rows, Row) else rows)
]
_BY_DIALECT = by(lambda name, key, row: name, lambda name, key, row: f"{key} → {row.fact}", ENTRIES)
each_entry, each_sampled_entry = each(_BY_DIALECT), each(_BY_DIALECT, 4)


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
    root = document.root
    assert root is not None
    block = Block(document, "document", "", root, root.start, root.end)  # type: ignore[arg-type]
    found = [s for s in lower_mapping(block, TABLES[dialect], "file", lambda key: None) if s.fact == fact]
    assert len(found) == 1
    return found[0]


def test_every_codec_has_cases() -> None:
    assert MEANINGS.keys() == CODECS.keys()
    assert {row.codec for _, _, row in ENTRIES} <= MEANINGS.keys()


@pytest.mark.parametrize("form", ["yaml", "json"])
@each_entry
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


numbers = st.one_of(st.integers(-(10**9), 10**9), st.floats(1e-12, 1e12, allow_nan=False), st.sampled_from([0, 1, -1]))
names = st.from_regex(r"[A-Za-z][A-Za-z0-9_./-]{0,30}[A-Za-z0-9]", fullmatch=True).filter(
    lambda word: word.lower() not in ("true", "false")
)
GENERATED = {
    "plain": numbers,
    "text": names,
    "words": st.lists(names.filter(str.isalnum), min_size=2, max_size=4),
    "flag": st.booleans(),
}


def laws_of(dialect: str, key: str, row: Row, data: st.DataObject) -> None:
    raws = [raw for raw, _ in MEANINGS[row.codec]]
    values = st.sampled_from([meant for _, meant in MEANINGS[row.codec]])
    value = data.draw(st.one_of(values, GENERATED.get(row.codec, values)))
    old = data.draw(st.sampled_from(raws))
    read, writer = data.draw(st.sampled_from([(yaml_of, yaml_edit), (json_of, json_edit)]))
    document = read(json.dumps(nested(key, old)))
    statement = stated(dialect, document, row.fact)
    assert isinstance(statement.origin, Explicit)
    try:
        words = codec.write(row.codec, value, statement.raw)
    except Unwritable:
        return  # told, not written
    edit = writer.replace(document, statement.origin.place.entry, words)
    assert edit is not None
    after = read(apply(document.text.text, [edit]))
    put = stated(dialect, after, row.fact)
    assert put.value == value
    assert isinstance(put.origin, Explicit)
    again = writer.replace(after, put.origin.place.entry, codec.write(row.codec, put.value, put.raw))
    assert again is not None
    assert apply(after.text.text, [again]) == after.text.text


@each_sampled_entry
def test_the_laws_hold_for_whatever_is_put(dialect: str, key: str, row: Row) -> None:
    """Put-get, get-put and put-put, in YAML and JSON, through the codec's own words."""

    # A property an entry: one for all would nest its settings once more for each of them, and end in a
    # RecursionError where CI sets no example database.
    @settings(max_examples=4)
    @given(data=st.data())
    def hold(data: st.DataObject) -> None:
        laws_of(dialect, key, row, data)

    hold()


OF_XTUNER = [(k, r) for k, rows in xtuner.ROWS.items() for r in ((rows,) if isinstance(rows, Row) else rows)]


@pytest.mark.parametrize("named", [False, True], ids=["in place", "by name"])
@each(by(lambda key, row: "xtuner", lambda key, row: f"{key} → {row.fact}", OF_XTUNER))
def test_a_python_config_is_edited_where_the_value_stands(key: str, row: Row, named: bool) -> None:
    (old, meant), (new, meant_then) = MEANINGS[row.codec][:2]

    def read(content: str) -> tuple[Document, Statement]:
        document = python_document(Text("config.py", "config.py", content))
        assert isinstance(document.root, Module)
        names = document.root.names
        block = Block(document, "document", "", names, names.start, names.end)
        (found,) = [s for s in lower_mapping(block, xtuner.ROWS, "file", lambda key: None) if s.fact == row.fact]
        return document, found

    head, *parts = key.split(".")
    inner = "value" if named and parts else repr(old)
    for part in reversed(parts):
        inner = f"dict({part}={inner})"
    document, statement = read(f"value = {old!r}  # here\n{head} = {inner}\n")
    assert statement.value == meant
    assert isinstance(statement.origin, Explicit)
    edit = python_edit.replace(document, statement.origin.place.entry, new)
    if isinstance(old, list) and named:
        return  # a list that several places share is not edited
    assert edit is not None
    after = apply(document.text.text, [edit])
    assert read(after)[1].value == meant_then
    assert after.count("  # here\n") == 1


FLAGS = [
    (key, row)
    for key, row in huggingface.ROWS.items()
    if isinstance(row, Row) and "." not in key and row.codec in ("plain", "text", "strategy", "dtype")
]


@pytest.mark.parametrize("spelling", ["--{key} {value}", "--{key}={value}", "--{dashed} {value}"])
@each(by(lambda key, row: "flags", lambda key, row: f"{key} → {row.fact}", FLAGS))
def test_flags_of_a_command_are_the_same_table(key: str, row: Row, spelling: str) -> None:
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
    """`model` has the only key that matters of a config.json, `fsdp` strips a prefix, `llamafactory-data` says what several keys come to together."""
    modules = {"ms-swift": "swift", "hf-args": "huggingface"}
    without = {
        name for name in DOCUMENTS if not any(table.startswith(modules.get(name, name) + ".") for table in TABLES)
    }
    assert without == {"model", "fsdp", "llamafactory-data"}
