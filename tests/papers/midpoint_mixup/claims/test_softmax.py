"""Claims B.2, B.3 and B.9, about the softmax on points, against their formulas."""

import numpy as np
import pytest
from altered_runs import altered, at_state, check, learned, softmax, without_noise
from tolerances import FEW_OPERATIONS

from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.runs.run import Run


def test_softmax_claims_on_points_by_loops(erm):
    evidence = Evidence(erm)
    gap, wrong, total = [], [], []
    for snapshot in evidence.snapshots:
        outputs = evidence.outputs(snapshot)
        for i, y in enumerate(evidence.data.labels):
            g, phi = outputs[:, i], softmax(outputs[:, i])
            a = g[y] / np.log(4)
            others = [s for s in range(4) if s != y]
            if a > 1:
                gap.append(sum(phi[s] for s in others) * 4 ** (a - 1))
            wrong.append(max(phi[s] for s in others) * 4 ** max(a, 1))
            total.append(sum(np.exp(g[s]) for s in others) - 3)
    assert check("Claim B.2", evidence).measured == pytest.approx(max(gap), rel=1e-10)
    assert check("Corollary B.3", evidence).measured == pytest.approx(max(wrong), rel=1e-10)
    assert check("Corollary B.9", evidence).measured == pytest.approx(max(total), rel=1e-10)


def test_softmax_claims_on_points_when_other_outputs_vanish(erm):
    p, data = erm.parameters, without_noise(erm)
    start = np.zeros_like(erm.dataset["correlations"].values)
    evidence = at_state(erm, learned(p, (3.0, 0.0)), data)
    evidence = altered(Run(evidence.run.dataset.assign(correlations=(evidence.run.dataset["correlations"].dims, start[:1])), erm.provenance), data)
    assert check("Corollary B.9", evidence).measured == pytest.approx(0.0, abs=FEW_OPERATIONS)
    assert 0.5 < check("Claim B.2", evidence).measured < 0.75  # (k - 1) / k at most
    assert check("Claim B.2", evidence).violated_at is None
    assert check("Corollary B.3", evidence).measured <= 1.0 + FEW_OPERATIONS


def test_a_class_that_speaks_on_others_breaks_softmax_claims(erm):
    p, data = erm.parameters, without_noise(erm)
    c = learned(p, (12.0, 12.0))
    spoilt = c.copy()
    spoilt[1, 2, 0, :] = 6.0  # a neuron of class 1 that reads class 0
    good, bad = (at_state(erm, state, data) for state in (c, spoilt))
    for name in ("Claim B.2", "Corollary B.3", "Corollary B.9"):
        assert check(name, bad).measured > 10 * max(check(name, good).measured, 1.0)
    assert check("Claim B.2", bad).violated_at == float(erm.dataset["final_time"])


@pytest.mark.parametrize("size", [600.0, 1e4, 1e6])
def test_softmax_claims_at_outputs_beyond_every_exponential(erm, size):
    """With k - 1 other outputs of 0, (1 - phi) k^(a - 1) is (k - 1) / k however large a is."""
    p = erm.parameters
    evidence = at_state(erm, learned(p, (size, size), off=-1.0), without_noise(erm))
    outputs = evidence.outputs(evidence.snapshots[-1])
    assert outputs.max() > size
    assert np.array_equal(np.sort(outputs, axis=0)[:-1], np.zeros((p.k - 1, p.N)))
    assert check("Claim B.2", evidence).measured == pytest.approx(1 - 1 / p.k, rel=1e-9)
    assert check("Corollary B.3", evidence).measured == pytest.approx(1.0, rel=1e-3)
    assert check("Corollary B.9", evidence).measured < 1.0


def test_a_wrong_output_beyond_every_exponential_is_infinitely_far_off(erm):
    evidence = at_state(erm, learned(erm.parameters, (2e3, 2e3), off=2e3), other_output_max=np.full((len(erm.dataset.time), 4), 2e3))
    assert [check(name, evidence).measured for name in ("Claim B.2", "Corollary B.3", "Corollary B.9")] == [np.inf] * 3
