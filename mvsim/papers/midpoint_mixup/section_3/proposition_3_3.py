"""Proposition 3.3: with another law of lambda than a point mass at 0, 1/2 or 1, the directions of Lemma 3.2 keep a distance from the infimum of J_M.

Let <w_y, v_{y,l}> = C for all y and l, and all other correlations 0. (Lemma 3.2 asks for <= 0. On average over points that is no better: classes and
features are alike then, and as J_M is convex its least is where all other correlations are one number, which is a vector added to all w_y. On one
sample it is slightly smaller, by 0.2 to 2 % on four samples of 30 points with k = 3 and lambda = 0.3.) A point of class y has then g_y = C and
g_s = 0, and with f the fraction of ordered pairs with different classes

    J_M(C) = f E[log(e^(lambda C) + e^((1 - lambda) C) + k - 2) - C (lambda^2 + (1 - lambda)^2)] + (1 - f) log(1 + (k - 1) e^-C).

No function does better on a pair of different classes than the entropy H(lambda) of its label, so inf J_M = f E[H(lambda)]. The distance that
remains is eps_0 = min over C of J_M(C) - inf J_M; J_M is convex in C. It depends on the law, on k and, by f, on the shares of the classes. For the
laws below it grows with k from k = 2 to 200, so that in what was tried the one of k = 2 serves every k.

eps_0 = 0 asks for softmax (lambda, 1 - lambda, 0, ...) on every pair and for 1 on pairs of one class. The latter, and for k > 2 the k - 2 other
classes, need C -> infinity; then the softmax of a pair tends to 0, 1/2 or 1. So eps_0 = 0 if and only if all of lambda is in {0, 1/2, 1}: also for
a law with atoms at 0 and 1/2, which is no point mass, although the proposition as written excludes point masses alone.

**Quadrature.** The expectations over a continuous law are sums over `NODES` values of lambda. But for H they are of analytic functions of lambda, and
converge fast. H has the slope log lambda at 0; of Beta(a, b) its expectation is known,

    E[H(lambda)] = psi(a + b + 1) - (a psi(a + 1) + b psi(b + 1)) / (a + b),    psi = digamma,

and taken from there.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mvsim.judging.verdict import Verdict
from mvsim.losses.mixing_laws import MixingLaw, law_from
from mvsim.multi_view.parameters import Parameters
from mvsim.papers.midpoint_mixup.section_3.lemma_3_2 import optimal_direction
from mvsim.papers.midpoint_mixup.section_3.sample import Sample, positive, vanishing

NODES = 200
"""Of the quadrature over lambda."""

LARGEST = 400.0
"""A C that stands for infinity."""

ROUNDOFF = 1e-12
"""Of a loss."""

BOUND = 1e-6
"""eps_0 above this counts as a distance: far beyond round-off and quadrature, 2e-15, and far below the least eps_0 of the laws below, 0.02."""

LAWS: dict[str, Any] = {
    "Beta(0.1, 0.1)": {"distribution": "beta", "args": [0.1, 0.1]},
    "Beta(1, 1)": {"distribution": "beta", "args": [1.0, 1.0]},
    "Beta(10, 10)": {"distribution": "beta", "args": [10.0, 10.0]},
    "Beta(100, 100)": {"distribution": "beta", "args": [100.0, 100.0]},
    "0.3 or 0.7": {"atoms": [0.3, 0.7], "probabilities": [0.5, 0.5]},
    "0.3": 0.3,
}
"""Laws of lambda that keep a distance."""

WITHOUT: dict[str, Any] = {"1/2": 0.5, "1": 1.0}
"""Those that do not: Midpoint Mixup and ERM."""

MIXTURE = {"atoms": [0.0, 0.5], "probabilities": [0.5, 0.5]}
"""No point mass, and no distance either."""


class Distance(NamedTuple):
    """What remains along the directions of Lemma 3.2 with cross-class orthogonality."""

    eps_0: float  # the least of J_M(C) - inf J_M over C
    C: float  # where it is


class ClosedForm:
    """J_M(C) - inf J_M for one law of lambda, from the number of classes and the share 1 - f of pairs of one class; the law as `Mixup` takes it."""

    def __init__(self, mixing: Any, k: int, same_class: float) -> None:
        law = law_from(mixing, NODES)
        self._lam, self._weight = np.array(law.folded_quadrature()).T
        self._k, self._same = k, same_class
        self._entropy = mean_entropy(law)

    def __call__(self, C: float) -> float:
        """Return J_M(C) - inf J_M, the softmax losses of pairs minus the entropy of their labels, which is not more, and those of one class."""
        lam, mu, k = self._lam, 1.0 - self._lam, self._k
        # lam >= 1/2, so lam C is the largest output: log(e^(lam C) + e^(mu C) + k - 2) = lam C + log1p(...).
        others = np.exp((mu - lam) * C) + (k - 2) * np.exp(-lam * C)
        pairs = float(self._weight @ (np.log1p(others) + mu * (lam - mu) * C)) - self._entropy
        return (1.0 - self._same) * pairs + self._same * math.log1p((k - 1) * math.exp(-C))

    def distance(self) -> Distance:
        """Return the least over C in [0, `LARGEST`]."""
        from scipy.optimize import minimize_scalar

        minimum = minimize_scalar(self, bounds=(0.0, LARGEST), method="bounded", options={"xatol": 1e-9})
        best = min((float(minimum.fun), float(minimum.x)), (self(LARGEST), LARGEST))
        return Distance(*best)


def remaining(sample: Sample, mixing: Any) -> Distance:
    """Return eps_0 of a sample under one law of lambda."""
    return ClosedForm(mixing, sample.k, sample.same_class).distance()


def closed_form_error(sample: Sample, mixing: Any) -> float:
    """Return the largest difference between the closed form and the loss of the engine, at several C."""
    loss = sample.objective("mixup", mixing=mixing, nodes=NODES)
    form = ClosedForm(mixing, sample.k, sample.same_class)
    direction = optimal_direction(sample.k)
    least = (1.0 - sample.same_class) * mean_entropy(law_from(mixing, NODES))
    return max(abs(loss.loss(C * direction) - least - form(C)) for C in (0.0, 1.0, 4.0, 16.0))


def proposition_3_3(parameters: Parameters, seed: int) -> list[Verdict]:
    """Judge the distance for several laws, and that there is none for those of Midpoint Mixup and ERM."""
    sample = Sample(parameters, seed)
    kept = {name: remaining(sample, law) for name, law in LAWS.items()}
    error = closed_form_error(sample, LAWS["0.3 or 0.7"])
    lost = max(remaining(sample, law).eps_0 for law in WITHOUT.values())
    name, least = min(kept.items(), key=lambda item: item[1].eps_0)
    values = ", ".join(f"{law}: {distance.eps_0:.3g} at C = {distance.C:.3g}" for law, distance in kept.items())
    statement = "eps_0 = min over C of J_M(C) - inf J_M > 0 for laws of lambda outside {0, 1/2, 1}, with all other correlations 0: the least"
    form = "J_M along the directions of Lemma 3.2 is its closed form: the largest difference"
    return [
        positive("", statement, least.eps_0, BOUND, f"least for {name}; {values}"),
        vanishing("closed form", form, error, ROUNDOFF, "lambda = 0.3 or 0.7"),
        vanishing("point masses", "eps_0 is 0 for the point masses at 1/2 and 1: the larger of the two", lost, ROUNDOFF, f"at C = {LARGEST:g}"),
        as_written(sample),
    ]


def as_written(sample: Sample, mixing: Any = MIXTURE) -> Verdict:
    """Take a law on {0, 1/2, 1} that is no point mass, by default 0 or 1/2 with probability 1/2 each: nothing remains."""
    eps_0 = remaining(sample, mixing).eps_0
    statement = "eps_0 > 0 for every law of lambda that is not a point mass at 0, 1/2 or 1"
    detail = f"lambda: {law_from(mixing, NODES).describe()}; it holds for laws with mass outside {{0, 1/2, 1}}"
    return positive("as written", statement, eps_0, BOUND, detail)


def mean_entropy(law: MixingLaw) -> float:
    """Return E[H(lambda)], H = -lambda log lambda - (1 - lambda) log(1 - lambda): of Beta(a, b) in closed form, else by the quadrature of the law."""
    from scipy.special import digamma, entr

    plain = law.plain()
    if isinstance(plain, dict) and plain.get("distribution") == "beta" and len(plain["args"]) == 2 and not plain["kwds"]:
        a, b = plain["args"]
        return float(digamma(a + b + 1.0) - (a * digamma(a + 1.0) + b * digamma(b + 1.0)) / (a + b))
    lam, weight = np.array(law.folded_quadrature()).T
    return float(weight @ (entr(lam) + entr(1.0 - lam)))
