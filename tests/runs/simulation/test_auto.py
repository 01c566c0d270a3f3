"""Which integrator is taken where none is asked for: at a new run, at one that goes on, in names of files, in sweeps and in what is predicted."""

import numpy as np
import pytest
from looping import looping

import mvsim
from mvsim.flow import EscapeFollower, GradientDescent, GradientFlow
from mvsim.runs.simulation.auto import CHOICES, integrator_of
from mvsim.runs.simulation.field import field_of
from mvsim.runs.simulation.identity import canonical_options, readable_name, run_name, what_differs
from mvsim.runs.simulation.options import DEFAULTS, RunOptions
from mvsim.sweeps.engine import Serial
from mvsim.sweeps.estimate import bytes_of, count_of
from mvsim.sweeps.folder import SweepFolder
from mvsim.sweeps.study import Study

P = mvsim.Parameters(k=20, m=2, N=20, P=80)
SHORT = {"n_test": 2, "t_end": 50.0}

NOT_SERVED = {
    "a quadratic activation": ({"alpha": 2.0}, {}),
    "a linear model": ({"model": "linear", "m": 1, "P": 1}, {}),
    "noise of each patch": ({"noise": "patch"}, {}),
    "weight decay": ({}, {"weight_decay": 1e-6}),
    "smoothed labels": ({}, {"label_smoothing": 0.1}),
    "another loss": ({}, {"loss": "squared_error"}),
    "the readable kernel": ({}, {"backend": "numpy"}),
    "the kernel of GPUs": ({}, {"backend": "array"}),
}
"""Fields and options that `EscapeFollower` refuses, one by one."""

OTHERWISE = {
    "ERM": ({}, {"method": "erm"}),
    "Mixup": ({}, {"method": "mixup"}),
    "Mixup at 1/2": ({}, {"method": "mixup", "mixing": 0.5}),
    "pairs": ({}, {"method": "mixup", "pairs": 5}),
    "few classes": ({"k": 9}, {}),
    "d = k^20": ({"d": 20**20}, {}),
    "correlations beyond the threshold at the start": ({"rho": 0.005}, {}),
    "a tolerance": ({}, {"rtol": 5e-3}),
}
"""What it may take, but has not been shown to serve or to pay for."""


def parameters(fields):
    return mvsim.Parameters(k=20, model="linear", N=20) if "model" in fields else P.replace(**fields)


def follower(p, options):
    """Return one on the field of a problem, after it was asked for the Hessian."""
    usual = {"method": "midpoint", **options}
    objective = mvsim.objective(usual.pop("method"), p, mvsim.sample_dataset(p, 0), threads=1, **usual)
    made = EscapeFollower(field_of(objective))
    next(made.trajectory(mvsim.flow.State(0, 0.0, mvsim.initial_correlations(p, 0)), 1.0))
    return made


def test_escapes_are_followed_where_that_serves():
    for p in (P, P.replace(k=10), P.replace(noise="point"), P.replace(V=3), P.replace(k=30), mvsim.Parameters(k=20), mvsim.Parameters(k=1000)):
        assert integrator_of(p, DEFAULTS) == EscapeFollower.name
    for options in ({"backend": "numba"}, {"t_end": 5.0}, {"settled_factor": 3.0}, {"n_test": 3}):
        assert integrator_of(P, RunOptions(**options)) == EscapeFollower.name
    assert follower(P, {})
    assert follower(P.replace(noise="point", V=3), {"backend": "numba"})


@looping("case", {**NOT_SERVED, **OTHERWISE})
def test_the_flow_is_followed_elsewhere(case):
    fields, options = {**NOT_SERVED, **OTHERWISE}[case]
    assert integrator_of(parameters(fields), RunOptions(**options)) == GradientFlow.name


@looping("case", NOT_SERVED)
def test_what_is_not_served_is_refused(case):
    fields, options = NOT_SERVED[case]
    with pytest.raises(mvsim.UsageError, match="use integrator flow"):
        follower(parameters(fields), options)


def test_what_is_asked_for_is_taken():
    for name in CHOICES:
        if name != DEFAULTS.integrator:
            assert {integrator_of(p, RunOptions(integrator=name), saved="flow") for p in (P, P.replace(k=3))} == {name}


def test_given_points_have_the_flow():
    data = mvsim.sample_dataset(P.replace(noise="patch"), 0)
    assert integrator_of(P, DEFAULTS, own_points=True) == GradientFlow.name
    run = mvsim.simulate(P, data=data, **SHORT)
    assert run.provenance["integrator"]["name"] == GradientFlow.name


def test_a_kernel_that_may_not_be_compiled_has_the_flow(monkeypatch):
    monkeypatch.setattr("mvsim.multi_view.kernels.jit.compiling.may_compile", lambda: False)
    with pytest.warns(UserWarning, match="NUMBA_DISABLE_JIT"):
        run = mvsim.simulate(P.replace(N=4), n_test=2, t_end=1.0)
    assert run.provenance["integrator"]["name"] == GradientFlow.name


# ---- runs that go on ------------------------------------------------------------------------------------------------------------------


def test_a_run_goes_on_with_the_integrator_of_its_file(tmp_path):
    for name, options in ((EscapeFollower.name, {}), (GradientFlow.name, {"integrator": "flow"}), (GradientDescent.name, {"integrator": "gd"})):
        out = tmp_path / f"{name}.nc"
        assert mvsim.simulate(P, out=out, **SHORT, **options).provenance["integrator"]["name"] == name
        saved = mvsim.open_run(out).provenance["integrator"]
        run = mvsim.simulate(P, out=out, resume=True, **{**SHORT, "t_end": 400.0})
        assert run.provenance["integrator"] == saved | {"t_end": 400.0}
        assert float(run.dataset["final_time"]) >= 400.0
        at_once = mvsim.simulate(P, **{**SHORT, "t_end": 400.0}, **options)
        np.testing.assert_allclose(run.final_correlations, at_once.final_correlations, rtol=1e-2, atol=1e-4)


def test_a_run_goes_on_with_its_tolerance(tmp_path):
    for name in ("escapes", "flow"):
        out = tmp_path / f"{name}.nc"
        mvsim.simulate(P, out=out, integrator=name, rtol=0.002, **SHORT)
        run = mvsim.simulate(P, out=out, rtol=0.002, resume=True, **{**SHORT, "t_end": 60.0})
        assert (run.provenance["integrator"]["name"], run.provenance["integrator"]["rtol"]) == (name, 0.002)
        with pytest.raises(mvsim.UsageError, match=r"holds another run: rtol=0\.01 \(saved: 0\.002\); give"):
            mvsim.simulate(P, out=out, rtol=0.01, resume=True, **SHORT)


def test_another_integrator_that_is_asked_for_is_refused(tmp_path):
    for made, asked in (("escapes", "flow"), ("flow", "escapes")):
        mvsim.simulate(P, out=tmp_path / "run.nc", integrator=made, force=True, **SHORT)
        with pytest.raises(mvsim.UsageError, match=rf"holds another run: integrator='{asked}' \(saved: '{made}'\); give"):
            mvsim.simulate(P, out=tmp_path / "run.nc", integrator=asked, resume=True, **SHORT)
    mvsim.simulate(P, out=tmp_path / "run.nc", integrator="gd", force=True, **SHORT)
    with pytest.raises(mvsim.UsageError, match=r"holds another run: integrator='flow' \(saved: 'gd'\); give"):
        mvsim.simulate(P, out=tmp_path / "run.nc", rtol=1e-3, resume=True, **SHORT)


def test_a_file_of_either_is_the_run_that_asks_for_none():
    for name in ("escapes", "flow", "gd"):
        made = mvsim.simulate(P, integrator=name, **SHORT).provenance
        assert what_differs(made, P, "midpoint", 0, SHORT) == ("integrator" if name == "gd" else None)
        for asked in ("escapes", "flow", "gd"):
            assert what_differs(made, P, "midpoint", 0, {"integrator": asked, **SHORT}) == (None if asked == name else "integrator")


# ---- names ----------------------------------------------------------------------------------------------------------------------------


def test_the_integrator_is_named_where_it_is_not_the_one_that_is_taken():
    large, small = mvsim.Parameters(k=50), mvsim.Parameters(k=6)
    for p, options, name in (
        (large, {}, ""),
        (large, {"integrator": "auto"}, ""),
        (large, {"integrator": "escapes"}, ""),
        (large, {"integrator": "escapes", "rtol": 5e-3}, ""),
        (large, {"integrator": "flow"}, "-flow"),
        (large, {"integrator": "flow", "rtol": 1e-3}, "-flow"),
        (large, {"rtol": 1e-3}, "-flow"),
        (large, {"integrator": "gd"}, "-gd"),
        (small, {}, ""),
        (small, {"integrator": "flow"}, ""),
        (small, {"rtol": 1e-3}, ""),
        (small, {"integrator": "escapes"}, "-escapes"),
    ):
        assert readable_name(p, "midpoint", 0, options) == f"mvsim-k{p.k}-midpoint{name}-seed0.nc"
        canonical = canonical_options(p, "midpoint", 0, options)
        assert canonical == ({"integrator": name[1:]} if name else {})
        assert run_name(p, "midpoint", 0, canonical) == run_name(p, "midpoint", 0, options)
    for options in ({"rtol": 1e-4}, {"integrator": "flow", "rtol": 1e-4}):
        assert readable_name(large, "midpoint", 0, options) == "mvsim-k50-midpoint-seed0-rtol0.0001.nc"
    assert readable_name(large, "midpoint", 0, {"integrator": "escapes", "rtol": 1e-4}) == "mvsim-k50-midpoint-escapes-seed0-rtol0.0001.nc"
    assert run_name(large, "midpoint", 0, {}) == "midpoint-k50-seed0-d1b967f03b.nc"  # as before there was a choice
    assert run_name(small, "erm", 0, {"integrator": "flow"}) == run_name(small, "erm", 0, {})


# ---- sweeps and predictions -----------------------------------------------------------------------------------------------------------

VALUES = {"k": [6, 20], "m": 2, "N": 20, "P": 80, "method": "midpoint", **SHORT}


def test_each_cell_of_a_sweep_has_its_own(tmp_path):
    runs = mvsim.open_runs(mvsim.run_sweep(VALUES, tmp_path / "runs", engine=Serial()).path)
    assert [run.provenance["integrator"]["name"] for run in runs] == ["flow", "escapes"]
    assert [cell.integrator for cell in runs.study.cells] == ["flow", "escapes"] == list(runs.table["integrator"])
    assert mvsim.open_runs(tmp_path / "runs" / "*.nc").dataset.sizes == {"k": 2}
    whole = Study.of({**VALUES, "integrator": ["auto", "gd"]})
    assert [cell.integrator for cell in whole.cells] == ["flow", "gd", "escapes", "gd"]
    with pytest.raises(mvsim.UsageError, match="are the same run; give each run once"):
        Study.of({**VALUES, "integrator": ["auto", "flow"]})


def test_runs_of_a_sweep_that_the_flow_has_made_are_kept(tmp_path):
    folder = SweepFolder.create(tmp_path / "runs", Study.of(VALUES))
    for cell in folder.study.cells:
        mvsim.simulate(cell.parameters, cell.method, cell.seed, out=folder.path_of(cell), integrator="flow", **SHORT)
    runs = mvsim.open_runs(folder.path)
    assert list(runs.table["state"]) == ["done", "done"]
    assert list(runs.table["integrator"]) == ["flow", "flow"]


def test_predictions_are_of_what_is_taken():
    auto, flow, escapes = (
        Study.of({"k": 20, "method": "midpoint", **options}).cells[0] for options in ({}, {"integrator": "flow"}, {"integrator": "escapes"})
    )
    assert count_of(auto) == count_of(escapes) < count_of(flow)
    assert bytes_of(auto) == bytes_of(escapes)
    assert [mvsim.estimate(p, "midpoint").integrator for p in (P, P.replace(k=6))] == ["escapes", "flow"]
