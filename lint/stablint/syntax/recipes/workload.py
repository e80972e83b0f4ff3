"""Commands that a manifest holds: what the containers of a Kubernetes workload or of Docker Compose start, what a SkyPilot task runs; files in a
ConfigMap.

Each is a view of the manifest (syntax/embedded.py): a script that reads as the container would be started, at the places where its words stand.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from typing import TypeVar

from stablint.base.light import NamedTuple
from stablint.syntax import limits
from stablint.syntax.embedded import Builder, Parse
from stablint.syntax.embedded import documents as documents_of
from stablint.syntax.tree import (
    NO_FOLDER,
    Document,
    Entry,
    Mapping,
    Node,
    Problem,
    Scalar,
    Script,
    Sequence,
    Text,
    View,
)

HOST = "workload"
LONGEST = 1_000_000  # characters of a recipe's file, and of all its lines filled in
UNKNOWN = "$(:)"
"""What a shell knows as little as we do: a command whose output is not read."""
PLAIN = re.compile(r"[\w@%+=:,./ -]*\Z", re.ASCII)  # may stand between single quotes
_DEEPEST = 40  # levels of an object; Kubernetes' own have fewer than ten
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash"})
_SKYPILOT = frozenset({"resources", "setup", "num_nodes", "workdir", "file_mounts", "envs"})
# Whose pods start with the environment that the manifest gives them. What an operator makes pods of, as of a PyTorchJob, it tells torchrun in
# the environment too how the machines find each other (Kubeflow sets PET_NODE_RANK and its like).
_CORE = frozenset({"Pod", "Job", "CronJob", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "PodTemplate"})
_RANKED = "export PET_NODE_RANK=${PET_NODE_RANK}\n"
_WORD = re.compile(r"\S+")
_VARIABLE = re.compile(r"\$\(([A-Za-z_][\w.-]*)\)")
_PLAIN = re.compile(r"[\w@%+=:,./-]+\Z", re.ASCII)  # needs no quotes in a shell
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_T = TypeVar("_T")


class Started(NamedTuple):
    """What is started by one container or task, as a shell would be told, and the GPU that its pod asks for."""

    name: str
    view: View
    gpu: str | None
    elsewhere: bool  # its folder is one of an image


def told_to_shells(
    text: Text, kind: str, views: Callable[[str, limits.Spent], Iterator[View]], parse: Parse
) -> tuple[Document, ...]:
    """A document without a tree for a file of recipes itself, behind it one for every text that a shell is told."""
    if len(text.text) > LONGEST:
        return (too_large(text, kind),)
    found: list[Document] = []
    spent = limits.Spent()
    for view in views(text.text, spent):
        found += documents_of(text, view, "shell", 1 + len(found), parse)
    return (Document(text, kind, 0, None, tuple(spent.problems.values())), *found)


def too_large(text: Text, kind: str) -> Document:
    problem = Problem("too-large", f"longer than {LONGEST // 1_000_000} million characters", 0, 0)
    return Document(text, kind, 0, None, (problem,))


def documents(
    text: Text, found: tuple[Document, ...], parse: Parse, kind_of: Callable[[str], str]
) -> tuple[Document, ...]:
    """The documents of a manifest, behind them what it starts and the files that it writes. `kind_of` as for notebooks."""
    more: list[Document] = []
    told: list[Document] = []
    for document in found:
        root, spent = document.root, limits.Spent()
        if not isinstance(root, Mapping):
            told.append(document)
            continue
        for one in started(text.text, root, spent):
            for inner in documents_of(text, one.view, "shell", len(found) + len(more), parse):
                more.append(_elsewhere(inner) if one.elsewhere else inner)
        for name, view in files(text.text, root, spent):
            if kind := kind_of(name):
                more += documents_of(text, view, kind, len(found) + len(more), parse)
        told.append(spent.told_of(document))
    return (*told, *more)


def _elsewhere(document: Document) -> Document:
    """In a container a command begins in a folder of the image."""
    root = document.root
    if not isinstance(root, Script):
        return document
    return document._replace(
        root=root._replace(
            commands=tuple(command._replace(folder=command.folder or NO_FOLDER) for command in root.commands)
        )
    )


def started(source: str, root: Mapping, spent: limits.Spent) -> Iterator[Started]:
    """Of every container of a Pod, Job, CronJob, Deployment, PyTorchJob or whatever else holds pod templates, of a SkyPilot task, and of the services
    of Docker Compose."""
    if text_at(root, "kind"):
        for pod, kind in _pods(root, "", 0):
            product = text_at(mapping_at(pod, "nodeSelector"), "nvidia.com/gpu.product")
            for key in ("initContainers", "containers", "container"):
                given = pod.get(key)
                containers = given.items if isinstance(given, Sequence) else (given,)
                for container in _first(containers, spent):
                    view = _command(source, container, kind, spent) if isinstance(container, Mapping) else None
                    if view is not None:
                        assert isinstance(container, Mapping)
                        name = text_at(container, "name") or "container"
                        yield Started(name, view, _gpu(container, product), True)
    elif not _SKYPILOT.isdisjoint(entry.key for entry in root.entries):
        for key in ("setup", "run") if root.get("run") is not None else ():
            run = root.get(key)
            if isinstance(run, Scalar) and isinstance(run.value, str):
                builder = Builder()
                for name, value in _members(mapping_at(root, "envs")):
                    if _NAME.match(name):  # `sky launch --env` may say another
                        export(builder, name, source, value, f"${{{name}:-", "}")
                take(builder, source, run)
                yield Started(key, builder.view(HOST), None, False)
    elif services := mapping_at(root, "services"):
        for entry in _first(services.entries, spent):
            view = _service(source, entry.value) if isinstance(entry.value, Mapping) else None
            if view is not None:
                yield Started(entry.key, view, None, True)


def _service(source: str, service: Mapping) -> View | None:
    """Compose starts `entrypoint` with `command` behind it, each of them a list of words or a text that it takes apart as a shell would."""
    given = [node for key in ("entrypoint", "command") if (node := service.get(key)) is not None]
    if not given or (service.get("image") is None and service.get("build") is None):
        return None
    builder = Builder()
    for name, value in _members(mapping_at(service, "environment")):
        if _NAME.match(name) and isinstance(value.value, str) and "'" not in value.value:
            export(builder, name, source, value, "'", "'")
    for number, node in enumerate(given):
        if number:
            builder.put(" ", given[number - 1].end, given[number - 1].end)
        words = [item for item in node.items if isinstance(item, Scalar)] if isinstance(node, Sequence) else []
        if isinstance(node, Scalar) and isinstance(node.value, str):
            take(builder, source, node)
        elif not words or not all(isinstance(word.value, str) for word in words):
            return None
        elif _is_script(words):
            take(builder, source, words[2])
        else:
            put_words(builder, source, words)
    return builder.view(HOST)


def _is_script(words: list[Scalar]) -> bool:
    """`bash -lc SCRIPT`: the third word is what a shell runs."""
    texts = [str(word.value) for word in words[:3]]
    return len(texts) > 2 and texts[0].rpartition("/")[2] in _SHELLS and texts[1][:1] == "-" and texts[1][-1:] == "c"


def files(source: str, root: Mapping, spent: limits.Spent) -> Iterator[tuple[str, View]]:
    """The files that a ConfigMap becomes where it is mounted."""
    if text_at(root, "kind") != "ConfigMap":
        return
    data = mapping_at(root, "data")
    given = _first(data.entries, spent) if data is not None else ()
    for name, value in [(entry.key, entry.value) for entry in given if isinstance(entry.value, Scalar)]:
        if isinstance(value.value, str):
            builder = Builder()
            take(builder, source, value)
            yield name, builder.view(HOST, name)


def _first(several: tuple[_T, ...], spent: limits.Spent) -> tuple[_T, ...]:
    """As many as are looked at."""
    for over in several[limits.CONTAINERS.most :][:1]:
        start = over.key_start if isinstance(over, Entry) else getattr(over, "start", 0)
        spent.reached(limits.CONTAINERS, start, start)
    return several[: limits.CONTAINERS.most]


def _pods(node: Node | None, kind: str, depth: int) -> Iterator[tuple[Mapping, str]]:
    """With the kind of object that they are of."""
    if depth > _DEEPEST:
        return
    if isinstance(node, Mapping):
        kind = text_at(node, "kind") or kind
        if isinstance(node.get("containers"), Sequence) or isinstance(node.get("container"), Mapping):
            yield node, kind
        else:
            for entry in node.entries:
                yield from _pods(entry.value, kind, depth + 1)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _pods(item, kind, depth + 1)


def _command(source: str, container: Mapping, kind: str, spent: limits.Spent) -> View | None:
    """Kubernetes starts `command` with `args` behind it; of a shell's `-c` the words are a script already. What is no list of texts it refuses."""
    words: list[Scalar] = []
    for key in ("command", "args"):
        given = container.get(key)
        for item in given.items if isinstance(given, Sequence) else ():
            if not isinstance(item, Scalar) or not isinstance(item.value, str):
                return None
            words.append(item)
    if not words:
        return None
    builder = Builder()
    if kind not in _CORE:
        builder.put(_RANKED, words[0].start, words[0].start)
    known = _environment(builder, source, container, spent)
    if _is_script(words):
        take(builder, source, words[2])
        return builder.view(HOST)
    put_words(builder, source, words, known)
    return builder.view(HOST)


def put_words(builder: Builder, source: str, words: list[Scalar], known: frozenset[str] = frozenset()) -> None:
    """Words that no shell takes apart, as one would have to be told them; of `$(NAME)` the names that are known are filled in."""
    for number, word in enumerate(words):
        if number:
            builder.put(" ", words[number - 1].end, words[number - 1].end)
        text = str(word.value)
        if any(name in known for name in _VARIABLE.findall(text)):
            filled = _VARIABLE.sub(lambda found: f"${{{found[1]}}}" if found[1] in known else found[0], text)
            builder.put(f'"{filled}"', word.start, word.end)
        elif _PLAIN.match(text):
            take(builder, source, word)
        elif "'" in text:
            builder.put(shlex.quote(text), word.start, word.end)
        else:
            builder.put("'", word.start, word.start)
            take(builder, source, word)
            builder.put("'", word.end, word.end)


def _environment(builder: Builder, source: str, container: Mapping, spent: limits.Spent) -> frozenset[str]:
    """The variables that the manifest gives a value, which a script in it can use."""
    given = container.get("env")
    known = set()
    for item in _first(given.items, spent) if isinstance(given, Sequence) else ():
        value = item.get("value") if isinstance(item, Mapping) else None
        name = text_at(item, "name") if isinstance(item, Mapping) else None
        if name and _NAME.match(name) and isinstance(value, Scalar) and isinstance(value.value, str):
            if "$(" in value.value or "'" in value.value:
                continue
            export(builder, name, source, value, "'", "'")
            known.add(name)
    return frozenset(known)


def export(builder: Builder, name: str, source: str, value: Scalar, before: str, behind: str) -> None:
    """A variable that a shell is given; `before` and `behind` its value stand quotes, or `${NAME:-` and `}` where another may be said."""
    text = str(value.value)
    if value.value is None or ("}" in behind and not _PLAIN.match(text)):
        return
    builder.put(f"export {name}={before}", value.start, value.start)
    take(builder, source, value)
    builder.put(f"{behind}\n", value.end, value.end)


def take(builder: Builder, source: str, node: Scalar) -> None:
    """The value of a scalar, word by word where the manifest has the same words, else as one thing."""
    value = node.value if isinstance(node.value, str) else source[node.start : node.end]
    at, done, parts = node.start, 0, []
    if node.form == "block":
        at = source.find("\n", node.start, node.end) + 1 or node.end
    for found in _WORD.finditer(value):
        place = source.find(found[0], at, node.end)
        between = source[at:place].strip()
        if place < 0 or between not in ("", '"', "'") or (between and done):
            builder.put(value, node.start, node.end)
            return
        parts.append((value[done : found.start()], at, place, found[0]))
        at, done = place + len(found[0]), found.end()
    for space, start, end, word in parts:
        if source[start:end] == space:
            builder.keep(space, start)
        elif space.endswith("\n") or not space.rpartition("\n")[2]:
            builder.put(space, start, end)
        else:  # its own indentation is behind the block's
            inner = space.rpartition("\n")[2]
            if source[start:end].endswith(inner):
                builder.put(space[: len(space) - len(inner)], start, end - len(inner))
                builder.keep(inner, end - len(inner))
            else:
                builder.put(space, start, end)
        builder.keep(word, end)
    builder.put(value[done:], at, max(at, node.end))


def _gpu(container: Mapping, product: str | None) -> str | None:
    """The card by the label of NVIDIA's feature discovery, and how many by the container's limits."""
    if product is None:
        return None
    limits = mapping_at(mapping_at(container, "resources"), "limits")
    given = limits.get("nvidia.com/gpu") if limits is not None else None
    count = str(given.value) if isinstance(given, Scalar) else ""
    name = product.removesuffix("-SHARED").replace("-", " ")
    return f"{name} x{count}" if count.isdecimal() else name


def mapping_at(node: Node | None, key: str) -> Mapping | None:
    found = node.get(key) if isinstance(node, Mapping) else None
    return found if isinstance(found, Mapping) else None


def text_at(node: Node | None, key: str) -> str | None:
    found = node.get(key) if isinstance(node, Mapping) else None
    return found.value if isinstance(found, Scalar) and isinstance(found.value, str) else None


def _members(node: Mapping | None) -> list[tuple[str, Scalar]]:
    return [(entry.key, entry.value) for entry in node.entries if isinstance(entry.value, Scalar)] if node else []
