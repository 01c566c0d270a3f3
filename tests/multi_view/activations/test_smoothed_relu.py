"""The branch-free smoothed ReLU is the three-case one of Definition 4.2."""

import numpy as np
import pytest
import reference
from compare import assert_close, assert_components_close
from hypothesis import given
from hypothesis import strategies as st
from looping import looping
from tolerances import FEW_OPERATIONS

import mvsim
from mvsim.multi_view.activations.smoothed_relu import smoothed_relu_second_derivative

SHAPES = [(0.1, 8), (0.5, 3), (2.0, 2.5), (1e-3, 8), (0.3, 2), (0.7, 1)]
Z = np.concatenate([-np.logspace(-8, 3, 23), np.logspace(-8, 3, 45)])
"""In units of rho: all three cases, down to 1e-8 of either side of 0."""


@looping("function", ["smoothed_relu", "smoothed_relu_derivative"])
@looping(("rho", "alpha"), SHAPES)
def test_value_and_derivative_are_the_three_case_definition(function, rho, alpha):
    z = rho * Z
    expected = np.array([getattr(reference, function)(value, rho, alpha) for value in z])
    assert_components_close(getattr(mvsim, function)(z, rho, alpha), expected, FEW_OPERATIONS, 0)


@looping(("rho", "alpha"), SHAPES)
def test_derivatives_are_complex_step_derivatives(rho, alpha):
    z = rho * Z
    step = 1j * rho * 1e-30
    slope = np.imag([reference.smoothed_relu(value + step, rho, alpha) for value in z]) / step.imag
    assert_components_close(mvsim.smoothed_relu_derivative(z, rho, alpha), slope, FEW_OPERATIONS, 0)
    z = z[z != rho]  # R'' jumps there
    curvature = np.imag([reference.smoothed_relu_derivative(value + step, rho, alpha) for value in z]) / step.imag
    assert_components_close(smoothed_relu_second_derivative(z, rho, alpha), curvature, FEW_OPERATIONS, 0)


def test_plain_relu_at_power_one():
    z = np.array([-2.0, -1e-300, 0.0, 1e-300, 0.3, 0.7, 5.0])
    assert_components_close(mvsim.smoothed_relu(z, 0.7, 1), np.maximum(z, 0), FEW_OPERATIONS, 0)
    np.testing.assert_array_equal(mvsim.smoothed_relu_derivative(z, 0.7, 1), [0, 0, 0, 1, 1, 1, 1])


def test_far_values_keep_their_digits():
    """The polynomial part must not overflow or pollute the linear one, nor underflow where float64 still has room."""
    assert mvsim.smoothed_relu(1e300, 0.1, 8) == 1e300
    assert mvsim.smoothed_relu(-1e300, 0.1, 8) == 0.0
    assert mvsim.smoothed_relu_derivative(1e300, 0.1, 8) == 1.0
    assert_close(mvsim.smoothed_relu_derivative(1e-31, 1e-1, 8), 1e-210, FEW_OPERATIONS)  # about the least power met at k = 1000, d = k^20


def test_a_second_derivative_that_no_double_holds_is_infinite():
    # z = rho / 2: R'' = (alpha - 1) 2^-(alpha - 2) / rho = 7 / 64 / 1e-310 > 1.8e308
    assert smoothed_relu_second_derivative(np.array([5e-311, 1.0]), 1e-310, 8.0).tolist() == [np.inf, 0.0]


def test_nan_is_not_hidden():
    assert np.isnan(mvsim.smoothed_relu(np.nan, 0.1, 8))


@given(u=st.floats(-20, 20).filter(lambda u: u == 0 or abs(u) > 1e-20), rho=st.floats(1e-3, 1e3), alpha=st.floats(1.0, 12.0))
def test_any_value_is_the_three_case_definition(u, rho, alpha):
    z = u * rho
    assert_components_close(mvsim.smoothed_relu(z, rho, alpha), reference.smoothed_relu(z, rho, alpha), FEW_OPERATIONS, 0)


@looping("function", [mvsim.smoothed_relu, mvsim.smoothed_relu_derivative, smoothed_relu_second_derivative])
@looping(("rho", "alpha", "named"), [(0.0, 8, "rho"), (-1.0, 8, "rho"), (np.nan, 8, "rho"), (0.1, 0.5, "alpha"), (0.1, np.nan, "alpha")])
def test_bad_shape_parameters_are_refused(function, rho, alpha, named):
    with pytest.raises(mvsim.UsageError, match=named):
        function(0.1, rho, alpha)
