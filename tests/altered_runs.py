"""Runs altered so that what a claim measures is known: other records, another last state, data without noise."""

from dataclasses import replace

import numpy as np

import mvsim
from mvsim.multi_view.activations.smoothed_relu import smoothed_relu
from mvsim.papers.midpoint_mixup.claims import CLAIMS
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.runs.run import Run


def altered(run, data=None, **values):
    """Evidence of a run some variables of which have other values."""
    before = run.dataset
    dataset = before.assign({name: (before[name].dims, np.asarray(value, dtype=before[name].dtype)) for name, value in values.items()})
    return Evidence(Run(dataset, run.provenance), data)


def at_state(run, c, data=None, **values):
    """Evidence of a run whose only saved states are the initial one and c, and in which every neuron escaped at once."""
    start = run.dataset["correlations"].values[:1]
    dataset = run.dataset.drop_vars([name for name, v in run.dataset.variables.items() if "snapshot" in v.dims])
    kept = {"snapshot_step": [0], "snapshot_time": [0.0]}
    dataset = dataset.assign({name: ("snapshot", v) for name, v in kept.items()})
    dataset = dataset.assign(correlations=(run.dataset["correlations"].dims, start))
    dataset = dataset.assign(final_correlations=(run.dataset["final_correlations"].dims, c))
    return altered(Run(dataset, run.provenance), data, entry_time=np.zeros(run.dataset["entry_time"].shape), **values)


def without_noise(run):
    """The data of a run, noise removed."""
    data = mvsim.sample_dataset(run.parameters, run.seed)
    return replace(data, patterns=np.zeros_like(data.patterns))


def learned(p, totals, off=0.0):
    """Correlations with one neuron for each view of each class, of the given size (k, 2), or (2,) for all; ``off`` elsewhere."""
    c = np.full((p.k, p.m, p.k, 2), off)
    totals = np.broadcast_to(totals, (p.k, 2))
    for y in range(p.k):
        c[y, :, y] = 0.0
        c[y, 0, y, 0], c[y, 1, y, 1] = totals[y]
    return c


def check(name, evidence):
    return CLAIMS[name].check(evidence)


def pair_outputs(evidence, c):
    """Outputs of all ordered pairs, (N, N, k), from explicit patches."""
    p, x = evidence.parameters, evidence.data.to_patches()
    found = np.zeros((p.N, p.N, p.k))
    for i in range(p.N):
        z = 0.5 * (x[i] + x)
        found[i] = smoothed_relu(np.einsum("yrsl,npsl->nyrp", c, z), p.rho, p.alpha).sum(axis=(2, 3))
    return found


def softmax(g):
    return np.exp(g - g.max()) / np.exp(g - g.max()).sum()


def with_leaders(run, leaders, **values):
    """A run with the given Lambda(0), (k, 2)."""
    changed = run.dataset["max_correlation"].values.copy()
    changed[0] = leaders
    return altered(run, max_correlation=changed, **values)


LATE_TIMES = np.geomspace(1e4, 1e8, 81)


def late(run, times=LATE_TIMES, escaped=((0, 0, 0), (1, 1, 1), (2, 0, 0), (3, 2, 1)), **values):
    """A run with these records, of which some neurons escaped at t = 1e5."""
    dataset = run.dataset.isel(time=np.zeros(len(times), dtype=int)).assign_coords(time=("time", times))
    escape = np.full(run.dataset["entry_time"].shape, np.nan)
    for index in escaped:
        escape[index] = 1e5
    return altered(Run(dataset, run.provenance), entry_time=escape, **values)
