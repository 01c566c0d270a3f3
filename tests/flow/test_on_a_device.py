"""Whole steps of the flow on a device that NumPy cannot read: nothing but numbers leaves it, and it is the flow of the compiled kernel."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from example_run import assert_same_bits
from interrupting import assert_resumes
from strict_device import PLACE, STRICT, fetched

import mvsim
from mvsim.flow import GradientDescent, GradientFlow, State, stepper
from mvsim.flow.arrays import pack
from mvsim.flow.carried import Memory, unpack_memory
from mvsim.flow.system import ChartedField
from mvsim.multi_view.diagnostics import own_correlations
from mvsim.multi_view.kernels.array.array_kernel import ArrayPatchesKernel
from mvsim.runs.recording.entries import EscapeLog
from mvsim.runs.simulation.field import field_of

P = mvsim.Parameters(k=3, m=3, N=18, P=16, d=300)
T_END = {"erm": 3e3, "midpoint": 1e5}
RTOL = 1e-3


def kept(array):
    raise AssertionError(f"an array of shape {array.shape} leaves the device")


CLOSED = replace(STRICT, fetch=kept)
"""The device without a way back."""


@pytest.fixture
def closed(monkeypatch):
    monkeypatch.setattr(ArrayPatchesKernel, "device", property(lambda kernel: CLOSED))


@pytest.fixture
def strict(monkeypatch):
    monkeypatch.setattr(ArrayPatchesKernel, "device", property(lambda kernel: STRICT))


def field(method, backend, **fields):
    p = P.replace(**fields)
    return field_of(mvsim.objective(method, p, mvsim.sample_dataset(p, 0), backend=backend))


def follow(method, backend, t_end, **fields):
    """All states of a flow."""
    start = State(0, 0.0, mvsim.initial_correlations(P, 0))
    return [visit.state for visit in GradientFlow(field(method, backend, **fields), RTOL).trajectory(start, t_end)]


@pytest.mark.parametrize("method", T_END)
def test_whole_steps_stay_on_the_device_through_escapes(method, closed):
    """The memory of the last state too: the past, what was linearised, and the known directions."""
    there, here = (follow(method, backend, T_END[method]) for backend in ("array", "numba"))
    assert all(state.c.device == PLACE for state in there)
    memory = there[-1].memory
    for array in (memory.stepper.history.Z, memory.stepper.linearised, memory.stepper.secants.steps, memory.stepper.drift, memory.chart.index):
        assert array.device == PLACE
    assert len(there) >= 50
    last, found = here[-1].c, fetched(there[-1].c)
    assert np.max(own_correlations(here[0].c)) < P.rho < 0.5 * np.max(own_correlations(last))  # something escapes
    size = np.abs(last).max(axis=(2, 3), keepdims=True)
    assert np.max(np.abs(found - last) / size) <= 10.0 * RTOL


def read_tolerance(system, y):
    return STRICT.put(np.maximum(np.asarray(TOLERANCE(system, y)), 0.0))


TOLERANCE = ChartedField.tolerance


def test_a_step_that_reads_an_array_on_the_host_is_found_out(closed, monkeypatch):
    monkeypatch.setattr(ChartedField, "tolerance", read_tolerance)
    with pytest.raises(RuntimeError, match="to a NumPy array"):
        follow("midpoint", "array", 10.0)


def test_a_step_that_fetches_an_array_is_found_out(closed, monkeypatch):
    solve = stepper.solve_by_secants
    monkeypatch.setattr(stepper, "solve_by_secants", lambda equation, *rest: (CLOSED.fetch(equation.predicted), solve(equation, *rest))[1])
    with pytest.raises(AssertionError, match="leaves the device"):
        follow("midpoint", "array", 10.0)


def test_without_a_stiff_hessian_newton_solves_on_the_device(closed):
    """Explicit patches tell no Hessian."""
    there, here = (follow("erm", backend, 30.0, noise="patch", N=6) for backend in ("array", "numba"))
    assert there[-1].c.device == PLACE
    assert np.max(np.abs(fetched(there[-1].c) - here[-1].c)) <= 10.0 * RTOL * np.abs(here[-1].c).max()


def test_gradient_descent_steps_on_the_device(closed):
    start = State(0, 0.0, mvsim.initial_correlations(P, 0))
    there, here = (
        [visit.state for visit in GradientDescent(field("midpoint", backend), 0.5).trajectory(start, 20.0)] for backend in ("array", "numba")
    )
    assert there[-1].c.device == PLACE
    np.testing.assert_allclose(fetched(there[-1].c), here[-1].c, rtol=1e-12, atol=1e-15)


def test_a_field_on_the_host_copies_to_its_device_and_back(strict):
    there, here = field("midpoint", "array").on_host(), field("midpoint", "numba")
    assert here.on_host() is here
    c = mvsim.initial_correlations(P, 0)
    c[0, 0, 0, 0] = 3.0
    for one, other in zip(there.loss_and_gradient(0, c), here.loss_and_gradient(0, c), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)
    for found, expected in zip(there.units(c), here.units(c), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(there.curvature(c).dense(c.size), here.curvature(c).dense(c.size), rtol=1e-9, atol=1e-12)
    for one, other in zip(there.escaping, here.escaping, strict=True):
        np.testing.assert_array_equal(one, other)


def test_cvode_takes_a_field_of_a_device(strict):
    runs = [mvsim.simulate(P, "erm", t_end=100.0, n_test=2, integrator="cvode", backend=backend) for backend in ("array", "numba")]
    there, here = (run.final_correlations for run in runs)
    assert np.max(np.abs(there - here)) <= 10.0 * RTOL * np.abs(here).max()


def test_what_is_saved_is_copied_at_once_and_comes_back():
    copied = []
    device = replace(STRICT, fetch_all=lambda arrays: copied.append(len(arrays)) or [fetched(array) for array in arrays])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ArrayPatchesKernel, "device", property(lambda kernel: STRICT))
        memory = follow("erm", "array", 100.0)[-1].memory
    packed = pack(memory, device)
    assert copied == [13]  # all arrays of a state of the flow, in one go
    again = unpack_memory(packed, STRICT)
    assert isinstance(again, Memory)
    assert again.stepper.history.Z.device == again.chart.floor.device == PLACE
    assert isinstance(again.stepper.history.past, np.ndarray)  # step sizes are numbers of the host
    for name, values in pack(again, STRICT).items():
        np.testing.assert_array_equal(values, packed[name])


def simulate(out=None, **options):
    return mvsim.simulate(P, "erm", out=out, t_end=1e3, n_test=2, backend="array", **options)


def test_a_run_on_the_device_is_resumed_bit_for_bit(strict, tmp_path, monkeypatch):
    assert_resumes(simulate, 12, simulate(), tmp_path / "run.nc", monkeypatch)


def test_a_run_records_what_it_records_without_a_device(strict):
    there, here = partial(simulate)(), mvsim.simulate(P, "erm", t_end=1e3, n_test=2)
    assert there.provenance["options"]["algorithm"].startswith("array-api-strict: ")
    assert list(there.dataset.variables) == list(here.dataset.variables)
    np.testing.assert_array_equal(there.dataset["feature_learned"], here.dataset["feature_learned"])
    again = simulate()
    assert_same_bits(again.dataset, there.dataset)


def test_escapes_alone_are_fetched():
    before, after = np.full((2, 1, 2, 1), 0.1), np.full((2, 1, 2, 1), 0.2)
    fetches = []

    def fetch(array):
        fetches.append(array.shape)
        return fetched(array)

    log = EscapeLog.started(own_correlations(before), 0.5)
    log.observe(State(0, 0.0, STRICT.put(before)), State(1, 1.0, STRICT.put(after)), fetch)
    assert fetches == []
    beyond = after.copy()
    beyond[1, 0, 1, 0] = 0.8
    log.observe(State(1, 1.0, STRICT.put(after)), State(2, 2.0, STRICT.put(beyond)), fetch)
    assert fetches == 3 * [(2, 1, 1)]
    assert log.time[1, 0, 0] == pytest.approx(1.5)
    assert np.isnan(log.time[0, 0, 0])
