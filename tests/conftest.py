"""Fixtures shared by all tests, and the one Hypothesis profile: derandomised, so that the same commit gives the same outcome everywhere."""

import os

# Before numpy is loaded, here and in child processes: of tiny products several threads make much ado.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import signal

import hypothesis
import problems
import pytest
import quick_reading
import xarray
from child_processes import end
from filelock import FileLock
from hypothesis import HealthCheck
from tiny_run import SETTLING, settled_run
from usable import cases

from mvsim.multi_view.kernels import BACKENDS

hypothesis.settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=25,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],  # the first example of a test also waits for numba to compile
)
hypothesis.settings.load_profile("ci")


FIRST = (
    "tests/multi_view/kernels/",
    "tests/multi_view/objectives/",
    "tests/pictures/test_figure.py",
    "tests/pictures/test_output.py",
    "tests/pictures/test_animation.py",
    "tests/cli/test_compiling.py",
    "tests/cli/test_plot.py",
    "tests/base/test_plain_values.py",
    "tests/reports/",
    "tests/sweeps/test_dask.py",
    "tests/cli/",
    "tests/flow/",
    "tests/papers/",
    "tests/runs/simulation/",
)
"""What begins: all kernels, which one process compiles and keeps; what hardly needs one, for the others meanwhile; and then what takes long."""


def pytest_collection_modifyitems(config, items):
    """Begin with what takes long, so that in the end no process waits for another; keep one case of each test that is skipped without a GPU."""
    names, kept, left_out = set(), [], []
    for item in items:
        name = item.nodeid.partition("[")[0]
        waits = item.get_closest_marker("gpu") and any(mark.args[0] for mark in item.iter_markers("skipif"))
        (left_out if waits and name in names else kept).append(item)
        if waits:
            names.add(name)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept
    items.sort(key=lambda item: next((place for place, start in enumerate(FIRST) if item.nodeid.startswith(start)), len(FIRST)))


@pytest.fixture(scope="session", autouse=True)
def quick_reader():
    """Run files are read the quick way, hundreds of times; tests/runs/archive reads them as everyone does, and so do child processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xarray, "open_dataset", quick_reading.open_dataset)
        yield


@pytest.fixture(params=sorted(problems.PARAMETERS))
def problem(request):
    """Every problem of problems.PARAMETERS in turn."""
    return problems.problem(request.param)


@pytest.fixture(params=cases(BACKENDS[1:]))
def backend(request):
    """Every backend in turn."""
    return request.param


@pytest.fixture
def ending():
    """Takes note of a process and returns it; it ends with the test, however that ends: left behind, it would take a core from all later ones."""
    noted = []

    def note(process):
        noted.append(process)
        return process

    yield note
    for process in noted:
        end(process)


@pytest.fixture
def ctrl_c():
    """SIGINT as in a terminal, here and in child processes, also where pytest was started with it ignored, as in the background of a script."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    """A folder with a settled run of each method, erm.nc and midpoint.nc, which no test changes; one process makes them for all."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "settled_runs"
    with FileLock(f"{folder}.lock"):
        folder.mkdir(exist_ok=True)
        for method in SETTLING:
            if not (folder / f"{method}.nc").exists():
                settled_run(method, folder / f"{method}.nc")
    return folder


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Hand out tests file by file, but those of the kernels and of the objectives together: they would compile the same code side by side."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return "kernels" if file.startswith(("tests/multi_view/kernels/", "tests/multi_view/objectives/")) else file

    config.option.loadscopereorder = False  # as they were collected, not by their number
    return Scheduling(config, log)
