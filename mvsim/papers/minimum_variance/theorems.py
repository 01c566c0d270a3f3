"""Theorems 3.1, 3.3 and 3.4, Corollary 3.2, the criterion with a bias, and the bounds by output variance, judged on one distribution.

**Theorem 3.1** under (M): y <v, x> > |z| almost surely, v the max-margin direction of X_H through the origin. Write w = a z / |z| + h v + u with u
orthogonal to both; a = |w_L|, since any other w_L only costs norm, and h <= |w_H|. Suppose |w_L| >= |w_H|. If a > h, exchanging a and h keeps the
norm and raises every score by (a - h) (y <v, x> - |z|) > 0. If a = h, then u = 0, and turning w from z towards v does the same to first order.
Either way the loss falls, so |w_H| > |w_L|.

**Corollary 3.2**: among unit vectors (a z / |z|, h v) the margin is a |z| + h gamma_H, which is largest at (a, h) along (|z|, gamma_H). Hence
|w_L| / |w_H| = |z| / gamma_H < 1 under (M). Taking decay to 0 instead approaches this like 1 / log(1 / decay).

**Theorem 3.3**: the entropy H(eps) of the label is a lower bound of the loss, reached where y <w, x> = log((1 - eps) / eps) almost surely. As
Cov(X_H | y) is positive definite that is w_H = 0 and <w_L, z> = log((1 - eps) / eps). In several coordinates of X_L only <w_L, z> is determined.

**Theorem 3.4**: with w_H = 0 and s = <w_L, z> the derivative of the loss by s is

    (sg(s) - 1) / 2 + E[(2 lambda - 1) (sg((2 lambda - 1) s) - lambda)] / 2,

which rises in s and has a zero if and only if P(lambda not in {0, 1/2, 1}) > 0. Jensen's inequality, given lambda and both classes, does the rest.

**With a bias** w_H = 0 for any prior and any finite sample, where X_L is constant given y. The loss is convex, so w_H = 0 is best if the derivative
by w_H vanishes at the minimiser (w_L, b) over models with w_H = 0. There the derivative by the score is a function rho(lambda, y, y') of a pair, and
the derivative by w_H is E[rho (lambda mu_y + (1 - lambda) mu_y')], with the class means mu of X_H. An affine map takes the class means of X_L to
those of X_H, so this is an affine image of E[rho (lambda z_y + (1 - lambda) z_y')] and E[rho], the derivatives by w_L and b, which are 0.
Without a bias E[rho] need not vanish. For X_L = y z and Mixup it leaves (1 - sg(s)) (q^2 - p^2) (mu_+ + mu_-) / 2, p = P(y = +1) = 1 - q.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.special import expit, xlogy

from mvsim.judging.verdict import Verdict, at_most, not_applicable
from mvsim.losses.mixing_laws import law_from
from mvsim.papers.minimum_variance.distribution import Distribution
from mvsim.papers.minimum_variance.drawn_distributions import Drawn, drawn
from mvsim.papers.minimum_variance.hulls import margin_vector
from mvsim.papers.minimum_variance.laws import Atoms
from mvsim.papers.minimum_variance.margins import max_margin
from mvsim.papers.minimum_variance.minimisers import loss_of, minimiser, newton
from mvsim.papers.minimum_variance.output_variance import OutputVariance, output_variance

EXACT = 1e-8
"""What is 0 up to the errors of quadrature and Newton's method, relative to what it is compared with."""

DECAYS, SMOOTHINGS, ALPHAS = (1e-6, 100.0), (1e-3, 0.25), (0.2, 8.0)
"""Ends of the grids of weight decay, of the mass of a flipped label, and of alpha in lambda ~ Beta(alpha, alpha)."""

FURTHER_LAWS: dict[str, Any] = {
    "lambda = 0.3": 0.3,
    "lambda in {0, 0.45, 1}": {"atoms": [0.0, 0.45, 1.0], "probabilities": [0.45, 0.1, 0.45]},
}
"""Laws of lambda beside Beta(alpha, alpha)."""

WITHOUT_MINIMISER: dict[str, Any] = {
    "lambda in {0, 1}": {"atoms": [0.0, 1.0], "probabilities": [0.5, 0.5]},
    "lambda = 1/2": 0.5,
    "lambda in {0, 1/2, 1}": {"atoms": [0.0, 0.5, 1.0], "probabilities": [0.3, 0.4, 0.3]},
}
"""Laws that Theorem 3.4 admits and under which there is no minimiser."""

NEAR_INFINITY = 1e-7
"""Weight decay that stands for none where there is no minimiser."""


def size(w: np.ndarray) -> float:
    """Return the norm of weights."""
    return float(np.linalg.norm(w))


def between(ends: tuple[float, float], values: int) -> list[float]:
    """Return strengths, evenly spaced on a logarithmic scale."""
    return [float(value) for value in np.geomspace(*ends, values)]


def mixing_laws(setting: Drawn) -> dict[str, Any]:
    """Return laws of lambda under which there is a minimiser, by what they are called."""
    return {f"Beta({a:.3g}, {a:.3g})": {"distribution": "beta", "args": [a, a]} for a in between(ALPHAS, setting.values)} | FURTHER_LAWS


def decay_prefers_high(d: Distribution, setting: Drawn, **augmentation: Any) -> list[Verdict]:
    """Decide |w_L| < |w_H| at all strengths of weight decay: Theorem 3.1."""
    ratios = {}
    for decay in between(DECAYS, setting.values):
        found = minimiser(d, decay=decay, **augmentation)
        ratios[decay] = size(found.w_L) / max(size(found.w_H), 1e-300)
    worst = max(ratios, key=lambda decay: ratios[decay])
    z, gamma_H = size(d.z), size(margin_vector(d.H))
    detail = f"largest at decay {worst:.3g}; (M): gamma_H = {gamma_H:.4g} above |z| = {z:.4g}; {_listed(ratios)}"
    return [at_most("", "|w_L| / |w_H| of the minimiser is below 1 at every weight decay: the largest", ratios[worst], 1.0, detail)]


def max_margin_ratio(d: Distribution, w_L: np.ndarray | None = None, w_H: np.ndarray | None = None) -> list[Verdict]:
    """Decide |w_L| / |w_H| = |z| / gamma_H < 1 of the max-margin solution, or of other weights: Corollary 3.2."""
    best = max_margin(d)
    w_L, w_H = best.w_L if w_L is None else w_L, best.w_H if w_H is None else w_H
    measured, predicted = size(w_L) / size(w_H), size(d.z) / size(margin_vector(d.H))
    off = abs(measured / predicted - 1.0)
    says = "|w_L| / |w_H| of the max-margin solution is |z| / gamma_H: relative difference"
    return [
        at_most("ratio", says, off, EXACT, f"{measured:.10g} against {predicted:.10g}"),
        at_most("", "|w_L| / |w_H| of the max-margin solution is below 1", measured, 1.0, f"margin {best.margin:.4g}"),
    ]


def smoothing_forgets_high(d: Distribution, setting: Drawn, decay: float = 0.0) -> list[Verdict]:
    """Decide w_H = 0, the score and the loss under label smoothing: Theorem 3.3."""
    high, scores, losses = {}, {}, {}
    for eps in between(SMOOTHINGS, setting.values):
        found = minimiser(d, smoothing=eps, decay=decay)
        high[eps] = size(found.w_H) * size(d.H[1].mean()) / max(found.w_L @ d.z, 1e-300)
        scores[eps] = abs(found.w_L @ d.z / math.log((1.0 - eps) / eps) - 1.0)
        losses[eps] = abs(found.loss + float(xlogy(eps, eps) + xlogy(1.0 - eps, 1.0 - eps)))
    return [
        _all_at_most("", "w_H = 0: |w_H| |mean of X_H| relative to the score, the largest over eps", high),
        _all_at_most("score", "<w_L, z> = log((1 - eps) / eps): relative difference, the largest over eps", scores),
        _all_at_most("loss", "the minimum is the entropy of the label: difference, the largest over eps", losses),
    ]


def mixup_forgets_high(d: Distribution, laws: Mapping[str, Any], decay: float = 0.0) -> list[Verdict]:
    """Decide w_H = 0 and the score under Mixup: Theorem 3.4."""
    high, scores = {}, {}
    for name, law in laws.items():
        found = minimiser(d, mixing=law, decay=decay)
        high[name] = size(found.w_H) * size(d.H[1].mean()) / max(found.w_L @ d.z, 1e-300)
        scores[name] = abs(found.w_L @ d.z / mixup_score(law) - 1.0)
    return [
        _all_at_most("", "w_H = 0: |w_H| |mean of X_H| relative to the score, the largest over laws of lambda", high),
        _all_at_most("score", "<w_L, z> solves the equation of the module: relative difference, the largest over laws", scores),
    ]


def mixup_score(law: Any) -> float:
    """Return the s at which the derivative of the loss by s = <w_L, z> vanishes, by bracketing."""
    from scipy.optimize import brentq

    lam, share = np.array(law_from(law).folded_quadrature(256)).T

    def slope(s: float) -> float:
        return float((expit(s) - 1.0) / 2.0 + share @ ((2.0 * lam - 1.0) * (expit((2.0 * lam - 1.0) * s) - lam)) / 2.0)

    return float(brentq(slope, 0.0, 1e4, xtol=1e-13))


def laws_without_minimiser(d: Distribution) -> list[Verdict]:
    """Name the laws of lambda under which Theorem 3.4 speaks of no minimiser, and what happens instead."""
    verdicts = []
    for name, law in WITHOUT_MINIMISER.items():
        limit, near = minimiser(d, mixing=law), minimiser(d, mixing=law, decay=NEAR_INFINITY)
        assert not limit.attained
        detail = f"vacuous: no minimiser; infimum {limit.loss:.6g}, {limit.limit}; at decay {NEAR_INFINITY:g} |w_H| / |w_L| = "
        verdicts.append(not_applicable(name, f"every minimiser has w_H = 0, {name}", f"{detail}{size(near.w_H) / size(near.w_L):.3g}"))
    return verdicts


def finite_sample(setting: Drawn, seed: int) -> Distribution:
    """Return a sample of 30 points or so with unequal classes, X_H as drawn, and X_L constant in each class, not opposite."""
    rng, d = np.random.default_rng([seed, setting.n, 1]), drawn(setting, seed)
    numbers = {1: int(rng.integers(12, 25)), -1: int(rng.integers(5, 12))}
    shift = rng.uniform(-0.5, 0.5) * d.z
    low = {y: Atoms([y * d.z + shift]) for y in (1, -1)}
    return Distribution(L=low, H={y: Atoms(d.H[y].sample(rng, n)) for y, n in numbers.items()}, prior=numbers[1] / sum(numbers.values()))


def augmented(setting: Drawn) -> dict[str, dict[str, Any]]:
    """Return label smoothing and Mixup at some strengths, as arguments of `minimiser`."""
    smoothed = {f"smoothing {eps:.3g}": {"smoothing": eps} for eps in between(SMOOTHINGS, setting.values)}
    return smoothed | {name: {"mixing": law} for name, law in mixing_laws(setting).items()}


def augmentation_forgets_high(d: Distribution, methods: Mapping[str, Mapping[str, Any]], bias: bool = True) -> list[Verdict]:
    """Decide w_H = 0 under label smoothing and Mixup with a bias, on any distribution with X_L constant given y."""
    high = {}
    for name, options in methods.items():
        found = minimiser(d, bias=bias, **options)
        high[name] = size(found.w_H) * size(d.H[1].mean() - d.H[-1].mean()) / 2.0 / max(abs(found.w_L @ d.z), 1e-300)
    says = "w_H = 0 with a bias: |w_H| |half the distance of the means of X_H| relative to the score, the largest over methods"
    return [_all_at_most("", says, high)]


def gradient_without_bias(setting: Drawn, seed: int) -> Verdict:
    """Decide that without a bias Mixup leaves the derivative (1 - sg(s)) (q^2 - p^2) (mu_+ + mu_-) / 2 by w_H at w_H = 0."""
    sample = finite_sample(setting, seed)
    d = Distribution(L={y: Atoms([y * sample.z]) for y in (1, -1)}, H=sample.H, prior=sample.prior)
    law, low = law_from({"distribution": "beta", "args": [1.0, 1.0]}), len(d.groups[0])
    loss, alone = (loss_of(d, 0.0, 0.0, law, False, 32, low_only) for low_only in (False, True))
    w = np.zeros(loss.points.shape[1])
    w[:low], _ = newton(alone, w[:low])
    p, s = d.prior, float(d.weights(w)[0] @ d.z)
    predicted = (1.0 - expit(s)) * ((1.0 - p) ** 2 - p**2) * (d.H[1].mean() + d.H[-1].mean()) / 2.0
    measured = d.weights(loss.derivatives(w)[0])[1]
    off = size(measured - predicted) / max(size(predicted), 1e-300)
    says = "without a bias Mixup leaves (1 - sg(s)) (q^2 - p^2) (mu_+ + mu_-) / 2 as derivative by w_H at w_H = 0: relative difference"
    return at_most("without a bias", says, off, EXACT, f"norm {size(predicted):.4g}, p = {p:.3g}")


def random_network(seed: int, inputs: int) -> Callable[[np.ndarray], np.ndarray]:
    """Return a two-layer ReLU network with Gaussian weights and softmax outputs."""
    rng = np.random.default_rng([seed, inputs, 2])
    first, second = rng.normal(size=(8, inputs)) / math.sqrt(inputs), rng.normal(size=(2, 8)) / math.sqrt(8)

    def network(x: np.ndarray) -> np.ndarray:
        scores = np.maximum(x @ first.T, 0.0) @ second.T
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True))

    return network


def variance_bounds(measured: Mapping[str, OutputVariance]) -> list[Verdict]:
    """Decide both bounds of the excess loss, for outputs under several methods."""
    ratios = (
        ("a", "E sum t_i Var(g_i | .) / 2 over the excess loss", {name: one.weighted_variance / one.excess for name, one in measured.items()}),
        ("b", "E |t - g|^2 over the excess loss", {name: one.squared_error / one.excess for name, one in measured.items()}),
        ("", "E sum Var(g_i | .) over E |t - g|^2", {name: one.variance / one.squared_error for name, one in measured.items()}),
    )
    return [_all_at_most(part, f"{says} is at most 1, the largest over methods", values, 1.0) for part, says, values in ratios]


def output_variance_bounds(setting: Drawn, seed: int) -> list[Verdict]:
    """Decide the bounds on a random network: without augmentation, with smoothed labels, with Mixup."""
    d, network = drawn(setting, seed), random_network(seed, 2 * setting.n)
    methods: dict[str, dict[str, Any]] = {"no augmentation": {}, "smoothing 0.1": {"smoothing": 0.1}, "Mixup": {"mixing": 0.3}}
    nodes = 4 if setting.n <= 2 else 2  # the nodes of a quadrature are a distribution of their own
    return variance_bounds({name: output_variance(d, network, nodes=nodes, **options) for name, options in methods.items()})


def _all_at_most(part: str, says: str, values: Mapping[Any, float], bound: float = EXACT) -> Verdict:
    worst = max(values, key=lambda key: values[key])
    where = f"at {worst:.4g}" if isinstance(worst, float) else f"with {worst}"
    return at_most(part, says, values[worst], bound, f"largest {where}; {_listed(values)}")


def _listed(values: Mapping[Any, float]) -> str:
    return ", ".join(f"{key:.3g}: {value:.3g}" if isinstance(key, float) else f"{key}: {value:.3g}" for key, value in values.items())
