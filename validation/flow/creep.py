"""What careful segments bring where the flow would creep, and what they cost where it does not.

    python validation/flow/creep.py        # writes validation/results/flow_creep.json

Four trajectories are followed with a fixed number of gradients: Midpoint Mixup with constant beta, whose valleys are the flattest, at k = 4 and on
a small problem; the usual one of k = 4; and ERM at d = k^20, where time stands still while neurons escape. Each is followed as it is, and with
linear systems solved to the solver's own tolerance throughout ("never careful"). How far t comes is what counts.
"""

from __future__ import annotations

import json
import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mvsim
from mvsim.integrators import Field, GradientFlow, State, gradient_flow
from mvsim.laws import DiscreteLaw

RESULTS = Path(__file__).resolve().parents[1] / "results"
VARIANTS = {"as it is": gradient_flow.CAREFUL, "never careful": 0.0}


@dataclass(frozen=True)
class Trajectory:
    """A trajectory, and how many gradients are spent on it."""

    name: str
    method: str
    parameters: mvsim.Parameters
    seed: int
    gradients: int
    t_end: float

    def reached(self) -> State:
        """Return how far it comes."""
        p = self.parameters
        objective = mvsim.objective(self.method, p, mvsim.sample_dataset(p, self.seed))
        field = Field(lambda n, c: objective.gradient(c), objective.curvature, objective.escape_threshold, p.alpha)
        state = State(0, 0.0, mvsim.initial_correlations(p, self.seed))
        for visit in GradientFlow(field).trajectory(state, self.t_end):
            state = visit.state
            if state.evaluations >= self.gradients:
                break
        return state


SMALL = mvsim.Parameters(k=3, m=1, N=20, P=16, d=300, beta_law=DiscreteLaw(atoms=(0.5,)))
TRAJECTORIES = (
    Trajectory("midpoint, k = 4, beta constant", "midpoint", mvsim.Parameters(k=4, d=2000, beta_law=DiscreteLaw(atoms=(0.5,))), 0, 30_000, math.inf),
    Trajectory("midpoint, k = 3, m = 1, beta constant", "midpoint", SMALL, 0, 8_000, 1e12),
    Trajectory("midpoint, k = 4", "midpoint", mvsim.Parameters(k=4, d=2000), 0, 30_000, 1e9),
    Trajectory("ERM, k = 6, d = k^20", "erm", mvsim.Parameters.literal(k=6), 0, 50_000, math.inf),
)


def main() -> int:
    """Measure, print, write."""
    rows: list[dict[str, Any]] = []
    for trajectory in TRAJECTORIES:
        for variant, careful in VARIANTS.items():
            gradient_flow.CAREFUL = careful
            start = time.perf_counter()
            state = trajectory.reached()
            row = {"trajectory": trajectory.name, "variant": variant, "t": state.time, "steps": state.step, "gradients": state.evaluations}
            rows.append(row | {"seconds": time.perf_counter() - start})
            print(f"{trajectory.name}, {variant}: t = {state.time:.3g} with {state.evaluations} gradients in {state.step} steps", flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "flow_creep.json").write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
