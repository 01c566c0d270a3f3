"""Verdicts on fractions: what the interval of a probability says of a bound."""

from __future__ import annotations

from itertools import count

from mvsim.judging.verdict import Status, Verdict, margin_above
from mvsim.numerics.intervals import clopper_pearson

MOST_FURTHER = 100_000
"""Trials beyond which it is not said how many would establish a fraction."""


def further_needed(successes: int, trials: int, bound: float) -> int | None:
    """Return how many further trials, all of them successes, would lift the lower end of the interval to ``bound``.

    The lower end grows with every success, so that the number is found by bisection.

    Parameters
    ----------
    successes, trials : int
        What there is so far.
    bound : float
        In (0, 1).

    Returns
    -------
    int or None
        0 if the lower end is there already, None if more than `MOST_FURTHER` were needed.
    """

    def enough(further: int) -> bool:
        return clopper_pearson(successes + further, trials + further)[0] >= bound

    if enough(0):
        return 0
    if not enough(MOST_FURTHER):
        return None
    least, most = 0, MOST_FURTHER
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if enough(middle) else (middle, most)
    return most


def failures_needed(trials: int, bound: float) -> int:
    """Return how many further trials would bring the upper end of the interval below ``bound``, > 0, if all fail as the ``trials`` before have."""
    return next(further for further in count() if clopper_pearson(0, trials + further)[1] < bound)


def fraction_at_least(name: str, statement: str, successes: int, trials: int, bound: float, detail: str = "") -> Verdict:
    """Say whether a probability is at least ``bound``, given the successes in independent trials.

    It is established if the whole Clopper-Pearson interval is, contradicted if even its upper end is not, and consistent if the interval contains
    the bound; then the detail says how many further trials without a failure would establish it. Where no trial succeeds, nothing speaks for it
    either: as long as the interval contains the bound that is inconclusive, and the detail says how many further failures would contradict it.
    """
    measured = successes / trials
    low, high = clopper_pearson(successes, trials)
    status: Status = "established" if low >= bound else "contradicted" if high < bound else "consistent"
    counts = f"{successes} of {trials}, 95% interval [{low:.3f}, {high:.3f}]"
    if status == "consistent" and not successes:
        status = "inconclusive"
        further = failures_needed(trials, bound)
        counts += f"; {further} further {'run' if further == 1 else 'runs'} in which it fails would contradict it"
    elif status == "consistent":
        needed = further_needed(successes, trials, bound)
        counts += f"; {f'{needed} further' if needed is not None else f'more than {MOST_FURTHER} further'} runs without a failure would establish it"
    return Verdict(name, status, statement, measured, bound, margin_above(measured, bound), f"{counts}; {detail}" if detail else counts)
