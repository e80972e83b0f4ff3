"""Where a model is laid that a program loads: a map is no trained model's where the model is only asked, or where a branch counts the processes."""

from __future__ import annotations

import re

from stablint.frameworks.fragment import last_word
from stablint.frameworks.programs.runs import reached
from stablint.frameworks.programs.seen import tests_above
from stablint.run.fact import Statement
from stablint.syntax.tree import Call, Document, Module, Unknown

_MAP = "model.device_map"
_BY_PROCESSES = Unknown("how many processes there are decides of it")
_ONLY_ASKED = Unknown("it is of a model that is only asked")


def told(document: Document, loader: Call, statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """The statements of a call that loads a model, its map unknown where it says nothing of the one that is trained in several processes."""
    if not any(one.fact == _MAP for one in statements):
        return statements
    text = document.text.text
    if any(_COUNTS.search(test) for test in _above(text, loader.start)):
        why = _BY_PROCESSES
    elif is_asked_alone(document, loader):
        why = _ONLY_ASKED
    else:
        return statements
    return tuple(one._replace(value=why) if one.fact == _MAP else one for one in statements)


# `if int(os.environ.get("WORLD_SIZE", 1)) > 1`, `if is_distributed`, `if accelerator.num_processes == 1`
_COUNTS = re.compile(r"world_?size|is_distributed|\bdistributed\b|num_processes|local_rank|\bddp\b", re.IGNORECASE)


def _above(text: str, at: int) -> list[str]:
    """The tests of the branches around a place; of an `else` those of the `if` and `elif` that it belongs to."""
    found: list[str] = []
    tests = list(tests_above(text, at))
    if tests and any(test.startswith(("else", "elif")) for test in tests):
        found += _of_its_if(text, at)
    return [*tests, *found]


def _of_its_if(text: str, at: int) -> list[str]:
    lines = text[:at].split("\n")
    wanted: int | None = None
    deep = len(lines[-1]) - len(lines[-1].lstrip())
    found = []
    for line in reversed(lines[-_ABOVE:-1]):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        indent = len(line.expandtabs()) - len(line.expandtabs().lstrip())
        if wanted is not None and indent == wanted and words.startswith(("if ", "elif ", "if(")):
            found.append(words)
            if words.startswith("if"):
                wanted, deep = None, indent
        elif indent < deep:
            deep = indent
            wanted = indent if words.startswith(("else", "elif")) else None
    return found


_ABOVE = 200  # lines


# What makes a model learn, or hands it to what may.
_LEARNS = re.compile(
    r"\.(?:train|add_adapter|load_adapter|enable_input_require_grads|gradient_checkpointing_enable)\b|\.requires_grad_\((?!False)"
)
_USE = r"(?<![\w.]){name}\b(?P<behind>\s*\.\s*\w+|\s*\(|\s*=(?!=)|)"


def is_asked_alone(document: Document, loader: Call) -> bool:
    """Whether what is loaded is put to evaluate, never learns, and is handed to nothing that may train it. Where trainers are at hand, each of
    them is given a model of its own, and none of them is given this one."""
    name, text, module = loader.target or "", document.text.text, document.root
    if not isinstance(module, Module) or not re.fullmatch(r"(?:self\.)?\w+", name) or document.view is not None:
        return False
    last = _end(text, loader) if name.startswith("self.") else len(text)
    spelled = re.escape(name)
    if re.compile(rf"(?<![\w.]){spelled}\.eval\(\)").search(text, loader.end, last) is None:
        return False
    trainers = [one for one in module.calls if last_word(one.name).endswith("Trainer")]
    if any(loader.start in reached([*one.positional, one.arguments]) for one in trainers):
        return False
    beside = bool(trainers) and all(one.arguments.get("model") is not None for one in trainers)
    for use in re.compile(_USE.format(name=spelled)).finditer(text, loader.end, last):
        if _LEARNS.match(text, use.end(0) - len(use["behind"])):
            return False
        if use["behind"].strip():
            if use["behind"].strip() == ".parameters" and not text[: use.start()].rstrip().endswith("next("):
                return False
            continue
        if not (beside and _is_given_to_an_object(module, use.start())):
            return False
    return True


def _end(text: str, loader: Call) -> int:
    """Where the class ends that the loader stands in."""
    found = re.compile(r"^(?:class|def|if)\b", re.MULTILINE).search(text, loader.end)
    return found.start() if found is not None else len(text)


def _is_given_to_an_object(module: Module, at: int) -> bool:
    """Whether a place is an argument of a call that makes an object, and none that adapts or trains."""
    around = [one for one in module.calls if one.name_end <= at < one.end]
    inner = max(around, key=lambda one: one.start, default=None)
    word = last_word(inner.name) if inner is not None else ""
    return word[:1].isupper() and not re.search(r"Train|Peft|Optim|Adam|Parallel|FSDP|DDP|Lightning|Module", word)
