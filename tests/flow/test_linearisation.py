"""What a stepper knows of a system near some y: how it inverts, and when it is made anew."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from looping import looping
from stepping import Problem
from tolerances import ROUNDOFF

from mvsim.base.errors import DivergedError
from mvsim.flow import linearisation_cache
from mvsim.flow import stepper as the_stepper
from mvsim.flow.linearisation import Linearisation
from mvsim.flow.secants import Secants
from mvsim.flow.stepper import COST_OF_UNSOLVED, LONGEST_INVERSE, Stepper
from mvsim.numerics.arrow_matrix import Curvature


@looping("index", [np.arange(5), np.array([3, 0]), np.zeros(0, int)])
def test_the_preconditioner_is_the_inverse_in_the_coordinates_of_y(index):
    rng = np.random.default_rng(0)
    square = rng.standard_normal((5, 5))
    H, slope = square @ square.T, 10.0 ** rng.uniform(-3, 3, 5)
    near = Linearisation(Curvature.of_border(np.arange(5), H), slope, index, lambda x: x, lambda y: True)
    matrix = np.eye(5) + 0.3 * slope[:, None] * H / slope
    inverse = np.linalg.inv(matrix)[np.ix_(index, index)]
    r = rng.standard_normal((2, len(index)))
    assert np.abs(near.preconditioner(0.3)(r, 0.0 * r) - r @ inverse.T).max(initial=0.0) <= ROUNDOFF * np.abs(inverse).max(initial=0.0) * 1e3
    assert near.preconditioner(0.3)(r[0], r[0]).shape == (len(index),)


class Counted(Problem):
    """Stiff relaxation to 0 from 1; it notes every y near which it is asked for, and every gamma that is inverted."""

    def __init__(self, lifetime=10**6, serves=lambda place, y: True):
        super().__init__(lambda y: -100.0 * y, lambda y: -100.0 * np.eye(1), lambda y: np.full(1, 1e-4))
        self.lifetime, self.serves, self.places, self.gammas = lifetime, serves, [], []

    def linearisation(self, y):
        self.places.append(y)
        near = super().linearisation(y)
        shifted = near.curvature.shifted
        curvature = replace(near.curvature, lifetime=self.lifetime)

        class Noting(Linearisation):
            def preconditioner(noting, gamma, exactly=False):  # noqa: N805
                self.gammas.append(gamma)
                solve = shifted(gamma).solve
                return lambda r, rest: solve(r)

        return Noting(curvature, near.slope, near.index, near.rate, lambda new: self.serves(y, new))


def states_of(problem, steps):
    stepper = Stepper(problem)
    states = [stepper.started(np.ones(1), np.zeros(2), 1e-5, np.full(1, -100.0))]
    for _ in range(steps):
        states.append(stepper.step(states[-1], 0.002, problem.gains)[0])
    return states


@looping("known", [True, False])
def test_the_whole_hessian_is_told_column_by_column_if_it_is_known_but_for_where_the_chart_is_curved(known):
    rng = np.random.default_rng(1)
    square = rng.standard_normal((6, 6))
    H, slope, index = square @ square.T, np.array([1.0, 1.0, 30.0, 1.0, 1.0, 1.0]), np.array([0, 2, 3, 5])
    stiff_part = Curvature.of_border(np.arange(6), np.diag(np.diag(H)))
    near = Linearisation(stiff_part, slope, index, lambda x: x, lambda y: True, (lambda v: H @ v) if known else None, np.array([1, 2]))
    off_chart = [0, 3, 5]
    whole = np.zeros((6, 6))
    whole[np.ix_(off_chart, off_chart)] = H[np.ix_(off_chart, off_chart)]
    assert np.array_equal(near.hessian(False).dense(6), stiff_part.dense(6))
    assert near.products_of_exact == (3 if known else math.inf)
    if known:
        assert np.array_equal(near.hessian(True).dense(6), whole)


def test_the_whole_hessian_is_formed_where_the_chart_is_straight():
    square = np.random.default_rng(1).standard_normal((4, 4))
    H, slope, index = (square @ square.T, np.array([1.0, 30.0, 1.0, 1.0]), np.array([0, 1, 3]))
    nothing = Curvature.nothing()
    near = Linearisation(nothing, slope, index, lambda x: x, lambda y: True, lambda v: H @ v, np.array([1]))
    exact = near.hessian(True)
    assert exact.border_index.tolist() == [0, 3]
    assert np.array_equal(exact.border, (square @ square.T)[np.ix_([0, 3], [0, 3])])
    r = np.array([1.0, 2.0, 3.0])
    shifted = np.eye(3)
    shifted[np.ix_([0, 2], [0, 2])] += 0.5 * (square @ square.T)[np.ix_([0, 3], [0, 3])]
    assert near.preconditioner(0.5, True)(r, r) == pytest.approx(np.linalg.solve(shifted, r))


class Coupled(Problem):
    """y' = H (1 - y) with relaxation times from 1 to 10^8, of which the stiff part tells nothing: it has more directions than are remembered."""

    H = (lambda Q: Q * np.logspace(-8, 0, 40) @ Q.T)(np.linalg.qr(np.random.default_rng(2).standard_normal((40, 40)))[0])

    def __init__(self, product):
        super().__init__(lambda y: self.H @ (1.0 - y), lambda y: -self.H, lambda y: np.full(40, 1e-4))
        self.product, self.products, self.counted = product, 0, 0

    def spent(self, products):
        self.counted += products

    def linearisation(self, y):
        def product(v):
            self.products += 1
            return self.H @ v

        stiff_part = Curvature.of_border(np.arange(40), np.zeros((40, 40)))
        return replace(super().linearisation(y), curvature=stiff_part, product=product if self.product else None)


def test_the_whole_hessian_preconditions_once_equations_that_failed_have_cost_as_much():
    ends = {}
    for product in (False, True):
        problem = Coupled(product)
        stepper = Stepper(problem)
        state, time = stepper.started(np.zeros(40), np.zeros(2), 1e-3, problem.rate(np.zeros(40))), 0.0
        for _ in range(250):
            state, size = stepper.step(state, 2.0 * max(time, 1e-3), problem.gains)
            time += size
        ends[product] = time, problem.products, state
    assert ends[True][0] > 1e3 * ends[False][0]
    assert ends[True][2].history.Z[0, :40] == pytest.approx(np.ones(40), abs=1e-3)
    assert ends[True][1] % 40 == 0 < ends[True][1]
    assert problem.counted == problem.products
    assert ends[False][2].unsolved * COST_OF_UNSOLVED >= 40 > ends[True][2].unsolved * COST_OF_UNSOLVED


def test_it_is_made_once_where_nothing_asks_for_another(monkeypatch):
    monkeypatch.setattr(linearisation_cache, "OUTGROWN", math.inf)
    problem = Counted()
    states = states_of(problem, 60)
    assert len(problem.places) == 1
    assert states[-1].linearised is problem.places[0]
    assert states[-1].inverted_at > 0  # the inverse alone is made anew
    assert len(problem.gammas) >= 60 // LONGEST_INVERSE


def test_it_is_made_anew_when_it_is_old():
    problem = Counted(lifetime=7)
    made = {state.linearised_at for state in states_of(problem, 60)}
    assert made == {-1, *range(0, 60, 7)}
    assert len(problem.places) == len(made) - 1


def test_it_is_made_anew_when_the_clock_has_outgrown_it(monkeypatch):
    monkeypatch.setattr(linearisation_cache, "OUTGROWN", 1.25)
    problem = Counted()
    states = states_of(problem, 60)
    assert len(problem.places) > 5
    for before, after in pairwise(states):
        grown = before.clock > 1.25 * before.linearised_clock
        assert (after.linearised is not before.linearised) == grown or before.linearised_at < 0
        assert after.linearised_clock <= after.clock


@pytest.mark.parametrize("lasting", [False, True])
def test_a_whole_hessian_that_keeps_its_size_is_not_outgrown(monkeypatch, lasting):
    monkeypatch.setattr(linearisation_cache, "OUTGROWN", 1.25)
    problem = Coupled(product=True)
    near = problem.linearisation
    problem.linearisation = lambda y: replace(near(y), lasting=lasting)
    stepper, time, lifetimes = Stepper(problem), 0.0, []
    state = stepper.started(np.zeros(40), np.zeros(2), 1e-3, problem.rate(np.zeros(40)))
    for _ in range(500):
        after, size = stepper.step(state, 2.0 * max(time, 1e-3), problem.gains)
        if state.exact and after.linearised is not state.linearised:
            lifetimes.append(state.steps - state.linearised_at)
        state, time = after, time + size
    assert lifetimes
    assert (max(lifetimes) > 50) == lasting  # until an equation fails


def until_exact(lasting):
    """A stepper and its state once the whole Hessian has been formed."""
    problem = Coupled(product=True)
    near = problem.linearisation
    problem.linearisation = lambda y: replace(near(y), lasting=lasting)
    stepper = Stepper(problem)
    state = stepper.started(np.zeros(40), np.zeros(2), 1e-3, problem.rate(np.zeros(40)))
    while not state.exact:
        state, _ = stepper.step(state, 1e12, problem.gains)
    return stepper, state


HELD = pytest.mark.parametrize(("lasting", "dear", "held"), [(True, 39, True), (True, 40, False), (False, 39, False)])
"""Products from beyond which the whole Hessian is dear; it takes 40."""


@HELD
def test_a_whole_hessian_that_is_dear_is_held_on_to_where_an_equation_fails(lasting, dear, held, monkeypatch):
    monkeypatch.setattr(the_stepper, "EXPENSIVE_HESSIAN", dear)
    stepper, state = until_exact(lasting)
    fail(1, monkeypatch)
    after, _ = stepper.step(state, 1e12, stepper.system.gains)
    assert (after.linearised is state.linearised) == after.exact == held
    assert (after.history.h < state.history.h) == held  # otherwise the same step is tried again with what is known at its end


@HELD
def test_a_whole_hessian_that_is_dear_is_formed_again_at_once_after_the_past_was_dropped(lasting, dear, held, monkeypatch):
    monkeypatch.setattr(the_stepper, "EXPENSIVE_HESSIAN", dear)
    stepper, state = until_exact(lasting)
    restarted = stepper._restarted(state, 1.0, stepper.system.rate(state.history.Z[0, :40]))
    assert not restarted.exact
    made = stepper.system.products
    fail(1, monkeypatch)
    again, _ = stepper.step(restarted, 1e12, stepper.system.gains)
    assert again.exact == held
    assert stepper.system.products - made == (40 if held else 0)


def test_equations_that_failed_still_count_after_the_past_was_dropped_where_the_whole_hessian_would_be_dear(monkeypatch):
    stepper, state = until_exact(True)
    counted = replace(state, exact=False, unsolved=17)
    for dear, count in ((39, 17), (40, 0)):
        monkeypatch.setattr(the_stepper, "EXPENSIVE_HESSIAN", dear)
        assert stepper._restarted(counted, 1.0, stepper.system.rate(state.history.Z[0, :40])).unsolved == count


def test_it_is_made_anew_where_it_does_not_serve():
    problem = Counted(serves=lambda place, y: (place[0] > 0.5) == (y[0] > 0.5))
    states = states_of(problem, 60)
    assert len(problem.places) == 2
    assert problem.places[0][0] > 0.5 >= problem.places[1][0]
    assert len({state.linearised_at for state in states}) == 3


def fail(times, monkeypatch):
    """Let so many equations from the next one on have no solution."""
    solve, left = the_stepper.solve_by_secants, [times]

    def failing(*arguments):
        left[0] -= 1
        return (None, Secants.none()) if left[0] >= 0 else solve(*arguments)

    monkeypatch.setattr(the_stepper, "solve_by_secants", failing)


@pytest.mark.parametrize(("failures", "shortened"), [(1, 1.0), (2, 0.25), (3, 1.0 / 16.0)])
def test_it_is_made_anew_after_a_failure_and_then_the_step_is_shortened(failures, shortened, monkeypatch):
    """At first the step is tried again with what is known at its own end; from then on every attempt knows its own."""
    problem = Counted()
    start = states_of(problem, 30)[-1]
    stepper = Stepper(problem)
    _, whole = stepper.step(start, 0.002, problem.gains)
    problem.places.clear()
    fail(failures, monkeypatch)
    after, time = stepper.step(start, 0.002, problem.gains)
    assert time == pytest.approx(whole * shortened, rel=0.3)
    assert len(problem.places) == failures
    assert after.linearised is problem.places[-1]
    assert after.linearised_at == after.inverted_at == start.steps
    assert after.history.Z[0, 0] == pytest.approx(start.history.Z[0, 0] * np.exp(-100.0 * time), abs=1e-3)


class Frail(Counted):
    """A system whose derivative does not exist further down."""

    def rate(self, y):
        if y[0] < 0.3:
            raise DivergedError("too far")
        return super().rate(y)


def test_an_iterate_without_a_derivative_makes_the_step_shorter():
    ends = np.array([state.history.Z[0] for state in states_of(Frail(), 60)])  # y, its integral and the time
    assert ends[-1, 0] == pytest.approx(0.3, abs=1e-2)
    assert np.all(ends[:, 0] >= 0.3)
    assert np.abs(ends[:, 0] - np.exp(-100.0 * ends[:, 2])).max() <= 1e-3
