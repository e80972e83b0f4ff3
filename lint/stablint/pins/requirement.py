"""One requirement as pip writes it (PEP 508), or conda: a name with releases, a bare name, or an address."""

from __future__ import annotations

import re

from stablint.base.light import NamedTuple
from stablint.run.releases.allowed import Releases
from stablint.run.releases.pep440 import matcher, release_key

# Texts, not compiled: most projects ask for none of them. Every one is tried at one place, so that no text takes more than its length.
_NAME = r"([A-Za-z0-9][A-Za-z0-9._-]*) ?(?:\[[^\]]*\])?"
_OPERATORS = r"(?:===|==|~=|!=|<=|>=|<|>)"
_RELEASES = _NAME + r" ?\(?(" + _OPERATORS + r"[^;#()]*)\)? ?(?:;.*)?(?:#.*)?\Z"
_FILLED_IN = _NAME + r" ?" + _OPERATORS + r" ?[\"']?v?\$[A-Za-z_{(]"  # `trl==${TRL_VERSION}`
_BARE = _NAME + r" ?(?:;.*)?\Z"
_CONDA = r"([A-Za-z0-9][A-Za-z0-9._-]*) ?= ?([0-9][0-9A-Za-z.]*?)(\.?\*)?(?:=[A-Za-z0-9_.*]+)? ?(?:;.*)?(?:#.*)?\Z"
_ADDRESS = r"(?:" + _NAME + r" ?@ ?)?((?:git\+)?(?:https?|ssh|file)://\S+)"
_ON_ANOTHER_SYSTEM = r"^ ?(?:sys_platform|platform_system|os_name|platform_machine) ?== ?[\"'](?:darwin|win32|Darwin|Windows|nt|arm64)[\"']"
_LOCAL = r"\+[A-Za-z0-9._]+"
_TAG = r"v?(\d+(?:\.\d+)+(?:\.?(?:post|rc|dev|a|b)\d+)?)(?:-release)?\Z"
_WHEEL = r"([A-Za-z0-9_.]+)-(\d[0-9A-Za-z.]*)(?:\+[0-9A-Za-z._]+)?-[^/]*\.whl"

# Whose repositories hold what becomes the next release; those of others may be anything.
_MAKERS = frozenset(
    ["huggingface", "lvwerra", "microsoft", "deepspeedai", "bitsandbytes-foundation", "timdettmers", "unslothai", "hiyouga", "axolotl-ai-cloud",
     "openaccess-ai-collective", "modelscope", "openrlhf", "internlm", "lightning-ai", "pytorch", "vllm-project", "autogptq", "panqiwei",
     "casper-hansen", "modelcloud", "linkedin", "dao-ailab", "mobiusml"]
)  # fmt: skip
_OTHERWISE = {"llama-factory": "llamafactory", "llmtuner": "llamafactory"}  # its repository, its old package
_LAST = {"llmtuner": "<0.8"}  # a former name has no release after the change
_IN_CONDA = {"pytorch": "torch"}
_PYTHON = r"\bpython_(?:full_)?version ?(===|==|~=|!=|<=|>=|<|>) ?[\"']([0-9][0-9.]{0,20}(?:\.\*)?)[\"']"
PYTHONS = frozenset(["3.10", "3.11", "3.12", "3.13", "3.14"])
"""Those of today: what is wanted for older ones alone counts where nothing else is said of the library."""
ANY, UNREAD = "", "?"
"""What stands for a specifier: no word on the release, and a word that says no release (a commit)."""


class Requirement(NamedTuple):
    """A library that stablint knows, and a specifier of releases, `ANY` or `UNREAD`."""

    library: str
    specifier: str
    pythons: frozenset[str] = PYTHONS  # for which it is wanted


def library_of(name: str) -> str:
    """The library's name as stablint writes it; empty for one that it does not know."""
    library = re.sub(r"[-_.]+", "-", name).lower()
    library = _OTHERWISE.get(library, library)
    return library if library in Releases.known().libraries() else ""


def requirement(text: str) -> Requirement | None:
    """What a requirement says of a known library; None for options, other libraries, what is no requirement and what another system wants."""
    words = " ".join(text.split())
    wanted, _, marker = words.partition(";")
    found = _unmarked(wanted.rstrip()) if not re.search(_ON_ANOTHER_SYSTEM, marker) else None
    return found._replace(pythons=_pythons(marker)) if found is not None and "python" in marker else found


def _pythons(marker: str) -> frozenset[str]:
    """The Pythons for which a marker may hold; all of them where it is put together in a way that is not read."""
    if "(" in marker or " or " in marker:
        return PYTHONS
    held = [matcher(operator + release) for operator, release in re.findall(_PYTHON, marker)]
    return frozenset([one for one in PYTHONS if all(test(release_key(one)) for test in held)])


def _unmarked(words: str) -> Requirement | None:
    if "://" in words:
        return _at_address(words)
    filled = re.match(_FILLED_IN, words) if "$" in words else None
    if filled:
        library = library_of(filled[1])
        return Requirement(library, UNREAD) if library else None
    found = re.match(_RELEASES, re.sub(_LOCAL, "", words))
    if found:
        library, specifier = library_of(found[1]), found[2].strip().rstrip(",").rstrip()
        if found[1] in _LAST and not specifier.startswith("=="):
            specifier = f"{specifier},{_LAST[found[1]]}"
        return Requirement(library, specifier) if library and _is_specifier(specifier) else None
    conda = re.match(_CONDA, words) if "=" in words else None
    if conda:  # `name=release`, `name=release=build`; fewer than three numbers are the beginning of a release
        library = library_of(_IN_CONDA.get(conda[1].lower(), conda[1]))
        whole = conda[2].count(".") > 1 and not conda[3]
        specifier = f"=={conda[2]}{'' if whole else '.*'}"
        return Requirement(library, specifier) if library and _is_specifier(specifier) else None
    bare = re.match(_BARE, words)
    library = library_of(bare[1]) if bare else ""
    return Requirement(library, _LAST.get(words.partition(" ")[0], ANY)) if library else None


def _is_specifier(text: str) -> bool:
    try:
        matcher(text)
    except ValueError:
        return False
    return True


def _at_address(words: str) -> Requirement | None:
    """`name @ git+https://host/owner/name@tag`: a tag is a release, a commit is one that nobody can tell from here."""
    found = re.match(_ADDRESS, words)
    if found is None:
        return None
    address, _, fragment = found[2].partition("#")
    wheel = re.match(_WHEEL, address.rpartition("/")[2])
    if wheel:
        library = library_of(wheel[1])
        return Requirement(library, f"=={wheel[2]}") if library and _is_specifier(f"=={wheel[2]}") else None
    path, at, reference = address.partition("://")[2].partition("/")[2].rpartition("@")
    if not at:
        path, reference = reference, ""
    for archive in ("/archive/refs/tags/", "/archive/", "/releases/download/"):
        if archive in path:
            path, _, reference = path.partition(archive)
            reference = reference.removesuffix(".zip").removesuffix(".tar.gz")
    egg = fragment.partition("egg=")[2].partition("&")[0].partition("[")[0]
    library = library_of(found[1] or egg or path.rpartition("/")[2].removesuffix(".git"))
    if not library:
        return None
    tag = re.match(_TAG, reference)
    if tag and _is_specifier(f"=={tag[1]}"):
        return Requirement(library, f"=={tag[1]}")
    makers = path.rpartition("/")[0].rpartition("/")[2].lower() in _MAKERS
    return Requirement(library, ANY if reference in ("", "main", "master") and makers else UNREAD)
