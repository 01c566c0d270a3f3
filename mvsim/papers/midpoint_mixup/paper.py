"""The paper on Midpoint Mixup: all that it states, and what is drawn of it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mvsim.judging.controls import judged_control
from mvsim.judging.from_seeds import FromSeeds
from mvsim.judging.statement import Control, Paper, RunJudge, Section, Statement
from mvsim.judging.verdict import Verdict
from mvsim.multi_view.parameters import Parameters
from mvsim.papers.midpoint_mixup.calculations.calculations import CALCULATIONS
from mvsim.papers.midpoint_mixup.calculations.gaussian_maxima import GAUSSIAN_MAXIMA, drawn_maxima
from mvsim.papers.midpoint_mixup.claims import CLAIMS
from mvsim.papers.midpoint_mixup.controls import CONTROL_PARAMETERS, CONTROLS, KeptRuns
from mvsim.papers.midpoint_mixup.over_runs import FOLLOWING_LIMIT, OnRuns, RunSetting, judge_runs, parameters_on_path
from mvsim.papers.midpoint_mixup.over_sweeps import cells_to_judge, judge_sweep
from mvsim.papers.midpoint_mixup.run_checks.gradient_flow import COARSEST
from mvsim.papers.midpoint_mixup.section_3.statements import SECTION_3, regime_of
from mvsim.papers.midpoint_mixup.steps import Step
from mvsim.papers.midpoint_mixup.theorems.definition import DRAWS
from mvsim.pictures import run_figure
from mvsim.runs.run import Run
from mvsim.runs.simulation.entry import simulate


def _both(p: Parameters, t_end: float | None, panels: Sequence[str], title: str) -> Any:
    runs: list[Run] = [simulate(p, method, 0, t_end=t_end) for method in ("erm", "midpoint")]
    return run_figure(runs, panels, title=title)


def linear_gaps() -> Any:
    """Section 3: in a linear model Midpoint Mixup closes the gaps between the views of a class long before ERM."""
    return _both(Parameters(k=5, model="linear", N=100), 1e5, ["correlations", "gaps"], "Linear models: gaps between the two views of each class")


def learned_views() -> Any:
    """Theorems 4.6 and 4.7: ERM learns one view of each class, Midpoint Mixup both."""
    return _both(Parameters(k=4, d=2000), None, ["correlations", "learned-classes"], "A network with k = 4: one view of each class, or both")


FIGURES = {"3": linear_gaps, "4": learned_views}
"""By the section that they belong to."""


def _on_runs(kind: str, number: str, says: str, theorem: str, step: bool = True, about: str = "", controls: tuple[Control, ...] = ()) -> Statement:
    return Statement(kind, number, says, OnRuns(theorem), RunSetting, make=parameters_on_path, step=step, about=about, controls=controls)  # type: ignore[arg-type]


def _steps(steps: Mapping[str, Step]) -> list[Statement]:
    """Return a statement for each number, with all its parts, judged on the runs of the theorem in whose proof it stands."""
    first: dict[str, Step] = {}
    for step in steps.values():
        first.setdefault(step.number, step)
    return [_on_runs(step.kind, step.number, _formula(step), "4.6" if step.erm or not step.mixing else "4.7", about=step.about)
            for step in first.values()]  # fmt: skip


def _formula(step: Step) -> str:
    paragraph = " ".join((inspect.getdoc(step.check) or "").split("\n\n")[0].split())
    return paragraph.removeprefix(f"{step.title}: ").removeprefix(f"{step.number}: ")


def _of_gaussians(step: Step) -> Statement:
    """Return a statement on the largest of m Gaussians, which takes no run."""

    def judge(p: Parameters, seed: int) -> list[Verdict]:
        sigma = p.d**-0.5
        return [replace(step.verdict(drawn_maxima(p.m, sigma, seed), p.m, sigma), name="", of_parameters=True)]

    return Statement(step.kind, step.number, _formula(step), FromSeeds(judge), Parameters, regime=regime_of, step=True)


def _controls_of(check: str) -> tuple[Control, ...]:
    return tuple(control for control in CONTROLS if control.check == check)


def run_controls(folder: Path, parameters: Parameters | None = None, seed: int = 0) -> Iterator[Section]:
    """Run all controls on runs, by default where both theorems hold; each in a section of its own, as soon as it is there."""
    p = Parameters(**CONTROL_PARAMETERS) if parameters is None else parameters
    for control in CONTROLS:
        yield Section("Controls", [judged_control(control, control.check, KeptRuns(p, folder), seed)])


PAPER = Paper(
    "midpoint",
    "Provably Learning Diverse Features in Multi-View Data with Midpoint Mixup",
    "Chidambaram, Wang, Wu and Ge (2023), International Conference on Machine Learning",
    (
        *(one for one in SECTION_3 if one.number < "4"),
        _on_runs("assumption", "4.3", "scalings of the parameters in k", "4.6"),
        *(one for one in SECTION_3 if one.number >= "4"),
        _on_runs("definition", "4.5", "a view is learned if it alone gives the right class", "4.6"),
        _on_runs("theorem", "4.6", "ERM: training accuracy 1, and exactly one feature learned in (1 - o(1)) k classes, for all later t", "4.6",
                 step=False, controls=_controls_of("Theorem 4.6")),
        _on_runs("theorem", "4.7", "Midpoint Mixup: training accuracy 1, and both features of every class learned, for all later t", "4.7",
                 step=False, controls=_controls_of("Theorem 4.7")),
        *map(_of_gaussians, GAUSSIAN_MAXIMA.values()),
        *_steps(CALCULATIONS),
        *_steps(CLAIMS),
    ),
    figures=FIGURES,
    controls=run_controls,
    on_runs=RunJudge(judge_runs, judge_sweep, cells_to_judge, FOLLOWING_LIMIT, DRAWS, COARSEST),
)  # fmt: skip
