"""One integer seed, many independent random streams, each with a name.

A stream is fixed by (seed, name) alone, so what one part of the program draws never shifts what another part draws: a larger data set
does not change the initial weights.
"""

from __future__ import annotations

import numpy as np

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError

_NAMES = ("labels", "points", "initial correlations", "feature basis", "codebook", "fresh draws", "power iteration", "mixing", "shuffled labels")


def check_seed(seed: int) -> int:
    """Return ``seed`` as an int, or raise `UsageError` unless it is an integer >= 0."""
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**128:
        raise UsageError(f"seed={echo(seed)}: must be an integer from 0 to 2^128 - 1")
    return int(seed)


def stream(seed: int, name: str, index: int = 0) -> np.random.Generator:
    """Return a fresh generator of a stream, one of the names at the top of this file; ``index`` numbers draws that are made again and again.

    Streams are statistically independent, and the same arguments give the same bits on every machine.
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(check_seed(seed), spawn_key=(_NAMES.index(name), index))))
