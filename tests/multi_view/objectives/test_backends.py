"""All backends give the same numbers, on any number of threads, at every call, and in whatever pieces they work."""

import numpy as np
import problems
import pytest
from compare import assert_close
from looping import looping
from objective_cases import (
    LARGER,
    READABLE,
    assert_everything_close,
    assert_same,
    by_the_oracle,
    every_backend,
    every_fast_backend,
    every_objective,
    everything,
    larger,
    objective,
    with_outputs_up_to,
)
from tolerances import HESSIAN_ROUNDOFF, ROUNDOFF
from usable import RUNNABLE

import mvsim
from mvsim.multi_view.data import sample_points
from mvsim.multi_view.kernels import usable_backend
from mvsim.numerics.random_streams import stream


@every_objective
@every_fast_backend
@looping("kind", LARGER)
def test_backends_agree(name, backend, kind):
    problem = larger(kind)
    assert_everything_close(everything(objective(name, problem, backend), problem), by_the_oracle(name, kind))


@every_objective
@every_fast_backend
@looping("kind", LARGER)
@looping("largest", [120.0, 280.0, 1500.0])
def test_backends_agree_at_large_outputs(name, backend, kind, largest):
    """Exponentials and their products must be taken in an order that does not overflow, whatever the size of the outputs."""
    problem = with_outputs_up_to(kind, largest)
    assert_same(by_the_oracle(name, kind, largest), everything(objective(name, problem, backend), problem), problem)


@every_objective
@every_fast_backend
@looping("alpha", [8, 2, 1])
@looping("noise", [0.0, 0.002])
def test_backends_agree_next_to_the_borders_of_the_regimes(name, backend, alpha, noise):
    """The least or largest pre-activation of a neuron on a feature, by which moments decide how to sum it, is next to 0 or rho, on either side."""
    p = larger("weak codebook").parameters.replace(alpha=alpha, delta3=noise / 2, delta4=noise)
    data = mvsim.sample_dataset(p, seed=1)
    rng = np.random.default_rng(43)
    c = np.empty(p.correlations_shape)
    for s, view in np.ndindex(p.k, p.V):
        beta = data.own_coefficients(view)[data.labels == s]
        borders = [p.rho / (lam * end) * (1.0 + step) for lam in (0.5, 1.0) for end in (beta.min(), beta.max()) for step in (-1e-9, 1e-9)]
        c[:, :, s, view] = rng.choice([*borders, -1e-9 * p.rho, 1e-9 * p.rho], (p.k, p.m))
    problem = problems.Problem("borders", p, data, c, rng.standard_normal(c.shape))
    results = [everything(objective(name, problem, which), problem) for which in (READABLE, backend)]
    assert_same(*results, problem)


@every_objective
@looping("kind", LARGER)
def test_bits_do_not_depend_on_the_number_of_threads(name, kind):
    """Of the compiled kernels; the others have no threads of their own."""
    problem = larger(kind)
    one, two = (everything(objective(name, problem, "numba", threads=threads), problem) for threads in (1, 2))
    for first, second in zip(one, two, strict=True):
        np.testing.assert_array_equal(first, second)


@every_objective
@every_backend
@looping("kind", LARGER)
def test_calls_repeat_bit_for_bit_and_leave_their_arguments_alone(name, backend, kind):
    problem = larger(kind)
    c, direction = problem.c.copy(), problem.direction.copy()
    tested = objective(name, problem, backend)
    first = everything(tested, problem)
    kept = [result.copy() for result in first]
    tested.gradient(2.0 * problem.c)  # must not write into what was returned before
    tested.outputs(2.0 * problem.c)
    for result, copy, again in zip(first, kept, everything(tested, problem), strict=True):
        np.testing.assert_array_equal(result, copy)
        np.testing.assert_array_equal(again, copy)
    loss, gradient = tested.loss_and_gradient(problem.c)
    assert_close(loss, first[0], ROUNDOFF)
    assert_close(gradient, first[1], ROUNDOFF)
    np.testing.assert_array_equal(problem.c, c)
    np.testing.assert_array_equal(problem.direction, direction)


@every_objective
def test_memory_layout_of_the_argument_does_not_matter(name):
    problem = larger("codebook")
    tested = objective(name, problem, "numba")
    expected_gradient = tested.gradient(problem.c)
    assert isinstance(tested.loss(problem.c), float)
    strided = np.repeat(problem.c, 2, axis=3)[..., ::2]
    for c in (np.asfortranarray(problem.c), strided):
        assert not c.flags.c_contiguous
        np.testing.assert_array_equal(tested.gradient(c), expected_gradient)


def test_the_automatic_backend_is_one_of_the_tested_ones():
    for case in ("random codebook", "random patch noise"):
        problem = problems.problem(case)
        words = {backend: objective("midpoint", problem, backend).describe() for backend in RUNNABLE}
        assert words.pop("auto") in words.values()


def test_a_backend_that_must_be_compiled_is_refused_where_nothing_can_be(monkeypatch):
    assert usable_backend("numba") == "numba"
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    with pytest.raises(mvsim.UsageError, match=f"backend='numba': its kernels must be compiled, .* or give backend={READABLE}"):
        usable_backend("numba")


@every_objective
@pytest.mark.parametrize(("module", "backend"), [("oracle", "numpy"), ("any_patches.any_patches_kernel", "numba")])
def test_work_in_pieces_gives_the_same_sums(name, module, backend, monkeypatch):
    """Large problems are done a piece at a time; here the pieces are made as small as one row."""
    problem = larger("patch")
    whole = everything(objective(name, problem, backend), problem)
    monkeypatch.setattr(f"mvsim.multi_view.kernels.{module}.BATCH_BYTES", 1)
    pieces = everything(objective(name, problem, backend), problem)
    assert_everything_close(pieces, whole)


@every_objective
def test_a_few_patches_at_a_time_give_the_same_sums(name, monkeypatch):
    """Pre-activations are formed for as many patches at a time as stay in the cache; here for 4, 4 and 2."""
    problem = larger("patch")
    assert problem.parameters.P == 10
    whole = everything(objective(name, problem, "numba"), problem)
    monkeypatch.setattr("mvsim.multi_view.kernels.any_patches.any_patches_kernel.MOST_WIDTH", 4)
    parts = everything(objective(name, problem, "numba"), problem)
    assert_everything_close(parts, whole)
    assert any(np.any(one != other) for one, other in zip(parts, whole, strict=True))


@every_objective
@every_backend
def test_points_without_any_feature(name, backend):
    """All outputs on such points are 0."""
    problem = larger("patch")
    patches = problem.data.to_patches()
    patches[[0, 5, -1]] = 0.0
    some = problems.with_data(problem, mvsim.Dataset.from_patches(problem.data.labels, patches))
    for one, other in zip(*(everything(objective(name, some, which), some) for which in (backend, READABLE)), strict=True):
        assert_close(one, other, HESSIAN_ROUNDOFF)
    np.testing.assert_array_equal(objective(name, some, backend).outputs(some.c)[:, [0, 5, -1]], 0.0)
    none = problems.with_data(problem, mvsim.Dataset.from_patches(problem.data.labels, 0.0 * patches))
    loss, gradient = objective(name, none, backend).loss_and_gradient(none.c)
    assert_close(loss, np.log(problem.parameters.k), ROUNDOFF)
    np.testing.assert_array_equal(gradient, 0.0)


@looping("largest", [10.0, 20.0, 60.0, 150.0])
@looping("N", [1, 4])
def test_the_gap_of_pairs_of_one_class_keeps_its_digits(N, largest):
    p = mvsim.Parameters(k=3, N=N, G=4)
    points = sample_points(p, stream(0, "points"), np.zeros(N, dtype=int))
    c = 0.01 * np.abs(np.random.default_rng(0).standard_normal((3, 3, 3, 2)))
    c[0, 0, 0] = largest
    fast, slow = (mvsim.objective("midpoint", p, points, backend=backend).gradient(c) for backend in ("auto", READABLE))
    np.testing.assert_allclose(fast, slow, rtol=1e-10, atol=1e-10 * np.abs(slow).max())


def test_the_quadrature_of_a_loss_that_is_0_has_no_error():
    p = mvsim.Parameters(k=2, N=1)
    objective = mvsim.objective("mixup", p, mvsim.sample_dataset(p, 0))
    c = np.zeros(p.correlations_shape)
    c[objective.data.labels[0], :, objective.data.labels[0]] = 1e8
    assert objective.loss(c) == 0.0
    assert objective.quadrature_error(c) == (0.0, 0.0)
