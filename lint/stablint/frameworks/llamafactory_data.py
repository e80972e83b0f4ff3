"""LLaMA-Factory's dataset_info.json: one entry a data set, as its parser takes it (llamafactory 0.9.5 data/parser.py, converter.py, loader.py).

Each fact is `data.info.<what>.<set>`: what the entry comes to for its formatting, so that no condition has to look at two keys of one entry.
`none` is a column or a tag that is switched off because its group is written down without it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from collections.abc import Sequence as Rows

from stablint.base.light import Any
from stablint.frameworks.fragment import Block, Fragment, Link
from stablint.run.fact import CLOSED, Explicit, Place, Statement
from stablint.syntax import limits
from stablint.syntax.tree import Entry, Mapping, Node, Scalar

FILE = "dataset_info.json"
SOURCES = ("hf_hub_url", "ms_hub_url", "om_hub_url", "script_url", "cloud_file_name", "file_name")
_OTHERS = frozenset({"formatting", "ranking", "subset", "split", "folder", "num_samples", "columns", "tags"})
_FORMER = frozenset({"file_sha1", "stage", "num_epochs"})  # read by no release that is described, in many files
_COLUMNS: dict[str, str | None] = {
    "prompt": "instruction", "query": "input", "response": "output", "messages": "conversations",
    **dict.fromkeys(["history", "system", "tools", "images", "videos", "audios", "chosen", "rejected", "kto_tag"]),
}  # fmt: skip
_TAGS: dict[str, str | None] = {"role_tag": "from", "content_tag": "value", "user_tag": "human", "assistant_tag": "gpt", "observation_tag": "observation",
         "function_tag": "function_call", "system_tag": "system"}  # fmt: skip
_LATER = frozenset({"tools", "images", "videos", "audios", "kto_tag"})  # columns that early releases do not read
_TURNS = ("sharegpt", "openai")
_NOT_A_WORD = re.compile(r"[^\w-]")
_MEDIA = ("images", "videos", "audios")


def keys_below(section: tuple[str, ...]) -> tuple[str, ...]:
    """What is read in an entry, in its columns and in its tags."""
    if not section:
        return (*SOURCES, *sorted(_OTHERS))
    return tuple({"columns": _COLUMNS, "tags": _TAGS}.get(section[0], ())) if len(section) == 1 else ()


def files(block: Block) -> Iterator[tuple[str, Place]]:
    """The local files of rows that the entries name."""
    for entry in block.mapping.entries:
        for one in entry.value.entries if isinstance(entry.value, Mapping) else ():
            node = one.value
            if one.key == "file_name" and isinstance(node, Scalar) and isinstance(node.value, str):
                yield node.value, Place(block.document, one.key, node.start, node.end, one, (entry.key, one.key))


def recognise(keys: frozenset[str], block: Block) -> int:
    """A table of tables, each of which says where its rows come from."""
    tables = [entry.value for entry in block.mapping.entries if type(entry.value) is Mapping]
    if not tables or len(tables) < len(block.mapping.entries):
        return 0
    rows = [table for table in tables if any(table.get(source) is not None for source in SOURCES)]
    shaped = [table for table in tables if table.get("columns") is not None or table.get("formatting") is not None]
    if any(isinstance(table.get("columns"), Mapping) for table in tables) and not any(map(_is_its_own, tables)):
        return 0  # columns by names that its parser has not: a loader of the repository's own
    return 95 if rows and len(rows) * 2 > len(tables) and (shaped or _only(rows)) else 0


def _is_its_own(table: Mapping) -> bool:
    """Whether an entry has a word that LLaMA-Factory's parser alone has."""
    columns = table.get("columns")
    named = isinstance(columns, Mapping) and any(entry.key in _COLUMNS for entry in columns.entries)
    return named or any(table.get(key) is not None for key in ("formatting", "ranking", "tags"))


def _only(rows: list[Mapping]) -> bool:
    return all(entry.key in SOURCES or entry.key in _OTHERS | _FORMER for row in rows for entry in row.entries)


def lower(block: Block) -> Fragment:
    said: list[Statement] = []
    for entry in block.mapping.entries:
        if isinstance(entry.value, Mapping):
            said += _of_set(block, entry, entry.value)
    names = [word(entry.key) for entry in block.mapping.entries]
    if block.mapping.entries:
        said.append(_said(block, "names", "", names, block.mapping.entries[0]))
    links = tuple(Link("sample", name, place) for name, place in files(block))
    return Fragment(
        "llamafactory-data",
        block,
        "file",
        tuple(said),
        {"data": CLOSED},
        {},
        links,
        entry=True,
        framework="llamafactory",
    )


def word(name: str) -> str:
    """The name of a set as a part of a fact."""
    return _NOT_A_WORD.sub("-", name)


def _of_set(block: Block, entry: Entry, table: Mapping) -> Iterator[Statement]:
    name = word(entry.key)
    stated = {one.key: one for one in table.entries}
    source = next((one for one in SOURCES if one in stated), "none")
    yield _said(block, "source", name, source, stated.get(source, entry))
    formatting = _text(table.get("formatting"), "alpaca")
    yield _said(block, "formatting", name, formatting, stated.get("formatting", entry))
    for key, one in stated.items():
        if key not in SOURCES and key not in _OTHERS and key not in _FORMER:
            yield _said(block, "unread", f"{name}.{word(key)}", key, one)
        for group, known in (("columns", _COLUMNS), ("tags", _TAGS)):
            if key == group and isinstance(one.value, Mapping):
                for inner in one.value.entries:
                    if inner.key not in known:
                        yield _said(block, f"unread_{group}", f"{name}.{word(inner.key)}", inner.key, inner)
                    elif inner.key in _LATER:
                        yield _said(block, inner.key, name, _text(inner.value, "") or "none", inner)
    columns, tags = _effective(table, "columns", _COLUMNS), _effective(table, "tags", _TAGS)
    ending = _ending(table, source)
    if ending is not None:
        yield _said(block, "ending", name, ending, stated["file_name"])
    at = stated.get("columns", stated.get("formatting", entry))
    if "kto_tag" in columns:
        yield _said(block, "labelled", name, columns["kto_tag"] is not None, at)
    main = "messages" if formatting in _TURNS else "prompt" if formatting == "alpaca" else ""
    if main and main in columns:
        yield _said(block, main, name, columns[main] or "none", at)
        if ending == "txt":
            yield _said(block, "text_column", name, columns[main] or "none", at)
    if formatting in _TURNS:
        for tag in ("role_tag", "content_tag", "user_tag", "assistant_tag"):
            if tag in tags:
                yield _said(block, tag, name, tags[tag] or "none", stated.get("tags", entry))
    ranking = table.get("ranking")
    if ranking is None or (isinstance(ranking, Scalar) and isinstance(ranking.value, bool)):
        yield _said(block, "ranking", name, ranking is not None and ranking.value, stated.get("ranking", entry))
    if isinstance(ranking, Scalar) and ranking.value is True:
        for column in ("chosen", "rejected"):
            if column in columns:
                yield _said(block, column, name, columns[column] or "none", at)


def of_rows(block: Block, link: Link, rows: Rows[dict[str, Any]]) -> Iterator[Statement]:
    """What the first rows of a set's file lack of what its converter looks up, `data.rows.<fault>.<set>`: it takes each column by its name."""
    entry = next(one for one in block.mapping.entries if one.key == link.place.path[0])
    table = entry.value
    assert isinstance(table, Mapping)
    stated, name = {one.key: one for one in table.entries}, word(entry.key)
    columns, tags = _effective(table, "columns", _COLUMNS), _effective(table, "tags", _TAGS)
    ranking = table.get("ranking")
    ranked = isinstance(ranking, Scalar) and ranking.value is True
    turned = _text(table.get("formatting"), "alpaca") in _TURNS
    asked = ["messages"] if turned else ["prompt", "query", "history", "system"]
    asked += ["tools", *_MEDIA, "kto_tag", *(("chosen", "rejected") if ranked else () if turned else ("response",))]
    lacking = [c for c in map(columns.get, asked) if c and not any(c in row for row in rows)]
    at = stated.get("columns", stated.get("formatting", entry))
    if lacking:
        yield _of_rows(block, "lacking", name, ", ".join(lacking), at)
    texts = [[str(row.get(columns.get(one) or "", "")) for one in ("prompt", "query", "response")] for row in rows]
    if turned and columns.get("messages"):
        turns = [[one for one in row.get(columns["messages"] or "") or [] if isinstance(one, dict)] for row in rows]
        texts = [[str(one.get(tags.get("content_tag") or "", "")) for one in row] for row in turns]
        yield from _of_turns(block, name, stated.get("tags", at), turns, tags, ranked)
    for kind in _MEDIA[:2]:
        held, mark = columns.get(kind), f"<{kind[:-1]}>"
        if held and any(isinstance(row.get(held), str) for row in rows):
            yield _of_rows(block, f"{kind}_as_text", name, held, at)
        counts = [
            (sum(text.count(mark) for text in said), len(given) if isinstance(given, list) else int(given is not None))
            for row, said in zip(rows, texts, strict=True)
            for given in [row.get(held) if held else None]
        ]
        wrong = [one for one in counts if one[0] != one[1] and (held or one[0])]
        if wrong and not ranked:
            what = "unmarked" if wrong[0][0] < wrong[0][1] else "missing" if held else "unnamed"
            yield _of_rows(block, f"{kind}_{what}", name, f"{wrong[0][0]} {mark}, {wrong[0][1]} {kind}", at)


def _of_turns(
    block: Block, name: str, at: Entry, turns: Rows[Rows[dict[str, Any]]], tags: dict[str, str | None], ranked: bool
) -> Iterator[Statement]:
    """The keys and roles of turns, and their order: one side and the other in turn, an answer at the end (of a ranking the question)."""
    every = [turn for row in turns for turn in row]
    lacking = [
        key for key in map(tags.get, ("role_tag", "content_tag")) if key and not any(key in one for one in every)
    ]
    role = tags.get("role_tag")
    if lacking and every:
        yield _of_rows(block, "turn_lacking", name, ", ".join(lacking), at)
    if lacking or not every or not role or len(tags) < len(_TAGS):
        return
    known = {value for key, value in tags.items() if value and key not in ("role_tag", "content_tag")}
    roles = dict.fromkeys(str(one.get(role)) for one in every)
    foreign = [one for one in roles if one not in known and len(one) < 20 and not _NOT_A_WORD.search(one)]
    if foreign:
        yield _of_rows(block, "roles", name, ", ".join(foreign[:5]), at)
        return
    asking = (tags["user_tag"], tags["observation_tag"])
    faults = [
        _disorder([one.get(role) in asking for one in row if one.get(role) != tags["system_tag"]], ranked)
        for row in turns
    ]
    if all(faults):
        yield _of_rows(block, "turns", name, faults[0], at)


def _disorder(asks: list[bool], ranked: bool) -> str:
    if asks and not asks[0]:
        return "begin with an answer"
    if any(one is other for one, other in itertools.pairwise(asks)):
        return "have two turns of one side in a row"
    return "" if not asks or asks[-1] is ranked else "end in an answer" if ranked else "end without an answer"


def _of_rows(block: Block, fault: str, name: str, value: str, at: Entry) -> Statement:
    return _said(block, fault, name, value, at)._replace(fact=f"data.rows.{fault}.{name}")


def _effective(table: Mapping, group: str, defaults: dict[str, str | None]) -> dict[str, str | None]:
    """The names that the parser goes by. As soon as the group stands there, what it leaves out is off, and no default comes in its place."""
    node = table.get(group)
    if node is None:
        return dict(defaults)
    if not isinstance(node, Mapping):
        return {}
    found: dict[str, str | None] = {}
    for key in defaults:
        value = node.get(key)
        if value is None:
            found[key] = None
        elif isinstance(value, Scalar) and (value.value is None or isinstance(value.value, str)):
            found[key] = value.value
    return found


def _ending(table: Mapping, source: str) -> str | None:
    """Behind the dot of a single file; None where it may be a folder."""
    path = _text(table.get("file_name"), "") if source == "file_name" else ""
    head, dot, end = path.rpartition("/")[2].rpartition(".")
    return end if dot and head else None


def _text(node: Node | None, default: str) -> str:
    if node is None:
        return default
    return node.value if isinstance(node, Scalar) and isinstance(node.value, str) else ""


def _said(block: Block, what: str, name: str, value: object, at: Entry) -> Statement:
    place = Place(block.document, at.key, at.key_start, at.key_end, at, (what,))
    fact = f"data.info.{what}.{name}" if name else f"data.info.{what}"
    return Statement(fact, value, value, Explicit(place, "file", block.number))


def used(block: Block, statements: tuple[Statement, ...]) -> tuple[tuple[Statement, ...], tuple[Link, ...]]:
    """Of a file or command for training: the sets that it names, and the table that they must stand in."""
    named: list[tuple[str, Explicit]] = []
    for one in statements:
        if one.fact in ("data.dataset", "data.eval_dataset") and isinstance(one.origin, Explicit):
            given = one.value if isinstance(one.value, list) else [one.value]
            named += [(name.strip(), one.origin) for name in given if isinstance(name, str) and name.strip()]
    folder = _text(block.mapping.get("dataset_dir"), "data")
    if not named or not folder or folder == "ONLINE" or folder.startswith("REMOTE:"):
        return (), ()
    names = [word(name) for name, _ in named]
    said = [Statement(f"data.used.{word(name)}", word(name), name, origin) for name, origin in named]
    said.append(Statement("data.used_names", names, names, named[0][1]))
    return tuple(said), (Link("rows", f"{folder.rstrip('/')}/{FILE}", named[0][1].place),)


def of_used(table: Fragment, parts: list[Fragment]) -> Fragment:
    """What a long table says of the sets that a run names: LLaMA-Factory's own has hundreds, whose columns would fill the run."""
    if len(table.statements) <= _MANY:
        return table
    names = {str(one.value) for part in parts for one in part.statements if one.fact.startswith("data.used.")}
    kept = tuple(one for one in table.statements if one.fact.count(".") < 3 or one.fact.split(".")[3] in names)
    return table._replace(statements=kept)


_MANY = limits.SETTINGS.most // 4
