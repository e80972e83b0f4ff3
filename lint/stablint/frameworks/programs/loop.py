"""What runs the steps of a Python program: a trainer by library and class, or a loop of the program's own; and whether there are any.

The answer is the value of `launch.loop`. Nothing is said of a program that calls none of them in the file at hand.
"""

from __future__ import annotations

import re

from stablint.frameworks.fragment import last_word
from stablint.frameworks.programs import kinds as python_kinds
from stablint.syntax.python import constants
from stablint.syntax.tree import Call, Module, Scalar, Unknown

TRAINER = "transformers.Trainer"  # or a subclass of it
_LIGHTNING_TRAINS = (".Trainer", ".Trainer.from_argparse_args", ".Fabric", ".LightningCLI")
STEP = "trl.PPOTrainer.step"  # TRL's PPO before 0.12: the program calls each step itself


def is_stepped(call: Call) -> bool:
    """Whether it is TRL's PPO before 0.12, by what it is given: later ones call it `train_dataset`, `policy` or `args`."""
    said = {entry.key for entry in call.arguments.entries}
    return last_word(call.name) == "PPOTrainer" and ("dataset" in said or {"config", "model"} <= said)


def of(module: Module, text: str = "") -> tuple[str, Call] | None:
    """The loop and the call that tells it; of several what drives the others. `text`: of the file."""
    kinds = python_kinds.kinds(module)
    steps = any(call.name.endswith("trainer.step") or python_kinds.steps_itself(call) for call, _ in kinds)
    for call, kind in kinds:
        if kind == "trainer":
            word = last_word(call.name)
            if is_stepped(call) or (word == "PPOTrainer" and steps):
                return STEP, call
            return python_kinds.trainer_class(call), call
    if any(kind == "arguments" for _, kind in kinds) and calls_trainer(module):
        return None  # whoever is given the library's arguments may be a subclass of its trainer
    if _is_a_trainer_s_step(module):
        return None
    for name, is_it in _LOOPS:
        found = next((call for call, _ in kinds if is_it(call)), None)
        if found is not None and name == "deepspeed" and _EXTENDS.search(text) is not None:
            return (
                TRAINER,
                found,
            )  # an engine for its reference model: the trainer that the class extends drives the steps
        if found is not None:
            return name, found
    return None


_EXTENDS = re.compile(r"^class[ \t]+\w{1,80}\((?:\w{1,40}\.)?(?:Seq2Seq)?Trainer\b", re.MULTILINE)


def _is_a_trainer_s_step(module: Module) -> bool:
    """Whether the only steps are those of a class that gives transformers' Trainer another `training_step`: that drives them."""
    steps = any(one.owner and one.name == "training_step" for one in module.functions)
    return steps and any(call.name in ("self._prepare_inputs", "self.accelerator.backward") for call in module.calls)


# Names beside a trainer that run nothing: its callbacks, its state, the modules of its helpers.
_TRAINER_LIKE = re.compile(r"trainer(?!_?(?:utils|pt_utils|callback|state|control|arg|config))", re.IGNORECASE)
_MAY_TRAIN = re.compile(
    r"train(?!ed|ing_?arg|er_?(?:utils|pt_utils|callback|state|control))|backward|value_and_grad|\bjax\.grad|autograd\.grad|apply_(?:gradients|updates)"
    r"|optim(?!um)|adam|\bsgd\b|adafactor|\.fit\b|finetun|fine_tun|\blearn\b|run_exp|(?:\A|\.)(?:main|run|launch|cli|Fire)\Z|deepspeed\.initialize",
    re.IGNORECASE,
)
_JUDGES = re.compile(
    r"generat|evaluat|predict|transcri|infer(?!ence_mode|red)|(?:\A|[._])eval(?:\Z|_step)", re.IGNORECASE
)


def calls_trainer(module: Module) -> bool:
    """Whether anything is called that may be a trainer, of a library or of the program's own."""
    return any(map(is_like_a_trainer, module.calls))


def is_like_a_trainer(call: Call) -> bool:
    """Whether it is called so."""
    return _TRAINER_LIKE.search(_told(call)) is not None


def _told(call: Call) -> str:
    """What is called and of what, without the modules that it comes from."""
    return ".".join(call.name.split(".")[-2:])


def may_train(module: Module) -> bool:
    """Whether a call may train: a trainer, an optimiser, a gradient, a function named so, or one of another file that may do anything."""
    return states_training(module) or any(
        _MAY_TRAIN.search(_told(call))
        and not (call.local and call.name == "main")
        and not _starts_its_own(call)
        and not _is_eval(call)
        for call in module.calls
    )


def _is_eval(call: Call) -> bool:
    """`module.train(mode=False)`, which is what `eval()` does."""
    mode = call.arguments.get("mode") or next(iter(call.positional), None)
    return last_word(call.name) == "train" and isinstance(mode, Scalar) and mode.value is False


def _starts_its_own(call: Call) -> bool:
    """Whether it gives the command line to a function of the file, whose lines are read as well: `fire.Fire(predict)`."""
    first = call.positional[0] if len(call.positional) == 1 else None
    value = first.value if isinstance(first, Scalar) else None
    return (
        last_word(call.name) in _STARTERS
        and isinstance(value, Unknown)
        and value.reason.endswith(constants.OWN_FUNCTION)
    )


_STARTERS = frozenset({"Fire", "run", "cli", "CLI"})


# Arguments that only a training reads.
_OF_TRAINING = ("num_train_epochs", "max_steps", "learning_rate", "per_device_train_batch_size")


def states_training(module: Module) -> bool:
    """Whether the program states what a library's trainer is to do: whoever is handed that trains, in this file or another."""
    return any(
        not call.parsed and any(call.arguments.get(name) is not None for name in _OF_TRAINING)
        for call, kind in python_kinds.kinds(module)
        if kind == "arguments"
    )


def judges(module: Module) -> bool:
    """Whether it measures or uses a model: it generates, evaluates or predicts."""
    return any(_JUDGES.search(_told(call)) for call in module.calls)


_MERGES = re.compile(r"merge_(?:and_unload|adapter)|unload_and_merge|save_pretrained_merged")


def merges(module: Module) -> bool:
    """Whether it puts an adapter into the weights of its model."""
    return any(_MERGES.fullmatch(last_word(call.name)) for call in module.calls)


def only_judges(module: Module) -> bool:
    """Whether it makes a trainer for what that predicts or measures, calls nothing that may train, and gives the trainer to nobody."""
    words = {last_word(call.name) for call, _ in python_kinds.kinds(module)}
    return not {"predict", "evaluate"}.isdisjoint(words) and leaves_its_trainer(module)


def leaves_its_trainer(module: Module) -> bool:
    """Whether it calls nothing that may train, and gives the trainer that it makes to nobody."""
    others = [
        call
        for call, kind in python_kinds.kinds(module)
        if kind not in ("trainer", "arguments", "program", "program-part") and not (call.local and call.name == "main")
    ]
    words = [last_word(call.name) for call in others]
    return not (any(map(_MAY_TRAIN.search, words)) or any(map(_is_given_trainer, others)))


def _is_given_trainer(call: Call) -> bool:
    given = (*call.positional, *(entry.value for entry in call.arguments.entries))
    return any(isinstance(one, Call) and python_kinds.kind(one) == "trainer" for one in given)


def _jax(call: Call) -> bool:
    return call.name.startswith(("jax.", "optax.", "flax.")) and last_word(call.name) in _OF_JAX


_OF_JAX = ("value_and_grad", "grad", "apply_updates", "adamw", "adam", "sgd", "adafactor", "lion")


def _lightning(call: Call) -> bool:
    return call.name.startswith(python_kinds.LIGHTNING) and call.name.endswith(_LIGHTNING_TRAINS)


def _steps(call: Call) -> bool:
    """A gradient, or the step of an optimizer that the file makes: what computes the gradients may stand in another file."""
    word = last_word(call.name)
    if word == "step":
        return isinstance(call.receiver, Call) and python_kinds.is_optimizer(call.receiver)
    return word == "backward" and not call.arguments.open


# In the order in which one drives another: Lightning starts accelerate's rivals itself; who calls DeepSpeed's engine needs no Accelerator for it.
_LOOPS = (
    ("lightning", _lightning),
    ("jax", _jax),
    ("trlx", lambda call: call.name == "trlx.train"),
    ("sentence-transformers", python_kinds.is_fit),
    ("deepspeed", lambda call: call.name == "deepspeed.initialize"),
    ("accelerate", lambda call: call.name in ("Accelerator", "accelerate.Accelerator")),
    ("torch", _steps),
)


def is_trainer(loop: str) -> bool:
    """Whether it is the Trainer of transformers or a subclass of it."""
    return loop.startswith(("transformers.", "trl.", python_kinds.SENTENCES)) and loop != STEP
