"""The picture of runs: what it shows, for any number of runs and records."""

import numpy as np
import pytest
from synthetic import synthetic_run

import mvsim
from mvsim.plotting import PANELS, run_figure, save_figure
from mvsim.plotting.panels import escapes, loss_floor, total_correlations


def texts(figure):
    """Return all titles of a figure as one string."""
    titles = [axes.get_title() for axes in figure.axes]
    return " ".join([figure.get_suptitle(), *titles])


def test_one_run_has_all_panels_and_says_what_it_is():
    figure = run_figure([synthetic_run("midpoint", k=10, seed=4)])
    assert len(figure.axes) == len(PANELS)
    assert "Midpoint Mixup, $k$ = 10, seed 4" in texts(figure)


def test_title_lists_every_deviation_from_assumption_4_3():
    run = synthetic_run("erm", k=5)
    title = texts(run_figure([run]))
    assert "Departs from Assumption 4.3" in title
    assert f"{run.parameters.d} instead of" in title
    assert r"\delta_3" in title
    assert r"\delta_4" in title


def test_title_does_not_claim_deviations_that_are_not_there():
    assert "As in Assumption 4.3" in texts(run_figure([synthetic_run("erm", k=5, regime=[])]))


@pytest.mark.parametrize(
    ("entries", "remark"), [({"status": "interrupted", "settled": None}, "(interrupted)"), ({"settled": False}, "(not settled)"), ({}, "")]
)
def test_run_that_has_not_settled_is_marked_so(entries, remark):
    assert texts(run_figure([synthetic_run("erm", k=5, seed=0, **entries)])).startswith(f"ERM, $k$ = 5, seed 0{remark and ' '}{remark}\n")


def test_several_runs_are_columns_with_the_same_axes():
    runs = [synthetic_run("erm", k=5), synthetic_run("midpoint", k=5), synthetic_run("midpoint", k=7, records=30)]
    figure = run_figure(runs)
    assert len(figure.axes) == len(PANELS) * len(runs)
    rows = np.array(figure.axes).reshape(len(PANELS), len(runs))
    for row in rows:
        assert len({axes.get_xlim() for axes in row}) == 1
        assert len({axes.get_ylim() for axes in row}) == 1
    assert rows[1, 0].get_ylim()[0] == 0
    assert rows[1, 0].get_ylim()[1] >= np.log(7)
    assert rows[2, 0].get_ylim() == (0, 7)


@pytest.mark.parametrize("records", [1, 2, 3])
def test_short_runs_are_drawn(records, tmp_path):
    run = synthetic_run("midpoint", k=3, records=records)
    assert run.dataset.sizes["time"] == records
    figure = run_figure([run, run])
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


@pytest.mark.parametrize("methods", [["erm"], ["midpoint"], ["erm", "midpoint"]])
def test_loss_axis_starts_at_zero(methods):
    figure = run_figure([synthetic_run(method, k=4) for method in methods], panels=PANELS[1:2])
    for axes in figure.axes:
        assert axes.get_ylim()[0] == 0
        assert axes.get_ylim()[1] > np.log(4)


def test_dots_are_the_final_total_correlations():
    run = synthetic_run("erm", k=4)
    axes = run_figure([run], panels=[total_correlations]).axes[-1]
    dots = axes.collections[0].get_offsets()
    assert np.array_equal(dots, run.dataset["total_correlation"].to_numpy()[-1])


def test_escapes_are_drawn_against_what_was_foretold():
    run = synthetic_run("erm", k=4)
    axes = run_figure([run], panels=[escapes]).axes[-1]
    dots = np.concatenate([dots.get_offsets() for dots in axes.collections])
    measured, foretold = run.dataset["escape_time"].to_numpy(), run.dataset["predicted_escape_time"].to_numpy()
    there = np.isfinite(measured)
    assert sorted(map(tuple, dots)) == sorted(zip(foretold[there], measured[there], strict=True))
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_xlim()) == ("log", "log", axes.get_ylim())


def test_a_view_that_was_not_foretold_takes_the_first_place_from_no_other():
    run = synthetic_run("erm", k=4)
    measured, foretold = run.dataset["escape_time"].to_numpy(), run.dataset["predicted_escape_time"].to_numpy()
    measured[:], foretold[:] = 2.0, 3.0
    measured[0, 0, 0], foretold[0, 0, 0] = 1.0, np.inf
    axes = run_figure([run], panels=[escapes]).axes[-1]
    first, later = (len(dots.get_offsets()) for dots in axes.collections)
    each = measured[0].size
    assert (first, later) == (3 * each, each - 1)
    assert "(1 not foretold)" in axes.get_xlabel()


def test_a_run_in_which_nothing_escaped_has_an_empty_panel(tmp_path):
    run = synthetic_run("erm", k=4)
    run.dataset["escape_time"][:] = np.nan
    figure = run_figure([run], panels=[escapes])
    assert not figure.axes[-1].collections
    save_figure(figure, tmp_path / "none.png")
    assert (tmp_path / "none.png").stat().st_size > 0


def test_negative_correlations_do_not_break_the_log_axis(tmp_path):
    run = synthetic_run("erm", k=3)
    run.dataset["max_correlation"][:, 0, 0] = -0.1
    figure = run_figure([run])
    drawn = np.concatenate([line.get_ydata() for line in figure.axes[0].get_lines()])
    assert not (np.asarray(drawn, dtype=float) <= 0).any()
    save_figure(figure, tmp_path / "negative.png")


def test_no_runs_are_refused():
    with pytest.raises(mvsim.UsageError, match="at least one run"):
        run_figure([])


def test_more_runs_than_fit_are_refused():
    with pytest.raises(mvsim.UsageError, match="at most 16"):
        run_figure([synthetic_run("erm", k=3, records=2)] * 17)


def test_loss_floor_is_reached_by_the_best_outputs_and_not_passed():
    """Outputs that put 1/2 on each label of a mixed pair, and 1 on an unmixed one, cost the floor."""
    run = synthetic_run("midpoint", k=3, seed=1)
    labels = mvsim.sample_dataset(run.parameters, run.seed).labels
    targets = (np.eye(3)[labels][:, None] + np.eye(3)[labels][None]) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        best = -np.nansum(targets * np.log(targets)) / len(labels) ** 2
    assert loss_floor(run) == pytest.approx(best, rel=1e-12)
    assert best < np.log(2)


def test_loss_floor_of_erm_is_zero():
    assert loss_floor(synthetic_run("erm", k=3)) == 0


def test_what_runs_have_in_common_is_said_once():
    one = synthetic_run("erm", k=5)
    regime = [dict(entry) for entry in one.provenance["regime"]]
    _, *shared = (entry["statement"] for entry in regime)
    regime[0]["statement"] = "d = 77 instead of k^20"
    figure = run_figure([one, synthetic_run("midpoint", k=5, regime=regime)])
    titles = [axes.get_title() for axes in figure.axes[:2]]
    assert shared
    assert r"\delta_3" in figure.get_suptitle()
    assert not any(r"\delta_3" in title for title in titles)
    assert f"{one.parameters.d} instead of" in titles[0]
    assert "77 instead of" in titles[1]
    assert "instead of k" not in figure.get_suptitle()
    same = run_figure([one, synthetic_run("midpoint", k=5)])
    assert not any("Departs" in axes.get_title() for axes in same.axes)


@pytest.mark.parametrize("statement", [r"$\frac{", "$", r"\$", "$$ k^2 $", "x" * 10**5, "a\x1b[31m\nb", r"d = 5$\undefined$", "\u6587\u5b57 $k$"])
def test_whatever_a_file_says_of_itself_is_shown_as_it_stands(statement, tmp_path):
    regime = [{"name": "d", "value": "5", "assumed": "6", "statement": statement}]
    for runs in ([synthetic_run("erm", k=3, regime=regime)], [synthetic_run("erm", k=3, regime=regime), synthetic_run("erm", k=3)]):
        figure = run_figure(runs, PANELS[1:2])
        save_figure(figure, tmp_path / f"{len(runs)}.png")
        assert len(texts(figure)) < 1000
        assert "\x1b" not in texts(figure)


@pytest.mark.parametrize("method", ["other", r"$\frac{"])
def test_a_method_that_this_version_does_not_know(method):
    with pytest.raises(mvsim.UsageError, match=r"runs: method=.*this version draws erm, midpoint, mixup"):
        run_figure([synthetic_run(method, k=3)])


@pytest.mark.parametrize("run", [None, "run.nc"])
def test_what_is_no_run(run):
    with pytest.raises(mvsim.UsageError, match=r"runs: .* is no run"):
        run_figure([run])
