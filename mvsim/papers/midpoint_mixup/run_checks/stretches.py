"""What of a run can be replayed: stretches from one saved state to the next, and the work that replays may take."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence, Snapshot


class Budget:
    """The work that replays may take in all. Once it is spent, no replay goes on beyond its first record, and none is begun.

    Parameters
    ----------
    steps : float
        Steps of replays that spend all of it by themselves.
    gradients : float
        Gradients that do.
    """

    def __init__(self, steps: float, gradients: float) -> None:
        self._step, self._gradient, self._spent = 1.0 / steps, 1.0 / gradients, 0.0

    def spend(self, gradients: int) -> None:
        """Take note of a step."""
        self._spent += self._step + gradients * self._gradient

    @property
    def is_left(self) -> bool:
        """Whether there is any of it."""
        return self._spent < 1.0


@dataclass(frozen=True, eq=False)
class Stretch:
    """A saved state and the records that are to be met from there, as far as the next saved state.

    Attributes
    ----------
    snapshot : Snapshot
        Where the replay starts.
    records : tuple of int
        Indices of the records.
    end : Snapshot or None
        The final state, if it follows and has no record: the run was interrupted there.
    steps : tuple of int
        Steps that the run made from the saved state to each of them.
    """

    snapshot: Snapshot
    records: tuple[int, ...]
    end: Snapshot | None
    steps: tuple[int, ...]


def stretches(evidence: Evidence) -> list[Stretch]:
    """Return what can be replayed: first the end, from the last saved state but one to the last, on which verdicts rest; then all others in order."""
    steps, final, found = evidence.run.dataset["step"].to_numpy(), evidence.snapshots[-1], list[Stretch]()
    for here, then in pairwise(evidence.snapshots):
        follow = np.flatnonzero((steps > here.step) & (steps <= then.step))
        end = then if then is final and final.step > steps[-1] else None
        reached = [*steps[follow].tolist(), *([end.step] if end else [])]
        if reached:
            found.append(Stretch(here, tuple(follow.tolist()), end, tuple(step - here.step for step in reached)))
    return found[-1:] + found[:-1]
