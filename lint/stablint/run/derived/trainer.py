"""Who reads the settings and who runs the steps: framework, trainer and arguments, whether they train, and what the program does about them."""

from __future__ import annotations

from stablint.run.fact import ABSENT, CLOSED, LIVE, PRESUMED, Explicit, is_unknown
from stablint.run.world import Answer, Rule, World
from stablint.syntax.tree import Unknown


def framework(w: World) -> Answer:
    """Flags that a library's parser has may be read by anybody's: whose they are is presumed, unless a program at hand is that library's."""
    guessed = w.run.scopes.get("training") == PRESUMED and "python" not in w.run.dialects
    if (other := w.framework.replaced_by) and w.is_said(other) and _is_on(w, other):
        return Answer(Unknown("a variable starts another program"), (other,))
    return Answer(w.run.framework or Unknown("no framework is named"), presumed=guessed)


def read_by_library(w: World) -> Answer:
    """Does a library load what the settings name? A file in TRL's or the Trainer's words alone may be one for a program of one's own, which
    hands on what it likes: without a program or a command beside it that is presumed."""
    alone = w.framework.library and {"python", "notebook", "shell"}.isdisjoint(w.run.dialects)
    guessed = w.run.scopes.get("training") == PRESUMED and "python" not in w.run.dialects
    return Answer(True, presumed=alone or guessed)


def trl_arguments(w: World) -> Answer:
    """Would TRL's own config class be made of the arguments? What it checks itself it checks for whatever trainer."""
    loop = w.value("derived.trainer")
    if w.framework.own_trainers or (isinstance(loop, str) and not loop.startswith(("trl.", "transformers."))):
        return Answer(False, ("derived.trainer",))
    own = w.value("derived.config_class")  # whoever the trainer is
    return Answer(is_unknown(own) or w.run.classes.get("training", ())[:1] != (_BASE,), ("derived.config_class",))


_BASE = "transformers.TrainingArguments"


def trl_trainer(w: World) -> Answer:
    """Would it be TRL's own trainer that checks the arguments? transformers' Trainer takes TRL's configs and reads none of what they add."""
    loop = w.value("derived.trainer")
    if w.framework.own_trainers or (isinstance(loop, str) and not loop.startswith(("trl.", "transformers."))):
        return Answer(False, ("derived.trainer",))
    if not isinstance(loop, str):
        return Answer(loop, ("derived.trainer",))
    if loop.startswith("trl."):
        return Answer(loop != "trl.PPOTrainer.step", ("derived.trainer",))
    if w.stated("launch.own_trainer") is True and w.stated("launch.loop") is ABSENT:
        return Answer(Unknown("what the program's own trainer extends is not at hand"), ("launch.own_trainer",))
    named = w.stated("launch.loop") is not ABSENT or bool(w.run.classes.get("trainer"))
    plain = w.run.classes.get("training", ())[:1] == (_BASE,)
    return Answer(not (named or plain), ("derived.trainer",))


def trainer(w: World) -> Answer:
    """What runs the steps: the program's own call of a trainer or its loop, else the framework's; else presumed to be transformers' Trainer."""
    loop = w.stated("launch.loop")
    if loop is not ABSENT:
        return Answer(loop, ("launch.loop", *_own_class(w)), presumed=_does_otherwise(w))
    named = w.run.classes.get("trainer", ())
    if named:
        return Answer(named[0].removeprefix("?"), _own_class(w), presumed=_does_otherwise(w))
    own = w.framework.trainer
    if own == "transformers.Trainer":  # a program may have put a class of its own in its place
        unseen = w.framework.patches and _is_program(w) and not w.run.classes.get("training")  # it makes none itself
        return Answer(own, ("derived.framework", *_own_class(w)), presumed=bool(unseen) or _does_otherwise(w))
    if own:
        return Answer(own, ("derived.framework",))
    if w.run.classes.get("training"):
        unseen = _is_program(w) or _does_otherwise(w)
        own = w.run.classes["training"][0].removeprefix("?").removesuffix("Config") + "Trainer"
        if own in _WITHOUT_THE_TRAINER or own in _LATER_THE_TRAINER:  # nobody else takes these arguments
            return Answer(own, _own_class(w), presumed=unseen or w.run.scopes.get("training") != CLOSED)
        return Answer("transformers.Trainer", _own_class(w), presumed=unseen or w.run.scopes.get("training") != CLOSED)
    return Answer(Unknown("no trainer is named"))


_OWN_CLASS = ("launch.own_trainer", "launch.trainer_methods")


def _own_class(w: World) -> tuple[str, ...]:
    """What is said of a class of the program's own; that nothing is said of one decides nothing."""
    return tuple(name for name in _OWN_CLASS if w.is_stated(name))


_PROGRAMS = ("python", "notebook")  # they say themselves who is given the arguments
# What a subclass may have instead of the library's without a say in what the library checks, makes and reads.
_HARMLESS = frozenset(
    ["compute_loss", "log", "save_model", "_save", "_save_checkpoint", "_load_from_checkpoint", "get_batch_samples", "floating_point_ops",
     "create_model_card", "push_to_hub", "store_metrics"]
)  # fmt: skip


def _does_otherwise(w: World) -> bool:
    """Is the trainer a class of the program's own that may leave out, or do by itself, what the library's would do?"""
    if w.stated("launch.own_trainer") is not True:
        return False
    methods = w.stated("launch.trainer_methods")
    return not (isinstance(methods, list) and _HARMLESS.issuperset(methods))


_TRAINERS = ("transformers.", "trl.")
# TRL's that make their Accelerator themselves and never call the constructor of transformers' Trainer, a base of theirs or not: neither what it checks
# nor `deepspeed_init`, which `Trainer.train` calls, is reached (trl 0.9.3 ppov2_trainer.py, 0.17.0, 0.24.0 and 1.9.0 ppo_trainer.py).
_WITH_ITS_ARGUMENTS = ("trl.PPOTrainer", "trl.PPOv2Trainer")
_WITHOUT_THE_TRAINER = frozenset(
    [*_WITH_ITS_ARGUMENTS, "trl.PPOTrainer.step", "trl.DDPOTrainer", "trl.AlignPropTrainer"]
)
_LATER_THE_TRAINER = {
    "trl.RLOOTrainer": "0.22"
}  # 0.21.0 has a loop of its own, 0.22.0 calls `super().__init__` with all


def hf_trainer(w: World) -> Answer:
    """Is it transformers' Trainer, or a subclass, which holds its arguments against DeepSpeed's file, saves and evaluates by them?"""
    loop = w.value("derived.trainer")
    if not isinstance(loop, str):
        return Answer(loop, ("derived.trainer",))
    if loop in _WITHOUT_THE_TRAINER:
        return Answer(False, ("derived.trainer",))
    if loop in _LATER_THE_TRAINER:
        later = w.at_least("trl", _LATER_THE_TRAINER[loop])
        return Answer(later is not False, ("derived.trainer",), presumed=not w.run.releases.stated("trl"))
    in_ppo = w.framework.trainer_in_ppo
    if in_ppo is not None and w.value("derived.objective") == "ppo":
        return Answer(Unknown(in_ppo) if isinstance(in_ppo, str) else in_ppo, ("derived.objective",))
    if w.value("derived.megatron_arguments") is True:
        return Answer(Unknown("mcore_adapter's trainer runs the steps"), ("derived.megatron_arguments",))
    # sentence-transformers' extend transformers' and do some of it otherwise
    sentences = loop.startswith("sentence_transformers.")
    return Answer(loop.startswith(_TRAINERS) or sentences, ("derived.trainer",), presumed=sentences)


def hf_arguments(w: World) -> Answer:
    """Are the arguments made by transformers' own class, whose constructor checks them whoever trains then?"""
    if w.run.classes.get("training") and (_is_program(w) or w.run.anchor.document.format == LIVE):
        return Answer(True, ("derived.config_class",))
    loop = w.value("derived.trainer")
    if loop in (*_WITH_ITS_ARGUMENTS, *_LATER_THE_TRAINER) or (
        w.framework.trainer_in_ppo is not None and isinstance(loop, str)
    ):
        return Answer(True, ("derived.trainer",))
    return Answer(w.value("derived.hf_trainer"), ("derived.hf_trainer",))


def _is_program(w: World) -> bool:
    """Is it read from a program's text, which says itself who is given the arguments? Objects of a running one are handed over to be trained with."""
    return w.run.anchor.document.format != LIVE and any(one in _PROGRAMS for one in w.run.dialects)


def own_trainer(w: World) -> Answer:
    """Is the trainer a class of the program's own, which may do anything else than the library's that it derives from?"""
    if w.is_said("launch.own_losses"):
        return Answer(Unknown("a trainer of the repository's own has losses of its own"), ("launch.own_losses",))
    return Answer(w.stated("launch.own_trainer") is True, ("launch.own_trainer",))


_MAKES_OPTIMISER = (
    "trainer.optimizers",
    "trainer.optimizer_cls_and_kwargs",
    "launch.optimizer_set",
    "deepspeed.optimizer",
    "deepspeed.optimizer.type",
)


def own_optimizer(w: World) -> Answer:
    """Does the program, or DeepSpeed's file, make the optimiser instead of the trainer (transformers 5.23.0 trainer.py, `create_optimizer`)?"""
    given = [name for name in _MAKES_OPTIMISER if w.stated(name) not in (ABSENT, None, [None, None])]
    methods = w.stated("launch.trainer_methods")
    if given or (isinstance(methods, list) and "create_optimizer" in methods):
        return Answer(True, (*given, "launch.trainer_methods"))
    return Answer(False, ("training.optim",), presumed=is_unknown(methods))


_OTHER_PHASES = ("training.do_eval", "training.do_predict")


def trains(w: World) -> Answer:
    """Are weights trained? Flags and files say so to programs that ask; what a call in Python says the Trainer itself never reads."""
    asked = w.stated("training.do_train")
    if (asked is False or is_unknown(asked)) and _in_a_call(w, "training.do_train"):
        asked = ABSENT
    if asked in (True, False):
        return Answer(asked, ("training.do_train",))
    if is_unknown(asked):
        return Answer(asked, ("training.do_train",))
    other = next((name for name in _OTHER_PHASES if w.stated(name) is True and not _in_a_call(w, name)), None)
    if w.stated("launch.phase") == "evaluation":
        names = ("launch.phase", "launch.trains")
        if w.stated("launch.trains") is False:
            return Answer(False, names)
        return Answer(_ONLY_EVALUATES, names)
    if w.stated(_VERL_EVALUATES) is True:
        return Answer(False, (_VERL_EVALUATES,))
    if other is None and _takes_no_step(w):
        return Answer(False, ("training.num_train_epochs", "training.max_steps"))
    if other is None and w.is_said(_EVALUATED) and not any(map(w.is_said, _TRAINED)) and not _in_a_call(w, _EVALUATED):
        return Answer(_ONLY_EVALUATES, (_EVALUATED,))
    if other is None:
        return Answer(True, ("training.do_train",))
    if w.stated("launch.done.trains_unasked") is True:
        return Answer(True, ("launch.done.trains_unasked",))
    if w.framework.trains_on_request:
        return Answer(False, ("training.do_train", other))
    return Answer(Unknown("whether it trains without `do_train` is the program's to say"), ("training.do_train", other))


_VERL_EVALUATES = "trainer.trainer.val_only"  # verl 0.9.1 trainer/ppo/ray_trainer.py: fit returns after the validation
_ONLY_EVALUATES = Unknown("what is set is an evaluation's alone")
# What a file or a command says that only evaluates, and what one that trains says as well.
_EVALUATED = "training.per_device_eval_batch_size"
_TRAINED = (
    "training.per_device_train_batch_size", "training.gradient_accumulation_steps", "training.learning_rate",
    "training.num_train_epochs", "training.max_steps", "training.optim", "training.lr_scheduler_type", "training.save_strategy",
    "training.eval_strategy", "training.batch_size", "training.deepspeed",
)  # fmt: skip


def _takes_no_step(w: World) -> bool:
    """No epochs, and no number of steps that goes before them: a base model is measured with the settings of the others."""
    steps = w.stated("training.max_steps")
    none = steps is ABSENT or (isinstance(steps, int) and steps <= 0)
    epochs = w.stated("training.num_train_epochs")
    return epochs == 0 and epochs is not False and none


def types_registered(w: World) -> Answer:
    """Does the repository bring types of models of its own, which no table of the library has?"""
    return Answer(w.is_stated("launch.types_registered"), ("launch.types_registered",))


def evaluates_apart(w: World) -> Answer:
    """Is there an evaluation outside of `train()`? Flags ask a script for one; what a call in Python says the Trainer never reads."""
    if w.stated("launch.phase") == "evaluation" or w.is_stated("launch.shows.evaluates_apart"):
        return Answer(True, ("launch.phase", "launch.shows.evaluates_apart"))
    asked = next((name for name in _OTHER_PHASES if w.stated(name) is True and not _in_a_call(w, name)), None)
    named = () if asked is None else (asked,)
    return Answer(asked is not None and "python" not in w.run.dialects, named, presumed=asked is not None)


def _in_a_call(w: World, name: str) -> bool:
    origin = w.fact(name).origin
    return isinstance(origin, Explicit) and origin.layer == "call"


def accelerator_made(w: World) -> Answer:
    """Does code at hand make accelerate's state by itself?"""
    return Answer(w.is_stated("accelerate.accelerator"), ("accelerate.accelerator",))


def model_loaded_first(w: World) -> Answer:
    """Is the model loaded before the arguments are made, or with accelerate's switch off, so that it is loaded as if no ZeRO-3 were configured?"""
    name, switch = "launch.done.model_before_arguments", "accelerate.deepspeed_config.zero3_init_flag"
    switched_off = w.stated(switch) is False and not w.is_stated("training.deepspeed")
    return Answer(w.stated(name) is True or switched_off, (switch if switched_off else name,))


def _done(what: str) -> Rule:
    """Whether the program does it. What no program at hand does is not done: nobody could say it elsewhere, so that nothing is presumed where a
    launcher's flags leave more open."""
    name = f"launch.done.{what}"

    def rule(w: World) -> Answer:
        return Answer(w.value(name) is True, (name,)) if w.is_said(name) else Answer(False)

    return rule


attention_set = _done("attention_set")  # gives the model another attention when it is loaded
adapter_claimed = _done("adapter_claimed")  # tells a quantised model that it has an adapter, or is not quantised
adapts_another = _done("adapts_another")  # puts an adapter on a model that the file does not load
weights_gathered = _done("weights_gathered")  # gathers weights that ZeRO-3 splits


def encoder_decoder(w: World) -> Answer:
    """Is the model one whose prompt goes to an encoder and its answer to a decoder, as far as the class that loads it says?"""
    name = "launch.shows.model_class"
    return Answer(w.stated(name) == "AutoModelForSeq2SeqLM", (name,))


def unknown_arguments_pass(w: World) -> Answer:
    """Is the framework told to let arguments pass that its parser does not have?"""
    if w.value("derived.megatron_arguments") is True:
        return Answer(Unknown("mcore_adapter's class has arguments of its own"), ("derived.megatron_arguments",))
    own = w.framework.passes_unknown_by
    return Answer(_is_on(w, own), (own,)) if own else Answer(False)


def casts_text(w: World) -> Answer:
    """Does who reads the files make a number of text that reads as one?"""
    reader = w.value("derived.framework")
    if isinstance(reader, Unknown):
        return Answer(reader, ("derived.framework",))
    cast = "launch.numbers_cast"
    if w.is_said(cast) and not w.framework.casts_text:
        return Answer(Unknown("a program of the repository makes numbers of what it reads"), (cast,))
    return Answer(w.framework.casts_text)


def megatron_arguments(w: World) -> Answer:
    """Are the training's arguments read with mcore_adapter's class, which has more of them and patches what it read?"""
    own = w.framework.megatron_by
    return Answer(_is_on(w, own), (own,)) if own and w.is_said(own) else Answer(False)


def _is_on(w: World, name: str) -> bool:
    """A switch of a file, or a variable as LLaMA-Factory reads one (0.9.5 extras/misc.py, is_env_enabled)."""
    return str(w.stated(name)).lower() in ("1", "y", "true")
