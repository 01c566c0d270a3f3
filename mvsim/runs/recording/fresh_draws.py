"""Definition 4.5: which features a network has learned, measured on fresh draws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mvsim.base.inputs import check_integer, correlations_array
from mvsim.multi_view.data import sample_points
from mvsim.multi_view.diagnostics import margins
from mvsim.multi_view.kernels import make_kernel, memory_of, usable_backend
from mvsim.multi_view.kernels.finite import finite_outputs
from mvsim.multi_view.memory import bytes_of_test, check_fits
from mvsim.multi_view.parameters import Parameters, check_parameters
from mvsim.numerics.random_streams import check_seed, stream


def check_n_test(n_test: int) -> int:
    """Return a number of fresh draws for each class, or raise `UsageError`."""
    return check_integer("n_test", n_test, 1, "fresh draws for each class", most=10**6)


class FeatureTest:
    """Fresh draws (x, y) ~ D with one view of the own class alone, drawn once and put to as many networks as one likes.

    Feature v_{y,l} is learned if argmax_s g_s(x') = y, where x' is x with every instance of the other views v_{y,l'}
    of its class replaced by zero (Definition 4.5, which has two views). A tie is not a win.
    """

    def __init__(self, parameters: Parameters, n_test: int = 20, seed: int = 0, threads: int | None = None, backend: str = "auto") -> None:
        check_parameters(parameters), check_n_test(n_test)
        backend = usable_backend(backend)
        check_fits(parameters, lambda p: bytes_of_test(p, memory_of(p, backend), n_test), f" for {n_test} draws of each class")
        labels = np.repeat(np.arange(parameters.k), n_test)
        points = sample_points(parameters, stream(check_seed(seed), "fresh draws"), labels)
        self._parameters, self._labels = parameters, labels
        self.draws = int(n_test)
        self._shape = (parameters.k, self.draws)
        self._kernels = [make_kernel(parameters, points.keep_view(view), backend, threads) for view in range(parameters.V)]

    def fraction_learned(self, c: np.ndarray) -> np.ndarray:
        """Return (k, V): the fraction of fresh draws of class y on which view l alone suffices."""
        return (self.margins(c) > 0.0).mean(axis=1)

    def margins(self, c: np.ndarray) -> np.ndarray:
        """Return (k, n_test, V): g_y - max_{s != y} g_s on the fresh draws of class y with view l alone."""
        c = correlations_array("c", c, self._parameters.correlations_shape)
        return np.stack([margins(finite_outputs(kernel, c), self._labels).reshape(self._shape) for kernel in self._kernels], axis=2)


def feature_learned(parameters: Parameters, c: np.ndarray, n_test: int = 20, seed: int = 0) -> np.ndarray:
    """Return the fraction of fresh draws on which Definition 4.5 holds.

    Parameters
    ----------
    parameters : Parameters
        They fix D and the activation.
    c : numpy.ndarray
        (k, m, k, V) correlations.
    n_test : int
        Fresh draws for each class.
    seed : int
        Fixes the draws.

    Returns
    -------
    numpy.ndarray
        (k, V) in [0, 1]: entry [y, l] is the fraction for feature v_{y,l}.

    Raises
    ------
    UsageError
        If the shape of c is wrong, it is not finite or so large that outputs are not, n_test < 1, or the draws do not fit in memory.
    """
    c = correlations_array("c", c, check_parameters(parameters).correlations_shape)  # before anything is drawn
    return FeatureTest(parameters, n_test, seed).fraction_learned(c)


LEARNED_FRACTION = 1.0
"""A feature counts as learned when Definition 4.5 holds on every fresh draw."""


def is_learned(fractions: np.ndarray) -> np.ndarray:
    """Return where a feature counts as learned, given fractions of draws; false where the fraction is NaN."""
    return fractions >= LEARNED_FRACTION


class Outcome(NamedTuple):
    """What may become of a class."""

    name: str
    phrase: str  # Which of its features it has learned, for a sentence
    headline: str  # The same for the beginning of one
    # least, most: How many of them
    least: int
    most: int


def outcomes_of(V: int) -> list[Outcome]:
    """Return what may become of a class with V views, from all of its features learned to none."""
    none = Outcome("none", "none", "No feature", 0, 0)
    if V == 2:
        both, one = Outcome("both", "both features", "Both features", 2, 2), Outcome("one", "exactly one", "Exactly one feature", 1, 1)
        return [both, one, none]
    some = [Outcome("some", "some", "Some features", 1, V - 1)] if V > 1 else []
    return [Outcome("all", "all features", "All features", V, V), *some, none]


def count_classes(fractions: np.ndarray) -> dict[str, int]:
    """Return how many classes have each outcome of `outcomes_of`, given (k, V) fractions of fresh draws: of two views, both, one and none."""
    learned = is_learned(fractions).sum(axis=1)
    return {of.name: int(((of.least <= learned) & (learned <= of.most)).sum()) for of in outcomes_of(fractions.shape[1])}
