"""Measure the kernel for GPUs: exactness, repeated bits, memory, speed beside the compiled kernel and PyTorch.

    python validation/run.py gpu                                              # on a machine with a GPU: all of it
    python validation/run.py gpu --quick --backend array --results-dir DIR    # tries the study anywhere, at small sizes, on NumPy

Parts, each of which can be measured by itself with --only:

exactness   loss and gradient of every method against the compiled kernel (1e-12), and whether calls repeat their bits
gradients   loss and gradient of Midpoint Mixup at k = 50 to 400: seconds beside the compiled kernel on 2 threads and on all cores
memory      the bytes that CuPy took, beside the prediction (20 %)
steps       whole steps of the gradient flow, without records, beside the compiled kernel
torch       the same loss by PyTorch on the same GPU, eager and compiled, where PyTorch is installed

The study fails if results or the ends of trajectories differ, bits do not repeat, memory is predicted
wrongly. Targets of speed that are missed are reported as missed.
From the gradients follows the size N^2 k from which on a GPU is faster.
"""

from __future__ import annotations

import argparse
import os
import time
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from lib.autograd import with_torch
from lib.faults import TargetMissed
from lib.paths import RESULTS
from lib.states import escaped, spread
from lib.tables import met, table
from lib.timing import Candidate, fastest

import mvsim
from mvsim.flow import GradientFlow, State
from mvsim.flow.flow_integrator import RTOL
from mvsim.multi_view.kernels import KERNELS, usable_backend
from mvsim.multi_view.kernels.array.device import gpu, host
from mvsim.runs.simulation.field import field_of

TITLE = "The kernel for GPUs"

AGREEMENT, MEMORY, ENDS = 1e-12, 0.2, 10.0 * RTOL
STEP_TARGET, GRADIENT_TARGET = 30.0, 100.0
"""Times two cores at k = 50, N = 500, and at k = 200, N = 4000."""

FULL = {
    "exact": ({"k": 20, "N": 200}, {"k": 10, "N": 100, "noise": "point"}, {"k": 6, "N": 30, "P": 16, "noise": "patch"}),
    "gradients": ((50, 500), (100, 1000), (200, 2000), (200, 4000), (400, 4000)),
    "torch": ({"k": 10, "N": 100, "P": 100}, {"k": 20, "N": 200, "P": 400}),
    "memory": ({"k": 50, "N": 2000}, {"k": 100, "N": 4000}),
    "steps": ((50, 500),),
    "seconds": 10.0,
}
QUICK = {
    "exact": ({"k": 4, "N": 20}, {"k": 3, "N": 8, "P": 9, "noise": "patch"}),
    "gradients": ((4, 40), (6, 60)),
    "torch": ({"k": 3, "N": 10, "P": 9},),
    "memory": ({"k": 4, "N": 60},),
    "steps": ((4, 20),),
    "seconds": 0.1,
}
T_END = {True: 1e4, False: 1e6}
"""To which time steps are counted: with --quick, and without."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="small sizes: to try the study, not to measure; with --results-dir only")
    parser.add_argument("--backend", default="cupy", choices=["cupy", "array"], help="array tries the study without a GPU; with --results-dir only")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), help="parts to measure again; of the others the results stay")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    if (options.quick or options.backend != "cupy") and options.file.folder == RESULTS:
        raise SystemExit("--quick and --backend array try the study and would replace its results; give a folder with --results-dir")
    try:
        usable_backend(options.backend)
    except mvsim.UsageError as error:
        raise SystemExit(f"{error}; --backend array --quick --results-dir DIR tries the study without a GPU") from None
    sizes = QUICK if options.quick else FULL
    device = gpu() if options.backend == "cupy" else host()

    def part(name: str) -> dict[str, Any]:
        began = time.perf_counter()
        measured = {"device": device.words, "cores": os.cpu_count(), **PARTS[name](sizes, options.backend)}
        print(f"{name}: done after {time.perf_counter() - began:.0f} s", flush=True)
        return measured

    return options.file.measure_parts(options.only, part)


def _objective(fields: dict[str, Any], backend: str, method: str = "midpoint", threads: int | None = None) -> mvsim.Objective:
    p = mvsim.Parameters(**fields)
    return mvsim.objective(method, p, mvsim.sample_dataset(p, 0), backend=backend, threads=threads)


def _exactness(sizes: dict[str, Any], backend: str) -> dict[str, Any]:
    rows = []
    for fields in sizes["exact"]:
        for method in ("erm", "midpoint", "mixup"):
            tested, compiled = (_objective(fields, which, method) for which in (backend, "numba"))
            c = spread(tested.parameters)
            (loss, gradient), (expected, slope) = tested.loss_and_gradient(c), compiled.loss_and_gradient(c)
            again = tested.loss_and_gradient(c)
            other = tested.gradient(c * (1.0 + 1e-15))
            rows.append(
                {
                    "problem": fields,
                    "method": method,
                    "loss": abs(loss - expected) / expected,
                    "gradient": float(np.abs(gradient - slope).max() / np.abs(slope).max()),
                    "same_bits": loss == again[0] and gradient.tobytes() == again[1].tobytes(),
                    "control_differs": other.tobytes() != gradient.tobytes(),
                }
            )
    return {"rows": rows}


def _gradients(sizes: dict[str, Any], backend: str) -> dict[str, Any]:
    rows = []
    for k, N in sizes["gradients"]:
        p = mvsim.Parameters(k=k, N=N)
        c, objectives = escaped(p), {}
        for name, which, threads in ((backend, backend, None), ("two threads", "numba", 2), ("all cores", "numba", None)):
            objectives[name] = _objective({"k": k, "N": N}, which, threads=threads)
        calls = {name: partial(objective.loss_and_gradient, c) for name, objective in objectives.items()}
        candidates = {name: Candidate(call) for name, call in calls.items()}
        seconds = fastest(candidates, sizes["seconds"], rounds=2)
        seconds["kernel"] = seconds.pop(backend)
        rows.append({"k": k, "N": N, "size": N**2 * k, "seconds": seconds})
    return {"rows": rows, "pays_from": _pays_from(rows)}


def _pays_from(rows: list[dict[str, Any]]) -> int | None:
    """Return the least measured N^2 k from which on all are faster than all cores; None if the largest is not."""
    pays = None
    for row in sorted(rows, key=lambda row: -row["size"]):
        if row["seconds"]["kernel"] >= row["seconds"]["all cores"]:
            break
        pays = row["size"]
    return pays


def _torch(sizes: dict[str, Any], backend: str) -> dict[str, Any]:
    if find_spec("torch") is None:
        return {"rows": [], "why": "PyTorch is not installed"}
    import torch

    rows, place = [], "cuda" if backend == "cupy" else "cpu"
    if place == "cuda" and not torch.cuda.is_available():
        return {"rows": [], "why": "PyTorch finds no GPU"}
    for fields in sizes["torch"]:
        tested = _objective(fields, backend)
        p, data = tested.parameters, tested.data
        c = spread(p)
        candidates = {"kernel": Candidate(lambda tested=tested, c=c: tested.loss_and_gradient(c))}
        errors, failed, gradient = {}, {}, tested.gradient(c)
        for name, compiled in (("eager", False), ("torch.compile", True)):
            try:
                call = with_torch(p, data, place=place, compiled=compiled)
                found = call(c)[1]
            except Exception as error:  # what PyTorch lacks here, as a compiler, is no fault of what is measured
                failed[name] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
                continue
            errors[name] = float(np.abs(found - gradient).max() / np.abs(gradient).max())
            candidates[name] = Candidate(lambda call=call, c=c: call(c))
        rows.append({"problem": fields, "errors": errors, "failed": failed, "seconds": fastest(candidates, sizes["seconds"], rounds=2)})
    return {"rows": rows}


def _memory(sizes: dict[str, Any], backend: str) -> dict[str, Any]:
    if backend != "cupy":
        return {"rows": [], "why": "only a GPU has memory of its own"}
    import cupy

    pool, rows = cupy.get_default_memory_pool(), []
    for fields in sizes["memory"]:
        for method in ("erm", "midpoint"):
            pool.free_all_blocks()
            before = pool.total_bytes()
            tested = _objective(fields, backend, method)
            p = tested.parameters
            tested.hessian_vector_product(escaped(p), np.ones(p.correlations_shape))
            entry = next(entry for entry in KERNELS if entry.backend == backend and entry.takes.data(tested.data))
            needs = entry.memory.on_device(p, tested.sums_all_pairs)
            rows.append(
                {"problem": fields, "method": method, "measured": pool.total_bytes() - before, "predicted": 8 * (needs.stays + needs.product)}
            )
            del tested
    return {"rows": rows}


def _steps(sizes: dict[str, Any], backend: str) -> dict[str, Any]:
    rows = []
    for k, N in sizes["steps"]:
        p, ends = mvsim.Parameters(k=k, N=N), {}
        for name, which, threads in (("kernel", backend, None), ("two threads", "numba", 2), ("all cores", "numba", None)):
            field = field_of(_objective({"k": k, "N": N}, which, threads=threads))
            for _ in range(2):  # the first time compiles
                began, end = time.perf_counter(), State(0, 0.0, mvsim.initial_correlations(p, 0))
                for visit in GradientFlow(field).trajectory(end, T_END[sizes is QUICK]):
                    end = visit.state
                seconds = time.perf_counter() - began
            ends[name] = end.c
            rows.append({"k": k, "N": N, "who": name, "seconds": seconds, "steps": end.step})
        size = np.abs(ends["two threads"]).max(axis=(2, 3), keepdims=True)
        rows[-3]["difference"] = float((np.abs(ends["kernel"] - ends["two threads"]) / size).max())
    return {"rows": rows}


PARTS = {"exactness": _exactness, "gradients": _gradients, "memory": _memory, "steps": _steps, "torch": _torch}
"""What others do is measured last, so that its failures cost nothing."""


def judge(results: dict[str, Any]) -> list[str]:
    faults = []
    for row in results.get("exactness", {"rows": []})["rows"]:
        what = f"{row['method']} at {_sizes(row['problem'])}"
        if not max(row["loss"], row["gradient"]) <= AGREEMENT:
            faults.append(f"{what}: differs from the compiled kernel by {max(row['loss'], row['gradient']):.2g}")
        if not (row["same_bits"] and row["control_differs"]):
            faults.append(f"{what}: a second call has other bits, or another argument the same")
    for row in results.get("torch", {"rows": []})["rows"]:
        faults += [f"{_sizes(row['problem'])}: {name} differs by {error:.2g}" for name, error in row["errors"].items() if not error <= AGREEMENT]
    for row in results.get("steps", {"rows": []})["rows"]:
        if not row.get("difference", 0.0) <= ENDS:
            faults.append(f"steps at k = {row['k']}, N = {row['N']}: they end {row['difference']:.2g} from those of the compiled kernel")
    for k, N, times in _times_two_threads(results.get("steps", {"rows": []})):
        if (k, N) == (50, 500) and times < STEP_TARGET:
            faults.append(TargetMissed(f"a step at k = {k}, N = {N} {_beside_two_threads(times)}; target: {STEP_TARGET:g} times as fast"))
    for row in results.get("memory", {"rows": []})["rows"]:
        if not abs(row["predicted"] / row["measured"] - 1.0) <= MEMORY:
            faults.append(f"{row['method']} at {_sizes(row['problem'])}: {row['predicted']:.3g} bytes were predicted and {row['measured']:.3g} taken")
    return faults


def headline(results: dict[str, Any]) -> str:
    said = []
    if gradients := results.get("gradients"):
        last = max(gradients["rows"], key=lambda row: row["N"] ** 2 * row["k"])
        times = last["seconds"]["two threads"] / last["seconds"]["kernel"]
        said.append(f"at k = {last['k']}, N = {last['N']} a loss and gradient is {times:.0f} times as fast as on two threads")
    if steps := results.get("steps"):
        k, N, times = max(_times_two_threads(steps))
        said.append(f"at k = {k}, N = {N} a step of the flow {_beside_two_threads(times)}")
    if exactness := results.get("exactness"):
        worst = max(max(row["loss"], row["gradient"]) for row in exactness["rows"])
        said.append(f"losses and gradients differ from those of the compiled kernel by at most {worst:.1g}")
    return f"On a GPU {', and '.join(said) or 'nothing was measured'}"


def passage(results: dict[str, Any]) -> str:
    parts = []
    if gradients := results.get("gradients"):
        rows = []
        for row in gradients["rows"]:
            seconds = row["seconds"]
            times = [f"{seconds[who] / seconds['kernel']:.1f}" for who in ("two threads", "all cores")]
            rows.append((row["k"], row["N"], f"{seconds['kernel']:.3g}", *times, _gradient_target(row)))
        heads = ["k", "N", "seconds", "times two threads", f"times {gradients['cores']} cores", "target"]
        parts.append(f"Loss and gradient of Midpoint Mixup on {gradients['device']}.\n\n" + table(heads, rows))
        parts.append(f"It is faster than all cores from N^2 k = {gradients['pays_from']} on.\n" if gradients["pays_from"] else "It is not faster.\n")
    if steps := results.get("steps"):
        rows = [(k, N, f"{r:.1f}", met(r >= STEP_TARGET) if (k, N) == (50, 500) else "") for k, N, r in _times_two_threads(steps)]
        parts.append(table(["k", "N", "a step of the flow, times as fast as on two threads", "target"], rows))
    if exactness := results.get("exactness"):
        worst = max(max(row["loss"], row["gradient"]) for row in exactness["rows"])
        same = sum(row["same_bits"] for row in exactness["rows"])
        parts.append(
            f"Losses and gradients are those of the compiled kernel to {worst:.1g}; {same} of {len(exactness['rows'])} calls repeat their bits.\n"
        )
    parts += [words(results[name]) for name, words in {"memory": _of_memory, "torch": _of_torch}.items() if name in results]
    return "\n".join(parts)


def citations(results: dict[str, Any]) -> dict[str, list[str]]:
    if not {"exactness", "steps", "memory"} <= set(results):
        return {}
    exact, steps, memory = results["exactness"]["rows"], results["steps"], results["memory"]["rows"]
    worst = max(max(row["loss"], row["gradient"]) for row in exact)
    k, N, times = max(_times_two_threads(steps))
    over = {method: max(row["measured"] / row["predicted"] for row in memory if row["method"] == method) for method in ("erm", "midpoint")}
    name = steps["device"].removeprefix("CuPy on ").split(" 80GB")[0]
    repeats = ["and every call repeats its bits"] if all(row["same_bits"] for row in exact) else []
    return {
        "gpu.md": [
            f"On an {name} losses and gradients are those of the compiled kernel to {worst:.0e}",
            f"a step of the flow at k = {k}, N = {N} takes {1.0 / times:.1f} times as long as on two cores",
            f"up to {over['erm']:.1f} times as much under ERM and {over['midpoint']:.1f} times as much under Midpoint Mixup",
            *repeats,
        ]
    }


def _times_two_threads(steps: dict[str, Any]) -> list[tuple[int, int, float]]:
    """Return k, N and how many times as fast as on two threads a step is, of each problem."""
    two = {(row["k"], row["N"]): row["seconds"] / row["steps"] for row in steps["rows"] if row["who"] == "two threads"}
    mine = [row for row in steps["rows"] if row["who"] == "kernel"]
    return [(row["k"], row["N"], two[row["k"], row["N"]] * row["steps"] / row["seconds"]) for row in mine]


def _beside_two_threads(times: float) -> str:
    return f"is {times:.1f} times as fast as on two threads" if times >= 1.0 else f"takes {1.0 / times:.1f} times as long as on two threads"


def _sizes(problem: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in problem.items())


def _of_memory(memory: dict[str, Any]) -> str:
    if not memory["rows"]:
        return f"Memory: not measured, {memory['why']}.\n"
    rows = [(_sizes(row["problem"]), row["method"], f"{row['measured']:.3g}", f"{row['predicted']:.3g}") for row in memory["rows"]]
    return table(["problem", "method", "bytes taken", "bytes predicted"], rows)


def _of_torch(torch: dict[str, Any]) -> str:
    if not torch["rows"]:
        return f"PyTorch: not measured, {torch['why']}.\n"
    names = ("eager", "torch.compile")
    rows = [
        (
            _sizes(row["problem"]),
            f"{row['seconds']['kernel']:.3g}",
            *(f"{row['seconds'][n]:.3g}" if n in row["seconds"] else row["failed"][n] for n in names),
        )
        for row in torch["rows"]
    ]
    return table(["problem", "seconds of the kernel", *(f"of PyTorch, {name}" for name in names)], rows)


def _gradient_target(row: dict[str, Any]) -> str:
    if (row["k"], row["N"]) != (200, 4000):
        return ""
    return met(row["seconds"]["two threads"] >= GRADIENT_TARGET * row["seconds"]["kernel"])
