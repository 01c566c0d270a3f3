"""Small problems on which every objective is compared with the reference: one for each special case of the data and of the kernels."""

from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import reference
from hypothesis import strategies as st

import mvsim

D = 16
"""Dimension of the embedding in R^d: more than the V k <= 12 features need, so that weights have an orthogonal part."""

BASE = {"k": 3, "m": 2, "P": 7, "C_P": 2, "Q": 2, "N": 5, "G": 4, "d": D, "rho": 0.4}
BASE |= {"delta1": 0.15, "delta2": 1.1, "delta3": 0.2, "delta4": 0.6}

PARAMETERS = {
    "random codebook": {},
    "fixed codebook": {"signal_layout": "fixed", "alpha": 3},
    "random point noise": {"noise": "point", "alpha": 2.5},
    "fixed point noise": {"noise": "point", "signal_layout": "fixed"},
    "random patch noise": {"noise": "patch"},
    "fixed patch noise": {"noise": "patch", "signal_layout": "fixed", "alpha": 2.5},
    "sparse": {"P": 40, "N": 6, "G": 3},  # signal patches of a pair seldom share positions, noise meets noise many times
    "crowded": {"P": 5, "N": 7},  # signal patches of a pair nearly always share positions
    "no noise patches": {"P": 4},  # P = 2 C_P
    "no noise patches, fixed": {"P": 4, "signal_layout": "fixed", "noise": "point", "alpha": 3},
    "smallest": {"k": 2, "m": 1, "C_P": 1, "P": 3, "Q": 1, "G": 2},
    "smallest without noise": {"k": 2, "m": 1, "C_P": 1, "P": 2, "Q": 1, "G": 2, "N": 3},
    "one point": {"N": 1},
    "shared patterns": {"k": 4, "m": 3, "N": 11, "P": 9, "G": 3},  # more points than patterns, and classes that occur several times
    "weak noise": {"delta3": 0.005, "delta4": 0.02, "P": 12},  # the scaling of Assumption 4.3: noise stays in the polynomial part
    "weak noise, power 3": {"delta3": 0.005, "delta4": 0.02, "P": 12, "alpha": 3},
    "weak noise of each point": {"delta3": 0.005, "delta4": 0.02, "P": 12, "noise": "point"},
    "weak noise, plain ReLU": {"delta3": 0.005, "delta4": 0.02, "P": 12, "alpha": 1},
    "weak noise, power 2.5": {"delta3": 0.005, "delta4": 0.02, "P": 12, "alpha": 2.5},
    "no noise at all": {"delta3": 0, "delta4": 0},
    "beta law": {"beta_law": {"kind": "beta", "a": 0.3}, "noise": "point"},
    "discrete laws": {"beta_law": [{"kind": "discrete", "atoms": [0.5]}, {"kind": "discrete", "atoms": [0.1, 0.9]}, {"kind": "uniform"}]},
    "plain ReLU": {"alpha": 1},
    "no structure": {"alpha": 2.5},  # any patches: see _data
    "one view": {},  # after keep_view: see _data
    "with one view": {"V": 1, "alpha": 3},
    "with one view, noise of each patch": {"V": 1, "noise": "patch"},
    "with three views": {"V": 3, "P": 9},
    "with three views, fixed, noise of each point": {"V": 3, "P": 8, "signal_layout": "fixed", "noise": "point", "alpha": 2.5},
    "with three views, noise of each patch": {"V": 3, "noise": "patch", "C_P": 1, "beta_law": {"kind": "beta", "a": 0.3}},
}


@dataclass(frozen=True)
class Problem:
    """Parameters, data, correlations c and a direction u (both (k, m, k, V)), with their embedding in R^d."""

    name: str
    parameters: mvsim.Parameters
    data: mvsim.Dataset
    c: np.ndarray
    direction: np.ndarray

    @cached_property
    def features(self):
        return reference.orthonormal_features(self.parameters.k, D, np.random.default_rng(11), self.parameters.V)

    @cached_property
    def weights(self):
        return reference.embed(self.c, self.features, np.random.default_rng(12))

    @cached_property
    def points(self):
        return reference.embed_patches(self.data.to_patches(), self.features)

    @cached_property
    def reach(self):
        """Size of a gradient with softmax residuals of one: the summed coefficients of a point."""
        return np.abs(self.data.to_patches()).sum(axis=1).mean(axis=0).max()

    @cached_property
    def output_reach(self):
        """Size of the terms of which an output is the rest where pre-activations cancel, as far as the activation passes them on."""
        patches = self.data.to_patches()
        z = np.einsum("yrsl,ipsl->yrip", self.c, patches)
        slopes = np.clip(z / self.parameters.rho, 0.0, 1.0) ** (self.parameters.alpha - 1.0)
        sizes = np.linalg.norm(self.weights, axis=2), np.linalg.norm(patches, axis=(2, 3))
        return np.einsum("yrip,yr,ip->yi", slopes, *sizes).max()

    @property
    def arguments(self):
        """Everything but the weights that a reference takes."""
        return self.points, self.data.labels, self.parameters.rho, self.parameters.alpha


def random_correlations(p, rng, scale=6.0):
    """Normal correlations of ``scale`` times rho: dead, polynomial and linear pre-activations of both kinds of patch."""
    return scale * p.rho * rng.standard_normal(p.correlations_shape)


def spread_correlations(p, rng):
    """Correlations of either sign whose size differs by orders of magnitude from neuron to neuron."""
    size = p.rho * 10 ** rng.uniform(-3, 1, (p.k, p.m, 1, 1))
    return size * rng.choice([-0.3, 1.0], p.correlations_shape) * rng.uniform(0.5, 1.5, p.correlations_shape)


def unstructured(p, rng):
    """Patches with coefficients of both signs, a third of them zero, and whole zero patches, under labels of no meaning."""
    shape = p.N, p.P, p.k, p.V
    patches = rng.standard_normal(shape) * (rng.random(shape) < 2 / 3)
    patches[:, 0] = 0.0
    return mvsim.Dataset.from_patches(rng.integers(p.k, size=p.N), patches)


def _data(name, p, rng):
    if name == "no structure":
        return unstructured(p, rng)
    data = mvsim.sample_dataset(p, seed=3)
    return data.keep_view(1) if name == "one view" else data


@cache
def problem(name):
    """The named problem, the same in every test."""
    p = mvsim.Parameters(**{**BASE, **PARAMETERS[name]})
    rng = np.random.default_rng(sorted(PARAMETERS).index(name))
    return Problem(name, p, _data(name, p, rng), random_correlations(p, rng), rng.standard_normal(p.correlations_shape))


def regime_fractions(problem):
    """Fractions of the pre-activations of the mixed points z_ij in the dead, polynomial and linear part of the activation."""
    patches = problem.data.to_patches()
    mixed = (patches[:, None] + patches[None, :]) / 2
    z = np.einsum("yrsl,ijpsl->yrijp", problem.c, mixed)
    rho = problem.parameters.rho
    return {"dead": np.mean(z <= 0), "polynomial": np.mean((z > 0) & (z < rho)), "linear": np.mean(z >= rho)}


def assert_every_regime_is_hit(problem, least=0.02):
    """Assert that no part of the activation is left untested by this problem."""
    fractions = regime_fractions(problem)
    assert min(fractions.values()) >= least, f"{problem.name}: {fractions}"


@st.composite
def random_problems(draw):
    """Problems of every structure with random small sizes; one drawn seed fixes all their numbers."""
    k = draw(st.integers(2, 4), label="k")
    C_P, V = draw(st.integers(1, 2), label="C_P"), draw(st.sampled_from([2, 1, 3]), label="V")
    fields = {
        "k": k,
        "m": draw(st.integers(1, 3), label="m"),
        "C_P": C_P,
        "V": V,
        "P": V * C_P + draw(st.integers(0, 4), label="noise patches"),
        "Q": draw(st.integers(1, k - 1), label="Q"),
        "N": draw(st.integers(1, 5), label="N"),
        "G": draw(st.integers(k, 6), label="G"),
        "alpha": draw(st.sampled_from([8, 3, 2.5]), label="alpha"),
        "signal_layout": draw(st.sampled_from(["random", "fixed"]), label="layout"),
        "noise": draw(st.sampled_from(["codebook", "point", "patch"]), label="noise"),
    }
    if draw(st.booleans(), label="weak noise"):
        fields |= {"delta3": 0.005, "delta4": 0.02}
    p = mvsim.Parameters(**{**BASE, **fields})
    seed = draw(st.integers(0, 2**32 - 1), label="seed")
    rng = np.random.default_rng(seed)
    data = unstructured(p, rng) if draw(st.booleans(), label="unstructured") else mvsim.sample_dataset(p, seed)
    correlations = draw(st.sampled_from([random_correlations, spread_correlations]), label="correlations")(p, rng)
    return Problem("random", p, data, correlations, rng.standard_normal(p.correlations_shape))


def with_data(problem, data, c=None):
    """The same problem on other data and, if given, at other correlations."""
    return replace(problem, data=data, c=problem.c if c is None else c)
