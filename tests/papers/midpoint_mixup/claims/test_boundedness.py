"""Claims B.26 to B.28, about boundedness, against their formulas."""

import numpy as np
import pytest
from altered_runs import altered, check
from tolerances import FEW_OPERATIONS

from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.runs.run import Run


def growing(run):
    """Return (T, 4, 4, 2) own correlations that grow from 0.1 to 10."""
    T = len(run.dataset.time)
    return np.broadcast_to(np.linspace(0.1, 10.0, T)[:, None, None, None], (T, 4, 4, 2)).copy()


def test_own_correlations_in_B_only_grow(midpoint):
    own, late = growing(midpoint), -5
    own[late:, 2, 1, 0] = 0.995 * own[late - 1, 2, 1, 0]  # as little as the error of a run
    verdict = check("Corollary B.26", altered(midpoint, own_correlations=own))
    assert (verdict.status, verdict.measured, verdict.violated_at) == ("holds", pytest.approx(0.005, rel=1e-9), None)
    own[late:, 2, 1, 0] = 0.8 * own[late - 1, 2, 1, 0]
    evidence = altered(midpoint, own_correlations=own)
    verdict = check("Corollary B.26", evidence)
    assert (verdict.status, verdict.measured) == ("contradicted", pytest.approx(0.2, rel=1e-12))
    assert verdict.violated_at == evidence.times[late]
    assert "violated by 1 of 32 own correlations; in B_(y,l), in 1 classes; the gradient is negative" in verdict.detail


FLOW, DESCENT = {"name": "flow"}, {"name": "gd", "learning_rate": 0.1}


@pytest.mark.parametrize(
    ("integrator", "status"), [(FLOW | {"rtol": 1e-3}, "holds"), (FLOW | {"rtol": 1e-4}, "contradicted"), (DESCENT, "contradicted")]
)
def test_what_is_a_fall_depends_on_the_tolerance_of_the_run(midpoint, integrator, status):
    """By 0.5 %: five tolerances of the default flow, fifty of a finer one, and gradient descent has none."""
    own, late = growing(midpoint), -5
    own[late:, 2, 1, 0] = 0.995 * own[late - 1, 2, 1, 0]
    told = Run(midpoint.dataset, midpoint.provenance | {"integrator": integrator})
    assert check("Corollary B.26", altered(told, own_correlations=own)).status == status


@pytest.mark.parametrize(
    ("integrator", "allowed"), [(FLOW | {"rtol": 1e-3}, 1e-2), (FLOW | {"rtol": 1e-6}, 1e-5), (DESCENT, 1e-9)], ids=["flow", "finer", "descent"]
)
def test_a_fall_is_more_than_ten_tolerances_or_the_error_of_descent(midpoint, integrator, allowed):
    told = Run(midpoint.dataset, midpoint.provenance | {"integrator": integrator})
    for part, status in ((0.99, "holds"), (1.01, "contradicted")):
        own, late = growing(midpoint), -5
        own[late:, 2, 1, 0] = (1.0 - part * allowed) * own[late - 1, 2, 1, 0]
        verdict = check("Corollary B.26", altered(told, own_correlations=own))
        assert (verdict.status, verdict.bound) == (status, pytest.approx(allowed, rel=FEW_OPERATIONS))


def test_what_falls_before_it_enters_B_contradicts_nothing(midpoint):
    own = growing(midpoint)
    own[:10, 2, 1, 0], own[10:, 2, 1, 0] = 0.2, 0.05
    verdict = check("Corollary B.26", altered(midpoint, own_correlations=own))
    assert (verdict.status, verdict.measured) == ("holds", 0.0)
    assert "violated by 0 of 31 own correlations" in verdict.detail
    nothing = check("Corollary B.26", altered(midpoint, own_correlations=0.001 * own))
    assert (nothing.status, nothing.measured) == ("not applicable", None)


def test_negative_gradients_are_told_and_decide_nothing(midpoint, monkeypatch):
    evidence = altered(midpoint, own_correlations=growing(midpoint))
    gradients = {snapshot.step: np.full_like(snapshot.c, -1.0) for snapshot in evidence.snapshots}
    monkeypatch.setattr(Evidence, "gradient", lambda self, snapshot: gradients[snapshot.step])
    then = evidence.snapshots[2]
    gradients[then.step][1, 3, 1, 0] = 1e-13  # rounding
    gradients[then.step][1, 3, 2, 0] = 1.0  # no own feature
    gradients[then.step][2, 1, 2, 0] = 1e-11
    verdict = check("Corollary B.26", evidence)
    assert verdict.status == "holds"
    assert f"at some of {len(evidence.snapshots)} saved states, along 1 of them and 1 of all 32; measured" in verdict.detail


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


def test_a_run_that_has_not_settled_does_not_tell_what_totals_become(midpoint):
    totals = np.full((len(midpoint.dataset.time), 4, 2), 2.0 * np.log(4))
    for settled, least, status in ((True, 0.0, "measured"), (None, 0.0, "not applicable"), (False, 0.0, "not applicable"), (None, 2.0, "measured")):
        totals[-1, 0, 0] = least * np.log(4)
        dataset = altered(midpoint, total_correlation=totals).run.dataset
        assert check("Claim B.28 (final)", Evidence(Run(dataset, midpoint.provenance | {"settled": settled}))).status == status
