"""The picture of runs: what it shows, for any number of runs and records."""

import itertools

import numpy as np
import pytest
from looping import looping
from matplotlib.figure import Figure
from synthetic import saved, synthetic_run

import mvsim
from mvsim.multi_view.objectives import OBJECTIVES
from mvsim.pictures import ALL_PANELS, PANELS, run_figure, save_figure
from mvsim.pictures.learned import bands_of
from mvsim.pictures.panels import escapes, total_correlations
from mvsim.pictures.shown import Shown, shown_of
from mvsim.pictures.squares import count_dots
from mvsim.pictures.style import BOTH, METHODS, NONE, ONE, STRONGER, WEAKER, paler
from mvsim.pictures.trajectories import LOSS_FLOORS, loss_floor
from mvsim.runs.run import Run

WIDE = ["loss", "total-correlations"]
"""Panels of a picture that is as wide as one of all of them, and drawn sooner."""


MIXUP = {"n_test": 20, "mixing": {"distribution": "beta", "args": [1.0, 1.0]}, "nodes": 4, "pairs": None, "redraw": "once"}
"""Options of a run of Mixup."""


def texts(figure):
    """Return titles and footnote of a figure as one string, spaces that no line breaks as plain ones."""
    titles = [axes.get_title() for axes in figure.axes]
    return " ".join([figure.get_suptitle(), *titles, figure.get_supxlabel()]).replace("\N{NO-BREAK SPACE}", " ")


def panels_in(figure):
    """Return the axes of a figure, without those that only carry the label of a row."""
    return [axes for axes in figure.axes if axes.get_label() != "row"]


def test_one_run_has_all_panels_and_says_what_it_is():
    figure = run_figure([synthetic_run("midpoint", k=10, seed=4)])
    assert len(figure.axes) == len(PANELS)
    assert "Midpoint Mixup learned" in texts(figure)
    assert "$k$ = 10, seed 4" in texts(figure)


def test_the_title_says_what_came_out():
    erm, midpoint, going_on = synthetic_run("erm", k=4), synthetic_run("midpoint", k=4), synthetic_run("erm", k=4, status="interrupted", settled=None)
    for runs, said in (
        ([erm], "ERM learned both features in 1 of 4 classes, exactly one feature in 3\n"),
        ([midpoint], "Midpoint Mixup learned both features in all 4 classes\n"),
        ([midpoint, synthetic_run("midpoint", k=4, seed=1)], "Both runs learned both features in all 4 classes\n"),
        ([going_on], "ERM had learned both"),
        ([erm, midpoint, erm], "What was learned, run by run\n"),
    ):
        figure = run_figure(runs, WIDE)
        assert figure.get_suptitle().startswith(said)
    assert "both features in 1 of 4" in " ".join(panels_in(figure)[0].get_title().split())


def test_the_law_of_mixing_is_in_the_title():
    assert r"Mixup, $\lambda\sim$ Beta(1, 1), $k$ = 3" in texts(run_figure([synthetic_run("mixup", k=3, options=MIXUP)], WIDE))
    drawn = run_figure([synthetic_run("mixup", k=3, options=MIXUP | {"pairs": 9, "redraw": "each step"})], WIDE)
    assert "Beta(1, 1), 9 pairs drawn at each step" in texts(drawn)
    (line,) = [line for line in drawn.axes[0].get_lines() if len(line.get_xdata()) > 2]
    assert (line.get_linestyle(), line.get_marker()) == ("None", "."), "losses of different pairs are no curve"


def test_a_method_without_a_name_and_a_colour_is_drawn(monkeypatch):
    monkeypatch.setitem(OBJECTIVES, "quarter", OBJECTIVES["midpoint"])
    figure = run_figure([synthetic_run("quarter", k=3), synthetic_run("erm", k=3)], ["loss"])
    assert "quarter" in texts(figure)


def test_two_runs_of_one_method_are_told_apart_by_their_laws():
    other = synthetic_run("mixup", k=3, options=MIXUP | {"mixing": {"distribution": "beta", "args": [2.0, 2.0]}})
    other.dataset["feature_learned"][-1, 0] = False
    title = " ".join(run_figure([synthetic_run("mixup", k=3, options=MIXUP), other], ["loss"]).get_suptitle().split())
    assert r"$\lambda\sim$ Beta(1, 1) learned" in title
    assert r"$\lambda\sim$ Beta(2, 2) learned" in title


def test_a_colour_is_a_method_and_a_line_style_a_view():
    figure = run_figure([synthetic_run("erm", k=4), synthetic_run("midpoint", k=4)], ["correlations", "total-correlations"])
    assert len(set(METHODS.values())) == len(METHODS) >= 3
    for axes, method in zip(panels_in(figure)[:2], ("erm", "midpoint"), strict=True):
        lines = {line.get_label(): line for line in axes.get_lines() if line.get_label().endswith("view")}
        assert {line.get_color() for line in lines.values()} == {METHODS[method]}
        assert (lines["stronger view"].get_linestyle(), lines["weaker view"].get_linestyle()) == (STRONGER, "--")
        assert WEAKER != STRONGER
        assert {text.get_text() for text in axes.texts} >= {"stronger view", "weaker view"}


def test_thick_curves_are_medians_over_the_classes_of_their_stronger_and_of_their_weaker_views():
    """The stronger view of a class is the one that escapes first, be it view 1 or 2."""
    run = synthetic_run("midpoint", k=5)
    values = run.dataset["max_correlation"].to_numpy()[1:]
    first = run.dataset["escape_time"].to_numpy()[:, 0].argmin(axis=1)
    assert set(first) == {0, 1}
    lines = {line.get_label(): line.get_ydata() for line in run_figure([run], ["correlations"]).axes[0].get_lines()}
    assert np.array_equal(lines["stronger view"], np.median(values[:, range(5), first], axis=1))
    assert np.array_equal(lines["weaker view"], np.median(values[:, range(5), 1 - first], axis=1))


def levels(axes):
    """The heights of the dotted lines across a panel, by the names at their right ends."""
    dotted = [float(line.get_ydata()[0]) for line in axes.get_lines() if line.get_linestyle() == ":"]
    named = {text.get_text(): float(text.xy[1]) for text in axes.texts if text.xycoords == ("axes fraction", "data")}
    assert sorted(dotted) == sorted(named.values())
    return named


def test_a_line_across_a_panel_is_as_high_as_its_name_says():
    erm, midpoint = synthetic_run("erm", k=5), synthetic_run("midpoint", k=5)
    p = erm.parameters
    for run, panel, expected in (
        (erm, "correlations", {r"$\rho$": p.rho, r"$\rho/\delta_1$": p.rho / p.delta1}),
        (midpoint, "correlations", {r"$\rho$": p.rho, r"$2\rho/\delta_1$": 2.0 * p.rho / p.delta1}),
        (midpoint, "gaps", {r"$\log k$": np.log(5)}),
        (midpoint, "loss", {"lower bound": loss_floor(Shown(midpoint))}),
    ):
        assert levels(run_figure([run], [panel]).axes[0]) == pytest.approx(expected), panel


def shades_over_time(axes):
    """The times at which each colour of a stack is seen, as (red, green, blue) -> times."""
    seen = {}
    for band in axes.collections:
        for path in band.get_paths():
            heights = {}
            for x, y in path.vertices:
                heights.setdefault(float(x), []).append(y)
            colour = tuple(np.round(np.array(band.get_facecolor()[0][:3]) * 255).astype(int))
            seen.setdefault(colour, []).extend(x for x, ys in heights.items() if max(ys) > min(ys))
    return seen


def rgb(colour):
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def test_what_is_learned_before_its_correlation_has_risen_is_pale_and_called_chance():
    run = synthetic_run("erm", k=4)
    run.dataset["feature_learned"][:20] = [1.0, 0.0]
    shown = Shown(run)
    largest = run.dataset["max_correlation"].to_numpy()
    after = int((largest >= run.parameters.rho).any(axis=(1, 2)).argmax())
    assert shown.first_rise == run.dataset["time"].to_numpy()[after] > 0
    axes = run_figure([run], ["learned-classes"]).axes[0]
    assert "by chance" in {text.get_text() for text in axes.texts}
    seen = shades_over_time(axes)
    assert min(seen[rgb(paler(ONE))]) < shown.first_rise <= min(seen[rgb(ONE)])


def test_classes_change_their_band_at_the_record_that_says_so_and_not_before():
    run = synthetic_run("midpoint", k=4)
    run.dataset["max_correlation"][:] = 2.0 * run.parameters.rho  # nothing is by chance
    run.dataset["feature_learned"][:20] = 0.0
    run.dataset["feature_learned"][20:30] = [1.0, 0.0]
    run.dataset["feature_learned"][30:] = 1.0
    times = run.dataset["time"].to_numpy()
    seen = shades_over_time(run_figure([run], ["learned-classes"]).axes[0])
    spans = {rgb(NONE): (times[1], times[20]), rgb(ONE): (times[20], times[30]), rgb(BOTH): (times[30], times[-1])}
    assert {colour: (min(at), max(at)) for colour, at in seen.items() if min(at) < max(at)} == spans


def test_a_feature_that_has_not_risen_is_learned_by_chance_after_others_have_risen():
    """It was dark once any class had escaped, so that ERM seemed to learn both features of a class."""
    run = synthetic_run("erm", k=4)
    run.dataset["feature_learned"][:] = 1.0
    run.dataset["max_correlation"][:, 0, 0] = 2.0 * run.parameters.rho
    run.dataset["max_correlation"][:, 0, 1] = 0.5 * run.parameters.rho
    bands = {(band.name, band.pale): (band.high - band.low)[-1] for band in bands_of(Shown(run, [0]))}
    assert bands == {("both", False): 0, ("one", False): 0, ("both", True): 1, ("one", True): 0, ("none", False): 0}


def test_dots_at_one_place_are_counted():
    run = synthetic_run("midpoint", k=6)
    run.dataset["total_correlation"][-1] = [[9.0, 9.0]] * 4 + [[9.0, 1.0], [0.0, 9.0]]
    axes = run_figure([run], [total_correlations]).axes[0]
    assert [text.get_text() for text in axes.texts] == [r"$\times$4"]


def test_panels_without_anything_to_show_are_left_out():
    run = synthetic_run("midpoint", k=4)
    run.dataset["escape_time"][:] = np.nan
    assert len(run_figure([run]).axes) == len(PANELS) - 1
    run.dataset["total_correlation"][:] = 0.0
    assert len(run_figure([run]).axes) == len(PANELS) - 2
    assert len(panels_in(run_figure([run, synthetic_run("midpoint", k=4)]))) == 2 * len(PANELS)


def test_a_run_that_ended_before_others_says_why():
    long, short = synthetic_run("erm", k=4), synthetic_run("erm", k=4, status="interrupted", settled=None)
    short = mvsim.Run(short.dataset.isel(time=slice(0, 30)), short.provenance)
    first, second = panels_in(run_figure([long, short], ["loss"]))
    assert "interrupted" in {text.get_text() for text in second.texts}
    assert "interrupted" not in {text.get_text() for text in first.texts}


def test_classes_are_chosen():
    run = synthetic_run("erm", k=5)
    figure = run_figure([run], ["total-correlations", "learned-classes"], classes=[0, 3])
    dots = figure.axes[-1] if figure.axes[-1].collections[0].get_offsets().shape == (2, 2) else figure.axes[0]
    assert np.array_equal(dots.collections[0].get_offsets(), run.dataset["total_correlation"].to_numpy()[-1, [0, 3]])
    assert "2 classes shown" in texts(figure)


@looping(
    ("options", "named"),
    [
        ({"panels": []}, r"panels=\[\]: must be a list of correlations"),
        ({"panels": ["los"]}, "panels='los': there is no such panel; must be of correlations, loss"),
        ({"panels": "loss"}, "panels='loss': must be a list"),
        ({"panels": ["loss", "loss"]}, r"panels=\['loss', 'loss'\]: names a panel twice; give each once"),
        ({"panels": ["total-correlations", total_correlations]}, "names a panel twice"),
        ({"panels": ["total-correlations", "total_correlations"]}, "names a panel twice"),
        ({"classes": []}, r"classes=\[\]: must be a list of classes"),
        ({"classes": [5]}, "classes=5: must be integers from 0 to 4"),
        ({"classes": [True]}, "classes=True: must be integers"),
        ({"classes": [1, 1]}, "names a class twice"),
        ({"title": 3}, "title=3: must be a text of at most 200"),
        ({"title": "x" * 201}, "must be a text of at most 200"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options, named):
    with pytest.raises(mvsim.UsageError, match=named):
        run_figure([synthetic_run("erm", k=5, records=3)], **options)


def test_a_title_is_shown_as_it_stands(tmp_path):
    figure = run_figure([synthetic_run("erm", k=3)], ["loss"], title=r"costs 5$ or $\frac{")
    assert r"costs 5\$ or \$" in figure.get_suptitle()
    save_figure(figure, tmp_path / "title.png")
    assert run_figure([synthetic_run("erm", k=3)], ["loss"], title="").get_suptitle().startswith("ERM, $k$")


def test_from_python():
    run = synthetic_run("erm", k=3)
    figure = run.plot(panels=["loss"], title="mine")
    assert figure.get_suptitle().startswith("mine")
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert len(mvsim.plot(run).axes) == len(mvsim.plot([run]).axes) == len(run.plot().axes)
    with pytest.raises(mvsim.UsageError, match="runs=3"):
        mvsim.plot(3)


def test_from_python_by_the_names_of_files(tmp_path):
    files = [saved(synthetic_run(method, k=3, records=3), tmp_path / f"{method}.nc").path for method in ("erm", "midpoint")]
    assert len(panels_in(mvsim.plot(files, panels=["loss"]))) == 2
    assert len(mvsim.plot(str(files[0])).axes) == len(mvsim.plot(mvsim.open_run(files[0])).axes)
    with pytest.raises(mvsim.UsageError, match=r"missing\.nc"):
        mvsim.plot([files[0], tmp_path / "missing.nc"])


def test_every_panel_can_be_named():
    run = synthetic_run("midpoint", k=3)
    for name in ALL_PANELS:
        assert len(run_figure([run], [name.replace("-", "_")]).axes) == 1


def widths(figure):
    """Return the extents of the titles of all columns, in pixels, from left to right."""
    figure.draw_without_rendering()
    return [axes.title.get_window_extent() for axes in panels_in(figure) if axes.get_title()]


def test_titles_of_columns_do_not_collide():
    mixed = synthetic_run("mixup", k=4, options=MIXUP, status="interrupted", settled=None)
    boxes = widths(run_figure([synthetic_run("erm", k=4), mixed, synthetic_run("midpoint", k=5), mixed], ["loss"]))
    assert len(boxes) == 4
    for left, right in itertools.pairwise(boxes):
        assert left.x1 < right.x0


def test_long_names_of_methods_are_broken_to_the_width_of_their_column():
    mixed = synthetic_run("mixup", k=4, options=MIXUP | {"pairs": 10**5, "redraw": "each step"})
    figure = run_figure([synthetic_run("erm", k=4), mixed, *(synthetic_run("midpoint", k=4, seed=seed) for seed in range(3))], ["loss"])
    for left, right in itertools.pairwise(widths(figure)):
        assert left.x1 < right.x0


@looping("panels", [["escapes"], ["learned-classes"], ["total-correlations", "escapes"]])
def test_titles_of_columns_leave_room_for_what_panels_write_above_themselves(panels):
    erm, midpoint = synthetic_run("erm", k=4), synthetic_run("midpoint", k=4, settled=False)
    erm.dataset["predicted_entry_time"][0, 0, 0] = 1e30
    figure = run_figure([erm, midpoint], panels)
    figure.draw_without_rendering()
    written = [artist for axes in panels_in(figure) for artist in (*axes.texts, axes.get_legend()) if artist is not None]
    top = max(artist.get_window_extent().y1 for artist in written)
    assert top > panels_in(figure)[0].bbox.y1
    assert min(axes.title.get_window_extent().y0 for axes in panels_in(figure) if axes.get_title()) > top


def test_the_footnote_names_the_first_departure_and_counts_the_others():
    run = synthetic_run("erm", k=5)
    title = texts(run_figure([run], WIDE))
    assert "Departs from Assumption 4.3" in title
    assert rf"$d$ = {run.parameters.d} ($k^{{20}}$ = $9.5\times10^{{13}}$), $r_0$ = {run.parameters.r0:.3g}; " in title
    assert f"; {len({deviation.name for deviation in run.regime}) - 1} more (mvsim show -v)." in title
    assert "As in Assumption 4.3" in texts(run_figure([synthetic_run("erm", k=5, regime=[])], WIDE))


def test_the_footnote_says_which_departures_are_not_those_of_all_runs():
    run = synthetic_run("erm", k=5)
    fewer = synthetic_run("midpoint", k=5, regime=run.provenance["regime"][:-1])
    number = len({deviation.name for deviation in run.regime}) - 1
    assert number > 1
    assert f"; {number} more (mvsim show -v)." in texts(run_figure([run, run], ["loss"]))
    assert f"; {number} more in one or more of the runs (mvsim show -v)." in " ".join(texts(run_figure([run, fewer], ["loss"])).split())


FLOW = {"name": "flow", "rtol": 1e-3}


@looping(
    ("entries", "remark"),
    [
        ({"status": "interrupted", "settled": None}, ", interrupted at"),
        ({"status": "running", "settled": None}, ", as saved at"),
        ({"settled": False}, ", not settled at"),
        ({}, ""),
    ],
)
def test_run_that_has_not_settled_is_marked_so(entries, remark):
    text = texts(run_figure([synthetic_run("erm", k=5, seed=0, integrator=FLOW, **entries)], WIDE))
    assert f"$k$ = 5, seed 0{remark}" in text
    assert (" at $t$ = " in text) == bool(remark)


@looping("first", ["network", "linear"])
def test_runs_of_different_kinds_have_one_note_on_a_panel(first):
    network = synthetic_run("erm", k=5)
    parameters = mvsim.Parameters(k=5, model="linear").model_dump()
    linear = mvsim.Run(network.dataset.isel(neuron=slice(0, parameters["m"])), network.provenance | {"parameters": parameters})
    runs = [network, linear] if first == "network" else [linear, network]
    note = " ".join(run_figure(runs, ["learned-classes"]).get_supxlabel().split())
    assert note.count("Learned: ") == 1
    assert "; pale: by chance" in note


def test_a_run_whose_records_begin_late_starts_at_the_left_edge_from_time_0():
    early, late = synthetic_run("erm", k=4), synthetic_run("midpoint", k=4)
    times = late.dataset["time"].values
    late = Run(late.dataset.isel(time=(times == 0.0) | (times > times[len(times) // 2])), late.provenance)
    first, second = shown_of([early, late], None)
    assert (first.begins_at_0, second.begins_at_0) == (False, True)
    assert second.times[0] == first.times[0] == times[times > 0.0][0]
    np.testing.assert_array_equal(second.over_time("max_correlation")[0], late.dataset["max_correlation"].values[0])
    for runs, panel, told in (([early, late], "loss", True), ([early, late], "total-correlations", False), ([early], "loss", False)):
        note = " ".join(run_figure(runs, [panel]).get_supxlabel().split())
        assert ("from its state at time 0" in note) == told


def test_the_footnote_says_where_a_logarithmic_axis_lacks_points():
    run = synthetic_run("erm", k=4)
    assert "not positive" not in run_figure([run], ["correlations"]).get_supxlabel()
    run.dataset["max_correlation"][7, 2, 0] = -0.1
    for runs in ([run], [synthetic_run("erm", k=4), run]):
        note = " ".join(run_figure(runs, ["correlations"]).get_supxlabel().split())
        assert "no line has a point where its correlation is not positive." in note
    assert "not positive" not in run_figure([run], ["correlations"], classes=[0]).get_supxlabel()


@looping(
    ("methods", "settled", "words"),
    [
        (["erm"], False, r"; linear neurons: above $\rho/\delta_1$;"),
        (["midpoint"], False, r"; linear neurons: above $2\rho/\delta_1$;"),
        (["erm", "midpoint"], False, r"; linear neurons: above $\rho/\delta_1$ or $2\rho/\delta_1$;"),
        (["erm", "midpoint"], True, ""),
    ],
)
def test_the_footnote_says_which_neurons_total_correlations_are_of_in_runs_that_are_not_over(methods, settled, words):
    note = run_figure([synthetic_run(method, k=4, settled=settled) for method in methods], ["total-correlations"]).get_supxlabel()
    assert words in " ".join(note.split())
    assert ("linear neurons" in note) == bool(words)


def test_columns_say_by_which_steps_and_parameters_runs_differ():
    descent = {"name": "gd", "learning_rate": 9.0}
    usual = synthetic_run("erm", k=5).provenance["parameters"]
    runs = [synthetic_run("erm", k=5, integrator=made, parameters=usual | {"d": d}) for made, d in ((FLOW, 300), (FLOW, 700), (descent, 700))]
    text = texts(run_figure(runs, ["loss"]))
    assert "gradient descent, $\\eta$ = 9" in text
    assert text.count("$d$ = 300") == 2  # the column, and the footnote
    assert text.count("$d$ = 700") == 3
    assert "$N$ =" not in text


@looping(
    ("learned", "risen", "said"),
    [
        ([(0, 0), (0, 0), (1, 0)], [], "exactly one feature in 1 of 3 classes (by chance), no feature in 2\n"),
        ([(1, 1), (1, 1), (1, 0)], [0, 2], "both features in 2 of 3 classes (1 of them by chance), exactly one feature in 1\n"),
        ([(1, 1), (1, 0), (0, 1)], [0, 1], "both features in 1 of 3 classes, exactly one feature in 2 (1 of them by chance)\n"),
        ([(1, 1), (1, 1), (1, 1)], [0, 1], "both features in all 3 classes (1 of them by chance)\n"),
        ([(1, 0), (1, 0), (1, 0)], [0, 1, 2], "exactly one feature in all 3 classes\n"),
    ],
)
def test_the_headline_says_which_outcome_classes_have_by_chance(learned, risen, said):
    run = synthetic_run("erm", k=3)
    run.dataset["feature_learned"][:] = np.array(learned, dtype=float)
    run.dataset["max_correlation"][:] = 0.5 * run.parameters.rho
    run.dataset["max_correlation"][:, risen] = 2.0 * run.parameters.rho
    assert run_figure([run], WIDE).get_suptitle().startswith(f"ERM learned {said}")


def test_that_all_runs_have_settled_is_said_once():
    settled, other = synthetic_run("erm", k=5, integrator=FLOW), synthetic_run("midpoint", k=5, settled=False)
    assert "$k$ = 5, seed 0, both settled" in texts(run_figure([settled, settled], WIDE))
    assert ", all settled" in texts(run_figure([settled] * 3, WIDE))
    assert "both settled" not in texts(run_figure([settled, other], WIDE))


def test_several_runs_are_columns_with_the_same_axes():
    runs = [synthetic_run("erm", k=5), synthetic_run("midpoint", k=5), synthetic_run("midpoint", k=7, records=30)]
    figure = run_figure(runs)
    assert len(panels_in(figure)) == len(PANELS) * len(runs)
    rows = np.array(panels_in(figure)).reshape(len(PANELS), len(runs))
    for row in rows:
        assert len({axes.get_xlim() for axes in row}) == 1
        assert len({axes.get_ylim() for axes in row}) == 1
    assert rows[1, 0].get_ylim()[0] == 0
    assert rows[1, 0].get_ylim()[1] >= np.log(7)
    assert rows[2, 0].get_ylim() == pytest.approx((0, 7))
    labels = [axes.get_xlabel() for axes in figure.axes if axes.get_xlabel()]
    assert len(labels) == len(set(labels)) == 3, "the label of a row stands once"


@pytest.mark.parametrize("records", [1, 2])
def test_short_runs_are_drawn(records, tmp_path):
    run = synthetic_run("midpoint", k=3, records=records)
    assert run.dataset.sizes["time"] == records
    figure = run_figure([run])
    save_figure(figure, tmp_path / "short.png")
    for axes in figure.axes:
        assert np.isfinite([*axes.get_xlim(), *axes.get_ylim()]).all()


def test_drawn_trajectories_are_those_of_the_run():
    run = synthetic_run("midpoint", k=4, records=20)
    axes = run_figure([run], panels=PANELS[:1]).axes[0]
    drawn = [line.get_ydata() for line in axes.get_lines()]
    after_0 = run.dataset["max_correlation"].to_numpy()[1:]  # time 0 has no place on a log axis
    for trajectory in after_0.reshape(len(after_0), -1).T:
        assert any(np.array_equal(trajectory, line) for line in drawn)


@looping("methods", [["erm"], ["midpoint"], ["erm", "midpoint"]])
def test_loss_axis_starts_at_zero(methods):
    figure = run_figure([synthetic_run(method, k=4) for method in methods], panels=PANELS[1:2])
    for axes in panels_in(figure):
        assert axes.get_ylim()[0] == 0
        assert axes.get_ylim()[1] > np.log(4)


def test_rows_have_room_for_what_every_run_shows():
    """The axis of gaps fitted the first run only."""
    runs = [synthetic_run("erm", k=4), synthetic_run("erm", k=12), synthetic_run("erm", k=12)]
    for run, largest in zip(runs, (0.1, 0.1, 100.0), strict=True):
        run.dataset["view_gap"][:] = largest * np.linspace(0.0, 1.0, run.dataset.sizes["time"])[:, None]
    for panel in ("gaps", "loss", "correlations", "learned-classes", "total-correlations", "escapes"):
        drawn = panels_in(run_figure(runs, [panel]))
        assert len({axes.get_ylim() for axes in drawn}) == 1
        low, high = drawn[0].get_ylim()
        for line in (line for axes in drawn for line in axes.get_lines() if line.get_linestyle() != ":"):
            heights = np.asarray(line.get_ydata(), dtype=float)
            assert low <= np.nanmin(heights)
            assert np.nanmax(heights) <= high
    gaps = panels_in(run_figure(runs[:2], ["gaps"]))[0]
    assert gaps.get_ylim()[0] == 0.0
    assert gaps.get_ylim()[1] > np.log(12)


def test_dots_are_the_final_total_correlations_with_the_views_that_the_axes_name():
    run = synthetic_run("erm", k=4)
    axes = run_figure([run], panels=[total_correlations]).axes[-1]
    dots = axes.collections[0].get_offsets()
    assert np.array_equal(dots, run.dataset["total_correlation"].to_numpy()[-1])
    assert "$C_{y,1}$" in axes.get_xlabel()
    assert "$C_{y,2}$" in axes.get_ylabel()


def test_escapes_are_drawn_against_what_was_predicted():
    run = synthetic_run("erm", k=4)
    axes = run_figure([run], panels=[escapes]).axes[-1]
    dots = np.concatenate([dots.get_offsets() for dots in axes.collections])
    measured, predicted = run.dataset["escape_time"].to_numpy(), run.dataset["predicted_entry_time"].to_numpy()
    there = np.isfinite(measured)
    assert sorted(map(tuple, dots)) == sorted(zip(predicted[there], measured[there], strict=True))
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_xlim()) == ("log", "log", axes.get_ylim())


def test_what_was_predicted_far_away_stands_at_the_edge():
    run = synthetic_run("erm", k=4)
    run.dataset["predicted_entry_time"][0, 0, 0] = 1e30
    axes = run_figure([run], panels=[escapes]).axes[-1]
    limits = axes.get_xlim()
    assert limits[1] < 1e10
    dots = np.concatenate([dots.get_offsets() for dots in axes.collections])
    assert dots[:, 0].max() == limits[1]
    assert "\u25b7 1 predicted later" in " ".join(axes.texts[-1].get_text().split())


def test_a_view_that_was_not_predicted_takes_the_first_place_from_no_other():
    run = synthetic_run("erm", k=4)
    measured, predicted = run.dataset["escape_time"].to_numpy(), run.dataset["predicted_entry_time"].to_numpy()
    measured[:], predicted[:] = 2.0, 3.0
    measured[0, 0, 0], predicted[0, 0, 0] = 1.0, np.inf
    axes = run_figure([run], panels=[escapes]).axes[-1]
    first, later = (len(dots.get_offsets()) for dots in axes.collections)
    each = measured[0].size
    assert (first, later) == (3 * each, each - 1)
    assert [dots.get_facecolor().size > 0 for dots in axes.collections] == [True, False]  # filled: the first of its class
    assert axes.get_legend() is None
    drawn = 4 * each - 1
    assert " ".join(axes.texts[-1].get_text().split()) == f"{drawn + 1} escapes; filled: first of a class; not drawn: 1 not predicted"


def test_a_run_in_which_nothing_escaped_says_so(tmp_path):
    run = synthetic_run("erm", k=4)
    run.dataset["escape_time"][:] = np.nan
    figure = run_figure([run], panels=[escapes])
    assert not figure.axes[-1].collections
    assert "no neuron" in figure.axes[-1].texts[0].get_text()
    save_figure(figure, tmp_path / "none.png")
    assert (tmp_path / "none.png").stat().st_size > 0


def test_negative_correlations_do_not_break_the_log_axis(tmp_path):
    run = synthetic_run("erm", k=3)
    run.dataset["max_correlation"][:, 0, 0] = -0.1
    figure = run_figure([run], ["correlations"])
    drawn = np.concatenate([line.get_ydata() for line in figure.axes[0].get_lines()])
    assert not (np.asarray(drawn, dtype=float) <= 0).any()
    save_figure(figure, tmp_path / "negative.png")


def test_loss_floor_is_reached_by_the_best_outputs_and_not_passed():
    """Outputs that put 1/2 on each label of a mixed pair, and 1 on an unmixed one, cost the floor."""
    run = synthetic_run("midpoint", k=3, seed=1)
    labels = mvsim.sample_dataset(run.parameters, run.seed).labels
    targets = (np.eye(3)[labels][:, None] + np.eye(3)[labels][None]) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        best = -np.nansum(targets * np.log(targets)) / len(labels) ** 2
    assert loss_floor(Shown(run)) == pytest.approx(best, rel=1e-12)
    assert best < np.log(2)


def test_no_loss_floor_is_drawn_for_erm_and_for_points_that_were_given():
    assert loss_floor(Shown(synthetic_run("erm", k=3))) == 0
    p = mvsim.Parameters(k=2, m=2, N=6, P=4, d=20, C_P=1)
    run = mvsim.simulate(p, "midpoint", t_end=1.0, n_test=2, data=mvsim.sample_dataset(p, seed=3), backend="numpy")
    assert loss_floor(Shown(run)) == 0.0


def test_a_method_can_have_a_loss_floor_of_its_own(monkeypatch):
    monkeypatch.setitem(OBJECTIVES, "quarter", OBJECTIVES["midpoint"])
    run = synthetic_run("quarter", k=3)
    assert loss_floor(Shown(run)) == 0.0
    monkeypatch.setitem(LOSS_FLOORS, "quarter", lambda share: float(share.sum()) / 4.0)
    assert loss_floor(Shown(run)) == 0.25
    assert "lower bound" in [text.get_text() for text in run_figure([run], ["loss"]).axes[0].texts]


def test_what_runs_have_in_common_is_said_once():
    one = synthetic_run("erm", k=5)
    other = synthetic_run("midpoint", k=4)
    notes = run_figure([one, other], ["loss"]).get_supxlabel().replace("\N{NO-BREAK SPACE}", " ")
    assert notes.count("Departs from") == 1
    assert f"$d$ = {one.parameters.d} (" in notes
    assert f" or $d$ = {other.parameters.d} (" in " ".join(notes.split())
    assert " or " not in run_figure([one, synthetic_run("midpoint", k=5)], ["loss"]).get_supxlabel()


def test_square_panels_of_two_runs_stand_in_one_row():
    figure = run_figure([synthetic_run("erm", k=4), synthetic_run("midpoint", k=4)])
    figure.draw_without_rendering()
    squares = [axes for axes in panels_in(figure) if axes.get_box_aspect() == 1]
    assert len(squares) == 4
    assert np.ptp([axes.get_position().y1 for axes in squares]) < 0.01
    assert figure.get_figheight() < 9.5


def with_all_features_from(record, k):
    """Return a run in which all classes learn both features at one record."""
    run = synthetic_run("erm", k=k)
    run.dataset["feature_learned"][:] = 0.0
    run.dataset["feature_learned"][record:] = 1.0
    run.dataset["max_correlation"][record:] = 2.0 * run.parameters.rho
    return run


def test_the_axis_of_learned_classes_ends_at_k_and_the_winner_is_named_in_place():
    axes = run_figure([synthetic_run("erm", k=7)], ["learned-classes"]).axes[0]
    assert (axes.get_yticks()[0], axes.get_yticks()[-1]) == (0, 7)
    axes = run_figure([with_all_features_from(-8, k=7)], ["learned-classes"]).axes[0]
    assert {text.get_text(): text.get_rotation() for text in axes.texts}["both features"] == 90
    assert axes.get_legend() is None


@looping("runs", [[(-8, 3), (-8, 20)], [(-1, 7)]])
def test_the_winner_is_named_in_the_legend_where_its_band_has_no_room(runs):
    axes = run_figure([with_all_features_from(*run) for run in runs], ["learned-classes"]).axes[0]
    assert "both features" not in {text.get_text() for text in axes.texts}
    assert "both features" in [text.get_text() for text in axes.get_legend().get_texts()]


@pytest.mark.parametrize("statement", [r"$\frac{", "$", r"\$", "$$ k^2 $", "x" * 10**5, "a\x1b[31m\nb", r"d = 5$\undefined$", "\u6587\u5b57 $k$"])
def test_whatever_a_file_says_of_itself_is_shown_as_it_stands(statement, tmp_path):
    regime = [{"name": "d", "value": "5", "assumed": "6", "statement": statement}]
    for runs in ([synthetic_run("erm", k=3, regime=regime)], [synthetic_run("erm", k=3, regime=regime), synthetic_run("erm", k=3)]):
        figure = run_figure(runs, PANELS[1:2])
        assert len(texts(figure)) < 1000
        assert "\x1b" not in texts(figure)
    save_figure(figure, tmp_path / "any.png")


@looping(
    ("runs", "named"),
    [
        ([], "at least one run"),
        ([synthetic_run("erm", k=3, records=2)] * 17, "at most 16"),
        ([None], r"runs: .* is no run"),
        (["run.nc"], r"runs: .* is no run"),
        ([synthetic_run("other", k=3)], r"runs: method=.*this version draws erm, midpoint, mixup"),
        ([synthetic_run(r"$\frac{", k=3)], r"runs: method=.*this version draws erm, midpoint, mixup"),
    ],
)
def test_what_are_no_runs_that_can_be_drawn_is_refused(runs, named):
    with pytest.raises(mvsim.UsageError, match=named):
        run_figure(runs)


def test_a_square_panel_that_is_alone_stands_below_several_others():
    figure = run_figure([synthetic_run("midpoint", k=4)], ["correlations", "loss", "escapes"])
    assert [axes.get_subplotspec().get_topmost_subplotspec().colspan.start for axes in figure.axes] == [0, 0, 0]
    figure = run_figure([synthetic_run("midpoint", k=4)], ["loss", "escapes"])
    assert [axes.get_subplotspec().get_topmost_subplotspec().colspan.start for axes in figure.axes] == [0, 1]


def test_total_correlations_of_a_run_that_goes_on_say_what_they_leave_out():
    for settled in (True, False):
        axes = run_figure([synthetic_run("midpoint", k=4, settled=settled)], ["total-correlations"]).axes[0]
        assert any("linear neurons only" in text.get_text() for text in axes.texts) == (not settled)


def test_counts_of_dots_stand_above_the_horizontal_axis():
    axes = Figure().subplots()
    count_dots(axes, [0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.5, 0.5], lambda values: values, "black")
    assert [text.xyann for text in axes.texts] == [(9, 5), (5, 0)]
