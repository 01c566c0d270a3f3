"""What a run is predicted to need is what it takes."""

import gc
import tracemalloc

import numpy as np
import pytest
from tolerances import MEMORY

import mvsim
from mvsim.multi_view.kernels import BACKENDS, KERNELS, ORACLE, memory_of
from mvsim.multi_view.memory import bytes_of_arrays, bytes_of_points, bytes_of_test
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.runs.recording.fresh_draws import FeatureTest
from mvsim.runs.simulation.cost import required_bytes
from mvsim.runs.simulation.options import DEFAULTS

PROBLEMS = {
    "codebook, erm": ({"k": 20, "m": 40, "N": 600}, "erm", "auto"),
    "three views, erm": ({"k": 20, "m": 30, "V": 3}, "erm", "auto"),
    "codebook, midpoint": ({"k": 10, "N": 200}, "midpoint", "auto"),
    "many patterns, erm": ({"k": 20, "N": 200, "G": 30_000}, "erm", "auto"),
    "codebook, fixed layout, midpoint": ({"k": 10, "m": 5, "N": 120, "G": 8, "signal_layout": "fixed"}, "midpoint", "auto"),
    "point, midpoint": ({"k": 10, "m": 5, "N": 90, "noise": "point"}, "midpoint", "auto"),
    "patch, erm": ({"k": 8, "m": 2, "N": 400, "P": 200, "noise": "patch"}, "erm", "auto"),
    "patch, midpoint": ({"k": 6, "m": 2, "N": 100, "P": 20, "noise": "patch"}, "midpoint", "auto"),
    "array, midpoint": ({"k": 10, "N": 300}, "midpoint", "array"),
    "array, patch, midpoint": ({"k": 6, "m": 2, "N": 100, "P": 20, "noise": "patch"}, "midpoint", "array"),
    "array, erm": ({"k": 10, "m": 20, "N": 1000}, "erm", "array"),
}
"""All are large enough that what is counted outweighs the small change."""


ON_THE_HOST = [backend for backend in BACKENDS if not any(entry.on_gpu for entry in KERNELS if entry.backend == backend)]


def peak_of_a_run(parameters, method, backend="auto"):
    """The most bytes that Python and NumPy hold at once while a run takes a step.

    A smaller run has been made before: what it loads on its first time (kernels, libraries) is no part of its arrays.
    """
    options = {"t_end": 1.0, "integrator": "gd", "eta": 1.0, "backend": backend}
    mvsim.simulate(parameters.replace(N=20), method, **options)
    gc.collect()
    tracemalloc.start(1)
    try:
        mvsim.simulate(parameters, method, **options)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def agrees(predicted, measured):
    return abs(predicted / measured - 1.0) <= MEMORY


def arrays(parameters, mixes, backend="auto"):
    return bytes_of_arrays(parameters, mixes, memory_of(parameters, backend), DEFAULTS.n_test)


@pytest.mark.parametrize("case", PROBLEMS)
def test_predicted_memory_of_the_arrays_is_what_a_run_takes(case):
    """A GPU takes larger pieces (tests/multi_view/kernels/test_gpu.py)."""
    fields, method, backend = PROBLEMS[case]
    parameters = mvsim.Parameters(**fields)
    measured = peak_of_a_run(parameters, method, backend)
    predicted = arrays(parameters, OBJECTIVES[method].mixes, backend)
    assert agrees(predicted, measured), f"predicted {predicted / 2**20:.1f} MiB, measured {measured / 2**20:.1f} MiB"
    assert not agrees(1.5 * predicted, measured)


def test_a_run_needs_the_libraries_besides_its_arrays():
    small, large = mvsim.Parameters(k=3, N=10), mvsim.Parameters(k=50, N=6000)
    assert required_bytes(small, mixes=True, integrator="gd") > 10 * arrays(small, mixes=True)
    with_libraries, without = required_bytes(large, mixes=True, integrator="gd"), arrays(large, mixes=True)
    assert with_libraries > without > 0.5 * with_libraries
    assert required_bytes(large, mixes=True) > with_libraries


@pytest.mark.parametrize("fields", [{"G": 20_000, "N": 50}, {"N": 8000}, {"N": 5000, "C_P": 10}, {"N": 1000, "noise": "patch"},
                                    {"N": 8000, "V": 3}, {"N": 8000, "V": 1}, {"N": 1000, "V": 3, "noise": "patch"}])  # fmt: skip
def test_predicted_memory_of_points_is_what_drawing_them_takes(fields):
    p = mvsim.Parameters(k=10, **fields)
    tracemalloc.start(1)
    try:
        mvsim.sample_dataset(p, 0)
        measured = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert agrees(bytes_of_points(p, p.N), measured), f"predicted {bytes_of_points(p, p.N)}, measured {measured}"


TOO_LARGE = {"G": {"G": 10**9}, "N": {"N": 10**9}, "N of each point": {"N": 10**8, "noise": "point"}}


@pytest.mark.parametrize("case", TOO_LARGE)
def test_what_does_not_fit_is_refused_before_it_is_drawn_with_what_would(case, monkeypatch):
    monkeypatch.setattr("mvsim.multi_view.memory.available_bytes", lambda: 2**30)
    p, name = mvsim.Parameters(k=3, **TOO_LARGE[case]), case[0]
    for draw in (lambda: mvsim.sample_dataset(p, 0), lambda: mvsim.simulate(p)):
        with pytest.raises(mvsim.UsageError, match=rf"{name}={getattr(p, name)}.* of memory .* would fit: .*{name} up to (\d+)") as caught:
            draw()
        fits = int(str(caught.value).split(f"{name} up to ")[1].split(",")[0])
        assert 1 <= fits < getattr(p, name)
        assert ("or noise=codebook" in str(caught.value)) == (p.noise != "codebook")
    if name == "G":
        with pytest.raises(mvsim.UsageError, match=r"G=1000000000, .* would fit: G up to"):
            mvsim.feature_learned(p, np.zeros((p.k, p.m, p.k, 2)))


def test_what_would_fit_fits_and_one_more_does_not(monkeypatch):
    p = mvsim.Parameters(k=6, G=10**6)
    monkeypatch.setattr("mvsim.multi_view.memory.available_bytes", lambda: 2**24)
    with pytest.raises(mvsim.UsageError, match="G up to") as caught:
        mvsim.sample_dataset(p, 0)
    fits = int(str(caught.value).split("G up to ")[1].split(",")[0])
    assert bytes_of_points(p.replace(G=fits), p.N) <= 2**24 < bytes_of_points(p.replace(G=fits + 1), p.N)


@pytest.mark.parametrize(
    ("noise", "backend", "V"),
    [*((noise, backend, 2) for noise in ("codebook", "patch") for backend in ON_THE_HOST), ("patch", "auto", 3), ("codebook", ORACLE.backend, 1)],
)
def test_predicted_memory_of_the_tests_of_feature_learning_is_what_they_take(noise, backend, V):
    """More draws than in a run, so that they outweigh the rest."""
    p, n_test = mvsim.Parameters(k=6, V=V, m=4, N=2, P=40, noise=noise), 1500
    c = mvsim.initial_correlations(p, 0)
    FeatureTest(p, 1, 0, 1, backend).fraction_learned(c)
    tracemalloc.start(1)
    try:
        FeatureTest(p, n_test, 0, 1, backend).fraction_learned(c)
        measured = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    predicted = bytes_of_test(p, memory_of(p, backend), n_test)
    assert agrees(predicted, measured), f"predicted {predicted / 2**20:.1f} MiB, measured {measured / 2**20:.1f} MiB"


@pytest.mark.parametrize(
    ("method", "fields"),
    [
        ("erm", {"k": 10, "N": 2000}),
        ("erm", {"k": 14, "N": 1000, "C_P": 3}),
        ("midpoint", {"k": 10, "N": 1000}),
        ("midpoint", {"k": 30}),
        ("midpoint", {"k": 6, "N": 500, "noise": "point"}),
    ],
)
def test_predicted_memory_of_the_hessian_is_what_it_takes(method, fields):
    """With two neurons of a class escaped."""
    p = mvsim.Parameters(m=4, **fields)
    objective, c = mvsim.objective(method, p, mvsim.sample_dataset(p, 0)), mvsim.initial_correlations(p, 0)
    c[np.arange(p.k), :2, np.arange(p.k)] = 3.0
    objective.loss_and_gradient(c)
    tracemalloc.start(1)
    try:
        objective.curvature(c)
        measured = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    predicted = 8 * memory_of(p, "auto").run(p, OBJECTIVES[method].mixes).stiff_hessian
    assert agrees(predicted, measured), f"predicted {predicted / 2**20:.1f} MiB, measured {measured / 2**20:.1f} MiB"


def test_objectives_and_tests_that_do_not_fit_are_refused_with_what_would(monkeypatch):
    small = mvsim.Parameters(k=4, N=2000)
    data, c = mvsim.sample_dataset(small, 0), mvsim.initial_correlations(small, 0)
    patches = mvsim.Dataset.from_patches(data.labels, data.to_patches())
    monkeypatch.setattr("mvsim.multi_view.memory.available_bytes", lambda: 5 * 2**20)
    for points in (data, patches):
        with pytest.raises(mvsim.UsageError, match=r"N=2000, .* [MG]iB of memory for the objective .* would fit: .*N up to"):
            mvsim.objective("midpoint", mvsim.Parameters(k=4, N=3), points).loss(c)  # what counts is the size of the data
    mvsim.objective("mixup", small, data, pairs=5).loss(c)
    with pytest.raises(mvsim.UsageError, match=r"[MG]iB of memory for 100000 draws of each class"):
        mvsim.feature_learned(small, c, n_test=10**5)
    monkeypatch.undo()
    assert mvsim.objective("midpoint", small, data).loss(c) > 0.0


@pytest.mark.parametrize("options", [{"pairs": 100}, {"mixing": 1.0}])
def test_a_run_that_does_not_sum_all_pairs_is_not_refused_for_their_tables(options, monkeypatch):
    p = mvsim.Parameters(k=4, m=2, N=2000)
    between = 0.5 * (required_bytes(p, mixes=False, integrator="gd") + required_bytes(p, mixes=True, integrator="gd"))
    monkeypatch.setattr("mvsim.multi_view.memory.available_bytes", lambda: between)
    run = {"method": "mixup", "integrator": "gd", "eta": 1.0, "t_end": 1.0, "n_test": 2}
    mvsim.simulate(p, **run, **options)
    with pytest.raises(mvsim.UsageError, match="MiB of memory"):
        mvsim.simulate(p, **run)


def test_given_points_count_as_they_are(monkeypatch):
    """Written out as patches they take more than in the form in which they are drawn."""
    p, options = mvsim.Parameters(k=4, m=2, N=600), {"integrator": "gd", "eta": 1.0, "t_end": 1.0, "n_test": 2}
    data = mvsim.Dataset.from_patches(mvsim.sample_dataset(p, 0).labels, mvsim.sample_dataset(p, 0).to_patches())
    needs = [required_bytes(sized, mixes=True, integrator="gd") for sized in (p, data.sized(p))]
    assert needs[0] < needs[1]
    monkeypatch.setattr("mvsim.multi_view.memory.available_bytes", lambda: sum(needs) / 2.0)
    mvsim.simulate(p, **options)
    with pytest.raises(mvsim.UsageError, match="MiB of memory"):
        mvsim.simulate(p, data=data, **options)
