"""The pieces that runs are joined of, and the programs that commands start."""

from __future__ import annotations

import os

from stablint.assemble.files import Files
from stablint.base.light import TYPE_CHECKING, NamedTuple
from stablint.files import discover
from stablint.frameworks.fragment import Fragment
from stablint.frameworks.launch import at_hand as program_at_hand
from stablint.run.fact import Statement
from stablint.syntax import limits
from stablint.syntax.tree import Unknown

if TYPE_CHECKING:  # loaded where a command starts a program that is at hand
    from stablint.frameworks.launch.at_hand import Program

ROLE_DIALECT = {"deepspeed": "deepspeed", "accelerate": "accelerate", "fsdp": "fsdp"}
READ_BY_OTHERS = frozenset({*ROLE_DIALECT, "shell", "model", "peft"})


class Part(NamedTuple):
    fragment: Fragment
    presumed: bool = (
        False  # nothing names it: it lies beside the only run of its folder; or the caller may say otherwise
    )
    unseen: bool = False  # a program is handed it that is not seen to give it to a library


def asks(one: Statement) -> bool:
    return isinstance(one.value, Unknown) and one.value.key != ""


def of_the_program(fragments: list[Fragment] | tuple[Fragment, ...]) -> tuple[Fragment, ...]:
    """Without the files that the program writes, such as a record of what it was started with: these are runs of their own, if any."""
    return tuple(one for one in fragments if one.block.document is fragments[0].block.document)


def at_hand(files: Files, path: str) -> Program | None:
    """The program of a file that a command starts, read once for all commands."""
    if not path.endswith(".py"):
        return None
    if path not in files.started:
        files.started[path] = _at_hand(files, path)
    return files.started[path]


def _at_hand(files: Files, path: str) -> Program | None:
    program = program_at_hand.read(files.documents(path))
    modules = program_at_hand.imported(program) if program is not None else []
    if program is not None and len(modules) > limits.MODULES.most:
        files.cut(limits.MODULES, program.document, 0, 0)
    for name, loop_only in modules[: limits.MODULES.most]:
        own = discover.locate(name, path, files.reach(path))
        other = program_at_hand.read(files.documents(own)) if own is not None and not os.path.isdir(own) else None
        if program is not None and other is not None:
            program = program_at_hand.joined(program, other, loop_only)
    return program
