"""No pattern takes more than about its text's length, whatever the text: blanks, stars, letters, and repeats of what the pattern itself names."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from stablint.base.light import Pattern
from stablint.hazard.model import load
from stablint.syntax.limits import MATCHED
from tests.pace import TIMES, cost, spent
from tests.sampling import is_sampled
from tests.security.built_patterns import METHODS, OURS, Made, built

if sys.version_info >= (3, 11):
    from re import _parser as parser  # type: ignore[attr-defined]
else:
    import sre_parse as parser

PACKAGE = Path(__file__).parents[2] / "lint" / "stablint"
SIGNS = [*(f"re.{method}(" for method in METHODS), "Pattern(", "seen_in("]
LONG = 10_000  # characters
SECONDS = 0.25  # for them: what is quadratic takes a second or more as a rule
DOUBTED = 0.004  # seconds: what takes longer is asked how it grows. What is quadratic, and faster, takes less than half a second for 100 KB
GROWN = 4  # times the length
STEEP = 8  # times the cost then: one pass costs 4 times as much, the square 16 times. A ratio of two costs says the same on a slow machine
DOUBTS = 6  # texts of a pattern that are asked
SHORT = 0.05
DOUBLED = 30  # characters: what doubles every other character takes a tenth of a second
PLAIN = [
    " ",
    "\n",
    "\t",
    "*",
    "a",
    "A",
    "1",
    "-",
    "_",
    ".",
    "/",
    '"',
    "'",
    "\\",
    "(",
    "[",
    "{",
    "#",
    ",",
    ":",
    "=",
    "a.",
    "1x",
    "a ",
    " \n",
    "a-",
]


def makers() -> Iterator[Path]:
    """The modules that may make a pattern. The audit reads our own files only."""
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if any(sign in source for sign in SIGNS) and "audit" not in path.parts and path.name != "__main__.py":
            yield path


@cache
def made_in(path: Path) -> dict[str, tuple[re.Pattern[Any], bool]]:
    """By name, every pattern that a module makes, and whether it is searched for in a text or tried at one place of it."""
    name = ".".join(["stablint", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")
    tree, module = ast.parse(path.read_text(encoding="utf-8")), vars(importlib.import_module(name))
    made = [*named(name, tree, module), *(() if OURS & set(path.parts) else built(name, tree, module))]
    return {word: (pattern, searched) for word, pattern, searched in made}


def named(name: str, tree: ast.Module, module: Mapping[str, Any]) -> Iterator[Made]:
    """Those that it compiles when it is loaded, or when they are first used."""
    used: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used.setdefault(node.value.id, set()).add(node.attr)
        elif isinstance(node, ast.Call):  # given to a function
            for argument in node.args:
                if isinstance(argument, ast.Name):
                    used.setdefault(argument.id, set()).add("given")
    for word, value in module.items():
        if isinstance(value, Pattern):
            value = re.compile(value.pattern, value.flags)
        if isinstance(value, re.Pattern) and word in used:
            yield f"{name}.{word}", value, not used[word] <= {"match", "fullmatch"}


def pieces(tree: Any) -> Iterator[str]:
    """What a parsed pattern names: its literal texts, and a member of each of its sets."""
    text = ""
    for operator, argument in tree:
        if str(operator) == "LITERAL":
            text += chr(argument)
            continue
        if text:
            yield text
            text = ""
        if str(operator) == "IN":
            yield from (chr(one) for kind, one in argument if str(kind) == "LITERAL")
        elif str(operator) == "BRANCH":
            for one in argument[1]:
                yield from pieces(one)
        elif str(operator) == "SUBPATTERN":
            yield from pieces(argument[3])
        elif "REPEAT" in str(operator):
            yield from pieces(argument[2])
        elif "ASSERT" in str(operator):
            yield from pieces(argument[1])
    if text:
        yield text


MEMBERS = [*"a0 _-./:'\"#,=(){}[]<>|;&$%!@*+~^?A\t\n\\"]


def sample(tree: Any) -> str:
    """A text that a parsed pattern takes, or nearly."""
    return "".join(sampled_item(str(operator), argument) for operator, argument in tree)


def sampled_item(operator: str, argument: Any) -> str:
    if operator == "LITERAL":
        return chr(argument)
    if operator == "NOT_LITERAL":
        return "b" if argument == ord("a") else "a"
    if operator == "IN":
        kinds = [str(kind) for kind, _ in argument]
        if kinds == ["LITERAL"]:
            return chr(argument[0][1])
        made = re.compile("[" + "".join(map(in_class, argument)) + "]")
        return next((one for one in MEMBERS if made.match(one)), "")
    if operator == "ANY":
        return "a"
    if operator == "BRANCH":
        return sample(argument[1][0])
    if operator == "SUBPATTERN":
        return sample(argument[3])
    if operator == "ATOMIC_GROUP":
        return sample(argument)
    if "REPEAT" in operator:
        return sample(argument[2]) * max(argument[0], 1)
    return ""  # a place, or what is looked for ahead and behind


def in_class(member: tuple[Any, Any]) -> str:
    kind, argument = str(member[0]), member[1]
    if kind == "NEGATE":
        return "^"
    if kind == "LITERAL":
        return re.escape(chr(argument))
    if kind == "RANGE":
        return f"{re.escape(chr(argument[0]))}-{re.escape(chr(argument[1]))}"
    names = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
    name = str(argument).removeprefix("CATEGORY_").removeprefix("UNI_").removeprefix("LOC_")
    return names[name.removeprefix("NOT_")].upper() if name.startswith("NOT_") else names[name]


def beginnings(tree: Any) -> Iterator[str]:
    """What each part of a pattern leaves taken so far: many such beginnings, none of which ends well, are what a search may go over again and again."""
    begun = ""
    for operator, argument in tree:
        if str(operator) == "SUBPATTERN":
            yield from (begun + one for one in beginnings(argument[3]))
        elif str(operator) == "BRANCH":
            for one in argument[1]:
                yield from (begun + inner for inner in beginnings(one))
        begun += sampled_item(str(operator), argument)
        yield begun


def pumped(tree: Any, begun: str = "") -> Iterator[tuple[str, str]]:
    """Each part of a pattern that may be repeated, behind what leads to it: two such parts that take the same characters share them out in every way."""
    for operator, argument in tree:
        if str(operator) == "SUBPATTERN":
            yield from pumped(argument[3], begun)
        elif str(operator) == "BRANCH":
            for one in argument[1]:
                yield from pumped(one, begun)
        elif "REPEAT" in str(operator) and argument[1] > 1:
            yield begun, sample(argument[2])
            yield from pumped(argument[2], begun)
        begun += sampled_item(str(operator), argument)


def texts(pattern: str, flags: int, length: int) -> Iterator[str]:
    tree = parser.parse(pattern, flags)
    own = list(dict.fromkeys(pieces(tree)))[:25]
    for begun in list(dict.fromkeys(one for one in beginnings(tree) if 1 < len(one) < 200))[:60]:
        for unit in (begun, f"{begun} "):
            yield unit * (length // len(unit)) + "\0"
    for begun, unit in list(dict.fromkeys(one for one in pumped(tree) if one[1] and len("".join(one)) < 200))[:60]:
        yield begun + unit * (length // len(unit)) + "\0"
        yield (begun + unit * (40 // len(unit) + 1)) * (length // 100) + "\0"
    for unit in (*PLAIN, *own, *(f"{one} " for one in own)):
        for head in ("", *own[:6]):
            yield head + unit * (length // len(unit)) + "\0"
        yield unit * (length // len(unit)) + "\n!"


def all_found(pattern: re.Pattern[str], text: str | bytes) -> None:
    for _ in pattern.finditer(text):  # type: ignore[arg-type]
        pass


def work(pattern: re.Pattern[str], searched: bool, made: str) -> Callable[[], object]:
    text = made.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else made
    return partial(all_found, pattern, text) if searched else partial(pattern.match, text)  # type: ignore[arg-type]


def slowest(pattern: re.Pattern[str], searched: bool, length: int, most: float) -> tuple[float, str, list[int]]:
    """The longest time, the text of it, and which texts took so long that they are doubted, the longest first."""
    longest, start = 0.0, ""
    doubted: dict[int, float] = {}
    for number, made in enumerate(texts(pattern.pattern, pattern.flags & ~re.UNICODE, length)):
        took = cost(work(pattern, searched, made), most)
        if took > DOUBTED:
            doubted[number] = took
        if took > longest:
            longest, start = took, made[:40]
        if longest > most:
            break
    return longest, start, sorted(doubted, key=lambda number: -doubted[number])[:DOUBTS]


def steepest(pattern: re.Pattern[str], searched: bool, doubted: list[int], length: int) -> tuple[float, str]:
    """By how much the cost of a doubted text grows where its length grows fourfold."""
    found = (0.0, "")
    for number in doubted:
        short, long = (
            next(islice(texts(pattern.pattern, pattern.flags & ~re.UNICODE, size), number, None))
            for size in (length, GROWN * length)
        )
        ratio = min(growth(work(pattern, searched, short), work(pattern, searched, long)))
        found = max(found, (ratio, short[:40]))
    return found


def growth(short: Callable[[], object], long: Callable[[], object]) -> Iterator[float]:
    """Ratios of two costs, measured beside one another, until one tells that it is no more than one pass."""
    for _ in range(TIMES):
        ratio = spent(long) / min(spent(short) for _ in range(2))
        yield ratio
        if ratio < STEEP:
            break


def fault(pattern: re.Pattern[str], searched: bool, length: int, most: float) -> str:
    """What is wrong with a pattern: it takes more than `most` seconds for some text of this length, or grows as no single pass does."""
    took, text, doubted = slowest(pattern, searched, length, most)
    if took > most:
        return f"{took:.1f} s for {text!r}… of {length} characters"
    steep, text = steepest(pattern, searched, doubted, length) if length == LONG else (0.0, "")
    return f"{steep:.0f} times as much for {text!r}… of {GROWN} times the length" if steep > STEEP else ""


def faults(path: Path, one_in: int, length: int, most: float, *, wanted: bool = True) -> list[str]:
    """Of one in so many of a module's patterns, or of the others, what is wrong with them."""
    return [
        f"{name}: {wrong}"
        for name, (pattern, searched) in made_in(path).items()
        if is_sampled(name, one_in) is wanted and (wrong := fault(pattern, searched, length, most))
    ]


ONE_IN = 16  # patterns that the default run tries
MODULES = [pytest.param(path, id=path.relative_to(PACKAGE).as_posix()) for path in makers()]


@pytest.mark.parametrize("path", MODULES)
def test_a_pattern_takes_one_pass(path: Path) -> None:
    assert faults(path, ONE_IN, LONG, SECONDS) == []


@pytest.mark.parametrize("path", MODULES)
def test_no_pattern_doubles_with_each_character(path: Path) -> None:
    """All of them, on texts so short that only such a one is slow: it would not come back from a long one."""
    assert faults(path, 1, DOUBLED, SHORT) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", MODULES)
def test_every_pattern_takes_one_pass(path: Path) -> None:
    assert faults(path, ONE_IN, LONG, SECONDS, wanted=False) == []


def test_the_square_of_a_text_is_seen() -> None:
    """This one takes 0.03 s for 10,000 characters, and 3 s for 100,000."""
    assert fault(re.compile(r"is_\w+_(?:available|greater_or_equal\w*)\Z"), False, LONG, SECONDS)


@pytest.mark.parametrize(
    "pattern", [r"(?<!\w)\w+=", r"[\w.-]{1,60}@", r"\b(\w+)=\s*(?:\S{0,200}/)?name", r"(?i)seed|lora|rank"]
)
def test_one_pass_is_none(pattern: str) -> None:
    assert not fault(re.compile(pattern), True, LONG, SECONDS)


def test_the_patterns_are_found() -> None:
    names = {name for path in makers() for name in made_in(path)}
    assert len([name for name in names if ":" not in name]) > 400
    assert len([name for name in names if ":" in name]) > 200  # those that stand under no name, by their lines
    assert any(name.startswith("stablint.secrets.in_recipes.") for name in names)


def conditions(when: Any) -> Iterator[str]:
    for one in when:
        if one[0] in ("any", "all", "not"):
            yield from conditions(one[1])
        elif one[0] in ("any-item", "all-items"):
            yield from conditions([one[3]])
        elif one[0] == "matches":
            assert one[2] == 1, "a pattern is written out, not taken from a file"
            yield str(one[3])


def test_patterns_of_hazards_are_safe_on_the_longest_value_that_they_are_asked_about() -> None:
    patterns = sorted({pattern for hazard in load() for pattern in conditions(hazard.when)})
    assert len(patterns) > 80
    slow = {one: took for one in patterns if (took := slowest(re.compile(one), False, MATCHED.most, SHORT)[0]) > SHORT}
    searched = {one: took for one in patterns if (took := _searched(re.compile(one))) > SHORT}
    assert not slow and not searched


def _searched(pattern: re.Pattern[str]) -> float:
    return max(cost(partial(pattern.search, text), SHORT) for text in texts(pattern.pattern, 0, MATCHED.most))
