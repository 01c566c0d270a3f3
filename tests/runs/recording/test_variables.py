"""The table of the variables of a run: an entry is all that a new one needs."""

from functools import cache

import numpy as np
import pytest
from compare import assert_close
from example_run import assert_same_bits
from looping import looping
from tolerances import ROUNDOFF

import mvsim
from mvsim.flow import GradientDescent, State
from mvsim.runs.archive import read_run
from mvsim.runs.recording.fresh_draws import FeatureTest
from mvsim.runs.recording.recorder import Recorder
from mvsim.runs.recording.saving import to_dataset
from mvsim.runs.recording.variables import VARIABLES, Values, Variable, When, variables_of
from mvsim.runs.simulation.field import field_of

TINY = mvsim.Parameters(k=3, m=2, N=12, P=9, d=60, G=6)
ETA = 3.0


def simulate(steps, out=None, **options):
    return mvsim.simulate(TINY, "midpoint", seed=0, integrator="gd", eta=ETA, t_end=steps * ETA, n_test=3, out=out, **options)


NEW = {
    When.START: Variable(When.START, ("point",), "int64", "labels", ("objective.data.labels",), np.asarray, Values.FINITE),
    When.RECORD: Variable(When.RECORD, ("time", "label"), "float64", "sums", ("c",), lambda c: c.sum(axis=(1, 2, 3))),
    When.SNAPSHOT: Variable(When.SNAPSHOT, ("snapshot",), "float64", "gradients evaluated", ("evaluations",)),
    When.FINAL: Variable(When.FINAL, (), "float64", "largest", ("c",), np.max),
    When.RESUME: Variable(When.RESUME, (), "float64", "largest", ("c",), np.max),
}
"""A variable of each kind that no run has yet."""


def test_an_entry_of_the_table_is_all_that_a_new_variable_needs(tmp_path, monkeypatch):
    out = tmp_path / "run.nc"
    for when, variable in NEW.items():
        monkeypatch.setitem(VARIABLES, f"new {when.name}", variable)
    whole = simulate(57)
    simulate(40, out)
    for when, variable in NEW.items():
        saved = read_run(out)[0][f"new {when.name}"]
        assert saved.dims == variable.dims
        assert saved.attrs["long_name"] == variable.meaning
        if "time" in saved.dims:
            assert_close(saved.values[-1], mvsim.open_run(out).final_correlations.sum(axis=(1, 2, 3)), ROUNDOFF)
    assert_same_bits(simulate(57, out, resume=True).dataset, whole.dataset)  # the records before were restored


def test_a_run_made_by_hand_needs_every_variable(monkeypatch):
    run = simulate(3)
    monkeypatch.setitem(VARIABLES, "new", NEW[When.RECORD])
    with pytest.raises(mvsim.UsageError, match="variable new is missing"):
        mvsim.Run(run.dataset, run.provenance)


DATA = mvsim.sample_dataset(TINY, 0)
ACTIVE = TINY.rho / TINY.delta1
"""The threshold of B_{y,l} without mixing."""

C = ACTIVE * np.random.default_rng(0).normal(0.2, 1.0, TINY.correlations_shape)
NEURONS, VIEWS = range(TINY.m), range(TINY.V)
RESUME = State(2, 20.0, 2.0 * C, evaluations=5, dissipation=50.0, log_dissipation=500.0)
LAST = State(3, 30.0, 3.0 * C, evaluations=7, dissipation=70.0, log_dissipation=700.0)


@cache
def saved():
    """The data set of a record at C, before any step, and of two states after it."""
    objective = mvsim.objective("erm", TINY, DATA)
    recorder = Recorder(objective, FeatureTest(TINY, 1, 0, None), 0)
    recorder.start(State(0, 0.0, C))
    return to_dataset(recorder, LAST, RESUME, GradientDescent(field_of(objective)))


def test_recorded_arrays_are_saved_without_a_copy():
    objective = mvsim.objective("erm", TINY, DATA)
    recorder = Recorder(objective, FeatureTest(TINY, 1, 0, None), 0)
    recorder.start(State(0, 0.0, C))
    for step in (1, 2):
        recorder.record(State(step, float(step), C))
    dataset = to_dataset(recorder, LAST, RESUME, GradientDescent(field_of(objective)))
    kept = recorder.records | recorder.snapshots.records
    assert len(dataset["own_correlations"]) == len(dataset["correlations"]) == 3
    copied = {name for name, rows in kept.items() if not np.shares_memory(dataset[name].values, rows.values)}
    assert copied <= {"time"}  # xarray keeps an index of its own


@cache
def outputs_of_class(y):
    """The outputs on each training point of a class, patch by patch."""

    def output(s, patches):
        return sum(float(mvsim.smoothed_relu((C[s, r] * patch).sum(), TINY.rho, TINY.alpha)) for r in NEURONS for patch in patches)

    points = [patches for patches, label in zip(DATA.to_patches(), DATA.labels, strict=True) if label == y]
    return [[output(s, patches) for s in range(TINY.k)] for patches in points]


def own(y, view):
    return [C[y, r, y, view] for r in NEURONS]


def total(y, view):
    return sum(a for a in own(y, view) if a >= ACTIVE)


def off_diagonal(y):
    return [C[y, r, s, view] for r in NEURONS for s in range(TINY.k) if s != y for view in VIEWS]


def mean(values):
    return sum(values) / len(values)


OF_CLASS = {
    "own_correlations": lambda y: [[C[y, r, y, view] for view in VIEWS] for r in NEURONS],
    "max_correlation": lambda y: [max(own(y, view)) for view in VIEWS],
    "total_correlation": lambda y: [total(y, view) for view in VIEWS],
    "active_neurons": lambda y: [sum(a >= ACTIVE for a in own(y, view)) for view in VIEWS],
    "view_gap": lambda y: abs(total(y, 0) - total(y, 1)),
    "softmax_gap": lambda y: mean([sum(np.exp(g[s]) for s in range(TINY.k) if s != y) / sum(np.exp(g)) for g in outputs_of_class(y)]),
    "own_output_min": lambda y: min(g[y] for g in outputs_of_class(y)),
    "own_output_max": lambda y: max(g[y] for g in outputs_of_class(y)),
    "other_output_max": lambda y: max(g[s] for g in outputs_of_class(y) for s in range(TINY.k) if s != y),
    "margin_min": lambda y: min(g[y] - max(g[s] for s in range(TINY.k) if s != y) for g in outputs_of_class(y)),
    "off_diagonal_max": lambda y: max(off_diagonal(y)),
    "off_diagonal_min": lambda y: min(off_diagonal(y)),
    "off_diagonal_rms": lambda y: mean([a**2 for a in off_diagonal(y)]) ** 0.5,
}
"""Variables of a record as loops for one class."""


ELSEWHERE = {
    "time", "step", "loss", "training_accuracy", "gradient_norm", "sharpness", "dissipation", "log_dissipation", "turning_rate", "feature_learned",
    "draw_margin_min", "dormant_until",
}  # fmt: skip
"""Variables of a record that are not of single classes; they are tested with what they are measured of."""


def test_every_variable_of_a_record_has_a_test():
    assert set(variables_of(When.RECORD)) == OF_CLASS.keys() | ELSEWHERE


@looping("name", OF_CLASS)
def test_what_is_recorded_is_what_loops_find(name):
    assert_close(saved()[name].values, [[OF_CLASS[name](y) for y in range(TINY.k)]], ROUNDOFF)


@looping("field", ["step", "time", "evaluations", "dissipation", "log_dissipation"])
def test_what_is_saved_of_the_last_state_and_of_that_to_go_on_from_is_theirs(field):
    assert saved()[f"resume_{field}"] == getattr(RESUME, field)
    if f"final_{field}" in VARIABLES:
        assert saved()[f"final_{field}"] == getattr(LAST, field)
