"""The norm of arrays whose squares are no doubles."""

import numpy as np

from mvsim.numerics.norm import norm


def test_a_norm_whose_square_is_no_double():
    v = np.array([3e-200, 4e-200])
    assert np.isclose(norm(v), 5e-200, rtol=1e-12, atol=0.0)
    assert np.isclose(norm(np.array([3e200, 4e200])), 5e200, rtol=1e-12)
    assert norm(np.zeros(2)) == 0.0
