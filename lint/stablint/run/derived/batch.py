"""Processes, batches and steps, and what divides the work among the processes."""

from __future__ import annotations

import math

from stablint.run.fact import ABSENT, Explicit, is_unknown
from stablint.run.world import Answer, World
from stablint.syntax.tree import Unknown


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
    # These start one process a visible GPU; `trl` by accelerate (trl 1.16.0 cli/accelerate_launcher.py; accelerate 1.15.0 commands/launch.py:1324).
    if launcher in ("deepspeed", "llamafactory-cli", "accelerate", "trl"):
        if isinstance(devices, (int, str)) and launcher == "llamafactory-cli":
            return Answer(len(str(devices).split(",")), ("launch.env.CUDA_VISIBLE_DEVICES",))
        return Answer(w.value("target.gpu.count"), ("target.gpu.count",))
    if launcher in ("torchrun", "python") and per_node is ABSENT:
        return Answer(1, ("launch.launcher",))
    if w.value("target.gpu.count") == 1:
        return Answer(1, ("target.gpu.count",))
    return Answer(Unknown("no launcher says how many processes there are"))


def visible_cards(w: World) -> Answer:
    """How many cards the processes of one machine see together."""
    devices = w.stated("launch.env.CUDA_VISIBLE_DEVICES")
    if isinstance(devices, (int, str)) and devices != "":
        return Answer(len(str(devices).split(",")), ("launch.env.CUDA_VISIBLE_DEVICES",))
    return Answer(w.value("target.gpu.count"), ("target.gpu.count",))


def effective_batch(w: World) -> Answer:
    names = ("training.per_device_train_batch_size", "training.gradient_accumulation_steps", "derived.world_size")
    values = [w.value(name) for name in names]
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return Answer(math.prod(values), names)
    whole = w.stated("training.global_batch_size")  # litgpt and Megatron name it, and work the accumulation out
    if isinstance(whole, int) and not isinstance(whole, bool):
        return Answer(whole, ("training.global_batch_size",))
    return Answer(Unknown("batch size, accumulation and processes are not all known"), names)


def batch_per_device(w: World) -> Answer:
    names = ("training.per_device_train_batch_size", "training.gradient_accumulation_steps")
    return _product(w, names)


def rollouts_per_device(w: World) -> Answer:
    """Prompts × samples of one process (trl experimental/gold/gold_config.py, __post_init__)."""
    return _product(w, ("training.generation_batch_size", "training.num_generations"))


# Processes that share rows count once (deepspeed runtime/config.py, DeepSpeedConfig.__init__; AutoTP sets a mesh of its own).
_SHARED = ("deepspeed.sequence_parallel_size", "deepspeed.tensor_parallel.autotp_size")


def deepspeed_batch(w: World) -> Answer:
    """What train_batch_size must be (deepspeed runtime/config.py, _batch_assertion); without the accumulation DeepSpeed computes that one."""
    return _deepspeed_product(
        w,
        ("deepspeed.train_micro_batch_size_per_gpu", "deepspeed.gradient_accumulation_steps", "derived.world_size"),
    )


def deepspeed_share(w: World) -> Answer:
    """What train_batch_size must be a multiple of: processes, times what else is stated (_set_batch_related_parameters, which rounds down)."""
    names = ("deepspeed.train_micro_batch_size_per_gpu", "deepspeed.gradient_accumulation_steps", "derived.world_size")
    stated = [name for name in names if w.value(name) not in (ABSENT, None)]
    return _deepspeed_product(w, tuple(stated))


def _deepspeed_product(w: World, names: tuple[str, ...]) -> Answer:
    shared = [name for name in _SHARED if w.value(name) not in (ABSENT, None, 0, 1)]
    return Answer(Unknown("several processes share the rows"), tuple(shared)) if shared else _product(w, names)


def eval_batch(w: World) -> Answer:
    return _product(w, ("training.per_device_eval_batch_size", "derived.world_size"))


def global_micro_batch(w: World) -> Answer:
    return _product(w, ("training.per_device_train_batch_size", "derived.world_size"))


def global_batch_whole(w: World) -> Answer:
    """The next lower global batch that micro batch × processes divide."""
    names = ("training.global_batch_size", "derived.global_micro_batch")
    whole, part = (w.value(name) for name in names)
    known = isinstance(whole, int) and isinstance(part, int) and 0 < part <= whole
    return Answer(whole // part * part if known else Unknown("batch and processes are not both known"), names)


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


def generations_fitting(w: World) -> Answer:
    """The largest group that divides a micro batch of all processes, or else the whole round."""
    wanted = w.value("training.num_generations")
    names = ("training.num_generations", "derived.global_micro_batch", "derived.generation_batch")
    for name in names[1:]:
        batch = w.value(name)
        if isinstance(batch, int) and isinstance(wanted, int) and batch >= 2:
            fitting = next((group for group in range(min(wanted, batch), 1, -1) if batch % group == 0), 0)
            if fitting:
                return Answer(fitting, names)
    return Answer(Unknown("no group fits, or the batch is not known"), names)


def generations_eval(w: World) -> Answer:
    own = w.value("training.num_generations_eval")
    name = "training.num_generations_eval" if own not in (ABSENT, None) else "training.num_generations"
    return Answer(w.value(name), (name,))


def _product(w: World, names: tuple[str, ...]) -> Answer:
    values = [w.value(name) for name in names]
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return Answer(math.prod(values), names)
    return Answer(Unknown("not all of it is known"), names)


def total_steps(w: World) -> Answer:
    steps = w.value("training.max_steps")
    if isinstance(steps, int) and steps > 0:
        return Answer(steps, ("training.max_steps",))
    return Answer(Unknown("it depends on the number of rows"), ("training.max_steps",))


def warmup_steps(w: World) -> Answer:
    """An explicit number wins over the ratio (TrainingArguments.get_warmup_steps); from transformers 5 on a fraction is a share of all steps."""
    steps = w.value("training.warmup_steps")
    if isinstance(steps, float) and not math.isfinite(steps):
        return Answer(Unknown("it is no number of steps"), ("training.warmup_steps",))
    if isinstance(steps, (int, float)) and steps >= 1:
        return Answer(int(steps), ("training.warmup_steps",))
    share = steps if isinstance(steps, float) and steps > 0 else w.value("training.warmup_ratio")
    if share in (0, 0.0, None, ABSENT):
        return (
            Answer(0, ("training.warmup_steps", "training.warmup_ratio"))
            if not is_unknown(steps)
            else Answer(steps, ("training.warmup_steps",))
        )
    if is_unknown(share):
        return Answer(share, ("training.warmup_ratio",))
    total = w.value("derived.total_steps")
    if isinstance(share, (int, float)) and math.isfinite(share) and isinstance(total, int):
        most = 0 if w.is_stated("training.warmup_ratio") else w.framework.warmup_at_most
        taken = min(int(share * total), most) if most else math.ceil(share * total)
        return Answer(taken, ("training.warmup_ratio", "derived.total_steps"))
    return Answer(Unknown("it is a share of a number of steps that depends on the data"), ("training.warmup_ratio",))


def zero_stage(w: World) -> Answer:
    stage = w.value("deepspeed.zero_optimization.stage")
    if stage is ABSENT:
        return Answer(0, ("deepspeed.zero_optimization.stage",))
    kind, origin = w.stated("accelerate.distributed_type"), w.fact("deepspeed.zero_optimization.stage").origin
    if kind in ("FSDP", "MULTI_GPU", "NO") and isinstance(origin, Explicit) and origin.layer == "accelerate-file":
        return Answer(0, ("accelerate.distributed_type",))  # a flag asks for something else than the file
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
        or w.stated("accelerate.multi_gpu") is True
        or w.value("target.gpu.count") == 1
    )


def deepspeed_alone(w: World) -> Answer:
    """Nothing at hand fills in DeepSpeed's `auto`; some trainer elsewhere may."""
    return Answer(w.run.dialects == ("deepspeed",), (), presumed=True)


def deepspeed_builds_optimizer(w: World) -> Answer:
    """Does the engine build the file's `optimizer` block? Not where the program hands it one, nor for an evaluation (transformers 5.23.0
    integrations/deepspeed.py, `deepspeed_init`; deepspeed 0.19.8 runtime/engine.py, `_configure_optimizer`)."""
    return _built(w, "launch.engine.optimizer")


def deepspeed_builds_scheduler(w: World) -> Answer:
    """The same of its `scheduler` block."""
    return _built(w, "launch.engine.lr_scheduler")


def _built(w: World, given: str) -> Answer:
    made, handed = w.stated("launch.engine.made"), w.stated(given)
    if made is not ABSENT:
        sure = made is True and handed in (ABSENT, None)
        return Answer(handed in (ABSENT, None), (given, "launch.engine.made"), presumed=not sure)
    if w.value("derived.hf_trainer") is True:
        trains = w.value("derived.trains")
        return Answer(trains is not False, ("derived.hf_trainer", "derived.trains"), presumed=trains is not True)
    return Answer(True, ("derived.hf_trainer",), presumed=True)


def deepspeed_trains(w: World) -> Answer:
    """Is there an optimiser that the engine wraps by its ZeRO stage? An engine for evaluation has none."""
    made, handed = w.stated("launch.engine.made"), w.stated("launch.engine.optimizer")
    if made is True and handed in (ABSENT, None) and w.stated("deepspeed.optimizer") in (ABSENT, None, {}):
        return Answer(False, ("launch.engine.made",))
    if made is not ABSENT:
        return Answer(True, ("launch.engine.optimizer", "launch.engine.made"), presumed=is_unknown(made))
    return _built(w, "launch.engine.optimizer")


def deepspeed(w: World) -> Answer:
    return _part(w, "deepspeed", "training.deepspeed", "DEEPSPEED")


def fsdp(w: World) -> Answer:
    """Its options may switch it on, without a switch of its own."""
    since = w.framework.fsdp_by_options
    if since:
        option = next((name for name in w.said_in("fsdp") if name != "fsdp.version"), None)
        if option is not None and w.at_least(w.run.framework, since):
            return Answer(True, (option,))
    if w.framework.shards_processes and not is_unknown(processes := w.value("derived.world_size")) and processes > 1:
        return Answer(True, ("derived.world_size",))
    return _part(w, "fsdp", "training.fsdp", "FSDP")


def _part(w: World, role: str, argument: str, kind: str) -> Answer:
    """Is sharding of this kind in the run: by the trainer's argument, by accelerate's file, by a file of its own."""
    stated = w.value(argument)
    if stated not in (ABSENT, None, "", [], {}, False) and not is_unknown(stated):
        return Answer(True, (argument,))
    distributed = w.stated("accelerate.distributed_type")
    if distributed is not ABSENT:
        on = str(distributed).upper() == kind or role in w.run.linked
        # the trainer's own argument switches it on whatever accelerate's file says
        return (
            Answer(stated, (argument,))
            if is_unknown(stated) and not on
            else Answer(on, ("accelerate.distributed_type",))
        )
    if role in w.run.linked or w.stated(f"accelerate.use_{role}") is True:
        return Answer(True)
    if is_unknown(stated):
        return Answer(stated, (argument,))
    if "accelerate" not in w.run.linked and w.is_said("launch.accelerate_file"):
        return Answer(Unknown("accelerate's file is not at hand"), ("launch.accelerate_file",))
    # accelerate's own file may switch it on, where no launcher is in sight that rules that out.
    return Answer(False, (argument,), presumed=True)


def half_length(w: World) -> Answer:
    names = ("training.max_length",)
    length = w.value("training.max_length")
    whole = isinstance(length, int) and not isinstance(length, bool)
    return Answer(length // 2 if whole else Unknown("the length is not known"), names)
