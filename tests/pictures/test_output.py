"""Pictures on disk: the same bytes every time, nothing overwritten unasked, nothing left behind."""

import subprocess
import sys

import matplotlib
import pytest
from synthetic import saved, synthetic_run

import mvsim
from mvsim.pictures import FORMATS, PANELS, run_figure, save_figure


@pytest.fixture(scope="module")
def run():
    return synthetic_run("midpoint", k=3, records=20)


@pytest.mark.parametrize("form", FORMATS)
def test_same_run_gives_same_bytes(form, run, tmp_path):
    for name in ("one", "other"):
        save_figure(run_figure([run], panels=PANELS[:2]), tmp_path / f"{name}.{form}")
    assert (tmp_path / f"one.{form}").read_bytes() == (tmp_path / f"other.{form}").read_bytes()


def test_same_bytes_in_another_process_with_other_settings(run, tmp_path):
    path = tmp_path / "run.nc"
    save_figure(run_figure([saved(run, path)], panels=PANELS[:2]), tmp_path / "here.svg")
    code = (
        "import sys, matplotlib, mvsim; from mvsim.pictures import PANELS, run_figure, save_figure;"
        "matplotlib.rcParams['font.size'] = 20; matplotlib.rcParams['svg.hashsalt'] = 'other';"
        "save_figure(run_figure([mvsim.open_run(sys.argv[1])], panels=PANELS[:2]), sys.argv[2]);"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, path, tmp_path / "there.svg"], check=True)
    assert (tmp_path / "here.svg").read_bytes() == (tmp_path / "there.svg").read_bytes()


def test_other_runs_give_other_bytes(run, tmp_path):
    other = synthetic_run("midpoint", k=3, records=20, seed=1)
    figures = (run_figure([r], panels=PANELS[:1]) for r in (run, other))
    one, two = (save_figure(figure, tmp_path / f"{i}.svg").read_bytes() for i, figure in enumerate(figures))
    assert one != two


def test_settings_of_the_caller_are_left_alone(run, tmp_path):
    before = dict(matplotlib.rcParams)
    save_figure(run_figure([run], panels=PANELS[:1]), tmp_path / "run.png")
    assert dict(matplotlib.rcParams) == before


def test_existing_picture_is_refused_and_kept(run, tmp_path):
    path = tmp_path / "run.png"
    path.write_text("precious")
    with pytest.raises(mvsim.UsageError, match=r"exists already.*--force"):
        save_figure(run_figure([run]), path)
    assert path.read_text() == "precious"
    save_figure(run_figure([run]), path, force=True)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["run.gif", "run", "run.nc", "missing/run.png", ""])
def test_impossible_names_are_refused(name, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(mvsim.UsageError):
        save_figure(run_figure([run]), name)
    assert list(tmp_path.iterdir()) == []
