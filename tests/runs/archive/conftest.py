import pytest
import xarray
from example_run import example_run
from quick_reading import BY_XARRAY

from mvsim.runs.archive import write_run


@pytest.fixture
def saved(tmp_path):
    """The path of a saved run, the only thing in its directory."""
    path = tmp_path / "run.nc"
    write_run(path, *example_run())
    return path


@pytest.fixture(autouse=True)
def read_by_xarray(monkeypatch):
    """Here files are read as they are outside of tests."""
    monkeypatch.setattr(xarray, "open_dataset", BY_XARRAY)
