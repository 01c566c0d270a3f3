import pytest
from example_run import example_run

from mvsim.runs.archive import write_run


@pytest.fixture
def saved(tmp_path):
    """The path of a saved run, the only thing in its directory."""
    path = tmp_path / "run.nc"
    write_run(path, *example_run())
    return path
