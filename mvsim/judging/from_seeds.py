"""Statements that are judged from a setting and a seed: over seeds, over sizes, and with their negative controls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from mvsim.base.echo import quantity
from mvsim.judging.controls import control_section
from mvsim.judging.over_seeds import OfData, over_seeds
from mvsim.judging.over_sizes import exponent_verdict, measured_constants
from mvsim.judging.statement import Request, Section, Statement
from mvsim.judging.verdict import Verdict, not_applicable

ROUNDOFF = 1e-9
"""Numbers up to this have no exponent."""


@dataclass(frozen=True)
class FromSeeds:
    """Judge a statement by what a function says of a setting and a seed."""

    # (setting, seed) -> verdicts, each named after the part of the statement that it is about; empty for all of it. What is decided is to hold for
    # every seed: the worst counts. Of what is measured the median is reported
    judge: Callable[[Any, int], list[Verdict]]
    makes_runs: ClassVar[bool] = False

    def sections(self, statements: Sequence[Statement], settings: Sequence[Any], request: Request) -> Iterator[Section]:
        """Yield the verdicts at each size, how they go with the size, and the controls at the first setting."""
        for statement in statements:
            size, by_size = statement.size, dict[int, list[OfData]]()
            for setting in settings:
                n = int(getattr(setting, size))
                by_size[n], verdicts = judged_over_seeds(statement, setting, request.seeds)
                title = f"{statement.name}, {size} = {n}, {quantity(request.seeds, 'seed')}"
                yield Section(title, verdicts, f"at {size} = {n}", [list(statement.regime(setting).departures)], stated=True)
            if trends := exponents(statement, {n: judged for n, judged in sorted(by_size.items()) if judged}):
                yield Section(f"{statement.name}, trend in {size}", trends)
            if request.controls:
                yield control_section(statement.name, statement.controls, settings[0], premises=statement.premises)


def judged_over_seeds(statement: Statement, setting: Any, seeds: int) -> tuple[list[OfData], list[Verdict]]:
    """Judge a statement at seeds 0 to ``seeds`` - 1: the verdicts of each data set that it speaks of, and what they say together."""
    assert isinstance(statement.procedure, FromSeeds)
    size, n = statement.size, int(getattr(setting, statement.size))
    lacking = {seed: lack for seed in range(seeds) if (lack := statement.premises(setting, seed))}
    judge = statement.procedure.judge
    judged = [OfData(seed, [_about(statement, verdict) for verdict in judge(setting, seed)]) for seed in range(seeds) if seed not in lacking]
    verdicts = over_seeds(statement.name, n, judged, size=size) if judged else []
    if lacking:
        left_out = f"{len(lacking)} of {seeds} data sets are left out: {next(iter(lacking.values()))}"
        nothing = _about(statement, not_applicable("", f"{statement.name}, on data that it speaks of", left_out))
        verdicts = [replace(one, detail=f"{one.detail}; {left_out}") for one in verdicts] or [nothing.at(size, n)]
    label = statement.regime(setting).label
    return judged, [replace(verdict, regime=label) for verdict in verdicts]


def _about(statement: Statement, verdict: Verdict) -> Verdict:
    """Return a verdict with what it is about: a constant that is measured is no part of the statement; what is decided is to hold everywhere."""
    part, measured = verdict.name, verdict.status == "measured"
    named = replace(verdict, name=f"{statement.name} ({part})" if part else statement.name, part=part)
    kind, gathered = ("step", "constant") if measured else ("step" if statement.step else "theorem", "everywhere")
    return replace(named, kind=kind, gathered=gathered).about(statement.number, statement.name)  # type: ignore[arg-type]


def exponents(statement: Statement, by_size: dict[int, list[OfData]]) -> list[Verdict]:
    """Report the exponent of the size in each number that is finite and above round-off on all data sets, with an interval over seeds.

    The medians over data sets are compared: the worst of them would grow with their number.
    """
    if len(by_size) < 2:
        return []
    constants = {n: measured_constants(judged, decided=True) for n, judged in by_size.items()}
    trends = []
    for one in next(iter(by_size.values()))[0].verdicts:
        values = {n: of_size.get(one.name, []) for n, of_size in constants.items()}
        if all(of_size and min(of_size) > ROUNDOFF and math.isfinite(max(of_size)) for of_size in values.values()):
            trends.append(
                exponent_verdict(one.name, values, of=f"the number of: {one.statement}", size=statement.size).about(statement.number, statement.name)
            )
    return trends
