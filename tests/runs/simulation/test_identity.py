"""Whether a run file holds the run that its name says, by everything that tells runs apart."""

from looping import looping
from tiny_run import TINY

import mvsim
from mvsim.multi_view.parameters import Parameters
from mvsim.runs.simulation.identity import readable_name, run_name, what_differs

MIXUP = {"method": "mixup", "t_end": 1.0, "n_test": 2, "nodes": 3}
RUNS = {
    "erm": {"method": "erm", "t_end": 2.0, "n_test": 2},
    "steps": {"method": "erm", "integrator": "gd", "eta": 1.0, "t_end": 2.0, "n_test": 2},
    "decayed": {"method": "erm", "t_end": 2.0, "n_test": 2, "weight_decay": 0.1},
    "smoothed": {"method": "erm", "t_end": 2.0, "n_test": 2, "label_smoothing": 0.1},
    "a law": {**MIXUP, "mixing": {"distribution": "beta", "args": [2, 2]}},
    "atoms": {**MIXUP, "mixing": {"atoms": [0.5, 1], "probabilities": [0.5, 0.5]}},
    "pairs": {**MIXUP, "mixing": 0.3, "pairs": 5},
}


def other(run, seed=0, **options):
    method = options.pop("method")
    return what_differs(run.provenance, Parameters(**TINY), method, seed, options)


@looping("name", RUNS)
def test_a_run_is_the_one_that_was_asked_for_and_no_other(name):
    asked = RUNS[name]
    run = mvsim.simulate(Parameters(**TINY), **asked)
    assert [one for one in RUNS if other(run, **RUNS[one]) is None] == [name]
    assert other(run, seed=1, **asked) == "seed"
    assert other(run, **{**asked, "n_test": 3}) == "n_test"
    assert other(run, **{**asked, "t_end": 20.0}) == "t_end"
    assert other(run, **{**asked, "t_end": 0.5}) is None  # it went on to a later end
    assert other(run, **{key: value for key, value in asked.items() if key != "t_end"}) is None


def test_other_parameters_are_named():
    run = mvsim.simulate(Parameters(**TINY), **RUNS["erm"])
    assert what_differs(run.provenance, Parameters(**{**TINY, "d": 100}), "erm", 0, {"t_end": 2.0, "n_test": 2}) == "parameters"


@looping(("name", "changed"), [
    ("erm", {"rtol": 1e-4}), ("steps", {"eta": 2.0}), ("a law", {"mixing": {"distribution": "beta", "args": [3, 2]}}), ("a law", {"nodes": 4}),
     ("atoms", {"mixing": 0.5}), ("pairs", {"pairs": 6}), ("pairs", {"redraw": "each step", "integrator": "gd"})])  # fmt: skip
def test_another_option_is_another_run_and_is_named(name, changed):
    assert other(mvsim.simulate(Parameters(**TINY), **RUNS[name]), **{**RUNS[name], **changed}) in changed


def test_the_default_tolerance_is_no_other_run():
    def names(**options):
        return [make(Parameters(**TINY), "erm", 0, options) for make in (run_name, readable_name)]

    assert names(rtol=1e-3) == names()
    assert names(rtol=1e-4) != names()
