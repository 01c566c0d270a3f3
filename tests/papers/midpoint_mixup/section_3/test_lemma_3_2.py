"""Lemma 3.2 against the loops of linear_loops, and its checks on directions that break it."""

import math

import linear_loops
import numpy as np
import pytest
from compare import assert_close
from tolerances import ROUNDOFF

import mvsim
from mvsim.papers.midpoint_mixup.section_3 import lemma_3_2 as lemma
from mvsim.papers.midpoint_mixup.section_3.sample import ONE, Sample, own_only


def sample(k=3, N=8, seed=0, **fields):
    return Sample(mvsim.Parameters(k=k, model="linear", N=N, **fields), seed)


def looped(one, direction, gamma):
    return linear_loops.mixup_loss(gamma * direction[:, 0], one.data.to_patches()[:, 0], one.labels, 0.5)


def pairs_of_different_classes(labels):
    return sum(a != b for a in labels for b in labels) / len(labels) ** 2


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("gamma", [0.0, 1.0, 7.0, 60.0])
def test_the_closed_form_is_that_of_the_loops(k, gamma):
    one = sample(k)
    expected = looped(one, lemma.optimal_direction(k), gamma) - math.log(2.0) * pairs_of_different_classes(one.labels)
    assert abs(lemma.closed_form(one, gamma) - expected) <= ROUNDOFF
    assert_close(lemma.infimum(one), math.log(2.0) * pairs_of_different_classes(one.labels), ROUNDOFF)


def test_the_infimum_is_not_undercut():
    """No weights that were drawn at random are below it."""
    one, rng = sample(4, 12), np.random.default_rng(0)
    losses = [looped(one, rng.standard_normal((4, 1, 4, 2)), gamma) for gamma in (0.1, 1.0, 10.0, 100.0) for _ in range(5)]
    assert min(losses) > lemma.infimum(one)


def test_the_least_over_gamma_is_the_least_of_a_fine_grid():
    one = sample(4, 12)
    above = lemma.excess(one, lemma.broken_direction(4, ONE))
    grid = min(above(gamma) for gamma in np.geomspace(0.1, lemma.FAR, 2000))
    least = lemma.least_excess(above)
    assert least <= grid
    assert_close(least, grid, 1e-4)  # the grid is that coarse


@pytest.mark.parametrize("k", [2, 5])
def test_both_directions_hold_with_orthogonality_and_fail_as_written(k):
    statuses = {verdict.name: verdict.status for verdict in lemma.lemma_3_2(mvsim.Parameters(k=k, model="linear", N=10 * k), 1)}
    assert statuses == {
        "sufficiency": "holds",
        "necessity": "holds",
        "unseen breaks": "consistent",
        "sufficiency as written": "fails",
        "necessity as written": "fails",
    }


def test_a_vector_added_to_all_weights_changes_no_loss():
    """The counterexample to necessity, by the loops."""
    one, direction = sample(3, 9), lemma.optimal_direction(3)
    shifted = direction.copy()
    shifted[:, 0, 1, 0] -= 0.3
    for gamma in (1.0, 20.0):
        assert_close(looped(one, shifted, gamma), looped(one, direction, gamma), ROUNDOFF)
    assert shifted[1, 0, 1, 0] != shifted[1, 0, 1, 1]


def test_a_broken_direction_has_one_correlation_more():
    direction = lemma.broken_direction(3, 0)
    assert direction[0, 0, 0].tolist() == [1.1, 1.0]
    direction[0, 0, 0, 0] = 1.0
    assert (direction == lemma.optimal_direction(3)).all()
    assert lemma.broken_direction(3, 2, (-0.25, 0.5))[2, 0, 2].tolist() == [0.75, 1.5]


def test_the_excess_is_said_in_units_of_the_pairs_that_a_break_touches():
    one = sample(4, 12)
    touched = sum((a == ONE) != (b == ONE) for a in one.labels for b in one.labels) / 12**2
    verdict = lemma.necessity(one)
    expected = f"that is {verdict.measured / touched / 0.01:.3g} e^2 times the fraction of pairs that it touches, {touched:.3g};"
    assert expected in verdict.detail


def test_a_break_grows_the_loss_as_its_square():
    """Halving a small break divides the least excess by 4, but for a logarithm squared."""
    one = sample(5, 50)
    y = ONE
    large, small = (lemma.least_excess(lemma.excess(one, lemma.broken_direction(5, y, (e, 0.0)))) for e in (0.02, 0.01))
    assert 2.5 < large / small < 4.0


def test_breaks_that_are_unseen_too_often_contradict_the_probability(monkeypatch):
    monkeypatch.setattr(lemma, "broken_direction", lambda k, y: lemma.optimal_direction(k))
    verdict = lemma.unseen(mvsim.Parameters(k=3, model="linear", N=30), 0)
    assert (verdict.status, verdict.measured) == ("contradicted", 1.0)


def test_a_break_is_unseen_where_the_class_has_no_point():
    one = Sample(mvsim.Parameters(k=9, model="linear", N=6), 0)
    empty = int(np.flatnonzero(np.bincount(one.labels, minlength=9) == 0)[0])
    assert abs(lemma.excess(one, lemma.broken_direction(9, empty))(lemma.FAR)) <= lemma.ROUNDOFF
    assert lemma.excess(one, lemma.broken_direction(9, ONE))(lemma.FAR) > 1.0


def test_a_constant_beta_hides_that_correlations_differ():
    one = sample(4, 40, beta_law={"kind": "discrete", "atoms": [0.5]})
    assert lemma.necessity(one, (0.1, -0.1)).status == "fails"
    assert lemma.necessity(sample(4, 40), (0.1, -0.1)).status == "holds"


def test_correlations_with_own_features_alone():
    c = own_only(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert c.shape == (2, 1, 2, 2)
    assert c[0, 0].tolist() == [[1.0, 2.0], [0.0, 0.0]]
    assert c[1, 0].tolist() == [[0.0, 0.0], [3.0, 4.0]]
