"""The linear model of Section 3, from parameters to a run: Definition 3.1, no threshold of escape, the same commands as the network."""

import numpy as np
import pytest
from looping import looping

import mvsim
from mvsim.base.errors import UsageError
from mvsim.multi_view.diagnostics import view_gap
from mvsim.multi_view.parameters.models import LINEAR
from mvsim.multi_view.thresholds import entered_B
from mvsim.pictures import PANELS, run_figure
from mvsim.pictures.panels import LINEAR_PANELS, panels_of
from mvsim.pictures.shown import Shown


def parameters(**fields):
    return mvsim.Parameters(**{"k": 5, "N": 40, "model": "linear"} | fields)


def test_points_are_those_of_definition_3_1():
    data = mvsim.sample_dataset(parameters(N=2000), seed=1)
    patches = data.to_patches()
    assert patches.shape == (2000, 1, 5, 2)
    own = patches[np.arange(2000), 0, data.labels]
    np.testing.assert_allclose(own.sum(axis=1), 1.0, rtol=0, atol=1e-15)
    assert 0.1 <= own.min() < 0.101
    assert 0.899 < own.max() <= 0.9
    assert np.count_nonzero(patches) == 4000  # nothing of any other class


def test_other_laws_and_numbers_of_views():
    assert np.unique(mvsim.sample_dataset(parameters(beta_law={"kind": "discrete", "atoms": [0.25, 0.75]}), 0).rows.round(12)).tolist() == [0.3, 0.7]
    three = mvsim.sample_dataset(parameters(V=3), 0)
    assert three.to_patches().shape == (40, 1, 5, 3)
    np.testing.assert_allclose(three.to_patches().sum(axis=(1, 2, 3)), 1.0, rtol=0, atol=1e-15)


@looping("name", sorted(LINEAR.fixed))
def test_parameters_of_the_network_are_refused(name):
    other = {"signal_layout": "random", "noise": "codebook"}.get(name, 7)
    with pytest.raises(UsageError, match=rf"^{name}=.* is always .* with model=linear; leave it out$"):
        parameters(**{name: other})


def test_what_is_always_so_may_be_said():
    assert parameters(**LINEAR.fixed) == parameters()
    assert parameters(m="1", alpha="1").m == 1
    assert parameters().replace(N=7).N == 7


def test_departures_are_those_from_definition_3_1():
    assert parameters().deviations() == []
    named = [deviation.name for deviation in parameters(delta1=0.2, V=3, beta_law={"kind": "beta", "a": 2.0}).deviations()]
    assert named == ["V", "beta", "beta_law"]


@looping("method", ["erm", "midpoint", "mixup"])
def test_a_run_learns_both_features_and_has_no_escapes(method):
    run = mvsim.simulate(parameters(), method=method, seed=0, n_test=5)
    last = run.dataset.isel(time=-1)
    assert run.settled
    assert float(last["training_accuracy"]) == 1.0
    assert (last["feature_learned"] == 1.0).all()
    c = run.final_correlations
    expected = np.abs(c[np.arange(5), 0, np.arange(5), 0] - c[np.arange(5), 0, np.arange(5), 1])
    np.testing.assert_allclose(last["view_gap"], expected, rtol=1e-12)  # negative correlations count too
    assert entered_B(run.parameters, True) == -np.inf
    assert (view_gap(-c, -np.inf) == expected).all()
    assert "linear model, " in run.summary.splitlines()[1]
    assert "escapes first" not in run.summary
    assert "Gap Delta_y" in run.summary


def test_gaps_are_of_the_classes_that_have_points():
    run = mvsim.simulate(mvsim.Parameters(k=30, model="linear", N=4), "midpoint", t_end=100.0, n_test=2)
    labels = np.unique(mvsim.sample_dataset(run.parameters, 0).labels)
    own = run.final_correlations[labels, 0, labels]
    summary = " ".join(run.summary.split())
    assert f"{30 - len(labels)} of 30 classes have no training point." in summary
    gap, largest = np.abs(own[:, 0] - own[:, 1]), np.abs(own).max(axis=1)
    assert f"median {np.median(gap):.3g}, largest {gap.max():.3g} over the {len(labels)} classes that have training points" in summary
    assert f"beside a larger correlation of {np.median(largest):.3g} (median)" in summary


def test_a_run_is_resumed_bit_for_bit(tmp_path):
    whole = mvsim.simulate(parameters(), method="midpoint", t_end=50.0)
    mvsim.simulate(parameters(), method="midpoint", t_end=5.0, out=tmp_path / "run.nc")
    resumed = mvsim.simulate(parameters(), method="midpoint", t_end=50.0, out=tmp_path / "run.nc", resume=True)
    assert (resumed.final_correlations == whole.final_correlations).all()
    assert mvsim.open_run(tmp_path / "run.nc").parameters.model == "linear"


def test_gradient_descent_follows_the_flow():
    p = parameters()
    flow = mvsim.simulate(p, method="midpoint", t_end=20.0, rtol=1e-6)
    descent = mvsim.simulate(p, method="midpoint", integrator="gd", eta=0.005, t_end=20.0)
    np.testing.assert_allclose(descent.final_correlations, flow.final_correlations, rtol=0, atol=1e-3)


def test_the_picture_shows_gaps_instead_of_escapes():
    linear = mvsim.simulate(parameters(), method="erm", t_end=5.0)
    network = mvsim.simulate(mvsim.Parameters(k=3, N=10, m=2), method="erm", t_end=1.0)
    assert panels_of([Shown(linear)]) == panels_of([Shown(linear), Shown(network)]) == LINEAR_PANELS
    assert panels_of([Shown(network)]) == PANELS[:3]  # nothing has risen at t = 1
    figure = run_figure([linear])
    assert figure.get_suptitle().startswith("linear model, ERM")
    assert "Definition 3.1" in figure.get_supxlabel()
    assert "gap" in " ".join(axes.get_ylabel() for axes in figure.axes)


def test_theorems_about_the_network_are_not_judged(tmp_path):
    mvsim.simulate(parameters(), method="erm", out=tmp_path / "run.nc")
    verdicts = mvsim.verify(tmp_path / "run.nc")
    assert verdicts[0].status == "not applicable"
    assert "mvsim verify midpoint/lemma-3.2 (proposition-3.3, 3.4, 3.5) judges it on data sets, not on a run" in verdicts[0].detail
    assert {verdict.status for verdict in verdicts} == {"not applicable", "measured", "holds"}
    assert any(verdict.name.startswith("Gradient flow") and verdict.status == "holds" for verdict in verdicts)
    for what, fields in ((tmp_path / "run.nc", {}), (None, {"model": "linear"})):
        with pytest.raises(UsageError, match=r"model=linear: Theorems 4\.6 and 4\.7 are about the network"):
            mvsim.verify([*filter(None, [what]), "midpoint/theorem-4.6"], **fields)
