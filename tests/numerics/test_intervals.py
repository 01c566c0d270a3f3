"""Intervals for fractions of classes: exact where classes are independent or alike, and honest in between."""

import numpy as np
import pytest
from looping import looping

from mvsim.numerics.intervals import clopper_pearson, clustered_interval


@looping(("hits", "runs"), [(0, 5), (1, 5), (3, 7), (12, 40), (40, 40)])
def test_one_class_a_run_is_clopper_pearson(hits, runs):
    p, low, high = clustered_interval([1] * hits + [0] * (runs - hits), [1] * runs)
    assert p == hits / runs
    assert (low, high) == pytest.approx(clopper_pearson(hits, runs), abs=1e-12)


@looping(("hits", "runs"), [(0, 5), (2, 6), (6, 6)])
def test_classes_that_are_all_alike_count_as_one(hits, runs):
    one_each = clustered_interval([1] * hits + [0] * (runs - hits), [1] * runs)
    assert clustered_interval([10] * hits + [0] * (runs - hits), [10] * runs) == pytest.approx(one_each)


def test_runs_that_all_agree_are_at_most_as_many_trials_as_classes():
    p, low, high = clustered_interval([3, 3, 3, 3], [10, 10, 10, 10])
    assert p == 0.3
    assert (low, high) == pytest.approx(clopper_pearson(12, 40))


def test_one_run_says_nothing_of_others():
    assert clustered_interval([7], [10])[2] > 0.97
    assert clustered_interval([7], [10])[1] < 0.03


@looping(("p", "correlation"), [(0.1, 0.0), (0.3, 0.3), (0.5, 0.9), (0.9, 0.1)])
def test_the_interval_contains_the_true_fraction_as_often_as_it_says(p, correlation):
    """Against beta-binomial classes, whose correlation within a run is 1 / (a + b + 1)."""
    rng, runs, k, draws = np.random.default_rng(1), 8, 10, 400
    hit = 0
    for _ in range(draws):
        share = np.full(runs, p)
        if correlation:
            size = 1.0 / correlation - 1.0
            share = rng.beta(p * size, (1.0 - p) * size, runs)
        _, low, high = clustered_interval(rng.binomial(k, share).tolist(), [k] * runs)
        hit += low <= p <= high
    assert hit >= 0.93 * draws


def test_runs_that_agree_in_part_are_as_many_trials_as_their_variance_says():
    """p = 0.85, v = 6 / 5 * 13.5 / 60^2 = 0.0045, p (1 - p) / v = 28.33; quantiles of Student's t 2.0010 (59) and 2.5706 (5 degrees of freedom)."""
    trials = 0.85 * 0.15 / 0.0045 * (2.0010 / 2.5706) ** 2
    _, low, high = clustered_interval([6, 10, 9, 7, 10, 9], [10] * 6)
    assert (low, high) == pytest.approx(clopper_pearson(0.85 * trials, trials), abs=1e-4)


def test_classes_taken_for_independent_would_be_too_sure():
    """What the interval is for: the plain one misses the true fraction far too often at this correlation."""
    rng, runs, k, draws, p, size = np.random.default_rng(2), 8, 10, 400, 0.5, 1.0
    plain = 0
    for _ in range(draws):
        hits = int(rng.binomial(k, rng.beta(p * size, (1.0 - p) * size, runs)).sum())
        low, high = clopper_pearson(hits, runs * k)
        plain += low <= p <= high
    assert plain < 0.8 * draws
