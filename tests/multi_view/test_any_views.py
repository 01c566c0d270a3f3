"""Classes with one view and with three, where Definition 4.1 has two: data, runs, their files, pictures and verdicts."""

import numpy as np
import pytest
from compare import assert_close
from example_run import assert_same_bits
from looping import looping
from scipy import stats
from tolerances import ROUNDOFF, SIGNIFICANCE

import mvsim
from mvsim.pictures import run_figure

NOISES = ["codebook", "point", "patch"]
SMALL = {"k": 3, "m": 2, "N": 8, "P": 9, "d": 60, "G": 6}


def own_coefficients(data):
    """(N, V, C_P): the coefficients of the own features, patches of a view in their order."""
    each = [data.own_coefficients(view) for view in range(data.V)]
    return np.stack([np.stack([row[row > 0] for row in rows]) for rows in each], axis=1)


@looping("V", [1, 2, 3, 5])
@looping("noise", NOISES)
@looping("layout", ["random", "fixed"])
def test_a_point_has_each_own_view_in_patches_of_its_own_and_whole_noise_classes(V, noise, layout):
    p = mvsim.Parameters(k=4, V=V, P=12, noise=noise, signal_layout=layout, delta3=0.2, delta4=0.3, N=40)
    data = mvsim.sample_dataset(p, 0)
    patches = data.to_patches()
    assert patches.shape == (p.N, p.P, p.k, V)
    own = patches[np.arange(p.N), :, data.labels]
    assert (np.count_nonzero(own, axis=1) == p.C_P).all()
    assert (np.count_nonzero(own, axis=2) <= 1).all()
    signal = own.any(axis=2)
    for x, is_signal in zip(patches, signal, strict=True):
        assert (np.count_nonzero(x[is_signal], axis=(1, 2)) == 1).all()
        features = np.count_nonzero(x[~is_signal], axis=2)
        assert ((features == 0) | (features == V)).all()
        assert ((features == V).sum(axis=1) == p.Q).all()


@looping("V", [1, 2, 3, 5])
@looping("law", [{"kind": "uniform"}, {"kind": "beta", "a": 0.4}, {"kind": "beta", "a": 3}])
def test_the_coefficients_of_paired_patches_are_dirichlet_shares_of_delta2(V, law):
    p = mvsim.Parameters(k=4, V=V, P=20, beta_law=law, N=1500)
    beta = mvsim.sample_dataset(p, 0).signal_coefficients
    assert_close(beta.sum(axis=1), np.full((p.N, p.C_P), p.delta2), ROUNDOFF)
    assert beta.min() >= p.delta1 * (1 - ROUNDOFF)
    assert beta.max() <= p.largest_signal * (1 + ROUNDOFF)
    if V == 1:
        return
    shares, a = (beta - p.delta1) / (p.delta2 - V * p.delta1), law.get("a", 1.0)
    for view in range(V):
        assert stats.kstest(np.clip(shares[:, view], 0, 1).ravel(), stats.beta(a, (V - 1) * a).cdf).pvalue > SIGNIFICANCE
    # Together, too: any two shares of a Dirichlet vector have the correlation -1 / (V - 1).
    correlations = np.corrcoef(shares.transpose(1, 0, 2).reshape(V, -1))
    assert np.abs(correlations[~np.eye(V, dtype=bool)] + 1 / (V - 1)).max() < 5 / np.sqrt(p.N)


@looping("V", [2, 3, 4])
@looping("a", [0.2, 0.9, 1.0, 2.5, 40.0])
def test_the_largest_probability_of_a_share_is_that_of_its_best_set(V, a):
    """Of many small cells, those of the largest probability: as good as the best set up to one cell."""
    share, cells = 0.1, 20_000
    law = mvsim.SymmetricBetaLaw(a=a)
    probabilities = np.sort(np.diff(stats.beta(a, (V - 1) * a).cdf(np.linspace(0.0, 1.0, cells + 1))))[::-1]
    expected = probabilities[: round(share * cells)].sum()
    assert law.largest_probability(share, V) == pytest.approx(expected, abs=2 * probabilities[round(share * cells)] + 1e-6)
    if a == 1.0:
        assert mvsim.UniformLaw().largest_probability(share, V) == pytest.approx(expected, rel=1e-6)


@looping("V", [1, 3])
def test_a_law_of_atoms_is_for_two_views(V):
    with pytest.raises(mvsim.UsageError, match=f"^V={V}: .* needs V=2"):
        mvsim.Parameters(k=3, V=V, beta_law={"kind": "discrete", "atoms": [0.5]})


@looping(("fields", "named"), [
    ({"V": 0}, "V=0"), ({"V": 101}, "V=101"), ({"V": 1.5}, "V=1.5"), ({"V": 3, "P": 5}, "P=5: .* 3 C_P = 6"), ({"V": 3, "d": 8}, "d=8: .* 3 k = 9"),
     ({"V": 11}, "delta1=0.1: .* delta2 / 11")])  # fmt: skip
def test_views_that_do_not_fit_are_refused(fields, named):
    with pytest.raises(mvsim.UsageError, match=named):
        mvsim.Parameters(k=3, **fields)


def test_a_regime_names_the_views():
    assert "V" not in [deviation.name for deviation in mvsim.Parameters(k=3).deviations()]
    for V in (1, 3):
        assert "V" in [deviation.name for deviation in mvsim.Parameters(k=3, V=V).deviations()]


@looping("V", [1, 3])
def test_data_and_parameters_must_agree_in_their_views(V):
    p, two = mvsim.Parameters(**SMALL, V=V), mvsim.sample_dataset(mvsim.Parameters(**SMALL), 0)
    for refused in (lambda: mvsim.objective("erm", p, two), lambda: mvsim.simulate(p, "erm", data=two)):
        with pytest.raises(mvsim.UsageError, match=f"^V={V}: the data have "):
            refused()


@looping("V", [1, 3])
def test_features_embed_points_isometrically(V):
    data = mvsim.sample_dataset(mvsim.Parameters(**SMALL, V=V), 0)
    features = mvsim.random_features(3, 12, 0, V)
    points = mvsim.embed(data, features)
    assert_close(np.einsum("ipd,sld->ipsl", points, features), data.to_patches(), ROUNDOFF)


@pytest.mark.parametrize(("V", "noise", "integrator"), [(1, "codebook", "flow"), (1, "patch", "gd"), (3, "codebook", "flow"), (3, "point", "gd")])
def test_a_run_is_simulated_saved_resumed_and_drawn(V, noise, integrator, tmp_path):
    p = mvsim.Parameters(**SMALL, V=V, noise=noise)
    options = {"method": "midpoint", "seed": 0, "integrator": integrator, "n_test": 3, **({"eta": 3.0} if integrator == "gd" else {})}
    whole = mvsim.simulate(p, t_end=900.0, **options)
    mvsim.simulate(p, t_end=300.0, out=tmp_path / "run.nc", **options)
    assert_same_bits(mvsim.simulate(p, t_end=900.0, out=tmp_path / "run.nc", resume=True, **options).dataset, whole.dataset)
    run = mvsim.open_run(tmp_path / "run.nc")
    assert run.final_correlations.shape == (p.k, p.m, p.k, V)
    total = run.dataset["total_correlation"].to_numpy()
    np.testing.assert_array_equal(run.dataset["view_gap"], total.max(axis=2) - total.min(axis=2))
    everything = (run.dataset["feature_learned"].to_numpy()[-1] == 1).all(axis=1).sum()
    assert (f"All features learned in {everything} of 3 classes" in run.summary) == (everything > 0)
    assert ("escapes first" in run.summary) <= (V > 1)
    figure = run_figure([run])
    assert len(figure.axes) >= 3
    figure.draw_without_rendering()


@pytest.mark.parametrize("V", [1, 3])
def test_verify_says_what_does_not_need_two_views(V, tmp_path):
    p = mvsim.Parameters(**SMALL, V=V)
    run = mvsim.simulate(p, "midpoint", t_end=3e4, n_test=3, out=tmp_path / "run.nc")
    verdicts = {verdict.name: verdict for verdict in mvsim.verify(run)}
    assert (verdicts["Theorem 4.7"].status, verdicts["Theorem 4.7"].detail) == ("not applicable", f"V = {V}")
    assert not any(name.startswith("Claim") for name in verdicts)
    assert verdicts["Definition 4.5"].measured is not None
    for name in ("Calculation A.6", "Calculation A.7 (own feature)", "Calculation A.9", "Calculation A.10", "Gradient flow (descent)"):
        assert verdicts[name].status == "holds"
    for ask in (lambda: mvsim.verify([run, "midpoint/4.7"]), lambda: mvsim.verify("midpoint/4.7", k=3, V=V, folder=tmp_path)):
        with pytest.raises(mvsim.UsageError, match=f"V={V}: Theorems 4.6 and 4.7 are about two views of a class"):
            ask()


def test_a_run_with_another_number_of_views_is_another_run(tmp_path):
    options = {"method": "erm", "integrator": "gd", "n_test": 3, "eta": 3.0, "t_end": 60.0, "out": tmp_path / "run.nc"}
    mvsim.simulate(mvsim.Parameters(**SMALL), **options)
    with pytest.raises(mvsim.UsageError, match=r"holds another run: .*V=3 \(saved: 2\)"):
        mvsim.simulate(mvsim.Parameters(**SMALL, V=3), resume=True, **options)
