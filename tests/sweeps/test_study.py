"""What cells a study has: grids, values side by side, values that mean nothing, and what is refused."""

import itertools
import json

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from looping import looping

import mvsim
from mvsim.base.errors import UsageError
from mvsim.runs.simulation.identity import canonical_options, run_name
from mvsim.sweeps.cell import NAMES
from mvsim.sweeps.study import MOST_CELLS, Study


def labels(*arguments, **named):
    return [cell.label for cell in Study.of(*arguments, **named).cells]


def test_a_grid_has_every_combination_once_the_seed_first():
    study = Study.of({"seed": "0:3", "d": [5000, 20000], "method": "erm,midpoint", "k": "6,10"})
    expected = list(itertools.product(("erm", "midpoint"), (6, 10), (5000, 20000), range(3)))
    assert [(cell.method, cell.parameters.k, cell.parameters.d, cell.seed) for cell in study.cells] == expected
    assert [cell.index for cell in study.cells] == list(range(24))
    assert len({cell.file for cell in study.cells}) == 24


def test_the_order_in_which_values_are_given_does_not_matter():
    one, other = Study.of({"k": "3,4", "seed": "0:2", "method": "erm"}), Study.of({"method": "erm", "seed": "0:2", "k": "3,4"})
    assert [cell.file for cell in one.cells] == [cell.file for cell in other.cells]


def test_values_side_by_side():
    study = Study.of({"k": "6,10", "d": "5000,20000", "seed": "0:2"}, [["k", "d"]])
    assert [(cell.parameters.k, cell.parameters.d, cell.seed) for cell in study.cells] == [(6, 5000, 0), (6, 5000, 1), (10, 20000, 0), (10, 20000, 1)]
    assert [axis.label for axis in study.axes] == ["k", "seed"]


def test_a_value_may_come_again_beside_others():
    study = Study.of({"k": "3,4,5", "t_end": [10.0, 10.0, 20.0], "method": "erm"}, [["k", "t_end"]])
    assert [(cell.parameters.k, cell.options["t_end"]) for cell in study.cells] == [(3, 10.0), (4, 10.0), (5, 20.0)]
    assert Study.from_plain(study.plain()).plain() == study.plain()


def test_a_study_is_what_it_was_after_being_written():
    study = Study.of({"k": "6,10", "d": "5000,20000", "method": "mixup", "mixing": [0.3, {"distribution": "beta", "args": [2, 2]}]}, [["k", "d"]])
    again = Study.from_plain(study.plain())
    assert again.plain() == study.plain()
    assert [cell.file for cell in again.cells] == [cell.file for cell in study.cells]


def test_defaults_follow_the_other_values_of_a_cell():
    cells = Study.of({"k": "4,8"}).cells
    assert [cell.parameters for cell in cells] == [mvsim.Parameters(k=4), mvsim.Parameters(k=8)]
    assert [cell.parameters.d for cell in Study.of({"k": "4,8"}, regime="literal").cells] == [4**20, 8**20]


def test_r0_stands_for_the_dimension():
    for cell in Study.of({"k": "4,8", "r0": "0.1,0.5"}).cells:
        p = cell.parameters
        assert p.r0 <= cell.swept["r0"] < p.replace(d=p.d - 1).r0  # the least d that is large enough
        assert p.replace(d=1000) == mvsim.Parameters(k=p.k, d=1000)


def test_what_means_nothing_for_a_run_makes_no_more_runs_of_it():
    values = {"k": 3, "method": "erm,mixup", "mixing": [0.3, 0.4], "seed": "0:2"}
    study = Study.of(values)
    assert labels(values) == [
        "method=erm, seed=0",
        "method=erm, seed=1",
        *(f"method=mixup, mixing={law}, seed={seed}" for law in (0.3, 0.4) for seed in (0, 1)),
    ]
    places = [(place["method"], place["mixing"], place["seed"], cell.index) for place, cell in study.places()]
    assert places[:4] == [("erm", 0.3, 0, 0), ("erm", 0.3, 1, 1), ("erm", 0.4, 0, 0), ("erm", 0.4, 1, 1)]
    assert len(places) == 8


def test_one_cell_has_a_label_too():
    assert labels({"k": 3}) == ["method=midpoint, k=3, seed=0"]


TWO_WAYS = [{"distribution": "beta", "args": [2, 2]}, {"distribution": "beta", "args": [2, 2.0]}]

BAD = {
    "an unknown name": ({"sed": 1}, (), "sed: is nothing that can be swept, did you mean seed?"),
    "a file": ({"k": 3, "out": "x"}, (), "out: is nothing that can be swept"),
    "threads": ({"k": 3, "threads": 2}, (), "threads: is nothing that can be swept"),
    "no k": ({"seed": "0:2"}, (), r"cell 0 \(seed=0\): k: is required"),
    "a value out of its domain": ({"k": "3,1"}, (), r"cell 1 \(k=1\): k=1: must be at least 2"),
    "values that contradict": ({"k": "2:4", "Q": 2}, (), r"cell 0 \(k=2\): Q=2: must be less than k"),
    "an unknown method": ({"k": 3, "method": "erm,magic"}, (), "method='magic': must be one of"),
    "an unknown integrator": ({"k": 3, "integrator": "euler"}, (), "integrator='euler': must be one of"),
    "a seed that is none": ({"k": 3, "seed": "-1"}, (), "seed=-1"),
    "a mixing law that is none": ({"k": 3, "method": "mixup", "mixing": ["a"]}, (), "mixing='a'"),
    "an eta out of its domain": ({"k": 3, "integrator": "gd", "eta": -1}, (), "eta=-1: must be a finite number > 0"),
    "more steps than can be made": (
        {"k": 3, "integrator": "gd", "eta": "3,1e-300", "t_end": 1e50}, (), r"cell 0 \(eta=3\): eta=3, t_end=1e\+50: more than 1e\+15 steps"
    ),
    "more steps of the default size": ({"k": 3, "integrator": "gd", "t_end": 1e50}, (), r"eta=18, t_end=1e\+50: more than 1e\+15 steps"),
    "a value that is too deep": ({"k": "[" * 500 + "]" * 500}, (), r"k=\[.*: must be a finite number, .* not more than 8 levels deep"),
    "an option that no cell has": ({"k": 3, "method": "erm", "mixing": 0.3}, (), "mixing=0.3: belongs to another method or integrator"),
    "two ways to one dimension": ({"k": 3, "d": 100, "r0": 0.1}, (), "each follows from the other"),
    "r0 that is too small": ({"k": 3, "r0": 1e-300}, (), "r0=1e-300"),
    "the same run twice": ({"k": 3, "m": 3, "n_test": [20, 20.0]}, (), "n_test=20.0: is given twice"),
    "the same run in two ways": ({"k": 3, "method": "mixup", "mixing": TWO_WAYS}, (), r"cells 0 .* and 1 .* are the same run"),
    "a zip of one": ({"k": "3,4"}, [["k"]], "give at least two names"),
    "a zip of an unknown name": ({"k": "3,4"}, [["k", "d"]], "d has no values"),
    "a zip with a name twice": ({"k": "3,4", "d": "90,91"}, [["k", "d"], ["d", "k"]], "is named twice"),
    "a zip with values twice": ({"k": "3,4,3", "d": "90,90,90"}, [["k", "d"]], r"k,d=\(3, 90\): is given twice"),
    "a zip of different lengths": ({"k": "3,4", "d": "90,91,92"}, [["k", "d"]], "k has 2, d has 3"),
    "too many cells": ({"k": 3, "seed": "0:1000", "N": "100:300"}, (), f"200000 cells: at most {MOST_CELLS}"),
}  # fmt: skip


@looping("case", BAD)
def test_what_is_wrong_is_named(case):
    values, zips, words = BAD[case]
    with pytest.raises(UsageError, match=words) as error:
        Study.of(values, zips)
    assert "\n" not in str(error.value)


# ---- identity -----------------------------------------------------------------------------------------------------------------------

P = mvsim.Parameters(k=3, d=200)

SAME = {
    "a default that is given": ({"integrator": "flow", "n_test": 20, "settled_factor": 10}, {}),
    "what changes nothing": ({"threads": 2, "checkpoint_seconds": 1.0, "out": "x.nc", "resume": True}, {}),
    "an integer for a float": ({"t_end": 5}, {"t_end": 5.0}),
    "an integer step size": ({"integrator": "gd", "eta": 60}, {"eta": 60.0, "integrator": "gd"}),
    "the default law": ({"mixing": {"distribution": "beta", "args": [1, 1]}}, {}),
    "a law of integers": ({"mixing": {"distribution": "beta", "args": [2, 3]}}, {"mixing": {"args": [2.0, 3.0], "distribution": "beta"}}),
}


@looping("case", SAME)
def test_a_run_has_one_name_however_it_is_written(case):
    one, other = SAME[case]
    assert run_name(P, "mixup", 0, one) == run_name(P, "mixup", 0, other)


def test_what_makes_another_run_makes_another_name():
    ways = [
        {}, {"t_end": 5.0}, {"t_end": 6.0}, {"n_test": 21}, {"rtol": 1e-4}, {"integrator": "gd"},
        {"integrator": "gd", "eta": 1.0}, {"settled_factor": 5.0}, {"mixing": 0.3}, {"mixing": scipy.stats.beta(2, 2)},
        {"nodes": 8}, {"pairs": 7}, {"pairs": 7, "redraw": "each step"},
    ]  # fmt: skip
    assert len({run_name(P, "mixup", 0, options) for options in ways}) == len(ways)


def test_points_that_are_given_are_told_by_their_digest():
    data = mvsim.sample_dataset(P, seed=3)
    assert canonical_options(P, "erm", 0, {"data": data}) == {"data": data.digest()}


def test_options_out_of_their_domain_have_no_name():
    with pytest.raises(UsageError, match="t_end=-1"):
        run_name(P, "erm", 0, {"t_end": -1})
    with pytest.raises(UsageError, match=r"mixing=0\.3: erm has no such option"):
        run_name(P, "erm", 0, {"mixing": 0.3})


def test_runs_of_verification_and_of_sweeps_have_the_same_names():
    cell = Study.of({"k": 3, "d": 200, "N": 200, "method": "erm"}).cells[0]
    assert cell.file == run_name(P.replace(N=200), "erm", 0, {})
    assert np.array_equal(cell.parameters.correlations_shape, P.correlations_shape)


# ---- anything at all ----------------------------------------------------------------------------------------------------------------

LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.sampled_from([40, 4299, 4301]).map(lambda digits: 10**digits), st.floats(), st.text(max_size=8),
    st.sampled_from(["0:3", "3,4", "erm,mixup", "gd", "flow", '[{"kind": "uniform"}]', "{", "[", "0:99999999999", "1e400"]), st.binary(max_size=3),
)  # fmt: skip
ANYTHING = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=2), max_leaves=4)


@given(
    st.dictionaries(st.sampled_from([*NAMES, "sed"]), ANYTHING, max_size=4),
    st.lists(st.lists(st.sampled_from([*NAMES, "x"]), max_size=3), max_size=2),
)
@settings(max_examples=300)
def test_anything_is_a_study_or_one_line_that_says_why_not(values, zips):
    try:
        study = Study.of({"k": 3, **values}, zips)
        assert Study.from_plain(json.loads(json.dumps(study.plain()))).plain() == study.plain()
    except UsageError as error:
        refusal = str(error)
    else:
        refusal = ""
    assert "\n" not in refusal
    assert len(refusal) < 1500
