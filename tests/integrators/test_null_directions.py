"""Directions without a force: which are found, and what the preconditioner does along them, against exact arithmetic."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from stepping import Problem
from strict_device import STRICT, fetched

from mvsim.integrators.flow.near import Near
from mvsim.integrators.flow.null_directions import LOST, NullDirections, equilibrated
from mvsim.integrators.flow.stepper import AT_ONCE, Stepper
from mvsim.linalg.arrow_matrix import Curvature

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


def hessian():
    return sum(weight * np.outer(pattern, pattern) for weight, pattern in PATTERNS)


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
    """Far more than rounding, far less than all others."""
    H = hessian()
    H[3:5, 3:5] += 1e-8 * 2e-9 * np.outer([0.5, -0.8], [0.5, -0.8])
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
        assert np.abs(pattern @ found.basis).max() < 1e-11


def test_a_matrix_is_scaled_until_each_row_has_an_entry_of_size_one():
    H = hessian()
    scaled, scale = equilibrated(H)
    assert not scale[6:].any()
    assert not scaled[6:].any()
    assert scaled[:6, :6] == pytest.approx(H[:6, :6] / np.outer(scale[:6], scale[:6]))
    assert np.abs(scaled[:6]).max(axis=1) == pytest.approx(np.ones(6), rel=1e-3)


def near_of(H, put=lambda x: x, neuron=NEURONS, index=None):
    index = np.arange(len(H)) if index is None else index
    matrix, of_each = put(H), None if neuron is None else put(neuron[index])
    nothing, slope = Curvature.nothing(matrix), put(np.ones(len(H)))
    return Near(nothing, slope, put(index), lambda x: x, lambda y: True, lambda v: matrix @ v, neuron=of_each)


GAMMA = 2.0**110
"""About 10^33: gamma H is 10^24 for the softest pattern, and its rounding 10^8."""


@pytest.mark.parametrize("put", [lambda x: x, STRICT.put], ids=["numpy", "strict"])
@pytest.mark.parametrize("index", [np.arange(8), np.array([4, 0, 1, 3, 2, 7, 6, 5])], ids=["in order", "in another order"])
def test_along_such_a_direction_the_preconditioner_is_one(index, put):
    """A force on the stiff part alone, and a rest along the direction; in fractions, with the patterns as they are."""
    H, rng = hessian(), np.random.default_rng(0)
    exact = [[sum(Fraction(w) * Fraction(p[i]) * Fraction(p[j]) for w, p in PATTERNS) for j in range(8)] for i in range(8)]
    force = GAMMA * 1e-12 * H @ rng.standard_normal(8)
    rest = np.zeros(8)
    rest[3:5] = 3e-4 * without([0.77, 0.53])
    solve = near_of(H, put, index=index).preconditioner(GAMMA, True)
    x, solution = np.zeros(8), solve(put((force - rest)[index]), put(rest[index]))
    x[index] = solution if isinstance(solution, np.ndarray) else fetched(solution)
    along = x[3:5] @ without([0.77, 0.53])
    assert along == pytest.approx(-3e-4, rel=1e-9)
    others = [0, 1, 2, 5]
    assert x[others] == pytest.approx(exact_inverse(exact, GAMMA, force - rest)[others], rel=1e-6, abs=1e-16)


def test_without_them_rounding_decides_how_far_an_iteration_goes_along_it():
    """That the test above can fail: the same, of coordinates of which it is not known which neuron they belong to."""
    rest = np.zeros(8)
    rest[3:5] = 3e-4 * without([0.77, 0.53])
    x = near_of(hessian(), neuron=None).preconditioner(GAMMA, True)(-rest, rest)
    assert abs(x[3:5] @ without([0.77, 0.53]) + 3e-4) > 1e-4


def test_a_force_along_it_counts_where_it_is_more_than_rounding():
    n = np.zeros(8)
    n[3:5] = without([0.77, 0.53])
    solve, none = near_of(hessian()).preconditioner(GAMMA, True), np.zeros(8)
    pattern = np.array(PATTERNS[3][1])
    assert solve(1e6 * pattern + 0.7 * n, none) @ n == pytest.approx(0.7)
    assert solve(1e6 * pattern + 1e-8 * n, none) @ n == pytest.approx(0.0, abs=1e-15)


def test_many_vectors_are_done_at_once():
    solve, r = near_of(hessian()).preconditioner(GAMMA, True), np.random.default_rng(1).standard_normal((2, 3, 8))
    assert solve(r[0], r[1]) == pytest.approx(np.stack([solve(one, other) for one, other in zip(*r, strict=True)]))


@pytest.mark.parametrize(("gamma", "exactly", "differs"), [(LOST / 1e-8, True, False), (LOST / 1e-11, True, True), (LOST / 1e-11, False, False)])
def test_they_are_looked_for_only_where_rounding_would_hide_them(gamma, exactly, differs):
    """Elsewhere the results are those of the plain inverse, bit for bit."""
    H, r = hessian(), np.random.default_rng(2).standard_normal(8)
    solved = [near_of(H, neuron=neuron).preconditioner(gamma, exactly)(r, r) for neuron in (NEURONS, None)]
    assert (not np.array_equal(*solved)) == differs


def force(y):
    """H (1 - y), along the patterns to the last digit, as the force of a loss is."""
    return sum(weight * (np.array(pattern) @ (1.0 - y)) * np.array(pattern) for weight, pattern in PATTERNS)


class Held(Problem):
    """y' = H (1 - y), of which the stiff part tells nothing: the whole Hessian is formed at the start."""

    def __init__(self, neuron):
        self.H, self.neuron = hessian(), neuron
        super().__init__(force, lambda y: -self.H, lambda y: np.full(8, 1e-3))

    def near(self, y):
        return replace(super().near(y), curvature=Curvature.nothing(y), product=lambda v: self.H @ v, neuron=self.neuron)


def followed(neuron):
    """The time after 150 steps, and how far the state has gone along the direction meanwhile."""
    problem = Held(neuron)
    stepper, start = Stepper(problem), 1.0 + 0.1 * np.random.default_rng(3).standard_normal(8)
    state, time = stepper.started(start, np.zeros(2), 1.0, problem.rate(start)), 0.0
    state = replace(state, unsolved=AT_ONCE)
    for _ in range(150):
        state, size = stepper.step(state, 3.0 * max(time, 1.0), problem.gains)
        time += size
    assert state.exact
    return time, (state.history.Z[0, 3:5] - start[3:5]) @ without([0.77, 0.53])


def test_what_no_force_acts_on_stands_still_for_ever():
    time, moved = followed(NEURONS)
    assert time > 1e40
    assert abs(moved) < 1e-11


def test_where_it_is_hidden_by_rounding_the_state_is_carried_away():
    """That the test above can fail."""
    assert abs(followed(None)[1]) > 1e-3
