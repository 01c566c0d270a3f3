"""When a feature counts as learned."""

from __future__ import annotations

import numpy as np
from looping import looping

from mvsim.runs.recording.fresh_draws import count_classes


@looping(("fractions", "counts"), [([[1, 1], [1, 0.95], [0, 0]], (1, 1, 1)), ([[0.99, 0.99], [0, 1], [1, 1]], (1, 1, 1))])
def test_a_feature_counts_as_learned_on_every_draw_or_not_at_all(fractions, counts):
    assert tuple(count_classes(np.array(fractions, dtype=float)).values()) == counts


@looping(
    ("fractions", "counts"),
    [([[1.0], [0.5], [1.0]], {"all": 2, "none": 1}), ([[1, 1, 1], [1, 0, 1], [0, 0, 1], [0.9, 0, 0]], {"all": 1, "some": 2, "none": 1})],
)
def test_classes_with_another_number_of_views_have_all_some_or_none_learned(fractions, counts):
    assert count_classes(np.array(fractions, dtype=float)) == counts
