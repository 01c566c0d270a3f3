"""How much memory the kernel for shared noise takes, in doubles."""

from __future__ import annotations

from mvsim.multi_view.activations.power import whole_power
from mvsim.multi_view.data.memory import drawn_patterns, used_patterns
from mvsim.multi_view.kernels.limits import HESSIAN_ROWS
from mvsim.multi_view.kernels.needs import Needs, NeedsOfTest
from mvsim.multi_view.parameters import Parameters


def needs(p: Parameters, mixes: bool) -> Needs:
    """Return what a run takes."""
    if not mixes:
        return Needs(_layout(p, p.N), _product(p), _unmixed_hessian(p))
    return Needs(*_all_pairs(p), _pair_hessian(p))


def _pair_hessian(p: Parameters) -> int:
    """Return the doubles of the Hessian of all pairs with two neurons of a class escaped.

    Each ordered pair of points has a rate for every number of a neuron, two probabilities and a share of the coincidences. Each two classes have
    sums of outer products, put together to blocks. A table of the neurons that have not escaped stays.
    """
    rates = min(p.m, 2) * 2 * p.V
    return (rates + 4) * p.N * p.N + 10 * (p.k * rates) ** 2 + p.k * p.N * used_patterns(p, p.N)


def _unmixed_hessian(p: Parameters) -> int:
    """Return the doubles of the Hessian of single points with two neurons of a class escaped: gradients, reads in signal patches, the matrix."""
    escaped, features = min(p.m, 2) * p.k, p.features
    if escaped * features > HESSIAN_ROWS:
        return 0
    return p.N * escaped * (2 * features + 7 * p.signal_patches) + 2 * (escaped * features) ** 2


def needs_of_test(p: Parameters, points: int) -> NeedsOfTest:
    """Return what outputs on fresh draws take."""
    return NeedsOfTest(_layout(p, points), 5 * p.k * points + 2 * _columns(p, points) + 2 * p.features * p.k * p.m)


def _columns(p: Parameters, points: int) -> int:
    """Return the doubles in the pre-activations of features and noise patterns."""
    return p.k * (p.features + used_patterns(p, points)) * p.m


def _layout(p: Parameters, points: int) -> int:
    """Return the doubles that describe points with shared noise, in the data, which have the whole codebook, and in the kernel."""
    return p.features * (drawn_patterns(p, points) + used_patterns(p, points)) + points * (10 * p.signal_patches + 2 * int(p.alpha) + 10)


def _product(p: Parameters) -> int:
    """Return the doubles of a Hessian-vector product on points with shared noise: columns, their changes and derivatives, and outputs."""
    return 3 * _columns(p, p.N) + 3 * p.features * p.k * p.m + 10 * p.k * p.N


def _all_pairs(p: Parameters) -> tuple[int, int]:
    """Return the doubles that stay for all pairs of points with shared noise (`shared_noise`), and those of a Hessian-vector product."""
    patterns, signals = used_patterns(p, p.N), p.signal_patches
    # Pairs with coinciding signal patches, and coincidences: every point meets itself in all of them.
    share, met = (min(1.0, signals**2 / p.P), signals**2 / p.P) if p.signal_layout == "random" else (1.0, signals)
    others = p.N * (p.N - 1) // 2
    extra, meetings = p.N + int(others * share), p.N * signals + int(others * met)
    blocks = patterns * (patterns + 1) // 2
    tables = p.k * patterns * p.N + p.k * (blocks + extra)
    apart = meetings - p.N * signals
    order = whole_power(p.alpha)
    terms = 6 * (blocks + apart) if order is not None else 6 * (blocks + meetings + 3 * apart)
    plan = 2 * blocks + 4 * extra + 5 * meetings + 6 * apart
    # The coefficients of the labels stay, and the memory in which values become derivatives; their changes along the direction are there in a
    # product, with the moments of one class (on each thread, of which one is counted). Before any of that, the coincidences are sorted.
    moments = 0 if order is None else 2 * patterns * ((order + 1) * (p.features + p.m) + p.N)
    return _layout(p, p.N) + 2 * tables + terms + plan, max(_product(p) + tables + moments, 22 * apart - 2 * tables)
