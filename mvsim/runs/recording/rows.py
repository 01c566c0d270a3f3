"""Values of one variable, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class Rows(Sequence[Any]):
    """Values in one array that grows: what is saved is a view of it, so that a save copies nothing.

    What a view shows never changes: what is appended after rows were forgotten stands in another array.
    """

    def __init__(self, values: np.ndarray) -> None:
        """Begin with ``values``, which are neither copied nor written to; an array of no rows gives the type."""
        self._array, self._count = values, len(values)

    @property
    def values(self) -> np.ndarray:
        """All of them, as a view."""
        return self._array[: self._count]

    def append(self, value: Any) -> None:
        """Add a value, of the shape of the others."""
        if self._count == len(self._array):
            grown = np.empty((max(1, 2 * self._count), *np.shape(value)), self._array.dtype)  # memory not written to yet takes no room
            if self._count:
                grown[: self._count] = self._array
            self._array = grown
        self._array[self._count] = value
        self._count += 1

    def forget_from(self, count: int) -> None:
        """Keep the first ``count`` only."""
        if count < self._count:
            self._array = self._array[:count].copy()
            self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        """Return numbers as numbers of Python, which may overflow without a warning."""
        found = self.values[index]
        return found.item() if np.ndim(found) == 0 else found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype, copy=copy)
