"""Two ways to the same loss and gradient, compared; every comparison has a control that it must fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

BOUND = 1e-12
"""Largest relative error allowed between two ways to add up the same numbers."""

LossAndGradient = Callable[[np.ndarray], tuple[float, np.ndarray]]


def relative_error(actual: Any, expected: Any) -> float:
    """max|actual - expected| / max|expected|."""
    return float(np.max(np.abs(np.asarray(actual) - expected)) / np.max(np.abs(expected)))


def compared(name: str, actual: LossAndGradient, expected: LossAndGradient, c: np.ndarray) -> dict[str, Any]:
    """Compare loss and gradient at c; the control is the gradient at correlations one part in a million larger."""
    (loss, gradient), (expected_loss, expected_gradient) = actual(c), expected(c)
    errors = {"loss": relative_error(loss, expected_loss), "gradient": relative_error(gradient, expected_gradient)}
    control = relative_error(actual(c * (1 + 1e-6))[1], expected_gradient)
    return {"check": name, "errors": errors, "control": control, "ok": bool(max(errors.values()) <= BOUND < control)}


def same_bits(name: str, one: LossAndGradient, other: LossAndGradient, c: np.ndarray) -> dict[str, Any]:
    """Compare loss and gradient at c bit for bit; the control is a gradient at correlations one part in 10^15 larger."""
    (loss, gradient), (other_loss, other_gradient) = one(c), other(c)
    same = loss == other_loss and gradient.tobytes() == other_gradient.tobytes()
    control = other(c * (1 + 1e-15))[1].tobytes() != gradient.tobytes()
    return {"check": name, "same_bits": bool(same), "control_differs": bool(control), "ok": bool(same and control)}
