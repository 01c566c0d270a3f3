"""Claims B.26 to B.28, about boundedness, against their formulas."""

import numpy as np
import pytest
from altered_runs import altered, at_state, check, learned
from tolerances import CENTRAL_DIFFERENCE, CENTRAL_DIFFERENCE_STEP, FEW_OPERATIONS

from mvsim.verification.evidence.evidence import Evidence


def test_own_correlations_only_grow(midpoint, monkeypatch):
    T = len(midpoint.dataset.time)
    own = np.broadcast_to(np.linspace(0.1, 10.0, T)[:, None, None, None], (T, 4, 4, 2)).copy()
    own[30:, 2, 1, 0] = 0.8 * own[29, 2, 1, 0]
    evidence = altered(midpoint, own_correlations=own)
    gradients = {snapshot.step: np.full_like(snapshot.c, -1.0) for snapshot in evidence.snapshots}
    monkeypatch.setattr(Evidence, "gradient", lambda self, snapshot: gradients[snapshot.step])
    verdict = check("Claim B.26", evidence)
    assert (verdict.status, verdict.measured) == ("holds", pytest.approx(0.2, rel=1e-12))  # what decides is the sign, whatever the records say
    then = evidence.snapshots[2]
    gradients[then.step][1, 3, 1, 0] = 1e-13  # rounding
    gradients[then.step][1, 3, 2, 0] = 1.0  # no own feature
    assert check("Claim B.26", evidence).status == "holds"
    gradients[then.step][2, 1, 2, 0] = 1e-11
    verdict = check("Claim B.26", evidence)
    assert (verdict.status, verdict.violated_at) == ("contradicted", then.time)
    positive = int(then.c[2, 1, 2, 0] > 0.0)
    states = f"in 1 classes at some of {len(evidence.snapshots)} saved states; {positive} of the correlations are above 0 there"
    assert f"violated by 1 of 32 own correlations; {states}" in verdict.detail
    assert "of those that enter B_(y,l) 0 of 31, whose correlations fall by 0 at most; at the end 0" in verdict.detail


def test_correlations_along_which_the_loss_rises_at_the_end_are_counted(midpoint):
    c = learned(midpoint.parameters, [[20.0, 18.0], [0.7, 0.6], [0.5, 0.6], [0.6, 0.8]])  # the largest class is ahead on pairs with any other
    evidence, slopes = at_state(midpoint, c), []
    for y, r, view in np.ndindex(4, c.shape[1], 2):
        step = np.zeros_like(c)
        step[y, r, y, view] = CENTRAL_DIFFERENCE_STEP
        slopes.append((evidence.objective.loss(c + step) - evidence.objective.loss(c - step)) / (2.0 * CENTRAL_DIFFERENCE_STEP))
    rising, falling = ((sign * np.array(slopes) > CENTRAL_DIFFERENCE * np.abs(slopes).max()).sum() for sign in (1, -1))
    assert 0 < rising < falling
    assert f"at the end {rising} gradient correlations are negative" in check("Claim B.26", evidence).detail


def test_totals_are_bounded_and_end_large(midpoint):
    T, log_k = len(midpoint.dataset.time), np.log(4)
    total = np.zeros((T, 4, 2))
    total[40:] = 2.0 * log_k
    total[50, 3, 1] = 7.0 * log_k
    total[60:, 1, 0] = 0.6 * log_k
    evidence = altered(midpoint, total_correlation=total)
    assert check("Claim B.27", evidence).measured == pytest.approx(7.0, rel=FEW_OPERATIONS)
    final = check("Claim B.28 (final)", evidence)
    assert (final.measured, final.bound) == (pytest.approx(0.6, rel=FEW_OPERATIONS), 0.5)
    expected = np.log(float(midpoint.dataset["time"][40])) / log_k
    assert check("Claim B.28 (time)", evidence).measured == pytest.approx(expected, rel=FEW_OPERATIONS)
    total[45, 2, 0] = 0.4 * log_k  # not from then on
    expected = np.log(float(midpoint.dataset["time"][46])) / log_k
    assert check("Claim B.28 (time)", altered(midpoint, total_correlation=total)).measured == pytest.approx(expected, rel=FEW_OPERATIONS)
    total[-1, 0, 0] = 0.0
    worse = altered(midpoint, total_correlation=total)
    assert check("Claim B.28 (time)", worse).measured is None
    assert check("Claim B.28 (final)", worse).margin == -1.0
