"""A refusal that the program outlives is a warning at most: it is caught, another branch stands for it, or it is never reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablint.engine.examples import look

HEAD = "import inspect\nfrom contextlib import suppress\n\nimport transformers\nfrom transformers import Trainer, TrainingArguments\n\n"
TAIL = "\nTrainer(model=model, args=args, train_dataset=rows, eval_dataset=rows).train()\n"
BAD, GOOD = 'TrainingArguments("out", learning_rte=1e-5)', 'TrainingArguments("out", learning_rate=1e-5)'

OUTLIVED = {
    "caught": f"try:\n    args = {BAD}\nexcept TypeError:\n    args = {GOOD}\n",
    "made where another call failed": f"try:\n    args = {GOOD}\nexcept TypeError:\n    args = {BAD}\n",
    "suppressed": f"args = {GOOD}\nwith suppress(TypeError):\n    args = {BAD}\n",
    "caught where the function is called, which is then called otherwise": (
        f"def make(old):\n    if old:\n        return {GOOD}\n    return {BAD}\n\n\n"
        "try:\n    args = make(False)\nexcept TypeError:\n    args = make(True)\n"
    ),
    "one branch of two": f"if given.old:\n    args = {BAD}\nelse:\n    args = {GOOD}\n",
    "one branch of three": f"if given.a:\n    args = {GOOD}\nelif given.b:\n    args = {BAD}\nelse:\n    args = {GOOD}\n",
    "in the place of another": f"args = {GOOD}\nif given.old:\n    args = {BAD}\n",
    "one side of a choice": f"args = {BAD} if given.old else {GOOD}\n",
    "by the release": f'if transformers.__version__ < "4.41":\n    args = {BAD}\nelse:\n    args = {GOOD}\n',
    "behind a return by the release": (
        f'def make():\n    if transformers.__version__ >= "5":\n        return {GOOD}\n    return {BAD}\n\n\nargs = make()\n'
    ),
    "behind a return by what the class takes": (
        f"def make():\n    taken = inspect.signature(TrainingArguments).parameters\n    if 'learning_rte' not in taken:\n        return {GOOD}\n"
        f"    return {BAD}\n\n\nargs = make()\n"
    ),
    "behind a return that a parameter decides": (
        f"def make(old=False):\n    if not old:\n        return {GOOD}\n    return {BAD}\n\n\nargs = make()\n"
    ),
    "behind a return within a branch": (
        f"def make():\n    if given is not None:\n        if given.new:\n            return {GOOD}\n    return {BAD}\n\n\nargs = make()\n"
    ),
    "in a method that nobody calls": (
        f"class Made:\n    def old(self):\n        return {BAD}\n\n    def new(self):\n        return {GOOD}\n\n\nargs = Made().new()\n"
    ),
    "behind a break by the release": (
        f"NEW = transformers.__version__ >= '5'\nfor once in (1,):\n    if NEW:\n        args = {GOOD}\n        break\n    args = {BAD}\n"
    ),
}
CERTAIN = {
    "behind a release that is too old": f'if transformers.__version__ < "4.41":\n    raise ImportError("too old")\nargs = {BAD}\n',
    "no branch": f"args = {BAD}\n",
    "the branch that is taken": f"OLD = True\nif OLD:\n    args = {BAD}\nelse:\n    args = {GOOD}\n",
    "behind a return of nothing, where nothing is trained": (
        f"def main():\n    if given.evaluates:\n        return\n    args = {BAD}\n"
        f"    Trainer(model=model, args=args, train_dataset=rows).train()\n\n\nmain()\nargs = {GOOD}\n"
    ),
    "behind a return that is never taken": (
        f"OLD = False\n\n\ndef make():\n    if OLD:\n        return {GOOD}\n    return {BAD}\n\n\nargs = make()\n"
    ),
    "told of before the program ends": f"try:\n    args = {BAD}\nexcept TypeError as error:\n    print(error)\n    raise\n",
    "told of where the program is started": (
        f"def main():\n    args = {BAD}\n    return args\n\n\ntry:\n    args = main()\nexcept TypeError as error:\n    print(error)\n"
    ),
}


def severities(code: str, folder: Path) -> set[str]:
    found = look({"train.py": HEAD + code + TAIL}, str(folder), {"with": ["transformers==5.23.0"]})
    return {d.severity for d in found if d.code == "V105"}


@pytest.mark.parametrize("code", OUTLIVED.values(), ids=OUTLIVED)
def test_what_the_program_outlives_is_a_warning(code: str, tmp_path: Path) -> None:
    assert severities(code, tmp_path) == {"warning"}


@pytest.mark.parametrize("code", CERTAIN.values(), ids=CERTAIN)
def test_what_every_run_meets_is_an_error(code: str, tmp_path: Path) -> None:
    assert severities(code, tmp_path) == {"error"}


def test_a_name_of_a_library_is_not_what_it_holds(tmp_path: Path) -> None:
    """`transformers.__version__` compares as the release that is installed, not as the text of its name."""
    code = (
        'new = {"eval_strategy": "no"}\nold = {"evaluation_strategy": "no"}\n'
        'args = TrainingArguments("out", **(new if transformers.__version__ >= "4.41" else old))\n'
    )
    for release in ("4.40.2", "5.23.0"):
        found = look({"train.py": HEAD + code + TAIL}, str(tmp_path), {"with": [f"transformers=={release}"]})
        assert not [d for d in found if d.code in ("V101", "V252")]


# Where a class of a library's name comes from, and how heavy it is that the library refuses the call.
IMPORTS = {
    "from transformers import TrainingArguments": "error",
    "from transformers.training_args import TrainingArguments": "error",
    "import transformers\nTrainingArguments = transformers.TrainingArguments": "error",
    "from args import TrainingArguments": "warning",
    "from .args import TrainingArguments": "warning",
    "from project.training import TrainingArguments": "warning",
}


@pytest.mark.parametrize(("line", "weight"), IMPORTS.items())
def test_a_class_of_the_projects_own_may_take_what_the_librarys_refuses(line: str, weight: str, tmp_path: Path) -> None:
    code = f"{line}\nargs = TrainingArguments('out', fp16=True, bf16=True)\n"
    found = look({"train.py": code}, str(tmp_path), {"with": ["transformers==5.23.0"]})
    assert {d.severity for d in found if d.code == "P143"} == {weight}


LAUNCH = 'accelerate launch --multi_gpu --num_processes "$N" train.py --output_dir out --learning_rate 1e-5\n'


@pytest.mark.parametrize(
    ("between", "severity"),
    [
        ("", "error"),
        ("source .venv/bin/activate\n", "error"),
        ('eval "$(conda shell.bash hook)"\n', "error"),
        ("source cluster.sh\n", "warning"),
        ('eval "$(python parse.py)"\n', "warning"),
    ],
)  # fmt: skip
def test_what_is_not_at_hand_may_set_a_variable_anew(between: str, severity: str, tmp_path: Path) -> None:
    found = look({"run.sh": f"N=1\n{between}{LAUNCH}"}, str(tmp_path), {"with": ["accelerate==1.15.0"]})
    assert [one.severity for one in found if one.code == "D303"] == [severity]
