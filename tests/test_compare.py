"""Canaries: a comparison helper that cannot fail would make every test that uses it empty."""

import numpy as np
import pytest
from compare import assert_close, assert_components_close, relative_error
from looping import looping
from objective_cases import EVERYTHING_ROUNDOFF, assert_everything_close
from tolerances import CENTRAL_DIFFERENCE, COMPONENT_ABSOLUTE, HESSIAN_ROUNDOFF, ROUNDOFF

EXPECTED = np.random.default_rng(0).standard_normal((3, 2, 3, 2))


def one_entry_changed():
    actual = EXPECTED.copy()
    actual.flat[np.argmin(np.abs(actual))] += 1e-6
    return actual


def one_entry(value):
    actual = EXPECTED.copy()
    actual[1, 0, 2, 1] = value
    return actual


WRONG = {
    "scaled": EXPECTED * (1 + 1e-6),
    "one entry": one_entry_changed(),
    "two entries swapped": EXPECTED[::-1],
    "sign": -EXPECTED,
    "nan": one_entry(np.nan),
    "infinite": one_entry(np.inf),
    "zero": np.zeros_like(EXPECTED),
    "broadcastable shape": EXPECTED[:1],
    "scalar": EXPECTED[0, 0, 0, 0],
    "transposed": EXPECTED.transpose(0, 1, 3, 2),
    "empty": EXPECTED[:0],
}
HELPERS = {
    "assert_close": lambda a, b: assert_close(a, b, ROUNDOFF),
    "assert_close, Hessian": lambda a, b: assert_close(a, b, HESSIAN_ROUNDOFF),
    "assert_close, cancelling terms": lambda a, b: assert_close(a, b, ROUNDOFF, scale=10.0),
    "assert_components_close": lambda a, b: assert_components_close(a, b, ROUNDOFF, COMPONENT_ABSOLUTE),
}


@looping("helper", HELPERS)
@looping("wrong", WRONG)
def test_a_wrong_result_fails(helper, wrong):
    with pytest.raises(AssertionError):
        HELPERS[helper](WRONG[wrong], EXPECTED)


@looping("helper", HELPERS)
def test_round_off_passes(helper):
    assert HELPERS[helper](EXPECTED * (1 + 2e-16), EXPECTED) is None


@looping("helper", HELPERS)
def test_a_scalar_scaled_by_one_part_in_a_million_fails(helper):
    with pytest.raises(AssertionError):
        HELPERS[helper](1.25 * (1 + 1e-6), 1.25)


@looping("helper", HELPERS)
@looping("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_never_pass_even_when_expected(helper, bad):
    with pytest.raises(AssertionError):
        HELPERS[helper](one_entry(bad), one_entry(bad))


@looping("scaled", range(len(EVERYTHING_ROUNDOFF)))
def test_one_wrong_result_among_all_of_an_objective_fails(scaled):
    expected = [EXPECTED] * len(EVERYTHING_ROUNDOFF)
    assert_everything_close(expected, expected)
    with pytest.raises(AssertionError):
        assert_everything_close([EXPECTED * (1 + 1e-6 * (index == scaled)) for index in range(len(expected))], expected)


def test_a_nonzero_result_where_zero_is_expected_fails():
    with pytest.raises(AssertionError):
        assert_close(np.full(3, 1e-30), np.zeros(3), ROUNDOFF)


def test_components_see_what_the_largest_entry_hides():
    expected = np.array([1e6, 1e-3])
    actual = np.array([1e6, 1.001e-3])
    assert_close(actual, expected, 1e-11)
    with pytest.raises(AssertionError, match="component \\(1,\\)"):
        assert_components_close(actual, expected, 1e-11, 0.0)


@looping("wrong", WRONG)
def test_relative_error_of_a_wrong_result_is_large(wrong):
    assert relative_error(WRONG[wrong], EXPECTED) > 1e-7


def test_the_difference_tolerance_still_sees_one_part_in_ten_thousand():
    with pytest.raises(AssertionError):
        assert_close(EXPECTED * (1 + 1e-4), EXPECTED, CENTRAL_DIFFERENCE)
