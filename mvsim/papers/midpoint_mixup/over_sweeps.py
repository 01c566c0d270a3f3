"""The question of all runs of a sweep: theorems over its seeds, for each combination of what else is swept, and how that goes with k."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from mvsim.base.errors import UsageError
from mvsim.judging.number_text import runs_text
from mvsim.judging.statement import Section
from mvsim.judging.verdict import Verdict, not_applicable
from mvsim.papers.midpoint_mixup.judge_run import Judgement, judge, theorem_about
from mvsim.papers.midpoint_mixup.over_runs import over_k, section_over_seeds
from mvsim.papers.midpoint_mixup.theorems.theorems import THEOREMS
from mvsim.runs.run import Run, open_run
from mvsim.sweeps.cell import Cell
from mvsim.sweeps.folder import Standing
from mvsim.sweeps.runs import SweepRuns
from mvsim.sweeps.values import canonical_text


def judge_sweep(runs: SweepRuns, begin: Callable[[Run, int, int], None] | None = None) -> Iterator[Section]:
    """Judge all runs of a sweep that are done and have a theorem."""
    number_of = {theorem.method: number for number, theorem in THEOREMS.items()}
    selected = cells_to_judge(runs)
    to_judge = sum(standing.state == "done" for _, standing in selected)
    if not to_judge:
        about = ", ".join(f"{number} about {method}" for method, number in number_of.items())
        raise UsageError(f"{runs.folder.path}: no run is done that has a theorem ({about}, networks with two views); make runs with `mvsim sweep`")
    judged = 0
    paths: dict[tuple[str, str], list[_AtK]] = {}
    beside_k = {name for axis in runs.study.axes if "k" in axis.names for name in axis.names}
    for group in _groups(selected, {"seed"}).values():
        cell = group[0][0]
        number, k = number_of[cell.method], cell.parameters.k
        judgements = []
        for one, standing in group:
            if standing.state != "done":
                continue
            run = open_run(runs.folder.path_of(one))
            if begin is not None:
                begin(run, judged, to_judge)
            judged += 1
            judgements.append(judge(run, number))
        lost = [f"seed {one.seed} failed: {standing.message}" for one, standing in group if standing.state == "failed"]
        waiting = sum(standing.state in ("missing", "unfinished") for _, standing in group)
        yield _section(number, cell, judgements, lost, waiting)
        if judgements or lost:
            apart = _key(cell, {"seed", "method"} | beside_k)
            paths.setdefault((number, apart), []).append(_AtK(k, _key(cell, cell.swept.keys() - beside_k), judgements, len(lost)))
    for (theorem, rest), path in paths.items():
        if len({at.k for at in path}) > 1 and any(at.judgements for at in path):
            yield Section(f"Theorem {theorem}, trend in k" + (f", {rest}" if rest else ""), _trend(theorem, path))


class _AtK(NamedTuple):
    """The judged runs at one k and one value of what is swept side by side with it, which ``where`` has in words; and how many failed."""

    k: int
    where: str
    judgements: list[Judgement]
    lost: int


def _trend(number: str, path: list[_AtK]) -> list[Verdict]:
    name = f"Theorem {number}"
    several = [at.where for at in path if sum(other.k == at.k for other in path) > 1]
    if several:
        why = f"one k has several values of what goes with it, so that there is no one path in k: {'; '.join(several)}"
        none = not_applicable(f"{name} (trend in k)", "how it goes with k, one set of runs at each", why)
        return [replace(none, kind="theorem").about(number, name)]
    return over_k(name, {at.k: at.judgements for at in path}, {at.k: at.lost for at in path})


def cells_to_judge(runs: SweepRuns) -> list[tuple[Cell, Standing]]:
    """Return the cells that have a theorem, whether they are done or not."""
    standings = zip(runs.study.cells, runs.standings, strict=True)
    return [(cell, standing) for cell, standing in standings if theorem_about(cell.method, cell.parameters) is not None]


def _section(number: str, cell: Cell, judgements: list[Judgement], lost: list[str], waiting: int) -> Section:
    k, where = cell.parameters.k, _key(cell, {"seed", "method"})
    where = where if "k" in cell.swept else ", ".join(part for part in (f"k={k}", where) if part)
    title, place = f"Theorem {number}, {where}", f"at {where}"
    origin = "; ".join([*([f"{waiting} {'cell is' if waiting == 1 else 'cells are'} not done"] if waiting else []), *lost])
    if not judgements:
        return section_over_seeds(number, k, [], lost, title, place, origin)
    section = section_over_seeds(number, k, judgements, lost, f"{title}, {runs_text(len(judgements))}", place, origin)
    left_out = f"; {waiting} of {len(judgements) + len(lost) + waiting} cells are not done and not counted" if waiting else ""
    failed = f"; {lost[0]}{f', and {len(lost) - 1} more failed' if len(lost) > 1 else ''}" if lost else ""
    first, *others = section.verdicts
    return replace(section, verdicts=[replace(first, detail=f"{first.detail}{left_out}{failed}"), *others])


def _groups(cells: list[tuple[Cell, Standing]], without: set[str]) -> dict[Any, list[tuple[Cell, Standing]]]:
    """Return cells that agree in all that is swept but some names."""
    groups: dict[Any, list[tuple[Cell, Standing]]] = {}
    for cell, standing in cells:
        groups.setdefault((cell.method, _key(cell, without)), []).append((cell, standing))
    return groups


def _key(cell: Cell, without: set[str]) -> str:
    return ", ".join(
        f"{name}={value if isinstance(value, str) else canonical_text(value)}" for name, value in cell.swept.items() if name not in without
    )
