"""The picture of a sweep: what it shows is what was counted."""

import pytest
from sweep_folder import filled

import mvsim
from mvsim.errors import UsageError
from mvsim.plotting import save_figure
from mvsim.plotting.sweep_figure import MOST_PANELS, sweep_figure
from mvsim.sweep.intervals import clustered_interval


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
        for container, outcome in zip(axes.containers, ("both", "one", "none"), strict=True):
            line, _, (bars,) = container.lines
            for place, r0 in enumerate((0.1, 0.4, 0.8)):
                mine = runs.table[(runs.table["method"] == method) & (runs.table["r0"] == r0)]
                p, low, high = clustered_interval(mine[f"classes_{outcome}"].tolist(), [6] * 3)
                assert line.get_ydata()[place] == pytest.approx(p)
                assert bars.get_segments()[place][:, 1] == pytest.approx([low, high])
    assert "clustered by 3 seeds; $k$ = 6" in " ".join(figure.get_suptitle().split())


def test_a_map_over_two_numbers(tmp_path):
    runs, figure = drawn(tmp_path, {"k": "3,4", "r0": "0.1,0.8,1.6", "method": "erm", "seed": "0:2"}, leave_out=[0, 1, 2])
    both, one, none = panels(figure)
    assert none.get_xlabel() == "$k$, number of classes"
    for axes, outcome in ((both, "both"), (one, "one"), (none, "none")):
        shares = axes.images[0].get_array()
        assert shares.shape == (3, 2)
        assert bool(shares.mask[0, 0])  # no cell of k = 3, r0 = 0.1 is done
        mine = runs.table[(runs.table["k"] == 4) & (runs.table["r0"] == 1.6)]
        assert shares[2, 1] == pytest.approx(mine[f"classes_{outcome}"].sum() / 8)
        alone = runs.table[(runs.table["k"] == 3) & (runs.table["r0"] == 0.8) & (runs.table["state"] == "done")]
        assert shares[1, 0] == pytest.approx(alone[f"classes_{outcome}"].sum() / (3 * len(alone)))
    assert "3 of 12 cells not done" in " ".join(figure.get_suptitle().split())


@pytest.mark.parametrize(
    ("values", "zips", "count"),
    [
        ({"k": 3, "method": "erm"}, (), 1),
        ({"k": 3, "method": "erm,midpoint", "seed": "0:2"}, (), 2),
        ({"k": "3,4,5", "d": "90,100,120", "seed": "0:2", "method": "erm"}, [["k", "d"]], 1),
        ({"k": "3,4", "r0": "0.1,1.0", "N": "30,40", "method": "erm"}, (), 6),
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
