"""The gradient flow: its coordinates, its accuracy, its invariants, and what it says when it gets stuck."""

import math
from dataclasses import fields as dataclass_fields
from dataclasses import replace
from functools import cache, partial
from itertools import islice, pairwise

import numpy as np
import pytest
import reference
from example_run import assert_same_bits
from interrupting import StopAfter, assert_resumes
from looping import looping
from scipy.integrate import quad
from tolerances import ROUNDOFF

import mvsim
from mvsim.flow import Escaping, Field, GradientFlow, State, Units, error_size, stalls
from mvsim.flow import flow as the_flow
from mvsim.flow.arrays import pack
from mvsim.flow.chart import EscapeChart, smallest
from mvsim.flow.flow import APPROACH, GROWTH_THAT_SEES_NOISE, GROWTH_WHEN_QUIET, IMBALANCE, QUIET, RISE
from mvsim.flow.flow_memory import unpack_memory
from mvsim.flow.interface import Motion
from mvsim.flow.secants import Secants
from mvsim.flow.system import Bounds, ChartedField
from mvsim.multi_view import diagnostics
from mvsim.multi_view.diagnostics import output_ranges, own_correlations
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.multi_view.objectives.scales import MOST_OF_STEP, Scales
from mvsim.runs.recording.entries import EscapeLog, predicted_escape_times
from mvsim.runs.simulation.field import field_of

SMALL = mvsim.Parameters(k=3, m=3, N=30, P=16, d=300)


def fields(method="midpoint", parameters=SMALL, **options):
    return field_of(mvsim.objective(method, parameters, mvsim.sample_dataset(parameters, 0), **options))


def follow(field, c, t_end, rtol=1e-3):
    return list(GradientFlow(field, rtol).trajectory(State(0, 0.0, c), t_end))


def plain_field(gradient, loss=lambda c: 1.0, threshold=1.0, alpha=8.0, size=2):
    """A field without data, all coordinates of which may blow up."""
    escaping = Escaping(np.arange(size), np.full(size, threshold), alpha)

    def units(c):
        return Units(*2 * [np.maximum(np.abs(c), threshold)])

    return Field(lambda n, c: (loss(c), gradient(c)), lambda c: None, units, escaping, lambda i: f"c[{i}]")


@looping("alpha", [1.0, 2.0, 2.0 + 1e-13, 2.05, 3.0, 8.0, 64.0])
def test_the_chart_is_undone_by_its_inverse_and_its_slope_is_its_derivative(alpha):
    rng = np.random.default_rng(0)
    c = 0.2 * 10.0 ** (rng.uniform(-9, 0, 36) * min(1.0, 20.0 / alpha)) * rng.choice([-1.0, 1.0], 36)
    candidates = np.arange(0, 36, 2)
    chart = EscapeChart.at(c, candidates, np.full(18, 0.1), alpha)
    inside = (c[candidates] > smallest(alpha) * 0.1) & (c[candidates] < 0.1)
    assert np.array_equal(chart.index, candidates[inside] if alpha >= 2 else [])
    for moved in (c, 1.7 * c, 0.6 * c, -0.1 * c, 0.1 + np.abs(c)):
        y = chart.to_y(moved)
        assert np.isfinite(y).all()
        assert np.allclose(chart.to_c(y), moved, rtol=1e-9, atol=0.0)
        change = 1e-6 * np.abs(moved)
        slope = (chart.to_y(moved + change) - chart.to_y(moved - change)) / (2 * change)
        smooth = np.abs(moved - 0.1) > 1e-5
        smooth[chart.index] &= np.abs(moved[chart.index] / chart.floor - 1.0) > 1e-4
        assert np.allclose(chart.slope(moved)[smooth], slope[smooth], rtol=1e-3)
    rest = np.setdiff1d(np.arange(36), chart.index)
    assert np.array_equal(chart.to_y(c)[rest], c[rest])


@looping("index", [np.arange(6), np.array([5, 0, 3]), np.array([4]), np.zeros(0, int)])
def test_within_some_coordinates_the_chart_is_that_of_all(index):
    c = np.array([1e-3, 0.5, 2e-2, 0.04, 0.7, 0.01])
    chart = EscapeChart.at(c, np.array([5, 3, 0, 1]), np.array([0.1, 0.2, 0.1, 0.3]), 8.0)
    assert chart.index.tolist() == [5, 3, 0]
    within = chart.within(index)
    for moved in (c, 3.0 * c, 0.3 * c):
        y = chart.to_y(moved)
        assert np.array_equal(within.to_y(moved[index]), y[index])
        assert np.array_equal(within.to_c(y[index]), chart.to_c(y)[index])
        assert np.array_equal(within.slope(moved[index]), chart.slope(moved)[index])


@looping("alpha", [3.0, 8.0, 50.0, 64.0])
def test_all_that_escapes_in_time_is_on_the_chart(alpha):
    """From c = x b the escape takes x^-(alpha - 2) / (alpha - 2) units of time; those of less than 10^240 are within reach of the clock."""
    x = 10.0 ** (-240.0 / (alpha - 1.0))
    chart = EscapeChart.at(np.array([x, 0.5]), np.arange(2), np.ones(2), alpha)
    assert chart.index.tolist() == [0, 1]
    assert np.isfinite(chart.to_y(np.array([x, 0.5]))).all()


def test_on_the_chart_a_blow_up_is_a_straight_line():
    chart = EscapeChart.at(np.array([1e-3, 1e-2]), np.arange(2), np.full(2, 0.1), 8.0)
    x = np.geomspace(1e-3, 3.0, 200)
    speed = np.minimum(x / 0.1, 1.0) ** 7
    states = np.stack([x, np.full_like(x, 1e-2)], axis=1)
    assert np.allclose([chart.slope(state)[0] for state in states] * speed, 1.0, rtol=1e-12)


@looping(("c", "curved"), [([1e-3, 1e-2, 0.5], [0, 1]), ([-5.0, 0.2, 0.5], []), ([2e-4, 0.05, 0.5], [1])])
def test_the_chart_is_curved_between_its_floor_and_its_threshold(c, curved):
    chart = EscapeChart.at(np.array([1e-3, 1e-2, 0.5]), np.arange(3), np.full(3, 0.1), 8.0)
    assert chart.curved(chart.to_y(np.array(c))).tolist() == curved


K, RHO, ALPHA = 3.0, 0.5, 8.0
START = np.array([1e-6, 2e-6]).reshape(1, 1, 1, 2)


def _primitive(c):
    """Of the speed K (c / RHO)^(ALPHA - 1) below RHO, K above it."""
    below = np.minimum(c, RHO)
    return K * (below * (below / RHO) ** (ALPHA - 1.0) / ALPHA + np.maximum(c - RHO, 0.0))


BLOW_UP = plain_field(lambda c: -K * np.minimum(c / RHO, 1.0) ** (ALPHA - 1.0), lambda c: 1e40 - _primitive(c).sum(), RHO, ALPHA)


def test_a_blow_up_arrives_when_it_is_predicted():
    visits = follow(BLOW_UP, START, 1e36, rtol=1e-6)
    log = EscapeLog.started(own_correlations(START), 2.0)
    for before, after in zip([State(0, 0.0, START), *(v.state for v in visits)], visits, strict=False):
        log.observe(before, after.state)
    expected = predicted_escape_times(own_correlations(START), np.full((1, 2), np.log(K)), RHO, ALPHA, 2.0)
    assert np.allclose(log.time, expected, rtol=1e-4)
    assert log.time[0, 0, 1] < log.time[0, 0, 0]


@looping("rtol", [1e-3, 1e-4])
@looping("pushed_to", [0.2, 0.4])
def test_what_comes_up_from_below_0_escapes_in_time(pushed_to, rtol):
    """x' = K ((x_+ / b)^(alpha - 1) + p^(alpha - 1)) from below 0: carried by others, then on its own."""
    start, end, push = -0.05 * RHO, 4.0 * RHO, pushed_to ** (ALPHA - 1.0)

    def speed(c):
        return K * (np.clip(c / RHO, 0.0, 1.0) ** (ALPHA - 1.0) + push)

    visits = follow(plain_field(lambda c: -speed(c), lambda c: 1e40 - c.sum(), RHO, ALPHA), np.full((1, 1, 1, 2), start), 1e9, rtol)
    after = next(visit.state for visit in visits if visit.state.c.min() > end)
    exact, _ = quad(lambda x: 1.0 / speed(x), start, end, points=[0.0, 0.1 * RHO, pushed_to * RHO, RHO], epsabs=0.0, epsrel=1e-10, limit=500)
    arrived = after.time - (after.c[0, 0, 0, 0] - end) / speed(end)  # beyond the threshold the speed is constant
    assert abs(arrived / exact - 1.0) < 5.0 * rtol


def test_the_scale_of_a_chart_is_the_change_that_doubles_the_way_to_go():
    c = np.array([1e-3, 4e-2, 0.2, -0.05])
    chart, tiny = EscapeChart.at(c, np.arange(3), np.full(3, 0.1), 8.0), 1e-7
    further = np.concatenate([c[:2] + tiny * chart.scale(c), c[2:]])
    moved = (chart.to_y(further) - chart.to_y(c))[chart.index]
    assert np.allclose(moved, tiny * (np.abs(chart.to_y(c)[chart.index]) + 0.1), rtol=1e-4)
    others = chart.others(np.arange(4), np.full(4, 0.1), 8.0)
    assert others.index.tolist() == [2, 3]
    assert others.scale(c)[0] == math.inf  # beyond its threshold
    assert not chart.others(np.arange(4), np.full(4, 0.1), 1.5).index.shape[0]


@looping("method", ["erm", "midpoint"])
def test_the_error_is_of_the_order_of_the_tolerance_through_escapes(method):
    """Of correlations and, absolutely, of the margins of the training points, against a reference at a hundredth of the tolerance and less."""
    field, data = fields(method), mvsim.sample_dataset(SMALL, 0)
    outputs, c = mvsim.objective(method, SMALL, data).outputs, mvsim.initial_correlations(SMALL, 0)
    t_end = {"erm": 3e3, "midpoint": 2e5}[method]
    reference = follow(field, c, t_end, rtol=1e-6)[-1].state.c
    assert own_correlations(reference).max() > 4 * SMALL.rho  # something has escaped
    size = np.abs(reference) + 0.1 * np.abs(reference).max(axis=(2, 3), keepdims=True)
    ends = {rtol: follow(field, c, t_end, rtol)[-1].state.c for rtol in (1e-3, 1e-4)}
    errors = {rtol: np.max(np.abs(end - reference) / size) for rtol, end in ends.items()}
    of_margins = {rtol: np.abs(least_margins(outputs(end), data) - least_margins(outputs(reference), data)).max() for rtol, end in ends.items()}
    for rtol in ends:
        assert errors[rtol] <= 10 * rtol
        assert of_margins[rtol] <= 10 * rtol
    assert errors[1e-3] > 1e-9  # and is not 0: the runs differ


def least_margins(outputs, data):
    """Of each class the least margin of its points."""
    return output_ranges(outputs, data.labels).margin_min


@cache
def gaps(seed, rtol):
    """Of each class both views of which escape, the time between."""
    field = field_of(mvsim.objective("midpoint", SMALL, mvsim.sample_dataset(SMALL, seed)))
    c = mvsim.initial_correlations(SMALL, seed)
    log = EscapeLog.started(own_correlations(c), SMALL.rho)
    states = [State(0, 0.0, c), *(visit.state for visit in follow(field, c, 1e6, rtol))]
    for before, after in pairwise(states):
        log.observe(before, after)
    first = np.where(np.isnan(log.time), 1e300, log.time).min(axis=1)
    return np.abs(first[:, 0] - first[:, 1])[first.max(axis=1) < 1e300]


@looping(("seed", "rtol"), [(0, 1e-3), (3, 2e-3), (3, 1e-3)])
def test_the_time_between_the_escapes_of_two_views_is_met(seed, rtol):
    """Steppers that err by many tolerances in the one coordinate that moves let a second view hang near the threshold, at some tolerances."""
    expected = gaps(seed, 3e-4)
    assert len(expected) == {0: 2, 3: 3}[seed]
    assert np.allclose(gaps(seed, rtol), expected, rtol=50.0 * max(rtol, 1e-3))


def test_equations_that_were_not_solved_are_forgotten_at_an_escape():
    """They were counted for a system that is another one from then on. Without products the whole Hessian is not formed, which forgets them too."""
    field = replace(fields("erm"), product=None)
    visits = follow(field, mvsim.initial_correlations(SMALL, 0), 3e3)
    escape = next(place for place, visit in enumerate(visits[1:], 1) if visit.state.memory.since_escape == 0.0)
    before = visits[escape - 3].state
    counted = replace(before.memory, stepper=replace(before.memory.stepper, unsolved=500))
    again = [visit.state.memory.stepper.unsolved for visit in islice(GradientFlow(field, 1e-3).trajectory(replace(before, memory=counted), 1e250), 3)]
    assert min(again[:2]) >= 500
    assert again[2] == 0


def test_the_preconditioner_makes_no_difference_to_the_result():
    field = fields()
    c = mvsim.initial_correlations(SMALL, 0)
    blind = Field(field.loss_and_gradient, lambda c: None, field.units, field.escaping, field.component)
    (with_it, *_), (without, *_) = (reversed(follow(f, c, 1e5, 1e-5)) for f in (field, blind))
    assert np.abs(with_it.state.c - without.state.c).max() < 1e-3
    assert with_it.state.evaluations < without.state.evaluations


def test_steps_grow_slowly_and_go_no_further_than_a_part_of_the_way_to_the_next_escape():
    parts, moving, resting = [], [], []
    for before, after in pairwise(follow(BLOW_UP, START, 1e36)):
        memory = before.state.memory
        stepper, index = memory.stepper, memory.chart.index
        y = stepper.history.Z[0, index]
        speed = stepper.history.Z[1, index] / (stepper.history.h * stepper.clock) + stepper.drift[index]
        waiting = y < -RHO
        parts.append(float((after.state.memory.size * speed / (RHO - y))[waiting].max(initial=0.0)))
        (resting if stepper.error < QUIET else moving).append(after.state.memory.size / memory.size)
    assert max(parts) <= APPROACH * (1.0 + 1e-9)
    assert max(parts) > 0.9 * APPROACH
    assert max(moving) <= GROWTH_THAT_SEES_NOISE * (1.0 + 1e-9) < max(resting) <= GROWTH_WHEN_QUIET * (1.0 + 1e-9)


def test_a_flow_takes_few_gradients():
    visits = follow(fields(), mvsim.initial_correlations(SMALL, 0), 2e5)
    assert visits[-1].state.evaluations - sum(visit.mark for visit in visits) < 600  # besides one at each mark, for the loss there


@looping("rtol", [1e-3, 3e-4])
@looping("method", ["erm", "midpoint"])
def test_the_loss_never_rises_and_what_it_loses_is_the_integral_of_the_squared_gradient(method, rtol):
    """Steps err by some rtol of what they lose, and add up."""
    objective = mvsim.objective(method, SMALL, mvsim.sample_dataset(SMALL, 0))
    visits = follow(fields(method), mvsim.initial_correlations(SMALL, 0), 1e6, rtol)
    losses = np.array([objective.loss(visit.state.c) for visit in visits])
    log_losses = np.log(losses)
    assert np.max(log_losses - np.minimum.accumulate(log_losses)) <= 1e-6
    assert losses[-1] < 0.9 * losses[0]
    dissipation = np.array([[visit.state.dissipation, visit.state.log_dissipation] for visit in visits])
    lost, fallen = losses[0] - losses, log_losses[0] - log_losses
    assert np.all(np.abs(dissipation[:, 0] - dissipation[0, 0] - lost) <= 20 * rtol * losses[0])
    assert np.all(np.abs(dissipation[:, 1] - dissipation[0, 1] - fallen) <= 20 * rtol * (1.0 + fallen))


def test_the_losses_that_are_remembered_are_those_at_marks_where_they_are_evaluated(monkeypatch):
    """What the last iterate of a step says of the loss, to first order, may be wrong: here it is by 1, but for the beginning."""
    first_order, evaluated, exact = ChartedField.log_loss, ChartedField.evaluated_log_loss, [True]

    def log_loss(system, c):
        said = first_order(system, c) - (0.0 if exact else 1.0)
        exact.clear()
        return said

    def evaluated_log_loss(system, y):
        exact.append(True)
        said = evaluated(system, y)
        exact.clear()
        return said

    monkeypatch.setattr(ChartedField, "log_loss", log_loss)
    monkeypatch.setattr(ChartedField, "evaluated_log_loss", evaluated_log_loss)
    objective = mvsim.objective("erm", SMALL, mvsim.sample_dataset(SMALL, 0))
    visits = follow(fields("erm"), mvsim.initial_correlations(SMALL, 0), 2e5, 1e-4)
    assert sum(not visit.mark for visit in visits) > 50
    marks = [visit.state for visit in visits if visit.mark]
    losses = np.log([objective.loss(state.c) for state in marks])
    assert [state.memory.marked_log_loss for state in marks] == pytest.approx(losses, abs=1e-9)
    assert [state.memory.lowest for state in marks] == pytest.approx(np.minimum.accumulate(losses), abs=1e-9)


def test_a_step_after_which_the_loss_has_risen_is_tried_again_until_the_flow_is_given_up(monkeypatch):
    """A gradient that is not that of the loss: the loss would rise for ever."""
    monkeypatch.setattr(stalls, "STALL_STEPS", 0.2)
    field = plain_field(lambda c: -np.ones_like(c), lambda c: float(np.exp(c.max())), threshold=1e-3)
    c, largest = np.ones((1, 1, 1, 2)), 1.0

    def go():
        nonlocal largest
        for visit in GradientFlow(field, 1e-3).trajectory(State(0, 0.0, c), 10.0):
            largest = visit.state.c.max()

    with pytest.raises(mvsim.StalledError, match=r"the loss does not fall|the last escape grew by less"):
        go()
    assert largest <= 1.0 + 1.001 * RISE * 1e-3


def test_a_step_that_passes_over_an_escape_is_refused(monkeypatch):
    """Where rho is large, outputs are of order 1 long before neurons are linear, so that an escape is over within a moment of the step before.

    Errors of single coordinates do not guard against that here, so that the balance has to.
    """
    monkeypatch.setattr(error_size, "MOST_OF_ONE", np.inf)
    p = mvsim.Parameters(k=3, N=30, rho=1e3)
    objective, c = mvsim.objective("erm", p, mvsim.sample_dataset(p, 0)), mvsim.initial_correlations(p, 0)

    def imbalances():
        """Of each step, in relative tolerances."""
        states = [State(0, 0.0, c), *(visit.state for visit in follow(field_of(objective), c, 2.6e25))]
        log_losses = np.log([objective.loss(state.c) for state in states])
        falls = -np.diff(log_losses)
        return np.abs(falls - np.diff([state.log_dissipation for state in states])) / (1.0 + np.maximum(falls, 0.0)) / 1e-3

    largest = imbalances().max()
    assert 1.0 < largest <= 2.0 * IMBALANCE  # it is the balance since the last mark that may be so far off, to either side
    monkeypatch.setattr(the_flow, "IMBALANCE", 0.25 * largest)
    assert imbalances().max() < 0.75 * largest


@looping(("excess", "steps", "least", "most"), [(0.01, 30, 0.005, 0.01), (0.06, 1000, 0.015, 0.02)])
def test_a_loss_that_falls_by_more_than_the_gradient_says_is_found_out(excess, steps, least, most):
    """ln J falls by 2 between marks, which puts its balance out by that part of 2 / 3; at rtol 1e-3 a step may leave it out by 0.02."""

    def loss(c):
        return 0.5 * (1.0 + excess) * float((c**2).sum())

    visits = follow(plain_field(lambda c: c, loss, threshold=1e-12), np.ones((1, 1, 1, 2)), 5.0)
    marks = [State(0, 0.0, np.ones((1, 1, 1, 2))), *(visit.state for visit in visits if visit.mark)]
    fall = -np.diff(np.log([loss(state.c) for state in marks]))
    balance = np.abs(fall - np.diff([state.log_dissipation for state in marks])) / (1.0 + fall)
    assert least < balance.max() <= most * (1.0 + 1e-9)
    assert len(visits) <= steps


def gains_from_0_to_1(start, end):
    """Of a coordinate that moves from 0 to 1 in unit time, while ln J goes from ``start`` to ``end``; no change of either is forbidden."""
    chart = EscapeChart.at(np.ones(2), np.arange(2), np.full(2, 0.1), 8.0)
    system = ChartedField(plain_field(np.zeros_like, lambda c: float(np.exp(end))), chart, (1, 1, 1, 2), 1e-3, 10.0)
    begin, stop = (Motion(np.array([place, 1.0]), np.array([1.0, 0.0])) for place in (0.0, 1.0))
    system.rate(stop.y)
    return system.gains(Bounds(start, np.inf, start, 0.0, np.inf), 1.0, begin, stop)


def test_where_the_last_iterate_tells_the_loss_badly_it_is_evaluated():
    """J = |c|^2 / 2 along c' = -c: known to first order from the start of the step alone, ln J seems to have fallen by more than the integral."""
    chart = EscapeChart.at(np.ones(2), np.arange(2), np.full(2, 0.1), 8.0)
    system = ChartedField(plain_field(lambda c: c, lambda c: 0.5 * float((c**2).sum())), chart, (1, 1, 1, 2), 1e-3, 10.0)
    begin, end = (Motion(c, -c) for c in (np.full(2, 1.0), np.full(2, math.exp(-0.3))))
    system.rate(begin.y)
    first, looks = system.log_loss(end.y), system.evaluations
    gains = system.gains(Bounds(0.0, 0.0, 0.0, 0.0, 0.01), 0.3, begin, end)
    assert first < -0.6 + -0.01 * 1.6 or first > -0.6 + 0.01 * 1.6
    assert gains == pytest.approx([1.0 - math.exp(-0.6), 0.6], rel=1e-3)
    assert system.evaluations == looks + 2


def test_products_with_the_hessian_count_as_two_gradients_each():
    chart = EscapeChart.at(np.ones(2), np.arange(2), np.full(2, 0.1), 8.0)
    system = ChartedField(plain_field(np.zeros_like), chart, (1, 1, 1, 2), 1e-3, 10.0)
    system.spent(3)
    assert system.evaluations == 6


def test_the_integrals_over_a_step_are_those_of_the_cubic_through_its_ends():
    """ln J is -0.1309 and -0.2611 at the two nodes, between its ends 0 and -1/2 with the slopes -1 and -e^(1/2) there."""
    assert gains_from_0_to_1(0.0, -0.5) == pytest.approx([1.0, 1.219026], rel=1e-6)


def test_across_an_escape_the_loss_is_no_larger_or_smaller_than_at_the_ends_of_the_step():
    """Where J falls to 1 %, its slope there would have ln J rise to 9 on the way; where it rises from 1 %, have it fall to -17 at the first node."""
    fall = math.log(100.0)
    assert gains_from_0_to_1(0.0, -fall) == pytest.approx([1.0, 1.0], rel=1e-12)
    assert gains_from_0_to_1(-fall, 0.0) == pytest.approx([1.0, 0.5 * (100.0 + 50.4352)], rel=1e-5)


@looping(
    ("end", "gain", "allowed"),
    [
        (-1.5, 0.3, True),  # since the last mark ln J has fallen by 0.5, of which 0.2 before this step
        (-1.5, 0.4, True),
        (-1.5, 0.46, False),
        (-1.5, 0.14, False),
        (-3.0, 1.52, True),  # the allowed difference grows with the fall
        (0.1, -1.3, False),  # above the highest
        (-np.inf, 800.0, True),  # a loss of 0
        (np.nan, 0.3, False),
    ],
)
def test_a_step_keeps_the_balance(end, gain, allowed):
    assert Bounds(-1.2, 0.0, -1.0, 0.2, 0.1).allow(end, gain) == allowed


LITERAL = mvsim.Parameters.literal(k=3, m=3, N=30)


def test_after_saturation_the_loss_falls_as_one_over_t_at_the_literal_dimension():
    """At d = k^20 correlations reach hundreds, while the loss is exp(-margin): margins have to be resolved absolutely."""
    run, rtol = mvsim.simulate(LITERAL, "erm", seed=1, n_test=4), 1e-3
    ds = run.dataset
    log_loss, last = np.log(ds["loss"].values), ds.isel(time=-1)
    assert run.settled
    assert np.max(log_loss - np.minimum.accumulate(log_loss)) <= 0.01
    fall = -np.diff(log_loss)  # with units relative to the correlations, and steps taken unseen, the balance is off by 0.25
    assert np.max(np.abs(fall - np.diff(ds["log_dissipation"].values)) / (1.0 + fall)) <= 30 * rtol
    assert 0.5 <= float(last["gradient_norm"] ** 2 * last["time"] / last["loss"]) <= 2.0
    assert np.array_equal(np.sort(last["feature_learned"].values, axis=1)[:, 1], np.ones(3))


@looping("size", [0.01, 0.1, 1.0, 100.0])
def test_a_change_of_one_unit_changes_no_output_by_more_than_one(size):
    """Of one coordinate at a time; where neurons are linear in all points and the total decides, by nearly as much."""
    objective = mvsim.objective("midpoint", SMALL, mvsim.sample_dataset(SMALL, 0))
    scales, rng = Scales(objective), np.random.default_rng(0)
    c = size * rng.standard_normal((3, 3, 3, 2))
    (units, finest), before, largest = scales.units(c), objective.outputs(c), 0.0
    assert np.array_equal(units, finest), "points are mixed: nothing rests"
    for place in np.ndindex(c.shape):
        for sign in (-1.0, 1.0):
            change = np.zeros_like(c)
            change[place] = sign * units[place]
            largest = max(largest, np.abs(objective.outputs(c + change) - before).max())
    assert largest <= 1.0 + 1e-12
    assert largest > (0.9 if size == 100.0 else 0.0)


def test_small_correlations_are_resolved_relative_to_themselves():
    objective = mvsim.objective("midpoint", SMALL, mvsim.sample_dataset(SMALL, 0))
    scales, c = Scales(objective), 1e-7 * np.random.default_rng(0).standard_normal((3, 3, 3, 2))
    small, _ = scales.units(c)
    assert np.all(small[0, :, 1] == 0.1 * np.abs(c[0]).max(axis=(1, 2))[:, None])
    own, escaped = np.arange(3), SMALL.rho / (SMALL.delta2 - SMALL.delta1)
    assert np.all((small[own, :, own] > 0.3 * escaped) & (small[own, :, own] < 3.0 * escaped))


def test_a_place_of_rest_on_noise_is_resolved_to_a_part_of_itself():
    """A neuron rests on noise where (n / rho)^(alpha - 1) is the residual of its class; the unit falls with that n, and is not small beside it."""
    p = SMALL.replace(m=1)
    objective, c = mvsim.objective("erm", p, mvsim.sample_dataset(p, 0)), np.zeros((3, 1, 3, 2))
    for size in (10.0, 30.0, 300.0):
        c[np.arange(3), 0, np.arange(3)] = size
        labels = objective.data.labels
        residual = diagnostics.class_mean(diagnostics.softmax_gap(objective.outputs(c), labels), labels, 3)
        rest = p.rho * residual ** (1.0 / (p.alpha - 1.0))
        of_step, of_equation = (units.min(axis=(1, 2, 3)) for units in Scales(objective).units(c))
        assert np.all(of_equation <= 20.0 * rest)
        assert np.all(of_equation >= 0.1 * rest)
        assert np.all(of_equation <= of_step)
        assert np.all(of_step <= MOST_OF_STEP * of_equation * (1.0 + 1e-12))
    assert np.allclose(of_step, MOST_OF_STEP * of_equation), "far along, a step may be off by much more than what is left of its equation"


def simulate(out=None, method="midpoint", **options):
    return mvsim.simulate(SMALL, method, out=out, **{"t_end": 1e5, "n_test": 4, **options})


@cache
def uninterrupted(method="midpoint"):
    """Once for all tests."""
    return simulate(method=method)


@pytest.mark.parametrize("method", ["erm", "midpoint"])
@pytest.mark.parametrize("at", [1, 40, 110])
def test_a_resumed_flow_is_the_uninterrupted_one(at, method, tmp_path, monkeypatch):
    assert_resumes(partial(simulate, method=method), at, uninterrupted(method), tmp_path / "run.nc", monkeypatch)


def test_a_resumed_flow_loses_no_step_however_short_the_slices_are(tmp_path, monkeypatch):
    whole, slices, run = simulate(method="erm", t_end=3e3), 0, None
    last = int(whole.dataset["final_step"])
    monkeypatch.setattr("mvsim.runs.simulation.session.DISPLAY_SECONDS", 0.0)
    while run is None:
        try:
            run = simulate(tmp_path / "run.nc", "erm", t_end=3e3, resume=True, progress=StopAfter(lambda step: step % 5 == 0 and step < last))
        except mvsim.Interrupted:
            slices += 1
            assert int(mvsim.open_run(tmp_path / "run.nc").dataset["final_step"]) == 5 * slices
    assert slices > 8
    assert_same_bits(run.dataset, whole.dataset)


def test_the_memory_of_a_flow_is_what_was_packed():
    packed = pack(follow(fields("erm"), mvsim.initial_correlations(SMALL, 0), 1e3)[10].state.memory)
    again = pack(unpack_memory(packed))
    assert set(again) == set(packed) >= {"chart.index", "stepper.history.Z"}
    for name, values in packed.items():
        assert np.array_equal(again[name], values)
        assert again[name].dtype == values.dtype


def test_every_number_that_a_flow_carries_comes_back_from_what_was_packed():
    """Some of them change no step unless they are rare: an error at rest, equations that were not solved, a clock that stands still."""
    flow, memory = GradientFlow(BLOW_UP), follow(BLOW_UP, START, 1e36)[10].state.memory
    of_stepper = {
        "most_growth": 2.5,
        "steps": 57,
        "linearised_at": 41,
        "inverted_at": 52,
        "gamma": 0.125,
        "rate": 0.31,
        "error": 3e-6,
        "linearised_clock": 2.5e-7,
        "unsolved": 17,
        "form_hessian": True,
        "exact": True,
        "clock": 6.5e4,
    }
    of_flow = {
        "size": 1.5e-9,
        "time_lost": -3e-20,
        "lowest": -1.75,
        "largest": 12.5,
        "marked": 48,
        "marked_time": 7e15,
        "since_escape": 4e-3,
        "moving_step": 43,
        "moving_since": 2e-3,
        "log_loss": -1.5,
        "marked_log_loss": -1.25,
        "marked_integral": 0.375,
    }
    of_history = {"h": 0.0625, "wait": 3, "scale": 0.875}
    saved = replace(memory, **of_flow, stepper=replace(memory.stepper, **of_stepper, history=replace(memory.stepper.history, **of_history)))
    came_back = flow.unpack(flow.pack(saved))
    parts = ((came_back, of_flow), (came_back.stepper, of_stepper), (came_back.stepper.history, of_history), (came_back.chart, {"alpha": 8.0}))
    for part, expected in parts:
        numbers = {name: value for name, value in vars(part).items() if isinstance(value, bool | int | float)}
        assert numbers == expected
        assert {name: type(value) for name, value in numbers.items()} == {name: type(value) for name, value in expected.items()}


@pytest.mark.parametrize("first", [1e3, 3.3e4])
def test_a_flow_extended_in_time_is_the_longer_flow(first, tmp_path):
    simulate(tmp_path / "run.nc", t_end=first)
    assert_same_bits(simulate(tmp_path / "run.nc", resume=True).dataset, uninterrupted().dataset)


def test_what_a_flow_that_ends_early_calls_resumable_lies_on_the_longer_one():
    """At ends within every other step, early and late in it: one that is cut short, or tried again after it was cut, is none of the longer flow."""
    field = fields("erm", mvsim.Parameters(k=3, N=30, P=16, d=2000))
    flow, states = GradientFlow(field, 1e-3), [State(0, 0.0, mvsim.initial_correlations(mvsim.Parameters(k=3, N=30, P=16, d=2000), 0))]
    for visit in flow.trajectory(states[0], 1e250):
        states.append(visit.state)
        if visit.state.time > 4.5e8:
            break
    seen = 0
    for start, end in islice(pairwise(states[:-1]), 0, None, 2):
        for part in (0.05, 0.3, 0.6, 0.95):
            for visit in flow.trajectory(start, start.time + part * (end.time - start.time)):
                if visit.resumable:
                    seen += 1
                    there = states[visit.state.step]
                    assert visit.state.time == there.time
                    assert np.array_equal(visit.state.c, there.c)
    assert seen < len(states)


@pytest.mark.parametrize("cut", [True, False])
def test_a_step_that_is_tried_shorter_after_t_end_has_cut_it_is_not_resumable(cut, monkeypatch):
    """It does not reach t_end, and still it is none of the flow that goes on: that one was never tried at this length."""
    field, c = plain_field(lambda c: c, lambda c: 1.0 + 0.5 * float((c**2).sum())), np.ones((1, 1, 1, 2))
    before, after = (visit.state for visit in follow(field, c, 10.0)[5:7])
    t_end = before.time + (0.5 if cut else 20.0) * (after.time - before.time)
    gains, asked = ChartedField.gains, []

    def refuse_once(system, *step):
        asked.append(step)
        return gains(system, *step) if len(asked) > 1 else None

    monkeypatch.setattr(ChartedField, "gains", refuse_once)
    first = next(GradientFlow(field, 1e-3).trajectory(before, t_end))
    assert len(asked) == 2
    assert before.time < first.state.time < t_end
    assert first.resumable != cut


def test_bits_do_not_depend_on_threads():
    assert_same_bits(simulate(threads=1, t_end=1e4).dataset, simulate(threads=2, t_end=1e4).dataset)


def test_it_settles_and_escapes_are_recorded():
    run = mvsim.simulate(SMALL, "erm", n_test=4)
    assert run.settled
    assert "gradients of the gradient flow" in run.summary
    escaped = run.dataset["entry_time"].values
    inside = own_correlations(run.final_correlations) >= SMALL.rho / SMALL.delta1
    assert np.array_equal(np.isfinite(escaped), inside)
    assert inside.any()
    later = mvsim.simulate(SMALL, "erm", n_test=4, settled_factor=100.0)
    assert later.dataset["time"][-1] > 5 * run.dataset["time"][-1]


def test_a_dead_end_is_named():
    c = np.full((1, 1, 1, 2), 1.0)

    def wall(c):  # both sides push towards it: no flow goes on from there
        return np.where(c > 0.7, 1e9, -1e9)

    with pytest.raises(mvsim.StalledError, match=r"at t = .*step size .*c\[\d\] = "):
        follow(plain_field(wall, lambda c: 1.0 + 1e9 * float(np.abs(c - 0.7).sum()), threshold=0.1), c, 1.0, rtol=0.1)


def test_a_flow_that_hardly_gets_further_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(stalls, "STALL_GROWTH", 1e300)
    monkeypatch.setattr(stalls, "STALL_STEPS", 0.01)
    said = r"^the flow has stalled: in \d+ steps the time since the last escape grew by less than .*, at t = \S+ .*; c\[.* changes most"
    with pytest.raises(mvsim.StalledError, match=said):
        simulate(tmp_path / "run.nc")
    assert mvsim.open_run(tmp_path / "run.nc").status == "stalled"


def test_values_that_are_not_finite_are_named():
    with pytest.raises(mvsim.DivergedError, match="not finite"):
        follow(plain_field(lambda c: np.full_like(c, np.nan)), np.ones((1, 1, 1, 2)), 1.0)


def test_a_step_that_fails_for_good_is_named(monkeypatch):
    monkeypatch.setattr("mvsim.flow.stepper.solve_by_secants", lambda *equation: (None, Secants.none()))
    with pytest.raises(mvsim.StalledError, match="the equation of a step is not solved"):
        follow(fields(), mvsim.initial_correlations(SMALL, 0), 1.0)


GROWING = {name: (name, reference.REFERENCES[name].options if name in reference.REFERENCES else {}) for name in OBJECTIVES}
GROWING["mixup, one lambda"] = ("mixup", {"mixing": 0.2})
GROWING["mixup, drawn pairs"] = ("mixup", {"mixing": 0.5, "pairs": 200_000, "redraw": "once"})


@looping("case", GROWING)
def test_growth_rates_are_those_of_the_gradient_at_the_start(case):
    method, options = GROWING[case]
    p = mvsim.Parameters(k=4, m=3, N=80, P=10_000, d=10**12, delta3=0.0, delta4=0.0)
    data, c = mvsim.sample_dataset(p, 0), np.abs(mvsim.initial_correlations(mvsim.Parameters(k=4, m=3, d=10**12), 0))
    objective = mvsim.objective(method, p, data, **options)
    own = own_correlations(c)
    measured = -own_correlations(objective.gradient(c)) / (own / p.rho) ** 7
    largest = own.argmax(axis=1)[:, None]  # others feel coinciding patches of larger ones
    # Of M drawn pairs about M / (N k) are of a point of one class with itself, with a standard deviation of the root of that.
    rtol = 3.0 / (options["pairs"] / (p.N * p.k)) ** 0.5 if "pairs" in options else 0.05
    assert np.allclose(np.take_along_axis(measured, largest, axis=1)[:, 0], np.exp(objective.log_growth_rates()), rtol=rtol)


def test_literal_is_d_to_the_20th():
    assert mvsim.Parameters.literal(k=6).d == 6**20
    assert mvsim.Parameters.literal(k=6, d=17).d == 17
    with pytest.raises(mvsim.UsageError, match="k="):
        mvsim.Parameters.literal(k="x")


def test_what_the_clock_loses_to_rounding_is_not_lost():
    """A hundred thousand steps of 10^-2 from 10^16 on, each of which rounds to nothing."""
    time, lost = 1e16, 0.0
    for _ in range(10**5):
        time, lost = the_flow.added(time, lost, 1e-2)
    assert time + lost == 1e16 + 1e3


def test_the_flow_carries_what_its_clock_loses():
    """Linearisation 1e17 doubles are 16 apart, and a decay that takes some units is over before the clock has moved."""
    field, begin = plain_field(lambda c: c, lambda c: 1.0 + 0.5 * float((c**2).sum())), 1e17
    visits = GradientFlow(field, 1e-6).trajectory(State(0, begin, np.ones((1, 1, 1, 2))), begin + 64.0)
    states = [visit.state for visit in visits][:-1]  # the last one is put at the end
    sizes = [state.memory.size for state in states]
    elapsed = [state.time - begin + state.memory.time_lost for state in states]
    assert elapsed == pytest.approx([math.fsum(sizes[: n + 1]) for n in range(len(sizes))], rel=1e-12, abs=0.0)
    assert sum(state.time == begin for state in states) > 10
    assert len(states) > 50


def test_the_time_since_an_escape_begins_anew_with_each():
    """Two coordinates escape, one after the other; from there on the time of the run says nothing of the time that matters."""
    states = [visit.state for visit in follow(BLOW_UP, START, 1e36)]
    waiting = [2, *(int((state.c < 0.5).sum()) for state in states)]
    since, escapes = 0.0, 0
    for state, (before, after) in zip(states, pairwise(waiting), strict=True):
        escapes += before - after
        since = 0.0 if after < before else since + state.memory.size
        assert state.memory.since_escape == since
    assert escapes == 2


def test_a_correlation_does_not_jump_over_its_threshold():
    """It comes from far below, where the tolerance is relative to where it is; above it would be the wrong one."""
    chart = EscapeChart.at(np.array([1e-3, 0.5]), np.arange(2), np.ones(2), 8.0)
    system = ChartedField(plain_field(lambda c: -np.ones_like(c)), chart, (1, 1, 1, 2), 1e-3, 1.0)
    system.rate(system.chart.to_y(np.array([1e-3, 0.5])))
    anything = Bounds(0.0, np.inf, 0.0, 0.0, np.inf)
    start = Motion(np.array([-10.0, 0.5]), np.ones(2))
    assert system.gains(anything, 1.0, start, Motion(np.array([5.0, 0.6]), np.ones(2))) is None
    assert system.gains(anything, 1.0, start, Motion(np.array([0.5, 0.6]), np.ones(2))) is not None
    assert system.gains(anything, 1.0, Motion(np.array([-0.5, 0.5]), np.ones(2)), Motion(np.array([5.0, 0.6]), np.ones(2))) is not None


def test_round_off_of_the_own_clock():
    c = np.zeros((1, 1, 1, 2))
    c[0, 0, 0] = 1e-12, 0.5
    field = plain_field(lambda c: -(np.minimum(np.maximum(c, 0.0), 1.0) ** 7), lambda c: 1e90 - float(c.sum()))
    visits = follow(field, c, 1e80, 1e-8)
    assert visits[-1].state.time == 1e80
    assert all(later.state.time >= earlier.state.time for earlier, later in pairwise(visits))
    assert visits[-1].state.c[0, 0, 0, 0] == pytest.approx(1e80, rel=1e-6 + ROUNDOFF)


def test_what_would_be_read_back_as_something_else_is_not_packed():
    class Bent(EscapeChart):
        """A chart of another class than the field of the memory says."""

    memory = follow(fields(), mvsim.initial_correlations(SMALL, 0), 1.0)[-1].state.memory
    bent = Bent(**{field.name: getattr(memory.chart, field.name) for field in dataclass_fields(memory.chart)})
    with pytest.raises(TypeError, match="chart is a Bent, and would be read back as a EscapeChart"):
        pack(replace(memory, chart=bent))
