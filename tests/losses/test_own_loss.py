"""A loss of the user's own: trained on, named in the file of the run, asked for again when it is resumed, and judged without a theorem."""

import numpy as np
import pytest
from looping import looping

import mvsim
from mvsim.losses import LOSSES, CrossEntropy, PointwiseLoss, SquaredError

P = mvsim.Parameters(k=3, m=2, P=9, N=12, d=60)


class LabelSmoothing(CrossEntropy):
    """l(g, t) = -sum_y t'_y log phi_y(g) with t' = 0.9 t + 0.1 / k."""

    name = "label_smoothing"

    def __init__(self, part=0.1):
        self.part = part

    def smooth(self, targets):
        return (1.0 - self.part) * targets + self.part / len(targets)

    def value(self, outputs, targets):
        return super().value(outputs, self.smooth(targets))

    def residual(self, outputs, targets):
        return super().residual(outputs, self.smooth(targets))


GD = {"method": "erm", "integrator": "gd", "eta": 8.0, "n_test": 2}


@looping("loss", [LabelSmoothing, LabelSmoothing(0.1)])
def test_gradient_descent_is_that_of_the_loss(loss):
    run = mvsim.simulate(P, **GD, loss=loss, t_end=160.0)
    c, objective = mvsim.initial_correlations(P, 0), mvsim.objective("erm", P, mvsim.sample_dataset(P, 0), loss=loss)
    for _ in range(20):
        c = c - 8.0 * objective.gradient(c)
    np.testing.assert_array_equal(run.final_correlations, c)
    assert run.provenance["options"]["loss"] == "label_smoothing"
    assert "loss" in {deviation.name for deviation in run.regime}
    assert not np.array_equal(c, mvsim.simulate(P, **GD, t_end=160.0).final_correlations)


def test_the_flow_goes_downhill_and_a_run_is_resumed_with_the_same_loss_only(tmp_path):
    out, asked = tmp_path / "run.nc", {"method": "midpoint", "n_test": 2}
    whole = mvsim.simulate(P, **asked, loss=SquaredError, t_end=1.5e4)
    mvsim.simulate(P, **asked, loss="squared_error", t_end=5e3, out=out)
    for other in ({}, {"loss": LabelSmoothing}):
        with pytest.raises(mvsim.UsageError, match=r"holds another run: loss=.* \(saved: 'squared_error'\)"):
            mvsim.simulate(P, **asked, **other, t_end=1.5e4, out=out, resume=True)
    resumed = mvsim.simulate(P, **asked, loss=SquaredError(), t_end=1.5e4, out=out, resume=True)
    np.testing.assert_array_equal(resumed.final_correlations, whole.final_correlations)
    loss = whole.dataset["loss"].to_numpy()
    assert (np.diff(loss) <= 1e-12).all()
    assert loss[-1] < 0.9 * loss[0]


def test_verify_says_what_does_not_need_the_cross_entropy(tmp_path, monkeypatch):
    run = mvsim.simulate(P, **GD, loss=LabelSmoothing, t_end=80.0, out=tmp_path / "run.nc")
    verdicts = {verdict.name: verdict for verdict in mvsim.verify(run)}
    saved = mvsim.open_run(tmp_path / "run.nc")
    with pytest.raises(mvsim.UsageError, match=r"Theorem 4\.6 is about the cross-entropy; this run has loss='label_smoothing'"):
        mvsim.verify(["midpoint/theorem-4.6", run])
    with pytest.raises(mvsim.UsageError, match=r"loss='label_smoothing': must be one of .* of your own"):
        mvsim.verify(saved)
    monkeypatch.setitem(LOSSES, "label_smoothing", LabelSmoothing)
    assert [verdict.name for verdict in mvsim.verify(saved)] == list(verdicts)
    assert verdicts["Theorems 4.6 and 4.7"].status == "not applicable"
    assert verdicts["Definition 4.5"].measured is not None
    assert not any(name.startswith("Calculation") for name in verdicts)


class Nameless(PointwiseLoss):
    value = residual = curvature = None


@looping(
    ("loss", "why"),
    [
        (Nameless, "needs a name of its own"),
        (type("Taken", (CrossEntropy,), {}), "cross_entropy is the name of another loss"),
        ("hinge", "must be one of cross_entropy, squared_error"),
        (3, "must be one of cross_entropy, squared_error"),
    ],
)
def test_what_is_no_loss_is_refused(loss, why):
    for ask in (lambda: mvsim.objective("erm", P, mvsim.sample_dataset(P, 0), loss=loss), lambda: mvsim.simulate(P, loss=loss)):
        with pytest.raises(mvsim.UsageError, match=f"^loss=.*{why}"):
            ask()
