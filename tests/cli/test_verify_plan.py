"""``mvsim verify midpoint/theorem-4.6 --dry-run``: what a question takes, before anything is made."""

import json

import pytest

import mvsim as package
from mvsim.runs.simulation.identity import run_name

SIZES = {"m": 2, "N": 12, "P": 16, "d": 40}
WORDS = [word for name, value in SIZES.items() for word in (f"--{name}", str(value))]


def test_runs_that_are_there_are_counted_and_the_others_predicted(mvsim, tmp_path):
    p = package.Parameters(k=4, **SIZES)
    (tmp_path / "kept").mkdir()
    package.simulate(p, "erm", 1, t_end=1.0, out=tmp_path / "kept" / run_name(p, "erm", 1, {}))
    before = sorted(tmp_path.rglob("*"))
    result = mvsim("verify", "midpoint/4.6", "--k", "4", "--seeds", "3", *WORDS, "--runs-dir", "kept", "--dry-run", "--json")
    [row] = json.loads(result.out)
    assert (result.code, row["theorem"], row["k"], row["runs"], row["present"]) == (0, "4.6", 4, 3, 1)
    assert row["seconds_left"] == [2 * seconds for seconds in row["seconds"]]
    assert row["memory_bytes"] > 0
    assert sorted(tmp_path.rglob("*")) == before


def test_it_is_told_in_words(mvsim, tmp_path):
    words = ["verify", "midpoint/4.6", "midpoint/4.7", "--k", "3", "--k", "4", "--seeds", "2", *WORDS, "--dry-run"]
    text = " ".join(mvsim(*words).out.split())  # lines break at the width of the terminal
    for number in ("4.6", "4.7"):
        for k in (3, 4):
            assert f"Theorem {number}, k = {k}: 0 of 2 runs are in mvsim-runs. One takes " in text
    assert text.count("; the 2 to be made take ") == 4
    assert text.endswith("Runs in which a feature is missing go on for longer, unless --no-follow is given.")
    assert "go on for longer" not in mvsim(*words, "--no-follow", "--quiet").out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("asked", [["--controls"], ["midpoint/3.2"], ["midpoint/4.6", "--controls"]])
def test_it_is_for_runs_of_theorems(mvsim, asked):
    result = mvsim("verify", *asked, "--dry-run")
    assert (result.code, result.out) == (2, "")
    assert "dry_run: is for statements on runs that are made" in result.err
