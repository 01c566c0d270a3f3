"""Values that are linear in ln t late in a run."""

import numpy as np
import pytest
from altered_runs import LATE_TIMES as TIMES
from altered_runs import altered, late

from mvsim.papers.midpoint_mixup.theorems.trends import Moment, trend


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


def test_a_time_beyond_doubles_is_told_by_its_exponent():
    assert str(Moment(1e30, np.inf, 1e30, 80.0)) == "not before t = 10^1000 and far beyond (when, the fit does not tell)"
