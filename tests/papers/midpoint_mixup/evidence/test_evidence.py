"""What statements are measured on: saved states, the objective of the run, mixed points."""

import numpy as np
import pytest
from altered_runs import altered, at_state, check, learned, pair_outputs, softmax
from compare import assert_components_close
from tolerances import FEW_OPERATIONS, ROUNDOFF

import mvsim
from mvsim.papers.midpoint_mixup.evidence import evidence as evidence_module
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.runs.run import Run


def test_the_final_state_is_among_the_saved_ones_once(run):
    evidence = Evidence(run)
    steps = [snapshot.step for snapshot in evidence.snapshots]
    assert steps == sorted(set(steps))
    assert steps[0] == 0
    assert steps[-1] == int(run.dataset["final_step"])
    np.testing.assert_array_equal(evidence.snapshots[-1].c, run.final_correlations)
    last = int(run.dataset["snapshot_step"][-1])
    ended = run.dataset.assign(final_step=last, final_correlations=run.dataset["correlations"].isel(snapshot=-1))
    assert len(Evidence(Run(ended, run.provenance)).snapshots) == run.dataset.sizes["snapshot"]


def test_few_late_states_and_the_final_one_always(run, monkeypatch):
    monkeypatch.setattr(evidence_module, "MOST_SNAPSHOTS", 5)
    evidence = Evidence(run)
    assert evidence.late_snapshots[-1] is evidence.snapshots[-1]
    everything = altered(run, entry_time=np.zeros(run.dataset["entry_time"].shape))
    assert len(everything.snapshots) > evidence_module.MOST_SNAPSHOTS
    assert len(everything.late_snapshots) == evidence_module.MOST_SNAPSHOTS
    monkeypatch.setattr(evidence_module, "PAIR_OUTPUTS", 1.0)
    costly = altered(run, entry_time=np.zeros(run.dataset["entry_time"].shape))
    assert len(costly.late_snapshots) == evidence_module.FEWEST_SNAPSHOTS
    never = altered(run, entry_time=np.full(run.dataset["entry_time"].shape, np.nan))
    assert never.late_snapshots == never.snapshots[-1:]


def test_the_objective_is_that_of_the_run(run):
    evidence = Evidence(run)
    snapshot = evidence.snapshots[-1]
    expected = mvsim.objective(run.method, run.parameters, mvsim.sample_dataset(run.parameters, run.seed))
    np.testing.assert_array_equal(evidence.gradient(snapshot), expected.gradient(run.final_correlations))
    np.testing.assert_array_equal(evidence.outputs(snapshot), expected.outputs(run.final_correlations))
    recorded = run.dataset["own_output_min"].values[-1]
    lowest = [min(evidence.outputs(snapshot)[y, evidence.data.labels == y]) for y in range(run.parameters.k)]
    assert_components_close(recorded, lowest, FEW_OPERATIONS, 0)


def test_options_of_the_objective_come_from_the_run(midpoint):
    c = midpoint.final_correlations
    options = {**midpoint.provenance["options"], "mixing": 0.5, "nodes": 3, "pairs": None, "redraw": "once"}
    mixup = Evidence(Run(midpoint.dataset, {**midpoint.provenance, "method": "mixup", "options": options}))
    assert mixup.mixes
    assert_components_close(mixup.objective.loss(c), Evidence(midpoint).objective.loss(c), FEW_OPERATIONS, 0)
    unmixed = Evidence(Run(midpoint.dataset, {**midpoint.provenance, "method": "mixup", "options": {**options, "mixing": 1.0}}))
    assert not unmixed.mixes


@pytest.mark.parametrize("kernel", ["factored", "patches"])
def test_mixed_points_are_all_ordered_pairs(midpoint, kernel):
    structured = Evidence(midpoint).data
    data = structured if kernel == "factored" else mvsim.Dataset.from_patches(structured.labels, structured.to_patches())
    evidence = Evidence(midpoint, data)
    z, expected = evidence.mixed_points(evidence.snapshots[-1]), pair_outputs(evidence, midpoint.final_correlations)
    labels, rows = evidence.data.labels, []
    for i, y in enumerate(labels):
        for j, s in enumerate(labels):
            g = expected[i, j]
            others = [g[u] for u in range(4) if u not in (y, s)]
            phi = softmax(g)
            rest = np.log(sum(np.exp(g[u]) for u in range(4) if u != y))
            rows.append([y, s, g[y], g[s], max(others), rest, 1 - phi[y], 1 - 2 * phi[y], 1 - 2 * max(phi[u] for u in range(4) if u not in (y, s))])
    measured = np.stack([z.y, z.s, z.own, z.other, z.rest_max, z.rest, z.own_gap, z.balance, z.others_balance], axis=1)
    order = [np.lexsort(np.round(table[:, [5, 4, 3, 2, 1, 0]], 9).T) for table in (measured, np.array(rows))]
    assert_components_close(measured[order[0]], np.array(rows)[order[1]], ROUNDOFF, ROUNDOFF)


def test_pairs_of_a_class_come_in_order(midpoint):
    evidence = Evidence(midpoint)
    snapshot, labels = evidence.snapshots[-1], evidence.data.labels
    expected = pair_outputs(evidence, snapshot.c)
    z = evidence.pairs_of_class(snapshot, 2)
    members = np.flatnonzero(labels == 2)
    np.testing.assert_array_equal(z.s, np.tile(labels, len(members)))
    np.testing.assert_array_equal(z.y, 2)
    assert_components_close(z.own, expected[members][:, :, 2].ravel(), ROUNDOFF, ROUNDOFF)


def test_too_many_pairs_are_sampled(midpoint, monkeypatch):
    evidence = Evidence(midpoint)
    everything = evidence.mixed_points(evidence.snapshots[-1])
    monkeypatch.setattr(evidence_module, "MOST_PAIR_OUTPUTS", 0)
    monkeypatch.setattr(evidence_module, "SAMPLED_PAIRS", 300)
    some = Evidence(midpoint).mixed_points(evidence.snapshots[-1])
    assert len(some.own) == 300
    gaps_to_nearest = np.abs(some.rest[:, None] - everything.rest).min(axis=1)
    assert gaps_to_nearest.max() < 1e-9
    assert len(np.unique(np.round(some.rest, 9))) > 100
    settled = learned(midpoint.parameters, (9.0, 9.0))
    for name in ("Claim B.15", "Corollary B.16", "Claim B.19", "Claim B.20"):
        assert "300 pairs drawn at random" in check(name, at_state(midpoint, settled)).detail
