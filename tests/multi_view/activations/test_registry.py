"""Every activation of the registry: its derivatives, and its functions for compiled loops."""

from dataclasses import make_dataclass

import numba
import numpy as np
import pytest
from activation_examples import RHO, example, takes_power
from compare import assert_close
from tolerances import ROUNDOFF

from mvsim.multi_view.activations import ACTIVATIONS, SmoothedRelu
from mvsim.multi_view.kernels.jit.loops.activation import bend, mixed_bend, mixed_slope, mixed_value, slope, value

ALPHAS = [1.0, 2.0, 2.5, 3.0, 8.0, 13.0, 16.0, 17.0]

Z = RHO * np.concatenate([-(10.0 ** np.linspace(-3, 1, 30)), 10.0 ** np.linspace(-3, 1, 71)])
"""On both sides of the kinks at 0 and rho, and not on them."""


def variants():
    for name, kind in ACTIVATIONS.items():
        for alpha in ALPHAS if takes_power(kind) else ALPHAS[:1]:
            yield pytest.param(example(name, alpha), id=f"{name}-{alpha:g}")


every_activation = pytest.mark.parametrize("activation", list(variants()))


def test_a_field_without_an_example_is_named():
    table = {"bump": make_dataclass("Bump", [("rho", float), ("width", float)])}
    with pytest.raises(AssertionError, match=r"Bump has the fields width: give each an example value in FIELDS of tests/activation_examples\.py"):
        example("bump", 2.5, table)


@every_activation
def test_derivatives_are_those_of_the_value(activation):
    step = 1e-6 * np.abs(Z)
    inside = np.abs(Z - RHO) > 2.0 * step
    difference = (activation.elementwise().value(Z + step) - activation.elementwise().value(Z - step)) / (2.0 * step)
    np.testing.assert_allclose(activation.elementwise().slope(Z)[inside], difference[inside], rtol=1e-6, atol=1e-8)
    difference = (activation.elementwise().slope(Z + step) - activation.elementwise().slope(Z - step)) / (2.0 * step)
    np.testing.assert_allclose(activation.elementwise().bend(Z)[inside], difference[inside], rtol=1e-6, atol=1e-7)


@every_activation
def test_the_sign_is_as_declared(activation):
    assert activation.nonnegative == bool((activation.elementwise().value(Z) >= 0.0).all())


@numba.njit
def values(x, a):
    return np.array([value(one, a) for one in x])


@numba.njit
def slopes(x, a):
    return np.array([slope(one, a) for one in x])


@numba.njit
def bends(x, a):
    return np.array([bend(one, a) for one in x])


@numba.njit
def mixed(x, share, a):
    parts = np.empty((4, len(x)))
    for n in range(len(x)):
        parts[0, n], parts[1, n] = mixed_value(x[n], share, 1.0 / share, a)
        parts[2, n] = mixed_slope(x[n], share, 1.0 / share, a)
        parts[3, n] = mixed_bend(x[n], share, 1.0 / share, a)
    return parts


@every_activation
def test_compiled_loops_have_the_same_function(activation):
    s, a = activation.scale, activation.compiled
    assert_close(a.unit * a.gain, s, ROUNDOFF)
    assert_close(a.unit * values(Z / s, a), activation.elementwise().value(Z), ROUNDOFF)
    assert_close(slopes(Z / s, a), activation.elementwise().slope(Z), ROUNDOFF)
    assert_close(bends(Z / s, a), s * activation.elementwise().bend(Z), ROUNDOFF)
    plain = [type(a).value(x, a) for x in Z / s]
    assert_close(plain, values(Z / s, a), ROUNDOFF)


@every_activation
@pytest.mark.parametrize("share", [0.5, 0.7, 1.0])
def test_mixtures_have_the_same_function(activation, share):
    s, a = activation.scale, activation.compiled
    weight_p, weight_q, weight = (float(w[0]) for w in activation.mixture_weights(np.array([share])))
    p, q, slope_part, bend_part = mixed(Z / s / share, share, a)
    assert_close(a.unit * (weight_p * p + a.gain * weight_q * q), activation.elementwise().value(Z), ROUNDOFF)
    assert_close(weight * slope_part, share * activation.elementwise().slope(Z), ROUNDOFF)
    assert_close(weight * bend_part, share**2 * s * activation.elementwise().bend(Z), ROUNDOFF)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_moments_are_only_for_a_power_and_a_straight_line(alpha):
    order = SmoothedRelu(RHO, alpha).moment_order
    assert order == (alpha if alpha in (1.0, 2.0, 3.0, 8.0, 13.0, 16.0) else None)


@pytest.mark.parametrize("activation", [kind for kind in variants() if kind.values[0].moment_order])
def test_a_moment_order_means_a_power_and_a_straight_line(activation):
    order, s = activation.moment_order, activation.scale
    assert_close(activation.elementwise().value(0.5 * s), 0.5**order * s / order, ROUNDOFF)
    assert_close(activation.elementwise().value(3.0 * s) - activation.elementwise().value(2.0 * s), s, ROUNDOFF)


@every_activation
def test_correlations_escape_as_a_power(activation):
    slope = activation.elementwise().slope
    if not activation.escapes:
        assert abs(slope(np.array(1e-9))) > 0.0  # neurons are not at rest near 0
    else:
        x = np.array([0.1, 0.5, 0.9, 2.0])
        assert_close(slope(x * activation.rho), np.minimum(x, 1.0) ** (activation.alpha - 1.0), ROUNDOFF)


def test_whole_powers_share_one_compiled_form():
    """Only the default is compiled by itself: a new power must not cost a user a minute."""
    kinds = {alpha: [type(part) for part in SmoothedRelu(RHO, alpha).compiled] for alpha in ALPHAS}
    assert kinds[1.0] == kinds[2.0] == kinds[3.0] == kinds[13.0] == kinds[16.0] != kinds[8.0]
    assert kinds[2.5] == kinds[17.0] != kinds[3.0]
    before = len(values.signatures)
    for alpha in (5.0, 7.0, 11.0):
        values(Z, SmoothedRelu(RHO, alpha).compiled)
    assert len(values.signatures) <= before + 1
