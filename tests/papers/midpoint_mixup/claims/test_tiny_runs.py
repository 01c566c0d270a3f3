"""Everything can be said of tiny runs, at every power of the activation."""

import numpy as np
import pytest

import mvsim
from mvsim.papers.midpoint_mixup.judge_run import judge

TINY = {
    "one point": {"N": 1},
    "two classes": {"k": 2, "m": 1, "Q": 1, "N": 2},
    "no noise patch": {"N": 3, "P": 4, "delta3": 0.0, "delta4": 0.0},
    "plain ReLU": {"N": 4, "alpha": 1, "d": 3**20},
    "power 2": {"N": 4, "alpha": 2, "d": 3**20},
    "power 2.1": {"N": 4, "alpha": 2.1, "noise": "patch"},
    "power 64": {"N": 5, "alpha": 64, "d": 3**20, "noise": "point"},
    "power 64, small signals": {"N": 5, "alpha": 64, "delta1": 1e-6, "delta2": 2e-6},
    "power 50, large signals": {"N": 5, "alpha": 50, "delta1": 1e3, "delta2": 1e4},
}


@pytest.mark.filterwarnings("ignore:eta=2 exceeds:UserWarning")
@pytest.mark.parametrize("case", TINY)
@pytest.mark.parametrize("method", ["erm", "midpoint"])
@pytest.mark.parametrize("steps", [1, 40])
def test_everything_can_be_said_of_tiny_runs(case, method, steps):
    p = mvsim.Parameters(**{"k": 3, "m": 2, "P": 8, **TINY[case]})
    run = mvsim.simulate(p, method, integrator="gd", eta=2.0, t_end=2.0 * steps, n_test=2)
    verdicts = judge(run, "4.6" if method == "erm" else "4.7").verdicts
    assert len(verdicts) > 20
    for verdict in verdicts:
        assert verdict.measured is None or not np.isnan(verdict.measured), verdict
        assert "nan" not in verdict.detail, verdict
