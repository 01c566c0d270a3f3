"""Corrections of pairs with coinciding signal patches that are read off tables already there.

Noise on noise: each coincidence gives one such patch back, which is the term of the pair's block. The pair of a point with itself, z_ii = x_i:
what the tables hold for it is replaced by the sum over the signal patches themselves, ``own``.

terms (k, B + E) are those of the blocks, then those of the extra pairs, among which own_pair[i] belongs to point i.
"""

from __future__ import annotations

from mvsim.multi_view.kernels.jit.compiling import SUMS, njit


@njit(**SUMS)
def correction_values(y0, y1, own, U, V, terms, corrections):
    """Add both to terms."""
    own_pair, pattern = corrections.own_pair, corrections.pattern
    block_of_extra, given_back = corrections.block_of_extra, corrections.given_back
    blocks = terms.shape[1] - len(block_of_extra)
    for y in range(y0, y1):
        for e in range(len(block_of_extra)):
            terms[y, blocks + e] += given_back[e] * terms[y, block_of_extra[e]]
        for i in range(len(own_pair)):
            terms[y, own_pair[i]] += own[y, i] - U[y, pattern[i], i] - V[y, pattern[i], i]


@njit(**SUMS)
def correction_pull_back(y0, y1, own, U, V, terms, corrections):
    """Add the adjoint at terms to U, V and the blocks among the terms, and fill own with it."""
    own_pair, pattern = corrections.own_pair, corrections.pattern
    block_of_extra, given_back = corrections.block_of_extra, corrections.given_back
    blocks = terms.shape[1] - len(block_of_extra)
    for y in range(y0, y1):
        for i in range(len(own_pair)):
            own[y, i] = terms[y, own_pair[i]]
            U[y, pattern[i], i] -= own[y, i]
            V[y, pattern[i], i] -= own[y, i]
        for e in range(len(block_of_extra)):
            terms[y, block_of_extra[e]] += given_back[e] * terms[y, blocks + e]
