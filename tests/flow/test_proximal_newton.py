"""Equations of implicit steps whose Hessian is told wrong."""

import numpy as np
import pytest

from mvsim.flow.base import Escaping, Field, Units
from mvsim.flow.layout import Layout
from mvsim.flow.proximal_newton import Accuracy, longest_part, minimise
from mvsim.flow.stiff_neurons import StiffNeurons
from mvsim.numerics.arrow_matrix import Curvature

KINK, REST, START = -0.4, -0.5, 0.22
GAMMA = 1e4


def loss_and_gradient(step: int, c: np.ndarray) -> tuple[float, np.ndarray]:
    """J is concave from the start to the kink, and has a minimum at the rest: its slope grows from 1 to 1.31 and falls to 0 from there.

    The other correlation is the own one of the neuron, which does not move.
    """
    x = float(c.flat[0])
    top = 1.0 + 0.5 * (START - KINK)
    steep = top / (KINK - REST)
    if x > KINK:
        loss = 0.5 * steep * (KINK - REST) ** 2 + top * (x - KINK) - 0.25 * (x - KINK) ** 2
        return loss, np.array([top - 0.5 * (x - KINK), 0.0]).reshape(c.shape)
    return 0.5 * steep * (x - REST) ** 2, np.array([steep * (x - REST), 0.0]).reshape(c.shape)


@pytest.mark.parametrize("told", [10.0, 1e3])
def test_a_correction_grows_where_the_objective_is_concave_and_the_hessian_is_not(told):
    escaping = Escaping(np.array([0, 1]), np.array([0.1, 0.1]), 8.0)
    field = Field(
        loss_and_gradient=loss_and_gradient,
        curvature=lambda c: Curvature.of_border(np.array([0]), np.array([[told]])),
        units=lambda c: Units(np.ones(c.shape), np.ones(c.shape)),
        escaping=escaping,
        component=str,
    )
    c = np.array([START, 1.0])
    stiff = StiffNeurons(field, Layout((1, 1, 1, 2), escaping), c)
    accuracy = Accuracy(np.ones(2), 1e-4, np.zeros(2, bool), np.inf, gradients=100, residual=0.01)
    solution = minimise(stiff, c, c, c, GAMMA, accuracy)
    steep = (1.0 + 0.5 * (START - KINK)) / (KINK - REST)
    exact = (START + GAMMA * steep * REST) / (1.0 + GAMMA * steep)  # of x + gamma J'(x) = START
    assert solution.solved
    assert solution.x == pytest.approx([exact, 1.0], abs=1e-3)


@pytest.mark.parametrize(
    ("x", "d", "part"),
    [
        ([5.0, 1.0], [2.0, -3.0], 1.0),
        ([5.0, 1.0], [-20.0, 1.0], 1.0),  # no further than to 0
        ([5.0, 1.0], [0.0, 50.0], 0.1),
        ([5.0, -500.0], [0.0, -80.0], 1.0),
        ([5.0, -500.0], [0.0, 525.0], 0.2),  # of which 25 are above 0
        ([-1.0, -2.0], [3.0, 0.0], 1.0),
        ([5.0, 1.0], [0.0, 0.0], 1.0),
    ],
)
def test_no_positive_part_moves_by_more_than_the_largest_correlation(x, d, part):
    assert longest_part(np.array(x), np.array(d)) == pytest.approx(part)
