"""Will it fit: bytes of weights, gradients, optimizer states, activations and logits. Pure arithmetic on plain numbers."""
