"""How far a sweep is: what is done, what goes on where, and how long the rest may take."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from mvsim.sweeps.engine import Event
from mvsim.sweeps.folder import Standing, State
from mvsim.sweeps.job import Job


class AtWork(NamedTuple):
    """What one worker does: the cell, how its run goes, and since when."""

    job: Job
    status: dict[str, Any]
    since: float


class Tally:
    """Counts of a sweep while it goes on."""

    def __init__(self, standings: Sequence[Standing], jobs: Sequence[Job]) -> None:
        self.cells = len(standings)
        self.counts = Counter(standing.state for standing in standings)
        self.at_work: dict[str, AtWork] = {}
        self.busy: list[int] = []
        self._undecided = {(standing.state, index) for index, standing in enumerate(standings) if standing.undecided}
        self._before = {job.cell.index: standings[job.cell.index].state for job in jobs}
        self._left = {job.cell.index: job for job in jobs}
        self._predicted = self._taken = 0.0

    @property
    def left(self) -> int:
        """How many jobs have not ended."""
        return len(self._left)

    def undecided(self, state: State) -> int:
        """Return how many cells in a state ended without an answer: of those that failed the stalled and diverged, of those done the unsettled."""
        return sum(of == state for of, _ in self._undecided)

    def tell(self, event: Event) -> None:
        """Take note of an event."""
        now, going = time.monotonic(), self.at_work.get(event.worker)
        if event.outcome is None:
            if event.cell in self._left:
                for worker in [name for name in self._workers_on(event.cell) if name != event.worker]:  # it has died
                    del self.at_work[worker]
                since = going.since if going is not None and going.job.cell.index == event.cell else now
                self.at_work[event.worker] = AtWork(self._left[event.cell], event.status, since)
            return
        for worker in self._workers_on(event.cell):
            ended = self.at_work.pop(worker)
            # One that went on from a save, or failed, does not tell how long a whole run takes.
            if self._before.get(event.cell) == "missing" and event.outcome.state == "done":
                self._predicted += ended.job.seconds
                self._taken += now - ended.since
        if self._left.pop(event.cell, None) is None:
            return
        self.counts[self._before[event.cell]] -= 1
        self._undecided.discard((self._before[event.cell], event.cell))
        if event.outcome.state == "busy":
            self.busy.append(event.cell)
            self.counts["unfinished"] += 1
        else:
            self.counts[event.outcome.state] += 1
            if event.outcome.undecided:
                self._undecided.add((event.outcome.state, event.cell))

    def _workers_on(self, index: int) -> list[str]:
        return [name for name, one in self.at_work.items() if one.job.cell.index == index]

    def seconds_left(self) -> float | None:
        """Return how long the rest may take, by the cells that have ended; None before the first has."""
        if self._predicted <= 0.0:
            return None
        pace, now = self._taken / self._predicted, time.monotonic()
        begun = sum(min(now - one.since, pace * one.job.seconds) for one in self.at_work.values())
        whole = pace * sum(job.seconds for job in self._left.values())
        return max(whole - begun, 0.0) / max(len(self.at_work), 1)
