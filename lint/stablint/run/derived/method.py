"""What is trained (method) and to what end (objective)."""

from __future__ import annotations

from stablint.base.light import Any
from stablint.run.fact import ABSENT, CLOSED, OPEN, OWN, PRESUMED, Explicit, is_unknown
from stablint.run.objective import ENCODERS, OBJECTIVES
from stablint.run.world import Answer, World
from stablint.syntax.tree import Unknown

_PROMPT = ("PREFIX_ENCODER", "PREFIX_TUNING", "PROMPT_TUNING", "P_TUNING", "MULTITASK_PROMPT_TUNING", "CPT")
_OWN_SWITCH = "lora.use_peft"
_WAYS = ("training.finetuning_type", "training.adapter")  # settings that name the way of training, of which LoRA is one
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


_LOADED_ADAPTER = "launch.shows.adapter_on_model"


def method(w: World) -> Answer:
    """full, lora, qlora or prompt; `unknown`, a word, where the program or another file decides it, so that "is-not full" can be asked."""
    found = _method(w)
    if found.value == "full" and w.framework.adapter_by != _OWN_SWITCH and w.stated("model.partly_frozen") is True:
        return Answer("unknown", ("model.partly_frozen",))  # by `requires_grad`
    if found.value == "full" and w.is_said(_LOADED_ADAPTER):
        return Answer("unknown", (_LOADED_ADAPTER,))  # what was saved says which
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
    if kind == "lora" and _is_own_word(w, "training.finetuning_type"):  # LoRA on quantised weights has another: `qlora`
        return Answer("lora", ("training.finetuning_type",), presumed=True)
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
        if w.fact("lora.use_peft").presumed and w.value("derived.weights_dtype") in ("4bit", "8bit"):
            return Answer("unknown", ("lora.use_peft",))  # what the branch leaves to another one is an adapter as well
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
    if (
        scope == OPEN
        and w.is_stated("trainer.peft_config")
        and w.stated("trainer.peft_config") is None
        and not w.is_stated("trainer.model")
    ):
        return Answer(
            "full", ("trainer.peft_config",), presumed=True
        )  # TRL loads the model by its name, and gets no adapter
    if scope == OPEN:
        return Answer("unknown")  # decided elsewhere: a word, so that "is-not full" can be asked
    if w.stated("model.modules_replaced") is True and w.value("derived.weights_dtype") in ("4bit", "8bit"):
        return Answer("unknown", ("model.modules_replaced",))  # they may be adapters of the program's own
    if scope == PRESUMED and w.value("derived.weights_dtype") in ("4bit", "8bit"):
        return Answer("unknown")  # nobody trains a quantised model whole: the adapter is in code that is not at hand
    return Answer("full", (), presumed=scope == PRESUMED)


_OF_LORA = ("lora", "qlora", "longlora", "adalora")


def adapter_made(w: World) -> Answer:
    """Is an adapter made of LoRA's settings? A framework's file may hold them beside another way of training, or beside an adapter that is stored
    and trained further."""
    name = "derived.method"
    way = w.value(name)
    if is_unknown(way) or way == "unknown":
        return Answer(Unknown("whether an adapter is made is decided elsewhere"), (name,))
    if way == "full" or (w.framework.adapter_by in _WAYS and way not in _OF_LORA):
        return Answer(False, (name,))
    for given in w.framework.loads_adapter_by:
        stored = w.value(given) if w.is_said(given) else None
        if is_unknown(stored):
            return Answer(stored, (given,))
        if stored not in (None, ABSENT, "", False, []):
            return Answer(w.stated("lora.create_new_adapter") is True, (given,))
    return Answer(True, (name,))


def _is_own_word(w: World, name: str) -> bool:
    """Whether the setting has a name of the program's own."""
    origin = w.fact(name).origin
    return isinstance(origin, Explicit) and origin.reader == OWN


def _is_given_another(w: World) -> bool:
    """Whether the trainer takes an adapter's config that is not the one at hand, or none: `peft_config=lora if use_peft else None`."""
    given = w.stated("trainer.peft_config")
    named = isinstance(given, str) and given.rpartition(".")[2].endswith("Config")
    return given is not ABSENT and not named and w.stated("trainer.model") != "get_peft_model"


_STORED = ("gptq", "awq", "aqlm")


def _adapted(w: World, kind: Any, decided_by: str) -> Answer:
    weights = w.fact("derived.weights_dtype")
    # a checkpoint that is stored quantised is trained by LoRA, however many bits it has, unless the command says QLoRA
    bits = w.fact("quantization.bits").origin
    by_flag = isinstance(bits, Explicit) and bits.layer == "flags"
    stored = w.value("model.quant_method") in _STORED and not by_flag
    four_bits = weights.value == "4bit" and kind == "lora" and not stored
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
    loop = w.stated("launch.loop")  # the trainer of the program that a command starts, which may have others
    named = loop.removeprefix("trl.").removesuffix("Trainer") + "Config" if isinstance(loop, str) else ""
    if isinstance(loop, str) and loop.startswith("trl.") and named in OBJECTIVES:
        return Answer(OBJECTIVES[named], ("launch.loop",), presumed=True)
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
