"""Sampled data satisfy Definition 4.1, clause by clause, as seen from the plain (N, P, k, 2) coefficients."""

import time

import numpy as np
import problems
import pytest
import reference
from compare import assert_components_close
from looping import looping
from scipy import stats
from tolerances import FEW_OPERATIONS, SIGNIFICANCE

import mvsim
from mvsim.numerics.random_streams import stream

LAYOUTS = ["random", "fixed"]
NOISES = ["codebook", "point", "patch"]
BASE = {"k": 5, "P": 9, "C_P": 2, "Q": 3, "N": 60, "G": 7, "delta1": 0.15, "delta2": 1.1, "delta3": 0.2, "delta4": 0.3}


def parameters(**fields):
    return mvsim.Parameters(**{**BASE, **fields})


@pytest.fixture(params=[(layout, noise) for layout in LAYOUTS for noise in NOISES], ids="-".join)
def structure(request):
    p = parameters(signal_layout=request.param[0], noise=request.param[1])
    data = mvsim.sample_dataset(p, seed=5)
    return p, data, data.to_patches()


def signal_positions(x, y, view):
    """P_{y,view}(x): the patches with a positive coefficient of v_{y,view}, from (P, k, 2) coefficients."""
    return {p for p in range(len(x)) if x[p, y, view] > 0}


def noise_positions(x, y):
    return sorted(set(range(len(x))) - signal_positions(x, y, 0) - signal_positions(x, y, 1))


def every_beta(data):
    """All coefficients of view 0 of the own class, in the order of points and patches."""
    return np.array([x[p, y, 0] for x, y in zip(data.to_patches(), data.labels, strict=True) for p in sorted(signal_positions(x, y, 0))])


def test_shapes_and_types(structure):
    p, data, patches = structure
    assert patches.shape == (p.N, p.P, p.k, 2)
    assert patches.dtype == np.float64
    assert data.labels.shape == (p.N,)
    assert data.labels.dtype == np.int64
    assert (data.N, data.P, data.k) == (p.N, p.P, p.k)
    assert set(data.labels) == set(range(p.k))


def test_what_is_told_of_the_size_of_points_is_so_of_their_patches(structure):
    p, data, patches = structure
    sizes = np.abs(patches)
    assert data.largest_patch() == pytest.approx(sizes.sum(axis=(2, 3)).max(), rel=1e-12)
    np.testing.assert_allclose(data.feature_totals(), sizes.sum(axis=1).max(axis=0), rtol=1e-12)
    sized = data.sized(p.replace(N=1))
    assert (sized.V, sized.N, sized.P) == (2, p.N, p.P)
    if p.noise == "patch":  # a row for each feature that occurs in a point
        assert 2 * p.N * sized.Q < len(data.rows) <= 2 * p.N * (sized.Q + 1)


def test_the_coefficients_of_paired_patches_sum_to_delta2(structure):
    p, data, patches = structure
    for x, y in zip(patches, data.labels, strict=True):
        betas = np.sort([x[patch, y, 0] for patch in signal_positions(x, y, 0)])
        partners = np.sort([x[patch, y, 1] for patch in signal_positions(x, y, 1)])
        assert_components_close(betas + partners[::-1], np.full(p.C_P, p.delta2), FEW_OPERATIONS, 0)  # some bijection pairs them all
        for values in (betas, partners):
            assert values.min() >= p.delta1 * (1 - FEW_OPERATIONS)
            assert values.max() <= (p.delta2 - p.delta1) * (1 + FEW_OPERATIONS)


def test_noise_patches_hold_the_same_foreign_classes_with_coefficients_in_range(structure):
    p, data, patches = structure
    for x, y in zip(patches, data.labels, strict=True):
        where = noise_positions(x, y)
        assert len(where) == p.P - 2 * p.C_P
        classes = [frozenset(np.flatnonzero(x[patch].any(axis=1))) for patch in where]
        assert len(set(classes)) == 1
        assert len(classes[0]) == p.Q
        assert y not in classes[0]
        values = x[where][:, sorted(classes[0])]
        assert values.shape == (len(where), p.Q, 2)
        assert values.min() >= p.delta3
        assert values.max() <= p.delta4


def test_noise_is_shared_by_the_patches_of_a_point_unless_asked_for_each_patch(structure):
    p, data, patches = structure
    for x, y in zip(patches, data.labels, strict=True):
        different = len(np.unique(x[noise_positions(x, y)].reshape(-1, 2 * p.k), axis=0))
        assert different == (p.P - 2 * p.C_P if p.noise == "patch" else 1)


def test_number_of_noise_patterns(structure):
    p, data, patches = structure
    noise = [x[noise_positions(x, y)[0]].ravel() for x, y in zip(patches, data.labels, strict=True)]
    different = len(np.unique(noise, axis=0))
    assert different == p.N if p.noise != "codebook" else 1 < different <= p.G


def test_fixed_layout_is_the_first_positions_and_random_layout_is_uniform():
    fixed = mvsim.sample_dataset(parameters(signal_layout="fixed"), seed=0)
    for x, y in zip(fixed.to_patches(), fixed.labels, strict=True):
        assert (signal_positions(x, y, 0), signal_positions(x, y, 1)) == ({0, 1}, {2, 3})
    p = parameters(N=900)
    data = mvsim.sample_dataset(p, seed=0)
    for view in (0, 1):
        counts = np.zeros(p.P)
        for x, y in zip(data.to_patches(), data.labels, strict=True):
            counts[list(signal_positions(x, y, view))] += 1
        assert stats.chisquare(counts).pvalue > SIGNIFICANCE


def test_random_layout_pairs_any_two_positions():
    """Views 0 and 1 are exchangeable: either may come first."""
    data = mvsim.sample_dataset(parameters(N=400, C_P=1), seed=1)
    points = zip(data.to_patches(), data.labels, strict=True)
    first = sum(min(signal_positions(x, y, 0)) < min(signal_positions(x, y, 1)) for x, y in points)
    assert stats.binomtest(first, 400, 0.5).pvalue > SIGNIFICANCE


def test_labels_are_uniform():
    counts = np.bincount(mvsim.sample_dataset(parameters(N=5000), seed=0).labels, minlength=5)
    assert stats.chisquare(counts).pvalue > SIGNIFICANCE


def test_noise_classes_of_a_point_are_uniform_over_the_other_classes():
    p = parameters(N=600, noise="point", Q=1)
    data = mvsim.sample_dataset(p, seed=2)
    points = zip(data.to_patches(), data.labels, strict=True)
    gaps = [(np.flatnonzero(x[noise_positions(x, y)[0]].any(axis=1))[0] - y) % p.k for x, y in points]
    counts = np.bincount(gaps, minlength=p.k)
    assert counts[0] == 0
    assert stats.chisquare(counts[1:]).pvalue > SIGNIFICANCE


def test_discrete_law_takes_its_atoms_with_their_probabilities():
    law = {"kind": "discrete", "atoms": [0.0, 0.5, 1.0], "probabilities": [0.25, 0.5, 0.25]}
    p = parameters(beta_law=law, N=800)
    unit = (every_beta(mvsim.sample_dataset(p, seed=0)) - p.delta1) / (p.delta2 - 2 * p.delta1)
    atom = np.rint(2 * unit).astype(int)
    assert_components_close(unit, atom / 2, FEW_OPERATIONS, FEW_OPERATIONS)
    counts = np.bincount(atom, minlength=3)
    assert stats.chisquare(counts, 1600 * np.array([0.25, 0.5, 0.25])).pvalue > SIGNIFICANCE


def test_each_class_has_its_own_law():
    laws = [{"kind": "discrete", "atoms": [a, 1 - a]} for a in (0.0, 0.1, 0.2, 0.3, 0.5)]
    p = parameters(beta_law=laws)
    data = mvsim.sample_dataset(p, seed=0)
    beta = every_beta(data).reshape(p.N, p.C_P)
    for y, law in enumerate(laws):
        unit = (beta[data.labels == y] - p.delta1) / (p.delta2 - 2 * p.delta1)
        distance = np.min(np.abs(unit[..., None] - law["atoms"]), axis=-1)
        assert unit.size > 10
        assert distance.max() <= FEW_OPERATIONS


def test_the_codebook_is_a_function_of_the_parameters_alone():
    """Fresh draws and other seeds are draws from the same D; another codebook_seed is another D."""
    p = parameters(N=200)

    def patterns(p, seed):
        data = mvsim.sample_dataset(p, seed)
        noise = [x[noise_positions(x, y)[0]].ravel() for x, y in zip(data.to_patches(), data.labels, strict=True)]
        return {row.tobytes() for row in noise}

    first = patterns(p, 0)
    assert len(first) == p.G
    assert patterns(p, 1) == first
    assert patterns(p.replace(N=150, m=9, rho=0.7, signal_layout="fixed"), 2) == first
    assert not patterns(p.replace(codebook_seed=1), 0) & first


@looping("noise", NOISES)
def test_same_seed_same_bits_other_seed_other_points(noise):
    p = parameters(noise=noise)
    one, again, other = (mvsim.sample_dataset(p, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.to_patches(), again.to_patches())
    np.testing.assert_array_equal(one.labels, again.labels)
    assert not np.array_equal(one.labels, other.labels)
    assert not np.intersect1d(every_beta(one), every_beta(other)).size


@looping("change", [{"m": 40}, {"d": 10**9}, {"alpha": 3}, {"rho": 2.0}])
def test_nothing_about_the_network_changes_the_data(change):
    p = parameters()
    np.testing.assert_array_equal(mvsim.sample_dataset(p, 0).to_patches(), mvsim.sample_dataset(p.replace(**change), 0).to_patches())


@looping("change", [{"P": 20}, {"noise": "patch"}, {"beta_law": {"kind": "beta", "a": 2}}, {"C_P": 1}])
def test_labels_are_a_stream_of_their_own(change):
    p = parameters()
    np.testing.assert_array_equal(mvsim.sample_dataset(p, 0).labels, mvsim.sample_dataset(p.replace(**change), 0).labels)


def test_data_and_initial_correlations_of_one_seed_are_independent_draws():
    p = parameters(N=400, m=40)
    beta, c = every_beta(mvsim.sample_dataset(p, 0)), mvsim.initial_correlations(p, 0).ravel()
    assert abs(stats.spearmanr(beta[:400], c[:400]).statistic) < 5 / np.sqrt(400)


@looping("seed", [-1, 1.5, "x", None, True])
def test_bad_seeds_are_refused(seed):
    with pytest.raises(mvsim.UsageError, match=r"^seed="):
        mvsim.sample_dataset(parameters(), seed)


def test_points_of_given_classes():
    labels = [4, 4, 0, 2]
    data = mvsim.multi_view.data.sample_points(parameters(), np.random.default_rng(0), labels)
    np.testing.assert_array_equal(data.labels, labels)
    for x, y in zip(data.to_patches(), labels, strict=True):
        assert len(signal_positions(x, y, 0)) == 2
    for wrong in ([], [5], [-1], [[0]]):
        with pytest.raises(mvsim.UsageError, match="labels"):
            mvsim.multi_view.data.sample_points(parameters(), np.random.default_rng(0), wrong)


@looping("name", sorted(problems.PARAMETERS))
def test_keep_view_is_x_prime_of_definition_4_5(name):
    problem = problems.problem(name)
    before = problem.data.to_patches()
    for view in range(problem.parameters.V):
        kept = problem.data.keep_view(view)
        np.testing.assert_array_equal(kept.labels, problem.data.labels)
        points = reference.embed_patches(kept.to_patches(), problem.features)
        for x, x_prime, y in zip(problem.points, points, problem.data.labels, strict=True):
            expected = reference.with_view_alone(x, y, view, problem.features)
            assert_components_close(x_prime, expected, 0, FEW_OPERATIONS * 10)
    np.testing.assert_array_equal(problem.data.to_patches(), before)  # the original is left as it was


@looping("view", [-1, 2, 3])
def test_a_view_that_does_not_exist_is_refused(view):
    with pytest.raises(mvsim.UsageError, match="view"):
        problems.problem("random codebook").data.keep_view(view)


def test_from_patches_keeps_what_it_is_given():
    rng = np.random.default_rng(0)
    patches, labels = rng.standard_normal((4, 3, 2, 2)), [0, 1, 1, 0]
    data = mvsim.Dataset.from_patches(labels, patches)
    np.testing.assert_array_equal(data.to_patches(), patches)
    np.testing.assert_array_equal(data.labels, labels)
    assert data.labels.dtype == np.int64
    assert (data.N, data.P, data.k) == (4, 3, 2)
    patches_before = data.to_patches()
    data.to_patches()[:] = 0.0  # a copy
    np.testing.assert_array_equal(data.to_patches(), patches_before)
    from_lists = mvsim.Dataset.from_patches(np.array(labels, dtype=np.uint8), patches.tolist())
    np.testing.assert_array_equal(from_lists.to_patches(), patches)


def test_of_a_point_only_the_features_that_occur_are_kept():
    p = parameters(noise="patch")
    drawn = mvsim.sample_dataset(p, seed=5)
    given = mvsim.Dataset.from_patches(drawn.labels, drawn.to_patches())
    for data in (drawn, given):
        assert data.rows.shape == (p.N * 2 * (p.Q + 1), p.P)
        assert data.rows.any(axis=1).all()
        assert data.keep_view(0).rows.shape == (p.N * (2 * p.Q + 1), p.P)
    for name in ("point", "feature", "rows"):
        np.testing.assert_array_equal(getattr(given, name), getattr(drawn, name))
    patches = drawn.to_patches()
    for view in (0, 1):
        np.testing.assert_array_equal(drawn.own_coefficients(view), patches[np.arange(p.N), :, drawn.labels, view])
        np.testing.assert_array_equal(drawn.keep_view(view).own_coefficients(1 - view), 0.0)
    zero = mvsim.Dataset.from_patches([0, 1], np.zeros((2, 3, 2, 2)))
    assert zero.rows.shape == (0, 3)
    np.testing.assert_array_equal(zero.to_patches(), np.zeros((2, 3, 2, 2)))


def test_from_patches_does_not_alias_its_argument():
    patches, labels = np.ones((2, 1, 2, 2)), np.array([0, 1])
    data = mvsim.Dataset.from_patches(labels, patches)
    patches[:], labels[:] = 7.0, 0
    assert data.to_patches().max() == 1.0
    np.testing.assert_array_equal(data.labels, [0, 1])


GOOD = np.ones((3, 2, 4, 2))
BAD = {
    "three axes": ([0, 1, 2], GOOD[0], "patches"),
    "no views": ([0, 1, 2], np.ones((3, 2, 4, 0)), "patches"),
    "too many views": ([0, 1, 2], np.ones((3, 2, 4, 101)), "patches"),
    "one class": ([0, 0, 0], np.ones((3, 2, 1, 2)), "patches"),
    "no points": (np.zeros(0, dtype=int), GOOD[:0], "patches"),
    "no patches": ([0, 1, 2], GOOD[:, :0], "patches"),
    "nan": ([0, 1, 2], np.where(np.arange(2) == 0, np.nan, GOOD), "patches"),
    "infinite": ([0, 1, 2], np.inf * GOOD, "patches"),
    "huge": ([0, 1, 2], 1e7 * GOOD, "patches"),
    "words": ([0, 1, 2], "abc", "patches"),
    "complex": ([0, 1, 2], 1j * GOOD, "patches"),
    "too few labels": ([0, 1], GOOD, "labels"),
    "label too large": ([0, 1, 4], GOOD, "labels"),
    "negative label": ([0, -1, 2], GOOD, "labels"),
    "fractional label": ([0.0, 1.0, 1.5], GOOD, "labels"),
    "two-dimensional labels": ([[0, 1, 2]], GOOD, "labels"),
}


@looping("case", BAD)
def test_from_patches_refuses(case):
    labels, patches, named = BAD[case]
    with pytest.raises(mvsim.UsageError, match=f"^{named}") as caught:
        mvsim.Dataset.from_patches(labels, patches)
    assert "\n" not in str(caught.value)


@looping("value", [None, {"k": 3}])
def test_what_is_no_parameters_is_refused(value):
    for use in (mvsim.sample_dataset, mvsim.initial_correlations):
        with pytest.raises(mvsim.UsageError, match=r"^parameters=.*: must be mvsim.Parameters"):
            use(value, seed=0)


def test_what_cannot_be_embedded_is_refused():
    with pytest.raises(mvsim.UsageError, match=r"^data=None"):
        mvsim.embed(None, np.zeros((2, 2, 4)))
    with pytest.raises(mvsim.UsageError, match=r"^features"):
        mvsim.embed(mvsim.sample_dataset(mvsim.Parameters(k=2), 0), [[1], [1, 2]])
    with pytest.raises(mvsim.UsageError, match=r"^features has shape \(3, 2, 6\): .* k = 2 and V = 2 as data has"):
        mvsim.embed(mvsim.sample_dataset(mvsim.Parameters(k=2), 0), mvsim.random_features(3, 6, 0))


# ---- labels ------------------------------------------------------------------------------------------------------------------------

BAD_LABELS = {
    "least integer": np.array([-(2**63)]),
    "2^63 without sign": np.array([2**63], dtype=np.uint64),
    "-1 without sign": np.array([2**64 - 1], dtype=np.uint64),
    "least of 8 bits": np.array([-128], dtype=np.int8),
    "more than 64 bits": [2**64],
    "less than 64 bits": [-(2**64)],
    "mixed extremes": [2**63, -(2**63)],
    "whole float": [1.0],
    "fraction": [1.7],
    "nan": [np.nan],
    "infinity": [np.inf],
    "huge float": [1e300],
    "truth value": [True],
    "text": ["1"],
    "nothing": [None],
    "no list": 1,
    "list of lists": [[1]],
    "unequal lists": [[1], [1, 2]],
    "k": [3],
}


@looping("case", BAD_LABELS)
def test_labels_are_integers_that_name_a_class_or_an_error(case):
    labels, p = BAD_LABELS[case], mvsim.Parameters(k=3)
    n = 2 if case in ("mixed extremes", "unequal lists") else 1
    with pytest.raises(mvsim.UsageError, match=r"^labels"):
        mvsim.Dataset.from_patches(labels, np.zeros((n, 4, 3, 2)))
    with pytest.raises(mvsim.UsageError, match=r"^labels"):
        mvsim.multi_view.data.sample_points(p, stream(0, "points"), labels)


@looping(("size", "kind"), [(-(2**63), np.int64), (2**63, np.uint64), (-2e6, np.float64), (-2e6, np.float32)])
def test_coefficients_too_large_by_any_type_are_refused(size, kind):
    patches = np.full((1, 4, 3, 2), size, dtype=kind)
    with pytest.raises(mvsim.UsageError, match=r"^patches: a coefficient is of size"):
        mvsim.Dataset.from_patches([0], patches)


def test_small_types_hold_what_they_hold():
    for kind in (np.int8, np.float16):
        np.testing.assert_array_equal(mvsim.Dataset.from_patches([0], np.full((1, 4, 3, 2), -128, dtype=kind)).rows, -128.0)


# ---- large codebooks and extreme laws ------------------------------------------------------------------------------------------------


def test_a_codebook_of_any_size_has_q_uniform_classes_in_each_pattern(monkeypatch):
    """Patterns drawn together are like those drawn one by one, also where a class has been dealt to them."""
    monkeypatch.setattr("mvsim.multi_view.data.distribution.ONE_BY_ONE", 3)
    monkeypatch.setattr("mvsim.multi_view.data.distribution.AT_ONCE", 50)
    for k, Q, G in ((5, 2, 20_000), (12, 3, 8), (4, 3, 4)):
        p = mvsim.Parameters(k=k, Q=Q, G=G)
        patterns = mvsim.multi_view.data.codebook(p)
        there = patterns.all(axis=2)
        assert (there.sum(axis=1) == Q).all()
        np.testing.assert_array_equal(there, patterns.any(axis=2))
        assert ((patterns == 0.0) | ((patterns >= p.delta3) & (patterns <= p.delta4))).all()
        dealt = stream(p.codebook_seed, "codebook").permutation(k)
        assert not there[np.arange(k) % G, dealt].any()
        if G > 1000:
            assert np.abs(there.mean(axis=0) - Q / k).max() < 5 * np.sqrt(Q / k / G)
            assert np.abs(patterns[there].mean(axis=0) - (p.delta3 + p.delta4) / 2).max() < 5 * (p.delta4 - p.delta3) / np.sqrt(12 * Q * G)


def test_a_few_patterns_are_those_they_have_always_been(monkeypatch):
    p = mvsim.Parameters(k=5, G=40)
    before = mvsim.multi_view.data.codebook(p)
    monkeypatch.setattr("mvsim.multi_view.data.distribution.ONE_BY_ONE", 30)
    after = mvsim.multi_view.data.codebook(p)
    np.testing.assert_array_equal(after[:30], before[:30])
    assert not np.array_equal(after[30:], before[30:])


def test_a_million_patterns_take_seconds():
    start = time.process_time()
    assert mvsim.sample_dataset(mvsim.Parameters(k=4, N=5, G=10**6), 0).patterns.any(axis=(1, 2)).all()
    assert time.process_time() - start < 20.0


@looping("a", [1e308, 2e6, 9e-7, 1e-300, 0, -1])
def test_shapes_of_beta_laws_that_arithmetic_cannot_draw_are_refused(a):
    with pytest.raises(mvsim.UsageError, match=r"^beta_law\.a=.*must lie in \[1e-06, 1e\+06\]; beyond that use .*atoms"):
        mvsim.Parameters(k=3, beta_law={"kind": "beta", "a": a})


@looping("a", [1e-6, 1e6])
def test_the_most_extreme_beta_laws_are_what_they_tend_to(a):
    p = mvsim.Parameters(k=3, N=400, beta_law={"kind": "beta", "a": a})
    beta = mvsim.sample_dataset(p, 0).signal_coefficients[:, 0]
    unit = (beta - p.delta1) / (p.delta2 - 2 * p.delta1)
    assert np.allclose(unit, np.round(unit) if a < 1 else 0.5, atol=0.01)
    assert abs(unit.mean() - 0.5) < 0.1
