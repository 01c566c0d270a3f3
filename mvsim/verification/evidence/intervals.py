"""How sure a fraction is."""

from __future__ import annotations

from mvsim.verification.verdict import Status, Verdict, margin_above

CONFIDENCE = 0.95


def clopper_pearson(successes: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the exact two-sided interval for a probability, given ``successes`` in ``trials`` independent trials.

    Parameters
    ----------
    successes, trials : int
        0 <= successes <= trials, trials >= 1.
    confidence : float
        Probability, at least, with which the interval contains the true value.

    Returns
    -------
    tuple of float
        Lower and upper end, dimensionless.

    Source
    ------
    Clopper and Pearson (1934), as computed by `scipy.stats.binomtest`.
    """
    from scipy.stats import binomtest

    interval = binomtest(int(successes), int(trials)).proportion_ci(confidence, method="exact")
    return float(interval.low), float(interval.high)


def fraction_at_least(name: str, statement: str, successes: int, trials: int, bound: float, detail: str = "") -> Verdict:
    """Decide whether a fraction is at least ``bound``.

    It holds if the measured fraction is, it fails if even the upper end of its Clopper-Pearson interval is not, and is inconclusive in between:
    too few trials to tell.
    """
    measured = successes / trials
    low, high = clopper_pearson(successes, trials)
    status: Status = "holds" if measured >= bound else "fails" if high < bound else "inconclusive"
    counts = f"{successes} of {trials}, 95% interval [{low:.3f}, {high:.3f}]"
    return Verdict(name, status, statement, measured, bound, margin_above(measured, bound), f"{counts}; {detail}" if detail else counts)
