"""Files of rows that a run names, and what their first rows lack of what the run's own reader looks up: `data.rows.<fault>.<set>`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stablint.base.light import Any
from stablint.frameworks import llamafactory_data
from stablint.frameworks.fragment import Block, Fragment, Link, listed, plain_value
from stablint.run.fact import Explicit, Place, Statement
from stablint.syntax.tree import Mapping, Module, Node, Scalar
from stablint.syntax.tree import Sequence as Items

_ENDINGS = (".json", ".jsonl", ".csv")
_Rows = Sequence[dict[str, Any]]


PROGRAMS = frozenset({"python", "notebook", "trl"})
_ROWS_FILE = "launch.shows.rows_file"


def links(fragment: Fragment) -> Iterator[Link]:
    """The files of rows that its sets are read from."""
    if fragment.dialect in ("verl", "easyr1"):
        return _of_rewards(fragment)
    return {"axolotl": _of_axolotl, "ms-swift": _of_swift, "xtuner": _of_xtuner}.get(fragment.dialect, _of_program)(
        fragment
    )


def told(fragment: Fragment, link: Link, rows: _Rows) -> Fragment:
    """With what its reader does not find in the first rows of that file."""
    found: Iterable[Statement]
    if fragment.dialect == "llamafactory-data":
        found = llamafactory_data.of_rows(fragment.block, link, rows)
    elif fragment.dialect in PROGRAMS:
        columns = [*dict.fromkeys(key for row in rows for key in row)]
        shown = [one for one in fragment.statements if one.fact == _ROWS_FILE]
        found = [one._replace(fact="launch.shows.columns", value=columns, raw=columns) for one in shown]
    else:
        faults = {"axolotl": _in_axolotl, "ms-swift": _in_swift, "xtuner": _in_xtuner}[fragment.dialect]
        said = Explicit(link.place, fragment.layer, fragment.block.number)
        name = llamafactory_data.word(link.path)
        found = (
            Statement(f"data.rows.{fault}.{name}", it, it, said._replace(place=link.place._replace(path=(fault,))))
            for fault, it in faults(fragment, link, rows)
        )
    return fragment._replace(statements=(*fragment.statements, *found))


def _lacking(rows: _Rows, *columns: Any) -> Iterator[tuple[str, str]]:
    names = [one for one in columns if isinstance(one, str) and not any(one in row for row in rows)]
    if names:
        yield "lacking", ", ".join(names)


def _turns(rows: _Rows, column: object) -> list[dict[str, Any]]:
    return [one for row in rows for one in row.get(str(column)) or () if isinstance(one, dict)]


def _roles(turns: Iterable[dict[str, Any]], key: str, known: Iterable[str], fault: str) -> Iterator[tuple[str, str]]:
    """Roles that stand in the rows; only where none is known is the fault certain of all of them."""
    found = [*dict.fromkeys(str(one.get(key)) for one in turns)]
    if found and not set(found) & set(known) and all(len(one) < 20 and one.isidentifier() for one in found):
        yield fault, ", ".join(found)


def _table(framework: str) -> dict[str, list[str]]:
    """Which columns each kind of set looks up by name."""
    return {kind: columns for kind, *columns in (line.split() for line in listed(framework, "rows_of"))}


def _of_axolotl(fragment: Fragment) -> Iterator[Link]:
    sets = fragment.block.mapping.get("datasets")
    for number, one in enumerate(sets.items if isinstance(sets, Items) else ()):
        for entry in one.entries if isinstance(one, Mapping) and not one.open else ():
            yield from _link(fragment.block, entry.key, entry.value, entry, ("path", "data_files"), str(number))


def _link(block: Block, key: str, value: Node, entry: Any, keys: tuple[str, ...], name: str) -> Iterator[Link]:
    path = value.value.partition("#")[0] if isinstance(value, Scalar) and isinstance(value.value, str) else ""
    if key in keys and path.endswith(_ENDINGS):
        yield Link("sample", path, Place(block.document, key, value.start, value.end, entry, (name, key)))


_USUAL = {
    "human": "user", "user": "user", "assistant": "assistant", "gpt": "assistant", "system": "system", "tool": "tool",
}  # fmt: skip


def _in_axolotl(fragment: Fragment, link: Link, rows: _Rows) -> Iterator[tuple[str, str]]:
    sets = fragment.block.mapping.get("datasets")
    said = plain_value(sets.items[int(link.place.path[0])]) if isinstance(sets, Items) else {}
    kind = said.get("type")
    if not isinstance(kind, str) or fragment.block.mapping.get("rl") is not None:
        return
    if kind != "chat_template":
        columns = [said["field"]] if kind == "completion" and said.get("field") else _table("axolotl").get(kind, ())
        yield from _lacking(rows, *columns)
        return
    messages = said.get("field_messages", "messages")
    mapped = said.get("message_property_mappings") or {}
    if not isinstance(mapped, dict):
        return
    keys = [said.get(f"message_field_{one}") or mapped.get(one, one) for one in ("role", "content")]
    yield from _lacking(rows, messages)
    turns = _turns(rows, messages)
    lacking = [one for one in keys if not any(one in turn for turn in turns)]
    if turns and lacking:
        yield "turn_lacking", ", ".join(map(str, lacking))
    roles, trained = said.get("roles"), said.get("roles_to_train", ["assistant"])
    free = (said.get("message_field_training"), said.get("message_field_training_detail"), said.get("train_on_inputs"))
    if turns and not lacking and isinstance(trained, list) and trained and not any(free):
        names = {name: role for role, names in roles.items() for name in names} if isinstance(roles, dict) else _USUAL
        wanted = {names.get(one, one) for one in trained}
        known = [one for one in {*names, *trained} if names.get(one, one) in wanted]
        yield from _roles(turns, str(keys[0]), known, "untrained")


def _of_swift(fragment: Fragment) -> Iterator[Link]:
    for one in fragment.statements:
        if one.fact == "data.dataset" and isinstance(one.origin, Explicit):
            for value in one.value if isinstance(one.value, list) else [one.value]:
                place = one.origin.place
                node = Scalar(value, place.start, place.end, "name", False)
                yield from _link(fragment.block, "dataset", node, place.entry, ("dataset",), "")


def _in_swift(fragment: Fragment, link: Link, rows: _Rows) -> Iterator[tuple[str, str]]:
    said = {one.fact: one.value for one in fragment.statements}
    if any(
        entry.key in ("columns", "custom_register_path", "external_plugins") for entry in fragment.block.mapping.entries
    ):
        return
    have, known = {key.lower() for row in rows for key in row}, _table("ms-swift")
    stage = said.get("training.stage")
    wanted: tuple[str, ...] = ()
    if stage in ("dpo", "orpo", "cpo", "simpo", "rm"):
        wanted = ("rejected_response", "rejected_messages", "rejected_images")
    elif stage == "kto":
        wanted = ("label",)
    elif stage == "grpo" and "accuracy" in (said.get("training.reward_funcs") or ()):
        wanted = ("solution",)
    elif stage in (None, "sft", "pt"):
        wanted = (*known["turns"], *known["answers"])
    if wanted and not have & {*wanted}:
        yield "lacking", wanted[0] if stage not in (None, "sft", "pt") else "messages, response"
    turns = _turns(rows, next((one for one in known["turns"] if one in have), ""))
    for key in ("role", "from"):
        yield from _roles((one for one in turns if key in one), key, known["roles"], "roles")


_REWARDS = (
    "trainer.custom_reward_function.path",
    "trainer.reward.custom_reward_function.path",
    "trainer.worker.reward.reward_function",
)
# By the managers naive and dapo (verl 0.6.1 workers/reward_manager/naive.py:89).
_HANDED = ("data_source", "solution_str", "ground_truth", "extra_info")


def _of_rewards(fragment: Fragment) -> Iterator[Link]:
    for one in fragment.statements:
        if one.fact in _REWARDS and isinstance(one.value, str) and isinstance(one.origin, Explicit):
            yield Link("reward", one.value.partition(".py:")[0].removesuffix(".py") + ".py", one.origin.place)


def rewarded(fragment: Fragment, module: Module, text: str) -> Fragment:
    """With what the run's reward function is called, if its file has none of that name, and with what it does not take of what it is handed."""
    said = {one.fact: one for one in fragment.statements}
    path = next((said[one] for one in _REWARDS if one in said), None)
    if path is None:
        return fragment
    named = said.get(path.fact.replace(".path", ".name"))
    name = str(path.value).partition(".py:")[2] or (str(named.value) if named is not None else "compute_score")
    own = [one for one in module.functions if one.name == name and not one.owner]
    fault, value = "missing", name
    if own and fragment.dialect == "verl":
        manager = {said[one].value for one in said if one.endswith(("reward_manager", "reward_manager.name"))}
        lacking = [one for one in _HANDED if one not in own[0].parameters]
        if own[0].open or not lacking or not manager <= {"naive", "dapo"}:
            return fragment
        fault, value = "lacks", ", ".join(lacking)
    elif own or name in text:  # under that name by an import or an assignment
        return fragment
    found = path._replace(fact=f"trainer.reward_function.{fault}", value=value, raw=value)
    return fragment._replace(statements=(*fragment.statements, found))


def _of_program(fragment: Fragment) -> Iterator[Link]:
    for one in fragment.statements:
        if one.fact == _ROWS_FILE and isinstance(one.origin, Explicit):
            yield Link("sample", str(one.value), one.origin.place)


def _of_xtuner(fragment: Fragment) -> Iterator[Link]:
    sets = fragment.block.mapping.get("train_dataset")
    source = sets.get("dataset") if isinstance(sets, Mapping) else None
    files = source.get("data_files") if isinstance(source, Mapping) else None
    for entry in files.entries if isinstance(files, Mapping) else ():
        yield from _link(fragment.block, entry.key, entry.value, entry, ("train",), "")


def _in_xtuner(fragment: Fragment, link: Link, rows: _Rows) -> Iterator[tuple[str, str]]:
    maker = next((one.value for one in fragment.statements if one.fact == "data.map_fn"), None)
    if isinstance(maker, str):
        yield from _lacking(rows, *_table("xtuner").get(maker.rpartition(".")[2], ()))
