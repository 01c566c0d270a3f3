"""When a run has settled: what is missing may still come, what is complete can only be lost."""

import math

import numpy as np
from looping import looping

from mvsim.runs.recording.settling import Settling, growth_to_settle


def records(learned):
    """Return records at t = 0, 1, 2, 4, trained from t = 2 on, that end with these views learned."""
    nothing = np.zeros_like(learned)
    return {
        "time": [0.0, 1.0, 2.0, 4.0],
        "training_accuracy": [0.5, 0.5, 1.0, 1.0],
        "feature_learned": [nothing, nothing, learned, learned],
        "softmax_gap": [np.ones(2), np.ones(2), 0.1 * np.ones(2), 0.1 * np.ones(2)],
    }


@looping(("learned", "growth"), [([[1.0, 0.0], [1.0, 1.0]], 10.0), ([[1.0, 1.0], [1.0, 1.0]], math.sqrt(10.0))])
def test_what_is_missing_is_waited_for_longer(learned, growth):
    settling = Settling(records(np.array(learned)))
    assert growth_to_settle(10.0, np.array(learned) == 1.0) == growth
    assert settling.since() == 2.0
    assert settling.settles_at(10.0) == growth * 2.0
    assert not settling.reached(10.0)
    assert settling.reached(4.0) == (growth < 10.0)


def test_a_run_that_is_not_trained_has_not_settled():
    untrained = records(np.ones((2, 2))) | {"training_accuracy": [0.5, 0.5, 1.0, 0.5]}
    assert Settling(untrained).settles_at(10.0) is None
    assert not Settling(untrained).reached(1.5)
