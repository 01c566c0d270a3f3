"""Proposition 3.3: the closed form against loops and against entropies in closed form, and where the distance vanishes."""

import itertools

import linear_loops
import numpy as np
import pytest
from compare import assert_close
from scipy.integrate import quad
from scipy.special import betaln, xlogy
from tolerances import ROUNDOFF

import mvsim
from mvsim.losses.mixing_laws import law_from
from mvsim.papers.midpoint_mixup.section_3 import proposition_3_3 as proposition
from mvsim.papers.midpoint_mixup.section_3.lemma_3_2 import optimal_direction
from mvsim.papers.midpoint_mixup.section_3.sample import Sample


def sample(k=3, N=8, seed=0):
    return Sample(mvsim.Parameters(k=k, model="linear", N=N), seed)


def entropy(lam):
    return -xlogy(lam, lam) - xlogy(1.0 - lam, 1.0 - lam)


@pytest.mark.parametrize("C", [0.0, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("k", [2, 4])
def test_the_closed_form_is_that_of_the_loops(k, C):
    one, atoms = sample(k), (0.3, 0.6)
    points, weights = one.data.to_patches()[:, 0], C * optimal_direction(k)[:, 0]
    loss = np.mean([linear_loops.mixup_loss(weights, points, one.labels, lam) for lam in atoms])
    expected = loss - (1.0 - one.same_class) * np.mean([entropy(lam) for lam in atoms])
    form = proposition.ClosedForm({"atoms": list(atoms), "probabilities": [0.5, 0.5]}, k, one.same_class)
    assert abs(form(C) - expected) <= ROUNDOFF * max(1.0, loss)


def adaptive(f, a):
    """E f of Beta(a, a) for an even f, by adaptive quadrature over v = (1 - lambda)^a, in which the density is not singular at 1."""
    edges = 0.5**a * np.array([0.0, 1e-6, 1e-4, 1e-2, 0.1, 0.3, 0.6, 1.0])

    def integrand(v):
        s = v ** (1.0 / a)
        return 2.0 * f(1.0 - s) * (1.0 - s) ** (a - 1.0) * np.exp(-betaln(a, a)) / a

    return sum(quad(integrand, *ends, epsabs=1e-15, epsrel=1e-12, limit=400)[0] for ends in itertools.pairwise(edges))


@pytest.mark.parametrize("a", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("k", [3, 50])
def test_the_quadrature_is_far_finer_than_the_bound(a, k):
    """Next to 0 and 1 the entropy is not smooth, and a sum over nodes would be off by 10^-6, as much as the bound."""
    form = proposition.ClosedForm({"distribution": "beta", "args": [a, a]}, k, 0.0)
    for C in (0.0, 2.0, 20.0):
        exact = adaptive(lambda lam, C=C: np.log(np.exp(lam * C) + np.exp((1 - lam) * C) + k - 2) - C * (lam**2 + (1 - lam) ** 2) - entropy(lam), a)
        assert abs(form(C) - exact) <= 1e-12
    law = law_from({"distribution": "beta", "args": [a, a]}, proposition.NODES)
    assert abs(proposition.mean_entropy(law) - adaptive(entropy, a)) <= 1e-12


def test_the_entropy_of_other_laws_is_that_of_their_quadrature():
    for law, expected in ((0.3, entropy(0.3)), ({"atoms": [0.0, 0.4], "probabilities": [0.25, 0.75]}, 0.75 * entropy(0.4))):
        assert_close(proposition.mean_entropy(law_from(law, 10)), expected, ROUNDOFF)
    skew = law_from({"distribution": "beta", "args": [2.0, 5.0]}, 400)
    lam, weight = np.array(skew.folded_quadrature()).T
    assert_close(proposition.mean_entropy(skew), float(weight @ entropy(lam)), 1e-9)


def test_two_atoms_leave_what_pairs_of_one_class_leave():
    """With k = 2 and lambda = 0.3 or 0.7 the softmax (0.7, 0.3) is reached at C = logit(0.7) / 0.4: only pairs of one class forbid that C."""
    exact = np.log(0.7 / 0.3) / 0.4
    law = {"atoms": [0.3, 0.7], "probabilities": [0.5, 0.5]}
    assert abs(proposition.ClosedForm(law, 2, 0.0)(exact)) <= ROUNDOFF
    assert proposition.ClosedForm(law, 2, 0.5).distance().eps_0 > 0.01
    assert proposition.ClosedForm(law, 3, 0.0).distance().eps_0 > 0.01


def test_negative_other_correlations_leave_slightly_less_on_one_sample():
    """Lemma 3.2 allows them. Weights that a search found, here judged by loops over pairs."""
    one = sample(3, 30)
    own, others = 3.81, np.zeros((3, 3, 2))
    for (y, s), value in {(0, 1): -0.283, (0, 2): -0.09, (1, 0): -0.283, (1, 2): -0.09, (2, 0): -0.002, (2, 1): -0.002}.items():
        others[y, s] = value
    weights = own * optimal_direction(3)[:, 0] + others
    least = (1.0 - one.same_class) * entropy(0.3)
    left = linear_loops.mixup_loss(weights, one.data.to_patches()[:, 0], one.labels, 0.3) - least
    eps_0 = proposition.remaining(one, 0.3).eps_0
    assert 0.99 * eps_0 < left < 0.998 * eps_0


@pytest.mark.parametrize("law", proposition.LAWS)
def test_the_distance_grows_with_k(law):
    mixing = proposition.LAWS[law]
    by_k = [proposition.ClosedForm(mixing, k, 1.0 / k).distance().eps_0 for k in (2, 3, 5, 10, 20, 50, 200)]
    assert (np.diff(by_k) > 0.0).all()


def test_the_distance_depends_on_the_shares_of_the_classes():
    by_share = [proposition.ClosedForm(proposition.LAWS["Beta(10, 10)"], 5, same).distance().eps_0 for same in (0.2, 0.3, 0.5)]
    assert_close(np.array(by_share), np.array([0.10376, 0.09179, 0.06758]), 1e-4)


def test_the_least_is_the_least_of_a_fine_grid():
    form = proposition.ClosedForm(0.3, 5, 0.2)
    grid = min(form(C) for C in np.linspace(0.0, 50.0, 5001))
    assert form.distance().eps_0 <= grid
    assert_close(form.distance().eps_0, grid, 1e-4)


@pytest.mark.parametrize("mixing", [0.0, 0.5, 1.0, {"atoms": [0.0, 0.5, 1.0], "probabilities": [0.2, 0.5, 0.3]}])
def test_nothing_is_left_of_laws_on_three_points(mixing):
    assert proposition.remaining(sample(), mixing).eps_0 <= proposition.ROUNDOFF
    assert proposition.as_written(sample(), mixing).status == "fails"


def test_the_distance_goes_to_0_at_both_ends_of_beta_laws():
    distances = [proposition.remaining(sample(5, 50), {"distribution": "beta", "args": [a, a]}).eps_0 for a in (0.001, 0.1, 1.0, 100.0, 1000.0)]
    assert distances[0] < distances[1] < distances[2] > distances[3] > distances[4]


def test_verdicts():
    verdicts = proposition.proposition_3_3(mvsim.Parameters(k=4, model="linear", N=40), 0)
    assert [verdict.status for verdict in verdicts] == ["holds", "holds", "holds", "fails"]
