"""Runs side by side by Dask: the same bits as one after another, whatever dies meanwhile. With a real scheduler and real worker processes."""

import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest
from child_processes import PATIENCE, wait_for
from lib.sweep_processes import start_sweep, workers_of
from small_sweeps import assert_same_runs, steps
from usable import missing

import mvsim
from mvsim.base.errors import UsageError
from mvsim.sweeps.dask_engine import DEATHS, Dask
from mvsim.sweeps.engine import Serial
from mvsim.sweeps.folder import SweepFolder
from mvsim.sweeps.study import Study
from mvsim.sweeps.sweep import run_sweep

pytestmark = pytest.mark.slow

LONG = steps(12_000, method="erm", seed="0:3")
"""Runs of a second or more each."""

SOON = 60.0
"""Seconds; it takes six, and more where the machine is slow."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of an undisturbed sweep, one run after another."""
    return run_sweep(LONG, tmp_path_factory.mktemp("whole") / "runs").path


@pytest.fixture
def sweep(ending):
    """Start ``mvsim sweep`` as a process of its own session: Dask leaves sockets to the garbage collector, which pytest takes for errors."""

    def start(out, *more, values=LONG, checkpoint_seconds=0.1):
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return ending(start_sweep(values, out, "--checkpoint-seconds", checkpoint_seconds, *more, start_new_session=True, **streams))

    return start


@pytest.fixture
def swept(sweep):
    """Run ``mvsim sweep`` to its end and return its exit code and stderr."""

    def run(out, *more):
        process = sweep(out, *more)
        _, err = process.communicate(timeout=PATIENCE)
        return process.returncode, err

    return run


def begun(out):
    """Return how many runs have been saved, once any has."""
    return len(list(out.glob("*.nc"))) if out.exists() else 0


def test_side_by_side_gives_the_same_bits(tmp_path, whole, swept):
    code, err = swept(tmp_path / "runs", "--workers", "2")
    assert code == 0, err
    assert err.startswith("mvsim: 3 of 3 cells to do; 2 worker processes")
    assert all(re.match(r"mvsim: \d of 3 cells done", line) for line in err.splitlines()[1:])
    assert_same_runs(tmp_path / "runs", whole)
    assert swept(tmp_path / "runs") == (0, "")


def test_workers_that_are_killed_cost_what_they_had_not_saved(tmp_path, whole, sweep):
    process, kills = sweep(tmp_path / "runs", "--workers", "2"), 0
    rng = random.Random(3)
    while process.poll() is None and kills < 4:
        wait_for(lambda: process.poll() is not None or (begun(tmp_path / "runs") and workers_of(process)))
        time.sleep(rng.uniform(0.3, 1.2))
        for victim in rng.sample(found, 1) if (found := workers_of(process)) else []:
            with contextlib.suppress(psutil.Error):
                victim.kill()
                kills += 1
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, kills > 0) == (0, True), err
    assert "Traceback" not in err, err
    assert_same_runs(tmp_path / "runs", whole)


def test_a_sweep_that_is_killed_goes_on(tmp_path, whole, sweep, swept):
    for wait in (0.2, 1.0):
        process = sweep(tmp_path / "runs", "--workers", "2")
        wait_for(lambda process=process: begun(tmp_path / "runs") or process.poll() is not None)
        time.sleep(wait)
        children = workers_of(process)
        process.kill()
        process.communicate(timeout=PATIENCE)
        for child in children:  # they end with the process that started them
            wait_for(lambda child=child: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
    assert swept(tmp_path / "runs", "--workers", "2")[0] == 0
    assert_same_runs(tmp_path / "runs", whole)


def test_ctrl_c_says_how_to_go_on(tmp_path, whole, ctrl_c, sweep):
    process = sweep(tmp_path / "runs", "--workers", "2")
    wait_for(lambda: begun(tmp_path / "runs"))
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Traceback" not in err, err
    last = err.strip().splitlines()[-1]
    assert last.startswith("mvsim: interrupted with ")
    assert "resume with: mvsim sweep " in last
    run_sweep(LONG, tmp_path / "runs")
    assert_same_runs(tmp_path / "runs", whole)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def cluster(port, workers=2):
    """A scheduler and workers, each a process of its own; killed at the end."""
    address = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    processes = [subprocess.Popen([*dask, "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"], **quiet)]
    try:
        wait_for(lambda: _listens(port))
        for _ in range(workers):
            processes.append(subprocess.Popen([*dask, "worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"], **quiet))
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0):
        return True
    return False


def test_a_scheduler_that_is_restarted_goes_on(tmp_path, whole, sweep):
    port = free_port()
    with cluster(port):
        process = sweep(tmp_path / "runs", "--scheduler", f"tcp://127.0.0.1:{port}")
        wait_for(lambda: begun(tmp_path / "runs"))
    assert process.poll() is None
    with cluster(port):
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    assert "Traceback" not in err, err
    assert_same_runs(tmp_path / "runs", whole)


def test_a_run_that_kills_every_worker_is_given_up(tmp_path, sweep):
    values = {**LONG, "seed": 0}
    folder = SweepFolder.create(tmp_path / "runs", Study.of(values))
    path = folder.path_of(folder.study.cells[0])
    process = sweep(folder.path, "--workers", "1", values=values, checkpoint_seconds=1e6)
    lock = path.with_name(f".{path.name}.lock")
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.2)
        if lock.exists():  # a worker is at work
            time.sleep(0.5)
            for child in workers_of(process):
                with contextlib.suppress(psutil.Error):
                    child.kill()
            lock.unlink(missing_ok=True)  # the next one has not begun before it is there again
    _, err = process.communicate(timeout=PATIENCE)
    message = f"its worker died {DEATHS} times before the run had saved anything new"
    assert process.returncode == 1
    assert message in err
    assert message in folder.standing(folder.study.cells[0]).message


def test_a_scheduler_that_is_not_there_is_named_soon(tmp_path):
    start = time.monotonic()
    with pytest.raises(UsageError, match=r"scheduler='tcp://127\.0\.0\.1:\d+': cannot be reached .*; start one with `dask scheduler`"):
        run_sweep(LONG, tmp_path / "runs", engine=Dask(f"tcp://127.0.0.1:{free_port()}"))
    assert time.monotonic() - start < SOON
    for address in ("nowhere", "tcp://127.0.0.1", "tcp://127.0.0.1:seven", "", "ucx://127.0.0.1:1", "http://127.0.0.1:1"):
        with pytest.raises(UsageError, match="cannot be reached"):
            run_sweep(LONG, tmp_path / "runs", engine=Dask(address))


def test_a_port_that_never_answers_is_named_soon(tmp_path):
    start = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(UsageError, match=r"cannot be reached \(no answer within 6 s\); start one with `dask scheduler`"):
            run_sweep(LONG, tmp_path / "runs", engine=Dask(address))
    assert time.monotonic() - start < SOON
    assert not (tmp_path / "runs").exists()


def test_no_more_workers_than_fit_in_memory(tmp_path, monkeypatch):
    from mvsim.sweeps import dask_engine
    from mvsim.sweeps.sweep import jobs_of

    folder = SweepFolder.create(tmp_path / "runs", Study.of(LONG))
    jobs = jobs_of(folder, [folder.standing(cell) for cell in folder.study.cells])
    monkeypatch.setattr(dask_engine, "available_cores", lambda: 8)
    size = dask_engine.bytes_of(jobs[0].cell)
    for room, workers in ((100 * size, 3), (2.5 * size, 2), (0.5 * size, 1)):
        monkeypatch.setattr(dask_engine, "available_bytes", lambda room=room: int(room))
        assert Dask()._workers_for(jobs) == workers
    assert Dask(workers=5)._workers_for(jobs) == 5


def test_one_worker_for_each_gpu_that_is_seen(tmp_path, monkeypatch):
    from mvsim.sweeps import dask_engine
    from mvsim.sweeps.sweep import jobs_of

    monkeypatch.setattr(dask_engine, "available_cores", lambda: 8)
    monkeypatch.setattr(dask_engine, "available_bytes", lambda: None)
    monkeypatch.setattr(dask_engine, "bytes_of", lambda cell: 1)
    monkeypatch.setattr(dask_engine, "gpus_there", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    for backends, workers in (("cupy", 2), ("numba", 3), (["cupy", "numba"], 6)):
        folder = SweepFolder.create(tmp_path / str(workers), Study.of(LONG | {"backend": backends}))
        jobs = jobs_of(folder, [folder.standing(cell) for cell in folder.study.cells])
        assert Dask()._workers_for(jobs) == workers


@pytest.mark.skipif(not missing("cupy"), reason="there is a GPU")
@pytest.mark.parametrize("engine", [Serial(), Dask(workers=1)])
def test_a_backend_that_is_not_there_is_refused_before_anything_is_made(engine, tmp_path):
    with pytest.raises(UsageError, match=r"^backend='cupy': "):
        run_sweep(LONG | {"backend": "cupy"}, tmp_path / "runs", engine=engine)
    assert not (tmp_path / "runs").exists()


def test_what_contradicts_is_refused():
    with pytest.raises(UsageError, match="workers=2, scheduler='tcp://x:1': that scheduler has workers already"):
        Dask("tcp://x:1", 2)
    with pytest.raises(UsageError, match="workers=0: must be an integer from 1"):
        Dask(workers=0)


def test_without_dask_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"needs Dask, which is not installed; install it with `pip install \"\.\[sweep\]\"` where"):
        Dask()
    assert mvsim.run_sweep(steps(3), tmp_path / "runs")  # one after another needs none of it


def test_the_configuration_of_a_site_does_not_reach_workers_here(tmp_path):
    site = {"REQUIRE_ENCRYPTION": ("COMM", "True"), "DEFAULT_SCHEME": ("COMM", "tls"), "PRELOAD": ("WORKER", '["nonsense"]')}
    environment = os.environ | {f"DASK_DISTRIBUTED__{part}__{name}": value for name, (part, value) in site.items()}
    values = ("--k", "3", "--m", "2", "--N", "12", "--P", "9", "--d", "60", "--G", "6", "--method", "erm", "--t-end", "3", "--n-test", "2")
    command = [sys.executable, "-m", "mvsim", "sweep", *values, "--workers", "1", "--quiet", "--json", "--out", "cells"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["done"] == 1
