"""Every claim of the registry gives a verdict on a small run of each kind, and what it measures is what its formula says.

The numbers are compared with loops written from the formulas, or a run is altered so that the number is known or has to get worse.
"""

from dataclasses import replace

import numpy as np
import pytest
from compare import assert_components_close
from tolerances import CENTRAL_DIFFERENCE, CENTRAL_DIFFERENCE_STEP, FEW_OPERATIONS, ROUNDOFF

import mvsim
from mvsim.activations.smoothed_relu import smoothed_relu, smoothed_relu_derivative
from mvsim.run import Run
from mvsim.verification.evidence import evidence as evidence_module
from mvsim.verification.evidence.evidence import Evidence
from mvsim.verification.run_verdicts import judge
from mvsim.verification.statements.claims import CLAIMS, claims, gaps, separation
from mvsim.verification.verdict import STATUSES, Verdict

SMALL = {"k": 4, "N": 40, "G": 6, "P": 16}


@pytest.fixture(scope="module")
def runs():
    """A run of each kind, settled: ERM with one view learned, midpoint with both."""
    erm = mvsim.simulate(mvsim.Parameters(**SMALL, d=400), "erm", n_test=5)
    return {"erm": erm, "midpoint": mvsim.simulate(mvsim.Parameters(**SMALL, d=150), "midpoint", n_test=5)}


@pytest.fixture(params=["erm", "midpoint"])
def run(request, runs):
    return runs[request.param]


@pytest.fixture
def erm(runs):
    return runs["erm"]


@pytest.fixture
def midpoint(runs):
    return runs["midpoint"]


def altered(run, data=None, **values):
    """Evidence of a run some variables of which have other values."""
    before = run.dataset
    dataset = before.assign({name: (before[name].dims, np.asarray(value, dtype=before[name].dtype)) for name, value in values.items()})
    return Evidence(Run(dataset, run.provenance), data)


def at_state(run, c, data=None, **values):
    """Evidence of a run whose only saved states are the initial one and c, and in which every neuron escaped at once."""
    start = run.dataset["correlations"].values[:1]
    dataset = run.dataset.drop_vars([name for name, v in run.dataset.variables.items() if "snapshot" in v.dims])
    kept = {"snapshot_step": [0], "snapshot_time": [0.0]}
    dataset = dataset.assign({name: ("snapshot", v) for name, v in kept.items()})
    dataset = dataset.assign(correlations=(("snapshot", "class", "neuron", "feature_class", "view"), start))
    dataset = dataset.assign(final_correlations=(run.dataset["final_correlations"].dims, c))
    return altered(Run(dataset, run.provenance), data, escape_time=np.zeros(run.dataset["escape_time"].shape), **values)


def without_noise(run):
    """The data of a run, noise removed."""
    data = mvsim.sample_dataset(run.parameters, run.seed)
    return replace(data, patterns=np.zeros_like(data.patterns))


def learned(p, totals, off=0.0):
    """Correlations with one neuron for each view of each class, of the given size (k, 2), or (2,) for all; ``off`` elsewhere."""
    c = np.full((p.k, p.m, p.k, 2), off)
    totals = np.broadcast_to(totals, (p.k, 2))
    for y in range(p.k):
        c[y, :, y] = 0.0
        c[y, 0, y, 0], c[y, 1, y, 1] = totals[y]
    return c


def check(name, evidence):
    return CLAIMS[name].check(evidence)


def pair_outputs(evidence, c):
    """Outputs of all ordered pairs, (N, N, k), from explicit patches."""
    p, x = evidence.parameters, evidence.data.to_patches()
    found = np.zeros((p.N, p.N, p.k))
    for i in range(p.N):
        z = 0.5 * (x[i] + x)
        found[i] = smoothed_relu(np.einsum("yrsl,npsl->nyrp", c, z), p.rho, p.alpha).sum(axis=(2, 3))
    return found


def softmax(g):
    return np.exp(g - g.max()) / np.exp(g - g.max()).sum()


# ---- The registry -------------------------------------------------------------------------------------------------------------------


def is_number(value):
    return value is None or (type(value) is float and np.isfinite(value))


def assert_well_formed(name, verdict):
    assert isinstance(verdict, Verdict)
    assert verdict.name == name
    assert verdict.status in (set(STATUSES) - {"measured"} if CLAIMS[name].decides else {"measured"})
    assert is_number(verdict.measured)
    assert is_number(verdict.bound)
    assert is_number(verdict.margin)
    assert is_number(verdict.violated_at)
    assert verdict.statement
    assert (verdict.margin is None) == (verdict.measured is None or verdict.bound is None)


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("method", ["erm", "midpoint"])
def test_every_claim_gives_a_verdict(name, method, runs):
    if not CLAIMS[name].applies(method == "midpoint"):
        return
    evidence = Evidence(runs[method])
    assert_well_formed(name, check(name, evidence))


@pytest.mark.parametrize("name", CLAIMS)
@pytest.mark.parametrize("method", ["erm", "midpoint"])
def test_every_claim_can_be_asked_of_a_run_that_never_left_its_start(name, method, runs):
    if not CLAIMS[name].applies(method == "midpoint"):
        return
    dataset = runs[method].dataset.isel(time=slice(0, 1), snapshot=slice(0, 1))
    start = dataset["correlations"].values[0]
    dataset = dataset.assign(final_correlations=(dataset["final_correlations"].dims, start), final_step=0, final_time=0.0)
    dataset = dataset.assign(escape_time=dataset["escape_time"] * np.nan)
    assert_well_formed(name, check(name, Evidence(Run(dataset, runs[method].provenance))))


def test_every_claim_speaks_of_some_loss_and_says_how():
    for name, claim in CLAIMS.items():
        assert claim.erm or claim.mixing, name
        assert claim.check.__doc__.strip(), name


def test_the_claims_about_a_run_are_those_about_its_loss(run):
    names = [name for name, claim in CLAIMS.items() if claim.applies(run.method == "midpoint")]
    assert [verdict.name for verdict in claims(Evidence(run))] == names
    assert 10 < len(names) < len(CLAIMS)


def test_nothing_fails_where_both_theorems_hold(run):
    assert [verdict.name for verdict in claims(Evidence(run)) if verdict.status == "fails"] == []


# ---- Evidence -----------------------------------------------------------------------------------------------------------------------


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


def test_few_late_states_and_the_final_one_always(run):
    evidence = Evidence(run)
    assert evidence.late_snapshots[-1] is evidence.snapshots[-1]
    everything = altered(run, escape_time=np.zeros(run.dataset["escape_time"].shape))
    assert len(everything.snapshots) > evidence_module.MOST_SNAPSHOTS
    assert len(everything.late_snapshots) == evidence_module.MOST_SNAPSHOTS
    never = altered(run, escape_time=np.full(run.dataset["escape_time"].shape, np.nan))
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
    for name in ("Claim B.15", "Claim B.16", "Claim B.19", "Claim B.20"):
        assert "300 pairs drawn at random" in check(name, at_state(midpoint, settled)).detail


# ---- B.1, B.10, B.14: the start -----------------------------------------------------------------------------------------------------


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
    assert "class 2, view 1" in verdict.detail


def test_positive_correlations_are_counted_neuron_by_neuron(midpoint):
    c = np.full(midpoint.dataset["correlations"].shape, 0.1)
    c[0, 3, 2] = -0.1
    c[0, 3, 2, 1, 1] = 0.2
    assert check("Claim B.14 (positive correlations)", altered(midpoint, correlations=c)).measured == 1 / 8


def with_leaders(run, leaders, **values):
    """A run with the given Lambda(0), (k, 2)."""
    changed = run.dataset["max_correlation"].values.copy()
    changed[0] = leaders
    return altered(run, max_correlation=changed, **values)


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
    decided = run.method == "erm"
    leaders = np.array([[3.0, 1.0], [1.0, 3.0], [3.0, 1.0], [3.0, 1.0]])
    first = np.full((4, 4, 2), np.nan)
    for y, view in enumerate([0, 1, 0, 0]):
        first[y, 1, view], first[y, 2, 1 - view] = 5.0, 7.0

    def verdict_on(time, step):
        return check(name, with_leaders(run, leaders, escape_time=time, escape_step=np.where(np.isnan(step), -1, step).astype(np.int64)))

    verdict = verdict_on(first, first)
    assert (verdict.status, verdict.measured) == ("holds" if decided else "measured", 1.0)
    assert verdict_on(0.0 * first + 1e50, first).measured == 1.0  # at the same time to double precision, steps apart
    assert verdict_on(first, 0.0 * first).measured == 1.0  # within the same step
    first[0] = first[0, :, ::-1].copy()
    assert verdict_on(first, first).measured == 0.75
    first[1:] = first[1:, :, ::-1].copy()
    verdict = verdict_on(first, first)
    assert (verdict.status, verdict.measured) == ("fails" if decided else "measured", 0.0)
    verdict = verdict_on(first * np.nan, first * np.nan)
    assert (verdict.status, verdict.measured) == ("inconclusive" if decided else "measured", None)


# ---- B.2, B.3, B.9: softmax on points -----------------------------------------------------------------------------------------------


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
    assert check("Claim B.3", evidence).measured == pytest.approx(max(wrong), rel=1e-10)
    assert check("Claim B.9", evidence).measured == pytest.approx(max(total), rel=1e-10)


def test_softmax_claims_on_points_when_other_outputs_vanish(erm):
    p, data = erm.parameters, without_noise(erm)
    start = np.zeros_like(erm.dataset["correlations"].values)
    evidence = at_state(erm, learned(p, (3.0, 0.0)), data)
    evidence = altered(Run(evidence.run.dataset.assign(correlations=(evidence.run.dataset["correlations"].dims, start[:1])), erm.provenance), data)
    assert check("Claim B.9", evidence).measured == pytest.approx(0.0, abs=FEW_OPERATIONS)
    assert 0.5 < check("Claim B.2", evidence).measured < 0.75  # (k - 1) / k at most
    assert check("Claim B.2", evidence).violated_at is None
    assert check("Claim B.3", evidence).measured <= 1.0 + FEW_OPERATIONS


def test_a_class_that_speaks_on_others_breaks_softmax_claims(erm):
    p, data = erm.parameters, without_noise(erm)
    c = learned(p, (12.0, 12.0))
    spoilt = c.copy()
    spoilt[1, 2, 0, :] = 6.0  # a neuron of class 1 that reads class 0
    good, bad = (at_state(erm, state, data) for state in (c, spoilt))
    for name in ("Claim B.2", "Claim B.3", "Claim B.9"):
        assert check(name, bad).measured > 10 * max(check(name, good).measured, 1.0)
    assert check("Claim B.2", bad).violated_at == float(erm.dataset["final_time"])


# ---- B.4, B.17, B.18: growth --------------------------------------------------------------------------------------------------------


def growing(run, off, time=(0.0, 1.0, 10.0, 100.0)):
    """Four records in which class y reaches A at record y + 1, the last never; ``off`` (4, k) is the largest off-diagonal correlation."""
    A = run.parameters.rho / (run.parameters.delta2 - run.parameters.delta1)
    leaders = np.full((4, 4, 2), 0.1 * A)
    for y in range(3):
        leaders[y + 1 :, y, y % 2] = A * np.arange(1.0, 4.0)[: 3 - y]
    dataset = run.dataset.isel(time=slice(0, 4)).assign_coords(time=("time", np.array(time)))
    return altered(Run(dataset, run.provenance), max_correlation=leaders, off_diagonal_max=off, predicted_escape_time=np.full((4, 4, 2), 2.0)), A


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
    assert check("Claim B.18", evidence).measured == pytest.approx(4 * 9.0 / (3 * A), rel=FEW_OPERATIONS)


def test_positive_off_diagonals_stay_positive(midpoint):
    start = np.full((4, 4, 4, 2), -1.0)
    start[0, 1, 2, 0] = start[1, 1, 2, 1] = start[2, 0, 3, 0] = start[3, 3, 0, 0] = 2.0
    start[0, 0, 0, 0] = 5.0  # own: does not count
    end = 0.5 * start
    end[0, 0, 0, 0] = -1.0
    name, shape = "Claim B.17 (positivity)", midpoint.dataset["correlations"].shape
    verdict = check(name, altered(midpoint, correlations=np.broadcast_to(start, shape), final_correlations=end))
    assert (verdict.measured, verdict.violated_at) == (1.0, None)
    end[3, 3, 0, 0] = -0.25
    verdict = check(name, altered(midpoint, correlations=np.broadcast_to(start, shape), final_correlations=end))
    assert (verdict.measured, verdict.violated_at) == (0.75, float(midpoint.dataset["final_time"]))
    assert "least -0.125" in verdict.detail


# ---- B.5 to B.8: outputs ------------------------------------------------------------------------------------------------------------


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


def test_training_accuracy_is_decided_by_what_lasts(erm):
    times = erm.dataset["time"].values
    right = np.ones(len(times))
    right[0] = 0.5
    assert check("Claim B.8", altered(erm, training_accuracy=right)).status == "holds"
    late = np.where(times < 0.5 * times[-1], 0.5, 1.0)
    assert check("Claim B.8", altered(erm, training_accuracy=late)).status == "inconclusive"
    stuck = np.where(times == 0.0, 0.5, 0.75)
    assert check("Claim B.8", altered(erm, training_accuracy=stuck)).status == "fails"
    assert check("Claim B.8", altered(erm, training_accuracy=0.0 * times + 0.75)).status == "inconclusive"
    right[2] = 0.5
    verdict = check("Claim B.8", altered(erm, training_accuracy=right))
    assert verdict.status == "holds"
    assert "reached and lost 1 times" in verdict.detail


# ---- B.11 to B.13: separation -------------------------------------------------------------------------------------------------------


def test_the_growth_of_the_loser_solves_its_equation():
    """dy/dx = S y^(q-1) / x^(q-1) by small steps of the midpoint rule, a path that the lemma never takes."""
    S, x0, y0, q = 1.7, 2.0, 1.5, 5.0
    x, y, n = x0, y0, 20_000
    for _ in range(n):
        h = 3.0 * x0 / n
        middle = y + 0.5 * h * S * (y / x) ** (q - 1)
        y += h * S * (middle / (x + 0.5 * h)) ** (q - 1)
        x += h
    ratio = np.array([x0 / (S ** (1 / (q - 2)) * y0)])
    assert ratio[0] > 1
    assert separation.loser_growth(ratio, q, x / x0)[0] == pytest.approx(y / y0, rel=CENTRAL_DIFFERENCE)
    assert separation.loser_growth(ratio, q, 1e9)[0] == pytest.approx(separation.loser_growth(ratio, q)[0], rel=FEW_OPERATIONS)


def test_the_tensor_power_lemma_is_decided(erm, monkeypatch):
    leaders = np.array([[1.3, 1.0]] * 4)
    evidence = with_leaders(erm, leaders * (Evidence(erm).signal_strength ** (-1 / 6)))
    monkeypatch.setattr(separation, "separation", lambda e: separation_of(e, 0.0))
    verdict = check("Lemma B.11 (closed form)", evidence)
    assert verdict.status == "holds"
    assert 0 < verdict.measured < 1e-4
    true = separation.iterated_growth
    monkeypatch.setattr(separation, "iterated_growth", lambda log_S, lead, alpha: true(np.log(1.1) + log_S, lead, alpha))
    assert check("Lemma B.11 (closed form)", evidence).status == "fails"


def separation_of(evidence, margin):
    from mvsim.verification.statements.claims import initialisation

    class Everyone(initialisation.Separation):
        def separated(self, k):
            return self.ratio >= 1.0 + margin

    return Everyone(*initialisation.separation(evidence))


def power_law(run, C, times, winner_end, view):
    """Own correlations: neuron 1 of ``view`` grows by c' = C S (c / rho)^(alpha-1), all else stands still at a quarter of its start."""
    p, S = run.parameters, Evidence(run).signal_strength
    power, own = p.alpha - 2, np.full((len(times), 4, p.m, 2), np.nan)
    for y in range(4):
        start = 0.3 * p.rho
        own[:, y] = 0.25 * start
        whole = start ** (2 - p.alpha) - (winner_end * p.rho) ** (2 - p.alpha)
        t = times * whole / (power * C * S[y, view] / p.rho ** (p.alpha - 1))
        own[:, y, 1, view] = (start ** (2 - p.alpha) - times * whole) ** (-1 / power)
        if y == 0:
            clock = t
        else:  # one clock for all: the correlation at the times of class 0
            rate = power * C * S[y, view] / p.rho ** (p.alpha - 1)
            own[:, y, 1, view] = np.maximum(start ** (2 - p.alpha) - rate * clock, (5 * p.rho) ** (2 - p.alpha)) ** (-1 / power)
    return own, clock


def test_the_rate_of_the_winner(erm):
    times = np.linspace(0.0, 1.0, 30)
    own, clock = power_law(erm, 1 - 0.3 / 4, times, 0.99, 0)
    dataset = erm.dataset.isel(time=slice(0, 30)).assign_coords(time=("time", clock))
    evidence = altered(Run(dataset, erm.provenance), own_correlations=own, max_correlation=own.max(axis=2))
    verdict = check("Claim B.12 (winner)", evidence)
    assert verdict.measured == pytest.approx(0.3, rel=1e-8)
    assert "4 classes" in verdict.detail
    assert check("Claim B.12 (loser)", evidence).measured is None  # it stands still


def test_the_rate_of_the_loser(erm):
    times = np.linspace(0.0, 0.9, 30)
    own, clock = power_law(erm, 1 + 0.2 / 4, times, 0.99, 0)
    own[:, :, 2, 1] = 0.6 * erm.parameters.rho  # ahead, and it waits
    dataset = erm.dataset.isel(time=slice(0, 30)).assign_coords(time=("time", clock))
    evidence = altered(Run(dataset, erm.provenance), own_correlations=own, max_correlation=own.max(axis=2))
    assert check("Claim B.12 (loser)", evidence).measured == pytest.approx(0.2, rel=1e-8)


def test_the_loser_for_ever(erm):
    leaders = np.array([[3.0, 1.0], [1.0, 3.0], [3.0, 1.0], [1.0, 1.0]])
    values = np.broadcast_to(leaders, (len(erm.dataset.time), 4, 2)).copy()
    values[10:, 0, 1] = 1.5
    values[20:, 1, 0] = 7.0
    values[:, 0, 0] *= np.linspace(1, 100, len(values))  # the winner may
    verdict = check("Claim B.13", altered(erm, max_correlation=values))
    S = Evidence(erm).signal_strength
    closed = (1 - S[1, 0] / S[1, 1] / 3**6) ** (-1 / 6)
    assert verdict.measured == pytest.approx(7.0 / closed, rel=1e-12)
    assert verdict.violated_at == float(erm.dataset["time"][20])
    assert "2 of 3 separated" in verdict.detail


# ---- B.15, B.16, B.19, B.20: mixed points -------------------------------------------------------------------------------------------


def test_claims_on_mixed_points_by_loops(midpoint):
    evidence = at_state(midpoint, midpoint.final_correlations)
    assert len(evidence.late_snapshots) == 2
    log_k, labels = np.log(4), evidence.data.labels
    distance, third, ranges = [], [], []
    for snapshot in evidence.late_snapshots:
        outputs = pair_outputs(evidence, snapshot.c)
        low, high, crossed_low, crossed_high = np.full(4, np.inf), np.full(4, 0.0), np.full(4, np.inf), np.full(4, 0.0)
        for i, y in enumerate(labels):
            for j, s in enumerate(labels):
                g, phi = outputs[i, j], softmax(outputs[i, j])
                low[y], high[y] = min(low[y], g[y]), max(high[y], g[y])
                if y != s:
                    ka, kb = np.exp(g[y]), np.exp(g[s])
                    distance.append(abs(1 - 2 * phi[y] - (kb - ka + 2) / (ka + kb + 2)))
                    third += [1 - 2 * phi[u] for u in range(4) if u not in (y, s)]
                    crossed_low[y], crossed_high[y] = min(crossed_low[y], g[y]), max(crossed_high[y], g[y])
        ranges.append((low, high, crossed_low, crossed_high))
    assert check("Claim B.15", evidence).measured == pytest.approx(max(distance), abs=ROUNDOFF)
    assert check("Claim B.16", evidence).measured == pytest.approx(min(third), abs=ROUNDOFF)
    low, high, crossed_low, crossed_high = ranges[-1]
    assert (high > log_k).all()
    assert (crossed_high > np.log(3)).all()
    assert check("Claim B.19", evidence).measured == pytest.approx(max(high / low), rel=ROUNDOFF)
    assert check("Claim B.20", evidence).measured == pytest.approx(min(crossed_low) / log_k, rel=ROUNDOFF)


def test_a_third_class_that_speaks_breaks_claims_on_mixed_points(midpoint):
    p = midpoint.parameters
    c = learned(p, (6.0, 6.0))
    spoilt = c.copy()
    spoilt[2, 3, 0, :] = 9.0
    good, bad = (at_state(midpoint, state, without_noise(midpoint)) for state in (c, spoilt))
    assert check("Claim B.15", good).measured < 0.02
    assert check("Claim B.15", bad).measured > 0.5
    assert check("Claim B.16", good).measured > 0.4
    assert check("Claim B.16", bad).measured < 0.0


def test_uneven_views_spread_outputs_on_mixed_points(midpoint):
    p, data = midpoint.parameters, without_noise(midpoint)
    even, uneven = (check("Claim B.19", at_state(midpoint, learned(p, C), data)) for C in ((9.0, 9.0), (18.0, 0.0)))
    assert 2.0 < even.measured < 2.5 < uneven.measured
    strong, weak = (check("Claim B.20", at_state(midpoint, learned(p, C), data)) for C in ((9.0, 9.0), (6.0, 6.0)))
    assert weak.measured < strong.measured
    assert check("Claim B.20", at_state(midpoint, learned(p, (1.0, 1.0)), data)).measured is None


# ---- B.21 to B.25: gaps -------------------------------------------------------------------------------------------------------------


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


def test_expectations_of_the_gap_by_loops(midpoint):
    c = learned(midpoint.parameters, UNEVEN)
    evidence = at_state(midpoint, c)
    names = ("Claim B.22", "Claim B.23")
    whole, patches = (check(name, evidence) for name in names)
    ahead = [(y, s, lead) for y, lead in ((0, 1), (2, 0)) for s in range(4) if gaps.gaps(evidence, evidence.snapshots[-1]).measure[y, s] >= 0.01]
    assert whole.measured == pytest.approx(max(naive_expectation(evidence, c, *each) for each in ahead), rel=1e-10)
    assert patches.measured == pytest.approx(max(naive_expectation(evidence, c, *each, patch) for each in ahead for patch in (0, 1)), rel=1e-10)
    assert f"{len(ahead)} pairs of classes" in whole.detail
    assert whole.measured < 0.0
    assert whole.violated_at is None
    turned = at_state(midpoint, c, replace(evidence.data, signal_coefficients=evidence.data.signal_coefficients[:, ::-1]))
    assert check("Claim B.22", turned).measured != whole.measured


def test_expectations_need_a_gap_and_a_class_to_be_ahead_of(midpoint):
    p = midpoint.parameters
    even, behind = learned(p, (6.0, 6.0)), UNEVEN.copy()
    behind[0] = [0.0, 6.0]
    behind[1:] = 40.0
    for name in ("Claim B.22", "Claim B.23"):
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
    expected = max(Psi - form for Psi, form in pulls) / (p.P * p.delta4**8 * np.log(4) ** 7)
    assert check("Claim B.21", evidence).measured == pytest.approx(expected, rel=FEW_OPERATIONS)
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


def test_gradients_change_little_in_a_short_step(midpoint, monkeypatch):
    evidence = at_state(midpoint, learned(midpoint.parameters, (3.0, 0.2)))
    usual = check("Claim B.25", evidence).measured
    assert 0.99 < usual < 1.0
    monkeypatch.setattr(gaps, "SHORT", 0.0)
    assert check("Claim B.25", at_state(midpoint, learned(midpoint.parameters, (3.0, 0.2)))).measured == 1.0
    monkeypatch.setattr(gaps, "SHORT", 0.2)
    long = check("Claim B.25", at_state(midpoint, learned(midpoint.parameters, (3.0, 0.2))))
    assert long.measured < 0.99
    assert long.violated_at is not None


# ---- B.26 to B.28: boundedness ------------------------------------------------------------------------------------------------------


def test_own_correlations_only_grow(midpoint):
    T = len(midpoint.dataset.time)
    own = np.broadcast_to(np.linspace(0.1, 10.0, T)[:, None, None, None], (T, 4, 4, 2)).copy()
    assert check("Claim B.26", altered(midpoint, own_correlations=own)).measured == 0.0
    own[30:, 2, 1, 0] = 0.8 * own[29, 2, 1, 0]
    verdict = check("Claim B.26", altered(midpoint, own_correlations=own))
    assert verdict.measured == pytest.approx(0.2, rel=1e-12)
    assert verdict.violated_at == float(midpoint.dataset["time"][30])


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


# ---- what leaves the range of doubles, and tiny runs --------------------------------------------------------------------------------


def test_a_clock_that_stands_still_tells_no_rate(erm):
    """A neuron that starts at rho / 1000 ends its growth within one unit of round-off of the clock; that part has no rate."""
    p, records, C = erm.parameters, 200, 1 - 0.3 / 4
    power, S = p.alpha - 2, Evidence(erm).signal_strength[0, 0]
    c = p.rho * np.geomspace(1e-3, 0.99, records)
    clock = (c[0] ** -power - c**-power) * p.rho ** (p.alpha - 1) / (power * C * S)
    own = np.full((records, 4, p.m, 2), 1e-5 * p.rho)
    own[:, 0, 1, 0] = c
    dataset = erm.dataset.isel(time=[0] * records).assign_coords(time=("time", clock))
    evidence = altered(Run(dataset, erm.provenance), own_correlations=own, max_correlation=own.max(axis=2))
    assert (np.diff(evidence.times) == 0).any()
    rates = separation.neuron_rates(evidence, 0, 0, records)
    assert len(rates.C) > 20
    assert np.abs(rates.C / C - 1).max() < 1e-3
    assert check("Claim B.12 (winner)", evidence).measured == pytest.approx(0.3, abs=4e-3)


@pytest.mark.parametrize("size", [600.0, 1e4, 1e6])
def test_softmax_claims_at_outputs_beyond_every_exponential(erm, size):
    """With k - 1 other outputs of 0, (1 - phi) k^(a - 1) is (k - 1) / k however large a is."""
    p = erm.parameters
    evidence = at_state(erm, learned(p, (size, size), off=-1.0), without_noise(erm))
    outputs = evidence.outputs(evidence.snapshots[-1])
    assert outputs.max() > size
    assert np.array_equal(np.sort(outputs, axis=0)[:-1], np.zeros((p.k - 1, p.N)))
    assert check("Claim B.2", evidence).measured == pytest.approx(1 - 1 / p.k, rel=1e-9)
    assert check("Claim B.3", evidence).measured == pytest.approx(1.0, rel=1e-3)
    assert check("Claim B.9", evidence).measured < 1.0


def test_a_wrong_output_beyond_every_exponential_is_infinitely_far_off(erm):
    evidence = at_state(erm, learned(erm.parameters, (2e3, 2e3), off=2e3), other_output_max=np.full((len(erm.dataset.time), 4), 2e3))
    assert [check(name, evidence).measured for name in ("Claim B.2", "Claim B.3", "Claim B.9")] == [np.inf] * 3


def test_with_two_classes_there_is_no_third_to_suppose_something_of():
    run = mvsim.simulate(mvsim.Parameters(k=2, N=6), "midpoint", integrator="gd", t_end=12.0, n_test=2)
    detail = check("Claim B.15", Evidence(run)).detail
    assert "there are none" in detail
    assert "inf" not in detail


@pytest.mark.parametrize("ratio", [1.1, 5.0, 1e30])
def test_the_closed_form_solves_the_recursion_at_any_power(ratio):
    for alpha in (2.01, 2.5, 8.0, 20.0, 64.0):
        log_strength, lead = np.array([-0.7]), np.array([ratio])
        stage, growth = separation.iterated_growth(log_strength, lead, alpha)
        a = lead * np.exp(-log_strength / (alpha - 2.0))
        assert growth == pytest.approx(separation.loser_growth(a, alpha, stage), rel=separation.STEP_ERROR)


TINY = {
    "one point": {"N": 1},
    "two classes": {"k": 2, "m": 1, "Q": 1, "N": 2},
    "no noise patch": {"N": 3, "P": 4, "delta3": 0.0, "delta4": 0.0},
    "plain ReLU": {"N": 4, "alpha": 1, "d": 3**20},
    "power 2": {"N": 4, "alpha": 2, "d": 3**20},
    "power 2.1": {"N": 4, "alpha": 2.1, "noise": "patch"},
    "power 64": {"N": 5, "alpha": 64, "d": 3**20, "noise": "point"},
    "power 64, small signals": {"N": 5, "alpha": 64, "delta1": 1e-6, "delta2": 2e-6},
    "power 50, large signals": {"N": 5, "alpha": 50, "delta1": 1e3, "delta2": 1e4},
}


@pytest.mark.filterwarnings("ignore:eta=2 exceeds:UserWarning")
@pytest.mark.parametrize("case", TINY)
@pytest.mark.parametrize("method", ["erm", "midpoint"])
@pytest.mark.parametrize("steps", [1, 40])
def test_everything_can_be_said_of_tiny_runs(case, method, steps):
    p = mvsim.Parameters(**{"k": 3, "m": 2, "P": 8, **TINY[case]})
    run = mvsim.simulate(p, method, integrator="gd", eta=2.0, t_end=2.0 * steps, n_test=2)
    verdicts = judge(run, "4.6" if method == "erm" else "4.7").verdicts
    assert len(verdicts) > 20
    for verdict in verdicts:
        assert verdict.measured is None or not np.isnan(verdict.measured), verdict
        assert "nan" not in verdict.detail, verdict
