"""Theorems 4.6 and 4.7 on one run, and over seeds and k."""

import itertools
import math
import re
import statistics
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from binomial import binomial_tail

import mvsim
from mvsim.judging.number_text import side_text
from mvsim.judging.over_seeds import over_seeds
from mvsim.judging.over_sizes import exponent_of as exponent_of_k
from mvsim.judging.verdict import Count, Verdict, at_most, constant
from mvsim.numerics.intervals import clopper_pearson, clustered_interval
from mvsim.papers.midpoint_mixup.judge_run import Judgement, judge
from mvsim.papers.midpoint_mixup.over_runs import over_k
from mvsim.papers.midpoint_mixup.paths import path_in_k
from mvsim.papers.midpoint_mixup.theorems.definition import Earlier, Learned, definition_4_5, learned_features
from mvsim.papers.midpoint_mixup.theorems.theorems import THEOREMS
from mvsim.runs.run import Run


def made_up(learned, accuracy, times=None):
    """A run with these records, (T, k, 2) and (T,); and what its end says."""
    learned = np.asarray(learned, dtype=np.float64)
    from synthetic import synthetic_run

    k = learned.shape[1]
    run = synthetic_run("erm", k=k, records=len(learned))
    times = 10.0 ** np.arange(len(learned)) if times is None else np.asarray(times, dtype=np.float64)
    dataset = run.dataset.isel(time=slice(len(learned))).assign_coords(time=times)
    dataset["feature_learned"] = (dataset["feature_learned"].dims, learned)
    dataset["training_accuracy"] = (("time",), np.asarray(accuracy, dtype=np.float64))
    training, escaped = np.ones((k, 2)) * learned[-1], np.ones((k, 2), dtype=bool)
    return Run(dataset, run.provenance), Learned(learned[-1], 200, training, learned[-1] >= 1.0, float(accuracy[-1]), escaped)


ONE, BOTH, NONE = [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]


def statuses(number, learned, accuracy, stays=np.inf, **options):
    return [verdict.status for verdict in THEOREMS[number].judge(*made_up(learned, accuracy, **options), stays)]


@pytest.mark.parametrize(
    ("number", "end", "expected"),
    [
        ("4.6", [ONE] * 10, "holds"),
        ("4.6", [ONE] * 9 + [BOTH], "holds"),
        ("4.6", [ONE] * 8 + [BOTH] * 2, "fails"),
        ("4.6", [ONE] * 8 + [NONE] * 2, "fails"),
        ("4.6", [BOTH] * 10, "fails"),
        ("4.6", [ONE] * 9 + [[1.0, 0.99]], "holds"),
        ("4.6", [ONE] * 8 + [[1.0, 0.99]] * 2, "inconclusive"),
        ("4.6", [ONE] * 8 + [[0.99, 0.01]] * 2, "inconclusive"),
        ("4.6", [ONE] * 7 + [[1.0, 0.01]] + [BOTH] * 2, "fails"),
        ("4.7", [BOTH] * 10, "holds"),
        ("4.7", [BOTH] * 9 + [ONE], "fails"),
        ("4.7", [BOTH] * 9 + [[1.0, 0.95]], "fails"),
    ],
)
def test_features_are_counted_as_the_theorem_says(number, end, expected):
    learned, accuracy = [[NONE] * 10, end, end, end], [0.0, 1.0, 1.0, 1.0]
    assert statuses(number, learned, accuracy, times=[0, 1, 10, 1e4]) == ["holds", expected]


def test_only_what_holds_is_true_to_the_end():
    for number, words in (("4.6", "true to t = 1e+04"), ("4.7", "so to t = 1e+04")):
        features = THEOREMS[number].judge(*made_up([[NONE] * 10, *[[ONE] * 10] * 3], [0.0, 1.0, 1.0, 1.0], times=[0, 1, 10, 1e4]))[1]
        assert f"unchanged since t = 1, {words}" in features.detail


OPEN, SETTLED, LATE = ["inconclusive", "inconclusive"], ["holds", "holds"], [0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("number", "learned", "accuracy", "times", "expected"),
    [
        # what is missing may still come, what is learned stays
        ("4.7", [[NONE] * 10, *[[BOTH] * 9 + [ONE]] * 3], [0.0, 1.0, 1.0, 1.0], [0, 1, 10, 9.9e3], ["holds", "inconclusive"]),
        ("4.6", [[NONE] * 10, *[[BOTH] * 10] * 3], [0.0, 1.0, 1.0, 1.0], [0, 1, 10, 9.9e3], ["holds", "fails"]),
        # the class without may become the ninth with one
        ("4.6", [[NONE] * 10, *[[ONE] * 8 + [NONE, BOTH]] * 3], [0.0, 1.0, 1.0, 1.0], [0, 1, 10, 9.9e3], ["holds", "inconclusive"]),
        ("4.6", [[NONE] * 10, *[[ONE] * 8 + [NONE, BOTH]] * 3], [0.0, 1.0, 1.0, 1.0], [0, 1, 10, 1e4], ["holds", "fails"]),
        # eight at most, whatever comes; no more is missing than may be
        ("4.6", [[NONE] * 10, *[[ONE] * 7 + [NONE, BOTH, BOTH]] * 3], [0.0, 1.0, 1.0, 1.0], [0, 1, 10, 9.9e3], ["holds", "fails"]),
        ("4.6", [[NONE] * 10, *[[ONE] * 9 + [NONE]] * 3], [0.0, 1.0, 1.0, 1.0], [0, 1, 10, 9.9e3], SETTLED),
        # what is true only at the end
        ("4.6", [[NONE] * 10, [NONE] * 10, [ONE] * 10], [0.0, 0.0, 1.0], None, OPEN),
        ("4.6", [[NONE] * 10, [NONE] * 10, [ONE] * 10, [ONE] * 10], LATE, [0, 1, 2, 19], OPEN),
        ("4.6", [[NONE] * 10, [NONE] * 10, [ONE] * 10, [ONE] * 10], LATE, [0, 1, 2, 20], SETTLED),
        # what is true from the start has to last for a multiple of the first step
        ("4.6", [[ONE] * 10], [1.0], [0], OPEN),
        ("4.6", [[ONE] * 10] * 2, [1.0] * 2, [0, 1], OPEN),
        ("4.6", [[ONE] * 10] * 3, [1.0] * 3, [0, 1, 9.9], OPEN),
        ("4.6", [[ONE] * 10] * 3, [1.0] * 3, [0, 1, 10], SETTLED),
        # training accuracy that stays below 1 fails; where nothing has happened nothing does
        ("4.6", [[ONE] * 10] * 4, [0.5, 0.9, 0.9, 0.9], [0, 1, 10, 9.9e3], OPEN),
        ("4.6", [[ONE] * 10] * 4, [0.5, 0.9, 0.9, 0.9], [0, 1, 10, 1e4], ["fails", "holds"]),
        ("4.7", [[NONE] * 10] * 4, [0.1] * 4, None, OPEN),
    ],
)
def test_both_parts_are_decided_once_they_have_lasted(number, learned, accuracy, times, expected):
    assert statuses(number, learned, accuracy, times=times) == expected


@pytest.mark.parametrize(("end", "stays", "expected"), [(9.9e3, 9.9e3, OPEN[0]), (10.0, 9.9e3, OPEN[0]), (10.0, 1e4, "holds"), (1e4, 0.0, "holds")])
def test_what_rests_on_missing_features_waits_as_long_whether_it_holds_or_fails(end, stays, expected):
    """Theorem 4.6 holds while no second feature has come, as Theorem 4.7 fails: after 10^4, or with the prediction that none comes before."""
    records, accuracy, times = [[NONE] * 10, [ONE] * 10, [ONE] * 10], [0.0, 1.0, 1.0], [0, 1, end]
    assert statuses("4.6", records, accuracy, stays=np.log(stays) if stays else -np.inf, times=times)[1] == expected
    failed = statuses("4.7", records, accuracy, times=times)[1]
    assert failed == ("fails" if end == 1e4 else "inconclusive")


def at(time, state, escaped=True):
    """A saved state with what is learned at it, (k, 2); every view has escaped, or none."""
    state = np.array(state, dtype=bool)
    return Earlier(time, state, np.full_like(state, escaped))


TIMES, ACCURACY = [0.0, 1.0, 10.0, 100.0], [0.0, 1.0, 1.0, 1.0]


def test_features_last_since_all_draws_say_so_at_saved_states():
    """The run's own draws have been right since t = 1; all draws are right since a later state."""
    run, learned = made_up([[NONE] * 10, *[[BOTH] * 10] * 3], ACCURACY, TIMES)
    both, fewer = [BOTH] * 10, [BOTH] * 3 + [ONE] + [BOTH] * 6

    def features(*earlier):
        return THEOREMS["4.7"].judge(run, replace(learned, earlier=[at(*state) for state in earlier]))[1]

    assert features((0.5, fewer), (2.0, both), (50.0, both)).status == "holds"  # the record at t = 1 says so, too
    assert "unchanged since t = 1, " in features((0.5, fewer), (2.0, both), (50.0, both)).detail
    assert "unchanged since t = 20, " in features((0.5, fewer), (2.0, fewer), (20.0, both)).detail
    assert features((0.5, fewer), (2.0, fewer), (20.0, both)).status == "holds"  # the root of ten is enough
    assert features((2.0, fewer), (50.0, both)).status == "inconclusive"
    assert features((2.0, both), (50.0, fewer)).status == "inconclusive"
    assert "the last change is at the end, t = 100" in features((2.0, both), (50.0, fewer)).detail


SECOND, FIRST = [NONE] * 3 + [[0.0, 1.0]] + [NONE] * 6, [NONE] * 3 + [ONE] + [NONE] * 6


@pytest.mark.parametrize(
    ("records", "earlier", "since"),
    [
        # at t = 0.5, the last saved state, nothing, or view 1 of class 3 is learned by all draws and not by the run's own, as at the end by neither
        ([[NONE] * 10, *[[ONE] * 10] * 3], [(0.5, [NONE] * 10)], "unchanged since t = 1, "),
        ([[NONE] * 10, *[[ONE] * 10] * 3], [(0.5, SECOND)], "the last change is at the end"),
        # all draws do not see view 0 of class 3 learned yet, the run's own do; another view comes at t = 1
        ([FIRST, *[[ONE] * 10] * 3], [(0.5, [NONE] * 10)], "unchanged since t = 1, "),
        # all draws agree with the end from t = 0.7 on, the run's own since t = 10 only
        ([[NONE] * 10, [ONE] * 9 + [BOTH], *[[ONE] * 10] * 2], [(0.5, SECOND), (0.7, [ONE] * 10)], "unchanged since t = 10, "),
    ],
)
def test_since_when_features_last_by_the_draws_of_the_run_and_by_all(records, earlier, since):
    run, learned = made_up(records, ACCURACY, TIMES)
    verdict = THEOREMS["4.6"].judge(run, replace(learned, earlier=[at(*state) for state in earlier]), np.inf)[1]
    assert since in verdict.detail
    assert verdict.status == ("inconclusive" if "at the end" in since else "holds")


PART = [0.99, 0.0]
"""A view that suffices on a part of D."""


@pytest.mark.parametrize(
    ("number", "before", "end", "status"),
    [
        ("4.6", [ONE] * 10, [ONE] * 9 + [PART], "inconclusive"),  # one of ten may be
        ("4.6", [ONE] * 10, [ONE] * 8 + [PART] * 2, "fails"),
        ("4.6", [ONE] * 10, [ONE] * 8 + [NONE] * 2, "fails"),
        ("4.6", [ONE] * 9 + [NONE], [ONE] * 8 + [PART, NONE], "inconclusive"),  # one lost, one that may still come
        ("4.6", [ONE] * 8 + [BOTH] * 2, [ONE] * 10, "inconclusive"),  # lost a second one, and as the theorem says now
        ("4.7", [BOTH] * 10, [BOTH] * 9 + [ONE], "fails"),
        ("4.7", [BOTH] * 9 + [ONE], [BOTH] * 9 + [ONE], "inconclusive"),
    ],
)
def test_features_that_are_lost_again_break_a_theorem(number, before, end, status):
    """Training accuracy is 1 since t = 1; at t = 2, a saved state, features are as ``before``, and at the next, t = 50, as at the end."""
    run, learned = made_up([[NONE] * 10, *[before] * 2, end], ACCURACY, TIMES)
    changed = replace(learned, earlier=[at(2.0, np.array(before) >= 1.0), at(50.0, np.array(end) >= 1.0)])
    verdict = THEOREMS[number].judge(run, changed)[1]
    assert verdict.status == status
    assert ("while training accuracy was 1" in verdict.detail) == (before != end)


@pytest.mark.parametrize("last", [PART, NONE])
def test_what_is_lost_is_not_waited_for(last):
    """Eight classes are right, one has learned both and one has lost its view by t = 5: no more than eight can be right any more."""
    before, end = [ONE] * 9 + [BOTH], [ONE] * 8 + [NONE, BOTH]
    run, learned = made_up([[NONE] * 10, before, *[[ONE] * 8 + [last, BOTH]] * 2], ACCURACY, [0.0, 1.0, 5.0, 100.0])
    assert THEOREMS["4.6"].judge(run, replace(learned, earlier=[at(2.0, before), at(5.0, end)]))[1].status == "fails"


@pytest.mark.parametrize(("time", "escaped", "accuracy"), [(0.5, True, 1.0), (2.0, False, 1.0), (2.0, True, 0.99)])
def test_what_was_learned_before_training_or_by_chance_is_not_lost(time, escaped, accuracy):
    """Before training accuracy was 1, by a dormant view, or where training accuracy is not 1 at the end."""
    run, learned = made_up([[NONE] * 10, *[[ONE] * 10] * 2, [ONE] * 8 + [PART] * 2], [0.0, *[accuracy] * 3], TIMES)
    verdict = THEOREMS["4.6"].judge(run, replace(learned, earlier=[at(time, [ONE] * 10, escaped)]))[1]
    assert verdict.status == "inconclusive"
    assert "while training accuracy was 1" not in verdict.detail


def test_a_loss_counts_at_the_time_from_which_training_accuracy_is_1():
    run, learned = made_up([[NONE] * 10, *[[ONE] * 10] * 2, [ONE] * 8 + [PART] * 2], ACCURACY, TIMES)
    assert THEOREMS["4.6"].judge(run, replace(learned, earlier=[at(1.0, [ONE] * 10)]))[1].status == "fails"


def test_losses_one_after_another_are_all_seen(erm):
    """The run's own draws say what they say at the end since the last loss; states are tested since training accuracy is 1."""
    from mvsim.papers.midpoint_mixup.theorems.definition import _late_states

    dataset = erm.dataset.copy(deep=True)
    times, saved = dataset["time"].values, dataset["snapshot_time"].values
    since = times[np.flatnonzero(dataset["training_accuracy"].values < 1.0)[-1] + 1]
    before = [time for time, _ in _late_states(erm)]
    dataset["feature_learned"].values[-2, 0, 0] = 0.5 - dataset["feature_learned"].values[-1, 0, 0]  # changes at the last record
    after = [time for time, _ in _late_states(Run(dataset, erm.provenance))]
    assert after[0] == before[0] <= since
    assert after[-1] == saved[saved < times[-1]][-1]


def test_saved_states_are_tested_since_the_draws_of_the_run_are_unchanged(erm):
    learned = learned_features(erm)
    saved = erm.dataset["snapshot_time"].to_numpy()
    assert 0 < len(learned.earlier) <= len(saved)
    for time, of_state, _ in learned.earlier:
        state = erm.dataset["correlations"].to_numpy()[np.flatnonzero(saved == time)[0]]
        dataset = erm.dataset.assign(final_correlations=(erm.dataset["final_correlations"].dims, state))
        assert (learned_features(Run(dataset, erm.provenance)).by_definition == of_state).all()


@pytest.mark.parametrize(("n_test", "sizes", "fraction"), [(4, [4, 200], 203 / 204), (200, [200], 1.0), (4000, [200, 4000], 4199 / 4200)])
def test_no_draw_of_the_run_is_forgotten(erm, monkeypatch, n_test, sizes, fraction):
    """A view that fails on one draw of the run and on none of the 200 others is partly learned, not learned."""
    asked = []

    class OneMiss:
        def __init__(self, parameters, draws, seed):
            asked.append(draws)
            self.draws = draws

        def fraction_learned(self, c):
            share = np.ones((erm.parameters.k, 2))
            share[1, 0] -= (self.draws != 200) / self.draws
            return share

    monkeypatch.setattr("mvsim.papers.midpoint_mixup.theorems.definition.FeatureTest", OneMiss)
    run = Run(erm.dataset, {**erm.provenance, "options": {**erm.provenance["options"], "n_test": n_test}})
    learned = learned_features(run)
    assert (asked, learned.draws) == (sizes, max(sizes))
    assert learned.fresh[1, 0] == pytest.approx(fraction, rel=1e-12)
    assert not (learned.by_definition[1, 0] and fraction < 1.0)
    assert np.delete(learned.fresh.ravel(), 2).min() == 1.0


def test_training_accuracy_is_that_of_the_final_network():
    run, learned = made_up([[ONE] * 10] * 4, [0.0, 1.0, 1.0, 1.0])
    assert THEOREMS["4.6"].judge(run, learned)[0].status == "holds"
    dead = replace(learned, accuracy=0.1)
    assert THEOREMS["4.6"].judge(run, dead)[0].measured == 0.1
    assert [verdict.status for verdict in THEOREMS["4.6"].judge(run, dead)] == ["inconclusive", "inconclusive"]


def test_a_view_that_fails_on_a_training_point_is_not_learned():
    run, learned = made_up([[BOTH] * 3] * 4, [1.0] * 4)
    assert THEOREMS["4.7"].judge(run, learned)[1].status == "holds"
    learned.training[1, 0] = 0.99
    assert not learned.by_definition[1, 0]
    assert THEOREMS["4.7"].judge(run, learned)[1].status != "holds"
    assert "both views in 2, one in 1" in definition_4_5(run, learned).detail


def test_a_view_that_suffices_on_some_training_points_is_not_unlearned():
    run, learned = made_up([[ONE] * 3] * 4, [1.0] * 4, times=[0, 1, 10, 1e4])
    assert THEOREMS["4.6"].judge(run, learned)[1].status == "holds"
    learned.training[1, 1] = 0.01
    verdict = THEOREMS["4.6"].judge(run, learned)[1]
    assert verdict.status == "inconclusive"
    said = (
        "class 1: a view has escaped and is not learned, though it is right on 0 % of the fresh draws and 1 % of the training points, "
        "which is why it is undecided"
    )
    assert said in verdict.detail
    assert verdict.partly
    assert not short(run, learned).partly, "what is too short is undecided for want of time"
    held = replace(verdict, status="holds", detail="", partly=False)
    runs = [Judgement(of_k(3), [v]) for v in (verdict, verdict, short(run, learned), held)]
    over = {v.name: v for v in over_seeds("Theorem 4.6", 3, runs)}["Theorem 4.6 (features), k = 3"]
    assert "3 undecided, 2 of them because an escaped view that is not learned suffices on a part of D, counted as failing here" in over.detail


def test_a_dormant_view_that_suffices_on_a_part_is_not_learned():
    """Where noise tells the class, no own correlation has to grow for it."""
    run, learned = made_up([[ONE] * 2 + [[1.0, 0.2]]] * 4, [1.0] * 4, times=[0, 1, 10, 1e4])
    assert THEOREMS["4.6"].judge(run, learned)[1].status == "inconclusive"
    learned.escaped[2, 1] = False
    verdict = THEOREMS["4.6"].judge(run, learned)[1]
    assert (verdict.status, verdict.measured) == ("holds", 1.0)
    assert "a dormant view is right on a part of D, which makes it no learned one: 1" in verdict.detail
    assert "partly learned: 0; dormant and right on some: 1" in definition_4_5(run, learned).detail
    learned.escaped[2] = False
    assert not learned.partly.any()
    assert learned.by_definition[2, 0], "a view is learned where it suffices on all draws, whatever its neurons are"


def test_views_have_escaped_where_a_neuron_is_beyond_the_polynomial_part(run_folder):
    run = mvsim.open_run(run_folder / "erm.nc")
    p, c = run.parameters, run.final_correlations
    c[np.arange(p.k), :, np.arange(p.k)] = 0.0
    c[1, 2, 1, 0], c[2, 0, 2, 1] = p.rho / (p.delta2 - p.delta1), 0.999 * p.rho / (p.delta2 - p.delta1)
    run.dataset["final_correlations"].values[:] = c
    assert np.argwhere(learned_features(run, draws=2).escaped).tolist() == [[1, 0]]


def short(run, learned):
    """What is said of the part about features if the run ends a little after its last change."""
    return THEOREMS["4.6"].judge(Run(run.dataset.assign_coords(time=[0.0, 1.0, 1.5, 2.0]), run.provenance), learned)[1]


def test_a_class_without_training_points_is_judged_by_fresh_draws():
    _, learned = made_up([[BOTH] * 3] * 4, [1.0] * 4)
    learned.training[2] = np.nan
    assert learned.by_definition.all()


def test_definition_4_5_is_what_loops_say(run_folder):
    """Every training point with one view removed, its outputs summed patch by patch."""
    run = mvsim.open_run(run_folder / "midpoint.nc")
    p, c = run.parameters, run.final_correlations
    c[2, :, 2, 0] *= 0.02  # as if view 0 of class 2 had not been learned
    run.dataset["final_correlations"].values[:] = c
    learned = learned_features(run, draws=5)
    data = mvsim.sample_dataset(p, run.seed)
    right = np.zeros((p.k, 2))
    for x, y in zip(data.to_patches(), data.labels, strict=True):
        for view in (0, 1):
            kept = x.copy()
            kept[:, y, 1 - view] = 0.0
            g = [sum(mvsim.smoothed_relu(float((w * patch).sum()), p.rho, p.alpha) for w in c[s] for patch in kept) for s in range(p.k)]
            right[y, view] += all(g[y] > g[s] for s in range(p.k) if s != y)
    assert np.allclose(learned.training, right / np.bincount(data.labels)[:, None])
    assert learned.by_definition.sum() < 2 * p.k


def test_real_runs_hold_and_the_wrong_theorem_does_not(run_folder):
    one, both = (mvsim.open_run(run_folder / f"{method}.nc") for method in ("erm", "midpoint"))
    for run, number, expected in [(one, "4.6", "holds"), (both, "4.7", "holds"), (one, "4.7", "inconclusive"), (both, "4.6", "fails")]:
        verdicts = judge(run, number, everything=False).verdicts
        assert [verdict.status for verdict in verdicts] == ["holds", expected, "measured"], number
        assert verdicts[0].regime.startswith("scaled: d")


def of_k(k, **fields):
    """What is asked of a run over seeds and over k: its parameters, its seed and its end."""
    return SimpleNamespace(parameters=mvsim.Parameters(k=k, **fields), seed=0, dataset={"final_time": 1e6})


def of_theorem(part, status, measured=1.0):
    """A part of Theorem 4.7."""
    return Verdict(f"Theorem 4.7 ({part})", status, part, measured, 1.0, regime="scaled", kind="theorem", number="4.7", part=part)


def features_are(status, fraction):
    return of_theorem("features", status, fraction)


def ensemble(found, run=None):
    """Judgements whose theorem has these statuses and fractions of classes, and a constant each."""
    return [
        Judgement(run or of_k(10), [features_are(status, fraction), constant("Claim B.27", "O(log k)", value, 5.0)])
        for status, fraction, value in found
    ]


def test_over_seeds_counts_runs_and_classes():
    found = over_seeds("Theorem 4.7", 10, ensemble([("holds", 1.0, 2.0)] * 19 + [("fails", 0.8, 4.0)]))
    by_name = {verdict.name: verdict for verdict in found}
    runs = by_name["Theorem 4.7 (features), k = 10"]
    assert (runs.status, runs.measured, runs.bound) == ("consistent", 0.95, 0.9)
    classes = by_name["Theorem 4.7 (features), classes of all runs, k = 10"]
    assert classes.measured == pytest.approx(198 / 200)
    low, high = (float(end) for end in re.search(r"interval \[(.*?), (.*?)\]", classes.detail).groups())
    assert (low, high) == pytest.approx(clustered_interval([10] * 19 + [8], [10] * 20)[1:], abs=1e-3)
    independent = clopper_pearson(198, 200)
    assert low < independent[0] - 0.01, "both exceptions are in one run: it counts as less than ten independent classes"
    assert high > independent[1]
    assert (by_name["Claim B.27, k = 10"].status, by_name["Claim B.27, k = 10"].measured) == ("measured", 2.0)
    assert "[2, 4]" in by_name["Claim B.27, k = 10"].detail
    assert {verdict.regime for verdict in found} == {"scaled"}


def test_a_theorem_holds_in_runs_in_which_all_of_its_parts_do():
    """Ten of a hundred runs fail one part and ten others the other: each part is consistent with 1 - 1/k, the theorem is not."""
    parts = [("fails", "holds")] * 10 + [("holds", "fails")] * 10 + [("holds", "holds")] * 80
    names = ("training accuracy", "features")
    judgements = [Judgement(of_k(10), [of_theorem(part, status) for part, status in zip(names, of_run, strict=True)]) for of_run in parts]
    found = {verdict.name: verdict for verdict in over_seeds("Theorem 4.7", 10, judgements)}
    assert {found[f"Theorem 4.7 ({name}), k = 10"].status for name in names} == {"consistent"}
    joint = found["Theorem 4.7, k = 10"]
    assert (joint.status, joint.measured, joint.kind, joint.number, joint.part) == ("contradicted", 0.8, "theorem", "4.7", "")
    assert joint.count == Count(80, 100, "runs")
    assert joint.statement.endswith(": all of it in one run: training accuracy; features")


def test_runs_in_which_a_number_is_infinite_count_in_the_median():
    rows = over_seeds("Theorem 4.7", 10, ensemble([("holds", 1.0, np.inf)] * 3 + [("holds", 1.0, 2.0)] * 2))
    never = next(verdict for verdict in rows if verdict.name == "Claim B.27, k = 10")
    assert never.measured == np.inf
    assert "median of 5 runs, range [2, inf]" in never.detail


@pytest.mark.parametrize(("above", "margin"), [(False, (5.0 - 9.0) / 5.0), (True, (2.0 - 5.0) / 5.0)])
def test_beside_the_median_stand_the_margin_and_the_first_violation_of_the_worst_run(above, margin):
    values = {4.0: None, 9.0: 30.0, 2.0: 20.0, 6.0: 70.0}
    judgements = [Judgement(of_k(10), [constant("Claim B.27", "s", value, 5.0, above, violated_at=at)]) for value, at in values.items()]
    verdict = over_seeds("Theorem 4.7", 10, judgements)[0]
    assert (verdict.measured, verdict.margin, verdict.violated_at) == (5.0, pytest.approx(margin), 20.0)
    assert "range [2, 9]; the margin is that of the worst run" in verdict.detail
    assert verdict.worst == (2.0 if above else 9.0)
    assert side_text(verdict) == ("2 < 5" if above else "9 > 5") + " in the worst run (median 5)"


def test_a_theorem_over_seeds_says_to_which_times_it_is_known_to_hold():
    """Runs in which it fails are followed longer: their ends say nothing of those in which it holds."""

    def judged(status, end, soon=""):
        run = SimpleNamespace(parameters=mvsim.Parameters(k=10), seed=0, dataset={"final_time": end})
        return Judgement(run, [replace(of_theorem("features", status), soon=soon), replace(of_theorem("training accuracy", "holds"))])

    runs = [judged("holds", 1e6), judged("holds", 1e8, soon="a second feature comes"), judged("fails", 1e12), judged("inconclusive", 1e10)]
    found = {verdict.name: verdict.detail for verdict in over_seeds("Theorem 4.7", 10, runs)}
    known = "; runs in which it holds were followed to t = 1e+06 = k^6, the longest to t = 1e+08 = k^8; in 1 of them a change is predicted soon after"
    assert found["Theorem 4.7, k = 10"].endswith(known)
    assert "followed to" not in found["Theorem 4.7 (features), k = 10"], "it is said once"
    alone = {verdict.name: verdict.detail for verdict in over_seeds("Theorem 4.7", 10, runs[:1])}
    assert alone["Theorem 4.7, k = 10"].endswith("; runs in which it holds were followed to t = 1e+06 = k^6")
    none = {verdict.name: verdict.detail for verdict in over_seeds("Theorem 4.7", 10, runs[2:3])}
    assert "followed to" not in none["Theorem 4.7, k = 10"]
    part = {verdict.name: verdict.detail for verdict in over_seeds("Theorem 4.7", 10, ensemble([("holds", 1.0, 2.0)] * 2))}
    assert part["Theorem 4.7 (features), k = 10"].endswith("; runs in which it holds were followed to t = 1e+06 = k^6")


def test_the_run_that_refutes_an_identity_is_named_by_its_seed():
    runs = [SimpleNamespace(parameters=mvsim.Parameters(k=10), seed=seed, dataset={"final_time": 1e6}) for seed in range(4)]
    errors = (0.1, 0.2, 3.0, 0.3)
    judgements = [Judgement(run, [features_are("holds", 1.0), at_most("Replay", "=", of, 1.0)]) for run, of in zip(runs, errors, strict=True)]
    found = {verdict.name: verdict for verdict in over_seeds("Theorem 4.7", 10, judgements)}["Replay, k = 10"]
    assert found.detail.startswith("the worst of 4 seeds is seed 2 (1 fails, 3 holds; ")


def test_a_run_that_is_too_short_says_how_far_to_go():
    run, learned = made_up([[NONE] * 10, *[[ONE] * 10] * 3], [0.0, 1.0, 1.0, 1.0], times=[0, 1, 10, 100])
    features = THEOREMS["4.7"].judge(run, learned)[1]
    assert "have to last while t grows 10,000-fold; go on with --resume --t-end 1e+04 or more" in features.detail
    late, learned = made_up([[NONE] * 10, *[[BOTH] * 10] * 3], [0.0, 0.0, 0.0, 1.0], times=[0, 1, 10, 100])
    assert "; go on with --resume --t-end 3.2e+02 or more" in THEOREMS["4.7"].judge(late, learned)[1].detail
    cut = Run(late.dataset, {**late.provenance, "status": "interrupted"})
    assert "; go on with --resume; " in THEOREMS["4.7"].judge(cut, learned)[1].detail


def test_without_saved_states_nothing_that_was_lost_is_seen():
    run, learned = made_up([[NONE] * 10, *[[BOTH] * 10] * 3], ACCURACY, TIMES)
    unseen = "no state was saved between t = 1, when it was trained, and the end: a view that was learned and lost meanwhile would not be noticed"
    assert unseen in THEOREMS["4.7"].judge(run, replace(learned, earlier=[at(0.5, [BOTH] * 10)]))[1].detail
    assert unseen not in THEOREMS["4.7"].judge(run, replace(learned, earlier=[at(0.5, [BOTH] * 10), at(2.0, [BOTH] * 10)]))[1].detail


def test_of_a_view_that_is_right_on_all_draws_the_training_points_are_told():
    run, learned = made_up([[ONE] * 3] * 4, [1.0] * 4, times=[0, 1, 10, 1e4])
    learned.fresh[1, 1], learned.training[1, 1] = 1.0, 0.98
    said = "class 1: a view has escaped and is not learned, though it is right on 100 % of the fresh draws and 98 % of the training points"
    assert said in THEOREMS["4.6"].judge(run, learned)[1].detail
    learned.fresh[2, 1] = 0.805
    said = (
        "classes 1, 2: a view has escaped and is not learned, though it is right on 80.5 to 100 % of the fresh draws and 98 % of the training points"
    )
    assert said in THEOREMS["4.6"].judge(run, learned)[1].detail


@pytest.mark.parametrize(
    ("held", "failed", "undecided", "status"),
    [(40, 0, 0, "established"), (20, 0, 0, "consistent"), (18, 2, 0, "consistent"), (15, 5, 0, "inconclusive"), (5, 15, 0, "contradicted"),
     (18, 0, 2, "consistent"), (17, 0, 3, "inconclusive"), (13, 0, 7, "inconclusive"), (39, 0, 1, "inconclusive"), (36, 0, 4, "inconclusive"),
     (9, 1, 1, "inconclusive"), (2, 10, 8, "contradicted")],
)  # fmt: skip
def test_undecided_runs_count_only_if_they_could_matter(held, failed, undecided, status):
    runs = [("holds", 1.0, 1.0)] * held + [("fails", 0.5, 1.0)] * failed + [("inconclusive", 0.5, 1.0)] * undecided
    found = {verdict.name: verdict for verdict in over_seeds("Theorem 4.7", 10, ensemble(runs))}
    assert found["Theorem 4.7 (features), k = 10"].status == status


def test_runs_that_were_lost_are_undecided():
    found = {v.name: v for v in over_seeds("Theorem 4.7", 10, ensemble([("holds", 1.0, 1.0)] * 16), lost=4)}
    verdict = found["Theorem 4.7 (features), k = 10"]
    assert (verdict.status, verdict.measured) == ("inconclusive", 0.8)
    assert verdict.count == Count(16, 20, "runs", undecided=4)
    assert "4 undecided" in verdict.detail


def test_classes_of_undecided_runs_are_counted_as_they_are():
    """Runs are undecided by what is missing: to leave them out would leave out what is missing."""
    runs = ensemble([("inconclusive", 0.3, 1.0)] * 2 + [("holds", 1.0, 1.0)] * 8)
    classes = {v.name: v for v in over_seeds("Theorem 4.7", 10, runs, lost=1)}["Theorem 4.7 (features), classes of all runs, k = 10"]
    assert (classes.status, classes.measured) == ("measured", 0.86)
    assert classes.count == Count(86, 100, "classes", undecided=20)
    assert classes.detail.startswith("86 of 100, ")
    assert classes.detail.endswith("; 20 are of 2 runs not decided, counted as they are at the end; 1 run lost")
    trend = over_k("Theorem 4.7", {10: ensemble([("inconclusive", 0.3, 1.0)] * 20)}, {10: 5})[0]
    assert trend.measured == 10.0
    assert "10 at k = 10 [0, 10] (0 of 25 runs fail, 25 undecided, counted as failing)" in trend.detail


@pytest.mark.parametrize("name", ["Calculation A.10", "Theorem 4.7 (permanence)", "Claim B.27"])
def test_one_run_is_enough_to_refute_an_identity_whatever_its_name(name):
    def with_identity(error):
        return Judgement(of_k(10), [features_are("holds", 1.0), at_most(name, "=", error, 1.0)])

    runs = [with_identity(0.1)] * 19
    found = {v.name: v for v in over_seeds("Theorem 4.7", 10, [*runs, with_identity(3.0)])}[f"{name}, k = 10"]
    assert (found.status, found.measured) == ("fails", 3.0)
    found = {v.name: v for v in over_seeds("Theorem 4.7", 10, [*runs, with_identity(0.5)])}[f"{name}, k = 10"]
    assert (found.status, found.measured) == ("holds", 0.5)


@pytest.mark.parametrize(("gathered", "value", "has_exponent"), [("constant", 3.0, True), ("median", 3.0, False), ("least", 1.0, True)])
def test_what_is_measured_is_gathered_as_its_field_says_whatever_its_name(gathered, value, has_exponent):
    def at(k):
        measured = [replace(constant("Replay (how long)", "s", number), gathered=gathered) for number in (1.0, 3.0, 5.0)]
        return [Judgement(of_k(k), [features_are("holds", 1.0), verdict]) for verdict in measured]

    found = {v.name: v for v in over_seeds("Theorem 4.7", 10, at(10))}["Replay (how long), k = 10"]
    assert (found.status, found.measured) == ("measured", value)
    assert ("Replay (how long) (trend in k)" in {v.name for v in over_k("Theorem 4.7", {4: at(4), 8: at(8)})}) == has_exponent


def test_disagreement_with_the_proxy_is_counted():
    run, learned = made_up([[BOTH] * 3] * 4, [1.0] * 4)
    assert "says otherwise for 0;" in definition_4_5(run, learned).detail
    learned.active[0] = False
    assert "says otherwise for 2;" in definition_4_5(run, learned).detail


def test_trends_are_exponents_of_k():
    by_k = {k: ensemble([("holds", 1.0, 3.0 * k**0.5)] * 9 + [("fails", 0.9, 3.0 * k**0.5)], of_k(k)) for k in (4, 16)}
    found = {verdict.name: verdict for verdict in over_k("Theorem 4.7", by_k)}
    assert found["Theorem 4.7 (trend in k)"].measured == pytest.approx(1.6)
    assert found["Claim B.27 (trend in k)"].measured == pytest.approx(0.5)
    assert all(verdict.status == "measured" for verdict in found.values())
    assert "two k fix a line" in found["Claim B.27 (trend in k)"].detail
    assert "r0 = 0.25 at k = 4, 0.185 at k = 16" in found["Theorem 4.7 (trend in k)"].detail
    assert "not a path of the theorems" not in found["Theorem 4.7 (trend in k)"].detail
    assert over_k("Theorem 4.7", {4: by_k[4]})[0].measured == pytest.approx(0.4)


def test_k_at_which_no_run_came_to_an_end_count_in_the_trend():
    trend = over_k("Theorem 4.7", {4: ensemble([("holds", 1.0, 1.0)] * 5), 10: []}, {10: 5})[0]
    assert trend.measured == 10.0
    assert "at k = 10 [0, 10] (0 of 5 runs fail, 5 undecided, counted as failing)" in trend.detail


@pytest.mark.parametrize(("failing", "undecided", "lost"), [(2, 5, 1), (2, 6, 0), (2, 0, 6), (2, 0, 0), (0, 3, 0)])
def test_the_interval_at_a_k_reaches_from_no_undecided_run_failing_to_all_of_them(failing, undecided, lost):
    runs = [("fails", 0.5, 1.0)] * failing + [("inconclusive", 0.5, 1.0)] * undecided + [("holds", 1.0, 1.0)] * (20 - failing - undecided - lost)
    trend = over_k("Theorem 4.7", {10: ensemble(runs)}, {10: lost})[0]
    low, high = (0.1 * float(end) for end in re.search(r"\[\s*([-+.\de]+)\s*,\s*([-+.\de]+)\s*\]", trend.detail).groups())
    most = failing + undecided + lost
    assert binomial_tail(20, failing, low) == pytest.approx(0.025 if failing else 1.0, rel=0.15)  # the detail has two digits
    assert 1.0 - binomial_tail(20, most + 1, high) == pytest.approx(0.025, rel=0.5)
    assert trend.measured == pytest.approx(10 * most / 20)


def test_a_constant_that_is_infinite_in_a_run_has_no_exponent():
    never = [("holds", 1.0, np.inf)]
    by_k = {k: ensemble([("holds", 1.0, 3.0)] * 4 + (never if k == 8 else []), of_k(k)) for k in (4, 8, 16)}
    found = {verdict.name: verdict for verdict in over_k("Theorem 4.7", by_k)}["Claim B.27 (trend in k)"]
    assert (found.status, found.measured) == ("not applicable", None)
    assert found.detail.startswith("it is infinite in 1 of 5 runs at k = 8; ")


def test_a_trend_along_constant_r0_is_not_the_theorems():
    by_k = {k: ensemble([("holds", 1.0, 1.0)] * 3, SimpleNamespace(parameters=path_in_k("r0=0.3")(k))) for k in (4, 8, 16)}
    for verdict in over_k("Theorem 4.7", by_k):
        assert "this is not a path of the theorems" in verdict.detail


def test_the_interval_of_an_exponent_covers_it_and_narrows_with_more_seeds():
    rng, widths, covered = np.random.default_rng(0), {}, 0

    def drawn(n):
        return exponent_of_k({k: np.exp(1.5 * np.log(k) + 0.3 * rng.standard_normal(n)) for k in (4, 8, 16, 32)}, resamples=300)

    for n in (5, 80):
        exponent, low, high = drawn(n)
        assert low < exponent < high
        widths[n] = high - low
    assert widths[80] < 0.5 * widths[5]
    for _ in range(100):
        _, low, high = drawn(15)
        covered += low < 1.5 < high
    assert 85 <= covered < 100
    assert exponent_of_k({4: [2.0], 8: [4.0]}) == pytest.approx((1.0, 1.0, 1.0))


def test_an_exponent_is_that_of_medians():
    """Medians 1 and 4. Three draws of 1, 1, 9 have a median of 9 with probability 7/27, and then the slope is (log 4 - log 9) / log 2."""
    exponent, low, high = exponent_of_k({4: [1.0, 1.0, 9.0], 8: [4.0, 4.0, 4.0]})
    assert (exponent, low, high) == pytest.approx((2.0, 2.0 - math.log2(9.0), 2.0), rel=1e-12)


def quantile_of_slopes(values, probability):
    """The quantile of the slope between two k over all resamples, each of which is as likely as the others."""
    (k, of_k), (K, of_K) = values.items()
    medians, Medians = ([statistics.median(of) for of in itertools.product(some, repeat=len(some))] for some in (of_k, of_K))
    slopes = Counter()
    for (a, times), (b, Times) in itertools.product(Counter(medians).items(), Counter(Medians).items()):
        slopes[(math.log(b) - math.log(a)) / (math.log(K) - math.log(k))] += times * Times
    below = 0.0
    for slope in sorted(slopes):
        below += slopes[slope] / slopes.total()
        if below >= probability:
            return slope
    return None


def test_the_interval_of_an_exponent_is_that_of_all_resamples():
    values = {4: [1.0, 9.0, 2.0, 1.3, 3.1], 8: [7.0, 2.2, 30.0, 4.0, 12.5]}
    ends = [quantile_of_slopes(values, probability) for probability in (0.025, 0.975)]
    assert exponent_of_k(values, resamples=20_000) == pytest.approx((math.log2(7.0 / 2.0), *ends), rel=1e-9)
    for probability in (0.01, 0.05, 0.95, 0.99):  # an interval of another confidence has other ends
        assert min(abs(quantile_of_slopes(values, probability) - end) for end in ends) > 0.05


def test_how_long_a_theorem_lasts_is_the_least_over_runs_and_runs_without_are_told(erm):
    def judged(*values):
        name = "Theorem 4.6 (permanence)"
        verdicts = [constant(name, "the power C of k", value, detail="too few" if value is None else f"C = {value}") for value in values]
        judgements = [Judgement(erm, [replace(one, regime="r", gathered="least")]) for one in verdicts]
        return next(v for v in over_seeds("Theorem 4.6", 4, judgements) if v.name == f"{name}, k = 4")

    assert judged(30.0, 10.0, np.inf).measured == 10.0
    assert judged(30.0, 10.0, np.inf).detail == "the least of 3 runs; in that one C = 10.0"
    assert judged(30.0, None).detail == "the least of 1 run; 1 of 2 runs have none: too few; in that one C = 30.0"


def test_a_constant_without_an_exponent_says_why(erm):
    by_k = {k: [Judgement(erm, [replace(constant("Corollary B.16", "s", of), regime="r")])] for k, of in ((4, 0.5), (8, -0.4))}
    details = {v.name: v.detail for v in over_k("Theorem 4.6", by_k)}
    assert "it is 0 or less in 1 of 1 run at k = 8" in details["Corollary B.16 (trend in k)"]


def test_what_is_no_constant_of_a_proof_has_no_exponent(erm):
    by_k = {k: [judge(erm, "4.6", everything=False)] for k in (4, 8)}
    assert [v.name for v in over_k("Theorem 4.6", by_k)] == ["Theorem 4.6 (trend in k)"]
