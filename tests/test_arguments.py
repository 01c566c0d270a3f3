"""Arguments of the wrong kind, from Python: one line that names the argument, no error of Python's own."""

import numpy as np
import pytest

import mvsim
from mvsim.plotting import run_figure

P = mvsim.Parameters(k=2, N=4)
DATA = mvsim.sample_dataset(P, 0)
SIMULATE = {"parameters": P, "method": "erm", "integrator": "gd", "t_end": 1.0}

WRONG = {
    "z is no number": (lambda: mvsim.smoothed_relu("many", 0.1, 8), "z: "),
    "z is too large": (lambda: mvsim.smoothed_relu(10**400, 0.1, 8), "z: "),
    "rho is none": (lambda: mvsim.smoothed_relu(1.0, None, 8), "rho=None"),
    "rho is an array": (lambda: mvsim.smoothed_relu(1.0, np.zeros(3), 8), "rho=array"),
    "alpha is too large": (lambda: mvsim.smoothed_relu_derivative(1.0, 0.1, 10**5000), "alpha=1000"),
    "alpha is too small": (lambda: mvsim.smoothed_relu_second_derivative(1.0, 0.1, 0.5), "alpha=0.5"),
    "k is none": (lambda: mvsim.random_features(None, 8, 0), "k=None"),
    "k is too large": (lambda: mvsim.random_features(10**5000, 8, 0), "k=1000"),
    "d is too large": (lambda: mvsim.random_features(2, 10**40, 0), "d=1000"),
    "view is an array": (lambda: DATA.keep_view(np.zeros(3)), "view=array"),
    "view is 2": (lambda: DATA.own_coefficients(2), "view=2"),
    "runs is a number": (lambda: run_figure(5), "runs=5"),
    "runs is an array": (lambda: run_figure(np.zeros(3)), "runs=array"),
    "runs to verify is an array of no dimension": (lambda: mvsim.verify(np.array("x")), "runs=array"),
    "theorems is a number": (lambda: mvsim.verify(theorems=5), "theorems=5"),
    "k of verify is an array beside runs": (lambda: mvsim.verify("run.nc", k=np.zeros(3)), "k: "),
    "redraw is an array": (lambda: mvsim.objective("mixup", P, DATA, redraw=np.zeros(3)), "redraw=array"),
    "progress is a number": (lambda: mvsim.simulate(**SIMULATE, progress=5), "progress=5"),
    "progress is an array": (lambda: mvsim.simulate(**SIMULATE, progress=np.zeros(3)), "progress=array"),
    "the old name of eta": (lambda: mvsim.simulate(**SIMULATE, learning_rate=1.0), "learning_rate=1.0: "),
}


@pytest.mark.parametrize("case", WRONG)
def test_it_is_named(case):
    call, named = WRONG[case]
    with pytest.raises(mvsim.UsageError) as caught:
        call()
    assert str(caught.value).startswith(named)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300
