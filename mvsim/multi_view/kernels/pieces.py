"""How large the pieces are in which kernels for any patches work; the memory they take follows from it."""

BATCH_BYTES = 2**25
"""Bytes that a batch of mixed points takes in outputs, or in patches and pre-activations where these are written out."""

CACHED = 2**17
"""Pre-activations of a neuron (1 MiB) that the loops go over at a time."""

LEAST_WIDTH, MOST_WIDTH = 64, 256
"""Patches at a time: with fewer, the loops are too short; with more, there is nothing to gain."""
