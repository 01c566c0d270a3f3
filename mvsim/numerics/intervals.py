"""How sure a fraction is, if its trials are independent."""

from __future__ import annotations

CONFIDENCE = 0.95
"""Probability with which the intervals of verdicts and pictures contain the true value: at least, if trials are independent; about, for classes
clustered by run (`mvsim.sweeps.intervals`) and for the bootstrap over runs."""


def clopper_pearson(successes: float, trials: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the exact two-sided interval for a probability, given ``successes`` in ``trials`` independent trials.

    The lower end p solves P(X >= x) = (1 - confidence) / 2 for X binomial with n trials, the upper end P(X <= x) = (1 - confidence) / 2. Both tails
    are incomplete beta functions, so that the ends are quantiles of beta distributions,

        low = B(q; x, n - x + 1),    high = B(1 - q; x + 1, n - x),    q = (1 - confidence) / 2,

    with low = 0 where x = 0 and high = 1 where x = n.

    Parameters
    ----------
    successes, trials : float
        x and n, 0 <= x <= n, n > 0. The quantiles are defined for any real numbers, such as an effective number of trials.
    confidence : float
        Probability, at least, with which the interval contains the true value.

    Returns
    -------
    tuple of float
        Lower and upper end, dimensionless.

    Source
    ------
    Clopper and Pearson (1934), The use of confidence or fiducial limits illustrated in the case of the binomial.
    """
    from scipy.special import betaincinv

    tail, rest = (1.0 - confidence) / 2.0, trials - successes
    low = float(betaincinv(successes, rest + 1.0, tail)) if successes > 0.0 else 0.0
    high = float(betaincinv(successes + 1.0, rest, 1.0 - tail)) if rest > 0.0 else 1.0
    return low, high
