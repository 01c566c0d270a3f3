"""Decisions about 0: on which side of it a number is, and how much of it is round-off."""

import math

import pytest

from mvsim.papers.midpoint_mixup.section_3.sample import positive, vanishing


@pytest.mark.parametrize(
    ("measured", "vanishes", "is_positive"),
    [(0.0, True, False), (1e-13, True, False), (-1e-13, True, False), (1.0, False, True), (-1.0, False, False), (math.nan, False, False)],
)
def test_a_number_vanishes_near_0_on_either_side_and_is_positive_beyond_that(measured, vanishes, is_positive):
    for decide, holds in ((vanishing, vanishes), (positive, is_positive)):
        assert decide("n", "s", measured, 1e-12, "").status == ("holds" if holds else "fails"), decide.__name__
