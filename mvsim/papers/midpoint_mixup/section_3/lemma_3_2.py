"""Lemma 3.2: along which directions g the loss of Midpoint Mixup reaches its infimum, lim J_MM(gamma g) = inf J_MM for gamma -> infinity.

**Infimum.** A pair of points of different classes has the label 1/2, 1/2 and costs at least log 2; a pair of one class costs more than 0. Over all
functions the infimum is log 2 times the fraction f of ordered pairs with different classes.

**Sufficiency.** Let <w_y, v_{y,l}> = 1 for all y and l, and all other correlations 0 (cross-class orthogonality). As the coefficients of a point
add up to 1, g_y(x_i) = 1[y_i = y], so that a pair of classes y != s has the outputs gamma/2 for y and s and 0 for the k - 2 others, and

    J_MM(gamma g) - inf = f log(1 + (k - 2)/2 exp(-gamma/2)) + (1 - f) log(1 + (k - 1) exp(-gamma)) -> 0.

**Necessity.** Let <w_y, v_{y,1}> = 1 + e for one class y, still with orthogonality. On a pair of a point i of class y and one of another class the
two outputs differ by gamma e beta_i / 2, and a difference D costs log cosh(D/2) more than log 2. So J_MM(gamma g) grows linearly in gamma, and its
least value over gamma > 0 stays above the infimum: about by (1 - f) and f terms of the size (e log(1/e))^2. J_MM(gamma g) is convex in gamma.
The break is unseen only if class y, or every other class, has no point: with probability (1 - 1/k)^N + k^-N = exp(-Theta(N)).

**As written.** The lemma asks for <w_y, v_{s,l}> <= 0 instead of = 0, and its proof uses = 0. With <= 0 neither direction is true:

- If <w_y, v_{s,l}> = -e for one pair of classes only, then g_y and g_s differ by gamma e / 2 on its mixed points, and J_MM(gamma g) -> infinity.
- Adding one vector to every w_y changes no softmax. With -e v_{y,1} it turns the optimal direction into one with <w_y, v_{y,1}> = 1 - e and
  <w_s, v_{y,1}> = -e for s != y. So the own correlations need not be equal. Necessary, and with the right order of the third classes sufficient, is
  that the differences <w_y - w_s, v_{y,l}> = <w_s - w_y, v_{s,l'}> > 0 are the same for both features and both classes of each pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mvsim.judging.verdict import Status, Verdict
from mvsim.multi_view.parameters import Parameters
from mvsim.numerics.intervals import clopper_pearson
from mvsim.numerics.random_streams import stream
from mvsim.papers.midpoint_mixup.section_3.sample import ONE, Sample, own_only, positive, vanishing

SCALES = tuple(2.0**i for i in range(9))
"""Values of gamma at which the closed form is compared."""

FAR = 500.0
"""A gamma that stands for infinity: the closed form is then below 1e-100."""

ROUNDOFF = 1e-12
"""Of a loss: sums of N^2 logarithms of size 1."""

BREAK = 0.1
"""e, how much of a correlation is taken away or added."""

DRAWS = 400
"""Small data sets on which it is counted how often a break is unseen."""

UNSEEN = 1e-9
"""A break is unseen where J_MM(gamma g) - inf J_MM is no more than this at `FAR`; one that is seen costs 0.01 or more there,
on samples as small as here."""


def optimal_direction(k: int) -> np.ndarray:
    """Return correlations (k, 1, k, 2): 1 with every own feature, 0 with all others."""
    return own_only(np.ones((k, 2)))


def broken_direction(k: int, y: int, change: tuple[float, float] = (BREAK, 0.0)) -> np.ndarray:
    """Return the optimal direction with ``change`` added to the correlations of class y with its own features."""
    own = np.ones((k, 2))
    own[y] += change
    return own_only(own)


def infimum(sample: Sample) -> float:
    """Return inf J_MM over all functions, log 2 times the fraction of pairs with different classes."""
    return math.log(2.0) * (1.0 - sample.same_class)


def closed_form(sample: Sample, gamma: float) -> float:
    """Return J_MM(gamma g) - inf J_MM along the optimal direction."""
    k, same = sample.k, sample.same_class
    return (1.0 - same) * math.log1p(0.5 * (k - 2) * math.exp(-0.5 * gamma)) + same * math.log1p((k - 1) * math.exp(-gamma))


def excess(sample: Sample, direction: np.ndarray, method: str = "midpoint", **options: Any) -> Callable[[float], float]:
    """Return gamma -> J_MM(gamma g) - inf J_MM; with another method or its options the infimum stays that of Midpoint Mixup."""
    loss, least = sample.objective(method, **options), infimum(sample)
    return lambda gamma: loss.loss(gamma * direction) - least


def least_excess(above: Callable[[float], float]) -> float:
    """Return the least of a convex function of gamma on [0, `FAR`]."""
    from scipy.optimize import minimize_scalar

    bounds = math.log(1e-3), math.log(FAR)
    minimum = minimize_scalar(lambda log_gamma: above(math.exp(log_gamma)), bounds=bounds, method="bounded", options={"xatol": 1e-8})
    return min(float(minimum.fun), above(FAR))


def sufficiency(sample: Sample, direction: np.ndarray | None = None, method: str = "midpoint", **options: Any) -> Verdict:
    """Compare the loss along the optimal direction with its closed form, which tends to 0; another direction or method is a control."""
    above = excess(sample, optimal_direction(sample.k) if direction is None else direction, method, **options)
    error = max(abs(above(gamma) - closed_form(sample, gamma)) for gamma in (*SCALES, FAR))
    statement = "J_MM(gamma g) - inf J_MM is its closed form along the optimal direction, which falls to 0: the largest difference"
    detail = f"at gamma = {SCALES[0]:g} to {FAR:g}; J_MM - inf is {above(SCALES[-1]):.3g} at gamma = {SCALES[-1]:g}, {above(FAR):.3g} at {FAR:g}"
    return vanishing("sufficiency", statement, error, ROUNDOFF, detail)


def necessity(sample: Sample, change: tuple[float, float] = (BREAK, 0.0)) -> Verdict:
    """Break one equality of class `ONE`, with orthogonality: the least loss over gamma has to stay above the infimum."""
    least = least_excess(excess(sample, broken_direction(sample.k, ONE, change)))
    affected = float(np.mean(sample.labels == ONE)) * float(np.mean(sample.labels != ONE)) * 2.0
    size = max(abs(value) for value in change)
    statement = f"min over gamma of J_MM(gamma g) - inf J_MM > 0 if one own correlation is {1.0 + size:g} instead of 1"
    share = f"{least / affected / size**2:.3g} e^2 times the fraction of pairs that it touches, {affected:.3g}" if affected else "no pair is touched"
    return positive("necessity", statement, least, ROUNDOFF, f"e = {size:g}; that is {share}")


def unseen(parameters: Parameters, seed: int) -> Verdict:
    """Count on how many small data sets a break of class 0 does not show, beside the probability that class 0 or every other class has no point.

    A count of draws proves no probability: it is consistent with it if its interval contains it, and contradicts it otherwise.
    """
    k, N = parameters.k, 2 * parameters.k
    small = parameters.replace(N=N)
    seeds = stream(seed, "labels", 1).integers(2**62, size=DRAWS)
    direction = broken_direction(k, 0)
    count = sum(abs(excess(Sample(small, int(one)), direction)(FAR)) <= UNSEEN for one in seeds)
    exact = (1.0 - 1.0 / k) ** N + k ** -float(N)
    low, high = clopper_pearson(count, DRAWS, 0.999)
    status: Status = "consistent" if low <= exact <= high else "contradicted"
    rate = f"-log(fraction) / N = {-math.log(count / DRAWS) / N:.4g}" if count else "none"
    statement = "fraction of data sets on which a break is unseen; it is (1 - 1/k)^N + k^-N = exp(-Theta(N))"
    detail = f"N = {N}, {DRAWS} data sets, 99.9% interval [{low:.3g}, {high:.3g}]; {rate}, log(k / (k - 1)) = {math.log(k / (k - 1)):.4g}"
    return Verdict("unseen breaks", status, statement, count / DRAWS, exact, None, detail)


def sufficiency_as_written(sample: Sample) -> Verdict:
    """Give one pair of classes a negative correlation, which <= 0 allows: the loss does not reach its infimum."""
    y, s = ONE, ONE + 1
    direction = optimal_direction(sample.k)
    direction[y, 0, s] = -BREAK
    least = least_excess(excess(sample, direction))
    statement = "equal own correlations and <w_y, v_{s,l}> <= 0 suffice: the least J_MM(gamma g) - inf J_MM"
    detail = f"counterexample: <w_{y}, v_{{{s},l}}> = -{BREAK:g}, all others 0; the proof uses = 0, with which it holds"
    return vanishing("sufficiency as written", statement, least, ROUNDOFF, detail)


def necessity_as_written(sample: Sample) -> Verdict:
    """Subtract e v_{y,1} from every weight vector: own correlations are unequal, and the loss reaches its infimum all the same."""
    y = ONE
    direction = optimal_direction(sample.k)
    direction[:, 0, y, 0] -= BREAK
    far = excess(sample, direction)(FAR)
    statement = "equal own correlations are necessary whatever the others are: J_MM(gamma g) - inf J_MM for large gamma"
    detail = f"counterexample: {BREAK:g} v_{{{y},1}} taken from every w, which changes no softmax; with <w_y, v_{{s,l}}> = 0 it holds"
    return positive("necessity as written", statement, far, ROUNDOFF, detail)


def lemma_3_2(parameters: Parameters, seed: int) -> list[Verdict]:
    """Judge both directions, with the orthogonality that the proof uses and as written."""
    sample = Sample(parameters, seed)
    return [sufficiency(sample), necessity(sample), unseen(parameters, seed), sufficiency_as_written(sample), necessity_as_written(sample)]
