"""Settled runs, simulated once for all tests of verification."""

import pytest
from altered_runs import SMALL

import mvsim


@pytest.fixture(scope="session")
def runs():
    """A run of each kind, settled: ERM with one view learned, midpoint with both."""
    erm = mvsim.simulate(mvsim.Parameters(**SMALL, d=400), "erm", n_test=5)
    return {"erm": erm, "midpoint": mvsim.simulate(mvsim.Parameters(**SMALL, d=150), "midpoint", n_test=5)}


@pytest.fixture(params=["erm", "midpoint"])
def run(request, runs):
    return runs[request.param]


@pytest.fixture
def erm(runs):
    return runs["erm"]


@pytest.fixture
def midpoint(runs):
    return runs["midpoint"]
