"""Script of test_kill.py: for every number on standard input, fork a process that saves a run again and again, from that step on.

The fork prints its process id, then the step of every save once it is complete. Forking spares each of them the import of xarray.
"""

import os
import sys
import tempfile
from itertools import count
from pathlib import Path

from example_run import example_run

from mvsim.runs.archive import lock_run, read_run, write_run

path = Path(sys.argv[1])
with tempfile.TemporaryDirectory() as directory:
    write_run(f"{directory}/warm.nc", *example_run())
    read_run(f"{directory}/warm.nc")
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        print(os.getpid(), flush=True)
        with lock_run(path):
            for step in count(int(line)):
                write_run(path, *example_run(k=20, m=20, records=100, step=step))
                print(step, flush=True)
    os.waitpid(child, 0)
    print("ended", flush=True)
