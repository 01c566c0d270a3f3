"""The picture of a sweep: what it shows is what was counted."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from small_sweeps import steps
from sweep_folder import filled

import mvsim
from mvsim.base.errors import UsageError
from mvsim.numerics.intervals import clustered_interval
from mvsim.pictures import save_figure
from mvsim.pictures.labels import METHOD_NAMES
from mvsim.pictures.sweep_figure import MOST_PANELS, sweep_figure
from mvsim.runs.archive import read_run, write_run
from mvsim.runs.recording.fresh_draws import count_classes
from mvsim.sweeps.sweep import run_sweep


def drawn(path, values, zips=(), leave_out=()):
    runs = mvsim.open_runs(filled(path / "runs", values, zips, leave_out).path)
    return runs, sweep_figure(runs)


def panels(figure):
    """Return the axes of a figure, without colour bars."""
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]


def test_lines_with_intervals_along_one_number(tmp_path):
    runs, figure = drawn(tmp_path, {"k": 6, "r0": "0.1,0.4,0.8", "method": "erm,midpoint", "seed": "0:3"})
    erm, midpoint = panels(figure)
    assert [axes.get_title() for axes in (erm, midpoint)] == ["ERM", "Midpoint Mixup"]
    assert erm.get_xlabel() == "$r_0$, initial size over threshold"
    for axes, method in ((erm, "erm"), (midpoint, "midpoint")):
        for container, outcome in ((one, {"exactly one": "one"}.get(one.get_label(), one.get_label())) for one in axes.containers):
            line, _, (bars,) = container.lines
            for place, r0 in enumerate((0.1, 0.4, 0.8)):
                mine = runs.table[(runs.table["method"] == method) & (runs.table["r0"] == r0)]
                p, low, high = clustered_interval(mine[f"classes_{outcome}"].tolist(), [6] * 3)
                assert line.get_ydata()[place] == pytest.approx(p)
                assert bars.get_segments()[place][:, 1] == pytest.approx([low, high])
    assert "intervals (3 seeds); intervals allow for classes of one seed being dependent; $k$ = 6" in " ".join(figure.get_supxlabel().split())
    one, both = (
        next(c for c in axes.containers if c.get_label() == name).lines[0].get_ydata() for axes, name in ((erm, "exactly one"), (midpoint, "both"))
    )
    parts = [" to ".join(dict.fromkeys(f"{100 * value:.0f}" for value in (min(y), max(y)))) for y in (one, both)]
    ends = [", at all $r_0$" if part.isdigit() else "" for part in parts]
    told = f"ERM learns exactly one feature in {parts[0]} % of the classes{ends[0]}; "
    told += f"Midpoint Mixup learns both features in {parts[1]} % of the classes{ends[1]} (3 seeds)"
    assert " ".join(figure.get_suptitle().split()) == told


def test_what_goes_beside_the_seed_is_shown(tmp_path):
    runs, figure = drawn(tmp_path, {"k": 3, "r0": [0.1, 0.1, 0.8, 0.8], "method": "erm,midpoint", "seed": "0:4"}, [["r0", "seed"]])
    erm, _ = panels(figure)
    assert erm.get_xlabel() == "$r_0$, initial size over threshold"
    table = runs.table[runs.table["method"] == "erm"]
    for place, r0 in enumerate((0.1, 0.8)):
        mine = table[table["r0"] == r0]
        assert len(mine) == 2
        assert erm.containers[0].lines[0].get_ydata()[place] == pytest.approx(mine["classes_both"].sum() / 6)
    assert "(several seeds); " in " ".join(figure.get_supxlabel().split())


@pytest.mark.parametrize("V", ["2,3", "1,3"])
def test_a_sweep_over_the_number_of_views(tmp_path, V):
    runs = mvsim.open_runs(run_sweep(steps(2, V=V, P=12, method="erm", eta=0.1), tmp_path / "runs").path)
    (axes,) = panels(sweep_figure(runs))
    learned = [count_classes(run.dataset["feature_learned"][-1].to_numpy()) for run in runs]
    assert [container.get_label() for container in axes.containers] == ["all", "some", "none"]
    names = {"all": ("all", "both"), "some": ("some", "one"), "none": ("none",)}
    for container in axes.containers:
        shares = [sum(one.get(name, 0) for name in names[container.get_label()]) / 3 for one in learned]
        assert container.lines[0].get_ydata() == pytest.approx([sum(shares[:2]) / 2, sum(shares[2:]) / 2])


def fields(axes):
    """Return the words in each field of a map, by its place."""
    return {tuple(round(x) for x in text.get_position()): text.get_text() for text in axes.texts}


def test_a_map_over_two_numbers_has_an_interval_in_each_field(tmp_path):
    runs, figure = drawn(tmp_path, {"k": "3,4", "r0": "0.1,0.8,1.6", "method": "erm", "seed": "0:2"}, leave_out=[0, 1, 2])
    both, one, none = panels(figure)
    assert none.get_xlabel() == "$k$, number of classes"
    for axes, outcome in ((both, "both"), (one, "one"), (none, "none")):
        shares, words = axes.images[0].get_array(), fields(axes)
        assert shares.shape == (3, 2)
        assert bool(shares.mask[0, 0])  # no cell of k = 3, r0 = 0.1 is done
        assert (0, 0) not in words
        assert len(words) == 5
        for i, k in enumerate((3, 4)):
            for j, r0 in enumerate((0.1, 0.8, 1.6)):
                mine = runs.table[(runs.table["k"] == k) & (runs.table["r0"] == r0) & (runs.table["state"] == "done")]
                if len(mine):
                    p, low, high = (100 * value for value in clustered_interval(mine[f"classes_{outcome}"].tolist(), [k] * len(mine)))
                    assert shares[j, i] == pytest.approx(p)
                    assert words[i, j] == f"{p:.0f}\n{low:.0f}\u2013{high:.0f}"
    assert "3 of 12 cells not done" in " ".join(figure.get_supxlabel().split())


def luminance(colour):
    return float(np.dot(to_rgb(colour), [0.2126, 0.7152, 0.0722]))


def test_numbers_on_light_fields_are_black_and_on_dark_ones_white(tmp_path):
    _, figure = drawn(tmp_path, {"k": "3,4", "r0": "0.1,1.6", "method": "midpoint"})
    inks = set()
    for axes in panels(figure):
        (image,) = axes.images
        colours = image.to_rgba(image.get_array())
        for text in axes.texts:
            i, j = (round(x) for x in text.get_position())
            assert abs(luminance(text.get_color()) - luminance(colours[j, i])) >= 0.5
            inks.add(text.get_color())
    assert inks == {"black", "white"}


def unsettled(folder, index):
    """Make a run of a sweep one that had not settled."""
    path = folder.path_of(folder.study.cells[index])
    dataset, provenance = read_run(path)
    path.unlink()
    write_run(path, dataset, provenance | {"settled": False})


@pytest.mark.parametrize("over", ["k", "k and r0"])
def test_runs_that_had_not_settled_are_marked(tmp_path, over):
    values = {"k": "3,4", "method": "erm", "seed": "0:2", **({"r0": "0.1,0.8"} if over == "k and r0" else {})}
    folder = filled(tmp_path / "runs", values)
    plain = sweep_figure(mvsim.open_runs(folder.path))
    unsettled(folder, 1)
    figure = sweep_figure(mvsim.open_runs(folder.path))
    assert "settled" not in plain.get_supxlabel()
    if over == "k":
        assert "1 run had not settled (hollow)" in " ".join(figure.get_supxlabel().split())
        hollow = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == "white"]
        assert [list(line.get_ydata()) for line in hollow] == [list(c.lines[0].get_ydata()[:1]) for c in figure.axes[0].containers]
    else:
        assert "1 run had not settled (*)" in " ".join(figure.get_supxlabel().split())
        marked = {place for place, words in fields(panels(figure)[0]).items() if "*" in words}
        assert marked == {(0, 0)}
        assert not any("*" in words for words in fields(panels(plain)[0]).values())


def test_what_means_nothing_for_a_method_is_no_axis_of_it(tmp_path):
    """The law of lambda is a number here, but ERM has none: it stands once, and not along an axis of laws."""
    mixup = METHOD_NAMES.get("mixup", "mixup")
    _, figure = drawn(tmp_path, {"k": "3,4", "method": "erm,mixup,midpoint", "mixing": [0.3, 0.5], "seed": "0:2"})
    assert [axes.get_title() for axes in panels(figure)] == ["ERM", f"{mixup}, mixing = 0.3", f"{mixup}, mixing = 0.5", "Midpoint Mixup"]


@pytest.mark.parametrize(
    ("values", "zips", "count"),
    [
        ({"k": 3, "method": "erm"}, (), 1),
        ({"k": 3, "method": "erm,midpoint", "seed": "0:2"}, (), 2),
        ({"k": "3,4,5", "d": "90,100,120", "seed": "0:2", "method": "erm"}, [["k", "d"]], 1),
        ({"k": "3,4", "r0": "0.1,1.0", "N": "30,40", "method": "erm"}, (), 4),  # no class of these runs is without a feature
        ({"k": 3, "method": "mixup", "mixing": [0.3, {"distribution": "beta", "args": [2, 2]}], "seed": "0:2"}, (), 2),
    ],
)
def test_any_sweep_has_a_picture(tmp_path, values, zips, count):
    _, figure = drawn(tmp_path, values, zips)
    assert len(panels(figure)) == count
    assert save_figure(figure, tmp_path / "picture.png").stat().st_size > 10_000


def test_what_cannot_be_drawn_is_named(tmp_path):
    with pytest.raises(UsageError, match="no cell is done"):
        drawn(tmp_path / "empty", {"k": 3, "method": "erm"}, leave_out=[0])
    values = {"k": "3,4", "r0": [i / 10 for i in range(1, 10)], "N": "30:40", "method": "erm"}
    with pytest.raises(UsageError, match=f"27 panels for the values of r0: at most {MOST_PANELS}"):
        drawn(tmp_path / "large", values, leave_out=range(1, 180))
