"""Script of test_save_memory.py: save a run with a large array, and print by how many bytes the peak memory grew and how large the file is."""

import sys
from pathlib import Path

import numpy as np
from example_run import example_run

from mvsim.runs.archive import write_run


def peak():
    """The largest resident memory of this process so far."""
    return next(1024 * int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))


folder, status = Path(sys.argv[1]), sys.argv[2]
dataset, provenance = example_run()
write_run(folder / "warm.nc", dataset, provenance | {"status": status})
large = dataset.assign(large=(("records", "labels", "neurons"), np.random.default_rng(0).standard_normal((1000, 80, 100))))
before = peak()
write_run(folder / "run.nc", large, provenance | {"status": status})
print(peak() - before, (folder / "run.nc").stat().st_size)
