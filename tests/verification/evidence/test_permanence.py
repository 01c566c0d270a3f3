"""Escapes are predicted from potentials that fall linearly in ln t."""

import numpy as np
import pytest
from altered_runs import altered

from mvsim.run import Run
from mvsim.verification.evidence.permanence import FEWEST, Moment, predicted_escapes, trend

TIMES = np.geomspace(1e4, 1e8, 81)


def late(run, times=TIMES, escaped=((0, 0, 0), (1, 1, 1), (2, 0, 0), (3, 2, 1)), **values):
    """A run with these records, of which some neurons escaped at t = 1e5."""
    dataset = run.dataset.isel(time=np.zeros(len(times), dtype=int)).assign_coords(time=("time", times))
    escape = np.full(run.dataset["entry_time"].shape, np.nan)
    for index in escaped:
        escape[index] = 1e5
    return altered(Run(dataset, run.provenance), entry_time=escape, **values)


def potentials(run, times, at_end, slope):
    """Own correlations of which every potential falls by ``slope`` (k, m, V) per factor e of time, to ``at_end`` at the last record."""
    u = at_end - slope * (np.log(times) - np.log(times[-1]))[:, None, None, None]
    return run.parameters.rho * u ** (-1.0 / (run.parameters.alpha - 2.0))


def test_a_linear_potential_predicts_its_zero(erm):
    shape = erm.dataset["entry_time"].shape
    at_end, slope = np.full(shape, 1e6), np.full(shape, 1.0)
    slope[0, 2, 1] = 1e6 / 30.0  # ln t* = ln t + 30
    slope[1, 3, 0] = -5.0  # never
    found = predicted_escapes(late(erm, own_correlations=potentials(erm, TIMES, at_end, slope)))
    assert found.log_time[0, 1] == pytest.approx(np.log(1e8) + 30.0, rel=1e-6)
    assert found.error[0, 1] < 1e-3
    assert np.isnan(found.log_time[0, 0])  # it has escaped
    assert found.log_time[1, 0] == pytest.approx(np.log(1e8) + 1e6, rel=1e-6)  # of the other neurons


def test_neurons_that_shrink_or_are_dead_never_escape(erm):
    shape = erm.dataset["entry_time"].shape
    own = potentials(erm, TIMES, np.full(shape, 1e6), np.full(shape, -5.0))
    own[:, :, 1] = -0.1
    found = predicted_escapes(late(erm, own_correlations=own))
    waiting = ~np.isnan(found.log_time)
    assert waiting.sum() == 4
    assert np.isinf(found.log_time[waiting]).all()


def test_records_do_not_put_off_what_the_flow_has_coming(erm):
    """By records that are made to shrink nothing ever escapes; the final state says of some views that they are on their way, and until when."""
    shape = erm.dataset["entry_time"].shape
    evidence = late(erm, own_correlations=potentials(erm, TIMES, np.full(shape, 1e6), np.full(shape, -5.0)))
    found, c = predicted_escapes(evidence), evidence.own[-1]
    pull = -np.einsum("yryl->yrl", evidence.gradient(evidence.snapshots[-1]))
    pull = np.where(pull > 0.0, pull, np.nan)
    way = np.nanmin(np.where(np.isnan(pull), np.inf, c / ((erm.parameters.alpha - 2.0) * TIMES[-1] * pull)), axis=1)
    coming = ~np.isnan(found.log_time) & np.isfinite(way)
    assert coming.any()
    for y, view in np.argwhere(coming):
        moment = found.moment(y, view, np.log(TIMES[-1]))
        assert not moment.is_resolved
        assert moment.known <= np.log(TIMES[-1]) + way[y, view] * (1.0 + 1e-9)


def test_what_bends_has_an_error(erm):
    shape = erm.dataset["entry_time"].shape
    own = potentials(erm, TIMES, np.full(shape, 1e3), np.full(shape, 10.0))
    x = np.log(TIMES / TIMES[-1])[:, None, None, None]
    bent = np.broadcast_to(erm.parameters.rho * (1e3 - 10.0 * x + 1.0 * x**2) ** (-1.0 / 6.0), own.shape)
    straight, curved = (predicted_escapes(late(erm, own_correlations=values)) for values in (own, bent))
    assert np.nanmax(straight.error) < 1e-6
    assert np.nanmin(curved.error) > 5.0
    slope = 10.0 + 0.5 * np.log(10.0) * 2.0  # of the middle of the last factor of ten
    assert curved.log_time[0, 1] - np.log(1e8) == pytest.approx(1e3 / slope, rel=0.05)


def test_only_what_follows_the_last_escape_is_fitted(erm):
    values = np.where(TIMES < 2e7, 0.0, np.log(TIMES))
    evidence = late(erm)
    wrong = trend(evidence, values)
    later = late(erm, escaped=())
    escape = np.full(erm.dataset["entry_time"].shape, np.nan)
    escape[0, 0, 0] = 1.1e7
    right = trend(altered(later.run, entry_time=escape), values)
    assert right.slope == pytest.approx(1.0, rel=1e-9)
    assert wrong.slope != pytest.approx(1.0, rel=0.1)
    assert right.crossing(np.log(1e10))[0] == pytest.approx(np.log(1e10), rel=1e-9)


def test_potentials_beyond_the_square_root_of_the_largest_double(erm):
    values = np.array([1e200, 0.0]) * (1.0 - 0.01 * np.log(TIMES / TIMES[-1]))[:, None]
    found = trend(late(erm), values)
    assert found.slope == pytest.approx([-1e198, 0.0], rel=1e-9)
    assert np.isfinite(found.error).all()
    assert found.crossing()[0] == pytest.approx([np.log(1e8) + 100.0, np.inf], rel=1e-9)


def test_few_records_predict_nothing(erm):
    escape = np.full(erm.dataset["entry_time"].shape, np.nan)
    escape[0, 0, 0] = 4.5e7
    found = predicted_escapes(altered(late(erm).run, entry_time=escape))
    assert found.records < FEWEST
    assert np.isnan(found.log_time).all()


def test_what_bends_downwards_is_not_gone_before_the_bound(erm):
    """u = 1000 - 10 x - x^2 / 2 after the end, its slope 10 there and its drift 1: gone where the parabola is."""
    x = np.log(TIMES / TIMES[-1])
    found = trend(late(erm), 1e3 - 10.0 * x - 0.5 * x**2)
    bend, speed = found.drift, abs(found.slope) + found.error
    left = found.not_before() - np.log(1e8)
    assert speed * left + 0.5 * bend * left**2 == pytest.approx(1e3, rel=1e-9)
    assert found.not_before() < found.crossing()[0]
    assert bend == pytest.approx(1.0, rel=0.01)
    straight = trend(late(erm), 1e3 - 10.0 * x)
    assert straight.not_before() == pytest.approx(np.log(1e8) + 100.0, rel=1e-6)


def test_a_slope_within_its_error_resolves_nothing(erm):
    x = np.log(TIMES / TIMES[-1])
    found = trend(late(erm), 5.0 + np.cos(40.0 * x)[:, None])
    moment = found.moment(0)
    assert moment.error == np.inf
    assert not moment.is_resolved
    assert np.isfinite(moment.known)
    assert np.log(1e8) < moment.counted_on < moment.known


def test_half_of_the_way_is_counted_on():
    assert Moment(log_time=30.0, error=1.0, not_before=28.0, log_end=10.0).counted_on == 19.0
    assert Moment(log_time=np.inf, error=0.0, not_before=28.0, log_end=10.0).counted_on == np.inf, "it moves away"


def test_what_moves_by_less_than_doubles_resolve_has_the_speed_of_the_flow(erm):
    """On d = k^20 potentials do not change in ten digits over a decade, and yet they fall: ln t* is from the gradient at the end."""
    own = np.broadcast_to(erm.dataset["own_correlations"].values[-1], (len(TIMES), *erm.dataset["entry_time"].shape))
    evidence = late(erm, own_correlations=own)
    found, end = predicted_escapes(evidence), evidence.snapshots[-1]
    c, pull = own[-1], -np.einsum("yryl->yrl", evidence.gradient(end))
    power = erm.parameters.alpha - 2.0
    u = (np.where(c > 0.0, c, np.nan) / erm.parameters.rho) ** -power
    slope = -power * u * TIMES[-1] * pull / c  # du / d ln t
    by_hand = np.nanmin(np.where(slope < 0.0, np.log(TIMES[-1]) - u / slope, np.inf), axis=1)
    waiting = ~np.isnan(found.log_time)
    assert waiting.any()
    assert np.isfinite(by_hand[waiting]).any()
    assert found.log_time[waiting] == pytest.approx(by_hand[waiting], rel=1e-9)
    assert found.not_before[waiting] == pytest.approx(by_hand[waiting], rel=1e-9)
    coming = waiting & np.isfinite(by_hand)
    assert np.isinf(found.error[coming]).all()  # how the speed drifts is not known
    y, view = np.argwhere(coming)[0]
    assert "the fit does not say when" in str(found.moment(y, view, np.log(TIMES[-1])))


def test_a_time_beyond_doubles_is_told_by_its_exponent():
    assert str(Moment(1e30, np.inf, 1e30, 80.0)) == "not before t = 10^(2.171e+29); the fit does not say when"
