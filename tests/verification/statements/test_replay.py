"""A run that goes elsewhere than its file says is found by going again from its saved states."""

import numpy as np
import pytest
from tiny_run import simulate

from mvsim.run import Run
from mvsim.verification.controls import with_training_accuracy_raised
from mvsim.verification.evidence.closeness import SIZE
from mvsim.verification.evidence.evidence import Evidence
from mvsim.verification.evidence.replay import FlowReplay, replayed_within
from mvsim.verification.evidence.stretches import Budget, stretches
from mvsim.verification.statements.records import records
from mvsim.verification.statements.replay import LARGEST, LOSS, replayed

QUICK, WHOLE = 0.15, 1.0
"""Parts of the work that a replay may take."""


def statuses(run, part=QUICK):
    return {verdict.name.removeprefix("Replay "): verdict.status for verdict in replayed(Evidence(run), part)}


def is_found(run, part=QUICK):
    return "fails" in statuses(run, part).values()


def changed_times(run, change):
    d = run.dataset
    moved = d.assign_coords(time=change(d["time"])).assign(snapshot_time=change(d["snapshot_time"]), final_time=change(d["final_time"]))
    return Run(moved, run.provenance)


def scaled(run, factor):
    return Run(
        run.dataset.assign({name: factor * run.dataset[name] for name in ("own_correlations", "correlations", "final_correlations")}), run.provenance
    )


def test_honest_runs_hold(run):
    parts = ("states", "most states", "dormant", "losses", "features", "training accuracy", "descent")
    assert statuses(run) == {f"({part})": "holds" for part in parts}


@pytest.mark.parametrize("by", [-2, 2])
def test_features_that_are_learned_at_another_time_are_found(erm, by):
    """From the record after the first change on, two draws more or fewer; the states themselves are as they were."""
    fractions, steps = erm.dataset["feature_learned"].values.copy(), erm.dataset["step"].values
    between = [i for s in stretches(Evidence(erm)) for i in s.records if steps[i] not in erm.dataset["snapshot_step"].values]
    place = next(place for i in between[1:] for place in [(i, *np.argwhere((fractions[i] == 0.0) if by > 0 else (fractions[i] == 1.0))[0])])
    fractions[place] += by / erm.provenance["options"]["n_test"]
    changed = Run(erm.dataset.assign(feature_learned=(erm.dataset["feature_learned"].dims, fractions)), erm.provenance)
    assert {name for name, status in statuses(changed, WHOLE).items() if status == "fails"} == {"(features)"}
    assert {verdict.status for verdict in records(Evidence(changed))} == {"holds"}


def test_a_training_accuracy_that_the_flow_has_not_is_found(run):
    """At records without a saved state, with margins and softmax gaps that agree with it: no check of the records alone sees it."""
    changed = with_training_accuracy_raised(run)
    assert (changed.dataset["training_accuracy"].values != run.dataset["training_accuracy"].values).any()
    assert {verdict.status for verdict in records(Evidence(changed))} == {"holds"}
    assert {name for name, status in statuses(changed, WHOLE).items() if status == "fails"} == {"(training accuracy)"}


@pytest.mark.parametrize("factor", [0.985, 1.015])
def test_a_dormant_correlation_that_is_off_by_fifteen_thousandths_is_found(run, factor):
    """Of a neuron that grows and is not the largest of its view, in a record between two saved states: the records alone do not show it."""
    evidence, own = Evidence(run), run.dataset["own_correlations"].to_numpy().copy()
    record = next(i for s in stretches(evidence)[1:] for i in s.records if run.dataset["step"].values[i] not in run.dataset["snapshot_step"].values)
    here = (
        (own[record] > SIZE / np.sqrt(run.parameters.d))
        & (own[record] < 0.2 * evidence.objective.linear_from)
        & (own[record] < own[record].max(axis=1)[:, None])
    )
    own[record][tuple(np.argwhere(here)[0])] *= factor
    changed = Run(run.dataset.assign(own_correlations=(run.dataset["own_correlations"].dims, own)), run.provenance)
    assert {name for name, status in statuses(changed, WHOLE).items() if status == "fails"} == {"(dormant)"}
    assert {verdict.status for verdict in records(Evidence(changed))} == {"holds"}


def test_the_verdict_says_how_much_was_replayed(erm):
    (states, *_), (all_of_it, *_) = (replayed(Evidence(erm), part) for part in (QUICK, 100.0))
    records, steps = len(erm.dataset.time) - 1, int(erm.dataset["final_step"])
    assert f" of {records} records, after" in states.detail
    assert 0 < int(states.detail.split(f" of {steps} steps, not to the end;")[0].split()[-1]) < steps
    assert all_of_it.detail.startswith(
        f"{records} of {records} records, after {len(stretches(Evidence(erm)))} saved states, {steps} of {steps} steps"
    )


@pytest.mark.parametrize("change", [lambda t: t**1.5, lambda t: 1.2 * t, lambda t: t / 1.2])
def test_other_times_are_found(erm, change):
    assert is_found(changed_times(erm, change))


def with_last_time(run, factor):
    """A run whose last record is said to be later."""
    times = run.dataset["time"].values.copy()
    times[-1] *= factor
    return Run(run.dataset.assign_coords(time=("time", times)).assign(final_time=times[-1]), run.provenance)


def end_of(run):
    """The replay of what follows the last saved state but one: errors and losses at the records."""
    evidence = Evidence(run)
    stretch = stretches(evidence)[0]
    replay = FlowReplay(evidence, stretch)
    replay.go_on(len(stretch.records))
    return replay.result


def test_the_end_is_tied_to_its_time(erm):
    """The last record later, its loss larger, or the correlations of an earlier one as they are at the end."""
    rtol, dims = erm.provenance["integrator"]["rtol"], erm.dataset["own_correlations"].dims
    own, loss = erm.dataset["own_correlations"].values.copy(), erm.dataset["loss"].values.copy()
    own[-3], loss[-1] = own[-1], 1.2 * loss[-1]
    honest, late = end_of(erm), end_of(with_last_time(erm, 1.2))
    assert max(honest.errors) < 1.0
    assert max(honest.losses) < rtol
    assert late.errors[-1] > LARGEST
    assert late.losses[-1] > LOSS * rtol
    assert end_of(Run(erm.dataset.assign(own_correlations=(dims, own)), erm.provenance)).errors[-3] > LARGEST
    assert end_of(Run(erm.dataset.assign(loss=("time", loss)), erm.provenance)).losses[-1] > LOSS * rtol


@pytest.mark.parametrize("changed", [{"rho": 0.125}, {"alpha": 7.0}, {"delta1": 0.15}])
def test_other_parameters_are_found(erm, changed):
    assert is_found(Run(erm.dataset, erm.provenance | {"parameters": erm.provenance["parameters"] | changed}), WHOLE)


@pytest.mark.parametrize("factor", [0.2, 0.95])
def test_shrunken_correlations_are_found(erm, factor):
    assert is_found(scaled(erm, factor))


def test_a_dead_network_at_the_end_is_found(erm, midpoint):
    for run in (erm, midpoint):
        dead = Run(run.dataset.assign(final_correlations=0.0 * run.dataset["final_correlations"]), run.provenance)
        assert statuses(dead, WHOLE)["(states)"] == "fails"


def test_gradient_descent_is_repeated_step_by_step():
    run = simulate("midpoint")
    assert statuses(run) == {"(states)": "holds", "(features)": "holds", "(training accuracy)": "holds", "(descent)": "measured"}
    assert statuses(Run(run.dataset, run.provenance | {"integrator": {"name": "gd", "learning_rate": 3.3}}))["(states)"] == "fails"
    assert statuses(scaled(run, 0.9))["(states)"] == "fails"


def test_pairs_that_are_drawn_at_each_step_are_drawn_again():
    run = simulate("mixup", pairs=7, redraw="each step")
    assert statuses(run)["(states)"] == "holds"


def test_a_budget_of_steps_and_gradients_is_spent():
    budget = Budget(10.0, 40.0)
    for _ in range(5):
        assert budget.is_left
        budget.spend(4)
    assert not budget.is_left


def test_the_budget_decides_how_far_the_replay_goes(erm):
    evidence, steps = Evidence(erm), erm.dataset["step"].values
    parts = stretches(evidence)
    assert sum(part.steps[-1] for part in parts) == steps[-1]
    assert sorted(i for part in parts for i in part.records) == list(range(1, len(steps)))
    assert parts[0].records[-1] == len(steps) - 1, "the end is looked at before all else"

    def begun(most):
        return [replay.reached for replay in replayed_within([FlowReplay(evidence, part) for part in parts], Budget(most, 1e300))]

    assert begun(1e-9) == [1]
    some, more = begun(100), begun(600)
    assert 1 <= len(some) <= len(parts) == len(more)
    assert sum(some) < sum(more) < len(steps) - 1
    assert all(one >= 1 for one in more)
    assert more[0] > 1, "the end goes on before the others"


def test_a_replay_that_stops_and_goes_on_meets_the_same_records(erm):
    evidence = Evidence(erm)
    part = next(part for part in stretches(evidence) if len(part.records) > 2)
    at_once, in_two = FlowReplay(evidence, part), FlowReplay(evidence, part)
    at_once.go_on(len(part.records))
    in_two.go_on(1)
    in_two.go_on(2, Budget(1e-9, 1.0))  # nothing is left of it
    assert in_two.reached == 1
    in_two.go_on(len(part.records))
    assert in_two.result.times == at_once.result.times
    assert max(in_two.result.errors) < 1.0
    assert max(at_once.result.errors) < 1.0


def test_without_records_there_is_nothing_to_meet(erm):
    dataset = erm.dataset.isel(time=slice(1), snapshot=slice(1))
    final = (erm.dataset["final_correlations"].dims, erm.dataset["correlations"].values[0])
    start = Run(dataset.assign(final_step=0, final_time=0.0, final_correlations=final), erm.provenance)
    assert statuses(start) == {"(states)": "not applicable"}


def test_a_replay_that_leads_elsewhere_or_nowhere_fails(erm, monkeypatch):
    """Correlations a million times larger at a saved state; and a replay that may take no steps."""
    c = erm.dataset["correlations"].values.copy()
    c[3] *= 1e6
    run = Run(erm.dataset.assign(correlations=(erm.dataset["correlations"].dims, c)), erm.provenance)
    (states, *_) = replayed(Evidence(run), QUICK)
    assert states.status == "fails"
    assert states.measured > 1e6
    monkeypatch.setattr("mvsim.verification.evidence.replay.AT_LEAST", 0)
    monkeypatch.setattr("mvsim.verification.evidence.replay.PER_STEP", 0)
    (states, *_) = replayed(Evidence(erm), QUICK)
    assert (states.status, states.measured) == ("fails", np.inf)


def test_a_run_whose_records_follow_no_saved_state_is_no_run(erm):
    """Without a saved state before them the records could lead anywhere, and the final network be any."""
    changed = Run(erm.dataset.isel(snapshot=slice(1)).assign(final_step=-1), erm.provenance)
    assert [(verdict.name, verdict.status) for verdict in replayed(Evidence(changed), QUICK)] == [("Replay (states)", "fails")]


@pytest.mark.parametrize(("draws", "expected"), [(1, "inconclusive"), (3, "inconclusive"), (4, "holds")])
def test_with_few_fresh_draws_no_difference_of_features_tells(erm, draws, expected):
    options = erm.provenance["options"] | {"n_test": draws}
    fractions = np.zeros_like(erm.dataset["feature_learned"].values)
    few = Run(erm.dataset.assign(feature_learned=(erm.dataset["feature_learned"].dims, fractions)), erm.provenance | {"options": options})
    assert statuses(few)["(features)"] == ("fails" if expected == "holds" else expected)


def test_gradient_descent_that_needs_more_steps_than_the_file_says_is_given_up():
    run = simulate("erm")
    tiny = Run(run.dataset, run.provenance | {"integrator": {"name": "gd", "learning_rate": 1e-300}})
    assert statuses(tiny)["(states)"] == "fails"
