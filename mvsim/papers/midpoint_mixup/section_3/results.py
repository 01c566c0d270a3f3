"""The results that are judged without runs, by their numbers, each with its negative controls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mvsim.judging.verdict import Verdict
from mvsim.multi_view.parameters import Parameters
from mvsim.multi_view.parameters.models import LINEAR, NETWORK
from mvsim.papers.midpoint_mixup.section_3 import lemma_3_2, proposition_3_3, proposition_3_4, proposition_3_5, proposition_4_4
from mvsim.papers.midpoint_mixup.section_3.orthogonal import OneClass
from mvsim.papers.midpoint_mixup.section_3.premises import many_points_of_each_class, points_of_definition_3_1
from mvsim.papers.midpoint_mixup.section_3.sample import ONE, Sample

CONSTANT = {"kind": "discrete", "atoms": [0.5]}
"""The law of a constant beta."""

ENOUGH = 100
"""Points for each class with which some have nearly none of the leading feature, if the law of beta allows it."""


@dataclass(frozen=True)
class NegativeControl:
    """Something taken away, so that a check has to fail.

    Attributes
    ----------
    name : str
        What is different.
    why : str
        Why the check has to fail.
    judge : callable
        (parameters, seed) -> the verdict of the check.
    """

    name: str
    why: str
    judge: Callable[[Parameters, int], Verdict]


@dataclass(frozen=True)
class Result:
    """One result of the paper.

    Attributes
    ----------
    name : str
        Its name there.
    model : str
        The model that it is about.
    points : int
        Default number of points for each class: N is to be sufficiently large, and what is enough differs.
    judge : callable
        (parameters, seed) -> verdicts.
    controls : tuple of NegativeControl
        What must fail.
    lacks : callable
        (parameters, seed) -> in what the data are not those that it speaks of, in words; nothing if they are.
    """

    name: str
    model: str
    points: int
    judge: Callable[[Parameters, int], list[Verdict]]
    controls: tuple[NegativeControl, ...]
    lacks: Callable[[Parameters, int], str] = lambda parameters, seed: ""

    def parameters(self, k: int, fields: dict[str, Any]) -> Parameters:
        """Return parameters with k classes, with the default number of points unless N is given."""
        return Parameters(**{"k": k, "model": self.model, "N": self.points * k} | fields)


def _classes(parameters: Parameters, seed: int) -> list[OneClass]:
    return OneClass.each_of(Sample(parameters, seed))


def _erm(one: OneClass, own: np.ndarray) -> np.ndarray:
    """Return the pull of ERM where that of Midpoint Mixup is asked for."""
    return one.erm_pull(own[one.y])


def _midpoint(one: OneClass, own: np.ndarray) -> np.ndarray:
    """Return the pull of Midpoint Mixup where that of ERM is asked for: all classes are like the one that is given."""
    return one.midpoint_pull(np.tile(own, (one.k, 1)))


RESULTS: dict[str, Result] = {
    "3.2": Result(
        "Lemma 3.2", LINEAR.name, 10, lemma_3_2.lemma_3_2,
        (
            NegativeControl("one own correlation is 1.1 (sufficiency)", "the direction is not optimal",
                lambda p, seed: lemma_3_2.sufficiency(Sample(p, seed), lemma_3_2.broken_direction(p.k, ONE))),
            NegativeControl("lambda = 0.3 (sufficiency)", "points are not mixed half and half",
                lambda p, seed: lemma_3_2.sufficiency(Sample(p, seed), method="mixup", mixing=0.3)),
            NegativeControl("beta constant, own correlations 1.1 and 0.9 (necessity)", "no point shows that they differ",
                lambda p, seed: lemma_3_2.necessity(Sample(p.replace(beta_law=CONSTANT), seed), (lemma_3_2.BREAK, -lemma_3_2.BREAK))),
        ),
        points_of_definition_3_1,
    ),
    "3.3": Result(
        "Proposition 3.3", LINEAR.name, 10, proposition_3_3.proposition_3_3,
        (
            NegativeControl("lambda = 1/2", "Midpoint Mixup reaches its infimum", lambda p, seed: proposition_3_3.as_written(Sample(p, seed), 0.5)),
            NegativeControl("lambda = 1", "ERM reaches its infimum", lambda p, seed: proposition_3_3.as_written(Sample(p, seed), 1.0)),
        ),
        points_of_definition_3_1,
    ),
    "3.4": Result(
        "Proposition 3.4", LINEAR.name, 100, proposition_3_4.proposition_3_4,
        (
            NegativeControl("beta constant (classes alike)", "the softmax does not see which feature is learned",
                lambda p, seed: proposition_3_4.alike(_classes(p.replace(beta_law=CONSTANT), seed))),
            NegativeControl("ERM (classes alike)", "its gradient vanishes with 1 - phi",
                lambda p, seed: proposition_3_4.alike(_classes(p, seed), _erm)),
        ),
        many_points_of_each_class,
    ),
    "3.5": Result(
        "Proposition 3.5", LINEAR.name, 100, proposition_3_5.proposition_3_5,
        (
            NegativeControl("beta from 0.001 on", "points that have nearly none of the leading feature are not fitted",
                lambda p, seed: proposition_3_5.upper_bound(_classes(p.replace(delta1=0.001, N=max(p.N, ENOUGH * p.k)), seed))),
            NegativeControl("Midpoint Mixup", "its gradient does not vanish",
                lambda p, seed: proposition_3_5.upper_bound(_classes(p, seed), _midpoint)),
        ),
        points_of_definition_3_1,
    ),
    "4.4": Result(
        "Proposition 4.4", NETWORK.name, 40, proposition_4_4.proposition_4_4,
        (
            NegativeControl("noise a hundred times weaker", "the signal decides",
                lambda p, seed: proposition_4_4.not_separable("Proposition 4.4", p.replace(delta3=p.delta3 / 100.0, delta4=p.delta4 / 100.0), seed)),
            NegativeControl("two points", "any two points of R^F with different sums can be separated",
                lambda p, seed: proposition_4_4.not_separable("Proposition 4.4", proposition_4_4.construction(p).replace(N=2), seed)),
        ),
    ),
}  # fmt: skip
"""Number in the paper -> result."""
