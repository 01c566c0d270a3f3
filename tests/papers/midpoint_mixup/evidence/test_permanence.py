"""Escapes are predicted from potentials that fall linearly in ln t."""

import numpy as np
import pytest
from altered_runs import LATE_TIMES as TIMES
from altered_runs import altered, late

from mvsim.papers.midpoint_mixup.theorems.predicted_escapes import predicted_escapes
from mvsim.papers.midpoint_mixup.theorems.trends import FEWEST


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


def test_few_records_predict_nothing(erm):
    escape = np.full(erm.dataset["entry_time"].shape, np.nan)
    escape[0, 0, 0] = 4.5e7
    found = predicted_escapes(altered(late(erm).run, entry_time=escape))
    assert found.records < FEWEST
    assert np.isnan(found.log_time).all()


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
    assert "when, the fit does not tell" in str(found.moment(y, view, np.log(TIMES[-1])))
