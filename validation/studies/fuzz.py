"""Ten thousand cases of input of every kind, right, nearly right and garbage (`tests/fuzzing`); what breaks, with the smallest example found.

Kinds: argument vectors and TOML files for every command, laws of beta and lambda, calls of the Python API, damaged and forged run files, tiny
problems over the whole domain of `mvsim.Parameters`, runs in several threads, runs on file systems without locks, commands in processes of their own
with the environment of others. For every case: no traceback,
no Python warning, no exit code but 0, 1, 2, 3 and 130; a refusal is one printable line of at most 450 characters that names what is wrong, and
stdout stays empty; the API raises nothing but errors of mvsim; no file is left that the command does not document; streams, environment, warning
filters, numpy's error handling, signal handlers and the working directory are as they were.

Cases are drawn in batches by Hypothesis, from the seed, the kind and the number of the batch alone. Breaches of one cause count as one failure,
whose example is shrunk afterwards. Loading and compiling come first and do not count; when the minutes are over, the rest is left out and
``cases`` says how many were tried. Fails if anything broke.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import random
import resource
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from typing import Any

from lib.oracle import load
from lib.processes import use_one_thread
from lib.tables import table

from mvsim.runs.archive import collect_provenance

load("usable")  # which a module below imports by this name
load("fuzzing")  # what is tried, and what counts as broken: modules below import its parts

TITLE = "Fuzzing of all inputs"

BATCH = {"apart": 10, "together": 5, "mounted": 25, "problems": 40, "files": 50}
"""Cases in a batch; of other kinds `USUAL`."""

USUAL = 100
SHRINKING = 12.0
"""Seconds spent on making an example smaller."""

WORDED = {
    "apart": "commands in processes of their own, with the environment of others",
    "calls": "calls of the Python API",
    "configs": "TOML files for every command",
    "files": "damaged and forged run files",
    "laws": "laws of beta and lambda",
    "problems": "tiny problems over the whole domain of parameters",
    "mounted": "runs on file systems without locks, or without fsync of folders",
    "together": "runs in several threads",
    "words": "command lines",
}
"""What the kinds are."""

MEMORY = 12 * 2**30
"""Bytes of address space for a worker: what asks for more is refused by the system and does not take the machine down."""


def prepare() -> None:
    """Get a worker ready."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))
    from fuzzing import kinds

    kinds.warm_up()


def ready() -> None:
    """Return when a worker is ready."""


def compile_loops() -> None:
    """Compile what the cases need, which takes a minute for each whole power where no cache has it."""
    import mvsim

    for alpha in (1.0, 2.0, 2.5, 8.0, 64.0):
        for method in ("erm", "midpoint"):
            p = mvsim.Parameters(k=3, m=2, N=6, alpha=alpha)
            mvsim.simulate(p, method, integrator="gd", eta=1.0, t_end=1.0, n_test=1)


def batch_seed(seed: int, kind: str, batch: int) -> int:
    """Return the seed of a batch."""
    return random.Random(f"{seed} {kind} {batch}").getrandbits(64)


def run_batch(seed: int, kind: str, batch: int, cases: int) -> dict[str, Any]:
    """Try the cases of a batch and return what broke, by cause."""
    from fuzzing import kinds

    causes: dict[tuple[str, str], dict[str, Any]] = {}
    tried = 0

    def look(case: Any) -> None:
        nonlocal tried
        tried += 1
        for breach in {one.cause: one for one in kinds.tried(case)}.values():
            known = causes.setdefault(breach.cause, {"count": 0, "size": float("inf")})
            known["count"] += 1
            if kinds.size(case) < known["size"]:
                known |= {"size": kinds.size(case), "example": kinds.plain(case), "detail": breach.detail}

    start = time.perf_counter()
    _drawn(kind, batch_seed(seed, kind, batch), cases, look, shrink=False)
    return {"kind": kind, "batch": batch, "tried": tried, "seconds": time.perf_counter() - start, "causes": causes}


def shrink(seed: int, kind: str, batch: int, cases: int, cause: tuple[str, str], known: dict[str, Any]) -> dict[str, Any]:
    """Return the smallest example of a cause that is found from the first one in a batch."""
    from fuzzing import kinds

    until = time.monotonic() + SHRINKING
    best = dict(known)

    def look(case: Any) -> None:
        if time.monotonic() > until:
            return
        for breach in kinds.tried(case):
            if breach.cause == cause:
                if kinds.size(case) <= best["size"]:
                    best.update(size=kinds.size(case), example=kinds.plain(case), detail=breach.detail)
                raise AssertionError(cause)

    with contextlib.suppress(Exception):  # the failure itself, or that it went away when time was up
        _drawn(kind, batch_seed(seed, kind, batch), cases, look, shrink=True)
    return best


def _drawn(kind: str, seed: int, cases: int, look: Any, shrink: bool) -> None:
    from fuzzing import kinds
    from hypothesis import HealthCheck, Phase, Verbosity, given, settings
    from hypothesis import seed as seeded

    phases = (Phase.generate, Phase.shrink) if shrink else (Phase.generate,)
    quiet = settings(
        max_examples=cases, phases=phases, database=None, deadline=None, suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
    )  # fmt: skip
    seeded(seed)(quiet(given(kinds.KINDS[kind][0]())(look)))()


def batches(cases: int, only: list[str]) -> list[tuple[str, int, int]]:
    """Return kind, number and size of all batches; the kinds take turns, so that what is left out at the end is of every kind."""
    from fuzzing.kinds import KINDS

    whole = sum(number for _, number in KINDS.values())
    parts = []
    for kind, (_, share) in KINDS.items():
        if only and kind not in only:
            continue
        number, size = round(share * cases / whole), BATCH.get(kind, USUAL)
        count = -(-number // size)
        parts += [((n + 0.5) / count, (kind, n, min(size, number - n * size))) for n in range(count)]
    return [part for _, part in sorted(parts)]


def try_all(asked: list[tuple[str, int, int]], seed: int, seconds: float, processes: int) -> dict[str, Any]:
    """Try all batches, then make the examples smaller."""
    use_one_thread()
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"), initializer=prepare)
    wait([pool.submit(ready) for _ in range(4 * processes)])
    start = time.monotonic()
    jobs = {pool.submit(run_batch, seed, *part): part for part in asked}
    tried: Counter[str] = Counter()
    causes: dict[tuple[str, str, str], dict[str, Any]] = {}
    left = set(jobs)
    while left and time.monotonic() - start < 0.8 * seconds:
        done, left = wait(left, timeout=5.0, return_when=FIRST_COMPLETED)
        for job in done:
            part, answer = jobs[job], job.result()
            tried[answer["kind"]] += answer["tried"]
            print(
                f"{part[0]:9} batch {part[1]:3}: {answer['tried']:4} cases in {answer['seconds']:5.1f} s, {len(answer['causes'])} causes", flush=True
            )
            for cause, what in answer["causes"].items():
                known = causes.setdefault((part[0], *cause), {"count": 0, "size": float("inf")})
                known["count"] += what["count"]
                if what["size"] < known["size"]:
                    known |= {name: what[name] for name in ("size", "example", "detail")} | {"part": part}
    unfinished = [list(jobs[job]) for job in left]
    for job in left:
        job.cancel()
    smaller = {pool.submit(shrink, seed, *what["part"], cause[1:], what): cause for cause, what in causes.items()}
    waiting = set(smaller)
    while waiting and time.monotonic() - start < seconds:
        done, waiting = wait(waiting, timeout=5.0, return_when=FIRST_COMPLETED)
        for job in done:
            causes[smaller[job]] = job.result()
    elapsed = time.monotonic() - start
    workers = list((pool._processes or {}).values())  # one that hangs in a library hears no other word
    pool.shutdown(wait=not left and not waiting, cancel_futures=True)
    for worker in workers:
        worker.kill()
    failures = [
        {"kind": kind, "broken": broken, "where": where, **{name: what[name] for name in ("count", "detail", "example")}}
        for (kind, broken, where), what in sorted(causes.items())
    ]
    return {
        "cases": dict(sorted(tried.items())),
        "total": tried.total(),
        "seconds": elapsed,
        "batches_left_out": unfinished,
        "failures": failures,
        "pass": not failures,
    }


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="of the cases")
    parser.add_argument("--minutes", type=float, default=15.0, help="after which the rest is left out")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[], metavar="KIND")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    compile_loops()
    results = try_all(batches(options.cases, options.only), options.seed, 60.0 * options.minutes, options.processes)
    for failure in sorted(results["failures"], key=lambda failure: -failure["count"]):
        print(f"{failure['count']:5} {failure['kind']}: {failure['broken']}: {failure['where']}: {failure['detail'][:100]}")
    return {"command": options.command, "seed": options.seed, "git_revision": collect_provenance("")["git_revision"], **results}


def judge(results: dict[str, Any]) -> list[str]:
    broken = [f"{one['kind']}, {one['count']} cases: {one['broken']}: {one['where']}" for one in results["failures"]]
    return broken + ([] if results["total"] else ["no case was tried"])


def headline(results: dict[str, Any]) -> str:
    return f"{results['total']} cases, right, nearly right and garbage, have {len(results['failures'])} causes of failure"


def passage(results: dict[str, Any]) -> str:
    return (
        f"The cases took {results['seconds'] / 60:.0f} minutes. A failure is a traceback, a warning, a wrong exit code, a message that does not name "
        "the fault, or a file or a setting left behind:\n\n"
        + table(["kind", "what", "cases"], [(kind, WORDED[kind], cases) for kind, cases in results["cases"].items()])
    )
