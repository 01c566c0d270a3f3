"""Decisions about 0: on which side of it a number is, and how much of it is round-off."""

import math

import pytest

from mvsim.papers.midpoint_mixup.section_3.sample import positive, vanishing


@pytest.mark.parametrize(
    ("measured", "status"), [(0.0, "holds"), (1e-13, "holds"), (-1e-13, "holds"), (1.0, "fails"), (-1.0, "fails"), (math.nan, "fails")]
)
def test_a_number_vanishes_if_it_is_near_0_on_either_side(measured, status):
    assert vanishing("n", "s", measured, 1e-12, "").status == status


@pytest.mark.parametrize(("measured", "status"), [(1.0, "holds"), (1e-13, "fails"), (0.0, "fails"), (-1.0, "fails"), (math.nan, "fails")])
def test_a_number_is_positive_above_what_counts_as_0(measured, status):
    assert positive("n", "s", measured, 1e-12, "").status == status
