"""Claims B.5 to B.8, about outputs, against their formulas."""

import numpy as np
import pytest
from altered_runs import altered, check
from tolerances import FEW_OPERATIONS

from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.runs.run import Run


def with_outputs(run, low, high, **values):
    """Records at t = 0, 1, 2, ... with the given own outputs, (T, k), or (T,) for every class."""
    low, high = (np.broadcast_to(np.asarray(v, dtype=float).reshape(len(v), -1), (len(v), 4)) for v in (low, high))
    dataset = run.dataset.isel(time=slice(0, len(low))).assign_coords(time=("time", np.arange(float(len(low)))))
    return altered(Run(dataset, run.provenance), own_output_min=low, own_output_max=high, **values)


def test_spread_of_outputs(erm):
    log_k = np.log(4)
    evidence = with_outputs(erm, [0.01, 0.5 * log_k, 0.6 * log_k], [0.9 * log_k, 2 * log_k, 3 * log_k])
    verdict = check("Claim B.5", evidence)
    assert verdict.measured == pytest.approx(5.0, rel=FEW_OPERATIONS)
    assert verdict.bound == pytest.approx(9.0, rel=FEW_OPERATIONS)
    assert verdict.violated_at is None
    worse = with_outputs(erm, [0.01, 0.5 * log_k, 0.2 * log_k], [0.9 * log_k, 2 * log_k, 3 * log_k])
    assert check("Claim B.5", worse).violated_at == 2.0


def test_outputs_reach_log_k_and_stay(erm):
    log_k, low, high = np.log(4), np.full((4, 4), 0.1), np.full((4, 4), 0.2)
    high[2:, :3] = 1.5 * log_k
    low[2:, :3] = 1.2 * log_k
    high[2:, 0] = 2.5 * log_k
    low[3, 1] = 0.4 * log_k
    evidence = with_outputs(erm, low, high)
    assert check("Claim B.6 (reached)", evidence).measured == 0.75
    assert "last T_y = 2 = k^0.5" in check("Claim B.6 (reached)", evidence).detail
    assert check("Claim B.6 (afterwards)", evidence).measured == pytest.approx(0.4, rel=FEW_OPERATIONS)
    assert check("Claim B.7 (outputs)", evidence).measured == pytest.approx(2.5, rel=FEW_OPERATIONS)


def test_off_diagonals_stay_small(erm):
    off = np.full((len(erm.dataset.time), 4), 0.01)
    off[5, 2] = 0.3
    expected = 0.3 * erm.parameters.d**0.5 / np.log(4)
    assert check("Claim B.7 (off-diagonal)", altered(erm, off_diagonal_max=off)).measured == pytest.approx(expected, rel=FEW_OPERATIONS)


def test_training_accuracy_is_computed_again_at_saved_states(erm):
    states = erm.dataset.sizes["snapshot"] + 1  # and the last one
    assert f"computed again at {states} saved states" in check("Corollary B.8", Evidence(erm)).detail
    wrong = np.where(erm.dataset["time"].values < 0.5 * float(erm.dataset["final_time"]), 1.0, 0.5)
    assert check("Corollary B.8", altered(erm, training_accuracy=wrong)).measured == 1.0
    dead = altered(erm, final_correlations=0.0 * erm.final_correlations)
    assert (check("Corollary B.8", dead).status, check("Corollary B.8", dead).measured) == ("inconclusive", 0.0)


def test_training_accuracy_is_decided_by_what_lasts(erm):
    times = erm.dataset["time"].values
    erm = Run(erm.dataset.assign(step=1000 * erm.dataset["step"] + 7), erm.provenance)  # no record is a saved state
    right = np.ones(len(times))
    right[0] = 0.5
    assert check("Corollary B.8", altered(erm, training_accuracy=right)).status == "holds"
    late = np.where(times < 0.5 * times[-1], 0.5, 1.0)
    too_late = check("Corollary B.8", altered(erm, training_accuracy=late))
    assert too_late.status == "inconclusive"
    assert "; too short to tell: it has to last while t grows 10-fold" in too_late.detail
    stuck = np.where(times == 0.0, 0.5, 0.75)
    assert check("Corollary B.8", altered(erm, training_accuracy=stuck)).status == "contradicted"
    below = check("Corollary B.8", altered(erm, training_accuracy=0.0 * times + 0.75))
    assert below.status == "inconclusive"
    assert "; too short to tell: it fails where it has stayed below 1 while t grew 10,000-fold" in below.detail
    right[2] = 0.5
    verdict = check("Corollary B.8", altered(erm, training_accuracy=right))
    assert verdict.status == "holds"
    assert "reached and lost once before" in verdict.detail
