"""Arguments of simulate that are refused, each by its name."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from looping import looping
from scipy.stats import rv_histogram
from tiny_run import TINY

import mvsim
from mvsim.base.limits import available_bytes
from mvsim.runs.simulation.cost import check_memory, required_bytes

BRIEF = {"t_end": 1.0}
"""What is not refused ends at once."""


def test_a_problem_that_does_not_fit_is_refused_before_it_starts():
    assert available_bytes() is None or available_bytes() > 0
    huge = mvsim.Parameters(k=20_000)
    with pytest.raises(mvsim.UsageError, match=r"would need about \d+ GiB of memory"):
        mvsim.simulate(huge)
    for noise in ("codebook", "patch"):  # nobody is advised to do what is done already
        with pytest.raises(mvsim.UsageError) as caught:
            mvsim.simulate(huge.replace(noise=noise))
        assert (", or noise=codebook, whose cost" in str(caught.value)) == (noise == "patch")
    assert check_memory(mvsim.Parameters(k=4), mixes=True) == required_bytes(mvsim.Parameters(k=4), mixes=True)


@looping(
    ("options", "named"),
    [
        ({"method": "nope"}, "method='nope'"),
        ({"integrator": "nope"}, "integrator='nope'"),
        ({"backend": "nope"}, "backend='nope'"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": 1.5}, "seed=1.5"),
        ({"t_end": 0.0}, "t_end=0.0"),
        ({"t_end": float("nan")}, "t_end=nan"),
        ({"eta": -1.0}, "eta=-1.0"),
        ({"checkpoint_seconds": 0.0}, "checkpoint_seconds=0.0"),
        ({"n_test": 0}, "n_test=0"),
        ({"threads": 0}, "threads=0"),
        ({"resume": True}, "resume=True"),
        ({"mixing": 0.5}, "mixing=0.5"),
        ({"method": "mixup", "mixing": 2.0}, "mixing=2.0"),
        ({"method": "mixup", "pairs": 0}, "pairs=0"),
        ({"method": "mixup", "redraw": "never"}, "redraw='never'"),
        ({"method": "mixup", "nodes": 0}, "nodes=0"),
        ({"t_end": "a"}, "t_end='a'"),
        ({"t_end": 10**400}, "t_end=1000"),
        ({"t_end": b"1"}, "t_end=b'1'"),
        ({"n_test": "3"}, "n_test='3'"),
        ({"n_test": None}, "n_test=None"),
        ({"resume": "no", "out": "run.nc"}, "resume='no'"),
        ({"method": "mixup", "redraw": "each step", "integrator": "gd"}, "needs pairs"),
        ({"method": "mixup", "mixing": rv_histogram(([1.0, 2.0], [0.0, 0.5, 1.0]))}, "mixing"),
        ({"eta": True}, "eta=True"),
        ({"checkpoint_seconds": None}, "checkpoint_seconds=None"),
        ({"out": 5}, "out=5"),
        ({"method": []}, "method=[]"),
        ({"integrator": "gd", "eta": 1e-300, "t_end": 1.0}, "eta=1e-300"),
        ({"eta": 1.0}, "eta=1.0: belongs to integrator='gd'"),
        ({"integrator": "gd", "rtol": 1e-3}, "rtol=0.001: belongs to integrator='flow'"),
        ({"rtol": 0.5}, "rtol=0.5"),
        ({"settled_factor": 1.0}, "settled_factor=1.0"),
        ({"settled_factor": 10**5000}, "settled_factor=1000"),
        ({"t_end": 10**5000}, "t_end=1000"),
        ({"threads": 10**5000}, "threads=1000"),
        ({"n_test": 10**400}, "n_test"),
        ({"eta": 10**5000, "integrator": "gd"}, "eta=1000"),
        ({"method": "mixup", "pairs": 3, "redraw": "each step"}, "drawn afresh"),
        ({"method": "mixup", "nodes": 10**6}, "nodes=1000000"),
        ({"method": "mixup", "pairs": 10**30}, "pairs="),
        ({"method": "mixup", "mixing": {"distribution": "beta", "args": [1e-300, 1]}}, "shapes must lie in"),
    ],
)
def test_bad_arguments_are_named(options, named):
    with pytest.raises(mvsim.UsageError) as error:
        mvsim.simulate(mvsim.Parameters(**TINY), **{**BRIEF, **options})
    assert named in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("t_end", [Fraction(1, 2), Decimal("0.5"), np.array(0.5), np.float32(0.5)])
def test_a_number_of_any_type_can_be_kept(t_end, tmp_path):
    run = mvsim.simulate(mvsim.Parameters(**TINY), "erm", t_end=t_end, n_test=2, out=tmp_path / "run.nc")
    assert mvsim.open_run(tmp_path / "run.nc").provenance["integrator"]["t_end"] == 0.5 == float(run.dataset["final_time"])


@looping("field", ["k", "m", "N", "P", "C_P", "Q", "G", "d", "rho", "delta2", "codebook_seed"])
@looping("value", [10**400, 10**310, "1e309"])
def test_absurd_sizes_are_refused_by_name(field, value):
    with pytest.raises(mvsim.UsageError, match=rf"(^|; ){field}="):
        mvsim.Parameters(**{"k": 5, field: value})
