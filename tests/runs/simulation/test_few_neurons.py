"""The vector field of a few neurons of each class while the others rest: which they are, and that it is that of all."""

from functools import cache

import numpy as np
import pytest
from compare import assert_close
from looping import looping
from objective_cases import objective
from problems import Problem
from tolerances import HESSIAN_ROUNDOFF, ROUNDOFF

import mvsim
from mvsim.flow import Groups
from mvsim.multi_view import thresholds
from mvsim.multi_view.objectives.scales import Scales
from mvsim.runs.simulation.field import SOON, field_of, name_of

P = mvsim.Parameters(k=3, m=8, N=20, P=16, delta3=0.02, delta4=0.06)
F = 2 * P.k
"""Coordinates of a neuron."""

NOTHING = np.zeros(0, int)


@cache
def the_objective(name="midpoint"):
    return objective(name, Problem("few", P, mvsim.sample_dataset(P, 0), None, None), "numba")


@cache
def groups(name="midpoint"):
    return field_of(the_objective(name)).groups


def with_own(**own):
    """Small correlations but for some: n01 is that of neuron 1 of class 0 with its own class and second view, as a part of `stiff_from`."""
    c = 1e-3 * np.random.default_rng(0).standard_normal(P.correlations_shape)
    for name, part in own.items():
        y, r = int(name[1]), int(name[2])
        c[y, r, y, 1] = part * the_objective().stiff_from
    return c


def neurons_of(positions):
    """The neurons of each class that have the positions, which are all coordinates of each, in order."""
    rows = positions.reshape(P.k, -1, F)
    assert np.array_equal(np.sort(positions), positions)
    assert np.array_equal(rows % F, np.broadcast_to(np.arange(F), rows.shape))
    numbers = rows[:, :, 0] // F
    assert np.array_equal(numbers // P.m, np.broadcast_to(np.arange(P.k)[:, None], numbers.shape))
    return (numbers % P.m).tolist()


def position(y, r, s=0, view=0):
    return int(np.ravel_multi_index((y, r, s, view), P.correlations_shape))


def test_neurons_are_groups_and_the_own_correlations_of_one_view_are_alike():
    assert isinstance(groups(), Groups)
    alike = groups().alike
    assert alike.shape == (P.k * 2, P.m)
    y, r, s, view = np.unravel_index(alike, P.correlations_shape)
    assert np.array_equal(y, np.repeat(np.arange(P.k), 2)[:, None] + np.zeros((1, P.m), int))
    assert np.array_equal(s, y)
    assert np.array_equal(view, np.tile([0, 1], P.k)[:, None] + np.zeros((1, P.m), int))
    assert np.array_equal(r, np.tile(np.arange(P.m), (2 * P.k, 1)))


def test_as_many_of_each_class_are_taken_as_the_class_needs_that_needs_most():
    """What is wanted, whichever of its coordinates, is there; what the other classes do not need are their first."""
    wanted = np.array([position(1, 6, 0, 1), position(1, 2, 1, 1), position(1, 2, 2, 0), position(0, 7)])
    assert neurons_of(groups().around(with_own(), wanted, NOTHING)) == [[0, 7], [2, 6], [0, 1]]
    assert groups().around(with_own(), NOTHING, NOTHING).shape == (0,)


def test_what_is_near_its_threshold_is_taken_too():
    c = with_own(n03=5.0, n01=SOON + 0.01, n12=1.01, n20=SOON - 0.01)
    assert neurons_of(groups().around(c, NOTHING, NOTHING)) == [[1, 3], [0, 2], [0, 1]]
    c[2, 5, 0, 1] = 1.2 * the_objective().stiff_from  # with a feature of another class
    assert neurons_of(groups().around(c, np.array([position(2, 7)]), NOTHING)) == [[1, 3], [0, 2], [5, 7]]


def test_where_more_are_taken_than_needed_those_before_come_first():
    before = np.array([position(y, r, s) for y, r in ((0, 5), (0, 6), (1, 1), (1, 2), (2, 3), (2, 6)) for s in range(P.k)])
    wanted = np.array([position(0, 7), position(0, 4), position(2, 0)])
    assert neurons_of(groups().around(with_own(), wanted, before)) == [[4, 7], [1, 2], [0, 3]]
    assert neurons_of(groups().around(with_own(n06=1.5), wanted, before)) == [[4, 6, 7], [0, 1, 2], [0, 3, 6]]


def test_where_more_than_half_are_needed_nothing_is_gained():
    half = np.array([position(0, r) for r in range(4)])
    assert neurons_of(groups().around(with_own(), half, NOTHING)) == 3 * [[0, 1, 2, 3]]
    assert groups().around(with_own(), np.append(half, position(0, 6)), NOTHING) is None
    assert groups().around(with_own(n07=2.0), half, NOTHING) is None
    assert groups().around(with_own(n17=2.0), half, NOTHING) is not None


CHOSEN = np.array([[1, 3, 6], [0, 2, 7], [3, 4, 5]])
POSITIONS = (F * (P.m * np.arange(P.k)[:, None] + CHOSEN)[:, :, None] + np.arange(F)).ravel()
SMALL = (P.k, CHOSEN.shape[1], P.k, 2)
"""Shape of the correlations of these neurons alone."""

LOSSES = ["erm", "midpoint", "mixup"]
every_loss = pytest.mark.parametrize("name", LOSSES)


def places():
    """Correlations of all neurons, of all sizes; others of those that are chosen; and a direction."""
    rng = np.random.default_rng(5)
    c = 4.0 * P.rho * rng.standard_normal(P.correlations_shape) * rng.choice([0.1, 1.0], (*P.correlations_shape[:2], 1, 1))
    x = c.ravel()[POSITIONS] + P.rho * rng.standard_normal(len(POSITIONS))
    return c, x, rng.standard_normal(len(POSITIONS))


def of_all(c, x):
    """All correlations, with x in the place of those that are chosen."""
    everywhere = c.ravel().copy()
    everywhere[POSITIONS] = x
    return everywhere.reshape(c.shape)


@every_loss
def test_loss_and_gradient_are_those_of_all(name):
    c, x, _ = places()
    field = groups(name).field(c, POSITIONS)
    for moved in (x, 0.5 * x, 1e-3 * x):
        loss, gradient = field.loss_and_gradient(0, moved)
        whole_loss, whole = the_objective(name).loss_and_gradient(of_all(c, moved))
        assert_close(loss, whole_loss, ROUNDOFF)
        assert_close(gradient, whole.ravel()[POSITIONS], ROUNDOFF, np.abs(whole).max())
    alone = the_objective(name).loss(of_all(0.0 * c, x))
    assert abs(loss - alone) > 1e-3 * alone  # the others matter


@every_loss
def test_the_shape_of_the_loss_is_told_as_if_the_others_were_0(name):
    c, x, _ = places()
    field = groups(name).field(c, POSITIONS)
    without = of_all(0.0 * c, x)
    assert field.product is None
    curvature, whole = field.curvature(x), the_objective(name).curvature(without)
    assert curvature is not None
    dense = curvature.dense(len(POSITIONS))
    expected = whole.dense(c.size)[np.ix_(POSITIONS, POSITIONS)]
    assert_close(dense, expected, HESSIAN_ROUNDOFF)
    assert np.abs(expected).max() > 0.0
    for unit, of_whole in zip(field.units(x), Scales(the_objective(name)).units(without), strict=True):
        assert_close(unit.ravel(), of_whole.ravel()[POSITIONS], ROUNDOFF)
        assert unit.shape == SMALL


def test_what_the_units_resolve_follows_from_the_residuals_of_the_few():
    """Under ERM where margins are large, so that noise rests where it is small."""
    c, _, _ = places()
    large = np.full(SMALL, 0.1)
    large[np.arange(3), 0, np.arange(3)] = 100.0
    of_step, of_equation = groups("erm").field(c, POSITIONS).units(large.ravel())
    assert np.min(of_equation / of_step) < 0.1
    expected = Scales(the_objective("erm")).units(of_all(0.0 * c, large.ravel()))
    assert_close(of_step.ravel(), expected[0].ravel()[POSITIONS], 1e-9)


@every_loss
def test_own_correlations_escape_and_have_the_names_that_they_have_among_all(name):
    c, _, _ = places()
    few, whole = groups(name).field(c, POSITIONS), field_of(the_objective(name))
    index, thresholds, alpha = whole.escaping
    inside = np.isin(index, POSITIONS)
    assert alpha == few.escaping.alpha == P.alpha
    assert np.array_equal(POSITIONS[few.escaping.positions], index[inside])
    assert np.array_equal(few.escaping.threshold, thresholds[inside])
    assert len(few.escaping.positions) == 3 * 3 * 2
    assert [few.component(i) for i in range(len(POSITIONS))] == [whole.component(int(i)) for i in POSITIONS]
    assert few.component(F + 3) == "c[0, 3, 1, 1]"
    assert few.fixed
    assert few.groups is None
    assert few.part is None


def test_fields_of_different_numbers_of_neurons_can_be_asked_for_one_after_another():
    c, x, _ = places()
    for name in LOSSES:
        for count in (1, 3, 2, 3):
            positions = POSITIONS.reshape(P.k, -1, F)[:, :count].ravel()
            field = groups(name).field(c, positions)
            moved = of_all(c, x).ravel()[positions]
            everywhere = c.ravel().copy()
            everywhere[positions] = moved
            whole = the_objective(name).loss_and_gradient(everywhere.reshape(c.shape))
            found = field.loss_and_gradient(0, moved)
            assert_close(found[0], whole[0], ROUNDOFF)
            assert_close(found[1], whole[1].ravel()[positions], ROUNDOFF, np.abs(whole[1]).max())


@looping(("at", "name"), [(0, "c[0, 0, 0, 0]"), (position(2, 7, 1, 1), "c[2, 7, 1, 1]"), (position(1, 0, 2), "c[1, 0, 2, 0]")])
def test_a_correlation_is_named_by_its_indices(at, name):
    assert name_of(at, P.correlations_shape) == name


@looping("case", ["a linear model", "patches", "the oracle", "on a device", "a network"])
def test_where_the_kernel_offers_no_other_or_nothing_escapes_there_are_no_groups(case):
    p = mvsim.Parameters(k=3, m=4, N=12, P=16, noise="patch") if case == "patches" else mvsim.Parameters(k=3, m=4, N=12, P=16)
    if case == "a linear model":
        p = mvsim.Parameters(k=3, N=12, model="linear")
    backend = {"the oracle": "numpy", "on a device": "array"}.get(case, "numba" if case == "a network" else "auto")
    field = field_of(mvsim.objective("erm", p, mvsim.sample_dataset(p, 0), backend=backend))
    assert (field.groups is not None) == (case == "a network")


def test_most_neurons_can_rest_at_the_start_with_the_r0_of_0_3_at_k_50(monkeypatch):
    """Of 5,000 correlations of a class the largest is far beyond r0 rho, the largest own one of a view."""
    p = mvsim.Parameters(k=50, d=217335, N=100, P=400)
    few = mvsim.objective("erm", p, mvsim.sample_dataset(p, 0))
    c = mvsim.initial_correlations(p, 0)

    def most_of_a_class():
        return int(few.escaped(c, SOON).sum(axis=1).max())

    assert p.r0 == pytest.approx(0.3, rel=1e-3)
    assert most_of_a_class() <= 5
    monkeypatch.setattr(thresholds, "STIFF", 0.3)
    assert most_of_a_class() == 42
