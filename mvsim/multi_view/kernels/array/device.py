"""Where arrays live: a namespace of the array API standard, and the way there and back. Nothing else knows CuPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mvsim.base.errors import UsageError
from mvsim.base.extras import load_extra
from mvsim.multi_view.piece_sizes import TILE_BYTES, TILE_BYTES_OF_GPU


@dataclass(frozen=True)
class Device:
    """A namespace of the array API standard with a place for arrays."""

    words: str  # What it is, for descriptions
    xp: Any  # The namespace
    place: Any  # The ``device`` of new arrays, as the namespace takes it; None for the one that it takes by itself
    fetch: Callable[[Any], np.ndarray]  # An array there -> a NumPy array
    tile_bytes: int  # See `TILE_BYTES`

    def put(self, array: Any) -> Any:
        """Return an array of the host there, as doubles, integers or truth values."""
        return self.xp.asarray(np.ascontiguousarray(array), device=self.place)

    def zeros(self, *shape: int) -> Any:
        return self.xp.zeros(shape, dtype=self.xp.float64, device=self.place)

    def pieces(self, count: int, doubles: int) -> list[slice]:
        """Return slices of 0 .. count - 1 of which each takes about `tile_bytes`, where one takes so many doubles."""
        size = max(1, self.tile_bytes // (8 * max(doubles, 1)))
        return [slice(start, min(start + size, count)) for start in range(0, count, size)]

    def take(self, array: Any, index: Any, axis: int) -> Any:
        """Return the entries of an array at an index (any shape) of integers along an axis."""
        flat = self.xp.take(array, self.xp.reshape(index, (-1,)), axis=axis)
        return self.xp.reshape(flat, (*array.shape[:axis], *index.shape, *array.shape[axis + 1 :]))


@cache
def host() -> Device:
    """Return NumPy in the memory of this machine."""
    import array_api_compat.numpy as xp

    return Device("NumPy", xp, "cpu", np.asarray, TILE_BYTES)


@cache
def gpu() -> Device:
    """Return the GPU that CuPy takes first; raise `UsageError` if CuPy is not installed, or finds no GPU."""
    cupy = load_extra("cupy", "CuPy", "cupy12x", "backend='cupy'", "cupy13x in its place for CUDA 13, or give backend=auto")
    runtime = getattr(getattr(cupy, "cuda", None), "runtime", None)
    if runtime is None:
        raise UsageError("backend='cupy': CuPy is incomplete; install it anew, or give backend=auto")
    try:
        count, why = runtime.getDeviceCount(), "no GPU was found"
    except runtime.CUDARuntimeError as error:
        count, why = 0, f"no GPU was found ({' '.join(str(error).split())})"
    if not count:
        raise UsageError(f"backend='cupy': {why}; give backend=auto")
    import array_api_compat.cupy as xp

    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return Device(f"CuPy on {name}", xp, None, cupy.asnumpy, TILE_BYTES_OF_GPU)


def free_bytes_of_gpu() -> int:
    """Return the bytes that this process may still take on the GPU: what is free there and what CuPy keeps for itself, up to CuPy's limit."""
    import cupy

    pool = cupy.get_default_memory_pool()
    free, limit = cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes(), pool.get_limit()
    return int(min(free, limit - pool.used_bytes()) if limit else free)
