"""Verdicts on fractions: what the interval of a probability says of a bound."""

from __future__ import annotations

from bisect import bisect_left
from itertools import count

from mvsim.judging.verdict import Status, Verdict, margin_above
from mvsim.numerics.intervals import clopper_pearson

MOST_FURTHER = 100_000
"""Trials beyond which it is not said how many would establish a fraction."""


def further_needed(successes: int, trials: int, bound: float) -> int | None:
    """Return how many further trials, all of them successes, would lift the lower end of the interval to ``bound``.

    The lower end grows with every success, so that the number is found by bisection.
    """
    further = bisect_left(range(MOST_FURTHER + 1), bound, key=lambda more: clopper_pearson(successes + more, trials + more)[0])
    return further if further <= MOST_FURTHER else None


def fraction_at_least(name: str, statement: str, successes: int, trials: int, bound: float) -> Verdict:
    """Say whether a probability is at least ``bound``, given the successes in independent trials.

    It is established if the whole Clopper-Pearson interval is, and contradicted if none of it is: the same proof is asked for either way. Where the
    interval contains the bound, what was counted decides nothing, and the fraction itself says which way it leans: consistent where it is at least
    the bound, inconclusive where it is below. The detail says how many further trials of one kind would establish, or contradict, it.
    """
    measured = successes / trials
    low, high = clopper_pearson(successes, trials)
    leaning: Status = "consistent" if measured >= bound else "inconclusive"
    status: Status = "established" if low >= bound else "contradicted" if high < bound else leaning
    counts = f"{successes} of {trials}, 95% interval [{low:.3f}, {high:.3f}]"
    if status == "inconclusive":
        further = next(further for further in count() if clopper_pearson(successes, trials + further)[1] < bound)  # bound > 0
        counts += f"; {further} further {'run' if further == 1 else 'runs'} in which it fails would contradict it"
    elif status == "consistent":
        needed = further_needed(successes, trials, bound)
        counts += f"; {f'{needed} further' if needed is not None else f'more than {MOST_FURTHER} further'} runs without a failure would establish it"
    return Verdict(name, status, statement, measured, bound, margin_above(measured, bound), counts)
