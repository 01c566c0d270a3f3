"""Proposition 4.4: inside Definition 4.1 there is data on which no linear classifier h_y(x) = sum_p <w_y, x^(p)> is perfect.

The construction of its proof has one noise class for each point (Q = 1), drawn uniformly, and noise so strong that (P - 2 C_P) delta3 is above the
signal. Why: let D = w_y - w_s. A point of class y with noise of class s needs <D, signal> + <D, noise> > 0, one of class s with noise of class y
the opposite. Points of both classes with noise of the same third class need <D, signal of y> > -<D, noise> > <D, signal of s>. With a, b for the
sums of D over the two features of y and of s, the average signal C_P delta2 / 2 = q and the noise total M = (P - 2 C_P) delta, these say q a + M b
> 0, q b + M a < 0 and a > b, so (q - M)(a - b) > 0: impossible for M >= q.

With k = 2 there is no third class: the noise is always of the other class, and weights that are negative on their own features read that. So the
proposition is about k >= 3. In the same way noise of Q = k - 1 classes tells the class.

It says that there are such data inside Definition 4.1, not that all data there are such. Where linear models fit data because the noise is too
weak, or too simple, or the points too few (`mvsim.multi_view.parameters.regime.fitted_by_linear_models`), the proposition says nothing of them.

This is about a sample, though, so it is decided on the sample: `mvsim.papers.midpoint_mixup.section_3.farkas` finds and proves a certificate,
or a classifier that is perfect. N points in R^F can be separated whatever they are if N is small: how many are needed is measured.
"""

from __future__ import annotations

from mvsim.judging.verdict import Verdict, not_applicable
from mvsim.multi_view.data import sample_dataset
from mvsim.multi_view.parameters import Parameters
from mvsim.multi_view.parameters.regime import fitted_by_linear_models
from mvsim.papers.midpoint_mixup.section_3.farkas import SIZES, any_certificate, separating_classifier

STRONG = 20
"""P over k^2 with which the noise of default parameters, P delta3 = sqrt(k) delta2, is above the signal for k >= 4."""


def construction(parameters: Parameters, patches: int = STRONG) -> Parameters:
    """Return the parameters of the proof: one noise class for each point, drawn for itself, and P = ``patches`` k^2 = Theta(k^2)."""
    return parameters.replace(Q=1, noise="point", P=max(patches * parameters.k**2, parameters.signal_patches))


def not_separable(part: str, parameters: Parameters, seed: int) -> Verdict:
    """Decide whether a linear classifier can be perfect on the sample of a seed, by an exact proof of either answer."""
    p = parameters
    data = sample_dataset(p, seed)
    statement = "no linear classifier is right on all points, proved by an exact certificate"
    setting = f"P delta3 / delta2 = {p.P * p.delta3 / p.delta2:.3g}, N = {p.N}, Q = {p.Q}, noise={p.noise}"
    certificate = any_certificate(data, SIZES[:1])  # on two classes it is quickly found, or quickly not there
    if certificate is None and separating_classifier(data) is not None:
        detail = f"{setting}; a linear classifier is right on all points, checked with fractions; it needs larger P, delta3 or N"
        return Verdict(part, "fails", statement, detail=detail)
    certificate = certificate or any_certificate(data, SIZES[1:])
    if certificate is not None:
        classes = ", ".join(str(c) for c in certificate.classes(data))
        detail = f"{setting}; Farkas vector with {len(certificate.weights)} weights on classes {classes}, checked with fractions"
        return Verdict(part, "holds", statement, detail=detail)
    detail = f"{setting}; the linear program finds no classifier, and no certificate was made exact"
    return Verdict(part, "inconclusive", statement, detail=detail)


def proposition_4_4(parameters: Parameters, seed: int) -> list[Verdict]:
    """Judge the construction of the proof, and the data that the parameters describe, whose noise is weaker by default."""
    described = _where_it_applies("these data", parameters, seed)
    if parameters.k > 2:
        return [_where_it_applies("construction", construction(parameters), seed), described]
    statement = "no linear classifier is right on all points, proved by an exact certificate"
    return [not_applicable("construction", statement, "with two classes the noise tells the class"), described]


def _where_it_applies(part: str, parameters: Parameters, seed: int) -> Verdict:
    """Return the answer of `not_separable` where the proposition supposes such data; elsewhere no answer confirms or refutes it."""
    missing = fitted_by_linear_models(parameters)
    verdict = not_separable(part, parameters, seed)
    if not missing:
        return verdict
    what = "not separable, although this is outside what the proposition supposes" if verdict.status == "holds" else "it is about other data"
    why = "; ".join(deviation.statement for deviation in missing)
    return not_applicable(part, verdict.statement, f"{verdict.detail}; {what}: {why}")
