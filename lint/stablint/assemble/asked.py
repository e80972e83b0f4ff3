"""What the command line or the library call says about every run."""

from __future__ import annotations

from stablint.base.light import TYPE_CHECKING, Any, NamedTuple
from stablint.run.fact import Fact

if TYPE_CHECKING:  # only loaded where there is something to suppress, or a GPU to know
    from stablint.frameworks.fragment import Fragment
    from stablint.hardware.gpu import Gpu
    from stablint.policy import Policies


class Live(NamedTuple):
    """Objects of a running program: what they state, as fragments, and what else is known of them."""

    fragments: tuple[Fragment, ...]
    facts: tuple[Fact, ...]


class Options(NamedTuple):
    """What is asked for beside the files; the same for every run of a check."""

    gpus: tuple[tuple[str, Gpu], ...] = ()
    model: str | None = None
    releases: tuple[tuple[str, str], ...] = ()
    sets: tuple[tuple[str, Any], ...] = ()
    extra_flags: tuple[str, ...] = ()
    dialect: str | None = None
    root: str | None = None
    skip_unrecognised: bool = False  # files are named by a machine, training configurations or not
    trusting: bool = (
        False  # a program is taken to give what a command hands it to the library whose settings it looks like
    )
    assumed: bool = False  # a recipe that looks like one of TRL's is taken for one: migrate was asked to rewrite it
    live: Live | None = None
    policies: Policies | None = None  # what settings files and baselines say
    said: dict[str, str] = {}  # noqa: RUF012  library, or "gpu" → where it was said, if not by --with and --gpu
    jobs: int = 1  # processes that share the repositories among them; 0 is by the size of the work
