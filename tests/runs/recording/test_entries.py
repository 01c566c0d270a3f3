"""Escape times that are predicted are those of the equation that they predict, for every power of the activation."""

import numpy as np
import pytest
from looping import looping
from problems import BASE
from scipy.integrate import quad

import mvsim
from mvsim.flow import State
from mvsim.multi_view.parameters import Parameters
from mvsim.runs.recording.entries import FLOOR, EscapeLog, count_predicted, escape_errors, escape_times_by_pace, predicted_escape_times

RHO, B = 0.25, 2.5


def predicted(start, K, alpha, rho=RHO, b=B):
    return float(predicted_escape_times(np.full((1, 1, 2), start), np.full((1, 2), np.log(K)), rho, alpha, b)[0, 0, 0])


@looping("alpha", [1.0, 1.001, 1.5, 2.0, 2.001, 3.0, 8.0, 20.0, 64.0])
@looping("start", [1e-8, 1e-3, 0.1, 0.25, 1.0])
def test_the_time_is_the_integral_of_the_inverse_speed(alpha, start):
    """T is the integral of dc / (K (c / rho)^(alpha - 1)) from c(0) to b, here over log(c / c(0)), in units of the first speed."""
    K = 0.7
    scaled = quad(lambda s: np.exp((2.0 - alpha) * s), 0.0, np.log(B / start), epsabs=0.0, epsrel=1e-12, limit=1000, points=[1.0 / alpha])[0]
    log_time = np.log(start * scaled / K) - (alpha - 1.0) * np.log(start / RHO)
    measured = predicted(start, K, alpha)
    assert (np.log(measured) if log_time < 709.0 else measured) == (pytest.approx(log_time, abs=1e-9) if log_time < 709.0 else np.inf)


def test_growth_is_linear_at_alpha_1_exponential_at_2_and_a_blow_up_beyond():
    assert predicted(0.5, 0.2, 1.0) == pytest.approx((B - 0.5) / 0.2, rel=1e-13)
    assert predicted(0.5, 0.2, 2.0) == pytest.approx(RHO / 0.2 * np.log(B / 0.5), rel=1e-13)
    assert predicted(1e-4, 0.2, 8.0) == pytest.approx(RHO / 0.2 * (RHO / 1e-4) ** 6 / 6, rel=1e-13)


def test_what_does_not_grow_never_escapes_and_what_has_escaped_has_done_so():
    assert predicted(-0.1, 0.2, 8.0) == predicted(0.0, 0.2, 1.0) == np.inf
    assert predicted_escape_times(np.full((1, 1, 2), 0.1), np.full((1, 2), -np.inf), RHO, 8.0, B).min() == np.inf
    assert predicted(2.5, 0.2, 8.0) == predicted(7.0, 0.2, 1.0) == 0.0


@looping("alpha", [1.0, 1.5, 2.0, 3.0, 8.0])
def test_two_states_tell_when_a_view_escapes(alpha):
    """Where c' = K c^(alpha - 1), with K constant, or as 1 / t in the class of which it is said."""
    times, escapes = np.array([10.0, 12.0]), np.array([[50.0, 300.0], [np.inf, 80.0]])
    left = np.stack([escapes[0] - times[:, None], np.log(escapes[1]) - np.log(times[:, None])], axis=1)
    rate = np.where(np.isfinite(left), 0.001, 0.0)
    left = np.where(np.isfinite(left), left, 1.0)
    own = B * (np.exp(-rate * left) if alpha == 2.0 else (1.0 + (alpha - 2.0) * rate * left) ** (1.0 / (2.0 - alpha)))
    own = np.where(np.isfinite(escapes), own, 0.5 * B)
    neurons = np.stack([0.9 * own, own], axis=2)
    neurons[:, :, 0] = -1.0  # below 0 at rest
    np.testing.assert_allclose(escape_times_by_pace(times, neurons, np.array([False, True]), alpha, B), escapes, rtol=1e-9)


@looping(("alpha", "eta", "t_end"), [(1, 1e-5, 0.01), (2, 1e-4, 0.2)])
def test_a_run_at_small_alpha_escapes_when_it_is_predicted(alpha, eta, t_end):
    """Up to the threshold growth is what the closed form has: outputs are near 0 and every signal is below rho, or alpha is 1."""
    p = Parameters(k=3, m=2, N=60, P=400, alpha=alpha, d=3**20, delta3=0.0, delta4=0.0, rho=1e-3)
    run = mvsim.simulate(p, "erm", t_end=t_end, n_test=2, integrator="gd", eta=eta)
    own = run.dataset["own_correlations"].to_numpy()
    below = 0.5 * p.rho
    log_K = mvsim.objective("erm", p, mvsim.sample_dataset(p, 0)).log_growth_rates()
    expected = predicted_escape_times(own[0], log_K, p.rho, p.alpha, below)
    times = run.dataset["time"].to_numpy()
    seen = 0
    for place in np.argwhere(np.isfinite(expected)):
        trajectory = own[(slice(None), *place)]
        if (trajectory >= below).any():
            t = np.interp(np.log(below), np.log(trajectory), times) if alpha == 2 else np.interp(below, trajectory, times)
            assert t == pytest.approx(expected[tuple(place)], rel=0.03)
            seen += 1
    assert seen >= 3


@looping("alpha", [1, 2, 8, 50, 64])
@looping("method", ["erm", "midpoint"])
@looping("extreme", [{}, {"delta1": 1e-6, "delta2": 2e-6}, {"delta1": 4e5, "delta2": 1e6}, {"rho": 1e-30}, {"rho": 1e6}])
def test_what_is_predicted_is_a_number_or_infinity_at_every_allowed_alpha(alpha, method, extreme):
    p = Parameters(**{**BASE, "d": 3**20, "alpha": alpha, **extreme})
    objective, own = mvsim.objective(method, p, mvsim.sample_dataset(p, 0)), np.abs(np.einsum("yryl->yrl", mvsim.initial_correlations(p, 0)))
    log_K = objective.log_growth_rates()
    there = np.bincount(objective.data.labels, minlength=p.k) > 0
    assert np.isfinite(log_K[there]).all()
    assert not np.isnan(objective.log_growth_rates()).any()
    times = predicted_escape_times(own, log_K, p.rho, p.alpha, p.rho / p.delta1)
    assert not np.isnan(times).any()
    assert (times >= 0.0).all()
    log_times = np.log(p.rho) - log_K[:, None] + (p.alpha - 2.0) * np.log(p.rho / own)
    assert np.isinf(times[there & (alpha > 2)][log_times[there & (alpha > 2)] > 720.0]).all()
    assert np.isfinite(times[there][log_times[there] < 690.0]).all()


def test_a_class_counts_as_predicted_if_the_view_with_the_earliest_predicted_time_escapes_first():
    """Three classes of one neuron and two views: the first as predicted, the second the other way round, in the third nothing escapes."""
    log = EscapeLog(B, np.array([[[5.0, np.nan]], [[5.0, 2.0]], [[np.nan, np.nan]]]), np.array([[[9, -1]], [[9, 4]], [[-1, -1]]]))
    assert count_predicted(log, np.array([[[3.0, 8.0]], [[3.0, 8.0]], [[3.0, 8.0]]])) == (1, 2)
    assert count_predicted(log, np.array([[[3.0, 8.0]], [[8.0, 3.0]], [[3.0, 8.0]]])) == (2, 2)


LOSSES = {"erm": {}, "midpoint": {}, "mixup at 0.1": {"mixing": 0.1}, "mixup": {}, "mixup at 1": {"mixing": 1.0}}


@looping("N", [1, 2, 3])
@looping("loss", LOSSES)
def test_pairs_of_points_with_themselves_make_at_most_all_of_the_growth(N, loss):
    for seed in range(6):
        p = Parameters(k=4, m=2, N=N)
        objective = mvsim.objective(loss.split()[0], p, mvsim.sample_dataset(p, seed), **LOSSES[loss])
        shares = [d.statement for d in objective.deviations()]
        assert bool(shares) == objective.mixes
        for statement in shares:
            share = float(statement.split(" make ")[1].split(" %")[0])
            assert 10.0 <= share <= 100.0
            assert share == 100.0 or N > 1
        assert not np.isnan(objective.log_growth_rates()).any()


def test_the_time_of_an_escape_is_interpolated_between_two_states():
    before, after = np.full((1, 1, 1, 2), 0.1), np.full((1, 1, 1, 2), 0.5)
    after[..., 1] = 0.15  # this view stays below
    log = EscapeLog.started(before[:, :, 0], 0.2)
    log.observe(State(3, 10.0, before), State(4, 14.0, after))
    assert log.time[0, 0, 0] == pytest.approx(11.0)
    assert np.isnan(log.time[0, 0, 1])
    assert log.step.tolist() == [[[4, -1]]]


def test_the_error_of_an_escape_holds_that_of_waiting_a_floor_and_that_of_views_before():
    time = np.array([[[np.nan, 100.0], [50.0, 200.0]], [[np.nan, np.nan], [np.nan, 10.0]]])
    waiting = np.array([[[9.0, 2.0], [1.0, 4.0]], [[9.0, 9.0], [9.0, 0.5]]])
    own = waiting + FLOOR * time
    expected = own.copy()
    expected[0, :, 1] += own[0, 1, 0]  # view 0 of class 0 has escaped before, with neuron 1
    np.testing.assert_allclose(escape_errors(time, waiting), expected)
