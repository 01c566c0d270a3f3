"""Gauss quadrature of Beta laws: moments in fractions, from the smallest shapes to the largest, and through the law of lambda."""

from fractions import Fraction

import numpy as np
import scipy.stats
from compare import assert_close
from looping import looping
from tolerances import ROUNDOFF

import mvsim
from mvsim.losses.beta_quadrature import beta_quadrature
from mvsim.losses.mixing_laws import law_from

SHAPES = [(1e6, 1e6), (1e-6, 1e-6), (1.0, 1.0), (0.3, 2.0), (1e6, 1e-6), (1e-6, 3.0), (0.5, 0.5), (1e6, 3.0)]


def moment(a, b, degree):
    """E lambda^degree = prod_{i < degree} (a + i) / (a + b + i), exactly."""
    result, a, b = Fraction(1), Fraction(a), Fraction(b)
    for i in range(degree):
        result *= (a + i) / (a + b + i)
    return float(result)


@looping("nodes", [1, 2, 5, 64, 1000])
@looping(("a", "b"), SHAPES)
def test_moments_are_exact_up_to_degree_2n_minus_1(a, b, nodes):
    lambdas, weights = beta_quadrature(a, b, nodes)
    assert lambdas.shape == weights.shape == (nodes,)
    assert (np.diff(lambdas) >= 0.0).all()
    assert lambdas[0] >= 0.0
    assert lambdas[-1] <= 1.0
    assert (weights >= 0.0).all()
    for degree in range(min(2 * nodes, 40)):
        assert abs(weights @ lambdas**degree - moment(a, b, degree)) <= ROUNDOFF


@looping("a", [1e-6, 0.3, 1.0, 1e3, 1e6])
def test_central_moments_of_symmetric_laws_keep_their_digits(a):
    """With t = 2 lambda - 1: E t^2 = 1 / (2a + 1) and E t^4 = 3 / ((2a + 1) (2a + 3)), also where they are 1e-13."""
    lambdas, weights = beta_quadrature(a, a, 64)
    t = 2.0 * lambdas - 1.0
    assert_close(weights @ t**2, 1.0 / (2.0 * a + 1.0), ROUNDOFF)
    assert_close(weights @ t**4, 3.0 / ((2.0 * a + 1.0) * (2.0 * a + 3.0)), ROUNDOFF)
    assert abs(weights @ t) <= ROUNDOFF


def test_one_node_fewer_than_needed_is_not_exact():
    """Degree 2n is beyond n nodes: the error is that of the monic polynomial, (1/4)^n-ish, and visible."""
    lambdas, weights = beta_quadrature(1.0, 1.0, 2)
    assert abs(weights @ lambdas**4 - moment(1.0, 1.0, 4)) > 1e-3


@looping("nodes", [1, 16, 64])
@looping("a", [1e-6, 1e6])
def test_laws_with_extreme_shapes_fold_to_numbers(a, nodes):
    folded = law_from(scipy.stats.beta(a, a), nodes).folded_quadrature()
    lambdas, weights = np.array(folded).T
    assert np.isfinite(folded).all()
    assert ((lambdas >= 0.5) & (lambdas <= 1.0)).all()
    assert_close(weights.sum(), 1.0, ROUNDOFF)
    assert_close(weights @ (2.0 * lambdas - 1.0) ** 2, 1.0 / (2.0 * a + 1.0) if nodes > 1 else 0.0, ROUNDOFF, scale=1.0)


def test_a_law_that_is_nearly_midpoint_has_nearly_its_loss():
    p = mvsim.Parameters(k=3, model="linear", N=12)
    data, c = mvsim.sample_dataset(p, 0), np.random.default_rng(0).standard_normal(p.correlations_shape)
    near = mvsim.objective("mixup", p, data, mixing=scipy.stats.beta(1e6, 1e6), nodes=64).loss(c)
    assert abs(near - mvsim.objective("midpoint", p, data).loss(c)) < 1e-6
