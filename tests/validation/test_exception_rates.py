"""The share of exceptions from Gaussian maxima (`validation/lib/exception_rates.py`) beside counts over drawn starts, and where none can be drawn."""

import numpy as np
import pytest
from lib.exception_rates import exception_share, probability_between
from looping import looping
from scipy.stats import norm
from studies.default_regime import GRID, predicted_rates

import mvsim


def test_the_share_is_that_of_drawn_starts():
    """Counted over 2,000 classes, with the standard error of either way."""
    counted = predicted_rates(6, 2000)
    seen = [index for index, share in enumerate(counted["shares"]) if share > 0.01]
    for index in (seen[0], seen[-1]):
        share, error = exception_share(6, GRID[index], 60)
        assert abs(share - counted["shares"][index]) < 4.0 * np.hypot(error, counted["errors"][index])
    assert error < 0.5 * counted["errors"][index] * (counted["data_sets"] / 60) ** 0.5, "no class has to be an exception for it"


def test_the_share_falls_with_a_power_of_r0_down_to_the_literal_path():
    """T_w grows as r0^-6 and W as its logarithm."""
    r0 = np.array([1e-3, 1e-5, mvsim.Parameters.literal(k=6).r0])
    shares = np.array([exception_share(6, size, 20)[0] for size in r0])
    assert shares[-1] > 0.0
    assert shares[:-1] / shares[1:] == pytest.approx((r0[:-1] / r0[1:]) ** 6, rel=0.7)


@looping("apart", [0.3, 1e-3, 0.9e-7, 1.1e-7, 1e-40])
def test_the_law_of_the_largest_of_m(apart):
    m, z0 = 10, np.array([0.4, 1.5, 3.0])
    found = probability_between(m, z0, np.full(3, apart))
    if apart > 1e-4:
        assert found == pytest.approx(1.0 - (norm.cdf(z0 * (1.0 - apart)) / norm.cdf(z0)) ** m)
    else:
        assert found == pytest.approx(m * norm.pdf(z0) / norm.cdf(z0) * z0 * apart, rel=1e-5)
