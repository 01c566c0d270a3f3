"""What variables are measured of: a run at its start, and a state at a record."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mvsim.flow import State
from mvsim.multi_view import diagnostics
from mvsim.multi_view.objectives import Objective
from mvsim.runs.recording.entries import predicted_escape_times
from mvsim.runs.recording.fresh_draws import FeatureTest
from mvsim.runs.recording.hessian import sharpness, turning_rate
from mvsim.runs.recording.settling import dormant_until


@dataclass(frozen=True, eq=False)
class Start:
    """A run at its start."""

    objective: Objective  # Training loss, with its data
    c: np.ndarray  # The initial correlations
    threshold: float  # Of B_{y,l}

    @property
    def predicted_entry_time(self) -> np.ndarray:
        """(k, m, V): when own correlations enter B_{y,l}, predicted from here."""
        p, own = self.objective.parameters, diagnostics.own_correlations(self.c)
        return predicted_escape_times(own, self.objective.log_growth_rates(), p.rho, p.alpha, self.threshold)


@dataclass(frozen=True, eq=False)
class Observation:
    """A state at a record. What several variables need is computed once."""

    state: State
    objective: Objective  # Training loss, with its data, ready for this step
    feature_test: FeatureTest  # Fresh draws for Definition 4.5
    threshold: float  # Of B_{y,l}
    hessian_seed: int | None  # Seed of the run where products with the Hessian are taken; they are costly, so most records do without
    # Whether a view has escaped since the record before. There the gradient turns fastest, up to 10^3 times faster than elsewhere, so that one
    # product is taken at each of these.
    escaped: bool = False

    @property
    def c(self) -> np.ndarray:
        """The correlations."""
        return self.state.c

    @property
    def labels(self) -> np.ndarray:
        """(N,): classes of the training points."""
        return self.objective.data.labels

    @property
    def loss(self) -> float:
        """Training loss."""
        return self._loss_and_gradient[0]

    @property
    def gradient(self) -> np.ndarray:
        """The gradient of the training loss."""
        return self._loss_and_gradient[1]

    @cached_property
    def outputs(self) -> np.ndarray:
        """(k, N): outputs on the training points."""
        return self.objective.outputs(self.c)

    @cached_property
    def output_ranges(self) -> diagnostics.OutputRanges:
        """Extremes of the outputs over the training points of each class."""
        return diagnostics.output_ranges(self.outputs, self.labels)

    @cached_property
    def off_diagonal(self) -> np.ndarray:
        """(k, n): the correlations of the neurons of each class with the features of all others."""
        return diagnostics.off_diagonal_correlations(self.c).reshape(len(self.c), -1)

    @property
    def fraction_learned(self) -> np.ndarray:
        """(k, V): on which part of the fresh draws each view alone suffices."""
        return self.feature_test.fraction_learned(self.c)

    @property
    def draw_margin_min(self) -> np.ndarray:
        """(k, V): the least margin on the fresh draws with each view alone."""
        return self.feature_test.margins(self.c).min(axis=1)

    @property
    def dormant_until(self) -> float:
        """The time before which no dormant correlation escapes at the present forces."""
        return dormant_until(self.state.time, self.c, self.gradient, self.objective.parameters, self.objective.escapes_at)

    @property
    def sharpness(self) -> float:
        """The largest eigenvalue of the Hessian from below, NaN where no products with it are taken."""
        return float("nan") if self.hessian_seed is None else sharpness(self.objective, self.c, self.threshold, self.hessian_seed)

    @property
    def turning_rate(self) -> float:
        """|H g| / |g|, NaN where no products with the Hessian are taken."""
        return float("nan") if self.hessian_seed is None and not self.escaped else turning_rate(self.objective, self.c, self.gradient)

    @cached_property
    def _loss_and_gradient(self) -> tuple[float, np.ndarray]:
        return self.objective.loss_and_gradient(self.c)
