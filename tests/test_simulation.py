"""The loop over time: literal gradient descent, records, resuming, settling, and how a run ends."""

from __future__ import annotations

import contextlib
import signal
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from example_run import assert_same_bits
from scipy.integrate import solve_ivp
from scipy.stats import rv_histogram
from tolerances import DISSIPATED, FIRST_ORDER

import mvsim
from mvsim import diagnostics
from mvsim.archive import read_run, write_run
from mvsim.archive.schema import VARIABLES
from mvsim.free_memory import available_bytes
from mvsim.integrators import Escaping, Field, GradientDescent, State
from mvsim.integrators.base import next_log_mark
from mvsim.kernels.shared_noise.kernel import SharedNoiseKernel
from mvsim.linalg.power_iteration import largest_eigenvalue
from mvsim.objectives import OBJECTIVES
from mvsim.recording.feature_test import FeatureTest, count_classes
from mvsim.recording.recorder import MEASURES, SHARPNESS_EVERY, Recorder
from mvsim.simulation.memory import check_memory, required_bytes

TINY = {"k": 3, "m": 2, "N": 12, "P": 9, "d": 60, "G": 6}
RATE = 3.0

OPTIONS = {
    "erm": ("erm", {}),
    "midpoint": ("midpoint", {}),
    "midpoint, numpy": ("midpoint", {"backend": "numpy"}),
    "midpoint, noise of each patch": ("midpoint", {"noise": "patch"}),
    "mixup, all pairs": ("mixup", {"mixing": 0.3}),
    "mixup, pairs drawn once": ("mixup", {"pairs": 7}),
    "mixup, pairs drawn each step": ("mixup", {"pairs": 7, "redraw": "each step"}),
}


def simulate(method, out=None, steps=57, **options):
    """Run a tiny problem, for so many steps."""
    fields = {name: options.pop(name) for name in list(options) if name in mvsim.Parameters.model_fields}
    options = {"integrator": "gd", "eta": RATE, "t_end": RATE * steps, "n_test": 4, **options}
    return mvsim.simulate(mvsim.Parameters(**{**TINY, **fields}), method, out=out, **options)


class Stop:
    """Ctrl-C while gradient descent evaluates the gradient of step number ``count``."""

    def __init__(self, monkeypatch, count):
        self.left = count
        self.gradient = GradientDescent._gradient
        stop = self

        def gradient(descent, state):
            stop.left -= 1
            if stop.left == 0:
                raise KeyboardInterrupt
            return stop.gradient(descent, state)

        monkeypatch.setattr(GradientDescent, "_gradient", gradient)


def test_canary_of_the_comparison():
    one, other = simulate("erm", steps=3), simulate("erm", steps=3)
    assert_same_bits(one.dataset, other.dataset)
    other.dataset["loss"][1] *= 1 + 1e-6
    with pytest.raises(AssertionError, match="loss"):
        assert_same_bits(one.dataset, other.dataset)


@pytest.mark.parametrize("method", ["erm", "midpoint"])
def test_the_run_is_literal_gradient_descent_on_the_sampled_problem(method):
    p = mvsim.Parameters(**TINY)
    run = simulate(method, seed=3, steps=20)
    loss = mvsim.objective(method, p, mvsim.sample_dataset(p, seed=3))
    c = mvsim.initial_correlations(p, seed=3)
    states = {0: c}
    for step in range(1, 21):
        c = c - RATE * loss.gradient(c)
        states[step] = c
    assert np.array_equal(run.final_correlations, c)
    assert run.dataset["step"].values.tolist() == [0, *sorted({round(10 ** (j / 20)) for j in range(27)})]
    for step, time, value, own in zip(
        run.dataset["step"].values, run.dataset["time"].values, run.dataset["loss"].values, run.dataset["own_correlations"].values, strict=True
    ):
        assert time == RATE * step
        assert value == loss.loss_and_gradient(states[step])[0]
        assert np.array_equal(own, diagnostics.own_correlations(states[step]))
    assert run.dataset["snapshot_step"].values.tolist() == [0, 1, 2, 5, 10, 20]
    assert np.array_equal(run.dataset["correlations"].values[4], states[10])


@pytest.mark.parametrize("case", OPTIONS)
@pytest.mark.parametrize("at", [1, 8, 43])
def test_a_resumed_run_is_the_uninterrupted_one(case, at, tmp_path, monkeypatch):
    method, options = OPTIONS[case]
    whole = simulate(method, **options)
    out = tmp_path / "run.nc"
    with monkeypatch.context() as patch:
        Stop(patch, at)
        with pytest.raises(mvsim.Interrupted, match="saved in"):
            simulate(method, out, **options)
    saved = mvsim.open_run(out)
    assert saved.status == "interrupted"
    assert int(saved.dataset["final_step"]) == at - 1
    resumed = simulate(method, out, resume=True, **options)
    assert_same_bits(resumed.dataset, whole.dataset)
    assert_same_bits(mvsim.open_run(out).dataset, whole.dataset)
    assert resumed.status == "finished"
    assert resumed.provenance["wall_seconds"] > saved.provenance["wall_seconds"]


@pytest.mark.parametrize("at", [0, 1, 10, 57])
def test_a_run_that_ended_between_a_save_and_the_record_of_its_state_is_resumed(at, tmp_path, monkeypatch):
    record = Recorder.record

    def stop(recorder, state):
        if state.step == at:
            raise KeyboardInterrupt
        record(recorder, state)

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "record", stop)
        with pytest.raises((mvsim.Interrupted, KeyboardInterrupt)):
            simulate("midpoint", tmp_path / "run.nc", checkpoint_seconds=1e-9)
    assert_same_bits(simulate("midpoint", tmp_path / "run.nc", resume=True).dataset, simulate("midpoint").dataset)


@pytest.mark.parametrize("first", [40, 45])  # 45 is a step at which runs are recorded anyway, 40 is not
def test_a_run_extended_in_time_is_the_longer_run(first, tmp_path):
    simulate("midpoint", tmp_path / "run.nc", steps=first)
    assert_same_bits(simulate("midpoint", tmp_path / "run.nc", steps=57, resume=True).dataset, simulate("midpoint").dataset)


FLOW = {"integrator": "flow", "eta": None}


def test_a_flow_saved_by_an_earlier_version_goes_on_without_its_past(tmp_path):
    out = tmp_path / "run.nc"
    simulate("midpoint", out, **FLOW, t_end=1e4)
    dataset, provenance = read_run(out)
    new = {str(name) for name in dataset.variables if str(name).startswith("memory_") or "dissipation" in str(name)}
    assert new >= {"memory_progress.history.Z", "memory_chart.index", "dissipation", "log_dissipation", "resume_dissipation"}
    write_run(out, dataset.drop_vars(new), provenance)
    assert new.isdisjoint(mvsim.open_run(out).dataset.variables)

    whole = simulate("midpoint", **FLOW, t_end=1e6)
    at = simulate("midpoint", out, **FLOW, t_end=1e5, resume=True)
    assert len(at.dataset["time"]) > len(dataset["time"])
    resumed = simulate("midpoint", out, **FLOW, t_end=1e6, resume=True)
    assert np.isnan(resumed.dataset["dissipation"]).all()  # what was lost before is not known
    assert "memory_progress.history.Z" in resumed.dataset
    size = np.abs(whole.final_correlations).max(axis=(2, 3), keepdims=True)
    assert np.max(np.abs(resumed.final_correlations - whole.final_correlations) / size) <= 10.0 * resumed.provenance["integrator"]["rtol"]
    assert int(resumed.dataset["final_step"]) != int(whole.dataset["final_step"])


def test_a_flow_is_resumed_bit_for_bit_with_what_it_has_dissipated(tmp_path):
    whole = simulate("erm", **FLOW, t_end=1e5)
    simulate("erm", tmp_path / "run.nc", **FLOW, t_end=1e4)
    assert_same_bits(simulate("erm", tmp_path / "run.nc", **FLOW, t_end=1e5, resume=True).dataset, whole.dataset)
    loss = whole.dataset["loss"].to_numpy()
    for name, lost in (("dissipation", loss[0] - loss), ("log_dissipation", np.log(loss[0] / loss))):
        assert lost[-1] > 0.01
        assert np.abs(whole.dataset[name].to_numpy() - lost).max() <= DISSIPATED * lost[-1]


def test_gradient_descent_dissipates_what_nobody_follows():
    run = simulate("erm", steps=3)
    assert np.isnan(run.dataset["dissipation"][1:]).all()
    assert not any(str(name).startswith("memory_") for name in run.dataset.variables)


def test_a_finished_run_is_left_as_it_is(tmp_path):
    once = simulate("erm", tmp_path / "run.nc")
    assert_same_bits(simulate("erm", tmp_path / "run.nc", resume=True).dataset, once.dataset)
    assert_same_bits(simulate("erm", tmp_path / "run.nc", steps=10, resume=True).dataset, once.dataset)  # an earlier t_end takes nothing away


def test_bits_do_not_depend_on_threads():
    assert_same_bits(simulate("midpoint", threads=1).dataset, simulate("midpoint", threads=2).dataset)


def test_pairs_drawn_each_step_differ_from_pairs_drawn_once():
    once, each = (simulate("mixup", pairs=7, redraw=redraw, steps=3) for redraw in ("once", "each step"))
    assert not np.array_equal(once.final_correlations, each.final_correlations)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"N": 13}, "N=13"),
        ({"seed": 1}, "seed=1"),
        ({"eta": 2.0}, "eta=2.0"),
        ({"n_test": 5}, "n_test=5"),
        ({"backend": "numpy"}, "backend='numpy'"),
    ],
)
def test_resuming_as_another_run_is_refused(change, named, tmp_path):
    kept = simulate("midpoint", tmp_path / "run.nc")
    with pytest.raises(mvsim.UsageError, match=named):
        simulate("midpoint", tmp_path / "run.nc", resume=True, **change)
    assert_same_bits(mvsim.open_run(tmp_path / "run.nc").dataset, kept.dataset)


def test_resuming_takes_over_eta(tmp_path):
    simulate("midpoint", tmp_path / "run.nc", steps=40)
    resumed = simulate("midpoint", tmp_path / "run.nc", resume=True, eta=None)
    assert_same_bits(resumed.dataset, simulate("midpoint").dataset)


def test_resuming_with_another_law_of_lambda_is_refused(tmp_path):
    simulate("mixup", tmp_path / "run.nc", mixing=0.3, steps=5)
    with pytest.raises(mvsim.UsageError, match=r"mixing=0\.4"):
        simulate("mixup", tmp_path / "run.nc", mixing=0.4, steps=9, resume=True)


def test_divergence_names_the_step_and_keeps_the_last_good_state(tmp_path, monkeypatch):
    good = simulate("erm", steps=4)
    gradient = GradientDescent._gradient

    def break_down(descent, state):
        return gradient(descent, state) * (np.nan if np.array_equal(state.c, good.final_correlations) else 1.0)

    monkeypatch.setattr(GradientDescent, "_gradient", break_down)
    with pytest.raises(mvsim.DivergedError, match="not finite after step 5"):
        simulate("erm", tmp_path / "run.nc")
    saved = mvsim.open_run(tmp_path / "run.nc")
    assert saved.status == "diverged"
    assert int(saved.dataset["final_step"]) == 4
    assert np.array_equal(saved.final_correlations, good.final_correlations)


def test_a_loss_that_is_not_finite_stops_the_run(tmp_path, monkeypatch):
    both = SharedNoiseKernel.loss_and_gradient

    def break_down(kernel, c, points, pointwise):
        loss, gradient = both(kernel, c, points, pointwise)
        return (loss if np.array_equal(c, start) else np.inf), gradient

    start = mvsim.initial_correlations(mvsim.Parameters(**TINY), 0)
    monkeypatch.setattr(SharedNoiseKernel, "loss_and_gradient", break_down)
    with pytest.raises(mvsim.DivergedError, match=r"^at step 1 the loss and its gradient are not finite .*largest correlation"):
        simulate("erm", tmp_path / "run.nc")
    saved = mvsim.open_run(tmp_path / "run.nc")
    assert saved.status == "diverged"
    assert np.isfinite(saved.dataset["loss"].values).all()


@pytest.mark.filterwarnings("ignore:eta=1e.40 exceeds:UserWarning")
def test_a_run_whose_fresh_draws_overflow_has_diverged_and_not_settled(tmp_path):
    """At steps of 1e40 the training outputs are still finite, and those of Definition 4.5 are not: that is no answer to it."""
    with pytest.raises(mvsim.DivergedError, match=r"^at step \d+ the outputs are not finite .*\(largest correlation \|c\| = \d.*e\+\d+\)"):
        mvsim.simulate(mvsim.Parameters(k=3, N=20), "erm", integrator="gd", eta=1e40, out=tmp_path / "run.nc")
    assert mvsim.open_run(tmp_path / "run.nc").status == "diverged"


def learned_run(**options):
    """A problem that is learned within a few hundred steps."""
    return mvsim.simulate(mvsim.Parameters(k=2, m=2, N=30, P=8, d=4), "erm", n_test=4, **options)


def test_a_step_beyond_the_limit_is_warned_of():
    with pytest.warns(UserWarning, match=r"eta=\d+ exceeds 2 / lambda_max = ") as caught:
        learned_run(integrator="gd", eta=6.0, t_end=90.0)
    assert len([w for w in caught if "lambda_max" in str(w.message)]) == 1  # once, not at every record
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learned_run(integrator="gd", eta=1.0, t_end=90.0)


def test_a_run_ends_when_it_has_settled_and_says_since_when():
    run = learned_run(integrator="gd", eta=1.0)
    assert run.settled is True
    accuracy, learned = run.dataset["training_accuracy"].values, run.dataset["feature_learned"].values == 1.0
    same = (accuracy == 1.0) & (learned == learned[-1]).all(axis=(1, 2))
    since = run.dataset["time"].values[np.flatnonzero(~same)[-1] + 1]
    assert run.dataset["time"].values[-1] >= 10.0 * since
    assert run.dataset["time"].values[-2] < 10.0 * since
    assert f"since t = {since:.4g}" in run.summary
    cut = learned_run(integrator="gd", eta=1.0, t_end=5.0 * since)
    assert cut.settled is False
    assert "Not settled at t_end" in cut.summary


def test_what_holds_from_the_start_has_to_last_for_a_multiple_of_the_first_step(tmp_path, monkeypatch):
    learned = learned_run(integrator="gd", eta=1.0).final_correlations
    monkeypatch.setattr("mvsim.simulation.session.initial_correlations", lambda p, seed: learned)
    short = learned_run(integrator="gd", eta=1.0, t_end=2.0, out=tmp_path / "run.nc")
    assert short.settled is False
    run = learned_run(integrator="gd", eta=1.0, out=tmp_path / "run.nc", resume=True)
    assert run.settled is True
    assert "since t = 0" in run.summary
    assert run.dataset["time"].values[-1] == 10.0


def test_the_summary_counts_the_classes():
    run = learned_run(integrator="gd", eta=1.0)
    counts = count_classes(run.dataset["feature_learned"].values[-1])
    assert sum(counts.values()) == 2
    assert f"both features learned in {counts['both']} of 2 classes, exactly one in {counts['one']}, none in {counts['none']}" in run.summary
    assert all(deviation.statement in run.summary for deviation in run.regime)


@pytest.mark.parametrize(("fractions", "counts"), [([[1, 1], [1, 0.95], [0, 0]], (1, 1, 1)), ([[0.99, 0.99], [0, 1], [1, 1]], (1, 1, 1))])
def test_a_feature_counts_as_learned_on_every_draw_or_not_at_all(fractions, counts):
    assert tuple(count_classes(np.array(fractions, dtype=float)).values()) == counts


def test_every_record_has_every_quantity_and_sharpness_now_and_then():
    run = simulate("midpoint")
    for name in MEASURES:
        assert run.dataset[name].sizes["time"] == run.dataset.sizes["time"], name
        if name not in ("sharpness", "turning_rate", "dissipation", "log_dissipation"):  # the last two are those of a flow
            assert np.isfinite(run.dataset[name].values).all(), name
    measured = np.flatnonzero(np.isfinite(run.dataset["sharpness"].values))
    assert measured.tolist() == list(range(0, run.dataset.sizes["time"], SHARPNESS_EVERY))


def test_power_iteration_finds_the_largest_eigenvalue_of_a_hessian():
    p = mvsim.Parameters(k=2, m=2, N=10, P=6, d=10)
    loss = mvsim.objective("erm", p, mvsim.sample_dataset(p, 0))
    c = 6 * p.rho * mvsim.initial_correlations(p, 0) * p.d**0.5
    columns = [loss.hessian_vector_product(c, e.reshape(c.shape)).ravel() for e in np.eye(c.size)]
    eigenvalues = np.linalg.eigvalsh(np.array(columns))
    assert eigenvalues[0] < -eigenvalues[-1] < 0  # plain power iteration would find the wrong end
    start = np.random.default_rng(0).standard_normal(c.shape)
    estimate, direction = largest_eigenvalue(lambda v: loss.hessian_vector_product(c, v), start, products=2000, tolerance=1e-12)
    assert estimate == pytest.approx(eigenvalues[-1], rel=1e-6)
    assert np.linalg.norm(direction) == pytest.approx(1.0, rel=1e-12)
    rough = largest_eigenvalue(lambda v: loss.hessian_vector_product(c, v), start, products=3)[0]
    assert rough <= eigenvalues[-1]


def recorder_of(method):
    p = mvsim.Parameters(**TINY)
    return Recorder(mvsim.objective(method, p, mvsim.sample_dataset(p, 0)), FeatureTest(p, 1, 0, None), 0)


@pytest.mark.parametrize("method", ["erm", "midpoint"])
def test_a_step_of_the_faithful_size_departs_from_the_flow_by_the_given_part(method):
    recorder = recorder_of(method)
    loss, p = recorder.objective, recorder.objective.parameters
    c = 3 * p.rho * np.random.default_rng(0).standard_normal((p.k, p.m, p.k, 2))
    recorder.start(State(0, 0.0, c))
    eta = recorder.faithful_learning_rate(1e-4)
    flow = solve_ivp(lambda t, y: -loss.gradient(y.reshape(c.shape)).ravel(), (0.0, eta), c.ravel(), rtol=1e-12, atol=1e-14).y[:, -1]
    step = -eta * loss.gradient(c).ravel()
    assert np.linalg.norm(c.ravel() + step - flow) / np.linalg.norm(step) == pytest.approx(1e-4, rel=FIRST_ORDER)


def test_the_faithful_step_size_is_that_of_the_fastest_turn_on_record():
    recorder = recorder_of("erm")
    recorder.records["turning_rate"] = [np.nan, 0.5, 4.0, 0.0, np.nan, 2.0]
    assert recorder.faithful_learning_rate(0.01) == pytest.approx(0.005)
    recorder.records["turning_rate"] = [np.nan, 0.0]
    assert recorder.faithful_learning_rate(0.01) == np.inf


FIELD = Field(
    loss_and_gradient=lambda n, c: (0.5 * float(np.sum(c * c)), c),
    curvature=lambda c: None,
    scale=np.ones_like,
    escaping=Escaping(np.zeros(0, np.int64), np.zeros(0), 8.0),
    component=str,
)


@pytest.mark.parametrize("step", [0, 1, 9, 10, 99, 1000, 123456])
def test_marks_are_log_spaced_steps(step):
    marks = sorted({round(10 ** (j / 20)) for j in range(200)})
    assert next_log_mark(step) == next(mark for mark in marks if mark > step)
    descent = GradientDescent(FIELD, 0.1)
    assert descent.is_mark(State(step, 0.1 * step, np.zeros(1))) == (step == 0 or step in marks)


def test_the_last_step_reaches_t_end_and_no_further():
    assert [GradientDescent(FIELD, 0.1).steps_until(t) for t in (0.1, 0.3, 0.31, 1.0)] == [1, 3, 4, 10]


def test_a_problem_that_does_not_fit_is_refused_before_it_starts():
    assert available_bytes() is None or available_bytes() > 0
    huge = mvsim.Parameters(k=20_000)
    with pytest.raises(mvsim.UsageError, match=r"would need about \d.*e\+\d+ bytes"):
        mvsim.simulate(huge)
    for noise in ("codebook", "patch"):  # nobody is advised to do what is done already
        with pytest.raises(mvsim.UsageError) as caught:
            mvsim.simulate(huge.replace(noise=noise))
        assert (", or noise=codebook, whose cost" in str(caught.value)) == (noise == "patch")
    assert check_memory(mvsim.Parameters(k=4), mixes=True) == required_bytes(mvsim.Parameters(k=4), mixes=True)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"method": "nope"}, "method='nope'"),
        ({"integrator": "nope"}, "integrator='nope'"),
        ({"backend": "nope"}, "backend='nope'"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": 1.5}, "seed=1.5"),
        ({"t_end": 0.0}, "t_end=0.0"),
        ({"t_end": float("nan")}, "t_end=nan"),
        ({"eta": -1.0}, "eta=-1.0"),
        ({"checkpoint_seconds": 0.0}, "checkpoint_seconds=0.0"),
        ({"n_test": 0}, "n_test=0"),
        ({"threads": 0}, "threads=0"),
        ({"resume": True}, "resume=True"),
        ({"mixing": 0.5}, "mixing=0.5"),
        ({"method": "mixup", "mixing": 2.0}, "mixing=2.0"),
        ({"method": "mixup", "pairs": 0}, "pairs=0"),
        ({"method": "mixup", "redraw": "never"}, "redraw='never'"),
        ({"method": "mixup", "nodes": 0}, "nodes=0"),
    ],
)
def test_bad_arguments_are_named(options, named):
    with pytest.raises(mvsim.UsageError) as error:
        mvsim.simulate(mvsim.Parameters(**TINY), **options)
    assert named in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("t_end", [Fraction(1, 2), Decimal("0.5"), np.array(0.5), np.float32(0.5)])
def test_a_number_of_any_type_can_be_kept(t_end, tmp_path):
    run = mvsim.simulate(mvsim.Parameters(**TINY), "erm", t_end=t_end, n_test=2, out=tmp_path / "run.nc")
    assert mvsim.open_run(tmp_path / "run.nc").provenance["integrator"]["t_end"] == 0.5 == float(run.dataset["final_time"])


def test_a_run_that_was_interrupted_does_not_go_back_in_time(tmp_path):
    simulate("erm", steps=40, out=tmp_path / "run.nc")
    dataset, provenance = read_run(tmp_path / "run.nc")
    write_run(tmp_path / "run.nc", dataset, {**provenance, "status": "interrupted"})
    before = (tmp_path / "run.nc").read_bytes()
    with pytest.raises(mvsim.UsageError, match=r"t_end=\S+: .*run.nc is at t = \d+ already"):
        simulate("erm", steps=4, out=tmp_path / "run.nc", resume=True)
    assert (tmp_path / "run.nc").read_bytes() == before


def test_a_recorded_quantity_is_in_the_schema_of_files():
    assert set(MEASURES) - set(VARIABLES) == {"dissipation", "log_dissipation"}  # files of earlier versions lack them


def test_pairs_of_a_point_with_itself_are_named_where_they_matter(tmp_path):
    names = [[deviation["name"] for deviation in simulate(method, steps=1).provenance["regime"]] for method in ("erm", "midpoint")]
    assert ["N" in found for found in names] == [False, True]
    p = mvsim.Parameters(k=4, N=20_000)
    assert mvsim.objective("midpoint", p, mvsim.sample_dataset(p, 0)).deviations() == []


def test_every_method_can_be_simulated():
    for method in OBJECTIVES:
        assert simulate(method, steps=2).method == method


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"t_end": "a"}, "t_end='a'"),
        ({"t_end": 10**400}, "t_end=1000"),
        ({"t_end": b"1"}, "t_end=b'1'"),
        ({"n_test": "3"}, "n_test='3'"),
        ({"n_test": None}, "n_test=None"),
        ({"resume": "no", "out": "run.nc"}, "resume='no'"),
        ({"method": "mixup", "redraw": "each step", "integrator": "gd"}, "needs pairs"),
        ({"method": "mixup", "mixing": rv_histogram(([1.0, 2.0], [0.0, 0.5, 1.0]))}, "mixing"),
        ({"eta": True}, "eta=True"),
        ({"checkpoint_seconds": None}, "checkpoint_seconds=None"),
        ({"out": 5}, "out=5"),
        ({"method": []}, "method=[]"),
        ({"integrator": "gd", "eta": 1e-300, "t_end": 1.0}, "eta=1e-300"),
        ({"eta": 1.0}, "eta=1.0: belongs to integrator='gd'"),
        ({"integrator": "gd", "rtol": 1e-3}, "rtol=0.001: belongs to integrator='flow'"),
        ({"rtol": 0.5}, "rtol=0.5"),
        ({"settled_factor": 1.0}, "settled_factor=1.0"),
        ({"settled_factor": 10**5000}, "settled_factor=1000"),
        ({"t_end": 10**5000}, "t_end=1000"),
        ({"threads": 10**5000}, "threads=1000"),
        ({"n_test": 10**400}, "n_test"),
        ({"eta": 10**5000, "integrator": "gd"}, "eta=1000"),
        ({"method": "mixup", "pairs": 3, "redraw": "each step"}, "drawn afresh"),
        ({"method": "mixup", "nodes": 10**6}, "nodes=1000000"),
        ({"method": "mixup", "pairs": 10**30}, "pairs="),
        ({"method": "mixup", "mixing": {"distribution": "beta", "args": [1e-300, 1]}}, "shapes must lie in"),
    ],
)
def test_values_of_the_wrong_kind_or_size_are_named(options, named):
    with pytest.raises(mvsim.UsageError) as error:
        mvsim.simulate(mvsim.Parameters(**TINY), **options)
    assert named in str(error.value)


@pytest.mark.parametrize("field", ["k", "m", "N", "P", "C_P", "Q", "G", "d", "rho", "delta2", "codebook_seed"])
@pytest.mark.parametrize("value", [10**400, 10**310, "1e309"])
def test_absurd_sizes_are_refused_by_name(field, value):
    with pytest.raises(mvsim.UsageError, match=rf"(^|; ){field}="):
        mvsim.Parameters(**{"k": 5, field: value})


def test_a_finished_run_keeps_its_origin_and_lists_what_continued_it(tmp_path):
    first = simulate("erm", tmp_path / "run.nc", steps=10)
    bits = (tmp_path / "run.nc").read_bytes()
    simulate("erm", tmp_path / "run.nc", steps=10, resume=True)
    assert (tmp_path / "run.nc").read_bytes() == bits  # nothing was left to do, nothing was written
    longer = simulate("erm", tmp_path / "run.nc", steps=20, resume=True)
    assert longer.provenance["created"] == first.provenance["created"]
    assert len(mvsim.open_run(tmp_path / "run.nc").provenance["continued"]) == 1


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_whose_exception_was_dropped_still_ends_the_run(tmp_path, monkeypatch):
    gradient = GradientDescent._gradient
    calls = []

    def dropped(descent, state):
        calls.append(1)
        if len(calls) == 6:
            with contextlib.suppress(KeyboardInterrupt):  # as in a callback from a C library
                signal.raise_signal(signal.SIGINT)
        return gradient(descent, state)

    monkeypatch.setattr(GradientDescent, "_gradient", dropped)
    with pytest.raises(mvsim.Interrupted, match="step 6"):
        simulate("erm", tmp_path / "run.nc")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_run_on_given_data_knows_them_again(tmp_path):
    p = mvsim.Parameters(**TINY)
    own, other = mvsim.sample_dataset(p, 3), mvsim.sample_dataset(p, 4)
    assert_same_bits(
        simulate("erm", seed=3, steps=40).dataset, mvsim.simulate(p, "erm", 3, integrator="gd", eta=RATE, t_end=RATE * 40, n_test=4, data=own).dataset
    )
    out = tmp_path / "run.nc"
    run = mvsim.simulate(p, "erm", 3, integrator="gd", eta=RATE, t_end=RATE * 10, out=out, n_test=4, data=other)
    assert run.provenance["options"]["data"] == other.digest() != own.digest()
    mvsim.simulate(p, "erm", 3, integrator="gd", eta=RATE, t_end=RATE * 20, out=out, n_test=4, data=other, resume=True)
    for data in (None, own):
        with pytest.raises(mvsim.UsageError, match="data="):
            mvsim.simulate(p, "erm", 3, integrator="gd", eta=RATE, t_end=RATE * 30, out=out, n_test=4, data=data, resume=True)
    with pytest.raises(mvsim.UsageError, match=f"N={p.N + 1}: the data have N = {p.N}"):
        mvsim.simulate(p.replace(N=p.N + 1), "erm", data=own)
    with pytest.raises(mvsim.UsageError, match="data: must be"):
        mvsim.simulate(p, "erm", data=own.to_patches())


@pytest.mark.parametrize("noise", ["codebook", "patch"])
def test_the_readable_kernel_serves_the_test_of_feature_learning_too(noise, monkeypatch):
    def compiled(*arguments):
        raise AssertionError("a compiled kernel")

    for name in ("shared_noise.kernel.SharedNoiseKernel", "any_patches.kernel.AnyPatchesKernel"):
        monkeypatch.setattr(f"mvsim.kernels.{name}", compiled)
    p = mvsim.Parameters(k=2, N=3, noise=noise)
    mvsim.simulate(p, "erm", backend="numpy", integrator="gd", t_end=1.0, eta=1.0, n_test=2)
    with pytest.raises(AssertionError, match="a compiled kernel"):
        mvsim.simulate(p, "erm", backend="numba", integrator="gd", t_end=1.0, eta=1.0, n_test=2)
