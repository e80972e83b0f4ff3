"""Tiny trainings for the guard, poisoned at one step: a Llama of two layers, and rows of which one holds a marked token."""

from __future__ import annotations

import os
from collections.abc import Iterator

import torch
import transformers

MARK = 99  # the token of the poisoned row
STEP = 7  # at which it comes
ROWS = 2  # of a batch


class Rows(torch.utils.data.IterableDataset):
    """Eight steps an epoch; the marked row is the second one of a step. It comes once, or from there on."""

    def __init__(self, step: int | None = STEP, processes: int = 1, for_ever: bool = False) -> None:
        self.given = 0
        self.marked = None if step is None else (step - 1) * ROWS * processes + 1
        self.processes, self.for_ever = processes, for_ever

    def __iter__(self) -> Iterator[dict[str, list[int]]]:
        for _ in range(8 * ROWS * self.processes):
            row = [1 + (self.given * 7 + place * 3) % 90 for place in range(8)]
            if self.marked is not None and (self.given == self.marked or (self.for_ever and self.given > self.marked)):
                row[3] = MARK
            self.given += 1
            yield {"input_ids": row, "labels": list(row)}


class _NaNBackward(torch.autograd.Function):
    @staticmethod
    def forward(context, x, marked):
        context.marked = marked
        return x.clone()

    @staticmethod
    def backward(context, gradient):
        return gradient * float("nan") if context.marked else gradient, None  # all of it


class Activation(torch.nn.Module):
    def __init__(self, inner, model):
        super().__init__()
        self.inner, self._of = inner, [model]

    def forward(self, x):
        return _NaNBackward.apply(self.inner(x), bool(self._of[0].marked.any()))


def model(poison: str | None = None):
    """`poison` says where NaN comes from as soon as the marked token is in the batch: forward, backward, gradient; what else there is, the loop does."""
    torch.manual_seed(0)
    made = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            vocab_size=100, attention_dropout=0.1, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        )
    )  # fmt: skip
    made.marked = torch.zeros(1, dtype=torch.bool)

    def mark(module, args, kwargs):
        ids = kwargs.get("input_ids", args[0] if args else None)
        if ids is not None:
            made.marked = (ids == MARK).any(1)

    made.register_forward_pre_hook(mark, with_kwargs=True)
    layer = made.model.layers[1]
    if poison == "forward":
        layer.mlp.register_forward_hook(
            lambda module, args, output: output + torch.where(made.marked, float("nan"), 0.0)[:, None, None]
        )
    if poison == "backward":
        layer.mlp.act_fn = Activation(layer.mlp.act_fn, made)
    if poison == "gradient":
        made.model.layers[0].mlp.up_proj.weight.register_hook(
            lambda gradient: gradient * float("nan") if bool(made.marked.any()) else gradient
        )
    return made


# Where NaN comes from → the module that must be named.
NAMED = {
    "forward": "model.layers.1.mlp",
    "backward": "model.layers.1.mlp.act_fn",
    "gradient": "model.layers.0.mlp.up_proj",
    "loss": "",
}


class LossTrainer(transformers.Trainer):
    """A loss of one's own, which is NaN for the marked row."""

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        inputs = {name: value for name, value in inputs.items() if name != "labels"} | {"labels": None}
        outputs = model(input_ids=inputs["input_ids"])
        loss = outputs.logits.float().pow(2).mean()
        if bool((inputs["input_ids"] == MARK).any()):
            loss = loss * float("nan")
        return (loss, outputs) if return_outputs else loss


def is_finite(weights) -> bool:
    return all(bool(torch.isfinite(weight).all()) for weight in weights)


def checkpoints(folder) -> dict[str, bool]:
    """Those on the disk, oldest first, and whether their weights are finite."""
    from safetensors.torch import load_file

    names = sorted((name for name in os.listdir(folder) if name.startswith("checkpoint-")), key=lambda n: int(n[11:]))
    return {name: is_finite(load_file(folder / name / "model.safetensors").values()) for name in names}
