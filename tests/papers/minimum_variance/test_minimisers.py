"""Minimisers against loops and a general optimiser, identities, minimisers at infinity, and time."""

import math
import time

import numpy as np
import pytest
import scipy.stats
from papers.minimum_variance.examples import CE1, CE2, D1, D3, IMBALANCED
from papers.minimum_variance.slow_losses import slow_minimiser
from scipy.optimize import brentq
from scipy.special import expit

from mvsim.losses.mixing_laws import law_from
from mvsim.papers.minimum_variance import Atoms, Distribution, Product, Uniform, definition_4_1, max_margin, minimiser
from mvsim.papers.minimum_variance.minimisers import loss_of

UNIFORM = scipy.stats.beta(1, 1)
OPTIMISER = 1e-7  # what a general optimiser on a gradient of 1e-14 leaves in w, as the smallest curvature of the examples is 1e-4 or more
THREE = {"atoms": [0.1, 0.5, 1.0], "probabilities": [0.3, 0.3, 0.4]}
SKEWED = Distribution(
    {1: Atoms([[0.4, 0.1], [0.5, 0.1]], [0.3, 0.7]), -1: Atoms([[-0.3, 0.2]])},
    {y: Atoms([[y, 0.0], [2.0 * y, 1.0], [1.5 * y, -0.5]]) for y in (1, -1)},
    prior=0.3,
)

SLOW = {
    "decay": (SKEWED, {"decay": 0.02}, None),
    "smoothing and a bias": (SKEWED, {"smoothing": 0.1, "bias": True, "decay": 0.001}, None),
    "Mixup": (SKEWED, {"mixing": THREE, "decay": 0.01}, [(0.1, 0.3), (0.5, 0.3), (1.0, 0.4)]),
    "Mixup with a bias": (SKEWED, {"mixing": 0.3, "bias": True}, [(0.3, 1.0)]),
    "Mixup of smoothed labels": (D3, {"mixing": 0.3, "smoothing": 0.05, "decay": 0.001}, [(0.3, 1.0)]),
}


def test_minimisers_are_those_of_loops_over_atoms():
    wrong = []
    for name, (distribution, options, lambdas) in SLOW.items():
        found = minimiser(distribution, **options)
        w, loss = slow_minimiser(distribution, options.get("decay", 0.0), options.get("smoothing", 0.0), lambdas, options.get("bias", False))
        mine = np.concatenate([found.w_L, found.w_H, [found.bias] if options.get("bias") else []])
        if not np.abs(mine - w).max() <= OPTIMISER * np.abs(w).max() or not abs(found.loss - loss) <= 1e-12:
            wrong.append((name, mine, w, found.loss, loss))
    assert wrong == []


def test_exchangeable_coordinates_have_equal_weights_in_a_distribution_without_groups():
    """Nearly equal laws are no group: the full problem must give what the sum of coordinates gives."""
    tilted = Distribution(
        {1: Atoms([[0.3, 0.3]]), -1: Atoms([[-0.3, -0.3]])},
        {1: Product([Uniform(1, 3), Uniform(1, 3 + 1e-9)]), -1: Product([Uniform(-3, -1), Uniform(-3, -1)])},
    )
    grouped = definition_4_1(0.3, 1, 3, dimensions=(2, 2))
    assert [len(groups) for groups in tilted.groups] == [1, 2]
    assert [len(groups) for groups in grouped.groups] == [1, 1]
    for options in ({"decay": 0.01}, {"decay": 0.01, "smoothing": 0.1}):
        one, other = minimiser(tilted, **options), minimiser(grouped, **options)
        assert np.concatenate([one.w_L, one.w_H]) == pytest.approx(np.concatenate([other.w_L, other.w_H]), rel=1e-8)


def test_sums_of_uniforms_have_the_moments_of_sums():
    for terms in (1, 2, 5, 12):
        points, weights = Uniform(-0.5, 1.5, terms=terms).nodes(16)
        law = Uniform(-0.5, 1.5, terms=terms)
        assert weights @ points == pytest.approx(law.mean, rel=1e-13)
        assert weights @ (points - law.mean) ** 2 == pytest.approx(law.variance, rel=1e-12)
        # E (S - E S)^4 of a sum of m uniforms of width 2: each has fourth central moment 1/5; pairs add 3 m (m - 1) / 9
        assert weights @ (points - law.mean) ** 4 == pytest.approx((terms / 5.0 + terms * (terms - 1) / 3.0) / terms**2, rel=1e-12)


def test_only_the_symmetrised_law_of_lambda_matters():
    one = minimiser(IMBALANCED, mixing={"atoms": [0.1, 0.4, 0.8], "probabilities": [0.2, 0.5, 0.3]}, decay=0.001)
    other = minimiser(IMBALANCED, mixing={"atoms": [0.1, 0.2, 0.4, 0.6, 0.8, 0.9], "probabilities": [0.1, 0.15, 0.25, 0.25, 0.15, 0.1]}, decay=0.001)
    third = minimiser(IMBALANCED, mixing={"atoms": [0.1, 0.4, 0.7], "probabilities": [0.2, 0.5, 0.3]}, decay=0.001)
    assert [*one.w_L, *one.w_H, one.loss] == pytest.approx([*other.w_L, *other.w_H, other.loss], rel=1e-12)
    assert abs(one.w_L - third.w_L)[0] > 1e-3


def test_gradient_and_hessian_are_derivatives_of_the_loss():
    rng = np.random.default_rng(1)
    for law in (None, law_from(THREE)):
        loss = loss_of(SKEWED, 0.05, 0.1, law, True, 1)
        w, v, h = rng.normal(size=loss.points.shape[1]), rng.normal(size=loss.points.shape[1]), 1e-5
        gradient, hessian = loss.derivatives(w)
        assert (loss.value(w + h * v) - loss.value(w - h * v)) / (2 * h) == pytest.approx(gradient @ v, rel=1e-8)
        difference = (loss.derivatives(w + h * v)[0] - loss.derivatives(w - h * v)[0]) / (2 * h)
        assert difference == pytest.approx(hessian @ v, rel=1e-7, abs=1e-9)


def test_label_smoothing_has_the_minimiser_of_theorem_3_3():
    for smoothing in (1e-6, 0.01, 0.25, 0.5):
        for d in (D1, D3, CE1, definition_4_1(0.1, 0.2, 1.0)):
            found = minimiser(d, smoothing=smoothing)
            entropy = -smoothing * math.log(smoothing) - (1 - smoothing) * math.log1p(-smoothing)
            assert found.w_L @ d.z == pytest.approx(math.log1p(-smoothing) - math.log(smoothing), abs=1e-8)
            assert found.loss == pytest.approx(entropy, abs=1e-12)
            assert np.abs(found.w_H).max() <= 1e-8


def test_mixup_has_the_minimiser_of_theorem_3_4():
    for atoms, shares in (([0.3], [1.0]), ([0.1, 0.5, 1.0], [0.3, 0.3, 0.4]), ([0.0, 0.9], [0.99, 0.01])):

        def slope(s, atoms=atoms, shares=shares):
            mixed = sum(p * (2 * lam - 1) * (expit((2 * lam - 1) * s) - lam) for lam, p in zip(atoms, shares, strict=True))
            return (expit(s) - 1.0) / 2.0 + mixed / 2.0

        root = brentq(slope, 0.0, 100.0, xtol=1e-12)
        for d in (D1, D3, CE2):
            found = minimiser(d, mixing={"atoms": atoms, "probabilities": shares})
            assert found.w_L @ d.z == pytest.approx(root, rel=1e-9)
            assert np.abs(found.w_H).max() <= 1e-9


def test_minimisers_at_infinity():
    erm = minimiser(D1)
    assert not erm.attained
    assert erm.loss == 0.0
    assert "max-margin" in erm.limit
    assert erm.direction == pytest.approx([0.44721360, 0.89442719], abs=1e-8)
    bernoulli = minimiser(D1, mixing={"atoms": [0.0, 1.0], "probabilities": [0.3, 0.7]})
    assert (bernoulli.attained, bernoulli.limit) == (False, erm.limit)
    assert minimiser(D1, mixing=scipy.stats.bernoulli(0.3), decay=0.01).w_H == pytest.approx(minimiser(D1, decay=0.01).w_H, rel=1e-12)
    for atoms, shares in (([0.5], [1.0]), ([0.0, 0.5, 1.0], [0.2, 0.7, 0.1])):
        half = minimiser(D3, mixing={"atoms": atoms, "probabilities": shares})
        assert not half.attained
        assert half.loss == pytest.approx(shares[atoms.index(0.5)] * math.log(2.0) / 2.0, rel=1e-12)
        assert half.w_H.tolist() == [0.0, 0.0]
        assert np.isinf(half.w_L).all()
        near = minimiser(D3, mixing={"atoms": atoms, "probabilities": shares}, decay=1e-7)
        assert half.loss < near.loss < half.loss + 1e-3
        assert np.linalg.norm(near.w_H) < 0.05 * np.linalg.norm(near.w_L)
    assert minimiser(D1, mixing={"atoms": [0.5, 0.6], "probabilities": [0.999, 0.001]}).attained
    noisy = Distribution({1: Atoms([0.4, 0.6]), -1: Atoms([-0.4, -0.6])}, D1.H)
    assert minimiser(noisy, mixing=0.5).attained


def test_decay_leads_to_the_max_margin_direction():
    for d in (D1, CE1, D3):
        limit = max_margin(d)
        direction = np.concatenate([limit.w_L, limit.w_H])
        angles = []
        for decay in (1e-2, 1e-4, 1e-8):
            found = minimiser(d, decay=decay)
            w = np.concatenate([found.w_L, found.w_H])
            angles.append(1.0 - w @ direction / np.linalg.norm(w))
        assert angles[0] > angles[1] > angles[2]
        assert angles[2] < 0.03


@pytest.mark.parametrize("options", [{"decay": 0.01}, {"smoothing": 0.05}])
def test_ten_thousand_atoms_take_a_twentieth_of_a_second(options):
    rng = np.random.default_rng(0)
    d = Distribution({y: Atoms([[0.3 * y, 0.4 * y]]) for y in (1, -1)}, {y: Atoms(y * (rng.random((5000, 5)) + 0.2)) for y in (1, -1)})
    times = []
    for _ in range(5):
        start = time.process_time()
        minimiser(d, **options)
        times.append(time.process_time() - start)
    assert min(times) < 0.1  # twice the time that it takes a machine on its own at most
