"""Records that were changed are found, whichever they are; so are parameters that are not those of the run."""

import numpy as np
import pytest
from tiny_run import simulate

from mvsim.flow.flow import MARK_EVERY
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.run_checks.origin import relative_difference
from mvsim.papers.midpoint_mixup.run_checks.records import NOT_OF_THE_STATE, escapes, records
from mvsim.runs.recording.variables import When, variables_of
from mvsim.runs.run import Run

CHECKED = [name for name in variables_of(When.RECORD) if name not in NOT_OF_THE_STATE]
FROM_OWN = ["own_correlations", "max_correlation", "total_correlation", "active_neurons", "view_gap"]


def failing(run):
    return {verdict.name for verdict in records(Evidence(run)) if verdict.status == "fails"}


def with_record(run, name, record, change):
    values = run.dataset[name].to_numpy().copy()
    values[record] = change(values[record])
    return Run(run.dataset.assign({name: (run.dataset[name].dims, values)}), run.provenance)


def record_of_snapshot(run, number):
    return int(np.flatnonzero(run.dataset["step"].values == run.dataset["snapshot_step"].values[number])[0])


def test_honest_runs_hold(run):
    assert {verdict.status for verdict in records(Evidence(run))} == {"holds"}


@pytest.mark.parametrize("name", CHECKED)
def test_one_record_of_a_saved_state_that_is_off_by_a_thousandth_is_found(midpoint, name):
    record = record_of_snapshot(midpoint, -1)
    changed = with_record(midpoint, name, record, lambda value: value + 1 if value.dtype == np.int64 else value * 1.001 + 1e-3)
    assert failing(changed) & {"Records (recomputed)", "Records (correlations)"}


@pytest.mark.parametrize("name", [name for name in CHECKED if name != "active_neurons"])
def test_the_least_number_of_a_saved_state_may_not_change_either(midpoint, name):
    """By a thousandth of its own size, however small that is beside others of the same variable: dormant correlations are 10^-3 of the largest."""

    def change(value):
        changed = np.atleast_1d(np.array(value))
        changed[np.unravel_index(np.where(changed == 0.0, np.inf, np.abs(changed)).argmin(), changed.shape)] *= 1.001
        return changed.reshape(np.shape(value))

    assert failing(with_record(midpoint, name, record_of_snapshot(midpoint, -1), change)) & {"Records (recomputed)", "Records (correlations)"}


def test_any_correlation_of_a_saved_state_that_is_off_by_a_twentieth_is_found(midpoint):
    """Its records say otherwise: of an own one the correlation itself, of all others their root mean square."""
    c = midpoint.dataset["correlations"].to_numpy()
    for flat in np.random.default_rng(0).choice(c[-1].size, 20, replace=False):
        changed = c.copy()
        changed[-1].flat[flat] *= 1.05
        run = Run(midpoint.dataset.assign(correlations=(midpoint.dataset["correlations"].dims, changed)), midpoint.provenance)
        assert "Records (correlations)" in failing(run), np.unravel_index(flat, c[-1].shape)


def test_the_verdict_says_at_how_many_records_it_looked(midpoint):
    details = [verdict.detail for verdict in records(Evidence(midpoint)) if verdict.name == "Records (recomputed)"]
    assert f"at {len(midpoint.dataset.snapshot) + 1} of {len(midpoint.dataset.time)} records, the others have no saved state" in details[0]


@pytest.mark.parametrize("name", FROM_OWN)
def test_a_record_between_saved_states_has_to_fit_the_others(erm, name):
    between = next(i for i in range(40, len(erm.dataset.time)) if erm.dataset["step"].values[i] not in erm.dataset["snapshot_step"].values)
    changed = with_record(erm, name, between, lambda value: value + 1 if value.dtype == np.int64 else 1.001 * value + 1e-6)
    assert "Records (consistent)" in failing(changed)


def test_escapes_have_to_lie_between_the_right_records(erm):
    steps = erm.dataset["entry_step"].to_numpy()
    y, r, view = np.argwhere(steps >= 0)[0]
    for moved in (-1, int(erm.dataset["final_step"]), 1):
        changed = steps.copy()
        changed[y, r, view] = moved
        run = Run(erm.dataset.assign(entry_step=(erm.dataset["entry_step"].dims, changed)), erm.provenance)
        assert failing(run) - {"Records (order)"} == {"Records (escapes)"}, moved  # which states are saved follows from escapes, too


@pytest.mark.parametrize("name", ["entry", "escape"])
def test_the_time_of_an_escape_lies_between_the_records_around_it(run, name):
    times, recorded = run.dataset[f"{name}_time"].to_numpy(), run.dataset["time"].to_numpy()
    escape = tuple(np.argwhere(times > 0.0)[0])
    after = np.searchsorted(recorded, times[escape])
    for moved in (recorded[after] * 1.001, recorded[after - 1] * 0.999, np.nan, 0.0):
        changed = times.copy()
        changed[escape] = moved
        assert failing(Run(run.dataset.assign({f"{name}_time": (run.dataset[f"{name}_time"].dims, changed)}), run.provenance)) == {
            "Records (escapes)"
        }


def test_an_escape_that_no_record_shows_is_found(erm):
    times, steps = erm.dataset["entry_time"].to_numpy().copy(), erm.dataset["entry_step"].to_numpy().copy()
    neuron = tuple(np.argwhere(steps < 0)[0])
    times[neuron], steps[neuron] = erm.dataset["time"].values[50], erm.dataset["step"].values[50]
    dims = erm.dataset["entry_time"].dims
    found = failing(Run(erm.dataset.assign(entry_time=(dims, times), entry_step=(dims, steps)), erm.provenance))
    assert found - {"Records (order)"} == {"Records (escapes)"}


@pytest.mark.parametrize("name", ["flow", "gd"])
def test_an_escape_between_records_of_gradient_descent_is_a_jump_that_leads_elsewhere(erm, name):
    """Too large a step leads beyond the threshold and the next one back, to another place than before; the flow cannot do that."""
    own, record = erm.dataset["own_correlations"].to_numpy().copy(), 50
    times, steps = erm.dataset["entry_time"].to_numpy().copy(), erm.dataset["entry_step"].to_numpy().copy()
    neuron = tuple(np.argwhere((steps < 0) & (own[record] > 0.0))[0])
    times[neuron], steps[neuron] = erm.dataset["time"].values[record], erm.dataset["step"].values[record]
    descent = erm.provenance | {"integrator": erm.provenance["integrator"] | {"name": name}}
    entries = {f"entry_{what}": (erm.dataset[f"entry_{what}"].dims, values) for what, values in (("time", times), ("step", steps))}
    for moved, found in ((0.4, True), (0.6, name == "flow")):
        own[(slice(record, None), *neuron)] = (1.0 - moved) * own[(record - 1, *neuron)]
        dataset = erm.dataset.assign(own_correlations=(erm.dataset["own_correlations"].dims, own), **entries)
        assert (escapes(Evidence(Run(dataset, descent))).status == "fails") == found, moved


def test_training_accuracy_between_saved_states_has_to_fit_margins_and_softmax_gaps(erm):
    """Where all points are right, one fewer; where no class can be, all of them."""
    accuracy, steps = erm.dataset["training_accuracy"].to_numpy(), erm.dataset["step"].to_numpy()
    between = ~np.isin(steps, [*erm.dataset["snapshot_step"].to_numpy(), steps[-1]])
    right = int(np.flatnonzero(between & (accuracy == 1.0))[-1])
    wrong = int(np.flatnonzero(between & (accuracy < 0.6))[-1])
    for record, value in ((right, 1.0 - 1.0 / erm.parameters.N), (wrong, 1.0)):
        assert failing(with_record(erm, "training_accuracy", record, lambda _, value=value: value)) == {"Records (training accuracy)"}


def test_other_parameters_and_another_seed_are_found(run):
    parameters = run.provenance["parameters"]
    for changed in ({"rho": 0.1}, {"alpha": 3.0}, {"delta1": 0.2}):
        assert "Records (recomputed)" in failing(Run(run.dataset, run.provenance | {"parameters": parameters | changed})), changed
    assert "Records (recomputed)" in failing(Run(run.dataset, run.provenance | {"seed": 1}))


def test_a_value_that_was_not_recorded_is_a_difference():
    assert relative_difference([1.0, np.nan], [1.0, 2.0]) == np.inf
    assert relative_difference([1.0, np.nan, np.inf], [1.1, np.nan, np.inf]) == pytest.approx(0.1 / 1.1)
    assert relative_difference([1.0, 1e-300], [1.0, 0.0]) == np.inf
    assert relative_difference([1.0, 1e-9], [1.0, 2e-9]) == pytest.approx(0.5)
    assert relative_difference([1.0, 1e-9], [1.0, 2e-9], [1.0, 1.0]) == pytest.approx(1e-9)


def test_a_saved_state_that_was_taken_out_is_missed(run):
    """The replay begins at saved states, so that what lies between two of them could be anything without one."""
    for out in range(1, run.dataset.sizes["snapshot"]):
        kept = [i for i in range(run.dataset.sizes["snapshot"]) if i != out]
        dataset = run.dataset.isel(snapshot=kept).assign_coords(snapshot=np.arange(len(kept)))
        verdict = records(Evidence(Run(dataset, run.provenance)))[0]
        assert (verdict.name, verdict.status) == ("Records (order)", "fails")
        assert f"saved states other than those that a run saves: steps {int(run.dataset['snapshot_step'][out])}" in verdict.detail


def test_an_end_beyond_the_time_that_was_asked_for_is_found(run):
    end = float(run.dataset["final_time"])
    for t_end, found in ((2.0 * end, set()), (0.9 * end, {"Records (order)"})):
        asked = run.provenance["integrator"] | {"t_end": t_end}
        assert failing(Run(run.dataset, run.provenance | {"integrator": asked})) == found
    last_step = run.provenance["integrator"] | {"name": "gd", "t_end": 0.9 * end, "learning_rate": 0.2 * end}
    assert "beyond t_end" not in records(Evidence(Run(run.dataset, run.provenance | {"integrator": last_step})))[0].detail


def test_records_and_an_end_that_do_not_follow_each_other_are_found(run):
    steps = run.dataset["step"].to_numpy().copy()
    steps[20], steps[21] = steps[21], steps[20]
    for change in ({"step": ("time", steps)}, {"final_step": 5}, {"final_time": 1e30}, {"final_step": 10**6, "final_time": 1e30}):
        assert "Records (order)" in failing(Run(run.dataset.assign(change), run.provenance)), list(change)


def test_an_unfinished_run_may_have_been_saved_after_its_last_record(run):
    later = run.dataset.assign(final_step=int(run.dataset["final_step"]) + 7, final_time=2.0 * float(run.dataset["final_time"]))
    for status, expected in (("running", "holds"), ("interrupted", "holds"), ("finished", "fails")):
        assert records(Evidence(Run(later, run.provenance | {"status": status})))[0].status == expected


def test_records_may_have_the_same_time_where_double_precision_does_not_tell_them_apart(midpoint):
    """So it is at d = k^20: after an escape at t = 10^50 a step of 10^30 leaves t as it is. Times that go back are found."""
    steps, times = midpoint.dataset["step"].to_numpy(), midpoint.dataset["time"].to_numpy().copy()
    saved = np.isin(steps, midpoint.dataset["snapshot_step"].to_numpy())
    i = int(np.flatnonzero(~saved[1:-2] & ~saved[2:-1])[0]) + 1
    for time, fails in ((times[i + 1], False), (2.0 * times[i + 1], True)):
        changed = times.copy()
        changed[i] = time
        assert ("Records (order)" in failing(Run(midpoint.dataset.assign_coords(time=changed), midpoint.provenance))) is fails


def without_records(run, gone):
    """A run without some of its records, none of them of a saved state."""
    kept = np.setdiff1d(np.arange(len(run.dataset["time"])), gone)
    return Run(run.dataset.isel(time=kept), run.provenance)


def test_records_that_were_taken_out_are_found(erm):
    """A record is due every twenty steps, so that of some that follow each other at twenty steps none can be missing."""
    steps, saved = erm.dataset["step"].values, erm.dataset["snapshot_step"].values
    alone = [i for i in range(1, len(steps) - 1) if steps[i] not in saved and steps[i + 1] - steps[i - 1] > MARK_EVERY]
    assert len(alone) > 3
    for i in alone[:3]:
        (order, *_) = records(Evidence(without_records(erm, [i])))
        assert (order.status, order.detail) == ("fails", f"no record at step {steps[i - 1] + MARK_EVERY} or before, which a run has")


def test_gradient_descent_has_a_record_at_every_mark():
    run = simulate("erm", steps=57)
    assert failing(run) == set()
    place = int(np.flatnonzero(~np.isin(run.dataset["step"].values, run.dataset["snapshot_step"].values))[3])
    assert failing(without_records(run, [place])) == {"Records (order)"}


def test_of_an_unknown_integrator_no_record_is_known_to_be_missing(erm):
    steps, saved = erm.dataset["step"].values, erm.dataset["snapshot_step"].values
    alone = [i for i in range(1, len(steps) - 1) if steps[i] not in saved and steps[i + 1] - steps[i - 1] > MARK_EVERY]
    changed = without_records(erm, alone[:1])
    assert failing(changed) == {"Records (order)"}
    assert failing(Run(changed.dataset, changed.provenance | {"integrator": changed.provenance["integrator"] | {"name": "another"}})) == set()
