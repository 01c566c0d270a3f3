"""The stiff part of the Hessian: its algebra, and how near it is to the Hessian."""

import numpy as np
from compare import assert_close
from looping import looping
from tolerances import ROUNDOFF

import mvsim
from mvsim.numerics.arrow_matrix import Curvature

# Between classes that are not in a pair there are couplings, which the stiff part neglects: they are as large as what it has of each of them.
NEGLECTED = 2.0


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


@looping("gamma", [0.0, 1e-3, 1.0, 1e6])
def test_shifted_solves_what_dense_says(gamma):
    rng = np.random.default_rng(0)
    H = random_curvature(rng)
    r = rng.standard_normal(12)
    x = H.shifted(gamma).solve(r)
    assert np.abs(x + gamma * H.dense(12) @ x - r).max() <= ROUNDOFF * (1 + gamma) * np.abs(x).max() * 100
    wrong = H.shifted(1.01 * gamma + 0.01).solve(r)
    assert np.abs(wrong + gamma * H.dense(12) @ wrong - r).max() > 1e-4


@looping("shape", [(12,), (1, 12), (5, 12), (0, 12)])
@looping("curvature", [random_curvature(np.random.default_rng(3)), Curvature.nothing()])
def test_many_vectors_are_solved_as_one_by_one(curvature, shape):
    shifted, r = curvature.shifted(0.7), np.random.default_rng(4).standard_normal(shape)
    kept, expected = r.copy(), np.array([shifted.solve(each) for each in r.reshape(-1, 12)]).reshape(shape)
    x = shifted.solve(r)
    assert x.shape == shape
    assert np.abs(x - expected).max(initial=0.0) <= ROUNDOFF
    assert np.array_equal(r, kept)
    assert np.array_equal(x, r) == (len(curvature.border) == 0 or not r.size)


@looping("index", [np.arange(12), np.arange(12)[::-1], np.array([7, 2, 11, 0, 4]), np.array([20, 3, 15]), np.array([20]), np.zeros(0, int)])
def test_within_some_coordinates_the_others_are_0_before_and_dropped_after(index):
    H, rng = random_curvature(np.random.default_rng(5)), np.random.default_rng(6)
    r = rng.standard_normal((3, len(index)))
    everywhere = np.zeros((3, 21))
    everywhere[:, index] = r
    expected = np.linalg.solve(np.eye(21) + 0.7 * H.dense(21), everywhere.T).T[:, index]
    shifted = H.shifted(0.7)
    within = shifted.within(index)
    assert np.abs(within.solve(r) - expected).max(initial=0.0) <= 100 * ROUNDOFF
    assert np.abs(within.solve(r[0]) - expected[0]).max(initial=0.0) <= 100 * ROUNDOFF
    assert np.abs(shifted.solve(everywhere)[:, index] - expected).max(initial=0.0) <= 100 * ROUNDOFF  # and is what it was


def test_mean_is_the_weighted_sum():
    rng = np.random.default_rng(1)
    H = random_curvature(rng)
    assert np.allclose(Curvature.mean([0.25, 0.5], [H, H]).dense(12), 0.75 * H.dense(12), rtol=ROUNDOFF)


def other_curvature(rng, H, kind):
    """A matrix with other indices than H, whose coordinates are 0 to 11."""
    if kind == "nothing":
        return Curvature.nothing()
    if kind == "other blocks":
        return random_curvature(rng)
    index = {
        "all in the border": rng.permutation(12),
        "the same border": H.border_index,
        "border and one block": np.append(H.border_index, H.block_index[1]),
        "coordinates of its own": np.array([12, 13]),
    }[kind]
    square = rng.standard_normal((len(index), len(index)))
    taken = index >= 0
    return Curvature.of_border(index, square @ square.T * np.outer(taken, taken), lifetime=3)


@looping("gamma", [1e-3, 1.0])
@looping(("kind", "blocks"), [
        ("nothing", 3), ("other blocks", 0), ("all in the border", 0), ("the same border", 3), ("border and one block", 2),
        ("coordinates of its own", 3),
    ])  # fmt: skip
@looping("order", [1, -1])
def test_matrices_with_different_indices_are_added_exactly(kind, blocks, order, gamma):
    rng = np.random.default_rng(2)
    H = random_curvature(rng)
    parts, weights = [H, other_curvature(rng, H, kind), random_curvature(np.random.default_rng(2))][::order], [0.25, 0.5, 0.125]
    dense = sum(w * part.dense(14) for w, part in zip(weights, parts, strict=True))
    mean = Curvature.mean(weights, parts)
    assert_close(mean.dense(14), dense, ROUNDOFF)
    assert mean.lifetime == min(part.lifetime for part in parts)
    assert len(mean.blocks) == blocks  # what stays cheap
    r = rng.standard_normal(14)
    assert_close(mean.shifted(gamma).solve(r), np.linalg.solve(np.eye(14) + gamma * dense, r), 1e-10)


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


@looping(
    ("method", "options"),
    [
        ("erm", {}),
        ("midpoint", {}),
        ("mixup", {"mixing": 0.3}),
        ("mixup", {"mixing": {"atoms": [0.2, 0.5], "probabilities": [0.5, 0.5]}}),
        ("mixup", {"mixing": {"atoms": [0.5, 1.0], "probabilities": [0.6, 0.4]}}),
    ],
)
def test_the_stiff_part_is_most_of_the_hessian(method, options):
    objective, c, rows = settled_example(method, options)
    H = hessian(objective, c, rows)
    found = objective.curvature(c).dense(c.size)
    assert not np.delete(found, rows, axis=0).any()
    assert np.abs(found - found.T).max() <= ROUNDOFF * np.abs(found).max()
    part = found[np.ix_(rows, rows)]
    if method == "erm":
        assert np.linalg.norm(H - part, 2) < 1e-4 * np.linalg.norm(H, 2)
        assert np.linalg.norm(H - 1.001 * part, 2) > 1e-4 * np.linalg.norm(H, 2)
        return

    def largest_left(told, gamma=1e4):
        """The largest eigenvalue of (1 + gamma told)^-1 (1 + gamma H); negative ones are growth, which steps resolve."""
        return np.linalg.eigvals(np.linalg.solve(np.eye(len(H)) + gamma * told, np.eye(len(H)) + gamma * H)).real.max()

    assert largest_left(part) < NEGLECTED
    assert largest_left(0.5 * part) > NEGLECTED


def test_there_is_none_before_anything_has_escaped_and_none_for_other_kernels():
    p = mvsim.Parameters(k=3, m=2, N=12, P=16)
    data = mvsim.sample_dataset(p, 0)
    c = mvsim.initial_correlations(p.replace(d=10**9), 0)
    assert not mvsim.objective("midpoint", p, data).curvature(c).dense(c.size).any()
    assert mvsim.objective("midpoint", p, data, backend="numpy").curvature(c) is None
    assert mvsim.objective("mixup", p, data, pairs=5).curvature(c) is None
