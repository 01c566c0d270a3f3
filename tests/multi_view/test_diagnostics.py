"""Diagnostics are the quantities of the proofs, and Definition 4.5 is that definition."""

from decimal import Decimal

import numpy as np
import problems
import pytest
import reference
from compare import assert_components_close
from looping import looping
from tolerances import COMPONENT_ABSOLUTE, FEW_OPERATIONS
from usable import cases

import mvsim
from mvsim.multi_view import diagnostics
from mvsim.multi_view.kernels import BACKENDS
from mvsim.multi_view.thresholds import entered_B
from mvsim.numerics.random_streams import stream
from mvsim.runs.recording import fresh_draws as learning

CASES = ["random codebook", "random patch noise", "random point noise", "shared patterns", "smallest", "no structure"]


@pytest.fixture(params=CASES)
def problem(request):
    return problems.problem(request.param)


def entries(problem):
    return [(y, view) for y in range(problem.parameters.k) for view in range(problem.parameters.V)]


def test_max_correlation(problem):
    measured = diagnostics.max_correlation(problem.c)
    assert measured.shape == (problem.parameters.k, problem.parameters.V)
    for y, view in entries(problem):
        assert measured[y, view] == reference.max_correlation(problem.c, y, view)


def test_signal_strength(problem):
    p = problem.parameters
    measured = diagnostics.signal_strength(p, problem.data)
    patches = problem.data.to_patches()
    expected = [[reference.signal_strength(patches, problem.data.labels, y, view, p.alpha) for view in range(p.V)] for y in range(p.k)]
    assert np.max(expected) > 0
    assert_components_close(measured, expected, FEW_OPERATIONS, 0)


@pytest.mark.parametrize("threshold", [-1.0, 0.5, 2.0, 100.0])
def test_active_neurons_total_correlation_and_view_gap(problem, threshold):
    p = problem.parameters
    active = diagnostics.active_neurons(problem.c, threshold)
    total = diagnostics.total_correlation(problem.c, threshold)
    assert active.shape == (p.k, p.m, p.V)
    expected = np.zeros((p.k, p.V))
    for y, view in entries(problem):
        assert set(np.flatnonzero(active[y, :, view])) == reference.active_neurons(problem.c, y, view, threshold)
        expected[y, view] = reference.total_correlation(problem.c, y, view, threshold)
    assert_components_close(total, expected, FEW_OPERATIONS, FEW_OPERATIONS)
    gap = [max(row) - min(row) for row in expected]
    assert_components_close(diagnostics.view_gap(problem.c, threshold), gap, FEW_OPERATIONS, FEW_OPERATIONS)


def test_a_class_is_open_from_log_k_on():
    gaps = np.log(4) * np.array([[0.0, 1.0 - 1e-9, 1.0, 2.0], [3.0, 0.5, 0.0, 0.0]])
    assert diagnostics.is_open(gaps).tolist() == [[False, False, True, True], [True, False, False, False]]


def test_a_neuron_exactly_at_the_threshold_is_active():
    c = np.zeros((2, 1, 2, 2))
    c[0, 0, 0, 1] = 0.7
    np.testing.assert_array_equal(diagnostics.active_neurons(c, 0.7)[:, 0], [[False, True], [False, False]])


def test_thresholds_of_the_proofs():
    p = mvsim.Parameters(k=4, rho=0.3, delta1=0.2)
    assert entered_B(p, mixes=False) == pytest.approx(1.5, rel=FEW_OPERATIONS)
    assert entered_B(p, mixes=True) == pytest.approx(3.0, rel=FEW_OPERATIONS)


def test_own_and_off_diagonal_correlations_are_all_of_them(problem):
    p = problem.parameters
    own, off = diagnostics.own_correlations(problem.c), diagnostics.off_diagonal_correlations(problem.c)
    for y in range(p.k):
        for r in range(p.m):
            np.testing.assert_array_equal(own[y, r], problem.c[y, r, y])
            np.testing.assert_array_equal(off[y, r], problem.c[y, r, [s for s in range(p.k) if s != y]])


def test_softmax_gap_keeps_the_digits_of_tiny_gaps():
    outputs = np.array([[0.0, 50.0, 700.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0, 5.0], [2.0, -3.0, 10.0, 1.0, 1.0]])  # the last is classified wrongly
    labels = np.array([2, 0, 0, 1, 0])
    expected = [sum(reference.softmax(g)[s] for s in range(3) if s != y) for g, y in zip(outputs.T, labels, strict=True)]
    assert expected[2] < 1e-299
    assert_components_close(diagnostics.softmax_gap(outputs, labels), expected, 1e2 * FEW_OPERATIONS, 0)


def test_a_tie_is_not_a_win():
    outputs = np.array([[1.0, 1.0, 0.0], [1.0, 0.5, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(diagnostics.correct(outputs, np.array([0, 0, 2])), [False, True, False])


# ---- Definition 4.5 -----------------------------------------------------------------------------------------------------------------


def learned_correlations(p, rng):
    """All views but the last learned by class 0, the last by class 1, all by the others, among noise of the other correlations: a mixed picture."""
    c = 0.3 * rng.standard_normal(p.correlations_shape)
    for y in range(p.k):
        last = np.arange(p.V) == p.V - 1
        c[y, 0, y] = 4.0 * (~last if y == 0 else last if y == 1 else np.ones(p.V))
    return c


@looping("noise", ["codebook", "point", "patch"])
@looping("scale", [0.0, 1.0, 8.0])
@looping("V", [2, 1, 3])
def test_feature_learned_is_definition_4_5_on_fresh_draws(noise, scale, V):
    p = mvsim.Parameters(**{**problems.BASE, "V": V, "noise": noise, "delta3": 0.05, "delta4": 0.15})
    rng = np.random.default_rng(0)
    c = learned_correlations(p, rng) + scale * rng.standard_normal(p.correlations_shape)
    n_test, seed = 6, 4
    fresh = mvsim.multi_view.data.sample_points(p, stream(seed, "fresh draws"), np.repeat(np.arange(p.k), n_test))
    features = reference.orthonormal_features(p.k, problems.D, rng, p.V)
    weights, points = reference.embed(c, features, rng), reference.embed_patches(fresh.to_patches(), features)
    expected = np.zeros((p.k, p.V))
    for x, y in zip(points, fresh.labels, strict=True):
        for view in range(p.V):
            expected[y, view] += reference.feature_is_learned(weights, x, y, view, features, p.rho, p.alpha) / n_test
    assert 0 < expected.sum() < expected.size
    assert_components_close(mvsim.feature_learned(p, c, n_test=n_test, seed=seed), expected, 0, COMPONENT_ABSOLUTE)


def test_feature_learned_by_hand():
    p = mvsim.Parameters(**{**problems.BASE, "delta3": 0.001, "delta4": 0.002})
    c = np.zeros(p.correlations_shape)
    np.testing.assert_array_equal(mvsim.feature_learned(p, c), np.zeros((p.k, p.V)))  # all outputs 0: a tie is not a win
    c[0, 0, 0] = [5.0, -5.0]
    c[2, 1, 2] = [5.0, 5.0]
    np.testing.assert_array_equal(mvsim.feature_learned(p, c), [[1, 0], [0, 0], [1, 1]])
    assert learning.count_classes(mvsim.feature_learned(p, c)) == {"both": 1, "one": 1, "none": 1}


def test_fresh_draws_are_not_training_points():
    p = mvsim.Parameters(**problems.BASE)
    fresh = mvsim.multi_view.data.sample_points(p, stream(0, "fresh draws"), np.arange(p.k))
    training = mvsim.sample_dataset(p, seed=0)
    assert not np.intersect1d(fresh.signal_coefficients, training.signal_coefficients).size


@looping("options", [{"n_test": 0}, {"n_test": 1.5}, {"seed": -1}])
def test_bad_options_are_refused(options):
    p = mvsim.Parameters(**problems.BASE)
    with pytest.raises(mvsim.UsageError, match=f"^{next(iter(options))}="):
        mvsim.feature_learned(p, np.zeros(p.correlations_shape), **options)


def test_correlations_of_a_wrong_shape_are_refused():
    p = mvsim.Parameters(**problems.BASE)
    with pytest.raises(mvsim.UsageError, match="shape"):
        mvsim.feature_learned(p, np.zeros((p.k, p.m + 1, p.k, 2)))


@looping("bad", [np.nan, np.inf, -np.inf])
def test_correlations_that_are_not_finite_have_learned_neither_everything_nor_nothing(bad):
    p = mvsim.Parameters(**problems.BASE)
    c = np.zeros(p.correlations_shape)
    c[0, 1, 2, 0] = bad
    for method in (lambda c: mvsim.feature_learned(p, c), learning.FeatureTest(p, 2).fraction_learned):
        with pytest.raises(mvsim.UsageError, match=rf"^c\[0, 1, 2, 0\]={bad}: must be finite"):
            method(c)


@looping("size", [1e20, 3e38, 1e60, 1e300])
def test_outputs_that_overflow_are_an_error_in_definition_4_5(size):
    """3e38^8 is more than a double holds; where outputs can be computed, size does not matter."""
    p = mvsim.Parameters(**{**problems.BASE, "delta3": 0.001, "delta4": 0.002})
    c = np.zeros(p.correlations_shape)
    c[0, 0, 0], c[2, 1, 2] = [size, -size], [size, size]
    refused = f"the outputs are not finite in double precision (largest correlation |c| = {size:g})"
    try:
        found = mvsim.feature_learned(p, c).tolist()
    except mvsim.UsageError as error:
        found = str(error)
    assert found in ([[1, 0], [0, 0], [1, 1]], refused)
    assert found != refused or size > 1e20


# ---- powers that leave the range of doubles -----------------------------------------------------------------------------------------


@looping("alpha", [1, 2.5, 8, 64])
@looping("size", [1e-6, 1e-3, 1.0, 1e6])
def test_the_logarithm_of_the_signal_strength_is_that_of_exact_arithmetic(alpha, size):
    p = mvsim.Parameters(**{**problems.BASE, "alpha": alpha, "delta1": 0.2 * size, "delta2": size})
    data = mvsim.sample_dataset(p, 0)
    exact = [[Decimal(0)] * 2 for _ in range(p.k)]
    for beta, y in zip(data.signal_coefficients, data.labels, strict=True):
        for view in range(p.V):
            exact[y][view] += sum(Decimal(float(b)) ** Decimal(alpha) for b in beta[view]) / data.N
    expected = np.array([[float(S.ln()) if S else -np.inf for S in row] for row in exact])
    assert np.isfinite(expected).any()
    np.testing.assert_allclose(diagnostics.log_signal_strength(p, data), expected, rtol=0, atol=1e-11)
    held = np.array([[np.inf if S.adjusted() > 307 else float(S) for S in row] for row in exact])
    np.testing.assert_allclose(diagnostics.signal_strength(p, data), held, rtol=1e-11, atol=1e-300)


def test_the_logarithm_of_a_softmax_gap_goes_on_where_the_gap_ends():
    outputs = np.array([[0.0, 50.0, 700.0, 1.0, 5000.0, 0.0], [1.0, 0.0, 0.0, 1.0, 0.0, 3000.0], [2.0, -3.0, 10.0, 1.0, 1.0, 0.0]])
    labels = np.array([2, 0, 0, 1, 0, 0])
    measured = diagnostics.log_softmax_gap(outputs, labels)
    np.testing.assert_allclose(np.exp(measured[:4]), diagnostics.softmax_gap(outputs, labels)[:4], rtol=1e-12)
    assert measured[4] == pytest.approx(np.log(1 + np.e) - 5000.0, rel=1e-15)
    assert measured[5] == 0.0


@pytest.mark.parametrize("backend", cases(BACKENDS))
@pytest.mark.parametrize("far", [3e38, -3e38])
def test_a_view_that_is_removed_has_no_say_however_large_its_correlation_is(backend, far):
    # 3e38^8 is no double
    p = mvsim.Parameters(k=3, d=500, N=30)
    c = mvsim.initial_correlations(p, 0)
    before = learning.FeatureTest(p, 5, backend=backend).fraction_learned(c)
    c[0, 0, 0, 0] = far
    after = learning.FeatureTest(p, 5, backend=backend).fraction_learned(c)
    assert after[0, 0] == (1.0 if far > 0.0 else before[0, 0])
    assert after[0, 1] == before[0, 1]
