"""Directions without a force: which are found, and what the preconditioner does along them, against exact arithmetic."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from looping import looping
from stepping import Problem

from mvsim.flow.linearisation import Linearisation
from mvsim.flow.null_directions import LOST, ROUNDING, NullDirections, equilibrated
from mvsim.flow.stepper import Stepper
from mvsim.numerics.arrow_matrix import Curvature

NEURONS = np.repeat([7, 2, 5], [3, 2, 3])
"""Of eight coordinates. The patterns below are of neurons alone, and one joins the first with the last."""

PATTERNS = (
    (1e-2, [1.0, 0.5, 0.0, 0, 0, 0, 0, 0]),
    (3e-3, [0.3, 0.9, 0.4, 0, 0, 0, 0, 0]),
    (1e-3, [0.7, 0.1, 0.8, 0, 0, 0.5, 0, 0]),
    (2e-9, [0, 0, 0, 0.77, 0.53, 0, 0, 0]),
    (1e-4, [0, 0, 0, 0, 0, 0.6, 0, 0]),
)
"""Weights w and patterns p of H = sum w p p^T. The neuron 2 has one pattern of two features; the last two features of the neuron 5 are in none."""


def hessian(patterns=PATTERNS):
    return sum(weight * np.outer(pattern, pattern) for weight, pattern in patterns)


def in_fractions(patterns):
    """The same without rounding."""
    size = range(len(patterns[0][1]))
    return [[sum(Fraction(w) * Fraction(p[i]) * Fraction(p[j]) for w, p in patterns) for j in size] for i in size]


def without(p):
    """The direction in which a pattern of two features does not change."""
    return np.array([p[1], -p[0]]) / math.hypot(*p)


def exact_inverse(H, gamma, r):
    """(1 + gamma H)^-1 r by elimination in fractions."""
    n = len(r)
    rows = [[Fraction(int(i == j)) + Fraction(gamma) * H[i][j] for j in range(n)] + [Fraction(r[i])] for i in range(n)]
    for i in range(n):
        for j in range(n):
            if j != i and rows[j][i]:
                factor = rows[j][i] / rows[i][i]
                rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i], strict=True)]
    return np.array([float(rows[i][n] / rows[i][i]) for i in range(n)])


def test_a_direction_is_found_for_each_pattern_that_is_missing_between_features_that_some_pattern_has():
    found = NullDirections.of(hessian(), NEURONS)
    assert found.basis.shape == (8, 1)
    assert abs(found.basis[3:5, 0] @ without([0.77, 0.53])) == pytest.approx(1.0, abs=1e-15)
    assert not found.basis[[0, 1, 2, 5, 6, 7]].any()
    assert found.stiffness == pytest.approx([2e-9 * (0.77**2 * 0.53**2 * 2) / (0.77**2 + 0.53**2)])


def test_a_direction_that_some_pattern_notices_a_little_is_none():
    """More than rounding, far less than all others."""
    H = hessian()
    H[3:5, 3:5] += 1e-12 * 2e-9 * np.outer([0.5, -0.8], [0.5, -0.8])
    assert NullDirections.of(H, NEURONS).stiffness.shape == (0,)


def test_features_on_which_a_neuron_is_dormant_are_left_out():
    H = hessian()
    H[6:, 6:] = 1e-70 * np.outer([1.0, 2.0], [1.0, 2.0])
    assert len(NullDirections.of(H, NEURONS).stiffness) == 1


def test_several_of_one_neuron_are_found_whatever_their_scales():
    patterns = [(1e-2, [1, 2, 0, 0, 0]), (1e-9, [0, 0, 3, 1, 1])]
    H = sum(weight * np.outer(pattern, pattern) for weight, pattern in patterns)
    found = NullDirections.of(H, np.zeros(5, int))
    assert found.basis.shape == (5, 3)
    assert found.basis.T @ found.basis == pytest.approx(np.eye(3), abs=1e-14)
    for _, pattern in patterns:
        assert np.abs(pattern @ found.basis).max() < 1e-14


@looping("apart", [1e4, 1e8, 1e20, 1e40])
def test_those_at_large_scales_are_exact_in_the_coordinates_at_small_ones(apart):
    """Each component to the last digits of itself, as it is multiplied by the rate at which its coordinate relaxes."""
    patterns = [(1e-2, [0.9, 0.4, 0.6, 0, 0, 0]), (1e-2 / apart, [0, 0, 0, 0.5, 0.8, 0.3])]
    found = NullDirections.of(hessian(patterns), np.zeros(6, int))
    assert found.basis.shape == (6, 4 if apart < 1e30 else 2)
    assert found.basis.T @ found.basis == pytest.approx(np.eye(found.basis.shape[1]), abs=1e-14)
    for _, pattern in patterns:
        assert (np.abs(pattern @ found.basis) <= 1e-14 * (np.abs(pattern) @ np.abs(found.basis))).all()


@looping("part", [10.0**-n for n in range(9, 18)])
def test_beside_a_weak_pattern_those_that_are_found_are_none_of_the_strong_one(part):
    """Two patterns of four features: two directions where the weak one is seen, three where it is rounding, none to two where that is open."""
    strong, weak = np.array([0.7, 0.3, 0.8, 0.9]), np.array([0.1, 0.2, 0.9, 0.4])
    found = NullDirections.of(hessian([(1e-3, strong), (1e-3 * part, weak)]), np.zeros(4, int)).basis
    assert found.shape[1] <= (3 if part < 2e-12 else 2)
    assert found.shape[1] == 2 or part < 2e-12
    assert np.abs(strong @ found).max(initial=0.0) <= 10.0 * ROUNDING


@looping("part", [1e-11, 1e-12, 1e-13])
def test_a_weak_pattern_spoils_no_direction_in_other_features(part):
    """Of seven features with one pattern there are six, whatever the other two have."""
    pattern = [0.9, 0.4, 0.6, 0.2, 0.8, 0.7, 0.3, 0, 0]
    patterns = [(1e-3, pattern), (1e-3, [0] * 7 + [0.7, 0.4]), (1e-3 * part, [0] * 7 + [0.3, 0.9])]
    found = NullDirections.of(hessian(patterns), np.zeros(9, int)).basis
    within = found[:, np.abs(found[7:]).max(axis=0) <= ROUNDING / part]
    assert within.shape[1] == 6
    assert np.abs(np.array(pattern) @ within).max() < 1e-14


@looping("features", [10, 40, 200])
def test_one_pattern_of_many_features_leaves_one_direction_less_than_these(features):
    """Their sum is as large as the matrix is: rounding counts against that. Components over six powers of ten stay orthonormal."""
    pattern = 10.0 ** -np.random.default_rng(6).uniform(0, 6, features)
    found = NullDirections.of(hessian([(1e-3, pattern)]), np.zeros(features, int)).basis
    assert found.shape == (features, features - 1)
    assert found.T @ found == pytest.approx(np.eye(features - 1), abs=1e-13)


def test_a_neuron_may_be_far_softer_than_others():
    """Which of its coordinates are too soft to be looked at is asked of itself."""
    H = hessian()
    H[3:5, :5] *= 1e-40
    H[:5, 3:5] *= 1e-40
    assert NullDirections.of(H, NEURONS).basis.shape == (8, 1)


def test_the_error_of_a_direction_says_how_far_a_weak_pattern_beside_it_can_be_off():
    strong, weak = [0.9, 0.4, 0.6], [0.3, 0.8, 0.5]
    exact = np.cross(strong, weak) / np.linalg.norm(np.cross(strong, weak))
    for part in (1.0, 1e-4, 1e-8, 1e-11):
        found = NullDirections.of(hessian([(1e-5, strong), (1e-5 * part, weak)]), np.zeros(3, int))
        off = np.abs(found.basis[:, 0] * np.sign(found.basis[:, 0] @ exact) - exact)
        assert (off <= found.error[:, 0]).all()
        assert found.error.max() <= 1e3 * ROUNDING / part


def test_a_decomposition_without_an_answer_leaves_no_direction(monkeypatch):
    """Some devices return NaN where NumPy raises an error."""
    nothing = np.full((8, 8), np.nan)
    monkeypatch.setattr(np.linalg, "svd", lambda a, **_: (nothing, nothing[0, : a.shape[1]], nothing[: a.shape[1], : a.shape[1]]))
    assert NullDirections.of(hessian(), NEURONS).stiffness.shape == (0,)


def test_a_matrix_is_scaled_until_each_row_has_an_entry_of_size_one():
    H = hessian()
    scaled, scale = equilibrated(H)
    assert not scale[6:].any()
    assert not scaled[6:].any()
    assert scaled[:6, :6] == pytest.approx(H[:6, :6] / np.outer(scale[:6], scale[:6]))
    assert np.abs(scaled[:6]).max(axis=1) == pytest.approx(np.ones(6), rel=1e-3)


def near_of(H, neuron=NEURONS, index=None, slope=None, curved=None):
    index = np.arange(len(H)) if index is None else index
    slope = np.ones(len(H)) if slope is None else slope
    of_each = None if neuron is None else neuron[index]
    return Linearisation(Curvature.nothing(), slope, index, lambda x: x, lambda y: True, lambda v: H @ v, curved, neuron=of_each)


GAMMA = 2.0**110
"""About 10^33: gamma H is 10^24 for the softest pattern, and its rounding 10^8."""


@looping("index", [np.arange(8), np.array([4, 0, 1, 3, 2, 7, 6, 5])])
def test_along_such_a_direction_the_preconditioner_is_one(index):
    """A force on the stiff part alone, and a rest along the direction; in fractions, with the patterns as they are."""
    H, rng = hessian(), np.random.default_rng(0)
    force = GAMMA * 1e-12 * H @ rng.standard_normal(8)
    rest = np.zeros(8)
    rest[3:5] = 3e-4 * without([0.77, 0.53])
    solve = near_of(H, index=index).preconditioner(GAMMA, True)
    x = np.zeros(8)
    x[index] = solve((force - rest)[index], rest[index])
    along = x[3:5] @ without([0.77, 0.53])
    assert along == pytest.approx(-3e-4, rel=1e-9)
    others = [0, 1, 2, 5]
    assert x[others] == pytest.approx(exact_inverse(in_fractions(PATTERNS), GAMMA, force - rest)[others], rel=1e-6, abs=1e-16)


def test_control_without_them_rounding_decides_how_far_an_iteration_goes_along_it():
    """The same, of coordinates of which it is not known which neuron they belong to."""
    rest = np.zeros(8)
    rest[3:5] = 3e-4 * without([0.77, 0.53])
    x = near_of(hessian(), neuron=None).preconditioner(GAMMA, True)(-rest, rest)
    assert abs(x[3:5] @ without([0.77, 0.53]) + 3e-4) > 1e-4


@looping("part", [1e-4, 1e-8, 1e-11])
@looping("gamma", [2.0**60, GAMMA])
def test_beside_a_weak_pattern_on_the_same_features_the_inverse_is_as_exact_as_the_hessian_tells_that(part, gamma):
    """Two patterns of three features, in fractions. The weak one is 10^-16 / part of itself away from what the Hessian says."""
    patterns = [(1e-5, [0.9, 0.4, 0.6]), (1e-5 * part, [0.3, 0.8, 0.5])]
    H, rng = hessian(patterns), np.random.default_rng(4)
    changes = [(gamma * weight * change, pattern) for change, (weight, pattern) in zip((1e-9, 1e-3), patterns, strict=True)]
    force, rest = [sum(Fraction(pull) * Fraction(pattern[i]) for pull, pattern in changes) for i in range(3)], 1e-3 * rng.standard_normal(3)
    rounded = np.array([float(f) for f in force])
    x = near_of(H, neuron=np.zeros(3, int)).preconditioner(gamma, True)(rounded - rest, rest)
    expected = exact_inverse(in_fractions(patterns), gamma, [f - Fraction(r) for f, r in zip(force, rest, strict=True)])
    assert np.abs(x - expected).max() <= 1e-14 / part * np.abs(expected).max()


def test_slopes_and_curved_coordinates_are_those_of_the_plain_inverse():
    """In y = y(c), P is D (1 + gamma H) D^-1. A curved coordinate in the midst of a neuron is not in the Hessian that is formed: P is 1 there."""
    rng, at = np.random.default_rng(5), [0, 1, 2, 4, 5, 6, 7, 8]
    H, neuron, slope = np.zeros((9, 9)), np.insert(NEURONS, 3, 7), 10.0 ** rng.uniform(-3, 3, 9)
    H[np.ix_(at, at)] = hessian()
    r, rest = GAMMA * 1e-12 * H @ rng.standard_normal(9), 1e-3 * rng.standard_normal(9)
    whole = near_of(H, neuron=neuron, slope=slope, curved=np.array([3])).preconditioner(GAMMA, True)
    without = near_of(hessian()).preconditioner(GAMMA, True)
    x = whole(slope * (r - rest), slope * rest) / slope
    assert x[at] == pytest.approx(without((r - rest)[at], rest[at]), rel=1e-6)
    assert x[3] == pytest.approx((r - rest)[3])


def test_a_force_along_it_counts_where_it_is_more_than_rounding():
    n = np.zeros(8)
    n[3:5] = without([0.77, 0.53])
    solve, none = near_of(hessian()).preconditioner(GAMMA, True), np.zeros(8)
    pattern = np.array(PATTERNS[3][1])
    assert solve(1e6 * pattern + 0.7 * n, none) @ n == pytest.approx(0.7)
    assert solve(1e6 * pattern + 1e-9 * n, none) @ n == pytest.approx(0.0, abs=1e-15)


def test_many_vectors_are_done_at_once():
    solve, r = near_of(hessian()).preconditioner(GAMMA, True), np.random.default_rng(1).standard_normal((2, 3, 8))
    assert solve(r[0], r[1]) == pytest.approx(np.stack([solve(one, other) for one, other in zip(*r, strict=True)]))


@looping(("gamma", "exactly", "differs"), [(LOST / 1e-8, True, False), (LOST / 1e-11, True, True), (LOST / 1e-11, False, False)])
def test_they_are_looked_for_only_where_rounding_would_hide_them(gamma, exactly, differs):
    """Elsewhere the results are those of the plain inverse, bit for bit."""
    H, r = hessian(), np.random.default_rng(2).standard_normal(8)
    solved = [near_of(H, neuron=neuron).preconditioner(gamma, exactly)(r, r) for neuron in (NEURONS, None)]
    assert (not np.array_equal(*solved)) == differs


FOUR = (
    (1e-2, [0.9, 0.4, 0.6, 0.2, 0]),
    (3e-6, [0.3, 0.8, 0.5, 0.7, 0]),
    (1e-3, [0.0, 0.0, 0.0, 0.0, 0.6]),
)
"""Two patterns of four features, whose forces are sums of terms of both signs, and another neuron."""

PROBLEMS = {"one pattern of two features": (PATTERNS, NEURONS), "two of four": (FOUR, np.array([0, 0, 0, 0, 1]))}


class Held(Problem):
    """y' = H (1 - y), of which the stiff part tells nothing: the whole Hessian is formed at the start.

    The force is one along the patterns to the last digit, as that of a loss is.
    """

    def __init__(self, patterns, neuron):
        self.patterns, self.neuron, size = patterns, neuron, len(patterns[0][1])
        super().__init__(self.force, lambda y: -self.H(y), lambda y: np.full(size, 1e-3))

    def active(self, y):
        """The patterns at y with their weights."""
        return self.patterns

    def force(self, y):
        return sum(weight * (np.array(pattern) @ (1.0 - y)) * np.array(pattern) for weight, pattern in self.active(y))

    def H(self, y):
        return hessian(self.active(y))

    def linearisation(self, y):
        H = self.H(y)
        return replace(super().linearisation(y), curvature=Curvature.nothing(), product=lambda v: H @ v, neuron=self.neuron)


def followed(problem, start, steps=150, end=math.inf):
    """The time after so many steps, or once it is past the end, and the state there."""
    stepper = Stepper(problem)
    state, time = stepper.started(start, np.zeros(2), 1.0, problem.rate(start)), 0.0
    state = replace(state, form_hessian=True)
    for _ in range(steps):
        state, size = stepper.step(state, 3.0 * max(time, 1.0), problem.gains)
        time += size
        if time > end:
            break
    assert state.exact
    return time, state.history.Z[0, : len(start)]


def held(name):
    """The time after 150 steps, and how far the state has gone along directions without a force of the neuron that has some."""
    patterns, neuron = PROBLEMS[name]
    start = 1.0 + 0.1 * np.random.default_rng(3).standard_normal(len(neuron))
    time, end = followed(Held(patterns, neuron), start)
    within = neuron == (2 if patterns is PATTERNS else 0)
    of_neuron = np.array([np.array(pattern)[within] for _, pattern in patterns if np.array(pattern)[within].any()])
    nothing = np.linalg.svd(of_neuron)[2][len(of_neuron) :]
    return time, np.abs(nothing @ (end - start)[within]).max()


@looping("name", list(PROBLEMS))
def test_what_no_force_acts_on_stands_still_for_ever(name):
    time, moved = held(name)
    assert time > 1e35
    assert moved < 1e-8


class Opening(Held):
    """A neuron that is active on one pattern, and on a second one once another neuron has moved, which takes 10^25."""

    SLOWLY = 1e-25

    def __init__(self):
        super().__init__(((1.0, [0.77, 0.53, 0.0]), (self.SLOWLY, [0.0, 0.0, 1.0])), np.array([0, 0, 1]))

    def active(self, y):
        open_by = 1.0 / (1.0 + math.exp(min(-200.0 * (y[2] - 0.5), 700.0)))
        return (*self.patterns, (1e-3 * open_by, [0.5, -0.8, 0.0]))


def test_a_pattern_that_becomes_active_late_is_learned_then():
    """That forces along a direction without one count as soon as they are there: before the Hessian tells that it is none any more."""
    start = np.array([1.3, 0.4, 0.0])
    time, end = followed(Opening(), start, 400, 1e27)
    assert time > 1e27
    assert end == pytest.approx(np.ones(3), abs=2e-3)
