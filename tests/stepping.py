"""Systems that a stepper of the flow integrates in tests."""

import numpy as np

from mvsim.flow import Units
from mvsim.flow.linearisation import Linearisation
from mvsim.flow.stepper import Stepper
from mvsim.numerics.arrow_matrix import Curvature


class Problem:
    """y' = f(y) with a dense preconditioner from its Jacobian, the coordinates that move at almost constant speed and those that can be stiff."""

    def __init__(self, f, jacobian, tolerance, steady=(), stiff=None):
        self.f, self.jacobian, self._tolerance, self._steady, self._stiff = f, jacobian, tolerance, np.array(steady, dtype=int), stiff

    def rate(self, y):
        return self.f(y)

    def tolerance(self, y):
        return Units(self._tolerance(y), self._tolerance(y))

    def spent(self, products):
        pass

    def steady(self, y):
        return self._steady

    def linearisation(self, y):
        everything = np.arange(len(y))
        index, place = everything if self._stiff is None else np.array(self._stiff), y.copy()

        def rate(x):
            place[index] = x
            return self.f(place)[index]

        return Linearisation(Curvature.of_border(everything, -self.jacobian(y)), np.ones_like(y), index, rate, lambda y: True)

    @staticmethod
    def gains(size, before, after):
        """The integrals of y_0, by Simpson's rule with the middle of the cubic through both ends, and of 1."""
        middle = 0.5 * (before.y + after.y) + size / 8.0 * (before.velocity - after.velocity)
        return np.array([size / 6.0 * (before.y[0] + 4.0 * middle[0] + after.y[0]), size])


def follow(problem, y, t_end, h=1e-6):
    """The end of a trajectory, its number of steps and its integrals."""
    stepper = Stepper(problem)
    state = stepper.started(y, np.zeros(2), h, problem.rate(y))
    t, n, orders = 0.0, 0, set()
    while t < t_end * (1.0 - 1e-14):
        state, size = stepper.step(state, t_end - t, problem.gains)
        t, n = t + size, n + 1
        orders.add(state.history.order)
        assert n <= 2000, "steps get ever shorter"
    end = state.history.Z[0]
    return end[: len(y)], n, end[len(y) :], orders
