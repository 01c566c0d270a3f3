"""How long a plan may take: the number of gradients follows runs, and their time the machine."""

import pytest

import mvsim
from mvsim.runs.simulation import cost
from mvsim.sweeps import estimate
from mvsim.sweeps.estimate import Pace, count_of, seconds_of
from mvsim.sweeps.study import Study


def cell_of(**values):
    return Study.of(values).cells[0]


def test_gradient_descent_takes_the_steps_that_fit():
    assert count_of(cell_of(k=3, method="erm", integrator="gd", eta=3.0, t_end=90.0)) == 30.0
    assert count_of(cell_of(k=3, method="erm", integrator="gd", eta=3.0, t_end=91.0)) == 31.0


def test_a_flow_takes_about_as_many_gradients_as_predicted():
    cell = cell_of(k=4, method="erm")
    run = mvsim.simulate(cell.parameters, "erm", seed=0, threads=1)
    assert run.settled
    assert 0.5 < int(run.dataset["final_evaluations"]) / count_of(cell) < 2.0


def test_smaller_starts_and_more_classes_take_longer():
    counts = [count_of(cell_of(k=k, r0=r0, method="erm")) for k, r0 in ((4, 0.4), (4, 0.1), (10, 0.1))]
    assert counts == sorted(counts)
    assert counts[2] == pytest.approx(counts[1] * (10 / 4) ** cost.GRADIENTS[False][1], rel=0.02)  # r0 is rounded with d
    assert count_of(cell_of(k=4, d=4**20, method="erm")) > 4 * counts[0]


def test_the_pace_is_measured_here(monkeypatch):
    """The cheapest cell of each method is measured once; a machine on which its gradients take ten times as long makes all of them dearer."""
    cells, measured = Study.of({"k": "10,4,6", "method": "erm,midpoint"}).cells, []

    def slow(cell):
        measured.append((cell.method, cell.parameters.k))
        return 10.0 * estimate._gradient(cell)

    monkeypatch.setattr(estimate, "measured_gradient", slow)
    pace = Pace(cells)
    assert sorted(measured) == [("erm", 4), ("midpoint", 4)]
    for cell in cells:
        assert pace.seconds_of(cell) == pytest.approx(seconds_of(cell) + 9.0 * count_of(cell) * estimate._gradient(cell))


def test_a_gradient_is_timed():
    cell = cell_of(k=3, m=2, N=12, P=9, d=60, G=6, method="midpoint")
    assert 1e-7 < estimate.measured_gradient(cell, seconds=0.01) < 1.0


def test_another_tolerance_takes_more_gradients():
    usual, finer = (count_of(cell_of(k=4, method="erm", **options)) for options in ({}, {"rtol": 1e-8}))
    assert usual < finer
