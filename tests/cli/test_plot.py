"""``mvsim plot`` from run files to pictures."""

import pytest
from synthetic import saved, synthetic_run


@pytest.fixture
def runs(tmp_path):
    (tmp_path / "runs").mkdir()
    for method in ("erm", "midpoint"):
        saved(synthetic_run(method, k=3, records=10), tmp_path / "runs" / f"{method}.nc")


def pictures(directory):
    return sorted(path.name for path in directory.iterdir() if path.suffix != ".nc")


def test_default_picture_lies_beside_the_run(mvsim, runs, tmp_path):
    result = mvsim("plot", "runs/erm.nc")
    assert (result.code, result.out, result.err) == (0, "saved in runs/erm.png\n", "")
    assert pictures(tmp_path / "runs") == ["erm.png"]


def test_several_runs_do_not_take_the_name_of_one(mvsim, runs, tmp_path):
    assert mvsim("plot", "runs/erm.nc", "runs/midpoint.nc").code == 0
    assert mvsim("plot", "runs/erm.nc", "runs/midpoint.nc", "runs/midpoint.nc").code == 0
    assert pictures(tmp_path / "runs") == ["erm-and-2-others.png", "erm-and-midpoint.png"]


@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<?xml"), ("a.PDF", b"%PDF")])
def test_output_is_what_its_name_says(name, start, mvsim, runs, tmp_path):
    assert mvsim("plot", "runs/erm.nc", "-o", name).code == 0
    assert (tmp_path / name).read_bytes().startswith(start)


def test_overwriting_needs_force(mvsim, runs, tmp_path):
    (tmp_path / "a.png").write_text("precious")
    result = mvsim("plot", "runs/erm.nc", "-o", "a.png")
    assert result.code == 2
    assert "--force" in result.err
    assert (tmp_path / "a.png").read_text() == "precious"
    assert mvsim("plot", "runs/erm.nc", "-o", "a.png", "--force").code == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_is_never_written_to(mvsim, runs, tmp_path):
    before = (tmp_path / "runs" / "erm.nc").read_bytes()
    assert mvsim("plot", "runs/erm.nc", "-o", "runs/erm.nc", "--force").code == 2
    assert (tmp_path / "runs" / "erm.nc").read_bytes() == before
