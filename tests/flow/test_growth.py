"""An implicit formula damps what grows within less than its step; the rule ends that."""

from __future__ import annotations

import numpy as np

from mvsim.flow.growth import outgrows

GROWS, DECAYS = 0.5, 1e4


def _gradient(c: np.ndarray) -> np.ndarray:
    """Return that of J = x^4 / 4 - GROWS x^2 / 2 + DECAYS y^2 / 2: x grows away from 0 to sqrt(GROWS)."""
    return np.array([c[0] ** 3 - GROWS * c[0], DECAYS * c[1]])


def _end(h: float, time: float, with_rule: bool) -> float:
    """Return x after a time in steps of backward Euler of size h at most, each solved by Newton's method from the state before."""
    c, left = np.array([0.01, 1.0]), time
    while left > 0.0:
        size = min(h, left)
        while True:
            end = c.copy()
            for _ in range(50):
                slope = 1.0 + size * np.array([3.0 * end[0] ** 2 - GROWS, DECAYS])
                end = end - (end - c + size * _gradient(end)) / slope
            if not with_rule or not outgrows(size, end - c, _gradient(c) - _gradient(end), np.full(2, 1e-3)):
                break
            size *= 0.5
        c, left = end, left - size
    return float(c[0])


def test_long_steps_pass_over_an_escape_without_the_rule_and_not_with_it() -> None:
    assert abs(_end(5.0, 60.0, with_rule=False)) < 0.01
    assert np.isclose(_end(5.0, 60.0, with_rule=True), np.sqrt(GROWS), rtol=1e-3)
    assert np.isclose(_end(0.05, 60.0, with_rule=False), np.sqrt(GROWS), rtol=1e-3)


def test_what_decays_does_not_shorten_steps() -> None:
    moved, velocities = np.array([-0.9, 0.2]), np.array([9.0, -0.1])
    assert not outgrows(10.0, moved, velocities, np.zeros(2))
