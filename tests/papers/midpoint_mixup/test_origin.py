"""A file that names another d, another seed or another regime than those of its run is found."""

import numpy as np
import pytest

import mvsim
from mvsim.judging.verdict import exit_code
from mvsim.papers.midpoint_mixup.assumptions import departures
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.judge_run import evidence_of
from mvsim.papers.midpoint_mixup.run_checks.origin import origin
from mvsim.runs.run import Run


def statuses(run, data=None):
    return {verdict.name: verdict.status for verdict in origin(Evidence(run, data))}


def with_parameters(run, **fields):
    return Run(run.dataset, run.provenance | {"parameters": run.provenance["parameters"] | fields})


def test_honest_runs_hold(run):
    assert statuses(run) == {"Records (start)": "holds", "Records (regime)": "holds"}


@pytest.mark.parametrize("factor", [0.5, 1.01, 4**18])
def test_another_d_is_found_with_its_regime(erm, factor):
    """The correlations are those of the run; what its file says of d, and of r0 in its regime, is not."""
    other = with_parameters(erm, d=int(factor * erm.parameters.d))
    assert statuses(other) == {"Records (start)": "fails", "Records (regime)": "fails"}


def test_another_d_fails_the_evidence_where_its_regime_was_rewritten_too(erm):
    other = with_parameters(erm, d=2 * erm.parameters.d)
    assert exit_code(evidence_of(Evidence(other))) == 1
    regime = [deviation.as_dict() for deviation in Evidence(other).regime]
    assert statuses(Run(other.dataset, other.provenance | {"regime": regime})) == {"Records (start)": "fails", "Records (regime)": "holds"}


def test_another_seed_is_found_whatever_the_data(erm):
    data = mvsim.sample_dataset(erm.parameters, erm.seed)
    other = Run(erm.dataset, erm.provenance | {"seed": erm.seed + 1})
    assert statuses(other, data)["Records (start)"] == "fails"
    assert statuses(erm, data)["Records (start)"] == "holds"


@pytest.mark.parametrize("name", ["correlations", "signal_strength", "predicted_entry_time"])
def test_one_number_of_the_start_that_is_off_by_a_millionth_is_found(midpoint, name):
    values = midpoint.dataset[name].to_numpy().copy()
    smallest = np.unravel_index(np.abs(values[:1] if name == "correlations" else values).argmin(), values.shape)
    values[smallest] *= 1.0 + 1e-6
    assert statuses(Run(midpoint.dataset.assign({name: (midpoint.dataset[name].dims, values)}), midpoint.provenance))["Records (start)"] == "fails"


def test_a_first_state_that_is_not_at_time_0_is_found(erm):
    times = erm.dataset["snapshot_time"].to_numpy().copy()
    times[0] = 1e-9
    assert statuses(Run(erm.dataset.assign(snapshot_time=("snapshot", times)), erm.provenance))["Records (start)"] == "fails"


def test_a_regime_that_is_hidden_is_found_and_labels_no_verdict(erm):
    hidden = Run(erm.dataset, erm.provenance | {"regime": []})
    assert statuses(hidden)["Records (regime)"] == "fails"
    assert departures(Evidence(hidden)) == departures(Evidence(erm))
    for other in ({"version": "0.0.1"}, {"git_revision": "0" * 40}, {"sources": "0" * 64}):
        assert statuses(Run(erm.dataset, hidden.provenance | other))["Records (regime)"] == "not applicable"
