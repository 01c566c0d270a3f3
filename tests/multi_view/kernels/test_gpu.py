"""The kernel on a GPU: against the compiled kernel, its bits, its memory. All of it is skipped where there is none."""

import numpy as np
import problems
import pytest
from objective_cases import LARGER, every_objective, everything, larger, objective
from tolerances import MEMORY
from usable import marks, missing

import mvsim
from mvsim.multi_view.kernels import check_device_memory, entry_for_draws

on_a_gpu = [marks("cupy")[0], marks("cupy")[1]]


@pytest.mark.parametrize("case", [pytest.param(kind, marks=on_a_gpu) for kind in LARGER])
@every_objective
def test_its_bits_repeat(name, case):
    problem = larger(case)
    first = everything(objective(name, problem, "cupy"), problem)
    for _ in range(5):
        for one, other in zip(first, everything(objective(name, problem, "cupy"), problem), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("fields", "method"),
    [pytest.param(fields, method, marks=on_a_gpu) for fields in ({"k": 50, "N": 1000}, {"k": 20, "N": 4000}) for method in ("erm", "midpoint")],
)
def test_its_memory_is_as_predicted(fields, method):
    import cupy

    pool, p = cupy.get_default_memory_pool(), mvsim.Parameters(**fields)
    pool.free_all_blocks()
    before = pool.total_bytes()
    tested = mvsim.objective(method, p, mvsim.sample_dataset(p, 0), backend="cupy")
    tested.hessian_vector_product(problems.spread_correlations(p, np.random.default_rng(0)), np.ones(p.correlations_shape))
    measured, needs = pool.total_bytes() - before, entry_for_draws(p, "cupy").memory.on_device(p, tested.sums_all_pairs)
    assert abs(8 * (needs.stays + needs.product) / measured - 1.0) <= MEMORY


@pytest.mark.parametrize("method", [pytest.param(method, marks=on_a_gpu) for method in ("erm", "midpoint")])
def test_whole_steps_of_the_flow_are_those_of_the_compiled_kernel(method):
    """Through escapes; and the same bits twice."""
    p, rtol = mvsim.Parameters(k=3, m=3, N=18, P=16, d=300), 1e-3
    runs = [
        mvsim.simulate(p, method, t_end={"erm": 3e3, "midpoint": 1e5}[method], n_test=2, backend=backend) for backend in ("cupy", "cupy", "numba")
    ]
    first, again, here = (run.final_correlations for run in runs)
    np.testing.assert_array_equal(first, again)
    assert np.max(np.abs(first - here) / np.abs(here).max(axis=(2, 3), keepdims=True)) <= 10.0 * rtol


@pytest.mark.parametrize("method", ["erm", "midpoint"])
def test_what_does_not_fit_on_the_gpu_is_refused_with_what_would(method, monkeypatch):
    """The GPU of this test says how much is free on it; nothing is computed there."""
    monkeypatch.setattr("mvsim.multi_view.kernels.registry.free_bytes_of_gpu", lambda: 2**22)
    p = mvsim.Parameters(k=50, N=4000)
    with pytest.raises(mvsim.UsageError, match=r"N=4000, .* [MG]iB of memory on the GPU and 4 MiB are available; .*"):
        check_device_memory(p, method == "midpoint", "cupy")
    check_device_memory(p, method == "midpoint", "array")  # has no memory of its own
    monkeypatch.setattr("mvsim.multi_view.kernels.registry.free_bytes_of_gpu", lambda: None)
    check_device_memory(p, method == "midpoint", "cupy")


@pytest.mark.skipif(not missing("cupy"), reason="there is a GPU")
def test_without_a_gpu_every_way_to_it_says_so():
    p = mvsim.Parameters(k=3, N=6)
    data, c = mvsim.sample_dataset(p, 0), mvsim.initial_correlations(p, 0)
    for ask in (
        lambda: mvsim.objective("erm", p, data, backend="cupy"),
        lambda: mvsim.simulate(p, backend="cupy"),
        lambda: mvsim.runs.recording.fresh_draws.FeatureTest(p, backend="cupy").fraction_learned(c),
    ):
        with pytest.raises(mvsim.UsageError, match=r"^backend='cupy': .*; .*give backend=auto$"):
            ask()


def test_auto_takes_no_gpu():
    assert [entry_for_draws(mvsim.Parameters(k=50, noise=noise), "auto").backend for noise in ("codebook", "patch")] == ["numba", "numba"]
