"""What a certificate of the run spares of the time for which something has to last."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from looping import looping

from mvsim.papers.midpoint_mixup.evidence.persistence import has_lasted, lasting_times


@looping(("dormant", "last"), [(np.inf, 2.0 * 10.0**0.5), (4.5, 4.0)])
def test_the_last_time_is_the_horizon_of_a_certificate(dormant, last):
    learned, trained = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.5, 0.5, 1.0, 1.0])
    of_class = ("time", "label")
    dataset = xr.Dataset(
        {
            "training_accuracy": ("time", trained),
            "feature_learned": ((*of_class, "view"), learned[:, None, None] * np.ones((2, 2))),
            "softmax_gap": (of_class, (1.0 - 0.9 * learned)[:, None] * np.ones(2)),
            "margin_min": (of_class, learned[:, None] * np.ones(2)),
            "draw_margin_min": ((*of_class, "view"), learned[:, None, None] * np.ones((2, 2))),
            "dormant_until": ("time", np.full(4, dormant)),
        },
        {"time": [0.0, 1.0, 2.0, 4.0]},
    )
    times = lasting_times(SimpleNamespace(dataset=dataset))
    assert times == pytest.approx([0.0, 1.0, 2.0, last])
    assert has_lasted(times, 2.0, 10.0**0.5) == (dormant == np.inf)
    assert dataset["time"].to_numpy()[-1] == 4.0
