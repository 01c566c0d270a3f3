"""Gradients of ERM and Midpoint Mixup under cross-class orthogonality, <w_s, v_{u,l}> = 0 for s != u: what Propositions 3.4 and 3.5 are about.

Own correlations A[s, l] = <w_s, v_{s,l}> are all that is left. A point j of class s has g_s(x_j) = h_j = sum_l beta[j, l] A[s, l] and 0 for all other
classes, so a midpoint of two points has h_i / 2 and h_j / 2 for their classes. For one class y with points i (n of them), and points j of other
classes, -grad_{w_y} J has the components (Calculations A.9, A.10)

    ERM       pull[l] = (1/N)    sum_i  (1 - phi_i) beta[i, l],                                    phi_i = e^h_i / (e^h_i + k - 1)
    Midpoint  pull[l] = (1/2N^2) sum_ij (1 - 2 phi_ij) beta[i, l]
                      + (1/2N^2) sum_ii' (1 - phi_ii') (beta[i, l] + beta[i', l]),                 i, i' of class y

    phi_ij = e^(h_i/2) / (e^(h_i/2) + e^(h_j/2) + k - 2),      phi_ii' = e^((h_i + h_i')/2) / (e^((h_i + h_i')/2) + k - 1).

In the first sum of Midpoint Mixup both orders of a pair have been added up, and so has the 1/2 with which x_i stands in the midpoint.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mvsim.papers.midpoint_mixup.section_3.sample import Sample


@dataclass(frozen=True, eq=False)
class OneClass:
    """The points of one class y and of all others."""

    k: int
    N: int
    y: int
    beta: np.ndarray  # (n, 2) coefficients of the points of class y
    others: np.ndarray  # (N - n, 2) coefficients of the other points
    classes: np.ndarray  # (N - n,) their classes

    @classmethod
    def of(cls, sample: Sample, y: int) -> OneClass:
        """Return class y of a sample."""
        own = sample.labels == y
        return cls(sample.k, len(own), y, sample.beta[own], sample.beta[~own], sample.labels[~own])

    @classmethod
    def each_of(cls, sample: Sample) -> list[OneClass]:
        """Return all classes of a sample: a bound for any class is judged on the worst."""
        return [cls.of(sample, y) for y in range(sample.k)]

    @cached_property
    def share(self) -> float:
        """N_y / N."""
        return len(self.beta) / self.N

    def erm_pull(self, own: np.ndarray) -> np.ndarray:
        """Return (2,): -<grad_{w_y} J, v_{y,l}> for correlations own (2,) of class y; those of other classes do not matter."""
        return (_one_minus_share(self.beta @ own, np.log(self.k - 1.0)) @ self.beta) / self.N

    def midpoint_pull(self, own: np.ndarray) -> np.ndarray:
        """Return (2,): -<grad_{w_y} J_MM, v_{y,l}> for own correlations (k, 2) of all classes."""
        h, h_others = self.beta @ own[self.y], (self.others * own[self.classes]).sum(axis=1)
        rest = _log_rest(h_others, self.k)
        across = 1.0 - 2.0 * _share(0.5 * h[:, None], rest)
        within = _one_minus_share(0.5 * (h[:, None] + h), np.log(self.k - 1.0))
        return (across.sum(axis=1) @ self.beta + 2.0 * (within.sum(axis=1) @ self.beta)) / (2.0 * self.N**2)

    def lagging_by_class(self, own: np.ndarray) -> np.ndarray:
        """Return (k,): what the points of each other class add to 2N^2 times the pull of Midpoint Mixup on v_{y,2}; 0 for class y.

        1 - 2 phi_ij = tanh((b_j - h_i / 2) / 2) with e^b_j = e^(h_j/2) + k - 2.
        """
        h, h_others = self.beta @ own[self.y], (self.others * own[self.classes]).sum(axis=1)
        each = self.beta[:, 1] @ np.tanh(0.5 * _log_rest(h_others, self.k) - 0.25 * h[:, None])
        return np.bincount(self.classes, weights=each, minlength=self.k)


def _log_rest(h_others: np.ndarray, k: int) -> np.ndarray:
    """Return log(e^(h/2) + k - 2): of the exponentials of all classes but y."""
    return np.asarray(0.5 * h_others if k == 2 else np.logaddexp(0.5 * h_others, np.log(k - 2.0)))


def _share(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return e^a / (e^a + e^b)."""
    from scipy.special import expit

    return np.asarray(expit(a - b))


def _one_minus_share(a: np.ndarray, b: float) -> np.ndarray:
    """Return e^b / (e^a + e^b), with all its digits."""
    return _share(np.full_like(a, b), a)
