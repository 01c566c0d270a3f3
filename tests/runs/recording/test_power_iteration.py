"""Power iteration finds the largest eigenvalue."""

from __future__ import annotations

import numpy as np
import pytest

import mvsim
from mvsim.runs.recording.hessian import largest_eigenvalue


def test_power_iteration_finds_the_largest_eigenvalue_of_a_hessian():
    p = mvsim.Parameters(k=2, m=2, N=10, P=6, d=10)
    loss = mvsim.objective("erm", p, mvsim.sample_dataset(p, 0))
    c = 6 * p.rho * mvsim.initial_correlations(p, 0) * p.d**0.5
    columns = [loss.hessian_vector_product(c, e.reshape(c.shape)).ravel() for e in np.eye(c.size)]
    eigenvalues = np.linalg.eigvalsh(np.array(columns))
    assert eigenvalues[0] < -eigenvalues[-1] < 0  # plain power iteration would find the wrong end
    start = np.random.default_rng(0).standard_normal(c.shape)
    estimate = largest_eigenvalue(lambda v: loss.hessian_vector_product(c, v), start, products=2000, tolerance=1e-12)
    assert estimate == pytest.approx(eigenvalues[-1], rel=1e-6)
    rough = largest_eigenvalue(lambda v: loss.hessian_vector_product(c, v), start, products=3)
    assert rough <= eigenvalues[-1]
