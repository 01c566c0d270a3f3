"""The gradient flow by CVODE beside mvsim's own steps: two solvers, one flow."""

import sys
import threading
import weakref
from functools import cache, partial
from itertools import pairwise

import numpy as np
import pytest
from example_run import assert_same_bits
from interrupting import assert_resumes

import mvsim
from mvsim.flow import CvodeFlow, Escaping, Field, GradientFlow, State, Units, stalls
from mvsim.flow.chart import EscapeChart
from mvsim.flow.cvode import segment
from mvsim.flow.cvode.carried import Memory
from mvsim.flow.cvode.muted import this_thread_muted
from mvsim.flow.cvode.solver import Solver, SolverFailedError
from mvsim.flow.system import ChartedField
from mvsim.multi_view.diagnostics import own_correlations
from mvsim.papers.midpoint_mixup.clock import OF_CLOCK
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.gradient_flow import STATEMENTS, gradient_flow
from mvsim.runs.recording.entries import EscapeLog
from mvsim.runs.simulation.field import field_of

pytestmark = pytest.mark.slow

SMALL = mvsim.Parameters(k=3, m=3, N=30, P=16, d=300)
START = mvsim.initial_correlations(SMALL, 0)
T_END = {"erm": 3e3, "midpoint": 2e5}
"""Until after several escapes."""


def fields(method):
    return field_of(mvsim.objective(method, SMALL, mvsim.sample_dataset(SMALL, 0)))


@cache
def followed(integrator, method, rtol=1e-3, t_end=None):
    """All visits, once for all tests."""
    return list(integrator(fields(method), rtol).trajectory(State(0, 0.0, START), t_end or T_END[method]))


def test_what_a_run_that_ends_early_calls_resumable_lies_on_the_longer_one():
    """CVODE shortens its steps towards the end, also those that do not come to it, and an escape may end the segment before."""
    field = fields("erm")
    whole = followed(CvodeFlow, "erm", t_end=1e5)
    reached = {(visit.state.step, visit.state.time): visit.state.c for visit in whole}
    escapes = [
        (before.state.time, after.state.time)
        for before, after in pairwise(whole)
        if (after.state.memory.since_escape == 0.0) and before.state.time > 0.0
    ]
    assert escapes
    ends = [low + part * (high - low) for low, high in escapes for part in (0.2, 0.6, 1.0, 1.4, 3.0)]
    cut, checked = 0, 0
    for t_end in ends:
        visits = list(CvodeFlow(field, 1e-3).trajectory(State(0, 0.0, START), t_end))
        cut += not all(visit.resumable for visit in visits if visit.mark)
        for visit in visits:
            if visit.resumable:
                checked += 1
                assert np.array_equal(reached[visit.state.step, visit.state.time], visit.state.c)
    assert cut == len(ends)
    assert checked > 5 * len(ends)


def plain_field(gradient, loss):
    """A field without data in two coordinates."""
    escaping = Escaping(np.arange(2), np.full(2, 0.1), 8.0)

    def units(c):
        return Units(*2 * [np.maximum(np.abs(c), 0.1)])

    return Field(lambda n, c: (loss(c), gradient(c)), lambda c: None, units, escaping, lambda i: f"c[{i}]")


def follow(field, t_end, rtol=1e-3):
    return list(CvodeFlow(field, rtol).trajectory(State(0, 0.0, np.ones((1, 1, 1, 2))), t_end))


def escape_times(visits):
    log = EscapeLog.started(own_correlations(START), SMALL.rho)
    for before, after in pairwise([State(0, 0.0, START), *(visit.state for visit in visits)]):
        log.observe(before, after)
    return np.where(np.isnan(log.time), np.inf, log.time)


@pytest.mark.parametrize("rtol", [1e-3, 1e-4])
@pytest.mark.parametrize("method", T_END)
def test_two_solvers_agree_through_escapes(method, rtol):
    (mine, *_), (others, *_) = (reversed(followed(integrator, method, rtol)) for integrator in (GradientFlow, CvodeFlow))
    assert own_correlations(mine.state.c).max() > 4 * SMALL.rho  # something has escaped
    size = np.abs(mine.state.c) + 0.1 * np.abs(mine.state.c).max(axis=(2, 3), keepdims=True)
    difference = np.max(np.abs(mine.state.c - others.state.c) / size)
    assert difference <= 10 * rtol
    assert difference > 1e-9  # and is not 0: the solvers are two
    assert others.state.time == mine.state.time == T_END[method]


def test_neurons_escape_in_the_same_order_and_views_at_the_same_distance():
    mine, others = (escape_times(followed(integrator, "midpoint", t_end=1e6)) for integrator in (GradientFlow, CvodeFlow))
    assert np.array_equal(np.argsort(mine, axis=None, kind="stable"), np.argsort(others, axis=None, kind="stable"))
    firsts = [times.min(axis=1) for times in (mine, others)]
    both = np.isfinite(firsts[0]).all(axis=1)
    assert both.sum() >= 2
    gaps = [np.abs(first[both, 0] - first[both, 1]) for first in firsts]
    assert np.allclose(*gaps, rtol=0.05)


@pytest.mark.parametrize("method", T_END)
def test_the_loss_falls_by_the_integral_of_the_squared_gradient(method):
    objective = mvsim.objective(method, SMALL, mvsim.sample_dataset(SMALL, 0))
    states = [visit.state for visit in followed(CvodeFlow, method)]
    losses = np.array([objective.loss(START), *(objective.loss(state.c) for state in states)])
    log_losses = np.log(losses)
    assert np.max(log_losses - np.minimum.accumulate(log_losses)) <= 1e-6
    assert losses[-1] < 0.9 * losses[0]
    dissipation = np.array([[state.dissipation, state.log_dissipation] for state in states])
    fallen = log_losses[0] - log_losses[1:]
    assert np.all(np.abs(dissipation[:, 0] - (losses[0] - losses[1:])) <= 20 * 1e-3 * losses[0])
    assert np.all(np.abs(dissipation[:, 1] - fallen) <= 20 * 1e-3 * (1.0 + fallen))


def test_the_preconditioner_makes_no_difference_to_the_result():
    field = fields("midpoint")
    blind = Field(field.loss_and_gradient, lambda c: None, field.units, field.escaping, field.component)
    without, with_it = ([*CvodeFlow(f, 1e-4).trajectory(State(0, 0.0, START), 1e5)][-1].state for f in (blind, field))
    assert np.abs(with_it.c - without.c).max() < 1e-2
    assert with_it.evaluations < without.evaluations


def test_a_segment_ends_with_a_mark_from_which_it_can_go_on():
    visits = followed(CvodeFlow, "midpoint")
    assert all(visit.mark == visit.resumable for visit in visits[:-1])
    assert (visits[-1].mark, visits[-1].resumable) == (True, False)
    marks = [0, *(visit.state.step for visit in visits if visit.mark)]
    assert max(np.diff(marks)) <= segment.MOST_STEPS
    assert len(visits) > 2 * len(marks)


def test_error_weights_stay_right_within_a_segment():
    """They are those of its start; only its last step may end where they are another."""
    field, ratios = fields("midpoint"), []
    for visit in [visit for visit in followed(CvodeFlow, "midpoint") if visit.resumable][::4]:
        one = segment.Segment(field, 1e-3, visit.state, visit.state.memory)
        steps = [step for step in one.steps(np.inf) if not step.last]
        ratios += [float((one.system.tolerance(step.y).equation / one.tolerance).min()) for step in steps]
    assert len(ratios) > 50
    assert segment.TIGHTER <= min(ratios) < 0.9


def simulate(out=None, method="midpoint", **options):
    return mvsim.simulate(SMALL, method, out=out, integrator="cvode", **{"t_end": 1e5, "n_test": 4, **options})


@cache
def uninterrupted(method="midpoint"):
    """Once for all tests."""
    return simulate(method=method)


@pytest.mark.parametrize("method", ["erm", "midpoint"])
@pytest.mark.parametrize("at", [1, 40, 130])
def test_a_resumed_run_is_the_uninterrupted_one(at, method, tmp_path, monkeypatch):
    assert_resumes(partial(simulate, method=method), at, uninterrupted(method), tmp_path / "run.nc", monkeypatch)


@pytest.mark.parametrize("first", [1e3, 1.7e4])
def test_a_run_extended_in_time_is_the_longer_run(first, tmp_path):
    simulate(tmp_path / "run.nc", t_end=first)
    assert_same_bits(simulate(tmp_path / "run.nc", resume=True).dataset, uninterrupted().dataset)


def fail_at(number, monkeypatch):
    """Let every start of CVODE fail at its step of that number."""
    taken, real = weakref.WeakKeyDictionary(), Solver.step

    def step(solver):
        taken[solver] = taken.get(solver, 0) + 1
        if taken[solver] == number:
            raise mvsim.DivergedError("the gradient is not finite")
        return real(solver)

    monkeypatch.setattr(Solver, "step", step)


def test_after_a_step_that_failed_the_segment_ends_before_it(tmp_path, monkeypatch):
    fail_at(3, monkeypatch)
    whole = simulate(method="erm", t_end=300.0)
    simulate(tmp_path / "run.nc", "erm", t_end=100.0)
    assert_same_bits(simulate(tmp_path / "run.nc", "erm", t_end=300.0, resume=True).dataset, whole.dataset)
    monkeypatch.undo()
    size = np.abs(whole.final_correlations) + 0.1 * np.abs(whole.final_correlations).max()
    assert np.max(np.abs(simulate(method="erm", t_end=300.0).final_correlations - whole.final_correlations) / size) <= 10 * 1e-3


def test_a_segment_that_never_begins_is_named(monkeypatch):
    fail_at(1, monkeypatch)
    said = r"^the flow has stalled: the gradient is not finite, even within \S+, at t = 0 \(step 0\); c\[\d, \d, \d, \d\] = .* changes most"
    with pytest.raises(mvsim.StalledError, match=said):
        follow_small(1e3)


def follow_small(t_end):
    return list(CvodeFlow(fields("erm")).trajectory(State(0, 0.0, START), t_end))


def test_a_failure_of_the_library_is_named_and_prints_nothing(capfd, monkeypatch):
    """A rate without any order, and a derivative that says nothing of it."""
    monkeypatch.setattr(Solver, "_product", lambda solver, t, y, rate, v, out: out.fill(0.0))
    rng = np.random.default_rng(0)
    field = plain_field(lambda c: 1e3 * rng.standard_normal(c.shape), lambda c: 1.0)
    y = np.ones(2)
    system = ChartedField(field, EscapeChart.at(y, *field.escaping), (1, 1, 1, 2), 1e-3, 1.0)
    solver = Solver(system, y, np.full(2, 1e-15), first=1.0, span=1.0)
    with pytest.raises(SolverFailedError, match=r"^CVODE: \w+ tests failed too many times"):
        solver.step()
    assert capfd.readouterr() == ("", "")


def test_values_that_are_not_finite_are_named():
    with pytest.raises(mvsim.DivergedError, match="not finite"):
        follow(plain_field(lambda c: np.full_like(c, np.nan), lambda c: 1.0), 1.0)


def test_a_dead_end_is_named():
    def wall(c):  # both sides push towards it: no flow goes on from there
        return np.where(c > 0.7, 1e9, -1e9)

    with pytest.raises(mvsim.StalledError, match=r"at t = .*c\[\d\] = "):
        follow(plain_field(wall, lambda c: 1.0 + 1e9 * float(np.abs(c - 0.7).sum())), 1.0, rtol=0.1)


def test_a_flow_that_hardly_gets_further_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(stalls, "STALL_GROWTH", 1e300)
    monkeypatch.setattr(stalls, "STALL_STEPS", 0.05)
    said = r"^the flow has stalled: in \d+ steps the time since the last escape grew by less than .*, at t = \S+ .*; c\["
    with pytest.raises(mvsim.StalledError, match=said):
        simulate(tmp_path / "run.nc")
    assert mvsim.open_run(tmp_path / "run.nc").status == "stalled"


def test_what_the_clock_loses_to_rounding_is_not_lost():
    """Near 1e17 doubles are 16 apart: the steps of a decay that takes some units leave the clock where it is."""
    field, begin = plain_field(lambda c: c, lambda c: 1.0 + 0.5 * float((c**2).sum())), 1e17
    chart = EscapeChart.at(np.ones(2), *field.escaping)
    memory = Memory(chart, longest=1.0, time_lost=0.0, lowest=np.inf, largest=1.0, since_escape=0.0, moving_step=0, moving_since=0.0)
    visits = CvodeFlow(field).trajectory(State(0, begin, np.ones((1, 1, 1, 2)), memory=memory), begin + 64.0)
    states = [visit.state for visit in visits if visit.resumable]
    elapsed = np.array([state.time - begin + state.memory.time_lost for state in states])
    assert sum(state.time == begin for state in states) >= 3
    assert np.allclose([state.c[0, 0, 0, 0] for state in states], np.exp(-elapsed), rtol=0.0, atol=5 * 1e-3)


def test_the_memory_is_what_was_packed():
    integrator, memory = CvodeFlow(fields("erm")), next(visit.state.memory for visit in followed(CvodeFlow, "erm")[40:] if visit.resumable)
    packed = integrator.pack(memory)
    again = integrator.pack(integrator.unpack(packed))
    assert set(again) == set(packed) >= {"chart.index", "longest", "moving_step"}
    for name, values in packed.items():
        assert np.array_equal(again[name], values)
        assert again[name].dtype == values.dtype
    assert (integrator.pack(None), integrator.unpack({})) == ({}, None)


def test_a_run_is_judged_as_a_flow():
    run = mvsim.simulate(SMALL, "erm", n_test=4, integrator="cvode")
    assert run.settled
    assert "gradients of the gradient flow by CVODE with rtol = 0.001" in run.summary
    assert run.provenance["integrator"]["name"] == "cvode"
    assert run.provenance["versions"]["scikit-sundae"]
    verdicts = gradient_flow(Evidence(run))
    assert len(verdicts) == len(STATEMENTS) + len(OF_CLOCK)
    assert {verdict.status for verdict in verdicts} == {"holds"}


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sksundae.cvode", None)
    said = r"^integrator='cvode': needs scikit-sundae, which is not installed; install it with .*\[cvode\].* or use integrator flow$"
    with pytest.raises(mvsim.UsageError, match=said):
        simulate()


def test_a_loss_that_is_drawn_afresh_is_no_flow():
    with pytest.raises(mvsim.UsageError, match="drawn afresh"):
        simulate(method="mixup", pairs=3, redraw="each step")


def test_other_threads_print_what_they_print(capsys):
    inside, printed = threading.Event(), threading.Event()

    def other():
        inside.wait(10.0)
        print("told")
        printed.set()

    thread = threading.Thread(target=other)
    thread.start()
    before = sys.stdout
    with this_thread_muted():
        print("dropped")
        inside.set()
        assert printed.wait(10.0)
    thread.join()
    assert sys.stdout is before
    assert capsys.readouterr().out == "told\n"
