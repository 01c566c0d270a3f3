"""What would fit into memory, said in the sizes of a problem, before anything is allocated."""

from __future__ import annotations

import math
from collections.abc import Callable

from mvsim.base.errors import UsageError
from mvsim.base.free_memory import available_bytes
from mvsim.multi_view.parameters import Parameters


def check_fits(parameters: Parameters, bytes_of: Callable[[Parameters], int], purpose: str, free: Callable[[], int | None] | None = None) -> int:
    """Return the predicted bytes, or raise `UsageError` with what would fit; ``free`` tells the bytes there are, by default `available_bytes`."""
    needed, available = bytes_of(parameters), (free or available_bytes)()
    if available is not None and needed > available:
        p = parameters
        fixed = p.described.fixed
        sizes = ", ".join(f"{name}={getattr(p, name)}" for name in ("k", "m", "N", "P", "G", "noise") if name not in fixed)
        others = "" if p.noise == "codebook" or "noise" in fixed else ", or noise=codebook, whose cost does not depend on P"
        advice = _what_fits(p, bytes_of, available) + others
        raise UsageError(f"{sizes}: would need about {needed:.3g} bytes of memory{purpose} and {available:.3g} are available; {advice}")
    return needed


def _what_fits(p: Parameters, bytes_of: Callable[[Parameters], int], available: int) -> str:
    """Say how large one of k, m, N and G may be, the others as they are."""
    alternatives = []
    least_of = {"k": p.Q + 1, "m": 1, "N": 1, "G": math.ceil(p.k / (p.k - p.Q))}
    names = [name for name in least_of if name not in p.described.fixed]
    for name in names:
        least = least_of[name]
        fits, too_large = least - 1, getattr(p, name)
        while too_large - fits > 1:
            middle = (fits + too_large) // 2
            fits, too_large = (middle, too_large) if bytes_of(p.model_copy(update={name: middle})) <= available else (fits, middle)
        if fits >= least:
            alternatives.append(f"{name} up to {fits}")
    return (
        f"one of these would fit: {', '.join(alternatives)}" if alternatives else f"make several of {', '.join(names[:-1])} and {names[-1]} smaller"
    )
