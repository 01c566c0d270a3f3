"""Runs of the gradient flow are gradient flows, and records that were changed are found."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import mvsim
from mvsim.judging.over_seeds import over_seeds
from mvsim.papers.midpoint_mixup import judge_run
from mvsim.papers.midpoint_mixup.controls import TIMES as TIME_VARIABLES
from mvsim.papers.midpoint_mixup.controls import with_clock
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.judge_run import Judgement, judge
from mvsim.papers.midpoint_mixup.run_checks.clock import FARTHEST, clock_factor, first_growth
from mvsim.papers.midpoint_mixup.run_checks.gradient_flow import SHORTEST, gradient_flow
from mvsim.papers.midpoint_mixup.run_checks.replay_of_flow import replayed
from mvsim.runs.run import Run

DESCENT, BALANCE, LOG_BALANCE = "Gradient flow (descent)", "Gradient flow (energy balance)", "Gradient flow (energy balance, logarithmic)"
RATE, TIMES, LATE = "Gradient flow (recorded rate)", "Gradient flow (recorded times)", "Gradient flow (late law)"
MOTION = "Gradient flow (motion)"
GROWTH, BETWEEN, TOLERANCE = "Gradient flow (first growth)", "Gradient flow (growth between saved states)", "Gradient flow (tolerance)"
ALL = [TOLERANCE, DESCENT, BALANCE, LOG_BALANCE, MOTION, GROWTH, BETWEEN, RATE, TIMES, LATE]


def statuses(run):
    return {verdict.name: verdict.status for verdict in gradient_flow(Evidence(run))}


def altered(run, **values):
    """The run with other values of some variables of the records."""
    dataset = run.dataset
    if "time" in values:
        dataset = dataset.assign_coords(time=values.pop("time"))
    return Run(dataset.assign({name: ("time", np.asarray(value)) for name, value in values.items()}), run.provenance)


def recorded(run, name):
    return run.dataset[name].to_numpy().copy()


def failing(run):
    return {name for name, status in statuses(run).items() if status == "fails"}


def test_real_runs_hold(erm, midpoint):
    assert statuses(erm) == dict.fromkeys(ALL, "holds")
    assert statuses(midpoint) == dict.fromkeys(ALL, "holds") | {RATE: "not applicable", TIMES: "not applicable", LATE: "not applicable"}
    verdicts = {verdict.name: verdict for verdict in gradient_flow(Evidence(midpoint))}
    assert all(verdicts[name].detail for name in (RATE, TIMES, LATE))


@pytest.fixture(scope="module")
def following():
    """A run that follows escapes, beyond the first two of them."""
    return mvsim.simulate(mvsim.Parameters(k=3, d=400, N=30, P=27), "midpoint", integrator="escapes", t_end=1e6, n_test=4)


def test_a_run_that_follows_escapes_is_judged_by_what_it_promises(following):
    verdicts = {verdict.name: verdict for verdict in gradient_flow(Evidence(following))}
    not_applicable = {name for name, verdict in verdicts.items() if verdict.status == "not applicable"}
    assert {BALANCE, LOG_BALANCE, MOTION} <= not_applicable
    assert verdicts[BALANCE].detail == "the integrator escapes does not add it up; its states are replayed"
    assert {verdict.status for verdict in verdicts.values()} == {"holds", "measured", "not applicable"}
    assert verdicts[TOLERANCE].measured == pytest.approx(1e-3)  # a fifth of its own
    assert verdicts["Gradient flow (escape times)"].measured >= 5e-4
    statuses = {verdict.name: verdict.status for verdict in replayed(Evidence(following))}
    assert statuses.pop("Replay (margins)") == "measured"  # no error of outputs is bounded
    assert set(statuses.values()) == {"holds"}


@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_another_clock_of_a_run_that_follows_escapes_is_found(following, factor):
    d = following.dataset
    moved = d.assign_coords(time=factor * d["time"]).assign(snapshot_time=factor * d["snapshot_time"], final_time=factor * d["final_time"])
    assert "fails" in {verdict.status for verdict in replayed(Evidence(Run(moved, following.provenance)))}


@pytest.mark.parametrize("rtol", [1e-7, 1e-9])
def test_runs_of_a_fine_tolerance_hold_and_their_checks_can_fail(rtol):
    run = mvsim.simulate(mvsim.Parameters(k=3, d=300, N=30, P=12), "erm", rtol=rtol, t_end=3e3, n_test=4)
    verdicts = {verdict.name: verdict for verdict in gradient_flow(Evidence(run))}
    assert {name: verdicts[name].status for name in (BALANCE, LOG_BALANCE)} == dict.fromkeys((BALANCE, LOG_BALANCE), "holds")
    assert verdicts[BALANCE].bound == pytest.approx(0.5 * rtol ** (2 / 3))
    assert verdicts[BALANCE].measured > 0.01 * verdicts[BALANCE].bound  # the bound is not out of sight
    wrong = altered(run, dissipation=(1.0 + 3.0 * rtol ** (2 / 3)) * recorded(run, "dissipation"))
    assert failing(wrong) == {BALANCE}


def test_they_are_part_of_the_judgement(erm, monkeypatch):
    monkeypatch.setattr(judge_run, "replayed", lambda evidence: [])  # takes long
    names = {verdict.name for verdict in judge(erm, "4.6").verdicts}
    assert set(ALL) <= names


@pytest.mark.parametrize("changed", [lambda t: t**1.5, lambda t: t**0.9, lambda t: 1.5 * t, lambda t: t / 1.5])
def test_other_times_are_found(erm, midpoint, changed):
    assert failing(altered(erm, time=changed(recorded(erm, "time")))) >= {RATE, GROWTH}
    assert failing(altered(midpoint, time=changed(recorded(midpoint, "time")))) - {MOTION} == {GROWTH}


def test_times_and_gradient_norms_that_fit_each_other_are_found(erm, midpoint):
    for run in (erm, midpoint):
        time, norm = 1000.0 * recorded(run, "time"), recorded(run, "gradient_norm") / np.sqrt(1000.0)
        assert failing(altered(run, time=time, gradient_norm=norm)) == {GROWTH}


def test_a_coarse_tolerance_does_not_make_everything_a_flow(erm):
    coarse = Run(erm.dataset, erm.provenance | {"integrator": erm.provenance["integrator"] | {"rtol": 0.1}})
    noise = np.exp(0.5 * np.random.default_rng(0).standard_normal(len(erm.dataset["time"])))
    assert failing(altered(coarse, loss=noise * recorded(erm, "loss"))) >= {DESCENT, LOG_BALANCE}


def test_one_loss_that_is_too_high_or_not_positive_is_found(erm):
    for where in (5, -5):
        loss = recorded(erm, "loss")
        loss[where] *= 1.05
        assert LOG_BALANCE in failing(altered(erm, loss=loss)), where
    loss = recorded(erm, "loss")
    loss[-1] = -1e-300
    assert {DESCENT, LOG_BALANCE} <= failing(altered(erm, loss=loss))


def test_a_loss_that_rises_is_found_where_and_when(erm):
    loss = recorded(erm, "loss")
    loss[5] *= 1.05
    verdict = gradient_flow(Evidence(altered(erm, loss=loss)))[1]
    assert (verdict.name, verdict.status) == (DESCENT, "fails")
    assert verdict.measured == pytest.approx(np.log(loss[5] / loss[:5].min()), rel=1e-12)
    assert verdict.violated_at == recorded(erm, "time")[5]
    assert verdict.margin < 0.0


def test_other_times_and_gradient_norms_break_the_rates_and_the_late_law(erm):
    assert failing(altered(erm, time=recorded(erm, "time") ** 1.5)) == {RATE, TIMES, LATE, GROWTH}
    assert failing(altered(erm, gradient_norm=1.5 * recorded(erm, "gradient_norm"))) == {RATE, TIMES, LATE}
    for factor in (1 / 1.5, 1.1):
        assert {RATE} <= failing(altered(erm, gradient_norm=factor * recorded(erm, "gradient_norm"))), factor


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_other_integrals_are_found(erm, midpoint, factor):
    for name, check in (("dissipation", BALANCE), ("log_dissipation", LOG_BALANCE)):
        assert failing(altered(erm, **{name: factor * recorded(erm, name)})) - {MOTION} == {check}
    assert failing(altered(midpoint, dissipation=factor * recorded(midpoint, "dissipation"))) == {BALANCE}


def test_bounds_go_with_the_tolerance_of_the_run(erm):
    """What holds at its own tolerance fails at one that is a thousand times finer."""
    finer = Run(erm.dataset, erm.provenance | {"integrator": erm.provenance["integrator"] | {"rtol": 1e-6}})
    assert {BALANCE, LOG_BALANCE} <= failing(finer)


@pytest.mark.parametrize(("name", "check"), [("dissipation", BALANCE), ("log_dissipation", LOG_BALANCE)])
def test_without_integrals_the_balance_is_inconclusive(erm, name, check):
    begun_earlier = recorded(erm, name)
    begun_earlier[:3] = np.nan
    found = statuses(altered(erm, **{name: begun_earlier}))
    assert found.pop(check) == "inconclusive"
    assert found.pop(MOTION) == ("inconclusive" if check == LOG_BALANCE else "holds")
    assert set(found.values()) == {"holds"}


def test_what_is_judged_follows_from_how_the_run_was_stepped(erm):
    for integrator, found in (
        ({"name": "flow"}, {"Gradient flow": "inconclusive"}),
        ({"name": "gd", "learning_rate": 0.1}, {}),
        ({"name": "foo"}, {"Gradient flow": "inconclusive"}),
    ):
        run = Run(erm.dataset, erm.provenance | {"integrator": integrator})
        assert statuses(run) == found, integrator
        assert all("'foo'" in verdict.detail for verdict in gradient_flow(Evidence(run)) if integrator["name"] == "foo")
    coarse = Run(erm.dataset, erm.provenance | {"integrator": erm.provenance["integrator"] | {"rtol": 0.1}})
    assert statuses(coarse)[TOLERANCE] == "inconclusive"  # every bound grows with it


def test_the_late_law_waits_for_the_last_change(erm):
    """A neuron that escaped, a feature that changed or a loss that was large when time was a fifth of the end: the premise is not met."""
    times = recorded(erm, "time")
    recent = times >= times[-1] / 5.0
    escapes = erm.dataset["entry_time"].copy()
    escapes[0, 0, 0] = times[-1] / 5.0
    learned = erm.dataset["feature_learned"].copy()
    learned[~recent, 0, 0] = 1.0 - learned[-1, 0, 0]
    loss = np.where(recent, recorded(erm, "loss"), 1.0)
    for run in (
        Run(erm.dataset.assign(entry_time=escapes), erm.provenance),
        Run(erm.dataset.assign(feature_learned=learned), erm.provenance),
        altered(erm, loss=loss),
    ):
        assert statuses(run)[LATE] == "not applicable"


def test_a_run_that_has_hardly_begun_is_judged_by_what_it_has(erm):
    found = statuses(Run(erm.dataset.isel(time=slice(1)), erm.provenance))
    there = {TOLERANCE: "holds", DESCENT: "holds", BALANCE: "holds", LOG_BALANCE: "inconclusive", MOTION: "holds", BETWEEN: "holds"}
    assert found == there | dict.fromkeys([GROWTH, RATE, TIMES, LATE], "not applicable")


def test_one_run_that_is_no_flow_counts_among_many(erm):
    """Over seeds the worst run speaks, as of an identity, and not a fraction of runs."""
    changed = altered(erm, dissipation=1.1 * recorded(erm, "dissipation"))
    judgements = [Judgement(run, gradient_flow(Evidence(run))) for run in [erm] * 9 + [changed]]
    found = {verdict.name: verdict.status for verdict in over_seeds("Theorem 4.6", 4, judgements)}
    assert found[f"{BALANCE}, k = 4"] == "fails"
    assert found[f"{DESCENT}, k = 4"] == "holds"


@pytest.mark.parametrize("factor", [1.2, 1.65, 0.85])
def test_another_time_of_one_record_is_found(erm, factor):
    """The last record, and one in the late decay of the loss; where they come closer than records that are compared, a replay has to find it."""
    for record in (-1, -4):
        times = erm.dataset["time"].values.copy()
        times[record] *= factor
        if (np.diff(np.log(times[-6:])) >= SHORTEST).all():
            moved = Run(erm.dataset.assign_coords(time=("time", times)).assign(final_time=times[-1]), erm.provenance)
            assert statuses(moved)[TIMES] == "fails"
    assert statuses(erm)[TIMES] == "holds"


def test_records_between_which_a_view_escapes_are_not_compared(erm):
    times = recorded(erm, "time")
    later = np.arange(len(times)) > len(times) - 3
    loss, norm = (np.where(later, part, 1.0) * recorded(erm, name) for name, part in (("loss", 0.5), ("gradient_norm", 0.5**0.5)))
    run = altered(erm, loss=loss, gradient_norm=norm)
    assert TIMES in failing(run)
    escape = recorded(erm, "escape_time")
    escape[0, 0, 0] = np.sqrt(times[~later][-1] * times[later][0])
    assert TIMES not in failing(Run(run.dataset.assign(escape_time=(run.dataset["escape_time"].dims, escape)), run.provenance))


@pytest.mark.parametrize("factor", [0.3, 0.5, 2.0, 3.0])
def test_a_wait_that_was_cut_out_of_the_clock_or_put_into_it_is_found(midpoint, factor):
    """All other statements pass: what comes later is shifted as a whole, and the flow is autonomous."""
    clean = {verdict.name: verdict for verdict in gradient_flow(Evidence(midpoint))}[BETWEEN]
    assert clean.measured < 1.2
    snapshots = Evidence(midpoint).snapshots
    told = [(here.time, then.time) for here, then in pairwise(snapshots) if clock_factor(Evidence(midpoint), here, then) is not None]
    start, end = [each for each in told if 3.0 * each[1] < FARTHEST * each[0]][-1]  # the largest factor leaves it comparable
    changed = with_clock(
        midpoint, lambda t: t.where(t <= start, start + factor * (np.minimum(t, end) - start) + np.maximum(t - end, 0.0)), TIME_VARIABLES
    )
    assert failing(changed) - {MOTION} == {BETWEEN}
    verdict = {verdict.name: verdict for verdict in gradient_flow(Evidence(changed))}[BETWEEN]
    wrong = max(factor, 1.0 / factor)
    assert wrong / 1.4 < verdict.measured < 1.1 * wrong  # K changes by a third there, which is allowed for
    assert verdict.violated_at == pytest.approx(start + factor * (end - start))


@pytest.mark.parametrize(
    ("start", "K", "expected"),
    [
        (10.0, 1.0, 3.0),
        (10.0, 1.2, 3.0),  # the nearer of the two K counts
        (10.0, 1.0 / 1.2, 2.5),
        (10.0, 1.4, None),  # K is another one at the end: in between it may be anything
        (0.0, 1.0, 3.0),
        (0.01, 1.0, None),  # time grows by more than a hundred
    ],
)
def test_growth_tells_the_time_only_where_it_is_as_fast_at_both_ends(start, K, expected):
    """c' = K c^7 with K = 1 at first, from 1/2 to where the way to infinity is shorter by a tenth; it is said to take three times as long."""
    (c, C), took = (0.5, 0.5 * 0.9 ** (-1.0 / 6.0)), 0.1 * 0.5**-6 / 6.0
    here, then = (
        SimpleNamespace(time=time, c=np.full((1, 1, 1, 1), at), K=speed) for time, at, speed in ((start, c, 1.0), (start + 3.0 * took, C, K))
    )
    evidence = SimpleNamespace(
        parameters=SimpleNamespace(alpha=8.0),
        objective=SimpleNamespace(escapes_at=2.0),
        gradient=lambda state: -state.K * state.c**7,
        entry_time=np.full((1, 1), np.inf),
    )
    factor = clock_factor(evidence, here, then)
    assert factor == (expected if expected is None else pytest.approx(expected, rel=1e-9))


@pytest.mark.parametrize(("factor", "status"), [(1.0, "holds"), (1.09, "holds"), (1.11, "fails"), (1.0 / 1.09, "holds"), (1.0 / 1.11, "fails")])
def test_the_first_growth_tells_the_time_within_a_tenth(factor, status):
    """c' = c^7 from 1/2 to where the way to infinity is shorter by a twentieth; the record says that it took ``factor`` times as long."""
    c, C, took = 0.5, 0.5 * 0.95 ** (-1.0 / 6.0), 0.05 * 0.5**-6 / 6.0
    evidence = SimpleNamespace(
        parameters=SimpleNamespace(alpha=8.0),
        own=np.array([c, C]).reshape(2, 1, 1, 1),
        times=np.array([0.0, factor * took]),
        snapshots=[SimpleNamespace(c=np.full((1, 1, 1, 1), c))],
        gradient=lambda state: -(state.c**7),
    )
    verdict = first_growth(evidence)
    assert (verdict.status, verdict.measured) == (status, pytest.approx(max(factor, 1.0 / factor), rel=1e-9))


@pytest.mark.parametrize(("escapes", "looked_at"), [([2.5, np.inf], True), ([2.5, 2.6], False), ([1.0, 2.6], True), ([2.5, 4.0], True)])
def test_growth_does_not_tell_the_time_where_several_views_escape_in_between(escapes, looked_at):
    """K may be another one between two of them, though it is the same at both ends."""
    c, C = 0.5, 0.5 * 0.9 ** (-1.0 / 6.0)
    here, then = (SimpleNamespace(time=time, c=np.full((1, 1, 1, 1), at)) for time, at in ((2.0, c), (2.0 + 0.1 * 0.5**-6 / 6.0, C)))
    evidence = SimpleNamespace(
        parameters=SimpleNamespace(alpha=8.0),
        objective=SimpleNamespace(escapes_at=2.0),
        gradient=lambda state: -(state.c**7),
        entry_time=np.array([escapes]),
    )
    assert clock_factor(evidence, here, then) == (pytest.approx(1.0) if looked_at else None)


def with_own(run, change):
    """The run with its recorded own correlations changed by ``change`` (T, k, m, V)."""
    own = recorded(run, "own_correlations")
    change(own)
    return Run(run.dataset.assign(own_correlations=(run.dataset["own_correlations"].dims, own)), run.provenance)


@pytest.mark.parametrize("method", ["erm", "midpoint"])
def test_a_state_that_jumps_between_two_records_is_found(runs, method):
    """From one record to the next all classes lose a tenth of what they have learned, and from then on it stays so: whatever is replayed."""
    run = runs[method]

    def shrink(own):
        own[-4:] *= 0.9

    assert failing(with_own(run, shrink)) == {MOTION}
    verdicts = {verdict.name: verdict for verdict in gradient_flow(Evidence(run))}
    assert 0.9 < verdicts[MOTION].measured < 1.0  # Cauchy and Schwarz are near equality where motion is steady: the bound is not out of sight


def test_motion_is_bounded_by_the_energy_that_is_lost_as_the_formula_has_it(erm):
    own, t, loss, lost = (recorded(erm, name) for name in ("own_correlations", "time", "loss", "log_dissipation"))
    ratios = [np.linalg.norm(own[i + 1] - own[i]) / np.sqrt((t[i + 1] - t[i]) * loss[i] * (lost[i + 1] - lost[i])) for i in range(len(t) - 1)]
    verdicts = {verdict.name: verdict for verdict in gradient_flow(Evidence(erm))}
    assert verdicts[MOTION].measured == pytest.approx(max(ratios), rel=1e-6)


def interrupted_after_its_last_record(run, change=lambda c: c):
    """The run as if it had been interrupted an instant later, in a state that is another one."""
    dataset = run.dataset
    later = {"final_step": int(dataset["final_step"]) + 1, "final_time": float(dataset["final_time"]) * (1.0 + 1e-12)}
    c = change(dataset["final_correlations"].values.copy())
    final = (dataset["final_correlations"].dims, c)
    return Run(dataset.assign(**later, final_correlations=final), run.provenance | {"status": "interrupted"})


def test_a_final_state_without_a_record_that_is_elsewhere_is_found(run):
    def less(c):
        c[0, :, 0] *= 0.5
        return c

    assert MOTION not in failing(interrupted_after_its_last_record(run))
    assert MOTION in failing(interrupted_after_its_last_record(run, less))
