"""The reduced system of escapes under Midpoint Mixup, beside the gradients of the engine."""

import numpy as np
import pytest
from lib.midpoint_escapes import ReducedMidpoint, grown, time_to_escape
from looping import looping

import mvsim


@pytest.fixture(scope="module")
def problem():
    """A problem with so many patches that signals of two points hardly coincide, and no noise."""
    p = mvsim.Parameters(k=4, m=3, N=24, P=4000, d=2000)
    data = mvsim.sample_dataset(p, seed=1)
    from dataclasses import replace

    return p, replace(data, patterns=np.zeros_like(data.patterns))


def dormant(p, C, c):
    """Correlations with an escaped neuron for every view with C > 0, and a dormant one of size c for each view."""
    state = np.zeros((p.k, p.m, p.k, 2))
    for y in range(p.k):
        state[y, 0, y, 0], state[y, 1, y, 1] = C[y]
        state[y, 2, y] = c
    return state


def test_before_any_escape_the_rates_are_those_of_the_engine(problem):
    p, data = problem
    rates = ReducedMidpoint(p, data).rates(np.zeros((p.k, 2)))
    assert rates == pytest.approx(np.exp(mvsim.objective("midpoint", p, data).log_growth_rates()), rel=1e-9)


@pytest.mark.parametrize("C", [[[3.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], [[6.0, 0.0], [5.0, 4.0], [0.0, 7.0], [0.0, 0.0]]])
def test_rates_and_forces_are_those_of_the_engine(problem, C):
    """The gradient of the engine at a state with escaped and dormant neurons."""
    p, data = problem
    C, c = np.array(C), 0.02 * p.rho
    reduced = ReducedMidpoint(p, data)
    pull = -np.einsum("yryl->yrl", mvsim.objective("midpoint", p, data).gradient(dormant(p, C, c)))
    expected = reduced.rates(C) * (c / p.rho) ** (p.alpha - 1.0)
    assert pull[:, 2] == pytest.approx(expected, rel=1e-6)
    _, gradient = reduced.loss_and_gradient(C)
    forces = np.stack([pull[:, 0, 0], pull[:, 1, 1]], axis=1)
    assert forces[C > 0.0] == pytest.approx(-gradient[C > 0.0], rel=1e-5)


def test_at_the_equilibrium_nothing_moves(problem):
    p, data = problem
    reduced = ReducedMidpoint(p, data)
    escaped = np.array([[True, False], [True, True], [False, False], [False, True]])
    C = reduced.equilibrium(escaped, np.zeros((p.k, 2)))
    _, gradient = reduced.loss_and_gradient(C)
    assert np.abs(gradient[escaped]).max() < 1e-6
    assert (C[~escaped] == 0.0).all()
    assert (C[escaped] > 2.0 * p.rho).all()


def test_the_other_view_goes_on_by_a_constant_factor_and_waits_for_ever_without_variance(problem):
    p, data = problem
    escaped = np.zeros((p.k, 2), dtype=bool)
    escaped[:, 0] = True
    reduced = ReducedMidpoint(p, data)
    after = reduced.rates(reduced.equilibrium(escaped, np.zeros((p.k, 2))))
    factors = after[:, 1] / reduced.rates(np.zeros((p.k, 2)))[:, 1]
    assert (factors > 0.02).all()
    assert (factors < 1.0).all()
    constant = p.replace(beta_law=mvsim.DiscreteLaw(atoms=(0.5,)))
    same = ReducedMidpoint(constant, mvsim.sample_dataset(constant, 1))
    stuck = same.rates(same.equilibrium(escaped, np.zeros((p.k, 2))))
    assert np.abs(stuck[:, 1]).max() < 0.01 * after[:, 1].min()


def test_what_an_escaped_neuron_learns_through_shared_patches_is_what_the_engine_says():
    """With few patches the signals of two points often share one."""
    p = mvsim.Parameters(k=4, m=3, N=24, P=12, d=2000)
    drawn = mvsim.sample_dataset(p, seed=1)
    reduced = ReducedMidpoint(p, drawn)
    C = np.array([[4.0, 0.0], [5.0, 4.0], [0.0, 7.0], [0.0, 0.0]])
    # Other gradients on the same neuron come from patches of noise alone, which are far below the threshold here.
    pull = -np.einsum("yryl->yrl", mvsim.objective("midpoint", p, drawn).gradient(dormant(p, C, 0.0)))
    drifts = reduced.drifts(C)
    assert drifts[0, 1] == pytest.approx(pull[0, 0, 1], rel=0.1)
    assert drifts[2, 0] == pytest.approx(pull[2, 1, 0], rel=0.1)
    assert (drifts[[1, 3]] == 0.0).all()


@looping("c", [-0.3, 0.0, 0.01, 0.2])
def test_the_closed_form_solves_the_equation(c):
    from scipy.integrate import quad

    drift, rate, rho, alpha = 2e-3, 0.7, 0.25, 8.0
    expected = quad(lambda x: 1.0 / (drift + rate * (max(x, 0.0) / rho) ** (alpha - 1.0)), c, 5.0, points=[0.0, 0.1], limit=500)[0]
    expected += rho / (rate * (alpha - 2.0)) * (5.0 / rho) ** (2.0 - alpha)
    T = time_to_escape(c, drift, rate, rho, alpha)
    assert pytest.approx(expected, rel=1e-6) == T
    half = grown(c, 0.5 * T, drift, rate, rho, alpha)
    assert time_to_escape(half, drift, rate, rho, alpha) == pytest.approx(0.5 * T, rel=1e-9)


def test_escapes_come_in_the_order_of_their_potentials(problem):
    p, data = problem
    leaders = np.array([[0.2, 0.1], [0.25, 0.12], [0.15, 0.3], [0.18, 0.11]]) * p.rho
    own = np.where(np.arange(p.m)[None, :, None] == np.arange(2), leaders[:, None], -0.1 * p.rho)  # a neuron for each view
    found = ReducedMidpoint(p, data).escapes(own)
    assert len(found) == 2 * p.k
    assert [(e.y, e.view) for e in found[:2]] == [(2, 1), (1, 0)]
    times = [e.time for e in found]
    assert times == sorted(times)
    rates = ReducedMidpoint(p, data).rates(np.zeros((p.k, 2)))
    assert times[0] == pytest.approx(p.rho * 0.3 ** (2.0 - p.alpha) / ((p.alpha - 2.0) * rates[2, 1]), rel=1e-9)
