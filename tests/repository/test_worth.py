"""What an expression comes to is asked of any program, and every question ends: whatever asks for itself, however far and however deep."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stablint.repository.indexed import Where, at
from stablint.repository.worth import UNKNOWN, Program

_NAMES = ("a", "b", "c", "run")
_names = st.sampled_from(_NAMES)
_owners = st.sampled_from(("self", *_NAMES))
_leaves = st.one_of(
    st.sampled_from(("1", "0", "1e308", f"1{'0' * 400}", "'x'", "None", "True", "...")),
    _names,
    st.builds("{}.{}".format, _owners, _names),
)
_expressions = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds(
            "({} {} {})".format, inner, st.sampled_from(("+", "*", "/", "//", "<", "is not", "or", "and")), inner
        ),
        st.builds("{}({})".format, st.sampled_from(("not ", "-", "int", "A", "B", *_NAMES, "getenv")), inner),
        st.builds("{}.{}({}, {})".format, inner, st.sampled_from(("get", *_NAMES)), inner, inner),
        st.builds("{}.get('a', {})".format, inner, inner),
        st.builds("{}['a']".format, inner),
        st.builds("{}[{}]".format, inner, inner),
        st.builds("{}({}, {})".format, st.sampled_from(("max", "round", "ceil")), inner, inner),
        st.builds("f'{{{}}}-{{{}}}'".format, _names, _names),
        st.builds("({} in ({}, {}))".format, inner, inner, inner),
        st.builds("{}.strip()".format, inner),
        st.builds("A(*{}, **{})".format, inner, inner),
        st.builds("{{'a': {}}}".format, inner),
    ),
    max_leaves=6,
)
_statements = st.one_of(
    st.builds("{} = {}".format, _names, _expressions),
    st.builds("{}.{} = {}".format, _owners, _names, _expressions),
    st.builds("{} += {}".format, _names, _expressions),
    st.builds("if {}: {} = {}".format, _expressions, _names, _expressions),
    _expressions,
)


def _function(name: str, head: str, lines: list[str], depth: str = "    ") -> str:
    return f"{depth}def {name}({head}):\n" + "".join(f"{depth}    {one}\n" for one in lines or ["pass"])


_few = st.lists(_statements, max_size=4)
_methods = st.builds(_function, st.sampled_from(("__init__", *_NAMES)), st.sampled_from(("self, a", "self, b=c")), _few)
_classes = st.builds(
    lambda name, base, value, methods: f"class {name}({base}):\n    a: int = {value}\n" + "".join(methods),
    st.sampled_from("AB"),
    st.sampled_from(("A", "B", "object")),
    _expressions,
    st.lists(_methods, max_size=3),
)
_functions = st.builds(
    lambda name, lines: _function(name, "a, b=a", lines, ""),
    _names,
    st.one_of(_few, _expressions.map("return {}".format).map(lambda one: [one])),
)
_programs = st.lists(st.one_of(_classes, _functions, _statements.map("{}\n".format)), max_size=6).map("".join)


def _ask_everything(*texts: str) -> None:
    program = Program(list(texts), lambda name: name, {"train.a": 1})
    list(program.decided())
    for tree in program.trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store):
                program.only(node, at(tree, node.lineno))


@given(_programs, _programs)
def test_every_question_ends(text: str, module: str) -> None:
    _ask_everything(text, module)


def _methods_of_methods(count: int) -> str:
    """Each method hands its own parameter to the next one."""
    return "class A:\n" + "".join(
        f"    def m{number}(self, a):\n        a.m{number + 1}(a)\n" for number in range(count)
    )


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    def f(self):\n        self.stop = self.stop if self.stop is not None else ()\n",
        "class A:\n    def f(self):\n"
        + "".join(f"        self.a{n} = self.a{n + 1} if self.a{n + 1} else self.a{n + 1}\n" for n in range(400)),
        "class A:\n    def f(self):\n" + "".join(f"        self.a{n} = self.a{(n + 1) % 400} or 1\n" for n in range(400)),
        "".join(f"a{n} = getenv('a', a{n + 1} and a{n + 2})\n" for n in range(400)),
        _methods_of_methods(400),
        "class A:\n    def f(self, a):\n        a.f(a)\n        if a.b: pass\n",
        f"if {'not ' * 190}a: pass\n",
        f"if {'(a and (b or ' * 40}c{'))' * 40}: pass\n",
        f"x = {' + '.join(['a'] * 190)}\nx = {' + '.join(['b'] * 190)}\n",
        f"x = {'(' * 150}a{',)' * 150}\nx = 1\n",
    ],
    ids=range(10),
)  # fmt: skip
def test_nor_does_a_long_way_end_it(text: str) -> None:
    _ask_everything(text)


def test_a_cycle_that_one_value_leaves_is_that_value() -> None:
    text = "class A:\n    def f(self, lr=2):\n        self.lr = lr\n        self.rate = float(self.lr)\n"
    program = Program([text], lambda name: None, {})
    tree = program.trees[0]
    [owner] = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    asked = ast.parse("self.rate", mode="eval").body
    assert program.only(asked, Where(tree, None, owner)) == 2.0


_MODULE = """
from sizes import length, TABLE
import settings
CONFIG = {"training": {"lr": 1e-5, "epochs": 3}}
KINDS = {"a": torch.bfloat16, "b": torch.float32}
def adapter(rank):
    if rank:
        return LoraConfig(r=rank)
    return LoraConfig()
def load():
    return CONFIG
config = load()
head, tail = 7, 8
kind = "a"
counted = {}
counted[head] = 1
lora = adapter(8)
class Run:
    steps = 50
"""


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ("CONFIG['training']['lr']", 1e-5),
        ("config['training']['epochs']", 3),
        ("KINDS[kind]", "bfloat16"),
        ("TABLE['small']", 128),
        ("length", 512),
        ("tail", 8),
        ("head", 7),
        ("math.ceil(length / 100)", 6),
        ("max(1, length // 1024)", 1),
        ("f'run-{kind}-{tail}'", "run-a-8"),
        ("lora is None", False),
        ("not lora", False),
        ("Run.steps", 50),
        ("expanduser('x')", "x"),
    ],
)
def test_what_stands_for_something_else(asked: str, value: object) -> None:
    program = Program([_MODULE, "length = 512\nTABLE = {'small': 128}\n"], lambda name: UNKNOWN, {})
    assert program.only(ast.parse(asked, mode="eval").body, Where(program.trees[0], None, None)) == value


@pytest.mark.parametrize("asked", ["other", "counted[7]", "lora == 3", "lora in (1, 2)", "CONFIG['none']", "made()"])
def test_what_nobody_can_tell(asked: str) -> None:
    program = Program([_MODULE, "other = 3\n"], lambda name: UNKNOWN, {})
    assert program.only(ast.parse(asked, mode="eval").body, Where(program.trees[0], None, None)) is UNKNOWN


_OPENS = """
ROOT = Path(__file__).resolve().parents[1]
parser.add_argument("--config", default=str(ROOT / "configs" / "sft.yaml"))
BASE = {"lr": 1e-5, "epochs": 2}
MORE = {**BASE, "epochs": 3}
def options():
    args = parser.parse_args()
    cfg = OmegaConf.load(args.config)
    if args.more:
        cfg = OmegaConf.merge(cfg, OmegaConf.from_dotlist(args.more))
    return args, cfg
def settings(path="configs/sft.yaml"):
    with open(path) as file:
        return yaml.safe_load(file)
args, cfg = options()
said = settings()
train, other = said["train"], said.get("other", {})
here = os.path.join(os.path.dirname(__file__), "configs", "sft.yaml")
third = json.loads(Path(here).read_text())
"""


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ("cfg.train.lr", 3e-5),
        ("said['train']['steps']", 50),
        ("train['lr']", 3e-5),
        ("train.get('lr', 1)", 3e-5),
        ("train.get('none', 1)", 1),
        ("third['train']['lr']", 3e-5),
        ("MORE['lr']", 1e-5),
        ("MORE['epochs']", 3),
        ("'lora' in said", UNKNOWN),
        ("cfg.none.lr", UNKNOWN),
    ],
)
def test_files_that_the_program_opens(asked: str, value: object) -> None:
    files = {"configs/sft.yaml": {"train": {"lr": 3e-5, "steps": 50}}}
    program = Program([_OPENS], lambda name: UNKNOWN, {}, files.get)
    assert program.only(ast.parse(asked, mode="eval").body, Where(program.trees[0], None, None)) == value


_HEAD = "import argparse, copy, os, yaml\nfrom dataclasses import dataclass, field\nfrom omegaconf import OmegaConf\n"
_OWN = "@dataclass\nclass Train:\n    lr: float = 1e-3\n    steps: int = 5\n@dataclass\nclass Config:\n    train: Train = field(default_factory=Train)\n"
_LOAD = "def load(path):\n    with open(path) as f:\n        return yaml.safe_load(f)\n"
_BOTH = "def both():\n    with open('base') as f:\n        one = yaml.safe_load(f)\n    with open('own') as f:\n        two = yaml.safe_load(f)\n"
_DEEP_MERGE = (
    "def deep_merge(a, b):\n    out = dict(a)\n    for k, v in b.items():\n"
    "        out[k] = deep_merge(out[k], v) if isinstance(v, dict) else v\n    return out\n"
)
_BY_LOOP = (
    "    out = copy.deepcopy(one)\n    for k, v in two.items():\n        if isinstance(v, dict):\n            out[k].update(v)\n"
    "        else:\n            out[k] = v\n    return out\n"
)
_FILES: dict[str, object] = {
    "base": {"train": {"lr": 1e-3, "steps": 5}, "lr": 0.1},
    "own": {"train": {"lr": 2e-5}},
    "flat": {"lr": 2e-5},
}
WORTH = {
    "merged by OmegaConf": ("x = OmegaConf.merge(OmegaConf.load('base'), OmegaConf.load('own'))\n", "x.train.lr, x.train.steps", (2e-5, 5)),
    "merged by its function": (
        _DEEP_MERGE + _BOTH + "    return deep_merge(one, two)\nx = both()\n", "x['train']['lr'], x['train']['steps']", (2e-5, 5),
    ),
    "merged by a loop": (_BOTH + _BY_LOOP + "x = both()\n", "x['train']['lr'], x['train']['steps']", (2e-5, 5)),
    "a section that is replaced": (
        _BOTH + "    one.update(two)\n    return one\nx = both()\n", "x['train']['lr'], x['train'].get('steps', 7), x['lr']", (2e-5, 7, 0.1),
    ),
    "put into it by an option that nobody gives": (
        "p = argparse.ArgumentParser()\np.add_argument('--lr', type=float)\na = p.parse_args()\nx = yaml.safe_load(open('flat'))\n"
        "if a.lr is not None:\n    x['lr'] = a.lr\n", "x['lr'], x['lr']", (2e-5, 2e-5),
    ),
    "put into it always": ("x = yaml.safe_load(open('flat'))\nx['lr'] = 3e-4\n", "x['lr'], 1", (3e-4, 1)),
    "put into it, who knows what": ("x = yaml.safe_load(open('flat'))\nx.update(vars(given))\n", "x['lr'], 1", (UNKNOWN, 1)),
    "put into another one": ("x = yaml.safe_load(open('flat'))\ny = {'lr': 1}\ny['lr'] = 2\n", "x['lr'], y['lr']", (2e-5, 2)),
    "spread into an object": (_OWN + "x = Train(**yaml.safe_load(open('flat')))\n", "x.lr, x.steps", (2e-5, 5)),
    "an object that a function makes": (
        _OWN + _LOAD + "def made(path):\n    raw = load(path)\n    return Config(train=Train(**raw['train']))\nx = made('own')\n",
        "x.train.lr, x.train.steps", (2e-5, 5),
    ),
    "an object in another": (_OWN + "x = Config()\n", "x.train.lr, x.train.steps", (1e-3, 5)),
    "asked for by name": (_OWN + "x = Train()\n", "getattr(x, 'lr', 7), getattr(x, 'other', 7)", (1e-3, 7)),
    "an object of nobody's": ("", "getattr(x, 'lr', 7), 1", (UNKNOWN, 1)),
    "spread into an object, who knows what": (_OWN + "x = Train(**vars(given))\n", "x.lr, 1", (UNKNOWN, 1)),
    "a name in turn": ("x = 64 // 8\nx = max(1, x)\ny = 1\ny = 2\n", "x, y", (8, UNKNOWN)),
    "a name that a loop changes": ("x = 1\nfor one in rows:\n    x = max(2, x)\n", "x, 1", (UNKNOWN, 1)),
    "a variable that nobody sets": ("x = int(os.environ.get('STEPS') or 8)\n", "x, 1", (8, 1)),
}  # fmt: skip


@pytest.mark.parametrize(("text", "asked", "worth"), WORTH.values(), ids=WORTH)
def test_what_it_comes_to(text: str, asked: str, worth: tuple[object, ...]) -> None:
    program = Program([_HEAD + text], lambda name: UNKNOWN, {}, _FILES.get)
    node = ast.parse(asked, mode="eval").body
    assert isinstance(node, ast.Tuple)
    found = [program.only(one, Where(program.trees[0], None, None)) for one in node.elts]
    assert [UNKNOWN if isinstance(one, type(UNKNOWN)) else one for one in found] == list(worth)


def test_what_is_spread_in_a_call() -> None:
    text = (
        _HEAD
        + "ARGS = {**yaml.safe_load(open('flat')), 'steps': 5, 'rows': made()}\nTrainingArguments('o', bf16=True, **ARGS, **given)\n"
    )
    program = Program([text], lambda name: UNKNOWN, {}, _FILES.get)
    [call] = [one for one in program.calls if ast.unparse(one.node.func) == "TrainingArguments"]
    assert sorted(program.spread(call.node, call.where)) == [("steps", 5)]
