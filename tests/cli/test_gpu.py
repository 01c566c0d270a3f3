"""A run on the array kernel says on what it was computed, and `--backend cupy` without a GPU is one line."""

import pytest
from usable import missing

from mvsim import open_run


@pytest.mark.skipif(not missing("cupy"), reason="there is a GPU")
@pytest.mark.parametrize("words", [("simulate", "--k", "3"), ("sweep", "--k", "3", "--seed", "0:2", "--out", "runs", "--engine", "serial")])
def test_a_gpu_that_is_not_there_is_one_line(mvsim, words, tmp_path):
    result = mvsim(*words, "--backend", "cupy")
    assert result.code in (1, 2)  # a sweep names the runs that failed
    assert "backend='cupy': " in result.err
    assert "give backend=auto" in " ".join(result.err.split())
    assert "Traceback" not in result.err + result.out
    if words[0] == "simulate":
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert not list(tmp_path.iterdir())


def test_the_file_says_what_computed_the_run(mvsim, tiny, tmp_path):
    assert mvsim("simulate", *tiny, "--backend", "array", "--out", "run.nc").code == 0
    options = open_run(tmp_path / "run.nc").provenance["options"]
    assert options["backend"] == "array"
    assert options["algorithm"].startswith("NumPy: shared noise, ")
