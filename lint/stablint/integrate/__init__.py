"""Real objects of transformers, TRL, PEFT, accelerate and Lightning: settings as facts before training, and a guard while it runs.

Imports none of these libraries before the caller has.
"""

from stablint.base.later import later

later(__name__, "accelerated", "installed", "lightning", "live", "model", "repeating", "tensors")
