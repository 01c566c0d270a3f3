"""How large the pieces are in which kernels work; the memory that they take follows from it."""

BATCH_BYTES = 2**25
"""Bytes that a batch of mixed points takes in outputs, or in patches and pre-activations where these are written out."""

CACHED = 2**17
"""Pre-activations of a neuron (1 MiB) that the loops over any patches go over at a time."""

LEAST_WIDTH, MOST_WIDTH = 64, 256
"""Patches that these loops take at a time: with fewer, they are too short; with more, there is nothing to gain."""

BLOCK = 2**21
"""Pairs of points with one patch that are summed at a time, 16 MiB."""

HESSIAN_ROWS = 1000
"""Most coordinates of a Hessian that is factorised as a whole."""
