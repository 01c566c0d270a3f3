"""The gradient flow: its coordinates, its accuracy, its segments, and what it says when it gets stuck."""

from itertools import pairwise, takewhile
from types import SimpleNamespace

import numpy as np
import pytest
import reference
from example_run import assert_same_bits
from tolerances import CLOCK, ROUNDOFF

import mvsim
from mvsim.diagnostics import own_correlations
from mvsim.escapes import EscapeLog, predicted_escape_times
from mvsim.integrators import Field, GradientFlow, State, gradient_flow
from mvsim.integrators.escape_chart import EscapeChart
from mvsim.integrators.gradient_flow import APPROACH, CAREFREE, CAREFUL, CLOSER, ESCAPING, GROWTH, LEFT_OVER, LONGEST, SEGMENT, STILL, _System
from mvsim.laws import DiscreteLaw
from mvsim.objectives import OBJECTIVES
from mvsim.simulation.session import Session

SMALL = mvsim.Parameters(k=3, m=3, N=30, P=16, d=300)


def fields(method="midpoint", parameters=SMALL, **options):
    objective = mvsim.objective(method, parameters, mvsim.sample_dataset(parameters, 0), **options)
    return Field(lambda n, c: objective.gradient(c), objective.curvature, objective.escape_threshold, parameters.alpha)


def follow(field, c, t_end, rtol=1e-3):
    return list(GradientFlow(field, rtol).trajectory(State(0, 0.0, c), t_end))


@pytest.mark.parametrize("alpha", [1.0, 2.0, 3.0, 8.0])
def test_the_chart_is_undone_by_its_inverse_and_its_slope_is_its_derivative(alpha):
    rng = np.random.default_rng(0)
    c = 10.0 ** rng.uniform(-9, 0, (3, 2, 3, 2)) * rng.choice([-1.0, 1.0], (3, 2, 3, 2))
    chart = EscapeChart(c, 0.2, alpha)
    assert len(chart.index) == (0 if alpha < 2 else ((own := own_correlations(c)) > 0).sum() - (own >= 0.2).sum())
    for moved in (c.ravel(), 1.7 * c.ravel(), 0.3 * c.ravel(), -0.1 * c.ravel(), 0.2 + np.abs(c.ravel())):
        y = chart.to_y(moved)
        assert np.allclose(chart.to_c(y), moved, rtol=1e-9, atol=0.0)
        change = 1e-6 * np.abs(moved)
        slope = (chart.to_y(moved + change) - chart.to_y(moved - change)) / (2 * change)
        smooth = np.abs(moved - 0.2) > 1e-5
        assert np.allclose(chart.slope(moved)[smooth], slope[smooth], rtol=1e-4)
    rest = np.setdiff1d(np.arange(c.size), chart.index)
    assert np.array_equal(chart.to_y(c.ravel())[rest], c.ravel()[rest])


def test_on_the_chart_a_blow_up_is_a_straight_line():
    c = np.zeros((1, 1, 1, 2))
    c[0, 0, 0] = 1e-3, 1e-2
    chart = EscapeChart(c, 0.1, 8.0)
    x = np.geomspace(1e-3, 3.0, 200)
    speed = np.minimum(x / 0.1, 1.0) ** 7
    states = np.stack([x, np.full_like(x, 1e-2)], axis=1)
    assert np.allclose([chart.slope(state)[0] for state in states] * speed, 1.0, rtol=1e-12)


K, RHO, ALPHA = 3.0, 0.5, 8.0
BLOW_UP = Field(lambda n, c: -K * np.minimum(c / RHO, 1.0) ** (ALPHA - 1.0), lambda c: None, RHO, ALPHA)
START = np.array([1e-6, 2e-6]).reshape(1, 1, 1, 2)


def test_a_blow_up_arrives_when_it_is_foretold():
    visits = follow(BLOW_UP, START, 1e36, rtol=1e-6)
    log = EscapeLog.started(own_correlations(START), 2.0)
    for before, after in zip([State(0, 0.0, START), *(v.state for v in visits)], visits, strict=False):
        log.observe(before, after.state)
    expected = predicted_escape_times(own_correlations(START), np.log(np.full((1, 2), K)), RHO, ALPHA, log.threshold)
    assert np.allclose(log.time, expected, rtol=1e-4)
    assert log.time[0, 0, 1] < log.time[0, 0, 0]


def test_a_leap_over_the_threshold_is_taken_back(monkeypatch):
    field, c = fields(), mvsim.initial_correlations(SMALL, 0)
    undisturbed = follow(field, c, 2e5)[-1].state.c
    take_step, leaps = GradientFlow._step, []

    def leap_once(flow, solver, system, start, since, limit, y):
        after, reached = take_step(flow, solver, system, start, since, limit, y)
        far = system.chart.index[y[system.chart.index] < -system.chart.threshold]
        if start.step + since > 0 and len(far) and not leaps:
            leaps.append(far[0])
            after[far[0]] = 1e17
        return after, reached

    monkeypatch.setattr(GradientFlow, "_step", leap_once)
    visits = follow(field, c, 2e5)
    assert leaps
    assert max(np.abs(visit.state.c).max() for visit in visits) < 100.0
    assert np.abs(visits[-1].state.c - undisturbed).max() < 0.02 * np.abs(undisturbed).max()


@pytest.mark.parametrize("method", ["erm", "midpoint"])
def test_the_error_is_of_the_order_of_the_tolerance_through_escapes(method):
    field = fields(method)
    c = mvsim.initial_correlations(SMALL, 0)
    t_end = {"erm": 3e3, "midpoint": 2e5}[method]
    reference = follow(field, c, t_end, rtol=1e-8)[-1].state.c
    assert own_correlations(reference).max() > 4 * SMALL.rho  # something has escaped
    size = np.abs(reference) + 0.1 * np.abs(reference).max(axis=(2, 3), keepdims=True)
    errors = [np.max(np.abs(follow(field, c, t_end, rtol)[-1].state.c - reference) / size) for rtol in (1e-3, 1e-5)]
    assert errors[0] <= 10 * 1e-3
    assert errors[1] <= 10 * 1e-5
    assert errors[0] > 1e-9  # and is not 0: the runs differ


def test_the_preconditioner_makes_no_difference_to_the_result():
    field = fields()
    c = mvsim.initial_correlations(SMALL, 0)
    blind = Field(field.gradient, lambda c: None, field.threshold, field.alpha)
    (with_it, *_), (without, *_) = (reversed(follow(f, c, 1e5, 1e-5)) for f in (field, blind))
    assert np.abs(with_it.state.c - without.state.c).max() < 1e-3
    assert with_it.state.evaluations < without.state.evaluations


def segments(visits):
    """The step sizes and states of each segment but the last."""
    found, sizes, states = [], [], []
    for visit in visits:
        sizes.append(visit.state.step_size)
        states.append(visit.state.c)
        if visit.resumable:
            found.append((sizes, states))
            sizes, states = [], []
    return found


def test_a_segment_ends_where_an_own_correlation_comes_near_the_threshold_and_its_steps_grow_slowly():
    field = fields()
    crossings, steady = 0, 0
    for sizes, states in segments(follow(field, mvsim.initial_correlations(SMALL, 0), 3e6)):
        near = np.array([own_correlations(c) >= ESCAPING * field.threshold for c in states])
        crossed = (near[1:] & ~near[:-1]).any(axis=(1, 2, 3))
        assert not crossed[:-1].any()
        crossings += int(crossed[-1:].sum())
        if len(sizes) <= SEGMENT or len(sizes) == LONGEST:  # it may have been warming up until its end
            continue
        growth = np.diff(np.log(sizes[-SEGMENT:]))
        assert growth.max(initial=0.0) <= np.log(GROWTH) + 1e-9
        steady += int((growth > 0.9 * np.log(GROWTH)).sum())
    assert crossings > 0
    assert steady > 0


def test_no_step_goes_further_than_a_part_of_the_way_to_the_next_escape():
    begin, parts = START, []
    for sizes, states in segments(follow(BLOW_UP, START, 1e36)):
        chart = EscapeChart(begin, RHO, ALPHA)
        at = [chart.to_y(c.ravel())[chart.index] for c in (begin, *states)]
        for before, now, last, following in zip(at, at[1:], sizes, sizes[1:], strict=False):
            part = following * ((now - before) / last / (RHO - now))[now < -RHO]
            parts.append(part.max(initial=0.0))
        begin = states[-1]
    assert max(parts) == pytest.approx(APPROACH, rel=CLOCK)


def test_a_segment_ends_where_its_steps_become_too_short_for_its_clock():
    shortest = [np.array(sizes) / np.cumsum(sizes) for sizes, _ in segments(follow(BLOW_UP, START, 1e36))]
    assert min(parts[:-1].min() for parts in shortest) >= 1e-9
    assert min(parts[-1] for parts in shortest) < 1e-9


def test_a_segment_begins_with_a_shorter_step_than_the_last_one():
    at_rest = Field(lambda n, c: 0.0 * c, lambda c: None, RHO, ALPHA)
    first = next(GradientFlow(at_rest, 1e-3).trajectory(State(0, 0.0, START, step_size=1e-3), 1.0))
    assert first.state.step_size == pytest.approx(3e-4)


def test_tolerances_are_relative_to_own_correlations_on_the_chart_and_to_the_largest_of_the_neuron_elsewhere():
    field = fields()
    c = np.full((3, 1, 3, 2), 1e-6)
    c[0, 0, 0, 1] = 2.0 * field.threshold
    c[1, 0, 0, 0] = -3e-6
    atol = GradientFlow(field, 1e-3)._absolute_tolerance(c, EscapeChart(c, field.threshold, field.alpha)).reshape(c.shape)
    assert np.allclose([atol[0, 0, 0, 0], atol[2, 0, 2, 1]], 1e-3 * field.threshold)  # in y, where the threshold is the unit
    assert np.allclose([atol[0, 0, 0, 1], atol[0, 0, 1, 0]], 1e-4 * 2.0 * field.threshold)
    assert np.allclose([atol[1, 0, 0, 0], atol[1, 0, 2, 1], atol[2, 0, 0, 0]], [3e-10, 3e-10, 1e-10])


def test_a_flow_takes_few_gradients():
    assert follow(fields(), mvsim.initial_correlations(SMALL, 0), 2e5)[-1].state.evaluations < 600


def test_products_with_the_jacobian_are_derivatives_and_not_differences_over_the_tolerance():
    field, rtol = fields(), 1e-3
    c = follow(field, mvsim.initial_correlations(SMALL, 0), 2e5)[-1].state.c
    chart = EscapeChart(c, field.threshold, field.alpha)
    system = _System(field, chart, rtol, GradientFlow(field, rtol)._absolute_tolerance(c, chart))
    y = chart.to_y(c.ravel())
    v = np.random.default_rng(0).standard_normal(y.size) * (rtol * np.abs(y) + system.atol)  # one tolerance for each coordinate
    rate, ahead, behind, product = np.empty((4, y.size))
    system.rate(0.0, y, rate)
    system.rate(0.0, y + 1e-5 * v, ahead)
    system.rate(0.0, y - 1e-5 * v, behind)
    system.jacobian_vector_product(0.0, y, rate, v, product)
    expected = (ahead - behind) / 2e-5
    far = np.empty(y.size)
    system.rate(0.0, y + v, far)
    error, of_difference = (np.median(np.abs(found - expected) / np.abs(expected)) for found in (product, far - rate))
    assert error < 1e-4
    assert of_difference > 100 * error


CREEPING = SMALL.replace(m=1, N=20, beta_law=DiscreteLaw(atoms=(0.5,)))


def affordable(field, c, evaluations, t_end=1e12):
    """The visits of a flow until it has taken that many gradients."""
    visits = GradientFlow(field, 1e-3).trajectory(State(0, 0.0, c), t_end)
    return list(takewhile(lambda visit: visit.state.evaluations < evaluations, visits))


def test_a_flow_does_not_creep_because_of_what_its_linear_solves_leave(monkeypatch):
    field, c = fields(parameters=CREEPING), mvsim.initial_correlations(CREEPING, 0)
    careful = affordable(field, c, 6000)[-1].state
    monkeypatch.setattr(gradient_flow, "CLOSER", 1.0)
    careless = affordable(field, c, 6000)[-1].state
    assert careful.time == 1e12
    assert careless.time < 1e11


def test_a_segment_is_careful_while_the_one_before_had_short_steps(monkeypatch):
    made, take = [], GradientFlow._solver

    def solver(flow, system, first, y, krylov):
        made.append((system.closer, krylov))
        return take(flow, system, first, y, krylov)

    monkeypatch.setattr(GradientFlow, "_solver", solver)
    left, measure = [], _System.left_over
    monkeypatch.setattr(_System, "left_over", lambda *arguments: left.append(measure(*arguments)) or left[-1])
    visits = affordable(fields(parameters=CREEPING), mvsim.initial_correlations(CREEPING, 0), 8000)
    careful, begin, whole = False, State(0, 0.0, visits[0].state.c), 0
    for (sizes, _), how, end in zip(segments(visits), made, [v.state for v in visits if v.resumable], strict=False):
        assert how == ((CLOSER, gradient_flow.KRYLOV_CLOSE) if careful else (1.0, gradient_flow.KRYLOV))
        warm = len(sizes) - next((n for n, size in enumerate(sizes) if size >= begin.step_size), len(sizes))
        if warm > SEGMENT or len(sizes) == LONGEST:
            whole += 1
            careful = GradientFlow._goes_on_carefully(begin, end, left.pop(0))
        begin = end
        assert end.careful == careful
    assert whole > 2
    assert {closer for closer, _ in made} == {1.0, CLOSER}


@pytest.mark.parametrize(("was", "growth", "left_over", "goes_on"), [
    (False, 0.9 * CAREFUL, 1.1 * LEFT_OVER, True), (False, 1.1 * CAREFUL, 1.1 * LEFT_OVER, False), (False, 0.9 * CAREFUL, 0.9 * LEFT_OVER, False),
    (False, 0.9 * STILL, 1.1 * LEFT_OVER, False), (True, 0.9 * CAREFREE, 0.0, True), (True, 1.1 * CAREFREE, 1e9, False),
])  # fmt: skip
def test_care_begins_where_a_flow_creeps_and_ends_where_time_grows_well(was, growth, left_over, goes_on):
    start = State(50, 1e3, START, careful=was)
    assert GradientFlow._goes_on_carefully(start, State(250, 1e3 * np.exp(200 * growth), START, step_size=1e9), left_over) == goes_on
    assert not GradientFlow._goes_on_carefully(State(0, 0.0, START), State(100, 1e-9, START), np.inf)


def test_a_force_is_left_over_where_the_rate_is_not_the_velocity():
    field = fields()
    c = follow(field, mvsim.initial_correlations(SMALL, 0), 2e5)[-1].state.c
    chart = EscapeChart(c, field.threshold, field.alpha)
    system = _System(field, chart, 1e-3, GradientFlow(field, 1e-3)._absolute_tolerance(c, chart))
    y = chart.to_y(c.ravel())
    rate = np.empty_like(y)
    system.rate(0.0, y, rate)
    assert system.left_over(y, rate) == pytest.approx(1.0, rel=ROUNDOFF)
    assert system.left_over(y, -0.1 * rate) == pytest.approx(10.0, rel=ROUNDOFF)


def test_a_segment_that_ends_early_or_gives_up_leaves_the_care_as_it_was(monkeypatch):
    begin = State(7, 1.0, START, careful=True)
    early = next(visit.state for visit in GradientFlow(BLOW_UP, 1e-3).trajectory(begin, 1e36) if visit.resumable)
    assert early.step < SEGMENT
    assert early.careful
    take_step = GradientFlow._step

    def fail(flow, solver, system, start, since, limit, y):
        if start.step == 7 and since > 0.0:
            raise gradient_flow._GaveUpError("no convergence")
        return take_step(flow, solver, system, start, since, limit, y)

    monkeypatch.setattr(GradientFlow, "_step", fail)
    given_up = next(visit.state for visit in GradientFlow(BLOW_UP, 1e-3).trajectory(begin, 1e36) if visit.resumable)
    assert (given_up.step, given_up.step_size, given_up.careful) == (8, 0.0, True)


def test_a_careful_segment_that_cannot_begin_is_tried_without_care(monkeypatch):
    take = GradientFlow._segment

    def segment(flow, start, t_end):
        if start.careful:
            raise gradient_flow._GaveUpError("no convergence")
        yield from take(flow, start, t_end)

    monkeypatch.setattr(GradientFlow, "_segment", segment)
    begin = State(0, 0.0, mvsim.initial_correlations(SMALL, 0), step_size=1.0, careful=True)
    visits = list(GradientFlow(fields(), 1e-3).trajectory(begin, 1e4))
    assert [visit.state.step for visit in visits[:2]] == [0, 0]
    assert visits[-1].state.time == 1e4
    assert not visits[-1].state.careful


def test_a_closer_solve_is_the_same_solution_times_a_factor():
    field, rtol = fields(), 1e-3
    c = follow(field, mvsim.initial_correlations(SMALL, 0), 2e5)[-1].state.c
    chart = EscapeChart(c, field.threshold, field.alpha)
    y, r, rate, found = chart.to_y(c.ravel()), np.arange(1.0, c.size + 1), np.empty(c.size), np.empty((2, c.size))
    for closer, out in zip((1.0, 0.01), found, strict=True):
        system = _System(field, chart, rtol, GradientFlow(field, rtol)._absolute_tolerance(c, chart), closer)
        system._set_up(0.0, y, rate, False, [0], 10.0)
        system._solve(0.0, y, rate, r, out, 10.0, 0.0, 1)
    assert np.allclose(found[1], 100.0 * found[0], rtol=1e-12)


def test_loss_falls_along_the_flow():
    objective = mvsim.objective("midpoint", SMALL, mvsim.sample_dataset(SMALL, 0))
    losses = [objective.loss(visit.state.c) for visit in follow(fields(), mvsim.initial_correlations(SMALL, 0), 1e5)]
    assert np.all(np.diff(losses) <= 1e-3 * losses[0])
    assert losses[-1] < 0.9 * losses[0]


def simulate(out=None, method="midpoint", **options):
    return mvsim.simulate(SMALL, method, out=out, **{"t_end": 1e5, "n_test": 4, **options})


@pytest.mark.parametrize("method", ["erm", "midpoint"])
@pytest.mark.parametrize("at", [1, 40, 130])
def test_a_resumed_flow_is_the_uninterrupted_one(at, method, tmp_path, monkeypatch):
    arrive = Session._arrive

    def stop(session, visit):
        arrive(session, visit)
        if visit.state.step == at:
            raise KeyboardInterrupt

    whole = simulate(method=method)
    assert int(whole.dataset["final_step"]) > 130
    with monkeypatch.context() as patch:
        patch.setattr(Session, "_arrive", stop)
        with pytest.raises(mvsim.Interrupted):
            simulate(tmp_path / "run.nc", method)
    assert int(mvsim.open_run(tmp_path / "run.nc").dataset["final_step"]) == at
    assert_same_bits(simulate(tmp_path / "run.nc", method, resume=True).dataset, whole.dataset)


def test_a_resumed_flow_goes_on_as_carefully_as_it_was(tmp_path, monkeypatch):
    for name, value in {"SEGMENT": 10, "CAREFUL": np.inf, "CAREFREE": np.inf, "LEFT_OVER": 0.0, "STILL": 0.0}.items():
        monkeypatch.setattr(gradient_flow, name, value)
    arrive, whole = Session._arrive, simulate()

    def stop(session, visit):
        arrive(session, visit)
        if visit.state.step == 100:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Session, "_arrive", stop)
        with pytest.raises(mvsim.Interrupted):
            simulate(tmp_path / "run.nc")
    assert mvsim.open_run(tmp_path / "run.nc").dataset["resume_careful"] == 1
    assert_same_bits(simulate(tmp_path / "run.nc", resume=True).dataset, whole.dataset)


def test_a_resumed_flow_that_is_stopped_at_once_leaves_what_was_saved(tmp_path, monkeypatch):
    arrive = Session._arrive

    def stop_at(step):
        def stop(session, visit):
            arrive(session, visit)
            if visit.state.step == step:
                raise KeyboardInterrupt

        return stop

    for step in (130, None):
        step = int(mvsim.open_run(tmp_path / "run.nc").dataset["resume_step"]) + 1 if step is None else step
        monkeypatch.setattr(Session, "_arrive", stop_at(step))
        with pytest.raises(mvsim.Interrupted):
            simulate(tmp_path / "run.nc", "erm", resume=True, checkpoint_seconds=1e-9)
        assert int(mvsim.open_run(tmp_path / "run.nc").dataset["final_step"]) == 130
    assert step < 130


@pytest.mark.parametrize("first", [1e3, 3.3e4])
def test_a_flow_extended_in_time_is_the_longer_flow(first, tmp_path):
    simulate(tmp_path / "run.nc", t_end=first)
    assert_same_bits(simulate(tmp_path / "run.nc", resume=True).dataset, simulate().dataset)


def test_bits_do_not_depend_on_threads():
    assert_same_bits(simulate(threads=1).dataset, simulate(threads=2).dataset)


def test_it_settles_and_escapes_are_recorded():
    run = mvsim.simulate(SMALL, "erm", n_test=4)
    assert run.settled
    assert "gradients of the gradient flow" in run.summary
    escaped = run.dataset["escape_time"].values
    inside = own_correlations(run.final_correlations) >= SMALL.rho / SMALL.delta1
    assert np.array_equal(np.isfinite(escaped), inside)
    assert inside.any()
    later = mvsim.simulate(SMALL, "erm", n_test=4, settled_factor=100.0)
    assert later.dataset["time"][-1] > 5 * run.dataset["time"][-1]


def test_a_dead_end_is_named():
    c = np.full((1, 1, 1, 2), 1.0)

    def wall(n, c):  # both sides push towards it: no flow goes on from there
        return np.where(c > 0.7, 1e9, -1e9)

    with pytest.raises(mvsim.StalledError, match=r"t = .*steps of at most .*c\[0, 0, 0, "):
        follow(Field(wall, lambda c: None, 0.1, 8.0), c, 1.0)


def test_a_flow_that_hardly_gets_further_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(gradient_flow, "CREEP", 1e300)
    monkeypatch.setattr(gradient_flow, "CREEPING", 0.15)
    with pytest.raises(mvsim.StalledError, match=r"^\d+ steps since t = \S+ at t = \S+, with steps of at most \S+; hardest to follow is c\["):
        simulate(tmp_path / "run.nc")
    assert mvsim.open_run(tmp_path / "run.nc").status == "stalled"


class FailingSolver:
    """Fails as CVODE does from Python: with a result that says so, after printing it too."""

    def step(self, t, **options):
        print("[cvHandleFailure, Error: -4]")
        return SimpleNamespace(success=False, message="no convergence", t=np.zeros(1), y=np.zeros(2))


def test_a_solver_that_fails_is_named_and_prints_nothing(monkeypatch, capfd):
    monkeypatch.setattr(GradientFlow, "_solver", lambda *arguments: FailingSolver())
    with pytest.raises(mvsim.StalledError, match=r"the solver failed \(no convergence\) at t = 0"):
        follow(Field(lambda n, c: c, lambda c: None, 0.1, 8.0), np.ones((1, 1, 1, 2)), 1.0)
    assert capfd.readouterr() == ("", "")


def test_values_that_are_not_finite_are_named():
    def broken(n, c):
        return np.full_like(c, np.nan)

    with pytest.raises(mvsim.DivergedError, match="not finite"):
        follow(Field(broken, lambda c: None, 0.1, 8.0), np.ones((1, 1, 1, 2)), 1.0)


GROWING = {name: (name, reference.REFERENCES[name].options if name in reference.REFERENCES else {}) for name in OBJECTIVES}
GROWING["mixup, one lambda"] = ("mixup", {"mixing": 0.2})


@pytest.mark.parametrize("case", GROWING)
def test_growth_rates_are_those_of_the_gradient_at_the_start(case):
    method, options = GROWING[case]
    p = mvsim.Parameters(k=4, m=3, N=80, P=10_000, d=10**12, delta3=0.0, delta4=0.0)
    data, c = mvsim.sample_dataset(p, 0), np.abs(mvsim.initial_correlations(mvsim.Parameters(k=4, m=3, d=10**12), 0))
    objective = mvsim.objective(method, p, data, **options)
    own = own_correlations(c)
    measured = -own_correlations(objective.gradient(c)) / (own / p.rho) ** 7
    largest = own.argmax(axis=1)[:, None]  # others feel coinciding patches of larger ones
    assert np.allclose(np.take_along_axis(measured, largest, axis=1)[:, 0], objective.growth_rates(), rtol=0.05)


def test_literal_is_d_to_the_20th():
    assert mvsim.Parameters.literal(k=6).d == 6**20
    assert mvsim.Parameters.literal(k=6, d=7).d == 7
    with pytest.raises(mvsim.UsageError, match="k="):
        mvsim.Parameters.literal(k="x")


def test_round_off_of_the_own_clock():
    c = np.zeros((1, 1, 1, 2))
    c[0, 0, 0] = 1e-12, 0.5
    field = Field(lambda n, c: -(np.minimum(np.maximum(c, 0.0), 1.0) ** 7), lambda c: None, 1.0, 8.0)
    visits = follow(field, c, 1e80)
    assert visits[-1].state.time == 1e80
    assert all(later.state.time >= earlier.state.time for earlier, later in pairwise(visits))
    assert visits[-1].state.c[0, 0, 0, 0] == pytest.approx(1e80, rel=1e-6 + ROUNDOFF)
