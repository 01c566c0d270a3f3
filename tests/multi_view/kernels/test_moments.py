"""The binomial sums at the worst cancellation that they allow, against exact rational arithmetic."""

from fractions import Fraction
from math import comb

import numpy as np
from looping import looping
from tolerances import ENGINE

from mvsim.multi_view.activations import SmoothedRelu
from mvsim.multi_view.kernels.limits import AMPLIFICATION
from mvsim.multi_view.kernels.shared_noise.loops.moments import OTHER, POLYNOMIAL, MomentTable, moment_pull_back, moment_values, regimes_of

ALPHA, BETA, NEURONS = 8, 1.25, 2000
ACTIVATION = SmoothedRelu(float(ALPHA), float(ALPHA)).compiled  # unit = 1


def table():
    """One point of one class, with one signal patch, of its first feature."""
    powers = np.array([[comb(ALPHA, q) * BETA**q for q in range(ALPHA + 1)]])
    low, high, start, signal = np.array([BETA, np.inf]), np.array([BETA, -np.inf]), np.array([0, 1, 1]), np.array([BETA])
    none = np.empty(0, np.int64)
    of_points = np.concatenate([powers[0], np.zeros(ALPHA + 1)])
    return MomentTable(
        lam=0.5,
        low=low,
        high=high,
        start=start,
        class_start=np.array([0, 2]),
        signal=signal,
        powers=powers,
        of_points=of_points,
        of_points_start=np.array([0, len(of_points)]),
        place=np.zeros(1, np.int64),
        entry_start=np.zeros(3, np.int64),
        entry_row=none,
        entry_pattern=none,
        entry_point=none,
    )


def columns(part, seed=0):
    """Neurons, one for each class: noise of the other sign, ``part`` of kappa times the signal; every second one the other way round."""
    root = AMPLIFICATION ** (1.0 / ALPHA)
    kappa = (root - 1.0) / (root + 1.0)
    rng = np.random.default_rng(seed)
    larger = 10.0 ** rng.uniform(-3.0, 0.0, NEURONS)
    smaller = -part * kappa * larger * rng.uniform(0.999, 1.0, NEURONS)
    signal, noise = np.where(np.arange(NEURONS) % 2, smaller, larger) / BETA, np.where(np.arange(NEURONS) % 2, larger, smaller)
    c = np.zeros((NEURONS, 3, 1))
    c[:, 0, 0], c[:, 2, 0] = signal, noise
    return c


def exact(c, power):
    """(0.5 beta c + 0.5 n)^power for each neuron, rounded once."""
    return np.array([float((Fraction(BETA) * Fraction(own) / 2 + Fraction(noise) / 2) ** power) for own, noise in c[:, [0, 2], 0]])


def regime(c):
    """The regimes of the first feature."""
    at = table()
    return np.array([regimes_of(one[:2], one[2:], at.lam, at.low, at.high, ALPHA)[0, 0] for one in c])


def test_what_cancels_more_is_evaluated_one_by_one():
    assert (regime(columns(1.0 - 1e-9)) == POLYNOMIAL).all()
    assert (regime(columns(1.0 + 2e-3)) == OTHER).all()


def test_values_at_the_worst_cancellation():
    c, sums = columns(1.0 - 1e-9), np.zeros((NEURONS, 1, 1))
    moment_values(0, NEURONS, c, table(), sums, np.zeros((NEURONS, 0)), ACTIVATION)
    np.testing.assert_allclose(sums[:, 0, 0], exact(c, ALPHA), rtol=ENGINE)


@looping(("column", "factor"), [(0, 0.5 * BETA), (2, 0.5)])
def test_slopes_at_the_worst_cancellation(column, factor):
    c, out = columns(1.0 - 1e-9), np.zeros((NEURONS, 3, 1))
    moment_pull_back(0, NEURONS, c, table(), np.ones((NEURONS, 1, 1)), np.zeros((NEURONS, 0)), out, ACTIVATION)
    np.testing.assert_allclose(out[:, column, 0], factor * exact(c, ALPHA - 1), rtol=ENGINE)
