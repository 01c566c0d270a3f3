"""Runs of tiny problems, and how to stop them."""

from __future__ import annotations

from functools import cache

import mvsim
from mvsim.flow import GradientDescent
from mvsim.multi_view.kernels import ORACLE

TINY = {"k": 3, "m": 2, "N": 12, "P": 9, "d": 60, "G": 6}


RATE = 3.0


OPTIONS = {
    "erm": ("erm", {}),
    "midpoint": ("midpoint", {}),
    "midpoint, readable kernel": ("midpoint", {"backend": ORACLE.backend}),
    "midpoint, noise of each patch": ("midpoint", {"noise": "patch"}),
    "mixup, all pairs": ("mixup", {"mixing": 0.3}),
    "midpoint, regularised": ("midpoint", {"weight_decay": 0.01, "label_smoothing": 0.1}),
    "mixup, pairs drawn once": ("mixup", {"pairs": 7}),
    "mixup, pairs drawn each step": ("mixup", {"pairs": 7, "redraw": "each step"}),
}


def simulate(method, out=None, steps=57, **options):
    """Run a tiny problem, for so many steps."""
    fields = {name: options.pop(name) for name in list(options) if name in mvsim.Parameters.model_fields}
    options = {"integrator": "gd", "eta": RATE, "t_end": RATE * steps, "n_test": 4, **options}
    return mvsim.simulate(mvsim.Parameters(**{**TINY, **fields}), method, out=out, **options)


@cache
def uninterrupted(case):
    """The dataset of one of `OPTIONS` from start to end, once for all tests."""
    method, options = OPTIONS[case]
    return simulate(method, **options).dataset


class Stop:
    """Ctrl-C while gradient descent evaluates the gradient of step number ``count``."""

    def __init__(self, monkeypatch, count):
        self.left = count
        self.gradient = GradientDescent.gradient
        stop = self

        def gradient(descent, state):
            stop.left -= 1
            if stop.left == 0:
                raise KeyboardInterrupt
            return stop.gradient(descent, state)

        monkeypatch.setattr(GradientDescent, "gradient", gradient)


FLOW = {"integrator": "flow", "eta": None}


def learned_run(**options):
    """A problem that is learned within a few hundred steps."""
    return mvsim.simulate(mvsim.Parameters(k=2, m=2, N=30, P=8, d=4), "erm", n_test=4, **options)


SETTLING = {"erm": {"d": 400, "seed": 10}, "midpoint": {"d": 150, "seed": 0}}
"""Dimension and seed of small problems that settle within seconds: ERM with one view of each class learned, midpoint with both.

Each claim that speaks of the run gives a number on it.
"""


def settled_run(method, out):
    """Run one of `SETTLING` until it has settled."""
    d, seed = SETTLING[method].values()
    return mvsim.simulate(mvsim.Parameters(k=4, N=40, G=6, P=16, d=d), method, seed=seed, n_test=5, out=out)
