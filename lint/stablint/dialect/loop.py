"""What runs the steps of a Python program: a trainer by library and class, or a loop of the program's own.

The answer is the value of `launch.loop`. Nothing is said of a program that calls none of them in the file at hand.
"""

from __future__ import annotations

from stablint.dialect import python_kinds
from stablint.dialect.fragment import last_word
from stablint.source.tree import Call, Module

TRAINER = "transformers.Trainer"  # or a subclass of it
_LIGHTNING_TRAINS = (".Trainer", ".Trainer.from_argparse_args", ".Fabric", ".LightningCLI")
_STEP = "trl.PPOTrainer.step"  # TRL's PPO before 0.12: the program calls each step itself
_SENTENCES = "sentence_transformers."


def of(module: Module) -> tuple[str, Call] | None:
    """The loop and the call that tells it; of several what drives the others."""
    kinds = [(call, python_kinds.kind(call)) for call in module.calls]
    steps = next((call for call, _ in kinds if call.name.endswith("trainer.step")), None)
    for call, kind in kinds:
        if kind == "trainer":
            word = last_word(call.name)
            if word == "PPOTrainer" and steps is not None:
                return _STEP, call
            return (f"transformers.{word}" if word in ("Trainer", "Seq2SeqTrainer") else f"trl.{word}"), call
    if any(kind == "arguments" for _, kind in kinds):
        return None  # whoever is given the library's arguments may be a subclass of its trainer
    for name, is_it in _LOOPS:
        found = next((call for call, _ in kinds if is_it(call)), None)
        if found is not None:
            return name, found
    return None


def _lightning(call: Call) -> bool:
    return call.name.startswith(python_kinds.LIGHTNING) and call.name.endswith(_LIGHTNING_TRAINS)


def _sentences(call: Call) -> bool:
    made = call.receiver
    return last_word(call.name) == "fit" and isinstance(made, Call) and made.name.startswith(_SENTENCES)


def _backward(call: Call) -> bool:
    return last_word(call.name) == "backward" and not call.arguments.open


# In the order in which one drives another: Lightning starts accelerate's rivals itself, an Accelerator wraps DeepSpeed's engine.
_LOOPS = (
    ("lightning", _lightning),
    ("trlx", lambda call: call.name == "trlx.train"),
    ("sentence-transformers", _sentences),
    ("accelerate", lambda call: call.name in ("Accelerator", "accelerate.Accelerator")),
    ("deepspeed", lambda call: call.name == "deepspeed.initialize"),
    ("torch", _backward),
)


def is_trainer(loop: str) -> bool:
    """Whether it is the Trainer of transformers or a subclass of it."""
    return loop.startswith(("transformers.", "trl.")) and loop != _STEP
