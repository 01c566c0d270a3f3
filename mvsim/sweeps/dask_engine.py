"""Runs side by side by Dask distributed: worker processes on this machine, or those of a scheduler that is already there.

Dask only hands out jobs. A worker that dies costs what its run has not saved: the job is handed out again, and the run goes on from its file. If the
scheduler is lost, this process waits for it to come back and hands out again what is left. A job whose workers die `DEATHS` times without its file
having changed meanwhile counts as failed: it would kill any worker, for want of memory perhaps.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import queue
import socket
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from mvsim.base.echo import echo, shortened
from mvsim.base.errors import Interrupted, UsageError
from mvsim.base.extras import load_extra
from mvsim.base.inputs import check_integer
from mvsim.base.limits import allow_files, available_bytes, available_cores
from mvsim.sweeps import worker_setup
from mvsim.sweeps.engine import Event, backends_of, check_backends
from mvsim.sweeps.estimate import bytes_of
from mvsim.sweeps.job import Job, Outcome, do
from mvsim.sweeps.main_script import check_main
from mvsim.sweeps.worker_setup import gpus_seen, gpus_there

if TYPE_CHECKING:
    from distributed import Client, Future

DEATHS = 3
"""How often a worker may die of a job without the run getting any further."""

CONNECTING, RETURNING = 6.0, 600.0
"""Seconds that connecting may take, and seconds that a scheduler that was lost has to come back."""

STARTS, ALONE = 5, 30.0
"""How often it is tried to start workers here, and after how many seconds without any they are started anew."""

TELLING = 1.0
"""Seconds between two messages of a worker about its run."""

LOGGERS = ("distributed", "tornado", "asyncio")
"""Whose messages are about what this engine takes care of."""

FILES, FILES_OF_WORKER = 24, 12
"""Files, with connections, that are open without any worker, and for each worker on this machine: up to 68 were seen with four."""

MOST_WORKERS = 4096
"""More workers than this are a slip of the pen."""


_LOCAL = {"distributed.scheduler.allowed-failures": 1, "distributed.worker.multiprocessing-method": "spawn"}
"""Settings of workers on this machine, besides the defaults of Dask: what a site has configured is for its clusters."""


class Dask:
    """Runs side by side, each on one thread of a process of its own."""

    def __init__(self, scheduler: str | None = None, workers: int | None = None, otherwise: str = "engine=None") -> None:
        self.otherwise = f"make one run after another with {otherwise}"  # as who made this would ask for it
        load_extra("distributed", "Dask", "sweep", "engine='dask'", self.otherwise)
        if workers is not None:
            check_integer("workers", workers, 1, most=MOST_WORKERS)
            if scheduler is not None:
                raise UsageError(f"workers={workers}, scheduler={echo(scheduler)}: that scheduler has workers already; give only one of them")
        self.scheduler, self.workers = scheduler, workers

    def work(self, jobs: Sequence[Job], begin: Callable[[str], None], tell: Callable[[Event], None]) -> None:
        """Do all jobs, those that take longest first."""
        with _quiet():
            if self.scheduler is not None:
                address = self.scheduler
                dispatch = _Dispatch(jobs, lambda client: begin(f"workers of {address}{_dashboard(client)}"), tell)
                dispatch.until_done(lambda patience: _client(address, patience), loses_workers=False)
            else:
                check_backends(jobs)
                check_main(self.otherwise)
                count = self._workers_for(jobs)
                words = f"{count} worker {'processes' if count > 1 else 'process'}"
                dispatch = _Dispatch(jobs, lambda client: begin(words + _dashboard(client)), tell)
                dispatch.until_done(lambda patience: _local_client(count, self.otherwise), loses_workers=True)

    def _workers_for(self, jobs: Sequence[Job]) -> int:
        """Return how many workers there are to be; `UsageError` says that this process may not open as many files as they need."""
        count = self._fitting(jobs) if self.workers is None else self.workers
        needed = FILES + FILES_OF_WORKER * count
        allowed = allow_files(needed)
        if allowed < needed:
            fewer = "start fewer, " if count > 1 else ""
            advice = f"raise the limit of this shell (ulimit -n), {fewer}or {self.otherwise}"
            raise UsageError(f"workers={count}: they need about {needed} open files, and this process may have {allowed}; {advice}")
        return count

    def _fitting(self, jobs: Sequence[Job]) -> int:
        free, cores = available_bytes(), available_cores()
        fitting = cores if free is None else free // max(bytes_of(job.cell) for job in jobs)
        gpus = len(gpus_seen(os.environ, gpus_there())) if backends_of(jobs) == {"cupy"} else cores
        return max(1, min(cores, int(fitting), len(jobs), gpus))


class _Dispatch:
    """What is handed out, and what comes back."""

    def __init__(self, jobs: Sequence[Job], begin: Callable[[Client], None], tell: Callable[[Event], None]) -> None:
        self.begin, self.tell = begin, tell
        self.left = {job.cell.index: job for job in jobs}
        self.begun: set[int] = set()
        self.deaths: dict[int, tuple[int, Any]] = {}
        self.news: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.topic = f"mvsim-{uuid.uuid4().hex}"

    def until_done(self, connect: Callable[[float], AbstractContextManager[Client]], loses_workers: bool) -> None:
        """Hand out what is left, again if the scheduler was lost meanwhile."""
        patience = 0.0
        while self.left:
            with connect(patience) as client:
                if not patience:
                    self.begin(client)
                client.subscribe_topic(self.topic, lambda event: self.news.put(event[1]))
                futures = {self._submit(client, job) for job in self.left.values()}
                self._collect(client, futures, loses_workers)
            patience = RETURNING

    def _submit(self, client: Client, job: Job) -> Future:
        index = job.cell.index
        key = f"mvsim-{job.cell.file}-{uuid.uuid4().hex[:8]}"
        future = client.submit(_do, job, self.topic, key=key, pure=False, priority=job.seconds, retries=0)
        future.add_done_callback(lambda ended: self.news.put((index, ended)))
        return future

    def _collect(self, client: Client, futures: set[Future], loses_workers: bool) -> None:
        """Take what comes back until nothing is left, or the scheduler or all of its workers are lost."""
        alive = time.monotonic()
        while self.left:
            try:
                news = self.news.get(timeout=2.0)
            except queue.Empty:
                if client.status != "running":
                    return
                if not loses_workers or client.nthreads():
                    alive = time.monotonic()
                elif time.monotonic() - alive > ALONE:
                    return
                continue
            if isinstance(news, dict):  # a worker tells how a run goes
                if news["index"] in self.left:
                    self.begun.add(news["index"])
                    self.tell(Event(news["index"], news["worker"], news["status"]))
                continue
            index, future = news
            if future not in futures or index not in self.left:
                continue
            futures.discard(future)
            if future.status in ("cancelled", "lost"):
                return
            outcome = future.result() if future.status == "finished" else self._after(index, future.exception())
            if outcome is None:
                futures.add(self._submit(client, self.left[index]))
                continue
            del self.left[index]
            self.tell(Event(index, "", {}, outcome))

    def _after(self, index: int, error: BaseException) -> Outcome | None:
        """Return that a job failed, None if it is to be handed out again."""
        from distributed.scheduler import KilledWorker

        job = self.left[index]
        if isinstance(error, KilledWorker):
            saved = _state_of(job)
            count, before = self.deaths.get(index, (0, saved))
            count = (index in self.begun) + (count if saved == before else 0)  # one that still waited is not to blame
            self.begun.discard(index)
            self.deaths[index] = (count, saved)
            if count < DEATHS:
                return None
            message = f"its worker died {count} times before the run had saved anything new; it may need more memory than there is"
        else:
            message = (
                f"the worker could not run it ({type(error).__name__}: {shortened(' '.join(str(error).split()), 200)}); is the same mvsim there?"
            )
        return Outcome("failed", message, type(error).__name__)


def _do(job: Job, topic: str) -> Outcome:
    """Do a job on a worker, and tell those who listen how it goes."""
    from distributed import get_worker

    worker, last = get_worker(), -TELLING
    name = str(worker.name) if isinstance(worker.name, str) else worker.address

    def tell(status: dict[str, Any]) -> None:
        nonlocal last
        if time.monotonic() - last >= TELLING:
            last = time.monotonic()
            with suppress(Exception):  # whoever listens may be gone; the run goes on, and is handed out again from where it was saved
                worker.log_event(topic, {"index": job.cell.index, "worker": name, "status": status})

    tell({})
    try:
        return do(job, tell)
    except Interrupted as error:  # only where a worker runs jobs in its main thread
        return Outcome("busy", str(error))


def _cause(error: BaseException) -> str:
    """Return what the innermost of the errors says from which one came; what a worker says that dies before it can answer is on stderr."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    if "Nanny failed to start" in str(error):
        return "a worker process ended before it could answer; its own error stands above"
    return shortened(" ".join(f"{type(error).__name__}: {error}".removesuffix(": ").split()), 200)


def _state_of(job: Job) -> tuple[int, int] | None:
    """Return what changes with each save of a run."""
    with suppress(OSError):
        status = os.stat(job.folder.path_of(job.cell))
        return status.st_mtime_ns, status.st_ino
    return None


@contextmanager
def _local_client(workers: int, otherwise: str) -> Iterator[Client]:
    """Start workers on this machine, which end with this process however it ends, and connect to their scheduler."""
    import dask
    from distributed import LocalCluster
    from distributed.security import Security

    own = dask.config.merge(*dask.config.defaults)
    with dask.config.set({**own, **_LOCAL}), warnings.catch_warnings(), ExitStack() as stack:
        warnings.filterwarnings("ignore", message="Port .* is already in use")  # of the dashboard, which takes another one
        for left in reversed(range(STARTS)):
            try:
                # Memory was predicted, so Dask need not watch it: what it cannot explain it would take for a leak, and kill the worker.
                cluster = LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    protocol="tcp://",
                    security=Security(require_encryption=False),
                    memory_limit=0,
                    silence_logs=logging.CRITICAL,
                    preload=[worker_setup.__name__],
                )
                break
            except Exception as error:  # a worker died while it started, or Dask refuses what it finds
                if not left:
                    fewer = "start fewer, or " if workers > 1 else ""
                    raise UsageError(f"workers={workers}: could not be started ({_cause(error)}); {fewer}{otherwise}") from None
        stack.enter_context(cluster)
        yield stack.enter_context(_client(cluster.scheduler_address, 0.0))


@contextmanager
def _client(address: str, patience: float) -> Iterator[Client]:
    """Connect to a scheduler, which may take some seconds to be there."""
    from distributed import Client

    deadline = time.monotonic() + patience
    while True:
        try:
            _knock(address)
            client = Client(address, timeout=CONNECTING, set_as_default=False)
            break
        except Exception as error:  # an address that is none, or a port where something else listens, makes Dask raise nearly anything
            if isinstance(error, OSError) and time.monotonic() < deadline:
                time.sleep(0.5)
                continue
            reason = shortened(" ".join(str(error).split()), 120) or f"no answer within {CONNECTING:.0f} s"
            advice = "start one with `dask scheduler`, or correct the address, as in tcp://HOST:8786"
            raise UsageError(f"scheduler={echo(address)}: cannot be reached ({reason}); {advice}") from None
    try:
        yield client
    finally:
        with suppress(OSError, TimeoutError):
            client.close(timeout=5)


def _knock(address: str) -> None:
    """Raise an error if no scheduler answers at an address: a client of Dask that cannot connect leaves threads behind that complain."""
    from distributed.comm import connect, get_address_host_port, parse_address
    from distributed.security import Security
    from distributed.utils import LoopRunner

    async def shake_hands() -> None:
        async with asyncio.timeout(CONNECTING):
            comm = await connect(address, **Security().get_connection_args("client"))
        await comm.close()

    if parse_address(address, strict=True)[0] in ("tcp", "tls"):  # that nothing listens is known at once
        socket.create_connection(get_address_host_port(address, strict=True), timeout=CONNECTING).close()
    LoopRunner().run_sync(shake_hands)


def _dashboard(client: Client) -> str:
    """Say where the dashboard is; without bokeh there is a page that asks for it."""
    link = client.dashboard_link if importlib.util.find_spec("bokeh") else None
    return f", dashboard at {link}" if link else ""


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the logs of Dask and of its event loop off stderr: what they warn of, as a worker that died, is dealt with here."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in LOGGERS]
    loggers = [logging.getLogger(name) for name in {*names, *LOGGERS}]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
