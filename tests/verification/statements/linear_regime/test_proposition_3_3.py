"""Proposition 3.3: the closed form against loops and against entropies in closed form, and where the distance vanishes."""

import linear_loops
import numpy as np
import pytest
from compare import assert_close
from scipy.special import digamma
from tolerances import ROUNDOFF

import mvsim
from mvsim.verification.statements.linear_regime import proposition_3_3 as proposition
from mvsim.verification.statements.linear_regime.lemma_3_2 import optimal_direction
from mvsim.verification.statements.linear_regime.sample import Sample


def sample(k=3, N=8, seed=0):
    return Sample(mvsim.Parameters(k=k, model="linear", N=N), seed)


def entropy(lam):
    return -lam * np.log(lam) - (1.0 - lam) * np.log(1.0 - lam)


@pytest.mark.parametrize("C", [0.0, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("k", [2, 4])
def test_the_closed_form_is_that_of_the_loops(k, C):
    one, atoms = sample(k), (0.3, 0.6)
    points, weights = one.data.to_patches()[:, 0], C * optimal_direction(k)[:, 0]
    loss = np.mean([linear_loops.mixup_loss(weights, points, one.labels, lam) for lam in atoms])
    expected = loss - (1.0 - one.same_class) * np.mean([entropy(lam) for lam in atoms])
    form = proposition.ClosedForm({"atoms": list(atoms), "probabilities": [0.5, 0.5]}, k, one.same_class)
    assert abs(form(C) - expected) <= ROUNDOFF * max(1.0, loss)


@pytest.mark.parametrize("a", [0.3, 1.0, 20.0])
def test_entropies_of_beta_laws_are_those_in_closed_form(a):
    """At C = 0 the loss is log k, so that what is left of it tells E[H], which is digamma(2a + 1) - digamma(a + 1)."""
    form = proposition.ClosedForm({"distribution": "beta", "args": [a, a]}, 2, 0.0)
    assert_close(np.log(2.0) - form(0.0), digamma(2.0 * a + 1.0) - digamma(a + 1.0), 1e-4)  # a quadrature of what is not smooth at 0 and 1


def test_two_atoms_leave_what_pairs_of_one_class_leave():
    """With k = 2 and lambda = 0.3 or 0.7 the softmax (0.7, 0.3) is reached at C = logit(0.7) / 0.4: only pairs of one class forbid that C."""
    exact = np.log(0.7 / 0.3) / 0.4
    law = {"atoms": [0.3, 0.7], "probabilities": [0.5, 0.5]}
    assert abs(proposition.ClosedForm(law, 2, 0.0)(exact)) <= ROUNDOFF
    assert proposition.ClosedForm(law, 2, 0.5).distance().eps_0 > 0.01
    assert proposition.ClosedForm(law, 3, 0.0).distance().eps_0 > 0.01


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
