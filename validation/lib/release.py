"""The numbers that the README quotes, each with the interval that it must not leave before a release."""

from __future__ import annotations

import re
from collections.abc import Sequence

QUOTED: dict[str, tuple[str, ...]] = {
    "readme_figure": (
        "Exactly one feature learned in <10 10> of 10 classes, training accuracy <1 1>, settled (unchanged since t = <4.4e6 4.9e6>).",
        "erm, k = 10, seed 0: <500 1200> steps and <1000 3000> gradients of the gradient flow with rtol = 0.001 to t = <4.4e7 6e7>; "
        "learned means on all of 20 fresh draws per class (Definition 4.5).",
        "Settled: training accuracy is 1, and the learned features have not changed while time grew by the factor <10 14>.",
        "The initial state predicted which feature of a class escapes first in <9 10> of 10 classes.",
        "Plain gradient descent would need steps of at most <0.01 0.02> to follow this to 1 %: <2.5e9 6e9> of them or more.",
        "Regime: scaled (it departs from what the theorems assume in <6 6> ways).",
    ),
    "theorems": (
        "| 10 | 0.15 | <19 20> | <0 1> | <0 1> |",
        "| 10 | 0.15 | <9 13> | <2 6> | <3 7> |",
        "| 10 | 0.15 | <19 20> | <0 1> | <0 1> |",
        "Of the first row's 200 classes, <198 200> have exactly one feature when their runs settle; at t = 10^12 <174 182> have one, <18 26> none.",
    ),
    "paths": (
        "| 10 | default | <27 30> | <0 1> | <0 3> |",
        "| 6 | default | <20 24> | <0 4> | <3 9> |",
        "| 10 | default | <29 30> | <0 0> | <0 1> |",
        "| 6 | default | <29 30> | <0 0> | <0 1> |",
        "4.6 at d = k^20, N = 2000 | 6 to 20 | 2e-7 and less | <11 11> | <0 0> | <0 0> |",
        "4.7 at d = k^20 | 6 to 20 | 2e-7 and less | <8 11> | <0 0> | <0 3> |",
        "With the default N <5 10> of <10 10> runs of 4.6 hold at d = k^20, <0 5> are undecided",
        "All <82 82> runs of Midpoint Mixup contradict step B.18, and B.26 as we read it",
        "<1 8> of <71 71> B.17 at default r0, <3 9> of <11 11> at d = k^20",
        "(default <0.2 0.2> at k = 10)",
    ),
    "main_job_escapes": ("after <2 20> minutes <49 50> of 50 classes have both features",),
    "main_job": ("with `--integrator flow` after <1 75> minutes",),
}
"""By study, in the order of what it quotes; the least and the largest value stand in the place of a number."""

INTERVAL = r"<(\S+) (\S+)>"


def outside(study: str, quotes: Sequence[str]) -> list[str]:
    """Return what is wrong with the quotes of a study: numbers that have left their intervals, or other words than those of the table."""
    faults = [] if len(quotes) == len(QUOTED[study]) else [f"{study}: {len(quotes)} quotes, the table has {len(QUOTED[study])}"]
    for quote, template in zip(quotes, QUOTED[study], strict=False):
        *texts, last = re.split(INTERVAL, template)[::3]
        found = re.fullmatch("".join(f"{re.escape(text)}([0-9.e]+)" for text in texts) + re.escape(last), quote)
        intervals = [(float(low), float(high)) for low, high in re.findall(INTERVAL, template)]
        if found is None or not all(low <= float(number) <= high for (low, high), number in zip(intervals, found.groups(), strict=True)):
            faults.append(f"{study}: {quote!r} is not {template!r}")
    return faults
