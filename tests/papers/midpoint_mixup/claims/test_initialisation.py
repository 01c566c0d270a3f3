"""Claims B.1, B.10 and B.14, about the start, against their formulas."""

from dataclasses import replace

import numpy as np
import pytest
from altered_runs import altered, check, with_leaders
from tolerances import FEW_OPERATIONS

from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence


def test_class_sizes(erm):
    evidence = Evidence(erm)
    sizes = [sum(label == y for label in evidence.data.labels) for y in range(4)]
    assert check("Claim B.1 (class sizes)", evidence).measured == pytest.approx(min(sizes) * 4 / 40, rel=FEW_OPERATIONS)
    merged = replace(evidence.data, labels=np.where(evidence.data.labels == 0, 1, evidence.data.labels))
    assert check("Claim B.1 (class sizes)", Evidence(erm, merged)).measured == 0.0


def test_initial_correlations(run):
    p, c = run.parameters, np.full(run.dataset["correlations"].shape, 0.01)
    c[0, 1, 1, 2, 0] = 0.5
    evidence = altered(run, correlations=c)
    verdict = check("Claim B.1 (largest correlation)", evidence)
    assert verdict.measured == pytest.approx(0.5 * p.d**0.5 / np.log(4), rel=FEW_OPERATIONS)
    assert verdict.bound == pytest.approx(3 * (2 * np.log(4)) ** 0.5 / np.log(4), rel=FEW_OPERATIONS)
    assert verdict.violated_at == 0.0
    assert check("Claim B.1 (largest correlation)", altered(run, correlations=0.2 * c)).violated_at is None


def test_the_least_leader(run):
    leaders = run.dataset["max_correlation"].values.copy()
    leaders[0] = 0.3
    leaders[0, 2, 1] = 0.01
    leaders[1:] = -5.0  # later records do not matter
    verdict = check("Claim B.1 (own correlation)", altered(run, max_correlation=leaders))
    assert verdict.measured == pytest.approx(0.01 * run.parameters.d**0.5, rel=FEW_OPERATIONS)
    assert "class 2, view 2" in verdict.detail


def test_positive_correlations_are_counted_neuron_by_neuron(midpoint):
    c = np.full(midpoint.dataset["correlations"].shape, 0.1)
    c[0, 3, 2] = -0.1
    c[0, 3, 2, 1, 1] = 0.2
    assert check("Claim B.14 (positive correlations)", altered(midpoint, correlations=c)).measured == 1 / 8


def test_separation_by_hand(run):
    evidence = Evidence(run)
    S, power = evidence.signal_strength, 1 / (run.parameters.alpha - 2)
    margin = 1 + 1 / np.log(4) ** 2
    leaders = np.ones((4, 2))
    leaders[0, 1] = margin * 1.01 * (S[0, 0] / S[0, 1]) ** power  # just beyond
    leaders[1, 1] = margin * 0.99 * (S[1, 0] / S[1, 1]) ** power  # just not
    leaders[2, 1] = -1.0  # the only one that grows
    leaders[3, 1] = (S[3, 0] / S[3, 1]) ** power  # a tie
    found = with_leaders(run, leaders)
    verdict = check("Claim B.10 (separation)", found)
    assert "2 of 4 classes separated" in verdict.detail
    assert verdict.measured == pytest.approx(0.5 * np.log(4), rel=FEW_OPERATIONS)


def test_the_view_that_is_ahead_has_to_win(run):
    name = "Claim B.10 (winner)" if run.method == "erm" else "Claim B.10 (winner, mixing)"
    leaders = np.array([[3.0, 1.0], [1.0, 3.0], [3.0, 1.0], [3.0, 1.0]])
    first = np.full((4, 4, 2), np.nan)
    for y, view in enumerate([0, 1, 0, 0]):
        first[y, 1, view], first[y, 2, 1 - view] = 5.0, 7.0

    def verdict_on(time, step):
        return check(name, with_leaders(run, leaders, entry_time=time, entry_step=np.where(np.isnan(step), -1, step).astype(np.int64)))

    verdict = verdict_on(first, first)
    assert (verdict.status, verdict.measured) == ("measured", 1.0)
    assert verdict_on(0.0 * first + 1e50, first).measured == 1.0  # at the same time to double precision, steps apart
    assert verdict_on(first, 0.0 * first).measured == 1.0  # within the same step
    first[0] = first[0, :, ::-1].copy()
    assert verdict_on(first, first).measured == 0.75
    first[1:] = first[1:, :, ::-1].copy()
    verdict = verdict_on(first, first)
    assert (verdict.status, verdict.measured) == ("measured", 0.0)
    verdict = verdict_on(first * np.nan, first * np.nan)
    assert (verdict.status, verdict.measured) == ("not applicable", None)
