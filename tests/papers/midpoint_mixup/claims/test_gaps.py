"""Claims B.21 to B.25, about gaps between views, against their formulas."""

import re
from dataclasses import replace

import numpy as np
import pytest
from altered_runs import at_state, check, learned, pair_outputs, softmax, without_noise
from compare import assert_components_close
from scipy.special import stdtrit
from tolerances import FEW_OPERATIONS

from mvsim.multi_view.activations.smoothed_relu import smoothed_relu_derivative
from mvsim.papers.midpoint_mixup.claims import gaps
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.evidence.mixed_points import MixedPoints


def naive_gradient(evidence, c, y, r, view):
    """-<grad_{w_{y,r}} J_MM, v_{y,view}> by loops over pairs (Calculation A.10)."""
    p, x, labels, outputs = evidence.parameters, evidence.data.to_patches(), evidence.data.labels, pair_outputs(evidence, c)
    total = 0.0
    for i in range(p.N):
        for j in range(p.N):
            z = 0.5 * (x[i] + x[j])
            slope = smoothed_relu_derivative((z * c[y, r]).sum(axis=(1, 2)), p.rho, p.alpha)
            total += (float(labels[i] == y) + float(labels[j] == y) - 2 * softmax(outputs[i, j])[y]) * (slope * z[:, y, view]).sum()
    return total / (2 * p.N**2)


def naive_expectation(evidence, c, y, s, lead, patch=None):
    """Mean of A_1 (beta - its mean) over i in N_y, j in N_s, for the sum over patches or for one."""
    p, labels, outputs = evidence.parameters, evidence.data.labels, pair_outputs(evidence, c)
    found = []
    for i in range(p.N):
        for j in range(p.N):
            if labels[i] == y and labels[j] == s:
                beta = evidence.data.signal_coefficients[i, lead]
                centred = beta.sum() - p.C_P * p.delta2 / 2 if patch is None else beta[patch] - p.delta2 / 2
                found.append((1 - 2 * softmax(outputs[i, j])[y]) * centred)
    return np.mean(found)


UNEVEN = np.array([[1.0, 9.0], [6.0, 6.0], [8.0, 6.0], [6.0, 6.5]])
"""Sizes of the neurons of four classes; active are those from 2 rho / delta1 = 5 on, so C_{0,1} = 0."""


TOTALS = np.where(UNEVEN >= 5.0, UNEVEN, 0.0)


def pairs_ahead(evidence):
    """The pairs of classes (y, s) that the claims are about at sizes `UNEVEN`, each with the view that leads in y."""
    measure = gaps.gaps(evidence, evidence.snapshots[-1]).measure
    return [(y, s, lead) for y, lead in ((0, 1), (2, 0)) for s in range(4) if measure[y, s] >= 0.01]


def test_expectations_of_the_gap_by_loops(midpoint, monkeypatch):
    c = learned(midpoint.parameters, UNEVEN)
    evidence = at_state(midpoint, c)
    names = ("Claim B.22", "Corollary B.23")
    whole, patches = (check(name, evidence) for name in names)
    ahead = pairs_ahead(evidence)
    assert whole.measured == pytest.approx(max(naive_expectation(evidence, c, *each) for each in ahead), rel=1e-10)
    assert patches.measured == pytest.approx(max(naive_expectation(evidence, c, *each, patch) for each in ahead for patch in (0, 1)), rel=1e-10)
    assert f"{len(ahead)} pairs of classes" in whole.detail
    assert whole.measured < 0.0
    assert whole.violated_at is None
    assert whole.status == "inconclusive"  # of a class of few points
    assert f"violated by 0 of {len(ahead)}" in whole.detail
    turned = at_state(midpoint, c, replace(evidence.data, signal_coefficients=evidence.data.signal_coefficients[:, ::-1]))
    assert check("Claim B.22", turned).measured != whole.measured
    monkeypatch.setattr(gaps, "LEVEL", 0.5)  # every sign counts
    assert check("Claim B.22", evidence).status == "holds"


@pytest.mark.parametrize("name", ["Claim B.22", "Corollary B.23"])
def test_outputs_that_grow_with_the_lagging_view_contradict_the_signs(midpoint, monkeypatch, name):
    """The outputs are those of a network in which the other view of each class leads; classes have few points, so that signs are told by a level
    at which chance may give one."""
    evidence, turned = at_state(midpoint, learned(midpoint.parameters, UNEVEN)), learned(midpoint.parameters, UNEVEN[:, ::-1])
    of_network = Evidence.pairs_of_class
    monkeypatch.setattr(Evidence, "pairs_of_class", lambda self, snapshot, y: of_network(self, snapshot._replace(c=turned), y))
    monkeypatch.setattr(gaps, "LEVEL", 0.5)
    verdict = check(name, evidence)
    assert verdict.measured > 0.0
    assert verdict.status == "contradicted"
    assert re.search(r"violated by [1-9]\d* of", verdict.detail)
    monkeypatch.setattr(gaps, "LEVEL", 1e-12)
    within = check(name, evidence)
    assert within.status == "inconclusive"
    assert re.search(r"violated by 0 of \d+ pairs of classes, [1-9]\d* without a sign within the error", within.detail)


def test_the_sign_of_a_mean_is_told_by_the_t_distribution():
    mean = gaps.Mean.of(np.array([[1.0, -1.0], [3.0, -3.0]]), 0.0)
    assert (mean.values.tolist(), mean.errors.tolist()) == ([2.0, -2.0], [1.0, 1.0])
    beyond = np.tan(np.pi * (0.5 - 0.1))  # the upper tenth of a Cauchy distribution, which t is with one degree of freedom
    assert beyond > 2.0
    assert not mean.has_sign(1.0, 0.1).any()
    assert mean.has_sign(1.0, 0.15).tolist() == [True, False]
    assert mean.has_sign(-1.0, 0.15).tolist() == [False, True]
    assert not gaps.Mean.of(np.array([[5.0]]), 0.0).has_sign(1.0, 0.49).any()


def loudness(run, off):
    """Evidence of a run whose classes answer to features of others by ``off``, and the largest output of a third class on midpoints of each pair."""
    c = learned(run.parameters, UNEVEN, off)
    evidence = at_state(run, c)
    labels, outputs = evidence.data.labels, pair_outputs(evidence, c)
    most = {}
    for y, s, lead in pairs_ahead(evidence):
        most[y, s, lead] = max(outputs[labels == y][:, labels == s, u].max() for u in range(4) if u not in (y, s))
    return evidence, c, most


def test_expectations_are_about_pairs_on_which_no_third_class_has_an_output(midpoint):
    """Other correlations are raised until a third class is louder than log k / k on midpoints of two classes; then of all of them."""
    limit, inside, outside = np.log(4) / 4, 0.0, 1.0
    for _ in range(15):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if max(loudness(midpoint, middle)[2].values()) <= limit else (inside, middle)
    for off, some_are_loud in ((inside, False), (outside, True)):
        evidence, c, loud = loudness(midpoint, off)
        assert max(loud.values()) == pytest.approx(limit, rel=2e-3)
        quiet = [pair for pair, most in loud.items() if most <= limit]
        beyond = len(loud) - len(quiet)
        assert quiet
        assert (beyond > 0) == some_are_loud
        whole, patches = check("Claim B.22", evidence), check("Corollary B.23", evidence)
        assert whole.measured == pytest.approx(max(naive_expectation(evidence, c, *pair) for pair in quiet), rel=1e-10)
        assert patches.measured == pytest.approx(max(naive_expectation(evidence, c, *pair, patch) for pair in quiet for patch in (0, 1)), rel=1e-10)
        for verdict in (whole, patches):
            assert f"violated by 0 of {len(quiet)} pairs of classes" in verdict.detail
            assert f"{beyond} more with other outputs beyond 1 log k / k" in verdict.detail
    evidence, _, loud = loudness(midpoint, 4.0)
    assert min(loud.values()) > limit
    for name in ("Claim B.22", "Corollary B.23"):
        verdict = check(name, evidence)
        assert (verdict.status, verdict.measured) == ("not applicable", None)
        assert f"in all {len(loud)} pairs of classes" in verdict.detail


@pytest.mark.parametrize(("name", "of_pair"), [("Claim B.22", 1), ("Corollary B.23", 2)])
@pytest.mark.parametrize(
    ("sign", "chance", "shared", "status"),
    [
        (1.0, 0.00099, True, "contradicted"),
        (1.0, 0.00101, True, "inconclusive"),
        (1.0, 0.00099, False, "inconclusive"),
        (-1.0, 0.00099, False, "holds"),
        (-1.0, 0.00101, False, "inconclusive"),
    ],
)
def test_signs_contradict_with_a_chance_of_a_thousandth_in_all_tests_together(midpoint, monkeypatch, name, of_pair, sign, chance, shared, status):
    """Every mean has this sign by the chance, or by its part of it where all tests share it: 1 - 2 phi_y are made up, and all beta equal."""
    evidence, p = at_state(midpoint, learned(midpoint.parameters, UNEVEN)), midpoint.parameters
    monkeypatch.setattr(gaps, "leading_coefficients", lambda evidence, lead: np.full((p.N, p.C_P), p.delta2))
    tests = len(pairs_ahead(evidence)) * of_pair

    def made_up(self, snapshot, y):
        points = int((self.data.labels == y).sum())
        around = np.linspace(-1.0, 1.0, points)
        error = around.std(ddof=1) / points**0.5
        mean = sign * stdtrit(points - 1, 1.0 - chance / (tests if shared else 1)) * error
        balance = np.repeat(0.01 * (mean + around), p.N)
        zero = np.zeros_like(balance)
        return MixedPoints(zero.astype(int) + y, np.tile(self.data.labels, points), zero, zero, zero, 2.0 * np.arctanh(balance))

    monkeypatch.setattr(Evidence, "pairs_of_class", made_up)
    verdict = check(name, evidence)
    assert verdict.status == status
    assert tests > 3


def test_expectations_need_a_gap_and_a_class_to_be_ahead_of(midpoint):
    p = midpoint.parameters
    even, behind = learned(p, (6.0, 6.0)), UNEVEN.copy()
    behind[0] = [0.0, 6.0]
    behind[1:] = 40.0
    for name in ("Claim B.22", "Corollary B.23"):
        assert check(name, at_state(midpoint, even)).measured is None
        verdict = check(name, at_state(midpoint, learned(p, behind)))
        assert verdict.measured is None
        assert "alone in 1" in verdict.detail


def test_the_measure_of_the_set_by_loops(midpoint):
    c = learned(midpoint.parameters, UNEVEN)
    evidence = at_state(midpoint, c)
    p, labels = midpoint.parameters, evidence.data.labels
    found = gaps.gaps(evidence, evidence.snapshots[-1])
    np.testing.assert_array_equal(found.lead, [1, 0, 0, 1])
    assert_components_close(found.Delta, [9.0, 0.0, 2.0, 0.5], FEW_OPERATIONS, 0)
    sums = TOTALS.sum(axis=1)
    beta = [evidence.data.signal_coefficients[i, found.lead[y]].sum() - 1.0 for i, y in enumerate(labels)]
    for y in range(4):
        for s in range(4):
            pairs = [(a, b) for a, u in zip(beta, labels, strict=True) if u == y for b, w in zip(beta, labels, strict=True) if w == s]
            inside = [a >= 0 and b * found.Delta[s] - (sums[y] - sums[s]) * p.C_P * p.delta2 / 2 <= a * found.Delta[y] for a, b in pairs]
            assert found.measure[y, s] == pytest.approx(np.mean(inside) if s != y else 0.0, rel=FEW_OPERATIONS)


def test_without_noise_the_linear_difference_is_its_expectation_form(midpoint):
    c = learned(midpoint.parameters, UNEVEN)
    evidence = at_state(midpoint, c, without_noise(midpoint))
    for y in (1, 2, 3):
        Psi, form = gaps.linear_pulls(evidence, evidence.snapshots[-1], y)
        assert Psi == pytest.approx(form, rel=1e-10)
        lead = int(UNEVEN[y].argmax())
        by_loops = naive_gradient(evidence, c, y, lead, lead) - naive_gradient(evidence, c, y, 1 - lead, 1 - lead)
        assert Psi == pytest.approx(by_loops, rel=1e-10)


def test_the_error_term_of_the_linear_difference_is_what_noise_does(midpoint):
    p = midpoint.parameters
    c = learned(p, (6.0, 5.5))
    evidence = at_state(midpoint, c)
    pulls = [gaps.linear_pulls(evidence, evidence.snapshots[-1], y) for y in range(4)]
    expected = max((Psi - form) / max(abs(Psi), abs(form)) for Psi, form in pulls)
    verdict = check("Claim B.21", evidence)
    assert verdict.measured == pytest.approx(expected, rel=FEW_OPERATIONS)
    assert f"{expected * p.N**0.5:.3g} N^(-1/2)" in verdict.detail
    assert max(abs(Psi - form) / abs(form) for Psi, form in pulls) > 1e-6
    assert check("Claim B.21", at_state(midpoint, learned(p, (6.0, 0.0)))).measured is None


def test_the_pull_on_a_lagging_view_by_loops(midpoint):
    p = midpoint.parameters
    C = np.array([[30.0, 0.05], [6.0, 6.0], [6.0, 6.0], [6.0, 6.0]])
    c = learned(p, C)
    evidence = at_state(midpoint, c)
    assert naive_gradient(evidence, c, 0, 0, 0) < 0  # (B.44) does not hold: nothing is claimed
    assert check("Claim B.24", evidence).measured is None
    assert "1 with Delta_y >= log k do not satisfy (B.44)" in check("Claim B.24", evidence).detail
    C[0] = [5.5, 0.05]
    c = learned(p, C)
    evidence = at_state(midpoint, c)
    pull, leader = naive_gradient(evidence, c, 0, 1, 1), naive_gradient(evidence, c, 0, 0, 0)
    assert leader > 0
    verdict = check("Claim B.24", evidence)
    assert verdict.measured == pytest.approx(pull * (p.rho / 0.05) ** 7 * 16, rel=1e-9)
    assert verdict.measured > 0
    C[0, 1] = -0.05
    assert check("Claim B.24", at_state(midpoint, learned(p, C))).measured is None


def test_the_rate_at_which_gradients_fall_does_not_depend_on_the_step(midpoint, monkeypatch):
    """Measured is a rate over lambda: steps a hundred times as long tell the same up to their own length."""
    c = learned(midpoint.parameters, (3.0, 0.2))
    usual = check("Claim B.25", at_state(midpoint, c))
    assert usual.measured == pytest.approx(max(_falls_by_differences(midpoint, c)), rel=0.01)
    monkeypatch.setattr(gaps, "SHORT", 1e-5)
    assert check("Claim B.25", at_state(midpoint, c)).measured == pytest.approx(usual.measured, rel=0.01)
    assert usual.bound is None


def _falls_by_differences(run, c):
    """The largest -d ln <-grad J, v> / dt over lambda at each late state, from the gradient at two states along the flow."""
    evidence = at_state(run, c)
    recorded = evidence.sharpness[np.isfinite(evidence.sharpness)].max()
    for snapshot in evidence.late_snapshots:
        g = evidence.gradient(snapshot)
        H = evidence.objective.hessian_vector_product(snapshot.c, g)
        scale = max(recorded, np.linalg.norm(H) / np.linalg.norm(g))
        pull, turn = (np.einsum("yryl->yrl", a) for a in (-g, H))  # d(-g)/dt = H g along the flow
        counted = pull > 1e-12 * np.abs(pull).max()
        yield (-turn[counted] / pull[counted]).max() / scale
