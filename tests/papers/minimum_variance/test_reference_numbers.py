"""Numbers of an independent calculation, to 8 digits."""

import numpy as np
import pytest
import scipy.stats
from papers.minimum_variance.examples import CE1, D1, D3, IMBALANCED, NOISY, network

from mvsim.papers.minimum_variance import definition_4_1, max_margin, minimiser, output_variance

LAST_DIGIT = 1e-8  # one unit of the last digit: the bias of A10, 0.232353758, is cut off and not rounded
UNIFORM = scipy.stats.beta(1, 1)

CASES = {
    "A1": (D1, {"decay": 0.01}, [0.77862336, 2.23027192]),
    "A2": (D1, {"decay": 1.0}, [0.13121998, 0.49345076]),
    "A4": (D1, {"smoothing": 0.05}, [5.88887796, 0.0]),
    "A5": (D1, {"mixing": UNIFORM}, [7.08456662, 0.0]),
    "A6": (D1, {"mixing": 0.3}, [6.59667002, 0.0]),
    "A8": (D3, {"decay": 0.1}, [0.23471384, 0.31295178, 1.20588027, 0.46145497]),
    "A9": (CE1, {"decay": 1e-4}, [12.5821096, 1.26355714]),
    "A10": (IMBALANCED, {"mixing": UNIFORM}, [8.73923852, -0.15906297]),
    "A10 with a bias": (IMBALANCED, {"mixing": UNIFORM, "bias": True}, [7.78851697, 0.0, 0.23235375]),
    "A11": (NOISY, {"smoothing": 0.05}, [5.66903704, 0.05648395]),
    "A12": (D1, {"mixing": UNIFORM, "decay": 0.001}, [3.59830690, 0.77881844]),
}


def test_minimisers():
    wrong = []
    for name, (distribution, options, expected) in CASES.items():
        found = minimiser(distribution, **options)
        w = np.concatenate([found.w_L, found.w_H, [found.bias] if options.get("bias") else []])
        if (
            not (np.abs(w - expected) <= LAST_DIGIT * np.maximum(1.0, np.abs(expected))).all()
            or not found.gradient_norm <= 1e-12
            or not found.attained
        ):
            wrong.append((name, w, expected, found))
    assert wrong == []


LOSSES = {"A1": 0.04375344, "A4": 0.19851524, "A5": 0.27389922, "A6": 0.33448893}


def test_losses():
    found = {name: minimiser(CASES[name][0], **CASES[name][1]).loss for name in LOSSES}
    assert found == pytest.approx(LOSSES, abs=LAST_DIGIT)


def test_share_of_high_variance_features():
    found = minimiser(CE1, decay=1e-4)
    assert found.w_H @ found.w_H / (found.w_L @ found.w_L + found.w_H @ found.w_H) == pytest.approx(0.00998447, abs=LAST_DIGIT)
    both = minimiser(D1, decay=0.01, smoothing=0.05)
    assert both.w_H @ both.w_H / (both.w_L @ both.w_L + both.w_H @ both.w_H) == pytest.approx(0.650, abs=6e-4)


def test_max_margin():
    found = max_margin(D1)
    assert [*found.w_L, *found.w_H, found.margin] == pytest.approx([0.44721360, 0.89442719, 1.11803399], abs=LAST_DIGIT)


def test_definition_4_1():
    d = definition_4_1(0.1, 0.2, 1.0)
    found = minimiser(d, decay=0.05)
    assert [np.linalg.norm(found.w_L), np.linalg.norm(found.w_H)] == pytest.approx([0.33531495, 1.87553607], abs=LAST_DIGIT)
    slow = minimiser(d, decay=1e-8)
    assert np.linalg.norm(slow.w_L) / np.linalg.norm(slow.w_H) == pytest.approx(0.285, abs=6e-4)
    limit = max_margin(d)
    assert np.linalg.norm(limit.w_L) / np.linalg.norm(limit.w_H) == pytest.approx(0.5, abs=1e-12)


def test_output_variance():
    found = output_variance(D3, network, smoothing=0.1)
    expected = [0.54143426, 0.21635128, 0.03330439, 0.13321756, 0.16968044]
    assert [found.loss, found.excess, found.weighted_variance, found.variance, found.squared_error] == pytest.approx(expected, abs=LAST_DIGIT)
