"""How sure a fraction is, if its trials are independent, or classes of runs that are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

CONFIDENCE = 0.95
"""Probability with which the intervals of verdicts and pictures contain the true value: at least, if trials are independent; about, for classes
clustered by run (`clustered_interval`) and for the bootstrap over runs."""


def clopper_pearson(successes: float, trials: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the exact two-sided interval for a probability, given x ``successes`` in n ``trials``, which need not be integers.

    The lower end p solves P(X >= x) = (1 - confidence) / 2 for X binomial with n trials, the upper end P(X <= x) = (1 - confidence) / 2: with
    q = (1 - confidence) / 2 they are the quantiles of beta distributions

        low = B(q; x, n - x + 1),    high = B(1 - q; x + 1, n - x),

    with low = 0 where x = 0 and high = 1 where x = n (Clopper and Pearson, Biometrika 26, 1934).
    """
    from scipy.special import betaincinv

    tail, rest = (1.0 - confidence) / 2.0, trials - successes
    low = float(betaincinv(successes, rest + 1.0, tail)) if successes > 0.0 else 0.0
    high = float(betaincinv(successes + 1.0, rest, 1.0 - tail)) if rest > 0.0 else 1.0
    return low, high


def clustered_interval(successes: Sequence[int], trials: Sequence[int]) -> tuple[float, float, float]:
    """Return a fraction and its Clopper-Pearson interval at the effective number of trials.

    Classes of one run share their data and their softmax, so k classes of n seeds are fewer than n k independent trials. With x_i of m_i classes in
    run i, p = sum x_i / sum m_i and the variance between runs

        v = n / (n - 1) sum_i (x_i - p m_i)^2 / (sum_i m_i)^2,

    p (1 - p) / v independent trials would leave p as uncertain as it is. That number is estimated from n runs only; the squared ratio of the
    quantiles of Student's t with sum m_i - 1 and n - 1 degrees of freedom makes up for it. No fewer trials than runs are counted, since runs are
    independent, and no more than classes. Where p is 0 or 1, or there is one run only, runs show no variance and are the trials. Where all runs
    have the same fraction between 0 and 1, they vary less than independent classes would, and the classes are. So the interval may widen where one
    more class succeeds.

    The interval is approximate: where classes of a run agree strongly and p is near 1, it contains the true fraction somewhat less often than it
    says.

    Source
    ------
    Korn and Graubard (1998), Confidence intervals for proportions with small expected number of positive counts estimated from survey data.
    """
    from scipy.stats import t

    x, m = np.asarray(successes, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    runs, classes, tail = len(x), float(m.sum()), (1.0 - CONFIDENCE) / 2.0
    p = float(x.sum() / classes)
    effective = float(runs)
    variance = runs / (runs - 1) * float(((x - p * m) ** 2).sum()) / classes**2 if runs > 1 else 0.0
    if 0.0 < p < 1.0 and runs > 1:
        spread = t.ppf(1.0 - tail, classes - 1.0) / t.ppf(1.0 - tail, runs - 1.0)
        effective = classes if variance == 0.0 else p * (1.0 - p) / variance * float(spread) ** 2
        effective = min(max(effective, float(runs)), classes)
    return p, *clopper_pearson(p * effective, effective)
