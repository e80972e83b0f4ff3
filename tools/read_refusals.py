"""What the libraries print where they refuse a setting that no hazard tells: generates knowledge/messages/refused.json.

    python tools/read_refusals.py --archives FOLDER          # write it again from the wheels and source archives in a folder
    python tools/read_refusals.py --archives FOLDER --check  # exit 1 where a release that lies there no longer says what is stored of it

Of each raise and assert of a library that trains: is one of the library's own settings named in its words? Settings are the fields of the
classes that configurations are read into (the library's, and transformers' and TRL's below it) and the keys of knowledge/keys. Such a message
says by itself which setting it is about and what is expected of it; where it is printed, that setting is told. Archives are read with `ast`.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from stablint.audit.archives import Shelf
from stablint.audit.messages import written
from stablint.audit.statements import Message, literals, messages

ROOT = Path(__file__).resolve().parent.parent
STORED = ROOT / "knowledge" / "messages" / "refused.json"
LIBRARIES = (
    "accelerate", "axolotl", "deepspeed", "llamafactory", "ms-swift", "openrlhf", "peft", "sentence-transformers", "torchtune", "transformers",
    "trl", "verl",
)  # fmt: skip
BELOW = ("transformers", "trl", "peft")  # whose settings the others pass on
ENOUGH = 20  # letters of one run without a gap
MOST = 3  # settings that one message is about
# What is read by no training: models' own code and its classes, tests, servers, programs that are shown.
_APART = re.compile(
    r"(?:^|/)(?:tests?|testing|test_utils|benchmarks?|examples?|docs|models|model_implementations|pipelines|inference|serving|serve|deploy|sampling|"
    r"compressor|autotuning|ui|webui|csrc|kernels?|benchmark|generation|experimental/openenv)/|"
    r"/(?:test_|modeling_|configuration_|tokenization_|image_|video_|feature_extraction|processing_|cache_utils|bench)"
)
_HOLDS = re.compile(r"(?:Config|Arguments|Args|Params|Parameters|Plugin|Mixin|Kwargs)\Z")
_WORDS = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
_MARKED = re.compile(
    r"[`'\"]-{0,2}([a-z][a-z0-9]{2,})[`'\"=]|--([a-z][a-z0-9]{2,})\b"
)  # of one word: only where it is marked as a name
# Fields that hold what a program makes or a model is, not what somebody sets.
_MADE = frozenset(
    "input_ids attention_mask position_ids inputs_embeds past_key_values state_dict model_type hidden_states hidden_size pixel_values "  # noqa: SIM905
    "token_type_ids output_attentions output_hidden_states return_dict model_init model tokenizer processor config args type name data path value "
    "values default key keys list dict str int float bool true false none null auto device cuda cpu step loss true_ train test eval split text "
    "labels label prompt completion chosen rejected return_tensors text_pair token world_size generation_config add_special_tokens num_layers "
    "messages images content role train_dataset eval_dataset compute_metrics save_pretrained from_pretrained head_dim num_heads "
    "num_key_value_heads num_attention_heads num_hidden_layers vocab_size pad_token_id eos_token_id bos_token_id batch rank size shape dtype "
    "torch deepspeed accelerate peft transformers python pip install".split()
)


@cache
def _fields(source: str) -> frozenset[str]:
    """The annotated fields of the classes in a module that hold settings."""
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError):
        return frozenset()
    return frozenset(
        line.target.id
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef) and _HOLDS.search(node.name)
        for line in node.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    )


def settings_of(shelf: Shelf, library: str, release: str) -> frozenset[str]:
    files = shelf.files(library, release)
    return frozenset(
        name
        for path, text in files.items()
        if path.endswith(".py") and not _APART.search(path)
        for name in _fields(text)
    )


def keys_of(library: str) -> frozenset[str]:
    """The names of a framework's keys, from the record of what its own reader takes."""
    path = ROOT / "knowledge" / "keys" / f"{library}.json"
    return frozenset(_names(json.loads(path.read_text(encoding="utf-8")))) if path.exists() else frozenset()


def _names(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        for key, value in data.items():
            if _WORDS.fullmatch(key):
                yield key
            yield from _names(value)
    elif isinstance(data, list):
        for value in data:
            if isinstance(value, str) and _WORDS.fullmatch(value):
                yield value
            yield from _names(value)


def named(text: str, settings: frozenset[str]) -> list[str]:
    """The settings that a message's own words name, as it names them."""
    said = " ".join(literals(text))
    found = {match.start(): match[0] for match in _WORDS.finditer(said)}
    found |= {match.start(): match[1] or match[2] for match in _MARKED.finditer(said)}
    return list(dict.fromkeys(name for _, name in sorted(found.items()) if name in settings and name not in _MADE))[
        :MOST
    ]


def read(shelf: Shelf, told: frozenset[str]) -> list[dict[str, object]]:
    """`told`: texts that are known already."""
    below = frozenset(
        name
        for library in BELOW
        for release in shelf.releases(library)[-1:]
        for name in settings_of(shelf, library, release)
    )
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for library in LIBRARIES:
        for release in shelf.releases(library):
            settings = settings_of(shelf, library, release) | below | keys_of(library)
            for path, text in sorted(shelf.files(library, release).items()):
                if not path.endswith(".py") or _APART.search(path):
                    continue
                for message in messages(text):
                    names = _refused(message, settings, told)
                    if names:
                        row = found.setdefault(
                            (library, message.text),
                            {
                                "text": message.text,
                                "settings": names,
                                "library": library,
                                "path": path,
                                "first": release,
                            },
                        )
                        row["last"] = release
    return [found[key] for key in sorted(found)]


def _refused(message: Message, settings: frozenset[str], told: frozenset[str]) -> list[str]:
    if message.kind == "warning" or message.text in told or max(map(len, literals(message.text))) < ENOUGH:
        return []
    return named(message.text, settings)


def said_no_more(stored: list[dict[str, Any]], shelf: Shelf) -> Iterator[Mapping[str, Any]]:
    """The rows whose last release lies there and has no such text."""
    for row in stored:
        files = shelf.files(row["library"], row["last"])
        if files and row["text"] not in {message.text for message in messages(files.get(row["path"], ""))}:
            others = (message.text for text in files.values() for message in messages(text))
            if row["text"] not in others:
                yield row


def known_texts() -> frozenset[str]:
    raised = json.loads((STORED.parent / "raised.json").read_text(encoding="utf-8"))["messages"]
    return frozenset(row["text"] for row in raised)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archives", type=Path, required=True, help="folder with wheels and source archives")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 where a stored text is said no more"
    )
    given = parser.parse_args(arguments)
    shelf = Shelf(given.archives)
    if given.check:
        stored = json.loads(STORED.read_text(encoding="utf-8"))["messages"]
        gone = list(said_no_more(stored, shelf))
        for row in gone:
            print(f"{row['library']} {row['last']} {row['path']}: says no more: {row['text'][:100]}")
        return 1 if gone else 0
    found = read(shelf, known_texts())
    STORED.write_text(written(found), encoding="utf-8")
    by_library = {library: sum(row["library"] == library for row in found) for library in LIBRARIES}
    releases = sum(len(shelf.releases(library)) for library in LIBRARIES)
    print(f"{len(found)} texts of {releases} releases in {STORED.relative_to(ROOT)}: {by_library}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
