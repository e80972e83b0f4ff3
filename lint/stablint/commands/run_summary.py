"""What a run will do, in a few words: what runs it, what it trains, how fast, how long, on what; and what of it nobody can say from the files."""

from __future__ import annotations

import re

from stablint.base.language import gettext, told
from stablint.frameworks import peft
from stablint.frameworks.fragment import PURPOSE
from stablint.frameworks.programs.loop import TRAINER
from stablint.hazard.wording import value_text
from stablint.run.fact import ABSENT, OPEN, Fact, is_unknown
from stablint.run.releases.allowed import Releases
from stablint.run.world import World

_LIBRARIES = ("transformers", "trl", "peft", "accelerate", "deepspeed", "unsloth", "bitsandbytes", "torch")


def in_words(world: World) -> dict[str, str]:
    """A line by its label, in the order in which they are read; labels of which there is nothing to say are left out."""
    trains = world.fact("derived.trains")
    found = {"framework": _framework(world), "releases": _releases(world)}
    here = is_unknown(trains.value) or _trains_here(world)
    if not here:
        del found["framework"]
    if trains.value is False:
        found["training"] = gettext("none: it evaluates or predicts only")
    elif is_unknown(trains.value):
        found["training"] = _unknown(trains)
    elif not here:
        method = _method(world) if world.is_stated("lora.peft_type") else ""
        found |= {"training": gettext("not known: nothing that trains stands in this file"), "method": method}
    else:
        found |= {
            "method": _method(world),
            "objective": _objective(world),
            "precision": _precision(world),
            "learning rate": _number(world, "training.learning_rate")
            or _number(world, "deepspeed.optimizer.params.lr"),
            "steps": _steps(world),
            "effective batch": _batch(world),
            "warm-up steps": _warmup(world),
            "sharding": _sharding(world),
            "checkpoints": _checkpoints(world),
        }
    gpu = world.value("target.gpu.name")
    return {
        **{label: text for label, text in found.items() if text},
        **({"GPU": str(gpu)} if isinstance(gpu, str) else {}),
    }


# What only a training says. A model that is loaded, its adapter and its quantisation are of whoever asks, stores or measures it as well.
_OF_A_TRAINING = ("training.", "trainer.", "optimizer.", "deepspeed.", "launch.loop", "launch.done.trains")
_OF_A_MODEL = frozenset({"python", "peft", "unsloth"})
_OF_ANY_PROGRAM = ("training.gradient_checkpointing", "training.max_length", "training.per_device_train_batch_size")


def _trains_here(world: World) -> bool:
    return not _OF_A_MODEL.issuperset(world.run.dialects) or any(
        name.startswith(_OF_A_TRAINING) and not name.startswith(_OF_ANY_PROGRAM) for name in world.run.explicit
    )


def _framework(world: World) -> str:
    """Whose program it is, and what runs its steps where the framework does not say that."""
    framework, loop = world.value("derived.framework"), world.fact("derived.trainer")
    if "own" in world.run.dialects and is_unknown(framework) and is_unknown(loop.value):
        return gettext("a program's own settings")
    own = world.is_stated("launch.loop") and not (isinstance(loop.value, str) and "." in loop.value)
    if is_unknown(loop.value):
        steps = _unknown(loop) if world.is_stated("launch.loop") or is_unknown(framework) else ""
    else:
        steps = (
            gettext("a loop of its own ({name})").format(name=loop.value)
            if own
            else f"{loop.value}{gettext(' (presumed)') if loop.presumed else ''}"
        )
    another = loop.presumed and loop.value == TRAINER and world.stated("launch.own_trainer") is not True
    if another and (_objective(world).partition(" ")[0] in _NOT_THE_TRAINERS or _is_led_by_its_caller(world)):
        of_its_own = isinstance(framework, str) and framework != "transformers"
        steps = "" if of_its_own else gettext("not known: {reason}").format(reason=told("no trainer is named"))
        framework = framework if of_its_own else ""
    named = framework if isinstance(framework, str) and not steps.startswith(framework) else ""
    return ", ".join(text for text in (named, steps) if text)


_OF_FLAGS = frozenset({"hf-args", "shell"})
_NUMBERS = (
    "training.learning_rate",
    "training.num_train_epochs",
    "training.max_steps",
    "training.per_device_train_batch_size",
)


def _is_led_by_its_caller(world: World) -> bool:
    """Whether a script starts a program that is not seen with what it is itself told: neither a rate nor how long, nor how many rows."""
    said = map(world.stated, _NUMBERS)
    return _OF_FLAGS.issuperset(world.run.dialects) and not any(isinstance(one, (int, float)) for one in said)


# What the plain Trainer does not do by itself: where a file or its name says so, it is not presumed to run it.
_NOT_THE_TRAINERS = frozenset({"dpo", "kto", "orpo", "simpo", "cpo", "ppo", "grpo", "rloo", "rlhf"})


def _releases(world: World) -> str:
    """Those that are stated, and beside them each presumed one that is a single release; ranges that are presumed only where none is stated."""
    releases: Releases = world.run.releases
    known = [library for library in _LIBRARIES if releases.allowed(library)]
    stated = any(map(releases.stated, known))
    shown = [
        library
        for library in known
        if releases.stated(library)
        or (releases.presumed(library) and not (stated and len(releases.allowed(library)) > 1))
    ]
    texts = (
        _range(releases, library) + (gettext(" (presumed)") if stated and releases.presumed(library) else "")
        for library in shown
    )
    text = ", ".join(f"{library} {said}" for library, said in zip(shown, texts, strict=True))
    return text + gettext(" (presumed)") if text and not stated else text


def _range(releases: Releases, library: str) -> str:
    allowed = releases.allowed(library)
    first, last = (releases.text(key, library) for key in (allowed[0], allowed[-1]))
    if first == last:
        return first
    if releases.closed(library):
        return gettext("{low} to {high}").format(low=first, high=last)
    return gettext("{release} or later").format(release=first)


_PROMPTS = {
    "PREFIX_ENCODER": "prefix tuning",
    "PREFIX_TUNING": "prefix tuning",
    "PROMPT_TUNING": "prompt tuning",
    "P_TUNING": "P-tuning",
    "IA3": "(IA)³",
    "LN_TUNING": "layer norms",
}


_ASKED = re.compile(r"`(.*)` decides when the program runs\Z", re.DOTALL)
# Whether there is anything, by the names of variables: settings and what they are compared with decide otherwise.
_THERE = re.compile(r"(?:not )?\w+(?: is (?:not )?None)?(?: (?:and|or) (?:not )?\w+(?: is (?:not )?None)?)*")
_OF_METHODS = re.compile(
    r"lora|peft|adapt|tun|method|mode(?!l)|type|quant|bit|full|freez|frozen|strateg|stage|optim|resum|checkpoint|rank|use|enable|flag|debug",
    re.IGNORECASE,
)


def _method(world: World) -> str:
    """PEFT's other methods by their names: no check needs to tell AdaLoRA from LoRA, a reader does."""
    said, kind = _said(world, "derived.method"), world.stated("lora.peft_type")
    method = world.value("derived.method")
    if (
        is_unknown(method)
        and (asked := _ASKED.match(method.reason))
        and _THERE.fullmatch(asked[1])
        and not _OF_METHODS.search(asked[1])
    ):
        if world.is_stated("lora.peft_type"):  # the branch asks whether there is anything to train, or to train on
            kind = "qlora" if world.value("derived.weights_dtype") == "4bit" else "lora"
            return kind + gettext(" (presumed)")
    if method == "unknown" and world.stated("model.partly_frozen") is True and world.run.scopes.get("lora") != OPEN:
        return gettext("no adapter; some of the weights may be frozen")
    if method == "unknown":
        return said.removesuffix(gettext(" (presumed)"))
    if (
        method not in ("lora", "qlora", "prompt")
        or not isinstance(kind, str)
        or kind not in peft.CLASSES
        or kind == "LORA"
    ):
        return said
    name = _PROMPTS.get(kind) or peft.CLASSES[kind].removeprefix("peft.").removesuffix("Config")
    return said.replace(method, f"{name} on 4-bit weights" if method == "qlora" else name, 1)


# `pretraining`, `pretrain_qlora`
_PURPOSES = {
    "pretrain": "pretrain",
    "cpt": "pretrain",
    "rm": "reward",
    "distil": "distillation",
    "distill": "distillation",
    "distilla": "distillation",  # eight letters of a word that goes on: `distillation`
    "classifi": "classification",
}


def _purpose(name: str) -> str:
    word = name.partition("_")[0]
    return _PURPOSES.get(word[:8], word)


# Why an objective is not known that what the program loads may well say.
_OPEN = re.compile(r"which trainer reads|a head is trained|is no setting of supervised")


def _objective(world: World) -> str:
    """A program that is called after an objective most likely has it, which no check takes for a fact."""
    purpose = world.stated("launch.purpose")
    fact = world.fact("derived.objective")
    stated = world.is_stated("training.stage") or world.is_stated(world.framework.objective_by)
    if is_unknown(fact.value) or (fact.presumed and not stated):
        if isinstance(purpose, str):
            return _purpose(purpose) + gettext(" (presumed from the program's name)")
        named = PURPOSE.search(world.run.files[0].rpartition("/")[2].lower()) if world.run.files else None
        if named is not None:
            return _purpose(named[1]) + gettext(" (presumed from the file's name)")
        goal = world.stated("launch.goal")
        open_to_it = _OPEN.search(fact.value.reason) is not None if is_unknown(fact.value) else fact.value == "sft"
        if isinstance(goal, str) and open_to_it:
            return goal + gettext(" (presumed)")
    trainer = world.value("derived.trainer")
    if is_unknown(fact.value) and isinstance(trainer, str) and trainer in _BY_TRAINER:
        return _BY_TRAINER[trainer] + gettext(" (presumed)")
    return _said(world, "derived.objective")


# Whose trainer has one objective, whatever sections its file has.
_BY_TRAINER = {
    f"trl.{name}Trainer": name.lower() for name in ("SFT", "DPO", "KTO", "ORPO", "CPO", "GRPO", "RLOO", "PPO", "Reward")
}


def _said(world: World, name: str) -> str:
    fact = world.fact(name)
    if is_unknown(fact.value):
        return _unknown(fact)
    return "" if fact.value is ABSENT else value_text(fact.value) + (gettext(" (presumed)") if fact.presumed else "")


def _unknown(fact: Fact) -> str:
    return gettext("not known: {reason}").format(reason=told(fact.value.reason))


def _precision(world: World) -> str:
    """Where it is not known as a whole, what a launcher's no or the quantised layers say of it; fp8 is of the matrix products alone."""
    if world.stated("training.fp8") is True or world.stated("accelerate.mixed_precision") == "fp8":
        rest = world.value("derived.compute_dtype")
        if isinstance(rest, str):
            return gettext("fp8 in the matrix products, else {dtype}").format(dtype=rest)
        return gettext("fp8 in the matrix products, else not known")
    if is_unknown(world.value("derived.compute_dtype")):
        if world.stated("training.pure_bf16") is True:
            return "bfloat16" + gettext(" (presumed)")
        texts = {name: str(world.stated(f"deepspeed.{name}.enabled")).lower() for name in ("fp16", "bf16", "bfloat16")}
        said = [name for name, text in texts.items() if text == "true"]
        if len(said) == 1:  # DeepSpeed takes the word as well
            return ("float16" if said == ["fp16"] else "bfloat16") + gettext(" (presumed)")
        switches = (world.stated("accelerate.mixed_precision"), world.stated("training.mixed_precision"))
        if any(one in ("no", False) for one in switches):
            return gettext("no mixed precision: that of the weights")
        layers = world.stated("quantization.bnb_4bit_compute_dtype")
        if world.value("quantization.load_in_4bit") is True and isinstance(layers, str):
            return gettext("{dtype} in the 4-bit layers, else not known").format(dtype=layers)
    return _said(world, "derived.compute_dtype")


def _number(world: World, name: str) -> str:
    """A setting by its value; what is left out has the default of its class, if that is certain."""
    fact = world.fact(name)
    if world.is_stated(name):
        return _said(world, name)
    return value_text(fact.value) + gettext(" (default)") if isinstance(fact.value, (int, float)) else ""


def _steps(world: World) -> str:
    total = world.fact("derived.total_steps")
    if not is_unknown(total.value) and total.value is not ABSENT:
        return _said(world, "derived.total_steps")
    episodes = world.stated("training.total_episodes")
    if isinstance(episodes, int):  # of TRL's PPO and RLOO, which work out the epochs from it
        return gettext("{number} episodes").format(number=value_text(episodes))
    most = world.fact("training.max_steps")
    if world.is_stated("training.max_steps") and is_unknown(most.value):
        return _unknown(most)
    length = world.fact("training.num_train_epochs")
    epochs = length.value
    if world.is_stated("training.num_train_epochs") and is_unknown(epochs):
        return _unknown(length)
    if isinstance(epochs, (int, float)):
        return gettext("{number} epochs").format(number=value_text(epochs)) + (
            "" if world.is_stated("training.num_train_epochs") else gettext(" (default)")
        )
    return _said(world, "derived.total_steps")


def _batch(world: World) -> str:
    fact = world.fact("derived.effective_batch")
    if not is_unknown(fact.value):
        return _said(world, "derived.effective_batch")
    whole = _whole(world, "deepspeed.train_batch_size")
    if whole is not None:
        return value_text(whole)
    parts = [
        word.format(number=value_text(value))
        for word, value in (
            (
                gettext("{number} a device"),
                _whole(world, "training.per_device_train_batch_size", "deepspeed.train_micro_batch_size_per_gpu"),
            ),
            (
                gettext("{number} accumulated"),
                _whole(world, "training.gradient_accumulation_steps", "deepspeed.gradient_accumulation_steps"),
            ),
            (gettext("{number} processes"), _whole(world, "derived.world_size")),
        )
        if value is not None
    ]
    return _unknown(fact) + (f" ({', '.join(parts)})" if parts else "")


def _whole(world: World, *names: str) -> int | None:
    """The first of the facts that is a number: the trainer's, else DeepSpeed's own."""
    values = (world.value(name) for name in names)
    return next((value for value in values if isinstance(value, int) and not isinstance(value, bool)), None)


def _warmup(world: World) -> str:
    if world.value("training.lr_scheduler_type") == "constant":
        return gettext("none: the rate is constant")
    share = world.value("training.warmup_ratio")
    if is_unknown(world.value("derived.warmup_steps")) and isinstance(share, (int, float)) and share > 0:
        return gettext("{share} of all steps").format(share=value_text(share))
    scheduled = _whole(world, "deepspeed.scheduler.params.warmup_num_steps")
    if is_unknown(world.value("derived.warmup_steps")) and scheduled is not None:
        return value_text(scheduled)
    return _said(world, "derived.warmup_steps")


def _sharding(world: World) -> str:
    stage, sharded = world.fact("derived.zero_stage"), world.fact("derived.fsdp")
    if stage.value in (1, 2, 3):
        return f"ZeRO-{stage.value}{gettext(' (presumed)') if stage.presumed else ''}"
    if sharded.value is True:
        return f"FSDP{gettext(' (presumed)') if sharded.presumed else ''}"
    return _unknown(stage) if is_unknown(stage.value) and world.value("derived.deepspeed") is True else ""


def _checkpoints(world: World) -> str:
    kind = world.value("training.save_strategy")
    every = world.fact("launch.save_every")
    if is_unknown(kind) and isinstance(every.value, int) and every.value > 0:
        words = gettext("every {number}, in steps or epochs of the program's own")
        return words.format(number=value_text(every.value)) + gettext(" (presumed)")
    if kind != "steps":
        return _said(world, "training.save_strategy")
    every = world.fact("training.save_steps")
    if is_unknown(every.value):
        return _unknown(every)
    share = isinstance(every.value, float) and every.value < 1
    words = gettext("every {share} of all steps") if share else gettext("every {share} steps")
    return words.format(share=value_text(every.value))
