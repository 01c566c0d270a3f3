"""Steps of stiff test problems of the literature, beside CVODE and exact solutions."""

import math
from dataclasses import replace

import numpy as np
import pytest
from compare import assert_close
from looping import looping
from sksundae.cvode import CVODE
from stepping import Problem, follow
from tolerances import FEW_OPERATIONS

import mvsim
from mvsim.flow import Units
from mvsim.flow.clock import time_of
from mvsim.flow.error_size import error_size
from mvsim.flow.krylov import gmres
from mvsim.flow.linearisation_cache import LinearisationCache
from mvsim.flow.newton import ImplicitEquation, solve_by_newton
from mvsim.flow.secants import Secants, solve_by_secants
from mvsim.flow.stepper import GaveUpError, Stepper


def robertson(y):
    slow, fast, quadratic = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
    return np.array([fast - slow, slow - fast - quadratic, quadratic])


def robertson_jacobian(y):
    return np.array([[-0.04, 1e4 * y[2], 1e4 * y[1]], [0.04, -1e4 * y[2] - 6e7 * y[1], -1e4 * y[1]], [0.0, 6e7 * y[1], 0.0]])


@looping("t_end", [40.0, 4e4, 4e9])
def test_robertson(t_end):
    """The reference is CVODE's own, with a dense Jacobian at a thousandth of the tolerance."""
    scale = np.array([1.0, 1e-5, 1.0])
    problem = Problem(robertson, robertson_jacobian, lambda y: 1e-5 * (np.abs(y) + 1e-4 * scale))
    y, steps, _, orders = follow(problem, np.array([1.0, 0.0, 0.0]), t_end)

    def right_hand_side(t, y, out):
        out[:] = robertson(y)

    solver = CVODE(right_hand_side, method="BDF", rtol=1e-8, atol=1e-13 * np.array([1.0, 1e-4, 1.0]), max_num_steps=100_000)
    reference = np.ravel(solver.solve(np.array([0.0, t_end]), np.array([1.0, 0.0, 0.0])).y[-1])
    assert np.all(np.abs(y - reference) < 1e-3 * np.abs(reference) + 1e-9 * scale)
    assert steps < 600
    assert max(orders) >= 4
    assert y.sum() == pytest.approx(1.0, abs=1e-6)


def van_der_pol(mu):
    """y'' = mu (1 - y^2) y' - y, as a system of first order."""
    return Problem(
        lambda y: np.array([y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]]),
        lambda y: np.array([[0.0, 1.0], [-2.0 * mu * y[0] * y[1] - 1.0, mu * (1.0 - y[0] ** 2)]]),
        lambda y: 1e-6 * np.abs(y) + np.array([1e-6, 1e-6]),
    )


def test_van_der_pol():
    """mu = 1000: jumps between two slow branches. The period is (3 - 2 ln 2) mu + 7.0143 mu^(-1/3) = 1614.407 to leading order."""
    mu = 1000.0
    problem = van_der_pol(mu)
    stepper = Stepper(problem)
    y = np.array([2.0, 0.0])
    state = stepper.started(y, np.zeros(2), 1e-6, problem.rate(y))
    t, crossings = 0.0, []
    while len(crossings) < 3:
        before = state.history.Z[0, 0]
        state, size = stepper.step(state, math.inf, problem.gains)
        t += size
        if before < 0.0 <= state.history.Z[0, 0]:
            crossings.append(t)
        assert t < 6000.0
    assert crossings[2] - crossings[1] == pytest.approx((3.0 - 2.0 * math.log(2.0)) * mu + 7.0143 * mu ** (-1.0 / 3.0), rel=5e-4)


def test_the_order_is_raised_along_slow_branches_and_lowered_at_jumps():
    """By one at a time, and from order 3 or more, where it is not that the past was dropped."""
    problem = van_der_pol(1000.0)
    stepper, y = Stepper(problem), np.array([2.0, 0.0])
    state, t, orders = stepper.started(y, np.zeros(2), 1e-6, problem.rate(y)), 0.0, [1]
    while t < 2000.0:
        state, size = stepper.step(state, math.inf, problem.gains)
        t += size
        orders.append(state.history.order)
    changes = np.diff(orders)
    assert set(changes[np.array(orders[:-1]) >= 3]) == {-1, 0, 1}
    assert max(orders) == 5


def test_an_equation_is_solved_to_a_tolerance_of_its_own(monkeypatch):
    weights = []
    monkeypatch.setattr("mvsim.flow.stepper.solve_by_secants", lambda *equation: (weights.append(equation[3]), solve_by_secants(*equation))[1])
    problem = Problem(lambda y: -y, lambda y: -np.eye(1), lambda y: np.full(1, 1e-3))
    problem.tolerance = lambda y: Units(np.full(1, 1e-3), np.full(1, 1e-6))
    follow(problem, np.ones(1), 1.0)
    assert set(np.ravel(weights)) == {1e-6}


def test_a_preconditioner_that_is_singular_is_an_equation_that_is_not_solved(monkeypatch):
    """It is made anew, and where that does not help the step is shortened."""
    preconditioner, singular = LinearisationCache.preconditioner, []

    def fails_twice(known, now):
        if len(singular) < 2:
            singular.append(now.gamma)
            raise np.linalg.LinAlgError("singular")
        return preconditioner(known, now)

    monkeypatch.setattr(LinearisationCache, "preconditioner", fails_twice)
    stepper, start = at_a_constant_speed()
    after, size = stepper.step(start, math.inf, Problem.gains)
    assert len(singular) == 2
    assert after.unsolved >= 1
    assert after.history.Z[0, 0] == pytest.approx(size, rel=1e-3)


@pytest.mark.parametrize(("speed", "size"), [(1.0, 1e3 / 4.0**20), (1e9, 1e-12)])
def test_after_many_equations_that_were_not_solved_the_past_is_dropped(speed, size, monkeypatch):
    """The next attempt is as long as the last one, or as the field takes to move by the tolerance, if that is less; integrals stay."""
    stepper = Stepper(Problem(lambda y: np.full(1, speed), lambda y: np.zeros((1, 1)), lambda y: np.full(1, 1e-3)))
    start = stepper.started(np.full(1, 5.0), np.array([2.0, 3.0]), 1e3, np.full(1, speed))
    start = replace(start, history=replace(start.history, Z=np.concatenate([start.history.Z, 1e3 * start.history.Z[1:]])))
    unsolved(monkeypatch, 20)
    after, taken = stepper.step(start, math.inf, Problem.gains)
    assert taken == pytest.approx(size, rel=1e-2)
    assert after.history.order == 1
    assert after.history.Z[0] == pytest.approx([5.0 + speed * taken, 2.0 + 5.0 * taken, 3.0 + taken], rel=1e-6)


def test_where_the_system_cannot_be_linearised_a_shorter_step_is_tried():
    """The prediction may lie far outside, where the field has no values."""
    stepper, start = at_a_constant_speed()
    near, places = stepper.system.linearisation, []

    def near_unless_far(y):
        places.append(float(y[0]))
        if len(places) < 3:
            raise mvsim.DivergedError("far outside")
        return near(y)

    stepper.system.linearisation = near_unless_far
    _, size = stepper.step(start, math.inf, Problem.gains)
    assert places == sorted(places, reverse=True)
    assert size == pytest.approx(start.clock * math.expm1(start.history.h / 16.0), rel=1e-9)


def test_integrals_follow_with_the_accuracy_of_the_steps():
    problem = Problem(lambda y: -y, lambda y: -np.eye(1), lambda y: np.full(1, 1e-7))
    y, _, integrals, _ = follow(problem, np.ones(1), 3.0)
    assert y[0] == pytest.approx(np.exp(-3.0), abs=1e-5)
    assert integrals == pytest.approx([1.0 - np.exp(-3.0), 3.0], abs=1e-5)


@looping("tolerance", [1e-3, 1e-5, 1e-7])
def test_the_error_follows_the_tolerance(tolerance):
    def f(y):
        return np.array([-1e6 * (y[0] - np.cos(y[1])), 1.0])

    problem = Problem(f, lambda y: np.array([[-1e6, -1e6 * np.sin(y[1])], [0.0, 0.0]]), lambda y: np.full(2, tolerance), steady=[1])
    y, _, _, _ = follow(problem, np.array([1.0, 0.0]), 5.0)
    assert abs(y[0] - np.cos(5.0)) < 10.0 * tolerance
    assert abs(y[0] - np.cos(5.0)) > 1e-12


def test_a_step_that_is_not_sound_is_tried_shorter_until_it_is():
    problem = Problem(lambda y: np.ones(1), lambda y: np.zeros((1, 1)), lambda y: np.full(1, 1e-3))
    stepper = Stepper(problem)
    state = stepper.started(np.zeros(1), np.zeros(2), 1.0, np.ones(1))
    after, size = stepper.step(state, 1.0, lambda size, *ends: problem.gains(size, *ends) if size < 0.01 else None)
    assert size < 0.01
    assert after.history.Z[0, 0] == pytest.approx(size, abs=1e-6)
    with pytest.raises(GaveUpError, match="the loss does not fall"):
        stepper.step(state, 1.0, lambda size, before, after: None)


@looping("refused", [3, 4, 7])
def test_a_step_that_is_refused_until_the_past_is_dropped_keeps_the_integrals(refused):
    """From the fourth refusal on each attempt starts anew from where the step began, and from what the integrals were there."""
    problem, asked = Problem(lambda y: np.ones(1), lambda y: np.zeros((1, 1)), lambda y: np.full(1, 1e-3)), []
    stepper = Stepper(problem)

    def judge(size, *ends):
        asked.append(size)
        return problem.gains(size, *ends) if len(asked) > refused else None

    after, size = stepper.step(stepper.started(np.array([5.0]), np.array([2.0, 3.0]), 1.0, np.ones(1)), 1.0, judge)
    assert len(asked) == refused + 1
    assert asked == sorted(asked, reverse=True)
    assert after.history.Z[0] == pytest.approx([5.0 + size, 2.0 + 5.0 * size, 3.0 + size], rel=0.0, abs=1e-6)
    assert after.steps == 1


def unsolved(monkeypatch, times):
    """Let so many of the next equations not be solved, with whatever preconditioner."""
    failed = []

    def solve(equation, *how):
        if len(failed) < times and not any(each is equation for each in failed):
            failed.append(equation)
        return (None, Secants.none()) if any(each is equation for each in failed) else solve_by_secants(equation, *how)

    monkeypatch.setattr("mvsim.flow.stepper.solve_by_secants", solve)


def at_a_constant_speed():
    """A stepper of y' = 1 and its beginning."""
    stepper = Stepper(Problem(lambda y: np.ones(1), lambda y: np.zeros((1, 1)), lambda y: np.full(1, 1e-3)))
    return stepper, stepper.started(np.zeros(1), np.zeros(2), 1e-6, np.ones(1))


@pytest.mark.parametrize(("times", "size"), [(1, 2.5e-4), (2, 6.25e-5)])
def test_after_an_equation_that_was_not_solved_the_next_step_is_not_longer(times, size, monkeypatch):
    """Its error would allow any growth: the attempt that was solved is short because a longer one was not."""
    stepper, start = at_a_constant_speed()
    freely, _ = stepper.step(start, math.inf, Problem.gains)
    assert freely.history.h > 0.1
    unsolved(monkeypatch, times)
    after, _ = stepper.step(start, math.inf, Problem.gains)
    assert after.history.h == pytest.approx(size, rel=1e-12)  # in x, in which the first attempt was of the size 0.001
    assert after.history.order == 1


def test_equations_that_are_not_solved_are_counted(monkeypatch):
    stepper, state = at_a_constant_speed()
    counts = []
    for failures in (0, 2, 0, 1, 0):
        unsolved(monkeypatch, failures)
        state, _ = stepper.step(state, 0.01, Problem.gains)
        counts.append(state.unsolved)
    assert counts == [0, 2, 2, 3, 3]


def test_gmres_solves_and_says_when_it_does_not():
    rng = np.random.default_rng(0)
    A = np.eye(30) + 0.1 * rng.standard_normal((30, 30))
    r = rng.standard_normal(30)
    x, solved = gmres(lambda v: A @ v, r, 1e-10, 30)
    assert solved
    assert np.abs(A @ x - r).max() < 1e-9
    x, solved = gmres(lambda v: A @ v, r, 1e-10, 3)
    assert not solved
    assert np.linalg.norm(A @ x - r) < np.linalg.norm(r)
    assert gmres(lambda v: v, np.full(3, np.inf), 1.0, 3)[1] is False


def test_newton_finds_the_solution_of_the_equation_or_none():
    equation = ImplicitEquation(lambda y: -(y**3), 0.5, np.array([1.0, 2.0]), np.zeros(2))
    solution = solve_by_newton(equation, np.full(2, 1e-6), 1.0, 1.0)
    assert solution is None  # three corrections do not reach it from there
    solution = solve_by_newton(equation._replace(gamma=1e-3), np.full(2, 1e-6), 1.0, 1.0)
    a = solution.correction
    assert np.abs(a + 1e-3 * (equation.predicted + a) ** 3).max() < 1e-7


def test_an_error_is_a_root_mean_square_unless_one_coordinate_errs_too_much():
    scaled = np.full(400, 0.5)
    assert error_size(scaled) == 0.5
    scaled[7] = 6.0
    assert error_size(scaled) == pytest.approx(2.0)
    scaled[7] = -3.03  # among so many the root mean square is 0.52
    assert error_size(scaled) == pytest.approx(1.01)
    scaled[7] = 2.97
    assert error_size(scaled) == pytest.approx(0.99)
    assert np.isnan(error_size(np.full(3, np.nan)))


def test_gmres_says_when_a_product_is_not_finite(capfd):
    """And does not hand it to LAPACK, which would print."""
    x, solved = gmres(lambda v: np.full_like(v, np.inf), np.ones(5), 1e-3, 5)
    assert np.isnan(x).all()
    assert not solved
    assert capfd.readouterr() == ("", "")


# Other coordinates ------------------------------------------------------------------------------------------------------------------------

CHASE = np.array([1.0, 0.0, 0.5, 0.2])
"""One coordinate that another one leads, which moves at constant speed; one that a third one damps; and that."""


def chase(order):
    """Their system in an order of the coordinates: ``order`` says which stands at each place."""
    back = np.argsort(order)

    def f(y):
        a, b, c, d = y[back]
        return np.array([-50.0 * (a - np.cos(b)), 1.0, -3.0 * c + d, -d * c])[order]

    def jacobian(y):
        _, b, c, d = y[back]
        rows = [[-50.0, -50.0 * np.sin(b), 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, -3.0, 1.0], [0.0, 0.0, -d, -c]]
        return 0.7 * np.array(rows)[np.ix_(order, order)]  # not quite, so that directions come to be known

    return Problem(f, jacobian, lambda y: np.full(4, 1e-5), steady=[int(back[1])], stiff=sorted(int(back[i]) for i in (0, 2, 3)))


def chased(steps=40):
    """The state after so many steps, in the first order."""
    problem = chase(np.arange(4))
    stepper = Stepper(problem)
    state = stepper.started(CHASE, [0.5, 0.25], 1e-6, problem.rate(CHASE))
    for _ in range(steps):
        state, _ = stepper.step(state, math.inf, judge)
    assert state.history.order >= 3
    assert state.drift.tolist() == [0.0, 1.0, 0.0, 0.0]
    assert len(state.secants.steps)
    return state


def judge(size, before, after):
    return np.array([size, 2.0 * size])


def rearranged(state, order):
    """The state with its coordinates in another order; nothing is new, so that what is said of values and speeds is not asked for."""
    nothing = np.full(4, np.nan)
    y = state.history.Z[0, :4][order]
    return state.for_coordinates(order, y, nothing, np.flatnonzero(order == 1))


@looping("order", [[0, 1, 2, 3], [2, 0, 3, 1], [3, 2, 1, 0]])
def test_in_another_order_the_steps_are_the_same(order):
    """Twelve of them, with what comes of them: but for round-off, and from the first on what was known of the system is found out anew."""
    order, first = np.array(order), np.arange(4)
    state = chased()
    one, other = rearranged(state, first), rearranged(state, order)
    assert other.linearised_at == -1
    stepper, rearranged_stepper = Stepper(chase(first)), Stepper(chase(order))
    for _ in range(12):
        one, size = stepper.step(one, math.inf, judge)
        other, same_size = rearranged_stepper.step(other, math.inf, judge)
        assert same_size == pytest.approx(size, rel=1e-9)
        assert other.history.order == one.history.order
        columns = [*order, 4, 5]
        assert_close(other.history.Z, one.history.Z[:, columns], 1e-9)
        assert_close(other.history.correction, one.history.correction[columns], 1e-6)
        assert_close(other.drift, one.drift[order], FEW_OPERATIONS)


def test_in_the_same_order_a_step_is_that_without():
    """To within what an equation may leave over: the preconditioner is made anew."""
    state, stepper = chased(), Stepper(chase(np.arange(4)))
    (one, size), (other, same_size) = (stepper.step(each, math.inf, judge) for each in (state, rearranged(state, np.arange(4))))
    assert same_size == size
    assert np.abs(one.history.Z[0] - other.history.Z[0]).max() < 1e-6


NEW = np.array([-1, 2, -1, 1, -1])
"""Of five coordinates the first, third and last are new; of the old ones two go on."""

PLACES, SPEEDS = np.array([7.0, np.nan, -4.0, np.nan, 0.25]), np.array([0.3, np.nan, 2.0, np.nan, -1.5])


def extended(state, steady=(2, 3)):
    return state.for_coordinates(NEW, PLACES, SPEEDS, np.array(steady, int))


@looping("h", [1e-3, 1e-2])
def test_what_is_new_has_moved_at_constant_speed(h):
    """Whether it is seen from a frame that moves with it or not: a prediction goes on with it, and so does one for a time that is past."""
    state = chased()
    after = extended(replace(state, history=state.history.rescaled(h)))
    for size in (h, -h):
        history = after.history.rescaled(size)
        time = time_of(size, after.clock)
        predicted = history.predicted()[0, :5] + time * after.drift
        for new in (0, 2, 4):
            assert predicted[new] - PLACES[new] == pytest.approx(time * SPEEDS[new], rel=h**3)
        velocity = history.predicted()[1, :5] / (size * after.clock * math.exp(size)) + after.drift
        assert velocity[[0, 2, 4]] == pytest.approx(SPEEDS[[0, 2, 4]], rel=h**2)
    assert after.drift.tolist() == [0.0, 0.0, 2.0, 1.0, 0.0]
    assert np.array_equal(after.history.Z[1:, 2], np.zeros(after.history.order))
    assert np.all(after.history.Z[1:, 0] != 0.0)
    assert np.array_equal(after.history.correction[[0, 2, 4]], np.zeros(3))


def test_what_stays_keeps_its_past_and_integrals_theirs():
    state = chased()
    after = extended(state)
    for before, now in ((2, 1), (1, 3), (4, 5), (5, 6)):
        assert np.array_equal(after.history.Z[:, now], state.history.Z[:, before])
        assert after.history.correction[now] == state.history.correction[before]
    assert (after.history.h, after.history.wait, after.history.scale) == (state.history.h, state.history.wait, state.history.scale)
    assert np.array_equal(after.history.past, state.history.past)
    assert after.history.Z.shape == (state.history.order + 1, 5 + 2)
    kept = ("most_growth", "steps", "inverted_at", "gamma", "rate", "error", "unsolved", "exact", "clock")
    assert [getattr(after, name) for name in kept] == [getattr(state, name) for name in kept]
    assert after.linearised is PLACES


def test_known_directions_of_what_stays_are_kept():
    """In what is new nothing has changed along them; nor in what was not looked at, as the second coordinate, which cannot be stiff."""
    state = chased()
    assert state.secants.index.tolist() == [0, 2, 3]
    after = extended(state).secants
    assert after.index.tolist() == [0, 1, 2, 3, 4]
    for known, before in ((after.steps, state.secants.steps), (after.responses, state.secants.responses)):
        assert np.array_equal(known[:, 1], before[:, 1])
        assert np.array_equal(known[:, [0, 2, 3, 4]], np.zeros((len(before), 4)))
        assert np.abs(known[:, 1]).max() > 0.0


def test_what_stops_being_steady_goes_on_as_it_moves():
    """Its frame goes on with it until the end of the next step."""
    after = extended(chased(), steady=())
    assert after.drift.tolist() == [0.0, 0.0, 0.0, 1.0, 0.0]
    assert np.all(after.history.Z[1, [0, 2, 4]] != 0.0)
