"""Mixup: the mean loss of mixtures with a random weight, by default the cross-entropy, over all ordered pairs or over sampled ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from mvsim.base.echo import echo
from mvsim.base.errors import UsageError
from mvsim.base.inputs import check_integer
from mvsim.base.options import check_choice
from mvsim.losses import AllPairs, ListedPairs, Points, Unmixed
from mvsim.losses.mixing_laws import DEFAULT_NODES, LAWS, law_from
from mvsim.multi_view.data import Dataset
from mvsim.multi_view.objectives.base import Objective
from mvsim.multi_view.parameters import Parameters
from mvsim.numerics.random_streams import check_seed, stream

MOST_PAIRS = 10**6
UNIFORM = {"distribution": "beta", "args": [1.0, 1.0]}


class Mixup(Objective):
    """J_M(g) = -(1/N^2) sum_{i,j} E_lambda[ lambda log phi_{y_i}(g(z)) + (1 - lambda) log phi_{y_j}(g(z)) ],  z = lambda x_i + (1 - lambda) x_j.

    Equation 2.2. As in Calculation A.10, the derivative of the cross-entropy with soft label t = lambda e_{y_i} + (1 - lambda) e_{y_j}
    by g_y(z) is phi_y - t_y, so

        grad_{w_{y,r}} J_M = -(1/N^2) sum_{i,j} E_lambda[ (lambda 1[y_i = y] + (1 - lambda) 1[y_j = y] - phi_y(g(z))) grad_{w_{y,r}} g_y(z) ].

    A point mass at 1/2 is Midpoint Mixup, one at 0 or 1 is ERM. `quadrature_error` says what quadrature costs in accuracy.
    """

    name = "mixup"
    mixes = True  # unless lambda is 0 or 1

    def __init__(
        self,
        parameters: Parameters,
        data: Dataset,
        backend: str = "auto",
        threads: int | None = None,
        *,
        mixing: Annotated[Any, Field(description=f"law of lambda on [0, 1]: {LAWS}; in Python also a frozen distribution of scipy.stats")] = UNIFORM,
        nodes: Annotated[int, Field(description="quadrature nodes for a continuous law of lambda")] = DEFAULT_NODES,
        pairs: Annotated[
            int | None, Field(description="sum over that many sampled pairs, i, j and lambda drawn independently, instead of all; by default all")
        ] = None,
        redraw: Annotated[Literal["once", "each step"], Field(description="when pairs are sampled")] = "once",
        seed: Annotated[int, Field(description="fixes the sampled pairs")] = 0,
        **common: Any,
    ) -> None:
        super().__init__(parameters, data, backend, threads, **common)
        if pairs is not None:
            check_integer("pairs", pairs, 1, "or None for all pairs", most=MOST_PAIRS)
        check_choice("redraw", redraw, ("once", "each step"))
        if pairs is None and redraw != "once":
            raise UsageError(f"redraw={echo(redraw)}: needs pairs, the number of pairs that are drawn; without it all pairs are summed")
        self.law = law_from(mixing, nodes)
        self._pairs, self._redraw, self._seed = pairs, redraw, check_seed(seed)
        self._points = self._all_pairs(nodes) if pairs is None else self._draw(0)
        self.mixes = self.mixes_with({"mixing": mixing, "nodes": nodes})

    @classmethod
    def mixes_with(cls, options: Mapping[str, Any]) -> bool:
        return any(lam < 1.0 for lam, _ in law_from(options["mixing"], options["nodes"]).folded_quadrature())

    @classmethod
    def sums_all_pairs_with(cls, options: Mapping[str, Any]) -> bool:
        return options["pairs"] is None and cls.mixes_with(options)

    @property
    def points(self) -> tuple[tuple[float, Points], ...]:
        return self._points

    @property
    def fixed(self) -> bool:
        return self._pairs is None or self._redraw == "once"

    def begin_step(self, step: int) -> None:
        if self._pairs is not None and self._redraw == "each step":
            self._points = self._draw(step)

    def quadrature_error(self, c: np.ndarray) -> tuple[float, float]:
        """Return the relative errors of loss and gradient (largest component) that the quadrature makes at c.

        They are measured against twice the nodes plus one. Near a stationary point the gradient vanishes and its relative error tends
        to 1, which says nothing about the run. Both are 0 for laws without quadrature and for sampled pairs, and where loss and gradient are 0.
        """
        if self._pairs is not None or not self.law.needs_quadrature:
            return 0.0, 0.0
        loss, gradient = self.loss_and_gradient(c)
        coarse_points, self._points = self._points, self._all_pairs(2 * self.law.nodes + 1)
        finer_loss, finer_gradient = self.loss_and_gradient(c)
        self._points = coarse_points
        return _relative_error(loss, finer_loss), _relative_error(gradient, finer_gradient)

    @property
    def label(self) -> str:
        which = "all pairs" if self._pairs is None else f"{self._pairs} pairs drawn {self._redraw}"
        return f"mixup (lambda ~ {self.law.describe()}, {which})"

    def caveats(self, c: np.ndarray) -> list[str]:
        if self._pairs is not None or not self.law.needs_quadrature:
            return []
        return [f"Quadrature over lambda with {self.law.nodes} nodes: relative error of the loss about {self.quadrature_error(c)[0]:.1g}."]

    def options(self) -> dict[str, Any]:
        return {"mixing": self.law.plain(), "nodes": int(self.law.nodes), "pairs": self._pairs, "redraw": self._redraw}

    def describe(self) -> str:
        how = f"{self._pairs} mixed points drawn {self._redraw}"
        if self._pairs is None:
            how = f"quadrature with {self.law.nodes} nodes" if self.law.needs_quadrature else "summed exactly"
        return f"lambda: {self.law.describe()}, {how}; {super().describe()}"

    def _all_pairs(self, nodes: int) -> tuple[tuple[float, Points], ...]:
        # At lambda = 1 every pair is its first point, and the mean over pairs is the mean over points.
        return tuple((weight, Unmixed() if lam == 1.0 else AllPairs(lam)) for lam, weight in self.law.folded_quadrature(nodes))

    def _draw(self, step: int) -> tuple[tuple[float, Points], ...]:
        rng = stream(self._seed, "mixing", step)
        M, N = int(self._pairs or 0), self.data.N
        return ((1.0, ListedPairs(rng.integers(N, size=M), rng.integers(N, size=M), self.law.sample(rng, M))),)


def _relative_error(approximate: Any, true: Any) -> float:
    """Return the largest error over the largest of the true values, 0 if these are all 0."""
    largest = np.abs(true).max()
    return float(np.abs(approximate - true).max() / largest) if largest > 0.0 else 0.0
