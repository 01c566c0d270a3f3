"""When a run has settled: what is missing may still come, what is complete can only be lost, and a certificate spares the wait."""

import math

import numpy as np
import pytest
from looping import looping
from scipy.integrate import quad

import mvsim
from mvsim.runs.recording.settling import Settling, dormant_until, growth_to_settle

COMPLETE = [[1.0, 1.0], [1.0, 1.0]]
P = mvsim.Parameters(k=2, alpha=8, d=100)  # initial correlations of 0.1, a floor of 1 / 300


def records(learned, dormant=(0.0,) * 4, margins=(0.0, 0.0, 1.0, 1.0)):
    """Return records at t = 0, 1, 2, 4, trained from t = 2 on, that end with these views learned."""
    learned = np.array(learned)
    nothing = np.zeros_like(learned)
    return {
        "time": [0.0, 1.0, 2.0, 4.0],
        "training_accuracy": [0.5, 0.5, 1.0, 1.0],
        "feature_learned": [nothing, nothing, learned, learned],
        "softmax_gap": [np.ones(2), np.ones(2), 0.1 * np.ones(2), 0.1 * np.ones(2)],
        "dormant_until": list(dormant),
        "margin_min": [np.array([margin, np.nan]) for margin in margins],  # a class without points
        "draw_margin_min": [np.full((2, 2), margin + 0.5) for margin in margins],
    }


@looping(("learned", "growth"), [([[1.0, 0.0], [1.0, 1.0]], 10.0), (COMPLETE, math.sqrt(10.0))])
def test_what_is_missing_is_waited_for_longer(learned, growth):
    settling = Settling(records(learned))
    assert growth_to_settle(10.0, np.array(learned) == 1.0) == growth
    assert settling.since() == 2.0
    assert settling.settles_at(10.0) == growth * 2.0
    assert not settling.reached(10.0)
    assert settling.reached(4.0) == (growth < 10.0)


def test_a_run_that_is_not_trained_has_not_settled():
    untrained = records(COMPLETE) | {"training_accuracy": [0.5, 0.5, 1.0, 0.5]}
    assert Settling(untrained).settles_at(10.0) is None
    assert not Settling(untrained).reached(1.5)


def test_a_run_in_which_a_late_escape_is_coming_has_not_settled():
    missing = records([[1.0, 0.0], [1.0, 1.0]])
    assert Settling(missing).reached(2.0)
    assert not Settling(missing, coming=7.0).reached(2.0)  # before time has grown by 2 again
    assert Settling(missing, coming=9.0).reached(2.0)
    assert not Settling(missing, last_escape=3.0).reached(2.0)  # what it does to the features may come later


def test_a_certificate_spares_the_wait():
    horizon = 2.0 * math.sqrt(10.0)
    certified = Settling(records(COMPLETE, dormant=[0.0, 0.0, 20.0, 10.0]))
    assert certified.certified_until(10.0) == pytest.approx(horizon)
    assert certified.settles_at(10.0) == 4.0
    assert certified.reached(10.0)
    assert Settling(records([[1.0, 0.0], [1.0, 1.0]], dormant=[math.inf] * 4)).certified_until(10.0) is None  # what is missing may come
    assert Settling(records(COMPLETE, dormant=[math.inf] * 4)).certified_until(3.0) is None  # the wait is over


def test_a_certificate_is_not_given_where_something_changes_before_its_horizon():
    never = [math.inf] * 4
    refused = {
        "a neuron escapes": records(COMPLETE, dormant=[0.0, 0.0, 20.0, 8.0]),
        "it did by the forces before": records(COMPLETE, dormant=[0.0, 0.0, 8.0, 20.0]),
        "a margin falls": records(COMPLETE, dormant=never, margins=[0.0, 0.0, 1.0, 0.5]),
        "the last change is in the window": records(COMPLETE, dormant=never) | {"training_accuracy": [0.5, 0.5, 0.5, 1.0]},
    }
    assert {name: Settling(of).certified_until(10.0) for name, of in refused.items()} == dict.fromkeys(refused)
    assert Settling(records(COMPLETE, dormant=never), last_escape=3.8).certified_until(10.0) is None
    assert Settling(records(COMPLETE, dormant=never, margins=[0.0, 0.0, 1.0, 0.9])).certified_until(10.0) is not None


@looping(("start", "drift"), [(0.1, 0.0), (0.02, 0.0), (0.1, 1e-7), (0.01, 1e-7), (1e-4, 1e-7), (0.0, 1e-7), (-0.05, 1e-7)])
def test_no_dormant_correlation_escapes_before_it_is_told_to(start, drift):
    K, alpha = 2.0, P.alpha
    c, gradient = np.full((2, 3, 2, 2), -0.2), np.zeros((2, 3, 2, 2))
    c[1, 2, 0, 1] = start  # of a feature of another class
    gradient[1, 2, 0, 1] = -(drift + K * max(start, 0.0) ** (alpha - 1.0))
    told = dormant_until(5.0, c, gradient, P, 1.0)
    way = quad(lambda x: 1.0 / (drift + K * max(x, 0.0) ** (alpha - 1.0)), start, 1.0, points=[0.0, 0.02, 0.05, 0.1, 0.2], limit=500)[0]
    assert told <= 5.0 + way * (1.0 + 1e-6)
    if drift == 0.0:
        assert told == pytest.approx(5.0 + way, rel=1e-6)
    if start < 0.0:
        assert told >= 5.0 - start / drift


def test_only_dormant_neurons_and_missing_views_are_on_their_way():
    c, gradient = np.full((2, 3, 2, 2), 0.5), -np.ones((2, 3, 2, 2))
    c[0, 0, 0], c[1, :, 1] = 2.0, 2.0  # a neuron has escaped for both views of class 0, all neurons of class 1 have
    gradient[0, 1:, 1] = 1.0  # the off-diagonal correlations of the others fall
    assert dormant_until(5.0, c, gradient, P, 1.0) == math.inf
    gradient[0, 1, 1, 0] = -1.0
    assert 5.0 < dormant_until(5.0, c, gradient, P, 1.0) < 6.0
    c[0, 0, 0, 1], gradient[0, 1, 1, 0] = 0.5, 1.0
    assert 5.0 < dormant_until(5.0, c, gradient, P, 1.0) < 6.0  # view 1 of class 0 is missing
    assert dormant_until(5.0, c, gradient, P.model_copy(update={"alpha": 3.0}), 1.0) == 5.0
    assert dormant_until(5.0, c, gradient, P, math.inf) == math.inf  # nothing escapes in a linear model
