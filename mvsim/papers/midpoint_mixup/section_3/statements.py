"""Section 3 and Proposition 4.4 as statements, each with its negative controls."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mvsim.judging.from_seeds import FromSeeds
from mvsim.judging.statement import Control, Regime, Statement
from mvsim.judging.verdict import Verdict
from mvsim.multi_view.parameters import Parameters, regime_label
from mvsim.multi_view.parameters.models import LINEAR, NETWORK
from mvsim.papers.midpoint_mixup.section_3 import lemma_3_2, proposition_3_3, proposition_3_4, proposition_3_5, proposition_4_4
from mvsim.papers.midpoint_mixup.section_3.orthogonal import OneClass
from mvsim.papers.midpoint_mixup.section_3.sample import ONE, Sample, check_two_views, many_points_of_each_class, points_of_definition_3_1

CONSTANT = {"kind": "discrete", "atoms": [0.5]}
"""The law of a constant beta."""

ENOUGH = 100
"""Points for each class with which some have nearly none of the leading feature, if the law of beta allows it."""


def _parameters_for(model: str, points: int, k: int, **fields: Any) -> Parameters:
    """Return parameters with the model that a statement is about and, unless N is given, enough points of each class for it."""
    parameters = Parameters(**{"k": k, "model": model, "N": points * k} | fields)
    check_two_views(parameters, "it is")
    return parameters


def regime_of(parameters: Parameters) -> Regime:
    """Return how parameters depart from what the paper assumes."""
    deviations = parameters.deviations()
    return Regime(regime_label(deviations), tuple(dict.fromkeys(deviation.name for deviation in deviations)))


def _control(name: str, why: str, judge: Callable[[Parameters, int], Verdict]) -> Control:
    return Control(name, why, lambda parameters, seed: [judge(parameters, seed)], expected=("fails",))


def _classes(parameters: Parameters, seed: int) -> list[OneClass]:
    return OneClass.each_of(Sample(parameters, seed))


def _erm(one: OneClass, own: np.ndarray) -> np.ndarray:
    return one.erm_pull(own[one.y])


def _midpoint(one: OneClass, own: np.ndarray) -> np.ndarray:
    """Return the pull of Midpoint Mixup where that of ERM is asked for: all classes are like the one that is given."""
    return one.midpoint_pull(np.tile(own, (one.k, 1)))


SECTION_3: tuple[Statement, ...] = (
    Statement("lemma", "3.2", "J_MM reaches its infimum along directions whose own correlations are all equal, and along no others",
            FromSeeds(lemma_3_2.lemma_3_2), Parameters, make=partial(_parameters_for, LINEAR.name, 10), regime=regime_of,
            premises=points_of_definition_3_1, controls=(
            _control("one own correlation is 1.1 (sufficiency)", "the direction is not optimal",
                    lambda p, seed: lemma_3_2.sufficiency(Sample(p, seed), lemma_3_2.broken_direction(p.k, ONE))),
            _control("lambda = 0.3 (sufficiency)", "points are not mixed half and half",
                    lambda p, seed: lemma_3_2.sufficiency(Sample(p, seed), method="mixup", mixing=0.3)),
            _control("beta constant, own correlations 1.1 and 0.9 (necessity)", "no point shows that they differ",
                    lambda p, seed: lemma_3_2.necessity(Sample(p.replace(beta_law=CONSTANT), seed), (lemma_3_2.BREAK, -lemma_3_2.BREAK))),
        )),
    Statement("proposition", "3.3", "with another law of lambda than a point mass at 0, 1/2 or 1 those directions keep a distance from the infimum",
            FromSeeds(proposition_3_3.proposition_3_3), Parameters, make=partial(_parameters_for, LINEAR.name, 10), regime=regime_of,
            premises=points_of_definition_3_1, controls=(
            _control("lambda = 1/2", "Midpoint Mixup reaches its infimum", lambda p, seed: proposition_3_3.as_written(Sample(p, seed), 0.5)),
            _control("lambda = 1", "ERM reaches its infimum", lambda p, seed: proposition_3_3.as_written(Sample(p, seed), 1.0)),
        )),
    Statement("proposition", "3.4", "Midpoint Mixup pushes a lagging feature up by Theta(1/k^2) at least",
            FromSeeds(proposition_3_4.proposition_3_4), Parameters, make=partial(_parameters_for, LINEAR.name, 100), regime=regime_of,
            premises=many_points_of_each_class, controls=(
            _control("beta constant (classes alike)", "the softmax does not see which feature is learned",
                    lambda p, seed: proposition_3_4.alike(_classes(p.replace(beta_law=CONSTANT), seed))),
            _control("ERM (classes alike)", "its gradient vanishes with 1 - phi", lambda p, seed: proposition_3_4.alike(_classes(p, seed), _erm)),
        )),
    Statement("proposition", "3.5", "ERM pushes a lagging feature up by O(k^-(0.1 C - 1)) at most", FromSeeds(proposition_3_5.proposition_3_5),
            Parameters, make=partial(_parameters_for, LINEAR.name, 100), regime=regime_of,
            premises=points_of_definition_3_1, controls=(
            _control("beta from 0.001 on", "points that have nearly none of the leading feature are not fitted",
                    lambda p, seed: proposition_3_5.upper_bound(_classes(p.replace(delta1=0.001, N=max(p.N, ENOUGH * p.k)), seed))),
            _control("Midpoint Mixup", "its gradient does not vanish", lambda p, seed: proposition_3_5.upper_bound(_classes(p, seed), _midpoint)),
        )),
    Statement("proposition", "4.4", "inside Definition 4.1 there is data on which no linear classifier is perfect",
            FromSeeds(proposition_4_4.proposition_4_4), Parameters, make=partial(_parameters_for, NETWORK.name, 40), regime=regime_of, controls=(
            _control("noise a hundred times weaker", "the signal decides",
                    lambda p, seed: proposition_4_4.not_separable("", p.replace(delta3=p.delta3 / 100.0, delta4=p.delta4 / 100.0), seed)),
            _control("two points", "any two points of R^F with different sums can be separated",
                    lambda p, seed: proposition_4_4.not_separable("", proposition_4_4.construction(p).replace(N=2), seed)),
        )),
)  # fmt: skip
"""In the order of the paper."""
