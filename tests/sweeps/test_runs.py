"""The table and the array of a sweep: every cell in its place, with what its run says."""

import numpy as np
import pandas as pd
import pytest
from sweep_folder import filled, made_up

import mvsim
from mvsim.base.errors import UsageError
from mvsim.runs.recording.fresh_draws import count_classes

VALUES = {"k": "3,4", "r0": "0.2,0.6", "seed": "0:2", "method": "erm,midpoint"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A sweep in which cell 5 is not done and cell 6 has failed."""
    folder = filled(tmp_path_factory.mktemp("sweep") / "runs", VALUES, leave_out=[5, 6])
    folder.record_failure(folder.study.cells[6], "StalledError", "stuck at t = 3")
    return mvsim.open_runs(folder.path)


def test_a_row_a_cell(runs):
    table = runs.table
    assert list(table["cell"]) == list(range(16))
    assert list(table["state"]) == ["done"] * 5 + ["missing", "failed"] + ["done"] * 9
    assert list(table.columns[:8]) == ["cell", "state", "method", "k", "r0", "seed", "settled", "classes_both"]
    assert table["message"][6] == "stuck at t = 3"
    assert table.loc[[5, 6], "loss"].isna().all()
    for cell in runs.study.cells:
        row = table.iloc[cell.index]
        assert (row["method"], row["k"], row["r0"], row["seed"], row["file"]) == (*cell.swept.values(), cell.file)
        assert (row["d"], row["alpha"], row["integrator"]) == (cell.parameters.d, 8.0, "flow")
        if row["state"] == "done":
            last = made_up(cell).dataset.isel(time=-1)
            counts = count_classes(last["feature_learned"].to_numpy())
            assert {name: row[f"classes_{name}"] for name in counts} == counts
            assert row["loss"] == float(last["loss"])
            assert row["weaker_view"] == pytest.approx(float(last["max_correlation"].min("view").mean()))


def test_a_dimension_for_each_swept_name(runs):
    dataset = runs.dataset
    assert dict(dataset.sizes) == {"method": 2, "k": 2, "r0": 2, "seed": 2}
    assert list(dataset["method"].to_numpy()) == ["erm", "midpoint"]
    for cell in runs.study.cells:
        here = dataset.sel(cell.swept)
        row = runs.table.iloc[cell.index]
        assert (int(here["cell"]), str(here["state"].item()), str(here["file"].item())) == (cell.index, row["state"], cell.file)
        for name in runs.measures:
            value = float(here[name])
            assert np.isnan(value) if pd.isna(row[name]) else value == float(row[name])


def test_runs_are_read_one_by_one(runs):
    read = list(runs)
    assert len(read) == 14
    assert (read[0].method, read[0].parameters.k, read[0].seed) == ("erm", 3, 0)
    assert (len(runs), runs[0].seed, runs[5].method, [run.seed for run in runs[-2:]]) == (14, 0, runs.run(7).method, [0, 1])
    assert runs.run(7).seed == 1
    with pytest.raises(UsageError, match="no such file"):
        runs.run(5)
    with pytest.raises(UsageError, match="index=16: must be an integer from 0 to 15"):
        runs.run(16)
    assert "16 cells, 14 done" in repr(runs)


def test_names_with_values_side_by_side_share_a_dimension(tmp_path):
    runs = mvsim.open_runs(filled(tmp_path / "runs", {"k": "3,4", "d": "90,700", "method": "erm", "seed": "0:2"}, [["k", "d"]]).path)
    assert dict(runs.dataset.sizes) == {"k": 2, "seed": 2}
    assert list(runs.dataset["d"].to_numpy()) == [90, 700]
    assert runs.dataset["d"].dims == ("k",)


def test_a_run_stands_wherever_a_name_means_nothing_for_it(tmp_path):
    laws = [{"distribution": "beta", "args": [2, 2]}, 0.3]
    runs = mvsim.open_runs(filled(tmp_path / "runs", {"k": 3, "method": "erm,midpoint,mixup", "mixing": laws}, leave_out=range(2, 4)).path)
    assert dict(runs.dataset.sizes) == {"method": 3, "mixing": 2}
    assert runs.dataset["cell"].to_numpy().tolist() == [[0, 0], [1, 1], [2, 3]]
    assert list(runs.table["mixing"].isna()) == [True, True, False, False]


def test_integers_that_no_machine_integer_holds_keep_their_digits(tmp_path):
    runs = mvsim.open_runs(filled(tmp_path / "runs", {"k": "4,9", "method": "erm"}, regime="literal").path)
    assert list(runs.table["d"]) == [4**20, 9**20]
    assert str(9**20) in runs.table.to_csv()


def test_one_cell_is_a_table_too(tmp_path):
    runs = mvsim.open_runs(filled(tmp_path / "runs", {"k": 3, "method": "erm"}).path)
    assert len(runs.table) == 1
    assert dict(runs.dataset.sizes) == {}
    assert float(runs.dataset["loss"]) == runs.table["loss"][0]
