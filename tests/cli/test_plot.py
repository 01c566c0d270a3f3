"""``mvsim plot`` from run files to pictures."""

import shutil

import pytest
from looping import looping
from synthetic import saved, synthetic_run

import mvsim as package
from mvsim.pictures import ALL_PANELS


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    for method in ("erm", "midpoint"):
        run = synthetic_run(method, k=3, records=4)
        run.dataset["snapshot_time"][:] = [0.0, 1e4]
        saved(run, folder / f"{method}.nc")
    return folder


@pytest.fixture
def runs(made, tmp_path):
    shutil.copytree(made, tmp_path / "runs")


LOSS = ("--panels", "loss")
"""Words for a picture that is drawn quickly."""


def pictures(directory):
    return sorted(path.name for path in directory.iterdir() if path.suffix != ".nc")


def test_default_picture_lies_beside_the_run(mvsim, runs, tmp_path):
    result = mvsim("plot", "runs/erm.nc")
    assert (result.code, result.out, result.err) == (0, "saved in runs/erm.png\n", "")
    assert pictures(tmp_path / "runs") == ["erm.png"]


def test_several_runs_do_not_take_the_name_of_one(mvsim, runs, tmp_path):
    assert mvsim("plot", "runs/erm.nc", "runs/midpoint.nc", *LOSS).code == 0
    saved(synthetic_run("erm", k=4, records=10), tmp_path / "runs" / "larger.nc")
    assert mvsim("plot", "runs/erm.nc", "runs/midpoint.nc", "runs/larger.nc", *LOSS).code == 0
    assert pictures(tmp_path / "runs") == ["erm-and-2-others.png", "erm-and-midpoint.png"]


@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<?xml"), ("a.PDF", b"%PDF")])
def test_output_is_what_its_name_says(name, start, mvsim, runs, tmp_path):
    assert mvsim("plot", "runs/erm.nc", "-o", name, *LOSS).code == 0
    assert (tmp_path / name).read_bytes().startswith(start)


def test_overwriting_needs_force(mvsim, runs, tmp_path):
    (tmp_path / "a.png").write_text("precious")
    result = mvsim("plot", "runs/erm.nc", "-o", "a.png")
    assert result.code == 2
    assert "--force" in result.err
    assert (tmp_path / "a.png").read_text() == "precious"
    assert mvsim("plot", "runs/erm.nc", "-o", "a.png", "--force", *LOSS).code == 0
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("words", "name"), [(["plot"], "a.png"), (["plot", "--animate"], "a.gif"), (["report"], "a.html")])
def test_what_cannot_be_written_says_what_to_do(words, name, mvsim, runs, tmp_path, full_disk, monkeypatch):
    monkeypatch.setattr("mvsim.cli.report._judged_runs", lambda *what: [])  # takes long
    result = mvsim(*words, "runs/erm.nc", "--out", name)
    assert (result.code, result.out) == (2, "")
    assert result.err.endswith(f"mvsim: {name}: could not be written: No space left on device; correct that, or choose another file with --out\n")
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("command", ["plot", "report", "verify"])
def test_a_run_that_is_given_twice_is_refused(command, mvsim, runs, tmp_path):
    shutil.copy(tmp_path / "runs" / "erm.nc", tmp_path / "copy.nc")
    for other in ("copy.nc", "runs/erm.nc"):
        result = mvsim(command, "runs/erm.nc", "runs/midpoint.nc", other)
        assert (result.code, result.out) == (2, "")
        assert f"{other}: is the same run as runs/erm.nc; leave out one of them" in result.err
    with pytest.raises(package.UsageError, match="is the same run as"):
        package.verify([tmp_path / "copy.nc", package.open_run(tmp_path / "copy.nc")])


@pytest.mark.parametrize(("title", "drawn"), [("two\n\nlines", "two lines"), ("\n\n", "")])
def test_a_title_is_one_line(title, drawn, mvsim, runs, monkeypatch):
    told = []
    monkeypatch.setattr("mvsim.pictures.plot.run_figure", lambda runs, panels, classes, title: told.append(title))
    monkeypatch.setattr("mvsim.cli.plot.save_figure", lambda *what: None)
    assert mvsim("plot", "runs/erm.nc", "--title", title, "-o", "a.png").code == 0
    assert told == [drawn]


def test_a_run_is_never_written_to(mvsim, runs, tmp_path):
    before = (tmp_path / "runs" / "erm.nc").read_bytes()
    assert mvsim("plot", "runs/erm.nc", "-o", "runs/erm.nc", "--force").code == 2
    assert (tmp_path / "runs" / "erm.nc").read_bytes() == before


def test_panels_classes_and_title_are_chosen(mvsim, runs, tmp_path):
    words = ("plot", "runs/erm.nc", "--panels", "loss, learned_classes", "--classes", "0,2", "--title", "An own title")
    assert mvsim(*words, "-o", "a.svg").code == 0
    assert mvsim("plot", "runs/erm.nc", "-o", "b.svg").code == 0
    assert (tmp_path / "a.svg").stat().st_size < (tmp_path / "b.svg").stat().st_size


@looping(
    ("words", "named"),
    [
        (["--panels", "los"], "panels='los': there is no such panel; must be of correlations, loss, learned-classes"),
        (["--panels", ""], "panels='': there is no such panel"),
        (["--classes", "3"], "classes=3: must be integers from 0 to 2, the classes of runs/erm.nc"),
        (["--classes", "0,x"], "--classes='0,x': must be integers from 0, with commas, for example 0,3"),
        (["--classes", "1.5"], "--classes='1.5': must be integers from 0, with commas"),
        (["--classes", ""], "--classes='': must be integers from 0, with commas"),
        (["-o", "a.png/"], "out=a.png: is a directory; give the name of a file, for example run.png"),
        (["-o", ""], "out='': must be the name of a file or folder"),
        ([""], "RUN='': must be the name of a file or folder"),
        (["x" * 300], "File name too long; give a shorter name"),
        (["--classes", "0,0"], "names a class twice"),
        (["--title", "x" * 201], "title='"),
        (["--animate", "--panels", "loss"], "--panels: an animation has none"),
        (["runs/midpoint.nc", "--animate"], "--animate: an animation shows one run"),
        (["--animate", "-o", "b.png"], "b.png: the name of an animation must end in .gif, .html"),
        (["-o", "a.gif"], "a.gif: the name of a picture must end in .png, .svg, .pdf"),
        (["--animate", "--classes", "7"], "classes=7"),
    ],
)
def test_wrong_choices_are_refused(words, named, mvsim, runs, tmp_path):
    (tmp_path / "a.png").mkdir(exist_ok=True)
    result = mvsim("plot", "runs/erm.nc", *words)
    assert (result.code, result.out) == (2, "")
    assert named in result.err
    assert result.err.count("\n") == 1
    assert pictures(tmp_path / "runs") == []


def test_the_help_names_every_panel(mvsim):
    assert ", ".join(ALL_PANELS) in " ".join(mvsim("plot", "--help").out.replace("│", " ").split())


def test_an_animation_lies_beside_the_run(mvsim, runs, tmp_path):
    assert mvsim("plot", "runs/midpoint.nc", "--animate").out == "saved in runs/midpoint.gif\n"
    assert (tmp_path / "runs" / "midpoint.gif").read_bytes().startswith(b"GIF89a")
    assert mvsim("plot", "runs/midpoint.nc", "--animate").code == 2
