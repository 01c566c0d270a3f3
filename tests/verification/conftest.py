"""Runs that several tests judge."""

import pytest

import mvsim


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    """A folder with a settled run of each method, erm.nc and midpoint.nc."""
    folder = tmp_path_factory.mktemp("runs")
    for method in ("erm", "midpoint"):
        mvsim.simulate(mvsim.Parameters(k=4, d=2000), method, out=folder / f"{method}.nc")
    return folder
