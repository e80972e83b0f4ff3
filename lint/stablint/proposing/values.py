"""A choice → the values that a framework's lines ask for, and for each the reason why it is what it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stablint.hardware.gpu import Gpu, is_unnamed
from stablint.proposing.asked import Choice, Request
from stablint.proposing.counted import Counted, Recipes

PLACEHOLDER = "PUT-YOUR-DATASET-HERE"
NO_REWARD = ["PUT_YOUR_MODULE.AND_ITS_REWARD_FUNCTION_HERE"]
NO_TEMPLATE = "PUT-THE-TEMPLATE-OF-YOUR-MODEL-HERE"
_RANK = 16  # where no recipe counts
_PRECISION = {
    "bf16": "this card computes bfloat16", "fp16": "this card has no bfloat16, and the model bears float16",
    "fp32": "this card has no bfloat16, and with float16 there would be a finding",
}  # fmt: skip
_NONE = Counted(None, "nothing was counted")


def labelled(gpu: Gpu) -> str:
    return f"{gpu.name} x{gpu.count or 1}"


def asked_for(gpu: Gpu, cards: int) -> str:
    """The words that name so many of them."""
    return f'--gpu-memory "{gpu.memory_gib:g} x{cards}"' if is_unnamed(gpu) else f'--gpu "{gpu.name} x{cards}"'


def values_of(
    request: Request,
    record: Mapping[str, Any],
    sharding: Mapping[str, Any],
    choice: Choice,
    recipes: Recipes | None,
    template: str | None,
    attention: str,
) -> dict[str, Any]:
    counted = _counted(choice.method, recipes)
    kind = record["data"][request.data]
    return {
        "model": request.model, "objective": request.objective, "length": request.length, "cards": request.cards,
        "processes": 1 if sharding.get("split") else request.cards, "split": bool(sharding.get("split")),
        "method": choice.method, "sharding": choice.sharding, "precision": choice.precision, "weights": choice.weights, "batch": choice.batch,
        "accumulation": choice.accumulation, "checkpointing": choice.checkpointing, "fused": choice.fused, "bf16": choice.precision == "bf16",
        "fp16": choice.precision == "fp16", "deepspeed": sharding["deepspeed"], "fsdp": sharding["fsdp"], "stage": sharding["stage"],
        "offload": bool(sharding.get("offload")), "dataset": request.dataset or PLACEHOLDER, "data": request.data, "columns": kind.get("columns", {}),
        "output_dir": "out", "epochs": 1, "template": template or NO_TEMPLATE, **{name: one.value for name, one in counted.items()},
        "vllm": bool(sharding.get("vllm")), "share": None, "reward": NO_REWARD,
        "attention": attention, "framework": request.framework, "several": request.cards > 1,
        "rows": _with_source(kind.get("values", {}).get("rows", {}), request.dataset or PLACEHOLDER), **record.get("models", {}).get(request.model.lower(), {}),
        "listed": [{"path": request.dataset or PLACEHOLDER, **kind.get("values", {}).get("rows", {})}],
    }  # fmt: skip


def _with_source(rows: dict[str, Any], dataset: str) -> dict[str, Any]:
    """A component of torchtune, its class first."""
    component = {key: value for key, value in rows.items() if key == "_component_"}
    return {**component, "source": dataset, **{key: value for key, value in rows.items() if key != "_component_"}}


def _counted(method: str, recipes: Recipes | None) -> dict[str, Counted]:
    if recipes is None:
        return {
            **dict.fromkeys(("rate", "warmup", "scheduler", "clip"), _NONE),
            "rank": Counted(_RANK, ""),
            "alpha": Counted(2 * _RANK, ""),
        }
    rank = recipes.rank()
    if rank.value is None:
        rank = Counted(_RANK, f"{rank.why}; a common size")
    alpha = recipes.alpha(rank.value)
    if alpha.value is None:
        alpha = Counted(2 * rank.value, f"{alpha.why}; twice the rank")
    return {
        "rate": recipes.rate(), "warmup": recipes.warmup(), "scheduler": recipes.scheduler(), "clip": recipes.clip(), "rank": rank, "alpha": alpha,
    }  # fmt: skip


def reasons_of(
    request: Request,
    record: Mapping[str, Any],
    shardings: Mapping[str, Mapping[str, Any]],
    choice: Choice,
    recipes: Recipes | None,
    needs: Mapping[Choice, float],
    gpu: Gpu,
    has_template: bool,
) -> dict[str, str]:
    """By value. `needs` is what this choice and its neighbours need, in GiB."""
    here, room = needs.get(choice), gpu.most_memory_gib
    found = {name: one.why for name, one in _counted(choice.method, recipes).items()}
    processes = 1 if shardings[choice.sharding].get("split") else request.cards
    total = choice.batch * choice.accumulation * processes
    examples = recipes.examples().why if recipes is not None else ""
    cards = f" x {processes} cards" if processes > 1 else ""
    found["accumulation"] = f"{choice.batch} x {choice.accumulation}{cards} = {total} a step; {examples}"
    if here is not None and room is not None:
        more = choice._replace(batch=choice.batch * 2, accumulation=max(1, choice.accumulation // 2))
        then = f"; {more.batch} would need {needs[more]:.1f}" if more in needs else ""
        hardly = ", and be hardly faster" if more in needs and needs[more] <= room * 0.95 else ""
        found["batch"] = f"{here:.1f} of {room:.1f} GiB with rows of full length{then}{hardly}"
        found["head"] = f"Needs {here:.1f} of {room:.1f} GiB a card where rows are as long as {request.length} tokens."
        found["checkpointing"] = "off: it fits without, and each block is computed once"
        if choice.checkpointing:
            other = needs.get(choice._replace(checkpointing=False))
            found["checkpointing"] = (
                f"blocks are computed twice: without, {f'{other:.1f} GiB' if other else 'rows do not fit'}"
            )
        whole = needs.get(choice._replace(fused=not choice.fused))
        found["fused"] = (
            f"the logits never exist as a whole{f': with them {whole:.1f} GiB' if whole else ', which do not fit'}"
        )
    else:
        found["fused"] = "the logits never exist as a whole"
    found["length"] = "tokens; longer rows are cut. It was asked for" if request.length else ""
    found["dataset"] = found["listed"] = found["rows"] = f"{record['data'][request.data]['why']}" + (
        "" if request.dataset else "; nothing starts before you name one"
    )
    found["precision"] = _PRECISION[choice.precision]
    found["bf16"] = found["precision"] if choice.precision == "bf16" else "this card has no bfloat16"
    found["fp16"] = "" if choice.precision == "bf16" else found["precision"]
    found["weights"] = _of_weights(choice, shardings[choice.sharding])
    found["sharding"] = f"{shardings[choice.sharding]['says']}: a whole copy on each card does not fit"
    asked = "as asked for" if request.method != "auto" else "what is better is not safe here, or does not fit"
    found["method"] = "all weights are trained" if choice.method == "full" else f"an adapter: {asked}"
    found["quantised"] = f"the base in 4 bits: {asked}"
    found["attention"] = "PyTorch's own kernels; nothing to install"
    found["reward"] = "what an answer is worth: nothing starts before you name a function (module.name) of yours"
    found["vllm"] = (
        "vLLM writes the answers"
        if shardings[choice.sharding].get("vllm")
        else "vLLM would load the model whole, beside weights in 4 bits: transformers writes the answers, which is slower"
        if choice.method == "qlora"
        else "what vLLM does on cards before Ampere is not known here: transformers writes the answers, which is slower"
        if not gpu.native_bf16
        else "vLLM does not fit beside it: transformers writes the answers, which is slower"
    )
    found["epochs"] = "not counted: how often your rows are seen is for you to say"
    found["processes"] = "one process a card"
    known = "LLaMA-Factory's own list names it for this model"
    found["template"] = (
        known if has_template else "its list does not name this model: it starts when you name the chat format"
    )
    return found


def _of_weights(choice: Choice, sharding: Mapping[str, Any]) -> str:
    if choice.method == "full":
        if sharding["deepspeed"]:
            return "DeepSpeed keeps its own copy in float32, which small steps go to"
        return "in full precision: in half precision small steps are rounded away"
    return (
        "frozen, in half precision; the adapter is float32"
        if choice.weights != "float32"
        else "this card has no half precision for this model"
    )
