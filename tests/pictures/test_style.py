"""The colours of pictures can be told apart: in colour, in greyscale, and as colour-blind readers see them."""

import itertools

import numpy as np
import pytest
from lib.colours import MARKERS, colour_of_k, marker_of_k
from looping import looping

from mvsim.pictures.style import METHODS, NONE, OUTCOMES, paler

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
SEEN = {
    "all": np.eye(3),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    "tritanopia": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
}
TO_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]])
DIFFERENT = 20.0
"""CIELAB distance of two colours that nobody confuses in dots and lines; one that is just noticed is about 2."""


def lab(colour, matrix=SEEN["all"]):
    """Return lightness, a and b of a colour as seen through a matrix."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(matrix @ linear, 0, 1) / (TO_XYZ @ np.ones(3))
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_the_measure_knows_black_white_and_what_is_confused():
    assert lab("#FFFFFF") == pytest.approx([100, 0, 0], abs=0.01)
    assert lab("#000000") == pytest.approx([0, 0, 0], abs=0.01)
    red, green = "#C05000", "#6F7A00"
    assert np.linalg.norm(lab(red) - lab(green)) > 2 * np.linalg.norm(lab(red, SEEN["deuteranopia"]) - lab(green, SEEN["deuteranopia"]))


@looping("eye", SEEN)
@looping("colours", [list(METHODS.values()), list(dict.fromkeys(OUTCOMES.values()))])
def test_colours_of_one_kind_are_told_apart(eye, colours):
    for one, other in itertools.combinations(colours, 2):
        assert np.linalg.norm(lab(one, SEEN[eye]) - lab(other, SEEN[eye])) > DIFFERENT, (one, other)


def test_more_learned_is_darker_and_chance_is_paler():
    light = [lab(OUTCOMES[name])[0] for name in ("both", "one", "none")]
    assert all(b - a > 15 for a, b in itertools.pairwise(light))
    for colour in OUTCOMES.values():
        assert lab(paler(colour))[0] > lab(colour)[0] + 5
    assert paler("#000000", 0.0) == "#FFFFFF"
    assert paler(NONE, 1.0) == NONE


def test_the_larger_k_the_lighter_and_neighbours_have_markers_of_their_own():
    light = [lab(colour_of_k(k))[0] for k in (2, 5, 10, 20, 50, 200, 1000)]
    assert all(b - a > 5 for a, b in itertools.pairwise(light))
    assert light[-1] < 85, "lines are seen on white"
    assert (colour_of_k(1), colour_of_k(10**6)) == (colour_of_k(2), colour_of_k(1000))
    assert len({marker_of_k(k) for k in (4, *MARKERS)}) == 1 + len(MARKERS)
