"""Keys of accelerate's file that none of its classes takes, as facts `keys.accelerate.KEY`; and the options in its sections, each a fact
`keys.accelerate-launch.FLAG` by the launcher's flag that it stands for (commands/launch.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from stablint.frameworks.fragment import Block, Fragment, Row, statement
from stablint.frameworks.unknown_keys import unread, with_told
from stablint.run.fact import Explicit, Statement
from stablint.run.releases.reader_keys import Reader, reader
from stablint.syntax.tree import Entry, Mapping

LAUNCH = "accelerate.launch"
PREFIXES = {"fsdp_config": "fsdp", "fp8_config": "fp8", "dynamo_config": "dynamo_"}


def with_own_keys(fragment: Fragment, names: tuple[str, ...]) -> Fragment:
    """The fragment, with a statement for every key and option that some release does not take."""
    block = fragment.block
    classes = [known for name in names if (known := reader(name)) is not None]
    patched = {id(one) for one in block.mapping.entries if _is_of_a_patched_build(one, classes)}
    found = [
        one
        for one in unread(block, fragment.dialect, names, fragment.layer, flags=block.kind == "flags")
        if not (isinstance(one.origin, Explicit) and id(one.origin.place.entry) in patched)
    ]
    owners = {f"keys.{fragment.dialect}": names}
    if block.kind == "document":
        found += _options(block, fragment.layer, patched)
        owners["keys.accelerate-launch"] = (LAUNCH,)
    return with_told(fragment, tuple(found), owners)


def _options(block: Block, layer: str, patched: set[int]) -> Iterator[Statement]:
    known = reader(LAUNCH)
    for section in block.mapping.entries if known is not None else ():
        if not section.key.endswith("_config") or not isinstance(section.value, Mapping) or id(section) in patched:
            continue
        start = PREFIXES.get(section.key, "")
        for entry in section.value.entries:
            flag = entry.key if entry.key.startswith(start) else f"{start.rstrip('_')}_{entry.key}"
            if known is not None and flag not in known.always:
                yield statement(
                    block, entry, (section.key, entry.key), Row(flag, f"keys.accelerate-launch.{flag}"), layer
                )


def _is_of_a_patched_build(section: Entry, readers: list[Reader]) -> bool:
    """A whole section named as accelerate names its own, which no release ever had, with no option of the launcher in it: nobody writes one by a
    slip. A build that is published under another name reads it (`accelerate-kt`, `kt_config`)."""
    known = reader(LAUNCH) if section.key.endswith("_config") else None
    if known is None or not isinstance(section.value, Mapping) or not section.value.entries:
        return False
    words = [entry.key for entry in section.value.entries]
    return not any(one.ever(section.key) for one in readers) and not any(known.ever(word) for word in words)
