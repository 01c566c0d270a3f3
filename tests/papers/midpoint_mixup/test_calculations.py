"""Calculations A.6 to A.10 hold on states of a run, and not with another activation."""

from dataclasses import replace

import numpy as np
import pytest

import mvsim
from mvsim.multi_view.activations.smoothed_relu import smoothed_relu_derivative
from mvsim.papers.midpoint_mixup.calculations.calculations import (
    CALCULATIONS,
    calculations,
    erm_gradient,
    linear_correlation,
    midpoint_gradient,
    network_gradient,
    other_correlations,
    own_correlation,
)
from mvsim.papers.midpoint_mixup.calculations.explicit_patches import IDENTITY, Sample
from mvsim.papers.midpoint_mixup.controls import linear_slope, softer_slope, unclipped_slope
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.runs.run import Run

IDENTITIES = [step.check for step in CALCULATIONS.values() if step.check is not other_correlations]


@pytest.fixture(scope="module")
def run():
    """A short run, its final state replaced by one with dead, polynomial and linear neurons."""
    p = mvsim.Parameters(k=3, m=4, N=12, G=4, P=10, d=300, delta3=0.02, delta4=0.05)
    made = mvsim.simulate(p, "midpoint", t_end=50.0, n_test=2)
    return with_final(made, state(p))


def state(p):
    rng = np.random.default_rng(5)
    c = p.rho * 10 ** rng.uniform(-2.5, 0.0, (p.k, p.m, p.k, 2)) * rng.choice([-1.0, 1.0], (p.k, p.m, p.k, 2), p=[0.3, 0.7])
    for y in range(p.k):
        c[y, 0, y], c[y, 1, y, 1] = [4.0, 3.5], 5.0
    return c


def with_final(run, c):
    return Run(run.dataset.assign(final_correlations=(run.dataset["final_correlations"].dims, c)), run.provenance)


def slightly_off(z, rho, alpha):
    return (1.0 + 1e-11) * smoothed_relu_derivative(z, rho, alpha)


@pytest.mark.parametrize("form", ["as drawn", "as patches"])
def test_identities_hold(run, form):
    data = mvsim.sample_dataset(run.parameters, run.seed)
    data = data if form == "as drawn" else mvsim.Dataset.from_patches(data.labels, data.to_patches())
    verdicts = calculations(Evidence(run, data))
    assert [verdict.status for verdict in verdicts] == ["holds", "holds", "measured", "holds", "holds", "holds"]
    assert [verdict.name for verdict in verdicts] == list(CALCULATIONS)
    assert all(verdict.measured < 0.1 * IDENTITY for verdict in verdicts if verdict.status == "holds")
    assert all(type(verdict.measured) is float for verdict in verdicts)


@pytest.mark.parametrize("check", IDENTITIES, ids=lambda check: check.__name__)
def test_a_slope_that_is_off_by_a_hundred_thousand_millionth_is_found(run, check):
    assert check(Evidence(run), slope=slightly_off).status == "fails"


@pytest.mark.parametrize("check", [check for check in IDENTITIES if check is not linear_correlation], ids=lambda check: check.__name__)
@pytest.mark.parametrize("slope", [unclipped_slope, linear_slope])
def test_another_activation_is_found(run, check, slope):
    """In the linear regime these are the same, so A.8 cannot tell them."""
    assert check(Evidence(run), slope=slope).status == "fails"


def test_calculations_of_one_regime_need_neurons_in_it(run):
    p = run.parameters
    small = replace(Evidence(with_final(run, np.full((p.k, p.m, p.k, 2), 0.01 * p.rho))))
    assert linear_correlation(small).status == "not applicable"
    assert own_correlation(small).status == "holds"
    c = np.full((p.k, p.m, p.k, 2), 20.0 * p.rho)
    dataset = run.dataset.assign(correlations=run.dataset["correlations"] * 0.0 + 20.0 * p.rho)
    large = Evidence(with_final(Run(dataset, run.provenance), c))
    assert linear_correlation(large).status == "holds"
    assert own_correlation(large).status == "not applicable"
    assert other_correlations(large).measured is None


def test_the_saved_state_before_the_final_one_is_checked_too(run):
    """A slope that is wrong for linear neurons, which only the earlier of the two states has."""
    p = run.parameters
    small = np.full((p.k, p.m, p.k, 2), 0.1 * p.rho)
    for saved, status in ((small, "holds"), (state(p), "fails")):
        dataset = run.dataset.assign(correlations=run.dataset["correlations"] * 0.0 + saved)
        assert network_gradient(Evidence(with_final(Run(dataset, run.provenance), small)), slope=softer_slope).status == status


def test_the_constant_of_other_features_by_hand(run):
    """All off-diagonal correlations equal: the 2 Q features of a patch of noise add up to at most 2 Q delta4 c."""
    p = run.parameters
    dataset = run.dataset.assign(correlations=run.dataset["correlations"] * 0.0 - 1.0)
    verdict = other_correlations(Evidence(with_final(Run(dataset, run.provenance), np.full((p.k, p.m, p.k, 2), 0.1 * p.rho))))
    data, expected = Evidence(run).data, 0.0
    for i in range(6):
        pattern = data.patterns[data.pattern_index[i]]
        value = (p.P - 2 * p.C_P) * pattern.max() * (0.1 * pattern.sum()) ** (p.alpha - 1)
        expected = max(expected, value / (p.P * p.delta4**p.alpha * 0.1 ** (p.alpha - 1)))
    assert verdict.measured == pytest.approx(expected, rel=1e-12)
    assert 1.0 < verdict.measured < verdict.bound == (2 * p.Q) ** (p.alpha - 1)


def test_a_gradient_that_is_no_number_is_no_identity(monkeypatch):
    run = mvsim.simulate(mvsim.Parameters(k=3, N=4), "erm", integrator="gd", t_end=18.0, n_test=2)
    for name in ("engine_gradients", "engine_losses"):
        true = getattr(Sample, name)
        monkeypatch.setattr(Sample, name, lambda sample, which, true=true: [gradient * np.nan for gradient in true(sample, which)])
    identities = [v for v in calculations(Evidence(run)) if v.bound == IDENTITY and v.status != "not applicable"]
    assert len(identities) >= 4
    assert {v.status for v in identities} == {"fails"}


def scaled_engine(monkeypatch, factor):
    true = Sample.engine_losses
    monkeypatch.setattr(Sample, "engine_losses", lambda sample, name: [factor * gradient for gradient in true(sample, name)])


@pytest.mark.parametrize("strength", [1.0, 100.0, 1e4])
@pytest.mark.parametrize("check", [erm_gradient, midpoint_gradient])
def test_round_off_of_large_outputs_is_counted_and_no_more(check, strength, monkeypatch):
    """All classes of every point have outputs of this order, and nearly the same: phi is far from 0 and 1, and takes up all of their round-off."""
    p = mvsim.Parameters(k=3, m=2, N=6, G=4, P=10)
    run = mvsim.simulate(p, "midpoint", t_end=1.0, integrator="gd", eta=1.0, n_test=2)
    rng = np.random.default_rng(0)
    c = strength + 0.1 * rng.standard_normal((1, 1, p.k, 2)) + 0.01 * rng.standard_normal((p.k, p.m, p.k, 2)) / strength
    evidence = Evidence(with_final(run, c))
    assert evidence.objective.outputs(c).max() > strength
    assert check(evidence).status == "holds"
    scaled_engine(monkeypatch, 1.0 + 1e-6)
    assert check(evidence).status == "fails"


def test_the_gap_of_two_points_of_one_class_counts_with_its_target():
    """1 - phi is 1e-9 or less; the engine takes it from sums over all partners of a point."""
    p = mvsim.Parameters(k=3, N=1)
    run = mvsim.simulate(p, "midpoint", t_end=1.0, integrator="gd", eta=1.0, n_test=2)
    y, c = int(mvsim.sample_dataset(p, 0).labels[0]), np.zeros((p.k, p.m, p.k, 2))
    c[y, 0, y, 0] = 20.0
    evidence = Evidence(with_final(run, c))
    assert 0.0 < evidence.objective.loss(c) < 1e-9
    assert midpoint_gradient(evidence).status == erm_gradient(evidence).status == "holds"


def test_round_off_of_a_pre_activation_that_cancels_is_no_error(run):
    """One point whose patches of noise all but cancel, so that what is left of them is round-off; the neuron is dead on everything else."""
    drawn = mvsim.sample_dataset(run.parameters, run.seed)
    point = mvsim.Dataset.from_patches(drawn.labels[:1], drawn.to_patches()[:1])
    patches = point.to_patches()[0]
    noise = patches[patches[:, drawn.labels[0]].sum(axis=1) == 0.0][0]
    c, used = np.zeros((3, 4, 3, 2)), np.argwhere(noise > 0.0)
    c[0, 0] = -400.0
    for (s, view), value in zip(used, np.random.default_rng(0).uniform(-400.0, 400.0, len(used)), strict=True):
        c[0, 0, s, view] = value
    s, view = used[0]
    c[0, 0, s, view] -= ((noise * c[0, 0]).sum() - 1e-7) / noise[s, view]
    evidence = Evidence(with_final(run, c), point)
    assert network_gradient(evidence).status == "holds"
    assert Sample(evidence, c, point.labels, point.to_patches()).network_gradient(point.to_patches()[0], smoothed_relu_derivative)[1].max() > 0.0
