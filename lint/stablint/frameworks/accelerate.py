"""accelerate's YAML, with its DeepSpeed and FSDP parts, and the flags of `accelerate launch` (which win over the file)."""

from __future__ import annotations

from collections.abc import Mapping as Table

from stablint.frameworks.fragment import Block, Fragment, Link, Row, listed, lower_mapping, spelled
from stablint.run.fact import CLOSED, OPEN, Explicit

_ROWS = (
    ("mixed_precision", "accelerate.mixed_precision", "dtype"),
    ("num_processes", "launch.processes", "plain"),
    ("num_machines", "launch.nodes", "plain"),
    ("deepspeed_config.zero_stage", "deepspeed.zero_optimization.stage", "plain"),
    ("deepspeed_config.gradient_accumulation_steps", "deepspeed.gradient_accumulation_steps", "plain"),
    ("deepspeed_config.gradient_clipping", "deepspeed.gradient_clipping", "plain"),
    ("deepspeed_config.offload_optimizer_device", "deepspeed.zero_optimization.offload_optimizer.device", "plain"),
    ("deepspeed_config.offload_param_device", "deepspeed.zero_optimization.offload_param.device", "plain"),
    ("deepspeed_config.zero3_save_16bit_model", "deepspeed.zero_optimization.stage3_gather_16bit_weights_on_model_save", "flag"),
)  # fmt: skip
_FLAG_ROWS: dict[str, Row] = {key: Row(key, fact, codec) for key, fact, codec in _ROWS}
# accelerate refuses the file's precision beside a DeepSpeed file, and takes that of a flag (commands/launch.py, mp_from_config_flag).
PRECISION_IN_FILE = "accelerate.mixed_precision_in_file"
TYPE_IN_FILE = "accelerate.distributed_type_in_file"
DYNAMO_IN_FILE = "accelerate.dynamo_config.dynamo_backend"
ROWS: dict[str, Row | tuple[Row, ...]] = {
    **_FLAG_ROWS,
    "mixed_precision": (_FLAG_ROWS["mixed_precision"], Row("mixed_precision", PRECISION_IN_FILE, "dtype")),
    "distributed_type": (Row("distributed_type", "accelerate.distributed_type"), Row("distributed_type", TYPE_IN_FILE)),
}

# `accelerate launch --zero_stage 3` is the file's `deepspeed_config: {zero_stage: 3}` (accelerate commands/launch.py).
_FLAG_SECTIONS = {
    "zero_stage": "deepspeed_config", "offload_optimizer_device": "deepspeed_config", "offload_param_device": "deepspeed_config",
    "gradient_accumulation_steps": "deepspeed_config", "gradient_clipping": "deepspeed_config", "zero3_init_flag": "deepspeed_config",
    "zero3_save_16bit_model": "deepspeed_config", "deepspeed_moe_layer_cls_names": "deepspeed_config",
}  # fmt: skip
# Flags that the launcher hands on only where DeepSpeed is asked for, and those for which FSDP must be (accelerate 1.15.0 commands/launch.py:409
# and 1393); what makes a block of the environment is the way of running, and not its flags.
_OF_DEEPSPEED = frozenset(
    {*_FLAG_SECTIONS, "deepspeed_config_file", "offload_optimizer_nvme_path", "offload_param_nvme_path"}
)
SWITCHES = frozenset({"use_deepspeed", "use_fsdp"})


def switch_of(key: str) -> str:
    """The switch that a flag wants beside it; empty for what is read whatever the way of running."""
    if key in _OF_DEEPSPEED:
        return "use_deepspeed"
    return "use_fsdp" if key.startswith("fsdp_") else ""


_TELLING = listed("accelerate", "telling")


def recognise(keys: frozenset[str], block: Block) -> int:
    found = keys & _TELLING
    if "compute_environment" in keys and found - {"compute_environment"}:
        return 96
    return (
        92
        if len(found) >= 2
        and len(found) * 2 >= len(keys)
        and keys & {"distributed_type", "num_processes", "deepspeed_config", "fsdp_config"}
        else 0
    )


def row(key: str) -> Row | None:
    head, dot, rest = key.partition(".")
    if head == "fsdp_config" and dot:
        return Row(key, "fsdp." + rest.removeprefix("fsdp_"))
    return Row(key, "accelerate." + key)


def lower(block: Block, layer: str = "accelerate-file") -> Fragment:
    """The file says everything about sharding: what it does not switch on is off, unless the trainer's own arguments do."""
    statements = tuple(lower_mapping(block, ROWS, layer, row))
    stated = {s.fact: s for s in statements}
    kind = str(stated["accelerate.distributed_type"].value).upper() if "accelerate.distributed_type" in stated else ""
    scopes: Table[str, str] = {
        "accelerate": CLOSED, "launch": CLOSED,
        "deepspeed": OPEN if kind == "DEEPSPEED" and "accelerate.deepspeed_config.deepspeed_config_file" in stated else CLOSED,
        "fsdp": CLOSED,
    }  # fmt: skip
    path = stated.get("accelerate.deepspeed_config.deepspeed_config_file")
    links: tuple[Link, ...] = ()
    if path is not None and isinstance(path.value, str) and isinstance(path.origin, Explicit):
        links = (Link("deepspeed", path.value, path.origin.place),)
    return Fragment("accelerate", block, layer, statements, scopes, {}, links)


_ONLY_UNDER = {"DEEPSPEED": ("deepspeed.", "accelerate.deepspeed_config."), "FSDP": ("fsdp.",)}


def started(file: Fragment, asked: object) -> Fragment:
    """The file under a launcher whose own switch asks for a way of running: what the file says of another way is read by nobody, as its distributed
    type is not (accelerate 0.21.0 to 1.15.0 commands/launch.py, `_validate_launch_command`)."""
    vain = tuple(head for kind, heads in _ONLY_UNDER.items() if kind != asked for head in heads)
    kept = tuple(one for one in file.statements if not one.fact.startswith(vain))
    return file._replace(statements=kept, links=file.links if asked == "DEEPSPEED" else ())


def flag_row(key: str) -> Row | None:
    key = spelled(key)
    if key.startswith("fsdp_"):
        return Row(key, "fsdp." + key.removeprefix("fsdp_"))
    section = "parallelism_config" if key.startswith("parallelism_config_") else _FLAG_SECTIONS.get(key)
    return (
        _FLAG_ROWS.get(f"{section}.{key}")
        or _FLAG_ROWS.get(key)
        or Row(key, f"accelerate.{section}.{key}" if section else f"accelerate.{key}")
    )
