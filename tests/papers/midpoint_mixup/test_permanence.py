"""How long theorems are predicted to stay true, as a power of k."""

import numpy as np
import pytest
from altered_runs import altered

from mvsim.multi_view.diagnostics import output_ranges
from mvsim.papers.midpoint_mixup import judge_run
from mvsim.papers.midpoint_mixup.evidence.evidence import Evidence
from mvsim.papers.midpoint_mixup.judge_run import judge
from mvsim.papers.midpoint_mixup.theorems import features as theorem_features
from mvsim.papers.midpoint_mixup.theorems import permanence as statements
from mvsim.papers.midpoint_mixup.theorems import predicted_escapes as permanence
from mvsim.papers.midpoint_mixup.theorems.definition import Learned
from mvsim.papers.midpoint_mixup.theorems.permanence import nothing_undoes_it, one_feature_stays
from mvsim.runs.run import Run

TIMES = np.geomspace(1e4, 1e8, 81)


def learned(k, both=()):
    features = np.zeros((k, 2))
    features[:, 0] = 1.0
    features[list(both), 1] = 1.0
    return Learned(features, 200, features, features >= 1.0, 1.0, np.ones(features.shape, dtype=bool))


def power(run, decades):
    """The power of k at half of the way in ln t from the end of a run at k = 4 to a power of ten."""
    return 0.5 * (np.log(float(run.dataset["final_time"])) + decades * np.log(10.0)) / np.log(4.0)


def with_escapes(monkeypatch, decades, error=2.0, not_before=None):
    """Views 1 are predicted to escape at these powers of ten, with these errors and not before that, by default not before these; all in decades."""
    log_time = np.stack([np.full(len(decades), np.nan), np.log(10.0) * np.array(decades)], axis=1)
    errors = np.full_like(log_time, error * np.log(10.0))
    earliest = log_time if not_before is None else np.full_like(log_time, not_before * np.log(10.0))
    monkeypatch.setattr(statements, "predicted_escapes", lambda evidence: permanence.Predicted(log_time, errors, earliest, 20))


def test_the_power_is_that_of_the_class_that_is_one_too_many(erm, monkeypatch):
    with_escapes(monkeypatch, [30.0, 20.0, 50.0, 40.0])  # k = 4: 0.9 of 4 classes are all four
    verdict = one_feature_stays(Evidence(erm), learned(4))
    assert (verdict.status, verdict.measured) == ("measured", pytest.approx(power(erm, 20.0)))
    assert "; by a trend of 20 records: a second feature comes first in class 1, at t = 10^20, +- 2 decades by the fit; " in verdict.detail
    assert "; in at least 4 of the 4 classes with one feature no second is expected before t = 10^" in verdict.detail
    monkeypatch.setattr(statements, "ONE_FEATURE", 0.75)
    verdict = one_feature_stays(Evidence(erm), learned(4))
    assert verdict.measured == pytest.approx(power(erm, 30.0))
    assert one_feature_stays(Evidence(erm), learned(4, both=[2])).measured == pytest.approx(power(erm, 20.0))
    gone = one_feature_stays(Evidence(erm), learned(4, both=[2, 3]))
    assert (gone.status, gone.measured) == ("not applicable", None)
    assert "at the end 2 of 4 classes have exactly one feature, fewer than 3" in gone.detail


def test_a_time_that_the_fit_does_not_resolve_is_no_number(erm, monkeypatch):
    with_escapes(monkeypatch, [98.0] * 4, error=2.4e3, not_before=9.0)
    verdict = one_feature_stays(Evidence(erm), learned(4))
    assert verdict.measured == pytest.approx(power(erm, 9.0))
    counted_on = 0.5 * (np.log10(float(erm.dataset["final_time"])) + 9.0)
    assert f"not before t = 10^{counted_on:.4g} (when, the fit does not tell)" in verdict.detail
    assert "98" not in verdict.detail
    assert "tested over" not in verdict.detail
    with_escapes(monkeypatch, [np.inf] * 4, error=0.0, not_before=np.inf)
    never = one_feature_stays(Evidence(erm), learned(4))
    assert (never.measured, never.soon) == (np.inf, "no class is on its way to learn both")
    with_escapes(monkeypatch, [98.0] * 4)
    assert "such predictions were tested over 4 decades of time only" in one_feature_stays(Evidence(erm), learned(4)).detail


def test_loud_noise_is_told_beside_what_is_predicted(erm, monkeypatch):
    with_escapes(monkeypatch, [20.0] * 4)
    quiet = altered(erm, off_diagonal_max=0.0 * erm.dataset["off_diagonal_max"].values, max_correlation=np.full((len(erm.dataset.time), 4, 2), 1e-6))
    assert "noise is in the linear regime" not in one_feature_stays(quiet, learned(4)).detail
    loud = altered(erm, off_diagonal_max=np.full((len(erm.dataset.time), 4), 1e6))
    assert "noise is in the linear regime" in one_feature_stays(loud, learned(4)).detail


def test_an_escape_soon_after_the_end_is_said_as_a_multiple_of_it(erm, monkeypatch):
    end = np.log10(float(erm.dataset["final_time"]))
    with_escapes(monkeypatch, [end + 0.25, 20.0, 30.0, 40.0], error=0.01)
    assert "+- 0.01 decades by the fit, 1.78 times its end; " in one_feature_stays(Evidence(erm), learned(4)).detail


def test_it_is_not_said_where_nothing_is_known(erm, midpoint, monkeypatch):
    assert one_feature_stays(Evidence(midpoint), learned(4, both=range(4))).status == "not applicable"
    linear = Run(erm.dataset, erm.provenance | {"parameters": erm.provenance["parameters"] | {"alpha": 2.0}})
    assert one_feature_stays(Evidence(linear), learned(4)).status == "not applicable"


def test_on_a_settled_run_it_is_later_than_its_end(erm):
    verdict = one_feature_stays(Evidence(erm), learned(4))
    if verdict.status == "measured":
        assert verdict.measured > np.log(float(erm.dataset["final_time"])) / np.log(4.0)
    else:
        assert "are needed" in verdict.detail or "no class" in verdict.detail


def margins(run, own, largest=1.0):
    """A run whose least own output is ``own`` (T,), beside other outputs of 1, on the same point."""
    dataset = run.dataset.isel(time=np.zeros(len(TIMES), dtype=int)).assign_coords(time=("time", TIMES))
    each, escape = np.ones((len(TIMES), 4)), np.full(run.dataset["entry_time"].shape, np.nan)
    correlations = np.broadcast_to(np.asarray(largest, dtype=float).reshape(-1, 1, 1), (len(TIMES), 4, 2))
    values = {"margin_min": own[:, None] * each - each, "max_correlation": correlations, "off_diagonal_max": 0.0 * each}
    return altered(Run(dataset, run.provenance), entry_time=escape, **values)


def test_a_margin_that_falls_is_followed_to_its_end(midpoint):
    x = np.log(TIMES / TIMES[-1])
    verdict = nothing_undoes_it(margins(midpoint, 6.0 - 0.25 * x), "4.7")
    assert verdict.measured == pytest.approx((np.log(1e8) + 0.5 * 5.0 / 0.25) / np.log(4.0), rel=1e-6)
    assert nothing_undoes_it(margins(midpoint, 6.0 + 0.25 * x), "4.7").measured == np.inf
    assert nothing_undoes_it(margins(midpoint, 0.0 * x), "4.7").status == "not applicable"


def test_a_margin_is_that_of_one_point(midpoint):
    """The least own output is below the largest other one, of another point: all points are right, and a trend is followed."""
    run = margins(midpoint, np.full(len(TIMES), 3.0)).run
    low, high = (np.full(run.dataset["own_output_min"].shape, value) for value in (4.0, 5.0))
    verdict = nothing_undoes_it(altered(run, own_output_min=low, other_output_max=high), "4.7")
    assert (verdict.status, verdict.measured) == ("measured", np.inf)
    assert "least margin 2, " in verdict.detail
    outputs, labels = np.array([[9.0, 4.0, 0.0], [5.0, 1.0, 7.0]]), np.array([0, 0, 1])
    assert output_ranges(outputs, labels).margin_min.tolist() == [3.0, 7.0]


def test_noise_that_becomes_linear_is_predicted(midpoint):
    p, x = midpoint.parameters, np.log(TIMES / TIMES[-1])
    scale = p.rho / (2 * p.Q * p.delta4)
    for level, said in ((0.5 + 0.1 * x, "above 1 at t = 10^10.17"), (0.5 - 0.01 * x, "above 1 never")):
        assert said in nothing_undoes_it(margins(midpoint, 6.0 + x, scale * level), "4.7").detail
    until = nothing_undoes_it(margins(midpoint, 6.0 + x, scale * (0.5 + 0.1 * x)), "4.7")
    assert until.measured == pytest.approx((np.log(1e8) + 0.5 * 5.0) / np.log(4.0), rel=1e-6)


def test_where_noise_is_linear_already_nothing_is_predicted(midpoint):
    p, x = midpoint.parameters, np.log(TIMES / TIMES[-1])
    verdict = nothing_undoes_it(margins(midpoint, 6.0 + x, np.full_like(x, 2.0 * p.rho / (2 * p.Q * p.delta4))), "4.7")
    assert (verdict.status, verdict.measured) == ("not applicable", None)
    assert "V Q delta4 max c / rho = 2 instead of << 1" in verdict.detail


def test_what_ends_soon_is_said_in_the_verdict_on_the_theorem(erm, monkeypatch):
    monkeypatch.setattr(theorem_features, "PATIENCE", theorem_features.FACTOR)
    monkeypatch.setattr(judge_run, "replayed", lambda evidence: [])  # takes long
    end = np.log10(float(erm.dataset["final_time"]))
    for decades, said in ((end + 0.25, True), (end + 1.1, False)):
        with_escapes(monkeypatch, [decades] * 4, error=0.01)
        verdicts = {verdict.name: verdict for verdict in judge(erm, "4.6").verdicts}
        features = verdicts["Theorem 4.6 (features)"]
        assert features.status == "holds"
        assert features.soon.startswith("a second feature comes first in class 0, at t = 10^") == said
        assert features.detail == (f"{features.brief}; settled, and may change later: {features.soon}" if said else features.detail)
        assert bool(features.brief) == bool(features.soon) == said


def test_a_second_feature_that_is_predicted_leaves_the_theorem_open(erm, monkeypatch):
    """Half of the way in ln t is counted on, and 10^4 times the last change is asked for."""
    since = np.log10(float(erm.dataset["final_time"])) - 1.0
    for decades, status in ((since + 6.0, "inconclusive"), (since + 8.0, "holds")):
        with_escapes(monkeypatch, [decades] * 4, error=0.01)
        features = judge(erm, "4.6", everything=False).verdicts[1]
        assert (features.name, features.status) == ("Theorem 4.6 (features)", status)
        assert ("what is missing may still come" in features.detail) == (status == "inconclusive")
