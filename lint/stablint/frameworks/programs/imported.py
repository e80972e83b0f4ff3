"""Values that a module of the program's own has for it: `from config import LR`, `settings = Settings()`.

What the module assigns once at its top, and what its classes give their objects, is what the program gets. The place of the setting stays the
one where the program uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stablint.frameworks.codec import CODECS
from stablint.frameworks.fragment import Fragment, Link, plain_value
from stablint.frameworks.huggingface import links
from stablint.frameworks.programs.parts import CODEC_OF
from stablint.run.fact import Explicit, Statement
from stablint.secrets.keys import names_secret
from stablint.syntax.limits import MODULES
from stablint.syntax.tree import Call, Document, Entry, Mapping, Module, Node, Scalar, Unknown

ROLE = "constants"


def linked(fragment: Fragment) -> Fragment:
    """With a link to each module that says a setting of it."""
    found: dict[str, Link] = {}
    for one in fragment.statements:
        if isinstance(one.value, Unknown) and one.value.defined and isinstance(one.origin, Explicit):
            for path, _ in _homes(one.value.defined):
                found.setdefault(path, Link(ROLE, path, one.origin.place))
    if not found:
        return fragment
    cut = (MODULES,) if len(found) > MODULES.most else ()
    return fragment._replace(links=(*fragment.links, *list(found.values())[: MODULES.most]), cut=(*fragment.cut, *cut))


def relative(name: str) -> tuple[str, list[str]]:
    """The folders up that leading dots mean, and the parts of the name: `..conf.base` is `../` and `conf`, `base`."""
    bare = name.lstrip(".")
    return "../" * max(0, len(name) - len(bare) - 1), bare.split(".")


def _homes(defined: str) -> Iterator[tuple[str, list[str]]]:
    """The files that may be the module, each with the names in it. By convention a module is written in small letters."""
    up, names = relative(defined)
    large = next((at for at, name in enumerate(names) if name[:1].isupper()), len(names) - 1)
    for first in range(large, 0, -1):
        yield up + "/".join(names[:first]) + ".py", names[first:]


def filled(fragment: Fragment, link: Link, documents: Iterable[Document]) -> Fragment:
    """With what the module of the link says."""
    module = next((document.root for document in documents if isinstance(document.root, Module)), None)
    if fragment.layer == "file" or module is None or link.place.document is not fragment.block.document:
        return fragment
    found = tuple(_filled(one, link.path, module) for one in fragment.statements)
    if all(new is one for new, one in zip(found, fragment.statements, strict=True)):
        return fragment
    known = {(one.role, one.path) for one in fragment.links}
    more = tuple(one for one in links(found) if (one.role, one.path) not in known)
    return fragment._replace(statements=found, links=(*fragment.links, *more))


def _filled(one: Statement, path: str, module: Module) -> Statement:
    if not isinstance(one.value, Unknown) or not one.value.defined or not isinstance(one.origin, Explicit):
        return one
    names = next((names for home, names in _homes(one.value.defined) if home == path), [])
    words = one.origin.place.path
    if not names or any(map(names_secret, (*words[-1:], *names[-1:]))):
        return one
    node = _found(names, module)
    raw = plain_value(node) if node is not None else None
    if node is None or not all(_is_known(part) for part in _leaves(node)):
        return one
    return one._replace(value=CODECS[CODEC_OF.get(one.fact, "plain")](raw), raw=raw)


def _found(names: list[str], module: Module) -> Node | None:
    """What a name of the module stands for: a constant, or an attribute of a class or its object."""
    first, *rest = names
    entries: tuple[Entry, ...] = module.names.entries if not rest else module.classes
    node = next((one.value for one in entries if one.key == first.removesuffix("()")), None)
    for name in rest:
        if isinstance(node, Call):
            node = node.arguments
        node = node.get(name) if isinstance(node, Mapping) and not node.open else None
    return node


def _leaves(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, Scalar):
            yield part
        elif isinstance(part, Mapping):
            pending += [entry.value for entry in part.entries]
            if part.open:
                yield part
        else:
            yield from () if not isinstance(part, Call) else (part,)
            pending += list(getattr(part, "items", ()))


def _is_known(part: Node) -> bool:
    return isinstance(part, Scalar) and not isinstance(part.value, Unknown) and not part.form.startswith("default:")
