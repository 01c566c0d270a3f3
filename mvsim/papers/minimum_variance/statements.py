"""What the paper states, with settings, premises and negative controls, and what contradicts it as it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from mvsim.judging.controls import control_section
from mvsim.judging.from_seeds import FromSeeds
from mvsim.judging.statement import Control, Request, Section, Setting, Statement
from mvsim.judging.verdict import Verdict
from mvsim.papers.minimum_variance.counterexamples import (
    CE1,
    CE2,
    D1,
    IMBALANCED,
    Classes,
    OneCoordinate,
    Smoothed,
    WithDecay,
    bernoulli,
    decay_beside,
    decay_prefers_low,
    imbalance,
    several_classes,
)
from mvsim.papers.minimum_variance.distribution import Distribution
from mvsim.papers.minimum_variance.drawn_distributions import Drawn, beyond_m, drawn, without_m
from mvsim.papers.minimum_variance.minimisers import minimiser
from mvsim.papers.minimum_variance.network_variance import Network, by_method, without_condition
from mvsim.papers.minimum_variance.output_variance import output_variance
from mvsim.papers.minimum_variance.theorems import (
    augmentation_forgets_high,
    augmented,
    decay_prefers_high,
    finite_sample,
    gradient_without_bias,
    laws_without_minimiser,
    max_margin_ratio,
    mixing_laws,
    mixup_forgets_high,
    output_variance_bounds,
    smoothing_forgets_high,
    variance_bounds,
)

SIZES = (1, 2, 5)
"""Coordinates of X_L and of X_H if none are given."""


@dataclass(frozen=True)
class Once:
    """Judge a statement that no seed enters: a counterexample is one distribution."""

    judge: Callable[[Any], list[Verdict]]  # Setting -> verdicts, each named after the statement of the paper that is contradicted
    makes_runs: ClassVar[bool] = False

    def sections(self, statements: Sequence[Statement], settings: Sequence[Any], request: Request) -> Iterator[Section]:
        """Yield the verdicts at each setting, and the controls at the first."""
        for statement in statements:
            for setting in settings:
                n = getattr(setting, statement.size)
                named = [
                    replace(one, name=f"{statement.name} ({one.name})", part=one.name, kind="theorem").about(statement.number, statement.name)
                    for one in self.judge(setting)
                ]
                yield Section(f"{statement.name}, {statement.size} = {n}", named, f"at {statement.size} = {n}", stated=True)
            if request.controls and statement.controls:
                yield control_section(statement.name, statement.controls, settings[0])


def _on_drawn(
    kind: str,
    number: str,
    says: str,
    judge: Callable[[Drawn, int], list[Verdict]],
    controls: tuple[Control, ...],
    premises: Callable[[Any, int], str] = lambda setting, seed: "",
) -> Statement:
    return Statement(kind, number, says, FromSeeds(judge), Drawn, size="n", sizes=SIZES, premises=premises, controls=controls)  # type: ignore[arg-type]


def _counterexample(number: str, says: str, setting: type[Setting], judge: Callable[[Any], list[Verdict]], size: str = "n") -> Statement:
    return Statement("counterexample", number, says, Once(judge), setting, size=size, sizes=(1,) if size == "n" else (3,))


def _erm_limit(d: Distribution) -> list[Verdict]:
    found = minimiser(d, decay=1e-8)
    return max_margin_ratio(d, found.w_L, found.w_H)


def _unconditional(setting: Drawn, seed: int) -> list[Verdict]:
    """Return the bounds for a confident model with the variance of its outputs over both classes together."""
    d = drawn(setting, seed)
    z = np.concatenate([d.z, np.zeros(setting.n)])

    def model(x: np.ndarray) -> np.ndarray:
        positive = 1.0 / (1.0 + np.exp(-8.0 * (x @ z) / (z @ z)))
        return np.stack([positive, 1.0 - positive], axis=1)

    measured = output_variance(d, model, nodes=2)
    points, _, weights = d.nodes(2, grouped=False)
    g = model(points)
    variance = float((weights @ (g - weights @ g) ** 2).sum())
    return variance_bounds({"no augmentation": replace(measured, weighted_variance=variance / 4.0, squared_error=variance, variance=variance)})


STATEMENTS: tuple[Statement, ...] = (
    _on_drawn("theorem", "3.1", "with weight decay |w_H| > |w_L|, under premise (M): gamma_H > |z|",
              lambda s, seed: decay_prefers_high(drawn(s, seed), s), (
        Control("label smoothing beside it", "at small weight decay w_H is forgotten",
                lambda s, seed: decay_prefers_high(drawn(s, seed), s, smoothing=0.05)),
        Control("|z| up to ten times gamma_H", "(M) fails", lambda s, seed: decay_prefers_high(drawn(beyond_m(s), seed), s)),
    ), without_m),
    _on_drawn("corollary", "3.2", "the max-margin solution has |w_L| / |w_H| = |z| / gamma_H, below 1 under premise (M)",
              lambda s, seed: max_margin_ratio(drawn(s, seed)), (
        Control("weight decay 1e-8", "the limit is approached like 1 / log", lambda s, seed: _erm_limit(drawn(s, seed)), parts=("ratio",)),
        Control("|z| up to ten times gamma_H", "(M) fails", lambda s, seed: max_margin_ratio(drawn(beyond_m(s), seed))),
    ), without_m),
    _on_drawn("theorem", "3.3", "with label smoothing w_H = 0", lambda s, seed: smoothing_forgets_high(drawn(s, seed), s), (
        Control("weight decay 0.001 beside it", "w_H comes back", lambda s, seed: smoothing_forgets_high(drawn(s, seed), s, decay=1e-3)),
        Control("noise on X_L", "its variance is not 0", lambda s, seed: smoothing_forgets_high(drawn(s, seed, noise=0.1), s)),
    )),
    _on_drawn("theorem", "3.4", "with Mixup w_H = 0 for every law of lambda with mass outside {0, 1/2, 1}",
              lambda s, seed: [*mixup_forgets_high(drawn(s, seed), mixing_laws(s)), *laws_without_minimiser(drawn(s, seed))], (
        Control("weight decay 0.001 beside it", "w_H comes back",
                lambda s, seed: mixup_forgets_high(drawn(s, seed), mixing_laws(s), decay=1e-3)),
        Control("noise on X_L", "its variance is not 0", lambda s, seed: mixup_forgets_high(drawn(s, seed, noise=0.1), {"lambda = 0.3": 0.3})),
    )),
    _on_drawn("proposition", "with-a-bias", "beyond the paper: with a bias both w_H = 0, for any prior and on any finite sample",
              lambda s, seed: [*augmentation_forgets_high(finite_sample(s, seed), augmented(s)), gradient_without_bias(s, seed)], (
        Control("no bias", "classes are unequal", lambda s, seed: augmentation_forgets_high(finite_sample(s, seed), augmented(s), bias=False)),
        Control("weight decay", "w_H comes back",
                lambda s, seed: augmentation_forgets_high(finite_sample(s, seed), {"decay 0.01": {"decay": 0.01}})),
    )),
    _on_drawn("proposition", "output-variance",
              "the excess loss of any model is at least half the weighted variance of its outputs, and at least E |t - g|^2 >= E sum Var(g_i)",
              output_variance_bounds, (Control("the variance over both classes", "the condition on y is lost", _unconditional),)),
    Statement("proposition", "network-output-variance",
              "the same of the two-layer network of the Midpoint Mixup paper on multi-view data, trained by each method",
              FromSeeds(lambda s, seed: variance_bounds(by_method(s, seed))), Network, sizes=(3,), controls=(
        Control("the variance over all classes", "the condition on y is lost", lambda s, seed: variance_bounds(without_condition(s, seed)),
                parts=("a", "b")),
    )),
    _counterexample("CE1", "Theorem 3.1 and Corollary 3.2: max-margin solution with w_H = 0", WithDecay, lambda s: decay_prefers_low(CE1, s.beta)),
    _counterexample("CE2", "Theorem 3.1 and Corollary 3.2: |w_L| = 2 |w_H|", WithDecay, lambda s: decay_prefers_low(CE2, s.beta)),
    _counterexample("Bernoulli", "Theorem 3.4: lambda in {0, 1} is no point mass, and Mixup is ERM", OneCoordinate, lambda s: bernoulli(D1)),
    _counterexample("imbalance", "Theorem 3.4 with classes of unequal size, without a bias", OneCoordinate, lambda s: imbalance(IMBALANCED)),
    _counterexample("three-classes", "both theorems with more than two classes, with a bias", Classes, several_classes, size="C"),
    _counterexample("decay", "Theorem 3.3 with weight decay beside label smoothing", Smoothed, lambda s: decay_beside(D1, s.beta, s.eps)),
)  # fmt: skip
"""In the order of the paper, then what contradicts it."""
