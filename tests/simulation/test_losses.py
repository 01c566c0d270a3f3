"""Runs of another loss than that of the theorems: simulated, resumed, drawn, and what can be said of them."""

import numpy as np
import pytest

import mvsim
from mvsim.archive import read_run, write_run
from mvsim.losses import LOSSES, CrossEntropy
from mvsim.objectives import OBJECTIVES
from mvsim.plotting.panels import loss_floor

P = mvsim.Parameters(k=3, d=500)
OTHERS = [name for name in LOSSES if name != CrossEntropy.name]


@pytest.mark.parametrize("loss", OTHERS)
def test_a_run_settles_by_itself_and_says_what_it_is(loss, tmp_path):
    run = mvsim.simulate(P, "erm", loss=loss, out=tmp_path / "run.nc")
    assert run.loss == mvsim.open_run(tmp_path / "run.nc").loss == loss
    assert run.settled
    assert [entry.statement for entry in run.regime if entry.name == "loss"] == [f"loss = {loss} instead of cross_entropy"]
    verdicts = {verdict.name: verdict for verdict in mvsim.verify(run)}
    theorem = verdicts["Theorem 4.6"]
    assert (theorem.status, theorem.detail) == ("measured", f"not applicable: loss = {loss}")
    assert not any(name.startswith("Claim") for name in verdicts)
    for name in ("Gradient flow (descent)", "Gradient flow (energy balance)", "Gradient flow (recomputed)", "Calculation A.9"):
        assert verdicts[name].status == "holds", verdicts[name]
    with pytest.raises(mvsim.UsageError, match=f"loss={loss}: Theorems 4.6 and 4.7 are about the loss cross_entropy"):
        mvsim.verify(run, theorems=["4.6"])


@pytest.mark.parametrize("method", OBJECTIVES)
def test_every_method_takes_every_loss(method):
    runs = [mvsim.simulate(mvsim.Parameters(k=3, N=9, m=2), method, loss=loss, integrator="gd", t_end=30.0) for loss in LOSSES]
    assert len({run.dataset["loss"].to_numpy()[-1] for run in runs}) == len(LOSSES)
    for run in runs:
        assert (loss_floor(run) > 0.0) == ((method, run.loss) == ("midpoint", CrossEntropy.name))


def test_the_loss_is_part_of_what_a_run_is(tmp_path):
    mvsim.simulate(P, "erm", t_end=10.0, out=tmp_path / "run.nc")
    with pytest.raises(mvsim.UsageError, match="loss='squared_error'"):
        mvsim.simulate(P, "erm", loss="squared_error", t_end=20.0, out=tmp_path / "run.nc", resume=True)
    with pytest.raises(mvsim.UsageError, match=f"loss='hinge': must be one of {', '.join(LOSSES)}$"):
        mvsim.simulate(P, "erm", loss="hinge", t_end=20.0)


def test_a_file_from_before_there_were_losses_is_of_the_cross_entropy(tmp_path):
    out = tmp_path / "run.nc"
    whole = mvsim.simulate(P, "erm", t_end=200.0, integrator="gd")
    mvsim.simulate(P, "erm", t_end=100.0, integrator="gd", out=out)
    dataset, provenance = read_run(out)
    assert provenance["options"].pop("loss") == CrossEntropy.name
    write_run(out, dataset, provenance)
    assert "loss" not in read_run(out)[1]["options"]
    assert mvsim.open_run(out).loss == "cross_entropy"
    resumed = mvsim.simulate(P, "erm", t_end=200.0, integrator="gd", out=out, resume=True)
    np.testing.assert_array_equal(resumed.final_correlations, whole.final_correlations)
