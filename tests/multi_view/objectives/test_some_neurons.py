"""The loss as a function of some neurons, and which neurons have escaped."""

import numpy as np
import pytest
from compare import assert_close
from looping import looping
from objective_cases import LARGER, READABLE, every_backend, every_objective, larger, objective
from tolerances import LARGE_OUTPUTS, ROUNDOFF

import mvsim

every_kind = pytest.mark.parametrize("kind", LARGER)

CHOICES = {"none": 0, "one": 1, "some": 2, "all": None}
"""How many neurons of each class."""


def choice(p, count):
    """So many neurons of each class, in any order, none twice."""
    return np.random.default_rng(7).permuted(np.tile(np.arange(p.m), (p.k, 1)), axis=1)[:, :count]


def both(tested, c, neurons, moved, **others):
    """Loss and gradient by the chosen neurons at their place in ``moved``, of these alone and of all, and the largest entry of the whole gradient."""
    k, place = len(c), (np.arange(len(c))[:, None], neurons)
    everywhere = c.copy()
    everywhere[place] = moved[place]
    loss, gradient = tested.loss_and_gradient(everywhere)
    alone = tested.of_neurons(c, neurons)(moved.reshape(*c.shape[:2], -1)[place])
    return alone, (loss, gradient.reshape(k, c.shape[1], -1)[place]), np.abs(gradient).max()


def assert_same(tested, c, neurons, moved, rtol=ROUNDOFF):
    alone, whole, scale = both(tested, c, neurons, moved)
    assert_close(alone[0], whole[0], rtol)
    assert_close(alone[1], whole[1], rtol, scale)


@every_objective
@every_backend
@looping("kind", LARGER)
@looping("neurons", CHOICES)
def test_some_neurons_have_the_loss_and_the_gradient_of_all(name, backend, kind, neurons):
    problem = larger(kind)
    tested, which = objective(name, problem, backend), choice(problem.parameters, CHOICES[neurons])
    assert_same(tested, problem.c, which, problem.c + problem.direction)
    small = problem.c.copy()
    small[np.arange(len(small))[:, None], which] *= 1e-3
    assert_same(tested, small, which, 1.7 * small)  # beside others that are large


@every_objective
@every_backend
@looping("largest", [250.0, 350.0, 1500.0])
@looping("whose", ["the others", "the moving ones"])
def test_some_neurons_at_large_outputs(name, backend, largest, whose):
    """Where exponentials of sums over neurons do not fit, whichever neurons make them so large."""
    problem = larger("codebook")
    tested, which = objective(name, problem, backend), choice(problem.parameters, 1)
    c = 1e-3 * problem.c
    place = np.arange(len(c))[:, None], which
    chosen = np.zeros(c.shape[:2], bool)
    chosen[place] = True
    large = chosen if whose == "the moving ones" else ~chosen
    c[large] *= 1e3
    c[large] *= largest / objective("erm", problem, READABLE).outputs(c).max()
    moved = c.copy()
    moved[place] *= 1.01
    assert_same(tested, c, which, moved, LARGE_OUTPUTS)
    start = c.copy()
    start[place] = 0.0
    assert_same(tested, start, which, moved, LARGE_OUTPUTS)


@every_objective
@every_backend
@looping("kind", LARGER)
def test_bits_of_some_neurons_do_not_depend_on_threads_or_what_was_asked_between(name, backend, kind):
    problem = larger(kind)
    which = choice(problem.parameters, 2)
    moved = (problem.c + problem.direction).reshape(*problem.c.shape[:2], -1)[np.arange(len(problem.c))[:, None], which]
    results = []
    for threads in (1, 2, 5) if backend == "numba" else (1,):  # the others have no threads of their own
        tested = objective(name, problem, backend, threads=threads)
        of_neurons = tested.of_neurons(problem.c, which)
        results.append(of_neurons(moved))
        kept = [results[-1][0], results[-1][1].copy()]
        tested.loss_and_gradient(2.0 * problem.c)
        tested.hessian_vector_product(problem.c, problem.direction)
        of_neurons(0.5 * moved)
        results += [of_neurons(moved), kept]
    for loss, gradient in results[1:]:
        assert loss == results[0][0]
        np.testing.assert_array_equal(gradient, results[0][1])


MIXINGS = {
    "one": 0.3,
    "two": {"atoms": [0.2, 0.5], "probabilities": [0.5, 0.5]},
    "and single points": {"atoms": [0.5, 1.0], "probabilities": [0.6, 0.4]},
    "three": {"atoms": [0.1, 0.3, 0.5], "probabilities": [0.2, 0.3, 0.5]},
}


@every_backend
@looping("mixing", MIXINGS)
def test_some_neurons_under_every_law_of_mixing(backend, mixing):
    """Each atom is a sum of its own, and each keeps what the other neurons give to it."""
    problem = larger("codebook")
    tested = mvsim.objective("mixup", problem.parameters, problem.data, backend=backend, mixing=MIXINGS[mixing])
    assert_same(tested, problem.c, choice(problem.parameters, 2), problem.c + problem.direction)


@every_backend
def test_what_is_not_finite_is_refused(backend):
    problem = larger("codebook")
    which = choice(problem.parameters, 1)
    of_neurons = objective("midpoint", problem, backend).of_neurons(problem.c, which)
    with pytest.raises(mvsim.base.errors.NotFiniteError, match="the loss and its gradient are not finite"):
        of_neurons(np.full((problem.parameters.k, 1, 2 * problem.parameters.k), np.nan))
    of_none = objective("midpoint", problem, backend).of_neurons(1.7e308 / np.abs(problem.c).max() * problem.c, choice(problem.parameters, 0))
    with pytest.raises(mvsim.base.errors.NotFiniteError, match="the loss and its gradient are not finite"):
        of_none(np.zeros((problem.parameters.k, 0, 2 * problem.parameters.k)))
    with pytest.raises(mvsim.UsageError, match="c"):
        objective("midpoint", problem, backend).of_neurons(np.full_like(problem.c, np.nan), which)


@every_objective
def test_a_neuron_has_escaped_where_a_correlation_is_beyond_a_part_of_the_stiff(name):
    problem = larger("codebook")
    p, tested = problem.parameters, objective(name, problem, "numpy")
    c = np.zeros(p.correlations_shape)
    c[0, 1, 0, 1] = 1.01 * tested.stiff_from
    c[2, 0, 2, 0] = 0.99 * tested.stiff_from
    c[3, 2, 1] = 5.0 * tested.stiff_from  # of another class
    c[4, 0, 4] = -5.0 * tested.stiff_from, 0.51 * tested.stiff_from
    assert np.argwhere(tested.escaped(c)).tolist() == [[0, 1], [3, 2]]
    assert np.argwhere(tested.escaped(c, 0.9)).tolist() == [[0, 1], [2, 0], [3, 2]]
    assert np.argwhere(tested.escaped(c, 0.5)).tolist() == [[0, 1], [2, 0], [3, 2], [4, 0]]
    assert tested.escaped(c).shape == (p.k, p.m)
