"""What the user says about every run — GPU, model, releases, facts — from words to values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache

from stablint.assemble.asked import Options
from stablint.base import knowledge
from stablint.base.language import gettext
from stablint.base.libraries import difflib
from stablint.base.light import TYPE_CHECKING, Any
from stablint.base.meant import did_you_mean
from stablint.frameworks.codec import read_plain
from stablint.frameworks.registry import NAMES
from stablint.hardware import gpu, live
from stablint.hazard.condition import facts_read
from stablint.hazard.model import load
from stablint.run.releases.allowed import Releases, known_keys, library_names, taken_for
from stablint.run.releases.fields import known_key


class Wrong(Exception):
    """A wrong use of an option: told in one line, with what to do; exit code 2."""


class Given:
    """What a command line says, as argparse would say it."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.__dict__.update(said)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


def options(
    gpus: Iterable[str] = (),
    model: str | None = None,
    releases: Iterable[str] = (),
    sets: Iterable[str] = (),
    extra_flags: Iterable[str] = (),
    dialect: str | None = None,
    root: str | None = None,
    folders: Iterable[str] = (),
    quote: Callable[[str], str] = "`{}`".format,
    release_word: str = "--with ",
    fact_word: str = "--set ",
    gpu_memory: str | None = None,
) -> Options:
    """`folders` are those that are checked: no program of theirs is started. `quote`: how an error quotes what was said; what stands before
    a release and before a fact there. `gpu_memory`: what a run can have of each card, or of one that has no name.

    Raises Wrong for an unknown GPU, a specifier that is none, a --set without `=`, an unknown dialect."""
    if dialect is not None:
        _known_dialect(dialect)
    targets = tuple(target for name in gpus for target in _targets(name, tuple(folders), quote))
    if gpu_memory is not None:
        targets = _of_memory(targets, gpu_memory, quote)
    return Options(
        targets, model, tuple(_release(text, f"{release_word}{quote(text)}") for text in releases), tuple(_fact(text, f"{fact_word}`{text}`") for text in sets),
        tuple(extra_flags), dialect, root, said={} if gpu_memory is None else {"gpu": f"--gpu-memory {gpu_memory}"},
    )  # fmt: skip


def _targets(name: str, folders: tuple[str, ...], quote: Callable[[str], str]) -> tuple[tuple[str, Any], ...]:
    if name != "auto":
        return ((name, _gpu(name, quote)),)
    try:
        return live.auto(folders)
    except live.NoTarget as error:
        raise Wrong(gettext("--gpu auto: {error}").format(error=error)) from error


def _of_memory(
    targets: tuple[tuple[str, Any], ...], said: str, quote: Callable[[str], str]
) -> tuple[tuple[str, Any], ...]:
    found = gpu.parse_gpu_memory(said)
    if found is None:
        raise Wrong(
            gettext("--gpu-memory {size}: a number of GiB, such as 20, or 64 x8 for eight cards").format(
                size=quote(said)
            )
        )
    gib, count = found
    if not targets:
        card = gpu.unnamed(gib, count)
        return ((card.name + (f" x{count}" if count else ""), card),)
    sized = []
    for _, target in targets:
        card = target.of_memory(gib)
        card = card if count is None else card._replace(count=count)
        sized.append((card.name + (f" x{card.count}" if card.count and card.count > 1 else ""), card))
    return tuple(sized)


def _gpu(name: str, quote: Callable[[str], str]) -> Any:
    found = gpu.parse_gpu(name)
    if found is None:
        near = gpu.suggestions(name)
        raise Wrong(
            gettext("unknown GPU {name}").format(name=quote(name))
            + (did_you_mean(near) or gettext("; `stablint rules` and the documentation list none like it"))
        )
    return found


def _release(text: str, said: str) -> tuple[str, str]:
    cut = next((i for i, c in enumerate(text) if not (c.isalnum() or c in "-_.")), len(text))
    package, specifier = text[:cut].strip().lower().replace("_", "-"), text[cut:].strip()
    if not package or not specifier:
        raise Wrong(
            gettext("{text}: write it as PACKAGE==VERSION or with another specifier, such as trl>=0.20").format(
                text=said
            )
        )
    if not known_keys(package) and (near := _near(package, library_names())):
        raise Wrong(
            gettext("{text}: no library is called `{package}`: did you mean `{near}`?").format(
                text=said, package=package, near=near
            )
        )
    try:
        Releases.known().restrict(package, specifier)
    except ValueError as error:
        raise Wrong(gettext("{text}: {error}").format(text=said, error=error)) from error
    return package, specifier


def unlisted(releases: Iterable[tuple[str, str]]) -> Iterator[str]:
    """A sentence for every release that is asked for and that nobody knows, and for every library that no rule asks about."""
    for package, specifier in releases:
        asked = f"--with `{package}{specifier}`"
        if not known_keys(package) and package not in library_names():
            yield gettext("{asked}: no release of `{package}` is known: it changes nothing").format(
                asked=asked, package=package
            )
        found = taken_for(package, specifier)
        if found is None:
            continue
        version, stands = found
        if stands:
            newest = Releases.known().text(known_keys(package)[-1], package)
            yield gettext(
                "{asked}: no release {version} of {package} is known, the newest known one is {newest}; what is said is true of {stands}"
            ).format(asked=asked, version=version, package=package, newest=newest, stands=stands)
            continue
        oldest = Releases.known().text(known_keys(package)[0], package)
        yield gettext(
            "{asked}: {version} is older than all releases of {package} that are known, from {oldest} on; what is said holds of any that old"
        ).format(asked=asked, version=version, package=package, oldest=oldest)


def _fact(text: str, said: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or "." not in name:
        raise Wrong(gettext("{text}: write it as FACT=VALUE, such as training.learning_rate=1e-5").format(text=said))
    name = name.strip()
    if not _is_fact(name) and (near := _near(name, _facts())):
        raise Wrong(
            gettext("{text}: no fact is called `{name}`: did you mean `{near}`?").format(
                text=said, name=name, near=near
            )
        )
    if (head := name.partition(".")[0]) not in _NAMESPACES:
        raise Wrong(
            gettext("{text}: no fact begins with `{head}`{meant}").format(
                text=said, head=head, meant=meant(head, _NAMESPACES)
            )
        )
    words = {"true": True, "false": False, "null": None, "none": None}
    return name, words.get(value.strip().lower(), read_plain(value.strip()))


_NAMESPACES = (
    "training", "trainer", "lora", "quantization", "model", "tokenizer", "data", "deepspeed", "fsdp", "accelerate", "launch", "target", "versions", "derived",
)  # fmt: skip


def _is_fact(name: str) -> bool:
    return bool(known_key(name.rpartition(".")[2])) or name in _facts()


@cache
def _facts() -> frozenset[str]:
    """The names that rules ask for, and those of the libraries' own fields."""
    asked = {name for hazard in load() for name in facts_read(hazard.when)}
    fields: dict[str, object] = knowledge.load("keys")["keys"]
    return frozenset(asked | {f"training.{field}" for field in fields})


def _near(word: str, names: Iterable[str]) -> str:
    return next(iter(difflib.get_close_matches(word, sorted(names), 1, 0.8)), "")


def meant(word: str, names: Iterable[str]) -> str:
    """What a word was probably meant for, else all that there is."""
    names = tuple(names)
    if near := _near(word, names):
        return did_you_mean([near])
    return "; " + gettext("known are {names}").format(names=", ".join(names))


def _known_dialect(name: str) -> None:
    if name not in NAMES:
        raise Wrong(gettext("unknown dialect `{name}`{meant}").format(name=name, meant=meant(name, NAMES)))
