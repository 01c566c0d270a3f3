"""Which GPU a worker of a sweep sees."""

from types import SimpleNamespace

from looping import looping

from mvsim.sweeps import worker_setup
from mvsim.sweeps.worker_setup import gpu_of_worker


@looping(
    ("names", "environment", "count", "seen"),
    [
        ([0, 1], {}, 2, ["0", "1"]),
        ([0, 1, 2], {}, 2, ["0", "1", "0"]),
        ([0, 1], {"CUDA_VISIBLE_DEVICES": "3, 5"}, 8, ["3", "5"]),
        ([0], {"CUDA_VISIBLE_DEVICES": "GPU-8e1f"}, 0, ["GPU-8e1f"]),
        ([0, 1], {}, 0, [None, None]),
        ([0], {"CUDA_VISIBLE_DEVICES": ""}, 4, [None]),
        ([0, 1], {"CUDA_VISIBLE_DEVICES": "0,-1,1"}, 2, ["0", "0"]),
        ([0, 1, 2], {"CUDA_VISIBLE_DEVICES": "0,0,1"}, 2, ["0", "1", "0"]),
        (["tcp://a:1", "gpu-node-3"], {}, 2, [None, None]),
    ],
)
def test_every_worker_sees_one_gpu(names, environment, count, seen):
    assert [gpu_of_worker(name, environment, count).get("CUDA_VISIBLE_DEVICES") for name in names] == seen


def test_a_worker_that_starts_is_given_its_gpu(monkeypatch, tmp_path):
    monkeypatch.setattr("signal.signal", lambda *rest: None)
    monkeypatch.setattr(worker_setup, "_GPUS", tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    worker_setup.dask_setup(SimpleNamespace(name=1))
    assert "CUDA_VISIBLE_DEVICES" not in worker_setup.os.environ
    for gpu in ("0000:01:00.0", "0000:02:00.0"):
        (tmp_path / gpu).mkdir()
    environment = dict(worker_setup.os.environ)
    monkeypatch.setattr(worker_setup.os, "environ", environment)
    worker_setup.dask_setup(SimpleNamespace(name=1))
    assert environment["CUDA_VISIBLE_DEVICES"] == "1"
