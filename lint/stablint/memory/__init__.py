"""Bytes of weights, gradients, optimizer states, activations and logits. In come plain numbers, out go bytes on a card by moments of a step.
Pure arithmetic: every formula names its source.

Knows no fact, no text and no framework.
"""
