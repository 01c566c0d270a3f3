"""How a run ends: settled, diverged, interrupted."""

from __future__ import annotations

import contextlib
import re
import signal
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from interrupting import StopAfter
from looping import looping
from tiny_run import TINY, learned_run, simulate
from usable import cases

import mvsim
from mvsim.flow import LAST_TIME, GradientDescent
from mvsim.flow.stalls import NOTHING_MOVES
from mvsim.multi_view.kernels import BACKENDS
from mvsim.multi_view.kernels.shared_noise.shared_noise_kernel import SharedNoiseKernel
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.runs.recording.fresh_draws import FeatureTest, count_classes
from mvsim.runs.simulation import summary as words
from mvsim.runs.simulation.summary import learned, number


def test_divergence_names_the_step_and_keeps_the_last_good_state(tmp_path, monkeypatch):
    good = simulate("erm", steps=4)
    gradient = GradientDescent.gradient

    def break_down(descent, state):
        return gradient(descent, state) * (np.nan if np.array_equal(state.c, good.final_correlations) else 1.0)

    monkeypatch.setattr(GradientDescent, "gradient", break_down)
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


def test_a_run_whose_fresh_draws_overflow_has_diverged_and_not_settled(tmp_path, monkeypatch):
    """Outputs that are not finite are no answer to Definition 4.5."""
    test, calls = FeatureTest.fraction_learned, []

    def overflow(self, c):
        calls.append(c)
        return test(self, c if len(calls) < 3 else np.full_like(c, 1e308))

    monkeypatch.setattr(FeatureTest, "fraction_learned", overflow)
    with pytest.raises(mvsim.DivergedError, match=r"^at step \d+ the outputs are not finite .*\(largest correlation \|c\| = 1e\+308\)"):
        learned_run(integrator="gd", eta=1.0, out=tmp_path / "run.nc")
    assert mvsim.open_run(tmp_path / "run.nc").status == "diverged"


@pytest.mark.parametrize("backend", cases(name for name in BACKENDS if name != "auto"))
@pytest.mark.filterwarnings("ignore:eta=")
def test_what_is_finite_is_computed_however_large_it_is(backend):
    """Steps of 1e40 lead to correlations of 1e39, whose 8th power is no double; outputs are as large, and every kernel says the same."""
    run = mvsim.simulate(mvsim.Parameters(k=3, N=20, P=9), "erm", integrator="gd", eta=1e40, t_end=4e40, backend=backend)
    outputs = run.dataset["own_output_max"].to_numpy()
    assert np.isfinite(outputs).all()
    assert outputs.max() > 1e38
    assert run.dataset["training_accuracy"].to_numpy()[-1] == 1.0


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
    cut = learned_run(integrator="gd", eta=1.0, t_end=5.0 * since)
    assert cut.settled is False
    assert f"not settled at t_end = {number(5.0 * since)}" in cut.summary.splitlines()[0]
    assert f"settled (unchanged since t = {number(since)})." in run.summary.splitlines()[0]
    assert f"while time grew by the factor {run.dataset['time'].values[-1] / since:.2g}." in run.summary


def test_a_network_that_is_right_from_the_start_has_settled_only_when_it_has_been_trained(tmp_path, monkeypatch):
    learned = learned_run(integrator="gd", eta=1.0).final_correlations
    monkeypatch.setattr("mvsim.runs.simulation.session.initial_correlations", lambda p, seed: learned)
    short = learned_run(integrator="gd", eta=1.0, t_end=2.0, out=tmp_path / "run.nc")
    assert short.settled is False
    assert "the loss of a class has hardly fallen" in short.summary
    run = learned_run(integrator="gd", eta=1.0, out=tmp_path / "run.nc", resume=True)
    gap, time = run.dataset["softmax_gap"].values, run.dataset["time"].values
    assert run.settled is True
    assert (run.dataset["training_accuracy"].values == 1.0).all()
    assert time[-1] >= 10.0 * time[np.argmax((gap <= 0.9 * gap[0]).all(axis=1))] > 0.0


def test_features_that_pass_the_test_before_any_escape_are_counted_as_chance():
    run = mvsim.simulate(mvsim.Parameters(k=3, N=20, P=9, d=60), "erm", n_test=1, t_end=1e-3)
    counts = count_classes(run.dataset["feature_learned"].values[-1])
    assert counts["both"] == 0 < counts["one"]
    said = f"Exactly one feature learned in {counts['one']} of 3 classes (before any escape, by chance), none in {counts['none']}, training"
    assert run.summary.startswith(said)


def test_features_that_pass_the_test_by_what_escaped_elsewhere_are_not_called_chance():
    run = mvsim.simulate(mvsim.Parameters(k=3, N=30, P=12, d=300), "erm", n_test=4, t_end=1e4)
    passing, escaped = run.dataset["feature_learned"].values[-1] == 1.0, (run.dataset["escape_step"].values >= 0).any(axis=1)
    assert escaped.any()
    assert (passing & ~escaped).any()
    assert "with a feature for which no neuron has escaped)" in run.summary.splitlines()[0]
    assert "by chance" not in run.summary


def escaping_run():
    """Four classes in each of which a neuron escapes, in one of them for another feature first than was predicted."""
    return simulate("erm", k=4, d=20, seed=5, eta=1.0, t_end=300.0)


def test_features_that_suffice_on_some_draws_are_counted_and_those_that_suffice_on_none_are_not(monkeypatch):
    share = np.array([[1.0, 0.0], [0.5, 0.0], [0.0, 1.0], [0.0, 0.75]])
    monkeypatch.setattr(FeatureTest, "fraction_learned", lambda self, c: share.copy())
    run = escaping_run()
    escaped = (run.dataset["escape_step"].values >= 0).any(axis=1)
    assert (escaped & (share == 0.0)).any(axis=1).sum() == 2
    assert (escaped & (share > 0.0) & (share < 1.0)).any(axis=1).sum() == 2
    assert "none in 2 (with a feature that suffices on some draws only)" in run.summary.splitlines()[0]


def test_the_summary_says_in_how_many_classes_the_first_escape_was_predicted():
    run = escaping_run()
    times, predicted = run.dataset["escape_time"].values, run.dataset["predicted_entry_time"].values.min(axis=1)
    first = np.where(np.isnan(times), np.inf, times).min(axis=1)
    escaped = np.isfinite(first).any(axis=1)
    right = escaped & (first.argmin(axis=1) == predicted.argmin(axis=1))
    assert 0 < right.sum() < escaped.sum()
    assert f"predicted which feature of a class escapes first in {right.sum()} of {escaped.sum()} classes." in run.summary


@looping(
    ("fractions", "escaped", "said"),
    [
        ([(1, 1), (1, 1), (1, 0)], [(1, 1), (1, 0), (1, 0)], "Both features learned in 2 of 3 classes (1 of them {without}), exactly one in 1"),
        ([(1, 1), (1, 0), (0, 1)], [(1, 1), (0, 1), (0, 0)], "Both features learned in 1 of 3 classes, exactly one in 2 ({without})"),
        ([(1, 1), (1, 0.5), (0, 0)], [(1, 1), (1, 1), (0, 0)], "Both features learned in 1 of 3 classes, exactly one in 1 ({some}), none in 1"),
        ([(1, 0.5), (1, 0)], [(1, 1), (0, 1)], "Exactly one feature learned in 2 of 2 classes (1 of them {without}; 1 of them {some})"),
        ([(1, 1), (1, 0)], [(0, 0), (0, 0)], "Both features learned in 1 of 2 classes ({chance}), exactly one in 1 ({chance})"),
    ],
)
def test_the_summary_says_of_which_outcome_its_remarks_are(fractions, escaped, said):
    words = {
        "without": "with a feature for which no neuron has escaped",
        "some": "with a feature that suffices on some draws only",
        "chance": "before any escape, by chance",
    }
    recorder = SimpleNamespace(
        objective=SimpleNamespace(parameters=mvsim.Parameters(k=len(fractions)), has_escapes=True),
        last=lambda name: np.array(fractions, dtype=float),
        escapes=SimpleNamespace(views=lambda: np.array(escaped, dtype=bool)),
    )
    assert learned(recorder) == said.format(**words)


def test_the_summary_counts_the_classes():
    run = learned_run(integrator="gd", eta=1.0)
    counts = count_classes(run.dataset["feature_learned"].values[-1])
    assert sum(counts.values()) == 2
    assert counts["none"] == 0
    expected = {
        2: "Both features learned in 2 of 2 classes, ",
        1: "Both features learned in 1 of 2 classes, exactly one in 1, ",
        0: "Exactly one feature learned in 2 of 2 classes, ",
    }
    assert run.summary.startswith(expected[counts["both"]])
    assert run.summary.endswith(f"Regime: scaled (it departs from what the theorems assume in {len(run.regime)} ways).")


@looping(("value", "text"), [(0.1412, "0.141"), (1.34e8, "1.34e8"), (9999.0, "9999"), (12345.6, "1.23e4"), (2e-5, "2e-5"), (60.0, "60"), (0.0, "0")])
def test_numbers_in_words_have_three_digits(value, text):
    assert number(value) == text


def test_the_summary_of_a_flow_bounds_the_steps_of_gradient_descent():
    """At the first record after an escape it is known how fast the gradient turns."""
    run = learned_run()
    rates, step = run.dataset["turning_rate"].to_numpy(), run.dataset["step"].to_numpy()
    escaped = run.dataset["escape_step"].to_numpy()
    after = np.unique(np.searchsorted(step, np.where(escaped < 0, 10**9, escaped).min(axis=1)))
    after = after[(after > 0) & (after < len(step))]
    assert len(after)
    assert np.isfinite(rates[after]).all()
    eta = 0.02 / np.nanmax(rates)
    assert run.provenance["faithful_eta"] == pytest.approx(eta, rel=1e-12)
    told = re.search(r"Plain gradient descent would need steps of at most (\S+) to follow this to 1 %: (\S+) of them or more", run.summary)
    largest, steps = map(float, told.groups())
    assert 0.9 * eta < largest <= eta
    assert steps == pytest.approx(float(run.dataset["final_time"]) / largest, rel=0.05)


def test_gradient_descent_says_how_far_its_steps_are_from_those_that_follow_the_flow():
    coarse, fine = learned_run(integrator="gd", eta=1.0), learned_run(integrator="gd", eta=1e-6, t_end=1e-5)
    largest, times = map(float, re.search(r"steps of at most (\S+) follow the .* 1 %; these are (\S+) times as large\.", coarse.summary).groups())
    assert 0.9 * coarse.provenance["faithful_eta"] < largest <= coarse.provenance["faithful_eta"]
    assert times == pytest.approx(1.0 / largest, rel=0.05)
    assert fine.provenance["faithful_eta"] > 1e-6
    assert "these are" not in fine.summary
    assert all("may have jumped over states where the limit is far smaller" in run.summary for run in (coarse, fine))
    assert "Plain gradient descent" not in coarse.summary + fine.summary


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_whose_exception_was_dropped_still_ends_the_run(tmp_path, monkeypatch):
    gradient = GradientDescent.gradient
    calls = []

    def dropped(descent, state):
        calls.append(1)
        if len(calls) == 6:
            with contextlib.suppress(KeyboardInterrupt):  # as in a callback from a C library
                signal.raise_signal(signal.SIGINT)
        return gradient(descent, state)

    monkeypatch.setattr(GradientDescent, "gradient", dropped)
    with pytest.raises(mvsim.Interrupted, match="step 6"):
        simulate("erm", tmp_path / "run.nc")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_summary_of_an_interrupted_run_gives_one_time_and_says_when_it_was_measured(tmp_path, monkeypatch):
    monkeypatch.setattr("mvsim.runs.simulation.session.DISPLAY_SECONDS", 0.0)  # the display is told of every step
    with pytest.raises(mvsim.Interrupted):
        simulate("erm", tmp_path / "run.nc", progress=StopAfter(lambda step: step == 47))
    run = mvsim.open_run(tmp_path / "run.nc")
    reached, measured = float(run.dataset["final_time"]), float(run.dataset["time"][-1])
    assert measured < reached
    assert f"interrupted at step 47, t = {number(reached)}." in run.summary.splitlines()[0]
    assert f"to t = {number(reached)}, measured last at t = {number(measured)};" in run.summary


@pytest.mark.parametrize(("time", "said"), [(100.01, "to t = 100;"), (110.0, "to t = 110, measured last at t = 100;")])
def test_the_time_of_the_last_record_is_left_out_where_it_reads_like_that_of_the_end(time, said, monkeypatch):
    monkeypatch.setattr(words, "learned", lambda recorder: "Nothing learned")
    problem = SimpleNamespace(parameters=mvsim.Parameters(**TINY), label="erm")
    recorder = SimpleNamespace(objective=problem, times=[0.0, 100.0], last=lambda name: 0.5, feature_test=SimpleNamespace(draws=4))
    assert said in words.summary(recorder, 0, "7 steps", time, "interrupted", [], [])


def test_steps_a_little_too_large_are_not_called_once_as_large(monkeypatch):
    monkeypatch.setattr(words, "faithful_eta", lambda recorder: 0.99)
    (said,) = words._descent(SimpleNamespace(times=[0.0, 9.0]), SimpleNamespace(learning_rate=1.0))
    assert "; these are a little larger. " in said


def test_no_theorem_speaks_of_points_that_were_given():
    p = mvsim.Parameters(**TINY)
    run = mvsim.simulate(p, "erm", 0, data=mvsim.sample_dataset(p, 1), integrator="gd", eta=1.0, t_end=2.0, n_test=4)
    assert run.regime[0].name == "data"
    assert "Regime: given points, about which no theorem speaks" in run.summary


def test_a_flow_in_which_nothing_moves_says_so_and_since_when():
    """One neuron for each class, which all start below 0: the gradient is 0, and the flow goes on to the last time there is."""
    run = mvsim.simulate(mvsim.Parameters(k=2, m=1, N=20, d=500), "erm", seed=3)
    assert (run.settled, float(run.dataset["final_time"])) == (False, LAST_TIME)
    (told,) = (line.strip() for line in run.summary.splitlines() if "Nothing moves" in line)
    since = float(told.split("since t = ")[1].split(":")[0])
    time, norm, loss = (run.dataset[name].values for name in ("time", "gradient_norm", "loss"))
    assert told.endswith(": the gradient is 0.")
    later = time >= 0.99 * since  # three digits are told
    assert (time * norm**2 / loss)[later].max() < NOTHING_MOVES
    assert not (time[~later] > 0.0).any()  # it did not move before, either


def test_a_flow_in_which_nothing_moves_from_the_beginning_says_so():
    """At d = 10^300 correlations are so far below the threshold that the gradient underflows."""
    run = mvsim.simulate(mvsim.Parameters(k=3, d=10**300, N=30, P=12), "erm", n_test=4)
    assert (run.dataset["gradient_norm"].values == 0.0).all()
    assert "Nothing moves from the beginning: the gradient is 0." in run.summary


def test_a_flow_that_still_moves_at_the_last_time_creeps_and_names_what_moves(monkeypatch):
    """Of a run that is cut at the last time, which is a small one here, while a class is being learned."""
    p, options = mvsim.Parameters(k=3, d=300, N=30, P=12), {"seed": 0, "n_test": 4}
    assert "creeps" not in mvsim.simulate(p, "erm", t_end=1e4, **options).summary
    monkeypatch.setattr("mvsim.runs.simulation.summary.LAST_TIME", 1e4)
    run = mvsim.simulate(p, "erm", t_end=1e4, **options)
    (told,) = (line.strip() for line in run.summary.splitlines() if "It creeps" in line)
    gradient = Evidence(run).gradient(Evidence(run).snapshots[-1])
    place = np.unravel_index(np.abs(gradient).argmax(), gradient.shape)
    named = ", ".join(map(str, place))
    assert told.startswith("It creeps: while time doubles, ln J would fall by ")
    assert told.endswith(f"c[{named}] = {run.final_correlations[place]:.3g} moves most.")
