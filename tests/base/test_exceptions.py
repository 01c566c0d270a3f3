"""Which classes count as independent where exceptions are predicted, and from which others each is (`validation/studies/exceptions.py`)."""

import numpy as np
import pytest
from studies.exceptions import Classes, accuracy, classes_of, from_others, learned_by_exceptions, logistic


def row(seed, r0, escaped=(1.0, None), T=(10.0, 90.0), learned=(1.0, 0.0)):
    """A run of two classes."""
    one = {"T": list(T), "W": 30.0, "escaped": list(escaped), "learned": list(learned)}
    return {"k": 4, "r0": r0, "seed": seed, "classes": [one, one]}


def test_runs_of_one_seed_are_one_start():
    classes = classes_of([row(0, 0.3), row(0, 0.2), row(1, 0.3)])
    assert classes.start.tolist() == [0, 0, 0, 0, 1, 1]
    assert accuracy(classes, 0.0)["starts"] == 2


def test_a_class_without_a_finite_lead_is_left_out():
    assert len(classes_of([row(0, 0.3), row(1, 0.3, T=(10.0, None))]).x) == 2


def test_an_exception_is_counted_by_escapes_and_told_by_features():
    classes = classes_of([row(0, 0.3, escaped=(1.0, 2.0)), row(1, 0.3, escaped=(1.0, 2.0), learned=(1.0, 1.0)), row(2, 0.3)])
    assert classes.both.tolist() == [True] * 4 + [False] * 2
    assert learned_by_exceptions(classes) == [0, 2, 2]


def test_each_start_is_predicted_from_the_others():
    """A start that is unlike all others does not change what is predicted for it."""
    rng, n = np.random.default_rng(1), 60
    x, start = rng.uniform(-3.0, 3.0, n), np.repeat([0, 1, 2], n // 3)
    both = np.where(start == 2, x > 0.0, x + rng.normal(0.0, 0.5, n) < 0.0)
    classes = Classes(np.full(n, 6), np.full(n, 0.3), start, x, x, both, both.astype(int))
    at = from_others(classes)
    assert at[start == 2] == pytest.approx(logistic(x[start < 2], both[start < 2])[0])
    assert len(np.unique(at)) == 3
