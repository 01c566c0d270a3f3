"""Studies of small runs, and what two folders of one study are compared by."""

from __future__ import annotations

from example_run import assert_same_bits
from tiny_run import RATE, TINY

import mvsim

SMALL = {**TINY, "integrator": "gd", "eta": RATE, "n_test": 4, "method": "erm,midpoint", "seed": "0:2"}
"""Four runs, without their end."""


def steps(count, **values):
    """Return a study of runs of so many steps of gradient descent."""
    return {**SMALL, "t_end": RATE * count, **values}


def assert_same_runs(one, other):
    """Fail unless two folders hold the same runs, bit for bit, and the same table."""
    first, second = mvsim.open_runs(one), mvsim.open_runs(other)
    assert first.table.to_csv() == second.table.to_csv()
    assert set(first.table["state"]) == {"done"}
    for index in range(len(first.study.cells)):
        assert_same_bits(first.run(index).dataset, second.run(index).dataset)
