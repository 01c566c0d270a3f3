"""The correlation matrix over time: its numbers, and the same bytes every time."""

import errno
import os
import tempfile

import numpy as np
import pytest
from PIL import Image
from synthetic import synthetic_run

import mvsim
from mvsim.pictures.animation import MOST_FRAMES, MOVIES, _so_far, frames_of, matrices, save_animation
from mvsim.pictures.labels import time_text
from mvsim.pictures.output import Picture
from mvsim.pictures.shown import Shown


@pytest.fixture(scope="module")
def run():
    run = synthetic_run("midpoint", k=3, records=4)
    run.dataset["snapshot_time"][:] = [0.0, 1e4]
    return run


@pytest.mark.parametrize("classes", [None, [2, 0]])
def test_the_diagonal_is_that_of_each_record_and_the_rest_the_last_kept(run, classes):
    data, values = run.dataset, matrices(Shown(run, classes))
    times = [t for t in data["time"].to_numpy() if t > 0]
    chosen = range(3) if classes is None else classes
    assert values.shape == (len(times), len(chosen), len(chosen), 2)
    assert min(times) < 1e4 < max(times)
    for record, t in enumerate(times):
        kept = 0 if t < 1e4 else 1
        for i, y in enumerate(chosen):
            for j, s in enumerate(chosen):
                for view in range(2):
                    if y == s:
                        expected = float(data["max_correlation"][record + 1, y, view])
                    else:
                        expected = max(float(data["correlations"][kept, y, r, s, view]) for r in range(data.sizes["neuron"]))
                    assert values[record, i, j, view] == expected


def test_frames_are_even_in_the_logarithm_of_time():
    times = np.geomspace(1.0, 1e9, 10 * MOST_FRAMES + 1)
    frames = frames_of(times)
    assert len(frames) == MOST_FRAMES
    assert (frames[0], frames[-1]) == (0, len(times) - 1)
    assert set(np.diff(frames)) <= {10, 11}
    assert np.array_equal(frames_of(times[:5]), np.arange(5))


@pytest.mark.parametrize("form", MOVIES)
def test_same_run_gives_same_bytes(form, run, tmp_path):
    """A frame for each time after 0; and a page needs no network."""
    one, other = (save_animation(run, tmp_path / f"{name}.{form}", title="own title") for name in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"one.{form}", f"other.{form}"]
    frames = int((run.dataset["time"] > 0).sum())
    if form == "gif":
        with Image.open(one) as movie:
            assert movie.n_frames == frames
    else:
        page = one.read_text()
        assert "http" not in page
        assert 'class="fa' not in page
        assert page.count("data:image/png;base64") == frames


def test_a_matrix_is_named_by_the_view_that_it_shows(run, tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr("mvsim.pictures.output.Picture", lambda **options: made.append(Picture(**options)) or made[-1])
    dataset = run.dataset.isel(time=slice(2))
    save_animation(mvsim.Run(dataset, run.provenance), tmp_path / "a.gif")
    (figure,) = made
    for axes, view in zip(figure.axes, (1, 2), strict=False):  # the colour bar is the last
        assert axes.get_title() == f"features $v_{{s,{view}}}$"
        assert np.array_equal(np.diagonal(axes.images[0].get_array()), dataset["max_correlation"].sel(view=view)[-1])


def test_a_full_folder_for_temporary_files_is_named(run, tmp_path, monkeypatch):
    def full():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.TemporaryDirectory", full)
    with pytest.raises(mvsim.UsageError, match=rf"{tempfile.gettempdir()}: No space left on device; .* TMPDIR names another folder"):
        save_animation(run, tmp_path / "movie.gif")
    assert not list(tmp_path.iterdir())


def test_wrong_values_are_refused(run, tmp_path):
    (tmp_path / "there.gif").write_text("precious")
    for name, options, named in (
        ("a.png", {}, "the name of an animation must end in .gif, .html"),
        ("there.gif", {}, "exists already"),
        ("a.gif", {"classes": [9]}, "classes=9"),
        ("a.gif", {"title": 5}, "title=5"),
    ):
        with pytest.raises(mvsim.UsageError, match=named):
            save_animation(run, tmp_path / name, **options)
    with pytest.raises(mvsim.UsageError, match="is no run"):
        save_animation("run.nc", tmp_path / "a.gif")
    assert [path.name for path in tmp_path.iterdir()] == ["there.gif"]
    assert (tmp_path / "there.gif").read_text() == "precious"


def test_a_frame_says_what_has_been_learned_by_its_time_and_not_what_comes(run):
    shown = Shown(run)
    k = run.parameters.k
    for record in (0, len(shown.times) - 1):
        learned = run.dataset["feature_learned"].to_numpy()[shown.kept][record].all(axis=1).sum()
        said = _so_far(shown, record)
        assert said.startswith(f"$t$ = {time_text(float(shown.times[record]))}: ")
        assert ("both features in" in said) == (learned > 0)
        assert str(k) in said or learned in (0, k)
