"""Propositions 3.4 and 3.5: the pulls against the engine, the searches against grids, and where the statements hold and fail."""

import itertools
import math

import numpy as np
import pytest
from compare import assert_close
from tolerances import CENTRAL_DIFFERENCE, CENTRAL_DIFFERENCE_STEP, ROUNDOFF

import mvsim
from mvsim.verification.statements.linear_regime import proposition_3_4, proposition_3_5
from mvsim.verification.statements.linear_regime.orthogonal import OneClass
from mvsim.verification.statements.linear_regime.sample import ONE, Sample, own_only


def sample(k, points=20, seed=0, **fields):
    return Sample(mvsim.Parameters(k=k, model="linear", N=points * k, **fields), seed)


def one_class(k, points=20, seed=0, **fields):
    one = sample(k, points, seed, **fields)
    return OneClass.of(one, ONE)


@pytest.mark.parametrize("k", [2, 3, 6])
@pytest.mark.parametrize("spread", [0.1, 3.0, 100.0])
def test_pulls_are_minus_the_gradients_of_the_engine(k, spread):
    one = sample(k)
    own = spread * np.random.default_rng(k).standard_normal((k, 2))
    c = own_only(own)
    midpoint, erm = (one.objective(name).gradient(c) for name in ("midpoint", "erm"))
    scale = 1.0 / k**2  # where a softmax is saturated the pull is what is left of terms of that size
    for y in range(k):
        of_class = OneClass.of(one, y)
        assert_close(of_class.midpoint_pull(own), -midpoint[y, 0, y], ROUNDOFF, scale)
        assert_close(of_class.erm_pull(own[y]), -erm[y, 0, y], ROUNDOFF, scale)
        assert_close(of_class.midpoint_pull_of_lagging(own)[0], -midpoint[y, 0, y, 1], ROUNDOFF, scale)


@pytest.mark.parametrize("k", [2, 5])
def test_the_derivative_of_the_pull(k):
    one = one_class(k)
    own, direction = np.random.default_rng(1).standard_normal((2, k, 2))
    step = CENTRAL_DIFFERENCE_STEP
    difference = (one.midpoint_pull_of_lagging(own + step * direction)[0] - one.midpoint_pull_of_lagging(own - step * direction)[0]) / (2.0 * step)
    assert_close(float((one.midpoint_pull_of_lagging(own)[1] * direction).sum()), difference, CENTRAL_DIFFERENCE)


def test_the_pull_of_erm_keeps_its_digits():
    """1 - phi of 1e-40 is not a difference of numbers of size 1: it is (k - 1) e^-h up to terms of its own square."""
    one = one_class(4)
    h = one.beta @ np.array([900.0, 900.0])
    expected = (3.0 * np.exp(-h)) @ one.beta / one.N
    assert_close(one.erm_pull(np.array([900.0, 900.0])), expected, 1e-12)


@pytest.mark.parametrize("k", [3, 10])
def test_the_worst_weights_of_other_classes_are_0(k):
    """The search finds what the monotony in h_j says."""
    one, unit = one_class(k), math.log(k)
    pull, own = proposition_3_4.worst_pull(one, (0.0, 0.0), 0)
    exact = np.zeros((k, 2))
    exact[one.y, 0] = unit
    assert_close(pull, float(one.midpoint_pull(exact)[1]), 1e-9)
    assert own[one.y].tolist() == [unit, 0.0]


def test_no_random_weights_undercut_the_searches():
    one, unit = one_class(6, 100), math.log(6)
    rng = np.random.default_rng(0)
    free, lagging = (proposition_3_4.worst_pull(one, (0.0, end), 0)[0] for end in (proposition_3_4.LARGEST, 0.0))
    for _ in range(200):
        own = np.exp(rng.uniform(-2.0, 4.0)) * rng.random((6, 2))
        own[one.y, 0] = own[one.y, 1] + unit
        assert one.midpoint_pull(own)[1] >= free
        own[one.y] = unit, 0.0
        assert one.midpoint_pull(own)[1] >= lagging


def test_as_written_the_worst_pull_is_its_limit():
    one = one_class(5)
    pull, _ = proposition_3_4.worst_pull(one, (0.0, proposition_3_4.LARGEST), 0)
    limit = -(one.N - len(one.beta)) * one.beta[:, 1].sum() / (2.0 * one.N**2)
    assert_close(pull, limit, 1e-3)  # the search ends where the gradient is that small
    assert pull >= limit
    assert pull < 0.0


def test_the_range_is_where_the_pull_changes_sign():
    one, unit = one_class(8), math.log(8)
    border = proposition_3_4.largest_lagging(one)
    for a, sign in ((border - 0.01, 1.0), (border + 0.01, -1.0)):
        own = np.zeros((8, 2))
        own[one.y] = (a + 1.0) * unit, a * unit
        assert sign * one.midpoint_pull(own)[1] > 0.0


def test_bounds_are_judged_on_the_worst_class_and_measured_on_one_that_does_not_depend_on_the_points():
    """A class with few points has the least pull, a class with many the largest."""
    one, k = sample(6, 30, seed=3), 6
    parameters, unit = one.parameters, math.log(k)
    own = np.zeros((k, 2))
    lagging, pulls = [], [OneClass.of(one, y) for y in range(k)]
    for of_class in pulls:
        own[:] = 0.0
        own[of_class.y, 0] = unit
        lagging.append(k**2 * of_class.midpoint_pull(own)[1])
    alike = [k**2 * proposition_3_4.worst_pull_if_alike(of_class)[0] for of_class in pulls]
    largest = int(np.bincount(one.labels).argmax())
    found = {verdict.name.removeprefix("Proposition 3.4 "): verdict for verdict in proposition_3_4.proposition_3_4(parameters, 3)}
    for name, of_classes in (("lagging feature", lagging), ("classes alike", alike)):
        assert_close(found[f"({name})"].measured, min(of_classes), 1e-9)
        assert f"class {int(np.argmin(of_classes))} with" in found[f"({name})"].detail
        assert_close(found[f"({name}, one class)"].measured, of_classes[ONE], 1e-9)
        assert min(of_classes) < of_classes[ONE] < of_classes[largest]
    ratios = [max(proposition_3_5.ratio(of_class, C) for C in proposition_3_5.constants_at(k)) for of_class in pulls]
    bound, measured = proposition_3_5.proposition_3_5(parameters, 3)
    assert (bound.measured, measured.measured) == (max(ratios), ratios[ONE])
    assert ratios[ONE] < max(ratios)


def test_the_premise_of_b_24_leaves_a_pull_near_0():
    one = one_class(9, 100)
    pull = proposition_3_4.pull_with_premise(one)
    assert abs(pull[0]) <= 1e-9
    assert abs(one.k**2 * pull[1]) < 0.02
    assert proposition_3_4.pull_with_premise(one_class(3)) is None


@pytest.mark.parametrize(("a", "gap"), [(0.0, 1.0), (1.0, 2.0), (0.3, 16.0)])
@pytest.mark.parametrize("k", [2, 5])
def test_no_order_of_features_is_worse_than_the_worst(k, a, gap):
    """Against all 2^(k - 1) orders, with the gradient of the engine."""
    one_sample = sample(k, 7)
    one = OneClass.of(one_sample, ONE)
    objective = one_sample.objective("midpoint")

    def pull(own):
        return -float(objective.gradient(own_only(own))[one.y, 0, one.y, 1])

    pulls = []
    for order in itertools.product([False, True], repeat=k - 1):
        own = np.tile([a + gap, a], (k, 1))
        swapped = np.insert(np.array(order), one.y, False)
        own[swapped] = own[swapped, ::-1]
        pulls.append(pull(own))
    assert_close(pull(proposition_3_4.worst_order(one, a, gap)), min(pulls), ROUNDOFF, scale=1.0 / k**2)
    assert max(pulls) > min(pulls)


@pytest.mark.parametrize("k", [2, 5, 20])
def test_verdicts_of_3_4(k):
    statuses = [verdict.status for verdict in proposition_3_4.proposition_3_4(mvsim.Parameters(k=k, model="linear", N=100 * k), 0)]
    assert statuses == ["holds", "holds", "measured", "measured", "measured", "measured", "fails"]


@pytest.mark.parametrize("k", [2, 5, 50])
def test_the_upper_bound_of_3_5_holds_for_every_class(k):
    one = sample(k, 100)
    for y in range(min(k, 5)):
        for C in proposition_3_5.CONSTANTS:
            of_class = OneClass.of(one, y)
            assert proposition_3_5.ratio(of_class, C) <= 0.9 * of_class.share + ROUNDOFF


def test_the_upper_bound_of_3_5_needs_a_least_beta():
    assert proposition_3_5.upper_bound(OneClass.each_of(sample(5, 100))).status == "holds"
    assert proposition_3_5.upper_bound(OneClass.each_of(sample(5, 100, delta1=0.001))).status == "fails"


def test_other_correlations_only_lower_the_pull_of_erm():
    one, unit = one_class(5), math.log(5)
    worst = one.erm_pull(np.array([3.0 * unit, 0.0]))[1]
    for a in (0.1, 1.0, 5.0):
        assert one.erm_pull(np.array([3.0 * unit + a, a]))[1] < worst
        assert one.erm_pull(np.array([(3.0 + a) * unit, 0.0]))[1] < worst
