"""Which integrator steps a run: the one that is asked for, or for "auto" the one that serves."""

from __future__ import annotations

from collections import ChainMap
from typing import TYPE_CHECKING

from mvsim.flow import INTEGRATORS, EscapeFollower, FlowIntegrator, GradientDescent, GradientFlow
from mvsim.losses import CrossEntropy
from mvsim.multi_view.objectives import Midpoint
from mvsim.multi_view.parameters import Parameters

if TYPE_CHECKING:
    from mvsim.runs.simulation.options import RunOptions

AUTO = "auto"

CHOICES: ChainMap[str, type[GradientDescent] | type[FlowIntegrator]] = ChainMap({AUTO: GradientFlow}, INTEGRATORS)
"""What can be asked for. The class under "auto" stands for every integrator of the flow: only what they share may be read from it."""

FROM_K, FROM_R0, TO_R0 = 10, 0.05, 1.0
"""Least k, and least and largest initial correlation over the threshold, of runs for which "auto" takes `EscapeFollower`."""


def integrator_of(p: Parameters, options: RunOptions, own_points: bool = False, saved: str | None = None) -> str:
    """Return the name of the integrator of a run, never "auto"; ``own_points`` says whether points are given, ``saved`` what the file of the run has.

    "auto" goes on with that of the file. Of a new run it is `EscapeFollower` where that serves and pays, `GradientFlow` elsewhere:

    - `EscapeFollower` refuses all but a smoothed ReLU with alpha > 2, trained by the plain cross-entropy on points whose patches share one noise
      pattern, which given points need not do, with the compiled kernel;
    - it takes 45 to 59 % of the gradients of the flow in Midpoint Mixup at k = 10 and 20 (study ``integrator_designs``), and less than half at k = 50
      (``main_job``, ``main_job_escapes``); at smaller k this was not measured;
    - its outputs have been compared with those of the flow at the default r0 alone (study ``escapes``): the bounds of r0 are chosen, not measured. At
      d = k^20 it does not come to the end (study ``integrator_designs``);
    - ``rtol`` is an error of correlations in the flow, and of times to escapes there: who gives one is taken to mean the flow.
    """
    if options.integrator != AUTO:
        return options.integrator
    if saved in INTEGRATORS and (options.rtol is None or INTEGRATORS[saved].letter == GradientFlow.letter):
        return saved
    served = options.backend in ("auto", "numba") and p.noise != "patch" and not own_points
    plain = options.loss == CrossEntropy.name and not options.weight_decay and not options.label_smoothing
    pays = options.method == Midpoint.name and p.k >= FROM_K and FROM_R0 <= p.r0 <= TO_R0 and options.rtol is None
    return EscapeFollower.name if served and plain and p.alpha > 2.0 and pays else GradientFlow.name
