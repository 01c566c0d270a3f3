"""Reading and searching with index arrays in which -1 stands for none."""

from __future__ import annotations

import numpy as np


def entries(x: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Return the entries of x (..., n) at places of any shape, 0 where a place is -1."""
    if not x.shape[-1]:
        return np.zeros((*x.shape[:-1], *place.shape), x.dtype)
    return np.where(place >= 0, x[..., place], 0)


def lookup(index: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return where in an index (s,), none twice, each wanted integer (any shape) stands; -1 for those that it does not have, and for -1."""
    size = 1 + max(int(each.max(initial=-1)) for each in (index, values))
    place = np.full(size + 1, -1)
    place[index] = np.arange(len(index))
    place[-1] = -1  # the entry that an integer -1 reads
    return place[values]


def with_entries(x: np.ndarray, index: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a copy of x (n,) with values (s,) at an index (s,) without -1."""
    copy = x.copy()
    copy[index] = values
    return copy
