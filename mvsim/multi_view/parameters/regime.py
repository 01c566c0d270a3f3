"""The regime of a run: the ways in which it departs from what is assumed of its model, Assumption 4.3 and Definition 4.1, or Definition 3.1."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

from mvsim.multi_view.parameters.beta_laws import SeparateLaw, UniformLaw
from mvsim.multi_view.parameters.defaults import needed_G, needed_N
from mvsim.multi_view.parameters.fields import Fields
from mvsim.multi_view.parameters.models import LINEAR, NETWORK


@dataclass(frozen=True)
class Deviation:
    """One way in which a run departs from what the theorems assume: by its parameters, its objective or its integrator.

    Attributes
    ----------
    name : str
        Name of what departs, in general the letter of a parameter.
    value : str
        Its value here.
    assumed : str
        What the theorems ask for.
    statement : str
        The departure in words, with the constant that Theta hides.
    """

    name: str
    value: str
    assumed: str
    statement: str

    def as_dict(self) -> dict[str, str]:
        """Return the four fields as a plain dict."""
        return asdict(self)


def assumption_of(problems: Iterable[Fields]) -> str:
    """Return what the regime of these problems is compared with, in words: that of each model among them once."""
    return " and ".join(dict.fromkeys(parameters.described.assumption for parameters in problems))


GIVEN = "data"
"""Name of the deviation of points that were given."""


def given_points(assumption: str) -> Deviation:
    """Return how points that were given depart from the ``assumption`` on the data: nothing is known of their law."""
    statement = "the points were given, and nothing is known of their law; learned features are tested on draws of the parameters' own distribution"
    return Deviation(GIVEN, "given", assumption, statement)


def regime_word(regime: Iterable[Deviation]) -> str:
    """Return the regime in a word: "literal", "scaled" and in how many ways, or what departs although d is literal."""
    names = [deviation.name for deviation in regime]
    if not names:
        return "literal"
    if GIVEN in names:
        return "given points, about which no theorem speaks; learned features are tested on draws of the parameters' own distribution"
    if "d" not in names:
        return f"as the theorems assume but for {', '.join(dict.fromkeys(names))}"
    return f"scaled (it departs from what the theorems assume in {len(names)} way{'s' if len(names) > 1 else ''})"


def regime_label(regime: Iterable[Deviation]) -> str:
    """Return the regime in a few words: "literal", or what departs, by name."""
    names = list(dict.fromkeys(deviation.name for deviation in regime))
    return f"{'scaled' if 'd' in names else 'literal d, departs in'}: {', '.join(names)}" if names else "literal"


FAR_ABOVE = 10.0
"""P delta3 / delta2 from which noise counts as far above the signal."""


def deviations_of(p: Fields) -> list[Deviation]:
    """List the ways in which parameters depart from what is assumed of their model."""
    return _OF_MODEL[p.model](p)


def _of_linear_model(p: Fields) -> list[Deviation]:
    """List the ways in which data depart from Definition 3.1, x = beta v_{y,1} + (1 - beta) v_{y,2} with beta uniform on [0.1, 0.9]."""
    deviations = [Deviation("V", str(p.V), "2", f"V = {p.V} instead of 2 views of a class")] if p.V != 2 else []
    support = [p.delta1, p.largest_signal]
    if [p.delta1, p.delta2] != [0.1, 1.0]:
        sums = "" if p.delta2 == 1.0 else f" and coefficients that add up to delta2 = {p.delta2:g} instead of 1"
        statement = f"beta on [{support[0]:g}, {support[1]:g}] instead of [0.1, 0.9]{sums}"
        deviations.append(Deviation("beta", f"[{support[0]:g}, {support[1]:g}]", "[0.1, 0.9]", statement))
    if p.beta_law != UniformLaw():
        deviations.append(Deviation("beta_law", "another", "uniform", "the law of beta is not the uniform one of Definition 3.1"))
    return deviations


def _of_network(p: Fields) -> list[Deviation]:
    """List the ways in which parameters depart from Assumption 4.3 or Definition 4.1.

    A Theta that holds with another constant than 1 is listed with it: at one k nothing else can be seen. Of C_P, Q, delta1 and delta2, which are
    Theta(1), only what takes away a part of the model is; of N and the noise what lets linear models fit the data.
    """
    k = p.k
    deviations = []
    if p.d < k**20:
        literal_r0 = p.r0 * math.sqrt(p.d / k**20)
        statement = f"d = {p.d} instead of k^20 = {float(k) ** 20:.2g}; r0 = {p.r0:.3g} instead of {literal_r0:.2g}"
        deviations.append(Deviation("d", str(p.d), "Omega(k^20)", statement))
    scalings = [
        ("P", p.P, k**2, "Theta(k^2)", "k^2"),
        ("m", p.m, k, "Theta(k)", "k"),
        ("rho", p.rho, 1 / k, "Theta(1/k)", "1/k"),
        ("delta3", p.delta3, k**-1.5, "Theta(k^-1.5)", "k^-1.5"),
        ("delta4", p.delta4, k**-1.5, "Theta(k^-1.5)", "k^-1.5"),
    ]
    for name, value, scale, assumed, formula in scalings:
        if not math.isclose(value, scale, rel_tol=1e-12):
            deviations.append(Deviation(name, f"{value:g}", assumed, f"{name} = {value:.3g} = {value / scale:.3g} {formula}"))
    if p.alpha != 8:
        deviations.append(Deviation("alpha", f"{p.alpha:g}", "8", f"alpha = {p.alpha:g} instead of 8"))
    if p.V != 2:
        share = "" if p.V > 1 else ", with the constant coefficient delta2"
        deviations.append(Deviation("V", str(p.V), "2", f"V = {p.V} instead of 2 views of a class{share}"))
    deviations += fitted_by_linear_models(p) or _weak_noise(p)
    deviations += _concentration(p)
    return deviations


def _weak_noise(p: Fields) -> list[Deviation]:
    """List noise that is above the signal, but not far above it and less than k^2 patches of k^-1.5 hold."""
    ratio = p.P * p.delta3 / p.delta2
    if ratio >= min(FAR_ABOVE, 0.999 * math.sqrt(p.k)):
        return []
    return [
        Deviation("noise", f"P delta3 = {ratio:.3g} delta2", ">> delta2", f"P delta3 = {ratio:.3g} delta2, above the signal but not far above it")
    ]


def fitted_by_linear_models(p: Fields) -> list[Deviation]:
    """List why linear models may fit the data of a network: what Proposition 4.4 needs that Assumption 4.3 leaves open.

    Noise has to be above the signal: at least (P - V C_P) delta3 in a point, where a feature has C_P delta2 / V on average, which is what the proof
    compares. It has to be of few classes among many, and in enough points. In a codebook it must have enough patterns, too: weights that
    are orthogonal to all G of them do not see the noise, and 2k - G dimensions are left to tell the classes by.
    """
    deviations = []
    noise, signal = (p.P - p.signal_patches) * p.delta3 / p.delta2, p.C_P / p.V
    if p.signal_patches == p.P:
        deviations.append(Deviation("P", str(p.P), f"P - {p.V} C_P noise patches", "no patch is left for feature noise"))
    elif noise < signal:
        average = f"the average signal of a feature, {signal:.3g} delta2"
        statement = f"(P - {p.V} C_P) delta3 = {noise:.3g} delta2, below {average}, so linear models can fit the data (Proposition 4.4)"
        deviations.append(Deviation("P delta3", f"{noise:.3g} delta2 on noise patches", f">> {signal:.3g} delta2", statement))
    if p.k < 2 * p.Q:
        statement = (
            f"Q = {p.Q} of {p.k} classes in the noise of a point: it may tell the class, so that linear models can fit the data (Proposition 4.4)"
        )
        deviations.append(Deviation("Q", str(p.Q), "<< k", statement))
    if p.noise == "codebook" and needed_G(p.k) > p.G:
        statement = f"G = {p.G} noise patterns for {p.k} classes: weights may not see them, so that linear models may fit the data (Proposition 4.4)"
        deviations.append(Deviation("G", str(p.G), "well above k", statement))
    if (needed := needed_N(p.k)) > p.N:
        statement = (
            f"N = {p.N} instead of {needed} = 5 k^1.5 or more (measured up to k = 20), so linear models may fit so few points (Proposition 4.4)"
        )
        deviations.append(Deviation("N", str(p.N), "large", statement))
    return deviations


def _concentration(p: Fields) -> list[Deviation]:
    """List the law of beta if a set of Lebesgue measure 1 / (10 log k) can hold more than half of its probability."""
    laws = p.beta_law if isinstance(p.beta_law, tuple) else (p.beta_law,)
    if isinstance(laws[0], SeparateLaw):
        ranges = ", ".join(f"[{low:g}, {high:g}]" for low, high in laws[0].ranges)
        statement = (
            f"the coefficients of the views are independent, on {ranges}{'' if len(laws) == 1 else ' in class 0'}, and do not add up to delta2"
        )
        return [Deviation("beta_law", "one for each view", "beta_2 = delta2 - beta_1", statement)]
    if p.V == 1:
        return []
    share = min(1.0, 0.1 / math.log(max(p.k, 2)) / max(p.delta2 - p.V * p.delta1, 1e-300))
    probability = max(law.largest_probability(share, p.V) for law in laws)
    if probability <= 0.5:
        return []
    statement = f"the law of beta puts probability {probability:.2g} on a set of measure 1/(10 log k), Definition 4.1 asks for o(1)"
    return [Deviation("beta_law", f"{probability:.2g}", "anti-concentrated", statement)]


_OF_MODEL: dict[str, Callable[[Fields], list[Deviation]]] = {NETWORK.name: _of_network, LINEAR.name: _of_linear_model}
