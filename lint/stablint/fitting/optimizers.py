"""What optimizers keep for each parameter that is trained."""

from __future__ import annotations

from stablint.memory.plan import Optimizer, Range, sure

# transformers gives embeddings states in 32 bits beside an 8-bit Adam (5.17.0 trainer.py, register_module_override), and its Adafactor keeps two
# float32 copies of the parameter that it updates (optimization.py, Adafactor.step).
# Bytes a trained parameter: states in half precision, states in float32, widths of the parameter for a moment (torch.optim's foreach
# implementations keep one temporary; bitsandbytes: 8 bits and a scale a block; Adafactor: rows and columns).
ADAM, _ONE = (sure(4.0), sure(8.0)), (sure(2.0), sure(4.0))
OPTIMIZERS = {
    "adamw_torch": Optimizer(*ADAM, sure(1.0)), "adamw_hf": Optimizer(*ADAM, sure(0.0)), "adamw_torch_fused": Optimizer(*ADAM, sure(0.0)),
    "adamw_apex_fused": Optimizer(*ADAM, sure(0.0)), "adam": Optimizer(*ADAM, sure(1.0)), "adamw": Optimizer(*ADAM, Range(0.0, 0.0, 1.0)),
    "adamw_bnb_8bit": Optimizer(sure(2.03), sure(2.03), sure(0.0), embedding=5.97),
    "adamw_8bit": Optimizer(sure(2.03), sure(2.03), sure(0.0), embedding=5.97),
    "paged_adamw_8bit": Optimizer(Range(0.0, 2.03, 2.03), Range(0.0, 2.03, 2.03), sure(0.0)),
    "paged_adamw_32bit": Optimizer(Range(0.0, 8.0, 8.0), Range(0.0, 8.0, 8.0), sure(0.0)),
    "paged_adamw": Optimizer(Range(0.0, 8.0, 8.0), Range(0.0, 8.0, 8.0), sure(0.0)),
    "adafactor": Optimizer(sure(0.02), sure(0.02), sure(0.0), largest=2.0), "sgd": Optimizer(Range(0.0, 0.0, 2.0), Range(0.0, 0.0, 4.0), sure(0.0)),
    "lion": Optimizer(*_ONE, sure(1.0)), "lion_32bit": Optimizer(*_ONE, sure(0.0)), "lion_8bit": Optimizer(sure(1.02), sure(1.02), sure(0.0)),
    "paged_lion_8bit": Optimizer(Range(0.0, 1.02, 1.02), Range(0.0, 1.02, 1.02), sure(0.0)), "rmsprop": Optimizer(*_ONE, sure(1.0)),
    "lomo": Optimizer(sure(0.0), sure(0.0), sure(0.0)), "adalomo": Optimizer(Range(0.0, 0.02, 0.1), Range(0.0, 0.02, 0.1), sure(0.0)),
    "muon": Optimizer(Range(2.0, 2.0, 4.0), Range(4.0, 4.0, 8.0), sure(1.0)),
}  # fmt: skip
# They update each matrix as soon as its gradient is there, and drop it (arXiv 2306.09782, section 3).
STREAMING = ("lomo", "adalomo")
UNKNOWN_OPTIMIZER = Optimizer(Range(0.0, 4.0, 8.0), Range(0.0, 8.0, 12.0), Range(0.0, 1.0, 1.0))
