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

TILE_BYTES = 2**23
"""Bytes that an array of the kernel for namespaces takes in a step that is done in pieces, on the host: it is to stay near the caches."""

TILE_BYTES_OF_GPU = 2**29
"""The same on a GPU, where pieces are to be few."""
