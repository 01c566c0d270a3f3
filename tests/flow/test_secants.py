"""The implicit equation solved by secants: with what preconditioner, in how many evaluations, and of what."""

import numpy as np
from looping import looping
from tolerances import ROUNDOFF

from mvsim.flow.linearisation import Linearisation
from mvsim.flow.newton import SOLVED, ImplicitEquation
from mvsim.flow.secants import EVALUATIONS, MOST_DIRECTIONS, Secants, solve_by_secants
from mvsim.numerics.arrow_matrix import Curvature

UNIMPORTANT = 1e12
"""Tolerance of a coordinate that does not count."""


class Linear:
    """f(y) = A y + b on n coordinates, the first s of which can be stiff, and all at which it is evaluated."""

    def __init__(self, s=2, n=5, size=1.0):
        rng = np.random.default_rng(s)
        square = rng.standard_normal((n, n))
        self.A, self.b = -size * square @ square.T / n, rng.standard_normal(n)
        self.predicted, self.velocity = rng.standard_normal((2, n))
        self.index = np.arange(s)
        self.whole, self.of_part = [], []

    def f(self, y):
        self.whole.append(y)
        return self.A @ y + self.b

    def rate(self, x):
        self.of_part.append(x)
        y = self.predicted.copy()
        y[self.index] = x
        return (self.A @ y + self.b)[self.index]

    def matrix(self, gamma):
        s = len(self.index)
        return np.eye(s) - gamma * self.A[:s, :s]

    def exact(self, gamma):
        """The solution for the first s coordinates, while the others stay at their prediction."""
        s = len(self.index)
        return np.linalg.solve(self.matrix(gamma), (gamma * (self.A @ self.predicted + self.b) - self.velocity)[:s])

    def solved(self, gamma, P=None, secants=None, allowed=1e-7, rate=1.0, weight=None):
        """The solution with the preconditioner P, by default 1; by default it does not matter how far the other coordinates move."""
        equation = ImplicitEquation(self.f, gamma, self.predicted, self.velocity)
        near = Linearisation(Curvature.nothing(), np.ones(len(self.predicted)), self.index, self.rate, lambda y: True)
        precondition = (lambda r, rest: r) if P is None else (lambda r, rest: np.linalg.solve(P, r.T).T)
        weight = np.where(np.isin(np.arange(len(self.predicted)), self.index), 1.0, UNIMPORTANT) if weight is None else weight
        return solve_by_secants(equation, near, precondition, weight, allowed, rate, secants or Secants.none())


@looping(("size", "growth", "solved"), [(1e-11, 1e4, True), (5e-6, 1e4, True), (1e-3, 1e4, False), (1e-3, 1e2, True)])
def test_a_residual_that_grows_is_given_up_only_if_it_grows_very_much_and_is_not_small_enough(size, growth, solved):
    """The first residual is ``size`` and the second ``growth`` times that; 0.1 is enough."""
    equation = ImplicitEquation(lambda y: np.array([(1.0 + growth) * size]), 1.0, np.zeros(1), np.zeros(1))
    near = Linearisation(Curvature.nothing(), np.ones(1), np.arange(1), lambda x: np.array([size]), lambda y: True)
    solution, _ = solve_by_secants(equation, near, lambda r, rest: r, np.ones(1), 1.0, 1.0, Secants.none())
    assert (solution is not None) == solved


@looping("s", [1, 2, 5])
def test_with_an_exact_preconditioner_one_direction_does(s):
    problem = Linear(s, size=100.0)
    solution, secants = problem.solved(1.0, problem.matrix(1.0))
    assert np.abs(solution.correction[:s] - problem.exact(1.0)).max() <= 100 * ROUNDOFF * np.abs(problem.exact(1.0)).max()
    assert (len(problem.of_part), len(problem.whole)) in {(1, 1), (2, 1)}  # with rate 1 one may be wanted to see that it has converged
    assert len(secants.steps) == len(problem.of_part)


@looping("s", [1, 2])
def test_with_a_wrong_preconditioner_a_direction_for_each_coordinate_does(s):
    problem = Linear(s, size=0.5)
    solution, secants = problem.solved(1.0)
    assert np.abs(solution.correction[:s] - problem.exact(1.0)).max() <= 1e-9
    assert s + 1 <= len(secants.steps) <= EVALUATIONS - 1


def test_what_is_known_of_the_jacobian_serves_for_every_gamma():
    """Directions are collected where the equation is easy; then two evaluations solve one that takes four from nothing."""
    problem, secants, rng = Linear(3), Secants.none(), np.random.default_rng(1)
    for _ in range(2):
        problem.velocity = rng.standard_normal(5)
        solution, secants = problem.solved(0.01, secants=secants, allowed=1e-1)
        assert solution is not None
    assert 3 <= len(secants.steps) <= MOST_DIRECTIONS
    problem.of_part.clear()
    problem.whole.clear()
    assert problem.solved(30.0, allowed=1e-3)[0] is not None
    assert len(problem.of_part) + len(problem.whole) >= 4
    problem.whole.clear()
    problem.of_part.clear()
    solution, _ = problem.solved(30.0, secants=secants, allowed=1e-3, rate=1e-9)
    assert np.abs(solution.correction[:3] - problem.exact(30.0)).max() <= 1e-4
    assert (len(problem.of_part), len(problem.whole)) == (1, 1)


@looping(("rate", "evaluations_of_part"), [(1.0, 2), (1e-6, 1)])
def test_the_whole_is_evaluated_last_and_only_there(rate, evaluations_of_part):
    """Where convergence was fast before, fewer evaluations are expected to do."""
    problem = Linear(2, size=0.5)
    solution, secants = problem.solved(1.0, problem.matrix(1.001), allowed=1e-1, rate=rate)
    assert solution is not None
    assert (len(problem.of_part), len(problem.whole)) == (evaluations_of_part, 1)
    assert len(secants.steps) == evaluations_of_part
    assert np.array_equal(problem.of_part[0], problem.predicted[:2])
    assert np.array_equal(problem.whole[0][2:], problem.predicted[2:])
    assert not np.array_equal(problem.whole[0][:2], problem.predicted[:2])


def test_it_goes_on_where_the_whole_has_not_converged():
    problem = Linear(2, size=0.5)
    solution, _ = problem.solved(1.0, problem.matrix(1.1), allowed=1e-2, rate=1e-6)
    assert len(problem.whole) == 2
    assert np.abs(problem.matrix(1.0) @ (solution.correction[:2] - problem.exact(1.0))).max() <= 1e-3
    assert solution.rate > 1e-6


def test_for_the_other_coordinates_the_last_evaluation_is_the_solution():
    problem, gamma = Linear(2, size=0.5), 0.7
    weight = np.array([1.0, 1.0, UNIMPORTANT, UNIMPORTANT, UNIMPORTANT])
    solution, _ = problem.solved(gamma, weight=weight)
    last = problem.A @ problem.whole[-1] + problem.b
    assert np.array_equal(solution.correction[2:], (gamma * last - problem.velocity)[2:])


def test_where_the_other_coordinates_move_f_is_evaluated_there():
    """They feed back: a solution is one of the whole equation, and where that would need many evaluations there is none."""
    problem = Linear(2, size=0.1)
    everywhere = np.eye(5) - 0.3 * problem.A
    exact = np.linalg.solve(everywhere, 0.3 * (problem.A @ problem.predicted + problem.b) - problem.velocity)
    solution, _ = problem.solved(0.3, problem.matrix(0.3), weight=np.ones(5), allowed=1e-1)
    assert len(problem.whole) >= 2
    assert np.linalg.norm(everywhere @ (solution.correction - exact)) / np.sqrt(5) <= SOLVED * 1e-1
    assert Linear(2, size=10.0).solved(1.0, problem.matrix(1.0), weight=np.ones(5), allowed=1e-3)[0] is None


def test_a_solution_for_the_stiff_coordinates_alone_is_none():
    """The stiff coordinate is solved at once; the other one is at 0.2 after two evaluations, while the equation has 1 / 1.8 there."""
    rates = np.array([-50.0, -0.8])
    equation = ImplicitEquation(lambda y: rates * y + 1.0, 1.0, np.zeros(2), np.zeros(2))
    near = Linearisation(Curvature.nothing(), np.ones(2), np.array([0]), lambda x: -50.0 * x + 1.0, lambda y: True)
    solution, secants = solve_by_secants(equation, near, lambda r, rest: r / 51.0, np.ones(2), 1.0, 1.0, Secants.none())
    assert solution is None
    assert secants.steps.shape == (0, 0)


def test_without_stiff_coordinates_the_whole_is_evaluated_once():
    problem, gamma = Linear(0), 0.7
    solution, _ = problem.solved(gamma)
    assert np.array_equal(solution.correction, gamma * (problem.A @ problem.predicted + problem.b) - problem.velocity)
    assert (len(problem.of_part), len(problem.whole)) == (0, 1)


def test_the_solution_is_as_close_as_the_tolerance_of_each_coordinate_asks():
    problem, weight = Linear(2, size=0.5), np.array([1e-3, 10.0, UNIMPORTANT, UNIMPORTANT, UNIMPORTANT])
    solution, _ = problem.solved(1.0, problem.matrix(1.05), weight=weight, allowed=1.0)
    defect = problem.matrix(1.0) @ (solution.correction[:2] - problem.exact(1.0))
    assert abs(defect[0]) <= 2.0 * SOLVED * np.sqrt(5.0) * 1e-3


@looping("gamma", [30.0, 1e200, np.inf])
def test_where_it_diverges_there_is_no_solution_and_nothing_is_kept(gamma):
    problem = Linear(4)
    solution, secants = problem.solved(gamma, secants=Secants(np.arange(4), np.ones((1, 4)), np.ones((1, 4))))
    assert solution is None
    assert secants.steps.shape == secants.responses.shape == (0, 0)
    assert len(problem.of_part) + len(problem.whole) <= EVALUATIONS


def some_secants(index, count=3):
    steps, responses = np.random.default_rng(0).standard_normal((2, count, len(index)))
    return Secants(np.array(index), steps, responses)


def test_directions_in_other_coordinates():
    secants = some_secants([5, 1, 3])
    assert secants.of(np.array([5, 1, 3])) is secants
    other = secants.of(np.array([3, 4, 5, 9]))
    for before, after in ((secants.steps, other.steps), (secants.responses, other.responses)):
        assert np.array_equal(after, np.stack([before[:, 2], np.zeros(3), before[:, 0], np.zeros(3)], axis=1))
    assert secants.of(np.zeros(0, int)).steps.shape == (3, 0)
    assert Secants.none().of(np.arange(3)).steps.shape == (0, 3)


def test_the_last_directions_are_kept():
    secants, pairs = Secants(np.arange(2), np.zeros((0, 2)), np.zeros((0, 2))), np.random.default_rng(1).standard_normal((12, 2, 2))
    for step, response in pairs:
        secants = secants.with_one_more(step, response)
    assert np.array_equal(secants.steps, pairs[-MOST_DIRECTIONS:, 0])
    assert np.array_equal(secants.responses, pairs[-MOST_DIRECTIONS:, 1])
