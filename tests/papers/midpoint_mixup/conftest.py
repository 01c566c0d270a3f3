"""Settled runs, simulated once for all tests."""

import pytest

import mvsim


@pytest.fixture(scope="session")
def runs(run_folder):
    """A settled run of each kind: ERM with one view learned, midpoint with both. No test changes them."""
    return {method: mvsim.open_run(run_folder / f"{method}.nc") for method in ("erm", "midpoint")}


@pytest.fixture(params=["erm", "midpoint"])
def run(request, runs):
    return runs[request.param]


@pytest.fixture
def erm(runs):
    return runs["erm"]


@pytest.fixture
def midpoint(runs):
    return runs["midpoint"]
