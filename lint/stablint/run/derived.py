"""Facts that follow from others: what the run will really do. One small rule a fact; each says which facts decided it."""

from __future__ import annotations

import math
from typing import Any

from stablint.run.fact import ABSENT, CLOSED, OPEN, PRESUMED, is_unknown
from stablint.run.objective import OBJECTIVES
from stablint.run.world import Answer, Rule, World
from stablint.source.tree import Unknown

_HALF = ("float16", "bfloat16")
_PROMPT = ("PREFIX_TUNING", "PROMPT_TUNING", "P_TUNING", "MULTITASK_PROMPT_TUNING", "CPT")
_STAGES = {"sft": "sft", "dpo": "dpo", "kto": "kto", "ppo": "ppo", "rm": "reward", "pt": "pretrain"}


def compute_dtype(w: World) -> Answer:
    """Who decides the mixed precision: DeepSpeed's blocks, then the trainer's flags, then accelerate's, then the weights themselves."""
    for block, dtype in (("fp16", "float16"), ("bf16", "bfloat16")):
        name = f"deepspeed.{block}.enabled"
        if w.stated(name) is True:
            return Answer(dtype, (name,))
    fp16, bf16 = w.value("training.fp16"), w.value("training.bf16")
    if fp16 is True and bf16 is True:
        return Answer(Unknown("fp16 and bf16 are both on"), ("training.fp16", "training.bf16"))
    for name, value, dtype in (("training.fp16", fp16, "float16"), ("training.bf16", bf16, "bfloat16")):
        if value is True:
            return Answer(dtype, (name,))
    if "auto" in (fp16, bf16):  # axolotl asks the card: bf16 where it is native, else fp16 (its normalize_config)
        native = w.value("target.gpu.native_bf16")
        value = Unknown("the card decides") if not isinstance(native, bool) else "bfloat16" if native else "float16"
        return Answer(value, ("training.bf16", "target.gpu.native_bf16"))
    if is_unknown(fp16) or is_unknown(bf16):
        return (
            _unsloth_dtype(w)
            or _accelerated(w)
            or Answer(Unknown("neither fp16 nor bf16 is known"), ("training.fp16", "training.bf16"))
        )
    return _accelerated(w) or _weights_decide(w)


def _accelerated(w: World) -> Answer | None:
    stated = w.stated("accelerate.mixed_precision")
    return Answer(stated, ("accelerate.mixed_precision",)) if stated in _HALF else None


def _unsloth_dtype(w: World) -> Answer | None:
    """Unsloth's scripts ask the card: bf16 where it is native, else fp16 (its from_pretrained does the same)."""
    native = w.value("target.gpu.native_bf16") if w.run.framework == "unsloth" else None
    return (
        Answer("bfloat16" if native else "float16", ("training.fp16", "training.bf16", "target.gpu.native_bf16"))
        if isinstance(native, bool)
        else None
    )


def _weights_decide(w: World) -> Answer:
    """Without mixed precision the matrix products run in the dtype of the loaded weights."""
    weights = w.value("derived.weights_dtype")
    if weights in _HALF:
        return Answer(weights, ("derived.weights_dtype",))
    if is_unknown(weights):
        return Answer(weights, ("derived.weights_dtype",))
    if weights in ("4bit", "8bit"):
        return Answer(Unknown("a quantised model computes in its own dtype"), ("derived.weights_dtype",))
    return Answer("float32", ("training.fp16", "training.bf16"))


def weights_dtype(w: World) -> Answer:
    """How the base weights are loaded. From transformers 5 on an absent dtype is the checkpoint's own; before it is float32."""
    for name, answer in (("quantization.load_in_4bit", "4bit"), ("quantization.load_in_8bit", "8bit")):
        if w.value(name) is True:
            return Answer(answer, (name,))
    bits = w.value("quantization.bits")
    if bits in (4, 8) and w.is_stated("quantization.bits"):
        return Answer(f"{bits}bit", ("quantization.bits",))
    asked = w.value("model.dtype")
    if is_unknown(asked):
        return Answer(asked, ("model.dtype",))
    if asked in (*_HALF, "float32"):
        return Answer(asked, ("model.dtype",))
    newer = w.at_least("transformers", "5.0.0") if w.run.framework != "trl" else False
    if asked == "auto" or newer:
        return Answer(w.value("model.native_dtype"), ("model.dtype", "model.native_dtype"))
    return Answer("float32", ("model.dtype",))


def method(w: World) -> Answer:
    """full, lora, qlora or prompt. Bare arguments without a word on adapters do not prove full fine-tuning: then it is presumed."""
    kind = w.stated("training.finetuning_type")
    if kind is not ABSENT:
        return (
            _adapted(w, kind, "training.finetuning_type")
            if kind == "lora"
            else Answer(kind, ("training.finetuning_type",))
        )
    if w.run.framework == "llamafactory":
        return _adapted(w, "lora", "training.finetuning_type")  # its default
    kind = w.stated("training.adapter")
    if kind is None or (kind is ABSENT and w.run.framework == "axolotl"):
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
    # TRL's ModelConfig switches adapters on by use_peft alone, where TRL certainly reads the file.
    owner = "trl" in w.run.dialects and w.run.scopes.get("lora") == CLOSED
    if not owner:
        for name in ("lora.peft_type", "lora.r", "lora.target_modules"):
            if w.is_stated(name):
                kind = w.value("lora.peft_type")
                return Answer("prompt", (name,)) if kind in _PROMPT else _adapted(w, "lora", name)
    scope = w.run.scopes.get("lora", OPEN)
    if scope == OPEN:
        return Answer("unknown")  # decided elsewhere: a word, so that "is-not full" can be asked
    if scope == PRESUMED and w.value("derived.weights_dtype") in ("4bit", "8bit"):
        return Answer("unknown")  # nobody trains a quantised model whole: the adapter is in code that is not at hand
    return Answer("full", (), presumed=scope == PRESUMED)


def _adapted(w: World, kind: Any, decided_by: str) -> Answer:
    weights = w.value("derived.weights_dtype")
    return Answer("qlora" if weights == "4bit" and kind == "lora" else kind, (decided_by,))


def config_class(w: World) -> Answer:
    classes = w.run.classes.get("training", ())
    if not classes or classes[0].startswith("?"):
        return Answer(Unknown("which trainer reads the file is not known"))
    return Answer(classes[0].rpartition(".")[2])


def objective(w: World) -> Answer:
    """What is optimised: by the config class, the framework's own switch, else presumed to be supervised fine-tuning."""
    stage = w.stated("training.stage")
    if stage is not ABSENT:
        return Answer(_STAGES.get(stage, stage) if isinstance(stage, str) else stage, ("training.stage",))
    if w.run.framework == "axolotl":
        rl = w.stated("training.rl")
        return Answer("sft") if rl in (ABSENT, None, False) else Answer(rl, ("training.rl",))
    name = w.value("derived.config_class")
    if name in OBJECTIVES:
        return Answer(OBJECTIVES[name], ("derived.config_class",))
    if is_unknown(name) and "?trl.SFTConfig" not in w.run.classes.get("training", ()):
        return Answer(name, ("derived.config_class",))
    return Answer("sft", ("derived.config_class",), presumed=True)


def framework(w: World) -> Answer:
    return Answer(w.run.framework or Unknown("no framework is named"))


def world_size(w: World) -> Answer:
    """How many processes train: what the launcher is told, else what it does by itself."""
    total = w.stated("launch.processes")
    if total is not ABSENT:
        return Answer(total, ("launch.processes",))
    per_node, nodes = w.stated("launch.processes_per_node"), w.stated("launch.nodes")
    if isinstance(per_node, int):
        count = 1 if nodes is ABSENT else nodes
        return (
            Answer(per_node * count, ("launch.processes_per_node", "launch.nodes"))
            if isinstance(count, int)
            else Answer(Unknown("the nodes"), ("launch.nodes",))
        )
    launcher = w.stated("launch.launcher")
    devices = w.stated("launch.env.CUDA_VISIBLE_DEVICES")
    if launcher in ("deepspeed", "llamafactory-cli", "accelerate"):  # these start one process a visible GPU
        if isinstance(devices, (int, str)) and launcher == "llamafactory-cli":
            return Answer(len(str(devices).split(",")), ("launch.env.CUDA_VISIBLE_DEVICES",))
        return Answer(w.value("target.gpu.count"), ("target.gpu.count",))
    if launcher in ("torchrun", "python", "trl") and per_node is ABSENT:
        return Answer(1, ("launch.launcher",))
    if w.value("target.gpu.count") == 1:
        return Answer(1, ("target.gpu.count",))
    return Answer(Unknown("no launcher says how many processes there are"))


def effective_batch(w: World) -> Answer:
    names = ("training.per_device_train_batch_size", "training.gradient_accumulation_steps", "derived.world_size")
    values = [w.value(name) for name in names]
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return Answer(math.prod(values), names)
    return Answer(Unknown("batch size, accumulation and processes are not all known"), names)


def total_steps(w: World) -> Answer:
    steps = w.value("training.max_steps")
    if isinstance(steps, int) and steps > 0:
        return Answer(steps, ("training.max_steps",))
    return Answer(Unknown("it depends on the number of rows"), ("training.max_steps",))


def warmup_steps(w: World) -> Answer:
    """An explicit number wins over the ratio (TrainingArguments.get_warmup_steps); from transformers 5 on a fraction is a share of all steps."""
    steps = w.value("training.warmup_steps")
    if isinstance(steps, (int, float)) and steps >= 1:
        return Answer(int(steps), ("training.warmup_steps",))
    share = steps if isinstance(steps, float) and steps > 0 else w.value("training.warmup_ratio")
    if share in (0, 0.0, None, ABSENT):
        return (
            Answer(0, ("training.warmup_steps", "training.warmup_ratio"))
            if not is_unknown(steps)
            else Answer(steps, ("training.warmup_steps",))
        )
    total = w.value("derived.total_steps")
    if isinstance(share, (int, float)) and isinstance(total, int):
        return Answer(math.ceil(share * total), ("training.warmup_ratio", "derived.total_steps"))
    return Answer(Unknown("it is a share of a number of steps that depends on the data"), ("training.warmup_ratio",))


def lora_scale(w: World) -> Answer:
    """alpha / r, with rank-stabilised LoRA alpha / sqrt(r) (peft tuners/lora/layer.py, update_layer)."""
    names = ("lora.lora_alpha", "lora.r", "lora.use_rslora")
    alpha, rank, stabilised = (w.value(name) for name in names)
    if not isinstance(alpha, (int, float)) or not isinstance(rank, (int, float)) or rank <= 0 or is_unknown(stabilised):
        return Answer(Unknown("alpha and rank are not both known"), names)
    return Answer(alpha / (math.sqrt(rank) if stabilised is True else rank), names)


def zero_stage(w: World) -> Answer:
    stage = w.value("deepspeed.zero_optimization.stage")
    if stage is ABSENT:
        return Answer(0, ("deepspeed.zero_optimization.stage",))
    if (
        is_unknown(stage)
        and not w.is_stated("deepspeed.zero_optimization.stage")
        and w.value("derived.deepspeed") is False
        and _launch_is_known(w)
    ):
        return Answer(0, ("derived.deepspeed", "launch.launcher"))
    return Answer(stage, ("deepspeed.zero_optimization.stage",))


def _launch_is_known(w: World) -> bool:
    """Sharding may stand in accelerate's own file, unless the launcher is another one or there is one GPU (ERRATA, finding 6)."""
    launcher = w.stated("launch.launcher")
    return (
        (launcher is not ABSENT and launcher != "accelerate")
        or w.is_stated("accelerate.distributed_type")
        or w.value("target.gpu.count") == 1
    )


def _band(w: World) -> tuple[Any, tuple[str, ...]]:
    names = (
        "derived.objective",
        "derived.method",
        "model.parameters",
    )  # model.type and the optimiser only choose the band
    goal, how, size = (w.value(name) for name in names)
    optim = w.value("training.optim")
    if not (isinstance(goal, str) and isinstance(how, str) and isinstance(size, int)):
        return None, names
    if isinstance(optim, str) and not optim.startswith(_ADAM_LIKE):
        return None, names
    from stablint.target.learning_rate import band  # only where a hazard asks for it

    kind = w.value("model.type")
    return band(goal, how, size, kind if isinstance(kind, str) else None), names


_ADAM_LIKE = ("adamw", "paged_adamw", "ademamix", "paged_ademamix", "stable_adamw")


def learning_rate_band(w: World) -> Answer:
    """The band in words, for messages: quartiles and how many recipes were counted."""
    found, names = _band(w)
    if found is None:
        return Answer(Unknown("no counted recipes for this objective, method and size"), names)
    low, high = found.typical_low, found.typical_high
    return Answer(f"about {low:g}" if low == high else f"{low:g} to {high:g}", names)


def effective_lora_rate(w: World) -> Answer:
    """What the adapter's product really moves by: learning rate × lora_scale."""
    names = ("training.learning_rate", "derived.lora_scale")
    rate, scale = (w.value(name) for name in names)
    if isinstance(rate, (int, float)) and isinstance(scale, (int, float)):
        return Answer(rate * scale, names)
    return Answer(Unknown("rate or scale is not known"), names)


def batch_per_device(w: World) -> Answer:
    names = ("training.per_device_train_batch_size", "training.gradient_accumulation_steps")
    return _product(w, names)


def deepspeed_batch(w: World) -> Answer:
    """What train_batch_size must be (deepspeed runtime/config.py, _batch_assertion)."""
    names = ("deepspeed.train_micro_batch_size_per_gpu", "deepspeed.gradient_accumulation_steps", "derived.world_size")
    micro, accumulation, processes = (w.value(name) for name in names)
    values = (micro, 1 if accumulation is ABSENT else accumulation, processes)
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return Answer(math.prod(values), names)
    return Answer(Unknown("one of the three is not known"), names)


def _product(w: World, names: tuple[str, ...]) -> Answer:
    values = [w.value(name) for name in names]
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return Answer(math.prod(values), names)
    return Answer(Unknown("not all of it is known"), names)


def eval_batch(w: World) -> Answer:
    return _product(w, ("training.per_device_eval_batch_size", "derived.world_size"))


def global_micro_batch(w: World) -> Answer:
    return _product(w, ("training.per_device_train_batch_size", "derived.world_size"))


def generation_batch(w: World) -> Answer:
    """GRPO's prompts × generations of one round (trl grpo_config.py, __post_init__): stated, else what the steps of a round come to."""
    stated = w.value("training.generation_batch_size")
    if isinstance(stated, int):
        return Answer(stated, ("training.generation_batch_size",))
    steps = w.value("training.steps_per_generation")
    accumulation = "training.steps_per_generation" if isinstance(steps, int) else "training.gradient_accumulation_steps"
    if is_unknown(stated) or is_unknown(steps):
        return Answer(
            Unknown("the round is not known"), ("training.generation_batch_size", "training.steps_per_generation")
        )
    return _product(w, ("training.per_device_train_batch_size", "derived.world_size", accumulation))


def generations_eval(w: World) -> Answer:
    own = w.value("training.num_generations_eval")
    name = "training.num_generations_eval" if own not in (ABSENT, None) else "training.num_generations"
    return Answer(w.value(name), (name,))


def adam_betas(w: World) -> Answer:
    names = ("training.adam_beta1", "training.adam_beta2")
    betas = [w.value(name) for name in names]
    return Answer(
        betas if all(isinstance(beta, float) for beta in betas) else Unknown("the betas are not known"), names
    )


def deepspeed(w: World) -> Answer:
    return _part(w, "deepspeed", "training.deepspeed", "DEEPSPEED")


def fsdp(w: World) -> Answer:
    return _part(w, "fsdp", "training.fsdp", "FSDP")


def _part(w: World, role: str, argument: str, kind: str) -> Answer:
    """Is sharding of this kind in the run: by the trainer's argument, by accelerate's file, by a file of its own."""
    stated = w.value(argument)
    if stated not in (ABSENT, None, "", [], False) and not is_unknown(stated):
        return Answer(True, (argument,))
    distributed = w.stated("accelerate.distributed_type")
    if distributed is not ABSENT:
        return Answer(str(distributed).upper() == kind or role in w.run.linked, ("accelerate.distributed_type",))
    if role in w.run.linked or w.stated(f"accelerate.use_{role}") is True:
        return Answer(True)
    if is_unknown(stated):
        return Answer(stated, (argument,))
    # accelerate's own file may switch it on, where no launcher is in sight that rules that out.
    return Answer(False, (argument,), presumed=True)


def _of_band(field: str) -> Rule:
    def rule(w: World) -> Answer:
        found, names = _band(w)
        value = getattr(found, field) if found is not None else None
        return Answer(
            value if value is not None else Unknown("no counted recipes for this objective, method and size"), names
        )

    return rule


BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0, "8bit": 1.0, "4bit": 0.5}
GIB = 2**30


def weights_gib(w: World) -> Answer:
    """The base weights alone, in GiB over all cards: parameters × bytes of the dtype they are loaded in. A lower bound."""
    names = ("model.parameters", "derived.weights_dtype")
    size, dtype = (w.value(name) for name in names)
    if isinstance(size, int) and isinstance(dtype, str) and dtype in BYTES:
        return Answer(size * BYTES[dtype] / GIB, names)
    return Answer(Unknown("size or dtype is not known"), names)


def weights_per_card_gib(w: World) -> Answer:
    """The share of the base weights that each card must hold: all of them under plain data parallelism."""
    whole, stage, processes = (
        w.value("derived.weights_gib"),
        w.value("derived.zero_stage"),
        w.value("derived.world_size"),
    )
    names = ("derived.weights_gib", "derived.zero_stage", "derived.world_size", "model.device_map")
    if is_unknown(whole):
        return Answer(whole, names)
    sharded = stage == 3 or w.value("derived.fsdp") is True
    if sharded:
        return (
            Answer(whole / processes, names)
            if isinstance(processes, int)
            else Answer(Unknown("the processes are not known"), names)
        )
    if w.is_stated("model.device_map"):
        count = w.value("target.gpu.count")
        return (
            Answer(whole / count, names)
            if isinstance(count, int)
            else Answer(Unknown("the cards are not known"), names)
        )
    if processes == 1 or (isinstance(processes, int) and w.is_stated("launch.launcher") and not is_unknown(stage)):
        return Answer(whole, names)
    return Answer(Unknown("how the weights are spread is not known"), names)


def total_memory_gib(w: World) -> Answer:
    """All cards together; one card where their number was not said."""
    names = ("target.gpu.memory_gib", "target.gpu.count")
    each, count = (w.value(name) for name in names)
    if not isinstance(each, (int, float)):
        return Answer(Unknown("the cards are not known"), names)
    return Answer(each * count, names) if isinstance(count, int) else Answer(each, names, presumed=True)


# Bytes a parameter needs besides activations, by optimiser: weights and gradients are counted apart.
_STATE_BYTES = {
    "adamw_bnb_8bit": 2,
    "adamw_8bit": 2,
    "paged_adamw_8bit": 2,
    "adafactor": 0,
    "sgd": 0,
    "lion_8bit": 1,
    "paged_lion_8bit": 1,
    "lion_32bit": 4,
}


def training_state_gib(w: World) -> Answer:
    """Weights, gradients and optimiser states of full fine-tuning in GiB a GPU, at the least (no activations).

    Mixed precision: fp32 weights 4 + gradients 4 + Adam 8 bytes; pure half: 2 + 2 + 4; DeepSpeed: 2 + 2 + 12
    (arXiv 1910.02054, section 3). ZeRO-1 divides the states, 2 also the gradients, 3 all, by the processes.
    """
    names = (
        "derived.method",
        "model.parameters",
        "derived.weights_dtype",
        "derived.zero_stage",
        "derived.world_size",
        "training.optim",
        "training.fsdp",
    )
    how, size, dtype, stage, processes, optim, fsdp = (w.value(name) for name in names)
    unknown = Answer(Unknown("method, size, dtype or sharding is not known"), names)
    if (
        how != "full"
        or not isinstance(size, int)
        or dtype not in ("float32", "float16", "bfloat16")
        or fsdp not in (ABSENT, None, "", [], False)
    ):
        return unknown
    if any(
        w.is_stated(f"deepspeed.zero_optimization.offload_{part}.device") for part in ("optimizer", "param")
    ) or w.is_stated("deepspeed.zero_optimization.offload_optimizer"):
        return unknown
    if is_unknown(stage) and processes == 1 and not w.is_stated("training.deepspeed"):
        stage = 0
    if not isinstance(stage, int) or (stage > 0 and not isinstance(processes, int)):
        return unknown
    each = _STATE_BYTES.get(optim, 8) if isinstance(optim, str) else 8
    pure = dtype != "float32"
    weights, gradients, states = (
        (2, 2, each + 4) if w.run.linked & {"deepspeed"} else (2, 2, each / 2) if pure else (4, 4, each)
    )
    shards = processes if isinstance(processes, int) else 1
    a_parameter = (
        weights / (shards if stage >= 3 else 1)
        + gradients / (shards if stage >= 2 else 1)
        + states / (shards if stage >= 1 else 1)
    )
    return Answer(size * a_parameter / GIB, names)


def lora_targets_missing(w: World) -> Answer:
    """The wanted modules that a model of this type does not have, compared by PEFT's rule: a name equals the module's name or its end."""
    names = ("lora.target_modules", "model.linear_modules")
    wanted, there = (w.value(name) for name in names)
    if is_unknown(wanted) or is_unknown(there) or not isinstance(there, list):
        return Answer(Unknown("targets or modules are not known"), names)
    if not isinstance(wanted, list) or any(not isinstance(word, str) for word in wanted):
        return Answer([], names)
    have = set(there)
    return Answer([word for word in wanted if word.rpartition(".")[2] not in have], names)


def lora_targets_found(w: World) -> Answer:
    names = ("lora.target_modules", "derived.lora_targets_missing")
    wanted, missing = (w.value(name) for name in names)
    if isinstance(wanted, list) and isinstance(missing, list):
        return Answer([word for word in wanted if word not in missing], names)
    return Answer(Unknown("targets or modules are not known"), names)


RULES: dict[str, Rule] = {
    "derived.compute_dtype": compute_dtype,
    "derived.weights_dtype": weights_dtype,
    "derived.method": method,
    "derived.objective": objective,
    "derived.config_class": config_class,
    "derived.framework": framework,
    "derived.world_size": world_size,
    "derived.effective_batch": effective_batch,
    "derived.total_steps": total_steps,
    "derived.warmup_steps": warmup_steps,
    "derived.lora_scale": lora_scale,
    "derived.zero_stage": zero_stage,
    "derived.learning_rate_alarm": _of_band("alarm_above"),
    "derived.learning_rate_low": _of_band("alarm_below"),
    "derived.learning_rate_band": learning_rate_band,
    "derived.learning_rate_severity": _of_band("severity"),
    "derived.effective_lora_rate": effective_lora_rate,
    "derived.batch_per_device": batch_per_device,
    "derived.deepspeed_batch": deepspeed_batch,
    "derived.adam_betas": adam_betas,
    "derived.eval_batch": eval_batch,
    "derived.global_micro_batch": global_micro_batch,
    "derived.generation_batch": generation_batch,
    "derived.generations_eval": generations_eval,
    "derived.deepspeed": deepspeed,
    "derived.fsdp": fsdp,
    "derived.weights_per_card_gib": weights_per_card_gib,
    "target.gpu.total_memory_gib": total_memory_gib,
    "derived.learning_rate_typical": _of_band("typical_high"),
    "derived.weights_gib": weights_gib,
    "derived.training_state_gib": training_state_gib,
    "derived.lora_targets_missing": lora_targets_missing,
    "derived.lora_targets_found": lora_targets_found,
}
