"""Results that need no runs, as one asks for them: over seeds and k, with controls, from Python and from the command line."""

import json
import re

import numpy as np
import pytest
from mvsim.papers.midpoint_mixup.result_verdicts import OverSeeds, control_verdicts, result_over_seeds, trend_over_k
from mvsim.papers.midpoint_mixup.section_3.results import RESULTS, Result

import mvsim
from mvsim.base.errors import UsageError
from mvsim.cli import main
from mvsim.judging.verdict import Verdict, not_applicable
from mvsim.papers.midpoint_mixup.section_3.premises import LEAST_POINTS


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("number", RESULTS)
def test_every_control_turns(number, k):
    result = RESULTS[number]
    parameters = result.parameters(k, {})
    verdicts = control_verdicts(result, parameters)
    assert len(verdicts) == len(result.controls) >= 2
    assert [verdict.name for verdict in verdicts if verdict.status != "holds"] == []


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_controls_of_proposition_3_5_turn_with_few_points_too(k):
    """The bound itself holds for any N. That it needs a least beta shows only where some beta is small."""
    result = RESULTS["3.5"]
    verdicts = [one for seed in range(5) for one in control_verdicts(result, result.parameters(k, {"N": 4 * k}), seed)]
    assert {verdict.status for verdict in verdicts} <= {"holds", "not applicable"}
    assert any(verdict.status == "holds" for verdict in verdicts)


def fake(judge, **fields):
    return Result(**{"name": "Lemma 0", "model": "linear", "points": 10, "judge": judge, "controls": ()} | fields)


def test_over_seeds_the_worst_counts_and_constants_have_medians():
    def judge(parameters, seed):
        status = "fails" if seed == 1 else "holds"
        return [Verdict("Lemma 0", status, "s", float(seed), 0.0, float(seed)), Verdict("Lemma 0 (c)", "measured", "s", (3.0, 5.0, None)[seed])]

    result = fake(judge)
    (decided, measured), values = result_over_seeds(result, result.parameters(4, {}), 3)
    assert values == {"Lemma 0, k = 4": [0.0, 1.0, 2.0], "Lemma 0 (c), k = 4": [3.0, 5.0]}
    assert (decided.status, decided.name, decided.measured) == ("fails", "Lemma 0, k = 4", 1.0)
    assert "1 fails, 2 holds" in decided.detail
    assert (measured.status, measured.measured) == ("measured", 4.0)
    assert "2 of 3 seeds" in measured.detail


def over(k, *values, name="Lemma 0"):
    """What a result came to at one k, with these numbers on its data sets."""
    verdict = Verdict(name, "holds", "s", float(np.max(values))).at_k(k)
    return OverSeeds([verdict], {verdict.name: list(values)})


def test_trends_are_exponents_of_medians_with_intervals_over_seeds():
    (trend,) = trend_over_k({k: over(k, *(factor * k**-2 for factor in (5.0, 7.0, 9.0, 7.0, 70.0))) for k in (4, 2, 9)})
    assert trend.name == "Lemma 0 (trend in k)"
    assert abs(trend.measured + 2.0) < 1e-12  # the worst data set has no part in it
    low, high = map(float, re.search(r"95% interval \[(.*), (.*)\] over seeds; medians 1.75 at k = 2 \(5\)", trend.detail).groups())
    assert -6.0 < low < -2.0 < high < 2.0
    assert trend_over_k({k: over(k, 1.0, 0.0) for k in (4, 2)}) == []  # round-off has no exponent


def test_a_k_at_which_the_result_does_not_speak_of_the_data_has_no_part_in_a_trend():
    judged = {k: over(k, 7.0 * k**-2) for k in (4, 9)} | {2: OverSeeds([not_applicable("Lemma 0, k = 2", "s", "why")], {})}
    (trend,) = trend_over_k(judged)
    assert abs(trend.measured + 2.0) < 1e-12
    assert "one data set at a k has no spread; two k fix a line, whatever the law" in trend.detail
    assert trend_over_k({k: judged[k] for k in (2, 4)}) == []


@pytest.mark.parametrize("number", ["3.2", "3.3", "3.4", "3.5"])
@pytest.mark.parametrize(
    ("fields", "premise"),
    [
        ({"delta2": 2.0}, "coefficients that add up to delta2 = 2 instead of 1"),
        ({"delta2": 1e6}, "coefficients that add up to delta2 = 1e+06 instead of 1"),
        ({"delta1": 0.01}, "beta on [0.01, 0.99] instead of [0.1, 0.9]"),
        ({"beta_law": {"kind": "discrete", "atoms": [0.5]}}, "not the uniform one"),
        ({"N": 1}, "of N = 1 points 3 of 4 classes have none"),
    ],
)
def test_outside_its_premises_a_result_of_section_3_says_nothing(number, fields, premise):
    """Nothing fails, nothing holds, and what is missing is named; the controls say nothing either."""
    verdicts = mvsim.verify(results=number, k=4, seeds=2, controls=True, **fields)
    assert {verdict.status for verdict in verdicts} == {"not applicable"}
    assert all(premise in verdict.detail for verdict in verdicts)
    assert {verdict.kind for verdict in verdicts} == {"theorem", "control"}


def test_a_data_set_without_a_point_of_some_class_is_left_out():
    verdict, *_ = mvsim.verify(results="3.5", k=4, seeds=10, N=12)
    assert verdict.status == "holds"
    assert "1 of 10 data sets are left out: N is to be large, and of N = 12 points" in verdict.detail


def test_proposition_3_4_says_nothing_of_classes_with_few_points():
    """With 4 points of a class its pull is negative by chance, which contradicts nothing."""
    parameters = mvsim.Parameters(k=3, model="linear", N=12)
    few = [np.bincount(mvsim.sample_dataset(parameters, seed).labels, minlength=3) for seed in range(5)]
    verdicts = mvsim.verify(results="3.4", k=3, seeds=5, N=12, controls=True)
    assert {verdict.status for verdict in verdicts} == {"not applicable"}
    first = f"class {few[0].argmin()} has {few[0].min()} of N = 12 points, fewer than {LEAST_POINTS}"
    assert all(f"N is to be large: {first}" in verdict.detail for verdict in verdicts)


def test_proposition_3_4_leaves_out_data_sets_whose_smallest_class_is_too_small(monkeypatch):
    """One that has just as many points as are needed is not left out."""
    parameters = RESULTS["3.4"].parameters(3, {})
    smallest = [int(np.bincount(mvsim.sample_dataset(parameters, seed).labels).min()) for seed in range(4)]
    least = sorted(smallest)[2]
    monkeypatch.setattr("mvsim.papers.midpoint_mixup.section_3.premises.LEAST_POINTS", least)
    assert [bool(RESULTS["3.4"].lacks(parameters, seed)) for seed in range(4)] == [size < least for size in smallest]
    assert min(smallest) < least < max(smallest)


@pytest.mark.parametrize("k", [2, 3, 5, 10, 20, 50, 200])
def test_by_default_every_class_has_as_many_points_as_proposition_3_4_needs(k):
    result = RESULTS["3.4"]
    assert [result.lacks(result.parameters(k, {}), seed) for seed in range(10)] == [""] * 10


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"delta2": 1e6}, "(P - 2 C_P) delta3 ="),
        ({"N": 1}, "N = 1 instead of"),
        ({"G": 4}, "G = 4 noise patterns for 4 classes"),
        ({"P": 16}, "(P - 2 C_P) delta3 ="),
        ({"P": 10, "N": 400, "Q": 1, "noise": "point", "delta3": 0.13, "delta4": 0.14}, "(P - 2 C_P) delta3 = 0.78 delta2, below"),
    ],
)
def test_data_of_which_proposition_4_4_does_not_speak_do_not_refute_it(fields, named):
    verdicts = {verdict.name.split(",")[0]: verdict for verdict in mvsim.verify(results="4.4", k=4, seeds=1, **fields)}
    data, construction = verdicts["Proposition 4.4 (these data)"], verdicts["Proposition 4.4 (construction)"]
    assert data.status == "not applicable"
    assert named in data.detail
    assert construction.status == ("holds" if {"G", "P"} & set(fields) else "not applicable")  # it has a P and noise of its own


def test_data_that_cannot_be_separated_for_another_reason_do_not_confirm_proposition_4_4():
    """Without feature noise at all, some of 20 points of three classes cannot be told apart here."""
    construction, data = mvsim.verify(results="4.4", k=3, seeds=1, delta3=0.0, N=20)
    assert (construction.status, data.status) == ("not applicable", "not applicable")
    assert "Farkas vector" in construction.detail
    assert "not separable, although this is outside what the proposition supposes: (P - 2 C_P) delta3 = 0 delta2" in construction.detail
    assert "noise=point" in construction.detail


@pytest.mark.parametrize("number", RESULTS)
@pytest.mark.parametrize("V", [1, 3])
def test_results_are_about_two_views(number, V, capsys):
    assert main(["verify", "--result", number, "--k", "4", "--V", str(V)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"V={V}: {RESULTS[number].name} is about two views of a class, V=2" in line


def test_a_control_that_does_not_turn_fails():
    control = RESULTS["3.3"].controls[0]
    blind = type(control)(control.name, control.why, lambda parameters, seed: Verdict("x", "holds", "s"))
    (verdict,) = control_verdicts(fake(None, controls=(blind,)), RESULTS["3.3"].parameters(3, {}))
    assert verdict.status == "fails"


def test_from_python():
    verdicts = mvsim.verify(results="3.5", k=(5, 6), seeds=2, controls=True)
    names = [verdict.name for verdict in verdicts]
    parts = ("", " (one class)", " (as written)")
    assert names[:9] == [f"Proposition 3.5{part}{end}" for end in (", k = 5", ", k = 6", " (trend in k)") for part in parts]
    assert all(name.startswith("Control: ") for name in names[9:])
    assert len(names) == 11


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"results": "9.9"}, r"^result='9\.9': must be one of 3\.2, 3\.3, 3\.4, 3\.5, 4\.4$"),
        ({"results": "3.2", "seeds": 0}, r"^seeds=0: must be an integer >= 1"),
        ({"results": "3.2", "k": (5, 5)}, r"^k=5, 5: give at least one number of classes, each once$"),
        ({"results": "3.2", "rho": 0.1}, r"^rho=0\.1: is always 1\.0 with model='?linear'?; leave it out$"),
        ({"results": "3.2", "runs": "x.nc"}, r"^results=3\.2: are judged without runs; ask for them by themselves$"),
    ],
)
def test_bad_questions(question, message):
    with pytest.raises(UsageError, match=message):
        mvsim.verify(**question)


def test_from_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "--result", "4.4", "--k", "5", "--seeds", "2", "--N", "200"]) == 0
    printed = capsys.readouterr()
    assert "Proposition 4.4 (construction), k = 5" in printed.out
    (answer,) = (tmp_path / "mvsim-runs").glob("result-4.4-*.json")
    written = json.loads(answer.read_text(encoding="utf-8"))
    assert written["question"]["results"] == ["4.4"]
    assert written["question"]["parameters"] == {"N": "200"}
    assert main(["verify", "--result", "3.3", "--k", "3", "--seeds", "1"]) == 1  # as written it fails
    assert main(["verify", "--result", "7"]) == 2
    assert main(["verify", "run.nc", "--result", "3.2"]) == 2
    assert "are judged without runs" in capsys.readouterr().err.splitlines()[-1]
