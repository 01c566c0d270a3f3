"""What the kernel on a GPU has to do for one loss and gradient of all pairs, and how fast the device can do it at best."""

from __future__ import annotations

import time
from typing import NamedTuple

import mvsim
from mvsim.multi_view.kernels.array.device import Device


class Work(NamedTuple):
    """Operations in double precision, and bytes that travel between the device and its memory at least."""

    flops: float
    bytes: float


def work_of(p: mvsim.Parameters) -> Work:
    """Count the matrix products of Midpoint Mixup, and tables that are read and written once in each of its stages.

    Each unordered pair has a product over classes for Z and two for its adjoint. Each table is made from alpha + 1 moments, which are products over
    neurons, and its adjoint takes two products for each moment; so do the products with the powers of beta. Elementwise work is not counted, so the
    fraction of the roofline that follows is a lower bound.
    """
    G, order, F = min(p.G, p.N), int(p.alpha) + 1, p.features
    pairs = 3 * 2.0 * p.k * p.N * (p.N + 1) / 2
    moments = 3 * 2.0 * order * p.k * F * p.m * G
    powers = 2 * 2.0 * order * p.k * G * p.V * p.N
    tables = 6 * 8.0 * p.k * G * p.N + 8.0 * 6 * p.k * p.m * (F + G)
    return Work(pairs + moments + powers, tables + 3 * 8.0 * p.N**2 / 2)


def peaks(device: Device, size: int) -> dict[str, float]:
    """Measure the flops of a product of two square matrices with so many rows, and the bytes a second of a copy of one of them."""
    xp = device.xp
    a = device.zeros(size, size) + 1.0
    seconds = {"product": _least(device, lambda: xp.matmul(a, a)), "copy": _least(device, lambda: a + 0.0)}
    return {"flops": 2.0 * size**3 / seconds["product"], "bytes": 2.0 * 8.0 * size**2 / seconds["copy"]}


def roofline_seconds(work: Work, peak: dict[str, float]) -> float:
    """Return the least time that the device could take."""
    return max(work.flops / peak["flops"], work.bytes / peak["bytes"])


def _least(device: Device, call, times: int = 5) -> float:
    """Return the least seconds of a call; one number of the result is fetched, so that the device has finished."""
    least = float("inf")
    for _ in range(times + 1):
        start = time.perf_counter()
        float(call()[0, 0])
        least = min(least, time.perf_counter() - start)
    return least
