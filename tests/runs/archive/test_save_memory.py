"""What a save takes beside the data set that is saved."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak memory where Linux tells it")
@pytest.mark.parametrize("status", ["running", "finished"])
def test_a_save_holds_no_second_copy(tmp_path, status):
    """What it does take: an eighth while values are checked, and the tables of HDF5."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(str(folder) for folder in (HERE.parents[1], HERE.parents[2]))}
    command = [sys.executable, HERE / "save_once.py", tmp_path, status]
    grown, size = map(int, subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout.split())
    assert size > 50e6
    assert grown < 0.5 * size
