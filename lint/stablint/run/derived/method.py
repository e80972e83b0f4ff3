"""What is trained (method), to what end (objective), by which class and framework, and which modules an adapter finds."""

from __future__ import annotations

import math
import re

from stablint.base.light import Any
from stablint.run.fact import ABSENT, CLOSED, LIVE, OPEN, PRESUMED, Explicit, is_unknown
from stablint.run.objective import ENCODERS, OBJECTIVES
from stablint.run.world import Answer, Rule, World
from stablint.syntax.tree import Unknown

_PROMPT = ("PREFIX_ENCODER", "PREFIX_TUNING", "PROMPT_TUNING", "P_TUNING", "MULTITASK_PROMPT_TUNING", "CPT")

_OWN_SWITCH = "lora.use_peft"
# Settings that preference training, reinforcement learning and pre-training on plain text have, and supervised fine-tuning has not.
_AGAINST_SFT = (
    "training.beta", "training.max_prompt_length", "training.max_completion_length", "training.num_generations", "training.reward_model",
    "training.reward_model_path", "training.reward_funcs", "training.ref_model", "training.precompute_ref_log_probs",
    "training.simpo_gamma", "training.cpo_alpha", "training.dpo_alpha", "training.desirable_weight", "training.kl_coef", "data.block_size",
)  # fmt: skip
_WORDS = {
    "sft": "sft", "dpo": "dpo", "kto": "kto", "orpo": "orpo", "simpo": "simpo", "ppo": "ppo", "grpo": "grpo", "rm": "reward", "reward": "reward",
    "pretrain": "pretrain", "pt": "pretrain",
}  # fmt: skip
_HEADS = ("SEQ_CLS", "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION")
_STAGES = {"sft": "sft", "dpo": "dpo", "kto": "kto", "ppo": "ppo", "rm": "reward", "pt": "pretrain"}


def method(w: World) -> Answer:
    """full, lora, qlora or prompt; `unknown`, a word, where the program or another file decides it, so that "is-not full" can be asked."""
    found = _method(w)
    if found.value == "full" and w.framework.adapter_by != _OWN_SWITCH and w.stated("model.partly_frozen") is True:
        return Answer("unknown", ("model.partly_frozen",))  # by `requires_grad`
    return found


def _is_made(w: World) -> bool:
    """Whether a program at hand builds the adapter's configuration itself: it decides, whatever flags it shares with TRL's scripts."""
    origin = w.fact("lora.peft_type").origin
    return isinstance(origin, Explicit) and origin.layer == "call"


def _method(w: World) -> Answer:
    """Bare arguments without a word on adapters do not prove full fine-tuning: then it is presumed."""
    if w.stated("training.projector_only") is True:  # LLaVA's first stage
        return Answer("projector", ("training.projector_only",))
    parts = w.stated("training.tunable_parts")  # LLaVA-NeXT's: which of tower, projector and language model are trained
    if isinstance(parts, (str, list)) and "mm_language_model" not in parts:
        return Answer("projector", ("training.tunable_parts",))
    kind = w.stated("training.finetuning_type")
    if kind is not ABSENT:
        return (
            _adapted(w, kind, "training.finetuning_type")
            if kind == "lora"
            else Answer(kind, ("training.finetuning_type",))
        )
    if w.framework.adapter_by == "training.finetuning_type":
        kind = w.value("training.finetuning_type")
        return (
            Answer(kind, ("training.finetuning_type",))
            if kind != "lora"
            else _adapted(w, "lora", "training.finetuning_type")
        )
    kind = w.stated("training.adapter")
    if kind is None or (kind is ABSENT and w.framework.adapter_by == "training.adapter"):
        return Answer("full", ("training.adapter",))
    if kind is not ABSENT:
        return _adapted(w, "lora" if kind == "qlora" else kind, "training.adapter")
    switch = w.stated("lora.use_peft")
    if is_unknown(switch):
        return Answer(switch, ("lora.use_peft",))
    if switch is True:
        return _adapted(w, "lora", "lora.use_peft")
    if switch is False:
        return Answer("full", ("lora.use_peft",))
    if w.framework.adapter_by == _OWN_SWITCH and w.run.scopes.get("lora", OPEN) != OPEN:
        return Answer("full", ("lora.use_peft",), presumed=w.run.scopes.get("lora") == PRESUMED)
    if w.framework.adapter_by == "lora.r" and w.stated("lora.r") == 0:
        return Answer("full", ("lora.r",))
    rank = w.fact("lora.r")
    if rank.value == 0 and rank.presumed:  # a program's own option, whose default switches the adapter off
        return Answer("full", ("lora.r",), presumed=True)
    # TRL's ModelConfig switches adapters on by use_peft alone, where TRL certainly reads the file.
    owner = "trl" in w.run.dialects and w.run.scopes.get("lora") == CLOSED and not _is_made(w)
    owner = owner or w.stated("trainer.peft_by_model_config") is True
    if not owner:
        for name in ("lora.peft_type", "lora.r", "lora.target_modules"):
            if w.is_stated(name):
                kind = w.value("lora.peft_type")
                if is_unknown(kind) and w.is_stated("lora.peft_type"):
                    return Answer("unknown", (name,))  # one of several calls makes the adapter
                found = Answer("prompt", (name,)) if kind in _PROMPT else _adapted(w, "lora", name)
                return found._replace(presumed=True) if _is_given_another(w) else found
    scope = w.run.scopes.get("lora", OPEN)
    if scope == OPEN:
        return Answer("unknown")  # decided elsewhere: a word, so that "is-not full" can be asked
    if w.stated("model.modules_replaced") is True and w.value("derived.weights_dtype") in ("4bit", "8bit"):
        return Answer("unknown", ("model.modules_replaced",))  # they may be adapters of the program's own
    if scope == PRESUMED and w.value("derived.weights_dtype") in ("4bit", "8bit"):
        return Answer("unknown")  # nobody trains a quantised model whole: the adapter is in code that is not at hand
    return Answer("full", (), presumed=scope == PRESUMED)


def _is_given_another(w: World) -> bool:
    """Whether the trainer takes an adapter's config that is not the one at hand, or none: `peft_config=lora if use_peft else None`."""
    given = w.stated("trainer.peft_config")
    named = isinstance(given, str) and given.rpartition(".")[2].endswith("Config")
    return given is not ABSENT and not named and w.stated("trainer.model") != "get_peft_model"


def _adapted(w: World, kind: Any, decided_by: str) -> Answer:
    weights = w.fact("derived.weights_dtype")
    four_bits = weights.value == "4bit" and kind == "lora"
    return Answer("qlora" if four_bits else kind, (decided_by,), presumed=four_bits and weights.presumed)


def config_class(w: World) -> Answer:
    classes = w.run.classes.get("training", ())
    if not classes or classes[0].startswith("?"):
        return Answer(Unknown("which trainer reads the file is not known"))
    return Answer(classes[0].rpartition(".")[2])


def objective(w: World) -> Answer:
    """What is optimised: by the config class, the framework's own switch, else presumed to be supervised fine-tuning."""
    own = w.framework.objective_by
    stage = w.value("training.stage") if own == "training.stage" else w.stated("training.stage")
    if stage is not ABSENT and not (is_unknown(stage) and not w.is_stated("training.stage")):
        return Answer(_STAGES.get(stage, stage) if isinstance(stage, str) else stage, ("training.stage",))
    if own and own != "training.stage":  # a word for everything else
        word = w.stated(own)
        return Answer("sft") if word in (ABSENT, None, False) else Answer(word, (own,))
    name = w.value("derived.config_class")
    if isinstance(name, str) and name in OBJECTIVES:
        return Answer(OBJECTIVES[name], ("derived.config_class",))
    trainer = next((c.rpartition(".")[2] for c in w.run.classes.get("trainer", ())), "")
    if trainer.removesuffix("Trainer") in ENCODERS:
        return Answer(ENCODERS[trainer.removesuffix("Trainer")], ("derived.trainer",))
    if (
        trainer.endswith("Trainer") and trainer[:-7] + "Config" in OBJECTIVES
    ):  # TRL's older trainers took TrainingArguments
        return Answer(OBJECTIVES[trainer[:-7] + "Config"], ("derived.config_class",))
    head = w.stated("model.head")
    if head == "value":
        return Answer(
            Unknown("a value head is trained, which reinforcement learning and reward models have"), ("model.head",)
        )
    if isinstance(head, str) and head != "classification":  # which reward models have as well
        return Answer(head, ("model.head",))
    if (
        is_unknown(name)
        and not w.framework.objective_without_class
        and "?trl.SFTConfig" not in w.run.classes.get("training", ())
    ):
        return Answer(name, ("derived.config_class",))
    word = w.stated("keys.recipe.task_type")
    if isinstance(word, str) and word.lower() in _WORDS:
        return Answer(_WORDS[word.lower()], ("keys.recipe.task_type",))
    against = next((fact for fact in _AGAINST_SFT if w.is_stated(fact)), None)
    if against is not None:
        return Answer(Unknown(f"`{against.rpartition('.')[2]}` is no setting of supervised fine-tuning"), (against,))
    if w.stated("lora.task_type") in _HEADS or head == "classification":
        fact = "lora.task_type" if w.stated("lora.task_type") in _HEADS else "model.head"
        return Answer(Unknown("a head is trained that classifies or extracts, no language model"), (fact,))
    purpose = w.stated("launch.purpose")
    if purpose is not ABSENT:
        return Answer(Unknown(f"the program is called after {purpose}, which proves nothing"), ("launch.purpose",))
    methods = w.stated("launch.trainer_methods")
    if isinstance(methods, list) and "compute_loss" in methods and not trainer.startswith("SFT"):
        return Answer(Unknown("the trainer computes a loss of its own"), ("launch.trainer_methods",))
    return Answer("sft", ("derived.config_class",), presumed=True)


def framework(w: World) -> Answer:
    """Flags that a library's parser has may be read by anybody's: whose they are is presumed, unless a program at hand is that library's."""
    guessed = w.run.scopes.get("training") == PRESUMED and "python" not in w.run.dialects
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
        return Answer(own, ("derived.framework", *_own_class(w)), presumed=_does_otherwise(w))
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
    if asked is False and _in_a_call(w, "training.do_train"):
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
        return Answer(Unknown("what is set is an evaluation's alone"), names)
    if other is None and _takes_no_step(w):
        return Answer(False, ("training.num_train_epochs", "training.max_steps"))
    if other is None:
        return Answer(True, ("training.do_train",))
    if w.framework.trains_on_request:
        return Answer(False, ("training.do_train", other))
    return Answer(Unknown("whether it trains without `do_train` is the program's to say"), ("training.do_train", other))


def _takes_no_step(w: World) -> bool:
    """No epochs, and no number of steps that goes before them: a base model is measured with the settings of the others."""
    steps = w.stated("training.max_steps")
    none = steps is ABSENT or (isinstance(steps, int) and steps <= 0)
    epochs = w.stated("training.num_train_epochs")
    return epochs == 0 and epochs is not False and none


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
        return Answer(w.value(name) is True, (name,)) if name in w.run.explicit else Answer(False)

    return rule


attention_set = _done("attention_set")  # gives the model another attention when it is loaded
adapter_claimed = _done("adapter_claimed")  # tells a quantised model that it has an adapter, or is not quantised
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
    return Answer(w.framework.casts_text)


def megatron_arguments(w: World) -> Answer:
    """Are the training's arguments read with mcore_adapter's class, which has more of them and patches what it read?"""
    own = w.framework.megatron_by
    return Answer(_is_on(w, own), (own,)) if own else Answer(False)


def _is_on(w: World, name: str) -> bool:
    """A switch of a file, or a variable as LLaMA-Factory reads one (0.9.5 extras/misc.py, is_env_enabled)."""
    return str(w.stated(name)).lower() in ("1", "y", "true")


def adalora_pruning_end(w: World) -> Answer:
    """The step at which AdaLoRA stops to reduce ranks (peft tuners/adalora/config.py, __post_init__)."""
    names = ("lora.total_step", "lora.tfinal")
    total, final = (w.value(name) for name in names)
    if isinstance(total, int) and isinstance(final, int):
        return Answer(total - final, names)
    return Answer(Unknown("the schedule is not known"), names)


def lora_scale(w: World) -> Answer:
    """alpha / r, with rank-stabilised LoRA alpha / sqrt(r) (peft tuners/lora/layer.py, update_layer)."""
    names = ("lora.lora_alpha", "lora.r", "lora.use_rslora")
    stabilised = w.value("lora.use_rslora")
    alpha, rank = (_of_adapter(w, name) for name in names[:2])
    if not isinstance(alpha, (int, float)) or not isinstance(rank, (int, float)) or rank <= 0 or is_unknown(stabilised):
        return Answer(Unknown("alpha and rank are not both known"), names)
    return Answer(alpha / (math.sqrt(rank) if stabilised is True else rank), names)


def _of_adapter(w: World, name: str) -> Any:
    """A setting of the adapter; TRL's ModelConfig has a default of its own for what its file leaves out."""
    value = w.value(name)
    of_trl = "trl.ModelConfig" in w.run.classes.get("model", ()) and w.stated("lora.use_peft") is True
    if value is ABSENT and of_trl:
        short = name.removeprefix("lora.")
        return w.default(f"model.{short if short.startswith('lora_') else 'lora_' + short}").value
    return value


# Methods whose models refuse no kind of module (peft 0.20.0 tuners/*/model.py), or want whole blocks. A tuple, since a file may state a
# mapping where a word is meant, and a set cannot be asked for one.
_OF_ANY_MODULE = (
    "LN_TUNING", "TRAINABLE_TOKENS", "ADAPTION_PROMPT", "OSF", "PEANUT", "GLORA", "LILY", "XLORA", "CARTRIDGE", "SHADOW", "SUPERTUNING"
)  # fmt: skip


def lora_targets_missing(w: World) -> Answer:
    """The wanted modules that a model of this type does not have, compared by PEFT's rule: a name equals the module's name or its end."""
    names = ("lora.target_modules", "model.linear_modules")
    wanted, there = (w.value(name) for name in names)
    if is_unknown(wanted) or is_unknown(there) or not isinstance(there, list):
        return Answer(Unknown("targets or modules are not known"), names)
    if not isinstance(wanted, list):
        return Answer([], names)
    if any(not isinstance(word, str) for word in wanted):
        return Answer(Unknown("a target is no name"), names)
    if w.stated("model.modules_replaced") is True:
        return Answer(Unknown("the program puts modules of its own into the model"), (*names, "model.modules_replaced"))
    if w.stated("lora.peft_type") in _OF_ANY_MODULE:
        return Answer(Unknown("its targets need not be linear layers"), (*names, "lora.peft_type"))
    if w.value("model.type") == "phi3" and _is_unsloths_copy(w):
        return Answer(
            Unknown("Unsloth loads a copy of its own, whose fused layers are taken apart"),
            (*names, "model.name_or_path"),
        )
    have = set(there)
    changed = w.stated("model.handed_over") is True  # by code that is not at hand
    return Answer([word for word in wanted if word.rpartition(".")[2] not in have], names, presumed=changed)


_PLAIN_PATH = re.compile(r"[A-Za-z_0-9]+(?:[.][A-Za-z_0-9]+){0,40}")


def lora_pattern_keys_lost(w: World) -> Answer:
    """Keys of the patterns of ranks and alphas that name no module with an adapter, by their last part: PEFT compares them with whole paths of
    modules that the targets have chosen (peft 0.20.0 utils/other.py, get_pattern_key)."""
    names = ("lora.target_modules", "lora.rank_pattern", "lora.alpha_pattern")
    targets, *patterns = (w.value(name) for name in names)
    if not isinstance(targets, list) or not targets or not all(isinstance(one, str) for one in targets):
        return Answer(Unknown("the targets are no list of names"), names)
    ends = {one.rpartition(".")[2] for one in targets}
    keys = [key for pattern in patterns if isinstance(pattern, dict) for key in pattern]
    lost = [key for key in keys if _PLAIN_PATH.fullmatch(str(key)) and str(key).rpartition(".")[2] not in ends]
    return Answer(list(dict.fromkeys(lost)), names)


def _is_unsloths_copy(w: World) -> bool:
    """Is it Phi-3 or Phi-4 as Unsloth stores it, with the layers of Llama or Mistral? Its loader takes that for Microsoft's name as well
    (https://github.com/unslothai/unsloth/blob/0050c73e05ca9bb74e42d0649be410f177160c08/unsloth/models/mapper.py)."""
    name = w.value("model.name_or_path")
    return w.framework.loads_copies or (isinstance(name, str) and name.startswith("unsloth/"))


def lora_targets_found(w: World) -> Answer:
    names = ("lora.target_modules", "derived.lora_targets_missing")
    wanted, missing = (w.value(name) for name in names)
    if isinstance(wanted, list) and isinstance(missing, list):
        gone = set(missing)
        return Answer([word for word in wanted if word not in gone], names)
    return Answer(Unknown("targets or modules are not known"), names)


# What a linear layer of a block is for, by the names that it has in the models of transformers.
_PARTS = {
    "q": ("q_proj", "query", "q", "q_lin", "wq", "query_proj", "q_attn"),
    "k": ("k_proj", "key", "k", "k_lin", "wk", "key_proj"),
    "v": ("v_proj", "value", "v", "v_lin", "wv", "value_proj"),
    "qkv": ("qkv_proj", "query_key_value", "W_pack", "c_attn", "Wqkv", "wqkv", "qkv"),
    "o": ("o_proj", "out_proj", "o", "dense", "out_lin", "wo"),
    "gate": ("gate_proj", "wi_0", "w1"),
    "up": ("up_proj", "wi_1", "w3", "fc1", "dense_h_to_4h", "c_fc", "lin1"),
    "gate_up": ("gate_up_proj",),
    "down": ("down_proj", "wo", "w2", "fc2", "dense_4h_to_h", "lin2"),
}  # fmt: skip


def lora_targets_lost(w: World) -> Answer:
    """The wanted modules that are missing and whose layers get no adapter by another name: `q` beside `q_proj` loses nothing, `gate_proj`
    is lost where gate and up are one layer that is not wanted, and is not where the model has no gate. An unknown name may be a slip."""
    names = ("derived.lora_targets_missing", "derived.lora_targets_found", "model.linear_modules")
    missing, found, there = (w.value(name) for name in names)
    if not (isinstance(missing, list) and isinstance(found, list) and isinstance(there, list)):
        return Answer(Unknown("targets or modules are not known"), names)
    reached = {word.rpartition(".")[2] for word in found}
    lost = []
    for word in missing:
        part = next((part for part, words in _PARTS.items() if word.rpartition(".")[2] in words), None)
        if part is None:
            lost.append(word)
            continue
        alike = _FUSED.get(part, (part,))
        layers = {one for each in alike for one in _PARTS[each] if one in there}
        if layers and not layers & reached:
            lost.append(word)
    return Answer(lost, names)


# A part, and the parts in whose layers it may be.
_FUSED = {
    "q": ("q", "qkv"), "k": ("k", "qkv"), "v": ("v", "qkv"), "gate": ("gate", "gate_up"), "up": ("up", "gate_up"),
    "qkv": ("q", "k", "v", "qkv"), "gate_up": ("gate", "up", "gate_up"),
}  # fmt: skip


def lora_targets_meant(w: World) -> Answer:
    """The wanted layers by the names that they have in this model; unknown where one of them has no counterpart."""
    names = ("lora.target_modules", "model.linear_modules")
    wanted, there = (w.value(name) for name in names)
    unknown = Answer(Unknown("which layers are meant is not known"), names)
    if not isinstance(wanted, list) or not isinstance(there, list):
        return unknown
    meant: list[str] = []
    for word in wanted:
        part = next((part for part, words in _PARTS.items() if word in words), None)
        fused = {"q": "qkv", "k": "qkv", "v": "qkv", "gate": "gate_up", "up": "gate_up"}.get(part or "", "")
        # a model that fuses the three has no layer of the part's own; one that does not has all three
        single = ("q", "k", "v") if part == "qkv" else ("gate", "up") if part == "gate_up" else (part,)
        found = [one for each in single for one in there if one in _PARTS.get(each or "", ())]
        found = found or [one for one in there if one in _PARTS.get(fused, ())]
        if not found:
            return unknown
        meant += [one for one in found if one not in meant]
    return Answer(meant, names) if meant else unknown


def lora_target_pattern(w: World) -> Answer:
    """The only entry of the list of targets."""
    names = ("lora.target_modules",)
    wanted = w.value("lora.target_modules")
    single = isinstance(wanted, list) and len(wanted) == 1 and isinstance(wanted[0], str)
    return Answer(wanted[0] if single else Unknown("there is not exactly one target"), names)
