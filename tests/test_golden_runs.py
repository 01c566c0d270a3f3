"""Short runs give the numbers that they gave before, to ten times their tolerance, and take no more gradients.

Where a number is meant to change, take over what the failing test prints.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from looping import looping

import mvsim

NEVER = np.inf
SMALL = {"k": 3, "m": 4, "d": 60, "N": 24, "P": 27}
RTOL = 1e-3
ROUND_OFF = 1e-7
"""Of the numbers of gradient descent, whose steps have no tolerance."""

MORE = 1.1
"""Times as many gradients as before are too many."""


class Golden(NamedTuple):
    """A run, and what came of it.

    ``escapes`` has the first escape of each view of each class, and ``learned`` a 1 for each view that is right on all draws.
    """

    parameters: dict[str, Any]
    method: str
    options: dict[str, Any]
    tolerance: float
    escapes: list[list[float]]
    learned: str
    loss: float
    gradients: int


RUNS = {
    "ERM": Golden(
        {"k": 4}, "erm", {"t_end": 1e7}, 10 * RTOL,
        [[NEVER, 5314.8], [3.574e6, NEVER], [NEVER, 419690.0], [11399.0, NEVER]], "01 10 01 10", 8.62387e-06, 1509,
    ),
    "Midpoint Mixup": Golden(
        {"k": 3, "d": 400, "N": 30, "P": 27}, "midpoint", {"t_end": 5e7}, 10 * RTOL,
        [[2.5534e6, 2.5536e6], [2.2886e7, 2.2884e7], [125030.0, 125180.0]], "11 11 11", 0.458009, 2440,
    ),
    "Mixup": Golden(
        SMALL, "mixup", {"nodes": 3, "t_end": 5e4}, 10 * RTOL,
        [[1852.8, 2656.3], [NEVER, NEVER], [188.69, 51.061]], "11 00 11", 0.596546, 1204,
    ),
    "ERM at d = k^20": Golden(
        {"k": 3, "d": 3**20, "N": 30}, "erm", {"t_end": 1e28}, 10 * RTOL,
        [[7.7069e25, NEVER], [NEVER, 2.332e27], [3.8101e24, NEVER]], "10 01 10", 6.91734e-28, 3522,
    ),
    "resting neurons": Golden(
        {"k": 8, "m": 240, "d": 4000, "N": 60, "P": 64}, "erm", {"t_end": 1e5}, 10 * RTOL,
        [
            [176.73, NEVER], [800.16, NEVER], [NEVER, 1571.5], [NEVER, 746.44],
            [1496.3, 1227.2], [1108.3, 26825.0], [1144.5, 9074.3], [NEVER, 468.31],
        ],
        "10 10 01 01 11 11 11 01", 8.56616e-05, 1167,
    ),
    "gradient descent": Golden(
        SMALL, "midpoint", {"integrator": "gd", "eta": 3.0, "t_end": 1.2e4}, ROUND_OFF,
        [[8362.205347, 8824.479921], [NEVER, NEVER], [349.5707736, 186.9922822]], "11 00 11", 0.72300207528, 4000,
    ),
    "linear model": Golden(
        {"k": 3, "model": "linear", "d": 60, "N": 24}, "midpoint", {"t_end": 1e6}, 10 * RTOL,
        [[NEVER, NEVER]] * 3, "11 11 11", 0.445267, 346,
    ),
}  # fmt: skip


@looping("name", RUNS)
def test_a_run_gives_the_golden_numbers(name):
    golden = RUNS[name]
    dataset = mvsim.simulate(mvsim.Parameters(**golden.parameters), golden.method, threads=1, **golden.options).dataset
    escapes = dataset["escape_time"].fillna(NEVER).min("neuron").to_numpy()
    learned = " ".join("".join("1" if share == 1.0 else "0" for share in of_class) for of_class in dataset["feature_learned"].to_numpy()[-1])
    loss, gradients = float(dataset["loss"][-1]), int(dataset["final_evaluations"])
    now = f"now {escapes.tolist()}, {learned!r}, {loss!r}, {gradients}"
    np.testing.assert_allclose(escapes, golden.escapes, rtol=golden.tolerance, err_msg=now)
    assert learned == golden.learned, now
    assert loss == pytest.approx(golden.loss, rel=golden.tolerance), now
    assert gradients <= MORE * golden.gradients, now
