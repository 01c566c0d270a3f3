"""Compiled kernels: kept where that is possible, done without where it is not, announced when they are compiled and not otherwise."""

import os
import subprocess
import sys

import pytest
from child_processes import PATIENCE

COMMAND = [
    sys.executable,
    "-m",
    "mvsim",
    "simulate",
    "--k",
    "3",
    "--N",
    "20",
    "--t-end",
    "9",
    "--noise",
    "patch",
    "--method",
    "erm",
    "--integrator",
    "gd",
    "--out",
]


def simulate(directory, *words, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")} | variables
    return subprocess.run([*COMMAND, *words], cwd=directory, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE)


@pytest.mark.slow
def test_without_a_place_for_compiled_code(tmp_path):
    """As in a package that cannot be written, without a home."""
    nowhere = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    answer = simulate(tmp_path, "a.nc", **nowhere)
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr.splitlines()[0] == "mvsim: compiling kernels, up to a minute, once for each method and command"
    assert [line for line in answer.stderr.splitlines() if "NUMBA_CACHE_DIR" in line] == [answer.stderr.splitlines()[1]]
    assert len(answer.stderr.splitlines()) == 2


@pytest.mark.slow
def test_compiled_code_is_announced_kept_and_made_again_if_damaged(tmp_path):
    place = {"NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    first = simulate(tmp_path, "a.nc", **place)
    assert (first.returncode, first.stderr) == (0, "mvsim: compiling kernels, up to a minute, once for each method and command\n")
    for kind in ("nbi", "nbc"):
        path = next((tmp_path / "kept").rglob(f"*mixed_values*.{kind}"))
        path.write_bytes(path.read_bytes()[:7])
        assert simulate(tmp_path, f"{kind}.nc", **place).stderr == first.stderr
    again = simulate(tmp_path, "b.nc", **place)
    assert (again.returncode, again.stderr) == (0, "")


def test_where_numba_must_not_compile(tmp_path):
    forbidden = {"NUMBA_DISABLE_JIT": "1"}
    slow = simulate(tmp_path, "a.nc", **forbidden)
    assert slow.returncode == 0, slow.stderr
    assert slow.stderr.count("\n") == 1
    assert "NUMBA_DISABLE_JIT is set" in slow.stderr
    refused = simulate(tmp_path, "b.nc", "--backend", "numba", **forbidden)
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "NUMBA_DISABLE_JIT" in refused.stderr


def test_a_full_disk_costs_time_only(monkeypatch):
    """The code that cannot be kept is there all the same."""
    from numba.core.caching import IndexDataCacheFile

    from mvsim.multi_view.kernels.jit import compiling

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "save", full)
    compiling.warn_that_nothing_is_kept.cache_clear()

    @compiling.njit(cache=True)
    def double(x):
        return 2 * x

    with pytest.warns(UserWarning, match="No space left on device"):
        assert double(3) == 6
