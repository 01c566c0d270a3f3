"""A law of beta for each view: coefficients lie in their ranges, independently, and wrong laws are refused."""

import numpy as np
import pytest
from looping import looping

import mvsim

SEPARATE = {"kind": "separate", "ranges": [[1, 1], [0.4, 1.6]]}


def test_coefficients_of_each_view_have_their_own_law():
    p = mvsim.Parameters(k=3, N=4000, beta_law=SEPARATE)
    beta = mvsim.sample_dataset(p, seed=0).signal_coefficients
    assert beta.shape == (4000, 2, p.C_P)
    assert (beta[:, 0] == 1.0).all()
    assert 0.4 <= beta[:, 1].min() < 0.41
    assert 1.59 < beta[:, 1].max() <= 1.6
    assert beta[:, 1].mean() == pytest.approx(1.0, abs=4 * 1.2 / 12**0.5 / 8000**0.5)
    assert abs(np.corrcoef(beta[:, 1, 0], beta[:, 1, 1])[0, 1]) < 4 / 4000**0.5
    assert "do not add up to delta2" in next(d.statement for d in p.deviations() if d.name == "beta_law")
    assert mvsim.Parameters(**p.model_dump(mode="json")) == p


BAD = {
    "one range for two views": {"kind": "separate", "ranges": [[1, 1]]},
    "a range that ends before it begins": {"kind": "separate", "ranges": [[1, 1], [2, 1]]},
    "nothing at all": {"kind": "separate", "ranges": [[0, 0], [1, 1]]},
    "separate for one class only": [SEPARATE, {"kind": "uniform"}, {"kind": "uniform"}],
}


@looping("case", BAD)
def test_wrong_laws_are_refused(case):
    with pytest.raises(mvsim.UsageError, match=r"beta_law|separate law"):
        mvsim.Parameters(k=3, beta_law=BAD[case])
