"""Initial correlations are those of w ~ N(0, I_d / d) with orthonormal features."""

import numpy as np
import pytest
from looping import looping
from scipy import stats
from tolerances import ORTHONORMAL, SIGNIFICANCE

import mvsim

P = mvsim.Parameters(k=6, m=20, d=5000)


def test_shape_and_type():
    c = mvsim.initial_correlations(P, seed=0)
    assert c.shape == (6, 20, 6, 2)
    assert c.dtype == np.float64


def test_entries_are_normal_with_variance_one_over_d():
    p = P.replace(k=10, m=50, d=777)
    z = mvsim.initial_correlations(p, seed=1).ravel() * np.sqrt(p.d)
    assert stats.kstest(z, "norm").pvalue > SIGNIFICANCE
    tail = stats.chi2(z.size).cdf(np.sum(z**2))
    assert SIGNIFICANCE < tail < 1 - SIGNIFICANCE
    assert stats.chi2(z.size).cdf(0.9 * np.sum(z**2)) < SIGNIFICANCE  # a variance wrong by a tenth is seen
    assert abs(np.corrcoef(z[:-1], z[1:])[0, 1]) < 5 / np.sqrt(len(z))


def test_dimension_only_scales():
    first, second = (mvsim.initial_correlations(P.replace(d=d), seed=2) for d in (100, 10_000))
    np.testing.assert_allclose(first, 10 * second, rtol=1e-15)


def test_the_literal_dimension_costs_nothing():
    c = mvsim.initial_correlations(mvsim.Parameters.assumption_4_3(10), seed=0)
    assert 0.9e-10 < np.std(c) < 1.1e-10  # sqrt(10**-20)


def test_same_seed_same_bits_other_seed_other_numbers():
    c = mvsim.initial_correlations(P, seed=3)
    np.testing.assert_array_equal(c, mvsim.initial_correlations(P, seed=3))
    assert not np.any(c == mvsim.initial_correlations(P, seed=4))


@looping(
    "change", [{"N": 7}, {"P": 50}, {"C_P": 3}, {"noise": "patch"}, {"signal_layout": "fixed"}, {"codebook_seed": 9}, {"delta3": 0.0}, {"rho": 0.5}]
)
def test_nothing_about_the_data_changes_the_initial_correlations(change):
    np.testing.assert_array_equal(mvsim.initial_correlations(P, seed=0), mvsim.initial_correlations(P.replace(**change), seed=0))


@looping("seed", [-1, 0.5, "0", True, None])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(mvsim.UsageError, match="seed"):
        mvsim.initial_correlations(P, seed=seed)


@looping(("k", "d"), [(2, 4), (3, 50), (50, 100), (50, 10_000)])
def test_random_features_are_orthonormal(k, d):
    features = mvsim.random_features(k, d, seed=0)
    assert features.shape == (k, 2, d)
    v = features.reshape(2 * k, d)
    assert np.max(np.abs(v @ v.T - np.eye(2 * k))) <= ORTHONORMAL


def test_random_features_have_no_preferred_sign_or_axis():
    """The first coordinates over many seeds: mean zero and variance 1/d, as the Haar measure has."""
    d = 8
    first = np.array([mvsim.random_features(2, d, seed=s)[:, :, 0] for s in range(500)]).reshape(500, 4) * np.sqrt(d)
    assert np.all(np.abs(first.mean(axis=0)) < 5 / np.sqrt(500))
    assert np.all(np.abs((first**2).mean(axis=0) - 1) < 0.3)


def test_random_features_follow_the_seed():
    np.testing.assert_array_equal(mvsim.random_features(3, 20, 1), mvsim.random_features(3, 20, 1))
    assert not np.allclose(mvsim.random_features(3, 20, 1), mvsim.random_features(3, 20, 2))


@looping(("k", "d", "named"), [(3, 5, "d"), (0, 5, "k"), (3, 6.5, "d"), ("3", 8, "k")])
def test_impossible_features_are_refused(k, d, named):
    with pytest.raises(mvsim.UsageError, match=f"^{named}="):
        mvsim.random_features(k, d, seed=0)


def test_correlations_that_do_not_fit_are_refused_with_what_would(monkeypatch):
    monkeypatch.setattr("mvsim.multi_view.memory.available_bytes", lambda: 2**20)
    p = mvsim.Parameters(k=4, m=10**9)
    with pytest.raises(mvsim.UsageError, match=r"m=1000000000, .* would fit: m up to 4096$"):
        mvsim.initial_correlations(p, 0)
    assert mvsim.initial_correlations(p.replace(m=4096), 0).nbytes == 2**20


def test_features_that_do_not_fit_are_refused_with_what_would(monkeypatch):
    monkeypatch.setattr("mvsim.multi_view.data.embedding.available_bytes", lambda: 2**20)
    with pytest.raises(mvsim.UsageError, match=r"^k=2, d=1000000000: .* of memory .* d up to 10922 would fit$"):
        mvsim.random_features(2, 10**9, 0)
    assert mvsim.random_features(2, 10922, 0).shape == (2, 2, 10922)
