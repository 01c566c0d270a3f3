"""Verdicts on results that need no runs: over seeds at each k, over k, and on their negative controls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError
from mvsim.judging.verdict import STATUSES, Verdict, constant, not_applicable
from mvsim.multi_view.parameters import Parameters, regime_label
from mvsim.papers.midpoint_mixup.ensemble import exponent_of_k
from mvsim.papers.midpoint_mixup.section_3.results import RESULTS, Result

ROUNDOFF = 1e-9
"""Numbers up to this have no exponent."""


def check_result(number: str) -> str:
    """Return the number of a result that is there, or raise `UsageError`."""
    if not isinstance(number, str) or number not in RESULTS:
        raise UsageError(f"result={echo(number)}: must be one of {', '.join(RESULTS)}")
    return number


class OverSeeds(NamedTuple):
    """What came of a result over data sets.

    Attributes
    ----------
    verdicts : list of Verdict
        Of each statement that is decided the worst over the seeds, since one counterexample is enough; of each constant the median. Data sets of
        which the result does not speak are left out; if none is left, that is the one verdict.
    values : dict
        By the names of these verdicts, what was measured on the single data sets.
    """

    verdicts: list[Verdict]
    values: dict[str, list[float]]


def result_over_seeds(result: Result, parameters: Parameters, seeds: int) -> OverSeeds:
    """Judge a result at seeds 0 .. seeds - 1.

    Parameters
    ----------
    result : Result
        The result.
    parameters : Parameters
        They fix the distribution of the data.
    seeds : int
        How many data sets.

    Returns
    -------
    OverSeeds
    """
    lacking = {seed: lack for seed in range(seeds) if (lack := result.lacks(parameters, seed))}
    judged = [result.judge(parameters, seed) for seed in range(seeds) if seed not in lacking]
    label = regime_label(parameters.deviations())
    together = [_together(parts) for parts in zip(*judged, strict=True)]
    if lacking:
        left_out = f"{len(lacking)} of {seeds} data sets are left out: {next(iter(lacking.values()))}"
        nothing = [not_applicable(result.name, f"{result.name}, on data that it speaks of", left_out)]
        together = [replace(one, detail=f"{one.detail}; {left_out}") for one in together] or nothing
    verdicts = [replace(_about(result, one), regime=label).at_k(parameters.k) for one in together]
    return OverSeeds(verdicts, {one.name: _numbers(parts) for one, parts in zip(verdicts, zip(*judged, strict=True), strict=False)})


def _about(result: Result, verdict: Verdict) -> Verdict:
    """Return a verdict with what it is about and how it is gathered: the parts of a result have its name and what they are, in brackets."""
    part = verdict.name.removeprefix(result.name).strip(" ()")
    if verdict.status == "measured":
        return replace(verdict, part=part, kind="step", gathered="constant")
    return replace(verdict, part=part, kind="theorem", gathered="everywhere")


def trend_over_k(judged: Mapping[int, OverSeeds]) -> list[Verdict]:
    """Report the exponent of k in each number that is above round-off on all data sets, with an interval over seeds (`exponent_of_k`).

    Of one k, or of those at which the result does not speak of the data, there is none. The medians over data sets are compared: the worst of them
    would grow with their number.
    """
    spoken_of = {k: of_k for k, of_k in sorted(judged.items()) if any(one.status != "not applicable" for one in of_k.verdicts)}
    trends: list[Verdict] = []
    if len(spoken_of) < 2:
        return trends
    for parts in zip(*(of_k.verdicts for of_k in spoken_of.values()), strict=True):
        values = {k: of_k.values[part.name] for (k, of_k), part in zip(spoken_of.items(), parts, strict=True)}
        if all(of_k and min(of_k) > ROUNDOFF and math.isfinite(max(of_k)) for of_k in values.values()):
            exponent, low, high = exponent_of_k(values)
            medians = ", ".join(f"{np.median(of_k):.4g} at k = {k} ({len(of_k)})" for k, of_k in values.items())
            few = "; two k fix a line, whatever the law" if len(values) == 2 else ""
            alone = "; one data set at a k has no spread" if min(map(len, values.values())) == 1 else ""
            detail = f"95% interval [{low:.3g}, {high:.3g}] over seeds{alone}{few}; medians {medians}"
            trends.append(constant(f"{parts[0].check} (trend in k)", f"exponent of k in: {parts[0].statement}", exponent, detail=detail))
    return trends


def _numbers(verdicts: Sequence[Verdict]) -> list[float]:
    """Return what was measured where something was."""
    return [float(one.measured) for one in verdicts if one.measured is not None and not math.isnan(one.measured)]


def control_verdicts(result: Result, parameters: Parameters, seed: int = 0) -> list[Verdict]:
    """Run the negative controls of a result: each verdict holds if the check that it is about fails, as it must."""
    verdicts = []
    for control in result.controls:
        if lack := result.lacks(parameters, seed):
            verdicts.append(replace(not_applicable(f"Control: {control.name} ({result.name})", control.why, lack), kind="control"))
            continue
        verdict = control.judge(parameters, seed)
        turned = verdict.status == "fails"
        statement = f"{result.name} with {control.name}: must fail, {control.why}"
        measured = "" if verdict.measured is None else f"measured {verdict.measured:.4g}; "
        detail = f"the check {'fails, as it must' if turned else f'says {verdict.status!r}, and must fail'}: {measured}{verdict.detail}"
        verdicts.append(Verdict(f"Control: {control.name} ({result.name})", "holds" if turned else "fails", statement, detail=detail, kind="control"))
    return verdicts


def _together(verdicts: Sequence[Verdict]) -> Verdict:
    """Return what the verdicts of one statement over seeds say together; that of one seed speaks for itself."""
    if len(verdicts) == 1:
        return verdicts[0]
    values = [verdict.measured for verdict in verdicts if verdict.measured is not None and math.isfinite(verdict.measured)]
    spread = f"median {np.median(values):.4g}, range [{min(values):.4g}, {max(values):.4g}]" if values else ""
    if all(verdict.status == "measured" for verdict in verdicts):
        first = next((verdict for verdict in verdicts if verdict.measured is not None), verdicts[0])
        spread = f"{spread} over {len(values)} of {len(verdicts)} seeds" if values else first.detail
        return replace(first, measured=float(np.median(values)) if values else None, detail=spread)
    worst = min(verdicts, key=lambda v: (STATUSES.index(v.status), math.inf if v.margin is None else v.margin))
    counted = ", ".join(f"{sum(v.status == status for v in verdicts)} {status}" for status in STATUSES if any(v.status == status for v in verdicts))
    return replace(worst, detail=f"the worst of {len(verdicts)} seeds ({'; '.join(filter(None, [counted, spread]))}); {worst.detail}")
