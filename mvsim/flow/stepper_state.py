"""Where a stepper is: all that its next step depends on, and the same for other coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mvsim.flow.bdf import History
from mvsim.flow.clock import in_frame
from mvsim.flow.secants import Secants
from mvsim.numerics.namespaces import namespace_of
from mvsim.numerics.primitives import primitives_of
from mvsim.numerics.vectors import integers_like


@dataclass(frozen=True, eq=False)
class StepperState:
    """Where a stepper is, and everything that its next step depends on. Never written to.

    Attributes
    ----------
    history : History
        The past of y and, behind it, the integrals, without a past.
    most_growth : float
        Most growth of the next step.
    steps : int
        Steps since the beginning.
    linearised : array
        (n,) y near which the system is known.
    linearised_at, inverted_at : int
        Steps at which that and the preconditioner were made; -1: they have to be made.
    linearised_clock : float
        Least clock since the system was linearised.
    gamma : float
        Of the preconditioner.
    rate : float
        At which the corrections of the last equation shrank.
    secants : Secants
        What is known of the Jacobian.
    error : float
        Of the last step, 1 for what is allowed.
    unsolved : int
        Count of equations that have not been solved since the last escape, since the whole Hessian was last formed, or since the past was last
        dropped, whichever came last; see `COST_OF_UNSOLVED`. Where the whole Hessian is dear it outlasts the latter, see `DEAR`.
    exact : bool
        Whether the preconditioner is made of the whole Hessian.
    clock : float
        B of the variable x; the history is one in x.
    drift : array
        (n,) velocity in t of the frame in which the history holds each coordinate; 0, a frame at rest, for those that do not move steadily.
    """

    history: History
    most_growth: float
    steps: int
    linearised: Any
    linearised_at: int
    inverted_at: int
    linearised_clock: float
    gamma: float
    rate: float
    secants: Secants
    error: float
    unsolved: int
    exact: bool
    clock: float
    drift: Any


def laid_out(state: StepperState, at: Any, y: Any, velocity: Any, steady: Any) -> StepperState:
    """Return the state of a stepper for other coordinates: some of its own, and some that were not stepped before.

    The past of the latter is motion at constant speed. What was known of the system near some place is to be found out anew.

    Parameters
    ----------
    state : StepperState
        Before.
    at : array
        (a,) where each of the coordinates stood among those before, -1 for a new one.
    y, velocity : array
        (a,) values and their derivatives; they are used of new ones.
    steady : array
        (s,) those of the coordinates that move at almost constant speed, as `System.steady` tells.
    """
    xp, by, n = namespace_of(y), primitives_of(y), state.linearised.shape[0]
    history, velocity_of_new = state.history, xp.where(at < 0, velocity, xp.zeros_like(velocity))
    drifting = by.places(steady).among(0.0, velocity_of_new[steady], y)

    def of_both(rows: Any, first: Any = None) -> Any:
        kept = by.entries(rows[..., :n], at)
        return xp.concat([kept if first is None else xp.where(at < 0, first, kept), rows[..., n:]], axis=-1)

    Z = xp.concat([of_both(history.Z[0, :], y)[None, :], of_both(history.Z[1:, :])])
    history = in_frame(replace(history, Z=Z, correction=of_both(history.correction)), velocity_of_new - drifting, state.clock)
    return replace(
        state,
        history=history,
        linearised=y,
        linearised_at=-1,
        secants=replace(state.secants.of(at), index=integers_like(at.shape[0], at)),
        drift=by.entries(state.drift, at) + drifting,
    )
