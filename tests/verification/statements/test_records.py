"""Records that were changed are found, whichever they are; so are parameters that are not those of the run."""

import numpy as np
import pytest

from mvsim.recording.variables import When, variables_of
from mvsim.run import Run
from mvsim.verification.evidence.evidence import Evidence
from mvsim.verification.statements import records as records_module
from mvsim.verification.statements.records import NOT_OF_THE_STATE, records

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
    assert [verdict.status for verdict in records(Evidence(run))] == ["holds", "holds"]


@pytest.mark.parametrize("name", CHECKED)
def test_one_record_of_a_saved_state_that_is_off_by_a_thousandth_is_found(midpoint, name):
    record = record_of_snapshot(midpoint, -1)
    changed = with_record(midpoint, name, record, lambda value: value + 1 if value.dtype == np.int64 else value * 1.001 + 1e-3)
    assert "Records (recomputed)" in failing(changed)


@pytest.mark.parametrize("name", FROM_OWN)
def test_a_record_between_saved_states_has_to_fit_the_others(erm, name):
    between = next(i for i in range(40, len(erm.dataset.time)) if erm.dataset["step"].values[i] not in erm.dataset["snapshot_step"].values)
    changed = with_record(erm, name, between, lambda value: value + 1 if value.dtype == np.int64 else 1.001 * value + 1e-6)
    assert failing(changed) == {"Records (consistent)"}


def test_escapes_have_to_lie_between_the_right_records(erm):
    steps = erm.dataset["escape_step"].to_numpy()
    y, r, view = np.argwhere(steps >= 0)[0]
    for moved in (-1, int(erm.dataset["final_step"]), 1):
        changed = steps.copy()
        changed[y, r, view] = moved
        run = Run(erm.dataset.assign(escape_step=(erm.dataset["escape_step"].dims, changed)), erm.provenance)
        assert failing(run) == {"Records (consistent)"}, moved


@pytest.mark.parametrize("changed", [{"rho": 0.1}, {"alpha": 3.0}, {"delta1": 0.2}])
def test_other_parameters_are_found(run, changed):
    assert "Records (recomputed)" in failing(Run(run.dataset, run.provenance | {"parameters": run.provenance["parameters"] | changed}))


def test_another_seed_is_found(run):
    assert "Records (recomputed)" in failing(Run(run.dataset, run.provenance | {"seed": 1}))


def test_a_value_that_was_not_recorded_is_a_difference():
    assert records_module._difference(np.array([1.0, np.nan]), np.array([1.0, 2.0])) == np.inf
    assert records_module._difference(np.array([1.0, np.nan]), np.array([1.1, np.nan])) == pytest.approx(0.1 / 1.1)
