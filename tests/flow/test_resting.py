"""Neurons that rest while others are stepped: how they move meanwhile, which they are, and that flows are the same with and without."""

import math
import re
from dataclasses import replace
from functools import cache
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np
import pytest
from compare import assert_close
from looping import looping
from tolerances import DISSIPATED, FEW_OPERATIONS, RESTED

import mvsim
from mvsim.flow import Escaping, Field, GradientFlow, Groups, State, Units, resting, stalls, stepped_system
from mvsim.flow import flow as the_flow
from mvsim.flow.arrays import pack
from mvsim.flow.chart import EscapeChart
from mvsim.flow.flow import MARK_EVERY
from mvsim.flow.resting import LEADING, RestingCoordinates, RestState, choose_stepped, next_to_escape
from mvsim.flow.secants import Secants
from mvsim.flow.system import ChartedField
from mvsim.multi_view.diagnostics import own_correlations
from mvsim.runs.recording.entries import EscapeLog
from mvsim.runs.simulation.field import field_of

B, ALPHA = 0.5, 8.0

# How those that rest move -----------------------------------------------------------------------------------------------------------------

START = np.array([0.10, 0.20, 0.12, 0.15, 0.11, 0.30, -0.01, 0.70, 0.40, 0.05, -0.2, 0.02, 0.21, 0.0, -0.3, -0.1, -0.2, -0.1, 0.8, 0.9])
"""Four rows of four own correlations: all on the chart; two on it, one below 0 and one beyond its threshold; two on it and two below 0; none on
it. The others are not own ones."""

ALIKE = np.array([[0, 1, 2, 3], [8, 5, 6, 7], [12, 9, 14, 15], [16, 17, 18, 19]])
OWN = np.sort(ALIKE.ravel())
STEPPED = np.array([1, 3, 5, 8, 11, 12, 9])
STEPPED.sort()
FOLLOWING = {0: 3, 2: 3}
"""What rests on the chart, and the guide of each: of the two that are next to escape, the one farther from the threshold."""


def the_chart(c=START):
    return EscapeChart.at(c, OWN, np.full(len(OWN), B), ALPHA)


RATIO = np.linspace(0.9, 1.1, len(START))
"""Of the speed of each coordinate and that of its row."""


def speed_of_rows(t):
    """That of all that are on the chart, as the softmax might change it; it is nearly halved while t grows from 0 to 1."""
    return 3.0 / (1.0 + t) ** 0.9


def way_of_rows(t):
    """Its integral."""
    return 30.0 * ((1.0 + t) ** 0.1 - 1.0)


def at_time(t, bend=0.0):
    """Coordinates and their velocities at t: on the chart as their rows, in a ratio that ``bend`` lets change; others at a speed that it changes."""
    chart = the_chart()
    y, ratio, change = chart.to_y(START), RATIO.copy(), bend * np.sin(1.0 + np.arange(len(START)))
    on_chart = np.isin(np.arange(len(y)), chart.index)
    place = np.where(on_chart, y + ratio * way_of_rows(t), y + ratio * t) + 0.5 * change * t**2
    return place, np.where(on_chart, ratio * speed_of_rows(t), ratio) + change * t


def resting_from_0(bend=0.0):
    y, velocity = at_time(0.0, bend)
    return RestingCoordinates(RestState(STEPPED, y, velocity, 0.0, 0.0), the_chart(), ALIKE)


OTHERS = np.setdiff1d(np.arange(len(START)), [*STEPPED, *FOLLOWING])


def test_what_rests_on_the_chart_moves_as_its_guide_does_whatever_that_does():
    """Even where the guide is halfway slower than it was; at its first speed nothing would be where it should."""
    rest = resting_from_0()
    for t in (0.1, 1.0, 7.0):
        y, velocity = at_time(t)
        found, index = rest.at(y[STEPPED], t), np.array([*FOLLOWING])
        assert_close(found[index], y[index], FEW_OPERATIONS)
        assert_close(rest.corrected(y[STEPPED], t, velocity)[index], y[index], FEW_OPERATIONS)
        at_first_speed = at_time(0.0)[0] + t * at_time(0.0)[1]
        assert np.abs(at_first_speed[index] - y[index]).min() > 1e-3


def test_the_guide_is_the_second_of_its_row():
    """A first one that is already past its threshold, where outputs change, tells nothing of the others; a third one is not stepped."""
    rest, (y, _) = resting_from_0(), at_time(1.0)
    moved = rest.at(y[STEPPED], 1.0)
    for coordinate, followers in ((1, []), (3, [0, 2]), (5, []), (8, []), (11, [])):
        elsewhere = y.copy()
        elsewhere[coordinate] += 1.0
        changed = np.flatnonzero(rest.at(elsewhere[STEPPED], 1.0) != moved).tolist()
        assert changed == sorted([coordinate, *followers])


def test_where_one_alone_comes_what_recedes_moves_at_constant_speed():
    """In the third row: of its others one is on the chart and recedes, and two are not on it."""
    y, velocity = at_time(0.0)
    velocity = velocity.copy()
    velocity[9] = -0.5
    stepped = np.setdiff1d(STEPPED, [9])
    rest = RestingCoordinates(RestState(stepped, y, velocity, 0.0, 0.0), the_chart(), ALIKE)
    end = y + velocity
    end[12] += 0.25
    found = rest.at(end[stepped], 1.0)
    assert found[9] == pytest.approx(y[9] - 0.5, rel=FEW_OPERATIONS)
    assert found[[14, 15]] == pytest.approx((y + velocity)[[14, 15]], rel=FEW_OPERATIONS)


def test_what_is_not_on_the_chart_or_beyond_its_threshold_moves_at_constant_speed():
    """So do rows none of which comes; where nothing bends, that is exact."""
    rest, t = resting_from_0(), 0.7
    (y, _), (start, velocity) = at_time(t), at_time(0.0)
    assert_close(rest.at(y[STEPPED], t)[OTHERS], (start + t * velocity)[OTHERS], FEW_OPERATIONS)
    assert set(OTHERS) >= {6, 7, 14, 15, 16, 17, 18, 19, 4, 10, 13}
    of_no_guide = RestingCoordinates(RestState(STEPPED, start, -velocity, 0.0, 0.0), the_chart(), ALIKE)
    assert_close(np.delete(of_no_guide.at(y[STEPPED], t), STEPPED), np.delete(start - t * velocity, STEPPED), FEW_OPERATIONS)


def test_what_is_stepped_is_where_its_stepper_says():
    rest, given, velocity = resting_from_0(), np.random.default_rng(0).standard_normal(len(STEPPED)), at_time(1.0)[1]
    for found in (rest.at(given, 1.0), rest.corrected(given, 1.0, velocity)):
        assert np.array_equal(found[STEPPED], given)
    of = rest.of(velocity)
    assert np.array_equal(of[STEPPED], np.zeros(len(STEPPED)))
    assert np.array_equal(np.delete(of, STEPPED), np.delete(velocity, STEPPED))


@looping("which", ["with a guide", "the others"])
def test_the_correction_makes_what_rests_of_second_order(which):
    """Errors over a time t fall as its third power, without the correction as its second."""
    index, errors, uncorrected = np.array([*FOLLOWING]) if which == "with a guide" else OTHERS, [], []
    rest = resting_from_0(bend=0.3)
    for t in (0.008, 0.004):
        y, velocity = at_time(t, bend=0.3)
        extra = np.where(np.isin(np.arange(len(y)), index), 0.4 * t**3, 0.0)  # a cubic, which neither has exactly
        y, velocity = y + extra, velocity + 3.0 * extra / t
        errors.append(np.abs(rest.corrected(y[STEPPED], t, velocity) - y)[index])
        uncorrected.append(np.abs(rest.at(y[STEPPED], t) - y)[index])
    assert np.log2(uncorrected[0] / uncorrected[1]) == pytest.approx(2.0, abs=0.1)
    assert np.log2(errors[0] / errors[1]) == pytest.approx(3.0, abs=0.1)


def test_where_the_guide_has_turned_its_row_moves_at_constant_speed():
    """How far it went says nothing of the others then."""
    rest, (start, velocity) = resting_from_0(), at_time(0.0)
    back = velocity.copy()
    back[3] = -1.5 * velocity[3]
    found = rest.corrected((start + velocity)[STEPPED], 1.0, back)
    assert found[[0, 2]] == pytest.approx((start + velocity)[[0, 2]], rel=FEW_OPERATIONS)


@looping("corrected", [False, True])
def test_what_noise_carries_guides_nothing(corrected):
    """From far below it is on its way at 10^5 times the speed of its row on the chart, and comes second; an escape elsewhere makes it faster."""
    c = np.array([0.20, 0.02, 0.15, 0.12])
    chart, alike, noise, t = EscapeChart.at(c, np.arange(4), np.full(4, B), ALPHA), np.arange(4)[None, :], 2.2e-4, 6.0
    y, velocity = chart.to_y(c), np.full(4, 3.0)
    velocity[1] = noise * chart.slope(c)[1]
    assert next_to_escape(y, velocity, chart, alike).tolist() == [[0, 1]]
    assert velocity[1] > 1e5 * 3.0
    moved = y + t * velocity
    moved[1] = chart.to_y(c + noise * t)[1]
    later = velocity.copy()
    later[1] = 1e4 * noise * chart.slope(c + noise * t)[1]
    rest, stepped = RestingCoordinates(RestState(np.arange(2), y, velocity, 0.0, 0.0), chart, alike), moved[:2]
    found = rest.corrected(stepped, t, later) if corrected else rest.at(stepped, t)
    assert (found - y)[2:] == pytest.approx(np.full(2, 18.0), rel=0.01)


# Which are stepped ------------------------------------------------------------------------------------------------------------------------


class Leaders(NamedTuple):
    """Coordinates, their velocities, their chart and rows, and which lead."""

    y: np.ndarray
    velocity: np.ndarray
    chart: EscapeChart
    alike: np.ndarray
    expected: list


def leaders():
    """Ways to go of 1 to 6 times the threshold and more, at different speeds.

    The rows: the nearest is slow; one comes; none comes; two of one speed and way; all beyond, or not on the chart, or at rest.
    """
    n = 20
    c = np.full(n, 0.2)
    c[18] = -0.1
    chart = EscapeChart.at(c, np.arange(n), np.full(n, B), ALPHA)
    assert chart.index.tolist() == [*range(18), 19]
    way = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 1.0, 2.0, 3.0, 4.0, 2.0, 2.0, 2.0, 1.0, -1.0, -2.0, 1.0, 3.0])
    speed = np.array([0.1, 1.0, 1.0, 4.0, 0.0, -1.0, 2.0, 0.0, -1.0, -2.0, 0.0, -3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0, 5.0, 0.0])
    alike = np.arange(n).reshape(5, 4)
    return Leaders(B - way, speed, chart, alike, [[3, 1], [6, -1], [-1, -1], [15, 12], [-1, -1]])


def test_the_two_next_to_escape_lead_each_row():
    y, velocity, chart, alike, expected = leaders()
    assert next_to_escape(y, velocity, chart, alike).tolist() == expected
    assert next_to_escape(y, velocity, chart, alike[:, ::-1]).tolist() == [*expected[:3], [15, 14], expected[4]]
    assert next_to_escape(y, velocity, chart, alike[[3, 0]]).tolist() == [expected[3], expected[0]]
    assert LEADING == 2


def test_rows_of_one_coordinate_have_one_leader_or_none():
    y, velocity, chart, _, _ = leaders()
    assert next_to_escape(y, velocity, chart, np.array([[0], [4], [18], [6]])).tolist() == [[0], [-1], [-1], [6]]


class Asked(Groups):
    """Coordinates that are groups of their own, and what was asked of them."""

    def __init__(self, alike, answer):
        self.alike, self.answer, self.asked = alike, answer, []

    def around(self, c, wanted, before):
        self.asked.append((c, sorted(wanted.tolist()), before))
        return self.answer

    def field(self, c, positions):
        raise AssertionError("nobody asks for it here")


def test_nothing_rests_where_there_are_few_coordinates_or_no_groups(monkeypatch):
    y, velocity, chart, alike, _ = leaders()
    groups, nothing = Asked(alike, np.arange(3)), np.zeros(0, int)
    assert len(y) < resting.LEAST
    assert choose_stepped(groups, chart, y, y, velocity, nothing, nothing) is None
    assert groups.asked == []
    monkeypatch.setattr(resting, "LEAST", len(y) + 1)
    assert choose_stepped(groups, chart, y, y, velocity, nothing, nothing) is None
    monkeypatch.setattr(resting, "LEAST", len(y))
    assert choose_stepped(groups, chart, y, y, velocity, nothing, nothing) is groups.answer
    assert choose_stepped(None, chart, y, y, velocity, nothing, nothing) is None


def test_those_that_lead_and_those_that_are_wanted_are_stepped(monkeypatch):
    monkeypatch.setattr(resting, "LEAST", 0)
    y, velocity, chart, alike, expected = leaders()
    for answer in (np.arange(3), None):
        groups, c, before = Asked(alike, answer), y.copy(), np.array([2, 4])
        assert choose_stepped(groups, chart, c, y, velocity, np.array([17, 0]), before) is answer
        [(at, wanted, preferred)] = groups.asked
        assert at is c
        assert preferred is before
        assert wanted == sorted([17, 0, *(i for row in expected for i in row if i >= 0)])


# Flows of coordinates that do not know of each other ----------------------------------------------------------------------------------------

GROWN = np.array([0.20, 0.15, 0.12, 0.10, 0.3, 0.1])
"""Four that blow up, of which none does before t = 6, one at constant speed, and one that goes at constant speed until it bends."""

K, SPEED, FAST, BEND = 3.0, 0.01, 0.1, 0.1
BENDS_FROM = 0.35
"""Where the last one does, at t = 2.5; its speed grows from there on at the rate BEND."""


def gradient_of(c):
    """Minus their speeds."""
    last = FAST + BEND * max(c[5] - BENDS_FROM, 0.0)
    return -np.array([*(K * np.minimum(c[:4] / B, 1.0) ** (ALPHA - 1.0)), SPEED, last])


def parts_of_loss(c):
    """What each coordinate takes from it."""
    c = np.asarray(c)
    below, beyond = np.minimum(c[:4], B), np.maximum(c[:4] - B, 0.0)
    blown = K * (below * (below / B) ** (ALPHA - 1.0) / ALPHA + beyond)
    return np.array([*blown, SPEED * c[4], FAST * c[5] + 0.5 * BEND * max(c[5] - BENDS_FROM, 0.0) ** 2])


def loss_of(c):
    """What falls as they say, of the order of 1."""
    return 3.0 - float(parts_of_loss(c).sum())


EVALUATED = []
"""How many coordinates each evaluation had."""


class EachAlone(Groups):
    """Each coordinate is a group; those that have been stepped go on to be, and `most` may be. It remembers where it was asked for which."""

    def __init__(self, most):
        self.alike, self.most, self.chosen = np.arange(4)[None, :], most, []

    def around(self, c, wanted, before):
        index = np.unique(np.concatenate([wanted, before]))
        return index if index.shape[0] <= self.most else None

    def field(self, c, positions):
        self.chosen.append(positions.tolist())

        def whole(x):
            c_with_x = c.flatten()
            c_with_x[positions] = x
            return c_with_x

        def loss_and_gradient(step, x):
            return loss_of(whole(x)), gradient_of(whole(x))[positions]

        waiting = positions[positions < 4]
        return alone_field(loss_and_gradient, np.searchsorted(positions, waiting), None, lambda i: f"c[{positions[i]}]")


def alone_field(evaluate, positions, groups, component):
    escaping = Escaping(positions, np.full(len(positions), B), ALPHA)

    def units(c):
        return Units(*2 * [np.maximum(np.abs(c), B)])

    def loss_and_gradient(step, c):
        EVALUATED.append(c.shape[0])
        return evaluate(step, c)

    return Field(loss_and_gradient, lambda c: None, units, escaping, component, groups=groups)


def alone(most=5):
    """The field of all, and its groups."""
    groups = EachAlone(most)
    return alone_field(lambda step, c: (loss_of(c), gradient_of(c)), np.arange(4), groups, lambda i: f"c[{i}]"), groups


def where_they_are(t):
    """The solution, from `GROWN` on."""
    c = GROWN.copy()
    c[:4] = (c[:4] ** (2.0 - ALPHA) - (ALPHA - 2.0) * K * t / B ** (ALPHA - 1.0)) ** (-1.0 / (ALPHA - 2.0))
    bent = max(t - (BENDS_FROM - c[5]) / FAST, 0.0)
    c[4:] = c[4] + SPEED * t, c[5] + FAST * (t - bent) + FAST / BEND * math.expm1(BEND * bent)
    return c


LARGEST = 3.0 * 1e-3 * B
"""Correction up to which one that is not on the chart goes on to rest at rtol = 1e-3."""


@pytest.fixture
def many(monkeypatch):
    """As if any number of coordinates were many."""
    monkeypatch.setattr(resting, "LEAST", 0)


@pytest.fixture
def short_steps(many, monkeypatch):
    """Those that are stepped would allow steps as long as all else."""
    monkeypatch.setattr(the_flow, "APPROACH", 0.05)


def steps_alone(most=5, t_end=6.0, rtol=1e-3):
    field, groups = alone(most)
    start = State(0, 0.0, GROWN)
    return [visit.state for visit in GradientFlow(field, rtol).trajectory(start, t_end)], groups


def stepped_in(state):
    return state.memory.resting.stepped.tolist()


def corrections(states):
    """Of what bends, from each time at which all were evaluated to the next: half the change of its speed, all the time."""
    times = [0.0, *(state.time for state in states if state.memory.resting.elapsed == 0.0)]
    return {end: -0.5 * (end - start) * (gradient_of(where_they_are(end)) - gradient_of(where_they_are(start)))[5] for start, end in pairwise(times)}


def test_what_needs_a_larger_correction_than_a_step_may_err_is_stepped_next(short_steps):
    """At first the two leaders alone; one that bends by and by is, the others never. These groups let none rest again."""
    states, groups = steps_alone()
    stepped, needed = [stepped_in(state) for state in states], corrections(states)
    first = stepped.index([0, 1, 5])
    assert stepped == first * [[0, 1]] + (len(states) - first) * [[0, 1, 5]]
    assert 10 < first < len(states) - 3
    assert needed[states[first].time] > LARGEST
    assert 0.3 * LARGEST < max(correction for end, correction in needed.items() if end < states[first].time) < LARGEST
    assert groups.chosen[0] == [0, 1]
    assert groups.chosen[-1] == [0, 1, 5]
    assert_close(states[-1].c, where_they_are(6.0), RESTED)


def test_corrections_are_made_and_kept(short_steps):
    """What bends is nearer to where it should be than all that it was corrected by so far."""
    states, _ = steps_alone(t_end=3.5)
    assert not any(5 in stepped_in(state) for state in states)
    error = abs(states[-1].c[5] - where_they_are(3.5)[5])
    assert error < 0.2 * sum(corrections(states).values())
    assert states[-1].memory.resting.elapsed == 0.0


def test_what_rests_is_where_its_guide_or_its_speed_puts_it_at_every_step(short_steps):
    states, _ = steps_alone(t_end=2.5)
    assert any(state.memory.resting.elapsed > 0.0 for state in states)
    for state in states:
        assert_close(state.c, where_they_are(state.time), 1e-6)


def test_what_rests_adds_to_what_is_lost(short_steps):
    """Between two times at which all are evaluated, half of what both say."""
    states, _ = steps_alone(t_end=3.5)
    times = np.array([0.0, *(state.time for state in states if state.memory.resting.elapsed == 0.0)])
    places = [where_they_are(t) for t in times]
    rates = np.array([(gradient_of(c)[2:] ** 2).sum() for c in places])
    of_resting = 0.5 * np.sum(np.diff(times) * (rates[1:] + rates[:-1]))
    fall = (parts_of_loss(places[-1]) - parts_of_loss(GROWN))[:2].sum()
    assert of_resting > 0.3 * fall
    assert states[-1].dissipation == pytest.approx(fall + of_resting, rel=1e-3)
    assert states[-1].log_dissipation == pytest.approx(math.log(loss_of(GROWN) / loss_of(places[-1])), rel=1e-3)


@pytest.mark.parametrize("most", [5, 2])
def test_evaluations_of_some_and_of_all_are_counted(most, short_steps):
    EVALUATED.clear()
    states, _ = steps_alone(most=most)
    assert states[-1].evaluations == len(EVALUATED)
    assert set(EVALUATED) == {2, 3, 6} if most == 5 else {2, 6}


def test_where_too_many_are_needed_all_are_stepped_from_then_on(short_steps):
    states, groups = steps_alone(most=2)
    some = [state.memory.resting.any for state in states]
    first = some.index(False)
    assert 10 < first < len(states) - 3
    assert some == first * [True] + (len(states) - first) * [False]
    assert states[first - 1].memory.stepper.drift.shape == (2,)
    assert states[first].memory.stepper.drift.shape == (6,)
    assert states[first].memory.stepper.history.Z.shape[1] == 6 + 2
    assert_close(states[-1].c, where_they_are(6.0), RESTED)
    fall = loss_of(GROWN) - loss_of(where_they_are(6.0))
    assert states[-1].dissipation == pytest.approx(fall, rel=DISSIPATED)
    assert all(chosen_then == [0, 1] for chosen_then in groups.chosen)


# Flows of networks --------------------------------------------------------------------------------------------------------------------------

FLOWS = {
    "erm": (mvsim.Parameters(k=3, m=20, N=30, P=36, d=2000), 5e8),
    "midpoint": (mvsim.Parameters(k=3, m=20, N=30, P=36, d=300), 4e4),
}
"""Parameters, and how long they are followed: beyond three escapes, and six."""

every_flow = pytest.mark.parametrize("method", FLOWS)


def problem(method):
    p = FLOWS[method][0]
    return mvsim.objective(method, p, mvsim.sample_dataset(p, 0)), mvsim.initial_correlations(p, 0)


class Flow(NamedTuple):
    """The states of a flow, the times at which each view of each neuron escaped, and how often all neurons were evaluated."""

    states: list
    marks: list
    escapes: np.ndarray
    evaluations: int


def without_products(objective):
    """The field, so that the whole Hessian preconditions nowhere, as where some rest."""
    return replace(field_of(objective), product=None)


@cache
def flow(method, rests, rtol=1e-3):
    objective, c = problem(method)
    field, asked = without_products(objective), []

    def counted(step, c):
        asked.append(step)
        return field.loss_and_gradient(step, c)

    log, states, marks = EscapeLog.started(own_correlations(c), FLOWS[method][0].rho), [State(0, 0.0, c)], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resting, "LEAST", 0 if rests else math.inf)
        for visit in GradientFlow(replace(field, loss_and_gradient=counted), rtol).trajectory(states[0], FLOWS[method][1]):
            log.observe(states[-1], visit.state)
            states.append(visit.state)
            if visit.mark:
                marks.append(visit.state)
    return Flow(states, marks, log.time, len(asked))


def losses_of(method, states):
    objective, _ = problem(method)
    return np.array([objective.loss(state.c) for state in states])


@every_flow
def test_a_flow_is_the_same_whether_or_not_neurons_rest(method):
    """At a tolerance well below what they may differ by: how the errors of two flows fall depends on the machine's round-off."""
    all_stepped, rested = flow(method, False, 1e-4), flow(method, True, 1e-4)
    assert not any(state.memory.resting.any for state in all_stepped.states[1:])
    assert all(state.memory.resting.any for state in rested.states[1:])
    escaped = np.isfinite(all_stepped.escapes)
    assert np.count_nonzero(escaped) == {"erm": 3, "midpoint": 6}[method]
    assert np.array_equal(np.isfinite(rested.escapes), escaped)
    times = rested.escapes[escaped] / all_stepped.escapes[escaped]
    assert np.abs(times - 1.0).max() <= RESTED
    c, reference = rested.states[-1].c, all_stepped.states[-1].c
    size = np.abs(reference) + 0.1 * np.abs(reference).max(axis=(2, 3), keepdims=True)
    assert np.max(np.abs(c - reference) / size) <= RESTED
    assert not np.array_equal(c, reference)


@every_flow
def test_while_neurons_rest_all_are_seldom_evaluated(method):
    all_stepped, rested = flow(method, False), flow(method, True)
    assert rested.evaluations < 0.25 * all_stepped.evaluations
    renewals = sum(state.memory.resting.elapsed == 0.0 for state in rested.states[1:])
    assert rested.evaluations == renewals + 1  # and one at the beginning
    assert len(rested.marks) <= renewals <= len(rested.marks) + {"erm": 3, "midpoint": 6}[method]


@every_flow
def test_while_neurons_rest_the_loss_never_rises_and_falls_by_what_is_dissipated(method):
    rested, rtol = flow(method, True), 1e-3
    losses = losses_of(method, [rested.states[0], *rested.marks])
    dissipated = np.array([(state.dissipation, state.log_dissipation) for state in [rested.states[0], *rested.marks]])
    log_losses = np.log(losses)
    assert np.max(log_losses - np.minimum.accumulate(log_losses)) <= 1e-6
    assert losses[-1] < 0.9 * losses[0]
    assert np.all(np.abs(losses[0] - losses - dissipated[:, 0]) <= 20 * rtol * losses[0])
    fallen = log_losses[0] - log_losses
    assert np.all(np.abs(fallen - dissipated[:, 1]) <= 20 * rtol * (1.0 + fallen))


def test_what_is_lost_while_neurons_rest_is_what_they_lose_too(many):
    """All neurons begin nearly alike, so that the two of each view that are stepped have no more than a few of 20 parts of it."""
    objective, c = problem("erm")
    c = np.where(own_mask(c), 0.05 * (1.0 - 1e-3 * np.arange(20))[None, :, None, None], 1e-9)
    states = [State(0, 0.0, c)]
    for visit in GradientFlow(field_of(objective), 1e-3).trajectory(states[0], 1e6):
        states.append(visit.state)
        if own_correlations(visit.state.c).max() > 0.052:
            break
    marks = [state for state in states[1:] if state.memory.resting.elapsed == 0.0]
    last, start = marks[-1], objective.loss(c)
    assert len(stepped_in(last)) <= 4 * c.size // 20
    assert start - objective.loss(last.c) == pytest.approx(last.dissipation, rel=3.0 * DISSIPATED)
    assert math.log(start / objective.loss(last.c)) == pytest.approx(last.log_dissipation, rel=3.0 * DISSIPATED)


def own_mask(c):
    return (np.arange(c.shape[0])[:, None, None, None] == np.arange(c.shape[2])[None, None, :, None]) & np.ones_like(c, bool)


@every_flow
def test_while_neurons_rest_whole_neurons_are_stepped_and_as_many_of_each_class(method):
    rested, (k, m, _, V) = flow(method, True), FLOWS[method][0].correlations_shape
    kinds = set()
    for state in rested.states[1:]:
        neurons = state.memory.resting.stepped.reshape(k, -1, k * V)
        assert np.array_equal(neurons % (k * V), np.broadcast_to(np.arange(k * V), neurons.shape))
        numbers = neurons[:, :, 0] // (k * V)
        assert np.array_equal(numbers // m, np.broadcast_to(np.arange(k)[:, None], numbers.shape))
        kinds.add(numbers.shape[1])
    assert len(kinds) >= 2  # more are stepped as more escape
    assert max(kinds) <= m // 2


def uninterrupted_from(flow_of, state, method):
    """The next states, from one that was saved and read back by a flow of another field."""
    another = GradientFlow(without_products(problem(method)[0]), 1e-3)
    saved = replace(state, c=state.c.copy(), memory=another.unpack({name: array.copy() for name, array in flow_of.pack(state.memory).items()}))
    return [visit.state for visit in islice(another.trajectory(saved, FLOWS[method][1]), 30)]


def places_to_resume_at(states):
    """The first step; just before, at and just after others are stepped; and in the midst of a time without a mark."""
    changes = [
        after.step for before, after in pairwise(states[1:]) if not np.array_equal(before.memory.resting.stepped, after.memory.resting.stepped)
    ]
    midst = [state.step for state in states[1:] if state.memory.resting.elapsed > 0.0]
    return sorted({1, changes[0] - 1, changes[0], changes[0] + 1, changes[-1] - 1, midst[len(midst) // 2]})


@every_flow
def test_a_flow_that_is_resumed_while_neurons_rest_is_the_uninterrupted_one(method, many):
    rested, flow_of = flow(method, True), GradientFlow(without_products(problem(method)[0]), 1e-3)
    places = places_to_resume_at(rested.states)
    assert len(places) >= 5
    for place in places:
        assert rested.states[place].step == place
        again = uninterrupted_from(flow_of, rested.states[place], method)
        for one, other in zip(again, rested.states[place + 1 :], strict=False):
            assert (one.step, one.time, one.evaluations) == (other.step, other.time, other.evaluations)
            assert (one.dissipation, one.log_dissipation) == (other.dissipation, other.log_dissipation)
            assert np.array_equal(one.c, other.c)
            packed = pack(other.memory)
            assert all(np.array_equal(values, packed[name]) for name, values in pack(one.memory).items())


def test_a_memory_of_an_earlier_stepper_is_none():
    packed = pack(flow("erm", True).states[10].memory)
    assert GradientFlow(field_of(problem("erm")[0])).unpack(packed) is not None
    assert GradientFlow(field_of(problem("erm")[0])).unpack({name: array for name, array in packed.items() if "form_hessian" not in name}) is None


def test_a_flow_in_which_more_than_half_come_to_be_needed_goes_on_with_all(monkeypatch):
    """From the middle on every correction counts as too large."""
    monkeypatch.setattr(resting, "LEAST", 0)
    objective, c = problem("erm")
    states, all_stepped = [State(0, 0.0, c)], flow("erm", False)
    for visit in GradientFlow(without_products(objective), 1e-3).trajectory(states[0], FLOWS["erm"][1]):
        states.append(visit.state)
        if visit.state.step == 120:
            monkeypatch.setattr(stepped_system, "MOST_OF_ONE", 0.0)
    some = [state.memory.resting.any for state in states[1:]]
    assert 120 <= some.index(False) <= 120 + MARK_EVERY
    assert not any(some[some.index(False) :])
    for state in states[1:]:
        coordinates = state.memory.stepper.linearised.shape[0]
        assert coordinates == (state.memory.resting.stepped.shape[0] or c.size)
    reference = all_stepped.states[-1].c
    size = np.abs(reference) + 0.1 * np.abs(reference).max(axis=(2, 3), keepdims=True)
    assert np.max(np.abs(states[-1].c - reference) / size) <= RESTED
    losses = losses_of("erm", [states[0], states[-1]])
    assert losses[0] - losses[1] == pytest.approx(states[-1].dissipation, rel=DISSIPATED)


@looping("rests", [False, True])
def test_of_each_coordinate_that_can_be_stiff_it_is_known_which_neuron_it_belongs_to(rests):
    """Correlations have four axes, class, neuron, class and view; while some rest, those that are stepped stand in one row."""
    state = next(state for state in flow("midpoint", rests).states[200:] if not rests or state.memory.resting.elapsed > 0.0)
    memory, shape = state.memory, state.c.shape
    system = stepped_system.SteppedSystem(field_of(problem("midpoint")[0]), memory.chart, memory.resting, shape, 1e-3, memory.largest).system
    near = system.linearisation(memory.stepper.history.Z[0, : system.size])
    assert memory.resting.any == rests
    among_all = memory.resting.stepped[near.index] if rests else near.index
    classes, neurons, *_ = np.unravel_index(among_all, shape)
    assert np.array_equal(near.neuron, classes * shape[1] + neurons)
    assert 1 < len(set(near.neuron)) < len(near.neuron)


# Where it stalls ----------------------------------------------------------------------------------------------------------------------------


def said_of(error):
    """The correlation that a message names, and its value."""
    index, value = re.search(r"c\[([\d, ]+)\] = (\S+) changes most", str(error)).groups()
    return tuple(int(i) for i in index.split(", ")), float(value)


def fastest(method, state):
    """Of the correlations that are stepped in a state, that which changes most relative to its tolerance."""
    objective, _ = problem(method)
    field, memory = field_of(objective), state.memory
    system = ChartedField(field, memory.chart, state.c.shape, 1e-3, memory.largest)
    y = memory.chart.to_y(state.c.ravel())
    speed = np.abs(system.rate(y)) / system.tolerance(y).step
    stepped = memory.resting.stepped
    return np.unravel_index(stepped[np.argmax(speed[stepped])], state.c.shape)


@pytest.mark.parametrize("reason", ["hardly gets further", "its equation is not solved"])
def test_a_stall_names_the_correlation_while_some_rest(reason, monkeypatch, many):
    """Of those that are stepped: the first of them is none of the first neuron, so that its number among these is not its place among all."""
    states = flow("midpoint", True).states
    late = next(state for state in states[200:] if state.memory.resting.elapsed > 0.0)
    assert not np.array_equal(late.memory.resting.stepped, np.arange(len(late.memory.resting.stepped)))
    if reason == "hardly gets further":
        monkeypatch.setattr(stalls, "STALL_GROWTH", 1e300)
        monkeypatch.setattr(stalls, "STALL_STEPS", 1e-3 * (late.step - late.memory.moving_step + 0.5))
    else:
        monkeypatch.setattr("mvsim.flow.stepper.ATTEMPTS", 2)
        monkeypatch.setattr("mvsim.flow.stepper.solve_by_secants", lambda *equation: (None, Secants.none()))
    last = late
    with pytest.raises(mvsim.StalledError) as stalled:  # noqa: PT012 - the last state is needed
        for visit in GradientFlow(field_of(problem("midpoint")[0]), 1e-3).trajectory(late, 1e250):
            last = visit.state
    named, value = said_of(stalled.value)
    assert last.memory.resting.any
    assert (last is late) == (reason != "hardly gets further")
    assert named == fastest("midpoint", last)
    assert value == pytest.approx(last.c[named], rel=1e-3)
