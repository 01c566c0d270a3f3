"""Claims B.4, B.17 and B.18, about growth, against their formulas."""

import numpy as np
import pytest
from altered_runs import altered, check
from tolerances import FEW_OPERATIONS

from mvsim.runs.run import Run


def growing(run, off, time=(0.0, 1.0, 10.0, 100.0)):
    """Four records in which class y reaches A at record y + 1, the last never; ``off`` (4, k) is the largest off-diagonal correlation."""
    A = run.parameters.rho / (run.parameters.delta2 - run.parameters.delta1)
    leaders = np.full((4, 4, 2), 0.1 * A)
    for y in range(3):
        leaders[y + 1 :, y, y % 2] = A * np.arange(1.0, 4.0)[: 3 - y]
    dataset = run.dataset.isel(time=slice(0, 4)).assign_coords(time=("time", np.array(time)))
    return altered(Run(dataset, run.provenance), max_correlation=leaders, off_diagonal_max=off, predicted_entry_time=np.full((4, 4, 2), 2.0)), A


def test_off_diagonal_correlations_at_escape(erm):
    off = np.arange(16.0).reshape(4, 4)
    evidence, _ = growing(erm, off)
    expected = max(off[1, 0], off[2, 1], off[3, 2]) * erm.parameters.d**0.5 / np.log(4)
    assert check("Claim B.4 (off-diagonal)", evidence).measured == pytest.approx(expected, rel=FEW_OPERATIONS)
    assert "3 of 4 classes" in check("Claim B.4 (off-diagonal)", evidence).detail
    assert check("Claim B.4 (T_A)", evidence).measured == pytest.approx(100.0 / 2.0, rel=FEW_OPERATIONS)


def test_off_diagonal_correlations_lag_by_k(midpoint):
    off = np.full((4, 4), 0.5)
    off[0] = 100.0  # before T_A
    off[2, 1], off[3, 0] = 0.7, 0.9
    evidence, A = growing(midpoint, off)
    assert check("Claim B.17 (T_A)", evidence).measured == pytest.approx(100.0 / 2.0, rel=FEW_OPERATIONS)
    assert check("Claim B.17 (off-diagonal)", evidence).measured == pytest.approx(4 * 0.7 / A, rel=FEW_OPERATIONS)
    off[3, 0] = 9.0
    evidence, A = growing(midpoint, off)
    assert check("Corollary B.18 (off-diagonal)", evidence).measured == pytest.approx(4 * 9.0 / (3 * A), rel=FEW_OPERATIONS)


def test_positive_off_diagonals_stay_positive_up_to_the_escape_and_beyond(midpoint):
    start = np.full((4, 4, 4, 2), -1.0)
    start[0, 1, 2, 0] = start[1, 1, 2, 1] = start[2, 0, 3, 0] = start[3, 3, 0, 0] = 2.0
    start[0, 0, 0, 0] = 5.0  # own: does not count
    end = 0.5 * start
    end[0, 0, 0, 0] = -1.0
    name, shape = "Corollary B.18 (positivity)", midpoint.dataset["correlations"].shape
    verdict = check(name, altered(midpoint, correlations=np.broadcast_to(start, shape), final_correlations=end))
    assert (verdict.status, verdict.measured, verdict.violated_at) == ("holds", 1.0, None)
    end[3, 3, 0, 0] = -0.25
    verdict = check(name, altered(midpoint, correlations=np.broadcast_to(start, shape), final_correlations=end))
    assert (verdict.status, verdict.measured, verdict.violated_at) == ("contradicted", 0.75, float(midpoint.dataset["final_time"]))
    assert "violated by 1 of 4 off-diagonal correlations; 1 neurons of 1 classes; least ratio to the start -0.125" in verdict.detail
    reached = np.full(midpoint.dataset["max_correlation"].shape, 1.0)  # T_A = 0
    early = altered(midpoint, correlations=np.broadcast_to(start, shape), final_correlations=end, max_correlation=reached)
    assert check("Claim B.17 (positivity)", early).status == "holds"
    before = np.broadcast_to(start, shape).copy()
    before[1, 3, 3, 0, 0] = -0.25
    verdict = check("Claim B.17 (positivity)", altered(midpoint, correlations=before))
    assert (verdict.status, verdict.violated_at) == ("contradicted", float(midpoint.dataset["snapshot_time"][1]))
    end[3, 3, 0, 0] = -0.9 * 0.5e-4  # less than the numerical error beside the largest of the neuron, 0.5
    verdict = check(name, altered(midpoint, correlations=np.broadcast_to(start, shape), final_correlations=end))
    assert (verdict.status, verdict.brief) == ("inconclusive", "violated by 0 of 4 off-diagonal correlations, 1 without a sign within the error")
    assert verdict.measured == 0.75
    for integrator, status in (({"name": "flow", "rtol": 1e-4}, "contradicted"), ({"name": "gd", "learning_rate": 0.1}, "contradicted")):
        finer = Run(midpoint.dataset, midpoint.provenance | {"integrator": integrator})
        assert check(name, altered(finer, correlations=np.broadcast_to(start, shape), final_correlations=end)).status == status
    end[3, 3, 0, 0] = 0.0
    assert check(name, altered(midpoint, correlations=np.broadcast_to(start, shape), final_correlations=end)).status == "inconclusive"
    end[3, 3, 0, 0] = -1.1 * 0.5e-4
    assert check(name, altered(midpoint, correlations=np.broadcast_to(start, shape), final_correlations=end)).status == "contradicted"


def test_the_state_at_the_escape_itself_has_to_be_positive(midpoint):
    """Every class reaches A at the record of saved state 2; then it is that state that turns, or only the next one."""
    T_A = float(midpoint.dataset["snapshot_time"][2])
    reached = np.where(midpoint.dataset["time"].to_numpy() >= T_A, 1.0, 0.01)[:, None, None]
    leaders = np.broadcast_to(reached, midpoint.dataset["max_correlation"].shape)
    assert T_A in midpoint.dataset["time"]
    for first, found in ((2, ("contradicted", T_A)), (3, ("holds", None))):
        c = np.ones(midpoint.dataset["correlations"].shape)
        c[first:, 3, 3, 0, 0] = -1.0
        verdict = check("Claim B.17 (positivity)", altered(midpoint, correlations=c, final_correlations=c[-1], max_correlation=leaders))
        assert (verdict.status, verdict.violated_at) == found


def test_neurons_are_compared_one_by_one(midpoint):
    """Class 0 reaches A at record 1; its neurons have ratios k 0.2 / 0.8 and k 0.3 / 0.4, one has no positive own correlation."""
    evidence, _ = growing(midpoint, np.full((4, 4), 0.1))
    c = np.zeros(midpoint.final_correlations.shape)
    c[:, :, :] = -1.0
    for y in range(4):
        c[y, 0, y, 1], c[y, 0, (y + 1) % 4, 0] = 0.8, 0.2
        c[y, 1, y, 0], c[y, 1, (y + 2) % 4, 1] = 0.4, 0.3
    shape = midpoint.dataset["correlations"].shape
    values = {name: evidence.run.dataset[name].values for name in ("max_correlation", "off_diagonal_max", "predicted_entry_time")}
    changed = altered(Run(evidence.run.dataset, midpoint.provenance), correlations=np.broadcast_to(c, shape), final_correlations=c, **values)
    assert "of single neurons median 2, largest 3, 6 without a positive own correlation" in check("Claim B.17 (off-diagonal)", changed).detail
