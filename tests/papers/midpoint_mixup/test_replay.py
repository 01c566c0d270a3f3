"""A run that goes elsewhere than its file says is found by going again from its saved states."""

from dataclasses import replace

import numpy as np
import pytest
from tiny_run import simulate

import mvsim
from mvsim.flow import GradientFlow, State
from mvsim.judging.verdict import Count
from mvsim.papers.midpoint_mixup.controls import with_training_accuracy_raised
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.run_checks.closeness import SIZE
from mvsim.papers.midpoint_mixup.run_checks.records import records
from mvsim.papers.midpoint_mixup.run_checks.replay import FlowReplay, replayed_within
from mvsim.papers.midpoint_mixup.run_checks.replay_of_flow import LARGEST, LOSS, replayed
from mvsim.papers.midpoint_mixup.run_checks.stretches import Budget, stretches
from mvsim.runs.run import Run
from mvsim.runs.simulation.field import field_of

QUICK, WHOLE = 0.09, 0.4
"""Parts of the work that a replay may take."""


@pytest.fixture(scope="module")
def erm():
    """A run with one view of each class learned, of fewer classes than elsewhere: here it is replayed again and again."""
    return mvsim.simulate(mvsim.Parameters(k=3, N=24, G=4, P=12, d=300), "erm", seed=2, n_test=5)


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
    parts = ("states", "most states", "dormant", "losses", "features", "training accuracy", "margins", "descent")
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


def test_a_training_accuracy_that_the_flow_has_not_is_found(erm):
    """At records without a saved state, with margins and softmax gaps that agree with it: no check of the records alone sees it."""
    changed = with_training_accuracy_raised(erm)
    assert (changed.dataset["training_accuracy"].values != erm.dataset["training_accuracy"].values).any()
    assert {verdict.status for verdict in records(Evidence(changed))} == {"holds"}
    failing = {name for name, status in statuses(changed, WHOLE).items() if status == "fails"}
    assert "(training accuracy)" in failing <= {"(training accuracy)", "(margins)"}


@pytest.mark.parametrize("factor", [0.985, 1.015])
def test_a_dormant_correlation_that_is_off_by_fifteen_thousandths_is_found(erm, factor):
    """Of a neuron that grows and is not the largest of its view, in a record between two saved states: the records alone do not show it."""
    evidence, own = Evidence(erm), erm.dataset["own_correlations"].to_numpy().copy()
    record = next(i for s in stretches(evidence)[1:] for i in s.records if erm.dataset["step"].values[i] not in erm.dataset["snapshot_step"].values)
    here = (
        (own[record] > SIZE / np.sqrt(erm.parameters.d))
        & (own[record] < 0.2 * evidence.objective.linear_from)
        & (own[record] < own[record].max(axis=1)[:, None])
    )
    own[record][tuple(np.argwhere(here)[0])] *= factor
    changed = Run(erm.dataset.assign(own_correlations=(erm.dataset["own_correlations"].dims, own)), erm.provenance)
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


def test_other_times_parameters_and_correlations_are_found(erm):
    for change in (lambda t: t**1.5, lambda t: 1.2 * t, lambda t: t / 1.2):
        assert is_found(changed_times(erm, change))
    for changed in ({"rho": 0.125}, {"alpha": 7.0}, {"delta1": 0.15}):
        assert is_found(Run(erm.dataset, erm.provenance | {"parameters": erm.provenance["parameters"] | changed}), WHOLE), changed
    for factor in (0.2, 0.95):
        assert is_found(scaled(erm, factor)), factor


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
    assert max(apart.state for apart in honest.distances) < 1.0
    assert max(apart.loss for apart in honest.distances) < rtol
    assert late.distances[-1].state > LARGEST
    assert late.distances[-1].loss > LOSS * rtol
    assert end_of(Run(erm.dataset.assign(own_correlations=(dims, own)), erm.provenance)).distances[-3].state > LARGEST
    assert end_of(Run(erm.dataset.assign(loss=("time", loss)), erm.provenance)).distances[-1].loss > LOSS * rtol


def test_a_dead_network_at_the_end_is_found(erm):
    dead = Run(erm.dataset.assign(final_correlations=0.0 * erm.dataset["final_correlations"]), erm.provenance)
    assert statuses(dead, WHOLE)["(states)"] == "fails"


def test_gradient_descent_is_repeated_step_by_step():
    run, parts = simulate("midpoint"), ("states", "features", "training accuracy", "margins")
    assert statuses(run) == dict.fromkeys((f"({part})" for part in parts), "holds") | {"(descent)": "measured"}
    assert statuses(Run(run.dataset, run.provenance | {"integrator": {"name": "gd", "learning_rate": 3.3}}))["(states)"] == "fails"
    assert statuses(scaled(run, 0.9))["(states)"] == "fails"
    drawn = simulate("mixup", pairs=7, redraw="each step")  # drawn again
    assert statuses(drawn)["(states)"] == "holds"
    tiny = Run(run.dataset, run.provenance | {"integrator": {"name": "gd", "learning_rate": 1e-300}})  # more steps than the file says
    assert statuses(tiny)["(states)"] == "fails"


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
    assert max(apart.state for apart in in_two.result.distances) < 1.0
    assert max(apart.state for apart in at_once.result.distances) < 1.0


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
    monkeypatch.setattr("mvsim.papers.midpoint_mixup.run_checks.replay.AT_LEAST", 0)
    monkeypatch.setattr("mvsim.papers.midpoint_mixup.run_checks.replay.PER_STEP", 0)
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


def test_margins_that_the_flow_has_not_are_found(erm):
    """At records without a saved state the margins are as the file has them, until a replay comes by."""
    steps, margins = erm.dataset["step"].values, erm.dataset["margin_min"].values.copy()
    between = ~np.isin(steps, erm.dataset["snapshot_step"].values) & (steps > 0) & (steps < steps[-1])
    margins[between] *= np.where(margins[between] > 0.0, 1.1, 0.9)
    changed = Run(erm.dataset.assign(margin_min=(erm.dataset["margin_min"].dims, margins)), erm.provenance)
    assert {verdict.status for verdict in records(Evidence(changed))} == {"holds"}
    assert {name for name, status in statuses(changed, WHOLE).items() if status == "fails"} == {"(margins)"}


def test_margins_that_were_not_recorded_are_not_compared(erm):
    unknown = Run(erm.dataset.assign(margin_min=np.nan * erm.dataset["margin_min"]), erm.provenance)
    assert statuses(unknown)["(margins)"] == "not applicable"


def test_an_own_correlation_that_comes_up_from_below_0_by_itself_is_found(erm):
    """In a record between two saved states, by less than the tolerance of a step, which knows no size of what is not above 0."""
    evidence, own = Evidence(erm), erm.dataset["own_correlations"].to_numpy().copy()
    record = next(i for s in stretches(evidence)[1:] for i in s.records if erm.dataset["step"].values[i] not in erm.dataset["snapshot_step"].values)
    below = np.argwhere((own[record] < 0.0) & (own[0] < 0.0))[0]
    own[record][tuple(below)] = 0.05 * evidence.objective.linear_from
    changed = Run(erm.dataset.assign(own_correlations=(erm.dataset["own_correlations"].dims, own)), erm.provenance)
    failing = {name for name, status in statuses(changed, WHOLE).items() if status == "fails"}
    assert failing == {"(dormant)"}


def test_a_final_state_that_has_no_record_is_replayed(erm):
    """A run that was interrupted after its last record: its end is one more point that the replay comes to."""
    cut = len(erm.dataset["time"]) - 3
    state = next(visit.state for visit in trajectory_from(erm, cut) if visit.state.step > int(erm.dataset["step"][cut]))
    honest = interrupted(erm, cut, state)
    assert stretches(Evidence(honest))[0].end is not None
    assert "fails" not in statuses(honest, WHOLE).values()
    elsewhere = interrupted(erm, cut, replace(state, c=np.where(state.c > 1.0, 0.5 * state.c, state.c)))
    assert statuses(elsewhere, WHOLE)["(states)"] == "fails"
    verdicts = {verdict.name: verdict for verdict in replayed(Evidence(honest), 100.0)}
    assert verdicts["Replay (states)"].detail.startswith(f"{cut + 1} of {cut + 1} records")


def trajectory_from(run, record):
    """Steps of the flow from a record of a run on, the state of which is found by going there from the saved state before it."""
    evidence = Evidence(run)
    time = float(evidence.times[record])
    start = [snapshot for snapshot in evidence.snapshots if snapshot.time < time][-1]
    integrator = GradientFlow(field_of(evidence.objective), 1e-4)
    state = None
    for visit in integrator.trajectory(State(start.step, start.time, start.c), time):
        state = visit.state
    yield from integrator.trajectory(State(int(run.dataset["step"][record]), time, state.c), 1.001 * time)


def interrupted(run, last, state):
    """A run that ends in a state beyond its last record."""
    kept = run.dataset["snapshot_step"].values <= int(run.dataset["step"][last])
    dataset = run.dataset.isel(time=slice(last + 1)).isel(snapshot=kept)
    final = {"final_step": state.step, "final_time": state.time, "final_correlations": (run.dataset["final_correlations"].dims, state.c)}
    return Run(dataset.assign(final), run.provenance | {"status": "interrupted"})


def test_a_long_run_of_gradient_descent_is_replayed_to_its_end():
    """Its steps are cheap: what a forger does to one of thousands is found."""
    run = simulate("erm", steps=3000)
    states = {verdict.name: verdict for verdict in replayed(Evidence(run))}["Replay (states)"]
    assert (states.status, states.count) == ("holds", Count(3000, 3000, "steps"))
