"""Items of work that threads take from a list in shared memory, inside compiled code: no thread waits for another one to be woken up.

The work goes in steps, each a list of items 0 .. size - 1. A thread takes items of a step until none is left, then waits until all of them are
done, by whichever thread. So nobody waits for a thread that has not begun, and one that comes late takes fewer items. An item owns its results,
so that the bits do not depend on who takes it.
"""

from __future__ import annotations

import os

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from mvsim.multi_view.kernels.jit.compiling import njit

_STEPS = 8
_DONE = 8
"""Counters of one step stand 64 bytes apart: threads that wait for one do not disturb those that take from the other."""
_LOOKS = 2000
"""At a counter before a thread that waits gives way to others: some microseconds."""
_OPTIONS = {"cache": True, "nogil": True}


def work_list() -> np.ndarray:
    """Return the counters of all steps, (steps, 16): items taken in column 0 and items done in column 8."""
    return np.zeros((_STEPS, 2 * _DONE), np.int64)


def abandon(counters: np.ndarray) -> None:
    """Let everybody find that nothing is left to take and nothing to wait for."""
    counters[:] = np.iinfo(np.int64).max // 2


def is_abandoned(counters: np.ndarray) -> bool:
    """Whether somebody gave up."""
    return bool(counters[-1, -1] > 0)


def _pointer(context, builder, signature, args):
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]])


@intrinsic
def _count(typingctx, counters, place):
    """Add 1 to a counter, as one indivisible step, and return what it was."""

    def generate(context, builder, signature, args):
        return builder.atomic_rmw("add", _pointer(context, builder, signature, args), ir.Constant(ir.IntType(64), 1), "seq_cst")

    return types.int64(counters, types.int64), generate


@intrinsic
def _read(typingctx, counters, place):
    """Return a counter as memory holds it now."""

    def generate(context, builder, signature, args):
        return builder.load_atomic(_pointer(context, builder, signature, args), "seq_cst", 8)

    return types.int64(counters, types.int64), generate


if hasattr(os, "sched_yield"):
    _give_way = types.ExternalFunction("sched_yield", types.int32())
else:

    @njit(**_OPTIONS)
    def _give_way():
        return 0


@njit(**_OPTIONS)
def take(counters, step):
    """Return the next item of a step; from its size on, none is left."""
    return _count(counters, step * counters.shape[1])


@njit(**_OPTIONS)
def mark_done(counters, step):
    """Say that an item that was taken is done, and its results are written."""
    _count(counters, step * counters.shape[1] + _DONE)


@njit(**_OPTIONS)
def wait_for(counters, step, size):
    """Return when all items of a step are done."""
    looks = 0
    while _read(counters, step * counters.shape[1] + _DONE) < size:
        looks += 1
        if looks > _LOOKS:  # whoever is not done may need this core
            _give_way()
