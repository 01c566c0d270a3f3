"""``mvsim show`` and ``mvsim diff``: what run files hold, and in what they differ."""

import json
import re

import numpy as np
import pytest
from example_run import example_run

import mvsim as package
from mvsim.runs.archive import read_run, revision_text, write_run


def test_show_says_outcome_parameters_and_origin(mvsim, tiny):
    assert mvsim("simulate", *tiny, "--signal_layout", "fixed", "--out", "run.nc").code == 0
    run = package.open_run("run.nc")
    shown = mvsim("show", "run.nc")
    words = " ".join(shown.out.split())
    assert (shown.code, shown.err) == (0, "")
    assert words.startswith(run.summary.splitlines()[0])
    assert "Other than the default: N=30, signal_layout=fixed" in words
    assert "Integrator: flow (rtol=0.001, t_end=60, settled_factor=10)" in words
    assert revision_text(run.provenance) in words
    assert run.regime[0].statement not in words
    verbose = " ".join(mvsim("show", "run.nc", "--verbose").out.split())
    assert all(deviation.statement in verbose for deviation in run.regime)
    assert all(str(name) in verbose for name in run.dataset.variables)


def test_show_counts_records_and_saved_states_and_gives_size_and_time(mvsim, tmp_path):
    dataset, provenance = example_run(k=20, m=10, records=5, snapshots=2)
    options = provenance["options"] | {"algorithm": "loops"}
    write_run(tmp_path / "run.nc", dataset, provenance | {"options": options, "wall_seconds": 83.0})
    mebibytes = (tmp_path / "run.nc").stat().st_size / 2**20
    assert mebibytes > 0.1
    words = " ".join(mvsim("show", "run.nc").out.split())
    assert f"; 5 records, 2 saved states, {mebibytes:.1f} MiB Parameters: " in words
    assert f", {revision_text(provenance)}, 83 s Command: " in words


def test_show_says_of_a_run_that_may_have_been_killed_how_it_goes_on(mvsim, tmp_path, tiny):
    mvsim("simulate", *tiny, "--out", "run.nc")
    assert "if it was killed" not in mvsim("show", "run.nc").out
    dataset, provenance = read_run(tmp_path / "run.nc")
    write_run(tmp_path / "run.nc", dataset, {**provenance, "status": "running"})
    assert "if it was killed, it can be resumed (--resume, resume=True)" in " ".join(mvsim("show", "run.nc").out.split())


def test_show_names_every_command_that_made_a_run(mvsim, tiny):
    words = ("simulate", *tiny[:4], "--method", "erm", "--integrator", "gd", "--eta", "1", "--quiet", "--out", "run.nc")
    for more in (("--t-end", "5"), ("--t-end", "9", "--resume")):
        assert mvsim(*words, *more).code == 0
    shown = " ".join(mvsim("show", "run.nc").out.split())
    first, second = package.open_run("run.nc").commands
    assert f"continued 1 x Command: {first} Continued by: {second}" in shown


def test_show_for_machines_is_the_provenance(mvsim, tiny):
    mvsim("simulate", *tiny, "--out", "run.nc")
    told = json.loads(mvsim("show", "run.nc", "--json").out)
    assert told["parameters"] == package.open_run("run.nc").provenance["parameters"]
    assert told["variables"]["loss"] == {"dims": ["time"], "meaning": "training loss"}


def test_show_of_what_is_no_run(mvsim, tmp_path):
    (tmp_path / "no.nc").write_text("no")
    result = mvsim("show", "no.nc")
    assert (result.code, result.out) == (2, "")
    assert "no.nc: not a NetCDF4 file" in result.err


def test_show_of_a_sweep_names_what_shows_it(mvsim, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "sweep.json").write_text("{}")
    result = mvsim("show", "runs")
    assert (result.code, result.out) == (2, "")
    assert "runs: is the folder of a sweep; mvsim collect shows its runs" in result.err


def test_the_same_run_made_twice_does_not_differ(mvsim, tiny):
    for name in ("one.nc", "two.nc"):
        assert mvsim("simulate", *tiny, "--out", name).code == 0
    result = mvsim("diff", "one.nc", "two.nc")
    assert result.code == 0
    assert "the same, bit for bit" in result.out
    assert mvsim("diff", "one.nc", "one.nc").out == "The runs do not differ, bit for bit.\n"


def test_how_often_a_run_was_continued_is_a_number(mvsim, tiny, tmp_path):
    for name in ("one.nc", "two.nc"):
        assert mvsim("simulate", *tiny, "--out", name).code == 0
    dataset, provenance = read_run(tmp_path / "two.nc")
    write_run(tmp_path / "three.nc", dataset, provenance | {"continued": [{"version": "0"}, {"version": "1"}]})
    assert re.search(r"continued +0 times +-> +2 times", mvsim("diff", "one.nc", "three.nc").out)


def test_other_runs_differ_in_what_was_asked_for_and_in_what_came_out(mvsim, tiny):
    mvsim("simulate", *tiny, "--out", "one.nc")
    mvsim("simulate", *tiny, "--delta3", "0.001", "--out", "two.nc")
    result = mvsim("diff", "one.nc", "two.nc")
    assert result.code == 1
    assert result.out.startswith("They differ in delta3: ")
    assert "final_correlations" not in result.out
    assert re.search(r"  \d+ arrays; --verbose lists them", result.out)
    came_out, asked = mvsim("diff", "one.nc", "two.nc", "--verbose").out.split("asked for:")
    assert "parameters.delta3" in asked
    assert "0.001" in asked
    assert "parameters.delta4" not in asked
    assert "final_correlations" in came_out
    rows = json.loads(mvsim("diff", "one.nc", "two.nc", "--json").out)
    assert {"kind": "asked for", "name": "parameters.delta3"}.items() <= next(row for row in rows if row["name"] == "parameters.delta3").items()
    a, b = (package.open_run(name).dataset["loss"].to_numpy() for name in ("one.nc", "two.nc"))
    loss = next(row for row in rows if row["name"].startswith("loss["))
    assert f"in {(a != b).sum()} of {len(a)} entries" in loss["second"]


def test_runs_of_other_sizes_are_compared_by_their_shapes(mvsim, tiny):
    mvsim("simulate", *tiny, "--out", "one.nc")
    mvsim("simulate", *tiny, "--m", "2", "--out", "two.nc")
    result = mvsim("diff", "one.nc", "two.nc", "-v")
    assert result.code == 1
    shapes = result.out.partition("of other shapes: ")[2].partition("asked for:")[0]
    assert {"own_correlations", "correlations", "neuron"} <= set(shapes.replace(",", " ").split())
    assert result.out.startswith("They differ in m: 3, 2; d: 278, 176.\nfirst: ")
    assert "\nsecond: " in result.out
    rows = json.loads(mvsim("diff", "one.nc", "two.nc", "--json").out)
    assert any((row["first"], row["second"]) == ("shape (3, 3, 3, 2)", "shape (3, 2, 3, 2)") for row in rows)


NEARLY = {
    "a sign of zero": (0.0, -0.0, "0  ->  -0"),
    "a last bit": (0.1, np.nextafter(0.1, 1.0), "0.10000000000000001  ->  0.10000000000000002"),
    "other NaN": (np.nan, -np.nan, "nan (000000000000f87f)  ->  nan (000000000000f8ff)"),
}


@pytest.mark.parametrize("case", NEARLY)
def test_values_that_differ_in_a_bit_differ(mvsim, tmp_path, case):
    first, second, told = NEARLY[case]
    dataset, provenance = example_run()
    for name, value in (("one.nc", first), ("same.nc", first), ("two.nc", second)):
        times = dataset["entry_time"].copy()
        times[1, 0, 1] = value
        write_run(tmp_path / name, dataset.assign(entry_time=times), provenance)
    assert mvsim("diff", "one.nc", "same.nc").out == "The runs do not differ, bit for bit.\n"
    result = mvsim("diff", "one.nc", "two.nc", "-v")
    assert result.code == 1
    assert result.out.startswith("What was asked for is the same, what came out is not.")
    assert f"entry_time[1, 0, 1] {told.replace('  ', ' ')}, in 1 of " in " ".join(result.out.split())
