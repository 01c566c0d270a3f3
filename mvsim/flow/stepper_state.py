"""Where a stepper is: all that its next step depends on, and the same for other coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mvsim.flow.bdf import History
from mvsim.flow.clock import in_frame
from mvsim.flow.secants import Secants
from mvsim.numerics.indexing import entries, with_entries


@dataclass(frozen=True, eq=False)
class StepperState:
    """Where a stepper is, and everything that its next step depends on. Never written to."""

    history: History  # The past of y and, behind it, the integrals, without a past
    most_growth: float  # Most growth of the next step
    steps: int  # Steps since the beginning
    linearised: np.ndarray  # (n,) y near which the system is known
    linearised_at: int  # linearised_at, inverted_at: Steps at which that and the preconditioner were made; -1: they have to be made
    inverted_at: int
    linearised_clock: float  # Least clock since the system was linearised
    gamma: float  # Of the preconditioner
    rate: float  # At which the corrections of the last equation shrank
    secants: Secants  # What is known of the Jacobian
    error: float  # Of the last step, 1 for what is allowed
    # Count of equations that have not been solved since the last escape, since the whole Hessian was last formed, or since the past was last dropped,
    # whichever came last; see `COST_OF_UNSOLVED`. Where the whole Hessian is expensive it outlasts the latter, see `EXPENSIVE_HESSIAN`.
    unsolved: int
    form_hessian: bool  # Whether the whole Hessian is formed after the next failure, whatever that count is; until an escape
    exact: bool  # Whether the preconditioner is made of the whole Hessian
    clock: float  # B of the variable x; the history is one in x
    # (n,) velocity in t of the frame in which the history holds each coordinate; 0, a frame at rest, for those that do not move steadily
    drift: np.ndarray

    def with_integrals(self, gains: np.ndarray) -> StepperState:
        """Return the state with gains (2,) added to the integrals."""
        Z = self.history.Z.copy()
        Z[0, len(self.drift) :] += gains
        return replace(self, history=replace(self.history, Z=Z))

    def for_coordinates(self, at: np.ndarray, y: np.ndarray, velocity: np.ndarray, steady: np.ndarray) -> StepperState:
        """Return the state for other coordinates: some of its own, and some that were not stepped before.

        The past of the latter is motion at constant speed, at their values y (a,) and velocity (a,). ``at`` (a,) says where each coordinate stood
        among those before, -1 for a new one, and ``steady`` (s,) which move at almost constant speed. The system is linearised anew.
        """
        n, new, history = len(self.drift), at < 0, self.history
        velocity_of_new = np.where(new, velocity, 0.0)
        drifting = with_entries(np.zeros_like(y), steady, velocity_of_new[steady])
        Z = np.concatenate([entries(history.Z[:, :n], at), history.Z[:, n:]], axis=1)
        Z[0, : len(y)] = np.where(new, y, Z[0, : len(y)])
        correction = np.concatenate([entries(history.correction[:n], at), history.correction[n:]])
        return replace(
            self,
            history=in_frame(replace(history, Z=Z, correction=correction), velocity_of_new - drifting, self.clock),
            linearised=y,
            linearised_at=-1,
            secants=replace(self.secants.of(at), index=np.arange(len(at))),
            drift=entries(self.drift, at) + drifting,
        )
