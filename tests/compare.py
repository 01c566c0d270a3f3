"""Comparisons that fail loudly: on a wrong shape, on NaN, on a zero where something was expected."""

import numpy as np


def relative_error(actual, expected):
    """max|actual - expected| / max|expected|; infinite if a shape differs, a value is not finite, or only one side is zero."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape or not (np.isfinite(actual).all() and np.isfinite(expected).all()):
        return np.inf
    difference = float(np.max(np.abs(actual - expected), initial=0.0))
    scale = float(np.max(np.abs(expected), initial=0.0))
    if difference == 0.0:
        return 0.0
    return difference / scale if scale > 0.0 else np.inf


def assert_close(actual, expected, rtol, scale=0.0):
    """Assert equal shapes, finite values and max|actual - expected| <= rtol max|expected|.

    Where the result is what is left of terms that cancel, ``scale`` is their size: the bound is then rtol max(max|expected|, scale).
    """
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"shape {actual.shape} instead of {expected.shape}"
    assert np.isfinite(expected).all(), "the expected values are not finite"
    assert np.isfinite(actual).all(), f"{np.count_nonzero(~np.isfinite(actual))} of {actual.size} values are not finite"
    if np.max(np.abs(expected), initial=0.0) < scale:
        difference = np.max(np.abs(actual - expected), initial=0.0)
        assert difference <= rtol * scale, f"difference {difference:.3g} > {rtol:.3g} of {scale:.3g}"
        return
    error = relative_error(actual, expected)
    assert error <= rtol, f"relative error {error:.3g} > {rtol:.3g} (largest expected value {np.max(np.abs(expected), initial=0.0):.6g})"


def assert_components_close(actual, expected, rtol, atol):
    """Assert equal shapes, finite values and |actual - expected| <= atol + rtol |expected| in every component."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"shape {actual.shape} instead of {expected.shape}"
    assert np.isfinite(expected).all(), "the expected values are not finite"
    assert np.isfinite(actual).all(), f"{np.count_nonzero(~np.isfinite(actual))} of {actual.size} values are not finite"
    excess = np.abs(actual - expected) - (atol + rtol * np.abs(expected))
    if excess.size and np.max(excess) > 0:
        where = np.unravel_index(np.argmax(excess), excess.shape)
        raise AssertionError(
            f"component {tuple(int(i) for i in where)} is {actual[where]!r} instead of {expected[where]!r}: "
            f"beyond {atol:.3g} + {rtol:.3g} |expected| by {np.max(excess):.3g}"
        )
