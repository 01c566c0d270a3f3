"""What an engine is, and the simplest one: one job after another, in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from mvsim.base.inputs import check_threads
from mvsim.multi_view.kernels import usable_backend
from mvsim.runs.simulation.options import DEFAULTS
from mvsim.sweeps.job import Job, Outcome, do


class Event(NamedTuple):
    """Something that happened to a job."""

    cell: int
    worker: str  # Who works on it
    status: dict[str, Any]  # How the run goes, as `mvsim.simulate` tells it; empty when it begins
    outcome: Outcome | None = None  # What became of it, once it has ended


@runtime_checkable
class Engine(Protocol):
    """What makes runs. It holds nothing that would be lost with it: whatever ends it, the folder says what is left to do."""

    def work(self, jobs: Sequence[Job], begin: Callable[[str], None], tell: Callable[[Event], None]) -> None:
        """Say in words what works, do all jobs, and tell what happens; all calls come from this thread."""


def backends_of(jobs: Sequence[Job]) -> set[str]:
    """Return the backends that some jobs ask for."""
    return {job.cell.options.get("backend", DEFAULTS.backend) for job in jobs}


def check_backends(jobs: Sequence[Job]) -> None:
    """Raise `UsageError` if this machine lacks what a backend needs, as a GPU: before anything is made, not in every cell."""
    for backend in sorted(backends_of(jobs)):
        usable_backend(backend)


class Serial:
    """One job after another, in this process."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = check_threads(threads)

    def work(self, jobs: Sequence[Job], begin: Callable[[str], None], tell: Callable[[Event], None]) -> None:
        """Do all jobs in the order given."""
        check_backends(jobs)
        begin("one run after another, in this process")
        for job in jobs:
            index = job.cell.index

            def on(status: dict[str, Any], index: int = index) -> None:
                tell(Event(index, "this process", status))

            on({})
            tell(Event(index, "this process", {}, do(job, on, self.threads)))
