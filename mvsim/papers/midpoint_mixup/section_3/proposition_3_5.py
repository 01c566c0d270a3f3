"""Proposition 3.5: the gradient of ERM on a lagging feature is small, -<grad_{w_y} J, v_{y,2}> <= O(k^-(0.1 C - 1)) if Delta_y >= C log k.

With cross-class orthogonality 1 - phi_y(x_i) = (k - 1) / (e^h_i + k - 1) <= k e^-h_i, and h_i = <w_y, v_{y,2}> + beta_i Delta_y >= 0.1 C log k if
<w_y, v_{y,2}> >= 0 and beta_i >= 0.1. So with N_y points of class y

    pull = (1/N) sum_i (1 - phi_i) beta[i, 2] <= (N_y / N) 0.9 k^(1 - 0.1 C) :

the constant of the O is 1 at most, and there is a factor N_y / N, about 1/k, to spare. The worst case is <w_y, v_{y,2}> = 0, Delta_y = C log k; other
classes do not matter. For C > 10 points with beta near 0.1 dominate and the pull falls as k^-0.1C / log k; for C < 10 points with beta < 1 / C keep
1 - phi near 1 and the pull falls as 1/k. The statement needs a least beta that is positive: with beta down to 0 the pull is Theta(1 / (k C log k)).

**As written.** The premise that is printed is <w_y, v_{y,1}> >= 0; <w_y, v_{y,2}> >= 0 stands in the remark after Proposition 3.4 and is used by the
proof. Without it w_{y,1} = 0 and <w_y, v_{y,2}> = -C log k have Delta_y = C log k and h_i <= 0: 1 - phi_i >= 1 - 1/k, the pull is about 1/(2k) for
every C, and no bound that falls with C is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from mvsim.judging.verdict import Verdict, at_most
from mvsim.multi_view.parameters import Parameters
from mvsim.papers.midpoint_mixup.section_3.orthogonal import OneClass
from mvsim.papers.midpoint_mixup.section_3.sample import ONE, Sample

CONSTANTS = (1.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 60.0)
"""Values of C."""

LEAST_BETA = 0.1
"""Of Definition 3.1, which is where the 0.1 of the exponent comes from."""

SMALL = 1e-3
"""Of the bound at one more C, so that it is small at every k: what does not fall like it is found out."""

Pull = Callable[[OneClass, np.ndarray], np.ndarray]


def erm_pull(one: OneClass, own: np.ndarray) -> np.ndarray:
    """Return (2,): the pull of ERM on both features of a class for its own correlations (2,)."""
    return one.erm_pull(own)


def constants_at(k: int) -> tuple[float, ...]:
    """Return `CONSTANTS`, and the C at which k^(1 - 0.1 C) = `SMALL`, which is large if k is small, in rising order."""
    return tuple(sorted((*CONSTANTS, (1.0 - math.log(SMALL) / math.log(k)) / LEAST_BETA)))


def ratio(one: OneClass, C: float, pull: Pull = erm_pull) -> float:
    """Return the pull on the lagging feature in the worst case, over k^(1 - 0.1 C)."""
    return float(pull(one, np.array([C * math.log(one.k), 0.0]))[1]) / one.k ** (1.0 - LEAST_BETA * C)


def upper_bound(classes: Sequence[OneClass], pull: Pull = erm_pull) -> Verdict:
    """Decide that the pull on every class is at most k^-(0.1 C - 1), the constant being 1, for several C."""
    ratios = {C: max(ratio(one, C, pull) for one in classes) for C in constants_at(classes[0].k)}
    C = max(ratios, key=lambda C: ratios[C])
    statement = "k^(0.1 C - 1) times -<grad_{w_y} J, v_{y,2}> at Delta_y = C log k is at most 1: the largest over y and C"
    values = ", ".join(f"C = {C:g}: {value:.3g}" for C, value in ratios.items())
    return at_most("", statement, ratios[C], 1.0, f"largest at C = {C:g}; {values}")


def of_one_class(one: OneClass) -> Verdict:
    """Report the same of a class that was chosen before the points: the largest over classes has an extreme number of points in it."""
    measured = max(ratio(one, C) for C in constants_at(one.k))
    statement = f"k^(0.1 C - 1) times -<grad_{{w_y}} J, v_{{y,2}}> at Delta_y = C log k for y = {one.y}: the largest over C"
    return Verdict("one class", "measured", statement, measured, detail=f"{len(one.beta)} of {one.N} points")


def ratio_as_written(one: OneClass, C: float) -> float:
    """Return the pull over k^(1 - 0.1 C) at <w_y, v_{y,1}> = 0 and <w_y, v_{y,2}> = -C log k."""
    return float(one.erm_pull(np.array([0.0, -C * math.log(one.k)]))[1]) / one.k ** (1.0 - LEAST_BETA * C)


def as_written(one: OneClass) -> Verdict:
    """Let <w_y, v_{y,2}> be negative, which the premise as printed allows: the pull does not fall with C."""
    ratios = {C: ratio_as_written(one, C) for C in CONSTANTS}
    statement = "k^(0.1 C - 1) times -<grad_{w_y} J, v_{y,2}> is at most 1 if <w_y, v_{y,2}> may be negative: the largest over C"
    values = ", ".join(f"C = {C:g}: {ratios[C]:.3g}" for C in CONSTANTS if C >= 10.0)
    detail = f"counterexample: <w_y, v_{{y,1}}> = 0, <w_y, v_{{y,2}}> = -C log k; {values}; the proof uses <w_y, v_{{y,2}}> >= 0, with which it holds"
    return at_most("as written", statement, max(ratios.values()), 1.0, detail)


def proposition_3_5(parameters: Parameters, seed: int) -> list[Verdict]:
    """Judge the upper bound on the worst class, and as written; for its exponent of k measure it on one class."""
    classes = OneClass.each_of(Sample(parameters, seed))
    return [upper_bound(classes), of_one_class(classes[ONE]), as_written(classes[ONE])]
