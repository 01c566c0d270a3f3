"""Figures of the paper on Midpoint Mixup, drawn from scratch: ERM beside Midpoint Mixup, from the same start on the same points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mvsim.multi_view.parameters import Parameters
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
