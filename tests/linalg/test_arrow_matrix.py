"""The stiff part of the Hessian: its algebra, and how near it is to the Hessian."""

import numpy as np
import pytest
from tolerances import ROUNDOFF

import mvsim
from mvsim.linalg.arrow_matrix import Curvature

# At k = 4 the classes that are not in a pair, which the stiff part neglects, have a good part of its probability.
NEGLECTED = 0.2


def random_curvature(rng, n=12):
    order = rng.permutation(n)
    square = rng.standard_normal((n, n))
    spd = square @ square.T
    border, blocks = order[:4], order[4:10].reshape(3, 2)
    sides = np.array([[0, 1], [1, 3], [0, 2]])
    return Curvature(
        border_index=np.where(np.arange(4) == 2, -1, border),
        border=spd[:4, :4] * np.outer(np.arange(4) != 2, np.arange(4) != 2),
        block_index=blocks,
        blocks=np.array([spd[4 + 2 * b : 6 + 2 * b, 4 + 2 * b : 6 + 2 * b] for b in range(3)]),
        side_index=sides,
        sides=0.1 * rng.standard_normal((3, 2, 2)) * (sides != 2)[:, None],
    )


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 1.0, 1e6])
def test_shifted_solves_what_dense_says(gamma):
    rng = np.random.default_rng(0)
    H = random_curvature(rng)
    r = rng.standard_normal(12)
    x = H.shifted(gamma).solve(r)
    assert np.abs(x + gamma * H.dense(12) @ x - r).max() <= ROUNDOFF * (1 + gamma) * np.abs(x).max() * 100
    wrong = H.shifted(1.01 * gamma + 0.01).solve(r)
    assert np.abs(wrong + gamma * H.dense(12) @ wrong - r).max() > 1e-4


def test_mean_is_the_weighted_sum():
    rng = np.random.default_rng(1)
    H = random_curvature(rng)
    assert np.allclose(Curvature.mean([0.25, 0.5], [H, H]).dense(12), 0.75 * H.dense(12), rtol=ROUNDOFF)


def hessian(objective, c, index):
    """Columns by central differences of the gradient."""
    columns = []
    for i in index:
        e = np.zeros(c.size)
        e[i] = 1e-5
        e = e.reshape(c.shape)
        columns.append((objective.gradient(c + e) - objective.gradient(c - e)).ravel()[index] / 2e-5)
    return np.array(columns).T


def settled_example(method, options):
    """Correlations with one escaped neuron in each class, and the directions in which it moves: half learned, outputs of order 1."""
    p = mvsim.Parameters(k=4, m=3, N=60, P=36, d=10**6)
    objective = mvsim.objective(method, p, mvsim.sample_dataset(p, 0), **options)
    c = mvsim.initial_correlations(p, 0)
    for y in range(p.k):
        c[y, 1, y] = 3.0
        c[y, 1, (y + 1) % p.k] = 0.6  # in the linear regime on a feature of another class
    rows = np.arange(c.size).reshape(c.shape)[:, 1].ravel()
    return objective, c, rows


@pytest.mark.parametrize(
    ("method", "options"),
    [("erm", {}), ("midpoint", {}), ("mixup", {"mixing": 0.3}), ("mixup", {"mixing": {"atoms": [0.2, 0.5], "probabilities": [0.5, 0.5]}})],
    ids=["erm", "midpoint", "mixup at 0.3", "mixup of two"],
)
def test_the_stiff_part_is_most_of_the_hessian(method, options):
    objective, c, rows = settled_example(method, options)
    H = hessian(objective, c, rows)
    found = objective.curvature(c).dense(c.size)
    assert not np.delete(found, rows, axis=0).any()
    assert np.abs(found - found.T).max() <= ROUNDOFF * np.abs(found).max()
    part = found[np.ix_(rows, rows)]
    if method == "erm":  # own correlations only
        own = np.abs(part).sum(axis=0) > 0
        H, part = H[np.ix_(own, own)], part[np.ix_(own, own)]
    distance = np.linalg.norm(H - part, 2) / np.linalg.norm(H, 2)
    assert distance < (1e-4 if method == "erm" else NEGLECTED)
    assert np.linalg.norm(H - 1.4 * part, 2) / np.linalg.norm(H, 2) > NEGLECTED


def test_there_is_none_before_anything_has_escaped_and_none_for_other_kernels():
    p = mvsim.Parameters(k=3, m=2, N=12, P=16)
    data = mvsim.sample_dataset(p, 0)
    c = mvsim.initial_correlations(p.replace(d=10**9), 0)
    assert not mvsim.objective("midpoint", p, data).curvature(c).dense(c.size).any()
    assert mvsim.objective("midpoint", p, data, backend="numpy").curvature(c) is None
    assert mvsim.objective("mixup", p, data, pairs=5).curvature(c) is None
