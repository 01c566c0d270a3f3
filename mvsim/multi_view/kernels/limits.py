"""Numbers that kernels of every kind share, so that they take the same way at the same place. Nothing is compiled here."""

from __future__ import annotations

AMPLIFICATION = 2.0**8
"""Largest factor by which a binomial sum may amplify round-off; at alpha = 8 it allows kappa = 1/3."""

LARGEST_OUTPUT = 300.0
"""Outputs up to this are summed as exponentials: products of two partition functions then fit into a double."""

HESSIAN_LIFETIME = 4
"""Steps for which it is kept. Where a neuron has died since, a direction that was stiff would be damped for ever."""


def kappa(order):  # type: ignore[no-untyped-def]  # compiled as well
    """Return the largest -B / A at which sum_q binom(order, q) |A|^q |B|^(order - q) is at most `AMPLIFICATION` times |A + B|^order, 0 <= -B <= A.

    The ratio is ((1 + kappa) / (1 - kappa))^order.
    """
    spread = AMPLIFICATION ** (1.0 / order)
    return (spread - 1.0) / (spread + 1.0)
