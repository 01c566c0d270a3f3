"""Propositions 3.4 and 3.5: the pulls against the engine, the worst ones against grids, and where the statements hold and fail."""

import itertools
import math

import numpy as np
import pytest
from compare import assert_close
from tolerances import ROUNDOFF

import mvsim
from mvsim.papers.midpoint_mixup.section_3 import proposition_3_4, proposition_3_5
from mvsim.papers.midpoint_mixup.section_3.orthogonal import OneClass
from mvsim.papers.midpoint_mixup.section_3.sample import ONE, Sample, own_only


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


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("spread", [0.1, 3.0])
def test_the_pull_falls_in_the_own_correlations_and_grows_with_those_of_other_classes(k, spread):
    """With the gradient of the engine: so the least pull over ranges of them is at their ends."""
    one_sample, rng = sample(k), np.random.default_rng(k)
    objective = one_sample.objective("midpoint")

    def pull(own):
        return -float(objective.gradient(own_only(own))[ONE, 0, ONE, 1])

    own = spread * rng.standard_normal((k, 2))
    for y, view in np.ndindex(k, 2):
        more = own.copy()
        more[y, view] += 0.1
        assert (pull(more) < pull(own)) == (y == ONE)


def test_the_pull_of_erm_keeps_its_digits():
    """1 - phi of 1e-40 is not a difference of numbers of size 1: it is (k - 1) e^-h up to terms of its own square."""
    one = one_class(4)
    h = one.beta @ np.array([900.0, 900.0])
    expected = (3.0 * np.exp(-h)) @ one.beta / one.N
    assert_close(one.erm_pull(np.array([900.0, 900.0])), expected, 1e-12)


@pytest.mark.parametrize("k", [3, 10])
def test_the_worst_weights_of_other_classes_are_very_negative(k):
    """h_j = -30 log k of all other points, as their coefficients add up to 1."""
    one, unit = one_class(k), math.log(k)
    h = one.beta[:, 0] * unit
    phi = np.exp(0.5 * h) / (np.exp(0.5 * h) + k**-15.0 + k - 2)
    within = 1.0 - 1.0 / (1.0 + (k - 1) * np.exp(-0.5 * (h[:, None] + h)))
    pairs = within * (one.beta[:, None, 1] + one.beta[:, 1])
    exact = (len(one.others) * ((1.0 - 2.0 * phi) @ one.beta[:, 1]) + pairs.sum()) / (2.0 * one.N**2)
    assert_close(proposition_3_4.lagging_pull(one), float(exact), 1e-9)


def test_no_random_weights_undercut_the_worst():
    one, unit = one_class(6, 100), math.log(6)
    rng = np.random.default_rng(0)
    lagging = proposition_3_4.lagging_pull(one)
    free = proposition_3_4.lagging_pull(one, proposition_3_4.LARGEST, proposition_3_4.LARGEST)
    for _ in range(200):
        own = np.exp(rng.uniform(-2.0, 4.0)) * rng.uniform(-1.0, 1.0, (6, 2))
        own[one.y, 1] = abs(own[one.y, 1])
        own[one.y, 0] = own[one.y, 1] + unit * np.exp(rng.uniform(0.0, 3.0))
        assert one.midpoint_pull(own)[1] >= free
        own[one.y] = unit, 0.0
        assert one.midpoint_pull(own)[1] >= lagging


def test_as_written_the_worst_pull_is_its_limit():
    one = one_class(5)
    pull = proposition_3_4.lagging_pull(one, proposition_3_4.LARGEST, proposition_3_4.LARGEST)
    limit = -(one.N - len(one.beta)) * one.beta[:, 1].sum() / (2.0 * one.N**2)
    assert_close(pull, limit, 1e-9)
    assert pull >= limit
    assert pull < 0.0
    assert f"the limit is {25.0 * limit:.4g};" in proposition_3_4.as_written(one).detail


@pytest.mark.parametrize("k", [3, 8])
def test_the_ranges_are_where_the_pull_changes_sign(k):
    """At weights of the other classes of which the exponentials are 0, with the gradient of the engine."""
    one_sample, unit = sample(k), math.log(k)
    one, objective = OneClass.of(one_sample, ONE), one_sample.objective("midpoint")

    def pull(a, gap):
        own = np.full((k, 2), -1e4)
        own[one.y] = (a + gap) * unit, a * unit
        return -float(objective.gradient(own_only(own))[one.y, 0, one.y, 1])

    lagging, gap = proposition_3_4.largest_lagging(one), proposition_3_4.largest_gap(one)
    for step, sign in ((-0.01, 1.0), (0.01, -1.0)):
        assert sign * pull(lagging + step, 1.0) > 0.0
        assert sign * pull(0.0, gap + step) > 0.0


@pytest.mark.parametrize("k", [5, 10])
def test_a_lagging_feature_at_0_is_pushed_down_beyond_the_largest_gap(k):
    """With the other classes at 0: what the proposition says is positive for every Delta_y >= log k."""
    one_sample = sample(k, 100)
    objective = one_sample.objective("midpoint")
    own = np.zeros((k, 2))
    for gap, sign in ((1.0, 1.0), (4.0, 1.0), (7.0, -1.0), (10.0, -1.0)):
        own[ONE, 0] = gap * math.log(k)
        assert sign * -float(objective.gradient(own_only(own))[ONE, 0, ONE, 1]) > 0.0
    (verdict,) = (v for v in proposition_3_4.proposition_3_4(one_sample.parameters, 0) if v.name == "largest gap")
    assert 4.0 < verdict.measured < 7.0


def test_the_largest_gap_tends_to_its_limit():
    """Half of the integral of 1 - beta over [0.1, 0.9] belongs to beta below 1 - sqrt(0.41), on a grid of beta instead of a sample."""
    beta = np.linspace(0.1, 0.9, 401)
    beta = 0.5 * (beta[1:] + beta[:-1])
    others = np.full((4_000, 2), 0.5)
    one = OneClass(10**5, len(beta) + len(others), 0, np.stack([beta, 1.0 - beta], axis=1), others, np.ones(len(others), dtype=int))
    assert_close(proposition_3_4.largest_gap(one), 2.0 / (1.0 - math.sqrt(0.41)), 0.003)


def test_with_two_classes_negative_weights_of_the_other_one_break_the_statement():
    """Nothing is left beside class y then: phi = 1 on every pair with a point of the other class."""
    one = one_class(2, 100)
    own = np.array([[math.log(2.0), 0.0], [-300.0, -300.0]])
    h, lagging = one.beta[:, 0] * math.log(2.0), one.beta[:, 1]
    points = list(zip(lagging, h, strict=True))
    within = sum((a + b) / (1.0 + math.exp(0.5 * (of_a + of_b))) for a, of_a in points for b, of_b in points)
    expected = (within - len(one.others) * lagging.sum()) / (2.0 * one.N**2)
    assert_close(float(one.midpoint_pull(own)[1]), expected, 1e-12)
    assert expected < -0.01
    verdict = proposition_3_4.lagging_feature(OneClass.each_of(sample(2, 100)))
    assert (verdict.status, verdict.measured) == ("not applicable", None)
    assert proposition_3_4.largest_lagging(one) == 0.0
    assert proposition_3_4.largest_gap(one) is None


def test_bounds_are_judged_on_the_worst_class_and_measured_on_one_that_does_not_depend_on_the_points():
    """A class with few points has the least pull, a class with many the largest."""
    one, k = sample(6, 30, seed=3), 6
    parameters, unit = one.parameters, math.log(k)
    own = np.empty((k, 2))
    lagging, pulls = [], [OneClass.of(one, y) for y in range(k)]
    for of_class in pulls:
        own[:] = -1e4
        own[of_class.y] = unit, 0.0
        lagging.append(k**2 * of_class.midpoint_pull(own)[1])
    alike = [k**2 * proposition_3_4.worst_pull_if_alike(of_class)[0] for of_class in pulls]
    largest = int(np.bincount(one.labels).argmax())
    found = {verdict.name: verdict for verdict in proposition_3_4.proposition_3_4(parameters, 3)}
    for name, of_classes in (("lagging feature", lagging), ("classes alike", alike)):
        assert_close(found[name].measured, min(of_classes), 1e-9)
        assert f"class {int(np.argmin(of_classes))} with" in found[name].detail
        assert_close(found[f"{name}, one class"].measured, of_classes[ONE], 1e-9)
        assert min(of_classes) < of_classes[ONE] < of_classes[largest]
    ratios = [max(proposition_3_5.ratio(of_class, C) for C in proposition_3_5.constants_at(k)) for of_class in pulls]
    bound, measured, _ = proposition_3_5.proposition_3_5(parameters, 3)
    assert (bound.measured, measured.measured) == (max(ratios), ratios[ONE])
    assert ratios[ONE] < max(ratios)


def test_the_premise_of_b_24_leaves_a_pull_near_0(monkeypatch):
    """What counts as 0 elsewhere, and more of it with weights a hundredth as large."""

    def left(seed):
        one = one_class(8, 100, seed)
        pull = proposition_3_4.pull_with_premise(one)
        assert abs(pull[0]) <= 1e-9
        return abs(one.k**2 * pull[1])

    with_large = [left(seed) for seed in range(5)]
    assert max(with_large) < proposition_3_4.LEAST
    monkeypatch.setattr(proposition_3_4, "FAR", proposition_3_4.LARGEST)
    assert np.median([left(seed) for seed in range(5)]) > 2.0 * np.median(with_large)


def test_without_two_equal_halves_nothing_is_measured_of_the_premise():
    assert proposition_3_4.pull_with_premise(one_class(3)) is None
    uneven = one_class(5, 100, seed=9)
    *rest, split = sorted(np.bincount(uneven.classes, minlength=5)[1:])[::-1]
    assert rest[1] + rest[2] - rest[0] > split
    assert proposition_3_4.pull_with_premise(uneven) is None
    assert "differ by more than the class that is split" in proposition_3_4.with_premise(uneven).detail


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


def test_while_classes_are_alike_a_large_gap_can_be_the_worst():
    """Against all orders at a few a and gaps, with the gradient of the engine; with so few points the least is not at the least gap."""
    k = 3
    one_sample, unit = sample(k, 10, 2), math.log(k)
    one, objective = OneClass.of(one_sample, ONE), one_sample.objective("midpoint")
    pulls = {}
    for a, gap in itertools.product((0.0, 2.0, 30.0), (1.0, 4.0, 30.0)):
        for order in itertools.product([False, True], repeat=k - 1):
            own = np.tile([(a + gap) * unit, a * unit], (k, 1))
            swapped = np.insert(np.array(order), ONE, False)
            own[swapped] = own[swapped, ::-1]
            pulls[a, gap, order] = -float(objective.gradient(own_only(own))[ONE, 0, ONE, 1])
    a, gap, _ = min(pulls, key=lambda where: pulls[where])
    assert gap > 1.0
    pull, *where = proposition_3_4.worst_pull_if_alike(one)
    assert where == [a, gap]
    assert_close(pull, min(pulls.values()), ROUNDOFF, scale=1.0 / k**2)


@pytest.mark.parametrize("k", [2, 3, 10])
def test_verdicts_of_3_4(k):
    statuses = [verdict.status for verdict in proposition_3_4.proposition_3_4(mvsim.Parameters(k=k, model="linear", N=100 * k), 0)]
    assert statuses == ["not applicable" if k == 2 else "holds", "holds", *["measured"] * 5, "fails"]


@pytest.mark.parametrize("k", [2, 5, 50])
def test_the_upper_bound_of_3_5_holds_for_every_class(k):
    one = sample(k, 100)
    for y in range(min(k, 5)):
        for C in proposition_3_5.CONSTANTS:
            of_class = OneClass.of(one, y)
            assert proposition_3_5.ratio(of_class, C) <= 0.9 * of_class.share + ROUNDOFF


def test_constants_rise():
    for k in (2, 3, 5, 200):
        constants = proposition_3_5.constants_at(k)
        assert_close(np.array(constants), np.array(sorted([*proposition_3_5.CONSTANTS, 10.0 + 30.0 / math.log10(k)])), ROUNDOFF)


def test_the_upper_bound_of_3_5_needs_a_least_beta():
    assert proposition_3_5.upper_bound(OneClass.each_of(sample(5, 100))).status == "holds"
    assert proposition_3_5.upper_bound(OneClass.each_of(sample(5, 100, delta1=0.001))).status == "fails"


@pytest.mark.parametrize("k", [2, 5, 20])
def test_as_written_the_pull_of_erm_does_not_fall(k):
    """With <w_y, v_{y,1}> = 0 and <w_y, v_{y,2}> = -C log k the outputs are not positive, 1 - phi >= 1 - 1/k: by the gradient of the engine."""
    one_sample = sample(k, 100)
    one, objective = OneClass.of(one_sample, ONE), one_sample.objective("erm")
    everything = float(one.beta[:, 1].sum()) / one.N
    for C in (1.0, 10.0, 60.0):
        own = np.zeros((k, 2))
        own[one.y, 1] = -C * math.log(k)
        pull = -float(objective.gradient(own_only(own))[one.y, 0, one.y, 1])
        assert (1.0 - 1.0 / k) * everything <= pull <= everything * (1.0 + ROUNDOFF)
        assert_close(proposition_3_5.ratio_as_written(one, C), pull * k ** (0.1 * C - 1.0), 1e-9)
    assert [verdict.status for verdict in proposition_3_5.proposition_3_5(one_sample.parameters, 0)] == ["holds", "measured", "fails"]


def test_other_correlations_only_lower_the_pull_of_erm():
    one, unit = one_class(5), math.log(5)
    worst = one.erm_pull(np.array([3.0 * unit, 0.0]))[1]
    for a in (0.1, 1.0, 5.0):
        assert one.erm_pull(np.array([3.0 * unit + a, a]))[1] < worst
        assert one.erm_pull(np.array([(3.0 + a) * unit, 0.0]))[1] < worst
