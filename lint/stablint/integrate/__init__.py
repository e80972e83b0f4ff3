"""Real objects of transformers, TRL, PEFT, accelerate and Lightning. In come arguments, models and trainers, out go their settings as facts before
training, and a stop before a step that would harm the weights.

Imports none of these libraries before the caller has; knows no rule.
"""

from stablint.base.later import later

later(__name__, "accelerated", "installed", "lightning", "live", "model", "repeating", "tensors")
