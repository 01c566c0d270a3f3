"""The integrator that follows escapes, against the flow and against itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import mvsim
from mvsim.flow import EscapeFollower, Field, GradientFlow, Integrator, State, Visit
from mvsim.flow.forecast import forecast_of
from mvsim.flow.large_step import OFF, LargeSteps, Step
from mvsim.flow.layout import Layout
from mvsim.flow.moment import Moment
from mvsim.flow.stage import Stage
from mvsim.flow.stiff_neurons import StiffNeurons
from mvsim.multi_view.diagnostics import own_correlations
from mvsim.multi_view.objectives import Objective
from mvsim.numerics.indexing import with_entries
from mvsim.runs.recording.entries import EscapeLog
from mvsim.runs.simulation.field import field_of

PARAMETERS = mvsim.Parameters(k=4)
UNTIL = 1.4e6
"""Two classes of four have escaped by then, with both views."""


@pytest.fixture(scope="module")
def objective() -> Objective:
    return mvsim.objective("midpoint", PARAMETERS, mvsim.sample_dataset(PARAMETERS, 0), threads=1)


@pytest.fixture(scope="module")
def field(objective: Objective) -> Field:
    return field_of(objective)


@pytest.fixture(scope="module")
def visits(field: Field) -> list[Visit]:
    return list(EscapeFollower(field).trajectory(_start(), UNTIL))


def _start() -> State:
    return State(0, 0.0, mvsim.initial_correlations(PARAMETERS, 0))


def _escapes(objective: Objective, start: State, visits: Iterator[Visit]) -> np.ndarray:
    """Return (k, V): when the first neuron of every view escapes, inf if none does."""
    log = EscapeLog.started(own_correlations(start.c), objective.linear_from)
    for visit in visits:
        log.observe(start, visit.state)
        start = visit.state
    return np.asarray(np.where(np.isnan(log.time), np.inf, log.time).min(axis=1))


def _close(times: np.ndarray, reference: np.ndarray) -> None:
    escaped = np.isfinite(reference)
    assert (np.isfinite(times) == escaped).all()
    assert (np.argsort(times[escaped]) == np.argsort(reference[escaped])).all()
    np.testing.assert_allclose(times[escaped], reference[escaped], rtol=0.02)
    both = escaped.all(axis=1)
    np.testing.assert_allclose(times[both, 1] - times[both, 0], reference[both, 1] - reference[both, 0], rtol=0.1)


def test_escapes_gaps_and_end_are_those_of_the_flow(field: Field, objective: Objective, visits: list[Visit]) -> None:
    reference = list(GradientFlow(field, 1e-4).trajectory(_start(), UNTIL))
    times = _escapes(objective, _start(), iter(reference))
    assert np.isfinite(times).sum() == 4
    _close(_escapes(objective, _start(), iter(visits)), times)
    outputs, expected = objective.outputs(visits[-1].state.c), objective.outputs(reference[-1].state.c)
    np.testing.assert_allclose(outputs, expected, rtol=0.01, atol=0.01)
    assert visits[-1].state.evaluations < 0.5 * reference[-1].state.evaluations


def test_goes_on_from_what_was_saved_bit_for_bit(field: Field, visits: list[Visit]) -> None:
    integrator: Integrator = EscapeFollower(field)
    resumable = [visit.state for visit in visits if visit.resumable]
    saved = resumable[len(resumable) // 2]
    packed = integrator.pack(saved.memory)
    state = State(saved.step, saved.time, saved.c.copy(), saved.evaluations, np.nan, np.nan, integrator.unpack(packed))
    after = list(EscapeFollower(field).trajectory(state, UNTIL))
    expected = [visit for visit in visits if visit.state.step > saved.step]
    assert [visit.state.time for visit in after] == [visit.state.time for visit in expected]
    assert [visit.state.evaluations for visit in after] == [visit.state.evaluations for visit in expected]
    assert all((one.state.c == other.state.c).all() for one, other in zip(after, expected, strict=True))


def test_a_start_without_the_past_has_the_same_escapes(field: Field, objective: Objective, visits: list[Visit]) -> None:
    times = _escapes(objective, _start(), iter(visits))
    middle = next(visit.state for visit in visits if visit.state.time > times[np.isfinite(times)].min() + 5e3)
    anew = State(middle.step, middle.time, middle.c)
    after = _escapes(objective, anew, EscapeFollower(field).trajectory(anew, UNTIL))
    later = np.isfinite(times) & (times > middle.time)
    assert later.any()
    np.testing.assert_allclose(after[later], times[later], rtol=0.02)


def test_another_neuron_of_a_class_that_has_learned_escapes_as_in_the_flow() -> None:
    p, until = mvsim.Parameters(k=3, d=400, N=30, P=27), 2.1e6
    objective = mvsim.objective("midpoint", p, mvsim.sample_dataset(p, 0), threads=1)
    start = State(0, 0.0, mvsim.initial_correlations(p, 0))
    logs = []
    for integrator in (EscapeFollower(field_of(objective)), GradientFlow(field_of(objective), 1e-3)):
        state, log = start, EscapeLog.started(own_correlations(start.c), objective.linear_from)
        for visit in integrator.trajectory(start, until):
            log.observe(state, visit.state)
            state = visit.state
        logs.append(log.time)
    times, expected = logs
    assert np.isfinite(expected[2, :2]).all()  # both neurons with both views
    np.testing.assert_allclose(times, expected, rtol=0.02)


def test_off_diagonal_correlations_may_err_by_a_part_of_the_largest_of_their_neuron(field: Field, visits: list[Visit]) -> None:
    layout, state, tolerance = Layout(PARAMETERS.correlations_shape, field.escaping), visits[-1].state, 5e-3
    c = state.c.ravel()
    chart, stiff, learned = layout.chart(c), StiffNeurons(field, layout, c), layout.learned(c)
    steps = LargeSteps(field, layout, chart, tolerance)
    now, position = Moment(chart, c, np.zeros_like(c)), np.flatnonzero(stiff.mask & ~layout.is_own & (c < 0.0))[0]
    forecast = forecast_of(layout, stiff.mask, now, None, steps.charted, learned)
    largest = c[layout.neuron == layout.neuron[position]].max()
    for part in (0.5, 2.0):  # of backward Euler the error is h / 2 times the change of the velocity
        end = Moment(chart, c, with_entries(now.v, np.array([position]), np.array([2.0 * part * OFF * tolerance * largest])))
        assert steps.error_of(stiff, now, None, end, 1.0, forecast, learned) == pytest.approx(part)


@pytest.mark.parametrize(
    ("part", "faster", "is_over"), [(0.3, 2.0, True), (0.3, 1.4, False), (0.15, 2.0, False), (0.45, 1.4, True), (0.45, 1.0, False), (0.55, 1.0, True)]
)
def test_a_force_that_changes_makes_a_mark_the_sooner_the_more_it_does(field: Field, part: float, faster: float, is_over: bool) -> None:
    layout, c = Layout(PARAMETERS.correlations_shape, field.escaping), _start().c.ravel()
    chart = layout.chart(c)
    stage = Stage(field, layout, chart, Moment(chart, c, -field.loss_and_gradient(0, _start().c)[1].ravel()), None, 0.0, 5e-3)
    assert not stage.is_over
    stage.go_on(Step(Moment(stage.chart, stage.now.c, faster * stage.now.v)), part * stage.left)
    assert stage.is_over == is_over  # of all the time until a mark is due in any case, part x (1 - 1 / faster) > 0.1


def test_what_has_no_escapes_or_no_hessian_is_refused() -> None:
    p = mvsim.Parameters(k=3, m=2, N=12, P=60)
    for method, change, options in (
        ("midpoint", {}, {"weight_decay": 1e-6}),
        ("midpoint", {"alpha": 2.0}, {}),
        ("midpoint", {"alpha": 1.0}, {}),
        ("mixup", {}, {"pairs": 5}),
        ("midpoint", {}, {"loss": "squared_error"}),
    ):
        q = p.replace(**change)
        field = field_of(mvsim.objective(method, q, mvsim.sample_dataset(q, 0), threads=1, **options))
        with pytest.raises(mvsim.UsageError, match="use integrator flow"):
            next(EscapeFollower(field).trajectory(State(0, 0.0, mvsim.initial_correlations(q, 0)), 1.0))


def test_a_time_to_end_at_is_met(visits: list[Visit]) -> None:
    assert visits[-1].state.time == UNTIL
    assert visits[-1].mark
    assert not visits[-1].resumable


@pytest.mark.parametrize("part", [0.55, 0.8])
def test_what_an_earlier_end_has_changed_is_not_gone_on_from(field: Field, visits: list[Visit], part: float) -> None:
    integrator = EscapeFollower(field)
    saved = [visit.state for visit in integrator.trajectory(_start(), part * UNTIL) if visit.resumable][-1]
    state = State(saved.step, saved.time, saved.c.copy(), saved.evaluations, np.nan, np.nan, integrator.unpack(integrator.pack(saved.memory)))
    last = list(EscapeFollower(field).trajectory(state, UNTIL))[-1].state
    assert (last.step, last.evaluations) == (visits[-1].state.step, visits[-1].state.evaluations)
    assert (last.c == visits[-1].state.c).all()


def test_a_start_beyond_the_threshold_has_a_first_step(field: Field, objective: Objective) -> None:
    beyond = np.abs(_start().c) + 2.0 * objective.linear_from
    last = list(EscapeFollower(field).trajectory(State(0, 0.0, beyond), 1.0))[-1].state
    assert last.time == 1.0
    assert np.isfinite(last.c).all()
