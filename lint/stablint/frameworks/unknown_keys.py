"""Keys that a framework's own reader may not take, as facts `keys.FRAMEWORK.KEY`. Which release takes which is judged later (run/releases/reader_keys.py)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from stablint.frameworks import huggingface
from stablint.frameworks.fragment import Block, Fragment, Row, spelled, statement
from stablint.frameworks.near_keys import misspelled, of_others
from stablint.run.fact import Explicit, Statement
from stablint.run.framework import OwnKeys, framework
from stablint.run.releases.fields import known_key
from stablint.run.releases.reader_keys import Reader, reader
from stablint.syntax.tree import Entry, Mapping, Scalar, Sequence

BY_COMMAND = ("by command",)
_NONE = OwnKeys()


def readers(dialect: str) -> tuple[str, ...]:
    """Who reads its files: a key that any of them takes is taken. None where the command that is named says it."""
    found = framework(dialect).readers
    return () if found == BY_COMMAND else found


def own_keys(dialect: str) -> OwnKeys:
    """What the framework's record says of its keys."""
    return framework(dialect).keys or _NONE


def with_unread(fragment: Fragment) -> Fragment:
    """The fragment, with a statement for every key that some release of its readers refuses or drops."""
    block, own = fragment.block, own_keys(fragment.dialect)
    keys = frozenset([entry.key for entry in block.mapping.entries])
    if block.kind == "document" and fragment.dialect in ("trl", "hf-args"):
        return _recipe(fragment, keys)
    names = readers_of(fragment)
    # What a command's caller adds (`"$@"`) may overrule a value; a key that the reader refuses is refused all the same.
    is_open = block.mapping.open and block.kind != "flags"
    if not names or is_open or block.kind == "call" or _is_other_form(fragment, keys):
        return fragment
    if own.module:
        told: Fragment = import_module(f"stablint.frameworks.{own.module}").with_own_keys(fragment, names)
        return told
    found = tuple(unread(block, fragment.dialect, names, fragment.layer, flags=block.kind == "flags"))
    if not found:
        return fragment
    statements = _read(fragment.statements, found, names) if own.drops_unread else fragment.statements
    return with_told(fragment._replace(statements=statements), found, {f"keys.{fragment.dialect}": names})


def with_told(fragment: Fragment, found: tuple[Statement, ...], owners: dict[str, tuple[str, ...]]) -> Fragment:
    """The fragment with statements of keys, and who reads them by the beginning of their facts."""
    if not found:
        return fragment
    return fragment._replace(statements=(*fragment.statements, *found), classes={**fragment.classes, **owners})


def readers_of(fragment: Fragment) -> tuple[str, ...]:
    """Who reads a block, as far as that is a framework's own reader: the command that is named, else all that take such files."""
    dialect, block = fragment.dialect, fragment.block
    if dialect == "trl":
        return _trl_command(block.name)
    by_command = own_keys(dialect).by_command
    if by_command and block.kind == "flags":
        for word in block.name.split():
            for name in (word.rpartition("/")[2], word.rpartition(".")[2]):
                if name in by_command:
                    return tuple(by_command[name])
    return readers(dialect)


def _recipe(fragment: Fragment, keys: frozenset[str]) -> Fragment:
    """A recipe of TRL or a script: only slips of known names, since the script may have more."""
    slips = (*misspelled(keys), *(of_others(keys) if fragment.dialect == "trl" else ()))
    found = tuple(
        statement(fragment.block, entry, (entry.key,), Row(entry.key, f"keys.recipe.{entry.key}"), fragment.layer)
        for entry in fragment.block.mapping.entries
        if entry.key in slips
    )
    own = tuple(name.removeprefix("?") for name in fragment.classes.get("training", ()))
    owners = (*own, *(_TRL[:-1] if fragment.dialect == "trl" else ()))
    return fragment._replace(
        statements=(*fragment.statements, *found), classes={**fragment.classes, "keys.recipe": owners}
    )


def read_by(fragment: Fragment, command: str) -> Fragment:
    """The file that `trl sft --config FILE` reads: the command's classes have all of its keys, or `accelerate launch` gets them."""
    names = _trl_command(command)
    if not names or fragment.dialect not in ("trl", "hf-args") or fragment.block.kind != "document":
        return fragment
    whole = huggingface.lower(fragment.block, fragment.layer, names[0])
    found = tuple(unread(fragment.block, "trl", names, fragment.layer, facts="keys.trl-file"))
    return whole._replace(
        statements=(*whole.statements, *found),
        classes={**whole.classes, "keys.trl-file": names},
        presumed=fragment.presumed,
        edited=fragment.edited,
    )


def _read(stated: tuple[Statement, ...], found: tuple[Statement, ...], names: tuple[str, ...]) -> tuple[Statement, ...]:
    """Without what a key says that no release ever read, whatever it means elsewhere: it is dropped."""
    readers = [known for name in names if (known := reader(name)) is not None]
    dropped = {  # by identity: two keys may be spelled alike, and there may be thousands of them
        id(one.origin.place.entry)
        for one in found
        if isinstance(one.origin, Explicit) and not any(known.ever(one.fact.split(".", 2)[2]) for known in readers)
    }
    return tuple(
        one for one in stated if not (isinstance(one.origin, Explicit) and id(one.origin.place.entry) in dropped)
    )


_TRL = ("trl.ScriptArguments", "trl.SFTScriptArguments", "trl.DPOScriptArguments", "trl.GRPOScriptArguments", "trl.RLOOScriptArguments",
        "trl.RewardScriptArguments", "trl.ModelConfig", "trl.DatasetMixtureConfig", "transformers.TrainingArguments",
        "accelerate.launch")  # fmt: skip


def _trl_command(words: str) -> tuple[str, ...]:
    """`trl sft` reads an SFTConfig, what the script adds, and hands the rest to `accelerate launch`."""
    own = huggingface.entry_class(tuple(words.split()))
    return (own, *_TRL) if own is not None else ()


def _is_other_form(fragment: Fragment, keys: frozenset[str]) -> bool:
    """Whether it is no file, or no command, that the framework's readers are given."""
    own, block = own_keys(fragment.dialect), fragment.block
    if own.leaves_over_by and _is_on(block, own.leaves_over_by):
        return True
    if block.kind == "flags":
        if own.flags_of is None:
            return False
        programs = {
            *own.flags_of,
            *(script for script, beside in (own.flags_of_scripts or {}).items() if keys.issuperset(beside)),
        }
        words = [
            word for path in block.name.split() for word in (path.rpartition("/")[2], "/".join(path.split("/")[-2:]))
        ]
        return programs.isdisjoint(words) or not keys.isdisjoint(own.flags_unread_by)
    return not keys.isdisjoint(own.files_not_beside) or bool(own.files_beside and keys.isdisjoint(own.files_beside))


def _is_on(block: Block, switch: str) -> bool:
    node = block.mapping.get(switch)
    return isinstance(node, Scalar) and str(node.value).lower() in ("true", "1", "yes")


def unread(
    block: Block, framework: str, names: tuple[str, ...], layer: str, *, flags: bool = False, facts: str = ""
) -> Iterator[Statement]:
    """A key with an underscore or a dot in front is a remark or an anchor's home, no setting."""
    facts = facts or f"keys.{framework}"
    readers = [found for name in names if (found := reader(name)) is not None]
    own = own_keys(framework)
    plugins = _plugins(block, own.plugins) if own.plugins else ()
    for path, entry in _entries(block.mapping, (), readers):
        key = ".".join(spelled(part) if flags else part for part in path)
        if key[:1] in "_." or any(key in one.always for one in readers):
            continue
        if flags and any(_abbreviated(key, one) for one in readers):
            continue
        if len(path) == 1 and any(one.bases for one in readers) and _of_transformers(key):
            continue
        if plugins is None and not any(one.ever(key) for one in readers):
            continue
        if any(one.owned(key, plugins or ()) for one in readers) or _is_rewritten(own, key, readers):
            continue
        yield statement(block, entry, path, Row(key, f"{facts}.{key}"), layer)


def _entries(
    mapping: Mapping, above: tuple[str, ...], readers: list[Reader]
) -> Iterator[tuple[tuple[str, ...], Entry]]:
    for entry in mapping.entries:
        path = (*above, entry.key)
        yield path, entry
        if isinstance(entry.value, Mapping) and any(one.has_below(".".join(path)) for one in readers):
            yield from _entries(entry.value, path, readers)


def _of_transformers(key: str) -> bool:
    return any(owner.startswith("transformers.") for owner in known_key(key))


def _abbreviated(key: str, one: Reader) -> bool:
    """`argparse` takes the beginning of a flag for the flag, and HfArgumentParser adds `--no_…` for what is on by default."""
    if one.ever(key):
        return False
    return (key.startswith("no_") and one.ever(key[3:])) or any(name.startswith(key) for name in one.always)


def _plugins(block: Block, own: str) -> tuple[str, ...] | None:
    """The framework's plugins that are switched on, whose names begin so; None where one of them is another's: it may read any key."""
    node = block.mapping.get("plugins")
    if node is None or (isinstance(node, Scalar) and node.value is None):
        return ()
    items = node.items if isinstance(node, Sequence) else (node,)
    names = tuple(str(item.value) if isinstance(item, Scalar) else "" for item in items)
    return names if all(name.startswith(own) for name in names) else None


def _is_rewritten(own: OwnKeys, key: str, readers: list[Reader]) -> bool:
    """What a framework takes away or renames before its reader sees it."""
    section, dot, name = key.partition(".")
    if key in own.rewritten or (dot and ("*.*" in own.rewritten or f"{section}.*" in own.rewritten)):
        return True
    prefix = (own.keeps_prefix or {}).get(section) if dot else None
    return prefix is not None and any(one.ever(f"{section}.{name.removeprefix(prefix)}") for one in readers)
